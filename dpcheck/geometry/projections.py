"""Euclidean projections onto centred sets, batched over all axes but the last."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.geometry.norms import FAR, dual_exponent, equivalence, norm, ordinary, scaled, unit
from dpcheck.interfaces import Array


def project_simplex(w: Array, scale: float = 1.0) -> Array:
    """Onto {w >= 0, sum = scale}: (..., d) -> (..., d), by sorting (Held, Wolfe, Crowder 1974)."""
    # Only differences to the largest entry matter, and those beyond `scale` not at all: nothing overflows.
    top = w.max(axis=-1, keepdims=True)
    with np.errstate(over="ignore"):
        w = np.maximum(w - top, -2 * scale)
    ordered = -np.sort(-w, axis=-1)
    excess = np.cumsum(ordered, axis=-1) - scale
    rank = np.arange(1, w.shape[-1] + 1)
    # The last rank at which the entry still exceeds the threshold that it would set; rank 1 always does.
    last = np.maximum((ordered * rank > excess).sum(axis=-1, keepdims=True), 1)
    threshold = np.take_along_axis(excess, last - 1, axis=-1) / last
    return np.asarray(np.maximum(w - threshold, 0.0))


def project_l1(w: Array, radius: float) -> Array:
    """Onto {|w|_1 <= radius}."""
    with np.errstate(over="ignore"):
        inside = np.abs(w).sum(axis=-1, keepdims=True) <= radius
    return np.where(inside, w, np.sign(w) * project_simplex(np.abs(w), radius))


def project_l2(w: Array, radius: Array | float) -> Array:
    """Onto {|w|_2 <= radius}; the radius a number, or one for each row."""
    bound = np.asarray(radius, dtype=float)[..., None]
    length = norm(w)[..., None]
    outside = length > bound
    divisor = np.where(outside, length, 1.0)
    point = w / divisor if ordinary(divisor).all() else np.where(outside, unit(w), w)
    return np.asarray(point * np.where(outside, bound, 1.0))


def project_lp(w: Array, radius: float, p: float) -> Array:
    """Onto {|w|_p <= radius}: x + t x^(p - 1) = |w| in every coordinate, with t such that |x|_p = radius."""
    if p == 1:
        return project_l1(w, radius)
    if p == 2:
        return project_l2(w, radius)
    if p == math.inf:
        return np.clip(w, -radius, radius)
    size = within(np.abs(w), radius) / radius
    length = norm(size, p)
    outside = length > 1
    if not outside.any():
        return np.asarray(w)
    rows = size[outside]
    q, d = dual_exponent(p), w.shape[-1]
    # t = |rows - x|_q, which lies between these two.
    high = norm(rows, q)
    low = np.maximum((length[outside] - 1) / equivalence(p, q, d), 1e-300)
    for _ in range(200):
        t = np.where(high > 2 * low, np.sqrt(low) * np.sqrt(high), (low + high) / 2)
        x = _shrunk(rows, t[:, None], p)
        too_long = norm(x, p) > 1
        low, high = np.where(too_long, t, low), np.where(too_long, high, t)
        if (high - low <= 4e-16 * high).all():
            break
    x = _shrunk(rows, high[:, None], p)
    projected = np.array(w, dtype=float)
    projected[outside] = np.sign(w[outside]) * radius * x / np.maximum(norm(x, p), 1.0)[:, None]
    return projected


def within(w: Array, size: float, far: float = FAR) -> Array:
    """Rows further away than `far` sizes, drawn in along their direction; all others as they are."""
    reach = far * size
    if not np.isfinite(reach):
        return w
    outside = np.abs(w).max(axis=-1, keepdims=True) > reach
    return np.where(outside, reach * scaled(w)[0], w)


def _shrunk(a: Array, t: Array, p: float) -> Array:
    """The root x in [0, a] of x + t x^(p - 1) = a, by Newton's method from the right of a convex function."""
    power = max(p - 1, 1 / (p - 1))
    with np.errstate(divide="ignore"):
        if p > 2:  # x + t x^power
            y = np.minimum(a, (a / t) ** (1 / power))
            slope, curve = np.ones_like(t), t
        else:  # with y = x^(p - 1): t y + y^power
            y = np.minimum(a / t, a ** (1 / power))
            slope, curve = t, np.ones_like(t)
    for _ in range(60):
        lower = y ** (power - 1)
        step = (slope * y + curve * lower * y - a) / (slope + power * curve * lower)
        y = np.maximum(y - np.maximum(step, 0.0), 0.0)
        if (step <= 2e-16 * y).all():
            break
    return np.asarray(y if p > 2 else y**power)


def project_ellipsoid(w: Array, axes: Array) -> Array:
    """Onto {sum (w / axes)^2 <= 1}: w axes^2 / (axes^2 + t), with t the root of the secular equation."""
    scale = axes.max()
    near = within(w, float(scale))
    outside = norm(near / axes) > 1
    if not outside.any():
        return np.asarray(w)
    rows = near[outside]
    a, v = axes / scale, rows / scale
    pull = a * v
    low, high = np.zeros(len(v)), norm(pull)
    t = low
    for _ in range(200):
        ratio = pull / (a * a + t[:, None])
        total = (ratio * ratio).sum(axis=1)
        low, high = np.where(total > 1, t, low), np.where(total > 1, high, t)
        if ((high - low <= 4e-16 * high) | (np.abs(total - 1) <= 1e-15)).all():
            break
        # Newton on total^(-1/2) = 1, which is almost linear in t; bisection where it leaves the bracket.
        drop = (ratio * ratio / (a * a + t[:, None])).sum(axis=1)
        step = t + total * (np.sqrt(total) - 1) / drop
        inside = (step > low) & (step < high)
        t = np.where(np.abs(total - 1) <= 1e-15, t, np.where(inside, step, (low + high) / 2))
    x = v * (a * a / (a * a + t[:, None]))
    projected = np.array(w, dtype=float)
    projected[outside] = scale * x / np.maximum(norm(x / a), 1.0)[:, None]
    return projected
