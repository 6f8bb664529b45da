"""Places that are drawn: the bound is never below what is exactly known, and is one at what proves nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy

from dpcheck.accounting import account
from dpcheck.accounting.placing import placing_delta
from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Read, Release, Sampling, Schedule
from dpcheck.laws import Gaussian, Laplace


def drawn(h: float, T: int, chance: float, epsilon: float, adaptive: bool) -> tuple[float, float]:
    """E_R(L − e^ε L')_+ and its standard error, for records that add h and −h, or that turn with the past."""
    z = np.random.default_rng(T).standard_normal((400_000, T))
    a = np.ones_like(z)
    if adaptive:
        a[:, 1:] = np.where(z[:, :-1] > 0, 1.0, 0.2)
    one, other = (1 + chance * np.expm1(s * h * a * z - (h * a) ** 2 / 2).sum(axis=1) for s in (1, -1))
    loss = np.maximum(one - math.exp(epsilon) * other, 0.0)
    return float(loss.mean()), float(loss.std() / math.sqrt(len(loss)))


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize(("h", "T", "epsilon"), [(0.2, 1, 0.05), (0.3, 4, 0.1), (0.3, 20, 0.03)])
def test_it_is_above_drawn_losses_and_not_far(h, T, epsilon, adaptive):
    found, error = drawn(h, T, 1 / (2 * T), epsilon, adaptive)
    bound = placing_delta(epsilon, h, T, 1 / (2 * T))
    assert found + 5 * error < bound
    assert adaptive or bound < 12 * found


def test_one_place_is_a_gaussian_release():
    """T = 1 and chance 1: the exact curve of sensitivity 2h is below."""
    for h in (0.05, 0.2, 0.4):
        for epsilon in (0.05, 0.5, 1.0):
            mu = 2 * h
            exact = scipy.stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * scipy.stats.norm.cdf(
                -mu / 2 - epsilon / mu
            )
            assert exact <= placing_delta(epsilon, h, 1, 1.0)


def test_it_falls_with_epsilon_and_rises_with_the_shift():
    values = [placing_delta(epsilon, 0.1, 50, 0.01) for epsilon in (0.0, 0.01, 0.05, 0.2, 1.0)]
    assert values == sorted(values, reverse=True)
    values = [placing_delta(0.1, shift, 50, 0.01) for shift in (0.01, 0.1, 0.3, 1.0, 2.0)]
    assert values == sorted(values)
    assert values[-1] == 1.0


@pytest.mark.parametrize("wrong", [(-1.0, 0.1, 5, 0.1), (0.1, 0.0, 5, 0.1), (0.1, 0.1, 0, 0.1), (0.1, 0.1, 5, 0.3)])
def test_arguments_out_of_range(wrong):
    with pytest.raises(InvalidInput):
        placing_delta(*wrong)


def spent(law, count=20, places=40, sensitivity=0.6, others=()):
    read = Read(start=0, stop=9, sensitivity=sensitivity, sampling=Sampling("places", places))
    releases = (Release(name="batch", law=law, reads=(read,), count=count), *others)
    return account(Schedule(phases=(), releases=releases, gradients=9, floats_per_trial=1, claimed=None))


def test_the_account_is_above_what_drawn_records_lose_and_far_below_one_that_composes():
    """A record adds at most half of what a replaced one moves: 0.3 of a deviation."""
    found, error = drawn(0.3, 20, 1 / 40, 0.03, False)
    hidden = spent(Gaussian(1.0))
    assert found + 5 * error < hidden.delta(0.03) == placing_delta(0.03, 0.3, 20, 1 / 40)
    assert hidden.delta(hidden.epsilon(1e-3)) <= 1e-3
    known = spent(Gaussian(1.0), count=1, places=1)  # the place is known
    assert hidden.epsilon(1e-3) < 0.5 * known.epsilon(1e-3)
    composed = account(Schedule(
        phases=(), gradients=9, floats_per_trial=1, claimed=None,
        releases=(Release(name="batch", law=Gaussian(1.0), reads=(Read(start=0, stop=9, sensitivity=0.6),), count=20),),
    ))  # fmt: skip
    assert known.epsilon(1e-3) < 0.5 * composed.epsilon(1e-3)


def test_given_the_places_every_record_is_read_once():
    assert spent(Laplace(2.0), sensitivity=1.0).epsilon(0.0) == 0.5
    assert [row.epsilon for row in spent(Laplace(2.0), sensitivity=1.0).per_release] == [0.5]
    assert spent(Gaussian(1.0)).stretches[0].mu == pytest.approx(0.6)
    other = Release(name="mean", law=Gaussian(1.0), reads=(Read(start=0, stop=9, sensitivity=0.8),))
    both = spent(Gaussian(1.0), others=(other,))
    assert both.stretches[0].mu == pytest.approx(1.0)
    assert spent(Gaussian(1.0), sensitivity=0.0).guarantee is None


def test_places_of_pure_noise_compose_with_a_gaussian_as_one_use():
    other = Release(name="mean", law=Gaussian(1.0), reads=(Read(start=0, stop=9, sensitivity=0.8),))
    found = spent(Laplace(2.0), sensitivity=1.0, others=(other,))
    once = Release(name="batch", law=Laplace(2.0), reads=(Read(start=0, stop=9, sensitivity=1.0),))
    plain = account(
        Schedule(phases=(), releases=(once, other), gradients=9, floats_per_trial=1, claimed=None)
    )  # fmt: skip
    for delta in (1e-2, 1e-6):
        assert found.epsilon(delta) == pytest.approx(plain.epsilon(delta), rel=1e-9)
    assert found.stretches[0].rho == pytest.approx(Laplace(2.0).zcdp(1.0) + 0.32)


def test_every_use_needs_a_place():
    with pytest.raises(InvalidInput, match="used 20 times and has 19 places"):
        spent(Gaussian(1.0), places=19)
