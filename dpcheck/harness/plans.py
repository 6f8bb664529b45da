"""What an algorithm plans, what it refuses and from which size on, and what it promises, beside what it has to: there
is a plan inside of each of its conditions up to the edge, and none just outside.

A check that runs into a refusal, or into a failure of any kind, is no evidence; these ask for nothing but whether there
is one, and say so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dpcheck.errors import DpcheckError, Infeasible
from dpcheck.interfaces import Algorithm, Problem, Schedule
from dpcheck.running import Fixed
from dpcheck.verdicts import Verdict, differs, holds

Asked = tuple[str, Callable[[], object], bool]
"""What is asked for, what asks for it, and whether it is to be had."""
Plan = tuple[str, Algorithm[Any], Problem, int, bool]
"""What is at the edge, the algorithm, its problem and n, and whether it can be planned there."""
Edges = tuple[Iterable[Plan], Iterable[Asked]]
FARTHEST = 2**12
"""Up to which the least size that is legal is looked for, size by size."""


def wrongly_answered(asked: Iterable[Asked]) -> list[str]:
    """What fails though it is legal, and what is granted, or fails otherwise than by a refusal, though it is not."""
    wrong = []
    for said, ask, legal in asked:
        try:
            ask()
        except DpcheckError as error:
            wrong += [f"{said} is refused: {error}"] if legal else []
        except Exception as error:  # of any kind: it is what the plan, or the run, ends with
            wrong.append(f"{said} fails: {type(error).__name__}: {error}")
        else:
            wrong += [] if legal else [f"{said} is granted"]
    return wrong


def planned(algorithm: Algorithm[Any], told: Problem, n: int) -> bool:
    """Whether there is a plan for n records."""
    return not wrongly_answered([("", lambda: algorithm.schedule(told, n), True)])


def wrong_sizes(
    algorithm: Algorithm[Any], told: Problem, sizes: Iterable[int], fits: Callable[[int], bool]
) -> list[str]:
    """Sizes that are refused though they fit, or planned though they do not; and least larger ones that are not."""
    wrong = []
    for n in sizes:
        try:
            algorithm.schedule(told, n)
        except Infeasible as error:
            least = next((size for size in range(n + 1, FARTHEST) if fits(size)), None)
            if fits(n) or error.smallest_n != least:
                wrong.append(f"n = {n} is refused, and {error.smallest_n} named for {least}")
        except Exception as error:
            wrong.append(f"n = {n} fails: {type(error).__name__}: {error}")
        else:
            wrong += [] if fits(n) else [f"n = {n} is planned"]
    return wrong


def _plan_of(make: Callable[[], Algorithm[Any]], told: Problem, n: int) -> Schedule[Any]:
    return make().schedule(told, n)


def wrong_promises(
    makes: Iterable[Callable[[], Algorithm[Any]]], told: Problem, n: int, promised: Sequence[bool]
) -> list[str]:
    """Algorithms that have no plan, or one that claims what no theorem says, or not what one does."""
    wrong = []
    for make, legal in zip(makes, promised, strict=True):
        wrong += wrongly_answered([("a plan", partial(_plan_of, make, told, n), True)])
        if not wrong and (claimed := make().schedule(told, n).claimed) != (told.privacy if legal else None):
            wrong.append(f"{make()} claims {claimed}")
    return wrong


def answered(wrong: Sequence[str], said: str) -> Verdict:
    """Whether nothing is wrong with what was asked for."""
    if wrong:
        return differs(f"{len(wrong)} answers are wrong: {'; '.join(wrong[:3])}", "exact")
    return holds(said, "exact")


def run_of(make: Callable[[], Algorithm[Any]], work: Any, told: Problem, n: int) -> Callable[[], object]:
    """What makes an algorithm and runs it twice on n records of zeros."""
    data = Fixed(np.zeros((1, n, *work.record_shape)))
    return lambda: make().fit(work, data, told, rng=np.random.default_rng(0), trials=2)


# -- edges of conditions ---------------------------------------------------------------------------------------------


def dialled(algorithm: Any) -> bool:
    """Whether its noise is not what the promise needs, by its own field or that of the solver inside."""
    return any(getattr(each, "noise_dial", 1) != 1 for each in (algorithm, getattr(algorithm, "erm", None)))


def planned_within(edges: Callable[[], Edges], silent: Callable[[Any], bool] = dialled) -> Verdict:
    """Holds where each of these is planned, or answers, if and only if it should; an error of arithmetic is no refusal.

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
    wrong = [said for plan in plans if (said := _wrong_at_an_edge(*plan, silent))]
    said = f"inside or refused as they should be, all {len(plans) + len(calls)}"
    return answered([*wrong, *wrongly_answered(calls)], said)


def _wrong_at_an_edge(
    said: str, algorithm: Algorithm[Any], told: Problem, n: int, legal: bool, silent: Callable[[Any], bool]
) -> str:
    """What is wrong with a plan, or with there being none; "" for nothing."""
    what = f"{algorithm.label} at n = {n:,}, {said}"
    try:
        plan = algorithm.schedule(told, n)
    except DpcheckError as error:
        least = error.smallest_n if isinstance(error, Infeasible) else None
        if legal:
            return f"{what}: {error}"
        if least is None or (least > n and planned(algorithm, told, least) and not planned(algorithm, told, least - 1)):
            return ""
        return f"{what}: {least:,} is not the smallest n that would do"
    except Exception as error:  # of any kind, which is no refusal
        return f"{what} fails: {type(error).__name__}: {error}"
    if not legal:
        return f"{what}: planned, and must be refused"
    return "" if plan.claimed == (None if silent(algorithm) else told.privacy) else f"{what}: claims {plan.claimed}"
