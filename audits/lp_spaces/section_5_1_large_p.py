"""Section 5.1, Theorem 8: phased SGD for p >= 2."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
import sympy as sp

from dpcheck.algorithms.lp_spaces import HalvingPhasedSGD
from dpcheck.algorithms.lp_spaces.phased import Pass
from dpcheck.algorithms.lp_spaces.rates import constrained_rate
from dpcheck.algorithms.lp_spaces.regular import kappa as regularity
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.executed import as_stated, run_as_stated
from dpcheck.engine.settings import drawn, settings
from dpcheck.engine.statements import bound_of, explicit_of, order_of, stated, unassumed
from dpcheck.errors import DpcheckError
from dpcheck.harness import risk, runtime
from dpcheck.harness.outside import must_exclude
from dpcheck.harness.plans import planned_within
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import AffinePhases, Instance, Pull, admitted, averaged_descent, powers, scaling
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.harness.symbolic import agree, proved
from dpcheck.interfaces import Problem, Schedule
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.symbols import BY_NAME, D, L, d, delta, epsilon, kappa, n
from dpcheck.verdicts import Verdict, combine, differs, undecided
from dpcheck.workloads import CoordinateHuber

from .cases import DELTA, FUNNELS, RARE, Funnel, certified, funnel, huber, problem, refuted_as_stated
from .edges import EDGES, silent
from .lemmas import UNSEEN, audited, far_pair, replayed

OF_PHASES = {
    "phases": "lp_spaces/proc-phased-sgd@phases",
    "records": "lp_spaces/proc-phased-sgd@records",
    "eta": "lp_spaces/proc-phased-sgd@eta",
    "sigma": "lp_spaces/proc-phased-sgd@sigma",
    "gradients": "lp_spaces/proc-phased-sgd@gradients",
}
LETTERS = {"records": "n"}
settings_of_phased_sgd = settings(
    "lp_spaces/proc-phased-sgd",
    OF_PHASES,
    symbols=LETTERS,
    beside={"start": "where its records begin"},
    fields={"scale": (0.5, 2.0)},
)
run_of_phased_sgd = run_as_stated(
    "lp_spaces/proc-phased-sgd", OF_PHASES, huber(3), problem(huber(3), 0.9), 100,
    noises={"sigma": "phase *"}, trials=2000, symbols=LETTERS,
)  # fmt: skip


@check("lp_spaces/thm-8@corrected", kind="accuracy", grid={"scale": (0.5, 2.0)})
def unit_that_the_bound_is_told(context: Context, *, scale: float) -> Verdict:
    """The c of the bound is what the first step has in front of its minimum, at losses steeper in one norm than in
    another.
    """
    # unbound: a symbol of the bound, whatever it is
    told, size = drawn()(context.rng())
    algorithm = HalvingPhasedSGD(scale=scale)
    first, promise = algorithm.schedule(told, size).phases[0], told.privacy
    assert isinstance(promise, ApproxDP)
    private = promise.epsilon / math.sqrt(told.constants.d * math.log(1 / promise.delta))
    return agree([algorithm.terms(told, size)["c"]], [4 * first.eta / min(1 / math.sqrt(size), private)], "c")


@check("lp_spaces/thm-8@literal", kind="risk", expect="refuted")
def no_algorithm_near_the_origin(context: Context) -> Verdict:
    """theta* = 0 forces the output 0 on every data set, whose excess at theta* = 2m then exceeds the bound."""
    mean = 0.01

    def slope(theta: float) -> float:
        return sum((1 + sign * mean) / 2 * (theta - sign) / math.hypot(1, theta - sign) for sign in (1, -1))

    given = {"n": 10**8, "d": 1, "theta": float(scipy.optimize.brentq(slope, 0, 1, xtol=1e-16, rtol=1e-15))}
    at = {"n": 10**8, "m": "1/100", "epsilon": "1/2", "delta": "1/1000000", "constant": 100}
    return refuted_as_stated(context.label, "thm_8", given=given, **at)


@check("lp_spaces/thm-8", kind="privacy", grid={"epsilon": (0.1, 0.95), "delta": (1e-3, 1e-9)})
def phases_are_certified(context: Context, *, epsilon: float, delta: float) -> Verdict:
    """Every phase is a Gaussian mechanism on records of its own."""
    plan = HalvingPhasedSGD().schedule(problem(huber(4), epsilon, delta), 1000)
    return certified(plan, ApproxDP(epsilon, delta), "phased SGD")


@check("lp_spaces/thm-8", kind="symbolic")
def corrected_bound_contains_the_printed_one(context: Context) -> Verdict:
    """The corrected order minus L^2 times the rate without d^(1-2/p) is the printed one. Below p = 2 that falls as d
    grows, while a loss of one coordinate stays as hard as it is.
    """
    rest = L**2 * (1 / sp.sqrt(n) + sp.sqrt(d * sp.log(1 / delta)) / (n * epsilon))
    verdict = proved({"difference": order_of("lp_spaces/thm-8@corrected") - rest - order_of("lp_spaces/thm-8")})
    at = {"p": 1, "n": 100, "epsilon": 0.5, "delta": 0.1, "theta": 1}
    line, many = (unassumed(context.label, d=size, **at) for size in (1, 10**6))
    falls = f"the rate falls from {line:.4g} on a line to {many:.4g} in d = 1,000,000"
    return combine([verdict, must_exclude([claim(context.label)], {"p": at["p"]}, falls, shown=many < line)])


@check("lp_spaces/proc-phased-sgd", kind="sensitivity")
def averages_move_as_claimed(context: Context) -> Verdict:
    """A pass of contractions: a changed record moves the average iterate by 2 L eta at most."""
    work = huber(2)
    return replayed(Case(HalvingPhasedSGD(), work, problem(work, 0.9)), *far_pair(64, 2), "contraction for eta <= 2/H")


@check(
    "lp_spaces/proc-phased-sgd", kind="risk", also=("lp_spaces/thm-8@corrected",),
    grid={"scale": by_size([4.0], [4.0, 8.0])},
)  # fmt: skip
def risk_at_the_scale_of_the_minimiser(context: Context, *, scale: float) -> Verdict:
    """Mean excess at steps of scale c near |theta*|_2 = 6, n = 4096, against the bound as a function of c, which there
    lies below the excess at the start.
    """
    work, d = CoordinateHuber(np.full(2, 6 / math.sqrt(2))), 2
    algorithm, setting = HalvingPhasedSGD(scale=scale), problem(work, 0.9)
    bound, start = (
        bound_of("lp_spaces/thm-8@corrected", algorithm, setting, 4096),
        float(work.excess_risk(np.zeros((1, d)))[0]),
    )
    if bound >= start:
        return undecided(f"the bound {bound} is above the excess {start:.4g} at the start", "exact")
    values = risk.excess_risks(algorithm, work, setting, 4096, 2100, context.seed, context.name, dict(context.cell))
    verdict = risk.expectation(values, bound, context.failure_probability, seed=context.seed, x=scale, variable="c")
    return replace(verdict, numbers={**verdict.numbers, "at the start": start})


@check("lp_spaces/proc-phased-sgd", kind="runtime", grid={"n": (64, 1000, 1024)})
def less_than_one_pass(context: Context, *, n: int) -> Verdict:
    """Fewer than n gradients: at a power of two, of all records but one."""
    work, most = huber(2), stated(context.label, n=n)
    counts = runtime.count(HalvingPhasedSGD(), work, problem(work, 0.9), n, 1, context.seed, context.name, n)
    taken = int(np.max(counts.gradients))
    if n & (n - 1) == 0 and taken != most - 1:
        return differs(f"{taken:,} gradients where one less than the bound of {most:,.6g} are taken")
    return runtime.verdict(taken, min(counts.claimed, most), x=n)


@check("lp_spaces/proc-phased-sgd", kind="privacy")
def every_phase_has_the_same_mu(context: Context) -> Verdict:
    """2 L eta_i/sigma_i = epsilon/(2 sqrt(log(1/delta))) in every phase."""
    told = problem(huber(3), 0.7)
    steep = replace(told, constants=replace(told.constants, lipschitz=lambda p: 3.0))
    plan = HalvingPhasedSGD().schedule(steep, 500)
    values = [r.reads[0].sensitivity / r.law.noise for r in plan.releases]  # type: ignore[attr-defined]
    return agree(values, [0.7 / (2 * math.sqrt(math.log(1 / DELTA)))] * len(values), "mu of the phases")


@check("lp_spaces/proc-phased-sgd", kind="accuracy", grid={"n": (13, 200)})
def lines_of_phased_sgd(context: Context, *, n: int) -> Verdict:
    """Each phase goes over its own records, in their order, from the last release, which noise takes well away from the
    average of the iterates; it averages those that it takes gradients at, and the last release is what is returned.
    """
    work, trials, plan = huber(3), context.scale(20, 200), HalvingPhasedSGD(scale=3.0)
    run, rows = (
        Run[Any](plan.schedule(problem(work, 0.9), n), trials, context.rng("run")),
        work.rows(context.rng("data"), trials, n),
    )
    try:
        out = plan.execute(run, work, Fixed(rows), np.full((1, 3), 0.7))
    except DpcheckError as error:
        return differs(f"what is planned cannot be run: {error}", "exact")
    if not np.isfinite(out).all():
        return differs("what is returned is no number", "exact")
    w, first, cores = np.full((trials, 3), 0.7), 0, []
    schedule = as_stated(plan, problem(work, 0.9), n, OF_PHASES, symbols=LETTERS)
    if len(schedule.phases) != len(run.transcript.entries):
        return differs(f"{len(run.transcript.entries)} phases are run, {len(schedule.phases)} are stated", "exact")
    for phase, entry in zip(schedule.phases, run.transcript.entries, strict=True):
        iterates = [w]
        for z in rows[:, first : first + phase.records].swapaxes(0, 1):
            iterates.append(iterates[-1] - phase.eta * work.gradient(iterates[-1], z))
        first += len(iterates) - 1
        cores.append(np.mean(iterates[:-1], axis=0))
        w = entry.output
    released = np.stack([entry.core for entry in run.transcript.entries])
    return combine(
        [
            agree(released.ravel() + 1, np.stack(cores).ravel() + 1, "1 + averages of the passes"),
            agree(out.ravel() + 1, w.ravel() + 1, "1 + last release"),
            agree([phase.start + phase.records for phase in schedule.phases][-1:], [first], "records used"),
        ]
    )


@check("lp_spaces/proc-phased-sgd", kind="privacy", expect=UNSEEN)
def outputs_of_phased_sgd(context: Context) -> Verdict:
    """60 records on a line, one in the first phase moved from far left to far right; only the last point is seen."""
    return audited(context, "phased SGD")


@check(
    "lp_spaces/proc-phased-sgd", kind="transcription", grid={"algorithm": tuple(EDGES)},
    also=tuple(f"lp_spaces/{each}" for each in ("alg-1", "alg-2", "alg-3", "proc-optimizer", "proc-lower-instance")),
)  # fmt: skip
def planned_inside_of_its_conditions(context: Context, *, algorithm: str) -> Verdict:
    """Every algorithm, and what stands beside it, runs up to the edge of each of its conditions and not beyond."""
    # unbound: which problems are taken, whatever is stated of their solution
    return planned_within(EDGES[algorithm], silent)


LIKEWISE = ("lp_spaces/claim-table-2@large-p",)


def phased(
    *, n: int, epsilon: float, curvature: float, delta: float = RARE, d: int = 4, L: float = 1.0
) -> Instance:  # fmt: skip
    """Phased SGD at c = 1, so at a scale of L."""
    return funnel(HalvingPhasedSGD(scale=L), Funnel(curvature, d, L), n, epsilon, delta, theta=1.0, p=2.0)


def passes(one: Instance) -> list[Pull]:
    """Each phase of its own schedule: the average of a pass, exact within the bowl, and the noise."""
    work: Funnel = one.work
    pulls = []
    for phase in one.algorithm.schedule(one.problem, one.n).phases:
        keep, variance = averaged_descent(phase.eta * work.curvature, phase.records)
        pulls.append(Pull(keep, work.best, np.hypot(work.aside * math.sqrt(variance), phase.sigma)))
    return pulls


PASSES = AffinePhases(passes, 4_000)


class FirstPass(HalvingPhasedSGD):
    """The first phase alone: no localisation."""

    def schedule(self, problem: Problem, n: int) -> Schedule[Pass]:
        whole = super().schedule(problem, n)
        return replace(whole, phases=whole.phases[:1], releases=whole.releases[:1])


def once(one: Instance) -> Instance:
    assert isinstance(one.algorithm, HalvingPhasedSGD)
    return one.running(FirstPass(scale=one.algorithm.scale))


def striding(one: Instance, power: float) -> Instance:
    """Steps too long by n^power."""
    assert isinstance(one.algorithm, HalvingPhasedSGD)
    return one.running(HalvingPhasedSGD(scale=one.algorithm.scale * one.n**power))


STRIDES: Mapping[str, Mutant] = {
    "no localisation": once,
    "η times n^(1/8)": functools.partial(striding, power=0.125),
    "η times n^(-1/8)": functools.partial(striding, power=-0.125),
}


@scaling(
    "lp_spaces/thm-8@corrected", variable="n", part="private", family=FUNNELS, engine=PASSES, mutants=STRIDES,
    sizes=by_size(powers(2, (64, 70, 76)), powers(2, range(64, 77, 3))), also=LIKEWISE,
)  # fmt: skip
def risk_where_noise_leads(*, n: int, curvature: float) -> Instance:
    """Mean excess risk of phased SGD at c = 1 and its own noise in n, epsilon = 1e-12, d = 4 and p = 2."""
    return phased(n=n, epsilon=1e-12, curvature=curvature)


@scaling(
    "lp_spaces/thm-8@corrected", variable="n", part="statistical", family=FUNNELS, engine=PASSES,
    # Longer steps and the first phase alone are not told apart: c L^2/6 is small beside the distance.
    mutants={"η times n^(-1/8)": STRIDES["η times n^(-1/8)"]},
    sizes=by_size(powers(2, (20, 40, 60)), powers(2, range(20, 61, 10))), also=LIKEWISE,
)  # fmt: skip
def risk_where_records_lead(*, n: int, curvature: float) -> Instance:
    """The same at epsilon = 0.9."""
    return phased(n=n, epsilon=0.9, curvature=curvature)


@scaling(
    "lp_spaces/thm-8@corrected", variable="epsilon", part="private", family=FUNNELS, engine=PASSES, mutants=STRIDES,
    sizes=by_size(powers(2, (-48, -44, -40)), powers(2, range(-48, -39, 2))), also=LIKEWISE,
)  # fmt: skip
def risk_in_epsilon(*, epsilon: float, curvature: float) -> Instance:
    """The same in epsilon at n = 2^70."""
    return phased(n=2**70, epsilon=epsilon, curvature=curvature)


@scaling(
    "lp_spaces/thm-8@corrected", variable="delta", part="private", family=FUNNELS, engine=PASSES, mutants=STRIDES,
    sizes=by_size(powers(10, (-300, -40, -6)), powers(10, (-300, -120, -50, -20, -8))),
)  # fmt: skip
def risk_in_delta(*, delta: float, curvature: float) -> Instance:
    """The same in log(1/delta) at n = 2^70."""
    return phased(n=2**70, epsilon=1e-12, delta=delta, curvature=curvature)


@scaling(
    "lp_spaces/thm-8@corrected", variable="L", part="private", family=FUNNELS, engine=PASSES, mutants=STRIDES,
    sizes=by_size(powers(4, range(1, 4)), powers(2, range(2, 7))),
)  # fmt: skip
def risk_in_steepness(*, L: float, curvature: float) -> Instance:
    """The same in the Lipschitz constant that the algorithm is told, at n = 2^76."""
    return phased(n=2**76, epsilon=1e-12, L=L, curvature=curvature)


@scaling(
    "lp_spaces/thm-8@corrected", variable="d", part="private", family=FUNNELS, engine=PASSES, mutants=STRIDES,
    sizes=by_size(powers(4, range(3)), powers(2, range(5))), also=LIKEWISE,
)  # fmt: skip
def risk_in_dimension(*, d: int, curvature: float) -> Instance:
    """The same in d at n = 2^70."""
    return phased(n=2**70, epsilon=1e-12, d=d, curvature=curvature)


@check(
    "lp_spaces/thm-8@corrected", kind="accuracy", grid={"curvature": (1 / 16, 1 / 4), "d": (1, 3)}, expect="consistent"
)  # fmt: skip
def passes_in_closed_form(context: Context, *, curvature: float, d: int) -> Verdict:
    """What these rates rest on, against runs of phased SGD on drawn records, n = 512 and epsilon = 0.9."""
    # unbound: the engine of these rates against drawn runs, whatever the rate is
    instance = phased(n=512, epsilon=0.9, curvature=curvature, d=d, delta=DELTA)
    return admitted(PASSES, instance, context.scale(1000, 10_000), context)


@check("lp_spaces/proc-bassily21", kind="transcription", grid={"p": (1.2, 1.5, 1.9, 3.0, 8.0)})
def code_is_the_quoted_rate(context: Context, *, p: float) -> Verdict:
    """`constrained_rate` in code against the rates as quoted: of Remark 3 for p < 2, after Theorem 8 for p >= 2."""
    values, wanted = [], []
    for size, dim, diameter, eps in ((10**4, 30, 1.0, 0.3), (10**6, 500, 4.0, 0.9), (50, 2, 0.1, 0.05)):
        at = {n: size, d: dim, D: diameter, epsilon: eps, delta: 1e-6, BY_NAME["p"]: p}
        values.append(constrained_rate(size, dim, p, diameter, eps, 1e-6))
        if p < 2:
            rate = order_of("lp_spaces/proc-bassily21").subs({**at, kappa: regularity(p, dim, "safe")})
        else:
            # Theorem 8 at |theta*| = 1 over the gap of d^(1/2 - 1/p) between the two, times M.
            gap = explicit_of("lp_spaces/claim-after-thm-8")
            rate = (order_of("lp_spaces/thm-8").subs(BY_NAME["theta"], 1) / gap * D).subs(at)
        wanted.append(float(rate))
    return agree(values, wanted, "excess risk without logarithms")
