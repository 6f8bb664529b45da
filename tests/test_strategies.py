"""Strategies draw what `dp.audit` takes, properties find what moves too far, and ranges without sense are refused."""

from __future__ import annotations

import math

import hypothesis
import numpy as np
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st

import dpcheck as dp
from dpcheck.errors import InvalidInput
from dpcheck.privacy import ADJACENCIES, changed_records
from dpcheck.testing import (
    assert_moves_at_most,
    assert_sensitivity,
    assert_stability,
    budgets,
    domains,
    epsilons,
    guarantees,
    neighbouring_pairs,
    workloads,
)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("d", [None, 3])
def test_pairs_are_exactly_one_apart_and_never_empty(adjacency, d):
    shorter = set()

    @settings(max_examples=60)
    @given(neighbouring_pairs(adjacency=adjacency, d=d))
    def apart(pair):
        data, neighbour = pair
        assert len(changed_records(data, neighbour, adjacency)) == 1
        assert min(len(data), len(neighbour)) >= 1
        assert max(len(data), len(neighbour)) <= 20
        assert data.ndim == 1 + (d is not None) + (adjacency == "user-level")
        assert 0 <= min(data.min(), neighbour.min()) <= max(data.max(), neighbour.max()) <= 1
        shorter.add(len(data) - len(neighbour))

    apart()
    assert shorter == ({-1, 1} if adjacency == "add-remove" else {0})


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_auditor_takes_what_is_drawn_by_default(adjacency):
    @settings(max_examples=15, suppress_health_check=list(HealthCheck))
    @given(neighbouring_pairs(adjacency=adjacency), guarantees() | budgets())
    def audited(pair, claim):
        dp.audit(lambda data, rng, trials: rng.random(trials), *pair, claim, trials=50, adjacency=adjacency)

    audited()


def test_an_empty_neighbour_is_drawn_where_it_is_asked_for():
    data, neighbour = find(
        neighbouring_pairs(min_records=0, adjacency="add-remove"), lambda pair: min(map(len, pair)) == 0
    )
    assert {len(data), len(neighbour)} == {0, 1}


@settings(max_examples=15)
@given(domains(max_d=3), st.integers(0, 2**32 - 1))
def test_domains_project_into_themselves(domain, seed):
    point = domain.project(np.random.default_rng(seed).normal(scale=20, size=(3, domain.d)))
    assert domain.contains(point, 1e-6).all()
    assert 0 < domain.diameter() <= 2 * math.sqrt(domain.d) * 10 + 1e-9


@settings(max_examples=25)
@given(workloads(), st.integers(0, 2**32 - 1))
def test_workloads_know_their_risk(workload, seed):
    points = workload.project(np.random.default_rng(seed).normal(size=(4, workload.constants.d)))
    assert (workload.excess_risk(points) >= -1e-9).all()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: neighbouring_pairs(low=1.0, high=0.0), "got 1.0, 0.0"),
        (lambda: neighbouring_pairs(low=0.0, high=0.0), "got 0.0, 0.0"),
        (lambda: neighbouring_pairs(low=math.nan), "got nan, 1.0"),
        (lambda: neighbouring_pairs(high=math.inf), "got 0.0, inf"),
        (lambda: neighbouring_pairs(low="0"), "got '0', 1.0"),
        (lambda: neighbouring_pairs(min_records=5, max_records=3), "got 5 and 3"),
        (lambda: neighbouring_pairs(min_records=3, max_records=3, adjacency="add-remove"), "got 3 and 3"),
        (lambda: neighbouring_pairs(min_records=0), r"min_records must be an integer in \[1, 1,000,000\], got 0"),
        (lambda: neighbouring_pairs(max_records=2.5), "got 2.5"),
        (lambda: neighbouring_pairs(d=0), "d must be .* got 0"),
        (lambda: neighbouring_pairs(adjacency="user-level", per_user=0), "per_user must be .* got 0"),
        (lambda: neighbouring_pairs(adjacency="close"), "got 'close'"),
        (lambda: epsilons(-1, 5), "got -1, 5"),
        (lambda: epsilons(5, 1), "got 5, 1"),
        (lambda: guarantees(0.0, 1.0), "got 0.0, 1.0"),
        (lambda: budgets(1, 2, deltas=(0.5, 1.5)), "got 0.5, 1.5"),
        (lambda: budgets(1, 2, deltas=0.1), "got 0.1"),
        (lambda: domains(max_d=0), "max_d must be .* got 0"),
        (lambda: domains(radius=(2, 1)), "got 2, 1"),
        (lambda: domains(radius=1.0), "got 1.0"),
        (lambda: workloads(max_d=True), "got True"),
        (lambda: assert_sensitivity(np.mean, -1.0), "the bound must be a finite number > 0, got -1.0"),
        (lambda: assert_sensitivity(np.mean, 1.0, norm=3), "norm must be 1, 2 or inf, got 3"),
        (lambda: assert_sensitivity(np.mean, 1.0, examples=0), "examples must be .* got 0"),
        (lambda: assert_stability(lambda data, rng: data, math.nan), "got nan"),
        (lambda: assert_moves_at_most(lambda x: x, (np.zeros(1), np.zeros(2)), 1.0), "differ in shape"),
        (lambda: assert_moves_at_most(lambda x: x / 0 * 0, (np.ones(1), np.ones(1)), 1.0), "is not finite"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_what_makes_no_sense_is_refused_at_once(make, said):
    with pytest.raises(InvalidInput, match=said):
        make()


def test_sensitivity_of_a_clipped_sum():
    def clipped(data):
        return np.clip(data, -0.5, 0.5).sum()

    assert_sensitivity(clipped, 1.0, neighbouring_pairs(low=-3, high=3), examples=80)
    assert_sensitivity(clipped, 0.5, neighbouring_pairs(low=-3, high=3, adjacency="add-remove"), examples=80)
    with pytest.raises(AssertionError, match=r"one record moves clipped by 1 in l_2, and 0\.9 is claimed") as caught:
        assert_sensitivity(clipped, 0.9, neighbouring_pairs(low=-3, high=3))
    assert any("pair=(array" in note for note in caught.value.__notes__)


def test_the_norm_is_the_one_that_is_named():
    pair = np.zeros((2, 4)), np.array([[0.0] * 4, [1.0] * 4])
    moved = [assert_moves_at_most(lambda data: data.sum(axis=0), pair, 4.0, norm) for norm in (1, 2, math.inf)]
    assert moved == [4.0, 2.0, 1.0]


def descent(data, rng):
    """One pass of projected gradient steps on |w - z|, in a drawn order."""
    w = 0.0
    for z in rng.permutation(data):
        w = float(np.clip(w - 0.1 * np.sign(w - z), 0, 1))
    return w


def test_stability_of_descent():
    pairs = neighbouring_pairs(min_records=5, max_records=8)
    assert_stability(descent, 0.2, pairs, examples=60)
    with pytest.raises(AssertionError, match=r"moves descent by .* and 0\.05 is claimed"):
        assert_stability(descent, 0.05, pairs)


def test_hypothesis_is_told_how_far_it_is(monkeypatch):
    told = []
    monkeypatch.setattr(hypothesis, "target", lambda ratio, label: told.append((ratio, label)))
    moved = []

    @settings(max_examples=30)
    @given(neighbouring_pairs(max_records=3))
    def climbs(pair):
        moved.append(assert_moves_at_most(lambda data: float((data**12).sum()), pair, 2.0))

    climbs()
    assert told == [(each / 2.0, "movement over bound") for each in moved]
    assert max(moved) == 1.0  # both ends of the range are drawn
    assert_moves_at_most(np.sum, (np.zeros(1), np.ones(1)), 1.0)
    assert len(told) == len(moved)  # outside of a property there is nobody to tell
