"""A seeded bug that a check must notice: `dpcheck mutate my_paper --family seeded`."""

from __future__ import annotations

from typing import Any

from dpcheck.laws import Laplace
from dpcheck.mutants import seeded

from ..algorithms.my_paper import NoisyMean


@seeded("my_paper/alg-1", NoisyMean, "schedule")
def half_noise(original: Any, self: Any, *given: Any) -> Any:
    """The noise is scaled to the change of one number by D/2."""
    return original(self, *given).edit("mean", law=lambda law: Laplace(law.scale / 2))
