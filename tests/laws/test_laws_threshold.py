"""The threshold test: bits, halting times, privacy of a whole run."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpcheck.errors import InvalidInput
from dpcheck.laws import AboveThreshold
from dpcheck.seeds import stream

LAW = AboveThreshold(threshold=2.0, query=4.0)


def test_bits_follow_the_survival_of_the_query_noise() -> None:
    trials = 200_000
    core = np.full((trials, 1), 1.3)
    ones = int(LAW.sample(core, stream(0, "bits")).sum())
    # Two-sided exact binomial test at 1e-6.
    assert stats.binomtest(ones, trials, stats.laplace.sf(-1.3 / 4)).pvalue > 1e-6
    assert stats.binomtest(ones, trials, stats.laplace.sf(-1.3 / 4.4)).pvalue < 1e-6


def test_log_ratio_is_that_of_the_bit_given_the_coin() -> None:
    core, other = np.array([[1.0], [1.0], [-2.0], [0.0]]), np.array([[0.0], [0.0], [-3.0], [np.nan]])
    output = np.array([[1.0], [0.0], [1.0], [np.nan]])
    p = stats.laplace.sf(-core[:3, 0] / 4), stats.laplace.sf(-other[:3, 0] / 4)
    expected = [math.log(p[0][0] / p[1][0]), math.log((1 - p[0][1]) / (1 - p[1][1])), math.log(p[0][2] / p[1][2])]
    found = LAW.log_ratio(output, core, other)
    np.testing.assert_allclose(found[:3], expected, rtol=1e-12)
    assert np.isnan(found[3])


def halting_by_quad(law: AboveThreshold, margins: list[float], t: int) -> float:
    def integrand(coin: float) -> float:
        above = [stats.laplace.sf((coin - m) / law.query) for m in margins]
        stop = above[t] if t < len(margins) else 1.0
        return stats.laplace.pdf(coin, scale=law.threshold) * stop * math.prod(1 - a for a in above[:t])

    edges = sorted({-100.0, 100.0, 0.0, *margins})
    return sum(integrate.quad(integrand, a, b, epsabs=1e-13)[0] for a, b in itertools.pairwise(edges))


def test_halting_law_matches_quadrature_and_simulation() -> None:
    margins = [-3.0, 0.5, -1.0, 2.0]
    pmf = LAW.halting(np.array([margins]))[0]
    assert pmf.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(pmf, [halting_by_quad(LAW, margins, t) for t in range(5)], rtol=1e-9)
    trials = 200_000
    rng = stream(0, "halting")
    coin = rng.laplace(scale=2.0, size=(trials, 1))
    bits = LAW.sample(np.asarray(margins) - coin, rng)
    first = np.where(bits.any(axis=1), bits.argmax(axis=1), 4)
    # Chi-square at 1e-5.
    assert stats.chisquare(np.bincount(first, minlength=5), pmf * trials).pvalue > 1e-5
    # Halting at the first 0 is the mirror image.
    np.testing.assert_allclose(LAW.halting(-np.array([margins]), halt_on=0)[0], pmf, rtol=1e-10)


def test_a_run_is_private_at_the_pure_epsilon_and_nearly_attains_it() -> None:
    worst = 0.0
    for base in (-30.0, -12.0, 0.0, 5.0):
        for length in (1, 5, 40):
            before = np.full((1, length), base)
            after = before + 1.0
            after[0, -1] -= 2.0
            p, q = LAW.halting(before)[0], LAW.halting(after)[0]
            worst = max(worst, float(np.abs(np.log(p / q)).max()))
    assert worst <= LAW.pure(1.0) == 1.0
    assert worst > 0.85


def test_a_threshold_drawn_anew_for_each_query_is_caught() -> None:
    # Independent bits: ten silent queries multiply, and the run is no longer 1-DP.
    p = stats.laplace.cdf(0)
    above = [AboveThreshold(2.0, 4.0)._above(margin) for margin in (0.0, 1.0)]
    assert 10 * math.log((1 - above[0]) / (1 - above[1])) > LAW.pure(1.0)
    assert p == 0.5


@pytest.mark.parametrize(
    "law", [LAW, AboveThreshold(3.0, 3.0), AboveThreshold(1.0, 1.000001), AboveThreshold(5.0, 1.0)]
)
def test_single_query_curve_is_the_worst_over_margins(law: AboveThreshold) -> None:
    margins = np.linspace(-30, 30, 1201)
    pmf = law.halting(np.concatenate([margins, margins + 1.0])[:, None])
    p, q = pmf[1201:], pmf[:1201]
    for epsilon in (-0.2, 0.0, 0.1, 0.3, 2.0):
        pairs = np.maximum(
            np.maximum(0, p - math.exp(epsilon) * q).sum(axis=1), np.maximum(0, q - math.exp(epsilon) * p).sum(axis=1)
        )
        # The grid of margins misses the maximum by at most its step squared.
        assert pairs.max() - 1e-12 <= law.delta(epsilon, 1.0) <= pairs.max() + 2e-5
    assert law.delta(law.pure(1.0), 1.0) == 0.0


def test_edges_and_bad_input() -> None:
    assert LAW.pure(0.0) == LAW.zcdp(0.0) == LAW.delta(0.0, 0.0) == 0.0
    assert LAW.pure(1.0, count=10**9) == LAW.pure(1.0)
    assert LAW.zcdp(1.0) == pytest.approx(math.tanh(0.5))
    assert LAW.delta(0.5, 1e9) == pytest.approx(1.0)
    assert LAW.delta(-5.0, 0.1) == pytest.approx(-math.expm1(-5.0))
    tiny = AboveThreshold(2e-300, 4e-300)
    assert tiny.delta(0.1, 1e-300) == pytest.approx(LAW.delta(0.1, 1.0), rel=1e-9)
    with pytest.raises(InvalidInput, match="threshold"):
        AboveThreshold(0.0, 1.0)
    with pytest.raises(InvalidInput, match="margins"):
        LAW.halting(np.zeros(3))
    with pytest.raises(InvalidInput, match="halt_on"):
        LAW.halting(np.zeros((1, 3)), halt_on=2)  # type: ignore[arg-type]
