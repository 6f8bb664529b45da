"""The audits of printed lines can fail: each is run with a broken ingredient, or where the line is true."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

from dpcheck.engine import catalogue
from dpcheck.laws import AboveThreshold
from dpcheck.verdicts import Outcome, Verdict, combine

ROOT = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = catalogue.load(ROOT, [ROOT / "bounds", ROOT / "audits"])
PAPER = "user_level/"


def names_of(item: str, name: str) -> dict[str, Any]:
    """The names that a check's function looks up: what a test breaks."""
    found: dict[str, Any] = CATALOGUE.checks[f"{PAPER}{item}::{name}"].function.__globals__
    return found


def run(item: str, name: str, **cell: Any) -> Verdict:
    """One cell at the smallest size (or all cells)."""
    found = CATALOGUE.checks[f"{PAPER}{item}::{name}"]
    verdicts = [found.measure(one, "smoke", 0) for one in ([cell] if cell else found.cells("smoke"))]
    return combine([v for v in verdicts if isinstance(v, Verdict)])


def test_nothing_of_the_paper_is_uncollected() -> None:
    assert [str(error) for error in CATALOGUE.errors if "user_level" in str(error)] == []
    labels = {c.label for c in CATALOGUE.checks.values()} | set(CATALOGUE.unchecked)
    assert {label for label in CATALOGUE.claims if label.startswith(PAPER)} <= labels


# Lines where they are true are not refuted -------------------------------------------------------------------------


def test_the_tail_line_above_its_border_is_not_refuted() -> None:
    assert run("thm-b1@tail", "tail_line_at_small_delta", log_10_delta=14).outcome is Outcome.REFUTED
    assert run("thm-b1@tail", "tail_line_at_small_delta", log_10_delta=12).outcome is Outcome.UNDECIDED


def test_few_rounds_of_fresh_thresholds_are_not_refuted() -> None:
    assert run("alg-2@literal", "fresh_thresholds_are_not_private", T=10).outcome is Outcome.REFUTED
    assert run("alg-2@literal", "fresh_thresholds_are_not_private", T=6).outcome is Outcome.UNDECIDED


def test_the_gradient_count_is_not_refuted_for_few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """m = n^2: within the stated order once its logarithms are granted."""
    names = names_of("thm-d3", "gradients_of_the_smoothed_algorithm")
    monkeypatch.setitem(names["PLACES"], "few", (10**12, 10**24, 1, 1, 2))
    assert run("thm-d3", "gradients_of_the_smoothed_algorithm", place="few").outcome is Outcome.UNDECIDED
    monkeypatch.setitem(names["PLACES"], "many dimensions", (10**14, 10**14, 10**7, 1, 2))
    assert run("thm-d3", "gradients_of_the_smoothed_algorithm", place="many dimensions").outcome is Outcome.UNDECIDED
    assert names["growth"](2.5) == 0
    assert names["growth"](4.0) == pytest.approx(0.375)


def test_the_count_along_the_rays_grows_beyond_five_halves_only() -> None:
    quotient = names_of("thm-d3", "gradients_of_the_smoothed_algorithm")["without_logs"]
    assert quotient(1e30, 1e60) < 1.1
    assert quotient(1e30, 1e120) > 1e9


# Broken ingredients are found --------------------------------------------------------------------------------------


def test_keeping_outliers_breaks_lemma_b2(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("lem-b2@derived", "kept_mean_against_twelve_tau")
    monkeypatch.setitem(names, "inclusion", lambda counts: np.ones_like(counts))
    assert run("lem-b2@derived", "kept_mean_against_twelve_tau", d=1).outcome is Outcome.REFUTED


def test_a_wider_radius_breaks_the_share_of_kept_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("lem-c2@derived", "share_of_kept_gradients")
    monkeypatch.setitem(names, "inclusion", lambda counts: np.clip(6 * counts / counts.shape[-1] - 4, 0.0, 1.0))
    assert run("lem-c2@derived", "share_of_kept_gradients", d=1).outcome is Outcome.REFUTED


def test_less_noise_breaks_the_threshold_test(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("alg-2@corrected", "one_threshold_keeps_its_promise")
    monkeypatch.setitem(names, "AboveThreshold", lambda a, b: AboveThreshold(a / 8, b / 8))
    assert run("alg-2@corrected", "one_threshold_keeps_its_promise", T=10).outcome is Outcome.REFUTED


def test_less_noise_breaks_amplification(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("lem-a8", "amplification_of_gaussian_noise")
    tight = names["tight_deviation"]
    monkeypatch.setitem(names, "tight_deviation", lambda epsilon, delta: 0.9 * tight(epsilon, delta))
    assert run("lem-a8", "amplification_of_gaussian_noise").outcome is Outcome.REFUTED
    assert run("lem-a8@derived", "sharp_amplification_is_attained").outcome is Outcome.REFUTED


def test_a_wrong_average_breaks_the_second_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("lem-2-3@linear", "second_moment_of_linear_runs")
    right = names["sgd"]
    monkeypatch.setitem(names, "sgd", lambda work, samples, eta, start: 1.2 * right(work, samples, eta, start))
    assert run("lem-2-3@linear", "second_moment_of_linear_runs", d=10).outcome is Outcome.REFUTED


def test_whoever_knows_the_mean_beats_the_lower_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("fact-lower-bound", "statistical_half_by_its_bayes_risk")
    monkeypatch.setitem(names, "averaged_risks", lambda context, samples, d, who: np.zeros(2000))
    assert run("fact-lower-bound", "statistical_half_by_its_bayes_risk", d=1).outcome is Outcome.REFUTED


def test_less_noise_does_not_survive_the_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a hundredth of the printed noise (C a hundred times larger in its formula) the argument fails."""
    names = names_of("thm-b1@corrected", "privacy_survives_with_another_event")
    share = names["repaired_share"]
    monkeypatch.setitem(names, "repaired_share", lambda *point: tuple(100 * x for x in share(*point)))
    point = next(iter(names["SURVIVAL"]))
    assert run("thm-b1@corrected", "privacy_survives_with_another_event", point=point).outcome is Outcome.REFUTED


def test_other_constants_miss_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("thm-b1@derived", "smallest_n_of_theorem_b1")
    bound = names["linear_time_bound"]
    monkeypatch.setitem(names, "linear_time_bound", lambda *at, **how: 0.5 * bound(*at, **how))
    setting = "m = d = 10, epsilon = 1"
    assert run("thm-b1@derived", "smallest_n_of_theorem_b1", setting=setting).outcome is Outcome.REFUTED


def test_private_points_of_a_larger_budget_are_less_stable(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("fact-dp-stability@derived", "best_private_point_of_its_own_user")
    worst = names["worst_private_point"]
    monkeypatch.setitem(names, "worst_private_point", lambda c, e, dl: worst(c, 3 * e, dl))
    assert run("fact-dp-stability@derived", "best_private_point_of_its_own_user").outcome is Outcome.REFUTED
