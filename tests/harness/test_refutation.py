"""Refutations by witness: verified, compared with the algorithm's own run, and nothing refuted without violation."""

from dataclasses import replace

import pytest
import sympy as sp

from dpcheck.engine.catalogue import claim
from dpcheck.errors import WitnessRejected
from dpcheck.harness.refutation import refuted_by, witnessed
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Outcome
from dpcheck.witnesses import verify

LABEL, VERIFIER = "pure_heavy_tails/alg-1@literal", "alg_1_phases"


def test_a_violation_is_refuted_with_a_witness_that_verifies():
    found = refuted_by(LABEL, VERIFIER, n=1024, J=9)
    assert found.outcome is Outcome.REFUTED
    assert verify(found.witness).violated
    assert found.numbers["found"] == 0


def test_no_violation_and_no_agreement_refute_nothing():
    assert refuted_by(LABEL, VERIFIER, measured=0.5, n=1024, J=9).outcome is Outcome.DIFFERS
    harmless = refuted_by("pure_heavy_tails/fact-gamma-tail@literal", "fact_gamma_tail", d=1, t=8)
    assert harmless.outcome is Outcome.UNDECIDED
    assert harmless.witness is None


@pytest.mark.parametrize("change", [2, BY_NAME["D"] ** sp.Rational(1, 2)])
def test_the_formula_of_the_claim_is_held_against_the_verifier(change):
    label, at = "l1_geometry/thm-9@literal", {"n": 10**16, "epsilon": "1/100", "delta": f"1/{10**16}", "constant": 100}
    assert refuted_by(label, "thm_9_rate", by=claim(label), **at).outcome is Outcome.REFUTED
    wrong = replace(claim(label), order=claim(label).order * change)
    found = refuted_by(label, "thm_9_rate", by=wrong, **at)
    assert found.outcome is Outcome.DIFFERS
    assert "the claim's own formula gives" in found.reason


def test_a_witness_with_wrong_numbers_is_rejected():
    with pytest.raises(WitnessRejected, match="found"):
        verify(witnessed(LABEL, VERIFIER, 1.0, 3.0, n=1024, J=9))
