"""A label tells the file, and a theorem is understood from a few files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from checkout import ROOT, collected, verifiers_of

from dpcheck.carried import verifiers_in

PAPERS = ("l1_geometry", "lp_spaces", "pure_heavy_tails", "tsybakov", "user_level")
MOST = 5
"""Python files for one statement: its bounds, its algorithm, its audits, their cases, its verifiers."""
MOST_OF_CODE = 10
"""For an algorithm or a procedure, whose lines, plans and movements are audited each by itself."""
MORE = {
    "l1_geometry/lem-4-4": 6,
    "lp_spaces/claim-app10-general-eps": 6,
    "pure_heavy_tails/fact-bd14": 6,
    "pure_heavy_tails/lem-c-2": 7,
    "pure_heavy_tails/prop-3-2": 7,
    "pure_heavy_tails/prop-c-3": 6,
    "pure_heavy_tails/prop-e-4": 7,
    "tsybakov/def-3": 7,
    "user_level/lem-b2": 6,
    "user_level/lem-c2": 7,
}
"""Statements that take more files than that, and how many: the list may only shrink."""


def place(name: str) -> Path:
    """The file in which a claim, a check or a derivation is defined, relative to the root."""
    return collected()._places[name][0].relative_to(ROOT)


def home_of_checks(label: str) -> Path:
    """Where the checks of a reading belong: `audits/tsybakov/section_4.py` for `bounds/tsybakov/section_4.py`."""
    return Path("audits", *place(label).parts[1:])


def assert_none(amiss: Mapping[str, object]) -> None:
    """Nothing is amiss; else the message names all of it, a line each."""
    assert not amiss, "".join(f"\n{name}: {where}" for name, where in amiss.items())


@pytest.mark.parametrize("paper", PAPERS)
def test_a_theorem_is_understood_from_a_few_files(paper: str) -> None:
    """Move what stands elsewhere into the section's files, or what sections share into `cases.py`."""
    theorems = [c.label for c in collected().claims.values() if c.label.startswith(f"{paper}/") and c.kind == "theorem"]
    statements = dict.fromkeys(label.partition("@")[0] for label in theorems)
    assert len(statements) > 5
    needed = {label: [file.path for file in collected().needed(label)] for label in statements}
    assert_none({label: ", ".join(files) for label, files in needed.items() if len(files) > MOST})


def test_every_statement_is_understood_from_a_few_files() -> None:
    """Theorems alone were counted, and Lemma 4.4 of l1_geometry took six."""
    kinds = {claim.statement_label: claim.kind for claim in collected().claims.values()}
    needed = {label: len(collected().needed(label)) for label in kinds if label.partition("/")[0] in PAPERS}
    code = {label for label in needed if kinds[label] in ("algorithm", "procedure")}
    assert {label: files for label, files in needed.items() if label not in code and files > MOST} == MORE
    assert_none({label: files for label, files in needed.items() if label in code and files > MOST_OF_CODE})


def test_the_accuracy_of_any_solver_is_for_itself() -> None:
    """Theorem 2.1 is about Algorithm 1; its reading `@solver` is about the five that this may call."""
    printed, solver = (collected().needed(f"pure_heavy_tails/thm-2-1{reading}") for reading in ("", "@solver"))
    algorithms = [{file.path for file in files if file.part == "algorithm"} for files in (printed, solver)]
    assert len(algorithms[0]) == 1
    assert len(algorithms[1] - algorithms[0]) == 3


@pytest.mark.parametrize("paper", PAPERS)
def test_the_checks_of_a_label_stand_in_the_file_of_its_name(paper: str) -> None:
    """`bounds/<paper>/section_4.py` and `audits/<paper>/section_4.py`: move a check to the file of its label."""
    checks = {check.id: check.label for check in collected().checks.values() if check.label.startswith(f"{paper}/")}
    own = {id: label for id, label in checks.items() if not id.endswith(("::derivation", "::certificate"))}
    assert own
    assert_none({id: place(id) for id, label in own.items() if place(id) != home_of_checks(label)})


@pytest.mark.parametrize("paper", PAPERS)
def test_a_derivation_stands_below_its_claim(paper: str) -> None:
    """In the file of bounds of the reading that it concludes."""
    own = [label for label in collected().derivations if label.startswith(f"{paper}/")]
    assert own
    assert not {
        label: str(place(f"derivation {label}")) for label in own if place(f"derivation {label}") != place(label)
    }


@pytest.mark.parametrize("paper", PAPERS)
def test_the_readings_of_a_statement_stand_with_it(paper: str) -> None:
    """In its file, but for those that compare papers, which stand in no paper's folder."""
    readings = [c for c in collected().claims.values() if "@" in c.label and c.label.startswith(f"{paper}/")]
    own = [c for c in readings if place(c.label).parts[1] == paper and c.statement_label in collected().claims]
    assert own
    assert_none({c.label: place(c.label) for c in own if place(c.label) != place(c.statement_label)})


@pytest.mark.parametrize("paper", PAPERS)
def test_a_verifier_is_needed_for_what_it_refutes(paper: str) -> None:
    """`dpcheck show` names the verifiers of every statement that a committed witness breaks."""
    files = {str(path.relative_to(ROOT)) for path in verifiers_in(ROOT / "audits")[paper]}
    broken = {check.partition("::")[0] for check in _refuted(paper)}
    assert broken
    assert not [label for label in broken if not files & {file.path for file in collected().needed(label)}]
    assert len(vars(verifiers_of(paper))) >= len({label.partition("@")[0] for label in broken})


def _refuted(paper: str) -> list[str]:
    """The labels of the committed witnesses that a verifier of the paper recomputes."""
    found = (json.loads(path.read_text()) for path in sorted((ROOT / "reports" / "witnesses" / paper).glob("*.json")))
    return [witness["label"] for witness in found if witness["kind"].startswith(f"{paper}.")]
