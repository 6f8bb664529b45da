"""Instances beside those in `cases.py`, of Theorem 1 and of lemmas, and what checks do with them."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpcheck.accounting import account
from dpcheck.algorithms.tsybakov import IteratedAccelerated, LocalisedClipped, PermutedAccelerated
from dpcheck.algorithms.tsybakov.accelerated import ClippedBatches
from dpcheck.algorithms.tsybakov.clipped import Project, Restricted, between_ends
from dpcheck.algorithms.tsybakov.epochs import Epoch
from dpcheck.checks import Context
from dpcheck.harness import accuracy, risk, runtime, sensitivity
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import Family, Instance, Simulated, geometric, one_by_one
from dpcheck.harness.scaling.families import named
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.harness.search import BallRecords
from dpcheck.interfaces import Algorithm, Array, Constants, Problem, Rng, Schedule
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Verdict, holds, undecided
from dpcheck.workloads.linear import SparseDirection
from dpcheck.workloads.power_well import KnownWell, PowerWell
from dpcheck.workloads.tilted_power import SparseTilt

from .cases import ANY, _as, _slopes, everywhere, instance, instead, known_well, problem, told

PLANE = SparseTilt(v=np.array([0.6, 0.8]), size=2.0, chance=0.25, theta=2.0, reach=2.0)
QUARTIC = SparseTilt(v=np.array([0.6, 0.8]), size=2.0, chance=0.25, theta=4.0, reach=2.0)


def called(chosen: Any, asked: Problem, epoch: Epoch) -> tuple[Algorithm[Any], Problem, int]:
    """The algorithm that Algorithm 4, 5 or 7 calls in an epoch, with its problem and records."""
    return chosen.call(epoch.radius), asked, epoch.records


def accounted(plan: Schedule[Any], promise: ApproxDP, covers: str) -> Verdict:
    """delta at the promised epsilon, of the worst stretch of records under the claimed sensitivities."""
    spent = account(plan)
    verdict = accuracy.never_violated(
        spent.delta(promise.epsilon),
        promise.delta,
        statement="delta(epsilon) <= delta",
        covers=covers,
        evidence="certificate",
    )
    return replace(verdict, numbers={**verdict.numbers, "epsilon really spent": spent.epsilon(promise.delta)})


def searched(context: Context, algorithm: Algorithm[Any], n: int, because: str) -> Verdict:
    """Every release of an algorithm on isotropic quadratics, replayed over neighbours, against what it claims."""
    case = Case(algorithm, PLANE, told(PLANE))
    search = sensitivity.search(
        case, BallRecords(40.0, 2), n, chains=everywhere(case, n), steps=context.scale(2, 20), seed=context.seed
    )
    return sensitivity.judge(search, certificate=sensitivity.Certificate(1.0, because))


def counted(context: Context, algorithm: Algorithm[Any], work: Any, n: int, epsilon: float = 3.0) -> Verdict:
    counts = runtime.count(algorithm, work, problem(work, epsilon), n, 1, context.seed, context.name, n)
    return runtime.verdict(counts.gradients, counts.claimed, x=n)


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


def throughout(parts: tuple[float, float, float], what: str) -> Verdict:
    worst, tail, where = parts
    numbers = {"largest delta over claim": worst, "tail bound over claim": tail, "worst delta": where}
    said = f"{what}: exact delta is at most {worst:.4g} of the claimed one (at delta = {where:.3g}), {tail:.3g} beyond"
    if max(worst, tail) <= 1:
        return holds(f"{said}; monotone in epsilon, and cell by cell in delta", "certificate", numbers=numbers)
    return undecided(f"{said}; the bound is not sharp enough", "certificate", numbers=numbers)


R_K = 2.0
"""Moment bound of the hard instances."""


def packing_size(dim: int) -> int:
    return math.ceil(2 ** (dim / 20))


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


def stepped(work: Sparse | KnownWell, T: int, batch: int, epsilon: float) -> Instance:
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

    def plan(self, problem: Problem, n: int) -> ClippedBatches:
        planned = super().plan(problem, n)
        wrong = replace(self, level=planned.level * n**self.power)
        return planned if self.level is not None else wrong.plan(problem, n)


class NarrowLevel(WideLevel):
    """Clipped at a level too small by n^(1/6), which the noise follows."""

    power = -1 / 6


class ShortProx(PermutedAccelerated):
    """Steps too small by T^(1/2)."""

    def plan(self, problem: Problem, n: int) -> ClippedBatches:
        planned = super().plan(problem, n)
        return replace(planned, gamma=planned.gamma * math.sqrt(planned.T))


class WideLevels(IteratedAccelerated):
    """Calls clipped at levels too large by that power of their records."""

    def call(self, radius: float | None) -> PermutedAccelerated:
        accelerated: PermutedAccelerated = _as(WideLevel, super().call(radius))
        return accelerated


# T/8 is not among them: on linear losses the noise over √T steps does not depend on T, only its acceleration does.
WRONG_LEVELS: Mapping[str, Mutant] = {
    "C times n^(1/8)": instead(WideLevel), "C times n^(-1/6)": instead(NarrowLevel)
}  # fmt: skip
SHORT_PROX = instead(ShortProx)
WRONG_LAST_LEVELS: Mapping[str, Mutant] = {"C times n^(1/8)": instead(WideLevels)}


@one_by_one
def ends_of_batches(one: Instance, rng: Rng, trials: int) -> Array:
    """Where runs of Algorithms 6 and 7 end on sparse losses and on wells of exponent 2, whose records no level cuts.

    The mean of a batch is normal.
    """
    plan, placed = one.algorithm.schedule(one.problem, one.n).phases, one.algorithm.calibration == "placed"
    w = np.repeat(one.work.project(np.zeros((1, one.work.constants.d))), trials, axis=0)
    for phase in plan:
        row, records = (phase.inner.phases[0], phase.records) if isinstance(phase, Epoch) else (phase, one.n)
        work = Restricted(one.work, w, phase.radius) if isinstance(phase, Epoch) and one.algorithm.shrink else one.work
        onto = between_ends(work.project, w, one.work.constants.diameter(2.0))
        w = _accelerated(one.work, row, w, rng, onto, records if placed else None)
    return w


def _cut(work: Sparse, level: float) -> tuple[float, float]:
    """Mean and deviation of a record's clipped gradient along e_1."""
    along = np.clip(work.atoms[:, 0], -level, level)
    mean = float(work.probabilities @ along)
    return mean, math.sqrt(max(0.0, float(work.probabilities @ along**2) - mean**2))


def _sizes(T: int, n: int, trials: int, rng: Rng) -> Array:
    """Records of each batch over their mean n/(2T), of n that draw one of 2T places: nearly normal, (T, trials)."""
    left, values = np.ones(trials), np.empty((T, trials))
    for t in range(T):
        chance = 1 / (2 * T - t)
        taken = left * chance + np.sqrt(left * chance * (1 - chance) / n) * rng.standard_normal(trials)
        left, values[t] = left - taken, 2 * T * taken
    return values


def _accelerated(
    work: Sparse | KnownWell, row: ClippedBatches, w: Array, rng: Rng, onto: Project, placed: int | None = None
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
BATCHES_IN_DIMENSIONS = Simulated(ends_of_batches, 720, rounds=1)
