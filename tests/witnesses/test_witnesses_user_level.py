"""Each verifier accepts its documented witness and nothing else, and agrees with an independent computation."""

from __future__ import annotations

import math
import pathlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from checkout import collected, verifiers_of
from scipy import optimize, stats

from dpcheck.errors import WitnessRejected
from dpcheck.verdicts import Witness
from dpcheck.witnesses import require, verify

verifiers = verifiers_of("user_level")

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLAIMS = collected().claims

PHASE_1: dict[str, Any] = {"m": 100, "d": 100, "epsilon": 1, "delta": "1/1000000000", "q": "1/20", "T": 100}
FEW: dict[str, Any] = {
    "n": 10**16, "m": 1, "d": 1, "epsilon": "1/10000000", "delta": f"1/{2 * 10**16}", "q": "1/20", "T": 40,
}  # fmt: skip
RAY: dict[str, Any] = {"n": 10**12, "m": 10**48, "d": 1, "delta": f"1/{2 * 10**60}"}
HIDDEN: dict[str, Any] = {"constant": 1000, "power": 2}
TAIL: dict[str, Any] = {"n": 10**6, "m": 10, "epsilon": 1, "delta": f"1/{10**14}", "q": "7/100"}
LAMBDA: dict[str, Any] = {"n": 10**6, "m": 10, "d": 10**8, "epsilon": 1, "delta": f"1/{10**8}"}
MILD: dict[str, Any] = {
    "n": 10**14, "m": 10**20, "d": 1, "epsilon": f"1/{10**7}", "delta": f"1/{2 * 10**34}", "constant": 1, "power": 2,
}  # fmt: skip
NOISE: dict[str, Any] = {
    "n": 10**6, "m": 10, "d": 10, "epsilon": 1, "delta": "1/10000000", "q": "7/100", "J": "1/5",
}  # fmt: skip
EMPTY: dict[str, Any] = {"n": 10**6, "m": 1000, "epsilon": 10, "delta": "1/1000000", "q": "1/2"}

# verifier, label without its paper, parameters, claimed, found, parameters that do no harm (or are refused: None)
CASES: list[tuple[str, str, dict[str, Any], str, str, dict[str, Any]]] = [
    ("thm_b1_tail", "thm-b1@tail", TAIL, "3.67879441171e-16", "1.39362847208e-15", {"delta": f"1/{10**12}"}),
    ("thm_b1_last_phase", "thm-b1@literal", EMPTY, "1", "1.1751265844", {"q": "1/4"}),
    ("alg_1", "alg-1@literal", NOISE, "1", "494.782867846", {"J": 12}),
    ("alg_2_threshold", "alg-2@literal", {"a": 17746, "b": 2253, "T": 10, "epsilon": 1}, "0.5", "0.803170245284",
     {"T": 5}),
    ("alg_2_replacement", "alg-2@replacement", {"K": 30, "r": 2}, "2", "3.73333333333", {"r": 1}),
    ("thm_c1", "thm-c1@literal", {"epsilon": "1/100"}, "1", "1.19202991685", {"epsilon": "3/10"}),
    ("thm_c3_minibatch", "thm-c3@literal", {"n": 10**6, **PHASE_1}, "1", "569.031649229", {"T": 10**10}),
    ("thm_c3_passes", "thm-c3@passes", FEW, "1", "0.0688399821135", {"T": 4000}),
    ("thm_c1_dimension", "thm-c1@dimension", {"n": 10**6, **PHASE_1, "m": 1, "d": 10**12, "T": 10**30}, "31584.8987554",
     "21263", {"d": 1}),
    ("thm_c1_conditional", "thm-c1@conditional", {"N": 10, "K": 5, "epsilon": 1}, "0.5", "0.483486407563", {}),
    ("thm_c3_union", "thm-c3@union", {"n": 10**6, "m": 100, "delta": f"1/{2 * 10**8}", "T": 100}, "1e-8", "5e-7",
     {"T": 2}),
    ("thm_c3_weight", "thm-c3@weight", {"n": 10**9, "m": 10**600}, "64", "67573090877.3", {"m": 10**9}),
    ("lem_c2", "lem-c2@literal", {"K": 60}, "0.666666666667", "0.333333333333", {}),
    ("lem_d2", "lem-d2@literal", {"log": 40, "delta": "1/1000000"}, "1e-6", "0.343040532947", {"log": 20_000}),
    ("eq_12", "fact-eq-12@literal", {"values": [1, -1, 1, -1], "K": 2}, "0", "0.333333333333", {}),
    ("thm_d3", "thm-d3", {**RAY, "epsilon": 1, **HIDDEN}, "2.44399370857e84", "7.77962971804e84",
     {"m": 100, "delta": f"1/{10**15}"}),
    ("thm_4_1", "thm-4-1", {**RAY, "epsilon": 1, **HIDDEN}, "2.44399370857e84", "7.77962971804e84",
     {"constant": 10**5}),
    ("claim_4_2", "claim-4-2", {**RAY, "m": 10**84, "delta": f"1/{2 * 10**96}", "constant": 10**6, "power": 2},
     "3.16227766017e166", "1.66694256889e160", {"constant": 10**13}),
    ("thm_d3_lambda", "thm-d3@literal", LAMBDA, "1", "10", {"d": 100}),
    ("lem_a6", "lem-a6@literal", {"epsilon": 10, "delta": "1/100"}, "0.01", "0.0245271545563", {"epsilon": 1}),
    ("lem_a8", "lem-a8@literal", {"N": 100, "M": 100, "epsilon": "1/2", "delta": "1/1000000"}, "1e-6",
     "1.18976822826e-6", {"M": 10}),
    ("thm_a11", "thm-a11@literal", {"c": 10, "gamma": "99/100"}, "0.99", "1", {"gamma": "98/100"}),
    ("lem_b4", "lem-b4@literal", {"p": "1/1000"}, "4", "15.968016", {}),
    ("lem_d1", "lem-d1@literal", {"r": 1}, "0", "0.5", {}),
]  # fmt: skip


def witness(verifier: str, label: str, parameters: dict[str, Any], claimed: str, found: str) -> Witness:
    return Witness(
        label=f"user_level/{label}", kind=f"user_level.{verifier}", parameters=parameters, claimed=claimed, found=found
    )


@pytest.mark.parametrize(
    ("verifier", "label", "parameters", "claimed", "found", "harmless"), CASES, ids=[case[0] for case in CASES]
)
def test_a_witness_verifies_and_its_edits_do_not(
    verifier: str, label: str, parameters: dict[str, Any], claimed: str, found: str, harmless: dict[str, Any]
) -> None:
    good = witness(verifier, label, parameters, claimed, found)
    assert verify(good).violated
    with pytest.raises(WitnessRejected, match="recomputed"):
        verify(replace(good, found=str(float(found) * 1.01)))
    with pytest.raises(WitnessRejected, match="speaks of"):
        verify(replace(good, label="user_level/thm-3-2"))
    if harmless:
        free = getattr(verifiers, verifier)(**{**parameters, **harmless})
        assert not free.violated
    name = next(key for key in parameters if key != "values")
    with pytest.raises(WitnessRejected, match="no sense"):
        verify(replace(good, parameters={**parameters, name: 0.5}))


def test_every_public_verifier_has_a_case() -> None:
    assert sorted(case[0] for case in CASES) == sorted(vars(verifiers))


@pytest.mark.parametrize(
    ("verifier", "parameters", "message"),
    [
        ("thm_b1_last_phase", {**EMPTY, "n": 10**5}, "hypothesis"),
        ("alg_1", {**NOISE, "m": 10**3}, "m <= n"),
        ("thm_c3_minibatch", {"n": 10**4, **PHASE_1}, "delta < 1|violate"),
        ("thm_c3_minibatch", {"n": 10**6, **PHASE_1, "delta": "1/1000"}, "delta < 1"),
        ("thm_d3", {**RAY, "epsilon": 11, **HIDDEN}, "epsilon <= 10"),
        ("thm_d3", {**RAY, "d": 10**100, "epsilon": 1, **HIDDEN}, "violate|radius"),
        ("thm_c3_weight", {"n": 10**6, "m": 10**600}, "violate"),
        ("thm_c3_union", {"n": 10**6, "m": 100, "delta": "1/1000", "T": 10}, "delta must lie"),
        ("thm_c1_conditional", {"N": 5, "K": 5, "epsilon": 1}, "K < N"),
        ("lem_c2", {"K": 61}, "multiple"),
        ("alg_2_replacement", {"K": 3, "r": 2}, "half"),
        ("eq_12", {"values": [1, 2], "K": 2}, "below"),
    ],
)
def test_parameters_outside_the_hypotheses_are_refused(verifier: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(verifiers, verifier)(**parameters)


def test_bits_of_fresh_thresholds_by_simulation() -> None:
    """P(Lap(16) - Lap(8) >= -g) at the two margins of the planted clusters; 10^6 draws, five standard errors."""
    rng, a, b = np.random.default_rng(1), 17746, 2253
    K = a + b + 1
    margins = np.array([(a * a + b * b + 1) / K, (a * a + b * b + 1) / K + 2 * (K - 1) / K]) - 0.8 * K
    noise = rng.laplace(scale=16, size=10**6) - rng.laplace(scale=8, size=10**6)
    low, high = ((noise >= -g).mean() for g in margins)
    exact = float(verifiers.alg_2_threshold(a, b, 1, 1).found)
    assert math.log(high / low) == pytest.approx(exact, abs=5 * 2e-3)


def test_planted_clusters_have_their_scores() -> None:
    """The score of 6 + 2 points 3 tau apart and one far away, then in between, by counting pairs."""
    for last, bonus in ((100.0, 0), (0.0, 16)):
        points = np.array([-1.5] * 6 + [1.5] * 2 + [last])
        pairs = int((np.abs(points[:, None] - points[None]) <= 2).sum())
        assert pairs == 36 + 4 + 1 + bonus


def test_mixture_with_replacement_by_quadrature() -> None:
    """delta of 20 draws of 20 as the integral of the positive part, against the half-line of the verifier."""
    exact = float(verifiers.lem_a8(20, 20, "1/2", "1/1000").found)

    def gaussian(s: float) -> float:
        return float(stats.norm.cdf(0.5 / s - 0.5 * s) - math.exp(0.5) * stats.norm.cdf(-0.5 / s - 0.5 * s))

    s = optimize.brentq(lambda x: gaussian(x) - 1e-3, 0.5, 50)
    x = np.linspace(-8 * s, 8 * s + 20, 400_001)
    weights = stats.binom.pmf(np.arange(21), 20, 1 / 20)
    mixed = sum(w * stats.norm.pdf(x, k, s) for k, w in enumerate(weights))
    excess = np.maximum(0.0, mixed - math.exp(math.expm1(0.5)) * stats.norm.pdf(x, 0, s))
    assert float(np.trapezoid(excess, x)) == pytest.approx(exact, rel=1e-6)


HYPOTHESES = {
    "thm-b1@tail": TAIL, "thm-b1@literal": EMPTY, "thm-c3@literal": {"n": 10**6, **PHASE_1}, "thm-c3@passes": FEW,
    "thm-d3": MILD, "thm-4-1": MILD, "thm-d3@literal": LAMBDA,
    "claim-4-2": {**RAY, "m": 10**84, "delta": f"1/{2 * 10**96}", "constant": 10**6, "power": 2},
}  # fmt: skip
VERIFIER = {label: verifier for verifier, label, *_ in CASES}


@pytest.mark.parametrize("label", HYPOTHESES)
def test_a_witness_satisfies_every_hypothesis_of_its_claim(label: str) -> None:
    """Each has hypotheses, and the verifier says what every one of their symbols is at the witness."""
    claim = CLAIMS[f"user_level/{label}"]
    violation = getattr(verifiers, VERIFIER[label])(**HYPOTHESES[label])
    assert claim.assumptions
    assert violation.violated
    require(claim.assumptions, violation)


def test_the_tail_line_needs_the_users_that_its_theorem_asks_for() -> None:
    """n = 1000, m = 10, delta = 10^-8: 2,533 are asked for and 35 are there; n = 212,171 is just enough."""
    few = {"n": 1000, "m": 10, "epsilon": 1, "delta": "1/100000000", "q": "1/20"}
    with pytest.raises(ValueError, match="hypothesis"):
        verifiers.thm_b1_tail(**few)
    n = 212_171
    enough = verifiers.thm_b1_tail(n=n, m=10, epsilon=1, delta=f"1/{(10 * n) ** 2}", q="7925/100000")
    assert float(enough.found / enough.claimed) == pytest.approx(3.79, abs=0.01)


def test_the_gradient_count_is_exceeded_at_small_epsilon_with_fewer_samples() -> None:
    found = verifiers.thm_d3(**MILD)
    assert 3.5 < float(found.found / found.claimed) < 3.6
    assert not verifiers.thm_d3(**{**MILD, "d": 10**6, "delta": f"1/{2 * 10**40}"}).violated


def test_smoothed_count_from_the_printed_formulas() -> None:
    """T_1 and K_1 of the proof of Theorem D.3 with Theorem C.3's lambda, in floats."""
    n, m = 1e12, 1e48
    q = math.log2(1 + 1 / math.log2(n))
    p = 3 * q + 2.5 + math.log(math.sqrt(m)) / math.log(n)
    weight = 2**p * (1 / math.sqrt(n * m) + 1 / (n * math.sqrt(m)))
    T = (1 + math.sqrt(n * math.sqrt(m) / weight)) * math.log(n * m)
    K = math.log(n * m) + 1 + math.log(2 * n * m)
    found = float(verifiers.thm_d3(**{**RAY, "epsilon": 1, **HIDDEN}).found)
    assert T * K * m == pytest.approx(found, rel=1e-9)
