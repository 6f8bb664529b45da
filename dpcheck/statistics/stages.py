"""Stages of one test, the later ones designed after looking at the earlier ones.

Each stage yields a p-value that is valid given all before it. Their inverse-normal combination with weights fixed
beforehand is one valid p-value, whatever the later stages were made to be (Bauer and Köhne 1994; Lehmacher and Wassmer
1999). What is left of the failure probability after some stages, given their p-values, is the conditional error
(Müller and Schäfer 2001); divided by the failure probability it is a nonnegative supermartingale under the null.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from dpcheck.errors import InvalidInput

Array = NDArray[np.float64]
_SMALLEST, _LARGEST = 1e-300, 1 - 1e-12


def normal_score(p_values: ArrayLike) -> Array:
    """Standard-normal scores of p-values: stochastically at most N(0, 1) under the null."""
    return np.asarray(-special.ndtri(np.clip(np.asarray(p_values, dtype=float), _SMALLEST, _LARGEST)))


def combine_stages(p_values: ArrayLike, shares: ArrayLike) -> float:
    """One p-value from those of successive stages.

    Args:
        p_values: (stages,), each valid given the data of the stages before it.
        shares: (stages,) positive weights, fixed before the first stage; proportional to sample sizes is best.
    """
    p, w = np.asarray(p_values, dtype=float), np.asarray(shares, dtype=float)
    if p.ndim != 1 or p.shape != w.shape or len(p) == 0 or not (w > 0).all():
        raise InvalidInput("stages need one p-value and one positive share each")
    if len(p) == 1:
        return float(p[0])
    return float(special.ndtr(-(np.sqrt(w / w.sum()) @ normal_score(p))))


def log_conditional_error(score: ArrayLike, spent: float, failure_probability: float) -> Array:
    """log of P(the whole test will reject | score so far) / failure_probability: the log wealth of the test.

    Args:
        score: sum over the stages done of sqrt(share) * normal score; spent: sum of their shares, in [0, 1].
        failure_probability: of the whole test.
    """
    critical = -float(special.ndtri(failure_probability))
    gap = np.asarray(score, dtype=float) - critical
    if spent >= 1:
        return np.where(gap >= 0, -math.log(failure_probability), -np.inf)
    return np.asarray(special.log_ndtr(gap / math.sqrt(1 - spent)) - math.log(failure_probability))
