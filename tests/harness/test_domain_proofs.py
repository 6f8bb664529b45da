"""Interval proofs: true inequalities are proved, false ones refuted with a point, tight ones not decided wrongly."""

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.errors import InvalidInput
from dpcheck.harness.domain import never_positive
from dpcheck.verdicts import Outcome

x, y = sp.symbols("x y")
n, k = sp.symbols("n k", positive=True)

TRUE = {
    "polynomial": (x * (1 - x) - sp.Rational(26, 100), {"x": (0, 1)}),
    "tight in a corner": (sp.log(1 + x) - x, {"x": (0, 3)}),
    "exponential": (1 + x - sp.exp(x) - sp.Rational(1, 1000), {"x": (-2, 2)}),
    "two variables": (x * y - x**2 / 2 - y**2 / 2 - sp.Rational(1, 100), {"x": (0, 1), "y": (0, 1)}),
    "roots": (sp.sqrt(n + 1) - sp.sqrt(n) - 1 / (2 * sp.sqrt(n)), {"n": (1, 100)}),
    "moments": (((k - 1) / k) ** k - 1 / sp.E, {"k": (2, 40)}),
    "pieces": (sp.Min(x, 1 - x) - sp.Rational(51, 100), {"x": (0, 1)}),
    "absolute": (sp.Abs(x) - sp.Max(x, -x) - sp.Rational(1, 100), {"x": (-1, 1)}),
    "constant": (sp.pi - sp.Rational(22, 7), {}),
    "trigonometric": (sp.sin(x) - x, {"x": (sp.Rational(1, 10), 2)}),
}


@pytest.mark.parametrize("name", TRUE)
def test_true_inequalities_are_proved(name):
    expression, box = TRUE[name]
    answer = never_positive(expression, box)
    assert answer.outcome is Outcome.HOLDS, answer.reason
    assert answer.evidence == "certificate"


FALSE = {
    "everywhere": (x**2 + 1, {"x": (-1, 1)}),
    "near a point": (sp.Rational(1, 1000) - (x - sp.Rational(1, 3)) ** 2, {"x": (-10, 10)}),
    "at a corner": (x - sp.Rational(999, 1000), {"x": (0, 1)}),
    "two variables": (x * y - sp.Rational(99, 100), {"x": (0, 1), "y": (0, 1)}),
    "gamma tail shape": (sp.exp(-x) * (1 + x) - sp.Rational(7, 10), {"x": (0, 5)}),
    "constant": (sp.Rational(22, 7) - sp.pi, {}),
}


@pytest.mark.parametrize("name", FALSE)
def test_false_inequalities_are_refuted_at_a_point(name):
    expression, box = FALSE[name]
    answer = never_positive(expression, box)
    assert answer.outcome is Outcome.REFUTED, answer.reason
    assert answer.numbers["value"] > 0


def test_an_inner_tie_is_not_decided():
    answer = never_positive(x * (1 - x) - sp.Rational(1, 4), {"x": (0, 1)}, pieces=300)
    assert answer.outcome in (Outcome.UNDECIDED, Outcome.HOLDS)
    tie = never_positive(-((x - sp.sqrt(2) / 3) ** 2), {"x": (0, 1)}, pieces=300)
    assert tie.outcome is not Outcome.REFUTED


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(-4, 4), min_size=2, max_size=5), st.integers(-8, 8))
def test_answers_agree_with_a_fine_grid(coefficients, shift):
    expression = sum((c * x**i for i, c in enumerate(coefficients)), sp.Integer(0)) - sp.Rational(shift, 2)
    answer = never_positive(expression, {"x": (-1, 1)} if expression.free_symbols else {}, pieces=500)
    grid = np.linspace(-1, 1, 2001)
    top = float(np.max(np.polyval(coefficients[::-1], grid) - shift / 2))
    if answer.outcome is Outcome.HOLDS:
        assert top <= 1e-12
    if answer.outcome is Outcome.REFUTED:
        assert top > -1e-5
    if abs(top) > 1e-3:
        assert answer.outcome is (Outcome.REFUTED if top > 0 else Outcome.HOLDS)


def test_bad_input_is_refused():
    with pytest.raises(InvalidInput, match=r"missing: \['x'\]"):
        never_positive(x, {})
    with pytest.raises(InvalidInput, match="low <= high"):
        never_positive(x, {"x": (1, 0)})
    with pytest.raises(InvalidInput, match="is a float"):
        never_positive(sp.Float(0.1) * x - 1, {"x": (0, 1)})
    with pytest.raises(NotImplementedError, match="gamma"):
        never_positive(sp.gamma(x) - 5, {"x": (1, 2)})
