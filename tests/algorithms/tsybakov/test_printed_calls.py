"""Algorithms 4 and 5 as printed take the step of line 3; a given step leaves Theorem 1's condition on."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpcheck.algorithms.tsybakov import IteratedLocalised, LocalisedClipped, StochasticApproximation
from dpcheck.errors import Infeasible
from dpcheck.interfaces import Problem
from dpcheck.privacy import ApproxDP
from dpcheck.workloads.linear import TwoPoint
from dpcheck.workloads.power_well import PowerWell

LINE = TwoPoint(D=2.0, G=1.0, rho=0.5)


def asked(n: int, delta: float = 1e-5) -> Problem:
    return Problem.of(LINE, ApproxDP(1.0, delta), failure_probability=1 / n)


def line_3(n: int, records: int, radius: float) -> float:
    """p = 1, k = 2, d = L_f = epsilon = 1, every moment 1, beta = 1/n."""
    averaged = math.sqrt(1 - 2.0 ** -math.floor(math.log2(n)))
    private = math.sqrt(records / math.sqrt(math.log(n)))
    return (
        radius
        / math.sqrt(records)
        * min(1.0, private / (averaged * records), 1 / math.sqrt(math.log(records) * math.log(n)))
    )


@pytest.mark.parametrize("n", [2 * 2**10, 3 * 2**12])
def test_algorithm_4_takes_the_printed_step(n: int) -> None:
    """At f95bebe the 'literal' reading had log(1/delta), the call's own R_{2k} and log n, and beta over the calls."""
    epochs = StochasticApproximation(project=True, radius=1.0).schedule(asked(n), n).phases
    for e, epoch in enumerate(epochs):
        assert 4 * epoch.inner.phases[0].eta == pytest.approx(line_3(n, epoch.records, 2.0**-e), rel=1e-12)
    other = StochasticApproximation(project=True, radius=1.0).schedule(asked(n, 1e-9), n).phases
    assert [e.inner.phases[0].eta for e in other] == [e.inner.phases[0].eta for e in epochs]


def test_algorithm_5_takes_the_printed_step() -> None:
    n = 2**16
    epochs = IteratedLocalised(project=True).schedule(asked(n), n).phases
    assert [epoch.records for epoch in epochs] == [2**12, 2**13, 2**14, 2**15]
    for t, epoch in enumerate(epochs):
        assert 4 * epoch.inner.phases[0].eta == pytest.approx(line_3(n, epoch.records, 2.0 ** (1 - t)), rel=1e-12)


def test_a_given_step_leaves_the_lipschitz_condition_standing() -> None:
    """At f95bebe a step of one's own skipped it, and so did the pairs against Theorem 1."""
    steep = PowerWell(c=np.array([0.5]), v=np.ones(1), theta=2.0, size=1e3, chance=1e-6, radius=1.0)
    problem = replace(asked(256), constants=steep.constants)
    with pytest.raises(Infeasible, match="L_f <= "):
        LocalisedClipped(**{**LocalisedClipped.readings["corrected"], "eta": 1e-3}).schedule(problem, 256)
    free = {**LocalisedClipped.readings["corrected"], "eta": 1e-3, "lipschitz": "ignored"}
    assert LocalisedClipped(**free).schedule(problem, 256).phases[0].eta == pytest.approx(2.5e-4)


def test_calls_for_every_loss_are_on_the_whole_domain() -> None:
    """At f95bebe this reading could not be planned."""
    n = 2**12
    algorithm = StochasticApproximation(**StochasticApproximation.readings["every-loss"])
    epochs = algorithm.schedule(asked(n), n).phases
    assert len(epochs) > 1
    assert not algorithm.on_balls
    weights = [epoch.inner.phases[0].weight for epoch in epochs]
    assert weights == pytest.approx([weights[0] * 2.0**e for e in range(len(epochs))])
    assert [epoch.step * n_w for epoch, n_w in zip(epochs, weights, strict=True)] == pytest.approx(
        [1 / epoch.records for epoch in epochs]
    )
    assert all(phase.per_step for epoch in epochs for phase in epoch.inner.phases)
    assert StochasticApproximation().on_balls
    assert not IteratedLocalised().on_balls
