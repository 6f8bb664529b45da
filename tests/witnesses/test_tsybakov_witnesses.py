"""Each verifier accepts its documented witness and nothing else, and agrees with an independent computation."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from checkout import verifiers_of

from dpcheck.engine.catalogue import claim
from dpcheck.errors import WitnessRejected
from dpcheck.privacy import gaussian_delta
from dpcheck.verdicts import Witness
from dpcheck.witnesses import require, verify

verifiers = verifiers_of("tsybakov")

MILD: dict[str, Any] = {"a": "1/100", "n": 1024, "K": 3, "eta": 1, "lambda_": "1/1024", "steps": 17035}
WORSE: dict[str, Any] = {"a": "1/400", "n": 4096, "K": 2, "eta": 1, "lambda_": "1/4096", "steps": 79496}
WORST: dict[str, Any] = {"a": "1/1000", "n": 16384, "K": "5/2", "eta": 1, "lambda_": "1/16384", "steps": 363408}
LATER: dict[str, Any] = {"a": "1/100", "n": 4096, "K": 3, "eta": "1/4", "lambda_": "1/1024", "steps": 68000}
ORDER: dict[str, Any] = {"a": "1/400", "K_0": 2, "n": 1024, "p": 3, "far": 300, "epsilon": 1, "delta": "1/100000"}
STEEP: dict[str, Any] = {**ORDER, "a": "1/4000", "K_0": "3/2", "n": 8192, "far": 1500}

TURNED: dict[str, Any] = {"a": "1/100000", "K_0": "3/10", "n": 1024, "p": 6, "epsilon": 1, "delta": "1/100000"}
SPREAD: dict[str, Any] = {"a": "1/1000", "K_0": "5/2", "n": 8192, "p": 6, "epsilon": 1, "delta": "1/100000"}
PRINTED: dict[str, Any] = {"p": 1, "k": 2, "epsilon": 1, "delta": "1/100000", "factor": 100}
PHASE: dict[str, Any] = {"epsilon": 1, "delta": "1/100000"}
SHUFFLED: dict[str, Any] = {"T": 100, "constant": 64, "epsilon": 8, "delta": "1/100000", "threshold": "29/5"}

# verifier, label without its paper, parameters, found over claimed (or found), parameters that do no harm
CASES: list[tuple[str, str, dict[str, Any], float, dict[str, Any]]] = [
    ("rem_2", "rem-2", MILD, 4.431, {"a": 1}),
    ("rem_2", "rem-2", WORSE, 9.149, {"a": 1}),
    ("rem_2", "rem-2", WORST, 14.715, {"a": 1}),
    ("thm_1_in_order", "thm-1", {**ORDER, "a": "1/100", "K_0": 3}, 3.8, {"a": 1}),
    ("thm_1_in_order", "thm-1", ORDER, 242.6, {"a": 1}),
    ("thm_1_in_order", "thm-1", STEEP, 28391.8, {"a": 1}),
    ("rem_2_privacy", "rem-2", {**MILD, **PHASE}, 16.3, {"a": 1}),
    ("rem_2_privacy", "rem-2", {**WORSE, **PHASE}, 3247.0, {"a": 1}),
    ("rem_2_privacy", "rem-2", {**WORST, **PHASE}, 15742.0, {"a": 1}),
    ("thm_1_reversed", "thm-1", TURNED, 12143.0, {"a": 1, "K_0": 2}),
    ("thm_1_reversed", "thm-1", {**TURNED, "threshold": 2}, 2697.2, {"threshold": 20}),
    ("thm_1_reversed", "thm-1", {**SPREAD, "threshold": "213/100"}, 1718.6, {"a": 1}),
    ("thm_1_risk", "thm-1", {**PRINTED, "log_n": 20}, 1.349, {"factor": 135}),
    ("thm_1_risk", "thm-1", {**PRINTED, "log_n": 33, "factor": 10**4}, 1.143, {"log_n": 32}),
    ("thm_1_risk", "thm-1", {**PRINTED, "log_n": 60, "factor": 1000, "logs": 3}, 1.67, {"logs": 4}),
    ("thm_10_risk", "thm-10", {**PRINTED, "log_n": 21}, 1.297, {"log_n": 20}),
    ("thm_10_risk", "thm-10", {**PRINTED, "log_n": 21, "first": 1}, 1.248, {"log_n": 20}),
    ("thm_2_risk", "thm-2", {**PRINTED, "log_part": 16, "theta": 2}, 13.16, {"log_part": 12}),
    ("thm_11_risk", "thm-11", {**PRINTED, "log_part": 16, "theta": 2}, 1.294, {"log_part": 12}),
    ("thm_3_risk", "thm-3", {**PRINTED, "log_log_n": 4, "theta": 2}, 12.1, {"log_log_n": 3}),
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
        verify(replace(witness, label="tsybakov/thm-9"))
    mild = {**parameters, **harmless}
    if name == "fact_power_tnc":
        return  # false at every point: see the corrected constant
    assert not getattr(verifiers, name)(**mild).violated


@pytest.mark.parametrize(("name", "label", "parameters", "ratio", "harmless"), CASES)
def test_witnesses_satisfy_every_hypothesis(
    name: str, label: str, parameters: dict[str, Any], ratio: float, harmless: dict[str, Any]
) -> None:
    """At f95bebe those of Theorem 1 had L_f = 154,625 where 0.715 is allowed."""
    violation = getattr(verifiers, name)(**parameters)
    assumptions = claim(f"tsybakov/{label}").assumptions
    require(assumptions, violation)
    if label != "thm-1":
        return
    at = violation.at
    R, tau = float(at["R_2k"]), math.sqrt(math.log(1e5) * int(at["d"]) * math.log(int(at["n"]))) / int(at["n"])
    most = int(at["n"]) ** (int(at["p"]) / 2) * R * (int(at["n"]) ** -0.5 + tau ** (1 - 1 / int(at["k"])))
    assert float(at["L"]) <= most
    with pytest.raises(WitnessRejected, match="which fails at this witness"):
        require(assumptions, replace(violation, at={**at, "L": mpmath.mpf(1.01 * most)}))
    with pytest.raises(WitnessRejected, match="does not say what"):
        require(assumptions, replace(violation, at={s: x for s, x in at.items() if s != "eta"}))


def test_small_exponents_leave_no_room_for_clipping() -> None:
    """At p = 1, where the stored witnesses were, the Lipschitz condition keeps all gradients below the clip level."""
    for p in (1, 2):
        with pytest.raises(ValueError, match="take a larger p"):
            verifiers.thm_1_in_order(**{**ORDER, "p": p})
    with pytest.raises(ValueError, match="might leave the ball"):
        verifiers.thm_1_in_order(**{**STEEP, "far": 300})


def test_every_verifier_has_a_case() -> None:
    assert {case[0] for case in CASES} == set(vars(verifiers))


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
        ("thm_1_risk", {**PRINTED, "log_n": 20, "factor": 0.5}),
        ("thm_10_risk", {**PRINTED, "log_n": 20, "first": 3}),
        ("thm_2_risk", {**PRINTED, "log_part": 16, "theta": 1}),
    ],
)
def test_senseless_parameters_are_refused(name: str, parameters: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        getattr(verifiers, name)(**parameters)


def test_turned_gradient_agrees_with_the_iteration() -> None:
    """Phase 1 at n = 32, p = 6 in double precision, and the Gaussian curve of the whole output.

    The point of rest is that of every step of at most 1; a longer one than the printed leads there in fewer.
    """
    a, n, p, K_0 = 0.05, 32, 6, 2.0
    first, logs = n // 2, math.log(100)
    across = math.sqrt(a / (1 + a))
    u, A = np.array([math.sqrt(1 - across**2), across]), np.diag([1, a])
    share = n / math.sqrt(2 * logs * math.log(n))
    level, most = math.sqrt(share / 2), n ** (p / 2) * math.sqrt(1 - 1 / n) * (n**-0.5 + share**-0.5)
    unit = 0.95 * most / (3 * first + 300 + K_0 + 1)
    weight, K = level / (first * unit), K_0 * unit
    start, ends = (first - 1) * unit * u, []
    for odd in (0.0, 1 / first):
        w = start
        for _ in range(math.ceil(60 / weight)):
            g = A @ w + K * u
            w = w - ((1 - odd) * g * min(1.0, level / math.hypot(*g)) - odd * level * u + weight * (w - start))
        ends.append(w)
    eta = 1 / (weight * first ** (2 * p))
    noise = [8 * level * math.sqrt(logs) / (first * weight)] + [
        8 * level * 2 ** (-(j - 1) / 2) * math.sqrt(logs) * eta / 4 ** (j - 1) * (n / 2**j) ** (p - 1)
        for j in range(2, 6)
    ]
    mu = float(np.linalg.norm(ends[0] - ends[1])) / math.sqrt(sum(s**2 for s in noise))
    found = verifiers.thm_1_reversed("1/20", 2, n, p, 1, "1/100").found
    assert float(found) == pytest.approx(gaussian_delta(mu, 1.0), rel=1e-4)


def test_printed_phases_end_as_far_away_as_a_simulation_says() -> None:
    """Algorithm 3 on two-point losses at n = 2^12 by a loop of its own: 4,000 runs, five standard errors."""
    n, runs, rng = 2**12, 4000, np.random.default_rng(1)
    logs, R = math.log(1e5), math.sqrt(1 - 1 / n)
    tau = math.sqrt(math.sqrt(logs * math.log(n)) / n)
    eta = 2 / math.sqrt(n) * min(1, 1 / (R * n * tau), 1 / math.log(n))
    w = np.full(runs, 1.0)  # the minimiser
    for i in range(1, 13):
        m, step = n // 2**i, eta / 4**i
        inverse = step * m ** (2 if i == 1 else 1)
        level = math.sqrt(m / math.sqrt(logs * math.log(n)))
        mean = min(1.0, level) * (2 * rng.binomial(m, 0.75, runs) / m - 1)
        core = np.clip(w + mean * inverse, -1, 1)
        w = np.clip(core + 8 * level * math.sqrt(logs) * inverse / m * rng.standard_normal(runs), -1, 1)
    violation = verifiers.thm_1_risk(**{**PRINTED, "log_n": 12, "factor": 8})
    chance = float(violation.statement.rpartition(" ")[2])
    often = ((1 - w) / 2 >= float(violation.found)).mean()
    assert chance == pytest.approx(0.4746, abs=1e-3)
    assert often >= chance - 5 * math.sqrt(0.25 / runs)


def test_largest_batch_agrees_with_a_simulation() -> None:
    """The exact P(S) - e^epsilon Q(S) at epsilon = 1; 2e5 draws, five standard errors: false alarms below 1e-6."""
    T, h, cut, draws = 8, 1.5, 2.0, 200_000
    z = np.random.default_rng(0).standard_normal((draws, T))
    up, down = (((z + np.eye(T)[0] * shift).max(axis=1) > cut).mean() for shift in (h, -h))
    logs = math.log(1e5)
    constant = Fraction(T / (h * h * logs)).limit_denominator(10**12)
    found = float(verifiers.alg_6_shuffled(T, str(constant), 1, "1/100000", "2").found)
    assert found == pytest.approx(up - math.e * down, abs=5 * math.sqrt((1 + math.e**2) / 4 / draws))
