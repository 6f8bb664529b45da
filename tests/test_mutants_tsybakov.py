"""Every seeded bug of `tsybakov` is killed by the check that should kill it; no look-alike is flagged."""

from __future__ import annotations

import pytest
from checkout import seeded_bugs

from dpcheck.checks import Context
from dpcheck.mutants import Mutant

MUTANTS = seeded_bugs("tsybakov")
BY = {
    "tsy-no-clipping": "replayed sensitivity",
    "tsy-noise-over-n-squared": "accountant",
    "tsy-overlapping-phases": "replayed sensitivity",
    "tsy-noise-of-one-step": "accountant",
    "tsy-printed-noise-on-shearing-losses": "exact law",
    "tsy-centre-without-noise": "replayed sensitivity",
    "tsy-plain-alternation": "variational inequality",
    "tsy-batch-with-noise-of-all-records": "accountant",
    "tsy-batch-read-again": "exact law",
    "tsy-nested-parts": "replayed sensitivity",
    "tsy-dpsgd-rate-twice": "accountant",
    "tsy-plug-in-add-remove": "exact law",
    "tsy-over-noised": "risk",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_kill(mutant: Mutant) -> None:
    """One kill is sampled, at a fixed seed and a failure probability of 1e-6."""
    kill = mutant.kill(Context("mutants", mutant.name, {}, "smoke", 0))
    assert kill.killed != mutant.lookalike
    if not mutant.lookalike:
        assert kill.by == BY[mutant.name]
        assert kill.exact_epsilon is None or kill.exact_epsilon > 1
    elif kill.exact_epsilon is not None:
        assert kill.exact_epsilon <= 1 + 1e-9


def test_names() -> None:
    assert {m.name for m in MUTANTS if not m.lookalike} == set(BY)
