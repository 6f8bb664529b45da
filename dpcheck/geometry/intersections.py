"""The intersection of a domain with a ball, exactly."""

from __future__ import annotations

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry.norms import equivalence, norm, scaled, unit
from dpcheck.geometry.projections import project_l2, within
from dpcheck.geometry.sets import Ball, Domain, Mask
from dpcheck.interfaces import Array
from dpcheck.numerics import edges


class BallIntersection:
    """domain ∩ {w: |w - centre|_2 <= radius}, with one ball for all trials or one for each.

    Args:
        domain: any set with an exact projection.
        centre: (d,) or (trials, d), in the domain or closer to it than the radius.
        radius: > 0, a number or (trials,).
    """

    def __init__(self, domain: Domain, centre: Array, radius: Array | float) -> None:
        self.domain = domain
        self.centre, self.radius = np.asarray(centre, dtype=float), np.asarray(radius, dtype=float)
        if self.centre.shape[-1:] != (domain.d,) or not np.isfinite(self.centre).all():
            raise InvalidInput(f"centres must be finite, of shape (..., {domain.d}), got shape {self.centre.shape}")
        if not (np.isfinite(self.radius).all() and (self.radius > 0).all()):
            raise InvalidInput(f"radii must be finite and > 0, got {radius!r}")

    def __repr__(self) -> str:
        return f"BallIntersection({self.domain!r}, radius={float(self.radius.max()):g})"

    @property
    def d(self) -> int:
        return self.domain.d

    def project(self, w: Array) -> Array:
        """Euclidean projection: closed form for two balls, otherwise a scalar equation solved to rounding.

        The answer always lies in the ball, and in the domain as far as the domain's own projection does.
        """
        w = np.asarray(w, dtype=float)
        shape = np.broadcast_shapes(w.shape, self.centre.shape, (*self.radius.shape, 1))
        rows = np.broadcast_to(w, shape).reshape(-1, self.d)
        centre = np.broadcast_to(self.centre, shape).reshape(-1, self.d)
        radius = np.broadcast_to(self.radius[..., None], (*shape[:-1], 1)).reshape(-1)
        x = np.array(self.domain.project(rows), dtype=float)
        far = norm(x - centre) > radius
        if far.any():
            if isinstance(self.domain, Ball) and self.d > 1:
                x[far] = _two_balls(rows[far], self.domain.centre, self.domain.radius, centre[far], radius[far])
            else:
                x[far] = self._pulled(rows[far], centre[far], radius[far])
        return x.reshape(shape)

    def _pulled(self, y: Array, centre: Array, radius: Array) -> Array:
        """P_domain((y + t centre) / (1 + t)) with the least t >= 0 that brings it within the radius."""
        y = centre + within(y - centre, float(radius.max()))
        low, high = np.zeros(len(y)), norm(y - centre) / radius
        if not (norm(self.domain.project(centre) - centre) < radius).all():
            raise InvalidInput("the domain and the ball have no interior point in common")

        def point(t: Array) -> Array:
            share = 1 / (1 + t[:, None])
            return self.domain.project(share * y + (1 - share) * centre)

        while (outside := norm(point(high) - centre) > radius).any():  # only when the domain misses the centre
            high = np.where(outside, 2 * high + 1, high)
            if high.max() > 1e15:
                break
        _, high = edges(lambda t: norm(point(t) - centre) <= radius, low, high, halvings=200, tolerance=4e-16)
        return point(high)

    def contains(self, w: Array, tolerance: float = 1e-9) -> Mask:
        """Whether both hold the point, up to `tolerance` each."""
        near = norm(np.asarray(w) - self.centre) <= self.radius + tolerance
        return np.asarray(self.domain.contains(w, tolerance) & near)

    def diameter(self, p: float = 2.0) -> float:
        """An upper bound: the lesser of the two diameters (of the largest ball)."""
        return min(self.domain.diameter(p), 2 * float(self.radius.max()) * equivalence(p, 2.0, self.d))


def _two_balls(y: Array, first: Array, big: float, second: Array, small: Array) -> Array:
    """Projection of rows `y` onto the intersection of two overlapping balls, d >= 2."""
    on_second = second + project_l2(y - second, small)
    inside = norm(on_second - first) <= big
    axis = second - first
    gap = norm(axis)
    if (gap > big + small).any():
        raise InvalidInput("the two balls do not meet")
    gap = np.where(gap > 0, gap, 1.0)
    # Both spheres bind: the nearest point of the sphere in which they meet.
    along = (gap * gap + big * big - small * small) / (2 * gap)
    ring = np.sqrt(np.maximum(big * big - along * along, 0.0))
    forward = axis / gap[:, None]
    middle = first + along[:, None] * forward
    off, _ = scaled(y - middle)
    off = off - (off * forward).sum(axis=1, keepdims=True) * forward
    corner = middle + ring[:, None] * unit(off)
    return np.where(inside[:, None], on_second, corner)
