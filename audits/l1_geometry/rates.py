"""Rates of Algorithms 2 and 3 in n, d and epsilon against the symbolic ones.

Localised descent is measured on its worst linear loss: the largest mean excess over a grid of slopes, one of which the
first phase's regulariser outweighs by half. Below n = 240 log d and n eps = 15.5 sqrt(d log^3 d log(1/delta)) the
iterate cannot cross the domain (S25), so that the series start above. The descents have the least constant in place of
100 that the accountant certifies for the epsilon of their cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.algorithms.l1_geometry import LocalizedMirrorDescent, TreeFrankWolfe
from dpcheck.checks import Context, by_size, check
from dpcheck.claims import evaluate, local_exponent
from dpcheck.engine.catalogue import claim
from dpcheck.harness import rate, risk
from dpcheck.harness.budget import budget
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.workloads.crosspolytope import SignLasso, SignLinear

from ._instances import least_private, problem

DELTA_OF_RATES = 1e-6


# Theorem 1: sqrt(log d/n) + sqrt(d) log^1.5 d/(n eps) -----------------------------------------------------------------


def worst_linear_loss(
    context: Context, n: int, d: int, epsilon: float, trials: int, grid: Sequence[float] = (0.35, 0.5, 0.7, 1.0, 1.4)
) -> dict[str, float]:
    """Mean excess risk of Algorithm 2 (gradient batches, least certified noise) on the worst of a few slopes,
    over L D.

    Every trial has a slope of its own; all run at once.
    """
    work = SignLinear(mu=(0.5, *[0.0] * (d - 1)))
    told = problem(work, ApproxDP(epsilon, DELTA_OF_RATES))
    algorithm = least_private(LocalizedMirrorDescent(batch_rule="gradients"), told, n)
    plan = algorithm.schedule(told, n)
    first = plan.phases[0]
    # |x|_p^2/(eta_1 n_1 (p - 1)) keeps x at half of the way at this slope.
    balanced = 1 / (first.eta_i * first.records * (first.p - 1))
    slopes = np.minimum(1.0, balanced * np.array(grid))
    mean = np.zeros((len(slopes) * trials, d))
    mean[:, 0] = np.repeat(slopes, trials)
    rng, found = context.rng("risks"), []
    for part in np.array_split(mean, max(1, n * d * len(mean) // 4_000_000)):
        up = rng.random((len(part), n, d)) < (1 + part[:, None]) / 2
        run: Run[Any] = Run(plan, len(part), rng)
        point = algorithm.execute(run, work, Fixed(np.where(up, 1.0, -1.0)), np.zeros((1, d)))
        found.append((part * point).sum(axis=1) + part[:, 0])
    values = np.concatenate(found).reshape(len(slopes), trials) / 2
    worst = int(values.mean(axis=1).argmax())
    found = {**against_the_rate("l1_geometry/thm-4", values[worst], context, n, d, epsilon), "slope": float(slopes[worst])}
    return found | budget(algorithm, told, n)


def against_the_rate(label: str, values: np.ndarray, context: Context, n: int, d: int, epsilon: float) -> dict[str, float]:
    """What `rate.conclude` wants: the mean, the symbolic rate in units of L D, and its local exponent in the variable.

    Theorem 2 hides log(1/delta), which comes with epsilon.
    """
    at = {"n": float(n), "d": float(d), "epsilon": epsilon, "delta": DELTA_OF_RATES, "L": 1.0, "D": 1.0}
    if label.endswith("thm-2"):
        at["epsilon"] /= math.log(1 / DELTA_OF_RATES)
    variable = next(iter(context.cell)) if len(context.cell) == 1 else "epsilon"
    order = claim(label).order
    assert order is not None
    found = risk.summary(np.maximum(values, 0.0), float(evaluate(order, at)))
    return {**found, "exponent": local_exponent(order, variable, at)}


@check(
    "l1_geometry/thm-4",
    kind="rate",
    grid={"n": by_size([1024, 1448, 2048, 2896], [1024, 1448, 2048, 2896, 4096, 5793, 8192])},
    conclude=rate.conclude("n"),
    expect=("undecided", "consistent"),
)
def localised_descent_in_n(context: Context, *, n: int) -> dict[str, float]:
    """Algorithm 2, d = 4, epsilon = 1, on its worst slope: L D sqrt(log d/n) and sqrt(d log^3 d)/(n eps)."""
    return worst_linear_loss(context, n, 4, 1.0, context.scale(6, 20))


@check(
    "l1_geometry/thm-4",
    kind="rate",
    grid={"epsilon": by_size([0.4, 0.56, 0.8, 1.0], [0.2, 0.28, 0.4, 0.56, 0.8, 1.0])},
    conclude=rate.conclude("epsilon"),
    expect=("undecided", "consistent"),
)
def localised_descent_in_epsilon(context: Context, *, epsilon: float) -> dict[str, float]:
    """Algorithm 2, d = 4, n = 2048 (4096): the exponent rises from -1 as the statistical term grows."""
    return worst_linear_loss(context, context.scale(2048, 4096), 4, epsilon, context.scale(6, 20))


@check(
    "l1_geometry/thm-4",
    kind="rate",
    grid={"d": by_size([2, 4, 6, 8], [2, 3, 4, 6, 8, 12])},
    conclude=rate.conclude("d"),
    expect=("undecided", "consistent"),
)
def localised_descent_in_d(context: Context, *, d: int) -> dict[str, float]:
    """Algorithm 2, epsilon = 0.5: the privacy term goes like sqrt(d) log^1.5 d."""
    return worst_linear_loss(context, context.scale(2048, 4096), d, 0.5, context.scale(6, 20))


# Theorem 2: sqrt(log d/n) + (log d/(n eps))^(2/3) ---------------------------------------------------------------------


TREE = TreeFrankWolfe(noise="approximate", sensitivity="safe", steps="consecutive", budget="economical")


def tree_at(n: int, d: int, epsilon: float) -> tuple[TreeFrankWolfe, SignLasso]:
    """Algorithm 3 with the noise of Theorem 7, all n records, and the depth that balances drift and selection gap."""
    work = lasso(d)
    told = problem(work, ApproxDP(epsilon, DELTA_OF_RATES))
    found = []
    for T in range(1, 8):
        algorithm = replace(TREE, T=T)
        if int(n / (T + T * (T + 1) / 4)) >= 2**T:
            scale = algorithm.schedule(told, n).phases[0].scale
            found.append((4 / 2**T + scale * (1 + math.log(2 * d)), T, algorithm))
    return min(found, key=lambda row: row[:2])[2], work


def lasso(d: int) -> SignLasso:
    """|x*|_1 = 0.8, in two coordinates."""
    return SignLasso(x_star=(0.6, -0.2, *[0.0] * (d - 2)))


def tree_on_lasso(context: Context, n: int, d: int, epsilon: float, more: int = 1, depth: int = 0) -> dict[str, float]:
    """Mean excess risk of Algorithm 3 on the sign LASSO over L D, at the depth of `tree_at` unless one is given."""
    algorithm, work = tree_at(n, d, epsilon)
    algorithm = replace(algorithm, T=depth) if depth else algorithm
    told = problem(work, ApproxDP(epsilon, DELTA_OF_RATES))
    trials = more * context.scale(24, 100)
    values = risk.excess_risks(algorithm, work, told, n, trials, context.seed, context.name, dict(context.cell))
    unit = work.constants.lipschitz(1.0) * work.constants.diameter(1.0)
    found = {**against_the_rate("l1_geometry/thm-2", values / unit, context, n, d, epsilon), "T": algorithm.T or 0}
    return found | budget(algorithm, told, n)


@check(
    "l1_geometry/thm-2",
    kind="rate",
    grid={"n": by_size([2**k for k in range(10, 15)], [2**k for k in range(10, 18)])},
    conclude=rate.conclude("n"),
    expect=("undecided", "consistent"),
)
def tree_in_n(context: Context, *, n: int) -> dict[str, float]:
    """Algorithm 3 on the sign LASSO, d = 8, epsilon = 1/2."""
    return tree_on_lasso(context, n, 8, 0.5)


@check(
    "l1_geometry/thm-2",
    kind="rate",
    grid={"epsilon": by_size([0.08, 0.16, 0.32, 0.64, 1.0], [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.0])},
    conclude=rate.conclude("epsilon"),
    expect=("undecided", "consistent"),
)
def tree_in_epsilon(context: Context, *, epsilon: float) -> dict[str, float]:
    """The same over epsilon at n = 8192 (65536)."""
    return tree_on_lasso(context, context.scale(8192, 65_536), 8, epsilon)


@check(
    "l1_geometry/thm-2",
    kind="rate",
    grid={"d": by_size([4, 8, 16, 32], [4, 8, 16, 32, 64, 128])},
    conclude=rate.conclude("d"),
    expect=("undecided", "consistent"),
)
def tree_in_d(context: Context, *, d: int) -> dict[str, float]:
    """The same over d at n = 8192 (16384), epsilon = 1/2: logarithmic growth."""
    return tree_on_lasso(context, context.scale(8192, 16_384), d, 0.5)
