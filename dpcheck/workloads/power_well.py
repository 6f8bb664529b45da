"""Power wells f(w, x) = (weight/theta) |w - c|^theta - <w, x>, x centred: the growth exponent is tight at c."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball
from dpcheck.interfaces import Array, Constants, Rng, Sample
from dpcheck.workloads.base import BaseWorkload


@dataclass(frozen=True, eq=False)
class PowerWell(BaseWorkload):
    """x = ±size v with probability chance/2 each, else 0; |v| = 1; on the ball of `radius` around 0.

    The excess risk is (weight/theta) |w - c|^theta: (theta, weight/theta) of the noise condition holds with equality.

    Attributes:
        c: the minimiser, (d,), in the ball; not 0, where algorithms start.
    """

    c: Array
    v: Array
    theta: float = 2.0
    size: float = 1.0
    chance: float = 0.25
    radius: float = 1.0
    weight: float = 1.0

    def __post_init__(self) -> None:
        if np.shape(self.c) != np.shape(self.v) or abs(float(np.linalg.norm(self.v)) - 1) > 1e-9:
            raise InvalidInput("a power well needs a centre c and a unit vector v of one dimension")
        if not (self.theta >= 2 and self.size > 0 and 0 < self.chance <= 1 and self.weight > 0):
            raise InvalidInput(
                "a power well needs theta >= 2, size > 0, weight > 0 and chance in (0, 1], got "
                f"{self.theta}, {self.size}, {self.weight}, {self.chance}"
            )
        if not np.linalg.norm(self.c) <= self.radius:
            raise InvalidInput(f"the centre lies at {np.linalg.norm(self.c):.4g}, outside the ball of {self.radius:g}")

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (len(self.c),)

    @property
    def domain(self) -> Ball:
        return Ball(len(self.c), self.radius)

    @property
    def pull(self) -> float:
        """Largest slope of the power on the ball."""
        return float(self.weight * (self.radius + np.linalg.norm(self.c)) ** (self.theta - 1))

    @property
    def constants(self) -> Constants:
        """Moments of a mean of m gradients are bounded by those of one."""
        far = self.radius + float(np.linalg.norm(self.c))

        def euclidean(p: float, value: float) -> float:
            if p != 2:
                raise InvalidInput(f"a power well declares its constants in l_2 only, not in l_{p:g}")
            return value

        def moment(k: float, m: int) -> float:
            spiked = self.chance * (self.size + self.pull) ** k
            return float((spiked + (1 - self.chance) * self.pull**k) ** (1 / k))

        return Constants(
            d=len(self.c),
            diameter=self.domain.diameter,
            lipschitz=lambda p: euclidean(p, self.size + self.pull),
            smoothness=lambda p: euclidean(p, self.weight * (self.theta - 1) * far ** (self.theta - 2)),
            moment=moment,
            growth=(self.theta, self.weight / self.theta),
            atoms=3,
        )

    def loss(self, w: Array, z: Array) -> Array:
        far = np.linalg.norm(w - self.c, axis=-1)
        return np.asarray(self.weight / self.theta * far**self.theta - (w * z).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        far = w - self.c
        return np.asarray(self.weight * np.linalg.norm(far, axis=-1, keepdims=True) ** (self.theta - 2) * far - z)

    def excess_risk(self, w: Array) -> Array:
        return np.asarray(self.weight / self.theta * np.linalg.norm(w - self.c, axis=-1) ** self.theta)

    @property
    def worst(self) -> float:
        """Largest excess risk on the ball."""
        return float(self.weight / self.theta * (self.radius + np.linalg.norm(self.c)) ** self.theta)

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        u = rng.random((trials, n, 1))
        sign = np.where(u < self.chance / 2, 1.0, np.where(u < self.chance, -1.0, 0.0))
        return np.asarray(sign * (self.size * np.asarray(self.v)))

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        hits = rng.binomial(n, self.chance, size=trials)
        ups = rng.binomial(hits, 0.5)
        spike = self.size * np.asarray(self.v)
        if means_only:
            return Sample(((2 * ups - hits)[:, None] * spike / n)[:, None], np.full((1, 1), float(n)))
        atoms = np.stack([spike, -spike, np.zeros(len(spike))])
        return Sample(atoms[None], np.stack([ups, hits - ups, n - hits], axis=1).astype(float))


def rare_spikes(chance: float, order: float, moment: float) -> float:
    """Size of a spike of that chance with (E|x|^order)^(1/order) = moment: it grows without bound as chance falls."""
    if not (0 < chance <= 1 and order >= 1 and moment > 0):
        raise InvalidInput(f"needs chance in (0, 1], order >= 1 and moment > 0, got {chance}, {order}, {moment}")
    return moment * math.exp(-math.log(chance) / order)


@functools.lru_cache
def _known(theta: float, d: int, radius: float, moment: float, L: float) -> Constants:
    """Of the wells of a class; the steepest has a slope of `moment` where it is farthest from its minimum."""
    return Constants(
        d=d, diameter=Ball(d, radius).diameter, lipschitz=lambda p: L, moment=lambda k, m: moment, atoms=3,
        smoothness=lambda p: (theta - 1) * moment / (1.5 * radius), family="isotropic quadratic" if theta == 2 else "",
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class KnownWell(PowerWell):
    """Known by the constants of its class alone, which are the same for all its members."""

    moment: float = 1.0
    L: float = 1.0

    @property
    def constants(self) -> Constants:
        return _known(self.theta, len(self.c), self.radius, self.moment, self.L)
