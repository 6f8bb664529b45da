"""Pair search, sensitivity and stability: known optima are found, mutants are refuted, nothing is refuted wrongly."""

import math
from fractions import Fraction

import numpy as np
import pytest
from harness_toys import (
    Halting,
    Included,
    Mean,
    Nested,
    NoisyDescent,
    NoisyMean,
    OnePass,
    Selection,
    Subsampled,
    Tree,
    UserMean,
    problem,
)

from dpcheck.errors import InvalidInput
from dpcheck.harness import privacy, sensitivity, stability
from dpcheck.harness.replay import RETURNED, Case
from dpcheck.harness.search import (
    BallRecords,
    BoxRecords,
    Search,
    UserRecords,
    maximise,
    rationals,
)
from dpcheck.harness.sensitivity import Certificate, by_replay, judge
from dpcheck.verdicts import Outcome, Witness

UNIT = BoxRecords(-1.0, 1.0)
TIGHT = Certificate(1.0, "the clipped mean is 2/n-Lipschitz in one record")


# Spaces -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codes", [np.ones(6), -np.ones(6), np.linspace(-1, 1, 6)])
def test_codes_decode_into_their_space(codes):
    box = BoxRecords([-1.0, 0.1, 2.0], [0.7, 0.3, 2.0])
    record = box.decode(codes[:3])
    assert ((record >= box.low) & (record <= box.high)).all()
    for p in (1.0, 2.0, 4.0, np.inf):
        assert np.linalg.norm(BallRecords(3.0, 6, p).decode(codes), ord=p) <= 3 * (1 + 1e-12)
    users = UserRecords(BallRecords(1.0, 3), m=2)
    assert users.width == 6
    assert users.decode(codes).shape == (2, 3)
    assert users.decode(codes[None, None]).shape == (1, 1, 2, 3)


def test_corners_of_a_box_are_exact():
    box = BoxRecords([0.1], [0.3])
    assert box.decode(np.array([[1.0], [-1.0]]))[:, 0].tolist() == [0.3, 0.1]


def test_an_empty_box_is_refused():
    with pytest.raises(InvalidInput, match="low <= high"):
        BoxRecords(1.0, 0.0)


# Search -------------------------------------------------------------------------------------------------------------


def hidden_peak(data, neighbour):
    """Largest (1) when the changed record goes from -0.7 to 0.4 and the mean is 0.25: not at a corner."""
    at = (data != neighbour).any(axis=2).argmax(axis=1)
    rows = np.arange(len(data))
    old, new = data[rows, at, 0], neighbour[rows, at, 0]
    return {"peak": np.exp(-((old + 0.7) ** 2) - (new - 0.4) ** 2 - (data[..., 0].mean(axis=1) - 0.25) ** 2)}


def test_local_search_climbs_an_inner_peak():
    found = maximise(hidden_peak, UNIT, 5, chains=32, steps=150, seed=1)
    assert found.worst.ratio > 0.999
    assert found.pairs == 32 * 151


def test_a_search_repeats_itself():
    one, two = (maximise(hidden_peak, UNIT, 5, chains=8, steps=20, seed=3) for _ in range(2))
    assert one.worst.ratio == two.worst.ratio
    np.testing.assert_array_equal(one.worst.data, two.worst.data)


def test_the_directed_search_climbs_too_and_repeats_itself():
    one, two = (maximise(hidden_peak, UNIT, 5, chains=0, examples=200) for _ in range(2))
    start = maximise(hidden_peak, UNIT, 5, chains=0, examples=10)
    assert one.worst.ratio == two.worst.ratio > 0.99 > start.worst.ratio
    assert one.worst.origin == "directed"
    assert one.pairs == 200


def test_the_directed_search_finds_a_mutant():
    found = sensitivity.search(Case(NoisyMean(claim=1.0), Mean(), problem()), UNIT, 8, chains=0, examples=150)
    assert 1.9 < found.worst.ratio <= 2 + 1e-9


def test_given_pairs_come_first():
    data = np.zeros((4, 1))
    neighbour = data.copy()
    data[1], neighbour[1] = -1.0, 1.0
    found = sensitivity.search(Case(NoisyMean(), Mean(), problem()), UNIT, 4, given=[(data, neighbour)], chains=0)
    assert found.worst.origin == "given"
    assert found.worst.changed == 1
    assert found.worst.ratio == pytest.approx(1.0)


def test_a_schedule_without_releases_has_nothing_to_search():
    found = sensitivity.search(Case(OnePass(), Mean(), problem()), UNIT, 5, steps=3)
    with pytest.raises(InvalidInput, match="the schedule releases nothing"):
        judge(found)


def test_places_outside_are_refused():
    with pytest.raises(InvalidInput, match="places"):
        maximise(hidden_peak, UNIT, 5, places=[7])
    with pytest.raises(InvalidInput, match="measured nothing"):
        _ = Search().worst


def test_floats_become_exact_rationals():
    (text,) = rationals([0.1])
    assert Fraction(text) == Fraction(0.1)
    assert rationals([[0.5, 2]]) == [["1/2", "2/1"]]


# Sensitivity: coverage (nothing true is refuted), tightness and power -------------------------------------------------

CORRECT = {
    "mean": (NoisyMean(), Mean(), problem(), UNIT, 6),
    "mean in the plane": (NoisyMean(), Mean(d=2), problem(d=2), BoxRecords([-1.0, -1.0], 1.0), 5),
    "descent": (NoisyDescent(steps=2), Mean(), problem(), UNIT, 6),
    "clipped descent": (NoisyDescent(steps=3, clip=0.3), Mean(), problem(), UNIT, 6),
    "tree": (Tree(), Mean(), problem(), UNIT, 8),
    "nested": (Nested(), Mean(), problem(), UNIT, 8),
    "users": (UserMean(), Mean(d=2), problem(d=2), UserRecords(BoxRecords([-1.0, -1.0], 1.0), 3), 5),
    "halting": (Halting(), Mean(), problem(), UNIT, 9),
    "subsampled": (Subsampled(), Mean(), problem(), UNIT, 8),
    "selection": (Selection(), Mean(), problem(), UNIT, 6),
}


@pytest.mark.parametrize("name", CORRECT)
def test_correct_claims_are_reached_and_never_exceeded(name):
    algorithm, workload, given, space, n = CORRECT[name]
    case = Case(algorithm, workload, given)
    found = sensitivity.search(case, space, n, chains=64, steps=25)
    assert found.best.keys() - {RETURNED} == {release.name for release in case.planned(n).releases}
    for release, worst in found.best.items():
        assert worst.ratio <= 1 + 1e-9, release
        # Every claim of these toys is tight, and the search finds that.
        if release != RETURNED:
            assert worst.ratio > 0.999, release
    answer = judge(found, confirm=by_replay(case))
    assert answer.outcome is Outcome.CONSISTENT
    assert "proves no bound" in answer.reason
    assert judge(found, certificate=TIGHT).outcome is Outcome.HOLDS


MUTANTS = {
    # name: (algorithm, release that breaks, ratio)
    "sensitivity of one end only": (NoisyMean(claim=1.0), "mean", 2.0),
    "clip forgotten": (NoisyMean(clip=None), "mean", 3.0),
    "clip too wide": (NoisyMean(clip=1.5), "mean", 1.5),
    "answer without noise": (NoisyMean(bare=True), RETURNED, math.inf),
    "answer masked by the data": (NoisyMean(mask=True), RETURNED, math.inf),
    "stop that follows the data": (NoisyMean(stop=True), RETURNED, math.inf),
    "last step bare": (NoisyDescent(last_bare=True, clip=5.0), RETURNED, math.inf),
    "weights of a tree swapped": (Tree(claims=(2.0, 4.0)), "root", 6.0),
    "overlapping blocks": (Nested(overlap=1), "phase 2/mean", math.inf),
    "halt on the data": (Halting(follow_data=True), RETURNED, math.inf),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_mutants_are_refuted(name):
    algorithm, release, ratio = MUTANTS[name]
    case = Case(algorithm, Mean(), problem())
    n, space = (9 if isinstance(algorithm, Halting) else 8), BoxRecords(-3.0, 3.0)
    found = sensitivity.search(case, space, n, chains=64, steps=30)
    assert found.best[release].ratio == pytest.approx(ratio, rel=1e-3)
    answer = judge(found, confirm=by_replay(case))
    assert answer.outcome is Outcome.REFUTED
    assert answer.evidence == "exact"


def test_distances_of_a_search_fill_the_slack_table():
    case = Case(Tree(), Mean(), problem())
    found = sensitivity.search(case, UNIT, 8, steps=20)
    moved = sensitivity.distances(case, found)
    assert moved == pytest.approx({"left": 0.5, "right": 0.5, "root": 0.5})
    assert [row.ratio for row in privacy.slack(case.planned(8), moved)] == pytest.approx([1, 1, 1])


def test_a_violation_counts_only_when_confirmed():
    case = Case(NoisyMean(claim=1.0), Mean(), problem())
    found = sensitivity.search(case, UNIT, 4, steps=10)
    assert judge(found).outcome is Outcome.UNDECIDED
    assert "pass `confirm`" in judge(found).reason
    assert judge(found, confirm=lambda pair: Fraction(2)).outcome is Outcome.REFUTED
    assert judge(found, confirm=lambda pair: 1.0).outcome is Outcome.UNDECIDED
    unknown = Witness(label="toy/alg-0", kind="no.such", parameters={}, claimed="1", found="2")
    assert "its witness fails" in judge(found, confirm=lambda pair: unknown).reason


def test_a_wrong_certificate_is_an_error():
    case = Case(NoisyMean(claim=4.0), Mean(), problem())
    found = sensitivity.search(case, UNIT, 4, steps=5)
    with pytest.raises(InvalidInput, match="correct the certificate"):
        judge(found, certificate=Certificate(0.3, "wishful"))
    assert judge(found, certificate=Certificate(0.5, "half of it")).outcome is Outcome.HOLDS
    assert judge(found, certificate=Certificate(1.5, "too weak")).outcome is Outcome.UNDECIDED


def test_sensitivities_that_may_fail_are_counted_over_coins():
    data = np.full((1, 8, 1), 0.2)
    neighbour = data.copy()
    data[0, 3], neighbour[0, 3] = -1.0, 1.0

    def judged(failure, seed=0, trials=4000, alpha=1e-6):
        case = Case(Included(p=0.1, failure=failure), Mean(), problem())
        return sensitivity.failures(case, data, neighbour, trials, seed, alpha)["kept"].outcome

    # Kept with probability 0.1 exactly.
    assert judged(0.14) is Outcome.HOLDS
    assert judged(0.07) is Outcome.REFUTED
    # At equality each look refutes with probability at most 5 %: more than 22 of 200 has probability below 1e-4.
    assert sum(judged(0.1, seed, 300, 0.05) is Outcome.REFUTED for seed in range(200)) <= 22
    case = Case(Included(), Mean(), problem())
    found = sensitivity.search(case, UNIT, 8, steps=10)
    assert found.best.keys() == {RETURNED}
    with pytest.raises(InvalidInput, match="no release declares a failure"):
        sensitivity.failures(Case(NoisyMean(), Mean(), problem()), data, neighbour, 10, 0, 0.05)


def test_rounding_is_not_a_violation():
    case = Case(NoisyMean(claim=2 * (1 - 1e-9)), Mean(), problem())
    found = sensitivity.search(case, UNIT, 4, steps=5)
    assert 1 < found.worst.ratio < 1 + 1e-8
    assert judge(found, confirm=by_replay(case)).outcome is Outcome.CONSISTENT


# Stability ------------------------------------------------------------------------------------------------------------


def test_a_map_is_judged_by_its_bound():
    measure = stability.of_map(lambda data: np.clip(data, -1, 1).mean(axis=1), bound=2 / 5)
    found = stability.search(measure, BoxRecords(-2.0, 2.0), 5, steps=20)
    assert found.worst.ratio == pytest.approx(1.0)
    assert stability.verdict(found).outcome is Outcome.CONSISTENT
    assert stability.verdict(found, certificate=TIGHT).outcome is Outcome.HOLDS
    half = stability.search(
        stability.of_map(lambda data: np.clip(data, -1, 1).mean(axis=1), bound=1 / 5), UNIT, 5, steps=20
    )
    assert stability.verdict(half, confirm=lambda pair: pair.ratio).outcome is Outcome.REFUTED


def test_stability_on_average_over_coins():
    n, eta = 5, 0.1
    data = np.full((1, n, 1), 0.2)
    neighbour = data.copy()
    data[0, 0], neighbour[0, 0] = -1.0, 1.0
    moved = stability.distances(Case(OnePass(eta=eta), Mean(), problem()), data, neighbour, 4000, 0)
    exact = 2 * eta * sum((1 - eta) ** t for t in range(n)) / n
    # Six standard errors of a variable in [0, 0.2]: fails with probability below 1e-8.
    assert abs(moved.mean() - exact) < 6 * moved.std() / math.sqrt(len(moved))


def test_a_bound_must_be_positive():
    with pytest.raises(InvalidInput, match="> 0"):
        stability.of_map(lambda data: data[:, 0], bound=0.0)
