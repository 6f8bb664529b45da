"""A median with heavy-tailed weights on a line: nonsmooth records, smooth quadratic risk."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball
from dpcheck.interfaces import Array, Constants, Rng
from dpcheck.workloads.amplitudes import Amplitude, Pareto, root_moment
from dpcheck.workloads.base import BaseWorkload


@dataclass(frozen=True)
class WeightedMedian(BaseWorkload):
    """f(w, (a, b)) = a |w - b| on [-D/2, D/2], b uniform there and independent of the weight a.

    F(w) = E[a] (D/4 + w^2/D), so w* = 0 and the excess risk is E[a] w^2/D.
    """

    D: float = 1.0
    weights: Amplitude = field(default_factory=lambda: Pareto(tail=3.0))

    record_shape = (2,)

    def __post_init__(self) -> None:
        if not self.D > 0:
            raise InvalidInput(f"the diameter D must be > 0, got {self.D}")

    @property
    def domain(self) -> Ball:
        return Ball(radius=self.D / 2, d=1)

    @property
    def constants(self) -> Constants:
        return Constants(
            d=1,
            diameter=self.domain.diameter,
            lipschitz=lambda p: self.weights.largest,
            smoothness=lambda p: float(np.inf),
            # At an end of the interval all signs agree, so the sup of |mean of m gradients| is the mean weight.
            moment=self._moment,
            growth=(2.0, self.weights.moment(1) / self.D),
        )

    def _moment(self, k: float, m: int) -> float:
        if k == 2 and np.isfinite(self.weights.moment(2)):
            mean = self.weights.moment(1)
            return float(np.sqrt((self.weights.moment(2) - mean**2) / m + mean**2))
        return root_moment(self.weights, k)

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(z[..., 0] * np.abs(w[..., 0] - z[..., 1]))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(z[..., :1] * np.sign(w - z[..., 1:]))

    def amplitude(self, z: Array) -> Array:
        return np.asarray(z[..., 0], dtype=float)

    def extension(self, w: Array, z: Array, cap: float) -> Array:
        return np.asarray(np.minimum(z[..., 0], cap) * np.abs(w[..., 0] - z[..., 1]))

    def extension_gradient(self, w: Array, z: Array, cap: float) -> Array:
        return np.asarray(np.minimum(z[..., :1], cap) * np.sign(w - z[..., 1:]))

    def excess_risk(self, w: Array) -> Array:
        return np.asarray(self.weights.moment(1) * w[..., 0] ** 2 / self.D)

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        a = self.weights.sample(rng, (trials, n))
        b = self.D * (rng.random((trials, n)) - 0.5)
        return np.stack([a, b], axis=-1)
