"""What an algorithm plans, what it refuses and from which size on, and what it promises, beside what it has to.

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
