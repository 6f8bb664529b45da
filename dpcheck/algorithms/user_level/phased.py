"""Algorithm 1: phased SGD with removal of outlier iterates and output perturbation, in linear time."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dpcheck.algorithms.user_level.concentration import certified_movement, neighbour_counts, outlier_removal
from dpcheck.algorithms.user_level.descent import movement, sgd
from dpcheck.algorithms.user_level.sizes import (
    BUDGETS,
    best_q,
    log_ratio,
    phase_count,
    phase_size,
    samples_of,
    single,
    smallest_users,
)
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Read, Release, Schedule, Workload
from dpcheck.laws import Gaussian, Laplace
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fresh, Run

PRINTED = {"c_groups": 100.0, "c_radius": 1000.0, "c_noise": 100.0, "c_score": 20.0}
"""The constants of Algorithm 1."""


@dataclass(frozen=True, kw_only=True)
class GroupedPhase:
    """Phase i: `groups` runs of SGD over `steps` samples of `members` users each, from the user `start` on.

    Attributes:
        tau: radius of the score; inclusions count within twice of it.
        test: scale of the Laplace noise on the score; sigma: deviation of the noise on the mean.
        moves: certified movement of the mean; failure: the chance that it fails.
    """

    i: int
    start: int
    groups: int
    members: int
    steps: int
    eta: float
    tau: float
    test: float
    sigma: float
    moves: float
    failure: float

    @property
    def users(self) -> int:
        return self.groups * self.members

    def releases(self) -> tuple[Release, Release]:
        """The score and the mean."""
        span = (self.start, self.start + self.users)
        scored = Read(start=span[0], stop=span[1], sensitivity=2 * (self.groups - 1) / self.groups)
        moved = Read(start=span[0], stop=span[1], sensitivity=self.moves, failure=self.failure)
        return (
            Release(name=f"phase {self.i}/score", law=Laplace(self.test), reads=(scored,)),
            Release(name=f"phase {self.i}/mean", law=Gaussian(self.sigma), reads=(moved,)),
        )


@dataclass(frozen=True)
class PhasedSGD(Algorithm[GroupedPhase]):
    """Algorithm 1. Dials below their printed values make no promise: not private.

    Attributes:
        p, q, eta: exponents and step size; None for Theorem B.1's p = log_n m + 3/2, eta = R/(L sqrt(d m n eps)), and
            the q that makes the last phase largest.
        c_groups, c_radius, c_noise, c_score: 100, 1000, 100 and 20 in print: of C, tau, sigma and the test's noise.
        c_step: of eta, 1 in print; it costs no privacy.
        groups: C itself in place of its formula; phases: their number in place of floor(log2 n).
        project: outputs onto the domain, which is free.
        order: "random" splits users and permutes samples of given data, "fixed" keeps their order.
    """

    p: float | None = None
    q: float | None = None
    eta: float | None = None
    c_groups: float = PRINTED["c_groups"]
    c_radius: float = PRINTED["c_radius"]
    c_noise: float = PRINTED["c_noise"]
    c_score: float = PRINTED["c_score"]
    c_step: float = 1.0
    groups: int | None = None
    phases: int | None = None
    project: bool = True
    order: Literal["random", "fixed"] = "random"

    label = "user_level/alg-1"
    budgets = BUDGETS
    readings: ClassVar = {
        "literal": {"project": False},
        "corrected": {},
        "dialled": {"c_groups": 0.5, "c_radius": 1.0, "c_noise": 0.01, "c_score": 0.05},
    }

    def __post_init__(self) -> None:
        for name in (*PRINTED, "p", "q", "eta", "c_step", "groups", "phases"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InvalidInput(f"{name} must be > 0, got {value!r}")
        if self.order not in ("random", "fixed"):
            raise InvalidInput(f"order must be 'random' or 'fixed', got {self.order!r}")

    # Plan

    def is_printed(self, problem: Problem, n: int) -> bool:
        """Whether no constant is below its printed value."""
        same = all(getattr(self, name) >= value for name, value in PRINTED.items())
        return same and self.group_count(problem, n) >= PhasedSGD().group_count(problem, n)

    def group_count(self, problem: Problem, n: int) -> int:
        """C, rounded up to an integer of at least 2."""
        if self.groups is not None:
            return self.groups
        epsilon, delta = self.privacy_budget(problem)
        logs = log_ratio(20 * n * samples_of(problem, self.label), epsilon, delta)
        return max(2, math.ceil(self.c_groups * logs / epsilon))

    def exponent(self, problem: Problem, n: int) -> float:
        """p."""
        m = samples_of(problem, self.label)
        return math.log(m) / math.log(n) + 1.5 if self.p is None else self.p

    def step(self, problem: Problem, n: int) -> float:
        """eta."""
        if self.eta is not None:
            return self.eta
        c, (epsilon, _) = problem.constants, self.privacy_budget(problem)
        users = n * samples_of(problem, self.label)
        return self.c_step * c.diameter(2.0) / (c.lipschitz(2.0) * math.sqrt(c.d * users * epsilon))

    def group_users(self, problem: Problem, n: int) -> list[float]:
        """N_i = n_i/C of each phase, before rounding."""
        q = best_q(n) if self.q is None else self.q
        count, groups = self.phases or phase_count(n), self.group_count(problem, n)
        return [phase_size(n, q, i) / groups for i in range(1, count + 1)]

    def feasible(self, problem: Problem, n: int) -> bool:
        """Whether every group of every phase has a user, and no step is longer than 1/beta."""
        return n >= 2 and self.group_users(problem, n)[-1] >= 1 and self._short(problem, n)

    def schedule(self, problem: Problem, n: int) -> Schedule[GroupedPhase]:
        epsilon, delta = self.privacy_budget(problem)
        c, m = problem.constants, samples_of(problem, self.label)
        if not self.feasible(problem, n):
            self._refuse(problem, n)
        phases = self._phases(problem, n)
        largest = max(phase.users for phase in phases) * m * c.d  # the same: the size of chunks
        return Schedule(
            phases=phases,
            releases=tuple(release for phase in phases for release in phase.releases()),
            gradients=sum(phase.groups * phase.steps for phase in phases),
            floats_per_trial=2 * largest + 6 * phases[0].groups * c.d + min(phases[0].groups ** 2, 2**22),
            claimed=ApproxDP(epsilon, delta) if self.is_printed(problem, n) else None,
            claimed_by=("user_level/thm-b1",),
        )

    def _first_step(self, problem: Problem, n: int) -> float:
        """eta_1, the longest."""
        return self.step(problem, n) * 2 ** -self.exponent(problem, n)

    def _short(self, problem: Problem, n: int) -> bool:
        return problem.constants.smoothness(2.0) * self._first_step(problem, n) <= 1

    def _refuse(self, problem: Problem, n: int) -> None:
        some = max(n, 2)
        steep = problem.constants.smoothness(2.0)  # the same: a word of the refusal alone
        users, groups = self.group_users(problem, some)[-1], self.group_count(problem, some)
        needs = f"eta_1 <= 1/beta, beta = {steep:.4g}, and at least one user per group in its last phase"
        got = f"{users:.3g} (C = {groups:,}) and eta_1 = {self._first_step(problem, some):.4g} at n = {n:,}"
        raise Infeasible(self.label, needs, got, smallest_users(lambda size: self.feasible(problem, size), n))

    def _phases(self, problem: Problem, n: int) -> tuple[GroupedPhase, ...]:
        epsilon, delta = self.privacy_budget(problem)
        c, m, groups = problem.constants, samples_of(problem, self.label), self.group_count(problem, n)
        L, p, step, start, rows = c.lipschitz(2.0), self.exponent(problem, n), self.step(problem, n), 0, []
        for i, size in enumerate(self.group_users(problem, n), 1):
            members, eta = math.floor(size), step * 2 ** (-p * i)
            T = members * m
            tau = self.c_radius * eta * L * math.sqrt(T) * math.log(n * c.d * m)
            moved = certified_movement(
                groups,
                diameter=4 * tau,
                reach=min(c.diameter(2.0), movement(eta, L, T)),
                **self._test(groups, self.c_score / epsilon, delta / 10),
                chance=delta / 10,
                doubled=True,
            )
            rows.append(
                GroupedPhase(
                    i=i,
                    start=start,
                    groups=groups,
                    members=members,
                    steps=T,
                    eta=eta,
                    tau=tau,
                    test=self.c_score / epsilon,
                    sigma=self.c_noise * tau * math.log(n / delta) ** 2 / (epsilon * groups),
                    moves=moved.sensitivity,
                    failure=moved.failure,
                )
            )
            start += groups * members
        return tuple(rows)

    @staticmethod
    def _test(groups: int, scale: float, allowed: float) -> dict[str, float]:
        """g, and the chance to pass the test with a score below (4/5 - g) C: the tail of the Laplace noise."""
        g = min(0.29, scale / groups * -math.log(2 * allowed))
        return {"shortfall": g, "passing": 0.5 * math.exp(-g * groups / scale)}

    # Run

    def execute(self, run: Run[GroupedPhase], workload: Workload, data: Data, start: Array) -> Array:
        """Halted trials return the start."""
        each = single(workload, self.label)
        first = x = np.array(np.broadcast_to(start, (run.trials, start.shape[-1])))
        for phase in run.schedule.phases:
            samples = self._split(run, data.part(phase.start, phase.start + phase.users), phase)
            points = sgd(each, samples, phase.eta, x)
            near, wide = neighbour_counts(points, (phase.tau, 2 * phase.tau))
            score = run.release(f"phase {phase.i}/score", near.mean(axis=1, keepdims=True))
            run.halt(score[:, 0] < 0.8 * phase.groups)
            uniforms = run.coins(lambda rng, shape=near.shape: rng.random(shape))  # type: ignore[misc]
            point = run.release(f"phase {phase.i}/mean", outlier_removal(points, wide, uniforms, x))
            point = workload.project(point) if self.project else point
            x = np.where(run.active[:, None], point, x)
        return np.where(run.active[:, None], x, first)

    def _split(self, run: Run[GroupedPhase], block: Data, phase: GroupedPhase) -> Array:
        """(trials or 1, C, T, *record): users in groups, samples in order; fresh i.i.d. records need no permutation."""
        given = self.order == "random" and not isinstance(block, Fresh)
        values = (run.shuffle(block) if given else block).read().values
        pooled = values.reshape(len(values), phase.groups, phase.steps, *values.shape[3:])
        if not given:
            return pooled
        order = run.coins(lambda rng: np.argsort(rng.random((run.trials, phase.groups, phase.steps)), axis=2))
        pooled = np.broadcast_to(pooled, (run.trials, *pooled.shape[1:]))
        return np.take_along_axis(pooled, order.reshape(*order.shape, *[1] * (pooled.ndim - 3)), axis=2)

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of `user_level/thm-b1@summed`."""
        rows, wide = self.schedule(problem, n).phases, problem.constants.diameter(2.0)
        return {
            "eta[i]": [row.eta for row in rows],
            "T[i]": [row.steps for row in rows],
            "sigma[i]": [row.sigma for row in rows],
            "C[i]": [row.groups for row in rows],
            "tau[i]": [row.tau for row in rows],
            "b[i]": [row.test for row in rows],
            "l": len(rows),
            "R": wide if self.project else math.inf,
        }
