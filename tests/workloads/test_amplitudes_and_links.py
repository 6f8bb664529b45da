"""Closed forms of gradient-norm laws and links against quadrature."""

import math

import numpy as np
import pytest
from scipy import integrate

from dpcheck.errors import InvalidInput
from dpcheck.workloads import LINKS, Huber, Pareto, Spike


@pytest.mark.parametrize("law", [Pareto(tail=3.5), Pareto(tail=2.2, scale=0.4)])
@pytest.mark.parametrize("cap", [0.1, 0.7, 2.0, 9.0])
def test_pareto_closed_forms(law, cap):
    def density(x):
        return law.tail / law.scale * (x / law.scale) ** (-law.tail - 1)

    # Substituting x = scale/u makes the tail integrable to machine precision on (0, 1].
    def mean_of(function):
        value, _ = integrate.quad(
            lambda u: function(law.scale / u) * density(law.scale / u) * law.scale / u**2,
            0,
            1,
            points=[min(1.0, law.scale / cap)],
            limit=400,
        )
        return value

    assert law.moment(1) == pytest.approx(mean_of(lambda x: x), rel=1e-7)
    assert law.capped_mean(cap) == pytest.approx(mean_of(lambda x: min(x, cap)), rel=1e-7)
    assert law.excess_mean(cap) == pytest.approx(mean_of(lambda x: max(x - cap, 0.0)), rel=1e-6)
    assert law.moment(2) == pytest.approx(mean_of(lambda x: x * x), rel=1e-4)
    assert law.moment(law.tail) == math.inf


def test_spike_has_the_moment_it_is_named_after():
    law = Spike.of_moment(1.5, 3.0, 0.01)
    assert law.moment(3) ** (1 / 3) == pytest.approx(1.5, rel=1e-12)
    assert law.capped_mean(2.0) + law.excess_mean(2.0) == pytest.approx(law.moment(1), rel=1e-12)
    assert law.largest == law.size


def test_sampled_moments():
    rng = np.random.default_rng(1)
    draws = Pareto(tail=6.0).sample(rng, (200_000,))
    # Chebyshev at 10 standard errors: fails with probability below 0.01 for any law; far less for this one.
    assert abs(draws.mean() - 1.2) < 10 * math.sqrt((1.5 - 1.44) / 200_000)
    assert draws.min() >= 1.0
    spikes = Spike(3.0, 0.25).sample(rng, (100_000,))
    assert set(np.unique(spikes)) == {0.0, 3.0}
    assert abs((spikes > 0).mean() - 0.25) < 10 * math.sqrt(0.1875 / 100_000)


@pytest.mark.parametrize(
    "bad", [lambda: Pareto(tail=1.0), lambda: Pareto(2.0, 0.0), lambda: Spike(0.0, 0.5), lambda: Spike(1, 2)]
)
def test_illegal_amplitudes(bad):
    with pytest.raises(InvalidInput):
        bad()


@pytest.mark.parametrize("name", [*LINKS, "wide huber"])
def test_links(name):
    link = Huber(2.5) if name == "wide huber" else LINKS[name]
    s = np.linspace(-4, 4, 801)
    # Slopes: the secants on either side bracket them.
    step = 1e-6
    left = (link.value(s) - link.value(s - step)) / step
    right = (link.value(s + step) - link.value(s)) / step
    assert np.all(link.slope(s) >= left - 1e-5)
    assert np.all(link.slope(s) <= right + 1e-5)
    low, high = link.slopes
    assert np.all((link.slope(s) >= low) & (link.slope(s) <= high))
    # Fenchel-Young: equality at the slope, inequality elsewhere.
    theta = link.slope(s)
    assert np.allclose(link.value(s) + link.conjugate(theta), theta * s, atol=1e-12)
    for other in np.clip(np.linspace(-3, 3, 13), low, high):
        assert np.all(link.value(s) + link.conjugate(np.full_like(s, other)) >= other * s - 1e-12)
    if link.pieces is not None:
        assert np.allclose(np.max([a * s + b for a, b in link.pieces], axis=0), link.value(s))
    if math.isfinite(link.curvature):
        assert np.all(np.abs(np.diff(link.slope(s))) <= link.curvature * np.diff(s) + 1e-12)
