"""Section 2.4: Algorithm 3, projected subgradient steps."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpcheck.algorithms.pure_heavy_tails.subgradient import EXACT, adaptive_inexact_subgradient, exact
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import stated
from dpcheck.geometry import Ball, Box
from dpcheck.harness import accuracy, runtime
from dpcheck.harness.plans import answered, planned_within, wrongly_answered
from dpcheck.interfaces import Array
from dpcheck.verdicts import Point, Verdict, refuted

from .edges import BESIDE, silent
from .lemmas import as_printed


def _instance(
    name: str, rng: np.random.Generator, trials: int
) -> tuple[Callable[[Array], Array], Callable[[Array], Array], Any, Array, float]:
    """(value less its minimum, subgradient, K, start, L) of convex functions with a known minimum on a set K."""
    if name == "weighted l1":
        a, K = np.array([1.0, 2.0]), Ball(d=2, radius=1.0)
        b = K.project(rng.uniform(-0.6, 0.6, (trials, 2)))
        return (
            lambda x: np.abs(x - b) @ a,
            lambda x: a * np.where(x >= b, 1.0, -1.0),
            K,
            K.project(-np.ones((trials, 2))),
            math.sqrt(5),
        )
    slopes = rng.standard_normal((6, 3))
    slopes = np.concatenate([slopes, -slopes]) / np.linalg.norm(slopes, axis=1).max()
    K = Box(-np.ones(3) / math.sqrt(3), np.ones(3) / math.sqrt(3))
    start = K.project(rng.standard_normal((trials, 3)))
    return (
        lambda x: (x @ slopes.T).max(axis=1),
        lambda x: slopes[(x @ slopes.T).argmax(axis=1)],
        K,
        start,
        float(np.linalg.norm(slopes, axis=1).max()),
    )


def _halted(context: Context, name: str, alpha: float) -> tuple[Array, Array, float]:
    """Gaps and steps of Algorithm 3 with projections that are wrong by the whole xi, and L; D = 2."""
    trials, rng = context.scale(8, 32), context.rng("instance")
    gap, subgradient, K, start, L = _instance(name, rng, trials)

    def sloppy(x: Array, xi: Array) -> Array:
        away = rng.standard_normal(x.shape)
        return K.project(K.project(x) + xi[:, None] * away / np.linalg.norm(away, axis=1, keepdims=True))

    halted = adaptive_inexact_subgradient(subgradient, sloppy, start, alpha, 2.0)
    return gap(halted.point), np.asarray(halted.steps, dtype=float), L


NAMES = ("weighted l1", "maximum of affine")

GRID = {"function": NAMES, "alpha": by_size([0.4], [0.4, 0.2])}

LONG = {**GRID, "alpha": by_size([0.4, 0.2], [0.4, 0.2, 0.1])}


@check("pure_heavy_tails/alg-3", kind="runtime", also=("pure_heavy_tails/prop-2-9",))
def halts_at_its_last_step(context: Context) -> Verdict:
    """Where all subgradients have norm L it halts at the last step that is printed for it, and not one earlier."""
    alpha, D, L = 0.8, 2.0, 1.0
    most = round(stated("pure_heavy_tails/prop-2-9", D=D, L=L, alpha=alpha))
    ask = partial(
        adaptive_inexact_subgradient, lambda x: np.where(x < 0.3, -L, L), exact(Box(-np.ones(1), np.ones(1)).project),
        np.zeros((1, 1)), alpha, D,
    )  # fmt: skip
    wrong = wrongly_answered(
        (f"a halt in {limit} steps", partial(ask, limit=limit), limit == most) for limit in (most, most - 1)
    )
    return answered(wrong, f"it halts at step {most}")


@check("pure_heavy_tails/alg-3", kind="accuracy")
def a_slope_of_nothing_ends_it(context: Context) -> Verdict:
    """Where the subgradient is 0 a trial returns that point, at once; those beside it go on as if alone."""
    # unbound: the line `if g_t = 0 return x_t`
    start, near = np.array([[0.0], [0.5], [-0.25]]), exact(Box(-np.ones(1), np.ones(1)).project)
    ask = partial(adaptive_inexact_subgradient, np.sign, near, alpha=0.5, D=2.0, limit=500)
    halted: list[Any] = []
    wrong = wrongly_answered([("a start with slopes of 0", lambda: halted.append(ask(start)), True)])
    if wrong:
        return answered(wrong, "")
    (together,), alone = halted, [ask(start[[i]]) for i in (1, 2)]
    points = np.concatenate([start[:1], *(each.point for each in alone)])
    steps = np.concatenate([[1], *(each.steps for each in alone)]).astype(float)
    return as_printed({"points": (together.point, points), "steps": (together.steps.astype(float), steps)})


@check("pure_heavy_tails/alg-3", kind="accuracy", grid={"function": NAMES})
def lines_of_algorithm_3(context: Context, *, function: str) -> Verdict:
    """Steps D/sqrt(S_t), the stop at 3D sqrt(S_t) <= alpha t, the average until then: run by run in plain loops."""
    trials, alpha, D = context.scale(4, 16), 0.6, 2.0
    _, subgradient, K, start, _ = _instance(function, context.rng("instance"), trials)
    asked: list[Array] = []
    told = stated("pure_heavy_tails/prop-c-5@derived", alpha=alpha)

    def project(x: Array, xi: Array) -> Array:
        asked.append(xi)
        return K.project(x)

    halted = adaptive_inexact_subgradient(subgradient, project, start, alpha, D)
    x, S, visited, wanted = start, np.zeros(trials), [], []
    stopped, steps = np.zeros_like(start), np.zeros(trials)
    while not (steps > 0).all():
        g = subgradient(x)
        S, t = S + (g**2).sum(axis=1), len(visited) + 1
        visited.append(x)
        halts = (3 * D * np.sqrt(S) <= alpha * t) & (steps == 0)
        steps[halts], stopped[halts] = t, np.mean(visited, axis=0)[halts]
        if (steps > 0).all():
            break
        wanted.append(np.minimum(D, alpha * D / np.sqrt(S) / (6 * D)))
        x = np.where(steps[:, None] > 0, x, K.project(x - (D / np.sqrt(S))[:, None] * g))
    return as_printed(
        {
            "the average until the stop": (halted.point, stopped),
            "the step at which it stops": (halted.steps.astype(float), steps),
            "the gap that it tells": (np.array([halted.gap]), np.array([told])),
            "accuracy asked of projections": (np.array(asked[1:]), np.array(wanted)),
            "that asked of the start's, in diameters": (asked[0] / D, np.full(trials, EXACT)),
        }
    )


@check(
    "pure_heavy_tails/alg-3", kind="transcription", grid={"algorithm": tuple(BESIDE)},
    also=("pure_heavy_tails/alg-1", "pure_heavy_tails/proc-hard-pack"),
)  # fmt: skip
def planned_inside_of_its_conditions(context: Context, *, algorithm: str) -> Verdict:
    """Algorithms 1 and 3, and the hard classes, are taken up to the edge of each of their conditions and not beyond."""
    # unbound: which problems are taken, whatever is stated of their solution
    return planned_within(BESIDE[algorithm], silent)


def gap_within(context: Context, function: str, alpha: float, label: str, allowed: float) -> Verdict:
    gaps, _, _ = _halted(context, function, alpha)
    verdict = accuracy.never_violated(
        gaps, allowed, statement=f"gap <= {label}", failure_probability=context.failure_probability
    )
    points = [Point(x=1 / alpha, value=float(gaps.max()), bound=allowed, series=function)]
    return replace(verdict, points=points, axes=("1/alpha", "largest gap"))


@check(
    "pure_heavy_tails/alg-3",
    kind="accuracy",
    grid=GRID,
    expect=("consistent", "undecided"),
    also=("pure_heavy_tails/prop-2-9", "pure_heavy_tails/prop-c-5"),
)
def gap_of_the_average(context: Context, *, function: str, alpha: float) -> Verdict:
    """With projections wrong by all of xi the returned average is an alpha-minimiser."""
    # unbound: the gap, where the claims bound the steps
    return gap_within(context, function, alpha, "alpha", alpha)


def _steps(context: Context, function: str, alpha: float, label: str) -> Verdict:
    _, steps, L = _halted(context, function, alpha)
    bound = stated(label, D=2.0, L=L, alpha=alpha)
    verdict = runtime.verdict(steps, bound, what="steps", x=1 / alpha, series=function)
    return replace(verdict, axes=("1/alpha", "steps"))


@check(
    "pure_heavy_tails/alg-3", kind="runtime", grid=LONG, also=("pure_heavy_tails/prop-2-9", "pure_heavy_tails/prop-c-5")
)
def steps_of_the_method(context: Context, *, function: str, alpha: float) -> Verdict:
    """Steps are at most ceil((3DL/alpha)^2), and exactly that where all subgradients have norm L."""
    for label in ("pure_heavy_tails/prop-2-9", "pure_heavy_tails/prop-c-5"):
        verdict = _steps(context, function, alpha, label)
        if function == NAMES[0] and verdict.numbers["calls"] != verdict.numbers["bound"]:
            said = f"{verdict.numbers['calls']} steps where all subgradients have norm L: not the printed stopping rule"
            return refuted(said, "counted", numbers=verdict.numbers, points=verdict.points)
    return verdict
