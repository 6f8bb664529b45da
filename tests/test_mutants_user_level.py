"""Every seeded bug of `user_level` is killed by the check that should kill it; no look-alike is flagged."""

from __future__ import annotations

import pytest
from checkout import seeded_bugs

from dpcheck.checks import Context
from dpcheck.mutants import Mutant

MUTANTS = seeded_bugs("user_level")
BY = {
    "user-score-noise-inverted": "exact law",
    "user-score-not-averaged": "enumeration",
    "user-halts-with-the-score": "replay",
    "user-no-removal": "replay",
    "user-phases-share-users": "accountant",
    "user-noise-times-thousand": "risk check",
    "user-threshold-redrawn": "exact law",
    "user-drawn-twice": "replay",
    "user-one-step-noise": "accountant",
    "user-stale-gradient": "exact error",
    "user-gradients-twice": "oracle counter",
    "user-threshold-test-goes-on": "audit",
    "user-item-level-noise": "accountant",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_kill(mutant: Mutant) -> None:
    """Sampled kills and look-alikes run at a fixed seed with a failure probability of 1e-6 each."""
    kill = mutant.kill(Context("mutants", mutant.name, {}, "smoke", 0))
    assert kill.killed != mutant.lookalike
    if not mutant.lookalike:
        assert kill.by == BY[mutant.name]


def test_names() -> None:
    assert {m.name for m in MUTANTS if not m.lookalike} == set(BY)
