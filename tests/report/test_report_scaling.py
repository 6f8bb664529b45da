"""The scaling table and its figures say of what an exponent is, over what R is drawn, and which line is which."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpcheck.report import scaling
from dpcheck.verdicts import Point, Verdict, consistent

DELTAS = (1e-12, 1e-6, 1e-2)


def row(series: str = "", variable: str = "log(1/delta)", **fields: Any) -> dict[str, Any]:
    known = {
        "series": series, "variable": variable, "from": DELTAS[0], "to": DELTAS[-1], "part": "all", "against": "order",
        "stated exponent": 0.5, "measured exponent": 0.5, "half-width": 0.01, "word": "met", "R/bound at the end": 2.0,
        "worst member at the end": "tilt = 1", "certified epsilon": 0.1, "at delta": 1e-6,
        "told apart by exponent": "the start, no projection, half the steps", "told apart by level": "",
        "not told apart": "",
    }  # fmt: skip
    return known | fields


def verdict(*rows: dict[str, Any]) -> Verdict:
    heights = {"the algorithm": 1.0, "the start": 9.0, "no projection": 3.0, "half the steps": 5.0}
    points = [
        Point(x=delta, value=height, series=", ".join(filter(None, (name, one["series"]))))
        for one in rows
        for name, height in heights.items()
        for delta in DELTAS
    ]
    points += [Point(x=delta, value=1.0, series=one["series"]) for one in rows if one["series"] for delta in DELTAS]
    return consistent("so", "exact", notices="a slope", rows=rows, points=points, axes=("delta", "R/bound"))


def test_an_exponent_of_a_logarithm_is_drawn_and_told_over_it() -> None:
    """The axis that was called log(1/delta) held delta, and the table said 'log(1/delta) 1e-12 to 0.01'."""
    window = scaling.cells(row())[1]
    assert window == "log(1/δ) 4.605 to 27.63"
    (axis,) = scaling.draw(verdict(row())).axes
    assert axis.get_xlabel() == "log(1/δ)"
    for line in axis.lines:
        assert list(line.get_xdata()) == pytest.approx([-math.log(delta) for delta in DELTAS])
    assert scaling.cells(row(variable="epsilon"))[1] == "ε 10⁻¹² to 0.01"


def test_panels_share_the_colours_of_their_legend() -> None:
    """Each panel coloured its wrong schedules in its own order, and the legend was that of the first."""
    other = row(
        "k = 4", **{"told apart by exponent": "the start, half the steps", "told apart by level": "no projection"}
    )
    figure = scaling.draw(verdict(row("k = 2"), other))
    named = {text.get_text(): line.get_color() for text, line in zip(
        figure.legends[0].get_texts(), figure.legends[0].get_lines(), strict=True
    )}  # fmt: skip
    for axis in figure.axes:
        drawn = {line.get_ydata()[0]: line.get_color() for line in axis.lines if line.get_linestyle() == ":"}
        assert drawn == {3.0: named["no projection"], 5.0: named["half the steps"]}


def test_a_caption_says_over_what_r_is_drawn() -> None:
    assert "R on the worst member of the class over the order at each size" in scaling.caption(verdict(row()))
    assert "over the explicit bound at each size" in scaling.caption(verdict(row(against="explicit")))
    assert scaling.cells(row(against="explicit"))[0] == "over the explicit bound"
