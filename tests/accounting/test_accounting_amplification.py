"""Subsampling and shuffling theorems against exact laws."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from dpcheck.accounting import (
    largest_local_epsilon,
    pure_renyi,
    shuffle_delta,
    shuffle_epsilon,
    shuffle_epsilon_exact,
    shuffle_limit,
    shuffled,
    subsampled_epsilon,
)
from dpcheck.accounting.amplification import (
    amplified_from,
    copies,
    little_sampled_gaussian,
    log_sum,
    mixture_renyi,
    sampled_renyi,
)
from dpcheck.errors import InvalidInput
from dpcheck.laws import Gaussian
from dpcheck.privacy import gaussian_delta


def test_subsampling_of_randomised_response_is_exact() -> None:
    # One of n records is answered by randomised response; the worst pair of a single changed record.
    for epsilon, rate in ((0.5, 0.1), (3.0, 0.5), (1.0, 1.0)):
        p = 1 / (1 + math.exp(-epsilon))
        # All other records say 0: P(1) with and without a record saying 1.
        with_one, without = rate * p + (1 - rate) * (1 - p), 1 - p
        assert math.log(with_one / without) == pytest.approx(subsampled_epsilon(epsilon, rate))
        assert amplified_from(subsampled_epsilon(epsilon, rate), rate) == pytest.approx(epsilon)
    assert subsampled_epsilon(1e4, 0.1) == pytest.approx(1e4 + math.log(0.1))
    assert subsampled_epsilon(math.inf, 0.1) == math.inf
    with pytest.raises(InvalidInput, match="rate"):
        subsampled_epsilon(1.0, 0.0)


def test_copies_follow_the_binomial_law() -> None:
    chances, more = copies(50, 20)
    np.testing.assert_allclose(chances, stats.binom.pmf(np.arange(len(chances)), 50, 1 / 20))
    assert chances.sum() + more == pytest.approx(1.0, abs=1e-14)
    assert more <= 1e-30
    chances, more = copies(10**6, 10**3)
    assert chances.sum() == pytest.approx(1.0, abs=1e-10)
    assert len(copies(3, 10)[0]) == 4
    assert len(copies(1, 10**9)[0]) == 2


def renyi_of_mixtures(weights, p_means, q_means, sigma: float, alpha: float) -> float:
    x = np.linspace(-60, 60, 120_001) * sigma
    log_p, log_q = (
        special.logsumexp(-((x[:, None] - np.asarray(m)) ** 2) / (2 * sigma**2) + np.log(weights), axis=1)
        for m in (p_means, q_means)
    )
    integrand = alpha * log_p + (1 - alpha) * log_q - math.log(sigma * math.sqrt(2 * math.pi)) + math.log(x[1] - x[0])
    return float(special.logsumexp(integrand)) / (alpha - 1)


@pytest.mark.parametrize(("rate", "mu"), [(0.01, 0.5), (0.1, 1.0), (0.3, 0.2)])
def test_sampled_renyi_bounds_the_gaussian_mixtures(rate: float, mu: float) -> None:
    law = Gaussian(1.0)
    table = sampled_renyi(32, (1,), np.array([rate]), lambda a, k: law.renyi(a, k * mu), np.array([math.inf]))
    for alpha in (2, 3, 8, 16):
        # Three replaced pairs: against nothing, against the opposite, and the reverse of the first.
        pairs = [((0, mu), (0, 0)), ((0, mu / 2), (0, -mu / 2)), ((0, 0), (0, mu))]
        exact = max(renyi_of_mixtures((1 - rate, rate), p, q, 1.0, alpha) for p, q in pairs)
        plain = alpha * mu**2 / 2
        assert exact <= table[alpha - 2] * (1 + 1e-9)
        assert exact <= mixture_renyi(alpha, np.array([rate]), np.array([plain])) * (1 + 1e-9)
    # It amplifies: far below the mechanism that sees every record, like rate^2 for small rates.
    assert table[0] < 10 * rate**2 * mu**2


def test_sampled_renyi_with_repeated_draws() -> None:
    size, rows, mu = 5, 20, 0.4
    law = Gaussian(1.0)
    chances, _ = copies(size, rows)
    times = tuple(range(1, len(chances)))
    table = sampled_renyi(8, times, chances[1:], lambda a, k: law.renyi(a, k * mu), np.full(len(times), math.inf))
    k = np.arange(len(chances))
    for alpha in (2, 4, 8):
        for p, q in ((k * mu, 0 * k), (k * mu / 2, -k * mu / 2), (0 * k, k * mu)):
            assert renyi_of_mixtures(chances, p, q, 1.0, alpha) <= table[alpha - 2]


def test_sampled_renyi_of_a_pure_mechanism() -> None:
    epsilon, rate = 0.8, 0.05
    table = sampled_renyi(64, (1,), np.array([rate]), lambda a, k: pure_renyi(a, epsilon), np.array([epsilon]))
    p = 1 / (1 + math.exp(-epsilon))
    a, b = rate * p + (1 - rate) * (1 - p), 1 - p
    for alpha in (2, 8, 64):
        exact = math.log(a**alpha * b ** (1 - alpha) + (1 - a) ** alpha * (1 - b) ** (1 - alpha)) / (alpha - 1)
        assert exact <= table[alpha - 2]
    with pytest.raises(InvalidInput, match="order"):
        sampled_renyi(1, (1,), np.array([rate]), lambda a, k: 0.0, np.array([epsilon]))


def exact_shuffled_response(epsilon0: float, n: int, epsilon: float, ones: int) -> float:
    """Shuffled binary randomised response: the count of ones decides; the changed record says 1 or 0."""
    p = 1 / (1 + math.exp(-epsilon0))

    def count_law(says_one: int) -> np.ndarray:
        truth = ones + says_one
        return np.convolve(
            stats.binom.pmf(np.arange(truth + 1), truth, p), stats.binom.pmf(np.arange(n - truth + 1), n - truth, 1 - p)
        )

    a, b = count_law(1), count_law(0)
    return max(np.maximum(0, x - math.exp(epsilon) * y).sum() for x, y in ((a, b), (b, a)))


@pytest.mark.parametrize(("epsilon0", "n"), [(0.3, 50), (1.0, 400), (2.5, 400)])
def test_shuffling_bounds_the_exact_curve_of_randomised_response(epsilon0: float, n: int) -> None:
    for share in (0.05, 0.2, 0.5, 0.9):
        epsilon = share * epsilon0
        exact = max(exact_shuffled_response(epsilon0, n, epsilon, ones) for ones in (0, n // 2, n - 1))
        assert exact <= shuffle_delta(epsilon, epsilon0, n) * (1 + 1e-9) + 1e-18
    assert shuffle_delta(epsilon0, epsilon0, n) == 0.0


def test_clones_curve_matches_brute_force() -> None:
    epsilon0, n = 1.2, 7
    p, q = 1 / (1 + math.exp(-epsilon0)), math.exp(-epsilon0)
    for epsilon in (0.0, 0.3, 0.9):
        total = 0.0
        for c in range(n):
            weight = stats.binom.pmf(c, n - 1, q)
            for a in range(c + 2):
                up, down = stats.binom.pmf(a - 1, c, 0.5), stats.binom.pmf(a, c, 0.5)
                upper, lower = p * up + (1 - p) * down, (1 - p) * up + p * down
                total += weight * max(0.0, upper - math.exp(epsilon) * lower)
        assert shuffle_delta(epsilon, epsilon0, n) == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize(("epsilon0", "n", "delta"), [(0.5, 10_000, 1e-6), (1.0, 10**6, 1e-6), (2.0, 10**5, 1e-5)])
def test_the_closed_form_is_looser_than_the_clones(epsilon0: float, n: int, delta: float) -> None:
    closed, exact = shuffle_epsilon(epsilon0, n, delta), shuffle_epsilon_exact(epsilon0, n, delta)
    assert exact < closed < epsilon0
    assert shuffle_delta(closed, epsilon0, n) <= delta


def test_published_values_and_limits_of_the_closed_form() -> None:
    assert shuffle_epsilon(1.0, 10**6, 1e-6) == pytest.approx(0.0235, abs=1e-4)
    assert shuffle_epsilon(3.0, 10, 1e-6) == 3.0
    assert shuffle_limit(10, 1e-6) < 0
    assert shuffle_epsilon(0.0, 100, 1e-6) == 0.0
    assert shuffle_epsilon(0.5, 1000, 0.0) == 0.5


def test_largest_local_epsilon_inverts() -> None:
    n, delta = 10**5, 1e-6
    for epsilon in (0.005, 0.03, 0.2):
        epsilon0 = largest_local_epsilon(epsilon, n, delta)
        assert shuffle_epsilon(epsilon0, n, delta) <= epsilon
        assert epsilon0 >= epsilon
        bigger = epsilon0 * (1 + 1e-6)
        assert shuffle_epsilon(bigger, n, delta) > epsilon or bigger > shuffle_limit(n, delta)
    assert largest_local_epsilon(0.03, n, delta, limit=0.2) == 0.2
    assert largest_local_epsilon(0.4, 50, delta) == 0.4


def test_shuffled_gaussian_randomisers_stay_below_their_own_guarantee_and_above_the_truth() -> None:
    n, delta, sigma = 10**5, 1e-6, 6.0

    def local(delta0: float) -> float:
        from dpcheck.accounting import Composition

        return Composition(mu=1 / sigma).epsilon(delta0)

    closed, exact = shuffled(local, n, delta), shuffled(local, n, delta, exact=True)
    assert exact <= closed < local(delta)
    # The sum of all reports is a post-processing: Gaussian of deviation sigma sqrt(n).
    assert gaussian_delta(1 / (sigma * math.sqrt(n)), exact) <= delta
    assert shuffled(lambda delta0: math.inf, n, delta) == math.inf


def test_joint_convexity_on_a_small_table() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        p, q = rng.dirichlet(np.ones(4), size=(2, 3)).transpose(1, 0, 2)[:, 0], rng.dirichlet(np.ones(4), size=3)
        coin = rng.dirichlet(np.ones(3))
        alpha = 1 + rng.exponential(3)
        inner = np.log((p**alpha * q ** (1 - alpha)).sum(axis=1)) / (alpha - 1)
        mixed_p, mixed_q = coin @ p, coin @ q
        exact = math.log((mixed_p**alpha * mixed_q ** (1 - alpha)).sum()) / (alpha - 1)
        assert exact <= mixture_renyi(alpha, coin, inner) * (1 + 1e-9)
    for a, b in itertools.pairwise([mixture_renyi(2.0, np.array([r]), np.array([1.0])) for r in (0.1, 0.5, 1.0)]):
        assert a < b


def test_mixtures_of_tiny_and_of_huge_divergences() -> None:
    """log(1 - q + q e^x) / (alpha - 1) at x = (alpha - 1) D: q D for tiny D, D + log q / (alpha - 1) for huge."""
    chances = np.array([0.25, 0.125])
    tiny = mixture_renyi(3.0, chances, np.array([1e-15, 2e-15]))
    assert tiny == pytest.approx(5e-16, rel=1e-12)
    assert mixture_renyi(3.0, chances, np.array([1e4, 1.0])) == pytest.approx(1e4 + math.log(0.25) / 2, rel=1e-15)
    for top in (249.9, 250.1):  # on both sides of the change of formula
        given = np.array([top, top - 0.5])
        expected = special.logsumexp(np.append(2 * given, 0.0), b=np.append(chances, 0.625)) / 2
        assert mixture_renyi(3.0, chances, given) == pytest.approx(float(expected), rel=1e-14)
    # A huge divergence of hardly any chance: the coins under which nothing differs count as well.
    rare = mixture_renyi(2.0, np.array([1e-250, 0.5]), np.array([500.1, 1.0]))
    assert rare == pytest.approx(math.log(0.5 + 0.5 * math.e), rel=1e-14)
    assert mixture_renyi(2.0, np.array([0.0, 1.0]), np.array([900.0, 800.0])) == pytest.approx(800.0)
    assert mixture_renyi(2.0, chances, np.array([math.inf, 1.0])) == math.inf
    assert log_sum(np.array([-math.inf, -math.inf])) == -math.inf


@pytest.mark.parametrize("shift", [0.002, 0.01, 0.03])
def test_one_little_sampled_gaussian_is_no_worse_than_certified(shift: float) -> None:
    size, rows, delta = 20, 200, 1e-6
    certified = little_sampled_gaussian(shift, size, rows, 1, delta)
    y = np.linspace(-12, 12, 200_001)
    chance = stats.binom.pmf(np.arange(size + 1), size, 1 / rows)
    # One draw moves the mean from -shift/2 to shift/2; the other records sit in the middle.
    P, Q = (sum(p * stats.norm.pdf(y, k * end) for k, p in enumerate(chance)) for end in (shift / 2, -shift / 2))
    exact = float(np.maximum(0.0, P - math.exp(certified) * Q).sum() * (y[1] - y[0]))
    assert exact <= delta


def test_many_little_sampled_gaussians_cost_their_rate() -> None:
    # 10^13 draws of 10^6 among 10^13 records: convexity alone would lose a factor of about 3,000.
    shift, size, rows, count, delta = 1e-10, 10**6, 10**13, 10**14, 1e-12
    least = size / rows * shift * math.sqrt(2 * count * math.log(2 / delta))
    assert least <= little_sampled_gaussian(shift, size, rows, count, delta) <= 1.05 * least
    assert little_sampled_gaussian(1.0, size, rows, count, delta) == math.inf
    assert little_sampled_gaussian(shift, size, rows, count, 0.0) == math.inf
    assert little_sampled_gaussian(0.03, 1000, 100, 1, 1e-6) == math.inf  # ten draws of a record are not few


def test_an_epsilon_whose_exponential_overflows_is_amplified_in_logarithms() -> None:
    assert amplified_from(600.0, 0.5) == pytest.approx(600.0 + math.log(2))
    assert amplified_from(subsampled_epsilon(600.0, 0.5), 0.5) == pytest.approx(600.0)
