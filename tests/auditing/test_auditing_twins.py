"""The auditor's statistical routines against slow re-derivations: all events, all tables, one step at a time."""

import itertools
import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import dpcheck as dp
from dpcheck.auditing import machine
from dpcheck.auditing.cells import learn_partition
from dpcheck.auditing.curve import measure_curve
from dpcheck.auditing.exact import exact_epsilon, hockey_stick
from dpcheck.auditing.limits import fewest_of_any, fewest_on_gaussian_curve, fewest_samples, limit_epsilon
from dpcheck.auditing.one_run import curve_is_refuted, one_run_p_value
from dpcheck.auditing.visible import detectable_epsilon, what_was_visible

NORMAL = statistics.NormalDist()


def events(p, q):
    """(P(A), Q(A)) of every event."""
    for chosen in itertools.product((0, 1), repeat=len(p)):
        yield tuple(sum(mass for mass, inside in zip(law, chosen, strict=True) if inside) for law in (p, q))


# -- exact privacy ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 5, 8])
def test_hockey_stick_and_epsilon_over_all_events(size):
    rng = np.random.default_rng(50 + size)
    for _ in range(4):
        p, q = rng.dirichlet(np.full(size, 0.5)), rng.dirichlet(np.full(size, 0.5))
        for epsilon in (0.0, 0.4, 2.0):
            naive = max(a - math.exp(epsilon) * b for a, b in events(p, q))
            assert hockey_stick(p, q, epsilon) == pytest.approx(naive, abs=1e-12)
        for delta in (0.0, 0.01, 0.3):
            both = [*events(p, q), *events(q, p)]
            naive = max(math.log((a - delta) / b) if b > 0 else math.inf for a, b in both if a > delta)
            assert exact_epsilon(p, q, delta) == pytest.approx(max(0.0, naive), abs=1e-9)


def test_densities_by_a_riemann_sum():
    one, two = stats.norm(0, 1), stats.norm(0.7, 1.3)
    x = np.linspace(-25, 25, 400_001)
    p, q = one.pdf(x), two.pdf(x)

    def leak(epsilon):
        e = math.exp(epsilon)
        return max(integrate.trapezoid(np.maximum(0, a - e * b), x) for a, b in ((p, q), (q, p)))

    for delta in (0.2, 1e-3):
        naive = 0.0 if leak(0) <= delta else optimize.brentq(lambda e, d=delta: leak(e) - d, 0, 30)
        assert exact_epsilon(one, two, delta) == pytest.approx(naive, abs=1e-6)


# -- the limit of theory ---------------------------------------------------------------------------------------------


def divergence(p, q, epsilon):
    """Least KL(p | p0) + KL(q | q0) over pairs with ratio at most e^epsilon either way, by a general solver."""
    e, k = math.exp(epsilon), len(p)
    limits = [{"type": "eq", "fun": lambda v, i=i: v[i * k : (i + 1) * k].sum() - 1} for i in (0, 1)]
    limits += [
        {"type": "ineq", "fun": lambda v: e * v[k:] - v[:k]},
        {"type": "ineq", "fun": lambda v: e * v[:k] - v[k:]},
    ]
    start = np.tile((p + q) / 2, 2)
    found = optimize.minimize(
        lambda v: float(p @ np.log(p / v[:k]) + q @ np.log(q / v[k:])),
        start,
        constraints=limits,
        bounds=[(1e-9, 1)] * (2 * k),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.success
    return found.fun


def test_fewest_runs_and_their_limit_from_a_general_solver():
    rng = np.random.default_rng(51)
    for size in (2, 3, 5):
        p, q = rng.dirichlet(np.full(size, 2.0)), rng.dirichlet(np.full(size, 2.0))
        claimed = 0.4 * exact_epsilon(p, q)
        reach = NORMAL.inv_cdf(0.99) + NORMAL.inv_cdf(0.9)
        naive = reach**2 / divergence(p, q, claimed)
        assert fewest_samples(p, q, claimed, 0.0, 0.01, 0.9) == pytest.approx(naive, rel=1e-3, abs=1)
        # At the certified limit the divergence is what half the power takes.
        limit = limit_epsilon(p, q, 0.0, 2000, 0.05)
        assert divergence(p, q, limit) == pytest.approx(NORMAL.inv_cdf(0.95) ** 2 / 2 / 2000, rel=1e-3)
        assert fewest_samples(p, q, exact_epsilon(p, q) + 1e-3, 0.0, 0.01) is None


@pytest.mark.parametrize(
    ("mu", "claimed", "alpha", "power"), [(2.0, 1.0, 0.05, 0.95), (1.1, 1.0, 1e-6, 0.5), (0.3, 0.2, 0.01, 0.9)]
)
def test_fewest_on_a_gaussian_curve_is_the_z_test_for_the_difference_of_means(mu, claimed, alpha, power):
    half = fewest_on_gaussian_curve(mu, claimed, alpha, power) / 2

    def reached(runs):
        """Power of the test of mean difference <= claimed with unit variances and `runs` on each input."""
        return NORMAL.cdf((mu - claimed) / math.sqrt(2 / runs) - NORMAL.inv_cdf(1 - alpha))

    assert reached(half) >= power - 1e-9
    assert reached(half - 0.5) < power


def test_fewest_of_any_is_a_bound_that_randomised_response_respects():
    """The exact binomial test of the most telling pair of all never needs fewer."""
    for exact, claimed, alpha, power in [(2.0, 1.0, 1e-3, 0.9), (1.5, 0.5, 1e-6, 0.95), (8.0, 1.0, 0.01, 0.5)]:
        null, truth = (1 / (1 + math.exp(-e)) for e in (claimed, exact))
        bound = fewest_of_any(exact, claimed, 0.0, alpha, power)

        def reached(n, null=null, truth=truth, alpha=alpha):
            return stats.binom.sf(stats.binom.isf(alpha, n, null), n, truth)

        needed = next(n for n in range(2, 2000) if reached(n) >= power)
        assert bound <= needed <= 3 * bound
        # From the definition: the information of `bound` coin flips reaches that of the decision, one fewer does not.
        per_run = truth * math.log(truth / null) + (1 - truth) * math.log((1 - truth) / (1 - null))
        decision = power * math.log(power / alpha) + (1 - power) * math.log((1 - power) / (1 - alpha))
        assert bound == pytest.approx(decision / per_run, abs=1)


# -- what was visible ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("guesses", "samples", "epsilon", "delta", "power"), [(60, 200, 0.5, 0.0, 0.95), (40, 500, 1.0, 1e-3, 0.5)]
)
def test_detectable_epsilon_by_a_scan(guesses, samples, epsilon, delta, power):
    """The smallest epsilon at which the exact binomial test of that many guesses has the power."""
    alpha, leak = 0.05, delta * samples / guesses

    def share(e):
        return (1 + math.exp(-e) * leak) / (1 + math.exp(-e))

    def tail(k, p):
        p = Fraction(p)
        return sum(math.comb(guesses, i) * p**i * (1 - p) ** (guesses - i) for i in range(k, guesses + 1))

    critical = next(k for k in range(guesses + 1) if tail(k, share(epsilon)) <= alpha)
    scan = np.arange(epsilon, 8, 2e-3)
    naive = next(e for e in scan if tail(critical, share(float(e))) >= power)
    assert detectable_epsilon(guesses, samples, epsilon, delta, alpha, power) == pytest.approx(naive, abs=2.1e-3)


def test_the_edges_of_what_is_visible():
    assert detectable_epsilon(0, 100, 1.0, 0.0, 0.05, 0.5) == math.inf
    # Three right guesses in a row prove nothing at 1e-6.
    assert detectable_epsilon(3, 100, 1.0, 0.0, 1e-6, 0.5) == math.inf
    seen = what_was_visible(100, 6000, 1.0, 0.0, 0.05, 0.05)
    assert seen.smallest_probability == pytest.approx(3 / 3000)
    # All of 100 guesses right: theta^100 = 0.05 at the ceiling.
    theta = 0.05 ** (1 / 100)
    assert seen.ceiling == pytest.approx(math.log(theta / (1 - theta)))
    assert 1.0 < seen.detectable_half < seen.detectable < seen.ceiling


# -- the trade-off curve ---------------------------------------------------------------------------------------------


def test_curve_by_counting_one_test_at_a_time():
    rng = np.random.default_rng(52)
    cells = learn_partition(rng.normal(size=400), 1 + rng.normal(size=400))
    k = len(cells.p)
    counts = rng.integers(0, 30, size=(k, 2))
    curve = measure_curve(cells, counts, 0.05)
    order = sorted(range(k), key=lambda i: -(math.log(cells.p[i]) - math.log(cells.q[i])))
    runs = counts.sum(axis=0)
    rates = {}
    for cut in range(k):
        taken = [int(sum(counts[i, side] for i in order[: cut + 1])) for side in (0, 1)]
        rates[taken[1] / runs[1], (runs[0] - taken[0]) / runs[0]] = (taken[1], int(runs[0]) - taken[0])
    for fpr, fnr, fpr_upper, fnr_upper in zip(curve.fpr, curve.fnr, curve.fpr_upper, curve.fnr_upper, strict=True):
        hits, misses = rates[fpr, fnr]
        share = 0.05 / (2 * len(curve.fpr))
        for count, n, upper in ((hits, int(runs[1]), fpr_upper), (misses, int(runs[0]), fnr_upper)):
            twin = stats.binomtest(count, n, alternative="less").proportion_ci(1 - share, "exact").high
            assert upper == pytest.approx(twin, abs=1e-12)


# -- one run ---------------------------------------------------------------------------------------------------------


def test_one_run_p_value_in_exact_rationals():
    rng = np.random.default_rng(53)
    for guesses, canaries, delta in [(1, 1, 0.0), (6, 6, 0.01), (15, 20, 1e-3), (15, 40, 0.0)]:
        for right in {0, guesses, int(rng.integers(guesses + 1))}:
            theta = Fraction(1 / (1 + math.exp(-0.6)))
            law = [math.comb(guesses, i) * theta**i * (1 - theta) ** (guesses - i) for i in range(guesses + 1)]
            tail = sum(law[right:])
            below = [sum(law[right - i : right]) / i for i in range(1, right + 1)]
            naive = min(1.0, float(tail) + 2 * canaries * delta * float(max(below, default=0)))
            assert one_run_p_value(right, guesses, canaries, 0.6, delta) == pytest.approx(naive, rel=1e-9)


def refuted_by_recursion(right, m, curve, alpha):
    """Algorithm 3 of Mahloujifar et al. (2024) with lists; curve(x): least second error at first error x."""
    r, h = [0.0] * (right + 1), [0.0] * (right + 1)
    r[right], h[right] = alpha * right / m, alpha * (m - right) / m
    for i in reversed(range(right)):
        h[i] = max(h[i + 1], curve(1 - r[i + 1]))
        r[i] = r[i + 1] + i / (m - i) * (h[i] - h[i + 1])
        if r[i] + h[i] > 1:
            return True
    return False


@pytest.mark.parametrize(("m", "mu"), [(20, 0.3), (200, 0.8)])
def test_curve_test_of_one_run_by_lists_and_by_another_form_of_the_claim(m, mu):
    def gaussian(x):
        return NORMAL.cdf(NORMAL.inv_cdf(1 - x) - mu) if 0 < x < 1 else float(x <= 0)

    told = [refuted_by_recursion(right, m, gaussian, 0.05) for right in range(m)]
    first = told.index(True)
    assert m / 2 < first < m
    assert [curve_is_refuted(right, m, dp.GaussianDP(mu), 0.05) for right in range(m)] == told
    # The general form joins points of the curve by an envelope: never stricter, and close.
    same = dp.TradeOff(lambda x: stats.norm.cdf(stats.norm.isf(x) - mu), name="f")
    assert not curve_is_refuted(first - 1, m, same, 0.05)
    assert curve_is_refuted(first + 1, m, same, 0.05)


# -- timing ----------------------------------------------------------------------------------------------------------


def test_timing_rarely_accuses_a_call_whose_time_is_its_own(monkeypatch):
    """Times are drawn, not taken: independent of the output, or longer with it."""
    rng = np.random.default_rng(54)
    clock = {"now": 0, "last": 0.0}

    def tick():
        clock["now"] += clock["last"]
        return int(clock["now"])

    monkeypatch.setattr(machine.time, "perf_counter_ns", tick)

    def call(data, own, slowed):
        value = float(own.normal())
        clock["last"] = 1000 * float(rng.exponential()) + slowed * abs(value)
        return value

    def found(slowed, runs):
        return sum(
            machine.timing(lambda d, r: call(d, r, slowed), None, calls=400, failure_probability=0.05, seed=s).found
            for s in range(runs)
        )

    # At most binomial(100, 0.05): more than 13 has probability 5e-4.
    assert found(0, 100) <= 13
    assert found(1000, 5) == 5
