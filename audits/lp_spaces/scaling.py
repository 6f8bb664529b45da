"""Families of instances and wrong schedules for the rates of Algorithms 1 and 2."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.algorithms.lp_spaces import ApproximateObjectivePerturbation, StronglyConvexObjectivePerturbation
from dpcheck.algorithms.lp_spaces.objective import AlphaRule, Perturbation, PerturbedMinimiser
from dpcheck.checks import Context
from dpcheck.claims import evaluate
from dpcheck.geometry import Ball
from dpcheck.harness.risk import excess_risks
from dpcheck.harness.scaling import Axis, Drawn, Family, Instance, Series, geometric, rate
from dpcheck.harness.scaling.engines import statistic
from dpcheck.harness.scaling.rows import Cell, Mutant
from dpcheck.harness.scaling.slopes import MARGIN
from dpcheck.interfaces import Array, Constants, Problem, Sample
from dpcheck.verdicts import Verdict, consistent, refuted
from dpcheck.workloads.signs import SignRecords

from .cases import DELTA, FREE, at_size, body, problem

RARE = 1e-40
"""The delta of a promise for up to 1e18 records."""
SLOPES = Family.of(mirrored=True, lean=geometric(1.0, 1 / 4, 28))
"""Linear losses whose mean gradient is 1, 1/4, 1/16, … of the largest: neither n nor the algorithm."""
CURVATURES = Axis((*(32.0**-j for j in range(5)), 0.0), (True, True))
BOWLS = Family.of(mirrored=True, lean=geometric(1.0, 1 / 4, 12), curvature=CURVATURES)
"""The same on bowls of curvature L/D, L/(32 D), …, and without curvature."""
STRONG = Family.of(
    mirrored=True, lean=Axis((1.0, 0.5, 0.0), (True, True)), stretch=geometric(1.0, math.sqrt(2), 4)
)  # fmt: skip
"""Bowls with 1, √2, … of the least curvature of their class; the minimiser is so far towards the boundary. No slope is
strongly convex."""
MEANS = Drawn(4_000)
"""A run reads the mean of its records, so that their number costs nothing."""


@dataclass(frozen=True, eq=False)
class Bowl(SignRecords):
    """f(w, x) = c |w|^2/2 - <x, w>; `steepest` is the L of the class."""

    curvature: float = 0.0
    steepest: float = 1.0

    @property
    def constants(self) -> Constants:
        d = self.domain.d
        return Constants(
            d=d, diameter=self.domain.diameter, lipschitz=lambda p: self.steepest, smoothness=lambda p: self.curvature,
            moment=lambda k, m: self.steepest, hessian_rank=d if self.curvature else 0,
            family="isotropic quadratic" if self.curvature else "linear", extra=self._extra,
        )  # fmt: skip

    def loss(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature / 2 * (w**2).sum(axis=-1) - (w * z).sum(axis=-1))

    def gradient(self, w: Array, z: Array) -> Array:
        return np.asarray(self.curvature * w - z)

    def tilted_minimiser(self, sample: Sample, linear: Array, weight: float) -> Array:
        """argmin over the domain of the mean loss + <linear, w> + weight/2 |w|^2."""
        return self._lowest(sample.mean(sample.values) - linear, self.curvature + weight)

    def _lowest(self, slope: Array, curvature: float) -> Array:
        return self.domain.support_point(slope) if curvature == 0 else self.domain.project(slope / curvature)

    def excess_risk(self, w: Array) -> Array:
        mean = np.asarray(self.mean)
        best = self._lowest(mean, self.curvature)
        # (c best - mean) (w - best) >= 0 at the minimiser, and nothing is lost to cancellation.
        slack = np.maximum(0.0, (w - best) @ (self.curvature * best - mean))
        return np.asarray(self.curvature / 2 * ((w - best) ** 2).sum(axis=-1) + slack)


def told(work: Bowl, algorithm: PerturbedMinimiser, n: int, epsilon: float, delta: float) -> Instance:
    d, constants = work.domain.d, work.constants
    at = {
        "n": n, "d": d, "epsilon": epsilon, "delta": delta, "D": constants.diameter(2.0), "L": work.steepest,
        "omega": constants.extra["width"], "mu": work.modulus,
    }  # fmt: skip
    return Instance(algorithm, work, problem(work, epsilon, delta), n, {k: float(v) for k, v in at.items() if v})


def leaning(
    *, lean: float, n: int, epsilon: float, curvature: float = 0.0, delta: float = RARE, d: int = 4, L: float = 1.0,
    alpha_rule: AlphaRule = "fixed", name: str = "l2 ball",
) -> Instance:  # fmt: skip
    """Algorithm 1 on a body of diameter 1; the mean is along a diagonal, on an l1 ball along an axis.

    Losses are 1-Lipschitz, and so in the class of every L >= 1: a unit of loss would scale all outputs alike.
    """
    size = np.full(d, 1 / (2 * math.sqrt(d)))
    mean = lean * size * (np.arange(d) < 1 if name == "l1 ball" else 1)
    work = Bowl(size, mean, body(name, d), 0.5, curvature=curvature, steepest=L)
    return told(work, ApproximateObjectivePerturbation(alpha_rule=alpha_rule), n, epsilon, delta)


def strong(
    *, lean: float, stretch: float, n: int, epsilon: float, delta: float = RARE, d: int = 4, L: float = 1.0,
    mu: float = 1e-3,
) -> Instance:  # fmt: skip
    """Algorithm 2 with its curvature in units of the domain, on a ball of diameter 1."""
    size, curvature = np.full(d, 1 / (2 * math.sqrt(d))), 4 * stretch * mu
    mean = np.full(d, lean * curvature / (2 * math.sqrt(d)))
    work = Bowl(size, mean, Ball(d, 0.5), 0.5, modulus=mu, curvature=curvature, steepest=L)
    return told(work, StronglyConvexObjectivePerturbation(lambda_rule="diam"), n, epsilon, delta)


@dataclass(frozen=True)
class Pulled(StronglyConvexObjectivePerturbation):
    """Algorithm 2 with another λ."""

    pull: float = 0.0

    def plan(self, problem: Problem, n: int) -> tuple[Perturbation, float]:
        row, jacobian = super().plan(problem, n)
        return replace(row, lambda_=self.pull), jacobian


def louder(one: Instance) -> Instance:
    """Both noises too large by n^(1/8)."""
    assert isinstance(one.algorithm, PerturbedMinimiser)
    return one.running(replace(one.algorithm, noise_dial=one.n**0.125))


def pulled(one: Instance, power: float) -> Instance:
    """λ = L/(D n^power)."""
    lambda_ = one.at["L"] / (one.at["D"] * one.n**power)
    if isinstance(one.algorithm, StronglyConvexObjectivePerturbation):
        return one.running(Pulled(lambda_rule="diam", pull=lambda_))
    assert isinstance(one.algorithm, ApproximateObjectivePerturbation)
    return one.running(replace(one.algorithm, lambda_=lambda_))


def printed_accuracy(one: Instance) -> Instance:
    """α with the printed exponents, the second noise with it."""
    assert isinstance(one.algorithm, ApproximateObjectivePerturbation)
    return one.running(replace(one.algorithm, alpha_rule="paper"))


WHERE_NOISE_LEADS: Mapping[str, Mutant] = {
    "noise times n^(1/8)": louder,
    "λ that does not fall": functools.partial(pulled, power=0.0),
}
"""λ times n^(1/8) and the printed α are not told apart there: both stay below the noise."""
WHERE_RECORDS_LEAD: Mapping[str, Mutant] = {
    "λ times n^(1/8)": functools.partial(pulled, power=0.375),
    "the printed α": printed_accuracy,
}
WHERE_THE_MEAN_LEADS: Mapping[str, Mutant] = {
    "λ of Algorithm 1": functools.partial(pulled, power=0.5),
    "λ of Algorithm 1 times n^(1/8)": functools.partial(pulled, power=0.375),
}
"""Noise times n^(1/8) is not told apart there: it stays below the error of the mean."""


def on_the_cone(context: Context, n: int, order: sp.Expr) -> dict[str, float]:
    """Algorithm 1 as printed on the cone for that n, with an exact minimiser for its optimiser."""
    work, algorithm = at_size(n, 0.9, DELTA), ApproximateObjectivePerturbation()
    key = (context.seed, context.name, n)
    values = excess_risks(algorithm, work, problem(work, 0.9), n, context.scale(8, 20), *key, gradients=FREE)
    at = {"L": 1.0, "D": work.constants.diameter(2.0), "omega": work.width, "n": n, "epsilon": 0.9, "delta": DELTA}
    found = statistic(values, None)
    return {"risk": found.value, "error": found.error, "degrees": found.degrees, "bound": float(evaluate(order, at))}


def falls_like_the_order(rows: Sequence[tuple[Cell, Mapping[str, float]]], failure_probability: float) -> Verdict:
    """Refuted where R over the order rises in n."""
    columns = (np.array([each[name] for _, each in rows]) for name in ("risk", "error", "degrees", "bound"))
    found = rate(Series("n", np.array([float(cell["n"]) for cell, _ in rows]), *columns), failure_probability)
    said = f"{found.word}: R over the order goes as n^({found.slope:.3f} ± {found.half:.3f})"
    numbers = {"slope": found.slope, "half-width": found.half, "R/order at the end": found.ratios[-1]}
    fields: dict[str, Any] = {"failure_probability": failure_probability, "numbers": numbers, "severity": found.slope}
    if found.word == "shallower":
        return refuted(said, "sampled", **fields)
    return consistent(said, "sampled", notices=f"a ratio rising faster than n^{MARGIN:g}", **fields)
