"""Section 1: the rates of Theorems 1 and 2, and where the private terms of their algorithms cross.

By orders, by bounds with their constants, and measured. With all records equal nothing is left but privacy and
optimisation. Both algorithms are told the class L = H = 1, D = 2 and meet the worst of its losses: linear ones, over
slopes, and a bowl with its minimiser in the middle of a face, which 2^T Frank-Wolfe steps reach but slowly. Records are
counted, so that n = x/epsilon costs nothing. The descent of these checks has reduced noise; rows and verdicts say what
the accountant certifies of either's runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
import sympy as sp

from dpcheck.algorithms.l1_geometry import LocalizedMirrorDescent
from dpcheck.algorithms.l1_geometry.regret import ESTIMATE
from dpcheck.checks import Conclude, Context, by_size, check
from dpcheck.claims import evaluate
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import bound_of
from dpcheck.harness import risk
from dpcheck.harness.budget import CERTIFIED, LOOSE, budget
from dpcheck.harness.relations import judged
from dpcheck.interfaces import Array
from dpcheck.privacy import ApproxDP
from dpcheck.symbols import BY_NAME, index
from dpcheck.verdicts import Point, Verdict, consistent, differs, refuted, undecided
from dpcheck.workloads import EqualRecords

from .cases import LargePhases, problem
from .table_1 import TREE, tree_on_lasso, worst_linear_loss

LARGE = (1e40, 1e60)
"""Dimensions between which a bound and its rate have to keep their ratio."""
FLAT = 1e-3
"""A root of log d too much or too little shows as a power 0.004 of d between these."""


@check("l1_geometry/thm-1", kind="symbolic")
def rate_of_the_phases(context: Context) -> Verdict:
    """The stated rate against the explicit bound of Theorem 4 at its own step, with LD = 1 and delta constant, along
    n = d^a and epsilon = d^-b: in each regime their ratio stays where it is as d grows.
    """
    stated, bound = claim("l1_geometry/thm-1"), claim("l1_geometry/thm-4").explicit
    step = claim("l1_geometry/alg-2@eta").explicit * 2 ** (4 * index)
    last_phase = sp.Symbol("A_k", positive=True)
    total = bound.subs({last_phase: 0, BY_NAME["eta"]: step})
    slopes = {}
    for a, b in ((1.0, 0.0), (1.0, 0.5), (1.5, 1.0), (2.0, 0.25), (3.0, 0.0), (4.0, 2.0)):
        ratios = []
        for d in LARGE:
            at = {"d": d, "n": d**a, "epsilon": d**-b, "delta": math.exp(-1), "L": 1.0, "D": 1.0}
            ratios.append(float(evaluate(total, at) / stated.evaluate(**at)))
        grown = math.log(ratios[1] / ratios[0]) / math.log(LARGE[1] / LARGE[0])
        slopes[f"power of d, n = d^{a:g}, epsilon = d^-{b:g}"] = grown
    furthest = max(slopes.values(), key=abs)
    said = f"bound over stated rate as d^{furthest:.3f} where they part most, of {len(slopes)} regimes"
    return judged(abs(furthest), "<", FLAT, said, "symbolic", numbers=slopes, otherwise=differs)


Cell = tuple[Mapping[str, Any], Mapping[str, Any]]


DELTA = 1e-10
"""At most 1/n, as Theorem 7 asks, in every cell."""


EPSILON = 0.01


DEPTHS = 8
"""Of the tree, at most."""


def orders_cross(d: int, epsilon: float) -> float:
    """The x = n epsilon at which the private terms of Theorems 4 and 7 are equal, all constants being 1.

    sqrt(d log^3 d log(1/delta))/x = (log(n/delta) log(2d)/x)^(2/3), logarithms at least 1. The factor log^2 n of
    Theorem 7 is left out: here the tree uses all n records.
    """
    log_d = max(1.0, math.log(d))
    vector = math.sqrt(d * log_d**3 * math.log(1 / DELTA))
    return _crossing(lambda x: vector / x, lambda x: (_log_nd(x, epsilon) * math.log(2 * d) / x) ** (2 / 3))


def bounds_cross(d: int, epsilon: float) -> float:
    """The same for the explicit bounds of both algorithms, at the noise and the depth at which they are run."""
    far = 1e-12
    told = problem(bowl(d), ApproxDP(far, DELTA))
    depths = np.arange(1.0, 40.0)
    private = claim("l1_geometry/thm-7").explicit - ESTIMATE
    constants = {"L": 1.0, "H": 1.0, "D": told.constants.diameter(1.0), "m": 2 * d, "T": depths, "epsilon": epsilon}

    def vector(x: float) -> float:
        # At a vanishing epsilon and the same n epsilon nothing but the private terms is left of the bound.
        n, start = round(x / far), told.constants.diameter(1.0) * told.constants.lipschitz(1.0)
        runs = any(True for _ in DESCENT.phases(told, n))
        return bound_of("l1_geometry/thm-4@summed", DESCENT, told, n) if runs else start

    def tree(x: float) -> float:
        n = x / epsilon
        batch = n / claim("l1_geometry/alg-3").evaluate(b=1.0, T=depths)
        at = {**constants, "n": n, "b": batch, "delta": min(DELTA, 1 / n)}
        return float(evaluate(private, at).min())

    return _crossing(vector, tree)


def _log_nd(x: float, epsilon: float) -> float:
    """log(n/delta), with delta = 1/n where n is too large for DELTA."""
    n = x / epsilon
    return math.log(n / min(DELTA, 1 / n))


def _crossing(vector: Any, tree: Any) -> float:
    """The last x between 10^-4 and 10^20 at which the first one falls below the second."""
    grid = np.geomspace(1e-4, 1e20, 97)
    above = np.array([vector(x) > tree(x) for x in grid])
    i = int(np.flatnonzero(above[:-1] & ~above[1:])[-1])
    return math.exp(
        scipy.optimize.brentq(
            lambda t: math.log(vector(math.exp(t)) / tree(math.exp(t))), math.log(grid[i]), math.log(grid[i + 1])
        )
    )


@dataclass(frozen=True)
class CoarseDescent(LargePhases):
    """The large phases of Algorithm 2 with at most `steps` steps a phase, by larger batches.

    T b^2 = n_i^2 whatever b, so the noise of a phase adds up to the same law; on a linear loss of equal records the
    gradient has no other error.
    """

    steps: int = 64

    def batch(self, problem: Any, n_i: float, epsilon_i: float) -> float:
        return max(super().batch(problem, n_i, epsilon_i), n_i / math.sqrt(self.steps))


REDUCED_SIGMA = 3.0
"""In place of 100. With the least constant that is certified, 5.4, the crossing moves to sizes at which the 64 steps of
a phase no longer reach the minimum of the bowl: at d = 8 and n eps = 2^13 d^(3/2) they are nearly all of the excess."""


DESCENT = LocalizedMirrorDescent(REDUCED_SIGMA, "gradients")


def bowl(d: int) -> EqualRecords:
    """h |x - x*|_2^2/2 with x* = (1/d, ..., 1/d) and h + h/d = 1, as L = 1 wants."""
    return EqualRecords(z=(1 / (d + 1),) * d, curvature=d / (d + 1))


def losses(d: int, scale: float, grid: Sequence[float]) -> list[EqualRecords]:
    """The bowl, and linear losses of slopes scale times the grid, at most L."""
    slopes = sorted({min(1.0, scale * share) for share in grid})
    return [bowl(d), *(EqualRecords(z=(slope, *[0.0] * (d - 1))) for slope in slopes)]


def worst(
    algorithm: Any, works: Sequence[EqualRecords], n: int, epsilon: float, trials: int, context: Context
) -> Array:
    """Excess risks on the loss that is worst in a pilot of a quarter of the trials, over L D, (trials,)."""

    def values(work: EqualRecords, many: int, part: str) -> Array:
        key = (context.name, dict(context.cell), repr(algorithm), part)
        told = problem(work, ApproxDP(epsilon, DELTA))
        return risk.excess_risks(algorithm, work, told, n, many, context.seed, *key, gradients=math.inf) / 2

    return values(max(works, key=lambda work: values(work, trials // 4, "pilot").mean()), trials, "fresh")


def both(context: Context, d: int, x: float, epsilon: float) -> dict[str, float]:
    """Excess of the descent and of the tree at n = x/epsilon, each on its worst loss.

    The tree has the depth that its bound chooses ("tree"), and that which is best in hindsight ("best").
    """
    # In the plane the two are never far apart.
    n, trials = round(x / epsilon), context.scale(24, 288 if d == 2 else 96)
    told = problem(bowl(d), ApproxDP(epsilon, DELTA))
    first = DESCENT.schedule(told, n).phases[0]
    # Where the first regulariser keeps the minimiser of a linear loss in the middle of the domain.
    balanced = 1 / (first.eta_i * first.records * (first.p - 1))
    descent = CoarseDescent(REDUCED_SIGMA, "gradients")
    fields = {"descent": worst(descent, losses(d, balanced, (0.7, 1.0, 1.4)), n, epsilon, trials, context)}

    by_depth = {}
    for T in range(1, chosen_depth(d, n, epsilon) + 1):
        tree = replace(TREE, T=T)
        # Slopes that the noise of a selection can hide.
        hidden = math.log(2 * d) * tree.schedule(told, n).phases[0].scale
        by_depth[T] = worst(tree, losses(d, hidden, (0.4, 0.6, 0.85)), n, epsilon, 4 * trials, context)
    best = min(by_depth, key=lambda T: by_depth[T].mean())
    fields |= {"tree": by_depth[max(by_depth)], "best": by_depth[best]}
    numbers: dict[str, float] = {"x": x, "trials": trials, "depth": max(by_depth), "best depth": best}
    for name, values in fields.items():
        numbers |= {name: float(values.mean()), f"{name} se": float(values.std(ddof=1) / math.sqrt(len(values)))}
    chosen = replace(TREE, T=max(by_depth))
    return numbers | _budgets(budget(descent, told, n), budget(chosen, told, n))


def chosen_depth(d: int, n: int, epsilon: float) -> int:
    """T up to `DEPTHS` that balances beta D^2/2^T and the selection gap of Theorem 7, with 2^T <= b."""
    told, pairs = problem(bowl(d), ApproxDP(epsilon, DELTA)), []
    for T in range(1, DEPTHS + 1):
        tree = replace(TREE, T=T)
        if tree.sizes(told, n)[1] >= 2**T:
            pairs.append((4 / 2**T + tree.schedule(told, n).phases[0].scale * (1 + math.log(2 * d)), T))
    return min(pairs)[1]


@dataclass(frozen=True)
class Crossing:
    """Where log(descent/tree) passes 0 as x grows, linear in log x between the sizes and never beyond them.

    Attributes:
        x: the last such place, inf where there is none.
        low, high: a band of all sizes at once passes 0 first and last; 0 and inf where it never leaves it.
        before, after: the tree is certainly ahead at `before` and nowhere later, the descent at all sizes from `after`.
        reversed: the descent is certainly ahead at the smallest size, or before a size where the tree certainly is, or
            the tree at the largest.
    """

    x: float
    low: float
    high: float
    before: float
    after: float
    reversed: bool

    def __str__(self) -> str:
        if not math.isfinite(self.x):
            return f"no crossing (the tree certainly ahead up to {self.before:.4g})"
        return f"{self.x:.4g} [{self.low:.4g}, {self.high:.4g}]"


def crossing(rows: Sequence[Mapping[str, Any]], tree: str, failure_probability: float) -> Crossing:
    """From cells {"x", "descent", "descent se", tree, "<tree> se", "trials"} of one series, at least two.

    Args:
        failure_probability: that some t-interval of the ratio misses, all cells and all depths to choose from together.
    """
    ordered = sorted(rows, key=lambda m: m["x"])
    x = np.log([m["x"] for m in ordered])
    logs = np.log([m["descent"] / m[tree] for m in ordered])
    error = np.array([math.hypot(m["descent se"] / m["descent"], m[f"{tree} se"] / m[tree]) for m in ordered])
    reach = error * scipy.stats.t.isf(failure_probability / (2 * DEPTHS * len(ordered)), ordered[0]["trials"] - 1)
    ahead, behind = np.flatnonzero(logs - reach > 0), np.flatnonzero(logs + reach < 0)
    passed = _passes(x, logs)
    first, last = _passes(x, logs - reach), _passes(x, logs + reach)
    open_still = np.flatnonzero(logs + reach >= 0)
    after = int(open_still[-1]) + 1 if open_still.size else 0
    top = len(x) - 1
    reversed_ = 0 in behind or top in ahead or bool(ahead.size and behind.size and ahead[-1] > behind[0])
    return Crossing(
        x=math.exp(passed[-1]) if passed else math.inf,
        low=math.exp(first[0]) if first else 0.0,
        high=math.exp(last[-1]) if last else math.inf,
        before=math.exp(x[ahead[-1]]) if ahead.size else 0.0,
        after=math.exp(x[after]) if after <= top else math.inf,
        reversed=reversed_,
    )


def _passes(x: Array, y: Array) -> list[float]:
    """Where y, piecewise linear, goes from above 0 to below."""
    places = np.flatnonzero((y[:-1] > 0) & (y[1:] <= 0))
    return [float(x[i] - y[i] * (x[i + 1] - x[i]) / (y[i + 1] - y[i])) for i in places]


@dataclass(frozen=True)
class Place:
    """Crossings at one value of a variable: measured at the best depth and at the bound's, by orders and by bounds."""

    value: float
    best: Crossing
    chosen: Crossing
    orders: float
    bounds: float


def powers(places: Sequence[Place]) -> dict[str, float]:
    """Powers of the variable in the crossing, from the first to the last value whose measured band is bounded.

    The bands hold together, so the interval holds with them. Empty where fewer than two bands are bounded.
    """
    known = [place for place in places if place.best.low > 0 and math.isfinite(place.best.high)]
    if len(known) < 2:
        return {}
    first, last = known[0], known[-1]
    span = math.log(last.value / first.value)
    return {
        "from": first.value,
        "to": last.value,
        "least power": math.log(last.best.low / first.best.high) / span,
        "power": math.log(last.best.x / first.best.x) / span,
        "largest power": math.log(last.best.high / first.best.low) / span,
        "power by orders": math.log(last.orders / first.orders) / span,
        "power by bounds": math.log(last.bounds / first.bounds) / span,
    }


def located(variable: str) -> Conclude:
    """Crossings at every value of the variable, beside those of orders and bounds, and how they move with it.

    Refuted where some order of the two is certain the wrong way round: the descent ahead at the smallest size, the
    tree at the largest, or the tree after the descent. Never holds, as finitely many sizes prove no order.
    """

    def judge(rows: Sequence[Cell], failure_probability: float) -> Verdict:
        values = sorted({cell[variable] for cell, _ in rows})
        share = failure_probability / (2 * len(values))
        numbers: dict[str, Any] = {}
        places, points = [], []
        for value in values:
            series = sorted((m for cell, m in rows if cell[variable] == value), key=lambda m: m["x"])
            fixed: dict[str, Any] = {"d": 4, "epsilon": EPSILON, variable: value}
            best, chosen = (crossing(series, depth, share) for depth in ("best", "tree"))
            places.append(Place(value, best, chosen, orders_cross(**fixed), bounds_cross(**fixed)))
            at = f"{variable} = {value:g}"
            numbers |= {f"{name}, {at}": number for name, number in _told(places[-1]).items()}
            points += _apart(series, at)
        moves = powers(places)
        wrong, reason = _sentence(variable, places, moves)
        fields: dict[str, Any] = {"failure_probability": failure_probability, "numbers": numbers | moves}
        fields |= {"points": points, "axes": ("n epsilon", "excess of the descent over that of the tree, best depth")}
        fields["dashed"] = "equal excess"
        if wrong:
            return refuted(reason, "sampled", **fields)
        return _decided(reason, [place.best for place in places], fields)

    return judge


def _apart(series: Sequence[Mapping[str, Any]], at: str) -> list[Point]:
    """descent/tree over x, with 1 as the line that they cross: both algorithms in one place."""
    return [Point(x=m["x"], value=m["descent"] / m["best"], bound=1.0, series=at) for m in series]


def _budgets(descent: Mapping[str, Any], tree: Mapping[str, Any]) -> dict[str, Any]:
    """What is certified of the runs of both, as a row says it; the noise is the descent's."""
    pairs = (("descent", descent), ("tree", tree))
    told: dict[str, Any] = {"noise": descent["noise"], "at delta": descent["at delta"]}
    told |= {f"{CERTIFIED} of the {name}": float(measured[CERTIFIED]) for name, measured in pairs}
    return told | {f"{LOOSE} of the {name}": float(measured[LOOSE]) for name, measured in pairs if LOOSE in measured}


def _decided(reason: str, found: Sequence[Crossing], fields: Mapping[str, Any]) -> Verdict:
    """Consistent where every crossing is bracketed: the other order would have shown; undecided else."""
    if all(one.before > 0 and math.isfinite(one.after) for one in found):
        seen = (
            "the descent certainly ahead at the smallest size, the tree at the largest, or the tree after the descent"
        )
        return consistent(reason, "sampled", notices=seen, **fields)
    return undecided(f"{reason}; not every crossing is bracketed", "sampled", **fields)


def _told(place: Place) -> dict[str, float]:
    numbers = {}
    for name, bracket in (("best depth", place.best), ("depth of the bound", place.chosen)):
        numbers |= {f"crossing, {name}": bracket.x, f"from, {name}": bracket.low, f"to, {name}": bracket.high}
        numbers |= {f"tree certainly ahead up to, {name}": bracket.before}
        numbers |= {f"descent certainly ahead from, {name}": bracket.after}
    return {**numbers, "orders cross": place.orders, "bounds cross": place.bounds}


def _sentence(variable: str, places: Sequence[Place], moves: Mapping[str, float]) -> tuple[bool, str]:
    """Whether some order is certain the wrong way round, and the reason."""
    reason = "the private terms cross at n eps = " + "; ".join(
        f"{place.best} at {variable} = {place.value:g} (depth of the bound {place.chosen.x:.4g}, orders "
        f"{place.orders:.3g}, bounds {place.bounds:.3g})"
        for place in places
    )
    if moves:
        least, power, largest = (moves[name] for name in ("least power", "power", "largest power"))
        reason += f"; from {moves['from']:g} to {moves['to']:g} as {variable}^{power:.2f} [{least:.2f}, {largest:.2f}]"
        reason += f" (by orders {moves['power by orders']:.2f}, by bounds {moves['power by bounds']:.2f})"
    wrong = [f"{place.value:g}" for place in places if place.best.reversed]
    if wrong:
        return True, f"not the tree first and the descent last at {variable} = {', '.join(wrong)}; {reason}"
    return False, reason


@check(
    "l1_geometry/thm-2",
    kind="risk",
    grid={"d": by_size([4, 8], [2, 8, 32]), "k": by_size([5, 9], [5, 6, 7, 8, 9, 10])},
    conclude=located("d"),
    expect=("undecided", "consistent"),
)
def private_terms_cross_in_d(context: Context, *, d: int, k: int) -> dict[str, float]:
    """Between n eps = 32 d^(3/2) and 1024 d^(3/2) the descent passes the tree, at eps = 1/100."""
    # unbound: beside the bounds of Theorems 4 and 7, which have the constants; Theorem 2 has none
    return both(context, d, 2**k * d**1.5, EPSILON)


@check(
    "l1_geometry/thm-2",
    kind="risk",
    grid={"epsilon": by_size([0.001, 0.1], [0.001, 0.01, 0.1]), "k": by_size([4, 9], [5, 6, 7, 8, 9])},
    conclude=located("epsilon"),
    expect=("undecided", "consistent"),
)
def private_terms_cross_in_epsilon(context: Context, *, epsilon: float, k: int) -> dict[str, float]:
    """The same at d = 4 over epsilon: n eps stays, so that n goes as 1/eps, but for log(n/delta)."""
    # unbound: beside the bounds of Theorems 4 and 7, which have the constants; Theorem 2 has none
    return both(context, 4, 2**k * 8.0, epsilon)


RECORDS = 2**15
"""Statistical terms are below those of privacy up to n eps of about 1,600; beyond, the descent meets its floor."""


def on_drawn_records(rows: Sequence[Cell], failure_probability: float) -> Verdict:
    """Where the order of the two is certain, by dimension, with a statistical error in both."""
    numbers: dict[str, Any] = {}
    points, said, places = [], [], []
    dimensions = sorted({cell["d"] for cell, _ in rows})
    for d in dimensions:
        series = sorted((m for cell, m in rows if cell["d"] == d), key=lambda m: m["x"])
        crossed = crossing(series, "tree", failure_probability / len(dimensions))
        numbers |= {
            f"crossing at d = {d}": crossed.x,
            f"largest n eps measured, d = {d}": series[-1]["x"],
            f"tree certainly better up to, d = {d}": crossed.before,
            f"descent certainly better from, d = {d}": crossed.after,
        }
        said.append(f"d = {d}, n eps up to {series[-1]['x']:.4g}: {crossed}")
        points += [Point(x=m["x"], value=m["descent"] / m["tree"], bound=1.0, series=f"d = {d}") for m in series]
        places.append(crossed)
    reason = "tree against localised descent: " + "; ".join(said)
    fields: dict[str, Any] = {"failure_probability": failure_probability, "numbers": numbers, "points": points}
    fields["dashed"] = "equal excess"
    return _decided(reason, places, fields | {"axes": ("n epsilon", "excess of the descent over that of the tree")})


@check(
    "l1_geometry/thm-2",
    kind="risk",
    grid={"d": by_size([], [2, 3]), "x": [200, 800, 3200]},
    conclude=on_drawn_records,
    expect=("undecided", "consistent"),
)
def crossover_of_descent_and_tree(context: Context, *, d: int, x: int) -> dict[str, float]:
    """Algorithm 2 on its worst slope against Algorithm 3 on the sign LASSO, in units of L D, over n eps at n = 2^15.

    Algorithm 3 has the best of the depths 1 to 4, in hindsight. Both are dominated by privacy, and end at the same
    statistical rate; the least noise that is certified in the one, that of Theorem 7 in the other.
    """
    epsilon, trials = x / RECORDS, 24
    slow = worst_linear_loss(context, RECORDS, d, epsilon, trials, (0.5, 1.0))
    fast = min((tree_on_lasso(context, RECORDS, d, epsilon, 4, T) for T in (1, 2, 3, 4)), key=lambda m: m["mean"])
    return {
        "x": x,
        "descent": slow["mean"],
        "descent se": slow["se"],
        "tree": fast["mean"],
        "tree se": fast["se"],
        "trials": trials,
        "depth": fast["T"],
    } | _budgets(slow, fast)
