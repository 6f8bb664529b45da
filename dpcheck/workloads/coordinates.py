"""Robust regression on coordinate designs: Lipschitz and smooth with constants 1 in every l_p norm at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Constants, Rng, Sample
from dpcheck.workloads.base import BaseWorkload


@dataclass(frozen=True, eq=False)
class CoordinateHuber(BaseWorkload):
    """f(w, (e_J, y)) = sqrt(1 + (w_J - y)^2) - 1 on all of R^d, y = target_J +- noise, J uniform.

    Records take 2d values, so a sample is their counts, at any n. |e_J|_q = 1 makes L = H = 1 in every norm.

    Attributes:
        target: (d,), the minimiser.
        noise: size of the errors.
    """

    target: Array
    noise: float = 1.0

    def __post_init__(self) -> None:
        if np.asarray(self.target).ndim != 1 or not self.noise >= 0:
            raise InvalidInput(f"CoordinateHuber needs a target (d,) and noise >= 0, got noise {self.noise}")

    @property
    def d(self) -> int:
        return len(self.target)

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.d + 1,)

    @property
    def domain(self) -> None:  # type: ignore[override]
        """None: the whole space."""
        return None

    @property
    def atoms(self) -> Array:
        """Every record: (2d, d + 1)."""
        designs, y = np.eye(self.d), np.asarray(self.target, dtype=float)
        high, low = np.column_stack([designs, y + self.noise]), np.column_stack([designs, y - self.noise])
        return np.asarray(np.concatenate([high, low]))

    @property
    def constants(self) -> Constants:
        target = np.asarray(self.target, dtype=float)
        return Constants(
            d=self.d,
            diameter=lambda p: math.inf,
            lipschitz=lambda p: 1.0,
            smoothness=lambda p: 1.0,
            moment=lambda k, m: 1.0,
            hessian_rank=1,
            family="generalised linear",
            atoms=2 * self.d,
            extra={"minimiser_norm": float(np.linalg.norm(target))},
        )

    def _margin(self, w: Array, z: Array) -> Array:
        return np.asarray((w * z[..., :-1]).sum(axis=-1) - z[..., -1])

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(np.hypot(1.0, self._margin(w, z)) - 1)

    def gradient(self, w: Array, z: Array) -> Array:
        u = self._margin(w, z)
        return np.asarray((u / np.hypot(1.0, u))[..., None] * z[..., :-1])

    def project(self, w: Array) -> Array:
        return np.asarray(w)

    def excess_risk(self, w: Array) -> Array:
        u = w - np.asarray(self.target, dtype=float)
        both = (np.hypot(1.0, u - self.noise) + np.hypot(1.0, u + self.noise)) / 2
        return np.asarray((both - math.hypot(1.0, self.noise)).mean(axis=-1))

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return self.atoms[rng.integers(2 * self.d, size=(trials, n))]

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        if n <= 2 * self.d:
            return super().draw(rng, trials, n)
        shares = np.full(2 * self.d, 1 / (2 * self.d))
        return Sample(self.atoms[None], rng.multinomial(n, shares, size=trials).astype(float))
