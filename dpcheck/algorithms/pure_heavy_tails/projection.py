"""Inexact projection onto the part of a domain within a ball (Lemma C.6), by bisection of the multiplier."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, procedure

ROUNDING = 1e-9  # the same: a point is in a set to rounding, or out of it by far
"""Relative and absolute: a centre that projecting moves by no more than this lies in the domain."""


@procedure("pure_heavy_tails/proc-inexact-proj")
def inexact_projection(
    y: Array, centre: Array, radius: float | Array, project: Callable[[Array], Array], xi: float | Array
) -> Array:
    """A point of W ∩ B(centre, radius) within xi of the projection of y onto it.

    Args:
        y: (trials, d).
        centre: (trials or 1, d), points of the domain W.
        radius, xi: positive; one number, or one a trial.
        project: Euclidean projection onto W, (trials, d) -> (trials, d).

    Returns:
        (trials, d). Each trial takes its own number of halvings, so it does not depend on the others.

    Raises:
        InvalidInput: radius or xi is not positive, or a centre lies outside the domain.
    """
    trials = max(len(y), len(centre))
    c, r, xi = _check(trials, y.shape[1], centre, radius, project, xi)
    y = np.broadcast_to(y, c.shape)
    x = project(y)
    done = np.linalg.norm(x - c, axis=1) <= r
    R = np.linalg.norm(y - c, axis=1)
    low, high = np.zeros(trials), R / r
    N = np.where(done, 0, halvings(R, r, xi))  # the same: where it is done, what is found is not returned

    def at(multiplier: Array) -> Array:
        return project((y + multiplier[:, None] * c) / (1 + multiplier[:, None]))

    for step in range(int(N.max())):
        middle = (low + high) / 2
        far = np.linalg.norm(at(middle) - c, axis=1) > r
        going = step < N
        low, high = np.where(going & far, middle, low), np.where(going & ~far, middle, high)
    return np.where(done[:, None], x, at(high))


def halvings(R: Array, r: Array, xi: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """N = ceil(log2(1 + R^2/(r xi))) of each trial, from |y - centre| = R."""
    with np.errstate(divide="ignore"):  # R = 0, where N = 0
        # Not the logarithm of the quotient, which may overflow.
        size = np.log2(R / r) + np.log2(R / xi)
    return np.asarray(np.ceil(np.logaddexp2(0.0, size)), dtype=np.int64)


def _check(
    trials: int, d: int, centre: Array, radius: float | Array, project: Callable[[Array], Array], xi: float | Array
) -> tuple[Array, Array, Array]:
    c = np.broadcast_to(np.asarray(centre, dtype=float), (trials, d))
    r = np.broadcast_to(np.asarray(radius, dtype=float), (trials,))
    x = np.broadcast_to(np.asarray(xi, dtype=float), (trials,))
    for name, values in (("radius", r), ("accuracy xi", x)):
        if not (values > 0).all():
            raise InvalidInput(f"the {name} of an inexact projection must be > 0, got {values.min()}")
    inside = project(c)
    if not np.isclose(inside, c, rtol=ROUNDING, atol=ROUNDING).all():
        raise InvalidInput(f"the ball's centre must lie in the domain; it is {np.abs(inside - c).max():.3g} outside")
    return c, r, x
