"""Exact signs of rational functions of one parameter on an interval: real roots, cells between them, samples."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import sympy as sp

from dpcheck.errors import InvalidInput
from dpcheck.symbols import k, p, theta


@dataclass(frozen=True)
class Range:
    """The values of a parameter: an interval with rational or infinite ends, or one point."""

    low: sp.Expr
    high: sp.Expr
    left_open: bool = False
    right_open: bool = False

    @classmethod
    def of(cls, given: object, name: object = "?") -> Range:
        """Reads a number, a `sympy.Interval` or a `Range`.

        Raises:
            InvalidInput: an empty set, a union, irrational ends, a float.
        """
        if isinstance(given, Range):
            return given
        value = sp.sympify(given)
        if isinstance(value, sp.FiniteSet) and len(value) == 1:  # what SymPy makes of Interval(4, 4)
            value = value.args[0]
        if isinstance(value, sp.Interval):
            read = cls(value.start, value.end, bool(value.left_open), bool(value.right_open))
        elif isinstance(value, sp.Expr):
            read = cls(value, value)
        else:
            raise InvalidInput(f"the parameter {name} takes an exact number or one interval, got {given!r}")
        if not all(end.is_Rational or end in (sp.oo, -sp.oo) for end in (read.low, read.high)):
            raise InvalidInput(f"the ends of the range of {name} must be exact rationals or infinite, got {given!r}")
        return read

    @property
    def is_point(self) -> bool:
        return bool(self.low == self.high)

    def holds(self, value: sp.Expr) -> bool:
        """Whether a number lies in it."""
        above = value > self.low if self.left_open else value >= self.low
        below = value < self.high if self.right_open else value <= self.high
        return bool(above) and bool(below)

    @property
    def least(self) -> str:
        """Its lower end as a condition: ">= 2"."""
        return f"{'>' if self.left_open else '>='} {self.low}"

    def __str__(self) -> str:
        if self.is_point:
            return str(self.low)
        return f"{'(' if self.left_open else '['}{self.low}, {self.high}{')' if self.right_open else ']'}"


DEFAULT_RANGES: dict[sp.Symbol, Range] = {
    k: Range(sp.Integer(2), sp.oo, right_open=True),
    theta: Range(sp.Integer(1), sp.oo, left_open=True, right_open=True),
    p: Range(sp.Integer(1), sp.oo, left_open=True, right_open=True),
}
"""Parameters that live in exponents: moments k >= 2, growth theta > 1, norms p > 1, unless a regime says otherwise."""


GENERIC = sp.Rational(3, 7)


@dataclass(frozen=True)
class ParameterCell:
    """A point (`low == high`) or the open interval between two real algebraic numbers or infinities."""

    low: sp.Expr
    high: sp.Expr

    @property
    def is_point(self) -> bool:
        return bool(self.low == self.high)

    def __str__(self) -> str:
        return f"{{{self.low}}}" if self.is_point else f"({self.low}, {self.high})"


def cells(values: Range) -> list[ParameterCell]:
    """The range as its closed ends and, last, its open interior."""
    low, high = values.low, values.high
    if values.is_point:
        return [ParameterCell(low, low)]
    ends = [ParameterCell(e, e) for e, is_open in ((low, values.left_open), (high, values.right_open)) if not is_open]
    return [*ends, ParameterCell(low, high)]


def roots(expressions: Iterable[sp.Expr], parameter: sp.Symbol) -> list[sp.Expr]:
    """Real zeros and poles of rational functions, increasing; irrational ones as `CRootOf`, so equality is exact."""
    formulas: set[sp.Expr] = set()
    for expression in expressions:
        for part in sp.fraction(sp.together(expression)):
            polynomial = sp.Poly(part, parameter)
            if polynomial.degree() > 0:
                formulas.update(polynomial.real_roots(multiple=True, radicals=False))
    return _increasing(formulas)


def _increasing(numbers: Iterable[sp.Expr]) -> list[sp.Expr]:
    ordered: list[sp.Expr] = []
    for number in numbers:
        place = sum(1 for other in ordered if bool(other < number))
        ordered.insert(place, number)
    return ordered


def subdivide(cell: ParameterCell, cuts: Sequence[sp.Expr]) -> list[ParameterCell]:
    """The cell cut at those of the increasing `cuts` that lie inside it: open intervals and the cut points."""
    if cell.is_point:
        return [cell]
    inside = [cut for cut in cuts if bool(cell.low < cut) and bool(cut < cell.high)]
    ends = [cell.low, *inside, cell.high]
    return [*(ParameterCell(a, b) for a, b in itertools.pairwise(ends)), *(ParameterCell(c, c) for c in inside)]


def sample(cell: ParameterCell, fraction: sp.Rational = GENERIC) -> sp.Rational | None:
    """A rational number of the cell; None for an irrational point.

    Args:
        fraction: where between the ends, in (0, 1); 3/7 avoids the values at which exponents usually coincide.
    """
    low, high = cell.low, cell.high
    if cell.is_point:
        return low if low.is_Rational else None
    if low is -sp.oo and high is sp.oo:
        return fraction
    if high is sp.oo:
        return sp.Integer(sp.floor(low) + 1) + fraction
    if low is -sp.oo:
        return sp.Integer(sp.ceiling(high) - 1) - fraction
    if low.is_Rational and high.is_Rational:
        return low + (high - low) * fraction
    digits = 20
    while True:
        middle = sp.Rational(str(sp.N(low, digits) + (sp.N(high, digits) - sp.N(low, digits)) * sp.N(fraction, digits)))
        if bool(low < middle) and bool(middle < high):
            return middle
        digits *= 2


def sign_at(expression: sp.Expr, parameter: sp.Symbol, point: sp.Expr) -> int | None:
    """Exact sign of a rational function at a real algebraic number; None at a pole."""
    top, bottom = sp.fraction(sp.cancel(sp.together(expression)))
    signs = [_polynomial_sign(part, parameter, point) for part in (top, bottom)]
    return signs[0] * signs[1] if signs[1] else None


def _polynomial_sign(polynomial: sp.Expr, parameter: sp.Symbol, point: sp.Expr) -> int:
    if point.is_Rational or not polynomial.has(parameter):
        return int(sp.sign(polynomial.subs(parameter, point)))
    if point in roots([polynomial], parameter):
        return 0
    digits = 30  # not zero, so enough digits settle the sign
    while True:
        value = sp.N(polynomial.subs(parameter, sp.N(point, digits)), digits)
        if abs(value) > sp.Float(10) ** (-digits // 2):
            return 1 if value > 0 else -1
        digits *= 2


def constant_sign(expression: sp.Expr, ranges: Mapping[sp.Symbol, Range]) -> int | None:
    """The sign of a rational function if it is the same all over the ranges, else None.

    With one parameter the answer is exact. With several, a positive answer is a proof (all coefficients have one sign
    after each range is moved onto the half-line), and None may also mean that this simple proof fails.

    >>> constant_sign(1 - 1 / k, DEFAULT_RANGES), constant_sign(k - 3, DEFAULT_RANGES)
    (1, None)
    """
    expression = sp.cancel(sp.together(expression))
    free = sorted(expression.free_symbols, key=str)
    if not free:
        return int(sp.sign(expression))
    if missing := [s.name for s in free if s not in ranges]:
        raise InvalidInput(f"no range is known for the parameter {missing[0]!r}; give one in Regime(parameters=…)")
    if len(free) > 1:
        return _sign_by_coefficients(expression, ranges)
    (parameter,) = free
    cuts = roots([expression], parameter)
    parts = [part for cell in cells(ranges[parameter]) for part in subdivide(cell, cuts)]
    signs = {sign_at(expression, parameter, sample(part) or part.low) for part in parts}
    return signs.pop() if len(signs) == 1 else None


def _sign_by_coefficients(expression: sp.Expr, ranges: Mapping[sp.Symbol, Range]) -> int | None:
    """The common sign of all coefficients after each range [l, oo) has been moved to u = parameter - l >= 0."""
    symbols = sorted(expression.free_symbols, key=str)
    if any(ranges[s].low is -sp.oo or ranges[s].high is not sp.oo for s in symbols):
        return None
    moved = sp.cancel(sp.together(expression.subs({s: ranges[s].low + s for s in symbols}, simultaneous=True)))
    closed = [i for i, s in enumerate(symbols) if not ranges[s].left_open]
    answer = 1
    for part in sp.fraction(moved):
        polynomial = sp.Poly(part, *symbols)
        signs = {int(sp.sign(c)) for c in polynomial.coeffs()}
        # At closed ends u = 0: a monomial free of those parameters must keep the polynomial away from zero.
        if len(signs) != 1 or not any(all(m[i] == 0 for i in closed) for m in polynomial.monoms()):
            return None
        answer *= signs.pop()
    return answer
