"""The bettor of an anytime audit that stakes all on one test at a horizon.

Its wealth is that of the staged test's conditional error (`dpcheck.statistics.stages`), null by null: a nonnegative
supermartingale under each of them, which at the horizon is worth 1/alpha or nothing. So an audit that runs to its
horizon has nearly the power of a fixed one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dpcheck.auditing.cells import Partition
from dpcheck.auditing.rules import LEVELS, Rule, choose_rule
from dpcheck.auditing.stages import Stage

Array = NDArray[np.float64]
STAGES = (0.08, 0.3, 1.0)
"""Ends of the learning part and of the two stages, as shares of the time to the horizon."""
FURTHER = 4
"""Each horizon over the one before."""


@dataclass
class Bold:
    """The bettor's memory; its size does not grow with the trials.

    Attributes:
        epsilons: (nulls,) growing, all at `delta`; level: the test wins one over it.
        begun, horizon: trials at which its time began and ends; stage: 0 learns, 1 and 2 count, 3 is over.
        guess: (cells,) rule in force; right, wrong: (levels,) guesses in this stage, of `tested` trials.
        log_stake: (nulls,) what it was given; score: weighted normal scores so far; log_wealth: now.
        all_right, all_wrong: guesses of all trials ever, each by the rule in force before it was drawn.
        small_leak, leak_worth: as of the rule.
    """

    epsilons: Array
    delta: float
    level: float
    begun: int
    horizon: int
    stage: int
    guess: NDArray[np.int8]
    right: NDArray[np.int64]
    wrong: NDArray[np.int64]
    tested: int
    log_stake: Array
    score: Array
    log_wealth: Array
    small_leak: bool = False
    leak_worth: float = 0.0
    all_right: int = 0
    all_wrong: int = 0

    @classmethod
    def unfunded(cls, epsilons: Array, delta: float, level: float, horizon: int, cells: int) -> Bold:
        nulls = len(epsilons)
        none = np.zeros(LEVELS[-1], dtype=np.int64)
        nothing, poor = np.zeros(nulls), np.full(nulls, -math.inf)
        guess = np.zeros(cells, dtype=np.int8)
        return cls(epsilons, delta, level, 0, horizon, 3, guess, none, none.copy(), 0, nothing, nothing.copy(), poor)

    @property
    def over(self) -> bool:
        return self.stage == 3

    @property
    def left(self) -> int:
        """Trials until the stage ends."""
        return self._end(self.stage) - self._end(self.stage - 1) - self.tested

    def _end(self, stage: int) -> int:
        share = 0.0 if stage < 0 else STAGES[stage]
        return self.begun + round(share * (self.horizon - self.begun))

    def fund(self, log_stake: Array, now: int) -> None:
        """A new time to a horizon begins after `now` trials."""
        self.begun, self.horizon = now, self.horizon if now == 0 else FURTHER * now
        self.log_stake, self.score = log_stake, np.zeros(len(log_stake))
        self.log_wealth = log_stake.copy()
        self.stage = 0

    def choose(self, cells: Partition) -> None:
        """The rule of the stage that begins, from the trials before it."""
        ahead = self.horizon - self._end(self.stage - 1)
        chosen = choose_rule(cells, ahead, self.delta, 0.5 * self.level)
        self.guess, self.small_leak, self.leak_worth = chosen.level, chosen.small_leak, chosen.leak_worth
        self.right, self.wrong = np.zeros_like(self.right), np.zeros_like(self.wrong)
        self.tested = 0

    def rule(self, predicted: float = 0.0) -> Rule:
        """The rule in force."""
        return Rule(self.guess, self.delta, predicted, self.small_leak, self.leak_worth)

    def observe(self, fresh: NDArray[np.int64]) -> None:
        """Takes (cells, 2) counts of no more than `left` trials; at the end of a stage `tested` is 0: `choose` anew."""
        right, wrong = self.rule().tally(fresh)
        self.right[: len(right)] += right
        self.wrong[: len(wrong)] += wrong
        self.all_right += int(right.sum())
        self.all_wrong += int(wrong.sum())
        self.tested += int(fresh.sum())
        if self.left > 0:
            return
        if self.stage:
            self._stake()
        self.stage += 1
        self.tested = 0

    def _stake(self) -> None:
        """The wealth at the end of a stage."""
        counted = 1 - STAGES[0]
        share = (STAGES[self.stage] - STAGES[self.stage - 1]) / counted
        spent = (STAGES[self.stage] - STAGES[0]) / counted
        top = max(1, int(np.abs(self.guess).max()))
        stage = Stage(self.rule(), self.right[:top], self.wrong[:top], self.tested)
        self.score = self.score + math.sqrt(share) * stage.scores(self.epsilons, self.delta, self.level)
        log_level = np.minimum(self.log_stake + math.log(self.level), -1e-3)
        gap = self.score + special.ndtri_exp(log_level)
        last = self.stage == 2
        won = np.where(gap >= 0, 0.0, -math.inf) if last else special.log_ndtr(gap / math.sqrt(1 - spent))
        self.log_wealth = np.asarray(won - math.log(self.level))

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in vars(self).items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Bold:
        integers = {"guess": np.int8, "right": np.int64, "wrong": np.int64}
        arrays: dict[str, Any] = {k: np.asarray(values[k], dtype=kind) for k, kind in integers.items()}
        arrays |= {k: np.asarray(values[k], dtype=float) for k in ("epsilons", "log_stake", "score", "log_wealth")}
        counts = ("begun", "horizon", "stage", "tested", "small_leak", "all_right", "all_wrong")
        numbers: dict[str, Any] = {k: int(values[k]) for k in counts}
        # States of older versions have fewer levels, and charge the largest number of leaks.
        for k in ("right", "wrong"):
            arrays[k] = np.pad(arrays[k], (0, int(LEVELS[-1]) - len(arrays[k])))
        numbers |= {k: float(values.get(k, 0.0)) for k in ("delta", "level", "leak_worth")}
        return cls(**arrays, **numbers)
