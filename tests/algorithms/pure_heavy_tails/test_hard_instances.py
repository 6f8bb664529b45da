"""Appendix G and Theorem B.1: hard classes, reductions, and the functions that no local oracle tells apart."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from dpcheck.algorithms.pure_heavy_tails.hard_instances import (
    bounded_pair,
    decoding_error,
    mean_from_point,
    nearest,
    packed_laws,
    packing,
    separation,
    spike_probability,
)
from dpcheck.algorithms.pure_heavy_tails.resisting import ResistingOracle, bump_constant
from dpcheck.errors import InvalidInput


@pytest.mark.parametrize("d", range(1, 9))
def test_packings(d):
    V = packing(d, np.random.default_rng(d))
    assert V.shape == (2**d, d)
    assert np.allclose(np.linalg.norm(V, axis=1), 1)
    assert separation(V) >= 0.5
    with pytest.raises(InvalidInput):
        packing(1, np.random.default_rng(0), 3)
    with pytest.raises(InvalidInput):
        packing(0, np.random.default_rng(0))


def test_packed_laws_have_their_moments_and_one_mean_length():
    V, n, epsilon, zeta = packing(4, np.random.default_rng(0)), 1000, 0.2, 0.1
    p = spike_probability(16, n, epsilon, zeta)
    assert p == pytest.approx(math.log(15 / (4 * math.e * zeta)) / (n * epsilon))
    laws = packed_laws(V, n, epsilon, zeta, k=3.0, G_k=2.0, D=1.5)
    for law, nu in zip(laws, V, strict=True):
        assert law.constants.moment(3.0, 1) == pytest.approx(2.0)
        assert law.constants.moment(2.0, 1) == pytest.approx(2.0 * p ** (1 / 2 - 1 / 3))
        assert np.allclose(law.mean, 2.0 * p ** (2 / 3) * nu)
    assert decoding_error(16, n, epsilon, p) >= zeta
    assert spike_probability(16, 1, 0.2, 0.1) == 1.0


@pytest.mark.parametrize(
    "bad",
    [
        lambda: spike_probability(16, 100, 2.0, 0.1),
        lambda: spike_probability(16, 100, 0.5, 0.3),
        lambda: spike_probability(2, 100, 0.5, 0.1),  # |V| = 2 needs zeta < 1/(4e) = 0.092 (finding S15)
        lambda: packed_laws(np.array([[1.0, 0.0], [0.9, math.sqrt(0.19)]]), 100, 0.5, 0.01),
        lambda: packed_laws(np.zeros((4, 2)), 100, 0.5, 0.01),
        lambda: bounded_pair(0, 0.1),
        lambda: bounded_pair(10, 0.5),
    ],
)
def test_illegal_constructions(bad):
    with pytest.raises(InvalidInput):
        bad()


@pytest.mark.parametrize("n", [1, 2, 5, 40, 1001])
@pytest.mark.parametrize("zeta", [0.25, 0.1, 0.01, 1e-4])
def test_no_test_tells_the_bounded_pair_apart(n, zeta):
    plus, minus = bounded_pair(n, zeta)
    assert plus.constants.moment(4.0, 1) == minus.constants.moment(4.0, 1) == pytest.approx(1.0)
    up = (1 + plus.rho) / 2
    k = np.arange(n + 1)
    logs = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
    first = np.exp(logs + k * math.log(up) + (n - k) * math.log1p(-up))
    # The best test errs by half the overlap on average, so by at least that on one of the two.
    assert 0.5 * np.minimum(first, first[::-1]).sum() >= zeta


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), d=st.integers(1, 5))
def test_mean_reduction_costs_at_most_8(seed, d):
    rng = np.random.default_rng(seed)
    D, m = 2.0, 0.7
    mean = rng.normal(size=d)
    mean *= m / np.linalg.norm(mean)
    w = rng.normal(size=(200, d))
    w *= D / 2 * rng.random((200, 1)) ** (1 / d) / np.linalg.norm(w, axis=1, keepdims=True)
    error = ((mean_from_point(w, m) - mean) ** 2).sum(axis=1)
    excess = w @ mean + D / 2 * m
    assert np.all(error <= 8 * m / D * excess * (1 + 1e-12))
    aligned = w @ mean <= 0
    assert np.all(error[aligned] <= 4 * m / D * excess[aligned] * (1 + 1e-12))


def test_mean_reduction_at_zero_and_the_tight_case():
    assert np.array_equal(mean_from_point(np.zeros((1, 3)), 2.0), [[2.0, 0.0, 0.0]])
    w = np.array([[1e-9]])
    error, excess = (mean_from_point(w, 1.0)[0, 0] - 1) ** 2, 1e-9 + 1.0
    assert error / (8 / 2.0 * excess) == pytest.approx(1.0, abs=1e-6)


def test_nearest_decoder():
    means = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert nearest(np.array([[0.9, 0.1], [0.5, 0.0], [-3.0, 9.0]]), means).tolist() == [1, 0, 2]


# Theorem B.1


@settings(max_examples=40, deadline=None)
@given(
    plan=st.lists(st.one_of(st.fractions(-1, 1, max_denominator=64), st.sampled_from(["kink", "corner"])), max_size=9)
)
def test_the_resisting_oracle_stays_consistent_with_two_functions(plan):
    """Adaptive queries, aimed at the kinks where the answer would be decided: exact, and for ever consistent."""
    oracle, told = ResistingOracle(), {}
    for step in plan:
        t = {"kink": oracle.kink(), "corner": Fraction(1, 2)}[step] if isinstance(step, str) else step
        told[t] = oracle.ask(t)
    kink = oracle.kink()
    around = oracle.slopes(kink)
    assert 0 < kink < 1
    assert around[0] < -oracle.C < around[-1]
    assert all(oracle.value(t) == height and oracle.slopes(t) == [slope] for t, (height, slope) in told.items())
    assert all(oracle.clearance(t) > 0 for t in told)
    assert bump_constant(float(around[0] + oracle.C), float(around[-1] + oracle.C)) > 0
