"""What `planned_within` says of an algorithm whose conditions are off, on either side."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from dpcheck.algorithms.pure_heavy_tails import SingleOutputPert
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.harness.plans import Asked, Edges, Plan, planned_within
from dpcheck.interfaces import Problem, Schedule
from dpcheck.privacy import PureDP
from dpcheck.verdicts import Outcome
from dpcheck.workloads.linear import RareSpikes

PROBLEM = Problem.of(RareSpikes(), PureDP(0.5))


class FromTen(SingleOutputPert):
    """Needs ten records, and names `least` as enough."""

    least = 10

    def schedule(self, problem: Problem, n: int) -> Schedule:
        if n < 10:
            raise Infeasible(self.label, "ten records", f"{n}", self.least)
        return super().schedule(problem, n)


class Promising(SingleOutputPert):
    """Promises whatever its noise is."""

    def schedule(self, problem: Problem, n: int) -> Schedule:
        return replace(super().schedule(problem, n), claimed=problem.privacy)


class FromNine(FromTen):
    least = 9


class FromEleven(FromTen):
    least = 11


def edges(*plans: Plan, calls: tuple[Asked, ...] = ()) -> Callable[[], Edges]:
    return lambda: (plans, calls)


def test_both_sides_of_an_edge_hold() -> None:
    verdict = planned_within(edges(("ten", FromTen(), PROBLEM, 10, True), ("nine", FromTen(), PROBLEM, 9, False)))
    assert verdict.outcome is Outcome.HOLDS


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (("nine", FromTen(), PROBLEM, 9, True), "ten records"),
        (("ten", FromTen(), PROBLEM, 10, False), "must be refused"),
        (("nine", FromNine(), PROBLEM, 8, False), "not the smallest n"),
        (("nine", FromEleven(), PROBLEM, 9, False), "not the smallest n"),
        (("half of the noise", Promising(noise_dial=0.5), PROBLEM, 10, True), "claims"),
    ],
)
def test_an_edge_elsewhere_differs(plan: Plan, said: str) -> None:
    verdict = planned_within(edges(plan))
    assert verdict.outcome is Outcome.DIFFERS
    assert said in verdict.reason


def _refusing() -> None:
    raise InvalidInput("no")


@pytest.mark.parametrize("call", [lambda: math.log(-1.0), lambda: 1 / 0, lambda: np.ones(2) + np.ones(3)])
def test_arithmetic_that_breaks_is_neither_an_answer_nor_a_refusal(call: Callable[[], object]) -> None:
    for legal in (True, False):
        assert planned_within(edges(calls=(("it", call, legal),))).outcome is Outcome.DIFFERS


def test_a_refusal_where_the_instances_are_made_differs() -> None:
    assert planned_within(edges(calls=(("it", _refusing, False),))).outcome is Outcome.HOLDS

    def made() -> Edges:
        _refusing()
        return (), ()

    assert planned_within(made).outcome is Outcome.DIFFERS
