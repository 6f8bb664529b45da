"""Runs in which only normal noise is drawn: for algorithms whose steps on equal or counted records are closed forms."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck import seeds
from dpcheck.errors import InvalidInput
from dpcheck.harness.scaling.engines import ROUNDS, Instance, Risk, statistic
from dpcheck.interfaces import Array, Rng

Ends = Callable[[Sequence[Instance], Rng, int], Sequence[Array] | Array]
"""(instances of one algorithm and size, generator, trials) -> (trials, d) for each of them, under the same noise."""


def one_by_one(ends: Callable[[Instance, Rng, int], Array]) -> Ends:
    """A simulation of one instance for those of several, which begin at the same state of the generator."""

    @functools.wraps(ends)
    def of_each(instances: Sequence[Instance], rng: Rng, trials: int) -> list[Array]:
        return [ends(each, copy.deepcopy(rng), trials) for each in instances]

    return of_each


@dataclass(frozen=True)
class Simulated:
    """The mean, or a quantile, of the excess risk where a paper's own simulation of an algorithm ends.

    All members of a family run under one noise, so that none of them is lucky.

    Attributes:
        ends: of several instances at once, by the numbers of the instance's own schedule.
        trials: of the worst member; a pilot takes an eighth.
        rounds: halvings of the grid around the worst member.
    """

    ends: Ends
    trials: int
    quantile: float | None = None
    rounds: int = ROUNDS

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        return self.together([instance], seed, *key, pilot=pilot)[0]

    def together(self, instances: Sequence[Instance], seed: int, *key: Any, pilot: bool = False) -> list[Risk]:
        """The risks of instances of one problem, in their order."""
        one, trials = instances[0], self.trials // 8 if pilot else self.trials
        if any((each.algorithm, each.n) != (one.algorithm, one.n) for each in instances):
            raise InvalidInput("only members that one algorithm meets at one size are run in a batch")
        rng = seeds.stream(seed, "simulated", pilot)  # of no key: common to the family, so that members compare
        pairs = zip(instances, self.ends(instances, rng, trials), strict=True)
        return [statistic(np.asarray(each.work.excess_risk(own)), self.quantile) for each, own in pairs]
