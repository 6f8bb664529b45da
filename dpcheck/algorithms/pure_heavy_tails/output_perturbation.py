"""Output perturbation of the regularised Lipschitz extension: Algorithms 2 and 4, and their one-stage repair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from dpcheck.algorithms.pure_heavy_tails.erm import (
    PrivateErm,
    SolverStage,
    isotropic_laplace,
    noise_quantile,
    oracle_calls,
    steepest_gradient,
    view,
)
from dpcheck.algorithms.pure_heavy_tails.projection import inexact_projection
from dpcheck.algorithms.pure_heavy_tails.reformulation import DirectSubgradient
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import (
    Array,
    Data,
    Problem,
    Read,
    Release,
    Schedule,
    Solver,
    Workload,
    procedure,
    require_budget,
)
from dpcheck.privacy import PureDP
from dpcheck.running import Run
from dpcheck.solvers import Task, certified, solve

Ball = tuple[Array, float]
"""W_0 = W ∩ B(centre, radius), as its centres (trials, d) and its radius."""


@dataclass(frozen=True)
class OutputPertLocalize(PrivateErm):
    """Algorithm 2: a noisy regularised minimiser, and with the schedule's radius the ball W_0 around it.

    Attributes:
        zeta: tail parameter ζ >= 1; W_0 misses the minimiser with probability at most e^-ζ.
        minimiser: of the regularised extension, with a certified gap of at most C²/(2λn²).
    """

    zeta: float = 1.0
    minimiser: Solver = certified

    label = "pure_heavy_tails/alg-2"
    readings: ClassVar = {"dialled": {"noise_dial": 0.01}}

    def schedule(self, problem: Problem, n: int) -> Schedule[SolverStage]:
        epsilon, constants = self.check(problem, n), problem.constants
        if not self.zeta >= 1:
            raise InvalidInput(f"{self.label} needs zeta >= 1, got {self.zeta}")
        if epsilon > self.zeta * constants.d:
            needs = f"epsilon <= zeta d = {self.zeta * constants.d:g} for its ball to hold the minimiser"
            raise Infeasible(self.label, needs, f"{epsilon:g}", advice="lower epsilon or raise zeta")
        C, lambda_ = self.cap(problem, n), self.lambda_
        sensitivity = 6 * C / (lambda_ * n)
        stage = SolverStage(
            stage="point",
            records=n,
            lambda_=lambda_,
            C=C,
            epsilon=epsilon,
            noise=self.noise_dial * sensitivity / epsilon,
            gap=C**2 / (2 * lambda_ * n**2),
            radius=100 * self.zeta * C * constants.d / (lambda_ * n * epsilon),
        )
        steepest = steepest_gradient(problem, self.k, n)
        return Schedule(
            phases=(stage,),
            releases=(output_release(stage, sensitivity),),
            gradients=oracle_calls(self.minimiser, constants, stage, steepest, constants.diameter(2.0)),
            floats_per_trial=4 * constants.rows(n) * constants.d,
            claimed=self.claimed(epsilon),
        )

    def execute(self, run: Run[SolverStage], workload: Workload, data: Data, start: Array) -> Array:
        (stage,) = run.schedule.phases
        w = solve(self.minimiser, task(workload, data, start, stage), self.label)
        return workload.project(run.release("point", w))

    def c_erm(self, problem: Problem, m: int) -> float:
        """As a solver of its own it is single output perturbation with the printed noise: 6 q/d + ε/d + 20."""
        return _constant(problem, noise=6.0, approximation=1.0)

    success = 0.8


@dataclass(frozen=True)
class DoubleOutputPert(PrivateErm):
    """Algorithm 4: localise with half of the budget, perturb the minimiser over the ball with the other half.

    Attributes:
        minimiser: used in both stages, with certified gaps C²/(2λm²) and C²/(72λm²).
    """

    minimiser: Solver = certified

    label = "pure_heavy_tails/alg-4"
    readings: ClassVar = {"dialled": {"noise_dial": 0.01}}
    zeta: ClassVar[float] = 3.0

    def localiser(self, C: float) -> OutputPertLocalize:
        """Algorithm 2 as it is called in stage 1."""
        return OutputPertLocalize(
            k=self.k,
            lambda_=self.lambda_,
            C=C,
            zeta=self.zeta,
            minimiser=self.minimiser,
            noise_dial=self.noise_dial,
        )

    def schedule(self, problem: Problem, n: int) -> Schedule[SolverStage]:
        epsilon, constants = self.check(problem, n), problem.constants
        C, lambda_, m = self.cap(problem, n), self.lambda_, n
        first = self.localiser(C).schedule(replace(problem, privacy=PureDP(epsilon / 2)), m)
        sensitivity = 6 * C / (lambda_ * m)
        stage = SolverStage(
            stage="point",
            records=m,
            lambda_=lambda_,
            C=C,
            epsilon=epsilon / 2,
            noise=self.noise_dial * sensitivity / (epsilon / 2),
            gap=C**2 / (72 * lambda_ * m**2),
            xi=C / (6 * lambda_ * m),
        )
        (localised,) = first.phases
        own = min(constants.diameter(2.0), 2 * localised.radius)
        calls = oracle_calls(self.minimiser, constants, stage, steepest_gradient(problem, self.k, m), own)
        return Schedule(
            phases=(replace(localised, stage="stage 1/point"), stage),
            releases=(*first.placed("stage 1/", 0), output_release(stage, sensitivity)),
            gradients=first.gradients + calls,
            floats_per_trial=first.floats_per_trial,
            claimed=self.claimed(epsilon),
        )

    def execute(self, run: Run[SolverStage], workload: Workload, data: Data, start: Array) -> Array:
        first, stage = run.schedule.phases

        def second(W_0: Ball) -> Array:
            w = solve(self.minimiser, task(workload, data, start, stage, within=W_0), self.label)
            return inexact_projection(run.release("point", w), *W_0, workload.project, stage.xi)

        return two_step(run, self.localiser(first.C), second, workload, data, start)

    def c_erm(self, problem: Problem, m: int) -> float:
        """12 q/d + ε/(3d) + 20 with q the 0.9 quantile of Gamma(d): at most 48 for ε <= d (Prop. 3.2, repaired)."""
        return _constant(problem, noise=12.0, approximation=1 / 3)


@procedure("pure_heavy_tails/proc-two-step")
def two_step(
    run: Run[SolverStage],
    localiser: OutputPertLocalize,
    second: Callable[[Ball], Array],
    workload: Workload,
    data: Data,
    start: Array,
) -> Array:
    """Remark 2.6: Algorithm 2 gives W_0, then `second` is a private approximate minimiser over W_0."""
    first = run.schedule.phases[0]
    w_loc = localiser.execute(run.inside("stage 1/", view(run.schedule, first)), workload, data, start)
    return second((w_loc, first.radius))


@dataclass(frozen=True)
class SingleOutputPert(PrivateErm):
    """One-stage output perturbation of the regularised extension over the whole domain.

    It meets (6) without localisation, with all of ε and a smaller constant: the bias of the extension enters the
    *distance* of the minimisers through the records steeper than C alone, whatever the diameter.

    Attributes:
        calibration: "tight" for gap C²/(72λm²) and noise for 3C/(λm); "paper" for Algorithm 2's C²/(2λm²), 6C/(λm).
    """

    calibration: Literal["tight", "paper"] = "tight"
    minimiser: Solver = certified

    label = "pure_heavy_tails/proc-single-op"
    readings: ClassVar = {"paper-noise": {"calibration": "paper"}, "dialled": {"noise_dial": 0.01}}
    success = 0.8

    def schedule(self, problem: Problem, n: int) -> Schedule[SolverStage]:
        epsilon, constants = self.check(problem, n), problem.constants
        if self.calibration not in ("tight", "paper"):
            raise InvalidInput(f"calibration must be 'tight' or 'paper', got {self.calibration!r}")
        C, lambda_ = self.cap(problem, n), self.lambda_
        factor, divisor = (3, 72) if self.calibration == "tight" else (6, 2)
        sensitivity = factor * C / (lambda_ * n)
        stage = SolverStage(
            stage="point",
            records=n,
            lambda_=lambda_,
            C=C,
            epsilon=epsilon,
            noise=self.noise_dial * sensitivity / epsilon,
            gap=C**2 / (divisor * lambda_ * n**2),
        )
        steepest = steepest_gradient(problem, self.k, n)
        return Schedule(
            phases=(stage,),
            releases=(output_release(stage, sensitivity),),
            gradients=oracle_calls(self.minimiser, constants, stage, steepest, constants.diameter(2.0)),
            floats_per_trial=4 * constants.rows(n) * constants.d,
            claimed=self.claimed(epsilon),
        )

    def execute(self, run: Run[SolverStage], workload: Workload, data: Data, start: Array) -> Array:
        (stage,) = run.schedule.phases
        w = solve(self.minimiser, task(workload, data, start, stage), self.label)
        return workload.project(run.release("point", w))

    def c_erm(self, problem: Problem, m: int) -> float:
        """3 q/d + ε/(6d) + 20 (at most 27.1), or 6 q/d + ε/d + 20 (at most 34.9) with the paper's noise."""
        if self.calibration == "tight":
            return _constant(problem, noise=3.0, approximation=1 / 6)
        return _constant(problem, noise=6.0, approximation=1.0)


@dataclass(frozen=True)
class StructuredDoubleOutputPert(DoubleOutputPert):
    """Algorithm 4 as modified for Theorem D.4: both minimisations by Lemma D.5 on the extension itself.

    The number of steps does not depend on how steep the records are. For small instances: it grows like m^4.
    """

    minimiser: Solver = field(default_factory=DirectSubgradient)

    label = "pure_heavy_tails/proc-structured-double-op"


def task(workload: Workload, data: Data, start: Array, stage: SolverStage, within: Ball | None = None) -> Task:
    """min of mean f_C + λ/2 |w - w_0|² over W or W_0; f_C keeps its infimum over the whole of W."""
    return Task(
        workload=workload,
        sample=data.read(),
        weight=stage.lambda_,
        centre=start,
        cap=stage.C,
        within=within,
        gap=stage.gap,
    )


def output_release(stage: SolverStage, sensitivity: float) -> Release:
    """The release of a perturbed minimiser over all records of the block."""
    reads = (Read(start=0, stop=stage.records, sensitivity=sensitivity),)
    return Release(name=stage.stage, law=isotropic_laplace(stage.noise), reads=reads)


def _constant(problem: Problem, noise: float, approximation: float) -> float:
    """Noise at its 0.9 quantile, the inner minimiser's distance, and the bias 20, in units of Cd/(λmε)."""
    d, (epsilon, _) = problem.constants.d, require_budget(problem, "pure_heavy_tails/prop-3-2")
    return noise * noise_quantile(d, 0.9) / d + approximation * epsilon / d + 20


def bias_bound(amplitude: Array, cap: float, weight: float, d: int) -> Array:
    """A sure bound on |ŵ_C - ŵ_λ| from the gradient norms A_i of the records: (..., m) -> (...).

    (1/(λm)) sum of (A_i + C) 1{A_i > C}, or (A_i - C)_+ in one dimension: the two objectives differ by a function with
    that Lipschitz constant times λ, and both are λ-strongly convex.
    """
    excess = (amplitude - cap if d == 1 else amplitude + cap) * (amplitude > cap)
    return np.asarray(excess.mean(axis=-1) / weight)
