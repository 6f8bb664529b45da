"""Certificates of statements: what is committed proves what the claims say, at the numbers that it names."""

from __future__ import annotations

import copy
import dataclasses
import json
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp
from checkout import ROOT, collected
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpcheck import certificates
from dpcheck.certificates import checker, families, problems, proofs
from dpcheck.certificates.runs import StatementRun
from dpcheck.certificates.statements import CERTIFIED
from dpcheck.certificates.unreached import UNREACHED
from dpcheck.claims import Claim, Paper
from dpcheck.errors import InvalidInput, UnknownLabel, WitnessRejected

REPORTS = ROOT / "reports"
FUZZ = settings(derandomize=True, max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))


def claim(label: str) -> Claim:
    return collected().claims[label]


def document(label: str) -> dict[str, Any]:
    return certificates.load(certificates.path_of(label, REPORTS))


@pytest.mark.parametrize("label", sorted(CERTIFIED))
def test_committed_certificates_prove_their_statements(label):
    shown = list(certificates.verify(document(label), claim(label)))
    assert [one.instance for one in shown] == [instance.name for instance in CERTIFIED[label]]
    for one in shown:
        assert one.refutes or one.bound <= one.claimed
        assert one.attained is None or one.bound is None or one.attained <= one.bound
        assert not one.refutes or one.attained > one.claimed


def test_nothing_else_is_committed():
    files = set((REPORTS / "certificates").glob("*/*.json"))
    assert files == {certificates.path_of(label, REPORTS) for label in CERTIFIED}


PAPERS = ("l1_geometry", "lp_spaces", "pure_heavy_tails", "tsybakov", "user_level")


def test_every_statement_on_stability_sensitivity_or_accuracy_is_answered():
    """Certified, refuted, or out of reach for a reason that is written down; never both, and no reason for nothing."""
    asked = {
        label.partition("@")[0]
        for check in collected().checks.values()
        if check.kind in ("stability", "sensitivity", "accuracy")
        for label in check.labels
        if label.partition("/")[0] in PAPERS
    }
    assert asked - {label.partition("@")[0] for label in CERTIFIED} - UNREACHED.keys() == set()
    assert UNREACHED.keys() & CERTIFIED.keys() == set()
    assert UNREACHED.keys() <= collected().claims.keys()


def test_sixty_labels_are_certified_and_twenty_for_every_number_of_steps():
    certified = {label for label, runs in CERTIFIED.items() if any(run.expected == "certified" for run in runs)}
    every = {label for family in families.FAMILIES if family.follows for label in proofs.labels(family)}
    assert len(certified) >= 60
    assert len(every) >= 20


@pytest.mark.parametrize("label", sorted(CERTIFIED))
def test_a_bound_that_is_a_tenth_smaller_is_not_proved(label):
    """By the same multipliers, so that nine tenths of a claim that is proved tight are refused."""
    for certificate, shown in zip(
        document(label)["certificates"], certificates.verify(document(label), claim(label)), strict=True
    ):
        if shown.refutes:
            continue
        smaller = shown.bound - max(abs(shown.bound), Fraction(1, 10**6)) / 10
        with pytest.raises(ValueError, match="semidefinite"):
            checker.check({**certificate, "bound": str(smaller)})


def test_a_known_worst_case_is_bracketed():
    """Both sides are exact: a function that attains nearly as much as is proved of all."""
    (one,) = [
        o
        for o in certificates.verify(document("user_level/proc-sgd"), claim("user_level/proc-sgd"))
        if o.instance == "full batch, T = 5, n = 10"
    ]
    assert 11.8433 < one.attained <= one.bound < 11.8434


def test_any_change_of_the_text_is_noticed():
    label = "pure_heavy_tails/lem-d-5"
    honest = document(label)
    leaves = [
        (i, key) for i, certificate in enumerate(honest["certificates"]) for key in certificate if key != "vectors"
    ]

    @FUZZ
    @given(st.sampled_from(leaves), st.data())
    def changed(leaf: tuple[int, str], data: st.DataObject) -> None:
        forged = copy.deepcopy(honest)
        certificate = forged["certificates"][leaf[0]]
        text = json.dumps(certificate[leaf[1]], ensure_ascii=False)
        at = data.draw(st.sampled_from([i for i, c in enumerate(text) if c.isalnum()]))
        text = text[:at] + data.draw(st.sampled_from([c for c in "0123456789xy" if c != text[at]])) + text[at + 1 :]
        certificate[leaf[1]] = json.loads(text)
        with pytest.raises(WitnessRejected):
            list(certificates.verify(forged, claim(label)))

    changed()


def test_a_proof_of_something_else_is_refused():
    forged = document("tsybakov/fact-sens")
    forged["label"] = "pure_heavy_tails/alg-5"
    with pytest.raises(WitnessRejected, match="no run of this statement"):
        list(certificates.verify(forged, claim("pure_heavy_tails/alg-5")))
    forged["certificates"][0]["instance"] = CERTIFIED["pure_heavy_tails/alg-5"][0].name
    with pytest.raises(WitnessRejected, match="words is not that of the statement"):
        list(certificates.verify(forged, claim("pure_heavy_tails/alg-5")))
    with pytest.raises(WitnessRejected, match="are not tsybakov/fact-sens's"):
        list(certificates.verify(forged, claim("tsybakov/fact-sens")))


def test_a_weaker_claim_than_is_printed_is_refused():
    (certificate,) = document("tsybakov/fact-sens")["certificates"]
    forged = {**document("tsybakov/fact-sens"), "certificates": [{**certificate, "claimed": "1/1000"}]}
    with pytest.raises(WitnessRejected, match="claimed is not that of the statement"):
        list(certificates.verify(forged, claim("tsybakov/fact-sens")))


@pytest.mark.parametrize(
    "forged",
    [
        None,
        [],
        {},
        {"format": 1},
        {"format": certificates.FORMAT, "label": "tsybakov/fact-sens", "certificates": []},
        {"format": certificates.FORMAT, "label": "tsybakov/fact-sens", "certificates": [True]},
    ],
)
def test_documents_that_are_none(forged):
    with pytest.raises(WitnessRejected):
        list(certificates.verify(forged, claim("tsybakov/fact-sens")))


def test_a_claim_that_is_too_small_cannot_be_certified():
    pytest.importorskip("clarabel", reason="clarabel comes with the extra 'certificates'")
    paper = Paper(key="toy", title="", authors="", reference="")
    C, n = sp.symbols("C n", positive=True)
    small = paper.claim(
        "toy/thm-1",
        "Theorem 1",
        "…",
        kind="theorem",
        quantity="movement",
        relation="<=",
        explicit=sp.Rational(199, 100) * C / n,
    )
    run = StatementRun("here", "…", tuple(problems.clipped_mean()), {"n": 7, "C": 2}, at={"n": 7, "C": 2}, squared=True)
    with pytest.raises(WitnessRejected, match="is not below the claimed"):
        certificates.certify(small, run)
    refuting = dataclasses.replace(run, expected="refuted", attained=True)
    found = certificates.certify(small, refuting)
    assert "bound" not in found


def test_finding_again_finds_the_same_bounds():
    pytest.importorskip("clarabel", reason="clarabel comes with the extra 'certificates'")
    for label in ("pure_heavy_tails/fact-erm-sensitivity", "tsybakov/alg-2@derived", "l1_geometry/lem-3-2"):
        for instance, stored in zip(CERTIFIED[label], document(label)["certificates"], strict=True):
            found = certificates.certify(claim(label), instance)
            assert found.get("bound") == stored.get("bound")


@pytest.mark.parametrize(
    ("bound", "attained", "kept"),
    [
        ("10", "9", True),
        ("10001/1000", "9", True),
        ("10002/1000", "9", False),
        ("10", "8999/1000", False),
        ("9", "9", True),
    ],
)
def test_what_is_stored_stays_unless_more_is_shown(bound, attained, kept):
    found, stored = {"bound": "10", "attained": "9"}, {"bound": bound, "attained": attained}
    assert certificates.better(found, stored) is (stored if kept else found)
    assert certificates.better(found, None) is found
    assert certificates.better({"bound": "11"}, stored) == {"bound": "11"}


def test_only_what_is_valid_is_looked_at(tmp_path):
    label = "tsybakov/alg-2@derived"
    forged = document(label)
    forged["certificates"][1]["bound"] = "0"
    path = tmp_path / "forged.json"
    path.write_text(json.dumps(forged), encoding="utf-8")
    names = [run.name for run in CERTIFIED[label]]
    assert list(certificates.valid(path, claim(label))) == [names[0], *names[2:]]
    path.write_text("{", encoding="utf-8")
    assert certificates.valid(path, claim(label)) == certificates.valid(tmp_path / "none.json", claim(label)) == {}


def test_a_bound_that_is_no_rational_number_is_said():
    irrational = dataclasses.replace(CERTIFIED["tsybakov/fact-sens"][0], display="sqrt(C)", squared=False)
    with pytest.raises(InvalidInput, match="not a rational number"):
        irrational.claimed(claim("tsybakov/fact-sens"))


def test_labels_without_certificates_are_said():
    with pytest.raises(UnknownLabel, match="did you mean tsybakov/fact-sens"):
        certificates.instances("tsybakov/fact-sense")


@pytest.mark.parametrize("family", families.FAMILIES, ids=lambda family: family.words[:40])
def test_families_hold_for_all_parameters(family):
    assert set(proofs.proved(family, claim)) >= {conclusion.label for conclusion in family.concludes}


def test_families_and_certificates_speak_of_the_same_statements():
    everywhere = {label for family in families.FAMILIES for label in proofs.labels(family)}
    assert everywhere <= CERTIFIED.keys()


@pytest.mark.parametrize("number", [2, 7, 8, 14])
def test_a_wrong_multiplier_of_a_family_is_noticed(number):
    (family,) = [f for f in families.FAMILIES if "user_level/proc-sgd" in f.displays]
    wrong = dataclasses.replace(family, multipliers={**family.multipliers, number: "3*eta"})
    with pytest.raises(InvalidInput):
        proofs.proved(wrong, claim)


def test_wrong_conclusions_of_a_family_are_noticed():
    (family,) = [f for f in families.FAMILIES if any(c.label == "l1_geometry/lem-3-1" for c in f.concludes)]
    short = dataclasses.replace(family, bound="eta*L**2/3")
    with pytest.raises(InvalidInput, match="pivot"):
        proofs.proved(short, claim)
    (first, *others) = family.concludes
    larger = dataclasses.replace(family, concludes=(dataclasses.replace(first, proved="R/(eta*T) + eta*L**2"), *others))
    with pytest.raises(InvalidInput, match="not seen to be below"):
        proofs.proved(larger, claim)
    loose = dataclasses.replace(family, follows=(("T steps", "-eta*L"),))
    with pytest.raises(InvalidInput, match="not seen to be non-negative"):
        proofs.proved(loose, claim)
