"""Seeded bugs in the algorithms of `user_level`: `dpcheck mutate user_level --family seeded`."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.algorithms.user_level import (
    GroupPrivacy,
    MinibatchSGD,
    PhasedERM,
    PhasedSGD,
    SmoothedERM,
    ThresholdTest,
    accelerated,
    concentration,
    smoothing,
)
from dpcheck.algorithms.user_level.descent import sgd
from dpcheck.algorithms.user_level.minibatch import Accelerated, Batches
from dpcheck.algorithms.user_level.phased import GroupedPhase
from dpcheck.algorithms.user_level.sampled import SampledSteps
from dpcheck.interfaces import Array, Data, Workload
from dpcheck.laws import Gaussian, Laplace
from dpcheck.mutants import seeded

# Algorithm 1 ----------------------------------------------------------------------------------------------------------


@seeded("user_level/alg-1", GroupedPhase, "releases")
def score_noise_inverted(original: Any, self: GroupedPhase) -> Any:
    """Noise Lap(ε/20) on the score, where Lap(20/ε) is printed."""
    score, mean = original(self)
    return replace(score, law=Laplace(1 / self.test)), mean


@seeded("user_level/proc-concentration-score", concentration, "concentration_score")
def score_not_averaged(original: Any, points: Array, radius: float) -> Array:
    """The score counts pairs without the division by C, so that a user moves it by 2(C - 1)."""
    return np.asarray(original(points, radius) * points.shape[1])


@seeded("user_level/alg-1", PhasedSGD, "execute")
def halts_with_the_score(original: Any, self: Any, run: Any, workload: Any, data: Data, start: Array) -> Array:
    """Halts by the score of the first phase itself, and releases the noisy one for show."""
    phase = run.schedule.phases[0]
    points = sgd(workload.each, self._split(run, data.part(0, phase.users), phase), phase.eta, start)
    (near,) = concentration.neighbour_counts(points, (phase.tau,))
    run.halt(np.broadcast_to(near.mean(axis=1) < 0.8 * phase.groups, (run.trials,)))
    return np.asarray(original(self, run, workload, data, start))


@seeded("user_level/alg-1", concentration, "outlier_removal")
def no_removal(original: Any, points: Array, counts: Array, uniforms: Array, fallback: Array) -> Array:
    """Averages all points, outliers included."""
    return np.asarray(points.mean(axis=1))


@seeded("user_level/alg-1", PhasedSGD, "_phases")
def phases_share_users(original: Any, self: Any, *given: Any) -> Any:
    """Every phase reads the first users again, which spends the budget in every phase."""
    return tuple(replace(phase, start=0) for phase in original(self, *given))


@seeded("user_level/alg-1", PhasedSGD, "schedule")
def noise_times_thousand(original: Any, self: Any, *given: Any) -> Any:
    """A thousand times the planned noise: private, and useless."""
    return original(self, *given).edit("phase */mean", law=lambda law: Gaussian(1000 * law.sigma))


@seeded("user_level/alg-1", PhasedSGD, "_phases")
def counts_at_the_radius_of_the_score(original: Any, self: Any, *given: Any) -> Any:
    """The radius falls with m, where it falls with its root."""
    m = given[0].samples_per_user
    return tuple(replace(phase, tau=phase.tau / math.sqrt(m)) for phase in original(self, *given))


# Algorithms 2 and 3 ---------------------------------------------------------------------------------------------------


@seeded("user_level/alg-2", MinibatchSGD, "descend")
def threshold_redrawn(original: Any, self: Any, run: Any, row: Batches, *rest: Any) -> Any:
    """The noisy threshold is drawn in every step, and the bits are still said to share one."""
    return original(self, run, replace(row, threshold="inside"), *rest)


@seeded("user_level/alg-2", MinibatchSGD, "_coin", lookalike=True)
def threshold_turned_round(original: Any, run: Any, row: Batches) -> Any:
    """The noise of the threshold has the other sign, which has the same law."""
    return -original(run, row)


@seeded("user_level/alg-2", Batches, "releases")
def drawn_twice(original: Any, self: Batches) -> Any:
    """Users are drawn with replacement, and a copy of a user moves the score again."""
    return original(replace(self, sampling="with-replacement"))


@seeded("user_level/alg-2", Batches, "releases")
def noise_of_one_step(original: Any, self: Batches) -> Any:
    """The noise of the gradients lacks √T, as if there were one step."""
    return original(replace(self, sigma=self.sigma / math.sqrt(self.steps)))


@seeded("user_level/alg-2", accelerated, "ac_sa")
def stale_gradient(original: Any, oracle: Any, *start: Array, **named: Any) -> Array:
    """AC-SA is handed the gradient at the point of eight steps ago."""
    seen: list[Array] = []

    def late(point: Array) -> Any:
        seen.append(point)
        return oracle(seen[max(0, len(seen) - 9)])

    return np.asarray(original(late, *start, **named))


@seeded("user_level/alg-2", Accelerated, "descend")
def no_regulariser(original: Any, self: Any, run: Any, row: Batches, *rest: Any) -> Any:
    """The gradients lack the regulariser, which the plan of the stages still counts on."""
    plan = Batches.stages(row)

    class Bare(Batches):
        def stages(self) -> Any:
            return plan

    return original(self, run, Bare(**{**vars(row), "weight": 1e-9 * row.weight}), *rest)


@seeded("user_level/alg-3", PhasedERM, "gradients")
def gradients_twice(original: Any, self: Any, *given: Any) -> Any:
    """Every gradient is computed twice, once for the score and once for the mean."""
    original(self, *given)
    return original(self, *given)


@seeded("user_level/alg-3", SampledSteps, "budget")
def rate_squared(original: Any, self: SampledSteps, batch: int) -> Any:
    """Sampling is taken to amplify by the square of its rate."""
    return original(self, batch) * self.users / batch


@seeded("user_level/alg-3", SampledSteps, "sigma")
def half_of_the_noise(original: Any, self: SampledSteps, batch: int, tau: float) -> Any:
    """A user is taken to move one end of the weighted mean, not both."""
    return original(self, batch, tau) / 2


@seeded("user_level/alg-3", Accelerated, "descend")
def one_minibatch(original: Any, self: Any, run: Any, *given: Any) -> Any:
    """All steps of a phase read the minibatch that the first one drew."""
    kept: dict[str, Any] = {}

    class Same(type(run)):  # type: ignore[misc]
        def subsample(self, name: str, block: Any) -> Any:
            return kept.setdefault(name, super().subsample(name, block)) if name not in kept else kept[name]

    again = copy.copy(run)
    again.__class__ = Same
    return original(self, again, *given)


@seeded("user_level/alg-3", concentration, "weighted_mean")
def weights_of_one(original: Any, points: Array, counts: Array, fallback: Array) -> Array:
    """Every user has the same weight."""
    return np.asarray(points.mean(axis=1))


@seeded("user_level/alg-3", PhasedERM, "execute")
def no_localisation(original: Any, self: Any, run: Any, workload: Workload, data: Data, start: Array) -> Array:
    """Every phase starts where the first one did."""
    x = start
    for row in run.schedule.phases:
        block = data.part(row.start, row.start + row.users)
        x = self.descend(run.inside(f"phase {row.i}/", run.schedule), row, workload, block, np.array(start))
    return np.where(run.active[:, None], x, start)


@seeded("user_level/alg-3", PhasedERM, "rows")
def weight_of_the_first_phase(original: Any, self: Any, *given: Any) -> Any:
    """λ_i does not grow from phase to phase."""
    rows = original(self, *given)
    return tuple(replace(row, weight=rows[0].weight) for row in rows)


@seeded("user_level/alg-3", Accelerated, "base_weight")
def weight_without_a_root(original: Any, self: Any, problem: Any, n: int) -> Any:
    """The private part of λ grows with d, where it grows with its root."""
    whole, few = original(self, problem, n), 1 / math.sqrt(n * problem.samples_per_user)
    few *= problem.constants.lipschitz(2.0) / self.radius(problem)
    return few + (whole - few) * math.sqrt(problem.constants.d)


@seeded("user_level/proc-smoothed-alg-3", smoothing, "smoothed_gradients")
def no_smoothing(original: Any, workload: Workload, x: Array, z: Array, shifts: Array) -> Array:
    """The shifts are drawn and forgotten."""
    return np.asarray(original(workload, x, z, 0 * shifts))


@seeded("user_level/proc-smoothed-alg-3", SmoothedERM, "smoothness")
def smoothness_without_d(original: Any, self: Any, problem: Any, n: int) -> Any:
    """β_r = L/r, where it is L√d/r."""
    return original(self, problem, n) / math.sqrt(problem.constants.d)


# Algorithm 4 and the baseline -----------------------------------------------------------------------------------------


@seeded("user_level/alg-4", ThresholdTest, "execute")
def goes_on(original: Any, self: Any, run: Any, workload: Workload, data: Data, start: Array) -> Array:
    """Does not stop at the first answer above, and answers on with the same threshold."""
    (row,) = run.schedule.phases
    totals = np.clip(data.read().values, 0.0, 1.0).sum(axis=1)
    coin = run.coins(lambda rng: rng.laplace(scale=row.threshold, size=(run.trials, 1)))
    return np.concatenate(
        [run.release("bit", totals[:, t : t + 1] - row.level - coin) for t in range(row.count)], axis=1
    )


@seeded("user_level/proc-group-privacy", GroupPrivacy, "rows")
def noise_of_one_sample(original: Any, self: Any, *given: Any) -> Any:
    """Noise for one sample at the whole budget: a user has m of them."""
    m = given[0].samples_per_user
    return tuple(replace(row, sigma=row.sigma / m) for row in original(self, *given))
