"""What the audits of this paper share: workloads and instances, plans that are run, and how they are judged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy

from dpcheck.accounting import account
from dpcheck.algorithms.tsybakov import (
    IteratedLocalised,
    LocalisedClipped,
    PermutedAccelerated,
    StochasticApproximation,
)
from dpcheck.algorithms.tsybakov.clipped import Answer, Project, Restricted, clipped_gradient
from dpcheck.algorithms.tsybakov.epochs import Epoch
from dpcheck.algorithms.tsybakov.localised import Phase
from dpcheck.checks import Context
from dpcheck.claims import evaluate
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import order_of
from dpcheck.errors import InvalidInput
from dpcheck.geometry.norms import clip_norm
from dpcheck.harness import accuracy, risk, runtime, sensitivity
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.relations import judged
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling.families import named
from dpcheck.harness.search import BallRecords
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Algorithm, Array, Problem, Sample, Schedule, Workload
from dpcheck.privacy import ApproxDP
from dpcheck.statistics.binomial import clopper_pearson
from dpcheck.verdicts import Point, Verdict, differs, holds, undecided
from dpcheck.workloads.linear import TwoPoint
from dpcheck.workloads.power_well import PowerWell, rare_spikes
from dpcheck.workloads.sheared import Sheared
from dpcheck.workloads.tilted_power import SparseTilt

BECAUSE = "clipped gradients are again gradients of convex functions of curvature at most 1, so steps are non-expansive"
"""Why clipped descent moves no further than it claims, on losses whose clipped steps contract."""
PRIVACY = ApproxDP(1.0, 1e-5)
"""Promised wherever a violation is shown."""


def told(work: Any, privacy: ApproxDP = PRIVACY) -> Problem:
    """The problem of a workload."""
    return Problem.of(work, privacy)


def transcribed(found: Sequence[float] | Array, written: Sequence[float] | Array, what: str) -> Verdict:
    """Whether two things that dpcheck wrote down for one printed line are the same; says nothing of the paper."""
    alike = agree(found, written, what, tolerance=1e-12)
    return alike if alike.outcome == "holds" else differs(alike.reason, numbers=alike.numbers)


def everywhere(case: Case, n: int) -> int:
    """Chains that a search needs to start at both ends of every stretch of records, four kinds of pairs at each."""
    cuts = {cut for release in case.planned(n).releases for read in release.reads for cut in (read.start, read.stop)}
    return 8 * len({0, n} | cuts)


def atoms(sample: Sample) -> Sample:
    """The same records of one data set, each different one once, with its count."""
    if len(sample.values) > 1:
        return sample
    values, place = np.unique(sample.values[0], axis=0, return_inverse=True)
    return Sample(values[None], np.bincount(place.ravel(), weights=sample.weights[0])[None])


def settled(
    work: Sheared, sample: Sample, start: Array, *, steps: int, eta: float, level: float, weight: float
) -> Array:
    """Where clipped descent comes to rest, when its `steps` steps end within 1e-5 of 2 level/(n weight) from there.

    With all curvatures A = diag(1, a) or 0, A times a clipped gradient is the gradient of Huber's function of
    |A w + b|, or constant: the point of rest minimises a convex function, and steps contract by 1 - eta weight in the
    norm |A^(1/2) w|.

    Raises:
        InvalidInput: the steps might end elsewhere, or no point of rest was found.
    """
    if eta * (1 + 2 * weight) > 2:
        raise InvalidInput(f"steps of size {eta:g} with weight {weight:g} need not contract")
    n, A = float(sample.weights[0].sum()), np.array([1.0, work.a])
    share, records = sample.weights[0] / n, sample.values[0]
    size, shrunk = level / (n * weight), math.exp(steps * math.log1p(-eta * weight)) if eta * weight < 1 else 0.0
    ends = []
    for origin in np.unique(start, axis=0):

        def pull(w: Array, origin: Array = origin) -> Array:
            """The step over -eta weight."""
            return np.asarray(clipped_gradient(work, sample, w[None], level)[0] / weight + (w - origin))

        def potential(v: Array, origin: Array = origin) -> tuple[float, Array]:
            """Over weight, with its gradient, at w = origin + size A^(-1/2) v."""
            w = origin + size * v / np.sqrt(A)
            g = work.gradient(w[None], records)
            far = np.linalg.norm(g, axis=1)
            huber = np.where(far <= level, far**2 / 2, level * (far - level / 2))
            linear = (clip_norm(g, level) * A * (w - origin)).sum(axis=1)
            value = share @ np.where(records[:, 0] == 0, linear, huber) / weight + A @ (w - origin) ** 2 / 2
            return float(value / size**2), np.asarray(np.sqrt(A) * pull(w) / size)

        found = scipy.optimize.minimize(potential, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-10})
        rough = origin + size * found.x / np.sqrt(A)
        end = scipy.optimize.root(pull, rough, tol=1e-14).x
        left = float(np.linalg.norm(pull(end))) + shrunk * float(np.linalg.norm(origin - end))
        if left / math.sqrt(work.a) > 1e-5 * 2 * size:
            raise InvalidInput(f"{steps:,} steps may end {left / math.sqrt(work.a):.3g} away from {end}")
        ends.append(end)
    places = np.unique(start, axis=0, return_inverse=True)[1].ravel()
    return np.array(ends)[places]


LONG = 10**4
"""Phases with more steps are not walked through, but taken where they come to rest."""


@dataclass(frozen=True)
class Settling(LocalisedClipped):
    """Algorithm 3 on `Sheared` losses: its own plan, releases and steps, except that long phases are `settled`."""

    solver: Literal["descent", "limit"] = "limit"

    def descend(
        self, phase: Phase, workload: Workload, sample: Sample, start: Array, project: Project, answer: Answer | None
    ) -> Array:
        found = atoms(sample)
        if phase.steps <= LONG:
            walk = replace(self, solver="descent")
            return LocalisedClipped.descend(walk, phase, workload, found, start, project, answer)
        losses: Any = workload.workload if isinstance(workload, Restricted) else workload
        return settled(losses, found, start, steps=phase.steps, eta=phase.eta, level=phase.level, weight=phase.weight)


LINE = SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=2.0, reach=2.0)
PLANE = SparseTilt(v=np.array([0.6, 0.8]), size=2.0, chance=0.25, theta=2.0, reach=2.0)
QUARTIC = SparseTilt(v=np.array([0.6, 0.8]), size=2.0, chance=0.25, theta=4.0, reach=2.0)


def called(chosen: Any, asked: Problem, epoch: Epoch) -> tuple[Algorithm[Any], Problem, int]:
    """The algorithm that Algorithm 4, 5 or 7 calls in an epoch, with its problem and records."""
    return chosen.call(epoch.radius), asked, epoch.records


def accounted(plan: Schedule[Any], promise: ApproxDP, covers: str) -> Verdict:
    """delta at the promised epsilon, of the worst stretch of records under the claimed sensitivities."""
    spent = account(plan)
    found = accuracy.never_violated(
        spent.delta(promise.epsilon),
        promise.delta,
        statement="delta(epsilon) <= delta",
        covers=covers,
        evidence="certificate",
    )
    return replace(found, numbers={**found.numbers, "epsilon really spent": spent.epsilon(promise.delta)})


def searched(context: Context, algorithm: Algorithm[Any], n: int, because: str) -> Verdict:
    """Every release of an algorithm on isotropic quadratics, replayed over neighbours, against what it claims."""
    case = Case(algorithm, PLANE, told(PLANE))
    found = sensitivity.search(
        case, BallRecords(40.0, 2), n, chains=everywhere(case, n), steps=context.scale(2, 20), seed=context.seed
    )
    return sensitivity.judge(found, certificate=sensitivity.Certificate(1.0, because))


def counted(context: Context, algorithm: Algorithm[Any], work: Any, n: int, epsilon: float = 3.0) -> Verdict:
    found = runtime.count(algorithm, work, problem(work, epsilon), n, 1, context.seed, context.name, n)
    return runtime.verdict(found.gradients, found.claimed, x=n)


DELTA, BETA = 1e-12, 0.05
"""delta lies below every epsilon that is used here."""
ANY = 1e60
"""Records of these workloads are counts of three atoms: their number costs nothing."""


def well(theta: float, order: float, *, chance: float = 0.25, d: int = 1, c: float = 0.5) -> PowerWell:
    """A power well on the unit ball with its minimum at c e_1, spikes of that chance and of moment 1."""
    e_1 = np.eye(d)[0]
    return PowerWell(
        c=c * e_1, v=e_1, theta=float(theta), size=rare_spikes(chance, order, 1.0), chance=chance, radius=1.0
    )


def even_calls(j: int) -> int:
    """A size that Algorithm 4 splits into calls of 2^j records each, none left over."""
    return next(m << j for m in range(1, 64) if StochasticApproximation.epochs(m << j) == m)


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


def within(
    context: Context,
    algorithm: PermutedAccelerated | LocalisedClipped,
    work: PowerWell,
    n: int,
    bound: float,
    variable: str = "n",
) -> Verdict:
    """Mean excess risk at epsilon = 1 against a bound, which the start does not keep; over n, or that axis."""
    idle = float(work.excess_risk(np.zeros((1, len(work.c))))[0])
    if idle <= bound:
        return undecided(
            f"the start has an excess of {idle:.4g}, and the bound is {bound:.4g}: it shows nothing", "exact"
        )
    # Betting below the largest risk takes about log(1/failure probability) times its ratio to the bound.
    trials = min(60_000, max(context.scale(4000, 6000, 40_000), math.ceil(30 * work.worst / bound)))
    values = risk.excess_risks(
        algorithm, work, problem(work, 1.0), n, trials, context.seed, context.label,
        context.name, dict(context.cell), gradients=ANY,
    )  # fmt: skip
    series = named({name: value for name, value in context.cell.items() if name != variable})
    return risk.expectation(
        values, bound, context.failure_probability, limit=work.worst, x=float(context.cell[variable]),
        variable=variable, series=series,
    )  # fmt: skip


def exponents(label: str, power: float, *, tail: bool = True) -> Verdict:
    """Every local exponent of an O-form where one of its terms is alone, against those of the printed display.

    With epsilon tiny the private term is alone, with epsilon huge the statistical one, with tiny moments that of β;
    `power` is theta/(theta - 1); the display of Theorem 7 has no term of β, and so no `tail`.
    """
    said, found, wanted = claim(label), [], []
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
                found.append(said.local_exponent(name, at))
                wanted.append(printed[name])
    off = max(abs(a - b) for a, b in zip(found, wanted, strict=True))
    reason = f"{len(found)} local exponents of {said.title}, as printed and as written down: at most {off:.2g} apart"
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
    found = refuted_by(
        label, verifier, measured=left / 2, agreement=1e-9, numbers=numbers, points=points,
        axes=("n", "mean excess risk"), dashed="order, its constant set to 1", bars="of two standard errors",
        **parameters, p=1, epsilon=1, delta="1/100000",
    )  # fmt: skip
    return replace(found, severity=left / 2 / bound)


def throughout(found: tuple[float, float, float], what: str) -> Verdict:
    worst, tail, where = found
    numbers = {"largest delta over claim": worst, "tail bound over claim": tail, "worst delta": where}
    said = f"{what}: exact delta is at most {worst:.4g} of the claimed one (at delta = {where:.3g}), {tail:.3g} beyond"
    if max(worst, tail) <= 1:
        return holds(f"{said}; monotone in epsilon, and cell by cell in delta", "certificate", numbers=numbers)
    return undecided(f"{said}; the bound is not sharp enough", "certificate", numbers=numbers)


R_K = 2.0
"""Moment bound of the hard instances."""


def packing_size(dim: int) -> int:
    return math.ceil(2 ** (dim / 20))


def number(text: str) -> float:
    """A rational in words as a float."""
    top, _, bottom = text.partition("/")
    return int(top) / int(bottom or 1)


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
