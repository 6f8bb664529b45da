"""Instances, solvers and measurements that several sections of this paper share.

A member of a class that is chosen with the algorithm in mind may have the rate by itself: on `RareSpikes.rescaled`
every point of the domain has it. So the members here come from a grid of (p, theta) that is the same for every
algorithm, the risk is the worst of them at each n, and the same measurement is made of three outputs that read no data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck import seeds
from dpcheck.accounting import account
from dpcheck.algorithms.pure_heavy_tails import EMPGM, Constant, PopLocalize, SingleOutputPert, SmoothedEMPGM
from dpcheck.algorithms.pure_heavy_tails.erm import Stage
from dpcheck.algorithms.pure_heavy_tails.exponential import net
from dpcheck.algorithms.pure_heavy_tails.localize import LocalizedOutputPert
from dpcheck.algorithms.pure_heavy_tails.sampling import LocalPotential
from dpcheck.checks import Context
from dpcheck.engine.settings import drawn
from dpcheck.engine.statements import bound_of
from dpcheck.harness import accuracy, privacy, replay, risk
from dpcheck.harness.losses import compose
from dpcheck.harness.replay import Case
from dpcheck.harness.selection import Pair
from dpcheck.interfaces import Algorithm, Array, Objective, Problem, Sample, Schedule
from dpcheck.privacy import PureDP
from dpcheck.running import Entry, Fixed, Fresh, Run, Transcript
from dpcheck.solvers import certified
from dpcheck.verdicts import Outcome, Point, Verdict, combine, differs, holds, refuted, undecided
from dpcheck.workloads.amplitudes import Spike
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.linear import RareSpikes
from dpcheck.workloads.radial import RadialHeavyTail

BLOCKS = 9
"""J for experiments: as private as the proved J, without a certified risk."""

DELTA = 0.1
"""Failure probability of the accuracy statements (the paper's delta)."""


def largest(work: Any) -> float:
    """A number that no excess risk exceeds: on an interval the larger one of its ends, by convexity; else D G_1."""
    D = work.constants.diameter(2.0)
    if work.constants.d > 1:
        return float(D * work.constants.moment(1.0, 1))
    ends = work.project(np.array([[-D], [D]]))
    return float(work.excess_risk(ends).max())


def practical(k: float, solver: str) -> LocalizedOutputPert:
    """Localised output perturbation with few blocks and the scaling of lambda_1 without its constant."""
    return LocalizedOutputPert(k=k, solver=solver, blocks=BLOCKS, c_erm=1.0)  # type: ignore[arg-type]


def problem(workload: Any, epsilon: float, delta: float = DELTA) -> Problem:
    return Problem.of(workload, PureDP(epsilon), failure_probability=delta)


def opposite_spikes(m: int, spike: float, place: int = 0) -> tuple[Array, Array]:
    """The closed-form worst pair for linear losses on an interval, (1, m, 1): a record goes from +spike to -spike."""
    data = np.zeros((1, m, 1))
    data[0, place] = spike
    neighbour = data.copy()
    neighbour[0, place] = -spike
    return data, neighbour


def wide(D: float = 1e4) -> RareSpikes:
    """Linear losses on an interval so long that projections are idle: shifts are then the largest possible."""
    return RareSpikes(D=D, k=2.0, G=1.0, p=0.5, theta=0.0)


def radial_spikes(d: int, k: float, m: int, epsilon: float, factor: float = 1.0) -> RadialHeavyTail:
    """W1: |w - b| with weights of G_k = 1 that are rare enough to exceed the prescribed cap: p = factor d/(m epsilon).

    b lies so far from the centre 0 that the minimiser stays between the two. Of rare weights it is as near to the start
    as the bounds allow; of common ones (`factor` m epsilon/d) it is not, and no cap of theirs acts.
    """
    b = np.zeros(d)
    b[0] = 400.0
    return RadialHeavyTail(b=tuple(b), D=1000.0, weights=Spike.of_moment(1.0, k, min(1.0, factor * d / (m * epsilon))))


RELEASES = {
    "point": "last point", "stage 1/point": "point of stage 1", "gradient": "gradient",
}  # fmt: skip
"""The releases of these schedules, in words."""


# Privacy, exactly ---------------------------------------------------------------------------------------------------


def shifts(case: replay.Case, data: Array, neighbour: Array, trials: int = 64) -> dict[str, float]:
    """Largest distance of the cores of every release over the histories of `trials` runs."""
    seen = case.replay(data, neighbour, trials)
    assert float(seen.leak.max()) == 0, "the returned point follows the data outside of the releases"
    return {name: max(uses) for name, uses in seen.distances().items()}


def slack_verdict(
    schedule: Schedule[Any],
    found: Mapping[str, float],
    certified: Mapping[str, float],
    allowed: float,
    because: str,
    *,
    case: str,
) -> Verdict:
    """The slack table of a schedule: per release, the epsilon charged next to the exact one, and their sums.

    HOLDS when the certified distances cost at most `allowed` and the distances of the pair attain them; a pair that
    costs more than `allowed` refutes.

    Args:
        found: distance of the cores on the closed-form worst pair; certified: what no pair exceeds.
        case: what tells this schedule from the others of the check, for the figure.
    """  # fmt: skip
    rows = privacy.slack(schedule, found)
    # At cores a distance s apart the loss of isotropic Laplace noise reaches s/scale, whatever was released before.
    top, sure = math.fsum(row.epsilon_realised for row in rows), compose(schedule, dict(certified)).pure[1]
    charged = sum(row.epsilon_claimed for row in rows)
    numbers = {"claimed": charged, "realised": top, "certified": sure, "allowed": allowed}
    numbers |= {f"charged to {row.name}": row.epsilon_claimed for row in rows}
    numbers |= {f"realised by {row.name}": row.epsilon_realised for row in rows}
    points = [
        Point(x=1.0, value=row.epsilon_realised, bound=row.epsilon_claimed, series=f"{RELEASES[row.name]}, {case}")
        for row in rows
    ]
    fields: dict[str, Any] = {"numbers": numbers, "points": points, "axes": ("", "epsilon of a release")}
    fields |= {"dashed": "charged", "severity": top / allowed}
    said = f"epsilon {top:.6g} realised by the worst pair, {allowed:.6g} allowed, {charged:.6g} charged"
    if top > allowed * (1 + 1e-9):
        return refuted(said, "exact", **fields)
    if top > sure * (1 + 1e-9):
        return differs(f"{said}; more than the {sure:.6g} that no pair was to exceed", "exact", **fields)
    if sure > allowed * (1 + 1e-9):
        return undecided(f"{said}; the proof only gives {sure:.6g}", "exact", **fields)
    return holds(f"{said}; no pair exceeds {sure:.6g} ({because})", "certificate", **fields)


def distances(
    context: Context, algorithm: Any, work: Any, epsilon: float, m: int, trials: int, *key: Any, lambda_: float = 1.0
) -> Array:
    """|w_DP - w_lambda| of runs on fresh data, (trials,); the data come as counts of atoms, whatever m is."""
    setting = problem(work, epsilon)
    plan, start = algorithm.schedule(setting, m), np.zeros((1, work.constants.d))
    found = []
    for number, (rng, size) in enumerate(context.chunks(trials, 64 * work.constants.d)):
        data = Fresh(work, size, m, context.seed, context.name, dict(context.cell), number, *key)
        out = algorithm.execute(Run(plan, size, rng), work, data, start)
        weight = plan.phases[-1].lambda_ if plan.phases else lambda_
        plain = Objective(workload=work, sample=data.read(), weight=weight, centre=start)
        found.append(np.linalg.norm(out - certified(plain).point, axis=1))
    return np.concatenate(found)


def distance_within(
    context: Context,
    label: str,
    algorithm: Any,
    work: Any,
    epsilon: float,
    m: int,
    bound: float,
    level: float,
    trials: int,
    x: float,
) -> Verdict:
    """Judges Pr(|w_DP - w_lambda| <= bound) >= level by counting, with the level-quantile as the figure's point."""
    found = distances(context, algorithm, work, epsilon, m, trials)
    answer = accuracy.probability(
        int((found <= bound).sum()), len(found), level, context.failure_probability, event=f"distance <= {bound:.4g}"
    )
    typical = float(np.quantile(found, level))
    start = float(np.quantile(distances(context, Constant(), work, epsilon, m, trials), level))
    passed = "keeps" if start <= bound else "breaks"
    return replace(
        answer,
        reason=f"{answer.reason}; the start, which reads no data, {passed} it ({start:.4g})",
        numbers={**answer.numbers, "quantile/bound": typical / bound, "start/bound": start / bound},
        points=[Point(x=x, value=typical, bound=bound, series=label)],
        axes=("m epsilon/d", f"{level:.4g}-quantile of the distance"),
    )


def potential(work: Any, sample: Sample, centre: float, anchor: Array, cap: float, weight: float) -> LocalPotential:
    """F_C,lambda at w minus its value at the anchor."""
    return LocalPotential(work, sample, np.full((1, 1), centre), anchor, cap, weight)


COUNTS = 1e30
"""Records of these workloads are counts of three atoms: their number costs nothing."""

FINEST = 2.0**-40
"""Rarest spikes of the grid, whatever n is: rarer ones have a trivial risk D theta G p^(1-1/k) below any bound here."""

ROUNDING = 1e-9
"""Relative rounding that a measured risk may have above the largest of its member."""

Members = Callable[[int, float], Iterable[RareSpikes]]


def members(n: int, k: float) -> list[RareSpikes]:
    """p = 0.999, 0.999/16, … down to 1/n, and theta = 1, 1/4, … down to 1/sqrt(n): no algorithm enters."""
    rare = [0.999 / 16**i for i in range(11) if 0.999 / 16**i >= max(0.5 / n, FINEST)]
    weak = [0.25**i for i in range(21) if 0.25**i >= n**-0.5]
    return [RareSpikes(D=1.0, k=k, G=1.0, p=p, theta=theta) for p in rare for theta in weak]


def coarse(n: int, k: float) -> list[RareSpikes]:
    """Nine members, p = 0.999, 1/256, 2^-16 and theta = 1, 1/16, 1/256: for what takes hundreds of blocks a phase."""
    return [RareSpikes(k=k, p=0.999 / 256**i, theta=1 / 16**j) for i in range(3) for j in range(3)]


CONTROLS: dict[str, Callable[[RareSpikes], float]] = {
    "the start": lambda work: float(work.excess_risk(np.zeros((1, 1)))[0]),
    # The excess is linear in w: the 0.9-quantile of a uniform point is at nine tenths of the way to the wrong end.
    "a random point": lambda work: (1 - DELTA) * largest(work),
    "the wrong end": largest,
}
"""Outputs that read no data -> (1 - DELTA)-quantile of their excess risk, exactly."""


def risks_on(
    context: Context, algorithm: Algorithm[Any], work: RareSpikes, n: int, epsilon: float, trials: int
) -> Array:
    """Excess risks of `trials` runs on one member, (trials,), from a stream of its own."""
    return risk.excess_risks(
        algorithm, work, problem(work, epsilon), n, trials, context.seed, context.name, n, epsilon, work.p,
        work.theta, gradients=COUNTS,
    )  # fmt: skip


def worst_of(
    context: Context,
    algorithm: Algorithm[Any],
    n: int,
    epsilon: float,
    k: float,
    bound: float,
    trials: int,
    *,
    family: Members = members,
) -> dict[str, float]:
    """The 0.9-quantile of the excess risk on the worst member, its standard error, the bound, and the controls'.

    Members are run from the largest possible risk downwards, until no point of the domain could be as bad on the next
    one as the worst that was measured: the answer is that of running all of them.
    """
    every = list(family(n, k))
    rows: dict[int, dict[str, float]] = {}
    for place in sorted(range(len(every)), key=lambda i: -largest(every[i])):
        work = every[place]
        if rows and largest(work) * (1 + ROUNDING) < max(row["mean"] for row in rows.values()):
            break
        values = risks_on(context, algorithm, work, n, epsilon, trials)
        rows[place] = {**risk.quantile_summary(values, 1 - DELTA, bound), "p": work.p, "theta": work.theta}
    controls = {name: max(value(work) for work in every) for name, value in CONTROLS.items()}
    return {**max((rows[place] for place in sorted(rows)), key=lambda row: row["mean"]), **controls}


def within_constants(
    context: Context,
    algorithm: Any,
    n: int,
    epsilon: float,
    k: float,
    trials: int,
    *,
    series: str = "",
    family: Members = coarse,
    bound: Callable[[RareSpikes, int], float] | None = None,
) -> Verdict:
    """The bound with its constants, member by member: R at most the bound nine times in ten, and what else would be.

    A member counts where the start, which reads no data, exceeds the bound: elsewhere anything passes. HOLDS says
    beside it how much smaller a bound would have been passed as well.
    """
    every = list(family(n, k))
    allowed = [_allowed(algorithm, work, n, epsilon, bound) for work in every]
    starts = [CONTROLS["the start"](work) for work in every]
    tops = [largest(work) / most for work, most in zip(every, allowed, strict=True)]
    share = context.failure_probability / len(every)
    found: dict[int, Verdict] = {}
    ratio = 0.0
    for place in sorted(range(len(every)), key=lambda i: -tops[i]):
        if tops[place] * (1 + ROUNDING) < min(1.0, ratio):
            break  # no point of the domain breaks the bound here, nor comes as close to it as one did elsewhere
        work, most = every[place], allowed[place]
        values = risks_on(context, algorithm, work, n, epsilon, trials)
        ratio = max(ratio, float(np.quantile(values, 1 - DELTA)) / most)
        one = risk.high_probability(values, most, DELTA, share, limit=largest(work), x=n, series=series)
        by_start_too = one.outcome is Outcome.HOLDS and starts[place] <= most
        if not by_start_too and (one.outcome is not Outcome.UNDECIDED or not one.vacuous):
            found[place] = one
    verdicts = [found[place] for place in sorted(found)]
    closest = min(most / start for most, start in zip(allowed, starts, strict=True))
    numbers: dict[str, float | int | str | bool] = {
        "members": len(every), "members that decide": len(verdicts), "largest quantile/bound": ratio,
        "least bound/risk of the start": closest,
    }  # fmt: skip
    if not verdicts:
        said = (
            f"nothing is decided at n = {n:,}: on all {len(every)} members of the class the start, which reads no "
            f"data, keeps the bound as well (it is at least {closest:.3g} times the risk of the start); the largest "
            f"0.9-quantile is {ratio:.3g} of the bound"
        )
        return undecided(
            said, "sampled", failure_probability=context.failure_probability, numbers={**numbers, "vacuous": True}
        )
    answer = combine(verdicts)
    said = (
        f"{answer.reason}; over all {len(every)} members the largest 0.9-quantile is {ratio:.3g} of the bound, so that "
        f"one {1 / ratio:.3g} times smaller would pass as well; the start exceeds it on {len(verdicts)} members"
    )
    return replace(
        answer, reason=said, numbers={**answer.numbers, **numbers}, failure_probability=context.failure_probability,
        severity=ratio, axes=("n", "0.9-quantile of the excess risk"),
    )  # fmt: skip


def _allowed(
    algorithm: Any, work: RareSpikes, n: int, epsilon: float, bound: Callable[[RareSpikes, int], float] | None
) -> float:
    """The bound that is judged on this member: Theorem 2.1's phase by phase, unless another one is given."""
    if bound is not None:
        return float(bound(work, n))
    return bound_of("pure_heavy_tails/thm-2-1@summed", algorithm, problem(work, epsilon), n)


FAR = 1e6
"""A record so large that every clip level is below it."""


def balanced(n: int, shares: Iterable[float], size: float = FAR) -> list[Pair]:
    """Pairs with a share of the records at +size, the others at -size, and one switched from the one to the other."""
    pairs = []
    for share in shares:
        data = np.full((1, n, 1), -size)
        data[0, : max(1, round(share * n))] = size
        neighbour = data.copy()
        neighbour[0, 0] = -size
        pairs.append((data, neighbour))
    return pairs


NONEXPANSIVE = (
    "by hand: one clipped gradient moves the mean by 2C/n at most, the projection is nonexpansive, gamma is public"
)

SHARES = (0.02, 0.25, 0.4, 0.5, 0.6, 0.75, 1.0)


def accounted(smoothed: bool, size: int, budget: float) -> Verdict:
    """The account of Algorithm 1 around EM-PGM, and one record replayed in its first block."""
    work = RareSpikes(p=0.3, theta=0.4)
    erm = SmoothedEMPGM(eta=0.01, gamma_rule="public") if smoothed else EMPGM(eta=0.01)
    algorithm = PopLocalize(erm=erm, blocks=BLOCKS, c_erm=1.0)
    plan = algorithm.schedule(problem(work, budget), size)
    spent = account(plan, size).epsilon(0.0)
    data = work.rows(seeds.stream(0, "accounted"), 1, size)
    other = data.copy()
    other[0, 0] = -FAR
    seen = Case(algorithm, work, problem(work, budget)).replay(data, other, 4)
    moved = max(float(values.max()) for values in seen.ratios().values())
    numbers = {"accounted": spent, "claimed": budget, "worst replayed ratio": moved, "releases": len(plan.releases)}
    said = f"{len(plan.releases)} selections cost {spent:.6g} of {budget:g}; a record moves {moved:.4g} of its claim"
    if spent > budget * (1 + 1e-9) or moved > 1 + 1e-6:
        return refuted(said, "exact", numbers=numbers)
    return holds(f"{said}; blocks are disjoint ({NONEXPANSIVE})", "certificate", numbers=numbers)


def solvers(d: int, k: float = 2.0) -> dict[str, PopLocalize]:
    """The localised algorithms with few blocks, as private as the proved ones.

    In the plane and above the second stage of Algorithm 4 is slow on steep records, so that the one-stage solver with
    the paper's own noise stands in for it there.
    """
    noisy = PopLocalize(erm=SingleOutputPert(k=k, calibration="paper"), blocks=BLOCKS, c_erm=1.0)
    second = {"double": practical(k, "double").outer()} if d == 1 else {"single, the paper's noise": noisy}
    return {"single": practical(k, "single").outer(), **second}


# Printed lines, replayed --------------------------------------------------------------------------------------------


def told(
    algorithm: Algorithm[Any], work: Any, setting: Problem, rows: Array, start: Array, answers: Iterable[Array]
) -> tuple[Schedule[Any], list[Entry], Array]:
    """The schedule, what every release was given and answered, and what is returned when these are the answers.

    Answers that no noise would give lie outside of the domain and of every ball, so that all projections act.
    """
    plan = algorithm.schedule(setting, rows.shape[1])
    names = [release.name for release in plan.releases for _ in range(release.count)]
    past = Transcript([Entry(name, answer, answer) for name, answer in zip(names, answers, strict=False)])
    run = Run[Any](plan, len(rows), None, past)
    returned = algorithm.execute(run, work, Fixed(rows), start)
    return plan, run.transcript.entries, returned


def as_printed(lines: Mapping[str, tuple[Array, Array]], within: float = 1e-9) -> Verdict:
    """Whether lines (what one says -> what ran, what it gives by hand) agree `within` rounding; if not, ours differ."""
    off = {
        name: float(np.abs(ran - given).max() / max(1.0, np.abs(given).max()))
        for name, (ran, given) in lines.items()
        if ran.shape == given.shape
    }
    wrong = max(lines, key=lambda name: off.get(name, math.inf))
    if not off.get(wrong, math.inf) <= within:
        return differs(f"not the printed line: {wrong}, off by {off.get(wrong, math.inf):.3g}", numbers=dict(off))
    compared = sum(ran.size for ran, _ in lines.values())
    return holds(f"{compared:,} numbers in {len(lines)} lines within {off[wrong]:.2g} ({wrong})", "exact")


def small(context: Context, d: int, trials: int, m: int) -> tuple[Any, Array, Array]:
    """A unit ball, records of both sizes beside a cap of 1, a centre off the middle: linear on a line, radial else."""
    rng = context.rng("records")
    rows = rng.standard_t(2, (trials, m, 1)) * 10 ** rng.uniform(-1, 1, (trials, 1, 1)) + 0.3
    if d == 1:
        return RareSpikes(D=2.0), rows, np.full((1, 1), 0.6)
    axis = np.arange(1.0, d + 1) / np.linalg.norm(np.arange(1.0, d + 1))
    return RadialHeavyTail(b=tuple(-0.3 * axis), D=2.0), np.abs(rows), 0.7 * axis[None]


def regularised(work: Any, stage: Any, rows: Array, centre: Array) -> Array:
    """argmin of mean f_C + lambda/2 |w - centre|^2 over the workloads of `small`, by hand."""
    if work.constants.d == 1:
        slope = np.clip(rows, -stage.C, stage.C).mean(axis=1)
        return np.clip(centre - slope / stage.lambda_, -work.D / 2, work.D / 2)
    away = centre - np.asarray(work.b)
    reach = np.minimum(rows, stage.C).mean(axis=1) / (stage.lambda_ * np.linalg.norm(away, axis=1, keepdims=True))
    return np.asarray(work.b) + away * np.maximum(0.0, 1 - reach)


def onto_ball(w: Array, radius: float = 1.0) -> Array:
    """The Euclidean projection onto a ball around 0, by hand."""
    return np.asarray(w * np.minimum(1.0, radius / np.maximum(np.linalg.norm(w, axis=-1, keepdims=True), 1e-300)))


def far_answers(context: Context, trials: int, d: int, reach: float = 2.0) -> Iterable[Array]:
    """Answers of releases without end: points of a cube, many of them outside of the unit ball."""
    rng = context.rng("answers")
    while True:
        yield rng.uniform(-reach, reach, (trials, d))


def selected(
    context: Context,
    algorithm: EMPGM,
    work: BaseWorkload,
    rows: Array,
    slopes: Callable[[Array, float], Array],
    step: Callable[[Stage, float], Any],
) -> Verdict:
    """One selection of EM-PGM by hand: scores |(w - P(w - gamma g))/gamma| on the net, and the point of the index.

    `slopes` gives gradients of single records, (trials, n, K, d), at K points of the net, and `step` gamma; both may
    need the smoothing radius.
    """
    n, D = rows.shape[1], work.constants.diameter(2.0)
    start, rng = np.full((1, work.constants.d), 0.3 * D), context.rng("answers")
    index = (rng.integers(0, 5, (len(rows), 1)).astype(float) for _ in range(1))
    plan, (point,), returned = told(algorithm, work, problem(work, 0.7), rows, start, index)
    (stage,), tau = plan.phases, D / math.sqrt(n)
    points = net(work, stage.radius)
    single = slopes(points, tau)
    length = np.linalg.norm(single, axis=-1, keepdims=True)
    mean = (single * np.minimum(1.0, stage.C / np.maximum(length, 1e-300))).mean(axis=1)
    gamma = np.broadcast_to(step(stage, tau), (len(rows),)).reshape(-1, 1, 1)
    moved = points - gamma * (mean + stage.lambda_ * (points - start))
    scores = np.linalg.norm(points - onto_ball(moved, D / 2), axis=-1) / gamma[..., 0]
    return as_printed(
        {"scores": (point.core, scores), "the chosen point": (returned, points[point.output[:, 0].astype(int)])}
    )


# Settings -----------------------------------------------------------------------------------------------------------

STAGE = {"records": "m", "lambda_": "lambda", "epsilon": "share", "step": "gamma"}
"""Fields of a stage -> symbols of claims; `epsilon` is that of the whole algorithm there."""
WEIGHTS = {"lambda_": (0.3, 1.0, 20.0)}
PLANNED = drawn(budget=PureDP, n=(1, 2.0**30))
"""Problems for a solver of regularised empirical risks on n records."""
LONG = drawn(budget=PureDP, n=(2.0**12, 2.0**40))
"""Problems for Algorithm 1."""
NO_MAPPING = {"step": "a projected gradient mapping has one; here it is 0"}
NO_BALL = {**NO_MAPPING, "radius": "no ball is left; inf", "xi": "projections are exact; 0"}
ON_A_NET = {**STAGE, "records": "n", "radius": "eta"}
NO_MINIMISER = {"gap": "scores are exact; 0", "xi": NO_BALL["xi"]}
