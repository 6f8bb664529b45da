"""Convex hulls of finitely many points."""

from __future__ import annotations

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry.norms import norm, scaled, unscaled
from dpcheck.geometry.projections import within
from dpcheck.geometry.sets import Mask, Supported
from dpcheck.interfaces import Array


class Polytope(Supported):
    """The convex hull of `vertices` (K, d).

    >>> Polytope(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).project(np.array([1.0, 1.0]))
    array([0.5, 0.5])
    """

    def __init__(self, vertices: Array) -> None:
        points = np.array(vertices, dtype=float)
        if points.ndim != 2 or len(points) < 1 or not np.isfinite(points).all():
            raise InvalidInput(f"vertices must be finite, of shape (K >= 1, d), got shape {points.shape}")
        points.setflags(write=False)
        self.vertices = points

    def __repr__(self) -> str:
        return f"Polytope(d={self.d}, {len(self.vertices)} vertices)"

    @property
    def d(self) -> int:
        return int(self.vertices.shape[1])

    def project(self, w: Array) -> Array:
        """Wolfe's minimum-norm-point algorithm, finite and exact to rounding; one point at a time."""
        points = np.asarray(w, dtype=float)
        size = float(np.abs(self.vertices).max()) or 1.0
        flat = self._flattened(within(points.reshape(-1, self.d), size, far=1e150))
        # Differences to the vertices lose their digits beyond; there the direction alone decides.
        flat = within(flat, size, far=1e7)
        return np.stack([_projected(self.vertices, point) for point in flat]).reshape(points.shape)

    def _flattened(self, points: Array) -> Array:
        """The points of the hull's own plane nearest to these: of a far one the rest would drown it."""
        middle = self.vertices.mean(axis=0)
        _, sizes, axes = np.linalg.svd(self.vertices - middle, full_matrices=False)
        along = axes[sizes > 1e-12 * max(1e-300, float(sizes.max()))]
        return points if len(along) == self.d else middle + (points - middle) @ along.T @ along

    def contains(self, w: Array, tolerance: float = 1e-9) -> Mask:
        """Whether the distance to the hull is at most `tolerance`."""
        return np.asarray(norm(np.asarray(w) - self.project(w)) <= tolerance)

    def diameter(self, p: float = 2.0) -> float:
        """Largest l_p distance of two vertices."""
        return max(float(norm(self.vertices - vertex, p).max()) for vertex in self.vertices)

    def support_point(self, direction: Array) -> Array:
        """The vertex furthest along `direction`."""
        return np.asarray(self.vertices[(np.asarray(direction, dtype=float) @ self.vertices.T).argmax(axis=-1)])

    def gaussian_width(self) -> float:
        raise InvalidInput("no formula for the Gaussian width of a polytope; use widths.monte_carlo_width(domain, rng)")


def _projected(vertices: Array, point: Array) -> Array:
    """The point of the hull nearest to `point`; computed in units in which nothing overflows or vanishes."""
    moved = vertices - point
    unit, k = scaled(moved.reshape(1, -1))
    corral, weights = _nearest_to_zero(unit.reshape(moved.shape))
    away = unscaled(weights @ unit.reshape(moved.shape)[corral], k[0])
    # A difference to a far point has the digits of the far point; the vertices have their own.
    far = float(np.abs(away).max()) > float(np.abs(vertices).max())
    return np.asarray(weights / weights.sum() @ vertices[corral] if far else point + away)


def _nearest_to_zero(points: Array) -> tuple[list[int], Array]:
    """Which of `points` (K, d) make up the point of their convex hull nearest to the origin, with which weights.

    The algorithm is Wolfe's (1976).
    """
    sizes = (points * points).sum(axis=1)
    scale = float(sizes.max())
    corral, weights = [int(sizes.argmin())], np.ones(1)
    x = points[corral[0]]
    for _ in range(50 * len(points) + 100):
        best = int((points @ x).argmin())
        # Optimal when no point lies below the supporting hyperplane at x.
        if x @ x - points[best] @ x <= 1e-14 * scale or best in corral:
            break
        corral, weights = [*corral, best], np.append(weights, 0.0)
        while True:
            affine = _affine_weights(points[corral])
            if (affine > 1e-13).all():
                weights = affine
                break
            # Move towards the affine minimiser until a weight vanishes, and drop that point.
            falling = affine <= 1e-13
            steps = weights[falling] / np.maximum(weights[falling] - affine[falling], 1e-300)
            step = min(1.0, float(steps.min()))
            weights = (1 - step) * weights + step * affine
            keep = weights > 1e-13
            keep[np.flatnonzero(falling)[int(steps.argmin())]] = False
            corral, weights = [i for i, kept in zip(corral, keep, strict=True) if kept], weights[keep]
        x = weights @ points[corral]
    return corral, weights


def _affine_weights(points: Array) -> Array:
    """Weights, of sum 1, of the point of the affine hull nearest to the origin."""
    k = len(points)
    gram = points @ points.T
    system = np.ones((k + 1, k + 1))
    system[0, 0] = 0.0
    system[1:, 1:] = gram / max(1e-300, float(np.trace(gram)) / k)
    right = np.zeros(k + 1)
    right[0] = 1.0
    return np.asarray(np.linalg.lstsq(system, right, rcond=1e-15)[0][1:])
