"""What lies just outside of a statement must be excluded by a hypothesis."""

from __future__ import annotations

import pytest
import sympy as sp
from checkout import collected

from dpcheck.engine import catalogue
from dpcheck.harness.outside import excluded, must_exclude
from dpcheck.verdicts import Outcome

STEPS = "user_level/lem-b4"


def test_the_hypotheses_that_fail_are_named() -> None:
    with catalogue.in_force(collected()):
        assert excluded(STEPS, {"H": 1, "eta": sp.Rational(5, 2)}) == ["H*eta <= 1"]
        assert excluded(STEPS, {"H": 1, "eta": 1}) == []
        assert excluded(STEPS, {"H": 1}) == [], "what has no value excludes nothing"


def test_a_claim_that_reaches_a_point_where_it_is_false_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    found, at = collected(), {"H": 1, "eta": 3}
    with catalogue.in_force(found):
        assert must_exclude([STEPS], at, "runs part").outcome is Outcome.HOLDS
        assert must_exclude([STEPS], at, "runs part", shown=False).outcome is Outcome.DIFFERS
        monkeypatch.setitem(vars(found.claims[STEPS]), "assumptions", ())
        verdict = must_exclude([STEPS], at, "runs part")
    assert verdict.outcome is Outcome.DIFFERS
    assert "H = 1, eta = 3" in verdict.reason
