"""Instances that several checks of this paper share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import special

from dpcheck.accounting import account
from dpcheck.checks import Context
from dpcheck.geometry import Ball, Box, Domain, L1Ball
from dpcheck.harness import sensitivity
from dpcheck.harness.replay import Case
from dpcheck.harness.search import Search
from dpcheck.harness.sensitivity import Certificate
from dpcheck.interfaces import Array, Problem
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Verdict, holds, undecided
from dpcheck.workloads import CoordinateHuber, HeavyCoordinates, LinearMean, QuadraticMean, signs_on

DELTA = 1e-6
CORRECTED: dict[str, Any] = {"exponent": "corrected", "kappa_rule": "safe"}
"""Algorithms 3 and 4 with the dual exponent and the kappa of Definition 3."""


def problem(work: Any, epsilon: float, delta: float = DELTA) -> Problem:
    return Problem(constants=work.constants, privacy=ApproxDP(epsilon, delta))


def body(name: str, d: int) -> Domain:
    """A symmetric body of diameter 1."""
    if name == "l1 ball":
        return L1Ball(d, 0.5)
    return Ball(d, 0.5) if name == "l2 ball" else Box(-0.5 / math.sqrt(d), 0.5 / math.sqrt(d), d)


def linear(domain: Domain, shift: float = 0.5) -> LinearMean:
    """Linear losses with |x|_2 = 1 on a set of diameter 1."""
    return LinearMean(*signs_on(domain, 1.0, shift), domain, 0.5)


def quadratic(domain: Domain, inradius: float) -> QuadraticMean:
    """Mean estimation on a set of diameter 1, with records well inside."""
    return QuadraticMean(*signs_on(domain, 0.4 * inradius, 0.5), domain, 0.5, inradius**2)


def enough(context: Context, limit: float, bound: float, d: int) -> int:
    """Trials that a bet below `limit` takes to certify `bound` when the risk is far below it, within 2e7 numbers."""
    wanted = 3 * math.log(1 / context.failure_probability) * limit / bound
    return max(100, min(math.ceil(wanted), 20_000_000 // d))


FREE = 1e18
"""Gradients of these workloads are read as one mean: their number costs nothing."""
INRADIUS = {"l2 ball": lambda d: 0.5, "l1 ball": lambda d: 0.5 / math.sqrt(d), "cube": lambda d: 0.5 / math.sqrt(d)}


def huber(dimension: int, size: float = 0.3) -> CoordinateHuber:
    return CoordinateHuber(np.full(dimension, size))


def heavy(dimension: int, p: float = 1.5, smoothness: float = 0.05) -> HeavyCoordinates:
    return HeavyCoordinates(np.full(dimension, 0.5 * dimension ** (-1 / p)), radius=1.0, s=p, smoothness=smoothness)


def certified(plan: Any, claim: ApproxDP, what: str) -> Verdict:
    """HOLDS when the accountant certifies the claim at the schedule's own sensitivities."""
    found = account(plan).epsilon(claim.delta)
    said = f"{what}: epsilon at delta = {claim.delta:g} is at most {found:.4g}, claimed {claim.epsilon:g}"
    numbers = {"epsilon": found, "claimed": claim.epsilon}
    return (holds if found <= claim.epsilon * (1 + 1e-9) else undecided)(said, "certificate", numbers=numbers)


def replayed(case: Case, data: Array, neighbour: Array, because: str) -> Verdict:
    """One closed-form pair by replay, next to a certificate of 1."""
    seen = case.replay(data, neighbour, 8)
    found = Search()
    for name, ratios in seen.ratios().items():
        top = np.array([float(ratios.max())])
        found.offer(data, neighbour, {name: top}, "given")
    return sensitivity.judge(found, certificate=Certificate(1.0, because))


# One-dimensional pairs ------------------------------------------------------------------------------------------------


def normal_mass(low: Array, high: Array, sigma: float) -> Array:
    """P(low <= G <= high), both tails kept: the mirrored interval is used right of 0."""
    a, b = np.asarray(low) / sigma, np.asarray(high) / sigma
    flip = a > 0
    a, b = np.where(flip, -b, a), np.where(flip, -a, b)
    return np.asarray(special.ndtr(b) - special.ndtr(a))


def bump_excess(curvature: float, epsilon: float, delta: float) -> Array:
    """P - e^epsilon Q on the bump interval, over widths, positions and slopes of the neighbour, L = smoothness = 1.

    The n - 1 common records and the regulariser have total curvature `curvature` (times the smoothness of a record);
    the changed record of D rises from -A/2 to A/2 + offset over the interval, that of D' is linear with slope c.
    """
    sigma = math.sqrt(128 * math.log(2.5 / delta)) / epsilon
    k, A, c, s = np.meshgrid(
        np.linspace(-6, 6, 49), np.geomspace(0.05, 2.0, 12), [-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0], indexing="ij"
    )
    tilt = s * (1 - A / 2)
    half = A / 2  # width A at smoothness 1
    centre = k * sigma / curvature
    low, high = curvature * (centre - half), curvature * (centre + half)
    inside = normal_mass(low + tilt - A / 2, high + tilt + A / 2, sigma)
    outside = normal_mass(low + c, high + c, sigma)
    return np.asarray(inside - math.exp(epsilon) * outside)
