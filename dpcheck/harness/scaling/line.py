"""The law of an iterate on an interval, phase after phase, by convolution and clipping on a grid; no records are drawn.

A phase moves the point by a normal variable, projects it, adds normal noise and projects again: so do the phases of
localised algorithms on linear losses, whose point of rest is Π(w - ḡ/λ), ḡ the mean of n clipped gradients, up to the
normal law of that mean. Grid masses keep the mean of every move exactly, so the excess risk of a linear loss suffers
from the grid only through projections.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from dpcheck.errors import InvalidInput
from dpcheck.harness.scaling.engines import Instance, Risk
from dpcheck.interfaces import Array

STILL = 1e-9
"""Moves below this part of the interval are left out; there are as many as phases."""
SETTLED = 5e-3
"""Relative change of a risk with twice the cells up to which the grid counts as fine enough."""
WIDE = 8.0
"""Deviation, in steps of the grid, from which on a normal law is its density at the points."""


@dataclass(frozen=True)
class Move:
    """One phase: w -> Π(Π(w + drift + spread ξ) + noise ξ'), ξ and ξ' standard normal."""

    drift: float
    spread: float
    noise: float


def clipped_mean(work: Any, level: float) -> tuple[float, float]:
    """Mean and deviation of one record's clipped gradient, of a linear loss with finitely many atoms on the line."""
    atoms, chances = np.clip(np.ravel(work.atoms), -level, level), np.asarray(work.probabilities)
    mean = float(chances @ atoms)
    return mean, float(np.sqrt(max(0.0, chances @ atoms**2 - mean**2)))


@dataclass(frozen=True)
class Line:
    """The mean, or a quantile, of the excess risk in one dimension, up to the grid.

    A pilot takes a coarse grid. Sharing masses spreads them, so a grid that is too coarse makes a risk too large: the
    worst member may be one that only the grid makes so, which is why what is returned at last must not change when the
    cells are halved.

    Attributes:
        moves: the phases of an instance, read off its own schedule.
        cells: of the coarse grid.
    """

    moves: Callable[[Instance], Sequence[Move]]
    quantile: float | None = None
    cells: int = 256

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        work = instance.work
        if work.constants.d != 1:
            raise InvalidInput(f"the law on the line is of one dimension, got d = {work.constants.d}; draw records")
        moves = self.moves(instance)
        coarse = self._risk(work, moves, self.cells)
        if pilot:
            return Risk(coarse)
        fine = self._risk(work, moves, 2 * self.cells)
        if abs(fine - coarse) > SETTLED * fine:
            raise InvalidInput(
                f"the grid does not carry the law of {instance.algorithm.label} at n = {instance.n:,} on {work}: the "
                f"risk is {coarse:.6g} with {self.cells} cells and {fine:.6g} with twice as many; take more, or a "
                "window with more noise"
            )
        return Risk(fine)

    def _risk(self, work: Any, moves: Sequence[Move], cells: int) -> float:
        low, high = (float(work.project(np.array([[end]]))[0, 0]) for end in (-1e300, 1e300))
        points = np.linspace(low, high, cells + 1)
        mass = law(moves, points, float(work.project(np.zeros((1, 1)))[0, 0]))
        excess = np.asarray(work.excess_risk(points[:, None]))
        if self.quantile is None:
            return float(mass @ excess)
        order = np.argsort(excess)  # masses stand for densities: between points of the grid a quantile is interpolated
        return float(np.interp(self.quantile, np.cumsum(mass[order]), excess[order]))


def law(moves: Sequence[Move], points: Array, start: float) -> Array:
    """The masses of the final point on the grid; the start's is shared by its neighbours, so that the mean is kept."""
    step, width = points[1] - points[0], points[-1] - points[0]
    mass = np.maximum(0.0, 1 - np.abs(points - start) / step)
    for move in moves:
        if max(abs(move.drift), move.spread) > STILL * width:
            mass = _moved(mass, move.drift / step, move.spread / step)
        if move.noise > STILL * width:
            mass = _moved(mass, 0.0, move.noise / step)
    return np.asarray(mass)


def _moved(mass: Array, drift: float, deviation: float) -> Array:
    """The law of Π(w + drift + deviation ξ), in steps of the grid: what leaves the interval stays at its ends."""
    size = len(mass)
    spread = np.maximum(scipy.signal.fftconvolve(mass, kernel(size, drift, deviation)), 0.0)  # from -size to 2 size
    moved = spread[size : 2 * size].copy()
    moved[0] += spread[:size].sum()
    moved[-1] += spread[2 * size :].sum()
    return np.asarray(moved / moved.sum())


def kernel(size: int, drift: float, deviation: float) -> Array:
    """Masses of drift + deviation ξ at -size, …, size; the tails are at the ends, whence every point leaves the grid.

    The mass at j is E max(0, 1 - |x - j|), which keeps the mean exactly; of a wide law, its density.
    """
    if deviation > WIDE:
        places = np.arange(-size, size + 1) - drift
        masses = np.exp(-((places / deviation) ** 2) / 2) / (np.sqrt(2 * np.pi) * deviation)
        masses[0] = scipy.special.ndtr((places[0] + 0.5) / deviation)
        masses[-1] = scipy.special.ndtr((0.5 - places[-1]) / deviation)
        return np.asarray(masses)
    reach = 2 * size + 20 * WIDE
    above = _mean_above(np.clip(drift, -reach, reach) - np.arange(-size - 1, size + 2), deviation)
    masses = np.diff(above, n=2)
    masses[0], masses[-1] = 1 + above[2] - above[1], above[-3] - above[-2]
    return np.asarray(np.maximum(masses, 0.0))


def _mean_above(u: Array, deviation: float) -> Array:
    """E max(0, u + deviation ξ)."""
    if deviation == 0:
        return np.asarray(np.maximum(u, 0.0))
    z = u / deviation
    return np.asarray(u * scipy.special.ndtr(z) + deviation * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi))
