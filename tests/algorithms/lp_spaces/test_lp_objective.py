"""Objective perturbation: what is released, moved, planned and refused, and its risk against the derived bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpcheck.accounting import account
from dpcheck.algorithms.lp_spaces import (
    ApproximateObjectivePerturbation,
    ExactObjectivePerturbation,
    StronglyConvexObjectivePerturbation,
)
from dpcheck.algorithms.lp_spaces.objective import exact_minimiser
from dpcheck.algorithms.lp_spaces.optimizer import ProjectedGradient, mapping_gap, optimise
from dpcheck.engine.statements import bound_of
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.geometry import Ball, Interval, L1Ball
from dpcheck.harness import risk
from dpcheck.harness.replay import Case
from dpcheck.interfaces import Problem, Sample
from dpcheck.privacy import ApproxDP
from dpcheck.solvers import Pushed, Task, value
from dpcheck.workloads import LinearMean, QuadraticMean, signs_on

PRIVACY = ApproxDP(0.9, 1e-5)


def problem(work: LinearMean | QuadraticMean, privacy: ApproxDP = PRIVACY) -> Problem:
    return Problem.of(work, privacy)


def linear(domain: Ball | L1Ball | Interval, shift: float = 0.5) -> LinearMean:
    return LinearMean(*signs_on(domain, 1.0, shift), domain, domain.diameter() / 2)


def quadratic(d: int = 3) -> QuadraticMean:
    domain = Ball(d, 0.5)
    return QuadraticMean(*signs_on(domain, 0.4, 0.5), domain, 0.5, 0.25)


def test_the_printed_noise() -> None:
    work = linear(Ball(2, 1.0))
    (row,) = ApproximateObjectivePerturbation(alpha=0.01).schedule(problem(work), 1000).phases
    assert row.sigma_1**2 == pytest.approx(128 * math.log(2.5e5) / 0.81)
    assert row.sigma_2**2 == pytest.approx(64 * 0.01 * math.log(2.5e5) / (row.lambda_ * 0.81))
    assert row.lambda_ == pytest.approx(1 / (math.sqrt(1000) * 2))


def test_linear_minimiser_is_a_projection_and_meets_its_first_order_condition() -> None:
    work = linear(L1Ball(5, 1.0))
    sample = work.draw(np.random.default_rng(0), 7, 100, means_only=True)
    tilt = np.random.default_rng(1).normal(size=(7, 5))
    task = Task(workload=work, sample=sample, weight=0.3, centre=np.zeros((1, 5)), linear=tilt)
    best = exact_minimiser(task)
    others = work.project(np.random.default_rng(2).normal(size=(200, 5)))
    for other in others:
        assert (value(task, best) <= value(task, np.tile(other, (7, 1))) + 1e-12).all()


@pytest.mark.parametrize("solver", [ProjectedGradient(), optimise, Pushed()])
def test_every_optimiser_stays_within_its_certificate(solver: object) -> None:
    work = quadratic()
    sample = work.draw(np.random.default_rng(0), 5, 50, means_only=True)
    task = Task(workload=work, sample=sample, weight=0.4, centre=np.zeros((1, 3)), linear=0.3, gap=1e-5)
    if isinstance(solver, Pushed):
        solver = Pushed(base=lambda o: type("S", (), {"point": exact_minimiser(o), "gap": 0.0})())  # type: ignore
    point = solver(task).point  # type: ignore[operator]
    gap = value(task, point) - value(task, exact_minimiser(task))
    assert gap.max() <= 1e-5 * (1 + 1e-6)
    assert gap.min() >= -1e-12


def test_mapping_gap_needs_curvature() -> None:
    with pytest.raises(InvalidInput, match="strongly convex"):
        mapping_gap(np.ones((1, 2)), 0.0)


def test_replay_moves_the_minimisers_by_no_more_than_claimed_and_by_that_much() -> None:
    work = linear(Interval(-50.0, 50.0))
    algorithm = ApproximateObjectivePerturbation(lambda_=0.01, alpha=0.02, optimizer=Pushed(base=_exact))
    data = np.ones((1, 60, 1))
    neighbour = data.copy()
    neighbour[0, 3] = -1.0
    ratios = Case(algorithm, work, problem(work)).replay(data, neighbour, 40).ratios()
    assert max(float(r.max()) for r in ratios.values()) <= 1 + 1e-9
    assert float(ratios["objective"].max()) == pytest.approx(1.0)


def _exact(objective: Task) -> object:
    return type("Solved", (), {"point": exact_minimiser(objective), "gap": 0.0})()


def test_the_account_of_algorithm_1_holds_and_dialled_noise_promises_nothing() -> None:
    work = linear(Ball(2, 1.0))
    plan = ApproximateObjectivePerturbation(alpha=1e-4).schedule(problem(work), 500)
    assert account(plan).within(PRIVACY)
    assert ApproximateObjectivePerturbation(noise_dial=0.01).schedule(problem(work), 500).claimed is None


def test_the_printed_lambda_of_algorithm_2_is_not_certified_and_the_repair_is() -> None:
    domain = Interval(-10.0, 10.0)
    constants = QuadraticMean(np.array([1.0]), np.array([0.0]), domain, 10.0, 1.0).constants
    privacy = ApproxDP(0.5, 1e-6)
    from dataclasses import replace

    steep = replace(constants, smoothness=lambda p: 1000.0)
    setting = Problem(constants=steep, privacy=privacy)
    printed = StronglyConvexObjectivePerturbation(exact=True).schedule(setting, 2000)
    assert printed.phases[0].lambda_ == 0
    assert not account(printed).within(privacy)
    for rule in ("diam", "fixed"):
        repaired = StronglyConvexObjectivePerturbation(lambda_rule=rule, exact=True).schedule(setting, 2000)  # type: ignore
        assert account(repaired).within(privacy), rule


def test_too_few_records_are_infeasible_and_the_stated_number_is_enough() -> None:
    work = quadratic()
    with pytest.raises(Infeasible) as caught:
        ApproximateObjectivePerturbation().schedule(problem(work), 5)
    n = caught.value.smallest_n
    assert n is not None
    ApproximateObjectivePerturbation().schedule(problem(work), n)
    with pytest.raises(Infeasible):
        ApproximateObjectivePerturbation().schedule(problem(work), n - 1)


@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_budgets_outside_of_the_statement_are_refused(epsilon: float) -> None:
    with pytest.raises(Infeasible, match="epsilon < 1 and 0 < delta < 1"):
        ApproximateObjectivePerturbation().schedule(problem(linear(Ball(2, 1.0)), ApproxDP(epsilon, 1e-5)), 100)


def test_exact_baseline_has_one_release() -> None:
    plan = ExactObjectivePerturbation().schedule(problem(linear(Ball(2, 1.0))), 100)
    assert [r.name for r in plan.releases] == ["objective"]


# 2,000 trials; the mean exceeds a bound twice as large by chance with probability far below 1e-9.
@pytest.mark.parametrize("n", [1000, 30_000])
def test_mean_risks_stay_below_the_derived_bounds(n: int) -> None:
    work = quadratic()
    convex = ApproximateObjectivePerturbation(alpha_rule="fixed")
    strong = StronglyConvexObjectivePerturbation(lambda_rule="diam")
    for algorithm, label in ((convex, "lp_spaces/thm-2@derived"), (strong, "lp_spaces/thm-4@any-accuracy")):
        bound = bound_of(label, algorithm, problem(work), n)
        found = risk.excess_risks(algorithm, work, problem(work), n, 500, 0, "lp", n, gradients=1e18)
        assert 0 < found.mean() < bound


def test_signs_draw_means_like_rows() -> None:
    work = linear(Ball(2, 1.0))
    rows = work.draw(np.random.default_rng(0), 400, 50)
    means = work.draw(np.random.default_rng(1), 400, 50, means_only=True)
    assert isinstance(means, Sample)
    assert rows.mean(rows.values).mean() == pytest.approx(means.mean(means.values).mean(), abs=0.02)
    assert means.size == 50
