"""Section 6: Algorithms 6 and 7, as printed and where every record draws its own place."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from dpcheck.accounting.placing import placing_delta
from dpcheck.algorithms.tsybakov import IteratedAccelerated, PermutedAccelerated
from dpcheck.checks import Context, by_size, check
from dpcheck.claims import evaluate
from dpcheck.engine.executed import as_stated, run_as_stated
from dpcheck.engine.settings import Inner, Stated, settings
from dpcheck.engine.statements import order_of, stated
from dpcheck.harness import accuracy, risk, runtime
from dpcheck.harness.budget import with_budget
from dpcheck.harness.odd_record import odd_record, shuffled_delta
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.symbolic import agree
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Point, Verdict, differs, holds, refuted, undecided
from dpcheck.workloads.linear import TwoPoint

from .cases import ANY, problem, told, well
from .lemmas import PLANE, accounted, called, counted, searched
from .lines import LOOSE, LOSSES, Released, batches_of, replayed, steps_of_algorithm_6, steps_of_places, watch
from .plans import edges_as_assumed, promises_of_batches, rows_of_batches

BATCHES = {
    "T": "tsybakov/alg-6@steps",
    "b": "tsybakov/alg-6@batch",
    "level": "tsybakov/alg-6@level",
    "gamma": "tsybakov/alg-6@gamma",
    "gradients": "tsybakov/alg-6@gradients",
}
VARIANCE = {**BATCHES, "sigma": "tsybakov/alg-6@literal"}
PLACED = {
    **BATCHES,
    "T": "tsybakov/alg-6@placed-steps",
    "b": "tsybakov/alg-6@placed-batch",
    "sigma": "tsybakov/alg-6@placed",
    "gradients": "tsybakov/alg-6@placed-gradients",
}
FEW_PLACES = ApproxDP(0.2, 0.1)
"""At which a few records have places to draw."""


def of_batches(settings: Stated) -> Stated:
    """Those that hold whatever number of batches is asked for."""
    return {name: label for name, label in settings.items() if name != "T"}


FOUND = {"sigma": "where no claim has it, it is searched for: the least at which delta is spent, which claims have"}

WEIGHTS = {"corrected": "tsybakov/alg-6@weights", "printed": "tsybakov/alg-7@weights"}

SIGMA_SQUARED: Any = {"symbols": {"level": "C"}, "powers": {"sigma": 2}}
settings_of_algorithm_6 = settings(
    "tsybakov/alg-6",
    {
        "as printed": BATCHES,
        "literal": VARIANCE,
        "plain": {**BATCHES, "delta": "tsybakov/alg-6@plain-delta"},
        "shuffle": {**BATCHES, "delta": "tsybakov/alg-6@shuffle-delta"},
        "placed": PLACED,
    },
    beside=FOUND,
    fields={"k": (2.0, 3.0, 4.0)},
    **SIGMA_SQUARED,
)
run_of_algorithm_6 = run_as_stated(  # where all places are drawn at once, gradients of all records are asked for
    "tsybakov/alg-6",
    {"literal": VARIANCE, "placed": {name: label for name, label in PLACED.items() if name != "gradients"}},
    LOSSES["plane"], told(LOSSES["plane"], FEW_PLACES), 60,
    noises={"sigma": "batch"}, **SIGMA_SQUARED,
)  # fmt: skip


@check(
    "tsybakov/alg-6",
    kind="accuracy",
    grid={"weights": ("corrected", "printed"), "loss": tuple(LOSSES)},
    also=("tsybakov/alg-6@weights", "tsybakov/alg-6@prox", "tsybakov/alg-7@weights"),
)
@replayed
def lines_of_algorithm_6(context: Context, *, weights: str, loss: str) -> Verdict:
    """Permuted batches, points between averages and steps, clipped means and prox steps; three records spare."""
    algorithm, work = PermutedAccelerated(weights=weights, batches=5, calibration="plain"), LOSSES[loss]  # type: ignore[arg-type]
    seen = watch(context, algorithm, told(work, LOOSE), work, 33)
    (row,) = as_stated(algorithm, told(work, LOOSE), 33, of_batches(BATCHES), **SIGMA_SQUARED).phases
    end = steps_of_algorithm_6(seen, WEIGHTS[weights], row, seen.rows, seen.start, seen.domain)
    return seen.verdict(end, [batches_of(*seen.plan.phases)])


@check("tsybakov/alg-6", kind="sensitivity", grid={"weights": ("corrected", "printed")})
def batches_of_algorithm_6(context: Context, *, weights: str) -> Verdict:
    """Clipped batch means at points that are functions of earlier releases, replayed with their permutation."""
    algorithm = PermutedAccelerated(calibration="plain", batches=4, weights=weights)  # type: ignore[arg-type]
    because = "given the permutation a record lies in one batch, and moves its clipped mean by 2C/b"
    return searched(context, algorithm, 16, because)


@check("tsybakov/alg-6", kind="transcription")
def planned_noise_grows_as_the_order(context: Context) -> Verdict:
    """The variance that plans with the printed noise give a batch, over the order: the same at all sizes, batches,
    levels and budgets.
    """
    ratios = []
    for T, b, level, epsilon, delta in itertools.product((4, 64), (8, 512), (0.5, 3.0), (0.1, 2.0), (0.1, 1e-12)):
        chosen = PermutedAccelerated(calibration="literal", batches=T, level=level)
        (row,) = chosen.schedule(told(PLANE, ApproxDP(epsilon, delta)), T * b).phases
        at = {"C": level, "T": T, "n": T * b, "epsilon": epsilon, "delta": delta}
        ratios.append(row.sigma**2 / float(evaluate(order_of("tsybakov/alg-6"), at)))
    return agree(ratios, [ratios[0]] * len(ratios), "planned variance over the order")


@check("tsybakov/alg-6@literal", kind="privacy", expect="refuted")
def printed_noise_at_the_epsilon_of_the_experiments(context: Context) -> Verdict:
    """Constant 64, epsilon = 8, delta = 1e-5, T = 100: the largest batch mean as the event; the exact curve beside it.

    epsilon = 8 is outside the range of Theorem 6, and the constant is not printed: this refutes no printed statement.
    """
    promise, T, cut = ApproxDP(8.0, 1e-5), 100, 5.8
    points = []
    for batches in (10, 50, 60, 100):
        literal = PermutedAccelerated(calibration="literal", batches=batches)
        h = odd_record(literal.schedule(told(PLANE, promise), 100 * batches))
        points.append(Point(x=float(batches), value=shuffled_delta(h, batches, 8.0), bound=1e-5, series="exact curve"))
    violating = [point.x for point in points if point.value > promise.delta]
    smallest = min(violating, default=math.inf)
    plan = PermutedAccelerated(calibration="literal", batches=T).schedule(told(PLANE, promise), 100 * T)
    h, others = odd_record(plan), scipy.stats.norm.cdf(cut) ** (T - 1)
    value = (1 - scipy.stats.norm.cdf(cut - h) * others) - math.exp(8.0) * (1 - scipy.stats.norm.cdf(cut + h) * others)
    numbers = {"exact delta(8)": shuffled_delta(h, T, 8.0), "smallest T of the table that violates": smallest}
    return refuted_by(
        "tsybakov/alg-6@literal",
        "alg_6_shuffled",
        measured=float(value),
        agreement=1e-4,
        numbers=numbers,
        points=points,
        axes=("T", "exact delta(8)"),
        T=T, constant=64, epsilon=8, delta="1/100000", threshold="29/5",
    )  # fmt: skip


@check("tsybakov/alg-6@plain", kind="privacy", grid={"epsilon": (0.05, 1.0, 8.0), "T": (None, 1, 64)})
def plain_noise_is_private_for_every_epsilon(context: Context, *, epsilon: float, T: int | None) -> Verdict:
    """The account of disjoint batches, the permutation given; and Definition 3's deviation is not smaller."""
    promise, n = ApproxDP(epsilon, 1e-5), 4096
    plan = PermutedAccelerated(calibration="plain", batches=T).schedule(told(PLANE, promise), n)
    (row,) = plan.phases
    printed = stated("tsybakov/alg-6@plain", C=row.level, T=row.T, n=row.T * row.b, delta=1e-5, epsilon=epsilon)
    verdict = accounted(plan, promise, "parallel composition; the exact Gaussian curve")
    if printed < row.sigma:
        return refuted(f"8CT sqrt(log(1/delta))/(n epsilon) = {printed:.6g} is below {row.sigma:.6g}", "exact")
    return replace(verdict, numbers={**verdict.numbers, "Definition 3 over exact deviation": printed / row.sigma})


@check("tsybakov/alg-6@plain", kind="privacy", grid={"epsilon": (0.5, 2.0)})
def shuffling_disjoint_batches_never_hurts(context: Context, *, epsilon: float) -> Verdict:
    """The exact curve of shuffled batches under noise for disjoint ones: below delta, and how far, as T grows."""
    promise, left, points = ApproxDP(epsilon, 1e-5), [], []
    for T in context.scale((1, 2, 5, 20), (1, 2, 5, 10, 20, 50, 100)):
        plan = PermutedAccelerated(calibration="plain", batches=T).schedule(told(PLANE, promise), 1000)
        exact = shuffled_delta(odd_record(plan), plan.phases[0].T, epsilon)
        left.append(exact)
        points.append(Point(x=float(T), value=exact, bound=1e-5, series=f"epsilon = {epsilon:g}"))
    verdict = accuracy.never_violated(
        left, 1e-5, statement="exact delta(epsilon) of the mixture <= delta", evidence="certificate", tolerance=1e-4,
        covers="hockey-stick divergence is jointly convex, so a mixture over places costs at most one place",
    )  # fmt: skip
    return replace(verdict, points=points, axes=("T", "exact delta"), dashed="claimed delta")


@check("tsybakov/alg-6", kind="runtime", grid={"n": by_size((200,), (200, 1000, 10_000))})
def one_pass(context: Context, *, n: int) -> Verdict:
    """Gradients of Algorithm 6 against n."""
    verdict = counted(context, PermutedAccelerated(), well(2.0, 2.0), n)
    return runtime.verdict(float(verdict.numbers["calls"]), n, x=n)


CALLS = {
    "phases": "tsybakov/alg-5@calls",
    "records": "tsybakov/alg-7@corrected-records",
    "radius": "tsybakov/alg-4@radius",
    "gradients": "tsybakov/alg-4@gradients",
}
READINGS_OF_ALGORITHM_7 = {
    "literal": {**CALLS, "records": "tsybakov/alg-7@records"}, "corrected": CALLS, "shrinking": CALLS
}  # fmt: skip
PARTS = Inner(
    called=called,
    stated={
        "literal": BATCHES,
        "corrected": BATCHES,
        "shrinking": {**BATCHES, "D": "tsybakov/alg-7@shrinking-diameter"},
    },
)
"""What a call fixes beside its noise."""
settings_of_algorithm_7 = settings(
    "tsybakov/alg-7",
    READINGS_OF_ALGORITHM_7,
    symbols={"level": "C", "radius": "R"},
    beside={"start": "where its records begin", **FOUND},
    fields={"k": (2.0, 4.0), "theta_bar": (1.5, 2.0, 4.0), "calibration": ("literal",)},
    powers={"sigma": 2},
    inner=replace(PARTS, stated={name: {**of, **VARIANCE} for name, of in PARTS.stated.items()}),
)

run_of_algorithm_7 = run_as_stated(
    "tsybakov/alg-7", READINGS_OF_ALGORITHM_7, LOSSES["plane"], told(LOSSES["plane"], LOOSE), 64,
    symbols={"level": "C", "radius": "R"}, inner=PARTS,
)  # fmt: skip


@check(
    "tsybakov/alg-7", kind="accuracy", grid={"reading": ("literal", "corrected", "shrinking"), "loss": tuple(LOSSES)}
)
@replayed
def lines_of_algorithm_7(context: Context, *, reading: str, loss: str) -> Verdict:
    """Calls of Algorithm 6 on parts of doubling size, each from the output before it, on the domain or a ball of it."""
    algorithm, work = IteratedAccelerated(**IteratedAccelerated.readings[reading]), LOSSES[loss]
    seen = watch(context, algorithm, told(work, LOOSE), work, 64)
    settings: Any = {"symbols": {"level": "C", "radius": "R"}, "inner": PARTS, "reading": reading}
    calls = as_stated(algorithm, told(work, LOOSE), 64, READINGS_OF_ALGORITHM_7[reading], **settings).phases
    w, released = seen.start, []
    for epoch in calls:
        rows, (row,) = seen.rows[:, epoch.start : epoch.start + epoch.records], epoch.inner.phases
        domain = (*seen.domain, (w, epoch.radius)) if reading == "shrinking" else seen.domain
        w = steps_of_algorithm_6(seen, WEIGHTS[algorithm.weights], row, rows, w, domain, f"{epoch.name}/")
    for epoch in seen.plan.phases:
        released.append(batches_of(*epoch.inner.phases, f"{epoch.name}/", epoch.start))
    return seen.verdict(w, released)


@check("tsybakov/alg-7@corrected", kind="sensitivity")
def batches_of_algorithm_7(context: Context) -> Verdict:
    """The same over the parts of Algorithm 7, on shrinking balls."""
    algorithm = IteratedAccelerated(theta_bar=2.0, **{**IteratedAccelerated.readings["shrinking"]})
    because = "given the permutation a record lies in one batch of one part, and moves its clipped mean by 2C/b"
    return searched(context, algorithm, 64, because)


@check("tsybakov/alg-7@corrected", kind="privacy", grid={"epsilon": (0.1, 1.0), "reading": ("corrected", "shrinking")})
def account_of_algorithm_7(context: Context, *, epsilon: float, reading: str) -> Verdict:
    """Calls of Algorithm 6 on disjoint parts, with the smaller of the two noises that are proven."""
    promise = ApproxDP(epsilon, 1e-5)
    algorithm = IteratedAccelerated(theta_bar=2.0, **IteratedAccelerated.readings[reading])
    return accounted(algorithm.schedule(told(PLANE, promise), 4096), promise, "parallel composition of the parts")


@check("tsybakov/alg-7@literal", kind="accuracy", grid={"T": (1, 5)}, expect="refuted")
def printed_weights_start_below_one(context: Context, *, T: int) -> Verdict:
    """What the start 0 weighs in the output when all later points are at the end -1: 2/((T+1)(T+2)), and not 0.

    Runs of our Algorithm 6 with the weights of Algorithm 7, hardly any noise, steps longer than the domain.
    """
    line = TwoPoint(D=2.0, G=1.0, rho=1.0)
    algorithm, told, n = (
        PermutedAccelerated(weights="printed", batches=T, noise_dial=1e-12),
        problem(line, 1.0),
        10**6 * T,
    )
    excess = risk.excess_risks(algorithm, line, told, n, 1, context.seed, context.name, T, gradients=ANY)
    left = float(excess[0])
    kept = math.prod(1 - stated("tsybakov/alg-7@weights", i=t) for t in range(2, T + 1))
    claimed, weight = (1 - stated("tsybakov/alg-7@literal")) * kept, 2 / ((T + 1) * (T + 2))
    if claimed < 0:
        return differs(f"points are averaged with weights between 0 and 1, and the claim gives the start {claimed:.4g}")
    if abs(left - weight) > 1e-9:
        return differs(f"the start weighs {left:.6g} in our output, where 2/((T+1)(T+2)) = {weight:.6g}")
    verdict = accuracy.never_violated(left, claimed, statement="weight of the start <= (1 - α_1)(1 - α_2)…, which is 0")
    verdict = replace(verdict, severity=left, numbers={**verdict.numbers, "2/((T+1)(T+2))": weight})
    return with_budget(verdict, algorithm, told, n)


@check(
    "tsybakov/alg-7", kind="runtime", also=("tsybakov/alg-7@corrected",), grid={"n": by_size((2**8,), (2**8, 2**16))}
)
def one_pass_in_parts(context: Context, *, n: int) -> Verdict:
    """Gradients of Algorithm 7 against n; at θ̄ = 2 its parts leave an eighth of 2^8 records, a sixteenth of 2^16."""
    algorithm = IteratedAccelerated(theta_bar=2.0, **IteratedAccelerated.readings["corrected"])
    calls = float(counted(context, algorithm, well(2.0, 2.0), n).numbers["calls"])
    bounds = [stated(label, n=n) for label in ("tsybakov/alg-7", "tsybakov/alg-7@corrected")]
    if max(bounds) > 1.5 * calls:
        return undecided(f"{calls:,.0f} gradients counted: too few to tell {max(bounds):,.0f} from n", "counted")
    return runtime.verdict(calls, min(bounds), x=n)


def placed(k: float = 2.0, batches: int | None = None) -> PermutedAccelerated:
    return PermutedAccelerated(k=k, calibration="placed", batches=batches)


def corner(epsilon: float, delta: float) -> int:
    """The largest T for which `alg-6@placed` speaks of these."""
    return int(min(math.log(1 / delta) / epsilon, 2 / epsilon**2))


@check(
    "tsybakov/alg-6@placed", kind="privacy",
    grid={"epsilon": by_size((0.25,), (0.25, 0.1, 0.01)), "delta": (math.exp(-1), 1e-5, 1e-12)},
)  # fmt: skip
def drawn_places_are_private(context: Context, *, epsilon: float, delta: float) -> Verdict:
    """The algorithm's own noise, from one batch to the most that are spoken of: a closed bound on delta(epsilon) for
    every adaptive use, and from below the exact curve of one odd record among zeros."""
    most, points, worst = corner(epsilon, delta), [], (0.0, 0.0)
    for T in sorted({T for T in (1, 2, 5, 20, 100) if most > T} | {most}):
        plan = placed(batches=T).schedule(told(PLANE, ApproxDP(epsilon, delta)), 4000 * T)
        shift = odd_record(plan)
        above = placing_delta(epsilon, shift, T, 1 / (2 * T))
        below = shuffled_delta(shift, T, epsilon, unread=0.5) if T <= 20 else 0.0
        worst = max(worst[0], above / delta), max(worst[1], below / delta)
        points.append(Point(x=float(T), value=above, bound=delta, series=f"epsilon = {epsilon:g}, delta = {delta:.3g}"))
    fields = {
        "numbers": {"bound over delta": worst[0], "odd record over delta": worst[1], "largest T": float(most)},
        "points": points, "axes": ("T", "bound on delta(epsilon)"), "dashed": "claimed delta",
    }  # fmt: skip
    if worst[1] > 1:
        return refuted(f"one odd record among zeros spends {worst[1]:.4g} times delta", "exact", **fields)  # type: ignore[arg-type]
    verdict = accuracy.never_violated(
        worst[0], 1.0, statement="bound on delta(epsilon) over delta <= 1", evidence="certificate",
        covers="an exponential moment of the density ratios, which are martingales whatever the losses and the other "
        "records are",
    )  # fmt: skip
    if verdict.outcome == "refuted":  # of the bound, not of the claim
        return undecided(f"the bound is {worst[0]:.4g} times delta", "certificate", **fields)  # type: ignore[arg-type]
    return replace(verdict, **fields)  # type: ignore[arg-type]


@check("tsybakov/alg-6@placed", kind="accuracy", grid={"loss": tuple(LOSSES)})
@replayed
def lines_of_placed_batches(context: Context, *, loss: str) -> Verdict:
    """Places, sums over n/(2T), points between averages and steps, prox steps; some batches are empty.

    Each of T = 5 batches has a tenth of the records and none of them a half, by Hoeffding's inequality; and as many
    places are drawn from as the plan tells the accountant.
    """
    work, n, trials = LOSSES[loss], 12, 100
    seen = watch(context, placed(batches=5), told(work, FEW_PLACES), work, n, trials)
    (row,) = as_stated(placed(batches=5), told(work, FEW_PLACES), n, of_batches(PLACED), **SIGMA_SQUARED).phases
    (planned_row,), (drawn,) = seen.plan.phases, seen.run.transcript.coins
    end = steps_of_places(seen, "tsybakov/alg-6@weights", row, seen.rows, seen.start, seen.domain)
    released = Released("batch", planned_row.sigma, 0, n, planned_row.T, 2 * planned_row.level / planned_row.b)
    lines = seen.verdict(end, [released])
    shares = drawn.mean(axis=(0, 1))
    planned = seen.plan.releases[0].reads[0].sampling
    places = (2 * row.T, planned.size if planned is not None else 1)
    off = float(np.abs(shares - [[1 / size] * row.T + [1 - row.T / size] for size in places]).max())
    allowed = math.sqrt(math.log(2 * len(shares) / context.failure_probability) / (2 * trials * n))
    if off > allowed:
        said = f"the share of records in a batch, or in none, is off by {off:.3g}, {allowed:.3g} is allowed"
        return differs(said, "sampled", failure_probability=context.failure_probability)
    return lines


@check("tsybakov/alg-7", kind="transcription", also=("tsybakov/alg-4@calls", "tsybakov/thm-7@corrected"))
def parts_of_placed_calls(context: Context) -> Verdict:
    """As many equal parts as Algorithm 4 has, of all records but for less than one a part; or so many as asked for."""
    algorithm = IteratedAccelerated(**IteratedAccelerated.readings["placed"])
    for n in (44, 45, 1000, 2**14, 10**6):
        m, parts = round(stated("tsybakov/alg-4@calls", n=n)), algorithm.parts(n)
        for wanted, these in ((m, parts), (5, replace(algorithm, calls=5).parts(n))):
            if len(these) != wanted or len(set(these)) > 1 or not n - wanted < sum(these) <= n:
                return differs(f"{these} at n = {n:,}, where {wanted} equal parts of all are meant", "exact")
    return holds("as many parts as meant, all alike, of all records but for less than one a part", "exact")


@check("tsybakov/alg-7", kind="accuracy", also=("tsybakov/thm-7@corrected",))
@replayed
def lines_of_placed_calls(context: Context) -> Verdict:
    """Calls on equal parts, each on half of the ball before it, around where the last one ended."""
    # unbound: the lines at the schedule's own numbers, which the settings compare with the claims
    work, algorithm = LOSSES["plane"], IteratedAccelerated(**IteratedAccelerated.readings["placed"], calls=3)
    seen = watch(context, algorithm, told(work, ApproxDP(0.2, 0.1)), work, 100)
    if (records := [epoch.records for epoch in seen.plan.phases]) != [33, 33, 33]:
        return differs(f"parts of {records} records, where three equal ones of 100 are meant", "exact")
    w, released = seen.start, []
    for epoch in seen.plan.phases:
        rows, (row,) = seen.rows[:, epoch.start : epoch.start + epoch.records], epoch.inner.phases
        domain = (*seen.domain, (w, epoch.radius))
        w = steps_of_places(seen, "tsybakov/alg-6@weights", row, rows, w, domain, f"{epoch.name}/")
        stop = epoch.start + epoch.records
        released.append(Released(f"{epoch.name}/batch", row.sigma, epoch.start, stop, row.T, 2 * row.level / row.b))
    return seen.verdict(w, released)


@check("tsybakov/alg-6", kind="accuracy", also=("tsybakov/alg-7", "tsybakov/thm-6", "tsybakov/thm-7"))
def promises_and_sizes_of_batches(context: Context) -> Verdict:
    """Who promises what, numbers of batches, the lesser of two noises, and from which sizes on there is a plan."""
    # unbound: what is planned and promised, which no bound says
    return promises_of_batches()


@check("tsybakov/alg-6@placed", kind="transcription", grid={"T": (3, 40, 100)})
def placed_plans_end_where_their_claim_does(context: Context, *, T: int) -> Verdict:
    """The largest budgets that are planned with drawn places are the largest that the claim speaks of."""
    beyond = {"epsilon": 9.0, "delta": 0.999}
    return edges_as_assumed(
        "tsybakov/alg-6@placed", lambda at: placed(batches=T), 4000, beyond, T=T, C=1.0, epsilon=0.01
    )


@check(
    "tsybakov/alg-6", kind="transcription", grid={"calibration": ("literal", "plain", "shuffle", "placed")},
    also=tuple(f"tsybakov/alg-6@{name}" for name in ("steps", "batch", "level", "gamma", "placed")),
)  # fmt: skip
def rows_beside_their_claims(context: Context, *, calibration: str) -> Verdict:
    """Batches, level, noise and prox weights of plans at which another minimum or maximum binds each."""
    return rows_of_batches(calibration)
