"""Instances that several checks of this paper share."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from dpcheck.algorithms.l1_geometry import TreeFrankWolfe
from dpcheck.geometry import L1Ball
from dpcheck.harness.budget import calibrated
from dpcheck.harness.replay import Case, changed_record, claimed_movement, distance
from dpcheck.interfaces import Algorithm, Array, Constants, Problem, Rng
from dpcheck.laws import NoisyMin
from dpcheck.privacy import ApproxDP, Guarantee, PureDP
from dpcheck.running import Entry, Fixed, Run, Transcript
from dpcheck.verdicts import Verdict
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.crosspolytope import L1Location, SignLasso, SignLinear

A = TypeVar("A", bound=Algorithm[Any])
APPROX = ApproxDP(1.0, 1e-5)
LASSO = SignLasso(x_star=(0.6, -0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))


def problem(workload: Any, privacy: Guarantee = APPROX) -> Problem:
    return Problem(constants=workload.constants, privacy=privacy)


def linear(d: int, gamma: float = 0.5, **fields: Any) -> SignLinear:
    """W-LIN: one coordinate with a mean."""
    return SignLinear(mu=(gamma, *[0.0] * (d - 1)), **fields)


def location(d: int, gamma: float = 0.5) -> L1Location:
    """W-LAD."""
    return L1Location(gamma=(gamma,) * d)


@dataclass(frozen=True)
class LinearSquare(BaseWorkload):
    """f(x;(a,s)) = <a, x> + <s, x>^2/2 on the unit l1 ball of the plane, 1-Lipschitz and 1-smooth in l1: W-RNM.

    Records are given; the law that `rows` draws from only serves the interface.
    """

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (4,)

    @property
    def domain(self) -> L1Ball:
        return L1Ball(2, 1.0)

    @property
    def constants(self) -> Constants:
        return Constants(
            d=2,
            diameter=self.domain.diameter,
            lipschitz=lambda p: 1.0,
            smoothness=lambda p: 1.0,
            moment=lambda k, m: 1.0,
        )

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray((w * z[..., :2]).sum(axis=-1) + (w * z[..., 2:]).sum(axis=-1) ** 2 / 2)

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(z[..., :2] + (w * z[..., 2:]).sum(axis=-1)[..., None] * z[..., 2:])

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        side = np.where(rng.random((trials, n, 1)) < 0.5, 1.0, -1.0)
        return np.concatenate([np.zeros((trials, n, 2)), np.ones((trials, n, 1)), side], axis=-1)

    def excess_risk(self, w: Array) -> Array:
        return np.asarray((w**2).sum(axis=-1) / 2)


def right_child_pair(b: int, tilt: float = 0.1, curvature: float = 1.0) -> tuple[Array, Array, Array]:
    """The pair of Lemma 4.1 in data order: b root records, then b/4 linear ones, b/4 - 1 squares, and the record.

    Args:
        curvature: beta of the squares, at most 1.

    Returns:
        data and neighbour, (1, 1.5 b, 4), and the start (1, 2).
    """
    root = np.tile([-1.0, tilt, 0.0, 0.0], (b, 1))
    plus, minus = (math.sqrt(curvature) * np.array([0.0, 0.0, 1.0, sign]) for sign in (1.0, -1.0))
    squares = np.concatenate([np.tile(plus, (b // 8, 1)), np.tile(minus, (b // 8 - 1, 1))])
    shared = np.concatenate([root, np.tile([-1.0, tilt, 0.0, 0.0], (b // 4, 1)), squares])
    data, neighbour = (np.concatenate([shared, one[None]])[None] for one in (minus, plus))
    return data, neighbour, np.array([[-1.0, 0.0]])


def root_pair(b: int, curvature: float = 1.0) -> tuple[Array, Array]:
    """The same data with the first record of the root set replaced: gradients (1, 1) and (-1, -1) there."""
    data = right_child_pair(b, curvature=curvature)[0]
    neighbour = data.copy()
    data[0, 0], neighbour[0, 0] = (1.0, 1.0, 0.0, 0.0), (-1.0, -1.0, 0.0, 0.0)
    return data, neighbour


def tree_case(b: int, sensitivity: str, noise: str = "pure") -> Case:
    """Algorithm 3 in the plane with T = 1 and a fixed allocation, from -e_1."""
    work, n = LinearSquare(), b + b // 2
    algorithm = TreeFrankWolfe(T=1, batch=b, noise=noise, sensitivity=sensitivity, allocation="fixed")  # type: ignore[arg-type]
    told = problem(work, PureDP(1.0) if noise == "pure" else ApproxDP(1.0, 1 / n**2))
    return Case(algorithm, work, told, start=np.array([[-1.0, 0.0]]))


@dataclass(frozen=True)
class Enumerated:
    """Of a pair, over every outcome of all selections: the largest |log-ratio|, and movement over claim."""

    loss: float
    moved: float


def enumerate_selections(case: Case, data: Array, neighbour: Array) -> Enumerated:
    """Runs an algorithm that releases selections alone on both data sets under every possible transcript, and adds up
    exact log-probabilities: nothing is sampled, so that no outcome is missed for being rare.
    """
    plan, work = case.planned(data.shape[1]), case.workload
    choices = len(work.domain.vertices)  # type: ignore[attr-defined]
    outcomes = np.array(list(itertools.product(range(choices), repeat=len(plan.releases))), dtype=float)
    told = [Entry(r.name, np.zeros((len(outcomes), 1)), outcomes[:, [i]]) for i, r in enumerate(plan.releases)]
    cores = []
    for rows in (data, neighbour):
        run: Run[Any] = Run(plan, len(outcomes), None, history=Transcript(told))
        assert case.start is not None
        case.algorithm.execute(run, work, Fixed(rows), case.start)
        cores.append([entry.core for entry in run.transcript.entries])
    loss, moved = np.zeros(len(outcomes)), 0.0
    (changed,) = {int(i) for i in changed_record(data, neighbour, 1)}
    for release, entry, here, there in zip(plan.releases, told, *cores, strict=True):
        loss += release.law.log_ratio(entry.output, here, there)
        claimed = float(claimed_movement(release, np.array([changed]))[0])
        apart = float(distance(here, there, release.norm).max())
        moved = max(moved, apart / claimed if claimed else (math.inf if apart > 1e-12 else 0.0))
    return Enumerated(float(np.abs(loss).max()), moved)


def printed_noise(algorithm: TreeFrankWolfe, told: Problem, n: int) -> Any:
    """The plan with the noise of Theorem 6 as printed, and certified sensitivities."""
    plan = replace(algorithm, sensitivity="safe").schedule(told, n)
    return plan.edit("phase *", law=lambda law: NoisyMin(law.scale / 2))


@dataclass
class Seen:
    """A workload that remembers every point where gradients were asked for: the iterates, (trials, d) each."""

    work: Any
    points: list[Array] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.work, name)

    def __dir__(self) -> list[str]:
        return dir(self.work)

    def gradient(self, w: Array, z: Array) -> Array:
        self.points.append(w[:, 0])
        return np.asarray(self.work.gradient(w, z))


def least_private(algorithm: A, told: Problem, n: int) -> A:
    """Algorithm 1, 2, 5 or 6 with the least constant in place of 100 that the accountant certifies, within 1%."""
    return calibrated(algorithm, "c_sigma", told, n, tolerance=0.01)


def without_bars(found: Verdict) -> Verdict:
    """Points without bars: what is known from above is only that the mean lies below the bound that is drawn."""
    return replace(found, points=tuple(replace(point, lower=None, upper=None) for point in found.points))
