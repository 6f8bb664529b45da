"""Generalised Gaussian noise: density, sampler, Renyi bound."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpcheck.errors import InvalidInput
from dpcheck.geometry.norms import norm, regularity
from dpcheck.laws import Gaussian, GeneralizedGaussian, Laplace, PerRecord
from dpcheck.seeds import stream

REJECT = 1e-5  # p-value below which a goodness-of-fit test rejects


@pytest.mark.parametrize("r", [2.0, 3.0, 8.0])
def test_density_integrates_to_one_in_the_plane(r: float) -> None:
    law = GeneralizedGaussian(0.7, r)
    total = 4 * integrate.dblquad(lambda y, x: math.exp(law.log_density(np.array([x, y]))), 0, 8, 0, 8, epsabs=1e-9)[0]
    assert total == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize(("r", "d"), [(2.0, 3), (4.0, 2), (12.0, 5), (40.0, 1)])
@pytest.mark.parametrize("off", [1.0, 1.03])
def test_sampler_radius_and_coordinates(r: float, d: int, off: float) -> None:
    noise = GeneralizedGaussian(0.5, r).sample(np.zeros((100_000, d)), stream(0, "generalised", r, d))
    radius = norm(noise, r) / (0.5 * off)
    assert (stats.kstest(radius**2, "chi2", args=(d,)).pvalue > REJECT) == (off == 1.0)
    if d == 1:
        assert stats.kstest(noise[:, 0] / 0.5, "norm").pvalue > REJECT
        return
    # Cone measure: |u_1|^r of a point of the unit sphere is Beta(1/r, (d - 1)/r).
    share = (np.abs(noise[:, 0]) / norm(noise, r)) ** r
    assert stats.kstest(share, "beta", args=(1 / r, (d - 1) / r)).pvalue > REJECT
    signs = np.bincount((noise[:, :2] > 0) @ np.array([1, 2]), minlength=4)
    assert stats.chisquare(signs).pvalue > REJECT


def test_log_ratio_matches_the_density() -> None:
    law = GeneralizedGaussian(0.9, 5.0)
    rng = stream(0, "generalised-ratio")
    output, core, other = (rng.normal(size=(40, 3, 4)) for _ in range(3))
    expected = (law.log_density(output - core) - law.log_density(output - other)).sum(axis=1)
    np.testing.assert_allclose(law.log_ratio(output, core, other), expected, rtol=1e-9, atol=1e-9)


def test_r_two_is_the_gaussian_law_exactly() -> None:
    law, gaussian = GeneralizedGaussian(0.8, 2.0), Gaussian(0.8)
    rng = stream(0, "two")
    output, core, other = (rng.normal(size=(20, 3)) for _ in range(3))
    np.testing.assert_allclose(law.log_ratio(output, core, other), gaussian.log_ratio(output, core, other), atol=1e-9)
    assert law.zcdp(0.3, count=5) == pytest.approx(gaussian.zcdp(0.3, count=5))
    assert law.delta(0.4, 0.3) == pytest.approx(gaussian.delta(0.4, 0.3))


@pytest.mark.parametrize("r", [2.5, 4.0, 9.0])
@pytest.mark.parametrize("alpha", [1.5, 3.0, 10.0])
def test_renyi_divergence_in_the_plane_stays_below_the_zcdp_bound(r: float, alpha: float) -> None:
    sigma, shift = 0.9, 0.5
    law = GeneralizedGaussian(sigma, r)
    for direction in (np.array([1.0, 0.0]), np.array([1.0, 1.0]), np.array([1.0, 0.3])):
        s = shift * direction / norm(direction, r)
        x, w = np.polynomial.legendre.leggauss(300)
        grid = np.stack(np.meshgrid(16 * x, 16 * x), axis=-1)
        log_p, log_q = law.log_density(grid - s), law.log_density(grid)
        total = (np.exp(alpha * log_p - (alpha - 1) * log_q) * np.outer(16 * w, 16 * w)).sum()
        assert np.log(total) / (alpha - 1) / alpha <= law.zcdp(shift) * (1 + 1e-3)
    # delta from zCDP dominates the exact hockey-stick of the last direction.
    for epsilon in (0.0, 0.3, 1.0):
        exact = (np.maximum(0, np.exp(log_p) - math.exp(epsilon) * np.exp(log_q)) * np.outer(16 * w, 16 * w)).sum()
        assert exact <= law.delta(epsilon, shift)


def test_kappa_covers_sensitivities_in_another_norm() -> None:
    # In the log regime the dense shift needs the factor d^(2/r - 2/q): without it the bound would be broken.
    q, d = 40.0, 50
    found = regularity(q, d)
    assert found.r < q
    dense = np.full(d, d ** (-1 / q))
    assert norm(dense, q) == pytest.approx(1.0)
    inner = GeneralizedGaussian(1.0, found.r).zcdp(float(norm(dense, found.r)))
    assert GeneralizedGaussian(1.0, found.r, found.kappa).zcdp(1.0) == pytest.approx(inner)
    assert found.kappa_plus < found.kappa <= math.e * found.kappa_plus * (1 + 1e-12)


def test_noise_per_record_is_that_of_the_law() -> None:
    law = GeneralizedGaussian(0.6, 3.0)
    wrapped = PerRecord(law)
    core = np.zeros((7, 5, 2))
    np.testing.assert_array_equal(wrapped.sample(core, stream(3)), law.sample(core, stream(3)))
    assert wrapped.per_record
    assert wrapped.zcdp(0.3, 2) == law.zcdp(0.3, 2)
    assert wrapped.delta(0.5, 0.3) == law.delta(0.5, 0.3)
    assert wrapped.log_ratio(core + 1, core, core + 0.1).shape == (7,)
    with pytest.raises(InvalidInput, match="rows"):
        wrapped.sample(np.zeros((7, 2)), stream(3))


def test_edges_and_bad_input() -> None:
    law = GeneralizedGaussian(1.0, 30.0)
    assert law.pure(0.0) == law.zcdp(0.0) == law.delta(0.0, 0.0) == 0.0
    assert law.pure(1e-9) == math.inf
    assert law.delta(1.0, 1e200) == law.delta(1.0, math.inf) == 1.0
    assert 0 <= law.delta(1.0, 1e-200) <= 1
    for sigma in (1e-300, 1e300):
        noise = GeneralizedGaussian(sigma, 30.0).sample(np.zeros((50, 4)), stream(0))
        assert np.isfinite(noise).all()
        assert (noise != 0).all()
    with pytest.raises(InvalidInput, match=r"\[2, inf\)"):
        GeneralizedGaussian(1.0, 1.5)
    with pytest.raises(InvalidInput, match="kappa"):
        GeneralizedGaussian(1.0, 3.0, kappa=0.0)
    with pytest.raises(InvalidInput, match="sigma"):
        GeneralizedGaussian(-1.0, 3.0)
    assert isinstance(Laplace(1.0), Laplace)
