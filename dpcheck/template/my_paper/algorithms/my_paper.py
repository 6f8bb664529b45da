"""Algorithm 1: the mean of n numbers with Laplace noise, as the minimiser of squared distances on an interval."""

from __future__ import annotations

from dataclasses import dataclass

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Read, Release, Schedule, Workload
from dpcheck.laws import Laplace
from dpcheck.privacy import PureDP
from dpcheck.running import Run


@dataclass(frozen=True)
class PlanRow:
    """One row of `dpcheck plan`."""

    records: int
    scale: float


@dataclass(frozen=True)
class NoisyMean(Algorithm[PlanRow]):
    """The noise has scale D/(nε); `noise_dial` multiplies it, and anything but 1 is not as printed."""

    noise_dial: float = 1.0

    label = "my_paper/alg-1"

    def schedule(self, problem: Problem, n: int) -> Schedule[PlanRow]:
        if not isinstance(problem.privacy, PureDP) or problem.constants.d != 1:
            got = f"{problem.privacy} in dimension {problem.constants.d}"
            raise InvalidInput(f"{self.label} is ε-DP for numbers, got {got}; leave out delta, and take d = 1")
        sensitivity = problem.constants.diameter(2.0) / n
        scale = self.noise_dial * sensitivity / problem.privacy.epsilon
        read = Read(start=0, stop=n, sensitivity=sensitivity)
        return Schedule(
            phases=(PlanRow(n, scale),),
            releases=(Release(name="mean", law=Laplace(scale), reads=(read,), norm=1.0),),
            gradients=n,
            floats_per_trial=n,
            claimed=problem.privacy if self.noise_dial == 1 else None,
            claimed_by=("my_paper/thm-1",),
        )

    def execute(self, run: Run[PlanRow], workload: Workload, data: Data, start: Array) -> Array:
        sample = data.read(means_only=True)
        return workload.project(run.release("mean", sample.mean(sample.values)))
