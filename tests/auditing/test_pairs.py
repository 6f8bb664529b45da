"""Pair search finds the pair that matters."""

import numpy as np
import pytest

import dpcheck as dp
from dpcheck.auditing.pairs import _move, search_pair, worst_sensitivity
from dpcheck.errors import InvalidInput


def one_sided(data, rng, trials):
    """Sensitivity read off the lower end: noise for |low| only, so that moving to `high` leaks most."""
    return np.clip(data, -1.0, 4.0).sum() + rng.laplace(scale=1.0, size=trials)


def test_finds_the_widest_pair():
    found = search_pair(one_sided, 4, dp.PureDP(1.0), low=-1.0, high=4.0, trials=200, rounds=2, moves=4)
    assert abs(found.data.sum() - found.neighbour.sum()) > 4.0
    assert found.samples > 0
    assert found.epsilon > 1.0
    fresh = dp.audit(one_sided, found.data, found.neighbour, dp.PureDP(1.0), trials=2000, seed=99)
    assert fresh.outcome == dp.Outcome.REFUTED


def test_add_remove_pairs():
    found = search_pair(one_sided, 3, dp.PureDP(1.0), high=4.0, adjacency="add-remove", trials=200, rounds=2, moves=4)
    assert abs(len(found.data) - len(found.neighbour)) == 1
    assert found.epsilon > 1.0


@pytest.mark.parametrize("shape", [(3,), (1,), (2, 2)])
def test_a_pair_that_is_moved_still_differs_in_one_record(shape):
    """Corners are drawn half of the time: a fresh record is often the one that it is to differ from."""
    rng = np.random.default_rng(0)
    pair = np.full(shape, -1.0), np.full(shape, -1.0)
    pair[1][0] = 2.0
    for _ in range(200):
        pair = _move(pair, rng, -1.0, 2.0, "replace-one")
        assert (pair[0] != pair[1]).reshape(shape[0], -1).any(axis=1).sum() == 1
        assert all((side >= -1.0).all() and (side <= 2.0).all() for side in pair)


def test_vector_records_and_refusals():
    def norm_clipped(data, rng, trials):
        return data.sum(axis=0) + rng.normal(size=(trials, data.shape[1]))

    assert search_pair(norm_clipped, 3, dp.GaussianDP(1.0), d=2, trials=200, rounds=1).data.shape == (3, 2)
    with pytest.raises(InvalidInput, match="low < high"):
        search_pair(one_sided, 3, dp.PureDP(1.0), low=1.0, high=1.0)


def test_sensitivity_of_a_core():
    pairs = [(np.zeros(3), np.array([0.0, 0.0, 1.0])), (np.zeros(3), np.array([0.0, 0.0, -3.0]))]
    distance, pair = worst_sensitivity(lambda x: x.mean(), pairs)
    assert distance == pytest.approx(1.0)
    assert pair is pairs[1]
    with pytest.raises(InvalidInput, match="no pairs to search; give at least one"):
        worst_sensitivity(lambda x: x.mean(), [])
