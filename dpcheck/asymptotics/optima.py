"""The least order that a choice of parameters can give a rate, exactly: the best balance of its terms."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import sympy as sp

from dpcheck.asymptotics.intervals import DEFAULT_RANGES, Range, constant_sign
from dpcheck.asymptotics.orders import CONSTANT, Order, join, max_of_min, power, symbol, times
from dpcheck.errors import InvalidInput

Exponents = tuple[sp.Expr, ...]


def least_order(
    rate: Any,
    over: Iterable[sp.Symbol | str],
    *,
    limits: Sequence[Any] = (),
    ranges: Mapping[sp.Symbol, Range] | None = None,
) -> Order:
    """The order of min over the variables of a sum of monomials, up to constants.

    With x = log of the variables the rate is a maximum of affine functions; by duality of linear programs its least
    value is the largest weighted geometric mean of terms in which all variables cancel. Every such mean is a lower
    bound whatever is chosen, and the largest is attained: the answer proves itself.

    Args:
        rate: a sum (or `Max`) of monomials in the variables; other symbols are arbitrary.
        over: the variables that may be chosen, each a positive number.
        limits: monomials that must stay at most of constant order (`1/T` for T >= 1, `T/n` for T <= n).
        ranges: parameters in exponents, as in `Order.of`.

    Raises:
        InvalidInput: a variable inside a logarithm or a minimum; a rate that tends to 0 for some choice, so that a
            limit is missing; exponents whose sign depends on a parameter.

    >>> from dpcheck.symbols import d, epsilon, n, C, G_k, k
    >>> print(least_order(C * d / (n * epsilon) + G_k**k / C ** (k - 1), [C]))
    G_k*d**((k - 1)/k)/(epsilon**((k - 1)/k)*n**((k - 1)/k))
    """
    known = DEFAULT_RANGES if ranges is None else ranges
    chosen = tuple(symbol(s) for s in over)
    terms = [_taken_apart(m, chosen) for m in _monomials(rate, known)]
    bounds = [_taken_apart(m, chosen) for limit in limits for m in _monomials(limit, known)]
    means = list(_balances(terms, bounds, len(chosen), known))
    if not means:
        names = ", ".join(s.name for s in chosen)
        raise InvalidInput(f"the rate tends to 0 for some choice of {names}; pass the limits of the choice")
    return join("max", means)


def _monomials(rate: Any, ranges: Mapping[sp.Symbol, Range]) -> list[Order]:
    groups = max_of_min(Order.of(rate, ranges=ranges, ignore_rounding=True))
    if any(len(group) > 1 for group in groups):
        raise InvalidInput(f"the best choice is found for sums of monomials; {rate} has a minimum in it")
    return [group[0] for group in groups]


def _taken_apart(monomial: Order, chosen: tuple[sp.Symbol, ...]) -> tuple[Exponents, Order]:
    """The exponents of the variables, and the rest."""
    if inside := [s.name for s in chosen for argument, _ in monomial.logs if s in argument.symbols]:
        raise InvalidInput(f"{inside[0]} stands inside a logarithm of {monomial}; replace the logarithm by a symbol")
    powers = dict(monomial.powers)
    rest = tuple((s, e) for s, e in monomial.powers if s not in chosen)
    return tuple(powers.get(s, sp.Integer(0)) for s in chosen), Order("monomial", rest, monomial.logs)


Part = tuple[Exponents, Order]


def _balances(
    terms: list[Part], bounds: list[Part], dimension: int, ranges: Mapping[sp.Symbol, Range]
) -> Iterator[Order]:
    """Every weighted mean on a minimal set of terms and limits: vertices of the dual program."""
    for size in range(1, dimension + 2):
        for number in range(1, size + 1):
            for few in itertools.combinations(terms, number):
                for some in itertools.combinations(bounds, size - number):
                    weights = _weights(few, some, dimension, ranges)
                    if weights is not None:
                        mean = CONSTANT
                        for (_, rest), weight in zip((*few, *some), weights, strict=True):
                            mean = times(mean, power(rest, weight, ranges))
                        yield mean


def _weights(
    terms: Sequence[Part], bounds: Sequence[Part], dimension: int, ranges: Mapping[sp.Symbol, Range]
) -> list[sp.Expr] | None:
    """The positive weights that cancel every variable, those of the terms adding up to 1; None if not unique."""
    parts = (*terms, *bounds)
    rows = [[exponents[i] for exponents, _ in parts] for i in range(dimension)]
    rows.append([sp.Integer(1)] * len(terms) + [sp.Integer(0)] * len(bounds))
    matrix, right = sp.Matrix(rows), sp.Matrix([0] * dimension + [1])
    unknowns = sp.symbols(f"weight:{len(parts)}")
    solution = sp.linsolve((matrix, right), *unknowns)
    if solution is sp.S.EmptySet:
        return None
    (unique,) = solution
    if any(w.has(*unknowns) for w in unique):
        return None
    weights = [sp.cancel(sp.together(w)) for w in unique]
    signs = [constant_sign(w, ranges) for w in weights]
    if None in signs:
        raise InvalidInput(f"which terms balance depends on a parameter ({weights}); substitute it")
    return weights if all(sign == 1 for sign in signs) else None
