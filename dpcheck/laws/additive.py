"""Noise added to a core: Laplace, Gaussian, and the isotropic Laplace law of the l2 geometry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry.norms import norm
from dpcheck.interfaces import Array, Rng
from dpcheck.laws._common import check_epsilon, check_scale, check_sensitivity, per_trial
from dpcheck.laws.isotropic import gap_profile
from dpcheck.privacy import gaussian_delta


@dataclass(frozen=True)
class Laplace:
    """Independent Laplace noise on every coordinate, density exp(-|b| / scale) / (2 scale); sensitivity in l1.

    >>> Laplace(scale=2.0).pure(sensitivity=1.0)
    0.5
    """

    scale: float
    below_laplace: ClassVar[bool] = True
    """Its curve lies nowhere above that of Laplace noise of the same pure epsilon."""

    def __post_init__(self) -> None:
        check_scale("scale", self.scale)

    @property
    def noise(self) -> float:
        """The scale that tables show."""
        return self.scale

    def sample(self, core: Array, rng: Rng) -> Array:
        """Noisy cores, of the shape of `core` (trials, ..., k)."""
        return np.asarray(core + rng.laplace(scale=self.scale, size=core.shape))

    def log_ratio(self, output: Array, core: Array, other: Array) -> Array:
        """log p(output | core) - log p(output | other): (trials,)."""
        return per_trial((np.abs(output - other) - np.abs(output - core)) / self.scale)

    def pure(self, sensitivity: float, count: int = 1) -> float:
        """count * sensitivity / scale."""
        check_sensitivity(sensitivity, count)
        return count * (sensitivity / self.scale)

    def zcdp(self, sensitivity: float, count: int = 1) -> float:
        """count (t + e^-t - 1) with t = sensitivity / scale: the least rho, below t^2 / 2.

        D_alpha / alpha is largest at alpha -> 1, the Kullback-Leibler divergence (Harrison and Manurangsi 2025); it is
        convex in t, so moving one coordinate by the whole l1 sensitivity is the worst shift.
        """
        check_sensitivity(sensitivity, count)
        t = sensitivity / self.scale
        return count * (t + math.expm1(-t)) if t > 1e-4 else count * (t * t / 2) * (1 - t / 3)

    def renyi(self, alpha: float, sensitivity: float) -> float:
        """Renyi divergence of order alpha > 1 of the worst pair, one use (Mironov 2017, Proposition 6)."""
        check_sensitivity(sensitivity)
        return laplace_renyi(alpha, sensitivity / self.scale)

    def delta(self, epsilon: float, sensitivity: float) -> float:
        """Exact: 1 - e^((epsilon - t) / 2) for |epsilon| <= t = sensitivity / scale."""
        check_epsilon(epsilon)
        check_sensitivity(sensitivity)
        return laplace_profile(epsilon, sensitivity / self.scale)


def laplace_profile(epsilon: float, t: float) -> float:
    """Hockey-stick divergence of order e^epsilon between unit Laplace laws t apart, for any real epsilon."""
    if epsilon >= t:
        return 0.0
    if epsilon <= -t:
        return -math.expm1(epsilon)
    return -math.expm1((epsilon - t) / 2)


def laplace_renyi(alpha: float, t: float) -> float:
    """Renyi divergence of order alpha between unit Laplace laws t apart, in log space."""
    if not alpha > 1:
        raise InvalidInput(f"the order alpha must be > 1, got {alpha!r}")
    if math.isinf(alpha) or math.isinf(t):
        return t
    weight = alpha / (2 * alpha - 1)
    if (alpha - 1) * t < 1:
        # The first-order terms cancel, so the logarithm is taken of 1 + something small.
        excess = weight * math.expm1((alpha - 1) * t) + (1 - weight) * math.expm1(-alpha * t)
        return max(0.0, math.log1p(excess) / (alpha - 1))
    left = math.log1p(-weight) - alpha * t
    return float(np.logaddexp(math.log(weight) + (alpha - 1) * t, left)) / (alpha - 1)


@dataclass(frozen=True)
class Gaussian:
    """N(0, sigma^2 I) on the core; sensitivity in l2.

    >>> round(Gaussian(sigma=1.0).delta(epsilon=1.0, sensitivity=1.0), 6)
    0.126937
    """

    sigma: float

    def __post_init__(self) -> None:
        check_scale("sigma", self.sigma)

    @property
    def noise(self) -> float:
        """The standard deviation that tables show."""
        return self.sigma

    def sample(self, core: Array, rng: Rng) -> Array:
        """Noisy cores, of the shape of `core` (trials, ..., k)."""
        return np.asarray(core + self.sigma * rng.standard_normal(core.shape))

    def log_ratio(self, output: Array, core: Array, other: Array) -> Array:
        """log p(output | core) - log p(output | other): (trials,)."""
        # ((o - b)^2 - (o - a)^2) / 2 = (a - b) (o - (a + b) / 2): no difference of large squares.
        return per_trial(((core - other) / self.sigma) * ((output - (core + other) / 2) / self.sigma))

    def pure(self, sensitivity: float, count: int = 1) -> float:
        """inf, unless the sensitivity is 0."""
        check_sensitivity(sensitivity, count)
        return math.inf if sensitivity > 0 else 0.0

    def zcdp(self, sensitivity: float, count: int = 1) -> float:
        """count sensitivity^2 / (2 sigma^2)."""
        mu = self.mu(sensitivity, count)
        return mu * mu / 2

    def mu(self, sensitivity: float, count: int = 1) -> float:
        """`count` adaptive uses are exactly mu-Gaussian DP with mu = sqrt(count) sensitivity / sigma."""
        check_sensitivity(sensitivity, count)
        return math.sqrt(count) * (sensitivity / self.sigma)

    def renyi(self, alpha: float, sensitivity: float) -> float:
        """alpha sensitivity^2 / (2 sigma^2)."""
        return alpha * self.zcdp(sensitivity)

    def delta(self, epsilon: float, sensitivity: float) -> float:
        """Exact (Balle and Wang 2018, Theorem 8)."""
        check_epsilon(epsilon)
        return gaussian_delta(self.mu(sensitivity), epsilon)


@dataclass(frozen=True)
class IsotropicLaplace:
    """Density proportional to exp(-|b|_2 / scale): uniform direction, radius Gamma(k, scale); sensitivity in l2.

    Attributes:
        d: dimension of the core, when the exact curve of that dimension is wanted. Without it, `delta` is that of
            dimension 1, which dominates every other: given the distance h of the noise from the line through the two
            cores, the noise along the line has a log-concave density f with |(log f)'| < 1 / scale, so its
            isoperimetric profile lies below that of the Laplace law.
    """

    scale: float
    d: int | None = None
    below_laplace: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_scale("scale", self.scale)
        if self.d is not None and self.d < 1:
            raise InvalidInput(f"d must be >= 1, got {self.d!r}")

    @property
    def noise(self) -> float:
        """The scale that tables show; the radius is about k times as long."""
        return self.scale

    def sample(self, core: Array, rng: Rng) -> Array:
        """Noisy cores, of the shape of `core` (trials, ..., k): one noise vector for each vector of the last axis."""
        k = core.shape[-1]
        if self.d is not None and k != self.d:
            raise InvalidInput(f"this law was made for cores of dimension {self.d}, got shape {core.shape}")
        direction = rng.standard_normal(core.shape)
        direction /= norm(direction)[..., None]
        radius = rng.gamma(shape=k, scale=self.scale, size=(*core.shape[:-1], 1))
        return np.asarray(core + radius * direction)

    def log_ratio(self, output: Array, core: Array, other: Array) -> Array:
        """log p(output | core) - log p(output | other): (trials,)."""
        far, near = (output - other) / self.scale, (output - core) / self.scale
        total = norm(far) + norm(near)
        # |far| - |near| = <far - near, far + near> / (|far| + |near|): no cancellation far out.
        gain = ((far - near) * ((far + near) / np.where(total > 0, total, 1.0)[..., None])).sum(axis=-1)
        return per_trial(gain)

    def pure(self, sensitivity: float, count: int = 1) -> float:
        """count * sensitivity / scale, whatever the dimension."""
        check_sensitivity(sensitivity, count)
        return count * (sensitivity / self.scale)

    def zcdp(self, sensitivity: float, count: int = 1) -> float:
        """That of `Laplace`, which dominates this law in every dimension."""
        return Laplace(self.scale).zcdp(sensitivity, count)

    def renyi(self, alpha: float, sensitivity: float) -> float:
        """That of `Laplace`, which dominates this law in every dimension."""
        return Laplace(self.scale).renyi(alpha, sensitivity)

    def delta(self, epsilon: float, sensitivity: float) -> float:
        """Exact in dimension `d` (one integral along the gap, relative error about 1e-10); without `d`, of d = 1."""
        check_epsilon(epsilon)
        check_sensitivity(sensitivity)
        return gap_profile(epsilon, sensitivity / self.scale, self.d or 1)
