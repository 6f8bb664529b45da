"""Algorithm 2: accelerated minibatch SGD on users, with a threshold test and removal of outlier gradients."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpcheck.algorithms.user_level.accelerated import AcsaStage, multistage_ac_sa, stages
from dpcheck.algorithms.user_level.concentration import (
    CertifiedMovement,
    certified_movement,
    neighbour_counts,
    outlier_removal,
    weighted_mean,
    weighted_movement,
)
from dpcheck.algorithms.user_level.sampled import SCORE, SHARE, SampledSteps, TestedMean
from dpcheck.algorithms.user_level.sizes import BUDGETS, log_ratio, samples_of, smallest_users
from dpcheck.algorithms.user_level.threshold import RedrawnThreshold
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Read, Release, Sampling, Schedule, Workload
from dpcheck.laws import AboveThreshold, Gaussian
from dpcheck.privacy import ApproxDP
from dpcheck.running import Run

PRINTED = {"c_batch": 500.0, "c_users": 100.0, "c_noise": 1000.0, "c_radius": 1.0, "c_score": 8.0}
"""The constants of Algorithms 2 and 3."""


@dataclass(frozen=True, kw_only=True)
class Batches:
    """`steps` steps on `batch` of the users from `start` on, regularised by `weight` around where they begin.

    Attributes:
        tau: users within 2 tau count as near; test: scale of the noise on the threshold, twice it on a score.
        sigma: deviation of the noise on a mean gradient.
        moves: certified movement of that mean; failure: the chance that some step fails it.
        gap, variance, smooth: Delta_0, V^2 and B of multi-stage AC-SA.
        shift: radius of the smoothing; 0 for none.
    """

    i: int
    start: int
    users: int
    batch: int
    steps: int
    weight: float
    tau: float
    test: float
    sigma: float
    moves: float
    failure: float
    gap: float
    variance: float
    smooth: float
    shift: float = 0.0
    sampling: Literal["without-replacement", "with-replacement"] = "without-replacement"
    threshold: Literal["once", "inside"] = "once"
    amplified: Literal["means", "steps"] = "means"

    @property
    def unit(self) -> float:
        """What 1 of the score counts beside the mean where a step releases both."""
        return SHARE * self.moves / SCORE

    @property
    def whole(self) -> bool:
        """All users at every step: nothing is sampled."""
        return self.batch == self.users and self.sampling == "without-replacement"

    def stages(self) -> tuple[tuple[AcsaStage, ...], int]:
        """The stages of AC-SA, and how many halvings they prove."""
        return stages(self.steps, gap=self.gap, variance=self.variance, mu=self.weight, smooth=self.smooth)

    @property
    def left(self) -> float:
        """What the stages prove is left of the gap; inf where not even the first one fits."""
        _, halvings = self.stages()
        return self.gap * 2.0**-halvings if halvings else math.inf

    def releases(self) -> tuple[Release, ...]:
        """The bits of the test and the mean gradients, on the same hidden sample; or both in one, a step."""
        hidden = None if self.whole else Sampling(self.sampling, self.batch)
        span, kind = (self.start, self.start + self.users), AboveThreshold
        if self.amplified == "steps":
            law: TestedMean = TestedMean(RedrawnThreshold(self.test, 2 * self.test), self.sigma, self.unit)
            norm = self.moves * math.hypot(1.0, SHARE)
            both = Read(start=span[0], stop=span[1], sensitivity=norm, sampling=hidden, failure=self.failure)
            return (Release(name="step", law=law, reads=(both,), count=self.steps),)
        if self.threshold == "inside":
            kind = RedrawnThreshold
        scored = Read(start=span[0], stop=span[1], sensitivity=2.0, sampling=hidden)
        moved = Read(start=span[0], stop=span[1], sensitivity=self.moves, sampling=hidden, failure=self.failure)
        test = kind(threshold=self.test, query=2 * self.test)
        return (
            Release(name="bit", law=test, reads=(scored,), count=self.steps),
            Release(name="gradient", law=Gaussian(self.sigma), reads=(moved,), count=self.steps),
        )


@dataclass(frozen=True)
class Accelerated(Algorithm[Batches], abc.ABC):
    """What Algorithms 2 and 3 share. Dials below their printed values make no promise: not private.

    Attributes:
        c_batch, c_users, c_noise, c_radius, c_score: 500 and 100 in print (of K_i and of the users that a phase needs),
            1000, 1, 8 (of sigma, of tau, of the threshold's noise; a score has twice as much).
        sampling: K_i users at a time "without-replacement", as Lemma A.8 wants it, or "with-replacement".
        threshold: its noise is drawn "once" a phase, or "inside" the loop as the line stands.
        amplified: by the sampling: "means", given the bits, as the proof has it, which proves nothing of a phase that
            is truly sampled; or "steps", bit and mean of a step together: K_i (even), test and sigma are those of
            `SampledSteps`, to which dials are then relative, each step has a threshold of its own, and users who may
            lie apart have weights where a coin would keep them.
        c_steps: of T_i, 1 in print; it costs no privacy, since sigma grows with sqrt T_i.
        distance: R; None for the diameter of the domain.
    """

    c_batch: float = PRINTED["c_batch"]
    c_users: float = PRINTED["c_users"]
    c_noise: float = PRINTED["c_noise"]
    c_radius: float = PRINTED["c_radius"]
    c_score: float = PRINTED["c_score"]
    c_steps: float = 1.0
    sampling: Literal["without-replacement", "with-replacement"] = "without-replacement"
    threshold: Literal["once", "inside"] = "once"
    amplified: Literal["means", "steps"] = "means"
    distance: float | None = None

    budgets = BUDGETS
    readings: ClassVar = {
        "literal": {"threshold": "inside"},
        "replacement": {"sampling": "with-replacement"},
        "corrected": {"threshold": "once", "sampling": "without-replacement"},
        "dialled": {"c_batch": 0.1, "c_users": 0.2, "c_noise": 0.01, "c_score": 0.02},
    }

    def __post_init__(self) -> None:
        for name in (*PRINTED, "c_steps"):
            if not getattr(self, name) > 0:
                raise InvalidInput(f"{name} must be > 0, got {getattr(self, name)!r}")
        if self.sampling not in ("without-replacement", "with-replacement"):
            raise InvalidInput(f"sampling must be with or without replacement, got {self.sampling!r}")
        if self.threshold not in ("once", "inside"):
            raise InvalidInput(f"threshold must be 'once' or 'inside', got {self.threshold!r}")
        if self.amplified not in ("means", "steps"):
            raise InvalidInput(f"amplified must be 'means' or 'steps', got {self.amplified!r}")
        if self.amplified == "steps" and (self.threshold, self.sampling) != ("inside", "without-replacement"):
            raise InvalidInput("steps are amplified with a threshold each and without replacement")

    @property
    def dialled(self) -> bool:
        """Whether some constant is below its printed value."""
        return any(getattr(self, name) < value for name, value in PRINTED.items())

    # Plan

    @property
    def claimed_by(self) -> tuple[str, ...]:
        """The theorem, and what is false of the lines that this reading takes literally."""
        if self.amplified == "steps":
            return ("user_level/thm-3-1@sampled",)
        inside = ("user_level/alg-2@literal",) if self.threshold == "inside" else ()
        doubled = ("user_level/alg-2@replacement",) if self.sampling == "with-replacement" else ()
        return ("user_level/thm-3-1", *inside, *doubled)

    def radius(self, problem: Problem) -> float:
        """R."""
        return problem.constants.diameter(2.0) if self.distance is None else self.distance

    def smoothness(self, problem: Problem, n: int) -> float:
        """beta of the losses that are optimised."""
        return problem.constants.smoothness(2.0)

    def base_weight(self, problem: Problem, n: int) -> float:
        """lambda = (L/R)(1/sqrt(nm) + sqrt(d)/(eps n sqrt m)) of Theorem C.3."""
        epsilon, _ = self.privacy_budget(problem)
        c, m = problem.constants, samples_of(problem, self.label)
        sizes = 1 / math.sqrt(n * m) + math.sqrt(c.d) / (epsilon * n * math.sqrt(m))
        return c.lipschitz(2.0) / self.radius(problem) * sizes

    def step_count(self, problem: Problem, n: int, weight: float) -> int:
        """T = (1 + sqrt(beta/lambda_i)) log(ndm), rounded up."""
        log = math.log(n * problem.constants.d * samples_of(problem, self.label))
        return max(1, math.ceil(self.c_steps * (1 + math.sqrt(self.smoothness(problem, n) / weight)) * log))

    def tau(self, problem: Problem, n: int, steps: int, phases: int) -> float:
        """L log(ndm)/sqrt m, or the radius that holds all users with probability 1 - 1/(nm), whichever is larger."""
        c, m = problem.constants, samples_of(problem, self.label)
        sure = 2 * math.sqrt(2 * math.log(2 * n * phases * steps * n * m))
        return self.c_radius * c.lipschitz(2.0) * max(math.log(n * c.d * m), sure) / math.sqrt(m)

    def batch(self, problem: Problem, users: int, steps: int, n: int) -> int:
        """K_i, at least n_i/T_i (the optimiser's hypothesis) and at most n_i."""
        epsilon, delta = self.privacy_budget(problem)
        if self.amplified == "steps":
            least = self.dial("c_batch") * self.per_step(problem, users, steps).least()
            return 2 * min(users // 2, math.ceil(max(least, users / steps) / 2))
        m = samples_of(problem, self.label)
        logs = log_ratio(float(users) ** 2 * m**2, epsilon, delta)
        wanted = self.c_batch * logs * (1 / epsilon + users * epsilon / math.sqrt(steps * math.log(1 / delta)))
        return min(users, max(math.ceil(wanted), math.ceil(users / steps)))

    def dial(self, name: str) -> float:
        """A constant over its printed value."""
        return float(getattr(self, name)) / PRINTED[name]

    def per_step(self, problem: Problem, users: int, steps: int) -> SampledSteps:
        """What the steps of a phase may spend where they are amplified."""
        epsilon, delta = self.privacy_budget(problem)
        return SampledSteps(users=users, steps=steps, epsilon=epsilon, delta=delta)

    def enough(self, problem: Problem, n: int) -> float:
        """Users that every phase needs: 100 log(20 n m d e^eps/delta)/eps."""
        epsilon, delta = self.privacy_budget(problem)
        logs = log_ratio(20 * n * samples_of(problem, self.label) * problem.constants.d, epsilon, delta)
        return max(2.0, self.c_users * logs / epsilon)

    def row(self, problem: Problem, n: int, *, i: int, start: int, users: int, weight: float, tau: float) -> Batches:
        """A phase of `users` users out of n."""
        epsilon, delta = self.privacy_budget(problem)
        c = problem.constants
        L, T = c.lipschitz(2.0), self.step_count(problem, n, weight)
        K = self.batch(problem, users, T, n)
        if self.amplified == "steps":
            each = self.per_step(problem, users, T)
            test, sigma = self.dial("c_score") * 2 / each.budget(K), self.dial("c_noise") * each.sigma(K, tau)
            chance, counted = each.missed(K), T * K / users
        else:
            test, chance, counted = self.c_score / epsilon, delta / (10 * T), T
            sigma = self.c_noise * tau * math.sqrt(T) * log_ratio(n * c.d, epsilon, delta) / (epsilon * users)
        moved = self.movement(K, tau=tau, reach=2 * L, test=test, chance=chance)
        distinct = self.sampling == "without-replacement"
        share = (users - K) / max(1, users - 1) if distinct else 1.0
        return Batches(
            i=i,
            start=start,
            users=users,
            batch=K,
            steps=T,
            weight=weight,
            tau=tau,
            test=test,
            sigma=sigma,
            moves=moved.sensitivity,
            failure=min(1.0, counted * moved.failure),
            gap=min(L * c.diameter(2.0), L**2 / (2 * weight)),
            variance=c.d * sigma**2 + min(tau**2 * share, L**2) / K,
            smooth=self.smoothness(problem, n) + weight,
            sampling=self.sampling,
            threshold=self.threshold,
            amplified=self.amplified,
        )

    def movement(self, batch: int, *, tau: float, reach: float, test: float, chance: float) -> CertifiedMovement:
        """Of the mean of a minibatch; each event that may undo it has about that chance.

        A step passes with a score below (4/5 - g)K only if Lap(2 test) - Lap(test) > gK.
        """
        wide = 2 * test
        g = min(0.29, wide / batch * -math.log(3 * chance / 2))
        passing = (4 * math.exp(-g * batch / wide) - math.exp(-2 * g * batch / wide)) / 6
        if self.amplified == "steps":
            return CertifiedMovement(weighted_movement(batch, diameter=4 * tau, reach=reach, shortfall=g), passing)
        return certified_movement(
            batch, diameter=4 * tau, reach=reach, shortfall=g, passing=passing, chance=chance, doubled=False
        )

    def scheduled(
        self, problem: Problem, rows: tuple[Batches, ...], releases: tuple[Release, ...]
    ) -> Schedule[Batches]:
        """The schedule of these phases."""
        c, m = problem.constants, samples_of(problem, self.label)
        largest = max(row.users + 3 * row.batch for row in rows) * m * c.d  # the same: the size of chunks
        near = max(min(row.batch**2, 2**22) for row in rows)  # the same: the size of chunks
        promise, covered = problem.privacy, True
        if self.amplified == "steps":
            covered = all(self.per_step(problem, row.users, row.steps).covered for row in rows)
        return Schedule(
            phases=rows,
            releases=releases,
            gradients=sum(row.steps * row.batch for row in rows) * m,
            floats_per_trial=largest + near,
            claimed=None if self.dialled or not isinstance(promise, ApproxDP) or not covered else promise,
            claimed_by=self.claimed_by,
        )

    # Run

    def gradients(self, run: Run[Batches], row: Batches, workload: Workload, point: Array, users: Array) -> Array:
        """q(Z) of each user at one point a trial: (trials, d), (trials or 1, K, m, *record) -> (trials, K, d)."""
        return workload.gradient(point[:, None], users)

    def descend(self, run: Run[Batches], row: Batches, workload: Workload, data: Data, centre: Array) -> Array:
        """Algorithm 2 from `centre`, (trials, d); where the test fails the trial halts."""
        block = data.read()
        kept = self._coin(run, row) if row.threshold == "once" else None

        def oracle(point: Array) -> Array:
            coin = self._coin(run, row) if kept is None else kept
            together = row.amplified == "steps"
            users = block if row.whole else run.subsample("step" if together else "gradient", block)
            q = np.broadcast_to(
                self.gradients(run, row, workload, point, users.values), (run.trials, row.batch, point.shape[1])
            )
            (near,) = neighbour_counts(q, (2 * row.tau,))
            margin = near.mean(axis=1, keepdims=True) - 0.8 * row.batch - coin
            nowhere = np.zeros_like(point)
            if together:
                core = np.concatenate([row.unit * margin, weighted_mean(q, near, nowhere)], axis=1)
                out = run.release("step", core)
                run.halt(out[:, 0] == 0)
                g = out[:, 1:]
            else:
                run.halt(run.release("bit", margin)[:, 0] == 0)
                uniforms = run.coins(lambda rng: rng.random(near.shape))
                g = run.release("gradient", outlier_removal(q, near, uniforms, nowhere))
            return np.where(run.active[:, None], g, 0.0) + row.weight * (point - centre)

        plan, _ = row.stages()
        return multistage_ac_sa(oracle, centre, mu=row.weight, stages=plan, project=workload.project)

    @staticmethod
    def _coin(run: Run[Batches], row: Batches) -> Array:
        return run.coins(lambda rng: rng.laplace(scale=row.test, size=(run.trials, 1)))


@dataclass(frozen=True)
class MinibatchSGD(Accelerated):
    """Algorithm 2 by itself, on all n users, regularised around the start.

    Attributes:
        weight: lambda_i; None for lambda of Theorem C.3.
        steps, K: T_i and K_i in place of their formulas; tau_: tau in place of its own.
    """

    weight: float | None = None
    steps: int | None = None
    K: int | None = None
    tau_: float | None = None

    label = "user_level/alg-2"
    subroutine: ClassVar[bool] = True

    def step_count(self, problem: Problem, n: int, weight: float) -> int:
        return super().step_count(problem, n, weight) if self.steps is None else self.steps

    def batch(self, problem: Problem, users: int, steps: int, n: int) -> int:
        return super().batch(problem, users, steps, n) if self.K is None else min(self.K, users)

    @property
    def dialled(self) -> bool:
        return super().dialled or self.K is not None or self.tau_ is not None

    def schedule(self, problem: Problem, n: int) -> Schedule[Batches]:
        if n < 2 or n < self.enough(problem, n):
            least = smallest_users(lambda size: size >= self.enough(problem, size), n)
            needs = f"at least {self.c_users:g} log(20 n m d e^eps/delta)/eps users"
            raise Infeasible(self.label, needs, f"n = {n:,}, {self.enough(problem, max(n, 2)):,.0f} needed", least)
        weight = self.base_weight(problem, n) if self.weight is None else self.weight
        steps = self.step_count(problem, n, weight)
        tau = self.tau(problem, n, steps, 1) if self.tau_ is None else self.tau_
        row = self.row(problem, n, i=1, start=0, users=n, weight=weight, tau=tau)
        return self.scheduled(problem, (row,), row.releases())

    def execute(self, run: Run[Batches], workload: Workload, data: Data, start: Array) -> Array:
        """The last iterate, (trials, d); halted trials return the start."""
        (row,) = run.schedule.phases
        centre = np.array(np.broadcast_to(start, (run.trials, start.shape[-1])))
        values = self.descend(run, row, workload, data, centre)
        return np.where(run.active[:, None], values, centre)
