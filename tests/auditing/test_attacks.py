"""Attacks find what they are for, and leave sound implementations alone."""

import itertools
import math

import numpy as np
import pytest

import dpcheck as dp
from dpcheck.auditing import attacks, machine
from dpcheck.errors import InvalidInput

ZERO, ONE = np.array([0.0]), np.array([1.0])
PURE = dp.PureDP(1.0)


def laplace(data, rng, trials):
    return data.sum() + rng.laplace(size=trials)


def snapped(data, rng, trials):
    return np.round((data.sum() + rng.laplace(size=trials)) * 1024) / 1024


def test_lowest_bit():
    assert list(attacks.lowest_bit([0.75, 3.0, 1.0, 96.0, 0.0])) == [-2, 0, 0, 5, 1024]
    assert attacks.lowest_bit(math.pi) == -48


def test_granularity_of_floating_point_noise():
    found = attacks.granularity(laplace, ZERO, ONE, PURE, trials=1000)
    assert found.found
    assert found.grade == "theoretical"
    assert found.epsilon_lower > 2.5
    # Failure probability 0.05 by design at a null; fixed seed.
    assert not attacks.granularity(snapped, ZERO, ONE, PURE, trials=1000).found


def test_support():
    def clipped(data, rng, trials):
        return np.clip(data.sum() + rng.laplace(size=trials) / 4, 0.0, 1.0)

    assert attacks.support(clipped, ZERO, ONE, PURE).found
    assert not attacks.support(laplace, ZERO, ONE, PURE).found


@pytest.mark.parametrize(
    ("mechanism", "says"),
    [
        (lambda d, r, t: d.sum() + np.random.default_rng(7).laplace(size=t), "seed is fixed"),
        (lambda d, r, t: d.sum() + np.repeat(r.laplace(size=t // 4), 4)[:t], "repeat an earlier"),
        (lambda d, r, t: np.array([0.0, 2.0]) + r.laplace(size=(t, 1)), "same noise"),
        (lambda d, r, t: np.stack([r.laplace(size=t), np.full(t, 0.3)], axis=1), "no noise at all"),
    ],
)
def test_replayed_noise(mechanism, says):
    found = attacks.replayed_noise(mechanism, ZERO)
    assert found.found
    assert says in found.detail


@pytest.mark.parametrize(
    "mechanism",
    [
        laplace,
        lambda d, r, t: r.normal(size=(t, 3)),
        lambda d, r, t: r.geometric(0.5, t),
        lambda d, r, t: r.random(t) < 0.5,
    ],
)
def test_fresh_noise_is_left_alone(mechanism):
    assert not attacks.replayed_noise(mechanism, ZERO).found


def test_summation_order():
    assert attacks.summation_order(lambda x: np.float64(sum(x)), 1.0).found
    assert not attacks.summation_order(lambda x: math.fsum(np.clip(x, 0, 1)), 1.0).found


def test_a_draw_without_a_small_record_has_no_pair():
    """Of one record, ±2^50 half of the time: fifty draws make about 25 pairs, of six calls each."""
    found = attacks.summation_order(np.sum, 1.0, n=1)
    assert not found.found
    assert 10 * 6 < found.samples < 40 * 6
    with pytest.raises(InvalidInput, match=r"sensitivity must be a finite number > 0, got 0\.0"):
        attacks.summation_order(np.sum, 0.0)


def test_summation_order_through_the_mechanism():
    pair = np.zeros(10), np.r_[np.zeros(9), 1.0]

    def naive(data, rng, trials):
        return sum(data.tolist()) + rng.laplace(size=trials)

    def exact(data, rng, trials):
        return math.fsum(np.clip(data, 0, 1)) + rng.laplace(size=trials)

    found = attacks.summation_order_of(naive, *pair, 1.0)
    assert found.found
    assert found.grade == "theoretical"
    assert not attacks.summation_order_of(exact, *pair, 1.0).found
    # A wrong sensitivity needs no rounding.
    assert attacks.summation_order_of(exact, *pair, 0.5).grade == "critical"
    assert (
        "does not come from the generator"
        in attacks.summation_order_of(
            lambda d, r, t: d.sum() + np.random.default_rng().laplace(size=t), *pair, 1.0
        ).skipped
    )

    def fussy(data, rng, trials):
        if np.abs(data).max() > 1:
            raise ValueError("records must lie in [0, 1]")
        return data.sum() + rng.laplace(size=trials)

    assert "huge records are refused" in attacks.summation_order_of(fussy, *pair, 1.0).skipped
    assert attacks.summation_order_of(exact, pair[0][:2], pair[1][:2], 1.0).said == "not run"


def test_granularity_is_no_matter_of_parity():
    def even(data, rng, trials):
        return 2 * rng.geometric(0.5, trials) + data.sum()

    assert not attacks.granularity(even, ZERO, ONE, PURE).found
    assert attacks.support(even, ZERO, ONE, PURE).found


def test_post_processing_of_one_release_is_no_replay():
    def twice(data, rng, trials):
        noisy = data.sum() + rng.laplace(size=trials)
        return np.stack([noisy, noisy - 3.0, np.full(trials, 0.25), np.full(trials, len(data))], axis=1)

    assert not attacks.replayed_noise(twice, ZERO, ONE).found
    floor = attacks.replayed_noise(lambda d, r, t: np.maximum(d.sum() + r.laplace(size=t), 0.5), ZERO, ONE)
    assert not floor.found


def test_special_records_grades_and_halts():
    empty = attacks.special_records(lambda d, r, t: np.nanmean(np.clip(d, 0, 1)) + r.laplace(size=t), np.zeros(5))
    assert empty.found
    assert empty.grade == "theoretical"

    def halting(data, rng, trials):
        return np.where(rng.random(trials) < 0.1, np.nan, np.nan_to_num(np.clip(data, 0, 1)).sum())

    assert not attacks.special_records(halting, np.zeros(5), halts=True).found
    assert attacks.special_records(lambda d, r, t: d.sum() + r.laplace(size=t), np.zeros(5), halts=True).found

    def refusing(data, rng, trials):
        return (0.0,)[int(not np.isfinite(data).all())] + rng.laplace(size=trials)

    assert not attacks.special_records(refusing, np.zeros(5)).found


def test_special_records():
    assert attacks.special_records(lambda d, r, t: d.mean() + r.laplace(size=t), np.zeros(5)).found
    clean = attacks.special_records(
        lambda d, r, t: np.nan_to_num(np.clip(d, 0, 1)).sum() / 5 + r.laplace(size=t), np.zeros(5)
    )
    assert not clean.found


def test_timing_of_a_rejection_sampler():
    def slow(data, rng):
        count = 0
        while rng.random() < 0.9:
            count += 1
        return float(count * 10)

    # A geometric loop takes time proportional to its result; 1e-4 is the failure probability of the test itself.
    assert attacks.timing(slow, None, calls=1500).found
    assert "rank correlation" in attacks.timing(lambda d, r: r.normal(), None, calls=300).detail


def test_all_together():
    found = attacks.attack(laplace, np.zeros(3), np.array([0.0, 0.0, 1.0]), PURE)
    assert [f.attack for f in found if f.found] == ["granularity", "special records"]
    assert "granularity: theoretical" in str(found[0])
    assert dp.verify(found[0].witness).violated
    assert [f.attack for f in found if f.skipped] == ["summation order"]
    assert found[0].to_dict()["grade"] == "theoretical"


def test_numbers_of_outputs():
    def of(outputs, rows=2):
        found = machine.numbers(outputs, rows)
        return None if found is None else found.tolist()

    assert of(np.array([1, 2])) == [[1.0], [2.0]]
    assert of((np.array([1.5, 2.0]), np.array(["a", "b"]))) == [[1.5], [2.0]]
    assert of({"x": np.array([True, False])}) == [[1.0], [0.0]]
    assert of([[1.5], [2.0, 3.0]]) == [[1.5, 0.0], [2.0, 3.0]]
    assert of([(1.5, "a"), (2.0, "b")]) == [[1.5], [2.0]]
    assert of([None, 2.5]) == [[0.0], [2.5]]
    assert of(["a", "b"]) is None
    assert np.isnan(machine.numbers([None, np.nan], 2)[1, 0])


def test_attacks_on_transcripts():
    def transcript(data, rng):
        given = []
        for _ in range(3):
            given.append(float(np.clip(np.nan_to_num(data), 0, 1).sum() + rng.laplace()))
            if given[-1] > 1:
                break
        return given

    pair = np.zeros(5), np.r_[np.zeros(4), 1.0]
    found = {f.attack: f for f in attacks.attack(dp.vectorize(transcript), *pair, dp.PureDP(3.0), sensitivity=2.0)}
    assert "outputs are transcripts" in found["summation order"].skipped
    assert "several lengths" in found["timing"].skipped
    assert not found["special records"].found
    assert not found["granularity"].skipped


def test_all_together_on_categories_and_tuples():
    def words(data, rng, trials):
        return np.where(rng.random(trials) < 0.6, "yes", "no")

    found = attacks.attack(words, ZERO, ONE, PURE, sensitivity=1.0)
    assert [f.said for f in found] == [
        "not run",
        "nothing found",
        "not run",
        "not run",
        "nothing found",
        "not run",
        "nothing found",
    ]

    def both(data, rng, trials):
        noisy = data.sum() + rng.laplace(size=trials)
        return noisy, np.where(noisy > 0, "up", "down")

    (bits,) = attacks.attack(both, ZERO, ONE, PURE, only=["granularity"])
    assert bits.found
    with pytest.raises(dp.InvalidInput, match="unknown attack 'bits'"):
        attacks.attack(both, ZERO, ONE, PURE, only=["bits"])


def test_attacks_say_why_they_were_not_run():
    wide = np.zeros(6), np.r_[np.zeros(4), 1.0, 1.0]
    assert "differs in 2 records, not in one" in attacks.summation_order_of(laplace, *wide, 1.0).skipped
    words = lambda d, r, t: np.full(t, "yes")  # noqa: E731
    assert attacks.summation_order_of(words, np.zeros(6), np.eye(6)[0], 1.0).skipped
    assert "only 1 were made" in attacks.timing(lambda d, r: r.normal(), None, calls=300, seconds=0.0).skipped
    assert "equally far from their median" in attacks.timing(lambda d, r: 1.0, None, calls=60).skipped
    integers = attacks.attack(laplace, np.zeros(3, dtype=int), np.array([0, 0, 1]), PURE)
    assert "no floating-point array" in {f.attack: f for f in integers}["special records"].skipped


def test_noise_seen_twice_needs_one_width():
    widths = itertools.count(1)
    found = attacks.replayed_noise(lambda d, r, t: r.normal(size=(t, next(widths))), ZERO)
    assert found.skipped == "outputs have another width from call to call"
