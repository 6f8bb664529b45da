"""Regimes: which exponents the variables may have, as powers of one of them or under inequalities."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import sympy as sp

from dpcheck.asymptotics.intervals import DEFAULT_RANGES, Range, cells, sample
from dpcheck.asymptotics.orders import symbol
from dpcheck.asymptotics.spaces import Space, compile_space
from dpcheck.errors import InvalidInput
from dpcheck.symbols import BY_NAME, n

Name: TypeAlias = str | sp.Symbol
SIZES = frozenset(BY_NAME[name] for name in ("n", "m", "d", "J", "T", "B", "b", "kappa", "omega"))
SMALL = frozenset(BY_NAME[name] for name in ("epsilon", "delta", "rho", "beta", "zeta"))


@dataclass(frozen=True, kw_only=True, eq=False)
class Regime:
    """How the variables grow together.

    Every statement "in a regime" is about power curves: each variable is N^(its exponent) with an exponent vector that
    the regime permits, N grows, and the constant of an O may depend on the vector. The statement is made for every such
    vector, on the boundary too; it is not uniform between them (d = log n lies between constant d and d = n^a with
    a > 0; it has a regime of its own, `ties={d: sp.log(n)}`).

    Attributes:
        ties: variable -> power product of `base` and other variables, with free exponents (`{d: n**a, epsilon: n**-b,
            m: n**2, delta: 1/n}`); log factors may stand in it (`{d: sp.log(n)**2}`).
        where: inequalities, either among free exponents (`a <= 2`) or among variables (`d <= n**2`, `epsilon <= 1`).
            The latter are read up to constants and logs; strict ones mean polynomially smaller.
        constants: variables that do not grow.
        parameters: symbols in exponents -> a value (`{k: 4}`) or a range (`{k: sp.Interval(2, sp.oo)}`); default
            k >= 2, theta > 1, p > 1.
        base: the large variable, of exponent 1; None when no single variable carries the growth (a cone of exponents).
        others: what to do with variables of a rate that are named nowhere here: refuse them, take them for constants,
            or let them have any exponent, positive or negative.

    Raises:
        InvalidInput: contradictory inequalities, a tie that is no power product, a circle of ties.
    """

    ties: Mapping[Name, Any] = field(default_factory=dict)
    where: Sequence[Any] = ()
    constants: str | Collection[Name] = ()
    parameters: Mapping[Name, Any] = field(default_factory=dict)
    base: Name | None = n
    others: Literal["refuse", "constant", "free"] = "refuse"

    def __post_init__(self) -> None:
        if self.others not in ("refuse", "constant", "free"):
            raise InvalidInput(f"others must be 'refuse', 'constant' or 'free', got {self.others!r}")
        self.space((), {s: sample(cells(self.ranges[s])[0]) for s in self.open_parameters})

    @classmethod
    def usual(cls, symbols: Collection[sp.Symbol]) -> Regime:
        """Sizes are at least 1, budgets and failure probabilities at most 1, independently; all else is constant."""
        found = sorted(symbols, key=str)
        where = [s >= 1 for s in found if s in SIZES] + [s <= 1 for s in found if s in SMALL]
        return cls(base=None, where=where, constants=[s for s in found if s not in SIZES | SMALL])

    def with_parameters(self, **values: Any) -> Regime:
        """The same regime with some parameters given a value or another range."""
        merged = {symbol(s): v for s, v in (*self.parameters.items(), *values.items())}
        return replace(self, parameters=merged)

    def space(self, symbols: Iterable[sp.Symbol], values: Mapping[sp.Symbol, sp.Expr] | None = None) -> Space:
        """The regime in coordinates, with these symbols in it and these values of parameters.

        Raises:
            InvalidInput: a symbol that the regime does not know; no exponent vector obeys the inequalities.
        """
        chosen = {**self.values, **(values or {})}
        key = frozenset(symbols), frozenset(chosen.items())
        if key not in self._spaces:
            self._spaces[key] = compile_space(self, key[0], chosen)
        return self._spaces[key]

    @cached_property
    def _spaces(self) -> dict[tuple[frozenset[sp.Symbol], frozenset[tuple[sp.Symbol, sp.Expr]]], Space]:
        return {}

    @cached_property
    def ranges(self) -> dict[sp.Symbol, Range]:
        """The parameters with the ranges of their values."""
        taken = {symbol(s) for s in self.ties} | self.constant_symbols | self.base_symbols
        defaults = {s: r for s, r in DEFAULT_RANGES.items() if s not in taken}
        return {**defaults, **{symbol(s): Range.of(v, s) for s, v in self.parameters.items()}}

    @cached_property
    def values(self) -> dict[sp.Symbol, sp.Expr]:
        """The parameters that have one value."""
        return {s: r.low for s, r in self.ranges.items() if r.is_point}

    @cached_property
    def open_parameters(self) -> frozenset[sp.Symbol]:
        """Parameters in the regime's own ties and inequalities that have a range, not a value."""
        found: set[sp.Symbol] = set()
        for expression in (*self.ties.values(), *self.where):
            found |= {symbol(s) for s in sp.sympify(expression).free_symbols}
        return frozenset(found & (self.ranges.keys() - self.values.keys()))

    @cached_property
    def constant_symbols(self) -> frozenset[sp.Symbol]:
        """`constants` as symbols."""
        names = self.constants.split() if isinstance(self.constants, str) else self.constants
        return frozenset(symbol(s) for s in names)

    @cached_property
    def base_symbols(self) -> frozenset[sp.Symbol]:
        """`base` as a set of one symbol, or none."""
        return frozenset() if self.base is None else frozenset({symbol(self.base)})

    @cached_property
    def free_exponents(self) -> tuple[sp.Symbol, ...]:
        """The symbols in the exponents of ties that are no parameters, by name."""
        found: set[sp.Symbol] = set()
        for value in self.ties.values():
            for node in sp.preorder_traversal(sp.sympify(value)):
                found |= node.exp.free_symbols if isinstance(node, sp.Pow) else set()
        return tuple(sorted((s for s in found if symbol(s) not in self.ranges), key=lambda s: str(s.name)))

    def __str__(self) -> str:
        base = "N" if self.base is None else str(self.base)
        parts = [f"{s} = {v}" for s, v in self.ties.items()] + [str(w) for w in self.where]
        given = [(symbol(s), self.ranges[symbol(s)]) for s in self.parameters]
        parts += [f"{s} {'=' if values.is_point else 'in'} {values}" for s, values in given]
        return f"{base} grows" + (f", {', '.join(parts)}" if parts else "")
