"""A derivation is a check: the engine makes it, and says of it what its steps and those of what it uses can carry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from edits import edit

from dpcheck.engine import catalogue, judge
from dpcheck.engine.catalogue import Catalogue, in_force
from dpcheck.verdicts import Outcome, Verdict

Make = Callable[..., Path]

STEPS = """
from dpcheck.derivations import derivation
from dpcheck.symbols import D, L, n
import sympy as sp

@derivation("toy/thm-1@corrected")
def corrected(proof):
    \"\"\"Two halves.\"\"\"
    {half}
    proof.concludes("toy/thm-1@corrected", proof.equal("add up", lambda: half + half, 2 * half))
"""
WORDS = 'half = proof.argues("each half", "risk", "<=", L * D / sp.sqrt(n))'
GIVEN = "half = L * D / sp.sqrt(n)"
USES = """
from dpcheck.derivations import derivation
from dpcheck.symbols import D, L, n
import sympy as sp

@derivation("toy/thm-1")
def printed(proof):
    \"\"\"The order of the corrected bound.\"\"\"
    proof.concludes("toy/thm-1", proof.uses("toy/thm-1@corrected", 2 * L * D / sp.sqrt(n)))
"""
ID, PRINTED = "toy/thm-1@corrected::derivation", "toy/thm-1::derivation"


def project_with(project: Make, half: str, **files: str) -> Path:
    return project({"bounds/steps.py": STEPS.format(half=half), "bounds/uses.py": USES, **files})


def said(found: Catalogue, id: str) -> Verdict:
    check = found.checks[id]
    with in_force(found):
        return judge.conclude(check, [({}, check.measure({}, "smoke", 0))], found.claims[check.label])


def test_the_engine_makes_a_check_of_every_derivation(project: Make) -> None:
    found = catalogue.load(project_with(project, WORDS))
    assert not found.errors
    check = found.checks[ID]
    assert (check.kind, check.doc, check.cells("full")) == ("symbolic", "Two halves.", [{}])
    assert check in found.checks_of("toy/thm-1@corrected")
    assert check not in found.checks_of("toy/thm-1")
    assert found.home(ID).kind == "derivation"
    assert str(found.home(ID)) == "bounds/steps.py:6"
    assert [c.id for c in found.select([ID])] == [ID]


@pytest.mark.parametrize(("half", "outcome"), [(WORDS, Outcome.CONSISTENT), (GIVEN, Outcome.HOLDS)])
def test_words_are_never_said_to_hold_here_or_behind(project: Make, half: str, outcome: Outcome) -> None:
    found = catalogue.load(project_with(project, half))
    assert said(found, ID).outcome is outcome
    behind = said(found, PRINTED)
    assert behind.outcome is outcome
    assert ("in words, in part, is what it uses: toy/thm-1@corrected" in behind.reason) == (half == WORDS)
    assert outcome in found.checks[ID].expect


def test_a_check_asks_the_catalogue_that_made_it(project: Make) -> None:
    """Another one may be in force."""
    own, other = (
        catalogue.load(project_with(project, half, name=name)) for half, name in ((WORDS, "words"), (GIVEN, "given"))
    )
    with in_force(other):
        verdict = judge.conclude(own.checks[ID], [({}, own.checks[ID].measure({}, "smoke", 0))])
    assert verdict.outcome is Outcome.CONSISTENT


def test_a_wrong_claim_is_seen(project: Make) -> None:
    root = project_with(project, GIVEN)
    edit(root / "bounds" / "toy.py", "explicit=2 * L * D", "explicit=L * D")
    verdict = said(catalogue.load(root), ID)
    assert verdict.outcome is Outcome.DIFFERS
    assert "does not hold" in verdict.reason


def test_what_a_derivation_uses_is_in_its_fingerprint(project: Make) -> None:
    """Words in the derivation of a claim that it uses, in another file, change what it may say."""
    before, after = (
        catalogue.load(project_with(project, half, name=name)).fingerprints()
        for half, name in ((WORDS, "words"), (GIVEN, "given"))
    )
    assert {id for id in before if before[id] != after[id]} == {ID, PRINTED}


def test_a_derivation_of_an_unknown_claim_is_one_error(project: Make) -> None:
    wrong = STEPS.format(half=WORDS).replace('derivation("toy/thm-1@corrected")', 'derivation("toy/thm-9")')
    found = catalogue.load(project({"bounds/steps.py": wrong}))
    assert len(found.errors) == 1
    assert "bounds/steps.py:6: unknown label 'toy/thm-9'" in str(found.errors[0])
