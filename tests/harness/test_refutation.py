"""Refutations by witness: verified, compared with the algorithm's own run, and nothing refuted without violation."""

import pytest

from dpcheck.errors import WitnessRejected
from dpcheck.harness.refutation import refuted_by, witnessed
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


def test_a_witness_with_wrong_numbers_is_rejected():
    with pytest.raises(WitnessRejected, match="found"):
        verify(witnessed(LABEL, VERIFIER, 1.0, 3.0, n=1024, J=9))
