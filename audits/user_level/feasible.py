"""The fewest users that a plan is for, and from how many on it beats the baseline."""

from __future__ import annotations

from typing import Any

from dpcheck.algorithms.user_level import GroupPrivacy
from dpcheck.algorithms.user_level.sizes import smallest_users
from dpcheck.checks import Context
from dpcheck.engine.statements import bound_of
from dpcheck.interfaces import Problem
from dpcheck.verdicts import Point

from .cases import SUMMED, plain

TINY_DELTA = 1e-40
"""So small that T_i K_i delta is no matter: the bad event of Theorem C.3 asks for that (S25)."""
SAMPLES = (1, 100, 10**4, 10**16, 10**24)
SCANNED = (2**20, 2**30, 2**40)


def shapes(context: Context) -> list[tuple[int, int, float]]:
    """(m, d, epsilon)."""
    budgets = context.scale((1.0,), (0.1, 1.0, 10.0))
    return [(m, d, epsilon) for m in SAMPLES for d in (1, 100) for epsilon in budgets]


def first_feasible(algorithm: Any, told: Problem) -> int | None:
    return smallest_users(lambda n: algorithm.feasible(told, n), 1)


def first_better(algorithm: Any, told: Problem, first: int) -> int | None:
    """The first of the scanned n at which its bound is below the baseline's."""
    for n in SCANNED:
        if n < first or not algorithm.feasible(told, n):
            continue
        baseline = bound_of("user_level/proc-group-privacy@summed", GroupPrivacy(), told, n)
        if bound_of(SUMMED[algorithm.label], algorithm, told, n) < baseline:
            return n
    return None


def map_of_feasible_sizes(algorithm: Any, context: Context) -> tuple[dict[str, Any], tuple[Point, ...]]:
    numbers: dict[str, Any] = {}
    points = []
    for m, d, epsilon in shapes(context):
        told = plain(d, m, epsilon, TINY_DELTA)
        first = first_feasible(algorithm, told)
        if first is None:
            continue
        better = first_better(algorithm, told, first)
        said = f"better than the baseline at {better:.2g}" if better else f"not better at n <= {max(SCANNED):.2g}"
        numbers[f"m = {m:g}, d = {d}, epsilon = {epsilon:g}"] = f"feasible from {first:,}, {said}"
        points.append(Point(x=float(m), value=float(first), series=f"d = {d}, epsilon = {epsilon:g}"))
    return numbers, tuple(points)
