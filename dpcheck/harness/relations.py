"""The verdict on one number against one bound."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Literal

from dpcheck.errors import InvalidInput
from dpcheck.verdicts import Evidence, Point, Verdict, holds, refuted

Relation = Literal["<=", "<", ">=", ">"]
_HOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "<=": operator.le,
    "<": operator.lt,
    ">=": operator.ge,
    ">": operator.gt,
}


def judged(
    value: float,
    relation: Relation,
    bound: float,
    reason: str,
    evidence: Evidence,
    *,
    otherwise: Callable[..., Verdict] = refuted,
    **fields: Any,
) -> Verdict:
    """HOLDS where `value relation bound`, else what `otherwise` makes: `refuted`, `undecided` or `differs`.

    Args:
        reason: one sentence with both numbers in it, true either way.
        fields: further fields of the verdict.

    Raises:
        InvalidInput: a side is no number; NaN stands in no relation, which is neither a proof nor a violation.
    """
    if math.isnan(value) or math.isnan(bound):
        raise InvalidInput(f"nothing to judge in {value} {relation} {bound}: {reason}")
    make = holds if _HOLDS[relation](value, bound) else otherwise
    return make(reason, evidence, **fields)


def compared(
    what: str,
    sides: tuple[str, str],
    smaller: float,
    larger: float,
    x: tuple[str, float],
    series: str = "",
    **numbers: float,
) -> Verdict:
    """HOLDS when the one number is at most the other; both are computed, neither is sampled.

    Args:
        sides: what the smaller and the larger number belong to.
        x: name and value of the variable in the figure.
    """  # fmt: skip
    said = f"{what}: {smaller:.4g} {sides[0]}, {larger:.4g} {sides[1]}"
    points = [Point(x=x[1], value=smaller, bound=larger, series=series)]
    fields = {"smaller": smaller, "larger": larger, **numbers}
    return judged(
        smaller,
        "<=",
        larger,
        said,
        "exact",
        numbers=fields,
        points=points,
        axes=(x[0], f"{what}, {sides[0]}"),
        dashed=sides[1],
        severity=smaller / larger,
    )
