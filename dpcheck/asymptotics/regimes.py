"""Regimes: which exponents the variables may have, as powers of one of them or under inequalities."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

import sympy as sp

from dpcheck.asymptotics.intervals import DEFAULT_RANGES, Range, cells, sample
from dpcheck.asymptotics.linear import (
    ONE,
    ZERO,
    Affine,
    Contradiction,
    Inequality,
    constant,
    coordinate,
    number,
    separate,
)
from dpcheck.asymptotics.orders import Order, canonical, symbol
from dpcheck.asymptotics.spaces import Growth, Space
from dpcheck.errors import InvalidInput
from dpcheck.symbols import BY_NAME, n

LINE = Range(-sp.oo, sp.oo, left_open=True, right_open=True)
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
        ordered = sorted(symbols, key=str)
        where = [s >= 1 for s in ordered if s in SIZES] + [s <= 1 for s in ordered if s in SMALL]
        return cls(base=None, where=where, constants=[s for s in ordered if s not in SIZES | SMALL])

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
            self._spaces[key] = _compiled(self, key[0], chosen)
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
        symbols: set[sp.Symbol] = set()
        for expression in (*self.ties.values(), *self.where):
            symbols |= {symbol(s) for s in sp.sympify(expression).free_symbols}
        return frozenset(symbols & (self.ranges.keys() - self.values.keys()))

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
        symbols: set[sp.Symbol] = set()
        for value in self.ties.values():
            for node in sp.preorder_traversal(sp.sympify(value)):
                symbols |= node.exp.free_symbols if isinstance(node, sp.Pow) else set()
        return tuple(sorted((s for s in symbols if symbol(s) not in self.ranges), key=lambda s: str(s.name)))

    def __str__(self) -> str:
        base = "N" if self.base is None else str(self.base)
        parts = [f"{s} = {v}" for s, v in self.ties.items()] + [str(w) for w in self.where]
        given = [(symbol(s), self.ranges[symbol(s)]) for s in self.parameters]
        parts += [f"{s} {'=' if values.is_point else 'in'} {values}" for s, values in given]
        return f"{base} grows" + (f", {', '.join(parts)}" if parts else "")


# --- a regime in coordinates ------------------------------------------------------------------------------------------


def _compiled(regime: Regime, symbols: frozenset[sp.Symbol], values: Mapping[sp.Symbol, sp.Expr]) -> Space:
    """See `Regime.space`."""
    ranges = {**regime.ranges, **dict.fromkeys(regime.free_exponents, LINE)}
    ties = {symbol(s): _tie(s, v, regime, ranges).at(values) for s, v in regime.ties.items()}
    fixed = regime.constant_symbols | regime.base_symbols
    if both := sorted(s.name for s in ties.keys() & fixed):
        raise InvalidInput(f"{both[0]} is tied and also the base or a constant of the regime")
    conditions = [c for given in regime.where for c in _conditions(given, regime, ranges, values)]
    own = frozenset().union(*(x.symbols for x in ties.values()), *(c.ratio.symbols for c in conditions))
    strangers = _strangers(regime, symbols - own - ties.keys() - fixed)
    variables = sorted((own | (strangers if regime.others == "free" else frozenset())) - ties.keys() - fixed, key=str)
    names = (*(s.name for s in regime.free_exponents), *(s.name for s in variables))
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidInput(f"{twice[0]} is both a variable and a free exponent; rename one of them")
    growths = {s: Growth(coordinate(names, s.name)) for s in variables}
    growths |= {s: Growth(constant(names)) for s in (*regime.constant_symbols, *(strangers - set(variables)))}
    growths |= {s: Growth(constant(names, ONE)) for s in regime.base_symbols}
    _resolve(ties, growths, names, regime.free_exponents)
    rows = [row for s in regime.free_exponents if (row := _sign_of_symbol(s, names))]
    rows += [c.row(Space(names, growths, ()), regime.free_exponents) for c in conditions]
    _check_feasible(rows, len(names), values)
    return Space(names, growths, tuple(rows))


def condition_rows(where: Iterable[Any], regime: Regime, space: Space) -> list[Inequality]:
    """Further inequalities, as in `Regime.where`, in the coordinates of a space.

    Raises:
        InvalidInput: a variable that the space does not know.
    """
    ranges = {**regime.ranges, **dict.fromkeys(regime.free_exponents, LINE)}
    conditions = [c for given in where for c in _conditions(given, regime, ranges, regime.values)]
    for c in conditions:
        _strangers(regime, c.ratio.symbols - space.growths.keys())
    return [c.row(space, regime.free_exponents) for c in conditions]


def _strangers(regime: Regime, unknown: frozenset[sp.Symbol]) -> frozenset[sp.Symbol]:
    if unknown and regime.others == "refuse":
        raise InvalidInput(
            f"the regime says nothing about {', '.join(sorted(s.name for s in unknown))}; tie it, bound it, name it in "
            "`constants`, or pass others='constant' or others='free'"
        )
    return unknown


def _tie(name: object, value: Any, regime: Regime, ranges: Mapping[sp.Symbol, Range]) -> Order:
    order = Order.of(canonical(value, regime.free_exponents), ranges=ranges, keep=regime.free_exponents)
    if order.kind != "monomial":
        raise InvalidInput(f"{name} must be tied to one power product of other variables, got {value}")
    return order


@dataclass(frozen=True)
class _Condition:
    """`exponents >= 0` (an expression in the free exponents) plus the growth of `ratio`, which must not be large."""

    ratio: Order
    exponents: sp.Expr
    strict: bool
    text: str

    def row(self, space: Space, free: tuple[sp.Symbol, ...]) -> Inequality:
        form = _affine(self.exponents, space.names, free)
        if self.ratio.kind == "monomial":
            form = form - _growth(self.ratio.powers, space.growths, space.names, free).form
        return Inequality(form, self.strict, self.text)


def _conditions(
    given: Any, regime: Regime, ranges: Mapping[sp.Symbol, Range], values: Mapping[sp.Symbol, sp.Expr]
) -> list[_Condition]:
    """One given relation as rows-to-be: an equality is two, `n >= d + m` is two."""
    relation = sp.sympify(given)
    if relation == sp.true:
        return []
    if relation == sp.false:
        raise InvalidInput("one of the inequalities of the regime is false, so no exponents satisfy it")
    if isinstance(relation, sp.Eq):
        return [c for part in (sp.Ge(*relation.args, evaluate=False), sp.Le(*relation.args, evaluate=False))
                for c in _conditions(part, regime, ranges, values)]  # fmt: skip
    if not isinstance(relation, sp.Ge | sp.Gt | sp.Le | sp.Lt):
        raise InvalidInput(f"`where` takes inequalities and equalities, got {given!r}")
    strict, text = isinstance(relation, sp.Gt | sp.Lt), str(relation)
    small, large = relation.lts, relation.gts
    one = Order("monomial")
    if all(s in regime.free_exponents or symbol(s) in regime.ranges for s in relation.free_symbols):
        return [_Condition(one, canonical(large - small, regime.free_exponents).subs(values), strict, text)]
    ratio = canonical(small / large, regime.free_exponents)
    order = Order.of(ratio, ranges=ranges, keep=regime.free_exponents).at(values)
    if order.kind == "min" or any(part.kind != "monomial" for part in order.terms):
        raise InvalidInput(f"the condition {text} is not a conjunction of inequalities between monomials; split it")
    return [_Condition(part, sp.Integer(0), strict, text) for part in order.terms]


def _affine(expression: sp.Expr, names: tuple[str, ...], free: tuple[sp.Symbol, ...]) -> Affine:
    """An expression in the free exponents as a form."""
    symbols = [s for s in free if s in expression.free_symbols]
    if not symbols:
        return constant(names, number(sp.cancel(expression)))
    try:
        polynomial = sp.Poly(expression, *symbols)
    except sp.PolynomialError:
        polynomial = None
    if polynomial is None or polynomial.total_degree() > 1:
        raise InvalidInput(f"exponents must be linear in {', '.join(s.name for s in symbols)}, got {expression}")
    form = constant(names, number(polynomial.coeff_monomial(1)))
    for s in symbols:
        form = form + coordinate(names, s.name).scaled(number(polynomial.coeff_monomial(s)))
    return form


def _growth(
    powers: Iterable[tuple[sp.Symbol, sp.Expr]],
    growths: Mapping[sp.Symbol, Growth],
    names: tuple[str, ...],
    free: tuple[sp.Symbol, ...],
) -> Growth:
    """Growth of a power product whose exponents may hold free exponents; only one factor of a product may."""
    total = Growth(constant(names))
    for s, exponent in powers:
        form, growth = _affine(exponent, names, free), growths[s]
        if form.is_constant:
            total = total + growth.scaled(form.constant)
        elif growth.form.is_constant and not any(growth.logs):
            total = total + Growth(form.scaled(growth.form.constant))
        else:
            raise InvalidInput(f"{s.name} carries free exponents already and cannot be raised to {exponent}")
    return total


def _resolve(
    ties: Mapping[sp.Symbol, Order],
    growths: dict[sp.Symbol, Growth],
    names: tuple[str, ...],
    free: tuple[sp.Symbol, ...],
) -> None:
    """Fills in the growth of tied symbols, each after those that its tie needs."""
    waiting = dict(ties)
    while waiting:
        ready = [s for s, x in waiting.items() if not x.symbols & waiting.keys()]
        if not ready:
            raise InvalidInput(f"the ties of {', '.join(sorted(s.name for s in waiting))} go round in a circle")
        for s in ready:
            tie = waiting.pop(s)
            growth = _growth(tie.powers, growths, names, free)
            for argument, exponent in tie.logs:
                growth = growth + _tied_log(s, argument, growths, names, free).scaled(number(exponent))
            growths[s] = growth


def _tied_log(
    s: sp.Symbol,
    argument: Order,
    growths: Mapping[sp.Symbol, Growth],
    names: tuple[str, ...],
    free: tuple[sp.Symbol, ...],
) -> Growth:
    """Growth of a log inside a tie: log n or log log n, whose size no free exponent may change."""
    zero = constant(names)
    if argument.kind == "monomial" and not argument.logs:
        inner = _growth(argument.powers, growths, names, free)
        if inner.form.is_constant and inner.form.constant:
            return Growth(zero, ONE)
        if inner.form.is_constant and inner.log:
            return Growth(zero, ZERO, ONE)
    elif argument.kind == "monomial" and not argument.powers and len(argument.logs) == 1:
        inner = _tied_log(s, argument.logs[0][0], growths, names, free)
        if inner.log:
            return Growth(zero, ZERO, ONE)
    raise InvalidInput(
        f"the log of {argument} in the tie of {s.name} must be log or log log of a fixed power of the base"
    )


def _sign_of_symbol(s: sp.Symbol, names: tuple[str, ...]) -> Inequality | None:
    """SymPy's own assumptions on a free exponent count: Symbol("a", positive=True) means a > 0."""
    form = coordinate(names, s.name)
    if s.is_nonnegative:
        return Inequality(form, bool(s.is_positive), f"{s.name} is {'positive' if s.is_positive else 'nonnegative'}")
    if s.is_nonpositive:
        return Inequality(
            form.scaled(-ONE), bool(s.is_negative), f"{s.name} is {'negative' if s.is_negative else 'nonpositive'}"
        )
    return None


def _check_feasible(rows: list[Inequality], dimension: int, values: Mapping[sp.Symbol, sp.Expr]) -> None:
    if any(not isinstance(c, type(ZERO)) for r in rows for c in (*r.form.coefficients, r.form.constant)):
        return  # a parameter is open: checked at its values
    numbers = separate(rows, dimension)
    if isinstance(numbers, Contradiction):
        reasons = [rows[i].reason for i, _ in numbers.multipliers if i < len(rows)]
        at = f" at {', '.join(f'{s} = {v}' for s, v in values.items())}" if values else ""
        raise InvalidInput(f"no exponents satisfy the regime{at}: {'; '.join(reasons)} cannot all hold")
