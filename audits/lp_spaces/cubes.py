"""Truncated mirror descent over the dimension: p next to 2, on a cube of Euclidean diameter 1.

There Φ is Euclidean up to nine digits, and a step onto the cube is clipped coordinate by coordinate. Records lie on
the diagonal, so that all of one is zeroed or none, and every coordinate has a d-th part of the loss: an instance holds
the diagonal alone, and the walk is that of one coordinate, in units of √d.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.algorithms.lp_spaces import BatchedMirrorDescent, ShuffledMirrorDescent
from dpcheck.algorithms.lp_spaces.regular import kappa as regularity
from dpcheck.algorithms.lp_spaces.truncated import TruncatedMirrorDescent, Truncation
from dpcheck.harness.scaling import Instance, Risk, Steps, Walk
from dpcheck.harness.scaling.rows import Mutant
from dpcheck.interfaces import Array, Data, Workload
from dpcheck.running import Run

from .cases import CORRECTED, RARE, Spikes, problem, truncation

NEXT_TO_TWO = 2 - 1e-9
"""p, below 2 as the theorems ask."""


def diagonal(*, n: int, d: int, epsilon: float, chance: float, delta: float = RARE, shuffled: bool = False) -> Instance:
    """Truncated mirror descent with its own noise, in batches or shuffled, on spikes along the diagonal."""
    work = Spikes(chance)
    algorithm: TruncatedMirrorDescent = (
        ShuffledMirrorDescent(p=NEXT_TO_TWO, **CORRECTED) if shuffled else BatchedMirrorDescent(p=NEXT_TO_TWO)
    )
    told = problem(work, epsilon, delta)
    told = replace(told, constants=replace(told.constants, d=d))
    kappa = regularity(NEXT_TO_TWO, d, "safe")
    at = {"n": n, "d": d, "epsilon": epsilon, "delta": delta, "D": 1.0, "kappa": kappa}
    return Instance(algorithm, work, told, n, {name: float(v) for name, v in at.items()})


def steps(one: Instance) -> Steps:
    """Those of one coordinate, in units of the diagonal: the noise of d coordinates, the spikes of one record."""
    work, d = one.work, one.problem.constants.d
    assert isinstance(one.algorithm, TruncatedMirrorDescent)
    row = truncation(one.algorithm, one.n, one.at["epsilon"], one.at["delta"], d)
    seen = work.chance if work.size <= row.level else 0.0
    noise = row.sigma * math.sqrt(d / (row.batch if isinstance(one.algorithm, ShuffledMirrorDescent) else 1))
    spread = math.hypot(noise, work.size * math.sqrt(seen * (1 - seen) / row.batch))
    return Steps(seen * work.size / row.gamma, spread / row.gamma, row.steps)


WALK = Walk(steps)


def with_dimension(one: Instance) -> Instance:
    """λ too large by d^(1/4)."""
    chosen = one.algorithm
    assert isinstance(chosen, TruncatedMirrorDescent)
    T, level = chosen.parameters(one.problem, one.n)
    return one.running(replace(chosen, steps=round(T), threshold=level * one.problem.constants.d**0.25))


IN_D: Mapping[str, Mutant] = {"λ times d^(1/4)": with_dimension}


# What runs say of it


@dataclass(frozen=True)
class DiagonalSpikes(Spikes):
    """The loss in all its coordinates: f(w, z) = -z <1, w>/√d."""

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(-w.sum(axis=-1) / math.sqrt(self.d) * z[..., 0])

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(-z / math.sqrt(self.d) + 0 * w)

    def excess_risk(self, w: Array) -> Array:
        return super().excess_risk(w.sum(axis=-1, keepdims=True) / math.sqrt(self.d))


@dataclass(frozen=True)
class OnACube(BatchedMirrorDescent):
    """The batched form on the cube of Euclidean diameter 1: its truncation and its releases, each step clipped."""

    p: float = NEXT_TO_TWO

    def execute(self, run: Run[Truncation], workload: Workload, data: Data, start: Array) -> Array:
        (row,), d = run.schedule.phases, workload.constants.d
        w, half = np.broadcast_to(start, (run.trials, d)), 1 / (2 * math.sqrt(d))
        average = np.zeros_like(w)
        for t in range(row.steps):
            sample = data.part(t * row.batch, (t + 1) * row.batch).read()
            noisy = self.answer(run, t, sample, self.truncated(workload, w, sample.values, row.level))
            w = np.clip(w - noisy / row.gamma, -half, half)
            average = average + (w - average) / (t + 1)
        return average


@dataclass(frozen=True)
class Section:
    """The walk on the diagonal of such a loss. Attributes are those of every engine."""

    quantile: float | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        return WALK(replace(instance, work=Spikes(instance.work.chance)), seed, *key, pilot=pilot)


def in_full(*, n: int, d: int, epsilon: float, chance: float, delta: float) -> Instance:
    """The loss in all its coordinates, and the algorithm on the cube."""
    one, work = diagonal(n=n, d=d, epsilon=epsilon, chance=chance, delta=delta), DiagonalSpikes(chance, d)
    return replace(one, algorithm=OnACube(), work=work, problem=problem(work, epsilon, delta))
