"""Proofs between the points of a grid: each fails where its claim, or its region, is another one."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
import sympy as sp
from checkout import ChecksOf

from dpcheck.workloads.tilted_power import growth_constant

RUN = {paper: ChecksOf(paper).run for paper in ("tsybakov", "user_level", "l1_geometry")}


def module(name: str) -> Any:
    return importlib.import_module(f"audits.{name}")


def tampered(monkeypatch: pytest.MonkeyPatch, name: str, item: str, factor: sp.Rational) -> Any:
    """The module, in which the bound of one item has a wrong factor."""
    found = module(name)
    for reader in {"explicit_of", "order_of"} & vars(found).keys():
        original = getattr(found, reader)

        def wrong(label: str, original: Any = original) -> sp.Expr:
            return original(label) * (factor if label.endswith(f"/{item}") else 1)

        monkeypatch.setattr(found, reader, wrong)
    return found


@pytest.mark.parametrize(
    ("name", "proof", "item", "factor"),
    [
        ("user_level.lemmas", "joint_convexity", "lem-a8@derived", "98/100"),
        ("user_level.lemmas", "joint_convexity", "lem-a8", "98/100"),
        ("user_level.lemmas", "place_by_place", "lem-a8@corrected", "98/100"),
        ("tsybakov.section_4_calls", "_doubling", "alg-5@corrected", "98/100"),
        ("tsybakov.section_4_calls", "_doubling", "alg-5@corrected-records", "102/100"),
        ("tsybakov.appendix_b", "_contracted", "fact-thm3-recursion", "1/64"),
        ("tsybakov.appendix_b", "_fair_signs", "lem-3", "1/2"),
        ("tsybakov.appendix_b_lower_bounds", "_every_simplex", "lem-5@corrected", "102/100"),
    ],
)
def test_a_wrong_factor_in_the_claim_is_not_proved(name, proof, item, factor, monkeypatch):
    assert getattr(module(name), proof)().outcome == "holds"
    assert getattr(tampered(monkeypatch, name, item, sp.Rational(factor)), proof)().outcome != "holds"


REPAIR = ("thm-b1@corrected", "privacy_survives_over_the_legal_range")


def names_of_the_repair() -> dict[str, dict[str, Any]]:
    own = ChecksOf("user_level").names_of(*REPAIR)
    return {"appendix_b": own, "cases": own["covered"].__globals__}


def legal_range() -> str:
    return str(RUN["user_level"](*REPAIR).outcome)


def test_the_noise_of_algorithm_1_is_not_enough_for_a_mean_that_moves_three_times_as_far():
    cases = module("user_level.cases")
    moved = cases.explicit_of("user_level/lem-b2@derived")
    assert cases.covered(moved).outcome == "holds"
    assert cases.covered(3 * moved).outcome == "refuted"


@pytest.mark.parametrize(("reader", "item", "factor"), [("cases", "sigma", "1/2"), ("appendix_b", "groups", "98/100")])
def test_less_noise_or_fewer_groups_break_the_repair(reader, item, factor, monkeypatch):
    assert legal_range() == "holds"
    found = names_of_the_repair()[reader]
    original = found["explicit_of"]

    def wrong(label: str) -> sp.Expr:
        explicit = original(label)
        if not label.endswith(f"alg-1@{item}"):
            return explicit
        return explicit * sp.Rational(factor) if item == "sigma" else sp.ceiling(explicit.args[0] * sp.Rational(factor))

    monkeypatch.setitem(found, "explicit_of", wrong)
    assert legal_range() != "holds"


@pytest.mark.parametrize("least", [12, 17])
def test_a_region_that_is_larger_or_leaves_something_out_is_refused(least, monkeypatch):
    """At x = log(n/delta) >= 12 the printed noise is not enough; from 17 on the box leaves out what is claimed."""
    monkeypatch.setitem(names_of_the_repair()["cases"], "LEAST_X", least)
    assert legal_range() == "refuted"


@pytest.mark.parametrize(("theta", "reach"), [(2, 1.0), (3, 1.0), (3, 2.0), (4, 1.0), (4, 2.0)])
def test_declared_noise_conditions_are_the_largest(theta, reach):
    """A constant that is 2 % larger is refuted; at theta = 3 so is a ball that is a tenth larger."""
    proof = module("tsybakov.section_3")._on_the_line
    growth = growth_constant(float(theta), reach)
    assert proof(theta, growth, reach).outcome == "holds"
    assert proof(theta, 1.02 * growth, reach).outcome == "refuted"
    assert theta != 3 or proof(theta, growth, 1.1 * reach).outcome == "refuted"


def test_noise_of_algorithm_2_beyond_its_reach_is_no_violation_between_the_points(monkeypatch):
    """Cells that are not decided say nothing; points at which too much is asked for do."""
    names = ChecksOf("user_level").names_of("lem-c2", "noise_of_algorithm_2_at_usable_delta")
    asked = names["asked_over_printed"]
    for factor, outcome in ((1.18, "consistent"), (1.3, "refuted")):
        monkeypatch.setitem(names, "asked_over_printed", lambda *at, by=factor: by * asked(*at))
        assert RUN["user_level"]("lem-c2", "noise_of_algorithm_2_at_usable_delta").outcome == outcome


def test_descent_that_is_too_slow_is_refuted_on_chebyshev_points(monkeypatch):
    names = ChecksOf("user_level").names_of("proc-ac-sa", "exact_gradients_on_quadratics")
    right = names["ac_sa"]
    monkeypatch.setitem(names, "ac_sa", lambda *at, **how: 2 * right(*at, **how))
    assert RUN["user_level"]("proc-ac-sa", "exact_gradients_on_quadratics", T=200).outcome == "refuted"
