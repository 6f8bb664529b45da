"""Every seeded bug of l1_geometry falls, no look-alike is flagged, and every algorithm has one."""

from __future__ import annotations

import pytest
from checkout import seeded_bugs

from dpcheck.algorithms import l1_geometry
from dpcheck.checks import Context
from dpcheck.mutants import Kill, Mutant

MUTANTS = {paper: seeded_bugs(paper) for paper in ("l1_geometry",)}
ALGORITHMS = {"l1_geometry": l1_geometry.ALGORITHMS}


@pytest.mark.parametrize("mutant", [m for group in MUTANTS.values() for m in group], ids=lambda m: m.name)
def test_kill(mutant: Mutant) -> None:
    """The one sampled kill (the over-noised objective) has a failure probability of 2e-6."""
    kill = mutant.kill(Context("mutants", mutant.name, {}, "smoke", 0))
    assert isinstance(kill, Kill)
    assert kill.killed != mutant.lookalike, f"{mutant.name}: {kill}"


@pytest.mark.parametrize("paper", list(MUTANTS))
def test_every_algorithm_has_a_mutant(paper: str) -> None:
    bugs = [m for m in MUTANTS[paper] if not m.lookalike]
    assert len(bugs) >= 6
    assert len({m.name for m in MUTANTS[paper]}) == len(MUTANTS[paper])
    assert {kind.label for kind in ALGORITHMS[paper]} <= {m.about for m in bugs}
    assert any("nois" in m.name and "useless" in m.bug for m in bugs)
