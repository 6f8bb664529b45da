"""Mutants of the machine: last bits, summation, special records, accountants with state, transformations, risk."""

import math

import numpy as np

import dpcheck as dp
from dpcheck.auditing import attacks
from dpcheck.checks import Context
from dpcheck.mutants import Kill, Mutant
from dpcheck.statistics.means import refute_mean
from dpcheck.testing import kill_by_attack, kill_by_number

ZERO, ONE = np.array([0.0]), np.array([1.0])
PURE = dp.PureDP(1.0)

last_bits = Mutant(
    name="laplace-last-bits",
    bug="floating-point Laplace noise: outputs finer than 2^-53 come from the value 0 only",
    kill=kill_by_attack(
        lambda c: attacks.granularity(
            lambda data, rng, trials: data.sum() + rng.laplace(size=trials),
            ZERO,
            ONE,
            PURE,
            trials=2000,
            failure_probability=c.failure_probability,
            seed=c.seed,
        ),
        "1-DP",
    ),
)
gaussian_last_bits = Mutant(
    name="gaussian-last-bits",
    bug="floating-point Gaussian noise on integers",
    kill=kill_by_attack(
        lambda c: attacks.granularity(
            lambda data, rng, trials: data.sum() + rng.normal(size=trials),
            ZERO,
            ONE,
            dp.ApproxDP(1.0, 1e-2),
            trials=4000,
            failure_probability=c.failure_probability,
            seed=c.seed,
        ),
        "(1, 0.01)-DP",
    ),
)
naive_summation = Mutant(
    name="float-summation-order",
    bug="a naive float sum of records up to 2^50, claimed sensitivity 1",
    kill=kill_by_attack(
        lambda c: attacks.summation_order(lambda x: np.float64(sum(x.tolist())), 1.0, seed=c.seed), "sensitivity 1"
    ),
)
rounded_mean = Mutant(
    name="mean-rounded-before-noise",
    bug="the sum is rounded to a multiple of 4 before noise: sensitivity 4, claimed 1",
    kill=kill_by_attack(
        lambda c: attacks.summation_order(lambda x: 4 * np.round(x.sum() / 4), 1.0, scale=1.0, seed=c.seed),
        "sensitivity 1",
    ),
)
nan_passes = Mutant(
    name="nan-passes-the-clip",
    bug="np.clip lets a NaN record through to the output",
    kill=kill_by_attack(
        lambda c: attacks.special_records(
            lambda data, rng, trials: np.clip(data, 0, 1).mean() + rng.laplace(size=trials), np.zeros(5), seed=c.seed
        ),
        "1-DP",
    ),
)
atoms_left = Mutant(
    name="clipped-output-with-moving-ends",
    bug="the output is clipped to [mean - 1, mean + 1]: the ends are atoms that reveal the mean",
    kill=kill_by_attack(
        lambda c: attacks.support(
            lambda data, rng, trials: data.sum() + np.clip(rng.laplace(size=trials), -1, 1),
            ZERO,
            ONE,
            PURE,
            failure_probability=c.failure_probability,
            seed=c.seed,
        ),
        "1-DP",
    ),
)


class ForgetfulAccountant:
    """Adds epsilons, and clears its history when it is read."""

    def __init__(self):
        self.history = []

    def spend(self, epsilon):
        self.history.append(epsilon)

    def epsilon(self):
        total = math.fsum(self.history)
        self.history.clear()
        return total


def lost_by_reading():
    accountant = ForgetfulAccountant()
    told = []
    for _ in range(3):
        accountant.spend(0.5)
        told.append(accountant.epsilon())
    return 1.5 - told[-1]


accountant_reading = Mutant(
    name="accountant-changed-by-reading",
    bug="reading epsilon clears the history: half a unit is reported after three were spent",
    kill=kill_by_number("stateful accountant", "epsilon spent - epsilon told <= 0", lost_by_reading, 0.0),
)


def paired(records):
    """Sums of consecutive pairs."""
    padded = np.append(records, 0.0) if len(records) % 2 else records
    return padded.reshape(-1, 2).sum(axis=1)


def changed_pairs():
    """Pairs that differ after one record is removed in front: all of them shift."""
    data = np.arange(8.0) % 3
    one, two = paired(data), paired(np.delete(data, 0))
    return float((one != two).sum())


stability_two = Mutant(
    name="pairing-stability",
    bug="pairing consecutive records is called 1-stable; removing one record shifts every pair",
    kill=kill_by_number("counted records", "stability 1", changed_pairs, 1.0),
)
sampling_rate_arithmetic = Mutant(
    name="sampling-rate-by-floor",
    bug="q computed from floor(n / b) batches, 16 % too small at n = 115, b = 10 with 11 of 12 batches",
    kill=kill_by_number("schedule", "q = 10 / 115", lambda: 1 / 11, 10 / 115),
)
renyi_order_one = Mutant(
    name="renyi-order-near-one",
    bug="the conversion takes the infimum over orders down to 1 without its log(1/delta)/(alpha - 1)",
    kill=kill_by_number(
        "accountant", "told epsilon >= exact", lambda: dp.GaussianDP(1.0).epsilon_at(1e-5), 0.5 * 1.0001
    ),
)


def overnoised_risk(context: Context) -> Kill:
    """The mean estimator's risk bound 2/(n epsilon)^2 + 1/(4n) against noise for the sum added to the mean."""
    n, trials = 100, int(context.scale(2000, 10_000))
    rng = context.rng("over-noised")
    data = rng.random((trials, n))
    errors = (data.mean(axis=1) + rng.laplace(scale=1.0, size=trials) - 0.5) ** 2
    found = refute_mean(errors, 2 / n**2 + 1 / (12 * n), context.failure_probability)
    return Kill(
        killed=found.crossed is not None,
        by="risk (betting)",
        samples=found.crossed or trials,
        exact_epsilon=0.01,
        claim="E error <= 2/n^2 + 1/(12 n)",
    )


over_noised = Mutant(
    name="over-noised-mean",
    bug="noise of scale 1/epsilon for the sum added to the mean: private, and useless",
    kill=overnoised_risk,
)
