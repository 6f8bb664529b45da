"""The printed lines of Algorithms 1 to 4, recomputed from what their runs tossed and released."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.algorithms.lp_spaces import (
    ApproximateObjectivePerturbation,
    NoisyMirrorDescent,
    ShuffledMirrorDescent,
    StronglyConvexObjectivePerturbation,
)
from dpcheck.algorithms.lp_spaces.regular import dual_regularity
from dpcheck.algorithms.solvers import Pushed
from dpcheck.checks import Context, check
from dpcheck.engine.statements import explicit_of
from dpcheck.geometry import Ball
from dpcheck.geometry.norms import dual_norm
from dpcheck.harness.budget import with_budget
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Array
from dpcheck.running import Fixed, Run
from dpcheck.symbols import L, T, delta, epsilon, kappa, n
from dpcheck.verdicts import Verdict, combine, differs
from dpcheck.workloads import QuadraticMean, signs_on

from ._instances import CORRECTED, DELTA, heavy, huber, problem, quadratic

# Algorithms 1 and 2 --------------------------------------------------------------------------------------------------


@check("lp_spaces/alg-1", kind="accuracy", grid={"solver": ("exact", "pushed")})
def lines_of_algorithm_1(context: Context, *, solver: str) -> Verdict:
    """Mean estimation on a ball: theta_1 = Proj((mean - G/n)/(1 + 2 lambda)), an alpha-minimiser next to it, H onto it;
    both variances as printed, also where the optimiser uses up its alpha.
    """
    lambda_, alpha = 0.4, 1e-3
    algorithm = ApproximateObjectivePerturbation(
        lambda_=lambda_, alpha=alpha, optimizer=Pushed() if solver == "pushed" else None
    )
    second = 64 * alpha * math.log(2.5 / DELTA) / (lambda_ * 0.9**2)
    return perturbation(context, algorithm, quadratic(Ball(3, 0.5), 0.5), 40, lambda_, alpha, second)


@check("lp_spaces/alg-2", kind="accuracy", grid={"rule": ("paper", "diam", "fixed"), "records": (4, 200)})
def lines_of_algorithm_2(context: Context, *, rule: str, records: int) -> Verdict:
    """The same for Algorithm 2 under each rule for lambda, with the alpha of Theorem 4 and its own second variance."""
    domain, D, m = Ball(3, 1.0), 2.0, records
    work = QuadraticMean(*signs_on(domain, 0.4, 0.5), domain, 1.0, 1.0)  # wider than 1, so that the rules differ
    modulus, log = work.constants.extra["modulus"], math.log(1 / DELTA)
    taken = {"paper": modulus, "diam": modulus / D**2, "fixed": (1 - 1 / m) * modulus / (D**2 / 2)}[rule]
    size, width = work.constants.lipschitz(2.0), work.constants.extra["width"]
    alpha = size**4 * D**6 * 0.9**2 / (modulus**3 * m**4 * width**2 * log)
    alpha = min(1.0, size**2 * D**2 / (modulus * m**2), alpha)
    lambda_ = max(3 / (0.9 * m) - taken, 0.0)
    solver = Pushed() if lambda_ > 0 else None  # it knows the curvature of the regulariser only
    algorithm = StronglyConvexObjectivePerturbation(lambda_rule=rule, optimizer=solver)  # type: ignore[arg-type]
    second = 64 * alpha * math.log(2.5 / DELTA) * D**2 / (modulus * 0.9**2)
    return perturbation(context, algorithm, work, m, lambda_, alpha, second)


def perturbation(
    context: Context, algorithm: Any, work: QuadraticMean, records: int, lambda_: float, alpha: float, second: float
) -> Verdict:
    """One run of many trials against the printed lines, given lambda, alpha and the variance of H."""
    radius = work.domain.diameter() / 2
    plan, trials = algorithm.schedule(problem(work, 0.9), records), context.scale(40, 400)
    row, rows = plan.phases[0], work.rows(context.rng("data"), trials, records)
    run = Run[Any](plan, trials, context.rng("run"))
    out = algorithm.execute(run, work, Fixed(rows), np.zeros((1, 3)))
    (G,), mean = run.transcript.coins, rows.mean(axis=1)
    first = float(explicit_of("lp_spaces/alg-1").subs({L: work.constants.lipschitz(2.0), delta: DELTA, epsilon: 0.9}))

    def project(w: Array) -> Array:
        return np.asarray(w * np.minimum(1.0, radius / np.linalg.norm(w, axis=1, keepdims=True)))

    def objective(w: Array) -> Array:
        return np.asarray(
            ((w - mean) ** 2).sum(axis=1) / 2 + (G * w).sum(axis=1) / records + lambda_ * (w**2).sum(axis=1)
        )

    best = project((mean - G / records) / (1 + 2 * lambda_))
    minimiser = run.transcript.entries[1]
    gap = objective(minimiser.core) - objective(best)
    rounding = 16 * np.finfo(float).eps * (1 + np.abs(objective(best)).max())
    if gap.max() > alpha * (1 + 1e-6) + rounding or gap.min() < -rounding:
        return differs(f"the optimiser is off by {gap.max():.6g}, alpha = {alpha:.6g}", "exact")
    scales = [row.sigma_1**2, row.sigma_2**2, row.lambda_ + 1, row.alpha]
    return combine(
        [
            agree(scales, [first, second, lambda_ + 1, alpha], "variances of G and H, 1 + lambda, alpha"),
            agree((run.transcript.entries[0].core + 1).ravel(), (best + 1).ravel(), "1 + theta_1"),
            agree((out + 1).ravel(), (project(minimiser.output) + 1).ravel(), "1 + the projected output"),
        ]
    )


# Algorithms 3 and 4 --------------------------------------------------------------------------------------------------


def inverse_map(y: Array, p: float, exponent: str = "corrected") -> Array:
    """grad Phi*(y) = |y|_r^(2-r) |y|^(r-1) sgn y/kappa, written out; r = kappa, the conjugate of kappa/(kappa - 1), for
    the printed exponent.
    """
    found = dual_regularity(p, y.shape[-1])
    printed = min(1 / (p - 1), 2 * math.log(y.shape[-1]))
    r, scale = (printed, printed) if exponent == "paper" else (found.r, found.kappa)
    size = (np.abs(y) ** r).sum(axis=-1, keepdims=True) ** (1 / r)
    safe = np.where(size > 0, size, 1.0)
    return np.asarray(safe ** (2 - r) * np.abs(y) ** (r - 1) * np.sign(y) / scale)


READINGS = {"paper": {"exponent": "paper", "kappa_rule": "paper"}, "corrected": CORRECTED}


@check("lp_spaces/alg-3", kind="accuracy", grid={"p": (1.2, 1.5, 1.8)})
def lines_of_algorithm_3(context: Context, *, p: float) -> Verdict:
    """As printed: Phi with the exponent kappa/(kappa - 1), kappa = min{1/(p-1), 2 log d} in it and in the noise."""
    return _descent(context, p, "beta", "paper")


@check("lp_spaces/alg-3@corrected", kind="accuracy", grid={"p": (1.2, 1.5, 1.8), "step": ("beta", "two-beta")})
def lines_with_the_dual_exponent(context: Context, *, p: float, step: str) -> Verdict:
    """The same with the exponent (kappa + 1)/kappa and the kappa of Definition 3, and with 2 beta in the step."""
    return _descent(context, p, step, "corrected")


def _descent(context: Context, p: float, step: str, reading: str) -> Verdict:
    """grad Phi(w_{t+1}) = (b grad Phi(w_t) - g_t)/(b + alpha) from the released g_t, b = beta or 2 beta: its gradients
    are those of the w_t, its output their average with weights a^t; and the printed variance.
    """
    work, size, steps, trials = huber(3), 400, 12, context.scale(20, 200)
    algorithm = NoisyMirrorDescent(p=p, steps=steps, step=step, **READINGS[reading])  # type: ignore[arg-type]
    plan = algorithm.schedule(problem(work, 0.9), size)
    run, rows = Run[Any](plan, trials, context.rng("run")), work.rows(context.rng("data"), 1, size)
    out = algorithm.execute(run, work, Fixed(rows), np.zeros((1, 3)))
    alpha, weight = 4 / steps * math.log2(size / steps), 1.0 if step == "beta" else 2.0
    y, w, total, weights, cores = np.zeros((trials, 3)), np.zeros((trials, 3)), 0.0, 0.0, []
    for t, entry in enumerate(run.transcript.entries, start=1):
        cores.append(work.gradient(w[:, None], rows).mean(axis=1))
        y = (weight * y - entry.output) / (weight + alpha)
        w = inverse_map(y, p, reading)
        total, weights = total + (1 + alpha / 2) ** t * w, weights + (1 + alpha / 2) ** t
    released = np.stack([entry.core for entry in run.transcript.entries])
    regular = dual_regularity(p, 3).kappa if reading == "corrected" else min(1 / (p - 1), 2 * math.log(3))
    stated = explicit_of("lp_spaces/alg-3").subs({L: 1, kappa: regular, T: steps, n: size, epsilon: 0.9, delta: DELTA})
    return combine(
        [
            agree([plan.phases[0].sigma ** 2], [float(stated)], "variance"),
            agree(released.ravel() + 1, np.stack(cores).ravel() + 1, "1 + mean gradients", 1e-8),
            agree(out.ravel() + 1, (total / weights).ravel() + 1, "1 + weighted average", 1e-8),
        ]
    )


@check("lp_spaces/alg-4", kind="accuracy", grid={"p": (1.5, 1.8), "level": (0.2, 3.0)})
def lines_of_algorithm_4(context: Context, *, p: float, level: float) -> Verdict:
    """As printed, on the ball of the norm of the printed exponent kappa/(kappa - 1): 2 for p = 3/2, 5 for p = 9/5."""
    return _truncated(context, p, level, "paper")


@check("lp_spaces/alg-4@corrected", kind="accuracy", grid={"p": (1.5, 1.8), "level": (0.2, 3.0)})
def truncated_lines_with_the_dual_exponent(context: Context, *, p: float, level: float) -> Verdict:
    """The same with the exponent (kappa + 1)/kappa and the kappa of Definition 3."""
    return _truncated(context, p, level, "corrected")


def _truncated(context: Context, p: float, level: float, reading: str) -> Verdict:
    """Gradients above beta M + lambda are zero, the others whole; every step minimises <g, w> + gamma D_Phi(w, w_t)
    over the ball; the output is the plain average.

    w minimises over {|w|_s <= rho} iff <s, w> = -rho |s|_* at s = g + gamma (grad Phi(w) - grad Phi(w_t)).
    """
    size, steps, trials = 4096, 16, context.scale(3, 20)
    dual, space = min(1 / (p - 1), 2 * math.log(3)), dual_regularity(p, 3)
    r, s_exponent = (dual, dual / (dual - 1)) if reading == "paper" else (space.r, space.s)
    work = replace(heavy(3, p), s=s_exponent)
    algorithm = ShuffledMirrorDescent(p=p, steps=steps, threshold=level, noise_dial=0.3 / level, **READINGS[reading])
    told = problem(work, 0.05, 1e-3)
    plan = algorithm.schedule(told, size)
    (row,), rows = plan.phases, work.rows(context.rng("data"), trials, size)
    run = Run[Any](plan, trials, context.rng("run"))
    out = algorithm.execute(run, work, Fixed(rows), np.zeros((1, 3)))
    order = run.transcript.coins[0]
    blocks = np.take_along_axis(rows, order[:, :, None], axis=1).reshape(trials, steps, -1, 3)
    bound = work.constants.diameter(p) * work.constants.smoothness(p) + level  # beta M + lambda
    w, total = np.zeros((trials, 3)), np.zeros((trials, 3))
    wanted: list[Array] = []
    slack: list[Array] = []
    cut: list[float] = []
    ends: list[float] = []
    slope = np.zeros((trials, 3))
    for t, entry in enumerate(run.transcript.entries):
        gradients = work.gradient(w[:, None], blocks[:, t])
        keep = dual_norm(gradients, p) <= bound
        wanted.append(np.where(keep[..., None], gradients, 0.0))
        cut.append(1 - keep.mean())
        noisy = entry.output.mean(axis=1)
        after = inverse_map(slope - noisy / math.sqrt(steps), p, reading)
        length = (np.abs(after) ** s_exponent).sum(axis=1, keepdims=True) ** (1 / s_exponent)
        w, before = after * np.minimum(1.0, work.radius / length), slope
        slope = (slope - noisy / math.sqrt(steps)) * np.minimum(1.0, work.radius / length)  # of degree 1
        s = noisy + math.sqrt(steps) * (slope - before)
        edge = work.radius * (np.abs(s) ** r).sum(axis=1) ** (1 / r)
        slack.append(((s * w).sum(axis=1) + edge) / (1 + edge))
        ends.append((length > work.radius).mean())
        total = total + w / steps
    released = np.stack([entry.core for entry in run.transcript.entries])
    shares = float(np.mean(cut)), float(np.mean(ends))
    if not all(0 < share < 1 for share in shares):
        return differs(
            f"shares of {shares} of gradients are cut and of steps end at the edge: all kinds wanted", "exact"
        )
    found = combine(
        [
            agree([row.level, row.gamma], [bound, math.sqrt(steps)], "threshold and gamma"),
            agree(released.ravel() + 1, np.stack(wanted).ravel() + 1, "1 + truncated gradients", 1e-8),
            agree(1 + np.stack(slack).ravel(), np.ones(np.size(slack)), "1 + slack of the optimality", 1e-8),
            agree(out.ravel() + 1, total.ravel() + 1, "1 + average", 1e-8),
        ]
    )
    return with_budget(found, plan, told, size)
