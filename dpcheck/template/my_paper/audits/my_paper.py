"""The checks: privacy exactly and by sampling, risk with its constants, and its rate."""

from __future__ import annotations

import numpy as np

import dpcheck as dp
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import stated
from dpcheck.geometry import Interval
from dpcheck.harness import privacy, risk
from dpcheck.harness.losses import compose
from dpcheck.harness.scaling import Axis, Drawn, Family, Instance, scaling
from dpcheck.interfaces import Array, Problem, Rng
from dpcheck.running import Fixed
from dpcheck.verdicts import Verdict
from dpcheck.workloads import QuadraticMean

from ..algorithms.my_paper import NoisyMean

WORK = QuadraticMean(np.ones(1), np.full(1, 0.6), Interval(-1.0, 1.0), 1.0)
"""Signs of mean 0.6, squared distances on [-1, 1]."""


@check("my_paper/thm-1", "privacy", grid={"epsilon": [0.5, 2.0]})
def exactly(context: Context, epsilon: float) -> Verdict:
    """The exact law of the noise at the largest distance of two means."""
    schedule = NoisyMean().schedule(context.problem(WORK, dp.PureDP(epsilon)), 100)
    apart = compose(schedule, {"mean": WORK.domain.diameter(2.0) / 100})
    claim = dp.PureDP(stated(context.label, epsilon=epsilon))
    return privacy.judge(apart, claim, covers="one number changes by at most D")


@check("my_paper/thm-1", "privacy")
def by_sampling(context: Context) -> Verdict:
    """The algorithm itself on two neighbouring data sets: it may be refuted, with a witness, but never proved."""
    problem = context.problem(WORK, dp.PureDP(1.0))

    def mechanism(data: Array, rng: Rng, trials: int) -> Array:
        return NoisyMean().fit(WORK, Fixed(data[None]), problem, rng=rng, trials=trials)

    data, neighbour = np.ones((20, 1)), np.concatenate([-np.ones((1, 1)), np.ones((19, 1))])
    return context.audit(mechanism, data, neighbour, dp.PureDP(stated(context.label, epsilon=1.0)))


@check("my_paper/thm-2", "risk", grid={"n": by_size([50, 500], [50, 500, 5000])})
def within_the_bound(context: Context, n: int) -> Verdict:
    """Mean excess risk, exact for every trial, against the bound with its constants."""
    problem = context.problem(WORK, dp.PureDP(1.0))
    key = (context.label, context.name, n)
    values = risk.excess_risks(NoisyMean(), WORK, problem, n, context.scale(10_000, 100_000), context.seed, *key)
    bound = stated(context.label, D=2.0, n=n, epsilon=1.0)
    return risk.expectation(values, bound, context.failure_probability, seed=context.seed, x=n)


def louder(one: Instance) -> Instance:
    """A wrong schedule: noise that falls with the root of n only."""
    return one.running(NoisyMean(noise_dial=one.n**0.5))


@scaling(
    "my_paper/thm-2", variable="n", part="private", sizes=[10**12, 10**15, 10**18], since="standard",
    family=Family.of(mean=Axis((0.0, 0.5, 1.0), closed=(True, True))), engine=Drawn(1_500),
    mutants={"noise of the order n^(-1/2)": louder},
)  # fmt: skip
def private_risk_in_n(*, n: int, mean: float) -> Instance:
    """The worst risk over signs of every mean, at an ε so small that the noise leads: -2 in n."""
    work = QuadraticMean(np.ones(1), np.full(1, mean), Interval(-1.0, 1.0), 1.0)
    return Instance(NoisyMean(), work, Problem.of(work, dp.PureDP(1e-10)), n, {"D": 2.0, "n": n, "epsilon": 1e-10})
