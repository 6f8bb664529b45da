"""Gaussian width and l_p spaces: objective perturbation, noisy mirror descent, heavy tails."""

from typing import Any

from dpcheck.algorithms.lp_spaces.descent import NoisyMirrorDescent
from dpcheck.algorithms.lp_spaces.objective import (
    ApproximateObjectivePerturbation,
    ExactObjectivePerturbation,
    StronglyConvexObjectivePerturbation,
)
from dpcheck.algorithms.lp_spaces.phased import PhasedSGD
from dpcheck.algorithms.lp_spaces.truncated import BatchedMirrorDescent, EuclideanHeavyTails, ShuffledMirrorDescent
from dpcheck.interfaces import Algorithm

ALGORITHMS: tuple[type[Algorithm[Any]], ...] = (
    ApproximateObjectivePerturbation,
    ExactObjectivePerturbation,
    StronglyConvexObjectivePerturbation,
    NoisyMirrorDescent,
    PhasedSGD,
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
    "NoisyMirrorDescent",
    "PhasedSGD",
    "ShuffledMirrorDescent",
    "StronglyConvexObjectivePerturbation",
]
