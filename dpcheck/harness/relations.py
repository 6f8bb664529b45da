"""The verdict on one number against one bound."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Literal

from dpcheck.errors import InvalidInput
from dpcheck.verdicts import Evidence, Verdict, holds, refuted

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
