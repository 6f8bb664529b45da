"""Smallest noise for a promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from scipy import optimize

from dpcheck.accounting.account import account
from dpcheck.accounting.conversion import check_delta
from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Schedule
from dpcheck.numerics import edge
from dpcheck.privacy import Guarantee, gaussian_delta


def _check(sensitivity: float, epsilon: float) -> None:
    if not (math.isfinite(sensitivity) and sensitivity >= 0) or not epsilon > 0:
        raise InvalidInput(
            f"needs a finite sensitivity >= 0 and epsilon > 0, got sensitivity {sensitivity!r}, epsilon {epsilon!r}"
        )


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Largest mu such that mu-Gaussian DP implies (epsilon, delta)-DP, exactly (Balle and Wang 2018)."""
    _check(1.0, epsilon)
    check_delta(delta)
    if delta == 0:
        raise InvalidInput("Gaussian noise is never pure; ask for delta > 0")
    low, high = 0.0, 1.0
    while gaussian_delta(high, epsilon) < delta:
        low, high = high, 2 * high
    return edge(lambda mu: gaussian_delta(mu, epsilon) > delta, low, high, tolerance=1e-14)[0]


def gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """Smallest standard deviation of (epsilon, delta)-DP Gaussian noise, exactly.

    >>> round(gaussian_sigma(1.0, 1.0, 1e-5), 4)
    3.7306
    """
    _check(sensitivity, epsilon)
    return sensitivity / gaussian_mu(epsilon, delta)


def classic_gaussian_sigma(sensitivity: float, epsilon: float, delta: float) -> float:
    """sensitivity sqrt(2 log(1.25 / delta)) / epsilon: proved for epsilon <= 1 only, and false for large epsilon.

    >>> round(classic_gaussian_sigma(1.0, 1.0, 1e-5), 4)
    4.8448
    """
    _check(sensitivity, epsilon)
    check_delta(delta)
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon if delta > 0 else math.inf


def laplace_scale(sensitivity: float, epsilon: float, delta: float = 0.0) -> float:
    """Smallest scale of (epsilon, delta)-DP (isotropic) Laplace noise: sensitivity / (epsilon - 2 log(1 - delta))."""
    _check(sensitivity, epsilon)
    check_delta(delta)
    return sensitivity / (epsilon - 2 * math.log1p(-delta))


def smallest_noise(
    schedule: Callable[[float], Schedule[Any]],
    promise: Guarantee,
    *,
    low: float = 1e-9,
    high: float = 1e9,
    tolerance: float = 1e-9,
) -> float:
    """Smallest noise multiplier x in [low, high] for which the account of `schedule(x)` certifies `promise`.

    Args:
        schedule: must lose less privacy as x grows.
        tolerance: relative; the answer is certified, and at most so much larger than the smallest.

    Raises:
        InvalidInput: `schedule(high)` is not certified.
    """
    if not account(schedule(high)).within(promise):
        raise InvalidInput(f"{promise} is not certified even at the noise multiplier {high:g}; raise `high`")
    if account(schedule(low)).within(promise):
        return low

    def excess(log_x: float) -> float:
        return -1.0 if account(schedule(math.exp(log_x))).within(promise) else 1.0

    bracket = (math.log(low), math.log(high))
    root = float(optimize.bisect(excess, *bracket, xtol=tolerance / 4))
    return math.exp(root + tolerance / 2)
