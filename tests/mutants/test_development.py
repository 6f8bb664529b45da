"""The mechanisms on which scores are developed are broken as they say, and none of them is held out."""

import pathlib

import numpy as np
import pytest

from dpcheck.engine import collect
from dpcheck.mutants import Mutant

FOLDER = pathlib.Path(__file__).parent
FILES = [file for file in collect.files(FOLDER) if file.path.parent.name == "development"]
BUGS = {bug.name: bug for file in FILES for bug in collect.content_of(file, (Mutant,))}


def test_they_are_kept_apart():
    held = {bug.name for file in collect.held_out([FOLDER]) for bug in collect.content_of(file, (Mutant,))}
    assert len(BUGS) == 17
    assert not held & set(BUGS)


@pytest.mark.parametrize("name", BUGS)
def test_they_break_their_claims_and_run(name):
    kill = BUGS[name].kill
    p, q = kill.laws()
    assert [p.sum(), q.sum()] == pytest.approx([1.0, 1.0], abs=1e-9)
    assert kill.exact_epsilon > 1.5 * kill.claim.epsilon
    assert 2 <= kill.fewest(0.05) <= 10**6
    for data in (kill.data, kill.neighbour):
        assert len(kill.mechanism(data, np.random.default_rng(0), 20)) == 20
