"""What a derivation decided is kept for the report, under the sources that it was decided from; checks decide anew."""

from __future__ import annotations

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


def key_of(found: catalogue.Catalogue) -> tuple[str, str, str]:
    return executions._key(ID, found.fingerprints([ID])[ID])


def shown(root: Path, *, recalled: bool) -> list[str]:
    found = catalogue.load(root)
    found.executions.recalled = recalled
    transcript = found.transcript(LABEL)
    assert transcript is not None
    return [step.standing for step in transcript.steps]


def test_the_report_shows_what_the_check_decided(root: Path) -> None:
    found = catalogue.load(root)
    assert said(found, ID).outcome is Outcome.HOLDS
    assert memo.read("decisions", *key_of(found)) is None
    found.executions.keep(ID, found.fingerprints([ID])[ID])
    kept = memo.read("decisions", *key_of(found))
    assert [answer[0] for answer in kept[:3]] == ["follows"] * 3
    assert kept[3] == "any other value"
    assert shown(root, recalled=True) == shown(root, recalled=False) == ["follows", "follows"]


def test_no_check_believes_it(root: Path) -> None:
    found = catalogue.load(root)
    memo.write([["fails", "forged"]], "decisions", *key_of(found))
    assert shown(root, recalled=True)[0] == "fails"
    assert shown(root, recalled=False) == ["follows", "follows"]
    assert said(catalogue.load(root), ID).outcome is Outcome.HOLDS


@pytest.mark.parametrize("kept", [None, 3, {"a": 1}, [7], [["follows", 2]], [[["follows"]]], []])
def test_what_is_no_list_of_answers_is_decided_anew(root: Path, kept: object) -> None:
    memo.write(kept, "decisions", *key_of(catalogue.load(root)))
    assert shown(root, recalled=True) == ["follows", "follows"]


def test_an_edit_voids_it(root: Path) -> None:
    memo.write([["fails", "forged"]], "decisions", *key_of(catalogue.load(root)))
    edit(root / "bounds" / "steps.py", GIVEN, WORDS)
    assert shown(root, recalled=True) == ["argued", "follows", "follows"]
