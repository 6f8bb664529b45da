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
from dpcheck.interfaces import Array, Problem, Rng
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Verdict, holds, inconclusive
from dpcheck.workloads import CoordinateHuber, HeavyCoordinates, LinearMean, QuadraticMean, signs_on

DELTA = 1e-6


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
    return (holds if found <= claim.epsilon * (1 + 1e-9) else inconclusive)(said, "certificate", numbers=numbers)


def replayed(case: Case, data: Array, neighbour: Array, because: str) -> Verdict:
    """One closed-form pair by replay, next to a certificate of 1."""
    seen = case.replay(data, neighbour, 8)
    found = Search()
    for name, ratios in seen.ratios().items():
        top = np.array([float(ratios.max())])
        found.offer(data, neighbour, {name: top}, "given")
    return sensitivity.judge(found, certificate=Certificate(1.0, because))


# The cone over a cross-polytope ---------------------------------------------------------------------------------------


def project_cone(h: Array) -> Array:
    """First coordinate of the projection of h onto {(t, v): |v|_2 <= t <= 1, |v|_1 <= 1} in R^(1 + d), one vector h.

    v is a soft-threshold of h by tau, cut to length t, and t = (|soft|_2 + h_0)/2 where the cone binds; tau is 0 or the
    root of |v|_1 = 1.
    """
    top, size = h[0], np.sort(np.abs(h[1:]))[::-1]
    sums, squares = np.cumsum(size), np.cumsum(size**2)

    def at(tau: float) -> tuple[float, float]:
        k = int(np.searchsorted(-size, -tau))
        if k == 0:
            return 0.0, 0.0
        total = float(sums[k - 1] - k * tau)
        return total, math.sqrt(max(0.0, float(squares[k - 1] - 2 * tau * sums[k - 1] + k * tau**2)))

    def height(tau: float) -> tuple[float, float]:
        total, length = at(tau)
        # Inside the cone nothing pulls t; outside v and t meet halfway.
        t = min(1.0, top if length <= top else max(0.0, (length + top) / 2))
        return t, (total * min(1.0, t / length) if length > 0 else 0.0)

    if height(0.0)[1] <= 1:
        return np.asarray(height(0.0)[0])
    low, high = 0.0, float(size[0])
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if height(middle)[1] > 1 else (low, middle)
    return np.asarray(height(high)[0])


def cone_excess(n: int, epsilon: float, power: float, trials: int, rng: Rng) -> tuple[Array, float]:
    """Excess risk of Algorithm 1 on the cone with loss t, d = n, theta_2 = 0, and the bound without its constant.

    alpha is min{L D/n^(3/2), eps^2 L D^3/(G_C^2 log(1/delta) n^power)}, L = 1, D = 2; G_C is the cone's, replaced by
    sqrt(2 log 2d) + 1, which is not below it: that makes alpha, the noise and the excess smaller.
    """
    d, D = n, 2.0
    width, log = math.sqrt(2 * math.log(2 * d)) + 1, math.log(1 / DELTA)
    alpha = min(1.0, D / n**1.5, epsilon**2 * D**3 / (width**2 * log * n**power))
    lambda_ = 1 / (math.sqrt(n) * D)
    sigma = 8 * math.sqrt(alpha * math.log(2.5 / DELTA) / lambda_) / epsilon
    values = np.array([float(project_cone(sigma * rng.standard_normal(1 + d))) for _ in range(trials)])
    return values, width * math.sqrt(log) / (n * epsilon) + D / math.sqrt(n)


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
