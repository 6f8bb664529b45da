"""Robust location of signs on a cube: Huber losses in every coordinate, and absolute losses in the limit."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Box
from dpcheck.geometry.norms import dual_exponent, equivalence, norm
from dpcheck.interfaces import Array, Constants, Rng
from dpcheck.workloads.base import BaseWorkload


@dataclass(frozen=True)
class SignHuber(BaseWorkload):
    """f(w, z) = d^(-1/2) sum_j h(w_j - z_j) on [-1, 1]^d, z_j = +-1 independently with mean a.

    h(u) = u^2/(2 kappa) up to kappa and |u| - kappa/2 beyond: 1-Lipschitz and 1/(kappa sqrt d)-smooth in l2. Every
    coordinate of the minimiser is 1 - kappa (1 - a)/(1 + a).

    Attributes:
        a: in [0, 1); kappa: in [0, 1], where 0 is the absolute loss, which is not smooth.

    >>> float(SignHuber(a=0.5, kappa=0.0, dimension=4).excess_risk(np.zeros((1, 4)))[0])
    1.0
    """

    a: float = 0.5
    kappa: float = 1.0
    dimension: int = 1

    def __post_init__(self) -> None:
        if not (0 <= self.a < 1 and 0 <= self.kappa <= 1 and self.dimension >= 1):
            raise InvalidInput(f"SignHuber needs a in [0, 1), kappa in [0, 1] and dimension >= 1, got {self}")

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.dimension,)

    @property
    def domain(self) -> Box:
        return Box(-1.0, 1.0, d=self.dimension)

    @property
    def best_coordinate(self) -> float:
        """What every coordinate of the population minimiser is."""
        return 1 - self.kappa * (1 - self.a) / (1 + self.a)

    @property
    def constants(self) -> Constants:
        d, curved = self.dimension, self.kappa * math.sqrt(self.dimension)
        slope = np.full(d, 1 / math.sqrt(d))
        return Constants(
            d=d,
            diameter=self.domain.diameter,
            lipschitz=lambda p: float(norm(slope, dual_exponent(p))),
            smoothness=lambda p: equivalence(dual_exponent(p), p, d) / curved if curved > 0 else math.inf,
            moment=lambda k, m: 1.0,
        )

    def _each(self, u: Array) -> Array:
        size = np.abs(u)
        if self.kappa == 0:
            return size
        return np.where(size <= self.kappa, size**2 / (2 * self.kappa), size - self.kappa / 2)

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(self._each(w - z).sum(axis=-1) / math.sqrt(self.dimension))

    def gradient(self, w: Array, z: Array) -> Array:
        u = w - z
        slope = np.sign(u) if self.kappa == 0 else np.clip(u / self.kappa, -1.0, 1.0)
        return np.asarray(slope / math.sqrt(self.dimension))

    def _risk(self, w: Array) -> Array:
        up = (1 + self.a) / 2
        return np.asarray(up * self._each(w - 1) + (1 - up) * self._each(w + 1))

    def excess_risk(self, w: Array) -> Array:
        least = self._risk(np.array(self.best_coordinate))
        return np.asarray((self._risk(w) - least).sum(axis=-1) / math.sqrt(self.dimension))

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        up = rng.random((trials, n, self.dimension)) < (1 + self.a) / 2
        return np.where(up, 1.0, -1.0)
