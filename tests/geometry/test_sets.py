"""Sets: projections by their variational inequality, supports, diameters, widths."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.errors import InvalidInput
from dpcheck.geometry import (
    Ball,
    BallIntersection,
    Box,
    Ellipsoid,
    Interval,
    L1Ball,
    LpBall,
    Polytope,
    Simplex,
    monte_carlo_width,
)
from dpcheck.geometry.norms import norm
from dpcheck.geometry.widths import expected_norm
from dpcheck.seeds import stream

HULL = stream(0, "hull").normal(size=(12, 4))
SETS: list[Any] = [
    Interval(-1.0, 2.5),
    Box([-1.0, 0.0, -3.0], [1.0, 0.5, 4.0]),
    Box(-1.0, 1.0, d=5),
    Ball(d=4, radius=1.3, centre=[0.3, -1.0, 0.0, 2.0]),
    Ball(d=1, radius=0.4),
    L1Ball(d=5, radius=0.9),
    LpBall(d=4, radius=1.2, p=1.15),
    LpBall(d=3, radius=0.7, p=1.6, centre=[1.0, 0.0, -1.0]),
    LpBall(d=4, radius=2.0, p=5.0),
    LpBall(d=4, radius=2.0, p=math.inf),
    Simplex(d=6),
    Simplex(d=3, scale=2.0),
    Ellipsoid([2.0, 0.1, 1.0], centre=[0.0, 1.0, 0.0]),
    Polytope(HULL),
]


@pytest.mark.parametrize("domain", SETS, ids=repr)
def test_projection_satisfies_its_variational_inequality(domain: Any) -> None:
    rng = stream(0, "projection", repr(domain))
    w = 4 * rng.normal(size=(40, domain.d))
    x = domain.project(w)
    assert x.shape == w.shape
    assert domain.contains(x, 1e-9).all()
    # <w - x, u - x> <= 0 for all u in the set: it is enough to look along w - x itself.
    slack = domain.support(w - x) - ((w - x) * x).sum(axis=1)
    assert slack.max() <= 2e-9 * (1 + norm(w).max())
    np.testing.assert_allclose(domain.project(x), x, atol=1e-9)
    np.testing.assert_allclose(domain.project(w[:6].reshape(2, 3, -1)), x[:6].reshape(2, 3, -1), rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("domain", SETS, ids=repr)
def test_support_diameter_and_membership(domain: Any) -> None:
    rng = stream(0, "support", repr(domain))
    u = rng.normal(size=(30, domain.d))
    points = domain.support_point(u)
    assert domain.contains(points, 1e-9).all()
    np.testing.assert_allclose(domain.support(u), (u * points).sum(axis=1))
    inside = domain.project(3 * rng.normal(size=(400, domain.d)))
    assert ((u @ inside.T) <= domain.support(u)[:, None] + 1e-9).all()
    for p in (1.0, 1.5, 2.0, 4.0, math.inf):
        far = max(norm(a - b, p) for a, b in itertools.combinations([*points, *inside[:30]], 2))
        assert far <= domain.diameter(p) * (1 + 1e-9)
    assert not domain.contains(inside[0] + 100.0)


@pytest.mark.parametrize("domain", SETS, ids=repr)
def test_diameters_are_attained(domain: Any) -> None:
    rng = stream(0, "diameter", repr(domain))
    signs = np.array(list(itertools.islice(itertools.product([1.0, -1.0], repeat=domain.d), 64)))
    for p in (1.0, 1.5, 2.0, 4.0, math.inf):
        # Climb: the furthest pair along u, then the dual direction of their difference as the next u.
        u = np.concatenate([signs, np.eye(domain.d), rng.normal(size=(60, domain.d))])
        for _ in range(200):
            gap = domain.support_point(u) - domain.support_point(-u)
            size = np.abs(gap) / np.maximum(norm(gap, math.inf), 1e-300)[:, None]
            u = np.sign(gap) * (size ** min(p - 1, 50.0) if p > 1 else 1.0)
            u = np.where(norm(u)[:, None] > 0, u, 1.0)
        assert norm(gap, p).max() == pytest.approx(domain.diameter(p), rel=1e-6)


@pytest.mark.parametrize("domain", [s for s in SETS if not isinstance(s, Polytope)], ids=repr)
def test_gaussian_widths_against_certified_samples(domain: Any) -> None:
    # The interval misses with probability 1e-6 for each set.
    found = monte_carlo_width(domain, stream(0, "width", repr(domain)), samples=40_000)
    assert found.lower <= domain.gaussian_width() <= found.upper
    assert found.upper - found.lower < 0.05 * domain.diameter()
    assert not found.lower <= domain.gaussian_width() * 1.2 + 0.03 * domain.diameter() <= found.upper


def test_gaussian_widths_in_closed_form() -> None:
    assert Ball(d=1, radius=2.0).gaussian_width() == pytest.approx(2 * math.sqrt(2 / math.pi))
    assert Box(-1.0, 1.0, d=7).gaussian_width() == pytest.approx(7 * math.sqrt(2 / math.pi))
    assert L1Ball(d=1, radius=3.0).gaussian_width() == pytest.approx(3 * math.sqrt(2 / math.pi))
    assert Simplex(d=2).gaussian_width() == pytest.approx(1 / math.sqrt(math.pi))
    assert Simplex(d=1).gaussian_width() == 0.0
    assert Ellipsoid([0.3] * 9).gaussian_width() == pytest.approx(Ball(d=9, radius=0.3).gaussian_width(), rel=1e-9)
    for q in (1.05, 1.5, 3.0, 12.0):
        assert expected_norm(1, q) == pytest.approx(math.sqrt(2 / math.pi), rel=1e-9)
    assert expected_norm(50, 2.0 + 1e-9) == pytest.approx(expected_norm(50, 2.0), rel=1e-8)
    # d^(1/q) max >= |xi|_q >= max
    assert 1 <= expected_norm(10**6, 60.0) / expected_norm(10**6, math.inf) <= 10 ** (6 / 60)
    with pytest.raises(InvalidInput, match="q = 80"):
        expected_norm(3, 80.0)
    with pytest.raises(InvalidInput, match="monte_carlo_width"):
        Polytope(HULL).gaussian_width()


def test_width_intervals_cover_and_are_not_vacuous() -> None:
    # 300 intervals at failure probability 0.2, three of them on each set: at most 0.2 of 300 + 5 s.d. may miss; the
    # concentration bound is conservative, so only the upper side can be asserted.
    domain = Box(-1.0, 1.0, d=3)
    rng = stream(0, "coverage")
    misses = sum(
        not (e.lower <= domain.gaussian_width() <= e.upper)
        for e in (monte_carlo_width(domain, rng, samples=50, failure_probability=0.2) for _ in range(300))
    )
    assert misses <= 60 + 5 * math.sqrt(300 * 0.2 * 0.8)
    with pytest.raises(InvalidInput, match="samples >= 1"):
        monte_carlo_width(domain, rng, samples=0)


@given(st.integers(0, 10**6), st.sampled_from([1.0, 1.2, 2.0, 3.0, math.inf]), st.floats(0.01, 10))
@settings(max_examples=60, deadline=None)
def test_projections_onto_balls_are_nonexpansive_and_odd(seed: int, p: float, radius: float) -> None:
    rng = np.random.default_rng(seed)
    domain = LpBall(4, radius, p)
    a, b = rng.normal(size=(2, 20, 4)) * rng.exponential(3, size=(2, 20, 1))
    pa, pb = domain.project(a), domain.project(b)
    assert (norm(pa - pb) <= norm(a - b) * (1 + 1e-9) + 1e-12).all()
    np.testing.assert_allclose(domain.project(-a), -pa, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e-10, 1e10, 1e150])
@pytest.mark.parametrize("p", [1.0, 1.3, 2.0, 4.0])
def test_projections_scale(scale: float, p: float) -> None:
    w = stream(0, "scale").normal(size=(10, 3))
    expected = LpBall(3, 0.5, p).project(w)
    np.testing.assert_allclose(LpBall(3, 0.5 * scale, p).project(scale * w) / scale, expected, rtol=1e-9, atol=1e-12)
    # A point far outside goes to the point of contact.
    far = LpBall(3, 1.0, p).project(1e12 * w[:1])
    np.testing.assert_allclose((far * w[:1]).sum(), LpBall(3, 1.0, p).support(w[:1])[0], rtol=1e-6)


def test_simplex_projection_at_ties_and_corners() -> None:
    np.testing.assert_allclose(Simplex(4).project(np.zeros(4)), 0.25)
    np.testing.assert_allclose(Simplex(3).project(np.array([1e12, 0.0, 0.0])), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(Simplex(1).project(np.array([[-5.0], [7.0]])), 1.0)
    assert Simplex(1).diameter() == 0.0


def test_polytope_projection_handles_degenerate_hulls() -> None:
    segment = Polytope(np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5], [0.5, 0.5]]))
    np.testing.assert_allclose(segment.project(np.array([[1.0, 0.0], [5.0, 4.0]])), [[0.5, 0.5], [1.0, 1.0]], atol=1e-9)
    point = Polytope(np.ones((3, 2)))
    np.testing.assert_allclose(point.project(np.zeros((2, 2))), 1.0)
    cross = Polytope(L1Ball(4, 0.8).vertices)
    w = stream(0, "cross").normal(size=(20, 4))
    np.testing.assert_allclose(cross.project(w), L1Ball(4, 0.8).project(w), atol=1e-10)
    simplex = Polytope(Simplex(5).vertices)
    w = stream(0, "corner").normal(size=(20, 5))
    np.testing.assert_allclose(simplex.project(w), Simplex(5).project(w), atol=1e-10)


# Intersections.


def referee(y: np.ndarray, *parts: Any) -> np.ndarray:
    """Projection onto an intersection by an independent general-purpose optimiser."""
    cp = pytest.importorskip("cvxpy", reason="the extra [solvers] is not installed")
    x = cp.Variable(len(y))
    constraints = []
    for part in parts:
        if isinstance(part, Box):
            constraints += [x >= part.low, x <= part.high]
        elif isinstance(part, Ellipsoid):
            constraints.append(cp.norm(cp.multiply(1 / part.axes, x - part.centre)) <= 1)
        elif isinstance(part, Simplex):
            constraints += [x >= 0, cp.sum(x) == part.scale]
        else:
            constraints.append(cp.pnorm(x - part.centre, part.p) <= part.radius)
    cp.Problem(cp.Minimize(cp.sum_squares(x - y)), constraints).solve(solver="CLARABEL")
    return np.asarray(x.value)


@pytest.mark.parametrize(
    "domain",
    [Ball(3, 1.0), Box(-0.6, 0.8, d=3), L1Ball(3, 1.0), Ellipsoid([1.0, 0.3, 0.6]), LpBall(3, 1.0, 1.5), Ball(1, 1.0)],
    ids=repr,
)
def test_ball_intersection_matches_a_conic_solver(domain: Any) -> None:
    rng = stream(0, "lens", repr(domain))
    centre = domain.project(0.5 * rng.normal(size=domain.d))
    cut = BallIntersection(domain, centre, 0.35)
    y = 1.5 * rng.normal(size=(25, domain.d))
    x = cut.project(y)
    assert cut.contains(x, 1e-9).all()
    ball = Ball(domain.d, 0.35, centre)
    for i in range(4):
        np.testing.assert_allclose(x[i], referee(y[i], domain, ball), atol=3e-4)
    # Projection inequality against feasible points, which needs no solver.
    feasible = x[:, None] - x[None]
    assert np.einsum("id,jid->ij", y - x, np.swapaxes(feasible, 0, 1).swapaxes(0, 1)).max() <= 1e-9


def test_ball_intersection_with_one_ball_a_trial() -> None:
    rng = stream(0, "batched")
    domain = Ball(2, 1.0)
    centres, radii = domain.project(rng.normal(size=(30, 2))), 0.1 + rng.random(30)
    y = 2 * rng.normal(size=(30, 2))
    x = BallIntersection(domain, centres, radii).project(y)
    for i in range(30):
        one = BallIntersection(domain, centres[i], float(radii[i])).project(y[i])
        np.testing.assert_allclose(x[i], one, atol=1e-12)
        # The bisection used for other sets must agree with the closed form of two balls.
        general = BallIntersection(LpBall(2, 1.0, 2.0), centres[i], float(radii[i])).project(y[i])
        np.testing.assert_allclose(x[i], general, atol=1e-9)
    assert BallIntersection(domain, centres, radii).contains(x, 1e-12).all()


def test_ball_intersection_of_nested_and_concentric_balls() -> None:
    y = np.array([3.0, 0.0])
    np.testing.assert_allclose(BallIntersection(Ball(2, 1.0), np.zeros(2), 0.5).project(y), [0.5, 0.0])
    np.testing.assert_allclose(BallIntersection(Ball(2, 1.0), np.zeros(2), 5.0).project(y), [1.0, 0.0])
    assert BallIntersection(Ball(2, 1.0), np.zeros(2), 0.5).diameter() == 1.0
    # A centre outside of the domain, but near enough.
    cut = BallIntersection(Box(0.0, 1.0, d=2), np.array([-0.1, 0.5]), 0.3)
    np.testing.assert_allclose(cut.project(np.array([5.0, 0.5])), [0.2, 0.5], atol=1e-12)
    with pytest.raises(InvalidInput, match="no interior point"):
        BallIntersection(Box(0.0, 1.0, d=2), np.array([-2.0, 0.5]), 0.3).project(y)
    with pytest.raises(InvalidInput, match="do not meet"):
        BallIntersection(Ball(2, 1.0), np.array([9.0, 0.0]), 0.3).project(y)
    with pytest.raises(InvalidInput, match="radii"):
        BallIntersection(Ball(2, 1.0), np.zeros(2), 0.0)
    with pytest.raises(InvalidInput, match="shape"):
        BallIntersection(Ball(2, 1.0), np.zeros(3), 1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Interval(1.0, 1.0), "low < high"),
        (lambda: Box([0.0, math.nan], 1.0), "low must be a finite vector"),
        (lambda: Box([0.0, 1.0], [1.0, 2.0, 3.0]), "must have 3 entries, got 2"),
        (lambda: Ball(0, 1.0), "dimension must be >= 1, got 0"),
        (lambda: Ball(2, -1.0), r"radius must lie in \[1e-250, 1e\+250\], got -1.0"),
        (lambda: Ball(2, 1.0, centre=[0.0, 0.0, 0.0]), "2 entries, got 3"),
        (lambda: LpBall(2, 1.0, 0.5), r"\[1, inf\], got 0.5"),
        (lambda: Simplex(0), "got 0"),
        (lambda: Simplex(2, math.inf), "got inf"),
        (lambda: Ellipsoid([1.0, 0.0]), "half-axes"),
        (lambda: Polytope(np.zeros((0, 2))), "vertices"),
    ],
)
def test_bad_sets_name_the_value(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()
