"""The audits of Appendices E, F and G can fail: each is run with a deliberately broken ingredient."""

from __future__ import annotations

import pathlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from checkout import ChecksOf, collected, errors
from scipy import stats

from dpcheck import witnesses
from dpcheck.algorithms.pure_heavy_tails import (
    EMPGM,
    LocalizedApproxEM,
    NoisyClippedSubgradient,
    OutputPertLocalize,
    SingleOutputPert,
    SmoothedEMPGM,
)
from dpcheck.laws import Exponential
from dpcheck.verdicts import Outcome

ROOT = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = collected()
PAPER = "pure_heavy_tails/"
CHECKS = ChecksOf("pure_heavy_tails")
names_of, run = CHECKS.names_of, CHECKS.run


def test_no_collection_errors() -> None:
    assert [error for error in errors() if "pure_heavy_tails/appendix_" in error] == []


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ("thm-e-1@literal", "identity_of_step_two"),
        ("prop-e-4@literal", "data_dependent_step"),
        ("alg-7@literal", "diameter_of_w_0"),
        ("lem-g-1@literal", "display_of_the_proof"),
        ("prop-g-4@literal", "logarithm_of_two_points"),
    ],
)
def test_literal_readings_are_refuted_with_a_witness(item: str, name: str) -> None:
    found = run(item, name)
    assert found.outcome is Outcome.REFUTED
    assert found.witness is not None
    assert witnesses.verify(found.witness, assumptions=CATALOGUE.claims[f"{PAPER}{item}"].assumptions).violated


@pytest.mark.parametrize(("n", "realised"), [(20, 2.84164306672), (100, 21.4930478571), (400, 93.5442232802)])
def test_the_implementation_leaks_what_the_witness_says(n: int, realised: float) -> None:
    found = run("prop-e-4@literal", "data_dependent_step", n=n, rule="data")
    assert found.numbers["realised"] == pytest.approx(realised, rel=1e-8)
    assert found.numbers["realised with a public step"] < 1


def test_true_smoothness_leaks_as_much() -> None:
    found = run("prop-e-4@literal", "data_dependent_step", n=100, rule="true smoothness")
    assert found.numbers["realised"] == pytest.approx(21.493047861, rel=1e-8)


def sharper(ordinary: Any) -> Any:
    """A schedule whose selection has twice the coefficient."""

    def schedule(self: EMPGM, problem: Any, n: int) -> Any:
        return ordinary(self, problem, n).edit("point", law=lambda law: Exponential(2 * law.coefficient))

    return schedule


def test_a_sharper_selection_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the coefficient: the account and the exact law both exceed epsilon."""
    monkeypatch.setattr(EMPGM, "schedule", sharper(EMPGM.schedule))
    assert run("alg-5", "exact_privacy", n=100, epsilon=1.0).outcome is Outcome.REFUTED


@pytest.mark.parametrize(
    ("kind", "item", "name", "cell"),
    [
        (EMPGM, "alg-5", "outputs_of_algorithm_5", {}),
        (SmoothedEMPGM, "prop-e-4@corrected", "outputs_of_smoothed_em_pgm", {}),
        (OutputPertLocalize, "alg-2", "outputs_of_output_perturbation", {"solver": "Algorithm 2"}),
        (SingleOutputPert, "alg-2", "outputs_of_output_perturbation", {"solver": "one stage"}),
        (NoisyClippedSubgradient, "proc-noisy-subgradient", "outputs_of_the_baseline", {"steps": 1}),
        (NoisyClippedSubgradient, "proc-noisy-subgradient", "outputs_of_the_baseline", {"steps": 2}),
    ],
)
def test_half_of_the_noise_is_seen_in_the_outputs(
    monkeypatch: pytest.MonkeyPatch, kind: Any, item: str, name: str, cell: dict[str, Any]
) -> None:
    """The outputs alone refute it: neither the schedule nor the account is asked."""

    def halved(self: Any, problem: Any, n: int) -> Any:
        plan = ordinary(self, problem, n)
        if isinstance(plan.releases[0].law, Exponential):
            return plan.edit("point", law=lambda law: Exponential(2 * law.coefficient))
        return plan.edit("*", law=lambda law: replace(law, scale=law.scale / 2))

    assert run(item, name, **cell).outcome is Outcome.CONSISTENT
    ordinary = kind.schedule
    monkeypatch.setattr(kind, "schedule", halved)
    assert run(item, name, **cell).outcome is Outcome.REFUTED


def test_the_steepest_pair_refutes_half_of_the_noise_by_its_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pair costs 1.89 then, whatever the account says."""
    monkeypatch.setattr(EMPGM, "schedule", sharper(EMPGM.schedule))
    found = run("alg-5", "exact_privacy_of_the_steepest_pair")
    assert found.outcome is Outcome.REFUTED
    assert found.numbers["realised"] == pytest.approx(1.893, abs=1e-3)


def test_unclipped_scores_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("alg-5", "score_sensitivity")
    module = __import__("dpcheck.algorithms.pure_heavy_tails.exponential", fromlist=["clip_norm"])
    monkeypatch.setattr(module, "clip_norm", lambda v, level: v)
    assert run("alg-5", "score_sensitivity", n=12).outcome is Outcome.REFUTED
    assert names["FAR"] > 1e3


def test_a_step_from_the_data_is_no_corrected_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """The check of the public step size, run on the printed one."""
    printed = SmoothedEMPGM().step
    monkeypatch.setattr(
        SmoothedEMPGM, "step", lambda self, work, sample, stage: printed(work, sample, replace(stage, lambda_=0.1))
    )
    assert run("prop-e-4@corrected", "public_step", n=100).outcome is Outcome.REFUTED


def test_a_coarse_net_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("alg-5", "printed_parameters")
    fine = names["net"]
    monkeypatch.setitem(names, "net", lambda work, eta: fine(work, 3 * eta))
    assert run("alg-5", "printed_parameters").outcome is Outcome.REFUTED


def test_a_gibbs_law_with_a_quarter_of_the_sensitivity_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = LocalizedApproxEM.scale
    monkeypatch.setattr(
        LocalizedApproxEM, "scale", lambda self, *given: (usual(self, *given)[0] / 4, usual(self, *given)[1])
    )
    assert run("alg-7", "gibbs_stage", m=10_000, epsilon=1.0).outcome is Outcome.REFUTED
    assert run("alg-7", "printed_scales").outcome is Outcome.REFUTED


def test_calls_left_out_of_the_schedule_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extensions' own gradients the schedule claims less than is counted."""
    module = __import__("dpcheck.algorithms.pure_heavy_tails.sampling", fromlist=["LINE_CALLS"])
    monkeypatch.setattr(module, "LINE_CALLS", 0)
    assert run("alg-7", "gradients_of_algorithm_7", evaluator="exact", m=5).outcome is Outcome.REFUTED


def test_an_anchor_off_the_centre_doubles_the_sensitivity() -> None:
    """Lemma F.1 by radius needs the anchor in the middle: at the end of U the change is twice as large."""
    names = names_of("lem-f-1@derived", "centred_by_radius")
    from dpcheck.checks import Context

    moved, _ = names["_moved_scores"](Context(PAPER + "lem-f-1", "control", {}), -1.0)
    assert float(np.abs(moved).max()) == pytest.approx(2 * 2 * 0.7 * 1.0 / 12)


def test_a_wrong_gibbs_slope_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("proc-logconcave-sampler", "cells_against_gibbs")
    monkeypatch.setitem(names, "gibbs_linear", lambda *given: stats.uniform(-1.0, 4.0))
    assert run("proc-logconcave-sampler", "cells_against_gibbs", count=1024).outcome is Outcome.REFUTED


def test_a_packing_that_is_too_close_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    names = names_of("proc-hard-pack", "packed_instances")
    usual = names["packing"]

    def close(d: int, rng: Any) -> Any:
        V = usual(d, rng).copy()
        V[1] = V[0] + 0.1 * (V[1] - V[0])
        V[1] /= np.linalg.norm(V[1])
        return V

    monkeypatch.setitem(names, "packing", close)
    monkeypatch.setitem(
        names,
        "packed_laws",
        lambda *given, **fields: ordinary(usual(2, np.random.default_rng(0)), *given[1:], **fields),
    )
    ordinary = __import__("dpcheck.algorithms.pure_heavy_tails.hard_instances", fromlist=["packed_laws"]).packed_laws
    assert run("proc-hard-pack", "packed_instances", d=2).outcome is Outcome.REFUTED


def test_a_decoder_that_beats_privacy_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decoder without privacy in the private one's place falls below q/(2(1+q))."""
    names = names_of("fact-bd14", "decoders_err")
    monkeypatch.setitem(names, "private_decoder_error", lambda size, n, epsilon, p: (1 - p) ** n * (1 - 1 / size))
    assert run("fact-bd14", "decoders_err").outcome is Outcome.REFUTED


def test_an_algorithm_that_beats_the_lower_bound_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The minimiser without privacy, passed off as private; 200 trials at a failure probability of 2e-6."""
    names = names_of("thm-g-6@corrected", "algorithms_on_a_line")
    monkeypatch.setitem(names, "_algorithms", lambda d: {"impostor": names["NonPrivate"]()})
    assert run("thm-g-6@corrected", "algorithms_on_a_line", n=1600).outcome is Outcome.REFUTED


@pytest.mark.parametrize(
    ("factor", "item", "name"), [(4, "prop-g-2", "majority_test_errs"), (1.01, "prop-g-2@derived", "two_point_bound")]
)
def test_too_large_a_bias_is_found(monkeypatch: pytest.MonkeyPatch, factor: float, item: str, name: str) -> None:
    """Four times the bias: the best test errs with less than zeta. One percent: the formula is another one."""
    names = names_of(item, name)
    usual = names["bounded_pair"]

    def biased(n: int, zeta: float, **fields: Any) -> Any:
        return tuple(replace(work, rho=max(-1.0, min(1.0, factor * work.rho))) for work in usual(n, zeta, **fields))

    monkeypatch.setitem(names, "bounded_pair", biased)
    assert run(item, name).outcome is Outcome.REFUTED
