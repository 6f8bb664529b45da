"""Regimes: ties, inequalities, and the exact linear programming under them."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.asymptotics import Affine, Regime
from dpcheck.asymptotics.linear import Contradiction, Inequality, number, separate
from dpcheck.errors import InvalidInput
from dpcheck.symbols import D, d, delta, epsilon, k, m, n

a, c = sp.symbols("a c")
R = sp.Rational


def test_ties_become_affine_exponents():
    space = Regime(
        ties={d: n ** (2 * a + 1) * sp.log(n) ** 3, m: sp.sqrt(d) / n, delta: 1 / (m * d)}, constants="D"
    ).space({D})
    assert space.names == ("a",)
    growth = {s.name: (g.form.coefficients, g.form.constant, g.log) for s, g in space.growths.items()}
    assert growth["n"] == ((0,), 1, 0)
    assert growth["d"] == ((2,), 1, 3)
    assert growth["m"] == ((1,), Fraction(-1, 2), Fraction(3, 2))
    assert growth["delta"] == ((-3,), Fraction(-1, 2), Fraction(-9, 2))
    assert growth["D"] == ((0,), 0, 0)


def test_loglog_ties():
    space = Regime(ties={d: sp.log(n), m: sp.log(d) * sp.log(sp.log(n))}).space(())
    assert (space.growths[d].log, space.growths[d].loglog) == (1, 0)
    assert (space.growths[m].log, space.growths[m].loglog) == (0, 2)


def test_conditions_between_variables():
    space = Regime(where=[d >= 1, n * epsilon >= sp.sqrt(d) + m, epsilon < 1]).space(())
    rows = {str(row) for row in space.rows}
    assert space.names == ("d", "epsilon", "m")
    assert rows == {"d >= 0", "-1/2*d + epsilon + 1 >= 0", "epsilon - m + 1 >= 0", "-epsilon > 0"}


def test_assumptions_on_free_exponents_count():
    x, y = sp.Symbol("x", positive=True), sp.Symbol("y", nonpositive=True)
    rows = {str(row) for row in Regime(ties={d: n**x, m: n**y}).space(()).rows}
    assert rows == {"x > 0", "-y >= 0"}


def test_equalities_and_parameters_in_conditions():
    regime = Regime(ties={d: n**a}, where=[sp.Eq(a, (k - 2) / k)], parameters={k: 4})
    assert {str(row) for row in regime.space(()).rows} == {"a - 1/2 >= 0", "-a + 1/2 >= 0"}
    assert regime.with_parameters(k=2).space(()).rows[0].form.constant == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Regime(ties={d: n**a}, where=[a >= 2, a <= 1]), "a >= 2; a <= 1 cannot all hold"),
        (lambda: Regime(ties={d: n**a}, where=[a > 1, d < n]), "no exponents satisfy"),
        (lambda: Regime(where=[sp.Integer(1) > 2]), "false"),
        (lambda: Regime(ties={d: m, m: d}), "circle"),
        (lambda: Regime(ties={d: n + m}), "one power product"),
        (lambda: Regime(ties={n: d}), "n is tied and also the base"),
        (lambda: Regime(ties={d: n ** (a**2)}), "linear in a"),
        (lambda: Regime(ties={m: n**a, d: m**a}), "cannot be raised"),
        (lambda: Regime(ties={d: n**0.5}), "float"),
        (lambda: Regime(ties={d: sp.log(m), m: n**a}), "the tie of d"),
        (lambda: Regime(where=[sp.Min(n, m) <= d]), "split it"),
        (lambda: Regime(where=[sp.Ne(n, d)]), "inequalities and equalities"),
        (lambda: Regime(ties={d: n**a}, where=[a <= 0.5]), "float"),
        (lambda: Regime(others="whatever"), "'whatever'"),
        (lambda: Regime(ties={d: n ** sp.Symbol("m")}, where=[m >= 1]), "both a variable and a free exponent"),
    ],
)  # fmt: skip
def test_senseless_regimes_are_refused(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


def test_unknown_variables_follow_the_policy():
    with pytest.raises(InvalidInput, match="says nothing about D, d"):
        Regime().space({d, D})
    assert Regime(others="constant").space({d}).growths[d].form.is_constant
    assert Regime(others="free").space({d}).names == ("d",)


def test_parameters_may_be_variables_when_tied():
    assert k not in Regime(ties={k: n}).ranges


small = st.fractions(min_value=-3, max_value=3, max_denominator=3)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.tuples(small, small, small, st.booleans()), min_size=1, max_size=7))
def test_separate_gives_a_point_or_a_contradiction(raw):
    names = ("x", "y")
    rows = [Inequality(Affine(names, (p, q), r), strict) for p, q, r, strict in raw]
    found = separate(rows, 2)
    if not isinstance(found, Contradiction):
        assert all(row.holds(found) for row in rows)
        return
    everything = [*rows, Inequality(Affine(names, (Fraction(0), Fraction(0)), Fraction(1)), strict=True)]
    total = [Fraction(0)] * 3
    for index, y in found.multipliers:
        assert y > 0
        form = everything[index].form
        total = [t + y * x for t, x in zip(total, (*form.coefficients, form.constant), strict=True)]
    assert total == [0, 0, 0]
    assert any(everything[index].strict for index, _ in found.multipliers)


def test_separate_agrees_with_a_grid():
    # x + y > 1, x < 1/2, y < 1/2 + t: empty exactly for t <= 0.
    for t, nonempty in ((Fraction(0), False), (Fraction(1, 100), True), (Fraction(-1), False)):
        names = ("x", "y")
        rows = [
            Inequality(Affine(names, (Fraction(1), Fraction(1)), Fraction(-1)), strict=True),
            Inequality(Affine(names, (Fraction(-1), Fraction(0)), Fraction(1, 2)), strict=True),
            Inequality(Affine(names, (Fraction(0), Fraction(-1)), Fraction(1, 2) + t), strict=True),
        ]
        assert isinstance(separate(rows, 2), tuple) == nonempty
        grid = itertools.product(
            [Fraction(i, 256) for i in range(-256, 257)], [Fraction(i, 256) for i in range(0, 257, 2)]
        )
        assert any(all(row.holds(point) for row in rows) for point in grid) == nonempty


def test_numbers_are_exact():
    assert number(R(2, 3)) == Fraction(2, 3)
    assert number((k - 1) / k) == (k - 1) / k
    with pytest.raises(InvalidInput, match="rational"):
        number(sp.sqrt(2))
