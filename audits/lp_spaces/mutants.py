"""Seeded bugs in the algorithms of `lp_spaces`, each found by the check that should find it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.accounting import account
from dpcheck.algorithms.lp_spaces import (
    ApproximateObjectivePerturbation,
    BatchedMirrorDescent,
    EuclideanHeavyTails,
    ExactObjectivePerturbation,
    NoisyMirrorDescent,
    PhasedSGD,
    ShuffledMirrorDescent,
    StronglyConvexObjectivePerturbation,
)
from dpcheck.algorithms.lp_spaces.objective import exact_minimiser
from dpcheck.algorithms.lp_spaces.regular import generalised_gaussian
from dpcheck.checks import Context
from dpcheck.engine.statements import bound_of
from dpcheck.geometry import Ball, Interval
from dpcheck.geometry.norms import norm
from dpcheck.harness import risk
from dpcheck.harness.replay import Case
from dpcheck.interfaces import Array, Objective, Problem, Schedule, Solution, Workload
from dpcheck.laws import Gaussian, PerRecord
from dpcheck.mutants import Kill, Mutant
from dpcheck.privacy import ApproxDP
from dpcheck.solvers import Pushed
from dpcheck.statistics.means import refute_mean
from dpcheck.workloads import CoordinateHuber, HeavyCoordinates, LinearMean, QuadraticMean, signs_on

PRIVACY = ApproxDP(0.9, 1e-6)
LOCAL = ApproxDP(0.05, 1e-3)


def _problem(work: Any) -> Problem:
    return Problem.of(work, PRIVACY)


def _line() -> LinearMean:
    domain = Interval(-100.0, 100.0)
    return LinearMean(*signs_on(domain, 1.0, 0.0), domain, 100.0)


def _accountant(plan: Schedule[Any], claim: str, promise: ApproxDP = PRIVACY) -> Kill:
    found = account(plan)
    return Kill(
        killed=not found.within(promise), by="accountant", samples=0, claim=claim,
        exact_epsilon=found.epsilon(promise.delta),
    )  # fmt: skip


def _replay(case: Case, data: Array, neighbour: Array, claim: str) -> Kill:
    seen = case.replay(data, neighbour, 8)
    worst = max(float(r.max()) for r in seen.ratios().values())
    return Kill(killed=worst > 1 + 1e-6, by="replayed sensitivity", samples=16, claim=claim)


def _weak_first_noise(context: Context) -> Kill:
    """sigma_1 = 128 L^2 log(2.5/delta)/eps^2 was taken for the deviation's square of 8: a fifth of the noise."""
    work = _line()
    plan = ApproximateObjectivePerturbation(alpha_rule="exact").schedule(_problem(work), 1000)
    broken = plan.edit("objective", law=lambda law: replace(law, sigma=law.sigma / 16))
    return _accountant(broken, "(0.9, 1e-6)-DP of Algorithm 1")


def _weak_second_noise(context: Context) -> Kill:
    work = _line()
    plan = ApproximateObjectivePerturbation(lambda_=0.05, alpha=0.01).schedule(_problem(work), 1000)
    broken = plan.edit("minimiser", law=lambda law: Gaussian(law.sigma / 10))
    return _accountant(broken, "(0.9, 1e-6)-DP of Algorithm 1")


def _solved(objective: Objective) -> Solution:
    return Solution(exact_minimiser(objective), 0.0)  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Opposed:
    """An optimiser that errs by nine times its allowance, towards the side of the data's mean."""

    def __call__(self, objective: Objective) -> Solution:
        return Pushed(excess=9.0, base=_solved)(objective)


def _inaccurate_optimiser(context: Context) -> Kill:
    """Data of opposite means: the exact minimisers lie on both sides of 0, and so do the errors."""
    work = _line()
    algorithm = ApproximateObjectivePerturbation(lambda_=0.01, alpha=0.2, optimizer=_Opposed(), noise_dial=1e-9)
    data, neighbour = np.ones((1, 1, 1)), -np.ones((1, 1, 1))
    return _replay(Case(algorithm, work, _problem(work)), data, neighbour, "movement of the approximate minimiser")


def _printed_lambda(context: Context) -> Kill:
    domain = Interval(-10.0, 10.0)
    work = QuadraticMean(np.array([1.0]), np.array([0.0]), domain, 10.0, 1.0)
    steep = replace(work.constants, smoothness=lambda p: 1000.0)
    plan = StronglyConvexObjectivePerturbation(exact=True).schedule(Problem(constants=steep, privacy=PRIVACY), 1112)
    return _accountant(plan, "(0.9, 1e-6)-DP of Algorithm 2 on a wide interval")


def _per_step_budget(context: Context) -> Kill:
    """The noise forgets that the T steps share the budget."""
    work = CoordinateHuber(np.full(4, 0.3))
    plan = NoisyMirrorDescent(steps=64, exponent="corrected").schedule(_problem(work), 5000)
    broken = plan.edit("gradients", law=lambda law: generalised_gaussian(law.sigma / 8, 1.5, 4))
    return _accountant(broken, "(0.9, 1e-6)-DP of Algorithm 3")


class _Scaled(NoisyMirrorDescent):
    """Sums the gradients of the batch without dividing by n."""

    def execute(self, run: Any, workload: Workload, data: Any, start: Array) -> Array:
        class Louder:
            constants = workload.constants

            @staticmethod
            def gradient(w: Array, z: Array) -> Array:
                return 2 * workload.gradient(w, z)

        return super().execute(run, Louder, data, start)  # type: ignore[arg-type]


def _louder_gradients(context: Context) -> Kill:
    work = CoordinateHuber(np.full(2, 0.3))
    data = np.zeros((1, 20, 3))
    data[..., 0], data[0, 0, -1] = 1.0, -1e6
    neighbour = data.copy()
    neighbour[0, 0, -1] = 1e6
    case = Case(_Scaled(steps=3, exponent="corrected"), work, _problem(work))
    return _replay(case, data, neighbour, "2L/n in the dual norm")


class _Unclipped(BatchedMirrorDescent):
    """Keeps the gradients above the threshold."""

    def truncated(self, workload: Workload, w: Array, rows: Array, level: float) -> Array:
        return workload.gradient(w[:, None, :], rows)


class _Clipped(BatchedMirrorDescent):
    """Scales down instead of zeroing: as private, another bias."""

    def truncated(self, workload: Workload, w: Array, rows: Array, level: float) -> Array:
        gradient = workload.gradient(w[:, None, :], rows)
        length = norm(gradient, 3.0)[..., None]
        return np.asarray(gradient * np.minimum(1.0, level / np.maximum(length, 1e-300)))


def _truncation(kind: type[BatchedMirrorDescent], s: float = 1.5) -> Kill:
    work = HeavyCoordinates(np.full(3, 0.2), radius=1.0, s=s)
    data = np.zeros((1, 800, 3))
    neighbour = data.copy()
    data[0, 0, 0], neighbour[0, 0, 0] = 50.0, -50.0
    return _replay(Case(kind(), work, _problem(work)), data, neighbour, "2 (beta M + lambda)/b in the dual norm")


class _UnclippedEuclid(EuclideanHeavyTails):
    """Keeps the gradients above the threshold."""

    def truncated(self, workload: Workload, w: Array, rows: Array, level: float) -> Array:
        return workload.gradient(w[:, None, :], rows)


def _shuffled_plan() -> Schedule[Any]:
    work = HeavyCoordinates(np.full(3, 0.2), radius=1.0, s=1.5)
    told = Problem.of(work, LOCAL)
    return ShuffledMirrorDescent(steps=8, threshold=3.0, exponent="corrected", kappa_rule="safe").schedule(told, 4096)


def _noise_of_a_batch(context: Context) -> Kill:
    """The noise of one record is divided by sqrt(b), as if it were that of the mean of b."""
    plan = _shuffled_plan()
    broken = plan.edit("gradients", law=lambda law: PerRecord(replace(law.law, sigma=law.law.sigma / math.sqrt(512))))
    return _accountant(broken, "(0.05, 1e-3)-DP of Algorithm 4", LOCAL)


def _no_shuffle(context: Context) -> Kill:
    """Every record keeps its place, and its local budget is all the privacy it has."""
    plan = _shuffled_plan()
    broken = plan.edit("gradients", reads=lambda reads: tuple(replace(read, sampling=None) for read in reads))
    return _accountant(broken, "(0.05, 1e-3)-DP of Algorithm 4", LOCAL)


def _unregularised(context: Context) -> Kill:
    """lambda was halved after the noise was calibrated: the minimiser moves twice as far as the schedule says."""
    work = _line()
    data, neighbour = np.ones((1, 20, 1)), np.ones((1, 20, 1))
    neighbour[0, 0] = -1.0
    case = Case(_HalfLambda(lambda_=0.05), work, _problem(work))
    return _replay(case, data, neighbour, "2L/(n curvature)")


class _HalfLambda(ExactObjectivePerturbation):
    def execute(self, run: Any, workload: Any, data: Any, start: Array) -> Array:
        (row,) = run.schedule.phases
        weaker = replace(run.schedule, phases=(replace(row, lambda_=row.lambda_ / 2),))
        return super().execute(run.inside("", weaker), workload, data, start)


def _equal_steps(context: Context) -> Kill:
    """The noise of every phase is that of the last one."""
    work = CoordinateHuber(np.full(3, 0.3))
    plan = PhasedSGD().schedule(_problem(work), 256)
    last = plan.releases[-1].law
    return _accountant(plan.edit("phase *", law=last), "(0.9, 1e-6)-DP of phased SGD")


def _too_much_noise(context: Context) -> Kill:
    """Private, and worthless: the risk breaks the derived bound."""
    domain = Ball(20, 0.5)
    work = LinearMean(*signs_on(domain, 1.0, 0.5), domain, 0.5)
    n, honest, loud = 10**7, ApproximateObjectivePerturbation(alpha_rule="fixed"), 1e6
    bound = bound_of("lp_spaces/thm-2@derived", honest, _problem(work), n)
    noisy = replace(honest, noise_dial=loud)
    values = risk.excess_risks(noisy, work, _problem(work), n, 3000, context.seed, context.name, gradients=1e18)
    against = refute_mean(values, bound, context.failure_probability)
    return Kill(
        killed=against.crossed is not None, by="risk", samples=len(values),
        claim=f"mean excess risk <= {bound:.3g}", exact_epsilon=math.inf if not math.isfinite(bound) else None,
    )  # fmt: skip


weak_first_noise = Mutant(
    name="lp-objective-weak-noise", about="lp_spaces/alg-1", kill=_weak_first_noise,
    bug="The noise of the objective has a sixteenth of its deviation.",
)  # fmt: skip
weak_second_noise = Mutant(
    name="lp-minimiser-weak-noise", about="lp_spaces/alg-1", kill=_weak_second_noise,
    bug="The noise on the approximate minimiser has a tenth of its deviation.",
)  # fmt: skip
inaccurate_optimiser = Mutant(
    name="lp-inaccurate-optimiser", about="lp_spaces/proc-optimizer", kill=_inaccurate_optimiser,
    bug="The optimiser errs by nine times the accuracy that it certifies.",
)  # fmt: skip
printed_lambda = Mutant(
    name="lp-printed-lambda", about="lp_spaces/alg-2", kill=_printed_lambda,
    bug="Strong convexity in the norm of the set is used as a Euclidean one, as printed.",
)  # fmt: skip
per_step_budget = Mutant(
    name="lp-per-step-budget", about="lp_spaces/alg-3", kill=_per_step_budget,
    bug="The noise of a step spends the whole budget: sqrt(T) is missing.",
)  # fmt: skip
louder_gradients = Mutant(
    name="lp-doubled-gradients", about="lp_spaces/alg-3", kill=_louder_gradients,
    bug="Gradients are doubled before the release.",
)  # fmt: skip
untruncated = Mutant(
    name="lp-no-truncation", about="lp_spaces/proc-batched-md", kill=lambda context: _truncation(_Unclipped),
    bug="Gradients above the threshold are kept.",
)  # fmt: skip
clipped = Mutant(
    name="lp-clipping-for-zeroing", about="lp_spaces/proc-batched-md", lookalike=True,
    kill=lambda context: _truncation(_Clipped),
    bug="Gradients are scaled down to the threshold instead of set to zero: the sensitivity is the same.",
)  # fmt: skip
equal_steps = Mutant(
    name="lp-phases-last-noise", about="lp_spaces/proc-phased-sgd", kill=_equal_steps,
    bug="Every phase has the noise of the last one, whose step is the smallest.",
)  # fmt: skip
too_much_noise = Mutant(
    name="lp-over-noised", about="lp_spaces/alg-1", kill=_too_much_noise,
    bug="A million times the noise: private, and useless.",
)  # fmt: skip
noise_of_a_batch = Mutant(
    name="lp-shuffled-noise-of-a-batch", about="lp_spaces/alg-4", kill=_noise_of_a_batch,
    bug="The noise on one record is that of the mean of a batch: sqrt(b) times too small.",
)  # fmt: skip
no_shuffle = Mutant(
    name="lp-no-shuffle", about="lp_spaces/alg-4", kill=_no_shuffle,
    bug="The records are not shuffled, so that nothing amplifies their local budget.",
)  # fmt: skip
half_lambda = Mutant(
    name="lp-half-the-regulariser", about="lp_spaces/proc-exact-objpert", kill=_unregularised,
    bug="Half of the regulariser that the noise was calibrated to.",
)  # fmt: skip
euclidean_untruncated = Mutant(
    name="lp-euclid-no-truncation", about="lp_spaces/proc-heavy-euclid",
    kill=lambda context: _truncation(_UnclippedEuclid, 2.0),
    bug="Gradients above the threshold are kept, p >= 2.",
)  # fmt: skip
euclidean_truncated = Mutant(
    name="lp-euclid-truncation", about="lp_spaces/proc-heavy-euclid", lookalike=True,
    kill=lambda context: _truncation(EuclideanHeavyTails, 2.0),
    bug="None: the Euclidean reduction as it stands.",
)  # fmt: skip
