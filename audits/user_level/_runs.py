"""What the audits that run algorithms share: users, problems, dials, counts, and planted iterates."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck import seeds
from dpcheck.accounting import account
from dpcheck.algorithms.user_level import PhasedERM, PhasedSGD, SmoothedERM
from dpcheck.checks import Context
from dpcheck.engine.statements import bound_of
from dpcheck.geometry import Ball
from dpcheck.harness import risk
from dpcheck.harness.budget import REDUCED, calibrated, judge_account, with_budget
from dpcheck.harness.controls import told_apart
from dpcheck.harness.runtime import CountingWorkload
from dpcheck.interfaces import Array, Constants, Problem
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fresh, Run
from dpcheck.verdicts import Verdict
from dpcheck.workloads import LinearMean, QuadraticMean, SignHuber, Users

REDUCED_1 = PhasedSGD(c_step=8.0, groups=8, q=1.0, p=1.5, phases=3, c_radius=8.0, c_noise=2.5e-4, c_score=0.02)
"""Algorithm 1 with reduced noise, so little that its rate can be seen: 3 phases, 8 groups."""
REDUCED_3 = PhasedERM(**PhasedERM.readings["dialled"])
REDUCED_4 = SmoothedERM(**SmoothedERM.readings["dialled"], phases=2)
_FULL: dict[str, Any] = {
    "c_batch": 50.0, "c_users": 0.1, "c_noise": 1e-4, "c_score": 1e-3, "c_radius": 2.0, "c_steps": 10.0,
    "phases": 1, "q": 1.0, "p": 0.5,
}  # fmt: skip
REDUCED_FULL_3, REDUCED_FULL_4 = PhasedERM(**_FULL), SmoothedERM(**_FULL)
"""One phase, full batches, ten times the steps: the recursion is below LR from about 100 users on. Reduced noise."""


def linear(d: int, m: int, bias: float = 0.5, D: float = 1.0) -> Users:
    """W1: <z, x> with fair or biased signs, |z| = L = 1, on a ball of diameter D."""
    size = np.full(d, 1 / math.sqrt(d))
    return Users(LinearMean(size, bias * size, Ball(d, D / 2), radius=D / 2), m)


def quadratic(d: int, m: int, bias: float = 0.25) -> Users:
    """W2: |x - z|^2/2 with |z| = 1/2 on a ball of radius 1/2: L = 1, beta = mu = 1."""
    size = np.full(d, 0.5 / math.sqrt(d))
    return Users(QuadraticMean(size, bias * size, Ball(d, 0.5), radius=0.5), m)


def tilted(n: int, m: int, d: int) -> Users:
    """W1 with a mean of 3 sqrt(d/(nm)), on which LR/sqrt(nm) is the right order: the hardest family at that size."""
    return linear(d, m, bias=min(0.9, 3 * math.sqrt(d / (n * m))))


def huber(d: int, m: int, kappa: float = 0.5) -> Users:
    """W3, and W4 at kappa = 0."""
    return Users(SignHuber(a=0.5, kappa=kappa, dimension=d), m)


WORKLOADS = {"linear": linear, "quadratic": quadratic, "huber": huber}


def problem(work: Any, epsilon: float = 1.0, delta: float = 1e-6) -> Problem:
    return Problem(constants=work.constants, privacy=ApproxDP(epsilon, delta), samples_per_user=work.samples)


def plain(d: int, m: int, epsilon: float = 1.0, delta: float = 1e-6, smooth: float = 1.0) -> Problem:
    """L = R = 1: a problem of which only constants are known."""
    constants = Constants(
        d=d,
        diameter=lambda p: 1.0,
        lipschitz=lambda p: 1.0,
        smoothness=lambda p: smooth,
        moment=lambda k, b: 1.0,
        growth=(2.0, 0.5),
    )
    return Problem(constants=constants, privacy=ApproxDP(epsilon, delta), samples_per_user=m)


def top(work: Any) -> float:
    """LR, which no excess risk exceeds."""
    return float(work.constants.lipschitz(2.0) * work.constants.diameter(2.0))


def counted(algorithm: Any, work: Any, told: Problem, n: int, seed: int) -> tuple[float, int]:
    """Gradients of single samples in one run that did not halt, and what its schedule claims."""
    each: Any = CountingWorkload(work.each)
    users = Users(each, work.samples)
    schedule = algorithm.schedule(told, n)
    run: Run[Any] = Run(schedule, 1, seeds.stream(seed, "counted", n))
    algorithm.execute(run, users, Fresh(users, 1, n, seed), np.zeros((1, told.constants.d)))
    return (float(each.gradients) if run.active.all() else math.nan), int(schedule.gradients)


def promised(algorithm: Any, told: Problem, n: int, **numbers: Any) -> Verdict:
    """The account of a plan against the promise; says how much of the plan is sampled, which is what decides it."""
    plan = algorithm.schedule(told, n)
    found = judge_account(account(plan, n), told.privacy)
    sampled = sum(not getattr(phase, "whole", True) for phase in plan.phases)
    count = len(plan.phases)
    said = f"{sampled} of {count} phases are sampled" if sampled else f"full batches only, in all {count} phases"
    said = said if hasattr(plan.phases[0], "whole") else f"{count} phases"
    more = {"phases": count, "sampled phases": sampled, "n": n, **numbers}
    return replace(found, reason=f"{found.reason} ({said})", numbers={**found.numbers, **more})


SUMMED = {
    "user_level/alg-1": "user_level/thm-b1@summed",
    "user_level/alg-3": "user_level/thm-c3@summed",
    "user_level/proc-smoothed-alg-3": "user_level/thm-d3@summed",
}
"""The claim that bounds an algorithm's risk at its own schedule, by the algorithm's label."""


def risk_verdict(context: Context, algorithm: Any, work: Any, n: int, trials: int, series: str) -> Verdict:
    """Mean excess risk of runs with reduced noise against the algorithm's explicit bound at the same dials.

    UNDECIDED where an output that reads no data keeps the bound as well.
    """
    told = problem(work)
    values = risk.excess_risks(algorithm, work, told, n, trials, context.seed, context.label, series, n)
    bound, most = bound_of(SUMMED[algorithm.label], algorithm, told, n), top(work)
    found = risk.expectation(
        values, bound, context.failure_probability, limit=most, x=float(n), series=f"{series}, {REDUCED}"
    )
    assert algorithm.schedule(told, n).claimed is None, "a run whose noise is called reduced has a promise"
    found = told_apart(found, work, bound)
    return with_budget(replace(found, numbers={**found.numbers, "LR": most}), algorithm, told, n)


def with_certified_noise(found: Verdict, context: Context, algorithm: Any, work: Any, n: int) -> Verdict:
    """Why the noise is reduced: the same run at the least noise that is certified, against the start, which reads no
    data. The test's noise is raised to where its bits leave a part of the budget to the gradients or iterates.
    """
    told, start = problem(work), float(work.excess_risk(np.zeros((1, work.constants.d)))[0])
    private = calibrated(replace(algorithm, c_score=4.0), "c_noise", told, n, tolerance=0.01)
    values = risk.excess_risks(private, work, told, n, 60, context.seed, context.label, "certified noise", n)
    left = float(values.mean()) / start
    said = f"at the least noise that is certified, c_noise = {private.c_noise:.3g}, it is {left:.3g} of the start's"
    numbers = {"c_noise that is certified": private.c_noise, "mean over the start's at that noise": left}
    return replace(found, reason=f"{found.reason}; {said}", numbers={**found.numbers, **numbers})


def planted(positions: Array, schedule: Any, d: int, phases: int = 1) -> Array:
    """Users of linear losses <z, x> that put the averages of the first phase at `positions` (C,) times e_1.

    All samples of a group are alike: x~ = -eta (T - 1)/2 z. Users of later phases are 0.
    """
    first = schedule.phases[0]
    reach = first.eta * (first.steps - 1) / 2
    if np.abs(positions).max() > reach:
        raise ValueError(f"positions reach {np.abs(positions).max():.3g}, SGD only {reach:.3g}")
    last = schedule.phases[phases - 1]
    n, m = last.start + last.users, first.steps // first.members
    data = np.zeros((1, n, m, d))
    data[0, : first.users, :, 0] = np.repeat(positions / reach, first.members)[:, None]
    return data
