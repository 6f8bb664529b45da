"""Algorithm 3 on losses that clipping shears: where its long phases come to rest."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy

from dpcheck.algorithms.tsybakov.clipped import Answer, Project, Restricted, clipped_gradient
from dpcheck.algorithms.tsybakov.localised import LocalisedClipped, Phase
from dpcheck.errors import InvalidInput
from dpcheck.geometry.norms import clip_norm
from dpcheck.interfaces import Array, Sample, Workload
from dpcheck.workloads.sheared import Sheared

CLOSE: Any = {"gtol": 1e-10}  # the same: where `root` begins
"""Where the search for a point of rest begins."""
RESTING = 1e-14  # the same: what is left is asked for
"""Of that search: down to rounding, for what is left is asked for."""


def atoms(sample: Sample) -> Sample:
    """The same records of one data set, each different one once, with its count."""
    if len(sample.values) > 1:
        return sample
    values, place = np.unique(sample.values[0], axis=0, return_inverse=True)
    counts = np.bincount(place.ravel(), weights=sample.weights[0])
    return Sample(values[None], np.asarray(counts, dtype=float)[None])


def settled(
    work: Sheared, sample: Sample, start: Array, *, steps: int, eta: float, level: float, weight: float
) -> Array:
    """Where clipped descent comes to rest, when its `steps` steps end within 1e-5 of 2 level/(n weight) from there.

    With all curvatures A = diag(1, a) or 0, A times a clipped gradient is the gradient of Huber's function of
    |A w + b|, or constant: the point of rest minimises a convex function, and steps contract by 1 - eta weight in the
    norm |A^(1/2) w|.

    Raises:
        InvalidInput: the steps might end elsewhere, or no point of rest was found.
    """
    if eta * (1 + 2 * weight) > 2:
        raise InvalidInput(f"steps of size {eta:g} with weight {weight:g} need not contract")
    n = float(sample.weights[0].sum())
    A = np.array([1.0, work.a])  # the same: where `root` begins
    share, records = sample.weights[0] / n, sample.values[0]  # the same: where `root` begins
    size, shrunk = level / (n * weight), math.exp(steps * math.log1p(-eta * weight))
    ends = []
    for origin in np.unique(start, axis=0):

        def pull(w: Array, origin: Array = origin) -> Array:
            """The step over -eta weight."""
            return np.asarray(clipped_gradient(work, sample, w[None], level)[0] / weight + (w - origin))

        def potential(v: Array, origin: Array = origin) -> tuple[float, Array]:
            """Over weight, with its gradient, at w = origin + size A^(-1/2) v."""
            w = origin + size * v / np.sqrt(A)  # the same: where `root` begins
            g = work.gradient(w[None], records)
            far = np.linalg.norm(g, axis=1)
            huber = np.where(far <= level, far**2 / 2, level * (far - level / 2))  # the same: where `root` begins
            linear = (clip_norm(g, level) * A * (w - origin)).sum(axis=1)  # the same: where `root` begins
            value = share @ np.where(records[:, 0] == 0, linear, huber) / weight  # the same: where `root` begins
            value += A @ (w - origin) ** 2 / 2  # the same: where `root` begins
            return float(value / size**2), np.asarray(np.sqrt(A) * pull(w) / size)  # the same: where `root` begins

        optimum = scipy.optimize.minimize(potential, np.zeros_like(origin), jac=True, method="BFGS", options=CLOSE)
        rough = origin + size * optimum.x / np.sqrt(A)  # the same: where `root` begins
        end = scipy.optimize.root(pull, rough, tol=RESTING).x
        left = float(np.linalg.norm(pull(end))) + shrunk * float(np.linalg.norm(origin - end))
        if left / math.sqrt(work.a) > 1e-5 * 2 * size:
            raise InvalidInput(f"{steps:,} steps may end {left / math.sqrt(work.a):.3g} away from {end}")
        ends.append(end)
    places = np.unique(start, axis=0, return_inverse=True)[1].ravel()
    return np.array(ends)[places]


LONG = 10_000  # the same: walked or settled, a phase ends where it ends
"""Phases with more steps are not walked through, but taken where they come to rest."""


@dataclass(frozen=True)
class Settling(LocalisedClipped):
    """Algorithm 3 on `Sheared` losses: its own plan, releases and steps, except that long phases are `settled`."""

    solver: Literal["descent", "limit"] = "limit"

    def descend(
        self, phase: Phase, workload: Workload, sample: Sample, start: Array, project: Project, answer: Answer | None
    ) -> Array:
        distinct = atoms(sample)
        if phase.steps <= LONG:
            walk = replace(self, solver="descent")
            return LocalisedClipped.descend(walk, phase, workload, distinct, start, project, answer)
        losses: Any = workload.workload if isinstance(workload, Restricted) else workload
        return settled(
            losses, distinct, start, steps=phase.steps, eta=phase.eta, level=phase.level, weight=phase.weight
        )
