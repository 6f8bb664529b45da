"""What the harness says in sentence and figure is no more than it has found."""

from __future__ import annotations

import numpy as np
import pytest

from dpcheck.harness import accuracy, risk
from dpcheck.harness.refutation import refuted_by
from dpcheck.verdicts import combine


def test_a_bet_that_was_won_draws_no_bar_up_to_the_bound():
    values = np.random.default_rng(0).uniform(0, 0.1, 2000)
    won = risk.expectation(values, 0.3, 1e-6, limit=1.0, x=5.0)
    assert won.outcome == "holds"
    assert won.points[0].upper is None
    assert "upper" not in won.numbers
    measured = risk.expectation(values, 0.3, 1e-6, variance=0.01, x=5.0)
    assert 0.05 < measured.points[0].upper < 0.3


@pytest.mark.parametrize("relation", [">=", "<="])
def test_the_worst_cell_of_a_probability_is_told(relation):
    cells = [accuracy.probability(k, 1000, 0.5, 1e-6, relation=relation) for k in (100, 900)]
    worst = combine(cells, [{"case": "few"}, {"case": "many"}]).reason
    assert ("few" if relation == ">=" else "many") in worst
    assert "certainly" not in worst
    assert "with confidence" in worst


def test_one_instance_has_no_number():
    one = accuracy.never_violated([2.0], [1.0], statement="a <= b")
    assert one.reason == "a <= b fails: 2 against 1"
    many = accuracy.never_violated([2.0, 0.5, 3.0], [1.0, 1.0, 1.0], statement="a <= b")
    assert many.reason == "a <= b fails in 2 of 3 instances, by most in 3 against 1"
    assert "the one instance" in accuracy.never_violated([0.5], [1.0], covers="all").reason
    assert "the one point" in accuracy.never_violated([0.5], [1.0], drawn=False).reason


def test_no_quotient_of_sides_below_zero():
    below = accuracy.never_violated([-211.0, -300.0], [1e-12, 1e-12], covers="all")
    assert "largest left/right" not in below.numbers


def test_a_lower_bound_claims_and_does_not_allow():
    found = refuted_by("l1_geometry/lem-6-1@literal", "lem_6_1_range", n=1, d=10**12, epsilon=1, constant="1/1000")
    assert "claimed" in found.reason
    assert "allowed" not in found.reason
