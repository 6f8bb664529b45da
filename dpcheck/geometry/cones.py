"""Convex cones with exact projections, their intersections with balls, and Minkowski norms of symmetric sets."""

from __future__ import annotations

import functools
import math
from typing import Protocol

import numpy as np
import scipy  # `scipy.stats` takes a second: loaded on first use

from dpcheck.errors import InvalidInput
from dpcheck.geometry import widths
from dpcheck.geometry.norms import equivalence, norm, scaled, unit, unscaled
from dpcheck.geometry.projections import project_l2, within
from dpcheck.geometry.sets import Mask, Supported, check_radius
from dpcheck.interfaces import Array


@functools.cache
def _quadrature() -> tuple[Array, Array]:
    """Nodes and weights of Gauss and Legendre on [-1, 1]."""
    return np.polynomial.legendre.leggauss(400)


class Cone(Protocol):
    """A closed convex cone in R^d; not bounded, so no `Domain`: `ConeCap` is one."""

    @property
    def d(self) -> int: ...

    def project(self, w: Array) -> Array:
        """Euclidean projection: (..., d) -> (..., d). What it takes off is the projection onto the polar cone."""
        ...

    def contains(self, w: Array, tolerance: float = 1e-9) -> Mask:
        """Membership up to `tolerance`: (..., d) -> (...)."""
        ...

    def expected_length(self) -> float:
        """E|projection of xi| for standard normal xi: the Gaussian width of the part in the unit ball."""
        ...


class Orthant:
    """{w >= 0} in R^d.

    >>> Orthant(2).project(np.array([1.0, -2.0]))
    array([1., 0.])
    """

    def __init__(self, d: int) -> None:
        if d < 1:
            raise InvalidInput(f"a dimension must be >= 1, got {d!r}")
        self.d = d

    def __repr__(self) -> str:
        return f"Orthant({self.d})"

    def project(self, w: Array) -> Array:
        """Cuts negative coordinates off."""
        return np.asarray(np.maximum(np.asarray(w, dtype=float), 0.0))

    def contains(self, w: Array, tolerance: float = 1e-9) -> Mask:
        """Whether no coordinate is below -tolerance."""
        return np.asarray((np.asarray(w) >= -tolerance).all(axis=-1))

    def expected_length(self) -> float:
        """The number of positive coordinates is Bin(d, 1/2), and given it the length is chi-distributed."""
        k = np.arange(1, self.d + 1)
        return float(scipy.stats.binom.pmf(k, self.d, 0.5) @ [widths.expected_length(int(i)) for i in k])


class SecondOrderCone:
    """{(t, v) in R x R^(d-1): |v|_2 <= slope t}, d >= 2.

    >>> SecondOrderCone(2).project(np.array([0.0, 1.0]))
    array([0.5, 0.5])
    """

    def __init__(self, d: int, slope: float = 1.0) -> None:
        if d < 2:
            raise InvalidInput(f"a second-order cone needs d >= 2, got {d!r}")
        check_radius(slope)
        self.d, self.slope = d, float(slope)

    def __repr__(self) -> str:
        return f"SecondOrderCone({self.d}, slope={self.slope:g})"

    def project(self, w: Array) -> Array:
        """Closed form: the point itself, 0 in the polar cone, else the nearest point of one generating ray."""
        w, k = scaled(np.asarray(w, dtype=float))
        t, v = w[..., 0], w[..., 1:]
        length = norm(v)
        along = (t + self.slope * length) / (1 + self.slope**2)
        inside, polar = length <= self.slope * t, along <= 0
        height = np.where(inside, t, np.where(polar, 0.0, along))
        side = np.where(inside[..., None], v, self.slope * height[..., None] * unit(v))
        return unscaled(np.concatenate([height[..., None], side], axis=-1), k)

    def contains(self, w: Array, tolerance: float = 1e-9) -> Mask:
        """Whether |v|_2 <= slope t + tolerance."""
        w = np.asarray(w)
        return np.asarray(norm(w[..., 1:]) <= self.slope * w[..., 0] + tolerance)

    def expected_length(self) -> float:
        """By quadrature: in the plane of t and |v| the point has a direction independent of its length.

        At angle a from the axis the projection has the length itself up to the cone's half-angle, then cos(a - half)
        times it, and 0 beyond half + pi/2.
        """
        half = math.atan(self.slope)
        edges = np.array([0.0, half, min(math.pi, half + math.pi / 2)])
        middle, reach = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
        nodes, weights = _quadrature()
        angle = middle[:, None] + reach[:, None] * nodes
        kept = np.where(angle <= half, 1.0, np.cos(np.maximum(angle - half, 0.0)))
        # log of sin^(d-2), scaled by its integral over [0, pi].
        log_total = 0.5 * math.log(math.pi) + math.lgamma((self.d - 1) / 2) - math.lgamma(self.d / 2)
        density = np.exp((self.d - 2) * np.log(np.maximum(np.sin(angle), 1e-300)) - log_total)
        return widths.expected_length(self.d) * float((reach[:, None] * weights * kept * density).sum())


class GeneratedCone:
    """{sum of a_i times rays[i], a >= 0}, the rays (K, d)."""

    def __init__(self, rays: Array) -> None:
        values = np.array(rays, dtype=float)
        if values.ndim != 2 or len(values) < 1 or not np.isfinite(values).all() or not values.any(axis=1).all():
            raise InvalidInput(f"rays must be finite, not 0, of shape (K >= 1, d), got shape {values.shape}")
        values.setflags(write=False)
        self.rays = values

    def __repr__(self) -> str:
        return f"GeneratedCone(d={self.d}, {len(self.rays)} rays)"

    @property
    def d(self) -> int:
        return int(self.rays.shape[1])

    def project(self, w: Array) -> Array:
        """Nonnegative least squares (Lawson and Hanson), finite and exact to rounding; one point at a time."""
        points, k = scaled(np.asarray(w, dtype=float))
        flat, rays = points.reshape(-1, self.d), scaled(self.rays)[0]
        values = [scipy.optimize.nnls(rays.T, point, maxiter=100 * len(rays))[0] @ rays for point in flat]
        return unscaled(np.stack(values).reshape(points.shape), k)

    def contains(self, w: Array, tolerance: float = 1e-9) -> Mask:
        """Whether the distance to the cone is at most `tolerance`."""
        return np.asarray(norm(np.asarray(w) - self.project(w)) <= tolerance)

    def expected_length(self) -> float:
        raise InvalidInput(
            "no formula for the width of a generated cone; use widths.monte_carlo_width(ConeCap(cone), rng)"
        )


class ConeCap(Supported):
    """cone ∩ {|w|_2 <= radius}: a compact `Domain`.

    >>> bool(abs(ConeCap(SecondOrderCone(2)).gaussian_width() - ConeCap(Orthant(2)).gaussian_width()) < 1e-12)
    True
    """

    def __init__(self, cone: Cone, radius: float = 1.0) -> None:
        check_radius(radius)
        self.cone, self.radius = cone, float(radius)

    def __repr__(self) -> str:
        return f"ConeCap({type(self.cone).__name__}, d={self.d}, radius={self.radius:g})"

    @property
    def d(self) -> int:
        return self.cone.d

    def project(self, w: Array) -> Array:
        """The projection onto the cone, scaled down to the ball: exact, because a cone holds every multiple."""
        return project_l2(self.cone.project(within(np.asarray(w, dtype=float), self.radius)), self.radius)

    def contains(self, w: Array, tolerance: float = 1e-9) -> Mask:
        """Whether both hold the point."""
        return np.asarray(self.cone.contains(w, tolerance) & (norm(np.asarray(w)) <= self.radius + tolerance))

    def diameter(self, p: float = 2.0) -> float:
        """An upper bound: that of the ball."""
        return 2 * self.radius * equivalence(p, 2.0, self.d)

    def support_point(self, direction: Array) -> Array:
        """radius times the direction of the projection onto the cone; 0 where that is 0."""
        point = self.cone.project(scaled(np.asarray(direction, dtype=float))[0])
        # Next to nothing of a direction of length 1 is its rounding, and has no direction of its own.
        return np.where(norm(point)[..., None] > 1e-200, self.radius * unit(point), 0.0)

    def gaussian_width(self) -> float:
        """radius E|projection of xi onto the cone|, since the support function is radius times that length."""
        return self.radius * self.cone.expected_length()
