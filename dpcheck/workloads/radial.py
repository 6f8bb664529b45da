"""Heavy-tailed distances a |w - b| to one fixed point: every record shares the minimiser, in any dimension."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball
from dpcheck.interfaces import Array, Constants, Rng, Sample
from dpcheck.workloads.amplitudes import Amplitude, Pareto, Spike, root_moment
from dpcheck.workloads.base import BaseWorkload


@dataclass(frozen=True)
class RadialHeavyTail(BaseWorkload):
    """f(w, z) = z |w - b| on the ball of diameter D around 0; a record is the non-negative weight z.

    Attributes:
        b: the common minimiser, a point of the ball; its length is the dimension.
        weights: the law of z, which is also the law of the gradient norm A(z).
    """

    b: tuple[float, ...] = (0.0,)
    D: float = 2.0
    weights: Amplitude = field(default_factory=lambda: Pareto(tail=3.0))

    def __post_init__(self) -> None:
        if not self.D > 0 or not np.linalg.norm(self.b) <= self.D / 2:
            raise InvalidInput(f"b must lie in the ball of diameter D = {self.D}, got |b| = {np.linalg.norm(self.b)}")

    @property
    def domain(self) -> Ball:
        return Ball(radius=self.D / 2, d=len(self.b))

    @property
    def constants(self) -> Constants:
        return Constants(
            d=len(self.b),
            diameter=self.domain.diameter,
            # The gradient z (w - b)/|w - b| has the largest l_q norm along an axis (q >= 2) or a diagonal (q < 2).
            lipschitz=lambda p: self.weights.largest * _stretch(p, len(self.b)),
            smoothness=lambda p: float(np.inf),
            # All unit directions may agree, so the sup of |mean of m gradients| is the mean of m weights.
            moment=self._moment,
        )

    def _moment(self, k: float, m: int) -> float:
        if k == 2 and np.isfinite(self.weights.moment(2)):
            mean = self.weights.moment(1)
            return float(np.sqrt((self.weights.moment(2) - mean**2) / m + mean**2))
        return root_moment(self.weights, k)  # for m > 1 an upper bound, by the triangle inequality

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(z[..., 0] * np.linalg.norm(w - np.asarray(self.b), axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        away = w - np.asarray(self.b)
        length = np.linalg.norm(away, axis=-1, keepdims=True)
        return np.asarray(z * away / np.where(length > 0, length, 1.0))

    def amplitude(self, z: Array) -> Array:
        return np.asarray(z[..., 0], dtype=float)

    def extension(self, w: Array, z: Array, cap: float) -> Array:
        return self.loss(w, np.minimum(z, cap))

    def extension_gradient(self, w: Array, z: Array, cap: float) -> Array:
        return self.gradient(w, np.minimum(z, cap))

    def minimiser(self, sample: Sample, cap: float | None, weight: Array, centre: Array) -> Array:
        """Moves the centre towards b by mean(z)/weight, and no further than b."""
        slope = sample.mean(sample.values if cap is None else np.minimum(sample.values, cap))
        away = centre - np.asarray(self.b)
        length = np.linalg.norm(away, axis=-1, keepdims=True)
        kept = np.maximum(0.0, 1 - slope / (weight * np.where(length > 0, length, 1.0)))
        return self.project(np.asarray(self.b) + np.where(length > 0, kept, 0.0) * away)

    def excess_risk(self, w: Array) -> Array:
        return np.asarray(self.weights.moment(1) * np.linalg.norm(w - np.asarray(self.b), axis=-1))

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return self.weights.sample(rng, (trials, n, 1))

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        if isinstance(self.weights, Spike):
            spikes = rng.binomial(n, self.weights.p, size=trials).astype(float)
            return Sample(np.array([[[self.weights.size], [0.0]]]), np.stack([spikes, n - spikes], axis=1))
        return super().draw(rng, trials, n, means_only=means_only)


def _stretch(p: float, d: int) -> float:
    """sup of the dual norm of l_p over Euclidean unit vectors."""
    q = np.inf if p == 1 else 1.0 if np.isinf(p) else p / (p - 1)
    return float(max(1.0, d ** ((0.0 if np.isinf(q) else 1 / q) - 0.5)))
