"""Losses of one record, of every slope and every curvature, and wrong schedules, on which rates are measured.

All records of a data set are equal, so that the excess risk is that of optimisation and of privacy, and any n can be
run. A phase of descent makes millions of steps at such sizes. It is run in `STEPS` at most, each the mean of many
noisy gradients in a row, which moves the mirror image of the point as they do: the lines are those of the algorithm,
with the noise of a step divided by the root of how many it stands for.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from dpcheck.algorithms.l1_geometry import LocalizedMirrorDescent
from dpcheck.algorithms.l1_geometry.localized import Phase
from dpcheck.errors import InvalidInput
from dpcheck.geometry import L1Ball
from dpcheck.harness.scaling import Equal, Family, Instance, geometric
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.interfaces import Array, Constants, Problem, Rng, Sample, Schedule
from dpcheck.laws import Gaussian
from dpcheck.privacy import ApproxDP
from dpcheck.workloads.base import BaseWorkload

DELTA = 1e-40
"""Of the promise, where it does not vary: below 1/n at every size."""
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
            moment=lambda k, m: self.curvature * self.D / 2 + float(np.abs(self.record).max()), atoms=1, family="isotropic quadratic",
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
    return Instance(algorithm, work, told, n, {**at, "L": work.L, "H": work.H, "D": work.D, **more})


STEPS = 32
"""Of a phase, at most."""
SMALL = 1e-3
"""Phases whose balls together are so small a part of the domain are left out."""


def in_few_steps(one: Instance, steps: int = STEPS) -> Schedule[Any]:
    """The plan with at most so many steps a phase, whose noise adds up to the same law."""
    plan = one.algorithm.schedule(one.problem, one.n)
    rows, left = [], SMALL * one.work.D
    for row in plan.phases:
        share = max(1.0, row.T / steps)
        eta = row.eta if row.weight > 0 else row.eta * share
        rows.append(replace(row, T=round(row.T / share), sigma=row.sigma / math.sqrt(share), eta=eta))
        if row.radius < left:
            break
    laws = [replace(each, law=Gaussian(row.sigma)) for each, row in zip(plan.releases, rows, strict=False)]
    return replace(plan, phases=tuple(rows), releases=tuple(laws))


@dataclass(frozen=True)
class FirstPhase(LocalizedMirrorDescent):
    """Without localisation."""

    def phases(self, problem: Problem, n: int) -> Iterator[Phase]:
        return itertools.islice(super().phases(problem, n), 1)


@dataclass(frozen=True)
class TooFewSteps(LocalizedMirrorDescent):
    """T_i = n_i/b_i, where its square makes the noise of a phase what Theorem 4 counts on."""

    def phases(self, problem: Problem, n: int) -> Iterator[Phase]:
        return (replace(row, T=row.records // row.b) for row in super().phases(problem, n))


def with_class(kind: type[LocalizedMirrorDescent]) -> Mutant:
    return lambda one: one.running(kind(**{each.name: getattr(one.algorithm, each.name) for each in fields(kind)}))


def longer_steps(one: Instance) -> Instance:
    """η too large by n^(1/4), as if D were."""
    return one.running(replace(one.algorithm, distance=one.work.D * one.n**0.25))


def shorter_steps(one: Instance) -> Instance:
    return one.running(replace(one.algorithm, distance=one.work.D * one.n**-0.25))


WRONG_PHASES: Mapping[str, Mutant] = {
    "no localisation": with_class(FirstPhase),
    "T of the power 1": with_class(TooFewSteps),
}


CURVED = Family.of(curvature=geometric(0.5, 1 / 4, 8))
"""Bowls of curvature 1/2, 1/8, … with their minimiser in the middle of a face, which few vertices do not reach."""


def bowl(algorithm: Any, curvature: float, *, n: int, d: int, epsilon: float, delta: float = DELTA, **more: float) -> Instance:
    """The same on |x - x*|², x* = (1/d, …, 1/d)."""
    work = OneRecord(z=(curvature / d,) * d, curvature=curvature, H=0.5)
    return instance(algorithm, work, n, epsilon, delta, **more)


def whole_tree(algorithm: TreeFrankWolfe, T: int, records: float, d: int, delta: float = DELTA) -> tuple[int, float]:
    """n and ε at which the printed rule gives T phases before rounding."""
    raise NotImplementedError
