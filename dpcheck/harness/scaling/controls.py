"""Outputs that read no data, on a member of a family: what a measurement of a rate must tell an algorithm from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpcheck.interfaces import Array

DRAWS = 512
"""Uniform points whose risk is taken; the generator is fixed, so nothing of it is sampled anew."""
FAR = 1e12
"""Beyond every domain: projecting it gives an end."""
NAMES = ("the start", "the best constant", "a random point", "the wrong end")


def controls(works: Sequence[Any], quantile: float | None, *, mirrored: bool) -> dict[str, float]:
    """Risk on the worst member of outputs that read no data, by name.

    Args:
        quantile: of the excess risk that is measured; None for its mean.
        mirrored: whether the class holds the mirror image of every member, w -> -w, which no member here shows.
    """
    constants, wrong = zip(*(_constants(work, mirrored) for work in works), strict=True)
    start, *others = np.max(constants, axis=0)
    return {
        "the start": float(start),
        "the best constant": float(min(start, *others)),
        "a random point": max(_random_point(work, quantile) for work in works),
        "the wrong end": max(wrong),
    }


def _constants(work: Any, mirrored: bool) -> tuple[Array, float]:
    """Excess risk of the start, of the ends of the domain along the axes, and half-way to them; the worst end."""
    start, ends = work.project(np.zeros((1, work.constants.d))), _ends(work)
    points = np.concatenate((start, ends, (start + ends) / 2))
    risks = np.asarray(work.excess_risk(points))
    wrong = float(risks[1 : 1 + len(ends)].max())
    return np.maximum(risks, work.excess_risk(-points)) if mirrored else risks, wrong


def _random_point(work: Any, quantile: float | None) -> float:
    """Of a uniform point of the cube around the domain, projected."""
    half = work.constants.diameter(2.0) / 2
    drawn = np.random.default_rng(0).uniform(-half, half, size=(DRAWS, work.constants.d))
    risks = work.excess_risk(work.project(drawn))
    return float(np.mean(risks) if quantile is None else np.quantile(risks, quantile))


def _ends(work: Any) -> Array:
    axes = np.eye(work.constants.d)
    return np.asarray(work.project(FAR * np.concatenate((axes, -axes))))


def largest(work: Any) -> float:
    """A number that no excess risk of a member exceeds: on an interval that of an end, by convexity; else D G_1."""
    if work.constants.d == 1:
        return float(np.max(work.excess_risk(_ends(work))))
    return float(work.constants.diameter(2.0) * work.constants.moment(1.0, 1))
