"""Losses of curvatures 1 and a that clipping by norm shears: descent on them need not contract."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball
from dpcheck.interfaces import Array, Constants, Rng, Sample


@dataclass(frozen=True)
class Sheared:
    """Records (s, t, g): gradient s A w + t K u + g with A = diag(1, a); u is where clipping shears most.

    Attributes:
        radius: of the domain, a ball around 0.
        moment: what is declared as the moment of every order, that of a law which is a point mass, say.
        steepest: the largest |g|.
    """

    a: float
    K: float
    radius: float = 1e9
    moment: float = 1.0
    steepest: float = 1.0

    record_shape = (4,)

    @property
    def constants(self) -> Constants:
        """For records with s, t in {-1, 0, 1} and |g| <= steepest."""
        return Constants(
            d=2,
            diameter=lambda p: 2 * self.radius,
            lipschitz=lambda p: self.radius + self.K + self.steepest,
            smoothness=lambda p: 1.0,
            moment=lambda k, m: self.moment,
        )

    @property
    def u(self) -> Array:
        across = math.sqrt(self.a / (1 + self.a))
        return np.array([math.sqrt(1 - across**2), across])

    def loss(self, w: Array, z: Array) -> Array:
        """(..., 2), (..., 4) -> (...)."""
        quadratic = z[..., 0] * (w**2 @ np.array([1.0, self.a])) / 2
        return np.asarray(quadratic + z[..., 1] * self.K * (w @ self.u) + (w * z[..., 2:]).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        """(..., 2), (..., 4) -> (..., 2)."""
        return np.asarray(z[..., :1] * w * np.array([1.0, self.a]) + z[..., 1:2] * self.K * self.u + z[..., 2:])

    def project(self, w: Array) -> Array:
        return Ball(radius=self.radius, d=2).project(w)

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        raise InvalidInput("these losses are chosen, not drawn; pass records")

    def excess_risk(self, w: Array) -> Array:
        raise InvalidInput("these losses have no population")

    def worst(self, n: int, weight: float) -> Array:
        """e: the top right singular vector of (weight I + J)^-1, J the Jacobian at 0 of the clipped mean."""
        J = self.steepest * (1 - 2 / n) / self.K * (np.eye(2) - np.outer(self.u, self.u)) @ np.diag([1.0, self.a])
        return np.asarray(np.linalg.svd(np.linalg.inv(weight * np.eye(2) + J))[2][0])

    def balanced(self, n: int, weight: float, sign: float) -> Array:
        """(n-2)/2 records on either side, one zero loss, and one linear loss `sign` steepest e: (n, 4)."""
        rows = np.zeros((n, 4))
        rows[: n - 2, 0], rows[: n - 2, 1] = 1.0, np.where(np.arange(n - 2) % 2, -1.0, 1.0)
        rows[-1, 2:] = sign * self.steepest * self.worst(n, weight)
        return rows

    def turned(self, n: int) -> Array:
        """n copies of w^T A w/2 + K <u, w>, the first replaced by -steepest <u, w>: (n, 4)."""
        rows = np.tile([1.0, 1.0, 0.0, 0.0], (n, 1))
        rows[0] = [0.0, 0.0, *(-self.steepest * self.u)]
        return rows
