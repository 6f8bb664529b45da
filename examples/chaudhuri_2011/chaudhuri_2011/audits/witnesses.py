"""Verifiers, each written on its own."""

from mpmath import mp, workdps

from dpcheck.witnesses import Violation
from dpcheck.witnesses.numbers import DIGITS, count, exact, real

__all__ = ["full_rank"]


def full_rank(*, d: int, n: int, epsilon: str, weight: str, H: str) -> Violation:
    """Loss at f = 0 between H|f|^2/2 and a linear loss of slope 1 among n records, noise as Algorithm 2 prints it."""
    share = exact("H", H) / (count("n", n) * exact("weight", weight))
    with workdps(DIGITS):
        allowed, step = real(exact("epsilon", epsilon)), mp.log1p(real(share))
        left = allowed - 2 * step
        if left <= 0:
            left, step = allowed / 2, allowed / 4
        found, statement = left / 2 + count("d", d) * step, f"the privacy loss at f = 0 is at most {epsilon}"
        return Violation(allowed, found, statement, bool(found > allowed), "chaudhuri_2011/rem-any-rank")
