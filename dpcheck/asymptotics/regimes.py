"""Regimes: which exponents the variables may have, as powers of one of them or under inequalities."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import sympy as sp

from dpcheck.asymptotics.intervals import DEFAULT_RANGES, cells, sample
from dpcheck.asymptotics.linear import ONE, ZERO, Affine, Contradiction, Number, Row, constant, coordinate, number, separate
from dpcheck.asymptotics.orders import Order, canonical, symbol
from dpcheck.errors import InvalidInput
from dpcheck.symbols import n

Name = str | sp.Symbol


@dataclass(frozen=True)
class Growth:
    """N^form (log N)^log (log log N)^loglog, N the large quantity of a regime."""

    form: Affine
    log: Number = ZERO
    loglog: Number = ZERO

    def __add__(self, other: Growth) -> Growth:
        """Of the product."""
        return Growth(self.form + other.form, self.log + other.log, self.loglog + other.loglog)

    def scaled(self, factor: Number) -> Growth:
        """Of the power."""
        return Growth(self.form.scaled(factor), factor * self.log, factor * self.loglog)

    @property
    def logs(self) -> tuple[Number, Number]:
        return self.log, self.loglog

    def __str__(self) -> str:
        text = f"N^({self.form})" if self.form.constant or not self.form.is_constant else ""
        for name, exponent in (("log N", self.log), ("log log N", self.loglog)):
            if exponent:
                text += f" ({name})^({exponent})" if exponent != 1 else f" {name}"
        return text.strip() or "1"


@dataclass(frozen=True)
class Space:
    """A regime compiled: free exponents, the growth of every symbol in them, and the inequalities that they obey."""

    names: tuple[str, ...]
    growths: Mapping[sp.Symbol, Growth]
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class Regime:
    """How the variables grow together.

    Every statement "in a regime" is about power curves: every variable is N^(exponent) with an exponent vector that
    the regime permits, N grows, and the constant of an O may depend on the vector. It is a statement for every such
    vector, the boundary of the regime included; it is not uniform between them (d = log n lies between d = n^a, a > 0,
    and constant d; tie it by `ties={d: sp.log(n)}`).

    Attributes:
        ties: variable -> power product of `base` and of other variables, with free exponents
            (`{d: n**a, epsilon: n**-b, m: n**2, delta: 1/n}`); log factors are allowed too (`{d: sp.log(n)**2}`).
        where: inequalities: among free exponents (`a <= 2`) or among variables (`d <= n**2`, `epsilon <= 1`), which are
            read up to constants; strict ones mean polynomially smaller.
        constants: variables that do not grow.
        parameters: symbols in exponents -> a value (`{k: 4}`) or a range (`{k: sp.Interval(2, sp.oo)}`); the default
            is k >= 2, theta > 1, p > 1.
        base: the large variable, of exponent 1; None when no single variable carries the growth (a cone).
        others: what to do with variables of a rate that are named nowhere: refuse them, take them for constants, or
            let them have any exponent, positive or negative.

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
        self.space((), {s: sample(cells(r)[0]) for s, r in self.ranges.items() if s in self._mentioned})

    def with_parameters(self, **values: Any) -> Regime:
        """The same regime with some parameters given a value or another range."""
        merged = {symbol(s): v for s, v in (*self.parameters.items(), *values.items())}
        return replace(self, parameters=merged)

    @cached_property
    def ranges(self) -> dict[sp.Symbol, Range]:
        """The parameters with the ranges of their values."""
        taken = {symbol(s) for s in self.ties} | self._constants | self._bases
        defaults = {s: r for s, r in DEFAULT_RANGES.items() if s not in taken}
        return {**defaults, **{symbol(s): Range.of(v, s) for s, v in self.parameters.items()}}

    @cached_property
    def values(self) -> dict[sp.Symbol, sp.Expr]:
        """The parameters that have one value."""
        return {s: r.low for s, r in self.ranges.items() if r.is_point}

    @cached_property
    def used_parameters(self) -> frozenset[sp.Symbol]:
        """Parameters without a value in the regime's own ties and inequalities."""
        found: set[sp.Symbol] = set()
        for expression in (*self.ties.values(), *self.where):
            found |= {symbol(s) for s in sp.sympify(expression).free_symbols}
        return frozenset(found & self.ranges.keys() - self.values.keys())

    def space(self, symbols: Iterable[sp.Symbol], values: Mapping[sp.Symbol, sp.Expr]) -> Space:
        """The regime with these symbols and parameter values put in.

        Raises:
            InvalidInput: a symbol that the regime does not know; no exponent vector obeys the inequalities.
        """
        return _Compiler(self, symbols, {**self.values, **values}).space()

    @cached_property
    def _constants(self) -> frozenset[sp.Symbol]:
        names = self.constants.split() if isinstance(self.constants, str) else self.constants
        return frozenset(symbol(s) for s in names)

    @cached_property
    def _bases(self) -> frozenset[sp.Symbol]:
        return frozenset() if self.base is None else frozenset({symbol(self.base)})

    @cached_property
    def free_exponents(self) -> tuple[sp.Symbol, ...]:
        """The symbols that stand in the exponents of ties, by name."""
        found: set[sp.Symbol] = set()
        for value in self.ties.values():
            for node in sp.preorder_traversal(sp.sympify(value)):
                found |= node.exp.free_symbols if isinstance(node, sp.Pow) else set()
        return tuple(sorted((s for s in found if symbol(s) not in self.ranges), key=lambda s: str(s.name)))


class _Compiler:
    """One compilation of a regime: the free exponents first, then the growth of each symbol, then the rows."""

    def __init__(self, regime: Regime, symbols: Iterable[sp.Symbol], values: Mapping[sp.Symbol, sp.Expr]) -> None:
        self.regime, self.values, self.exponents = regime, values, regime.free_exponents
        line = Range(-sp.oo, sp.oo, left_open=True, right_open=True)
        self.ranges = {**regime.ranges, **dict.fromkeys(self.exponents, line)}
        self.ties = {symbol(s): self._tie(s, v) for s, v in regime.ties.items()}
        self.conditions = [c for given in regime.where for c in self._condition(given)]
        self.growths: dict[sp.Symbol, Growth] = {}
        free = self._free_variables(symbols)
        self.names = (*(s.name for s in self.exponents), *(s.name for s in free))
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise InvalidInput(f"{twice} is both a variable and a free exponent; rename one of them")
        zero = constant(self.names)
        self.growths = {s: Growth(coordinate(self.names, s.name)) for s in free}
        self.growths |= {s: Growth(zero) for s in (*regime._constants, *self.unknown_constants)}
        self.growths |= {s: Growth(constant(self.names, ONE)) for s in regime._bases}

    def _free_variables(self, symbols: Iterable[sp.Symbol]) -> list[sp.Symbol]:
        regime = self.regime
        fixed = self.ties.keys() | regime._constants | regime._bases
        if both := sorted(s.name for s in self.ties.keys() & (regime._constants | regime._bases)):
            raise InvalidInput(f"{both[0]} is tied and also the base or a constant of the regime")
        own = frozenset[sp.Symbol]().union(*(x.symbols for x in self.ties.values()), *(x.symbols for x, *_ in self.conditions))
        unknown = sorted(set(symbols) - own - fixed, key=str)
        if unknown and regime.others == "refuse":
            names = ", ".join(s.name for s in unknown)
            raise InvalidInput(
                f"the regime says nothing about {names}; tie it, bound it, name it in `constants`, "
                "or pass others='constant' or others='free'"
            )
        self.unknown_constants = unknown if regime.others == "constant" else []
        return sorted((own - fixed) | set(unknown if regime.others == "free" else ()), key=str)

    def _tie(self, name: Name, value: Any) -> Order:
        order = Order.of(canonical(value, self.exponents), ranges=self.ranges)
        if order.kind != "monomial":
            raise InvalidInput(f"{name} must be tied to one power product of other variables, got {value}")
        return order.at(self.values)

    def _condition(self, given: Any) -> list[tuple[Order, Affine, bool, str]]:
        raise NotImplementedError
