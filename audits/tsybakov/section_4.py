"""Section 4: the examples, Algorithms 1 and 2."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import scipy

from dpcheck.algorithms.tsybakov.clipped import clipped_descent, clipped_mean, dykstra, regularised_minimiser
from dpcheck.algorithms.tsybakov.settling import settled
from dpcheck.checks import Context, check
from dpcheck.engine.statements import stated
from dpcheck.errors import InvalidInput
from dpcheck.geometry import Ball, Box
from dpcheck.harness import accuracy, runtime, symbolic
from dpcheck.harness.plans import answered
from dpcheck.harness.relations import judged
from dpcheck.interfaces import Array, Sample
from dpcheck.numerics import least_integer
from dpcheck.symbols import D
from dpcheck.verdicts import Verdict, differs, holds, refuted
from dpcheck.workloads.regularised import RegularisedPopulation
from dpcheck.workloads.sheared import Sheared

from .cases import well
from .edges import EDGES, attempted
from .lemmas import PLANE, QUARTIC
from .limits import LOSSES as LIMITED
from .limits import ends_off, phases_off, wrong_projections, wrong_shapes, wrong_sums, wrong_walks
from .lines import LOSSES, Discs, nearest, refuses


def _l4_excess(delta: Array, s: float) -> float:
    """F(w° + delta) - F* by enumeration of all signs and both label errors."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=len(delta))))
    margins = signs @ delta
    risks = [((margins - e) ** 4).mean() for e in (-s, s)]
    return float(np.mean(risks) - s**4)


@check("tsybakov/ex-l4@derived", kind="accuracy", grid={"d": (1, 2, 5, 8)})
def fourth_powers_expand(context: Context, *, d: int) -> Verdict:
    """F - F* by enumeration of all sign vectors against 3|Δ|⁴ - 2|Δ|_4⁴ + 6s²|Δ|², to rounding."""
    rng, left, right = context.rng(), [], []
    for s in (0.0, 0.3, 1.0):
        for _ in range(context.scale(5, 30)):
            delta = rng.standard_normal(d)
            square = float(delta @ delta)
            left.append(_l4_excess(delta, s))
            right.append(3 * square**2 - 2 * float((delta**4).sum()) + 6 * s**2 * square)
    # Along an axis and without label noise the noise condition holds with equality.
    axis = 0.7 * np.eye(d)[0]
    left.append(_l4_excess(axis, 0.0))
    right.append(stated("tsybakov/ex-l4@derived") * float(axis @ axis) ** 2)
    return symbolic.agree(left, right, "excess by enumeration and by the formula", tolerance=1e-9)


@check("tsybakov/ex-l4", kind="accuracy", expect="consistent")
def l4_regression_grows_like_a_fourth_power(context: Context) -> Verdict:
    """|Δ|_2⁴ and 6s²|Δ|² against F - F* on the l_1 ball: (4, 1) at all s, with equality along an axis at s = 0."""
    rng, left, right = context.rng(), [], []
    for s, d in itertools.product((0.0, 0.5), (1, 3, 6)):
        for index in range(context.scale(20, 200)):
            delta = np.eye(d)[0] if index == 0 else rng.laplace(size=d)
            delta = 2 * delta / np.abs(delta).sum() * rng.uniform(0.05, 1)
            square = float(delta @ delta)
            left.append(max(square**2, 6 * s**2 * square))
            right.append(_l4_excess(delta, s))
    return accuracy.never_violated(
        left, right, statement="max{|Δ|⁴, 6s²|Δ|²} <= F - F*", failure_probability=context.failure_probability
    )


@check("tsybakov/ex-logistic", kind="accuracy", grid={"ridge": (0.01, 0.3)})
def ridge_logistic_regression_grows_quadratically(context: Context, *, ridge: float) -> Verdict:
    """(ridge/2)|w - w*|² against F - F* of logistic regression on the unit ball, exact risks and a certified w*."""
    rng, left, right = context.rng(), [], []
    for d in (1, 3):
        # The first feature is 0 in all records: along it there is the ridge alone, and equality.
        x = rng.standard_normal((200, d)) * (np.arange(d) > 0)
        y = (x.sum(axis=1) + rng.logistic(size=200) > 0).astype(float)
        work = RegularisedPopulation(x, y, "logistic", ridge)
        w = work.project(rng.standard_normal((context.scale(200, 2000), d)) * rng.uniform(0, 3))
        w[0] = work.population_minimiser + 0.5 * np.eye(d)[0]
        left.append(stated("tsybakov/ex-logistic", lambda_=ridge) * ((w - work.population_minimiser) ** 2).sum(axis=1))
        right.append(work.excess_risk(w) + work.constants.extra["risk_tolerance"])
    worst = max(float((a / b).max()) for a, b in zip(left, right, strict=True))
    reason = f"(ridge/2)|w - w*|² is at most {worst:.4g} of F - F*: nothing but the ridge along a missing feature"
    numbers = {"largest ratio": worst, "diameter": float(D.subs(D, 2))}
    if worst < 0.999:
        return differs(reason, "certificate", numbers=numbers)
    return judged(worst, "<=", 1.0, reason, "certificate", numbers=numbers)


@check("tsybakov/alg-1", kind="sensitivity", grid={"d": (1, 3), "n": (1, 7)})
def clipped_mean_moves_by_its_share(context: Context, *, d: int, n: int) -> Verdict:
    """Algorithm 1 on random neighbours of every length up to a thousand times the level."""
    rng, pairs, C = context.rng(), context.scale(2000, 50_000), 1.5
    data = rng.standard_normal((pairs, n, d)) * rng.exponential(3.0, (pairs, n, 1)) ** 2
    other = data.copy()
    other[:, 0] = rng.standard_normal((pairs, d)) * 1500
    one = np.ones((1, n))
    moved = np.linalg.norm(
        clipped_mean(Sample(data, one), data, C) - clipped_mean(Sample(other, one), other, C), axis=1
    )
    return accuracy.never_violated(
        moved, stated("tsybakov/alg-1", C=C, n=n), statement="movement <= 2C/n", evidence="certificate",
        covers="projections on a ball of radius C are at most 2C apart",
    )  # fmt: skip


@check("tsybakov/alg-1", kind="accuracy")
def clipped_mean_has_norm_at_most_its_level(context: Context) -> Verdict:
    """|v| <= C on random data, and v is the plain mean where nothing is longer than C."""
    # unbound: how long v is, where the claim says how far one record moves it
    rng, trials = context.rng(), context.scale(2000, 50_000)
    data = rng.standard_normal((trials, 6, 2)) * rng.exponential(1.0, (trials, 6, 1)) ** 2
    v = clipped_mean(Sample(data, np.ones((1, 6))), data, 1.0)
    short = np.linalg.norm(data, axis=2).max(axis=1) <= 1
    off = np.abs(v[short] - data[short].mean(axis=1)).max()
    verdict = accuracy.never_violated(
        np.linalg.norm(v, axis=1), 1.0, statement="|v| <= C", evidence="certificate",
        covers="a mean of points of a ball",
    )  # fmt: skip
    return verdict if off < 1e-14 else refuted(f"unclipped means differ by {off:.3g}", "exact")


@check("tsybakov/alg-2@derived", kind="accuracy")
def reach_of_clipped_descent(context: Context) -> Verdict:
    """|w_T - w_0| against (1 - (1 - eta lambda)^T) C/lambda on random runs, one of them with one constant gradient."""
    rng, left, right = context.rng(), [], []
    work = Sheared(0.01, 1.0)
    for _ in range(context.scale(40, 400)):
        steps, weight, level = int(rng.integers(1, 60)), float(rng.uniform(0.05, 1.0)), float(rng.uniform(0.2, 3))
        eta = float(rng.uniform(0.05, min(1.0, 1 / weight)))
        z = rng.standard_normal((1, 5, 4)) * 5
        if rng.random() < 0.25:
            z[..., :2], z[..., 2:] = 0.0, [9.0, 0.0]
        start = rng.standard_normal((1, 2))
        end = clipped_descent(work, Sample(z, np.ones((1, 5))), start, steps=steps, eta=eta, level=level, weight=weight)
        left.append(float(np.linalg.norm(end - start)))
        right.append(stated("tsybakov/alg-2@derived", eta=eta, lambda_=weight, T=steps, C=level))
    return accuracy.never_violated(
        left, right, statement="distance from the start <= (1 - (1 - eta lambda)^T) C/lambda", tolerance=1e-9,
        evidence="certificate", covers="each step shrinks the distance by 1 - eta lambda and adds at most eta C",
    )  # fmt: skip


@check("tsybakov/alg-2", kind="accuracy", grid={"loss": tuple(LOSSES), "noisy": (False, True)})
def lines_of_algorithm_2(context: Context, *, loss: str, noisy: bool) -> Verdict:
    """T steps from w_0, counted as in Theorem 8: clipped mean, pull to w_0, projection; records with counts."""
    # unbound: lines replayed at numbers of this check's own
    work, rng, arrays, wanted = LOSSES[loss], context.rng(), [], []
    domain: Discs = ((np.zeros((1, work.constants.d)), work.constants.diameter(2.0) / 2),)
    for steps, eta, level, weight in ((1, 0.3, 0.7, 0.2), (4, 0.7, 2.5, 1.3), (9, 0.2, 6.0, 0.4)):
        values = rng.standard_normal((2, 5, work.constants.d)) * 5 + 1
        counts, start = (
            rng.integers(1, 4, (2, 5)).astype(float),
            work.project(rng.standard_normal((2, work.constants.d))),
        )
        noise = rng.standard_normal((steps, 2, work.constants.d)) * noisy
        seen = iter(noise)
        arrays.append(
            clipped_descent(
                work, Sample(values, counts), start, steps=steps, eta=eta, level=level, weight=weight,
                answer=(lambda g, seen=seen: g + next(seen)) if noisy else None,
            )
        )  # fmt: skip
        w = start
        for shift in noise:
            gradients = work.gradient(w[:, None], values)
            cut = gradients * np.minimum(1.0, level / np.linalg.norm(gradients, axis=2, keepdims=True))
            g = (counts[..., None] * cut).sum(axis=1) / counts.sum(axis=1, keepdims=True) + shift
            w = nearest(w - eta * (g + weight * (w - start)), domain)
        wanted.append(w)
    # Shifted by more than the domain, so that no coordinate is near 0.
    far = 2 * work.constants.diameter(2.0)
    return symbolic.agree(np.concatenate(arrays) + far, np.concatenate(wanted) + far, "last iterates")


@check("tsybakov/alg-2", kind="runtime", grid={"T": (1, 7, 40)})
def descent_reads_every_record_each_step(context: Context, *, T: int) -> Verdict:
    """Gradients of T steps on 50 records against nT."""
    work = runtime.CountingWorkload(well(2.0, 4.0))
    batch = work.draw(context.rng(), 1, 50)
    start: Array = np.zeros((1, 1))
    clipped_descent(work, batch, start, steps=T, eta=0.5, level=1.0, weight=0.1)
    allowed = stated("tsybakov/alg-2", n=50, T=T)
    if work.gradients < allowed:
        return differs(f"{work.gradients:,} gradients where T steps on n records read {allowed:,.0f}", "counted")
    return runtime.verdict(float(work.gradients), allowed, x=T, variable="T")


@check("tsybakov/proc-prox-exact", kind="accuracy")
def exact_minimiser_of_quadratics(context: Context) -> Verdict:
    """Against the closed form (mean + weight centre)/(1 + weight), projected, and against a general solver."""
    rng, left = context.rng(), []
    for _ in range(context.scale(20, 200)):
        x, centre, weight = rng.normal(size=(1, 7, 2)), QUARTIC.project(rng.normal(size=(1, 2))), rng.uniform(0.05, 4)
        sample = Sample(x, np.ones((1, 7)))
        values = regularised_minimiser(PLANE, sample, centre, weight, gap=1e-11)
        wanted = PLANE.project((x.mean(axis=1) + weight * centre) / (1 + weight))
        left.append(float(np.abs(values - wanted).max()))
        four = regularised_minimiser(QUARTIC, sample, centre, weight, gap=1e-10)

        def objective(v: Array, x: Array = x, centre: Array = centre, weight: float = weight) -> float:
            w = QUARTIC.project(v[None])
            return float(QUARTIC.loss(w[:, None], x).mean() + weight / 2 * ((w - centre) ** 2).sum())

        best = scipy.optimize.minimize(
            objective, four[0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14}
        )
        left.append(max(0.0, objective(four[0]) - float(best.fun)))
    return accuracy.never_violated(
        left, 1e-9, statement="distance to the closed form, and gap to a simplex search <= 1e-9",
        evidence="certificate", covers="a step of length m of a map that contracts by 1 - q certifies the distance m/q",
    )  # fmt: skip


def _off_a_segment() -> float:
    """Distance of Dykstra's point to the end of a segment, a line cut by a square, on the way to which it stalls."""
    square, along = Box([-1.0, -1.0], [1.0, 1.0]), np.array([5.0, 1.0]) / math.sqrt(26)
    line = np.array([0.0, 1.1])
    start = np.array([[5.0, 0.0]])
    p = dykstra(square.project, lambda w: line + ((w - line) @ along)[..., None] * along, start, limit=1000)
    return float(np.linalg.norm(p - [-0.5, 1.0]))


@check("tsybakov/proc-dykstra", kind="accuracy")
def projection_on_an_intersection(context: Context) -> Verdict:
    """<w - p, q - p> <= 0 for all q of a fine grid of the box and the ball, p the point of Dykstra's method."""
    rng = context.rng()
    box, ball = Box([-0.5, -2.0], [1.0, 0.7]), Ball(2, 1.0, [0.4, 0.1])
    w = rng.normal(size=(context.scale(50, 500), 2)) * 3
    p = dykstra(box.project, ball.project, w, limit=1000)
    grid = np.stack(np.meshgrid(np.linspace(-0.5, 1, 120), np.linspace(-2, 0.7, 120)), axis=-1).reshape(-1, 2)
    inside = grid[np.linalg.norm(grid - [0.4, 0.1], axis=1) <= 1]
    outside = max(float(np.abs(box.project(p) - p).max()), float((np.linalg.norm(p - [0.4, 0.1], axis=1) - 1).max()))
    slack = np.einsum("td,tqd->tq", w - p, inside[None] - p[:, None]).max(axis=1)
    verdict = accuracy.never_violated(
        [*slack, outside, _off_a_segment()], 1e-7, statement="<w - p, q - p> <= 0 and p in both sets",
        evidence="certificate",
        covers="the variational inequality characterises the projection; the grid has mesh 0.02",
    )  # fmt: skip
    once = ball.project(box.project(w))
    return replace(verdict, numbers={**verdict.numbers, "plain alternation is off by": float(np.abs(once - p).max())})


@check("tsybakov/alg-1", kind="accuracy", grid={"label": tuple(EDGES)}, also=tuple(EDGES)[1:])
def values_are_taken_up_to_their_edges(context: Context, *, label: str) -> Verdict:
    """Every parameter at values that are just legal, and at others that are not: only these are refused."""
    # unbound: what is taken and refused, which no formula says
    for name, edge in EDGES[label].items():
        for value in (*edge.legal, *edge.illegal):
            what = attempted(lambda value=value, made=edge.made: made(value))
            if what != ("taken" if value in edge.legal else "refused"):
                return differs(f"{label} with {name} = {value:g} is {what}", "exact")
    return holds(f"{', '.join(EDGES[label])}: taken where they are legal, and refused beyond", "exact")


@check("tsybakov/alg-2", kind="accuracy", grid={"records": ("linear", "sheared")})
def points_of_rest_are_where_steps_end(context: Context, *, records: str) -> Verdict:
    """From two starts, the fewest steps that are said to end at a point of rest do; one less does not on linear losses.

    Sums of linear losses contract exactly as fast as it is reckoned with.
    """
    # unbound: where Algorithm 2 comes to rest, which no formula says
    rng, n, level, weight, eta = context.rng(), 8, 1.0, 0.2, 0.25
    work, curved = Sheared(1.0 if records == "linear" else 0.25, 3.0), float(records == "sheared")
    rows = np.zeros((n, 4))
    rows[:, 0], rows[:, 1], rows[:, 2:] = curved, curved * rng.choice([-1.0, 1.0], n), rng.normal(0.3, 2.0, (n, 2))
    rows[:2, :2] = 0.0
    sample, start = Sample(rows[None], np.ones((1, n))), np.array([[0.0, 0.0], [1.5, -2.0]])
    fields: dict[str, Any] = {"eta": eta, "level": level, "weight": weight}

    def rest(steps: int) -> Array:
        return settled(work, sample, start, steps=steps, **fields)

    def off(steps: int) -> float:
        """Of the steps from a point of rest, over what is allowed."""
        ends = clipped_descent(work, sample, start, steps=steps, **fields)
        return float(np.linalg.norm(ends - rest(10_000), axis=1).max()) / (1e-5 * 2 * level / (n * weight))

    fewest = least_integer(lambda steps: not refuses(lambda: rest(steps)), 1, 10_000)
    numbers = {"fewest steps": fewest, "off": off(fewest), "off a step before": off(fewest - 1)}
    said = f"{fewest} steps end {off(fewest):.4f} of what is allowed from rest, one less {off(fewest - 1):.4f}"
    right = numbers["off"] <= 1 + 1e-6 and (records != "linear" or numbers["off a step before"] > 1 - 1e-6)
    return (holds if right else differs)(said, "certificate", numbers=numbers)


@check("tsybakov/alg-2", kind="accuracy", grid={"loss": tuple(LIMITED)})
def limits_are_where_steps_lead(context: Context, *, loss: str) -> Verdict:
    """Limits of clipped descent within their gap of long runs, after as few gradients as it takes, on six data sets."""
    # unbound: where Algorithm 2 leads to, which no formula says
    try:
        off, where = ends_off(loss, context.rng())
    except (InvalidInput, ArithmeticError, ValueError) as error:
        return differs(f"a limit is not found: {error}", "exact")
    return judged(off, "<=", 1.0, f"limits are at most {off:.3g} of what is allowed from long runs ({where})", "exact")


@check("tsybakov/alg-2", kind="accuracy", also=("tsybakov/alg-3", "tsybakov/proc-dykstra"))
def runs_of_several_data_sets(context: Context) -> Verdict:
    """One start for all data sets or one for each; phases at their limits, and of few steps and many; two discs."""
    # unbound: where runs end, which no formula says
    rng = context.rng()
    try:
        wrong = [*wrong_shapes(rng), *wrong_walks(rng), *wrong_sums(rng), *wrong_projections()]
        off = phases_off(rng)
    except (InvalidInput, ArithmeticError, ValueError, TypeError, AttributeError, IndexError) as error:
        return differs(f"a run ends with {type(error).__name__}: {error}", "exact")
    wrong += [] if off <= 1 else [f"a phase is taken {off:.3g} times as far from its steps as is allowed"]
    return answered(
        wrong, f"ends, limits and projections are as they are to be, phases {off:.3g} of what is allowed off"
    )
