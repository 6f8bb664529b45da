"""A stored certificate is a check: the engine makes it, and nothing but a proof of the claim as it stands holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT, collected

from dpcheck.certificates import path_of
from dpcheck.certificates.statements import CERTIFIED
from dpcheck.engine import catalogue, judge
from dpcheck.engine.catalogue import in_force
from dpcheck.errors import DpcheckError, WitnessRejected
from dpcheck.verdicts import Outcome, Verdict

Make = Callable[..., Path]
LABEL = "tsybakov/fact-sens"
ID = f"{LABEL}::certificate"
BOUND = """
import sympy as sp
from dpcheck.claims import Paper
C, n = sp.symbols("C n", positive=True)
PAPER = Paper(key="tsybakov", title="Means", authors="A. Author", reference="2024")
means = PAPER.claim(
    "tsybakov/fact-sens", "Sensitivity", "A clipped mean moves by 2C/n.", kind="lemma", quantity="movement",
    relation="<=", explicit={bound},
)
"""


def stored(label: str = LABEL) -> dict[str, Any]:
    return json.loads(path_of(label, ROOT / "reports").read_text(encoding="utf-8"))


def root_with(project: Make, document: Any, bound: str = "2 * C / n", **options: Any) -> Path:
    kept = path_of(LABEL, Path("reports")).as_posix()
    text = document if isinstance(document, str) else json.dumps(document, ensure_ascii=False)
    return project({"bounds/tsybakov.py": BOUND.format(bound=bound), kept: text}, **options)


def said(found: catalogue.Catalogue, id: str = ID) -> Verdict:
    check = found.checks[id]
    with in_force(found):
        return judge.conclude(check, [({}, check.measure({}, "smoke", 0))], found.claims[check.label])


def test_the_engine_makes_a_check_of_every_certificate(project: Make) -> None:
    found = catalogue.load(root_with(project, stored()))
    assert [str(error) for error in found.errors if "certificate" in str(error)] == []
    check = found.checks[ID]
    assert (check.kind, check.cells("full"), check.may_spend) == ("symbolic", [{}], 0)
    assert str(found.home(ID)) == "reports/certificates/tsybakov/fact-sens.json:1"
    assert found.home(ID).kind == "certificate"
    assert "reports" not in {part.path.partition("/")[0] for part in found.needed(LABEL)}
    verdict = said(found)
    assert (verdict.outcome, verdict.evidence) == (Outcome.HOLDS, "certified")
    assert "n = 100, C = 1/2: at most 1/10000 where 1/10000 is claimed" in verdict.reason
    assert "for all parameters by a proof with symbols" in verdict.reason


def test_without_a_file_there_is_no_check(project: Make) -> None:
    assert ID not in catalogue.load(project({"bounds/tsybakov.py": BOUND.format(bound="2 * C / n")})).checks


def tampered(**changes: str) -> dict[str, Any]:
    document = stored()
    document["certificates"][0] |= changes
    return document


@pytest.mark.parametrize(
    "forged",
    [
        tampered(bound="1/20000"),
        tampered(multipliers={}),
        tampered(pivots=["1"]),
        tampered(claimed="1/100"),
        tampered(claim="3*C/n"),
        tampered(words="All means."),
        tampered(instance="n = 1, C = 1"),
        tampered(parameters={"n": "1000", "C": "1/2"}),
        {**stored(), "certificates": []},
        {**stored(), "label": "tsybakov/alg-1"},
        stored("tsybakov/alg-1"),
        "[",
    ],
    ids=lambda forged: str(forged)[:20],
)
def test_a_tampered_certificate_is_an_error_and_no_verdict(project: Make, forged: Any) -> None:
    with pytest.raises(DpcheckError):
        said(catalogue.load(root_with(project, forged)))


def test_a_claim_of_less_does_not_hold_and_of_more_is_another_claim(project: Make) -> None:
    smaller = said(catalogue.load(root_with(project, stored(), "19 * C / (10 * n)", name="smaller")))
    assert (smaller.outcome, smaller.evidence) == (Outcome.UNDECIDED, "certified")
    assert "at most 1/10000 where 361/4000000 is claimed" in smaller.reason
    with pytest.raises(WitnessRejected, match="is not that of the statement"):
        said(catalogue.load(root_with(project, stored(), "3 * C / n", name="larger")))


def test_equal_at_the_numbers_of_the_runs_is_not_equal(project: Make) -> None:
    """√(2C) = 1 at the stored run: a bound that differs elsewhere is left to the proof with symbols."""
    forged = tampered(claim="2*sqrt(2)*C**(3/2)/n")
    elsewhere = said(catalogue.load(root_with(project, forged, "2 * C * sp.sqrt(2 * C) / n")))
    assert elsewhere.outcome is Outcome.UNDECIDED
    assert "the proof for all numbers does not reach the claim" in elsewhere.reason


def test_the_file_is_in_the_fingerprint_of_its_check_alone(project: Make) -> None:
    before = catalogue.load(root_with(project, stored(), name="before")).fingerprints()
    after = catalogue.load(root_with(project, tampered(bound="1/20000"), name="after")).fingerprints()
    assert {id for id in before if before[id] != after[id]} == {ID}


def test_every_committed_certificate_is_a_check_of_this_checkout() -> None:
    for label, runs in CERTIFIED.items():
        check = collected().checks[f"{label}::certificate"]
        proves = any(run.expected == "certified" for run in runs)
        assert check.expect == {Outcome.HOLDS if proves else Outcome.REFUTED}


def test_a_printed_statement_is_refuted_by_a_function_that_anyone_can_verify() -> None:
    verdict = said(collected(), "l1_geometry/lem-3-2::certificate")
    assert verdict.outcome is Outcome.REFUTED
    assert verdict.witness is not None
    assert verdict.witness.kind == "l1_geometry.lem_3_2_function"
    assert said(collected(), "user_level/lem-b4@literal::certificate").outcome is Outcome.REFUTED


def test_runs_beyond_the_hypotheses_are_named_and_refute_nothing() -> None:
    verdict = said(collected(), "user_level/proc-sgd::certificate")
    assert verdict.outcome is Outcome.HOLDS
    assert "not so at full batch, smooth, eta = 2.5/H" in verdict.reason
    assert verdict.numbers["certificates"] == 18
