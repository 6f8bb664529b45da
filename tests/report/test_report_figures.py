"""Figures are drawn whatever the points are, as well-formed SVG with the same bytes each time."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest
import report_example as example
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpcheck.report import figures, tables
from dpcheck.verdicts import Point

AXES = ("n", "risk")


def texts(svg: str) -> list[str]:
    return ["".join(node.itertext()).strip() for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def drawn(points, axes=AXES) -> str:
    figure = figures.draw(points, axes)
    assert figure is not None
    return figures.svg(figure)


@pytest.mark.parametrize("series", [1, 3, 6, 9, 40])
def test_well_formed_and_repeatable(series):
    points = [p for k in range(series) for p in example.curve(f"k = {k}", k + 1)]
    first = drawn(points)
    assert first == drawn(list(reversed(points)))
    words = texts(first)
    assert "n" in words
    assert "risk" in words
    assert any(word.startswith("bound") for word in words)
    if series <= figures.PANELS:
        assert {f"k = {k}" for k in range(series)} <= set(words)
    else:
        assert f"the other {series - figures.TOGETHER} series" in words


def test_nearest_series_are_the_coloured_ones():
    points = [p for k in range(20) for p in example.curve(f"k = {k}", 1.0)]
    points += [Point(x=p.x, value=p.value, series="close", bound=p.value * 1.01) for p in example.curve()]
    assert "close" in texts(drawn(points))


def test_ticks_keep_small_numbers():
    points = [Point(x=10.0**-k, value=10.0 ** (-2 * k)) for k in range(2, 9)]
    words = texts(drawn(points))
    assert "0.001" in words
    assert "10⁻⁸" in words


def test_one_x_becomes_rows():
    points = [Point(x=1024, series=f"law {k}", value=0.1 * k + 0.1, bound=0.5) for k in range(4)]
    words = texts(drawn(points))
    assert "law 3" in words
    assert "risk, at n = 1,024" in words


def test_no_line_through_several_values_at_one_x():
    twice = [Point(x=float(x), value=v, bound=2 * v) for x in (1, 2) for v in (1.0, 2.0)]
    once = [Point(x=float(x), value=1.0 * x, bound=2.0 * x) for x in (1, 2)]
    styles = [line.get_linestyle() for line in figures.draw(twice, AXES).axes[0].get_lines()]
    assert styles == ["None", "None"]
    assert [line.get_linestyle() for line in figures.draw(once, AXES).axes[0].get_lines()] == ["-", "--"]


def test_infinite_and_missing_values():
    words = texts(drawn(example.ODD))
    assert "measured" in words
    assert figures.hidden(example.ODD) == 2
    assert figures.draw([Point(x=math.nan, value=1.0)], AXES) is None
    assert figures.draw([], AXES) is None


def test_dollars_and_tags_in_names_are_text():
    points = [Point(x=x, value=1.0, series="a <b> & $x_1$") for x in (1.0, 2.0)]
    words = texts(drawn(points, ("$n", "risk $ of $")))
    assert {"a <b> & $x₁$", "$n", "risk $ of $"} <= set(words)


def test_svg_has_no_date_and_inline_ids_are_its_own():
    svg = drawn(example.curve())
    assert "date" not in svg.lower()
    assert "<metadata" not in svg
    inner = figures.inline(svg, "one")
    assert inner.startswith("<svg")
    ids = re.findall(r'\bid="([^"]+)"', inner)
    used = set(re.findall(r'(?:url\(|href=")#([^)"]+)', inner))
    assert ids
    assert len(ids) == len(set(ids))
    assert used <= set(ids)
    assert all(name.startswith("one-") for name in ids)


NUMBERS = st.floats(width=64)
POINTS = st.builds(
    Point, x=NUMBERS, value=NUMBERS, series=st.sampled_from(["", "a", "b"]),
    lower=st.none() | NUMBERS, upper=st.none() | NUMBERS, bound=st.none() | NUMBERS,
)  # fmt: skip


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(POINTS, max_size=5))
def test_any_floats_at_all(points):
    figure = figures.draw(points, AXES)
    assert (figure is None) == (figures.hidden(points) == len(points))
    if figure is not None:
        svg = figures.svg(figure)
        ET.fromstring(svg)
        assert not re.search(r'\b(d|x|y)="[^"]*\bnan\b', svg)


def test_axes_that_are_not_linear_are_told():
    wide = [Point(x=10.0**k, value=10.0**k) for k in range(4)]
    assert figures.scales(figures.draw(wide, AXES)) == "Both axes are logarithmic."
    flat = [Point(x=10.0**k, value=1 + k / 100) for k in range(4)]
    assert figures.scales(figures.draw(flat, AXES)) == "The horizontal axis is logarithmic."
    signed = [Point(x=float(x), value=v) for x, v in enumerate([-1e-6, 0.0, 1e-6, 1e-6, 5.0], start=10)]
    assert "linear within ±" in figures.scales(figures.draw(signed, AXES))
    assert figures.scales(figures.draw([Point(x=float(x), value=x + 9.0) for x in (10, 11)], AXES)) == ""


def test_long_labels_stay_within_the_figure():
    said = "excess of the descent over that of the tree, best depth of all that were tried"
    figure = figures.draw(example.curve(), ("n", said))
    assert figure.axes[0].get_ylabel().count("\n") >= 1
    names = [f"measured on the hardest member of all, k = {k}, solver = double" for k in range(8)]
    panels = figures.draw([p for name in names for p in example.curve(name, 1.0)], AXES)
    assert all("\n" in ax.get_title(loc="left") for ax in panels.axes if ax.get_title(loc="left"))


def test_indices_and_whole_exponents_stand_below_and_above_the_line():
    """Labels read x_k, 10^6 and sqrt(d)."""
    said = {"F(x_k) - F(x_0)": "F(xₖ) - F(x₀)", "m = 10^6": "m = 10⁶", "sqrt(d) sigma_1/D": "√d σ₁/D"}
    assert {name: tables.lined(name) for name in said} == said
    assert tables.lined("n^(1/8), c_noise, n^2.5") == "n^(1/8), c_noise, n^2.5"
    assert tables.lined("r̂^(2)/λ, n^(2)/3, n^(-2)") == "r̂^(2)/λ, n^(2)/3, n⁻²"
    assert tables.lined("M = 1e+06, ε = 9.095e-13") == "M = 10⁶, ε = 9.095×10⁻¹³"
    assert tables.hypertext("diam_1(X), argmin_X F") == "diam<sub>1</sub>(X), argmin<sub>X</sub> F"


def test_other_exponents_and_indices_are_small_letters_above_and_below():
    """A line goes back to where it was after each, and its letters are all that is read."""
    series = "λ_1 times n^(1/8) < c_noise, m = n^2.5"
    text = drawn([Point(x=x, value=1.0, series=series) for x in (1.0, 9.0)], ("n^(-b)", "y"))
    raised = '<tspan dy="-0.5em" font-size="70%">'
    lowered = '<tspan dy="0.3em" font-size="70%">'
    line = f'λ₁ times n{raised}1/8</tspan><tspan dy="0.35em"> &lt; c</tspan>{lowered}noise</tspan>'
    assert f'>{line}<tspan dy="-0.21em">, m = n</tspan>{raised}2.5</tspan></text>' in text
    assert f">n{raised}−b</tspan></text>" in text
    assert "^" not in text


def test_greek_letters_as_in_the_text():
    words = texts(drawn([Point(x=x, value=1.0, series="beta_2, theta_bar") for x in (1.0, 9.0)], ("1/epsilon", "eta")))
    assert {"β₂, θ\u0304", "1/ε", "η"} <= set(words)


def test_a_lone_point_is_a_row():
    words = texts(drawn([Point(x=4096, value=3.0, bound=6.0, series="tree")]))
    assert {"tree", "risk, at n = 4,096"} <= set(words)


def test_quotients_that_are_nearly_flat_look_nearly_flat():
    points = [Point(x=10.0**k, value=0.5 + k / 100) for k in range(4)]
    assert figures.draw(points, AXES, figures.Words(ratio=True)).axes[0].get_ylim()[0] == 0
    assert figures.draw(points, AXES).axes[0].get_ylim()[0] > 0
