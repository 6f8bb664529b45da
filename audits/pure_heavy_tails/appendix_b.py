"""Appendix B: what no local algorithm can compute, by the printed pair and by an oracle that resists."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy

from dpcheck.algorithms.pure_heavy_tails.resisting import ResistingOracle, bump_constant
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import stated
from dpcheck.harness import accuracy, lower_bound
from dpcheck.harness.lower_bound import Fact
from dpcheck.harness.outside import must_exclude
from dpcheck.harness.plans import answered, wrongly_answered
from dpcheck.harness.refutation import witnessed
from dpcheck.interfaces import Array
from dpcheck.verdicts import Verdict, combine, differs

from .lemmas import as_printed

Q = Fraction

B_1 = {"C": 0.5, "a": 0.75, "G_k": 1.0, "beta0": 1.0, "beta1": 2.5}


def flat(t: Array | float) -> Array:
    """phi(t) = integral over [0, t] of (t - s) exp(-1/s^2) ds, as printed on both sides of 0: even, convex."""

    def one(x: float) -> float:
        return scipy.integrate.quad(lambda s: (x - s) * math.exp(-1 / s**2), 0, x, epsabs=1e-15)[0] if x else 0.0

    return np.vectorize(one, otypes=[float])(np.abs(t))


@check("pure_heavy_tails/thm-b-1", kind="accuracy", grid={"queries": by_size([1, 3], [1, 2, 5, 10])})
def printed_pair_for_fixed_queries(context: Context, *, queries: int) -> Verdict:
    """For queries fixed beforehand the printed pair has one transcript, legal gradients, and two extensions at 0;
    no longer where C is as large as the gradients.
    """
    d, rng = queries + 1, context.rng()
    q = rng.standard_normal((queries, d))
    v = np.linalg.svd(np.vstack([q, np.zeros((1, d))]))[2][-1]
    t = q @ v
    steepest = B_1["a"] + B_1["beta1"] * scipy.integrate.quad(lambda s: math.exp(-1 / s**2), 0, 1)[0]
    jets = np.abs(B_1["beta0"] - B_1["beta1"]) * np.abs(flat(t))
    grid = np.linspace(-1, 1, 401)
    lowest = [
        float((-B_1["a"] * grid + b * flat(grid) + B_1["C"] * np.abs(grid)).min()) for b in (B_1["beta0"], B_1["beta1"])
    ]
    closed = [-(B_1["a"] - B_1["C"]) + b * float(flat(1.0)) for b in (B_1["beta0"], B_1["beta1"])]
    own = [
        float((-B_1["a"] * grid + b * flat(grid) + B_1["G_k"] * np.abs(grid)).min())
        for b in (B_1["beta0"], B_1["beta1"])
    ]
    outside = must_exclude(
        [claim(context.label)],
        {"C": B_1["G_k"], "G_k": B_1["G_k"], "T": queries, "d": d},
        "both functions are their own extensions, and one query at 0 tells what these are there",
        shown=max(map(abs, own)) < 1e-12,  # of the functions themselves: both are 0 at 0
    )
    resisted = lower_bound.verdict(
        [
            Fact("the largest difference of the answers", float(jets.max()), "<", 1e-12),
            Fact("the largest gradient", steepest, "<=", B_1["G_k"]),
            Fact("the extension of f_0 at 0", lowest[0], "=", closed[0], tolerance=1e-9),
            Fact("the extension of f_1 at 0", lowest[1], "=", closed[1], tolerance=1e-9),
            Fact("the difference of the extensions", lowest[1] - lowest[0], ">", 1e-3),
        ]
    )
    return combine([resisted, outside])


@check("pure_heavy_tails/thm-b-1@literal", kind="accuracy", expect="refuted")
def printed_pair_for_adaptive_queries(context: Context) -> Verdict:
    """The algorithm that queries 0 and then half of the direction it was shown gets equal answers from f_0 and f_1."""
    v = np.array([0.6, -0.8, 0.0])
    answers = []
    for b in (B_1["beta0"], B_1["beta1"]):
        first = -B_1["a"] * v  # the gradient of g(<v, y>) at 0, where phi is flat
        second = -first / (2 * np.linalg.norm(first))
        t = float(second @ v)
        answers.append(-B_1["a"] * t + b * float(flat(t)))
    gap = answers[1] - answers[0]

    def witness(index: int) -> Any:
        value = (B_1["beta1"] - B_1["beta0"]) * float(flat(0.5))
        return witnessed(context.label, "thm_b_1", said, value, C="1/2", a="3/4", G_k=1, beta0=1, beta1="5/2")

    said = stated(context.label, C=B_1["C"], G_k=B_1["G_k"], T=2, d=len(v))
    verdict = accuracy.never_violated(abs(gap), said, statement="answers at the second query agree", witness=witness)
    return replace(verdict, numbers={**verdict.numbers, "f_0 there": answers[0], "f_1 there": answers[1]})


Queries = Callable[[dict[Fraction, tuple[Fraction, Fraction]], int], Fraction]


def _bisection(seen: dict[Fraction, tuple[Fraction, Fraction]], step: int) -> Fraction:
    low, high = Q(0), Q(1)
    for t, (_, slope) in seen.items():
        low, high = (max(low, t), high) if slope < Q(-1, 2) else (low, min(high, t))
    return (low + high) / 2


def _ternary(seen: dict[Fraction, tuple[Fraction, Fraction]], step: int) -> Fraction:
    low = max([Q(0), *(t for t, (_, s) in seen.items() if s < Q(-1, 2))])
    high = min([Q(1), *(t for t, (_, s) in seen.items() if s > Q(-1, 2))])
    return low + (high - low) * Q(1 + step % 2, 3)


def _crossing(seen: dict[Fraction, tuple[Fraction, Fraction]], step: int) -> Fraction:
    """Kelley's cutting plane: the minimiser of the lower model plus t/2."""
    lines = [(slope, t, height) for t, (height, slope) in seen.items()]
    candidates = [Q(-1), Q(0), Q(1)]
    for m, n in itertools.combinations(lines, 2):
        if m[0] != n[0] and abs(x := (n[2] - n[0] * n[1] - m[2] + m[0] * m[1]) / (m[0] - n[0])) <= 1:
            candidates.append(x)
    model = lambda x: max((h + s * (x - t) for s, t, h in lines), default=Q(0)) + x / 2  # noqa: E731
    return min(candidates, key=lambda x: (model(x), x))


ALGORITHMS: dict[str, Queries] = {
    "bisection": _bisection,
    "ternary search": _ternary,
    "cutting plane": _crossing,
    "grid": lambda seen, step: Q(step % 21 - 10, 10),
    "dyadic": lambda seen, step: Q(2 * step + 1, 2 ** (step + 2).bit_length()) % 1,
}


@check(
    "pure_heavy_tails/thm-b-1@corrected",
    kind="accuracy",
    grid={"algorithm": (*ALGORITHMS, "clairvoyant", "random"), "queries": by_size([8], [1, 8, 16])},
)
def oracle_resists(context: Context, *, algorithm: str, queries: int) -> Verdict:
    """Against each algorithm the oracle ends with two smooth convex functions, one transcript and two extensions."""
    rng, oracle = context.rng(), ResistingOracle()

    def asked() -> None:
        for step in range(queries):
            if algorithm == "clairvoyant":  # asks for the oracle's own secret every time
                t = oracle.kink()
            elif algorithm == "random":
                t = Q(int(rng.integers(-1000, 1001)), 1000)
            else:
                t = ALGORITHMS[algorithm](oracle.answers, step)
            oracle.ask(t)
        oracle.kink()

    if wrong := wrongly_answered([(f"the {queries} queries of {algorithm}", asked, True)]):
        return answered(wrong, "")
    kink, around = oracle.kink(), oracle.slopes(oracle.kink())
    broken = [
        t for t, (height, slope) in oracle.answers.items() if oracle.value(t) != height or oracle.slopes(t) != [slope]
    ]
    kept = Fact(f"of {len(oracle.answers)} answers to {algorithm}, those that change", len(broken), "=", 0)
    if broken:
        return lower_bound.verdict([kept])
    for t, (_, slope) in oracle.answers.items():
        near, far = (
            sum(oracle.slopes(t + side * share * oracle.clearance(t)) != [slope] for side in (-1, 1))
            for share in (Q(99, 100), Q(101, 100))
        )
        if near or not far:
            return differs(f"the piece around {float(t):.4g} does not end at its clearance", "exact")
    # A mollifier narrower than the way from a query to the nearest other piece leaves every answer as it was.
    width = min((oracle.clearance(t) for t in oracle.answers), default=Q(1))
    width = min(width, kink, 1 - kink) / 2
    difference = float(width / 2) * bump_constant(float(around[0] + oracle.C), float(around[-1] + oracle.C))
    return lower_bound.verdict(
        [
            kept,
            Fact("the kink", kink, ">", 0),
            Fact("the kink", kink, "<", 1),
            Fact("the slope before it", around[0], "<", -oracle.C),
            Fact("the slope after it", around[-1], ">", -oracle.C),
            Fact("the steepest line", max((abs(line[0]) for line in oracle.lines), default=0), "<", 1),
            Fact("the width", width, ">", 0),
            Fact("the difference of two extensions at 0", difference, ">", 0),
        ]
    )


@check("pure_heavy_tails/thm-b-1@corrected", kind="accuracy")
def a_kink_is_bent(context: Context) -> Verdict:
    """Asked right at a kink, the oracle answers a little above it with a slope between those of the two sides, and not
    -C, where the extension would have no kink: also where -C is in the middle between the two.
    """
    facts = []
    sides_of_kinks = [(Q(-3, 4), Q(0)), (Q(-3, 4), Q(-1, 4)), (Q(-4, 5), Q(1, 5)), (Q(-51, 100), Q(0))]
    near_the_ends = [(Q(-3, 4), Q(0), Q(1, 32)), (Q(-4, 5), Q(-1, 4), Q(31, 32))]  # to which the new kink is nearer
    for low, high, at in [*((*each, Q(1, 2)) for each in sides_of_kinks), *near_the_ends]:
        oracle = ResistingOracle(lines=[(low, at, Q(0)), (high, at, Q(0))])
        if wrong := wrongly_answered([("a query at the kink", lambda oracle=oracle, at=at: oracle.ask(at), True)]):  # type: ignore[misc]
            return answered(wrong, "")
        (height, slope), sides = oracle.answers[at], oracle.slopes(oracle.kink())
        facts += [
            Fact("the answer, above the kink", height, ">", 0),
            Fact("its slope, above the one before", slope, ">", low),
            Fact("its slope, below the one after", slope, "<", high),
            Fact("its distance from -C", abs(slope + oracle.C), ">", 0),
            Fact("the new kink", oracle.kink(), ">", 0),
            Fact("the new kink", oracle.kink(), "<", 1),
            Fact("the slope before the new kink", sides[0], "<", -oracle.C),
            Fact("the slope after it", sides[-1], ">", -oracle.C),
        ]
    return lower_bound.verdict(facts)


@check("pure_heavy_tails/thm-b-1@corrected", kind="accuracy")
def bump_by_adaptive_quadrature(context: Context) -> Verdict:
    """The least mean of max(low (s - U), high (s - U)) against adaptive quadrature and a bounded search, at slopes of
    unequal size.
    """
    density = lambda u: math.exp(-1 / (1 - u * u)) if abs(u) < 1 else 0.0  # noqa: E731
    mass, found, wanted = scipy.integrate.quad(density, -1, 1)[0], [], []
    for low, high in ((-0.3, 0.7), (-1.0, 0.2), (-0.01, 0.04)):

        def mean(s: float, low: float = low, high: float = high) -> float:
            below = scipy.integrate.quad(lambda u: high * (s - u) * density(u), -1, s)[0]
            return float((below + scipy.integrate.quad(lambda u: low * (s - u) * density(u), s, 1)[0]) / mass)

        found.append(bump_constant(low, high) / high)
        wanted.append(scipy.optimize.minimize_scalar(mean, bounds=(-1, 1), method="bounded").fun / high)
    # 400 nodes are pi/400 apart, and of a kink between two of them a square of that is lost.
    return as_printed({"the least mean": (np.array(found), np.array(wanted))}, within=(math.pi / 400) ** 2)
