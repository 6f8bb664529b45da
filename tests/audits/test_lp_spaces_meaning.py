"""Checks of lp_spaces say what their label says, and see the changes that they are there to see."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkout import collected
from scipy import optimize, special

from dpcheck.accounting import account
from dpcheck.algorithms.lp_spaces import ApproximateObjectivePerturbation, regular
from dpcheck.checks import Check
from dpcheck.geometry import Ball
from dpcheck.interfaces import Problem
from dpcheck.privacy import ApproxDP
from dpcheck.verdicts import Verdict, combine
from dpcheck.workloads import LinearMean, QuadraticMean, signs_on

ROOT = Path(__file__).parents[2]
CHECKS = {key: check for key, check in collected().checks.items() if key.startswith("lp_spaces/")}


def cells(check: Check) -> list[tuple[dict[str, Any], Any]]:
    return [(cell, check.measure(cell, "smoke", 0)) for cell in check.cells("smoke")]


def outcome(key: str) -> str:
    check = CHECKS[f"lp_spaces/{key}"]
    return str(check.verdict(cells(check)).outcome.value)


def module_of(key: str) -> dict[str, Any]:
    return CHECKS[f"lp_spaces/{key}"].function.__globals__


PRINTED = "thm-2@literal::printed_accuracy_on_the_cone"


def test_the_accuracy_of_theorem_2_decides_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuted with the printed exponent 3/2, which Algorithm 1 itself is run with; not so once it is run with 5/2."""
    assert outcome(PRINTED) == "refuted"
    own = ApproximateObjectivePerturbation._alpha

    def swapped(self: Any, *arguments: Any) -> float:
        other = "fixed" if self.alpha_rule == "paper" else "paper"
        return own(ApproximateObjectivePerturbation(alpha_rule=other), *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(ApproximateObjectivePerturbation, "_alpha", swapped)
    assert outcome(PRINTED) == "consistent"


@pytest.mark.parametrize("key", ["alg-3::lines_of_algorithm_3", "alg-4::lines_of_algorithm_4"])
def test_the_lines_under_a_printed_label_run_the_printed_exponent(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    assert outcome(key) == "holds"
    monkeypatch.setattr(regular, "printed_exponent", lambda p, d: regular.dual_regularity(p, d).s)
    check = CHECKS[f"lp_spaces/{key}"]
    found: list[Verdict] = []
    for cell in check.cells("smoke"):
        try:
            found.append(check.measure(cell, "smoke", 0))  # type: ignore[arg-type]
        except Exception:  # the domain's ball is no longer that of the map: seen as well
            return
    assert combine(found).outcome.value in ("refuted", "differs")


def test_the_quoted_baseline_is_read_from_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    key = "proc-bassily21::code_is_the_quoted_rate"
    assert outcome(key) == "holds"
    own = module_of(key)["constrained_rate"]
    monkeypatch.setitem(module_of(key), "constrained_rate", lambda *a: own(*a) * (a[1] ** 0.1 if a[2] >= 2 else 1))
    assert outcome(key) == "refuted"


def test_no_check_supports_a_bound_on_all_algorithms_by_one() -> None:
    """The Bayes risk is the least of all algorithms at once; nothing else supports Theorem 5 but its text."""
    found = {key for key, check in CHECKS.items() if check.label == "lp_spaces/thm-5" and check.kind != "transcription"}
    assert found == {"lp_spaces/thm-5::statistical_term_by_its_bayes_risk"}


def test_algebra_is_called_algebra() -> None:
    """One line of algebra is no measured privacy, sensitivity or stability."""
    for name in ("batched_privacy", "both_releases_move_as_theorem_1_needs"):
        (check,) = [c for c in CHECKS.values() if c.name == name]
        assert check.kind == "symbolic", name


def test_bump_pairs_are_computed_once_and_are_no_sample() -> None:
    (check,) = [c for c in CHECKS.values() if c.name.startswith("bump_pairs")]
    assert set(check.labels) == {"lp_spaces/thm-1", "lp_spaces/thm-3@corrected"}
    verdict = check.verdict(cells(check))
    assert verdict.outcome.value == "holds"
    assert "every_bump" in verdict.reason or verdict.evidence != "sampled"
    assert verdict.failure_probability == 0


@pytest.mark.parametrize(
    "key",
    ["lem-2@corrected::classic_gaussian_noise", "lem-3@corrected::calibration_with_the_true_constant",
     "thm-1@derived::both_gaussians_after_the_jacobian"],
)  # fmt: skip
def test_inequalities_in_two_variables_are_proved(key: str) -> None:
    found = CHECKS[f"lp_spaces/{key}"].measure({}, "smoke", 0)
    assert isinstance(found, Verdict)
    assert (found.outcome.value, found.evidence) == ("holds", "certificate")


def test_a_curved_loss_is_not_certified_unless_its_shift_is_constant() -> None:
    domain = Ball(3, 0.5)
    linear = LinearMean(*signs_on(domain, 1.0, 0.5), domain, 0.5)
    quadratic = QuadraticMean(*signs_on(domain, 0.2, 0.1), domain, 0.5, 0.25)
    curved = replace(quadratic.constants, family="")
    certified = []
    for constants in (linear.constants, quadratic.constants, curved):
        told = Problem(constants=constants, privacy=ApproxDP(0.9, 1e-6))
        plan = ApproximateObjectivePerturbation(alpha_rule="exact").schedule(told, 10_000)
        certified.append(math.isfinite(account(plan).epsilon(1e-6)))
    assert certified == [True, True, False]
    assert account(plan).unproved == ("lp_spaces/thm-1",)
    assert account(plan, assuming="all").epsilon(1e-6) <= 0.9


# The smallest diameter at which Theorem 3 is violated ----------------------------------------------------------------


def log_mass(low: float, high: float) -> float:
    """log P(low <= Z <= high), low > 0."""
    left, right = special.log_ndtr(-low), special.log_ndtr(-high)
    return float(left + np.log(-np.expm1(right - left))) if right < left else -math.inf


def log_excess(R: float, epsilon: float, t: float, k: float, area: float) -> float:
    """log of (P - e^epsilon Q)/delta of `thm_3_bump` for n, M -> inf; t = log(2.5/delta), area in units of L."""
    sigma = math.sqrt(128 * t) / epsilon
    half, centre, tilt = area / (2 * epsilon * R * R), k * sigma, -(1 - area / 2)
    p = log_mass((centre - half + tilt - area / 2) / sigma, (centre + half + tilt + area / 2) / sigma)
    q = log_mass((centre - half + 1) / sigma, (centre + half + 1) / sigma)
    if not math.isfinite(p) or q + epsilon >= p:
        return -1e6
    return p + math.log1p(-math.exp(q + epsilon - p)) - (math.log(2.5) - t)


def largest(R: float, epsilon: float, t: float) -> float:
    start = max(0.1, (1 - math.log1p(epsilon * R * R) / epsilon) * math.sqrt(32 * t))
    grid = [(start * a + 0.3, s) for a in np.linspace(1, 1.6, 25) for s in np.geomspace(0.02, 2, 16)]
    k, area = max(grid, key=lambda at: log_excess(R, epsilon, t, *at))
    found = optimize.minimize(
        lambda x: -log_excess(R, epsilon, t, x[0], min(2.0, math.exp(x[1]))), [k, math.log(area)], method="Nelder-Mead"
    )
    return max(-float(found.fun), log_excess(R, epsilon, t, k, area))


@pytest.mark.parametrize(("digits", "safe", "broken"), [(6, 1.96, 1.97), (12, 1.84, 1.86), (50, 1.75, 1.77)])
def test_the_smallest_diameter(digits: int, safe: float, broken: float) -> None:
    """What the remark of Theorem 3 prints: the family breaks (epsilon, delta) from there on and not 1 % below."""
    t = math.log(2.5) + digits * math.log(10)
    grid = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
    assert max(largest(broken / 2, epsilon, t) for epsilon in grid) > 0
    assert max(largest(safe / 2, epsilon, t) for epsilon in grid) < 0
