"""The solver to use, `certified`, and the worst one that the proofs still allow, `Pushed`."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Objective, Solution, Solver
from dpcheck.solvers.conic import conic
from dpcheck.solvers.extension import never_steep
from dpcheck.solvers.minimisers import Mask, Task, accelerated, bisected, closed_form, projection, trials_of, value
from dpcheck.workloads.base import Extended
from dpcheck.workloads.ridge import RidgeWorkload


def certified(objective: Objective) -> Solution:
    """The most exact method that applies: closed form, bisection on a line, accelerated gradients, a conic program.

    Raises:
        InvalidInput: none applies.
        MissingExtra: only a conic program applies and the extra 'solvers' is not installed.
    """
    if not objective.weight > 0:
        raise InvalidInput(f"a certified minimiser needs a strongly convex objective, got weight {objective.weight}")
    solution = closed_form(objective)
    if solution is not None:
        return solution
    work = objective.workload
    if work.constants.d == 1:
        return bisected(objective)
    if math.isfinite(work.constants.smoothness(2.0)):
        plain = objective.cap is None or never_steep(work, objective.sample.values, objective.cap)
        if plain:
            return accelerated(objective)
        if isinstance(work, Extended):
            # The extension of a smooth loss is as smooth inside the domain; at its boundary the certificate decides.
            try:
                return accelerated(objective)
            except InvalidInput:
                pass
    if isinstance(work, RidgeWorkload):
        return conic(objective)
    raise InvalidInput(
        f"no certified minimiser for {type(work).__name__} in d = {work.constants.d}: give the workload a `minimiser`, "
        "make it a `RidgeWorkload`, or pass a solver of your own"
    )


@dataclass(frozen=True)
class Pushed:
    """The adversarial legal solver: moves the exact minimiser away from the centre as far as the allowed gap lets it.

    Attributes:
        excess: multiple of the allowed gap that it uses. Above 1 it breaks the contract and hides it: a mutant.
        base: the exact solver.
    """

    excess: float = 1.0
    base: Solver = certified

    def __call__(self, objective: Objective) -> Solution:
        if not isinstance(objective, Task) or not math.isfinite(objective.gap):
            raise InvalidInput("Pushed needs a Task: an objective with the gap that is allowed")
        best = np.broadcast_to(self.base(objective).point, (trials_of(objective), objective.workload.constants.d))
        allowed = self.excess * objective.gap
        away = best - objective.centre
        length = np.linalg.norm(away, axis=1, keepdims=True)
        first = np.eye(best.shape[1])[0]
        direction = np.where(length > 0, away / np.where(length > 0, length, 1.0), first)
        project, floor = projection(objective), value(objective, best)

        def legal(step: Array) -> tuple[Array, Mask]:
            point = project(best + step[:, None] * direction)
            room = allowed * (1 + 1e-9) + 8 * np.spacing(np.abs(floor))
            return point, value(objective, point) - floor <= room

        high = np.full(len(best), math.sqrt(2 * allowed / objective.weight))
        point, fits = legal(high)
        low = np.where(fits, high, 0.0)
        for _ in range(60 if not fits.all() else 0):
            middle = (low + high) / 2
            moved, ok = legal(middle)
            point = np.where((ok & ~fits)[:, None], moved, point)
            low, high = np.where(ok, middle, low), np.where(ok, high, middle)
        point = np.where((low > 0)[:, None], project(best + low[:, None] * direction), best)
        return Solution(point, objective.gap)
