"""Verifiers, each written on its own."""

from __future__ import annotations

import mpmath

from dpcheck import foreign
from dpcheck.witnesses import Violation

__all__ = ["full_rank"]


def full_rank(*, d: int, n: int, epsilon: str, weight: str, H: str) -> Violation:
    """Loss at f = 0 between H|f|^2/2 and a linear loss of slope 1 among n records, noise as Algorithm 2 prints it."""
    budget, t = foreign.fraction(epsilon), foreign.fraction(H) / (foreign.integer(n) * foreign.fraction(weight))
    if min(foreign.integer(d), foreign.integer(n), budget, t) <= 0 or foreign.fraction(H) <= 0:
        raise ValueError("sizes, budget, weight and curvature must be > 0")
    with mpmath.workdps(50):
        allowed, step = (
            mpmath.mpf(budget.numerator) / budget.denominator,
            mpmath.log1p(mpmath.mpf(t.numerator) / t.denominator),
        )
        left = allowed - 2 * step
        if left <= 0:
            left, step = allowed / 2, allowed / 4
        found, statement = left / 2 + d * step, f"the privacy loss at f = 0 is at most {epsilon}"
        return Violation(allowed, found, statement, bool(found > allowed), "chaudhuri_2011/rem-any-rank")
