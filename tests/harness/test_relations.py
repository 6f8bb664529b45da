"""The verdict on one number against one bound."""

from __future__ import annotations

import math
from typing import Any

import pytest

from dpcheck.errors import InvalidInput
from dpcheck.harness.relations import judged
from dpcheck.verdicts import undecided


@pytest.mark.parametrize(
    ("value", "relation", "bound", "good"),
    [
        (1.0, "<=", 1.0, True),
        (1.0, "<", 1.0, False),
        (1.0, ">=", 1.0, True),
        (1.0, ">", 1.0, False),
        (2.0, "<=", math.inf, True),
        (2.0, ">=", math.inf, False),
    ],
)
def test_relations(value: float, relation: Any, bound: float, good: bool) -> None:
    assert judged(value, relation, bound, "said", "exact").outcome == ("holds" if good else "refuted")
    open_one = judged(value, relation, bound, "said", "certificate", otherwise=undecided, numbers={"value": value})
    assert open_one.outcome == ("holds" if good else "undecided")
    assert open_one.numbers == {"value": value}


@pytest.mark.parametrize("sides", [(math.nan, 1.0), (1.0, math.nan)])
def test_what_is_no_number_is_not_judged(sides: tuple[float, float]) -> None:
    with pytest.raises(InvalidInput, match="nothing to judge"):
        judged(sides[0], "<=", sides[1], "said", "exact")
