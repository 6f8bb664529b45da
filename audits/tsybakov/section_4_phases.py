"""Section 4: Algorithm 3, its settings, what its phases move, spend and read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
import sympy as sp

from dpcheck.accounting import account
from dpcheck.algorithms.tsybakov import LocalisedClipped
from dpcheck.algorithms.tsybakov.localised import corrected
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.executed import as_stated, run_as_stated
from dpcheck.engine.settings import settings
from dpcheck.engine.statements import bound_of, stated
from dpcheck.errors import DpcheckError, Infeasible
from dpcheck.harness import accuracy, sensitivity, stability
from dpcheck.harness.replay import Case
from dpcheck.harness.search import BoxRecords, maximise
from dpcheck.harness.symbolic import proved
from dpcheck.interfaces import Array, Problem, Rng, Sample, Schedule
from dpcheck.numerics import edge
from dpcheck.privacy import ApproxDP
from dpcheck.symbols import D, L, d, epsilon, k, n, p
from dpcheck.verdicts import Point, Verdict, differs, holds, refuted
from dpcheck.workloads.sheared import Sheared
from dpcheck.workloads.tilted_power import ProductTilt, SparseTilt

from .cases import BECAUSE, LINE, everywhere, localised, problem, told, transcribed, well
from .edges import SIZED, attempted, smallest_named
from .lemmas import PLANE, counted, within
from .lines import (
    FREELY,
    LETTERS,
    LOOSE,
    LOSSES,
    PHASES,
    as_assumed,
    phases_of_algorithm_3,
    planned_as,
    refuses,
    releases_of,
    replayed,
    rough,
    watch,
)
from .plans import (
    edges_as_assumed,
    first_noise_that_fits,
    promises_of_phases,
    ranges_of_steps,
    rows_of_phases,
    told_of_phases,
)


def halved(rng: Rng) -> tuple[Problem, int]:
    """A drawn problem on 2^l records."""
    problem, n = rough(rng)
    return problem, 1 << (n.bit_length() - 1)


settings_of_algorithm_3 = settings(
    "tsybakov/alg-3",
    PHASES,
    symbols=LETTERS,
    beside={"start": "where its records begin"},
    problems=halved,
    # With projected outputs the printed setting is planned as well; the numbers are the same.
    fields={"p": (1.0, 1.5, 2.0), "k": (2.0, 3.0, 4.0), "project": (True,), "lipschitz": ("ignored",)},
)

run_of_algorithm_3 = run_as_stated(
    "tsybakov/alg-3",
    {reading: of for reading, of in PHASES.items() if reading != "as printed"},
    LOSSES["plane"], told(LOSSES["plane"], LOOSE), 16,
    noises={"sigma": "phase *"}, trials=2000, symbols=LETTERS, fields=FREELY,
)  # fmt: skip


@check(
    "tsybakov/alg-3",
    kind="accuracy",
    grid={"reading": ("literal", "corrected", "private", "trivial", "smallest", "every-loss"), "loss": tuple(LOSSES)},
)
@replayed
def lines_of_algorithm_3(context: Context, *, reading: str, loss: str) -> Verdict:
    """Every phase on its own batch, from the output before it, on its ball or projected; noise as the plan has it."""
    algorithm, work = LocalisedClipped(**{**FREELY, **LocalisedClipped.readings[reading]}), LOSSES[loss]
    seen = watch(context, algorithm, told(work, LOOSE), work, 16)
    settings = PHASES["as printed" if reading == "literal" else reading]
    phases = as_stated(algorithm, told(work, LOOSE), 16, settings, symbols=LETTERS).phases
    end = phases_of_algorithm_3(seen, algorithm, phases, seen.rows, seen.start, seen.domain)
    return seen.verdict(end, releases_of(seen.plan.phases))


@check("tsybakov/alg-3", kind="transcription", grid={"p": (1.0, 2.0), "n": (16, 256)})
def noise_of_every_phase_is_the_printed_one(context: Context, *, p: float, n: int) -> Verdict:
    """sigma_i of our Algorithm 3 against 8C_i sqrt(log(1/delta))/(n_i lambda_i epsilon); not whether it is enough."""
    phases = LocalisedClipped(p=p).phases(told(PLANE), n)
    printed = [
        stated("tsybakov/alg-3", C=ph.level, n=ph.records, lambda_=ph.weight, delta=1e-5, epsilon=1) for ph in phases
    ]
    return transcribed([phase.sigma for phase in phases], printed, "sigma_i of our plan, and as printed")


@check("tsybakov/alg-3@literal", kind="accuracy", expect="refuted")
def first_noise_against_the_diameter(context: Context) -> Verdict:
    """sqrt(d) sigma_1/D = 4.80, 15.7, 54.4 at n = 2^8, 2^12, 2^16: the chance that W_2 is empty, exactly from below.

    All records of one length, so all moments are alike; d = 5, epsilon = 1, delta = 1e-5, p = 1, k = 2, beta = 1/n.
    """
    points, numbers, least = [], {}, 1.0
    for size in (2**8, 2**12, 2**16):
        work = ProductTilt(v=np.ones(5), size=1 / (2 * math.sqrt(5)), bias=1.0, theta=2.0)
        problem = Problem.of(work, ApproxDP(1.0, 1e-5), failure_probability=1 / size)
        algorithm = LocalisedClipped()
        first, second = algorithm.phases(problem, size)[:2]
        D = algorithm.width(problem)
        ratio = math.sqrt(5) * first.sigma / D
        # w_1 = w^_1 + noise with w^_1 in W: beyond D + D_2 from it no point of W is within D_2 of w_1.
        empty = float(scipy.stats.chi.sf((D + second.radius) / first.sigma, 5))
        try:
            algorithm.schedule(problem, size)
            return differs(f"the schedule accepts n = {size:,} though sqrt(d) sigma_1/D = {ratio:.3g}")
        except Infeasible:
            least = min(least, empty)
        numbers |= {
            f"sqrt(d) sigma_1/D at {size}": ratio,
            f"D_2/D at {size}": second.radius / D,
            f"P(empty) at {size}": empty,
        }
        stated_ratio = stated("tsybakov/alg-3@literal", k=2, p=1, n=size) / math.sqrt(1 - 1 / size)
        if not math.isclose(ratio, stated_ratio, rel_tol=1e-9):
            return differs(f"{ratio:.9g} from the schedule, {stated_ratio:.9g} from the claim")
        points.append(Point(x=float(size), value=ratio, bound=1.0, series="sqrt(d) sigma_1/D"))
    said = f"W_2 is empty with probability at least {least:.6g} at n = 2^8, and more beyond; the plan refuses to run"
    return refuted(
        said, "exact", numbers=numbers, points=points, dashed="the diameter",
        axes=("n", "deviation of the first noise over the diameter"),
    )  # fmt: skip


R = sp.Symbol("R_2k", positive=True)
LOG = sp.Symbol("ℒ", positive=True)
TAU_P = (sp.sqrt(d * LOG * sp.log(n)) / (epsilon * n)) ** ((k - 1) / k)


@check("tsybakov/alg-3@literal", kind="symbolic")
def first_noise_of_the_printed_step(context: Context) -> Verdict:
    """sqrt(d) sigma_1/D at the second printed cap, from the algorithm's own formulas with all moments alike."""
    n_1, eta_1 = n / 2, D * n ** (-p / 2) / (R * n ** ((p + 1) / 2) * TAU_P) / 4
    level = R * (epsilon * n_1 / sp.sqrt(d * LOG * sp.log(n))) ** (1 / k)
    sigma = 8 * level * sp.sqrt(LOG) * eta_1 * n_1 ** (2 * p) / (n_1 * epsilon)
    return proved({"first noise over D": sp.sqrt(d) * sigma / D / claim("tsybakov/alg-3@literal").bound - 1})


@check("tsybakov/alg-3@corrected", kind="accuracy", grid={"n": (2**8, 2**12, 2**16)})
def corrected_first_noise_fits(context: Context, *, n: int) -> Verdict:
    """With exponent p the deviation of every phase falls by 4 or more, and that of the first is of the order of D."""
    # unbound: noises of one plan beside each other, where the claim counts gradients
    work = ProductTilt(v=np.ones(5), size=1 / (2 * math.sqrt(5)), bias=1.0, theta=2.0)
    phases = corrected().schedule(told(work), n).phases
    sigma = np.array([phase.sigma for phase in phases])
    ratio = math.sqrt(5) * sigma[0] / work.constants.diameter(2.0)
    verdict = accuracy.never_violated(
        sigma[1:], sigma[:-1] / 4, statement="sigma_{i+1} <= sigma_i/4",
        covers="all phases of this plan", evidence="exact", tolerance=1e-9,
    )  # fmt: skip
    return replace(verdict, numbers={**verdict.numbers, "sqrt(d) sigma_1/D": ratio})


@check("tsybakov/alg-3@corrected", kind="symbolic")
def bias_of_the_corrected_step(context: Context) -> Verdict:
    """D^2/(eta n^p) at each cap of the corrected step: D L_f n^(-p/2), D R tau_p and D R n^(-1/2)."""
    # unbound: the regulariser at each cap of the step, where the claim counts gradients
    caps = {
        "cap of L_f": (1 / L, D * L * n ** (-p / 2)),
        "cap of the noise": (1 / (R * n ** (p / 2) * TAU_P), D * R * TAU_P),
        "cap of the sample": (1 / (R * n ** ((p - 1) / 2)), D * R / sp.sqrt(n)),
    }
    return proved({name: D**2 / (D * n ** (-p / 2) * cap * n**p) / term - 1 for name, (cap, term) in caps.items()})


@check("tsybakov/alg-3@corrected", kind="stability", grid={"place": (0, 2)})
def phases_are_as_stable_as_they_claim(context: Context, *, place: int) -> Verdict:
    """A phase of the corrected plan as a map of its batch, on quartic losses of one parameter, against its claim."""
    # unbound: how far the output moves beside what the plan says, where the claim counts gradients
    work = SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=4.0, reach=2.0)
    algorithm = corrected()
    phase = algorithm.schedule(told(work), 16).phases[place]

    def end(data: Array) -> Array:
        sample = Sample(data, np.ones((1, phase.records)))
        return algorithm.descend(phase, work, sample, np.zeros((1, 1)), work.project, None)

    search = maximise(
        stability.of_map(end, phase.sensitivity), BoxRecords(-60.0, 60.0), phase.records, chains=32,
        steps=context.scale(4, 40), seed=context.seed,
    )  # fmt: skip
    return sensitivity.judge(search, certificate=sensitivity.Certificate(1.0, BECAUSE), what="stability")


@check("tsybakov/alg-3@corrected", kind="sensitivity")
def corrected_algorithm_on_the_line(context: Context) -> Verdict:
    """Every phase replayed on one-dimensional losses: no release moves by more than it claims."""
    work, n = SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=2.0, reach=2.0), 16
    case = Case(corrected(), work, told(work))
    search = sensitivity.search(
        case, BoxRecords(-30.0, 30.0), n, chains=everywhere(case, n), steps=context.scale(3, 30), seed=context.seed
    )
    return sensitivity.judge(search, certificate=sensitivity.Certificate(1.0, BECAUSE))


@check(
    "tsybakov/alg-3@corrected",
    kind="risk",
    also=("tsybakov/thm-1@summed",),
    grid={"theta": (2.0, 4.0), "k": (2.0, 4.0), "n": by_size((2**28,), (2**24, 2**26, 2**28, 2**29))},
)
def localised_risk_within_constants(context: Context, *, theta: float, k: float, n: int) -> Verdict:
    """The corrected Algorithm 3 on power wells at epsilon = 1 against its bound with every constant."""
    # The bound does not need the Lipschitz condition of Theorem 1.
    algorithm, work = localised(k, lipschitz="ignored"), well(theta, 2 * k, c=-1.0)
    return within(context, algorithm, work, n, bound_of("tsybakov/thm-1@summed", algorithm, problem(work, 1.0), n))


@check("tsybakov/alg-3@corrected", kind="privacy", grid={"noise": ("output", "steps", "trivial")})
def nothing_is_promised_where_steps_may_expand(context: Context, *, noise: str) -> Verdict:
    """On shearing losses only noise that does not rest on Remark 2 comes with a promise."""
    work = Sheared(0.01, 3.0)
    plan = replace(corrected(noise=noise), lipschitz="ignored", eta=4.0).schedule(told(work), 64)  # type: ignore[arg-type]
    resting = {label for release in plan.releases for label in release.rests_on}
    right = (plan.claimed is None) == (resting == {"tsybakov/rem-2"}) == (noise == "output")
    said = f"{plan.claimed or 'nothing'} is promised with noise of kind {noise}, resting on {resting or 'no premise'}"
    return (holds if right else refuted)(said, "exact")


@check("tsybakov/alg-3@corrected", kind="runtime", grid={"n": by_size((16, 64), (16, 64, 256, 1024))})
def gradients_of_localised_phases(context: Context, *, n: int) -> Verdict:
    """Gradients of the corrected Algorithm 3 against the sum of n_i T_i."""
    return counted(context, LocalisedClipped(**LocalisedClipped.readings["corrected"]), well(2.0, 4.0), n)


@check(
    "tsybakov/proc-lnc-gm-fixed",
    kind="privacy",
    grid={"noise": ("output", "steps", "trivial"), "theta": (2.0, 4.0), "n": (64, 1024)},
    also=("tsybakov/alg-3@corrected",),
)
def account_of_the_corrected_procedure(context: Context, *, noise: str, theta: float, n: int) -> Verdict:
    """delta(1) of the corrected Algorithm 3 on the line with each of its noises, under their claimed sensitivities."""
    work = SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=theta, reach=2.0)
    spent = account(corrected(noise=noise).schedule(told(work), n))  # type: ignore[arg-type]
    rests = "claims of monotone clipped gradients" if noise == "output" else "claims that hold for every loss"
    return accuracy.never_violated(
        spent.delta(1.0), 1e-5, statement="delta(1) <= 1e-5", evidence="certificate", covers=rests
    )


@check(
    "tsybakov/proc-lnc-gm-fixed",
    kind="privacy",
    grid={"delta": (1e-12, 1e-5, 0.1)},
    also=("tsybakov/fact-zcdp-conversion",),
)
def budgets_up_to_what_the_noise_does(context: Context, *, delta: float) -> Verdict:
    """The largest epsilon that is planned is the one into which rho of the planned noise converts, in every phase."""
    algorithm = replace(corrected(noise="trivial"), lipschitz="ignored", largest_epsilon="proved")

    def planned(budget: float) -> Schedule[Any]:
        return algorithm.schedule(told(PLANE, ApproxDP(budget, delta)), 16)

    legal, _ = edge(lambda budget: refuses(lambda: planned(budget)), 1e-3, 1e3 * math.log(1 / delta))
    plan = planned(legal)
    spent = [release.law.zcdp(release.reads[0].sensitivity) for release in plan.releases]
    converted = [stated("tsybakov/fact-zcdp-conversion", rho=rho, delta=delta) / legal for rho in spent]
    off, exact = max(abs(share - 1) for share in converted), account(plan).delta(legal)
    said = (
        f"epsilon = {legal:.6g} is planned and no more; rho converts into it times 1 ± {off:.2g}, delta is {exact:.3g}"
    )
    numbers = {"largest epsilon": legal, "off": off, "delta": exact}
    return (holds if off <= 1e-9 and exact <= delta else differs)(said, "certificate", numbers=numbers)


@check("tsybakov/alg-3", kind="accuracy", grid={"k": (2.0, 3.0), "n": (2**8, 2**16)})
def exponents_that_refusals_name_would_do(context: Context, *, k: float, n: int) -> Verdict:
    """Losses too steep for p = 1: the exponent that the refusal names is planned, and one a hundredth less is not."""
    # unbound: what is planned and refused, which no formula says
    steep = replace(LINE.constants, lipschitz=lambda q: 50.0)
    problem = replace(told(LINE), constants=steep)
    try:
        corrected(k=k).schedule(problem, n)
    except Infeasible as error:
        least = float(error.advice.removeprefix("p >= ").removesuffix(" is enough"))
    else:
        return differs("losses of Lipschitz constant 50 are planned at p = 1")
    enough = [not refuses(lambda s=s: corrected(p=s * least, k=k).schedule(problem, n)) for s in (0.99, 1.01)]
    said = f"p >= {least:.3g} is named; whether a hundredth less and more are planned: {enough}"
    return (holds if enough == [False, True] else differs)(said, "exact", numbers={"p": least})


CONVEX = {"tsybakov/thm-1": {"epsilon": 4.0}, "tsybakov/thm-10": {}}
"""Theorems about the risk of Algorithm 3, and the budgets that they exclude."""


@check("tsybakov/alg-3", kind="transcription", grid={"label": tuple(CONVEX)}, also=tuple(CONVEX))
def plans_what_its_theorems_speak_of(context: Context, *, label: str) -> Verdict:
    """One hypothesis at a time is broken: the schedule refuses, and so does the theorem."""
    faults = {"p": 0.5, "k": 1.5, "L": 1e9, "eta": 5.0, **CONVEX[label]}
    return as_assumed(label, lambda at: replace(corrected(p=at["p"], k=at["k"]), eta=at["eta"]), 2**10, faults, eta=1.0)


GRADIENTS = ("tsybakov/proc-lnc-gm-fixed", "tsybakov/alg-3@corrected")


@check("tsybakov/proc-lnc-gm-fixed", kind="runtime", grid={"p": (1.0, 2.0), "label": GRADIENTS}, also=GRADIENTS[1:])
def gradients_grow_as_a_power(context: Context, *, p: float, label: str) -> Verdict:
    """The planned gradients over n^(p+1) log n at n = 2^30 and 2^60: the same within a tenth."""
    return planned_as(label, replace(corrected(p=p), lipschitz="ignored"), p, 1.1)


@check("tsybakov/alg-3", kind="accuracy", grid={"label": tuple(SIZED)}, also=tuple(SIZED)[1:])
def sizes_that_refusals_name_would_do(context: Context, *, label: str) -> Verdict:
    """Of every size that is refused: the one that is named is planned, and the one before it is not."""
    # unbound: what is planned and refused, which no formula says
    algorithm, sizes = SIZED[label]
    for size in sizes:
        named = smallest_named(algorithm, size)
        if named is None or named <= size:
            return differs(f"{label} at n = {size:,} is planned, or names n = {named} as large enough", "exact")
        tried = [attempted(lambda n=n: algorithm.schedule(told(PLANE), n)) for n in (named - 1, named)]
        if tried != ["refused", "taken"]:
            return differs(
                f"{label} at n = {size:,} names n = {named:,}: {tried[0]} before, and {tried[1]} there", "exact"
            )
    return holds(f"n = {', '.join(map(str, sizes))} are refused, and the sizes that they name are the next", "exact")


def of_all_values(at: Mapping[str, float]) -> LocalisedClipped:
    """The corrected Algorithm 3, its step given."""
    return replace(corrected(p=at["p"], k=at["k"]), eta=at["eta"])


@check("tsybakov/alg-3", kind="transcription", grid={"label": tuple(CONVEX)}, also=tuple(CONVEX))
def plans_end_where_its_theorems_do(context: Context, *, label: str) -> Verdict:
    """The largest Lipschitz constant, budget and step that are planned are the largest that the theorem speaks of."""
    beyond = {"L": 1e9, "eta": 1e9, **CONVEX[label]}
    return edges_as_assumed(label, of_all_values, 2**10, beyond)


@check("tsybakov/alg-3", kind="accuracy", also=("tsybakov/thm-1", "tsybakov/rem-2"))
def promises_where_steps_contract(context: Context) -> Verdict:
    """Which sizes are planned, and which readings promise something on losses whose clipped steps may expand."""
    # unbound: what is planned and promised, which no formula says
    return promises_of_phases()


@check("tsybakov/alg-3", kind="accuracy")
def steps_within_their_range(context: Context) -> Verdict:
    """The longest first step that is planned, and phases with more steps than can be walked through."""
    # unbound: what is planned and refused, which no formula says
    return ranges_of_steps()


@check("tsybakov/alg-3@literal", kind="accuracy", grid={"d": (1, 5)})
def noise_up_to_the_diameter_is_planned(context: Context, *, d: int) -> Verdict:
    """The largest first noise that is planned reaches as far as W_2 is sure not to be empty, on every domain."""
    # unbound: at which noise W_2 may be empty, a matter of lengths
    return first_noise_that_fits(d)


@check("tsybakov/alg-3", kind="transcription", also=("tsybakov/thm-1@summed",))
def what_phases_tell_their_bound(context: Context) -> Verdict:
    """Moments and rows that Algorithm 3 tells, where it has them, at moments that fall with the batch."""
    return told_of_phases()


@check("tsybakov/alg-3", kind="transcription", grid={"reading": ("literal", *tuple(PHASES)[1:])})
def rows_beside_their_claims(context: Context, *, reading: str) -> Verdict:
    """Every row of a few plans at which another cap of the step binds each, and what its steps, radius and level do."""
    try:
        return rows_of_phases(reading)
    except (DpcheckError, ArithmeticError, ValueError) as error:
        return differs(f"the rows are none of its claims: {type(error).__name__}: {error}", "exact")
