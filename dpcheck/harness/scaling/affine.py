"""Phases that move a point affinely and add normal noise: averaged descent on isotropic quadratics, at any size.

The coefficients are closed forms, so that 1e48 records cost as much as a hundred; only the normal variables are drawn,
and the same ones for every member of a family and every mutant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck import seeds
from dpcheck.harness.scaling.engines import Instance, Risk, statistic
from dpcheck.interfaces import Array


@dataclass(frozen=True)
class Pull:
    """One phase: w -> Π(centre + keep (w - centre) + spread ξ), ξ standard normal; spread is by coordinate."""

    keep: float
    centre: Array
    spread: Array | float


@dataclass(frozen=True)
class AffinePhases:
    """The mean, or a quantile, of the excess risk after such phases.

    Attributes:
        pulls: the phases of an instance, read off its own schedule.
        trials: normal vectors a phase.
    """

    pulls: Callable[[Instance], Sequence[Pull]]
    trials: int
    quantile: float | None = None

    def __call__(self, instance: Instance, seed: int, *key: Any, pilot: bool = False) -> Risk:
        work, trials = instance.work, self.trials // 8 if pilot else self.trials
        rng = seeds.stream(seed, "affine", pilot)  # of no key: common to the family
        w = np.broadcast_to(work.project(np.zeros((1, work.constants.d))), (trials, work.constants.d))
        for pull in self.pulls(instance):
            w = work.project(pull.centre + pull.keep * (w - pull.centre) + pull.spread * rng.standard_normal(w.shape))
        return statistic(np.asarray(work.excess_risk(w)), self.quantile)


def averaged_descent(rate: float, steps: float) -> tuple[float, float]:
    """Of the average of w_0, …, w_{T-1} under w -> w - rate (w - z): what it keeps of w_0, and its variance over z's.

    That is the mean of (1 - rate)^t, and the sum over i < T of ((1 - (1 - rate)^i)/T)².
    """
    x = -steps * math.log1p(-rate) if rate < 1 else math.inf  # (1 - rate)^T = e^-x
    if x < SMALL:  # to first order, where the closed forms cancel
        return 1 - rate * (steps - 1) / 2, rate**2 * (steps - 1) * (2 * steps - 1) / (6 * steps)
    keep = -math.expm1(-x) / (steps * rate)
    spread = 1 - 2 * keep - math.expm1(-2 * x) / (steps * rate * (2 - rate))
    return keep, spread / steps


SMALL = 1e-4
"""rate T up to which the decay is linear."""
