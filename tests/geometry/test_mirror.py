"""Mirror maps: inverses, divergences, constrained steps, and strong convexity as claimed and as measured."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Entropy, PowerMap, measure_strong_convexity
from dpcheck.geometry import mirror as mirror_maps
from dpcheck.geometry.norms import norm
from dpcheck.seeds import stream

MAPS = [PowerMap(1.05, 40.0), PowerMap(1.25, 3.0), PowerMap(1.7), PowerMap(2.0, 0.5)]
STEEP = PowerMap(5.0, 1.25)
"""Strictly, not strongly convex: no closed form on boxes and l_1 balls."""


@pytest.mark.parametrize("mirror", [*MAPS, STEEP], ids=repr)
def test_gradient_inverse_and_divergence(mirror: PowerMap) -> None:
    u, v = stream(0, "mirror").normal(size=(2, 50, 6))
    np.testing.assert_allclose(mirror.inverse(mirror.gradient(u)), u, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(mirror.gradient(mirror.inverse(v)), v, rtol=1e-9, atol=1e-12)
    h = 1e-6
    for j in range(6):
        step = h * np.eye(6)[j]
        slope = (mirror.value(u + step) - mirror.value(u - step)) / (2 * h)
        np.testing.assert_allclose(mirror.gradient(u)[:, j], slope, rtol=2e-3, atol=2e-4 * mirror.scale)
    assert (mirror.bregman(u, v) >= mirror.strong_convexity / 2 * norm(u - v, mirror.p) ** 2 * (1 - 1e-9)).all()
    np.testing.assert_allclose(mirror.bregman(u, u), 0.0, atol=1e-9 * mirror.scale)
    # Fenchel: Phi(u) + Phi*(y) = <u, y> at y = gradient(u), with Phi*(y) = |y|_q^2 / (2 scale).
    y = mirror.gradient(u)
    conjugate = norm(y, mirror.q) ** 2 / (2 * mirror.scale)
    np.testing.assert_allclose(mirror.value(u) + conjugate, (u * y).sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("mirror", MAPS, ids=repr)
def test_gradients_at_zero_and_at_extremes(mirror: PowerMap) -> None:
    assert (mirror.gradient(np.zeros(3)) == 0).all()
    assert (mirror.inverse(np.zeros(3)) == 0).all()
    u = np.array([1.0, -2.0, 0.0])
    for scale in (1e-200, 1e200):
        np.testing.assert_allclose(mirror.gradient(scale * u), scale * mirror.gradient(u), rtol=1e-12)
        np.testing.assert_allclose(mirror.inverse(scale * u), scale * mirror.inverse(u), rtol=1e-12)


def referee(mirror: PowerMap, theta: np.ndarray, constraints: list[Any], start: np.ndarray) -> float:
    """Least objective found by SLSQP from several starts: an upper bound on the minimum."""
    best = math.inf
    for shrink in (1.0, 0.5, 0.1):
        found = optimize.minimize(
            lambda u: float(mirror.value(u) - theta @ u),
            shrink * start,
            jac=lambda u: mirror.gradient(u) - theta,
            constraints=constraints,
            method="SLSQP",
            options={"maxiter": 200, "ftol": 1e-12},
        )
        if all(c["fun"](found.x).min() >= -1e-9 for c in constraints):
            best = min(best, float(found.fun))
    return best


@pytest.mark.parametrize("mirror", MAPS, ids=repr)
def test_steps_in_a_ball_are_bregman_projections(mirror: PowerMap) -> None:
    rng = stream(0, "steps")
    for _ in range(5):
        theta = 3 * mirror.scale * rng.normal(size=4)
        free = mirror.minimiser(theta, math.inf)
        np.testing.assert_allclose(mirror.gradient(free), theta, rtol=1e-8, atol=1e-9)
        u = mirror.minimiser(theta, 0.7)
        assert norm(u, mirror.p) <= 0.7 * (1 + 1e-12)
        # Optimality: the gradient of the objective supports the ball at u.
        pull = theta - mirror.gradient(u)
        assert 0.7 * norm(pull, mirror.q) <= pull @ u + 1e-9 * mirror.scale
    w, g = rng.normal(size=(2, 8, 4))
    stepped = mirror.step(w, g, 0.3)
    np.testing.assert_allclose(mirror.gradient(stepped), mirror.gradient(w) - 0.3 * g, rtol=1e-8, atol=1e-9)
    radii = np.linspace(0.1, 2, 8)
    assert (norm(mirror.step(w, g, 0.3, radii), mirror.p) <= radii * (1 + 1e-12)).all()


@pytest.mark.parametrize("mirror", MAPS, ids=repr)
@pytest.mark.parametrize(("radius", "l1_radius"), [(math.inf, 1.0), (0.5, 1.0), (2.0, 4.0)])
def test_steps_in_an_l1_ball_are_optimal(mirror: PowerMap, radius: float, l1_radius: float) -> None:
    rng = stream(0, "l1 steps", mirror.p, str(radius))
    theta = 2 * l1_radius * mirror.scale * rng.normal(size=(30, 5))
    centre = 0.3 * rng.normal(size=(30, 5))
    centre *= 0.8 / np.maximum(0.8, np.abs(centre).sum(axis=1, keepdims=True))
    u = mirror.minimiser_in_l1(theta, l1_radius, centre, radius)
    assert (np.abs(u + centre).sum(axis=1) <= l1_radius + 1e-9).all()
    assert (norm(u, mirror.p) <= radius * (1 + 1e-9)).all()
    # First-order optimality against feasible points: <theta - gradient, v - u> <= 0 for every feasible v.
    pull = theta - mirror.gradient(u)
    corners = l1_radius * np.concatenate([np.eye(5), -np.eye(5)])
    for i in range(30):
        feasible = corners - centre[i]
        length = norm(feasible, mirror.p)
        # Points on the way from 0 (feasible) to each corner, cut at the ball.
        feasible *= np.minimum(1.0, radius / np.maximum(length, 1e-300))[:, None]
        assert (feasible - u[i]).dot(pull[i]).max() <= 1e-7 * mirror.scale
    if mirror.p >= 1.25:
        for i in range(2):
            constraints: list[Any] = [{"type": "ineq", "fun": lambda v, c=centre[i]: l1_radius - np.abs(v + c).sum()}]
            if math.isfinite(radius):
                constraints.append({"type": "ineq", "fun": lambda v: radius - norm(v, mirror.p)})
            value = float(mirror.value(u[i]) - theta[i] @ u[i])
            assert value <= referee(mirror, theta[i], constraints, u[i] + 0.01) + 1e-7 * mirror.scale


def test_l1_steps_leave_feasible_points_alone_and_check_the_centre() -> None:
    mirror = PowerMap(1.5)
    theta = np.array([[0.1, -0.05, 0.0]])
    np.testing.assert_array_equal(mirror.minimiser_in_l1(theta, 5.0), mirror.inverse(theta))
    assert mirror.minimiser_in_l1(np.zeros((2, 3)), 1.0).shape == (2, 3)
    with pytest.raises(InvalidInput, match="centre of the map"):
        mirror.minimiser_in_l1(theta, 1.0, np.array([2.0, 0.0, 0.0]))


@pytest.mark.parametrize("p", [1.05, 1.25, 1.5, 2.0])
@pytest.mark.parametrize("d", [2, 4, 30])
@pytest.mark.parametrize("size", [0.01, 1.0, 100.0, 1e7])
def test_steps_in_an_l1_ball_lose_rounding_at_most(p: float, d: int, size: float) -> None:
    """What the linear model at u gains over u at a corner bounds what u loses, and is nothing but rounding; from
    centres near 0, inside, and on a face or corner, and for slopes far below and far above those of the map.
    """
    mirror, rng = PowerMap(p, 1 / (p - 1)), stream(0, "corners", p, d, str(size))
    theta = size * mirror.scale * rng.normal(size=(40, d))
    centre = rng.normal(size=(40, d)) * (rng.random((40, d)) < 0.7) + 1e-3 * rng.normal(size=(40, d))
    centre *= np.tile([1e-9, 0.3, 0.999, 1.0], 10)[:, None] / np.abs(centre).sum(axis=1, keepdims=True)
    centre[-1] = np.eye(d)[0]
    u = mirror.minimiser_in_l1(theta, 1.0, centre)
    assert (np.abs(u + centre).sum(axis=1) <= 1 + 1e-13).all()
    pull = theta - mirror.gradient(u)
    lost = np.abs(pull).max(axis=1) - (pull * (u + centre)).sum(axis=1)
    np.testing.assert_allclose(lost, 0.0, atol=1e-11 * np.abs(theta).max())
    # In a ball whose edge it is beyond, it ends at the edge, and pulls no other way than both constraints do.
    inside = mirror.minimiser_in_l1(theta, 1.0, centre, 0.25)
    assert (np.abs(inside + centre).sum(axis=1) <= 1 + 1e-13).all()
    assert (norm(inside, p) <= 0.25 * (1 + 1e-13)).all()
    np.testing.assert_allclose(inside[norm(u, p) < 0.24], u[norm(u, p) < 0.24], atol=1e-12)
    value = mirror.value(inside) - (theta * inside).sum(axis=1)
    shrunk = u * np.minimum(1.0, 0.25 / np.maximum(norm(u, p), 1e-300))[:, None]
    assert (value <= mirror.value(shrunk) - (theta * shrunk).sum(axis=1) + 1e-12 * np.abs(theta).max()).all()


def test_a_step_in_an_l1_ball_asks_for_few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer than 100 for all rows together, where two searches without slopes, one inside of the other, take 500."""
    asked, original = list[int](), mirror_maps._Separable._at

    def counted(self: Any, level: np.ndarray, *rest: Any) -> Any:
        asked.append(len(level))
        return original(self, level, *rest)

    monkeypatch.setattr(mirror_maps._Separable, "_at", counted)
    rng = stream(0, "points")
    centre = rng.normal(size=(100, 4))
    centre *= 0.8 / np.abs(centre).sum(axis=1, keepdims=True)
    for size in (1.0, 10.0):
        asked.clear()
        PowerMap(1.5, 4.0).minimiser_in_l1(4 * size * rng.normal(size=(100, 4)), 1.0, centre)
        assert 0 < len(asked) < 100


def test_roots_by_slopes() -> None:
    rng = stream(0, "roots")
    wanted, power = rng.uniform(0.1, 0.9, 50), rng.integers(0, 5, 50) * 2 + 1.0

    def odd(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Odd powers are flat at their root; those from 7 on say so everywhere, and are told nothing by slopes."""
        slope = -power * np.abs(x - wanted) ** (power - 1)
        return -np.sign(x - wanted) * np.abs(x - wanted) ** power, np.where(power >= 7, 0.0, slope)

    found = mirror_maps._falling_root_by_slopes(odd, np.zeros(50), np.ones(50), np.full(50, 0.5), 1e-300)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)

    def kinked(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of slope -1e6 below the root, 0 from there to 0.95, and not above 0 there."""
        return np.maximum(wanted - x, 0.0) * 1e6 - 1e-3 * (x > wanted), np.where(x < wanted, -1e6, 0.0)

    start = rng.uniform(0, 1, 50)
    found = mirror_maps._falling_root_by_slopes(kinked, np.zeros(50), np.ones(50), start, 1e-9)
    np.testing.assert_allclose(found, wanted, rtol=1e-14)
    at_low = mirror_maps._falling_root_by_slopes(
        lambda x: (-1.0 - x, np.full(3, -1.0)), np.full(3, 0.25), np.ones(3), np.array([0.25, 0.5, 1.0]), 1e-12
    )
    np.testing.assert_array_equal(at_low, 0.25)


def test_entropy_steps_are_multiplicative_and_stable() -> None:
    mirror = Entropy()
    w = np.array([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]])
    g = np.array([[1.0, -1.0, 0.0], [1e5, -1e5, 0.0]])
    x = mirror.step(w, g, 0.5)
    expected = w[0] * np.exp(-0.5 * g[0])
    np.testing.assert_allclose(x[0], expected / expected.sum())
    np.testing.assert_allclose(x[1], [0.0, 1.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(mirror.inverse(mirror.gradient(w)), w)
    np.testing.assert_allclose(mirror.bregman(w[0], w[1]), (w[0] * np.log(w[0] / w[1])).sum())
    assert mirror.bregman(np.array([1.0, 0.0]), np.array([0.5, 0.5])) == pytest.approx(math.log(2))
    assert mirror.value(np.array([1.0, 0.0])) == 0.0
    with pytest.raises(InvalidInput, match="inside the simplex"):
        mirror.gradient(np.array([1.0, 0.0]))


@pytest.mark.parametrize(("p", "d"), [(1.2, 2), (1.5, 4), (2.0, 3)])
def test_measured_strong_convexity_agrees_with_the_claim(p: float, d: int) -> None:
    mirror = PowerMap(p, 2.0)
    found = measure_strong_convexity(mirror, p, d, stream(0, "modulus", p, d))
    assert found.value >= mirror.strong_convexity * (1 - 1e-6)
    assert found.value <= mirror.strong_convexity * 1.05
    gap = found.x - found.y
    ratio = (mirror.gradient(found.x) - mirror.gradient(found.y)) @ gap / norm(gap, p) ** 2
    assert ratio == pytest.approx(found.value)


@pytest.mark.parametrize(("d", "known"), [(4, 0.794), (16, 0.660)])
def test_the_map_of_the_l1_geometry_falls_short_of_one_in_l1(d: int, known: float) -> None:
    p = 1 + 1 / math.log2(d)
    mirror = PowerMap(p, 2 / (p - 1))
    found = measure_strong_convexity(mirror, 1.0, d, stream(0, "l1 modulus", d), pairs=2000)
    assert 0.5 <= found.value <= known + 1e-3


def test_entropy_is_strongly_convex_in_l1() -> None:
    found = measure_strong_convexity(Entropy(), 1.0, 4, stream(0, "pinsker"), positive=True)
    assert 1 - 1e-6 <= found.value <= 1.05


def test_a_false_claim_is_found_out() -> None:
    # |.|_p^2 / 2 is (p - 1)-strongly convex, not 1-strongly: the measurement must show it.
    found = measure_strong_convexity(PowerMap(1.3), 1.3, 3, stream(0, "false"))
    assert found.value < 0.5


@pytest.mark.parametrize("p", [1.0, math.inf, math.nan])
def test_bad_maps(p: float) -> None:
    with pytest.raises(InvalidInput, match="exponent"):
        PowerMap(p)
    with pytest.raises(InvalidInput, match="scale"):
        PowerMap(1.5, -1.0)


@pytest.mark.parametrize("p", [1.25, 1.5, 2.0])
def test_steps_where_both_balls_bind_at_the_centre(p: float) -> None:
    """Steep slopes from the centre 0: no feasible point of a fine grid on the edge is better."""
    mirror = PowerMap(p, 2 / (p - 1))
    rng = stream(0, "both balls", p)
    theta = 1e4 * mirror.scale * rng.normal(size=(20, 3))
    u = mirror.minimiser_in_l1(theta, 1.0, np.zeros(3), 0.9)
    assert (np.abs(u).sum(axis=1) <= 1 + 1e-12).all()
    assert (norm(u, p) <= 0.9 + 1e-12).all()
    rivals = rng.dirichlet(np.full(3, 0.5), 20_000) * rng.choice([-1.0, 1.0], (20_000, 3))
    rivals = rivals * np.minimum(1.0, 0.9 / norm(rivals, p))[:, None]
    gain = (rivals @ theta.T - mirror.value(rivals)[:, None]).max(axis=0)
    assert (gain <= (u * theta).sum(axis=1) - mirror.value(u) + 1e-9 * np.abs(theta).max()).all()
    # Rows at the centre and rows off it go different ways, and meet as the centre moves in.
    near = mirror.minimiser_in_l1(
        theta[:4], 1.0, np.array([[0.0, 0, 0], [1e-9, 0, 0], [0.0, 0, 0], [0, -1e-9, 0]]), 0.9
    )
    np.testing.assert_allclose(near, u[:4], atol=1e-6)
