"""Selections such as the exponential mechanism, judged by their exact laws on pairs of neighbours."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpcheck.accounting import account
from dpcheck.harness.replay import Case, changed_record, claimed_movement, distance
from dpcheck.interfaces import Array
from dpcheck.laws import Exponential
from dpcheck.privacy import PureDP
from dpcheck.running import Entry, Fixed, Run, Transcript
from dpcheck.verdicts import Point, Verdict, holds, refuted

Pair = tuple[Array, Array]
"""A data set and its neighbour, (1, n, atom) each."""


def selection_laws(case: Case, data: Array, neighbour: Array, release: str = "point") -> tuple[Array, Array]:
    """Exact log-probabilities of every candidate on D and on D', from the cores that the implementation releases."""
    seen = case.replay(data, neighbour, 1)
    (movement,) = [m for m in seen.movements if m.release.name == release]
    law = movement.release.law
    assert isinstance(law, Exponential)
    assert float(seen.leak.max()) == 0
    return law.log_probabilities(movement.core)[0], law.log_probabilities(movement.other)[0]


def realised(case: Case, pairs: Iterable[Pair]) -> tuple[float, int]:
    """Largest exact epsilon of the selection over these pairs, and how many they are."""
    laws = [selection_laws(case, *pair) for pair in pairs]
    return max(float(np.abs(one - other).max()) for one, other in laws), len(laws)


def score_movement(case: Case, pairs: Iterable[Pair]) -> float:
    """Largest change of a score over its claim, over these pairs."""
    return max(float(case.replay(*pair, 1).ratios()["point"].max()) for pair in pairs)


def selection_verdict(
    case: Case, n: int, pairs: Iterable[Pair], because: str, *, series: str = "", x: float | None = None
) -> Verdict:
    """Judges the privacy claim of a selection: the claimed sensitivity certified, the worst pairs by exact laws."""
    plan = case.planned(n)
    spent = account(plan, n).epsilon(0.0)
    assert isinstance(case.problem.privacy, PureDP)
    allowed = case.problem.privacy.epsilon
    tried = list(pairs)
    (worst, count), moved = realised(case, tried), score_movement(case, tried)
    numbers = {"realised": worst, "claimed": allowed, "accounted": spent, "pairs": count, "score over its claim": moved}
    points = [Point(x=n if x is None else x, value=worst, bound=allowed, series=series)]
    fields: dict[str, Any] = {"numbers": numbers, "points": points, "axes": ("n", "epsilon")}
    fields["severity"] = worst / allowed
    said = f"exact epsilon {worst:.6g} on the worst of {count} pairs, {allowed:g} claimed, {spent:.6g} accounted"
    if worst > allowed * (1 + 1e-9) or moved > 1 + 1e-6 or spent > allowed * (1 + 1e-9):
        return refuted(f"{said}; a score moves by {moved:.4g} of its claim", "exact", **fields)
    return holds(f"{said}; no pair exceeds the account ({because})", "certificate", **fields)


@dataclass(frozen=True)
class Enumerated:
    """Of a pair, over every outcome of all selections: the largest |log-ratio|, and movement over claim."""

    loss: float
    moved: float


def enumerate_selections(case: Case, data: Array, neighbour: Array) -> Enumerated:
    """Runs an algorithm that releases selections alone on both data sets under every possible transcript, and adds up
    exact log-probabilities: nothing is sampled, so that no outcome is missed for being rare.
    """
    plan, work = case.planned(data.shape[1]), case.workload
    choices = len(work.domain.vertices)  # type: ignore[attr-defined]
    outcomes = np.array(list(itertools.product(range(choices), repeat=len(plan.releases))), dtype=float)
    told = [Entry(r.name, np.zeros((len(outcomes), 1)), outcomes[:, [i]]) for i, r in enumerate(plan.releases)]
    cores = []
    for rows in (data, neighbour):
        run: Run[Any] = Run(plan, len(outcomes), None, history=Transcript(told))
        assert case.start is not None
        case.algorithm.execute(run, work, Fixed(rows), case.start)
        cores.append([entry.core for entry in run.transcript.entries])
    loss, moved = np.zeros(len(outcomes)), 0.0
    (changed,) = {int(i) for i in changed_record(data, neighbour, 1)}
    for release, entry, here, there in zip(plan.releases, told, *cores, strict=True):
        loss += release.law.log_ratio(entry.output, here, there)
        claimed = float(claimed_movement(release, np.array([changed]))[0])
        apart = float(distance(here, there, release.norm).max())
        moved = max(moved, apart / claimed if claimed else (math.inf if apart > 1e-12 else 0.0))
    return Enumerated(float(np.abs(loss).max()), moved)
