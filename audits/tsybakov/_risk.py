"""What the risk audits of this paper share: problems whose growth is known exactly, and the orders to compare with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.algorithms.tsybakov import (
    IteratedAccelerated,
    IteratedLocalised,
    LocalisedClipped,
    StochasticApproximation,
)
from dpcheck.algorithms.tsybakov.localised import averaged_moment
from dpcheck.checks import Conclude
from dpcheck.claims import evaluate, local_exponent
from dpcheck.engine.statements import order_of
from dpcheck.harness import rate
from dpcheck.interfaces import Problem, Workload
from dpcheck.privacy import ApproxDP
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Verdict
from dpcheck.workloads.power_well import PowerWell, rare_spikes

DELTA, BETA = 1e-12, 0.05
"""delta lies below every epsilon that is used here."""
ANY = 1e60
"""Records of these workloads are counts of three atoms: their number costs nothing."""
SMALL = 1e-6
"""A budget at which the private term outweighs 1/sqrt(n) by far for all n up to 2^56, also at k = 4."""


def well(theta: float, order: float, *, chance: float = 0.25, d: int = 1) -> PowerWell:
    """A power well on the unit ball with its minimum half-way out, spikes of that chance and of moment 1."""
    e_1 = np.eye(d)[0]
    return PowerWell(
        c=0.5 * e_1, v=e_1, theta=float(theta), size=rare_spikes(chance, order, 1.0), chance=chance, radius=1.0
    )


def even_calls(j: int) -> int:
    """A size that Algorithm 4 splits into calls of 2^j records each, none left over."""
    return next(m << j for m in range(1, 64) if StochasticApproximation.epochs(m << j) == m)


def even_parts(j: int) -> int:
    """The size that Algorithm 5 splits, at theta_bar = 2, into a first part of 2^j records and doublings of it."""
    n = 2.0**j
    for _ in range(100):
        n = 2.0**j * math.log2(n)
    return math.ceil(n)


def problem(workload: Workload, epsilon: float, delta: float = DELTA) -> Problem:
    return Problem(constants=workload.constants, privacy=ApproxDP(epsilon, delta), failure_probability=BETA)


def localised(k: float, **fields: Any) -> LocalisedClipped:
    """The corrected Algorithm 3, its phases taken to where they lead."""
    return LocalisedClipped(**{**LocalisedClipped.readings["corrected"], "k": k, "solver": "limit", **fields})


def approximation(k: float, **fields: Any) -> StochasticApproximation:
    """The corrected Algorithm 4, its phases taken to where they lead."""
    return StochasticApproximation(
        **{**StochasticApproximation.readings["corrected"], "k": k, "solver": "limit", **fields}
    )


def iterated(k: float, **fields: Any) -> IteratedLocalised:
    """The corrected Algorithm 5, its phases taken to where they lead."""
    return IteratedLocalised(**{**IteratedLocalised.readings["corrected"], "k": k, "solver": "limit", **fields})


def iterated_sgd(k: float, reading: str) -> IteratedAccelerated:
    """Algorithm 7 with the printed noise at constant 64."""
    return IteratedAccelerated(**{**IteratedAccelerated.readings[reading], "k": k, "calibration": "literal"})


def priced(variable: str, axis: str) -> Conclude:
    """A rate's conclusion that also tells what the accountant certifies of the runs, over what they promise.

    Rows hold "certified over promised"; inf stands for runs of which nothing is certified.
    """
    judge = rate.conclude(variable, axis=axis)

    def conclude(rows: Sequence[rate.Row], failure_probability: float) -> Verdict:
        found = judge(rows, failure_probability)
        least, most = (pick(float(row["certified over promised"]) for _, row in rows) for pick in (min, max))
        said = f"the epsilon that is certified for these runs is {least:.3g} to {most:.3g} times the one promised"
        numbers = {"certified over promised epsilon, least": least, "and largest": most}
        return replace(found, reason=f"{found.reason}; {said}", numbers={**found.numbers, **numbers})

    return conclude


def order_at(
    label: str, work: Any, n: float, k: float, epsilon: float, *, tied: sp.Expr | None = None, variable: str = "n"
) -> dict[str, float]:
    """The O-form of a claim on a workload at n, and its local exponent in n or d, with epsilon = `tied`, if given."""
    order, constants = order_of(label), work.constants
    if tied is not None:
        order = order.subs(BY_NAME["epsilon"], tied)
    theta, lambda_ = constants.growth if constants.growth is not None else (2.0, 1.0)
    size = 1 << max(1, math.floor(math.log2(n)))
    at = {
        "n": float(n),
        "k": float(k),
        "d": float(constants.d),
        "D": constants.diameter(2.0),
        "R_2k": averaged_moment(constants, 2 * k, size),
        "r_k": constants.moment(k, 1),
        "theta": theta,
        "lambda": lambda_,
        "epsilon": epsilon,
        "delta": DELTA,
        "beta": BETA,
        "p": 1.0,
    }
    return {"bound": float(evaluate(order, at)), "exponent": local_exponent(order, variable, at)}
