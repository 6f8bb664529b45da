"""Checks certificates of comparisons, without the search that found them.

Nothing here calls the linear programming, the decision or the lifting code: a contradiction is added up, a ray is put
into both rates, growth is evaluated anew. What is trusted is the reading of rates and regimes into exponents.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import sympy as sp

from dpcheck.asymptotics.decision import (
    Dominance,
    Evidence,
    Leaf,
    ParametricDominance,
    Question,
    Ray,
    Split,
    Tree,
    Undecided,
)
from dpcheck.asymptotics.intervals import ParameterCell, Range, constant_sign, roots, sample, sign_at
from dpcheck.asymptotics.linear import Affine, Number, number
from dpcheck.asymptotics.orders import Order
from dpcheck.asymptotics.spaces import Space
from dpcheck.errors import WitnessRejected

if TYPE_CHECKING:
    from dpcheck.asymptotics.comparisons import Comparison

Vector = tuple[Number, ...]
"""A form: its coefficients, then its constant."""
Known = tuple[tuple[Vector, int], ...]


def verify(comparison: Comparison) -> None:
    """Checks every piece of evidence of a comparison, and that the relation follows from it.

    Raises:
        WitnessRejected: with what does not hold.
    """
    certificate = comparison.certificate
    for question, evidence in certificate.questions(comparison):
        check(question, evidence)
    upper, lower = (_verdict(e) for e in (certificate.at_most, certificate.at_least))
    expected = {
        (True, True): "same order",
        (True, False): "smaller",
        (False, True): "larger",
        (False, False): "incomparable",
    }.get((upper, lower), "undecided")  # type: ignore[arg-type]
    if comparison.relation != expected:
        raise WitnessRejected(f"the evidence shows {expected!r}, the comparison says {comparison.relation!r}")
    strict = _verdict(certificate.strictly) if certificate.strictly is not None else None
    if comparison.everywhere and strict is not True:
        raise WitnessRejected("the comparison says 'everywhere' and has no proof of it")


def _verdict(evidence: Evidence) -> bool | None:
    return None if isinstance(evidence, Undecided) else not isinstance(evidence, Ray)


def check(question: Question, evidence: Evidence) -> None:
    """Checks one answer to one question. Raises `WitnessRejected`."""
    if isinstance(evidence, Ray):
        _check_ray(question, evidence)
    elif isinstance(evidence, Dominance):
        _check_dominance(question, evidence, {}, _settle_number)
    elif isinstance(evidence, ParametricDominance):
        _check_parametric(question, evidence)


# --- rays -----------------------------------------------------------------------------------------------------------


def _check_ray(question: Question, ray: Ray) -> None:
    values = {s: sp.Rational(*ray.parameters[s.name].as_integer_ratio()) for s in question.parameters}
    for s, value in values.items():
        if not _inside(value, question.regime.ranges[s]):
            raise WitnessRejected(f"{s} = {value} lies outside {question.regime.ranges[s]}")
    space = question.space(values)
    point = tuple(ray.exponents[name] for name in space.names)
    for row in space.rows:
        if not row.holds(point):
            raise WitnessRejected(f"the exponents {dict(ray.exponents)} break {row.reason}")
    rate, other = (_levels(order.at(values), space, point) for order in (question.rate, question.other))
    if not (rate >= other if question.inclusive else rate > other):
        raise WitnessRejected(
            f"at {dict(ray.exponents)} the rate has growth {rate}, the other {other}: not of larger order"
        )


def _inside(value: sp.Expr, values: Range) -> bool:
    above = value > values.low or (value == values.low and not values.left_open)
    below = value < values.high or (value == values.high and not values.right_open)
    return bool(above and below)


def _levels(order: Order, space: Space, point: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Exponents of N, log N and log log N at a point; tuples compare as growth does."""
    if order.kind != "monomial":
        return (max if order.kind == "max" else min)(_levels(part, space, point) for part in order.parts)
    total = [Fraction(0)] * 3
    for s, exponent in order.powers:
        growth = space.growths[s]
        for i, x in enumerate((growth.form(point), growth.log, growth.loglog)):
            total[i] += _fraction(exponent) * x
    for argument, exponent in order.logs:
        inner = _levels(argument, space, point)
        level = next((i + 1 for i, x in enumerate(inner) if x), 0)
        if level == 3:
            raise WitnessRejected(f"log({argument}) is a triple logarithm")
        if level:
            total[level] += _fraction(exponent)
    return tuple(total)


def _fraction(value: sp.Expr) -> Fraction:
    if not value.is_Rational:
        raise WitnessRejected(f"the exponent {value} is not a number")
    return Fraction(int(value.p), int(value.q))


# --- proofs ---------------------------------------------------------------------------------------------------------

Settle = Callable[[Number], int | None]
"""The sign of a number or function where the proof is used; None when it changes there or cannot be told."""


def _settle_number(value: Number) -> int | None:
    return (value > 0) - (value < 0)


def _settle_in(cell: ParameterCell, parameter: sp.Symbol) -> Settle:
    """Signs in a cell of a parameter: nothing changes sign without a real root or pole."""

    def settle(value: Number) -> int | None:
        expression = sp.sympify(value)
        if cell.is_point:
            return sign_at(expression, parameter, cell.low)
        if any(cell.low < root and root < cell.high for root in roots([expression], parameter)):
            return None
        return sign_at(expression, parameter, sample(cell))

    return settle


def _check_parametric(question: Question, proof: ParametricDominance) -> None:
    ranges = question.regime.ranges
    if set(proof.parameters) != set(question.parameters) or proof.inclusive != question.inclusive:
        raise WitnessRejected("the proof answers another question")
    if len(proof.parameters) > 1:
        if [cell for cell, _ in proof.pieces] != [None]:
            raise WitnessRejected("a proof for several parameters is one piece")
        _check_dominance(question, proof.pieces[0][1], {}, lambda x: constant_sign(sp.sympify(x), ranges))
        return
    (parameter,) = proof.parameters
    _check_cover([cell for cell, _ in proof.pieces if cell is not None], ranges[parameter])
    for cell, dominance in proof.pieces:
        if cell is None:
            raise WitnessRejected("a piece of the proof does not say for which values it is")
        if cell.is_point and cell.low.is_Rational:
            at_point = {parameter: cell.low}
            _check_dominance(question, _at(dominance, at_point), at_point, _settle_number)
        else:
            _check_dominance(question, dominance, {}, _settle_in(cell, parameter))


def _at(proof: Dominance, values: Mapping[sp.Symbol, sp.Expr]) -> Dominance:
    """The proof with the parameter's value put into its multipliers."""

    def tree_at(tree: Tree) -> Tree:
        if isinstance(tree, Leaf):
            return Leaf(tuple((i, number(sp.sympify(y).subs(values))) for i, y in tree.multipliers))
        return Split(tree.form, tree_at(tree.negative), tree_at(tree.zero), tree_at(tree.positive))

    return Dominance(tuple(tree_at(tree) for tree in proof.cases), proof.inclusive)


def _check_cover(pieces: Sequence[ParameterCell], values: Range) -> None:
    """The cells fill the range: its closed ends, and open intervals whose common ends are there as points."""
    points = {c.low for c in pieces if c.is_point}
    intervals = {c.low: c.high for c in pieces if not c.is_point}
    at = values.low
    if not values.left_open and at not in points:
        raise WitnessRejected(f"no proof for the value {at}")
    while at != values.high:
        if at not in intervals:
            raise WitnessRejected(f"no proof for values just above {at}")
        at = intervals[at]
        closed_here = at != values.high or not values.right_open
        if closed_here and at not in points:
            raise WitnessRejected(f"no proof for the value {at}")


def _check_dominance(question: Question, proof: Dominance, values: Mapping[sp.Symbol, sp.Expr], settle: Settle) -> None:
    """Rebuilds the rows of every leaf from the question and adds them up."""
    if proof.inclusive != question.inclusive:
        raise WitnessRejected("the proof answers another question")
    space = question.space(values)
    cases = set(itertools.product(_groups(question.rate, "max"), _groups(question.other, "min")))
    given = list(itertools.product(question.upper, question.lower))
    if cases != {(frozenset(above), frozenset(below)) for above, below in given}:
        raise WitnessRejected("the normal forms do not belong to the rates")
    if len(proof.cases) != len(given):
        raise WitnessRejected(f"{len(given)} cases need a proof, {len(proof.cases)} have one")
    for (above, below), tree in zip(given, proof.cases, strict=True):
        pairs = [(m.at(values), o.at(values)) for m in above for o in below]
        _walk(_Case(space, pairs, question.inclusive, settle), tree, ())


def _groups(order: Order, outer: str) -> list[frozenset[Order]]:
    if order.kind == "monomial":
        return [frozenset([order])]
    inner = [_groups(part, outer) for part in order.parts]
    if order.kind == outer:
        return list(dict.fromkeys(group for groups in inner for group in groups))
    return list(dict.fromkeys(frozenset().union(*choice) for choice in itertools.product(*inner)))


@dataclass(frozen=True)
class _Case:
    space: Space
    pairs: Sequence[tuple[Order, Order]]
    inclusive: bool
    settle: Settle

    def excluded(self, first: Order, second: Order, known: Known) -> bool:
        """Whether the first exceeds the second only by a larger exponent of N: its logs are no help."""
        gap = _log_difference(self.space, first, second, known)
        if gap is None:
            return False
        sign = next((s for s in map(self.settle, gap) if s != 0), 0)
        return sign is not None and (sign < 0 or (sign == 0 and not self.inclusive))


def _walk(case: _Case, tree: Tree, known: Known) -> None:
    if isinstance(tree, Leaf):
        _check_leaf(case, tree, known)
        return
    if tree.form.is_constant or _symbolic((*tree.form.coefficients, tree.form.constant)):
        raise WitnessRejected(f"a branch is split by {tree.form}, which is no form in the exponents alone")
    vector = _vector(tree.form)
    for sign, branch in ((-1, tree.negative), (0, tree.zero), (1, tree.positive)):
        _walk(case, branch, (*known, (vector, sign)))


def _check_leaf(case: _Case, leaf: Leaf, known: Known) -> None:
    rows = [(_vector(row.form), row.strict) for row in case.space.rows]
    for vector, sign in known:
        minus = tuple(-x for x in vector)
        rows += [(vector, False), (minus, False)] if sign == 0 else [(vector if sign > 0 else minus, True)]
    rows += [(_difference(case.space, *pair), case.excluded(*pair, known)) for pair in case.pairs]
    rows.append(((*[Fraction(0)] * case.space.dimension, Fraction(1)), True))
    total: list[Number] = [Fraction(0)] * (case.space.dimension + 1)
    weight: Number = Fraction(0)
    for index, y in leaf.multipliers:
        if not 0 <= index < len(rows):
            raise WitnessRejected(f"there is no row {index}")
        if case.settle(y) not in (0, 1):
            raise WitnessRejected(f"the multiplier {y} is negative, or its sign is not clear")
        vector, strict = rows[index]
        total = [t + y * x for t, x in zip(total, vector, strict=True)]
        weight += y if strict else 0
    if any(sp.cancel(sp.together(sp.sympify(x))) != 0 for x in total):
        raise WitnessRejected(f"the multipliers leave {total} instead of nothing")
    if case.settle(weight) != 1:
        raise WitnessRejected("a contradiction uses no strict inequality")


def _vector(form: Affine) -> Vector:
    return (*form.coefficients, form.constant)


def _difference(space: Space, first: Order, second: Order) -> Vector:
    return _vector(space.power_product(first.powers).form - space.power_product(second.powers).form)


def _symbolic(gap: Sequence[Number]) -> bool:
    return any(isinstance(x, sp.Expr) for x in gap)


def _log_difference(space: Space, first: Order, second: Order, known: Known) -> tuple[Number, Number] | None:
    sides = []
    for monomial in (first, second):
        growth = space.power_product(monomial.powers)
        totals = [growth.log, growth.loglog]
        for argument, exponent in monomial.logs:
            level = _log_level(space, argument, known)
            if level is None:
                return None
            if level:
                totals[level - 1] = totals[level - 1] + number(exponent)
        sides.append(totals)
    return sides[0][0] - sides[1][0], sides[0][1] - sides[1][1]


def _log_level(space: Space, argument: Order, known: Known) -> int | None:
    """0, 1, 2: constant, log N, log log N; None when the branch does not settle it."""
    growth = _branch_growth(space, argument, known)
    if growth is None:
        return None
    vector, log, _ = growth
    sign = _known_sign(vector, known)
    return None if sign is None else 1 if sign else 2 if log else 0


def _branch_growth(space: Space, order: Order, known: Known) -> tuple[Vector, Number, Number] | None:
    if order.kind == "monomial":
        logs = _log_difference(space, order, Order("monomial"), known)
        return None if logs is None else (_vector(space.power_product(order.powers).form), *logs)
    grown = [_branch_growth(space, part, known) for part in order.parts]
    for candidate in grown:
        if candidate is not None and all(
            other is not None and _at_least(candidate, other, known, order.kind == "max") for other in grown
        ):
            return candidate
    return None


def _at_least(x: tuple[Vector, Number, Number], y: tuple[Vector, Number, Number], known: Known, largest: bool) -> bool:
    difference = tuple(p - q if largest else q - p for p, q in zip(x[0], y[0], strict=True))
    sign = _known_sign(difference, known)
    if sign:
        return sign > 0
    logs = (x[1:] >= y[1:]) if largest else (x[1:] <= y[1:])
    return sign == 0 and bool(logs)


def _known_sign(vector: Vector, known: Known) -> int | None:
    """The sign of a form that is constant or a multiple of one whose sign the branch fixes."""
    if not any(vector[:-1]):
        return (vector[-1] > 0) - (vector[-1] < 0)
    for other, sign in known:
        lead = next(i for i, x in enumerate(other) if x)
        ratio = vector[lead] / other[lead]
        if ratio and all(x == ratio * y for x, y in zip(vector, other, strict=True)):
            return sign if ratio > 0 else -sign
    return None
