"""Algorithms 1 and 2, and projections on intersections."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from dpcheck.algorithms.clipping import clip_norm
from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Constants, Rng, Sample, Workload, procedure

Project = Callable[[Array], Array]


@procedure("tsybakov/alg-1")
def clipped_mean(sample: Sample, vectors: Array, level: float) -> Array:
    """Algorithm 1: the mean of (trials, r, d) vectors, each projected onto the ball of radius `level`: (trials, d).

    Replacing one of n records moves it by at most 2 level/n.
    """
    if not level > 0:
        raise InvalidInput(f"the clip level must be > 0, got {level!r}")
    return sample.mean(clip_norm(vectors, level))


def clipped_gradient(workload: Workload, sample: Sample, w: Array, level: float) -> Array:
    """Clipped mean gradient at one point a trial: (trials, d) -> (trials, d)."""
    return clipped_mean(sample, workload.gradient(w[:, None], sample.values), level)


@procedure("tsybakov/alg-2")
def clipped_descent(
    workload: Workload,
    sample: Sample,
    start: Array,
    *,
    steps: int,
    eta: float,
    level: float,
    weight: float,
    project: Project | None = None,
    answer: Callable[[Array], Array] | None = None,
) -> Array:
    """Algorithm 2: `steps` projected steps along the clipped mean gradient + weight (w - start), from `start`.

    Args:
        project: onto the domain of the phase; the workload's own by default.
        answer: what is seen of each clipped mean (noise per step); the mean itself by default.

    Returns:
        The last iterate, (trials, d). For 0 <= eta weight <= 1 it is within (1 - (1 - eta weight)^steps) level/weight
        of the start (`tsybakov/alg-2@derived`).
    """
    if steps < 0 or not (eta > 0 and weight >= 0):
        raise InvalidInput(f"Algorithm 2 needs steps >= 0, eta > 0 and weight >= 0, got {steps}, {eta!r}, {weight!r}")
    onto = workload.project if project is None else project
    w = np.broadcast_to(start, (max(len(start), len(sample.weights), len(sample.values)), start.shape[1]))
    for _ in range(steps):
        g = clipped_gradient(workload, sample, w, level)
        if answer is not None:
            g = answer(g)
        w = onto(w - eta * (g + weight * (w - start)))
    return w


@procedure("tsybakov/proc-dykstra")
def dykstra(first: Project, second: Project, w: Array, *, tolerance: float = 1e-10, limit: int = 100_000) -> Array:
    """Projection on the intersection of two convex sets by Dykstra's corrections; plain alternation only finds a point.

    Raises:
        InvalidInput: no convergence within `limit` rounds, as for sets that do not meet.
    """
    x = np.asarray(w, dtype=float)
    p, q = np.zeros_like(x), np.zeros_like(x)
    scale = max(1e-300, float(np.abs(x).max(initial=0.0)))
    for _ in range(limit):
        y = first(x + p)
        p = x + p - y
        z = second(y + q)
        q = y + q - z
        if max(float(np.abs(z - x).max(initial=0.0)), float(np.abs(z - y).max(initial=0.0))) <= tolerance * scale:
            return z
        x = z
    raise InvalidInput(f"Dykstra's projections did not settle in {limit:,} rounds; do the two sets meet?")


class Restricted:
    """A workload on the intersection of its domain with a ball around a point a trial.

    Args:
        centres: (trials or 1, d), in the domain.
        radius: of the ball.
    """

    def __init__(self, workload: Workload, centres: Array, radius: float) -> None:
        if not radius > 0:
            raise InvalidInput(f"a ball needs a radius > 0, got {radius!r}")
        self.workload, self.centres, self.radius = workload, centres, radius

    @property
    def constants(self) -> Constants:
        return self.workload.constants

    def project(self, w: Array) -> Array:
        """The workload's projection where that stays in the ball, Dykstra's elsewhere."""
        near = self.workload.project(w)
        out = np.linalg.norm(near - self.centres, axis=-1) > self.radius
        if not out.any():
            return near
        return np.where(out[..., None], dykstra(self.workload.project, self._ball, w), near)

    def _ball(self, w: Array) -> Array:
        return np.asarray(self.centres + clip_norm(w - self.centres, self.radius))

    def loss(self, w: Array, z: Array) -> Array:
        return self.workload.loss(w, z)

    def gradient(self, w: Array, z: Array) -> Array:
        return self.workload.gradient(w, z)

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        return self.workload.draw(rng, trials, n, means_only=means_only)

    def excess_risk(self, w: Array) -> Array:
        return self.workload.excess_risk(w)


@procedure("tsybakov/proc-prox-exact")
def regularised_minimiser(
    workload: Workload, sample: Sample, centre: Array, weight: float, *, gap: float = 1e-12, limit: int = 1_000_000
) -> Array:
    """argmin over the domain of mean f + weight/2 |w - centre|^2, by projected gradients on the unclipped loss.

    The map w -> Π(w - s g(w)) with s = 1/(α + weight) contracts by 1 - s weight, so a step of length `move` certifies
    the distance move/(s weight), which is driven below `gap`: (trials, d).
    """
    if not weight > 0:
        raise InvalidInput(f"the weight must be > 0, got {weight!r}")
    s = 1 / (workload.constants.smoothness(2.0) + weight)
    if not (math.isfinite(s) and s > 0):
        raise InvalidInput("the exact regularised minimiser is computed for smooth losses only")
    w = workload.project(np.broadcast_to(centre, (max(len(centre), len(sample.weights)), centre.shape[1])))
    for _ in range(limit):
        g = sample.mean(workload.gradient(w[:, None], sample.values)) + weight * (w - centre)
        new = workload.project(w - s * g)
        move = float(np.linalg.norm(new - w, axis=-1).max())
        w = new
        if move <= gap * s * weight:
            return w
    raise InvalidInput(f"no convergence to {gap:g} in {limit:,} steps; raise the gap, it is below rounding")
