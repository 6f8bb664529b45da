"""Ridge losses f(w, z) = phi(<a(z), w> - t(z)): regression, classification and linear losses in one piece."""

from __future__ import annotations

import abc
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpcheck.geometry import Ball
from dpcheck.interfaces import Array
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.links import Link


class RidgeWorkload(BaseWorkload):
    """A workload whose loss sees the parameter through one margin a record."""

    @property
    @abc.abstractmethod
    def link(self) -> Link: ...

    @abc.abstractmethod
    def features(self, z: Array) -> tuple[Array, Array]:
        """(a, t) of each record: (..., *record) -> (..., d), (...)."""

    def margin(self, w: Array, z: Array) -> Array:
        """<a, w> - t, elementwise: (...)."""
        a, t = self.features(z)
        return np.asarray((a * w).sum(axis=-1) - t)

    def loss(self, w: Array, z: Array) -> Array:
        return self.link.value(self.margin(w, z))

    def gradient(self, w: Array, z: Array) -> Array:
        a, t = self.features(z)
        return self.link.slope((a * w).sum(axis=-1) - t)[..., None] * a

    def amplitude(self, z: Array) -> Array:
        """A(z), exactly: phi' is monotone, so it is largest in size at an end of the range of margins."""
        a, t = self.features(z)
        high, low = self.domain.support(a) - t, -self.domain.support(-a) - t
        steepest = np.maximum(np.abs(self.link.slope(high)), np.abs(self.link.slope(low)))
        return np.asarray(steepest * np.linalg.norm(a, axis=-1))


class BallRidge(RidgeWorkload):
    """A ridge loss on a Euclidean ball: its Lipschitz extension is a search along one line, in any dimension.

    Where y ranges over the slice of the ball with <a, y>/|a| = h, the nearest point to w is known; what remains,
    phi + C times that distance, is convex in h.
    """

    @property
    @abc.abstractmethod
    def domain(self) -> Ball: ...

    def extension(self, w: Array, z: Array, cap: float) -> Array:
        values = np.asarray(self.loss(w, z))
        for where, w_steep, z_steep in self._steep(w, z, cap):
            move, loss = self._nearest(w_steep, z_steep, cap)
            values[where] = loss + cap * np.linalg.norm(move, axis=-1)
        return values

    def extension_gradient(self, w: Array, z: Array, cap: float) -> Array:
        slopes = np.array(self.gradient(w, z))
        for where, w_steep, z_steep in self._steep(w, z, cap):
            move, _ = self._nearest(w_steep, z_steep, cap)
            length = np.linalg.norm(move, axis=-1, keepdims=True)
            moved = -cap * move / np.where(length > 0, length, 1.0)
            slopes[where] = np.where(length > 0, moved, self._still(w_steep, z_steep, cap))
        return slopes

    def copy_distance(self, w: Array, z: Array, cap: float) -> Array:
        """|y - w| for the y that attains the infimum in f_C(w), 0 where A(z) <= C: (N, d), (N, *record) -> (N,)."""
        distance = np.zeros(len(z))
        for where, w_steep, z_steep in self._steep(w, z, cap):
            distance[where] = np.linalg.norm(self._nearest(w_steep, z_steep, cap)[0], axis=-1)
        return distance

    def _steep(self, w: Array, z: Array, cap: float) -> Iterator[tuple[NDArray[np.bool_], Array, Array]]:
        """The entries with A(z) > C, flat; none where there are none."""
        steep = self.amplitude(z) > cap
        where = np.broadcast_to(steep, np.broadcast_shapes(steep.shape, w.shape[:-1]))
        if where.any():
            pairs = [np.broadcast_to(v, (*where.shape, *v.shape[-1:]))[where] for v in (w, z)]
            yield where, pairs[0], pairs[1]

    def _nearest(self, w: Array, z: Array, cap: float) -> tuple[Array, Array]:
        """y - w for the y that attains the infimum, (N, d), and f(y, z)."""
        a, t = self.features(z)
        length = np.linalg.norm(a, axis=-1)
        axis = a / np.where(length > 0, length, 1.0)[:, None]
        radius, middle = self.domain.radius, np.asarray(self.domain.centre)
        h = ((w - middle) * axis).sum(axis=-1)
        across = w - middle - h[:, None] * axis
        q = np.linalg.norm(across, axis=-1)
        margin = (a * w).sum(axis=-1) - t

        def excess(step: Array) -> tuple[Array, Array]:
            # How far w's part across the axis sticks out of the slice at h + step, and that slice's radius.
            slice_radius = np.sqrt(np.maximum(radius**2 - (h + step) ** 2, 0.0))
            return np.maximum(q - slice_radius, 0.0), slice_radius

        def slope(step: Array) -> Array:
            out, slice_radius = excess(step)
            distance = np.maximum(np.hypot(step, out), 1e-300)
            pull = step + out * (h + step) / np.maximum(slice_radius, 1e-300)
            return np.asarray(length * self.link.slope(margin + length * step) + cap * pull / distance)

        tiny = np.full(len(h), 1e-14 * radius)
        right, left = slope(tiny) < 0, slope(-tiny) > 0
        low = np.where(left, -radius - h, 0.0)
        high = np.where(right, radius - h, 0.0)
        for _ in range(100):
            step = (low + high) / 2
            if ((step == low) | (step == high)).all():
                break
            rising = slope(step) > 0
            low, high = np.where(rising, low, step), np.where(rising, step, high)
        step = np.where(left | right, (low + high) / 2, 0.0)
        out = np.where(left | right, excess(step)[0], 0.0)
        move = step[:, None] * axis - (out / np.where(q > 0, q, 1.0))[:, None] * across
        return move, self.link.value(margin + length * step)

    def _still(self, w: Array, z: Array, cap: float) -> Array:
        """A subgradient of f_C of norm <= C where the infimum is attained at w itself."""
        a, t = self.features(z)
        length = np.where((size := np.linalg.norm(a, axis=-1)) > 0, size, 1.0)
        p = self.link.slope((a * w).sum(axis=-1) - t)[:, None] * a
        outward = w - np.asarray(self.domain.centre)
        reach = np.linalg.norm(outward, axis=-1, keepdims=True)
        normal = np.where(reach >= self.domain.radius * (1 - 1e-12), outward / np.where(reach > 0, reach, 1.0), 0.0)
        # On the boundary the normal cone may shorten it; at a kink of phi, clipping the slope stays a subgradient.
        long = np.linalg.norm(p, axis=-1, keepdims=True) > cap
        p = p - np.where(long, np.minimum((p * normal).sum(axis=-1, keepdims=True), 0.0), 0.0) * normal
        norm = np.linalg.norm(p, axis=-1)
        return np.asarray(p * np.minimum(1.0, cap / np.where(norm > 0, norm, length))[:, None])
