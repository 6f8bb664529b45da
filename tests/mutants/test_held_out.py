"""The mechanisms that are held out are what they say, by their laws. No audit is run here: none is tuned on them.

Runs are compared with the laws on cells of at least `OFTEN` expected runs.
"""

import itertools
import pathlib
import sys

import numpy as np
import pytest

from dpcheck.auditing.exact import exact_epsilon
from dpcheck.auditing.inputs import describe_pair
from dpcheck.engine import collect
from dpcheck.mutants import Mutant

FOLDER = pathlib.Path(__file__).parent
RUNS, OFTEN = 20_000, 100
HELD = {bug.name: bug for file in collect.held_out([FOLDER]) for bug in collect.content_of(file, (Mutant,))}


def chi_squared(cells, law):
    """Standard score of the runs in neighbouring cells together, as many as it takes."""
    expected = RUNS * np.asarray(law)
    group = np.floor(np.cumsum(expected) / OFTEN + 1e-9).astype(int)
    group = np.where(expected == 0, group.max() + 1, group)
    hoped, seen = (np.bincount(group, weights) for weights in (expected, np.bincount(cells, minlength=len(expected))))
    assert len(seen) == len(hoped)
    some = hoped >= 5
    assert seen[hoped == 0].sum() == 0
    squares = ((seen - hoped)[some] ** 2 / hoped[some]).sum()
    freedom = max(1, int(some.sum()) - 1)
    return (squares - freedom) / np.sqrt(2 * freedom)


def test_there_are_enough():
    bugs = [held for held in HELD.values() if not held.lookalike]
    assert len(bugs) >= 85
    assert len(HELD) - len(bugs) >= 30
    assert all(name.startswith("held-") for name in HELD)


@pytest.mark.parametrize("name", HELD)
def test_the_law_breaks_or_keeps_the_claim(name):
    kill = HELD[name].kill
    p, q = kill.laws()
    assert [p.sum(), q.sum()] == pytest.approx([1.0, 1.0], abs=1e-9)
    exact, claimed = exact_epsilon(p, q, kill.claim.delta), kill.claim.epsilon
    assert kill.exact_epsilon == exact
    fewest = kill.fewest(0.05)
    if HELD[name].lookalike:
        assert exact <= claimed * (1 + 1e-9) + 1e-12
        assert fewest is None
    else:
        assert exact > claimed * 1.02
        assert 2 <= fewest <= 10**7
    describe_pair(kill.data, kill.neighbour, kill.options["adjacency"])


@pytest.mark.parametrize("name", HELD)
def test_runs_follow_the_law(name):
    kill = HELD[name].kill
    for data, law in zip((kill.data, kill.neighbour), kill.laws(), strict=True):
        data.flags.writeable = False
        cells = kill.cell(kill.mechanism(data, np.random.default_rng(5), RUNS))
        assert chi_squared(np.asarray(cells), law) < 6, "the law that is declared is not that of the mechanism"


UNTOLD = {name: bug.kill.untold for name, bug in HELD.items() if bug.kill.untold is not None}
unnamed = sys.modules[type(next(iter(UNTOLD.values()))).__module__]


@pytest.mark.parametrize("name", UNTOLD)
def test_values_without_names_have_the_laws_of_the_mechanism(name):
    kill, untold = HELD[name].kill, UNTOLD[name]
    assert untold.private.epsilon <= kill.claim.epsilon * (1 + 1e-12)
    assert kill.claim.delta == 0
    for side, data in enumerate((kill.data, kill.neighbour)):
        assert untold.broken.laws[side].sum() == pytest.approx(1.0)
        assert untold.private.laws[side].sum() == pytest.approx(1.0)
        outputs = kill.mechanism(data, np.random.default_rng(5), RUNS)
        values = outputs if outputs.ndim == 1 else outputs[:, -1]
        some = np.unique(values, return_counts=True)[1]
        assert len(some) == (untold.broken.laws[side] > 0).sum(), "every value comes, after so many runs"
        spread = (some - some.mean()).std() / np.sqrt(some.mean())
        assert 0.85 < spread < 1.15, "and all of them equally often"


def test_the_likelihood_is_the_sum_over_all_names():
    small = unnamed.Unnamed(((2, 0.2, 0.05), (2, 0.05, 0.2), (5, 0.1, 0.1)))
    first, second = small.laws
    counts = np.array([[2, 1], [1, 0], [0, 1], [1, 0]])
    names = itertools.permutations(range(len(first)), len(counts))
    total = sum(
        np.prod([first[i] ** a * second[i] ** b for i, (a, b) in zip(each, counts, strict=True)]) for each in names
    )
    assert small.log_likelihood(counts) == pytest.approx(np.log(total), abs=1e-12)


def test_a_test_that_is_not_told_needs_repeats():
    """Of 512 values each is of one input only: a repeat on both sides tells, and a 1-DP mechanism has one in 45 runs
    on each input with probability 1 - exp(-45² · 4e / (512 (1 + e)²)) = 0.955."""
    broken = unnamed.Unnamed(((256, 1 / 256, 0), (256, 0, 1 / 256)))
    untold = unnamed.Untold(broken, unnamed.coins(512, 1.0))
    assert untold.power(20, 0.05, seed=0)[0] < 0.5
    assert untold.power(50, 0.05, seed=0)[0] == 1.0
