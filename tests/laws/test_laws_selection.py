"""Selection laws: probabilities, samplers, and worst-case privacy curves."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from dpcheck.errors import InvalidInput
from dpcheck.laws import Exponential, NoisyMin
from dpcheck.laws.selection import bounded_range_zcdp
from dpcheck.seeds import stream

# Chi-square tests reject below this p-value: a correct sampler fails with this probability.
REJECT = 1e-5
SCORES = np.array([0.0, 0.4, 0.4, 2.0, 7.0])


@pytest.mark.parametrize("law", [Exponential(0.9), NoisyMin(0.8)])
@pytest.mark.parametrize("off", [1.0, 1.05])
def test_samples_follow_the_probabilities(law, off: float) -> None:
    trials = 200_000
    index = law.sample(np.broadcast_to(SCORES, (trials, 5)), stream(0, "selection"))
    assert index.shape == (trials, 1)
    counts = np.bincount(index[:, 0].astype(int), minlength=5)
    expected = law.probabilities(off * SCORES[None])[0] * trials
    # Scores 5 % off must be told apart: the test has power, not only a level.
    assert (stats.chisquare(counts, expected).pvalue > REJECT) == (off == 1.0)


def reference_winner(scores: np.ndarray, i: int) -> float:
    def integrand(x: float) -> float:
        others = [stats.laplace.sf(x - s) for j, s in enumerate(scores) if j != i]
        return stats.laplace.pdf(x - scores[i]) * math.prod(others)

    edges = [scores.min() - 45, *np.unique(scores).tolist(), scores.max() + 45]
    return sum(integrate.quad(integrand, a, b, epsabs=1e-14, limit=200)[0] for a, b in itertools.pairwise(edges))


@pytest.mark.parametrize("scores", [[0.0, 0.0], [0.3, -1.2, 2.5], [0.0, 0.4, 0.4, 2.0, 7.0], [1.0, 1.0, 1.0, -30.0]])
def test_noisy_min_probabilities_match_quadrature(scores: list[float]) -> None:
    values = np.array(scores)
    found = NoisyMin(1.0).probabilities(values[None])[0]
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(found, [reference_winner(values, i) for i in range(len(values))], rtol=1e-9, atol=1e-13)


def test_noisy_min_of_two_is_a_difference_of_laplace_variables() -> None:
    gaps = np.array([0.0, 1e-6, 0.3, 2.0, 40.0, 100.0, 900.0])
    found = NoisyMin(1.0).log_probabilities(np.stack([gaps, np.zeros_like(gaps)], axis=1))[:, 0]
    np.testing.assert_allclose(found, math.log(0.25) - gaps + np.log(2 + gaps), rtol=1e-11)


@pytest.mark.parametrize("k", [1, 2, 3, 10, 60])
def test_noisy_min_probabilities_sum_to_one_and_respect_ties(k: int) -> None:
    rng = stream(0, "ties", k)
    scores = np.concatenate([rng.normal(scale=3, size=(4, k)), np.zeros((1, k)), 200 * rng.random((1, k))])
    found = NoisyMin(0.5).probabilities(scores)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-11)
    np.testing.assert_allclose(found[4], 1 / k, rtol=1e-11)
    order = np.argsort(scores[:4], axis=1)
    assert (np.diff(np.take_along_axis(found[:4], order, axis=1), axis=1) <= 1e-15).all()


def test_noisy_min_is_invariant_and_scales() -> None:
    scores = np.array([[0.1, -0.3, 0.9]])
    base = NoisyMin(0.5).probabilities(scores)
    np.testing.assert_allclose(NoisyMin(0.5).probabilities(scores + 1e6), base, rtol=1e-8)
    np.testing.assert_allclose(NoisyMin(1e-300).probabilities(1e-300 * scores), NoisyMin(1.0).probabilities(scores))
    np.testing.assert_allclose(NoisyMin(1e300).probabilities(1e300 * scores), NoisyMin(1.0).probabilities(scores))


@pytest.mark.parametrize("law", [Exponential(0.7), NoisyMin(1.4)])
def test_log_ratio_and_pure_epsilon(law) -> None:
    rng = stream(0, "selection-pure")
    sensitivity, trials = 0.6, 4000
    core = 3 * rng.normal(size=(trials, 4))
    other = core + sensitivity * np.sign(rng.normal(size=core.shape))
    output = law.sample(core, rng)
    ratio = law.log_ratio(output, core, other)
    p, q = law.probabilities(core), law.probabilities(other)
    rows = np.arange(trials)
    np.testing.assert_allclose(ratio, np.log(p / q)[rows, output[:, 0].astype(int)], rtol=1e-9, atol=1e-12)
    worst = np.abs(np.log(p / q)).max()
    assert 0.85 * law.pure(sensitivity) < worst <= law.pure(sensitivity) * (1 + 1e-12)
    # The bound is attained in the limit of a hopeless candidate.
    extreme = np.array([[0.0, 60.0]]), np.array([[sensitivity, 60.0 - sensitivity]])
    loss = abs(np.diff([law.log_probabilities(x)[0, 1] for x in extreme]))
    assert loss == pytest.approx(law.pure(sensitivity), rel=0.03)


def test_halted_trials_read_nan() -> None:
    core = np.array([[0.0, 1.0], [0.0, 1.0]])
    ratio = Exponential(1.0).log_ratio(np.array([[np.nan], [1.0]]), core, core + np.array([[0.1, 0.0]]))
    assert np.isnan(ratio[0])
    assert np.isfinite(ratio[1])


@pytest.mark.parametrize("epsilon", [-0.5, 0.0, 0.3, 0.9, 1.19, 1.2, 2.0])
def test_exponential_curve_is_the_worst_over_pairs(epsilon: float) -> None:
    law, sensitivity = Exponential(0.5), 1.2
    rng = stream(0, "bounded-range")
    scores = np.concatenate([4 * rng.normal(size=(3000, 5)), np.zeros((1, 5))])
    change = sensitivity * np.sign(rng.normal(size=scores.shape))
    p, q = law.probabilities(scores), law.probabilities(scores + change)
    found = np.maximum(0.0, p - math.exp(epsilon) * q).sum(axis=1).max()

    def two(gap: float) -> float:
        low, high = np.array([[0.0, gap]]), np.array([[sensitivity, gap - sensitivity]])
        return -float(np.maximum(0, law.probabilities(low) - math.exp(epsilon) * law.probabilities(high)).sum())

    grid = np.linspace(-25, 25, 501)
    start = float(grid[np.argmin([two(gap) for gap in grid])])
    window = (start - 0.1, start + 0.1)
    best = -optimize.minimize_scalar(two, bounds=window, method="bounded", options={"xatol": 1e-9}).fun
    claimed = law.delta(epsilon, sensitivity)
    assert claimed == pytest.approx(max(best, -math.expm1(epsilon) if epsilon < 0 else 0.0), abs=1e-9)
    assert found <= claimed + 1e-12


def renyi_two_point(p: float, q: float, alpha: float) -> float:
    total = p**alpha * q ** (1 - alpha) + (1 - p) ** alpha * (1 - q) ** (1 - alpha)
    return math.log(total) / (alpha - 1)


@pytest.mark.parametrize("r", [0.1, 1.0, 4.0, 12.0])
def test_bounded_range_zcdp_is_the_supremum_over_pairs_and_orders(r: float) -> None:
    def ratio(base: float, alpha: float) -> float:
        p, q = 1 / (1 + math.exp(base)), 1 / (1 + math.exp(base + r))
        return renyi_two_point(p, q, alpha) / alpha

    worst = max(ratio(b, a) for b in np.linspace(-r - 3, 3, 400) for a in (1.0005, 1.01, 1.1, 1.5, 2, 4, 16))
    assert worst <= bounded_range_zcdp(r) * (1 + 1e-6)
    assert worst == pytest.approx(bounded_range_zcdp(r), rel=2e-3)
    assert bounded_range_zcdp(r) <= r * r / 8


def test_bounded_range_zcdp_is_continuous_where_its_series_takes_over() -> None:
    assert bounded_range_zcdp(0.00999999) == pytest.approx(bounded_range_zcdp(0.01000001), rel=1e-5)
    assert bounded_range_zcdp(0.0) == 0.0
    assert Exponential(1.0).zcdp(0.5, count=6) == pytest.approx(6 * bounded_range_zcdp(1.0))


def test_noisy_min_is_not_charged_as_bounded_range() -> None:
    # Four candidates whose losses spread over more than epsilon, with more divergence than a bounded range allows.
    law, sensitivity = NoisyMin(1.0), 1.0
    core = np.array([[-0.7, 0.0, 0.2, -0.7]])
    p, q = law.probabilities(core)[0], law.probabilities(core + np.array([[1.0, -1.0, -1.0, 1.0]]))[0]
    losses = np.log(p / q)
    assert losses.max() - losses.min() > 1.05 * law.pure(sensitivity)
    assert bounded_range_zcdp(law.pure(sensitivity)) * 1.1 < (p * losses).sum() < law.zcdp(sensitivity)


def test_noisy_min_curve_and_zcdp_bound_random_pairs() -> None:
    law, sensitivity = NoisyMin(0.8), 0.5
    rng = stream(0, "noisy-min-pairs")
    scores = np.concatenate([2 * rng.normal(size=(1500, 3)), np.zeros((1, 3))])
    p = law.probabilities(scores)
    q = law.probabilities(scores + sensitivity * np.sign(rng.normal(size=scores.shape)))
    for epsilon in (0.0, 0.4, 1.0):
        assert np.maximum(0, p - math.exp(epsilon) * q).sum(axis=1).max() <= law.delta(epsilon, sensitivity)
    for alpha in (1.01, 2.0, 8.0):
        divergence = np.log((p**alpha * q ** (1 - alpha)).sum(axis=1)) / (alpha - 1)
        assert divergence.max() <= alpha * law.zcdp(sensitivity)


@pytest.mark.parametrize("law", [Exponential(1e-3), NoisyMin(1e3)])
def test_selection_edges(law) -> None:
    assert law.pure(0.0) == law.zcdp(0.0) == law.delta(0.0, 0.0) == 0.0
    assert law.pure(math.inf) == law.zcdp(math.inf) == math.inf
    assert law.delta(1.0, 1e300) == 1.0
    huge = law.log_probabilities(np.array([[0.0, 1e300]]))
    assert huge[0, 0] == pytest.approx(0.0)
    with pytest.raises(InvalidInput, match="shape"):
        law.sample(np.zeros(3), stream(0))
    with pytest.raises(InvalidInput, match="finite number > 0"):
        type(law)(-1.0)
