"""Excess risk as n grows, against the symbolic local exponents of Theorems 1 to 3, 6, 7, 10 and 11.

The problems are power wells, on which the noise condition holds with equality, and two-point linear losses, which are
as hard as general convex ones get in one dimension. Phases of Algorithm 3 are the corrected ones, so that what is
measured of Algorithms 3 to 5 are readings of our own (`@phases`), and are taken to where their steps lead. beta = 0.05,
where Theorem 1 speaks of beta <= 1/n.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from dpcheck.algorithms.tsybakov import PermutedAccelerated
from dpcheck.checks import Context, by_size, check
from dpcheck.harness import risk
from dpcheck.harness.budget import certified
from dpcheck.interfaces import Algorithm
from dpcheck.symbols import BY_NAME
from dpcheck.workloads.linear import TwoPoint

from ._risk import (
    ANY,
    BETA,
    SMALL,
    approximation,
    even_calls,
    even_parts,
    iterated,
    iterated_sgd,
    localised,
    order_at,
    priced,
    problem,
    well,
)

FAR = by_size([2**j for j in (40, 48, 56)], [2**j for j in range(36, 57, 4)], [2**j for j in range(32, 57, 2)])
CALLS = by_size(*([even_calls(j) for j in js] for js in ((34, 42, 50), range(30, 51, 4), range(28, 53, 2))))
PARTS = by_size(*([even_parts(j) for j in js] for js in ((34, 42, 50), range(28, 53, 2), range(28, 53))))
"""Sizes that leave no record over: the roundings of the parts to powers of two would scatter the slopes."""
TILTS = (0.3, 1.0, 3.0)
"""Mean gradient over R τ(n): the hardest linear loss has one of about 1."""


def measured(
    context: Context,
    algorithm: Algorithm[Any],
    work: Any,
    n: int,
    epsilon: float,
    trials: int,
    *key: Any,
    statistic: str = "mean",
) -> dict[str, float]:
    """Mean excess risk over fresh runs, or its 0.95-quantile, with its standard error."""
    values = risk.excess_risks(
        algorithm, work, problem(work, epsilon), n, trials, context.seed, context.label, context.name,
        dict(context.cell), *key, gradients=ANY,
    )  # fmt: skip
    found = risk.summary(values, 1.0) if statistic == "mean" else risk.quantile_summary(values, 1 - BETA, 1.0)
    spent = certified(algorithm, problem(work, epsilon), n)
    return {**found, "certified over promised": spent["certified epsilon"] / epsilon}


def hardest_tilt(context: Context, label: str, k: float, n: int, statistic: str = "mean") -> dict[str, float]:
    """The corrected Algorithm 3 on linear losses whose tilt is of the order of the rate: the worst of a few."""
    plain = TwoPoint(D=2.0, G=1.0, rho=0.0)
    expected, algorithm = order_at(label, plain, n, k, SMALL), localised(k)
    tau = algorithm.private_term(problem(plain, SMALL), n) + n**-0.5
    worst: dict[str, float] = {"mean": -1.0}
    for tilt in TILTS:
        work = TwoPoint(D=2.0, G=1.0, rho=min(1.0, tilt * tau))
        found = measured(context, algorithm, work, n, SMALL, context.scale(400, 1000, 4000), tilt, statistic=statistic)
        worst = max(worst, {**found, "tilt": tilt}, key=lambda row: row["mean"])
    return {**worst, **expected}


@check(
    "tsybakov/thm-1@phases",
    kind="rate",
    grid={"statistic": ("mean", "0.95-quantile"), "k": (2.0, 4.0), "n": FAR},
    conclude=priced("n", axis="excess risk"),
    expect=("consistent", "undecided"),
)
def localised_risk_on_tilted_lines(context: Context, *, statistic: str, k: float, n: int) -> dict[str, float]:
    """The corrected Algorithm 3 on linear losses, the worst of three tilts, against R D τ(n): -1/2 and -3/4 in n."""
    return hardest_tilt(context, "tsybakov/thm-1@phases", k, n, statistic)


@check(
    "tsybakov/thm-10@phases",
    kind="rate",
    grid={"k": (2.0, 4.0), "n": FAR},
    conclude=priced("n", axis="mean excess risk"),
    expect=("consistent", "undecided"),
)
def localised_risk_with_its_logarithm(context: Context, *, k: float, n: int) -> dict[str, float]:
    """The same against the order of Theorem 10, which keeps the logarithm that the clip level has."""
    return hardest_tilt(context, "tsybakov/thm-10@phases", k, n)


@check(
    "tsybakov/thm-2@phases",
    kind="rate",
    grid={"d": by_size((1, 4, 16), (1, 2, 4, 8, 16, 32), (1, 2, 4, 8, 16, 32, 64))},
    conclude=priced("d", axis="mean excess risk"),
    expect=("consistent", "undecided"),
)
def approximation_risk_in_the_dimension(context: Context, *, d: int) -> dict[str, float]:
    """The corrected Algorithm 4 on wells of exponent 2 in d dimensions, k = 2, n about 2^44: 1/2 in d."""
    work, n = well(2.0, 4.0, d=d), even_calls(40)
    found = measured(context, approximation(2.0), work, n, SMALL, context.scale(50, 100, 400))
    return {**found, **order_at("tsybakov/thm-2@phases", work, n, 2.0, SMALL, variable="d")}


def on_a_well(
    context: Context, label: str, algorithm: Algorithm[Any], theta: float, k: float, n: int
) -> dict[str, float]:
    """An algorithm on a power well at a small fixed epsilon, against a claim's order."""
    work = well(theta, 2 * k)
    found = measured(context, algorithm, work, n, SMALL, context.scale(100, 200, 1000))
    return {**found, **order_at(label, work, n, k, SMALL)}


@check(
    "tsybakov/thm-2@phases",
    kind="rate",
    grid={"theta": (2.0, 4.0), "k": (2.0, 4.0), "n": CALLS},
    conclude=priced("n", axis="mean excess risk"),
    expect=("consistent", "undecided"),
)
def approximation_risk_under_growth(context: Context, *, theta: float, k: float, n: int) -> dict[str, float]:
    """The corrected Algorithm 4 on power wells against its order: -1, -3/2 (theta = 2) and -2/3, -1 (theta = 4)."""
    return on_a_well(context, "tsybakov/thm-2@phases", approximation(k), theta, k, n)


@check(
    "tsybakov/thm-11@phases",
    kind="rate",
    grid={"theta": (2.0, 4.0), "n": CALLS},
    conclude=priced("n", axis="mean excess risk"),
    expect=("consistent", "undecided"),
)
def approximation_risk_with_its_logarithms(context: Context, *, theta: float, n: int) -> dict[str, float]:
    """The same at k = 2 against the order with the logarithms of Theorem 11."""
    return on_a_well(context, "tsybakov/thm-11@phases", approximation(2.0), theta, 2.0, n)


@check(
    "tsybakov/thm-3@phases",
    kind="rate",
    grid={"theta": (2.0, 4.0), "k": (2.0, 4.0), "n": PARTS},
    conclude=priced("n", axis="mean excess risk"),
    expect=("refuted", "consistent", "undecided"),
)
def iterated_risk_under_growth(context: Context, *, theta: float, k: float, n: int) -> dict[str, float]:
    """Algorithm 5 with corrected phases on power wells: its domain does not shrink, and its risk is behind the order.

    There are 5 calls from n = 2^32 to 2^63, and what a call makes of a well of exponent 2 tends to τ^((4 + 2/k)/3):
    n^(-5/6) and n^(-9/8) at k = 2, 4, where the order has n^-1 and n^(-3/2).
    """
    return on_a_well(context, "tsybakov/thm-3@phases", iterated(k), theta, k, n)


def tied_risk(
    context: Context, label: str, algorithm: Algorithm[Any], theta: float, k: float, n: int
) -> dict[str, float]:
    """An algorithm on a power well at epsilon = n^(-1/2), which is inside the range of Theorem 6."""
    work, trials = well(theta, k), context.scale(200, 400, 4000)
    found = measured(context, algorithm, work, n, n**-0.5, trials)
    return {**found, **order_at(label, work, n, k, n**-0.5, tied=1 / sp.sqrt(BY_NAME["n"]))}


TIED = by_size([2**j for j in (40, 48, 56)], [2**j for j in range(36, 57, 2)], [2**j for j in range(36, 61)])
LINEAR = by_size([2**j for j in (24, 36, 48)], [2**j for j in range(20, 53, 4)], [2**j for j in range(16, 57, 2)])


@check(
    "tsybakov/thm-6",
    kind="rate",
    grid={"k": (2.0, 4.0), "n": LINEAR},
    conclude=priced("n", axis="mean excess risk"),
    expect=("consistent", "undecided"),
)
def accelerated_risk(context: Context, *, k: float, n: int) -> dict[str, float]:
    """Algorithm 6 with the printed noise (constant 64) on a well of exponent 4 at epsilon = n^(-1/2): r_k D τ(n)."""
    return tied_risk(context, "tsybakov/thm-6", PermutedAccelerated(k=k, calibration="literal"), 4.0, k, n)


@check(
    "tsybakov/alg-6@plain",
    kind="rate",
    grid={"k": (2.0, 4.0), "n": LINEAR},
    conclude=priced("n", axis="mean excess risk"),
    expect=("refuted", "consistent", "undecided"),
)
def accelerated_risk_without_shuffling(context: Context, *, k: float, n: int) -> dict[str, float]:
    """The same with noise for disjoint batches, which costs a factor sqrt(T) in the order and less in constants."""
    return tied_risk(context, "tsybakov/thm-6", PermutedAccelerated(k=k, calibration="plain"), 4.0, k, n)


@check(
    "tsybakov/thm-7@phases",
    kind="rate",
    grid={"reading": ("corrected", "shrinking"), "theta": (2.0, 4.0), "n": TIED},
    conclude=priced("n", axis="mean excess risk"),
    expect=("refuted", "consistent", "undecided"),
)
def iterated_accelerated_risk(context: Context, *, reading: str, theta: float, n: int) -> dict[str, float]:
    """Algorithm 7 at k = 2 on power wells, on the whole domain and on shrinking balls, at epsilon = n^(-1/2)."""
    return tied_risk(context, "tsybakov/thm-7@phases", iterated_sgd(2.0, reading), theta, 2.0, n)
