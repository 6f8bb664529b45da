"""Appendix F.3: sampling from scores that are nearly right."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dpcheck.algorithms.pure_heavy_tails import LocalizedApproxEM
from dpcheck.algorithms.pure_heavy_tails.sampling import (
    NODES,
    ROUNDING,
    cells,
    chord,
    gibbs_linear,
    hit_and_run,
)
from dpcheck.auditing.exact import exact_epsilon
from dpcheck.checks import Context, by_size, check, unchecked
from dpcheck.engine.statements import stated
from dpcheck.harness.relations import judged
from dpcheck.interfaces import Array, Sample, Schedule
from dpcheck.laws import Exponential
from dpcheck.running import Run
from dpcheck.verdicts import Point, Verdict, consistent, differs, holds, refuted, undecided
from dpcheck.workloads.linear import SparseDirection
from dpcheck.workloads.radial import RadialHeavyTail

from . import plans
from .cases import problem
from .lemmas import as_printed, norms_apart, onto_ball, potential, small, told, wide

# The sampler ---------------------------------------------------------------------------------------------------------

lem_f_3_time = unchecked(
    "pure_heavy_tails/lem-f-3",
    "the sampler of [LL25, Theorem 3.9] is a cited black box without constants: its time is not run, only the "
    "elementary part, that an evaluator's error of zeta moves the Gibbs law by 2 zeta at most",
)


@check("pure_heavy_tails/lem-f-3@derived", kind="privacy")
def perturbed_gibbs(context: Context) -> Verdict:
    """Potentials within zeta of each other have Gibbs laws within e^(2 zeta): random ones, and one that attains it."""
    rng, zeta, worst, law = context.rng("potentials"), 0.3, 0.0, Exponential(1.0)
    for count in (2, 50, 5000):
        psi = rng.exponential(2.0, size=(30, count))
        moved = psi + rng.uniform(-zeta, zeta, size=psi.shape)
        for a, b in zip(psi, moved, strict=True):
            worst = max(worst, exact_epsilon(law.probabilities(a[None])[0], law.probabilities(b[None])[0]))
        # One unlikely candidate moves against all the others.
        a, b = np.zeros((1, count)), np.full((1, count), zeta)
        a[0, 0], b[0, 0] = 30.0, 30.0 - zeta
        worst = max(worst, exact_epsilon(law.probabilities(a)[0], law.probabilities(b)[0]))
    bound = stated("pure_heavy_tails/lem-f-3@derived", zeta=zeta)
    numbers = {"largest log-ratio": worst, "bound": bound}
    said = f"log-ratios up to {worst:.9g}, 2 zeta = {bound:g} allowed"
    if worst > bound * (1 + 1e-9):
        return refuted(said, "exact", numbers=numbers)
    if worst < 0.999 * bound:
        return undecided(f"{said}: not approached", "exact", numbers=numbers)
    return holds(f"{said}; by hand, density and normaliser move by e^zeta each", "certificate", numbers=numbers)


@check("pure_heavy_tails/lem-f-3@derived", kind="privacy")
def errors_of_scores_and_of_sampling_add_up(context: Context) -> Verdict:
    """A law within xi of the Gibbs law of scores that err by zeta is within what Lemma F.3 allows its sampler of the
    Gibbs law: random ones, and one that attains it.
    """
    rng, zeta, xi, law = context.rng("laws"), 0.3, 0.2, Exponential(1.0)
    bound = stated("pure_heavy_tails/lem-f-3", zeta=zeta, xi=xi)
    psi = rng.exponential(2.0, size=(30, 40))
    moved = psi + rng.uniform(-zeta, zeta, size=psi.shape)
    drawn = max(
        exact_epsilon(exact, _tilted(near, rng, xi))
        for exact, near in zip(law.probabilities(psi), law.probabilities(moved), strict=True)
    )
    # One unlikely candidate moves against all the others, and the sampler takes it too often.
    score = 30.0
    exact, near = law.probabilities(np.array([[score, 0.0], [score - zeta, zeta]]))
    often = near[0] * math.exp(xi)
    attained = exact_epsilon(exact, np.array([often, 1 - often]))
    said = f"log-ratios up to {drawn:.9g}, and {attained:.9g} on two candidates; 2 zeta + xi = {bound:g} allowed"
    numbers = {"largest on random laws": drawn, "attained": attained, "bound": bound}
    if max(drawn, attained) > bound * (1 + 1e-9):
        return refuted(said, "exact", numbers=numbers)
    if attained < bound * (1 - 1e-9):
        return undecided(f"{said}: not attained", "exact", numbers=numbers)
    return holds(f"{said}; by hand, the log-ratios add up", "certificate", numbers=numbers)


@check("pure_heavy_tails/lem-f-4", kind="privacy")
def composition_of_divergences(context: Context) -> Verdict:
    """(epsilon_0 + 2 rho)-DP from two-sided D_inf <= rho: random laws and an attaining one; one-sided it would fail."""
    rng, eps, slack, worst, one_sided = context.rng("laws"), 0.4, 0.15, 0.0, 0.0
    bound = stated("pure_heavy_tails/lem-f-4", epsilon=eps, rho=slack)
    for count in (2, 3, 40):
        for _ in range(context.scale(60, 1000)):
            mu = rng.dirichlet(np.full(count, 0.5)) + 1e-6
            mu /= mu.sum()
            other = _tilted(mu, rng, eps)
            near, far = _tilted(mu, rng, slack), _tilted(other, rng, slack)
            worst = max(worst, exact_epsilon(near, far))
    small = 1e-9  # an atom so light that it can carry the three ratios in full
    laws = [np.array([small * math.exp(s), 1 - small * math.exp(s)]) for s in (-slack, 0.0, eps, eps + slack)]
    attained = exact_epsilon(laws[0], laws[3])
    # One-sided: sup mu~/mu = 2 only, and the approximate laws share no atom at all.
    one_sided = exact_epsilon([1.0, 0.0], [0.0, 1.0])
    numbers = {"largest on random laws": worst, "attained": attained, "bound": bound, "one-sided": one_sided}
    said = f"epsilon at most {max(worst, attained):.6g}, {bound:.6g} claimed; with one-sided D_inf it is {one_sided}"
    if max(worst, attained) > bound * (1 + 1e-6):
        return refuted(said, "exact", numbers=numbers)
    if attained < bound * (1 - 1e-6):
        return undecided(f"{said}: not attained", "exact", numbers=numbers)
    return holds(f"{said}; by hand, three log-ratios add up", "certificate", numbers=numbers)


def _tilted(law: Array, rng: np.random.Generator, divergence: float) -> Array:
    """A law within that two-sided max-divergence of another: factors e^(+-divergence/2), renormalised."""
    moved = law * np.exp(divergence / 2 * rng.choice([-1.0, 1.0], size=law.shape))
    return np.asarray(moved / moved.sum())


# Cells of W_0, and hit-and-run ---------------------------------------------------------------------------------------


def _on_a_grid(work: Any, w_loc: Array, radius: float) -> Array:
    """Points of W_0 in the plane on a fine square grid: (K, 2)."""
    axis = np.linspace(-1, 1, 801)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    inside = (np.linalg.norm(grid, axis=1) <= work.D / 2) & (np.linalg.norm(grid - w_loc, axis=1) <= radius)
    return grid[inside]


TILT = np.array([3.0, -1.0])
"""Slope of the linear potentials that are sampled in the plane."""


@check("pure_heavy_tails/proc-logconcave-sampler", kind="accuracy", also=("pure_heavy_tails/alg-7",))
def cells_measure_the_plane(context: Context) -> Verdict:
    """Means of w, |w - w_loc|^2 and of a Gibbs weight over the cells of W_0 in the plane, against a fine square grid.

    W_0 is cut by the boundary of W. Cells of equal weight would crowd at the centre.
    """
    # unbound: the law of the sampler, where the claims bound a sensitivity
    work, w_loc, radius = SparseDirection(nu=(1.0, 0.0), D=2.0), np.array([[0.5, 0.3]]), 0.8
    points, log_sizes = cells(work, (w_loc, radius), 20_000)
    shares, grid = np.exp(log_sizes[0]), _on_a_grid(work, w_loc, radius)
    moments, wanted = (
        [*np.average(w, axis=0, weights=p), *np.average((w - w_loc) ** 2, axis=0, weights=p),
         np.average(np.exp(-w @ TILT), weights=p)]
        for w, p in ((points[0], shares), (grid, np.ones(len(grid))))
    )  # fmt: skip
    few = [cells(work, (w_loc, radius), count)[0].shape[1] for count in (12, 500)]
    if not (6 <= few[0] <= 12 and 400 <= few[1] <= 500):
        return differs(f"{few[0]} cells of 12 that were asked for, {few[1]} of 500")
    return as_printed({"moments of the uniform law on W_0": (np.array(moments), np.array(wanted))}, within=0.01)


@check(
    "pure_heavy_tails/proc-logconcave-sampler", kind="accuracy", also=("pure_heavy_tails/alg-7",), expect="consistent"
)
def hit_and_run_reaches_the_gibbs_law(context: Context) -> Verdict:
    """The walk after 60 steps from the middle against the Gibbs law on a fine grid: along the slope, and outwards.

    Nothing is promised of the walk's privacy; this is its utility alone.
    """
    # unbound: the law of the sampler, where the claims bound a sensitivity
    work, w_loc, radius = SparseDirection(nu=(1.0, 0.0), D=2.0), np.array([[0.5, 0.3]]), 0.8
    trials = context.scale(1500, 15_000)
    plan = Schedule[Any](phases=(), releases=(), gradients=0, floats_per_trial=1, claimed=None)
    run = Run[Any](plan, trials, context.rng("walk"))
    walks = hit_and_run(run, lambda w: np.asarray(w @ TILT), work, (w_loc, radius), 60)
    grid, off = _on_a_grid(work, w_loc, radius), 0.0
    for value in (lambda w: w @ TILT, lambda w: ((w - w_loc) ** 2).sum(axis=1)):
        order = np.argsort(value(grid))
        mass = np.exp(-grid @ TILT)[order].cumsum()
        level = np.interp(np.sort(value(walks)), value(grid)[order], mass / mass[-1])
        off = max(off, float(np.abs(level - (np.arange(trials) + 0.5) / trials).max()))
    # Massart's constant in the inequality of Dvoretzky, Kiefer and Wolfowitz; 129 nodes a chord.
    allowed = math.sqrt(math.log(4 / context.failure_probability) / (2 * trials)) + 0.01
    said = f"laws of {trials:,} walks are {off:.3g} off the Gibbs law in Kolmogorov's distance, {allowed:.3g} allowed"
    fields: dict[str, Any] = {"failure_probability": context.failure_probability, "severity": off / allowed}
    if off > allowed:
        return differs(said, "sampled", **fields)
    return consistent(said, "sampled", notices=f"a law that is {2 * allowed:.3g} off", **fields)


@check("pure_heavy_tails/proc-logconcave-sampler", kind="accuracy", also=("pure_heavy_tails/alg-7",))
def walk_down_a_steep_slope(context: Context) -> Verdict:
    """Where a potential of 1e6 w . t falls along a chord the walk goes to the last of its points, and nowhere else."""
    # unbound: one step of the walk, whose law is stated of many
    work, w_loc, radius, trials = SparseDirection(nu=(1.0, 0.0), D=2.0), np.array([[0.1, -0.2]]), 0.5, 50
    plan = Schedule[Any](phases=(), releases=(), gradients=0, floats_per_trial=1, claimed=None)
    run = Run[Any](plan, trials, context.rng("walk"))
    walks = hit_and_run(run, lambda w: np.asarray(1e6 * w @ TILT), work, (w_loc, radius), 1)
    way = run.transcript.coins[0] / np.linalg.norm(run.transcript.coins[0], axis=1, keepdims=True)
    last = w_loc - np.sign(way @ TILT)[:, None] * (1 - 1 / NODES) * radius * way
    return as_printed({"the end of the chord": (walks, last)})


@check("pure_heavy_tails/proc-logconcave-sampler", kind="accuracy", also=("pure_heavy_tails/alg-7",))
def lines_of_the_plane(context: Context) -> Verdict:
    """Radial losses in the plane: the score of a cell is the potential at its middle less that at w_loc, and less the
    logarithm of its size in units of the selection.
    """
    # unbound: the lines at the schedule's own numbers, which the settings compare with the claims
    m, C, count, trials = 400, 0.5, 60, context.scale(10, 100)
    work, rows, start = small(context, 2, trials, m)
    algorithm, rng = LocalizedApproxEM(C=C, lambda_=0.5, count=count), context.rng("answers")
    # Within W: on its boundary rays leave at once, and rounding decides how far they go.
    first, index = rng.uniform(-0.6, 0.6, (trials, 2)), rng.integers(0, 50, (trials, 1))
    answers = (first, index.astype(float))
    plan, (_, point), returned = told(algorithm, work, problem(work, 5.0), rows, start, answers)
    one, two = plan.phases
    w_loc = onto_ball(first)
    by_hand = [plans.cells_by_hand(w, one.radius, count, 1.0) for w in w_loc]
    middles, sizes = (np.array([each[i] for each in by_hand]) for i in (0, 1))

    def potential_at(w: Array) -> Array:
        losses = np.minimum(rows, C).mean(axis=1) * np.linalg.norm(w - np.asarray(work.b), axis=2)
        return np.asarray(losses + two.lambda_ / 2 * ((w - start) ** 2).sum(axis=2))

    scores = potential_at(middles) - potential_at(w_loc[:, None]) - two.noise * sizes
    lines = {
        "scores of the cells": (point.core, scores),
        "the chosen middle": (returned, middles[np.arange(trials), index[:, 0]]),
    }
    return as_printed(lines, within=1e-7)


@check("pure_heavy_tails/proc-logconcave-sampler", kind="accuracy", grid={"count": (16, 60, 200)})
def cells_by_hand(context: Context, *, count: int) -> Verdict:
    """Cells of a disc around its middle, a point near the boundary, and one on it, where rays leave at once."""
    work, lines = SparseDirection(nu=(1.0, 0.0), D=2.0), {}
    for centre, radius in (((0.1, 0.2), 0.3), ((0.7, 0.3), 0.9), ((0.6, -0.8), 0.5)):
        points, sizes = cells(work, (np.array([centre]), radius), count)
        wanted = plans.cells_by_hand(np.array(centre), radius, count, 1.0)
        lines[f"cells around {centre}"] = points[0], wanted[0]
        lines[f"sizes around {centre}"] = sizes[0], wanted[1]
    return as_printed(lines, 1e-7)


@check("pure_heavy_tails/proc-logconcave-sampler", kind="accuracy", grid={"d": (2, 3)})
def ends_of_chords(context: Context, *, d: int) -> Verdict:
    """Chords of a ball end at the sphere of W_0, or a rounding beyond that of W: of its diameter in l_2."""
    work, rng, trials = norms_apart(RadialHeavyTail(b=(0.3,) * d, D=2.0)), context.rng("chords"), context.scale(60, 600)
    centre, radius = onto_ball(rng.uniform(-1, 1, (trials, d))), 0.7
    away, ways = (onto_ball(1e3 * rng.normal(size=(trials, d))) for _ in range(2))
    w = onto_ball(centre + radius * rng.random((trials, 1)) * away)
    end = w + chord(work, w[:, None], ways[:, None], (centre, radius)) * ways
    beyond = np.linalg.norm(end, axis=1) - 1 - ROUNDING * work.D, np.linalg.norm(end - centre, axis=1) - radius
    if not 0.2 < (beyond[0] < beyond[1]).mean() < 0.8:
        return undecided("one of the two balls cuts hardly a chord", "exact")
    # How long a chord is that leaves at a low angle nobody knows to many digits; how far out it ends is known.
    return as_printed({"the end of a chord": (np.maximum(*beyond), np.zeros(trials))}, within=ROUNDING / 10)


@check(
    "pure_heavy_tails/proc-logconcave-sampler",
    kind="privacy",
    grid={"count": by_size([64, 1024], [64, 256, 1024, 4096])},
)
def cells_against_gibbs(context: Context, *, count: int) -> Verdict:
    """The sampler used here, on a line: max-divergence at most twice the potential's change over half a cell."""
    work, slope, weight, coefficient = wide(100.0), 0.8, 0.5, 6.0
    centre, radius = np.full((1, 1), 1.0), 2.0
    points, sizes = cells(work, (centre, radius), count)
    sample = Sample(np.full((1, 1, 1), slope), np.ones((1, 1)))
    law = Exponential(coefficient)
    scores = potential(work, sample, 0.0, centre, 1.0, weight)(points) - sizes / coefficient
    width = 2 * radius / count
    mine = law.log_probabilities(scores)[0] - math.log(width)
    gibbs = gibbs_linear(slope, weight, 0.0, coefficient, -1.0, 3.0)
    inner = points[0, :, 0] + width / 2 * np.linspace(-1, 1, 9)[:, None] * (1 - 1e-12)
    divergence = float(np.abs(gibbs.logpdf(inner) - mine).max())
    steepest = slope + weight * 3.0
    bound = 2 * coefficient * steepest * width / 2
    point = Point(x=count, value=divergence, bound=bound)
    said = f"two-sided max-divergence {divergence:.4g} from the Gibbs law, {bound:.4g} by the slope of the potential"
    return judged(
        divergence,
        "<=",
        bound,
        said,
        "exact",
        numbers={"divergence": divergence, "bound": bound},
        points=[point],
        axes=("cells", "max-divergence"),
        dashed="bound by the slope of the potential",
    )
