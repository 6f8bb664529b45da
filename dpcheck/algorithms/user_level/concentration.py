"""Concentration scores, random removal of outliers, and how far one changed point moves the mean of those kept."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, procedure
from dpcheck.statistics.binomial import binomial_quantile, binomial_tail

BLOCK = 2**22  # the same: of memory alone
"""Distances computed at once."""
MOST = 1000  # the same: half as many are out of reach as well
"""Changed inclusions that are looked through: a Poisson variable of mean 6 is above it with probability 1e-1700."""
ROUNDING = 1e-9  # the same: a number of points is whole to rounding, or off by far
"""Of a share of the points that is to be a whole number of them."""


def neighbour_counts(points: Array, radii: Sequence[float]) -> tuple[Array, ...]:
    """h_j at each radius: how many points lie within it of point j, itself included.

    Args:
        points: (trials, C, d).

    Returns:
        One (trials, C) for each radius.
    """
    if points.ndim != 3 or min(radii) < 0:
        raise InvalidInput(f"needs points (trials, C, d) and radii >= 0, got {points.shape} and {tuple(radii)}")
    trials, count = points.shape[:2]
    neighbours = np.full((len(radii), trials, count), float(count))
    levels = np.reshape(radii, (-1, 1, 1))
    diagonal = np.linalg.norm(np.ptp(points, axis=1), axis=-1)
    rows = max(1, BLOCK // count)  # the same: of memory alone
    # Where all points lie in a box that is no longer than a radius, all pairs are near: no need for C^2 distances.
    for t in np.flatnonzero(diagonal > min(radii)):
        for low in range(0, count, rows):
            far = scipy.spatial.distance.cdist(points[t, low : low + rows], points[t])
            neighbours[:, t, low : low + rows] = (far <= levels).sum(axis=2)
    return tuple(neighbours)


@procedure("user_level/proc-concentration-score")
def concentration_score(points: Array, radius: float) -> Array:
    """s = (1/C) #{(j, j'): |u_j - u_j'| <= radius}, ordered pairs, the diagonal included: (trials, C, d) -> (trials,).

    Replacing one point moves it by at most 2(C - 1)/C.
    """
    (counts,) = neighbour_counts(points, (radius,))
    return np.asarray(counts.mean(axis=1))


def inclusion(counts: Array) -> Array:
    """p_j = 0 below h_j = C/2, 1 from 2C/3 on, linear between: (trials, C) -> (trials, C)."""
    return np.asarray(np.clip(6 * counts / counts.shape[-1] - 3, 0.0, 1.0))


@procedure("user_level/proc-outlier-removal")
def outlier_removal(points: Array, counts: Array, uniforms: Array, fallback: Array) -> Array:
    """Mean of the points that are kept, each by itself with probability `inclusion`: (trials, d).

    Args:
        points: (trials, C, d); counts: (trials, C) their h_j.
        uniforms: (trials, C) in [0, 1); point j is kept when its uniform lies below p_j.
        fallback: (trials or 1, d), returned where nothing is kept; it may not depend on the points.
    """
    keep = uniforms < inclusion(counts)
    kept = keep.sum(axis=1, keepdims=True)
    total = np.einsum("tc,tcd->td", keep.astype(float), points)
    return np.where(kept > 0, total / np.maximum(kept, 1), fallback)


def weighted_mean(points: Array, counts: Array, fallback: Array) -> Array:
    """Mean of the points with their `inclusion` as a weight, where `outlier_removal` tosses a coin: (trials, d).

    Args:
        points: (trials, C, d); counts: (trials, C) their h_j.
        fallback: (trials or 1, d), returned where all weights are 0; it may not depend on the points.
    """
    weights = inclusion(counts)
    total = weights.sum(axis=1, keepdims=True)
    least = 3 / counts.shape[-1]  # of all weights but 0, where the number of points is odd
    mean = np.einsum("tc,tcd->td", weights, points) / np.maximum(total, least)
    return np.where(total > 0, mean, fallback)


def weighted_movement(count: int, *, diameter: float, reach: float, shortfall: float) -> float:
    """How far replacing one of an even number C of points moves `weighted_mean`, a score of (4/5 - g) C on one side.

    W(u - u') is the sum of (w_j - w_j')(u_j - u') over the common points, and both ends of the change. Weights differ
    by 6/C at most, W is at least (3/5 - 2g) C by convexity, and whatever has a weight lies within `diameter`, 4 tau, of
    what has one on the other side: two sets of more than C/2 share one of the C - 1 common points if C is even.
    """
    if count % 2:
        raise InvalidInput(f"an even number of points is needed, got {count}")
    kept = (0.6 - 2 * shortfall) * count
    return min(reach, diameter * 8 / kept) if kept > 0 else reach


@dataclass(frozen=True)
class CertifiedMovement:
    """A bound on the movement of the kept mean when one point changes, and the chance that it fails or is not needed.

    Attributes:
        sensitivity: in l2, where the score test passes.
        failure: that the test passes with a score so low that the bound says nothing, or that the coins are bad.
    """

    sensitivity: float
    failure: float


def certified_movement(
    count: int, *, diameter: float, reach: float, shortfall: float, passing: float, chance: float, doubled: bool
) -> CertifiedMovement:
    """Lemma B.2 and Lemma C.2 with constants, one point replaced, the same uniforms on both sides.

    Kept points lie pairwise within `diameter`, and with B other inclusions that differ both means are within
    diameter (2 + B)/|S| of each other. B is at most Binomial(C - 1, 6/C).

    Args:
        diameter: 4 tau, which is what the paper builds on; it may exceed what the data can do.
        reach: how far apart two kept means can lie at all; claimed, without failure, where nothing is sure to be kept.
        shortfall: g; with both scores below (4/5 - g) C the test passes with probability `passing` at most.
        chance: of each of the two bad events of the coins.
        doubled: the inclusions count within twice the radius of the score (Algorithm 1), else within the same radius.
    """
    core = 0.8 - shortfall
    kept = _fewest_in_core(count, core, chance) if doubled else _fewest_on_average(count, core, chance)
    if kept < 1:
        return CertifiedMovement(reach, 0.0)
    changed = _most_changed(count, chance)
    return CertifiedMovement(diameter * (2 + changed) / kept, passing + 2 * chance)


@functools.cache
def _most_changed(count: int, chance: float) -> int:
    """The least b with P(Binomial(C - 1, 6/C) > b) <= chance."""
    b = np.arange(min(count, MOST))
    enough = binomial_tail(b + 1, count - 1, min(1.0, 6 / count)) <= chance
    return int(np.argmax(enough)) if enough.any() else count


@functools.cache
def _fewest_in_core(count: int, core: float, chance: float) -> float:
    """A point with `core` C neighbours: they all count as many within the doubled radius, one fewer after a change."""
    members = math.ceil(core * count - ROUNDING) - 1
    p = min(1.0, 6 * (core * count - 1) / count - 3)
    return float(binomial_quantile(chance, members, p)) if members > 0 and p > 0 else 0.0


def _fewest_on_average(count: int, core: float, chance: float) -> float:
    """Mean count `core` C: by the convex envelope 2u - 1 of clip(6u - 3, 0, 1) the mean inclusion is 2 core - 1."""
    mean = (2 * core - 1) * count - 7  # the changed point, and 6/C of each other
    if mean <= 0:
        return 0.0
    spread = -math.log(chance)
    return math.floor(mean - min(math.sqrt(2 * mean * spread), math.sqrt(count * spread / 2)))
