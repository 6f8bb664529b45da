"""Norms, duals and regularity constants."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcheck.errors import InvalidInput
from dpcheck.geometry import PowerMap, norms, projections
from dpcheck.seeds import stream

EXPONENTS = [1.0, 1.1, 1.5, 2.0, 3.7, 21.0, math.inf]
vectors = hnp.arrays(float, st.integers(1, 6), elements=st.floats(-1e3, 1e3))


@pytest.mark.parametrize("p", EXPONENTS)
def test_norm_agrees_with_numpy_and_survives_extremes(p: float) -> None:
    w = stream(0, "norms").normal(size=(4, 3, 5))
    expected = np.linalg.norm(w.reshape(-1, 5), ord=p, axis=1).reshape(4, 3)
    np.testing.assert_allclose(norms.norm(w, p), expected, rtol=1e-12)
    for scale in (1e-300, 1e300):
        np.testing.assert_allclose(norms.norm(w * scale, p), expected * scale, rtol=1e-12)
    assert norms.norm(np.zeros(3), p) == 0.0
    assert norms.norm(np.array([math.inf, 1.0]), p) == math.inf
    assert math.isnan(norms.norm(np.array([math.nan, 1.0]), p))


@given(vectors, st.sampled_from(EXPONENTS), st.integers(0, 10))
@settings(max_examples=150, deadline=None)
def test_duality(g: np.ndarray, p: float, seed: int) -> None:
    direction = norms.dual_direction(g, p)
    assert norms.norm(direction, p) <= 1 + 1e-9
    assert direction @ g == pytest.approx(float(norms.dual_norm(g, p)), rel=1e-9, abs=1e-12)
    w = np.random.default_rng(seed).normal(size=g.shape)
    assert w @ g <= norms.norm(w, p) * norms.dual_norm(g, p) * (1 + 1e-9) + 1e-9


def test_dual_exponents() -> None:
    assert norms.dual_exponent(1.0) == math.inf
    assert norms.dual_exponent(math.inf) == 1.0
    assert norms.dual_exponent(1.5) == pytest.approx(3.0)
    with pytest.raises(InvalidInput, match=r"\[1, inf\], got 0.5"):
        norms.dual_exponent(0.5)
    with pytest.raises(InvalidInput, match="nan"):
        norms.norm(np.ones(2), math.nan)


@pytest.mark.parametrize("p", EXPONENTS)
@pytest.mark.parametrize("q", EXPONENTS)
def test_equivalence_is_attained(p: float, q: float) -> None:
    d = 7
    points = np.concatenate([np.ones((1, d)), np.eye(d)[:1], stream(0, "eq").normal(size=(200, d))])
    ratio = norms.norm(points, p) / norms.norm(points, q)
    assert ratio.max() == pytest.approx(norms.equivalence(p, q, d), rel=1e-9)


@pytest.mark.parametrize(("a", "d"), [(2.0, 5), (3.0, 100), (40.0, 50), (math.inf, 1000), (5.0, 1)])
def test_regularity_satisfies_its_definition(a: float, d: int) -> None:
    found = norms.regularity(a, d)
    rng = stream(0, "regular", str(a), d)
    x, y = rng.normal(size=(2, 3000, d)) * np.array([1.0, 0.3])[:, None, None]
    y[:1000] *= rng.random((1000, d)) < 0.2
    r = found.r
    size = norms.norm(x, r)[:, None]
    gradient = 2 * size * np.sign(x) * (np.abs(x) / size) ** (r - 1)
    right = size[:, 0] ** 2 + (gradient * y).sum(axis=1) + found.kappa_plus * norms.norm(y, r) ** 2
    assert (norms.norm(x + y, r) ** 2 <= right + 1e-12 * (size[:, 0] ** 2 + right)).all()
    for z in (x, np.ones((1, d)), np.eye(d)[:1]):
        assert (norms.norm(z, a) <= norms.norm(z, r) * (1 + 1e-12)).all()
        assert (found.kappa_plus * norms.norm(z, r) ** 2 <= found.kappa * norms.norm(z, a) ** 2 * (1 + 1e-12)).all()
    # The dense vector needs all of kappa.
    dense = np.ones(d)
    assert found.kappa_plus * norms.norm(dense, r) ** 2 == pytest.approx(found.kappa * norms.norm(dense, a) ** 2)
    assert 1 / found.r + 1 / found.s == pytest.approx(1.0)


def test_regularity_refuses_small_exponents() -> None:
    with pytest.raises(InvalidInput, match=r"a = 1\.5"):
        norms.regularity(1.5, 10)


@pytest.mark.parametrize("shape", [(5,), (40, 5), (7, 3, 20)])
@pytest.mark.parametrize("size", [1e-99, 1e-9, 1.0, 1e99])
def test_ordinary_vectors_take_a_short_way_to_the_same_bits(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, ...], size: float
) -> None:
    rng = np.random.default_rng(3)
    w = size * rng.standard_normal(shape) * 10.0 ** rng.uniform(-12, 0, shape)
    w[..., 0] = size * rng.choice([-1.0, 1.0], shape[:-1])  # short rows are none of these sizes
    u, k = norms.scaled(w)
    length = norms.unscaled(norms._scaled_norm(np.abs(u), 2.0), k[..., 0])
    radius = size * rng.uniform(0.5, 2.0, shape[:-1])
    outside, direction = length[..., None] > radius[..., None], u / norms._scaled_norm(np.abs(u), 2.0)[..., None]
    projected = np.where(outside, radius[..., None] * direction, w)

    def refuse(w: np.ndarray) -> None:
        raise AssertionError("an ordinary vector is scaled")

    monkeypatch.setattr(norms, "scaled", refuse)
    assert (norms.norm(w) == length).all()
    assert (norms.unit(w) == direction).all()
    assert (norms.dual_direction(w) == direction).all()
    assert (projections.project_l2(w, radius) == projected).all()
    if size == 1.0:
        mirror = PowerMap(1.5)
        np.testing.assert_allclose(mirror.inverse(mirror.gradient(w)), w, rtol=1e-12)
        assert np.isfinite(norms.norm(w, 21.0)).all()


def test_a_row_does_not_depend_on_the_others() -> None:
    """Zeros, subnormal, ordinary, huge, infinite and missing entries in one batch, and each by itself."""
    rows = np.array(
        [[0.0, 0.0], [5e-324, 0.0], [3e-200, 4e-200], [3.0, 4.0], [3e200, 4e200], [np.inf, 1.0], [np.nan, 1.0]]
    )
    with np.errstate(invalid="ignore"):
        for at in (
            norms.norm,
            lambda w: norms.norm(w, 1.5),
            lambda w: norms.norm(w, 21.0),
            norms.unit,
            norms.dual_direction,
            lambda w: projections.project_l2(w, 2.0),
            PowerMap(1.5).gradient,
            PowerMap(1.5).inverse,
        ):
            np.testing.assert_array_equal(at(rows), np.stack([at(row) for row in rows]))
    np.testing.assert_allclose(norms.norm(rows)[:5], [0.0, 5e-324, 5e-200, 5.0, 5e200], rtol=1e-15)
