"""What algorithms, workloads and checks know of each other: protocols and plain data, no behaviour to speak of."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from dpcheck.errors import MechanismError
from dpcheck.problems import Array, BudgetRange, Constants, Data, Family, Problem, Rng, Sample, Workload, require_budget
from dpcheck.running import Run
from dpcheck.schedules import (
    BelowLaplace,
    GaussianPrivate,
    Law,
    Norm,
    OfRecords,
    PairPrivate,
    Read,
    Release,
    RenyiPrivate,
    Sampling,
    Scaled,
    Schedule,
)

__all__ = [
    "Algorithm",
    "Array",
    "BelowLaplace",
    "BudgetRange",
    "Constants",
    "Data",
    "Family",
    "GaussianPrivate",
    "Law",
    "Norm",
    "Objective",
    "OfRecords",
    "PairPrivate",
    "Problem",
    "Read",
    "Release",
    "RenyiPrivate",
    "Rng",
    "Sample",
    "Sampling",
    "Scaled",
    "Schedule",
    "Solution",
    "Solver",
    "Workload",
    "procedure",
    "require_budget",
]

P = TypeVar("P")


@dataclass(frozen=True, kw_only=True)
class Objective:
    """mean f, or its `cap`-Lipschitz extension, + <linear, w> + weight/2 |w - centre|^2 on the domain.

    Attributes:
        centre: (trials or 1, d).
        cap: C of the Lipschitz extension f_C (infimum over the whole domain), or None for f itself.
        within: (points (trials, d), radii (trials,) or float): minimise over domain ∩ ball only.
    """

    workload: Workload
    sample: Sample
    weight: float
    centre: Array
    linear: Array | float = 0.0
    cap: float | None = None
    within: tuple[Array, Array | float] | None = None


@dataclass(frozen=True)
class Solution:
    """Points (trials, d) and a sure bound on their gap in objective value."""

    point: Array
    gap: float


Solver = Callable[[Objective], Solution]
"""A field of an algorithm: exact, generic with a certificate, or the adversarial legal one."""


class Algorithm(abc.ABC, Generic[P]):
    """One printed algorithm: a frozen dataclass; hyper-parameters, readings and dials are its fields."""

    label: ClassVar[str]
    readings: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    subroutine: ClassVar[bool] = False
    """It only serves others: never an alternative to them."""
    wants: ClassVar[Mapping[str, str]] = {}
    """Constants of a problem (`Constants.extra`) that bounds on it need, and what they are."""
    budgets: ClassVar[BudgetRange] = BudgetRange()
    """What it is calibrated for; `privacy_budget` refuses the rest."""

    @abc.abstractmethod
    def schedule(self, problem: Problem, n: int) -> Schedule[P]:
        """What will be done, before any data is seen. Raises `Infeasible`."""

    @abc.abstractmethod
    def execute(self, run: Run[P], workload: Workload, data: Data, start: Array) -> Array:
        """The printed lines: (trials, d)."""

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """What its schedule fixes, by the names of symbols in the claims about it: all that it knows of its bounds.

        A sequence over phases, steps or leaves is named "sigma[i]"; what no claim may use here has no name, or is nan.
        """
        return {}

    def privacy_budget(self, problem: Problem) -> tuple[float, float]:
        """(epsilon, delta) of the problem. Raises `Infeasible` for a budget that it is not calibrated for."""
        return require_budget(problem, self.label, self.budgets)

    def fit(self, workload: Workload, data: Data, problem: Problem, *, rng: Rng, trials: int) -> Array:
        """Plans and runs from the projection of the origin; the release of every trial, (trials, d).

        Raises:
            MechanismError: `execute` returned another shape.
        """
        schedule = self.schedule(problem, data.n)
        start = workload.project(np.zeros((1, problem.constants.d)))
        released = self.execute(Run(schedule, trials, rng), workload, data, start)
        expected = (trials, *start.shape[1:])
        if np.shape(released) != expected:
            raise MechanismError(
                f"`execute` of {self.label} ({_place(self.execute)}) returned shape {np.shape(released)}, expected "
                f"{expected}: a point for each of trials={trials}, of as many numbers as the start has"
            )
        return released


def _place(method: Any) -> str:
    """File and line of a method, as somebody would look for it."""
    code = getattr(inspect.unwrap(method), "__code__", None)
    return "it has no source" if code is None else f"{Path(code.co_filename).name}:{code.co_firstlineno}"


F = TypeVar("F", bound=Callable[..., Any])


def procedure(label: str) -> Callable[[F], F]:
    """Marks a function as one of a paper's procedures: `@procedure("paper/proc-x")` sets `function.label`."""

    def decorate(function: F) -> F:
        function.label = label  # type: ignore[attr-defined]
        return function

    return decorate
