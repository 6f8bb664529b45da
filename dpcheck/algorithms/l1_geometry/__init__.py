"""Private SCO in l1 geometry: localised noisy mirror descent, and variance-reduced Frank-Wolfe on trees."""

from typing import Any

from dpcheck.algorithms.l1_geometry.descent import GeneralNoisyMirrorDescent, NoisyMirrorDescent
from dpcheck.algorithms.l1_geometry.entropic import MultiPassMirrorDescent
from dpcheck.algorithms.l1_geometry.frank_wolfe import TreeFrankWolfe
from dpcheck.algorithms.l1_geometry.localized import GeneralLocalizedMirrorDescent, LocalizedMirrorDescent
from dpcheck.algorithms.l1_geometry.reductions import StronglyConvexReduction
from dpcheck.interfaces import Algorithm

ALGORITHMS: tuple[type[Algorithm[Any]], ...] = (
    NoisyMirrorDescent,
    LocalizedMirrorDescent,
    TreeFrankWolfe,
    MultiPassMirrorDescent,
    GeneralNoisyMirrorDescent,
    GeneralLocalizedMirrorDescent,
    StronglyConvexReduction,
)

__all__ = [
    "ALGORITHMS",
    "GeneralLocalizedMirrorDescent",
    "GeneralNoisyMirrorDescent",
    "LocalizedMirrorDescent",
    "MultiPassMirrorDescent",
    "NoisyMirrorDescent",
    "StronglyConvexReduction",
    "TreeFrankWolfe",
]
