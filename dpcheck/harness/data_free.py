"""What is measured of outputs that read no data, beside what is measured of an algorithm.

On many families the start of an algorithm is often a good answer: of linear losses with a mean of
3 sqrt(d/(nm)) it has the very rate that is to be shown. A bound or a rate that such an output keeps as well is no
evidence for an algorithm, and the verdict says so.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.checks import Conclude
from dpcheck.harness import rate
from dpcheck.interfaces import Array
from dpcheck.verdicts import Outcome, Point, Verdict, refuted, undecided

DRAWS = 4096
"""Random points whose mean excess risk is taken; their generator is fixed, so that nothing of it is sampled anew."""
APART = 2.0
"""A size counts for an algorithm where its mean risk is at most this part of every control's."""
LEAST = 3
"""Sizes that must count."""


def controls(work: Any) -> dict[str, float]:
    """Mean excess risk of the start (the projection of 0) and of a uniform point of the cube around the domain."""
    d, half = work.constants.d, work.constants.diameter(2.0) / 2
    rng = np.random.default_rng(0)
    somewhere = work.project(half * rng.uniform(-1, 1, size=(DRAWS, d)))
    return {
        "the start": float(np.mean(work.excess_risk(work.project(np.zeros((1, d)))))),
        "a random point": float(np.mean(work.excess_risk(somewhere))),
    }


def told_apart(found: Verdict, work: Any, bound: float) -> Verdict:
    """UNDECIDED in place of HOLDS where an output that reads no data keeps the bound as well."""
    blind = controls(work)
    numbers = {**found.numbers, **{f"risk of {name}": value for name, value in blind.items()}}
    passing = [name for name, value in blind.items() if value <= bound]
    if found.outcome is not Outcome.HOLDS or not passing:
        return replace(found, numbers=numbers)
    said = (
        f"{found.reason}; but {' and '.join(passing)} ({', '.join(f'{blind[name]:.3g}' for name in passing)}), which "
        f"{'read' if len(passing) > 1 else 'reads'} no data, {'keep' if len(passing) > 1 else 'keeps'} this bound too: "
        "no evidence for the algorithm"
    )
    return undecided(
        said, "sampled", numbers=numbers, failure_probability=found.failure_probability, points=found.points,
        axes=found.axes, severity=found.severity,
    )  # fmt: skip


def row(values: Array, bound: float, work: Any) -> dict[str, float]:
    """What `conclude` wants of one cell."""
    from dpcheck.harness import risk

    return {**risk.summary(values, bound), **controls(work)}


def conclude(variable: str = "n") -> Conclude:
    """A rate of R/bound over the sizes at which R is told apart from the controls, or no word of a rate.

    The controls' own rates are fitted over the same sizes: one that keeps the rate makes the measurement no evidence.
    """
    return functools.partial(_judge, variable)


Rows = Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]


def _judge(variable: str, rows: Rows, failure_probability: float) -> Verdict:
    names = ("the start", "a random point")
    told = [(c, f) for c, f in rows if f["mean"] * APART <= min(f[name] for name in names)]
    ratios = [float(f["mean"] / f["bound"]) for _, f in rows]
    against = [float(f["mean"] / f["the start"]) for _, f in rows]
    level = f"R is {min(ratios):.3g} to {max(ratios):.3g} times the order"
    numbers: dict[str, float | int | str | bool] = {
        "sizes told apart": len(told),
        "largest R over that of the start": max(against),
        "smallest R over that of the start": min(against),
    }
    points = tuple(
        Point(x=float(cell[variable]), value=float(found[key]) / float(found["bound"]), series=label)
        for cell, found in rows
        for key, label in (("mean", "the algorithm, over the order"), ("the start", "the start, over the order"))
    )
    fields: dict[str, Any] = {
        "failure_probability": failure_probability,
        "points": points,
        "axes": (variable, "mean excess risk over the order (constant 1)"),
        "severity": max(ratios),
    }
    if len(told) < LEAST:
        said = (
            f"no evidence of a rate: at {len(rows) - len(told)} of {len(rows)} sizes the risk is more than "
            f"1/{APART:g} of that of an output that reads no data ({min(against):.3g} to {max(against):.3g} of that of "
            f"the start); {level}"
        )
        return undecided(said, "sampled", numbers=numbers, **fields)
    judged = rate.conclude(variable)(told, failure_probability)
    blind = {
        name: rate.conclude(variable)([(c, {**f, "mean": f[name], "se": 1e-9 * f[name]}) for c, f in told], 1e-6)
        for name in names
    }
    passing = [name for name, found in blind.items() if found.outcome is not Outcome.REFUTED]
    if passing:
        said = f"no evidence of a rate: {passing[0]}, which reads no data, is not refuted by the same fit; {level}"
        return undecided(said, "sampled", numbers=numbers, **fields)
    if judged.outcome is Outcome.REFUTED:
        return refuted(judged.reason, "sampled", numbers={**judged.numbers, **numbers}, **fields)
    return replace(judged, numbers={**judged.numbers, **numbers}, points=points, axes=fields["axes"])
