"""What the phases of Algorithms 1 and 3 share: budgets, sizes of phases, and the smallest feasible n."""

from __future__ import annotations

import math
from collections.abc import Callable

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import BudgetRange, Problem, Workload
from dpcheck.numerics import least_integer
from dpcheck.workloads import BaseWorkload, OfUsers

BUDGETS = BudgetRange(
    largest_epsilon=10.0,
    delta_below=1.0,  # the same: no guarantee has a delta of 1 or more
)
"""Of the informal theorems; the formal Theorem B.1 does not name the largest epsilon."""

MOST_BITS = 62
"""Of a number of users that is searched for."""


def samples_of(problem: Problem, label: str) -> int:
    """m, the samples of a user. Raises `InvalidInput` where the problem names none."""
    if problem.samples_per_user < 1:
        raise InvalidInput(f"{label} works on users: name the samples of each, m >= 1 (Problem.samples_per_user, --m)")
    return problem.samples_per_user


def single(workload: Workload, label: str) -> BaseWorkload:
    """The workload of one sample under `Users`. Raises `InvalidInput` for records that are no users."""
    if not isinstance(workload, OfUsers):
        raise InvalidInput(f"{label} works on users: wrap the workload in Users(each=..., samples=m)")
    return workload.each


def log_ratio(product: float, epsilon: float, delta: float) -> float:
    """log(product e^epsilon/delta)."""
    return math.log(product) + epsilon - math.log(delta)


def phase_count(n: int) -> int:
    """l = floor(log2 n)."""
    return n.bit_length() - 1


def best_q(n: int) -> float:
    """q that makes the last phase largest: log2(1 + 1/log2 n)."""
    return math.log2(1 + 1 / math.log2(n))


def phase_size(n: int, q: float, i: int) -> float:
    """n_i = (1 - 2^-q) n/2^(iq), before rounding."""
    return float(-math.expm1(-q * math.log(2)) * n * 2.0 ** (-i * q))


def smallest_users(feasible: Callable[[int], bool], above: int) -> int | None:
    """Smallest n > `above` with `feasible(n)`, for a condition that is monotone where floor(log2 n) does not change.

    At a power of two a phase is added, which may undo what was feasible just below. None beyond 2^`MOST_BITS`.
    """
    for bits in range((above + 1).bit_length(), MOST_BITS + 1):
        high = (1 << bits) - 1
        if feasible(high):
            return least_integer(feasible, max(above, high >> 1), high)
    return None
