"""Seeded bugs in the algorithms of `tsybakov`, each found by the check that should find it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.accounting import account
from dpcheck.algorithms.tsybakov import (
    IteratedAccelerated,
    LocalisedClipped,
    MinibatchSGD,
    PermutedAccelerated,
    StochasticApproximation,
)
from dpcheck.algorithms.tsybakov.clipped import Restricted, clipped_descent, dykstra
from dpcheck.algorithms.tsybakov.hard_instances import plug_in, private_instance
from dpcheck.algorithms.tsybakov.localised import corrected
from dpcheck.checks import Context
from dpcheck.engine.statements import bound_of
from dpcheck.geometry import Ball, Box
from dpcheck.harness import losses, risk
from dpcheck.harness.replay import Case, Replay
from dpcheck.interfaces import Array, Problem, Sample, Schedule
from dpcheck.laws import Gaussian
from dpcheck.mutants import Kill, Mutant
from dpcheck.privacy import ApproxDP
from dpcheck.statistics.means import refute_mean
from dpcheck.workloads.tilted_power import SparseTilt

PRIVACY = ApproxDP(1.0, 1e-5)
PROMISE = "(1, 1e-5)-DP"
LINE = SparseTilt(v=np.ones(1), size=2.0, chance=0.25, theta=2.0, reach=2.0)
PLANE = SparseTilt(v=np.array([0.6, 0.8]), size=2.0, chance=0.25, theta=2.0, reach=2.0)


def problem(work: Any, privacy: ApproxDP = PRIVACY) -> Problem:
    return Problem.of(work, privacy)


def accounted(plan: Schedule[Any], by: str = "accountant") -> Kill:
    """Whether the worst stretch of records costs more than was promised, under the claimed sensitivities."""
    spent = account(plan)
    return Kill(
        killed=not spent.within(PRIVACY), by=by, samples=0, claim=PROMISE, exact_epsilon=spent.epsilon(PRIVACY.delta)
    )


def turned(n: int, place: int, d: int, far: float = 40.0) -> tuple[Array, Array]:
    """n records at 0 but one, which is far to either side: (1, n, d) twice."""
    data, other = np.zeros((1, n, d)), np.zeros((1, n, d))
    data[0, place, 0], other[0, place, 0] = far, -far
    return data, other


def moved(seen: Replay, claim: str) -> Kill:
    """Whether a release moves by more than it claims, or the returned point follows the data outside of all of them."""
    worst = max(float(ratio.max()) for ratio in seen.ratios().values())
    return Kill(killed=worst > 1 + 1e-6, by="replayed sensitivity", samples=2 * seen.trials, claim=claim)


# Algorithms 1 to 3 ----------------------------------------------------------------------------------------------------


class Unclipped(LocalisedClipped):
    """Averages the gradients as they are."""

    def descend(self, phase, workload, sample, start, project, answer):  # type: ignore[no-untyped-def]
        return super().descend(replace(phase, level=1e9), workload, sample, start, project, answer)


def no_clipping(context: Context) -> Kill:
    kind = Unclipped(first_exponent="corrected", step_caps="corrected", project=True)
    wide = SparseTilt(v=np.ones(1), size=200.0, chance=0.25, theta=2.0, reach=2.0)
    case = Case(kind, wide, problem(wide))
    return moved(case.replay(*turned(16, 0, 1, 1e4), 4), "phases move by 2C/(n lambda)")


def one_weight_too_many(context: Context) -> Kill:
    """sigma = 8C sqrt(log(1/delta))/(n^2 lambda epsilon)."""
    plan = corrected().schedule(problem(LINE), 256)
    records = {phase.name: phase.records for phase in plan.phases}
    for name, n in records.items():
        plan = plan.edit(name, law=lambda law, n=n: Gaussian(law.sigma / n))
    return accounted(plan)


class Overlapping(LocalisedClipped):
    """Every phase reads the records from the first one on."""

    def execute(self, run, workload, data, start):  # type: ignore[no-untyped-def]
        w = np.broadcast_to(start, (run.trials, start.shape[-1]))
        for phase in run.schedule.phases:
            sample = data.part(0, phase.records).read()
            w = workload.project(
                run.release(phase.name, self.descend(phase, workload, sample, w, workload.project, None))
            )
        return w


def overlapping_phases(context: Context, kind: type[LocalisedClipped] = Overlapping) -> Kill:
    algorithm = kind(first_exponent="corrected", step_caps="corrected", project=True)
    case = Case(algorithm, LINE, problem(LINE))
    return moved(case.replay(*turned(32, 0, 1), 4), "a record moves its own phase alone")


class FewSteps(LocalisedClipped):
    """Noise on every clipped mean, calibrated as if there were one step."""

    def phases(self, problem, n):  # type: ignore[no-untyped-def]
        return tuple(replace(ph, sigma=ph.sigma / math.sqrt(ph.steps)) for ph in super().phases(problem, n))


def noise_of_one_step(context: Context) -> Kill:
    kind = FewSteps(first_exponent="corrected", step_caps="corrected", project=True, noise="steps")
    return accounted(kind.schedule(problem(PLANE), 256))


@dataclass(frozen=True)
class Sheared:
    """Records (s, t, g): gradient s A w + t K u + g, A = diag(1, a): the losses on which clipped steps expand."""

    a: float
    K: float

    @property
    def u(self) -> Array:
        across = math.sqrt(self.a / (1 + self.a))
        return np.array([math.sqrt(1 - across**2), across])

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(z[..., :1] * w * np.array([1.0, self.a]) + z[..., 1:2] * self.K * self.u + z[..., 2:])

    def project(self, w: Array) -> Array:
        return w


def printed_noise_on_shearing_losses(context: Context) -> Kill:
    """One phase at lambda = 1/n, C = 1: sigma = 8 sqrt(log(1/delta))/epsilon, and the movement of T = 2n log(4n) steps.

    The noise and the loss are as Theorem 1 prints and allows them: the bug is the paper's own.
    """
    n = 1024
    work, weight, steps = Sheared(0.01, 3.0), 1 / n, math.ceil(2 * n * math.log(4 * n))
    counts = np.array([[(n - 2) / 2, (n - 2) / 2, 1.0, 1.0]])
    ends = []
    for sign in (1.0, -1.0):
        atoms = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, -1.0, 0.0, 0.0], [0.0] * 4, [0.0, 0.0, *(sign * work.u)]])
        sample = Sample(atoms[None], counts)
        ends.append(
            clipped_descent(work, sample, np.zeros((1, 2)), steps=steps, eta=1.0, level=1.0, weight=weight)  # type: ignore[arg-type]
        )
    law = Gaussian(8 * math.sqrt(math.log(1e5)))
    spent = losses.ComposedLoss(float(np.linalg.norm(ends[0] - ends[1])) / law.sigma, ())
    delta, epsilon = spent.delta(1.0)[0], spent.epsilon(1e-5)[0]
    return Kill(killed=delta > 1e-5, by="exact law", samples=0, claim=PROMISE, exact_epsilon=epsilon)


# Algorithm 4 and projections ------------------------------------------------------------------------------------------


class Bare(StochasticApproximation):
    """Calls start from the last iterate before its noise."""

    def execute(self, run, workload, data, start):  # type: ignore[no-untyped-def]
        w = np.broadcast_to(start, (run.trials, start.shape[-1]))
        for epoch in run.schedule.phases:
            block = data.part(epoch.start, epoch.start + epoch.records)
            self.call(epoch.radius).execute(
                run.inside(f"{epoch.name}/", epoch.inner), Restricted(workload, w, epoch.radius), block, w
            )
            w = workload.project(run.transcript.entries[-1].core)
        return w


def centre_without_noise(context: Context) -> Kill:
    algorithm = Bare(first_exponent="corrected", step_caps="corrected", project=True)
    case = Case(algorithm, LINE, problem(LINE))
    # The last record that is read, which one call and one phase read.
    last = algorithm.schedule(problem(LINE), 64).releases[-1].reads[0].start
    return moved(case.replay(*turned(64, last, 1), 4), "the output is a function of the releases")


def alternated(first: Any, second: Any, w: Array) -> Array:
    for _ in range(200):
        w = second(first(w))
    return w


def projection_slack(onto: Any) -> Kill:
    """Largest <w - p, q - p> over points q of both sets: 0 at the projection."""
    box, ball = Box([-0.5, -2.0], [1.0, 0.7]), Ball(2, 1.0, [0.4, 0.1])
    w = np.random.default_rng(0).normal(size=(40, 2)) * 3
    p = onto(box.project, ball.project, w)
    grid = np.stack(np.meshgrid(np.linspace(-0.5, 1, 80), np.linspace(-2, 0.7, 80)), axis=-1).reshape(-1, 2)
    inside = grid[np.linalg.norm(grid - [0.4, 0.1], axis=1) <= 1]
    slack = float(np.einsum("td,tqd->tq", w - p, inside[None] - p[:, None]).max())
    return Kill(killed=slack > 1e-6, by="variational inequality", samples=0, claim="<w - p, q - p> <= 0 on both sets")


# Algorithms 6 and 7, the baseline and the plug-in ---------------------------------------------------------------------


def noise_of_all_records(context: Context) -> Kill:
    """The batch of n/T records gets the noise of all n."""
    plan = PermutedAccelerated(calibration="plain", batches=16).schedule(problem(PLANE), 1024)
    return accounted(plan.edit("batch", law=lambda law: Gaussian(law.sigma / 16)))


class Again(PermutedAccelerated):
    """Every step reads the first batch of the permutation."""

    def execute(self, run, workload, data, start):  # type: ignore[no-untyped-def]
        (plan,) = run.schedule.phases

        class Stuck:
            def part(self, start: int, stop: int) -> Any:
                return shuffled.part(0, plan.b)

        class Whole:
            def part(self, start: int, stop: int) -> Any:
                return self

        shuffled = run.shuffle(data)
        inner, original = Whole(), run.shuffle
        run.shuffle = lambda _: Stuck()
        try:
            return super().execute(run, workload, inner, start)
        finally:
            run.shuffle = original


def transcript_cost(kind: type[PermutedAccelerated]) -> Kill:
    """The exact curve of all movements of a record together, in the order of the trial that moves most."""
    algorithm = kind(calibration="plain", batches=4)
    case = Case(algorithm, PLANE, problem(PLANE))
    seen = case.replay(*turned(16, 3, 2), 40)
    law = seen.movements[0].release.law
    far = np.sqrt(sum(movement.distance**2 for movement in seen.movements)).max()
    spent = losses.ComposedLoss(float(far) / law.sigma, ())  # type: ignore[attr-defined]
    delta = spent.delta(1.0)[0]
    return Kill(
        killed=delta > 1e-5 * (1 + 1e-9),
        by="exact law",
        samples=80,
        claim=PROMISE,
        exact_epsilon=spent.epsilon(1e-5)[0],
    )


class Shared(IteratedAccelerated):
    """Every part starts at the first record, as if they were nested."""

    def execute(self, run, workload, data, start):  # type: ignore[no-untyped-def]
        class Nested:
            def part(self, start: int, stop: int) -> Any:
                return data.part(0, stop - start)

        return super().execute(run, workload, Nested(), start)


def nested_parts(context: Context, kind: type[IteratedAccelerated] = Shared) -> Kill:
    algorithm = kind(theta_bar=2.0, **IteratedAccelerated.readings["corrected"])
    case = Case(algorithm, PLANE, problem(PLANE))
    return moved(case.replay(*turned(64, 0, 2), 4), "a record moves its own part alone")


def noise_with_the_rate_twice(context: Context) -> Kill:
    """The multiplier that subsampling already made small, times b/n once more."""
    plan = MinibatchSGD(T=8, b=64).schedule(problem(PLANE), 1024)
    return accounted(plan.edit("gradient", law=lambda law: Gaussian(law.sigma * 64 / 1024)))


def plug_in_of_added_records(context: Context) -> Kill:
    """Noise for the sensitivity C/n of adding a record, where replacing one moves the mean by 2C/n; read off at 0."""
    work = replace(private_instance(np.ones(4), 1.0, r_k=2.0, ball="corrected"), reach=1e6)
    n, level, rho = 40, 1.0, 0.5
    noisy = plug_in(work, np.zeros((50, 4)), n, level / 2, rho, np.random.default_rng(1))
    sigma = float((noisy / np.random.default_rng(1).standard_normal((50, 4))).mean())
    spent = Gaussian(sigma).zcdp(2 * level / n)
    return Kill(killed=spent > rho * (1 + 1e-9), by="exact law", samples=0, claim="0.5-zCDP")


def too_much_noise(context: Context) -> Kill:
    """Private, and worthless: the risk breaks the derived bound."""
    n, honest = 10**7, PermutedAccelerated(calibration="plain", batches=40)
    told = problem(PLANE)
    bound = bound_of("tsybakov/thm-6@derived", honest, told, n)
    loud = replace(honest, noise_dial=1e5)
    values = risk.excess_risks(loud, PLANE, told, n, 300, context.seed, context.name, gradients=1e18)
    against = refute_mean(values, bound, context.failure_probability)
    return Kill(
        killed=against.crossed is not None, by="risk", samples=len(values), claim=f"mean excess risk <= {bound:.3g}"
    )


MUTANTS: tuple[Mutant, ...] = (
    unclipped := Mutant(
        name="tsy-no-clipping", about="tsybakov/alg-1", kill=no_clipping,
        bug="Gradients are averaged without clipping.",
    ),
    twice_n := Mutant(
        name="tsy-noise-over-n-squared", about="tsybakov/alg-3", kill=one_weight_too_many,
        bug="The noise of a phase is divided by its number of records once more.",
    ),
    overlapping := Mutant(
        name="tsy-overlapping-phases", about="tsybakov/alg-3", kill=overlapping_phases,
        bug="Every phase reads the records from the first one on, so that a record enters all of them.",
    ),
    one_step := Mutant(
        name="tsy-noise-of-one-step", about="tsybakov/proc-lnc-gm-fixed", kill=noise_of_one_step,
        bug="Noise on every clipped mean forgets the number of steps.",
    ),
    shearing := Mutant(
        name="tsy-printed-noise-on-shearing-losses", about="tsybakov/alg-3", kill=printed_noise_on_shearing_losses,
        bug="The printed noise trusts that clipped descent moves by 2C/(n lambda) for every smooth convex loss.",
    ),
    bare := Mutant(
        name="tsy-centre-without-noise", about="tsybakov/alg-4", kill=centre_without_noise,
        bug="Calls start from, and the last one returns, the iterate before its noise.",
    ),
    alternation := Mutant(
        name="tsy-plain-alternation", about="tsybakov/proc-dykstra", kill=lambda context: projection_slack(alternated),
        bug="Projections alternate without Dykstra's corrections: a point of both sets, not the nearest one.",
    ),
    all_records := Mutant(
        name="tsy-batch-with-noise-of-all-records", about="tsybakov/alg-6", kill=noise_of_all_records,
        bug="A batch of n/T records gets the noise that the mean of all n would need.",
    ),
    again := Mutant(
        name="tsy-batch-read-again", about="tsybakov/alg-6", kill=lambda context: transcript_cost(Again),
        bug="Every step reads the first batch of the permutation.",
    ),
    nested := Mutant(
        name="tsy-nested-parts", about="tsybakov/alg-7", kill=nested_parts,
        bug="Every call starts at the first record.",
    ),
    rate_twice := Mutant(
        name="tsy-dpsgd-rate-twice", about="tsybakov/proc-dpsgd", kill=noise_with_the_rate_twice,
        bug="The sampling rate is taken off the noise of DP-SGD a second time.",
    ),
    added := Mutant(
        name="tsy-plug-in-add-remove", about="tsybakov/proc-zcdp-plugin", kill=plug_in_of_added_records,
        bug="The plug-in's noise is that for adding a record, while neighbours replace one.",
    ),
    loud := Mutant(
        name="tsy-over-noised", about="tsybakov/alg-6", kill=too_much_noise,
        bug="A hundred thousand times the noise: private, and useless.",
    ),
    disjoint := Mutant(
        name="tsy-disjoint-phases", about="tsybakov/alg-3", lookalike=True,
        kill=lambda context: overlapping_phases(context, LocalisedClipped),
        bug="None: the phases of Algorithm 3 on disjoint batches.",
    ),
    once := Mutant(
        name="tsy-batches-once", about="tsybakov/alg-6", lookalike=True,
        kill=lambda context: transcript_cost(PermutedAccelerated),
        bug="None: every batch of the permutation once.",
    ),
    corrections := Mutant(
        name="tsy-dykstra-corrections", about="tsybakov/proc-dykstra", lookalike=True,
        kill=lambda context: projection_slack(dykstra),
        bug="None: Dykstra's projections.",
    ),
)  # fmt: skip
