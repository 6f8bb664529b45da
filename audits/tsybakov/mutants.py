"""Seeded bugs in the algorithms of `tsybakov`: `dpcheck mutate tsybakov --family seeded`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.algorithms.tsybakov import (
    IteratedAccelerated,
    IteratedLocalised,
    LocalisedClipped,
    PermutedAccelerated,
    PoissonSGD,
    StochasticApproximation,
    baseline,
    clipped,
    hard_instances,
)
from dpcheck.algorithms.tsybakov.clipped import Restricted
from dpcheck.interfaces import Array, Sample
from dpcheck.mutants import seeded


class Parts:
    """Data of which other records are read than were asked for: `which` of start and stop."""

    def __init__(self, data: Any, which: Any) -> None:
        self.data, self.which = data, which

    def part(self, start: int, stop: int) -> Any:
        return self.data.part(*self.which(start, stop))

    def read(self, **given: Any) -> Any:
        return self.data.read(**given)


# Algorithms 1 to 5 ----------------------------------------------------------------------------------------------------


@seeded("tsybakov/alg-1", clipped, "clipped_mean")
def no_clipping(original: Any, sample: Sample, vectors: Array, level: float) -> Array:
    """Gradients are averaged without clipping."""
    return sample.mean(vectors)


@seeded("tsybakov/alg-2", clipped, "clipped_descent")
def pulled_to_the_last_iterate(original: Any, *given: Any, weight: float, **fields: Any) -> Array:
    """The regulariser pulls to the point it is at, and so not at all."""
    return np.asarray(original(*given, weight=0.0, **fields))


@seeded("tsybakov/alg-3", LocalisedClipped, "phases")
def noise_over_n_squared(original: Any, self: Any, *given: Any) -> Any:
    """The noise of a phase is divided by its number of records once more."""
    return tuple(replace(phase, sigma=phase.sigma / phase.records) for phase in original(self, *given))


@seeded("tsybakov/alg-3", LocalisedClipped, "execute")
def overlapping_phases(original: Any, self: Any, run: Any, workload: Any, data: Any, start: Array) -> Array:
    """Every phase reads the records from the first one on, so that a record enters all of them."""
    return np.asarray(original(self, run, workload, Parts(data, lambda first, last: (0, last - first)), start))


@seeded("tsybakov/proc-lnc-gm-fixed", LocalisedClipped, "phases")
def noise_of_one_step(original: Any, self: Any, *given: Any) -> Any:
    """Noise on every clipped mean forgets the number of steps."""
    phases = original(self, *given)
    return tuple(replace(ph, sigma=ph.sigma / math.sqrt(ph.steps if ph.per_step else 1)) for ph in phases)


@seeded("tsybakov/alg-3", LocalisedClipped, "rests_on")
def trusts_that_clipped_steps_contract(original: Any, *given: Any) -> tuple[str, ...]:
    """The noise on outputs trusts that clipped descent moves by 2C/(n lambda) for every smooth convex loss."""
    return ()


@seeded("tsybakov/alg-4", StochasticApproximation, "execute")
def centre_without_noise(original: Any, self: Any, run: Any, workload: Any, data: Any, start: Array) -> Array:
    """Calls start from, and the last one returns, the iterate before its noise."""
    w = np.broadcast_to(start, (run.trials, start.shape[-1]))
    for epoch in run.schedule.phases:
        block, ball = data.part(epoch.start, epoch.start + epoch.records), Restricted(workload, w, epoch.radius)
        self.call(epoch.radius).execute(run.inside(f"{epoch.name}/", epoch.inner), ball, block, w)
        w = workload.project(run.transcript.entries[-1].core)
    return np.asarray(w)


@seeded("tsybakov/alg-5", IteratedLocalised, "execute")
def calls_from_the_start(original: Any, self: Any, run: Any, workload: Any, data: Any, start: Array) -> Array:
    """Every call starts where the first one did, so that all but the last are for nothing."""
    w = start = np.broadcast_to(start, (run.trials, start.shape[-1]))
    for epoch in run.schedule.phases:
        block, inner = data.part(epoch.start, epoch.start + epoch.records), run.inside(f"{epoch.name}/", epoch.inner)
        w = self.call(epoch.radius).execute(inner, workload, block, start)
    return np.asarray(w)


@seeded("tsybakov/proc-dykstra", clipped, "dykstra")
def plain_alternation(original: Any, first: Any, second: Any, w: Array, **given: Any) -> Array:
    """Projections alternate without Dykstra's corrections: a point of both sets, not the nearest one."""
    for _ in range(200):
        w = second(first(w))
    return w


# Algorithms 6 and 7, the baseline and the plug-in ---------------------------------------------------------------------


@seeded("tsybakov/alg-6", PermutedAccelerated, "sigma")
def noise_of_all_records(original: Any, self: Any, problem: Any, level: float, T: int, b: int) -> float:
    """A batch of n/T records gets the noise that the mean of all n would need."""
    return float(original(self, problem, level, T, b) / T)


@seeded("tsybakov/alg-6", PermutedAccelerated, "sigma")
def over_noised(original: Any, *given: Any) -> float:
    """A hundred thousand times the noise: private, and useless."""
    return float(1e5 * original(*given))


@seeded("tsybakov/alg-6", PermutedAccelerated, "execute")
def batch_read_again(original: Any, self: Any, run: Any, workload: Any, data: Any, start: Array) -> Array:
    """Every step reads the first batch of the permutation."""
    shuffle = run.shuffle
    run.shuffle = lambda block: Parts(shuffle(block), lambda first, last: (0, last - first))
    return np.asarray(original(self, run, workload, data, start))


@seeded("tsybakov/alg-7", IteratedAccelerated, "execute")
def nested_parts(original: Any, self: Any, run: Any, workload: Any, data: Any, start: Array) -> Array:
    """Every call starts at the first record."""
    return np.asarray(original(self, run, workload, Parts(data, lambda first, last: (0, last - first)), start))


@seeded("tsybakov/proc-dpsgd", baseline, "multiplier")
def rate_twice(original: Any, epsilon: float, delta: float, n: int, T: int, b: int) -> float:
    """The sampling rate is taken off the noise of DP-SGD a second time."""
    return float(original(epsilon, delta, n, T, b) * b / n)


@seeded("tsybakov/proc-dpsgd", PoissonSGD, "execute")
def last_for_average(original: Any, self: Any, *given: Any) -> Array:
    """The last iterate is returned where the average is asked for."""
    return np.asarray(original(replace(self, average=False), *given))


@seeded("tsybakov/proc-zcdp-plugin", hard_instances, "plug_in")
def plug_in_of_added_records(original: Any, work: Any, means: Array, n: int, level: float, *rest: Any) -> Array:
    """The plug-in's noise is that for adding a record, while neighbours replace one."""
    return np.asarray(original(work, means, n, level / 2, *rest))


# Look-alikes ----------------------------------------------------------------------------------------------------------


@seeded("tsybakov/alg-3", LocalisedClipped, "descend", lookalike=True)
def a_step_less(original: Any, self: Any, phase: Any, *rest: Any) -> Array:
    """Phases take a step less, which moves their end, and what a record moves of it, by next to nothing."""
    return np.asarray(original(self, replace(phase, steps=max(1, phase.steps - 1)), *rest))


@seeded("tsybakov/alg-6", PermutedAccelerated, "execute", lookalike=True)
def batches_backwards(original: Any, self: Any, run: Any, workload: Any, data: Any, start: Array) -> Array:
    """The batches of the permutation are read from the last one on: each once, all the same."""
    (plan,), shuffle = run.schedule.phases, run.shuffle
    whole = plan.T * plan.b
    run.shuffle = lambda block: Parts(shuffle(block), lambda first, last: (whole - last, whole - first))
    return np.asarray(original(self, run, workload, data, start))


@seeded("tsybakov/proc-dykstra", clipped, "dykstra", lookalike=True)
def second_set_first(original: Any, first: Any, second: Any, *given: Any, **fields: Any) -> Array:
    """Dykstra's projections begin with the other set: the nearest point of both is the same."""
    return np.asarray(original(second, first, *given, **fields))
