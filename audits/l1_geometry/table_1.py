"""Runs whose risk the rates of Table 1 are compared with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpcheck.algorithms.l1_geometry import LocalizedMirrorDescent, TreeFrankWolfe
from dpcheck.checks import Context
from dpcheck.harness import risk
from dpcheck.harness.budget import budget
from dpcheck.interfaces import Array, Rng, Sample
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fresh, Run
from dpcheck.workloads.crosspolytope import SignLasso
from dpcheck.workloads.sign_atoms import CountedLinear, at_corners, counts

from .cases import lasso, least_private, problem

DELTA_OF_RATES = 1e-6


@dataclass(frozen=True)
class EachItsOwn:
    """Draws the records of a trial by its own mean, one of (trials, d)."""

    work: CountedLinear
    mean: Array

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        return counts(rng, trials, n, self.work.atoms[0], at_corners(self.mean))


def worst_linear_loss(
    context: Context, n: int, d: int, epsilon: float, trials: int, grid: Sequence[float] = (0.35, 0.5, 0.7, 1.0, 1.4)
) -> dict[str, float]:
    """Mean excess risk of Algorithm 2 (gradient batches, least certified noise) over L D, on the worst of a few slopes,
    one of which the first phase's regulariser outweighs by half. Every trial has a slope of its own; all run at once.
    """
    work = CountedLinear(mu=(0.5, *[0.0] * (d - 1)))
    told = problem(work, ApproxDP(epsilon, DELTA_OF_RATES))
    algorithm = least_private(LocalizedMirrorDescent(batch_rule="gradients"), told, n)
    plan = algorithm.schedule(told, n)
    first = plan.phases[0]
    # |x|_p^2/(eta_1 n_1 (p - 1)) keeps x at half of the way at this slope.
    balanced = 1 / (first.eta_i * first.records * (first.p - 1))
    slopes = np.minimum(1.0, balanced * np.array(grid))
    mean = np.zeros((len(slopes) * trials, d))
    mean[:, 0] = np.repeat(slopes, trials)
    run: Run[Any] = Run(plan, len(mean), context.rng("risks"))
    data = Fresh(EachItsOwn(work, mean), len(mean), n, context.seed, context.name, dict(context.cell))
    point = algorithm.execute(run, work, data, np.zeros((1, d)))
    values = ((mean * point).sum(axis=1) + mean[:, 0]).reshape(len(slopes), trials) / 2
    worst = int(values.mean(axis=1).argmax())
    numbers = {
        **risk.summary(np.maximum(values[worst], 0.0), 1.0),
        "slope": float(slopes[worst]),
    }
    return numbers | budget(algorithm, told, n)


TREE = TreeFrankWolfe(noise="approximate", sensitivity="safe", steps="consecutive", budget="economical")


def tree_at(n: int, d: int, epsilon: float) -> tuple[TreeFrankWolfe, SignLasso]:
    """Algorithm 3 with the noise of Theorem 7, all n records, and the depth that balances drift and selection gap."""
    work = lasso(d)
    told = problem(work, ApproxDP(epsilon, DELTA_OF_RATES))
    rows = []
    for T in range(1, 8):
        algorithm = replace(TREE, T=T)
        if int(n / (T + T * (T + 1) / 4)) >= 2**T:
            scale = algorithm.schedule(told, n).phases[0].scale
            rows.append((4 / 2**T + scale * (1 + math.log(2 * d)), T, algorithm))
    return min(rows, key=lambda row: row[:2])[2], work


def tree_on_lasso(context: Context, n: int, d: int, epsilon: float, more: int = 1, depth: int = 0) -> dict[str, float]:
    """Mean excess risk of Algorithm 3 on the sign LASSO over L D, at the depth of `tree_at` unless one is given."""
    algorithm, work = tree_at(n, d, epsilon)
    algorithm = replace(algorithm, T=depth) if depth else algorithm
    told = problem(work, ApproxDP(epsilon, DELTA_OF_RATES))
    trials = more * context.scale(24, 100)
    values = risk.excess_risks(algorithm, work, told, n, trials, context.seed, context.name, dict(context.cell))
    unit = work.constants.lipschitz(1.0) * work.constants.diameter(1.0)
    numbers = {**risk.summary(np.maximum(values / unit, 0.0), 1.0), "T": algorithm.T or 0}
    return numbers | budget(algorithm, told, n)
