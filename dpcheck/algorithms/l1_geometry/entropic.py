"""Entropic mirror descent on the simplex: one step (equation (1)) and Algorithm 4, which is not private."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Entropy
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Schedule, Workload, procedure
from dpcheck.running import Run


@procedure("l1_geometry/proc-eg-step")
def eg_step(x: Array, gradient: Array, eta: float) -> Array:
    """x exp(-eta gradient), normalised in log space: (..., d), (..., d) -> (..., d)."""
    return Entropy().step(x, gradient, eta)


@dataclass(frozen=True, kw_only=True)
class ShuffledPass:
    """One pass over the records in a fresh order."""

    number: int
    steps: int
    eta: float


@dataclass(frozen=True)
class MultiPassMirrorDescent(Algorithm[ShuffledPass]):
    """Algorithm 4: `passes` passes of exponentiated-gradient steps, one record a step, in fresh uniform orders.

    Attributes:
        eta: the step; passes: R.
        returned: "average" of the iterates 1..Rn as printed, or the "last" one, of which Lemma A.2 speaks.
    """

    eta: float = 0.1  # the same: given, no statement names one
    passes: int = 1  # the same: given, no statement names a number
    returned: str = "average"

    label = "l1_geometry/alg-4"

    def __post_init__(self) -> None:
        if not (self.eta > 0 and math.isfinite(self.eta) and self.passes >= 1):
            raise InvalidInput(f"Algorithm 4 needs a step > 0 and at least one pass, got {self.eta!r}, {self.passes!r}")
        if self.returned not in ("average", "last"):
            raise InvalidInput(f"returned must be 'average' or 'last', got {self.returned!r}")

    def schedule(self, problem: Problem, n: int) -> Schedule[ShuffledPass]:
        return Schedule(
            phases=tuple(ShuffledPass(number=r + 1, steps=n, eta=self.eta) for r in range(self.passes)),
            releases=(),
            gradients=self.passes * n,
            floats_per_trial=3 * problem.constants.d * n,
            claimed=None,
        )

    def execute(self, run: Run[ShuffledPass], workload: Workload, data: Data, start: Array) -> Array:
        values = data.read().values
        n = values.shape[1]
        x = np.broadcast_to(start, (run.trials, start.shape[-1])).astype(float)
        if not (x > 0).all():
            raise InvalidInput("Algorithm 4 needs a start with positive coordinates")
        total = np.zeros_like(x)
        for row in run.schedule.phases:
            order = run.coins(lambda rng: np.argsort(rng.random((run.trials, n)), axis=1))
            records = np.broadcast_to(values, (run.trials, *values.shape[1:]))
            for i in range(row.steps):
                z = np.take_along_axis(records, order[:, i].reshape(-1, *[1] * (records.ndim - 1)), axis=1)[:, 0]
                x = eg_step(x, workload.gradient(x, z), row.eta)
                total = total + x
        return x if self.returned == "last" else np.asarray(total / (n * len(run.schedule.phases)))
