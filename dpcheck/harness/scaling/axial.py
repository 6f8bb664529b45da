"""The phases of `affine` in any dimension, where all is symmetric around the axis of the member's minimiser.

A point is its place on that axis and its distance from it, in two dimensions as in 1e30; the normal variables are the
same for every member of a family and every mutant.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck import seeds
from dpcheck.harness.scaling.engines import Instance, Risk, statistic


@dataclass(frozen=True)
class AxialPull:
    """One phase: w -> Π(centre + keep (w - centre) + noise), centre on the first axis.

    The noise is normal and independent by coordinate, of deviation `along` that axis and `across` in all others.
    """

    keep: float
    centre: float
    along: float
    across: float


@dataclass(frozen=True)
class Axial:
    """The mean, or a quantile, of the excess risk after such phases, in the dimension of the instance's problem.

    Its work may be the section of the loss by a plane through the first axis.

    Attributes:
        pulls: the phases of an instance, read off its own schedule.
        trials: runs.
    """

    pulls: Callable[[Instance], Sequence[AxialPull]]
    trials: int
    quantile: float | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        work, trials = instance.work, self.trials // 8 if pilot else self.trials
        others = instance.problem.constants.d - 1
        rng = seeds.stream(seed, "affine", pilot)  # of no key: common to the family
        w = work.project(np.zeros((trials, work.constants.d)))
        for pull in self.pulls(instance):
            place, distance = w[:, 0], w[:, 1] if others else 0.0
            first, second = rng.standard_normal((2, trials))
            beyond = rng.chisquare(others - 1, trials) if others > 1 else 0.0
            w = np.zeros_like(w)
            w[:, 0] = pull.centre + pull.keep * (place - pull.centre) + pull.along * first
            if others:
                w[:, 1] = np.sqrt((pull.keep * distance + pull.across * second) ** 2 + pull.across**2 * beyond)
            w = work.project(w)
        return statistic(np.asarray(work.excess_risk(w)), self.quantile)
