"""Mean estimation by squared error on a line, with heavy-tailed records: smooth, with unbounded gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball
from dpcheck.interfaces import Array, Constants, Rng, Sample
from dpcheck.workloads.amplitudes import Pareto
from dpcheck.workloads.base import BaseWorkload


@dataclass(frozen=True)
class HeavyMean(BaseWorkload):
    """f(w, z) = (w - z)^2/2 on [-D/2, D/2], z = s y with y ~ Pareto(1, tail) and Pr(s = 1) = (1 + theta)/2.

    mu = theta tail/(tail - 1) must lie in the domain; the excess risk is (w - mu)^2/2.
    """

    D: float = 4.0
    tail: float = 3.0
    theta: float = 0.3

    def __post_init__(self) -> None:
        if not (self.D > 0 and self.tail > 1 and abs(self.theta) <= 1):
            raise InvalidInput(f"HeavyMean needs D > 0, tail > 1 and |theta| <= 1, got {self}")
        if abs(self.mu) > self.D / 2:
            raise InvalidInput(f"the mean {self.mu} lies outside the domain; take D >= {2 * abs(self.mu)}")

    @property
    def mu(self) -> float:
        return self.theta * self.tail / (self.tail - 1)

    @property
    def domain(self) -> Ball:
        return Ball(radius=self.D / 2, d=1)

    @property
    def constants(self) -> Constants:
        return Constants(
            d=1,
            diameter=self.domain.diameter,
            lipschitz=lambda p: float(np.inf),
            smoothness=lambda p: 1.0,
            moment=self._moment,
            growth=(2.0, 0.5),
            hessian_rank=1,
            family="isotropic quadratic",
        )

    def _moment(self, k: float, m: int) -> float:
        """(E (y + D/2)^k)^(1/k) = (tail/(tail - k) 2F1(-k, tail - k; tail - k + 1; -D/2))^(1/k), for y = 1/u."""
        if k >= self.tail:
            return float(np.inf)
        left = self.tail - k
        # For m > 1 an upper bound, by the triangle inequality.
        return float((self.tail / left * scipy.special.hyp2f1(-k, left, left + 1, -self.D / 2)) ** (1 / k))

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(((w - z) ** 2)[..., 0] / 2)

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(w - z)

    def amplitude(self, z: Array) -> Array:
        return np.asarray(np.abs(z[..., 0]) + self.D / 2)

    def minimiser(self, sample: Sample, cap: float | None, weight: Array, centre: Array) -> Array | None:
        """Closed form without a cap."""
        if cap is not None:
            return None
        return self.project((sample.mean(sample.values) + weight * centre) / (1 + weight))

    def excess_risk(self, w: Array) -> Array:
        return np.asarray((w[..., 0] - self.mu) ** 2 / 2)

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        y = Pareto(self.tail).sample(rng, (trials, n, 1))
        return np.where(rng.random((trials, n, 1)) < (1 + self.theta) / 2, y, -y)

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        rows = self.rows(rng, trials, n)
        if means_only:
            return Sample(rows.mean(axis=1, keepdims=True), np.full((1, 1), float(n)))
        return Sample(rows, np.ones((1, n)))
