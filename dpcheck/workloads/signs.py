"""Independent signs in every coordinate: mean estimation and linear losses over any convex set, exact at every size."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Domain
from dpcheck.geometry.norms import dual_exponent, equivalence, norm
from dpcheck.interfaces import Array, Constants, Rng, Sample
from dpcheck.workloads.base import BaseWorkload


@dataclass(frozen=True, eq=False)
class SignRecords(BaseWorkload):
    """Records x with x_j = +-size_j independently and E x = mean, and what both losses below share.

    Attributes:
        size: (d,), positive.
        mean: (d,), |mean_j| <= size_j.
        over: the domain, a set of `dpcheck.geometry`.
        radius: max of |w|_2 over the domain; the declared constants carry it as extra["radius"].
        modulus: strong convexity in the norm whose unit ball is the domain (symmetric domains); extra["modulus"].
    """

    size: Array
    mean: Array
    over: Domain
    radius: float
    modulus: float = 0.0

    def __post_init__(self) -> None:
        size, mean = np.asarray(self.size, dtype=float), np.asarray(self.mean, dtype=float)
        if size.shape != (self.domain.d,) or mean.shape != size.shape:
            raise InvalidInput(f"size and mean need shape ({self.domain.d},), got {size.shape} and {mean.shape}")
        if not ((size > 0).all() and (np.abs(mean) <= size).all() and self.radius > 0):
            raise InvalidInput("SignRecords needs size > 0, |mean| <= size in every coordinate and radius > 0")

    @property
    def domain(self) -> Domain:
        return self.over

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.domain.d,)

    @property
    def _extra(self) -> dict[str, float]:
        return {"radius": self.radius, "width": self.domain.gaussian_width(), "modulus": self.modulus}

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        up = rng.random((trials, n, self.domain.d)) < (1 + self.mean / self.size) / 2
        return np.where(up, self.size, -self.size)

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        """With `means_only`, the mean of n records from d binomials, whatever n."""
        if not means_only:
            return super().draw(rng, trials, n)
        ups = rng.binomial(n, (1 + self.mean / self.size) / 2, size=(trials, self.domain.d))
        return Sample(((2 * ups / n - 1) * self.size)[:, None], np.full((1, 1), float(n)))


@dataclass(frozen=True, eq=False)
class QuadraticMean(SignRecords):
    """f(w, x) = |w - x|^2/2 with the mean inside the domain: the excess risk is |w - mean|^2/2."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not bool(self.domain.contains(self.mean)):
            raise InvalidInput("the mean must lie in the domain of QuadraticMean")

    @property
    def constants(self) -> Constants:
        """The Lipschitz constant is at most radius + |size|: attained where a corner's direction is."""
        top = self.radius + float(norm(np.asarray(self.size)))
        d = self.domain.d
        return Constants(
            d=d,
            diameter=self.domain.diameter,
            lipschitz=lambda p: top * equivalence(dual_exponent(p), 2.0, d),
            smoothness=lambda p: equivalence(dual_exponent(p), p, d),
            moment=lambda k, m: top,
            hessian_rank=d,
            family="isotropic quadratic",
            extra=self._extra,
        )

    def loss(self, w: Array, z: Array) -> Array:
        away = w - z
        return np.asarray(np.einsum("...i,...i->...", away, away) / 2)

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(w - z)

    def tilted_minimiser(self, sample: Sample, linear: Array, weight: float) -> Array:
        """argmin over the domain of the mean loss + <linear, w> + weight/2 |w|^2, weight >= 0: (trials, d)."""
        return self.domain.project((sample.mean(sample.values) - linear) / (1 + weight))

    def excess_risk(self, w: Array) -> Array:
        return np.asarray(((w - self.mean) ** 2).sum(axis=-1) / 2)


@dataclass(frozen=True, eq=False)
class LinearMean(SignRecords):
    """f(w, x) = -<x, w>: the excess risk is h(mean) - <mean, w>, h the support function of the domain."""

    @property
    def constants(self) -> Constants:
        size = np.asarray(self.size)
        return Constants(
            d=self.domain.d,
            diameter=self.domain.diameter,
            lipschitz=lambda p: float(norm(size, dual_exponent(p))),
            smoothness=lambda p: 0.0,
            moment=lambda k, m: float(norm(size)),
            hessian_rank=0,
            family="linear",
            extra=self._extra,
        )

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(-(w * z).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.broadcast_to(-z, np.broadcast_shapes(w.shape, z.shape))

    def tilted_minimiser(self, sample: Sample, linear: Array, weight: float) -> Array:
        """argmin over the domain of the mean loss + <linear, w> + weight/2 |w|^2: a projection, or a vertex."""
        slope = sample.mean(sample.values) - linear
        return self.domain.support_point(slope) if weight == 0 else self.domain.project(slope / weight)

    def excess_risk(self, w: Array) -> Array:
        mean = np.asarray(self.mean)
        return np.asarray(np.maximum(0.0, float(self.domain.support(mean)) - w @ mean))


@dataclass(frozen=True, eq=False)
class CurvedMean(SignRecords):
    """f(w, x) = c |w|^2/2 - <x, w>: `LinearMean` at c = 0, `QuadraticMean` at c = 1; known by the L of its class.

    Attributes:
        curvature: c.
        steepest: the L of the class.
    """

    curvature: float = 0.0
    steepest: float = 1.0

    @property
    def constants(self) -> Constants:
        d = self.domain.d
        return Constants(
            d=d, diameter=self.domain.diameter, lipschitz=lambda p: self.steepest, smoothness=lambda p: self.curvature,
            moment=lambda k, m: self.steepest, hessian_rank=d if self.curvature else 0,
            family="isotropic quadratic" if self.curvature else "linear", extra=self._extra,
        )  # fmt: skip

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature / 2 * (w**2).sum(axis=-1) - (w * z).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature * w - z)

    def tilted_minimiser(self, sample: Sample, linear: Array, weight: float) -> Array:
        """argmin over the domain of the mean loss + <linear, w> + weight/2 |w|^2."""
        return self._lowest(sample.mean(sample.values) - linear, self.curvature + weight)

    def _lowest(self, slope: Array, curvature: float) -> Array:
        return self.domain.support_point(slope) if curvature == 0 else self.domain.project(slope / curvature)

    def excess_risk(self, w: Array) -> Array:
        mean = np.asarray(self.mean)
        best = self._lowest(mean, self.curvature)
        # (c best - mean) (w - best) >= 0 at the minimiser, and nothing is lost to cancellation.
        slack = np.maximum(0.0, (w - best) @ (self.curvature * best - mean))
        return np.asarray(self.curvature / 2 * ((w - best) ** 2).sum(axis=-1) + slack)


def signs_on(domain: Domain, length: float, shift: float) -> tuple[Array, Array]:
    """Equal sizes with |size|_2 = `length`, and the mean `shift` times the first size: what the examples use."""
    size = np.full(domain.d, length / math.sqrt(domain.d))
    mean = np.zeros(domain.d)
    mean[0] = shift * size[0]
    return size, mean
