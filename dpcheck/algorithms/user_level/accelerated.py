"""AC-SA of Ghadimi and Lan 2012, and its multi-stage version of 2013: reconstructed, the paper only calls them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, procedure

Oracle = Callable[[Array], Array]
"""(trials, d) -> an unbiased gradient of the strongly convex objective there, (trials, d)."""
FLOOR = 100  # the same: half as many leave 1e-15 of the error
"""Halvings of the error after which float64 has nothing left to halve."""


@dataclass(frozen=True)
class AcsaStage:
    """`steps` of AC-SA with the parameter `upsilon`."""

    steps: int
    upsilon: float


@procedure("user_level/proc-ac-sa")
def ac_sa(
    oracle: Oracle, start: Array, *, mu: float, steps: int, upsilon: float, project: Callable[[Array], Array]
) -> Array:
    """One stage of AC-SA on a mu-strongly convex objective: (trials, d) -> (trials, d).

    The formulas are divided by upsilon_r + mu, so that a regulariser of any size does no harm.
    """
    if steps < 1 or not (mu > 0 and upsilon > 0):
        raise InvalidInput(f"AC-SA needs steps >= 1, mu > 0 and upsilon > 0, got {steps}, {mu!r}, {upsilon!r}")
    w = x = np.asarray(start, dtype=float)
    for r in range(1, steps + 1):
        a, e = 2 / (r + 1), 4 * upsilon / (r * (r + 1))
        c = mu / (mu + e)
        middle = ((1 - a) * x + a * (1 - a * c) * w) / (1 - a * a * c)
        w = project(a * c * middle + (1 - a * c) * w - a / (mu + e) * oracle(middle))
        x = a * w + (1 - a) * x
    return x


@procedure("user_level/proc-multistage-ac-sa")
def multistage_ac_sa(
    oracle: Oracle, start: Array, *, mu: float, stages: Sequence[AcsaStage], project: Callable[[Array], Array]
) -> Array:
    """AC-SA stage after stage, each from the point before: (trials, d) -> (trials, d)."""
    x = start
    for stage in stages:
        x = ac_sa(oracle, x, mu=mu, steps=stage.steps, upsilon=stage.upsilon, project=project)
    return x


def stage(k: int, *, gap: float, variance: float, mu: float, smooth: float) -> AcsaStage:
    """Stage k >= 1, after which the expected error is gap 2^-k.

    Args:
        gap: Delta_0, of the start; variance: V^2, of a gradient; smooth: B, of the objective.
    """
    steps = max(4 * math.sqrt(2 * smooth / mu), 128 * variance / (3 * mu * gap * 2.0 ** -(k + 1)))
    return _with_steps(k, math.ceil(steps), gap, variance, mu, smooth)


def _with_steps(k: int, steps: int, gap: float, variance: float, mu: float, smooth: float) -> AcsaStage:
    volume = float(steps) * (steps + 1) * (steps + 2)
    return AcsaStage(steps, max(2 * smooth, math.sqrt(mu * variance / (3 * gap * 2.0 ** -(k - 1) * volume))))


def stages(budget: int, *, gap: float, variance: float, mu: float, smooth: float) -> tuple[tuple[AcsaStage, ...], int]:
    """As many stages as fit into `budget` steps, the last one lengthened to use them all.

    Returns:
        The stages, and how many halvings of the gap are proved: 0 when not even the first stage fits.
    """
    if budget < 1 or not (gap > 0 and mu > 0 and smooth >= mu and variance >= 0):
        raise InvalidInput(
            f"needs budget >= 1, gap > 0, smooth >= mu > 0 and variance >= 0, got {budget}, {gap!r}, {smooth!r}, "
            f"{mu!r}, {variance!r}"
        )
    acsa_stages: list[AcsaStage] = []
    left = budget
    while len(acsa_stages) < FLOOR:
        new = stage(len(acsa_stages) + 1, gap=gap, variance=variance, mu=mu, smooth=smooth)
        if new.steps > left:
            break
        acsa_stages.append(new)
        left -= new.steps
    proved = len(acsa_stages)
    k, steps = max(1, proved), left + (acsa_stages.pop().steps if acsa_stages else 0)
    return (*acsa_stages, _with_steps(k, steps, gap, variance, mu, smooth)), proved
