"""The C-Lipschitz extension f_C(w) = inf over y in the whole domain of f(y) + C |w - y|, and its subgradients."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Workload, procedure
from dpcheck.numerics import edges
from dpcheck.workloads.base import Bounded, Extended

LINE_CALLS = 65
"""Gradients that one value of f_C asks for on a line, where the workload has no closed form."""


def check_cap(cap: float) -> None:
    """Raises `InvalidInput` unless the cap C is finite and > 0."""
    if not (np.isfinite(cap) and cap > 0):
        raise InvalidInput(f"the cap C of a Lipschitz extension must be a finite number > 0, got {cap!r}")


def ends(workload: Workload) -> tuple[float, float]:
    """The interval that a one-dimensional domain is."""
    far = 4 * workload.constants.diameter(2.0) + abs(float(workload.project(np.zeros((1, 1)))[0, 0]))
    low, high = workload.project(np.array([[-far], [far]]))[:, 0]
    return float(low), float(high)


def never_steep(workload: Workload, z: Array, cap: float) -> bool:
    """Whether every record is known to have A(z) <= C, so that f_C = f on the domain."""
    return isinstance(workload, Bounded) and bool((workload.amplitude(z) <= cap).all())


@procedure("pure_heavy_tails/proc-lip-ext")
def lipschitz_extension(workload: Workload, w: Array, z: Array, cap: float) -> Array:
    """f_C, elementwise: (..., d), (..., *record) -> (...).

    Closed form where the workload has one, bisection of the monotone derivative on a line, f itself where no record is
    steeper than C, and a search of the plane (`searched_extension`) in two dimensions.

    Raises:
        InvalidInput: none of these applies; a polyhedral loss is extended by the conic `socp_subgradient`.
    """
    check_cap(cap)
    if isinstance(workload, Extended):
        return workload.extension(w, z, cap)
    d = workload.constants.d
    if d == 1:
        return _line_extension(workload, w, z, cap)
    if never_steep(workload, z, cap):
        return workload.loss(w, z)
    if d == 2:
        return searched_extension(workload, w, z, cap)
    raise InvalidInput(
        f"{type(workload).__name__} has no closed-form Lipschitz extension in d = {d} and records steeper than "
        f"C = {cap:g}; give it `extension` and `extension_gradient`, or use the conic solver"
    )


def extension_gradient(workload: Workload, w: Array, z: Array, cap: float) -> Array:
    """A subgradient of f_C at points of the domain, of norm <= C, elementwise: (..., d).

    On a line it is the clipped derivative. In more dimensions clipping the gradient is *not* the same thing.
    """
    check_cap(cap)
    if workload.constants.d == 1:
        return np.clip(workload.gradient(w, z), -cap, cap)
    if isinstance(workload, Extended):
        return workload.extension_gradient(w, z, cap)
    if never_steep(workload, z, cap):
        return workload.gradient(w, z)
    raise InvalidInput(
        f"{type(workload).__name__} has no subgradient oracle for its Lipschitz extension at C = {cap:g}; "
        "give it `extension_gradient`, or use the conic solver"
    )


def _line_extension(workload: Workload, w: Array, z: Array, cap: float) -> Array:
    """The infimum is at w, or on the side where f falls faster than C, at the point where it stops doing so."""
    slope = workload.gradient(w, z)[..., 0]
    w = np.broadcast_to(w[..., 0], slope.shape)
    start, stop = ends(workload)
    right, left = slope < -cap, slope > cap
    low, high = np.where(left, start, w), np.where(right, stop, w)
    level = np.where(left, cap, -cap)
    low, high = edges(lambda y: workload.gradient(y[..., None], z)[..., 0] > level, low, high, halvings=LINE_CALLS - 1)
    # Both ends of the bracket are feasible: the better one is within rounding of the infimum.
    values = [workload.loss(y[..., None], z) + cap * np.abs(w - y) for y in (low, high)]
    return np.where(right | left, np.minimum(*values), workload.loss(w[..., None], z))


def searched_extension(workload: Workload, w: Array, z: Array, cap: float) -> Array:
    """f_C in the plane by golden sections along rays from w, and over their angle: from above, to about 1e-9.

    Convexity makes f + C |w - y| unimodal along a ray, and its minimum over a ray unimodal in the angle. Slow, and
    independent of every closed form: for tests and small instances.
    """
    if workload.constants.d != 2:
        raise InvalidInput(f"the polar search is for d = 2, got d = {workload.constants.d}")
    probe = workload.loss(w, z)
    points = np.broadcast_to(w, (*probe.shape, 2)).reshape(-1, 2)
    records = np.broadcast_to(z, (*probe.shape, *z.shape[probe.ndim :])).reshape(len(points), *z.shape[probe.ndim :])
    return _search(workload, points, records, cap).reshape(probe.shape)


def _search(workload: Workload, w: Array, z: Array, cap: float) -> Array:
    reach, shape = workload.constants.diameter(2.0), (len(w), 1)

    def along(angle: Array) -> Array:
        """The minimum over the ray of each angle: (N, A) -> (N, A)."""
        direction = np.stack([np.cos(angle), np.sin(angle)], axis=-1)

        def outside(r: Array) -> NDArray[np.bool_]:
            y = w[:, None] + r[..., None] * direction
            return np.asarray(np.linalg.norm(workload.project(y) - y, axis=-1) > 1e-13 * reach)

        def value(r: Array) -> Array:
            return np.asarray(workload.loss(w[:, None] + r[..., None] * direction, z[:, None]) + cap * r)

        low, _ = edges(outside, np.zeros(angle.shape), np.full(angle.shape, reach), halvings=45)
        return value(_golden(value, np.zeros(angle.shape), low))

    grid = np.linspace(0, 2 * np.pi, 181)[:-1]
    best = grid[along(np.broadcast_to(grid, (len(w), 180))).argmin(axis=1)][:, None]
    angle = _golden(along, best - grid[1] + np.zeros(shape), best + grid[1] + np.zeros(shape))
    return np.minimum(along(angle)[:, 0], workload.loss(w, z))


def _golden(value: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Minimisers of unimodal functions, elementwise."""
    ratio = (np.sqrt(5) - 1) / 2
    for _ in range(45):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        lower = value(left) <= value(right)
        low, high = np.where(lower, low, left), np.where(lower, right, high)
    return np.asarray((low + high) / 2)
