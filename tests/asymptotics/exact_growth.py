"""A second, slow and obvious reading of rates, for the tests: exact growth at one vector of exponents, and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import mpmath
import sympy as sp


def growth(x: sp.Expr, at: Mapping[sp.Symbol, Any]) -> tuple[sp.Rational, ...]:
    """Exponents of N, log N, log log N of an expression whose symbols are N^(at[symbol])."""
    if x.is_number:
        return (sp.Integer(0),) * 3
    if x.is_Symbol:
        return (sp.Rational(at[x]), sp.Integer(0), sp.Integer(0))
    inner = [growth(y, at) for y in x.args if not x.is_Pow]
    if x.is_Add or isinstance(x, sp.Max):
        return max(inner)
    if isinstance(x, sp.Min):
        return min(inner)
    if x.is_Mul:
        return tuple(sum(column) for column in zip(*inner, strict=True))
    if x.is_Pow:
        return tuple(x.exp * y for y in growth(x.base, at))
    if isinstance(x, sp.Abs):
        return inner[0]
    if isinstance(x, sp.log):
        first = next((i for i, y in enumerate(inner[0]) if y), None)
        return tuple(sp.Integer(i == first + 1) if first is not None else sp.Integer(0) for i in range(3))
    raise TypeError(f"no growth for {x}")


def log_value(x: sp.Expr, at: Mapping[sp.Symbol, Any], log_n: mpmath.mpf) -> mpmath.mpf:
    """log of the expression at N = exp(log_n), every log read as 1 + |log|, by plain arithmetic."""
    point = {s: mpmath.exp(log_n * e.numerator / e.denominator) for s, e in ((s, Fraction(e)) for s, e in at.items())}

    def value(y: sp.Expr) -> mpmath.mpf:
        if y.is_Rational:
            return mpmath.mpf(int(y.p)) / int(y.q)
        if y.is_Symbol:
            return point[y]
        inner = [value(z) for z in y.args]
        if y.is_Add:
            return mpmath.fsum(inner)
        if y.is_Mul:
            return mpmath.fprod(inner)
        if y.is_Pow:
            return inner[0] ** inner[1]
        if isinstance(y, sp.log):
            return 1 + abs(mpmath.log(inner[0]))
        return inner[0] if isinstance(y, sp.Abs) else max(inner) if isinstance(y, sp.Max) else min(inner)

    return mpmath.log(value(x))
