"""The adapter over dp-accounting: against closed forms, against the package's Rényi accountant, and without it."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpcheck.accounting import account, pld
from dpcheck.errors import InvalidInput, MissingExtra
from dpcheck.interfaces import Read, Release, Sampling, Schedule
from dpcheck.laws import AboveThreshold, Exponential, Gaussian, GeneralizedGaussian, IsotropicLaplace, Laplace, NoisyMin

dp_accounting = pytest.importorskip("dp_accounting", reason="the extra [accounting] is not installed")
STEP = 1e-3  # ten times the default: fast, and still an upper bound


def plan(*releases: Release) -> Schedule[Any]:
    return Schedule(phases=(), releases=releases, gradients=0, floats_per_trial=1, claimed=None)


def release(name: str, law: Any, sensitivity: float = 1.0, count: int = 1, sampling: Sampling | None = None) -> Release:
    read = Read(start=0, stop=100, sensitivity=sensitivity, sampling=sampling)
    return Release(name=name, law=law, count=count, reads=(read,))


@pytest.mark.parametrize("law", [Gaussian(1.5), Laplace(1.5), IsotropicLaplace(1.5)])
def test_single_laws_match_their_exact_curves_from_above(law) -> None:
    made = pld.of_law(law, 1.2, step=STEP)
    for epsilon in (0.0, 0.2, 0.6):
        exact = law.delta(epsilon, 1.2)
        assert exact <= made.get_delta_for_epsilon(epsilon) * (1 + 1e-9)
        assert made.get_delta_for_epsilon(epsilon) == pytest.approx(exact, abs=2e-3)


def test_composed_gaussians_match_the_closed_form() -> None:
    found = account(plan(release("a", Gaussian(4.0), count=9), release("b", Gaussian(2.0))))
    for delta in (1e-3, 1e-6):
        exact = found.epsilon(delta)
        assert exact <= pld.epsilon(found, delta, STEP) + 1e-9
        assert pld.epsilon(found, delta, STEP) == pytest.approx(exact, abs=1e-3)
    assert pld.delta(found, 1.0, STEP) == pytest.approx(found.delta(1.0), rel=5e-3)


def test_the_account_never_certifies_less_than_the_loss_distribution_of_randomised_response() -> None:
    found = account(plan(release("a", NoisyMin(10.0), count=20), release("b", Gaussian(5.0), count=4)))
    for delta in (1e-2, 1e-5):
        assert found.epsilon(delta) == pytest.approx(pld.epsilon(found, delta, STEP), abs=5e-3)
    laplace = account(plan(release("a", Laplace(5.0), count=30)))
    assert pld.epsilon(laplace, 1e-5, STEP) < laplace.epsilon(1e-5)
    test = account(plan(release("bits", AboveThreshold(4.0, 8.0), count=500)))
    assert pld.epsilon(test, 1e-9, STEP) == pytest.approx(0.5, abs=2e-3)


def test_laws_below_the_laplace_curve_say_so_truly() -> None:
    for law in (Laplace(0.3), IsotropicLaplace(0.3), IsotropicLaplace(0.3, d=5), Exponential(0.5)):
        assert law.below_laplace
        t = law.pure(1.0)
        for epsilon in np.linspace(-1.2 * t, 1.2 * t, 49):
            assert law.delta(float(epsilon), 1.0) <= Laplace(1 / t).delta(float(epsilon), 1.0) + 1e-12
    for other in (NoisyMin(0.6), AboveThreshold(1.0, 2.0)):
        assert not getattr(other, "below_laplace", False)


# The package against itself, on every event that dpcheck may hand it: PLD epsilon <= Rényi epsilon.
EVENTS = [
    dp_accounting.GaussianDpEvent(1.0),
    dp_accounting.GaussianDpEvent(7.0),
    dp_accounting.LaplaceDpEvent(2.0),
    dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(5.0), 20),
    dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(10.0), 50),
    dp_accounting.ComposedDpEvent([dp_accounting.GaussianDpEvent(3.0), dp_accounting.LaplaceDpEvent(4.0)]),
    dp_accounting.SelfComposedDpEvent(
        dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0)), 99
    ),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda e: type(e).__name__)
def test_self_test_of_the_package(event) -> None:
    loss = importlib.import_module("dp_accounting.pld.pld_privacy_accountant").PLDAccountant(
        value_discretization_interval=STEP
    )
    renyi = importlib.import_module("dp_accounting.rdp.rdp_privacy_accountant").RdpAccountant()
    for accountant in (loss, renyi):
        accountant.compose(event)
    for delta in (1e-3, 1e-6):
        assert loss.get_epsilon(delta) <= renyi.get_epsilon(delta) * (1 + 1e-6) + 1e-3


def test_the_known_gap_under_replace_one_is_why_it_is_never_asked_for() -> None:
    # A clipped sum moves by 2 under replace-one: the multiplier 1 means mu = 2, epsilon 9.997 at delta = 1e-5.
    found = account(plan(release("sum", Gaussian(1.0), sensitivity=2.0)))
    assert found.epsilon(1e-5) == pytest.approx(9.99726, abs=1e-4)
    assert pld.epsilon(found, 1e-5, STEP) == pytest.approx(9.99726, abs=2e-3)


def test_draws_with_replacement_match_quadrature_and_published_values() -> None:
    size, rows, sigma = 10, 100, 3.0
    made = pld.copies_pair(sigma, size, rows, STEP)
    chances = stats.binom.pmf(np.arange(size + 1), size, 1 / rows)
    x = np.linspace(-45, 45, 400_001)
    up = sum(p * stats.norm.pdf(x, k, sigma) for k, p in enumerate(chances))
    down = sum(p * stats.norm.pdf(x, -k, sigma) for k, p in enumerate(chances))
    for epsilon in (0.0, 0.1, 0.4):
        exact = np.trapezoid(np.maximum(0, up - math.exp(epsilon) * down), x)
        assert exact <= made.get_delta_for_epsilon(epsilon) * (1 + 1e-6)
        assert made.get_delta_for_epsilon(epsilon) == pytest.approx(exact, abs=1e-3)
    # Noisy mirror descent at n = 100, b = 10, T = 100, noise constant 5: about 0.41 at delta = 1e-5.
    steps = pld.copies_pair(5 * math.sqrt(math.log(1e5)), 10, 100, 2e-4).self_compose(100)
    assert steps.get_epsilon_for_delta(1e-5) == pytest.approx(0.41, abs=0.02)
    # The account's own bound for the same schedule is valid, hence not below.
    law = Gaussian(5 * math.sqrt(math.log(1e5)) / 2)
    schedule = plan(release("steps", law, count=100, sampling=Sampling("with-replacement", 10)))
    assert account(schedule).epsilon(1e-5) > 0.39


def test_a_cell_wider_than_all_losses_rounds_every_one_of_them_up() -> None:
    sigma, size, rows = 3.0, 10, 100
    coarse = pld.copies_pair(sigma, size, rows, 1000.0)
    k = np.arange(size + 1)
    above = stats.binom.pmf(k, size, 1 / rows) @ stats.norm.cdf(k / sigma)
    assert coarse.get_delta_for_epsilon(0.0) == pytest.approx(above, rel=1e-9)
    assert coarse.get_delta_for_epsilon(999.0) == pytest.approx(above * -math.expm1(-1.0), rel=1e-9)


def test_what_is_not_supported_says_so(monkeypatch) -> None:
    with pytest.raises(InvalidInput, match="neither pure nor Gaussian"):
        pld.of_law(GeneralizedGaussian(1.0, 4.0), 1.0)
    sampled = account(plan(release("s", Gaussian(1.0), sampling=Sampling("without-replacement", 10))))
    with pytest.raises(InvalidInput, match="Sampled"):
        pld.epsilon(sampled, 1e-5)
    with pytest.raises(InvalidInput, match="sigma"):
        pld.copies_pair(0.0, 10, 100)
    assert pld.epsilon(account(plan()), 1e-5) == 0.0

    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(pld.importlib, "import_module", missing)
    with pytest.raises(MissingExtra, match=r"dpcheck\[accounting\]"):
        pld.of_law(Gaussian(1.0), 1.0)
