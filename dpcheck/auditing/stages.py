"""Counted stages of an audit: each with a rule learned from everything before it, all of them one test.

Counts leave gaps between the p-values that a stage may have, and every stage would lose half of one: where delta is 0
the p-value of a stage is randomised within its gap by a coin from the seed of the audit. An anytime audit, of which the
early stages count little, does so where delta is small, too (`dpcheck.statistics.weighted`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpcheck import seeds
from dpcheck.auditing.rules import Rule
from dpcheck.statistics.binomial import guess_p_value, invert_upwards
from dpcheck.statistics.stages import combine_stages
from dpcheck.statistics.weighted import weighted_p_value

Array = NDArray[np.float64]
LUCK = 0.5
"""Least coin of guesses that are all right, and of none: luck alone must not refute every epsilon."""
STAGES, STAGES_FEW = 4, 2
"""Stages of a fixed audit, of equal size; fewer where scores take few values and delta is above 0: there is less to
learn there, and every stage wastes half a step of its discrete p-value, which the coin spends where delta is 0. By four
in place of two, geometric noise (0.75, claimed 0.5) is refuted in 74 % of 200 audits of 700 runs in place of 65 %."""


@dataclass(frozen=True)
class Stage:
    """Fresh counts under one rule.

    Attributes:
        right, wrong: (levels,) guesses; samples: coin-flipped trials.
        coin: the part of the chance of these very counts that its p-value counts where delta is 0.
    """

    rule: Rule
    right: NDArray[np.int64]
    wrong: NDArray[np.int64]
    samples: int
    coin: float = 1.0

    @staticmethod
    def coin_of(seed: int, number: int) -> float:
        """Of stage `number` of the audit with this seed: uniform, and apart from its trials."""
        return float(seeds.stream(seed, "audit", "stage", number).random())

    @classmethod
    def of(cls, rule: Rule, counts: NDArray[np.int64], coin: float = 1.0) -> Stage:
        """From (cells, 2) counts on data and neighbour."""
        return cls(rule, *rule.tally(counts), int(counts.sum()), coin)

    def log_odds(self, epsilon: float) -> float:
        """Of a right guess, at most, under epsilon-DP."""
        return epsilon

    def epsilon_of(self, log_odds: float) -> float:
        """The other way round."""
        return log_odds

    def worth(self) -> float:
        """How many guesses that all weigh the same tell as much as these: (sum of weights)^2 / sum of their squares."""
        made = (self.right + self.wrong).astype(float)
        weight = np.arange(1, len(made) + 1)
        squares = float(weight**2 @ made)
        return float(weight @ made) ** 2 / squares if squares else 0.0

    def p_value(self, epsilon: float, delta: float, failure_probability: float) -> float:
        """Of (epsilon, delta)-DP, given everything before this stage."""
        if len(self.right) > 1 or (delta > 0 and self.rule.small_leak):
            return self._weighted(epsilon, delta, failure_probability)
        right, wrong, leak = int(self.right[0]), int(self.wrong[0]), self._leak(delta)
        return guess_p_value(right, wrong, self.samples, epsilon, leak, failure_probability, self.coin)

    def _leak(self, delta: float) -> float:
        """A rule that only ever guesses one input meets half of the leak."""
        return delta if self.rule.directions == 2 else delta / 2

    def _weighted(self, epsilon: float, delta: float, failure_probability: float, coin_of_leaks: float = 1.0) -> float:
        worth, leak = self.rule.leak_worth / math.sqrt(self.samples), self._leak(delta)
        counts = self.right, self.wrong, self.samples
        return weighted_p_value(*counts, epsilon, leak, failure_probability, worth, self.coin, coin_of_leaks)

    def randomised_p_value(self, epsilon: float, delta: float, failure_probability: float) -> float:
        """The same, randomised where delta is small as well; of no guesses or right ones only, by at most `LUCK`.

        A test that is not valid given the number of guesses spends its level on those that were made: no coin is left
        for none.
        """
        lucky = max(LUCK, self.coin)
        if not (self.right.any() or self.wrong.any()):
            return lucky if delta == 0 or self.rule.small_leak or not self.rule.guessed else 1.0
        if not self.wrong.any() and delta == 0:
            return lucky * self.p_value(epsilon, delta, failure_probability)
        if delta == 0 or not self.rule.small_leak:
            return self.p_value(epsilon, delta, failure_probability)
        return self._weighted(epsilon, delta, failure_probability, self.coin if self.wrong.any() else lucky)


def epsilon_lower(stages: Sequence[Stage], delta: float, failure_probability: float) -> float:
    """Certified lower bound on epsilon at `delta` from all stages together; 0 when there is no evidence."""
    shares = [s.samples for s in stages]

    def p_value(epsilon: float) -> float:
        return combine_stages([s.p_value(epsilon, delta, failure_probability) for s in stages], shares)

    last = stages[-1]
    right, wrong = float(last.right.sum()), float(last.wrong.sum())
    excess = right - delta * last.samples
    guess = math.log(excess / max(wrong, 0.5)) if excess > 0 else 0.0
    return invert_upwards(p_value, failure_probability, guess=max(0.1, guess))


def sizes_of_stages(samples: int, *, few: bool, delta: float) -> list[int]:
    """How many of the counted trials each stage of a fixed audit has, where what is counted teaches the next stage.

    Args:
        few: whether scores take few values; delta: at which the audit tests.
    """
    stages = STAGES_FEW if few and delta > 0 else STAGES
    ends = [round(samples * (k + 1) / stages) for k in range(stages)]
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]
