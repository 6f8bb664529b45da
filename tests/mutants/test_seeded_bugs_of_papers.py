"""Seeded bugs of papers: names that are one's own, and one in every algorithm."""

from __future__ import annotations

from importlib import import_module

import pytest
from checkout import seeded_bugs

PAPERS = ("l1_geometry", "lp_spaces", "pure_heavy_tails", "tsybakov", "user_level")
WITHOUT = {
    "pure_heavy_tails/fact-trivial",
    "pure_heavy_tails/proc-localized-double-op",
    "pure_heavy_tails/proc-noisy-subgradient",
    "pure_heavy_tails/proc-structured-double-op",
    "user_level/proc-strongly-convex-meta",
}
"""Algorithms in which nobody seeded one yet; they may only become fewer."""


@pytest.mark.parametrize("paper", PAPERS)
def test_every_algorithm_has_a_bug(paper: str) -> None:
    bugs = seeded_bugs(paper)
    assert len({bug.id for bug in bugs}) == len(bugs)
    broken = {bug.label for bug in bugs if not bug.lookalike}
    labels = {kind.label for kind in import_module(f"dpcheck.algorithms.{paper}").ALGORITHMS}
    assert labels - broken == {label for label in WITHOUT if label.startswith(f"{paper}/")}
    assert any("nois" in bug.name for bug in bugs), "too much noise is private, and worthless"
