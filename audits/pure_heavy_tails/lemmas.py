"""Instances beside those in `cases.py`, of lemmas and propositions, and what checks do with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from dpcheck import seeds
from dpcheck.algorithms.pure_heavy_tails import EMPGM, Constant, PopLocalize, SingleOutputPert
from dpcheck.algorithms.pure_heavy_tails.erm import SolverStage
from dpcheck.algorithms.pure_heavy_tails.exponential import net
from dpcheck.algorithms.pure_heavy_tails.localize import LocalizedOutputPert, geometric_aggregation
from dpcheck.algorithms.pure_heavy_tails.sampling import LocalPotential
from dpcheck.checks import Context, by_size
from dpcheck.engine.executed import as_stated
from dpcheck.engine.settings import drawn
from dpcheck.harness import accuracy, privacy, replay, risk
from dpcheck.harness.losses import compose
from dpcheck.harness.scaling import Axis, Family, Instance, Risk, geometric
from dpcheck.harness.scaling.engines import statistic
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.harness.selection import Pair
from dpcheck.interfaces import Algorithm, Array, Constants, Objective, Problem, Rng, Sample, Schedule
from dpcheck.privacy import Guarantee, PureDP
from dpcheck.running import Entry, Fixed, Fresh, Run, Transcript
from dpcheck.solvers import certified
from dpcheck.verdicts import Point, Verdict, consistent, differs, holds, refuted, undecided
from dpcheck.workloads.amplitudes import Spike
from dpcheck.workloads.base import BaseWorkload
from dpcheck.workloads.linear import RareSpikes
from dpcheck.workloads.radial import RadialHeavyTail

from .cases import (
    BLOCKS,
    CONTROLS,
    DELTA,
    ROUNDING,
    Members,
    OnTheLine,
    first_phase,
    largest,
    practical,
    problem,
    recapped,
    reweighted,
    risks_on,
    symbols,
)


def wide(D: float = 1e4) -> RareSpikes:
    """Linear losses on an interval so long that projections are idle: shifts are then the largest possible."""
    return RareSpikes(D=D, k=2.0, G=1.0, p=0.5, theta=0.0)


def norms_apart(work: Any) -> Any:
    """The same workload, with another diameter in every norm but l_2."""

    class Apart(type(work)):  # type: ignore[misc]
        @property
        def constants(self) -> Constants:
            own = super().constants
            return replace(own, diameter=lambda p: own.diameter(2.0) * 3 ** (1 / p - 1 / 2))

    return Apart(**{each.name: getattr(work, each.name) for each in fields(work)})


WEIGHTS_OF: dict[str, Callable[[float], float]] = {"rare": lambda spikes: 1.0, "common": lambda spikes: 0.9 * spikes}
"""Weights of W1, by m epsilon/d: beyond the cap, and near the start; or below it, and far from the start."""


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
    by_name: Mapping[str, float],
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
    rows = privacy.slack(schedule, by_name)
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
    lengths = []
    for number, (rng, size) in enumerate(context.chunks(trials, 64 * work.constants.d)):
        data = Fresh(work, size, m, context.seed, context.name, dict(context.cell), number, *key)
        out = algorithm.execute(Run(plan, size, rng), work, data, start)
        weight = plan.phases[-1].lambda_ if plan.phases else lambda_
        plain = Objective(workload=work, sample=data.read(), weight=weight, centre=start)
        lengths.append(np.linalg.norm(out - certified(plain).point, axis=1))
    return np.concatenate(lengths)


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
    apart = distances(context, algorithm, work, epsilon, m, trials)
    answer = accuracy.probability(
        int((apart <= bound).sum()), len(apart), level, context.failure_probability, event=f"distance <= {bound:.4g}"
    )
    typical = float(np.quantile(apart, level))
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


FINEST = 2.0**-40
"""Rarest spikes of the grid, whatever n is: rarer ones have a trivial risk D theta G p^(1-1/k) below any bound here."""


def members(n: int, k: float) -> list[RareSpikes]:
    """p = 0.999, 0.999/16, … down to 1/n, and theta = 1, 1/4, … down to 1/sqrt(n): no algorithm enters."""
    rare = [0.999 / 16**i for i in range(11) if 0.999 / 16**i >= max(0.5 / n, FINEST)]
    weak = [0.25**i for i in range(21) if 0.25**i >= n**-0.5]
    return [RareSpikes(D=1.0, k=k, G=1.0, p=p, theta=theta) for p in rare for theta in weak]


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
        # What is no number is as far off as can be.
        name: float(np.nan_to_num(np.abs(ran - given) / max(1.0, np.abs(given).max()), nan=math.inf).max())
        for name, (ran, given) in lines.items()
        if ran.shape == given.shape
    }
    wrong = max(lines, key=lambda name: off.get(name, math.inf))
    if not off.get(wrong, math.inf) <= within:
        return differs(f"not the printed line: {wrong}, off by {off.get(wrong, math.inf):.3g}", numbers=dict(off))
    compared = sum(ran.size for ran, _ in lines.values())
    return holds(f"{compared:,} numbers in {len(lines)} lines within {off[wrong]:.2g} ({wrong})", "exact")


def audited(
    context: Context, case: replay.Case, pair: Pair, halved: float, promise: Guarantee | None = None
) -> Verdict:
    """`context.audit` of the outputs alone on a pair, (1, n, record) each; `halved` is what half of the noise would
    spend there. The promise is the problem's, or a smaller one where the releases are known to keep it.
    """
    algorithm = case.algorithm
    data, neighbour = (each[0] for each in pair)
    plan, start = algorithm.schedule(case.problem, len(data)), case.start
    assert start is not None

    def run(rows: Array, rng: Rng, trials: int) -> Array:
        return np.asarray(algorithm.execute(Run(plan, trials, rng), case.workload, Fixed(rows[None]), start))

    return context.audit(run, data, neighbour, promise or case.problem.privacy, must_detect=halved)


def small(context: Context, d: int, trials: int, m: int) -> tuple[Any, Array, Array]:
    """A unit ball, records of both sizes beside a cap of 1, a centre off the middle: linear on a line, radial else."""
    rng = context.rng("records")
    rows = rng.standard_t(2, (trials, m, 1)) * 10 ** rng.uniform(-1, 1, (trials, 1, 1)) + 0.3
    if d == 1:
        return norms_apart(RareSpikes(D=2.0)), rows, np.full((1, 1), 0.6)
    axis = np.arange(1.0, d + 1) / np.linalg.norm(np.arange(1.0, d + 1))
    return norms_apart(RadialHeavyTail(b=tuple(-0.3 * axis), D=2.0)), np.abs(rows), 0.7 * axis[None]


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


def gaps_used(work: Any, stages: Sequence[Any], entries: Sequence[Entry], rows: Array, start: Array) -> Verdict:
    """Whether solvers that use up their gaps leave of the objective, on the interval of `small`, what is stated of each
    stage: in the trial in which they leave most, for an end of the interval may keep them from moving.
    """
    lines = {}
    for stage, entry in zip(stages, entries, strict=True):
        best, slope = regularised(work, stage, rows, start), np.clip(rows, -stage.C, stage.C).mean(axis=1)
        ridge = stage.lambda_ / 2 * ((entry.core - start) ** 2 - (best - start) ** 2)
        left = float((slope * (entry.core - best) + ridge).max())
        lines[f"gap of the {RELEASES[entry.name]} over the stated one"] = np.array([left / stage.gap]), np.ones(1)
    return as_printed(lines, within=1e-6)


def chosen_as_stated(context: Context, entry: Entry, noise: float, label: str) -> Verdict:
    """Whether candidates with a score below the mean are chosen as often as probabilities that go as exp(-score/noise)
    say: within Hoeffding's bound over the trials.
    """
    weights = np.exp((entry.core.min(axis=1, keepdims=True) - entry.core) / noise)
    chances = weights / weights.sum(axis=1, keepdims=True)
    low = entry.core < (chances * entry.core).sum(axis=1, keepdims=True)
    taken = np.take_along_axis(low, entry.output.astype(int), axis=1).mean()
    wanted = (chances * low).sum(axis=1).mean()
    room = math.sqrt(math.log(2 / context.failure_probability) / (2 * len(low)))
    said = f"{taken:.4g} of the choices have a low score, and {label} says {wanted:.4g}"
    if abs(taken - wanted) > room:
        return differs(said, "sampled", failure_probability=context.failure_probability)
    seen = f"a share that is off by {room:.3g}"
    return consistent(said, "sampled", notices=seen, failure_probability=context.failure_probability)


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
    settings: Mapping[str, str],
    step: Callable[[SolverStage, float], Any] | None = None,
) -> Verdict:
    """One selection of EM-PGM by hand: scores |(w - P(w - gamma g))/gamma| on the net, and the point of the index.

    `slopes` gives gradients of single records, (trials, n, K, d), at K points of the net, and `step` gamma, where it
    is not the one of `settings`, which claims state; both may need the smoothing radius.
    """
    n, D = rows.shape[1], work.constants.diameter(2.0)
    start, rng = np.full((1, work.constants.d), 0.3 * D), context.rng("answers")
    index = (rng.integers(0, 5, (len(rows), 1)).astype(float) for _ in range(1))
    _, (point,), returned = told(algorithm, work, problem(work, 0.7), rows, start, index)
    (stage,), tau = as_stated(algorithm, problem(work, 0.7), n, settings, symbols=ON_A_NET).phases, D / math.sqrt(n)
    points = net(work, stage.radius)
    single = slopes(points, tau)
    length = np.linalg.norm(single, axis=-1, keepdims=True)
    mean = (single * np.minimum(1.0, stage.C / np.maximum(length, 1e-300))).mean(axis=1)
    gamma = np.broadcast_to(step(stage, tau) if step else stage.step, (len(rows),)).reshape(-1, 1, 1)
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
FEW = Family.of(mirrored=True, p=geometric(0.999, 1 / 256, 7), theta=geometric(1.0, 1 / 16, 8))
"""Fewer of them, for many blocks."""
FREQUENT = Family.of(mirrored=True, p=geometric(0.999, 1 / 16, 4), theta=geometric(1.0, 1 / 4, 16))
"""The same with fewer chances and more imbalances, for the term that privacy has no part in."""
AWAY = Axis((*(0.5 / 4**i for i in range(6)), 1e-9), closed=(True, True))
"""From the boundary to the start itself: both are ends of the class."""
CONES = Family.of(mirrored=True, p=geometric(0.999, 1 / 64, 7), distance=AWAY)
"""Weights with G_k = 1 on the distance to a point, by their chance and by how far from the start it lies."""


def as_proved(*, n: int, epsilon: float, p: float, theta: float, k: float) -> Instance:
    """The printed algorithm with every constant that is proved, on a member."""
    work = RareSpikes(D=1.0, k=k, G=1.0, p=p, theta=theta)
    algorithm, told = LocalizedOutputPert(k=k), problem(work, epsilon)
    blocks = algorithm.outer().repetitions(told, n)
    return Instance(algorithm, work, told, n, {**symbols(n, epsilon, k, 1), "G_1": 1.0, "J": blocks})


@dataclass(frozen=True)
class WeightedDistance(RadialHeavyTail):
    """z |w - b|, b = distance e_1, with one positive weight z: samples are counts of two atoms, whatever n is."""

    @property
    def constants(self) -> Constants:
        return replace(super().constants, atoms=2)

    @classmethod
    def of(cls, d: int, k: float, p: float, distance: float) -> WeightedDistance:
        return cls(b=tuple(distance * np.eye(d)[0]), D=1.0, weights=Spike.of_moment(1.0, k, p))


def cones(*, n: int, d: int, epsilon: float, p: float, distance: float, k: float) -> Instance:
    """The localised algorithm on a `WeightedDistance`."""
    work = WeightedDistance.of(int(d), k, p, distance)
    return Instance(practical(k, "double"), work, problem(work, epsilon), n, symbols(n, epsilon, k, int(d)))


@dataclass(frozen=True)
class LocalisedDistance:
    """The risk of localised output perturbation on a `WeightedDistance` in d dimensions, d at least its blocks and two.

    All but the noise lies in the plane of b and the centre, and isotropic noise looks alike from every side: of J
    normal vectors in the d - 2 other dimensions only the triangle of their coordinates along each other matters, whose
    diagonal is chi. The second stage of Algorithm 4 is run over W: its ball W_0 has a radius of 50 d scales of the
    noise, which two lengths of law Gamma(d) exceed with a probability far below any that is measured.
    """

    trials: int
    quantile: float | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        work: WeightedDistance = instance.work
        trials, d = max(100, self.trials // 8) if pilot else self.trials, work.constants.d
        rng = seeds.stream(seed, "axial", *key, pilot)
        distance, radius = float(np.linalg.norm(work.b)), work.D / 2
        w = np.zeros((trials, 2))  # along b, and across
        for stage in instance.algorithm.schedule(instance.problem, instance.n).phases:
            if stage.stage != "point":
                continue
            J = stage.blocks
            seen = rng.binomial(stage.records, work.weights.p, size=(trials, J, 1)) / stage.records
            away = w - (distance, 0.0)
            length = np.maximum(np.linalg.norm(away, axis=1, keepdims=True), 1e-300)
            kept = np.maximum(0.0, 1 - seen * min(work.weights.size, stage.C) / (stage.lambda_ * length[:, None]))
            points = stage.noise * isotropic(rng, trials, J, d)
            points[..., :2] += (distance, 0.0) + kept * away[:, None]
            points /= np.maximum(1.0, np.linalg.norm(points, axis=-1, keepdims=True) / radius)
            chosen = geometric_aggregation(points)
            w = np.stack([chosen[:, 0], np.linalg.norm(chosen[:, 1:], axis=1)], axis=1)
        return statistic(work.weights.moment(1) * np.linalg.norm(w - (distance, 0.0), axis=1), self.quantile)


def isotropic(rng: Rng, trials: int, J: int, d: int) -> Array:
    """J vectors of a uniform direction and a Gamma(d) length in d >= J + 2 dimensions, turned into the first J + 2."""
    triangle = np.tril(rng.standard_normal((trials, J, J)), -1)
    triangle[:, range(J), range(J)] = np.sqrt(rng.chisquare(d - 2 - np.arange(J), size=(trials, J)))
    vectors = np.concatenate([rng.standard_normal((trials, J, 2)), triangle], axis=2)
    vectors /= np.linalg.norm(vectors, axis=2, keepdims=True)
    return np.asarray(vectors * rng.gamma(d, size=(trials, J, 1)))


def no_dimension(one: Instance) -> Instance:
    """A cap that does not fall in d."""
    return recapped(one, lambda cap: cap * one.at["d"] ** (1 / one.at["k"]))


def heavy_weights(one: Instance) -> Instance:
    """λ_1 too large by n^(1/8)."""
    return reweighted(one, one.n**0.125)


def heavy_in_d(one: Instance) -> Instance:
    """λ_1 too large by d^(1/4). One that is too small is not told apart: localisation repairs it."""
    return reweighted(one, one.at["d"] ** 0.25)


WRONG_IN_D: Mapping[str, Mutant] = {
    "the first phase alone": first_phase,
    "a cap without d": no_dimension,
    "λ_1 times d^(1/4)": heavy_in_d,
}


def perturbed(stages: Sequence[Any], slope: Array, centre: Array, rng: Rng) -> Array:
    """Output perturbation on [-1/2, 1/2], in one stage or in the two of Algorithm 4."""
    (*first, last) = stages
    best, low, high = np.clip(centre - slope / last.lambda_, -0.5, 0.5), np.full_like(slope, -0.5), 0.5
    for stage in first:
        middle = np.clip(best + rng.laplace(scale=stage.noise, size=slope.shape), -0.5, 0.5)
        low, high = np.maximum(middle - stage.radius, -0.5), np.minimum(middle + stage.radius, 0.5)
    noisy = np.clip(best, low, high) + rng.laplace(scale=last.noise, size=slope.shape)
    return np.asarray(np.clip(noisy, low, high))


PERTURBED = by_size(OnTheLine(perturbed, 3000, 1 - DELTA), OnTheLine(perturbed, 5000, 1 - DELTA))
