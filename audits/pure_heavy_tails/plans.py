"""Plans once more by hand, at constants that differ from norm to norm: what depends on the solver, and what it says."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from dpcheck.algorithms.pure_heavy_tails import (
    EMPGM,
    DoubleOutputPert,
    LocalizedApproxEM,
    OutputPertLocalize,
    PopLocalize,
    SingleOutputPert,
    SmoothedEMPGM,
)
from dpcheck.algorithms.pure_heavy_tails.erm import PrivateErm
from dpcheck.algorithms.pure_heavy_tails.sampling import NODES
from dpcheck.interfaces import Array, Constants, Problem
from dpcheck.privacy import PureDP
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


def phases_by_hand(
    erm: PrivateErm, n: int, J: int, resolution: float
) -> tuple[list[float], list[float], list[tuple[int, ...]]]:
    """Weights, precisions and (t, first record, records a block), until blocks are empty or 3 Delta/lambda is small."""
    at = told()

    def precision(m: int, weight: float) -> float:
        c = replace(erm, lambda_=weight).c_erm(at, m)
        return c * (unit(1, m) + G_2 / math.sqrt(m)) + math.sqrt(20 / m) * G_2

    first_m = n // 2 // J
    weight = float(
        scipy.optimize.brentq(lambda x: x - 20 * precision(first_m, x) / D, 1e-9, 1e9, xtol=1e-13, rtol=1e-14)
    )
    weights, precisions, places, start, t = [], [], [], 0, 1
    while n // 2**t // J >= 1:
        m = n // 2**t // J
        weights.append(weight * 32 ** (t - 1))
        precisions.append(precision(m, weights[-1]))
        places.append((t, start, m))
        if 3 * precisions[-1] / weights[-1] < resolution * D:
            break
        start, t = start + n // 2**t, t + 1
    return weights, precisions, places


def lines_of_phases(erm: PrivateErm, n: int, J: int, resolution: float) -> dict[str, tuple[Array, Array]]:
    """What Algorithm 1 plans, and tells its bound, against the same by hand."""
    at, algorithm = told(), PopLocalize(erm=erm, blocks=J, resolution=resolution)
    weights, precisions, places = phases_by_hand(erm, n, J, resolution)
    rows = list(algorithm.phases(at, n))
    said = PopLocalize(erm=erm, blocks=J, resolution=resolution).terms(at, n)
    margin = erm.success - 0.05 - 0.5
    proved = math.ceil(math.log(math.ceil(math.log2(n)) / 0.1) / (2 * margin**2))
    own = PopLocalize(erm=erm, resolution=resolution)
    many = 200 * n  # with as many blocks as are proved
    whole, (w, p, _) = own.terms(at, many), phases_by_hand(erm, many, own.repetitions(at, many), resolution)
    blocks = math.ceil(math.log(math.ceil(math.log2(many)) / 0.1) / (2 * margin**2))
    known = {"k", "G_k"}
    return {
        "phases": (numbers(*[row[:3] for row in rows]), numbers(*places)),
        "weights": (numbers(*[row[3] for row in rows]), numbers(*weights)),
        "precisions": (numbers(*[row[4] for row in rows]), numbers(*precisions)),
        "blocks": (numbers(own.repetitions(at, n), own.repetitions(at, many)), numbers(proved, blocks)),
        "told of few blocks": (numbers(said.keys() == known, said["k"], said["G_k"]), numbers(True, K, G_K)),
        "told of a wide chance": (numbers(own.terms(told(chance=0.6), many).keys() == known), numbers(True)),
        "told of an unproved solver": (
            numbers(replace(own, erm=replace(erm, C=1.0)).terms(at, many).keys() == known), numbers(True),
        ),
        "weights told": (numbers(*whole.get("lambda[i]", ())), numbers(*w)),
        "precisions told": (numbers(*whole.get("Delta[i]", ())), numbers(*p)),
        "phases told": (numbers(whole.get("l", 0)), numbers(len(w))),
    }  # fmt: skip


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
        found = [terms.get(name, math.nan) for name in ("m", "lambda", "k", "G_k")]
        lines[f"told {said}"] = numbers(*found), numbers(m, 0.3, K, G_K)
    levels = [
        solver.success for solver in (SingleOutputPert(), DoubleOutputPert(), SmoothedEMPGM(), LocalizedApproxEM())
    ]
    lines["how often"] = numbers(*levels), numbers(0.8, 0.7, 0.65, 0.65)
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
            calls += LINE_CALLS * m * (count + 1 if sampler == "cells" else count * (NODES + 1))
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
