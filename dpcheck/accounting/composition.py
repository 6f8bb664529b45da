"""Composition of pure and Gaussian mechanisms, exactly; advanced and optimal composition as theorems."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from dpcheck.accounting.conversion import check_delta, check_nonnegative
from dpcheck.errors import InvalidInput
from dpcheck.numerics import edge
from dpcheck.privacy import gaussian_profile
from dpcheck.statistics.binomial import binomial_masses

Array = NDArray[np.float64]
OUTCOMES = 20_000
"""Most outcomes of composed randomised responses that are enumerated."""
FEW = 50
"""Up to so many, binomial coefficients are written out: `scipy.special` takes longer to load than most of a plan."""


def advanced_composition(epsilon: float, delta: float, count: int, slack: float) -> tuple[float, float]:
    """Dwork, Rothblum and Vadhan 2010: `count` adaptive (epsilon, delta)-DP mechanisms.

    Returns:
        (sqrt(2 count log(1 / slack)) epsilon + count epsilon (e^epsilon - 1), count delta + slack).
    """
    check_nonnegative("epsilon", epsilon)
    check_delta(delta)
    if count < 1 or not 0 < slack < 1:
        raise InvalidInput(f"needs count >= 1 and slack in (0, 1), got {count!r} and {slack!r}")
    spread = math.sqrt(2 * count * -math.log(slack)) * epsilon
    return spread + count * epsilon * math.expm1(epsilon), count * delta + slack


def optimal_delta(epsilon: float, delta: float, count: int, total_epsilon: float) -> float:
    """Kairouz, Oh and Viswanath 2015: exact delta at `total_epsilon` of `count` (epsilon, delta)-DP mechanisms.

    >>> optimal_delta(0.1, 0.0, 1, 0.1)
    0.0
    """
    check_nonnegative("epsilon", epsilon)
    check_delta(delta)
    composed = Composition(pure=[(epsilon, count)])
    # With probability 1 - (1 - delta)^count one of them fails outright.
    kept = count * math.log1p(-delta)
    return min(1.0, -math.expm1(kept) + math.exp(kept) * composed.delta(total_epsilon))


def optimal_epsilon(epsilon: float, delta: float, count: int, total_delta: float) -> float:
    """Smallest total epsilon at `total_delta` of `count` (epsilon, delta)-DP mechanisms; inf when there is none."""
    check_delta(total_delta)
    return smallest_epsilon(lambda e: optimal_delta(epsilon, delta, count, e), total_delta, count * epsilon)


def smallest_epsilon(
    delta_at: Callable[[float], float], delta: float, start: float = 1.0, tolerance: float = 1e-12
) -> float:
    """Smallest epsilon >= 0 with delta_at(epsilon) <= delta, from above to a relative `tolerance`; inf beyond 1e6."""
    if delta_at(0.0) <= delta:
        return 0.0
    low, high = 0.0, max(start, 1e-9)
    while delta_at(high) > delta:
        low, high = high, 2 * high
        if high > 1e6:
            return math.inf
    return edge(lambda epsilon: delta_at(epsilon) <= delta, low, high, tolerance=tolerance)[1]


class Composition:
    """Adaptive composition of pure mechanisms and a Gaussian one, each at its worst: exact delta(epsilon).

    Randomised response dominates a pure mechanism, N(0, 1) against N(mu, 1) a mu-Gaussian one, and dominating pairs
    compose adaptively. With no Gaussian part this is optimal composition (Kairouz, Oh, Viswanath 2015; Murtagh, Vadhan
    2016), enumerated.

    Args:
        pure: (epsilon, how many) of the pure mechanisms.
        mu: of all Gaussian mechanisms together.
    """

    def __init__(self, pure: Sequence[tuple[float, int]] = (), mu: float = 0.0) -> None:
        self.mu = mu
        losses, weights = np.zeros(1), np.ones(1)
        for epsilon, count in _merged(pure):
            wins = np.arange(count + 1)
            chance = _responses(epsilon, count)
            losses = (losses[:, None] + epsilon * (2 * wins - count)).ravel()
            weights = (weights[:, None] * chance).ravel()
        self.losses, self.weights = losses, weights

    @staticmethod
    def enumerable(pure: Sequence[tuple[float, int]]) -> bool:
        """Whether the outcomes of these mechanisms are few enough to list."""
        return math.prod(count + 1 for _, count in _merged(pure)) <= OUTCOMES

    def delta(self, epsilon: float) -> float:
        """Exact hockey-stick divergence of the composed dominating pairs."""
        if math.isinf(epsilon):
            return 0.0
        return min(1.0, float(self.weights @ gaussian_profile(self.mu, epsilon - self.losses)))

    def epsilon(self, delta: float) -> float:
        """Smallest epsilon at `delta`."""
        check_delta(delta)
        if self.mu == 0 and delta == 0:
            return float(self.losses.max())
        if delta == 0:
            return math.inf
        return smallest_epsilon(self.delta, delta, float(self.losses.max()) + self.mu)


def _responses(epsilon: float, count: int) -> NDArray[np.float64]:
    """The law of the number of true answers among `count` randomised responses, none of them rounded to 0 or 1."""
    lies = np.arange(count, -1, -1)
    if count > FEW:
        return binomial_masses(lies, count, scipy.special.expit(-epsilon))
    ways = np.array([math.comb(count, lie) for lie in range(count + 1)], dtype=float)
    return np.asarray(ways * np.exp(-epsilon * lies - count * math.log1p(math.exp(-epsilon))))


def _merged(pure: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    together: dict[float, int] = {}
    for epsilon, count in pure:
        check_nonnegative("epsilon", epsilon)
        if epsilon > 0:
            together[epsilon] = together.get(epsilon, 0) + count
    return sorted(together.items())
