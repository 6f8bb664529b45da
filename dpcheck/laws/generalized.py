"""The generalised Gaussian law of kappa-regular spaces, density proportional to exp(-|z|_r^2 / (2 sigma^2))."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry.norms import norm
from dpcheck.interfaces import Array, Law, Rng, Scaled
from dpcheck.laws._common import check_epsilon, check_scale, check_sensitivity, per_trial
from dpcheck.privacy import ZCDP, gaussian_delta


@dataclass(frozen=True)
class GeneralizedGaussian:
    """Noise z with density proportional to exp(-|z|_r^2 / (2 sigma^2)), r >= 2 (`lp_spaces/def-4`).

    The squared norm is (r - 1)-smooth, so a shift s is rho-zCDP with rho = (r - 1) |s|_r^2 / (2 sigma^2): with f the
    squared norm, a f(x) - (a - 1) f(x + s) >= f(x - (a - 1) s) - (r - 1) a (a - 1) f(s) bounds every Renyi divergence.
    When the sensitivity is measured in another norm, `kappa` is a constant with (r - 1) |s|_r^2 <= kappa |s|^2.

    Attributes:
        sigma: scale; |z|_r^2 / sigma^2 is exactly chi-square with k degrees of freedom.
        r: exponent of the norm.
        kappa: regularity constant for the norm of the sensitivity; r - 1 (sensitivity in l_r) when None.
    """

    sigma: float
    r: float
    kappa: float | None = None

    def __post_init__(self) -> None:
        check_scale("sigma", self.sigma)
        if not 2 <= self.r < math.inf:
            raise InvalidInput(f"the exponent r must lie in [2, inf), got {self.r!r}")
        if self.kappa is not None:
            check_scale("kappa", self.kappa)

    @property
    def noise(self) -> float:
        """The scale that tables show."""
        return self.sigma

    @property
    def regularity(self) -> float:
        """kappa, or r - 1 when the sensitivity is in l_r."""
        return self.r - 1 if self.kappa is None else self.kappa

    def sample(self, core: Array, rng: Rng) -> Array:
        """Noisy cores, of the shape of `core` (trials, ..., k): one noise vector for each vector of the last axis."""
        k = core.shape[-1]
        # |y|^r ~ Gamma(1/r) gives i.i.d. coordinates of density exp(-|y|^r); y / |y|_r then follows the cone measure.
        # For large r, Gamma(1/r) underflows; Gamma(1 + 1/r) U^r has the same law, and its r-th root is taken directly.
        y = rng.gamma(1 + 1 / self.r, size=core.shape) ** (1 / self.r) * rng.uniform(-1, 1, core.shape)
        radius = self.sigma * np.sqrt(rng.chisquare(k, size=(*core.shape[:-1], 1)))
        return np.asarray(core + radius * (y / norm(y, self.r)[..., None]))

    def log_ratio(self, output: Array, core: Array, other: Array) -> Array:
        """log p(output | core) - log p(output | other): (trials,)."""
        far = norm(output - other, self.r) / self.sigma
        near = norm(output - core, self.r) / self.sigma
        return per_trial((far - near) * (far + near) / 2)

    def log_density(self, noise: Array) -> Array:
        """Normalised log-density of noise vectors: (..., k) -> (...)."""
        k = noise.shape[-1]
        # Volume of the unit l_r ball, then the radial integral of k vol rho^(k - 1) exp(-rho^2 / (2 sigma^2)).
        log_volume = k * (math.log(2) + math.lgamma(1 + 1 / self.r)) - math.lgamma(1 + k / self.r)
        log_radial = (k / 2 - 1) * math.log(2) + k * math.log(self.sigma) + math.lgamma(k / 2)
        return np.asarray(-((norm(noise, self.r) / self.sigma) ** 2) / 2 - math.log(k) - log_volume - log_radial)

    def pure(self, sensitivity: float, count: int = 1) -> float:
        """inf, unless the sensitivity is 0."""
        check_sensitivity(sensitivity, count)
        return math.inf if sensitivity > 0 else 0.0

    def zcdp(self, sensitivity: float, count: int = 1) -> float:
        """count kappa sensitivity^2 / (2 sigma^2): an upper bound for every shift of that size."""
        check_sensitivity(sensitivity, count)
        ratio = sensitivity / self.sigma
        return count * self.regularity * ratio * ratio / 2

    def delta(self, epsilon: float, sensitivity: float) -> float:
        """Exact for r = 2 (the Gaussian law); otherwise a rigorous upper bound through zCDP."""
        check_epsilon(epsilon)
        rho = self.zcdp(sensitivity)
        if self.r == 2:
            return gaussian_delta(math.sqrt(2 * rho), epsilon)
        if rho == 0:
            return max(0.0, -math.expm1(epsilon))
        return ZCDP(rho).delta_at(epsilon) if math.isfinite(rho) else 1.0


@dataclass(frozen=True)
class PerRecord:
    """Noise on each row of a core (trials, rows, k) that holds one record a row, averaged only after the release.

    The sampler and the densities are those of `law`; an accountant may treat every row as a local randomiser, which is
    what shuffling amplifies.
    """

    law: Law
    per_record: ClassVar[bool] = True

    @property
    def noise(self) -> float:
        """The scale that tables show."""
        return self.law.noise if isinstance(self.law, Scaled) else math.nan

    def sample(self, core: Array, rng: Rng) -> Array:
        """Noisy rows, of the shape of `core` (trials, rows, k)."""
        if core.ndim != 3:
            raise InvalidInput(f"noise per record needs a core of shape (trials, rows, k), got {core.shape}")
        return self.law.sample(core, rng)

    def log_ratio(self, output: Array, core: Array, other: Array) -> Array:
        """log p(output | core) - log p(output | other): (trials,)."""
        return self.law.log_ratio(output, core, other)

    def pure(self, sensitivity: float, count: int = 1) -> float:
        """That of `law`: one record moves one row."""
        return self.law.pure(sensitivity, count)

    def zcdp(self, sensitivity: float, count: int = 1) -> float:
        """That of `law`: one record moves one row."""
        return self.law.zcdp(sensitivity, count)

    def delta(self, epsilon: float, sensitivity: float) -> float:
        """That of `law`: one record moves one row."""
        return self.law.delta(epsilon, sensitivity)
