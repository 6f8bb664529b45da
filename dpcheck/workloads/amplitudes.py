"""Laws of a non-negative gradient norm with every moment in closed form: what makes a workload heavy-tailed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Rng


class Amplitude(Protocol):
    """A law on [0, inf)."""

    @property
    def largest(self) -> float:
        """Supremum of its support."""
        ...

    def sample(self, rng: Rng, shape: tuple[int, ...]) -> Array: ...

    def moment(self, order: float) -> float:
        """E a^order, or inf."""
        ...

    def capped_mean(self, cap: float) -> float:
        """E min(a, cap)."""
        ...

    def excess_mean(self, cap: float) -> float:
        """E max(a - cap, 0)."""
        ...


@dataclass(frozen=True)
class Pareto:
    """Pr(a > x) = (x / scale)^-tail for x >= scale: moments of every order below `tail`.

    >>> Pareto(tail=3.0).moment(2)
    3.0
    """

    tail: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not (self.tail > 1 and self.scale > 0):
            raise InvalidInput(f"Pareto needs tail > 1 and scale > 0, got tail = {self.tail}, scale = {self.scale}")

    @property
    def largest(self) -> float:
        return math.inf

    def sample(self, rng: Rng, shape: tuple[int, ...]) -> Array:
        # 1 - U lies in (0, 1]: the power stays finite.
        return np.asarray(self.scale * (1 - rng.random(shape)) ** (-1 / self.tail))

    def moment(self, order: float) -> float:
        return self.scale**order * self.tail / (self.tail - order) if order < self.tail else math.inf

    def capped_mean(self, cap: float) -> float:
        return self.moment(1) - self.excess_mean(cap)

    def excess_mean(self, cap: float) -> float:
        if cap <= self.scale:
            return self.moment(1) - cap
        return float(self.scale * (cap / self.scale) ** (1 - self.tail) / (self.tail - 1))


@dataclass(frozen=True)
class Spike:
    """`size` with probability `p`, else 0: the extreme law of a moment class.

    `Spike.of_moment(G, k, p)` has (E a^k)^(1/k) = G exactly.
    """

    size: float
    p: float

    def __post_init__(self) -> None:
        if not (self.size > 0 and 0 < self.p <= 1):
            raise InvalidInput(f"Spike needs size > 0 and p in (0, 1], got size = {self.size}, p = {self.p}")

    @classmethod
    def of_moment(cls, G: float, k: float, p: float) -> Spike:
        return cls(G * p ** (-1 / k), p)

    @property
    def largest(self) -> float:
        return self.size

    def sample(self, rng: Rng, shape: tuple[int, ...]) -> Array:
        return np.where(rng.random(shape) < self.p, self.size, 0.0)

    def moment(self, order: float) -> float:
        return float(self.p * self.size**order)

    def capped_mean(self, cap: float) -> float:
        return self.p * min(self.size, cap)

    def excess_mean(self, cap: float) -> float:
        return self.p * max(self.size - cap, 0.0)


def root_moment(amplitude: Amplitude, order: float) -> float:
    """(E a^order)^(1/order), or inf."""
    moment = amplitude.moment(order)
    return float(moment ** (1 / order)) if math.isfinite(moment) else math.inf
