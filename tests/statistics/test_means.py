"""Means of heavy tails: false alarms at equality, power, validity of Catoni's bound."""

import math

import numpy as np
import pytest

from dpcheck.errors import InvalidInput
from dpcheck.statistics.means import STAKES, block_means_upper, bootstrap_t_upper, catoni_upper, refute_mean

LAWS = {
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: rng.lognormal(-2.0, 2.0, size=n),
    "pareto 1.5": lambda rng, n: rng.pareto(1.5, size=n) * 0.5,
}


@pytest.mark.parametrize("law", LAWS)
def test_betting_rarely_refutes_a_true_bound(law):
    rng = np.random.default_rng(5)
    alarms = sum(refute_mean(LAWS[law](rng, 500), 1.0).p_value <= 0.05 for _ in range(400))
    # At most binomial(400, 0.05): more than 34 has probability 1e-3.
    assert alarms <= 34


@pytest.mark.parametrize("law", LAWS)
def test_betting_has_power_at_half_again_the_bound(law):
    rng = np.random.default_rng(6)
    found = sum(refute_mean(1.5 * LAWS[law](rng, 2000), 1.0).crossed is not None for _ in range(60))
    assert found >= 50


def test_wealth_is_the_naive_product():
    values = np.array([0.5, 3.0, 0.0, 2.0])
    naive = np.mean([math.prod(1 + s * (v / 2.0 - 1) for v in values) for s in STAKES])
    assert refute_mean(values, 2.0).log_e_value == pytest.approx(math.log(naive))


def test_betting_needs_nonnegative_values():
    with pytest.raises(InvalidInput, match=">= 0"):
        refute_mean([-1.0, 2.0], 1.0)
    with pytest.raises(InvalidInput, match="index 1"):
        refute_mean([1.0, math.nan], 1.0)
    with pytest.raises(InvalidInput, match="bound"):
        refute_mean([1.0, 1.0], 0.0)


@pytest.mark.parametrize(("law", "moment", "order"), [("exponential", 1.0, 2.0), ("pareto 1.5", 3.0, 1.4)])
def test_catoni_covers_under_its_declared_moment(law, moment, order):
    rng = np.random.default_rng(7)
    if law == "pareto 1.5":
        moment = float(np.mean(np.abs(LAWS[law](rng, 2_000_000) - 1.0) ** order)) * 1.5
    misses = sum(catoni_upper(LAWS[law](rng, 300), moment, 0.05, order) < 1.0 for _ in range(300))
    # At most binomial(300, 0.05): more than 27 has probability 2e-3.
    assert misses <= 27


def test_catoni_is_within_a_few_standard_errors():
    rng = np.random.default_rng(8)
    bound = catoni_upper(rng.exponential(size=2000), 1.0, 0.05)
    assert 1.0 < bound < 1.0 + 5 / math.sqrt(2000)


def test_supporting_bounds_are_above_the_sample_mean_and_cover_light_tails():
    rng = np.random.default_rng(9)
    missed = 0
    for _ in range(60):
        values = rng.exponential(size=200)
        upper = max(bootstrap_t_upper(values, 0.05, rng, 300), block_means_upper(values))
        assert upper > values.mean()
        missed += upper < 1.0
    # Nominally 5 %, here at most 3.7 %; more than 10 of 60 has probability below 1e-3.
    assert missed <= 10
    assert block_means_upper(np.arange(10.0)) == 8.5


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: block_means_upper([1.0, 2.0], 3), "blocks must lie between 1 and the 2 values, got 3"),
        (lambda: catoni_upper([1.0, 2.0], 1.0, 0.05, 3.0), r"order must lie in \(1, 2\], got 3.0"),
        (lambda: catoni_upper([1.0, 2.0], math.inf, 0.05), "moment must be a finite number > 0, got inf"),
        (lambda: block_means_upper([[1.0, 2.0]]), r"at least 2 entries, got shape \(1, 2\)"),
    ],
)
def test_what_bounds_no_mean_is_refused(call, says):
    with pytest.raises(InvalidInput, match=says):
        call()
