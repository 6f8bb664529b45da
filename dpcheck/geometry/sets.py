"""Convex sets with exact Euclidean projections, supports, diameters and Gaussian widths; points on the last axis."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry import widths
from dpcheck.geometry.norms import check_exponent, dual_direction, dual_exponent, equivalence, norm, scaled, unscaled
from dpcheck.geometry.projections import project_ellipsoid, project_l1, project_lp, project_simplex
from dpcheck.interfaces import Array

Vector = Array | Sequence[float] | float


class Domain(Protocol):
    """A compact convex set in R^d."""

    @property
    def d(self) -> int: ...

    def project(self, w: Array) -> Array:
        """Euclidean projection: (..., d) -> (..., d)."""
        ...

    def contains(self, w: Array, tolerance: float = 1e-9) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Membership up to `tolerance` in the set's own norm: (..., d) -> (...)."""
        ...

    def diameter(self, p: float = 2.0) -> float:
        """Diameter in l_p."""
        ...

    def support_point(self, direction: Array) -> Array:
        """A point that maximises <direction, w>: (..., d) -> (..., d)."""
        ...

    def support(self, direction: Array) -> Array:
        """max <direction, w>: (..., d) -> (...)."""
        ...

    def gaussian_width(self) -> float:
        """E max <xi, w> for standard normal xi; see `widths.monte_carlo_width` where no formula exists."""
        ...


Mask = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


class Supported:
    """What follows from `support_point`."""

    def support_point(self, direction: Array) -> Array:
        raise NotImplementedError

    def support(self, direction: Array) -> Array:
        """max <direction, w>: (..., d) -> (...)."""
        u = np.asarray(direction, dtype=float)
        scale, k = scaled(u)
        with np.errstate(over="ignore"):  # beyond float64 it is inf
            return unscaled((scale * self.support_point(u)).sum(axis=-1), k[..., 0])


def frozen_vector(name: str, value: Vector, d: int | None = None) -> Array:
    """A read-only float vector; a scalar is repeated `d` times."""
    vector = np.array(value, dtype=float)
    if vector.ndim == 0:
        vector = np.full(1 if d is None else d, float(vector))
    if vector.ndim != 1 or len(vector) < 1 or not np.isfinite(vector).all():
        raise InvalidInput(f"{name} must be a finite vector, got {value!r}")
    if d is not None and len(vector) != d:
        raise InvalidInput(f"{name} must have {d} entries, got {len(vector)}")
    vector.setflags(write=False)
    return vector


SMALLEST, LARGEST = 1e-250, 1e250
"""Sizes of sets: a point on their boundary has all its digits, and so have differences of such points."""


def check_radius(radius: float) -> None:
    """Raises `InvalidInput` unless `radius` is a number within [1e-250, 1e250]."""
    if not SMALLEST <= radius <= LARGEST:
        raise InvalidInput(f"a radius must lie in [{SMALLEST:g}, {LARGEST:g}], got {radius!r}; choose another unit")


class Box(Supported):
    """{w: low <= w <= high}; scalars are repeated `d` times.

    >>> Box(-1.0, 1.0, d=4).diameter(2.0)
    4.0
    """

    def __init__(self, low: Vector, high: Vector, d: int | None = None) -> None:
        size = d if d is not None else max(np.size(low), np.size(high))
        self.low, self.high = frozen_vector("low", low, size), frozen_vector("high", high, size)
        if not (self.low < self.high).all():
            raise InvalidInput(f"a box needs low < high in every coordinate, got low {low!r} and high {high!r}")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(d={self.d}, low={self.low[0]:g}…, high={self.high[0]:g}…)"

    @property
    def d(self) -> int:
        return len(self.low)

    @property
    def centre(self) -> Array:
        """Midpoint (d,)."""
        return (self.low + self.high) / 2

    def project(self, w: Array) -> Array:
        """Clips every coordinate."""
        return np.clip(w, self.low, self.high)

    def contains(self, w: Array, tolerance: float = 1e-9) -> Mask:
        """Whether every coordinate lies within `tolerance` of its interval."""
        return np.asarray(((w >= self.low - tolerance) & (w <= self.high + tolerance)).all(axis=-1))

    def diameter(self, p: float = 2.0) -> float:
        """|high - low|_p."""
        return float(norm(self.high - self.low, p))

    def support_point(self, direction: Array) -> Array:
        """The corner that `direction` points to."""
        return np.where(np.asarray(direction) > 0, self.high, self.low)

    def gaussian_width(self) -> float:
        """Sum of the sides / sqrt(2 pi)."""
        return float((self.high - self.low).sum()) / math.sqrt(2 * math.pi)


class Interval(Box):
    """[low, high] on the line: a box with d = 1."""

    def __init__(self, low: float, high: float) -> None:
        super().__init__(float(low), float(high), 1)

    def __repr__(self) -> str:
        return f"Interval({self.low[0]:g}, {self.high[0]:g})"


class _Centred(Supported):
    """A set that is symmetric about its centre."""

    def __init__(self, d: int, centre: Vector | None) -> None:
        if d < 1:
            raise InvalidInput(f"a dimension must be >= 1, got {d!r}")
        self.centre = frozen_vector("centre", 0.0 if centre is None else centre, d)

    @property
    def d(self) -> int:
        return len(self.centre)


class LpBall(_Centred):
    """{w: |w - centre|_p <= radius}, 1 <= p <= inf."""

    def __init__(self, d: int, radius: float, p: float, centre: Vector | None = None) -> None:
        super().__init__(d, centre)
        check_radius(radius)
        check_exponent(p)
        self.radius, self.p = float(radius), float(p)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(d={self.d}, radius={self.radius:g}, p={self.p:g})"

    def project(self, w: Array) -> Array:
        """Closed form for p = 1 (sorting), 2 and inf; otherwise safeguarded scalar equations to rounding."""
        return np.asarray(self.centre + project_lp(np.asarray(w, dtype=float) - self.centre, self.radius, self.p))

    def contains(self, w: Array, tolerance: float = 1e-9) -> Mask:
        """Whether |w - centre|_p <= radius + tolerance."""
        return np.asarray(norm(np.asarray(w) - self.centre, self.p) <= self.radius + tolerance)

    def diameter(self, p: float = 2.0) -> float:
        """2 radius d^max(0, 1/p - 1/self.p)."""
        return 2 * self.radius * equivalence(p, self.p, self.d)

    def support_point(self, direction: Array) -> Array:
        """centre + radius times the dual direction."""
        return np.asarray(self.centre + self.radius * dual_direction(direction, self.p))

    def gaussian_width(self) -> float:
        """radius E|xi|_q, by closed form or one-dimensional quadrature."""
        return self.radius * widths.expected_norm(self.d, dual_exponent(self.p))


class Ball(LpBall):
    """{w: |w - centre|_2 <= radius}.

    >>> Ball(d=3, radius=0.5).diameter()
    1.0
    """

    def __init__(self, d: int, radius: float, centre: Vector | None = None) -> None:
        super().__init__(d, radius, 2.0, centre)


@runtime_checkable
class Cornered(Protocol):
    """A set that knows its extreme points."""

    @property
    def vertices(self) -> Array:
        """(K, d)."""
        ...


class L1Ball(LpBall):
    """{w: |w - centre|_1 <= radius}, the convex hull of 2d vertices."""

    def __init__(self, d: int, radius: float, centre: Vector | None = None) -> None:
        super().__init__(d, radius, 1.0, centre)

    @property
    def vertices(self) -> Array:
        """centre + radius e_j, then centre - radius e_j: (2d, d)."""
        corners = self.radius * np.eye(self.d)
        return np.asarray(self.centre + np.concatenate([corners, -corners]))

    def project(self, w: Array) -> Array:
        """Soft threshold found by sorting."""
        return np.asarray(self.centre + project_l1(np.asarray(w, dtype=float) - self.centre, self.radius))


@dataclass(frozen=True)
class Simplex(Supported):
    """{w >= 0: sum w = scale}."""

    d: int
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.d < 1:
            raise InvalidInput(f"a dimension must be >= 1, got {self.d!r}")
        check_radius(self.scale)

    @property
    def vertices(self) -> Array:
        """scale e_j: (d, d)."""
        return self.scale * np.eye(self.d)

    def project(self, w: Array) -> Array:
        """Threshold found by sorting."""
        return project_simplex(np.asarray(w, dtype=float), self.scale)

    def contains(self, w: Array, tolerance: float = 1e-9) -> Mask:
        """Whether no coordinate is below -tolerance and the sum is within tolerance of the scale."""
        w = np.asarray(w)
        return np.asarray((w >= -tolerance).all(axis=-1) & (np.abs(w.sum(axis=-1) - self.scale) <= tolerance))

    def diameter(self, p: float = 2.0) -> float:
        """2^(1/p) scale, between two vertices."""
        check_exponent(p)
        return 0.0 if self.d == 1 else self.scale * 2 ** (1 / p)

    def support_point(self, direction: Array) -> Array:
        """The vertex of the largest entry."""
        u = np.asarray(direction, dtype=float)
        point = np.zeros_like(u)
        np.put_along_axis(point, u.argmax(axis=-1)[..., None], self.scale, axis=-1)
        return point

    def gaussian_width(self) -> float:
        """scale E max xi_j, by quadrature."""
        return self.scale * widths.expected_maximum(self.d)


class Ellipsoid(_Centred):
    """{w: sum ((w - centre) / axes)^2 <= 1}, half-axes along the coordinates."""

    def __init__(self, axes: Vector, centre: Vector | None = None) -> None:
        self.axes = frozen_vector("axes", axes)
        super().__init__(len(self.axes), centre)
        if not ((self.axes >= SMALLEST) & (self.axes <= LARGEST)).all():
            raise InvalidInput(f"the half-axes of an ellipsoid must lie in [{SMALLEST:g}, {LARGEST:g}], got {axes!r}")

    def __repr__(self) -> str:
        return f"Ellipsoid(d={self.d}, axes={self.axes.min():g}..{self.axes.max():g})"

    def project(self, w: Array) -> Array:
        """Root of the secular equation, to rounding."""
        return np.asarray(self.centre + project_ellipsoid(np.asarray(w, dtype=float) - self.centre, self.axes))

    def contains(self, w: Array, tolerance: float = 1e-9) -> Mask:
        """Whether the ellipsoidal norm is at most 1 + tolerance."""
        return np.asarray(norm((np.asarray(w) - self.centre) / self.axes) <= 1 + tolerance)

    def diameter(self, p: float = 2.0) -> float:
        """2 max axis for p >= 2, otherwise 2 |axes|_(2p / (2 - p)) by Hölder's inequality."""
        check_exponent(p)
        return 2 * float(self.axes.max() if p >= 2 else norm(self.axes, 2 * p / (2 - p)))

    def support_point(self, direction: Array) -> Array:
        """centre + axes^2 u / |axes u|."""
        u, _ = scaled(np.asarray(direction, dtype=float))
        return np.asarray(self.centre + self.axes * dual_direction(self.axes * u))

    def gaussian_width(self) -> float:
        """E |axes xi|_2, by quadrature."""
        return widths.expected_weighted_norm(self.axes)
