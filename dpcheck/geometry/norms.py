"""l_p norms of the last axis, their duals, and the smooth norms that replace them when p is near 1 or infinity."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array


def check_exponent(p: float) -> None:
    """Raises `InvalidInput` unless 1 <= p <= inf."""
    if not p >= 1:
        raise InvalidInput(f"the exponent of a norm must lie in [1, inf], got {p!r}")


Exponents = NDArray[np.intc]
FAR = 1e100
"""A point this many sizes of a set away from it projects as one at infinity in its direction, to rounding."""


def scaled(w: Array) -> tuple[Array, Exponents]:
    """w = u 2^k with the largest entry of u in [1/2, 1): (..., d) -> (..., d) and (..., 1). Exact, subnormal or huge.

    Entries below 1e-308 of the largest are lost. Zeros and rows that are not finite are left as they are, with k = 0.

    >>> scaled(np.array([5e-324, 5e-324]))[0]
    array([0.5, 0.5])
    """
    top = np.abs(w).max(axis=-1, keepdims=True)
    k = np.where(np.isfinite(top) & (top > 0), np.frexp(top)[1], 0).astype(np.intc)
    return _shifted(w, -k), k


def unscaled(u: Array, k: Exponents) -> Array:
    """u 2^k, (..., d) and (..., 1) -> (..., d)."""
    return _shifted(u, k)


def _shifted(u: Array, k: Exponents) -> Array:
    """In two steps, 2^1074 being no float64; products with powers of two are as exact as `np.ldexp`, and far faster."""
    half = k // 2
    return np.asarray(u * np.ldexp(1.0, half) * np.ldexp(1.0, k - half))


def ordinary(size: Array) -> NDArray[np.bool_]:
    """Lengths, or sums of powers, into which went no subnormal number, and none beyond float64; not so NaN and 0."""
    return (size > 1e-200) & (size < 1e200)


def norm(w: Array, p: float = 2.0) -> Array:
    """l_p norm over the last axis, (..., d) -> (...), without overflow or underflow of |w|^p. NaN stays NaN.

    >>> float(norm(np.array([3e300, -4e300])))
    5e+300
    """
    check_exponent(p)
    size = np.abs(np.asarray(w, dtype=float))
    if p == 1:
        return np.asarray(size.sum(axis=-1))
    if p == math.inf:
        return np.asarray(size.max(axis=-1))
    with np.errstate(over="ignore"):
        total = _power_sum(size, p)
        length = np.asarray(_root(total, p))
    # Each row takes its own way. For p = 2 the two agree to the last bit: powers of two commute with every rounding.
    if not (safe := ordinary(total)).all():
        length[~safe] = _scaled_norm(size[~safe], p)
    return length


def _scaled_norm(size: Array, p: float) -> Array:
    """l_p norm of entries >= 0, 1 < p < inf, at any size."""
    size, k = scaled(size)
    with np.errstate(over="ignore"):  # a norm beyond float64 is inf
        return unscaled(_root(_power_sum(size, p), p), k[..., 0])


def _power_sum(size: Array, p: float) -> Array:
    return np.asarray((size * size if p == 2 else size**p).sum(axis=-1))


def _root(total: Array, p: float) -> Array:
    return np.asarray(np.sqrt(total) if p == 2 else total ** (1 / p))


def unit(w: Array) -> Array:
    """w / |w|_2 over the last axis; 0 where w = 0."""
    w = np.asarray(w, dtype=float)
    length = norm(w)
    if ordinary(length).all():
        return np.asarray(w / length[..., None])
    u, _ = scaled(w)
    return np.asarray(u / np.maximum(norm(u), 0.25)[..., None])  # `u` is 0, or at least 1/2 long


def clip_norm(v: Array, level: float | Array) -> Array:
    """v min(1, level/|v|) over the last axis, (..., d); a level array broadcasts against the leading axes."""
    length = np.linalg.norm(v, axis=-1)
    shrink = np.minimum(1.0, level / np.where(length > 0, length, 1.0))
    return np.asarray(v * np.where(length > 0, shrink, 1.0)[..., None])


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
    if p == 2:
        return unit(g)
    u, _ = scaled(g)
    length = norm(u, q)[..., None]
    point = u / np.where(length > 0, length, 1.0)
    return np.asarray(np.sign(point) * np.abs(point) ** (q - 1))


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
