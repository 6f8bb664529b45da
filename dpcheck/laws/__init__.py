"""How a core becomes an output: samplers, log-density ratios and exact privacy curves."""

from dpcheck.laws.additive import Gaussian, IsotropicLaplace, Laplace
from dpcheck.laws.generalized import GeneralizedGaussian, PerRecord
from dpcheck.laws.selection import Exponential, NoisyMin
from dpcheck.laws.threshold import AboveThreshold

__all__ = [
    "AboveThreshold",
    "Exponential",
    "Gaussian",
    "GeneralizedGaussian",
    "IsotropicLaplace",
    "Laplace",
    "NoisyMin",
    "PerRecord",
]
