"""Slopes: the known line, coverage with heavy tails, the words."""

import math

import numpy as np
import pytest

from dpcheck.errors import InvalidInput
from dpcheck.statistics.regression import Slope, fit_slope, log_means

SIZES = 2.0 ** np.arange(7, 15)


def test_weighted_least_squares_by_hand():
    rng = np.random.default_rng(10)
    se = rng.uniform(0.01, 0.05, len(SIZES))
    y = 0.3 - 0.1 * np.log(SIZES) + se * rng.normal(size=len(SIZES))
    fit = fit_slope(SIZES, y, se)
    design, weight = np.column_stack([np.ones(8), np.log(SIZES)]), np.diag(1 / se**2)
    covariance = np.linalg.inv(design.T @ weight @ design)
    beta = covariance @ design.T @ weight @ y
    scatter = float((((y - design @ beta) / se) ** 2).sum() / 6)
    assert (fit.intercept, fit.slope) == pytest.approx(tuple(beta))
    assert fit.standard_error == pytest.approx(math.sqrt(covariance[1, 1] * max(1.0, scatter)))
    assert fit.scatter == pytest.approx(scatter)


@pytest.mark.parametrize("law", ["exponential", "lognormal"])
def test_interval_covers(law):
    rng = np.random.default_rng(11)
    missed = 0
    for _ in range(300):
        noise = rng.exponential(size=(100, 8)) if law == "exponential" else rng.lognormal(sigma=1.5, size=(100, 8))
        log_ratio, se = log_means(noise)
        fit = fit_slope(SIZES, log_ratio, se)
        missed += not fit.lower <= 0.0 <= fit.upper
    # Nominally 5 % (the floor under the scale makes it less): more than 28 of 300 has probability 1e-3.
    assert missed <= 28


def test_power_against_a_shallow_rate():
    rng = np.random.default_rng(12)
    log_ratio, se = log_means(rng.exponential(size=(2000, 8)) * SIZES**0.2)
    assert fit_slope(SIZES, log_ratio, se).word() == "shallower"


@pytest.mark.parametrize(
    ("lower", "upper", "word"),
    [
        (0.06, 0.2, "shallower"),
        (-0.3, -0.06, "steeper"),
        (-0.04, 0.04, "consistent"),
        (-0.3, 0.04, "not shallower"),
        (0.0, 0.2, "undecided"),
    ],
)
def test_words(lower, upper, word):
    slope = Slope((lower + upper) / 2, 0.01, lower, upper, 0.0, 1.0, 1.0, 0.01)
    assert slope.word() == word


def test_needs_three_sizes_and_positive_means():
    with pytest.raises(InvalidInput, match="3 sizes"):
        fit_slope([1, 2], [0, 0], [1, 1])
    with pytest.raises(InvalidInput, match="positive"):
        log_means(np.zeros((5, 3)))
