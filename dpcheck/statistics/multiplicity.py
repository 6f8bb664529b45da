"""Many tests, one failure probability."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from statsmodels.stats.multitest import multipletests

from dpcheck.errors import InvalidInput
from dpcheck.statistics.binomial import check_probability

Array = NDArray[np.float64]


def holm(p_values: ArrayLike, failure_probability: float = 0.05) -> tuple[NDArray[np.bool_], Array]:
    """Holm's step-down test (1979), valid under any dependence.

    Returns:
        (rejected, adjusted p-values), in the order given.
    """
    check_probability(failure_probability)
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InvalidInput("p-values must be one-dimensional and lie in [0, 1]")
    if len(p) == 0:
        return np.zeros(0, dtype=bool), np.zeros(0)
    rejected, adjusted, *_ = multipletests(p, alpha=failure_probability, method="holm")
    return np.asarray(rejected, dtype=bool), np.asarray(adjusted, dtype=float)


def merge_log_e_values(log_e_values: ArrayLike, *, independent: bool = False) -> float:
    """One log e-value from several.

    The product when they are independent (or each conditional on the ones before), else the average, which is the only
    admissible symmetric merging under arbitrary dependence (Vovk and Wang 2021, Proposition 3.1).
    """
    e = np.asarray(log_e_values, dtype=float)
    if e.ndim != 1 or len(e) == 0 or np.isnan(e).any():
        raise InvalidInput("log e-values must be one-dimensional, at least one, and not NaN")
    return float(e.sum()) if independent else float(special.logsumexp(e) - math.log(len(e)))


def e_benjamini_hochberg(log_e_values: ArrayLike, false_discovery_rate: float = 0.05) -> NDArray[np.bool_]:
    """e-BH (Wang and Ramdas 2022): false discovery rate under any dependence. Exploratory rankings only."""
    check_probability(false_discovery_rate)
    e = np.asarray(log_e_values, dtype=float)
    order = np.argsort(-e, kind="stable")
    ranks = np.arange(1, len(e) + 1)
    passed = np.flatnonzero(e[order] >= np.log(len(e)) - np.log(false_discovery_rate * ranks))
    rejected = np.zeros(len(e), dtype=bool)
    rejected[order[: passed[-1] + 1 if len(passed) else 0]] = True
    return rejected


def p_value_of(log_e_value: float) -> float:
    """Markov's inequality: min(1, 1/e) (Vovk and Wang 2021, section 2)."""
    return min(1.0, math.exp(-log_e_value))
