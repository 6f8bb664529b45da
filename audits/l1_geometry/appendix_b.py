"""Appendix B: the steps, phases, risk and cost of Algorithms 5 and 6, next to the risk of Algorithm 2."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.algorithms.l1_geometry import (
    GeneralLocalizedMirrorDescent,
    GeneralNoisyMirrorDescent,
    LocalizedMirrorDescent,
)
from dpcheck.asymptotics import Regime, compare, verify
from dpcheck.checks import Context, check
from dpcheck.engine.catalogue import claim
from dpcheck.geometry import PowerMap
from dpcheck.geometry.norms import dual_norm
from dpcheck.harness import risk, runtime
from dpcheck.harness.symbolic import agree
from dpcheck.privacy import ApproxDP
from dpcheck.running import Fixed, Run
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Verdict, combine, inconclusive, refuted

from ._instances import DIALLED, Seen, linear, problem
from .section_3_localised import SIZES, moves_its_phase_alone

# Algorithm 5 ---------------------------------------------------------------------------------------------------------


@check("l1_geometry/alg-5", kind="accuracy", grid={"p": (1.25, 1.5, 2.0), "R": (1e6, 0.5)})
def steps_solve_their_mirror_problem(context: Context, *, p: float, R: float) -> Verdict:
    """Linear losses on an l_p ball, far and near: every iterate minimises <g, x> + D_h(x, x_k)/eta, and the output is
    their plain average.

    x minimises over the ball of radius R iff <s, x> = -R |s|_q at s = g + (grad h(x) - grad h(x_k))/eta; far from the
    edge s is 0, and grad h(x_{k+1}) = -eta (g_1 + ... + g_k).
    """
    work = linear(4, shape="lp", p=p, R=R)
    algorithm = GeneralNoisyMirrorDescent(p=p, batch=5, c_sigma=1.0, distance=1.0 if R > 1 else 20 * R)
    plan, trials = algorithm.schedule(problem(work), 25), context.scale(10, 100)
    run, seen = Run[Any](plan, trials, context.rng("noise")), Seen(work)
    out = algorithm.execute(run, seen, Fixed(work.rows(context.rng("data"), 1, 25)), np.zeros((1, 4)))  # type: ignore[arg-type]
    row, x = plan.phases[0], np.stack(seen.points)
    noisy = np.stack([entry.output for entry in run.transcript.entries])[:-1]
    slope = PowerMap(p, 1 / (p - 1)).gradient(x)
    if R > 1:
        steps = agree(slope[1:].ravel(), (-row.eta * np.cumsum(noisy, axis=0)).ravel(), "dual iterates", 1e-8)
    else:
        s = noisy + np.diff(slope, axis=0) / row.eta
        size = 1 + dual_norm(noisy, p)
        edge = R * dual_norm(s, p)
        steps = agree(
            (1 - (s * x[1:]).sum(axis=-1) / size).ravel(), (1 + edge / size).ravel(), "optimality of the steps", 1e-7
        )
        share = float((edge > 1e-6).mean())
        steps = replace(steps, numbers={**steps.numbers, "share at the edge": share})
        if not 0 < share < 1:
            return refuted(f"a share of {share:.3g} of the steps ends at the edge: both kinds are wanted", "exact")
    average = agree(out.ravel() + 10, x.mean(axis=0).ravel() + 10, "10 + average of the iterates", 1e-9)
    return steps if average.outcome == "holds" else average


# Algorithm 6 ---------------------------------------------------------------------------------------------------------


@check("l1_geometry/alg-6", kind="sensitivity", grid={"p": (1.25, 1.5, 2.0)})
def a_record_moves_its_general_phase_alone(context: Context, *, p: float) -> Verdict:
    """Replayed: a record of phase 2 moves no other phase, and its own by a whole number of d^(1/2 - 1/q) 2L/b."""
    return moves_its_phase_alone(context, GeneralLocalizedMirrorDescent(p=p, distance=1.0), linear(3, R=50.0))


@check("l1_geometry/alg-2", kind="risk")
def regret_of_the_phases(context: Context) -> Verdict:
    """E F(x_k) - F(y) against the phases' bound at the y = x_0 - s e_1 that makes it tightest; noise dialled.

    The bound of Theorem 4, y = x*, exceeds the range of the loss below n of about 10^6; near the start it does not.
    """
    return _regret(context, LocalizedMirrorDescent(c_sigma=DIALLED, distance=1.0), 8192, context.scale(22, 40))


@check("l1_geometry/alg-6", kind="risk")
def regret_of_the_general_phases(context: Context) -> Verdict:
    """The same at p = 2, where no norm is converted."""
    return _regret(context, GeneralLocalizedMirrorDescent(c_sigma=DIALLED, distance=1.0), 4096, context.scale(30, 100))


def _regret(context: Context, algorithm: LocalizedMirrorDescent, n: int, trials: int) -> Verdict:
    slope, work = 0.95, linear(2, 0.95, R=50.0)
    told = problem(work, ApproxDP(1.0, 0.4))
    first, reach = next(iter(algorithm.phases(told, n))), slope * algorithm.movement(told, n)
    at_once = first.eta_i * first.records * (first.p - 1)
    away = slope * at_once / 2  # maximises slope s - s^2/at_once
    bound = algorithm.risk_bound(told, n, away)
    rows = work.rows(context.rng("data"), trials, n)
    point = algorithm.fit(work, Fixed(rows), told, rng=context.rng("runs"), trials=trials)
    # Regret plus reach - slope away is F(x_k) - F(x_0) + reach, which lies in [0, 2 reach] surely.
    raised, limit = bound - slope * away + reach, 2 * reach
    if raised >= limit:
        said = f"the bound {bound - slope * away:.4g} on E F(x_k) - F(x_0) is vacuous: {reach:.4g} is never exceeded"
        return inconclusive(said, "exact", numbers={"bound": bound, "reach": reach})
    found = risk.expectation(
        np.maximum(0.0, slope * point[:, 0] + reach), raised, context.failure_probability, limit=limit * (1 + 1e-9),
        quantity="F(x_k) - F(x_0), raised by what the phases can move,", x=float(n),
    )  # fmt: skip
    return replace(found, numbers={**found.numbers, "regret bound": bound, "|y - x_0|": away, "reach": reach})


# Theorems 5 and 13: gradients ----------------------------------------------------------------------------------------


def _planned(rule: str, p: float, d: int, epsilon: float, n: int) -> float:
    """Gradients of Algorithm 6, by its schedule; 0 where no phase can be run."""
    algorithm = GeneralLocalizedMirrorDescent(p=p, batch_rule=rule)  # type: ignore[arg-type]
    return float(sum(row.T * row.b for row in algorithm.phases(problem(linear(d), ApproxDP(epsilon, 1e-5)), n)))


@check("l1_geometry/thm-5", kind="runtime", grid={"p": (1.25, 2.0), "d": (4, 1024), "epsilon": (0.01, 1.0)})
def stated_gradients_are_enough(context: Context, *, p: float, d: int, epsilon: float) -> Verdict:
    """Algorithm 6 with batches of sqrt(d)/eps_i, planned up to n = 2^40: at most n^(3/2) sqrt(log2 d) and
    n^2 eps/sqrt d with a constant below 1, without the stated factor log n; a run at n = 256 asks for what is planned.
    """
    if epsilon == 1.0 and d == 4:
        algorithm, work = GeneralLocalizedMirrorDescent(p=p, batch_rule="gradients"), linear(d)
        counts = runtime.count(algorithm, work, problem(work), 256, 1, context.seed, "count", p)
        if float(counts.gradients.max()) != _planned("gradients", p, d, epsilon, 256):
            return refuted(f"{counts.gradients.max():,.0f} gradients counted, the plan differs", "counted")
    verdicts, at = [], {"d": d, "epsilon": epsilon}
    for n in SIZES:
        spent = _planned("gradients", p, d, epsilon, n)
        bound, stated = (
            float(claim(f"l1_geometry/{of}").evaluate(n=n, **at)) for of in ("thm-4@corrected", "thm-5@derived")
        )
        if spent:
            verdicts.append(runtime.verdict(spent, min(bound, stated), x=float(n), series=f"p = {p:g}"))
    return combine(verdicts)


@check("l1_geometry/thm-13", kind="runtime", expect="inconclusive")
def printed_batches_against_the_stated_count(context: Context) -> Verdict:
    """Algorithm 6 as printed at d = sqrt n, eps = 1/sqrt n: n^2 sqrt(eps/d) is larger by n^(1/4)/log n than stated."""
    n, e, d = (BY_NAME[x] for x in ("n", "epsilon", "d"))
    half = sp.Rational(1, 2)
    found = compare(n**2 * sp.sqrt(e / d), n**2 * e / sp.sqrt(d), Regime(ties={d: n**half, e: n**-half}))
    verify(found)
    numbers = {}
    for size in (2**14, 2**20, 2**28, 2**40):
        root = math.isqrt(size)
        spent = _planned("printed", 1.5, root, 1 / root, size)
        stated = float(claim("l1_geometry/thm-5@derived").evaluate(n=size, d=root, epsilon=1 / root))
        numbers[f"planned over stated at n = {size:,}"] = spent / stated
    said = f"the printed batch costs an order that is {found.relation}; planned over stated is at most "
    said += f"{max(numbers.values()):.3g} up to n = 2^40, and the O hides a constant"
    return inconclusive(said, "symbolic", numbers=numbers)


@check("l1_geometry/thm-13@corrected", kind="runtime", grid={"p": (1.02, 1.25, 2.0), "d": (4, 1024)})
def gradients_of_balanced_batches(context: Context, *, p: float, d: int) -> Verdict:
    """b_i = sqrt((p-1) n_i), which the rate needs, costs up to 0.55 n^(3/2)/sqrt(p-1): above n^(3/2) sqrt(log d) where
    p - 1 < 1/log d.
    """
    verdicts = []
    for n in SIZES:
        spent = _planned("balanced", p, d, 1.0, n)
        if spent:
            verdicts.append(runtime.verdict(spent, 0.55 * n**1.5 / math.sqrt(p - 1), x=float(n), series=f"p = {p:g}"))
    return combine(verdicts)
