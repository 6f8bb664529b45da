"""Does a rate exceed another somewhere in a regime? Exact, with multipliers or a point to show for it.

A rate is max_i min_j of monomials and the other is min_k max_l of monomials. The first exceeds the second at a vector
of exponents iff for some (i, k) every M_ij exceeds every N_kl there: first by the exponent of N, then by the logs. For
each (i, k) that is a system of linear inequalities, strict exactly where the logs do not favour M. Which logs are of
constant order may depend on the exponents; then, and only then, a branch is split by the sign of a log's argument.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import sympy as sp

from dpcheck.asymptotics.intervals import ParameterCell
from dpcheck.asymptotics.linear import ONE, Affine, Contradiction, Inequality, Number, constant, number, separate
from dpcheck.asymptotics.orders import Order
from dpcheck.asymptotics.regimes import Regime
from dpcheck.asymptotics.spaces import Growth, Space
from dpcheck.errors import InvalidInput

Point = tuple[Fraction, ...]
Pairs = Sequence[tuple[Order, Order]]


@dataclass(frozen=True)
class Leaf:
    """A branch that no exponents satisfy.

    Attributes:
        multipliers: (row, y): rows are those of the regime, then of the splits on the way here (two for a zero), then
            one for each pair of monomials, then `1 > 0`.
    """

    multipliers: tuple[tuple[int, Number], ...]


@dataclass(frozen=True)
class Split:
    """A branch cut by the sign of a form."""

    form: Affine
    negative: Tree
    zero: Tree
    positive: Tree


Tree: TypeAlias = "Leaf | Split"
Path = tuple[tuple[Affine, int], ...]


class Unresolved(Exception):
    """The sign of a form is needed and not known on this branch."""

    def __init__(self, form: Affine) -> None:
        super().__init__(str(form))
        self.form = form


class Signs:
    """What is known of the signs of forms: constants, and those that the path has fixed (up to positive factors)."""

    def __init__(self, path: Path) -> None:
        self._known = {key: sign * turn for form, sign in path for key, turn in [_direction(form)]}

    def of(self, form: Affine) -> int:
        """The sign of a form. Raises `Unresolved`."""
        if form.is_constant:
            return _sign(form.constant)
        key, turn = _direction(form)
        if key not in self._known:
            raise Unresolved(form)
        return self._known[key] * turn


class SignsAt:
    """The signs of all forms at one point."""

    def __init__(self, point: Point) -> None:
        self.point = point

    def of(self, form: Affine) -> int:
        """The sign of a form at the point."""
        return _sign(form(self.point))


def _direction(form: Affine) -> tuple[tuple[Number, ...], int]:
    first = next(c for c in form.coefficients if c)
    scale = abs(first)
    return (
        tuple(c / (first if first > 0 else -scale) for c in (*form.coefficients, form.constant)),
        1 if first > 0 else -1,
    )


def _sign(value: Number) -> int:
    return (value > 0) - (value < 0)


def lexicographic(first: tuple[Number, ...], second: tuple[Number, ...]) -> int:
    """1, 0 or -1: which tuple is larger at the first difference."""
    return next((_sign(x - y) for x, y in zip(first, second, strict=True) if x != y), 0)


class Evaluator:
    """Growth of orders in a space, given the signs of forms."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._forms: dict[Order, Growth] = {}

    def powers(self, monomial: Order) -> Growth:
        """Growth of a monomial, its log factors left out."""
        if monomial not in self._forms:
            self._forms[monomial] = self.space.power_product(monomial.powers)
        return self._forms[monomial]

    def growth(self, order: Order, signs: Signs | SignsAt) -> Growth:
        """Growth of any order. Raises `Unresolved`."""
        if order.kind == "monomial":
            log, loglog = self.logs(order, signs)
            return Growth(self.powers(order).form, log, loglog)
        wanted = 1 if order.kind == "max" else -1
        best = self.growth(order.parts[0], signs)
        for part in order.parts[1:]:
            growth = self.growth(part, signs)
            sign = signs.of(growth.form - best.form) or lexicographic(growth.logs, best.logs)
            best = growth if sign == wanted else best
        return best

    def logs(self, monomial: Order, signs: Signs | SignsAt) -> tuple[Number, Number]:
        """Exponents of log N and log log N of a monomial. Raises `Unresolved`."""
        log, loglog = self.powers(monomial).logs
        for argument, exponent in monomial.logs:
            level = self._level(argument, signs)
            power = number(exponent)
            log, loglog = (
                (log + power, loglog) if level == 1 else (log, loglog + power) if level == 2 else (log, loglog)
            )
        return log, loglog

    def _level(self, argument: Order, signs: Signs | SignsAt) -> int:
        """1 + |log(argument)| is of order log N (1), log log N (2) or constant (0)."""
        growth = self.growth(argument, signs)
        if signs.of(growth.form):
            return 1
        if growth.log:
            return 2
        if growth.loglog:
            raise InvalidInput(f"log({argument}) is a triple logarithm in this regime, which is not compared")
        return 0


def path_rows(path: Path) -> list[Inequality]:
    """What the splits on the way to a branch say."""
    rows = []
    for form, sign in path:
        if sign:
            rows.append(Inequality(form.scaled(sign * ONE), strict=True, reason="split"))
        else:
            rows += [Inequality(form, reason="split"), Inequality(form.scaled(-ONE), reason="split")]
    return rows


class ExponentSearch:
    """Looks for exponents at which every first monomial of the pairs exceeds the second.

    Args:
        inclusive: "is at least of the order of" instead of "is of larger order than".
    """

    def __init__(self, evaluator: Evaluator, pairs: Pairs, *, inclusive: bool) -> None:
        self.evaluator, self.pairs, self.inclusive = evaluator, pairs, inclusive

    def run(self, path: Path = ()) -> Tree | Point:
        """A tree of contradictions that covers the regime, or a point."""
        space = self.evaluator.space
        pair_rows, unknown = self._pair_rows(Signs(path))
        values = separate([*space.rows, *path_rows(path), *pair_rows], space.dimension)
        if isinstance(values, Contradiction):
            return Leaf(values.multipliers)
        if unknown is None or self._holds(values):
            return values
        branches: list[Tree] = []
        for sign in (-1, 0, 1):
            branch = self.run((*path, (unknown, sign)))
            if isinstance(branch, tuple):
                return branch
            branches.append(branch)
        return Split(unknown, *branches)

    def _pair_rows(self, signs: Signs) -> tuple[list[Inequality], Affine | None]:
        """One row a pair; weak while the logs are unknown, and then the form that would tell."""
        rows, unknown = [], None
        for first, second in self.pairs:
            strict = False
            try:
                strict = self._must_exceed(first, second, signs)
            except Unresolved as question:
                unknown = unknown or question.form
            form = self.evaluator.powers(first).form - self.evaluator.powers(second).form
            rows.append(Inequality(form, strict, "pair"))
        return rows, unknown

    def _must_exceed(self, first: Order, second: Order, signs: Signs | SignsAt) -> bool:
        """Whether only a larger exponent of N will do, because the logs do not favour the first monomial."""
        logs = lexicographic(self.evaluator.logs(first, signs), self.evaluator.logs(second, signs))
        return logs < 0 or (logs == 0 and not self.inclusive)

    def _holds(self, point: Point) -> bool:
        signs = SignsAt(point)
        for first, second in self.pairs:
            form = self.evaluator.powers(first).form - self.evaluator.powers(second).form
            if not Inequality(form, self._must_exceed(first, second, signs)).holds(point):
                return False
        return True


@dataclass(frozen=True)
class Dominance:
    """Proof of an order of growth for one value of the parameters: a tree for each pair (i, k) of groups.

    Attributes:
        cases: in the order of `itertools.product(max_of_min(rate), min_of_max(other))`.
        inclusive: False: nowhere is the rate of larger order; True: everywhere it is of smaller order.
    """

    cases: tuple[Tree, ...]
    inclusive: bool


@dataclass(frozen=True)
class ParametricDominance:
    """A proof for all values of parameters, with multipliers that are functions of them.

    Attributes:
        pieces: for each cell of the only parameter's range a proof; with several parameters one proof and no cell.
    """

    parameters: tuple[sp.Symbol, ...]
    pieces: tuple[tuple[ParameterCell | None, Dominance], ...]
    inclusive: bool


@dataclass(frozen=True)
class Ray:
    """Exponents that the regime permits and at which the proof's statement is false.

    Attributes:
        exponents: of the free exponents and free variables, by name.
        parameters: values of the parameters, by name.
        rate, other: growth of both rates there.
    """

    exponents: Mapping[str, Fraction]
    parameters: Mapping[str, Fraction]
    rate: Growth
    other: Growth

    def place(self, symbols: set[str]) -> str:
        """Where it lies, in words. `symbols` are those that grow; other names of exponents are those of a regime."""
        grow = (f"{name} = N^({v})" if name in symbols else f"{name} = {v}" for name, v in self.exponents.items() if v)
        return ", ".join((*grow, *(f"{name} = {v}" for name, v in self.parameters.items())))

    def __str__(self) -> str:
        given = [f"{name} = {value}" for name, value in (*self.exponents.items(), *self.parameters.items())]
        return f"at {', '.join(given) or 'the only exponents'}: {self.rate} against {self.other}"


@dataclass(frozen=True)
class Undecided:
    """Nobody can tell, and why."""

    reason: str


Evidence = Dominance | ParametricDominance | Ray | Undecided


@dataclass(frozen=True, kw_only=True, eq=False)
class Question:
    """Is `rate` O(other) in the regime (`inclusive`: o(other) at each of its exponents)?

    Attributes:
        upper: the rate as a maximum of minima of monomials; fixed parameters are substituted.
        lower: the other rate as a minimum of maxima.
    """

    rate: Order
    other: Order
    upper: tuple[tuple[Order, ...], ...]
    lower: tuple[tuple[Order, ...], ...]
    regime: Regime
    inclusive: bool

    @property
    def parameters(self) -> tuple[sp.Symbol, ...]:
        """Those without a value."""
        free = self.rate.parameters | self.other.parameters | self.regime.open_parameters
        return tuple(sorted(free, key=str))

    def space(self, values: Mapping[sp.Symbol, sp.Expr]) -> Space:
        """The space of exponents at values of the parameters."""
        return self.regime.space(self.rate.symbols | self.other.symbols, values)

    def pairs(self, values: Mapping[sp.Symbol, sp.Expr]) -> Iterator[list[tuple[Order, Order]]]:
        """The monomials to compare, a list for each (i, k)."""
        for above, below in itertools.product(self.upper, self.lower):
            yield [(m.at(values), o.at(values)) for m in above for o in below]

    def at(self, values: Mapping[sp.Symbol, sp.Expr]) -> Dominance | Ray:
        """The answer for given values of the parameters."""
        space, trees = self.space(values), []
        evaluator = Evaluator(space)
        for pairs in self.pairs(values):
            conclusion = ExponentSearch(evaluator, pairs, inclusive=self.inclusive).run()
            if isinstance(conclusion, tuple):
                return self._ray(evaluator, conclusion, values)
            trees.append(conclusion)
        return Dominance(tuple(trees), self.inclusive)

    def _ray(self, evaluator: Evaluator, point: Point, values: Mapping[sp.Symbol, sp.Expr]) -> Ray:
        signs = SignsAt(point)
        growths = []
        for order in (self.rate, self.other):
            growth = evaluator.growth(order.at(values), signs)
            growths.append(Growth(constant((), growth.form(point)), *growth.logs))
        parameters = {s.name: Fraction(int(v.p), int(v.q)) for s, v in values.items()}
        return Ray(dict(zip(evaluator.space.names, point, strict=True)), parameters, *growths)
