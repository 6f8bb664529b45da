"""Noisy descent on linear losses over an interval, phase after phase: steps in closed form, noise drawn."""

from __future__ import annotations

import math

import numpy as np
import scipy

from dpcheck.harness.scaling.engines import Instance
from dpcheck.harness.scaling.line import clipped_mean
from dpcheck.interfaces import Array, Rng


def noisy_phases(one: Instance, rng: Rng, trials: int) -> Array:
    """Where runs with noise on each step end on linear losses over an interval.

    A phase of short steps is a diffusion to w_0 − ḡ/λ that is turned back at the ends of the interval, and long enough
    to come to rest: a normal law cut at these ends.
    """
    w = np.repeat(one.work.project(np.zeros((1, 1))), trials, axis=0)
    low, high = (float(one.work.project(np.array([[end]]))[0, 0]) for end in (-1e300, 1e300))
    for phase in one.algorithm.schedule(one.problem, one.n).phases:
        mean, deviation = clipped_mean(one.work, phase.level)
        pull = mean + deviation / math.sqrt(phase.records) * rng.standard_normal((trials, 1))
        w = cut_normal(w - pull / phase.weight, phase.sigma * math.sqrt(phase.eta / (2 * phase.weight)), low, high, rng)
    return w


def cut_normal(centre: Array, deviation: float, low: float, high: float, rng: Rng) -> Array:
    """Normal numbers, given that they lie between two ends; far out, where logarithms of masses are needed, as well."""
    side = np.where(centre < (low + high) / 2, -1.0, 1.0)  # the nearer tail is the left one after this reflection
    near, far = (side * np.where(side > 0, end, other) for end, other in ((low, high), (high, low)))
    least, most = (scipy.special.log_ndtr((end - side * centre) / deviation) for end in (near, far))
    u = rng.random(centre.shape)
    drawn = scipy.special.ndtri_exp(most + np.log(u + (1 - u) * np.exp(least - most)))
    return np.asarray(np.clip(side * (side * centre + deviation * drawn), low, high))
