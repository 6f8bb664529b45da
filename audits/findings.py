"""Checks of what the order calculus found: with constants, at real sizes, from the algorithms themselves."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import scipy

from dpcheck.algorithms.lp_spaces import FullBatchMirrorDescent
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import algorithm, claim
from dpcheck.engine.setting import Setting
from dpcheck.engine.statements import bound_of
from dpcheck.harness import lower_bound, risk
from dpcheck.harness.relations import judged
from dpcheck.verdicts import Point, Verdict, consistent, refuted, undecided

from .lp_spaces.cases import huber, problem


def compared(
    what: str,
    sides: tuple[str, str],
    smaller: float,
    larger: float,
    x: tuple[str, float],
    series: str = "",
    **numbers: float,
) -> Verdict:
    """HOLDS when the one number is at most the other; both are computed, neither is sampled.

    Args:
        sides: what the smaller and the larger number belong to.
        x: name and value of the variable in the figure.
    """  # fmt: skip
    said = f"{what}: {smaller:.4g} {sides[0]}, {larger:.4g} {sides[1]}"
    points = [Point(x=x[1], value=smaller, bound=larger, series=series)]
    fields = {"smaller": smaller, "larger": larger, **numbers}
    return judged(
        smaller,
        "<=",
        larger,
        said,
        "exact",
        numbers=fields,
        points=points,
        axes=(x[0], f"{what}, {sides[0]}"),
        dashed=sides[1],
        severity=smaller / larger,
    )


@check(
    "user_level/thm-2-1@dominated",
    kind="risk",
    grid={"n": by_size([2**20], [2**20, 2**22, 2**24]), "m": by_size([1, 256], [1, 16, 256]), "epsilon": (0.5, 1.0)},
)
def proved_risk_in_linear_time(context: Context, *, n: int, m: int, epsilon: float) -> Verdict:
    """The bounds with constants that both algorithms have, d = 10, δ = 1/n²: group privacy's is never larger."""
    setting = Setting(n=n, d=10, epsilon=epsilon, delta=1 / n**2, m=m, H=1e-3)
    baseline, linear = algorithm("user_level/proc-group-privacy"), algorithm("user_level/alg-1")
    values = [
        bound_of("user_level/proc-group-privacy@summed", baseline, setting.problem, n),
        bound_of("user_level/thm-b1@summed", linear, setting.problem, n),
    ]
    ratio = float(claim(context.label).evaluate(n=n, m=m))
    series = f"m = {m}, epsilon = {epsilon:g}"
    sides = ("by group privacy", "by Algorithm 1")
    return compared("proved excess risk", sides, *values, ("n", n), series, **{"ratio of the private terms": ratio})


@check("tsybakov/thm-6@range", kind="risk", grid={"n": by_size([2**14], [2**14, 2**18, 2**22]), "k": (2.0, 4.0, 16.0)})
def private_over_statistical(context: Context, *, n: int, k: float) -> Verdict:
    """At the largest ε of the theorem, d = 1, 10, 100, δ = 1/n, 1/n², n^{-8}: the ratio is at least the claimed one."""
    facts = []
    for d in (1, 10, 100):
        for delta in (1 / n, 1 / n**2, float(n) ** -8):
            epsilon = math.sqrt(math.log(n / delta) / n)
            ratio = (math.sqrt(d * math.log(1 / delta)) / (epsilon * n)) ** ((k - 1) / k) * math.sqrt(n)
            least = float(claim(context.label).evaluate(d=d, n=n, k=k, delta=delta, epsilon=epsilon))
            facts.append(lower_bound.Fact(f"the ratio at d = {d}, δ = {delta:.1g}", ratio, ">=", least, 1e-12))
    return lower_bound.verdict(facts)


@check("tsybakov/thm-6@range", kind="accuracy", grid={"n": by_size([2**14], [2**12, 2**16, 2**20])})
def noise_of_a_shuffled_batch(context: Context, *, n: int) -> Verdict:
    """Algorithm 6 as its schedule has it, d = 1, at the theorem's largest ε: noise exceeds sampling in every batch."""
    delta = 1 / n**2
    setting = Setting(n=n, d=1, epsilon=math.sqrt(math.log(n / delta) / n), delta=delta, k=2.0)
    (row,) = algorithm("tsybakov/alg-6@shuffle", k=2.0).schedule(setting.problem, n).phases
    sampling = setting.moment(2) ** 2 / row.b
    sides = ("by sampling", "by noise")
    return compared("variance of a batch", sides, sampling, row.sigma**2, ("n", n), batch=row.b)


@check("lp_spaces/thm-7@horizon", kind="accuracy", grid={"n": by_size([10**8, 10**10], [10**6, 10**8, 10**10, 10**12])})
def derived_bound_at_both_horizons(context: Context, *, n: int) -> Verdict:
    """The bound with constants behind Theorem 7, d = 10, p = 1.5, ‖θ*‖ = 1, as two formulas: smaller at the other T."""
    setting = Setting(n=n, d=10, epsilon=0.5, delta=1e-6, extra={"minimiser_norm": 1.0})
    printed, best = (
        bound_of("lp_spaces/thm-7@risk", algorithm("lp_spaces/alg-3@corrected", horizon=rule), setting.problem, n)
        for rule in ("paper", "best")
    )
    sides = ("at the other T", "at the printed T")
    return compared("derived excess risk", sides, best, printed, ("n", n), ratio=best / printed)


@check(
    "pure_heavy_tails/thm-e-1@clip",
    kind="risk",
    grid={"logarithm": by_size([30.0, 1e3], [10.0, 30.0, 100.0, 1e3]), "k": (2.0, 3.0, 8.0)},
)
def explicit_bound_at_both_levels(context: Context, *, logarithm: float, k: float) -> Verdict:
    """10/((k−1)C^{k−1}) + (2 + 4ℓ)C at x = d/(εn) = 1: the new C is better than the printed one, and near the best."""

    def bound(C: float) -> float:
        return 10 / ((k - 1) * C ** (k - 1)) + (2 + 4 * logarithm) * C

    printed, ours = bound(1.0), bound(logarithm ** (-1 / k))
    best = float(
        scipy.optimize.minimize_scalar(lambda u: bound(float(np.exp(u))), bounds=(-20, 5), method="bounded").fun
    )
    gain = {"least possible": best, "gain": printed / ours, "ℓ^{1/k}": logarithm ** (1 / k)}
    if ours > 3 * best:
        return refuted(f"the new C gives {ours:.4g}, {best:.4g} is possible", "exact", numbers=gain)
    sides = ("at the new C", "at the printed C")
    return compared("bound", sides, ours, printed, ("logarithm", logarithm), f"k = {k:g}", **gain)


@check(
    "pure_heavy_tails/thm-3-1@second-moment",
    kind="risk",
    grid={"k": (3.0, 4.0, 8.0), "G_k": (3.0, 10.0), "side": (0.1, 10.0)},
)
def private_terms_on_both_sides(context: Context, *, k: float, G_k: float, side: float) -> Verdict:
    """The solver's proved distance, run with k and with 2 at G_2 = 1, ten times below and above the crossing."""
    d, epsilon, m = 4.0, 1.0, 1e6
    crossing = float(claim(context.label).evaluate(G_2=1.0, G_k=G_k, k=k))
    m = d / (epsilon * crossing * side)
    shared = {"m": m, "d": d, "epsilon": epsilon, "lambda_": 1.0}
    distance = claim("pure_heavy_tails/prop-3-2@derived")
    second = float(distance.evaluate(G_k=1.0, k=2.0, **shared))
    higher = float(distance.evaluate(G_k=G_k, k=k, **shared))
    smaller, larger = (second, higher) if side > 1 else (higher, second)
    sides = ("with k = 2", f"with k = {k:g}")
    series = f"k = {k:g}, G_k = {G_k:g}"
    verdict = compared(
        "proved distance", sides if side > 1 else sides[::-1], smaller, larger, ("d/(nε) over the crossing", side),
        crossing=crossing,
    )  # fmt: skip
    point = Point(x=side, value=higher / second, bound=1.0, series=series)
    axes = ("d/(nε) over the crossing", "proved distance with k over that with k = 2")
    return replace(verdict, points=[point], axes=axes, dashed="as large")


@check("lp_spaces/thm-7@horizon", kind="risk", grid={"n": by_size([10**8], [10**8, 10**9])}, expect="consistent")
def excess_at_both_horizons(context: Context, *, n: int) -> Verdict:
    """Algorithm 3 with the dual exponent and its own noise, p = 3/2, d = 3: every run at the other T beats every run at
    the printed one.
    """
    # unbound: runs at two horizons against each other, whatever the bound is
    work, setting, trials = huber(3), problem(huber(3), 0.9), 16
    printed, other = (
        risk.excess_risks(
            FullBatchMirrorDescent(horizon=rule, exponent="corrected", kappa_rule="safe"), work, setting, n, trials,
            context.seed, context.name, rule, n, gradients=1e18,
        )
        for rule in ("paper", "best")
    )  # fmt: skip
    numbers = {"printed T": float(printed.mean()), "other T": float(other.mean()), "trials": trials}
    said = f"mean excess {other.mean():.3g} at the other T, {printed.mean():.3g} at the printed one, n = {n:.0e}"
    chance = 1 / math.comb(2 * trials, trials)  # of this order, if both had one law
    if other.max() < printed.min():
        seen = "one law of the excess at both horizons"
        return consistent(said, "sampled", notices=seen, failure_probability=chance, numbers=numbers)
    return undecided(said, "sampled", failure_probability=chance, numbers=numbers)
