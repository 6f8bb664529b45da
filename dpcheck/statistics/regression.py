"""Does a measured quantity follow its symbolic bound's rate? Regression of log(R / bound) on log n, against slope 0.

A raw slope is never compared with a nominal exponent: a logarithm or a lower-order term bends it by more than noise
does. The full bound divides the measurements first, and what is tested is that nothing is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from statsmodels.regression.linear_model import WLS

from dpcheck.errors import InvalidInput
from dpcheck.statistics.binomial import check_probability

MARGIN = 0.05
"""Slopes within it count as none."""
RateWord = Literal["shallower", "steeper", "consistent", "not shallower", "undecided"]


@dataclass(frozen=True)
class Slope:
    """A fitted exponent with its t(k - 2) interval.

    Attributes:
        slope, standard_error, lower, upper: of log(R / bound) against log n.
        intercept: of the same line; level: largest R / bound over the sizes (the constant that the bound needs).
        scatter: chi-squared per degree of freedom about the line, before it is floored at 1.
        hc3: the heteroscedasticity-consistent standard error HC3 (MacKinnon and White 1985), a cross-check.
    """

    slope: float
    standard_error: float
    lower: float
    upper: float
    intercept: float
    level: float
    scatter: float
    hc3: float

    def word(self, margin: float = MARGIN) -> RateWord:
        """What the interval says of the rate.

        "shallower": R falls more slowly than the bound, which is violated in rate; "steeper": the bound is loose;
        "consistent": neither, up to the margin; "not shallower": the interval ends below the margin, and holds steeper
        slopes; "undecided": it is too wide.
        """
        if self.lower > margin:
            return "shallower"
        if self.upper < -margin:
            return "steeper"
        if self.lower >= -margin and self.upper <= margin:
            return "consistent"
        return "not shallower" if self.upper <= margin else "undecided"


def log_means(trials: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """log of the mean over axis 0, and its standard error: (trials, sizes) -> two (sizes,).

    By the delta method (Cramér 1946).
    """
    r = np.asarray(trials, dtype=float)
    if r.ndim != 2 or len(r) < 2:
        raise InvalidInput(f"trials must have shape (trials >= 2, sizes), got {r.shape}")
    mean = r.mean(axis=0)
    if not (np.isfinite(mean).all() and (mean > 0).all()):
        raise InvalidInput(f"means must be finite and positive to take logarithms, got {mean}")
    return np.log(mean), r.std(axis=0, ddof=1) / math.sqrt(len(r)) / mean


def fit_slope(
    sizes: ArrayLike, log_ratio: ArrayLike, standard_errors: ArrayLike, failure_probability: float = 0.05
) -> Slope:
    """Weighted least squares of log(R / bound) on log n.

    Weights 1/se^2, scale max(1, chi^2/df) (Birge 1932), t with k - 2 degrees of freedom: of the intervals compared on
    exponential, chi-squared, lognormal and Pareto trials, the only one that covers at its level at widths like least
    squares.

    Args:
        sizes: (k,) values of n, k >= 3, not all equal.
        log_ratio: (k,) log of measured over bound; standard_errors: (k,) of it.
    """
    check_probability(failure_probability)
    n, y, se = (np.asarray(v, dtype=float) for v in (sizes, log_ratio, standard_errors))
    if not (n.ndim == 1 and n.shape == y.shape == se.shape and len(n) >= 3):
        raise InvalidInput(
            f"a slope needs at least 3 sizes and arrays of one shape, got {n.shape}, {y.shape}, {se.shape}"
        )
    if not (np.isfinite(y).all() and (n > 0).all() and (se > 0).all() and np.isfinite(se).all() and np.ptp(n) > 0):
        raise InvalidInput("sizes and standard errors must be positive and finite, sizes not all equal, ratios finite")
    model = WLS(y, np.column_stack((np.ones(len(n)), np.log(n))), weights=1 / se**2)
    fit = model.fit()
    scatter = float(fit.scale)
    unit = np.sqrt(np.diag(fit.normalized_cov_params))
    error = float(unit[1]) * math.sqrt(max(1.0, scatter))
    half = float(scipy.stats.t.ppf(1 - failure_probability / 2, len(n) - 2)) * error
    slope = float(fit.params[1])
    return Slope(
        slope=slope,
        standard_error=error,
        lower=slope - half,
        upper=slope + half,
        intercept=float(fit.params[0]),
        level=float(np.exp(y.max())),
        scatter=scatter,
        hc3=float(fit.HC3_se[1]),
    )
