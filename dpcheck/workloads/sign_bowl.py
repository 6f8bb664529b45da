"""A quadratic bowl whose records differ by one sign, on a ball of any dimension."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from dpcheck.geometry import Ball
from dpcheck.interfaces import Array, Constants, Rng
from dpcheck.workloads.base import BaseWorkload


@dataclass(frozen=True)
class SignBowl(BaseWorkload):
    """f(w, z) = c |w - z|²/2 on the ball of diameter D, z = ±e_1 D/2: gradients of at most cD <= L.

    Attributes:
        curvature: c.
        lean: mean of the signs of the records; the minimiser lies so far towards the boundary.
    """

    curvature: float
    d: int = 1
    D: float = 1.0
    L: float = 1.0
    lean: float = 0.8

    record_shape = (1,)  # the sign of z

    @functools.cached_property
    def domain(self) -> Ball:
        return Ball(radius=self.D / 2, d=self.d)

    @property
    def constants(self) -> Constants:
        """L is that of the class."""
        return Constants(
            d=self.d, diameter=self.domain.diameter, lipschitz=lambda p: self.L, smoothness=lambda p: self.curvature,
            moment=lambda k, m: self.curvature * self.D, family="isotropic quadratic",
        )  # fmt: skip

    @property
    def best(self) -> float:
        """Place of the minimiser on the first axis."""
        return self.lean * self.D / 2

    @property
    def deviation(self) -> float:
        """Of the minimiser of one record."""
        return math.sqrt(1 - self.lean**2) * self.D / 2

    def _from(self, w: Array, place: float | Array) -> Array:
        """w - place e_1."""
        return np.asarray(w - place * np.eye(self.d)[0])

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature / 2 * (self._from(w, z * self.D / 2) ** 2).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature * self._from(w, z * self.D / 2))

    def excess_risk(self, w: Array) -> Array:
        return np.asarray(self.curvature / 2 * (self._from(w, self.best) ** 2).sum(axis=-1))

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return np.where(rng.random((trials, n, 1)) < (1 + self.lean) / 2, 1.0, -1.0)
