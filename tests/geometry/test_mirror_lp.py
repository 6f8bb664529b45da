"""Mirror steps within two balls of l_p."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize

from dpcheck.errors import InvalidInput
from dpcheck.geometry import PowerMap
from dpcheck.geometry.mirror_lp import minimiser_in_lp
from dpcheck.geometry.norms import norm
from dpcheck.seeds import stream


def power(x: np.ndarray, exponent: float) -> np.ndarray:
    return np.asarray(np.sign(x) * np.abs(x) ** exponent)


@pytest.mark.parametrize("p", [1.25, 1.5, 2.0])
@pytest.mark.parametrize("radius", [math.inf, 0.5, 1.2])
@pytest.mark.parametrize("size", [0.3, 3.0, 100.0])
def test_optimal_in_both_balls(p: float, radius: float, size: float) -> None:
    """What is left of the slope is pulled by the balls whose edge is reached, and by nothing else."""
    mirror, rng = PowerMap(p, 1 / (p - 1)), stream(0, "two balls", p, str(radius), str(size))
    theta, c = size * mirror.scale * rng.normal(size=(40, 5)), rng.normal(size=(40, 5))
    c *= np.tile([0.0, 0.3, 0.9, 1.0], 10)[:, None] / norm(c, p)[:, None]
    u = minimiser_in_lp(mirror, theta, 1.0, c, radius)
    slack = np.stack([1 - norm(u + c, p), radius - norm(u, p) if math.isfinite(radius) else np.full(40, math.inf)], 1)
    assert (slack >= -1e-12).all()
    for i, pull in enumerate(theta - mirror.gradient(u)):
        sides = np.stack([power(u[i] + c[i], p - 1), power(u[i], p - 1)], axis=1) * (slack[i] < 1e-9)
        _, left = scipy.optimize.nnls(sides, pull)
        assert left <= 1e-7 * np.abs(theta[i]).max()
    assert (slack[:, 0] < 1e-9).any()
    if radius == 0.5 and size > 1:
        assert (slack < 1e-9).all(axis=1).any(), "rows that reach both edges are wanted"


def test_a_single_ball_is_that_of_the_closed_form() -> None:
    mirror, theta = PowerMap(1.5), 5 * stream(0, "one ball").normal(size=(20, 3))
    at_zero = minimiser_in_lp(mirror, theta, 1.0, np.zeros(3))
    np.testing.assert_allclose(at_zero, mirror.minimiser(theta, 1.0), rtol=1e-9, atol=1e-12)
    far = minimiser_in_lp(mirror, theta, 1e9, np.ones(3), 2.0)
    np.testing.assert_array_equal(far, mirror.minimiser(theta, 2.0))


def test_refused() -> None:
    with pytest.raises(InvalidInput, match=r"must lie in the ball, got one at 2 of radius 1"):
        minimiser_in_lp(PowerMap(1.5), np.ones((1, 2)), 1.0, np.array([2.0, 0.0]))
    with pytest.raises(InvalidInput, match="exponent 3 > 2"):
        minimiser_in_lp(PowerMap(3.0), np.ones((1, 2)), 1.0, np.zeros(2))
