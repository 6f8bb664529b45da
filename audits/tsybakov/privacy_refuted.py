"""Theorem 1, privacy, where clipped steps expand: movement, one phase, the whole algorithm; and noise that does."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy import stats

from dpcheck.accounting import account
from dpcheck.algorithms.tsybakov import LocalisedClipped
from dpcheck.algorithms.tsybakov.localised import corrected
from dpcheck.checks import Context, by_size, check, together
from dpcheck.engine.statements import stated, unassumed
from dpcheck.harness import accuracy, losses, sensitivity
from dpcheck.harness.refutation import refuted_by, witnessed
from dpcheck.harness.replay import Case
from dpcheck.harness.search import BoxRecords
from dpcheck.interfaces import Array, Sample
from dpcheck.laws import Gaussian
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Point, Verdict
from dpcheck.workloads.sheared import Sheared
from dpcheck.workloads.tilted_power import SparseTilt

from ._instances import (
    PRIVACY,
    OnePhase,
    Settling,
    atoms,
    everywhere,
    legal,
    settled,
    told,
    transcribed,
    unit_level,
    walked,
)

INSTANCES = {
    "a = 1/100": ("1/100", 1024, "3"),
    "a = 1/400": ("1/400", 4096, "2"),
    "a = 1/1000": ("1/1000", 16384, "5/2"),
}


def number(text: str) -> float:
    """A rational in words as a float."""
    top, _, bottom = text.partition("/")
    return int(top) / int(bottom or 1)


# One phase ------------------------------------------------------------------------------------------------------------


@check("tsybakov/rem-2", kind="stability", grid={"instance": tuple(INSTANCES)}, expect="refuted")
def clipped_descent_moves_by_its_clip_level(context: Context, *, instance: str) -> Verdict:
    """Two runs of Algorithm 2 on neighbours against 2C/(n lambda): 4.43, 9.15 and 14.7 times; C = 1, curvature 1.

    The shortest run is walked through step by step, the others are taken where they come to rest.
    """
    text, n, K = INSTANCES[instance]
    work, weight, steps = Sheared(number(text), number(K)), 1 / n, math.ceil(2 * n * math.log(4 * n))

    def end(sign: float) -> Array:
        rows = work.balanced(n, weight, sign)
        if steps < 20_000:
            return walked(work, rows, steps=steps, eta=1.0, weight=weight)
        sample = atoms(Sample(rows[None], np.ones((1, n))))
        return settled(work, sample, np.zeros((1, 2)), steps=steps, eta=1.0, level=1.0, weight=weight)

    moved = float(np.linalg.norm(end(1.0) - end(-1.0)))
    claimed = stated("tsybakov/rem-2", C=1.0, n=n, lambda_=weight, eta=1.0, H=1.0)
    return accuracy.never_violated(
        moved,
        claimed,
        statement="movement <= 2C/(n lambda)",
        witness=lambda _: witnessed(
            "tsybakov/rem-2", "rem_2", claimed, moved, a=text, n=n, K=K, eta=1, lambda_=f"1/{n}", steps=steps
        ),
    )


@check("tsybakov/rem-2", kind="privacy", grid={"instance": tuple(INSTANCES)}, expect="refuted")
def one_phase_with_the_printed_noise(context: Context, *, instance: str) -> Verdict:
    """Phase 2 of Algorithm 3, replayed: epsilon 1.24, 2.79 and 4.81 at delta = 1e-5, for 1 claimed.

    eta = 4, so eta_2 = 1/4 and lambda_2 = 4/n_2: the instances of Remark 2 with four times the records.
    """
    text, n, K = INSTANCES[instance]
    records, total, weight = 4 * n, 16 * n, 1 / n
    work = Sheared(number(text), number(K), moment=unit_level(total, 2, PRIVACY, records))
    algorithm = OnePhase(Settling(eta=4.0, lipschitz="ignored"), total, 1)
    rows, other = (work.balanced(records, weight, sign) for sign in (1.0, -1.0))
    case = Case(algorithm, work, told(work))
    (phase,) = case.planned(records).phases
    seen = case.replay(rows[None], other[None], 2)
    found = losses.of_replay(seen)
    return refuted_by(
        "tsybakov/rem-2",
        "rem_2_privacy",
        measured=found.delta(1.0)[0],
        numbers={"epsilon at 1e-5": found.epsilon(1e-5)[0], "movement over claim": float(seen.movements[0].ratio[0])},
        points=[Point(x=work.a, value=found.epsilon(1e-5)[0], bound=1.0, series="epsilon of a phase")],
        axes=("a", "epsilon at delta = 1e-5"),
        a=text, n=records, K=K, eta="1/4", lambda_=f"1/{n}", steps=phase.steps, epsilon=1, delta="1/100000",
    )  # fmt: skip


# The whole algorithm --------------------------------------------------------------------------------------------------


def replayed(
    algorithm: LocalisedClipped, work: Sheared, rows: Array, other: Array, start: Array
) -> tuple[float, float]:
    """Algorithm 3 replayed: how far phase 1 moves, and the deviation of all noise together.

    Raises:
        ValueError: a later phase moves although its records are alike.
    """
    case = Case(algorithm, work, told(work), start=start)
    seen = case.replay(rows[None], other[None], 1)
    moved = {name: uses[0] for name, uses in seen.distances().items()}
    if any(apart > 0 for name, apart in moved.items() if name != "phase 1"):
        raise ValueError(f"later phases read the same records and release different cores: {moved}")
    sigma = math.sqrt(math.fsum(release.law.sigma**2 for release in seen.schedule.releases))  # type: ignore[attr-defined]
    return moved["phase 1"], sigma


def stays(algorithm: LocalisedClipped, work: Sheared, n: int) -> None:
    """Raises `ValueError` unless a batch of zero losses leaves every phase of Algorithm 3 where it starts."""
    start = np.array([[3.0, -2.0]])
    zero = Sample(np.zeros((1, 1, 4)), np.ones((1, 1)))
    phases = algorithm.schedule(told(work), n).phases
    ends = [algorithm.descend(phase, work, zero, start, work.project, None) for phase in phases]
    if any(not np.array_equal(end, start) for end in ends):
        raise ValueError("zero losses move the iterates")


@check(
    "tsybakov/thm-1",
    kind="privacy",
    grid={
        "instance": together(
            "a K_0 n far", ("1/100", "3", 1024, 300), ("1/400", "2", 1024, 300), ("1/4000", "3/2", 8192, 1500)
        )
    },
    expect="refuted",
)
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
        "tsybakov/thm-1",
        "thm_1_in_order",
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
    "tsybakov/thm-1",
    kind="privacy",
    grid={"instance": together("a n", ("3/10000", 128), ("1/100000", 1024))},
    expect="refuted",
)
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
        "tsybakov/thm-1",
        "thm_1_reversed",
        measured=Gaussian(sigma).delta(1.0, moved),
        numbers={"movement over claim": moved / (2 * unit), "L_f": work.constants.lipschitz(2.0)},
        a=a, K_0="3/10", n=n, p=6, epsilon=1, delta="1/100000",
    )  # fmt: skip


@check(
    "tsybakov/thm-1",
    kind="privacy",
    grid={
        "instance": by_size(
            together("a K_0 n threshold", ("1/1000", "5/2", 8192, "213/100"), ("1/100000", "3/10", 1024, "2")),
            together(
                "a K_0 n threshold",
                ("1/400", "2", 2048, "3119/1000"),
                ("1/1000", "5/2", 4096, "49/20"),
                ("1/1000", "5/2", 8192, "213/100"),
                ("3/100000", "3/10", 256, "83/25"),
                ("1/100000", "3/10", 1024, "2"),
                ("1/100000", "3/10", 4096, "1744/1000"),
            ),
        )
    },
    expect="refuted",
)
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
    hit, missed, claimed = (_tail(cut + margin - apart), _tail(cut + margin), _tail(cut - margin))
    delta = (hit + missed) / 2 - math.e * claimed
    return refuted_by(
        "tsybakov/thm-1",
        "thm_1_reversed",
        measured=delta,
        numbers={"movement over claim": moved / (2 * unit), "drift of later phases over sigma": margin},
        points=[Point(x=float(n), value=delta, bound=1e-5, series=f"a = {a}")],
        axes=("n", "lower bound on delta(1)"),
        a=a, K_0=K_0, n=n, p=6, epsilon=1, delta="1/100000", threshold=threshold,
    )  # fmt: skip


def _tail(x: float) -> float:
    return float(stats.norm.sf(x))


# Noise that is private for every loss --------------------------------------------------------------------------------


@check("tsybakov/thm-1@corrected", kind="privacy", grid={"epsilon": (0.1, 1.0, 3.0), "n": (16, 64)})
def noise_per_step_is_private_for_every_loss(context: Context, *, epsilon: float, n: int) -> Verdict:
    """The exact account of all noisy steps, which uses nothing of the loss but the clip level."""
    work = SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=4.0, reach=2.0)
    schedule = corrected(noise="steps").schedule(told(work, ApproxDP(epsilon, 1e-5)), n)
    spent = account(schedule)
    rho = max(stretch.rho for stretch in spent.stretches)
    found = accuracy.never_violated(
        [spent.delta(epsilon), rho],
        [1e-5, unassumed("tsybakov/def-3@corrected", epsilon=epsilon, delta=1e-5) * (1 + 1e-9)],
        statement="delta(epsilon) <= delta, and rho <= epsilon^2/(32 log(1/delta))",
        covers="Gaussian steps of sensitivity 2C/n, whatever the loss, compose exactly",
        evidence="certificate",
    )
    phases = schedule.phases
    said = [
        stated("tsybakov/thm-1@corrected", C=ph.level, T=ph.steps, n=ph.records, delta=1e-5, epsilon=epsilon)
        for ph in phases
    ]
    alike = transcribed([ph.sigma for ph in phases], said, "noise of a step, and as the claim has it")
    return alike if found.outcome == "holds" and alike.outcome != "holds" else found


def _replayed_sensitivity(context: Context, noise: str) -> Verdict:
    """Search over neighbours of losses whose clipped steps expand, every release against what it claims."""
    n = 8
    work = Sheared(0.01, 3.0, radius=50.0)
    algorithm = LocalisedClipped(
        first_exponent="corrected", step_caps="corrected", project=True, noise=noise, eta=4.0, lipschitz="ignored"  # type: ignore[arg-type]
    )  # fmt: skip
    case = Case(algorithm, work, told(work))
    pair = np.tile([1.0, 1.0, 0.0, 0.0], (n, 1)), np.tile([1.0, 1.0, 0.0, 0.0], (n, 1))
    pair[1][0] = [0.0, 0.0, *-work.u]
    low, high = [0.0, -1.0, -1.0, -1.0], [1.0, 1.0, 1.0, 1.0]
    found = sensitivity.search(
        case,
        BoxRecords(low, high),
        n,
        given=[pair],
        chains=everywhere(case, n),
        steps=context.scale(3, 30),
        seed=context.seed,
    )
    because = {
        "steps": "at a common point two clipped means differ by 2C/n, whatever the losses",
        "trivial": "either run ends within C/lambda of their common start",
    }[noise]
    return sensitivity.judge(found, certificate=sensitivity.Certificate(1.0, because))


@check("tsybakov/thm-1@corrected", kind="sensitivity")
def every_step_moves_by_its_claim(context: Context) -> Verdict:
    """Every noisy step replayed on losses that shear: no clipped mean moves by more than 2C/n."""
    return _replayed_sensitivity(context, "steps")


@check("tsybakov/thm-1@trivial", kind="sensitivity")
def every_phase_moves_by_twice_its_reach(context: Context) -> Verdict:
    """The outputs of all phases on the same losses, against 2C/lambda."""
    return _replayed_sensitivity(context, "trivial")


@check("tsybakov/thm-1@trivial", kind="privacy", grid={"epsilon": (0.1, 1.0, 3.0), "n": (16, 1024)})
def noise_for_the_reach_is_private_for_every_loss(context: Context, *, epsilon: float, n: int) -> Verdict:
    """The account of output noise at the reach, n_i times the printed noise."""
    work = SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=4.0, reach=2.0)
    problem = told(work, ApproxDP(epsilon, 1e-5))
    plan, printed = (corrected(noise=kind).schedule(problem, n) for kind in ("trivial", "output"))
    ratios = [a.sigma / (b.sigma * b.records) for a, b in zip(plan.phases, printed.phases, strict=True)]
    found = accuracy.never_violated(
        account(plan).delta(epsilon), 1e-5, statement="delta(epsilon) <= delta", evidence="certificate",
        covers="a record is read by one phase, whose two outputs are at most 2C/lambda apart",
    )  # fmt: skip
    return with_numbers(found, {"noise over n_i times the printed": max(ratios, key=lambda r: abs(r - 1))})


def with_numbers(found: Verdict, numbers: dict[str, float]) -> Verdict:
    """The verdict with further named results."""
    return replace(found, numbers={**found.numbers, **numbers})
