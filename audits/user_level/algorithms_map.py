"""The group-privacy baseline, where other algorithms are feasible and where they beat it, a lower bound for all."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import stats

from dpcheck.accounting import account
from dpcheck.algorithms.user_level import GroupPrivacy, PhasedERM, PhasedSGD
from dpcheck.algorithms.user_level.sizes import smallest_users
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import bound_of, stated
from dpcheck.geometry import Box
from dpcheck.harness import accuracy, privacy, risk, runtime, sensitivity
from dpcheck.harness.budget import budget, sentence
from dpcheck.harness.controls import conclude, row, told_apart
from dpcheck.harness.losses import compose
from dpcheck.harness.replay import Case
from dpcheck.harness.search import BallRecords, UserRecords
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Problem
from dpcheck.verdicts import Point, Verdict, differs, holds, refuted, undecided
from dpcheck.workloads import LinearMean, Users

from ._runs import REDUCED_1, REDUCED_3, REDUCED_4, SUMMED, WORKLOADS, counted, linear, plain, problem, tilted, top

# The baseline ---------------------------------------------------------------------------------------------------------


@check("user_level/proc-group-privacy", kind="privacy", grid={"m": (1, 10, 1000), "epsilon": (0.1, 1.0, 10.0)})
def baseline_is_private(context: Context, *, m: int, epsilon: float) -> Verdict:
    """Exact curve of the worst user, who moves a phase by m times what a sample moves it: (epsilon, delta)-DP."""
    delta, n = 1e-7, 1000
    plan = GroupPrivacy().schedule(plain(5, m, epsilon, delta), n)
    composed = compose(plan, {plan.releases[0].name: plan.phases[0].moves})
    claimed = plan.claimed
    assert claimed is not None
    found = privacy.judge(composed, claimed, covers="non-expansive steps; every phase has the same quotient")
    return replace(found, numbers={**found.numbers, "by the accountant": account(plan, n).epsilon(delta)})


@check("user_level/proc-group-privacy@derived", kind="privacy")
def group_privacy_by_composition(context: Context) -> Verdict:
    """m replacements at (eps/m, delta_0): randomised response shows (e^eps - 1)/(e^(eps/m) - 1) delta_0 is needed.

    The chain P_0, ..., P_m with P_j = e^(eps/m) P_{j+1} + delta_0 on an event attains the geometric sum.
    """
    found, wanted = [], []
    for m, epsilon in ((2, 1.0), (10, 0.5), (100, 3.0)):
        delta_0, p = 1e-9, 0.0
        for _ in range(m):  # from the last neighbour, on which the event has probability 0
            p = math.exp(epsilon / m) * p + delta_0
        found.append(p / delta_0)
        wanted.append(stated("user_level/proc-group-privacy@derived", epsilon=epsilon, m=m))
    return agree(found, wanted, "delta over delta_0")


@check("user_level/proc-group-privacy", kind="sensitivity", grid={"loss": tuple(WORKLOADS)})
def baseline_moves_by_its_claim(context: Context, *, loss: str) -> Verdict:
    """A user of m samples moves the average of a phase by at most 2 L eta m: search, and a proof."""
    d, m, n = 2, 3, 16
    work = WORKLOADS[loss](d, m)
    radius = {"linear": 1.0, "quadratic": 0.5, "huber": math.sqrt(d)}[loss]
    case = Case(GroupPrivacy(eta=0.2), work, problem(work))
    found = sensitivity.search(
        case, UserRecords(BallRecords(radius, d), m), n, chains=16, steps=context.scale(8, 40), seed=context.seed
    )
    proof = sensitivity.Certificate(1.0, "steps of at most 2/beta do not expand; m samples, one after the other")
    return sensitivity.judge(found, certificate=proof)


@check("user_level/proc-group-privacy", kind="runtime", grid={"n": (64, 200)})
def baseline_takes_linear_time(context: Context, *, n: int) -> Verdict:
    """Gradients of a run, sample by sample, at most nm."""
    work = linear(2, 5)
    found, planned = counted(GroupPrivacy(), work, problem(work), n, context.seed)
    if found != planned:
        return differs(f"{found:g} counted, {planned} planned", "counted")
    return runtime.verdict(found, float(n * 5), x=float(n))


@check(
    "user_level/proc-group-privacy",
    kind="risk",
    also=("user_level/proc-group-privacy@summed",),
    grid={"loss": ("linear", "huber"), "n": by_size([256], [256, 1024])},
)
def risk_of_the_baseline(context: Context, *, loss: str, n: int) -> Verdict:
    """Mean excess risk at printed constants (this one is private) against its explicit bound, epsilon = 4.

    Quadratics are left out: their start keeps the bound at every mean.
    """
    work = WORKLOADS[loss](2, 4)
    told = problem(work, 4.0)
    values = risk.excess_risks(GroupPrivacy(), work, told, n, context.scale(300, 1500), context.seed, loss, n)
    bound, most = bound_of("user_level/proc-group-privacy@summed", GroupPrivacy(), told, n), top(work)
    found = risk.expectation(values, bound, context.failure_probability, limit=most, x=float(n), series=loss)
    return told_apart(found, work, bound)


@check(
    "user_level/proc-group-privacy",
    kind="rate",
    grid={"n": by_size([64, 128, 256, 512], [64, 91, 128, 181, 256, 362, 512, 724, 1024, 1448])},
    conclude=conclude("n"),
    expect=("consistent", "undecided"),
)
def slope_of_the_baseline(context: Context, *, n: int) -> Any:
    """Mean excess risk over n against 1/sqrt(nm) + sqrt(d log)/(eps n), epsilon = 8: private, unlike the others."""
    d, m = 2, 8
    work = tilted(n, m, d)
    told = problem(work, 8.0)
    values = risk.excess_risks(GroupPrivacy(), work, told, n, context.scale(80, 300), context.seed, "slope", n, m)
    bound = stated("user_level/proc-group-privacy", n=n, m=m, d=d, epsilon=8.0, delta=1e-6, D=1.0, L=1.0)
    return row(values, bound, work)


# Where what is feasible, and where it is better -----------------------------------------------------------------------

TINY_DELTA = 1e-40
"""So small that T_i K_i delta is no matter: the bad event of Theorem C.3 asks for that (S25)."""
SAMPLES = (1, 100, 10**4, 10**16, 10**24)
SCANNED = (2**20, 2**30, 2**40)
PATIENT = PhasedERM(c_steps=16.0)
"""With 16 times the steps, a constant that T_i = Theta(...) leaves open; the privacy is the same."""


def shapes(context: Context) -> list[tuple[int, int, float]]:
    """(m, d, epsilon)."""
    budgets = context.scale((1.0,), (0.1, 1.0, 10.0))
    return [(m, d, epsilon) for m in SAMPLES for d in (1, 100) for epsilon in budgets]


def first_feasible(algorithm: Any, told: Problem) -> int | None:
    return smallest_users(lambda n: algorithm.feasible(told, n))


def first_better(algorithm: Any, told: Problem, first: int) -> int | None:
    """The first of the scanned n at which its bound is below the baseline's."""
    for n in SCANNED:
        if n < first or not algorithm.feasible(told, n):
            continue
        baseline = bound_of("user_level/proc-group-privacy@summed", GroupPrivacy(), told, n)
        if bound_of(SUMMED[algorithm.label], algorithm, told, n) < baseline:
            return n
    return None


def map_of_feasible_sizes(algorithm: Any, context: Context) -> tuple[dict[str, Any], tuple[Point, ...]]:
    numbers: dict[str, Any] = {}
    points = []
    for m, d, epsilon in shapes(context):
        told = plain(d, m, epsilon, TINY_DELTA)
        first = first_feasible(algorithm, told)
        if first is None:
            continue
        better = first_better(algorithm, told, first)
        said = f"better than the baseline at {better:.2g}" if better else f"not better at n <= {max(SCANNED):.2g}"
        numbers[f"m = {m:g}, d = {d}, epsilon = {epsilon:g}"] = f"feasible from {first:,}, {said}"
        points.append(Point(x=float(m), value=float(first), series=f"d = {d}, epsilon = {epsilon:g}"))
    return numbers, tuple(points)


@check("user_level/thm-2-1", kind="symbolic")
def where_algorithm_1_beats_group_privacy(context: Context) -> Verdict:
    """Smallest feasible n over (m, d, epsilon), and a scanned n at which its explicit bound is below the baseline's.

    Orders alone: the proved rate is below the private part of the baseline exactly where m > eps n (S13).
    """
    numbers, points = map_of_feasible_sizes(PhasedSGD(), context)
    agreed = []
    for m, d, epsilon in shapes(context):
        for n in SCANNED:
            proved = stated("user_level/thm-2-1@derived", n=n, m=float(m), d=d, epsilon=epsilon, D=1.0, L=1.0)
            private = math.sqrt(d) / (epsilon * n)
            agreed.append(float((proved < private) == (m > epsilon * n)))
    verdict = accuracy.never_violated(
        np.ones(len(agreed)), agreed, statement="better exactly where m > eps n", covers="the quotient is sqrt(eps n/m)"
    )
    return replace(verdict, numbers={**verdict.numbers, **numbers}, points=points, axes=("m", "smallest n"))


@check("user_level/thm-3-2", kind="symbolic")
def where_algorithm_3_beats_group_privacy(context: Context) -> Verdict:
    """The same for Algorithm 3 with patience: by orders alone it is never worse, and better for m > 1."""
    numbers, points = map_of_feasible_sizes(PATIENT, context)
    left, right = [], []
    for m, d, epsilon in shapes(context):
        for n in (n for n in SCANNED if 1 / (m * n) > TINY_DELTA):  # as the theorem assumes
            values = {"n": n, "m": float(m), "d": d, "epsilon": epsilon, "D": 1.0, "L": 1.0, "delta": TINY_DELTA}
            left.append(stated("user_level/thm-3-2", **values))
            right.append(stated("user_level/proc-group-privacy", **values))
    verdict = accuracy.never_violated(
        left, right, statement="Theorem 3.2 <= group privacy", covers="log(1/delta) <= log(m e^eps/delta)"
    )
    return replace(verdict, numbers={**verdict.numbers, **numbers}, points=points, axes=("m", "smallest n"))


@check("user_level/claim-3-4@derived", kind="runtime", grid={"epsilon": (0.1, 1.0), "m": (1, 100)})
def users_that_suffice(context: Context, *, epsilon: float, m: int) -> Verdict:
    """Just below the planner's smallest n of Algorithm 3, n/(e (1 + log_2 n)) is below what a phase needs."""
    told = plain(10, m, epsilon, TINY_DELTA)
    algorithm = PhasedERM()
    first = first_feasible(algorithm, told)
    assert first is not None
    needed = algorithm.enough(told, first)
    # One user below the smallest n the last phase is short, so that the closed form is below the need.
    below = stated("user_level/claim-3-4@derived", n=float(first - 1))
    return accuracy.never_violated(
        [below, 1.0], [needed, float(algorithm.feasible(told, first))],
        statement="n/(e (1 + log2 n)) <= 100 log(...)/eps just below", covers="this size", evidence="exact",
    )  # fmt: skip


# A lower bound, for every algorithm -----------------------------------------------------------------------------------

CONTENDERS: dict[str, Any] = {
    "group privacy": GroupPrivacy(),
    "alg-1": replace(REDUCED_1, p=0.5, phases=2),
    "alg-3": REDUCED_3,
    "smoothed": replace(REDUCED_4, r=0.3),
}


def hard_cube(d: int, n: int, m: int) -> Users:
    """Signs with P(+) = (1 + v_j/sqrt(nm))/2 on the cube of diameter 1, L = 1; by symmetry any v."""
    size = np.full(d, 1 / math.sqrt(d))
    cube = Box(-0.5 / math.sqrt(d), 0.5 / math.sqrt(d), d=d)
    return Users(LinearMean(size, size / math.sqrt(n * m), cube, radius=0.5), m)


def bayes(n: int, m: int) -> float:
    """Exact: (1/(2 sqrt(nm)))(1 - TV) for one coordinate from all nm samples, L = R = 1."""
    N, a = n * m, 1 / math.sqrt(n * m)
    k = np.arange(N + 1)
    tv = 0.5 * np.abs(stats.binom.pmf(k, N, (1 + a) / 2) - stats.binom.pmf(k, N, (1 - a) / 2)).sum()
    return a / 2 * (1 - float(tv))


@check("user_level/fact-lower-bound@derived", kind="lower-bound", grid={"which": tuple(CONTENDERS)})
def no_algorithm_beats_the_bayes_risk(context: Context, *, which: str) -> Verdict:
    """Mean excess risk over sign patterns against the exact Bayes risk; data and noise are fresh in every trial."""
    algorithm = CONTENDERS[which]
    d, n, m, trials = 3, 128, 4, context.scale(300, 2000)
    work = hard_cube(d, n, m)
    # Starts at the centre and treats coordinates and signs alike, so that one pattern stands for all.
    values = risk.excess_risks(algorithm, work, problem(work), n, trials, context.seed, "hard", which)
    least, most = bayes(n, m), top(work) / math.sqrt(n * m)
    wins = values.mean()
    # An excess risk is at most 1/sqrt(nm) here: Hoeffding's interval.
    spread = most * math.sqrt(-math.log(context.failure_probability) / (2 * trials))
    numbers: dict[str, Any] = {"mean": float(wins), "Bayes risk": least, "over it": float(wins / least)}
    said = f"mean excess risk {wins:.4g}, Bayes risk {least:.4g}, give or take {spread:.2g}"
    spent = budget(algorithm, problem(work), n)
    numbers, said = numbers | spent, f"{said}; {sentence(spent)}"
    fields: dict[str, Any] = {
        "failure_probability": context.failure_probability, "numbers": numbers, "severity": float(least / wins),
    }  # fmt: skip
    if wins + spread < least:
        return refuted(f"an algorithm beats the Bayes risk: {said}", "sampled", **fields)
    return (holds if wins - spread >= least else undecided)(said, "sampled", **fields)
