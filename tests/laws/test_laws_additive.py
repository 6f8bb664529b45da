"""Additive laws: samplers against their laws, ratios against densities, privacy curves against quadrature."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from dpcheck.errors import InvalidInput
from dpcheck.laws import Gaussian, IsotropicLaplace, Laplace
from dpcheck.seeds import stream

# Each goodness-of-fit test rejects below this p-value: a correct sampler fails with this probability, once, as the
# seeds are fixed; a scale 3 % off at 200,000 draws is rejected with probability > 0.999 (checked below).
REJECT = 1e-5
DRAWS = 200_000


@pytest.mark.parametrize("off", [1.0, 1.03])
def test_laplace_and_gaussian_samples_follow_their_laws(off: float) -> None:
    core = np.full((DRAWS, 1), 3.0)
    laplace = (Laplace(0.5).sample(core, stream(0, "laplace")) - 3)[:, 0] / (0.5 * off)
    gaussian = (Gaussian(2.0).sample(core, stream(0, "gaussian")) - 3)[:, 0] / (2 * off)
    accepted = [stats.kstest(laplace, "laplace").pvalue > REJECT, stats.kstest(gaussian, "norm").pvalue > REJECT]
    assert accepted == [off == 1.0] * 2


@pytest.mark.parametrize("off", [1.0, 1.03])
def test_isotropic_laplace_radius_direction_and_independence(off: float) -> None:
    d = 3
    noise = IsotropicLaplace(0.7).sample(np.zeros((DRAWS, d)), stream(0, "isotropic"))
    radius = np.linalg.norm(noise, axis=1)
    assert (stats.kstest(radius / (0.7 * off), "gamma", args=(d,)).pvalue > REJECT) == (off == 1.0)
    # In R^3 every coordinate of a uniform direction is uniform on [-1, 1] (Archimedes).
    cosine = noise[:, 1] / radius
    assert stats.kstest(cosine, "uniform", args=(-1, 2)).pvalue > REJECT
    # Under independence the rank correlation is normal with s.d. 1 / sqrt(draws): 5 s.d. have probability 6e-7.
    assert abs(stats.spearmanr(radius, cosine).statistic) < 5 / math.sqrt(DRAWS)


def test_isotropic_laplace_is_laplace_on_the_line() -> None:
    noise = IsotropicLaplace(1.5).sample(np.zeros((DRAWS, 1)), stream(0, "line"))[:, 0]
    assert stats.kstest(noise / 1.5, "laplace").pvalue > REJECT


def test_noise_is_fresh_for_every_vector_of_a_core() -> None:
    for law in (Laplace(1.0), Gaussian(1.0), IsotropicLaplace(1.0)):
        noise = law.sample(np.zeros((4, 5, 2)), stream(0, "shape"))
        assert noise.shape == (4, 5, 2)
        assert len(np.unique(noise)) == 40


def densities() -> list[tuple[object, object]]:
    def isotropic(x: np.ndarray) -> np.ndarray:
        return -np.linalg.norm(x, axis=-1) / 0.8

    return [
        (Laplace(0.8), lambda x: stats.laplace.logpdf(x, scale=0.8).sum(axis=-1)),
        (Gaussian(0.8), lambda x: stats.norm.logpdf(x, scale=0.8).sum(axis=-1)),
        (IsotropicLaplace(0.8), isotropic),
    ]


@pytest.mark.parametrize(("law", "log_density"), densities(), ids=["laplace", "gaussian", "isotropic"])
def test_log_ratio_is_the_ratio_of_densities(law, log_density) -> None:
    rng = stream(0, "ratio")
    output, core, other = (rng.normal(size=(50, 3, 4)) for _ in range(3))
    expected = (log_density(output - core) - log_density(output - other)).sum(axis=1)
    np.testing.assert_allclose(law.log_ratio(output, core, other), expected, rtol=1e-10, atol=1e-10)


def test_gaussian_log_ratio_does_not_cancel_at_large_cores() -> None:
    core = np.array([[1e9]])
    ratio = Gaussian(1.0).log_ratio(core + 0.25, core, core + 1.0)
    assert ratio[0] == 0.25


@pytest.mark.parametrize("law", [Laplace(0.7), IsotropicLaplace(0.7)])
def test_pure_epsilon_is_the_largest_ratio(law) -> None:
    rng = stream(0, "pure")
    shift = np.array([1.3]) if isinstance(law, Laplace) else np.array([0.3, 0.4, 1.2])
    core = np.zeros((20_000, len(shift)))
    output = np.concatenate([rng.normal(scale=3, size=core[1:].shape), -50 * shift[None]])
    ratio = law.log_ratio(output, core, core + shift)
    assert ratio.max() == pytest.approx(law.pure(1.3), rel=1e-12)
    assert law.pure(1.3, count=7) == pytest.approx(7 * law.pure(1.3))


def hockey_stick(log_p, log_q, epsilon: float, points: list[float]) -> float:
    def excess(x: float) -> float:
        return max(0.0, math.exp(log_p(x)) - math.exp(epsilon + log_q(x)))

    edges = sorted({-60.0, 60.0, *points})
    return sum(integrate.quad(excess, a, b, epsabs=1e-13, limit=400)[0] for a, b in itertools.pairwise(edges))


@pytest.mark.parametrize("epsilon", [-3.0, -0.4, 0.0, 0.3, 1.0, 1.7, 2.5])
@pytest.mark.parametrize("shift", [0.3, 1.7])
def test_curves_on_the_line_match_quadrature(epsilon: float, shift: float) -> None:
    for law, log_density in (
        (Laplace(0.9), lambda x: -abs(x) / 0.9 - math.log(1.8)),
        (Gaussian(0.9), lambda x: -((x / 0.9) ** 2) / 2 - math.log(0.9 * math.sqrt(2 * math.pi))),
    ):
        cut = shift / 2 - epsilon * (0.81 / shift if isinstance(law, Gaussian) else 0.45)
        expected = hockey_stick(log_density, lambda x, f=log_density: f(x - shift), epsilon, [0.0, shift, cut])
        assert law.delta(epsilon, shift) == pytest.approx(expected, abs=1e-10)


def isotropic_reference(epsilon: float, t: float, d: int) -> float:
    """The hockey-stick divergence in cylindrical coordinates (x along the gap, h off it): another route, d >= 2."""

    def inner(h: float) -> float:
        near, far = (lambda x: math.hypot(x, h)), (lambda x: math.hypot(x - t, h))

        def excess(x: float) -> float:
            loss = far(x) - near(x)
            return math.exp(-near(x)) * -math.expm1(epsilon - loss) if loss > epsilon else 0.0

        # |x| - |x - t| = -epsilon at the hyperbola's x = t/2 - (epsilon/2) sqrt(1 + 4 h^2 / (t^2 - epsilon^2)).
        cut = t / 2 - epsilon / 2 * math.sqrt(1 + 4 * h * h / (t * t - epsilon * epsilon))
        edges = sorted({-45.0 - h, min(-h, cut), min(0.0, cut), cut})
        return sum(
            integrate.quad(excess, a, b, epsabs=1e-13, epsrel=1e-11, limit=300)[0] for a, b in itertools.pairwise(edges)
        )

    total = integrate.quad(lambda h: h ** (d - 2) * inner(h), 0, 60, epsabs=1e-11, epsrel=1e-10, limit=300)[0]
    sphere = lambda k: 2 * math.pi ** (k / 2) / math.gamma(k / 2)  # noqa: E731
    return total * sphere(d - 1) / (sphere(d) * math.gamma(d))


@pytest.mark.parametrize(("epsilon", "t", "d"), [(0.0, 1.0, 2), (0.4, 1.0, 3), (0.5, 2.0, 2), (0.2, 0.7, 6)])
def test_isotropic_curve_matches_an_independent_double_integral(epsilon: float, t: float, d: int) -> None:
    law = IsotropicLaplace(2.0, d=d)
    assert law.delta(epsilon, 2.0 * t) == pytest.approx(isotropic_reference(epsilon, t, d), rel=2e-7)


@pytest.mark.parametrize("d", [1, 2, 3, 7, 50, 2000])
def test_isotropic_curve_is_below_that_of_the_line_and_obeys_duality(d: int) -> None:
    law = IsotropicLaplace(1.0, d=d)
    for epsilon in (0.0, 0.05, 0.4, 1.1):
        delta = law.delta(epsilon, 1.2)
        assert delta <= IsotropicLaplace(1.0).delta(epsilon, 1.2) + 1e-12
        # A symmetric pair has delta(-epsilon) = 1 - e^-epsilon + e^-epsilon delta(epsilon).
        mirrored = -math.expm1(-epsilon) + math.exp(-epsilon) * delta
        assert law.delta(-epsilon, 1.2) == pytest.approx(mirrored, rel=1e-10)


def test_isotropic_curve_in_high_dimension_tends_to_a_gaussian() -> None:
    # The noise has standard deviation sqrt(d + 1) per coordinate, and the Fisher information of the shift is 1 / d.
    d, t = 100_000, 300.0
    mu = t / math.sqrt(d)
    gaussian = Gaussian(1.0).delta(0.3, mu)
    assert IsotropicLaplace(1.0, d=d).delta(0.3, t) == pytest.approx(gaussian, rel=2e-3)


def test_isotropic_curve_against_a_sample() -> None:
    d, t, epsilon = 4, 1.5, 0.2
    law = IsotropicLaplace(1.0, d=d)
    shift = np.array([[t, 0.0, 0.0, 0.0]])
    x = law.sample(np.zeros((400_000, d)), stream(0, "isotropic-curve"))
    gain = np.maximum(0.0, -np.expm1(epsilon - law.log_ratio(x, np.zeros((1, d)), shift)))
    # Six standard errors: failure probability 2e-9.
    assert abs(gain.mean() - law.delta(epsilon, t)) < 6 * gain.std() / math.sqrt(len(gain))


def divergence_ratio(log_p, log_q, alpha: float) -> float:
    """D_alpha(P | Q) / alpha on the line, in 30 digits."""
    with mpmath.workdps(30):
        total = mpmath.quad(
            lambda x: mpmath.exp(alpha * log_p(x) - (alpha - 1) * log_q(x)), [-80, -1, 0, 0.5, 1, 2, 4, 80]
        )
        return float(mpmath.log(total) / (alpha - 1) / alpha)


@pytest.mark.parametrize("t", [0.5, 2.0])
def test_laplace_zcdp_is_the_supremum_over_orders(t: float) -> None:
    law = Laplace(1.0)
    log_density = lambda x: -abs(x) - mpmath.log(2)  # noqa: E731
    ratios = [divergence_ratio(log_density, lambda x: log_density(x - t), a) for a in (1.001, 1.1, 2, 5, 20)]
    assert max(ratios) <= law.zcdp(t) <= max(ratios) * 1.002
    assert law.zcdp(t, count=3) == pytest.approx(3 * law.zcdp(t))
    for alpha, ratio in zip((1.1, 2, 5, 20), ratios[1:], strict=True):
        assert law.renyi(alpha, t) == pytest.approx(alpha * ratio, rel=1e-9)


def test_laplace_zcdp_bounds_every_order_on_a_fine_grid() -> None:
    orders = 1 + np.geomspace(1e-3, 1e3, 200)
    for t in np.geomspace(1e-3, 50, 60):
        law = Laplace(1.0)
        worst = max(law.renyi(a, t) / a for a in orders)
        assert worst <= law.zcdp(t) * (1 + 1e-9)
        assert law.zcdp(t) <= t * t / 2


def test_splitting_a_laplace_shift_over_coordinates_does_not_help_the_adversary() -> None:
    # Losses of two coordinates moved by t/2 each, on a grid rounded towards the pessimistic side.
    t, h = 1.0, 1e-3
    x = np.arange(-25, 25, h)
    p = np.diff(stats.laplace.cdf(np.append(x, 25.0)))
    loss = np.abs(x + h / 2 - t / 2) - np.abs(x + h / 2)
    order = np.round(loss / h).astype(int)
    single = np.bincount(order - order.min(), weights=p)
    both, base = np.convolve(single, single), 2 * order.min()
    for epsilon in (0.0, 0.2, 0.5, 0.8):
        losses = (np.arange(len(both)) + base) * h
        delta = (both * np.maximum(0, -np.expm1(np.minimum(0, epsilon - losses)))).sum()
        assert delta <= Laplace(1.0).delta(epsilon, t) + 2e-3


def test_gaussian_zcdp_and_mu() -> None:
    law = Gaussian(0.5)
    assert law.zcdp(0.25) == pytest.approx(0.125)
    assert law.zcdp(0.25, count=8) == pytest.approx(1.0)
    assert law.mu(0.25, count=4) == pytest.approx(1.0)
    assert law.pure(0.25) == math.inf
    assert law.pure(0.0) == 0.0


@pytest.mark.parametrize("law", [Laplace(1.0), Gaussian(1.0), IsotropicLaplace(1.0), IsotropicLaplace(1.0, d=5)])
def test_edges_of_the_sensitivity(law) -> None:
    assert law.delta(0.0, 0.0) == 0.0
    assert law.delta(1.0, 0.0) == 0.0
    assert law.delta(-1.0, 0.0) == pytest.approx(-math.expm1(-1.0))
    assert law.zcdp(0.0) == 0.0
    assert law.delta(1.0, 1e12) == pytest.approx(1.0)
    assert law.delta(1.0, math.inf) == pytest.approx(1.0)
    assert math.isinf(law.pure(math.inf))
    assert math.isinf(law.zcdp(math.inf))
    for epsilon in (0.0, 1e-9, 1.0, 1e6):
        for sensitivity in (1e-300, 1e-9, 1.0, 1e9, 1e300):
            assert 0 <= law.delta(epsilon, sensitivity) <= 1


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_extreme_scales_do_not_overflow(scale: float) -> None:
    for law in (Laplace(scale), Gaussian(scale), IsotropicLaplace(scale), IsotropicLaplace(scale, d=3)):
        noise = law.sample(np.zeros((100, 3)), stream(0, "extreme"))
        assert np.isfinite(noise).all()
        assert np.abs(noise).max() > scale / 10
        ratio = law.log_ratio(noise, np.zeros((100, 3)), np.full((100, 3), scale / 10))
        assert np.isfinite(ratio).all()
        assert np.abs(ratio).max() < 10
        assert law.delta(0.5, scale) == pytest.approx(type(law)(1.0).delta(0.5, 1.0), rel=1e-6) or law == (
            IsotropicLaplace(scale, d=3)
        )


def test_bad_arguments_name_the_value() -> None:
    for make in (Laplace, Gaussian, IsotropicLaplace):
        for bad in (0.0, -1.0, math.inf, math.nan):
            with pytest.raises(InvalidInput, match="finite number > 0"):
                make(bad)
    with pytest.raises(InvalidInput, match="got -1"):
        Laplace(1.0).pure(-1.0)
    with pytest.raises(InvalidInput, match="sensitivity"):
        Gaussian(1.0).zcdp(math.nan)
    with pytest.raises(InvalidInput, match="count"):
        Gaussian(1.0).zcdp(1.0, count=0)
    with pytest.raises(InvalidInput, match="NaN"):
        Laplace(1.0).delta(math.nan, 1.0)
    with pytest.raises(InvalidInput, match="dimension 2"):
        IsotropicLaplace(1.0, d=2).sample(np.zeros((1, 3)), stream(0))
