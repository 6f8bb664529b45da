"""Theorem 9: restarted Algorithm 3 on curved losses of one record, at any n.

With all records equal the estimate of every leaf is the gradient at the point that it starts from, for the differences
of a walk have no error: what is left of Algorithm 3 is Frank-Wolfe with noisy selections, and only these are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.algorithms.l1_geometry import StronglyConvexReduction, TreeFrankWolfe
from dpcheck.algorithms.l1_geometry.reductions import Restart
from dpcheck.harness.scaling import Axis, Family, Instance, Shared
from dpcheck.interfaces import Array, Problem, Rng

from .cases import OneRecord, instance, three_phases

LATE = 1e-40
"""delta, below 1/n."""
PLACE = 0.5
"""Of the minimiser on the first axis."""


@dataclass(frozen=True)
class Vast(TreeFrankWolfe):
    """Algorithm 3 on more records than NumPy has roots of."""

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        numbers = super().terms(problem, n)
        return {**numbers, "b": float(numbers["b"])}


INNER = Vast(noise="approximate", sensitivity="safe")


def restarted(
    curvature: float, *, n: int, epsilon: float, delta: float, modulus: float, H: float, d: int = 2, L: float = 1.0
) -> Instance:
    """Restarted Algorithm 3 on h |x - x*|_2^2/2, h/d a multiple of the class's modulus; x* is the same for all."""
    h = d * modulus * curvature
    work = OneRecord(z=(h * PLACE, *[0.0] * (d - 1)), curvature=h, L=L, H=H)
    algorithm = StronglyConvexReduction(INNER, weight=modulus)
    return instance(algorithm, work, n, epsilon, delta, **{"lambda": modulus})


def spending(T: int, *, n: int, delta: float, H: float, d: int = 2) -> float:
    """The epsilon at which the first run has T phases without rounding, at L = 1."""
    first = int(n / 2 / math.log2(n))
    batch = first / math.log2(first) ** 2
    return float(2 ** (1.5 * T) * (math.log(first) - math.log(delta)) * math.log2(2 * d) / (batch * H * 2) * (1 + 1e-9))


def reached(T: int, *, epsilon: float) -> int:
    """The n at which the first run has T phases without rounding, at that epsilon."""
    low, high = 64.0, 128.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        enough = spending(T, n=int(2**middle), delta=LATE, H=0.5) <= epsilon
        low, high = (low, middle) if enough else (middle, high)
    return math.ceil(2**high)


def selections(one: Instance, rng: Rng, trials: int) -> Array:
    """Where the runs end: the lines of Algorithm 3 with exact gradients, around the output of the run before."""
    work, record, d = one.work, np.asarray(one.work.z), len(one.work.z)
    x, signs = np.zeros((trials, d)), np.concatenate([np.eye(d), -np.eye(d)])
    for run in one.algorithm.schedule(one.problem, one.n).phases:
        restart = isinstance(run, Restart)
        centre, radius = (x, run.distance) if restart and run.i > 1 else (np.zeros_like(x), work.D / 2)
        for row in run.inner.phases if restart else (run,):
            for leaf in range(row.leaves):
                slopes = work.gradient(x, record)
                # <gradient, centre> is common to all corners and selects none.
                scores = radius * np.concatenate([slopes, -slopes], axis=1)
                chosen = (scores + rng.laplace(scale=row.scale, size=scores.shape)).argmin(axis=1)
                step = row.step(leaf)
                x = (1 - step) * x + step * (centre + radius * signs[chosen])
        x = work.project(x)
    return x


# Wrong schedules


def shallow(one: Instance) -> Instance:
    """Three phases in every run, whatever n is."""
    inner = three_phases(one.running(one.algorithm.inner)).algorithm
    return one.running(replace(one.algorithm, inner=inner))


def louder(one: Instance) -> Instance:
    """Noise too large by (n epsilon)^(1/8)."""
    inner = replace(one.algorithm.inner, noise_dial=(one.n * one.at["epsilon"]) ** 0.125)
    return one.running(replace(one.algorithm, inner=inner))


# Where the proved distances begin to fall below the domain's, and the noise of a selection costs most

SIZES = (3, 4, 5, 6)
"""Phases of the first run."""
FEWEST = 2**66
"""n of rows over epsilon and delta."""
SPENT = {T: spending(T, n=FEWEST, delta=LATE, H=0.5) for T in SIZES}
"""Phases -> epsilon."""
MANY = 2**120
"""The first n of the row over it: the more, the less do its logarithms move."""
FAINT = spending(SIZES[0], n=MANY, delta=LATE, H=0.5)
RECORDS = [MANY, *(reached(T, epsilon=FAINT) for T in SIZES[1:])]
"""n at which the first run has each number of phases."""
HALVED = [87 * 2 ** (1.5 * k) for k in range(3)]
"""log(n_1/delta) of the first run, n_1 its records; 2^T falls by half from each to the next."""
UNLIKELY = [FEWEST / 2 / math.log2(FEWEST) * math.exp(-x) for x in HALVED]
"""delta, at the last of which a float ends."""
SPENT_AT_FIRST = spending(6, n=FEWEST, delta=UNLIKELY[0], H=0.5)
BEGINNING: Mapping[str, Any] = {
    "part": "private",
    "family": Family.of(mirrored=True, curvature=Axis((1.0, 2.0, 4.0, 8.0, 16.0), (True, True))),
    "engine": Shared(selections, 12_000),
    "mutants": {"T = 3": shallow, "noise times (nε)^(1/8)": louder},
    "since": "standard",
}


def beginning(curvature: float, n: int, epsilon: float, delta: float = LATE) -> Instance:
    """At a modulus so small that the proved distances are still those of the domain, where the bound is least loose."""
    return restarted(curvature, n=n, epsilon=epsilon, delta=delta, modulus=1 / 64, H=0.5)
