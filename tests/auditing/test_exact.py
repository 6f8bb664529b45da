"""Exact epsilon of finite laws and densities."""

import math

import numpy as np
import pytest

import dpcheck as dp
from dpcheck.auditing.exact import exact_epsilon, hockey_stick
from dpcheck.errors import InvalidInput


def laplace_log_density(centre):
    return lambda x: -abs(x - centre) - math.log(2)


def normal_log_density(centre):
    return lambda x: -((x - centre) ** 2) / 2 - math.log(2 * math.pi) / 2


def test_densities_in_closed_form():
    one, two = laplace_log_density(0), laplace_log_density(1)
    assert exact_epsilon(one, two, breakpoints=(0, 1)) == pytest.approx(1.0, abs=1e-9)
    assert exact_epsilon(one, two, 0.01, breakpoints=(0, 1)) == pytest.approx(1 + 2 * math.log(0.99), abs=1e-9)
    exact = dp.GaussianDP(1.0).epsilon_at(1e-5)
    assert exact_epsilon(normal_log_density(0), normal_log_density(1), 1e-5) == pytest.approx(exact, abs=1e-9)
    assert exact_epsilon(normal_log_density(0), normal_log_density(1)) == math.inf


def test_finite_laws():
    assert exact_epsilon([0.75, 0.25], [0.25, 0.75]) == pytest.approx(math.log(3))
    assert exact_epsilon([0.5, 0.5, 0], [0.5, 0, 0.5]) == math.inf
    assert exact_epsilon([0.5, 0.5, 0], [0.5, 0, 0.5], 0.4) == math.inf
    assert exact_epsilon([0.5, 0.5, 0], [0.5, 0, 0.5], 0.5) == 0.0


@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.2])
def test_finite_laws_against_bisection(delta):
    rng = np.random.default_rng(0)
    for _ in range(30):
        p, q = rng.dirichlet(np.ones(7)), rng.dirichlet(np.ones(7))
        low, high = 0.0, 60.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if hockey_stick(p, q, middle) > delta else (low, middle)
        assert exact_epsilon(p, q, delta, both_directions=False) == pytest.approx(high, abs=1e-9)


def test_both_directions_are_searched():
    p, q = [0.9, 0.1], [0.99, 0.01]
    assert exact_epsilon(p, q) == exact_epsilon(q, p) == pytest.approx(math.log(10))
    assert exact_epsilon(q, p, both_directions=False) == pytest.approx(math.log(1.1))


@pytest.mark.parametrize(
    ("first", "second", "delta", "message"),
    [
        ([0.5, 0.6], [0.5, 0.5], 0.0, "probability vector"),
        ([1.0], [0.5, 0.5], 0.0, "same outputs"),
        ([0.5, 0.5], [0.5, 0.5], 1.0, "delta"),
        ([0.5, 0.5], lambda x: 0.0, 0.0, "not one of each"),
    ],
)
def test_refuses(first, second, delta, message):
    with pytest.raises(InvalidInput, match=message):
        exact_epsilon(first, second, delta)


def test_a_density_must_integrate_to_one():
    with pytest.raises(InvalidInput, match="integrates to"):
        exact_epsilon(lambda x: -abs(x), lambda x: -abs(x))


def test_densities_on_an_interval():
    """Uniform laws: x in (0, 1) against a law of two heights, h on the lower half and 2 - h on the upper."""
    flat = lambda x: 0.0  # noqa: E731
    steps = lambda x: math.log(1.6 if x < 0.5 else 0.4)  # noqa: E731
    options = {"support": (0.0, 1.0), "breakpoints": (0.5,)}
    assert exact_epsilon(steps, flat, **options, both_directions=False) == pytest.approx(math.log(1.6), abs=1e-6)
    assert exact_epsilon(steps, flat, **options) == pytest.approx(math.log(2.5), abs=1e-6)
    # delta = 0.8 - e^epsilon / 2 one way, and half of that the laws differ by the other way.
    assert exact_epsilon(steps, flat, 0.1, **options, both_directions=False) == pytest.approx(math.log(1.4), abs=1e-6)
    assert exact_epsilon(steps, flat, 0.31, **options) == 0.0
    with pytest.raises(InvalidInput, match=r"support must be an interval \(low, high\), got \(1.0, 0.0\)"):
        exact_epsilon(flat, flat, support=(1.0, 0.0))


def test_what_only_one_density_gives_costs_every_epsilon():
    halves = [lambda x, low=low: math.log(2.0) if low < x < low + 0.5 else -math.inf for low in (0.0, 0.5)]
    assert exact_epsilon(*halves, 0.1, support=(0.0, 1.0), breakpoints=(0.5,)) == math.inf
