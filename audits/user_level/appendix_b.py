"""Appendix B: Theorem B.1, of the linear-time algorithm."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
import sympy as sp

from dpcheck import symbols
from dpcheck.algorithms.user_level import PhasedSGD
from dpcheck.algorithms.user_level.sizes import best_q, log_ratio
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import bound_of, explicit_of, stated, unassumed
from dpcheck.harness import accuracy, domain, runtime
from dpcheck.harness.crossing import crossing, judge_crossing
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.relations import judged
from dpcheck.harness.scaling import Axial, Instance, admitted, powers, scaling
from dpcheck.harness.symbolic import agree, proved
from dpcheck.privacy import gaussian_delta
from dpcheck.running import Fixed, Run
from dpcheck.verdicts import Point, Verdict, combine, differs

from .cases import (
    BOWLS,
    DASHED,
    DELTAS,
    ELL,
    FAILURE,
    IN_CLOSED_FORM,
    PHASED_SIZES,
    REDUCED_1,
    SHAPES,
    WRONG,
    V,
    X,
    bowl,
    covered,
    linear,
    linear_time_bound,
    phased,
    plain,
    pulls,
    risk_verdict,
    stated_by_phases,
    with_certified_noise,
)

BY_PRINTED_LINES = ("user_level/thm-b1", "user_level/thm-2-1", "user_level/thm-2-1@derived")
"""The algorithm is the same, and so is the rate, but for powers of ε and of logarithms."""


@check("user_level/thm-b1", kind="runtime", grid={"size": tuple(PHASED_SIZES)})
def linear_time(context: Context, *, size: str) -> Verdict:
    """At most nm gradients at printed constants."""
    n, m, epsilon, delta = PHASED_SIZES[size]
    spent = float(PhasedSGD().schedule(plain(10, m, epsilon, delta), n).gradients)
    return runtime.verdict(spent, float(n * m), what="planned gradients", x=float(n * m), variable="nm")


@check("user_level/thm-b1", kind="risk", also=("user_level/alg-1", "user_level/thm-b1@summed"))
def risk_where_the_start_fails(context: Context) -> Verdict:
    """Linear losses of a mean so large that no output without data keeps the recursion (reduced noise)."""
    work, n = linear(3, 8, -0.98), 4096
    verdict = risk_verdict(context, REDUCED_1, work, n, context.scale(200, 600), "linear, large mean")
    return with_certified_noise(verdict, context, REDUCED_1, work, n)


@scaling(
    "user_level/thm-b1", variable="m", part="private", family=BOWLS, engine=IN_CLOSED_FORM, mutants=WRONG,
    sizes=by_size(powers(2, range(0, 13, 6)), powers(2, range(0, 17, 4))), also=("user_level/thm-2-1",),
)  # fmt: skip
def slope_in_samples_of_a_user(*, m: int, curvature: float) -> Instance:
    """Mean excess risk over m at the printed constants, n = 10^32, d = 4, the worst over bowls of every curvature."""
    return phased(curvature, m=m)


def in_closed_form(variable: str, sizes: Any) -> Any:
    """A row of it."""
    return scaling(
        "user_level/thm-b1@balanced", variable=variable, sizes=sizes, against="explicit", family=BOWLS,
        engine=IN_CLOSED_FORM, mutants=WRONG,
        also=BY_PRINTED_LINES,
    )  # fmt: skip


@in_closed_form("n", by_size(powers(10, range(24, 49, 12)), powers(10, range(24, 49, 6))))
def slope_in_users(*, n: int, curvature: float) -> Instance:
    """Mean excess risk over n at the printed constants against the order with its logarithms."""
    return phased(curvature, n=n)


@in_closed_form("d", by_size(powers(2, range(4, 29, 12)), powers(2, range(4, 29, 6))))
def slope_in_the_dimension(*, d: int, curvature: float) -> Instance:
    """The same over d."""
    return phased(curvature, d=d)


@in_closed_form("epsilon", by_size(powers(2, range(-12, 1, 6)), powers(2, range(-12, 1, 3))))
def slope_in_epsilon(*, epsilon: float, curvature: float) -> Instance:
    """The same over epsilon."""
    return phased(curvature, epsilon=epsilon)


@in_closed_form("L", by_size(powers(2, range(0, 17, 8)), powers(2, range(0, 17, 4))))
def slope_in_the_lipschitz_constant(*, L: float, curvature: float) -> Instance:
    """The same over L, of bowls that are no steeper for it."""
    return phased(curvature, L=L)


@in_closed_form("D", by_size(powers(2, range(-16, 1, 8)), powers(2, range(-16, 1, 4))))
def slope_in_the_diameter(*, D: float, curvature: float) -> Instance:
    """The same over the diameter."""
    return phased(curvature, D=D)


@in_closed_form("delta", DELTAS)
def slope_in_delta(*, delta: float, curvature: float) -> Instance:
    """The same over log(1/delta), in many dimensions."""
    return phased(curvature, delta=delta, d=10**6)


@check(
    "user_level/thm-b1", kind="accuracy", grid={"curvature": (0.1, 1.0), "d": (1, 3)}, expect="consistent"
)  # fmt: skip
def phases_in_closed_form(context: Context, *, curvature: float, d: int) -> Verdict:
    """The phases that these rates rest on, against runs on drawn users with hardly any noise, n = 512 and m = 8."""
    instance = bowl(replace(REDUCED_1, c_noise=1e-6), 512, 8, d, curvature, drawn=True)
    return admitted(Axial(pulls, 40_000), instance, context.scale(400, 2000), context)


PHASES = {"epsilon = 10, m = 1000": (10**6, 1000, 10, "1/2"), "epsilon = 1, m = 10": (150_000, 10, 1, "51/625")}


def rational(value: float | str) -> float:
    """A witness's rational as a float: "1/3" or a number."""
    if not isinstance(value, str):
        return float(value)
    top, _, bottom = value.partition("/")
    return int(top) / int(bottom or 1)


@check("user_level/thm-b1@literal", kind="privacy", grid={"point": tuple(PHASES)}, expect="refuted")
def printed_hypothesis_leaves_an_empty_phase(context: Context, *, point: str) -> Verdict:
    """C over the users of the last phase, inside the printed hypothesis, delta = 1e-6."""
    users, samples, eps, q = PHASES[point]
    power = rational(q)
    last = (1 - 2**-power) * users * 2 ** (-power * (users.bit_length() - 1))
    value = 100 * log_ratio(20 * users * samples, eps, 1e-6) / eps / last
    # Evaluating the claim enforces the hypothesis.
    at = {"n": users, "m": samples, "d": 1, "q": power, "L": 1.0, "D": 1.0, "H": 0.0}
    allowed = stated("user_level/thm-b1@literal", epsilon=float(eps), delta=1e-6, **at)
    return accuracy.never_violated(
        value,
        allowed,
        statement="C/n_l <= 1",
        witness=lambda _: witnessed(
            "user_level/thm-b1@literal",
            "thm_b1_last_phase",
            allowed,
            value,
            n=users,
            m=samples,
            epsilon=eps,
            delta="1/1000000",
            q=q,
        ),
    )


@check("user_level/thm-b1@enough-users", kind="symbolic")
def last_phase_under_the_repaired_hypothesis(context: Context) -> Verdict:
    """n_l over (1 - 2^-q) n^(1-q) is (n/2^l)^q >= 1, as n/2^l lies in [1, 2)."""
    # unbound: the last phase over what the bound has of n and q; the groups are the same in both
    x, power = sp.symbols("x q", positive=True)
    return domain.never_positive(-power * sp.log(x), {"x": (1, 2), "q": (0, 1)}, statement="(n/2^l)^(-q) <= 1, in logs")


def both_small_fails(users: int, samples: int, eps: float, dlt: float) -> float:
    """P(not both noises below 2C/15): 2t - t^2 with t = exp(-(2C/15) eps/20), C = 100 log(20nm e^eps/delta)/eps."""
    groups = 100 * log_ratio(20 * users * samples, eps, dlt) / eps
    tail = math.exp(-(2 * groups / 15) * eps / 20)
    return 2 * tail - tail**2


@check("user_level/thm-b1@tail", kind="privacy", grid={"log_10_delta": (14, 16, 20)}, expect="refuted")
def tail_line_at_small_delta(context: Context, *, log_10_delta: int) -> Verdict:
    """The exact probability against delta/(10 e^epsilon), n = 10^6 users with m = 10, epsilon = 1, q = 7/100.

    Inside every hypothesis of Theorem B.1 and of Theorem 3.1, for losses without curvature; 10^-14 is 1/(nm)^2.
    """
    dlt, users, samples = 10.0**-log_10_delta, 10**6, 10
    at = {"n": users, "m": samples, "d": 1, "q": 0.07, "L": 1.0, "D": 1.0, "H": 0.0}
    value = both_small_fails(users, samples, 1.0, dlt)
    allowed = stated("user_level/thm-b1@tail", delta=dlt, epsilon=1.0, **at)
    return accuracy.never_violated(
        value,
        allowed,
        statement="P(not both noises small) <= delta/(10 e^epsilon)",
        witness=lambda _: witnessed(
            "user_level/thm-b1@tail",
            "thm_b1_tail",
            allowed,
            value,
            n=users,
            m=samples,
            epsilon=1,
            delta=f"1/{10**log_10_delta}",
            q="7/100",
        ),
    )


@check("user_level/thm-b1@tail-exact", kind="privacy", also=("user_level/thm-b1@tail",))
def tail_line_on_both_sides_of_its_border(context: Context) -> Verdict:
    """2t over delta/(10 e^epsilon) on both sides of the border: below and above 1, over sizes and epsilon."""
    points, wrong = [], 0
    for size, eps in itertools.product((10**4, 10**6, 10**9), (0.1, 1.0, 10.0)):
        border = stated("user_level/thm-b1@tail-exact", n=size, m=1.0, epsilon=eps)
        for share in (0.01, 0.1, 0.99, 1.01, 10.0, 100.0):
            dlt = share * border
            tail = math.exp(-2 / 3 * log_ratio(20 * size, eps, dlt))
            ratio = 2 * tail / unassumed("user_level/thm-b1@tail", delta=dlt, epsilon=eps)
            wrong += (ratio <= 1) != (share > 1)
            points.append((share, ratio))
    verdict = agree([1.0 + wrong], [1.0], f"one plus the points on the wrong side of the border, of {len(points)}")
    # The quotient depends on delta over the border alone: one curve for all sizes.
    marks = {f"{share:g}": Point(x=share, value=ratio, series="all sizes", bound=1.0) for share, ratio in points}
    axes = ("delta over the border", "2t over the right side (true up to 1)")
    return replace(verdict, points=tuple(marks.values()), axes=axes, dashed="the border")


SURVIVAL = {
    "n = 200000, m = 10, epsilon = 1, delta = 1e-6": (200_000, 10, 1.0, 1e-6),
    "n = 100000, m = 10, epsilon = 10, delta = 1e-6": (100_000, 10, 10.0, 1e-6),
    "n = 1000000, m = 10, epsilon = 0.1, delta = 1e-8": (1_000_000, 10, 0.1, 1e-8),
    "n = 1000000, m = 1000, epsilon = 1, delta = 1e-20": (1_000_000, 1000, 1.0, 1e-20),
}


def repaired_share(users: int, samples: int, eps: float, dlt: float) -> tuple[float, float]:
    """Noise that Definition A.5 asks for at (eps/4, delta/n) over the printed sigma_i; the exact delta over delta/n.

    Event |Lap(20/eps)| < C/5: s >= 3C/5 on both sides, 3C/5 points of p >= 3/5 (one point and one neighbour fewer after
    the change); |S| and the number B of other inclusions by binomial quantiles at delta/(10 e^eps) each.
    """
    at = {"n": float(users), "m": samples, "epsilon": eps, "delta": dlt}
    C, chance = int(stated("user_level/alg-1@groups", **at)), dlt / (10 * math.exp(eps))
    core = math.ceil(3 * C / 5) - 1
    kept = float(scipy.stats.binom.ppf(chance, core, 6 * (core / C) - 3))
    other = int(np.argmax(scipy.stats.binom.sf(np.arange(min(C, 2000)), C - 1, 6 / C) <= chance))
    moved = 4 * (2 + other) / kept  # in units of tau
    printed = stated("user_level/alg-1@sigma", **at, tau=1.0, C=C)
    needed = math.sqrt(stated("user_level/def-a5", Delta=moved, epsilon=eps / 4, delta=dlt / users))
    return needed / printed, gaussian_delta(moved / printed, eps / 4) / (dlt / users)


@check("user_level/thm-b1@corrected", kind="privacy", grid={"point": tuple(SURVIVAL)})
def privacy_survives_with_another_event(context: Context, *, point: str) -> Verdict:
    """The printed noise against what Definition A.5 asks for, on the event |Laplace noise| < C/5."""
    noise, exact = repaired_share(*SURVIVAL[point])
    users, samples, eps, dlt = SURVIVAL[point]
    tail = math.exp(-log_ratio(20 * users * samples, eps, dlt))
    allowed = stated("user_level/thm-b1@corrected", n=users, m=samples, delta=dlt, epsilon=eps)
    verdict = accuracy.never_violated(
        [noise, exact, (2 * tail - tail**2) / allowed],
        1.0,
        statement="noise asked for over printed, exact delta over delta/n, P(not both small) over its bound, <= 1",
        covers=f"all that the argument needs at {point}",
        evidence="certificate",
    )
    numbers = {"noise asked for over printed": noise, "exact delta over delta/n": exact}
    return replace(verdict, numbers=numbers)


@check("user_level/thm-b1@corrected", kind="privacy")
def privacy_survives_over_the_legal_range(context: Context) -> Verdict:
    """The noise asked for on that event over the printed one, n >= 10^3, all m, epsilon <= 10, delta <= 10^-4.

    3C/5 - 1 points stay with p_j >= 3/5 - 6/C each, and |S| misses its mean by sqrt(3C y/10) at most (Hoeffding), y =
    log(10 e^epsilon/delta); C >= 10 x and C >= 10 y leave a share of C in v = 1/x alone.
    """
    a, u = symbols.positive("a u")
    groups = explicit_of("user_level/alg-1@groups").args[0]  # before it is rounded up
    most = {symbols.n: sp.exp(a), symbols.m: 1 + ELL, symbols.delta: sp.exp(a - X), symbols.epsilon: 10 / (1 + u)}
    least, y = (sp.expand_log(size.subs(most), force=True, factor=True) for size in (groups, -sp.log(FAILURE)))
    enough = proved({}, {f"C >= 10 {name}": sp.expand(least - 10 * size) for name, size in (("x", X), ("y", y))})
    core = (sp.Rational(3, 5) - V / 10) * (sp.Rational(3, 5) - 6 * V / 10)
    moved = 4 * symbols.tau * (2 + symbols.B) / symbols.C
    return combine([covered(moved, core - sp.sqrt(sp.Rational(3, 100))), enough])


@check("user_level/thm-b1@derived", kind="symbolic", also=("user_level/thm-b1@on-the-event",))
def recursion_against_its_closed_form(context: Context) -> Verdict:
    """The recursion of the code without clipping against the claim's geometric sums, n up to 10^28."""
    ratios, points = [], []
    for exponent in (6, 9, 12, 20, 28):
        n = 10**exponent
        told = plain(10, 10, 1.0, 1 / (10 * n))
        algorithm = PhasedSGD(project=False)
        value = bound_of("user_level/thm-b1@on-the-event", algorithm, told, n)
        closed = stated(
            "user_level/thm-b1@derived",
            n=float(n),
            m=10.0,
            d=10.0,
            epsilon=1.0,
            delta=1 / (10 * n),
            p=algorithm.exponent(told, n),
            q=best_q(n),
            D=1.0,
            L=1.0,
            H=1.0,
        )
        ratios.append(value / closed)
        points.append(Point(x=float(n), value=value, bound=closed))
    # Rounding of C and N_i moves the recursion a little; the sums of the claim run to infinity.
    off = max(abs(r - 1) for r in ratios[1:])
    said = f"recursion over closed form between {min(ratios):.4g} and {max(ratios):.4g}"
    numbers = {f"ratio at n = {p.x:g}": r for p, r in zip(points, ratios, strict=True)}
    axes = ("n", "risk bound by the recursion")
    return judged(
        off, "<", 0.05, said, "exact", otherwise=differs, numbers=numbers, points=tuple(points), axes=axes,
        dashed="closed form",
    )  # fmt: skip


@check("user_level/thm-b1@derived", kind="symbolic")
def closed_form_of_the_series(context: Context) -> Verdict:
    """At n = 2^(l + 1) and settings before rounding, the closed form is the sum over l phases, and 3LD/(nm).

    The largest n of l phases: there the bound of the last one is attained, and what the series has beyond is 10^-15.
    """
    values, wanted = [], []
    for last, p, q, sizes in ((18, 3.1, 0.3, (7, 3, 0.5)), (30, 2.2, 0.15, (2, 40, 3.0)), (24, 2.6, 0.05, (1, 1, 9.0))):
        (samples, dims, eps), users, L, R = sizes, 2.0 ** (last + 1), 1.7, 0.6
        at = {"n": users, "m": samples, "d": dims, "epsilon": eps, "delta": 1e-7, "L": L, "D": R}
        least = unassumed("user_level/thm-b1@enough-users", **at, q=q)
        groups = users ** (1 - q) * (1 - 2**-q) / least
        rows: dict[str, list[float]] = {"eta": [], "T": [], "sigma": []}
        for i in range(1, last + 1):
            step = 2 ** (-p * i) * R / (L * math.sqrt(dims * samples * users * eps))
            steps = samples * (1 - 2**-q) * users * 2 ** (-q * i) / groups
            tau = stated("user_level/alg-1@tau", **at, eta=step, T=steps)
            for name, value in zip(
                rows, (step, steps, stated("user_level/alg-1@sigma", **at, tau=tau, C=groups)), strict=True
            ):
                rows[name].append(value)
        legs = stated_by_phases("user_level/thm-b1@on-the-event", rows, l=last, L=L, D=R, R=math.inf, d=dims)
        values.append(unassumed("user_level/thm-b1@derived", **at, p=p, q=q))
        wanted.append(legs + 3 * L * R / (users * samples))
    return agree(values, wanted, "closed form over the series", tolerance=1e-12)


def random_phases(context: Context, count: int) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Settings of Algorithm 1 in each of its phases, and numbers of the problem, all different and none 1."""
    rng = context.rng(count)
    ranges = {"eta": (0.01, 0.3), "T": (300, 3e4), "sigma": (0.01, 1.5), "C": (8, 60), "b": (0.4, 3), "tau": (30, 60)}
    rows = {name: [float(x) for x in np.exp(rng.uniform(*np.log(ends), count))] for name, ends in ranges.items()}
    rows["tau"] = [
        share * step * math.sqrt(T) for share, step, T in zip(rows["tau"], rows["eta"], rows["T"], strict=True)
    ]
    return rows, {"d": 3.0, "L": 1.3, "D": 40.0, "R": 1.1}


@check(
    "user_level/thm-b1@summed",
    kind="symbolic",
    also=("user_level/thm-b1@on-the-event", "user_level/proc-group-privacy@summed"),
    grid={"phases": (1, 2, 3, 5)},
)
def phases_by_their_lemmas(context: Context, *, phases: int) -> Verdict:
    """Lemma B.3 from where noise left each phase, the Lipschitz constant for the last noise, and the chance of a bad
    phase: a tail of Laplace noise, and Lemma 2.3 at the distance tau, solved for its probability, for every pair.
    """
    bounds, wanted = [], []
    for draw in range(6):
        rows, at = random_phases(context, phases + 100 * draw)
        rows = {name: values[:phases] for name, values in rows.items()}
        at["R"] = math.inf if draw % 2 else at["R"]
        legs, away, bad = 0.0, at["D"], 0.0
        for step, T, sigma, groups, scale, tau in zip(*rows.values(), strict=True):
            legs += stated("user_level/lem-b3@derived", D=away, eta=step, T=T, L=at["L"])
            away = min(at["R"], math.sqrt(at["d"]) * sigma)
            bad += float(scipy.stats.laplace.sf(groups / 5, scale=scale)) + far_pairs(step, T, tau, at["L"], groups)
        legs += at["L"] * away
        values = {"l": phases, **at}
        bounds += [stated_by_phases(label, rows, **values) for label in SUMMED_LABELS]
        most = at["L"] * at["R"]
        wanted += [legs, min(most, legs), min(most, legs + at["L"] * at["D"] * min(1.0, bad))]
    return agree(bounds, wanted, "the bound over the sum of its phases", tolerance=1e-9)


@check("user_level/thm-b1@summed", kind="accuracy", also=("user_level/alg-1",))
def printed_noise_leaves_no_more_than_LR(context: Context) -> Verdict:
    """With the printed noise, which is far above the domain, the bound of a plan is LR, and more where nothing is
    projected; L = R = 1 in l2, and other numbers in other norms.
    """
    told, n = plain(10, 10), 200_000
    inside, outside = (
        bound_of("user_level/thm-b1@summed", PhasedSGD(project=project), told, n) for project in (True, False)
    )
    if outside < 100:
        return differs(f"the bound without projections is {outside:.6g}, with noise far above the domain", "exact")
    return agree([inside], [1.0], "the bound of a plan over LR")


SUMMED_LABELS = ("user_level/thm-b1@on-the-event", "user_level/proc-group-privacy@summed", "user_level/thm-b1@summed")


def far_pairs(step: float, T: float, tau: float, L: float, groups: float) -> float:
    """A bound on the chance that two of the averages are more than tau apart: 0 where steps cannot go so far."""
    if step * L * (T - 1) <= tau:
        return 0.0

    def beyond(root: float) -> float:
        zeta = math.exp(-(root**2) / 2)
        return stated("user_level/lem-2-3@derived", eta=step, L=L, T=T, H=0.0, zeta=zeta) - tau

    root = float(scipy.optimize.brentq(beyond, 0.0, 30.0, xtol=1e-13)) if beyond(0.0) < 0 else 0.0
    return groups * (groups - 1) / 2 * math.exp(-(root**2) / 2)


FROM = dict(zip(SHAPES, ((2.5e27, 1.2e20), (1.0e22, 4.6e14), (1.3e26, 8.8e18), (8.1e29, 2.9e22)), strict=True))
"""The table of the mathematics, as printed and with projected iterates."""


@check("user_level/thm-b1@derived", kind="risk", grid={"setting": tuple(SHAPES)})
def smallest_n_of_theorem_b1(context: Context, *, setting: str) -> Verdict:
    """First n at which the bound, as printed and with projected iterates, is below L R, q best, J = 1/5."""
    m, d, eps = SHAPES[setting]
    verdicts, numbers = [], {}
    for clipped, reference in zip((False, True), FROM[setting], strict=True):
        name = "with projection" if clipped else "as printed"

        def bound(x: float, clipped: bool = clipped) -> float:
            return linear_time_bound(x, m, d, eps, clipped=clipped)

        numbers[f"smallest n {name}"] = crosses = crossing(bound)
        verdicts.append(judge_crossing(name, bound, crosses, reference))
    verdict = combine(verdicts)
    points = tuple(
        Point(x=10.0**k, value=linear_time_bound(10.0**k, m, d, eps, clipped=c), series=f"{setting}, {name}", bound=1.0)
        for c, name in ((False, "as printed"), (True, "with projection"))
        for k in range(6, 34, 3)
    )
    return replace(verdict, numbers=numbers, points=points, axes=("n", "bound over LR"), **DASHED)


def _order(log_n: int, m: int, d: int) -> float:
    at = {"n": 2.0**log_n, "m": m, "d": d, "epsilon": 1.0, "delta": 1 / (m * 2**log_n), "L": 1.0, "D": 1.0}
    return unassumed("user_level/thm-b1", **at)


def travel(log_n: int, m: int, d: int) -> float:
    """s: how far the averages of SGD can go from their starts in all phases together, epsilon = 1, L = R = 1."""
    phases_ = PhasedSGD().schedule(plain(d, m, 1.0, 1 / (m * 2**log_n)), 2**log_n).phases
    return sum(phase.eta * (phase.steps - 1) / 2 for phase in phases_)


@check("user_level/thm-b1@travel", kind="risk", grid={"log_n": by_size([18], [18], [18, 20])})
def printed_algorithm_1_on_two_opposite_data_sets(context: Context, *, log_n: int) -> Verdict:
    """Two runs with the same noise, all samples u in one and -u in the other, printed constants (private), m = d = 10.

    The mean of the two excess risks is at least LR/2 - L s in every trial; the bound is above 0 up to 2^36. On average
    it is below LR/2: what pulls the two apart may shrink in a projection, but does not turn.
    """
    users, m, d, trials = 2**log_n, 10, 10, context.scale(4, 20)
    told, algorithm = plain(d, m, 1.0, 1 / (m * users)), PhasedSGD(order="fixed")
    plan, u = algorithm.schedule(told, users), np.full(d, 1 / math.sqrt(d))
    both = []
    for sign in (1.0, -1.0):
        run = Run(plan, trials, context.rng("noise"))
        data = Fixed(np.broadcast_to(sign * u, (1, users, m, d)))
        both.append(0.5 - algorithm.execute(run, linear(d, m), data, np.zeros((1, d))) @ (sign * u))
    least = stated("user_level/thm-b1@travel", L=1.0, D=1.0, s=travel(log_n, m, d))
    covers = "the runs share their noise, projection does not expand, and a step moves by eta L at most"
    verdict = accuracy.never_violated(
        least, (both[0] + both[1]) / 2, statement="LR/2 - L s <= mean excess of the two", covers=covers,
        evidence="certificate",
    )  # fmt: skip
    rows = {f"least excess at n = 2^{k}": 0.5 - travel(k, m, d) for k in (20, 24, 30, 36)}
    over = {f"the same over the order, n = 2^{k}": (0.5 - travel(k, m, d)) / _order(k, m, d) for k in (20, 24, 30, 36)}
    learned = float(0.5 - (both[0] + both[1]).mean() / 2)
    said = f"the two answers part towards their minimisers: the mean excess is {learned:.3g} LR below LR/2"
    parted = judged(learned, ">", 0.0, said, "exact", otherwise=differs)
    return combine([replace(verdict, numbers={**verdict.numbers, **rows, **over}), parted])
