"""Staged tests: the combined p-value, its level under adaptive designs, its power, boundaries of looks."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpcheck.errors import InvalidInput
from dpcheck.statistics.stages import combine_stages, critical_scores, normal_score


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


SIZES, SPENT = np.array([100.0, 150, 400, 800]), np.array([0.004, 0.01, 0.03, 0.05])


def walk(rng, sizes, paths):
    """Combined scores of independent stages at every look: (paths, looks)."""
    steps = np.sqrt(np.diff(sizes, prepend=0.0)) * rng.normal(size=(paths, len(sizes)))
    return np.cumsum(steps, axis=1) / np.sqrt(sizes)


def test_boundaries_spend_what_they_may_at_every_look():
    found = critical_scores(SIZES, SPENT)
    crossed = np.maximum.accumulate(walk(np.random.default_rng(15), SIZES, 400_000) >= found, axis=1).mean(axis=0)
    # Five standard errors of the simulated chances: failure below 1e-5.
    assert crossed == pytest.approx(SPENT, abs=5 * math.sqrt(0.05 / 400_000))
    # What is spent at a look depends on no later one.
    assert critical_scores(SIZES[:2], SPENT[:2]) == pytest.approx(found[:2], abs=1e-12)
    assert found[0] == pytest.approx(stats.norm.isf(0.004))


def test_two_looks_by_the_bivariate_normal_law():
    for alpha in (0.05, 1e-6):
        first, second = critical_scores([1.0, 4.0], [alpha / 3, alpha])
        # Inclusion and exclusion: P(Z1 >= first, Z2 >= second), correlation 1/2, by quadrature of its own.
        both = integrate.quad(
            lambda z, c=second: stats.norm.pdf(z) * stats.norm.sf((c - z / 2) / math.sqrt(0.75)), first, 15, epsabs=0
        )[0]
        crossed = stats.norm.sf(first) + stats.norm.sf(second) - both
        assert crossed == pytest.approx(alpha, rel=1e-4)


def test_scores_below_the_normal_ones_cross_no_more_often():
    found, rng = critical_scores(SIZES, SPENT), np.random.default_rng(16)
    sizes = np.diff(SIZES, prepend=0.0).astype(int)
    hits = rng.binomial(sizes, 0.6, size=(20_000, 4))
    scores = normal_score(stats.binom.sf(hits - 1, sizes, 0.6))
    combined = np.cumsum(np.sqrt(sizes) * scores, axis=1) / np.sqrt(np.cumsum(sizes))
    crossed = int((combined >= found).any(axis=1).sum())
    # More than binomial(20,000, 0.05) has with probability 1e-6: never. Half of it is spent in spite of the steps.
    assert 500 < crossed <= stats.binom.isf(1e-6, 20_000, 0.05)


@pytest.mark.parametrize(("sizes", "spent"), [([2.0, 1.0], [0.1, 0.2]), ([1.0, 2.0], [0.2, 0.1]), ([], [])])
def test_looks_must_grow(sizes, spent):
    with pytest.raises(InvalidInput, match="grow"):
        critical_scores(sizes, spent)


def test_scores_of_extreme_p_values_are_finite():
    assert np.isfinite(normal_score([0.0, 1.0, 0.5])).all()
    assert float(normal_score(0.05)) == pytest.approx(1.6448536)
