"""Checks of l1_geometry that once said more than they knew: each can come out otherwise, and says what it measured."""

from __future__ import annotations

import functools
import math
import pathlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from checkout import collected, verifiers_of

from dpcheck.algorithms.l1_geometry import NoisyMirrorDescent
from dpcheck.checks import Check
from dpcheck.engine import judge
from dpcheck.verdicts import Verdict

verifiers = verifiers_of("l1_geometry")

ROOT = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = collected()


def check_of(item: str) -> Check:
    return CATALOGUE.checks[f"l1_geometry/{item}"]


def verdict_of(item: str) -> Verdict:
    one = check_of(item)
    measured = [(cell, one.measure(cell, "smoke", 0)) for cell in one.cells("smoke")]
    return judge.conclude(one, measured, CATALOGUE.claims.get(one.label))


def names_of(item: str) -> dict[str, Any]:
    return check_of(item).function.__globals__


# Lemma 4.1 ------------------------------------------------------------------------------------------------------------


def test_losses_of_the_fixed_allocation_grow_towards_twice_epsilon() -> None:
    # At f95bebe the series was 1.51, 1.80, 0.849, 2.2e-16: the event was not among 400 sampled transcripts.
    found = verdict_of("lem-4-1::fixed_allocation_loses_more_than_epsilon")
    values = [point.value for point in sorted(found.points, key=lambda point: point.x)]
    assert values == sorted(values)
    assert 1.98 < values[-1] < 2.0
    for point in found.points:
        exact = float(verifiers.lem_4_1_fixed(int(point.x), 1, "1/10").found)
        assert point.value == pytest.approx(exact, rel=1e-9)
    assert f"{values[-1]:.5f}" in found.reason  # the sentence tells the worst size
    assert [point.bound for point in found.points] == [1.0] * len(values)


def test_the_enumeration_misses_no_outcome() -> None:
    names = names_of("lem-4-1::fixed_allocation_loses_more_than_epsilon")
    case, (data, neighbour, _) = names["tree_case"](40, "printed"), names["right_child_pair"](40)
    here = names["enumerate_selections"](case, data, neighbour)
    assert here.moved == pytest.approx(2.0)
    sampled = np.abs(case.replay(data, neighbour, 400).loss()).max()
    assert sampled <= here.loss + 1e-9
    assert (
        names["enumerate_selections"](case, data, neighbour).loss
        == names["enumerate_selections"](case, neighbour, data).loss
    )


def test_no_certificate_rests_on_the_printed_sensitivities() -> None:
    # At f95bebe `alg-3::account_of_the_tree` said "holds (certificate)" of the printed reading.
    privacy = [
        c for c in CATALOGUE.checks_of("l1_geometry/alg-3") if c.kind == "privacy" and c.label == "l1_geometry/alg-3"
    ]
    assert privacy == []
    found = verdict_of("alg-3@corrected::account_of_the_tree")
    assert found.outcome == "holds"
    assert found.numbers["certified for the printed noise"] == pytest.approx(1.0)  # of 0.5 promised


def test_the_auditor_sees_the_right_child_and_not_the_corrected_one() -> None:
    found = verdict_of("lem-4-1::auditor_finds_the_right_child")
    assert found.outcome == "refuted"
    assert found.numbers["epsilon_lower"] > 1.2
    assert found.witness is not None
    assert found.witness.label == "l1_geometry/lem-4-1"
    corrected = verdict_of("lem-4-1@corrected::auditor_of_the_corrected_tree")
    assert corrected.outcome == "consistent"
    assert "1.2" in corrected.notices


# Checks that could not fail ------------------------------------------------------------------------------------------


def test_the_worst_pair_can_refute_the_printed_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    # At f95bebe it computed its own sigma, and an epsilon above 1 was "inconclusive", which was expected.
    item = "thm-3::true_epsilon_of_the_worst_pair"
    assert verdict_of(item).outcome == "consistent"
    quiet = functools.partial(NoisyMirrorDescent, c_sigma=1.0)
    monkeypatch.setitem(names_of(item), "NoisyMirrorDescent", lambda **k: quiet(**{"c_sigma": 1.0, **k}))
    assert verdict_of(item).outcome == "differs"


@pytest.mark.parametrize(
    ("item", "label"),
    [
        ("thm-4::sums_of_the_phases", "thm-4"),
        ("asm-thm6::window_of_theorem_6", "thm-6@literal"),
        ("asm-thm7::windows_of_theorem_7", "thm-9@literal"),
    ],
)
def test_constants_are_read_from_the_claims(item: str, label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # At f95bebe the numbers stood in the check, and a claim that was wrong by a factor 2 passed.
    assert verdict_of(item).outcome == "holds"
    real = names_of(item)["claim"]

    def halved(wanted: str) -> Any:
        found = real(wanted)
        if wanted != f"l1_geometry/{label}":
            return found
        windows = tuple(type(a)(a.lhs / 2, a.rhs) if a.rhs.is_Symbol else type(a)(a.lhs, a.rhs / 2)
                        for a in found.assumptions)  # fmt: skip
        return replace(found, explicit=None if found.explicit is None else found.explicit / 2, assumptions=windows)

    monkeypatch.setitem(names_of(item), "claim", halved)
    assert verdict_of(item).outcome != "holds"


def test_the_returned_average_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    # At f95bebe the dual iterates alone were compared: returning the start passed.
    class Lazy(NoisyMirrorDescent):
        def execute(self, run: Any, workload: Any, data: Any, start: Any) -> Any:
            super().execute(run, workload, data, start)
            return np.broadcast_to(start, (run.trials, start.shape[-1]))

    item = "alg-1::dual_iterates_in_closed_form"
    assert verdict_of(item).outcome == "holds"
    monkeypatch.setitem(names_of(item), "NoisyMirrorDescent", Lazy)
    assert verdict_of(item).outcome in ("refuted", "differs")


def test_every_leaf_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    # At f95bebe only the last leaf was: an error anywhere else passed.
    item = "lem-4-2::error_at_every_leaf"
    assert verdict_of(item).numbers["leaves"] == 14
    real = names_of(item)["_errors"]

    def first_leaf_off(*arguments: Any) -> Any:
        errors, points = real(*arguments)
        errors = errors.copy()
        errors[3] += 5.0
        return errors, points

    monkeypatch.setitem(names_of(item), "_errors", first_leaf_off)
    assert verdict_of(item).outcome in ("refuted", "differs")


def test_relative_strong_convexity_reads_the_divergence(monkeypatch: pytest.MonkeyPatch) -> None:
    item = "def-2-4::sums_keep_relative_strong_convexity"
    assert verdict_of(item).outcome == "consistent"

    class Steeper(names_of(item)["Entropy"]):  # type: ignore[misc]
        def gradient(self, w: Any) -> Any:
            return 2 * super().gradient(w)

    monkeypatch.setitem(names_of(item), "Entropy", Steeper)
    assert verdict_of(item).outcome in ("refuted", "differs")


# What was missing, and what is said ----------------------------------------------------------------------------------


def test_the_second_branch_of_theorem_6_is_run_against_its_claim() -> None:
    names = names_of("thm-6@derived::risk_of_the_second_branch")
    assert names["_second_branch"](3072, 1.0) == pytest.approx(
        2 * math.sqrt(3 * math.log(16) / 3072) + 12 * (1 + math.log(16)) / 3072
    )
    assert verdict_of("thm-6@derived::small_smoothness_needs_no_more_noise").outcome == "holds"


def test_the_printed_step_at_p_2_is_refuted_by_a_loss_on_which_it_is_too_short() -> None:
    found = verdict_of("thm-12@literal::printed_step_at_two_keeps_the_logarithm")
    assert found.outcome == "refuted"
    printed = [found.numbers[f"excess over the private term, printed step, d = {d}"] for d in (4, 32, 256)]
    corrected = [found.numbers[f"excess over the private term, corrected step, d = {d}"] for d in (4, 32, 256)]
    assert printed == sorted(printed)
    assert printed[-1] > 1.7 * printed[0]  # sqrt(log 256/log 4) = 2
    assert max(corrected) < 1.2 * min(corrected)


@pytest.mark.parametrize("item", ["thm-12@corrected::empirical_excess_at_two", "thm-4::risk_of_localised_descent"])
def test_descents_have_the_least_noise_that_is_certified(item: str) -> None:
    """Fails at 45485ee, where the constant was 3 and the accountant certified 3.18 and 2.10 of the 1 asked for."""
    found = verdict_of(item)
    assert 0.97 < found.numbers["certified epsilon"] <= 1
    assert found.numbers["noise"] == "enough noise"
    assert 2 < found.numbers["certified over worst pair"] < 20
    assert "ε = 1 is asked for, loose by at most a factor" in found.reason


def test_a_regret_at_delta_two_fifths_is_called_no_private_run() -> None:
    assert "delta = 0.4" in check_of("alg-2::regret_of_the_phases").doc


def test_no_check_of_the_paper_says_inconclusive() -> None:
    for path in sorted((ROOT / "audits" / "l1_geometry").glob("*.py")):
        assert "inconclusive" not in path.read_text(), path.name


def test_one_defect_has_one_grade() -> None:
    # At f95bebe Proposition 1 was refuted, Lemma 6.1 and Theorems 10 and 11 slips, for the same missing min{1, .}.
    own = {
        label.removeprefix("l1_geometry/"): c for label, c in CATALOGUE.claims.items() if c.paper.key == "l1_geometry"
    }
    graded = {item: one.grade for item, one in own.items() if one.grade}
    capped = ("lem-6-1@literal", "thm-10@literal", "thm-11@literal", "prop-1@literal")
    assert {graded[item] for item in capped} == {"slip"}
    assert {graded[item] for item in ("thm-8", "thm-8@literal", "thm-9", "thm-9@literal")} == {"slip"}
    assert {item for item, grade in graded.items() if grade == "refuted"} == {"lem-3-2", "lem-4-1"}
