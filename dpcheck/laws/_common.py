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
