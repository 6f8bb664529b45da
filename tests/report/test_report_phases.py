"""Phase diagrams as figures: exponents as they are read."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
import sympy as sp

from dpcheck.asymptotics import Regime, phase_diagram
from dpcheck.report import phases
from dpcheck.symbols import d, epsilon, n

a, b = sp.symbols("a b")


def words(rate: sp.Expr) -> list[str]:
    """The lines of the figure of one bound."""
    plane = Regime(ties={d: n**a, epsilon: n**-b})
    diagram = phase_diagram({"one": rate}, plane, [(a, 0, 2), (b, 0, 1)])
    svg = phases.svg(diagram, "title", phases.axis_labels([(d, n**a), (epsilon, n**-b)]))
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        ((d / (epsilon**2 * n)) ** sp.Rational(3, 8), "n3a/8 + 3b/4 − 3/8"),
        (1 / sp.sqrt(d), "n−a/2"),
        (d**11 / n, "n11a − 1"),
    ],
)
def test_a_fraction_of_a_letter_is_no_fraction_over_it(rate: sp.Expr, shown: str) -> None:
    said = words(rate)
    assert shown in said
    assert {"a in d = na", "b in ε = n−b"} <= set(said)
