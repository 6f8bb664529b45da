"""Rates on a cube of Euclidean diameter D, where the coordinates of a descent in l_2 move apart from each other.

The mirror map of Algorithms 5 and 6 at p = 2, and that of Algorithms 1 and 2 in two dimensions, is Euclidean: a step is
clipped coordinate by coordinate, and so it is on the l1 ball of the plane, which is a square. Of the loss
-s <1, w>/sqrt d each coordinate has a d-th part, whatever d is: an instance holds the diagonal alone, and a run is one
coordinate of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.algorithms.l1_geometry import GeneralLocalizedMirrorDescent, LocalizedMirrorDescent
from dpcheck.errors import InvalidInput
from dpcheck.harness.scaling import Family, Instance, Risk, Simulated, Steps, Walk, geometric
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.interfaces import Array, Problem, Rng

from .cases import DELTA, OneRecord, in_few_steps, instance

STEEPNESS = (1, 16, 256)
"""L of rows on losses whose slopes are the same at every L. A class holds the losses of smaller ones, on which outputs
that read nothing stay as bad as they were, and an algorithm is told L.
"""
MANY, FAINT = 2**68, 1e-11
"""n and epsilon of rows over L: the balls of the phases that matter are wider than all noise."""
DIAGONALS = Family.of(mirrored=True, slope=geometric(1.0, 1 / 4, 14))
"""Slopes of at most 1, the least L: neither n, d, L nor the algorithm enters."""


def diagonal(
    algorithm: Any, slope: float, *, n: int, epsilon: float, d: int = 2, L: float = 1.0, delta: float = DELTA,
    **more: float,
) -> Instance:  # fmt: skip
    """An algorithm in d dimensions on the loss of that slope along the diagonal of the cube."""
    one = instance(algorithm, OneRecord(z=(slope,), L=L), n, epsilon, delta, **more)
    told = replace(one.problem, constants=replace(one.problem.constants, d=d))
    return replace(one, problem=told, at={**one.at, "d": float(d)})


def average(algorithm: Any, slope: float, **at: Any) -> Instance:
    """The same of Algorithm 1 or 5, in whose rate D is a bound on √D_h(x*, x_0)."""
    one = diagonal(algorithm, slope, **at)
    return replace(one, at={**one.at, "D": algorithm.reach(one.problem)})


@dataclass(frozen=True)
class ShortOnCubes(LocalizedMirrorDescent):
    """Algorithm 2 with batches of a 32nd of a phase, which make 1,024 steps; privacy is that of these batches."""

    def batch(self, problem: Problem, n_i: float, epsilon_i: float) -> float:
        return n_i / 32


@dataclass(frozen=True)
class GeneralShort(GeneralLocalizedMirrorDescent):
    """The same of Algorithm 6."""

    def batch(self, problem: Problem, n_i: float, epsilon_i: float) -> float:
        return n_i / 32


def phases(one: Instance, rng: Rng, trials: int) -> Array:
    """Where Algorithm 2 or 6 ends on the diagonal: the lines of its phases, of one coordinate.

    Raises:
        InvalidInput: steps may meet the ball of a phase, which ties the coordinates together.
    """
    d, slope = one.problem.constants.d, one.work.z[0]
    half, pull, x = one.work.D / 2 / math.sqrt(d), slope / math.sqrt(d), np.zeros(trials)
    for row in one.algorithm.schedule(one.problem, one.n).phases:
        if row.radius < LAST * one.work.D:
            break
        farthest = (slope + FAR * row.sigma * math.sqrt(d)) * row.eta / row.scale / 2
        if row.p != 2 or farthest > row.radius:
            raise InvalidInput(
                f"phase {row.i} has p = {row.p:g} and steps of up to {farthest:.3g} in a ball of {row.radius:.3g}: its "
                "coordinates do not move apart; take more records"
            )
        centre, total = x, np.zeros(trials)
        for k in range(1, row.T + 1):
            total += k * x
            eta = row.step(k)
            noisy = row.sigma * rng.standard_normal(trials) - pull
            moved = centre + (1 - eta * row.weight) * (x - centre) - eta / row.scale * noisy
            x = np.clip(moved, -half, half)
        x = total / (row.T * (row.T + 1) / 2)
    ends = np.zeros((trials, len(one.work.z)))
    ends[:, 0] = math.sqrt(d) * x  # as all coordinates fare alike, the mean risk is that of this one
    return ends


LAST = 0.01
"""Phases whose ball is so small a part of the domain move nothing more: those before them have settled the average."""
FAR = 6.0
"""Deviations of the noise that count as the most that it moves a step."""


def steps(one: Instance) -> Steps:
    """Those of Algorithm 1 or 5, 256 in place of n, whose noise adds up to the same law."""
    (row,) = in_few_steps(one, 256).phases
    (slope,) = one.work.z
    unit = row.eta / row.scale
    return Steps(unit * slope, unit * row.sigma * math.sqrt(one.problem.constants.d), row.T)


# Wrong schedules


def taken_for_one(one: Instance) -> Instance:
    """eta and the noise of L = 1, whatever L is."""
    return replace(one, problem=replace(one.problem, constants=replace(one.problem.constants, lipschitz=lambda p: 1.0)))


def shorter(one: Instance) -> Instance:
    """eta as L^(-3/2), not 1/L."""
    return one.running(replace(one.algorithm, distance=one.work.D / math.sqrt(one.work.L)))


def a_little_shorter(one: Instance) -> Instance:
    """eta as L^(-5/4), which leaves the steps long enough for the grid of a walk."""
    return one.running(replace(one.algorithm, distance=one.algorithm.reach(one.problem) / one.work.L**0.25))


def longer(one: Instance) -> Instance:
    """eta as d^(-3/8), not 1/√d."""
    return one.running(replace(one.algorithm, distance=one.work.D * one.problem.constants.d**0.125))


@dataclass(frozen=True)
class Shared(Simulated):
    """A simulation whose noise is the same for every member of a family, so that none of them is lucky."""

    def together(self, instances: Sequence[Instance], seed: int, *key: Any, pilot: bool = False) -> list[Risk]:
        return [self(one, seed, *key, pilot=pilot) for one in instances]


PHASED: Mapping[str, Any] = {"part": "private", "family": DIAGONALS, "engine": Shared(phases, 2000)}
"""Of rows of Algorithms 2 and 6."""
AVERAGE: Mapping[str, Any] = {"part": "private", "family": DIAGONALS, "engine": Walk(steps)}
"""Of rows of Algorithms 1 and 5."""
IN_L: Mapping[str, Mutant] = {"L taken for 1": taken_for_one, "η over √L": shorter}
AVERAGED_IN_L: Mapping[str, Mutant] = {"L taken for 1": taken_for_one, "η over L^(1/4)": a_little_shorter}
IN_D: Mapping[str, Mutant] = {"η times d^(1/8)": longer}
