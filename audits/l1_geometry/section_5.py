"""Section 5: strong convexity by restarts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.accounting import account
from dpcheck.algorithms.l1_geometry import LocalizedMirrorDescent, StronglyConvexReduction, TreeFrankWolfe
from dpcheck.algorithms.l1_geometry.localized import DescentPhase
from dpcheck.algorithms.l1_geometry.reductions import Restart
from dpcheck.asymptotics import Regime, compare, verify
from dpcheck.checks import Context, by_size, check, unchecked
from dpcheck.engine.catalogue import claim
from dpcheck.engine.settings import drawn, settings
from dpcheck.engine.statements import bound_of
from dpcheck.errors import InvalidInput
from dpcheck.geometry import L1Ball
from dpcheck.harness import risk, runtime
from dpcheck.harness.budget import judge_account
from dpcheck.harness.lines import Told
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.relations import judged
from dpcheck.harness.scaling import Family, Instance, Risk, Simulated, admitted, geometric, scaling, unmeasured
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Problem
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Verdict, combine, differs, holds

from .cases import DELTA, DELTAS, LASSO, LIMIT, SMALL, OneRecord, instance, lasso, linear, problem
from .lines import printed_phases, printed_tree
from .restarted_trees import (
    BEGINNING,
    FAINT,
    FEWEST,
    INNER,
    RECORDS,
    SPENT,
    SPENT_AT_FIRST,
    UNLIKELY,
    beginning,
    restarted,
    selections,
)

RUNS = {
    "phases": "l1_geometry/proc-strongly-convex-reduction@runs",
    "records": "l1_geometry/proc-strongly-convex-reduction@records",
}
settings_of_the_reduction = settings(
    "l1_geometry/proc-strongly-convex-reduction",
    {"as printed": RUNS, "smooth": RUNS},
    beside={
        "i": "the number of the run",
        "first": "where its records begin",
        "distance": "not in the paper; `distances_of_the_restarts` looks at it",
    },
    problems=drawn(n=(2**16, 2**36), extra={"strong_convexity": (0.1, 10)}),
)


@check("l1_geometry/thm-8@literal", kind="risk", expect="refuted")
def weakly_convex_losses_beat_theorem_8(context: Context) -> Verdict:
    """A two-point family whose modulus falls like 1/sqrt n: no algorithm reaches 100 LD/n at n = 10^8."""
    at = {"n": 10**8, "epsilon": 1, "delta": f"1/{10**9}", "constant": 100}
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
    algorithm, told = StronglyConvexReduction(inner=inner, weight=modulus), problem(linear(4))
    rows, limit = algorithm.schedule(told, n).phases, 2 * inner.rho / modulus
    start = told.constants.diameter(1.0) / limit
    verdict = agree(
        [row.distance for row in rows], [limit * start ** (0.5**i) for i in range(len(rows))], "distances of the runs"
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


@check(
    "l1_geometry/proc-strongly-convex-reduction",
    kind="risk",
    also=("l1_geometry/thm-9@summed",),
    grid={"inner": ("tree",)},
    expect="undecided",
)
def restarts_on_the_lasso(context: Context, *, inner: str) -> Verdict:
    """Restarted Algorithm 3 on the sign LASSO (modulus 1/d), optimistic distances: mean excess against the proved
    bound.
    """
    algorithm = StronglyConvexReduction(
        inner=TreeFrankWolfe(sensitivity="safe", T=1, budget="economical"), bound_dial=0.05
    )
    told, n = problem(LASSO, PureDP(1.0)), 4096
    plan = algorithm.schedule(told, n)
    used = sum(row.records for row in plan.phases)
    if used >= n:
        return differs(f"the runs read {used} of {n} records")
    values = risk.excess_risks(algorithm, LASSO, told, n, context.scale(60, 400), context.seed, "restarts", inner)
    bound = bound_of("l1_geometry/thm-9@summed", algorithm, told, n)
    return risk.expectation(values, bound, context.failure_probability, limit=LIMIT, x=float(n), series=inner)


@check("l1_geometry/proc-strongly-convex-reduction", kind="accuracy", grid={"inner": ("tree", "descent")})
def lines_of_the_restarts(context: Context, *, inner: str) -> Verdict:
    """The lines of every run, told its coins and answers, from the output of the run before it and on fresh records;
    runs of Algorithm 3 after the first one choose among the vertices of the l1 ball of radius D_i around their start,
    with the noise of that ball, on which gradients are bounded by L + beta D_i.
    """
    work = lasso(3)
    # So little noise that no step of a descent meets the edge of the domain.
    descent, tree = LocalizedMirrorDescent(c_sigma=0.3), TreeFrankWolfe(T=1, budget="economical")
    algorithm, n = StronglyConvexReduction(inner=tree if inner == "tree" else descent), 512
    told = Told.of(context, algorithm, work, problem(work, PureDP(1.0) if inner == "tree" else ApproxDP(1.0, 1e-5)), n)
    x, first, outside = told.start, 0, 0
    c, noise, stated = work.constants, [1.0], [1.0]
    for row in told.plan.phases:
        records = told.records[:, first : first + row.records]
        first += row.records
        if inner == "descent":
            x = printed_phases(told.lines, row.inner.phases, records, x, [])
            continue
        (root,), wide = row.inner.phases, (0.0 if row.i == 1 else row.distance)
        at = {"L": c.lipschitz(1.0) + c.smoothness(1.0) * wide, "D": 2 * wide or c.diameter(1.0), "b": root.b}
        noise.append(root.scale)
        stated.append(claim("l1_geometry/alg-3@noise").evaluate(i=1, epsilon=1, **at))
        ball = work.domain.vertices if row.i == 1 else x[:, None] + row.distance * L1Ball(3, 1.0).vertices
        ball = np.broadcast_to(ball, (len(x), 6, 3))
        moved = printed_tree(told.lines, row.inner.phases, told.lines.drawn(records), ball, x)
        x = work.project(moved)
        outside += int((np.abs(moved).sum(axis=1) > 1).sum())
    verdict = combine([told.judged(x), agree(noise, stated, "noise of the runs")])
    if len(told.plan.phases) < 3 or (inner == "tree" and not outside):
        return differs(f"{len(told.plan.phases)} runs, {outside} of which end outside of the domain: too tame")
    return replace(verdict, numbers={**verdict.numbers, "runs": len(told.plan.phases), "outside": outside})


restarted_descent = unchecked(
    "l1_geometry/thm-8@summed",
    "the sum of `thm-4@summed`, which is checked, at the distance of the last run; it lies above the largest risk at "
    "all sizes that can be run",
)


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


@check(
    "l1_geometry/proc-strongly-convex-reduction", kind="privacy", grid={"inner": ("tree", "descent")}
)  # fmt: skip
def restarts_on_disjoint_records_are_private(context: Context, *, inner: str) -> Verdict:
    """Every restart reads records of its own: the worst record costs what its run costs, with certified claims."""
    n = 4096 if inner == "tree" else 1024
    if inner == "tree":
        privacy: ApproxDP = PureDP(1.0)
        algorithm = StronglyConvexReduction(inner=TreeFrankWolfe(sensitivity="safe", T=1, budget="economical"))
    else:
        privacy, algorithm = ApproxDP(1.0, 1e-5), StronglyConvexReduction()
    plan = algorithm.schedule(problem(LASSO, privacy), n)
    verdict = judge_account(account(plan, n), privacy)
    return replace(verdict, numbers={**verdict.numbers, "runs": len(plan.phases), "releases": len(plan.releases)})


@dataclass(frozen=True)
class Fine(LocalizedMirrorDescent):
    """Algorithm 2 with 2^94 steps a phase, and sixteen phases: later ones have balls of 2^-80 of the first.

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


@check(
    "l1_geometry/proc-strongly-convex-reduction", kind="accuracy", also=("l1_geometry/thm-9@corrected",),
    grid={"d": (2, 4)}, expect="consistent",
)  # fmt: skip
def selections_of_the_restarts(context: Context, *, d: int) -> Verdict:
    """Noisy selections at exact gradients end where drawn runs of restarted Algorithm 3 do, balls and all."""
    # unbound: the engine of these rates against drawn runs, whatever the rate is
    one = restarted(1.0, n=2**16, epsilon=0.25, delta=1e-5, modulus=1 / 4, H=d / 4, d=d, L=2.0)
    algorithm = StronglyConvexReduction(replace(INNER, T=2, budget="economical"), weight=1 / 4)
    return admitted(Simulated(selections, 40_000), one.running(algorithm), context.scale(200, 2000), context)


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
