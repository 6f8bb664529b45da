"""Just outside of a statement: what fails there must be excluded by its hypotheses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import sympy as sp

from dpcheck.claims import Claim
from dpcheck.verdicts import Verdict, differs, holds


def excluded(claim: Claim, at: Mapping[str, Any]) -> list[str]:
    """The hypotheses of a claim that fail at a point, a value for each symbol of theirs by name; [] where all hold."""
    values = {name.rstrip("_"): sp.sympify(value) for name, value in at.items()}
    words = []
    for each in claim.assumptions:
        there = each.subs({s: values[s.name] for s in each.free_symbols if s.name in values})
        if there == sp.false:
            words.append(str(each))
    return words


def must_exclude(claims: Iterable[Claim], at: Mapping[str, Any], why: str, *, shown: bool = True) -> Verdict:
    """DIFFERS where one of these claims has no hypothesis against a point at which it is false.

    Args:
        at: symbol -> value.
        why: what goes wrong there; shown: whether it does, where that is measured.
    """
    point = ", ".join(f"{name} = {value}" for name, value in at.items())
    if not shown:
        return differs(f"it is not so that at {point} {why}")
    by_name = {claim.label: excluded(claim, at) for claim in claims}
    for label, hypotheses in by_name.items():
        if not hypotheses:
            return differs(f"{label} is stated at {point} as well, where {why}")
    said = "; ".join(f"{label} assumes {hypotheses[0]}" for label, hypotheses in by_name.items())
    return holds(f"at {point} {why}, and {said}", "exact")
