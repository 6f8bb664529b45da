"""E-values against every (epsilon, delta)-DP pair at once, from the nearest null.

A trial is (side, cell): a fair coin chose the input, the output fell into a cell. Pay u[cell] on side P and v[cell] on
side Q with

    u = a + theta - e^epsilon theta',   v = b + theta' - e^epsilon theta,
    0 <= theta <= lam, 0 <= theta' <= lam', a + b + (lam + lam') delta = 2, u, v >= 0.

For every pair (P0, Q0) that is (epsilon, delta)-DP in both directions the mean payment is

    1/2 (E_P0 u + E_Q0 v) <= 1/2 (a + b + lam delta + lam' delta) = 1,

because sum theta (P0 - e^epsilon Q0) <= lam delta. So *any* such payment is an e-value, whatever was learned; the best
one for cell laws (p, q) maximises sum p log u + q log v, a concave problem whose value is the divergence
min KL(p|p*) + KL(q|q*) to the null (reverse information projection: Larsson, Ramdas and Ruf 2025; Grünwald, de Heide
and Koolen 2024), with p* = p/u and q* = q/v.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpcheck.errors import InvalidInput

Array = NDArray[np.float64]
LIGHTEST = 1e-12
"""Least mass of a cell that is told from none."""


@dataclass(frozen=True)
class NearestNull:
    """The best payments against (epsilon, delta)-DP when the cells have laws p and q.

    Attributes:
        pay_p, pay_q: (..., cells): u and v; e-values of one coin-flipped trial on side P and Q.
        growth: (...,) expected log payment of one trial of *each* side: sum p log u + q log v.
    """

    pay_p: Array
    pay_q: Array
    growth: Array


def nearest_null(
    p: ArrayLike, q: ArrayLike, epsilon: ArrayLike, delta: ArrayLike = 0.0, rounds: int = 4
) -> NearestNull:
    """Best payments against (epsilon, delta)-DP for the cell laws (p, q).

    Args:
        p, q: (cells,) laws (smooth the counts first), or (nulls, cells): one guess at the laws for each null.
        epsilon, delta: one null, or arrays of nulls of any common shape, which becomes the leading shape of the result.
        rounds: of coordinate ascent (root search in a, lam, lam'); fewer give smaller growth, never an invalid payment.
    """
    one, two = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    if one.ndim not in (1, 2) or one.shape != two.shape or not ((one >= 0) & (two >= 0)).all():
        raise InvalidInput("p and q must be laws over the same cells without negative entries")
    # Lighter cells drown in rounding; they may not be dropped, for their own payments must stay valid.
    one, two = np.maximum(one, LIGHTEST), np.maximum(two, LIGHTEST)
    eps, dlt = np.broadcast_arrays(np.asarray(epsilon, dtype=float), np.asarray(delta, dtype=float))
    if (eps < 0).any() or ((dlt < 0) | (dlt >= 1)).any():
        raise InvalidInput("epsilon must be >= 0 and delta in [0, 1)")
    shape = eps.shape
    solver = _Solver(one, two, np.exp(np.minimum(eps, 700.0)).reshape(-1, 1), dlt.reshape(-1, 1))
    u, v = solver.solve(rounds)
    growth = (one * np.log(u) + two * np.log(v)).sum(axis=1)
    cells = one.shape[-1]
    return NearestNull(u.reshape(*shape, cells), v.reshape(*shape, cells), np.maximum(0.0, growth).reshape(shape))


class _Solver:
    """Coordinate ascent in (a, lam, lam') for many nulls at once; the last axis runs over cells."""

    def __init__(self, p: Array, q: Array, e: Array, delta: Array) -> None:
        self.p, self.q, self.e, self.delta = p, q, e, delta
        self.total, self.e_p, self.e_q = e * (p + q), e * p, e * q
        rows = len(e)
        self.a = np.ones((rows, 1))
        # theta never exceeds b / e^epsilon: lam = 2 / e^epsilon is "no cap", which is exact for delta = 0.
        self.cap = 2 / e
        self.lam = self.cap * np.ones((rows, 1))
        self.lam_back = self.lam.copy()
        if (delta > 0).any():
            self.lam = np.where(delta > 0, 0.5 * self.cap, self.lam)
            self.lam_back = self.lam.copy()

    def b(self) -> Array:
        return np.asarray(2 - self.a - (self.lam + self.lam_back) * self.delta)

    def pay(self) -> tuple[Array, Array]:
        """Payments with the best theta of each cell."""
        a, b = self.a, self.b()
        forward = np.minimum(np.maximum((self.p * b - self.e_q * a) / self.total, 0.0), self.lam)
        back = np.minimum(np.maximum((self.q * a - self.e_p * b) / self.total, 0.0), self.lam_back)
        # Rounding may leave a payment a hair below zero where one law has next to no mass.
        return np.maximum(a + forward - self.e * back, 1e-300), np.maximum(b + back - self.e * forward, 1e-300)

    def _slope(self, which: str) -> Array:
        u, v = self.pay()
        p_star, q_star = self.p / u, self.q / v
        if which == "a":
            return np.asarray(np.log(p_star.sum(axis=1, keepdims=True) / q_star.sum(axis=1, keepdims=True)))
        one, other = (p_star, q_star) if which == "lam" else (q_star, p_star)
        stick = np.maximum(0.0, one - self.e * other).sum(axis=1, keepdims=True)
        # Logarithms are nearly straight in the multipliers. The ends are never roots, so their sizes do not matter.
        excess = (stick + 1e-12) / (self.delta * q_star.sum(axis=1, keepdims=True) + 1e-12)
        return np.asarray(np.log(excess))

    def _find(self, which: str, low: Array, high: Array, steps: int = 14) -> None:
        """The root of a falling slope: halving and false position (Illinois) by turns."""
        at_low, at_high = np.ones_like(low), -np.ones_like(high)
        for step in range(steps):
            middle = (low + high) / 2 if step % 2 == 0 else (low * at_high - high * at_low) / (at_high - at_low)
            setattr(self, which, middle)
            slope = self._slope(which)
            up = slope > 0
            # Illinois: an end that stays counts half.
            at_low, at_high = np.where(up, slope, at_low / 2), np.where(up, at_high / 2, slope)
            low, high = np.where(up, middle, low), np.where(up, high, middle)

    def solve(self, rounds: int) -> tuple[Array, Array]:
        approximate = bool((self.delta > 0).any())
        for _ in range(rounds if approximate else 1):
            room = 2 - (self.lam + self.lam_back) * self.delta
            self._find("a", 1e-9 * room, (1 - 1e-9) * room)
            if approximate:
                for which in ("lam", "lam_back"):
                    self._cap(which)
        return self.pay()

    def _cap(self, which: str) -> None:
        other = self.lam_back if which == "lam" else self.lam
        room = 2 - self.a - other * self.delta
        top = np.where(self.delta > 0, np.minimum(self.cap, 0.999 * room / np.maximum(self.delta, 1e-300)), self.cap)
        capped = self.delta > 0
        old = getattr(self, which)
        self._find(which, np.zeros_like(top), top)
        setattr(self, which, np.where(capped, getattr(self, which), old))
