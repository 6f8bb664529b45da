"""Remark 3.6: rounds of Algorithm 3 at shrinking distances, for strongly convex losses."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from dpcheck.algorithms.user_level.erm import PhasedERM
from dpcheck.algorithms.user_level.minibatch import Accelerated, Batches
from dpcheck.algorithms.user_level.sizes import BUDGETS, samples_of, smallest_users
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Schedule, Workload
from dpcheck.numerics import smallest_n
from dpcheck.running import Run


@dataclass(frozen=True, kw_only=True)
class Round:
    """Round i: Algorithm 3 on `users` fresh users from `start` on, told that the minimiser is `radius` away."""

    i: int
    start: int
    users: int
    radius: float
    inner: Schedule[Batches]


@dataclass(frozen=True)
class StronglyConvex(Algorithm[Round]):
    """The restarts of Feldman, Koren and Talwar 2020 (Section 5.1), reconstructed: the paper gives no pseudocode.

    k = ceil(log2 log2 n) rounds, round i on n_i = floor(2^(i-2) n/log2 n) users. With risk L D rho from distance D,
    strong convexity gives D_i^2 <= (2L/mu) rho_i D_{i-1}, where rho_i is the rate at n_i users.

    Attributes:
        mu: strong convexity of F; None for what the workload declares.
        inner: the convex algorithm.
    """

    mu: float | None = None
    inner: PhasedERM = field(default_factory=PhasedERM)

    label = "user_level/proc-strongly-convex-meta"
    budgets = BUDGETS
    readings: ClassVar = {"dialled": {"inner": PhasedERM(**Accelerated.readings["dialled"])}}

    def __post_init__(self) -> None:
        if self.mu is not None and not self.mu > 0:
            raise InvalidInput(f"mu must be > 0, got {self.mu!r}")

    def modulus(self, problem: Problem) -> float:
        """mu; a growth condition F - F* >= lambda |x - x*|^2 gives 2 lambda."""
        if self.mu is not None:
            return self.mu
        growth = problem.constants.growth
        if growth is None or growth[0] != 2:
            raise InvalidInput(f"{self.label} needs mu, or a growth condition with theta = 2 (--theta 2 --lambda)")
        return 2 * growth[1]

    @staticmethod
    def sizes(n: int) -> list[int]:
        """n_i of each round."""
        if n < 2:
            return []
        logs = math.log2(n)
        return [math.floor(2.0 ** (i - 2) * n / logs) for i in range(1, math.ceil(math.log2(logs)) + 1)]

    def rate(self, problem: Problem, users: int) -> float:
        """rho at this many users, without constants: what Theorem C.3 promises for L = R = 1."""
        epsilon, delta = self.privacy_budget(problem)
        m, d = samples_of(problem, self.label), problem.constants.d
        return 1 / math.sqrt(users * m) + math.sqrt(d * math.log(1 / delta)) / (epsilon * users * math.sqrt(m))

    def call(self, radius: float) -> PhasedERM:
        """Algorithm 3 told of this distance."""
        return replace(self.inner, distance=radius)

    def first_round(self, n: int) -> int:
        """n_1, the fewest users of a round; 0 where there is none."""
        return (self.sizes(n) or [0])[0]

    def feasible(self, problem: Problem, n: int) -> bool:
        """Whether the first round, the smallest, is."""
        return self.inner.feasible(problem, self.first_round(n))

    def schedule(self, problem: Problem, n: int) -> Schedule[Round]:
        self.privacy_budget(problem)
        samples_of(problem, self.label)
        mu, c = self.modulus(problem), problem.constants
        if not self.feasible(problem, n):
            first = self.first_round(n)
            least = smallest_users(lambda users: self.inner.feasible(problem, users), first)
            wanted = None if least is None else smallest_n(lambda size: self.first_round(size) >= least)
            got = f"a first round of {first:,} users at n = {n:,}"
            raise Infeasible(self.label, "a first round that is feasible for user_level/alg-3", got, wanted)
        rounds: list[Round] = []
        start, radius = 0, c.diameter(2.0)
        for i, users in enumerate(self.sizes(n), 1):
            inner = self.call(radius).schedule(problem, users)
            rounds.append(Round(i=i, start=start, users=users, radius=radius, inner=inner))
            radius = min(radius, math.sqrt(2 * c.lipschitz(2.0) / mu * self.rate(problem, users) * radius))
            start += users
        return Schedule(
            phases=tuple(rounds),
            releases=tuple(r for each in rounds for r in each.inner.placed(f"round {each.i}/", each.start)),
            gradients=sum(each.inner.gradients for each in rounds),
            floats_per_trial=max(each.inner.floats_per_trial for each in rounds),
            claimed=rounds[0].inner.claimed,
            claimed_by=rounds[0].inner.claimed_by,
        )

    def execute(self, run: Run[Round], workload: Workload, data: Data, start: Array) -> Array:
        """The last round's point, (trials, d); a halted trial returns where its round began."""
        x = start
        for each in run.schedule.phases:
            inner: Run[Any] = run.inside(f"round {each.i}/", each.inner)
            x = self.call(each.radius).execute(inner, workload, data.part(each.start, each.start + each.users), x)
        return x
