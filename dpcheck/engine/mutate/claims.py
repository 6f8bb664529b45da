"""Wrong formulas: every claim with one constant, exponent, term, logarithm or assumption that is not its own."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from typing import Any

import sympy as sp

from dpcheck.claims import Claim
from dpcheck.engine.mutate.mutation import Mutation

FACTOR = 2
HALF = sp.Rational(1, 2)
Path = tuple[int, ...]
Change = tuple[str, str, sp.Expr]
"""Operator, what was done, and the formula that comes out."""


def of_claim(claim: Claim) -> Iterator[Mutation]:
    """Every wrong form of one claim: of the bound with constants where it has one, else of its order."""
    name = "explicit" if claim.explicit is not None else "order"
    bound = getattr(claim, name)
    if bound is not None:
        for operator, said, wrong in changes(sp.sympify(bound), constants=name == "explicit"):
            yield _mutation(claim, operator, said, name, wrong)
    for assumption in claim.assumptions:
        rest = tuple(each for each in claim.assumptions if each is not assumption)
        yield _mutation(claim, "assumption dropped", f"without {assumption}", "assumptions", rest)


def scaled(claim: Claim, factor: float) -> Mutation:
    """The claim with its bound multiplied: for its resolution."""
    operator = "factor up" if factor > 1 else "factor down"
    return _mutation(claim, operator, f"× {factor:.6g}", "explicit", sp.Float(factor) * claim.explicit)


def _mutation(claim: Claim, operator: str, said: str, name: str, value: Any) -> Mutation:
    def apply() -> None:
        object.__setattr__(claim, name, value)

    return Mutation("claim", claim.label, operator, said, apply, reads=(claim.label,))


def changes(bound: sp.Expr, *, constants: bool) -> Iterator[Change]:
    """The wrong forms of a formula, no two of which are the same function; without constants, those of its order."""
    seen = {_signature(bound)}
    for operator, said, wrong in _all(bound, constants):
        signature = _signature(wrong)
        if signature not in seen and not wrong.has(sp.nan):
            seen.add(signature)
            yield operator, said, wrong


def _all(bound: sp.Expr, constants: bool) -> Iterator[Change]:
    if constants:
        yield "factor up", f"× {FACTOR}", FACTOR * bound
        yield "factor down", f"÷ {FACTOR}", bound / FACTOR
    for path, part in _parts(bound):
        if not constants and any(isinstance(_at(bound, path[:i]), sp.log) for i in range(len(path))):
            continue  # a power inside of a logarithm is a constant before it
        if isinstance(part, sp.Add | sp.Max | sp.Min):
            for place, term in enumerate(part.args):
                rest = part.func(*(each for i, each in enumerate(part.args) if i != place))
                if part.free_symbols or constants:
                    yield "term dropped", f"without {term} in {part}", _with(bound, path, rest)
                if constants:
                    doubled = part.func(*(FACTOR * e if i == place else e for i, e in enumerate(part.args)))
                    yield "term doubled", f"{term} doubled in {part}", _with(bound, path, doubled)
        if isinstance(part, sp.log):
            yield "logarithm dropped", f"without {part}", _with(bound, path, sp.Integer(1))
        if isinstance(part, sp.Pow) and part.exp.is_Rational and part.base.free_symbols:
            for sign, step in (("+", HALF), ("-", -HALF)):
                yield "exponent", f"({part}) ^ {sign}1/2", _with(bound, path, part.base ** (part.exp + step))
        elif isinstance(part, sp.Symbol | sp.Indexed) and not _is_base(bound, path):
            for sign, step in (("+", HALF), ("-", -HALF)):
                yield "exponent", f"{part} ^ {sign}1/2", _with(bound, path, part ** (1 + step))
        if constants and part.is_Number and part not in (0, 1, -1) and not _is_exponent(bound, path):
            yield "constant", f"{part} × {FACTOR}", _with(bound, path, FACTOR * part)
            yield "constant", f"{part} ÷ {FACTOR}", _with(bound, path, part / FACTOR)


def _parts(expression: sp.Basic, path: Path = ()) -> Iterator[tuple[Path, sp.Basic]]:
    """Every part of an expression that is one itself; not the indices of sequences, nor the limits of sums."""
    yield path, expression
    if isinstance(expression, sp.Indexed | sp.Symbol):
        return
    inside = expression.args[:1] if isinstance(expression, sp.Sum | sp.Product) else expression.args
    for place, part in enumerate(inside):
        if isinstance(part, sp.Expr):
            yield from _parts(part, (*path, place))


def _with(expression: sp.Basic, path: Path, part: sp.Basic) -> sp.Expr:
    if not path:
        return part
    args = list(expression.args)
    args[path[0]] = _with(args[path[0]], path[1:], part)
    try:
        return expression.func(*args)
    except ValueError:  # a minimum of what is no longer real
        return sp.nan


def _at(expression: sp.Basic, path: Path) -> sp.Basic:
    return functools.reduce(lambda part, place: part.args[place], path, expression)


def _is_base(expression: sp.Basic, path: Path) -> bool:
    """Whether a part is the base of a power, whose exponent is changed as such."""
    return bool(path) and isinstance(_at(expression, path[:-1]), sp.Pow) and path[-1] == 0


def _is_exponent(expression: sp.Basic, path: Path) -> bool:
    return any(isinstance(_at(expression, path[:i]), sp.Pow) and path[i] == 1 for i in range(len(path)))


def _signature(expression: sp.Expr) -> str:
    """The value at two points that are drawn for each symbol by its name: two formulas of one signature are one."""
    values = []
    for seed in (1, 2):
        at = {s: sp.Float(random.Random(f"{s}{seed}").uniform(0.2, 3), 30) for s in expression.free_symbols}
        try:
            values.append(str(sp.N(expression.subs(at), 12)))
        except (TypeError, ValueError, AttributeError, ZeroDivisionError):
            return str(sp.srepr(expression))
    return " ".join(values)
