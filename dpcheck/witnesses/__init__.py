"""Re-verification of refutations, by small code of its own: exact rationals or mpmath, no NumPy, no algorithm.

A witness of kind `"<module>.<function>"` is recomputed by that public function of `dpcheck.witnesses.<module>`, which
gets the witness's parameters and returns a `Violation`. The function rebuilds what the statement claims by itself, so
editing a witness's numbers, or its parameters into harmless ones, is found out.
"""

from __future__ import annotations

import importlib
import importlib.util
from dataclasses import dataclass

import mpmath

from dpcheck.errors import WitnessRejected
from dpcheck.verdicts import Witness


@dataclass(frozen=True)
class Violation:
    """What a verifier recomputed from a witness's parameters.

    Attributes:
        claimed: what the statement allows; `found`: what the parameters give. Both as mpmath numbers.
        statement: the inequality in words ("distance to the minimiser <= the printed bound").
        violated: whether `found` breaks the statement.
        label: the statement that it breaks, so that a witness cannot be passed off as another's.
    """

    claimed: mpmath.mpf
    found: mpmath.mpf
    statement: str
    violated: bool
    label: str


def verify(witness: Witness, *, tolerance: float = 1e-6) -> Violation:
    """Recomputes a witness from its parameters alone.

    Raises:
        WitnessRejected: unknown kind, another label, numbers that do not come out, or no violation.
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
    return violation
