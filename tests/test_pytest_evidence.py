"""E-values over versions: their level at any time, their power, and what does not count."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

import dpcheck as dp
from dpcheck.auditing.anytime import State
from dpcheck.auditing.rules import Rule
from dpcheck.auditing.spending import Looks
from dpcheck.auditing.stages import Stage
from dpcheck.pytest_plugin.evidence import STAKES, log_wealth, paid, together

ACCOUNTS, VERSIONS = 4_000, 12
SURE = 1e-6
"""Failure probability of each statistical test here."""


def walks(epsilon: float, delta: float, truth: float, leaks: float, seed: int) -> np.ndarray:
    """(accounts, versions) e-values of randomised response that is (truth, leaks)-DP exactly, both of whose outputs are
    guessed: a leaked trial tells its input, at the higher of two levels."""
    rng = np.random.default_rng(seed)
    rule = Rule(np.array([-1, 1], dtype=np.int8), delta, 0.0, delta > 0)
    samples = 800
    paths = []
    for _ in range(ACCOUNTS):
        wealth = np.zeros((VERSIONS, len(STAKES)))
        for version, leaked in enumerate(rng.binomial(samples, leaks, size=VERSIONS)):
            right = rng.binomial(samples - leaked, 1 / (1 + math.exp(-truth)))
            counts = np.array([right, leaked]), np.array([samples - leaked - right, 0])
            wealth[version] = paid(Stage(rule, *counts, samples), epsilon)
        paths.append(np.log(np.exp(wealth.cumsum(axis=0)).mean(axis=1)))
    return np.exp(paths)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (1.0, 0.01), (0.0, 0.05)])
def test_level_at_any_time_where_the_claim_is_just_true(epsilon, delta):
    found = walks(epsilon, delta, epsilon, delta, seed=1)
    for threshold in (5.0, 20.0):
        ever = int((found.max(axis=1) >= threshold).sum())
        assert scipy.stats.binomtest(ever, ACCOUNTS, 1 / threshold, alternative="greater").pvalue > SURE
        assert ever > 0  # or nothing was bet
    # Each account ends with a mean of at most 1; a heavy tail makes the sample's mean no better than this.
    ended = found[:, -1]
    assert ended.mean() <= 1 + 5 * ended.std() / math.sqrt(ACCOUNTS)


def test_power_of_many_versions_none_of_which_tells():
    found = walks(1.0, 0.0, 1.15, 0.0, seed=2)
    assert (found[:, 0] >= 20).mean() < 0.2
    assert (found[:, -1] >= 20).mean() > 0.95


def test_a_bet_that_forgets_the_leak_would_break_the_level():
    """What the division by 1 + delta s is for: without it a private mechanism is accused."""
    assert (walks(1.0, 0.0, 1.0, 0.04, seed=3).max(axis=1) >= 20).mean() > 0.5


@pytest.mark.parametrize("directions", [1, 2])
def test_no_private_pair_pays_more_than_one_in_the_mean(directions):
    """The payment of a trial, worked out for the pair that leaks most."""
    epsilon, delta = 0.7, 0.03
    rule = Rule(np.array([-1, 1][-directions:], dtype=np.int8), delta, 0.0, True)
    e, none = math.exp(epsilon), np.array([0])
    right, wrong, idle = (
        paid(Stage(rule, np.array([r]), np.array([w]), 1), epsilon) for r, w in ((1, 0), (0, 1), (0, 0))
    )
    likely, rest = (1 - delta) * e / (1 + e), (1 - delta) / (1 + e)
    # (right, wrong, no guess) of a coin-flipped trial; with one direction only what points to the data is guessed.
    if directions == 2:
        chances = (likely + delta, rest, 0.0)
    else:
        chances = ((likely + delta) / 2, rest / 2, 1 - (likely + rest + delta) / 2)
    means = sum(c * np.exp(each) for c, each in zip(chances, (right, wrong, idle), strict=True))
    assert means.max() <= 1 + 1e-12
    assert means.min() > 0.97
    assert (paid(Stage(rule, none, none, 0), epsilon) == 0).all()


def state(claim: dp.Guarantee, scale: float = 1.0, trials: int = 1_000, seed: int = 0) -> dict:
    def noisy(data, rng, trials):
        return data.sum() + rng.laplace(scale=scale, size=trials)

    zero, one = np.zeros(1), np.ones(1)
    found = dp.audit(noisy, zero, one, claim, mode="anytime", trials=trials, seed=seed, failure_probability=1e-3).state
    assert found is not None
    return found


@pytest.mark.parametrize("claim", [dp.PureDP(0.7), dp.ApproxDP(0.7, 1e-4), dp.ZCDP(0.05), dp.GaussianDP(0.4)])
def test_every_kind_of_claim_adds_up(claim):
    leaking = [state(claim, seed=seed) for seed in range(5)]
    assert together(leaking, claim) > 20
    weaker = dp.PureDP(1.0)
    assert together([state(weaker, seed=seed) for seed in range(5)], weaker) < 20


def test_what_is_no_state_or_depends_on_itself_bets_nothing():
    claim = dp.PureDP(0.3)
    whole = state(claim, scale=0.5)
    assert together([whole], claim) > 1e6
    stage = whole["stages"][0][0]
    for part in (
        {"premise": {**whole["premise"], "broken": "it drifts"}},
        {"stages": None},
        {"stages": []},
        {"stages": [[{**stage, "right": [-1]}]]},
        {"stages": [[{**stage, "samples": 3}]]},
        {"horizon": "many"},
        {"horizon": 1e400},
    ):
        assert (log_wealth({**whole, **part}, claim) == 0).all(), part
    assert together([], claim) == 1.0


def test_a_sure_guess_ends_at_the_most_that_is_told():
    schedule = Looks.of(100_000, 0.0)
    now = State.begun(dp.PureDP(1e-3), np.zeros((2, 2), dtype=int), schedule, 1e-3, 0)
    rule = Rule(np.array([-1, 1], dtype=np.int8), 0.0, 0.0)
    now.bound.stages = [Stage(rule, np.array([schedule.at(0)]), np.array([0]), schedule.at(0))]
    told = {**now.to_dict(), "premise": {"broken": ""}}
    assert together([told] * 50, dp.PureDP(1e-3)) == pytest.approx(1e300)
