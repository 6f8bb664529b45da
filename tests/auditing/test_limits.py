"""The limit of theory, and that the auditor comes close to it when both densities are known."""

import math

import numpy as np
import pytest
from scipy import stats

import dpcheck as dp
from dpcheck.auditing.limits import fewest_of_any, fewest_on_gaussian_curve, fewest_samples, limit_epsilon
from dpcheck.errors import InvalidInput

GRID = np.linspace(-7, 8, 1201)


def normal_cells(mu):
    laws = (np.diff(np.r_[0, stats.norm.cdf(GRID - at), 1]) for at in (0.0, mu))
    return tuple(np.maximum(law, 1e-300) for law in laws)


@pytest.mark.parametrize(("trials", "limit"), [(10_000, 2.66), (100_000, 3.21)])
def test_limit_of_gaussian_noise(trials, limit):
    assert limit_epsilon(*normal_cells(1.0), 1e-5, trials) == pytest.approx(limit, abs=6e-3)


def test_fewest_samples_inverts_the_limit():
    p, q = normal_cells(1.0)
    bound = limit_epsilon(p, q, 1e-5, 50_000)
    assert fewest_samples(p, q, bound, 1e-5, 0.05) == pytest.approx(100_000, rel=1e-3)
    assert fewest_samples(p, q, 5.0, 1e-5, 0.05) is None
    assert limit_epsilon([0.5, 0.5], [0.5, 0.5], 0.0, 10_000) == 0.0
    more = fewest_samples(p, q, bound, 1e-5, 0.05, power=0.95)
    assert more == pytest.approx(4 * 100_000, rel=0.02)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.0), (0.3, 1e-3)])
def test_outputs_that_tell_everything_still_take_a_row_of_right_guesses(epsilon, delta):
    right = delta + (1 - delta) / (1 + math.exp(-epsilon))
    runs = fewest_samples([1.0, 0.0], [0.0, 1.0], epsilon, delta, 1e-6, 0.95)
    # The best test wants all guesses right: so many of them has chance below the level over the power under the claim.
    assert right**runs <= 1e-6 / 0.95
    assert fewest_on_gaussian_curve(50.0, 1.0, 1e-6, 0.95) == 38
    assert stats.norm.cdf(0.5) ** 38 <= 1e-6 / 0.95 < stats.norm.cdf(0.5) ** 37


def test_with_known_densities_the_audit_is_near_the_limit():
    score = dp.scores.LikelihoodRatio(lambda y: -(y**2) / 2, lambda y: -((y - 1) ** 2) / 2)
    bounds = [
        dp.audit(
            lambda d, r, t: d.sum() + r.normal(size=t),
            np.zeros(1),
            np.ones(1),
            dp.ApproxDP(4.3772, 1e-5),
            trials=20_000,
            score=score,
            seed=s,
        ).epsilon_lower
        for s in range(9)
    ]
    limit = limit_epsilon(*normal_cells(1.0), 1e-5, 20_000)
    # Standard deviation of a bound about 0.25, of the median of nine about 0.1.
    assert limit - 0.45 < np.median(bounds) < limit + 0.35
    assert math.isfinite(limit)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_what_is_not_violated_no_number_of_runs_refutes(delta):
    assert fewest_of_any(1.0, 1.0, delta, 0.05) is None
    assert fewest_of_any(0.5, 1.0, delta, 0.05) is None
    assert fewest_of_any(1.1, 1.0, delta, 0.05) > fewest_of_any(2.0, 1.0, delta, 0.05)
    assert fewest_on_gaussian_curve(1.0, 1.0, 0.05) is None
    assert fewest_on_gaussian_curve(0.5, 1.0, 0.05) is None


def test_powers_of_no_test_are_refused():
    told = [1.0, 0.0], [0.0, 1.0]
    with pytest.raises(InvalidInput, match=r"power must lie in \(0, 1\), got 1.0"):
        fewest_samples(*told, 1.0, 0.0, 0.05, power=1.0)
    with pytest.raises(InvalidInput, match=r"need 0 < failure_probability < power < 1, got 0\.6 and 0\.5"):
        fewest_of_any(1.0, 0.5, 0.0, 0.6)
