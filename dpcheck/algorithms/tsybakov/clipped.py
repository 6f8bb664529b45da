"""Algorithms 1 and 2, and projections on intersections."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry.intersections import BallIntersection
from dpcheck.geometry.norms import clip_norm
from dpcheck.interfaces import Array, Constants, Rng, Sample, Workload, procedure
from dpcheck.workloads.base import BaseWorkload

TINY = 1e-300  # the same: where nothing else stands, what is divided is 0
"""Below every length that is divided by."""
ROUNDINGS = 4  # the same: rounding is not found out nearer
"""Neighbouring floats to which a bracket is closed at most."""
NEAR = 1e-10  # the same: nine digits of a projection
"""Of the size of a point: how far a round of Dykstra's may still move it when it is the last."""
PATIENCE = 10**6  # the same: of patience alone
"""Rounds after which a point that has not settled is refused."""
Project = Callable[[Array], Array]
Answer = Callable[[Array], Array]
"""What is seen of a clipped mean gradient: itself plus noise, say."""


@procedure("tsybakov/alg-1")
def clipped_mean(sample: Sample, vectors: Array, level: float) -> Array:
    """Algorithm 1: the mean of (trials, r, d) vectors, each projected onto the ball of radius `level`: (trials, d).

    Replacing one of n records moves it by at most 2 level/n.
    """
    if not level > 0:
        raise InvalidInput(f"the clip level must be > 0, got {level!r}")
    return sample.mean(clip_norm(vectors, level))


@runtime_checkable
class ClippedSums(Protocol):
    """Adds clipped gradients without holding one for each record."""

    def clipped_sum(self, w: Array, sample: Sample, level: float) -> Array:
        """Sum of weights x gradients at one point a trial, each cut at norm `level`: (trials, d) -> (trials, d)."""
        ...


def clipped_gradient(workload: Workload, sample: Sample, w: Array, level: float) -> Array:
    """Clipped mean gradient at one point a trial: (trials, d) -> (trials, d)."""
    return _clipped_oracle(workload, sample, level)(w)


def _clipped_oracle(workload: Workload, sample: Sample, level: float) -> Callable[[Array], Array]:
    """The same as a function of the point: descents ask for it many times, and of linear losses it is one vector."""
    if isinstance(workload, ClippedSums):
        total = sample.weights.sum(axis=1, keepdims=True)
        return lambda w: np.asarray(workload.clipped_sum(w, sample, level) / total)

    def mean(w: Array) -> Array:
        return clipped_mean(sample, workload.gradient(w[:, None], sample.values), level)

    if workload.constants.family != "linear":
        return mean
    everywhere = mean(np.zeros((1, workload.constants.d)))  # the same: any point does
    return lambda w: np.broadcast_arrays(everywhere, w)[0]


def between_ends(onto: Project, start: Array, diameter: float) -> Project:
    """A projection; on an interval a trial, no wider than that, a cut at its ends, which takes a fifth of the time."""
    if start.shape[-1] > 1 or not math.isfinite(diameter):  # the same: sooner
        return onto
    inside, far = onto(start), 4 * diameter  # the same: any point beyond the ends leads to them
    low, high = onto(inside - far), onto(inside + far)
    if (low == inside - far).any() or (high == inside + far).any():  # the same: for whoever is told a wrong diameter
        return onto
    return lambda w: np.minimum(np.maximum(w, low), high)


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
    answer: Answer | None = None,
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
    width = workload.constants.diameter(2.0)  # the same: asked in one dimension alone, where all norms are one
    onto = between_ends(project or workload.project, start, width)
    w = np.broadcast_to(start, (max(len(start), len(sample.weights), len(sample.values)), start.shape[1]))
    gradient = _clipped_oracle(workload, sample, level)
    for _ in range(steps):
        g = gradient(w)
        if answer is not None:
            g = answer(g)
        w = onto(w - eta * (g + weight * (w - start)))
    return w


@procedure("tsybakov/proc-dykstra")
def dykstra(first: Project, second: Project, w: Array, *, limit: int = PATIENCE) -> Array:
    """Projection on the intersection of two convex sets by Dykstra's corrections; plain alternation only finds a point.

    Raises:
        InvalidInput: no convergence within `limit` rounds, as for sets that do not meet.
    """
    x = np.asarray(w, dtype=float)
    p, q = np.zeros_like(x), np.zeros_like(x)
    scale = max(TINY, float(np.abs(x).max(initial=0.0)))
    for _ in range(limit):
        y = first(x + p)
        p = x + p - y
        z = second(y + q)
        q = y + q - z
        if max(float(np.abs(z - x).max(initial=0.0)), float(np.abs(z - y).max(initial=0.0))) <= NEAR * scale:
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
        if isinstance(workload, ClippedSums):
            self.clipped_sum = workload.clipped_sum

    @property
    def constants(self) -> Constants:
        return self.workload.constants

    def project(self, w: Array) -> Array:
        """Exactly in one dimension and where the domain is known; else the workload's where that stays in the ball,
        Dykstra's elsewhere."""
        if w.shape[-1] == 1:  # the same: sooner
            return self.workload.project(self._ball(w))
        if isinstance(self.workload, BaseWorkload):
            return BallIntersection(self.workload.domain, self.centres, self.radius).project(w)
        near = self.workload.project(w)
        out = np.linalg.norm(near - self.centres, axis=-1) > self.radius
        if not out.any():  # the same: sooner
            return near
        return np.where(out[..., None], dykstra(self.workload.project, self._ball, w), near)

    def _ball(self, w: Array) -> Array:
        return np.asarray(self.centres + clip_norm(w - self.centres, self.radius))

    def loss(self, w: Array, z: Array) -> Array:
        return self.workload.loss(w, z)

    def gradient(self, w: Array, z: Array) -> Array:
        return self.workload.gradient(w, z)

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:  # the same: no run draws here
        return self.workload.draw(rng, trials, n, means_only=means_only)

    def excess_risk(self, w: Array) -> Array:
        return self.workload.excess_risk(w)


@procedure("tsybakov/proc-prox-exact")
def regularised_minimiser(workload: Workload, sample: Sample, centre: Array, weight: float, *, gap: float) -> Array:
    """argmin over the domain of mean f + weight/2 |w - centre|^2, by projected gradients on the unclipped loss.

    The map w -> Π(w - s g(w)) with s = 1/(α + weight) contracts by 1 - s weight, so a step of length `move` certifies
    the distance move/(s weight), which is driven below `gap`: (trials, d).
    """
    return _contract(workload, sample, centre, math.inf, weight, gap)


def limit_point(
    workload: Workload,
    sample: Sample,
    start: Array,
    *,
    level: float,
    weight: float,
    gap: float,
    project: Project | None = None,
) -> Array:
    """Where Algorithm 2 tends to as its steps go on, within `gap`: (trials, d).

    For losses whose clipped gradients are monotone only (d = 1, linear, isotropic quadratic, generalised linear): there
    the limit is unique and does not depend on the step size. In one dimension it is bisected for. `start` must lie in
    the domain.
    """
    if start.shape[-1] > 1:
        return _contract(workload, sample, start, level, weight, gap, project)
    onto = workload.project if project is None else project
    start = np.broadcast_to(start, (max(len(start), len(sample.weights), len(sample.values)), 1))
    # No step of Algorithm 2 leads further than level/weight from its start.
    width = min(workload.constants.diameter(2.0), level / weight)
    oracle = _clipped_oracle(workload, sample, level)
    return _root(lambda w: oracle(w) + weight * (w - start), onto(start - width), onto(start + width), gap)


def _root(rising: Callable[[Array], Array], low: Array, high: Array, gap: float) -> Array:
    """Where rising functions change sign between low and high, within `gap`; the nearer end where they do not."""
    below, above = rising(low), rising(high)
    high, low = np.where(below >= 0, low, high), np.where((above <= 0) & (below < 0), high, low)
    gap = max(gap, ROUNDINGS * float(np.spacing(max(np.abs(low).max(), np.abs(high).max()))))
    while float((high - low).max()) > gap:
        # A secant, a probe just beyond it, which closes the bracket if the secant was right, and the middle.
        w = _guess(low, high, below, above)
        for probe in (True, True, False):
            w = np.clip(w, low, high) if probe else (low + high) / 2
            value = rising(w)
            up = value > 0
            low, below = np.where(up, low, w), np.where(up, below, value)
            high, above = np.where(up, w, high), np.where(up, value, above)
            w = w + np.where(up, -0.9, 0.9) * gap  # the same: any point does
    return (low + high) / 2


def _guess(low: Array, high: Array, below: Array, above: Array) -> Array:
    """Where the line through both ends changes sign, and the middle where it does not: how soon a bracket closes rests
    on it, and nothing else."""
    share = -below / np.where(above > below, above - below, 1.0)  # the same: any point does
    inside = (below < 0) & (above > 0)  # the same: any point does
    return low + np.where(inside, np.clip(share, 0.0, 1.0), 0.5) * (high - low)  # the same: any point does


def _contract(
    workload: Workload,
    sample: Sample,
    centre: Array,
    level: float,
    weight: float,
    gap: float,
    project: Project | None = None,
) -> Array:
    if not weight > 0:
        raise InvalidInput(f"the weight must be > 0, got {weight!r}")
    s = 1 / (workload.constants.smoothness(2.0) + weight)
    if not (math.isfinite(s) and s > 0):
        raise InvalidInput("the exact regularised minimiser is computed for smooth losses only")
    onto = workload.project if project is None else project
    w = onto(np.broadcast_to(centre, (max(len(centre), len(sample.weights)), centre.shape[1])))
    gradient = _clipped_oracle(workload, sample, level)
    for _ in range(PATIENCE):
        g = gradient(w) + weight * (w - centre)
        new = onto(w - s * g)
        move = float(np.linalg.norm(new - w, axis=-1).max())
        w = new
        if move <= gap * s * weight:
            return w
    raise InvalidInput(f"no convergence to {gap:g} in {PATIENCE:,} steps; raise the gap, it is below rounding")
