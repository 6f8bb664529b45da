"""Where an algorithm runs: inside of each of its conditions, up to the edge, and nowhere just outside."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from dpcheck.errors import DpcheckError, Infeasible
from dpcheck.interfaces import Algorithm, Problem
from dpcheck.verdicts import Verdict, differs, holds

Plan = tuple[str, Algorithm[Any], Problem, int, bool]
"""What is at the edge, the algorithm, its problem and n, and whether it can be planned there."""
Call = tuple[str, Callable[[], object], bool]
"""What is at the edge, what is called, and whether it answers there."""
Edges = tuple[Iterable[Plan], Iterable[Call]]


def dialled(algorithm: Any) -> bool:
    """Whether its noise is not what the promise needs, by its own field or that of the solver inside."""
    return any(getattr(each, "noise_dial", 1) != 1 for each in (algorithm, getattr(algorithm, "erm", None)))


def planned_within(edges: Callable[[], Edges], silent: Callable[[Any], bool] = dialled) -> Verdict:
    """Holds where each of these is planned, or answers, if and only if it should; an error of ours is a refusal.

    A refusal that tells the smallest n is held to it: it is larger, the algorithm is planned there, and not one below.
    What is planned claims the promise of its problem, or nothing.

    Args:
        edges: what is tried; all that it makes itself is within the conditions.
        silent: of an algorithm, whether it claims nothing.
    """
    try:
        some, others = edges()
        plans, calls = list(some), list(others)
    except DpcheckError as error:
        return differs(f"what is within its conditions is refused: {error}", "exact")
    for said, algorithm, problem, n, legal in plans:
        what = f"{algorithm.label} at n = {n:,}, {said}"
        refused = _plan(algorithm, problem, n)
        if refused is None and algorithm.schedule(problem, n).claimed != (
            None if silent(algorithm) else problem.privacy
        ):
            return differs(f"{what}: claims {algorithm.schedule(problem, n).claimed}", "exact")
        if legal == (refused is not None):
            return differs(f"{what}: {refused or 'planned, and must be refused'}", "exact")
        least = refused.smallest_n if isinstance(refused, Infeasible) else None
        if least is not None and not (
            least > n and _plan(algorithm, problem, least) is None and _plan(algorithm, problem, least - 1) is not None
        ):
            return differs(f"{what}: {least:,} is not the smallest n that would do", "exact")
    for said, call, legal in calls:
        refused = _refused(call)
        if legal == (refused is not None):
            return differs(f"{said}: {refused or 'answered, and must be refused'}", "exact")
    return holds(f"inside or refused as they should be, all {len(plans) + len(calls)}", "exact")


def _plan(algorithm: Algorithm[Any], problem: Problem, n: int) -> DpcheckError | None:
    return _refused(lambda: algorithm.schedule(problem, n))


def _refused(call: Callable[[], object]) -> DpcheckError | None:
    try:
        call()
    except DpcheckError as error:
        return error
    return None
