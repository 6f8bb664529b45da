"""Appendix B: Fano's inequality, and the packings and instances of the lower bounds."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import sympy as sp

from dpcheck.algorithms.tsybakov.hard_instances import private_instance, sign_packing, statistical_instance
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import explicit_of, stated
from dpcheck.errors import InvalidInput
from dpcheck.harness import accuracy, lower_bound
from dpcheck.harness.hard_instances import DIGITS, RationalLaw, closest_pair
from dpcheck.harness.lower_bound import Fact
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.symbolic import proved, where_proved
from dpcheck.verdicts import Verdict, differs
from dpcheck.workloads.tilted_power import SparseTilt, growth_constant

from .lemmas import R_K


@check("tsybakov/lem-5", kind="lower-bound", grid={"size": (3, 16, 64)}, expect="refuted")
def centroid_beats_private_fano(context: Context, *, size: int) -> Verdict:
    """Φ(t) = t^4 on the vertices of a unit simplex, equal laws: the centroid is 0-zCDP and has less than the bound."""
    vertices = np.eye(size) / math.sqrt(2)
    risk = float((np.linalg.norm(vertices - vertices.mean(axis=0), axis=1) ** 4).mean())
    bound = stated("tsybakov/lem-5", a=1, rho=0, n=1, p=0, N=size)
    return accuracy.never_violated(
        bound,
        risk,
        statement="half of Φ times Fano's factor <= average risk",
        witness=lambda _: witnessed("tsybakov/lem-5", "lem_5", bound, risk, size=size, theta=4),
    )


def _every_simplex() -> Verdict:
    """Whether the centroid's risk, at N = 2 + u vertices, is above the bound at Φ(1/2) = 1/16 and equal laws."""
    u, bound = sp.Symbol("u", positive=True), explicit_of("tsybakov/lem-5@corrected")
    at = {"a": sp.Rational(1, 16), "rho": 0, "N": 2 + u}
    bound = bound.subs({s: at[s.name] for s in bound.free_symbols if s.name in at})
    squared = (1 + u) / (2 * (2 + u))
    risk, least, N = squared**2, sp.Rational(1, 16), 2 + u
    # Vertices e_i/√2: the centroid misses one by 1 − 1/N in its own coordinate and by 1/N in the others.
    centroid = ((1 - 1 / N) ** 2 + (N - 1) / N**2) / 2
    return proved(
        {"centroid": sp.simplify(centroid - squared)},
        {"risk - 1/16": sp.factor(risk - least), "1/16 - bound": sp.expand(least - bound)},
    )


@check("tsybakov/lem-5@corrected", kind="lower-bound", grid={"size": (3, 16, 64)}, expect="consistent")
def centroid_respects_fano_at_half_the_distance(context: Context, *, size: int) -> Verdict:
    """The same centroid against Φ(1/2) = 1/16 times Fano's factor. Of equal laws no estimator learns anything, and by
    Jensen's inequality and symmetry none has a smaller risk on a simplex; so this is the lemma where n, p or ρ is 0.
    """
    risk = ((size - 1) / (2 * size)) ** 2
    bound = stated("tsybakov/lem-5@corrected", a=1 / 16, rho=0, n=1, p=0, N=size)
    return accuracy.never_violated(
        bound,
        risk,
        statement="Φ(1/2) times Fano's factor <= average risk"
        + where_proved(_every_simplex(), " (proved of every estimator and every N where the laws are equal)"),
        drawn=False,
        evidence="certificate",
    )


@check("tsybakov/lem-5@corrected", kind="symbolic")
def cost_of_the_records_that_differ(context: Context) -> Verdict:
    """What ρ takes off, times log N: the mean square of how many of n records differ, each with probability p, counted
    over all of them; the same for the printed lemma, which has half of Φ at the whole distance.
    """
    (fano, printed), zero = (explicit_of(f"tsybakov/{label}") for label in ("lem-5@corrected", "lem-5")), {}
    by_name = {symbol.name: symbol for symbol in fano.free_symbols}
    least = by_name["a"] * (1 - sp.log(2) / sp.log(by_name["N"]))
    for size, chance in ((1, sp.Rational(9, 10)), (5, sp.Rational(1, 3))):
        squared = sum(j**2 * math.comb(size, j) * chance**j * (1 - chance) ** (size - j) for j in range(size + 1))
        wanted = least - by_name["a"] * by_name["rho"] * squared / sp.log(by_name["N"])
        at = {by_name["n"]: size, by_name["p"]: chance}
        for name, bound in (("corrected", fano), ("printed", 2 * printed)):
            zero[f"{name}, n = {size}, p = {chance}"] = sp.expand(bound.subs(at) - wanted)
    return proved(zero)


@check("tsybakov/fact-power-tnc@literal", kind="accuracy", grid={"theta": (2, 4)}, expect="refuted")
def tilted_power_has_constant_one(context: Context, *, theta: int) -> Verdict:
    """Excess over distance^theta at w = -2w*, |w*| = 1."""
    work = SparseTilt(v=np.ones(1), size=1.0, chance=1.0, theta=float(theta), reach=2.0)
    ratio = float(work.excess_risk(np.array([[-2.0]]))[0]) / 3.0**theta
    claimed = stated("tsybakov/fact-power-tnc@literal", theta=theta)
    return accuracy.never_violated(
        claimed,
        ratio,
        statement="1 <= excess/distance^theta",
        witness=lambda _: witnessed(
            "tsybakov/fact-power-tnc@literal", "fact_power_tnc", claimed, ratio, theta=theta, t=2
        ),
    )


@check(
    "tsybakov/fact-power-tnc@literal", kind="accuracy", grid={"theta": (2, 3, 4, 6)}, expect="refuted",
    also=("tsybakov/fact-power-tnc",),
)  # fmt: skip
def least_growth_on_the_printed_ball(context: Context, *, theta: int) -> Verdict:
    """Infimum of excess over |w - w*|^theta for the printed instance at p_a = 1/100, attained on the line of w*."""
    reach = 100.0 ** (1 / (theta - 1))
    least = growth_constant(float(theta), reach)
    # The first place -t w*, t in 64ths, that comes within rounding of it; the witness is verified there.
    places = [Fraction(i, 64) for i in range(64, 64 * math.floor(reach) + 1)]
    ratios = [float(((t**theta - 1) / theta + t + 1) / (t + 1) ** theta) for t in places]
    at = int(np.argmin(ratios))
    claimed = stated("tsybakov/fact-power-tnc", theta=theta)
    verdict = accuracy.never_violated(
        claimed,
        ratios[at],
        statement="1 <= excess/distance^theta",
        witness=lambda _: witnessed(
            "tsybakov/fact-power-tnc@literal", "fact_power_tnc", claimed, ratios[at], theta=theta, t=str(places[at])
        ),
    )
    return replace(verdict, numbers={**verdict.numbers, "least constant on the printed ball": least})


@check("tsybakov/fact-power-tnc@corrected", kind="accuracy", grid={"theta": (2.0, 2.5, 3.0, 4.0, 6.0)})
def growth_on_the_smaller_ball(context: Context, *, theta: float) -> Verdict:
    """2^(1-θ) against excess over |w - w*|^θ on |w| <= |w*|, on a grid of lengths and angles, -w* among them."""
    r, angle = np.meshgrid(np.linspace(0, 1, 201), np.linspace(0, math.pi, 201))
    w = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=-1).reshape(-1, 2)
    work = SparseTilt(v=np.array([1.0, 0.0]), size=1.0, chance=1.0, theta=theta, reach=1.0)
    apart = np.linalg.norm(w - work.best, axis=1)
    w, apart = w[apart > 1e-3], apart[apart > 1e-3]
    ratio = work.excess_risk(w) / apart**theta
    verdict = accuracy.never_violated(
        stated("tsybakov/fact-power-tnc@corrected", theta=theta),
        ratio,
        statement="2^(1-θ) <= excess/distance^θ",
        covers="the excess is at least half the squared distance, as its radial part falls to 0, and distances are at "
        "most 2; both are equalities at -w*",
        evidence="certificate",
    )
    return replace(
        verdict, numbers={**verdict.numbers, "least ratio times 2^(θ-1)": float(ratio.min()) * 2 ** (theta - 1)}
    )


@check("tsybakov/fact-gv", kind="lower-bound")
def packings_of_that_size_exist(context: Context) -> Verdict:
    """2^d over the number of sign vectors closer than d/8 to one, exactly, against 2^(d/20), for d up to 400."""
    top = context.scale(200, 400, 2000)
    facts = []
    for dim in range(1, top + 1):
        ball = sum(math.comb(dim, i) for i in range(math.ceil(dim / 8)))
        size = mpmath.log(mpmath.mpf(stated("tsybakov/fact-gv", d=dim)), 2)
        facts.append(Fact(f"log2 of the packing, d = {dim}", mpmath.log(Fraction(2**dim, ball), 2), ">=", size))
    verdict = lower_bound.verdict(facts)
    closest = min(float(f.found) * 20 / (i + 1) for i, f in enumerate(facts))
    numbers: dict[str, float | int | str | bool] = {"dimensions": top, "least log2 size over d/20": closest}
    more = (
        f"d = 1 to {top}: a maximal packing has at least so many vectors, since balls of radius d/8 around it "
        "cover the cube; beyond, a ball has at most 2^(0.544 d) vectors by the entropy bound"
    )
    return replace(verdict, numbers=numbers, reason=f"{verdict.reason} ({more})")


@check("tsybakov/proc-gv-packing", kind="lower-bound", grid={"d": by_size((60, 100), (40, 100, 160, 200))})
def packing_has_its_size_and_distance(context: Context, *, d: int) -> Verdict:
    """Size and least Hamming distance of a generated packing, exactly; 300 in d = 20 are as close as allowed; as many
    signs of one vector are 1 as not.
    """
    try:
        values, crowded = sign_packing(d, context.rng()), sign_packing(20, context.rng("crowded"), 300)
        (alone,) = sign_packing(6000, context.rng("alone"), 1)
    except (InvalidInput, TypeError) as error:
        return differs(f"a packing is not found: {error}", "exact")
    facts = [
        Fact("vectors", len(values), "=", math.ceil(stated("tsybakov/fact-gv", d=d))),
        Fact("what is no sign", float(np.abs(np.abs(crowded) - 1).max()), "=", 0),
    ]
    for packing, sign in ((values, ">="), (crowded, "=")):
        near, apart = closest_pair(packing, "hamming")[0], stated("tsybakov/proc-gv-packing", d=packing.shape[1])
        facts.append(Fact(f"least Hamming distance of {len(packing)} vectors", near, sign, math.ceil(apart)))
    allowed = math.sqrt(2 * math.log(2 / context.failure_probability) / alone.size)
    if abs(alone.mean()) > allowed:
        said = f"the mean of the signs is {alone.mean():.3g}, and {allowed:.3g} is allowed"
        return differs(said, "sampled", failure_probability=context.failure_probability)
    return lower_bound.verdict(facts)


def _pull(chance: float, k: float, theta: float) -> Fact:
    """At the edge of the printed ball the pull |w|^(theta - 1) is the length of an atom, as printed."""
    work = private_instance(np.ones(4), chance, k=k, theta=theta, r_k=R_K, ball="printed")
    pull = work.weight * (work.constants.diameter(2.0) / 2) ** (theta - 1)
    return Fact(f"pull at the edge at p_a = {chance:g}", pull, "=", float(work.lengths[0].max()), tolerance=1e-9)


@check("tsybakov/proc-lb4-data", kind="lower-bound", grid={"k": (2, 4), "d": (9, 100)})
def atoms_have_their_mean(context: Context, *, k: int, d: int) -> Verdict:
    """Length of the mean of Theorem 4's law against p_a^((k-1)/k) r_k/2, from its atoms with 50 digits."""
    facts = []
    for p in (Fraction(1, 2), Fraction(1, 100), Fraction(1, 10**6)):
        with mpmath.workdps(DIGITS):
            p_ = mpmath.mpf(p.numerator) / p.denominator
            side = p_ ** (-mpmath.mpf(1) / k) * R_K / (2 * mpmath.sqrt(d))
            law = RationalLaw((tuple([side] * d), tuple([mpmath.mpf(0)] * d)), (p_, 1 - p_))
            length = mpmath.sqrt(mpmath.fsum(x**2 for x in law.mean()))
            wanted = stated("tsybakov/proc-lb4-data", p=float(p), k=k, r_k=R_K)
            work = private_instance(np.ones(d), float(p), k=float(k), theta=2.0, r_k=R_K, ball="corrected")
            facts += [
                Fact(f"|mean| at p_a = {p}", length, "=", wanted, tolerance=1e-12),
                Fact(f"(E|x|^k)^(1/k) at p_a = {p}", law.moment(k) ** (mpmath.mpf(1) / k), "=", R_K / 2, 1e-40),
                Fact(f"|mean| as built at p_a = {p}", float(np.linalg.norm(work.mean)), "=", wanted, tolerance=1e-12),
            ]
            larger = private_instance(np.ones(d), float(p), k=float(k), theta=2.0, r_k=3.0, ball="corrected")
            named, length = f"|mean| as built at p_a = {p}, r_k = 3", float(np.linalg.norm(larger.mean))
            wanted = stated("tsybakov/proc-lb4-data", p=float(p), k=k, r_k=3.0)
            facts.append(Fact(named, length, "=", wanted, tolerance=1e-12))
            facts += [_pull(float(p), float(k), theta) for theta in (2.0, 3.0)]
            near = work.constants.diameter(2.0) / 2 / work.minimiser_norm
            facts.append(Fact(f"radius of the corrected ball over |w*| at p_a = {p}", near, "=", 1, tolerance=1e-12))
    return lower_bound.verdict(facts)


@check("tsybakov/proc-lb5-data", kind="lower-bound", grid={"d": (9, 100)})
def products_have_their_length(context: Context, *, d: int) -> Verdict:
    """Length of every record and of the mean of Theorem 5's law."""
    facts = []
    for bias in (1.0, 0.3, 1e-4):
        work = statistical_instance(np.ones(d), bias, theta=2.0, r_k=R_K)
        rows = work.rows(context.rng(bias), 1, 20)[0]
        spread, length = np.linalg.norm(rows, axis=1), stated("tsybakov/proc-lb5-data", r_k=R_K)
        facts += [
            Fact(f"shortest record, bias {bias}", float(spread.min()), "=", length, tolerance=1e-12),
            Fact(f"longest record, bias {bias}", float(spread.max()), "=", length, tolerance=1e-12),
            Fact(f"|mean|, bias {bias}", float(np.linalg.norm(work.mean)), "=", bias * length, tolerance=1e-12),
        ]
    return lower_bound.verdict(facts)
