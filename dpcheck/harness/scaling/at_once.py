"""An engine that runs the members of a family at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck import seeds
from dpcheck.errors import InvalidInput
from dpcheck.harness.scaling import Instance, Risk
from dpcheck.harness.scaling.engines import statistic
from dpcheck.interfaces import Array, Rng


@dataclass(frozen=True)
class AtOnce:
    """The mean, or a quantile, of the excess risk where a simulation of several losses under one noise ends.

    Attributes:
        ends: (instances of one algorithm and size, generator, trials) -> (instances, trials, d).
        trials: of the worst member; a pilot takes an eighth.
    """

    ends: Callable[[Sequence[Instance], Rng, int], Array]
    trials: int
    quantile: float | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        return self.together([instance], seed, *key, pilot=pilot)[0]

    def together(self, instances: Sequence[Instance], seed: int, *key: Any, pilot: bool = False) -> list[Risk]:
        """The risks of instances of one problem, under the same noise."""
        one, trials = instances[0], self.trials // 8 if pilot else self.trials
        if any((each.algorithm, each.n) != (one.algorithm, one.n) for each in instances):
            raise InvalidInput("only members that one algorithm meets at one size are run in a batch")
        rng = seeds.stream(seed, "simulated", pilot)  # of no key: common to the family, so that members compare
        ends = self.ends(instances, rng, trials)
        pairs = zip(instances, ends, strict=True)
        return [statistic(np.asarray(each.work.excess_risk(own)), self.quantile) for each, own in pairs]
