"""The smallest n that would do, for algorithms whose feasibility flickers as their integers round up and down."""

from __future__ import annotations

from collections.abc import Callable


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
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if feasible(middle) else (middle, high)
    return high
