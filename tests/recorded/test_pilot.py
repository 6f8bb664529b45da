"""A pilot: what runs cost, and what is refused before it is begun."""

from __future__ import annotations

import time

import numpy as np
import pytest

import dpcheck as dp
from dpcheck import processes
from dpcheck.errors import InvalidInput
from dpcheck.recorded import planning
from dpcheck.recorded.pilot import Cost, pilot

ZERO, ONE = np.zeros(1), np.ones(1)


def vectors(data, rng, trials):
    return data.sum() + rng.laplace(size=(trials, 50))


def sleeps(data, rng):
    time.sleep(0.01)
    return float(rng.random())


def test_time_and_weight_are_those_of_the_mechanism():
    cost = pilot(dp.vectorize(sleeps), ZERO, ONE, runs=10**6)
    assert 0.01 <= cost.seconds < 0.1
    assert cost.bytes < 100
    cost = pilot(vectors, ZERO, ONE, runs=10**6)
    assert cost.seconds < 0.01
    assert cost.bytes == pytest.approx(2 * 50 * 8, rel=0.1)  # as returned, and as a matrix


def test_a_pilot_is_a_small_part_of_the_runs():
    assert pilot(dp.vectorize(sleeps), ZERO, ONE, runs=400).runs <= 16
    assert pilot(vectors, ZERO, ONE, runs=10**9).runs < 20_000


def test_what_takes_too_long_or_too_much_is_refused(monkeypatch):
    cost = Cost("mine", 0.01, 800.0, 100)
    cost.check(10**8, 10**6)
    with pytest.raises(
        InvalidInput, match=r"100,000,000,000,000 runs of mine would take 31,6\d\d\.. years at 100 a"
    ) as e:
        cost.check(10**14, 0)
    assert "\n" not in str(e.value)
    assert "take fewer than 2.59e+08" in str(e.value)
    cost.check(2.59e8, 0)
    monkeypatch.setattr(processes, "physical_memory", lambda: 2**30)
    with pytest.raises(InvalidInput, match=r"which is 7\.45 GiB where this machine has 1: take fewer trials"):
        cost.check(10**7, 10**7)


def test_what_is_told_beforehand_is_what_the_result_says_of_a_guess_of_every_output():
    def flipped(data, rng, trials):
        return (rng.random(trials) < 0.73) == (data.sum() > 0)

    for claim in (dp.PureDP(1.0), dp.ApproxDP(1.0, 1e-6)):
        best = planning.detectable_at_best(claim, 4000, 0.05)
        result = dp.audit(flipped, ZERO, ONE, claim, trials=4000)
        assert best == pytest.approx(result.detectable_epsilon, abs=0.02)
    few, many = (planning.detectable_at_best(dp.GaussianDP(1.0), trials, 0.05) for trials in (2000, 200_000))
    assert dp.GaussianDP(1.0).epsilon_at(1e-5) < many < few
