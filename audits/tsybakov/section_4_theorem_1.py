"""Section 4: Theorem 1, where its privacy and its risk fail, and where repaired readings of them hold."""

from __future__ import annotations

import functools
import math
from dataclasses import replace

import numpy as np
import scipy

from dpcheck.accounting import account
from dpcheck.algorithms.tsybakov import LocalisedClipped
from dpcheck.algorithms.tsybakov.clipped import clipped_descent, limit_point
from dpcheck.algorithms.tsybakov.localised import averaged_moment, corrected
from dpcheck.algorithms.tsybakov.settling import Settling
from dpcheck.checks import Context, by_size, check, together
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import stated, unassumed
from dpcheck.harness import accuracy, losses, risk, sensitivity, stability
from dpcheck.harness.contracting import FAMILIES
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import Instance, Simulated, admitted, powers, scaling
from dpcheck.harness.scaling.turned_back import noisy_phases
from dpcheck.harness.search import BoxRecords, maximise
from dpcheck.interfaces import Array, Sample
from dpcheck.laws import Gaussian
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Point, Verdict
from dpcheck.workloads.linear import TwoPoint
from dpcheck.workloads.power_well import PowerWell
from dpcheck.workloads.sheared import Sheared
from dpcheck.workloads.tilted_power import SparseTilt

from .cases import (
    ANY,
    BECAUSE,
    BOWLS,
    BY_PHASES,
    FAILING,
    FAR_BELOW,
    LINE,
    NAMES,
    ON_THE_LINE,
    TILTS,
    WRONG,
    WideClips,
    bowl,
    convex,
    everywhere,
    exponents,
    heavier,
    instance,
    instead,
    known_well,
    legal,
    number,
    replayed,
    stays,
    tilted,
    told,
    transcribed,
    well,
)

CONVEX = ("tsybakov/thm-1", "tsybakov/thm-1@phases", "tsybakov/thm-10", "tsybakov/thm-10@phases")


@check("tsybakov/thm-1", kind="transcription", grid={"label": CONVEX}, also=CONVEX[1:])
def exponents_of_theorem_1(context: Context, *, label: str) -> Verdict:
    """(k-1)/k in the private regime, 1/2 in the statistical one, also in epsilon, d, R and D; not whether they hold."""
    return exponents(label, 1.0)


@check(
    "tsybakov/thm-1", kind="privacy", expect="refuted",
    grid={
        "instance": together(
            "a K_0 n far", ("1/100", "3", 1024, 300), ("1/400", "2", 1024, 300), ("1/4000", "3/2", 8192, 1500)
        )
    },
)  # fmt: skip
def whole_algorithm_with_records_in_order(context: Context, *, instance: tuple[str, str, int, int]) -> Verdict:
    """Algorithm 3 at epsilon = 1, delta = 1e-5, p = 3, later losses 0: delta(1) of its Gaussian output, up to 0.284.

    Every hypothesis of Theorem 1 holds, the Lipschitz condition with room for a twentieth. The plan, the noise and the
    replayed cores are the algorithm's own; only long phases are taken where they come to rest.
    """
    a, K_0, n, far = instance
    first = n // 2
    work, eta, unit = legal(number(a), number(K_0), n, 3.0, far)
    algorithm = Settling(p=3.0, eta=eta)
    weight = algorithm.schedule(told(work), n).phases[0].weight
    rows, other = (np.zeros((n, 4)) for _ in range(2))
    rows[:first], other[:first] = (work.balanced(first, weight, sign) for sign in (1.0, -1.0))
    stays(algorithm, work, n)
    moved, sigma = replayed(algorithm, work, rows, other, np.zeros((1, 2)))
    law = Gaussian(sigma)
    return refuted_by(
        "tsybakov/thm-1", "thm_1_in_order",
        measured=law.delta(1.0, moved),
        numbers={"movement over claim": moved / (2 * unit), "L_f": work.constants.lipschitz(2.0), "eta_1": eta / 4},
        a=a, K_0=K_0, n=n, p=3, far=far, epsilon=1, delta="1/100000",
    )  # fmt: skip


def turned(a: str, K_0: str, n: int) -> tuple[Settling, Sheared, Array, float]:
    """Algorithm, losses, start and unit of the witness `thm_1_reversed` at p = 6."""
    first = n // 2
    work, eta, unit = legal(number(a), number(K_0), n, 6.0, 3.0 * first + 300.0)
    return Settling(p=6.0, eta=eta), work, ((first - 1) * unit * work.u)[None], unit


@check(
    "tsybakov/thm-1", kind="privacy", expect="refuted",
    grid={"instance": together("a n", ("3/10000", 128), ("1/100000", 1024))},
)  # fmt: skip
def one_gradient_turned_around_in_order(context: Context, *, instance: tuple[str, int]) -> Verdict:
    """The same at p = 6 with all losses alike but one, which is linear: delta(1) = 0.12 at n = 1024."""
    a, n = instance
    algorithm, work, start, unit = turned(a, "3/10", n)
    rows = np.zeros((n, 4))
    rows[: n // 2] = work.turned(n // 2)
    other = rows.copy()
    other[0] = rows[1]
    moved, sigma = replayed(algorithm, work, rows, other, start)
    return refuted_by(
        "tsybakov/thm-1", "thm_1_reversed",
        measured=Gaussian(sigma).delta(1.0, moved),
        numbers={"movement over claim": moved / (2 * unit), "L_f": work.constants.lipschitz(2.0)},
        a=a, K_0="3/10", n=n, p=6, epsilon=1, delta="1/100000",
    )  # fmt: skip


@check(
    "tsybakov/thm-1", kind="privacy", expect="refuted",
    grid={
        "instance": by_size(
            together("a K_0 n threshold", ("1/1000", "5/2", 8192, "213/100"), ("1/100000", "3/10", 1024, "2")),
            together(
                "a K_0 n threshold",
                ("1/400", "2", 2048, "3119/1000"), ("1/1000", "5/2", 4096, "49/20"),
                ("1/1000", "5/2", 8192, "213/100"), ("3/100000", "3/10", 256, "83/25"),
                ("1/100000", "3/10", 1024, "2"), ("1/100000", "3/10", 4096, "1744/1000"),
            ),
        )
    },
)  # fmt: skip
def records_in_random_order(context: Context, *, instance: tuple[str, str, int, str]) -> Verdict:
    """Batches drawn at random, p = 6: delta(1) >= 0.20 at n = 4096; n - 1 losses are alike and one is linear.

    It is in the first batch with probability 1/2. A half-space, whatever the later phases do within their reach.
    """
    a, K_0, n, threshold = instance
    algorithm, work, start, unit = turned(a, K_0, n)
    first, cut = n // 2, number(threshold)
    rows = np.zeros((n, 4))
    rows[:first] = work.turned(first)
    other = rows.copy()
    other[0] = rows[1]
    moved, sigma = replayed(algorithm, work, rows, other, start)
    phases = algorithm.schedule(told(work), n).phases
    drift = math.fsum(phase.level / phase.weight for phase in phases[1:])
    apart, margin = moved / sigma, drift / sigma
    hit, missed, claimed = map(float, scipy.stats.norm.sf([cut + margin - apart, cut + margin, cut - margin]))
    delta = (hit + missed) / 2 - math.e * claimed
    return refuted_by(
        "tsybakov/thm-1", "thm_1_reversed",
        measured=delta,
        numbers={"movement over claim": moved / (2 * unit), "drift of later phases over sigma": margin},
        points=[Point(x=float(n), value=delta, bound=1e-5, series=f"a = {a}")],
        axes=("n", "lower bound on delta(1)"),
        a=a, K_0=K_0, n=n, p=6, epsilon=1, delta="1/100000", threshold=threshold,
    )  # fmt: skip


FACTORS = together(NAMES, (8, 2, 0), (12, 8, 0), (16, 30, 0), (20, 100, 0), (40, 100_000, 0))
LARGE = together(NAMES, (33, 10_000, 0), (60, 1000, 3), (100, 10**8, 3))
"""(log2 n, factor, logs): the order times factor (log n)^logs is exceeded at n."""


@check("tsybakov/thm-1", kind="risk", grid={"instance": by_size(FACTORS, FACTORS + LARGE)}, expect="refuted")
def printed_step_ends_at_the_wrong_end(context: Context, *, instance: tuple[int, int, int]) -> Verdict:
    """Algorithm 3 as printed, projected, at the step of its proof: excess near 1 with probability near 1/2."""
    return convex(context, "thm_1_risk", instance, 2)


@check("tsybakov/thm-1@glm", kind="stability", grid={"family": tuple(FAMILIES)}, also=("tsybakov/rem-2@corrected",))
def descent_moves_as_claimed(context: Context, *, family: str) -> Verdict:
    """The worst pair that a search finds for losses whose clipped gradients are monotone, against the claim.

    The bound of Remark 2, 2C/(n lambda), is this one without its share of the last steps, which is larger.
    """
    work, n, C = FAMILIES[family], 4, 0.5
    weight, steps = 0.02, context.scale(120, 400)
    eta = 2 / (1 + 2 * weight)
    bound = stated("tsybakov/thm-1@glm", eta=eta, lambda_=weight, T=steps, C=C, n=n, H=1.0)

    def end(data: Array) -> Array:
        return clipped_descent(
            work, Sample(data, np.ones((1, n))), np.zeros((1, work.d)), steps=steps, eta=eta, level=C, weight=weight  # type: ignore[arg-type]
        )  # fmt: skip

    search = maximise(
        stability.of_map(end, bound), work.records, n, chains=16, steps=context.scale(6, 40), seed=context.seed
    )
    return sensitivity.judge(search, certificate=sensitivity.Certificate(1.0, BECAUSE), what="stability")


@check("tsybakov/thm-1@glm", kind="privacy", grid={"epsilon": (0.1, 1.0, 3.0), "n": (64, 1024)})
def algorithm_3_on_one_record_turned_around(context: Context, *, epsilon: float, n: int) -> Verdict:
    """Linear losses, all 0 but one ±C: the exact curve of every release for the worst pair, records anywhere."""
    plan = corrected().schedule(told(LINE, ApproxDP(epsilon, 1e-5)), n)
    worst = 0.0
    for phase, release in zip(plan.phases, plan.releases, strict=True):
        moved = stated(
            "tsybakov/thm-1@glm", eta=phase.eta, lambda_=phase.weight, T=phase.steps, C=phase.level, n=phase.records,
            H=0.0,
        )  # fmt: skip
        worst = max(worst, losses.compose(plan, {release.name: moved}).delta(epsilon)[1])
    said = f"delta({epsilon:g}) is at most {worst:.3g} of 1e-5, whatever phase reads the record"
    verdict = accuracy.never_violated(
        worst, 1e-5, statement="delta(epsilon) <= delta", evidence="certificate",
        covers="a record is read by one phase, which moves by (1 - (1 - eta lambda)^T) 2C/(n lambda) at most",
    )  # fmt: skip
    return replace(verdict, reason=said) if verdict.outcome == "holds" else verdict


@check("tsybakov/thm-1@corrected", kind="privacy", grid={"epsilon": (0.1, 1.0, 3.0), "n": (16, 64)})
def noise_per_step_is_private_for_every_loss(context: Context, *, epsilon: float, n: int) -> Verdict:
    """The exact account of all noisy steps, which uses nothing of the loss but the clip level."""
    schedule = corrected(noise="steps").schedule(told(replace(LINE, theta=4.0), ApproxDP(epsilon, 1e-5)), n)
    spent = account(schedule)
    rho = max(stretch.rho for stretch in spent.stretches)
    verdict = accuracy.never_violated(
        [spent.delta(epsilon), rho],
        [1e-5, unassumed("tsybakov/def-3@corrected", epsilon=epsilon, delta=1e-5) * (1 + 1e-9)],
        statement="delta(epsilon) <= delta, and rho <= epsilon^2/(32 log(1/delta))", evidence="certificate",
        covers="Gaussian steps of sensitivity 2C/n, whatever the loss, compose exactly",
    )  # fmt: skip
    phases = schedule.phases
    said = [
        stated("tsybakov/thm-1@corrected", C=ph.level, T=ph.steps, n=ph.records, delta=1e-5, epsilon=epsilon)
        for ph in phases
    ]
    alike = transcribed([ph.sigma for ph in phases], said, "noise of a step, and as the claim has it")
    return alike if verdict.outcome == "holds" and alike.outcome != "holds" else verdict


def _replayed_sensitivity(context: Context, noise: str) -> Verdict:
    """Search over neighbours of losses whose clipped steps expand, every release against what it claims."""
    work, n = Sheared(0.01, 3.0, radius=50.0), 8
    algorithm = LocalisedClipped(
        first_exponent="corrected", step_caps="corrected", project=True, noise=noise, eta=4.0, lipschitz="ignored"  # type: ignore[arg-type]
    )  # fmt: skip
    case = Case(algorithm, work, told(work))
    pair = np.tile([1.0, 1.0, 0.0, 0.0], (n, 1)), np.tile([1.0, 1.0, 0.0, 0.0], (n, 1))
    pair[1][0] = [0.0, 0.0, *-work.u]
    search = sensitivity.search(
        case, BoxRecords([0.0, -1.0, -1.0, -1.0], [1.0] * 4), n, given=[pair], chains=everywhere(case, n),
        steps=context.scale(3, 30), seed=context.seed,
    )  # fmt: skip
    because = {
        "steps": "at a common point two clipped means differ by 2C/n, whatever the losses",
        "trivial": "either run ends within C/lambda of their common start",
        "smallest": "clipping keeps the sign of the product of a gradient and the distance",
    }[noise]
    return sensitivity.judge(search, certificate=sensitivity.Certificate(1.0, because))


@check("tsybakov/thm-1@corrected", kind="sensitivity")
def every_step_moves_by_its_claim(context: Context) -> Verdict:
    """Every noisy step replayed on losses that shear: no clipped mean moves by more than 2C/n."""
    return _replayed_sensitivity(context, "steps")


@check("tsybakov/thm-1@derived", kind="risk", grid={"weight": (0.1, 1.0), "level": (0.5, 5.0), "d": (1, 3)})
def noisy_steps_add_their_share(context: Context, *, weight: float, level: float, d: int) -> Verdict:
    """E|w_T - w_T without noise|² of one phase on an isotropic quadratic, clipped or not, against ηds²/λ."""
    work = SparseTilt(v=np.eye(d)[0], size=2.0, chance=0.25, theta=2.0, reach=4.0)
    rng, eta, s = context.rng(), 0.5, 0.3
    batch = work.draw(rng, 1, 64)
    steps = math.ceil(2 / (weight * eta) * math.log(4 / (weight * eta)))
    start, settings = np.zeros((1, d)), {"steps": steps, "eta": eta, "level": level, "weight": weight}
    calm = clipped_descent(work, batch, start, **settings)  # type: ignore[arg-type]
    trials = context.scale(400, 4000, 40_000)

    def noisy(g: Array) -> Array:
        return g + s * rng.standard_normal((trials, d))

    shaken = clipped_descent(work, batch, np.repeat(start, trials, axis=0), answer=noisy, **settings)  # type: ignore[arg-type]
    moved = ((shaken - calm) ** 2).sum(axis=1)
    # |x|⁴ of x = (1 - ηλ)x' + ηξ at the fixed point of its recursion; clipped steps contract at least as much.
    rho = 1 - eta * weight
    fourth = (4 + 2 * d) * (eta * s * rho) ** 2 * eta * d * s**2 / weight + (eta * s) ** 4 * d * (d + 2)
    fourth /= 1 - rho**4
    bound = stated("tsybakov/thm-1@derived", eta=eta, d=d, lambda_=weight, sigma=s)
    verdict = risk.expectation(
        moved, bound, context.failure_probability, variance=fourth, quantity="squared distance"
    )  # fmt: skip
    printed = 2 * math.log(4 / (weight * eta))
    return replace(verdict, numbers={**verdict.numbers, "over the printed noise": printed})


@check("tsybakov/thm-1@trivial", kind="sensitivity")
def every_phase_moves_by_twice_its_reach(context: Context) -> Verdict:
    """The outputs of all phases on the same losses, against 2C/lambda."""
    return _replayed_sensitivity(context, "trivial")


@check("tsybakov/thm-1@smallest", kind="sensitivity")
def every_phase_moves_by_less_than_two_reaches(context: Context) -> Verdict:
    """The outputs of all phases on the same losses, against (1 + 1/n)C/(lambda (1 - eta lambda/2))."""
    return _replayed_sensitivity(context, "smallest")


@check("tsybakov/thm-1@trivial", kind="privacy", grid={"epsilon": (0.1, 1.0, 3.0), "n": (16, 1024)})
def noise_for_the_reach_is_private_for_every_loss(context: Context, *, epsilon: float, n: int) -> Verdict:
    """The account of output noise at the reach, n_i times the printed noise."""
    problem = told(replace(LINE, theta=4.0), ApproxDP(epsilon, 1e-5))
    plan, printed = (corrected(noise=kind).schedule(problem, n) for kind in ("trivial", "output"))
    ratios = [a.sigma / (b.sigma * b.records) for a, b in zip(plan.phases, printed.phases, strict=True)]
    verdict = accuracy.never_violated(
        account(plan).delta(epsilon), 1e-5, statement="delta(epsilon) <= delta", evidence="certificate",
        covers="a record is read by one phase, whose two outputs are at most 2C/lambda apart",
    )  # fmt: skip
    worst = max(ratios, key=lambda ratio: abs(ratio - 1))
    return replace(verdict, numbers={**verdict.numbers, "noise over n_i times the printed": worst})


@check(
    "tsybakov/thm-1@phase",
    kind="risk",
    grid={"theta": (2.0, 4.0), "weight": (0.01, 0.05), "level": (30.0, 60.0), "n": by_size((2**20,), (2**20, 2**24))},
)
def one_phase_within_constants(context: Context, *, theta: float, weight: float, level: float, n: int) -> Verdict:
    """The limit of a phase on wells with rare spikes, k = 2, from 0, which has more than the bound at u = w*."""
    work, values = well(theta, 4.0, chance=1 / 64, c=-1.0), []
    for rng, size in context.chunks(context.scale(4000, 10_000, 100_000), 8):
        sample = work.draw(rng, size, n)
        gap = 1e-3 * level / (n * weight)
        ends = limit_point(work, sample, np.zeros((1, 1)), level=level, weight=weight, gap=gap)
        values.append(work.excess_risk(ends))
    c = work.constants
    bound = claim("tsybakov/thm-1@phase").evaluate(
        lambda_=weight, D=2.0, n=n, k=2.0, C=level, r_2=c.moment(2.0, 1), r_2k=c.moment(4.0, 1)
    )
    return risk.expectation(
        np.concatenate(values), float(bound), context.failure_probability, limit=work.worst, x=n,
        series=f"theta = {theta:g}, lambda = {weight:g}, C = {level:g}",
    )  # fmt: skip


@scaling(
    "tsybakov/thm-1@phases", variable="n", family=TILTS, engine=ON_THE_LINE, mutants=WRONG,
    series={"case": together("part k epsilon", ("private", 2, 1e-9), ("private", 4, 1e-12), ("statistical", 4, 0.5))},
    sizes=by_size(powers(2, range(48, 73, 12)), powers(2, range(48, 73, 4))),
)  # fmt: skip
def localised_risk_on_tilted_lines(*, n: int, tilt: float, k: float, epsilon: float) -> Instance:
    """The mean excess risk of the corrected Algorithm 3 in n, the worst over linear losses of every tilt."""
    return tilted(n, tilt, k, epsilon)


PRIVATE = functools.partial(
    scaling, "tsybakov/thm-1@phases", part="private", mutants=WRONG, also=("tsybakov/thm-10@phases",)
)
"""Rows at a fixed n, where the order of Theorem 10 is a multiple of that of Theorem 1."""


@PRIVATE(
    variable="epsilon", series={"k": (2.0, 4.0)}, family=TILTS, engine=ON_THE_LINE,
    sizes=by_size(powers(2, range(-52, -35, 8)), powers(2, range(-52, -35, 4))),
)  # fmt: skip
def localised_risk_in_epsilon(*, epsilon: float, tilt: float, k: float) -> Instance:
    """The same in epsilon, at n = 2^64."""
    return tilted(2**64, tilt, k, epsilon)


@PRIVATE(variable="delta", sizes=FAILING, series={"k": (2.0, 4.0)}, family=TILTS, engine=ON_THE_LINE)
def localised_risk_in_delta(*, delta: float, tilt: float, k: float) -> Instance:
    """The same in the promised delta: 1/4 and 3/8 in log(1/delta)."""
    return tilted(2**64, tilt, k, 2.0**-44, delta)


@PRIVATE(
    variable="d", sizes=by_size((4, 16, 64), (4, 8, 16, 32, 64, 128)), series={"k": by_size((2.0,), (2.0, 4.0))},
    family=BOWLS, engine=BY_PHASES,
)  # fmt: skip
def localised_risk_in_the_dimension(*, d: int, curvature: float, k: float) -> Instance:
    """The same in d dimensions, over bowls of every curvature: 1/4 and 3/8."""
    return bowl(2**64, curvature, k, 2.0**-44, d)


@check("tsybakov/thm-1@phases", kind="accuracy", grid={"n": (2**8, 2**16), "epsilon": (0.05, 0.5), "tilt": (0.05, 0.5)},
       expect="consistent")  # fmt: skip
def law_on_the_line(context: Context, *, n: int, epsilon: float, tilt: float) -> Verdict:
    """The law of the iterate that these rates rest on, against runs of the algorithm on drawn records."""
    # unbound: an engine of rates against drawn runs, whatever the rate is
    return admitted(ON_THE_LINE, tilted(n, tilt, 2.0, epsilon), context.scale(1000, 10_000), context)


@check("tsybakov/thm-1@phases", kind="accuracy", grid={"d": (1, 3), "curvature": (0.03, 0.5)}, expect="consistent")
def phases_in_closed_form(context: Context, *, d: int, curvature: float) -> Verdict:
    """The phases that the rates in d rest on, against runs on drawn records, n = 2^16."""
    # unbound: an engine of rates against drawn runs, whatever the rate is
    one = bowl(2**16, curvature, 2.0, 0.5, d)
    return admitted(replace(BY_PHASES, trials=context.scale(20_000, 100_000)), one, context.scale(300, 3000), context)


@check("tsybakov/thm-1@every-loss", kind="privacy", grid={"epsilon": (0.1, 1.0, 3.0), "n": (16, 64)})
def geometric_weights_are_private_for_every_loss(context: Context, *, epsilon: float, n: int) -> Verdict:
    """The exact account of all noisy steps under the weights of the corrected theorem."""
    algorithm = LocalisedClipped(**LocalisedClipped.readings["every-loss"])
    spent = account(algorithm.schedule(told(Sheared(0.01, 3.0), ApproxDP(epsilon, 1e-5)), n))
    return accuracy.never_violated(
        [spent.delta(epsilon), max(stretch.rho for stretch in spent.stretches)],
        [1e-5, unassumed("tsybakov/def-3@corrected", epsilon=epsilon, delta=1e-5) * (1 + 1e-9)],
        statement="delta(epsilon) <= delta, and rho <= epsilon^2/(32 log(1/delta))", evidence="certificate",
        covers="Gaussian steps of sensitivity 2C/n, whatever the loss, compose exactly",
    )  # fmt: skip


@check("tsybakov/thm-1@every-loss", kind="risk", grid={"n": by_size((1024,), (1024, 2048), (1024, 4096))})
def noisy_steps_within_the_corrected_bound(context: Context, *, n: int) -> Verdict:
    """A steep line from the middle, moments of order 16 and epsilon = 200: a bound that the start does not keep."""
    k, work = 8.0, TwoPoint(D=2.0, G=1.0, rho=0.9)
    asked = told(work, ApproxDP(200.0, 1e-5))
    algorithm = LocalisedClipped(k=k, largest_epsilon="proved", **LocalisedClipped.readings["every-loss"])
    bound = stated(
        "tsybakov/thm-1@every-loss", R_2k=averaged_moment(work.constants, 2 * k, n), D=2.0, n=n, k=k, d=1,
        epsilon=200.0, delta=1e-5,
    )  # fmt: skip
    values = risk.excess_risks(
        algorithm, work, asked, n, context.scale(200, 400, 4000), context.seed, context.label, context.name,
        dict(context.cell), gradients=ANY,
    )  # fmt: skip
    return risk.expectation(values, float(bound), context.failure_probability, limit=2 * 0.9, x=n)


# One phase alone, or smaller weights, are not among them: under noise on each step, which costs ηs² on smooth losses,
# they have the rate on this class as well.
WRONG_WEIGHTS = {"λ times n^(1/8)": heavier("n", 1 / 8), "C times n^(1/8)": instead(WideClips)}
NOISY = Simulated(noisy_phases, 3200)
EVERY_LOSS = functools.partial(
    scaling, "tsybakov/thm-1@every-loss", part="private", family=TILTS, engine=NOISY, mutants=WRONG_WEIGHTS,
    since="standard",
)  # fmt: skip


def noisy(n: int, loss: float | PowerWell, k: float, epsilon: float, delta: float = FAR_BELOW) -> Instance:
    """Noisy steps at geometric weights, on a linear loss of that tilt over [-1, 1] or on a well."""
    algorithm = LocalisedClipped(k=k, **LocalisedClipped.readings["every-loss"])
    work = TwoPoint(D=2.0, G=1.0, rho=loss) if isinstance(loss, float) else loss
    return instance(algorithm, work, n, k, epsilon, delta)


@EVERY_LOSS(variable="n", series={"k": (2.0, 4.0)}, sizes=powers(2, range(52, 73, 4)))
def noisy_steps_risk(*, n: int, tilt: float, k: float) -> Instance:
    """The mean excess risk in n, the worst over linear losses of every tilt: -1/2 and -3/4, but for its logarithm."""
    return noisy(n, tilt, k, 1e-9 if k == 2 else 1e-12)


@EVERY_LOSS(
    variable="epsilon", series={"k": (2.0, 4.0)}, sizes=powers(2, range(-52, -35, 4)),
)  # fmt: skip
def noisy_steps_risk_in_epsilon(*, epsilon: float, tilt: float, k: float) -> Instance:
    """The same in epsilon, at n = 2^72."""
    return noisy(2**72, tilt, k, epsilon)


@EVERY_LOSS(variable="delta", sizes=FAILING, series={"k": (2.0, 4.0)})
def noisy_steps_risk_in_delta(*, delta: float, tilt: float, k: float) -> Instance:
    """The same in the promised delta: 1/4 and 3/8 in log(1/delta)."""
    return noisy(2**72, tilt, k, 2.0**-44, delta)


@EVERY_LOSS(variable="d", sizes=(8, 16, 32, 64, 128), family=BOWLS, engine=replace(NOISY, trials=640),
            mutants={"λ times d^(1/4)": heavier("d", 1 / 4)})  # fmt: skip
def noisy_steps_risk_in_the_dimension(*, d: int, curvature: float) -> Instance:
    """The same at k = 2 in d dimensions, over bowls of every curvature: 1/4."""
    return noisy(2**72, known_well(curvature, 4.0, 1.0, d=d), 2.0, 2.0**-44)


@check("tsybakov/thm-1@every-loss", kind="accuracy", grid={"epsilon": by_size((), (0.5, 10.0)), "tilt": (0.05, 0.5)},
       expect="consistent")  # fmt: skip
def noisy_steps_in_closed_form(context: Context, *, epsilon: float, tilt: float) -> Verdict:
    """The law of the phases that these rates rest on, against runs step by step on drawn records, n = 2^9."""
    # unbound: an engine of rates against drawn runs, whatever the rate is
    one = noisy(2**9, tilt, 2.0, epsilon, 1e-60)
    return admitted(replace(NOISY, trials=context.scale(20_000, 100_000)), one, context.scale(100, 2000), context)


@check("tsybakov/thm-1@every-loss", kind="accuracy", grid={"d": by_size((), (1, 4))}, expect="consistent")
def noisy_steps_on_bowls_in_closed_form(context: Context, *, d: int) -> Verdict:
    """The same on a well of exponent 2."""
    # unbound: an engine of rates against drawn runs, whatever the rate is
    one = noisy(2**9, known_well(0.4, 4.0, 1.0, d=d), 2.0, 10.0, 1e-60)
    return admitted(replace(NOISY, trials=context.scale(20_000, 100_000)), one, context.scale(100, 400), context)
