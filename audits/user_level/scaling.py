"""Algorithms at printed constants on quadratic bowls, without records; wrong schedules of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from dpcheck.algorithms.user_level import GroupPrivacy, PhasedERM, PhasedSGD, SmoothedERM, StronglyConvex
from dpcheck.algorithms.user_level.group_privacy import Pass
from dpcheck.algorithms.user_level.minibatch import Batches
from dpcheck.algorithms.user_level.phased import Phase
from dpcheck.algorithms.user_level.sizes import best_q
from dpcheck.algorithms.user_level.strongly_convex import Round
from dpcheck.engine.statements import stated
from dpcheck.geometry import Ball
from dpcheck.harness.scaling import (
    Accelerating,
    Axial,
    AxialPull,
    Axis,
    Family,
    Instance,
    Wide,
    averaged_descent,
    geometric,
)
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.interfaces import Algorithm, Array, Constants, Problem, Rng
from dpcheck.privacy import ApproxDP
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.users import Users

BOWLS = Family.of(mirrored=True, curvature=geometric(1.0, 1 / 16, 24))
"""|w - z|² on a ball with curvatures 1, 1/16, …: a class of smoothness 1 that knows neither n nor the algorithm."""
FINER_BOWLS = Family.of(mirrored=True, curvature=geometric(1.0, 1 / 2, 64))
"""The same class, closer together."""
DELTA = 1e-60
"""Of the promise: there are up to 1e48 users."""
DELTAS = (1e-8, 1e-16, 1e-32, 1e-64, 1e-128, 1e-256)
"""Over so many octaves of log(1/δ)."""
LEAN = 0.8
"""Mean of the signs of the records; the minimiser lies so far towards the boundary."""


@dataclass(frozen=True)
class Bowl(BaseWorkload):
    """f(w, z) = c |w - z|²/2 on the ball of diameter D, z = ±e_1 D/2: gradients of at most cD <= L."""

    curvature: float
    d: int = 1
    D: float = 1.0
    L: float = 1.0

    record_shape = (1,)  # the sign of z

    @functools.cached_property
    def domain(self) -> Ball:
        return Ball(radius=self.D / 2, d=self.d)

    @property
    def constants(self) -> Constants:
        """L is that of the class."""
        return Constants(
            d=self.d, diameter=self.domain.diameter, lipschitz=lambda p: self.L, smoothness=lambda p: self.curvature,
            moment=lambda k, m: self.curvature * self.D, family="isotropic quadratic",
        )  # fmt: skip

    @property
    def best(self) -> float:
        """Place of the minimiser on the first axis."""
        return LEAN * self.D / 2

    @property
    def deviation(self) -> float:
        """Of the minimiser of one record."""
        return math.sqrt(1 - LEAN**2) * self.D / 2

    def _from(self, w: Array, place: float | Array) -> Array:
        """w - place e_1."""
        return np.asarray(w - place * np.eye(self.d)[0])

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature / 2 * (self._from(w, z * self.D / 2) ** 2).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature * self._from(w, z * self.D / 2))

    def excess_risk(self, w: Array) -> Array:
        return np.asarray(self.curvature / 2 * (self._from(w, self.best) ** 2).sum(axis=-1))

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return np.where(rng.random((trials, n, 1)) < (1 + LEAN) / 2, 1.0, -1.0)


def bowl(
    algorithm: Algorithm[Any], n: int, m: int, d: int, curvature: float, *, epsilon: float = 1.0, delta: float = DELTA,
    D: float = 1.0, L: float = 1.0, drawn: bool = False,
) -> Instance:  # fmt: skip
    """A bowl in d dimensions, told to have smoothness 1; unless records are drawn, a plane section of it is enough."""
    d, n, m = int(d), int(n), int(m)
    work = Users(Bowl(curvature, d if drawn else min(d, 2), D, L), m)
    constants = replace(work.constants, d=d, smoothness=lambda p: 1.0)
    told = Problem(constants=constants, privacy=ApproxDP(epsilon, delta), samples_per_user=m)
    at = {"n": n, "m": m, "d": d, "epsilon": epsilon, "delta": delta, "D": D, "L": L}
    return Instance(algorithm, work, told, n, at)


def phased(curvature: float, **at: Any) -> Instance:
    """Algorithm 1 as printed, with what its derived bound asks for."""
    one = bowl(PhasedSGD(), curvature=curvature, **{"n": 10**32, "m": 10, "d": 4} | at)
    more = {"p": PhasedSGD().exponent(one.problem, one.n), "q": best_q(one.n)}
    return replace(one, at={**one.at, **more})


def accelerated(algorithm: PhasedERM, curvature: float, **at: Any) -> Instance:
    """Algorithm 3 where its private term leads: so many dimensions that √d/ε is far above √n."""
    one = bowl(algorithm, curvature=curvature, **{"n": 10**9, "m": 10**24, "d": 10**22, "epsilon": 10.0} | at)
    p, q = algorithm.exponents(one.problem, one.n)
    return replace(one, at={**one.at, "p": p, "q": q, "tau": phases(one)[0].tau})


def smoothed(curvature: float, **at: Any) -> Instance:
    """The smoothed Algorithm 3 where its private term leads, from the weight at which (17) gives noise a distance D."""
    algorithm = SmoothedERM(c_batch=ALL, phases=PHASES)
    one = bowl(algorithm, curvature=curvature, **{"n": 10**9, "m": 10**22, "d": 10**10, "epsilon": 0.01} | at)
    (first, *_), (p, q) = phases(one), algorithm.exponents(one.problem, one.n)
    left = stated("user_level/fact-eq-17@derived", V=math.sqrt(first.variance), T=float(first.steps), **{"lambda": 1.0})
    p += math.log2(math.sqrt(left) / one.at["D"] / first.weight)
    return replace(one, algorithm=replace(algorithm, p=p), at={**one.at, "q": q, "tau": first.tau})


def restarted(mu: float, steeper: float, **at: Any) -> Instance:
    """Restarts of it on losses of that strong convexity, and more."""
    one = accelerated(PATIENT, mu * steeper, **{"n": 10**12} | at).running(StronglyConvex(mu=mu, inner=PATIENT))
    last = phases(one)[-1].users
    users = {name: one.at[name] for name in ("m", "d", "epsilon", "delta", "L")}
    there = {name: float(value) for name, value in accelerated(PATIENT, mu, **users, n=last).at.items()}
    rho = stated("user_level/lem-d2@balanced", **there) / one.at["L"]
    return replace(one, at={**one.at, "mu": mu, "rho": rho})


def baseline(curvature: float, **at: Any) -> Instance:
    """Group privacy where its private term leads: users of many samples."""
    return bowl(GroupPrivacy(), curvature=curvature, **{"n": 2**40, "m": 2**44, "d": 100} | at)


def phases(one: Instance) -> tuple[Any, ...]:
    """Of its own schedule, which is the same for every curvature."""
    return _phases(one.algorithm, tuple((name, one.at[name]) for name in ("n", "m", "d", "epsilon", "delta", "D", "L")))


@functools.lru_cache(maxsize=64)
def _phases(algorithm: Algorithm[Any], at: tuple[tuple[str, Any], ...]) -> tuple[Any, ...]:
    example = bowl(algorithm, curvature=1.0, **dict(at))
    return algorithm.schedule(example.problem, example.n).phases


def pulls(one: Instance) -> list[AxialPull]:
    """The phases of Algorithm 1: the mean of C averages of T steps, and the noise; no point is an outlier. The baseline
    of group privacy has a single average.
    """
    work: Bowl = one.work.each
    found = []
    for phase in phases(one):
        keep, variance = averaged_descent(phase.eta * work.curvature, float(phase.steps))
        drawn = work.deviation * math.sqrt(variance / getattr(phase, "groups", 1))
        found.append(AxialPull(keep, work.best, math.hypot(drawn, phase.sigma), phase.sigma))
    return found


IN_CLOSED_FORM = Axial(pulls, 4_000)


def accelerating(one: Instance) -> list[Accelerating]:
    """The phases of Algorithm 3, of all rounds: whole batches, no gradient is an outlier."""
    work: Bowl = one.work.each
    found = []
    for phase in phases(one):
        for batches in phase.inner.phases if isinstance(phase, Round) else (phase,):
            assert isinstance(batches, Batches)
            plan, _ = batches.stages()
            d, records = one.problem.constants.d, batches.users * one.problem.samples_per_user
            shifts = (work.curvature * batches.shift) ** 2 * d / (d + 2) / records  # a gradient takes each to its point
            noise = d * batches.sigma**2 + shifts
            stages, sampling = [(s.steps, s.upsilon) for s in plan], work.deviation**2 / records
            found.append(Accelerating(stages, batches.weight, noise, sampling))
    return found


BY_MOMENTS = Wide(accelerating)
BY_COARSER_MOMENTS = Wide(accelerating, grain=1)
"""Where nearly no step is projected, so that longer blocks do."""
CONVEX = Family.of(mirrored=True, steeper=Axis((1.0, 4.0), closed=(True, False)))
"""Bowls of the least curvature that strong convexity allows, and steeper."""


PHASES = 20
"""Of the smoothed algorithm, whose weight is then 2^600 times that of the first: those left out could move no point."""
ALL = 1e30
"""K_i/n_i before it is capped at 1, at least, in all of these: no sampled phase is certified."""
PATIENT = PhasedERM(c_steps=4.0, c_batch=1e12)
"""Lemma D.2 leaves constants open: four times the steps, for one is too few for the stages of AC-SA, and all users in
every minibatch."""


class OnePhase(PhasedSGD):
    """The first phase alone: no localisation."""

    def _phases(self, problem: Problem, n: int) -> tuple[Phase, ...]:
        return super()._phases(problem, n)[:1]


class OnePass(GroupPrivacy):
    """The same of the baseline."""

    def rows(self, problem: Problem, n: int) -> tuple[Pass, ...]:
        return super().rows(problem, n)[:1]


class OneSolve(PhasedERM):
    """The same of Algorithm 3."""

    def rows(self, problem: Problem, n: int) -> tuple[Batches, ...]:
        return super().rows(problem, n)[:1]


ALONE = {PhasedSGD: OnePhase, GroupPrivacy: OnePass, PhasedERM: OneSolve}


def _changed(one: Instance, change: Callable[[Any], Any]) -> Instance:
    """The instance under another algorithm, or under restarts of another one."""
    chosen = one.algorithm
    inner = isinstance(chosen, StronglyConvex)
    return one.running(replace(chosen, inner=change(chosen.inner)) if inner else change(chosen))


def without_localisation(one: Instance) -> Instance:
    return _changed(one, lambda it: ALONE[type(it)](**{field.name: getattr(it, field.name) for field in fields(it)}))


def _wide(one: Instance) -> float:
    """(nm)^(1/8): a wrong power."""
    return float((one.n * one.problem.samples_per_user) ** 0.125)


def wide_radius(one: Instance) -> Instance:
    """τ is too wide, as by a wrong power of T, and the noise follows."""
    return _changed(one, lambda it: replace(it, c_radius=it.c_radius * _wide(one)))


def long_steps(one: Instance) -> Instance:
    """η is too long, and the noise follows."""
    assert isinstance(one.algorithm, GroupPrivacy)
    return one.running(replace(one.algorithm, eta=one.algorithm.step(one.problem, one.n) * _wide(one)))


def heavy(one: Instance) -> Instance:
    """λ is too large, and no noise is felt."""
    assert isinstance(one.algorithm, PhasedERM)
    assert one.algorithm.p is not None
    return one.running(replace(one.algorithm, p=one.algorithm.p + math.log2(_wide(one))))


def impatient(one: Instance) -> Instance:
    """√T_i steps of phase 1, and so the share of the others."""
    assert isinstance(one.algorithm, PhasedERM)
    return one.running(replace(one.algorithm, c_steps=one.algorithm.c_steps * phases(one)[0].steps ** -0.5))


# η of Algorithm 1 and λ of Algorithm 3 are not told apart by any power: the first phases are noise, and localisation
# goes on from there. Nor is T_i/8 of Algorithm 3, whose noise follows √T_i.
WRONG: Mapping[str, Mutant] = {"no localisation": without_localisation, "τ times (nm)^(1/8)": wide_radius}
WRONG_BASELINE: Mapping[str, Mutant] = {"no localisation": without_localisation, "η times (nm)^(1/8)": long_steps}
WRONG_SMOOTHED: Mapping[str, Mutant] = {"λ times (nm)^(1/8)": heavy, "√T_i steps": impatient}
