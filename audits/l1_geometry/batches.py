"""Algorithms 2 and 6 with batches so large that a phase makes few steps, as rates are measured."""

from __future__ import annotations

from dataclasses import dataclass

from dpcheck.algorithms.l1_geometry import GeneralLocalizedMirrorDescent
from dpcheck.interfaces import Problem

from .cases import LargePhases


@dataclass(frozen=True)
class Coarse(LargePhases):
    """Algorithm 2 with batches of a quarter of a phase, which make sixteen steps; privacy is that of these batches.

    T b² = n_i² whatever b, so that the steps of a phase average the same noise. They are not as good at it where the
    noise of a step exceeds the domain, but all lengths go with nε: what differs from millions of steps is a factor.
    """

    def batch(self, problem: Problem, n_i: float, epsilon_i: float) -> float:
        return n_i / 4


@dataclass(frozen=True)
class GeneralCoarse(LargePhases, GeneralLocalizedMirrorDescent):
    """The same of Algorithm 6."""

    def batch(self, problem: Problem, n_i: float, epsilon_i: float) -> float:
        return n_i / 4


@dataclass(frozen=True)
class ShortOnCubes(LargePhases):
    """Algorithm 2 with batches of a 32nd of a phase, which make 1,024 steps; privacy is that of these batches."""

    def batch(self, problem: Problem, n_i: float, epsilon_i: float) -> float:
        return n_i / 32


@dataclass(frozen=True)
class GeneralShort(LargePhases, GeneralLocalizedMirrorDescent):
    """The same of Algorithm 6."""

    def batch(self, problem: Problem, n_i: float, epsilon_i: float) -> float:
        return n_i / 32
