"""Plans that are legal are made, others are refused, and a failure of another kind is told from a refusal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.harness.plans import answered, planned, run_of, wrong_promises, wrong_sizes, wrongly_answered
from dpcheck.interfaces import Algorithm, Problem, Schedule
from dpcheck.privacy import PureDP
from dpcheck.workloads.crosspolytope import SignLinear

WORK = SignLinear(mu=(0.5, 0.0))
TOLD = Problem.of(WORK, PureDP(1.0))


@dataclass(frozen=True)
class AtLeast(Algorithm[Any]):
    """Planned from `least` records on; `named` is what a refusal says of it."""

    least: int = 10
    named: int | None = 10
    promises: bool = True

    label = "toy/alg-1"

    def schedule(self, problem: Problem, n: int) -> Schedule[Any]:
        if n < self.least:
            raise Infeasible(self.label, f"{self.least} records", f"n = {n}", self.named)
        return Schedule(
            phases=(), releases=(), gradients=0, floats_per_trial=1, claimed=problem.privacy if self.promises else None
        )

    def execute(self, run: Any, workload: Any, data: Any, start: Any) -> Any:
        return np.broadcast_to(start, (run.trials, start.shape[-1]))


def refuses() -> None:
    raise InvalidInput("no")


def crashes() -> None:
    raise ZeroDivisionError("division by zero")


@pytest.mark.parametrize(("ask", "legal", "wrong"), [
    (lambda: 1, True, ""), (lambda: 1, False, "granted"), (refuses, True, "refused: no"), (refuses, False, ""),
    (crashes, True, "fails: ZeroDivisionError"), (crashes, False, "fails: ZeroDivisionError"),
])  # fmt: skip
def test_an_answer_is_held_against_what_is_legal(ask: Any, legal: bool, wrong: str) -> None:
    found = wrongly_answered([("it", ask, legal)])
    assert (wrong in found[0]) if wrong else not found


def test_sizes_are_held_against_the_condition_and_the_least_larger_one() -> None:
    def fits(n: int) -> bool:
        return n >= 10

    sizes = (3, 9, 10, 11)
    assert not wrong_sizes(AtLeast(), TOLD, sizes, fits)
    assert len(wrong_sizes(AtLeast(named=11), TOLD, sizes, fits)) == 2
    assert len(wrong_sizes(AtLeast(named=None), TOLD, sizes, fits)) == 2
    assert wrong_sizes(AtLeast(least=11), TOLD, sizes, fits) == ["n = 10 is refused, and 10 named for 11"]
    assert wrong_sizes(AtLeast(least=9), TOLD, sizes, fits) == ["n = 9 is planned"]


def test_promises_are_held_against_what_is_promised() -> None:
    silent = AtLeast(promises=False)
    assert not wrong_promises([AtLeast, lambda: silent], TOLD, 10, [True, False])
    assert len(wrong_promises([AtLeast], TOLD, 10, [False])) == 1
    assert len(wrong_promises([lambda: silent], TOLD, 10, [True])) == 1
    assert "refused" in wrong_promises([AtLeast], TOLD, 9, [True])[0]


def test_what_is_wrong_differs_and_is_told() -> None:
    assert answered([], "all is well").outcome == "holds"
    verdict = answered(["n = 9 is planned"], "all is well")
    assert verdict.outcome == "differs"
    assert "n = 9 is planned" in verdict.reason


def test_runs_are_made_when_asked_for() -> None:
    assert planned(AtLeast(), TOLD, 10)
    assert not planned(AtLeast(), TOLD, 9)
    runs = [(f"{n} records", run_of(AtLeast, WORK, TOLD, n), n >= 10) for n in (9, 10)]
    assert not wrongly_answered(runs)
