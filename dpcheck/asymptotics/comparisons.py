"""Comparing two rates in a regime, and which terms of a rate dominate where."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import sympy as sp

from dpcheck.asymptotics.decision import (
    Dominance,
    Evaluator,
    Evidence,
    ExponentSearch,
    Question,
    Ray,
    SignsAt,
    Undecided,
)
from dpcheck.asymptotics.linear import ONE, Affine, Contradiction, Inequality, number, separate
from dpcheck.asymptotics.orders import Order, max_of_min, min_of_max
from dpcheck.asymptotics.parametric import evidence
from dpcheck.asymptotics.regimes import Regime
from dpcheck.asymptotics.spaces import Space
from dpcheck.errors import InvalidInput

Relation = Literal["smaller", "same order", "larger", "incomparable", "undecided"]


@dataclass(frozen=True)
class DominantTerm:
    """One term of a rate and where it carries the rate.

    Attributes:
        term: a monomial with logs.
        everywhere: the rate is of the term's order at all exponents of the regime.
        exponents: exponents at which it is, by name; None when it nowhere is.
        where: the exponents at which it is, as polyhedra: each a tuple of forms that are >= 0 on top of the regime.
            These are closures: on their faces the logs may favour another term.
    """

    term: Order
    everywhere: bool
    exponents: Mapping[str, Fraction] | None
    where: tuple[tuple[Affine, ...], ...]

    def __str__(self) -> str:
        if self.exponents is None:
            return f"{self.term}: nowhere"
        if self.everywhere:
            return f"{self.term}: everywhere"
        return f"{self.term}: where " + ", or ".join(" and ".join(f"{f} >= 0" for f in forms) for forms in self.where)


@dataclass(frozen=True)
class ComparisonProof:
    """What shows a comparison; `dpcheck.asymptotics.verify` checks it.

    Attributes:
        at_most: is the rate O(other)? A proof, or exponents at which it is of larger order.
        at_least: is the other O(rate)?
        strictly: for "smaller" and "larger": is the smaller one of smaller order at all exponents?
    """

    at_most: Evidence
    at_least: Evidence
    strictly: Evidence | None = None

    def questions(self, comparison: Comparison) -> Iterator[tuple[Question, Evidence]]:
        """Each piece of evidence with the question that it answers."""
        rate, other, regime = comparison.rate, comparison.other, comparison.regime
        yield _question(rate, other, regime), self.at_most
        yield _question(other, rate, regime), self.at_least
        if self.strictly is not None:
            small, large = (rate, other) if comparison.relation == "smaller" else (other, rate)
            yield _question(small, large, regime, inclusive=True), self.strictly


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """How a rate relates to another in a regime.

    Attributes:
        relation: "smaller": O(other) at all exponents and of smaller order at some; "same order": both ways;
            "incomparable": of larger order at some exponents and of smaller at others; "undecided": see `reason`.
        everywhere: for "smaller" and "larger": at all exponents, not only at some; None when not asked or undecided.
        dominant, other_dominant: the terms of each rate and where they dominate; empty while a parameter is open.
    """

    rate: Order
    other: Order
    regime: Regime
    relation: Relation
    everywhere: bool | None
    certificate: ComparisonProof
    reason: str = ""
    dominant: tuple[DominantTerm, ...] = ()
    other_dominant: tuple[DominantTerm, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: the verdict, the exponents that show it, and what kind of evidence there is."""
        evidence = {"at_most": self.certificate.at_most, "at_least": self.certificate.at_least}
        if self.certificate.strictly is not None:
            evidence["strictly"] = self.certificate.strictly
        return {
            "rate": str(self.rate),
            "other": str(self.other),
            "regime": str(self.regime),
            "relation": self.relation,
            "everywhere": self.everywhere,
            "reason": self.reason,
            "evidence": {name: _plain(e) for name, e in evidence.items()},
            "dominant": [_plain_term(t) for t in self.dominant],
            "other_dominant": [_plain_term(t) for t in self.other_dominant],
        }

    def __str__(self) -> str:
        lines = [f"{self.rate}  against  {self.other}", f"  {self.regime}", f"  {self.relation}"]
        if self.everywhere is not None:
            lines[-1] += " at all exponents" if self.everywhere else ", and of the same order at some exponents"
        rays = [e for e in (self.certificate.at_most, self.certificate.at_least) if isinstance(e, Ray)]
        lines += [f"  {'larger' if e is self.certificate.at_most else 'smaller'} {_shown(e, self)}" for e in rays]
        lines += [f"  {self.reason}"] if self.reason else []
        return "\n".join(lines)


def _plain(e: Evidence) -> dict[str, Any]:
    if isinstance(e, Ray):
        exponents, parameters = ({name: str(v) for name, v in d.items()} for d in (e.exponents, e.parameters))
        growths = {"rate": str(e.rate), "other": str(e.other)}
        return {"kind": "ray", "exponents": exponents, "parameters": parameters, **growths}
    if isinstance(e, Undecided):
        return {"kind": "undecided", "reason": e.reason}
    return {"kind": "proof"}


def _plain_term(t: DominantTerm) -> dict[str, Any]:
    return {
        "term": str(t.term),
        "everywhere": t.everywhere,
        "exponents": None if t.exponents is None else {name: str(v) for name, v in t.exponents.items()},
        "where": [[f"{form} >= 0" for form in forms] for forms in t.where],
    }


def _shown(ray: Ray, comparison: Comparison) -> str:
    if ray is comparison.certificate.at_most:
        return str(ray)
    return str(Ray(ray.exponents, ray.parameters, ray.other, ray.rate))


def compare(rate: Any, other: Any, regime: Regime) -> Comparison:
    """Decides exactly whether one rate is of the order of another in a regime.

    Args:
        rate, other: SymPy expressions or `Order`s.

    Raises:
        InvalidInput: a rate that is not of the form, or that holds a variable the regime does not know.

    >>> from dpcheck.symbols import D, G_2, G_k, d, epsilon, k, n
    >>> private, statistical = G_k * D * (d / (n * epsilon)) ** (1 - 1 / k), G_2 * D / sp.sqrt(n)
    >>> regime = Regime(ties={d: 1, epsilon: 1}, constants="D G_2 G_k")
    >>> compare(private, statistical, regime).relation
    'smaller'
    """
    first, second = (read(x, regime) for x in (rate, other))
    at_most = evidence(_question(first, second, regime))
    at_least = evidence(_question(second, first, regime))
    relation, reason = _relation(at_most, at_least)
    strictly = None
    if relation in ("smaller", "larger"):
        small, large = (first, second) if relation == "smaller" else (second, first)
        strictly = evidence(_question(small, large, regime, inclusive=True))
    everywhere = None if strictly is None or isinstance(strictly, Undecided) else not isinstance(strictly, Ray)
    opened = first.parameters | second.parameters | regime.open_parameters
    shared = first.symbols | second.symbols
    return Comparison(
        rate=first,
        other=second,
        regime=regime,
        relation=relation,
        everywhere=everywhere,
        certificate=ComparisonProof(at_most, at_least, strictly),
        reason=reason,
        dominant=() if opened else _terms(first, regime, shared),
        other_dominant=() if opened else _terms(second, regime, shared),
    )


def at_most(rate: Any, other: Any, regime: Regime) -> Evidence:
    """Whether a rate is O(other): a proof, exponents at which it is of larger order (`Ray`), or why neither.

    One of the questions of `compare`, for those who ask no more. Raises as `compare` does.
    """
    return evidence(_question(read(rate, regime), read(other, regime), regime))


def read(rate: Any, regime: Regime) -> Order:
    """A rate with the regime's parameters: those with a value are substituted."""
    return Order.of(rate, ranges=regime.ranges).at(regime.values)


def _relation(at_most: Evidence, at_least: Evidence) -> tuple[Relation, str]:
    undecided = [e.reason for e in (at_most, at_least) if isinstance(e, Undecided)]
    if undecided:
        return "undecided", undecided[0]
    names: dict[tuple[bool, bool], Relation] = {
        (True, True): "same order",
        (True, False): "smaller",
        (False, True): "larger",
        (False, False): "incomparable",
    }
    return names[not isinstance(at_most, Ray), not isinstance(at_least, Ray)], ""


def _question(rate: Order, other: Order, regime: Regime, *, inclusive: bool = False) -> Question:
    return Question(
        rate=rate,
        other=other,
        upper=max_of_min(rate),
        lower=min_of_max(other),
        regime=regime,
        inclusive=inclusive,
    )


def dominant_terms(rate: Any, regime: Regime) -> tuple[DominantTerm, ...]:
    """The terms of a rate, and where each has the order of the whole; those that nowhere have come last.

    Raises:
        InvalidInput: as `compare`; also a parameter without a value.

    >>> from dpcheck.symbols import d, epsilon, n
    >>> a = sp.Symbol("a", nonnegative=True)
    >>> for t in dominant_terms(1 / sp.sqrt(n) + sp.sqrt(d) / n, Regime(ties={d: n**a})): print(t)
    1/sqrt(n): where -a + 1 >= 0
    sqrt(d)/n: where a - 1 >= 0
    """
    order = read(rate, regime)
    if opened := order.parameters | regime.open_parameters:
        names = ", ".join(sorted(s.name for s in opened))
        raise InvalidInput(f"where terms dominate depends on {names}; give a value by regime.with_parameters(…)")
    return _terms(order, regime, order.symbols)


def _terms(order: Order, regime: Regime, symbols: frozenset[sp.Symbol]) -> tuple[DominantTerm, ...]:
    monomials = dict.fromkeys(m for group in max_of_min(order) for m in group)
    terms = [_term(m, order, regime, symbols) for m in monomials]
    return tuple(sorted(terms, key=lambda t: (t.exponents is None, not t.everywhere, str(t.term))))


def _term(monomial: Order, order: Order, regime: Regime, symbols: frozenset[sp.Symbol]) -> DominantTerm:
    space = regime.space(symbols)
    evaluator, exponents, polyhedra = Evaluator(space), None, dict[tuple[Affine, ...], None]()
    for pairs in _ways_to_dominate(monomial, max_of_min(order)):
        conclusion = ExponentSearch(evaluator, pairs, inclusive=True).run()
        if isinstance(conclusion, tuple):
            exponents = exponents or dict(zip(space.names, conclusion, strict=True))
            forms = [evaluator.powers(x).form - evaluator.powers(y).form for x, y in pairs]
            polyhedra[_irredundant(forms, space)] = None
    both = (_question(order, monomial, regime).at({}), _question(monomial, order, regime).at({}))
    everywhere = all(isinstance(answer, Dominance) for answer in both)
    return DominantTerm(monomial, everywhere, exponents, () if everywhere else tuple(polyhedra))


def _ways_to_dominate(monomial: Order, groups: tuple[tuple[Order, ...], ...]) -> Iterator[list[tuple[Order, Order]]]:
    """Pairs (x, y) with x >= y to hold: the monomial is least in a group of its own and tops a member of each other."""
    for own in groups:
        if monomial in own:
            least = [(x, monomial) for x in own if x != monomial]
            for choice in itertools.product(*(group for group in groups if group != own)):
                yield [*least, *((monomial, y) for y in dict.fromkeys(choice) if y != monomial)]


def _irredundant(forms: Iterable[Affine], space: Space) -> tuple[Affine, ...]:
    """The forms without those whose being >= 0 follows from the rest and the regime."""
    kept = list(dict.fromkeys(form.primitive() for form in forms))
    for form in list(kept):
        rest = [Inequality(f) for f in kept if f != form]
        opposite = Inequality(form.scaled(-ONE), strict=True)
        if isinstance(separate([*space.rows, *rest, opposite], space.dimension), Contradiction):
            kept.remove(form)
    return tuple(kept)


def local_exponents(
    rate: Any, regime: Regime, at: Mapping[str | sp.Symbol, Any] | None = None
) -> dict[str, tuple[Fraction, Fraction]]:
    """The exponent of each variable in the terms that carry a rate at given exponents of the regime.

    This is d log(rate) / d log(variable), logs left out: the slope to expect in an experiment. Where several terms tie
    it is the interval between their exponents, else both ends are equal.

    Args:
        at: a value for each free exponent (or free variable) of the regime; may be left out when there is none.

    Raises:
        InvalidInput: as `dominant_terms`; a missing exponent, or exponents outside the regime.

    >>> from dpcheck.symbols import d, epsilon, n
    >>> a = sp.Symbol("a", nonnegative=True)
    >>> low, high = local_exponents(1 / sp.sqrt(n) + sp.sqrt(d) / n, Regime(ties={d: n**a}), at={a: 2})["n"]
    >>> str(low), str(high)
    ('-1', '-1')
    """
    order = read(rate, regime)
    if opened := order.parameters | regime.open_parameters:
        raise InvalidInput(f"local exponents depend on {', '.join(sorted(s.name for s in opened))}; give a value")
    space = regime.space(order.symbols)
    given = {str(name): number(value) for name, value in (at or {}).items()}
    if set(given) != set(space.names):
        raise InvalidInput(f"`at` must give {', '.join(space.names) or 'nothing'}, got {', '.join(given) or 'nothing'}")
    point = tuple(given[name] for name in space.names)
    if broken := [row.reason for row in space.rows if not row.holds(point)]:
        raise InvalidInput(f"these exponents lie outside the regime: {broken[0]} fails")
    evaluator, signs = Evaluator(space), SignsAt(point)

    def size(x: Order) -> tuple[Any, ...]:
        growth = evaluator.growth(x, signs)
        return (growth.form(point), *growth.logs)

    carrying = [m for group in max_of_min(order) for m in group if size(m) == size(order) == min(map(size, group))]
    answer = {}
    for s in sorted(order.symbols, key=str):
        exponents = [number(dict(m.powers).get(s, 0)) for m in carrying]
        answer[s.name] = (min(exponents), max(exponents))
    return answer
