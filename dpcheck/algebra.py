"""Steps of a proof, by SymPy: identities and inequalities between expressions of positive symbols, and their sides."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import sympy as sp

from dpcheck.errors import InvalidInput

Found = Literal["follows", "fails", "open"]
"""Proved; wrong at a point that is named; neither."""
EARLY = 2
"""Points at which a step is tried before it is simplified."""
NOISE = sp.Float(10) ** -15
Where = Mapping[sp.Basic, Any]
"""Symbols or parts replaced before a step is checked: a choice of parameters, or an assumption (`{d: epsilon + t}`)."""
Side = Any | Callable[[], Any]
"""One side of a step: an expression, or a function of no arguments that builds one. SymPy simplifies what it builds, so
that an expression is shown as far as that went; a function is called once more without, and is shown as it is written
(`lambda: 32 * lambda_ / 2 * (3 * Delta / lambda_) ** 2`). Sums and integrals stay undone there."""


def tidy(expression: Any) -> sp.Expr:
    """A sum of terms in which powers of products are taken apart and equal bases joined; for positive symbols."""
    terms = sp.Add.make_args(sp.expand_multinomial(sp.expand_mul(expression, deep=False), deep=False))
    taken = (sp.powdenest(sp.expand_power_base(term, force=True), force=True) for term in terms)
    return sp.Add(*(sp.powsimp(term, force=True) for term in taken))


def built(side: Side) -> tuple[sp.Expr, sp.Expr]:
    """A side as it is shown and as it is compared."""
    if isinstance(side, sp.Basic) or not callable(side):
        value = sp.sympify(side)
        return value, value.doit(conds="none")
    try:
        with sp.evaluate(False):
            shown = sp.sympify(side())
    except RecursionError as error:  # what SymPy's algorithms make of an expression that it may not simplify
        raise InvalidInput(
            "a side that is given as a function is to be written out only; differentiate, solve and simplify before it"
        ) from error
    return shown, sp.sympify(side()).doit(conds="none")


def under(where: Where | None, detail: str) -> str:
    """What a step found, led by what was put in for it."""
    put_in = f"with {said(where)}" if where else ""
    return "; ".join(part for part in (put_in, detail) if part)


def resolution(here: sp.Expr, there: sp.Expr, relation: str, looser: bool) -> str:
    """What another claim a conclusion tells from its own: any, or one that is too strong by the smallest of a few
    factors; that one is seen at points, so it is seen for sure."""
    if relation == "=" or not looser:
        return "any other value"
    word = "smaller" if relation == "<=" else "larger"
    for factor in (sp.Rational(1001, 1000), sp.Rational(11, 10), sp.Integer(2), sp.Integer(10), sp.Integer(1000)):
        missing = there * factor - here if relation == ">=" else here - there / factor
        if any(value > NOISE for _, value in _values(missing)):
            return f"a bound {word} by the factor {sp.N(factor, 4).round(3)}"
    return f"a bound {word} than the one reached"


def equality(left: sp.Expr, right: sp.Expr) -> tuple[Found, str]:
    """Two points go before the simplifiers, which may take long: what is wrong is wrong nearly everywhere."""
    rest = tidy(left - right)
    if rest == 0:
        return "follows", ""
    # Of two minima one may be the other wherever another term is the smallest: then every point is tried.
    if text := _differing(rest, None if rest.has(sp.Min, sp.Max) else EARLY):
        return "fails", text
    simplifiers: tuple[Callable[[Any], Any], ...] = (
        lambda x: tidy(sp.expand(x)),
        lambda x: sp.simplify(sp.expand_log(x, force=True)),
    )
    for simpler in simplifiers:
        rest = simpler(rest)
        if rest == 0:
            return "follows", ""
    if right != 0 and not (left.is_Add or right.is_Add):  # monomials: their logarithms are linear in the exponents
        exponents = sp.expand_log(sp.log(left), force=True) - sp.expand_log(sp.log(right), force=True)
        if sp.simplify(exponents) == 0:
            return "follows", ""
    text = _differing(rest)
    return ("fails", text) if text else ("open", f"SymPy leaves {rest}")


def sameness(smaller: sp.Expr, larger: sp.Expr) -> tuple[Found, str]:
    """An inequality of two sides that are meant to be one. Where they differ at a point it is too small there or
    elsewhere, or weaker than need be: SymPy, which may take minutes over the sign, is not asked.
    """
    found, _ = equality(smaller, larger)
    if found == "follows":
        return "follows", "equal"
    if found == "open":
        return inequality(smaller, larger)
    counterexample = _short(tidy(larger - smaller))
    return ("fails", counterexample) if counterexample else ("follows", "")


def inequality(smaller: sp.Expr, larger: sp.Expr) -> tuple[Found, str]:
    gap = tidy(larger - smaller)
    if gap.is_nonnegative:
        return "follows", "equal" if gap == 0 else ""
    if counterexample := _short(gap, EARLY):
        return "fails", counterexample
    logs_apart = lambda x: sp.expand(sp.expand_log(x, force=True))  # noqa: E731
    for simpler in (sp.expand, sp.factor, logs_apart, sp.simplify, lambda x: tidy(sp.expand(x))):
        form = simpler(gap)
        if form.is_nonnegative:
            return "follows", "equal" if form == 0 else ""
    if not (smaller == 0 or smaller.is_Add or larger.is_Add):  # products: their logarithms are sums
        quotient = sp.expand_log(sp.log(larger), force=True) - sp.expand_log(sp.log(smaller), force=True)
        if any(simpler(quotient).is_nonnegative for simpler in (sp.expand, sp.factor)):
            return "follows", ""
    counterexample = _short(gap)
    return ("fails", counterexample) if counterexample else ("open", f"SymPy does not decide the sign of {gap}")


def _differing(rest: sp.Expr, most: int | None = None) -> str:
    """Where two sides differ that leave this, among so many points; "" where they do not."""
    for point, value in itertools.islice(_values(rest), most):
        if abs(value) > NOISE:
            return f"the two sides differ by {short(value)} at {said(point)}"
    return ""


def _short(gap: sp.Expr, most: int | None = None) -> str:
    """Where this is below 0, among so many points; "" where it is not."""
    for point, value in itertools.islice(_values(gap), most):
        if value < -NOISE:
            return f"short by {short(-value)} at {said(point)}"
    return ""


def _values(expression: sp.Expr) -> Iterator[tuple[Where, sp.Expr]]:
    """The value at a few exact points at which it is real; in 60 digits, as whole powers of fractions have millions."""
    expression = _written_out(expression)
    whole = expression.has(sp.floor, sp.ceiling)
    for point in _points(expression):
        try:
            value = sp.N(expression.xreplace(point if whole else {s: sp.Float(v, 60) for s, v in point.items()}), 30)
        except (ValueError, TypeError):  # a maximum of numbers that are not real
            continue
        if value.is_number and value.is_real:
            yield point, value


def _written_out(expression: sp.Expr) -> sp.Expr:
    """With the sums over phases written out for three of them, and a symbol for each member of a sequence."""
    if not expression.has(sp.Indexed):
        return expression
    phases = {s: 3 for s in expression.free_symbols if isinstance(s, sp.Symbol) and s.is_integer}
    expression = expression.subs(phases)
    ends = [end for each in expression.atoms(sp.Sum) for limits in each.limits for end in limits[1:]]
    expression = expression.doit() if all(end.is_number for end in ends) else expression
    return expression.xreplace({each: sp.Symbol(str(each), positive=True) for each in expression.atoms(sp.Indexed)})


def _points(expression: sp.Expr) -> list[Where]:
    """A few exact points, the same at every run; small and large values alike."""
    symbols = sorted(expression.free_symbols, key=str)
    draw = random.Random(0)
    return [{s: sp.Rational(draw.randint(1, 60), draw.choice((1, 7, 40))) for s in symbols} for _ in range(12)]


def said(point: Where) -> str:
    return ", ".join(f"{s} = {v}" for s, v in point.items())


def short(value: Any) -> str:
    return str(sp.N(value, 4))
