"""Reading rates into normal form."""

from __future__ import annotations

import pytest
import sympy as sp

from dpcheck.asymptotics import Order
from dpcheck.asymptotics.intervals import (
    DEFAULT_RANGES,
    ParameterCell,
    Range,
    cells,
    constant_sign,
    roots,
    sample,
    sign_at,
    subdivide,
)
from dpcheck.asymptotics.orders import max_of_min, min_of_max
from dpcheck.errors import InvalidInput
from dpcheck.symbols import G_2, D, G_k, L, d, delta, epsilon, k, n, p, theta

R = sp.Rational


def powers(order: Order) -> dict[str, sp.Expr]:
    return {s.name: e for s, e in order.powers}


def test_constants_are_dropped_and_exponents_stay_exact():
    order = Order.of(100 * sp.pi * sp.sqrt(2) * G_k * D * (7 * d / (n * epsilon)) ** (1 - 1 / k))
    assert order.kind == "monomial"
    assert powers(order) == {"D": 1, "G_k": 1, "d": (k - 1) / k, "epsilon": (1 - k) / k, "n": (1 - k) / k}
    assert order.symbols == {G_k, D, d, n, epsilon}
    assert order.parameters == {k}


def test_a_sum_is_a_maximum_and_a_product_distributes():
    order = Order.of((1 + d) * (n + L) + sp.Min(n, d) * L)
    assert order.kind == "max"
    assert {str(x) for x in order.parts} == {"n", "L", "d*n", "L*d", "Min(L*d, L*n)"}


def test_powers_of_sums_turn_over_when_negative():
    assert Order.of((n + d) ** -2) == Order.of(sp.Min(n**-2, d**-2))
    assert Order.of(sp.Min(n, d) ** R(-1, 2)) == Order.of(sp.Max(n ** R(-1, 2), d ** R(-1, 2)))
    tau = (n ** R(-1, 2) + d / n) ** (theta / (theta - 1))
    assert Order.of(tau).kind == "max"  # theta/(theta - 1) > 0 because theta > 1
    assert Order.of((n + d) ** (1 / (1 - theta))).kind == "min"


def test_the_sign_of_an_exponent_must_be_known():
    with pytest.raises(InvalidInput, match="sign of the exponent k - 3"):
        Order.of((n + d) ** (k - 3))
    assert Order.of((n + d) ** (k - 3), ranges={k: Range.of(sp.Interval(4, sp.oo))}).kind == "max"


@pytest.mark.parametrize(
    "expression",
    [
        sp.log(1 / delta),
        -sp.log(delta),
        sp.log(5 / delta),
        sp.expand_log(sp.log(2 / delta)),
    ],
)  # fmt: skip
def test_logs_are_read_up_to_sign_and_constants(expression):
    (log,) = [x for x in Order.of(expression).terms if x.logs]
    ((argument, exponent),) = log.logs
    assert argument.symbols == {delta}
    assert exponent == 1


def test_subtracted_logs_join_into_the_log_of_a_ratio():
    order = Order.of(sp.log(n) - sp.log(delta) + 3)
    ((argument, _),) = next(x for x in order.terms if x.logs).logs
    assert argument == Order.of(n / delta)
    assert Order.of(sp.log(n) + sp.log(d)).kind == "max"


def test_logs_of_sums_and_iterated_logs_are_read():
    order = Order.of(sp.sqrt(sp.log(1 + n * epsilon / d) * sp.log(sp.log(n))))
    arguments = {str(x): e for x, e in order.logs}
    assert arguments == {"Max(1, epsilon*n/d)": R(1, 2), "log(n)": R(1, 2)}


def test_parameters_in_bases_are_constants():
    assert Order.of(k * n / (p - 1) + sp.sqrt(2 * k)) == Order.of(n + 1)


def test_plain_symbols_are_known_by_name():
    assert Order.of(sp.Symbol("n") ** 2 / sp.Symbol("epsilon")) == Order.of(n**2 / epsilon)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (sp.exp(n), r"exp\(n\)"),
        (2**d, "holds d, which grows"),
        (n - d, "negative term -d"),
        (n * (1 - 1 / d), "negative term"),
        (sp.Integer(0), "positive, got 0"),
        (n + sp.Integer(-3), "positive, got -3"),
        ((1 - k) * n, "not on the parameters' ranges"),
        (n**0.5, "the float 0.5"),
        (n ** sp.sqrt(2), "rational"),
        (sp.floor(n / d), "ignore_rounding=True"),
        (sp.sin(n), r"sin\(n\)"),
        (sp.oo, "positive, got oo"),
        (sp.nan, "positive, got nan"),
        (n > d, "a rate is a SymPy expression"),
        ("not an expression )(", "a rate is a SymPy expression"),
    ],
)
def test_what_is_no_rate_is_refused_by_name(expression, message):
    with pytest.raises(InvalidInput, match=message):
        Order.of(expression)


def test_rounding_is_ignored_when_asked():
    assert Order.of(sp.ceiling(n / d) * sp.floor(sp.log(n)), ignore_rounding=True) == Order.of(n / d * sp.log(n))


def test_the_expression_comes_back():
    rate = sp.Max(G_2 / sp.sqrt(n), (d / n) ** (1 - 1 / k) * sp.log(n) ** 2)
    order = Order.of(rate)
    assert Order.of(order.expression) == order
    assert Order.of(order) is order
    assert order.at({k: sp.Integer(2)}) == Order.of(rate.subs(k, 2))


def test_normal_forms_have_the_value_of_the_rate():
    rate = sp.Min(n + d, sp.Max(sp.Min(n**2, L), d**3)) * sp.Max(D, sp.Min(n, d))
    order, at = Order.of(rate), {n: 3, d: 2, L: 5, D: R(5, 2)}

    def value(x: Order) -> sp.Expr:
        return x.expression.subs(at)

    expected = value(order)
    assert max(min(value(m) for m in group) for group in max_of_min(order)) == expected
    assert min(max(value(m) for m in group) for group in min_of_max(order)) == expected


def test_huge_normal_forms_are_refused():
    factors = [sp.Min(*(sp.Symbol(f"x{i}_{j}", positive=True) for j in range(9))) for i in range(9)]
    order = Order.of(sp.Add(*factors))
    assert len(max_of_min(order)) == 9
    with pytest.raises(InvalidInput, match="factor it"):
        min_of_max(order)


def test_signs_on_intervals_are_exact():
    assert constant_sign(k**2 - 4 * k + 4, DEFAULT_RANGES) is None  # zero at k = 2 only
    assert constant_sign(k**2 - 4 * k + 5, DEFAULT_RANGES) == 1
    assert constant_sign(k**2 - 2, DEFAULT_RANGES) == 1
    assert constant_sign(k**2 - 5, DEFAULT_RANGES) is None
    assert constant_sign((k - 1) / k * theta / (theta - 1), DEFAULT_RANGES) == 1
    assert constant_sign((1 - k) * theta / (k + theta), DEFAULT_RANGES) == -1
    assert constant_sign((k - 2) * theta, DEFAULT_RANGES) is None  # zero at the closed end
    assert constant_sign((theta - 1) * k, DEFAULT_RANGES) == 1  # the open end does not count
    assert constant_sign(k - theta, DEFAULT_RANGES) is None
    bounded = {k: Range.of(sp.Interval(2, 3)), theta: DEFAULT_RANGES[theta]}
    assert constant_sign(k * theta, bounded) is None  # unsettled, said so
    with pytest.raises(InvalidInput, match="'q'"):
        constant_sign(sp.Symbol("q"), DEFAULT_RANGES)


def test_irrational_roots_cut_exactly():
    x = sp.Symbol("x")
    cuts = roots([x**2 - 2, (x - 1) / (x**3 - 3)], x)
    assert [float(c) for c in cuts] == pytest.approx([-(2**0.5), 1, 2**0.5, 3 ** (1 / 3)])
    root = roots([x**2 - 2], x)[1]
    assert sign_at(x**4 - 4, x, root) == 0
    assert sign_at(x**4 - 4 + R(1, 10**40), x, root) == 1
    assert sign_at(1 / (x**2 - 2), x, root) is None
    parts = subdivide(ParameterCell(sp.Integer(0), sp.oo), [root])
    assert [part.is_point for part in parts] == [False, False, True]
    assert sample(parts[2]) is None
    inside = [sample(part) for part in parts[:2]]
    assert inside[0] ** 2 < 2 < inside[1] ** 2


def test_ranges_are_validated():
    assert cells(Range.of(sp.Interval(2, 4)))[:2] == [ParameterCell(2, 2), ParameterCell(4, 4)]
    assert Range.of(sp.Interval(4, 4)).is_point
    for bad in (sp.Interval(0, sp.sqrt(2)), 0.5, sp.EmptySet, sp.Interval(0, 1) + sp.Interval(2, 3)):
        with pytest.raises(InvalidInput):
            Range.of(bad, "k")
