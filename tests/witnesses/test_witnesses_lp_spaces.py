"""Each verifier accepts its documented witness and nothing else, and agrees with an independent computation."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from checkout import collected, verifiers_of
from scipy import integrate, stats

from dpcheck.errors import WitnessRejected
from dpcheck.verdicts import Witness
from dpcheck.witnesses import require, verify

verifiers = verifiers_of("lp_spaces")

CLAIMS = collected().claims
BUDGET: dict[str, Any] = {"epsilon": "1/2", "delta": "1/1000000"}
WIDE: dict[str, Any] = {"n": 2000, "R": 10, "ramp": "1/10", **BUDGET}
UNIT: dict[str, Any] = {
    "n": 10**7, "R": 1, "M": 1000, "area": 1000, "k": "19/10", "epsilon": "1/10", "delta": "1/1000000",
    "ramp": "1/10000",
}  # fmt: skip
NARROW: dict[str, Any] = {
    "n": 10**12, "R": "93/100", "M": 1000, "area": 160, "k": "97/20", "epsilon": "1/50", "delta": f"1/{10**12}",
    "ramp": "1/10000",
}  # fmt: skip
CONE: dict[str, Any] = {
    "n": 5000, "d": 8000, "radius": "22/100", "epsilon": "9/10", "delta": "1/1000000", "constant": 5,
}  # fmt: skip
SHIFTED: dict[str, Any] = {"n": 10_000, "c": 60, "constant": 10, **BUDGET}

# verifier, label without its paper, parameters, claimed, found, parameters that do no harm
CASES: list[tuple[str, str, dict[str, Any], str, str, dict[str, Any]]] = [
    ("def_3", "def-3@literal", {"d": 1000, "p": "101/100"}, "1.14658416758", "2.5408614316", {"p": "3/2"}),
    ("def_4", "def-4@literal", {"r": 3}, "7.06655500114", "6.74499314013", {"r": 2}),
    ("lem_2", "lem-2@literal", {"epsilon": 10, "delta": "1/100000"}, "1e-5", "2.26537436479e-5", {"epsilon": 1}),
    ("lem_3_large_epsilon", "lem-3@large-epsilon", {"epsilon": 10, "delta": "1/100000"}, "1e-5", "2.88262637336e-5",
     {"epsilon": 1}),
    ("mirror_map", "proc-mirror-map@literal", {"p": "7/4", "d": 2, "t": "1/10"}, "0.005", "3.33325000417e-5", {}),
    ("mirror_map", "proc-mirror-map@literal", {"p": "3/2", "d": 64, "t": "1/100"}, "0.0128", "0.0064", {"d": 2}),
    ("thm_2_cone", "thm-2@literal", CONE, "0.16052870", "0.22", {"constant": 7}),
    ("thm_2_uncentred", "thm-2@uncentred", SHIFTED, "0.102965674828", "1", {"c": 1}),
    ("thm_2_fixed_sample", "thm-2@fixed-sample", {"n": 10_000, "mean": "1/2", "constant": 10, **BUDGET},
     "0.102965674828", "0.5", {"mean": "1/100"}),
    ("thm_3_wide", "thm-3", WIDE, "1e-6", "0.00226425620536", {"R": "1/2"}),
    ("thm_3_bump", "thm-3", UNIT, "1e-6", "3.11172907277e-6", {"delta": "1/10000"}),
    ("thm_3_bump", "thm-3", NARROW, "1e-12", "2.19397457e-12", {"R": "1/2"}),
    ("thm_5_range", "thm-5@literal", {"d": 10**9, "n": 10, "epsilon": 1, "power": "3/2", "constant": 1},
     "41.044977442", "1", {"n": 1000}),
    ("thm_8", "thm-8@literal", {"n": 10**8, "m": "1/100", "constant": 10, **BUDGET}, "4.00057395288e-7",
     "7.06983101975e-5", {"n": 100}),
    ("thm_10", "thm-10@literal", {"n": 10**12, "d": 10, "kappa": 2, "beta": "1/10", "constant": 10,
     "epsilon": "1/1000000", "delta": "1/1000000"}, "0.111640665", "206.249672", {"n": 10}),
]  # fmt: skip


def witness(verifier: str, label: str, parameters: dict[str, Any], claimed: str, found: str) -> Witness:
    return Witness(
        label=f"lp_spaces/{label}", kind=f"lp_spaces.{verifier}", parameters=parameters, claimed=claimed, found=found
    )


@pytest.mark.parametrize(("verifier", "label", "parameters", "claimed", "found", "harmless"), CASES)
def test_a_witness_verifies_and_its_edits_do_not(
    verifier: str, label: str, parameters: dict[str, Any], claimed: str, found: str, harmless: dict[str, Any]
) -> None:
    good = witness(verifier, label, parameters, claimed, found)
    assert verify(good, assumptions=CLAIMS[good.label].assumptions).violated
    with pytest.raises(WitnessRejected, match="recomputed"):
        verify(replace(good, found=str(float(found) * 1.01)))
    with pytest.raises(WitnessRejected, match="speaks of"):
        verify(replace(good, label="lp_spaces/thm-6"))
    if harmless:
        free = getattr(verifiers, verifier)(**{**parameters, **harmless})
        assert not free.violated
    with pytest.raises(WitnessRejected, match="no sense"):
        verify(replace(good, parameters={**parameters, next(iter(parameters)): 0.5}))


QUANTIFIERS: dict[str, Any] = {"d": 100, "n": 10, "epsilon": 1, "power": "3/2"}


def test_quantifiers_need_no_computation() -> None:
    good = witness("thm_5_quantifiers", "thm-5@quantifiers", QUANTIFIERS, "0.1", "0")
    assert verify(good, assumptions=CLAIMS[good.label].assumptions).violated


@pytest.mark.parametrize(
    ("verifier", "label", "parameters"),
    [
        ("thm_5_quantifiers", "thm-5@quantifiers", {**QUANTIFIERS, "d": 1}),  # n above sqrt(d log(1/delta))/epsilon
        ("def_4", "def-4@literal", {"r": 1}),  # the norm of the definition is smooth: its exponent is 2 or more
        ("thm_2_uncentred", "thm-2@uncentred", {**SHIFTED, "n": 2, "constant": "1/100"}),  # n too small
        ("thm_10", "thm-10@literal",
         {"n": 10**8, "d": 10, "kappa": 2, "beta": "1/10", "constant": 10, **BUDGET}),  # epsilon of Theorem 9's range
    ],
)  # fmt: skip
def test_a_witness_outside_the_hypotheses_is_refused(verifier: str, label: str, parameters: dict[str, Any]) -> None:
    found = getattr(verifiers, verifier)(**parameters)
    assert found.violated
    with pytest.raises(WitnessRejected, match="assumes"):
        require(CLAIMS[f"lp_spaces/{label}"].assumptions, found)


def test_every_refuted_reading_lists_what_its_witness_has_to_satisfy() -> None:
    labels = {f"lp_spaces/{case[1]}" for case in CASES} | {"lp_spaces/thm-5@quantifiers"}
    assert all(CLAIMS[label].assumptions for label in labels)


def test_theorem_3_breaks_at_smaller_diameters_for_smaller_delta() -> None:
    """The thresholds that the remark prints, and none where the printed rule takes off no more than the repaired."""
    edges = [
        ("197/200", "1/20", f"1/{10**6}", "197/100", 800, 10**11),
        ("93/100", "1/50", f"1/{10**12}", "97/20", 160, 10**12),
        ("177/200", "1/100", f"1/{10**50}", "273/20", 20, 10**14),
    ]
    remark = CLAIMS["lp_spaces/thm-3"].remark
    for R, epsilon, delta, k, area, n in edges:
        at = {"n": n, "M": 1000, "area": area, "k": k, "epsilon": epsilon, "delta": delta, "ramp": "1/10000"}
        assert verifiers.thm_3_bump(R=R, **at).violated
        assert f"{2 * float(Fraction(R)):.2f}" in remark
        assert not verifiers.thm_3_bump(R="7/10", **at).violated


def test_the_cone_by_drawn_norms() -> None:
    """The lower bound of `thm_2_cone` against the exact law of the projection, drawn by chi and normal."""
    n, d, rho, epsilon, delta = 5000, 8000, 0.22, 0.9, 1e-6
    rng = np.random.default_rng(0)
    D, width = math.sqrt(1 + 4 * rho**2), (1 + rho) / math.sqrt(2 * math.pi) + rho * math.sqrt(d)
    alpha = min(D / n**1.5, epsilon**2 * D**3 / (width**2 * math.log(1 / delta) * n**1.5))
    second = 8 * math.sqrt(alpha * math.log(2.5 / delta) * math.sqrt(n) * D) / epsilon
    first = math.sqrt(128 * math.log(2.5 / delta)) / epsilon

    def drawn() -> tuple[np.ndarray, np.ndarray]:
        return np.sqrt(rng.chisquare(d, 2000)), rng.standard_normal(2000)

    tail, head = drawn()
    assert (first * tail < n + first * head).all()  # theta_1 has t = 0
    tail, head = drawn()
    t = np.clip(np.where(tail <= head, head, (tail + head) / 2) * second, 0, rho)
    assert float(verifiers.thm_2_cone(**CONE).found) <= t.mean() * (1 + 1e-9)


def test_every_public_verifier_has_a_case() -> None:
    assert {case[0] for case in CASES} | {"thm_5_quantifiers"} == set(vars(verifiers))


def test_the_wide_pair_by_quadrature_of_the_density() -> None:
    """P and Q again, as integrals of the change-of-variables density over the flat bump, without ramps."""
    n, R, epsilon, delta = 2000, 10.0, 0.5, 1e-6
    mu, beta, area = 1 / R**2, epsilon * n, 1 / R
    sigma = math.sqrt(128 * math.log(2.5 / delta)) * (2 / R) / epsilon
    half = area / (beta - mu) / 2

    def density(theta: float, steep: float) -> float:
        return float(steep / sigma * stats.norm.pdf(steep * theta / sigma))

    P = integrate.quad(density, -half, half, args=((n - 1) * mu + beta,))[0]
    Q = integrate.quad(density, -half, half, args=(n * mu,))[0]
    exact = float(verifiers.thm_3_wide(n, 10, "1/2", "1/1000000", "1/10000000").found)
    assert P - math.exp(epsilon) * Q == pytest.approx(exact, rel=1e-5)
    assert exact == pytest.approx(2.27e-3, rel=0.01)


def test_the_unit_ball_pair_is_convex_and_lipschitz() -> None:
    n, M, A, k, epsilon, delta = 10**7, 1000.0, 1000.0, 1.9, 0.1, 1e-6
    sigma = math.sqrt(128 * math.log(2.5 / delta)) * (M + 1) / epsilon
    theta = np.linspace(-1, 1, 200_001)
    bump = np.clip((theta - k * sigma / n) * (epsilon * n - 1), -A / 2, A / 2)
    slope = theta - (M - A / 2) + bump
    assert (np.diff(slope) > 0).all()
    assert np.abs(slope).max() <= M + 1 + 1e-9
    assert (np.diff(slope) / np.diff(theta)).max() <= epsilon * n * (1 + 1e-9)
