"""Section 5: the reduction of strongly convex losses to convex ones, its settings, lines and privacy."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np

from dpcheck.accounting import account
from dpcheck.algorithms.l1_geometry import LocalizedMirrorDescent, StronglyConvexReduction, TreeFrankWolfe
from dpcheck.checks import Context, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.executed import as_stated
from dpcheck.engine.settings import FOLLOWING, NUMBERED, drawn, settings
from dpcheck.engine.statements import bound_of
from dpcheck.errors import Infeasible
from dpcheck.geometry import L1Ball
from dpcheck.harness import risk
from dpcheck.harness.budget import judge_account
from dpcheck.harness.lines import Told
from dpcheck.harness.plans import answered, planned, run_of, wrong_promises, wrong_sizes, wrongly_answered
from dpcheck.harness.scaling import Simulated, admitted
from dpcheck.harness.symbolic import agree
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.verdicts import Verdict, combine, differs

from .cases import LASSO, LIMIT, lasso, linear, problem
from .lines import printed_phases, printed_tree
from .section_5 import INNER, in_the_ball, restarted, selections

RUNS = {
    "phases": "l1_geometry/proc-strongly-convex-reduction@runs",
    "records": "l1_geometry/proc-strongly-convex-reduction@records",
}
settings_of_the_reduction = settings(
    "l1_geometry/proc-strongly-convex-reduction",
    {"as printed": RUNS, "smooth": RUNS},
    beside={
        "i": NUMBERED,
        "first": FOLLOWING,
        "distance": "not in the paper; `distances_of_the_restarts` looks at it",
    },
    problems=drawn(n=(2**14, 2**24), extra={"strong_convexity": (0.1, 10)}),
)


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
    asked = problem(work, PureDP(1.0) if inner == "tree" else ApproxDP(1.0, 1e-5))
    told = Told.of(context, algorithm, work, asked, n)
    x, first, outside = told.start, 0, 0
    c, noise, stated = work.constants, [1.0], [1.0]
    rows = as_stated(algorithm, asked, n, RUNS).phases
    for row in rows:
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
    if len(rows) < 3 or (inner == "tree" and not outside):
        return differs(f"{len(rows)} runs, {outside} of which end outside of the domain: too tame")
    return replace(verdict, numbers={**verdict.numbers, "runs": len(rows), "outside": outside})


@check("l1_geometry/proc-strongly-convex-reduction", kind="accuracy", grid={"inner": ("tree", "descent")})
def distances_that_bounds_prove(context: Context, *, inner: str) -> Verdict:
    """So many records that bounds are below the domain: run i + 1 is told the distance that the bound on run i gives by
    strong convexity, at its distance and records, if that is less; for Algorithm 3 on the l1 ball of that radius. Of
    Algorithm 2 the bound of the whole is that of the last run.
    """
    work, tree, modulus = lasso(3), TreeFrankWolfe(T=1, budget="economical"), 1.5
    chosen, n = (tree, 2**26) if inner == "tree" else (LocalizedMirrorDescent(), 2**30)
    told = problem(work, PureDP(1.0) if inner == "tree" else ApproxDP(1.0, 1e-5))
    as_on_a_simplex = replace(told.constants, diameter=lambda p: 2 ** (1 / p))  # it is not the same in all norms
    told = replace(told, constants=as_on_a_simplex)
    rows = StronglyConvexReduction(inner=chosen, weight=modulus).schedule(told, n).phases
    wanted = [told.constants.diameter(1.0)]
    for row in rows:
        if inner == "descent":
            of = replace(LocalizedMirrorDescent(), distance=row.distance)
            bound = bound_of("l1_geometry/thm-4@summed", of, told, row.records)
        else:
            bound = bound_of("l1_geometry/thm-6@summed", tree, in_the_ball(told, row), row.records)
        wanted.append(min(row.distance, math.sqrt(2 * bound / modulus)))
    if not wanted[-2] < wanted[0]:
        return differs(f"no bound is below the domain at n = {n:,}")
    distances = agree([row.distance for row in rows], wanted[:-1], "distances of the runs")
    if inner == "tree":
        return distances
    whole = bound_of("l1_geometry/thm-8@summed", StronglyConvexReduction(inner=chosen, weight=modulus), told, n)
    return combine([distances, agree([whole], [bound], "the bound of the last run")])


@check("l1_geometry/proc-strongly-convex-reduction", kind="transcription", grid={"inner": ("tree", "descent")})
def sizes_and_promises_of_the_restarts(context: Context, *, inner: str) -> Verdict:
    """Planned where every run has the records that its own plan needs, at no other n, and promised where every run is;
    of a modulus that is given, or that the losses have, and of no other.
    """
    # unbound: what is planned and promised, which no formula says
    tree, descent = TreeFrankWolfe(T=1, budget="economical"), LocalizedMirrorDescent(distance=0.5)
    chosen, work = (tree, LASSO) if inner == "tree" else (descent, linear(2))
    promise = PureDP(1.0) if inner == "tree" else ApproxDP(1.0, 1e-5)
    algorithm, told = StronglyConvexReduction(inner=chosen, weight=2.0), problem(work, promise)

    def alone(size: int) -> bool:
        return size >= 3 if inner == "tree" else planned(descent, told, size)

    def fits(n: int) -> bool:
        runs = math.ceil(math.log2(math.log2(n))) if n >= 3 else 0
        sizes = [math.floor(n / math.log2(n) * 2.0 ** (i - 2)) for i in range(1, runs + 1)]
        return bool(sizes) and all(size >= 2 and alone(size) for size in sizes)

    wrong = wrong_sizes(algorithm, told, (2, 3, 4, 5, 9, 17, 24, 40, 63, 70, 257, 300), fits)
    n = 4096
    halved = replace(tree, noise_dial=0.5) if inner == "tree" else replace(descent, c_sigma=50.0)
    wrong += wrong_promises([lambda: algorithm, lambda: replace(algorithm, inner=halved)], told, n, [True, False])
    asked = [
        (
            f"a modulus of {weight}",
            partial(StronglyConvexReduction(inner=chosen, weight=weight).schedule, told, n),
            legal,
        )
        for weight, legal in ((2.0, True), (0.1, True), (-1.0, False), (None, inner == "tree"))
    ]
    asked.append((f"a run of {n} records", run_of(lambda: algorithm, work, told, n), True))
    for size in (2, 3, 5):
        try:
            algorithm.schedule(told, size)
        except Infeasible as error:
            # Up to n = 2 there is no run at all; from there on there is one, of too few records.
            if ("log2(log2 n) > 0" in error.needs) != (math.log2(math.log2(size)) <= 0):
                wrong.append(f"n = {size} needs {error.needs}")
    said = "12 sizes, 2 promises, 4 moduli, 3 refusals and a run are as they are to be"
    return answered([*wrong, *wrongly_answered(asked)], said)


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
