"""Algorithm 3: accelerated phased ERM, each phase Algorithm 2 on fresh users; and the exact minimiser it approaches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms.user_level.minibatch import Accelerated, Batches
from dpcheck.algorithms.user_level.sizes import best_q, phase_count, phase_size, samples_of, smallest_users
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import (
    Array,
    Data,
    Objective,
    Problem,
    Release,
    Sample,
    Schedule,
    Workload,
    procedure,
)
from dpcheck.running import Run
from dpcheck.solvers import certified


@dataclass(frozen=True)
class PhasedERM(Accelerated):
    """Algorithm 3, from the projection of the origin.

    Attributes:
        p, q: exponents; None for p = 3q + 5/2 + log_n sqrt m, and the q that makes the last phase largest.
        phases: their number in place of floor(log2 n).
    """

    p: float | None = None
    q: float | None = None
    phases: int | None = None

    label = "user_level/alg-3"
    readings: ClassVar = {**Accelerated.readings, "sampled": {"amplified": "steps", "threshold": "inside"}}

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("p", "q", "phases", "distance"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InvalidInput(f"{name} must be > 0, got {value!r}")

    # Plan

    def exponents(self, problem: Problem, n: int) -> tuple[float, float]:
        """(p, q)."""
        q = best_q(n) if self.q is None else self.q
        usual = 3 * q + 2.5 + math.log(samples_of(problem, self.label)) / (2 * math.log(n))
        return usual if self.p is None else self.p, q

    def sizes(self, problem: Problem, n: int) -> list[float]:
        """n_i of each phase, before rounding."""
        _, q = self.exponents(problem, n)
        return [phase_size(n, q, i) for i in range(1, (self.phases or phase_count(n)) + 1)]

    def feasible(self, problem: Problem, n: int) -> bool:
        """Whether every phase has the users that its privacy proof asks for; of Theorem C.1's the last one decides."""
        if n < 2 or self.amplified == "means":
            return n >= 2 and self.sizes(problem, n)[-1] >= self.enough(problem, n)
        phases = [(users, self.per_step(problem, users, steps)) for users, steps in self.lengths(problem, n)]
        return all(users >= max(2.0, self.dial("c_users") * each.enough()) for users, each in phases)

    def lengths(self, problem: Problem, n: int) -> list[tuple[int, int]]:
        """(users, steps) of each phase."""
        p, _ = self.exponents(problem, n)
        weight, sizes = self.base_weight(problem, n), self.sizes(problem, n)
        return [
            (math.floor(size), self.step_count(problem, n, weight * 2 ** (p * i))) for i, size in enumerate(sizes, 1)
        ]

    def schedule(self, problem: Problem, n: int) -> Schedule[Batches]:
        if not self.feasible(problem, n):
            least = smallest_users(lambda size: self.feasible(problem, size), n)
            needs = f"at least {self.c_users:g} log(20 n m d e^eps/delta)/eps users in its last phase"
            if self.amplified == "steps":
                needs = "at least 320/3 sqrt(T_i log(2/delta)) log(8 T_i/delta)/eps users in each phase"
            raise Infeasible(self.label, needs, f"n = {n:,}", least)
        rows = self.rows(problem, n)
        return self.scheduled(problem, rows, tuple(release for row in rows for release in _named(row)))

    def rows(self, problem: Problem, n: int) -> tuple[Batches, ...]:
        """One for each phase."""
        p, _ = self.exponents(problem, n)
        weight, sizes = self.base_weight(problem, n), self.sizes(problem, n)
        first = self.step_count(problem, n, weight * 2**p)
        tau, start, rows = self.tau(problem, n, first, len(sizes)), 0, []
        for i, size in enumerate(sizes, 1):
            users = math.floor(size)
            rows.append(self.row(problem, n, i=i, start=start, users=users, weight=weight * 2 ** (p * i), tau=tau))
            start += users
        return tuple(rows)

    # Run

    def execute(self, run: Run[Batches], workload: Workload, data: Data, start: Array) -> Array:
        """The last phase's iterate, (trials, d); halted trials return the start."""
        first = x = np.array(np.broadcast_to(start, (run.trials, start.shape[-1])))
        for row in run.schedule.phases:
            inner = run.inside(f"phase {row.i}/", run.schedule)
            x = self.descend(inner, row, workload, data.part(row.start, row.start + row.users), x)
        return np.where(run.active[:, None], x, first)

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of `user_level/thm-c3@summed`."""
        rows = self.schedule(problem, n).phases
        return {
            "R": self.radius(problem),
            "lambda[i]": [row.weight for row in rows],
            "n[i]": [row.users for row in rows],
            "Delta[i]": [row.left for row in rows],
            "T[i]": [row.steps for row in rows],
            "K[i]": [row.batch for row in rows],
            "tau[i]": [row.tau for row in rows],
            "b[i]": [row.test for row in rows],
            "l": len(rows),
        }


def _named(row: Batches) -> tuple[Release, ...]:
    return tuple(replace(release, name=f"phase {row.i}/{release.name}") for release in row.releases())


@procedure("user_level/proc-rerm")
def regularised_erm(workload: Workload, sample: Sample, centre: Array, weight: float, *, accuracy: float) -> Array:
    """argmin over the domain of the mean loss + weight/2 |x - centre|^2: (trials, d).

    Raises:
        InvalidInput: the certified gap exceeds `accuracy` times L times the diameter.
    """
    task = Objective(workload=workload, sample=sample, weight=weight, centre=centre)
    solution = certified(task)
    allowed = accuracy * workload.constants.lipschitz(2.0) * workload.constants.diameter(2.0)
    if not solution.gap <= allowed:
        raise InvalidInput(f"the minimiser is certified to {solution.gap:.3g} only, {allowed:.3g} is asked for")
    trials = max(len(sample.values), len(sample.weights), len(centre))
    return np.broadcast_to(solution.point, (trials, workload.constants.d))
