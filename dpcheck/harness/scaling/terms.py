"""The term of a bound that leads over a window, and its exponent, both computed from the claim's own order."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import sympy as sp

from dpcheck.asymptotics.orders import Order
from dpcheck.claims import evaluate, local_exponent
from dpcheck.errors import InvalidInput
from dpcheck.harness.scaling.slopes import BY_LOGARITHM
from dpcheck.symbols import BY_NAME

LEADS = 10.0
"""A term leads where it is so many times each other one."""
Part = Literal["private", "statistical", "all"]
"""private: the terms that a budget stands in; statistical: those without; all: the sum, in no regime."""
BUDGET = frozenset(BY_NAME[name] for name in ("epsilon", "rho"))


@dataclass(frozen=True)
class Term:
    """A summand of an order at one size.

    Attributes:
        expression: as it stands in the order.
        exponent: the power of the variable in it, logarithms apart.
        bound: the whole order there.
    """

    expression: sp.Expr
    exponent: float
    bound: float


def leading(order: sp.Expr, part: Part, variable: str, at: Mapping[str, float]) -> Term:
    """The summand of that part which leads at these values; others of the part with the same power may go with it.

    Raises:
        InvalidInput: the order has no such part, or its largest summand is not `LEADS` times each other one here.
    """
    at = {name: float(value) for name, value in at.items()}  # no root of an integer beyond 64 bits in NumPy
    bound = float(evaluate(order, at))
    if part == "all":
        exponent = power_of if variable in BY_LOGARITHM else local_exponent
        return Term(order, exponent(order, variable, at), bound)
    summands = sp.Add.make_args(sp.expand_mul(order))
    chosen = [each for each in summands if bool(each.free_symbols & BUDGET) == (part == "private")]
    if not chosen:
        raise InvalidInput(f"the order {order} has no {part} term; measure another part of it")
    values = {each: float(evaluate(each, at)) for each in summands}
    first = max(chosen, key=values.__getitem__)
    power = power_of(first, variable, at)
    alike = [each for each in chosen if each == first or math.isclose(power_of(each, variable, at), power)]
    rest = max((value for each, value in values.items() if each not in alike), default=0.0)
    if values[first] < LEADS * rest:
        raise InvalidInput(
            f"the {part} term {first} does not lead at {variable} = {at[variable]:g}: it is "
            f"{values[first] / rest:.3g} times the largest other one, not {LEADS:g}; move the window"
        )
    return Term(first, power, bound)


def power_of(term: sp.Expr, variable: str, at: Mapping[str, float]) -> float:
    """The exponent of a variable in a monomial, logarithms apart; of a failure probability, that of log(1/delta)."""
    if variable in BY_LOGARITHM:
        return -math.log(1 / at[variable]) * local_exponent(term, variable, at)
    try:
        known = Order.of(term)
    except InvalidInput:  # p - 1 in a factor: its value is a constant
        known = Order.of(term.subs({s: at[s.name] for s in term.free_symbols if s.name != variable}))
    if known.kind != "monomial":
        return local_exponent(term, variable, at)
    powers = {symbol.name: exponent for symbol, exponent in known.powers}
    exponent = sp.sympify(powers.get(variable, 0))
    return float(exponent.subs({s: at[s.name] for s in exponent.free_symbols}))
