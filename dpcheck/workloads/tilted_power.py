"""Tilted powers f(w, x) = -<w, x> + (weight/theta) |w|^theta on a ball: the noise condition with a known exponent."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass, replace

import numpy as np
import scipy

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball
from dpcheck.interfaces import Array, Constants, Rng, Sample
from dpcheck.workloads.base import BaseWorkload


def growth_constant(theta: float, reach: float) -> float:
    """inf of (excess)/|w - w*|^theta over |w| <= reach |w*|, reach >= 1, for weight 1 and theta >= 2.

    2^(1 - theta), at w = -w*, when reach = 1; beyond it the infimum lies at w = -t w* with 1 <= t <= reach.

    >>> round(growth_constant(4.0, 5.0), 6), growth_constant(4.0, 1.0)
    (0.083333, 0.125)
    """

    def ratio(t: float) -> float:
        return float(((t**theta - 1) / theta + t + 1) / (t + 1) ** theta)

    best = 2 ** (1 - theta)
    if reach > 1:
        grid = np.linspace(1.0, reach, 200)
        at = int(np.argmin([ratio(t) for t in grid]))
        low, high = grid[max(at - 1, 0)], grid[min(at + 1, 199)]
        best = min(
            best, float(scipy.optimize.minimize_scalar(ratio, bounds=(low, high), method="bounded").fun), ratio(reach)
        )
    return best


@dataclass(frozen=True, eq=False)
class TiltedPower(BaseWorkload):
    """What the laws below share; w* = mean (|mean|/weight)^(1/(theta - 1))/|mean| must lie in the ball.

    Attributes:
        theta: exponent of the noise condition, at least 2.
        reach: radius of the ball over |w*|, at least 1.
        weight: of the power; 2^(theta - 1) makes the noise constant 1 at reach 1.
    """

    theta: float = 2.0
    reach: float = 1.0
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not (self.theta >= 2 and self.reach >= 1 and self.weight > 0):
            raise InvalidInput(
                "a tilted power needs theta >= 2, reach >= 1 and weight > 0, got "
                f"{self.theta}, {self.reach}, {self.weight}"
            )
        if not np.linalg.norm(self.mean) > 0:
            raise InvalidInput("the records of a tilted power need a mean other than 0")

    @property
    @abc.abstractmethod
    def mean(self) -> Array:
        """E x: (d,)."""

    @property
    @abc.abstractmethod
    def lengths(self) -> tuple[Array, Array]:
        """All values of |x|, and their probabilities."""

    @property
    def minimiser_norm(self) -> float:
        """|w*|."""
        return float((np.linalg.norm(self.mean) / self.weight) ** (1 / (self.theta - 1)))

    @property
    def best(self) -> Array:
        """w*: (d,)."""
        return np.asarray(self.mean / np.linalg.norm(self.mean) * self.minimiser_norm)

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (len(self.mean),)

    @property
    def domain(self) -> Ball:
        return Ball(len(self.mean), self.reach * self.minimiser_norm)

    @property
    def constants(self) -> Constants:
        """Moments of a mean of m gradients are bounded by those of one."""
        radius = self.reach * self.minimiser_norm
        pull = self.weight * radius ** (self.theta - 1)
        lengths, chances = self.lengths

        def euclidean(p: float, value: float) -> float:
            if p != 2:
                raise InvalidInput(f"a tilted power declares its constants in l_2 only, not in l_{p:g}")
            return value

        return Constants(
            d=len(self.mean),
            diameter=self.domain.diameter,
            lipschitz=lambda p: euclidean(p, float(lengths.max()) + pull),
            smoothness=lambda p: euclidean(p, self.weight * (self.theta - 1) * radius ** (self.theta - 2)),
            moment=lambda k, m: float((chances @ (lengths + pull) ** k) ** (1 / k)),
            growth=(self.theta, self.weight * growth_constant(self.theta, self.reach)),
        )

    def loss(self, w: Array, z: Array) -> Array:
        power = self.weight / self.theta * np.linalg.norm(w, axis=-1) ** self.theta
        return np.asarray(power - (w * z).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(self.weight * np.linalg.norm(w, axis=-1, keepdims=True) ** (self.theta - 2) * w - z)

    def excess_risk(self, w: Array) -> Array:
        """Weight 1: (|w|^theta - |w*|^theta)/theta - <w - w*, mean>."""
        power = np.linalg.norm(w, axis=-1) ** self.theta - self.minimiser_norm**self.theta
        return np.asarray(np.maximum(0.0, self.weight * power / self.theta - (w - self.best) @ self.mean))


@dataclass(frozen=True, eq=False)
class SparseTilt(TiltedPower):
    """x = size v with probability `chance`, else 0; |v| = 1."""

    v: Array = None  # type: ignore[assignment]
    size: float = 1.0
    chance: float = 0.25

    def __post_init__(self) -> None:
        if self.v is None or abs(float(np.linalg.norm(self.v)) - 1) > 1e-9:
            raise InvalidInput("SparseTilt needs a unit vector v")
        if not (self.size > 0 and 0 < self.chance <= 1):
            raise InvalidInput(f"SparseTilt needs size > 0 and chance in (0, 1], got {self.size}, {self.chance}")
        super().__post_init__()

    @property
    def mean(self) -> Array:
        return np.asarray(self.chance * self.size * np.asarray(self.v))

    @property
    def lengths(self) -> tuple[Array, Array]:
        return np.array([self.size, 0.0]), np.array([self.chance, 1 - self.chance])

    @property
    def constants(self) -> Constants:
        return replace(super().constants, atoms=2)

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        hit = rng.random((trials, n, 1)) < self.chance
        return np.asarray(hit * (self.size * np.asarray(self.v)))

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        hits = rng.binomial(n, self.chance, size=trials).astype(float)
        atoms = np.stack([self.size * np.asarray(self.v), np.zeros(len(self.v))])
        if means_only:
            return Sample((hits[:, None] * atoms[:1] / n)[:, None], np.full((1, 1), float(n)))
        return Sample(atoms[None], np.stack([hits, n - hits], axis=1))


@dataclass(frozen=True, eq=False)
class ProductTilt(TiltedPower):
    """Independent coordinates x_j = v_j size with probability (1 + bias)/2, else -v_j size; v a sign vector."""

    v: Array = None  # type: ignore[assignment]
    size: float = 1.0
    bias: float = 0.1

    def __post_init__(self) -> None:
        if self.v is None or not np.all(np.abs(self.v) == 1):
            raise InvalidInput("ProductTilt needs a vector v of signs")
        if not (self.size > 0 and 0 < self.bias <= 1):
            raise InvalidInput(f"ProductTilt needs size > 0 and bias in (0, 1], got {self.size}, {self.bias}")
        super().__post_init__()

    @property
    def mean(self) -> Array:
        return np.asarray(self.bias * self.size * np.asarray(self.v, dtype=float))

    @property
    def lengths(self) -> tuple[Array, Array]:
        return np.array([self.size * math.sqrt(len(self.v))]), np.array([1.0])

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        agrees = rng.random((trials, n, len(self.v))) < (1 + self.bias) / 2
        return np.where(agrees, self.size, -self.size) * np.asarray(self.v)

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        if not means_only:
            return super().draw(rng, trials, n)
        ups = rng.binomial(n, (1 + self.bias) / 2, size=(trials, len(self.v)))
        return Sample(((2 * ups / n - 1) * self.size * np.asarray(self.v))[:, None], np.full((1, 1), float(n)))
