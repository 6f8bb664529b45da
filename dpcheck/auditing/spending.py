"""How the failure probability of one audit is split: over what its result says, and over the looks at it.

Everything that a result certifies holds together, at every look, with probability 1 - failure_probability, by a union
bound over the statements and, within each, over the looks. The looks of an anytime audit are fixed before its first
trial: at the horizon, at its halves, quarters and so on, and at its doubles for ever; what it says changes at no other
time, so whoever stops it stops it at what one of them said.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.privacy import ApproxDP, Guarantee
from dpcheck.statistics.stages import critical_scores

Array = NDArray[np.float64]
BAND = 0.02
"""Share of the band of the trade-off curve; the bound on epsilon, which refutes the claim, has the others."""
BOUND_BESIDE_CURVE = 0.15
"""Share of the bound at one delta where an anytime audit refutes a claimed curve as a whole."""
EARLIEST = 64
"""Least trials at the first look."""
BY_THE_HORIZON = 0.9
"""Part of each share that is spent by the horizon."""
EARLY, EARLY_ON_A_CURVE = 1.5, 1.0
"""Powers of time with which it is: a bound wants most of it at the horizon, a refutation may come at any look."""


def split(claim: Guarantee, mode: str) -> dict[str, float]:
    """Statement -> its share of the failure probability; they sum to 1."""
    if mode == "fixed" or isinstance(claim, ApproxDP):
        return {"bound": 1 - BAND, "band": BAND}
    return {"curve": 1 - BAND - BOUND_BESIDE_CURVE, "bound": BOUND_BESIDE_CURVE, "band": BAND}


def in_words(claim: Guarantee, mode: str, failure_probability: float) -> str:
    """The split, for a result: "0.049 bound, 0.001 band"."""
    named = {"bound": "bound and refutation", "curve": "refutation of the curve", "band": "band"}
    shares = split(claim, mode)
    if "curve" in shares:
        named["bound"] = "bound"
    return ", ".join(f"{share * failure_probability:.3g} {named[name]}" for name, share in shares.items())


@dataclass(frozen=True)
class Looks:
    """The looks of an anytime audit, fixed before its first counted trial.

    Attributes:
        horizon: trials by which `BY_THE_HORIZON` of the level is spent; halvings: looks before it.
        early: power of time with which it is.
    """

    horizon: int
    halvings: int
    early: float = EARLY

    @classmethod
    def of(cls, horizon: int, earliest: float) -> Looks:
        """With a first look at no less than `earliest` trials."""
        return cls(horizon, max(0, math.floor(math.log2(max(1.0, horizon / max(EARLIEST, earliest))))))

    def at(self, look: int) -> int:
        """Trials at a look, 0 being the first one."""
        return round(self.horizon * 2.0 ** (look - self.halvings))

    def spent(self, looks: int) -> Array:
        """(looks,) part of a share that is spent up to each look: grows, and stays below 1 for ever."""
        time = 2.0 ** (np.arange(looks) - self.halvings)
        return np.where(time <= 1, BY_THE_HORIZON * np.minimum(time, 1) ** self.early, 1 - (1 - BY_THE_HORIZON) / time)

    def steps(self, looks: int) -> Array:
        """(looks,) part of a share that is spent at each look."""
        return np.diff(self.spent(looks), prepend=0.0)


@functools.lru_cache(maxsize=64)
def critical(schedule: Looks, level: float, looks: int) -> Any:
    """(looks,) values that the combined normal score must reach, at each look, for all looks together at `level`."""
    ends = np.array([schedule.at(k) for k in range(looks)], dtype=float)
    values = critical_scores(ends, level * schedule.spent(looks))
    values.setflags(write=False)
    return values
