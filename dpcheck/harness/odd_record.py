"""One odd record among zeros in shuffled Gaussian batches: the exact curve of the pair, on a grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy

from dpcheck.interfaces import Array, Schedule

POINTS = 2**17
"""Grid points on either side of 0."""


def odd_record(plan: Schedule[Any]) -> float:
    """h: mean of the batch that holds the one gradient ±C, all others 0, in deviations of the noise."""
    (row,) = plan.phases
    return float(row.level / row.b / row.sigma)


def shuffled_delta(h: float, T: int, epsilon: float, unread: float = 0.0) -> float:
    """Hockey-stick divergence of (1/T) sum_t N(h e_t, I) from (1/T) sum_t N(-h e_t, I), from below and almost exactly;
    with the chance `unread` both are N(0, I).

    The likelihood ratio exceeds e^epsilon where sum_t y(z_t) > T (e^epsilon - 1) e^(h h/2) unread/(1 - unread), y(z) =
    e^(hz) - e^(epsilon - hz). Here y is rounded to a grid and sums are cut at its ends: still an event, whose
    probabilities are found by convolution. The threshold of the best event being stationary, rounding enters in second
    order.
    """
    grown, threshold = math.exp(epsilon), T * math.expm1(epsilon) * math.exp(h * h / 2) * unread / (1 - unread)
    reach = 8 * (T + 8) * math.exp(epsilon + h * h / 2) + math.exp(min(h * (h + 4), 500.0))
    step = reach / POINTS
    edges = step * (np.arange(-POINTS, POINTS, dtype=float) + 0.5)
    u = _root(edges, epsilon)
    places = np.log(u) / h
    neutral, up, down = (_masses(places - shift) for shift in (0.0, h, -h))
    rest, first_above = _repeated(neutral, T - 1), POINTS + 1 + math.ceil(threshold / step)
    laws = [_added(rest, first) if T > 1 else first for first in (neutral, up, down)]
    at_rest, above, below = (float(law[first_above:].sum()) for law in laws)
    return max(0.0, unread * (1 - grown) * at_rest + (1 - unread) * (above - grown * below))


def _root(y: Array, epsilon: float) -> Array:
    """u > 0 with u - e^epsilon/u = y, without cancellation."""
    far = np.hypot(y, 2 * math.exp(epsilon / 2))
    return np.where(y > 0, (y + far) / 2, 2 * math.exp(epsilon) / (far - np.minimum(y, 0.0)))


def _masses(places: Array) -> Array:
    """Probabilities of the 2 POINTS + 1 grid values under N(0, 1), whose cells meet at `places`."""
    tail = scipy.special.ndtr(-places)
    # Differences of whichever tail is the smaller one, so that small masses keep their digits.
    upper, lower = tail[:-1] - tail[1:], np.diff(scipy.special.ndtr(places))
    return np.concatenate([[scipy.special.ndtr(places[0])], np.where(places[:-1] > 0, upper, lower), [tail[-1]]])


def _added(a: Array, b: Array) -> Array:
    """Law of the sum of two grid values, cut at the ends of the grid."""
    size = scipy.fft.next_fast_len(2 * len(a), real=True)
    total = np.maximum(scipy.fft.irfft(scipy.fft.rfft(a, size) * scipy.fft.rfft(b, size), size)[: 2 * len(a) - 1], 0.0)
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
