"""The threshold test of the sparse vector technique: noisy answers against a threshold whose noise is drawn once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Rng
from dpcheck.laws._common import check_epsilon, check_scale, check_sensitivity, per_trial
from dpcheck.laws.winners import log_survival
from dpcheck.privacy import pure_to_zcdp


@dataclass(frozen=True)
class AboveThreshold:
    """One bit for each query: is score - level - coin + Laplace(query) >= 0?

    The coin, Laplace(threshold), is drawn once for a whole run of queries through `Run.coins` and is part of the core;
    the run halts at the first bit of the halting kind. Every further query is then free: `pure` ignores `count`.

    Attributes:
        threshold: scale of the coin, which the algorithm draws.
        query: scale of the fresh noise on each query.

    >>> AboveThreshold(threshold=2.0, query=4.0).pure(sensitivity=1.0, count=1000)
    1.0
    """

    threshold: float
    query: float

    def __post_init__(self) -> None:
        check_scale("threshold", self.threshold)
        check_scale("query", self.query)

    @property
    def noise(self) -> float:
        """The scale of the query noise, as tables show it."""
        return self.query

    def sample(self, core: Array, rng: Rng) -> Array:
        """Bits 0.0 or 1.0, of the shape of `core` (trials, ..., 1)."""
        return np.where(np.isnan(core), np.nan, (core + rng.laplace(scale=self.query, size=core.shape) >= 0) * 1.0)

    def log_ratio(self, output: Array, core: Array, other: Array) -> Array:
        """log P(output | core) - log P(output | other), given the coin: (trials,)."""
        sign = np.where(np.isnan(output), np.nan, np.where(output > 0.5, -1.0, 1.0))
        return per_trial(log_survival(sign * core / self.query) - log_survival(sign * other / self.query))

    def pure(self, sensitivity: float, count: int = 1) -> float:
        """sensitivity / threshold + 2 sensitivity / query, for any number of queries until the halt."""
        check_sensitivity(sensitivity, count)
        return sensitivity / self.threshold + 2 * (sensitivity / self.query)

    def zcdp(self, sensitivity: float, count: int = 1) -> float:
        """What pure DP implies, for any number of queries until the halt."""
        return pure_to_zcdp(self.pure(sensitivity, count))

    def delta(self, epsilon: float, sensitivity: float) -> float:
        """Exact for one query, coin included: the noise is a sum of two Laplace variables. See also `halting`."""
        check_epsilon(epsilon)
        check_sensitivity(sensitivity)
        if sensitivity == 0:
            return max(0.0, -math.expm1(epsilon))
        if epsilon <= -self.pure(sensitivity):
            return -math.expm1(epsilon)

        def excess(margin: float) -> float:
            return math.exp(epsilon) * self._above(margin) - self._above(margin + sensitivity)

        reach = sensitivity + 8 * (self.threshold + self.query)
        grid = np.linspace(-reach, reach, 801)
        best = int(np.argmin([excess(float(x)) for x in grid]))
        window = (float(grid[max(0, best - 1)]), float(grid[min(800, best + 1)]))
        optimum = scipy.optimize.minimize_scalar(
            excess, bounds=window, method="bounded", options={"xatol": 1e-10 * reach}
        )
        return max(0.0, -float(optimum.fun), -math.expm1(epsilon))

    def _above(self, margin: float) -> float:
        """P(bit = 1) at score - level = `margin`, over coin and query noise."""
        wide = max(self.threshold, self.query)
        ratio, gap = min(self.threshold, self.query) / wide, abs(margin) / wide
        if 1 - ratio < 1e-5:  # the difference quotient cancels; at the mean scale its limit is off by (1 - ratio)^2
            scaled = 2 * gap / (1 + ratio)
            tail = 0.5 * math.exp(-scaled) * (1 + scaled / 2)
        else:
            tail = (math.exp(-gap) - ratio**2 * math.exp(-gap / ratio)) / (2 * (1 - ratio**2))
        return 1 - tail if margin > 0 else tail

    def halting(self, margins: Array, halt_on: Literal[0, 1] = 1) -> Array:
        """Exact law of the halting time, by quadrature over the coin.

        Args:
            margins: score - level of each query in order, without the coin: (trials, T).
            halt_on: the bit that ends the run.

        Returns:
            (trials, T + 1): the probability that query t is the first with that bit; last, that none is.
        """
        if margins.ndim != 2 or margins.shape[1] < 1 or not np.isfinite(margins).all():
            raise InvalidInput(f"margins must be finite, of shape (trials, T >= 1), got shape {margins.shape}")
        if halt_on not in (0, 1):
            raise InvalidInput(f"halt_on must be 0 or 1, got {halt_on!r}")
        return np.stack([self._halting(row, halt_on) for row in margins])

    def _halting(self, margins: Array, halt_on: int) -> Array:
        coin, weights = _coin_nodes(margins, self.threshold, min(self.threshold, self.query / math.sqrt(len(margins))))
        values, place = np.unique(margins, return_inverse=True)  # the worst queries take few values
        gap = (coin[:, None] - values[None, :]) / self.query
        one, zero = log_survival(gap)[:, place], log_survival(-gap)[:, place]
        stop, go = (one, zero) if halt_on else (zero, one)
        before = np.cumsum(go, axis=1)
        log_halt = np.concatenate([stop[:, :1], stop[:, 1:] + before[:, :-1], before[:, -1:]], axis=1)
        density = np.exp(-np.abs(coin) / self.threshold) / (2 * self.threshold)
        return np.asarray((weights * density) @ np.exp(log_halt))


def _coin_nodes(margins: Array, threshold: float, width: float) -> tuple[Array, Array]:
    """Gauss-Legendre points on panels no wider than `width`, cut at the kinks 0 and `margins`."""
    reach = 45 * threshold
    kinks = np.unique(np.clip(np.concatenate([margins, [0.0]]), -reach, reach))
    edges = [-reach]
    for stop in [*kinks.tolist(), reach]:
        pieces = max(1, math.ceil((stop - edges[-1]) / width))
        edges.extend(np.linspace(edges[-1], stop, pieces + 1)[1:].tolist())
    nodes, weights = np.polynomial.legendre.leggauss(16)
    half, middle = np.diff(edges) / 2, (np.array(edges[1:]) + np.array(edges[:-1])) / 2
    return (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()
