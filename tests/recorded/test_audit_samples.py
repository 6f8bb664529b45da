"""`dp.audit_samples`: level, power, what is refused, and that no row is used twice."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import scipy

import dpcheck as dp
from dpcheck.recorded import samples
from dpcheck.verdicts import Outcome

CLAIM = dp.PureDP(0.5)
ZERO, ONE = np.zeros(1), np.ones(1)


def laplace(data, rng, trials):
    return data.sum() + rng.laplace(size=trials)


def drawn(size, seed, more=0):
    rng = np.random.default_rng(seed)
    return laplace(ZERO, rng, size), laplace(ONE, rng, size + more)


def test_level():
    """Tight randomised response, 300 audits at 5 %: neither as many nor as few refutations have probability < 0.001."""
    right = 1 / (1 + math.exp(-1))
    refuted = 0
    for seed in range(300):
        rng = np.random.default_rng(10_000 + seed)
        x, y = rng.random(300) < right, rng.random(330) >= right
        refuted += dp.audit_samples(x, y, dp.PureDP(1.0), seed=seed).outcome is Outcome.REFUTED
    assert scipy.stats.binom.sf(refuted - 1, 300, 0.05) > 0.001
    assert scipy.stats.binom.cdf(refuted, 300, 0.04) > 0.001  # the level is spent


def test_as_much_is_certified_as_by_an_audit_of_the_mechanism():
    """Medians of 12 at 4,000 outputs a side, true epsilon 1: within 4 % of each other (they scatter by about 1 %)."""
    recorded = [dp.audit_samples(*drawn(4000, 50 + s), CLAIM, seed=s).epsilon_lower for s in range(12)]
    live = [dp.audit(laplace, ZERO, ONE, CLAIM, trials=4000, seed=s).epsilon_lower for s in range(12)]
    assert float(np.median(recorded)) >= 0.96 * float(np.median(live))
    assert sum(lower <= 1.0 for lower in recorded) >= 9  # each is above the truth with probability 0.05


def test_a_refutation_is_whole():
    x, y = drawn(5000, 1, more=700)
    found = dp.audit_samples(x, y, CLAIM, seed=1)
    assert isinstance(found, dp.AuditResult)
    assert found.outcome is Outcome.REFUTED
    assert found.curve is not None
    assert found.visible.smallest_probability == pytest.approx(3 / (found.counts["tested"] / 2))
    assert CLAIM.epsilon < found.detectable_epsilon < 1
    assert dp.verify(found.witness.to_dict()).violated
    assert found.witness.parameters["failure_probability"] == "0.0495"  # coins are paid for
    assert "5,000 on `data`, 5,700 on `neighbour`" in str(found)
    assert found.to_dict()["rows"] == {"x": 5000, "y": 5700}
    assert dp.audit_samples(x, y, CLAIM, seed=1).to_dict()["epsilon_lower"] == found.epsilon_lower


def test_several_audits_share_the_failure_probability():
    x, y = drawn(3000, 2)
    alone, one_of_four = (dp.audit_samples(x, y, CLAIM, among=k, seed=2) for k in (1, 4))
    assert one_of_four.failure_probability == 0.05 / 4
    assert one_of_four.epsilon_lower < alone.epsilon_lower
    assert one_of_four.confidence == "98.75 %"
    assert "one of 4 audits of these outputs, wrong together with probability at most 0.05" in str(one_of_four)
    assert "of k claims or scores each needs among=k" in str(alone)


def test_rows_are_used_in_their_order_and_once(monkeypatch):
    taken = {0: [], 1: []}

    class Watched(samples._Replay):
        def __call__(self, side, rng, trials):
            rows = super().__call__(side, rng, trials)
            taken[side].extend(rows.tolist())
            return rows

    monkeypatch.setattr(samples, "_Replay", Watched)
    x, y = drawn(2000, 3, more=100)
    dp.audit_samples(x, y, CLAIM)
    assert taken[0] == x[: len(taken[0])].tolist()
    assert taken[1] == y[: len(taken[1])].tolist()
    assert min(map(len, taken.values())) > 0.9 * 2000


def test_coins_are_paid_for(monkeypatch):
    asked = []
    live = samples.audit
    monkeypatch.setattr(samples, "audit", lambda *a, **k: asked.append(k["failure_probability"]) or live(*a, **k))
    found = dp.audit_samples(*drawn(2000, 4), CLAIM, among=2)
    assert asked == [pytest.approx(0.99 * 0.05 / 2)]
    assert found.failure_probability == 0.025
    assert found.premise_failure == pytest.approx(0.03 * 0.025)


def test_where_the_coins_run_out_others_are_drawn(monkeypatch):
    x, y = drawn(2000, 4)
    monkeypatch.setattr(samples, "most_trials", lambda rows: rows - 2)
    calls = []
    monkeypatch.setattr(samples.seeds, "key_of", lambda part: calls.append(part) or len(calls) + 100)
    for seed in range(6):
        found = dp.audit_samples(x, y, CLAIM, seed=seed)
        assert (found.seed, found.outcome) == (seed, Outcome.REFUTED)
    assert calls  # at two rows to spare nearly half of all coins do


@pytest.mark.parametrize("rows", [70, 1000, 10**6])
def test_samples_last(rows):
    """The exact chance that coins ask for more, both sides together, whatever is held out."""
    trials = samples.most_trials(rows)
    for held in (0, 20, trials // 10, trials // 2):
        chance = 2 * scipy.stats.binom.sf(rows - held, 2 * (trials - held), 0.5)
        assert chance <= samples.SPILL


def test_other_kinds_of_outputs():
    rng = np.random.default_rng(5)
    size = 1500
    bits = rng.random((2, size)) < np.array([[0.3], [0.85]])
    for outputs in (
        lambda b: np.where(b, "yes", "no"),
        lambda b: ["yes" if one else "no" for one in b],
        lambda b: [(float(one) + rng.normal(), "up" if one else "down") for one in b],
        lambda b: [[1] * (1 + int(one)) for one in b],
        lambda b: [{"answer": bool(one)} for one in b],
        lambda b: np.stack([4 * b + rng.laplace(size=size), rng.normal(size=size)], axis=1),
        lambda b: np.array([(float(one), "w") for one in b], dtype=[("number", float), ("word", "U1")]),
    ):
        found = dp.audit_samples(outputs(bits[0]), outputs(bits[1]), dp.PureDP(0.2))
        assert found.outcome is Outcome.REFUTED, found
    halted = [np.where(b, np.nan, rng.normal(size=size)) for b in bits]
    assert dp.audit_samples(*halted, dp.PureDP(0.2), halts=True).outcome is Outcome.REFUTED
    assert dp.audit_samples(np.zeros(size), np.zeros(size), dp.PureDP(0.2)).outcome is Outcome.UNDECIDED


def test_claims_of_every_kind():
    x, y = drawn(4000, 6)
    for claim in (dp.ApproxDP(0.3, 1e-4), dp.GaussianDP(0.4), dp.ZCDP(0.05), dp.RenyiDP(2.0, 0.05)):
        assert dp.audit_samples(x, y, claim).outcome is Outcome.REFUTED


def test_dependent_rows_decide_nothing():
    """Each is caught with all but certainty; 1e-300 under independence, and rows in a random order are not caught."""
    rng = np.random.default_rng(7)
    walk = scipy.signal.lfilter([1], [1, -0.99], rng.normal(size=(2, 4000)))
    noise = rng.laplace(size=4000)
    for x, y in (np.sort(drawn(4000, 7)), walk + np.array([[0], [5]]), (noise, noise + 1), (noise, 1 - noise)):
        found = dp.audit_samples(x, y, CLAIM)
        assert found.outcome is Outcome.UNDECIDED
        assert (found.epsilon_lower, found.curve, found.witness) == (0.0, None, None)
        assert "rows are not independent" in found.reason()
        assert "pass ordered=False" in found.reason()
    sorted_rows = dp.audit_samples(*np.sort(drawn(4000, 7)), CLAIM, ordered=False)
    assert sorted_rows.outcome is Outcome.REFUTED
    assert "the order of rows is unknown" in sorted_rows.premise


def test_independent_rows_are_not_called_dependent():
    """At a failure probability of 0.9 the check may err with probability 0.027: 40 audits, at most 6 (p = 1e-4)."""
    found = [dp.audit_samples(*drawn(500, 900 + s), dp.PureDP(1.0), failure_probability=0.9) for s in range(40)]
    assert sum(bool(one.dependence) for one in found) <= 6


X, Y = drawn(200, 8)
HOLE = np.where(np.arange(200) == 17, np.nan, X)


@pytest.mark.parametrize(
    ("x", "y", "says"),
    [
        (X[:20], Y, "x and y must hold at least 70 outputs each, got 20 and 200"),
        ([], Y, "x holds no outputs (shape (0,))"),
        (np.zeros((5, 0)), Y, "x holds no outputs (shape (5, 0))"),
        (np.array(3.0), Y, "x holds no outputs (shape ())"),
        (HOLE, Y, "x holds nan in row 17; outputs must be finite; pass halts=True if NaN means a halt"),
        (X, np.where(np.arange(200) == 3, np.inf, Y), "y holds inf in row 3; outputs must be finite"),
        ([("a", float("nan"))] * 200, [("a", 1.0)] * 200, "x holds ('a', nan) in row 0; numbers must be finite"),
        (X.reshape(-1, 2), Y.reshape(-1, 4), "x holds outputs of shape (2,) and y of shape (4,)"),
        (X, ["a"] * 200, "x holds numbers and y holds words"),
        (X, X, "x and y are the same sample"),
        (X, X.copy(), "x and y hold the same outputs row for row"),
        (list("ab" * 100), list("ab" * 100), "x and y hold the same outputs row for row"),
        (X, X[::-1], "200 outputs of x stand in y as well"),
        (X, np.concatenate([X[:150][::-1], Y]), "150 outputs of x stand in y as well"),
        ({"a": 1}, Y, "x must be an array or a list of outputs, one a run, got a dict"),
        (X, "text", "y must be an array or a list of outputs, one a run, got a str"),
        (X, None, "y must be an array or a list of outputs, one a run, got a NoneType"),
        (np.array(["2020-01-01"] * 200, dtype="M8[D]"), Y, "x holds values of type datetime64[D]"),
        ([object() for _ in X], [object() for _ in X], "no two of which are ever equal"),
    ],
)  # fmt: skip
def test_refusals(x, y, says):
    with pytest.raises(dp.DpcheckError) as caught:
        dp.audit_samples(x, y, CLAIM)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"among": 0}, "among must be the number of audits"),
        ({"among": 2.5}, "among must be the number of audits"),
        ({"failure_probability": 2}, "failure_probability must lie in (0, 1)"),
        ({"score": lambda outputs: 1 / 0}, "raised ZeroDivisionError"),
        ({"held_out": 0.9}, "held_out is the share of trials"),
    ],
)
def test_refused_options(options, says):
    with pytest.raises(dp.DpcheckError, match=re.escape(says)):
        dp.audit_samples(X, Y, CLAIM, **options)


def test_a_claim_that_is_none():
    with pytest.raises(dp.InvalidInput, match="claim must be a guarantee"):
        dp.audit_samples(X, Y, 1.0)
