"""What is committed under reports/ is of the sources beside it: fresh, judged, and within what a run promises."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from checkout import collected

from dpcheck.checks import RUN_FAILURE_PROBABILITY, SIZES
from dpcheck.engine import catalogue, history
from dpcheck.labels import standing
from dpcheck.verdicts import Outcome

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def loaded() -> catalogue.Catalogue:
    return collected()


@pytest.fixture(scope="module")
def chosen(loaded: catalogue.Catalogue) -> dict[str, history.Chosen]:
    return history.choose(history.read_jsonl(ROOT / "reports" / "records.jsonl"), loaded.fingerprints())


def test_every_check_has_a_fresh_record_of_a_standard_run(
    loaded: catalogue.Catalogue, chosen: dict[str, history.Chosen]
) -> None:
    """After a change of the sources: `make standard`, and commit reports/."""
    least = SIZES.index("standard")
    weak = [
        id
        for id in loaded.checks
        if id not in chosen or chosen[id].stale or SIZES.index(chosen[id].record.size) < least
    ]
    assert not weak, f"{len(weak)} of {len(loaded.checks)} checks have no fresh record, such as {weak[:3]}"
    assert not set(chosen) - set(loaded.checks), "records of checks that no longer exist"


def test_no_refutation_is_left_unjudged(loaded: catalogue.Catalogue, chosen: dict[str, history.Chosen]) -> None:
    """A refuted statement of a paper has a grade among its readings."""
    graded = {claim.statement_label for claim in loaded.claims.values() if claim.grade}
    refuted = [id for id, one in chosen.items() if one.record.verdict.outcome is Outcome.REFUTED]
    labels = {id.partition("::")[0] for id in refuted}
    of_the_papers = {label for label in labels if standing(label, loaded.claims.get(label)) != "ours"}
    assert {label for label in of_the_papers if label.partition("@")[0] not in graded} == set()


def test_every_verdict_is_as_expected_and_all_keep_the_promise(chosen: dict[str, history.Chosen]) -> None:
    assert [id for id, one in chosen.items() if not one.record.expected] == []
    spent = math.fsum(one.record.verdict.failure_probability for one in chosen.values())
    assert spent <= RUN_FAILURE_PROBABILITY
