"""The runs of statements, at numbers, and the claim's own bound there.

A claim's bound is evaluated, never typed. What a statement says beside its formula is a `display`, with the formula
that stands in its text or proof; where neither prints one, the words of the certificate say whose it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

import sympy as sp

from dpcheck.claims import Claim
from dpcheck.errors import InvalidInput

Numbers = Mapping[str, Any]
"""Integers, and rationals as text."""
Outcome = Literal["certified", "refuted"]


@dataclass(frozen=True)
class StatementRun:
    """One run of a statement.

    Attributes:
        name: what tells it from the statement's other runs.
        words: what is proved.
        problem: its lines.
        parameters: what the names in them stand for, as rationals in text.
        at: what the symbols of the claim's bound stand for.
        squared: the run bounds the square of the claim's quantity.
        display: the formula in the statement's text, of the parameters, where it is not the claim's bound.
        expected: refuted where a function exceeds the bound (of the reading that is named, or beyond its assumptions).
        attained: whether a function is to be found that comes near the bound.
        lower: the claim bounds from below; the run's quantity has a minus sign, and so has what is claimed of it.
    """

    name: str
    words: str
    problem: tuple[str, ...]
    parameters: Numbers
    at: Numbers = field(default_factory=dict)
    squared: bool = False
    display: str = ""
    expected: Outcome = "certified"
    attained: bool = False
    lower: bool = False

    @property
    def rationals(self) -> dict[str, Fraction]:
        return {name: Fraction(value) for name, value in self.parameters.items()}

    def claimed(self, claim: Claim) -> Fraction:
        """The printed bound on the quantity of the run, exactly."""
        formula: Any = sp.sympify(self.display, {n: sp.Symbol(n) for n in self.parameters}) if self.display else None
        values = self.parameters if self.display else self.at
        if formula is None:
            formula = claim.explicit
        if formula is None:
            raise InvalidInput(f"{claim.label} has no explicit bound to certify; certify one of its readings")
        numbers = {name: sp.sympify(str(value), rational=True) for name, value in values.items()}
        if formula.has(sp.Sum):  # over phases, as many as `l` says
            formula = formula.subs({s: numbers["l"] for s in formula.free_symbols if s.name == "l"}).doit()
        formula = formula.subs({t: sp.Symbol(str(t)) for t in formula.atoms(sp.Indexed)})  # eta[i], at one i
        exact = formula.subs({s: numbers[s.name] for s in formula.free_symbols})
        if self.squared:
            exact = exact**2
        exact = sp.nsimplify(sp.simplify(exact)) if not exact.is_Rational else exact
        if not exact.is_Rational:
            raise InvalidInput(f"the bound of {claim.label} at {dict(values)} is {exact}, not a rational number")
        return Fraction(int(exact.p), int(exact.q)) * (-1 if self.lower else 1)


def words_of(make: Any) -> str:
    return " ".join((make.__doc__ or "").split())


def run(make: Any, name: str, shape: Mapping[str, Any], parameters: Numbers, **fields: Any) -> StatementRun:
    return StatementRun(name, words_of(make), tuple(make(**shape)), parameters, **fields)


def both(make: Any, name: str, shape: Mapping[str, Any], parameters: Numbers, **fields: Any) -> Iterator[StatementRun]:
    """Without and with projection onto any closed convex set."""
    for projected in (False, True):
        said = f"{name}, projected" if projected else name
        alone = fields if not projected else {**fields, "attained": False}
        yield run(make, said, {**shape, "projected": projected}, parameters, **alone)


def simple(
    make: Any, parameters: Numbers, at: Numbers, squared: bool = False, **shape: Any
) -> tuple[StatementRun, ...]:
    name = ", ".join(f"{k} = {v}" for k, v in parameters.items())
    return (run(make, name, shape, parameters, at=at, squared=squared),)


def displayed(make: Any, parameters: Numbers, display: str, **shape: Any) -> tuple[StatementRun, ...]:
    name = ", ".join([*(f"{k} = {v}" for k, v in parameters.items()), "as the text has it"])
    return (run(make, name, shape, parameters, display=display),)
