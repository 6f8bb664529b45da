"""Seeded bugs in the algorithms of `pure_heavy_tails`: `dpcheck mutate pure_heavy_tails --family seeded`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dpcheck.algorithms import pure_heavy_tails as algorithms
from dpcheck.interfaces import Array, Data, Problem, Sample, Schedule, Workload
from dpcheck.laws import Exponential
from dpcheck.mutants import seeded
from dpcheck.privacy import PureDP
from dpcheck.solvers import Pushed, Task, certified


def _scaled(plan: Schedule[Any], factor: float) -> Schedule[Any]:
    """The schedule with the noise of its releases multiplied."""
    return plan.edit("*", law=lambda law: replace(law, scale=factor * law.scale))


# Output perturbation -------------------------------------------------------------------------------------------------


@seeded("pure_heavy_tails/proc-single-op", algorithms.SingleOutputPert, "schedule")
def single_half_noise(original: Any, self: Any, *given: Any) -> Any:
    """The noise of single output perturbation has half of its scale."""
    return _scaled(original(self, *given), 1 / 2)


@seeded("pure_heavy_tails/alg-4", algorithms.DoubleOutputPert, "schedule")
def double_half_noise(original: Any, self: Any, *given: Any) -> Any:
    """Both noises have half of their scale; slack hides it unless the solver is at its worst."""
    return _scaled(original(self, *given), 1 / 2)


@seeded("pure_heavy_tails/alg-4", algorithms.DoubleOutputPert, "schedule")
def over_noised(original: Any, self: Any, *given: Any) -> Any:
    """Three times the noise: more private than promised, less accurate."""
    return _scaled(original(self, *given), 3.0)


@seeded("pure_heavy_tails/alg-4", algorithms.DoubleOutputPert, "schedule")
def full_budget_twice(original: Any, self: Any, problem: Problem, n: int) -> Any:
    """Both stages are calibrated to the whole epsilon."""
    epsilon, _ = self.privacy_budget(problem)
    plan = original(self, replace(problem, privacy=PureDP(2 * epsilon)), n)
    return replace(plan, claimed=problem.privacy)


@seeded("pure_heavy_tails/alg-2", algorithms.OutputPertLocalize, "schedule")
def sensitivity_without_four(original: Any, self: Any, *given: Any) -> Any:
    """Sensitivity C/(lambda n) in place of 4C/(lambda n), in the schedule and in the noise."""
    plan = original(self, *given)
    (stage,) = plan.phases
    unit = stage.C / (stage.lambda_ * stage.records)
    smaller = {"reads": lambda reads: (replace(reads[0], sensitivity=unit),)}
    return plan.edit("point", law=replace(plan.releases[0].law, scale=unit / stage.epsilon), **smaller)


@seeded("pure_heavy_tails/alg-2", algorithms.output_perturbation, "solve")
def no_extension(original: Any, minimiser: Any, task: Task, label: str) -> Array:
    """The losses are minimised, not their Lipschitz extensions."""
    return certified(replace(task, cap=None)).point


@seeded("pure_heavy_tails/alg-2", algorithms.output_perturbation, "solve")
def solver_stopped_early(original: Any, minimiser: Any, task: Task, label: str) -> Array:
    """The inner solver stops at nine times the gap it certifies."""
    return Pushed(excess=9.0)(task).point


@seeded("pure_heavy_tails/alg-2", algorithms.output_perturbation, "solve")
def solver_at_four_gaps(original: Any, minimiser: Any, task: Task, label: str) -> Array:
    """The inner solver stops at four times its gap: 6C/(lambda n) is what the noise is for, but not what is derived."""
    return Pushed(excess=4.0)(task).point


@seeded("pure_heavy_tails/alg-2", algorithms.OutputPertLocalize, "schedule")
def radius_without_budget(original: Any, self: Any, *given: Any) -> Any:
    """The radius of W_0 is computed as if epsilon were 1."""
    plan = original(self, *given)
    (stage,) = plan.phases
    return replace(plan, phases=(replace(stage, radius=stage.radius * stage.epsilon),))


@seeded("pure_heavy_tails/alg-2", algorithms.OutputPertLocalize, "schedule")
def radius_of_the_whole_budget(original: Any, self: Any, *given: Any) -> Any:
    """The radius of W_0 from twice the budget: 50 zeta is still many times the noise, but not what is printed."""
    plan = original(self, *given)
    (stage,) = plan.phases
    return replace(plan, phases=(replace(stage, radius=stage.radius / 2),))


@seeded("pure_heavy_tails/alg-4", algorithms.output_perturbation, "solve", lookalike=True)
def exact_solver(original: Any, minimiser: Any, task: Task, label: str) -> Array:
    """An exact minimiser where the given one is exact as well: less than the allowed gap is no bug."""
    return certified(task).point if minimiser is certified else original(minimiser, task, label)


@seeded("pure_heavy_tails/proc-single-op", algorithms.SingleOutputPert, "schedule", lookalike=True)
def tight_calibration(original: Any, self: Any, *given: Any) -> Any:
    """Noise for 3C/(lambda m) as a copy of its settings has it: above the 7C/(3 lambda m) of the worst legal solver."""
    return original(replace(self), *given)


# Localisation --------------------------------------------------------------------------------------------------------


@seeded("pure_heavy_tails/alg-1", algorithms.PopLocalize, "phases")
def phases_share_records(original: Any, self: Any, *given: Any) -> Iterator[Any]:
    """Every phase starts at the first record."""
    for t, _, records, weight, gap in original(self, *given):
        yield t, 0, records, weight, gap


@seeded("pure_heavy_tails/alg-1", algorithms.PopLocalize, "execute")
def overlapping_blocks(original: Any, self: Any, run: Any, workload: Workload, data: Data, start: Array) -> Any:
    """Blocks are read half a block too early, while the schedule says that they are disjoint."""
    return original(self, run, workload, _Overlapping(data), start)


class _Overlapping:
    """Data whose blocks begin half a block too early."""

    def __init__(self, data: Data) -> None:
        self._data = data

    @property
    def n(self) -> int:
        return self._data.n

    def part(self, start: int, stop: int) -> Data:
        back = min(start, (stop - start) // 2)
        return self._data.part(start - back, stop - back)

    def read(self, *, means_only: bool = False) -> Sample:
        return self._data.read(means_only=means_only)


# Exponential mechanisms ----------------------------------------------------------------------------------------------


@seeded("pure_heavy_tails/proc-smoothed-em-pgm", algorithms.SmoothedEMPGM, "step")
def step_size_from_data(original: Any, self: Any, *given: Any) -> Any:
    """The step size as printed, 1/(lambda + (d/tau) max L_i), follows the steepest record where a public one is due."""
    return original(replace(self, gamma_rule="data", gamma=None), *given)


@seeded("pure_heavy_tails/alg-5", algorithms.EMPGM, "schedule")
def selection_twice_as_sharp(original: Any, self: Any, *given: Any) -> Any:
    """The exponential mechanism with epsilon/Delta in place of epsilon/(2 Delta)."""
    return original(self, *given).edit("point", law=lambda law: Exponential(2 * law.coefficient))


@seeded("pure_heavy_tails/alg-7", algorithms.LocalizedApproxEM, "schedule")
def gibbs_quarter_sensitivity(original: Any, self: Any, *given: Any) -> Any:
    """A quarter of Delta_0 in the Gibbs law's coefficient."""
    return original(self, *given).edit("point", law=lambda law: Exponential(4 * law.coefficient))


@seeded("pure_heavy_tails/alg-7", algorithms.LocalizedApproxEM, "schedule")
def gibbs_half_sensitivity(original: Any, self: Any, *given: Any) -> Any:
    """Half of Delta_0: both stages still cost less than epsilon with an exact solver, stage 2 more than its share."""
    return original(self, *given).edit("point", law=lambda law: Exponential(2 * law.coefficient))
