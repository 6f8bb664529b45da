"""Selection of one candidate from private scores: the exponential mechanism and report-noisy-min.

Scores are minimised. The sensitivity of a selection (norm "range") is the largest change of a single score, in either
direction, that one record may cause.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Rng
from dpcheck.laws._common import check_epsilon, check_scale, check_sensitivity
from dpcheck.laws.winners import winner_probabilities
from dpcheck.privacy import pure_delta, pure_to_zcdp


def _scores(core: Array) -> Array:
    if core.ndim != 2 or core.shape[1] < 1:
        raise InvalidInput(f"a selection needs scores of shape (trials, candidates), got {core.shape}")
    return core


def _chosen(log_probabilities: Array, output: Array) -> Array:
    """The entry that each trial's output (trials, 1) points to; NaN for a halted trial."""
    index = np.asarray(output, dtype=float).reshape(len(output))
    halted = np.isnan(index)
    place = np.where(halted, 0, index).astype(np.intp)
    trials = max(len(log_probabilities), len(place))
    table = np.broadcast_to(log_probabilities, (trials, log_probabilities.shape[1]))
    return np.where(halted, np.nan, table[np.arange(trials), place])


@dataclass(frozen=True)
class Exponential:
    """The exponential mechanism on a finite set: P(j) proportional to exp(-coefficient * score_j).

    Its privacy loss lies in an interval of length r = 2 coefficient * sensitivity ("bounded range"), which beats r-DP
    when composed.

    >>> Exponential(coefficient=0.25).pure(sensitivity=2.0)
    1.0
    """

    coefficient: float
    below_laplace: ClassVar[bool] = True
    """Its curve lies nowhere above that of Laplace noise of the same pure epsilon."""

    def __post_init__(self) -> None:
        check_scale("coefficient", self.coefficient)

    @property
    def noise(self) -> float:
        """1 / coefficient, the scale of the Gumbel noise that would select alike."""
        return 1 / self.coefficient

    def log_probabilities(self, scores: Array) -> Array:
        """Exact log-probabilities of every candidate: (trials, K) -> (trials, K)."""
        lowest = _scores(scores).min(axis=1, keepdims=True)
        weights = -self.coefficient * (scores - lowest)
        return np.asarray(weights - scipy.special.logsumexp(weights, axis=1, keepdims=True))

    def probabilities(self, scores: Array) -> Array:
        """Exact probabilities of every candidate: (trials, K) -> (trials, K)."""
        return np.asarray(np.exp(self.log_probabilities(scores)))

    def sample(self, core: Array, rng: Rng) -> Array:
        """Index of the candidate selected by each trial, (trials, 1), by the Gumbel-max identity."""
        noisy = self.coefficient * (_scores(core) - core.min(axis=1, keepdims=True)) - rng.gumbel(size=core.shape)
        return np.asarray(noisy.argmin(axis=1)[:, None], dtype=float)

    def log_ratio(self, output: Array, core: Array, other: Array) -> Array:
        """log P(output | core) - log P(output | other): (trials,)."""
        return np.asarray(
            _chosen(self.log_probabilities(core), output) - _chosen(self.log_probabilities(other), output)
        )

    def range(self, sensitivity: float) -> float:
        """Length r of the interval that holds the privacy loss: 2 coefficient * sensitivity."""
        check_sensitivity(sensitivity)
        return 2 * self.coefficient * sensitivity

    def pure(self, sensitivity: float, count: int = 1) -> float:
        """count * 2 coefficient * sensitivity."""
        check_sensitivity(sensitivity, count)
        return count * self.range(sensitivity)

    def zcdp(self, sensitivity: float, count: int = 1) -> float:
        """count (y - 1 - log y), y = r / (e^r - 1): the least rho of range r, at most r^2 / 8 (Dong et al. 2020).

        D_alpha / alpha of the worst pair is a weighted mean of a logistic density, whose weights spread out as alpha
        grows, so its supremum over alpha and over pairs is the largest Kullback-Leibler divergence.
        """
        check_sensitivity(sensitivity, count)
        return count * bounded_range_zcdp(self.range(sensitivity))

    def renyi(self, alpha: float, sensitivity: float) -> float:
        """alpha times the rho of `zcdp`, or the range where that is less."""
        return min(self.range(sensitivity), alpha * self.zcdp(sensitivity))

    def delta(self, epsilon: float, sensitivity: float) -> float:
        """Exact worst case over all scores, attained by two candidates: (1 - e^((eps - r) / 2))^2 / (1 - e^-r)."""
        check_epsilon(epsilon)
        r = self.range(sensitivity)
        if epsilon >= r:
            return 0.0
        if epsilon <= -r:
            return -math.expm1(epsilon)
        return math.expm1((epsilon - r) / 2) ** 2 / -math.expm1(-r)


def bounded_range_zcdp(r: float) -> float:
    """Least rho such that every selection of bounded range r is rho-zCDP; r^2 / 8 - r^4 / 576 + ... for small r."""
    if math.isinf(r):
        return math.inf
    if r < 1e-2:
        return r * r / 8 - r**4 / 576
    y = r * math.exp(-r) / -math.expm1(-r)
    return y - 1 + r + math.log(-math.expm1(-r)) - math.log(r)


@dataclass(frozen=True)
class NoisyMin:
    """Report-noisy-min: the index of the least score after Laplace noise of that scale on each; ties at random.

    It is not of bounded range, so the exponential mechanism's r^2 / 8 does not apply to it.
    """

    scale: float

    def __post_init__(self) -> None:
        check_scale("scale", self.scale)

    @property
    def noise(self) -> float:
        """The scale that tables show."""
        return self.scale

    def sample(self, core: Array, rng: Rng) -> Array:
        """Index of the candidate selected by each trial: (trials, 1)."""
        noisy = _scores(core) + rng.laplace(scale=self.scale, size=core.shape)
        return np.asarray(noisy.argmin(axis=1)[:, None], dtype=float)

    def log_probabilities(self, scores: Array) -> Array:
        """Log-probabilities of every candidate by quadrature to about 1e-12: (trials, K) -> (trials, K)."""
        return winner_probabilities(_scores(scores) / self.scale)

    def probabilities(self, scores: Array) -> Array:
        """Probabilities of every candidate by quadrature: (trials, K) -> (trials, K)."""
        return np.asarray(np.exp(self.log_probabilities(scores)))

    def log_ratio(self, output: Array, core: Array, other: Array) -> Array:
        """log P(output | core) - log P(output | other): (trials,)."""
        return np.asarray(
            _chosen(self.log_probabilities(core), output) - _chosen(self.log_probabilities(other), output)
        )

    def pure(self, sensitivity: float, count: int = 1) -> float:
        """count * 2 sensitivity / scale."""
        check_sensitivity(sensitivity, count)
        return count * 2 * (sensitivity / self.scale)

    def zcdp(self, sensitivity: float, count: int = 1) -> float:
        """What pure DP implies; see `pure_to_zcdp`."""
        check_sensitivity(sensitivity, count)
        return count * pure_to_zcdp(self.pure(sensitivity))

    def delta(self, epsilon: float, sensitivity: float) -> float:
        """Upper bound over every number of candidates and all scores: the curve of randomised response.

        For one given pair of scores the exact curve follows from `probabilities`.
        """
        check_epsilon(epsilon)
        return pure_delta(self.pure(sensitivity), epsilon)
