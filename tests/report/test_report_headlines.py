"""What a figure says at its head is true of what it shows, and the point that it singles out is marked and named."""

from __future__ import annotations

import math
import re
from types import SimpleNamespace
from typing import Any

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from dpcheck.asymptotics import Regime, phase_diagram
from dpcheck.report import figures, headlines, phases, scaling
from dpcheck.report.checked import CheckedReading
from dpcheck.report.headlines import Words
from dpcheck.symbols import d, epsilon, n
from dpcheck.verdicts import Point, Verdict, Witness, consistent, holds, refuted

AXES = ("n", "risk")
UP, LOW = Words(side="at most"), Words(bound="lower bound", side="at least")
BELOW = [Point(x=x, value=1 / x, bound=y / x) for x, y in ((100.0, 4.0), (400.0, 3.5), (900.0, 5.0))]
ABOVE = [*BELOW, Point(x=1600.0, value=0.3, bound=0.1)]


def said(points: list[Point], words: Words) -> str:
    return headlines.of(points, AXES, words).text


def ring(figure: Any) -> list[tuple[float, float]]:
    """The places that are marked."""
    return [
        tuple(mark.get_offsets()[0])
        for ax in figure.axes
        for mark in ax.collections
        if len(mark.get_edgecolors()) and to_hex(mark.get_edgecolors()[0]) == figures.WORST.lower()
    ]


def legend(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_a_bound_that_stands_is_told_with_its_margin():
    assert said(BELOW, UP) == "Measured values stay below the bound, by a factor 3.5 at least"
    over = [Point(x=p.x, value=2 * p.bound, bound=p.bound) for p in BELOW]
    assert said(over, LOW) == "Measured values stay above the lower bound, by a factor 2 at least"
    equal = [Point(x=1.0, value=2.0, bound=2.0)]
    assert said(equal, UP) == "Measured values stay at the bound or below, nearest at n = 1"


def test_a_bound_that_is_exceeded_is_told_with_the_place():
    assert said(ABOVE, UP) == "Measured values exceed the bound at n = 1,600, by a factor 3"
    assert said(BELOW, LOW) == (
        "Measured values fall below the lower bound at n = 900, by a factor 5, and at 2 more of 3 points"
    )
    bar = Point(x=1.0, value=1.1, lower=0.9, bound=1.0)
    assert said([bar], UP).endswith("by a factor 1.1, which the bars allow")


def test_signs_and_zeros_leave_no_factor():
    assert said([Point(x=1.0, value=-1.0, bound=0.0)], UP) == "Measured values stay below the bound, nearest at n = 1"
    assert said([Point(x=1.0, value=0.5, bound=0.0)], UP) == "Measured values exceed the bound at n = 1"


def test_zeros_are_as_far_below_as_they_are():
    """Margins came from differences, as soon as one value was 0."""
    zeros = [Point(x=p.x, value=0.0, bound=p.bound) for p in BELOW]
    assert said([*BELOW, *zeros], UP) == "Measured values stay below the bound, by a factor 3.5 at least"
    assert said(zeros, UP) == "Measured values stay below the bound, nearest at n = 100"
    assert said(zeros, LOW).startswith("Measured values fall below the lower bound at n = 100, and at 2 more")


def test_what_is_no_bound_forbids_nothing():
    stated = Words("computed", "stated")
    assert said(BELOW, stated) == "Computed values are 0.2 to 0.286 times the stated value"
    same = [Point(x=p.x, value=p.value, bound=p.value) for p in BELOW]
    assert said(same, stated) == "Computed values equal the stated value, up to rounding"
    assert said([Point(x=x, value=x) for x in (1.0, 2.0)], UP) == "Measured values lie between 1 and 2"


def test_a_quotient_is_level_or_falls_or_rises():
    def told(*values: float) -> str:
        points = [Point(x=10.0**k, value=value) for k, value in enumerate(values)]
        return said(points, Words(bound="order, its constant set to 1", ratio=True))

    assert told(1, 1.02, 1.01) == "Measured values over the order are level, within a factor 1.02"
    assert told(4, 3, 2) == "Measured values over the order fall from n = 1 to 100, by a factor 2"
    assert told(1, 2, 3) == "Measured values over the order rise from n = 1 to 100, by a factor 3"
    assert told(-1, 2) == "Measured values over the order lie between −1 and 2"


def test_what_cannot_be_drawn_is_not_spoken_of():
    figure = figures.draw([*BELOW, Point(x=1.0, value=math.inf, bound=1.0)], AXES, UP)
    assert " ".join(figure.get_suptitle().split()).endswith("by a factor 3.5 at least, of what can be drawn")


def test_names_with_braces_and_names_that_are_no_nouns():
    assert (
        "from x_{1} = 1 to 2"
        in headlines.of([Point(x=x, value=x) for x in (1.0, 2.0)], ("x_{1}", "y"), Words(ratio=True)).text
    )
    assert (
        said(BELOW, Words("computed", "at the printed T"))
        == "Computed values are 0.2 to 0.286 times “at the printed T”"
    )


SIZES = st.floats(min_value=1e-9, max_value=1e9)
POINTS = st.lists(st.builds(Point, x=SIZES, value=SIZES, bound=SIZES), min_size=1, max_size=6)


def value_of(shown: str) -> float:
    """Of a number as on the axes."""
    mantissa, _, power = ("1×" + shown if shown.startswith("10") and shown[2:3] in RAISED else shown).partition("×10")
    return float(mantissa.replace(",", "")) * 10.0 ** int(power.translate(str.maketrans(RAISED, "0123456789")) or 0)


RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"


@settings(derandomize=True)
@given(POINTS, st.sampled_from([UP, LOW]))
def test_a_headline_is_true_of_all_points(points, words):
    """Margins are rounded so that they are never overstated."""
    head = headlines.of(points, AXES, words)
    quotients = [p.bound / p.value if words is UP else p.value / p.bound for p in points]
    stands = re.search(r"by a factor (\S+) at least$", head.text)
    if "exceed" in head.text or "fall below" in head.text:
        assert min(quotients) < 1
    else:
        assert min(quotients) >= 1 - 1e-9
    if stands:
        assert value_of(stands[1]) <= min(quotients) * (1 + 1e-9)
    assert head.worst == points[quotients.index(min(quotients))] or min(quotients) == pytest.approx(
        head.worst.bound / head.worst.value if words is UP else head.worst.value / head.worst.bound
    )


def test_the_worst_point_is_marked_and_named():
    figure = figures.draw(ABOVE, AXES, Words(side="at most", refuted=True))
    assert ring(figure) == [(1600.0, 0.3)]
    assert "refuted, at n = 1,600" in legend(figure)
    assert figure.get_suptitle().startswith("Measured values exceed the bound")
    rows = figures.draw([Point(x=8.0, value=v, bound=2.0, series=s) for s, v in (("a", 1.0), ("b", 1.9))], AXES, UP)
    assert ring(rows) == [(1.9, -1.0)]
    several = [Point(x=p.x, value=k * p.value, bound=p.bound, series=f"k = {k}") for k in range(1, 9) for p in BELOW]
    panels = figures.draw(several, AXES, UP)
    assert len(ring(panels)) == 1
    assert "farthest beyond, at n = 400, k = 8" in legend(panels)


def test_a_legend_lies_beside_the_names_of_the_axes():
    """That of many panels lay on the name of the axis below it; a long one left no room for the axes."""
    several = [Point(x=p.x, value=k * p.value, bound=p.bound, series=f"k = {k}") for k in range(1, 9) for p in BELOW]
    for points in (several, several[:18]):
        figure = figures.draw(points, AXES, UP)
        canvas = FigureCanvasAgg(figure)
        canvas.draw()
        legend = figure.legends[0].get_window_extent()
        names = [axis.xaxis.label for axis in figure.axes if axis.get_xlabel()]
        assert names
        assert not any(legend.overlaps(name.get_window_extent()) for name in names)


def test_rounding_error_has_no_room_on_an_axis():
    """A value of 10⁻¹⁸ under a bound of 1 took the axis down to it, and values that agree to 15 digits filled one."""
    tiny = [*BELOW, Point(x=1600.0, value=1e-40, bound=0.1)]
    figure = figures.draw(tiny, AXES, UP)
    assert figure.axes[0].get_ylim()[0] == pytest.approx(2.0**-52 * 3.5 / 400)
    assert any(name.startswith("below the axis: 1") for name in legend(figure))
    assert not any(name.startswith("below the axis") for name in legend(figures.draw(BELOW, AXES, UP)))
    small = [Point(x=p.x, value=p.value * 1e-40, bound=p.bound * 1e-40) for p in BELOW]  # no error of that bound
    assert figures.draw(small, AXES, UP).axes[0].get_ylim()[0] < 1e-42
    equal = [Point(x=x, value=1 + x * 1e-15) for x in (1.0, 2.0, 3.0)]
    low, high = figures.draw(equal, AXES).axes[0].get_ylim()
    assert high - low > 0.05


def result(verdict: Verdict, kind: str = "risk", relation: str = "<=") -> CheckedReading:
    check: Any = SimpleNamespace(kind=kind, label="toy/thm-1", name="a_check", doc="A line.", cells=lambda size: [{}])
    record: Any = SimpleNamespace(verdict=verdict, size="standard")
    claim: Any = SimpleNamespace(relation=relation, quantity="excess risk")
    return CheckedReading(check, record, False, SimpleNamespace(), claim)  # type: ignore[arg-type]


def test_the_side_of_a_bound_is_that_of_the_statement():
    """An order, what is stated to be equal, and what a check itself names are no bounds."""

    def told(kind: str, relation: str = "<=", **fields: Any) -> str:
        return result(holds("so", "exact", points=BELOW, axes=AXES, **fields), kind, relation).headline

    assert told("risk").startswith("Computed values stay below the bound")
    assert told("privacy").startswith("Computed values stay below the claimed value")
    assert told("lower-bound").startswith("Computed values fall below the lower bound")
    assert told("risk", ">=").startswith("Computed values fall below the bound")
    assert told("runtime", "=") == "Computed values are 0.2 to 0.286 times the stated value"
    assert told("risk", dashed="the law") == "Computed values are 0.2 to 0.286 times the law"
    assert told("risk", dashed="claimed, at least").startswith(
        "Computed values fall below the claimed value at n = 900"
    )
    assert told("privacy", dashed="claimed delta").startswith("Computed values stay below the claimed δ, by a factor")
    assert told("risk", dashed="claimed slope") == "Computed values are 0.2 to 0.286 times the claimed slope"
    assert told("rate") == "Computed values over the order fall from n = 100 to 900, by a factor 1.25"


def test_the_refuted_point_is_named_so():
    witness = Witness(label="toy/thm-1", kind="example.pair", parameters={}, claimed="1", found="2")
    shown = result(refuted("so", "exact", witness=witness, points=ABOVE, axes=AXES))
    assert "refuted, at n = 1,600" in legend(shown.drawing)


ROW: dict[str, Any] = {
    "series": "", "variable": "n", "from": 10, "to": 1000, "part": "all", "against": "order", "stated exponent": -0.5,
    "measured exponent": -0.49, "half-width": 0.01, "word": "met", "R/bound at the end": 2.0,
    "worst member at the end": "tilt = 1", "certified epsilon": 0.1, "at delta": 1e-6,
    "told apart by exponent": "the start", "told apart by level": "", "not told apart": "",
}  # fmt: skip


def test_a_figure_of_exponents_says_which_are_met():
    points = [Point(x=x, value=1 + x / 1e4, series="the algorithm") for x in (10.0, 100.0, 1000.0)]
    one = scaling.draw(consistent("so", "exact", notices="a slope", rows=[ROW], points=points, axes=AXES))
    assert " ".join(one.get_suptitle().split()) == "The exponent of n is −0.49 ± 0.0100, stated −0.5: met"
    assert ring(one) == [(1000.0, 1.1)]
    assert "largest: 1.1, at n = 1,000" in legend(one)
    rows = [ROW, {**ROW, "word": "steeper", "measured exponent": -0.7}]
    assert scaling.headline(rows) == (
        "Of 2 exponents: steeper 1, met 1; none is farther than 0.2000 from what is stated"
    )


def test_the_widest_gap_of_a_phase_diagram_is_marked():
    a, b = sp.symbols("a b")
    plane = Regime(ties={d: n**a, epsilon: n**-b})
    rates = {"one": sp.sqrt(d) / n}
    diagram = phase_diagram(rates, plane, [(a, 0, 1), (b, 0, 1)], lower=1 / n)
    figure = phases.draw(diagram, "One bound", phases.axis_labels([(d, n**a), (epsilon, n**-b)]))
    assert [x for x, _ in ring(figure)] == [1.0]
    assert "widest gap: n^(1/2)" in legend(figure)
    assert figure.get_suptitle() == "One bound"


def test_nothing_is_marked_where_nothing_is_worst():
    figure = figures.draw([Point(x=x, value=x) for x in (1.0, 2.0)], AXES)
    assert ring(figure) == []
    assert math.isfinite(figure.axes[0].get_ylim()[0])
