"""Instances, and what checks of several sections do with them; losses of one record, on which rates are measured.

All records of a data set are equal there, so that the excess risk is that of optimisation and of privacy, and any n can
be run. Algorithm 1 makes n steps by default. It is run in a thousand, each the mean of many noisy gradients in a row,
which moves the mirror image of the point as they do: the lines are those of the algorithm, with the noise of a step
divided by the root of how many it stands for.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
import scipy
import sympy as sp

import dpcheck as dp
from dpcheck.accounting import account
from dpcheck.algorithms.l1_geometry import (
    GeneralLocalizedMirrorDescent,
    LocalizedMirrorDescent,
    NoisyMirrorDescent,
    TreeFrankWolfe,
)
from dpcheck.algorithms.l1_geometry.frank_wolfe import weights
from dpcheck.algorithms.l1_geometry.localized import DescentPhase
from dpcheck.checks import Context
from dpcheck.claims import Claim
from dpcheck.engine.statements import bound_of
from dpcheck.geometry import L1Ball
from dpcheck.harness import risk
from dpcheck.harness.budget import calibrated, judge_account, with_budget
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import Equal, Family, Instance, Risk, geometric
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Algorithm, Array, Constants, Problem, Rng, Schedule
from dpcheck.laws import Gaussian, NoisyMin
from dpcheck.privacy import ApproxDP, Guarantee, PureDP
from dpcheck.running import Fixed, Fresh, Run
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Outcome, Verdict
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.crosspolytope import EqualRecords, L1Location, SignLasso, SignLinear
from dpcheck.workloads.sign_atoms import CountedLasso, CountedLinear

A = TypeVar("A", bound=Algorithm[Any])


APPROX = ApproxDP(1.0, 1e-5)


LASSO = SignLasso(x_star=(0.6, -0.2, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0))


def problem(workload: Any, privacy: Guarantee = APPROX) -> Problem:
    return Problem.of(workload, privacy)


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


def tree_case(b: int, sensitivity: str, noise: str = "pure", epsilon: float = 1.0) -> Case:
    """Algorithm 3 in the plane with T = 1 and a fixed allocation, from -e_1."""
    work, n = LinearSquare(), b + b // 2
    algorithm = TreeFrankWolfe(T=1, batch=b, noise=noise, sensitivity=sensitivity, allocation="fixed")  # type: ignore[arg-type]
    told = problem(work, PureDP(epsilon) if noise == "pure" else ApproxDP(epsilon, 1 / n**2))
    return Case(algorithm, work, told, start=np.array([[-1.0, 0.0]]))


def printed_noise(algorithm: TreeFrankWolfe, told: Problem, n: int) -> Any:
    """The plan with the noise of Theorem 6 as printed, and certified sensitivities."""
    plan = replace(algorithm, sensitivity="safe").schedule(told, n)
    return plan.edit("phase *", law=lambda law: NoisyMin(law.scale / 2))


def least_private(algorithm: A, told: Problem, n: int) -> A:
    """Algorithm 1, 2, 5 or 6 with the least constant in place of 100 that the accountant certifies, within 1%."""
    return calibrated(algorithm, "c_sigma", told, n, tolerance=0.01)


def without_bars(verdict: Verdict) -> Verdict:
    """Points without bars: what is known from above is only that the mean lies below the bound that is drawn."""
    return replace(verdict, points=tuple(replace(point, lower=None, upper=None) for point in verdict.points))


Pair = tuple[Array, Array, Array]
"""Data and neighbour, (n, *record) each, and the start, (1, d)."""


DELTA = 1e-12
"""Of the promise, where it does not vary."""


SLOPES = Family.of(mirrored=True, slope=geometric(1.0, 1 / 4, 14))
"""Linear losses -s <e_1, x> with s = L, L/4, …: neither n nor the algorithm enters."""


@dataclass(frozen=True)
class OneRecord(EqualRecords):
    """Equal records of the class that has the same L, H and D in any norm between l1 and l2."""

    @functools.cached_property
    def constants(self) -> Constants:
        return replace(
            super().constants, lipschitz=lambda p: self.L, smoothness=lambda p: self.H,
            moment=lambda k, m: self.curvature * self.D / 2 + self.steepest,
            extra={"strong_convexity": self.curvature / len(self.z)},
        )  # fmt: skip


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


SMALL = 1e-3
"""Phases whose balls together are so small a part of the domain are left out."""


class LargePhases(LocalizedMirrorDescent):
    """The phases whose balls are no small part of the domain: later ones move nothing, and cost no more privacy."""

    def phases(self, problem: Problem, n: int) -> Iterator[DescentPhase]:
        wide = SMALL * problem.constants.diameter(self.norm(problem))
        return itertools.takewhile(lambda row: row.radius > wide, super().phases(problem, n))


def shorter_steps(one: Instance) -> Instance:
    """η too small by (nε)^(1/4), as if D were."""
    return one.running(replace(one.algorithm, distance=one.work.D * (one.n * one.at["epsilon"]) ** -0.25))


LOCALISED: Mapping[str, Any] = {
    "part": "private",
    "family": SLOPES,
    "engine": Equal(100),
    "mutants": {"η times (nε)^(-1/4)": shorter_steps},
    "since": "standard",
}
"""Of rows of Algorithms 2 and 6. Linear losses do not see localisation: the first phase alone does as well."""


AVERAGED: Mapping[str, Any] = {
    **LOCALISED,
    "engine": Equal(80, plan=in_few_steps),  # the start is one of the points averaged
}
"""Of rows of Algorithms 1 and 5, whose batch is the default."""


TINY = 1e-8
"""epsilon of rows over another variable."""


DELTAS = (1e-12, 1e-4, 0.36)
"""Their logarithms go from 1 to 28."""


# Linear losses on a cube of Euclidean diameter D, whose coordinates move apart from each other: the mirror map of
# Algorithms 5 and 6 at p = 2, and of 1 and 2 in the plane, is Euclidean, and a step is clipped by coordinate, as it is
# on the l1 ball of the plane, a square. An instance holds the diagonal; of -s <1, w>/sqrt d each has a d-th part.

STEEPNESS = (1, 16, 256)
"""L of rows on losses whose slopes are the same at every L. A class holds the losses of smaller ones, on which outputs
that read nothing stay as bad as they were, and an algorithm is told L.
"""
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


def taken_for_one(one: Instance) -> Instance:
    """eta and the noise of L = 1, whatever L is."""
    return replace(one, problem=replace(one.problem, constants=replace(one.problem.constants, lipschitz=lambda p: 1.0)))


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
        work, rows = instance.work, tuple(instance.algorithm.phases(instance.problem, instance.n))
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
    value = ratio / math.log2(2 * d)
    return (math.sqrt(value) if noise == "pure" else (value / math.log(n / delta)) ** (2 / 3),)


def records(noise: Noise, T: int, **at: Any) -> int:
    """The n at which the rule gives T without rounding."""
    low, high = 1e3, 1e40
    while high > low * (1 + 1e-12):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if leaves(noise, n=int(middle), **at)[0] > 2**T else (middle, high)
    return math.ceil(high)


def deeper(one: Instance) -> Instance:
    """T half as deep again."""
    return one.running(replace(one.algorithm, T=3 * len(tuple(one.algorithm.phases(one.problem, one.n))) // 2))


def three_phases(one: Instance) -> Instance:
    return one.running(replace(one.algorithm, T=3))


WRONG_TREES: Mapping[str, Mutant] = {"T times 3/2": deeper, "T = 3": three_phases}
"""A tree that is not as deep is no worse on linear losses, and a bowl in few dimensions starts at its minimum."""


def audited(
    context: Context,
    algorithm: Algorithm[Any],
    work: Any,
    pair: tuple[Array, Array, Array],
    promise: Guarantee,
    runs: int,
) -> dp.AuditResult:
    """An audit of what an algorithm returns, `runs` on each of the two data sets."""
    data, neighbour, start = pair
    told = problem(work, promise)

    def returned(records: Array, rng: np.random.Generator, trials: int) -> Array:
        run: Run[Any] = Run(algorithm.schedule(told, len(records)), trials, rng)
        return np.asarray(algorithm.execute(run, work, Fixed(records[None]), start))

    returned.__name__ = type(algorithm).__name__
    return dp.audit(
        returned, data, neighbour, promise, trials=runs, failure_probability=context.failure_probability,
        seed=context.seed, label=context.label,
    )  # fmt: skip


SIZES = [2**k for k in range(8, 41, 4)]


def certified_account(algorithm: Any, work: Any, epsilon: float, n: int, allowed: float) -> Verdict:
    plan = algorithm.schedule(problem(work, ApproxDP(epsilon, 1e-5)), n)
    verdict = judge_account(account(plan, n), ApproxDP(allowed, 1e-5))
    return replace(verdict, numbers={**verdict.numbers, "phases": len(plan.releases)})


def risk_of_linear_losses(context: Context, algorithm: Any, n: int, series: str) -> Verdict:
    """Linear losses in the plane, from the centre: the distance D to the minimiser, a vertex, is 1."""
    slope, trials = 0.95, 14
    work = CountedLinear(mu=(slope, 0.0))
    told, top = problem(work), 2 * slope
    algorithm = least_private(algorithm, told, n)
    # All trials at once: a step costs the same for one as for all.
    data = Fresh(work, trials, n, context.seed, context.name, series, n)
    values = work.excess_risk(algorithm.fit(work, data, told, rng=context.rng("runs"), trials=trials))
    bound = bound_of("l1_geometry/thm-4@summed", algorithm, told, n)
    verdict = risk.expectation(values, bound, context.failure_probability, limit=top, x=float(n), series=series)
    return with_budget(without_bars(verdict), algorithm, told, n)


def planned_gradients(rule: str, p: float, d: int, epsilon: float, n: int) -> float:
    """Gradients of Algorithm 6, by its schedule; 0 where no phase can be run."""
    algorithm = GeneralLocalizedMirrorDescent(p=p, batch_rule=rule)  # type: ignore[arg-type]
    return float(sum(row.T * row.b for row in algorithm.phases(problem(linear(d), ApproxDP(epsilon, 1e-5)), n)))


def lasso(d: int) -> SignLasso:
    """|x*|_1 = 0.8, in two coordinates."""
    return CountedLasso(x_star=(0.6, -0.2, *[0.0] * (d - 2)))


LIMIT = float(LASSO.excess_risk(LASSO.domain.vertices).max())
"""The largest excess of the LASSO workload: it is convex, so at a vertex."""


EITHER = ("holds", "undecided")
"""Where the bound may be above `LIMIT` at all sizes of a run."""


def risk_on_the_lasso(context: Context, algorithm: TreeFrankWolfe, n: int, series: str, privacy: Any = None) -> Verdict:
    told = problem(LASSO, privacy or PureDP(1.0))
    trials = min(context.scale(200, 1000), max(60, 4 * 10**6 // n))
    values = risk.excess_risks(algorithm, LASSO, told, n, trials, context.seed, context.label, series, n)
    bound = bound_of("l1_geometry/thm-6@summed", algorithm, told, n)
    verdict = risk.expectation(values, bound, context.failure_probability, limit=LIMIT, x=float(n), series=series)
    # The printed noise is accounted under certified sensitivities, not under its own claims.
    half = algorithm.sensitivity == "printed" and algorithm.noise == "pure"
    planned = printed_noise(algorithm, told, n) if half else replace(algorithm, sensitivity="safe")
    return with_budget(without_bars(verdict), planned, told, n)


def also_elsewhere(told: Verdict, others: Iterable[Verdict]) -> Verdict:
    """A refutation, told if those at other points are refutations too; else the first that is none."""
    return next((one for one in others if one.outcome != Outcome.REFUTED), told)


def ends_of_the_window(stated: Claim) -> dict[str, sp.Expr]:
    """What the claim assumes: ends of the window of beta, and the cap on epsilon, where it has one."""
    by_name: dict[str, sp.Expr] = {}
    for one in stated.assumptions:
        sides = one.lhs, one.rhs
        for name, here, there in (("low", 1, 0), ("high", 0, 1), ("cap", 0, 1)):
            wanted = BY_NAME["epsilon" if name == "cap" else "H"]
            if sides[here] == wanted and BY_NAME["n"] in sides[there].free_symbols:
                by_name[name] = sides[there]
    return by_name


def steps_at_the_upper_end(noise: str) -> Verdict:
    """The plan at beta = the upper end, with whole numbers: n = 65536, m = 4, b = 256 has 2^T = b."""
    n, work = 65536, LinearSquare()
    algorithm = TreeFrankWolfe(noise=noise)  # type: ignore[arg-type]
    epsilon, delta = 1.0 if noise == "pure" else 1e-3, 0.0 if noise == "pure" else 1 / n
    log_nd = 1.0 if noise == "pure" else math.log(n / delta)
    high = n * 2 / (2 * epsilon * 256) if noise == "pure" else math.sqrt(n) * log_nd * 2 / (epsilon * 2 * 16)
    told = problem(work, ApproxDP(epsilon, delta))
    told = replace(told, constants=replace(told.constants, smoothness=lambda p: high))
    T, b = algorithm.sizes(told, n)
    return agree([T, b], [8, 256], "T and b of the plan")


NO_CONSTANT = "lower bound, its constant set to 1"


CONSTANT = 0.05
"""Put for the hidden constants: an algorithm far below them would be news."""


def sign_error(n: int, d: int, epsilon: float, delta: float) -> float:
    """Worst error, over |mean of z_j| = tau, of the signs of z_bar + N(0, sigma^2 I), D = 1: d sigma max x Phi(-x)."""
    sigma = 2 * math.sqrt(2 * math.log(1.25 / delta)) / (n * math.sqrt(d) * epsilon)
    x = np.minimum(np.linspace(0.01, 3, 600), 1 / (d * sigma))
    return float(d * sigma * (x * scipy.special.ndtr(-x)).max())
