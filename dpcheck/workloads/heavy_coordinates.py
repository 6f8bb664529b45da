"""Heavy-tailed gradients along single coordinates: the same second moment in every dual norm."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry import LpBall
from dpcheck.geometry.norms import dual_exponent, equivalence, norm
from dpcheck.interfaces import Array, Constants, Rng
from dpcheck.workloads.base import BaseWorkload


@dataclass(frozen=True, eq=False)
class HeavyCoordinates(BaseWorkload):
    """f(w, z) = <z, w> + H/2 |w - c|_2^2 on {|w|_s <= radius}, z = xi e_J, xi ~ Student t with nu degrees, J uniform.

    E z = 0, so that c is the minimiser and the excess risk H/2 |w - c|_2^2; E|z|_q^2 = nu/(nu - 2) for every q, and
    nu <= 3 has no third moment.

    Attributes:
        centre: c, (d,), in the domain.
        radius, s: the domain, an l_s ball around 0.
        smoothness: H, in every l_p with p <= 2.
    """

    centre: Array
    radius: float = 1.0
    s: float = 1.5
    smoothness: float = 0.1
    nu: float = 2.5

    def __post_init__(self) -> None:
        c = np.asarray(self.centre, dtype=float)
        if not (self.nu > 2 and self.smoothness >= 0 and self.radius > 0):
            raise InvalidInput(f"HeavyCoordinates needs nu > 2, smoothness >= 0 and radius > 0, got nu = {self.nu}")
        if c.ndim != 1 or float(norm(c, self.s)) > self.radius * (1 + 1e-12):
            raise InvalidInput(f"the centre must lie in the l_{self.s:g} ball of radius {self.radius:g}")

    @property
    def d(self) -> int:
        return len(self.centre)

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.d,)

    @property
    def domain(self) -> LpBall:
        return LpBall(self.d, self.radius, self.s)

    @property
    def constants(self) -> Constants:
        deviation = math.sqrt(self.nu / (self.nu - 2))
        return Constants(
            d=self.d,
            diameter=self.domain.diameter,
            lipschitz=lambda p: math.inf,
            smoothness=lambda p: self.smoothness * equivalence(dual_exponent(p), p, self.d),
            # By Minkowski's inequality, over the whole domain; no third moment exists for nu <= 3.
            moment=lambda k, m: deviation + self.smoothness * self.domain.diameter() if k <= 2 else math.inf,
            family="isotropic quadratic",
            extra={"deviation": deviation, "minimiser_norm": float(norm(np.asarray(self.centre), self.s))},
        )

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray((w * z).sum(axis=-1) + self.smoothness / 2 * ((w - self.centre) ** 2).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(z + self.smoothness * (w - self.centre))

    def excess_risk(self, w: Array) -> Array:
        return np.asarray(self.smoothness / 2 * ((w - self.centre) ** 2).sum(axis=-1))

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        z = np.zeros((trials, n, self.d))
        place = rng.integers(self.d, size=(trials, n, 1))
        np.put_along_axis(z, place, rng.standard_t(self.nu, size=(trials, n, 1)), axis=2)
        return z
