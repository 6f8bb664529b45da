"""Appendix E.1: the projected gradient mapping."""

from __future__ import annotations

import numpy as np

from dpcheck.algorithms.pure_heavy_tails.exponential import gradient_mapping
from dpcheck.checks import Context, check
from dpcheck.harness import accuracy, stability
from dpcheck.harness.search import BallRecords
from dpcheck.harness.sensitivity import Certificate
from dpcheck.interfaces import Array, Objective, Sample
from dpcheck.solvers import certified
from dpcheck.verdicts import Verdict
from dpcheck.workloads.linear import SparseDirection
from dpcheck.workloads.mean import HeavyMean

from .cases import (
    FAR,
    NONEXPANSIVE,
)


@check("pure_heavy_tails/proc-pgm", kind="sensitivity")
def mapping_sensitivity(context: Context) -> Verdict:
    """The clipped mapping moves by at most 2C/n in the plane too, and by exactly that inside the domain."""
    n, cap, gamma, work = 8, 1.0, 0.7, SparseDirection(nu=(1.0, 0.0), D=2.0)
    places = work.project(context.rng("places").normal(size=(40, 2)))

    def mapped(data: Array) -> Array:
        length = np.linalg.norm(data, axis=2, keepdims=True)
        mean = (data * np.minimum(1, cap / np.maximum(length, 1e-300))).mean(axis=1)
        return gradient_mapping(places[None], mean[:, None] + 0.2 * places, gamma, work)

    def measure(data: Array, neighbour: Array) -> dict[str, Array]:
        moved = np.linalg.norm(mapped(data) - mapped(neighbour), axis=2).max(axis=1)
        return {"mapping": moved / (2 * cap / n)}

    data = np.zeros((n, 2))
    data[0, 0], other = FAR, data.copy()
    other[0, 0] = -FAR
    search = stability.search(
        measure, BallRecords(FAR, 2), n, given=[(data, other)], chains=32, steps=context.scale(15, 60)
    )
    return stability.verdict(search, certificate=Certificate(1.0, NONEXPANSIVE))


@check("pure_heavy_tails/proc-pgm", kind="accuracy")
def zero_at_minimisers(context: Context) -> Verdict:
    """The mapping is 0 at constrained minimisers, on the boundary too, and the gradient well inside the domain."""
    work, lam, sizes = HeavyMean(D=4.0, tail=3.0, theta=0.3), 0.4, []
    for centre in (-2.0, 0.0, 2.0):
        for shift in (-40.0, 0.0, 0.3, 40.0):
            sample = work.draw(context.rng("data", centre, shift), 20, 30)
            sample = Sample(sample.values + shift, sample.weights)
            best = certified(Objective(workload=work, sample=sample, weight=lam, centre=np.full((1, 1), centre))).point
            slope = best - sample.mean(sample.values) + lam * (best - centre)
            sizes.append(np.abs(gradient_mapping(best, slope, 1 / (1 + lam), work)).max())
            inside = np.full_like(best, 0.1)
            small = np.full_like(best, 1e-3)
            sizes.append(np.abs(gradient_mapping(inside, small, 1 / (1 + lam), work) - small).max())
    return accuracy.never_violated(
        sizes, 1e-9, statement="|G| at the minimiser, or its distance from the gradient inside, is rounding",
        covers="interior, both ends of the interval, and centres at both", evidence="exact",
    )  # fmt: skip
