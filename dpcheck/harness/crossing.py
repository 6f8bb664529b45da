"""From which size on a bound says something: where it falls below 1 for good."""

from __future__ import annotations

import math
from collections.abc import Callable

from dpcheck.harness import accuracy
from dpcheck.verdicts import Verdict, combine


def crossing(bound: Callable[[float], float]) -> float:
    """Smallest n (to 1 %) from which the bound stays below 1 on a grid of half octaves; inf beyond 10^36."""
    grid = [float(2.0 ** (k / 2)) for k in range(2, 240)]
    above = [x for x in grid if bound(x) >= 1]
    if not above:
        return grid[0]
    if above[-1] == grid[-1]:
        return math.inf
    low, high = above[-1], above[-1] * 2**0.5
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if bound(middle) >= 1 else (low, middle)
    return high


def judge_crossing(name: str, bound: Callable[[float], float], crosses: float, reference: float = 0.0) -> Verdict:
    """The bound is below 1 at the crossing and above it before; `reference`: a number of the derivation to be met."""
    sides = accuracy.never_violated(
        [bound(crosses), 1.0],
        [1.0, bound(crosses / 1.02) if crosses > 2.5 else 1.0],
        statement=f"{name}: below 1 at n = {crosses:.3g} and not before",
        covers="both sides of the crossing",
        evidence="certificate",
        tolerance=0.0,
    )
    if not reference:
        return sides
    return combine(
        [
            sides,
            accuracy.never_violated(
                abs(crosses / reference - 1),
                0.05,
                statement=f"{crosses:.4g} is {reference:.2g}",
                covers="the number in the derivation",
            ),
        ]
    )
