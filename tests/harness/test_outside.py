"""What lies just outside of a statement must be excluded by a hypothesis."""

from __future__ import annotations

import pytest
import sympy as sp
from checkout import collected

from dpcheck.harness.outside import excluded, must_exclude
from dpcheck.verdicts import Outcome

STEPS = "user_level/lem-b4"


def test_the_hypotheses_that_fail_are_named() -> None:
    steps = collected().claims[STEPS]
    assert excluded(steps, {"H": 1, "eta": sp.Rational(5, 2)}) == ["H*eta <= 1"]
    assert excluded(steps, {"H": 1, "eta": 1}) == []
    assert excluded(steps, {"H": 1}) == [], "what has no value excludes nothing"


def test_a_claim_that_reaches_a_point_where_it_is_false_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    steps, at = collected().claims[STEPS], {"H": 1, "eta": 3}
    assert must_exclude([steps], at, "runs part").outcome is Outcome.HOLDS
    assert must_exclude([steps], at, "runs part", shown=False).outcome is Outcome.DIFFERS
    monkeypatch.setitem(vars(steps), "assumptions", ())
    verdict = must_exclude([steps], at, "runs part")
    assert verdict.outcome is Outcome.DIFFERS
    assert "H = 1, eta = 3" in verdict.reason
