"""Risk with constants: exact population risk of every trial's output, against an explicit bound.

What may be said of E[R] <= B, cell by cell:

* REFUTED by a betting e-process, which needs R >= 0 and nothing else.
* HOLDS when an upper confidence bound stays below B. Valid ones need to know something of R: `limit`, which R never
  exceeds (the same betting, on limit - R), or `variance`, a declared bound on it (Catoni). Without either the answer
  rests on the data alone: the studentised bootstrap *and* the largest of many block means, from 2,000 trials upwards.
  Its failure probability assumes that a block mean falls short of the expectation at most 3 times in 4; measured at 43
  values a block: 0.52 (exponential), 0.61 (lognormal, Pareto 2.1), 0.72 (Pareto 1.5). The verdict names the rule used.
* UNDECIDED otherwise; always where the bound is vacuous, not below `limit`: no measurement could have broken it.

A claim that holds with probability 1 - beta is judged by counting exceedances, exactly and for any tail. Its bound is
vacuous from `limit` upwards, too.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy  # `scipy.stats` takes a second: loaded on first use

from dpcheck import seeds
from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Algorithm, Array, Problem, Schedule, Workload
from dpcheck.running import Fresh, Run, Transcript, Unkept
from dpcheck.statistics.binomial import clopper_pearson
from dpcheck.statistics.means import block_means_upper, bootstrap_t_upper, catoni_upper, refute_mean
from dpcheck.verdicts import Point, Verdict, holds, refuted, undecided

GRADIENTS = 1e11
"""Oracle calls, of all trials together, above which a run is refused: about an hour."""
SHORT = 0.75
"""Assumed probability, at most, that a block mean falls short of the expectation."""
ENOUGH = 2000
"""Trials below which data alone support nothing."""


def excess_risks(
    algorithm: Algorithm[Any],
    workload: Workload,
    problem: Problem,
    n: int,
    trials: int,
    seed: int,
    *key: Any,
    schedule: Schedule[Any] | None = None,
    run: type[Run[Any]] = Run,
    gradients: float = GRADIENTS,
) -> Array:
    """Exact population excess risk of what each trial returns, on fresh data, (trials,).

    Args:
        key: names that, with the seed, make the stream (the check's label, its cell).
        schedule, run: a mutant's.
        gradients: refuse to run more claimed oracle calls than this, all trials together.

    Raises:
        Infeasible: the algorithm cannot be run at this n.
        InvalidInput: the run would take more than `gradients`.
    """
    planned = algorithm.schedule(problem, n) if schedule is None else schedule
    if planned.gradients * trials > gradients:
        raise InvalidInput(
            f"{trials:,} trials of {algorithm.label} at n = {n:,} take {planned.gradients * trials:.2g} gradients, "
            f"above {gradients:.2g}; use fewer trials, a smaller n, or a higher `gradients`"
        )
    start = workload.project(np.zeros((1, problem.constants.d)))
    risks = []
    for number, (rng, size) in enumerate(seeds.chunks(seed, trials, planned.floats_per_trial, *key)):
        data = Fresh(workload, size, n, seed, *key, "data", number)
        batch = run(planned, size, rng)
        batch.transcript = Transcript(Unkept(), Unkept())  # it is not replayed
        point = algorithm.execute(batch, workload, data, start)
        point = np.broadcast_to(point, (size, *point.shape[1:]))
        risks.append(np.asarray(workload.excess_risk(point), dtype=float))
    return np.concatenate(risks)


def summary(values: Array, bound: float) -> dict[str, float]:
    """One cell: mean, its standard error, the bound there, and the largest."""
    r = _risks(values)
    return {
        "mean": float(r.mean()),
        "se": float(r.std(ddof=1) / math.sqrt(len(r))),
        "bound": float(bound),
        "max": float(r.max()),
        "trials": len(r),
    }


def quantile_summary(values: Array, level: float, bound: float) -> dict[str, float]:
    """The same for the `level`-quantile, whose error comes from its order-statistics interval (68 %)."""
    r = _risks(values)
    ranks = np.asarray(scipy.stats.binom.ppf([0.1587, 0.8413], len(r), level), dtype=np.intp)
    if ranks[1] >= len(r) - 1:
        needed = math.ceil(10 / (1 - level))
        raise InvalidInput(f"{len(r)} trials are too few for the {level:g}-quantile; use at least {needed:,}")
    low, high = np.sort(r)[ranks]
    error = max(float(high - low) / 2, 1e-9 * float(r.max()))
    return {"mean": float(np.quantile(r, level)), "se": error, "bound": float(bound), "trials": len(r)}


def expectation(
    values: Array,
    bound: float,
    failure_probability: float,
    *,
    limit: float | None = None,
    variance: float | None = None,
    seed: int = 0,
    quantity: str = "excess risk",
    x: float | None = None,
    variable: str = "n",
    series: str = "",
) -> Verdict:
    """Judges E[R] <= bound from independent trials.

    Args:
        values: (trials,), nonnegative.
        limit: a number that R never exceeds, from the workload in closed form; a bound from there on is vacuous.
        variance: a bound on Var R. One of the two makes HOLDS valid; see the module's page for what is done without.
        seed: of the bootstrap, where it is used.
        x, variable, series: where to put the point in a figure.
    """
    r = _risks(values)
    mean, se = float(r.mean()), float(r.std(ddof=1) / math.sqrt(len(r)))
    numbers: dict[str, float | int | str | bool] = {"mean": mean, "se": se, "bound": bound, "trials": len(r)}
    against = refute_mean(r, bound, failure_probability)
    numbers["log e-value"] = against.log_e_value
    numbers |= _room(r, limit)
    upper, rule = _upper(r, bound, failure_probability, limit, variance, seed)
    shown = upper if math.isfinite(upper) and limit is None else None  # a bet tells "below the bound", and no more
    if shown is not None:
        numbers["upper"] = shown
    numbers["rule"] = rule
    point = [] if x is None else [Point(x=x, value=mean, series=series, upper=shown, bound=bound)]
    fields: dict[str, Any] = {"failure_probability": failure_probability, "numbers": numbers, "points": point}
    fields["severity"] = mean / bound if bound else math.inf
    if point:
        fields["axes"] = (variable, quantity)
    said = f"mean {quantity} {mean:.4g} ({mean / bound:.3g} of the bound {bound:.4g})"
    if limit is not None and bound >= limit:
        return _vacuous(said, bound, limit, quantity, fields)
    if against.crossed is not None:
        return refuted(f"{said}: betting against it won after {against.crossed:,} trials", "sampled", **fields)
    if upper <= bound:
        return holds(f"{said}, with confidence below it by {rule}", "sampled", **fields)
    return undecided(f"{said}, over {len(r):,} trials; neither beaten nor met by {rule}", "sampled", **fields)


def _room(r: Array, limit: float | None) -> dict[str, float]:
    """The limit, for the table."""
    if limit is None:
        return {}
    if float(r.max()) > limit * (1 + 1e-9):
        raise InvalidInput(f"a trial reached {float(r.max())!r}, above the limit {limit!r} that R never exceeds")
    return {"limit": limit}


def _vacuous(said: str, bound: float, limit: float, quantity: str, fields: dict[str, Any]) -> Verdict:
    """A bound that no measurement could break is not met by one either."""
    reason = f"the bound {bound:.4g} is vacuous at this size: no {quantity} exceeds {limit:.4g}; {said}"
    return undecided(reason, "sampled", vacuous=True, **fields)


def _upper(
    r: Array, bound: float, failure_probability: float, limit: float | None, variance: float | None, seed: int
) -> tuple[float, str]:
    """An upper confidence bound of the mean (inf: not below `bound`), and the rule that made it."""
    if limit is not None:
        rule = f"betting below the limit {limit:.4g}"
        if bound >= limit:
            return limit, rule
        left = np.maximum(0.0, limit - r)
        below = refute_mean(left, limit - bound, failure_probability).crossed is not None
        return (bound if below else math.inf), rule
    if variance is not None:
        return catoni_upper(r, variance, failure_probability), f"Catoni's bound at variance {variance:.4g}"
    blocks = math.ceil(math.log(failure_probability) / math.log(SHORT))
    if len(r) < max(ENOUGH, 20 * blocks):
        return math.inf, f"data alone, which takes {max(ENOUGH, 20 * blocks):,} trials"
    level = max(failure_probability, 1e-3)
    boot = bootstrap_t_upper(r, level, seeds.stream(seed, "studentised bootstrap"))
    return max(boot, block_means_upper(r, blocks)), f"data alone (bootstrap-t, {blocks} block means)"


def high_probability(
    values: Array,
    bound: float,
    beta: float,
    failure_probability: float,
    *,
    limit: float | None = None,
    quantity: str = "excess risk",
    x: float | None = None,
    variable: str = "n",
    series: str = "",
) -> Verdict:
    """Judges P(R <= bound) >= 1 - beta by counting exceedances: exact, for any tail.

    Args:
        values: (trials,) independent.
        beta: failure probability that the claim allows itself, in (0, 1).
        limit: a number that R never exceeds; a bound from there on is vacuous. None: R has no largest value.
        x, variable, series: where to put the point in a figure.
    """
    r = np.asarray(values, dtype=float)
    if not 0 < beta < 1:
        raise InvalidInput(f"beta must lie in (0, 1), got {beta!r}")
    if r.ndim != 1 or len(r) == 0 or np.isnan(r).any():
        raise InvalidInput(f"values must be one-dimensional, not empty and not NaN, got shape {r.shape}")
    over = int((r > bound).sum())
    lower = float(clopper_pearson(over, len(r), failure_probability, "lower")[0])
    upper = float(clopper_pearson(over, len(r), failure_probability, "upper")[1])
    typical = float(np.quantile(r, 1 - beta, method="higher"))
    numbers: dict[str, float | int | str | bool] = {
        "exceedances": over,
        "trials": len(r),
        "lower": lower,
        "upper": upper,
        "beta": beta,
        "quantile": typical,
        "bound": bound,
        **_room(r, limit),
    }
    point = [] if x is None else [Point(x=x, value=typical, series=series, bound=bound)]
    fields: dict[str, Any] = {"failure_probability": failure_probability, "numbers": numbers, "points": point}
    fields["severity"] = typical / bound if bound else math.inf
    if point:
        fields["axes"] = (variable, quantity)
    share = f"its {1 - beta:.4g}-quantile is {typical / bound:.3g} of the bound"
    said = f"{quantity} exceeds {bound:.4g} in {over:,} of {len(r):,} trials, {beta:.4g} allowed; {share}"
    if limit is not None and bound >= limit:
        return _vacuous(said, bound, limit, quantity, fields)
    if lower > beta:
        return refuted(f"{said}: a probability above {lower:.4g}, with confidence", "sampled", **fields)
    if upper <= beta:
        return holds(f"{said}: a probability below {upper:.4g}, with confidence", "sampled", **fields)
    needed = math.ceil(math.log(failure_probability) / math.log1p(-beta))
    more = f"; at least {needed:,} trials are needed" if len(r) < needed else ""
    return undecided(f"{said}: between {lower:.4g} and {upper:.4g}{more}", "sampled", **fields)


def _risks(values: Array) -> Array:
    """Finite and nonnegative up to rounding, which is cut off."""
    r = np.asarray(values, dtype=float)
    if r.ndim != 1 or len(r) < 2 or not np.isfinite(r).all():
        raise InvalidInput(f"risks must be one-dimensional, finite and at least 2, got shape {r.shape}")
    if r.min() < -1e-9 * max(1.0, float(r.max())):
        raise InvalidInput(f"an excess risk of {float(r.min())!r} is negative: the workload's minimum is not one")
    return np.asarray(np.maximum(r, 0.0))
