"""The short cone that the checks of Theorem 2 run Algorithm 1 on: a solver is referee of its projection."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from dpcheck.interfaces import Sample
from dpcheck.seeds import stream
from dpcheck.workloads.short_cone import ShortCone


@pytest.mark.parametrize("scale", [0.1, 0.3, 1.0, 5.0])
def test_the_projection_against_a_solver(scale: float) -> None:
    cone = ShortCone(tail=3, radius=0.4)
    for h in scale * stream(0, "short cone", scale).standard_normal((12, 5)):
        found = optimize.minimize(
            lambda x, h=h: ((x - h) ** 2).sum(),
            np.array([0.0, 0.2, 0.0, 0.0, 0.01]),
            bounds=[(-0.5, 0.5), (0, 0.4)] + [(None, None)] * 3,
            constraints=[{"type": "ineq", "fun": lambda x: x[1] - math.sqrt((x[2:] ** 2).sum() + 1e-16)}],
            method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        assert cone.project(h) == pytest.approx(found.x, abs=2e-4)


def test_the_width_is_an_upper_bound_and_the_minimiser_is_the_tip() -> None:
    cone, rng = ShortCone(tail=50, radius=0.3), stream(0, "width")
    xi = rng.standard_normal((20_000, 52))
    drawn = np.abs(xi[:, 0]) / 2 + 0.3 * np.maximum(0, np.linalg.norm(xi[:, 2:], axis=1) + xi[:, 1])
    assert cone.width >= drawn.mean() + 5 * drawn.std() / math.sqrt(len(drawn)) - 0.2
    assert cone.width >= drawn.mean()
    tip = cone.tilted_minimiser(Sample(np.zeros((1, 1, 1)), np.ones((1, 1))), xi[:50] / 52, 0.5)
    assert (tip[:, 1] == 0).all()
