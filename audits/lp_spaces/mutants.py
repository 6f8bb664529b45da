"""Seeded bugs in the algorithms of `lp_spaces`: `dpcheck mutate lp_spaces --family seeded`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.algorithms.lp_spaces import (
    ApproximateObjectivePerturbation,
    BatchedMirrorDescent,
    EuclideanHeavyTails,
    ExactObjectivePerturbation,
    FullBatchMirrorDescent,
    HalvingPhasedSGD,
    ShuffledMirrorDescent,
    StronglyConvexObjectivePerturbation,
)
from dpcheck.algorithms.lp_spaces.optimizer import ProjectedGradient
from dpcheck.algorithms.lp_spaces.regular import generalised_gaussian
from dpcheck.geometry.norms import dual_exponent, norm
from dpcheck.interfaces import Array, Solution, Workload
from dpcheck.laws import PerRecord
from dpcheck.mutants import seeded
from dpcheck.solvers import Pushed, certified


@seeded("lp_spaces/alg-1", ApproximateObjectivePerturbation, "schedule")
def sixteenth_of_the_first_noise(original: Any, self: Any, *given: Any) -> Any:
    """The noise of the objective has a sixteenth of its deviation: the square of its 8 was never taken."""
    return original(self, *given).edit("objective", law=lambda law: replace(law, sigma=law.sigma / 16))


@seeded("lp_spaces/alg-1", ApproximateObjectivePerturbation, "plan")
def tenth_of_the_second_noise(original: Any, self: Any, *given: Any) -> Any:
    """The noise on the approximate minimiser has a tenth of its deviation."""
    row, jacobian = original(self, *given)
    return replace(row, sigma_2=row.sigma_2 / 10), jacobian


@seeded("lp_spaces/alg-1", ApproximateObjectivePerturbation, "plan")
def over_noised(original: Any, self: Any, *given: Any) -> Any:
    """A thousand times the noise: private, and useless."""
    row, jacobian = original(self, *given)
    return replace(row, sigma_1=1000 * row.sigma_1, sigma_2=1000 * row.sigma_2), jacobian


@seeded("lp_spaces/proc-optimizer", ProjectedGradient, "__call__")
def inaccurate_optimiser(original: Any, self: Any, objective: Any) -> Solution:
    """The optimiser errs by nine times the accuracy that it certifies."""
    return Pushed(excess=9.0, base=certified)(objective)


@seeded("lp_spaces/alg-2", StronglyConvexObjectivePerturbation, "plan")
def printed_lambda(original: Any, self: Any, *given: Any) -> Any:
    """Strong convexity in the norm of the set is used as a Euclidean one, as printed."""
    return original(replace(self, lambda_rule="paper"), *given)


@seeded("lp_spaces/alg-3", FullBatchMirrorDescent, "schedule")
def budget_of_a_step(original: Any, self: Any, *given: Any) -> Any:
    """The noise of a step spends the whole budget: √T is missing."""
    plan = original(self, *given)
    (row,), d = plan.phases, given[0].constants.d
    return plan.edit("gradients", law=generalised_gaussian(row.sigma / math.sqrt(row.steps), self.p, d))


@seeded("lp_spaces/alg-3", FullBatchMirrorDescent, "execute")
def doubled_gradients(original: Any, self: Any, run: Any, workload: Workload, data: Any, start: Array) -> Any:
    """Gradients are doubled before the release."""

    class Louder:
        def __getattr__(self, name: str) -> Any:
            return getattr(workload, name)

        def gradient(self, w: Array, z: Array) -> Array:
            return 2 * workload.gradient(w, z)

    return original(self, run, Louder(), data, start)


@seeded("lp_spaces/alg-4", ShuffledMirrorDescent, "schedule")
def noise_of_a_batch(original: Any, self: Any, *given: Any) -> Any:
    """The noise on one record is that of the mean of a batch: √b times too small."""
    plan = original(self, *given)
    root = math.sqrt(plan.phases[0].batch)
    return plan.edit("gradients", law=lambda law: PerRecord(replace(law.law, sigma=law.law.sigma / root)))


@seeded("lp_spaces/alg-4", ShuffledMirrorDescent, "schedule")
def no_shuffle(original: Any, self: Any, *given: Any) -> Any:
    """The records are not shuffled, so that nothing amplifies their local budget."""
    unsampled = {"reads": lambda reads: tuple(replace(read, sampling=None) for read in reads)}
    return original(self, *given).edit("gradients", **unsampled)


@seeded("lp_spaces/proc-exact-objpert", ExactObjectivePerturbation, "execute")
def half_the_regulariser(original: Any, self: Any, run: Any, *rest: Any) -> Any:
    """Half of the regulariser that the noise was calibrated to: the minimiser moves twice as far."""
    (row,) = run.schedule.phases
    weaker = replace(run.schedule, phases=(replace(row, lambda_=row.lambda_ / 2),))
    return original(self, run.inside("", weaker), *rest)


@seeded("lp_spaces/proc-phased-sgd", HalvingPhasedSGD, "schedule")
def noise_of_the_last_phase(original: Any, self: Any, *given: Any) -> Any:
    """Every phase has the noise of the last one, whose step is the smallest."""
    plan = original(self, *given)
    return plan.edit("phase *", law=plan.releases[-1].law)


@seeded("lp_spaces/proc-batched-md", BatchedMirrorDescent, "truncated")
def untruncated(original: Any, self: Any, workload: Workload, w: Array, rows: Array, level: float) -> Array:
    """Gradients above the threshold are kept."""
    return original(self, workload, w, rows, math.inf)


@seeded("lp_spaces/proc-heavy-euclid", EuclideanHeavyTails, "truncated")
def untruncated_in_euclid(original: Any, self: Any, workload: Workload, w: Array, rows: Array, level: float) -> Array:
    """Gradients above the threshold are kept, p >= 2."""
    return original(self, workload, w, rows, math.inf)


@seeded("lp_spaces/proc-batched-md", BatchedMirrorDescent, "truncated", lookalike=True)
def clipped_for_zeroed(original: Any, self: Any, workload: Workload, w: Array, rows: Array, level: float) -> Array:
    """Gradients are scaled down to the threshold instead of set to zero: the sensitivity is the same."""
    gradient = original(self, workload, w, rows, math.inf)
    length = norm(gradient, dual_exponent(self.p))[..., None]
    return np.asarray(gradient * np.minimum(1.0, level / np.maximum(length, 1e-300)))


@seeded("lp_spaces/proc-heavy-euclid", EuclideanHeavyTails, "execute", lookalike=True)
def in_another_object(original: Any, self: Any, *given: Any) -> Any:
    """None: the Euclidean reduction as it stands, run from a copy of its settings."""
    return original(replace(self), *given)
