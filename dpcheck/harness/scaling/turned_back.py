"""Noisy descent over linear losses or bowls, phase after phase: steps in closed form, noise drawn."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from dpcheck.errors import InvalidInput
from dpcheck.harness.scaling.engines import Instance
from dpcheck.harness.scaling.line import clipped_mean
from dpcheck.harness.scaling.simulated import one_by_one
from dpcheck.interfaces import Algorithm, Array, Problem, Rng
from dpcheck.workloads.power_well import PowerWell

STILL_TOO = 1e-7
"""Phases that move the point by less of the radius of their call are left out."""
CLIPPED = 1e-3
"""Phases of a well that move the point by more of it may clip no record."""
AT_EDGE = 0.01
"""Share of runs that may meet the edge of a ball, where no law is known of those that do."""


@one_by_one
def noisy_phases(one: Instance, rng: Rng, trials: int) -> Array:
    """Where runs with noise on each step end on linear losses over an interval, or on wells of exponent 2 in a ball.

    A phase of short steps is a diffusion around its point of rest, w_0 − ḡ/λ on a linear loss, and long enough to come
    to rest: a normal law, cut at the ends of an interval, which turn it back. A ball of more dimensions is to be out of
    its reach.

    Raises:
        InvalidInput: a phase clips the records of a well, or meets the edge of a ball.
    """
    work, d = one.work, one.work.constants.d
    w = np.repeat(work.project(np.zeros((1, d))), trials, axis=0)
    low, high = (float(work.project(np.full((1, d), end))[0, 0]) for end in (-1e300, 1e300)) if d == 1 else (0.0, 0.0)
    for phase, radius in _with_radii(one.algorithm, one.problem, one.n):
        mean, sampling, bend = _pull(work, phase)
        deviation = phase.sigma * math.sqrt(phase.eta / (2 * (phase.weight + bend)))
        moved = (abs(mean) + sampling) / phase.weight
        if moved + deviation * math.sqrt(d) <= STILL_TOO * radius:
            continue
        if bend and phase.level < work.pull + work.size and moved > CLIPPED * radius:
            raise InvalidInput(f"{phase.name} clips the records of a well at {phase.level:.3g}: no closed form")
        drawn = sampling * rng.standard_normal((trials, 1))
        if bend:
            share = phase.weight / (phase.weight + bend)
            centre = work.c + share * (w + drawn * work.v / phase.weight - work.c)
        else:
            centre = w - (mean + drawn) / phase.weight
        if d == 1:
            w = cut_normal(centre, deviation, low, high, rng)
            continue
        free = centre + deviation * rng.standard_normal(w.shape)
        w = work.project(free)
        if (w != free).any(axis=1).mean() > AT_EDGE:
            raise InvalidInput(f"{phase.name} meets the edge of its ball in more than {AT_EDGE:g} of all runs")
    return w


@functools.lru_cache(maxsize=16)
def _with_radii(algorithm: Algorithm[Any], problem: Problem, n: int) -> Sequence[tuple[Any, float]]:
    """All phases, of all calls where there are calls, each with the radius of its call or of the domain."""
    plan, whole = algorithm.schedule(problem, n).phases, problem.constants.diameter(2.0) / 2
    calls = [(each.inner.phases, each.radius) if hasattr(each, "inner") else ((each,), whole) for each in plan]
    return [(phase, radius) for phases, radius in calls for phase in phases]


def _pull(work: Any, phase: Any) -> tuple[float, float, float]:
    """The mean gradient, or the largest of a well, the deviation of a mean of records, and the curvature."""
    if not isinstance(work, PowerWell):
        mean, deviation = clipped_mean(work, phase.level)
        return mean, deviation / math.sqrt(phase.records), 0.0
    if work.theta != 2:
        raise InvalidInput(f"a well of exponent {work.theta:g} has no normal law; take 2")
    return work.pull, work.size * math.sqrt(work.chance / phase.records), work.weight


def cut_normal(centre: Array, deviation: float, low: float, high: float, rng: Rng) -> Array:
    """Normal numbers, given that they lie between two ends; far out, where logarithms of masses are needed, as well."""
    side = np.where(centre < (low + high) / 2, -1.0, 1.0)  # the nearer tail is the left one after this reflection
    near, far = (side * np.where(side > 0, end, other) for end, other in ((low, high), (high, low)))
    least, most = (scipy.special.log_ndtr((end - side * centre) / deviation) for end in (near, far))
    u = rng.random(centre.shape)
    drawn = scipy.special.ndtri_exp(most + np.log(u + (1 - u) * np.exp(least - most)))
    return np.asarray(np.clip(side * (side * centre + deviation * drawn), low, high))
