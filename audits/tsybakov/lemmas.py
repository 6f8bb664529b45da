"""Instances beside those in `cases.py`, of Theorem 1 and of lemmas, and what checks do with them."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import scipy

from dpcheck.accounting import account
from dpcheck.algorithms.tsybakov import IteratedAccelerated, LocalisedClipped, PermutedAccelerated
from dpcheck.algorithms.tsybakov.accelerated import Batches
from dpcheck.algorithms.tsybakov.clipped import Answer, Project, Restricted, clipped_gradient
from dpcheck.algorithms.tsybakov.epochs import Epoch
from dpcheck.algorithms.tsybakov.localised import Phase
from dpcheck.checks import Context
from dpcheck.errors import InvalidInput
from dpcheck.geometry.norms import clip_norm
from dpcheck.harness import accuracy, risk, runtime, sensitivity
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import Family, Instance, Simulated, geometric
from dpcheck.harness.scaling.families import named
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.harness.search import BallRecords
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Algorithm, Array, Constants, Problem, Rng, Sample, Schedule, Workload
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Verdict, differs, holds, undecided
from dpcheck.workloads.linear import SparseDirection
from dpcheck.workloads.power_well import PowerWell, rare_spikes
from dpcheck.workloads.sheared import Sheared
from dpcheck.workloads.tilted_power import SparseTilt

from .cases import ANY, Well, _as, _projection, _slopes, instance, instead, known_well, localised, problem

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


def well(theta: float, order: float, *, chance: float = 0.25, d: int = 1, c: float = 0.5) -> PowerWell:
    """A power well on the unit ball with its minimum at c e_1, spikes of that chance and of moment 1."""
    e_1 = np.eye(d)[0]
    return PowerWell(
        c=c * e_1, v=e_1, theta=float(theta), size=rare_spikes(chance, order, 1.0), chance=chance, radius=1.0
    )


def within(
    context: Context,
    algorithm: PermutedAccelerated | LocalisedClipped,
    work: PowerWell,
    n: int,
    bound: float,
    variable: str = "n",
    asked: Problem | None = None,
) -> Verdict:
    """Mean excess risk, at epsilon = 1 unless `asked` says else, against a bound, which the start does not keep; over
    n, or that axis."""
    idle = float(work.excess_risk(np.zeros((1, len(work.c))))[0])
    if idle <= bound:
        return undecided(
            f"the start has an excess of {idle:.4g}, and the bound is {bound:.4g}: it shows nothing", "exact"
        )
    # Betting below the largest risk takes about log(1/failure probability) times its ratio to the bound.
    trials = min(60_000, max(context.scale(4000, 6000, 40_000), math.ceil(30 * work.worst / bound)))
    values = risk.excess_risks(
        algorithm, work, asked or problem(work, 1.0), n, trials, context.seed, context.label,
        context.name, dict(context.cell), gradients=ANY,
    )  # fmt: skip
    series = named({name: value for name, value in context.cell.items() if name != variable})
    return risk.expectation(
        values, bound, context.failure_probability, limit=work.worst, x=float(context.cell[variable]),
        variable=variable, series=series,
    )  # fmt: skip


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


BOWLS = Family.of(mirrored=True, curvature=geometric(0.5, 1 / 4, 24))
"""Wells of exponent 2 on the unit ball, of curvature 1/2, 1/8, …."""


def bowl(n: int, curvature: float, k: float, epsilon: float, d: int) -> Instance:
    """The same algorithm on a well of exponent 2."""
    return instance(localised(k), known_well(curvature, 2 * k, 1.0, d=d), n, k, epsilon)


STEEP = Family.of(mirrored=True, steepness=geometric(1.0, 4.0, 9))
"""The same, and far steeper ones."""
LITTLE = 2.0**-18
"""The growth constant of a class that holds these."""

SPARSE = Family.of(mirrored=True, p=geometric(1.0, 1 / 4, 30))
"""Linear losses with a share 1, 1/4, 1/16, … of spikes to one side, and half as much, spread evenly, to the other."""
SMOOTH = {2.0: 2.0**-3, 4.0: 2.0**-11}
"""k -> the smoothness that their class is told of, which no linear loss has; the number of steps follows it."""


RARE = 1e-100
"""Of the promise: the noise of the proof of Theorem 6 grows with log(n/delta), which hardly changes with n then."""


@dataclass(frozen=True)
class Sparse(SparseDirection):
    """z = a e_1 with probability p, else -a p e_1/2, of k-th moment 1: cut at a/2 or less its mean turns around.

    Known to be as smooth as its class.
    """

    @property
    def atoms(self) -> Array:
        rest = self.p / 2
        size = (self.p + (1 - self.p) * rest**self.k) ** (-1 / self.k)
        return size * np.array([[1.0], [-rest]]) * np.asarray(self.nu)

    @functools.cached_property
    def constants(self) -> Constants:
        return replace(super().constants, smoothness=lambda p: SMOOTH[self.k])


def sparse(
    algorithm: Algorithm[Any], n: int, p: float, k: float, epsilon: float, *, delta: float = RARE, d: int = 1
) -> Instance:
    """Algorithm 6 or 7 on such losses over the unit ball."""
    work = Sparse(nu=tuple(map(float, np.eye(d)[0])), D=2.0, k=k, G=1.0, p=p)
    return instance(replace(algorithm, k=k), work, n, k, epsilon, delta)  # type: ignore[call-arg]


def stepped(work: Sparse | Well, T: int, batch: int, epsilon: float) -> Instance:
    """T steps of Algorithm 6 that clip nothing; all that stands in the bound of the lemma on acceleration."""
    c, told = work.constants, problem(work, epsilon, RARE)
    chosen = PermutedAccelerated(k=2.0, calibration="plain", batches=T, level=2.0**10)
    row = chosen.plan(told, T * batch)
    at = {
        "T": float(T), "D": c.diameter(2.0), "H": c.smoothness(2.0), "b": 0.0, "d": float(c.d),
        "Sigma": math.sqrt(c.d * row.sigma**2 + c.moment(2.0, 1) ** 2 / row.b),
    }  # fmt: skip
    return Instance(chosen, work, told, T * batch, at)


def rounded(algorithm: Algorithm[Any], n: int, steepness: float, growth: float) -> Instance:
    """Algorithm 7 on a well of (2, growth)-TNC or more, in the range of Theorem 6 up to n = 2^92."""
    work = known_well(2 * growth * steepness, 2.0, 1.0)
    return instance(algorithm, work, n, 2.0, 2.0**-44, RARE, growth)


class WideLevel(PermutedAccelerated):
    """Clipped at a level too large by n^(1/8)."""

    power: ClassVar[float] = 1 / 8

    def plan(self, problem: Problem, n: int) -> Batches:
        found = super().plan(problem, n)
        wrong = replace(self, level=found.level * n**self.power)
        return found if self.level is not None else wrong.plan(problem, n)


class NarrowLevel(WideLevel):
    """Clipped at a level too small by n^(1/6), which the noise follows."""

    power = -1 / 6


class ShortProx(PermutedAccelerated):
    """Steps too small by T^(1/2)."""

    def plan(self, problem: Problem, n: int) -> Batches:
        found = super().plan(problem, n)
        return replace(found, gamma=found.gamma * math.sqrt(found.T))


class WideLevels(IteratedAccelerated):
    """Calls clipped at levels too large by that power of their records."""

    def call(self, radius: float | None) -> PermutedAccelerated:
        found: PermutedAccelerated = _as(WideLevel, super().call(radius))
        return found


# T/8 is not among them: on linear losses the noise over √T steps does not depend on T, only its acceleration does.
WRONG_LEVELS: Mapping[str, Mutant] = {
    "C times n^(1/8)": instead(WideLevel), "C times n^(-1/6)": instead(NarrowLevel)
}  # fmt: skip
SHORT_PROX = instead(ShortProx)
WRONG_LAST_LEVELS: Mapping[str, Mutant] = {"C times n^(1/8)": instead(WideLevels)}


def ends_of_batches(one: Instance, rng: Rng, trials: int) -> Array:
    """Where runs of Algorithms 6 and 7 end on sparse losses and on wells of exponent 2, whose records no level cuts.

    The mean of a batch is normal.
    """
    plan, placed = one.algorithm.schedule(one.problem, one.n).phases, one.algorithm.calibration == "placed"
    w = np.repeat(one.work.project(np.zeros((1, one.work.constants.d))), trials, axis=0)
    for phase in plan:
        row, records = (phase.inner.phases[0], phase.records) if isinstance(phase, Epoch) else (phase, one.n)
        work = Restricted(one.work, w, phase.radius) if isinstance(phase, Epoch) and one.algorithm.shrink else one.work
        w = _accelerated(one.work, row, w, rng, _projection(work, w), records if placed else None)
    return w


def _cut(work: Sparse, level: float) -> tuple[float, float]:
    """Mean and deviation of a record's clipped gradient along e_1."""
    along = np.clip(work.atoms[:, 0], -level, level)
    mean = float(work.probabilities @ along)
    return mean, math.sqrt(max(0.0, float(work.probabilities @ along**2) - mean**2))


def _sizes(T: int, n: int, trials: int, rng: Rng) -> Array:
    """Records of each batch over their mean n/(2T), of n that draw one of 2T places: nearly normal, (T, trials)."""
    left, found = np.ones(trials), np.empty((T, trials))
    for t in range(T):
        chance = 1 / (2 * T - t)
        taken = left * chance + np.sqrt(left * chance * (1 - chance) / n) * rng.standard_normal(trials)
        left, found[t] = left - taken, 2 * T * taken
    return found


def _accelerated(
    work: Sparse | Well, row: Batches, w: Array, rng: Rng, onto: Project, placed: int | None = None
) -> Array:
    """One run of Algorithm 6 with the weights 2/(t + 1), where that many records draw their places if it is said."""
    e_1, kept = np.eye(w.shape[1])[0], w
    sizes = np.ones((row.T, 1)) if placed is None else _sizes(row.T, placed, len(w), rng)
    mean, deviation = _cut(work, row.level) if isinstance(work, Sparse) else (0.0, _slopes(work)[1])
    for t in range(1, row.T + 1):
        a = 2 / (t + 1)
        middle = (1 - a) * kept + a * w
        slope = mean * e_1 if isinstance(work, Sparse) else work.weight * (middle - work.c)
        noise = row.sigma * rng.standard_normal(w.shape)
        noise[:, 0] += deviation * np.sqrt(sizes[t - 1] / row.b) * rng.standard_normal(len(w))
        w = onto(w - a * t * (t + 1) / (4 * row.gamma) * (sizes[t - 1, :, None] * slope + noise))
        kept = a * w + (1 - a) * kept
    return kept


BY_BATCHES = Simulated(ends_of_batches, 800)
BATCHES_IN_DIMENSIONS = Simulated(ends_of_batches, 720)
