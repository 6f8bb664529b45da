"""Staged tests: the combined p-value, its level under adaptive designs, its power, the conditional error."""

import math

import numpy as np
import pytest
from scipy import stats

from dpcheck.errors import InvalidInput
from dpcheck.statistics.stages import combine_stages, log_conditional_error, normal_score


def test_combination_is_the_naive_one():
    p, w = [0.03, 0.2, 0.6], [1.0, 2.0, 5.0]
    z = sum(math.sqrt(b / 8) * stats.norm.isf(a) for a, b in zip(p, w, strict=True))
    assert combine_stages(p, w) == pytest.approx(stats.norm.sf(z))
    assert combine_stages([0.037], [3.0]) == 0.037
    assert combine_stages([1.0, 1e-9], [1.0, 1.0]) > 0.05
    with pytest.raises(InvalidInput, match="positive share"):
        combine_stages([0.1, 0.2], [1.0, 0.0])


def adaptive_stage(rng, first, tilt):
    """A second binomial stage whose size, and even whose coin's side, depends on the first one's result."""
    size = 40 if first < 0.3 else 400
    p0 = 0.7 if first < 0.1 else 0.5
    hits = rng.binomial(size, min(1.0, p0 + tilt))
    return float(stats.binom.sf(hits - 1, size, p0))


@pytest.mark.parametrize(("tilt", "least", "most"), [(0.0, 0, 70), (0.1, 600, 1000)])
def test_level_and_power_when_the_second_stage_looks_at_the_first(tilt, least, most):
    rng = np.random.default_rng(14)
    rejected = 0
    for _ in range(1000):
        hits = rng.binomial(100, 0.5 + tilt)
        first = float(stats.binom.sf(hits - 1, 100, 0.5))
        rejected += combine_stages([first, adaptive_stage(rng, first, tilt)], [1.0, 3.0]) <= 0.05
    # Under the null at most binomial(1000, 0.05): more than 70 has probability 3e-3 at the very edge, and the p-values
    # of counts stay below it.
    assert least <= rejected <= most


def test_conditional_error_is_the_chance_to_reject():
    rng = np.random.default_rng(15)
    score, spent, alpha = 0.6, 0.3, 0.05
    later = score + math.sqrt(1 - spent) * rng.normal(size=200_000)
    chance = float((later >= stats.norm.isf(alpha)).mean())
    # Five standard errors of the simulated chance: failure below 1e-6.
    assert math.exp(float(log_conditional_error(score, spent, alpha))) * alpha == pytest.approx(chance, abs=2.5e-3)
    assert list(log_conditional_error([1.7, 1.6], 1.0, alpha)) == [pytest.approx(-math.log(alpha)), -math.inf]


def test_conditional_error_is_a_martingale_under_the_null():
    rng = np.random.default_rng(16)
    alpha, share = 0.05, 0.4
    z = rng.normal(size=200_000)
    wealth = np.exp(log_conditional_error(math.sqrt(share) * z, share, alpha))
    # Standard error of the mean below 0.007.
    assert float(wealth.mean()) == pytest.approx(1.0, abs=0.035)


def test_scores_of_extreme_p_values_are_finite():
    assert np.isfinite(normal_score([0.0, 1.0, 0.5])).all()
    assert float(normal_score(0.05)) == pytest.approx(1.6448536)
