"""Rates in normal form: maxima and minima of monomials with logarithmic factors, read from SymPy expressions."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import sympy as sp

from dpcheck.asymptotics.intervals import DEFAULT_RANGES, Range, constant_sign
from dpcheck.asymptotics.linear import number
from dpcheck.errors import InvalidInput
from dpcheck.symbols import BY_NAME

Ranges = Mapping[sp.Symbol, Range]
LARGEST_NORMAL_FORM = 20_000


def symbol(name: str | sp.Symbol) -> sp.Symbol:
    """The field's symbol of that name (`dpcheck.symbols`), or a new positive one: names, not assumptions, identify."""
    text = name if isinstance(name, str) else name.name
    return BY_NAME.get(text) or BY_NAME.get(text.rstrip("_")) or sp.Symbol(text, positive=True)


def canonical(expression: object, keep: Collection[sp.Symbol] = ()) -> sp.Basic:
    """A SymPy object whose symbols are the field's, by name; those in `keep` stay."""
    read = sp.sympify(expression)
    return read.xreplace({s: symbol(s) for s in read.free_symbols if s not in keep})


@dataclass(frozen=True)
class Order:
    """A rate up to constants: a monomial with logs, or the maximum or minimum of such. A sum is a maximum.

    A log factor stands for `1 + |log(argument)|`: SymPy itself rewrites log(1/delta) as -log(delta), so the sign of a
    log says nothing. Write log(1 + x) or log(Max(1, x)) for a log that is of constant order when x is small.

    Attributes:
        powers: (symbol, exponent) of a monomial, by name, exponents not zero.
        logs: (argument, exponent) of its log factors; an argument is an `Order` again.
        parts: what a maximum or minimum is taken of.
    """

    kind: Literal["monomial", "max", "min"]
    powers: tuple[tuple[sp.Symbol, sp.Expr], ...] = ()
    logs: tuple[tuple[Order, sp.Expr], ...] = ()
    parts: tuple[Order, ...] = ()

    @classmethod
    def of(
        cls,
        rate: object,
        *,
        ranges: Ranges | None = None,
        ignore_rounding: bool = False,
        keep: Collection[sp.Symbol] = (),
    ) -> Order:
        """Reads a SymPy expression; constants are dropped.

        Args:
            rate: sums, products, powers, `Max`, `Min`, `log`, `sqrt` of positive symbols; or an `Order`, left alone.
            ranges: the parameters, which may stand in exponents and are constants elsewhere, with their ranges;
                default k >= 2, theta > 1, p > 1.
            keep: symbols taken as they are; all others are known by their names alone.
            ignore_rounding: read `floor(x)` and `ceiling(x)` as x (right whenever x is at least of constant order).

        Raises:
            InvalidInput: anything else (exp, subtraction, zero, float exponents …); the message names it.

        >>> from dpcheck.symbols import d, epsilon, n
        >>> print(Order.of(3 * sp.sqrt(sp.log(d) / n) + sp.sqrt(d) / (epsilon * n)))
        Max(sqrt(d)/(epsilon*n), sqrt(log(d))/sqrt(n))
        """
        if isinstance(rate, Order):
            return rate
        try:
            expression = canonical(rate, keep)
        except (sp.SympifyError, AttributeError, TypeError) as error:
            raise InvalidInput(f"a rate is a SymPy expression, got {rate!r}") from error
        if not isinstance(expression, sp.Expr):
            raise InvalidInput(f"a rate is a SymPy expression, got {rate!r}")
        if ordered := sorted(expression.atoms(sp.exp), key=str):
            raise InvalidInput(
                f"{ordered[0]} grows faster than every power of its argument, or is of constant order; orders are made "
                "of powers and logs: compare the logarithms, or leave the factor out where its argument is bounded"
            )
        return _Reader(DEFAULT_RANGES if ranges is None else ranges, ignore_rounding).read(expression)

    @cached_property
    def symbols(self) -> frozenset[sp.Symbol]:
        """The variables: symbols that stand in bases, logs included."""
        inside = [x.symbols for x in self.parts] + [argument.symbols for argument, _ in self.logs]
        return frozenset(s for s, _ in self.powers).union(*inside)

    @cached_property
    def parameters(self) -> frozenset[sp.Symbol]:
        """Symbols that stand in exponents."""
        inside = [x.parameters for x in self.parts] + [argument.parameters for argument, _ in self.logs]
        return frozenset().union(*(e.free_symbols for _, e in (*self.powers, *self.logs)), *inside)

    @cached_property
    def log_parameters(self) -> frozenset[sp.Symbol]:
        """Parameters that stand inside a log's argument."""
        return frozenset().union(
            *(argument.parameters for argument, _ in self.logs), *(x.log_parameters for x in self.parts)
        )

    def at(self, values: Mapping[sp.Symbol, sp.Expr]) -> Order:
        """The same rate with parameters replaced, its shape unchanged."""
        if not self.parameters & values.keys():
            return self
        if self.kind != "monomial":
            return Order(self.kind, parts=tuple(x.at(values) for x in self.parts))
        return _monomial(
            ((s, e.subs(values)) for s, e in self.powers), ((x.at(values), e.subs(values)) for x, e in self.logs)
        )

    @property
    def terms(self) -> tuple[Order, ...]:
        """What the rate is the maximum of; itself when it is not a maximum."""
        return self.parts if self.kind == "max" else (self,)

    @cached_property
    def expression(self) -> sp.Expr:
        """Back to SymPy; sums come back as `Max`."""
        if self.kind != "monomial":
            return (sp.Max if self.kind == "max" else sp.Min)(*(x.expression for x in self.parts))
        factors = [s ** sp.factor(e) for s, e in self.powers]
        factors += [sp.log(x.expression) ** sp.factor(e) for x, e in self.logs]
        return sp.Mul(*factors)

    def __str__(self) -> str:
        if self.kind == "monomial":
            return str(self.expression)
        return f"{self.kind.capitalize()}({', '.join(sorted(str(x) for x in self.parts))})"


def _monomial(powers: Iterable[tuple[sp.Symbol, sp.Expr]], logs: Iterable[tuple[Order, sp.Expr]]) -> Order:
    """Adds up the exponents of equal factors and drops zeros."""
    bases: dict[sp.Symbol, sp.Expr] = {}
    for s, e in powers:
        bases[s] = bases.get(s, sp.Integer(0)) + e
    arguments: dict[Order, sp.Expr] = {}
    for x, e in logs:
        arguments[x] = arguments.get(x, sp.Integer(0)) + e
    kept = [(s, _cancelled(e)) for s, e in sorted(bases.items(), key=lambda item: item[0].name)]
    kept_logs = [(x, _cancelled(e)) for x, e in arguments.items() if x.symbols]
    kept_logs.sort(key=lambda item: str(item[0]))
    return Order("monomial", tuple((s, e) for s, e in kept if e != 0), tuple((x, e) for x, e in kept_logs if e != 0))


def _cancelled(exponent: sp.Expr) -> sp.Expr:
    return exponent if exponent.is_Rational else sp.cancel(exponent)


CONSTANT = Order("monomial")


def times(x: Order, y: Order) -> Order:
    """The product; maxima and minima of positive numbers distribute."""
    if x.kind == y.kind == "monomial":
        return _monomial((*x.powers, *y.powers), (*x.logs, *y.logs))
    if x.kind == "monomial":
        x, y = y, x
    return join(x.kind, [times(part, y) for part in x.parts])


def join(kind: Literal["monomial", "max", "min"], parts: Sequence[Order]) -> Order:
    """Maximum or minimum, flattened, without repetitions."""
    flat = dict.fromkeys(x for part in parts for x in (part.parts if part.kind == kind else (part,)))
    if len(flat) > LARGEST_NORMAL_FORM:
        raise InvalidInput(f"the rate expands into more than {LARGEST_NORMAL_FORM:,} monomials; factor it")
    return next(iter(flat)) if len(flat) == 1 else Order(kind, parts=tuple(flat))


def power(x: Order, exponent: sp.Expr, ranges: Ranges) -> Order:
    """x to a power: a negative one turns maxima into minima, so its sign must be known."""
    if x.kind == "monomial":
        return _monomial(((s, e * exponent) for s, e in x.powers), ((a, e * exponent) for a, e in x.logs))
    sign = constant_sign(exponent, ranges)
    if sign is None:
        raise InvalidInput(
            f"the sign of the exponent {exponent} of {x} changes or is unknown on the parameters' ranges; "
            "substitute a parameter or give its range in Regime(parameters=…)"
        )
    if sign == 0:
        return CONSTANT
    flipped: Literal["max", "min"] = "min" if x.kind == "max" else "max"
    return join(x.kind if sign > 0 else flipped, [power(part, exponent, ranges) for part in x.parts])


def max_of_min(x: Order) -> tuple[tuple[Order, ...], ...]:
    """The rate as a maximum of minima of monomials; its shape does not depend on the parameters' values."""
    return _normal_form(x, "max")


def min_of_max(x: Order) -> tuple[tuple[Order, ...], ...]:
    """The rate as a minimum of maxima of monomials."""
    return _normal_form(x, "min")


def _normal_form(x: Order, outer: Literal["max", "min"]) -> tuple[tuple[Order, ...], ...]:
    if x.kind == "monomial":
        return ((x,),)
    below = [_normal_form(part, outer) for part in x.parts]
    if x.kind == outer:
        return tuple(dict.fromkeys(group for groups in below for group in groups))
    size = 1
    for groups in below:
        size *= len(groups)
    if size > LARGEST_NORMAL_FORM:
        raise InvalidInput(
            f"the rate has a normal form of {size:,} groups, more than {LARGEST_NORMAL_FORM:,}; factor it"
        )
    choices = itertools.product(*below)
    return tuple(dict.fromkeys(tuple(dict.fromkeys(m for group in choice for m in group)) for choice in choices))


class _Reader:
    """Turns expressions into orders; holds the ranges of the parameters."""

    def __init__(self, ranges: Ranges, ignore_rounding: bool) -> None:
        self.ranges, self.ignore_rounding = ranges, ignore_rounding

    def read(self, x: sp.Expr) -> Order:
        if not x.free_symbols - self.ranges.keys():
            return self._constant(x)
        if isinstance(x, sp.Symbol):
            return Order("monomial", ((x, sp.Integer(1)),))
        if isinstance(x, sp.Add):
            return join("max", [self.read(term) for term in _with_logs_joined(x)])
        if isinstance(x, sp.Mul):
            return self._product(x)
        if isinstance(x, sp.Pow):
            return power(self.read(x.base), self._exponent(x), self.ranges)
        if isinstance(x, sp.log):
            return self._log(x)
        if isinstance(x, sp.Max | sp.Min):
            return join("max" if isinstance(x, sp.Max) else "min", [self.read(part) for part in x.args])
        if isinstance(x, sp.Abs) or (isinstance(x, sp.floor | sp.ceiling) and self.ignore_rounding):
            return self.read(x.args[0])  # SymPy makes |log(n)| of sqrt(log(n)**2)
        hint = (
            "; Order.of(…, ignore_rounding=True) reads it as its argument"
            if isinstance(x, sp.floor | sp.ceiling)
            else ""
        )
        raise InvalidInput(f"{x} is not a sum, product, power, log, maximum or minimum of monomials{hint}")

    def _constant(self, x: sp.Expr) -> Order:
        if x.is_number and not x.is_positive:
            raise InvalidInput(f"a rate is positive, got {x}")
        if not x.is_number and not x.is_positive and x.is_rational_function(*x.free_symbols):
            sign = constant_sign(x, self.ranges)
            if sign is not None and sign <= 0:
                raise InvalidInput(f"a rate is positive, got {x}, which is not on the parameters' ranges")
        return CONSTANT

    def _product(self, x: sp.Mul) -> Order:
        coefficient, factors = x.as_coeff_mul()
        if coefficient.is_negative and not any(_flips_sign(factor) for factor in factors):
            raise InvalidInput(
                f"the negative term {x} has no order of growth; leave out what is subtracted if it is of smaller order"
            )
        result = CONSTANT
        for factor in factors:
            result = times(result, self.read(factor))
        return result

    def _exponent(self, x: sp.Pow) -> sp.Expr:
        exponent = x.exp
        if unknown := sorted(s.name for s in exponent.free_symbols - self.ranges.keys()):
            raise InvalidInput(
                f"the exponent of {x} holds {unknown[0]}, which grows; only parameters with a range may stand there"
            )
        number(exponent)
        return sp.cancel(sp.together(exponent))

    def _log(self, x: sp.log) -> Order:
        argument = self.read(x.args[0])
        return Order("monomial", logs=((argument, sp.Integer(1)),)) if argument.symbols else CONSTANT


def _flips_sign(factor: sp.Expr) -> bool:
    """log(…) to an odd power: its own sign may undo a minus in front."""
    base, exponent = factor.as_base_exp()
    return isinstance(base, sp.log) and bool(exponent.is_odd)


def _with_logs_joined(total: sp.Add) -> list[sp.Expr]:
    """log(n) - log(delta) is log(n/delta): sums of bare logs are joined as soon as one of them is subtracted."""
    bare = [term for term in total.args if isinstance(term.as_coeff_Mul()[1], sp.log)]
    if not any(term.as_coeff_Mul()[0].is_negative for term in bare):
        return list(total.args)
    joined = sp.Mul(*(term.as_coeff_Mul()[1].args[0] ** term.as_coeff_Mul()[0] for term in bare))
    return [term for term in total.args if term not in bare] + ([] if joined.is_number else [sp.log(joined)])
