"""One-run audits: the printed p-value, level, power."""

import math

import numpy as np
import pytest
from scipy import stats

import dpcheck as dp
from dpcheck.auditing.one_run import SMALLEST, audit_one_run, curve_is_refuted, curve_p_value, one_run_p_value
from dpcheck.errors import InvalidInput

CANARIES = np.eye(200)


def gaussian_sum(sigma):
    return lambda records, rng: records.sum(axis=0) + sigma * rng.normal(size=200)


def own_coordinate(output, canaries):
    return output


def naive_p_value(right, guesses, canaries, epsilon, delta):
    law = stats.binom(guesses, 1 / (1 + math.exp(-epsilon)))
    best = max((law.cdf(right - 1) - law.cdf(right - i - 1)) / i for i in range(1, right + 1))
    return min(1.0, law.sf(right - 1) + 2 * canaries * delta * best)


def test_p_value_is_the_printed_one():
    for right, guesses, delta in [(30, 40, 0.0), (35, 40, 1e-5), (40, 40, 1e-3)]:
        assert one_run_p_value(right, guesses, 50, 0.7, delta) == pytest.approx(
            naive_p_value(right, guesses, 50, 0.7, delta)
        )


def test_level_for_randomised_response_of_every_coin():
    # Local randomised response of each coin is the tight case: right guesses are binomial.
    rng = np.random.default_rng(0)
    right = rng.binomial(200, 1 / (1 + math.exp(-1.0)), size=2000)
    level = np.mean([one_run_p_value(int(w), 200, 200, 1.0) <= 0.05 for w in right])
    # At most 0.05; more than 0.0665 has probability 1e-3 in 2,000 draws.
    assert 0.015 <= level <= 0.0665


def test_curve_level_and_power_for_gaussian_noise():
    # Each coordinate holds one coin at mu = 1 (add-remove): the Bayes guess is right with probability Phi(1/2).
    rng = np.random.default_rng(1)
    right = rng.binomial(2000, stats.norm.cdf(0.5), size=300)
    wrong = np.mean([curve_is_refuted(int(w), 2000, dp.GaussianDP(1.0), 0.05) for w in right])
    # At most 0.05; more than 0.10 of 300 has probability 3e-4.
    assert wrong <= 0.10
    # A mechanism may concentrate its leak on 5 % of its runs, so one run cannot refute much more than this.
    found = np.mean([curve_is_refuted(int(w), 2000, dp.GaussianDP(0.3), 0.05) for w in right])
    assert found > 0.95
    assert curve_is_refuted(200, 200, dp.GaussianDP(0.5), 0.05)
    assert curve_is_refuted(int(2000 * stats.norm.cdf(0.5)), 2000, dp.ZCDP(0.01), 0.05)


def surest(canaries, guesses, mu, rng):
    """Right ones of the surest guesses, each of a coin of its own at mu: the mechanism that a curve of mu allows."""
    coins = rng.random(canaries) < 0.5
    scores = mu * coins + rng.normal(size=canaries)
    order = np.argsort(scores)
    return int((~coins[order[: guesses // 2]]).sum() + coins[order[canaries - guesses // 2 :]].sum())


def test_the_surest_guesses_keep_the_level_and_find_more():
    rng = np.random.default_rng(2)
    p_values = [curve_p_value(surest(400, 40, 1.0, rng), 40, 400, dp.GaussianDP(1.0)) for _ in range(60)]
    # Each is at most 0.05 with probability 0.05: more than 10 of 60 are so with probability 3e-4.
    assert np.sum(np.array(p_values) <= 0.05) <= 10
    few, all_of_them = (
        [curve_is_refuted(surest(2000, k, 2.0, rng), 2000, dp.GaussianDP(1.0), 0.05, k) for _ in range(20)]
        for k in (500, 2000)
    )
    # Twenty of twenty and none of twenty as measured with other seeds.
    assert sum(few) >= 18
    assert sum(all_of_them) <= 2


def test_a_mechanism_that_leaks_on_few_of_its_runs_keeps_the_level():
    """With probability delta it tells all, and nothing else: at most that often all 50 guesses are right."""
    claim = dp.ApproxDP(1e-9, 0.04)
    assert curve_p_value(50, 50, 50, claim) >= 0.04
    assert one_run_p_value(50, 50, 50, 0.0, 0.04) >= 0.04
    # Either bound counts what a binomial law of independent coins allows.
    for right in (30, 40, 50):
        tail = float(stats.binom.sf(right - 1, 50, 1 / (1 + math.exp(-1.0))))
        assert curve_p_value(right, 50, 200, dp.ApproxDP(1.0, 1e-6)) >= tail * (1 - 1e-5)


def test_one_guess_among_many_canaries_is_right_as_often_as_randomised_response():
    for canaries in (1, 7, 400):
        assert curve_p_value(1, 1, canaries, dp.PureDP(1.0)) == pytest.approx(1 / (1 + math.exp(-1.0)), rel=1e-5)


def test_the_curve_of_epsilon_and_delta_is_sharper_where_delta_is_charged_for_every_canary():
    claim = dp.ApproxDP(1.0, 1e-4)
    sharp, blunt = curve_p_value(95, 100, 2000, claim), one_run_p_value(95, 100, 2000, 1.0, 1e-4)
    assert sharp < blunt


def test_ends_of_the_p_value_of_a_curve():
    claim = dp.PureDP(0.1)
    assert curve_p_value(200, 400, 400, claim) == curve_p_value(0, 400, 400, claim) == 1.0
    assert curve_p_value(201, 400, 400, claim) > 0.4
    # All 400 right has chance e^-258 of the tight case: no more is told than that it is small.
    assert stats.binom.sf(399, 400, 1 / (1 + math.exp(-0.1))) < SMALLEST
    assert curve_p_value(400, 400, 400, claim) == SMALLEST


def interrupted(*arguments):
    raise KeyboardInterrupt


@pytest.mark.parametrize("which", ["mechanism", "score"])
def test_ctrl_c_is_no_failure_of_the_mechanism(which):
    mechanism, score = (interrupted, own_coordinate) if which == "mechanism" else (gaussian_sum(1.0), interrupted)
    with pytest.raises(KeyboardInterrupt):
        audit_one_run(mechanism, CANARIES, dp.PureDP(1.0), score)


def test_audit_of_one_run():
    found = audit_one_run(gaussian_sum(0.2), CANARIES, dp.ApproxDP(1.0, 1e-5), own_coordinate)
    assert found.outcome == "refuted"
    assert found.epsilon_lower > 2.0
    assert "one run" in str(found)
    quiet = audit_one_run(gaussian_sum(4.0), CANARIES, dp.ApproxDP(1.0, 1e-5), own_coordinate, guesses=60)
    assert quiet.outcome == "undecided"
    assert quiet.guesses == 60
    assert quiet.verdict().evidence == "sampled"
    assert audit_one_run(gaussian_sum(0.1), CANARIES, dp.GaussianDP(1.0), own_coordinate).outcome == "refuted"
    assert audit_one_run(gaussian_sum(1.0), CANARIES, dp.GaussianDP(1.0), own_coordinate).outcome == "undecided"


def test_refuses():
    with pytest.raises(InvalidInput, match="at least 2"):
        audit_one_run(gaussian_sum(1.0), CANARIES[:1], dp.PureDP(1.0), own_coordinate)
    with pytest.raises(InvalidInput, match=f"guesses must lie between 2 and the {len(CANARIES)} canaries, got 1"):
        audit_one_run(gaussian_sum(1.0), CANARIES, dp.PureDP(1.0), own_coordinate, guesses=1)
    with pytest.raises(InvalidInput, match=r"guesses must lie between 2 and .* got 2\.5"):
        audit_one_run(gaussian_sum(1.0), CANARIES, dp.PureDP(1.0), own_coordinate, guesses=2.5)
    with pytest.raises(InvalidInput, match=r"seed must be an integer >= 0.*got -1"):
        audit_one_run(gaussian_sum(1.0), CANARIES, dp.PureDP(1.0), own_coordinate, seed=-1)
    with pytest.raises(InvalidInput, match="need 0 <= right <= guesses <= canaries, got 5, 4, 9"):
        one_run_p_value(5, 4, 9, 1.0, 0.0)
    with pytest.raises(dp.DpcheckError, match="score"):
        audit_one_run(gaussian_sum(1.0), CANARIES, dp.PureDP(1.0), lambda output, canaries: 0.0)
