"""Each verifier accepts its documented witness and nothing else, and agrees with an independent computation."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpcheck.errors import WitnessRejected
from dpcheck.privacy import gaussian_delta
from dpcheck.verdicts import Witness
from dpcheck.witnesses import tsybakov as verifiers
from dpcheck.witnesses import verify

MILD: dict[str, Any] = {"a": "1/100", "n": 1024, "K": 3, "eta": 1, "lambda_": "1/1024", "steps": 17035}
WORSE: dict[str, Any] = {"a": "1/400", "n": 4096, "K": 2, "eta": 1, "lambda_": "1/4096", "steps": 79496}
WORST: dict[str, Any] = {"a": "1/1000", "n": 16384, "K": "5/2", "eta": 1, "lambda_": "1/16384", "steps": 363408}
LATER: dict[str, Any] = {"a": "1/100", "n": 4096, "K": 3, "eta": "1/4", "lambda_": "1/1024", "steps": 68000}
ORDER: dict[str, Any] = {"a": "1/400", "K_0": 2, "n": 1024, "epsilon": 1, "delta": "1/100000"}

TURNED: dict[str, Any] = {"a": "1/100000", "K_0": "3/10", "n": 1024, "epsilon": 1, "delta": "1/100000"}
SPREAD: dict[str, Any] = {"a": "1/1000", "K_0": "5/2", "n": 8192, "epsilon": 1, "delta": "1/100000"}
PHASE: dict[str, Any] = {"epsilon": 1, "delta": "1/100000"}
SHUFFLED: dict[str, Any] = {"T": 100, "constant": 64, "epsilon": 8, "delta": "1/100000", "threshold": "29/5"}

# verifier, label without its paper, parameters, found over claimed (or found), parameters that do no harm
CASES: list[tuple[str, str, dict[str, Any], float, dict[str, Any]]] = [
    ("rem_2", "rem-2", MILD, 4.431, {"a": 1}),
    ("rem_2", "rem-2", WORSE, 9.149, {"a": 1}),
    ("rem_2", "rem-2", WORST, 14.715, {"a": 1}),
    ("thm_1_in_order", "thm-1", {**ORDER, "a": "1/100", "K_0": 3}, 3.8, {"a": 1}),
    ("thm_1_in_order", "thm-1", ORDER, 242.6, {"a": 1}),
    ("rem_2_privacy", "rem-2", {**MILD, **PHASE}, 16.3, {"a": 1}),
    ("rem_2_privacy", "rem-2", {**WORSE, **PHASE}, 3247.0, {"a": 1}),
    ("rem_2_privacy", "rem-2", {**WORST, **PHASE}, 15742.0, {"a": 1}),
    ("thm_1_reversed", "thm-1", TURNED, 12143.0, {"a": 1, "K_0": 2}),
    ("thm_1_reversed", "thm-1", {**TURNED, "threshold": 2}, 2592.5, {"threshold": 20}),
    ("thm_1_reversed", "thm-1", {**SPREAD, "threshold": "213/100"}, 1637.9, {"a": 1}),
    ("alg_6_shuffled", "alg-6@literal", SHUFFLED, 118.85, {"T": 10}),
    ("lem_5", "lem-5", {"size": 16, "theta": 4}, 0.2197265625 / 0.375, {"theta": 2}),
    ("thm_4_moment", "thm-4@literal", {"k": 2, "p": "1/100"}, 25.75, {"p": 1}),
    ("fact_power_tnc", "fact-power-tnc@literal", {"theta": 4, "t": 2}, 1 / 12, {"theta": 2, "t": "1/10"}),
    ("fact_tnc_monotone", "fact-tnc-monotone@literal", {"w": 2, "theta": 3}, 0.5, {"w": 1}),
    ("lem_7", "lem-7@literal", {"s": 10, "C": 100, "k": 2}, 24.609375, {"C": 1}),
    ("alg_5_sizes", "alg-5@literal", {"log_n": 16, "theta_bar": 4}, 1.5, {"theta_bar": 2}),
    ("def_3", "def-3@literal", {"epsilon": 1, "delta": "999/1000"}, 0.99987307 / 0.999, {"delta": "99/100"}),
]


@pytest.mark.parametrize(("name", "label", "parameters", "ratio", "harmless"), CASES)
def test_witnesses_are_confirmed_and_edits_found_out(
    name: str, label: str, parameters: dict[str, Any], ratio: float, harmless: dict[str, Any]
) -> None:
    violation = getattr(verifiers, name)(**parameters)
    assert violation.violated
    assert float(violation.found / violation.claimed) == pytest.approx(ratio, rel=2e-2)
    witness = Witness(
        label=f"tsybakov/{label}",
        kind=f"tsybakov.{name}",
        parameters=parameters,
        claimed=str(violation.claimed),
        found=str(violation.found),
    )
    assert verify(witness).violated
    with pytest.raises(WitnessRejected, match="recomputed"):
        verify(replace(witness, found=str(violation.found * 2)))
    with pytest.raises(WitnessRejected, match="speaks of"):
        verify(replace(witness, label="tsybakov/thm-11"))
    mild = {**parameters, **harmless}
    if name == "fact_power_tnc":
        return  # false at every point: see the corrected constant
    assert not getattr(verifiers, name)(**mild).violated


def test_every_verifier_has_a_case() -> None:
    assert {case[0] for case in CASES} == set(verifiers.__all__)


def test_later_phases_have_the_same_instances() -> None:
    violation = verifiers.rem_2(**LATER)
    assert float(violation.found / violation.claimed) == pytest.approx(4.43, rel=5e-3)


def test_movement_agrees_with_the_iteration() -> None:
    """All 17,035 steps in double precision, from the printed update; e is read off the linearised map."""
    a, n, K = 0.01, 1024, 3.0
    across = math.sqrt(a / (1 + a))
    u, A = np.array([math.sqrt(1 - across**2), across]), np.diag([1, a])
    J = (1 - 2 / n) / K * (np.eye(2) - np.outer(u, u)) @ A
    e = np.linalg.svd(np.linalg.inv(np.eye(2) / n + J))[2][0]
    ends = []
    for sign in (1.0, -1.0):
        w = np.zeros(2)
        for _ in range(17035):
            g = [A @ w + s * K * u for s in (1, -1)]
            clipped = sum(x * min(1.0, 1 / math.hypot(*x)) for x in g) * (n - 2) / 2
            w = w - ((clipped + sign * e) / n + w / n)
        ends.append(w)
    assert float(verifiers.rem_2(**MILD).found) == pytest.approx(float(np.linalg.norm(ends[0] - ends[1])), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("rem_2", {**MILD, "K": "1/2"}),
        ("rem_2", {**MILD, "a": 0.01}),
        ("rem_2", {**MILD, "n": True}),
        ("thm_1_in_order", {**ORDER, "n": 1000}),
        ("thm_1_in_order", {**ORDER, "epsilon": 4}),
        ("thm_1_reversed", {**TURNED, "n": 1000}),
        ("thm_1_reversed", {**TURNED, "epsilon": 4}),
        ("thm_1_reversed", {**TURNED, "K_0": "1/1000"}),
        ("thm_1_reversed", {**TURNED, "threshold": 0.5}),
        ("alg_6_shuffled", {**SHUFFLED, "threshold": 5.8}),
        ("def_3", {"epsilon": 1, "delta": 1}),
    ],
)
def test_senseless_parameters_are_refused(name: str, parameters: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        getattr(verifiers, name)(**parameters)


def test_turned_gradient_agrees_with_the_iteration() -> None:
    """Phase 1 at n = 32 in double precision, and the Gaussian curve of the whole output."""
    a, n, K = 0.05, 32, 2.0 * 16
    first = n // 2
    across = math.sqrt(a / (1 + a))
    u, A = np.array([math.sqrt(1 - across**2), across]), np.diag([1, a])
    start, weight = (1 - 1 / first) * first**2 * u, first**-2.0
    ends = []
    for odd in (0.0, 1 / first):
        w = start
        for _ in range(math.ceil(2 * first**2 * math.log(4 * first**2))):
            g = A @ w + K * u
            w = w - ((1 - odd) * g * min(1.0, 1 / math.hypot(*g)) - odd * u + weight * (w - start))
        ends.append(w)
    # 1/(n_j lambda_j) = eta_j, and eta_1 n_1 in the first phase.
    noise = [8 * math.sqrt(math.log(100)) * first] + [
        8 * 2 ** (-(j - 1) / 2) * math.sqrt(math.log(100)) * 4 / 4**j for j in range(2, 6)
    ]
    mu = float(np.linalg.norm(ends[0] - ends[1])) / math.sqrt(sum(s**2 for s in noise))
    found = verifiers.thm_1_reversed("1/20", 2, n, 1, "1/100").found
    assert float(found) == pytest.approx(gaussian_delta(mu, 1.0), rel=1e-4)


def test_largest_batch_agrees_with_a_simulation() -> None:
    """The exact P(S) - e^epsilon Q(S) at epsilon = 1; 2e5 draws, five standard errors: false alarms below 1e-6."""
    T, h, cut, draws = 8, 1.5, 2.0, 200_000
    z = np.random.default_rng(0).standard_normal((draws, T))
    up, down = (((z + np.eye(T)[0] * shift).max(axis=1) > cut).mean() for shift in (h, -h))
    logs = math.log(1e5)
    constant = Fraction(T / (h * h * logs)).limit_denominator(10**12)
    found = float(verifiers.alg_6_shuffled(T, str(constant), 1, "1/100000", "2").found)
    assert found == pytest.approx(up - math.e * down, abs=5 * math.sqrt((1 + math.e**2) / 4 / draws))
