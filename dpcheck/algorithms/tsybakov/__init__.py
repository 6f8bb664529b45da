"""Tsybakov noise condition: localised clipped descent, private stochastic approximation, permuted accelerated SGD."""

from typing import Any

from dpcheck.algorithms.tsybakov.accelerated import IteratedAccelerated, PermutedAccelerated
from dpcheck.algorithms.tsybakov.baseline import PoissonSGD
from dpcheck.algorithms.tsybakov.epochs import IteratedLocalised, StochasticApproximation
from dpcheck.algorithms.tsybakov.localised import LocalisedClipped
from dpcheck.interfaces import Algorithm

ALGORITHMS: tuple[type[Algorithm[Any]], ...] = (
    LocalisedClipped,
    StochasticApproximation,
    IteratedLocalised,
    PermutedAccelerated,
    IteratedAccelerated,
    PoissonSGD,
)

__all__ = [
    "ALGORITHMS",
    "IteratedAccelerated",
    "IteratedLocalised",
    "LocalisedClipped",
    "PermutedAccelerated",
    "PoissonSGD",
    "StochasticApproximation",
]
