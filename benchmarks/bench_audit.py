"""Speed of the auditor's analysis, mechanism excluded: `pytest benchmarks/bench_audit.py`."""

import numpy as np
import pytest

import dpcheck as dp
from dpcheck.auditing import finite_laws
from dpcheck.statistics.binomial import epsilon_lower_guesses

ZERO, ONE = np.array([0.0]), np.array([1.0])


def replay(draw):
    """A mechanism that only copies outputs drawn before: what remains is the analysis."""
    kept = {}

    def mechanism(data, rng, trials):
        key = float(data.sum())
        if key not in kept:
            kept[key] = draw(key, np.random.default_rng(int(key)), 2**17)
        start = int(rng.integers(2**17 - trials))
        return kept[key][start : start + trials]

    return mechanism


@pytest.mark.parametrize("mode", ["fixed", "anytime"])
def test_scalar_outputs(benchmark, mode):
    mechanism = replay(lambda value, rng, n: value + rng.laplace(size=n))
    benchmark.pedantic(
        lambda: dp.audit(mechanism, ZERO, ONE, dp.PureDP(1.0), trials=500_000, mode=mode), rounds=3, iterations=1
    )


def test_ten_columns(benchmark):
    mechanism = replay(lambda value, rng, n: value / 3 + rng.normal(size=(n, 10)))
    benchmark.pedantic(
        lambda: dp.audit(mechanism, ZERO, ONE, dp.ApproxDP(1.0, 1e-5), trials=100_000), rounds=3, iterations=1
    )


def test_exact_ratio_test(benchmark):
    benchmark(epsilon_lower_guesses, 4000, 40, 2_000_000, 1e-5)


def test_sparse_vector_law(benchmark):
    benchmark(finite_laws.above_threshold, np.zeros(10), 0.5, 2.0, 4.0, None)
