"""What is measured of outputs that read no data, beside what is measured of an algorithm.

On many families the start of an algorithm is often a good answer: of linear losses with a mean of
3 sqrt(d/(nm)) it has the very rate that is to be shown. A bound that such an output keeps as well is no evidence for an
algorithm, and the verdict says so; of rates `scaling.controls` has its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.verdicts import Outcome, Verdict, undecided

DRAWS = 4096
"""Random points whose mean excess risk is taken; their generator is fixed, so that nothing of it is sampled anew."""
APART = 2.0
"""The risk of an algorithm is told apart from that of a control which is so many times as large."""


def controls(work: Any) -> dict[str, float]:
    """Mean excess risk of the start (the projection of 0) and of a uniform point of the cube around the domain."""
    d, half = work.constants.d, work.constants.diameter(2.0) / 2
    rng = np.random.default_rng(0)
    somewhere = work.project(half * rng.uniform(-1, 1, size=(DRAWS, d)))
    return {
        "the start": float(np.mean(work.excess_risk(work.project(np.zeros((1, d)))))),
        "a random point": float(np.mean(work.excess_risk(somewhere))),
    }


def told_apart(verdict: Verdict, work: Any, bound: float) -> Verdict:
    """UNDECIDED in place of HOLDS where an output that reads no data keeps the bound as well."""
    blind = controls(work)
    numbers = {**verdict.numbers, **{f"risk of {name}": value for name, value in blind.items()}}
    passing = [name for name, value in blind.items() if value <= bound]
    if verdict.outcome is not Outcome.HOLDS or not passing:
        return replace(verdict, numbers=numbers)
    said = (
        f"{verdict.reason}; but {' and '.join(passing)} ({', '.join(f'{blind[name]:.3g}' for name in passing)}), which "
        f"{'read' if len(passing) > 1 else 'reads'} no data, {'keep' if len(passing) > 1 else 'keeps'} this bound too: "
        "no evidence for the algorithm"
    )
    return undecided(
        said, "sampled", numbers=numbers, failure_probability=verdict.failure_probability, points=verdict.points,
        axes=verdict.axes, severity=verdict.severity,
    )  # fmt: skip
