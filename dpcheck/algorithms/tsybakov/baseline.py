"""DP-SGD, the baseline of the experiments: Poisson minibatches, clipping by norm, Gaussian noise."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np

from dpcheck.accounting.calibration import smallest_noise
from dpcheck.algorithms.tsybakov.clipped import ClippedSums
from dpcheck.algorithms.tsybakov.localised import BUDGETS
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.geometry.norms import clip_norm
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Read, Release, Sample, Sampling, Schedule, Workload
from dpcheck.laws import Gaussian
from dpcheck.privacy import ApproxDP
from dpcheck.running import Run


@dataclass(frozen=True, kw_only=True)
class PoissonSteps:
    """T steps of size eta on Poisson samples of expected size b, clipped at `level`, noise deviation sigma a step."""

    T: int
    b: int
    level: float
    eta: float
    sigma: float


@functools.lru_cache(maxsize=64)
def multiplier(epsilon: float, delta: float, n: int, T: int, b: int) -> float:
    """Deviation over sensitivity of a step that the accountant certifies for T Poisson samples."""
    eta = 1.0  # the same: no step is taken
    low = 1e-2  # the same: where the search begins
    return smallest_noise(
        lambda x: _plan(PoissonSteps(T=T, b=b, level=0.5 * b, eta=eta, sigma=x), n), ApproxDP(epsilon, delta), low=low
    )


def _plan(steps: PoissonSteps, n: int) -> Schedule[PoissonSteps]:
    """Promised by nobody yet."""
    read = Read(start=0, stop=n, sensitivity=2 * steps.level / steps.b, sampling=Sampling("poisson", steps.b))
    return Schedule(
        phases=(steps,),
        releases=(Release(name="gradient", law=Gaussian(steps.sigma), reads=(read,), count=steps.T),),
        gradients=steps.T * steps.b,
        floats_per_trial=0,
        claimed=None,
    )


@dataclass(frozen=True)
class PoissonSGD(Algorithm[PoissonSteps]):
    """DP-SGD; its step size and clip level are tuned by hand, which is not part of the privacy that it reports.

    Attributes:
        T, b: steps and expected batch size; level: of clipping; eta: step size.
        average: return the mean of the iterates rather than the last one.
    """

    T: int = 50  # the same: no statement names it
    b: int = 64  # the same: no statement names it
    level: float = 1.0  # the same: no statement names it
    eta: float = 0.1  # the same: no statement names it
    average: bool = True

    label = "tsybakov/proc-dpsgd"
    budgets = BUDGETS

    def __post_init__(self) -> None:
        if not (self.T >= 1 and self.b >= 1 and self.level > 0 and self.eta > 0):
            raise InvalidInput(f"needs T, b >= 1 and level, eta > 0, got {self.T}, {self.b}, {self.level}, {self.eta}")

    def schedule(self, problem: Problem, n: int) -> Schedule[PoissonSteps]:
        epsilon, delta = self.privacy_budget(problem)
        if n < self.b:
            raise Infeasible(self.label, f"n >= b = {self.b} records, a batch", f"n = {n}", self.b)
        sigma = multiplier(epsilon, delta, n, self.T, self.b) * 2 * self.level / self.b
        steps = PoissonSteps(T=self.T, b=self.b, level=self.level, eta=self.eta, sigma=sigma)
        return replace(
            _plan(steps, n), floats_per_trial=(problem.constants.d + 3) * n, claimed=ApproxDP(epsilon, delta)
        )

    def execute(self, run: Run[PoissonSteps], workload: Workload, data: Data, start: Array) -> Array:
        (steps,) = run.schedule.phases
        w = np.broadcast_to(start, (run.trials, start.shape[-1]))
        total, block = np.zeros_like(w), data.read()
        for _ in range(steps.T):
            batch = run.subsample("gradient", block)
            # Divided by the expected size: the real one is hidden.
            g = run.release("gradient", _clipped_sum(workload, batch, w, steps.level) / steps.b)
            w = workload.project(w - steps.eta * g)
            total = total + w
        return total / steps.T if self.average else w


def _clipped_sum(workload: Workload, batch: Sample, w: Array, level: float) -> Array:
    if isinstance(workload, ClippedSums):
        return workload.clipped_sum(w, batch, level)
    clipped = clip_norm(workload.gradient(w[:, None], batch.values), level)
    return np.asarray(np.einsum("tr,trd->td", batch.weights, clipped))
