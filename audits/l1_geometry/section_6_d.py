"""Section 6 and Appendix D: lower bounds, their instances, and the reductions behind them."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp
from scipy import stats

from dpcheck.accounting import group
from dpcheck.algorithms.l1_geometry.reductions import bootstrap, pad_and_copy, padding
from dpcheck.checks import Context, check
from dpcheck.engine.catalogue import claim
from dpcheck.harness import accuracy, lower_bound
from dpcheck.harness.lower_bound import Fact
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Array, Schedule
from dpcheck.running import Fixed, Run
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Point, Verdict, differs, holds, refuted, undecided
from dpcheck.workloads.crosspolytope import SignLasso

from ._instances import location
from .lower_bounds import sign_error


@check("l1_geometry/lem-6-1", kind="lower-bound", expect="consistent")
def gaussian_signs_respect_the_bound(context: Context) -> Verdict:
    """The matching mechanism's exact worst error over sqrt d/(n eps log d) stays above a positive constant (nothing
    beats it).
    """
    ratios, points = [], []
    for n, d, e in itertools.product((10**3, 10**5), (16, 256, 4096), (0.05, 0.5)):
        if n * e < math.sqrt(d) / math.log(d):
            continue
        bound = float(claim("l1_geometry/lem-6-1").evaluate(D=1, d=d, n=n, epsilon=e))
        error = sign_error(n, d, e, 1 / n**2)
        ratios.append(error / bound)
        points.append(Point(x=float(d), value=error, bound=bound, series=f"n = {n}, epsilon = {e:g}"))
    found = accuracy.never_violated(
        np.full(len(ratios), 0.3), ratios, statement="0.3 <= worst error over sqrt d/(n eps log d)", drawn=False
    )
    return replace(found, points=points, axes=("d", "error of the signs"), dashed="lower bound, its constant set to 1")


@check("l1_geometry/lem-6-1@literal", kind="lower-bound", expect="refuted")
def random_signs_beat_the_uncapped_bound(context: Context) -> Verdict:
    """Random signs err by exactly half of sum |mean z_j| <= D, by enumerating all sign vectors on exact means; at n =
    epsilon = 1 and d = 10^12 the bound with the constant 1/1000 exceeds that.
    """
    facts = []
    for means in ((1, 1, 1), (0, 1, 1), (1, 0, 0)):
        z = [Fraction(m, 3) for m in means]
        signs = list(itertools.product((-1, 1), repeat=3))
        error = sum(sum(abs(v) for v, s in zip(z, one, strict=True) if s == -1) for one in signs) / Fraction(8)
        facts.append(Fact("error of random signs", error, "=", sum(z) / Fraction(2)))
        facts.append(Fact("and at most D/2", error, "<=", Fraction(1, 2)))
    if not all(fact.holds for fact in facts):
        return differs(f"random signs: {next(fact for fact in facts if not fact.holds)}")
    return refuted_by("l1_geometry/lem-6-1@literal", "lem_6_1_range", n=1, d=10**12, epsilon=1, constant="1/1000")


@check("l1_geometry/lem-6-1@corrected", kind="symbolic")
def error_at_which_the_records_run_out(context: Context) -> Verdict:
    """Proposition 1 solved for alpha; the cap binds at n eps = sqrt d/log d; the matching mechanism is log d above it.

    Its noise has d sigma = 2 sqrt(2 d log(1.25/delta))/(n eps), and its worst error is d sigma max x Phi(-x).
    """
    n, d, e, D, a = (BY_NAME[x] for x in ("n", "d", "epsilon", "D", "alpha"))
    free = claim("l1_geometry/lem-6-1").order / D
    needed = claim("l1_geometry/prop-1@corrected").order
    capped = claim("l1_geometry/lem-6-1@corrected").order / D
    log, ell, t = sp.symbols("w l t", positive=True)  # log(1.25/delta), log d
    sigma = 2 * sp.sqrt(2 * log) / (n * sp.sqrt(d) * e)
    inside = capped.subs(n, (1 + t) * sp.sqrt(d) / (e * sp.log(d)))
    return proved(
        {
            "Proposition 1 at this error": needed.subs(a, free) - n,
            "cap": free.subs(n, sp.sqrt(d) / (e * sp.log(d))) - 1,
            "with more records the cap is idle": inside - 1 / (1 + t),
            "matching mechanism over the bound": (d * sigma / free).subs(sp.log(d), ell) - 2 * sp.sqrt(2 * log) * ell,
        }
    )


@check("l1_geometry/thm-10@derived", kind="lower-bound")
def excess_of_the_location_loss(context: Context) -> Verdict:
    """The empirical excess on the box equals L sum |z_bar_j| (1 - x_j sgn(z_bar_j) d/D), on random data and points."""
    work, rng = location(5), context.rng()
    size = context.scale(500, 5000)
    z = work.rows(rng, size, 7)
    x = rng.uniform(-work.a, work.a, (size, 5))
    mean = z.mean(axis=1)
    best = work.a * np.sign(mean)

    def empirical(w: Array) -> Array:
        return np.asarray(work.loss(w[:, None], z).mean(axis=1))

    left = empirical(x) - empirical(best) + 1.0
    right = (np.abs(mean) * (1 - x * np.sign(mean) / work.a)).sum(axis=1) + 1.0
    return agree(left, right, "excess, plus 1", 1e-12)


@check("l1_geometry/thm-10", kind="lower-bound", expect="consistent")
def excess_is_at_least_the_sign_error(context: Context) -> Verdict:
    """Any point of the ball has excess at least L sum |z_bar_j| 1{wrong sign}: random data, points in and out of the
    box.
    """
    work, rng = location(4), context.rng()
    size = context.scale(2000, 20_000)
    z = work.rows(rng, size, 7)
    x = work.project(rng.standard_normal((size, 4)) * 0.6)
    mean = z.mean(axis=1)
    best = work.a * np.sign(mean)
    excess = work.loss(x[:, None], z).mean(axis=1) - work.loss(best[:, None], z).mean(axis=1)
    wrong = (np.abs(mean) * (np.sign(x) != np.sign(mean))).sum(axis=1)
    return accuracy.never_violated(
        wrong, excess + 1e-12, statement="sign error <= excess", failure_probability=context.failure_probability
    )


@check("l1_geometry/thm-10", kind="symbolic")
def excess_of_one_coordinate(context: Context) -> Verdict:
    """Of mean p|x - a| + (1 - p)|x + a|, p = (1 + g)/2 >= 1/2: at least g a, which is |z_bar_j|, at every x <= 0, and
    at least 0 elsewhere; so the excess is L times the error of Lemma 6.1 at least, whose order is multiplied by L.
    """
    a, u, v, rest = sp.symbols("a u v r", nonnegative=True)
    g = 1 / (1 + rest)  # in (0, 1]

    def excess(right: sp.Expr, left: sp.Expr) -> sp.Expr:
        """At distances `right` from a and `left` from -a."""
        return (1 + g) / 2 * right + (1 - g) / 2 * left - (1 - g) * a

    inside = a / (1 + u)  # |x| <= a
    L, order = BY_NAME["L"], claim("l1_geometry/thm-10").order
    return proved(
        {"L times Lemma 6.1": order - L * claim("l1_geometry/lem-6-1").order},
        {
            "wrong sign, in the box": sp.simplify(excess(a + inside, a - inside) - g * a),
            "wrong sign, beyond it": sp.simplify(excess(2 * a + v, v) - g * a),
            "right sign, in the box": sp.factor(excess(a - inside, a + inside)),
            "right sign, beyond it": sp.simplify(excess(v, 2 * a + v)),
        },
    )


@check("l1_geometry/thm-10@literal", kind="lower-bound", expect="refuted")
def the_origin_beats_the_uncapped_bound(context: Context) -> Verdict:
    """x = 0 has excess at most LD on every data set."""
    return refuted_by("l1_geometry/thm-10@literal", "thm_10_range", n=1, d=10**12, epsilon=1, constant="1/1000")


@check("l1_geometry/thm-11@literal", kind="lower-bound", expect="refuted")
def range_of_the_loss_below_the_bound(context: Context) -> Verdict:
    """At n = 1, epsilon = 10^-9 the bound with the constant 1/1000 exceeds the range 2LD of the loss."""
    return refuted_by("l1_geometry/thm-11@literal", "thm_11_range", n=1, d=100, epsilon=f"1/{10**9}", constant="1/1000")


@check("l1_geometry/thm-11@corrected", kind="transcription")
def cap_is_added_to_the_printed_bound(context: Context) -> Verdict:
    """The capped bound is LD min{1, printed/(LD)}."""
    L, D = (BY_NAME[x] for x in ("L", "D"))
    printed, capped = (claim(f"l1_geometry/thm-11{reading}").order for reading in ("", "@corrected"))
    return proved({"LD min{1, printed/(LD)}": capped / (L * D) - sp.Min(1, printed / (L * D))})


@check("l1_geometry/prop-1@literal", kind="lower-bound", expect="refuted")
def one_record_is_enough_for_large_alpha(context: Context) -> Verdict:
    """At alpha = 1/2, epsilon = 1, d = 10^12 the claimed sample complexity exceeds 1, with the constant 1/1000."""
    return refuted_by(
        "l1_geometry/prop-1@literal", "prop_1_samples", d=10**12, alpha="1/2", epsilon=1, constant="1/1000"
    )


@check("l1_geometry/prop-1@corrected", kind="symbolic")
def transfer_from_a_quarter(context: Context) -> Verdict:
    """Lemma D.2 from (1/4, 1/10), where Lemma D.1 speaks, gives 1/40 of the order, on alpha <= 1/8 and eps <= 1/20."""
    a, e = BY_NAME["alpha"], BY_NAME["epsilon"]
    transfer, stated = claim("l1_geometry/lem-d2").order, claim("l1_geometry/prop-1@corrected")
    base = {"alpha_0": sp.Rational(1, 4), "epsilon_0": sp.Rational(1, 10), "n_0": claim("l1_geometry/lem-d1").order}
    reached = transfer.subs({s: base[s.name] for s in transfer.free_symbols if s.name in base})
    ends = {sp.Le(a, base["alpha_0"] / 2), sp.Le(e, base["epsilon_0"] / 2)}
    if set(stated.assumptions) != ends:
        return differs(f"Lemma D.2 covers {ends}, the claim {stated.assumptions}")
    return proved({"1/40 of the order": reached / stated.order - sp.Rational(1, 40)})


@check("l1_geometry/lem-d3", kind="lower-bound")
def constants_of_the_lasso_family(context: Context) -> Verdict:
    """f = (<a,x> - y)^2, |a|_inf <= C, |y| <= CD, |x|_1 <= D: by enumerating the extreme a, y and x of the plane, the
    largest entries of gradient and Hessian are L = 4 C^2 D and beta = 2 C^2, so that beta = L/(2D) <= L/D.
    """
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
    d, n = (BY_NAME[x] for x in ("d", "n"))
    solved = sp.solve(n ** -sp.Rational(2, 3) - 1 / d, n)
    return proved({"n": solved[0] - claim("l1_geometry/lem-d6").order})


# Copies and padding ---------------------------------------------------------------------------------------------------


@check("l1_geometry/proc-pad-and-copy", kind="lower-bound")
def padded_losses_are_scaled(context: Context) -> Verdict:
    """F(x; S) = (k n'/n) F(x; S') on LASSO losses with zero padding, at random points."""
    rng, left, right = context.rng(), [], []
    work = SignLasso(x_star=(0.3, 0.1))
    for n, alpha in ((40, 0.02), (97, 0.05), (200, 0.1)):
        plan = padding(n, alpha, 0.02, 0.2, 0.1)
        small = work.rows(rng, 1, plan.small)
        big = pad_and_copy(small, plan, np.zeros((1, 3)))
        x = work.project(rng.standard_normal((20, 2)))
        left += list(work.loss(x[:, None], big).mean(axis=1))
        right += list(work.loss(x[:, None], small).mean(axis=1) * plan.copies * plan.small / n)
    return agree(left, right, "empirical losses", 1e-12)


@check("l1_geometry/proc-pad-and-copy", kind="privacy")
def copies_cost_group_privacy(context: Context) -> Verdict:
    """Replacing one record of S' replaces k of S and nothing else; the guarantee for groups of k is (k eps, ...)."""
    plan = padding(40, 0.02, 0.02, 0.2, 0.1)
    small = np.zeros((1, plan.small, 1))
    other = small.copy()
    other[0, 0] = 1.0
    changed = int(
        (pad_and_copy(small, plan, np.full((1, 1), 5.0)) != pad_and_copy(other, plan, np.full((1, 1), 5.0))).sum()
    )
    said = f"{changed} of {40} records change, k = {plan.copies}, k eps = {plan.copies * 0.02:g} <= 0.1"
    return (holds if changed == plan.copies and plan.copies * 0.02 <= 0.1 else refuted)(said, "exact")


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
            worst = min(worst, plan.copies * e / e0)
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
        padding(10**6, 1.0, e0 * r, 1.0, e0).copies * r
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


@check("l1_geometry/proc-bootstrap", kind="lower-bound")
def bootstrap_risk_is_empirical(context: Context) -> Verdict:
    """Averaged over all n^n draws, the loss of bootstrapped records is the empirical loss; a record occurs O(log n)
    times.
    """
    data = np.arange(3.0).reshape(1, 3, 1)
    draws = np.array(list(itertools.product(range(3), repeat=3)))

    class Listed:
        def integers(self, high: int, size: Any) -> Any:
            return draws

    plan: Any = Schedule(phases=(), releases=(), gradients=0, floats_per_trial=1, claimed=None)
    run: Run[Any] = Run(plan, len(draws), Listed())  # type: ignore[arg-type]
    rows = bootstrap(run, Fixed(data)).read().values
    often = float(stats.binom.sf(20, 10**6, 1e-6) * 10**6)
    numbers = {"chance that one of 10^6 records occurs more than 20 times": often}
    found = agree([float(((rows - 0.5) ** 2).mean())], [float(((data - 0.5) ** 2).mean())], "mean loss")
    return replace(found, numbers={**found.numbers, **numbers})
