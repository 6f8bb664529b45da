"""Searches by halving, for the least size that will do and for edges on the line; by golden sections, for a minimum."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def edge(
    holds: Callable[[float], bool], low: float, high: float, *, halvings: int = 5000, tolerance: float = 0.0
) -> tuple[float, float]:
    """A bracket of where a condition sets in: it fails at the first end, and holds at the second.

    Args:
        low, high: a bracket already; the ends are not asked.
        halvings: at most so many; otherwise down to a width of `tolerance * high`, or to neighbouring floats.
    """
    for _ in range(halvings):
        middle = (low + high) / 2
        if high - low <= tolerance * high or middle in (low, high):
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low, high


def edges(
    hold: Callable[[Array], NDArray[np.bool_]],
    low: Array,
    high: Array,
    *,
    halvings: int,
    tolerance: float | None = None,
) -> tuple[Array, Array]:
    """`edge` on many lines at once, arrays of one shape; all halvings are made unless there is a `tolerance`."""
    for _ in range(halvings):
        if tolerance is not None and (high - low <= tolerance * high).all():
            break
        middle = (low + high) / 2
        there = hold(middle)
        low, high = np.where(there, low, middle), np.where(there, middle, high)
    return low, high


def least_value(value: Callable[[float], float], low: float, high: float, *, width: float = 1e-6) -> float:
    """The smallest of the values that are met on the way to the minimum of a unimodal function, by golden sections.

    What `scipy.optimize` has does this in fewer steps, and takes longer to import than a plan may take altogether.

    Args:
        width: of the bracket in the end; the value is then as near to the minimum as the square of that.
    """
    share = (math.sqrt(5) - 1) / 2
    left, right = high - share * (high - low), low + share * (high - low)
    at_left, at_right = value(left), value(right)
    least = min(at_left, at_right)
    while high - low > width and low < left < right < high:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - share * (high - low)
            at_left = value(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + share * (high - low)
            at_right = value(right)
        least = min(least, at_left, at_right)
    return least


def least_integer(feasible: Callable[[int], bool], low: int, high: int) -> int:
    """Least feasible integer in (low, high], for a condition that holds at `high` and stays true once it is."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if feasible(middle) else (middle, high)
    return high


def smallest_n(feasible: Callable[[int], bool], limit: int = 2**62) -> int | None:
    """Smallest n with `feasible(n)`, for a condition that stays true once it is; None above `limit`."""
    high = 1
    while not feasible(high):
        high *= 2
        if high > limit:
            return None
    return least_integer(feasible, high // 2, high)


def next_feasible(feasible: Callable[[int], bool], n: int, scan: int = 1024, limit: int = 2**50) -> int | None:
    """The least size above n that is feasible, while no size at hand is; None where none is found up to `limit`.

    Each of the next `scan` sizes is tried; beyond them sizes are doubled and the edge is found by bisection, so that
    the answer is feasible and the size below it is not. It is the least one wherever feasibility, once reached beyond
    the scan, stays.
    """
    for size in range(n + 1, n + scan + 1):
        if feasible(size):
            return size
    low, high = n + scan, 2 * (n + scan)
    while not feasible(high):
        low, high = high, 2 * high
        if high > limit:
            return None
    return least_integer(feasible, low, high)
