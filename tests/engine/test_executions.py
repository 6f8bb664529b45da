"""What a derivation showed is kept, in print, for the report, under its sources; a check executes it anew."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from edits import edit
from test_derived_checks import GIVEN, ID, WORDS, Make, project_with, said

from dpcheck.engine import catalogue, executions, memo
from dpcheck.verdicts import Outcome

LABEL = "toy/thm-1@corrected"


@pytest.fixture
def root(project: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(memo.FOLDER, str(tmp_path / "cache"))
    return project_with(project, GIVEN)


def key_of(root: Path) -> tuple[str, ...]:
    return executions._key(ID, catalogue.load(root).fingerprints([ID])[ID])


def shown(root: Path) -> list[str]:
    card = catalogue.load(root).card(LABEL)
    assert card is not None
    return [step.standing for step in card.steps]


def forged(root: Path) -> None:
    """Keeps another proof where that of these sources belongs."""
    card = catalogue.load(root).card(LABEL)
    assert card is not None
    wrong = replace(card, steps=tuple(replace(step, standing="fails") for step in card.steps))
    memo.write(asdict(wrong), "transcript", *key_of(root))


def test_the_report_shows_what_the_check_found(root: Path) -> None:
    found = catalogue.load(root)
    assert said(found, ID).outcome is Outcome.HOLDS
    assert memo.read("transcript", *key_of(root)) is None
    found.executions.keep(ID, found.fingerprints([ID])[ID])
    kept = memo.read("transcript", *key_of(root))
    assert [step["standing"] for step in kept["steps"]] == shown(root) == ["follows", "follows"]
    assert catalogue.load(root).card(LABEL) == found.card(LABEL)


def test_what_was_shown_without_a_check_that_ran_is_kept_as_well(root: Path) -> None:
    assert shown(root) == ["follows", "follows"]
    assert memo.read("transcript", *key_of(root)) is not None


def test_no_check_believes_it(root: Path) -> None:
    forged(root)
    assert shown(root) == ["fails", "fails"]
    assert said(catalogue.load(root), ID).outcome is Outcome.HOLDS


@pytest.mark.parametrize(
    "kept", [None, 3, {"a": 1}, [7], {"steps": [[2]]}, {"steps": []}, {"steps": [{"formulas": 1}]}]
)
def test_what_is_no_proof_is_executed_anew(root: Path, kept: object) -> None:
    memo.write(kept, "transcript", *key_of(root))
    assert shown(root) == ["follows", "follows"]


def test_an_edit_voids_it(root: Path) -> None:
    forged(root)
    edit(root / "bounds" / "steps.py", GIVEN, WORDS)
    assert shown(root) == ["argued", "follows", "follows"]
