"""Losses of one record, of every slope, and wrong schedules, on which rates are measured.

All records of a data set are equal, so that the excess risk is that of optimisation and of privacy, and any n can be
run. Algorithm 1 makes n steps by default. It is run in a thousand, each the mean of many noisy gradients in a row,
which moves the mirror image of the point as they do: the lines are those of the algorithm, with the noise of a step
divided by the root of how many it stands for.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from dpcheck.algorithms.l1_geometry import (
    GeneralLocalizedMirrorDescent,
    LocalizedMirrorDescent,
    NoisyMirrorDescent,
    StronglyConvexReduction,
    TreeFrankWolfe,
)
from dpcheck.algorithms.l1_geometry.frank_wolfe import weights
from dpcheck.algorithms.l1_geometry.localized import Phase
from dpcheck.algorithms.l1_geometry.reductions import Restart
from dpcheck.errors import InvalidInput
from dpcheck.geometry import L1Ball
from dpcheck.harness.scaling import Equal, Family, Instance, Risk, geometric
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.interfaces import Array, Constants, Problem, Rng, Sample, Schedule
from dpcheck.laws import Gaussian
from dpcheck.privacy import ApproxDP
from dpcheck.workloads.base import BaseWorkload

DELTA = 1e-12
"""Of the promise, where it does not vary."""
SLOPES = Family.of(mirrored=True, slope=geometric(1.0, 1 / 4, 14))
"""Linear losses -s <e_1, x> with s = L, L/4, …: neither n nor the algorithm enters."""


@dataclass(frozen=True)
class OneRecord(BaseWorkload):
    """f(x; z) = curvature |x|_2²/2 - <z, x> on {|x|_1 <= D/2}, z the same for all records.

    Attributes:
        z: L times (d,) numbers of at most 1 with the curvature. Without curvature least at a vertex, else at z over it.
        L, H, D: of the class, which an algorithm is told; any norm between l1 and l2 has the same D.
    """

    z: tuple[float, ...]
    curvature: float = 0.0
    L: float = 1.0
    H: float = 1.0
    D: float = 2.0

    def __post_init__(self) -> None:
        h = self.curvature
        if h * self.D / 2 + max(map(abs, self.z)) > self.L * (1 + 1e-12) or h > self.H:
            raise InvalidInput(f"no loss of the class L = {self.L}, H = {self.H}, D = {self.D}: {self}")
        if h > 0 and sum(map(abs, self.z)) > h * self.D / 2 * (1 + 1e-12):
            raise InvalidInput(f"the minimiser z/curvature must lie in the domain, got {self}")

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (len(self.z),)

    @functools.cached_property
    def domain(self) -> L1Ball:
        return L1Ball(len(self.z), self.D / 2)

    @functools.cached_property
    def constants(self) -> Constants:
        return Constants(
            d=len(self.z), diameter=lambda p: self.D, lipschitz=lambda p: self.L, smoothness=lambda p: self.H,
            moment=lambda k, m: self.curvature * self.D / 2 + max(map(abs, self.z)), atoms=1,
            family="isotropic quadratic",
            extra={"strong_convexity": self.curvature / len(self.z)},
        )  # fmt: skip

    @functools.cached_property
    def record(self) -> Array:
        return np.asarray(self.z)

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature / 2 * (w**2).sum(axis=-1) - (w * z).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature * w - z)

    def excess_risk(self, w: Array) -> Array:
        if self.curvature > 0:
            return np.asarray(self.curvature / 2 * ((w - self.record / self.curvature) ** 2).sum(axis=-1))
        return np.asarray(self.D / 2 * np.abs(self.record).max() - w @ self.record)

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return np.tile(self.record, (trials, n, 1))

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        return Sample(self.record[None, None], np.full((1, 1), float(n)))


def tilted(
    algorithm: Any, slope: float, *, n: int, d: int = 8, epsilon: float, delta: float = DELTA, **more: float
) -> Instance:
    """An algorithm on the linear loss of that slope, a share of L."""
    sizes = {name: more.pop(name) for name in ("L", "H", "D") if name in more}
    work = OneRecord(z=(slope * sizes.get("L", 1.0), *[0.0] * (d - 1)), **sizes)
    return instance(algorithm, work, n, epsilon, delta, **more)


def instance(algorithm: Any, work: OneRecord, n: int, epsilon: float, delta: float, **more: float) -> Instance:
    told = Problem.of(work, ApproxDP(epsilon, delta))
    at = {"n": n, "d": len(work.z), "m": 2 * len(work.z), "epsilon": epsilon, "delta": delta}
    at |= {"L": work.L, "H": work.H, "D": work.D, "b": math.ceil(math.sqrt(n)), **more}
    return Instance(algorithm, work, told, n, {name: float(value) for name, value in at.items()})


def averaged(algorithm: NoisyMirrorDescent, slope: float, **at: Any) -> Instance:
    """Algorithm 1 or 5, in whose rate D is a bound on √D_h(x*, x_0)."""
    one = tilted(algorithm, slope, **at)
    return replace(one, at={**one.at, "D": algorithm.reach(one.problem)})


def in_few_steps(one: Instance, steps: int = 1024) -> Schedule[Any]:
    """The plan of Algorithm 1 with so many steps, whose noise adds up to the same law."""
    plan = one.algorithm.schedule(one.problem, one.n)
    (row,) = plan.phases
    share = row.T / steps
    row = replace(row, T=steps, sigma=row.sigma / math.sqrt(share), eta=row.eta * share)
    return replace(plan.edit("*", law=Gaussian(row.sigma)), phases=(row,))


@dataclass(frozen=True)
class Coarse(LocalizedMirrorDescent):
    """Algorithm 2 with batches of a quarter of a phase, which make sixteen steps; privacy is that of these batches.

    T b² = n_i² whatever b, so that the steps of a phase average the same noise. They are not as good at it where the
    noise of a step exceeds the domain, but all lengths go with nε: what differs from millions of steps is a factor.
    """

    def batch(self, problem: Problem, n_i: float, epsilon_i: float) -> float:
        return n_i / 4


@dataclass(frozen=True)
class GeneralCoarse(GeneralLocalizedMirrorDescent):
    """The same of Algorithm 6."""

    def batch(self, problem: Problem, n_i: float, epsilon_i: float) -> float:
        return n_i / 4


SMALL = 1e-3
"""Phases whose balls together are so small a part of the domain are left out."""


def large_phases(one: Instance) -> Schedule[Any]:
    plan = one.algorithm.schedule(one.problem, one.n)
    seen = [row for row in plan.phases if row.radius > SMALL * one.work.D]
    return replace(plan, phases=tuple(seen))


def shorter_steps(one: Instance) -> Instance:
    """η too small by (nε)^(1/4), as if D were."""
    return one.running(replace(one.algorithm, distance=one.work.D * (one.n * one.at["epsilon"]) ** -0.25))


LOCALISED: Mapping[str, Any] = {
    "part": "private",
    "family": SLOPES,
    "engine": Equal(100, plan=large_phases),
    "mutants": {"η times (nε)^(-1/4)": shorter_steps},
    "since": "standard",
}
"""Of rows of Algorithms 2 and 6. Linear losses do not see localisation: the first phase alone does as well."""
PRECISE: Mapping[str, Any] = {**LOCALISED, "engine": Equal(500, plan=large_phases), "mutants": {}}
"""Of rows over δ, whose logarithm moves little."""
EUCLIDEAN: Mapping[str, Any] = {**LOCALISED, "mutants": {}}
"""Of rows of Algorithm 6 in l_2, where shorter steps are no worse on linear losses: less noise makes up for them."""
AVERAGED: Mapping[str, Any] = {
    **LOCALISED,
    "engine": Equal(80, plan=in_few_steps),  # the start is one of the points averaged
}
"""Of rows of Algorithms 1 and 5, whose batch is the default."""
TINY = 1e-8
"""epsilon of rows over another variable."""
TINIER = 1e-12
"""Where n is so large, for n epsilon to be, that records would be missed at 1e-8."""
DELTAS = (1e-12, 1e-4, 0.36)
"""Their logarithms go from 1 to 28."""


HOMOGENEOUS = (
    "Every risk on a class of Lipschitz losses is L times that of L = 1, of any output, so that it says nothing."
)


# Algorithm 2 restarted, on curved losses


@dataclass(frozen=True)
class Fine(LocalizedMirrorDescent):
    """Algorithm 2 with 2^94 steps a phase, and sixteen phases: later ones have balls of 2^-80 of the first.

    T b^2 = n_i^2 whatever b, and so many steps forget where they began. A batch stays below 2^63, beyond which the
    accountant cannot count draws.
    """

    def batch(self, problem: Problem, n_i: float, epsilon_i: float) -> float:
        return n_i / 2**47

    def phases(self, problem: Problem, n: int) -> Iterator[Phase]:
        return itertools.islice(super().phases(problem, n), 16)


RESTARTS = StronglyConvexReduction(inner=Fine())
SCARCE = 2.0**-60
"""epsilon of its rows over another variable: the distances that are proved for restarts fall below the domain at
n epsilon of 2^45, and privacy costs most below 1/sqrt n.
"""


def curved(
    algorithm: Any, curvature: float, *, n: int, epsilon: float, delta: float = DELTA, L: float = 1.0,
    modulus: float = 1 / 32,
) -> Instance:  # fmt: skip
    """An algorithm on h |x - x*|_2^2/2 in two dimensions, x* half-way to a vertex, the modulus h/2 a multiple of the
    class's.
    """
    h = 2 * modulus * curvature
    work = OneRecord(z=(h / 2, 0.0), curvature=h, L=L)
    if isinstance(algorithm, StronglyConvexReduction):
        algorithm = replace(algorithm, weight=modulus)
    return instance(algorithm, work, n, epsilon, delta, **{"lambda": modulus})


@dataclass(frozen=True)
class Averages:
    """The mean excess risk of Algorithm 2, restarted or not, on such a loss, in the limit of many steps.

    With q = 2h/(weight scale) and e the distance of an iterate from the minimiser of the phase's objective,
    e <- e - ((2 + q) e + 2 noise/(weight scale))/(k + 1). The start is forgotten, and the average by k holds noise of
    step j with 2j (1 - (j/T)^q)/(T^2 q), which an integral sums up. Attributes are those of every engine.
    """

    quantile: float | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        work = instance.work
        h, best, room = work.curvature, work.record / work.curvature, work.D / 4
        squared, moved = float(best @ best), 0.0
        plan = instance.algorithm.schedule(instance.problem, instance.n).phases
        for row in itertools.chain(*(each.inner.phases if isinstance(each, Restart) else [each] for each in plan)):
            moved = 0.0 if row.i == 1 else moved
            if row.radius < SMALL * moved:  # neither this nor a later phase of the run matters
                continue
            rate = 2 / (row.weight * row.scale)
            q, noise = h * rate, rate * row.sigma / math.sqrt(row.T)
            at_edge = (noise / min(row.radius, room)) ** 2 / (q + 1)
            if row.p != 2 or 20 * (q + 3) > row.T or at_edge > AT_EDGE:
                raise InvalidInput(
                    f"phase {row.i} has p = {row.p:g}, {row.T:,} steps for q = {q:.3g}, and meets an edge in a share "
                    f"of {at_edge:.3g} of them: no closed form; take d = 2 and more records"
                )
            spread = noise * math.sqrt(8 / 3 / ((q + 3) * (2 * q + 3)))
            squared, moved = squared * (2 / (2 + q)) ** 2 + len(best) * spread**2, max(moved, spread)
        return Risk(h / 2 * squared)


AT_EDGE = 0.1
"""Share of the steps, the first ones, that may meet the edge of the domain or of their ball: they weigh its square."""


def one_run(one: Instance) -> Instance:
    """Algorithm 2 alone."""
    return one.running(one.algorithm.inner)


RESTARTED: Mapping[str, Any] = {
    "part": "private",
    "family": Family.of(mirrored=True, curvature=geometric(1.0, 2.0, 3)),
    "engine": Averages(),
    "mutants": {"no restarts": one_run},
}


# Algorithm 3

Noise = Literal["pure", "doubled", "approximate", "concentrated"]
BELOW = 1e-40
"""delta of Theorem 7: below 1/n at every size."""


@dataclass(frozen=True)
class Selections:
    """The mean excess risk of Algorithm 3 on a linear loss of one record: nothing is drawn.

    Every leaf selects among -s, s and 2d - 2 zeros, so that the output is known by the chances of two vertices; d may
    be any number. Attributes are those of every engine.
    """

    quantile: float | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        work, rows = instance.work, instance.algorithm.schedule(instance.problem, instance.n).phases
        unit, m = work.D / 2 * work.z[0], instance.algorithm.vertices(instance.problem)
        ahead = {row.scale: advantage(unit / row.scale, m) for row in rows}
        return Risk(unit * (1 - math.fsum(weight * ahead[row.scale] for weight, _, row in weights(rows))))


def advantage(gap: float, m: int, step: float = 0.01) -> float:
    """The chance that Laplace noise on -gap, gap and m - 2 zeros makes the first the least, less that of the second."""
    if gap > math.log(m) + 60:
        return 1.0
    u = np.arange(-gap - math.log(m) - 50, 50, step)
    others = np.exp((m - 2.0) * _log_above(u))
    first = np.exp(-np.abs(u + gap) + _log_above(u - gap))
    second = np.exp(-np.abs(u - gap) + _log_above(u + gap))
    return float(others @ (first - second)) / 2 * step


def _log_above(u: Array) -> Array:
    """log P(Laplace > u)."""
    return np.where(u > 0, -np.abs(u) - math.log(2), np.log1p(-np.exp(-np.abs(u)) / 2))


def walk(
    noise: Noise, slope: float, *, n: int, d: int, epsilon: float, L: float = 1.0, H: float = 1.0, delta: float = BELOW
) -> Instance:
    """Algorithm 3 on the linear loss of that slope in d dimensions, of which the workload holds two.

    Sensitivities are the certified ones, which needs twice the noise of Theorem 6, and that of Theorem 7 as printed or
    without shuffling; "doubled" is the former at the depth that is best for it.
    """
    pure = noise in ("pure", "doubled")
    if noise == "concentrated":
        algorithm = TreeFrankWolfe(**TreeFrankWolfe.readings["concentrated"])
    elif noise == "doubled":
        depth = round(math.log2(leaves(noise, n=n, d=d, epsilon=epsilon, L=L, H=H)[0]))
        algorithm = TreeFrankWolfe(sensitivity="safe", T=depth)
    else:
        algorithm = TreeFrankWolfe(noise=noise, sensitivity="safe")
    one = tilted(algorithm, slope, n=n, d=2, epsilon=epsilon, delta=0.0 if pure else delta, L=L, H=H)
    told = replace(one.problem, constants=replace(one.problem.constants, d=d))
    T, b = algorithm.sizes(told, n)
    return replace(one, problem=told, at={**one.at, "d": float(d), "m": 2.0 * d, "T": float(T), "b": float(b)})


def leaves(
    noise: Noise, *, n: int, d: int, epsilon: float, L: float = 1.0, H: float = 1.0, delta: float = BELOW,
    **more: float,
) -> tuple[float]:  # fmt: skip
    """2^T before T is rounded: of bεβD/(L log m), by log(n/δ) under Theorem 7, the power 1/2 or 2/3."""
    ratio = n / math.log2(n) ** 2 * epsilon * H * 2 / L
    if noise == "doubled":
        return (math.sqrt(0.3 * ratio / (1 + math.log(2 * d))),)
    if noise == "concentrated":
        root = math.sqrt(max(0.25, H * 2 / L) * -math.log(delta))
        return ((0.3 * ratio / (root * (1 + math.log(2 * d)))) ** (2 / 3),)
    found = ratio / math.log2(2 * d)
    return (math.sqrt(found) if noise == "pure" else (found / math.log(n / BELOW)) ** (2 / 3),)


def records(noise: Noise, T: int, **at: Any) -> int:
    """The n at which the rule gives T without rounding."""
    low, high = 1e3, 1e40
    while high > low * (1 + 1e-12):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if leaves(noise, n=int(middle), **at)[0] > 2**T else (middle, high)
    return math.ceil(high)


def deeper(one: Instance) -> Instance:
    """T half as deep again."""
    return one.running(replace(one.algorithm, T=3 * len(one.algorithm.schedule(one.problem, one.n).phases) // 2))


def three_phases(one: Instance) -> Instance:
    return one.running(replace(one.algorithm, T=3))


WRONG_TREES: Mapping[str, Mutant] = {"T times 3/2": deeper, "T = 3": three_phases}
"""A tree that is not as deep is no worse on linear losses, and a bowl in few dimensions starts at its minimum."""
