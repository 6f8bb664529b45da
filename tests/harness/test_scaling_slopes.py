"""Slopes and their words: the level on skewed laws, the power on wrong exponents and levels, numbers that bend."""

import numpy as np
import pytest
import sympy as sp

from dpcheck.errors import InvalidInput
from dpcheck.harness.scaling import Series, rate
from dpcheck.harness.scaling.terms import leading
from dpcheck.symbols import d, delta, epsilon, n

SIZES = 2.0 ** np.arange(10, 22, 2)
LAWS = {
    "exponential": lambda rng, shape: rng.exponential(size=shape),
    "chi-squared": lambda rng, shape: rng.chisquare(1, size=shape),
    "lognormal": lambda rng, shape: rng.lognormal(size=shape),
    "rare spikes": lambda rng, shape: 20.0 * (rng.random(shape) < 0.05),
}
TRIALS = 200


def drawn(rng, law, exponent=-0.5, variable="n"):
    values = LAWS[law](rng, (TRIALS, len(SIZES))) * SIZES**exponent
    means, errors = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(TRIALS)
    return Series(variable, SIZES, means, errors, np.full(len(SIZES), TRIALS - 1.0), SIZES**-0.5)


def exact(ratios, variable="n"):
    ratios = np.asarray(ratios, dtype=float)
    none = np.zeros(len(SIZES))
    return Series(variable, SIZES, ratios * SIZES**-0.5, none, none, SIZES**-0.5)


@pytest.mark.parametrize("law", LAWS)
def test_the_interval_misses_the_true_slope_as_rarely_as_it_says(law):
    """At 1 %, of 1,500 repetitions: more than 32 misses have probability below 1e-4 at the level, fewer than 2 too."""
    found = [rate(drawn(np.random.default_rng([1, i]), law), 0.01) for i in range(1500)]
    missed = sum(not each.lower <= 0 <= each.upper for each in found)
    assert 2 <= missed <= 32


@pytest.mark.parametrize("law", LAWS)
def test_the_scatter_test_keeps_its_level_where_the_line_is_true(law):
    """At 0.001: a line is rejected where the half-width is not that of the sampling alone."""
    words = [rate(drawn(np.random.default_rng([2, i]), law), 1e-3).word for i in range(1000)]
    assert words.count("bent") <= 8


@pytest.mark.parametrize(("off", "word"), [(0.1, "shallower"), (-0.1, "steeper"), (0.0, "met")])
def test_a_slope_that_is_off_by_a_tenth_is_found(off, word):
    rng = np.random.default_rng(3)
    errors = np.full(len(SIZES), 0.01)
    noisy = SIZES ** (off - 0.5) * (1 + 0.01 * rng.standard_normal(len(SIZES)))
    series = Series("n", SIZES, noisy, errors * noisy, np.full(len(SIZES), 99.0), SIZES**-0.5)
    assert rate(series, 1e-5).word == word
    assert rate(exact(SIZES**off), 1e-5).word == word


@pytest.mark.parametrize("exponent", [0, 1 / 4, 1 / 3, 2 / 5, 1 / 2, 2 / 3, 3 / 4, 1, 3 / 2, 2])
def test_exponents_are_recovered_with_the_logarithm_divided_out(exponent):
    """A bound that carries the logarithm leaves its power alone."""
    none = np.zeros(len(SIZES))
    bound = np.log(SIZES) ** 1.5 * SIZES**-0.25
    series = Series("n", SIZES, 3 * np.log(SIZES) ** 1.5 * SIZES**-exponent, none, none, bound)
    assert rate(series, 1e-5).slope == pytest.approx(0.25 - exponent, abs=1e-10)


def test_a_constant_that_is_off_by_two_is_seen_by_the_level_alone():
    plain, double = (rate(exact(np.full(len(SIZES), level)), 1e-5) for level in (3.0, 6.1))
    assert plain.apart_by_level(double)
    assert double.apart_by_level(plain)
    assert not plain.apart_by_exponent(double)
    assert not plain.apart_by_level(rate(exact(np.full(len(SIZES), 5.0)), 1e-5))


def test_a_curve_is_not_taken_for_a_line():
    bend = np.exp(0.02 * np.log(SIZES / SIZES[0]) ** 2)
    assert rate(exact(bend), 1e-5).word == "bent"
    falling = rate(exact(1 + SIZES[0] / SIZES), 1e-5)
    assert falling.word == "at most"
    ripple = np.where(np.arange(len(SIZES)) % 2, 1.4, 1.0)
    assert rate(exact(ripple), 1e-5).word == "bent"


def test_a_size_without_error_does_not_outweigh_the_others():
    """Weights 1/se² would make one deterministic size decide the slope."""
    rng = np.random.default_rng(4)
    series = drawn(rng, "exponential")
    errors = series.errors.copy()
    errors[0] = 0.0
    lame = Series("n", SIZES, series.risks, errors, series.degrees, series.bounds)
    assert rate(lame, 1e-3).slope == rate(series, 1e-3).slope
    assert rate(lame, 1e-3).half > 0.8 * rate(series, 1e-3).half


def test_the_limit_of_a_budget_lies_at_zero():
    """R/bound that falls as ε falls keeps the bound; the same numbers in n would break it."""
    assert rate(exact(SIZES**0.2, variable="epsilon"), 1e-5).word == "steeper"
    assert rate(exact(SIZES**0.2), 1e-5).word == "shallower"


@pytest.mark.parametrize(
    "changes",
    [
        {"at": SIZES[::-1]},
        {"risks": np.zeros(len(SIZES))},
        {"at": SIZES[:2]},
        {"errors": np.ones(len(SIZES)), "degrees": np.zeros(len(SIZES))},
    ],
)
def test_what_is_no_series_is_refused(changes):
    given = {name: getattr(exact(np.ones(len(SIZES))), name) for name in ("at", "risks", "errors", "degrees", "bounds")}
    with pytest.raises(InvalidInput):
        Series("n", **{**given, **changes})


def test_the_exponent_of_a_failure_probability_is_that_of_its_logarithm():
    at, none = 10.0 ** -np.array([300.0, 100, 30, 10]), np.zeros(4)
    found = rate(Series("delta", at, np.log(1 / at) ** 0.75, none, none, np.sqrt(np.log(1 / at))), 0.01)
    assert (found.slope, found.sign, found.word) == (pytest.approx(0.25), 1, "shallower")
    at_40 = {"delta": 1e-40, "d": 4.0, "n": 1e9, "epsilon": 0.1}
    assert leading(sp.sqrt(d * sp.log(1 / delta)) / (n * epsilon), "private", "delta", at_40).exponent == pytest.approx(
        0.5
    )
