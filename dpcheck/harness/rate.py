"""Rates: does a measured quantity follow its symbolic bound as n (or another variable) grows?

log(R / bound) is regressed on log n, the other variables tied to the regime, and its slope compared with 0: a raw slope
is never compared with a nominal exponent. The answer is never HOLDS, because finitely many sizes prove no O-form.
REFUTED means that the whole interval of the slope lies above the margin: R falls more slowly than the bound. CONSISTENT
means that the whole interval lies below it, so that a slope above the margin would have shown; the reason carries the
word: "consistent" (within the margin on both sides), "steeper" (the bound is loose) or "not shallower". Else UNDECIDED.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.checks import Conclude
from dpcheck.errors import InvalidInput
from dpcheck.verdicts import Point, Verdict, consistent, plain, refuted, undecided

if TYPE_CHECKING:  # StatsModels, and pandas with it, takes a second: loaded where a slope is fitted
    from dpcheck.statistics.regression import RateWord, Slope

Row = tuple[Mapping[str, Any], Mapping[str, Any]]
ORDER = "order, its constant set to 1"
"""What a rate is mostly held against."""
TELLING = 2.0
"""Half-width of a slope's interval beyond which its numbers say nothing worth printing."""
EXACT = 1e-9
"""Least relative standard error: quantities computed without sampling have none of their own."""


@dataclass(frozen=True)
class Fit:
    """One series of sizes.

    Attributes:
        name: the cell's other values, "d = 4, k = 2"; "" when there is one series.
        slope: of log(R / bound) on log of the variable.
        word: what its interval says.
        exponent: measured local exponent of R: the symbolic bound's own plus the slope; None when not given.
        points: R with one-standard-error bars and the bound, at every size.
    """

    name: str
    slope: Slope
    word: RateWord
    exponent: float | None
    points: tuple[Point, ...]


def fit(
    sizes: Sequence[float],
    measured: Sequence[float],
    errors: Sequence[float],
    bounds: Sequence[float],
    failure_probability: float,
    *,
    margin: float | None = None,
    exponents: Sequence[float] = (),
    name: str = "",
) -> Fit:
    """Fits one series.

    Args:
        sizes: (k >= 3,) values of the variable.
        measured, errors: (k,) R and its standard error; sizes with R = 0 say nothing of a rate and are left out.
        bounds: (k,) the full symbolic bound at each size.
        exponents: (k,) its local exponent there, for reporting.
    """
    n, r, se, b = (np.asarray(v, dtype=float) for v in (sizes, measured, errors, bounds))
    if not (n.shape == r.shape == se.shape == b.shape) or not ((b > 0) & np.isfinite(b)).all() or (r < 0).any():
        raise InvalidInput(f"a rate needs arrays of one shape, R >= 0 and bounds > 0; got shapes {n.shape}, {b.shape}")
    points = tuple(
        Point(x=float(x), value=float(v), series=name, lower=float(max(0.0, v - e)), upper=float(v + e), bound=float(c))
        for x, v, e, c in zip(n, r, se, b, strict=True)
    )
    from dpcheck.statistics.regression import fit_slope

    some = r > 0
    slope = fit_slope(n[some], np.log(r[some] / b[some]), np.maximum(se[some] / r[some], EXACT), failure_probability)
    exponent = float(np.mean(exponents)) + slope.slope if len(exponents) else None
    return Fit(name, slope, slope.word(_within(margin)), exponent, points)


def _within(margin: float | None) -> float:
    """Slopes within it count as none; None: the margin of `dpcheck.statistics.regression`."""
    from dpcheck.statistics.regression import MARGIN

    return MARGIN if margin is None else margin


def verdict(
    fits: Sequence[Fit],
    failure_probability: float,
    *,
    variable: str = "n",
    margin: float | None = None,
    against: str = ORDER,
) -> Verdict:
    """One answer from all series: refuted if one is shallower than its bound. Never HOLDS.

    Args:
        against: what the bound is, for sentence and figure.
    """
    if not fits:
        raise InvalidInput("no series to judge; the check measured nothing")
    worst = max(fits, key=lambda f: (f.word == "shallower", f.word == "undecided", f.slope.lower))
    slope = worst.slope
    numbers: dict[str, float | int | str | bool] = {
        "slope": slope.slope,
        "lower": slope.lower,
        "upper": slope.upper,
        "word": worst.word,
        "largest R/bound": max(f.slope.level for f in fits),
        "scatter": slope.scatter,
        "series": len(fits),
    }
    if len(fits) > 1:
        numbers.update({f"slope ({f.name})": f.slope.slope for f in fits})
        numbers.update({f"exponent ({f.name})": f.exponent for f in fits if f.exponent is not None})
    exponent = ""
    if worst.exponent is not None:
        numbers["exponent"] = worst.exponent
        exponent = f", measured exponent {worst.exponent:.3f}"
    where = f" ({worst.name})" if worst.name else ""
    level = f"R is at most {numbers['largest R/bound']:.3g} times the {against}"
    if slope.upper - slope.lower > 2 * TELLING:
        reason = (
            f"undecided{where}: the interval of the slope is wider than ±{TELLING:g}, no slope to speak of; {level}"
        )
    else:
        interval = f"[{slope.lower:.3f}, {slope.upper:.3f}]"
        reason = f"{worst.word}{where}: R/bound goes as {variable}^{slope.slope:.3f} {interval}{exponent}; {level}"
    fields: dict[str, Any] = {
        "failure_probability": failure_probability,
        "numbers": numbers,
        "points": tuple(point for f in fits for point in f.points),
        "axes": (variable, "measured"),
        "dashed": against,
        "severity": slope.slope,
    }
    if worst.word == "shallower":
        return refuted(reason, "sampled", **fields)
    if worst.word == "undecided":
        return undecided(f"{reason}; more sizes would narrow it sooner than more trials", "sampled", **fields)
    return consistent(
        reason, "sampled", notices=f"R/bound growing faster than {variable}^{_within(margin):g}", **fields
    )


def conclude(
    variable: str = "n",
    *,
    margin: float | None = None,
    value: str = "mean",
    axis: str = "excess risk",
    against: str = ORDER,
    called: str = "",
) -> Conclude:
    """A check's `conclude`: cells measured {value: R, "se": …, "bound": …} and perhaps "exponent".

    Cells that differ in anything but `variable` are series of their own; the failure probability is shared among them.
    `risk.summary` makes such measurements. The variable may stand in the cell or in the measurement, and be `called`
    otherwise in sentence and figure.
    """

    def judge(rows: Sequence[Row], failure_probability: float) -> Verdict:
        series: dict[str, list[Row]] = {}
        for cell, found in rows:
            if variable not in cell and variable not in found:
                raise InvalidInput(f"a cell does not name {variable!r}: {dict(cell)}")
            name = named(cell, variable)
            series.setdefault(name, []).append((cell, found))
        share = failure_probability / max(1, len(series))
        fits, thin = [], []
        for name, members in series.items():
            if sum(float(found[value]) > 0 for _, found in members) < 3:
                thin.append(name or "the only series")
                continue
            fits.append(_fit_rows(members, variable, value, share, margin, name))
        if not fits:
            reason = f"no rate to measure: fewer than 3 sizes with R > 0 in {', '.join(thin)}"
            return undecided(reason, "sampled", failure_probability=failure_probability)
        shown = called or variable
        answer = verdict(fits, failure_probability, variable=shown, margin=margin, against=against)
        return replace(answer, axes=(shown, axis))

    return judge


def named(cell: Mapping[str, Any], variable: str) -> str:
    """The series of a cell: "l1 ball, k = 2"; a word speaks for itself, a number needs its name."""
    rest = ((name, value) for name, value in cell.items() if name != variable)
    return ", ".join(value if isinstance(value, str) else f"{name} = {plain(value)}" for name, value in rest)


def _fit_rows(members: Sequence[Row], variable: str, value: str, share: float, margin: float | None, name: str) -> Fit:
    exponents = [float(found["exponent"]) for _, found in members if "exponent" in found]
    return fit(
        [float(cell[variable] if variable in cell else found[variable]) for cell, found in members],
        [float(found[value]) for _, found in members],
        [float(found["se"]) for _, found in members],
        [float(found["bound"]) for _, found in members],
        share,
        margin=margin,
        exponents=exponents if len(exponents) == len(members) else (),
        name=name,
    )
