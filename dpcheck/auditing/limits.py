"""The limit of theory: what the best test of any kind, knowing both laws, could do with so many runs.

In the limit of many trials the likelihood-ratio test against the nearest null is best; by the central limit theorem it
rejects at level alpha with probability 1/2 once trials * divergence = z^2 / 2.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpcheck.errors import InvalidInput
from dpcheck.statistics.evalues import nearest_null


def limit_epsilon(p: ArrayLike, q: ArrayLike, delta: float, trials: int, failure_probability: float = 0.05) -> float:
    """Largest epsilon that the best test certifies with probability 1/2 from `trials` runs on each input.

    Args:
        p, q: (cells,) laws of the output on a partition fine enough.
    """
    needed = float(scipy.stats.norm.isf(failure_probability)) ** 2 / 2 / trials

    def surplus(epsilon: float) -> float:
        return float(nearest_null(p, q, epsilon, delta).growth) - needed

    if surplus(0.0) <= 0:
        return 0.0
    high = 0.5
    while surplus(high) > 0:
        high *= 1.5
        if high > 500:
            return math.inf
    return float(scipy.optimize.brentq(surplus, 0.0, high, xtol=1e-6))


def fewest_samples(
    p: ArrayLike, q: ArrayLike, epsilon: float, delta: float, failure_probability: float, power: float = 0.5
) -> int | None:
    """Runs, both inputs together, that any test of (epsilon, delta)-DP needs for this power; None: not violated."""
    if not 0 < power < 1:
        raise InvalidInput(f"power must lie in (0, 1), got {power!r}")
    divergence = float(nearest_null(p, q, epsilon, delta).growth)
    if divergence < 1e-12:
        return None
    reach = float(scipy.stats.norm.isf(failure_probability) + scipy.stats.norm.ppf(power))
    told = delta + (1 - delta) / (1 + math.exp(-epsilon))
    return max(math.ceil(2 * reach**2 / 2 / divergence), _fewest_if_told(told, failure_probability, power))


def _fewest_if_told(right: float, failure_probability: float, power: float) -> int:
    """Runs that no test does without even where every output tells its input, if the claim lets `right` of them do so.

    The null has the pair that tells the truth with this probability and exchanges the inputs else: its likelihood ratio
    to any pair of laws is at most 1/right a run, so that the power is at most the level times right^-runs.
    """
    return max(2, math.ceil(math.log(power / failure_probability) / -math.log(right)))


def fewest_of_any(
    exact: float, claimed: float, delta: float, failure_probability: float, power: float = 0.5
) -> int | None:
    """Runs, both inputs together, that no test of any mechanism with this exact privacy does without; None: none will.

    Every (exact, delta)-DP pair is a post-processing of leaky randomised response (Kairouz, Oh and Viswanath 2015), and
    a test of level alpha and this power needs runs * divergence >= kl(power, alpha), by the data-processing inequality.
    """
    if not 0 < failure_probability < power < 1:
        raise InvalidInput(f"need 0 < failure_probability < power < 1, got {failure_probability!r} and {power!r}")
    theta = 1 / (1 + math.exp(-exact))
    law = np.array([delta, 0.0, (1 - delta) * theta, (1 - delta) * (1 - theta)])
    divergence = float(nearest_null(law, law[[1, 0, 3, 2]], claimed, delta).growth)
    if divergence < 1e-12:
        return None
    spread = scipy.special.rel_entr(power, failure_probability) + scipy.special.rel_entr(
        1 - power, 1 - failure_probability
    )
    return max(2, math.ceil(2 * float(spread) / divergence))


def fewest_on_gaussian_curve(mu: float, claimed: float, failure_probability: float, power: float = 0.5) -> int | None:
    """Runs, both inputs together, to refute `claimed`-GDP from N(0, 1) against N(mu, 1).

    Among the pairs of the null is N(0, 1) against N(claimed, 1) moved to the middle: telling them apart takes this
    many, by the difference of means. So no test of the curve needs fewer; None: not violated.
    """
    if mu <= claimed:
        return None
    reach = float(scipy.stats.norm.isf(failure_probability) + scipy.stats.norm.ppf(power))
    told = _fewest_if_told(float(scipy.stats.norm.cdf(claimed / 2)), failure_probability, power)
    return max(told, math.ceil(4 * (reach / (mu - claimed)) ** 2))
