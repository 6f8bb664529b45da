"""Algorithms 1 to 4 of this paper as black boxes: `dp.audit` on the pair of data sets that moves each the most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dpcheck.algorithms.lp_spaces import (
    ApproximateObjectivePerturbation,
    BatchedMirrorDescent,
    NoisyMirrorDescent,
    PhasedSGD,
    ShuffledMirrorDescent,
)
from dpcheck.auditing.audit import audit
from dpcheck.checks import Context, check
from dpcheck.geometry import Interval
from dpcheck.harness.budget import certified
from dpcheck.interfaces import Algorithm, Array, Rng
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.verdicts import Verdict

from ._instances import CORRECTED, heavy, huber, linear, problem

Mechanism = Callable[[Array, Rng, int], Array]
PROMISE = ApproxDP(0.9, 1e-3)
LOW = ApproxDP(0.05, 1e-3)
"""Within the range of Algorithm 4 at 4,096 records."""


def mechanism(algorithm: Algorithm[Any], work: Any, promise: ApproxDP, n: int) -> Mechanism:
    """(data, rng, trials) -> outputs (trials, d)."""
    plan = algorithm.schedule(problem(work, promise.epsilon, promise.delta), n)

    def run(data: Array, rng: Rng, trials: int) -> Array:
        start = np.zeros((1, work.constants.d))
        return algorithm.execute(Run(plan, trials, rng), work, Fixed(np.asarray(data)[None]), start)

    return run


def case(name: str) -> tuple[Algorithm[Any], Any, ApproxDP, Array, Array]:
    """Algorithm, workload, promise and the pair: one record moved from one extreme to the other."""
    if name == "Algorithm 1":
        work = linear(Interval(-100.0, 100.0))
        data = np.ones((20, 1))
        other = data.copy()
        other[0] = -1.0
        return ApproximateObjectivePerturbation(lambda_=0.05, alpha=0.01), work, PROMISE, data, other
    if name in ("Algorithm 3", "phased SGD"):
        data = np.zeros((60, 2))
        data[:, 0] = 1.0
        data[0, -1] = -1e6
        other = data.copy()
        other[0, -1] = 1e6
        algorithm: Algorithm[Any] = PhasedSGD() if name == "phased SGD" else NoisyMirrorDescent(steps=7, **CORRECTED)
        return algorithm, huber(1), PROMISE, data, other
    shuffled = name == "Algorithm 4"
    work, n = heavy(3), 4096 if shuffled else 800
    algorithm = ShuffledMirrorDescent(steps=8, threshold=3.0, **CORRECTED) if shuffled else BatchedMirrorDescent()
    promise = LOW if shuffled else PROMISE
    row = algorithm.schedule(problem(work, promise.epsilon, promise.delta), n).phases[0]
    data = np.zeros((n, 3))
    data[0, 0] = 0.95 * row.level
    other = data.copy()
    other[0, 0] *= -1
    return algorithm, work, promise, data, other


TRIALS = {"Algorithm 4": (2000, 10_000), "batched": (10_000, 50_000)}
"""Of the others 20,000 and 100,000; Algorithm 4 tosses a vector for every record."""


def audited(context: Context, name: str) -> Verdict:
    """The verdict of `dp.audit`, and what the accountant certifies of the same run."""
    algorithm, work, promise, data, other = case(name)
    result = audit(
        mechanism(algorithm, work, promise, len(data)),
        data,
        other,
        promise,
        trials=int(context.scale(*TRIALS.get(name, (20_000, 100_000)))),
        failure_probability=context.failure_probability,
        seed=context.seed,
        label=context.label,
        chunk=400,
    )
    verdict = result.verdict()
    verdict.numbers.update(certified(algorithm, problem(work, promise.epsilon, promise.delta), len(data)))
    return verdict


UNSEEN = ("consistent", "undecided")
"""What an audit of a private mechanism may say."""


@check("lp_spaces/alg-1", kind="privacy", expect=UNSEEN)
def outputs_of_algorithm_1(context: Context) -> Verdict:
    """Linear losses on a wide interval, 20 records, one of them moved from +1 to -1."""
    return audited(context, "Algorithm 1")


@check("lp_spaces/alg-3@corrected", kind="privacy", expect=UNSEEN)
def outputs_of_algorithm_3(context: Context) -> Verdict:
    """60 records on a line, one moved from far left to far right, 7 steps; only the average is seen."""
    return audited(context, "Algorithm 3")


@check("lp_spaces/alg-4@corrected", kind="privacy", expect=UNSEEN)
def outputs_of_algorithm_4(context: Context) -> Verdict:
    """4,096 records in space, one gradient just below the threshold turned round, 8 batches."""
    return audited(context, "Algorithm 4")


@check("lp_spaces/proc-phased-sgd", kind="privacy", expect=UNSEEN)
def outputs_of_phased_sgd(context: Context) -> Verdict:
    """60 records on a line, one in the first phase moved from far left to far right; only the last point is seen."""
    return audited(context, "phased SGD")


@check("lp_spaces/proc-batched-md", kind="privacy", expect=UNSEEN)
def outputs_of_batched_descent(context: Context) -> Verdict:
    """800 records in space, one gradient just below the threshold turned round; only the average is seen."""
    return audited(context, "batched")
