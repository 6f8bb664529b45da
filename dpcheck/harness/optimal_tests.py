"""Errors of optimal tests, with and without privacy, and the lower bounds that proofs put on them."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import scipy  # `scipy.stats` takes a second: loaded on first use

from dpcheck.harness.hard_instances import DIGITS, Number, as_mpf
from dpcheck.interfaces import Array


def two_point_error(n: int, p: float, q: float) -> float:
    """Average error of the best test between n Bernoulli(p) and n Bernoulli(q) records: 1/2 sum min of the two pmfs."""
    count = np.arange(n + 1)
    return float(np.minimum(scipy.stats.binom.pmf(count, n, p), scipy.stats.binom.pmf(count, n, q)).sum() / 2)


def coupling_error(n: int, gap: Number, epsilon: Number) -> Any:
    """Least average error of any epsilon-DP test between P^n and Q^n with TV(P, Q) = gap, as a coupling proves it.

    Coupled records differ in K ~ Bin(n, gap) places; group privacy gives E e^(-epsilon K) / 2, in closed form.
    """
    with mpmath.workdps(DIGITS):
        gap, epsilon = as_mpf(gap), as_mpf(epsilon)
        return (1 - gap + gap * mpmath.exp(-epsilon)) ** n / 2


def packing_error(size: int, epsilon: Number, changed: int) -> Any:
    """Average decoding error that epsilon-DP forces on `size` data sets within `changed` records of a common one.

    q / (2 (1 + q)) with q = (size - 1) e^(-epsilon changed) (Barber and Duchi 2014; `pure_heavy_tails/fact-bd14`).
    """
    with mpmath.workdps(DIGITS):
        q = (size - 1) * mpmath.exp(-as_mpf(epsilon) * changed)
        return q / (2 * (1 + q))


def decoding_error(estimates: Array, truth: Array, points: Array) -> tuple[int, int]:
    """Nearest-neighbour decoding: (errors, trials). Ties go to the smaller index.

    Args:
        estimates: (trials, d); truth: (trials,) indices into points (size, d).
    """
    squares = ((estimates[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    wrong = squares.argmin(axis=1) != np.asarray(truth, dtype=np.intp)
    return int(wrong.sum()), len(wrong)
