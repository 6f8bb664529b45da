"""Replay: known distances, claims by stretch, leaks, halts, coins, nesting."""

import math

import numpy as np
import pytest
from harness_toys import (
    Halting,
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
from scipy import stats

from dpcheck.errors import InvalidInput, MechanismError
from dpcheck.harness.replay import RETURNED, Case, distance, replay
from dpcheck.interfaces import Read, Release, Sample, Sampling, Schedule
from dpcheck.laws import Gaussian
from dpcheck.running import Run


def pair(n, place=0, old=-1.0, new=1.0, d=1, rest=0.3):
    data = np.full((1, n, d), rest)
    data[0, place] = old
    neighbour = data.copy()
    neighbour[0, place] = new
    return data, neighbour


def ratio(seen, name):
    return float(seen.ratios()[name].max())


def test_the_worst_pair_of_a_noisy_mean_uses_up_its_sensitivity():
    seen = replay(NoisyMean(), Mean(d=2), problem(d=2), *pair(10, place=4, d=2), 7, 0)
    assert seen.changed.tolist() == [4] * 7
    np.testing.assert_allclose(seen.movements[0].distance, 0.4)
    np.testing.assert_allclose(seen.ratios()["mean"], 1.0)
    np.testing.assert_allclose(seen.leak, 0.0)
    assert not seen.has_coins
    assert seen.history_free()


def test_equal_data_move_nothing():
    data, _ = pair(6)
    seen = replay(NoisyMean(), Mean(), problem(), data, data, 3, 0)
    assert seen.changed.tolist() == [-1, -1, -1]
    assert ratio(seen, "mean") == 0
    np.testing.assert_array_equal(seen.loss(), 0.0)


def test_one_pair_a_trial():
    data, neighbour = pair(5, place=2)
    many = np.concatenate([data, data + 0.1, data])
    other = np.concatenate([neighbour, data + 0.1, data])
    other[2, 4] = -0.2
    seen = replay(NoisyMean(), Mean(), problem(), many, other, 3, 0)
    assert seen.changed.tolist() == [2, -1, 4]
    np.testing.assert_allclose(seen.movements[0].distance, [0.4, 0.0, 0.1])


@pytest.mark.parametrize("broken", [NoisyMean(bare=True), NoisyMean(mask=True), NoisyMean(stop=True)])
def test_what_bypasses_the_releases_is_a_leak(broken):
    seen = replay(broken, Mean(), problem(), *pair(8, place=0, old=0.5, new=-0.5), 4, 0)
    assert ratio(seen, RETURNED) == math.inf
    assert np.isinf(seen.loss()).all()


def test_a_data_dependent_stop_is_named():
    seen = replay(NoisyMean(stop=True), Mean(), problem(), *pair(8, old=0.5, new=-0.5), 4, 0)
    assert "the data decided when to stop" in seen.parted
    back = replay(NoisyMean(stop=True), Mean(), problem(), *pair(8, old=-0.5, new=0.5), 4, 0)
    assert "replay went another way" in back.parted


def test_a_last_step_without_noise_is_a_leak():
    seen = replay(NoisyDescent(last_bare=True), Mean(), problem(), *pair(8), 4, 0)
    assert ratio(seen, RETURNED) == math.inf
    assert ratio(replay(NoisyDescent(), Mean(), problem(), *pair(8), 4, 0), RETURNED) == 0


def test_every_use_of_one_entry_is_measured():
    seen = replay(NoisyDescent(steps=3), Mean(d=4), problem(d=4), *pair(10, d=4), 5, 0)
    assert [movement.use for movement in seen.movements] == [0, 1, 2]
    np.testing.assert_allclose(seen.distances()["gradient"], [0.4] * 3)
    np.testing.assert_allclose(seen.ratios()["gradient"], 1.0)


def test_linear_shifts_do_not_depend_on_the_history_and_clipped_ones_do():
    assert replay(NoisyDescent(), Mean(), problem(), *pair(8), 6, 0).history_free()
    assert not replay(NoisyDescent(clip=0.5), Mean(), problem(), *pair(8, old=0.0), 6, 0).history_free()
    with pytest.raises(InvalidInput, match="trials >= 2"):
        replay(NoisyDescent(), Mean(), problem(), *pair(8), 1, 0).history_free()


def test_tree_reads_weigh_differently():
    n = 8
    left = replay(Tree(), Mean(), problem(), *pair(n, place=1), 2, 0)
    right = replay(Tree(), Mean(), problem(), *pair(n, place=6), 2, 0)
    for seen, claimed in ((left, 4 / n), (right, 2 / n)):
        root = next(m for m in seen.movements if m.release.name == "root")
        np.testing.assert_allclose(root.claimed, claimed)
        np.testing.assert_allclose(root.ratio, 1.0)
    assert ratio(left, "right") == 0
    assert ratio(left, "left") == ratio(right, "right") == 1
    swapped = replay(Tree(claims=(2.0, 4.0)), Mean(), problem(), *pair(n, place=1), 2, 0)
    np.testing.assert_allclose(ratio(swapped, "root"), 2.0)


def test_nested_phases_read_their_own_blocks():
    seen = replay(Nested(), Mean(), problem(), *pair(8, place=5), 3, 0)
    assert [m.release.name for m in seen.movements] == ["phase 1/mean", "phase 2/mean"]
    np.testing.assert_allclose([ratio(seen, "phase 1/mean"), ratio(seen, "phase 2/mean")], [0, 1])
    overlapping = replay(Nested(overlap=1), Mean(), problem(), *pair(8, place=3), 3, 0)
    assert ratio(overlapping, "phase 2/mean") == math.inf


def test_users_are_records():
    n, m, d = 6, 5, 3
    data = np.full((1, n, m, d), 0.1)
    data[0, 2] = -1.0
    neighbour = data.copy()
    neighbour[0, 2] = 1.0
    seen = replay(UserMean(), Mean(d=d), problem(d=d, samples_per_user=m), data, neighbour, 4, 0)
    assert seen.changed.tolist() == [2] * 4
    np.testing.assert_allclose(seen.ratios()["users"], 1.0)
    # The loss of isotropic Laplace noise at distance s / scale = epsilon is at most epsilon.
    assert np.abs(seen.loss()).max() <= 1.0 + 1e-12


def test_halted_trials_move_nothing_and_lose_nothing_more():
    seen = replay(Halting(), Mean(), problem(), *pair(9, place=4), 400, 0)
    halted = np.isnan(seen.movements[-1].output).all(axis=1)
    assert 50 < halted.sum() < 350
    assert seen.movements[-1].distance[halted].max() == 0
    np.testing.assert_allclose(seen.movements[-1].ratio[~halted], 1.0)
    np.testing.assert_allclose(ratio(seen, "bits"), 1.0)
    assert ratio(seen, RETURNED) == 0
    assert seen.has_coins
    assert not seen.parted
    loss = seen.loss()
    assert np.isfinite(loss).all()
    # Test and mean at half of epsilon each; given the coin, a query costs at most its own noise's share.
    assert loss.max() <= 1.0


def test_halting_on_the_data_is_found():
    seen = replay(Halting(follow_data=True), Mean(), problem(), *pair(9, place=0, rest=0.0), 50, 0)
    assert "decided which trials halt, in 50 of 50" in seen.parted
    assert ratio(seen, RETURNED) == math.inf
    still, _ = pair(9, rest=0.0)
    both = np.concatenate([pair(9, rest=0.0)[1], still])
    one = replay(Halting(follow_data=True), Mean(), problem(), np.repeat(still, 2, axis=0), both, 2, 0)
    assert one.apart.tolist() == [True, False]


def test_coins_couple_the_subsample():
    n, b, trials = 12, 3, 2000
    seen = replay(Subsampled(b=b), Mean(), problem(), *pair(n), trials, 1)
    moved = seen.movements[0].distance
    assert set(np.round(moved, 12).tolist()) == {0.0, round(2 / b, 12)}
    # Drawn with probability b / n; five standard deviations: fails with probability 6e-7.
    assert abs((moved > 0).mean() - b / n) < 5 * math.sqrt(b / n * (1 - b / n) / trials)
    assert ratio(seen, "batch") == pytest.approx(1.0)


def drawing(kind):
    read = Read(start=0, stop=10**9, sensitivity=1.0, sampling=Sampling(kind, 5))
    release = Release(name="batch", law=Gaussian(1.0), reads=(read,), norm=2.0)
    plan = Schedule(phases=(), releases=(release,), gradients=5, floats_per_trial=1, claimed=None)
    return Run(plan, 4000, np.random.default_rng(3))


def test_draws_from_counted_atoms_are_counts_with_the_law_of_drawn_rows():
    block = Sample(np.array([[[0.0], [1.0]]]), np.array([[3e8, 7e8]]))
    batch = drawing("with-replacement").subsample("batch", block)
    assert batch.size == 5
    assert (batch.weights.sum(axis=1) == 5).all()
    observed = np.bincount(batch.weights[:, 1].astype(int), minlength=6)
    # A true law fails with probability 1e-6.
    assert stats.chisquare(observed, 4000 * stats.binom.pmf(np.arange(6), 5, 0.7)).pvalue > 1e-6
    with pytest.raises(InvalidInput, match="raw rows"):
        drawing("without-replacement").subsample("batch", block)


def test_selections_are_measured_by_the_largest_change_of_a_score():
    seen = replay(Selection(), Mean(), problem(), *pair(10), 5, 0)
    np.testing.assert_allclose(seen.movements[0].distance, 0.2)
    np.testing.assert_allclose(seen.ratios()["pick"], 1.0)
    assert np.abs(seen.loss()).max() <= 1 + 1e-12


def test_without_releases_the_returned_point_may_move():
    seen = replay(OnePass(eta=0.1), Mean(), problem(), *pair(6), 200, 0)
    assert seen.ratios() == {}
    moved = seen.returned_distance()
    # The changed record is last in one order of six: 2 eta; earlier ones contract by 0.9 a step.
    np.testing.assert_allclose(sorted(set(np.round(moved, 9))), [0.2 * 0.9**t for t in range(5, -1, -1)], atol=1e-8)


def test_the_loss_is_the_sum_of_log_ratios():
    data, neighbour = pair(5, place=2)
    seen = replay(NoisyDescent(steps=3, sigma=0.3, clip=0.7), Mean(), problem(), data, neighbour, 20, 3)
    law = Gaussian(0.3)
    total = sum(law.log_ratio(m.output, m.core, m.other) for m in seen.movements)
    np.testing.assert_allclose(seen.loss(), total)


def test_an_edited_schedule_changes_the_noise_and_an_edited_claim_only_the_ratio():
    planned = NoisyMean().schedule(problem(), 8)
    wide = planned.edit("mean", reads=lambda reads: (type(reads[0])(start=0, stop=8, sensitivity=1.0),))
    seen = replay(NoisyMean(), Mean(), problem(), *pair(8), 3, 0, schedule=wide)
    plain = replay(NoisyMean(), Mean(), problem(), *pair(8), 3, 0)
    np.testing.assert_array_equal(seen.returned, plain.returned)
    np.testing.assert_allclose(seen.ratios()["mean"], 0.25)


def test_a_case_replays_alike():
    case = Case(NoisyMean(), Mean(), problem(), seed=5)
    data, neighbour = pair(6)
    one, two = case.replay(data, neighbour, 4), case.replay(data, neighbour, 4)
    np.testing.assert_array_equal(one.returned, two.returned)
    assert not np.array_equal(one.returned, case.replay(data, neighbour, 4, seed=6).returned)


@pytest.mark.parametrize(
    ("norm", "expected"),
    [(1.0, 7.0), (2.0, 5.0), (np.inf, 4.0), ("range", 4.0)],
)
def test_norms(norm, expected):
    core, other = np.array([[1.0, 5.0]]), np.array([[4.0, 1.0]])
    np.testing.assert_allclose(distance(core, other, norm), [expected])


def test_bad_input_is_refused():
    data, neighbour = pair(5)
    two = neighbour.copy()
    two[0, 3] = 9.0
    for bad, match in ((two, "2 changed records"), (neighbour[:, :4], "one shape"), (neighbour[0], "one shape")):
        with pytest.raises(InvalidInput, match=match):
            replay(NoisyMean(), Mean(), problem(), data, bad, 3, 0)
    with pytest.raises(InvalidInput, match="axis 0"):
        replay(NoisyMean(), Mean(), problem(), np.repeat(data, 2, 0), np.repeat(neighbour, 2, 0), 3, 0)


def test_a_core_that_is_not_finite_is_an_error():
    class Dividing(NoisyMean):
        def execute(self, run, workload, data, start):
            values = data.read().values
            with np.errstate(divide="ignore"):
                return run.release("mean", (1 / values).mean(axis=1))

    data, neighbour = pair(4, new=0.0)
    with pytest.raises(MechanismError, match="on the neighbour holds inf"):
        replay(Dividing(), Mean(), problem(), data, neighbour, 3, 0)
