"""l_p norms of the last axis, their duals, and the smooth norms that replace them when p is near 1 or infinity."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array


def check_exponent(p: float) -> None:
    """Raises `InvalidInput` unless 1 <= p <= inf."""
    if not p >= 1:
        raise InvalidInput(f"the exponent of a norm must lie in [1, inf], got {p!r}")


def norm(w: Array, p: float = 2.0) -> Array:
    """l_p norm over the last axis, (..., d) -> (...), without overflow or underflow of |w|^p. NaN stays NaN.

    >>> float(norm(np.array([3e300, -4e300])))
    5e+300
    """
    check_exponent(p)
    size = np.abs(np.asarray(w, dtype=float))
    if p == 1:
        return np.asarray(size.sum(axis=-1))
    top = size.max(axis=-1)
    if p == math.inf:
        return np.asarray(top)
    safe = np.where((top > 0) & np.isfinite(top), top, 1.0)
    scaled = size / safe[..., None]
    total = (scaled * scaled).sum(axis=-1) if p == 2 else (scaled**p).sum(axis=-1)
    return np.asarray(safe * total ** (1 / p))


def dual_exponent(p: float) -> float:
    """q with 1/p + 1/q = 1."""
    check_exponent(p)
    if p == 1:
        return math.inf
    return 1.0 if p == math.inf else p / (p - 1)


def dual_norm(g: Array, p: float = 2.0) -> Array:
    """Norm dual to l_p, over the last axis: sup of <g, w> over |w|_p <= 1."""
    return norm(g, dual_exponent(p))


def dual_direction(g: Array, p: float = 2.0) -> Array:
    """A point of the unit l_p ball where <g, w> = dual norm of g; 0 where g = 0. Shape (..., d)."""
    g = np.asarray(g, dtype=float)
    q = dual_exponent(p)
    if p == math.inf:
        return np.asarray(np.sign(g))
    if p == 1:
        first = np.abs(g).argmax(axis=-1)[..., None]
        point = np.zeros_like(g)
        np.put_along_axis(point, first, np.sign(np.take_along_axis(g, first, axis=-1)), axis=-1)
        return point
    length = norm(g, q)[..., None]
    scaled = g / np.where(length > 0, length, 1.0)
    return np.asarray(np.sign(scaled) * np.abs(scaled) ** (q - 1))


def equivalence(p: float, q: float, d: int) -> float:
    """Smallest c with |w|_p <= c |w|_q for all w in R^d: d^max(0, 1/p - 1/q)."""
    check_exponent(p)
    check_exponent(q)
    return math.pow(d, max(0.0, 1 / p - 1 / q))


@dataclass(frozen=True)
class Regularity:
    """How smooth the square of l_a is, a >= 2, after replacing the norm by the equivalent l_r (`lp_spaces/def-3`).

    Attributes:
        r: exponent of the smooth norm, min(a, 2 log d + 1).
        kappa_plus: the squared l_r norm is kappa_plus-smooth: r - 1.
        kappa: smallest constant with kappa_plus |w|_r^2 <= kappa |w|_a^2: kappa_plus d^(2/r - 2/a).
        s: exponent dual to r.
    """

    r: float
    kappa_plus: float
    kappa: float
    s: float


def regularity(a: float, d: int) -> Regularity:
    """The regularity of l_a in R^d; d = 1 is Euclidean.

    Raises:
        InvalidInput: a < 2 or d < 1.
    """
    if not a >= 2 or d < 1:
        raise InvalidInput(f"regularity needs an exponent a >= 2 and d >= 1, got a = {a!r}, d = {d!r}")
    r = 2.0 if d == 1 else max(2.0, min(a, 2 * math.log(d) + 1))
    return Regularity(r, r - 1, (r - 1) * equivalence(r, a, d) ** 2, dual_exponent(r))
