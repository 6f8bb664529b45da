"""A regime in coordinates: every symbol's growth as an affine form of the free exponents, and their inequalities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy as sp

from dpcheck.asymptotics.intervals import Range
from dpcheck.asymptotics.linear import (
    ONE,
    ZERO,
    Affine,
    Contradiction,
    Number,
    Row,
    constant,
    coordinate,
    number,
    separate,
)
from dpcheck.asymptotics.orders import Order, canonical, symbol
from dpcheck.errors import InvalidInput

if TYPE_CHECKING:
    from dpcheck.asymptotics.regimes import Regime

LINE = Range(-sp.oo, sp.oo, left_open=True, right_open=True)


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

    def with_logs(self, log: Number, loglog: Number) -> Growth:
        """With further log factors."""
        return Growth(self.form, self.log + log, self.loglog + loglog)

    @property
    def logs(self) -> tuple[Number, Number]:
        """The exponents of log N and log log N."""
        return self.log, self.loglog

    def __str__(self) -> str:
        parts = [] if str(self.form) == "0" else [f"N^({self.form})"]
        parts += [
            name if exponent == 1 else f"({name})^({exponent})"
            for name, exponent in (("log N", self.log), ("log log N", self.loglog))
            if exponent
        ]
        return " ".join(parts) or "1"


@dataclass(frozen=True, eq=False)
class Space:
    """Free exponents, the growth of every symbol in them, and the inequalities that they obey."""

    names: tuple[str, ...]
    growths: Mapping[sp.Symbol, Growth]
    rows: tuple[Row, ...]

    @property
    def dimension(self) -> int:
        return len(self.names)

    def reordered(self, names: tuple[str, ...]) -> Space:
        """The same space with its coordinates in another order."""
        places = [self.names.index(name) for name in names]

        def move(form: Affine) -> Affine:
            return Affine(names, tuple(form.coefficients[i] for i in places), form.constant)

        growths = {s: Growth(move(g.form), g.log, g.loglog) for s, g in self.growths.items()}
        return Space(names, growths, tuple(Row(move(r.form), r.strict, r.reason) for r in self.rows))

    def power_product(self, powers: Iterable[tuple[sp.Symbol, sp.Expr]]) -> Growth:
        """Growth of a monomial without logs."""
        total = Growth(constant(self.names))
        for s, exponent in powers:
            total = total + self.growths[s].scaled(number(exponent))
        return total


def compile_space(regime: Regime, symbols: frozenset[sp.Symbol], values: Mapping[sp.Symbol, sp.Expr]) -> Space:
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


def condition_rows(where: Iterable[Any], regime: Regime, space: Space) -> list[Row]:
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

    def row(self, space: Space, free: tuple[sp.Symbol, ...]) -> Row:
        form = _affine(self.exponents, space.names, free)
        if self.ratio.kind == "monomial":
            form = form - _growth(self.ratio.powers, space.growths, space.names, free).form
        return Row(form, self.strict, self.text)


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


def _sign_of_symbol(s: sp.Symbol, names: tuple[str, ...]) -> Row | None:
    """SymPy's own assumptions on a free exponent count: Symbol("a", positive=True) means a > 0."""
    form = coordinate(names, s.name)
    if s.is_nonnegative:
        return Row(form, bool(s.is_positive), f"{s.name} is {'positive' if s.is_positive else 'nonnegative'}")
    if s.is_nonpositive:
        return Row(
            form.scaled(-ONE), bool(s.is_negative), f"{s.name} is {'negative' if s.is_negative else 'nonpositive'}"
        )
    return None


def _check_feasible(rows: list[Row], dimension: int, values: Mapping[sp.Symbol, sp.Expr]) -> None:
    if any(not isinstance(c, type(ZERO)) for r in rows for c in (*r.form.coefficients, r.form.constant)):
        return  # a parameter is open: checked at its values
    found = separate(rows, dimension)
    if isinstance(found, Contradiction):
        reasons = [rows[i].reason for i, _ in found.multipliers if i < len(rows)]
        at = f" at {', '.join(f'{s} = {v}' for s, v in values.items())}" if values else ""
        raise InvalidInput(f"no exponents satisfy the regime{at}: {'; '.join(reasons)} cannot all hold")
