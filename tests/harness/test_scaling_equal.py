"""The engine for equal records: what a batch gives is what each member gives, and what drawn runs give."""

import pytest

from dpcheck.algorithms.l1_geometry import TreeFrankWolfe
from dpcheck.errors import InvalidInput
from dpcheck.harness.scaling import Drawn, Equal, Instance
from dpcheck.privacy import PureDP
from dpcheck.problems import Problem
from dpcheck.workloads import EqualRecords, SignLinear

TREE = TreeFrankWolfe(T=2, sensitivity="safe", budget="economical")


def on(work, n: int = 2**12, algorithm=TREE) -> Instance:
    return Instance(algorithm, work, Problem.of(work, PureDP(0.05)), n, {})


def members() -> list[Instance]:
    return [on(EqualRecords((slope, 0.0, 0.0))) for slope in (0.4, 0.1)]


def test_a_batch_gives_what_each_member_gives() -> None:
    engine = Equal(200)
    apart = [engine(one, 0, "word") for one in members()]
    assert engine.together(members(), 0, "word") == apart
    assert engine(members()[0], 0, "another") != apart[0]


def test_it_agrees_with_drawn_runs() -> None:
    one = members()[0]
    equal, drawn = Equal(2000)(one, 0), Drawn(2000)(one, 0, "drawn")
    assert abs(equal.value - drawn.value) < 4 * (equal.error + drawn.error)


def test_a_pilot_is_shorter() -> None:
    assert Equal(200)(members()[0], 0, pilot=True).degrees == 49


def test_a_batch_is_of_one_algorithm_and_one_size() -> None:
    with pytest.raises(InvalidInput, match="one algorithm meets at one size"):
        Equal(20).together([members()[0], on(EqualRecords((0.1, 0.0, 0.0)), n=2**11)], 0)


def test_records_that_differ_are_refused() -> None:
    with pytest.raises(InvalidInput, match="two records of a member differ"):
        Equal(20)(on(SignLinear(mu=(0.0,) * 12)), 0)
