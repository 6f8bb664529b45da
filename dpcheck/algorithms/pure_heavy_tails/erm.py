"""What every private solver of a regularised empirical risk shares: its inputs (λ, C), legality and accuracy (6)."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import scipy

from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Algorithm, Constants, Problem, Schedule, Solver, procedure
from dpcheck.laws import IsotropicLaplace
from dpcheck.privacy import PureDP
from dpcheck.solvers import HALVINGS, acceleration_limit

P = TypeVar("P")
ABOVE = 1.000000000001
"""Lets a moment pass that rounding has put below one of lower order."""


@dataclass(frozen=True, kw_only=True)
class SolverStage:
    """One release of a regularised ERM solver: a row of its plan.

    Attributes:
        stage: name of the release.
        records: m.
        lambda_, C: weight of the regulariser; Lipschitz constant of the extension, or clip level.
        epsilon: budget of this release.
        noise: scale β of the isotropic Laplace noise, or 1/coefficient of an exponential mechanism.
        gap: largest gap that the inner minimiser may have.
        radius: of the ball that the release leaves as the domain of the next one, or of the net that an exponential
            mechanism selects from; inf where there is neither.
        step: step size γ of a projected gradient mapping, or 0.
        xi: accuracy ξ of the projection onto the ball of the stage before, or 0.
    """

    stage: str
    records: int
    lambda_: float
    C: float
    epsilon: float
    noise: float
    gap: float = 0.0  # the same: read only where it is given
    radius: float = math.inf
    step: float = 0.0  # the same: read only where it is given
    xi: float = 0.0  # the same: read only where it is given


def view(schedule: Schedule[Any], *phases: P) -> Schedule[P]:
    """A schedule as an inner algorithm reads it: its own rows; the releases in force are still the outer ones."""
    return replace(schedule, phases=phases)


def moment(constants: Constants, k: float, label: str) -> float:
    """G_k. Raises `Infeasible` when it is infinite."""
    G = constants.moment(k, 1)
    if not (math.isfinite(G) and G > 0):
        raise Infeasible(label, f"a finite moment G_{k:g} > 0 of the gradients", f"{G}")
    return G


@procedure("pure_heavy_tails/proc-iso-laplace")
def isotropic_laplace(scale: float) -> IsotropicLaplace:
    """Noise of density proportional to exp(-|b|/scale): a uniform direction times a Gamma(d, scale) radius."""
    return IsotropicLaplace(scale)


def noise_quantile(d: int, level: float) -> float:
    """The `level` quantile of |b|/scale, exactly: at most d + sqrt(2 d t) + t with t = -log(1 - level)."""
    return float(scipy.special.gammaincinv(d, level))


@dataclass(frozen=True)
class PrivateErm(Algorithm[SolverStage]):
    """A solver A_ERM(Z, ε, λ, w_0): private for every data set, and accurate in the sense of (6).

    With probability at least `success` its output lies within (c_erm/λ)(G_k (d/(mε))^(1-1/k) + G_2/sqrt m) of the
    minimiser of mean f + λ/2 |w - w_0|^2. The centre w_0 is the `start` of `execute`.

    Attributes:
        k: order of the moment bound that sets C.
        lambda_: λ.
        C: None for G_k (mε/d)^(1/k), which the accuracy statements need; privacy holds for every C > 0.
        noise_dial: multiplies all noise; anything but 1 is not private.
    """

    k: float = 2.0
    lambda_: float = 1.0
    C: float | None = None
    noise_dial: float = 1.0

    success: ClassVar[float] = 0.7

    def __post_init__(self) -> None:
        if not self.k >= 2:
            raise InvalidInput(f"the order k of the moment bound must be >= 2, got {self.k}")
        if not (self.lambda_ > 0 and math.isfinite(self.lambda_)):
            raise InvalidInput(f"the weight lambda_ must be a finite number > 0, got {self.lambda_}")
        if self.C is not None and not (self.C > 0 and math.isfinite(self.C)):
            raise InvalidInput(f"the cap C must be a finite number > 0, got {self.C}")
        if not (self.noise_dial > 0 and math.isfinite(self.noise_dial)):
            raise InvalidInput(f"the noise dial must be a finite number > 0, got {self.noise_dial}")

    @abc.abstractmethod
    def c_erm(self, problem: Problem, m: int) -> float:
        """The constant of (6); see `certified` for when it is proved."""

    def certified(self, problem: Problem) -> bool:
        """Whether `c_erm` and `success` are proved at these parameters."""
        return self.C is None and self.noise_dial == 1 and self.privacy_budget(problem)[0] <= problem.constants.d

    def claimed(self, epsilon: float) -> PureDP | None:
        """The promise of the schedule; None for dialled noise."""
        return PureDP(epsilon) if self.noise_dial == 1 else None

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of (6), `pure_heavy_tails/thm-2-1@solver`; no constant where none is proved."""
        c = problem.constants
        known = {"m": n, "lambda": self.lambda_, "k": self.k, "G_k": c.moment(self.k, 1)}
        return known | ({"c_erm": self.c_erm(problem, n)} if self.certified(problem) else {})

    def cap(self, problem: Problem, m: int) -> float:
        """C."""
        if self.C is not None:
            return self.C
        epsilon, _ = self.privacy_budget(problem)
        G_k = moment(problem.constants, self.k, self.label)
        return float(G_k * (m * epsilon / problem.constants.d) ** (1 / self.k))

    def check(self, problem: Problem, m: int) -> float:
        """Legality that all solvers share; returns ε."""
        epsilon, _ = self.privacy_budget(problem)
        if m < 1:
            raise Infeasible(self.label, "at least one record", f"{m}", 1)
        constants = problem.constants
        G_2, G_k = constants.moment(2.0, 1), constants.moment(self.k, 1)
        if not G_k * ABOVE >= G_2:
            raise InvalidInput(f"G_2 = {G_2:g} exceeds G_{self.k:g} = {G_k:g}: moments grow with their order")
        return epsilon


@runtime_checkable
class CountsCalls(Protocol):
    """A solver that knows how many gradients it asks for."""

    def oracle_calls(self, m: int, gap: float, D: float, own: float, steepest: float, cap: float, weight: float) -> int:
        """At most; `own` is the diameter of w's set and `steepest` a bound on all A(z_i)."""
        ...


def oracle_calls(minimiser: Solver, constants: Constants, stage: SolverStage, steepest: float, own: float) -> int:
    """Gradients that one call of the minimiser asks for, at most.

    Args:
        steepest: a bound on all A(z_i), which the printed solver's count depends on.
        own: diameter of the set that w ranges over.
    """
    if isinstance(minimiser, CountsCalls):
        D = constants.diameter(2.0)
        return minimiser.oracle_calls(stage.records, stage.gap, D, own, steepest, stage.C, stage.lambda_)
    passes = HALVINGS + 2
    if constants.d > 1 and math.isfinite(smoothness := constants.smoothness(2.0)):
        passes = max(passes, 2 * acceleration_limit(smoothness, stage.lambda_))
    return passes * stage.records


def steepest_gradient(problem: Problem, k: float, m: int) -> float:
    """G_k (m/ρ)^(1/k): above all m gradient norms with probability 1 - ρ, ρ the problem's failure probability."""
    return float(problem.constants.moment(k, 1) * (m / problem.failure_probability) ** (1 / k))
