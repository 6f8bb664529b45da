"""The baseline of footnote 3: an item-level private algorithm at eps/m, made user-level by group privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms.user_level.descent import sgd
from dpcheck.algorithms.user_level.sizes import BUDGETS, phase_count, samples_of, single
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Read, Release, Schedule, Workload
from dpcheck.laws import Gaussian
from dpcheck.privacy import ApproxDP
from dpcheck.running import Run


@dataclass(frozen=True, kw_only=True)
class GroupPass:
    """Phase i: one pass of SGD over the samples of `users` users from `start` on, and noise on its average."""

    i: int
    start: int
    users: int
    steps: int
    eta: float
    sigma: float
    moves: float

    def release(self) -> Release:
        """The noisy average; a user replaces m of its samples."""
        read = Read(start=self.start, stop=self.start + self.users, sensitivity=self.moves)
        return Release(name=f"phase {self.i}/point", law=Gaussian(self.sigma), reads=(read,))


@dataclass(frozen=True)
class GroupPrivacy(Algorithm[GroupPass]):
    """Phased SGD with output perturbation (Feldman, Koren and Talwar 2020) at (eps/m, delta/(m e^eps)) per sample.

    One replaced sample moves the average of a pass by at most 2 L eta (steps are non-expansive), a user by m of that.

    Attributes:
        eta: step size; None for (R/L) min(4/sqrt(nm), eps_0/(2 sqrt(d log(1/delta_0)))), at most 4/beta.
        c_noise: multiplies the noise; below 1 it is not private.
    """

    eta: float | None = None
    c_noise: float = 1.0

    label = "user_level/proc-group-privacy"
    budgets = BUDGETS
    readings: ClassVar = {"dialled": {"c_noise": 0.1}}

    def __post_init__(self) -> None:
        if not self.c_noise > 0 or (self.eta is not None and not self.eta > 0):
            raise InvalidInput(f"c_noise and eta must be > 0, got {self.c_noise!r} and {self.eta!r}")

    def item_budget(self, problem: Problem) -> tuple[float, float]:
        """(eps_0, delta_0) of one sample."""
        epsilon, delta = self.privacy_budget(problem)
        m = samples_of(problem, self.label)
        return epsilon / m, delta / (m * math.exp(epsilon))

    def step(self, problem: Problem, n: int) -> float:
        """eta; the first phase takes a quarter of it."""
        if self.eta is not None:
            return self.eta
        c, (item, chance) = problem.constants, self.item_budget(problem)
        samples = n * samples_of(problem, self.label)
        scale = c.diameter(2.0) / c.lipschitz(2.0)
        eta = scale * min(4 / math.sqrt(samples), item / (2 * math.sqrt(c.d * math.log(1 / chance))))
        smooth = c.smoothness(2.0)
        return min(eta, 4 / smooth) if smooth > 0 else eta

    def schedule(self, problem: Problem, n: int) -> Schedule[GroupPass]:
        m, smooth = samples_of(problem, self.label), problem.constants.smoothness(2.0)
        if n < 2:
            raise Infeasible(self.label, "n >= 2 users", f"n = {n}", 2)
        if not smooth * self.step(problem, n) <= 8:
            got = f"eta_1 = {self.step(problem, n) / 4:.4g} at beta = {smooth:.4g}"
            raise Infeasible(self.label, "steps of at most 2/beta, which do not expand", got)
        rows = self.rows(problem, n)
        privacy = problem.privacy
        return Schedule(
            phases=rows,
            releases=tuple(row.release() for row in rows),
            gradients=sum(row.steps for row in rows),
            floats_per_trial=(rows[0].users * m + 4) * problem.constants.d,
            claimed=privacy if self.c_noise >= 1 and isinstance(privacy, ApproxDP) else None,
        )

    def rows(self, problem: Problem, n: int) -> tuple[GroupPass, ...]:
        """One for each phase: n_i = n/2^i, eta_i = eta/4^i, and the Gaussian noise of Definition A.5."""
        item, chance = self.item_budget(problem)
        m, L = samples_of(problem, self.label), problem.constants.lipschitz(2.0)
        eta, start, rows = self.step(problem, n), 0, []
        for i in range(1, phase_count(n) + 1):
            users, step = n >> i, eta / 4**i
            moved = 2 * L * step
            sigma = self.c_noise * moved * math.sqrt(2 * math.log(2 / chance)) / item
            rows.append(
                GroupPass(i=i, start=start, users=users, steps=users * m, eta=step, sigma=sigma, moves=m * moved)
            )
            start += users
        return tuple(rows)

    def execute(self, run: Run[GroupPass], workload: Workload, data: Data, start: Array) -> Array:
        """The last phase's noisy average, on the domain: (trials, d)."""
        each = single(workload, self.label)
        x = np.broadcast_to(start, (run.trials, start.shape[-1]))
        for row in run.schedule.phases:
            values = data.part(row.start, row.start + row.users).read().values
            samples = values.reshape(len(values), 1, row.steps, *values.shape[3:])
            point = np.broadcast_to(sgd(each, samples, row.eta, x)[:, 0], x.shape)
            x = workload.project(run.release(f"phase {row.i}/point", point))
        return x

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of `user_level/proc-group-privacy@summed`."""
        rows = self.schedule(problem, n).phases
        return {
            "eta[i]": [row.eta for row in rows],
            "T[i]": [row.steps for row in rows],
            "sigma[i]": [row.sigma for row in rows],
            "l": len(rows),
        }
