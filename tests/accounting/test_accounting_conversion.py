"""Conversions, composition theorems and calibration against exact laws and published values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from dpcheck.accounting import (
    Composition,
    advanced_composition,
    classic_gaussian_sigma,
    gaussian_mu,
    gaussian_sigma,
    group,
    laplace_scale,
    optimal_delta,
    optimal_epsilon,
    pure_renyi,
    renyi_to_delta,
    renyi_to_epsilon,
    zcdp_for,
    zcdp_to_delta,
    zcdp_to_epsilon,
    zcdp_to_epsilon_simple,
)
from dpcheck.errors import InvalidInput
from dpcheck.laws import Laplace
from dpcheck.privacy import ZCDP, gaussian_delta, pure_delta


@pytest.mark.parametrize("rho", [1e-10, 1e-4, 0.03, 0.5, 8.0, 1e3])
@pytest.mark.parametrize("delta", [1e-15, 1e-6, 0.05])
def test_zcdp_conversion_is_optimal_valid_and_consistent(rho: float, delta: float) -> None:
    epsilon = zcdp_to_epsilon(rho, delta)
    assert epsilon <= zcdp_to_epsilon_simple(rho, delta) * (1 + 1e-12)
    # Valid for the Gaussian mechanism, which is exactly rho-zCDP.
    assert gaussian_delta(math.sqrt(2 * rho), epsilon) <= delta * (1 + 1e-9)
    assert epsilon == pytest.approx(ZCDP(rho).epsilon_at(delta), rel=1e-4, abs=1e-12)
    if epsilon > 0:
        assert zcdp_to_delta(rho, epsilon) == pytest.approx(delta, rel=1e-5)
        assert zcdp_for(epsilon, delta) == pytest.approx(rho, rel=1e-6)


@pytest.mark.parametrize("rho", [1e-12, 1e-18])
def test_a_small_budget_takes_orders_as_large_as_it_needs(rho: float) -> None:
    epsilon = zcdp_to_epsilon(rho, 1e-40)
    assert epsilon <= zcdp_to_epsilon_simple(rho, 1e-40) * (1 + 1e-9)
    assert gaussian_delta(math.sqrt(2 * rho), epsilon) <= 1e-40 <= gaussian_delta(math.sqrt(2 * rho), 0.9 * epsilon)


def test_zcdp_conversion_at_the_ends() -> None:
    assert zcdp_to_epsilon(0.0, 1e-6) == 0.0
    assert zcdp_to_epsilon(1.0, 0.0) == math.inf
    assert zcdp_to_epsilon(math.inf, 1e-6) == math.inf
    assert zcdp_to_delta(math.inf, 5.0) == 1.0
    assert zcdp_to_delta(0.0, 5.0) == 0.0
    assert zcdp_to_epsilon_simple(0.5, 1e-5) == pytest.approx(0.5 + math.sqrt(2 * math.log(1e5)))
    # The published comparison: Gaussian noise of multiplier 1 at delta = 1e-5.
    assert zcdp_to_epsilon(0.5, 1e-5) == pytest.approx(4.7284, abs=5e-4)


def test_renyi_conversion_holds_for_every_two_point_law() -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        p, q = rng.uniform(0.001, 0.999, size=2)
        alpha, epsilon = 1 + rng.exponential(4), rng.uniform(0, 3)
        divergence = math.log(p**alpha * q ** (1 - alpha) + (1 - p) ** alpha * (1 - q) ** (1 - alpha)) / (alpha - 1)
        exact = max(0, p - math.exp(epsilon) * q) + max(0, 1 - p - math.exp(epsilon) * (1 - q))
        assert exact <= renyi_to_delta(alpha, divergence, epsilon) * (1 + 1e-9)
    assert renyi_to_delta(7.0, 0.4, renyi_to_epsilon(7.0, 0.4, 1e-5)) == pytest.approx(1e-5)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 2.0, 40.0])
@pytest.mark.parametrize("alpha", [1.0001, 1.5, 8.0, 1e3, 1e6])
def test_pure_renyi_is_that_of_randomised_response(epsilon: float, alpha: float) -> None:
    import mpmath

    with mpmath.workdps(60):
        e, a = mpmath.mpf(epsilon), mpmath.mpf(alpha)
        p = mpmath.exp(e) / (1 + mpmath.exp(e))
        exact = float(mpmath.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1))
    assert pure_renyi(alpha, epsilon) == pytest.approx(exact, rel=1e-6, abs=1e-18)
    assert pure_renyi(alpha, epsilon) <= epsilon


@pytest.mark.parametrize("count", [1, 3, 40])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.5])
def test_optimal_composition_is_exact_for_randomised_response(count: int, epsilon: float) -> None:
    p = 1 / (1 + math.exp(-epsilon))
    wins = np.arange(count + 1)
    upper, lower = stats.binom.pmf(wins, count, p), stats.binom.pmf(wins, count, 1 - p)
    for total in (0.0, 0.3 * count * epsilon, 0.9 * count * epsilon, count * epsilon):
        exact = np.maximum(0, upper - math.exp(total) * lower).sum()
        assert optimal_delta(epsilon, 0.0, count, total) == pytest.approx(exact, rel=1e-9, abs=1e-14)
    assert optimal_epsilon(epsilon, 0.0, count, 1e-6) <= count * epsilon * (1 + 1e-12)
    spread, slack = advanced_composition(epsilon, 0.0, count, 1e-6)
    assert optimal_delta(epsilon, 0.0, count, spread) <= slack


def test_optimal_composition_with_delta() -> None:
    assert optimal_delta(0.2, 1e-3, 10, 2.0) == pytest.approx(1 - (1 - 1e-3) ** 10)
    assert optimal_epsilon(0.2, 1e-3, 10, 1e-3) == math.inf
    assert optimal_epsilon(0.2, 1e-3, 10, 0.02) < 2.0
    assert optimal_epsilon(0.2, 1e-3, 10, 0.9) == 0.0  # that much delta covers all that ten of them lose
    assert advanced_composition(0.1, 1e-8, 100, 1e-6)[1] == pytest.approx(1e-6 + 1e-6)
    with pytest.raises(InvalidInput, match="slack"):
        advanced_composition(0.1, 0.0, 10, 0.0)


def test_mixed_composition_against_direct_enumeration() -> None:
    pure, mu = [(0.3, 2), (0.7, 1)], 0.9
    rng = np.linspace(-15, 15, 60_001)
    base, moved = stats.norm.pdf(rng), stats.norm.pdf(rng - mu)
    for epsilon in (0.0, 0.5, 2.0):
        total = 0.0
        for signs in np.ndindex(2, 2, 2):
            p = q = 1.0
            for e, s in zip((0.3, 0.3, 0.7), signs, strict=True):
                win = 1 / (1 + math.exp(-e))
                p, q = p * (win if s else 1 - win), q * (1 - win if s else win)
            total += np.trapezoid(np.maximum(0, p * moved - math.exp(epsilon) * q * base), rng)
        assert Composition(pure, mu).delta(epsilon) == pytest.approx(total, abs=1e-7)


@pytest.mark.parametrize("count", [1, 2, 50, 51, 400])
def test_no_answer_of_a_strong_response_is_impossible(count: int) -> None:
    """P(no true answer) = (1 + e^ε)^-count, also where 1 - 1/(1 + e^-ε) rounds to 0."""
    for epsilon in (0.5, 40.0 / count):
        least = Composition([(epsilon, count)]).weights[0]
        assert least == pytest.approx(math.exp(-count * np.logaddexp(0.0, epsilon)), rel=1e-9, abs=0)


def test_composition_without_parts_or_with_only_one_kind() -> None:
    assert Composition().delta(0.0) == 0.0
    assert Composition([(0.5, 1)]).delta(0.2) == pytest.approx(pure_delta(0.5, 0.2))
    assert Composition([(0.5, 3)]).epsilon(0.0) == pytest.approx(1.5)
    assert Composition(mu=0.7).delta(0.4) == pytest.approx(gaussian_delta(0.7, 0.4))
    assert Composition(mu=0.7).epsilon(0.0) == math.inf
    assert Composition([(0.0, 10**9)]).delta(0.0) == 0.0
    assert not Composition.enumerable([(0.1 * j, 1000) for j in range(1, 4)])


def test_group_privacy_against_the_profile_of_the_gaussian() -> None:
    mu = 0.2
    for size in (1, 2, 5):
        for epsilon in (0.0, 0.1, 0.6):
            total, delta = group(epsilon, gaussian_delta(mu, epsilon), size)
            assert total == pytest.approx(size * epsilon)
            assert gaussian_delta(size * mu, total) <= delta * (1 + 1e-9)
    assert group(0.5, 0.0, 4) == (2.0, 0.0)
    assert group(0.0, 0.1, 4) == (0.0, pytest.approx(0.4))
    assert group(0.1, 1e-6, 3)[1] == pytest.approx(1e-6 * (1 + math.exp(0.1) + math.exp(0.2)))
    assert group(50.0, 1e-3, 1000) == (50_000.0, 1.0)
    with pytest.raises(InvalidInput, match="at least 1"):
        group(0.1, 0.0, 0)


@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 4.0, 40.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.2])
def test_gaussian_calibration_is_tight(epsilon: float, delta: float) -> None:
    sigma = gaussian_sigma(2.0, epsilon, delta)
    assert gaussian_delta(2.0 / sigma, epsilon) <= delta
    assert gaussian_delta(2.0 / (sigma * (1 - 1e-6)), epsilon) > delta
    assert gaussian_mu(epsilon, delta) == pytest.approx(2.0 / sigma)


def test_the_classic_formula_is_private_at_one_and_not_at_thirty() -> None:
    for delta in (1e-3, 1e-6):
        assert gaussian_delta(1 / classic_gaussian_sigma(1.0, 1.0, delta), 1.0) < delta
        assert gaussian_delta(1 / classic_gaussian_sigma(1.0, 30.0, delta), 30.0) > delta
    # Published value: multiplier at (1, 1e-5).
    assert gaussian_sigma(1.0, 1.0, 1e-5) == pytest.approx(3.7306, abs=1e-4)


def test_laplace_calibration_is_tight() -> None:
    for epsilon, delta in ((0.5, 0.0), (1.0, 1e-3), (0.1, 0.3)):
        scale = laplace_scale(1.5, epsilon, delta)
        assert Laplace(scale).delta(epsilon, 1.5) <= delta + 1e-15
        assert Laplace(scale * (1 - 1e-6)).delta(epsilon, 1.5) > delta


def test_calibration_refuses_nonsense() -> None:
    with pytest.raises(InvalidInput, match="never pure"):
        gaussian_sigma(1.0, 1.0, 0.0)
    with pytest.raises(InvalidInput, match="sensitivity inf"):
        gaussian_sigma(math.inf, 1.0, 1e-5)
    with pytest.raises(InvalidInput, match="epsilon 0"):
        laplace_scale(1.0, 0.0)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: renyi_to_epsilon(2.0, 0.1, 1.5), r"delta must lie in \[0, 1\), got 1.5; 0 is pure DP"),
        (lambda: zcdp_for(-1.0, 1e-6), "epsilon must be >= 0, got -1.0"),
        (lambda: zcdp_to_epsilon(math.nan, 1e-6), "rho must be >= 0, got nan"),
    ],
)
def test_conversions_refuse_what_is_no_budget(call, says) -> None:
    with pytest.raises(InvalidInput, match=says):
        call()


def test_what_no_conversion_gives() -> None:
    assert renyi_to_epsilon(2.0, 0.1, 0.0) == math.inf
    assert zcdp_for(1.0, 0.0) == zcdp_for(0.0, 1e-6) == 0.0
    assert pure_renyi(2.0, math.inf) == math.inf
    assert Composition([(0.5, 3)], mu=0.7).delta(math.inf) == 0.0
