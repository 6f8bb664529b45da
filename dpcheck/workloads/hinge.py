"""Classification by the hinge loss in the plane, with heavy-tailed features in finitely many directions."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball
from dpcheck.interfaces import Array, Constants, Rng
from dpcheck.workloads.amplitudes import Pareto, root_moment
from dpcheck.workloads.links import Hinge
from dpcheck.workloads.ridge import BallRidge

CERTIFICATE = 1e-11


@dataclass(frozen=True)
class HeavyHinge(BallRidge):
    """f(w, z) = max(0, 1 - <z, w>) on the disc of the given radius; z = label times features.

    |z| ~ Pareto(1, tail), its direction is angles[j] with probability shares[j]. The population risk is a finite sum
    of closed forms; the minimiser is found once, with a certificate that it is best up to 1e-11.
    """

    angles: tuple[float, ...] = (0.4, -0.7, 2.6)
    shares: tuple[float, ...] = (0.45, 0.35, 0.2)
    tail: float = 3.0
    radius: float = 1.0

    record_shape = (2,)
    link = Hinge()

    def __post_init__(self) -> None:
        if len(self.angles) != len(self.shares) or abs(sum(self.shares) - 1) > 1e-12 or min(self.shares) < 0:
            raise InvalidInput(f"shares must be probabilities, one for each angle, got {self.shares}")
        if not (self.tail > 1 and self.radius > 0):
            raise InvalidInput(f"HeavyHinge needs tail > 1 and radius > 0, got {self.tail}, {self.radius}")

    @property
    def domain(self) -> Ball:
        return Ball(radius=self.radius, d=2)

    @property
    def directions(self) -> Array:
        """(J, 2) unit vectors."""
        return np.stack([np.cos(self.angles), np.sin(self.angles)], axis=1)

    @property
    def constants(self) -> Constants:
        """The moments are E |z|^k: the hinge has slope 1 at w = 0, whatever the record."""
        return Constants(
            d=2,
            diameter=self.domain.diameter,
            lipschitz=lambda p: math.inf,
            smoothness=lambda p: math.inf,
            moment=lambda k, m: root_moment(Pareto(self.tail), k),  # for m > 1 an upper bound
            hessian_rank=1,
            family="generalised linear",
        )

    def features(self, z: Array) -> tuple[Array, Array]:
        return z, np.zeros(z.shape[:-1])

    def risk(self, w: Array) -> Array:
        """F(w), exactly: (..., 2) -> (...)."""
        margin = np.asarray(w) @ self.directions.T
        return np.asarray(_hinge_mean(margin, self.tail) @ np.asarray(self.shares))

    def risk_gradient(self, w: Array) -> Array:
        """(..., 2) -> (..., 2)."""
        margin = np.asarray(w) @ self.directions.T
        return np.asarray((_hinge_slope(margin, self.tail) * np.asarray(self.shares)) @ self.directions)

    def excess_risk(self, w: Array) -> Array:
        return self.risk(w) - float(self.risk(self.population_minimiser))

    @functools.cached_property
    def population_minimiser(self) -> Array:
        """(2,), by Newton-like steps from a few starts, kept only with a Frank-Wolfe gap below `CERTIFICATE`."""
        radius = self.radius
        best, gap = np.zeros(2), math.inf
        minimize: Any = scipy.optimize.minimize
        inside = {"type": "ineq", "fun": lambda v: radius**2 - v @ v, "jac": lambda v: -2 * v}
        for start in 0.5 * radius * np.vstack([self.directions, np.zeros((1, 2))]):
            optimum = minimize(
                lambda v: float(self.risk(v)),
                start,
                jac=lambda v: self.risk_gradient(v),
                constraints=inside,
                method="SLSQP",
                options={"ftol": 1e-16, "maxiter": 500},
            )
            for point in (optimum.x, scipy.optimize.root(self.risk_gradient, optimum.x, tol=1e-15).x):
                point = self.project(np.asarray(point)[None])[0]
                slope = self.risk_gradient(point)
                here = float(slope @ point + radius * np.linalg.norm(slope))
                if here < gap:
                    best, gap = point, here
        if gap > CERTIFICATE:
            raise InvalidInput(
                f"the population minimiser is certified only to {gap:.1e}; choose other angles or shares"
            )
        return best

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        length = Pareto(self.tail).sample(rng, (trials, n, 1))
        return length * self.directions[rng.choice(len(self.angles), size=(trials, n), p=self.shares)]


def _hinge_mean(c: Array, tail: float) -> Array:
    """E max(0, 1 - c y) for y ~ Pareto(1, tail)."""
    inner = np.clip(c, 1e-300, 1.0)
    body = 1 - inner**tail - inner * tail / (tail - 1) * (1 - inner ** (tail - 1))
    return np.where(c <= 0, 1 - c * tail / (tail - 1), np.where(c >= 1, 0.0, body))


def _hinge_slope(c: Array, tail: float) -> Array:
    """d/dc of `_hinge_mean`: -E y 1{c y < 1}."""
    inner = np.clip(c, 1e-300, 1.0)
    mean = tail / (tail - 1)
    return np.where(c <= 0, -mean, np.where(c >= 1, 0.0, -mean * (1 - inner ** (tail - 1))))
