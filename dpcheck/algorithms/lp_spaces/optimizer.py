"""The optimiser O(J, alpha): projected gradients stopped by a sure certificate of the gap."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Objective, Solution, procedure
from dpcheck.solvers import Task, subgradient, trials_of


def mapping_gap(mapping: Array, curvature: float) -> Array:
    """A sure gap in value after a projected gradient step: |mapping|^2/(2 curvature), (trials, d) -> (trials,).

    The mapping is (theta - theta+)/eta for theta+ = Proj(theta - eta grad), eta at most 1/smoothness; the gap is that
    of theta+ for an objective of strong convexity `curvature`.
    """
    if not curvature > 0:
        raise InvalidInput(f"the certificate needs a strongly convex objective, got curvature {curvature!r}")
    return np.asarray((mapping**2).sum(axis=-1) / (2 * curvature))


@dataclass(frozen=True)
class ProjectedGradient:
    """Deterministic projected gradient descent: every trial ends with a gap of at most alpha, surely.

    Attributes:
        limit: steps after which it raises; it never returns a point without its certificate.
    """

    limit: int = 100_000  # the same: where it gives up; no answer depends on it

    def __call__(self, objective: Objective) -> Solution:
        work, weight = objective.workload, objective.weight
        target = objective.gap if isinstance(objective, Task) else math.inf
        smoothness = work.constants.smoothness(2.0)
        if not (math.isfinite(smoothness) and weight > 0 and target > 0 and math.isfinite(target)):
            raise InvalidInput(
                f"projected gradients need a smooth, strongly convex Task with a gap > 0, got smoothness "
                f"{smoothness!r}, weight {weight!r}, gap {target!r}"
            )
        eta = 1 / (smoothness + weight)
        w = work.project(np.zeros((trials_of(objective), work.constants.d)))  # the same: every step projects
        for _ in range(self.limit):
            moved = work.project(w - eta * subgradient(objective, w))
            gap = mapping_gap((w - moved) / eta, weight)
            w = moved
            if (gap <= target).all():
                return Solution(w, float(gap.max()))
        raise InvalidInput(f"no gap of {target:.3g} within {self.limit:,} steps; the condition number is too large")


@procedure("lp_spaces/proc-optimizer")
def optimise(task: Task) -> Solution:
    """O(J, alpha) of Algorithms 1 and 2: a point of the domain within the task's gap of the minimum, with certainty."""
    return ProjectedGradient()(task)
