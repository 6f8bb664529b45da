"""Rates told apart from those of outputs that read no data.

A member of a class that is chosen with the algorithm in mind may have the rate by itself, so that every output passes.
So the same measurement is made of outputs that read no data; where these are not told apart nothing was measured, and
the verdict says so.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dpcheck.checks import Conclude
from dpcheck.harness import rate
from dpcheck.verdicts import Point, Verdict, combine, undecided

APART = 2.0
"""A size counts for an algorithm where its risk is at most this part of every control's."""


def conclude(variable: str, controls: Collection[str], *, least: int = 3, axis: str = "excess risk") -> Conclude:
    """Rates of the worst over a class, told apart from the controls or not said at all.

    Of each series only those sizes count at which the algorithm is told apart from every control (`APART`); fewer than
    `least` of them decide nothing. The controls' own rates are fitted over the same sizes, and each must be shallower
    than the bound with certainty: a measurement that passes an output without data is no evidence.

    Args:
        controls: names of the measured values (one of each in every row) of outputs that read no data; one of them is
            "the start". Beside them a row has "mean", its standard error "se", "bound", and the bound's "exponent".
    """

    def judge(rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], failure_probability: float) -> Verdict:
        series: dict[str, list[tuple[Mapping[str, Any], Mapping[str, Any]]]] = {}
        for cell, found in rows:
            name = rate.named(cell, variable)
            series.setdefault(name, []).append((cell, found))
        share = failure_probability / len(series)
        cells = [{"series": name} if name else {} for name in series]
        verdicts = [_judge_one(rows_of, variable, name, share, least, controls) for name, rows_of in series.items()]
        return replace(combine(verdicts, cells), axes=(variable, f"{axis}, worst member"))

    return judge


def _judge_one(
    rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]],
    variable: str,
    name: str,
    share: float,
    least: int,
    controls: Collection[str],
) -> Verdict:
    points = [
        Point(x=float(cell[variable]), value=float(found[key]), series=f"{label}{', ' if name else ''}{name}",
              bound=float(found["bound"]),)
        for cell, found in rows
        for key, label in (("mean", "measured"), ("the start", "the start"))
    ]  # fmt: skip
    told = [(c, f) for c, f in rows if f["mean"] * APART <= min(f[control] for control in controls)]
    ratios = [float(found["mean"] / found["bound"]) for _, found in rows]
    level = f"R is {min(ratios):.3g} to {max(ratios):.3g} times the order"
    fields: dict[str, Any] = {"failure_probability": share, "points": points}
    if len(told) < least:
        said = (
            f"no evidence of a rate: at {len(rows) - len(told)} of {len(rows)} sizes the worst 0.9-quantile is more "
            f"than 1/{APART:g} of that of an output that reads no data; {level}"
        )
        return undecided(said, "sampled", numbers={"sizes told apart": len(told)}, **fields)
    fits = {key: _fit(told, variable, key, share) for key in ("mean", *controls)}  # the controls are not sampled
    passed = [control for control in controls if fits[control].word != "shallower"]
    numbers: dict[str, float | int | str | bool] = {"sizes told apart": len(told)}
    numbers |= {f"slope of R/bound, {control}": fits[control].slope.slope for control in controls}
    if passed:
        said = (
            f"no evidence of a rate: {passed[0]}, which reads no data, is not refuted by the same measurement; {level}"
        )
        return undecided(said, "sampled", numbers=numbers, **fields)
    found = rate.verdict([fits["mean"]], share, variable=variable)
    sizes = [float(cell[variable]) for cell, _ in told]
    least_slope = min(fits[control].slope.lower for control in controls)
    also = (
        f"; told apart from all of {', '.join(controls)} for {variable} from {min(sizes):,.6g} to {max(sizes):,.6g}, "
        f"where these are refuted (R/bound at least as {variable}^{least_slope:.2f})"
    )
    return replace(
        found,
        reason=f"{found.reason}{also}",
        numbers={**found.numbers, **numbers, "smallest R/bound": min(ratios)},
        **fields,
    )


def _fit(
    rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], variable: str, key: str, share: float
) -> rate.Fit:
    exact = key != "mean"
    exponents = [float(found["exponent"]) for _, found in rows if "exponent" in found]
    return rate.fit(
        [float(cell[variable]) for cell, _ in rows],
        [float(found[key]) for _, found in rows],
        [0.0 if exact else float(found["se"]) for _, found in rows],
        [float(found["bound"]) for _, found in rows],
        share,
        exponents=exponents if len(exponents) == len(rows) else (),
    )
