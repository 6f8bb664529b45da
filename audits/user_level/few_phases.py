"""What plans of a few phases fix, against the claims that state it: a whole plan has as many as log2 n of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from dpcheck.algorithms.user_level import PhasedERM
from dpcheck.checks import Context
from dpcheck.engine.catalogue import claim
from dpcheck.engine.setting import known
from dpcheck.engine.settings import Problems
from dpcheck.errors import Infeasible
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Problem
from dpcheck.verdicts import Verdict, differs

from .lines import NAMES

DISTANCES = (None, 0.5, 2.0)
FEWEST = 5
"""Drawn problems that have to have a plan."""


def labels_of(stated: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    """Of the claims that state some setting of a reading."""
    return tuple(dict.fromkeys(label for of in stated.values() for name, label in of.items() if name != "phases"))


def two_phases(
    context: Context, kind: type[PhasedERM], stated: Mapping[str, str], draw: Problems, **fields: Any
) -> Verdict:
    """The settings of plans of two phases, at drawn problems, under the claims that `stated` names for each."""
    stated = {name: label for name, label in stated.items() if name != "phases"}
    rng, left, right = context.rng(), list[float](), list[float]()
    tries = context.scale(10, 60)
    for _ in range(tries):
        told, n = draw(rng)
        chosen = kind(phases=2, distance=DISTANCES[int(rng.integers(len(DISTANCES)))], **fields)
        try:
            pair = _fixed_and_stated(chosen, told, n, stated)
        except Infeasible:
            continue
        left += pair[0]
        right += pair[1]
    if (drawn := len(left) // (2 * len(stated) + 2)) < FEWEST:
        return differs(f"{drawn} of {tries} drawn problems have a plan of two phases", "exact")
    return agree(left, right, f"{', '.join(stated)} of two phases")


def _fixed_and_stated(
    chosen: PhasedERM, told: Problem, n: int, stated: Mapping[str, str]
) -> tuple[list[float], list[float]]:
    """Two numbers for each setting, and what its claim says; a setting of the whole plan stands twice."""
    plan = chosen.schedule(told, n)
    columns = {
        name: [float(getattr(row, name)) for row in plan.phases] for name in (*stated, *NAMES) if name != "gradients"
    }
    columns["gradients"] = [float(plan.gradients)] * 2
    first, second = plan.phases
    rows = {NAMES.get(name, name): np.array(values) for name, values in columns.items()}
    at = {**known(chosen, told, n), "n": float(n), "i": np.array([1, 2]), **rows}
    left, right = [float(first.start), float(second.start)], [0.0, float(first.users)]  # users are read once
    for name, label in stated.items():
        left += columns[name]
        right += np.broadcast_to(claim(label).at(at), 2).tolist()
    return left, right
