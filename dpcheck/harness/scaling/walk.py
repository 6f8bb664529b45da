"""The mean of a linear excess risk along a clipped random walk on an interval, averaged over its steps.

A step is w -> Π(w + drift + spread ξ), ξ standard normal: so does truncated mirror descent in one dimension with a
linear loss. The number of steps enters through powers of one matrix, so that 1e20 cost as much as a hundred. A walk of
tiny steps that has run far beyond the interval has the law at which reflected Brownian motion rests, an exponential.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.harness.scaling.engines import Instance, Risk
from dpcheck.harness.scaling.line import SETTLED, WIDE, kernel
from dpcheck.interfaces import Array

CELLS, LEAST = 3, 100
"""Of the coarse grid: so many to a step, and in all at least."""
TINY = 0.005
"""Spread, in lengths of the interval, from which on downwards a walk is not put on a grid."""
FAR = 100.0
"""Variance of all steps, in squared lengths of the interval, from which on the start is forgotten: up to 1/FAR."""
SHARED = 1 / 6
"""Variance, in cells, that the sharing of masses between two points adds to a step."""


@dataclass(frozen=True)
class Steps:
    """`count` steps of one kind; the output is the average of the points that they reach."""

    drift: float
    spread: float
    count: float


@dataclass(frozen=True)
class Walk:
    """The mean excess risk of the average; the risk must be linear in w.

    Attributes:
        steps: of an instance, read off its own schedule.
    """

    steps: Callable[[Instance], Steps]
    quantile: None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        steps, work = self.steps(instance), instance.work
        low, high = (float(work.project(np.array([[end]]))[0, 0]) for end in (-1e300, 1e300))
        if steps.spread <= TINY * (high - low):
            return Risk(float(work.excess_risk(np.array([[_rest(steps, low, high)]]))[0]))
        cells = max(LEAST, math.ceil(CELLS * (high - low) / steps.spread))
        coarse, *fine = (self._risk(work, steps, low, high, cells * k) for k in ((1,) if pilot else (1, 2)))
        if fine and abs(fine[0] - coarse) > SETTLED * coarse:
            raise InvalidInput(
                f"the grid does not carry the walk of {instance.algorithm.label} at n = {instance.n:,}: the risk is "
                f"{coarse:.6g}, and {fine[0]:.6g} with twice as many cells"
            )
        return Risk(fine[0] if fine else coarse)

    def _risk(self, work: Any, steps: Steps, low: float, high: float, cells: int) -> float:
        points = np.linspace(low, high, cells + 1)
        cell = points[1] - points[0]
        moves = transitions(len(points), steps.drift / cell, steps.spread / cell)
        start = np.maximum(0.0, 1 - np.abs(points - float(work.project(np.zeros((1, 1)))[0, 0])) / cell)
        return float(start @ averaged(moves, round(steps.count)) @ np.asarray(work.excess_risk(points[:, None])))


def _rest(steps: Steps, low: float, high: float) -> float:
    """The mean of the density exp(2 drift w/spread²) on the interval."""
    half = (high - low) / 2
    if steps.count * steps.spread**2 < FAR * (2 * half) ** 2 or abs(steps.drift) > steps.spread / 10:
        raise InvalidInput(f"a walk of tiny steps that has not come to rest, or drifts too fast for it: {steps}")
    z = 2 * steps.drift * half / steps.spread**2
    return (low + high) / 2 + half * (1 / math.tanh(z) - 1 / z if abs(z) > 1e-3 else z / 3)


def transitions(size: int, drift: float, deviation: float) -> Array:
    """Row by row the law after one step, in cells; what leaves the interval stays at its ends."""
    sharp = math.sqrt(max(0.0, deviation**2 - SHARED)) if deviation <= WIDE else deviation
    masses, moves, here = kernel(size, drift, sharp), np.zeros((size, size)), np.arange(size)[:, None]
    there = np.clip(here + np.arange(-size, size + 1), 0, size - 1)
    np.add.at(moves, (np.broadcast_to(here, there.shape), there), masses)
    return np.asarray(moves / moves.sum(axis=1, keepdims=True))


def averaged(moves: Array, count: int) -> Array:
    """(P + P² + … + P^count)/count, by doubling; rows are kept stochastic, for rounding would double as well."""
    power, mean, done = np.eye(len(moves)), np.zeros_like(moves), 0
    for bit in f"{count:b}":
        mean, power, done = (mean + power @ mean) / 2, power @ power, 2 * done
        if bit == "1":
            power = power @ moves
            mean, done = (done * mean + power) / (done + 1), done + 1
        power /= power.sum(axis=1, keepdims=True)
    return np.asarray(mean)
