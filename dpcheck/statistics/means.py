"""Means of heavy-tailed losses: what refutes a bound on an expectation, and what merely supports it.

No data-only upper confidence bound of a mean is valid without a moment assumption. Refuting E[R] <= B for R >= 0 needs
none: a bettor against it (Waudby-Smith and Ramdas 2024, "Estimating means of bounded random variables by betting")
whose stakes lie in [0, 1) cannot go broke, and by Ville's inequality rarely gets rich if the bound is true.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpcheck.errors import InvalidInput
from dpcheck.statistics.binomial import check_probability

Array = NDArray[np.float64]
STAKES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.7)
"""Fractions of the wealth staked on R > B; the wealths of all bettors are averaged."""


@dataclass(frozen=True)
class Betting:
    """Outcome of a betting test of E[R] <= bound.

    Attributes:
        log_e_value: log wealth after the last value; combine runs by adding (independent) these.
        log_maximum: largest log wealth on the way: by Ville's inequality min(1, e^-log_maximum) is a p-value.
        crossed: number of values after which the wealth first reached 1 / failure_probability, or None.
    """

    log_e_value: float
    log_maximum: float
    crossed: int | None

    @property
    def p_value(self) -> float:
        return min(1.0, math.exp(-self.log_maximum))


def refute_mean(values: ArrayLike, bound: float, failure_probability: float = 0.05) -> Betting:
    """Bets against E[R] <= bound, R >= 0 independent (or a conditional expectation bounded at every step).

    Waudby-Smith and Ramdas (2024) with fixed stakes; the wealth is a nonnegative supermartingale (Ville 1939).

    Args:
        values: (trials,), nonnegative, in the order in which they were drawn.
        bound: B > 0.

    Raises:
        InvalidInput: negative or non-finite values, or a bound that is not positive.
    """
    check_probability(failure_probability)
    r = _finite(values)
    if not (math.isfinite(bound) and bound > 0):
        raise InvalidInput(f"the bound must be a finite number > 0, got {bound!r}")
    if (r < 0).any():
        raise InvalidInput(f"a betting test needs values >= 0, got {float(r.min())!r}; subtract the minimum risk first")
    stakes = np.array(STAKES)[:, None]
    wealth = np.cumsum(np.log1p(stakes * (r / bound - 1)), axis=1)
    log_mixture = scipy.special.logsumexp(wealth, axis=0) - math.log(len(STAKES))
    reached = np.flatnonzero(log_mixture >= -math.log(failure_probability))
    return Betting(
        log_e_value=float(log_mixture[-1]),
        log_maximum=float(max(0.0, log_mixture.max())),
        crossed=int(reached[0]) + 1 if len(reached) else None,
    )


def bootstrap_t_upper(
    values: ArrayLike, failure_probability: float, rng: np.random.Generator, resamples: int = 1000
) -> float:
    """Studentised-bootstrap upper bound of a mean (Efron and Tibshirani 1993, section 12.5).

    Evidence, never proof: measured miss rates at a nominal 5 % reach 13 % (lognormal, 200 values).
    """
    check_probability(failure_probability)
    r = _finite(values)
    centre, n = float(r.mean()), len(r)
    se = float(r.std(ddof=1)) / math.sqrt(n)
    if se == 0:
        return centre
    statistics = np.empty(resamples)
    block = max(1, 2**22 // n)
    for start in range(0, resamples, block):
        drawn = r[rng.integers(n, size=(min(block, resamples - start), n))]
        spread = drawn.std(axis=1, ddof=1) / math.sqrt(n)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (drawn.mean(axis=1) - centre) / spread
        statistics[start : start + len(drawn)] = np.where(spread > 0, t, 0.0)
    return centre - se * float(np.quantile(statistics, failure_probability))


def block_means_upper(values: ArrayLike, blocks: int = 5) -> float:
    """Largest of `blocks` block means: misses with probability (1 - q)^blocks when each exceeds the mean with chance q.

    3 % at five blocks when block means are symmetric about the mean; more under skewed heavy tails. (The interval of
    the sign test, Dixon and Mood 1946, on the means of blocks.)
    """
    r = _finite(values)
    if not 1 <= blocks <= len(r):
        raise InvalidInput(f"blocks must lie between 1 and the {len(r)} values, got {blocks}")
    return float(max(part.mean() for part in np.array_split(r, blocks)))


def catoni_upper(values: ArrayLike, moment: float, failure_probability: float, order: float = 2.0) -> float:
    """Valid upper bound of a mean under a declared central moment E|R - E R|^order <= moment.

    Catoni (2012); for orders in (1, 2) Chen, Jin, Li and Xu (2021). The influence function psi obeys
    -psi(x) <= log(1 - x + |x|^order / order), so exp(-sum psi(a (R_i - E R))) has mean at most
    exp(n a^order moment / order); Markov's inequality is then inverted in E R.
    """
    check_probability(failure_probability)
    r = _finite(values)
    if not 1 < order <= 2:
        raise InvalidInput(f"order must lie in (1, 2], got {order!r}; a higher moment bounds the second one")
    if not (math.isfinite(moment) and moment > 0):
        raise InvalidInput(f"moment must be a finite number > 0, got {moment!r}")
    n, log_term = len(r), math.log(1 / failure_probability)
    scale = (order * log_term / ((order - 1) * n * moment)) ** (1 / order)
    level = -(n * scale**order * moment / order + log_term)

    def excess(centre: float) -> float:
        x = scale * (r - centre)
        influence = np.sign(x) * np.log1p(np.abs(x) + np.abs(x) ** order / order)
        return float(influence.sum() - level)

    low, high = float(r.min()), float(r.max()) + 1 / scale
    while excess(high) > 0:
        high += high - low + 1 / scale
    return float(scipy.optimize.brentq(excess, low, high))


def _finite(values: ArrayLike) -> Array:
    r = np.asarray(values, dtype=float)
    if r.ndim != 1 or len(r) < 2:
        raise InvalidInput(f"values must be one-dimensional with at least 2 entries, got shape {r.shape}")
    if not np.isfinite(r).all():
        at = int(np.flatnonzero(~np.isfinite(r))[0])
        raise InvalidInput(f"values holds {r[at]} at index {at}; every trial must be finite")
    return r
