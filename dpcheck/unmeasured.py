"""Exponents that nobody measures, each with its reason: `dpcheck.harness.scaling` has the rows of those that are."""

from __future__ import annotations

from dataclasses import dataclass

from dpcheck.errors import CollectionError
from dpcheck.labels import split_label


@dataclass(frozen=True)
class Unmeasured:
    """Variables of a statement's order in which no exponent is measured, and the reason."""

    label: str
    variables: tuple[str, ...]
    reason: str

    @property
    def id(self) -> str:
        """ "paper/thm-7 d kappa": one for each statement and set of variables."""
        return " ".join((self.label, *self.variables))


def unmeasured(label: str, variables: str, reason: str) -> Unmeasured:
    """States why the exponents of a claim in some blank-separated variables are not measured, in a whole sentence.

    beyond = unmeasured("paper/thm-7", "d kappa", "The worst loss in d dimensions has no closed form; drawn records …")
    """
    split_label(label)
    if not variables.split() or not reason:
        raise CollectionError(f"{label}: say which variables are not measured and why, got {variables!r}, {reason!r}")
    return Unmeasured(label, tuple(variables.split()), reason)
