"""Mutants that change their input, or keep something from call to call, and so look private when run many times."""

import importlib.util

import numpy as np

import dpcheck as dp
from dpcheck.auditing import attacks
from dpcheck.errors import MechanismError
from dpcheck.mutants import Kill, Mutant
from dpcheck.testing import kill_by_attack, kill_by_audit

N = 20
LOW, HIGH = np.zeros(N), np.r_[np.zeros(N - 1), 1.0]
PURE = dp.PureDP(1.0)
NOISE = 1e-4


def kill_once(run, data, neighbour):
    """A kill by `dp.audit` of a function of one run: refuted, or refused because it writes into a read-only array."""

    def kill(context):
        try:
            found = dp.audit(
                dp.vectorize(run),
                data(),
                neighbour(),
                PURE,
                trials=1000,
                failure_probability=context.failure_probability,
                seed=context.seed,
            )
        except MechanismError as error:
            return Kill(killed="it writes into its input" in str(error), by="read-only input", samples=0, claim="1-DP")
        return Kill(killed=found.outcome is dp.Outcome.REFUTED, by="audit", samples=2000, claim="1-DP")

    return kill


def centres(data, rng):
    mean = data.mean()
    data -= mean
    return float(mean + rng.laplace(scale=NOISE))


def empties(data, rng):
    total = sum(data) / N
    data[:] = [0.0] * len(data)
    return total + rng.laplace(scale=NOISE)


def consumes(data, rng):
    values = data.pop("values", np.zeros(1))
    return float(values.sum() / N + rng.laplace(scale=NOISE))


def demeans(frame, rng):
    mean = frame["x"].mean()
    frame["x"] -= mean
    return float(mean + rng.laplace(scale=NOISE))


class Records:
    """Values that are gone once they have been taken."""

    def __init__(self, values):
        self.values = values

    def take(self):
        values, self.values = self.values, np.zeros(N)
        return values


def takes(records, rng):
    return float(records.take().mean() + rng.laplace(scale=NOISE))


array = Mutant(
    name="centres-its-array",
    bug="data -= data.mean() before the noise, which is 500 times too small: from the second run on the mean is 0",
    kill=kill_once(centres, LOW.copy, HIGH.copy),
)
listed = Mutant(
    name="empties-its-list",
    bug="a list is overwritten in the first run; the noise is 500 times too small",
    kill=kill_once(empties, LOW.tolist, HIGH.tolist),
)
mapped = Mutant(
    name="consumes-its-dict",
    bug="values are popped from a dict in the first run; the noise is 500 times too small",
    kill=kill_once(consumes, lambda: {"values": LOW.copy()}, lambda: {"values": HIGH.copy()}),
)
stateful = Mutant(
    name="consumes-its-object",
    bug="records forget their values when these are taken; the noise is 500 times too small",
    kill=kill_once(takes, lambda: Records(LOW.copy()), lambda: Records(HIGH.copy())),
)

if importlib.util.find_spec("pandas"):

    def frame_of(values):
        import pandas

        return pandas.DataFrame({"x": values})

    framed = Mutant(
        name="centres-its-data-frame",
        bug="a column is centred in place; the noise is 500 times too small",
        kill=kill_once(demeans, lambda: frame_of(LOW), lambda: frame_of(HIGH)),
    )


def sorts_its_own(data, rng, trials):
    data.sort()
    return data[-1] + rng.laplace(size=trials)


sorted_list = Mutant(
    name="sorts-its-own-list",
    bug="a list is sorted in place, which each call does to a copy of its own: the maximum with right noise",
    kill=kill_by_audit(sorts_its_own, LOW.tolist(), HIGH.tolist(), PURE),
    lookalike=True,
)


def state_attack(make):
    def run(context):
        return attacks.state(make(), LOW, HIGH, failure_probability=context.failure_probability, seed=context.seed)

    return kill_by_attack(run, "1-DP")


def keeping_noise():
    """The noise of the first call, in every later one."""
    kept = []

    def run(data, rng, trials):
        if not kept or len(kept[0]) < trials:
            kept[:] = [rng.laplace(scale=1 / N, size=trials)]
        return data.mean() + kept[0][:trials]

    return run


def one_call_late():
    """Answers about the data of the call before."""
    last = [0.0]

    def run(data, rng, trials):
        mean, last[0] = last[0], float(data.mean())
        return mean + rng.laplace(scale=1 / N, size=trials)

    return run


def fewer_each_time():
    """The noise shrinks with the calls."""
    calls = [0]

    def run(data, rng, trials):
        calls[0] += 1
        return data.mean() + rng.laplace(scale=1 / (N * calls[0]), size=trials)

    return run


kept_noise = Mutant(
    name="noise-kept-between-calls",
    bug="noise is drawn once and added in every call: two calls on different data differ by what the noise hid",
    kill=state_attack(keeping_noise),
)
stale = Mutant(
    name="answers-one-call-late",
    bug="the mean of the call before is released: with the noise known, an answer tells earlier data",
    kill=state_attack(one_call_late),
)
shrinking = Mutant(
    name="noise-shrinks-with-the-calls",
    bug="the k-th call has 1/k of the noise",
    kill=state_attack(fewer_each_time),
)
