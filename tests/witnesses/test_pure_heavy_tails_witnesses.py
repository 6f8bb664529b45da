"""Each verifier accepts its documented witness and nothing else, and agrees with an independent computation."""

from __future__ import annotations

import math
import pathlib
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from checkout import collected, verifiers_of
from scipy import special, stats

from dpcheck.errors import WitnessRejected
from dpcheck.verdicts import Witness
from dpcheck.witnesses import require, verify

verifiers = verifiers_of("pure_heavy_tails")

LINEAR: dict[str, Any] = {
    "spike": 1, "p": 1, "k": 2, "G_k": 1, "C": "1/2", "lambda_": 1, "epsilon": 1, "n": 10**6, "D": 10, "c1": 28,
}  # fmt: skip
SPIKES: dict[str, Any] = {**LINEAR, "spike": 2, "p": "1/4", "C": 1, "n": 10**7}
STEP: dict[str, Any] = {
    "n": 100, "places": 2001, "high": 10**6, "epsilon": 1, "lambda_": "1/10", "smoothness": "bound",
}  # fmt: skip
QUANTIFIERS: dict[str, Any] = {
    "atoms": [0, 3], "weights": ["2/3", "1/3"], "k": 2, "n": 100, "D": 2, "epsilon": 1, "delta": "1/10",
    "constant": "1/10000",
}  # fmt: skip

# verifier, label without its paper, parameters, claimed, found, parameters that do no harm
CASES: list[tuple[str, str, dict[str, Any], str, str, dict[str, Any]]] = [
    ("prop_c_3", "prop-c-3", LINEAR, "0.244962974278", "0.499667710096", {"C": 1}),
    ("prop_c_3", "prop-c-3", SPIKES, "0.0774624669241", "0.249418836606", {"C": 2}),
    ("prop_c_3", "prop-c-3", {**SPIKES, "spike": 4, "p": "1/16", "C": 2, "n": 10**8}, "0.0244954574278",
     "0.124661182356", {"n": 10**4}),
    ("prop_e_4", "prop-e-4@literal", STEP, "1", "21.4930478571", {"high": 1}),
    ("prop_e_4", "prop-e-4@literal", {**STEP, "n": 20}, "1", "2.84164306672", {"epsilon": "1/10", "high": 2, "n": 1}),
    ("prop_e_4", "prop-e-4@literal", {**STEP, "n": 400}, "1", "93.5442232802", {"high": 1}),
    ("prop_e_4", "prop-e-4@literal", {**STEP, "epsilon": 2}, "2", "45.7500610702", {"high": 1}),
    ("prop_e_4", "prop-e-4@literal", {**STEP, "smoothness": "exact"}, "1", "21.493047861", {"high": 1}),
    ("thm_4_1_literal", "thm-4-1@literal", QUANTIFIERS, "0.000115518391657", "0", {"atoms": [0, 0]}),
    ("fact_gamma_tail", "fact-gamma-tail@literal", {"d": 3, "t": 3}, "0.0497870683679", "0.0619688044167", {"d": 1}),
    ("fact_gamma_tail", "fact-gamma-tail@literal", {"d": 2, "t": 5}, "0.00673794699909", "0.00729505572444", {"t": 4}),
    ("lem_c_2_epsilon", "lem-c-2@literal", {"epsilon": 100, "zeta": 1}, "0.632120558829", "0.5", {"epsilon": 98}),
    ("lem_c_2_epsilon", "lem-c-2@literal", {"epsilon": 287, "zeta": 3}, "0.950212931632", "0.942720580",
     {"epsilon": 6}),
    ("lem_g_1_display", "lem-g-1@literal", {"mean": [1], "point": ["1/4"], "D": 2}, "2", "5/4", {"point": ["-1/4"]}),
    ("lem_g_1_display", "lem-g-1@literal", {"mean": [3, 4], "point": ["3/10", "4/10"], "D": 4}, "20", "12.5",
     {"point": ["4/5", "-3/5"]}),
    ("thm_b_1", "thm-b-1@literal", {"C": "1/2", "a": "3/4", "G_k": 1, "beta0": 1, "beta1": "5/2"}, "0",
     "5.039456351e-05", {}),
    ("alg_1_phases", "alg-1@literal", {"n": 1024, "J": 9}, "1", "0", {"J": 1}),
    ("alg_7_diameter", "alg-7@literal", {"C": 1, "lambda_": 1, "epsilon": 1, "m": 10**4, "d": 1, "D": 10}, "3/50",
     "3/25", {"m": 10}),
    ("prop_c_5_oracle", "prop-c-5@literal", {"first": 100, "alpha": "1/10"}, "900", "3000", {"first": 1}),
    ("thm_2_1_runtime", "thm-2-1@literal", {"n": 2**40, "J": 9, "power": 10}, "1.048576e16", "1.610599186e46",
     {"n": 64, "J": 9}),
    ("thm_e_1_identity", "thm-e-1@literal", {"w": 0, "gradient": 1, "gamma": "1/2", "D": 2}, "0", "1",
     {"gradient": 0}),
    ("prop_3_2_budget", "prop-3-2@literal", {"epsilon": 10**4, "m": 10**6, "D": 10, "lambda_": 1, "c_erm": 48},
     "0.04848", "0.0933642019", {"epsilon": 3400}),
    ("prop_g_4_inequality", "prop-g-4@literal", {"size": 2, "d": 1, "zeta": "1/4"}, "0", "-1", {"size": 5}),
]  # fmt: skip


def witness(case: tuple[str, str, dict[str, Any], str, str, dict[str, Any]]) -> Witness:
    name, label, parameters, claimed, found, _ = case
    return Witness(
        label=f"pure_heavy_tails/{label}",
        kind=f"pure_heavy_tails.{name}",
        parameters=parameters,
        claimed=claimed,
        found=found,
    )


ROOT = pathlib.Path(__file__).resolve().parents[2]
CLAIMS = collected().claims
everyone = pytest.mark.parametrize("case", CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])


def test_every_verifier_has_a_documented_witness() -> None:
    assert {case[0] for case in CASES} == set(vars(verifiers))


@everyone
def test_true_witness_is_accepted(case: Any) -> None:
    violation = verify(Witness.from_dict(witness(case).to_dict()))
    assert violation.violated
    assert violation.label == f"pure_heavy_tails/{case[1]}"


@everyone
def test_witness_satisfies_every_hypothesis_of_its_claim(case: Any) -> None:
    """Not so at f95bebe, where a witness said nothing of them."""
    told = witness(case)
    assert verify(told, assumptions=CLAIMS[told.label].assumptions).violated


@pytest.mark.parametrize(
    ("label", "parameters", "broken"),
    [
        ("alg-1@literal", {"n": 100, "J": 51}, "n >= 2"),  # not one record a block in the first phase
        ("thm-2-1@literal", {"n": 2**40, "J": 2**39 + 1, "power": 0}, "n >= 2"),
    ],
)
def test_a_witness_outside_of_the_hypotheses_is_refused(label: str, parameters: dict[str, Any], broken: str) -> None:
    name = {"alg-1@literal": "alg_1_phases", "thm-2-1@literal": "thm_2_1_runtime"}[label]
    violation = getattr(verifiers, name)(**parameters)
    with pytest.raises(WitnessRejected, match=broken):
        require(CLAIMS[f"pure_heavy_tails/{label}"].assumptions, violation)


def test_a_large_budget_leaves_all_of_w_0_too_far() -> None:
    """Independent of the verifier: the first stage at the edge of its gap, 4,000 balls; all of each lies too far.

    The verifier promises probability 0.995: fewer than 3,950 of 4,000 has probability below 1e-9.
    """
    epsilon, m, given = 10**4, 10**6, {"D": 10, "lambda_": 1, "c_erm": 48}
    violation = verifiers.prop_3_2_budget(epsilon=epsilon, m=m, **given)
    unit = math.sqrt(m * epsilon) / m
    gap = (1 + unit) ** 2 / 2 - (1 + unit) + 1 / 2  # of the point -1 - C/(lambda m) in w + w^2/2
    assert gap == pytest.approx(epsilon * m / (2 * m**2), rel=1e-9)
    noise = np.random.default_rng(0).laplace(0, 12 * unit / epsilon, 4000)
    nearest = np.abs(unit - noise) - 600 * unit / epsilon
    assert np.count_nonzero(nearest > float(violation.found)) >= 3950
    assert float(violation.found) > float(violation.claimed)


@everyone
def test_tampered_numbers_are_rejected(case: Any) -> None:
    true = witness(case)
    for field, message in (("found", "found is given as"), ("claimed", "claimed is given as")):
        with pytest.raises(WitnessRejected, match=message):
            verify(replace(true, **{field: "0.123456"}))


@everyone
def test_parameters_that_do_no_harm_are_rejected(case: Any) -> None:
    if not case[5]:
        pytest.skip("the verifier refuses every parameter that does no harm")
    name, _, parameters, _, _, harmless = case
    violation = getattr(verifiers, name)(**{**parameters, **harmless})
    assert not violation.violated
    told = replace(
        witness(case),
        parameters={**parameters, **harmless},
        claimed=repr(float(violation.claimed)),
        found=repr(float(violation.found)),
    )
    with pytest.raises(WitnessRejected, match="no violation"):
        verify(told)


@everyone
def test_another_label_is_rejected(case: Any) -> None:
    for label in ("pure_heavy_tails/thm-3-1", f"pure_heavy_tails/{case[1].partition('@')[0]}@corrected"):
        with pytest.raises(WitnessRejected, match="speaks of"):
            verify(replace(witness(case), label=label))


@everyone
def test_floats_and_nonsense_are_rejected(case: Any) -> None:
    name = next(iter(case[2]))
    for value in (0.3, None, "x", True):
        with pytest.raises(WitnessRejected, match="make no sense"):
            verify(replace(witness(case), parameters={**case[2], name: value}))
    with pytest.raises(WitnessRejected, match="make no sense"):
        verify(replace(witness(case), parameters={**case[2], "further": 1}))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("prop_c_3", {**LINEAR, "spike": 2}),  # the moment condition fails
        ("prop_c_3", {**LINEAR, "D": 1}),  # the minimiser leaves the interior
        ("prop_c_3", {**LINEAR, "c1": 27}),  # Algorithm 4 does not meet the hypothesis
        ("prop_c_3", {**LINEAR, "epsilon": 2}),
        ("prop_c_3", {**LINEAR, "k": 1}),
        ("prop_e_4", {**STEP, "high": "1/2"}),
        ("prop_e_4", {**STEP, "smoothness": "other"}),
        ("thm_4_1_literal", {**QUANTIFIERS, "weights": ["1/3", "1/3"]}),
        ("thm_4_1_literal", {**QUANTIFIERS, "delta": "1/5"}),
        ("lem_g_1_display", {"mean": [1], "point": [2], "D": 2}),  # outside of the ball
        ("lem_g_1_display", {"mean": [1], "point": [0], "D": 2}),
        ("thm_b_1", {"C": "3/4", "a": "3/4", "G_k": 1, "beta0": 1, "beta1": 2}),
        ("thm_b_1", {"C": "1/2", "a": "3/4", "G_k": 1, "beta0": 1, "beta1": 3}),  # a + β₁M > G_k
        ("lem_c_2_epsilon", {"epsilon": 100, "zeta": "1/2"}),
        ("thm_e_1_identity", {"w": 2, "gradient": 1, "gamma": 1, "D": 2}),
        ("prop_g_4_inequality", {"size": 3, "d": 2, "zeta": "1/4"}),  # not 2^d points
        ("prop_g_4_inequality", {"size": 2, "d": 1, "zeta": "1/3"}),
    ],
)
def test_parameters_outside_of_the_statement_are_refused(name: str, parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        getattr(verifiers, name)(**parameters)


# Against independent computations ----------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [LINEAR, SPIKES])
def test_c_3_bounds_the_distance_that_algorithm_2_leaves(parameters: dict[str, Any]) -> None:
    """The verifier's distance is exceeded in at least 99 % of runs of Algorithm 2, wherever its solver stops.

    2,000 runs with true frequency above 0.99: fewer than 1,960 has probability below 1e-5.
    """
    rng = np.random.default_rng(0)
    size, clip, spike = parameters["n"], float(Fraction(parameters["C"])), parameters["spike"]
    share = 1.0 if parameters["p"] == 1 else rng.binomial(size, 0.25, 2000) / size
    unit = clip / size
    near = -clip * share + rng.choice([-1, 1], 2000) * unit + rng.laplace(0, 12 * unit, 2000)
    distance = np.abs(near + spike * share) - 600 * unit
    found = float(verifiers.prop_c_3(**parameters).found)
    assert np.count_nonzero(distance > found) >= 1960
    # And it is not absurdly small: the median run leaves at most 1 % more.
    assert np.median(distance) <= 1.01 * found


def test_e_4_agrees_with_floating_point() -> None:
    w = np.linspace(-0.5, 0.5, 501)
    laws = []
    for slope in (1.0, 50.0):
        gamma = 1 / (0.1 + 5 * slope)
        scores = np.abs(w - np.clip(w - gamma * (1 + 0.1 * w), -0.5, 0.5)) / gamma
        laws.append(-25 / 4 * scores - special.logsumexp(-25 / 4 * scores))
    found = verifiers.prop_e_4(n=25, places=501, high=50, epsilon=1, lambda_="1/10", smoothness="bound").found
    assert float(found) == pytest.approx(np.abs(laws[0] - laws[1]).max(), rel=1e-9)


@pytest.mark.parametrize(("d", "t"), [(1, 2), (2, 5), (7, 1), (100, 3), (900, 40)])
def test_gamma_tail_agrees_with_scipy(d: int, t: int) -> None:
    assert float(verifiers.fact_gamma_tail(d=d, t=t).found) == pytest.approx(special.gammaincc(d, d + t), rel=1e-10)


@pytest.mark.parametrize(("epsilon", "zeta"), [(1, 1), (50, 1), (98, 1), (100, 1), (150, 1), (400, 3)])
def test_containment_agrees_with_the_laplace_law(epsilon: int, zeta: int) -> None:
    radius = 100 * zeta / epsilon
    law = stats.laplace(loc=1, scale=6 / epsilon)
    found = verifiers.lem_c_2_epsilon(epsilon=epsilon, zeta=zeta).found
    assert float(found) == pytest.approx(law.cdf(radius) - law.cdf(-radius), rel=1e-9)


def test_containment_fails_from_the_stated_budgets_on() -> None:
    for zeta, last, first in ((1, "98.1", "98.3"), (3, "286.1", "286.3")):
        assert not verifiers.lem_c_2_epsilon(epsilon=last, zeta=zeta).violated
        assert verifiers.lem_c_2_epsilon(epsilon=first, zeta=zeta).violated


def test_last_phases_are_empty_but_for_powers_of_two_with_one_block() -> None:
    for n in range(1, 300):
        for blocks in (1, 2, 9):
            power = n & (n - 1) == 0
            assert verifiers.alg_1_phases(n=n, J=blocks).violated != (power and blocks == 1)


def test_gap_of_the_flat_function() -> None:
    grid = np.linspace(0, 0.5, 200001)[1:]
    phi = np.trapezoid((0.5 - grid) * np.exp(-1 / grid**2), grid)
    found = verifiers.thm_b_1(C="1/2", a="3/4", G_k=1, beta0=1, beta1=2).found
    assert float(found) == pytest.approx(phi, rel=1e-6)


def test_runtime_ratio_grows_by_thirty_two_a_phase() -> None:
    long, short = (verifiers.thm_2_1_runtime(n=2**t, J=1, power=0).found for t in (41, 40))
    assert float(long / short) == pytest.approx(32, rel=0.01)
    assert math.isclose(float(verifiers.thm_2_1_runtime(n=2, J=1, power=0).found), 1 / 32)
