"""Section 3: Algorithm 4 as a solver of regularised empirical risks, its exact privacy, and its cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.algorithms.pure_heavy_tails import DoubleOutputPert, StructuredDoubleOutputPert
from dpcheck.algorithms.pure_heavy_tails.reformulation import JointReformulation, JointSubgradient
from dpcheck.algorithms.pure_heavy_tails.subgradient import adaptive_inexact_subgradient, iteration_bound
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.executed import as_stated, run_as_stated
from dpcheck.engine.settings import settings
from dpcheck.engine.statements import explicit_of, order_of, stated
from dpcheck.geometry import Ball, BallIntersection
from dpcheck.harness import runtime
from dpcheck.harness.outside import excluded
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.relations import judged
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import Family, Instance, Risk, geometric, powers, scaling
from dpcheck.harness.scaling.engines import statistic
from dpcheck.harness.symbolic import proved
from dpcheck.interfaces import Array, Read, Sample
from dpcheck.privacy import PureDP
from dpcheck.solvers import Pushed, Task, certified
from dpcheck.symbols import BY_NAME, index
from dpcheck.verdicts import Verdict, combine, differs, refuted
from dpcheck.workloads.amplitudes import Pareto, Spike
from dpcheck.workloads.median import WeightedMedian
from dpcheck.workloads.radial import RadialHeavyTail

from .cases import LITTLE, SOLVERS, SPIKED, opposite_spikes, problem, quarter_power
from .lemmas import (
    NO_MAPPING,
    PLANNED,
    STAGE,
    WEIGHTS,
    WEIGHTS_OF,
    as_printed,
    audited,
    distance_within,
    distances,
    gaps_used,
    onto_ball,
    radial_spikes,
    regularised,
    shifts,
    slack_verdict,
    small,
    told,
    wide,
)
from .section_2_3 import MOST, searched

UNIT = {"C": 2.0, "lambda_": 1.0, "epsilon": 1.0}

MOST_OF_SECOND = {"exact": "pure_heavy_tails/fact-erm-sensitivity", "worst legal": "pure_heavy_tails/prop-d-1"}
"""Sensitivity of the second core of Algorithm 4; the first one is that of Algorithm 2 (`MOST`)."""


def _spent(solver: str, epsilon: float) -> float:
    """What Algorithm 4 spends of epsilon: with the exact solver two movements by 2C/(lambda m) in their noise."""
    at = {**UNIT, "m": 20, "n": 20, "epsilon": epsilon}
    exact = 2 * stated("pure_heavy_tails/fact-erm-sensitivity", **at) / stated("pure_heavy_tails/alg-4", **at)
    return exact if solver == "exact" else stated("pure_heavy_tails/alg-4@derived", **at)


BECAUSE = "by hand: 2C/(λm) from strong convexity, and twice the reach of either stage's gap: C/(λm) and C/(6λm)"


def double_slack(context: Context, solver: str, M: float, allowed: float, epsilon: float = 1.0) -> Verdict:
    """Algorithm 4 on its worst pair and in general, against what it may spend of epsilon."""
    m, work = 20, wide()
    case = Case(DoubleOutputPert(C=2.0, minimiser=SOLVERS[solver]), work, problem(work, epsilon))
    moves = shifts(case, *opposite_spikes(m, M))
    most = {"stage 1/point": MOST[solver], "point": MOST_OF_SECOND[solver]}
    sure = {name: stated(label, **UNIT, m=m, n=m) for name, label in most.items()}
    return slack_verdict(case.planned(m), moves, sure, allowed, BECAUSE, case=f"{solver} solver, M = {M:g}")


@check(
    "pure_heavy_tails/alg-4",
    kind="privacy",
    grid={"solver": tuple(SOLVERS), "M": (2.0, 1e6)},
    also=("pure_heavy_tails/prop-3-2", "pure_heavy_tails/prop-d-1"),
)
def two_releases_within_the_budget(context: Context, *, solver: str, M: float) -> Verdict:
    """The two releases of Algorithm 4, exactly on the worst pair and by hand on all, against epsilon."""
    return double_slack(context, solver, M, 1.0)


@check("pure_heavy_tails/alg-4@derived", kind="privacy", grid={"solver": tuple(SOLVERS), "M": (2.0, 1e6)})
def slack_of_two_stages(context: Context, *, solver: str, M: float) -> Verdict:
    """Epsilon charged and exact, release by release: 1/3 with the exact solver, 19/36 with the worst legal one."""
    epsilon = 2.0
    spent = _spent(solver, epsilon)
    verdict = double_slack(context, solver, M, spent, epsilon)
    if abs(float(verdict.numbers["realised"]) - spent) > 1e-9:
        said = f"the pair realises {verdict.numbers['realised']}, not {spent:.6g}"
        return refuted(said, "exact", numbers=verdict.numbers)
    return verdict


def double_sensitivity(context: Context, solver: str, units: tuple[float, float], *, attained: bool = False) -> Verdict:
    """Movement of both cores against these units of C/(lambda m), by search, and by hand on all pairs."""
    m, work, at = 5, wide(), {**UNIT, "m": 5, "n": 5}
    algorithm, setting = DoubleOutputPert(C=2.0, minimiser=SOLVERS[solver]), problem(work, 1.0)
    plan = algorithm.schedule(setting, m)
    for name, claimed in zip(("stage 1/point", "point"), units, strict=True):
        plan = plan.edit(name, reads=(Read(start=0, stop=m, sensitivity=claimed * 2.0 / m),))
    by_hand = [stated(label, **at) * m / 2.0 for label in (MOST[solver], MOST_OF_SECOND[solver])]
    ratio = max(most / claimed for most, claimed in zip(by_hand, units, strict=True))
    return searched(context, Case(algorithm, work, setting, schedule=plan), 1e6, m, ratio, attained)


def in_units(label: str, epsilon: float = 1.0) -> float:
    """A claim of a movement, or of noise times its budget, in units of C/(lambda m)."""
    return stated(label, C=1.0, lambda_=1.0, m=1, n=1, epsilon=1.0) * epsilon


@check("pure_heavy_tails/alg-4", kind="sensitivity", grid={"solver": tuple(SOLVERS)})
def cores_move_less_than_charged(context: Context, *, solver: str) -> Verdict:
    """Both cores move by less than the 6C/(lambda m) that their noise allows for."""
    charged = in_units("pure_heavy_tails/alg-4", 1 / 2)
    return double_sensitivity(context, solver, (charged, charged))


@check(
    "pure_heavy_tails/prop-3-2",
    kind="sensitivity",
    grid={"solver": tuple(SOLVERS)},
    also=("pure_heavy_tails/prop-d-1",),
)
def second_core_moves_little(context: Context, *, solver: str) -> Verdict:
    """For fixed W_0 the second core moves by at most 7C/(3 lambda m), attained by the worst legal solver."""
    # A first core of half its claim, so that the second one decides.
    units = 2 * in_units("pure_heavy_tails/alg-2@derived"), in_units("pure_heavy_tails/prop-d-1")
    return double_sensitivity(context, solver, units, attained=solver == "worst legal")


@check("pure_heavy_tails/alg-4", kind="privacy", expect=("consistent", "undecided"))
def outputs_of_algorithm_4(context: Context) -> Verdict:
    """The worst pair, the worst legal solver and an interval that is too long to matter: W_0 is too large to act, so
    that what is returned tells of the second release alone, 7/36 of epsilon; half of its noise would cost twice that.
    """
    work, epsilon = wide(), 6.0
    spent = epsilon * in_units("pure_heavy_tails/prop-d-1") / in_units("pure_heavy_tails/alg-4")
    case = Case(DoubleOutputPert(C=1.0, minimiser=Pushed()), work, problem(work, epsilon), start=np.zeros((1, 1)))
    return audited(context, case, opposite_spikes(10, 1e6), halved=2 * spent, promise=PureDP(spent))


def double_distance(context: Context, k: float, d: int, m: int, level: float, weights: str) -> Verdict:
    """Distance of Algorithm 4's output to the regularised minimiser on W1, against 48 orders."""
    epsilon = 1.0
    work = radial_spikes(d, k, m, epsilon, WEIGHTS_OF[weights](m * epsilon / d))
    bound = stated("pure_heavy_tails/prop-3-2@derived", G_k=1.0, lambda_=1.0, d=d, m=m, epsilon=epsilon, k=k)
    series, trials = f"{weights} weights, k = {k:g}, d = {d}", context.scale(1000, 20_000)
    return distance_within(
        context, series, DoubleOutputPert(k=k), work, epsilon, m, bound, level, trials, m * epsilon / d
    )


SIZES = by_size([10**5], [10**3, 10**4, 10**6])


@check(
    "pure_heavy_tails/prop-3-2",
    kind="accuracy",
    grid={"k": (2.0, 4.0), "d": (1, 5), "m": SIZES, "weights": tuple(WEIGHTS_OF)},
    also=("pure_heavy_tails/alg-4", "pure_heavy_tails/prop-d-1", "pure_heavy_tails/prop-2-5"),
)
def target_is_met(context: Context, *, k: float, d: int, m: int, weights: str) -> Verdict:
    """The target (6) of a solver, without its G_2 term and with constant 48, 7 times in 10."""
    return double_distance(context, k, d, m, 0.7, weights)


@check(
    "pure_heavy_tails/prop-3-2@derived",
    kind="accuracy",
    grid={"k": (2.0, 4.0), "d": by_size([1, 5], [1, 5, 20]), "m": SIZES, "weights": tuple(WEIGHTS_OF)},
    also=("pure_heavy_tails/prop-2-5@derived",),
)
def target_with_constants(context: Context, *, k: float, d: int, m: int, weights: str) -> Verdict:
    """Within 48 (G_k/lambda)(d/(m epsilon))^(1-1/k) with probability 0.7502, next to the quantile measured."""
    return double_distance(context, k, d, m, 0.8 - math.exp(-3), weights)


@check("pure_heavy_tails/prop-3-2@literal", kind="accuracy", grid={"epsilon": (10**4, 10**6)}, expect="refuted")
def target_at_a_large_budget(context: Context, *, epsilon: int) -> Verdict:
    """At epsilon = 10^4 d the solvers' gaps alone exceed (6): the whole of W_0 lies too far, whatever stage 2 does."""
    # With a second stage of c_1 = 28 all of them are due at once, and no point of W_0 is so near.
    for label in ("prop-3-2@derived", "prop-2-5@derived", "prop-c-3@corrected"):
        if not excluded(claim(f"pure_heavy_tails/{label}"), {"epsilon": epsilon, "d": 1, "k": 2}):
            return differs(f"{label} speaks of epsilon = {epsilon} as well, where it fails as the statement does")
    at = {"epsilon": epsilon, "m": 10**6, "D": 10, "lambda_": 2, "c_erm": 48, "slope": 3}
    constant = sp.simplify(explicit_of(context.label) / order_of("pure_heavy_tails/prop-3-2"))
    if constant != at["c_erm"]:
        return differs(f"the reading is the order of the proposition times {constant}, where c_erm = {at['c_erm']}")
    return refuted_by(context.label, "prop_3_2_budget", by=claim(context.label), **at)


@check("pure_heavy_tails/prop-3-2@derived", kind="accuracy", grid={"d": (1, 2, 7)})
def constant_of_the_double_solver(context: Context, *, d: int) -> Verdict:
    """What the solver says of its accuracy at the largest epsilon, d, is within 48, and at d = 1 nearly all of it."""
    m, epsilon = 10**4, float(d)
    own = DoubleOutputPert(k=2.0).c_erm(problem(radial_spikes(d, 2.0, m, epsilon), epsilon), m)
    bound = stated(context.label, G_k=1.0, lambda_=1.0, d=d, m=m, epsilon=epsilon, k=2.0) * math.sqrt(m * epsilon / d)
    said = f"c_erm = {own:.6g} at epsilon = d = {d}, {bound:g} allowed"
    if d == 1 and own < 0.999 * bound:
        return differs(f"{said}: more than a thousandth below")
    return judged(own, "<=", bound, said, "exact", otherwise=differs, severity=own / bound)


LEVEL = 0.7
"""Probability with which a solver is to meet (6)."""
RARE = Family.of(p=geometric(0.999, 1 / 16, 14))
"""Chances of a weight with G_k = 1, the same at every m."""


@dataclass(frozen=True)
class Displacements(RadialHeavyTail):
    """Weights on |w - b|, where a point is judged by its distance to the regularised minimiser of m records, λ = 1."""

    m: int = 1

    def excess_risk(self, w: Array) -> Array:
        """The 0.7-quantile of that distance over 999 data sets, the same for every point."""
        spikes = np.random.default_rng(0).binomial(self.m, self.weights.p, size=999)
        moved = np.minimum(spikes / self.m * self.weights.size, self.b[0])
        return np.asarray(np.quantile(np.abs(w - moved), LEVEL, axis=1))


@dataclass(frozen=True)
class Distances:
    """A quantile of the distance to the regularised minimiser of the same records, by drawn counts."""

    trials: int
    quantile: float = LEVEL

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        context = Context("pure_heavy_tails/prop-3-2", "distance", {"pilot": pilot}, seed=seed)
        trials, epsilon = self.trials // 4 if pilot else self.trials, instance.at["epsilon"]
        apart = distances(context, instance.algorithm, instance.work, epsilon, instance.n, trials, *key)
        return statistic(apart, self.quantile)


@scaling(
    "pure_heavy_tails/prop-3-2", variable="m", part="private", family=RARE,
    engine=by_size(Distances(1200), Distances(4000)),
    mutants={"a cap of a quarter of the exponent": quarter_power},
    series={"case": by_size(LITTLE[:1], LITTLE)},
    sizes=by_size(powers(2, range(40, 53, 6)), powers(2, range(40, 53, 3))),
)  # fmt: skip
def distance_in_m(*, m: int, p: float, k: float, epsilon: float) -> Instance:
    """The distance of Algorithm 4 to the regularised minimiser, on the worst weights of a grid, falls in m like (6)."""
    work = Displacements(b=(400.0,), D=1000.0, weights=Spike.of_moment(1.0, k, p), m=m)
    at = {"m": m, "epsilon": epsilon, "k": k, "G_k": 1.0, "G_2": 1.0, "d": 1, "lambda": 1.0}
    return Instance(DoubleOutputPert(k=k), work, problem(work, epsilon), m, at)


# Time ---------------------------------------------------------------------------------------------------------------


def toy_steps(context: Context, m: int) -> Verdict:
    """Algorithm 3 in both stages of Algorithm 4, as printed, on an interval that is short next to C/(lambda m)."""
    C, D, lam = 16.0 * m, 1.0, 1.0
    work, rng, verdicts = WeightedMedian(D=D, weights=Pareto(2.5)), context.rng(), []
    plan = DoubleOutputPert(C=C, lambda_=lam).schedule(problem(work, 1.0), m)
    records = work.rows(rng, 2, m)
    ball = (work.project(rng.uniform(-1, 1, (2, 1))), plan.phases[0].radius)
    for stage, within in zip(plan.phases, (None, ball), strict=True):
        task = Task(
            workload=work,
            sample=Sample(records, np.ones((1, m))),
            weight=lam,
            centre=np.zeros((1, 1)),
            cap=C,
            within=within,
            gap=stage.gap,
        )
        joint = JointReformulation(task)
        halted = adaptive_inexact_subgradient(
            joint.subgradient, joint.project, joint.start(), stage.gap, joint.diameter()
        )
        A_Z = float(work.amplitude(records).max())
        L_Z = stated("pure_heavy_tails/fact-eq-14", A_Z=A_Z, C=C, lambda_=lam, D=D)
        # In W_0 x W^m the diameter itself, which is below the D sqrt(m) + 600 C d/(lambda m epsilon) printed for it.
        bound = iteration_bound(joint.diameter(), L_Z, stage.gap)
        own = D if within is None else min(D, 2 * within[1])
        planned = JointSubgradient().oracle_calls(m, stage.gap, D, own, A_Z, C, lam)
        if planned != m * bound:
            return differs(f"{planned:,} subgradients are planned, {m} in each of {bound:,} steps are allowed")
        verdict = runtime.verdict(np.asarray(halted.steps, dtype=float), bound, what="steps", x=m, series=stage.stage)
        verdicts.append(replace(verdict, axes=("m", "steps")))
    told, k = problem(work, 1.0), 2.25
    short = DoubleOutputPert(k=k, C=1e-4 * m, lambda_=lam, minimiser=JointSubgradient()).schedule(told, m)
    steepest = work.constants.moment(k, 1) * (m / told.failure_probability) ** (1 / k)
    allowed, own = 0, D
    for stage in short.phases:
        L = steepest + 2 * stage.C + lam * D
        allowed += m * iteration_bound(math.sqrt(m * D**2 + own**2), L, stage.gap)
        own = 2 * stage.radius  # of the first stage, for the second
    if short.gradients != allowed:
        return differs(f"{short.gradients:,} subgradients are planned where W_0 is short, {allowed:,} are allowed")
    return combine(verdicts[::-1])


@check(
    "pure_heavy_tails/alg-4",
    kind="runtime",
    grid={"m": by_size([2], [1, 2, 3])},
    also=("pure_heavy_tails/prop-3-2", "pure_heavy_tails/prop-d-1"),
)
def steps_of_both_stages(context: Context, *, m: int) -> Verdict:
    """The printed solver takes at most the printed number of steps in both stages, on a toy instance."""
    return toy_steps(context, m)


@check("pure_heavy_tails/prop-3-2", kind="symbolic")
def target_from_its_parts(context: Context) -> Verdict:
    """Noise 28, bias 20 and the prescribed cap give (6), of Algorithm 7 as well what Theorem 2.1 asks for; and the
    step bound grows like 1/G_k^2, which is not listed.
    """
    from dpcheck.engine.catalogue import claim

    C, G, m, e, d, k, lam, D, A = (BY_NAME[x] for x in ("C", "G_k", "m", "epsilon", "d", "k", "lambda", "D", "T"))
    order = order_of("pure_heavy_tails/prop-3-2")
    asked = explicit_of("pure_heavy_tails/thm-2-1@solver") / sp.Symbol("c_erm", positive=True)
    explicit = claim("pure_heavy_tails/prop-3-2@derived").explicit
    cap = G * (m * e / d) ** (1 / k)
    parts = (28 * C * d / (lam * m * e)).subs(C, cap) + 20 * (G**k / (lam * C ** (k - 1))).subs(C, cap)
    steps = (3 * D * sp.sqrt(m + 1) * (A * G + 2 * cap + lam * D) * 2 * lam * m**2 / cap**2) ** 2
    limit = sp.limit(sp.expand(steps.subs({k: 2, m: 4, e: 1, d: 1, D: 1, lam: 1, A: 2}) * G**4), G, 0)
    times, G_2 = sp.Symbol("t", positive=True), BY_NAME["G_2"]
    steeper = order.subs({each: times * each for each in (G, G_2, lam)}, simultaneous=True)
    verdict = proved(
        {
            "48 orders": parts - explicit,
            "a minimiser does not move with the unit of the losses": steeper - order,
            "what Theorem 2.1 asks for": order - asked,
            "which Algorithm 7 reaches as well": order_of("pure_heavy_tails/prop-f-5") - asked,
        },
        {"the target (6) is at least its private term": 48 * order - explicit},
    )
    numbers = {**verdict.numbers, "limit of steps x G_k^4 as G_k tends to 0 (m = 4, lambda = D = 1)": float(limit)}
    return replace(
        verdict,
        numbers=numbers,
        reason=f"{verdict.reason}; the step bound is not polynomial in G_k alone: it grows as G_k falls",
    )


ALGORITHM_4 = {
    "records": "pure_heavy_tails/alg-4@records",
    "C": "pure_heavy_tails/alg-4@cap",
    "epsilon": "pure_heavy_tails/alg-4@epsilon",
    "noise": "pure_heavy_tails/alg-4",
    "gap": "pure_heavy_tails/alg-4@gap",
    "radius": "pure_heavy_tails/alg-4@radius",
    "xi": "pure_heavy_tails/alg-4@xi",
}
LETTERS: Any = {"symbols": STAGE}
run_of_algorithm_4 = run_as_stated(
    "pure_heavy_tails/alg-4", ALGORITHM_4, SPIKED, problem(SPIKED, 0.9), 12,
    noises={"noise": "*point"}, fields={"lambda_": 0.7, "k": 3.0, "minimiser": certified}, **LETTERS,
)  # fmt: skip


@check(
    "pure_heavy_tails/alg-4",
    kind="accuracy",
    grid={"d": (1, 3), "of": ("Section 3", "Theorem D.4")},
    also=("pure_heavy_tails/proc-two-step", "pure_heavy_tails/proc-structured-double-op"),
)
def lines_of_algorithm_4(context: Context, *, d: int, of: str) -> Verdict:
    """The second minimiser is taken over W_0 alone, with the extension over W; its answer is projected onto W_0.

    The first answer lies on the axis of minimiser and centre, so that by symmetry the second minimiser does as well,
    and often so far off that W_0 misses the minimiser over W.
    """
    m, C, lambda_, trials = 400, 0.5, 0.5, context.scale(40, 400)
    work, rows, start = small(context, d, trials, m)
    axis = start / np.linalg.norm(start)
    rng = context.rng("answers")
    first, second = rng.uniform(-2, 2, (trials, 1)) * axis, rng.uniform(-2, 2, (trials, d))
    kind = {"Section 3": DoubleOutputPert, "Theorem D.4": StructuredDoubleOutputPert}[of]
    # Theorem D.4 changes the solver alone, which takes too many steps here: an exact one stands in for it.
    algorithm, setting = kind(lambda_=lambda_, C=C, minimiser=certified), problem(work, 5.0)
    _, (localised, point), returned = told(algorithm, work, setting, rows, start, (first, second))
    settings = {name: ALGORITHM_4[name] for name in ("records", "epsilon", "radius", "xi")}
    one, two = as_stated(algorithm, setting, m, settings, **LETTERS).phases
    best, w_loc = regularised(work, one, rows, start), onto_ball(first)
    place = np.clip(best @ axis.T, *(np.clip(w_loc @ axis.T + side * one.radius, -1, 1) for side in (-1, 1)))
    assert one.radius < 1, "W_0 is all of W: the second stage would not be told from the first"
    onto = BallIntersection(Ball(d=d, radius=1.0), w_loc, one.radius).project(second)
    verdict = as_printed(
        {
            "the minimiser over W": (localised.core, best),
            "the minimiser over W_0": (point.core, place * axis),
        },
        within=1e-7,
    )
    outside = np.linalg.norm(returned - w_loc, axis=1).max() / one.radius - 1
    off = float(np.linalg.norm(returned - onto, axis=1).max())
    if off > two.xi * (1 + 1e-9) or outside > 1e-9 or float(np.linalg.norm(returned, axis=1).max()) > 1 + 1e-9:
        return differs(f"what is returned is {off:.3g} off the projection onto W_0, {two.xi:.3g} allowed")
    return verdict


@check("pure_heavy_tails/alg-4", kind="accuracy")
def gaps_that_are_used_up(context: Context) -> Verdict:
    """In both stages the worst legal solver leaves just the stated gap; epsilon is so small that W_0 is all of W."""
    trials, algorithm = context.scale(20, 200), DoubleOutputPert(lambda_=0.7, C=0.5, minimiser=Pushed())
    work, rows, start = small(context, 1, trials, 12)
    setting, answers = problem(work, 0.2), np.zeros((2, trials, 1))
    _, entries, _ = told(algorithm, work, setting, rows, start, answers)
    stages = as_stated(algorithm, setting, 12, {"gap": ALGORITHM_4["gap"]}, **LETTERS).phases
    return gaps_used(work, stages, entries, rows, start)


@check("pure_heavy_tails/alg-4", kind="symbolic")
def budgets_of_algorithm_4(context: Context) -> Verdict:
    """Two stages spend epsilon together; each adds what Algorithm 2 adds for its share, and its gap leaves the
    sensitivity that is stated of its minimiser.
    """
    at = {BY_NAME["n"]: BY_NAME["m"]}
    exact = explicit_of("pure_heavy_tails/fact-erm-sensitivity").subs(at)
    share, gap = (explicit_of(ALGORITHM_4[name]) for name in ("epsilon", "gap"))
    reach = [sp.sqrt(2 * gap.subs(index, i) / BY_NAME["lambda"]) for i in (1, 2)]
    noise = explicit_of("pure_heavy_tails/alg-2").subs({**at, BY_NAME["epsilon"]: share}, simultaneous=True)
    return proved(
        {
            "the shares of both stages": 2 * share - BY_NAME["epsilon"],
            "the noise of a share": explicit_of(context.label) - noise,
            "the first sensitivity": exact + 2 * reach[0] - explicit_of("pure_heavy_tails/alg-2@derived").subs(at),
            "the second one": exact + 2 * reach[1] - explicit_of("pure_heavy_tails/prop-d-1"),
        }
    )


settings_of_algorithm_4 = settings(
    "pure_heavy_tails/alg-4",
    ALGORITHM_4,
    symbols=STAGE,
    beside=NO_MAPPING,
    problems=PLANNED,
    fields={**WEIGHTS, "k": (2.0, 3.0, 4.0)},
)
