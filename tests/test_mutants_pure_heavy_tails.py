"""Every seeded bug of `pure_heavy_tails` is killed by the check that should kill it; no look-alike is flagged."""

from __future__ import annotations

import pytest
from checkout import seeded_bugs

from dpcheck.checks import Context
from dpcheck.mutants import Mutant

MUTANTS = seeded_bugs("pure_heavy_tails")
BY = {
    "pht-single-half-noise": "exact law",
    "pht-double-half-noise": "exact law",
    "pht-full-budget-twice": "accountant",
    "pht-sensitivity-without-four": "sensitivity",
    "pht-no-extension": "sensitivity",
    "pht-solver-stopped-early": "sensitivity",
    "pht-phases-share-records": "accountant",
    "pht-overlapping-blocks": "sensitivity",
    "pht-radius-without-budget": "containment",
    "pht-over-noised": "risk",
    "pht-step-size-from-data": "exact law",
    "pht-selection-twice-as-sharp": "exact law",
    "pht-gibbs-quarter-sensitivity": "exact law",
}
COST = {
    "pht-single-half-noise": 4 / 3,
    "pht-double-half-noise": 19 / 18,
    "pht-full-budget-twice": 19 / 18,
    "pht-sensitivity-without-four": 2.0,
    "pht-solver-stopped-early": 4 / 3,
    "pht-step-size-from-data": 21.4930478571,
    "pht-tight-calibration": 7 / 9,
    "pht-exact-solver": 1 / 3,
    "pht-solver-at-four-gaps": 1.0,
}
"""Exact epsilon at epsilon = 1, as worked out in `bounds/pure_heavy_tails.md`."""


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_kill(mutant: Mutant) -> None:
    """Sampled kills and look-alikes run at a fixed seed with a failure probability of 2e-6 each."""
    kill = mutant.kill(Context("mutants", mutant.name, {}, "smoke", 0))
    assert kill.killed != mutant.lookalike
    if not mutant.lookalike:
        assert kill.by == BY[mutant.name]
    if mutant.name in COST:
        assert kill.exact_epsilon == pytest.approx(COST[mutant.name], rel=1e-6)


def test_names() -> None:
    assert {m.name for m in MUTANTS if not m.lookalike} == set(BY)


def test_a_private_mutant_is_not_said_to_leak() -> None:
    """Over-noising and look-alikes cost at most epsilon; what privacy checks kill costs more, where it is known."""
    for mutant in MUTANTS:
        kill = mutant.kill(Context("mutants", mutant.name, {}, "smoke", 1))
        if kill.exact_epsilon is not None and kill.by not in ("risk", "containment"):
            assert (kill.exact_epsilon > 1 + 1e-9) != mutant.lookalike
