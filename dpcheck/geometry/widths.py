"""Gaussian widths: expected suprema of <xi, w> for standard normal xi, by formula, quadrature or certified sampling."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Rng

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def _integral(f: Callable[[Array], Array], low: float, high: float, width: float) -> float:
    """Integral of a smooth function on panels of at most `width`, 20 points each."""
    edges = np.linspace(low, high, max(1, math.ceil((high - low) / width)) + 1)
    half, middle = np.diff(edges) / 2, (edges[1:] + edges[:-1]) / 2
    points = (middle[:, None] + half[:, None] * _NODES).ravel()
    return float((half[:, None] * _WEIGHTS).ravel() @ f(points))


def expected_maximum(m: int) -> float:
    """E max of m independent standard normals."""
    if m == 1:
        return 0.0
    above = _integral(lambda x: -np.expm1(m * scipy.special.log_ndtr(x)), 0.0, 40.0, 0.25)
    below = _integral(lambda x: np.exp(m * scipy.special.log_ndtr(-x)), 0.0, 40.0, 0.25)
    return above - below


def expected_maximum_size(d: int) -> float:
    """E max |xi_j| in R^d."""
    return _integral(lambda x: -np.expm1(d * np.log1p(-scipy.special.erfc(x / math.sqrt(2)))), 0.0, 40.0, 0.25)


def expected_length(d: int) -> float:
    """E|xi|_2 in R^d: sqrt(2) Gamma((d + 1) / 2) / Gamma(d / 2)."""
    return math.sqrt(2) * float(scipy.special.poch(d / 2, 0.5))


def expected_norm(d: int, q: float) -> float:
    """E|xi|_q in R^d, for 1 <= q <= inf; relative error below 1e-10."""
    if q == 1:
        return d * math.sqrt(2 / math.pi)
    if q == 2:
        return expected_length(d)
    if q == math.inf:
        return expected_maximum_size(d)
    if not 1 < q <= 60:
        raise InvalidInput(
            f"no quadrature for E|xi|_q at q = {q:g}; use q = inf, which is within a factor d^(1/q) of it"
        )
    # u = log |xi|; the step resolves exp(-t |xi|^q), whose width in u is 1/q.
    u = np.arange(-40.0, 3.8, min(0.1, 0.25 / q))
    mass = 2 * (u[1] - u[0]) * np.exp(u - np.exp(2 * u) / 2) / math.sqrt(2 * math.pi)

    def one_minus_transform(v: Array) -> Array:
        one = np.concatenate([-np.expm1(-np.exp(np.minimum(vs[:, None] + q * u, 700.0))) @ mass for vs in _rows(v)])
        return np.asarray(-np.expm1(d * np.log1p(-np.minimum(one, 1 - 1e-16))))

    moment = d * 2 ** (q / 2) * math.exp(math.lgamma((q + 1) / 2)) / math.sqrt(math.pi)
    return _fractional_moment(one_minus_transform, 1 / q, moment, 34 * q / (d + 1) + 50)


def expected_weighted_norm(axes: Array) -> float:
    """E (sum axes_j^2 xi_j^2)^(1/2); relative error below 1e-10."""
    top = float(axes.max())
    squares = (axes / top) ** 2

    def one_minus_transform(v: Array) -> Array:
        logs = [np.log1p(2 * np.exp(vs)[:, None] * squares).sum(axis=1) for vs in _rows(v, len(squares))]
        return -np.expm1(-np.concatenate(logs) / 2)

    return top * _fractional_moment(one_minus_transform, 0.5, float(squares.sum()), 80.0)


def _rows(v: Array, width: int = 4096) -> list[Array]:
    """Pieces of `v` small enough that (piece, width) fits in memory."""
    return np.array_split(v, max(1, len(v) * width // 2**21))


def _fractional_moment(one_minus_transform: Callable[[Array], Array], s: float, moment: float, end: float) -> float:
    """E Y^s, 0 < s < 1: s / Gamma(1 - s) times the integral of t^(-s - 1) (1 - E e^(-tY)) over t > 0.

    Args:
        one_minus_transform: 1 - E e^(-tY) at t = e^v.
        moment: E Y, which gives the piece near t = 0.
        end: the v beyond which E e^(-tY) no longer counts.
    """
    start = -36 - math.log(moment)
    near = moment * math.exp((1 - s) * start) / (1 - s)
    far = math.exp(-s * end) / s
    between = _integral(lambda v: np.exp(-s * v) * one_minus_transform(v), start, end, 1.0)
    return s / math.gamma(1 - s) * (near + between + far)


class HasSupport(Protocol):
    """What the width of a set needs to know of it."""

    @property
    def d(self) -> int: ...

    def support(self, direction: Array) -> Array: ...

    def diameter(self, p: float = 2.0) -> float: ...


@dataclass(frozen=True)
class Estimate:
    """A sampled number and an interval that covers the truth except with the stated probability."""

    value: float
    lower: float
    upper: float
    failure_probability: float


def monte_carlo_width(
    domain: HasSupport, rng: Rng, *, samples: int = 20_000, failure_probability: float = 1e-6
) -> Estimate:
    """Gaussian width of any set with a support function, with a rigorous interval.

    (h(xi) + h(-xi)) / 2 has the width as its mean and is diameter/2-Lipschitz in xi, so Gaussian concentration bounds
    the error of the mean by diameter sqrt(log(2 / failure_probability) / (2 samples)).
    """
    if samples < 1 or not 0 < failure_probability < 1:
        raise InvalidInput(
            f"needs samples >= 1 and a failure probability in (0, 1), got {samples} and {failure_probability!r}"
        )
    xi = rng.standard_normal((samples, domain.d))
    mean = float(np.mean((domain.support(xi) + domain.support(-xi)) / 2))
    radius = domain.diameter() * math.sqrt(math.log(2 / failure_probability) / (2 * samples))
    return Estimate(mean, max(0.0, mean - radius), mean + radius, failure_probability)
