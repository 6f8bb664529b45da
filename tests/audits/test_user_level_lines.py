"""The audits of printed lines can fail: each is run with a broken ingredient, or where the line is true."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
from checkout import ChecksOf, collected, errors

from dpcheck.algorithms.user_level import erm, minibatch, phased
from dpcheck.laws import AboveThreshold
from dpcheck.verdicts import Outcome

ROOT = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = collected()
PAPER = "user_level/"
CHECKS = ChecksOf("user_level")
names_of, run = CHECKS.names_of, CHECKS.run


def test_nothing_of_the_paper_is_uncollected() -> None:
    assert [error for error in errors() if "user_level" in error] == []
    labels = {label for c in CATALOGUE.checks.values() for label in c.labels} | set(CATALOGUE.unchecked)
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
    names = names_of("thm-d3", "gradients_of_the_smoothed_algorithm", "gradients_refuted")
    monkeypatch.setitem(names["PLACES"], "few", (10**12, 10**24, 1, 1, 2))
    assert run("thm-d3", "gradients_of_the_smoothed_algorithm", place="few").outcome is Outcome.UNDECIDED
    monkeypatch.setitem(names["PLACES"], "many dimensions", (10**14, 10**14, 10**7, 1, 2))
    assert run("thm-d3", "gradients_of_the_smoothed_algorithm", place="many dimensions").outcome is Outcome.UNDECIDED
    assert names["growth"](2.5) == 0
    assert names["growth"](4.0) == pytest.approx(0.375)


def test_the_count_along_the_rays_grows_beyond_five_halves_only() -> None:
    names = names_of("thm-d3", "gradients_of_the_smoothed_algorithm", "gradients_refuted")
    quotient = names["gradients_without_logs"]
    assert quotient(1e30, 1e60) < 1.1
    assert quotient(1e30, 1e120) > 1e9


# Broken ingredients are found --------------------------------------------------------------------------------------


def test_keeping_outliers_breaks_lemma_b2(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("lem-b2@derived", "kept_mean_against_twelve_tau", "coupled")
    monkeypatch.setitem(names, "inclusion", lambda counts: np.ones_like(counts))
    assert run("lem-b2@derived", "kept_mean_against_twelve_tau", d=1).outcome is Outcome.REFUTED


def test_a_wider_radius_breaks_the_share_of_kept_gradients(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("lem-c2@derived", "share_of_kept_gradients")
    monkeypatch.setitem(names, "inclusion", lambda counts: np.clip(6 * counts / counts.shape[-1] - 4, 0.0, 1.0))
    assert run("lem-c2@derived", "share_of_kept_gradients", d=1).outcome is Outcome.REFUTED


def test_less_noise_breaks_the_threshold_test(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("alg-2@corrected", "one_threshold_keeps_its_promise")
    monkeypatch.setitem(names, "AboveThreshold", lambda a, b: AboveThreshold(a / 8, b / 8))
    assert run("alg-2@corrected", "one_threshold_keeps_its_promise", T=10, epsilon=1.0).outcome is Outcome.REFUTED


def test_less_noise_breaks_amplification(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("lem-a8", "amplification_of_gaussian_noise")
    tight = names["tight_deviation"]
    monkeypatch.setitem(names, "tight_deviation", lambda epsilon, delta: 0.9 * tight(epsilon, delta))
    assert run("lem-a8", "amplification_of_gaussian_noise").outcome is Outcome.REFUTED
    assert run("lem-a8@derived", "sharp_amplification_is_attained").outcome is Outcome.REFUTED


def test_a_wrong_average_breaks_the_second_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("lem-2-3@linear", "second_moment_of_linear_runs", "distances")
    right = names["sgd"]
    monkeypatch.setitem(names, "sgd", lambda work, samples, eta, start: 1.2 * right(work, samples, eta, start))
    assert run("lem-2-3@linear", "second_moment_of_linear_runs", d=10).outcome is Outcome.DIFFERS


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


# Outlier removal, and outputs that read no data ----------------------------------------------------------------------


def mean_of_all(points: Any, counts: Any, uniforms: Any, fallback: Any) -> Any:
    return points.mean(axis=1)


def test_algorithm_1_without_removal_moves_beyond_its_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted outlier lies far beyond what is kept: kept, it moves the mean 20 times its certificate."""
    kept = run("alg-1", "movement_of_planted_iterates", kind="outlier")
    assert kept.outcome is Outcome.HOLDS
    assert float(kept.numbers["reach over tau"]) > 150
    assert float(kept.numbers["largest movement over its certificate"]) < 1e-6
    monkeypatch.setattr(phased, "outlier_removal", mean_of_all)
    moved = run("alg-1", "movement_of_planted_iterates", kind="outlier")
    assert moved.outcome is not Outcome.HOLDS
    assert float(moved.numbers["largest movement over its certificate"]) > 10


def test_algorithm_2_without_removal_moves_beyond_its_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("alg-2", "movement_of_planted_gradients", kind="outlier").outcome is Outcome.HOLDS
    monkeypatch.setattr(minibatch, "outlier_removal", mean_of_all)
    moved = run("alg-2", "movement_of_planted_gradients", kind="outlier")
    assert moved.outcome is not Outcome.HOLDS
    assert float(moved.numbers["largest movement over its certificate"]) > 2


def start_of(self: Any, run: Any, workload: Any, data: Any, start: Any) -> Any:
    return np.broadcast_to(start, (run.trials, start.shape[-1]))


@pytest.mark.parametrize(
    ("item", "name", "kind"),
    [
        ("thm-b1", "risk_where_the_start_fails", phased.PhasedSGD),
        ("thm-c3@derived", "recursion_where_it_says_something", erm.PhasedERM),
        ("alg-3", "risk_on_signs", erm.PhasedERM),
    ],
)
def test_a_risk_that_holds_is_refuted_of_the_start(
    item: str, name: str, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "execute", start_of)
    assert run(item, name).outcome is Outcome.REFUTED


@pytest.mark.parametrize(
    ("item", "name", "cell"),
    [("thm-4-1@risk", "risk_without_smoothness", {}), ("thm-3-2", "risk_of_the_informal_theorem", {}),
     ("lem-d2", "risk_of_larger_minibatches", {})],
)  # fmt: skip
def test_a_risk_that_the_start_keeps_is_undecided(item: str, name: str, cell: dict[str, Any]) -> None:
    found = run(item, name, **cell)
    assert found.outcome is Outcome.UNDECIDED
    assert "no evidence for the algorithm" in found.reason
    assert float(found.numbers["certified epsilon"]) > 1


def test_subsampled_phases_of_theorem_3_1_are_undecided() -> None:
    found = run("thm-3-1", "sampled_phases_are_not_certified", size="n = 1e8, H = 1e12")
    assert found.outcome is Outcome.UNDECIDED
    assert float(found.numbers["certified epsilon"]) > 1e8
    assert found.numbers["sampled phases"] == 4
    assert run("thm-3-1", "theorem_3_1_at_its_border", epsilon=1.0, H=1.0).outcome is Outcome.HOLDS  # full batches


def test_a_bound_of_another_order_than_lemma_b2_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("lem-b2", "derived_bound_is_of_the_stated_order")
    order = names["order_of"]("user_level/lem-b2")
    groups = next(s for s in order.free_symbols if s.name == "C")
    monkeypatch.setitem(names, "order_of", lambda label: order / groups)
    assert run("lem-b2", "derived_bound_is_of_the_stated_order").outcome is Outcome.DIFFERS


def test_the_bound_on_what_the_printed_parameters_learn_is_tight_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without noise SGD travels all of s towards the minimiser; with 2 % less of it the bound would be false."""
    item, name = "thm-b1@travel", "printed_algorithm_1_on_two_opposite_data_sets"
    names = names_of(item, name)
    assert run(item, name, log_n=18).outcome is Outcome.HOLDS
    monkeypatch.setitem(names, "PhasedSGD", lambda **dials: phased.PhasedSGD(**{**dials, "c_noise": 1e-12}))
    assert run(item, name, log_n=18).outcome is Outcome.HOLDS
    travel = names["travel"]
    monkeypatch.setitem(names, "travel", lambda *at: 0.98 * travel(*at))
    assert run(item, name, log_n=18).outcome is Outcome.REFUTED


def test_the_batch_of_algorithm_3_is_what_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    batch = minibatch.Accelerated.batch
    monkeypatch.setattr(minibatch.Accelerated, "batch", lambda *at: max(1, batch(*at) - 1))
    assert run("thm-c3@corrected", "capped_minibatches_fit_and_pass").outcome is Outcome.REFUTED
