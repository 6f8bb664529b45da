"""Population localisation (Algorithm 1) with any private solver of regularised empirical risks inside."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np

from dpcheck.algorithms.pure_heavy_tails.erm import PrivateErm, SolverStage, moment, view
from dpcheck.algorithms.pure_heavy_tails.output_perturbation import (
    DoubleOutputPert,
    SingleOutputPert,
    StructuredDoubleOutputPert,
)
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Release, Schedule, Solver, Workload, procedure
from dpcheck.numerics import smallest_n
from dpcheck.privacy import PureDP
from dpcheck.running import Run
from dpcheck.solvers import certified

TURNS, CLOSE = 100, 1e-14  # the same: further turns leave it where it is
"""Of the iteration for lambda_1: at most, and how close two turns are when it ends, relatively."""


@dataclass(frozen=True, kw_only=True)
class OutputPhase(SolverStage):
    """One release in each block of one phase of Algorithm 1: `records` is m_t and `lambda_` is λ_t = 32^(t-1) λ_1.

    Attributes:
        t: number of the phase, from 1.
        first: index of the phase's first record.
        blocks: J.
        reach: Δ_t/λ_t: how far a good block's point may lie from the regularised population minimiser.
    """

    t: int
    first: int
    blocks: int
    reach: float


@procedure("pure_heavy_tails/proc-geom-agg")
def geometric_aggregation(points: Array) -> Array:
    """The point with the smallest ball around it that holds a majority: (trials, J, d) -> (trials, d).

    If more than J/2 points lie within R of some v, the result lies within 3R of v. Ties go to the smallest index.
    """
    J = points.shape[1]
    one, other = np.triu_indices(J, 1)
    distances = np.zeros((len(points), J, J))
    distances[:, one, other] = distances[:, other, one] = np.linalg.norm(points[:, one] - points[:, other], axis=-1)
    # The ball must hold J // 2 + 1 points, its centre included.
    radius = np.partition(distances, J // 2, axis=2)[:, :, J // 2]
    return np.asarray(points[np.arange(len(points)), radius.argmin(axis=1)])


@dataclass(frozen=True)
class PopLocalize(Algorithm[OutputPhase]):
    """Algorithm 1, Pop-Localize(Z, ε, A_ERM, δ); δ is the problem's failure probability.

    Attributes:
        erm: A_ERM; its λ and centre are set phase by phase.
        blocks: J; None for the proved ceil(log(T/δ) / (2 (q - 1/2)²)), q the solver's success probability less 0.05.
            A smaller odd number is the practical choice: as private, without a certified risk.
        lambda_1: None for 20 Δ_1/D.
        c_erm: constant of (6) for λ_1 and Δ_t; None for the solver's proved one. 1 gives the right scaling in practice.
        phase_count: "nonempty" for as many phases as have a record in every block; "printed" for ceil(log2 n), whose
            last phases have empty blocks.
        resolution: phases stop once 3 Δ_t/λ_t, which is public, falls below this share of the diameter. That costs at
            most that share of G_1 D in risk, and keeps noise and gaps far above the rounding of float64.
    """

    erm: PrivateErm = field(default_factory=DoubleOutputPert)
    blocks: int | None = None
    lambda_1: float | None = None
    c_erm: float | None = None
    phase_count: Literal["nonempty", "printed"] = "nonempty"
    resolution: float = 1e-9  # the same: no statement names it, and rounding is a million times finer

    label = "pure_heavy_tails/alg-1"
    readings: ClassVar = {
        "literal": {"phase_count": "printed"},
        "practical": {"blocks": 9, "c_erm": 1.0},  # the same: no statement names what is practical
    }

    def __post_init__(self) -> None:
        for name in ("blocks", "lambda_1", "c_erm", "resolution"):
            given = getattr(self, name)
            if given is not None and not (given > 0 and math.isfinite(given)):
                raise InvalidInput(f"{name} must be a finite number > 0, got {given}")
        if self.blocks is not None and self.blocks != int(self.blocks):
            raise InvalidInput(f"blocks must be a whole number, got {self.blocks}")
        if self.phase_count not in ("nonempty", "printed"):
            raise InvalidInput(f"phase_count must be 'nonempty' or 'printed', got {self.phase_count!r}")

    # Sizes

    def repetitions(self, problem: Problem, n: int) -> int:
        """J."""
        if self.blocks is not None:
            return int(self.blocks)
        delta, T = problem.failure_probability, math.ceil(math.log2(max(n, 2)))
        margin = self.erm.success - 0.05 - 0.5
        return math.ceil(math.log(T / delta) / (2 * margin**2))

    def delta(self, problem: Problem, m: int, weight: float) -> float:
        """Δ_t: accuracy (6) of the solver at λ = `weight`, and of the sample's own minimiser with probability 0.95."""
        constants, (epsilon, _) = problem.constants, self.privacy_budget(problem)
        G_2, G_k = moment(constants, 2.0, self.label), moment(constants, self.erm.k, self.label)
        private = G_k * (constants.d / (m * epsilon)) ** (1 - 1 / self.erm.k)
        c_erm = replace(self.erm, lambda_=weight).c_erm(problem, m) if self.c_erm is None else self.c_erm
        return float(c_erm * (private + G_2 / math.sqrt(m)) + math.sqrt(20 / m) * G_2)

    def first_weight(self, problem: Problem, m: int) -> float:
        """λ_1: 20 Δ_1/D unless given; a fixed point, because Δ_1 may depend on λ through a logarithm."""
        if self.lambda_1 is not None:
            return self.lambda_1
        D = problem.constants.diameter(2.0)
        weight = 1.0  # the same: where a contraction starts is of no matter
        for _ in range(TURNS):
            weight, before = 20 * self.delta(problem, m, weight) / D, weight
            if math.isclose(weight, before, rel_tol=CLOSE):  # the same: further turns leave it where it is
                break
        return weight

    def phases(self, problem: Problem, n: int) -> Iterator[tuple[int, int, int, float, float]]:
        """(t, first record, m_t, λ_t, Δ_t) of every phase."""
        J, D = self.repetitions(problem, n), problem.constants.diameter(2.0)
        weight = self.first_weight(problem, n // 2 // J)
        first = 0
        for t in range(1, (n // J).bit_length()):  # up to floor(log2(n/J)): as long as m_t >= 1
            records = n // 2**t // J
            gap = self.delta(problem, records, weight)
            yield t, first, records, weight, gap
            # What this phase leaves, 3 Δ_t/λ_t, is the scale on which the next one moves.
            if 3 * gap / weight < self.resolution * D:
                return
            first, weight = first + n // 2**t, 32 * weight

    # Plan

    def schedule(self, problem: Problem, n: int) -> Schedule[OutputPhase]:
        epsilon, _ = self.privacy_budget(problem)
        if not 0 < problem.failure_probability < 0.5:
            raise InvalidInput(f"{self.label} needs delta in (0, 1/2), got {problem.failure_probability}")
        self._check_size(problem, n)
        J = self.repetitions(problem, n)
        rows: list[OutputPhase] = []
        releases: list[Release] = []
        solvers: list[Schedule[SolverStage]] = []
        for t, first, records, weight, gap in self.phases(problem, n):
            inner = replace(self.erm, lambda_=weight).schedule(problem, records)
            solvers.append(inner)
            for j in range(J):
                releases += inner.placed(f"phase {t}/block {j}/", first + j * records)
            rows += [
                OutputPhase(**vars(stage), t=t, first=first, blocks=J, reach=gap / weight) for stage in inner.phases
            ]
        return Schedule(
            phases=tuple(rows),
            releases=tuple(releases),
            gradients=J * sum(inner.gradients for inner in solvers),
            floats_per_trial=max(J * J + J * problem.constants.d, *(inner.floats_per_trial for inner in solvers)),
            claimed=PureDP(epsilon) if all(inner.claimed is not None for inner in solvers) else None,
        )

    def _check_size(self, problem: Problem, n: int) -> None:
        J = self.repetitions(problem, n)
        if n < 2 * J:
            needed = smallest_n(lambda size: size >= 2 * self.repetitions(problem, size))
            raise Infeasible(
                self.label, f"a record in each of J = {J} blocks of its first phase, n >= 2J", f"{n}", needed
            )
        T = math.ceil(math.log2(n))
        if self.phase_count == "printed" and n // 2**T // J < 1:
            raise Infeasible(
                self.label,
                f"a record in each of J = {J} blocks of all ceil(log2 n) = {T} phases",
                f"{n // 2**T} records in the last phase",
            )

    def execute(self, run: Run[OutputPhase], workload: Workload, data: Data, start: Array) -> Array:
        w = start
        for t, rows in itertools.groupby(run.schedule.phases, key=lambda row: row.t):
            head, *others = rows
            inner_rows: list[SolverStage] = [head, *others]
            first, m, J = head.first, head.records, head.blocks
            erm = replace(self.erm, lambda_=head.lambda_)
            points = []
            for j in range(J):
                block = data.part(first + j * m, first + (j + 1) * m)
                inner = run.inside(f"phase {t}/block {j}/", view(run.schedule, *inner_rows))
                points.append(erm.execute(inner, workload, block, w))
            w = geometric_aggregation(np.stack(points, axis=1))
        return w

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of `pure_heavy_tails/thm-2-1@summed`: the weights that are run, the precisions that are proved.

        Only the moment where the solver's constant is not proved, or J is smaller than proved.
        """
        proved = replace(self, c_erm=None, blocks=None)
        moments = {"k": self.erm.k, "G_k": problem.constants.moment(self.erm.k, 1)}
        if not self.erm.certified(problem) or not 0 < problem.failure_probability < 0.5:
            return moments
        if self.repetitions(problem, n) < proved.repetitions(problem, n):
            return moments
        rows = list(self.phases(problem, n))
        return moments | {
            "Delta[i]": [proved.delta(problem, records, weight) for _, _, records, weight, _ in rows],
            "lambda[i]": [weight for _, _, _, weight, _ in rows],
            "l": len(rows) or math.nan,
        }


SOLVERS: dict[str, type[DoubleOutputPert] | type[SingleOutputPert]] = {
    "double": DoubleOutputPert,
    "single": SingleOutputPert,
    "structured": StructuredDoubleOutputPert,
}


@dataclass(frozen=True)
class LocalizedOutputPert(Algorithm[OutputPhase]):
    """Localized Double Output Perturbation: Algorithm 1 around Algorithm 4, or around its one-stage repair.

    Attributes:
        k: order of the moment bound.
        solver: "double" as printed; "single" for one-stage output perturbation, simpler and more accurate; "structured"
            for Theorem D.4's.
        minimiser: of the regularised extension, with a certified gap; "structured" brings its own.
        blocks, lambda_1, c_erm: as in `PopLocalize`.
        noise_dial: multiplies all noise; anything but 1 is not private.
    """

    k: float = PrivateErm.k
    solver: Literal["double", "single", "structured"] = "double"
    blocks: int | None = None
    lambda_1: float | None = None
    c_erm: float | None = None
    minimiser: Solver = certified
    noise_dial: float = PrivateErm.noise_dial

    label = "pure_heavy_tails/proc-localized-double-op"
    readings: ClassVar = {
        "corrected": {"solver": "single"},
        "practical": {"blocks": 9, "c_erm": 1.0},  # the same: no statement names what is practical
        "dialled": {"noise_dial": 0.01},
    }

    def outer(self) -> PopLocalize:
        """Algorithm 1 with this solver inside."""
        if self.solver not in SOLVERS:
            raise InvalidInput(f"solver must be one of {', '.join(SOLVERS)}, got {self.solver!r}")
        kind = SOLVERS[self.solver]
        erm = kind(k=self.k, noise_dial=self.noise_dial)
        if self.solver != "structured" or self.minimiser is not certified:
            erm = replace(erm, minimiser=self.minimiser)
        return PopLocalize(erm=erm, blocks=self.blocks, lambda_1=self.lambda_1, c_erm=self.c_erm)

    def schedule(self, problem: Problem, n: int) -> Schedule[OutputPhase]:
        return self.outer().schedule(problem, n)

    def execute(self, run: Run[OutputPhase], workload: Workload, data: Data, start: Array) -> Array:
        return self.outer().execute(run, workload, data, start)

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        return self.outer().terms(problem, n)


@dataclass(frozen=True)
class Constant(Algorithm[None]):
    """The trivial algorithm: returns its start. 0-DP, with excess risk at most G_1 D."""

    label = "pure_heavy_tails/fact-trivial"

    def schedule(self, problem: Problem, n: int) -> Schedule[None]:
        return Schedule(
            phases=(), releases=(), gradients=0, floats_per_trial=problem.constants.d, claimed=problem.privacy
        )

    def execute(self, run: Run[None], workload: Workload, data: Data, start: Array) -> Array:
        return np.broadcast_to(start, (run.trials, start.shape[1])).copy()
