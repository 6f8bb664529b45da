"""Counted oracle calls against what a schedule, or a theorem, claims.

Calls are counted record by record in a run of one trial: a gradient of r records at one point is r calls. Samples that
stand for many records (atoms with counts, one mean) are drawn as raw rows, and rows that a random subset leaves out
are taken away, so that what is counted is what the printed algorithm would have called. A solver in closed form calls
no oracle: then nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck import seeds
from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Algorithm, Array, Constants, Data, Problem, Rng, Sample, Schedule, Workload
from dpcheck.running import Fixed, Fresh, Run
from dpcheck.verdicts import Point, Verdict, differs, holds, refuted
from dpcheck.workloads import Extended


class CountingWorkload:
    """A workload that counts what is asked of it.

    What else the inner workload offers (closed forms, further constants) passes through uncounted, except a
    subgradient of the Lipschitz extension, which is one call like any other.

    Attributes:
        gradients, losses, projections: calls of one trial, a record at a point each. Axis 0 of an array is trials.
    """

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self.gradients = self.losses = self.projections = 0
        for name in dir(workload):
            # Copied onto the instance, so that `isinstance` against a protocol finds them.
            if not name.startswith("_") and not hasattr(type(self), name):
                setattr(self, name, getattr(workload, name))
        if isinstance(workload, Extended):
            self.extension_gradient = self._counted(workload.extension_gradient)

    def _counted(self, gradient: Callable[..., Array]) -> Callable[..., Array]:
        def call(*arguments: Any, **options: Any) -> Array:
            gradients = gradient(*arguments, **options)
            self.gradients += _calls(gradients.shape[:-1])
            return gradients

        return call

    @property
    def constants(self) -> Constants:
        return self._workload.constants

    def gradient(self, w: Array, z: Array) -> Array:
        return self._counted(self._workload.gradient)(w, z)

    def loss(self, w: Array, z: Array) -> Array:
        losses = self._workload.loss(w, z)
        self.losses += _calls(losses.shape)
        return losses

    def project(self, w: Array) -> Array:
        self.projections += _calls(w.shape[:-1])
        return self._workload.project(w)

    def draw(self, rng: Rng, trials: int, n: int, *, means_only: bool = False) -> Sample:
        """Raw rows of weight 1, whatever is asked for."""
        return raw_rows(self._workload.draw(rng, trials, n, means_only=False))

    def excess_risk(self, w: Array) -> Array:
        return self._workload.excess_risk(w)


def _calls(shape: Sequence[int]) -> int:
    return int(np.prod(shape[1:], dtype=np.int64))


def raw_rows(sample: Sample) -> Sample:
    """A sample with every record in a row of its own, grouped by atom.

    Raises:
        InvalidInput: weights that are not counts, or trials of different size.
    """
    if np.all(sample.weights == 1):
        return sample
    trials = max(len(sample.values), len(sample.weights))
    weights = np.broadcast_to(sample.weights, (trials, sample.weights.shape[1]))
    counts = np.rint(weights).astype(np.intp)
    if not np.allclose(weights, counts) or len(set(counts.sum(axis=1).tolist())) != 1:
        raise InvalidInput("weights that are not counts of records cannot be expanded into rows")
    values = np.broadcast_to(sample.values, (trials, *sample.values.shape[1:]))
    rows = np.stack([np.repeat(values[t], counts[t], axis=0) for t in range(trials)])
    return Sample(rows, np.ones(rows.shape[:2]))


class CountingRun(Run[Any]):
    """A run of one trial whose subsamples hold only the rows that were kept."""

    def subsample(self, name: str, block: Sample) -> Sample:
        subset = super().subsample(name, block)
        kept = subset.weights[0] > 0
        # An empty subset keeps one row of weight 0: a mean over no row at all is not a number.
        kept[0] |= not kept.any()
        return Sample(subset.values[:, kept], subset.weights[:, kept])


@dataclass(frozen=True)
class Counts:
    """Oracle calls of each trial, and what the schedule claims.

    Attributes:
        gradients, losses, projections: (trials,).
        claimed: `Schedule.gradients`.
    """

    gradients: Array
    losses: Array
    projections: Array
    claimed: int


def count(
    algorithm: Algorithm[Any],
    workload: Workload,
    problem: Problem,
    n: int,
    trials: int,
    seed: int,
    *key: Any,
    data: Array | None = None,
    schedule: Schedule[Any] | None = None,
) -> Counts:
    """Counts the oracle calls of `trials` runs, one after the other.

    Args:
        data: (1, n, *record) for all trials; default: fresh data, drawn as raw rows.
    """
    planned = algorithm.schedule(problem, n) if schedule is None else schedule
    start = workload.project(np.zeros((1, problem.constants.d)))
    rows = []
    for trial in range(trials):
        counting = CountingWorkload(workload)
        source: Data = Fresh(counting, 1, n, seed, *key, "data", trial) if data is None else Fixed(data)
        run = CountingRun(planned, 1, seeds.stream(seed, *key, "runtime", trial))
        algorithm.execute(run, counting, source, start)
        rows.append((counting.gradients, counting.losses, counting.projections))
    values = np.array(rows, dtype=float)
    return Counts(values[:, 0], values[:, 1], values[:, 2], planned.gradients)


def verdict(
    counted: Array | float,
    bound: float,
    *,
    what: str = "gradients",
    x: float | None = None,
    variable: str = "n",
    series: str = "",
    at_least_one: bool = True,
) -> Verdict:
    """Judges "oracle calls <= bound" from the calls of each trial.

    HOLDS speaks of the runs that were counted; a count that depends on the data is a maximum over those trials.

    Args:
        counted: (trials,) or one number.
        bound: `Schedule.gradients`, or a theorem's bound with its constants.
        what: the calls in words.
        x, variable, series: where to put the point in a figure.
        at_least_one: conclude nothing when no call was counted: a closed-form solver went around the oracle.
    """
    calls = np.atleast_1d(np.asarray(counted, dtype=float))
    if calls.size == 0 or not (np.isfinite(calls).all() and bound >= 0):
        raise InvalidInput(f"counts must be finite and the bound >= 0, got {calls!r} and {bound!r}")
    most = float(calls.max())
    numbers: dict[str, float | int | str | bool] = {
        "calls": most,
        "fewest": float(calls.min()),
        "bound": float(bound),
        "trials": calls.size,
    }
    points = [] if x is None else [Point(x=x, value=most, series=series, lower=float(calls.min()), bound=float(bound))]
    fields: dict[str, Any] = {"numbers": numbers, "points": points, "axes": (variable, what)}
    fields["severity"] = most / bound if bound else None
    said = f"{_whole(most)} {what} counted, {_whole(bound)} allowed"
    if most == 0 and at_least_one:
        reason = f"no {what} counted: the solver does not call the oracle of this workload"
        return differs(reason, "counted", numbers=numbers)
    if most > bound:
        return refuted(said, "counted", **fields)
    varied = "" if calls.min() == most else f" (at most, over {calls.size:,} trials)"
    return holds(f"{said}{varied}", "counted", **fields)


def _whole(number: float) -> str:
    """In digits as long as a float has them all."""
    return f"{number:,.0f}" if abs(number) < 2**53 else f"{number:.6g}"


def conclude(rows: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], failure_probability: float) -> Verdict:
    """A check's conclusion from cells that measured {"calls": …, "bound": …}: all cells at most their bound."""
    if not rows:
        raise InvalidInput("no cell was measured; the grid of the check is empty")
    ratios = [float(numbers["calls"]) / max(float(numbers["bound"]), 1e-300) for _, numbers in rows]
    worst = int(np.argmax(ratios))
    cell, numbers = rows[worst]
    where = ", ".join(f"{name} = {value}" for name, value in cell.items())
    one = verdict(float(numbers["calls"]), float(numbers["bound"]))
    points = tuple(
        Point(x=float(cell["n"]), value=float(numbers["calls"]), bound=float(numbers["bound"]))
        for cell, numbers in rows
        if "n" in cell
    )
    reason = f"{one.reason}, closest at {where} ({len(rows)} cells)" if where else one.reason
    return Verdict(
        outcome=one.outcome,
        reason=reason,
        evidence="counted",
        numbers={**one.numbers, "largest calls/bound": ratios[worst]},
        points=points,
        axes=("n", "oracle calls"),
    )
