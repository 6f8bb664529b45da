"""Steps of a proof: what is wrong is wrong at a point, and is seen before SymPy simplifies."""

from __future__ import annotations

import pytest
import sympy as sp

from dpcheck import algebra
from dpcheck.symbols import L, T, index, last, n, sequences

(sigma,) = sequences("sigma")
SQUARES = sp.Sum(sigma[index] ** 2, (index, 1, last))


def test_sums_over_phases_are_tried_at_three_of_them() -> None:
    found, detail = algebra.equality(SQUARES, 2 * SQUARES)
    assert found == "fails"
    assert "sigma[3]" in detail
    assert algebra.inequality(2 * SQUARES + sigma[last], SQUARES)[0] == "fails"
    assert algebra.equality(SQUARES + sigma[last], sigma[last] + SQUARES) == ("follows", "")


def test_a_sum_without_a_number_of_terms_stays_one() -> None:
    endless = sp.Sum(sigma[index] ** 2, (index, 1, T))
    assert algebra.equality(endless, endless + 1)[0] == "fails", "by what does not hang on it"


@pytest.mark.parametrize("wrong", [(L + n, L + 2 * n), ((L + n) ** 2, L**2 + n**2), (sp.sqrt(n), n)])
def test_what_is_wrong_is_not_simplified(wrong: tuple[sp.Expr, sp.Expr], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sp, "simplify", lambda *_: pytest.fail("simplified"))
    assert algebra.equality(*wrong)[0] == "fails"
    assert algebra.inequality(wrong[0] + wrong[1], wrong[0])[0] == "fails"


def test_what_is_wrong_nearly_nowhere_is_found_too() -> None:
    """Below n = 1/2 alone."""
    assert algebra.inequality(sp.Rational(1, 2), n)[0] == "fails"


def test_minima_are_tried_at_every_point_before_they_are_simplified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two minima one is the other wherever another term is smaller, and SymPy takes minutes to find where."""
    x, y = sp.symbols("x y", positive=True)
    monkeypatch.setattr(sp, "simplify", lambda *_: pytest.fail("SymPy was asked"))
    assert algebra.equality(sp.Min(x, 4 * y), sp.Min(x, 8 * y))[0] == "fails"


def test_two_sides_that_are_one_differ_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert algebra.sameness(n, n) == ("follows", "equal")
    assert algebra.sameness(n + T, n)[0] == "fails"
    monkeypatch.setattr(algebra, "inequality", lambda *_: pytest.fail("SymPy was asked for a sign"))
    assert algebra.sameness(n, n + T) == ("follows", "")
