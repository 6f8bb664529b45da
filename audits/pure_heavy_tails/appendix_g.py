"""Appendix G: hard instances, their reductions and decoders, and the lower bounds on mean estimation."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import sympy as sp

from dpcheck.algorithms.pure_heavy_tails import Constant
from dpcheck.algorithms.pure_heavy_tails.hard_instances import (
    bounded_pair,
    decoding_error,
    mean_from_point,
    nearest,
    packed_laws,
    packing,
    separation,
    spike_probability,
)
from dpcheck.checks import Context, by_size, check
from dpcheck.harness import accuracy, domain, lower_bound, optimal_tests
from dpcheck.harness.hard_instances import FiniteLaw, as_mpf, closest_pair, exactly
from dpcheck.harness.lower_bound import Fact
from dpcheck.interfaces import Array
from dpcheck.symbols import BY_NAME, D, G_k, beta, d, k, p, zeta
from dpcheck.verdicts import Point, Verdict, combine, holds, refuted
from dpcheck.workloads.linear import RareSpikes, TwoPoint
from dpcheck.workloads.mean import HeavyMean
from dpcheck.workloads.median import WeightedMedian
from dpcheck.workloads.radial import RadialHeavyTail

from ._exponential import order_of
from ._hard import decode_with, private_decoder_error, solvers
from ._instances import problem, proved, stated, witnessed

ZETAS = (0.25, 0.1, 0.01, 1e-4)
ROOT = 1e-12
"""Relative: what float64 instances may be off by where their constants are roots and logarithms."""

# Risks, reduction, decoder -----------------------------------------------------------------------------------------


@check("pure_heavy_tails/def-g-risk", kind="lower-bound")
def quantile_of_finite_laws(context: Context) -> Verdict:
    """inf{r >= 0: Pr(error > r) <= zeta} on finite laws: it is attained, and at least r whenever Pr(error >= r) > zeta."""
    rng, wrong, count = context.rng("laws"), 0, context.scale(200, 5000)
    for _ in range(count):
        size = int(rng.integers(1, 7))
        atoms = [Fraction(int(v), 4) for v in rng.integers(0, 9, size)]
        weights = [Fraction(int(v)) for v in rng.integers(1, 9, size)]
        total = sum(weights)
        level = Fraction(int(rng.integers(1, 26)), 100)

        def above(r: Fraction, strict: bool = True) -> Fraction:
            chosen = [w for a, w in zip(atoms, weights, strict=True) if (a > r if strict else a >= r)]  # noqa: B023
            return sum(chosen, Fraction(0)) / total  # noqa: B023

        risk = min(r for r in (Fraction(0), *atoms) if above(r) <= level)
        below = [r for r in (Fraction(0), *atoms) if r < risk]
        attained = above(risk) <= level and all(above(r) > level for r in below)
        reached = all(risk >= r for r in atoms if above(r, strict=False) > level)
        wrong += not (attained and reached)
    return lower_bound.verdict([Fact("finite laws on which the definition is not attained", wrong, "=", 0)])


def _planar(count: int) -> tuple[Array, Array, Array]:
    """(cosine of the angle between mu and A, |A| over D/2, ratio of |mu^ - mu|^2 to (m/D) excess), m = D = 1."""
    cosine, length = np.meshgrid(np.linspace(-1, 1, count), np.geomspace(1e-4, 1, count))
    m_, width = 1.0, 1.0
    excess = m_ * cosine * length * width / 2 + width * m_ / 2
    error = 2 * m_**2 * (1 + cosine)
    kept = excess > 1e-12
    return cosine[kept], length[kept], (error[kept] / excess[kept]) * width / m_


@check("pure_heavy_tails/lem-g-1", kind="lower-bound")
def reduction_to_mean_estimation(context: Context) -> Verdict:
    """|mu^_A - mu|^2 <= (8m/D) excess on random points of balls, d = 1 to 5; 8 is approached, 4 where A points away."""
    cosine, _, ratio = _planar(context.scale(301, 2001))
    left, right = [float(ratio.max())], [8.0]
    for dim in range(1, 6):
        rng = context.rng("points", dim)
        work = TwoPoint(D=3.0, G=2.0, rho=0.35, dimension=dim)
        w = rng.normal(size=(context.scale(2000, 20_000), dim))
        w *= 1.5 * rng.random((len(w), 1)) ** rng.choice([0.3, 3.0]) / np.linalg.norm(w, axis=1, keepdims=True)
        size = float(np.linalg.norm(work.mean))
        error = ((mean_from_point(w, size) - work.mean) ** 2).sum(axis=1)
        left += list(error)
        right += list(work.excess_risk(w) / stated("pure_heavy_tails/lem-g-1", D=3.0, mu=size))
    found = accuracy.never_violated(
        left, right, statement="squared error <= (8m/D) excess",
        covers="both sides depend on the angle and |A| alone: a grid of them, and random points; two cases prove it",
        evidence="certificate",
    )  # fmt: skip
    aligned = float(ratio[cosine <= 0].max())
    facts = [
        Fact("largest ratio on the plane's grid", float(ratio.max()), "<=", 8, ROOT),
        Fact("how close to 8 it comes", float(ratio.max()), ">", 7.99),
        Fact("largest ratio where A points away from mu", aligned, "<=", 4, 1e-9),
        Fact("violations on random points", int(found.numbers["violations"]), "=", 0),
    ]
    return lower_bound.verdict(facts)


@check("pure_heavy_tails/lem-g-1@literal", kind="lower-bound", expect="refuted")
def display_of_the_proof(context: Context) -> Verdict:
    """The display fails for half of the points of the ball: all that lie on the wrong side, inside the ball."""
    work = TwoPoint(D=2.0, G=1.0, rho=1.0, dimension=1)
    w = np.concatenate([[0.25], context.rng("points").uniform(-1, 1, context.scale(1000, 10_000))])[:, None]
    printed = 1.0 * (1 + np.sign(w[:, 0]))  # (Dm/2)(1 - <u, -A/|A|>), u = m = 1, D = 2
    excess = work.excess_risk(w)
    numbers = {"share of points": float((excess < printed - 1e-9).mean()), "instances": len(w)}
    witness = witnessed(
        "pure_heavy_tails/lem-g-1@literal", "lem_g_1_display", float(printed[0]), float(excess[0]),
        mean=[1], point=["1/4"], D=2,
    )  # fmt: skip
    if excess[0] >= printed[0]:
        return holds("the display holds at A = 1/4", "exact", numbers=numbers)
    said = f"excess {excess[0]:g} at A = 1/4, at least {printed[0]:g} printed; so for {numbers['share of points']:.3g} of points"
    return refuted(said, "exact", numbers=numbers, witness=witness)


@check("pure_heavy_tails/proc-mean-reduction", kind="lower-bound")
def mean_reduction(context: Context) -> Verdict:
    """-m A/|A| has length m and the direction opposite to A; A = 0 gives m e_1."""
    w = np.concatenate([context.rng("points").normal(size=(200, 4)), np.zeros((1, 4))])
    found = mean_from_point(w, 0.7)
    length = np.abs(np.linalg.norm(found, axis=1) - 0.7).max()
    against = np.abs((found[:200] * w[:200]).sum(axis=1) + 0.7 * np.linalg.norm(w[:200], axis=1)).max()
    facts = [
        Fact("largest error of the length", float(length), "<=", 1e-12),
        Fact("largest error of the direction", float(against), "<=", 1e-12),
        Fact("distance from m e_1 at A = 0", float(np.abs(found[-1] - 0.7 * np.eye(4)[0]).max()), "=", 0),
    ]
    return lower_bound.verdict(facts)


def _decoded(context: Context, dim: int) -> list[Fact]:
    """Estimates within r of a point of a packing that is more than 2r apart are decoded to it."""
    rng = context.rng("estimates", dim)
    V = packing(dim, rng)
    r = separation(V) / 2 * (1 - 1e-9)
    truth = rng.integers(len(V), size=context.scale(500, 5000))
    step = rng.normal(size=(len(truth), dim))
    step *= r * rng.random((len(truth), 1)) ** 0.1 / np.linalg.norm(step, axis=1, keepdims=True)
    # Towards the nearest other point of the packing is where it could go wrong.
    gaps = np.linalg.norm(V[:, None] - V[None], axis=2) + 10 * np.eye(len(V))
    other = V[gaps.argmin(axis=1)][truth]
    straight = r * (other - V[truth]) / np.linalg.norm(other - V[truth], axis=1, keepdims=True)
    wrong = int((nearest(V[truth] + step, V) != truth).sum() + (nearest(V[truth] + straight, V) != truth).sum())
    return [Fact(f"decoding errors within r, d = {dim}", wrong, "=", 0)]


@check("pure_heavy_tails/lem-g-3", kind="lower-bound")
def estimation_decodes(context: Context) -> Verdict:
    """Estimates within half of the separation are decoded without error, so that errors are at most zeta on average."""
    return lower_bound.verdict([fact for dim in (1, 2, 3, 5) for fact in _decoded(context, dim)])


@check("pure_heavy_tails/proc-nn-decoder", kind="lower-bound")
def decoder_and_its_ties(context: Context) -> Verdict:
    """The decoder returns the index of a nearest mean, the smallest index at ties, as a second implementation does."""
    rng = context.rng("points")
    means, estimates = rng.normal(size=(9, 3)), rng.normal(size=(400, 3))
    mine = nearest(estimates, means)
    plain = [min(range(9), key=lambda i: (float(((e - means[i]) ** 2).sum()), i)) for e in estimates]
    ties = nearest(np.zeros((1, 2)), np.array([[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]]))
    errors, trials = optimal_tests.decoding_error(means[[0, 4]], np.array([0, 4]), means)
    facts = [
        Fact("disagreements with a plain loop", int((mine != np.array(plain)).sum()), "=", 0),
        Fact("index chosen among three at one distance", int(ties[0]), "=", 0),
        Fact("errors on the means themselves", errors, "=", 0),
    ]
    return lower_bound.verdict([*facts, Fact("means that were decoded", trials, "=", 2)])


# Two-point laws ------------------------------------------------------------------------------------------------------


@check("pure_heavy_tails/proc-hard-bdd", kind="lower-bound")
def bounded_laws(context: Context) -> Verdict:
    """P_+ and P_- have E|z|^2 = G_2^2, means +-rho G_2, the KL of the claim, at most 4 rho^2, and n KL within its budget."""
    facts = []
    for n, level in itertools.product((1, 10, 1000, 10**6), ZETAS):
        plus, minus = bounded_pair(n, level, G_2=1.5)
        laws = [
            FiniteLaw(tuple(map(tuple, w.atoms.tolist())), tuple(exactly([w.probabilities])[0])) for w in (plus, minus)
        ]
        rho = plus.rho
        kl = laws[0].kl(laws[1])
        where = f"n = {n}, zeta = {level:g}"
        facts += [
            Fact(f"second moment, {where}", laws[0].moment(2), "=", mpmath.mpf(1.5) ** 2, ROOT),
            Fact(f"mean, {where}", laws[0].mean()[0], "=", rho * 1.5, ROOT),
            Fact(f"mean of the other, {where}", laws[1].mean()[0], "=", -rho * 1.5, ROOT),
            Fact(f"KL, {where}", kl, "=", stated("pure_heavy_tails/proc-hard-bdd", rho=rho), 1e-9),
            Fact(f"KL over rho^2, {where}", kl / mpmath.mpf(rho) ** 2, "<=", 4),
            Fact(f"n KL, {where}", n * kl, "<=", math.log(1 / (4 * level * (1 - level))), 1e-9),
        ]
    return lower_bound.verdict(facts)


@check("pure_heavy_tails/fact-mvs24", kind="lower-bound")
def best_tests_err(context: Context) -> Verdict:
    """With KL = log(1/(4 zeta (1 - zeta))) the best test between Bernoulli samples errs with probability zeta at least."""
    rng, left, right = context.rng("pairs"), [], []
    for _ in range(context.scale(100, 1000)):
        size = int(np.exp(rng.uniform(0, math.log(3000))))
        a = rng.uniform(0.02, 0.98)
        b = float(np.clip(a + rng.choice([-1, 1]) * rng.uniform(0.01, 0.5) / math.sqrt(size), 0.01, 0.99))
        kl = size * (a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b)))
        left.append(0.5 * (1 - math.sqrt(-math.expm1(-kl))))  # the zeta of that budget
        right.append(optimal_tests.two_point_error(size, a, b))
    found = accuracy.never_violated(left, right, statement="zeta <= average error of the best test")
    closest = max(x / y for x, y in zip(left, right, strict=True))
    facts = [
        Fact("pairs of laws that break it", int(found.numbers["violations"]), "=", 0),
        Fact("largest zeta over the error", closest, "<=", 1, 1e-9),
    ]
    return lower_bound.verdict(facts)


def _two_point_facts() -> tuple[list[Fact], list[Point]]:
    facts, points = [], []
    sizes = sorted({1, 2, 3, 5, 10, *np.unique(np.geomspace(10, 5000, 14).astype(int)).tolist()})
    for level in ZETAS:
        worst = math.inf
        for size in sizes:
            rho = bounded_pair(size, level)[0].rho
            error = optimal_tests.two_point_error(size, (1 + rho) / 2, (1 - rho) / 2)
            worst = min(worst, error / level)
            points.append(Point(x=size, value=error, bound=level, series=f"zeta = {level:g}"))
        facts.append(Fact(f"least error of the best test over zeta = {level:g}, n to 5,000", worst, ">=", 1, ROOT))
    return facts, points


@check("pure_heavy_tails/prop-g-2", kind="lower-bound")
def majority_test_errs(context: Context) -> Verdict:
    """The exact error of the best test between P_+ and P_- is at least zeta, and an error below rho G_2 would decide."""
    facts, points = _two_point_facts()
    order, constant = order_of("pure_heavy_tails/prop-g-2"), math.log(4 / 3) / (4 * math.log(4))
    for size, level in itertools.product((1, 100, 10**4), ZETAS):
        value = float(order.subs({BY_NAME["n"]: size, zeta: level, BY_NAME["G_2"]: 1}))
        rho = bounded_pair(size, level)[0].rho
        facts.append(
            Fact(f"(rho G_2)^2 over the order, n = {size}, zeta = {level:g}", rho**2 / value, "=", constant, 1e-9)
        )
    answer = lower_bound.verdict(facts)
    return _drawn(answer, points, "n", "error of the best test")


def _drawn(answer: Verdict, points: list[Point], x: str, y: str) -> Verdict:
    return replace(answer, points=points, axes=(x, y))


@check("pure_heavy_tails/prop-g-2", kind="symbolic")
def constant_of_the_bias(context: Context) -> Verdict:
    """4 c_0^2 log(1/zeta) <= log(1/(4 zeta (1 - zeta))) for zeta in (1e-6, 1/4], with equality at 1/4: c_0^2 cannot grow."""
    share = sp.log(sp.Rational(4, 3)) / sp.log(4)
    gap = -share * sp.log(zeta) + sp.log(4) + sp.log(zeta) + sp.log(1 - zeta)
    low = domain.never_positive(gap, {"zeta": ("1/1000000", "1/5")}, statement="the gap on (1e-6, 1/5]")
    rising = domain.never_positive(-sp.diff(gap, zeta), {"zeta": ("1/5", "1/4")}, statement="it rises on [1/5, 1/4]")
    return combine([low, rising, proved({"equality at 1/4": gap.subs(zeta, sp.Rational(1, 4))})])


@check("pure_heavy_tails/prop-g-2@derived", kind="lower-bound")
def two_point_bound(context: Context) -> Verdict:
    """c = log(4/3)/(4 log 4): (rho G_2)^2 is the bound, and the exact error of the best test is at least zeta."""
    facts, points = _two_point_facts()
    for size, level in itertools.product((1, 7, 5000), ZETAS):
        bound = stated("pure_heavy_tails/prop-g-2@derived", G_2=2.0, n=size, zeta=level)
        rho = bounded_pair(size, level, G_2=2.0)[0].rho
        facts.append(
            Fact(f"(rho G_2)^2 over the bound, n = {size}, zeta = {level:g}", (2 * rho) ** 2 / bound, "=", 1, 1e-9)
        )
    return _drawn(lower_bound.verdict(facts), points, "n", "error of the best test")


# Packings ------------------------------------------------------------------------------------------------------------


@check(
    "pure_heavy_tails/proc-hard-pack", kind="lower-bound", grid={"d": by_size([1, 2, 4, 6], [1, 2, 3, 4, 5, 6, 7, 8])}
)
def packed_instances(context: Context, *, d: int) -> Verdict:
    """2^d unit vectors at mutual distance 1/2, in exact arithmetic, and laws with the moments and means of the claim."""
    V = packing(d, context.rng("packing"))
    squared, _, _ = closest_pair(V)
    norms = [sum((x * x for x in row), Fraction(0)) for row in exactly(V)]
    facts = [
        Fact("points", len(V), ">=", 2**d),
        Fact("squared separation", squared, ">=", Fraction(1, 4)),
        Fact("largest squared norm", max(norms), "=", 1, 1e-12),
        Fact("least squared norm", min(norms), "=", 1, 1e-12),
    ]
    for order, level in itertools.product((2.0, 3.5), (0.01,) if d == 1 else (0.01, 0.1)):
        laws = packed_laws(V, 400, 0.2, level, k=order, G_k=1.3)
        law = laws[len(laws) // 2]
        finite = FiniteLaw(tuple(map(tuple, law.atoms.tolist())), tuple(exactly([law.probabilities])[0]))
        size = stated("pure_heavy_tails/proc-hard-pack", G_k=1.3, p=law.p, k=order)
        with mpmath.workdps(50):
            mean = mpmath.sqrt(mpmath.fsum(as_mpf(x) ** 2 for x in finite.mean()))
        facts += [
            Fact(f"E|z|^k, k = {order}, zeta = {level}", finite.moment(order), "=", 1.3**order, 1e-9),
            Fact(f"|mean|, k = {order}, zeta = {level}", mean, "=", size, 1e-9),
            Fact(
                f"own G_2, k = {order}, zeta = {level}",
                law.constants.moment(2.0, 1),
                "=",
                1.3 * law.p ** (0.5 - 1 / order),
                1e-9,
            ),
        ]
    return lower_bound.verdict(facts)


def _decoding_grid() -> list[tuple[int, int, float, float]]:
    """(|V|, n, epsilon, zeta) with |V| - 1 > 4 e zeta."""
    grid = itertools.product((4, 5, 16, 256), (10, 100, 3000), (0.02, 0.2, 1.0), ZETAS)
    return [row for row in grid if row[0] - 1 > 4 * math.e * row[3]]


@check("pure_heavy_tails/fact-bd14", kind="lower-bound")
def decoders_err(context: Context) -> Verdict:
    """The exact error of epsilon-DP decoders of counts is above q/(2(1+q)); a decoder without privacy falls below it."""
    facts, points, beaten = [], [], 0
    for size, n, eps, level in _decoding_grid():
        chance = spike_probability(size, n, eps, level)
        bound = stated("pure_heavy_tails/fact-bd14", V=size, epsilon=eps, n=n, p=chance)
        mine = float(optimal_tests.packing_error(size, eps, math.ceil(n * chance * (1 - 1e-12))))
        private = private_decoder_error(size, n, eps, chance)
        where = f"|V| = {size}, n = {n}, epsilon = {eps:g}, zeta = {level:g}"
        facts.append(Fact(f"error of the exponential mechanism, {where}", private, ">=", bound))
        facts.append(
            Fact(f"bound of the implementation, {where}", decoding_error(size, n, eps, chance), "=", mine, 1e-9)
        )
        open_ = (1 - chance) ** n * (1 - 1 / size)
        beaten += open_ < bound
        if size == 16 and level == 0.1:
            points.append(Point(x=n, value=private, bound=bound, series=f"epsilon = {eps:g}"))
            points.append(Point(x=n, value=open_, bound=bound, series=f"without privacy, epsilon = {eps:g}"))
    facts.append(Fact("settings in which the decoder without privacy is below the bound", beaten, ">", 0))
    return _drawn(lower_bound.verdict(facts), points, "n", "average decoding error")


@check("pure_heavy_tails/fact-bd14", kind="lower-bound", grid={"d": (1, 2, 4), "solver": ("single", "second")})
def algorithms_decode(context: Context, *, d: int, solver: str) -> Verdict:
    """This paper's algorithms as decoders, through mean estimation and the nearest neighbour, against q/(2(1+q))."""
    n, eps, level = 200, 0.1, 0.02
    name = list(solvers(d))[("single", "second").index(solver)]
    V = packing(d, context.rng("packing"))
    laws = packed_laws(V, n, eps, level)
    wrong, trials = decode_with(context, name, laws, n, eps, context.scale(40, 400))
    bound = stated("pure_heavy_tails/fact-bd14", V=len(V), epsilon=eps, n=n, p=laws[0].p)
    tried = lower_bound.must_exceed(
        {"average": (wrong, trials)}, bound, context.failure_probability, who=f"the {name} solver as a decoder"
    )
    facts = [Fact("bound", bound, ">=", level)]
    answer = lower_bound.verdict(facts, [tried])
    point = Point(x=d, value=wrong / trials, bound=bound, series=name)
    return _drawn(answer, [point], "d", "average decoding error")


@check("pure_heavy_tails/prop-g-4", kind="symbolic")
def spikes_cost_too_much(context: Context) -> Verdict:
    """With np epsilon = log((V-1)/(4e zeta)) and one more record, q >= 4 zeta e^(1-epsilon) and q/(2(1+q)) >= zeta."""
    V, extra = sp.Symbol("V", positive=True), sp.Symbol("s", nonnegative=True)
    q = (V - 1) * sp.exp(-sp.log((V - 1) / (4 * sp.E * zeta)) - BY_NAME["epsilon"])
    # q = 4 zeta (1 + s) with zeta = 1/4 - r: q/(2(1+q)) - zeta = zeta (1 - 4 zeta + 2 s - ... )/(...) >= 0.
    r = sp.Symbol("r", nonnegative=True)
    level = sp.Rational(1, 4) - r
    gap = sp.numer(sp.together(4 * zeta * (1 + extra) - 2 * zeta * (1 + 4 * zeta * (1 + extra))))
    return proved(
        {"q at one record more": q / (4 * zeta * sp.exp(1 - BY_NAME["epsilon"])) - 1},
        {"q/(2(1+q)) - zeta, per 2 zeta": sp.expand((gap / (2 * zeta)).subs(zeta, level))},
    )


def _packing_facts(context: Context) -> list[Fact]:
    """Error at least zeta, and what is left of d + log(1/zeta) in the logarithm, for sphere packings and five points."""
    facts = []
    for size, n, eps, level in _decoding_grid():
        chance = spike_probability(size, n, eps, level)
        error = optimal_tests.packing_error(size, eps, math.ceil(n * chance * (1 - 1e-12)))
        facts.append(
            Fact(
                f"forced error over zeta, |V| = {size}, n = {n}, epsilon = {eps:g}, zeta = {level:g}",
                error / level,
                ">=",
                1,
                1e-9,
            )
        )
    tails = np.concatenate([np.geomspace(1e-12, 0.25, 200), [0.25]])
    for name, pairs, constant in (
        ("d >= 2, 2^d points", [(dim, 2.0**dim) for dim in range(2, 200)], 0.0291),
        ("d = 1, five points", [(1, 5.0)], 0.161),
    ):
        least = min(
            float((np.log((size - 1) / (4 * math.e * tails)) / (dim + np.log(1 / tails))).min()) for dim, size in pairs
        )
        facts.append(Fact(f"least share of d + log(1/zeta), {name}", least, ">=", constant))
    V = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])[:, None]
    facts.append(Fact("squared separation of five points", closest_pair(V)[0], "=", Fraction(1, 4)))
    return facts


@check("pure_heavy_tails/prop-g-4", kind="lower-bound")
def forced_decoding_error(context: Context) -> Verdict:
    """Every epsilon-DP decoder errs with probability zeta on the packing, whose logarithm is c (d + log(1/zeta)), c = 0.0291."""
    return lower_bound.verdict(_packing_facts(context))


@check("pure_heavy_tails/prop-g-4@literal", kind="symbolic", expect="refuted")
def logarithm_of_two_points(context: Context) -> Verdict:
    """With |V| = 2, d = 1 and zeta = 1/4 the logarithm is log(1/e) = -1."""
    value = sp.log(sp.Integer(2 - 1) / (4 * sp.E * sp.Rational(1, 4)))
    found = float(sp.simplify(value))
    negative = 1 / (4 * math.e)
    numbers = {"value at zeta = 1/4": found, "negative above zeta": negative}
    witness = witnessed("pure_heavy_tails/prop-g-4@literal", "prop_g_4_inequality", "0", found, size=2, d=1, zeta="1/4")
    if found > 0:
        return holds(f"the logarithm is {found:g}", "exact", numbers=numbers)
    said = f"log((|V| - 1)/(4 e zeta)) = {found:g} at |V| = 2, d = 1, zeta = 1/4; negative for zeta > {negative:.3g}"
    return refuted(said, "exact", numbers=numbers, witness=witness)


@check("pure_heavy_tails/prop-g-4@derived", kind="symbolic")
def quarter_of_the_separation(context: Context) -> Verdict:
    """Separation |mean|/2 leaves r = |mean|/4, whose square is G_k^2 p^(2-2/k)/16."""
    radius = G_k * p ** (1 - 1 / k) / 4
    return proved({"r^2": radius**2 / (G_k**2 * p ** (2 - 2 / k) / 16) - 1})


@check("pure_heavy_tails/prop-g-4@derived", kind="lower-bound")
def packing_bound(context: Context) -> Verdict:
    """The bound is the square of a quarter of the mean's length, p as in the instance; the forced error is at least zeta."""
    facts = _packing_facts(context)
    for dim, n, eps, level, order in itertools.product((2, 5), (50, 5000), (0.1, 1.0), (0.25, 0.01), (2.0, 4.0)):
        chance = spike_probability(2**dim, n, eps, level)
        bound = stated("pure_heavy_tails/prop-g-4@derived", G_k=1.0, d=dim, n=n, epsilon=eps, zeta=level, k=order)
        where = f"d = {dim}, n = {n}, epsilon = {eps:g}, zeta = {level:g}, k = {order:g}"
        facts.append(
            Fact(f"(|mean|/4)^2 over the bound, {where}", (chance ** (1 - 1 / order) / 4) ** 2 / bound, "=", 1, 1e-9)
        )
    return lower_bound.verdict(facts)


@check("pure_heavy_tails/thm-g-5", kind="symbolic")
def larger_is_half_of_the_sum(context: Context) -> Verdict:
    """Theorem G.5 is the sum of Propositions G.2 and G.4, and the larger of two numbers is at least half of their sum."""
    both = order_of("pure_heavy_tails/prop-g-2") + order_of("pure_heavy_tails/prop-g-4")
    a, excess = sp.Symbol("a", positive=True), sp.Symbol("s", nonnegative=True)
    return proved(
        {"orders": order_of("pure_heavy_tails/thm-g-5") - both},
        {"max - half the sum": (a + excess) - (2 * a + excess) / 2},
    )


def _combined_facts(label: str) -> list[Fact]:
    facts = []
    order = order_of("pure_heavy_tails/thm-g-5")
    for dim, n, eps, level, growth in itertools.product((2, 6), (10, 10**4), (0.1, 1.0), (0.25, 1e-3), (1.0, 30.0)):
        given = {"G_2": 1.0, "G_k": growth, "d": dim, "n": n, "epsilon": eps, "zeta": level, "k": 3.0}
        bound = stated("pure_heavy_tails/thm-g-5@derived", **given)
        two = stated("pure_heavy_tails/prop-g-2@derived", G_2=1.0, n=n, zeta=level)
        pack = stated("pure_heavy_tails/prop-g-4@derived", **{key: v for key, v in given.items() if key != "G_2"})
        where = f"d = {dim}, n = {n}, epsilon = {eps:g}, zeta = {level:g}, G_k = {growth:g}"
        if label.endswith("@derived"):
            facts.append(Fact(f"larger of both bounds over the claim, {where}", max(two, pack) / bound, "=", 1, 1e-9))
        printed = float(order.subs({BY_NAME[key]: v for key, v in given.items()}))
        # c = min(0.0518, 0.0291^(2-2/k)/16)/2 at k = 3.
        least = min(math.log(4 / 3) / (4 * math.log(4)), 0.0291 ** (4 / 3) / 16) / 2
        facts.append(Fact(f"bound over the printed sum, {where}", bound / printed, ">=", least))
    return facts


@check("pure_heavy_tails/thm-g-5", kind="lower-bound")
def sum_of_both(context: Context) -> Verdict:
    """On a grid the larger of the two explicit bounds is a constant share of the printed sum."""
    return lower_bound.verdict(_combined_facts("pure_heavy_tails/thm-g-5"))


@check("pure_heavy_tails/thm-g-5@derived", kind="lower-bound")
def larger_of_both(context: Context) -> Verdict:
    """The claim is the larger of Propositions G.2 and G.4, each of which its own instance forces."""
    return lower_bound.verdict(_combined_facts("pure_heavy_tails/thm-g-5@derived"))


# Remark G.7 ----------------------------------------------------------------------------------------------------------


@check("pure_heavy_tails/fact-g-7", kind="symbolic")
def ratio_of_the_bounds(context: Context) -> Verdict:
    """Upper over lower private term is (dL/(d+L))^(1-1/k), L = log(1/beta), and dL/(d+L) is at most d and at most L."""
    from dpcheck.engine.catalogue import claim

    L = sp.Symbol("ell", positive=True)
    n, epsilon = BY_NAME["n"], BY_NAME["epsilon"]
    upper = G_k * D * (d * L / (n * epsilon)) ** (1 - 1 / k)
    lower = G_k * D * ((d + L) / (n * epsilon)) ** (1 - 1 / k)
    explicit = claim("pure_heavy_tails/fact-g-7").explicit
    assert explicit is not None
    printed = explicit.subs(sp.log(1 / beta), L).subs(sp.log(beta), -L)
    base = d * L / (d + L)
    return proved(
        {"ratio": sp.log(upper / lower) - sp.log(printed)},
        {"at most d": sp.factor(d - base), "at most log(1/beta)": sp.factor(L - base)},
    )


@check("pure_heavy_tails/fact-g-7", kind="risk")
def constant_output(context: Context) -> Verdict:
    """A constant output, released without reading data, has excess risk at most D G_1 on five workloads, anywhere."""
    left, right = [], []
    works: list[Any] = [
        RareSpikes(p=0.05, theta=1.0), HeavyMean(), WeightedMedian(), RadialHeavyTail(b=(0.3, 0.4), D=2.0),
        TwoPoint(rho=1.0, dimension=3),
    ]  # fmt: skip
    for work in works:
        setting, dim = problem(work, 1.0), work.constants.d
        algorithm = Constant()
        if algorithm.schedule(setting, 10).releases:
            return refuted("the constant algorithm releases something", "exact")
        bound = algorithm.risk_bound(setting, 10)
        assert bound is not None
        rng = context.rng("places", type(work).__name__)
        far = work.constants.diameter(2.0)
        w = work.project(far * rng.normal(size=(context.scale(200, 2000), dim)))
        left += list(work.excess_risk(w))
        right += [bound] * len(w)
    return accuracy.never_violated(
        left, right, statement="excess risk <= D G_1", covers="F is G_1-Lipschitz on a domain of diameter D: all points",
        evidence="certificate",
    )  # fmt: skip
