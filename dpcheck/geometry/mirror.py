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
        values = self._consistent(theta, c, l1_radius, math.inf)
        far = norm(values, self.p) > radius
        if far.any():
            values[far] = self._consistent(theta[far], c[far], l1_radius, radius)
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

    def _consistent(self, theta: Array, c: Array, l1_radius: float, radius: float) -> Array:
        """The minimiser at the tau = scale |u|_p^(2 - p), or the larger one that brings the norm to `radius`.

        The norm of what minimises at a given tau falls in tau, so both conditions are monotone.
        """
        at = _Separable(1 / (self.p - 1), theta, c, l1_radius)
        if self.p == 2 and math.isinf(radius):
            return at(np.full(len(theta), math.log(self.scale)))[0]  # |u|_2^0 = 1
        top = norm(self.inverse(theta), self.p)
        high = np.log(self.scale) + (2 - self.p) * np.log(np.maximum(top, 1e-300)) + 1e-9
        if math.isfinite(radius):
            # At tau = |theta|_q / radius^(p - 1) even the free minimiser has that norm.
            size = norm(theta, self.q)
            high = np.maximum(high, np.log(np.maximum(size, 1e-300)) - (self.p - 1) * math.log(radius))

        def excess(log_tau: Array) -> tuple[Array, Array]:
            u, rate = at(log_tau)
            with np.errstate(over="ignore", invalid="ignore"):
                size = np.maximum(norm(u, self.p), 1e-300)[:, None]
                growth = np.sign(u) * (np.abs(u) / size) ** (self.p - 1) * rate / size
                length, slope = np.log(size[:, 0]), growth.sum(axis=-1)
            value, fall = math.log(self.scale) + (2 - self.p) * length - log_tau, (2 - self.p) * slope - 1
            if math.isfinite(radius):
                more = length - math.log(radius)
                value, fall = np.maximum(value, more), np.where(more > value, slope, fall)
            return value, fall

        reach = 1.0
        while (high - reach > -600).any() and not (excess(high - reach)[0] > 0).all():
            reach *= 4
        return at(_falling_root_by_slopes(excess, high - reach, high, high, 1e-14))[0]


class _Separable:
    """argmin tau |u|^p / p - theta u over |u + c|_1 <= l1_radius: every theta shrinks by a multiplier towards u = -c.

    The multiplier is sought from the largest theta on, beside which it keeps its digits, and from where it was for the
    last tau, which is not far where another root is sought around it.

    Attributes:
        exponent: 1 / (p - 1).
        theta, c: (rows, d).
    """

    def __init__(self, exponent: float, theta: Array, c: Array, l1_radius: float) -> None:
        self.exponent, self.theta, self.c, self.l1_radius = exponent, theta, c, l1_radius
        self.root, self.top = np.abs(c) ** (1 / exponent), np.abs(theta).max(axis=-1)
        self.right, self.left = theta - self.top[:, None], theta + self.top[:, None]
        self.level, self.moves, self.log_tau = np.zeros((3, len(theta)))

    def __call__(self, log_tau: Array) -> tuple[Array, Array]:
        """u and its derivative in log tau, (rows, d) each."""
        with np.errstate(over="ignore"):
            tau = np.maximum(np.exp(log_tau), 1e-300)[:, None]
        kink = -tau * np.sign(self.c) * self.root  # the theta at which u = -c
        most = (np.abs(self.theta) + np.abs(kink)).max(axis=-1) - self.top

        def excess(level: Array) -> tuple[Array, Array]:
            u, by_level = self._at(level, tau, kink)
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                length = np.abs(u + self.c).sum(axis=-1)
                # Of powers of a level the logarithm is nearer to a line.
                return np.log(length / self.l1_radius), -np.abs(by_level).sum(axis=-1) / length

        start = np.minimum(self.level + self.moves * (log_tau - self.log_tau), most)
        self.level = _falling_root_by_slopes(excess, -self.top, most, start, ROUNDING)
        u, by_level = self._at(self.level, tau, kink)
        alone = np.where(by_level != 0, -self.exponent * u, 0.0)  # at that multiplier
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            moves = (np.sign(u + self.c) * alone).sum(axis=-1) / np.abs(by_level).sum(axis=-1)
        self.moves = np.where((self.level > -self.top) & np.isfinite(moves), moves, 0.0)
        self.log_tau = log_tau
        return u, alone + self.moves[:, None] * by_level

    def _at(self, level: Array, tau: Array, kink: Array) -> tuple[Array, Array]:
        """u at a multiplier less the largest theta, and its derivative in it: 0 where u = -c."""
        left, right = self.left + level[:, None], self.right - level[:, None]
        side = np.where(right > kink, -1.0, np.where(left < kink, 1.0, 0.0))
        y = np.where(side < 0, right, left)
        with np.errstate(over="ignore", invalid="ignore"):
            size = np.abs(y) / tau
            u = np.where(side == 0, -self.c, np.sign(y) * size**self.exponent)
            slope = np.where(size > 0, np.abs(u) / np.where(size > 0, size, 1.0), float(self.exponent == 1))
            return u, side * self.exponent * slope / tau


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


def _falling_root_by_slopes(
    f: Callable[[Array], tuple[Array, Array]], low: Array, high: Array, start: Array, close: float
) -> Array:
    """The same of functions that tell their slopes: Newton steps from `start`, and halves where these do not shrink."""
    x, floor, moved = np.minimum(np.maximum(start, low), high), low, high - low
    asked = np.zeros(len(x), dtype=bool)  # at the lowest point
    for _ in range(200):
        value, slope = f(x)
        above = value > 0
        low, high = np.where(above, x, low), np.where(above, high, x)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            step = value / slope
        least = 4e-16 * np.abs(x)
        at_end = (x <= floor) | (np.abs(step) <= least) | (high - low <= least)
        done = (np.abs(value) <= close) | (~above & at_end) | (above & (high - low <= least))
        if done.all():
            return np.where(np.abs(value) <= close, x, high)
        # A step that rounding hides is made longer, so that it leads past the root.
        step = np.copysign(np.maximum(np.abs(step), least), step)
        guess, asked = np.maximum(x - step, floor), asked | (x <= floor)
        short = (np.abs(step) <= moved / 2) | (np.abs(step) <= least) | ((guess <= floor) & ~asked)
        good = (guess <= high) & (guess >= low) & short
        guess = np.where(good, guess, (low + high) / 2)
        moved, x = np.where(done, moved, np.abs(guess - x)), np.where(done, x, guess)
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
