"""Slope and level of R/bound over a window of sizes, from the errors that were measured, and the word that they allow.

A line is fitted to log(R/bound) with equal weights: a size without error would outweigh all others, and with a skewed
risk a size that happens to look sure is one that happens to be low. The relative error is pooled over the sizes, or as
large as the sizes' own errors make it, whichever is more; its degrees of freedom are those of all trials. A line that
the scatter test rejects, or that nothing was drawn for, has its bend added to the interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy  # `scipy.stats` takes a second: loaded on first use

from dpcheck.asymptotics.regimes import SMALL
from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array
from dpcheck.symbols import BY_NAME

MARGIN = 0.05
"""Slopes of R/bound within it count as none."""
APART = 0.1
"""Two slopes count as different where their intervals are so far apart."""
FACTOR = 2.0
"""Two levels count as different where they differ by it at every size."""
BENT = 1e-3
"""Level of the scatter test that rejects a line."""
LEAST = 3
"""Sizes, at least."""

BY_LOGARITHM = frozenset({"delta", "beta"})
"""Failure probabilities: a bound holds powers of log(1/delta), in which exponents are measured."""

Word = Literal["met", "steeper", "at most", "shallower", "near", "bent", "wide", "blind", "void"]
KEPT: tuple[Word, ...] = ("met", "steeper", "at most")
"""Words under which the bound is not exceeded over the window."""
MEANING: dict[Word, str] = {
    "met": "R/bound is level",
    "steeper": "R falls faster than the bound",
    "at most": "R/bound rises nowhere",
    "shallower": "R falls more slowly than the bound",
    "near": "the slope is known, and its interval holds the margin",
    "bent": "no line, and no neighbouring sizes decide; split the window",
    "wide": "the trials leave the slope open",
    "blind": "a control is not told apart",
    "void": "the worst member lies at the end of the family's grid",
}


@dataclass(frozen=True)
class Series:
    """What was measured over the window, one entry a size, in the order of the variable.

    Attributes:
        variable: its name; it decides in which direction the limit lies.
        at: (k,) its values.
        risks, errors: (k,) R and its standard error; an error of 0 says that nothing was drawn.
        degrees: (k,) of freedom of the errors.
        bounds: (k,) the bound, its hidden constant 1.
    """

    variable: str
    at: Array
    risks: Array
    errors: Array
    degrees: Array
    bounds: Array

    def __post_init__(self) -> None:
        shapes = {getattr(self, name).shape for name in ("at", "risks", "errors", "degrees", "bounds")}
        if len(shapes) > 1 or len(self.at) < LEAST:
            raise InvalidInput(f"a rate needs at least {LEAST} sizes and arrays of one shape, got {sorted(shapes)}")
        if not (np.diff(self.at) > 0).all() or self.at[0] <= 0:
            raise InvalidInput(f"the sizes of a rate are positive and rise, got {self.variable} = {self.at}")
        for name, least in (("risks", 0.0), ("bounds", 0.0)):
            if not (getattr(self, name) > least).all():
                raise InvalidInput(f"a rate needs {name} > 0 at every size, got {getattr(self, name)}")
        if ((self.errors > 0) & (self.degrees < 1)).any():
            raise InvalidInput("an error without a degree of freedom is none; draw at least 2 trials a size")

    @property
    def ratios(self) -> Array:
        """R/bound."""
        return self.risks / self.bounds

    @property
    def relative(self) -> Array:
        """Standard errors of log R."""
        return self.errors / self.risks


@dataclass(frozen=True)
class Rate:
    """A slope of log(R/bound) in the direction of the limit, and what may be said of it.

    Attributes:
        slope, half: the interval is slope ± half; in `n` the limit is up, in `epsilon` it is down.
        sign: -1 where the limit is down, so that `sign * slope` is the slope in the variable itself.
        ratios: R/bound at every size.
        drawn: False where nothing was sampled.
    """

    slope: float
    half: float
    sign: int
    word: Word
    ratios: tuple[float, ...]
    drawn: bool

    @property
    def lower(self) -> float:
        return self.slope - self.half

    @property
    def upper(self) -> float:
        return self.slope + self.half

    def passes(self, word: Word) -> bool:
        """Whether a row whose word this is would have been passed by what has this rate."""
        return self.word in (("met",) if word == "met" else KEPT)

    def apart_by_exponent(self, other: Rate) -> bool:
        """Whether the two slopes differ by `APART` with certainty."""
        return abs(self.slope - other.slope) - self.half - other.half >= APART

    def apart_by_level(self, other: Rate) -> bool:
        """Whether one is above the other by `FACTOR` at every size."""
        ratios = np.divide(self.ratios, other.ratios)
        return bool((ratios >= FACTOR).all() or (ratios <= 1 / FACTOR).all())


def rate(series: Series, failure_probability: float) -> Rate:
    """The slope of R/bound with its interval, and its word."""
    falls = BY_NAME.get(series.variable) in SMALL and series.variable not in BY_LOGARITHM
    sign = -1 if falls else 1
    x, y = sign * np.log(measured_in(series.variable, series.at)), np.log(series.ratios)
    order = np.argsort(x)
    x, y, relative = x[order], y[order], series.relative[order]
    drawn, freedom = bool(relative.any()), max(1.0, float(series.degrees.sum()))
    slope, residuals, weights = _line(x, y)
    pooled = float(np.mean(relative**2))
    spread = math.sqrt(max(pooled * float(weights @ weights), float(weights**2 @ relative**2)))
    quantile = float(scipy.stats.t.isf(failure_probability / 2, freedom)) if drawn else 0.0
    bent = drawn and _scattered(residuals, pooled, freedom)
    half = quantile * spread + (_bend(x, y, residuals) if bent or not drawn else 0.0)
    word = _word(slope, half, bent or not drawn, _rises_nowhere(x, y, relative, freedom, failure_probability))
    return Rate(slope, half, sign, word, tuple(map(float, series.ratios)), drawn)


def measured_in(variable: str, at: Array) -> Array:
    """What the exponents of a variable are of: itself, or the logarithm of its inverse."""
    return np.asarray(-np.log(at) if variable in BY_LOGARITHM else at)


def spelled(variable: str) -> str:
    return f"log(1/{variable})" if variable in BY_LOGARITHM else variable


def _line(x: Array, y: Array) -> tuple[float, Array, Array]:
    """Slope by least squares with equal weights, residuals, and the weights of the y in the slope."""
    centred = x - x.mean()
    weights = centred / (centred @ centred)
    slope = float(weights @ y)
    return slope, y - y.mean() - slope * centred, weights


def _scattered(residuals: Array, pooled: float, freedom: float) -> bool:
    """Whether the residuals are too large for the measured errors: an F test of a line."""
    left = len(residuals) - 2
    statistic = float(residuals @ residuals) / (left * pooled)
    return bool(scipy.stats.f.sf(statistic, left, freedom) < BENT)


def _bend(x: Array, y: Array, residuals: Array) -> float:
    """How far the slope depends on the window: half the difference of its halves', and what the residuals can turn."""
    half = len(x) // 2 + 1
    slopes = [_line(x[part], y[part])[0] for part in (slice(None, half), slice(-half, None))]
    return abs(slopes[1] - slopes[0]) / 2 + 2 * float(np.abs(residuals).max()) / float(np.ptp(x))


def _rises_nowhere(x: Array, y: Array, relative: Array, freedom: float, failure_probability: float) -> bool:
    """Whether no neighbouring ratio rises faster than the margin: one-sided tests, all of them together."""
    quantile = float(scipy.stats.t.isf(failure_probability / (len(x) - 1), freedom))
    own = np.sqrt(relative[1:] ** 2 + relative[:-1] ** 2)
    error = np.maximum(own, math.sqrt(2 * float(np.mean(relative**2))))
    return bool((np.diff(y) + quantile * error <= MARGIN * np.diff(x)).all())


def _word(slope: float, half: float, bent: bool, rises_nowhere: bool) -> Word:
    if abs(slope) + half <= MARGIN:
        return "met"
    if slope + half < -MARGIN:
        return "steeper"
    if slope - half > MARGIN:
        return "shallower"
    if rises_nowhere:
        return "at most"
    if half <= MARGIN:
        return "near"
    return "bent" if bent else "wide"
