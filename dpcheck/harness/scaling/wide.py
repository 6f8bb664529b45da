"""Noisy accelerated descent on isotropic quadratics in many dimensions, where nothing but inner products is random.

A step of AC-SA takes the two points x and w to mixtures of x, w, the centre c of the regulariser and the minimiser z of
the sample, plus normal noise in all d directions, and projects w onto a ball. All that happens is in the second moments
of (x, w, c, z) around b, the minimiser of the population, and of b. Where nothing is projected they are exact in every
dimension, to a relative error of rounding however near b all are; where something is, the norm of w is its root mean
square, up to O(1/sqrt d). Steps far from the first of a stage differ so little that many are one power of a matrix:
1e12 steps cost as much as 500. Members of one problem differ in their curvature, and are run in one batch.
"""

from __future__ import annotations

import functools
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
        phases: of an instance, read off its own schedule; the same for all members, but for what they sample.
        grain: a block of steps is at most so small a part of those before it; halved, nothing may change.
    """

    phases: Callable[[Instance], Sequence[Accelerating]]
    grain: int = 2
    quantile: None = None
    rounds: int = 1

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        return self.together([instance], seed, *key, pilot=pilot)[0]

    def together(self, instances: Sequence[Instance], seed: int, *key: Any, pilot: bool = False) -> list[Risk]:
        """The risks of members of one problem, in their order."""
        coarse = self._risks(instances, self.grain)
        if pilot:
            return [Risk(float(each)) for each in coarse]
        fine = self._risks(instances, 2 * self.grain)
        for one, first, second in zip(instances, coarse, fine, strict=True):
            if abs(second - first) > SETTLED * second:
                raise InvalidInput(
                    f"blocks of steps are too long for {one.algorithm.label} at n = {one.n:,}: the risk is "
                    f"{first:.6g} with 1/{self.grain} of the steps before them and {second:.6g} with half of it"
                )
        return [Risk(float(each)) for each in fine]

    def _risks(self, instances: Sequence[Instance], grain: int) -> Array:
        losses = [one.work.each for one in instances]
        curvature, best = np.array([[each.curvature, each.best] for each in losses]).T
        plans = [self.phases(one) for one in instances]
        if any(len({(each.weight, *each.stages) for each in same}) > 1 for same in zip(*plans, strict=True)):
            raise InvalidInput("only members that one algorithm meets at one size are run in a batch")
        G = np.zeros((len(losses), 5, 5))
        G[:, [X, B], [X, B]] = best[:, None] ** 2
        G[:, [X, B], [B, X]] = -(best[:, None] ** 2)
        for same in zip(*plans, strict=True):
            phase, (sampling, noise) = same[0], np.array([(each.sampling, each.noise) for each in same]).T
            pulled = curvature * (np.sqrt(G[:, X, X]) + np.sqrt(sampling)) + np.sqrt(3 * len(phase.stages) * noise)
            if (pulled <= STILL * phase.weight * np.sqrt(G[:, X, X])).all():
                continue
            G = _begun(G, sampling)
            for steps, upsilon in phase.stages:
                step = functools.partial(_step, upsilon, phase.weight, curvature, noise)
                G = _stage(G, steps, step, losses[0].domain.radius, grain)
        return np.asarray(curvature / 2 * G[:, X, X])


def _begun(G: Array, sampling: Array) -> Array:
    """The centre is x, and the sample's minimiser is new."""
    pick = np.eye(5)[[X, X, X, B, B]]
    pick[Z] = 0
    value = pick @ G @ pick.T
    value[:, Z, Z] = sampling
    return np.asarray(value)


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


Step = tuple[Array, Array, float]
"""w' - w before projection as mixtures of (x, w, c, z, b), a member a row, E|noise of it|², the weight of w' in x'."""


def _step(upsilon: float, weight: float, curvature: Array, noise: Array, r: float) -> Step:
    """Step r of AC-SA, as in `dpcheck.algorithms.user_level.accelerated`; differences, for a step may move by 1e-18."""
    a, e = 2 / (r + 1), 4 * upsilon / (r * (r + 1))
    c, rate = weight / (weight + e), a / (weight + e)
    middle = np.array([1 - a, a * (1 - a * c), 0, 0, 0]) / (1 - a * a * c)
    change = (a * c - rate * (weight + curvature))[:, None] * middle
    change[:, W] -= a * c
    change[:, C] += rate * weight
    change[:, Z] += rate * curvature
    return change, rate**2 * noise, a


def _squared(G: Array) -> Array:
    """|w|²."""
    return np.asarray(G[:, W, W] + 2 * G[:, W, B] + G[:, B, B])


def _shrinkage(G: Array, step: Step, radius: float) -> Array:
    """Minus the part of w' that projection takes away."""
    change, noise, _ = step
    squared, row = _squared(G), change[:, None]
    squared = np.where(abs(squared - radius**2) <= ROUNDING * radius**2, radius**2, squared)
    along = row @ (G[:, :, W] + G[:, :, B])[:, :, None]
    grown = (2 * along + row @ G @ change[:, :, None])[:, 0, 0] + noise
    beyond = (squared - radius**2 + grown) / radius**2
    return np.asarray(np.expm1(-np.log1p(np.maximum(beyond, 0)) / 2))


def _projected(step: Step, shrinkage: Array) -> tuple[Array, Array]:
    """The step as a matrix, less the identity, and the second moments that its noise adds."""
    change, noise, a = step
    kept = 1 + shrinkage
    E, Q = np.zeros((2, len(change), 5, 5))
    E[:, W] = kept[:, None] * change
    E[:, W, W] += shrinkage
    E[:, W, B] += shrinkage  # all of w shrinks, and the row is that of w - b
    E[:, X] = a * E[:, W]
    E[:, X, W] += a
    E[:, X, X] -= a
    Q[:, W, W] = kept**2 * noise
    Q[:, X, W] = Q[:, W, X] = a * Q[:, W, W]
    Q[:, X, X] = a**2 * Q[:, W, W]
    return E, Q


def _powers(G: Array, E: Array, Q: Array, count: int) -> Array:
    """After `count` such steps, a power of two."""
    for _ in range(count.bit_length() - 1):
        E, Q = 2 * E + E @ E, Q + _mapped(Q, E)
    return np.asarray(_mapped(G, E) + Q)


def _mapped(G: Array, E: Array) -> Array:
    """(1 + E) G (1 + E)ᵀ."""
    moved = G + E @ G
    return np.asarray(moved + moved @ E.transpose(0, 2, 1))


def _inside(G: Array, radius: float) -> Array:
    squared = _squared(G)
    if not (squared > radius**2).any():
        return G
    shrinkage = np.minimum(radius / np.sqrt(squared), 1) - 1
    back = np.broadcast_to(np.eye(5), G.shape).copy()
    back[:, W, W] += shrinkage
    back[:, W, B] += shrinkage
    return np.asarray(back @ G @ back.transpose(0, 2, 1))


ROUNDING = 1e-12
"""Of squared norms: a point so near the sphere lies on it."""
STILL = 1e-6
"""A phase whose regulariser lets it move no point by more of its distance to b is left out. Step r of a stage adds
noise over the weight times 2/(r + 1), and all mixtures are convex."""
