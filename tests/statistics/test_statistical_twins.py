"""Every statistical routine against a slow re-derivation that shares no code with it, at random inputs and at edges."""

import itertools
import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

from dpcheck.statistics import binomial, means, stages, weighted

NORMAL = statistics.NormalDist()


def tail_by_sum(at_least, n, p):
    """P(Bin(n, p) >= at_least) in exact rationals."""
    p = Fraction(p)
    return sum((math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(max(0, at_least), n + 1)), Fraction(0))


def root(function, low, high):
    """Where a growing function crosses 0, by bisection."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return (low + high) / 2


# -- binomials -------------------------------------------------------------------------------------------------------


def test_binomial_tail_is_the_exact_sum():
    rng = np.random.default_rng(30)
    cases = [(int(rng.integers(-1, n + 2)), n, float(rng.random())) for n in (1, 2, 7, 40, 90) for _ in range(6)]
    cases += [(0, 5, 0.0), (1, 5, 0.0), (5, 5, 1.0), (6, 5, 1.0), (5, 5, 0.5), (1, 1, 1e-12)]
    for k, n, p in cases:
        assert float(binomial.binomial_tail(k, n, p)) == pytest.approx(float(tail_by_sum(k, n, p)), rel=1e-11)


@pytest.mark.parametrize("alpha", [0.05, 1e-6])
def test_conditional_bound_is_where_the_exact_tail_crosses_the_level(alpha):
    rng = np.random.default_rng(31)
    cases = [(int(r), int(w)) for r, w in rng.integers(0, 30, size=(12, 2))] + [(25, 0), (0, 9), (1, 0)]
    for right, wrong in cases:

        def excess(epsilon, right=right, wrong=wrong):
            return tail_by_sum(right, right + wrong, 1 / (1 + math.exp(-epsilon))) - Fraction(alpha)

        naive = 0.0 if right == 0 or excess(0.0) > 0 else root(excess, 0.0, 40.0)
        found = float(binomial.epsilon_lower_conditional(right, wrong, alpha))
        assert found == pytest.approx(naive, abs=1e-9)
        assert binomial.epsilon_lower_guesses(right, wrong, 100, 0.0, alpha) == found


def signed_root(counts, n, boundary):
    """Of the likelihood ratio of multinomial counts against laws on a curve s -> boundary(s) in [0, 1]."""
    free = sum(c * math.log(c / n) for c in counts if c)

    def loss(s):
        law = boundary(s)
        return -sum(c * math.log(max(p, 1e-300)) for c, p in zip(counts, law, strict=True) if c)

    grid = np.linspace(0, 1, 401)
    best = int(np.argmin([loss(s) for s in grid]))
    ends = grid[max(0, best - 1)], grid[min(400, best + 1)]
    bound = min(optimize.minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-12}).fun, loss(0.0))
    return math.sqrt(max(0.0, 2 * (free + bound)))


@pytest.mark.parametrize(
    ("right", "wrong", "epsilon", "delta"), [(9, 2, 0.5, 0.05), (6, 0, 1.0, 0.02), (12, 5, 0.1, 0.1), (4, 1, 0.0, 0.01)]
)
def test_guess_test_from_the_definition(right, wrong, epsilon, delta):
    """All tables of 22 trials, the likelihood maximised numerically, the nuisance over a grid."""
    n, e = 22, math.exp(epsilon)
    top = (1 - delta) / (1 + e)

    def boundary(s):
        return e * top * s + delta, top * s, max(0.0, 1 - delta - (1 + e) * top * s)

    def statistic(r, w):
        root_of = signed_root((r, w, n - r - w), n, boundary)
        return root_of if r > e * w + delta * n else -root_of

    observed = statistic(right, wrong)
    tables = [(r, w) for r in range(n + 1) for w in range(n + 1 - r)]
    extreme = [(r, w) for r, w in tables if statistic(r, w) >= observed - 1e-6]
    spent = 1e-4 * 0.05
    made = right + wrong
    low, high = stats.beta.ppf(spent / 2, made, n - made + 1), stats.beta.isf(spent / 2, made + 1, n - made)
    worst = 0.0
    for s in np.linspace(max(low, delta), min(high, 1.0), 400):
        w0 = (s - delta) / (1 + e)
        law = (e * w0 + delta, w0, max(0.0, 1 - s))
        worst = max(worst, sum(stats.multinomial.pmf([r, w, n - r - w], n, law) for r, w in extreme))
    found = binomial.guess_p_value(right, wrong, n, epsilon, delta)
    # The grid of the twin misses the supremum by less than 1 %; the confinement costs 2e-4 of the level.
    assert found == pytest.approx(worst + 2 * spent, rel=1e-2)


@pytest.mark.parametrize(("x", "y", "epsilon", "delta"), [(9, 1, 0.5, 0.05), (6, 0, 1.0, 0.0), (8, 3, 0.1, 0.1)])
def test_two_sample_test_from_the_definition(x, y, epsilon, delta):
    n_p, n_q, e = 13, 11, math.exp(epsilon)
    top = (1 - delta) / e

    def statistic(a, b):
        def loss(q):
            laws = ((a, n_p, e * q + delta), (b, n_q, q))
            return -sum(k * math.log(max(p, 1e-300)) + (n - k) * math.log(max(1 - p, 1e-300)) for k, n, p in laws)

        free = sum(c * math.log(c / n) for c, n in ((a, n_p), (n_p - a, n_p), (b, n_q), (n_q - b, n_q)) if c)
        grid = np.linspace(0, top, 401)
        best = int(np.argmin([loss(q) for q in grid]))
        ends = grid[max(0, best - 1)], grid[min(400, best + 1)]
        least = optimize.minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-12}).fun
        bound = min(least, loss(0.0))
        return math.copysign(math.sqrt(max(0.0, 2 * (free + bound))), a / n_p - e * b / n_q - delta)

    observed = statistic(x, y)
    tables = itertools.product(range(n_p + 1), range(n_q + 1))
    extreme = [(a, b) for a, b in tables if statistic(a, b) >= observed - 1e-6]
    spent = 1e-4 * 0.05
    low = stats.beta.ppf(spent / 2, y, n_q - y + 1) if y else 0.0
    high = stats.beta.isf(spent / 2, y + 1, n_q - y)
    worst = max(
        sum(stats.binom.pmf(a, n_p, min(1.0, e * q + delta)) * stats.binom.pmf(b, n_q, q) for a, b in extreme)
        for q in np.linspace(low, min(high, top), 400)
    )
    assert binomial.two_sample_p_value(x, n_p, y, n_q, epsilon, delta) == pytest.approx(worst + 2 * spent, rel=1e-2)


def test_two_sample_test_keeps_its_level_and_has_power():
    rng = np.random.default_rng(32)
    n, q, epsilon, delta = 300, 0.08, 0.7, 0.03
    tight, loud = math.exp(epsilon) * q + delta, 0.4
    rejected = sum(
        binomial.two_sample_p_value(int(rng.binomial(n, tight)), n, int(rng.binomial(n, q)), n, epsilon, delta) <= 0.05
        for _ in range(200)
    )
    # At most binomial(200, 0.05): more than 20 has probability 1e-3.
    assert 1 <= rejected <= 20
    assert all(
        binomial.two_sample_p_value(int(rng.binomial(n, loud)), n, int(rng.binomial(n, q)), n, epsilon, delta) <= 0.05
        for _ in range(10)
    )


@pytest.mark.parametrize(("right", "wrong", "delta"), [(60, 20, 0.01), (300, 10, 1e-4), (25, 24, 0.02)])
def test_bounds_are_the_first_null_of_a_scan_that_stands(right, wrong, delta):
    samples, step = 1000, 1e-3
    scan = np.arange(0, 6, step)

    def standing(p_value):
        # p-values grow, so that the scan may look at every 50th null first.
        coarse = next(i for i in range(0, len(scan), 50) if p_value(float(scan[i])) > 0.05)
        return next(i for i in range(max(0, coarse - 50), coarse + 1) if p_value(float(scan[i])) > 0.05)

    def compare(bound, p_value):
        first = standing(p_value)
        assert bound == 0.0 if first == 0 else scan[first - 1] - 2e-4 <= bound <= scan[first]

    compare(
        binomial.epsilon_lower_guesses(right, wrong, samples, delta),
        lambda e: binomial.guess_p_value(right, wrong, samples, e, delta),
    )
    compare(
        binomial.epsilon_lower_two_samples(right, 500, wrong, 500, delta),
        lambda e: binomial.two_sample_p_value(right, 500, wrong, 500, e, delta),
    )
    levels = [right // 2, right - right // 2], [wrong - wrong // 3, wrong // 3]
    compare(
        weighted.epsilon_lower_weighted(*levels, samples, delta),
        lambda e: weighted.weighted_p_value(*levels, samples, e, delta),
    )


def test_inversion_finds_a_known_root():
    for centre, alpha in [(2.0, 0.05), (0.3, 0.3), (30.0, 1e-6)]:
        found = binomial.invert_upwards(lambda e, c=centre: NORMAL.cdf(e - c), alpha)
        assert found == pytest.approx(max(0.0, centre + NORMAL.inv_cdf(alpha)), abs=1e-4)
        assert found == 0.0 or NORMAL.cdf(found - centre) <= alpha
    assert binomial.invert_upwards(lambda e: 1.0, 0.05) == 0.0


@pytest.mark.parametrize(
    ("n", "low", "high"), [(50, 0.0, 0.01), (1000, 0.2, 0.3), (100_000, 0.001, 0.002), (20, 1.0, 1.0)]
)
def test_rows_hold_all_but_the_tail(n, low, high):
    rows = binomial.clopper_rows(n, low, high, 1e-8)
    assert np.all(np.diff(rows) > 0)
    for s in np.linspace(low, high, 7):
        inside = stats.binom.cdf(rows[-2], n, s) - stats.binom.cdf(rows[0] - 1, n, s)
        assert inside >= 1 - 1e-8


# -- stages ----------------------------------------------------------------------------------------------------------


def test_normal_scores_and_their_combination():
    rng = np.random.default_rng(33)
    for size in (1, 2, 5):
        p, w = rng.random(size), rng.random(size) + 0.1
        scores = [-NORMAL.inv_cdf(float(v)) for v in p]
        assert stages.normal_score(p) == pytest.approx(scores)
        z = sum(math.sqrt(float(b) / float(w.sum())) * s for b, s in zip(w, scores, strict=True))
        assert stages.combine_stages(p, w) == pytest.approx(1 - NORMAL.cdf(z), abs=1e-12)


def test_boundaries_of_equal_stages_are_those_of_pocock():
    """Pocock (1977), Table 1: equal boundaries of 2 to 5 equal stages at 5 % on both sides, so 2.5 % on one."""
    for stages_, boundary in ((2, 2.178), (3, 2.289), (4, 2.361), (5, 2.413)):
        sizes = np.arange(1.0, stages_ + 1)
        rng = np.random.default_rng(stages_)
        walk = np.cumsum(rng.normal(size=(400_000, stages_)), axis=1) / np.sqrt(sizes)
        spent = np.maximum.accumulate(walk >= boundary, axis=1).mean(axis=0)
        found = stages.critical_scores(sizes, spent)
        # Spent chances are simulated, five standard errors of the last step's.
        assert found == pytest.approx(np.full(stages_, boundary), abs=0.06)
        assert spent[-1] == pytest.approx(0.025, abs=1.3e-3)


# -- means -----------------------------------------------------------------------------------------------------------


def test_betting_one_value_at_a_time():
    rng = np.random.default_rng(34)
    for bound in (0.5, 1.0, 3.0):
        values = rng.lognormal(sigma=1.5, size=60)
        wealths, largest, crossed = [1.0] * len(means.STAKES), 1.0, None
        for count, value in enumerate(values, start=1):
            wealths = [w * (1 + s * (value / bound - 1)) for w, s in zip(wealths, means.STAKES, strict=True)]
            wealth = sum(wealths) / len(wealths)
            largest = max(largest, wealth)
            crossed = count if crossed is None and wealth >= 1 / 0.2 else crossed
        found = means.refute_mean(values, bound, 0.2)
        assert found.log_e_value == pytest.approx(math.log(wealth))
        assert found.p_value == pytest.approx(1 / largest)
        assert found.crossed == crossed


@pytest.mark.parametrize("order", [2.0, 1.5, 1.1])
def test_catoni_from_the_printed_influence_function(order):
    rng = np.random.default_rng(35)
    for n, moment, alpha in [(2, 1.0, 0.05), (17, 0.3, 0.01), (60, 25.0, 1e-6)]:
        values = [float(v) for v in rng.standard_t(3, size=n)]
        log_term = math.log(1 / alpha)
        scale = (order * log_term / ((order - 1) * n * moment)) ** (1 / order)

        def psi(x):
            size = math.log(1 + abs(x) + abs(x) ** order / order)
            return size if x > 0 else -size

        def short(centre, values=values, scale=scale, n=n, moment=moment, log_term=log_term):
            """Grows with the centre; 0 where Markov's inequality has spent the failure probability."""
            total = sum(psi(scale * (v - centre)) for v in values)
            return -total - n * scale**order * moment / order - log_term

        naive = root(short, -1e7, 1e7)
        assert means.catoni_upper(values, moment, alpha, order) == pytest.approx(naive, rel=1e-9)
        # What the bound rests on, and that this scale is the best one to first order.
        for x in np.linspace(-8, 8, 161):
            assert -psi(x) <= math.log(1 - x + abs(x) ** order / order) + 1e-12

        def width(a, n=n, moment=moment, log_term=log_term):
            return a ** (order - 1) * moment / order + log_term / (n * a)

        assert width(scale) <= min(width(scale * c) for c in (0.5, 0.9, 1.1, 2.0)) * (1 + 1e-12)


def test_bootstrap_t_one_resample_at_a_time():
    rng = np.random.default_rng(36)
    for values in (rng.exponential(size=9), np.array([1.0, 1.0, 0.0, 3.0])):
        n, resamples, alpha = len(values), 40, 0.07
        found = means.bootstrap_t_upper(values, alpha, np.random.default_rng(5), resamples)
        draws = np.random.default_rng(5)
        centre = statistics.fmean(values)
        se = statistics.stdev(values) / math.sqrt(n)
        told = []
        for row in draws.integers(n, size=(resamples, n)):
            again = [float(values[i]) for i in row]
            spread = statistics.stdev(again) / math.sqrt(n)
            told.append((statistics.fmean(again) - centre) / spread if spread > 0 else 0.0)
        told.sort()
        place = alpha * (resamples - 1)
        quantile = told[int(place)] + (place - int(place)) * (told[int(place) + 1] - told[int(place)])
        assert found == pytest.approx(centre - se * quantile)
    assert means.bootstrap_t_upper([2.0, 2.0, 2.0], 0.05, np.random.default_rng(0)) == 2.0


def test_block_means_by_a_loop():
    values = np.random.default_rng(37).exponential(size=23)
    for blocks in (1, 2, 5, 23):
        sizes = [23 // blocks + (i < 23 % blocks) for i in range(blocks)]
        ends = list(itertools.accumulate(sizes))
        naive = max(statistics.fmean(values[e - s : e]) for s, e in zip(sizes, ends, strict=True))
        assert means.block_means_upper(values, blocks) == pytest.approx(naive)


# -- slopes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("trials", "chance"), [(10, 0.3), (1000, 0.001), (10**6, 1e-6), (5, 0.5)])
def test_binomial_masses_and_quantiles_are_those_of_scipy(trials, chance):
    far = 12 * np.sqrt(trials * chance * (1 - chance))
    k = np.unique(np.round(np.clip(trials * chance + np.linspace(-far, far, 101), -1, trials + 1)))
    masses, expected = binomial.binomial_masses(k, trials, chance), stats.binom.pmf(k, trials, chance)
    np.testing.assert_allclose(masses, expected, rtol=1e-9, atol=1e-290)
    asked = np.concatenate([np.geomspace(1e-30, 1e-3, 20), np.linspace(0.013, 0.991, 37)])
    np.testing.assert_array_equal(
        binomial.binomial_quantile(asked, trials, chance), stats.binom.ppf(asked, trials, chance)
    )
