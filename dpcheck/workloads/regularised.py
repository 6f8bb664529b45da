"""Tables of records as populations: ridge logistic regression and regression in the fourth power, with exact risk."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball
from dpcheck.interfaces import Array, Constants, Rng, Sample
from dpcheck.workloads.base import BaseWorkload

TOLERANCE = 1e-8
"""Largest certified gap of the population minimiser, relative to the risk at 0."""
ROWS = 2**21
"""Margins that are held at once."""


@dataclass(frozen=True, eq=False)
class RegularisedPopulation(BaseWorkload):
    """f(w, (x, y)) = phi(<x, w>, y) + ridge/2 |w|^2 on a ball around 0, the law uniform over the rows of a table.

    "logistic": phi(m, y) = log(1 + e^m) - y m with labels y in {0, 1}; "l4": phi(m, y) = (m - y)^4.

    Attributes:
        features: x of every row, (N, d), an intercept included where one is wanted.
        target: y of every row, (N,).
    """

    features: Array
    target: Array
    loss_name: Literal["logistic", "l4"] = "logistic"
    ridge: float = 0.01
    radius: float = 1.0

    def __post_init__(self) -> None:
        x, y = np.asarray(self.features, dtype=float), np.asarray(self.target, dtype=float)
        if x.ndim != 2 or y.shape != x.shape[:1] or not len(y):
            raise InvalidInput(f"a population needs features (N, d) and a target (N,), got {x.shape} and {y.shape}")
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise InvalidInput("a population must be finite; drop or fill the rows with NaN or inf")
        if self.loss_name not in ("logistic", "l4"):
            raise InvalidInput(f"unknown loss {self.loss_name!r}; choose logistic or l4")
        if self.loss_name == "logistic" and not np.isin(y, (0.0, 1.0)).all():
            raise InvalidInput("logistic regression needs labels 0 and 1")
        if not (self.radius > 0 and self.ridge >= 0):
            raise InvalidInput(f"needs radius > 0 and ridge >= 0, got {self.radius}, {self.ridge}")

    @functools.cached_property
    def table(self) -> Array:
        """Every record (x, y): (N, d + 1)."""
        return np.column_stack([self.features, self.target]).astype(float)

    @property
    def d(self) -> int:
        return int(self.features.shape[1])

    @property
    def record_shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (self.d + 1,)

    @functools.cached_property
    def domain(self) -> Ball:
        return Ball(self.d, self.radius)

    # The scalar loss

    def _value(self, m: Array, y: Array) -> Array:
        if self.loss_name == "logistic":
            return np.asarray(np.logaddexp(0.0, m) - y * m)
        return np.asarray((m - y) ** 4)

    def _slope(self, m: Array, y: Array) -> Array:
        return np.asarray(scipy.special.expit(m) - y if self.loss_name == "logistic" else 4 * (m - y) ** 3)

    def _bend(self, m: Array, y: Array) -> Array:
        if self.loss_name == "logistic":
            return np.asarray(scipy.special.expit(m) * scipy.special.expit(-m))
        return np.asarray(12 * (m - y) ** 2)

    # The oracle

    def loss(self, w: Array, z: Array) -> Array:
        ridge = self.ridge / 2 * (w * w).sum(axis=-1)
        return np.asarray(self._value((z[..., :-1] * w).sum(axis=-1), z[..., -1]) + ridge)

    def gradient(self, w: Array, z: Array) -> Array:
        slope = self._slope((z[..., :-1] * w).sum(axis=-1), z[..., -1])
        return np.asarray(slope[..., None] * z[..., :-1] + self.ridge * w)

    def clipped_sum(self, w: Array, sample: Sample, level: float) -> Array:
        """Sum of weights x clipped gradients, (trials, d), from margins and lengths alone."""
        x, y = sample.values[..., :-1], sample.values[..., -1]
        m = np.matmul(x, w[:, :, None])[..., 0]
        slope = self._slope(m, y)
        across, own = np.einsum("trd,trd->tr", x, x), (w * w).sum(axis=1)[:, None]
        squared = slope**2 * across + 2 * self.ridge * slope * m + self.ridge**2 * own
        shrink = sample.weights * np.minimum(1.0, level / np.maximum(np.sqrt(np.maximum(squared, 0.0)), 1e-300))
        pulled = np.matmul((shrink * slope)[:, None, :], x)[:, 0]
        return np.asarray(pulled + self.ridge * shrink.sum(axis=1, keepdims=True) * w)

    def amplitude(self, z: Array) -> Array:
        """An upper bound on sup |gradient| of each record, exact without a ridge: slopes are monotone in the margin."""
        reach = np.linalg.norm(z[..., :-1], axis=-1)
        ends = [np.abs(self._slope(side * self.radius * reach, z[..., -1])) for side in (-1, 1)]
        return np.asarray(np.maximum(*ends) * reach + self.ridge * self.radius)

    @functools.cached_property
    def constants(self) -> Constants:
        """In l_2; moments bound those of a mean of m gradients by those of one."""
        sizes, reach = self.amplitude(self.table), np.linalg.norm(self.features, axis=1)
        if self.loss_name == "logistic":
            bend = np.full(len(reach), 0.25)
        else:
            bend = 12 * (self.radius * reach + np.abs(self.target)) ** 2
        smooth = float((bend * reach**2).max()) + self.ridge
        return Constants(
            d=self.d,
            diameter=self.domain.diameter,
            lipschitz=self._euclidean(float(sizes.max())),
            smoothness=self._euclidean(smooth),
            moment=lambda k, m: float(np.mean(sizes**k) ** (1 / k)),
            growth=(2.0, self.ridge / 2) if self.ridge > 0 else None,
            extra={"risk_tolerance": TOLERANCE * float(self.risk(np.zeros((1, self.d)))[0])},
        )

    @staticmethod
    def _euclidean(value: float) -> Callable[[float], float]:
        def constant(p: float) -> float:
            if p != 2:
                raise InvalidInput(f"this population declares its constants in l_2 only, not in l_{p:g}")
            return value

        return constant

    # The truth

    def risk(self, w: Array) -> Array:
        """F(w), exactly: (trials, d) -> (trials,)."""
        numbers = []
        for part in np.array_split(w, max(1, math.ceil(len(w) * len(self.target) / ROWS))):
            values = self._value(part @ self.features.T, self.target)
            numbers.append(values.mean(axis=1) + self.ridge / 2 * (part * part).sum(axis=1))
        return np.concatenate(numbers)

    def excess_risk(self, w: Array) -> Array:
        """F(w) less the certified best risk: exact up to `constants.extra["risk_tolerance"]`."""
        return np.asarray(np.maximum(0.0, self.risk(w) - self.risk(self.population_minimiser[None])[0]))

    def misclassified(self, w: Array) -> Array:
        """Share of the population whose label (1 when y > 1/2) the sign of the prediction misses: (trials,)."""
        edge = 0.0 if self.loss_name == "logistic" else 0.5
        return np.asarray([(((self.features @ v) > edge) != (self.target > 0.5)).mean() for v in w])

    @functools.cached_property
    def population_minimiser(self) -> Array:
        """(d,): Newton's method, each quadratic model minimised on the ball; accepted on the `gap`."""
        w, allowed = np.zeros(self.d), self.constants.extra["risk_tolerance"]
        for _ in range(100):
            m = self.features @ w
            g = self._slope(m, self.target) @ self.features / len(m) + self.ridge * w
            if self._gap(w, g) <= 1e-3 * allowed:
                break
            bend = self._bend(m, self.target)[:, None]
            hessian = self.features.T @ (bend * self.features) / len(m) + self.ridge * np.eye(self.d)
            step = _least_on_ball(hessian, hessian @ w - g, self.radius) - w
            length = 1.0
            # Convex: while the slope along the step has not turned much, the value has not gone up.
            while self._slope_along(w + length * step, step) > 0.5 * abs(g @ step) and length > 1e-8:
                length /= 2
            w = w + length * step
        if not (apart := self.gap(w)) <= allowed:
            raise InvalidInput(f"the population minimiser is certified only to {apart:.1e}, {allowed:.1e} is asked")
        return np.asarray(w)

    def gap(self, w: Array) -> float:
        """A sure bound on F(w) - F*, by convexity: max over the ball of <gradient, w - v>."""
        g = self._slope(self.features @ w, self.target) @ self.features / len(self.target) + self.ridge * w
        return self._gap(w, g)

    def _gap(self, w: Array, g: Array) -> float:
        return float(g @ w + self.radius * np.linalg.norm(g))

    def _slope_along(self, w: Array, step: Array) -> float:
        slope = self._slope(self.features @ w, self.target)
        return float(slope @ (self.features @ step) / len(slope) + self.ridge * (w @ step))

    def rows(self, rng: Rng, trials: int, n: int) -> Array:
        return self.table[rng.integers(len(self.table), size=(trials, n))]


def _least_on_ball(hessian: Array, b: Array, radius: float) -> Array:
    """argmin of <v, hessian v>/2 - <b, v> over |v| <= radius: v = (hessian + mu I)^-1 b, mu >= 0."""
    values, axes = np.linalg.eigh(hessian)
    values, along = np.maximum(values, 1e-12 * max(1.0, float(values[-1]))), axes.T @ b

    def excess(mu: float) -> float:
        return float(np.linalg.norm(along / (values + mu)) / radius - 1)

    if excess(0.0) <= 0:
        return np.asarray(axes @ (along / values))
    # |v| <= |b|/mu.
    mu = scipy.optimize.brentq(excess, 0.0, float(np.linalg.norm(b)) / radius, xtol=1e-300, rtol=1e-15)
    v = axes @ (along / (values + mu))
    return np.asarray(v * min(1.0, radius / float(np.linalg.norm(v))))
