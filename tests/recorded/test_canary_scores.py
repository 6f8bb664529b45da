"""One-run audits of recorded scores: the same numbers as of a run that is made, assumptions said, refusals."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

import dpcheck as dp
from dpcheck import seeds
from dpcheck.verdicts import Outcome


def scored(canaries, shift, seed):
    rng = np.random.default_rng(seed)
    inside = int(rng.binomial(canaries, 0.5))
    return rng.normal(size=inside) + shift, rng.normal(size=canaries - inside)


def test_what_a_run_says_its_recorded_scores_say():
    """`dp.audit_one_run` on its own, and the scores that it saw, told apart by its coins."""
    kept = {}

    def mechanism(records, rng):
        return records.sum(axis=0) + rng.normal(size=records.shape[1])

    def score(output, canaries):
        kept["scores"] = canaries @ output
        return kept["scores"]

    canaries, claim = np.eye(400), dp.ApproxDP(0.5, 1e-5)
    live = dp.audit_one_run(mechanism, canaries, claim, score, guesses=80, seed=3)
    included = seeds.stream(3, "one-run", "coins").random(400) < 0.5
    recorded = dp.audit_canary_scores(kept["scores"][included], kept["scores"][~included], claim, guesses=80)
    assert (recorded.right, recorded.guesses, recorded.canaries) == (live.right, live.guesses, live.canaries)
    assert (recorded.p_value, recorded.epsilon_lower) == (live.p_value, live.epsilon_lower)


def test_level():
    """Scores that say nothing, 400 runs at 5 %: as many refutations have probability at least 0.001."""
    refuted = sum(
        dp.audit_canary_scores(*scored(200, 0.0, s), dp.PureDP(0.01), seed=s).outcome is Outcome.REFUTED
        for s in range(400)
    )
    assert scipy.stats.binom.sf(refuted - 1, 400, 0.05) > 0.001


def test_power_and_words():
    told = dp.audit_canary_scores(*scored(1000, 2.0, 1), dp.ApproxDP(1.0, 1e-5), guesses=200)
    assert told.outcome is Outcome.REFUTED
    text = str(told)
    assert text.startswith("REFUTED  the recorded run is not (1, 1e-05)-DP")
    assert "Steinke, Nasr and Jagielski 2023" in text
    assert text.count("assumes") == 4
    assert "by a coin of its own" in text
    assert told.to_dict()["outcome"] == "refuted"
    curve = dp.audit_canary_scores(*scored(1000, 2.0, 1), dp.GaussianDP(0.3))
    assert curve.outcome is Outcome.REFUTED
    assert "Mahloujifar" in str(curve)
    assert dp.audit_canary_scores(*scored(1000, 0.0, 1), dp.PureDP(0.5)).outcome is Outcome.UNDECIDED


def test_ties_are_not_broken_by_the_order_in_which_scores_came():
    """All scores alike: half of the guesses are right, give or take five standard deviations."""
    told = dp.audit_canary_scores(np.zeros(510), np.zeros(490), dp.PureDP(0.1), guesses=400)
    assert abs(told.right - 200) < 50


@pytest.mark.parametrize(
    ("inside", "outside", "options", "says"),
    [
        (np.zeros(810), np.zeros(190), {}, "810 of 1,000 canaries were in the data: not by fair coins"),
        ([np.nan], [1.0], {}, "inside must hold one score a canary, numbers that are not NaN"),
        ([1.0], [[1.0]], {}, "outside must hold one score a canary"),
        ([1.0], ["a"], {}, "outside must hold one score a canary"),
        ([1.0], [[1.0], [1.0, 2.0]], {}, "outside must hold one score a canary"),
        ([], [], {}, "at least 2 canaries, got 0"),
        ([1.0] * 4, [0.0] * 4, {"guesses": 9}, "guesses must lie between 2 and the 8 canaries, got 9"),
        ([1.0] * 4, [0.0] * 4, {"guesses": True}, "guesses must lie between 2"),
        ([1.0] * 4, [0.0] * 4, {"claim": 1.0}, "claim must be a guarantee"),
        ([1.0] * 4, [0.0] * 4, {"seed": -3}, "seed must be an integer >= 0"),
        ([1.0] * 4, [0.0] * 4, {"seed": "tuesday"}, "got 'tuesday'"),
    ],
)
def test_refusals(inside, outside, options, says):
    with pytest.raises(dp.InvalidInput) as caught:
        dp.audit_canary_scores(inside, outside, **{"claim": dp.PureDP(1.0), **options})
    assert says in str(caught.value)
