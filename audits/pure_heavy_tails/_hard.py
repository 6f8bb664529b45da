"""Private decoders of the packed laws, and this paper's algorithms run on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special, stats

from dpcheck.algorithms.pure_heavy_tails import PopLocalize, SingleOutputPert
from dpcheck.algorithms.pure_heavy_tails.hard_instances import mean_from_point, nearest
from dpcheck.checks import Context
from dpcheck.harness import risk
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Schedule, Workload
from dpcheck.running import Fresh, Run
from dpcheck.verdicts import Point, Verdict
from dpcheck.workloads.linear import LinearWorkload, SparseDirection

from ._instances import BLOCKS, practical, problem

ZETAS = (0.25, 0.1, 0.01, 1e-4)
"""Failure probabilities."""
ROOT = 1e-12
"""Relative: what float64 instances may be off by where their constants are roots and logarithms."""


def private_decoder_error(size: int, n: int, epsilon: float, p: float) -> float:
    """Exact average error of the epsilon-DP decoder P(j) ∝ exp(epsilon count_j/2) on a packed law.

    Replacing a record moves every count by at most 1. Under P_nu the count of nu is Bin(n, p), all others are 0.
    """
    count = np.arange(n + 1)
    wrong = special.expit(np.log(size - 1) - epsilon * count / 2)
    return float(stats.binom.pmf(count, n, p) @ wrong)


@dataclass(frozen=True)
class NonPrivate(Algorithm[None]):
    """The minimiser of the empirical risk of linear losses: -D/2 along the mean; releases nothing."""

    label = "pure_heavy_tails/fact-trivial"

    def schedule(self, problem: Problem, n: int) -> Schedule[None]:
        return Schedule(phases=(), releases=(), gradients=n, floats_per_trial=4 * problem.constants.d, claimed=None)

    def execute(self, run: Run[None], workload: Workload, data: Data, start: Array) -> Array:
        sample = data.read()
        mean = sample.mean(sample.values)
        return np.asarray(workload.constants.diameter(2.0) / 2 * mean_from_point(mean, 1.0))


def solvers(d: int, k: float = 2.0) -> dict[str, PopLocalize]:
    """The localised algorithms with few blocks, as private as the proved ones.

    In the plane and above the second stage of Algorithm 4 is slow on steep records, so that the one-stage solver with
    the paper's own noise stands in for it there.
    """
    noisy = PopLocalize(erm=SingleOutputPert(k=k, calibration="paper"), blocks=BLOCKS, c_erm=1.0)
    second = {"double": practical(k, "double").outer()} if d == 1 else {"single, the paper's noise": noisy}
    return {"single": practical(k, "single").outer(), **second}


def decode_with(
    context: Context, solver: str, laws: Sequence[SparseDirection], n: int, epsilon: float, trials: int
) -> tuple[int, int]:
    """Errors of the nearest-neighbour decoder behind an algorithm, over all laws of the packing."""
    algorithm = solvers(laws[0].d)[solver]
    means = np.stack([law.mean for law in laws])
    size = float(np.linalg.norm(means[0]))
    wrong = 0
    for index, law in enumerate(laws):
        plan = algorithm.schedule(problem(law, epsilon), n)
        data = Fresh(law, trials, n, context.seed, "decode", solver, index)
        start = np.zeros((1, law.d))
        point = algorithm.execute(Run(plan, trials, context.rng("decode", index)), law, data, start)
        wrong += int((nearest(mean_from_point(point, size), means) != index).sum())
    return wrong, trials * len(laws)


def excesses(
    context: Context, algorithm: Algorithm[Any], law: LinearWorkload, n: int, epsilon: float, trials: int, *key: Any
) -> Array:
    """Exact excess risks on one hard instance, (trials,)."""
    return risk.excess_risks(
        algorithm, law, problem(law, epsilon), n, trials, context.seed, context.label, dict(context.cell), *key,
        gradients=1e18,
    )  # fmt: skip


def drawn(answer: Verdict, points: list[Point], x: str, y: str) -> Verdict:
    """The verdict with a figure."""
    return replace(answer, points=points, axes=(x, y))
