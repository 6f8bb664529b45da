"""Objective perturbation over constrained Euclidean sets: Algorithms 1 and 2 and their exact form."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from dpcheck.algorithms.lp_spaces.regular import BUDGETS, steepness
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import (
    Algorithm,
    Array,
    Data,
    Problem,
    Read,
    Release,
    Rng,
    Sample,
    Schedule,
    Solver,
    Workload,
)
from dpcheck.laws import Gaussian
from dpcheck.privacy import ApproxDP, gaussian_delta
from dpcheck.running import Run
from dpcheck.solvers import Task, certified, solve


@runtime_checkable
class Tilted(Protocol):
    """Knows argmin over the domain of mean loss + <linear, w> + weight/2 |w|^2 in closed form, weight >= 0."""

    def tilted_minimiser(self, sample: Sample, linear: Array, weight: float) -> Array: ...


@dataclass(frozen=True)
class PerturbedObjective:
    """The law of a minimiser whose objective carries <G, w>/n, G Gaussian: the noise is in the core already.

    Under one G a record moves the minimiser by s; the same output then needs a G moved by at most s * stretch, and the
    change of variables costs a factor of at most e^jacobian. Both directions are exact where the gradients of two
    records differ by a constant vector (`lp_spaces/thm-1@derived`); where the difference depends on w this is the
    accounting of the cited work, not a proof.

    Attributes:
        sigma: standard deviation of G in every coordinate.
        stretch: n times the curvature of the objective.
        jacobian: logarithm of the largest ratio of the two determinants.
    """

    sigma: float
    stretch: float
    jacobian: float

    @property
    def noise(self) -> float:
        """The scale that tables show."""
        return self.sigma

    def sample(self, core: Array, rng: Rng) -> Array:
        """The core: G was drawn before the minimisation."""
        return np.asarray(core)

    def log_ratio(self, output: Array, core: Array, other: Array) -> Array:
        """Not available: the density needs the objective, not its minimiser."""
        raise InvalidInput(
            "the density of a perturbed minimiser depends on the whole objective, which its core does not hold; audit "
            "the outputs, or integrate the density of a given pair"
        )

    def pure(self, sensitivity: float, count: int = 1) -> float:  # the same: 0 or inf, however often
        """inf, unless nothing moves."""
        return 0.0 if sensitivity == 0 else math.inf

    def zcdp(self, sensitivity: float, count: int = 1) -> float:  # the same: 0 or inf, however often
        """inf: a bounded factor is no concentrated privacy of a finite rho at every order."""
        return 0.0 if sensitivity == 0 else math.inf

    def renyi(self, alpha: float, sensitivity: float) -> float:
        """jacobian + alpha mu^2/2: the factor is bounded, the rest Gaussian."""
        shift = sensitivity * self.stretch / self.sigma
        return 0.0 if sensitivity == 0 else self.jacobian + alpha * shift * shift / 2

    def delta(self, epsilon: float, sensitivity: float) -> float:
        """Of a Gaussian of that shift at epsilon - jacobian."""
        if sensitivity == 0:
            return 0.0
        return gaussian_delta(sensitivity * self.stretch / self.sigma, epsilon - self.jacobian)


@dataclass(frozen=True, kw_only=True)
class Perturbation:
    """One row of the plan.

    Attributes:
        lambda_: weight of |w|^2 (not of half of it).
        sigma_1, sigma_2: deviations of G and of H.
        alpha: accuracy that the optimiser must reach surely; 0 for an exact one.
        rank: r of the privacy condition.
        curvature: Euclidean strong convexity of the objective.
    """

    records: int
    lambda_: float
    sigma_1: float
    sigma_2: float
    alpha: float
    rank: int
    curvature: float


@dataclass(frozen=True, kw_only=True)
class PerturbationOfStrong(Perturbation):
    """The same for losses of that modulus of strong convexity in the norm of the domain."""

    modulus: float


@dataclass(frozen=True)
class PerturbedMinimiser(Algorithm[Perturbation]):
    """What Algorithms 1 and 2 share: G into the objective, an alpha-minimiser, H onto it, projection.

    Attributes:
        optimizer: None for the exact minimiser; otherwise a solver whose certified gap is at most alpha.
        noise_dial: multiplies both noises; anything but 1 is not private.
    """

    optimizer: Solver | None = None
    noise_dial: float = 1.0

    budgets = BUDGETS

    @property
    def claimed_by(self) -> tuple[str, ...]:
        """The theorem that promises privacy of this rule."""
        return ("lp_spaces/thm-1",)

    @abc.abstractmethod
    def plan(self, problem: Problem, n: int) -> tuple[Perturbation, float]:
        """The row, and the logarithm of the Jacobian's ratio."""

    def schedule(self, problem: Problem, n: int) -> Schedule[Perturbation]:
        if n < 1:
            raise Infeasible(self.label, "at least one record", f"{n}", 1)
        if not (self.noise_dial > 0 and math.isfinite(self.noise_dial)):
            raise InvalidInput(f"the noise dial must be a finite number > 0, got {self.noise_dial}")
        epsilon, delta = self.privacy_budget(problem)
        row, jacobian = self.plan(problem, n)
        L = steepness(problem.constants, 2.0, self.label)
        law = PerturbedObjective(row.sigma_1, n * row.curvature, jacobian)
        moved = 2 * L / (n * row.curvature)
        rests_on = () if problem.constants.shifts_constantly else ("lp_spaces/thm-1",)
        read = Read(start=0, stop=n, sensitivity=moved)
        releases = [Release(name="objective", law=law, reads=(read,), rests_on=rests_on)]
        if row.alpha > 0:
            apart = 2 * math.sqrt(2 * row.alpha / row.curvature)
            read = Read(start=0, stop=n, sensitivity=apart)
            releases.append(Release(name="minimiser", law=Gaussian(row.sigma_2), reads=(read,)))
        smoothness = problem.constants.smoothness(2.0)
        steps = 1 if not math.isfinite(smoothness) else 2 * _steps(smoothness, row, L, problem.constants.diameter(2.0))
        return Schedule(
            phases=(row,),
            releases=tuple(releases),
            gradients=n * steps,
            floats_per_trial=4 * problem.constants.d,
            claimed=ApproxDP(epsilon, delta) if self.noise_dial == 1 else None,
            claimed_by=self.claimed_by,
        )

    def execute(self, run: Run[Perturbation], workload: Workload, data: Data, start: Array) -> Array:
        (row,) = run.schedule.phases
        n, d = row.records, workload.constants.d
        law = run.find("objective").law
        assert isinstance(law, PerturbedObjective)
        G = run.coins(lambda rng: rng.normal(0.0, law.sigma, size=(run.trials, d)))
        sample = data.read(means_only=self.optimizer is None and isinstance(workload, Tilted))
        task = Task(
            workload=workload,
            sample=sample,
            weight=2 * row.lambda_,
            centre=np.zeros((1, d)),
            linear=G / n,
            gap=row.alpha,
        )
        exact = exact_minimiser(task)
        theta_2 = run.release("objective", exact)
        if self.optimizer is not None:
            # The optimiser's own error, added to the released point: under replay the exact minimiser is history.
            theta_2 = theta_2 + solve(self.optimizer, task, self.label) - exact
        if row.alpha > 0:
            theta_2 = run.release("minimiser", theta_2)
        return workload.project(theta_2)


def exact_minimiser(task: Task) -> Array:
    """The workload's closed form where it has one; otherwise the most exact certified solver."""
    if isinstance(task.workload, Tilted):
        return task.workload.tilted_minimiser(task.sample, np.asarray(task.linear), task.weight)
    return certified(task).point


def noise_deviation(L: float, epsilon: float, delta: float) -> float:
    """sigma_1 = sqrt(128 log(2.5/delta)) L/epsilon."""
    return math.sqrt(128 * math.log(2.5 / delta)) * L / epsilon


def _width(problem: Problem) -> float:
    """Gaussian width of the domain, extra["width"]; D sqrt(d), which no set of that diameter exceeds, by default."""
    constants = problem.constants
    return float(constants.extra.get("width", constants.diameter(2.0) * math.sqrt(constants.d)))


def _steps(smoothness: float, row: Perturbation, L: float, D: float) -> int:
    """Projected gradient steps to a certified gap of alpha (1e-12 for an exact minimiser), counted for the plan."""
    gap = row.alpha if row.alpha > 0 else 1e-12 * L * D
    condition = (smoothness + 2 * row.lambda_) / row.curvature
    start = (smoothness + L + row.sigma_1) * D + 1.0
    return 1 + math.ceil(condition * max(1.0, math.log(2 * condition * start / gap)))


AlphaRule = Literal["paper", "fixed", "exact"]


@dataclass(frozen=True)
class ApproximateObjectivePerturbation(PerturbedMinimiser):
    """Algorithm 1, with the settings of Theorem 2 for what is not given.

    Attributes:
        lambda_: None for L/(sqrt(n) D).
        alpha: None for the rule.
        alpha_rule: "paper" as printed (exponents 3/2 and 3/2), "fixed" with 5/2 in the second, "exact" for 0.
    """

    lambda_: float | None = None
    alpha: float | None = None
    alpha_rule: AlphaRule = "paper"

    label = "lp_spaces/alg-1"
    readings: ClassVar = {"corrected": {"alpha_rule": "fixed"}, "dialled": {"noise_dial": 0.01}}

    def rank(self, problem: Problem) -> int:
        """r = min(d, 2 rank of a record's Hessian)."""
        constants = problem.constants
        full = constants.d if constants.hessian_rank is None else constants.hessian_rank
        return min(constants.d, 2 * full)

    def plan(self, problem: Problem, n: int) -> tuple[Perturbation, float]:
        epsilon, delta = self.privacy_budget(problem)
        constants, r = problem.constants, self.rank(problem)
        L, D, H = steepness(constants, 2.0, self.label), constants.diameter(2.0), constants.smoothness(2.0)
        if r > 0 and not math.isfinite(H):
            raise InvalidInput(f"{self.label} needs smooth losses, got smoothness {H!r}")
        lambda_ = self.lambda_ if self.lambda_ is not None else L / (math.sqrt(n) * D)
        if not lambda_ > 0:
            raise InvalidInput(f"{self.label} needs lambda > 0, got {lambda_!r}")
        needed = r * H / (epsilon * n) if r else 0.0
        if lambda_ < needed * (1 - 1e-12):
            enough = r * H / (epsilon * lambda_) if self.lambda_ is not None else (r * H * D / (epsilon * L)) ** 2
            condition = f"lambda >= r H/(epsilon n) = {needed:.4g}"
            raise Infeasible(self.label, condition, f"{lambda_:.4g} at n = {n}", math.ceil(enough))
        alpha = self._alpha(problem, n, L, D, epsilon, delta)
        own = constants.d if constants.hessian_rank is None else constants.hessian_rank
        row = Perturbation(
            records=n,
            lambda_=lambda_,
            sigma_1=self.noise_dial * noise_deviation(L, epsilon, delta),
            sigma_2=self.noise_dial * 8 * math.sqrt(alpha * math.log(2.5 / delta) / lambda_) / epsilon,
            alpha=alpha,
            rank=r,
            curvature=2 * lambda_,
        )
        return row, own * math.log1p(H / (2 * lambda_ * n)) if own else 0.0

    def _alpha(self, problem: Problem, n: int, L: float, D: float, epsilon: float, delta: float) -> float:
        if self.alpha is not None:
            if not 0 <= self.alpha <= 1:
                raise InvalidInput(f"alpha must lie in [0, 1], got {self.alpha!r}")
            return self.alpha
        if self.alpha_rule == "exact":
            return 0.0
        if self.alpha_rule not in ("paper", "fixed"):
            raise InvalidInput(f"alpha_rule must be 'paper', 'fixed' or 'exact', got {self.alpha_rule!r}")
        power = 1.5 if self.alpha_rule == "paper" else 2.5
        second = epsilon**2 * L * D**3 / (_width(problem) ** 2 * math.log(1 / delta) * n**power)
        return float(min(1.0, L * D / n**1.5, second))

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of Theorem 2's bounds."""
        row, _ = self.plan(problem, n)
        R = problem.constants.extra.get("radius", problem.constants.diameter(2.0))
        omega = _width(problem) if self.noise_dial == 1 else math.nan
        return {"lambda": row.lambda_, "alpha": row.alpha, "omega": omega, "R": R, "r": row.rank}


@dataclass(frozen=True)
class ExactObjectivePerturbation(ApproximateObjectivePerturbation):
    """The baseline: Algorithm 1 with an exact minimiser and no second noise."""

    alpha_rule: AlphaRule = "exact"

    label = "lp_spaces/proc-exact-objpert"
    readings: ClassVar = {"dialled": {"noise_dial": 0.01}}


@dataclass(frozen=True)
class StronglyConvexObjectivePerturbation(PerturbedMinimiser):
    """Algorithm 2; the problem names the modulus in the norm of the domain as extra["modulus"].

    Attributes:
        lambda_rule: "paper" is max{rH/(epsilon n) - modulus, 0}, which is not private in general; "diam" has
            modulus/D^2, "fixed" (1 - 1/n) modulus/(2R^2), R = D/2: both keep the curvature that Algorithm 1 demands.
        exact: alpha = 0 instead of Theorem 4's alpha.
    """

    lambda_rule: Literal["paper", "fixed", "diam"] = "paper"
    exact: bool = False

    label = "lp_spaces/alg-2"
    readings: ClassVar = {"corrected": {"lambda_rule": "diam"}, "dialled": {"noise_dial": 0.01}}

    @property
    def claimed_by(self) -> tuple[str, ...]:
        return ("lp_spaces/thm-3",) if self.lambda_rule == "paper" else ("lp_spaces/thm-1",)

    def plan(self, problem: Problem, n: int) -> tuple[Perturbation, float]:
        epsilon, delta = self.privacy_budget(problem)
        if n < 2:
            raise Infeasible(self.label, "at least two records", f"{n}", 2)
        constants, d = problem.constants, problem.constants.d
        L, D, H = steepness(constants, 2.0, self.label), constants.diameter(2.0), constants.smoothness(2.0)
        modulus = constants.extra.get("modulus", 0.0)
        if not (modulus > 0 and math.isfinite(H)):
            raise InvalidInput(
                f"{self.label} needs smooth losses and a modulus > 0 of strong convexity in the norm of the domain, "
                f"got smoothness {H!r}, modulus {modulus!r}; set extra['modulus'], at most L D/2 (dpcheck plan: "
                "--constant modulus=...)"
            )
        if modulus > L * D / 2 * (1 + 1e-9):
            most = f"L = {L:g} on a domain of diameter {D:g}; it is at most L D/2 = {L * D / 2:g}"
            raise InvalidInput(f"a modulus of {modulus:g} contradicts {most}")
        R, omega = D / 2, _width(problem)
        taken = {"paper": modulus, "diam": modulus / D**2, "fixed": (1 - 1 / n) * modulus / (2 * R**2)}
        if self.lambda_rule not in taken:
            raise InvalidInput(f"lambda_rule must be one of {', '.join(taken)}, got {self.lambda_rule!r}")
        lambda_ = max(d * H / (epsilon * n) - taken[self.lambda_rule], 0.0)
        log = math.log(1 / delta)
        second = L**4 * D**6 * epsilon**2 / (modulus**3 * n**4 * omega**2 * log)
        alpha = 0.0 if self.exact else min(1.0, L**2 * D**2 / (modulus * n**2), second)
        row = PerturbationOfStrong(
            records=n,
            lambda_=lambda_,
            sigma_1=self.noise_dial * noise_deviation(L, epsilon, delta),
            sigma_2=self.noise_dial * 8 * D * math.sqrt(alpha * math.log(2.5 / delta) / modulus) / epsilon,
            alpha=alpha,
            rank=d,
            curvature=2 * lambda_ + modulus / R**2,
            modulus=modulus,
        )
        others = 2 * lambda_ * n + (n - 1) * modulus / R**2
        return row, d * math.log1p(H / others)

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of `lp_spaces/thm-4@any-accuracy`, for R half of the diameter; `thm-4@derived` is for lambda = 0."""
        row, _ = self.plan(problem, n)
        modulus = problem.constants.extra["modulus"]
        return {
            "mu": modulus if row.lambda_ == 0 else math.nan,
            "Delta": modulus,
            "omega": _width(problem) if self.noise_dial == 1 else math.nan,
            "R": problem.constants.diameter(2.0) / 2,
            "alpha": row.alpha,
            "lambda_2": row.lambda_,
        }
