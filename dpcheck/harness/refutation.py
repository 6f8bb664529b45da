"""Refutations by witness: parameters that a verifier recomputes in 50 digits or exactly.

The verifier is named without its paper, which is that of the label: `refuted_by("l1_geometry/lem-3-2", "lem_3_2",
T=300)` is recomputed by `lem_3_2` of `audits/l1_geometry/witnesses.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import mpmath

from dpcheck import witnesses
from dpcheck.claims import Claim
from dpcheck.labels import split_label
from dpcheck.verdicts import Point, Verdict, Witness, differs, refuted, undecided

ROUNDING = 1e-9
"""Relative: a formula in floats against the same one in 50 digits."""


def witnessed(label: str, verifier: str, claimed: float | str, measured: float | str, **parameters: Any) -> Witness:
    """A witness whose two numbers come from the check's own arithmetic; verifying it compares them."""
    paper, _, _ = split_label(label)
    said = [value if isinstance(value, str) else repr(float(value)) for value in (claimed, measured)]
    return Witness(label=label, kind=f"{paper}.{verifier}", parameters=parameters, claimed=said[0], found=said[1])


def refuted_by(
    label: str,
    verifier: str,
    *,
    stated: float | None = None,
    by: Claim | None = None,
    measured: float | None = None,
    agreement: float = 1e-3,
    numbers: Mapping[str, Any] | None = None,
    points: Sequence[Point] = (),
    axes: tuple[str, str] = ("", ""),
    dashed: str = "",
    bars: str = "",
    **parameters: Any,
) -> Verdict:
    """REFUTED where the verifier finds a violation at these parameters, else UNDECIDED.

    DIFFERS where the algorithm's own run, or the formula of the claim, does not agree with the verifier.

    Args:
        stated: what the formula of the claim gives for the bound that the verifier breaks.
        by: the claim, where that is its bound at the verifier's values, an order times the parameter `constant`.
        measured: what the algorithm's own run gave; more than `agreement` (relative) off, nothing is refuted.
    """
    paper, _, _ = split_label(label)
    violation = witnesses.verifier(f"{paper}.{verifier}")(**parameters)
    attained, claimed = float(violation.found), float(violation.claimed)
    if by is not None:
        at = {name: float(value) for name, value in violation.at.items()}
        stated = float(by.at(at)) * (float(Fraction(parameters["constant"])) if by.explicit is None else 1.0)
    own: dict[str, Any] = {"found": attained, "claimed": claimed}
    if measured is not None:
        own["by the algorithm's own run"] = measured
    fields: dict[str, Any] = {"numbers": {**own, **(numbers or {})}, "points": tuple(points)}
    fields |= {"axes": axes, "dashed": dashed, "bars": bars}
    sides = [mpmath.nstr(value, 6) for value in (violation.found, violation.claimed)]
    said = f"{violation.statement}: {sides[0]} found, {sides[1]} claimed"
    if not violation.violated:
        return undecided(said, "exact", **fields)
    if stated is not None and not math.isclose(stated, claimed, rel_tol=ROUNDING):
        return differs(f"the claim's own formula gives {stated:.9g} where {said}", **fields)
    if measured is not None and not math.isclose(measured, attained, rel_tol=agreement):
        return differs(f"the algorithm's own run gives {measured:.6g} where {said}", **fields)
    witness = witnessed(
        label, verifier, mpmath.nstr(violation.claimed, 15), mpmath.nstr(violation.found, 15), **parameters
    )
    witnesses.verify(witness)
    severity = abs(attained / claimed) if claimed else math.inf
    return refuted(
        f"{said}; the witness verifies",
        "exact",
        witness=witness,
        severity=max(severity, 1 / severity) if severity else math.inf,
        **fields,
    )
