"""What is certified of a run, the least noise that is, and no certificate from a sensitivity that is unproved."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import pytest

from dpcheck.accounting import account, gaussian_sigma
from dpcheck.errors import InvalidInput
from dpcheck.harness.budget import calibrated, certified, judge_account
from dpcheck.interfaces import Algorithm, Constants, Problem, Read, Release, Schedule
from dpcheck.laws import Gaussian, Laplace
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.verdicts import Outcome

LEMMA = "toy/lem-1"


@dataclass(frozen=True)
class Mean(Algorithm[str]):
    """A noisy mean of numbers in [0, 1]: one Gaussian or Laplace release of sensitivity 1/n."""

    noise: float = 1.0
    law: Any = Gaussian
    rests_on: tuple[str, ...] = ()

    label = "toy/alg-1"

    def schedule(self, problem: Problem, n: int) -> Schedule[str]:
        read = Read(start=0, stop=n, sensitivity=1 / n)
        release = Release(name="mean", law=self.law(self.noise / n), reads=(read,), rests_on=self.rests_on)
        return Schedule(phases=(), releases=(release,), gradients=n, floats_per_trial=n, claimed=problem.privacy)

    def execute(self, run: Any, workload: Any, data: Any, start: Any) -> Any:
        raise NotImplementedError


def problem(privacy: Any) -> Problem:
    constants = Constants(
        d=1, diameter=lambda p: 1.0, lipschitz=lambda p: 1.0, smoothness=lambda p: 1.0, moment=lambda k, m: 1.0
    )
    return Problem(constants=constants, privacy=privacy)


def test_the_epsilon_of_the_run_itself_is_certified() -> None:
    told = problem(ApproxDP(1.0, 1e-5))
    exact = gaussian_sigma(1.0, 1.0, 1e-5)
    found = certified(Mean(exact), told, 100)
    assert found["certified epsilon"] == pytest.approx(1.0, rel=1e-6)
    assert found["at delta"] == 1e-5
    assert certified(Mean(exact / 3), told, 100)["certified epsilon"] > 3
    assert certified(Mean(0.5, Laplace), problem(PureDP(1.0)), 100) == {"certified epsilon": 2.0, "at delta": 0.0}
    assert certified(Mean(), problem(PureDP(1.0)), 100)["at delta"] == 1e-6
    assert certified(Mean().schedule(told, 100), told, 100) == certified(Mean(), told, 100)


def test_the_least_noise_is_found_and_kept() -> None:
    told = problem(ApproxDP(1.0, 1e-5))
    found = calibrated(Mean(77.0), "noise", told, 100)
    assert found.noise == pytest.approx(gaussian_sigma(1.0, 1.0, 1e-5), rel=2e-6)
    assert account(found.schedule(told, 100)).within(told.privacy)
    assert not account(replace(found, noise=found.noise * (1 - 2e-6)).schedule(told, 100)).within(told.privacy)
    with pytest.raises(InvalidInput, match="no field 'nosuch'"):
        calibrated(Mean(), "nosuch", told, 100)
    with pytest.raises(InvalidInput, match="not certified even with noise"):
        calibrated(Mean(), "noise", problem(PureDP(1.0)), 100)


def test_nothing_is_certified_from_an_unproved_sensitivity() -> None:
    """Fails at f95bebe, where a release could not say what its sensitivity rests on."""
    told = problem(ApproxDP(1.0, 1e-5))
    bold = Mean(1e6, rests_on=(LEMMA,))
    assert certified(bold, told, 100)["certified epsilon"] == math.inf
    spent = account(bold.schedule(told, 100))
    assert spent.unproved == (LEMMA,)
    assert not spent.within(told.privacy)
    assert spent.delta(1e9) == 1.0
    assert judge_account(spent, told.privacy).outcome is Outcome.UNDECIDED
    with pytest.raises(InvalidInput, match="rest on toy/lem-1"):
        spent.guarantee  # noqa: B018
    with pytest.raises(InvalidInput, match="rest on toy/lem-1"):
        calibrated(bold, "noise", told, 100)


def test_what_is_assumed_is_said_and_is_no_certificate() -> None:
    told = problem(ApproxDP(1.0, 1e-5))
    plan = Mean(1e6, rests_on=(LEMMA, "toy/lem-2")).schedule(told, 100)
    assert account(plan, assuming=(LEMMA,)).unproved == ("toy/lem-2",)
    spent = account(plan, assuming="all")
    assert spent.assumed == (LEMMA, "toy/lem-2")
    assert spent.epsilon(1e-5) < 1
    said = judge_account(spent, told.privacy)
    assert said.outcome is Outcome.UNDECIDED
    assert LEMMA in said.reason
    # Nothing was assumed where nothing had to be.
    proved = account(Mean(1e6).schedule(told, 100), assuming="all")
    assert proved.assumed == ()
    assert judge_account(proved, told.privacy).outcome is Outcome.HOLDS


def test_a_stretch_that_reads_nothing_of_it_is_still_certified() -> None:
    plan = Mean(1e6).schedule(problem(ApproxDP(1.0, 1e-5)), 100)
    doubtful = Release(
        name="other", law=Gaussian(1e9), reads=(Read(start=100, stop=200, sensitivity=1.0),), rests_on=(LEMMA,)
    )
    spent = account(replace(plan, releases=(*plan.releases, doubtful)))
    assert [stretch.unproved for stretch in spent.stretches] == [(), (LEMMA,)]
    assert spent.stretches[0].epsilon(1e-5) < 1 < spent.epsilon(1e-5) == math.inf
