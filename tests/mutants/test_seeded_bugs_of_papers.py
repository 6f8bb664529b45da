"""Seeded bugs of papers: every algorithm has one, and its patches change what runs."""

from __future__ import annotations

import pytest
from checkout import patches_of

from dpcheck.algorithms import l1_geometry, lp_spaces, tsybakov

ALGORITHMS = {
    "l1_geometry": l1_geometry.ALGORITHMS,
    "lp_spaces": lp_spaces.ALGORITHMS,
    "tsybakov": tsybakov.ALGORITHMS,
}


@pytest.mark.parametrize("paper", ALGORITHMS)
def test_every_algorithm_has_a_bug(paper: str) -> None:
    bugs = patches_of(paper)
    assert len({bug.id for bug in bugs}) == len(bugs)
    assert {kind.label for kind in ALGORITHMS[paper]} <= {bug.label for bug in bugs if not bug.lookalike}
    assert any("nois" in bug.name and "useless" in bug.bug for bug in bugs), "one is private, and worthless"
