"""Noisy accelerated descent on isotropic quadratics in many dimensions, where nothing but inner products is random.

A step of AC-SA takes the two points x and w to mixtures of x, w, the centre c of the regulariser and the minimiser z of
the sample, plus normal noise in all d directions, and projects w onto a ball. All that happens is in the second moments
of (x, w, c, z, b), b the minimiser of the population. Where nothing is projected they are exact in every dimension;
where something is, the norm of w is its root mean square, up to O(1/sqrt d). Steps far from the first of a stage differ
so little that many are one power of a matrix: 1e12 steps cost as much as 500.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.harness.scaling.engines import Instance, Risk
from dpcheck.interfaces import Array

X, W, C, Z, B = range(5)
SETTLED = 0.05
"""Relative change of a risk with blocks of half the length up to which they count as short enough."""


@dataclass(frozen=True)
class Accelerating:
    """One phase: stages of AC-SA on curvature |w - z|²/2 + weight |w - c|²/2, c where it begins.

    Attributes:
        stages: (steps, upsilon) of each.
        noise: E|ξ|² of a gradient, all coordinates together.
        sampling: E|z - b|².
    """

    stages: Sequence[tuple[int, float]]
    weight: float
    noise: float
    sampling: float


@dataclass(frozen=True)
class Wide:
    """The mean excess risk after such phases of a quadratic with `curvature`, `best` and `radius` of its ball.

    Attributes:
        phases: of an instance, read off its own schedule.
        grain: a block of steps is at most so small a part of those before it; halved, nothing may change.
    """

    phases: Callable[[Instance], Sequence[Accelerating]]
    grain: int = 2
    quantile: None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        coarse = self._risk(instance, self.grain)
        if pilot:
            return Risk(coarse)
        fine = self._risk(instance, 2 * self.grain)
        if abs(fine - coarse) > SETTLED * fine:
            raise InvalidInput(
                f"blocks of steps are too long for {instance.algorithm.label} at n = {instance.n:,}: the risk is "
                f"{coarse:.6g} with 1/{self.grain} of the steps before them and {fine:.6g} with half of it"
            )
        return Risk(fine)

    def _risk(self, instance: Instance, grain: int) -> float:
        loss = instance.work.each
        G = np.zeros((5, 5))
        G[B, B] = loss.best**2
        for phase in self.phases(instance):
            G = _begun(G, phase.sampling)
            for steps, upsilon in phase.stages:
                step = functools.partial(_step, upsilon, phase.weight, loss.curvature, phase.noise)
                G = _stage(G, steps, step, loss.domain.radius, grain)
        return float(loss.curvature / 2 * (G[X, X] - 2 * G[X, B] + G[B, B]))


def _begun(G: Array, sampling: float) -> Array:
    """The centre is x, and the sample's minimiser is new."""
    pick = np.eye(5)[[X, X, X, B, B]]
    fresh = np.zeros((5, 5))
    fresh[Z, Z] = sampling
    return np.asarray(pick @ G @ pick.T + fresh)


def _stage(G: Array, steps: int, step_at: Callable[[float], Step], radius: float, grain: int) -> Array:
    """After so many steps of AC-SA from w = x."""
    pick = np.eye(5)
    pick[W] = pick[X]
    G = pick @ G @ pick.T
    for first, count in _blocks(steps, grain):
        step = step_at(first + (count - 1) / 2)
        G = _powers(G, *_projected(step, _shrinkage(G, step, radius)), count)
        if count > 1:  # what left the ball within the block comes back
            G = _inside(G, radius)
    return G


def _blocks(steps: int, grain: int) -> Iterator[tuple[int, int]]:
    """First step and number of steps, a power of two, of each block."""
    r = 1
    while r <= steps:
        count = 1 << max(0, (min(r // grain, steps - r + 1)).bit_length() - 1)
        yield r, count
        r += count


Step = tuple[Array, float, float]
"""w' - w before projection as a mixture of (x, w, c, z, b), E|noise of it|², and the weight of w' in x'."""


def _step(upsilon: float, weight: float, curvature: float, noise: float, r: float) -> Step:
    """Step r of AC-SA, as in `dpcheck.algorithms.user_level.accelerated`; differences, for a step may move by 1e-18."""
    a, e = 2 / (r + 1), 4 * upsilon / (r * (r + 1))
    c, rate = weight / (weight + e), a / (weight + e)
    change = (a * c - rate * (weight + curvature)) * np.array([1 - a, a * (1 - a * c), 0, 0, 0]) / (1 - a * a * c)
    change[W] -= a * c
    change[C] += rate * weight
    change[Z] += rate * curvature
    return change, rate**2 * noise, a


def _shrinkage(G: Array, step: Step, radius: float) -> float:
    """Minus the part of w' that projection takes away."""
    change, noise, _ = step
    squared = radius**2 if math.isclose(G[W, W], radius**2, rel_tol=ROUNDING) else G[W, W]
    grown = float(2 * change @ G[:, W] + change @ G @ change) + noise
    beyond = (squared - radius**2 + grown) / radius**2
    return math.expm1(-math.log1p(beyond) / 2) if beyond > 0 else 0.0


def _projected(step: Step, shrinkage: float) -> tuple[Array, Array]:
    """The step as a matrix, less the identity, and the second moments that its noise adds."""
    change, noise, a = step
    E, Q = np.zeros((5, 5)), np.zeros((5, 5))
    E[W] = (1 + shrinkage) * change
    E[W, W] += shrinkage
    E[X] = a * E[W]
    E[X, W] += a
    E[X, X] -= a
    Q[W, W] = (1 + shrinkage) ** 2 * noise
    Q[X, W] = Q[W, X] = a * Q[W, W]
    Q[X, X] = a**2 * Q[W, W]
    return E, Q


def _powers(G: Array, E: Array, Q: Array, count: int) -> Array:
    """After `count` such steps, a power of two."""
    for _ in range(count.bit_length() - 1):
        E, Q = 2 * E + E.dot(E), Q + _mapped(Q, E)
    return np.asarray(_mapped(G, E) + Q)


def _mapped(G: Array, E: Array) -> Array:
    """(1 + E) G (1 + E)ᵀ."""
    moved = G + E.dot(G)
    return np.asarray(moved + moved.dot(E.T))


def _inside(G: Array, radius: float) -> Array:
    share = np.eye(5)
    if G[W, W] > radius**2:
        share[W, W] = radius / math.sqrt(G[W, W])
    return np.asarray(share @ G @ share)


ROUNDING = 1e-12
"""Of squared norms: a point so near the sphere lies on it."""
