"""Pure DP with heavy tails: population localisation around private solvers of the regularised Lipschitz extension."""

from typing import Any

from dpcheck.algorithms.pure_heavy_tails.baseline import NoisyClippedSubgradient
from dpcheck.algorithms.pure_heavy_tails.exponential import EMPGM, SmoothedEMPGM
from dpcheck.algorithms.pure_heavy_tails.localize import Constant, LocalizedOutputPert, PopLocalize
from dpcheck.algorithms.pure_heavy_tails.output_perturbation import (
    DoubleOutputPert,
    OutputPertLocalize,
    SingleOutputPert,
    StructuredDoubleOutputPert,
)
from dpcheck.algorithms.pure_heavy_tails.sampling import LocalizedApproxEM
from dpcheck.interfaces import Algorithm

ALGORITHMS: tuple[type[Algorithm[Any]], ...] = (
    PopLocalize,
    OutputPertLocalize,
    DoubleOutputPert,
    LocalizedOutputPert,
    SingleOutputPert,
    StructuredDoubleOutputPert,
    EMPGM,
    SmoothedEMPGM,
    LocalizedApproxEM,
    NoisyClippedSubgradient,
    Constant,
)

__all__ = [
    "ALGORITHMS",
    "EMPGM",
    "Constant",
    "DoubleOutputPert",
    "LocalizedApproxEM",
    "LocalizedOutputPert",
    "NoisyClippedSubgradient",
    "OutputPertLocalize",
    "PopLocalize",
    "SingleOutputPert",
    "SmoothedEMPGM",
    "StructuredDoubleOutputPert",
]
