"""Independence of trials: what breaks it is named, what does not is left alone, and neither depends on a leak."""

import importlib.util
import itertools
import json
import pathlib
from math import comb

import numpy as np
import pytest
from curtailed import at_most

import dpcheck as dp
from dpcheck.auditing import attacks
from dpcheck.auditing.cells import learn_partition
from dpcheck.auditing.mechanisms import Encoder
from dpcheck.auditing.medians import THIN, about_the_median
from dpcheck.auditing.orders import hypergeometric, hypergeometric_parts
from dpcheck.auditing.premise import (
    MATCHES,
    Premise,
    Side,
    _rows,
    events,
)
from dpcheck.auditing.runner import Runner, block_size
from dpcheck.errors import InvalidInput

ZERO, ONE = np.zeros(1), np.ones(1)
FILE = pathlib.Path(__file__).parents[2] / "audits" / "auditor" / "_stateful.py"


def stateful():
    spec = importlib.util.spec_from_file_location("stateful_mechanisms", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.STATEFUL


STATEFUL = stateful()


def laplace(data, rng, trials):
    return data.sum() + rng.laplace(size=trials)


@pytest.mark.parametrize("mode", ["fixed", "anytime"])
@pytest.mark.parametrize("name", STATEFUL)
def test_state_is_not_taken_for_a_leak(name, mode):
    """Five audits of a mechanism that never looks at its data: three refutations at 5 % have probability 1e-3."""
    options = {"trials": 600} if mode == "fixed" else {"trials": 1500, "mode": mode, "until": "refuted"}
    results = [dp.audit(STATEFUL[name](), ZERO, ONE, dp.PureDP(0.2), seed=s, **options) for s in range(5)]
    assert sum(r.outcome is dp.Outcome.REFUTED for r in results) <= 2
    dependent = [r for r in results if r.dependence]
    if name not in ("running dry", "warming up"):
        assert len(dependent) >= 4
    for result in dependent:
        assert result.outcome is dp.Outcome.UNDECIDED
        assert result.epsilon_lower == 0
        assert result.witness is None
        assert "trials are not independent: " in result.reason()
        assert "draw all randomness from the generator" in result.reason()
        assert result.verdict().failure_probability == pytest.approx(0.001)


def rising(step, scale):
    """An output rises with the number of calls, and soon leaves all that a pilot has seen."""
    calls = itertools.count()
    return lambda data, rng, trials: data.mean() + rng.laplace(scale=scale, size=trials) + step * next(calls)


@pytest.mark.parametrize(
    "options", [{"trials": 12_000}, {"mode": "anytime", "max_samples": 40_000}], ids=["fixed", "any"]
)
@pytest.mark.parametrize("step", [0.03, 0.1, 1.0, 10.0])
def test_a_drift_is_seen_however_loud_it_is(step, options):
    """Beyond the outputs of the pilot all lie in one cell: only their own median tells that they rise."""
    data = np.zeros(20), np.r_[1.0, np.zeros(19)]
    result = dp.audit(rising(step, 0.005), *data, dp.PureDP(1.0), seed=3, **options)
    assert "the first and the last runs on the same input differ" in result.dependence
    found = attacks.attack(rising(step, 0.05), *data, dp.PureDP(1.0), only=["state"], seed=1)
    assert [finding.attack for finding in found if finding.found] == ["state"]


def test_a_thin_record_is_of_equal_distances_however_the_calls_come():
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(5000, 3))
    outputs[7, 1] = np.nan
    side = Side.fresh(1)
    for part in np.split(outputs, np.sort(rng.integers(5000, size=30))):
        side.look(part)
    assert (side.stride, len(side.thin)) == (8, 625)
    assert len(side.thin) <= THIN
    assert np.array_equal(side.thin[:, :3], np.nan_to_num(outputs)[::8])
    assert not side.thin[:, 3:].any()
    wide = Side.fresh(1)
    wide.look(np.r_[np.zeros((50, 40)), np.ones((50, 40)) * np.inf])
    assert np.isfinite(wide.thin).all()


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: rng.normal(size=(61, 8)),
        lambda rng: rng.integers(3, size=(60, 8)).astype(float),
        lambda rng: (rng.random((60, 8)) < 0.05) * rng.normal(size=(60, 8)),
    ],
    ids=["reals", "ties", "rare"],
)
def test_level_of_what_lies_above_the_median(draw):
    """p <= 0.1 in at most a tenth of columns that are independent: more than 230 of 2,000 have probability 0.014."""
    columns = [about_the_median(draw(np.random.default_rng(seed))) for seed in range(250)]
    for test in range(3):
        p = np.concatenate([found[test][0] for found in columns if found])
        assert (p <= 0.1).sum() <= 0.115 * 2000


def test_nothing_is_said_of_outputs_that_are_all_the_same():
    assert about_the_median(np.zeros((0, 8))) == []
    assert about_the_median(np.ones((50, 8))) == []


def test_a_function_of_one_run_may_keep_what_it_likes_and_is_not_accused():
    """The input of each run is a coin, so even a walk that never ends tells nothing of it."""

    def refuted(seed):
        level = [0.0]

        def walk(data, rng, level=level):
            level[0] += rng.normal()
            return level[0]

        found = dp.audit(dp.vectorize(walk), ZERO, ONE, dp.PureDP(0.05), trials=150, seed=seed)
        return found.outcome is dp.Outcome.REFUTED

    # At most binomial(40, 0.05): more than 7 has probability 1e-3.
    assert at_most(7, 40, refuted)


def test_a_leak_does_not_set_the_check_off_and_state_does_not_hide_behind_one():
    loud = dp.audit(lambda d, r, t: 50 * d.sum() + r.laplace(size=t), ZERO, ONE, dp.PureDP(1.0), trials=2000)
    assert (loud.outcome, loud.dependence) == (dp.Outcome.REFUTED, "")
    calls = itertools.count()

    def both(data, rng, trials):
        return 50 * data.sum() + rng.laplace(size=trials) + 3 * (next(calls) % 2)

    hidden = dp.audit(both, ZERO, ONE, dp.PureDP(1.0), trials=2000)
    assert "on the same input the first call of two and the second one differ" in hidden.reason()


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "cauchy": lambda rng, n: rng.standard_cauchy(n),
    "bit": lambda rng, n: (rng.random(n) < 0.3).astype(float),
    "rare": lambda rng, n: (rng.random(n) < 0.004).astype(float),
    "constant": lambda rng, n: np.zeros(n),
    "counts": lambda rng, n: rng.poisson(2.0, n).astype(float),
    "many counts": lambda rng, n: rng.geometric(1 / 300, n).astype(float),
    "halts": lambda rng, n: np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)),
}


@pytest.mark.parametrize("name", LAWS)
def test_level_of_the_check(name):
    """At level 0.2 on 100 streams of independent outputs: more than 33 has probability 1e-3."""
    law = LAWS[name]

    def fired(seed):
        rng = np.random.default_rng([seed, 71])
        held = law(rng, 200), law(rng, 200) + 0.5
        cells = learn_partition(*held)
        premise = Premise(events(cells, np.stack([cells.count(h) for h in held], axis=1)), seed, 0.2)
        for side in (0, 1):
            sizes = rng.binomial(12, 0.5, 40)
            values = law(rng, sizes.sum()) + 0.5 * side
            premise.observe(side, cells.index(values), values[:, None], sizes, rng.random(40) < 0.5)
        return premise.check()

    assert at_most(33, 100, fired)


def test_attacks_certify_nothing_of_trials_that_are_not_independent():
    calls = itertools.count()

    def alternating(data, rng, trials):
        return np.round(4 * data.sum() + rng.laplace(size=trials)) + 3 * (next(calls) % 2)

    finding = attacks.support(alternating, ZERO, ONE, dp.PureDP(1.0), trials=600)
    assert not finding.found
    assert finding.detail.startswith("nothing certified, for trials are not independent: ")


def test_outputs_of_one_input_alone_are_checked_as_they_are():
    """Alternating outputs on data, none on the neighbour: what was told of one input is enough, or it is nothing."""
    rng = np.random.default_rng(3)
    cells = learn_partition(rng.normal(size=200), rng.normal(size=200))
    told = {}
    for name, values in {"drawn": rng.normal(size=400), "alternating": np.tile([-1.0, 1.0], 200)}.items():
        premise = Premise(events(cells, np.ones((len(cells.p), 2), dtype=np.int64)), 0, 0.001)
        premise.observe(0, cells.index(values), values[:, None], [40] * 10, [False] * 10)
        told[name] = premise.check()
    assert told["drawn"] == ""
    assert "independence" in told["alternating"]


def test_without_events_values_that_come_back_are_still_looked_for():
    rng = np.random.default_rng(4)
    once = rng.normal(size=(500, 1))
    for values, says in ((rng.normal(size=(1000, 1)), ""), (np.concatenate([once, once]), "500 outputs come back")):
        premise = Premise(np.zeros((0, 1), dtype=bool), 0, 0.001)
        premise.observe(0, np.zeros(1000, dtype=int), values, [1000], [False])
        assert premise.check().startswith(says)
        assert bool(premise.broken) == bool(says)


def test_vectors_words_and_halts_are_believed():
    def vector(data, rng, trials):
        return data.sum() + rng.normal(size=(trials, 3))

    def words(data, rng, trials):
        return np.array(["ash", "elm", "oak"])[rng.integers(0, 3, trials)]

    def halting(data, rng, trials):
        return np.where(rng.random(trials) < 0.2, np.nan, rng.laplace(size=trials))

    for mechanism in (vector, words, halting, laplace):
        for mode in ("fixed", "anytime"):
            result = dp.audit(mechanism, ZERO, ONE, dp.PureDP(8.0), trials=1000, mode=mode, halts=True)
            assert not result.dependence
            assert "premise      trials are independent given the input; a check of that" in str(result)
            assert "independent given the input" in result.verdict().numbers["premise"]
    assert "trials are independent given the input" in dp.audit.__doc__


def test_order_of_calls_is_drawn_and_the_seed_decides_it():
    def sides(seed):
        asked = []

        def mechanism(data, rng, trials):
            asked.append(int(data[0]))
            return rng.laplace(size=trials)

        dp.audit(mechanism, ZERO, ONE, dp.PureDP(1.0), trials=2000, seed=seed)
        return asked

    one = sides(1)
    assert one == sides(1) != sides(2)
    starts = one[2::2]
    # 64 calls of 32 blocks, each block begun by either with chance 1/2: outside [6, 26] has probability 3e-4.
    assert len(starts) >= 32
    assert 6 <= sum(starts[:32]) <= 26


def test_blocks():
    runner = Runner(laplace, (ZERO, ONE), 3, Encoder("laplace"), 100)
    drawn = runner.both(250, "key", block=20)
    assert sum(len(side.outputs) for side in drawn) == 250
    for side in drawn:
        assert sum(side.sizes) == len(side.outputs)
        assert len(side.sizes) == len(side.second) <= 13
    assert sum(sum(side.second) for side in drawn) == 13
    assert [block_size(n, 8192) for n in (10, 640, 10**7)] == [4, 20, 8192]


def test_runs_of_an_event_are_hypergeometric():
    """Against all orders of nine outputs, four of them in the event."""
    size, marked = 9, 4
    runs = []
    for chosen in itertools.combinations(range(size), marked):
        inside = np.isin(np.arange(size), chosen)
        runs.append(int((inside & ~np.concatenate([[False], inside[:-1]])).sum()))
    for k in range(1, marked + 1):
        few, many = hypergeometric(np.array([k]), size, size - marked + 1, marked)
        assert few[0] == pytest.approx(np.mean(np.array(runs) <= k), rel=1e-9)
        assert many[0] == pytest.approx(np.mean(np.array(runs) >= k), rel=1e-9)


def test_hypergeometric_parts():
    total = comb(30, 12)
    law = [comb(11, k) * comb(19, 12 - k) / total for k in range(12)]
    below, above, here = hypergeometric_parts(np.arange(12), 30, 11, 12)
    assert here == pytest.approx(law, rel=1e-9)
    assert below == pytest.approx([sum(law[:k]) for k in range(12)], abs=1e-12)
    assert above == pytest.approx([sum(law[k + 1 :]) for k in range(12)], abs=1e-12)


def test_values_that_come_back():
    rng = np.random.default_rng(5)
    fresh = rng.integers(0, 2**62, 2000, dtype=np.uint64)
    assert _rows(fresh)[0] == 1
    assert _rows(np.concatenate([fresh, fresh[:MATCHES]]))[0] < 1e-10
    assert "2000 runs later" in _rows(np.concatenate([fresh, fresh[:MATCHES]]))[1]
    assert _rows(np.concatenate([fresh, rng.permutation(fresh)]))[0] == 1
    assert _rows(rng.geometric(0.01, 4000).astype(np.uint64))[0] == 1


def test_a_resumed_audit_is_the_undisturbed_one():
    options = {"mode": "anytime", "chunk": 300}
    whole = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), max_samples=9000, **options)
    kept = []
    dp.audit(
        laplace,
        ZERO,
        ONE,
        dp.PureDP(1.0),
        max_samples=9000,
        until=lambda look: look.samples > 3000 and (kept.append(look.state()) or True),
        **options,
    )
    state = json.loads(json.dumps(kept[0]))
    later = dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), max_samples=9000, resume=state, **options)
    assert later.state["premise"] == whole.state["premise"]
    assert later.state["counts"] == whole.state["counts"]
    assert later.epsilon_lower == whole.epsilon_lower


@pytest.mark.parametrize(
    "damage",
    [
        lambda premise: premise.pop("sides"),
        lambda premise: premise["sides"][0].update(sizes=[float("nan")]),
        lambda premise: premise["sides"][0]["hits"][0].__setitem__(0, -1),
        lambda premise: premise["sides"][1].update(runs=[10**9] * len(premise["sides"][1]["runs"])),
        lambda premise: premise["sides"][0]["thin"].pop(),
        lambda premise: premise["sides"][0].update(stride=0),
        lambda premise: premise["sides"].pop(),
    ],
)
def test_a_damaged_record_is_refused(damage):
    options = {"mode": "anytime", "max_samples": 4000}
    state = json.loads(json.dumps(dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), **options).state))
    damage(state["premise"])
    with pytest.raises(InvalidInput, match="record of the order of outputs is damaged"):
        dp.audit(laplace, ZERO, ONE, dp.PureDP(1.0), resume=state, **options)


def test_once_broken_it_stays_so():
    def alternates(data, rng, trials):
        alternates.calls += 1
        return rng.laplace(size=trials) + 3 * (alternates.calls % 2)

    alternates.calls = 0
    options = {"mode": "anytime", "max_samples": 4000}
    state = dp.audit(alternates, ZERO, ONE, dp.PureDP(1.0), **options).state
    assert dp.audit(alternates, ZERO, ONE, dp.PureDP(1.0), resume=state, **options).dependence


def test_assert_private_does_not_pass_what_cannot_be_judged():
    calls = itertools.count()

    def alternates(data, rng, trials):
        return rng.laplace(size=trials) + 3 * (next(calls) % 2)

    with pytest.raises(AssertionError, match="nothing can be concluded: alternates: trials are not independent"):
        dp.testing.assert_private(alternates, ZERO, ONE, claim=dp.PureDP(1.0), trials=2000)
    with pytest.raises(AssertionError, match=r"nothing is shown at ε = 1\.05"):
        dp.testing.assert_private(laplace, ZERO, ONE, claim=dp.PureDP(1.0), trials=1000, must_detect=1.05)
    with pytest.warns(UserWarning, match="passed without power"):
        dp.testing.assert_private(laplace, ZERO, ONE, claim=dp.PureDP(800.0), trials=100)


# -- the attack ------------------------------------------------------------------------------------------------------


def last_input():
    last = [0.0]

    def run(data, rng, trials):
        before, last[0] = last[0], float(data.sum())
        return before + rng.laplace(size=trials)

    return run


def kept_noise():
    kept = []

    def run(data, rng, trials):
        kept.append(rng.laplace(size=trials))
        return data.sum() + kept[0][:trials]

    return run


def first_is_slow():
    calls = itertools.count()
    return lambda data, rng, trials: rng.laplace(size=trials) + (0.0 if next(calls) else 5.0)


def counter():
    calls = itertools.count()
    return lambda data, rng, trials: rng.laplace(size=trials) / (1 + next(calls))


def alternating():
    calls = itertools.count()
    return lambda data, rng, trials: rng.laplace(size=trials) + next(calls) % 2


@pytest.mark.parametrize(
    ("make", "grade", "says"),
    [
        (last_input, "critical", "tells what the call before was asked of"),
        (kept_noise, "critical", "noise is kept, or its seed is fixed"),
        (first_is_slow, "theoretical", "the first calls answer otherwise"),
        (counter, "theoretical", "trials are not independent"),
        (alternating, "theoretical", "trials are not independent"),
        (lambda: laplace, "nothing found", "whatever was asked before"),
        (lambda: lambda d, r, t: np.random.default_rng().laplace(size=t), "nothing found", "something else than its"),
        (lambda: lambda d, r, t: (r.random(t) < 0.5).astype(int), "nothing found", "whatever was asked before"),
    ],
)
def test_the_attack_names_the_state(make, grade, says):
    finding = attacks.state(make(), ZERO, ONE, failure_probability=1e-6)
    assert finding.said == grade
    assert says in finding.detail
