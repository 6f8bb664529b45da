"""Risk over the whole class of rare spikes with G_k = 1, beside what would be measured of no algorithm at all.

A member that is chosen with the algorithm in mind may have the rate by itself: on `RareSpikes.rescaled` every point of
the domain has it. So the members here come from a grid of (p, theta) that is the same for every algorithm, the risk is
the worst of them at each n, and the same measurement is made of three outputs that read no data. Where these are not
told apart nothing was measured, and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.checks import Context
from dpcheck.engine.statements import bound_of
from dpcheck.harness import risk
from dpcheck.interfaces import Algorithm, Array
from dpcheck.verdicts import Outcome, Verdict, combine, undecided
from dpcheck.workloads.linear import RareSpikes

from ._instances import DELTA, largest, problem

COUNTS = 1e30
"""Records of these workloads are counts of three atoms: their number costs nothing."""
FINEST = 2.0**-40
"""Rarest spikes of the grid, whatever n is: rarer ones have a trivial risk D theta G p^(1-1/k) below any bound here."""
ROUNDING = 1e-9
"""Relative rounding that a measured risk may have above the largest of its member."""
Members = Callable[[int, float], Iterable[RareSpikes]]


def members(n: int, k: float) -> list[RareSpikes]:
    """p = 0.999, 0.999/16, … down to 1/n, and theta = 1, 1/4, … down to 1/sqrt(n): no algorithm enters."""
    rare = [0.999 / 16**i for i in range(11) if 0.999 / 16**i >= max(0.5 / n, FINEST)]
    weak = [0.25**i for i in range(21) if 0.25**i >= n**-0.5]
    return [RareSpikes(D=1.0, k=k, G=1.0, p=p, theta=theta) for p in rare for theta in weak]


def coarse(n: int, k: float) -> list[RareSpikes]:
    """Nine members, p = 0.999, 1/256, 2^-16 and theta = 1, 1/16, 1/256: for what takes hundreds of blocks a phase."""
    return [RareSpikes(k=k, p=0.999 / 256**i, theta=1 / 16**j) for i in range(3) for j in range(3)]


CONTROLS: dict[str, Callable[[RareSpikes], float]] = {
    "the start": lambda work: float(work.excess_risk(np.zeros((1, 1)))[0]),
    # The excess is linear in w: the 0.9-quantile of a uniform point is at nine tenths of the way to the wrong end.
    "a random point": lambda work: (1 - DELTA) * largest(work),
    "the wrong end": largest,
}
"""Outputs that read no data -> (1 - DELTA)-quantile of their excess risk, exactly."""


def risks_on(
    context: Context, algorithm: Algorithm[Any], work: RareSpikes, n: int, epsilon: float, trials: int
) -> Array:
    """Excess risks of `trials` runs on one member, (trials,), from a stream of its own."""
    return risk.excess_risks(
        algorithm, work, problem(work, epsilon), n, trials, context.seed, context.name, n, epsilon, work.p,
        work.theta, gradients=COUNTS,
    )  # fmt: skip


def worst_of(
    context: Context,
    algorithm: Algorithm[Any],
    n: int,
    epsilon: float,
    k: float,
    bound: float,
    trials: int,
    *,
    family: Members = members,
) -> dict[str, float]:
    """The 0.9-quantile of the excess risk on the worst member, its standard error, the bound, and the controls'.

    Members are run from the largest possible risk downwards, until no point of the domain could be as bad on the next
    one as the worst that was measured: the answer is that of running all of them.
    """
    every = list(family(n, k))
    rows: dict[int, dict[str, float]] = {}
    for place in sorted(range(len(every)), key=lambda i: -largest(every[i])):
        work = every[place]
        if rows and largest(work) * (1 + ROUNDING) < max(row["mean"] for row in rows.values()):
            break
        values = risks_on(context, algorithm, work, n, epsilon, trials)
        rows[place] = {**risk.quantile_summary(values, 1 - DELTA, bound), "p": work.p, "theta": work.theta}
    controls = {name: max(value(work) for work in every) for name, value in CONTROLS.items()}
    return {**max((rows[place] for place in sorted(rows)), key=lambda row: row["mean"]), **controls}


def within_constants(
    context: Context,
    algorithm: Any,
    n: int,
    epsilon: float,
    k: float,
    trials: int,
    *,
    series: str = "",
    family: Members = coarse,
    bound: Callable[[RareSpikes, int], float] | None = None,
) -> Verdict:
    """The bound with its constants, member by member: R at most the bound nine times in ten, and what else would be.

    A member counts where the start, which reads no data, exceeds the bound: elsewhere anything passes. HOLDS says
    beside it how much smaller a bound would have been passed as well.
    """
    every = list(family(n, k))
    allowed = [_allowed(algorithm, work, n, epsilon, bound) for work in every]
    starts = [CONTROLS["the start"](work) for work in every]
    tops = [largest(work) / most for work, most in zip(every, allowed, strict=True)]
    share = context.failure_probability / len(every)
    found: dict[int, Verdict] = {}
    ratio = 0.0
    for place in sorted(range(len(every)), key=lambda i: -tops[i]):
        if tops[place] * (1 + ROUNDING) < min(1.0, ratio):
            break  # no point of the domain breaks the bound here, nor comes as close to it as one did elsewhere
        work, most = every[place], allowed[place]
        values = risks_on(context, algorithm, work, n, epsilon, trials)
        ratio = max(ratio, float(np.quantile(values, 1 - DELTA)) / most)
        one = risk.high_probability(values, most, DELTA, share, limit=largest(work), x=n, series=series)
        by_start_too = one.outcome is Outcome.HOLDS and starts[place] <= most
        if not by_start_too and (one.outcome is not Outcome.UNDECIDED or not one.vacuous):
            found[place] = one
    verdicts = [found[place] for place in sorted(found)]
    closest = min(most / start for most, start in zip(allowed, starts, strict=True))
    numbers: dict[str, float | int | str | bool] = {
        "members": len(every), "members that decide": len(verdicts), "largest quantile/bound": ratio,
        "least bound/risk of the start": closest,
    }  # fmt: skip
    if not verdicts:
        said = (
            f"nothing is decided at n = {n:,}: on all {len(every)} members of the class the start, which reads no "
            f"data, keeps the bound as well (it is at least {closest:.3g} times the risk of the start); the largest "
            f"0.9-quantile is {ratio:.3g} of the bound"
        )
        return undecided(
            said, "sampled", failure_probability=context.failure_probability, numbers={**numbers, "vacuous": True}
        )
    answer = combine(verdicts)
    said = (
        f"{answer.reason}; over all {len(every)} members the largest 0.9-quantile is {ratio:.3g} of the bound, so that "
        f"one {1 / ratio:.3g} times smaller would pass as well; the start exceeds it on {len(verdicts)} members"
    )
    return replace(
        answer, reason=said, numbers={**answer.numbers, **numbers}, failure_probability=context.failure_probability,
        severity=ratio, axes=("n", "0.9-quantile of the excess risk"),
    )  # fmt: skip


def _allowed(
    algorithm: Any, work: RareSpikes, n: int, epsilon: float, bound: Callable[[RareSpikes, int], float] | None
) -> float:
    """The bound that is judged on this member: Theorem 2.1's phase by phase, unless another one is given."""
    if bound is not None:
        return float(bound(work, n))
    return bound_of("pure_heavy_tails/thm-2-1@summed", algorithm, problem(work, epsilon), n)
