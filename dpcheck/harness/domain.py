"""Scalar inequalities on a whole box, proved by interval arithmetic and branch and bound.

The box is cut until an interval enclosure of the expression is nonpositive on every piece; rounding is outward
(`mpmath.iv`). Where the expression is monotone on a piece, the piece shrinks to its worst face, so that an inequality
that is tight in a corner is decided there by exact rational arithmetic.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mpmath
import sympy as sp
from mpmath import iv

from dpcheck.errors import InvalidInput
from dpcheck.verdicts import Verdict, holds, refuted, undecided

_Box = tuple[tuple[sp.Rational, sp.Rational], ...]
_FUNCTIONS = {sp.exp: iv.exp, sp.log: iv.log, sp.sin: iv.sin, sp.cos: iv.cos}


@dataclass(frozen=True)
class _Problem:
    expression: sp.Expr
    variables: tuple[sp.Symbol, ...]
    slopes: tuple[sp.Expr, ...]


def never_positive(
    expression: sp.Expr,
    box: Mapping[str | sp.Symbol, tuple[Any, Any]],
    *,
    statement: str = "",
    pieces: int = 20_000,
) -> Verdict:
    """Decides "expression <= 0 everywhere on the box".

    Args:
        expression: of +, *, powers, exp, log, sin, cos, Abs, Max, Min and constants; write left - right.
        box: symbol (or its name) -> (low, high), finite; anything `sympy.Rational` takes, "1/10" rather than 0.1.
        pieces: how many enclosures to spend.

    Returns:
        HOLDS by certificate, REFUTED with a rational point where the expression is certainly positive, or
        UNDECIDED when the pieces ran out (an inequality that is tight inside the box never ends).
    """
    symbols = {symbol.name: symbol for symbol in expression.free_symbols}
    bounds = {str(name): (sp.Rational(low), sp.Rational(high)) for name, (low, high) in box.items()}
    missing = sorted(set(symbols) - set(bounds))
    if missing or not all(low <= high for low, high in bounds.values()):
        raise InvalidInput(f"the box needs low <= high for every symbol of {expression}; missing: {missing}")
    if expression.atoms(sp.Float):
        given = next(iter(expression.atoms(sp.Float)))
        raise InvalidInput(f"{given} is a float; write constants as rationals, so that the proof is one")
    variables = tuple(symbols[name] for name in sorted(symbols))
    problem = _Problem(expression, variables, tuple(sp.diff(expression, v) for v in variables))
    said = statement or f"{expression} <= 0"
    decision = _decide(problem, tuple(bounds[v.name] for v in variables), pieces)
    numbers: dict[str, float | int | str | bool] = {"pieces": decision.pieces, "largest enclosure": decision.worst}
    if decision.point is not None:
        place = ", ".join(f"{v.name} = {value}" for v, value in zip(variables, decision.point, strict=True))
        value = float(expression.subs(dict(zip(variables, decision.point, strict=True))))
        numbers = {**numbers, "point": place, "value": value}
        return refuted(f"{said} fails at {place}: {value:.6g}", "exact", numbers=numbers)
    if decision.open == 0:
        return holds(
            f"{said} on the whole box, by {decision.pieces:,} interval enclosures", "certificate", numbers=numbers
        )
    reason = f"{said} not decided on {decision.open:,} of the pieces, after {decision.pieces:,} enclosures"
    return undecided(reason, "certificate", numbers=numbers)


@dataclass(frozen=True)
class _Found:
    point: tuple[sp.Rational, ...] | None
    open: int
    pieces: int
    worst: float


def _decide(problem: _Problem, box: _Box, pieces: int) -> _Found:
    """Best first: the piece with the largest upper end is cut next, across its longest relative side."""
    tie = itertools.count()
    upper = _upper(problem, box)
    heap: list[tuple[float, int, _Box]] = [] if upper <= 0 else [(-upper, next(tie), box)]
    done, worst = 1, upper
    while heap and done < pieces:
        _, _, piece = heapq.heappop(heap)
        middle = tuple((low + high) / 2 for low, high in piece)
        for point in (middle, tuple(high for _, high in piece), tuple(low for low, _ in piece)):
            if _value(problem, point).a > 0:
                return _Found(point, len(heap) + 1, done, worst)
        for half in _halves(problem, piece, box):
            upper = _upper(problem, half)
            done += 1
            if upper > 0:
                heapq.heappush(heap, (-upper, next(tie), half))
    return _Found(None, len(heap), done, -heap[0][0] if heap else 0.0)


def _halves(problem: _Problem, piece: _Box, box: _Box) -> Sequence[_Box]:
    widths = [
        (high - low) / (top - bottom) if top > bottom else sp.Integer(0)
        for (low, high), (bottom, top) in zip(piece, box, strict=True)
    ]
    if not widths or max(widths) == 0:
        return ()
    longest = max(range(len(piece)), key=lambda i: widths[i])
    low, high = piece[longest]
    middle = (low + high) / 2
    return tuple((*piece[:longest], side, *piece[longest + 1 :]) for side in ((low, middle), (middle, high)))


def _upper(problem: _Problem, box: _Box) -> float:
    """An upper bound of the expression on the box: natural and mean-value enclosure, after monotone shrinking."""
    names = dict(zip(problem.variables, box, strict=True))
    shrunk = list(box)
    slopes: list[Any] = []
    for i, slope in enumerate(problem.slopes):
        try:
            enclosure = _interval(slope, names)
        except (ValueError, ZeroDivisionError, NotImplementedError):
            enclosure = None
        slopes.append(enclosure)
        if enclosure is not None and enclosure.a >= 0:
            shrunk[i] = (box[i][1], box[i][1])
        elif enclosure is not None and enclosure.b <= 0:
            shrunk[i] = (box[i][0], box[i][0])
    if all(low == high for low, high in shrunk):
        return float(_value(problem, tuple(low for low, _ in shrunk)).b)
    names = dict(zip(problem.variables, shrunk, strict=True))
    natural = _enclose(problem.expression, names)
    if any(slope is None for slope in slopes):
        return float(natural.b)
    middle = tuple((low + high) / 2 for low, high in shrunk)
    centred = _enclose(problem.expression, {v: (m, m) for v, m in zip(problem.variables, middle, strict=True)})
    for slope, (low, high), centre in zip(slopes, shrunk, middle, strict=True):
        centred += slope * (_rational(low, high) - _rational(centre, centre))
    return float(min(natural.b, centred.b))


def _value(problem: _Problem, point: tuple[sp.Rational, ...]) -> Any:
    """The expression at a rational point, exactly where SymPy can decide its sign."""
    exact = problem.expression.subs(dict(zip(problem.variables, point, strict=True)))
    if exact.is_Rational:
        return _rational(exact, exact)
    return _enclose(problem.expression, {v: (x, x) for v, x in zip(problem.variables, point, strict=True)})


def _enclose(expression: sp.Expr, names: Mapping[sp.Symbol, tuple[sp.Rational, sp.Rational]]) -> Any:
    """As `_interval`; the whole line where the expression is not defined on all of the box."""
    try:
        return _interval(expression, names)
    except (ValueError, ZeroDivisionError):
        return iv.mpf([-mpmath.inf, mpmath.inf])


def _rational(low: sp.Rational, high: sp.Rational) -> Any:
    ends = [iv.mpf(int(value.p)) / iv.mpf(int(value.q)) for value in (low, high)]
    return iv.mpf([ends[0].a, ends[1].b])


def _interval(expression: sp.Expr, names: Mapping[sp.Symbol, tuple[sp.Rational, sp.Rational]]) -> Any:
    """The natural interval extension of an expression."""
    if expression.is_Symbol:
        return _rational(*names[expression])
    if expression.is_Rational:
        return _rational(expression, expression)
    if expression is sp.pi or expression is sp.E:
        return iv.pi if expression is sp.pi else iv.e
    parts = [_interval(argument, names) for argument in expression.args]
    if expression.is_Add:
        return sum(parts[1:], parts[0])
    if expression.is_Mul:
        product = parts[0]
        for part in parts[1:]:
            product = product * part
        return product
    if expression.is_Pow:
        return _power(expression, parts)
    if isinstance(expression, sp.Abs):
        return abs(parts[0])
    if isinstance(expression, sp.Max | sp.Min):
        pick = max if isinstance(expression, sp.Max) else min
        return iv.mpf([pick(part.a for part in parts), pick(part.b for part in parts)])
    if expression.func in _FUNCTIONS:
        if expression.func is sp.log and parts[0].a <= 0:
            raise ValueError("the logarithm of an interval that reaches 0")
        return _FUNCTIONS[expression.func](parts[0])
    raise NotImplementedError(f"no interval arithmetic for {expression.func.__name__}; rewrite {expression} without it")


def _power(expression: sp.Expr, parts: Sequence[Any]) -> Any:
    base, exponent = expression.args
    if exponent.is_Integer:
        if exponent < 0 and parts[0].a <= 0 <= parts[0].b:
            raise ZeroDivisionError("a negative power of an interval that holds 0")
        return parts[0] ** int(exponent)
    if base is sp.E:
        return iv.exp(parts[1])
    if parts[0].a > 0:
        return iv.exp(parts[1] * iv.log(parts[0]))
    if parts[0].a < 0 or not (exponent.is_Rational and exponent > 0):
        raise ValueError("a fractional power of an interval that reaches below 0, or a negative one that reaches 0")
    top = iv.exp(parts[1] * iv.log(iv.mpf(parts[0].b))) if parts[0].b > 0 else iv.mpf(0)
    return iv.mpf([0, top.b])
