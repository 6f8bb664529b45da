"""Each verifier accepts its documented witness and nothing harmless, and agrees with an independent computation."""

from __future__ import annotations

import pathlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from checkout import collected, verifiers_of

from dpcheck.errors import WitnessRejected
from dpcheck.laws import NoisyMin
from dpcheck.verdicts import Witness
from dpcheck.witnesses import require, verify

verifiers = verifiers_of("l1_geometry")

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLAIMS = collected().claims

# verifier, item, parameters, claimed, found, parameters that do no harm
CASES: list[tuple[str, str, dict[str, Any], str, str, dict[str, Any]]] = [
    ("lem_4_1_fixed", "lem-4-1", {"b": 40, "epsilon": 1, "tilt": "1/10"}, "1", "1.5100615396", {}),
    ("lem_4_1_random", "lem-4-1", {"b": 100, "epsilon": 1}, "1", "1.02357540246", {"epsilon": "1/2"}),
    ("thm_6_fixed", "thm-6@literal", {"n": 65536, "tilt": "1/10"}, "1", "1.77672150182", {}),
    ("fact_gauss_max", "fact-gauss-max@literal", {"d": 2}, "1.38629436112", "1.63661977237", {"d": 3}),
    ("alg_2_steps", "alg-2@literal", {"n": 1024, "d": 16, "epsilon": 1}, "1", "0.00006103515625", {}),
    ("thm_8_rate", "thm-8@literal", {"n": 10**8, "epsilon": 1, "delta": f"1/{10**9}", "constant": 100},
     "1.38632929454e-6", "1.87499999922e-5", {"n": 10**4}),
    ("thm_9_rate", "thm-9@literal", {"n": 10**16, "epsilon": "1/100", "delta": f"1/{10**16}", "constant": 100},
     "1.41516560663e-10", "1.875e-9", {"constant": 10**4}),
    ("lem_6_1_range", "lem-6-1@literal", {"n": 1, "d": 10**12, "epsilon": 1, "constant": "1/1000"},
     "36.1912068253", "1/2", {"n": 1000}),
    ("thm_10_range", "thm-10@literal", {"n": 1, "d": 10**12, "epsilon": 1, "constant": "1/1000"},
     "36.1912068253", "1", {"n": 1000}),
    ("thm_11_range", "thm-11@literal", {"n": 1, "d": 100, "epsilon": "1/1000000000", "constant": "1/1000"},
     "1000", "2", {"epsilon": 1}),
    ("prop_1_samples", "prop-1@literal", {"d": 10**12, "alpha": "1/2", "epsilon": 1, "constant": "1/1000"},
     "72.3824136505", "1", {"d": 100}),
    ("thm_12_step", "thm-12@literal", {"n": 10**15, "b": 1, "d": 2**40, "epsilon": 1, "delta": f"1/{10**9}",
     "constant": 1000}, "3.37531341508e-6", "3.55456695608e-6", {"constant": 2000}),
    ("thm_4_gradients", "thm-4@literal", {"n": 2**160, "d": 2**80, "epsilon": f"1/{2**80}", "constant": 100},
     "2.57110087081438e+64", "3.12337385206086e+71", {"n": 2**40, "d": 2**20, "epsilon": f"1/{2**20}"}),
]  # fmt: skip


def witness(name: str, item: str, parameters: dict[str, Any], claimed: str, found: str) -> Witness:
    return Witness(
        label=f"l1_geometry/{item}", kind=f"l1_geometry.{name}", parameters=parameters, claimed=claimed, found=found
    )


@pytest.mark.parametrize(("name", "item", "parameters", "claimed", "found", "harmless"), CASES)
def test_documented_witness_verifies_and_edits_do_not(
    name: str, item: str, parameters: dict[str, Any], claimed: str, found: str, harmless: dict[str, Any]
) -> None:
    good = witness(name, item, parameters, claimed, found)
    assert verify(good).violated
    with pytest.raises(WitnessRejected, match="recomputed"):
        verify(replace(good, found="123.5"))
    with pytest.raises(WitnessRejected, match="speaks of"):
        verify(replace(good, label="l1_geometry/thm-3"))
    with pytest.raises(WitnessRejected, match="make no sense"):
        verify(replace(good, parameters={**parameters, next(iter(parameters)): 0.5}))
    if harmless:
        assert not getattr(verifiers, name)(**{**parameters, **harmless}).violated


@pytest.mark.parametrize(("name", "item", "parameters", "claimed", "found", "harmless"), CASES)
def test_witness_satisfies_every_hypothesis_and_all_are_checked(
    name: str, item: str, parameters: dict[str, Any], claimed: str, found: str, harmless: dict[str, Any]
) -> None:
    # Fails at f95bebe: no claim of this paper that is refuted had an assumption beside those of Lemma 4.1.
    assumptions = CLAIMS[f"l1_geometry/{item}"].assumptions
    violation = getattr(verifiers, name)(**parameters)
    assert assumptions
    require(assumptions, violation)
    with pytest.raises(WitnessRejected, match="does not say what"):
        require(assumptions, replace(violation, at={}))


def test_a_witness_outside_of_the_windows_is_refused() -> None:
    inside = {"n": 10**16, "epsilon": "1/100", "delta": f"1/{10**16}", "constant": 100}
    assumptions = CLAIMS["l1_geometry/thm-9@literal"].assumptions
    require(assumptions, verifiers.thm_9_rate(**inside))
    for outside in ({"epsilon": 1}, {"delta": f"1/{10**15}"}, {"n": 10**4}):
        with pytest.raises(WitnessRejected, match="fails at this witness"):
            require(assumptions, verifiers.thm_9_rate(**{**inside, **outside}))


def test_reflected_walk_agrees_with_simulation() -> None:
    violation = verifiers.lem_3_2("1/5", "1/5", 300, 600)
    assert violation.violated
    assert not verifiers.lem_3_2("1/5", "1/5", 10, 600).violated
    rng = np.random.default_rng(0)
    x, total = np.zeros(20_000), np.zeros(20_000)
    for k in range(1, 301):
        total += k * x
        x = np.clip(x - 2 / (k + 1) * (x + 0.2 + rng.choice([-1.0, 1.0], x.size)), 0, 0.2)
    average = 2 * total / (300 * 301)
    excess = average**2 / 2 + 0.2 * average
    # The verifier's number bounds the mean from below; four standard errors (failure 3e-5).
    assert float(violation.found) < excess.mean() + 4 * excess.std() / np.sqrt(x.size)
    assert float(violation.found) > 0.8 * excess.mean()


def test_selection_probabilities_agree_with_the_law() -> None:
    scores = np.array([[0.0, 0.3, 0.0, -0.3], [0.0, 0.1, 0.0, -0.1]])
    near, far = NoisyMin(0.2).log_probabilities(scores)[[1, 0], 1]
    assert float(verifiers.lem_4_1_fixed(40, 1, "1/10").found) == pytest.approx(near - far, abs=1e-9)
