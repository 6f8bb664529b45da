"""Algorithms 1 and 3 before the empirical auditor: nothing but their outputs on two neighbouring data sets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.algorithms.l1_geometry import NoisyMirrorDescent, TreeFrankWolfe
from dpcheck.auditing.audit import audit
from dpcheck.auditing.result import AuditResult
from dpcheck.checks import Context, check
from dpcheck.harness.refutation import refuted_by
from dpcheck.interfaces import Algorithm, Array
from dpcheck.privacy import ApproxDP, Guarantee, PureDP
from dpcheck.running import Fixed, Run
from dpcheck.verdicts import Verdict, undecided

from ._instances import LinearSquare, enumerate_selections, linear, problem, right_child_pair, tree_case

BATCH = 40


Pair = tuple[Array, Array, Array]
"""Data and neighbour, (n, *record) each, and the start, (1, d)."""


def audited(
    context: Context,
    algorithm: Algorithm[Any],
    work: Any,
    pair: tuple[Array, Array, Array],
    claim: Guarantee,
    runs: int,
) -> AuditResult:
    """An audit of what an algorithm returns, `runs` on each of the two data sets."""
    data, neighbour, start = pair
    told = problem(work, claim)

    def returned(records: Array, rng: np.random.Generator, trials: int) -> Array:
        run: Run[Any] = Run(algorithm.schedule(told, len(records)), trials, rng)
        return np.asarray(algorithm.execute(run, work, Fixed(records[None]), start))

    returned.__name__ = type(algorithm).__name__
    return audit(
        returned, data, neighbour, claim, trials=runs, failure_probability=context.failure_probability,
        seed=context.seed, label=context.label,
    )  # fmt: skip


def tree(sensitivity: str) -> TreeFrankWolfe:
    return TreeFrankWolfe(T=1, batch=BATCH, sensitivity=sensitivity, allocation="fixed")  # type: ignore[arg-type]


def right_child() -> Pair:
    """The pair of Lemma 4.1, without the axis of trials."""
    data, neighbour, start = right_child_pair(BATCH)
    return data[0], neighbour[0], start


@check("l1_geometry/lem-4-1", kind="privacy", expect="refuted")
def auditor_finds_the_right_child(context: Context) -> Verdict:
    """Told nothing of trees, the auditor certifies more than epsilon of Algorithm 3 from the points that it returns;
    the witness is the exact log-ratio of the same pair.
    """
    result = audited(
        context, tree("printed"), LinearSquare(), right_child(), PureDP(1.0), context.scale(20_000, 60_000)
    )
    found = result.verdict()
    if found.outcome != "refuted":
        reason = f"the auditor does not see what is there: {found.reason}"
        spent = context.failure_probability
        return undecided(reason, "sampled", failure_probability=spent, numbers=found.numbers)
    exact = enumerate_selections(tree_case(BATCH, "printed"), *right_child_pair(BATCH)[:2]).loss
    said = f"the auditor certifies epsilon >= {result.epsilon_lower:.4g} by {result.event}"
    refuting = refuted_by(
        "l1_geometry/lem-4-1", "lem_4_1_fixed", measured=exact, agreement=1e-6, numbers=found.numbers,
        b=BATCH, epsilon=1, tilt="1/10",
    )  # fmt: skip
    return replace(refuting, reason=f"{said}; {refuting.reason}")


@check("l1_geometry/lem-4-1@corrected", kind="privacy")
def auditor_of_the_corrected_tree(context: Context) -> Verdict:
    """The same pair under twice the noise, where the exact loss is 0.8 of epsilon."""
    runs = context.scale(20_000, 60_000)
    return audited(context, tree("safe"), LinearSquare(), right_child(), PureDP(1.0), runs).verdict()


@check("l1_geometry/alg-1", kind="privacy")
def auditor_of_the_returned_average(context: Context) -> Verdict:
    """The returned average of Algorithm 1 at the printed noise on the pair +L, -L among zeros, T = 25, wide domain."""
    work, d, n = linear(2, R=1e6), 2, 50
    data = np.zeros((n, d))
    neighbour = data.copy()
    data[7], neighbour[7] = 1.0, -1.0
    algorithm = NoisyMirrorDescent(batch=10, distance=1.0)
    runs = context.scale(2000, 20_000)
    return audited(context, algorithm, work, (data, neighbour, np.zeros((1, d))), ApproxDP(1.0, 1e-5), runs).verdict()
