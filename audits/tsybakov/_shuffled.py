"""Exact privacy of shuffled batches with Gaussian noise, from below: one odd record among T noisy batch means."""

from __future__ import annotations

import math

import numpy as np
from scipy import fft, special

from dpcheck.interfaces import Array

POINTS = 2**17
"""Grid points on either side of 0."""


def shuffled_delta(h: float, T: int, epsilon: float) -> float:
    """Hockey-stick divergence of (1/T) sum_t N(h e_t, I) from (1/T) sum_t N(-h e_t, I), from below and almost exactly.

    The likelihood ratio exceeds e^epsilon where sum_t y(z_t) > 0, y(z) = e^(hz) - e^(epsilon - hz). Here y is rounded
    to a grid and sums are cut at its ends: still an event, whose two probabilities are found by convolution. The
    threshold of the best event being stationary, rounding enters in second order.
    """
    reach = 8 * (T + 8) * math.exp(epsilon + h * h / 2) + math.exp(min(h * (h + 4), 500.0))
    step = reach / POINTS
    edges = step * (np.arange(-POINTS, POINTS) + 0.5)
    u = _root(edges, epsilon)
    places = np.log(u) / h
    neutral, up, down = (_masses(places - shift) for shift in (0.0, h, -h))
    rest = _repeated(neutral, T - 1)
    above = [float(_added(rest, first)[POINTS + 1 :].sum()) for first in (up, down)] if T > 1 else [
        float(first[POINTS + 1 :].sum()) for first in (up, down)
    ]  # fmt: skip
    return max(0.0, above[0] - math.exp(epsilon) * above[1])


def _root(y: Array, epsilon: float) -> Array:
    """u > 0 with u - e^epsilon/u = y, without cancellation."""
    far = np.hypot(y, 2 * math.exp(epsilon / 2))
    return np.where(y > 0, (y + far) / 2, 2 * math.exp(epsilon) / (far - np.minimum(y, 0.0)))


def _masses(places: Array) -> Array:
    """Probabilities of the 2 POINTS + 1 grid values under N(0, 1), whose cells meet at `places`."""
    tail = special.ndtr(-places)
    # Differences of whichever tail is the smaller one, so that small masses keep their digits.
    upper, lower = tail[:-1] - tail[1:], np.diff(special.ndtr(places))
    return np.concatenate([[special.ndtr(places[0])], np.where(places[:-1] > 0, upper, lower), [tail[-1]]])


def _added(a: Array, b: Array) -> Array:
    """Law of the sum of two grid values, cut at the ends of the grid."""
    size = fft.next_fast_len(2 * len(a), real=True)
    total = np.maximum(fft.irfft(fft.rfft(a, size) * fft.rfft(b, size), size)[: 2 * len(a) - 1], 0.0)
    cut = total[POINTS : POINTS + len(a)].copy()
    cut[0] += total[:POINTS].sum()
    cut[-1] += total[POINTS + len(a) :].sum()
    return cut


def _repeated(one: Array, times: int) -> Array:
    """Law of the sum of `times` values, in powers of two."""
    total, power = None, one
    while times:
        if times & 1:
            total = power if total is None else _added(total, power)
        times >>= 1
        if times:
            power = _added(power, power)
    return one if total is None else total
