"""What is certified of a run, the least noise that is, and no certificate from a sensitivity that is unproved."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import pytest

from dpcheck.accounting import account, gaussian_sigma, pld
from dpcheck.accounting.amplification import copies
from dpcheck.errors import InvalidInput
from dpcheck.harness import worst_pair
from dpcheck.harness.budget import (
    CERTIFIED,
    ENOUGH,
    LOOSE,
    PAIR,
    REDUCED,
    budget,
    calibrated,
    caption,
    certified,
    judge_account,
    sentence,
    tabulated,
    with_budget,
)
from dpcheck.interfaces import Algorithm, Constants, Problem, Read, Release, Sampling, Schedule
from dpcheck.laws import Gaussian, Laplace
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.verdicts import Outcome, undecided

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


# What a row, a sentence and a caption say -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Quiet(Mean):
    """The same without a promise: a record of 100 is drawn into a batch of 10, or read whole."""

    drawn: bool = False

    def schedule(self, problem: Problem, n: int) -> Schedule[str]:
        found = replace(super().schedule(problem, n), claimed=None)
        if not self.drawn:
            return found
        read = Read(start=0, stop=n, sensitivity=1 / n, sampling=Sampling("with-replacement", 10))
        return replace(found, releases=(replace(found.releases[0], reads=(read,), count=25),))


def test_a_row_says_whether_its_noise_is_enough_and_how_loose_the_accountant_can_be() -> None:
    told = problem(ApproxDP(1.0, 1e-5))
    exact = gaussian_sigma(1.0, 1.0, 1e-5)
    assert budget(Mean(exact), told, 100)["noise"] == "noise as claimed"
    enough, less = budget(Quiet(exact), told, 100), budget(Quiet(exact / 2), told, 100)
    assert (enough["noise"], less["noise"]) == (ENOUGH, REDUCED)
    assert [enough[LOOSE], less[LOOSE]] == pytest.approx([1.0, 1.0])  # one Gaussian: nothing is lost
    sampled = budget(Quiet(2.0, drawn=True), told, 100)
    assert 0 < sampled[PAIR] < sampled[CERTIFIED]
    assert sampled[LOOSE] == pytest.approx(sampled[CERTIFIED] / sampled[PAIR])
    assert sampled[LOOSE] > 1.5
    assert f"loose by at most a factor {sampled[LOOSE]:.3g}" in sentence(sampled)
    assert "where ε = 1 is asked for" in sentence(less)


def test_a_run_without_a_certificate_says_why() -> None:
    told = problem(ApproxDP(1.0, 1e-5))
    found = budget(Quiet(1.0, rests_on=(LEMMA,)), told, 100)
    assert found["no certificate"] == f"sensitivities rest on {LEMMA}, not proved here"
    plan = Quiet(1.0).schedule(told, 100)
    read = replace(plan.releases[0].reads[0], failure=1e-3)
    fails = budget(replace(plan, releases=(replace(plan.releases[0], reads=(read,)),)), told, 100)
    assert "fail with probability 0.001" in str(fails["no certificate"])
    assert "no certificate at δ = 1e-05: sensitivities fail" in sentence(fails)
    verdict = with_budget(undecided("nothing", "exact"), Quiet(1.0, rests_on=(LEMMA,)), told, 100)
    assert "no certificate" in caption(verdict)


def test_every_cell_has_its_row_and_the_sentence_the_range() -> None:
    """Fails at 45485ee: what a `conclude` did not pass on was in no report."""
    told = problem(ApproxDP(1.0, 1e-5))
    cells: list[Any] = [({"n": n}, {"mean": 1.0, **budget(Quiet(2.0), told, n)}) for n in (100, 200)]
    cells.append(({"n": 300}, {"mean": 1.0, **budget(Quiet(20.0), told, 300)}))
    found = tabulated(undecided("no rate", "exact"), cells)
    assert [row["n"] for row in found.rows] == [100, 200, 300]
    assert [row[CERTIFIED] for row in found.rows] == [numbers[CERTIFIED] for _, numbers in cells]
    low, high = (f"{cells[i][1][CERTIFIED]:.4g}" for i in (2, 0))
    assert found.reason == f"no rate; enough noise, reduced noise, certified ε = {low} to {high}"
    assert (
        caption(found) == f"Enough noise and reduced noise; certified of these runs: ε = {low} to {high} at δ = 1e-05."
    )
    silent = undecided("no rate", "exact")
    assert tabulated(silent, [({}, {"mean": 1.0}), ({}, {"mean": 2.0})]) is silent
    assert caption(silent) == ""


def test_of_several_stretches_the_neediest_decides() -> None:
    told = problem(ApproxDP(1.0, 1e-5))

    class Parts(Mean):
        def schedule(self, problem: Problem, n: int) -> Schedule[str]:
            law, share = Gaussian(self.noise / n), n // 4
            reads = [Read(start=i * share, stop=(i + 1) * share, sensitivity=(1 + i % 3) / n) for i in range(4)]
            releases = tuple(Release(name=f"part {i}", law=law, reads=(read,)) for i, read in enumerate(reads))
            return Schedule(phases=(), releases=releases, gradients=n, floats_per_trial=n, claimed=None)

    found = calibrated(Parts(), "noise", told, 100)
    assert found.noise == pytest.approx(3 * gaussian_sigma(1.0, 1.0, 1e-5), rel=2e-6)


@pytest.mark.parametrize(("sigma", "size", "rows", "count"), [(3.0, 10, 100, 40), (8.0, 20, 100, 9)])
def test_the_worst_pair_lies_between_its_two_sides_and_below_the_account(
    sigma: float, size: int, rows: int, count: int
) -> None:
    pytest.importorskip("dp_accounting")
    low, high = worst_pair.sampled_epsilon(copies(size, rows)[0], sigma, count, 1e-5)
    exact = pld.copies_pair(sigma, size, rows, 1e-3)
    exact = exact.self_compose(count) if count > 1 else exact
    assert low <= exact.get_epsilon_for_delta(1e-5) + 1e-9
    assert low == pytest.approx(high, abs=0.02)
    read = Read(start=0, stop=rows, sensitivity=1.0, sampling=Sampling("with-replacement", size))
    release = Release(name="mean", law=Gaussian(sigma / 2), reads=(read,), count=count)
    plan: Any = Schedule(phases=(), releases=(release,), gradients=1, floats_per_trial=1, claimed=None)
    spent = account(plan, rows)
    assert worst_pair.epsilon(spent, 1e-5) == pytest.approx(low)
    assert low <= spent.epsilon(1e-5)


def test_sampled_noise_is_certified_below_what_512_orders_can_say() -> None:
    """Fails at 45485ee, where no epsilon below log(1/delta)/511 = 0.045 was certified, however large the noise."""
    read = Read(start=0, stop=1000, sensitivity=1.0, sampling=Sampling("with-replacement", 125))
    release = Release(name="mean", law=Gaussian(5000.0), reads=(read,), count=64)
    plan: Any = Schedule(phases=(), releases=(release,), gradients=1, floats_per_trial=1, claimed=None)
    assert account(plan, 1000).epsilon(1e-10) < 0.02
