"""Truncated mirror descent for heavy tails: Algorithm 4 (shuffled), its batched form, and the Euclidean reduction."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpcheck.accounting import shuffle_epsilon
from dpcheck.algorithms.lp_spaces.regular import (
    BUDGETS,
    ExponentRule,
    KappaRule,
    check_p,
    dual_regularity,
    generalised_gaussian,
    kappa,
    local_budget,
    mirror_map,
)
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.geometry import LpBall
from dpcheck.geometry.norms import dual_exponent, norm
from dpcheck.interfaces import (
    Algorithm,
    Array,
    Data,
    Problem,
    Read,
    Release,
    Sample,
    Sampling,
    Schedule,
    Workload,
)
from dpcheck.laws import PerRecord
from dpcheck.numerics import next_feasible
from dpcheck.privacy import ApproxDP
from dpcheck.running import Run
from dpcheck.workloads import Placed


@dataclass(frozen=True, kw_only=True)
class Truncation:
    """The one row of the plan.

    Attributes:
        steps: T batches of `batch` records; the last records beyond T batch are not used.
        level: threshold beta M + lambda on the dual norm of a gradient.
        gamma: inverse step size.
        sigma: scale of the generalised Gaussian noise.
        radius: of the domain {|w|_s <= radius}.
    """

    steps: int
    batch: int
    level: float
    gamma: float
    sigma: float
    radius: float


@dataclass(frozen=True)
class TruncatedMirrorDescent(Algorithm[Truncation]):
    """One pass of mirror descent on {|w|_s <= radius}; gradients above the threshold are set to zero, not scaled down.

    Attributes:
        p: exponent of the norm, 1 < p < 2 (2 for the Euclidean reduction).
        steps, threshold: T and lambda; None for the paper's parameters.
        exponent: of the mirror map; the printed one exceeds 2 for p > 3/2, where Phi is not strongly convex.
        kappa_rule: which constant calibrates the noise.
        zero: the printed truncation; False keeps every gradient, which is not private.
        noise_dial: multiplies the noise; anything but 1 is not private.
    """

    p: float = 1.5
    steps: int | None = None
    threshold: float | None = None
    exponent: ExponentRule = "paper"
    kappa_rule: KappaRule = "paper"
    zero: bool = True
    noise_dial: float = 1.0

    budgets = BUDGETS
    euclidean: ClassVar[bool] = False

    @abc.abstractmethod
    def parameters(self, problem: Problem, n: int) -> tuple[float, float]:
        """T before rounding, and lambda."""

    @abc.abstractmethod
    def releases(self, problem: Problem, n: int, row: Truncation) -> tuple[Release, ...]:
        """What leaves the batches; `row.sigma` is set already."""

    @abc.abstractmethod
    def sigma(self, problem: Problem, n: int, steps: int, level: float) -> float:
        """Scale of the noise."""

    def exponent_of_domain(self, d: int) -> float:
        """s, the exponent of the mirror map and of the ball that is the domain."""
        return mirror_map(self.p, d, self.exponent).p

    def schedule(self, problem: Problem, n: int) -> Schedule[Truncation]:
        check_p(self.p, self.label, euclidean=self.euclidean)
        epsilon, delta = self.privacy_budget(problem)
        constants = problem.constants
        H, M = constants.smoothness(self.p), constants.diameter(self.p)
        if not (math.isfinite(H) and math.isfinite(M) and M > 0):
            raise InvalidInput(f"{self.label} needs smooth losses on a bounded domain, got H = {H!r}, M = {M!r}")
        T, lambda_ = self._length(problem, n)
        gamma = math.sqrt(max(T, 0))
        if not self._legal(problem, n):
            needed = f"1 <= T <= n batches, sqrt(T) >= 2 beta = {2 * H:.4g} and lambda >= beta M = {H * M:.4g}"
            got = f"T = {T}, sqrt(T) = {gamma:.4g} and lambda = {lambda_:.4g} at n = {n}"
            raise Infeasible(self.label, needed, got, next_feasible(lambda m: self._fits(problem, m), n))
        level = H * M + lambda_
        row = Truncation(
            steps=T,
            batch=n // T,
            level=level,
            gamma=gamma,
            sigma=self.noise_dial * self.sigma(problem, T * (n // T), T, level),
            radius=constants.diameter(self.exponent_of_domain(constants.d)) / 2,
        )
        private = self.noise_dial == 1 and self.zero
        # The sensitivities are those of truncated gradients, whether these are truncated or not.
        rests_on = () if self.zero else ("lp_spaces/alg-4",)
        return Schedule(
            phases=(row,),
            releases=tuple(replace(release, rests_on=rests_on) for release in self.releases(problem, n, row)),
            gradients=T * row.batch,
            floats_per_trial=2 * (n if not self._independent else row.batch) * (constants.d + 1),
            claimed=ApproxDP(epsilon, delta) if private else None,
        )

    _independent: ClassVar[bool] = True  # the same: of memory alone

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of the settings: smoothness and diameter in the norm, and the kappa that calibrates the noise."""
        c = problem.constants
        return {"H": c.smoothness(self.p), "D": c.diameter(self.p), "kappa": kappa(self.p, c.d, self.kappa_rule)}

    def _length(self, problem: Problem, n: int) -> tuple[int, float]:
        """T and lambda, as they are run."""
        length, lambda_ = self.parameters(problem, n)
        return (round(length) if self.steps is None else self.steps), lambda_

    def _fits(self, problem: Problem, n: int) -> bool:
        """Whether it can be run with n records."""
        return self._legal(problem, n)

    def _legal(self, problem: Problem, n: int) -> bool:
        T, lambda_ = self._length(problem, n)
        H, M = problem.constants.smoothness(self.p), problem.constants.diameter(self.p)
        return 1 <= T <= n and math.sqrt(T) >= 2 * H and lambda_ >= H * M

    def truncated(self, workload: Workload, w: Array, rows: Array, level: float) -> Array:
        """Gradients of a batch, those above the level replaced by zero: (trials, b, d)."""
        gradient = workload.gradient(w[:, None, :], rows)
        gradient = np.broadcast_to(gradient, (max(len(w), len(rows)), rows.shape[1], w.shape[1]))
        if not self.zero:
            return gradient
        return np.where((norm(gradient, dual_exponent(self.p)) <= level)[..., None], gradient, 0.0)

    def descend(self, run: Run[Truncation], workload: Workload, data: Data, start: Array) -> Array:
        """The loop that both forms share: `answer` gives the noisy mean gradient of batch t."""
        (row,) = run.schedule.phases
        d = workload.constants.d
        mirror = mirror_map(self.p, d, self.exponent)
        _check_domain(workload, mirror.p, self.label)
        w = np.broadcast_to(start, (run.trials, d))
        average = np.zeros_like(w)
        for t in range(row.steps):
            sample = data.part(t * row.batch, (t + 1) * row.batch).read()
            noisy = self.answer(run, t, sample, self.truncated(workload, w, sample.values, row.level))
            w = mirror.step(w, noisy, 1 / row.gamma, row.radius)
            average = average + (w - average) / (t + 1)
        return average

    @abc.abstractmethod
    def answer(self, run: Run[Truncation], t: int, sample: Sample, gradients: Array) -> Array:
        """Noisy mean of the gradients (trials, b, d) of a sample: (trials, d)."""


def _check_domain(workload: Workload, s: float, label: str) -> None:
    if not isinstance(workload, Placed):
        return
    domain = workload.domain
    if not (isinstance(domain, LpBall) and math.isclose(domain.p, s) and not np.any(domain.centre)):
        raise InvalidInput(
            f"{label} has a closed-form step on l_s balls around 0 with s = {s:g}, the exponent of its mirror map; got "
            f"{domain!r}"
        )


@dataclass(frozen=True)
class ShuffledMirrorDescent(TruncatedMirrorDescent):
    """Algorithm 4: one noise vector for every gradient, amplified by shuffling; for small epsilon only."""

    label = "lp_spaces/alg-4"
    readings: ClassVar = {
        "corrected": {"exponent": "corrected", "kappa_rule": "safe"},
        "dialled": {"noise_dial": 0.01},
    }
    _independent: ClassVar[bool] = False  # the same: of memory alone

    def parameters(self, problem: Problem, n: int) -> tuple[float, float]:
        epsilon, delta = self.privacy_budget(problem)
        d, M = problem.constants.d, problem.constants.diameter(self.p)
        regular = kappa(self.p, d, self.kappa_rule)
        root = math.sqrt(d * math.log(1 / delta))
        lambda_ = self.threshold
        if lambda_ is None:
            lambda_ = math.sqrt(n * epsilon / (regular * root))
        return (M * n * epsilon / (lambda_ * root)) ** 2, lambda_

    def _fits(self, problem: Problem, n: int) -> bool:
        epsilon, delta = self.privacy_budget(problem)
        if not self._legal(problem, n):
            return False
        T, _ = self._length(problem, n)
        return shuffle_epsilon(1.0, T * (n // T), delta / 2) >= epsilon

    def sigma(self, problem: Problem, n: int, steps: int, level: float) -> float:
        epsilon, delta = self.privacy_budget(problem)
        local = local_budget(epsilon, delta, n)
        if local is None:
            limit = shuffle_epsilon(1.0, n, delta / 2)
            needs = f"epsilon <= {limit:.4g} at n = {n}, delta = {delta:g} (its range is O(sqrt(log(n/delta)/n)))"
            raise Infeasible(self.label, needs, f"{epsilon:g}", advice="use lp_spaces/proc-batched-md")
        regular = kappa(self.p, problem.constants.d, self.kappa_rule)
        return math.sqrt(8 * regular * math.log(1 / local.delta)) * level / local.epsilon

    def releases(self, problem: Problem, n: int, row: Truncation) -> tuple[Release, ...]:
        law = PerRecord(generalised_gaussian(row.sigma, self.p, problem.constants.d))
        read = Read(
            start=0,
            stop=row.steps * row.batch,
            sensitivity=2 * row.level,
            sampling=Sampling("shuffled", row.batch),
        )
        return (Release(name="gradients", law=law, reads=(read,), norm=dual_exponent(self.p), count=row.steps),)

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Those of all settings, lambda, and the budget of one record."""
        T, lambda_ = self._length(problem, n)
        local = local_budget(*self.privacy_budget(problem), T * (n // T)) if self._legal(problem, n) else None
        spent = {"epsilon_0": local.epsilon, "delta_0": local.delta} if local else {}
        return {**super().terms(problem, n), "A": lambda_, **spent}

    def execute(self, run: Run[Truncation], workload: Workload, data: Data, start: Array) -> Array:
        (row,) = run.schedule.phases
        return self.descend(run, workload, run.shuffle(data.part(0, row.steps * row.batch)), start)

    def answer(self, run: Run[Truncation], t: int, sample: Sample, gradients: Array) -> Array:
        return np.asarray(run.release("gradients", gradients).mean(axis=1))


@dataclass(frozen=True)
class BatchedMirrorDescent(TruncatedMirrorDescent):
    """Disjoint batches without shuffling, one noise vector a batch: every epsilon < 1."""

    exponent: ExponentRule = "corrected"
    kappa_rule: KappaRule = "safe"

    label = "lp_spaces/proc-batched-md"
    readings: ClassVar = {"dialled": {"noise_dial": 0.01}, "untruncated": {"zero": False}}

    def parameters(self, problem: Problem, n: int) -> tuple[float, float]:
        epsilon, delta = self.privacy_budget(problem)
        d = problem.constants.d
        regular = kappa(self.p, d, self.kappa_rule)
        T = (regular**2 * n**2 * epsilon**2 / (4 * d * math.log(1 / delta))) ** (1 / 3)
        steps = T if self.steps is None else self.steps
        return T, self.threshold if self.threshold is not None else math.sqrt(steps) / regular

    def sigma(self, problem: Problem, n: int, steps: int, level: float) -> float:
        epsilon, delta = self.privacy_budget(problem)
        regular = kappa(self.p, problem.constants.d, self.kappa_rule)
        return math.sqrt(2 * regular * math.log(1 / delta)) * (2 * level * steps / n) / epsilon

    def releases(self, problem: Problem, n: int, row: Truncation) -> tuple[Release, ...]:
        law, moved = generalised_gaussian(row.sigma, self.p, problem.constants.d), 2 * row.level / row.batch
        return tuple(
            Release(
                name=f"batch {t}",
                law=law,
                reads=(Read(start=t * row.batch, stop=(t + 1) * row.batch, sensitivity=moved),),
                norm=dual_exponent(self.p),
            )
            for t in range(row.steps)
        )

    def execute(self, run: Run[Truncation], workload: Workload, data: Data, start: Array) -> Array:
        return self.descend(run, workload, data, start)

    def answer(self, run: Run[Truncation], t: int, sample: Sample, gradients: Array) -> Array:
        return run.release(f"batch {t}", sample.mean(gradients))

    wants: ClassVar = {
        "deviation": "sigma of Assumption 4",
        "minimiser_norm": "norm |w*|_s of the minimiser, in the norm of the mirror map",
    }

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of `lp_spaces/thm-10@derived`, which is for the corrected map."""
        if self.exponent != "corrected":
            return super().terms(problem, n)
        (row,) = self.schedule(problem, n).phases
        c, extra = problem.constants, problem.constants.extra
        H, D, regular = c.smoothness(self.p), c.diameter(self.p), dual_regularity(self.p, c.d).kappa
        stretch = mirror_map(self.p, c.d, self.exponent).scale / regular
        return {
            "H": H,
            "D": D,
            "A": row.level - H * D,
            "T": row.steps,
            "b": row.batch,
            "C": c.d * row.sigma**2,
            "kappa": regular,
            "sigma": extra.get("deviation", math.nan),
            "theta": extra.get("minimiser_norm", math.nan) * math.sqrt(stretch),  # the same: stretch is 1 here
        }


@dataclass(frozen=True)
class EuclideanHeavyTails(BatchedMirrorDescent):
    """Heavy tails in l_p, p >= 2: the Euclidean algorithm; sigma and beta carry over, M grows by d^(1/2-1/p)."""

    p: float = 2.0

    label = "lp_spaces/proc-heavy-euclid"
    euclidean: ClassVar[bool] = True
