"""Instances, and what checks of several sections do with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import scipy
import sympy as sp

import dpcheck as dp
from dpcheck.accounting import account
from dpcheck.algorithms.l1_geometry import GeneralLocalizedMirrorDescent, LocalizedMirrorDescent, TreeFrankWolfe
from dpcheck.checks import Context
from dpcheck.claims import Claim
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import bound_of
from dpcheck.geometry import L1Ball
from dpcheck.harness import risk, runtime
from dpcheck.harness.budget import budget, calibrated, judge_account, with_budget
from dpcheck.harness.lines import Lines, Told
from dpcheck.harness.replay import Case
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Algorithm, Array, Constants, Problem, Rng
from dpcheck.laws import NoisyMin
from dpcheck.privacy import ApproxDP, Guarantee, PureDP
from dpcheck.running import Fixed, Run
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Verdict, differs, holds, refuted, undecided
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.crosspolytope import L1Location, SignLasso, SignLinear

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


def tree_case(b: int, sensitivity: str, noise: str = "pure") -> Case:
    """Algorithm 3 in the plane with T = 1 and a fixed allocation, from -e_1."""
    work, n = LinearSquare(), b + b // 2
    algorithm = TreeFrankWolfe(T=1, batch=b, noise=noise, sensitivity=sensitivity, allocation="fixed")  # type: ignore[arg-type]
    told = problem(work, PureDP(1.0) if noise == "pure" else ApproxDP(1.0, 1 / n**2))
    return Case(algorithm, work, told, start=np.array([[-1.0, 0.0]]))


def printed_noise(algorithm: TreeFrankWolfe, told: Problem, n: int) -> Any:
    """The plan with the noise of Theorem 6 as printed, and certified sensitivities."""
    plan = replace(algorithm, sensitivity="safe").schedule(told, n)
    return plan.edit("phase *", law=lambda law: NoisyMin(law.scale / 2))


def least_private(algorithm: A, told: Problem, n: int) -> A:
    """Algorithm 1, 2, 5 or 6 with the least constant in place of 100 that the accountant certifies, within 1%."""
    return calibrated(algorithm, "c_sigma", told, n, tolerance=0.01)


def without_bars(found: Verdict) -> Verdict:
    """Points without bars: what is known from above is only that the mean lies below the bound that is drawn."""
    return replace(found, points=tuple(replace(point, lower=None, upper=None) for point in found.points))


Pair = tuple[Array, Array, Array]
"""Data and neighbour, (n, *record) each, and the start, (1, d)."""


def audited(
    context: Context,
    algorithm: Algorithm[Any],
    work: Any,
    pair: tuple[Array, Array, Array],
    claim: Guarantee,
    runs: int,
) -> dp.AuditResult:
    """An audit of what an algorithm returns, `runs` on each of the two data sets."""
    data, neighbour, start = pair
    told = problem(work, claim)

    def returned(records: Array, rng: np.random.Generator, trials: int) -> Array:
        run: Run[Any] = Run(algorithm.schedule(told, len(records)), trials, rng)
        return np.asarray(algorithm.execute(run, work, Fixed(records[None]), start))

    returned.__name__ = type(algorithm).__name__
    return dp.audit(
        returned, data, neighbour, claim, trials=runs, failure_probability=context.failure_probability,
        seed=context.seed, label=context.label,
    )  # fmt: skip


def slope(u: Array, p: float, scale: float) -> Array:
    """The gradient of scale/2 |u|_p^2; that of exponent q and scale 1/scale is its inverse."""
    size = np.linalg.norm(u, p, axis=-1, keepdims=True)
    safe = np.where(size > 0, size, 1.0)
    return np.asarray(scale * safe ** (2 - p) * np.abs(u) ** (p - 1) * np.sign(u))


def printed_descent(lines: Lines, row: Any, records: Array, x: Array, at_edge: list[Array]) -> Array:
    """Algorithms 1 and 5 on mean f + λh around x, in a ball around x, far from the edge of the domain."""
    centre, q, total = x, row.p / (row.p - 1), np.zeros_like(x)
    for k in range(1, row.T + 1):
        total = total + k * x
        noisy = lines.answer(lines.mean(x, lines.drawn(records)))
        if k < row.T:
            h = slope(x - centre, row.p, row.scale)
            u = slope(h - 2 / (row.weight * (k + 1)) * (noisy + row.weight * h), q, 1 / row.scale)
            length = np.linalg.norm(u, row.p, axis=-1, keepdims=True)
            at_edge.append(length > row.radius)
            x = centre + u * np.minimum(1.0, row.radius / length)
    return np.asarray(2 * total / (row.T * (row.T + 1)))


def printed_phases(lines: Lines, rows: Sequence[Any], records: Array, x: Array, at_edge: list[Array]) -> Array:
    """Algorithms 2 and 6: phase i on records that no phase before it read, from the output of phase i - 1."""
    first = 0
    for row in rows:
        x = printed_descent(lines, row, records[:, first : first + row.records], x, at_edge)
        first += row.records
    return x


def lines_of_phases(context: Context, algorithm: Algorithm[Any]) -> Verdict:
    """Algorithm 2 or 6 on least squares: several phases, of whose steps some end at the edge of their ball."""
    work, at_edge = SignLasso(x_star=(0.4, -0.2, 0.1), s=0.3), list[Array]()
    told = Told.of(context, algorithm, work, problem(work), 128)
    found = told.judged(printed_phases(told.lines, told.plan.phases, told.records, told.start, at_edge))
    share, phases = float(np.mean(np.concatenate(at_edge))), len(told.plan.phases)
    if phases < 2 or not 0 < share < 1:
        return differs(f"{phases} phases with a share of {share:.3g} at the edge: more, and both kinds, are wanted")
    return replace(found, numbers={**found.numbers, "phases": phases, "share at the edge": share})


def printed_tree(lines: Lines, rows: Sequence[Any], records: Array, corners: Array, x: Array) -> Array:
    """Algorithm 3 over the polytope of these corners, (trials, K, d), records in the order of the sets."""
    fresh = iter(np.moveaxis(records, 1, 0))

    def take(size: int) -> Array:
        return np.stack([next(fresh) for _ in range(size)], axis=1)

    def below(depth: int, point: Array, v: Array) -> None:
        nonlocal x, leaf
        if depth == row.t:
            chosen = lines.answer((corners * v[:, None]).sum(axis=-1))[:, 0].astype(int)
            eta = 2 / (row.offset + leaf + 1)
            x = (1 - eta) * point + eta * corners[np.arange(len(x)), chosen]
            leaf += 1
            return
        below(depth + 1, point, v)
        own, here = take(row.b >> (depth + 1)), x
        below(depth + 1, here, v + lines.mean(here, own) - lines.mean(point, own))

    for row in rows:
        leaf = 0
        below(0, x, lines.mean(x, take(row.b)))
    return x


SIZES = [2**k for k in range(8, 41, 4)]


def certified_account(algorithm: Any, work: Any, epsilon: float, n: int, allowed: float) -> Verdict:
    plan = algorithm.schedule(problem(work, ApproxDP(epsilon, 1e-5)), n)
    found = judge_account(account(plan, n), ApproxDP(allowed, 1e-5))
    return replace(found, numbers={**found.numbers, "phases": len(plan.releases)})


def moves_its_phase_alone(context: Context, algorithm: Any, work: Any) -> Verdict:
    """The record of phase 2 changes from +L everywhere to -L: a step moves by the claim of one draw times the draws."""
    told, n, d = problem(work), 128, work.constants.d
    second = list(algorithm.phases(told, n))[1]
    data = np.ones((1, n, d))
    neighbour = data.copy()
    neighbour[0, second.first] = -1.0
    seen = Case(algorithm, work, told).replay(data, neighbour, context.scale(8, 64), context.seed)
    claims = np.concatenate([m.distance / m.claimed for m in seen.movements if m.release.name == "phase 2/gradient"])
    others = max(float(m.distance.max()) for m in seen.movements if m.release.name != "phase 2/gradient")
    off, draws = float(np.abs(claims - np.rint(claims)).max()), float(claims.max())
    broken = others > 0 or off > 1e-9 or float(seen.leak.max()) > 0
    said = f"other phases move by {others:g}, its own by up to {draws:g} claims (times drawn)"
    return (refuted if broken else holds)(said, "certificate", numbers={"others": others, "most draws": draws})


def counted_phases(context: Context, algorithm: Any, n: int, label: str) -> Verdict:
    work = linear(4)
    counts = runtime.count(algorithm, work, problem(work), n, 1, context.seed, "count", n)
    if float(counts.gradients.max()) != counts.claimed:
        return differs(f"{counts.gradients.max()} counted, the schedule says {counts.claimed}", "counted")
    return runtime.verdict(counts.gradients, float(claim(label).evaluate(n=n, d=4, epsilon=1.0)), x=float(n))


def risk_of_linear_losses(context: Context, algorithm: Any, n: int, series: str) -> Verdict:
    """Linear losses in the plane, from the centre: the distance D to the minimiser, a vertex, is 1."""
    slope, trials = 0.95, 14
    work = linear(2, slope)
    told, top = problem(work), 2 * slope
    algorithm = least_private(algorithm, told, n)
    # All trials at once: a step costs the same for one as for all.
    rows = work.rows(context.rng("data"), trials, n)
    values = work.excess_risk(algorithm.fit(work, Fixed(rows), told, rng=context.rng("runs"), trials=trials))
    bound = bound_of("l1_geometry/thm-4@summed", algorithm, told, n)
    found = risk.expectation(values, bound, context.failure_probability, limit=top, x=float(n), series=series)
    return with_budget(without_bars(found), algorithm, told, n)


def planned_gradients(rule: str, p: float, d: int, epsilon: float, n: int) -> float:
    """Gradients of Algorithm 6, by its schedule; 0 where no phase can be run."""
    algorithm = GeneralLocalizedMirrorDescent(p=p, batch_rule=rule)  # type: ignore[arg-type]
    return float(sum(row.T * row.b for row in algorithm.phases(problem(linear(d), ApproxDP(epsilon, 1e-5)), n)))


def regret(context: Context, algorithm: LocalizedMirrorDescent, n: int, trials: int) -> Verdict:
    slope, work = 0.95, linear(2, 0.95, R=50.0)
    told = problem(work, ApproxDP(1.0, 0.4))
    algorithm = least_private(algorithm, told, n)
    first, reach = next(iter(algorithm.phases(told, n))), slope * algorithm.movement(told, n)
    at_once = first.eta_i * first.records * (first.p - 1)
    away = slope * at_once / 2  # maximises slope s - s^2/at_once
    bound = bound_of("l1_geometry/thm-4@summed", algorithm, told, n, D_1=away)
    rows = work.rows(context.rng("data"), trials, n)
    point = algorithm.fit(work, Fixed(rows), told, rng=context.rng("runs"), trials=trials)
    # Regret plus reach - slope away is F(x_k) - F(x_0) + reach, which lies in [0, 2 reach] surely.
    raised, limit = bound - slope * away + reach, 2 * reach
    if raised >= limit:
        said = f"the bound {bound - slope * away:.4g} on E F(x_k) - F(x_0) is vacuous: {reach:.4g} is never exceeded"
        return undecided(said, "exact", numbers={"bound": bound, "reach": reach, "vacuous": True})
    found = risk.expectation(
        np.maximum(0.0, slope * point[:, 0] + reach), raised, context.failure_probability, limit=limit * (1 + 1e-9),
        quantity="F(x_k) - F(x_0), raised by what the phases can move,", x=float(n),
    )  # fmt: skip
    found = replace(found, numbers={**found.numbers, "regret bound": bound, "|y - x_0|": away, "reach": reach})
    return with_budget(without_bars(found), algorithm, told, n)


DELTA_OF_RATES = 1e-6


def worst_linear_loss(
    context: Context, n: int, d: int, epsilon: float, trials: int, grid: Sequence[float] = (0.35, 0.5, 0.7, 1.0, 1.4)
) -> dict[str, float]:
    """Mean excess risk of Algorithm 2 (gradient batches, least certified noise) over L D, on the worst of a few slopes,
    one of which the first phase's regulariser outweighs by half. Every trial has a slope of its own; all run at once.
    """
    work = SignLinear(mu=(0.5, *[0.0] * (d - 1)))
    told = problem(work, ApproxDP(epsilon, DELTA_OF_RATES))
    algorithm = least_private(LocalizedMirrorDescent(batch_rule="gradients"), told, n)
    plan = algorithm.schedule(told, n)
    first = plan.phases[0]
    # |x|_p^2/(eta_1 n_1 (p - 1)) keeps x at half of the way at this slope.
    balanced = 1 / (first.eta_i * first.records * (first.p - 1))
    slopes = np.minimum(1.0, balanced * np.array(grid))
    mean = np.zeros((len(slopes) * trials, d))
    mean[:, 0] = np.repeat(slopes, trials)
    rng, found = context.rng("risks"), []
    for part in np.array_split(mean, max(1, n * d * len(mean) // 4_000_000)):
        up = rng.random((len(part), n, d)) < (1 + part[:, None]) / 2
        run: Run[Any] = Run(plan, len(part), rng)
        point = algorithm.execute(run, work, Fixed(np.where(up, 1.0, -1.0)), np.zeros((1, d)))
        found.append((part * point).sum(axis=1) + part[:, 0])
    values = np.concatenate(found).reshape(len(slopes), trials) / 2
    worst = int(values.mean(axis=1).argmax())
    found = {
        **risk.summary(np.maximum(values[worst], 0.0), 1.0),
        "slope": float(slopes[worst]),
    }
    return found | budget(algorithm, told, n)


TREE = TreeFrankWolfe(noise="approximate", sensitivity="safe", steps="consecutive", budget="economical")


def lasso(d: int) -> SignLasso:
    """|x*|_1 = 0.8, in two coordinates."""
    return SignLasso(x_star=(0.6, -0.2, *[0.0] * (d - 2)))


def tree_at(n: int, d: int, epsilon: float) -> tuple[TreeFrankWolfe, SignLasso]:
    """Algorithm 3 with the noise of Theorem 7, all n records, and the depth that balances drift and selection gap."""
    work = lasso(d)
    told = problem(work, ApproxDP(epsilon, DELTA_OF_RATES))
    found = []
    for T in range(1, 8):
        algorithm = replace(TREE, T=T)
        if int(n / (T + T * (T + 1) / 4)) >= 2**T:
            scale = algorithm.schedule(told, n).phases[0].scale
            found.append((4 / 2**T + scale * (1 + math.log(2 * d)), T, algorithm))
    return min(found, key=lambda row: row[:2])[2], work


def tree_on_lasso(context: Context, n: int, d: int, epsilon: float, more: int = 1, depth: int = 0) -> dict[str, float]:
    """Mean excess risk of Algorithm 3 on the sign LASSO over L D, at the depth of `tree_at` unless one is given."""
    algorithm, work = tree_at(n, d, epsilon)
    algorithm = replace(algorithm, T=depth) if depth else algorithm
    told = problem(work, ApproxDP(epsilon, DELTA_OF_RATES))
    trials = more * context.scale(24, 100)
    values = risk.excess_risks(algorithm, work, told, n, trials, context.seed, context.name, dict(context.cell))
    unit = work.constants.lipschitz(1.0) * work.constants.diameter(1.0)
    found = {**risk.summary(np.maximum(values / unit, 0.0), 1.0), "T": algorithm.T or 0}
    return found | budget(algorithm, told, n)


LIMIT = float(LASSO.excess_risk(LASSO.domain.vertices).max())
"""The largest excess of the LASSO workload: it is convex, so at a vertex."""


EITHER = ("holds", "undecided")
"""Where the bound may be above `LIMIT` at all sizes of a run."""


def risk_on_the_lasso(context: Context, algorithm: TreeFrankWolfe, n: int, series: str, privacy: Any = None) -> Verdict:
    told = problem(LASSO, privacy or PureDP(1.0))
    trials = min(context.scale(200, 1000), max(60, 4 * 10**6 // n))
    values = risk.excess_risks(algorithm, LASSO, told, n, trials, context.seed, context.label, series, n)
    bound = bound_of("l1_geometry/thm-6@summed", algorithm, told, n)
    found = risk.expectation(values, bound, context.failure_probability, limit=LIMIT, x=float(n), series=series)
    # The printed noise is accounted under certified sensitivities, not under its own claims.
    half = algorithm.sensitivity == "printed" and algorithm.noise == "pure"
    planned = printed_noise(algorithm, told, n) if half else replace(algorithm, sensitivity="safe")
    return with_budget(without_bars(found), planned, told, n)


def ends_of_the_window(stated: Claim) -> dict[str, sp.Expr]:
    """What the claim assumes: ends of the window of beta, and the cap on epsilon, where it has one."""
    found: dict[str, sp.Expr] = {}
    for one in stated.assumptions:
        sides = one.lhs, one.rhs
        for name, here, there in (("low", 1, 0), ("high", 0, 1), ("cap", 0, 1)):
            wanted = BY_NAME["epsilon" if name == "cap" else "H"]
            if sides[here] == wanted and BY_NAME["n"] in sides[there].free_symbols:
                found[name] = sides[there]
    return found


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


DESCENT = {
    "T": "l1_geometry/alg-1@steps",
    "b": "l1_geometry/alg-1@batch",
    "gradients": "l1_geometry/alg-1@gradients",
}


GIVEN = {
    "weight": "given, 0 without a regulariser",
    "epsilon": "the budget itself",
    "first": "the block is all of the data",
    "records": "the block is all of the data",
    "radius": "no ball is drawn around the start",
}


PHASES = {
    "epsilon": "l1_geometry/alg-2@epsilon",
    "records": "l1_geometry/alg-2@records",
    "b": "l1_geometry/alg-2@batch",
    "phases": "l1_geometry/alg-2@phases",
    "T": "l1_geometry/alg-2@steps",
    "eta": "l1_geometry/alg-2@step",
    "radius": "l1_geometry/alg-2",
    "gradients": "l1_geometry/alg-2@gradients",
}


PLACES = {"i": "the number of the phase", "first": "where its records begin"}


SYMBOLS = {"eta": "s", "eta_i": "eta", "records": "n", "radius": "R", "scale": "h", "weight": "lambda"}
