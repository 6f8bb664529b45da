"""Cones and their caps: a conic solver or a variational inequality is the referee."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize

from dpcheck.errors import InvalidInput
from dpcheck.geometry import (
    ConeCap,
    GeneratedCone,
    Orthant,
    SecondOrderCone,
    monte_carlo_width,
)
from dpcheck.geometry.norms import norm
from dpcheck.seeds import stream

RAYS = np.array([[1.0, 0.2, 0.0, 0.1], [0.3, 1.0, -0.2, 0.0], [0.0, 0.4, 1.0, 0.5], [1.0, 1.0, 1.0, -1.0]])
CONES = [Orthant(4), SecondOrderCone(4), SecondOrderCone(4, 0.3), SecondOrderCone(4, 5.0), GeneratedCone(RAYS)]


def points(*key: Any, size: int = 200) -> np.ndarray:
    return stream(0, "cones", *key).standard_normal((size, 4)) * 2


@pytest.mark.parametrize("cone", CONES, ids=repr)
def test_moreau(cone: Any) -> None:
    """w = P(w) + Q(w), P in the cone, Q orthogonal to P and at an obtuse angle to every point of the cone."""
    w = points("moreau")
    p = cone.project(w)
    q = w - p
    assert cone.contains(p, 1e-9).all()
    np.testing.assert_allclose((p * q).sum(axis=1), 0, atol=1e-9)
    others = cone.project(points("others"))
    assert (q @ others.T).max() <= 1e-8
    np.testing.assert_allclose(cone.project(p), p, atol=1e-9)
    np.testing.assert_allclose(cone.project(3 * w), 3 * p, atol=1e-8)


@pytest.mark.parametrize("cone", CONES, ids=repr)
@pytest.mark.parametrize("radius", [0.4, 2.0])
def test_caps_match_a_solver(cone: Any, radius: float) -> None:
    """Projection by the library against a general solver on the same constraints, from a feasible start."""
    cap = ConeCap(cone, radius)
    for w in points("cap", radius, size=6):
        found = cap.project(w)
        assert cap.contains(found, 1e-9)
        other = _solver(cone, radius, w)
        assert norm(found - w) <= norm(other - w) + 1e-5  # the solver is infeasible by as much
        np.testing.assert_allclose(found, other, atol=2e-3)


def _solver(cone: Any, radius: float, w: np.ndarray) -> np.ndarray:
    ball = {"type": "ineq", "fun": lambda x: radius**2 - x @ x}
    if isinstance(cone, GeneratedCone):
        ball = {"type": "ineq", "fun": lambda a: radius**2 - (a @ RAYS) @ (a @ RAYS)}
        found = optimize.minimize(
            lambda a: ((a @ RAYS - w) ** 2).sum(), np.full(4, 0.05), constraints=[ball], bounds=[(0, None)] * 4,
            method="SLSQP", options={"ftol": 1e-14, "maxiter": 500},
        )  # fmt: skip
        return found.x @ RAYS
    if isinstance(cone, Orthant):
        edge = {"type": "ineq", "fun": lambda x: x}
    else:
        edge = {"type": "ineq", "fun": lambda x: cone.slope * x[0] - math.sqrt(x[1:] @ x[1:] + 1e-20)}
    start = np.array([0.2, 0.01, 0.01, 0.01])
    found = optimize.minimize(
        lambda x: ((x - w) ** 2).sum(), start, constraints=[ball, edge], method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    return np.asarray(found.x)


@pytest.mark.parametrize("cone", CONES[:4], ids=repr)
def test_widths_lie_in_their_sampled_interval(cone: Any) -> None:
    """Each interval covers but for 1e-9."""
    cap = ConeCap(cone, 1.5)
    found = monte_carlo_width(cap, stream(0, "width", repr(cone)), samples=60_000, failure_probability=1e-9)
    assert found.lower <= cap.gaussian_width() <= found.upper
    assert found.upper - found.lower < 0.1


def test_widths_in_closed_form() -> None:
    # The quarter plane: chances 1/2 and 1/4 of one and two positive coordinates.
    assert ConeCap(Orthant(2)).gaussian_width() == pytest.approx(
        0.5 * math.sqrt(2 / math.pi) + 0.25 * math.sqrt(math.pi / 2)
    )
    # A cone of a vast slope is the half space: E|xi| less half of what the axis adds.
    wide = SecondOrderCone(3, 1e9).expected_length()
    assert wide == pytest.approx((2 * math.sqrt(2 / math.pi) + math.sqrt(math.pi / 2)) / 2, rel=1e-6)
    # A needle is a ray: E max(0, xi).
    assert SecondOrderCone(3, 1e-9).expected_length() == pytest.approx(1 / math.sqrt(2 * math.pi), rel=1e-6)
    with pytest.raises(InvalidInput, match="monte_carlo_width"):
        ConeCap(CONES[-1]).gaussian_width()


def test_nonsense_is_refused() -> None:
    for make, says in (
        (lambda: SecondOrderCone(1), "d >= 2"),
        (lambda: Orthant(0), "dimension"),
        (lambda: GeneratedCone(np.zeros((1, 3))), "rays"),
        (lambda: ConeCap(Orthant(2), -1.0), "radius"),
    ):
        with pytest.raises(InvalidInput, match=says):
            make()
