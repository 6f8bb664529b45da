"""Smallest noise for a promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

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
    root = float(scipy.optimize.bisect(excess, *bracket, xtol=tolerance / 4))
    return math.exp(root + tolerance / 2)


def classical_noise(factor: float, top: float, most: float) -> tuple[float, float, float]:
    """Whether N(0, sigma^2), Delta/sigma = epsilon/s, s = factor sqrt(log(1/delta)), is (epsilon, delta)-DP throughout.

    For epsilon <= top and delta <= most. At fixed delta the exact curve f(mu) = Phi(mu/2 - s) - e^(s mu) Phi(-mu/2 - s)
    increases in mu = epsilon/s: f' = phi(s - mu/2) - s e^(s mu) Phi(-s - mu/2) >= phi(s - mu/2) (1 - s/(s + mu/2)) by
    Mills' ratio, since e^(s mu) phi(s + mu/2) = phi(s - mu/2). So epsilon = top decides. There the curve decreases in
    ℒ = log(1/delta), hence on a cell of ℒ it is largest at its lower end; and above ℒ = 4/factor^2 it is at most
    Phi(-x), x = s - mu/2, <= e^(-s^2/2 + top/2)/(x sqrt(2 pi)).

    Returns:
        (largest ratio of curve to delta on the cells, the same of the tail bound above them, delta at which it is).
    """
    start, end = math.log(1 / most), 4 / factor**2
    cells = np.geomspace(start, end, 4001) if end > start else np.array([start, start])
    low, high = cells[:-1], cells[1:]
    curve = np.array([gaussian_delta(top / (factor * math.sqrt(x)), top) for x in low])
    ratios = curve / np.exp(-high)
    s = factor * math.sqrt(max(end, start))
    x = s - top / (2 * s)
    # e^(-s^2/2)/e^(-ℒ) = e^(-(factor^2/2 - 1) ℒ) decreases, or is 1, for factor^2 >= 2 only; 1/x decreases.
    shrinking = factor**2 >= 2 - 1e-12
    beyond = math.exp(-(factor**2 / 2 - 1) * max(end, start) + top / 2) / (x * math.sqrt(2 * math.pi))
    tail = beyond if shrinking else math.inf
    return float(ratios.max()), tail, float(np.exp(-low[int(ratios.argmax())]))
