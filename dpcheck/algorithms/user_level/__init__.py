"""User-level privacy: phased SGD without outlier iterates, accelerated phases without outlier gradients, baselines."""

from typing import Any

from dpcheck.algorithms.user_level.erm import PhasedERM
from dpcheck.algorithms.user_level.group_privacy import GroupPrivacy
from dpcheck.algorithms.user_level.minibatch import MinibatchSGD
from dpcheck.algorithms.user_level.phased import PhasedSGD
from dpcheck.algorithms.user_level.smoothing import SmoothedERM
from dpcheck.algorithms.user_level.strongly_convex import StronglyConvex
from dpcheck.algorithms.user_level.threshold import ThresholdTest
from dpcheck.interfaces import Algorithm

ALGORITHMS: tuple[type[Algorithm[Any]], ...] = (
    PhasedSGD,
    MinibatchSGD,
    PhasedERM,
    SmoothedERM,
    StronglyConvex,
    GroupPrivacy,
    ThresholdTest,
)

__all__ = [
    "ALGORITHMS",
    "GroupPrivacy",
    "MinibatchSGD",
    "PhasedERM",
    "PhasedSGD",
    "SmoothedERM",
    "StronglyConvex",
    "ThresholdTest",
]
