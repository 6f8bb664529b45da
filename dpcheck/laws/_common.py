"""Validation and small numerics that every law needs."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array


def check_scale(name: str, value: float) -> None:
    """Raises `InvalidInput` unless `value` is a finite number > 0."""
    if not (math.isfinite(value) and value > 0):
        raise InvalidInput(f"{name} must be a finite number > 0, got {value!r}")


def check_sensitivity(sensitivity: float, count: int = 1) -> None:
    """Raises `InvalidInput` unless sensitivity >= 0 (inf allowed) and count >= 1."""
    if not sensitivity >= 0:
        raise InvalidInput(f"a sensitivity must be >= 0, got {sensitivity!r}")
    if count < 1:
        raise InvalidInput(f"count must be >= 1 use of the law, got {count!r}")


def check_epsilon(epsilon: float) -> None:
    """Raises `InvalidInput` for NaN. Negative values are legal: privacy profiles extend below 0."""
    if math.isnan(epsilon):
        raise InvalidInput("epsilon is NaN")


def per_trial(values: Array) -> Array:
    """Sums all axes but the first: (trials, ...) -> (trials,)."""
    return np.asarray(values.reshape(len(values), -1).sum(axis=1))


def pure_profile(pure: float, epsilon: float) -> float:
    """Largest delta(epsilon) of any mechanism that is `pure`-DP: randomised response (Kairouz, Oh, Viswanath 2015).

    Holds for negative `epsilon` too.
    """
    if epsilon >= pure:
        return 0.0
    if epsilon <= -pure:
        return -math.expm1(epsilon)
    return -math.expm1(epsilon - pure) / (1 + math.exp(-pure))


def pure_to_zcdp(epsilon: float) -> float:
    """Smallest rho with "`epsilon`-DP implies rho-zCDP": epsilon tanh(epsilon / 2) <= epsilon^2 / 2.

    D_alpha / alpha of randomised response, which dominates every `epsilon`-DP mechanism, falls in alpha, so its
    supremum is the Kullback-Leibler divergence at alpha -> 1.
    """
    return epsilon * math.tanh(epsilon / 2) if math.isfinite(epsilon) else math.inf
