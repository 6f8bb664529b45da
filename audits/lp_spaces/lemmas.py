"""Instances beside those in `cases.py`, of Theorem 2 and of lemmas, and what checks do with them."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy

import dpcheck as dp
from dpcheck.algorithms.lp_spaces import (
    ApproximateObjectivePerturbation,
    BatchedMirrorDescent,
    FullBatchMirrorDescent,
    HalvingPhasedSGD,
    ShuffledMirrorDescent,
)
from dpcheck.algorithms.lp_spaces.hard_instances import HardInstance
from dpcheck.algorithms.lp_spaces.objective import PerturbedObjective
from dpcheck.algorithms.lp_spaces.regular import dual_regularity
from dpcheck.checks import Context
from dpcheck.engine.executed import as_stated
from dpcheck.engine.settings import Stated, drawn
from dpcheck.geometry import Ball, Domain, Interval, L1Ball
from dpcheck.harness import budget, sensitivity
from dpcheck.harness.lower_bound import Fact
from dpcheck.harness.plans import Plan
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.harness.search import Search
from dpcheck.harness.sensitivity import Certificate
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Algorithm, Array, Constants, Problem, Rng
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.solvers import Task
from dpcheck.verdicts import Verdict, combine, differs
from dpcheck.workloads import HeavyCoordinates, LinearMean, QuadraticMean, signs_on

from .cases import CORRECTED, DELTA, READINGS, heavy, huber, limits, linear, problem, pulled


def jacobians() -> tuple[list[float], list[float]]:
    """e^jacobian that Algorithm 1 tells in four dimensions, by the rank of a record's Hessian, and how far G moves for
    one output when a sum of gradients moves by 1; and the determinant of the curvature 2 lambda n I with such a record,
    of smoothness 2, over the one without, and 1: linear losses have their minimum at minus their sum and G, over that
    curvature.
    """
    factors, ratios = [], []
    for rank in (1, 2, 3, 4):
        work = linear(Ball(4, 0.5))
        curved = replace(work.constants, smoothness=lambda p: 2.0, hessian_rank=rank)
        plan = ApproximateObjectivePerturbation(lambda_=0.4).schedule(
            replace(problem(work, 0.9), constants=curved), 100
        )
        law, record = plan.releases[0].law, np.diag(2.0 * (np.arange(4) < rank))
        assert isinstance(law, PerturbedObjective)
        others = 2 * 0.4 * 100 * np.eye(4)
        moved = math.sqrt(law.renyi(2.0, 1 / others[0, 0]) - law.jacobian) * law.sigma
        factors += [math.exp(law.jacobian), moved]
        ratios += [float(np.linalg.det(others + record) / np.linalg.det(others)), 1.0]
    return factors, ratios


class Cautious(QuadraticMean):
    """Mean estimation that is told twenty times its smoothness: a bound as well, and steps that are short."""

    @property
    def constants(self) -> Constants:
        own = super().constants
        return replace(own, smoothness=lambda p: 20 * own.smoothness(p))


def quadratic(domain: Domain, inradius: float) -> QuadraticMean:
    """Mean estimation on a set of diameter 1, with records well inside."""
    return QuadraticMean(*signs_on(domain, 0.4 * inradius, 0.5), domain, 0.5, inradius**2)


def cautious(domain: Domain) -> Cautious:
    """The same of `Cautious`."""
    return Cautious(*signs_on(domain, 0.1, 0.5), domain, 0.5, 0.25)


class CautiousLines(LinearMean):
    """Linear losses that are told to have smoothness 1: all curvature is that of the objective, and steps are short."""

    @property
    def constants(self) -> Constants:
        return replace(super().constants, smoothness=lambda p: 1.0)


def without_curvature(gap: float) -> Task:
    """Of such losses, whose minimum lies inside: a step leaves nearly as much as its length and the weight certify."""
    domain = Interval(-0.5, 0.5)
    work, zero = CautiousLines(*signs_on(domain, 1.0, 0.5), domain, 0.5), Fixed(np.zeros((1, 1, 1))).read()
    tilt = np.full((1, 1), -0.02)
    return Task(workload=work, sample=zero, weight=0.1, centre=np.zeros((1, 1)), linear=tilt, gap=gap)


def optimised(context: Context, trials: int, gap: float) -> Iterator[Task]:
    """Tilted mean estimation in four dimensions, with steps that are long and short, and ridges of which some curve the
    objective as much as the losses do: the certificate is close there.
    """
    works = (quadratic(Ball(4, 0.5), 0.25), quadratic(L1Ball(4, 0.5), 0.25), cautious(Ball(4, 0.5)))
    for work, weight in itertools.product(works, (0.2, 2.0)):
        sample = work.draw(context.rng(), trials, 30, means_only=True)
        tilt = context.rng("tilt").normal(size=(trials, 4))
        yield Task(workload=work, sample=sample, weight=weight, centre=np.zeros((1, 4)), linear=tilt, gap=gap)


def next_to_the_end(gap: float) -> Task:
    """Of an interval, whose end is the minimum: the second step ends so close to it that the third one, cut short,
    certifies the end and not the point before it, which is worse by more than the gap.
    """
    work, weight = cautious(Interval(-0.5, 0.5)), 0.2
    curvature, eta = 1 + weight, 1 / (work.constants.smoothness(2.0) + weight)
    missing = 0.9 * eta * math.sqrt(2 * weight * gap)
    slope = (0.5 - missing) * curvature / (1 - (1 - eta * curvature) ** 2)
    zero = Fixed(np.zeros((1, 1, 1))).read()
    tilt = np.full((1, 1), -slope)
    return Task(workload=work, sample=zero, weight=weight, centre=np.zeros((1, 1)), linear=tilt, gap=gap)


def one_long_step() -> Task:
    """Of an interval, from whose middle a step falls short of the minimum by more than the gap, and by nearly as much
    as the square of its length certifies: the length itself, which is larger than 1, is less.
    """
    work, zero = cautious(Interval(-0.5, 0.5)), Fixed(np.zeros((1, 1, 1))).read()
    return Task(workload=work, sample=zero, weight=10.0, centre=np.zeros((1, 1)), linear=np.full((1, 1), -5.0), gap=0.3)


def distant(domain: Domain, inradius: float) -> QuadraticMean:
    """The same with a mean nine tenths of the way to an axis or a corner: there the start breaks the bounds."""
    axis, corner = np.eye(domain.d)[0], np.ones(domain.d)
    ends = [float(domain.support(v)) / v.sum() * v for v in (axis, corner)]
    far = max(ends, key=lambda end: round(float(np.linalg.norm(end)), 9))
    along, size = np.sign(far), np.where(far, far, 0.01 * far.max())
    return QuadraticMean(size, 0.9 * size * along, domain, 0.5, inradius**2)


def around_theorem_1(steep: float) -> tuple[list[Plan], Callable[[], float]]:
    """Algorithm 1 on both sides of the hypotheses of Theorem 1, and of the n of Theorem 2, for losses that are so
    smooth; and the share of epsilon/2 that its Jacobian costs at the edge of lambda.
    """
    work, size, r, just = quadratic(Ball(3, 0.7), 0.7), 4000, 3, 1e-6
    constants = replace(work.constants, smoothness=lambda p: steep, hessian_rank=3)
    at = {"n": size, "H": steep, "L": constants.lipschitz(2.0), "D": 1.4, "r": r, "epsilon": 0.5, "delta": DELTA}
    edge = {name: float(value) for name, value in limits("lp_spaces/thm-1", at).items()}
    least = math.ceil(float(limits("lp_spaces/thm-2", {**at, "d": 3})["n"]))

    def setting(epsilon: float = 0.5, delta: float = DELTA) -> Problem:
        return replace(problem(work, epsilon, delta), constants=constants)

    def of(weight: float | None) -> ApproximateObjectivePerturbation:
        return ApproximateObjectivePerturbation(lambda_=weight, alpha=0.0)

    def spent() -> float:
        plan = of(edge["lambda"] * (1 + 1e-9)).schedule(setting(), size)
        return float(plan.releases[0].law.jacobian / (0.5 / 2))  # type: ignore[attr-defined]

    plans: list[Plan] = [
        ("lambda inside", of(edge["lambda"] * (1 + just)), setting(), size, True),
        ("lambda outside", of(edge["lambda"] * (1 - just)), setting(), size, False),
        ("the lambda of Theorem 2 inside", of(None), setting(), least, True),
        ("the lambda of Theorem 2 outside", of(None), setting(), least - 1, False),
        ("epsilon inside", of(9.0), setting(edge["epsilon"] * (1 - 1e-9)), size, True),
        ("epsilon outside", of(9.0), setting(edge["epsilon"]), size, False),
        ("delta inside", of(9.0), setting(0.5, edge["delta"] * (1 - 1e-9)), size, True),
    ]
    return plans, spent


INRADIUS = {"l2 ball": lambda d: 0.5, "l1 ball": lambda d: 0.5 / math.sqrt(d), "cube": lambda d: 0.5 / math.sqrt(d)}


def replayed(case: Case, data: Array, neighbour: Array, because: str, *, attained: bool = False) -> Verdict:
    """One closed-form pair by replay, next to a certificate of 1, which it may have to attain."""
    seen = case.replay(data, neighbour, 8)
    search, most = Search(), max(float(ratios.max()) for ratios in seen.ratios().values())
    if attained and not most > 1 - 1e-6:
        return differs(f"the pair moves {most:.6g} of a claimed sensitivity, not all of it")
    for name, ratios in seen.ratios().items():
        top = np.array([float(ratios.max())])
        search.offer(data, neighbour, {name: top}, "given")
    return sensitivity.judge(search, certificate=Certificate(1.0, because))


def normal_mass(low: Array, high: Array, sigma: float) -> Array:
    """P(low <= G <= high), both tails kept: the mirrored interval is used right of 0."""
    a, b = np.asarray(low) / sigma, np.asarray(high) / sigma
    flip = a > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    return np.asarray(scipy.special.ndtr(b) - scipy.special.ndtr(a))


def bump_excess(curvature: float, epsilon: float, delta: float) -> Array:
    """P - e^epsilon Q on the bump interval, over widths, positions and slopes of the neighbour, L = smoothness = 1.

    The n - 1 common records and the regulariser have total curvature `curvature` (times the smoothness of a record);
    the changed record of D rises from -A/2 to A/2 + offset over the interval, that of D' is linear with slope c.
    """
    sigma = math.sqrt(128 * math.log(2.5 / delta)) / epsilon
    k, A, c, s = np.meshgrid(
        np.linspace(-6, 6, 49), np.geomspace(0.05, 2.0, 12), [-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0], indexing="ij"
    )
    tilt = s * (1 - A / 2)
    half = A / 2  # width A at smoothness 1
    centre = k * sigma / curvature
    low, high = curvature * (centre - half), curvature * (centre + half)
    inside = normal_mass(low + tilt - A / 2, high + tilt + A / 2, sigma)
    outside = normal_mass(low + c, high + c, sigma)
    return np.asarray(inside - math.exp(epsilon) * outside)


Mechanism = Callable[[Array, Rng, int], Array]


PROMISE = ApproxDP(0.9, 1e-3)


LOW = ApproxDP(0.05, 1e-3)
"""Within the range of Algorithm 4 at 4,096 records."""


def mechanism(algorithm: Algorithm[Any], work: Any, promise: ApproxDP, n: int) -> Mechanism:
    """(data, rng, trials) -> outputs (trials, d)."""
    plan = algorithm.schedule(problem(work, promise.epsilon, promise.delta), n)

    def run(data: Array, rng: Rng, trials: int) -> Array:
        start = np.zeros((1, work.constants.d))
        return algorithm.execute(Run(plan, trials, rng), work, Fixed(np.asarray(data)[None]), start)

    return run


def case(name: str) -> tuple[Algorithm[Any], Any, ApproxDP, Array, Array]:
    """Algorithm, workload, promise and the pair: one record moved from one extreme to the other."""
    if name == "Algorithm 1":
        work = linear(Interval(-100.0, 100.0))
        data = np.ones((20, 1))
        other = data.copy()
        other[0] = -1.0
        return ApproximateObjectivePerturbation(lambda_=0.05, alpha=0.01), work, PROMISE, data, other
    if name in ("Algorithm 3", "phased SGD"):
        data = np.zeros((60, 2))
        data[:, 0] = 1.0
        data[0, -1] = -1e6
        other = data.copy()
        other[0, -1] = 1e6
        algorithm: Algorithm[Any] = (
            HalvingPhasedSGD() if name == "phased SGD" else FullBatchMirrorDescent(steps=7, **CORRECTED)
        )
        return algorithm, huber(1), PROMISE, data, other
    shuffled = name == "Algorithm 4"
    work, n = heavy(3), 4096 if shuffled else 800
    algorithm = ShuffledMirrorDescent(steps=8, threshold=3.0, **CORRECTED) if shuffled else BatchedMirrorDescent()
    promise = LOW if shuffled else PROMISE
    row = algorithm.schedule(problem(work, promise.epsilon, promise.delta), n).phases[0]
    data = np.zeros((n, 3))
    data[0, 0] = 0.95 * row.level
    other = data.copy()
    other[0, 0] *= -1
    return algorithm, work, promise, data, other


TRIALS = {"Algorithm 4": (2000, 10_000), "batched": (10_000, 50_000)}
"""Of the others 20,000 and 100,000; Algorithm 4 tosses a vector for every record."""


def audited(context: Context, name: str) -> Verdict:
    """The verdict of `dp.audit`, and what the accountant certifies of the same run."""
    algorithm, work, promise, data, other = case(name)
    result = dp.audit(
        mechanism(algorithm, work, promise, len(data)),
        data,
        other,
        promise,
        trials=int(context.scale(*TRIALS.get(name, (20_000, 100_000)))),
        failure_probability=context.failure_probability,
        seed=context.seed,
        label=context.label,
        chunk=400,
    )
    verdict = result.verdict()
    verdict.numbers.update(budget.certified(algorithm, problem(work, promise.epsilon, promise.delta), len(data)))
    return verdict


UNSEEN = ("consistent", "undecided")
"""What an audit of a private mechanism may say."""


def inverse_map(y: Array, p: float, exponent: str = "corrected") -> Array:
    """grad Phi*(y) = |y|_r^(2-r) |y|^(r-1) sgn y/kappa, written out; r = kappa, the conjugate of kappa/(kappa - 1), for
    the printed exponent.
    """
    regularity = dual_regularity(p, y.shape[-1])
    printed = min(1 / (p - 1), 2 * math.log(y.shape[-1]))
    r, scale = (printed, printed) if exponent == "paper" else (regularity.r, regularity.kappa)
    size = (np.abs(y) ** r).sum(axis=-1, keepdims=True) ** (1 / r)
    safe = np.where(size > 0, size, 1.0)
    return np.asarray(safe ** (2 - r) * np.abs(y) ** (r - 1) * np.sign(y) / scale)


def perturbation(
    context: Context,
    algorithm: Any,
    work: QuadraticMean,
    records: int,
    settings: Stated,
    known: Mapping[str, float],
) -> Verdict:
    """One run of many trials, from a point off the middle, against the printed lines, at the numbers that claims state,
    given what the algorithm has to say to its bounds, NaN where one is not for it. At alpha = 0 nothing is released
    but the minimiser itself.
    """
    told = algorithm.terms(problem(work, 0.9), records)
    wrong = [name for name, value in known.items() if not np.isclose(told.get(name, math.inf), value, equal_nan=True)]
    if wrong:
        return differs(f"its bounds are told {wrong[0]} = {told.get(wrong[0])}, not {known[wrong[0]]}", "exact")
    radius = work.domain.diameter() / 2
    plan, trials = algorithm.schedule(problem(work, 0.9), records), context.scale(40, 400)
    (row,) = as_stated(algorithm, problem(work, 0.9), records, settings, **AS_LETTERS).phases
    lambda_, alpha, rows = row.lambda_, row.alpha, work.rows(context.rng("data"), trials, records)
    run = Run[Any](plan, trials, context.rng("run"))
    start = 0.4 * radius * np.array([[0.6, 0.0, -0.8]])  # neither the middle of the domain nor of the regulariser
    out = algorithm.execute(run, work, Fixed(rows), start)
    (G,), mean = run.transcript.coins, rows.mean(axis=1)

    def project(w: Array) -> Array:
        return np.asarray(w * np.minimum(1.0, radius / np.linalg.norm(w, axis=1, keepdims=True)))

    def objective(w: Array) -> Array:
        return np.asarray(
            ((w - mean) ** 2).sum(axis=1) / 2 + (G * w).sum(axis=1) / records + lambda_ * (w**2).sum(axis=1)
        )

    # The losses have curvature 1, which is part of what is stated of the objective where their modulus is given.
    best = project((mean - G / records) / (row.curvature + (0 if "modulus" in vars(row) else 1)))
    released = run.transcript.entries
    if len(released) != 1 + (alpha > 0):
        return differs(f"there are {len(released)} releases, and alpha = {alpha:.6g} is stated", "exact")
    minimiser = released[-1]
    gap = objective(minimiser.core) - objective(best)
    rounding = 16 * np.finfo(float).eps * (1 + np.abs(objective(best)).max())
    if gap.max() > alpha * (1 + 1e-6) + rounding or gap.min() < -rounding:
        return differs(f"the optimiser is off by {gap.max():.6g}, alpha = {alpha:.6g}", "exact")
    law = scipy.stats.chi2(G.size)
    second = [("H", minimiser.output - minimiser.core, row.sigma_2)] if alpha > 0 else []
    for name, noise, sigma in [("G", G, row.sigma_1), *second]:
        at = float(law.cdf((noise**2).sum() / sigma**2))
        if len(np.unique(noise)) < noise.size or min(at, 1 - at) < context.failure_probability / 4:
            return differs(
                f"{name} is drawn twice, or not with the variance {sigma**2:.6g}: its sum of squares is at {at:.2g}"
            )
    return combine(
        [
            agree((released[0].core + 1).ravel(), (best + 1).ravel(), "1 + theta_1"),
            agree((out + 1).ravel(), (project(minimiser.output) + 1).ravel(), "1 + the projected output"),
        ]
    )


OF_ALGORITHM_3 = {
    "steps": "lp_spaces/alg-3@steps",
    "alpha": "lp_spaces/alg-3@alpha",
    "growth": "lp_spaces/alg-3@growth",
    "gradients": "lp_spaces/alg-3@gradients",
    "distance": "lp_spaces/alg-3@distance",
    "kappa": "lp_spaces/alg-3@corrected-kappa",
}
READINGS_OF_ALGORITHM_3 = {
    "as printed": {**OF_ALGORITHM_3, "kappa": "lp_spaces/def-3@literal", "sigma": "lp_spaces/alg-3"},
    "corrected": {**OF_ALGORITHM_3, "sigma": "lp_spaces/alg-3@corrected"},
    "two-beta": {
        **OF_ALGORITHM_3,
        "sigma": "lp_spaces/alg-3@corrected",
        "distance": "lp_spaces/alg-3@two-beta-distance",
    },
}
SQUARED: dict[str, Any] = {"symbols": {"steps": "T"}, "powers": {"sigma": 2}}
"""Their letters, and what is stated as a variance."""


def descent_lines(context: Context, p: float, step: str, reading: str) -> Verdict:
    """grad Phi(w_{t+1}) = (b grad Phi(w_t) - g_t)/(b + alpha) from the released g_t, b = beta or 2 beta: its gradients
    are those of the w_t, its output their average with weights a^t, at the b, alpha and a that are stated.
    """
    work, size, steps, trials = huber(3), 400, 12, context.scale(20, 200)
    algorithm = FullBatchMirrorDescent(p=p, steps=steps, step=step, **READINGS[reading])  # type: ignore[arg-type]
    beta, steepest = 2.0, 3.0  # what is told need not be the least; at 1 a factor would be no other than its inverse
    given = {"smoothness": lambda p: beta, "lipschitz": lambda p: steepest}
    told = replace(problem(work, 0.9), constants=replace(work.constants, **given))
    stated = READINGS_OF_ALGORITHM_3[
        "two-beta" if step == "two-beta" else "corrected" if reading == "corrected" else "as printed"
    ]
    settings = {name: label for name, label in stated.items() if name != "steps"}
    plan = algorithm.schedule(told, size)
    (row,) = as_stated(algorithm, told, size, settings, **SQUARED).phases
    run, rows = Run[Any](plan, trials, context.rng("run")), work.rows(context.rng("data"), 1, size)
    out = algorithm.execute(run, work, Fixed(rows), np.zeros((1, 3)))
    y, w, total, weights, cores = np.zeros((trials, 3)), np.zeros((trials, 3)), 0.0, 0.0, []
    for t, entry in enumerate(run.transcript.entries, start=1):
        cores.append(work.gradient(w[:, None], rows).mean(axis=1))
        y = (row.distance * y - entry.output) / (row.distance + row.alpha)
        w = inverse_map(y, p, reading)
        total, weights = total + row.growth**t * w, weights + row.growth**t
    released = np.stack([entry.core for entry in run.transcript.entries])
    return combine(
        [
            agree([plan.releases[0].law.noise], [row.sigma], "noise"),  # type: ignore[attr-defined]
            agree(released.ravel() + 1, np.stack(cores).ravel() + 1, "1 + mean gradients", 1e-8),
            agree(out.ravel() + 1, (total / weights).ravel() + 1, "1 + weighted average", 1e-8),
        ]
    )


def geometry_of(instance: HardInstance, body: str, rng: Rng) -> list[Fact]:
    """What Theorem 5 asks of its hard instance, over the drawn directions, the axes and the corners."""
    records, d = instance.records, instance.domain.d
    u = rng.standard_normal((500, d))
    u = np.concatenate([u, np.eye(d), np.sign(u), -records])
    closest = float((instance.domain.support(u) / np.linalg.norm(u, axis=1)).min())
    # theta - x, largest at an extreme point theta: those in the directions tried, the opposites of the records among
    # them.
    ends = np.array([instance.domain.support_point(each) for each in u])
    steepest = float(np.linalg.norm(ends[:, None] - records[None], axis=-1).max())
    hidden = np.isfinite(instance.probabilities)
    signs = {"cross-polytope": math.ceil(math.log(d)), "ellipsoid": math.ceil(d / 4)}.get(body, d)
    inside, beyond = (instance.domain.contains(size * records, 1e-12) for size in (1, 1 + 1e-6))
    axes = 4 * np.arange(1, d + 1) * instance.domain.support(np.eye(d)) ** 2 if body == "ellipsoid" else np.ones(d)
    return [
        Fact("share of records in the body", Fraction(int(inside.sum()), len(records)), "=", 1),
        Fact("share of them inside of its boundary", Fraction(int(beyond.sum()), len(records)), "=", 0),
        Fact("coordinates with a hidden sign", int(hidden.sum()), "=", signs),
        Fact(
            "4j times the square of half-axis j, where it is off most", 1 + float(np.abs(axes - 1).max()), "=", 1, 1e-9
        ),
        Fact("records elsewhere", int((records[:, ~hidden] != 0).sum()), "=", 0),
        Fact("diameter", instance.domain.diameter(), "=", 1, 1e-9),
        Fact("largest gradient norm", steepest, "<=", 1, 1e-9),
        Fact("distance of 0 to the closest supporting plane tried", closest, "=", instance.inradius, 1e-9),
    ]


def antipodal(size: int, dimension: int, level: float) -> tuple[Array, Array]:
    """Gradients just below the threshold, of opposite sign."""
    data = np.zeros((1, size, dimension))
    data[0, 0, 0] = 0.95 * level
    neighbour = data.copy()
    neighbour[0, 0, 0] = -0.95 * level
    return data, neighbour


def steep(d: int, p: float = 1.5) -> HeavyCoordinates:
    """Student t gradients around a minimiser at 0.9 of the radius: the start 0 is far from it."""
    return HeavyCoordinates(np.full(d, 0.9 * d ** (-1 / p)), radius=1.0, s=p, smoothness=0.5)


def far_pair(size: int, dimension: int, direction: Array | None = None) -> tuple[Array, Array]:
    """Equal records, one moved from far right to far left: gradients plus and minus the direction, by default e_1."""
    data = np.zeros((1, size, dimension + 1))
    data[..., :-1] = np.eye(dimension)[0] if direction is None else direction
    data[0, 0, -1] = -1e6
    neighbour = data.copy()
    neighbour[0, 0, -1] = 1e6
    return data, neighbour


def of_some_rank(rng: Rng) -> tuple[Problem, int]:
    """A drawn problem whose Hessians have a rank, up to their dimension."""
    told, n = drawn(n=(2.0**24, 2.0**44), d=(1, 60))(rng)
    rank = int(rng.integers(1, told.constants.d + 1))
    return replace(told, constants=replace(told.constants, hessian_rank=rank, extra={"rank": rank})), n


AS_LETTERS: dict[str, Any] = {
    "symbols": {"lambda_": "lambda", "rank": "r", "modulus": "mu"},
    "powers": {"sigma_1": 2},
}
OF_PERTURBATIONS: dict[str, Any] = {
    **AS_LETTERS,
    "beside": {"records": "all of the data", "modulus": "given"},
}


WHERE_THE_MEAN_LEADS: Mapping[str, Mutant] = {
    "λ of Algorithm 1": functools.partial(pulled, power=0.5),
    "λ of Algorithm 1 times n^(1/8)": functools.partial(pulled, power=0.375),
}
"""Noise times n^(1/8) is not told apart there: it stays below the error of the mean."""
