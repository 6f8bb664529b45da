"""Subnormal and huge vectors: every projection, support and mirror step keeps its promise at any size of its input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dpcheck.geometry import (
    Ball,
    BallIntersection,
    Box,
    ConeCap,
    Ellipsoid,
    GeneratedCone,
    L1Ball,
    LpBall,
    Orthant,
    Polytope,
    PowerMap,
    SecondOrderCone,
    Simplex,
    norms,
)
from dpcheck.geometry.norms import norm, scaled, unscaled

SIZES = (5e-324, 1e-310, 2.2e-308, 1e-160, 1e-9, 1.0, 1e9, 1e160, 1e300, 1.7e308)
entries = st.one_of(
    st.sampled_from([sign * size for size in (0.0, *SIZES) for sign in (1.0, -1.0)]),
    st.floats(-1.7e308, 1.7e308),
    st.floats(-1e-300, 1e-300),
)
EXPONENTS = [1.0, 1.1, 1.5, 2.0, 3.7, 21.0, math.inf]


def vectors(d: int) -> st.SearchStrategy[np.ndarray]:
    return hnp.arrays(float, d, elements=entries)


RAYS = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.5, 0.0, 1.0]])
SETS: list[Any] = [
    Box(-1.0, 2.0, d=3),
    *(LpBall(3, radius, p) for p in EXPONENTS[1:] for radius in (1.0, 1e-200, 1e200)),
    L1Ball(3, 0.7),
    Ball(3, 1.3, centre=[1.0, -2.0, 0.5]),
    Simplex(3, 2.0),
    Ellipsoid([2.0, 0.1, 1.0]),
    Polytope(np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])),
    ConeCap(SecondOrderCone(3), 2.0),
    ConeCap(GeneratedCone(RAYS), 2.0),
    ConeCap(Orthant(3)),
    BallIntersection(Ball(3, 1.0), np.array([0.5, 0.0, 0.0]), 0.7),
    BallIntersection(Box(-1.0, 1.0, d=3), np.array([0.5, 0.0, 0.0]), 0.7),
]


@given(vectors(4))
@example(np.array([5e-324, 5e-324, 0.0, 0.0]))
def test_scaling_is_exact(w: np.ndarray) -> None:
    u, k = scaled(w)
    kept = np.abs(w) >= 2.0**-1000 * np.abs(w).max()
    assert (unscaled(u, k)[kept] == w[kept]).all()
    assert np.abs(u).max() == 0 or 0.5 <= np.abs(u).max() < 1


@pytest.mark.parametrize("p", EXPONENTS)
@given(g=vectors(4))
@example(g=np.array([5e-324, 5e-324, 0.0, 0.0]))
@example(g=np.array([1.7e308, -1.7e308, 1.7e308, 1e-300]))
def test_dual_directions_are_unit_and_attain_the_dual_norm(g: np.ndarray, p: float) -> None:
    direction = norms.dual_direction(g, p)
    u, _ = scaled(g)
    assert norm(direction, p) <= 1 + 1e-12
    assert direction @ u == pytest.approx(float(norms.dual_norm(u, p)), rel=1e-12)


@pytest.mark.parametrize("domain", SETS, ids=repr)
@given(w=vectors(3))
@example(w=np.array([5e-324, 5e-324, -5e-324]))
@example(w=np.array([1.7e308, -1.7e308, 1e-300]))
@example(w=np.zeros(3))
@example(w=np.full(3, 2.0**24))
def test_projections_lie_in_the_set_and_no_point_is_nearer(domain: Any, w: np.ndarray) -> None:
    x = domain.project(w)
    size = float(np.abs(domain.project(np.zeros(3))).max()) + domain.diameter()
    assert np.isfinite(x).all()
    assert domain.contains(x, 1e-9 * size)
    # <w - x, u - x> <= 0 for all u of the set, with w - x in units in which it is about 1; below 1e-9 it is rounding.
    move = w / 2 - x / 2
    pull = scaled(move)[0] if np.abs(move).max() > 1e-9 * size else np.zeros(3)
    for u in (domain.project(np.zeros(3)), *domain.project(size * np.eye(3)), *domain.project(-size * np.eye(3))):
        assert pull @ (u - x) <= 1e-7 * size
    np.testing.assert_allclose(domain.project(x), x, atol=1e-8 * size)


@pytest.mark.parametrize("domain", [s for s in SETS if not isinstance(s, BallIntersection)], ids=repr)
@given(u=vectors(3))
@example(u=np.array([2.220446e-16, 0.0, -1e300]))
def test_supports_are_attained_inside(domain: Any, u: np.ndarray) -> None:
    point = domain.support_point(u)
    size = domain.diameter() + float(np.abs(point).max())
    assert domain.contains(point, 1e-9 * size)
    unit, _ = scaled(u)
    for other in domain.project(size * np.concatenate([np.eye(3), -np.eye(3)])):
        assert unit @ other <= unit @ point + 1e-7 * size
    assert not math.isnan(float(domain.support(u)))


@pytest.mark.parametrize("p", [1.05, 1.1, 1.5, 2.0])
@given(u=hnp.arrays(float, 3, elements=st.floats(-1e300, 1e300)))
@example(u=np.array([5e-324, 5e-324, 0.0]))
def test_mirror_maps_and_their_inverses_meet(u: np.ndarray, p: float) -> None:
    """The gradient keeps an entry x as x^(p - 1): what is below 1e-300 of the largest may be lost on the way."""
    mirror = PowerMap(p)
    unit, k = scaled(u)
    back = mirror.inverse(mirror.gradient(u))
    np.testing.assert_allclose(unscaled(back, -k), unit, rtol=1e-9, atol=1e-12)
    assert norm(mirror.gradient(unit), mirror.q) == pytest.approx(float(norm(unit, p)), rel=1e-12)
