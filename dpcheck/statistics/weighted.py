"""Weighted guesses: a likelihood-ratio test of (epsilon, delta)-DP that is exact given where the outputs fell.

Guesses come in levels 1..K, the level being the weight of a right guess. Given how many guesses of each level were
made, the right ones are independent binomials whose probabilities are at most theta = e^epsilon / (1 + e^epsilon), up
to what delta adds. The weighted sum has an exact law: a convolution.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, signal, stats

from dpcheck.errors import InvalidInput
from dpcheck.statistics.binomial import NUISANCE, clopper_pearson

Array = NDArray[np.float64]
_TRIMMED = 1e-13


def weighted_p_value(
    right: ArrayLike,
    wrong: ArrayLike,
    samples: int,
    epsilon: float,
    delta: float = 0.0,
    failure_probability: float = 0.05,
) -> float:
    """p-value of (epsilon, delta)-DP, both directions, from guesses of levels 1..K.

    With delta > 0 the leak may favour any level: in level l it raises the chance of a right guess to
    theta + (1 - theta) delta / s_l, with s_l the chance of such a guess (its lower bound at 1e-4 of the failure
    probability); the largest p-value over the levels counts. Best suited to a delta well below the chances s_l.

    Args:
        right, wrong: (K,) guesses of level 1..K among `samples` coin-flipped trials.
    """
    hits, misses = np.asarray(right, dtype=np.int64), np.asarray(wrong, dtype=np.int64)
    if hits.ndim != 1 or hits.shape != misses.shape or (hits < 0).any() or (misses < 0).any():
        raise InvalidInput("right and wrong must be one-dimensional counts of equal length")
    if int((hits + misses).sum()) > samples:
        raise InvalidInput(f"more guesses ({int((hits + misses).sum())}) than samples ({samples})")
    made = hits + misses
    score = int((np.arange(1, len(hits) + 1) * hits).sum())
    theta = 1 / (1 + math.exp(-epsilon))
    if delta == 0:
        return _tail(score, made, np.full(len(made), theta))
    spent = NUISANCE * failure_probability
    worst = 0.0
    for level in np.flatnonzero(made):
        chance = float(clopper_pearson([made[level]], [samples], spent, "lower")[0][0])
        chances = np.full(len(made), theta)
        chances[level] = min(1.0, theta + (1 - theta) * delta / chance)
        worst = max(worst, _tail(score, made, chances))
    return min(1.0, worst + spent) if made.any() else 1.0


def _tail(score: int, made: NDArray[np.int64], chances: Array) -> float:
    """P(sum over levels of level * Bin(made, chance) >= score), up to 1e-12."""
    law, offset = np.ones(1), 0
    for level, (n, p) in enumerate(zip(made, chances, strict=True), start=1):
        if n == 0:
            continue
        low, high = int(stats.binom.ppf(_TRIMMED, n, p)), int(stats.binom.isf(_TRIMMED, n, p))
        part = np.zeros((high - low) * level + 1)
        part[::level] = stats.binom.pmf(np.arange(low, high + 1), n, p)
        wide = min(len(law), len(part)) > 64
        law = signal.fftconvolve(law, part) if wide else np.convolve(law, part)
        offset += low * level
    start = score - offset
    if start <= 0:
        return 1.0
    return float(np.clip(law[start:].sum(), 0.0, 1.0)) + 2 * _TRIMMED * len(made) if start < len(law) else 2e-12


def epsilon_lower_weighted(
    right: ArrayLike, wrong: ArrayLike, samples: int, delta: float = 0.0, failure_probability: float = 0.05
) -> float:
    """Certified lower bound on epsilon at `delta`: the p-value grows with epsilon, its root is the bound; 0 if none."""

    def excess(epsilon: float) -> float:
        p = weighted_p_value(right, wrong, samples, epsilon, delta, failure_probability)
        return math.log(max(p, 1e-12) / failure_probability)

    if failure_probability <= 1e-10:
        raise InvalidInput(f"failure_probability must exceed 1e-10 for the convolution, got {failure_probability!r}")
    if excess(0.0) > 0:
        return 0.0
    total_right, total_wrong = float(np.sum(right)), float(np.sum(wrong))
    high = max(0.5, math.log((total_right + 1) / (total_wrong + 0.5)))
    while excess(high) <= 0 and high < 700:
        high = 1.3 * high + 0.2
    found = float(optimize.brentq(excess, 0.0, high, xtol=1e-5))
    return max(0.0, found - 2e-5)
