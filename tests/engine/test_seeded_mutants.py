"""Broken mechanisms of no paper: how often one must be found, and what becomes of one whose check fails."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from dpcheck.engine import catalogue, mutation
from dpcheck.engine.mutation import SeededTrial
from dpcheck.mutants import Kill, Mutant

Make = Callable[..., Path]
MUTANTS = """
    from dpcheck.mutants import Kill, Mutant

    def odd_seeds(context):
        return Kill(killed=context.seed % 2 == 1, by="a coin", samples=2, claim="1-DP")

    def exactly(context):
        return Kill(killed=True, by="the exact law", samples=0, claim="1-DP")

    def forgets(context):
        return None

    def breaks(context):
        raise ValueError("no such law")

    found = [Mutant(name=kill.__name__, bug="one", kill=kill) for kill in (odd_seeds, exactly, forgets, breaks)]
"""


@pytest.mark.parametrize(
    ("killed", "lookalike", "fault"),
    [(20, False, ""), (19, False, ""), (18, False, "survived"), (0, True, ""), (1, True, "flagged")],
)
def test_a_bug_is_found_nearly_always_and_a_look_alike_never(killed: int, lookalike: bool, fault: str) -> None:
    kill = Kill(killed=bool(killed), by="audit", samples=10, claim="1-DP")
    mutant = Mutant(name="toy", bug="one", kill=lambda context: kill, lookalike=lookalike)
    assert SeededTrial("toy", kill, times=20, killed=killed).fault(mutant) == fault
    assert SeededTrial("toy", None, "ValueError: none").fault(mutant) == "error"


@pytest.mark.parametrize("workers", [1, 2])
def test_every_mutant_is_tried_whatever_becomes_of_the_others(project: Make, workers: int) -> None:
    root = project({"tests/mutants/seeded.py": textwrap.dedent(MUTANTS)})
    loaded = catalogue.load(root, with_mutants=True)
    assert loaded.errors == []
    tried = mutation.run(loaded, list(loaded.mutants.values()), size="smoke", workers=workers, repeat=4)
    found = {trial.mutant: trial for trial in tried}
    assert sorted(found) == ["breaks", "exactly", "forgets", "odd_seeds"]
    assert (found["odd_seeds"].times, found["odd_seeds"].killed) == (4, 2), "seeds 0 to 3"
    assert (found["exactly"].times, found["exactly"].killed) == (1, 1), "what draws nothing is the same twice"
    assert found["breaks"].message == "ValueError: no such law"
    assert "the mutant forgets returned None; `kill` returns a Kill" in found["forgets"].message
    assert {found[name].kill for name in ("breaks", "forgets")} == {None}
