"""Appendix D: sample complexity, and its transfer by copies and padding."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.accounting import group
from dpcheck.algorithms.l1_geometry.reductions import Padding, pad_and_copy, padding
from dpcheck.checks import Context, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import unassumed
from dpcheck.harness import accuracy, lower_bound
from dpcheck.harness.lower_bound import Fact
from dpcheck.harness.outside import must_exclude
from dpcheck.harness.plans import Asked, answered, wrongly_answered
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.symbolic import agree, proved
from dpcheck.numerics import smallest_n
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Point, Verdict, combine, consistent, differs, holds, refuted, undecided
from dpcheck.workloads.crosspolytope import SignLasso

from .cases import CONSTANT, NO_CONSTANT, linear, sign_error


def samples_of_the_signs(d: int, alpha: float, epsilon: float) -> int:
    """Least n at which these signs err by at most alpha on every data set of the family, delta = n^-2."""
    count = smallest_n(lambda n: sign_error(n, d, epsilon, 1 / (n + 1) ** 2) <= alpha)
    assert count is not None
    return count


def samples_of_noisy_moments(d: int, alpha: float, epsilon: float) -> int:
    """n at which the minimiser of noisy moments is proved to err by at most alpha L D on every LASSO family of D.2.

    mean a a^T and mean y a, |a|_inf, |y| <= 1, get Gaussian noise for (eps, n^-2)-DP, replace-one; on the unit l1 ball
    the excess is at most twice the largest entry of the one plus twice that of the other, and L D = 4.
    """
    entries = d * (d + 1) / 2
    logs = math.sqrt(2 * math.log(2 * entries)) + 2 * math.sqrt(2 * math.log(2 * d))

    def error(n: int) -> float:
        sigma = 2 * math.sqrt(entries + d) / n * math.sqrt(2 * math.log(1.25 * n**2)) / epsilon
        return 2 * sigma * logs / 4

    count = smallest_n(lambda n: error(n + 1) <= alpha)
    assert count is not None
    return count


def _needed(
    label: str,
    cells: list[tuple[int, float, float]],
    samples: Callable[[int, float, float], int] = samples_of_the_signs,
    who: str = "the Gaussian signs need",
) -> Verdict:
    """Records that a private algorithm needs, over the claimed complexity."""
    ratios, points = [], []
    for d, alpha, epsilon in cells:
        stated = claim(label)
        names = {s.name for s in stated.order.free_symbols}  # type: ignore[union-attr]
        at = {k: v for k, v in {"d": d, "alpha": alpha, "epsilon": epsilon}.items() if k in names}
        bound, needed = float(stated.evaluate(**at)), samples(d, alpha, epsilon)
        ratios.append(needed / bound)
        series = f"alpha = {alpha:.3g}, epsilon = {epsilon:g}"
        points.append(Point(x=float(d), value=float(needed), bound=bound, series=series))
    said = f"{who} {min(ratios):.3g} to {max(ratios):.3g} times the claimed number of records"
    numbers = {"least ratio": min(ratios), "largest ratio": max(ratios), "cells": len(cells)}
    fields: dict[str, Any] = {"numbers": numbers, "points": points, "axes": ("d", "records")}
    fields["dashed"] = NO_CONSTANT
    fields["severity"] = 1 / min(ratios)
    if min(ratios) < CONSTANT:
        return refuted(said, "exact", **fields)
    return consistent(
        said, "exact", notices=f"an algorithm that needs below {CONSTANT:g} of the claimed number", **fields
    )


@check("l1_geometry/prop-1@corrected", kind="lower-bound", expect="consistent")
def records_of_the_signs(context: Context) -> Verdict:
    """alpha <= 1/8, epsilon <= 0.05: exact worst error of noisy signs, and the least n at which it is alpha."""
    cells = list(itertools.product((16, 256, 4096, 65_536), (1 / 8, 1 / 64), (0.05, 0.005)))
    return _needed("l1_geometry/prop-1@corrected", cells)


@check("l1_geometry/lem-d1", kind="lower-bound", expect="consistent")
def records_at_a_quarter(context: Context) -> Verdict:
    """The same at alpha = 1/4, epsilon = 0.1, over d up to 2^20."""
    return _needed("l1_geometry/lem-d1", [(4**k, 0.25, 0.1) for k in range(2, 11)])


NOISY_MOMENTS = "the minimiser of noisy moments needs"


@check("l1_geometry/lem-d6", kind="lower-bound", expect="consistent")
def records_at_one_over_d(context: Context) -> Verdict:
    """Lemma D.3's error n^(-2/3) falls to 1/d at n = d^(3/2) exactly, in its range d >= n^(2/3); and the
    records with which noisy moments are proved to err by 1/d at epsilon = 0.1.
    """
    facts = []
    for k in range(1, 9):
        d, n = 4**k, 8**k
        facts.append(Fact(f"n^2 at d = {d}", n**2, "=", d**3))
        facts.append(Fact(f"error^3 d^3 one record before, d = {d}", Fraction(d**3, (n - 1) ** 2), ">", 1))
    verdict = lower_bound.verdict(facts)
    if verdict.outcome != "holds":
        return verdict
    return _needed(
        "l1_geometry/lem-d6", [(4**k, 4.0**-k, 0.1) for k in range(1, 9)], samples_of_noisy_moments, NOISY_MOMENTS
    )


@check("l1_geometry/lem-d4@corrected", kind="lower-bound", also=("l1_geometry/lem-d4",))
def copies_carry_the_bound_below_one_over_d(context: Context) -> Verdict:
    """From Lemma D.6 at (1/d, 1/10): with a 25th of the stated records the copies make of an alpha-accurate algorithm
    one that is 1/d-accurate on fewer than d^(3/2), but on no less than a quarter of that, within its budget; noisy
    moments do not beat the bound.
    """
    facts, cells = [], []
    for label, k, share, e in itertools.product(
        ("lem-d4", "lem-d4@corrected"), range(2, 7), (2, 8, 64), (Fraction(1, 20), Fraction(1, 200))
    ):
        d, top = 4**k, Fraction(1, 10)
        alpha, alpha_0 = Fraction(1, share * d), Fraction(1, d)
        stated = claim(f"l1_geometry/{label}").evaluate(d=d, alpha=float(alpha), epsilon=float(e))
        n = math.floor(float(stated) / 25)
        plan = padding(n, float(alpha), float(e), float(alpha_0), float(top))
        at = f"d = {d}, alpha = 1/{share * d}, eps = {float(e):g}"
        facts += [
            Fact(f"records of the copies, {at}", plan.copies * plan.small, "<=", n),
            Fact(f"accuracy on the small set, {at}", alpha * n / (plan.copies * plan.small), "<=", alpha_0),
            Fact(f"its size, {at}", plan.small, "<", 8**k),
            Fact(f"its size over d^(3/2), {at}", Fraction(plan.small, 8**k), ">=", Fraction(1, 4)),
            Fact(f"budget of a group, {at}", plan.copies * e, "<=", top),
            Fact(f"growth of delta, {at}", math.expm1(plan.copies * float(e)) / math.expm1(float(e)), "<=", top / e),
        ]
        cells.append((d, float(alpha), float(e)))
    needed = _needed("l1_geometry/lem-d4@corrected", cells, samples_of_noisy_moments, NOISY_MOMENTS)
    verdict = lower_bound.verdict(facts, [needed])
    numbers = {"facts": len(facts), "constant that is reached": 1 / 25, **needed.numbers}
    said = f"{verdict.reason}; given Lemma D.6; {needed.reason}"
    return replace(verdict, reason=said, numbers=numbers, axes=("d", "records"), dashed=NO_CONSTANT)


@check("l1_geometry/lem-d4", kind="lower-bound", also=("l1_geometry/lem-d4@corrected",))
def one_record_is_enough_for_an_error_of_the_diameter(context: Context) -> Verdict:
    """At alpha = 2 in units of L D, which no excess is above, one record is enough, and the order is far above 1."""
    both = claim(context.label), claim("l1_geometry/lem-d4@corrected")
    at = {"d": 2**20, "alpha": 2, "epsilon": sp.Rational(1, 10)}
    needed = min(float(unassumed(each.label, **{name: float(value) for name, value in at.items()})) for each in both)
    why = f"one record is enough, for any answer, and {needed:.4g} are claimed"
    return must_exclude(both, at, why, shown=CONSTANT * needed > 1)


@check("l1_geometry/prop-1", kind="lower-bound")
def one_record_is_enough_beyond_the_hypotheses(context: Context) -> Verdict:
    """Where one record is enough the order is far above 1: at alpha = 2, which no error is above, and at epsilon =
    30 d, where each sign of the record is told by randomised response of its share, 30, which errs by less than alpha.
    """
    d, stated, verdicts = 2**20, claim(context.label), []
    for alpha, epsilon, error, who in (
        (sp.Integer(2), sp.Rational(1, 10), 2.0, "any answer"),
        (sp.Rational(1, 2**40), sp.Integer(30 * d), 1 / (1 + math.exp(30)), "randomised response of each sign"),
    ):
        needed = float(unassumed(context.label, d=d, alpha=float(alpha), epsilon=float(epsilon)))
        why = f"one record is enough, for {who}, and {needed:.4g} are claimed"
        shown = error <= alpha and CONSTANT * needed > 1
        verdicts.append(must_exclude([stated], {"d": d, "alpha": alpha, "epsilon": epsilon}, why, shown=bool(shown)))
    return combine(verdicts)


@check("l1_geometry/prop-1@literal", kind="lower-bound", expect="refuted")
def one_record_is_enough_for_large_alpha(context: Context) -> Verdict:
    """At alpha = 1/2, epsilon = 1/3, d = 10^12 the claimed sample complexity exceeds 1, with the constant 1/1000."""
    at = {"d": 10**12, "alpha": "1/2", "epsilon": "1/3", "constant": "1/1000"}
    return refuted_by("l1_geometry/prop-1@literal", "prop_1_samples", by=claim("l1_geometry/prop-1@literal"), **at)


@check("l1_geometry/prop-1@corrected", kind="symbolic", also=("l1_geometry/prop-1",))
def transfer_from_a_quarter(context: Context) -> Verdict:
    """Lemma D.2 from (1/4, 1/10), where Lemma D.1 speaks, gives 1/40 of the order, on alpha <= 1/8 and eps <= 1/20,
    which are among the alpha and eps that are printed.
    """
    a, e = BY_NAME["alpha"], BY_NAME["epsilon"]
    transfer, stated = claim("l1_geometry/lem-d2").order, claim("l1_geometry/prop-1@corrected")
    base = {"alpha_0": sp.Rational(1, 4), "epsilon_0": sp.Rational(1, 10), "n_0": claim("l1_geometry/lem-d1").order}
    reached = transfer.subs({s: base[s.name] for s in transfer.free_symbols if s.name in base})
    ends = {sp.Le(a, base["alpha_0"] / 2), sp.Le(e, base["epsilon_0"] / 2)}
    if set(stated.assumptions) != ends:
        return differs(f"Lemma D.2 covers {ends}, the claim {stated.assumptions}")
    printed = claim("l1_geometry/prop-1")
    last = {each.lhs: each.rhs for each in ends}
    if outside := [each for each in printed.assumptions if each.subs(last) != sp.true]:
        return differs(f"what is covered is not among what is printed: {outside}")
    orders = {"1/40 of the order": stated.order, "1/40 of the printed order": printed.order}
    return proved({said: reached / order - sp.Rational(1, 40) for said, order in orders.items()})


@check("l1_geometry/lem-d3", kind="lower-bound")
def constants_of_the_lasso_family(context: Context) -> Verdict:
    """f = (<a,x> - y)^2, |a|_inf <= C, |y| <= CD, |x|_1 <= D: by enumerating the extreme a, y and x of the plane, the
    largest entries of gradient and Hessian are L = 4 C^2 D and beta = 2 C^2, so that beta = L/(2D) <= L/D.
    """
    # unbound: constants of one family; the bound, which is cited, speaks of every algorithm
    C, D = Fraction(3), Fraction(2)
    corners = [(D, 0), (-D, 0), (0, D), (0, -D)]
    slopes, curves = [], []
    for a in itertools.product((-C, C), repeat=2):
        curves += [abs(2 * u * v) for u in a for v in a]
        for x, y in itertools.product(corners, (-C * D, C * D)):
            slopes += [abs(2 * (a[0] * x[0] + a[1] * x[1] - y) * part) for part in a]
    L, beta = max(slopes), max(curves)
    work = SignLasso(x_star=(0.0, 0.0), s=1.0)
    half = work.gradient(np.array([1.0, 0.0]), np.array([1.0, 1.0, -1.0]))
    return lower_bound.verdict(
        [
            Fact("largest entry of a gradient", L, "=", 4 * C * C * D),
            Fact("largest entry of a Hessian", beta, "=", 2 * C * C),
            Fact("beta over L/D, which Theorem 11 wants at most 1", beta / (L / D), "<=", 1),
            Fact("slope of half the loss at C = D = 1, by the library", float(half[0]), "=", 2.0, 1e-12),
        ]
    )


@check("l1_geometry/lem-d6", kind="symbolic")
def samples_for_one_over_d(context: Context) -> Verdict:
    """Lemma D.3 inverted: excess n^(-2/3) = 1/d at n = d^(3/2), where d = n^(2/3) just fits."""
    d, n, L, D = (BY_NAME[x] for x in ("d", "n", "L", "D"))
    excess = claim("l1_geometry/lem-d3").order / (L * D)
    return proved({"excess": excess.subs(n, claim("l1_geometry/lem-d6").order) - 1 / d})


@check("l1_geometry/proc-pad-and-copy", kind="lower-bound")
def padded_losses_are_scaled(context: Context) -> Verdict:
    """F(x; S) = (k n'/n) F(x; S') on LASSO losses with zero padding, and on linear ones with pairs that cancel, at
    random points; n' is the least for which alpha on S is at most alpha_0 on S'.
    """
    rng, left, right = context.rng(), [], []
    lasso, pair = (SignLasso(x_star=(0.3, 0.1)), np.zeros((1, 3))), (linear(2), np.array([[1.0, -1.0], [-1.0, 1.0]]))
    for n, alpha, (work, zero) in ((40, 0.02, lasso), (97, 0.05, lasso), (200, 0.1, lasso), (200, 0.1, pair)):
        plan = padding(n, alpha, 0.02, 0.2, 0.1)
        if not plan.copies * (plan.small - 1) / n < alpha / 0.2 <= plan.copies * plan.small / n:
            return differs(f"n' = {plan.small} with {plan.copies} copies in {n}")
        small = work.rows(rng, 1, plan.small)
        big = pad_and_copy(small, plan, zero)
        x = work.project(rng.standard_normal((20, 2)))
        left += list(work.loss(x[:, None], big).mean(axis=1))
        right += list(work.loss(x[:, None], small).mean(axis=1) * plan.copies * plan.small / n)
    return agree(left, right, "empirical losses", 1e-12)


@check("l1_geometry/proc-pad-and-copy", kind="privacy")
def copies_cost_group_privacy(context: Context) -> Verdict:
    """Replacing one record of S' replaces k of S and nothing else; the guarantee for groups of k is (k eps, ...). Plans
    outside of what Lemma D.5 speaks of, and data sets of another size than the plan's, are refused.
    """
    spoken_of = ((40, 0.02, 0.02), (1, 0.2, 0.1), (0, 0.1, 0.1), (40, 0.0, 0.1), (40, 0.3, 0.1), (40, 0.1, 0.0))
    asked: list[Asked] = [
        (f"n, alpha, eps = {at}", partial(padding, *at, 0.2, 0.1), min(at) > 0 and at[1] <= 0.2 and at[2] <= 0.1)
        for at in (*spoken_of, (40, 0.2, 0.11))
    ]
    asked += [
        (
            f"{size} records",
            lambda size=size: pad_and_copy(np.zeros((1, size, 1)), padding(40, 0.02, 0.02, 0.2, 0.1), np.zeros((1, 1))),
            size == 1,
        )
        for size in (1, 2)
    ]
    if wrong := wrongly_answered(asked):
        return answered(wrong, "")
    plan = padding(40, 0.02, 0.02, 0.2, 0.1)
    small = np.zeros((1, plan.small, 1))
    other = small.copy()
    other[0, 0] = 1.0
    changed = int(
        (pad_and_copy(small, plan, np.full((1, 1), 5.0)) != pad_and_copy(other, plan, np.full((1, 1), 5.0))).sum()
    )
    said = f"{changed} of {40} records change, k = {plan.copies}, k eps = {plan.copies * 0.02:g} <= 0.1"
    return (holds if changed == plan.copies and plan.copies * 0.02 <= 0.1 else refuted)(said, "exact")


def _proved_over_stated(label: str, plan: Padding, alpha: float, epsilon: float, epsilon_0: float) -> float:
    """(k/alpha) n_0, the records without which k copies would solve the small problem with fewer than n_0, over the
    transfer of a lemma; alpha_0 is 1.
    """
    at = {"alpha": alpha, "epsilon": epsilon, "alpha_0": 1.0, "epsilon_0": epsilon_0, "n_0": 1.0}
    stated = claim(label).at(at)
    return plan.copies / alpha / float(stated)


@check("l1_geometry/lem-d5", kind="lower-bound")
def plans_of_the_reduction(context: Context) -> Verdict:
    """On a grid: k n' <= n, k eps <= eps_0, delta grows by eps_0/eps at most, k >= 0.47 eps_0/eps (k = 1 near
    eps_0).
    """
    broken, worst, plans = [], math.inf, 0
    for n, e0, ratio, share in itertools.product(
        (50, 1000), (0.01, 0.1), (0.001, 0.1, 0.5, 0.97, 1.0), (0.01, 0.5, 1.0)
    ):
        e = e0 * ratio
        plan = padding(n, share, e, 1.0, e0)
        growth = math.expm1(plan.copies * e) / math.expm1(e)
        fits = plan.copies * plan.small <= n and plan.copies * e <= e0 and growth <= e0 / e * (1 + 1e-9)
        plans += 1
        if not fits:
            broken.append((n, e0, ratio, share))
        if plan.copies < n:
            worst = min(worst, _proved_over_stated("l1_geometry/lem-d5", plan, share, e, e0))
    literal = math.floor(math.log1p(0.1) / 0.097)
    said = f"{len(broken)} of {plans} plans fail; k eps/eps_0 >= {worst:.3g}; printed k = {literal} at eps = 0.97 eps_0"
    numbers: dict[str, Any] = {"least k eps/eps_0": worst, "printed k at eps = 0.097": literal}
    return (refuted if broken or worst < 0.45 else holds)(said, "exact", numbers=numbers)


@check("l1_geometry/lem-d5", kind="privacy")
def delta_of_the_reduction(context: Context) -> Verdict:
    """(e^(k eps) - 1)/(e^eps - 1) <= eps_0/eps when k eps <= log(1 + eps_0), as u/(e^u - 1) falls."""
    e = sp.Symbol("epsilon", positive=True)
    top, base = sp.Symbol("epsilon_0", positive=True), sp.exp(e) - 1
    # e^(k eps) - 1 <= eps_0 and e^eps - 1 >= eps: quotients of positive numbers.
    return proved(
        {"numerator at its largest": sp.exp(sp.log(1 + top)) - 1 - top},
        {"series of e^eps - 1 - eps": sp.series(base - e, e, 0, 6).removeO()},
    )


@check("l1_geometry/lem-d2", kind="lower-bound", expect="undecided")
def constant_of_the_transfer(context: Context) -> Verdict:
    """The plans of the reduction at eps <= eps_0/2 make k copies with k eps/eps_0 below the printed constant 1."""
    values = [
        _proved_over_stated("l1_geometry/lem-d2", padding(10**6, 0.5, e0 * r, 1.0, e0), 0.5, e0 * r, e0)
        for e0 in (0.001, 0.05, 0.1)
        for r in np.linspace(0.01, 0.5, 200)
    ]
    said = f"k eps/eps_0 between {min(values):.4g} and {max(values):.4g}: the construction does not prove the printed 1"
    numbers = {"least": min(values), "largest": max(values)}
    if min(values) >= 1:
        return holds("the construction reaches the printed constant 1", "exact", numbers=numbers)
    return undecided(f"{said}, nor does this refute it", "exact", numbers=numbers)


@check("l1_geometry/fact-group-privacy", kind="privacy")
def group_of_gaussian_shifts(context: Context) -> Verdict:
    """The conversion is the library's; Gaussian noise at k times the distance stays below it on a grid."""
    from dpcheck.privacy import gaussian_delta

    left, right, mine, theirs = [], [], [], []
    for e, k in itertools.product((0.05, 0.3, 1.0), (1, 2, 3, 5)):
        mu = 0.3
        delta = gaussian_delta(mu, e)
        stated = float(claim("l1_geometry/fact-group-privacy").evaluate(k=k, epsilon=e, delta=delta))
        theirs.append(group(e, delta, k)[1])
        mine.append(stated)
        left.append(gaussian_delta(k * mu, k * e))
        right.append(stated)
    first = agree(mine, theirs, "delta of a group")
    if first.outcome != "holds":
        return first
    return accuracy.never_violated(
        left, right, statement="delta of the shifted Gaussian <= delta of the group", covers="the grid of eps and k"
    )
