"""Randomised smoothing over a ball, and Algorithm 3 on smoothed losses."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms.user_level.erm import PhasedERM
from dpcheck.algorithms.user_level.minibatch import Accelerated, Batches
from dpcheck.algorithms.user_level.sizes import log_ratio, samples_of, single
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Array, Problem, Rng, Schedule, Workload, procedure
from dpcheck.running import Run


def uniform_ball(rng: Rng, shape: tuple[int, ...], radius: float) -> Array:
    """Points uniform on the ball around the origin: `shape` ends in d."""
    direction = rng.standard_normal(shape)
    length = np.linalg.norm(direction, axis=-1, keepdims=True)
    return np.asarray(radius * rng.random((*shape[:-1], 1)) ** (1 / shape[-1]) * direction / length)


@procedure("user_level/proc-randomized-smoothing")
def smoothed_gradients(workload: Workload, x: Array, z: Array, shifts: Array) -> Array:
    """∇f(x + y, z) at each shift y, elementwise: an unbiased gradient of f_r when y is uniform on the r-ball.

    The losses must be convex and Lipschitz on the domain enlarged by r.
    """
    if shifts.shape[-1] != x.shape[-1]:
        raise InvalidInput(f"shifts need {x.shape[-1]} coordinates, got {shifts.shape[-1]}")
    return workload.gradient(x + shifts, z)


@dataclass(frozen=True)
class SmoothedERM(PhasedERM):
    """Algorithm 3 on f_r(x, z) = E f(x + y, z), with a shift of its own for each sample and each step.

    Attributes:
        c_batch: of K_i = c_batch (n_i eps/sqrt(T_i) + log(n m d e^eps/delta)/eps). The proof of Theorem D.3 prints
            none: with 1, the literal reading, the test halts too often, so that Algorithm 3's 500 is the default.
        r: radius of the smoothing; None for R sqrt(d)/(eps n sqrt m).
    """

    r: float | None = None

    label = "user_level/proc-smoothed-alg-3"
    readings: ClassVar = {**Accelerated.readings, "literal": {"c_batch": 1.0}}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.r is not None and not self.r > 0:
            raise InvalidInput(f"r must be > 0, got {self.r!r}")

    def smoothing_radius(self, problem: Problem, n: int) -> float:
        """r."""
        if self.r is not None:
            return self.r
        epsilon, _ = self.privacy_budget(problem)
        m, d = samples_of(problem, self.label), problem.constants.d
        return self.radius(problem) * math.sqrt(d) / (epsilon * n * math.sqrt(m))

    def smoothness(self, problem: Problem, n: int) -> float:
        """beta_r = L sqrt(d)/r."""
        c = problem.constants
        return c.lipschitz(2.0) * math.sqrt(c.d) / self.smoothing_radius(problem, n)

    def batch(self, problem: Problem, users: int, steps: int, n: int) -> int:
        epsilon, delta = self.privacy_budget(problem)
        m, d = samples_of(problem, self.label), problem.constants.d
        wanted = self.c_batch * (users * epsilon / math.sqrt(steps) + log_ratio(n * m * d, epsilon, delta) / epsilon)
        return min(users, max(math.ceil(wanted), math.ceil(users / steps)))

    def schedule(self, problem: Problem, n: int) -> Schedule[Batches]:
        r, R = self.smoothing_radius(problem, n), self.radius(problem)
        if r > R:
            raise Infeasible(self.label, f"a smoothing radius of at most R = {R:.4g}", f"r = {r:.4g} at n = {n:,}")
        return super().schedule(problem, n)

    def row(self, problem: Problem, n: int, **phase: Any) -> Batches:
        return replace(super().row(problem, n, **phase), shift=self.smoothing_radius(problem, n))

    def gradients(self, run: Run[Batches], row: Batches, workload: Workload, point: Array, users: Array) -> Array:
        each: Any = single(workload, self.label)
        shape = (run.trials, *users.shape[1:3], point.shape[-1])
        shifts = run.coins(lambda rng: uniform_ball(rng, shape, row.shift))
        return np.asarray(smoothed_gradients(each, point[:, None, None], users, shifts).mean(axis=2))

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Those of Algorithm 3, and the radius r of `user_level/thm-d3@summed`."""
        return {**super().terms(problem, n), "r": self.smoothing_radius(problem, n)}
