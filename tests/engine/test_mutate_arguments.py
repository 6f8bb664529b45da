"""Why a wrong formula is none: by logic, by what letters mean, by a line beside the claim, which expires with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sympy as sp
from checkout import collected

from dpcheck.engine import catalogue
from dpcheck.engine.mutate import choice
from dpcheck.engine.mutate.arguments import Arguments, meant
from dpcheck.symbols import beta, delta, epsilon, k, n, p, theta

BOUNDS = """
import sympy as sp
from dpcheck.claims import Paper
from dpcheck.symbols import L, epsilon, n

TOY = Paper(key="toy", title="A toy paper", authors="A. Author", reference="Proc. 2024")
first = TOY.claim(
    "toy/lem-1", "Lemma 1", "At most 2L/√n.", kind="lemma", relation="<=", explicit=2 * L / sp.sqrt(n),
    assumptions=(sp.Ge(n, 4), sp.Le(epsilon, 1)),  {comment}
)
second = first.as_read("toy/lem-1@literal", "Lemma 1", "At most L/n.", explicit=L / n)
"""
AUDITS = """
from dpcheck.checks import check
from dpcheck.verdicts import refuted

@check("toy/lem-1@literal", "accuracy", expect="refuted")
def beaten(context):
    return refuted("L/√n is more", "exact")
"""
SECTIONS = "# Toy\n\n## lem-1\n\nSo.\n\n## lem-1@literal\n\nSo.\n"
Made = Callable[[str], Arguments]


@pytest.fixture
def made(project: Callable[..., Path]) -> Made:
    def arguments(comment: str) -> Arguments:
        text = BOUNDS.replace("{comment}", comment)
        return Arguments(
            catalogue.load(project({"bounds/toy.py": text, "bounds/toy.md": SECTIONS, "audits/a.py": AUDITS}))
        )

    return arguments


def argued(found: Arguments, label: str) -> dict[str, str]:
    return {mutation.said: mutation.argued for mutation in found.of_claim(label) if mutation.argued}


def state_of(found: Arguments) -> str:
    """As the complaint says it, to who writes none."""
    (complaint,) = found.stale()
    return complaint.rpartition("write ")[2]


def test_a_line_beside_the_claim_argues_one_wrong_form_of_it(made: Made) -> None:
    state = state_of(made("# the same (): without n >= 4: it is below 1 there"))
    found = made(f"# the same {state}: without n >= 4: it is below 1 there")
    assert found.stale() == []
    assert argued(found, "toy/lem-1") == {"without n >= 4": "it is below 1 there"}


def test_it_expires_when_the_claim_changes(made: Made) -> None:
    found = made("# the same (123456): without n >= 4: it is below 1 there")
    assert argued(found, "toy/lem-1") == {}
    (complaint,) = found.stale()
    assert "toy.py:9 argues of toy/lem-1 as it was" in complaint


@pytest.mark.parametrize(
    ("comment", "complaint"),
    [
        ("# the same (12ab56): without n >= 5: so", "which is no wrong form of it"),
        ("# the same (12ab56): × 2: so", "which no bound but 0 is"),
        ("# the same: so", "stands in the call that makes a claim"),
    ],
)
def test_what_argues_nothing_is_said(made: Made, comment: str, complaint: str) -> None:
    found = made(comment)
    assert argued(found, "toy/lem-1") == {}
    assert complaint in found.stale()[0]


def test_a_refuted_statement_is_refuted_without_a_hypothesis_too(made: Made) -> None:
    found = made("")
    assert set(argued(found, "toy/lem-1@literal")) == {"without n >= 4", "without epsilon <= 1"}
    assert argued(found, "toy/lem-1") == {}, "a true one may be false without it"


@pytest.mark.parametrize("said", [n >= 1, delta < 1, sp.Lt(beta, 1), k >= 2, theta > 1])
def test_what_a_letter_means_excludes_nothing(said: sp.Basic) -> None:
    assert meant(said)


@pytest.mark.parametrize("said", [n >= 2, delta <= sp.Rational(1, 2), k > 2, theta >= 2, epsilon <= 1, p > 1, k <= n])
def test_what_says_more_is_a_hypothesis(said: sp.Basic) -> None:
    assert not meant(said)


def test_every_argument_here_is_one() -> None:
    assert Arguments(collected()).stale() == []


def test_they_are_among_the_mutants() -> None:
    found = choice.mutations(collected(), ["lp_spaces/thm-2@literal"], ["claim"])
    assert {m.operator for m in found if m.argued} == {"assumption dropped"}
