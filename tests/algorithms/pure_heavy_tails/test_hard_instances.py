"""Appendix G and Theorem B.1: hard classes, reductions, and the functions that no local oracle tells apart."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special

from dpcheck.algorithms.pure_heavy_tails.hard_instances import (
    FlatPair,
    ResistingOracle,
    bounded_pair,
    decoding_error,
    distinguish,
    flat,
    flat_slope,
    mean_from_point,
    nearest,
    packed_laws,
    packing,
    separation,
    spike_probability,
)
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


def test_flat_function_against_quadrature():
    for t in (0.2, 0.5, 1.0):
        first, _ = integrate.quad(lambda s: math.exp(-1 / s**2), 0, t)
        second, _ = integrate.quad(lambda s, t=t: (t - s) * math.exp(-1 / s**2), 0, t)
        assert flat_slope(t) == pytest.approx(first, rel=1e-9)
        assert flat(t) == pytest.approx(second, rel=1e-8)
    assert flat_slope(1.0) == pytest.approx(math.exp(-1) - math.sqrt(math.pi) * math.erfc(1), rel=1e-12)
    assert flat(1.0) == pytest.approx(0.014826, abs=1e-6)
    assert flat(0.5) == pytest.approx(3.36e-5, rel=0.01)
    assert flat(0.0) == flat(-1.0) == flat_slope(0.01) == 0.0


def test_the_printed_pair():
    pair = FlatPair()
    values = [pair.extension_at_zero(i, 0.5) for i in (0, 1)]
    assert values[0] == pytest.approx(-0.25 + 0.014826, abs=1e-6)
    assert values[1] == pytest.approx(-0.25 + 2.5 * 0.014826, abs=3e-6)
    for t in (-1.0, -0.3, 0.0):
        assert pair.value(0, t) == pair.value(1, t)
        assert pair.slope(0, t) == pair.slope(1, t)
    with pytest.raises(InvalidInput):
        pair.extension_at_zero(0, 0.9)


@pytest.mark.parametrize("d", [1, 3, 50])
def test_two_adaptive_queries_tell_the_printed_pair_apart(d):
    pair = FlatPair()
    v = np.random.default_rng(d).normal(size=d)
    v /= np.linalg.norm(v)
    answers = []
    for i in (0, 1):

        def oracle(y, i=i):
            t = float(v @ y)
            return pair.value(i, t), pair.slope(i, t) * v

        answers.append(distinguish(oracle, d))
    assert answers[0] == pytest.approx(-0.374966, abs=1e-6)
    assert answers[1] == pytest.approx(-0.374916, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(plan=st.lists(st.one_of(st.floats(0, 1), st.sampled_from(["decisive", "first", "last"])), max_size=9))
def test_the_resisting_oracle_stays_consistent_with_two_functions(plan):
    """Deterministic, adaptive queries, aimed at the crossings where the answer would be decided."""
    oracle = ResistingOracle(cap=0.5)
    for step in plan:
        aims = {"decisive": oracle.decisive, "first": oracle.crossings[0], "last": oracle.crossings[-1]}
        t = aims[step] if isinstance(step, str) else step
        if oracle.room(oracle.decisive) < 1e-4:
            break  # float64 is too coarse to look closer
        oracle.query(t)
    slopes = [slope for _, slope in oracle.lines]
    assert slopes == sorted(slopes)
    assert all(slope != -0.5 for slope in slopes)
    first, second = oracle.completions()
    for t, (answer, slope) in oracle.answered.items():
        for g in (first, second):
            assert g(t) == pytest.approx(answer, abs=1e-12)
            if oracle.room(t) > 1e-6:  # closer than that differences cannot see a slope
                assert (g(t + 1e-7) - g(t - 1e-7)) / 2e-7 == pytest.approx(slope, abs=1e-5)
    grid = np.linspace(0, 1, 400)
    for g in (first, second):
        values = np.array([g(t) for t in grid])
        assert np.all(np.diff(values, 2) >= -1e-12)
    assert oracle.minimum(first) > oracle.minimum(second)
    with pytest.raises(InvalidInput):
        oracle.query(1.5)
