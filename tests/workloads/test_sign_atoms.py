"""Sign records as atoms with counts have the law of raw ones."""

import numpy as np
import pytest

from dpcheck.running import Fresh
from dpcheck.workloads.crosspolytope import SignLasso, SignLinear
from dpcheck.workloads.sign_atoms import CountedLasso, CountedLinear, at_corners, counts


def test_atoms_have_the_means_of_the_signs() -> None:
    work = CountedLinear(mu=(0.5, -0.2, 0.0), L=2.0)
    records, chances = work.atoms
    assert chances.sum() == pytest.approx(1.0)
    assert chances @ records == pytest.approx(2 * np.array(work.mu))
    assert work.constants.atoms == len(records) == 8
    raw = SignLinear(mu=work.mu, L=2.0).rows(np.random.default_rng(0), 1, 64)[0]
    assert set(map(tuple, raw)) <= set(map(tuple, records))


def test_gradients_of_the_atoms_are_those_of_the_population() -> None:
    work, w = CountedLasso(x_star=(0.6, -0.2), s=0.5), np.array([0.1, 0.3])
    records, chances = work.atoms
    assert chances @ work.gradient(w[None], records) == pytest.approx(w - np.array(work.x_star))
    assert chances @ (work.loss(w[None], records) - work.loss(np.array([work.x_star]), records)) == pytest.approx(
        float(work.excess_risk(w))
    )
    raw = SignLasso(x_star=(0.6, -0.2), s=0.5).rows(np.random.default_rng(0), 1, 64)[0]
    assert set(map(tuple, raw.round(12))) <= set(map(tuple, records.round(12)))


def test_blocks_are_counts_of_as_many_records_as_they_have() -> None:
    work = CountedLinear(mu=(1.0, 0.0))
    sample = Fresh(work, 3, 10**9, 0, "blocks").part(0, 10**8).read()
    assert sample.values.shape == (1, 4, 2)
    assert sample.weights.sum(axis=1).tolist() == [1e8] * 3
    assert sample.mean(sample.values)[:, 0].tolist() == [1.0] * 3


def test_every_trial_may_have_a_law_of_its_own() -> None:
    mean = np.array([[1.0, -1.0], [-1.0, 1.0]])
    sample = counts(np.random.default_rng(0), 2, 7, CountedLinear(mu=(0.0, 0.0)).atoms[0], at_corners(mean))
    assert sample.mean(sample.values).tolist() == mean.tolist()
