"""What legend and caption call the marks, the bars and the dashes, and what tables call their numbers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import sympy as sp

from dpcheck import symbols
from dpcheck.checks import by_size, check
from dpcheck.report import instances, pages, phases, tables
from dpcheck.report.checked import CheckedReading
from dpcheck.verdicts import Point, Verdict, holds

CURVE = [Point(x=float(n), value=1 / n, bound=2 / n) for n in (10, 100, 1000)]


def result(verdict: Verdict, kind: str = "risk", relation: str = "<=") -> CheckedReading:
    check: Any = SimpleNamespace(kind=kind, label="toy/thm-1", name="a_check", doc="A line.", cells=lambda size: [{}])
    record: Any = SimpleNamespace(verdict=verdict, size="standard")
    claim: Any = SimpleNamespace(relation=relation, quantity="excess risk")
    return CheckedReading(check, record, False, SimpleNamespace(), claim)  # type: ignore[arg-type]


def told(kind: str = "risk", relation: str = "<=", evidence: Any = "exact", **fields: Any) -> str:
    spent = {"failure_probability": 1e-6} if evidence == "sampled" else {}
    return result(
        holds("so it is", evidence, axes=("n", "risk"), **{"points": CURVE, **spent, **fields}), kind, relation
    ).caption


@pytest.mark.parametrize(
    ("kind", "said"),
    [("risk", "Dashed: bound."), ("privacy", "Dashed: claimed."), ("lower-bound", "Dashed: lower bound.")],
)
def test_dashes_are_what_the_check_compares_with(kind, said):
    assert said in told(kind)
    assert "Dashed: equal risk." in told(kind, dashed="equal risk")


def test_an_alternative_text_is_set_as_the_caption_is():
    shown = result(holds("so", "exact", axes=("n", "risk"), points=CURVE))
    shown.check.doc = "At epsilon >= 1 the excess stays below e^{-t}."
    said = pages.pictured(shown)
    assert said.startswith("a check (toy/thm-1). Computed values stay below the bound, by a factor 2 at least. ")
    assert "At ε ≥ 1 the excess stays below e^(−t)" in said


def test_a_bound_in_rows_is_a_tick_and_no_dash():
    assert "Upright ticks: bound." in told(points=[Point(x=1.0, value=0.5, bound=1.0)])


def test_what_is_stated_to_be_equal_is_no_bound():
    assert "Dashed: stated." in told("runtime", relation="=", evidence="counted")
    assert "Dashed: bound." in told("runtime", relation="<=", evidence="counted")


@check("toy/thm-1", "risk", grid={"n": by_size([8], [64, 1024], range(9)), "d": [5], "case": ["a = 1", "a = 2"]})
def a_line(context: Any, n: int, d: int, case: str) -> Verdict:
    """The last iterate on a line.

    More of it.
    """
    return holds("so it is", "exact")


@pytest.mark.parametrize(
    ("size", "trials", "sizes"),
    [
        ("smoke", 1, "n = 8"),
        ("standard", 400, "n = 64 and 1,024"),
        ("full", 400, "n = 0 to 8 (9 values)"),
    ],
)
def test_a_caption_says_what_was_run(size, trials, sizes):
    verdict = holds("so it is", "exact", numbers={"trials": trials})
    record: Any = SimpleNamespace(verdict=verdict, size=size)
    often = "400 trials at each; " if trials > 1 else ""
    said = f"What was run: The last iterate on a line; {sizes}, d = 5, a = 1 or a = 2; {often}at {size} size."
    assert instances.of(a_line, record) == said


def test_an_order_is_named_only_where_one_was_fitted():
    assert "order" not in told("risk")
    assert "over the order at each point" in told("rate")
    assert "constant that the order hides" in told("rate")
    assert "constant that the order hides" not in told("rate", dashed="explicit lower bound")
    assert "a lower bound forbids that it falls" in told("rate", relation=">=")


def test_marks_are_measured_counted_or_computed():
    assert told(evidence="sampled").startswith("Measured values.")
    assert told(evidence="counted").startswith("Counted values.")
    assert told(evidence="exact").startswith("Computed values.")
    exact = [Point(x=p.x, value=p.value, lower=p.value, upper=p.value, bound=p.bound) for p in CURVE]
    assert told("rate", evidence="sampled", points=exact).startswith("Computed values over")


def test_bars_say_what_they_are():
    barred = [Point(x=p.x, value=p.value, upper=2 * p.value, bound=p.bound) for p in CURVE]
    assert "bars" not in told(evidence="sampled")
    assert "up to their upper confidence bounds" in told(evidence="sampled", points=barred)
    assert "of one standard error" in told("rate", evidence="sampled", points=barred)
    assert "of two standard errors" in told(evidence="sampled", points=barred, bars="of two standard errors")
    assert told(points=barred, bars="of two standard errors").startswith("Measured")


def test_no_series_of_a_rate_is_lost():
    """A series without an order has no quotient: then all are shown as they are."""
    points = [*CURVE, *(Point(x=p.x, value=3 * p.value, series="without an order") for p in CURVE)]
    shown = result(holds("so", "exact", points=points, axes=("n", "risk")), "rate")
    assert "without an order" in shown.svg
    bare = [Point(x=p.x, value=p.value) for p in CURVE]
    assert result(holds("so", "exact", points=bare, axes=("n", "risk")), "rate").svg


def test_numbers_have_names_in_words():
    assert tables.named("right", {"left", "right"}) == "right side"
    assert tables.named("right", {"epsilon_lower", "right"}) == "right guesses of the last stage"
    assert tables.named("se", {"mean", "se"}) == "standard error"
    assert tables.named("noise over tau", {"noise over tau"}) == "noise over τ"
    assert tables.number(0.123456, 4) == "0.1235"


def test_axes_of_phase_diagrams_are_exponents():
    a, b = sp.symbols("a b")
    axes = [(symbols.d, symbols.n**a), (symbols.epsilon, symbols.n**-b)]
    assert [label[:5] for label in phases.axis_labels(axes)] == ["a in ", "b in "]
