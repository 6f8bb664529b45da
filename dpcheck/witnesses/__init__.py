"""Re-verification of refutations, by small code of its own: exact rationals or mpmath, no NumPy, no algorithm.

A witness of kind `"<module>.<function>"` is recomputed by that public function of `dpcheck.witnesses.<module>`, which
gets the witness's parameters and returns a `Violation`. The function rebuilds what the statement claims by itself, so
editing a witness's numbers, or its parameters into harmless ones, is found out.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

import mpmath
import sympy as sp

from dpcheck.errors import WitnessRejected
from dpcheck.verdicts import Witness

Value: TypeAlias = int | str | Fraction | mpmath.mpf
_DIGITS = 60


@dataclass(frozen=True)
class Violation:
    """What a verifier recomputed from a witness's parameters.

    Attributes:
        claimed: what the statement allows; `found`: what the parameters give. Both as mpmath numbers.
        statement: the inequality in words ("distance to the minimiser <= the printed bound").
        violated: whether `found` breaks the statement.
        label: the statement that it breaks, so that a witness cannot be passed off as another's.
        at: the value at this witness of every symbol in the statement's assumptions (symbol name -> exact value),
            computed from the instance, not copied from what the witness says of itself.
    """

    claimed: mpmath.mpf
    found: mpmath.mpf
    statement: str
    violated: bool
    label: str
    at: Mapping[str, Value] = field(default_factory=dict)


def verify(witness: Witness, *, assumptions: Sequence[sp.Basic] = (), tolerance: float = 1e-6) -> Violation:
    """Recomputes a witness from its parameters alone.

    Args:
        assumptions: those of the claim that it refutes; a witness has to satisfy every one of them.

    Raises:
        WitnessRejected: unknown kind, another label, numbers that do not come out, no violation, or a hypothesis of
            the claim that the witness does not satisfy.
    """
    module, _, name = witness.kind.partition(".")
    verifier = None
    if module.isidentifier() and importlib.util.find_spec(f"dpcheck.witnesses.{module}") is not None:
        home = importlib.import_module(f"dpcheck.witnesses.{module}")
        verifier = getattr(home, name, None) if name in getattr(home, "__all__", ()) else None
    if verifier is None:
        raise WitnessRejected(f"no verifier for witnesses of kind {witness.kind!r}; is dpcheck older than the witness?")
    try:
        violation: Violation = verifier(**witness.parameters)
    except (TypeError, ValueError, KeyError, ZeroDivisionError) as error:
        raise WitnessRejected(f"the parameters of this {witness.kind} witness make no sense: {error}") from error
    if violation.label != witness.label:
        raise WitnessRejected(f"this witness speaks of {violation.label}, not of {witness.label}")
    for what, said, recomputed in (
        ("claimed", witness.claimed, violation.claimed),
        ("found", witness.found, violation.found),
    ):
        value = mpmath.mpf(said) if "/" not in said else mpmath.mpf(said.split("/")[0]) / mpmath.mpf(said.split("/")[1])
        if abs(value - recomputed) > tolerance * max(mpmath.mpf(1e-300), abs(recomputed)):
            raise WitnessRejected(f"{what} is given as {said}, recomputed as {mpmath.nstr(recomputed, 10)}")
    if not violation.violated:
        raise WitnessRejected(
            f"no violation: {violation.statement}; allowed {mpmath.nstr(violation.claimed, 8)}, "
            f"found {mpmath.nstr(violation.found, 8)}"
        )
    require(assumptions, violation)
    return violation


def require(assumptions: Sequence[sp.Basic], violation: Violation) -> None:
    """Every assumption of a claim holds at a witness, in 60 digits.

    Raises:
        WitnessRejected: one fails, or speaks of a symbol whose value the verifier does not give (`Violation.at`).
    """
    values = {name.rstrip("_"): _exact(value) for name, value in violation.at.items()}
    for assumption in assumptions:
        symbols = sorted(assumption.free_symbols, key=lambda s: s.name)
        if silent := [s.name for s in symbols if s.name.rstrip("_") not in values]:
            raise WitnessRejected(
                f"{violation.label} assumes {assumption}, and the verifier does not say what {', '.join(silent)} is at "
                "this witness; give its value in `Violation.at`"
            )
        held = _holds(assumption, {s: values[s.name.rstrip("_")] for s in symbols})
        if not held:
            shown = ", ".join(f"{s.name} = {mpmath.nstr(mpmath.mpf(values[s.name.rstrip('_')]), 8)}" for s in symbols)
            raise WitnessRejected(f"{violation.label} assumes {assumption}, which fails at this witness: {shown}")


def _exact(value: Value) -> sp.Expr:
    if isinstance(value, str):
        value = Fraction(value)
    if isinstance(value, Fraction):
        return sp.Rational(value.numerator, value.denominator)
    return sp.Integer(value) if isinstance(value, int) else sp.Float(value, _DIGITS)


def _holds(assumption: sp.Basic, values: Mapping[sp.Symbol, sp.Expr]) -> bool:
    """A relation, or a conjunction of relations, at exact values; ties within rounding count as satisfied if weak."""
    if isinstance(assumption, sp.And):
        return all(_holds(part, values) for part in assumption.args)
    if isinstance(assumption, sp.Or):
        return any(_holds(part, values) for part in assumption.args)
    if not isinstance(assumption, sp.core.relational.Relational):
        return bool(assumption.subs(values))
    left, right = (sp.N(side.subs(values), _DIGITS) for side in (assumption.lhs, assumption.rhs))
    slack = (right - left) * (1 if isinstance(assumption, sp.Le | sp.Lt) else -1)
    rounding = sp.Float(10, _DIGITS) ** (10 - _DIGITS) * sp.Max(1, abs(left), abs(right))
    if isinstance(assumption, sp.Lt | sp.Gt):
        return bool(slack > rounding)
    if isinstance(assumption, sp.Le | sp.Ge):
        return bool(slack >= -rounding)
    equal = bool(abs(left - right) <= rounding)
    return equal if isinstance(assumption, sp.Eq) else not equal
