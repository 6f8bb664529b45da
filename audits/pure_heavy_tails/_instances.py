"""Instances that several checks of this paper share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcheck.algorithms.pure_heavy_tails.localize import LocalizedOutputPert
from dpcheck.harness import privacy, replay
from dpcheck.harness.losses import compose
from dpcheck.interfaces import Array, Problem, Schedule
from dpcheck.privacy import PureDP
from dpcheck.verdicts import Point, Verdict, holds, refuted, undecided
from dpcheck.workloads.amplitudes import Spike
from dpcheck.workloads.linear import RareSpikes
from dpcheck.workloads.radial import RadialHeavyTail

BLOCKS = 9
"""J for experiments: as private as the proved J, without a certified risk."""
DELTA = 0.1
"""Failure probability of the accuracy statements (the paper's delta)."""


def largest(work: Any) -> float:
    """A number that no excess risk exceeds: on an interval the larger one of its ends, by convexity; else D G_1."""
    D = work.constants.diameter(2.0)
    if work.constants.d > 1:
        return float(D * work.constants.moment(1.0, 1))
    ends = work.project(np.array([[-D], [D]]))
    return float(work.excess_risk(ends).max())


def practical(k: float, solver: str) -> LocalizedOutputPert:
    """Localised output perturbation with few blocks and the scaling of lambda_1 without its constant."""
    return LocalizedOutputPert(k=k, solver=solver, blocks=BLOCKS, c_erm=1.0)  # type: ignore[arg-type]


def problem(workload: Any, epsilon: float, delta: float = DELTA) -> Problem:
    return Problem(constants=workload.constants, privacy=PureDP(epsilon), failure_probability=delta)


def opposite_spikes(m: int, spike: float, place: int = 0) -> tuple[Array, Array]:
    """The closed-form worst pair for linear losses on an interval: one record switched from +spike to -spike.

    Returns:
        data, neighbour: (1, m, 1).
    """
    data = np.zeros((1, m, 1))
    data[0, place] = spike
    neighbour = data.copy()
    neighbour[0, place] = -spike
    return data, neighbour


def wide(D: float = 1e4) -> RareSpikes:
    """Linear losses on an interval so long that projections are idle: shifts are then the largest possible."""
    return RareSpikes(D=D, k=2.0, G=1.0, p=0.5, theta=0.0)


def radial_spikes(d: int, k: float, m: int, epsilon: float, factor: float = 1.0) -> RadialHeavyTail:
    """W1: |w - b| with weights of G_k = 1 that are rare enough to exceed the prescribed cap: p = factor d/(m epsilon).

    b lies so far from the centre 0 that the minimiser stays between the two.
    """
    b = np.zeros(d)
    b[0] = 400.0
    return RadialHeavyTail(b=tuple(b), D=1000.0, weights=Spike.of_moment(1.0, k, min(1.0, factor * d / (m * epsilon))))


RELEASES = {
    "point": "last point", "stage 1/point": "point of stage 1", "gradient": "gradient",
}  # fmt: skip
"""The releases of these schedules, in words."""

# Privacy, exactly ---------------------------------------------------------------------------------------------------


def shifts(case: replay.Case, data: Array, neighbour: Array, trials: int = 64) -> dict[str, float]:
    """Largest distance of the cores of every release over the histories of `trials` runs."""
    seen = case.replay(data, neighbour, trials)
    assert float(seen.leak.max()) == 0, "the returned point follows the data outside of the releases"
    return {name: max(uses) for name, uses in seen.distances().items()}


def slack_verdict(
    schedule: Schedule[Any],
    found: Mapping[str, float],
    certified: Mapping[str, float],
    allowed: float,
    because: str,
    *,
    case: str,
) -> Verdict:
    """The slack table of a schedule: per release, the epsilon charged next to the exact one, and their sums.

    HOLDS when the certified distances cost at most `allowed` and the distances of the pair attain them; a pair that
    costs more than `allowed` refutes.

    Args:
        found: distance of the cores on the closed-form worst pair; certified: what no pair exceeds.
        case: what tells this schedule from the others of the check, for the figure.
    """  # fmt: skip
    rows = privacy.slack(schedule, found)
    # At cores a distance s apart the loss of isotropic Laplace noise reaches s/scale, whatever was released before.
    top, sure = math.fsum(row.epsilon_realised for row in rows), compose(schedule, dict(certified)).pure[1]
    numbers: dict[str, float | int | str | bool] = {"claimed": sum(row.epsilon_claimed for row in rows)}
    numbers |= {"realised": top, "certified": sure, "allowed": allowed}
    points = []
    for row in rows:
        numbers[f"charged to {row.name}"], numbers[f"realised by {row.name}"] = (
            row.epsilon_claimed,
            row.epsilon_realised,
        )
        points.append(
            Point(x=1.0, value=row.epsilon_realised, bound=row.epsilon_claimed, series=f"{RELEASES[row.name]}, {case}")
        )
    fields: dict[str, Any] = {"numbers": numbers, "points": points, "axes": ("", "epsilon of a release")}
    fields["dashed"] = "charged"
    fields["severity"] = top / allowed
    said = f"epsilon {top:.6g} realised by the worst pair, {allowed:.6g} allowed, {numbers['claimed']:.6g} charged"
    if top > allowed * (1 + 1e-9):
        return refuted(said, "exact", **fields)
    if sure > allowed * (1 + 1e-9):
        return undecided(f"{said}; the proof only gives {sure:.6g}", "exact", **fields)
    return holds(f"{said}; no pair exceeds {sure:.6g} ({because})", "certificate", **fields)
