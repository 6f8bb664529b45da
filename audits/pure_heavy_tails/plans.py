"""Plans once more by hand, at constants that differ from norm to norm: what depends on the solver, and what it says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy

from dpcheck.algorithms.pure_heavy_tails import (
    EMPGM,
    DoubleOutputPert,
    LocalizedApproxEM,
    LocalizedOutputPert,
    NoisyClippedSubgradient,
    OutputPertLocalize,
    PopLocalize,
    SingleOutputPert,
    SmoothedEMPGM,
    StructuredDoubleOutputPert,
)
from dpcheck.algorithms.pure_heavy_tails.erm import PrivateErm
from dpcheck.algorithms.pure_heavy_tails.reformulation import DirectSubgradient, JointSubgradient
from dpcheck.algorithms.pure_heavy_tails.sampling import NODES, SMALLEST
from dpcheck.interfaces import Array, Constants, Problem
from dpcheck.privacy import PureDP
from dpcheck.solvers import HALVINGS, acceleration_limit
from dpcheck.solvers.extension import LINE_CALLS

D, K, G_2, G_K, EPSILON = 1.7, 3.0, 1.5, 5 / 3, 0.4


def told(d: int = 1, epsilon: float = EPSILON, chance: float = 0.1) -> Problem:
    """D in l_2 and G_2, G_K are as above; other norms and orders have others."""
    constants = Constants(
        d=d,
        diameter=lambda p: D * 3 ** (1 / p - 1 / 2),
        lipschitz=lambda p: math.inf,
        smoothness=lambda p: 2.0 * 3 ** (1 / p - 1 / 2),
        moment=lambda k, m: (2 - 1 / k) / m,
    )
    return Problem(constants=constants, privacy=PureDP(epsilon), failure_probability=chance)


KNOWN = {"G_k": G_K, "epsilon": EPSILON, "D": D, "k": K}


def unit(d: int, m: int) -> float:
    """G_k (d/(m epsilon))^(1 - 1/k)."""
    return float(G_K * (d / (m * EPSILON)) ** (1 - 1 / K))


def numbers(*values: Any) -> Array:
    return np.array(values, dtype=float)


SOLVERS: dict[str, PrivateErm] = {"one stage": SingleOutputPert(k=K), "selection": EMPGM(k=K)}
"""One whose constant is that of every weight, and one whose constant grows with the logarithm of the weight."""


@dataclass(frozen=True)
class ByHand:
    """Phases of Algorithm 1 on a line until blocks are empty, or 3 Delta/lambda is below a share of D.

    Attributes:
        c_erm: of the weights and precisions; None for the solver's own.
    """

    erm: PrivateErm
    n: int
    J: int
    resolution: float
    c_erm: float | None = None

    def precision(self, m: int, weight: float, c_erm: float | None) -> float:
        c = replace(self.erm, lambda_=weight).c_erm(told(), m) if c_erm is None else c_erm
        return c * (unit(1, m) + G_2 / math.sqrt(m)) + math.sqrt(20 / m) * G_2

    def rows(self) -> Iterator[tuple[int, int, int, float, float]]:
        """(t, first record, records a block, lambda, Delta), lambda_1 found as the root that it is."""
        m, start, t = self.n // 2 // self.J, 0, 1
        first = scipy.optimize.brentq(
            lambda x: x - 20 * self.precision(m, x, self.c_erm) / D, 1e-9, 1e9, xtol=1e-13, rtol=1e-14
        )
        while m >= 1:
            weight = float(first) * 32 ** (t - 1)
            yield t, start, m, weight, self.precision(m, weight, self.c_erm)
            if 3 * self.precision(m, weight, self.c_erm) / weight < self.resolution * D:
                return
            start, t = start + self.n // 2**t, t + 1
            m = self.n // 2**t // self.J


def lines_of_phases(erm: PrivateErm, n: int, J: int, side: float) -> dict[str, tuple[Array, Array]]:
    """What Algorithm 1 plans, and tells its bound, against the same by hand; `side` times where phase 2 is the last."""
    endless = list(ByHand(erm, n, J, 1e-300).rows())
    resolution = side * 3 * endless[1][4] / endless[1][3] / D
    at, own = told(), PopLocalize(erm=erm, resolution=resolution)
    few, many = replace(own, blocks=J), 200 * n
    margin, known = erm.success - 0.05 - 0.5, {"k", "G_k"}
    sizes = (2, 3, n, many)
    blocks = [math.ceil(math.log(math.ceil(math.log2(size)) / 0.1) / (2 * margin**2)) for size in sizes]
    lines = {
        "phases": (numbers(*few.phases(at, n)), numbers(*ByHand(erm, n, J, resolution).rows())),
        "blocks": (numbers(*(own.repetitions(at, size) for size in sizes)), numbers(*blocks)),
        **lines_of_blocks(few, n, list(ByHand(erm, n, J, resolution).rows())),
    }
    silent = {
        "few blocks": few.terms(at, n),
        "a wide chance": own.terms(told(chance=0.6), many),
        "no chance": own.terms(told(chance=0.0), many),
        "an unproved solver": replace(own, erm=replace(erm, C=1.0)).terms(at, many),
    }
    for said, terms in silent.items():
        lines[f"told of {said}"] = numbers(terms.keys() == known, terms["k"], terms["G_k"]), numbers(True, K, G_K)
    for c in (None, 1.0):  # the weights that are run, the precisions that are proved
        terms = replace(own, c_erm=c, blocks=blocks[-1]).terms(at, many)
        run = ByHand(erm, many, blocks[-1], resolution, c)
        told_of = [(weight, run.precision(m, weight, None)) for _, _, m, weight, _ in run.rows()]
        pairs = zip(terms.get("lambda[i]", ()), terms.get("Delta[i]", ()), strict=True)
        lines[f"told of c_erm = {c}"] = numbers(*pairs), numbers(*told_of)
        lines[f"phases told of c_erm = {c}"] = numbers(terms.get("l", 0)), numbers(len(told_of))
    return lines


def lines_of_blocks(
    few: PopLocalize, n: int, rows: list[tuple[int, int, int, float, float]]
) -> dict[str, tuple[Array, Array]]:
    """What a plan of Algorithm 1 says of the blocks of these phases: its stages, what they read, and their gradients,
    which are those of the solver's own plans.
    """
    J, plan = few.repetitions(told(), n), few.schedule(told(), n)
    inner = [replace(few.erm, lambda_=weight).schedule(told(), m) for _, _, m, weight, _ in rows]
    reads = [(first + j * m, first + (j + 1) * m) for _, first, m, _, _ in rows for j in range(J)]
    return {
        "stages": (
            numbers(*((p.t, p.first, p.records, p.lambda_, p.reach, p.blocks) for p in plan.phases)),
            numbers(*((t, first, m, weight, gap / weight, J) for t, first, m, weight, gap in rows)),
        ),
        "reads": (numbers(*((r.start, r.stop) for each in plan.releases for r in each.reads)), numbers(*reads)),
        "gradients": (numbers(plan.gradients), numbers(J * sum(each.gradients for each in inner))),
    }


def lines_of_constants() -> dict[str, tuple[Array, Array]]:
    """What solvers say of their accuracy: the noise at its 0.9 quantile, the gap's distance and the bias, in units of
    C d/(lambda m epsilon); where it is proved, and to whom it is told.
    """
    m, lines = 50, {}
    for d in (1, 3):
        at, q = told(d), float(scipy.stats.gamma(d).ppf(0.9)) / d
        spent = EPSILON / d
        wanted = (12 * q + spent / 3 + 20, 6 * q + spent + 20, 3 * q + spent / 6 + 20, 6 * q + spent + 20)
        solvers = (DoubleOutputPert(), OutputPertLocalize(), SingleOutputPert(), SingleOutputPert(calibration="paper"))
        lines[f"output perturbation, d = {d}"] = numbers(*(s.c_erm(at, m) for s in solvers)), numbers(*wanted)
    cells, at = 64, told()
    q = math.log(20 * cells) + EPSILON * m / (8 * cells) + 38 / cells**2 + EPSILON / 8192
    gibbs, of_gibbs = LocalizedApproxEM(count=cells), math.sqrt(19200 * 20) + 20
    lines["cells of a line"] = numbers(gibbs.c_erm(at, m)), numbers(math.sqrt(19200 * q) + 20)
    lines["the Gibbs law"] = numbers(gibbs.c_erm(told(2), m)), numbers(of_gibbs)
    proved = {
        "within its conditions": (SingleOutputPert(), told(), True),
        "at epsilon = d": (SingleOutputPert(), told(epsilon=1.0), True),
        "above epsilon = d": (SingleOutputPert(), told(epsilon=1.001), False),
        "with another cap": (SingleOutputPert(C=1.0), told(), False),
        "with other noise": (SingleOutputPert(noise_dial=2.0), told(), False),
        "on a net": (EMPGM(), told(), True),
        "on another net": (EMPGM(eta=0.1), told(), False),
        "with another step": (EMPGM(gamma=0.1), told(), False),
        "smoothed": (SmoothedEMPGM(), told(), False),
        "in cells": (LocalizedApproxEM(), told(), True),
        "in cells of a plane": (LocalizedApproxEM(), told(2), False),
        "along chords": (LocalizedApproxEM(sampler="hit-and-run"), told(), False),
    }
    for said, (solver, problem, expected) in proved.items():
        terms = replace(solver, lambda_=0.3, k=K).terms(problem, m)
        lines[f"proved {said}"] = numbers(solver.certified(problem), "c_erm" in terms), numbers(expected, expected)
        values = [terms.get(name, math.nan) for name in ("m", "lambda", "k", "G_k")]
        lines[f"told {said}"] = numbers(*values), numbers(m, 0.3, K, G_K)
    chosen = [
        LocalizedOutputPert(solver="single", minimiser=JointSubgradient()).outer().erm,
        LocalizedOutputPert(solver="structured").outer().erm,
        LocalizedOutputPert(solver="structured", minimiser=JointSubgradient()).outer().erm,
    ]
    kinds = (JointSubgradient, DirectSubgradient, JointSubgradient)
    brought = [isinstance(e.minimiser, kind) for e, kind in zip(chosen, kinds, strict=True)]  # type: ignore[attr-defined]
    lines["whose minimiser"] = numbers(*brought), numbers(True, True, True)
    resting: dict[str, tuple[PrivateErm, bool]] = {
        "on a step of the data": (SmoothedEMPGM(), True),
        "on a given step": (SmoothedEMPGM(gamma=0.1), False),
        "on a public step": (SmoothedEMPGM(gamma_rule="public"), False),
        "on cells": (LocalizedApproxEM(), False),
        "on chords": (LocalizedApproxEM(sampler="hit-and-run"), True),
    }
    for said, (solver, elsewhere) in resting.items():
        rests = [bool(each.rests_on) for each in replace(solver, k=K).schedule(told(), 400).releases]
        lines[f"a promise that rests {said}"] = numbers(*rests), numbers(*[False] * (len(rests) - 1), elsewhere)
    levels = [
        solver.success for solver in (SingleOutputPert(), DoubleOutputPert(), SmoothedEMPGM(), LocalizedApproxEM())
    ]
    lines["how often"] = numbers(*levels), numbers(0.8, 0.7, 0.65, 0.65)
    return lines


DIALS = (
    OutputPertLocalize, SingleOutputPert, DoubleOutputPert, StructuredDoubleOutputPert, EMPGM, SmoothedEMPGM,
    LocalizedApproxEM, LocalizedOutputPert, NoisyClippedSubgradient,
)  # fmt: skip


def lines_of_dials() -> dict[str, tuple[Array, Array]]:
    """Scales of noise, and inverse coefficients of selections, with a dial of 2 and without one: twice as large, in the
    releases and in the stages, and everything else that they read is the same.
    """
    lines = {}
    for kind in DIALS:
        beside: dict[str, Any] = {"solver": "single", "blocks": 3} if kind is LocalizedOutputPert else {}
        plain, loud = (kind(noise_dial=dial, **beside).schedule(told(), 400) for dial in (1.0, 2.0))
        scales = [
            [getattr(each.law, "scale", 1 / getattr(each.law, "coefficient", math.nan)) for each in plan.releases]
            for plan in (loud, plain)
        ]
        stages = [[stage.noise for stage in plan.phases] for plan in (loud, plain)]
        reads = [[read.sensitivity for each in plan.releases for read in each.reads] for plan in (loud, plain)]
        lines[f"scales of {kind.__name__}"] = numbers(*scales[0]), 2 * numbers(*scales[1])
        lines[f"noise of the stages of {kind.__name__}"] = numbers(*stages[0]), 2 * numbers(*stages[1])
        lines[f"sensitivities of {kind.__name__}"] = numbers(*reads[0]), numbers(*reads[1])
    return lines


def lines_of_sampling() -> dict[str, tuple[Array, Array]]:
    """Releases and gradients of Algorithm 7, by evaluator, sampler and dimension: extensions on a line ask for a search
    at every cell or node and at the anchor, Algorithm 6 for its proved steps at each, closed forms for nothing.
    """
    m, count, C, weight = 40, 32, 0.5, 0.8
    lines = {}
    kinds = [(d, "cells", evaluator) for d in (1, 2) for evaluator in ("exact", "alg-6")]
    for d, sampler, evaluator in [*kinds, (1, "hit-and-run", "exact")]:
        at = told(d)
        fields: dict[str, Any] = {"k": K, "lambda_": weight, "C": C}
        algorithm = LocalizedApproxEM(**fields, count=count, sampler=sampler, evaluator=evaluator)  # type: ignore[arg-type]
        plan = algorithm.schedule(at, m)
        first = OutputPertLocalize(**fields, zeta=3.0).schedule(told(d, EPSILON / 2), m)
        D_0 = 600 * C * d / (weight * EPSILON * m)
        Delta_0 = 2 * C * D_0 / m
        alpha_in = min(Delta_0 / 512, C * D_0 * d / (512 * m * EPSILON))
        slack = alpha_in / 2 if evaluator == "alg-6" else 0.0
        steepest = G_K * (m / at.failure_probability) ** (1 / K)
        calls = float(first.gradients)
        if evaluator == "alg-6":
            calls += 2 * m * count * math.ceil((3 * D * (steepest + C) / (alpha_in / 4)) ** 2)
        elif d == 1:
            calls += LINE_CALLS * m * ((count if sampler == "cells" else count * NODES) + 1)
        read, law = plan.releases[-1].reads[0], plan.releases[-1].law
        what = f"{sampler}, {evaluator}, d = {d}"
        lines[f"gradients of {what}"] = numbers(plan.gradients), numbers(calls)
        lines[f"the release of {what}"] = (
            numbers(read.start, read.stop, read.sensitivity, law.coefficient, plan.phases[-1].gap),  # type: ignore[attr-defined]
            numbers(0, m, Delta_0 + slack, EPSILON / 4 / (2 * Delta_0), slack),
        )
        lines[f"the localisation of {what}"] = (
            numbers(plan.releases[0].reads[0].sensitivity, plan.phases[0].radius, plan.phases[0].noise),
            numbers(first.releases[0].reads[0].sensitivity, D_0, first.phases[0].noise),
        )
    return lines


def lines_of_calls() -> dict[str, tuple[Array, Array]]:
    """Gradients that output perturbation plans: a search on a line, accelerated steps for smooth losses above it, the
    proved steps of a subgradient method over the set that its stage has.
    """
    m, C, lines = 20, 0.5, {}
    for d, weight in ((1, 0.8), (2, 1e-9), (2, 0.8), (2, 3000.0)):
        at = told(d)
        passes = max(HALVINGS + 2, 2 * acceleration_limit(2.0, weight) if d > 1 else 0)
        steepest = G_K * (m / at.failure_probability) ** (1 / K)
        radius = 100 * 3 * C * d / (weight * m * EPSILON / 2)
        steps = []
        for parts, own in ((2, D), (72, min(D, 2 * radius)), (72, D)):  # the gap is C^2/(parts lambda m^2)
            norms = math.sqrt(m * D**2 + own**2) * (steepest + 2 * C + weight * D)
            steps.append(m * math.ceil((3 * norms * parts * weight * m**2 / C**2) ** 2))
        whole = steps.pop()
        fields: dict[str, Any] = {"k": K, "lambda_": weight, "C": C}
        joint = {**fields, "minimiser": JointSubgradient()}
        solvers: dict[str, tuple[PrivateErm, float]] = {
            "Algorithm 2": (OutputPertLocalize(**fields), m * passes),
            "one stage": (SingleOutputPert(**fields), m * passes),
            "Algorithm 4": (DoubleOutputPert(**fields), 2 * m * passes),
            "Algorithm 2, subgradients": (OutputPertLocalize(**joint), steps[0]),
            "Algorithm 4, subgradients": (DoubleOutputPert(**joint), sum(steps)),
            "one stage, subgradients": (SingleOutputPert(**joint), whole),
        }
        for said, (solver, calls) in solvers.items():
            lines[f"{said}, d = {d}, lambda = {weight:g}"] = numbers(solver.schedule(at, m).gradients), numbers(calls)
    return lines


def cells_by_hand(centre: Array, radius: float, count: int, half: float) -> tuple[Array, Array]:
    """Sectors of rings of the disc of radius `half`, within `radius` of a centre (2,), and the logarithms of their
    sizes: a ray that leaves the disc at once has cells of the smallest size.
    """
    rays = max(8, round(math.sqrt(2 * count)))
    rings = max(1, count // rays)
    points, sizes = [], []
    for i in range(rays):
        turn = 2 * math.pi * (i + 0.5) / rays
        ray = np.array([math.cos(turn), math.sin(turn)])
        along = float(centre @ ray)
        reach = min(radius, -along + math.sqrt(max(0.0, along**2 + half**2 - float(centre @ centre))))
        for j in range(rings):
            share = (j + 0.5) / rings
            points.append(centre + reach * share * ray)
            sizes.append(math.log(max(reach**2 * share, SMALLEST * radius**2)))
    return np.array(points), np.array(sizes) - max(sizes)


def way_out(w: Array, way: Array, radius: float) -> Array:
    """How far it is from w along unit vectors to the sphere of this radius around 0: (trials, d) -> (trials, 1)."""
    along = (w * way).sum(axis=1, keepdims=True)
    return np.asarray(-along + np.sqrt(radius**2 - (w**2).sum(axis=1, keepdims=True) + along**2))
