"""Section 5.2: truncated descent at the noise of its own local budget."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcheck.accounting import shuffle_epsilon
from dpcheck.algorithms.lp_spaces.regular import dual_regularity
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import stated, unassumed
from dpcheck.harness import risk
from dpcheck.statistics.means import refute_mean
from dpcheck.verdicts import Point, Verdict, differs, holds, undecided
from dpcheck.workloads import HeavyCoordinates

from .cases import (
    DELTA,
    problem,
)
from .lemmas import steep
from .section_5_2 import OWN_NOISE


def largest_epsilon(n: int) -> float:
    """Nine tenths of what shuffling n records turns a local budget of 1 into."""
    return min(0.9, 0.9 * shuffle_epsilon(1.0, n, DELTA / 2))


@check("lp_spaces/alg-4@own-noise", kind="risk", grid={"n": by_size([2048], [2048, 16_384])})
def output_stays_at_the_start(context: Context, *, n: int) -> Verdict:
    """At the largest epsilon: the mean excess is that at the start, by bets against half of it and four times it."""
    work, told = steep(3), problem(steep(3), largest_epsilon(n))
    values = risk.excess_risks(OWN_NOISE, work, told, n, context.scale(60, 120), context.seed, context.name, n)
    row, start = OWN_NOISE.schedule(told, n).phases[0], float(work.excess_risk(np.zeros((1, 3)))[0])
    # |w - c|_2 <= |w|_s + |c|_2 for s <= 2: the excess never exceeds the limit.
    limit = work.smoothness / 2 * (work.radius + float(np.linalg.norm(work.centre))) ** 2
    mean, fails = stated(context.label) * start, context.failure_probability / 2
    less = refute_mean(values, mean / 2, fails).crossed is not None
    more = limit <= 4 * mean or refute_mean(limit - values, limit - 4 * mean, fails).crossed is not None
    numbers = {"mean": float(values.mean()), "start": start, "largest": limit, "noise": row.sigma}
    said = f"mean excess {values.mean():.4g} over {len(values)} trials, {start:.4g} at the start"
    fields: dict[str, Any] = {"failure_probability": context.failure_probability, "numbers": numbers}
    return (holds if less and more else undecided)(said, "sampled", **fields)


@check("lp_spaces/alg-4@own-noise", kind="accuracy")
def size_from_which_it_would_leave(context: Context) -> Verdict:
    """The derived bound with the algorithm's own noise, at the largest epsilon of each n: below the excess at the start
    at n = 10^25, not at 10^24; the printed rate with constant 1 is below it at n = 10^5.
    """
    # unbound: judged by lp_spaces/thm-10@derived; the formula of this label is its noise
    work = steep(3)
    start = float(work.excess_risk(np.zeros((1, 3)))[0])
    sizes = [10**j for j in range(5, 26)]
    bounds = np.array([own_noise_bound(work, n) for n in sizes])
    first = sizes[int(np.argmax(bounds < start))] if (bounds < start).any() else math.inf
    at = {"d": 3.0, "epsilon": largest_epsilon(sizes[0]), "delta": DELTA, "D": 2.0, "kappa": 2.0, "beta": math.exp(-1)}
    rate_there = unassumed("lp_spaces/thm-10", n=float(sizes[0]), **at)
    said = (
        f"the derived bound is {bounds[0]:.4g} at n = 1e5 and {bounds[-2]:.5g} at 1e24, and first below {start:.4g}, "
        f"the excess at the start, at n = {first:.0e}; the printed rate, constant 1, is {rate_there:.3g} at 1e5"
    )
    numbers = {"start": start, "first n": float(first), "bound over the rate at 1e5": float(bounds[0]) / rate_there}
    points = [
        Point(x=float(n), value=float(b), series="derived bound", bound=start)
        for n, b in zip(sizes, bounds, strict=True)
    ]
    ok = first == 10**25 and rate_there < start
    make, axes = holds if ok else differs, ("n", "excess risk")
    return make(said, "exact", numbers=numbers, points=points, axes=axes, dashed="excess at the start")


def own_noise_bound(work: HeavyCoordinates, n: int) -> float:
    """`lp_spaces/thm-10@derived` at the schedule of Algorithm 4, E|mean Z|^2 <= kappa_+ d sigma_1^2/b (type 2)."""
    row, constants = OWN_NOISE.schedule(problem(work, largest_epsilon(n)), n).phases[0], work.constants
    space, H, M = dual_regularity(1.5, work.d), constants.smoothness(1.5), constants.diameter(1.5)
    noise = space.kappa_plus * work.d * row.sigma**2 / row.batch
    values = {
        "kappa": space.kappa, "theta": constants.extra["minimiser_norm"], "T": float(row.steps), "D": M, "H": H,
        "sigma": constants.extra["deviation"], "A": row.level - H * M, "b": float(row.batch), "C": noise,
    }  # fmt: skip
    return float(claim("lp_spaces/thm-10@derived").evaluate(**values))
