"""Mirror steps of l_p within two balls of l_p around different points."""

from __future__ import annotations

import math

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.geometry.mirror import ROUNDING, PowerMap, _falling_root_by_slopes
from dpcheck.geometry.norms import norm
from dpcheck.interfaces import Array

LARGEST = 600.0
"""Logarithm of the largest ratio of two multipliers that is looked at; e^(1.2 LARGEST) would be no float."""
CLOSE = 1e-14
"""Of a logarithm that is its root."""
FURTHER = 4.0
"""By how much the logarithm of a multiplier falls at a time until it is small enough."""


def minimiser_in_lp(mirror: PowerMap, theta: Array, ball: float, centre: Array, radius: float = math.inf) -> Array:
    """argmin Phi(u) - <theta, u> over |u + centre|_p <= ball and |u|_p <= radius, p the exponent of Phi, at most 2.

    Where the minimiser over the second ball alone lies in the first, it is that one. Elsewhere u solves
    tau |u_j|^(p - 1) sgn u_j + mu |v_j|^(p - 1) sgn v_j = theta_j, v = u + centre: one scalar equation a coordinate,
    inside one for mu (|v|_p = ball), inside one for tau (scale |u|_p^(2 - p), or more where |u|_p = radius); all of
    them are monotone.

    Args:
        theta, centre: (rows, d) and (rows or 1, d); the first ball must hold u = 0.

    Raises:
        InvalidInput: an exponent above 2, or a centre outside of the ball.
    """
    mirror._require_smooth_dual()
    theta = np.asarray(theta, dtype=float)
    c = np.broadcast_to(np.asarray(centre, dtype=float), theta.shape)
    furthest = float(norm(c, mirror.p).max(initial=0.0))
    if not furthest <= ball * (1 + 1e-12):
        raise InvalidInput(f"the centre of the map must lie in the ball, got one at {furthest:g} of radius {ball:g}")
    u = mirror.inverse(theta) if math.isinf(radius) else mirror.minimiser(theta, radius)
    outside = norm(u + c, mirror.p) > ball
    if outside.any():
        u = np.array(u)
        u[outside] = _TwoBalls(mirror.p, theta[outside], c[outside], ball).within(mirror.scale, radius)
    return u


class _TwoBalls:
    """argmin tau |u|_p^p / p - <theta, u> over |u + c|_p <= ball, for rows of theta and c, (rows, d).

    Roots are sought from where they were for the last multipliers, which are not far.
    """

    def __init__(self, p: float, theta: Array, c: Array, ball: float) -> None:
        self.p, self.theta, self.c, self.ball = p, theta, c, ball
        self.log_ratio, self.signed = np.zeros(len(theta)), _power(c, p - 1)
        self.last = np.zeros_like(theta)

    def within(self, scale: float, radius: float) -> Array:
        """At tau = scale |u|_p^(2 - p), or the larger one that brings |u|_p to `radius`: |u|_p falls in tau."""
        if self.p == 2 and math.isinf(radius):
            return self.at(np.full(len(self.theta), math.log(scale)))[0]

        def excess(log_tau: Array) -> tuple[Array, Array]:
            u, moves = self.at(log_tau)
            size = np.maximum(norm(u, self.p), 1e-300)
            length, slope = np.log(size), (_power(u / size[:, None], self.p - 1) * moves).sum(axis=-1) / size
            value, fall = math.log(scale) + (2 - self.p) * length - log_tau, (2 - self.p) * slope - 1
            more = length - math.log(radius) if math.isfinite(radius) else np.full_like(length, -math.inf)
            return np.maximum(value, more), np.where(more > value, slope, fall)

        # Of the free minimiser |u|_p^(p - 1) = |theta|_q / tau, and no other is longer.
        size = np.log(np.maximum(norm(self.theta, self.p / (self.p - 1)), 1e-300))
        high = math.log(scale) * (self.p - 1) + (2 - self.p) * size
        if math.isfinite(radius):
            high = np.maximum(high, size - (self.p - 1) * math.log(radius))
        high, low = high + 1e-9, high - FURTHER
        while (high - low < LARGEST).any() and (short := excess(low)[0] <= 0).any():
            low = np.where(short, low - FURTHER, low)
        return self.at(_falling_root_by_slopes(excess, low, high, high, CLOSE))[0]

    def at(self, log_tau: Array) -> tuple[Array, Array]:
        """u at a tau and its derivative in log tau: where the ball is reached the other multiplier moves as well."""
        y = self.theta / np.exp(log_tau)[:, None]

        def excess(log_ratio: Array) -> tuple[Array, Array]:
            _, v, slack = self._pulled(y, np.expm1(log_ratio))
            size, pull = np.maximum(norm(v, self.p), 1e-300)[:, None], _power(v, self.p - 1)
            fall = (_power(v / size, self.p - 1) * pull * slack / size).sum(axis=-1)
            return np.log(size[:, 0] / self.ball), -fall * np.exp(log_ratio)

        high = np.maximum(self.log_ratio, FURTHER)
        while (high < LARGEST).any() and (far := excess(high)[0] > 0).any():
            high = np.where(far, high + FURTHER, high)
        self.log_ratio = _falling_root_by_slopes(excess, np.zeros(len(y)), high, self.log_ratio, ROUNDING)
        u, v, slack = self._pulled(y, np.expm1(self.log_ratio))
        pull = _power(v, self.p - 1)
        with np.errstate(invalid="ignore", divide="ignore"):
            more = (pull * y * slack).sum(axis=-1) / (pull * pull * slack).sum(axis=-1)
        more = np.where((self.log_ratio > 0) & np.isfinite(more), more, 0.0)
        return u, (pull * more[:, None] - y) * slack

    def _pulled(self, y: Array, ratio: Array) -> tuple[Array, Array, Array]:
        """u, v = u + c, and du/dy where |u|^(p - 1) sgn u + ratio |v|^(p - 1) sgn v = y in every coordinate.

        The power x of the one that is pulled harder solves f(a - k x) = f(x) + s, f(x) = |x|^(1/(p - 1)) sgn x, k <= 1.
        """
        mu = np.broadcast_to(ratio[:, None], y.shape)
        if self.p == 2:
            u = (y - mu * self.c) / (1 + mu)
            return u, (y + self.c) / (1 + mu), 1 / (1 + mu)
        power, weak = 1 / (self.p - 1), mu <= 1
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            k = np.where(weak, mu, 1 / mu)
            a, shift = np.where(weak, y, y * k), np.where(weak, -self.c, self.c)
            alone = np.where(weak, _power(_power(y, power) + self.c, 1 / power), y)
            ends = np.stack([alone, np.where(weak, 0.0, -self.signed)])
            a_, k_, shift_ = a.ravel(), k.ravel(), shift.ravel()

            def excess(x: Array) -> tuple[Array, Array]:
                other = a_ - k_ * x
                slope = -power * (k_ * np.abs(other) ** (power - 1) + np.abs(x) ** (power - 1))
                return _power(other, power) - _power(x, power) - shift_, slope

            low, high = ends.min(axis=0).ravel(), ends.max(axis=0).ravel()
            x = _falling_root_by_slopes(excess, low, high, self.last.ravel(), 0.0).reshape(y.shape)
            self.last = x
            one, two = _power(x, power), _power(a - k * x, power)
            u, v = np.where(weak, two, one), np.where(weak, one, two)
            stiff = (np.abs(u) ** (self.p - 2) + mu * np.abs(v) ** (self.p - 2)) * (self.p - 1)
            return u, v, 1 / stiff


def _power(x: Array, exponent: float) -> Array:
    return np.asarray(np.sign(x) * np.abs(x) ** exponent)
