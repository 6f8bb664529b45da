"""Noise of few bits: outputs of the two inputs differ in their values alone, which a later output may have again."""

import pathlib

import numpy as np
import pytest
from curtailed import at_least, at_most

import dpcheck as dp
from dpcheck.auditing.choosing import returning
from dpcheck.auditing.mechanisms import Outputs
from dpcheck.auditing.plans import _promise
from dpcheck.auditing.scores import Returning
from dpcheck.auditing.teaching import fit
from dpcheck.engine import collect
from dpcheck.mutants import Mutant

ZERO, ONE = np.zeros(1), np.ones(1)
MUTANTS = pathlib.Path(__file__).parents[1] / "mutants"
DEVELOPED = [file for file in collect.files(MUTANTS) if file.path.parent.name == "development"]
LEAKS = {bug.name: bug.kill.mechanism for file in DEVELOPED for bug in collect.content_of(file, (Mutant,))}
"""On which the score was developed."""
EIGHT, TWELVE = LEAKS["development-noise-of-eight-bits"], LEAKS["development-noise-of-twelve-bits"]
ONE_COLUMN = LEAKS["development-column-of-eight-bits"]


def lattice(data, rng, trials):
    """Exactly 1-DP, on hundreds of integers."""
    chance = 1 - np.exp(-0.01)
    return 100 * data.sum() + rng.geometric(chance, trials) - rng.geometric(chance, trials)


def refuted(mechanism, trials):
    def found(seed):
        return dp.audit(mechanism, ZERO, ONE, dp.PureDP(1.0), trials=trials, seed=seed).outcome is dp.Outcome.REFUTED

    return found


@pytest.mark.parametrize(("mechanism", "trials"), [(EIGHT, 400), (TWELVE, 3000), (ONE_COLUMN, 500)])
def test_noise_of_few_bits_is_found(mechanism, trials):
    assert at_least(9, 10, refuted(mechanism, trials))


@pytest.mark.parametrize("mechanism", [EIGHT, ONE_COLUMN])
def test_noise_of_few_bits_is_found_at_any_time(mechanism):
    def found(seed):
        result = dp.audit(mechanism, ZERO, ONE, dp.PureDP(1.0), trials=1500, seed=seed, mode="anytime")
        return result.outcome is dp.Outcome.REFUTED

    assert at_least(4, 5, found)


@pytest.mark.parametrize("trials", [60, 400])
def test_values_on_a_lattice_that_both_inputs_share_refute_nothing(trials):
    # At most binomial(40, 0.05): more than 7 has probability 1e-3.
    assert at_most(7, 40, refuted(lattice, trials))


def test_values_on_a_lattice_are_no_better_guide_than_their_order():
    result = dp.audit(lattice, ZERO, ONE, dp.PureDP(0.5), trials=3000, seed=1)
    assert (result.score, result.outcome) == ("output", dp.Outcome.REFUTED)


def test_an_output_is_scored_by_those_before_it_only():
    values = np.zeros((16, 1))
    sides = Outputs(values, values), Outputs(values + 1, values + 1)
    scorer, ours, theirs = fit(Returning(), *sides, np.random.default_rng(0))
    assert len(ours) == len(theirs) == 14
    # Each of seven parts of two by all parts before it.
    assert np.allclose(np.exp(ours), np.repeat(4 * np.arange(1, 8) + 1, 2))
    assert np.allclose(ours, -theirs)
    assert np.allclose(np.exp(scorer(sides[0])), 33)


def test_values_that_say_nothing_promise_nothing():
    def promises(seed):
        rng = np.random.default_rng(seed)
        sides = [Outputs(rows, rows) for rows in rng.integers(200, size=(2, 300, 1)).astype(float)]
        _, ours, theirs = fit(Returning(), *sides, rng)
        return _promise(Returning(), ours, theirs, 2000, 0.0, 0.05) > 0.1

    assert at_most(2, 20, promises)


def test_only_values_that_came_back_and_have_no_cells_of_their_own_are_looked_at():
    rng = np.random.default_rng(0)
    continuous, integers = rng.normal(size=(400, 1)), rng.integers(300, size=(400, 1)).astype(float)
    assert returning("auto", continuous, 400) == []
    assert returning("auto", integers, 400) == [Returning()]
    assert returning("auto", integers % 7, 400) == []
    assert returning("auto", np.c_[continuous, integers], 400) == [Returning(column=1)]
    assert returning(np.abs, integers, 400) == []
