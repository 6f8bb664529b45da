"""Gaussian width and l_p spaces: objective perturbation, noisy mirror descent, heavy tails."""

from typing import Any

from dpcheck.algorithms.lp_spaces.descent import FullBatchMirrorDescent
from dpcheck.algorithms.lp_spaces.objective import (
    ApproximateObjectivePerturbation,
    ExactObjectivePerturbation,
    StronglyConvexObjectivePerturbation,
)
from dpcheck.algorithms.lp_spaces.phased import HalvingPhasedSGD
from dpcheck.algorithms.lp_spaces.truncated import BatchedMirrorDescent, EuclideanHeavyTails, ShuffledMirrorDescent
from dpcheck.interfaces import Algorithm

ALGORITHMS: tuple[type[Algorithm[Any]], ...] = (
    ApproximateObjectivePerturbation,
    ExactObjectivePerturbation,
    StronglyConvexObjectivePerturbation,
    FullBatchMirrorDescent,
    HalvingPhasedSGD,
    ShuffledMirrorDescent,
    BatchedMirrorDescent,
    EuclideanHeavyTails,
)

__all__ = [
    "ALGORITHMS",
    "ApproximateObjectivePerturbation",
    "BatchedMirrorDescent",
    "EuclideanHeavyTails",
    "ExactObjectivePerturbation",
    "FullBatchMirrorDescent",
    "HalvingPhasedSGD",
    "ShuffledMirrorDescent",
    "StronglyConvexObjectivePerturbation",
]
