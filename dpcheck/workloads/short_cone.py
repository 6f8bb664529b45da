"""A linear loss on a cone with a lid, times an interval: its Gaussian width goes with the root of the dimension."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from dpcheck.interfaces import Array, Constants, Rng, Sample


@dataclass(frozen=True)
class ShortCone:
    """Loss t on C = {(s, t, v): |s| <= 1/2, |v|_2 <= t <= radius}, v in R^tail; the records do not matter.

    L = 1, no curvature. The minimiser of Algorithm 1's objective is a projection, in closed form.

    Attributes:
        width: the Gaussian width, at most: E|xi|/2 + radius E(|xi_v| + xi_0)_+.
    """

    tail: int
    radius: float
    record_shape: tuple[int, ...] = field(default=(1,), init=False)

    @property
    def width(self) -> float:
        return (1 + self.radius) / math.sqrt(2 * math.pi) + self.radius * math.sqrt(self.tail)

    @property
    def constants(self) -> Constants:
        diameter = math.sqrt(1 + 4 * self.radius**2)
        return Constants(
            d=self.tail + 2,
            diameter=lambda p: diameter,
            lipschitz=lambda p: 1.0,
            smoothness=lambda p: 0.0,
            moment=lambda k, m: 1.0,
            hessian_rank=0,
            atoms=1,
            extra={"width": self.width, "radius": math.sqrt(0.25 + 2 * self.radius**2)},
        )

    def project(self, w: Array) -> Array:
        """Exact: the projection onto the whole cone where it is short enough, else onto its lid."""
        s, t, v = np.clip(w[..., :1], -0.5, 0.5), w[..., 1:2], w[..., 2:]
        size = np.linalg.norm(v, axis=-1, keepdims=True)
        half = np.maximum(0.0, (t + size) / 2)
        height = np.where(size <= t, t, np.where(size <= -t, 0.0, half))
        length = np.where(size <= t, size, height)
        lid = height > self.radius
        height, length = np.where(lid, self.radius, height), np.where(lid, np.minimum(size, self.radius), length)
        return np.concatenate([s, height, v * (length / np.where(size > 0, size, 1.0))], axis=-1)

    def tilted_minimiser(self, sample: Sample, linear: Array, weight: float) -> Array:
        """argmin over C of t + <linear, w> + weight/2 |w|^2."""
        up = np.zeros(self.tail + 2)
        up[1] = 1.0
        return self.project(-(linear + up) / weight)

    def loss(self, w: Array, z: Array) -> Array:
        return np.broadcast_to(w[..., 1], np.broadcast_shapes(w.shape[:-1], z.shape[:-1]))

    def gradient(self, w: Array, z: Array) -> Array:
        up = np.zeros(self.tail + 2)
        up[1] = 1.0
        return np.broadcast_to(up, np.broadcast_shapes(w.shape[:-1], z.shape[:-1]) + up.shape)

    def excess_risk(self, w: Array) -> Array:
        return np.asarray(w[..., 1])

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return np.zeros((trials, n, 1))

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        return Sample(np.zeros((1, 1, 1)), np.full((1, 1), float(n)))
