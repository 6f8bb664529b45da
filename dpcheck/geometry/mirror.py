"""Mirror maps of l_p and of the simplex: gradients, inverses, Bregman divergences and projections.

Maps are centred at the origin; a map around c is used on displacements w - c. Points lie on the last axis.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy

from dpcheck.errors import InvalidInput
from dpcheck.geometry.norms import dual_exponent, norm, ordinary, scaled, unscaled
from dpcheck.interfaces import Array, Rng

ROUNDING = 4e-16
"""Relative error of a sum that counts as none."""


def _power(y: Array, p: float, exponent: float) -> Array:
    """|y|_p sgn(y) (|y| / |y|_p)^exponent, 0 at 0: neither overflows nor underflows on the way."""
    size = norm(y, p)
    safe = ordinary(size)
    divisor = np.where(safe, size, 1.0)[..., None]
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.asarray(divisor * np.sign(y) * (np.abs(y) / divisor) ** exponent)
    if not safe.all():
        u, k = scaled(y[~safe])
        size = norm(u, p)
        divisor = np.where(size > 0, size, 1.0)[..., None]
        values[~safe] = unscaled(divisor * np.sign(u) * (np.abs(u) / divisor) ** exponent, k)
    return values


@dataclass(frozen=True)
class PowerMap:
    """Phi(u) = scale / 2 |u|_p^2 for 1 < p < inf.

    l1_geometry/alg-2 has scale 2 / (p - 1), alg-6 1 / (p - 1); lp_spaces/alg-3 and alg-4 have scale kappa and p = s.
    For p > 2 it is strictly convex, with the same closed forms, but not strongly convex.
    """

    p: float
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not 1 < self.p < math.inf:
            raise InvalidInput(f"the exponent of a mirror map must lie in (1, inf), got {self.p!r}")
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise InvalidInput(f"scale must be a finite number > 0, got {self.scale!r}")

    @property
    def q(self) -> float:
        """The dual exponent."""
        return dual_exponent(self.p)

    @property
    def strong_convexity(self) -> float:
        """Modulus in l_p: scale (p - 1) (Beck and Teboulle 2003); 0 for p > 2."""
        return self.scale * (self.p - 1) if self.p <= 2 else 0.0

    def value(self, u: Array) -> Array:
        """(..., d) -> (...)."""
        return np.asarray(self.scale / 2 * norm(u, self.p) ** 2)

    def gradient(self, u: Array) -> Array:
        """scale |u|_p^(2 - p) |u|^(p - 1) sgn u; 0 at 0."""
        u = np.asarray(u, dtype=float)
        return np.asarray(self.scale * _power(u, self.p, self.p - 1))

    def inverse(self, y: Array) -> Array:
        """The u with gradient(u) = y: |y|_q^(2 - q) |y|^(q - 1) sgn y / scale."""
        y = np.asarray(y, dtype=float)
        return _power(y, self.q, self.q - 1) / self.scale

    def bregman(self, u: Array, v: Array) -> Array:
        """Phi(u) - Phi(v) - <gradient(v), u - v>: (..., d), (..., d) -> (...)."""
        u, v = np.asarray(u, dtype=float), np.asarray(v, dtype=float)
        linear = (self.gradient(v) * (u - v)).sum(axis=-1)
        return np.asarray(np.maximum(0.0, self.value(u) - self.value(v) - linear))

    def step(self, u: Array, gradient: Array, eta: Array | float, radius: Array | float | None = None) -> Array:
        """argmin <gradient, x> + D(x, u) / eta, over all x or over |x|_p <= radius."""
        theta = self.gradient(u) - np.asarray(eta) * gradient
        return self.inverse(theta) if radius is None else self.minimiser(theta, radius)

    def minimiser(self, theta: Array, radius: Array | float) -> Array:
        """argmin Phi(u) - <theta, u> over |u|_p <= radius: the free minimiser, scaled down.

        Exact, because Phi depends on the norm alone: at a given norm the best direction is that of the free minimiser.
        """
        u = self.inverse(theta)
        length = norm(u, self.p)[..., None]
        bound = np.asarray(radius, dtype=float)
        bound = bound[..., None] if bound.ndim else bound
        return np.asarray(u * np.where(length > bound, bound / np.where(length > 0, length, 1.0), 1.0))

    def minimiser_in_l1(
        self, theta: Array, l1_radius: float, centre: Array | float = 0.0, radius: float = math.inf
    ) -> Array:
        """argmin Phi(u) - <theta, u> over |u + centre|_1 <= l1_radius and |u|_p <= radius.

        The l1 ball must hold `centre`, where u = 0. One scalar equation for its multiplier inside one for
        |u|_p^(2 - p), both monotone.
        """
        self._require_smooth_dual()
        theta = np.asarray(theta, dtype=float)
        c = np.broadcast_to(np.asarray(centre, dtype=float), theta.shape)
        if not (np.abs(c).sum(axis=-1) <= l1_radius * (1 + 1e-12)).all():
            raise InvalidInput(f"the centre of the map must lie in the l1 ball of radius {l1_radius:g}")
        free = self.inverse(theta) if math.isinf(radius) else self.minimiser(theta, radius)
        outside = np.abs(free + c).sum(axis=-1) > l1_radius
        if outside.any():
            rows, shift = theta[outside], c[outside]
            free = np.array(free)
            # At centre 0 one scalar equation is enough, and the other one would lose its digits for small tau.
            moved = shift.any(axis=-1)
            values = np.empty_like(rows)
            if moved.any():
                values[moved] = self._around(rows[moved], shift[moved], l1_radius, radius)
            if not moved.all():
                values[~moved] = self._shrunk(rows[~moved], l1_radius, radius)
            free[outside] = values
        return free

    def _around(self, theta: Array, c: Array, l1_radius: float, radius: float) -> Array:
        """The same at another centre; the ball matters only to rows whose minimiser without it lies outside."""
        values = self._consistent(theta, lambda tau: self._soft(theta, tau, c, l1_radius), math.inf)
        far = norm(values, self.p) > radius
        if far.any():
            some, at = theta[far], c[far]
            values[far] = self._consistent(some, lambda tau: self._soft(some, tau, at, l1_radius), radius)
        return values

    def _shrunk(self, theta: Array, l1_radius: float, radius: float) -> Array:
        """The same at centre 0, for rows whose free minimiser lies outside: minimisers at soft-thresholded theta."""

        def at(level: Array) -> Array:
            soft = np.sign(theta) * np.maximum(np.abs(theta) - level[:, None], 0.0)
            return self.inverse(soft) if math.isinf(radius) else self.minimiser(soft, radius)

        low, high = np.zeros(len(theta)), np.abs(theta).max(axis=-1)
        return at(_falling_root(lambda x: np.abs(at(x)).sum(axis=-1) - l1_radius, low, high, ROUNDING * l1_radius))

    def _require_smooth_dual(self) -> None:
        if self.p > 2:
            raise InvalidInput(
                f"a mirror step of exponent {self.p:g} > 2 has a closed form on R^d and on |x|_p <= radius only; take "
                "of these, or an exponent of at most 2"
            )

    def _separable(self, theta: Array, tau: Array) -> Array:
        """argmin tau |u|^p / p - theta u in every coordinate: sgn(theta) (|theta| / tau)^(1 / (p - 1))."""
        with np.errstate(over="ignore"):
            return np.asarray(np.sign(theta) * (np.abs(theta) / tau[..., None]) ** (1 / (self.p - 1)))

    def _soft(self, theta: Array, tau: Array, c: Array, l1_radius: float) -> Array:
        """The same with the constraint |u + c|_1 <= l1_radius: every theta shrinks by a multiplier towards u = -c."""

        def at(level: Array) -> Array:
            right = self._separable(theta - level[..., None], tau)
            left = self._separable(theta + level[..., None], tau)
            return np.where(right > -c, right, np.where(left < -c, left, -c))

        kink = tau[..., None] * np.abs(c) ** (self.p - 1)
        low, high = np.zeros(len(theta)), (np.abs(theta) + kink).max(axis=-1)
        return at(_falling_root(lambda x: np.abs(at(x) + c).sum(axis=-1) - l1_radius, low, high, ROUNDING * l1_radius))

    def _consistent(self, theta: Array, solve: Callable[[Array], Array], radius: float) -> Array:
        """solve(tau) at the tau = scale |solve(tau)|_p^(2 - p), or the larger one that brings the norm to `radius`.

        |solve(tau)|_p falls in tau, so both conditions are monotone.
        """
        if self.p == 2 and math.isinf(radius):
            return solve(np.full(theta.shape[:-1], self.scale))  # |solve(tau)|_2^0 = 1
        rows = theta.reshape(-1, theta.shape[-1])
        top = norm(self.inverse(rows), self.p)
        high = np.log(self.scale) + (2 - self.p) * np.log(np.maximum(top, 1e-300)) + 1e-9
        if math.isfinite(radius):
            # At tau = |theta|_q / radius^(p - 1) even the free minimiser has that norm.
            size = norm(rows, self.q)
            high = np.maximum(high, np.log(np.maximum(size, 1e-300)) - (self.p - 1) * math.log(radius))

        def at(log_tau: Array) -> Array:
            with np.errstate(over="ignore"):
                return solve(np.maximum(np.exp(log_tau), 1e-300).reshape(theta.shape[:-1]))

        def excess(log_tau: Array) -> Array:
            with np.errstate(over="ignore"):
                length = np.log(np.maximum(norm(at(log_tau).reshape(rows.shape), self.p), 1e-300))
            wanted = math.log(self.scale) + (2 - self.p) * length - log_tau
            return np.asarray(np.maximum(wanted, length - math.log(radius)) if math.isfinite(radius) else wanted)

        reach = 1.0
        while (high - reach > -600).any() and not (excess(high - reach) > 0).all():
            reach *= 4
        return at(_falling_root(excess, high - reach, high, 1e-14))


def _falling_root(f: Callable[[Array], Array], low: Array, high: Array, close: float) -> Array:
    """Roots of falling functions, one a row: |f| <= close there, or f <= 0 and f > 0 a rounding error below.

    Illinois steps (false position; an end that stays twice has its value halved), every third one a bisection; `low`
    itself where f(low) <= 0.
    """
    f_low, f_high = f(low), f(high)
    high, stayed = np.where(f_low <= 0, low, high), np.zeros(len(low))
    for turn in range(200):
        if (high - low <= 4e-16 * np.abs(high)).all():
            break
        middle = (low + high) / 2
        if turn % 3 < 2:
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                guess = low + (high - low) * (f_low / (f_low - f_high))
            middle = np.where((guess > low) & (guess < high), guess, middle)
        value = f(middle)
        above = value > 0
        f_high = np.where(above, np.where(stayed == 1, f_high / 2, f_high), value)
        f_low = np.where(above, value, np.where(stayed == -1, f_low / 2, f_low))
        low, high = np.where(above, middle, low), np.where(above, high, middle)
        stayed = np.where(above, 1.0, -1.0)
        done = np.abs(value) <= close
        low, high = np.where(done, middle, low), np.where(done, middle, high)
    return high


@dataclass(frozen=True)
class Entropy:
    """Phi(w) = sum w log w on the simplex of sum 1."""

    @property
    def strong_convexity(self) -> float:
        """Modulus in l1 on the simplex: 1 (Pinsker)."""
        return 1.0

    def value(self, w: Array) -> Array:
        """(..., d) -> (...); 0 log 0 = 0."""
        return np.asarray(scipy.special.xlogy(w, w).sum(axis=-1))

    def gradient(self, w: Array) -> Array:
        """1 + log w; needs w > 0."""
        if not (np.asarray(w) > 0).all():
            raise InvalidInput("the entropy has no gradient where a coordinate is 0; start inside the simplex")
        return np.asarray(1 + np.log(w))

    def inverse(self, y: Array) -> Array:
        """The point of the simplex with that gradient up to a constant: softmax(y)."""
        return np.asarray(scipy.special.softmax(y, axis=-1))

    def bregman(self, u: Array, v: Array) -> Array:
        """Kullback-Leibler divergence of u from v."""
        return np.asarray(scipy.special.rel_entr(u, v).sum(axis=-1))

    def step(self, w: Array, gradient: Array, eta: Array | float) -> Array:
        """argmin <gradient, x> + D(x, w) / eta over the simplex: w exp(-eta gradient), normalised in log space."""
        with np.errstate(divide="ignore"):
            return self.inverse(np.log(w) - np.asarray(eta) * gradient)


class MirrorMap(Protocol):
    """What a measurement needs to know of a map."""

    def gradient(self, u: Array) -> Array: ...


@dataclass(frozen=True)
class MeasuredConvexity:
    """Smallest <grad(x) - grad(y), x - y> / |x - y|^2 that was found, and the pair: no modulus above it is true."""

    value: float
    x: Array
    y: Array


def measure_strong_convexity(
    mirror: MirrorMap, p: float, d: int, rng: Rng, *, pairs: int = 4000, positive: bool = False
) -> MeasuredConvexity:
    """Searches for the pair that shows the least strong convexity in l_p: structured and random pairs, then descent.

    Args:
        p: exponent of the norm in which the modulus is measured.
        d: dimension.
        positive: look inside the simplex (for `Entropy`) rather than in all of R^d.
    """

    def domain(z: Array) -> Array:
        return np.asarray(scipy.special.softmax(z, axis=-1)) if positive else z

    def ratio(x: Array, y: Array) -> Array:
        move = norm(x - y, p) ** 2
        gain = ((mirror.gradient(x) - mirror.gradient(y)) * (x - y)).sum(axis=-1)
        return np.asarray(np.where(move > 0, gain / np.where(move > 0, move, 1.0), np.inf))

    x, y = _pairs(d, rng, pairs)
    ratios = ratio(domain(x), domain(y))
    best = int(np.argmin(ratios))
    start: Array = np.concatenate([x[best], y[best]])

    def objective(z: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        return float(ratio(domain(z[:d]), domain(z[d:])))

    polished = scipy.optimize.minimize(objective, start.tolist(), method="Powell")
    candidates = [(float(ratios[best]), x[best], y[best]), (float(polished.fun), polished.x[:d], polished.x[d:])]
    value, left, right = min(candidates, key=lambda c: c[0])
    return MeasuredConvexity(value, domain(left), domain(right))


def _pairs(d: int, rng: Rng, pairs: int) -> tuple[Array, Array]:
    """Dense and sparse points, each with a near or far partner in a balanced, sparse or random direction."""
    balanced = np.where(np.arange(d) % 2 == 0, 1.0, -1.0)
    points = np.concatenate([np.ones((1, d)), np.eye(d)[:1], rng.standard_normal((pairs, d))])
    points[2 + pairs // 2 :] *= rng.random((len(points) - 2 - pairs // 2, d)) < 0.3
    points = np.concatenate([points, np.repeat(np.ones((1, d)), pairs // 4, axis=0)])
    moves = rng.standard_normal(points.shape)
    moves[::3] = balanced
    moves[1::3] *= rng.random(moves[1::3].shape) < 0.3
    length = 10.0 ** rng.uniform(-4, 1, size=(len(points), 1))
    moves /= np.maximum(norm(moves)[:, None], 1e-300)
    size = np.maximum(norm(points)[:, None], 1e-3)
    return points, points + length * size * moves
