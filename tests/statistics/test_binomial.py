"""Exact binomial inference against naive twins, and its coverage and power."""

import math

import numpy as np
import pytest
from scipy import stats

from dpcheck.errors import InvalidInput
from dpcheck.statistics import binomial
from dpcheck.statistics.binomial import (
    clopper_pearson,
    epsilon_lower_conditional,
    epsilon_lower_guesses,
    epsilon_lower_two_samples,
    guess_p_value,
    largest_rejected,
    two_sample_p_value,
)


@pytest.mark.parametrize("side", ["two", "lower", "upper"])
def test_clopper_pearson_is_scipys(side):
    alternative = {"two": "two-sided", "lower": "greater", "upper": "less"}[side]
    for k, n in [(0, 10), (3, 10), (10, 10), (417, 1000)]:
        low, high = clopper_pearson(k, n, 0.05, side)
        twin = stats.binomtest(k, n, alternative=alternative).proportion_ci(0.95, "exact")
        assert float(low) == pytest.approx(twin.low, abs=1e-12)
        assert float(high) == pytest.approx(twin.high, abs=1e-12)


def test_clopper_pearson_refuses_impossible_counts():
    with pytest.raises(InvalidInput, match="successes"):
        clopper_pearson(11, 10)
    with pytest.raises(InvalidInput, match=r"\(0, 1\)"):
        clopper_pearson(1, 10, 1.0)


def test_conditional_bound_is_the_logit_of_the_binomial_bound():
    low = stats.binomtest(80, 100, alternative="greater").proportion_ci(0.95, "exact").low
    assert float(epsilon_lower_conditional(80, 20)) == pytest.approx(math.log(low / (1 - low)), abs=1e-12)
    assert float(epsilon_lower_conditional(0, 0)) == 0.0
    assert float(epsilon_lower_conditional(3, 50)) == 0.0


def naive_guess_p_value(right, wrong, n, epsilon, delta):
    """Sum over the whole sample space, maximised over a fine grid of the nuisance (no confinement)."""
    design = binomial._Guesses(n, epsilon, delta)
    observed = design.signed_root(np.array([float(right + wrong)]), np.array([float(right)]))[0]
    counts = np.arange(n + 1)
    extreme = [design.signed_root(np.full(m + 1, float(m)), np.arange(m + 1.0)) >= observed - 1e-9 for m in counts]
    low, high = (float(v) for v in clopper_pearson(right + wrong, n, 0.05 * binomial.NUISANCE))
    best = 0.0
    for s in np.linspace(max(low, delta), high, 300):
        outer = stats.binom.pmf(counts, n, s)
        share = design.inner_law(np.array([s]))[0]
        best = max(best, sum(outer[m] * stats.binom.pmf(counts[: m + 1], m, share)[extreme[m]].sum() for m in counts))
    return best


@pytest.mark.parametrize(
    ("right", "wrong", "n", "epsilon", "delta"), [(20, 5, 60, 0.5, 0.05), (9, 1, 60, 1.0, 0.01), (3, 0, 50, 1.0, 0.01)]
)
def test_guess_test_agrees_with_full_enumeration(right, wrong, n, epsilon, delta):
    naive = naive_guess_p_value(right, wrong, n, epsilon, delta)
    assert guess_p_value(right, wrong, n, epsilon, delta) == pytest.approx(naive, rel=5e-3, abs=3e-5)


def naive_two_sample_p_value(x, n_p, y, n_q, epsilon, delta):
    design = binomial._TwoSamples(n_q, n_p, epsilon, delta)
    rows, columns = np.meshgrid(np.arange(n_q + 1.0), np.arange(n_p + 1.0), indexing="ij")
    root = design.signed_root(rows.ravel(), columns.ravel()).reshape(rows.shape)
    extreme = root >= root[y, x] - 1e-9
    low, high = (float(v) for v in clopper_pearson(y, n_q, 0.05 * binomial.NUISANCE))
    best = 0.0
    for q in np.linspace(low, min(high, design.highest()), 300):
        p = math.exp(epsilon) * q + delta
        law = stats.binom.pmf(np.arange(n_q + 1), n_q, q)[:, None] * stats.binom.pmf(np.arange(n_p + 1), n_p, min(1, p))
        best = max(best, law[extreme].sum())
    return best


@pytest.mark.parametrize(("x", "y", "epsilon", "delta"), [(20, 5, 0.5, 0.05), (12, 1, 1.0, 0.0), (30, 9, 0.5, 0.1)])
def test_two_sample_test_agrees_with_full_enumeration(x, y, epsilon, delta):
    naive = naive_two_sample_p_value(x, 60, y, 50, epsilon, delta)
    assert two_sample_p_value(x, 60, y, 50, epsilon, delta) == pytest.approx(naive, rel=1e-2, abs=3e-5)


@pytest.mark.parametrize(
    ("epsilon", "delta", "w", "n"), [(1.0, 0.02, 0.05, 300), (0.5, 0.1, 0.1, 400), (2.0, 1e-3, 0.02, 1000)]
)
def test_guess_test_has_its_level_on_the_boundary_and_is_not_absurdly_below(epsilon, delta, w, n):
    # Exact rejection probability under one boundary law, from all tables that carry mass: no sampling.
    r = math.exp(epsilon) * w + delta
    rng = np.random.default_rng(1)
    tables = np.unique(rng.multinomial(n, [r, w, 1 - r - w], size=600), axis=0, return_counts=True)
    rejected = sum(
        c for (a, b, _), c in zip(*tables, strict=True) if guess_p_value(int(a), int(b), n, epsilon, delta) <= 0.05
    )
    # 600 draws at a true level <= 0.05: more than 47 rejections has probability 1e-3; below 6 would waste the level.
    assert 6 <= rejected <= 47


def test_bound_covers_and_has_power():
    rng = np.random.default_rng(2)
    p, q, delta, n = 0.2, 0.04, 0.02, 4000
    truth = math.log((p - delta) / q)
    bounds = []
    for _ in range(20):
        right, wrong, _rest = rng.multinomial(n, [p, q, 1 - p - q])
        bounds.append(epsilon_lower_guesses(int(right), int(wrong), n, delta))
        # The bound is where the p-value crosses the level.
        assert guess_p_value(int(right), int(wrong), n, bounds[-1], delta) <= 0.05
    # Misses are at most binomial(20, 0.05): more than 4 has probability 3e-3.
    assert sum(b > truth for b in bounds) <= 4
    assert np.median(bounds) > truth - 0.25


def test_full_level_beats_two_intervals_at_half_the_level():
    low, _ = clopper_pearson(200, 1000, 0.025, "lower")
    _, high = clopper_pearson(40, 1000, 0.025, "upper")
    assert epsilon_lower_two_samples(200, 1000, 40, 1000) > math.log(float(low / high)) + 0.03


def test_no_evidence_gives_zero():
    assert epsilon_lower_guesses(0, 0, 100, 1e-5) == 0.0
    assert epsilon_lower_guesses(10, 30, 100, 1e-5) == 0.0
    with pytest.raises(InvalidInput, match="right \\+ wrong"):
        epsilon_lower_guesses(80, 30, 100)


@pytest.mark.parametrize("hits", [(5, 3, 1, 9), (1, 9, -1, 9), (0, 0, 1, 9)])
def test_two_samples_refuse_impossible_counts(hits):
    with pytest.raises(InvalidInput, match="0 <= hits <= runs and runs >= 1, got"):
        two_sample_p_value(*hits, 1.0, 0.0)


def test_pure_dp_is_the_delta_zero():
    with pytest.raises(InvalidInput, match=r"delta must lie in \[0, 1\), got 1.0; 0 is pure DP"):
        epsilon_lower_guesses(8, 3, 100, 1.0)


def test_a_bound_beyond_all_use_is_not_sought_further():
    assert 700 < largest_rejected(lambda epsilon: 1.0) < 3000


def test_a_score_that_jumps_is_bounded_below_the_jump():
    # Straight lines say nothing of it: the turns run out, and the answer is still a rejected epsilon.
    assert 299 < largest_rejected(lambda epsilon: 1.0 if epsilon <= 300 else -1e9) <= 300
