"""Instances, families whose rates are measured and wrong schedules, and what the checks of theorems do with them."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import scipy

from dpcheck.algorithms.tsybakov import IteratedLocalised, LocalisedClipped, StochasticApproximation
from dpcheck.algorithms.tsybakov.clipped import Restricted, between_ends
from dpcheck.algorithms.tsybakov.epochs import Calls
from dpcheck.algorithms.tsybakov.localised import Phase, averaged_moment
from dpcheck.checks import Context, by_size
from dpcheck.claims import evaluate
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import order_of
from dpcheck.errors import InvalidInput
from dpcheck.harness import risk
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.relations import judged
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import Family, Instance, Line, Move, Simulated, clipped_mean, geometric, one_by_one
from dpcheck.harness.scaling.families import named
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Algorithm, Array, Problem, Rng, Sample, Workload
from dpcheck.privacy import ApproxDP
from dpcheck.statistics.binomial import clopper_pearson
from dpcheck.verdicts import Point, Verdict, differs
from dpcheck.workloads.linear import LinearWorkload, TwoPoint
from dpcheck.workloads.power_well import KnownWell, PowerWell, rare_spikes
from dpcheck.workloads.sheared import Sheared
from dpcheck.workloads.tilted_power import SparseTilt

DELTA, BETA = 1e-12, 0.05
"""delta lies below every epsilon that is used here."""
ANY = 1e60
"""Records of these workloads are counts of three atoms: their number costs nothing."""


def problem(workload: Workload, epsilon: float, delta: float = DELTA) -> Problem:
    return Problem.of(workload, ApproxDP(epsilon, delta), failure_probability=BETA)


def localised(k: float, **fields: Any) -> LocalisedClipped:
    """The corrected Algorithm 3, its phases taken to where they lead."""
    return LocalisedClipped(**{**LocalisedClipped.readings["corrected"], "k": k, "solver": "limit", **fields})


def approximation(k: float, **fields: Any) -> StochasticApproximation:
    """The corrected Algorithm 4, its phases taken to where they lead."""
    return StochasticApproximation(
        **{**StochasticApproximation.readings["corrected"], "k": k, "solver": "limit", **fields}
    )


def iterated(k: float, **fields: Any) -> IteratedLocalised:
    """The corrected Algorithm 5, its phases taken to where they lead."""
    return IteratedLocalised(**{**IteratedLocalised.readings["corrected"], "k": k, "solver": "limit", **fields})


def exponents(label: str, power: float, *, tail: bool = True) -> Verdict:
    """Every local exponent of an O-form where one of its terms is alone, against those of the printed display.

    With epsilon tiny the private term is alone, with epsilon huge the statistical one, with tiny moments that of β;
    `power` is theta/(theta - 1); the display of Theorem 7 has no term of β, and so no `tail`.
    """
    said, values, wanted = claim(label), [], []
    needed = {s.name for s in said.bound.free_symbols}
    for order in (3.0, 6.0):
        base = {"D": 3.0, "d": 5.0, "delta": 1e-5, "beta": 0.1, "lambda": 0.3, "n": 1e100}
        base |= {"k": order, "theta": power / (power - 1) if power > 1 else 2.0}
        share = (order - 1) / order
        moments = {"R_2k": 1.0, "r_k": 1.0}
        private = {"n": -share, "epsilon": -share, "d": share / 2, "delta": share / 2 / math.log(1e-5), **moments}
        failing = {"n": -0.5, "beta": 0.5 / math.log(0.1), "p": -2 * math.log(2), "R_2k": 0.0, "epsilon": 0.0}
        for eps, p, moment, printed in (
            (1e-90, 200.0, 2.0, private),
            (1e6, 200.0, 2.0, {"n": -0.5, "epsilon": 0.0, "d": 0.0, "delta": 0.0, **moments}),
            *([(1e6, 2.0, 1e-30, failing)] if tail else []),
        ):
            given = {**base, "epsilon": eps, "p": p, "R_2k": moment, "r_k": moment}
            at = {name: value for name, value in given.items() if name in needed}
            printed = {name: power * exponent for name, exponent in printed.items()}
            printed |= {"lambda": 1 - power, "D": 1.0}
            for name in sorted(needed & printed.keys()):
                values.append(said.local_exponent(name, at))
                wanted.append(printed[name])
    off = max(abs(a - b) for a, b in zip(values, wanted, strict=True))
    reason = f"{len(values)} local exponents of {said.title}, as printed and as written down: at most {off:.2g} apart"
    return judged(off, "<", 0.02, reason, "exact", numbers={"largest difference": off}, otherwise=differs)


TILTED = TwoPoint(D=2.0, G=1.0, rho=0.5)
DRAWN = 2**56
"""Larger samples are planned, and not drawn."""


def asked(n: int) -> Problem:
    return Problem.of(TILTED, ApproxDP(1.0, 1e-5), failure_probability=1 / n)


def reach(phases: tuple[Phase, ...]) -> float:
    """How far these phases move while no noise is longer than ten deviations; the mean gradient is at most 1."""
    return math.fsum(min(phase.level, 1.0) / phase.weight + 10 * phase.sigma for phase in phases)


def order_beside(label: str, n: int, *, k: int, theta: int = 2, **rest: Any) -> float:
    """The O-form at constant 1; (1 - w)/2 >= 2^-theta (1 - w)^theta."""
    at = {
        "n": float(n), "k": float(k), "d": 1.0, "D": 2.0, "R_2k": 1.0, "theta": float(theta), "lambda": 2.0**-theta,
        "epsilon": 1.0, "delta": 1e-5, "beta": 1 / n, "p": 1.0,
    }  # fmt: skip
    return float(evaluate(order_of(label), at))


def refuted_by_plan(
    context: Context, algorithm: Algorithm[Any], n: int, noisy: Phase, left: float, verifier: str, **parameters: Any
) -> Verdict:
    """The witness, which the algorithm's own plan has to give as well; then runs of it, and the mean beside the order.

    Args:
        noisy: the phase whose noise sends the output to the wrong end.
        left: how far from the minimiser the output is then.
    """
    label = f"tsybakov/{verifier.removesuffix('_risk').replace('_', '-')}"
    bound = order_beside(label, n, **parameters)
    numbers: dict[str, float] = {
        "n": float(n),
        "noise of phase 1 over the diameter": noisy.sigma / 2,
        "excess over the order": left / 2 / bound,
    }
    points: list[Point] = []
    series = named({"": "as printed, projected", **{k: v for k, v in parameters.items() if k == "theta"}})
    if n <= DRAWN:
        trials = context.scale(200, 2000)
        values = risk.excess_risks(
            algorithm, TILTED, asked(n), n, trials, context.seed, context.label, context.name, n, gradients=ANY
        )
        chance, beyond = float(scipy.stats.norm.sf(2 / noisy.sigma)), int((values >= left / 2 * (1 - 1e-9)).sum())
        error = float(values.std(ddof=1)) / math.sqrt(trials)
        numbers |= {"mean excess": float(values.mean()), "runs that bad": beyond / trials, "at least expected": chance}
        points.append(
            Point(
                x=float(n), value=float(values.mean()), lower=float(values.mean()) - 2 * error,
                upper=float(values.mean()) + 2 * error, bound=bound, series=series,
            )
        )  # fmt: skip
        if clopper_pearson(beyond, trials, context.failure_probability, "upper")[1] < chance - 1e-9:
            said = f"{beyond} of {trials} runs have an excess of {left / 2:.4g}, expected in a share {chance:.4g}"
            return differs(said, "sampled", failure_probability=context.failure_probability, numbers=numbers)
    verdict = refuted_by(
        label, verifier, measured=left / 2, agreement=1e-9, numbers=numbers, points=points,
        axes=("n", "mean excess risk"), dashed="order, its constant set to 1", bars="of two standard errors",
        **parameters, p=1, epsilon=1, delta="1/100000",
    )  # fmt: skip
    return replace(verdict, severity=left / 2 / bound)


NAMES = "log2_n factor logs"


def convex(context: Context, verifier: str, instance: tuple[int, int, int], first: int) -> Verdict:
    log_n, factor, logs = instance
    n, exponent = 2**log_n, {2: "printed", 1: "corrected"}[first]
    algorithm = LocalisedClipped(project=True, solver="limit", first_exponent=exponent)  # type: ignore[arg-type]
    phases = algorithm.phases(asked(n), n)
    # With the exponent p the printed step does not lead away from a start at the wrong end; runs start at 0.
    if first == 1:
        return refuted_by(
            f"tsybakov/{verifier.removesuffix('_risk').replace('_', '-')}", verifier, agreement=1e-9,
            measured=(2 - reach(phases)) / 2, k=2, log_n=log_n, factor=factor, logs=logs, first=1, p=1, epsilon=1,
            delta="1/100000",
        )  # fmt: skip
    left = 2 - reach(phases[1:])
    return refuted_by_plan(
        context, algorithm, n, phases[0], left, verifier, k=2, log_n=log_n, factor=factor, logs=logs, first=2
    )


FAR_BELOW = 1e-40
"""Of the promise: far below every epsilon of a window."""
TILTS = Family.of(mirrored=True, tilt=geometric(1.0, 1 / 4, 30))
"""Linear losses ±w with mean gradient 1, 1/4, 1/16, …: neither n nor the algorithm enters."""
FAILING = by_size(*(tuple(10.0**-j for j in js) for js in ((2, 25, 300), (2, 5, 15, 40, 110, 300))))
"""Of the promise, where it varies."""


def tilted(n: int, tilt: float, k: float, epsilon: float, delta: float = FAR_BELOW) -> Instance:
    """The corrected Algorithm 3, its phases taken to where they lead, on a linear loss over [-1, 1]."""
    return instance(localised(k), TwoPoint(D=2.0, G=1.0, rho=tilt), n, k, epsilon, delta)


BECAUSE = "clipped gradients are again gradients of convex functions of curvature at most 1, so steps are non-expansive"
"""Why clipped descent moves no further than it claims, on losses whose clipped steps contract."""


PRIVACY = ApproxDP(1.0, 1e-5)
"""Promised wherever a violation is shown."""


def told(work: Any, privacy: ApproxDP = PRIVACY) -> Problem:
    """The problem of a workload."""
    return Problem.of(work, privacy)


def transcribed(values: Sequence[float] | Array, written: Sequence[float] | Array, what: str) -> Verdict:
    """Whether two things that dpcheck wrote down for one printed line are the same; says nothing of the paper."""
    alike = agree(values, written, what, tolerance=1e-12)
    return alike if alike.outcome == "holds" else differs(alike.reason, numbers=alike.numbers)


def everywhere(case: Case, n: int) -> int:
    """Chains that a search needs to start at both ends of every stretch of records, four kinds of pairs at each."""
    cuts = {cut for release in case.planned(n).releases for read in release.reads for cut in (read.start, read.stop)}
    return 8 * len({0, n} | cuts)


def legal(a: float, K_0: float, n: int, p: float, far: float) -> tuple[Sheared, float, float]:
    """Losses of moment 1 on a ball of radius `far` units, K = K_0 units, with a step at which Theorem 1 fails.

    At that step lambda_1 = C_1/(n_1 unit); the unit is such that L_f is at most 19/20 of what Theorem 1 allows.

    Returns:
        (losses, eta, unit).
    """
    plain, free = Sheared(a, 1.0), LocalisedClipped(p=p, eta=1.0, lipschitz="ignored")
    level, first = free.phases(told(plain), n)[0].level, n // 2
    unit = 0.95 * free.largest_lipschitz(told(plain), n) / (far + K_0 + 1)
    return (
        replace(plain, K=K_0 * unit, radius=far * unit, steepest=level),
        4 * unit / (level * first ** (2 * p - 1)),
        unit,
    )


def stays(algorithm: LocalisedClipped, work: Sheared, n: int) -> None:
    """Raises `ValueError` unless a batch of zero losses leaves every phase of Algorithm 3 where it starts."""
    start = np.array([[3.0, -2.0]])
    zero = Sample(np.zeros((1, 1, 4)), np.ones((1, 1)))
    phases = algorithm.schedule(told(work), n).phases
    ends = [algorithm.descend(phase, work, zero, start, work.project, None) for phase in phases]
    if any(not np.array_equal(end, start) for end in ends):
        raise ValueError("zero losses move the iterates")


LINE = SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=2.0, reach=2.0)


def well(theta: float, order: float, *, chance: float = 0.25, d: int = 1, c: float = 0.5) -> PowerWell:
    """A power well on the unit ball with its minimum at c e_1, spikes of that chance and of moment 1."""
    e_1 = np.eye(d)[0]
    return PowerWell(
        c=c * e_1, v=e_1, theta=float(theta), size=rare_spikes(chance, order, 1.0), chance=chance, radius=1.0
    )


def number(text: str) -> float:
    """A rational in words as a float."""
    top, _, bottom = text.partition("/")
    return int(top) / int(bottom or 1)


BOWLS = Family.of(mirrored=True, curvature=geometric(0.5, 1 / 4, 24))
"""Wells of exponent 2 on the unit ball, of curvature 1/2, 1/8, …."""


def bowl(n: int, curvature: float, k: float, epsilon: float, d: int) -> Instance:
    """The same algorithm on a well of exponent 2."""
    return instance(localised(k), known_well(curvature, 2 * k, 1.0, d=d), n, k, epsilon)


@runtime_checkable
class HasExponent(Protocol):
    """A workload that grows like a power of the distance, and knows which."""

    theta: float


def instance(
    algorithm: Algorithm[Any],
    work: Any,
    n: int,
    k: float,
    epsilon: float,
    delta: float = FAR_BELOW,
    growth: float = math.nan,
) -> Instance:
    """An algorithm of Section 4 with the values of what stands in the orders there; `growth` is that of the class."""
    told, c = problem(work, epsilon, delta), work.constants
    at = {
        "n": float(n), "k": k, "d": float(c.d), "D": c.diameter(2.0), "p": 1.0, "lambda": growth,
        "theta": work.theta if isinstance(work, HasExponent) else math.nan, "epsilon": epsilon, "delta": delta,
        "R_2k": averaged_moment(c, 2 * k, 1 << (n.bit_length() - 1)), "beta": told.failure_probability,
        "L": c.lipschitz(2.0), "r_k": c.moment(k, 1), "rho": epsilon**2 / math.log(1 / delta),
    }  # fmt: skip
    return Instance(algorithm, work, told, n, at)


def moves(one: Instance) -> list[Move]:
    """The phases of its own schedule, each a step of -ḡ/λ_i and then the noise on the output."""
    steps = []
    for phase in one.algorithm.schedule(one.problem, one.n).phases:
        mean, deviation = clipped_mean(one.work, phase.level)
        steps.append(Move(-mean / phase.weight, deviation / (math.sqrt(phase.records) * phase.weight), phase.sigma))
    return steps


ON_THE_LINE = Line(moves)


class FirstPhase(LocalisedClipped):
    """The first phase alone: no localisation."""

    def phases(self, problem: Problem, n: int) -> tuple[Phase, ...]:
        return super().phases(problem, n)[:1]


SPIKED = 0.25
"""Chance of the two spikes that bring a well's moment to that of its class."""
STILL_TOO = 1e-7
"""Phases that move the point by less of its domain's radius are left out."""


def known_well(
    weight: float, order: float, moment: float, *, theta: float = 2.0, d: int = 1, radius: float = 1.0,
    L: float | None = None,
) -> KnownWell:  # fmt: skip
    """(weight/theta) |w - e_1 radius/2|^theta with spikes that bring its moment of that order to the class's.

    The spikes have the chance `SPIKED`, or that which lets the largest gradient be L.
    """
    e_1, pull = np.eye(d)[0], weight * (1.5 * radius) ** (theta - 1)
    if pull >= moment:
        raise InvalidInput(f"a well of weight {weight:g} has gradients of {pull:g}, and the class a moment {moment:g}")
    chance = SPIKED if L is None else (moment**order - pull**order) / (L**order - pull**order)
    largest = ((moment**order - (1 - chance) * pull**order) / chance) ** (1 / order)
    return KnownWell(
        c=radius / 2 * e_1, v=e_1, theta=theta, size=largest - pull, chance=chance, radius=radius, weight=weight,
        moment=moment, L=1.5 * moment if L is None else L,
    )  # fmt: skip


@functools.lru_cache(maxsize=64)
def calls(chosen: Algorithm[Any], told: Problem, n: int) -> Sequence[tuple[Sequence[Phase], float | None]]:
    """The phases of each call by its own schedule, and the radius of the ball that it is restricted to."""
    plan = chosen.schedule(told, n).phases
    if not isinstance(chosen, Calls):
        return [(plan, None)]
    return [(epoch.inner.phases, epoch.radius if chosen.on_balls else None) for epoch in plan]


@one_by_one
def ends_of_phases(one: Instance, rng: Rng, trials: int) -> Array:
    """Where runs of Algorithms 3 to 5 end on linear losses and wells, whose points of rest are closed forms.

    The mean of a phase's records is normal, and no record is clipped.
    """
    work, d = one.work, one.work.constants.d
    steepest, deviation = _slopes(work)
    w = np.repeat(work.project(np.zeros((1, d))), trials, axis=0)
    for phases, radius in calls(one.algorithm, one.problem, one.n):
        domain = work if radius is None else Restricted(work, w, radius)
        onto = between_ends(domain.project, w, domain.constants.diameter(2.0))
        still = STILL_TOO * (work.constants.diameter(2.0) / 2 if radius is None else radius)
        for phase in phases:
            spread = deviation / math.sqrt(phase.records)
            if (steepest + spread) / phase.weight > still:
                w = onto(_rest(work, w, phase.weight, spread * rng.standard_normal((trials, 1))))
            if phase.sigma * math.sqrt(d) > still:
                w = onto(w + phase.sigma * rng.standard_normal(w.shape))
    return w


def _slopes(work: PowerWell | LinearWorkload) -> tuple[float, float]:
    """The steepest slope of the risk, and the deviation of a record's gradient, along e_1."""
    if isinstance(work, PowerWell):
        return work.pull, work.size * math.sqrt(work.chance)
    mean = work.probabilities @ work.atoms[:, 0]
    return abs(float(mean)), math.sqrt(float(work.probabilities @ work.atoms[:, 0] ** 2 - mean**2))


def _rest(work: PowerWell | LinearWorkload, w: Array, weight: float, shift: Array) -> Array:
    """argmin of risk - shift <e_1, .> + weight/2 |. - w|^2, unprojected: for theta > 2 it is that of d = 1 only."""
    e_1 = np.eye(work.constants.d)[0]
    if isinstance(work, LinearWorkload):
        return np.asarray(w - (work.mean + shift * e_1) / weight)
    far = w + shift * e_1 / weight - work.c
    if work.theta == 2:
        return np.asarray(work.c + far * (weight / (weight + work.weight)))
    q = weight / work.weight  # the root of s³ + q s = q |far|
    return np.asarray(work.c + 2 * np.sqrt(q / 3) * np.sinh(np.arcsinh(1.5 * far * np.sqrt(3 / q)) / 3))


BY_PHASES = Simulated(ends_of_phases, 3200)
IN_DIMENSIONS = Simulated(ends_of_phases, 640)
"""Where a run draws vectors, whose length varies the less."""
BY_CALLS = Simulated(ends_of_phases, 3200, rounds=1)
"""Where the worst member is the mildest of its class, whatever the size: one pilot of each finds it."""
CALLS_IN_DIMENSIONS = Simulated(ends_of_phases, 640, rounds=1)


LEAST_GROWTH = 2.0**-8
"""The growth constant λ of the class where nothing else is said."""


def grown(
    algorithm: Calls, n: int, steepness: float = 1.0, *, theta: float = 2.0, k: float = 2.0, epsilon: float = 2.0**-32,
    delta: float = FAR_BELOW, d: int = 1, R: float = 1.0, growth: float = LEAST_GROWTH, radius: float = 1.0,
    L: float | None = None,
) -> Instance:  # fmt: skip
    """Algorithm 4 or 5 on a well of exponent theta, moment R of order 2k, and (theta, growth)-TNC or more."""
    work = known_well(theta * growth * steepness, 2 * k, R, theta=theta, d=d, radius=radius, L=L)
    return instance(replace(algorithm, k=k), work, n, k, epsilon, delta, growth)


def _as(kind: type[Any], chosen: Any) -> Any:
    """The same settings under a subclass."""
    return kind(**{field.name: getattr(chosen, field.name) for field in fields(chosen)})


class ShortSteps(LocalisedClipped):
    """η too small by n^(1/8)."""

    power: ClassVar[float] = -1 / 8

    def step(self, problem: Problem, n: int) -> float:
        return super().step(problem, n) * n**self.power


class ShorterSteps(ShortSteps):
    """η too small by n^(1/4)."""

    power = -1 / 4


class ShortCalls(Calls):
    """Calls with η too small by n^(1/4)."""

    def call(self, radius: float) -> LocalisedClipped:
        clipped: LocalisedClipped = _as(ShorterSteps, super().call(radius))
        return clipped


def instead(kind: type[Any]) -> Mutant:
    return lambda one: one.running(_as(kind, one.algorithm))


class WideClips(LocalisedClipped):
    """Levels too large by n^(1/8), and so the noise."""

    def phases(self, problem: Problem, n: int) -> tuple[Phase, ...]:
        wide, factor = super().phases(problem, n), n ** (1 / 8)
        return tuple(replace(row, level=row.level * factor, sigma=row.sigma * factor) for row in wide)


class WideCalls(StochasticApproximation):
    """Calls with levels too large by n^(1/8), and so the noise."""

    def call(self, radius: float) -> LocalisedClipped:
        wide: LocalisedClipped = _as(WideClips, super().call(radius))
        return wide


def heavier(name: str, power: float) -> Mutant:
    """Geometric weights too large by a power of a symbol: λ is inverse to D."""
    return lambda one: one.running(replace(one.algorithm, diameter=one.at["D"] * one.at[name] ** -power))


WRONG: Mapping[str, Mutant] = {"no localisation": instead(FirstPhase), "η times n^(-1/8)": instead(ShortSteps)}
SHORT_CALLS = "γ times n^(-1/4)"
STEEPER = Family.of(mirrored=True, steepness=geometric(1.0, 4.0, 3))
"""Wells of the growth constant of their class, and steeper ones."""


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
