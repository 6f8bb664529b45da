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
    """Holds where each of these is planned, or answers, if and only if it should; an error of ours is a refusal, one of
    arithmetic is none, and no plan.

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
        ended = _plan(algorithm, problem, n)
        if isinstance(ended, Exception):
            if legal or not isinstance(ended, DpcheckError):
                return differs(f"{what}: {ended}", "exact")
            least = ended.smallest_n if isinstance(ended, Infeasible) else None
            if least is not None and not (
                least > n
                and not isinstance(_plan(algorithm, problem, least), Exception)
                and isinstance(_plan(algorithm, problem, least - 1), DpcheckError)
            ):
                return differs(f"{what}: {least:,} is not the smallest n that would do", "exact")
        elif not legal:
            return differs(f"{what}: planned, and must be refused", "exact")
        elif ended.claimed != (None if silent(algorithm) else problem.privacy):
            return differs(f"{what}: claims {ended.claimed}", "exact")
    for said, call, legal in calls:
        ended = _ended(call)
        if isinstance(ended, Exception) and (legal or not isinstance(ended, DpcheckError)):
            return differs(f"{said}: {ended}", "exact")
        if not legal and not isinstance(ended, Exception):
            return differs(f"{said}: answered, and must be refused", "exact")
    return holds(f"inside or refused as they should be, all {len(plans) + len(calls)}", "exact")


def _plan(algorithm: Algorithm[Any], problem: Problem, n: int) -> Any:
    return _ended(lambda: algorithm.schedule(problem, n))


def _ended(call: Callable[[], object]) -> Any:
    """What it gives, or the error that it ends with."""
    try:
        return call()
    except (DpcheckError, ArithmeticError, ValueError) as error:
        return error
