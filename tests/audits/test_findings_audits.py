"""The checks of the findings hold, and would not if a finding were wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from checkout import collected

from dpcheck.engine.catalogue import Catalogue, in_force
from dpcheck.verdicts import Outcome, Verdict

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return collected()


def measured(catalogue: Catalogue, id: str) -> Verdict:
    check = catalogue.checks[id]
    with in_force(catalogue):
        return check.verdict([(cell, check.measure(cell, "smoke", 0)) for cell in check.cells("smoke")])


def ids(catalogue: Catalogue) -> list[str]:
    return [id for id, check in catalogue.checks.items() if check.label in catalogue.findings]


def test_every_finding_has_an_executed_derivation_and_a_number(catalogue: Catalogue) -> None:
    kinds: dict[str, set[str]] = {label: set() for label in catalogue.findings}
    for id in ids(catalogue):
        kinds[catalogue.checks[id].label].add(catalogue.checks[id].kind)
        outcome = measured(catalogue, id).outcome
        assert outcome in catalogue.checks[id].expect, id
        computed = catalogue.checks[id].kind != "risk" and not id.endswith("::derivation")
        assert outcome is Outcome.HOLDS or not computed
    for label, found in kinds.items():
        assert "symbolic" in found, label
        assert found - {"symbolic"}, label


@pytest.mark.parametrize(
    ("label", "check", "factor"),
    [
        ("tsybakov/thm-6@range", "private_over_statistical", 1.5),
        ("pure_heavy_tails/thm-3-1@second-moment", "private_terms_on_both_sides", 30),
    ],
)
def test_a_wrong_constant_is_seen_by_the_numbers(catalogue: Catalogue, label: str, check: str, factor: float) -> None:
    claim = catalogue.claims[label]
    wrong = dict(catalogue.claims)
    wrong[label] = replace(claim, explicit=factor * claim.explicit)
    seeded = replace(catalogue, claims=wrong)
    assert measured(seeded, f"{label}::{check}").outcome is Outcome.REFUTED


def test_a_wrong_order_is_seen_by_the_derivation(catalogue: Catalogue) -> None:
    label = "lp_spaces/thm-7@horizon"
    claim = catalogue.claims[label]
    claims = {**catalogue.claims, label: replace(claim, order=claim.order**2)}
    found = catalogue.derivations[label].run(claims)
    assert not found.complete
    assert found.broken[-1].text == f"which is {claim.title} ({label})"
