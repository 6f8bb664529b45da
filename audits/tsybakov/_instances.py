"""What the audits of this paper share: witnesses, and the losses on which clipped descent is not stable."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import optimize

from dpcheck.algorithms.clipping import clip_norm
from dpcheck.algorithms.tsybakov import LocalisedClipped
from dpcheck.algorithms.tsybakov.clipped import Answer, Project, clipped_descent, clipped_gradient
from dpcheck.algorithms.tsybakov.localised import Phase
from dpcheck.errors import InvalidInput
from dpcheck.harness.replay import Case
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Sample, Schedule, Workload
from dpcheck.privacy import ApproxDP
from dpcheck.running import Run
from dpcheck.verdicts import Verdict, differs
from dpcheck.workloads.sheared import Sheared

PRIVACY = ApproxDP(1.0, 1e-5)
"""Promised wherever a violation is shown."""


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

        found = optimize.minimize(potential, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-10})
        rough = origin + size * found.x / np.sqrt(A)
        end = optimize.root(pull, rough, tol=1e-14).x
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
        losses: Any = getattr(workload, "workload", workload)
        return settled(losses, found, start, steps=phase.steps, eta=phase.eta, level=phase.level, weight=phase.weight)


@dataclass(frozen=True)
class OnePhase(Algorithm[Phase]):
    """One phase of Algorithm 3 by itself, which its proof says is (epsilon, delta)-DP from whatever start.

    Attributes:
        parent: Algorithm 3; the phase is its `place`-th at `total` records.
    """

    parent: LocalisedClipped
    total: int
    place: int

    label = "tsybakov/alg-3"

    def schedule(self, problem: Problem, n: int) -> Schedule[Phase]:
        whole = self.parent.schedule(problem, self.total)
        phase = whole.phases[self.place]
        if phase.records != n:
            raise InvalidInput(f"phase {self.place + 1} of {self.total} records reads {phase.records}, not {n}")
        release = whole.releases[self.place]
        (read,) = release.reads
        moved = Schedule(
            phases=(phase,),
            releases=(release,),
            gradients=phase.records * phase.steps,
            floats_per_trial=whole.floats_per_trial,
            claimed=whole.claimed,
        )
        return moved.edit(release.name, reads=(replace(read, start=0, stop=n),))

    def execute(self, run: Run[Phase], workload: Workload, data: Data, start: Array) -> Array:
        (phase,) = run.schedule.phases
        w = np.broadcast_to(start, (run.trials, start.shape[-1]))
        core = self.parent.descend(phase, workload, data.read(), w, workload.project, None)
        return run.release(phase.name, core)


def everywhere(case: Case, n: int) -> int:
    """Chains that a search needs to start at both ends of every stretch of records, four kinds of pairs at each."""
    cuts = {cut for release in case.planned(n).releases for read in release.reads for cut in (read.start, read.stop)}
    return 8 * len({0, n} | cuts)


def unit_level(n: int, d: int, privacy: ApproxDP, records: int) -> float:
    """The moment (k = 2) at which the clip level of a phase with that many of n records is 1."""
    return (privacy.epsilon * records / math.sqrt(d * math.log(1 / privacy.delta) * math.log(n))) ** -0.5


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


def transcribed(found: Sequence[float] | Array, written: Sequence[float] | Array, what: str) -> Verdict:
    """Whether two things that dpcheck wrote down for one printed line are the same; says nothing of the paper."""
    alike = agree(found, written, what, tolerance=1e-12)
    return alike if alike.outcome == "holds" else differs(alike.reason, numbers=alike.numbers)


def told(work: Any, privacy: ApproxDP = PRIVACY) -> Problem:
    """The problem of a workload."""
    return Problem(constants=work.constants, privacy=privacy)


def walked(work: Sheared, rows: Array, *, steps: int, eta: float, weight: float) -> Array:
    """Algorithm 2 from 0 at clip level 1, step by step: (1, 2)."""
    sample = atoms(Sample(rows[None], np.ones((1, len(rows)))))
    return clipped_descent(work, sample, np.zeros((1, 2)), steps=steps, eta=eta, level=1.0, weight=weight)
