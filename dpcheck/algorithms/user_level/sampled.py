"""Steps whose test and mean are amplified together, by the minibatch that they share and nothing else sees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpcheck.accounting.composition import Composition
from dpcheck.accounting.conversion import pure_renyi
from dpcheck.algorithms.user_level.threshold import RedrawnThreshold
from dpcheck.interfaces import Array, Rng
from dpcheck.laws import Gaussian

SCORE = 2.0
"""How far one user moves the score of distinct ones."""
SHARE = 0.0625  # the same: half or twice of it moves the norm by 0.6 % at most, and the account follows
"""What the score's movement counts beside that of the mean, so that a norm of both is 0.2 % above the mean's."""


@dataclass(frozen=True)
class TestedMean:
    """A bit, and where it is 1 a noisy mean, of one minibatch: the core is (margin of the score in `unit`s, mean).

    A sensitivity is the l2 norm of both; that of the score by itself is `SCORE`, whatever is said of the mean.

    Attributes:
        test: of the bit; its coin is part of the margin.
        sigma: deviation of the noise on the mean.
        unit: what 1 of the score counts in the core.
    """

    test: RedrawnThreshold
    sigma: float
    unit: float

    @property
    def noise(self) -> float:
        """That of the mean, as tables show it."""
        return self.sigma

    @cached_property
    def _gaussian(self) -> Gaussian:
        return Gaussian(self.sigma)

    def sample(self, core: Array, rng: Rng) -> Array:
        """(trials, 1 + d): the bit, and the mean, NaN where the bit is 0."""
        bit = self.test.sample(core[..., :1] / self.unit, rng)
        mean = self._gaussian.sample(core[..., 1:], rng)
        return np.concatenate([bit, np.where(bit == 1, mean, np.nan)], axis=-1)

    def log_ratio(self, output: Array, core: Array, other: Array) -> Array:
        """log P(output | core) - log P(output | other), given the coin: (trials,)."""
        bit = self.test.log_ratio(output[..., :1], core[..., :1] / self.unit, other[..., :1] / self.unit)
        mean = np.where(np.isnan(output[..., 1:]), core[..., 1:], output[..., 1:])
        told = self._gaussian.log_ratio(mean, core[..., 1:], other[..., 1:])
        return np.asarray(bit + np.where(output[..., 0] == 1, told, 0.0))

    def pure(self, sensitivity: float, count: int = 1) -> float:  # the same: infinite whatever the count
        """inf: the mean has Gaussian noise."""
        return math.inf if sensitivity > 0 else 0.0

    def zcdp(self, sensitivity: float, count: int = 1) -> float:
        return self.test.zcdp(SCORE, count) + self._gaussian.zcdp(sensitivity, count)

    def pair(self, sensitivity: float) -> tuple[tuple[float, ...], float]:
        """Randomised response and a Gaussian: a mean that is not told tells no more."""
        return (self.test.pure(SCORE),), self._gaussian.mu(sensitivity)

    def renyi(self, alpha: float, sensitivity: float) -> float:
        """Of that pair."""
        return pure_renyi(alpha, self.test.pure(SCORE)) + alpha * self._gaussian.zcdp(sensitivity)

    def delta(self, epsilon: float, sensitivity: float) -> float:
        """Of that pair, exactly."""
        return Composition([(self.test.pure(SCORE), 1)], self._gaussian.mu(sensitivity)).delta(epsilon)


@dataclass(frozen=True, kw_only=True)
class SampledSteps:
    """What T steps on K of N users each may spend, so that all of them together are (epsilon, delta)-private.

    Lemma A.8 makes at most 1.3 K budget/N of a step's `budget` <= 1/2, which Lemma A.7 composes to epsilon at delta/2,
    for epsilon <= 2/3 log(2/delta). Half of a step's budget is the bit's, half the mean's.
    """

    users: int
    steps: int
    epsilon: float
    delta: float

    @property
    def root(self) -> float:
        """sqrt(T log(2/delta))."""
        return math.sqrt(self.steps * math.log(2 / self.delta))

    @property
    def log(self) -> float:
        """log(8T/delta)."""
        return math.log(8 * self.steps / self.delta)

    @property
    def covered(self) -> bool:
        return self.epsilon <= 2 / 3 * math.log(2 / self.delta)

    def least(self) -> float:
        """Users of a minibatch: for a budget of at most 1/2, and for T steps to pass over all."""
        return max(3 * self.users * self.epsilon / (4 * self.root), self.users / self.steps)

    def enough(self) -> float:
        """Users of the phase that make its tests sure: a full score passes, and one below 7K/10 does not."""
        return 320 / 3 * self.root * self.log / self.epsilon

    def budget(self, batch: int) -> float:
        """epsilon of a step on its minibatch."""
        return min(0.5, 3 * self.epsilon * self.users / (8 * batch * self.root))

    def missed(self, batch: int) -> float:
        """delta of the mean of a step, and the chance that its test passes where it should not."""
        return self.delta * self.users / (4 * batch * self.steps)

    def sigma(self, batch: int, tau: float) -> float:
        """Noise for a mean that moves by 80 tau/K."""
        return 160 * tau / batch / self.budget(batch) * math.sqrt(2 * self.log)


__all__ = ["SCORE", "SHARE", "SampledSteps", "TestedMean"]
