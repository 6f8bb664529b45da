"""Section 5: strong convexity by restarts, Theorems 8 and 9."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.algorithms.l1_geometry import LocalizedMirrorDescent, StronglyConvexReduction, TreeFrankWolfe
from dpcheck.algorithms.l1_geometry.localized import DescentPhase
from dpcheck.algorithms.l1_geometry.reductions import Restart
from dpcheck.asymptotics import Regime, compare, verify
from dpcheck.checks import Context, by_size, check, unchecked
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import bound_of
from dpcheck.errors import InvalidInput
from dpcheck.harness import runtime
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.relations import judged
from dpcheck.harness.scaling import Axis, Family, Instance, Risk, Simulated, admitted, geometric, scaling, unmeasured
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Array, Problem, Rng
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Verdict, combine, differs, holds

from .cases import DELTA, DELTAS, LASSO, SMALL, OneRecord, instance, linear, problem, three_phases


@check("l1_geometry/thm-8@literal", kind="risk", expect="refuted")
def weakly_convex_losses_beat_theorem_8(context: Context) -> Verdict:
    """A two-point family whose modulus falls like 1/sqrt n: no algorithm reaches 100 LD/n at n = 10^8."""
    at = {"n": 10**8, "epsilon": "1/3", "delta": f"1/{10**9}", "constant": 100}
    return refuted_by("l1_geometry/thm-8@literal", "thm_8_rate", by=claim("l1_geometry/thm-8@literal"), **at)


@check("l1_geometry/thm-9@literal", kind="risk", expect="refuted")
def weakly_convex_losses_beat_theorem_9(context: Context) -> Verdict:
    """The same family inside the windows of Theorem 7, at n = 10^16, with the constant 100."""
    at = {"n": 10**16, "epsilon": "1/100", "delta": f"1/{10**16}", "constant": 100}
    return refuted_by("l1_geometry/thm-9@literal", "thm_9_rate", by=claim("l1_geometry/thm-9@literal"), **at)


@check("l1_geometry/thm-8@corrected", kind="symbolic")
def square_of_the_convex_rate(context: Context) -> Verdict:
    """The fixed point of D^2 = (2/lambda) L D rho has excess 2 L^2 rho^2/lambda; rho^2 has the order of the bracket."""
    return _fixed_point("l1_geometry/thm-8@corrected")


@check("l1_geometry/thm-9@corrected", kind="symbolic")
def square_of_the_smooth_rate(context: Context) -> Verdict:
    """As for Theorem 8, with the rate of Theorem 7 at L D = beta D^2."""
    return _fixed_point("l1_geometry/thm-9@corrected")


@dataclass(frozen=True)
class Proportional(LocalizedMirrorDescent):
    """A convex-case algorithm whose risk bound is rho times the distance of its start, as the cited theorem asks."""

    rho: float = 1e-3

    def proved(self, problem: Problem, n: int) -> float:
        assert self.distance is not None
        return self.rho * self.distance


@check("l1_geometry/fact-fkt-5-1", kind="accuracy", grid={"modulus": (0.05, 1.0), "n": (2**16, 2**24)})
def distances_of_the_restarts(context: Context, *, modulus: float, n: int) -> Verdict:
    """The reduction's own runs around a bound of D_0 rho: their distances are the fixed point 2 rho/lambda times
    (lambda D/(2 rho))^(1/2^(i-1)); the last bound is at most 4 times 2 rho^2/lambda where lambda D/(2 rho) <= n.
    """
    inner = Proportional()
    # Twice the bound, dialled to the half of it.
    doubled = replace(inner, rho=2 * inner.rho)
    algorithm, told = StronglyConvexReduction(inner=doubled, weight=modulus, bound_dial=0.5), problem(linear(4))
    plain = StronglyConvexReduction(inner=inner, weight=modulus).schedule(told, n).phases
    rows, limit = algorithm.schedule(told, n).phases, 2 * inner.rho / modulus
    start = told.constants.diameter(1.0) / limit
    wanted = [limit * start ** (0.5**i) for i in range(len(rows))]
    verdict = agree(
        # The bound is told the distance of the last run as it is proved, whatever the dial.
        [*(row.distance for row in (*rows, *plain)), algorithm.terms(told, n)["D_1"]],
        [*wanted, *wanted, 2 * limit * (start / 2) ** (0.5 ** (len(rows) - 1))],
        "distances of the runs",
    )
    over = inner.rho * rows[-1].distance / (2 * inner.rho**2 / modulus)
    if verdict.outcome != "holds" or start > n:
        return differs(f"{verdict.reason}; lambda D/(2 rho) = {start:.4g} of n = {n}")
    said = f"{verdict.reason}; last bound over 2 rho^2/lambda: {over:.4g} after {len(rows)} runs"
    return judged(over, "<=", 4, said, "exact", numbers={**verdict.numbers, "last bound": over}, severity=over / 4)


def _fixed_point(label: str) -> Verdict:
    a, c = sp.symbols("a c", nonnegative=True)
    n, d, e, L, lam = (BY_NAME[x] for x in ("n", "d", "epsilon", "L", "lambda"))
    convex = "l1_geometry/thm-4" if "thm-8" in label else "l1_geometry/thm-7"
    rho = claim(convex).order.subs({L: 1, BY_NAME["D"]: 1, BY_NAME["H"]: 1})
    squared = 2 * rho**2 * L**2 / lam
    regime = Regime(ties={d: n**a, e: n**-c}, where=[a <= 2, c <= 1], constants={"L", "lambda"})

    def strip(rate: sp.Expr) -> sp.Expr:
        plain = rate.subs(BY_NAME["delta"], sp.exp(-1))
        return sp.expand(plain.replace(lambda y: isinstance(y, sp.log), lambda y: sp.Integer(1)))

    comparison = compare(strip(squared), strip(claim(label).order), regime)
    verify(comparison)
    if comparison.relation != "same order":
        return differs(f"2 L^2 rho^2/lambda is {comparison.relation} than stated", "symbolic")
    printed = claim(label.partition("@")[0]).order
    over = proved({"over the printed form": claim(label).order / printed - L / (lam * BY_NAME["D"])})
    said = (
        "2 L^2 rho^2/lambda is of the stated order up to logarithms (the certificate verifies), and L/(lambda D) times "
    )
    return combine([holds(f"{said}the printed form, which is right where lambda >= c L/D", "symbolic"), over])


restarted_descent = unchecked(
    "l1_geometry/thm-8@summed",
    "the sum of `thm-4@summed`, which is checked, at the distance of the last run; it lies above the largest risk at "
    "all sizes that can be run",
)


def in_the_ball(told: Problem, row: Restart) -> Problem:
    """What a run of restarted Algorithm 3 is told: after the first one, losses on the l1 ball of its distance."""
    if row.i == 1:
        return told
    c, wide = told.constants, 2 * row.distance
    steep = c.lipschitz(1.0) + c.smoothness(1.0) * row.distance
    return replace(told, constants=replace(c, diameter=lambda p: wide, lipschitz=lambda p: steep))


@check("l1_geometry/thm-9@summed", kind="risk")
def bound_of_the_last_tree(context: Context) -> Verdict:
    """So many records that bounds are below the domain: the bound of the whole is that of its last run."""
    told, n, tree = problem(LASSO, PureDP(1.0)), 2**26, TreeFrankWolfe(T=1, budget="economical")
    algorithm = StronglyConvexReduction(inner=tree, weight=1.5)
    row = algorithm.schedule(told, n).phases[-1]
    last = bound_of("l1_geometry/thm-6@summed", tree, in_the_ball(told, row), row.records)
    return agree([bound_of(context.label, algorithm, told, n)], [last], "the bound of the last run")


@check(
    "l1_geometry/thm-8@derived", kind="runtime", grid={"d": (4, 64), "epsilon": by_size([0.1], [0.1, 1.0])},
)  # fmt: skip
def gradients_of_the_restarted_descent(context: Context, *, d: int, epsilon: float) -> Verdict:
    """Planned gradients of all runs, n up to 2^40, against the count with constants; one run at n = 2^10 asks for what
    is planned, from size standard on.
    """
    inner, verdicts = LocalizedMirrorDescent(batch_rule="gradients"), []
    algorithm, told = StronglyConvexReduction(inner=inner, weight=1.0), problem(linear(d), ApproxDP(epsilon, 1e-5))
    for n in [2**k for k in range(16, 41, 4)]:
        spent = float(algorithm.schedule(told, n).gradients)
        bound = float(claim("l1_geometry/thm-8@derived").evaluate(n=n, d=d, epsilon=epsilon))
        series = f"d = {d}, epsilon = {epsilon:g}"
        verdicts.append(runtime.verdict(spent, bound, what="planned gradients", x=float(n), series=series))
    if (d, epsilon) == (4, 1.0):
        counts = runtime.count(algorithm, linear(d), told, 2**10, 1, context.seed, "restarts")
        if float(counts.gradients.max()) != counts.claimed:
            return differs(f"{counts.gradients.max():,.0f} gradients counted, {counts.claimed:,} planned", "counted")
    return combine(verdicts)


@check("l1_geometry/thm-9@derived", kind="runtime", grid={"noise": ("pure", "approximate")})
def gradients_of_the_restarted_tree(context: Context, *, noise: str) -> Verdict:
    """Planned gradients of all runs, n up to 2^40, against 4n/3; one run at n = 2^12 asks for what is planned."""
    inner = TreeFrankWolfe(noise=noise, sensitivity="safe")  # type: ignore[arg-type]
    algorithm, verdicts = StronglyConvexReduction(inner=inner), []
    for n in [2**k for k in range(12, 41, 4)]:
        told = problem(LASSO, PureDP(1.0) if noise == "pure" else ApproxDP(1.0, 1 / n**1.5))
        plan = algorithm.schedule(told, n)
        bound = float(claim("l1_geometry/thm-9@derived").evaluate(n=n))
        spent, series = float(plan.gradients), f"{noise} noise"
        verdicts.append(runtime.verdict(spent, bound, what="planned gradients", x=float(n), series=series))
        if n == 2**12:
            counts = runtime.count(algorithm, LASSO, told, n, 1, context.seed, "restarts", noise)
            if float(counts.gradients.max()) != counts.claimed:
                return differs(
                    f"{counts.gradients.max():,.0f} gradients counted, {counts.claimed:,} planned", "counted"
                )
    return combine(verdicts)


@dataclass(frozen=True)
class Fine(LocalizedMirrorDescent):
    """Algorithm 2 with 2^94 steps a phase, and twelve phases: later ones have balls of 2^-60 of the first.

    T b^2 = n_i^2 whatever b, and so many steps forget where they began. A batch stays below 2^63, beyond which the
    accountant cannot count draws.
    """

    def batch(self, problem: Problem, n_i: float, epsilon_i: float) -> float:
        return n_i / 2**47

    def phases(self, problem: Problem, n: int) -> Iterator[DescentPhase]:
        return itertools.islice(super().phases(problem, n), 16)


RESTARTS = StronglyConvexReduction(inner=Fine())


SCARCE = 2.0**-60
"""epsilon of its rows over another variable: the distances that are proved for restarts fall below the domain at
n epsilon of 2^45, and privacy costs most below 1/sqrt n.
"""


def curved(
    algorithm: Any, curvature: float, *, n: int, epsilon: float, delta: float = DELTA, L: float = 1.0,
    modulus: float = 1 / 32,
) -> Instance:  # fmt: skip
    """An algorithm on h |x - x*|_2^2/2 in two dimensions, x* half-way to a vertex, the modulus h/2 a multiple of the
    class's.
    """
    h = 2 * modulus * curvature
    work = OneRecord(z=(h / 2, 0.0), curvature=h, L=L)
    if isinstance(algorithm, StronglyConvexReduction):
        algorithm = replace(algorithm, weight=modulus)
    return instance(algorithm, work, n, epsilon, delta, **{"lambda": modulus})


@dataclass(frozen=True)
class Averages:
    """The mean excess risk of Algorithm 2, restarted or not, on such a loss, in the limit of many steps.

    With q = 2h/(weight scale) and e the distance of an iterate from the minimiser of the phase's objective,
    e <- e - ((2 + q) e + 2 noise/(weight scale))/(k + 1). The start is forgotten, and the average by k holds noise of
    step j with 2j (1 - (j/T)^q)/(T^2 q), which an integral sums up. Attributes are those of every engine.
    """

    quantile: float | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        work = instance.work
        h, best, room = work.curvature, np.asarray(work.z) / work.curvature, work.D / 4
        squared, moved = float(best @ best), 0.0
        plan = instance.algorithm.schedule(instance.problem, instance.n).phases
        for row in itertools.chain(*(each.inner.phases if isinstance(each, Restart) else [each] for each in plan)):
            moved = 0.0 if row.i == 1 else moved
            if row.radius < SMALL * moved:  # neither this nor a later phase of the run matters
                continue
            rate = 2 / (row.weight * row.scale)
            q, noise = h * rate, rate * row.sigma / math.sqrt(row.T)
            at_edge = (noise / min(row.radius, room)) ** 2 / (q + 1)
            if row.p != 2 or 20 * (q + 3) > row.T or at_edge > AT_EDGE:
                raise InvalidInput(
                    f"phase {row.i} has p = {row.p:g}, {row.T:,} steps for q = {q:.3g}, and meets an edge in a share "
                    f"of {at_edge:.3g} of them: no closed form; take d = 2 and more records"
                )
            spread = noise * math.sqrt(8 / 3 / ((q + 3) * (2 * q + 3)))
            squared, moved = squared * (2 / (2 + q)) ** 2 + len(best) * spread**2, max(moved, spread)
        return Risk(h / 2 * squared)


AT_EDGE = 0.1
"""Share of the steps, the first ones, that may meet the edge of the domain or of their ball: they weigh its square."""


def one_run(one: Instance) -> Instance:
    """Algorithm 2 alone."""
    return one.running(one.algorithm.inner)


RESTARTED: Mapping[str, Any] = {
    "part": "private",
    "family": Family.of(mirrored=True, curvature=geometric(1.0, 2.0, 3)),
    "engine": Averages(),
    "mutants": {"no restarts": one_run},
    "since": "standard",
}


@check("l1_geometry/thm-8@corrected", kind="accuracy", expect="consistent")
def law_of_the_averages(context: Context) -> Verdict:
    """The closed form of the phases' outputs on a quadratic agrees with runs, whose first phase makes 1,982 steps."""
    # unbound: an engine of rates against drawn runs, whatever the rate is
    one = curved(LocalizedMirrorDescent(c_sigma=1.0), 1.0, n=2**12, epsilon=1.0, delta=0.1, modulus=0.25)
    return admitted(Averages(), one, context.scale(100, 400), context)


@scaling("l1_geometry/thm-8@corrected", variable="n", sizes=[2**k for k in (106, 109, 112)], **RESTARTED)
def restarted_descent_in_n(*, n: int, curvature: float) -> Instance:
    """Restarted Algorithm 2 as printed, on quadratics in two dimensions, where its mirror map is linear."""
    return curved(RESTARTS, curvature, n=n, epsilon=SCARCE)


@scaling("l1_geometry/thm-8@corrected", variable="epsilon", sizes=[2.0**-k for k in (66, 63, 60)], **RESTARTED)
def restarted_descent_in_epsilon(*, epsilon: float, curvature: float) -> Instance:
    """The same over epsilon."""
    return curved(RESTARTS, curvature, n=2**112, epsilon=epsilon)


@scaling("l1_geometry/thm-8@corrected", variable="delta", sizes=DELTAS, **RESTARTED)
def restarted_descent_in_delta(*, delta: float, curvature: float) -> Instance:
    """The same over delta."""
    return curved(RESTARTS, curvature, n=2**112, epsilon=SCARCE, delta=delta)


@scaling("l1_geometry/thm-8@corrected", variable="L", sizes=(1, 16, 256), **RESTARTED)
def restarted_descent_in_L(*, L: int, curvature: float) -> Instance:
    """The same over L, at one modulus: a square, where the printed LD has L."""
    return curved(RESTARTS, curvature, n=2**112, epsilon=SCARCE, L=float(L))


@scaling("l1_geometry/thm-8@corrected", variable="lambda", sizes=[2.0**-k for k in (11, 8, 5)], **RESTARTED)
def restarted_descent_in_lambda(**given: float) -> Instance:
    """The same over the modulus: 1/lambda, which the printed LD does not have."""
    return curved(RESTARTS, given["curvature"], n=2**112, epsilon=SCARCE, modulus=given["lambda"])


in_two_dimensions = unmeasured(
    "l1_geometry/thm-8",
    "d",
    "From three dimensions on the mirror map is not linear, so that the output of a phase on curved losses has no "
    "closed form; drawn records end at n of about 10^7, where the distance that is proved for a restart is that of the "
    "domain.",
)


# Theorem 9, at any n. With all records equal the estimate of every leaf is the gradient at the point that it starts
# from, for the differences of a walk have no error: what is left of Algorithm 3 is Frank-Wolfe with noisy selections,
# and only these are drawn.

LATE = 1e-40
"""delta, below 1/n."""
PLACE = 0.5
"""Of the minimiser on the first axis."""


@dataclass(frozen=True)
class Vast(TreeFrankWolfe):
    """Algorithm 3 on more records than NumPy has roots of."""

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        numbers = super().terms(problem, n)
        return {**numbers, "b": float(numbers["b"])}


INNER = Vast(noise="approximate", sensitivity="safe")


def restarted(
    curvature: float, *, n: int, epsilon: float, delta: float, modulus: float, H: float, d: int = 2, L: float = 1.0
) -> Instance:
    """Restarted Algorithm 3 on h |x - x*|_2^2/2, h/d a multiple of the class's modulus; x* is the same for all."""
    h = d * modulus * curvature
    work = OneRecord(z=(h * PLACE, *[0.0] * (d - 1)), curvature=h, L=L, H=H)
    algorithm = StronglyConvexReduction(INNER, weight=modulus)
    return instance(algorithm, work, n, epsilon, delta, **{"lambda": modulus})


def spending(T: int, *, n: int, delta: float, H: float, d: int = 2) -> float:
    """The epsilon at which the first run has T phases without rounding, at L = 1."""
    first = int(n / 2 / math.log2(n))
    batch = first / math.log2(first) ** 2
    return float(2 ** (1.5 * T) * (math.log(first) - math.log(delta)) * math.log2(2 * d) / (batch * H * 2) * (1 + 1e-9))


def reached(T: int, *, epsilon: float) -> int:
    """The n at which the first run has T phases without rounding, at that epsilon."""
    low, high = 64.0, 128.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        enough = spending(T, n=int(2**middle), delta=LATE, H=0.5) <= epsilon
        low, high = (low, middle) if enough else (middle, high)
    return math.ceil(2**high)


def selections(ones: Sequence[Instance], rng: Rng, trials: int) -> Array:
    """Where the runs end, on several bowls under one noise: the lines of Algorithm 3 with exact gradients, around the
    output of the run before.
    """
    one, d = ones[0], len(ones[0].work.z)
    x, signs = np.zeros((len(ones), trials, d)), np.concatenate([np.eye(d), -np.eye(d)])
    for run in one.algorithm.schedule(one.problem, one.n).phases:
        restart = isinstance(run, Restart)
        centre, radius = (x, run.distance) if restart and run.i > 1 else (np.zeros_like(x), one.work.D / 2)
        for row in run.inner.phases if restart else (run,):
            for leaf in range(row.leaves):
                pairs = zip(ones, x, strict=True)
                slopes = np.stack([each.work.gradient(own, np.asarray(each.work.z)) for each, own in pairs])
                # <gradient, centre> is common to all corners and selects none.
                scores = radius * np.concatenate([slopes, -slopes], axis=-1)
                chosen = (scores + rng.laplace(scale=row.scale, size=scores.shape[1:])).argmin(axis=-1)
                step = row.step(leaf)
                x = (1 - step) * x + step * (centre + radius * signs[chosen])
        x = one.work.project(x)
    return x


# Wrong schedules


def shallow(one: Instance) -> Instance:
    """Three phases in every run, whatever n is."""
    inner = three_phases(one.running(one.algorithm.inner)).algorithm
    return one.running(replace(one.algorithm, inner=inner))


def louder(one: Instance) -> Instance:
    """Noise too large by (n epsilon)^(1/8)."""
    inner = replace(one.algorithm.inner, noise_dial=(one.n * one.at["epsilon"]) ** 0.125)
    return one.running(replace(one.algorithm, inner=inner))


# Where the proved distances begin to fall below the domain's, and the noise of a selection costs most

SIZES = (3, 4, 6)
"""Phases of the first run."""
FEWEST = 2**66
"""n of rows over epsilon and delta."""
SPENT = {T: spending(T, n=FEWEST, delta=LATE, H=0.5) for T in SIZES}
"""Phases -> epsilon."""
MANY = 2**120
"""The first n of the row over it: the more, the less do its logarithms move."""
FAINT = spending(SIZES[0], n=MANY, delta=LATE, H=0.5)
RECORDS = [MANY, *(reached(T, epsilon=FAINT) for T in SIZES[1:])]
"""n at which the first run has each number of phases."""
HALVED = [87 * 2 ** (1.5 * k) for k in range(3)]
"""log(n_1/delta) of the first run, n_1 its records; 2^T falls by half from each to the next."""
UNLIKELY = [FEWEST / 2 / math.log2(FEWEST) * math.exp(-x) for x in HALVED]
"""delta, at the last of which a float ends."""
SPENT_AT_FIRST = spending(6, n=FEWEST, delta=UNLIKELY[0], H=0.5)
BEGINNING: Mapping[str, Any] = {
    "part": "private",
    "family": Family.of(mirrored=True, curvature=Axis((1.0, 2.0, 4.0, 8.0, 16.0), (True, True))),
    "engine": Simulated(selections, 8000, rounds=1),
    "mutants": {"T = 3": shallow, "noise times (nε)^(1/8)": louder},
    "since": "standard",
}


def beginning(curvature: float, n: int, epsilon: float, delta: float = LATE) -> Instance:
    """At a modulus so small that the proved distances are still those of the domain, where the bound is least loose."""
    return restarted(curvature, n=n, epsilon=epsilon, delta=delta, modulus=1 / 64, H=0.5)


@scaling("l1_geometry/thm-9@corrected", variable="n", sizes=RECORDS, **BEGINNING)
def restarted_selections_in_n(*, n: int, curvature: float) -> Instance:
    """Restarted Algorithm 3 on bowls, over n: certified sensitivities, the printed noise, batches and depths."""
    return beginning(curvature, n, FAINT)


@scaling("l1_geometry/thm-9@corrected", variable="epsilon", sizes=sorted(SPENT.values()), **BEGINNING)
def restarted_selections_in_epsilon(*, epsilon: float, curvature: float) -> Instance:
    """The same over epsilon."""
    return beginning(curvature, FEWEST, epsilon)


@scaling("l1_geometry/thm-9@noise", variable="delta", sizes=UNLIKELY, **BEGINNING)
def restarted_selections_in_delta(*, delta: float, curvature: float) -> Instance:
    """The same over delta, against the rate with the logarithm of the noise."""
    return beginning(curvature, FEWEST, SPENT_AT_FIRST, delta)


restarted_selections = [
    unmeasured(
        "l1_geometry/thm-9",
        "L lambda",
        "Where the distances are still those of the domain, lambda does not enter the risk, nor the square of L; where "
        "they fall below it, ten runs, the most that floats have records for, forget the diameter but for its power "
        "(2/3)^9, and every run rounds its T: R goes as L^1.94, too near to 2 to be told from it.",
    ),
    unmeasured(
        "l1_geometry/thm-9",
        "m d",
        "m stands under a logarithm, and the risk on a bowl is a sum over m/2 coordinates until it meets the bound, so "
        "that no window shows the logarithm; d stands in the statistical term, which epsilon's cap never lets lead.",
    ),
]
