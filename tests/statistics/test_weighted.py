"""Weighted guesses against enumeration; level and power."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from dpcheck.errors import InvalidInput
from dpcheck.statistics.binomial import epsilon_lower_conditional, guess_p_value
from dpcheck.statistics.weighted import (
    LEAK,
    LEAKS,
    _at_the_top,
    _numbers_of_leaks,
    _tails,
    epsilon_lower_weighted,
    most_leaks,
    weighted_p_value,
)


def enumerated(right, wrong, epsilon):
    made = np.add(right, wrong)
    theta = 1 / (1 + math.exp(-epsilon))
    score = sum((i + 1) * r for i, r in enumerate(right))
    total = 0.0
    for table in itertools.product(*(range(m + 1) for m in made)):
        if sum((i + 1) * r for i, r in enumerate(table)) >= score:
            total += math.prod(stats.binom.pmf(r, m, theta) for r, m in zip(table, made, strict=True))
    return total


@pytest.mark.parametrize(("right", "wrong"), [([3, 5, 4], [2, 1, 1]), ([0, 9, 0], [4, 2, 0]), ([6], [1])])
@pytest.mark.parametrize("epsilon", [0.0, 0.7])
def test_tail_is_the_enumerated_one(right, wrong, epsilon):
    assert weighted_p_value(right, wrong, 100, epsilon) == pytest.approx(
        enumerated(right, wrong, epsilon), rel=2e-8, abs=1e-11
    )


def convolved(score, made, theta):
    """The tail in rational arithmetic."""
    law = {0: Fraction(1)}
    for level, n in enumerate(made, 1):
        chances = [math.comb(n, k) * Fraction(theta) ** k * (1 - Fraction(theta)) ** (n - k) for k in range(n + 1)]
        sums = itertools.product(law.items(), enumerate(chances))
        law = Counter()
        for (s, a), (k, b) in sums:
            law[s + level * k] += a * b
    return float(sum(chance for s, chance in law.items() if s >= score))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.integers(0, 12), min_size=2, max_size=4).filter(any),
    st.floats(0.05, 0.95),
    st.floats(0.0, 1.0),
)
def test_deep_tails_keep_their_relative_precision(made, theta, share):
    most = sum(level * n for level, n in enumerate(made, 1))
    for score in {round(share * most), most - 1, most}:
        exact = convolved(score, made, theta)
        assert exact * (1 - 1e-9) <= _tails([score], np.array([made]), theta)[0] <= exact * (1 + 1e-7)
    assert _tails([most + 1], np.array([made]), theta)[0] == 0.0


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.sampled_from([0, 0, 0, 2, 30, 300]), min_size=2, max_size=24).filter(any),
    st.floats(0.05, 0.95),
    st.floats(0.0, 1.0),
    st.lists(st.integers(0, 150), min_size=2, max_size=6).map(sorted),
)
def test_cases_that_share_a_change_of_measure_keep_their_precision(made, theta, share, leaks):
    levels = np.arange(1, len(made) + 1)
    told = np.array([_at_the_top(np.array(made), number) for number in leaks])
    scores, rest = (round(share * float(levels @ made)) - told @ levels).tolist(), made - told
    alone = [_tails([score], left[None], theta)[0] for score, left in zip(scores, rest, strict=True)]
    assert _tails(scores, rest, theta) == pytest.approx(alone, rel=3e-8, abs=1e-300)


def test_cases_far_from_the_shared_change_of_measure_are_computed_alone():
    # Few guesses, many leaks, weights up to 64: the tails differ by hundreds of orders of magnitude.
    rng = np.random.default_rng(0)
    levels = np.arange(1, 65)
    for _ in range(100):
        made = np.zeros(64, dtype=int)
        made[rng.choice(64, 3, replace=False)] = rng.integers(1, 60, 3)
        theta = float(rng.uniform(0.05, 0.95))
        score = int(levels @ rng.binomial(made, rng.choice([theta, 0.99, 1.0])))
        told = np.array([_at_the_top(made, number) for number in np.unique(rng.integers(0, 150, 8)).tolist()])
        scores, rest = (score - told @ levels).tolist(), made - told
        alone = [_tails([one], left[None], theta)[0] for one, left in zip(scores, rest, strict=True)]
        assert _tails(scores, rest, theta) == pytest.approx(alone, rel=1e-8, abs=1e-300)


def test_nothing_is_shown_when_all_guesses_may_have_leaked():
    # Of 1,000 trials up to 40 or so leak; two guesses were made.
    assert weighted_p_value([1, 1], [0, 0], 1000, 1.0, 0.02) > 0.999
    assert weighted_p_value([0, 0, 3], [0, 0, 0], 100, 0.5, 0.05) > 0.9


@pytest.mark.parametrize("delta", [0.0, 1e-3])
@pytest.mark.parametrize(("right", "wrong"), [([90, 9], [0, 0]), ([50, 9], [40, 0])])
def test_no_guesses_are_news_where_all_of_them_may_be_right(right, wrong, delta):
    """From epsilon = 37 on, 1/(1 + e^-epsilon) is 1; just below, guesses that are all right are hardly any."""
    assert weighted_p_value(right, wrong, 100, 38.0, delta, coin=0.5) == 1.0
    assert weighted_p_value([90, 9], [0, 0], 100, 36.0, delta) == pytest.approx(1.0, abs=1e-12)


def test_bounds_at_tiny_failure_probabilities():
    # All of 200 right, at weights 1 and 2: theta^200 = 1e-30.
    bound = epsilon_lower_weighted([100, 100], [0, 0], 200, failure_probability=1e-30)
    assert bound == pytest.approx(special.logit(10 ** (-30 / 200)), abs=1e-4)


def test_one_level_is_the_conditional_binomial():
    assert epsilon_lower_weighted([800], [200], 5000) == pytest.approx(
        float(epsilon_lower_conditional(800, 200)), abs=1e-4
    )


def test_level_when_the_leak_sits_in_the_top_level():
    # A pair on the boundary of (1, 0.01): pure ratio e in level 1, ratio e plus the whole leak in level 3.
    rng = np.random.default_rng(3)
    n, e, delta = 4000, math.e, 0.01
    low, top = np.array([0.2 * e, 0.2]) / (1 + e), np.array([0.03 * e + delta * (1 + e), 0.03]) / (1 + e)
    law = [low[0], low[1], top[0], top[1]]
    rejections = 0
    for r1, w1, r3, w3, _ in rng.multinomial(n, [*law, 1 - sum(law)], size=600):
        rejections += weighted_p_value([r1, 0, r3], [w1, 0, w3], n, 1.0, delta) <= 0.05
    # At most binomial(600, 0.05): more than 47 has probability 1e-3.
    assert rejections <= 47


def test_weights_gain_over_one_event():
    right, wrong = [300, 0, 0, 200], [200, 0, 0, 4]
    assert epsilon_lower_weighted(right, wrong, 10_000) > float(epsilon_lower_conditional(500, 204)) + 0.2


def test_refuses_what_cannot_be():
    with pytest.raises(InvalidInput, match="more guesses"):
        weighted_p_value([50], [60], 100, 1.0)
    for right, wrong in (([5, 3], [1]), ([-1], [2])):
        with pytest.raises(InvalidInput, match="counts of equal length"):
            weighted_p_value(right, wrong, 100, 1.0)


def worst_allocation(right, wrong, epsilon, leaks):
    """Largest tail over every way to make `leaks` of the guesses sure hits, by enumeration."""
    made = np.add(right, wrong)
    theta = 1 / (1 + math.exp(-epsilon))
    score = sum((i + 1) * r for i, r in enumerate(right))
    worst = 0.0
    for sure in itertools.product(*(range(min(m, leaks) + 1) for m in made)):
        if sum(sure) > leaks:
            continue
        rest = made - sure
        start = score - sum((i + 1) * s for i, s in enumerate(sure))
        total = sum(
            math.prod(stats.binom.pmf(r, m, theta) for r, m in zip(table, rest, strict=True))
            for table in itertools.product(*(range(m + 1) for m in rest))
            if sum((i + 1) * r for i, r in enumerate(table)) >= start
        )
        worst = max(worst, total)
    return worst


@pytest.mark.parametrize(("right", "wrong"), [([3, 2, 4], [2, 1, 1]), ([2, 6, 1], [3, 2, 0]), ([4, 0, 2], [1, 2, 2])])
def test_leaks_at_the_top_are_the_worst_of_all_allocations(right, wrong):
    samples, epsilon, delta = 60, 0.4, 0.01
    leaks, spent = most_leaks(samples, delta, LEAK * 0.05)
    assert 2 <= leaks < LEAKS
    tails = [worst_allocation(right, wrong, epsilon, j) for j in range(leaks + 1)]
    chances = stats.binom.pmf(range(leaks + 1), samples, delta)
    for worth in (0.0, 0.2, 0.7):
        z = min(stats.norm.isf(tail) + worth * j for j, tail in enumerate(tails))
        expected = sum(c * stats.norm.cdf(worth * j - z) for j, c in enumerate(chances)) + spent
        p_value = weighted_p_value(right, wrong, samples, epsilon, delta, leak_worth=worth)
        assert p_value == pytest.approx(min(1.0, expected), rel=1e-6)


@pytest.mark.parametrize(("samples", "delta"), [(10, 1e-5), (200_000, 1e-5), (2_000_000, 1e-4), (5, 0.5)])
def test_numbers_of_leaks_cover_all_that_may_leak(samples, delta):
    numbers, chances, beyond = _numbers_of_leaks(samples, delta, 1e-4)
    assert len(numbers) <= LEAKS
    assert (np.diff(numbers) > 0).all()
    assert beyond <= 1e-4
    assert np.cumsum(chances) == pytest.approx(stats.binom.cdf(numbers, samples, delta))


@pytest.mark.parametrize("worth", [0.0, 0.05, 1.0, 50.0])
def test_level_whatever_a_leak_is_thought_to_be_worth(worth):
    # A pair on the boundary of (1, 0.01), all leaks in the top level: 40 of them where only 30 at odds e are guessed.
    rng = np.random.default_rng(31)
    n, epsilon, delta = 4000, 1.0, 0.01
    e = math.e
    top = np.array([0.01 * e / (1 + e) + delta, 0.01 / (1 + e)])
    law = [0.2 * e / (1 + e), 0.2 / (1 + e), *top]
    tables = rng.multinomial(n, [*law, 1 - sum(law)], size=600)
    ps = [weighted_p_value([r1, 0, r3], [w1, 0, w3], n, epsilon, delta, 0.05, worth) for r1, w1, r3, w3, _ in tables]
    # At most binomial(600, 0.05): more than 47 has probability 1e-3.
    assert sum(p <= 0.05 for p in ps) <= 47


def test_a_good_guess_of_what_a_leak_is_worth_has_power():
    # By a normal approximation a leak adds 2 / sqrt((550 + 4 * 126) * e) = 0.037.
    none, good, dear = (weighted_p_value([400, 120], [150, 6], 200_000, 1.0, 1e-4, 0.05, w) for w in (0, 0.04, 0.2))
    assert good < none / 4
    assert good < dear / 4


@pytest.mark.parametrize("samples", [1, 60, 500])
@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.2])
@pytest.mark.parametrize("chance", [0.1, 1e-3, 1e-9])
def test_most_leaks_counts_them_one_by_one(samples, delta, chance):
    more, leaks = 1 - (1 - delta) ** samples, 0
    law = np.cumprod([1.0, *[(samples - k) / (k + 1) * delta / (1 - delta) for k in range(samples)]])
    law *= (1 - delta) ** samples
    while more > chance:
        leaks += 1
        more = float(law[leaks + 1 :].sum())
    assert most_leaks(samples, delta, chance) == (leaks, pytest.approx(more, rel=1e-6, abs=1e-15))


@pytest.mark.parametrize(
    "shares", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.5, 0, 0.5), (1 / 3, 1 / 3, 1 / 3), (0.8, 0.2, 0)]
)
def test_level_wherever_the_leak_sits(shares):
    # Pairs on the boundary of (0.8, 0.02), the leak split over three levels; tight ratios elsewhere.
    rng = np.random.default_rng(17)
    n, epsilon, delta = 1500, 0.8, 0.02
    e = math.exp(epsilon)
    chance = np.array([0.3, 0.15, 0.08])
    leak = delta * np.array(shares)
    wrong = (chance - leak) / (1 + e)
    right = e * wrong + leak
    law = np.concatenate([right, wrong])
    tables = rng.multinomial(n, [*law, 1 - law.sum()], size=250)
    rejected = sum(weighted_p_value(t[:3], t[3:6], n, epsilon, delta) <= 0.05 for t in tables)
    # At most binomial(250, 0.05): more than 24 has probability 1e-3.
    assert rejected <= 24


@pytest.mark.parametrize("made", [(0, 0), (6,), (3, 4), (2, 0, 5)])
@pytest.mark.parametrize("alpha", [1e-3, 0.05, 0.6])
def test_with_a_coin_the_p_value_is_uniform_where_every_guess_is_as_right_as_it_may_be(made, alpha):
    theta, rejected = 1 / (1 + math.exp(-0.7)), 0.0
    for right in itertools.product(*(range(n + 1) for n in made)):
        wrong = np.subtract(made, right)
        chance = float(np.prod(stats.binom.pmf(right, made, theta)))
        beyond, least = (weighted_p_value(right, wrong, 20, 0.7, coin=coin) for coin in (0.0, 1.0))
        assert weighted_p_value(right, wrong, 20, 0.7, coin=0.25) == pytest.approx(0.75 * beyond + 0.25 * least)
        if any(wrong):
            rejected += chance * float(np.clip((alpha - beyond) / (least - beyond), 0, 1))
        else:
            assert beyond == least, "a coin alone must not refute every epsilon"
            rejected += chance * (least <= alpha)
    all_right = theta ** sum(made)
    assert rejected == pytest.approx(0.0 if alpha < all_right else alpha, rel=1e-6)


def test_all_right_guesses_certify_what_they_are_worth_whatever_the_coin():
    """A p-value that is the coin times something certifies every epsilon one time in twenty."""
    for coin in (0.0, 0.01, 1.0):
        assert weighted_p_value([0, 0], [0, 0], 9, 1.0, coin=coin) == 1
        assert weighted_p_value([3, 4], [0, 0], 9, 1.0, coin=coin) == pytest.approx((1 / (1 + math.exp(-1))) ** 7)
        assert guess_p_value(7, 0, 9, 1.0, 0.0, coin=coin) == pytest.approx((1 / (1 + math.exp(-1))) ** 7)
        assert guess_p_value(6, 1, 9, 1.0, 0.0, coin=coin) >= guess_p_value(7, 0, 9, 1.0, 0.0)


def test_a_coin_moves_no_p_value_of_a_leaky_claim():
    given = ([9, 4], [2, 1], 40, 0.5, 0.01)
    assert weighted_p_value(*given, coin=0.1) == weighted_p_value(*given)
