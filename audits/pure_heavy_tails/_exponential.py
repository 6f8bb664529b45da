"""What the checks of Appendices E and F share: exact laws of selections, pairs to try, and hand-made workloads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck import seeds
from dpcheck.accounting import account
from dpcheck.algorithms.pure_heavy_tails import EMPGM, PopLocalize, SmoothedEMPGM
from dpcheck.algorithms.pure_heavy_tails.erm import Stage
from dpcheck.algorithms.pure_heavy_tails.sampling import LocalPotential
from dpcheck.geometry import Ball
from dpcheck.harness.replay import Case
from dpcheck.harness.selection import Pair
from dpcheck.interfaces import Array, Constants, Problem, Rng, Sample, Workload
from dpcheck.privacy import PureDP
from dpcheck.verdicts import Verdict, holds, refuted
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.linear import RareSpikes

from ._instances import BLOCKS, problem

FAR = 1e6
"""A record so large that every clip level is below it."""


@dataclass(frozen=True)
class Kinked(BaseWorkload):
    """f(w, a) = a max(w, 3w - 4/5) on [-1/2, 1/2]: convex, its smoothed slope is at least a wherever one looks."""

    @property
    def domain(self) -> Ball:
        return Ball(radius=0.5, d=1)

    @property
    def constants(self) -> Constants:
        """Of the law that puts a = 1."""
        return Constants(
            d=1,
            diameter=lambda p: 1.0,
            lipschitz=lambda p: float(np.inf),
            smoothness=lambda p: float(np.inf),
            moment=lambda k, m: 3.0,
        )

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(z[..., 0] * np.maximum(w[..., 0], 3 * w[..., 0] - 0.8))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(z * np.where(w < 0.4, 1.0, 3.0))

    def amplitude(self, z: Array) -> Array:
        return np.asarray(3 * np.abs(z[..., 0]))

    def excess_risk(self, w: Array) -> Array:
        return np.asarray(self.loss(w, np.ones(1)) + 0.5)

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return np.ones((trials, n, 1))


@dataclass(frozen=True)
class TrueSmoothness(SmoothedEMPGM):
    """The printed step size with the smoothness of the smoothed empirical risk itself, not a bound on it: `Kinked`."""

    def step(self, workload: Workload, sample: Sample, stage: Stage) -> Array:
        tau = self.smoothing(workload.constants, stage.records)
        return np.asarray(1 / (stage.lambda_ + sample.mean(sample.values) / tau))[..., None]


def unit_interval(points: int = 2001) -> tuple[RareSpikes, float]:
    """Linear losses on [-1/2, 1/2], every slope 1 in law, and the eta whose net has that many points."""
    return RareSpikes(D=1.0, G=1.0, p=1.0, theta=1.0), 0.5 / (points - 1)


def smoothed_case(n: int, epsilon: float, rule: str) -> Case:
    """EM-PGM of Appendix E.2 on a net of 2001 points, clip level 1, lambda = 1/10: `rule` says whose gamma."""
    work, eta = unit_interval()
    fields: dict[str, Any] = {"C": 1.0, "eta": eta, "lambda_": 0.1}
    if rule == "true smoothness":
        kinked = Kinked()
        return Case(TrueSmoothness(**fields), kinked, Problem(constants=kinked.constants, privacy=PureDP(epsilon)))
    algorithm = SmoothedEMPGM(gamma_rule=rule, **fields)  # type: ignore[arg-type]
    return Case(algorithm, work, Problem(constants=work.constants, privacy=PureDP(epsilon)))


def steeper(n: int, high: float = FAR) -> Pair:
    """All slopes 1; in the neighbour the first is `high`. Every clipped gradient is 1 in both."""
    data = np.ones((1, n, 1))
    neighbour = data.copy()
    neighbour[0, 0] = high
    return data, neighbour


def balanced(n: int, shares: Iterable[float], size: float = FAR) -> list[Pair]:
    """Pairs with a share of the records at +size, the others at -size, and one switched from the one to the other."""
    pairs = []
    for share in shares:
        data = np.full((1, n, 1), -size)
        data[0, : max(1, round(share * n))] = size
        neighbour = data.copy()
        neighbour[0, 0] = -size
        pairs.append((data, neighbour))
    return pairs


def empgm_case(work: BaseWorkload, epsilon: float, **fields: Any) -> Case:
    """Algorithm 5 on a smooth workload."""
    return Case(EMPGM(**fields), work, Problem(constants=work.constants, privacy=PureDP(epsilon)))


NONEXPANSIVE = (
    "by hand: one clipped gradient moves the mean by 2C/n at most, the projection is nonexpansive, gamma is public"
)
SHARES = (0.02, 0.25, 0.4, 0.5, 0.6, 0.75, 1.0)


def localised(smoothed: bool, eta: float) -> PopLocalize:
    erm = SmoothedEMPGM(eta=eta, gamma_rule="public") if smoothed else EMPGM(eta=eta)
    return PopLocalize(erm=erm, blocks=BLOCKS, c_erm=1.0)


def accounted(smoothed: bool, size: int, budget: float) -> Verdict:
    """The account of Algorithm 1 around EM-PGM, and one record replayed in its first block."""
    work = RareSpikes(p=0.3, theta=0.4)
    algorithm = localised(smoothed, 0.01)
    plan = algorithm.schedule(problem(work, budget), size)
    spent = account(plan, size).epsilon(0.0)
    data = work.rows(seeds.stream(0, "accounted"), 1, size)
    other = data.copy()
    other[0, 0] = -FAR
    seen = Case(algorithm, work, problem(work, budget)).replay(data, other, 4)
    moved = max(float(values.max()) for values in seen.ratios().values())
    numbers = {"accounted": spent, "claimed": budget, "worst replayed ratio": moved, "releases": len(plan.releases)}
    said = f"{len(plan.releases)} selections cost {spent:.6g} of {budget:g}; a record moves {moved:.4g} of its claim"
    if spent > budget * (1 + 1e-9) or moved > 1 + 1e-6:
        return refuted(said, "exact", numbers=numbers)
    return holds(f"{said}; blocks are disjoint ({NONEXPANSIVE})", "certificate", numbers=numbers)


def potential(work: Any, sample: Sample, centre: float, anchor: Array, cap: float, weight: float) -> LocalPotential:
    """F_C,lambda at w minus its value at the anchor."""
    return LocalPotential(work, sample, np.full((1, 1), centre), anchor, cap, weight)
