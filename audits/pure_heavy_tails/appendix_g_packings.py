"""Appendix G: packed instances, private decoders, and the private lower bound on mean estimation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import mpmath
import numpy as np
import scipy
import sympy as sp

from dpcheck.algorithms.pure_heavy_tails.hard_instances import (
    decoding_error,
    mean_from_point,
    nearest,
    packed_laws,
    packing,
    spike_probability,
)
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import explicit_of, order_of, stated
from dpcheck.harness import lower_bound, optimal_tests
from dpcheck.harness.hard_instances import RationalLaw, as_mpf, closest_pair, exactly
from dpcheck.harness.lower_bound import Fact
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.symbolic import proved
from dpcheck.running import Fresh, Run
from dpcheck.symbols import BY_NAME, G_k, k, p, zeta
from dpcheck.verdicts import Point, Verdict, holds, refuted
from dpcheck.workloads.linear import SparseDirection

from .appendix_g_means import ZETAS, with_figure
from .cases import problem
from .lemmas import solvers


def private_decoder_error(size: int, n: int, epsilon: float, p: float) -> float:
    """Exact average error of the epsilon-DP decoder P(j) ∝ exp(epsilon count_j/2) on a packed law.

    Replacing a record moves every count by at most 1. Under P_nu the count of nu is Bin(n, p), all others are 0.
    """
    count = np.arange(n + 1)
    wrong = scipy.special.expit(np.log(size - 1) - epsilon * count / 2)
    return float(scipy.stats.binom.pmf(count, n, p) @ wrong)


def decode_with(
    context: Context, solver: str, laws: Sequence[SparseDirection], n: int, epsilon: float, trials: int
) -> tuple[int, int]:
    """Errors of the nearest-neighbour decoder behind an algorithm, over all laws of the packing."""
    algorithm = solvers(laws[0].d)[solver]
    means = np.stack([law.mean for law in laws])
    size = float(np.linalg.norm(means[0]))
    wrong = 0
    for index, law in enumerate(laws):
        plan = algorithm.schedule(problem(law, epsilon), n)
        data = Fresh(law, trials, n, context.seed, "decode", solver, index)
        start = np.zeros((1, law.d))
        point = algorithm.execute(Run(plan, trials, context.rng("decode", index)), law, data, start)
        wrong += int((nearest(mean_from_point(point, size), means) != index).sum())
    return wrong, trials * len(laws)


# Packings ------------------------------------------------------------------------------------------------------------


@check(
    "pure_heavy_tails/proc-hard-pack", kind="lower-bound", grid={"d": by_size([1, 2, 4, 6], [1, 2, 3, 4, 5, 6, 7, 8])}
)
def packed_instances(context: Context, *, d: int) -> Verdict:
    """2^d unit vectors at mutual distance 1/2, exactly, and laws with the moments and means of the claim."""
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
        finite = RationalLaw(tuple(map(tuple, law.atoms.tolist())), tuple(exactly([law.probabilities])[0]))
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
    """A DP decoder of counts errs above q/(2(1+q)), exactly; a decoder without privacy falls below it."""
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
    return with_figure(lower_bound.verdict(facts), points, "n", "average decoding error")


@check(
    "pure_heavy_tails/fact-bd14",
    kind="lower-bound",
    grid={"d": by_size([1, 2], [1, 2, 4]), "solver": ("single", "second")},
)
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
    return with_figure(answer, [point], "d", "average decoding error")


@check("pure_heavy_tails/prop-g-4", kind="symbolic")
def spikes_cost_too_much(context: Context) -> Verdict:
    """With np epsilon = log((V-1)/(4e zeta)) and one more record, q >= 4 zeta e^(1-epsilon) and q/(2(1+q)) >= zeta."""
    # unbound: the error of a decoder, from which the derivation has the bound
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
    """Error at least zeta, and what is left of d + log(1/zeta) in the logarithm: sphere packings, five points."""
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
    """Every epsilon-DP decoder errs with probability zeta; the logarithm is 0.0291 (d + log(1/zeta)) at least."""
    # unbound: the error of a decoder, from which the derivation has the bound
    return lower_bound.verdict(_packing_facts(context))


@check("pure_heavy_tails/prop-g-4@literal", kind="symbolic", expect="refuted")
def logarithm_of_two_points(context: Context) -> Verdict:
    """With |V| = 2, d = 1 and zeta = 1/4 the logarithm is log(1/e) = -1."""
    value = sp.log(sp.Integer(2 - 1) / (4 * sp.E * sp.Rational(1, 4)))
    words = float(sp.simplify(value))
    negative = 1 / (4 * math.e)
    numbers = {"value at zeta = 1/4": words, "negative above zeta": negative}
    witness = witnessed("pure_heavy_tails/prop-g-4@literal", "prop_g_4_inequality", "0", words, size=2, d=1, zeta="1/4")
    if words > 0:
        return holds(f"the logarithm is {words:g}", "exact", numbers=numbers)
    said = f"log((|V| - 1)/(4 e zeta)) = {words:g} at |V| = 2, d = 1, zeta = 1/4; negative for zeta > {negative:.3g}"
    return refuted(said, "exact", numbers=numbers, witness=witness)


@check("pure_heavy_tails/prop-g-4@derived", kind="symbolic")
def quarter_of_the_separation(context: Context) -> Verdict:
    """Separation |mean|/2 leaves r = |mean|/4, whose square is G_k^2 p^(2-2/k)/16."""
    explicit = explicit_of(context.label)
    (chance,) = explicit.atoms(sp.Min)
    radius = G_k * p ** (1 - 1 / k) / 4
    return proved({"r^2": radius**2 / explicit.subs(chance, p) - 1})


@check("pure_heavy_tails/prop-g-4@derived", kind="transcription")
def packing_bound(context: Context) -> Verdict:
    """The claim's formula is the square of a quarter of the mean's length at the instance's p, as it was worked out."""
    facts = []
    for dim, n, eps, level, order in itertools.product((2, 5), (50, 5000), (0.1, 1.0), (0.25, 0.01), (2.0, 4.0)):
        chance = spike_probability(2**dim, n, eps, level)
        bound = stated("pure_heavy_tails/prop-g-4@derived", G_k=1.0, d=dim, n=n, epsilon=eps, zeta=level, k=order)
        where = f"d = {dim}, n = {n}, epsilon = {eps:g}, zeta = {level:g}, k = {order:g}"
        facts.append(
            Fact(f"(|mean|/4)^2 over the bound, {where}", (chance ** (1 - 1 / order) / 4) ** 2 / bound, "=", 1, 1e-9)
        )
    return lower_bound.verdict(facts)


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


@check("pure_heavy_tails/thm-g-5@derived", kind="transcription")
def larger_of_both(context: Context) -> Verdict:
    """The claim's formula is the larger of the formulas of Propositions G.2 and G.4."""
    return lower_bound.verdict(_combined_facts("pure_heavy_tails/thm-g-5@derived"))
