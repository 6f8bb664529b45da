"""Instances of Algorithms 3 to 5 whose rates are measured, what their runs come to, and wrong schedules of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms.tsybakov import (
    IteratedAccelerated,
    IteratedLocalised,
    LocalisedClipped,
    PermutedAccelerated,
    StochasticApproximation,
)
from dpcheck.algorithms.tsybakov.accelerated import Batches
from dpcheck.algorithms.tsybakov.clipped import Project, Restricted
from dpcheck.algorithms.tsybakov.epochs import Calls, Epoch, LocalisedCall
from dpcheck.algorithms.tsybakov.localised import Phase, averaged_moment
from dpcheck.checks import by_size
from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball
from dpcheck.harness.scaling import Family, Instance, Line, Move, Simulated, clipped_mean, geometric
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.interfaces import Algorithm, Array, Constants, Problem, Rng, Schedule
from dpcheck.workloads.linear import LinearWorkload, SparseDirection, TwoPoint
from dpcheck.workloads.power_well import PowerWell

from .cases import localised, problem

DELTA = 1e-40
"""Of the promise: far below every epsilon of a window."""
TILTS = Family.of(mirrored=True, tilt=geometric(1.0, 1 / 4, 30))
"""Linear losses ±w with mean gradient 1, 1/4, 1/16, …: neither n nor the algorithm enters."""
BOWLS = Family.of(mirrored=True, curvature=geometric(0.5, 1 / 4, 24))
"""Wells of exponent 2 on the unit ball, of curvature 1/2, 1/8, …."""
FAILING = by_size(*(tuple(10.0**-j for j in js) for js in ((2, 25, 300), (2, 5, 15, 40, 110, 300))))
"""Of the promise, where it varies."""


def tilted(n: int, tilt: float, k: float, epsilon: float, delta: float = DELTA) -> Instance:
    """The corrected Algorithm 3, its phases taken to where they lead, on a linear loss over [-1, 1]."""
    return instance(localised(k), TwoPoint(D=2.0, G=1.0, rho=tilt), n, k, epsilon, delta)


def bowl(n: int, curvature: float, k: float, epsilon: float, d: int) -> Instance:
    """The same algorithm on a well of exponent 2."""
    return instance(localised(k), known_well(curvature, 2 * k, 1.0, d=d), n, k, epsilon)


def instance(
    algorithm: Algorithm[Any],
    work: Any,
    n: int,
    k: float,
    epsilon: float,
    delta: float = DELTA,
    growth: float = math.nan,
) -> Instance:
    """An algorithm of Section 4 with the values of what stands in the orders there; `growth` is that of the class."""
    told, c = problem(work, epsilon, delta), work.constants
    at = {
        "n": float(n), "k": k, "d": float(c.d), "D": c.diameter(2.0), "p": 1.0, "lambda": growth,
        "theta": getattr(work, "theta", math.nan), "epsilon": epsilon, "delta": delta,
        "R_2k": averaged_moment(c, 2 * k, 1 << (n.bit_length() - 1)), "beta": told.failure_probability,
        "L": c.lipschitz(2.0), "r_k": c.moment(k, 1), "rho": epsilon**2 / math.log(1 / delta),
    }  # fmt: skip
    return Instance(algorithm, work, told, n, at)


def moves(one: Instance) -> list[Move]:
    """The phases of its own schedule, each a step of -ḡ/λ_i and then the noise on the output."""
    found = []
    for phase in one.algorithm.schedule(one.problem, one.n).phases:
        mean, deviation = clipped_mean(one.work, phase.level)
        found.append(Move(-mean / phase.weight, deviation / (math.sqrt(phase.records) * phase.weight), phase.sigma))
    return found


ON_THE_LINE = Line(moves)


class FirstPhase(LocalisedClipped):
    """The first phase alone: no localisation."""

    def phases(self, problem: Problem, n: int) -> tuple[Phase, ...]:
        return super().phases(problem, n)[:1]


SPIKED = 0.25
"""Chance of the two spikes that bring a well's moment to that of its class."""
STILL_TOO = 1e-7
"""Phases that move the point by less of its domain's radius are left out."""


@functools.lru_cache
def known(theta: float, d: int, radius: float, moment: float, L: float) -> Constants:
    """Of the wells of a class; the steepest has a slope of `moment` where it is farthest from its minimum."""
    return Constants(
        d=d, diameter=Ball(d, radius).diameter, lipschitz=lambda p: L, moment=lambda k, m: moment, atoms=3,
        smoothness=lambda p: (theta - 1) * moment / (1.5 * radius), family="isotropic quadratic" if theta == 2 else "",
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Well(PowerWell):
    """Known by the constants of its class alone, which are the same for all its members."""

    moment: float = 1.0
    L: float = 1.0

    @property
    def constants(self) -> Constants:
        return known(self.theta, len(self.c), self.radius, self.moment, self.L)


def known_well(
    weight: float, order: float, moment: float, *, theta: float = 2.0, d: int = 1, radius: float = 1.0,
    L: float | None = None,
) -> Well:  # fmt: skip
    """(weight/theta) |w - e_1 radius/2|^theta with spikes that bring its moment of that order to the class's.

    The spikes have the chance `SPIKED`, or that which lets the largest gradient be L.
    """
    e_1, pull = np.eye(d)[0], weight * (1.5 * radius) ** (theta - 1)
    if pull >= moment:
        raise InvalidInput(f"a well of weight {weight:g} has gradients of {pull:g}, and the class a moment {moment:g}")
    chance = SPIKED if L is None else (moment**order - pull**order) / (L**order - pull**order)
    largest = ((moment**order - (1 - chance) * pull**order) / chance) ** (1 / order)
    return Well(
        c=radius / 2 * e_1, v=e_1, theta=theta, size=largest - pull, chance=chance, radius=radius, weight=weight,
        moment=moment, L=1.5 * moment if L is None else L,
    )  # fmt: skip


@functools.lru_cache(maxsize=64)
def calls(chosen: Algorithm[Any], told: Problem, n: int) -> Sequence[tuple[Sequence[Phase], float | None]]:
    """The phases of each call by its own schedule, and the radius of the ball that it is restricted to."""
    plan = chosen.schedule(told, n).phases
    if not isinstance(chosen, Calls):
        return [(plan, None)]
    return [(epoch.inner.phases, epoch.radius if chosen.restricted else None) for epoch in plan]


def ends_of_phases(one: Instance, rng: Rng, trials: int) -> Array:
    """Where runs of Algorithms 3 to 5 end on linear losses and wells, whose points of rest are closed forms.

    The mean of a phase's records is normal, and no record is clipped.
    """
    work, d = one.work, one.work.constants.d
    steepest, deviation = _slopes(work)
    w = np.repeat(work.project(np.zeros((1, d))), trials, axis=0)
    for phases, radius in calls(one.algorithm, one.problem, one.n):
        onto = _projection(work if radius is None else Restricted(work, w, radius), w)
        still = STILL_TOO * (work.constants.diameter(2.0) / 2 if radius is None else radius)
        for phase in phases:
            spread = deviation / math.sqrt(phase.records)
            if (steepest + spread) / phase.weight > still:
                w = onto(_rest(work, w, phase.weight, spread * rng.standard_normal((trials, 1))))
            if phase.sigma * math.sqrt(d) > still:
                w = onto(w + phase.sigma * rng.standard_normal(w.shape))
    return w


def _projection(domain: PowerWell | LinearWorkload | Restricted, w: Array) -> Project:
    """The domain's own; of an interval a trial between its ends, which takes a fifth of the time."""
    if w.shape[1] > 1:
        return domain.project
    far = 4 * domain.constants.diameter(2.0)
    low, high = (domain.project(np.full_like(w, end)) for end in (-far, far))
    return lambda v: np.clip(v, low, high)


def _slopes(work: PowerWell | LinearWorkload) -> tuple[float, float]:
    """The steepest slope of the risk, and the deviation of a record's gradient, along e_1."""
    if isinstance(work, PowerWell):
        return work.pull, work.size * math.sqrt(work.chance)
    mean = work.probabilities @ work.atoms[:, 0]
    return abs(float(mean)), math.sqrt(float(work.probabilities @ work.atoms[:, 0] ** 2 - mean**2))


def _rest(work: PowerWell | LinearWorkload, w: Array, weight: float, shift: Array) -> Array:
    """argmin of risk - shift <e_1, .> + weight/2 |. - w|^2, unprojected: for theta > 2 it is that of d = 1 only."""
    e_1 = np.eye(work.constants.d)[0]
    if isinstance(work, LinearWorkload):
        return np.asarray(w - (work.mean + shift * e_1) / weight)
    far = w + shift * e_1 / weight - work.c
    if work.theta == 2:
        return np.asarray(work.c + far * (weight / (weight + work.weight)))
    q = weight / work.weight  # the root of s³ + q s = q |far|
    return np.asarray(work.c + 2 * np.sqrt(q / 3) * np.sinh(np.arcsinh(1.5 * far * np.sqrt(3 / q)) / 3))


BY_PHASES = Simulated(ends_of_phases, 3200)
IN_DIMENSIONS = Simulated(ends_of_phases, 640)
"""Where a run draws vectors, whose length varies the less."""


STEEPER = Family.of(mirrored=True, steepness=geometric(1.0, 4.0, 3))
"""Wells of the growth constant of their class, and steeper ones."""
STEEP = Family.of(mirrored=True, steepness=geometric(1.0, 4.0, 9))
"""The same, and far steeper ones."""
LITTLE = 2.0**-18
"""The growth constant of a class that holds these."""
LEAST_GROWTH = 2.0**-8
"""The growth constant λ of the class where nothing else is said."""


def grown(
    algorithm: Calls, n: int, steepness: float = 1.0, *, theta: float = 2.0, k: float = 2.0, epsilon: float = 2.0**-32,
    delta: float = DELTA, d: int = 1, R: float = 1.0, growth: float = LEAST_GROWTH, radius: float = 1.0,
    L: float | None = None,
) -> Instance:  # fmt: skip
    """Algorithm 4 or 5 on a well of exponent theta, moment R of order 2k, and (theta, growth)-TNC or more."""
    work = known_well(theta * growth * steepness, 2 * k, R, theta=theta, d=d, radius=radius, L=L)
    return instance(replace(algorithm, k=k), work, n, k, epsilon, delta, growth)


def _as(kind: type[Any], chosen: Any) -> Any:
    """The same settings under a subclass."""
    return kind(**{field.name: getattr(chosen, field.name) for field in fields(chosen)})


class ShortSteps(LocalisedClipped):
    """η too small by n^(1/8)."""

    power: ClassVar[float] = -1 / 8

    def step(self, problem: Problem, n: int) -> float:
        return super().step(problem, n) * n**self.power


class ShorterSteps(ShortSteps):
    """η too small by n^(1/4)."""

    power = -1 / 4


class OneRadius(StochasticApproximation):
    """Every call at the radius of the first one."""

    def schedule(self, problem: Problem, n: int) -> Schedule[LocalisedCall]:
        plan = super().schedule(problem, n)
        first = plan.phases[0]
        return replace(plan, phases=tuple(replace(e, radius=first.radius, inner=first.inner) for e in plan.phases))


class OneCall(StochasticApproximation):
    """The first call alone."""

    def parts(self, n: int) -> list[int]:
        return super().parts(n)[:1]


class ShortCalls(Calls):
    """Calls with η too small by n^(1/4)."""

    def call(self, radius: float) -> LocalisedClipped:
        found: LocalisedClipped = _as(ShorterSteps, super().call(radius))
        return found


class ShortApproximation(ShortCalls, StochasticApproximation):
    """Algorithm 4 so."""


class ShortIteration(ShortCalls, IteratedLocalised):
    """Algorithm 5 so."""


def instead(kind: type[Any]) -> Mutant:
    return lambda one: one.running(_as(kind, one.algorithm))


WRONG: Mapping[str, Mutant] = {"no localisation": instead(FirstPhase), "η times n^(-1/8)": instead(ShortSteps)}
SHORT_CALLS = "γ times n^(-1/4)"
WRONG_CALLS: Mapping[str, Mutant] = {
    "one call": instead(OneCall),
    "one radius for all calls": instead(OneRadius),
    SHORT_CALLS: instead(ShortApproximation),
}
WRONG_PARTS: Mapping[str, Mutant] = {SHORT_CALLS: instead(ShortIteration)}

SPARSE = Family.of(mirrored=True, p=geometric(1.0, 1 / 4, 30))
"""Linear losses with a share 1, 1/4, 1/16, … of spikes to one side, and half as much, spread evenly, to the other."""
SMOOTH = {2.0: 2.0**-3, 4.0: 2.0**-11}
"""k -> the smoothness that their class is told of, which no linear loss has; the number of steps follows it."""


RARE = 1e-100
"""Of the promise: the noise of the proof of Theorem 6 grows with log(n/delta), which hardly changes with n then."""


@dataclass(frozen=True)
class Sparse(SparseDirection):
    """z = a e_1 with probability p, else -a p e_1/2, of k-th moment 1: cut at a/2 or less its mean turns around.

    Known to be as smooth as its class.
    """

    @property
    def atoms(self) -> Array:
        rest = self.p / 2
        size = (self.p + (1 - self.p) * rest**self.k) ** (-1 / self.k)
        return size * np.array([[1.0], [-rest]]) * np.asarray(self.nu)

    @functools.cached_property
    def constants(self) -> Constants:
        return replace(super().constants, smoothness=lambda p: SMOOTH[self.k])


def sparse(
    algorithm: Algorithm[Any], n: int, p: float, k: float, epsilon: float, *, delta: float = RARE, d: int = 1
) -> Instance:
    """Algorithm 6 or 7 on such losses over the unit ball."""
    work = Sparse(nu=tuple(map(float, np.eye(d)[0])), D=2.0, k=k, G=1.0, p=p)
    return instance(replace(algorithm, k=k), work, n, k, epsilon, delta)  # type: ignore[call-arg]


def stepped(work: Sparse | Well, T: int, batch: int, epsilon: float) -> Instance:
    """T steps of Algorithm 6 that clip nothing; all that stands in the bound of the lemma on acceleration."""
    c, told = work.constants, problem(work, epsilon, RARE)
    chosen = PermutedAccelerated(k=2.0, calibration="plain", batches=T, level=2.0**10)
    row = chosen.plan(told, T * batch)
    at = {
        "T": float(T), "D": c.diameter(2.0), "H": c.smoothness(2.0), "b": 0.0, "d": float(c.d),
        "Sigma": math.sqrt(c.d * row.sigma**2 + c.moment(2.0, 1) ** 2 / row.b),
    }  # fmt: skip
    return Instance(chosen, work, told, T * batch, at)


def rounded(algorithm: Algorithm[Any], n: int, steepness: float, growth: float) -> Instance:
    """Algorithm 7 on a well of (2, growth)-TNC or more, in the range of Theorem 6 up to n = 2^92."""
    work = known_well(2 * growth * steepness, 2.0, 1.0)
    return instance(algorithm, work, n, 2.0, 2.0**-44, RARE, growth)


class WideLevel(PermutedAccelerated):
    """Clipped at a level too large by n^(1/8)."""

    power: ClassVar[float] = 1 / 8

    def plan(self, problem: Problem, n: int) -> Batches:
        found = super().plan(problem, n)
        wrong = replace(self, level=found.level * n**self.power)
        return found if self.level is not None else wrong.plan(problem, n)


class NarrowLevel(WideLevel):
    """Clipped at a level too small by n^(1/6), which the noise follows."""

    power = -1 / 6


class ShortProx(PermutedAccelerated):
    """Steps too small by T^(1/2)."""

    def plan(self, problem: Problem, n: int) -> Batches:
        found = super().plan(problem, n)
        return replace(found, gamma=found.gamma * math.sqrt(found.T))


class WideLevels(IteratedAccelerated):
    """Calls clipped at levels too large by that power of their records."""

    def call(self, radius: float | None) -> PermutedAccelerated:
        found: PermutedAccelerated = _as(WideLevel, super().call(radius))
        return found


# T/8 is not among them: on linear losses the noise over √T steps does not depend on T, only its acceleration does.
WRONG_LEVELS: Mapping[str, Mutant] = {
    "C times n^(1/8)": instead(WideLevel), "C times n^(-1/6)": instead(NarrowLevel)
}  # fmt: skip
SHORT_PROX = instead(ShortProx)
WRONG_LAST_LEVELS: Mapping[str, Mutant] = {"C times n^(1/8)": instead(WideLevels)}


def ends_of_batches(one: Instance, rng: Rng, trials: int) -> Array:
    """Where runs of Algorithms 6 and 7 end on sparse losses and on wells of exponent 2, whose records no level cuts.

    The mean of a batch is normal.
    """
    plan = one.algorithm.schedule(one.problem, one.n).phases
    w = np.repeat(one.work.project(np.zeros((1, one.work.constants.d))), trials, axis=0)
    for row in (epoch.inner.phases[0] if isinstance(epoch, Epoch) else epoch for epoch in plan):
        w = _accelerated(one.work, row, w, rng)
    return w


def _cut(work: Sparse, level: float) -> tuple[float, float]:
    """Mean and deviation of a record's clipped gradient along e_1."""
    along = np.clip(work.atoms[:, 0], -level, level)
    mean = float(work.probabilities @ along)
    return mean, math.sqrt(max(0.0, float(work.probabilities @ along**2) - mean**2))


def _accelerated(work: Sparse | Well, row: Batches, w: Array, rng: Rng) -> Array:
    """One run of Algorithm 6 with the weights 2/(t + 1)."""
    e_1, kept, onto = np.eye(w.shape[1])[0], w, _projection(work, w)
    mean, deviation = _cut(work, row.level) if isinstance(work, Sparse) else (0.0, _slopes(work)[1])
    for t in range(1, row.T + 1):
        a = 2 / (t + 1)
        middle = (1 - a) * kept + a * w
        slope = mean * e_1 if isinstance(work, Sparse) else work.weight * (middle - work.c)
        noise = row.sigma * rng.standard_normal(w.shape)
        noise[:, 0] += deviation / math.sqrt(row.b) * rng.standard_normal(len(w))
        w = onto(w - a * t * (t + 1) / (4 * row.gamma) * (slope + noise))
        kept = a * w + (1 - a) * kept
    return kept


BY_BATCHES = Simulated(ends_of_batches, 800)
BATCHES_IN_DIMENSIONS = Simulated(ends_of_batches, 720)
