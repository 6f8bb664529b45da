"""Workloads of the l1 geometry: linear, l1-location and LASSO losses on a cross-polytope, a simplex or an l_p ball.

Lipschitz and smoothness constants are exact in every l_p; `constants.extra["strong_convexity"]` is that of the
population risk in l1, where there is one.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Domain, L1Ball, LpBall, Simplex
from dpcheck.geometry.norms import dual_exponent, norm
from dpcheck.interfaces import Array, Constants, Family, Rng, Sample
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.population import FinitePopulation

TOLERANCE = 1e-9
"""Largest certified gap of the minimiser of a LASSO population, relative to the risk at 0."""


def _spread(d: int, p: float) -> float:
    """|(1, …, 1)| in the norm dual to l_p: d^(1/q)."""
    q = dual_exponent(p)
    return 1.0 if math.isinf(q) else d ** (1 / q)


def _constants(
    domain: Domain, lipschitz: float, smoothness: float = 0.0, family: Family = "", **extra: float
) -> Constants:
    """Constants of losses whose gradients range over the cube of half-width `lipschitz`."""

    def lip(p: float) -> float:
        return lipschitz * _spread(domain.d, p)

    return Constants(
        d=domain.d,
        diameter=domain.diameter,
        lipschitz=lip,
        smoothness=lambda p: smoothness * _spread(domain.d, p) ** 2,
        moment=lambda k, m: lip(2.0),
        extra=extra,
        family=family,
    )


@dataclass(frozen=True)
class SignLinear(BaseWorkload):
    """f(x;z) = <z, x>, the z_j = +-L independent with mean L mu_j.

    Attributes:
        mu: (d,) means in [-1, 1].
        shape: of the domain: "l1" and "lp" balls of radius `R`, or the "simplex" of sum R.
        p: exponent of the "lp" ball.
    """

    mu: tuple[float, ...]
    L: float = 1.0
    R: float = 1.0
    shape: Literal["l1", "simplex", "lp"] = "l1"
    p: float = 2.0

    def __post_init__(self) -> None:
        if not self.mu or not all(abs(m) <= 1 for m in self.mu) or not (self.L > 0 and self.R > 0):
            raise InvalidInput(f"SignLinear needs means in [-1, 1] and L, R > 0, got {self}")
        if self.shape not in ("l1", "simplex", "lp"):
            raise InvalidInput(f"shape must be 'l1', 'simplex' or 'lp', got {self.shape!r}")

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (len(self.mu),)

    @functools.cached_property
    def domain(self) -> Domain:
        d = len(self.mu)
        if self.shape == "simplex":
            return Simplex(d, self.R)
        return L1Ball(d, self.R) if self.shape == "l1" else LpBall(d, self.R, self.p)

    @functools.cached_property
    def constants(self) -> Constants:
        return _constants(self.domain, self.L, family="linear")

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray((w * z).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(z + np.zeros_like(w))

    def excess_risk(self, w: Array) -> Array:
        mean = np.asarray(self.mu)
        return np.asarray(self.L * (w @ mean + float(self.domain.support(-mean))))

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        up = rng.random((trials, n, len(self.mu))) < (1 + np.asarray(self.mu)) / 2
        return np.where(up, self.L, -self.L)


@dataclass(frozen=True)
class L1Location(BaseWorkload):
    """f(x;z) = L |x - z|_1 on {|x|_1 <= D}, z in {+-D/d}^d with P(z_j = D/d) = (1 + gamma_j)/2: non-smooth."""

    gamma: tuple[float, ...]
    L: float = 1.0
    D: float = 1.0

    def __post_init__(self) -> None:
        if not self.gamma or not all(abs(g) <= 1 for g in self.gamma) or not (self.L > 0 and self.D > 0):
            raise InvalidInput(f"L1Location needs gamma in [-1, 1] and L, D > 0, got {self}")

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (len(self.gamma),)

    @property
    def a(self) -> float:
        """D/d, the size of every coordinate of a record."""
        return self.D / len(self.gamma)

    @functools.cached_property
    def domain(self) -> L1Ball:
        return L1Ball(len(self.gamma), self.D)

    @functools.cached_property
    def constants(self) -> Constants:
        flat = _constants(self.domain, self.L)
        return Constants(
            d=flat.d,
            diameter=flat.diameter,
            lipschitz=flat.lipschitz,
            smoothness=lambda p: math.inf,
            moment=flat.moment,
        )

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(self.L * np.abs(w - z).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(self.L * np.sign(w - z))

    def excess_risk(self, w: Array) -> Array:
        g, a = np.asarray(self.gamma), self.a
        mean = (1 + g) / 2 * np.abs(w - a) + (1 - g) / 2 * np.abs(w + a)
        return np.asarray(self.L * (mean.sum(axis=-1) - a * (1 - np.abs(g)).sum()))

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        up = rng.random((trials, n, len(self.gamma))) < (1 + np.asarray(self.gamma)) / 2
        return np.where(up, self.a, -self.a)


@dataclass(frozen=True)
class SignLasso(BaseWorkload):
    """f(x;(a,y)) = (<a, x> - y)^2/2, a uniform in {+-1}^d, y = <a, x*> + s or - s, on {|x|_1 <= R}: smooth.

    The excess risk is |x - x*|_2^2/2, and the population risk is 1/d-strongly convex in l1.
    """

    x_star: tuple[float, ...]
    s: float = 0.5
    R: float = 1.0

    def __post_init__(self) -> None:
        if not self.x_star or not sum(abs(x) for x in self.x_star) < self.R or self.s < 0:
            raise InvalidInput(f"SignLasso needs |x*|_1 < R and s >= 0, got {self}")

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (len(self.x_star) + 1,)

    @functools.cached_property
    def domain(self) -> L1Ball:
        return L1Ball(len(self.x_star), self.R)

    @functools.cached_property
    def constants(self) -> Constants:
        size = self.R + sum(abs(x) for x in self.x_star) + self.s
        return _constants(self.domain, size, 1.0, "generalised linear", strong_convexity=1 / len(self.x_star))

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(0.5 * ((w * z[..., :-1]).sum(axis=-1) - z[..., -1]) ** 2)

    def gradient(self, w: Array, z: Array) -> Array:
        a = z[..., :-1]
        return np.asarray(((w * a).sum(axis=-1) - z[..., -1])[..., None] * a)

    def excess_risk(self, w: Array) -> Array:
        return np.asarray(0.5 * ((w - np.asarray(self.x_star)) ** 2).sum(axis=-1))

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        a = np.where(rng.random((trials, n, len(self.x_star))) < 0.5, 1.0, -1.0)
        noise = np.where(rng.random((trials, n)) < 0.5, self.s, -self.s)
        return np.concatenate([a, (a @ np.asarray(self.x_star) + noise)[..., None]], axis=-1)


@dataclass(frozen=True)
class EqualRecords(BaseWorkload):
    """f(x;z) = curvature |x|_2^2/2 - <z, x> on {|x|_1 <= D/2}, all records equal: no statistical error whatever n is.

    `constants` are those of the class L, H, D in l1, which an algorithm is told, not of this member of it.

    Attributes:
        z: (d,) the record. Without curvature the loss is linear, least at a vertex; else least at z/curvature.
    """

    z: tuple[float, ...]
    curvature: float = 0.0
    L: float = 1.0
    H: float = 1.0
    D: float = 2.0

    def __post_init__(self) -> None:
        h, room = self.curvature, self.D / 2 * (1 + 1e-12)
        if not self.z or not 0 <= h <= self.H or not h * self.D / 2 + self.steepest <= self.L * (1 + 1e-12):
            raise InvalidInput(f"EqualRecords needs 0 <= curvature <= H and curvature D/2 + |z|_inf <= L, got {self}")
        if h > 0 and not sum(abs(x) for x in self.z) <= h * room:
            raise InvalidInput(f"the minimiser z/curvature must lie in the l1 ball of radius D/2, got {self}")

    @property
    def steepest(self) -> float:
        """|z|_inf."""
        return max(abs(x) for x in self.z)

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (len(self.z),)

    @functools.cached_property
    def domain(self) -> L1Ball:
        return L1Ball(len(self.z), self.D / 2)

    @functools.cached_property
    def constants(self) -> Constants:
        return replace(_constants(self.domain, self.L, self.H, "isotropic quadratic"), atoms=1)

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature / 2 * (w**2).sum(axis=-1) - (w * z).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature * w - z)

    def excess_risk(self, w: Array) -> Array:
        z = np.asarray(self.z)
        if self.curvature > 0:
            return np.asarray(self.curvature / 2 * ((w - z / self.curvature) ** 2).sum(axis=-1))
        return np.asarray(float(self.domain.support(z)) - w @ z)

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return np.tile(np.asarray(self.z), (trials, n, 1))

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        return Sample(np.asarray(self.z)[None, None], np.full((1, 1), float(n)))


@dataclass(frozen=True, eq=False)
class LassoPopulation(BaseWorkload):
    """Constrained LASSO on real records: f(x;(a,y)) = (<a, x> - y)^2/2 on {|x|_1 <= R}, uniform over a table's rows.

    Attributes:
        features_table: (N, d), scaled so that its largest entry is 1; target: (N,).
    """

    features_table: Array
    target: Array
    R: float = 1.0

    def __post_init__(self) -> None:
        x, y = self.features_table, self.target
        if x.ndim != 2 or y.shape != x.shape[:1] or not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise InvalidInput(f"a population needs finite features (N, d) and target (N,), got {x.shape}, {y.shape}")
        if not self.R > 0:
            raise InvalidInput(f"the radius must be > 0, got {self.R}")

    @classmethod
    def of(cls, population: FinitePopulation, radius: float = 1.0) -> LassoPopulation:
        """The table of a `FinitePopulation` (`diabetes()`, `randhie()`), features and target scaled to [-1, 1]."""
        x, y = population.features_table, population.target
        return cls(x / np.abs(x).max(), y / np.abs(y).max(), radius)

    @functools.cached_property
    def table(self) -> Array:
        """(N, d + 1)."""
        return np.column_stack([self.features_table, self.target])

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.features_table.shape[1] + 1,)

    @functools.cached_property
    def domain(self) -> L1Ball:
        return L1Ball(self.features_table.shape[1], self.R)

    @functools.cached_property
    def constants(self) -> Constants:
        top = norm(self.features_table, math.inf)
        size = float((top * (self.R * top + np.abs(self.target))).max())
        return _constants(self.domain, size, float(top.max() ** 2), "generalised linear")

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(0.5 * ((w * z[..., :-1]).sum(axis=-1) - z[..., -1]) ** 2)

    def gradient(self, w: Array, z: Array) -> Array:
        a = z[..., :-1]
        return np.asarray(((w * a).sum(axis=-1) - z[..., -1])[..., None] * a)

    @functools.cached_property
    def _moments(self) -> tuple[Array, Array, float]:
        x, y = self.features_table, self.target
        return x.T @ x / len(y), x.T @ y / len(y), float(y @ y / len(y))

    def risk(self, w: Array) -> Array:
        """F, exactly: (..., d) -> (...)."""
        gram, cross, square = self._moments
        return np.asarray(0.5 * ((w @ gram) * w).sum(axis=-1) - w @ cross + square / 2)

    @functools.cached_property
    def population_minimiser(self) -> Array:
        """(d,): accelerated projected gradients, accepted on a Frank-Wolfe gap below `TOLERANCE`."""
        gram, cross, square = self._moments
        step = 1 / float(np.linalg.eigvalsh(gram)[-1])
        x = y = np.zeros(self.domain.d)
        momentum = 1.0
        for _ in range(200_000):
            slope = gram @ x - cross
            if slope @ x + self.R * np.abs(slope).max() <= TOLERANCE * square / 2:
                return x
            new = self.domain.project(y - step * (gram @ y - cross))
            if (y - new) @ (new - x) > 0:
                momentum = 1.0
            grown = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
            x, y, momentum = new, new + (momentum - 1) / grown * (new - x), grown
        raise InvalidInput("the LASSO minimiser of this table is not certified; its features may be too collinear")

    def excess_risk(self, w: Array) -> Array:
        return np.asarray(np.maximum(0.0, self.risk(w) - float(self.risk(self.population_minimiser))))

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return np.asarray(self.table[rng.integers(len(self.table), size=(trials, n))])

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        return Sample(self.rows(rng, trials, n), np.ones((1, n)))
