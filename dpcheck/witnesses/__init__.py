"""Verifiers of witnesses, each written on its own: exact rationals or mpmath, no NumPy, no algorithm.

A witness of kind `"<paper>.<function>"` is recomputed by that public function of `audits/<paper>/witnesses.py`, which
gets the witness's parameters and returns a `Violation`; one of kind `"sampled.<function>"` by the module `sampled`.
The function rebuilds what the statement claims by itself, so editing a witness's numbers, or its parameters into
harmless ones, is found out. Verifiers stand alone: they import this package, mpmath and the standard library only.

What no verifier can recompute is testimony: the counts of a sampled audit are the word of whoever wrote them down, and
the arithmetic on them is all that is checked. Such a witness is attested, not verified, and speaks of privacy only.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any, TypeAlias

import mpmath
import sympy as sp

from dpcheck import carried, foreign
from dpcheck.carried import Verifiers
from dpcheck.errors import InvalidInput, WitnessRejected
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
        testimony: what the violation rests on that nobody can recompute, as a sentence; "" where there is nothing.
    """

    claimed: mpmath.mpf
    found: mpmath.mpf
    statement: str
    violated: bool
    label: str
    at: Mapping[str, Value] = field(default_factory=dict)
    testimony: str = ""


def verify(
    witness: Witness, *, assumptions: Sequence[sp.Basic] = (), private: bool = True, tolerance: float = 1e-6
) -> Violation:
    """Recomputes a witness that this process made from its parameters alone, here; `dpcheck.isolation.verify` takes
    what others wrote.

    Args:
        assumptions: those of the claim that it refutes; a witness has to satisfy every one of them.
        private: whether the claim is one of privacy; if not, a witness that rests on testimony is refused.
        tolerance: relative, of the two numbers that a witness states.

    Raises:
        WitnessRejected: unknown kind, another label, numbers that do not come out, no violation, a hypothesis of the
            claim that the witness does not satisfy.
    """
    violation = _recomputed(witness)
    if violation.label != witness.label:
        raise WitnessRejected(f"this witness speaks of {violation.label}, not of {witness.label}")
    for what in ("claimed", "found"):
        _compare(what, getattr(witness, what), getattr(violation, what), tolerance)
    if not violation.violated:
        raise WitnessRejected(
            f"no violation: {violation.statement}; allowed {mpmath.nstr(violation.claimed, 8)}, "
            f"found {mpmath.nstr(violation.found, 8)}"
        )
    if violation.testimony and not private:
        raise WitnessRejected(
            f"{violation.label} is no statement of privacy, and this witness has nothing but counted guesses against it"
        )
    require(assumptions, violation)
    return violation


def _recomputed(witness: Witness) -> Violation:
    """What the verifier of its kind makes of a witness; whatever goes wrong there is a rejection."""
    verify_kind = verifier(witness.kind)
    try:
        foreign.check(witness.parameters)
        violation = verify_kind(**witness.parameters)
    except Exception as error:
        said = (
            foreign.shortened(str(error), 300) if not isinstance(error, MemoryError | RecursionError) else "too large"
        )
        raise WitnessRejected(f"the parameters of this {witness.kind} witness make no sense: {said}") from error
    if not isinstance(violation, Violation):
        raise WitnessRejected(f"{witness.kind} verifies no witness")
    return violation


_KNOWN: ContextVar[Verifiers] = ContextVar("files of verifiers of a root and of papers of one's own", default={})  # noqa: B039


@contextlib.contextmanager
def known(files: Verifiers) -> Iterator[None]:
    """Makes files of verifiers known, besides those that dpcheck brings along, and before them."""
    token = _KNOWN.set(files)
    try:
        yield
    finally:
        _KNOWN.reset(token)


def known_files() -> Verifiers:
    """The files of all verifiers that are known here, but for those of this package."""
    return {**carried.verifiers(), **_KNOWN.get()}


def is_ours(module: str) -> bool:
    """Whether the first part of a kind is a module of this package."""
    return module.isidentifier() and importlib.util.find_spec(f"dpcheck.witnesses.{module}") is not None


def verifier(kind: str) -> Callable[..., Violation]:
    """The function that recomputes witnesses of a kind. Raises `WitnessRejected` where there is none."""
    module, _, name = kind.partition(".")
    for home in _homes(module):
        if name in getattr(home, "__all__", ()):
            recompute: Callable[..., Violation] = getattr(home, name)
            return recompute
    raise WitnessRejected(
        f"no verifier for witnesses of kind {kind!r}; is dpcheck older than the witness, or does --also have to "
        "name the folder of its paper?"
    )


def _homes(module: str) -> Iterator[ModuleType]:
    """The modules that may hold the verifiers of a first part of kinds."""
    if is_ours(module):
        yield importlib.import_module(f"dpcheck.witnesses.{module}")
        return
    for path in known_files().get(module, ()):
        try:
            yield _loaded(path, path.stat().st_mtime_ns)
        except Exception as error:
            raise WitnessRejected(f"{path} does not import: {type(error).__name__}: {error}") from error


@functools.lru_cache(maxsize=64)
def _loaded(path: Path, modified: int) -> ModuleType:
    """A file of verifiers, imported by its path: it stands alone."""
    name = f"dpcheck_verifiers_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)  # where dataclasses look for their module
    spec.loader.exec_module(module)
    return module


def _compare(what: str, said: str, recomputed: Any, tolerance: float) -> None:
    """A number that the witness states against the recomputed one; what is not finite agrees with nothing."""
    try:
        exact = foreign.fraction(said)
    except InvalidInput as error:
        raise WitnessRejected(f"{what} is no finite number: {error}") from error
    with mpmath.workdps(_DIGITS):
        value, measured = mpmath.mpf(exact.numerator) / exact.denominator, mpmath.mpmathify(recomputed)
        if not isinstance(measured, mpmath.mpf) or not mpmath.isfinite(measured):
            raise WitnessRejected(f"{what} is recomputed as {foreign.shortened(measured)}, which is no finite number")
        if not abs(value - measured) <= tolerance * max(mpmath.mpf("1e-300"), abs(measured)):
            raise WitnessRejected(f"{what} is given as {said}, recomputed as {mpmath.nstr(measured, 10)}")


def require(assumptions: Sequence[sp.Basic], violation: Violation) -> None:
    """Every assumption of a claim holds at a witness, in 60 digits.

    Raises:
        WitnessRejected: one fails, or speaks of a symbol whose value the verifier does not give (`Violation.at`).
    """
    try:
        values = {name.rstrip("_"): _exact(value) for name, value in violation.at.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise WitnessRejected(f"{violation.label}: a symbol has no finite value at this witness: {error}") from error
    for assumption in assumptions:
        symbols = sorted(assumption.free_symbols, key=lambda s: s.name)
        if silent := [s.name for s in symbols if s.name.rstrip("_") not in values]:
            raise WitnessRejected(
                f"{violation.label} assumes {assumption}, and the verifier does not say what {', '.join(silent)} is at "
                "this witness; give its value in `Violation.at`"
            )
        try:
            held = _holds(assumption, {s: values[s.name.rstrip("_")] for s in symbols})
        except Exception:  # SymPy compares neither NaN nor complex numbers
            held = False
        if not held:
            shown = ", ".join(f"{s.name} = {sp.N(values[s.name.rstrip('_')], 8)}" for s in symbols)
            raise WitnessRejected(f"{violation.label} assumes {assumption}, which fails at this witness: {shown}")


def _exact(value: Value) -> sp.Expr:
    if isinstance(value, mpmath.mpf):
        if not mpmath.isfinite(value):
            raise ValueError(f"{value} is not finite")
        return sp.Float(value, _DIGITS)
    exact = foreign.fraction(value)
    return sp.Rational(exact.numerator, exact.denominator)


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
