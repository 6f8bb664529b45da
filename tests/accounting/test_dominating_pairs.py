"""Hidden samples by the pair that dominates them: exact moments, exact epsilons of true pairs, and misses."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from dpcheck.accounting import account
from dpcheck.accounting.amplification import REACH, LossCells, dominated_renyi, mixture_renyi, sampled_renyi
from dpcheck.interfaces import Read, Release, Sampling, Schedule
from dpcheck.laws import Gaussian, Laplace

CASES = [
    (1.0, 0.1, 5.3, ()), (0.2, 0.01, 30.0, ()), (3.0, 0.5, 2.5, ()), (0.5, 0.05, 20.0, (0.3,)), (0.01, 1e-3, 1e3, ()),
    (2.0, 0.9, 1.2, (1.0, 0.2)), (0.05, 0.1, 4.0, (3.0,)),
]  # fmt: skip


@pytest.mark.parametrize(("mu", "rate", "alpha", "pure"), CASES)
def test_moments_are_those_of_an_integral_from_above(
    mu: float, rate: float, alpha: float, pure: tuple[float, ...]
) -> None:
    def excess(z: float, loss: float) -> float:
        x = math.log1p(rate * math.expm1(loss + mu * z - mu * mu / 2))
        return math.expm1(alpha * x) * -math.expm1((1 - alpha) * x) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi)

    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(pure)):
        loss = sum(s * e for s, e in zip(signs, pure, strict=True))
        mass = math.prod(float(special.expit(-s * e)) for s, e in zip(signs, pure, strict=True))
        start = max(mu / 2 - loss / mu, -20.0)
        for piece in itertools.pairwise(np.linspace(start, start + 40, 81)):
            total += mass * integrate.quad(excess, *piece, args=(loss,))[0]
    exact = math.log1p(total) / (alpha - 1)
    assert exact <= dominated_renyi(alpha, rate, (1.0,), (LossCells.of(pure, mu),)) <= 1.02 * exact


def test_pure_pairs_have_two_outcomes() -> None:
    # (1 - q) Q + q P against Q in one direction and the other: losses log(1 + q (e - 1)), its negative, and 0.
    q, alpha, e = 0.2, 3.0, 0.7
    r, mass = 1 + q * math.expm1(e), 1 / (1 + math.exp(e))
    exact = mass * r**alpha + mass * r * r**-alpha + 1 - mass - mass * r
    assert dominated_renyi(alpha, q, (1.0,), (LossCells.of((e,), 0.0),)) == pytest.approx(math.log(exact) / (alpha - 1))


def test_what_loses_nothing_has_no_divergence() -> None:
    assert dominated_renyi(3.0, 0.1, (1.0,), (LossCells.of((0.0,), 0.0),)) == 0.0
    half = dominated_renyi(3.0, 0.1, (0.5, 0.5), (LossCells.of((0.0,), 0.0), LossCells.of((0.7,), 0.0)))
    whole = dominated_renyi(3.0, 0.1, (1.0,), (LossCells.of((0.7,), 0.0),))
    assert math.expm1(2 * half) == pytest.approx(math.expm1(2 * whole) / 2)


@pytest.mark.parametrize("mu", [0.1, 0.5, 2.0])
def test_it_is_below_both_older_bounds(mu: float) -> None:
    for rate in (0.001, 0.1, 0.7):
        older = sampled_renyi(64, (1,), np.array([rate]), lambda a, k: a * mu * mu / 2, np.array([math.inf]))
        for alpha in (a for a in (2, 3, 8, 40) if a * mu < REACH):
            here = dominated_renyi(alpha, rate, (1.0,), (LossCells.of((), mu),))
            assert here <= older[alpha - 2] * (1 + 1e-12)
            assert here <= 1.02 * mixture_renyi(alpha, np.array([rate]), np.array([alpha * mu * mu / 2]))


def schedule(law: object, count: int, size: int, rows: int, failure: float = 0.0) -> Schedule[None]:
    sampling = Sampling("without-replacement", size)
    read = Read(start=0, stop=rows, sensitivity=1.0, sampling=sampling, failure=failure)
    release = Release(name="step", law=law, reads=(read,), count=count)  # type: ignore[arg-type]
    return Schedule(phases=(), releases=(release,), gradients=0, floats_per_trial=0, claimed=None)


def composed(loss: np.ndarray, mass: np.ndarray, count: int, epsilon: float, step: float = 5e-5) -> float:
    """delta(epsilon) of `count` uses, losses rounded up to a grid: from above."""
    cells = 2**20
    one = np.zeros(cells)
    np.add.at(one, np.ceil(loss / step).astype(int) % cells, mass)
    total = np.fft.irfft(np.fft.rfft(one) ** count, cells)
    at = np.where(np.arange(cells) > cells // 2, np.arange(cells) - cells, np.arange(cells)) * step
    return float(np.maximum(total, 0)[at > epsilon] @ -np.expm1(epsilon - at[at > epsilon]))


@pytest.mark.parametrize(("mu", "rate", "count"), [(1.0, 0.01, 1000), (0.3, 0.1, 100), (2.0, 0.05, 20)])
@pytest.mark.parametrize("turned", [False, True])
def test_no_neighbours_lose_more_than_is_certified(mu: float, rate: float, count: int, turned: bool) -> None:
    delta = 1e-6
    certified = account(schedule(Gaussian(1 / mu), count, round(1000 * rate), 1000)).epsilon(delta)
    # All other records say 0; one says 1 on one side.
    y = np.linspace(-12, 12 + mu, 400_001)
    loss = np.logaddexp(math.log1p(-rate), math.log(rate) + mu * y - mu * mu / 2)
    Q = stats.norm.cdf(y)
    P = (1 - rate) * Q + rate * stats.norm.cdf(y - mu)
    mass = np.diff(Q if turned else P)
    lost = -loss[:-1] if turned else loss[1:]
    assert composed(lost, mass, count, certified) <= delta
    if not turned:  # and hardly more than need be
        assert composed(lost, mass, count, 0.65 * certified) > delta


def test_a_miss_on_a_minibatch_costs_no_more_than_its_share() -> None:
    # Randomised response that betrays the record with probability a, sampled: every outcome is enumerated.
    q, a, e, count = 0.25, 1e-3, 0.4, 3
    p = 1 / (1 + math.exp(-e))
    said = {True: (a, (1 - a) * p, (1 - a) * (1 - p), 0.0), False: (0.0, (1 - a) * (1 - p), (1 - a) * p, a)}
    P, Q = ([(1 - q) * n + q * s for n, s in zip(said[False], said[side], strict=True)] for side in (True, False))
    found = account(schedule(Laplace(1 / e), count, 10, 40, failure=count * q * a))
    for epsilon in (0.05, 0.1, 0.2, 0.3):
        true = 0.0
        for outcome in itertools.product(range(4), repeat=count):
            here, there = (math.prod(law[i] for i in outcome) for law in (P, Q))
            true += max(0.0, here - math.exp(epsilon) * there)
        assert true <= found.delta(epsilon)
