"""Batched trials against a plain loop over trials, on the same kernel and the same workload.

Run with `make bench`. The kernel is single output perturbation (`pure_heavy_tails/proc-single-op`) on rare spikes.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from dpcheck import PureDP, seeds
from dpcheck.algorithms.pure_heavy_tails.output_perturbation import SingleOutputPert
from dpcheck.harness.risk import excess_risks
from dpcheck.interfaces import Problem
from dpcheck.running import Fresh, Run
from dpcheck.workloads import RareSpikes

TRIALS = 10_000
WANTED = 50


@dataclass(frozen=True)
class Case:
    """One size, and both ways to run it; each returns the excess risks, (trials,)."""

    n: int
    epsilon: float = 0.1

    @property
    def algorithm(self) -> SingleOutputPert:
        return SingleOutputPert(k=2.0, lambda_=1.0)

    @property
    def workload(self) -> RareSpikes:
        return RareSpikes.rescaled(self.n, self.epsilon)

    @property
    def problem(self) -> Problem:
        return Problem.of(self.workload, PureDP(self.epsilon))

    def batched(self) -> Any:
        return excess_risks(self.algorithm, self.workload, self.problem, self.n, TRIALS, 0, "batched")

    def looped(self) -> Any:
        """Plans once and repeats the kernel, as a careful user would without batches."""
        workload = self.workload
        algorithm, schedule = self.algorithm, self.algorithm.schedule(self.problem, self.n)
        start = workload.project(np.zeros((1, 1)))
        risks = np.empty(TRIALS)
        for trial in range(TRIALS):
            run = Run(schedule, 1, seeds.stream(0, "looped", trial))
            data = Fresh(workload, 1, self.n, 0, "looped", "data", trial)
            risks[trial] = workload.excess_risk(algorithm.execute(run, workload, data, start))[0]
        return risks


@pytest.mark.parametrize("n", [1_000, 65_536])
@pytest.mark.benchmark(group="10,000 trials")
def test_batched(benchmark: Any, n: int) -> None:
    benchmark(Case(n).batched)


@pytest.mark.parametrize("n", [1_000, 65_536])
@pytest.mark.benchmark(group="10,000 trials")
def test_loop_over_trials(benchmark: Any, n: int, capsys: pytest.CaptureFixture[str]) -> None:
    """At least 50 times slower than the batch, with the same mean risk."""
    case = Case(n)
    looped = benchmark.pedantic(case.looped, rounds=1)
    times = []
    for _ in range(5):
        begun = time.perf_counter()
        batched = case.batched()
        times.append(time.perf_counter() - begun)
    ratio = benchmark.stats.stats.min / min(times)
    with capsys.disabled():
        print(f"\nn = {n:,}: {TRIALS:,} trials {min(times):.4f} s batched, {ratio:.0f} times faster than the loop")
    # Both are means of independent trials of one law: 6 standard errors fail about twice in 10^9.
    error = np.hypot(looped.std(), batched.std()) / np.sqrt(TRIALS)
    assert abs(looped.mean() - batched.mean()) <= 6 * error
    assert ratio >= WANTED, f"batched is only {ratio:.0f} times faster than the loop at n = {n:,}"
