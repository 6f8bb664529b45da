"""Algorithm 1 at its printed constants on quadratic bowls, in closed form but for its noise; wrong schedules of it."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import numpy as np

from dpcheck.algorithms.user_level import PhasedSGD
from dpcheck.algorithms.user_level.phased import Phase
from dpcheck.geometry import Ball
from dpcheck.harness.scaling import Affine, Family, Instance, Pull, averaged_descent, geometric
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.interfaces import Array, Constants, Problem, Rng
from dpcheck.privacy import ApproxDP
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.users import Users

BOWLS = Family.of(mirrored=True, curvature=geometric(1.0, 1 / 16, 24))
"""|w - z|² on the unit-diameter ball with curvatures 1, 1/16, …: the class L = D = 1, neither n nor the algorithm."""
DELTA = 1e-60
"""Of the promise: there are up to 1e48 users."""
LEAN = 0.8
"""Mean of the signs of the records; the minimiser lies so far towards the boundary."""


@dataclass(frozen=True)
class Bowl(BaseWorkload):
    """f(w, z) = c |w - z|²/2 on the ball of diameter 1, z = ±e_1/2: gradients of at most c <= 1."""

    curvature: float
    d: int = 1

    record_shape = (1,)  # the sign of z

    @functools.cached_property
    def domain(self) -> Ball:
        return Ball(radius=0.5, d=self.d)

    @property
    def constants(self) -> Constants:
        """L = 1 is that of the class."""
        return Constants(
            d=self.d, diameter=self.domain.diameter, lipschitz=lambda p: 1.0, smoothness=lambda p: self.curvature,
            moment=lambda k, m: 1.0, family="isotropic quadratic",
        )  # fmt: skip

    @property
    def best(self) -> Array:
        return np.asarray(LEAN / 2 * np.eye(self.d)[0])

    def _ends(self, z: Array) -> Array:
        return np.asarray(z * np.eye(self.d)[0] / 2)

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature / 2 * ((w - self._ends(z)) ** 2).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature * (w - self._ends(z)))

    def excess_risk(self, w: Array) -> Array:
        return np.asarray(self.curvature / 2 * ((w - self.best) ** 2).sum(axis=-1))

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return np.where(rng.random((trials, n, 1)) < (1 + LEAN) / 2, 1.0, -1.0)


def bowl(n: int, m: int, epsilon: float, d: int, curvature: float, algorithm: PhasedSGD | None = None) -> Instance:
    """Algorithm 1, as printed unless another is given."""
    work = Users(Bowl(curvature, d), m)
    told = Problem.of(work, ApproxDP(epsilon, DELTA), samples_per_user=m)
    at = {"n": n, "m": m, "d": d, "epsilon": epsilon, "delta": DELTA, "D": 1.0, "L": 1.0}
    return Instance(algorithm or PhasedSGD(), work, told, n, at)


@functools.lru_cache(maxsize=64)
def phases(algorithm: PhasedSGD, n: int, m: int, epsilon: float, d: int) -> tuple[Phase, ...]:
    """The same for every curvature; the steepest bowl allows the steps of all."""
    return algorithm.schedule(bowl(n, m, epsilon, d, 1.0).problem, n).phases


def pulls(one: Instance) -> list[Pull]:
    """The phases of its own schedule: the mean of C averages of T steps, and the noise. No point is an outlier."""
    work: Bowl = one.work.each
    deviation = math.sqrt(1 - LEAN**2) / 2 * np.eye(work.d)[0]  # of a record
    found = []
    assert isinstance(one.algorithm, PhasedSGD)
    for phase in phases(one.algorithm, one.n, one.problem.samples_per_user, one.at["epsilon"], work.d):
        keep, variance = averaged_descent(phase.eta * work.curvature, float(phase.steps))
        found.append(Pull(keep, work.best, np.hypot(deviation * math.sqrt(variance / phase.groups), phase.sigma)))
    return found


IN_CLOSED_FORM = Affine(pulls, 4_000)


class FirstPhase(PhasedSGD):
    """The first phase alone: no localisation."""

    def _phases(self, problem: Problem, n: int) -> tuple[Phase, ...]:
        return super()._phases(problem, n)[:1]


def without_localisation(one: Instance) -> Instance:
    chosen = one.algorithm
    return one.running(FirstPhase(**{field.name: getattr(chosen, field.name) for field in fields(chosen)}))


def wide_radius(one: Instance) -> Instance:
    """τ too wide by (nm)^(1/8): a wrong power of T, which the noise follows."""
    chosen = one.algorithm
    assert isinstance(chosen, PhasedSGD)
    return one.running(replace(chosen, c_radius=chosen.c_radius * (one.n * one.problem.samples_per_user) ** 0.125))


WRONG: Mapping[str, Mutant] = {"no localisation": without_localisation, "τ times (nm)^(1/8)": wide_radius}
