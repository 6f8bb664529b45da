"""Runs in which only normal noise is drawn: for algorithms whose steps on equal or counted records are closed forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck import seeds
from dpcheck.harness.scaling.engines import Instance, Risk, statistic
from dpcheck.interfaces import Array, Rng


@dataclass(frozen=True)
class Simulated:
    """The mean, or a quantile, of the excess risk where a paper's own simulation of an algorithm ends.

    All members of a family run under one noise, so that none of them is lucky.

    Attributes:
        ends: (instance, generator, trials) -> (trials, d), by the numbers of the instance's own schedule.
        trials: of the worst member; a pilot takes an eighth.
    """

    ends: Callable[[Instance, Rng, int], Array]
    trials: int
    quantile: float | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        trials = self.trials // 8 if pilot else self.trials
        rng = seeds.stream(seed, "simulated", pilot)  # of no key: common to the family
        return statistic(np.asarray(instance.work.excess_risk(self.ends(instance, rng, trials))), self.quantile)


@dataclass(frozen=True)
class Shared(Simulated):
    """A simulation of which several members are piloted at once."""

    def together(self, instances: Sequence[Instance], seed: int, *key: Any, pilot: bool = False) -> list[Risk]:
        return [self(one, seed, *key, pilot=pilot) for one in instances]
