"""Accounts of releases that read hidden samples: what sampling and shuffling amplify, and what they do not."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from releases import plan, release
from scipy import stats

from dpcheck.accounting import (
    account,
    subsampled_epsilon,
)
from dpcheck.accounting.amplification import LossCells, dominated_renyi, mixture_renyi, sampled_renyi
from dpcheck.algorithms.user_level import sampled as tested
from dpcheck.algorithms.user_level.threshold import RedrawnThreshold
from dpcheck.interfaces import Law, Release, Sampling
from dpcheck.laws import (
    Gaussian,
    GeneralizedGaussian,
    Laplace,
    PerRecord,
)
from dpcheck.privacy import ZCDP, gaussian_delta

KINDS = ("without-replacement", "with-replacement")


def sampled(law: Law, kind: str, size: int, rows: int, count: int = 1, sensitivity: float = 1.0) -> Release:
    return release("steps", law, 0, rows, sensitivity, count, sampling=Sampling(kind, size))  # type: ignore[arg-type]


def test_sampling_without_replacement_amplifies_one_release() -> None:
    found = account(plan(sampled(Laplace(1.0), "without-replacement", 10, 100)))
    assert found.epsilon(0.0) == pytest.approx(subsampled_epsilon(1.0, 0.1))
    gaussian = account(plan(sampled(Gaussian(1.0), "without-replacement", 10, 100)))
    # Attained by the pair 0.9 N(0, 1) + 0.1 N(1, 1) against N(0, 1).
    x = np.linspace(-12, 13, 200_001)
    base = stats.norm.pdf(x)
    for epsilon in (0.05, 0.3):
        exact = np.trapezoid(np.maximum(0, 0.9 * base + 0.1 * stats.norm.pdf(x - 1) - math.exp(epsilon) * base), x)
        assert gaussian.delta(epsilon) == pytest.approx(exact, rel=1e-6)


def test_many_sampled_steps_compose_far_below_the_unsampled_ones() -> None:
    many = account(plan(sampled(Gaussian(2.0), "without-replacement", 10, 1000, count=500)))
    plain = account(plan(release("steps", Gaussian(2.0), 0, 1000, count=500)))
    assert many.epsilon(1e-5) < 0.1 * plain.epsilon(1e-5)
    # Not below the loss of its own last step, nor below the sum statistic of a Poisson-like mixture in the mean.
    one = account(plan(sampled(Gaussian(2.0), "without-replacement", 10, 1000)))
    assert one.epsilon(1e-5) < many.epsilon(1e-5)


def test_no_amplification_when_another_release_may_have_seen_the_sample() -> None:
    bits = release("bits", Laplace(8.0), 0, 100, sampling=Sampling("without-replacement", 10))
    both = account(plan(sampled(Laplace(1.0), "without-replacement", 10, 100), bits))
    assert both.epsilon(0.0) == pytest.approx(1.0 + 1 / 8)
    # A release that reads every record does not disturb it.
    full = release("full", Laplace(8.0), 0, 100)
    found = account(plan(sampled(Laplace(1.0), "without-replacement", 10, 100), full))
    assert found.epsilon(0.0) == pytest.approx(subsampled_epsilon(1.0, 0.1) + 1 / 8)


def test_with_replacement_counts_repeated_draws() -> None:
    size, rows, mu = 20, 100, 0.8
    found = account(plan(sampled(Gaussian(1 / mu), "with-replacement", size, rows)))
    chances = stats.binom.pmf(np.arange(size + 1), size, 1 / rows)
    x = np.linspace(-12, 30, 200_001)
    base = stats.norm.pdf(x)
    mixed = sum(p * stats.norm.pdf(x - k * mu) for k, p in enumerate(chances))
    half = sum(p * stats.norm.pdf(x - k * mu / 2) for k, p in enumerate(chances))
    opposite = sum(p * stats.norm.pdf(x + k * mu / 2) for k, p in enumerate(chances))
    for epsilon in (0.1, 0.5, 1.0):
        exact = np.trapezoid(np.maximum(0, mixed - math.exp(epsilon) * base), x)
        other = np.trapezoid(np.maximum(0, half - math.exp(epsilon) * opposite), x)
        assert max(exact, other) <= found.delta(epsilon) <= 2.5 * exact
    # Two releases on shared samples: a record may be drawn `size` times in both.
    second = release("bits", Laplace(1e4), 0, rows, sampling=Sampling("with-replacement", size))
    shared = account(plan(sampled(Laplace(1e3), "with-replacement", size, rows), second))
    assert shared.epsilon(0.0) == pytest.approx(size / 1e3 + size / 1e4)


def test_sampling_does_not_lower_zcdp() -> None:
    one, drawn = (account(plan(sampled(Gaussian(2.0), kind, 3, 100, count=4))) for kind in KINDS)
    assert one.stretches[0].rho == pytest.approx(4 * 1 / 8)
    assert drawn.stretches[0].rho == pytest.approx(4 * 9 / 8)  # a record may be drawn three times
    assert one.within(ZCDP(0.5))
    assert not one.within(ZCDP(0.499))


def test_orders_of_a_sampled_law_of_which_no_dominating_pair_is_known() -> None:
    """On the line this law is Gaussian, whose mixtures are integrals; at whole orders alone is there a theorem."""
    law, rate, count, rho = GeneralizedGaussian(1.0, r=3.0), 0.01, 5, 1.0
    stretch = account(plan(sampled(law, "without-replacement", 10, 1000, count))).stretches[0]
    x = np.linspace(-12, 20, 100_001)
    base = stats.norm.pdf(x)
    mixed = (1 - rate) * base + rate * stats.norm.pdf(x - 1)
    for alpha in (2.0, 3.0, 3.5):
        exact = math.log(np.trapezoid(mixed**alpha * base ** (1 - alpha), x)) / (alpha - 1)
        convex = mixture_renyi(alpha, np.array([rate]), np.array([alpha * rho]))
        assert count * exact < stretch.renyi(alpha) <= count * convex * (1 + 1e-12)
        assert (stretch.renyi(alpha) < 0.5 * count * convex) == (alpha in (2.0, 3.0))
    table = sampled_renyi(3, (1,), np.array([rate]), lambda order, _: order * rho, np.array([math.inf]))
    assert [stretch.renyi(2.0), stretch.renyi(3.0)] == pytest.approx(count * table)


def test_a_law_that_names_its_dominating_pair_is_sampled_by_it() -> None:
    law = tested.TestedMean(RedrawnThreshold(8.0, 16.0), sigma=2.0, unit=1.0)
    stretch = account(plan(sampled(law, "without-replacement", 10, 1000, count=20))).stretches[0]
    pair = LossCells.of((tested.SCORE / 16.0,), 1 / 2.0)
    for alpha in (2.0, 4.5, 20.0):
        assert stretch.renyi(alpha) == pytest.approx(20 * dominated_renyi(alpha, 0.01, (1.0,), (pair,)))
        assert stretch.renyi(alpha) < 0.1 * 20 * law.renyi(alpha, 1.0)


def test_poisson_sampling_scales_delta_only() -> None:
    found = account(plan(sampled(Gaussian(1.0), "poisson", 10, 100)))
    assert found.delta(0.5) == pytest.approx(0.1 * gaussian_delta(1.0, 0.5), rel=1e-6)
    assert account(plan(sampled(Laplace(1.0), "poisson", 10, 100))).epsilon(0.0) == 1.0


def batches(law: Law, number: int, size: int, rows: int, sensitivity: float = 1.0) -> list[Release]:
    return [
        release(f"batch {t}", law, 0, rows, sensitivity, sampling=Sampling("shuffled", size)) for t in range(number)
    ]


def test_shuffled_batches_compose_in_parallel_and_amplify_when_many() -> None:
    few = account(plan(*batches(Gaussian(4.0), 10, 10, 100)))
    alone = account(plan(release("one", Gaussian(4.0), 0, 100)))
    assert few.epsilon(1e-5) == pytest.approx(alone.epsilon(1e-5))
    # Batches are local randomisers of their records: many small losses hide among each other.
    many = account(plan(*batches(Laplace(2.0), 50_000, 2, 100_000)))
    assert many.epsilon(1e-6) < 0.15
    assert many.epsilon(0.0) == 0.5
    assert many.delta(many.epsilon(1e-6) * 1.001) <= 1e-6
    # Unequal batches: the record may be in the worst one.
    weak = GeneralizedGaussian(2.0, 3.0)
    pair = [*batches(GeneralizedGaussian(9.0, 3.0), 1, 10, 100), replace(batches(weak, 1, 10, 100)[0], name="weak")]
    assert account(plan(*pair)).epsilon(1e-5) == pytest.approx(
        account(plan(release("one", weak, 0, 100))).epsilon(1e-5)
    )
    # They do not fit side by side: two epochs compose.
    twice = account(plan(*batches(Laplace(2.0), 20, 10, 100)))
    assert twice.epsilon(0.0) == pytest.approx(10.0)


def test_shuffled_batches_are_as_zcdp_as_the_worst_of_them() -> None:
    pair = [*batches(Gaussian(4.0), 1, 10, 100), replace(batches(Gaussian(2.0), 1, 10, 100)[0], name="weak")]
    found = account(plan(*pair))
    assert found.stretches[0].rho == pytest.approx(1 / 8)
    assert found.stretches[0].mu == pytest.approx(1 / 2)
    assert found.within(ZCDP(0.125))
    assert not found.within(ZCDP(0.12))


def test_noise_per_record_is_amplified_by_the_records() -> None:
    law = GeneralizedGaussian(12.0, r=3.0, kappa=2.0)
    rows = 100_000
    per_batch = account(plan(*batches(law, 10, rows // 10, rows)))
    per_record = account(plan(*batches(PerRecord(law), 10, rows // 10, rows)))
    assert per_record.epsilon(1e-6) < 0.2 * per_batch.epsilon(1e-6)
