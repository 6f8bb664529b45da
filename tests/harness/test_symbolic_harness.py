"""Symbolic verdicts: identities, signs, and lists of numbers; what is proved, refuted and left open."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
import sympy as sp

from dpcheck.errors import InvalidInput
from dpcheck.harness.symbolic import advanced_composition_proved, agree, norm_tail_proved, proved, where_proved

x, y = sp.symbols("x y", positive=True)


def test_identities_and_signs_are_proved() -> None:
    found = proved({"binomial": (x + y) ** 2 - x**2 - 2 * x * y - y**2}, {"square": x**2 + y})
    assert found.outcome == "holds"
    assert found.evidence == "symbolic"


def test_a_wrong_identity_is_refuted_with_its_value() -> None:
    found = proved({"off by one": x + 1 - x})
    assert found.outcome == "refuted"
    assert "1 at a point" in found.reason


def test_a_wrong_sign_is_refuted_and_an_open_one_is_not() -> None:
    assert proved({}, {"minus": -x}).outcome == "refuted"
    assert proved({}, {"difference": x - y}).outcome == "undecided"


def test_a_logarithm_is_expanded() -> None:
    assert proved({"log": sp.log(x * y) - sp.log(x) - sp.log(y)}).outcome == "holds"


def test_advanced_composition_needs_all_of_its_root_and_its_drift() -> None:
    k, e, slack = sp.symbols("k e s", positive=True)
    root, drift = sp.sqrt(2 * k * sp.log(1 / slack)) * e, k * e * (sp.exp(e) - 1)
    assert advanced_composition_proved(root + drift, k, e, slack).outcome == "holds"
    assert advanced_composition_proved(root / sp.sqrt(2) + drift, k, e, slack).outcome == "refuted"
    assert advanced_composition_proved(root + drift / 2, k, e, slack).outcome != "holds"


def test_nothing_to_prove_is_refused() -> None:
    with pytest.raises(InvalidInput, match="nothing to prove"):
        proved({})


def test_numbers_agree_up_to_the_tolerance_only() -> None:
    assert agree([1.0, 2.0], [1.0, 2.0 + 1e-12], "numbers").outcome == "holds"
    assert agree([1.0, 2.0], [1.0, 2.1], "numbers").outcome == "refuted"
    with pytest.raises(InvalidInput, match="one shape"):
        agree([1.0], np.array([1.0, 2.0]), "numbers")
    assert (
        agree([np.nan, 1.0], [1.0, 1.0], "numbers").outcome == "differs"
    )  # an answer that is none is not the right one
    with pytest.raises(InvalidInput):
        agree([np.nan], [np.nan], "numbers")


def test_tails_of_normal_vectors_hold_up_to_the_rate_that_chernoff_gives():
    u = sp.Symbol("u", positive=True)
    for rate in (sp.Rational(1, 16), sp.Rational(1, 8)):
        proof = norm_tail_proved(2 * sp.exp(-rate * u), u)
        assert proof.outcome == "holds"
        for d in (1, 2, 7):  # the statement itself, in floats
            x = np.linspace(0.01, 60, 500)
            assert (scipy.stats.chi2.sf(d * x, d) <= 2 * np.exp(-float(rate) * x)).all()
    for stated in (2 * sp.exp(-u / 4), 3 * sp.exp(-u / 16), sp.exp(-u / 16), 2 * sp.exp(-(u**2) / 16)):
        assert norm_tail_proved(stated, u).outcome == "undecided"
    assert where_proved(proof, "all") == "all"
    assert where_proved(norm_tail_proved(2 * sp.exp(-u), u), "all") == ""
