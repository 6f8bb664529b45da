"""Section 4, privacy: report noisy min, Lemma 4.1 and Theorem 6."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from dpcheck.accounting import account
from dpcheck.algorithms.l1_geometry import StronglyConvexReduction, TreeFrankWolfe
from dpcheck.algorithms.l1_geometry.frank_wolfe import record_count
from dpcheck.checks import Context, check
from dpcheck.engine.catalogue import claim
from dpcheck.harness import accuracy
from dpcheck.harness.budget import judge_account
from dpcheck.harness.refutation import refuted_by
from dpcheck.harness.replay import Case
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Problem
from dpcheck.laws import NoisyMin
from dpcheck.privacy import ApproxDP, PureDP
from dpcheck.verdicts import Point, Verdict, differs, holds, refuted

from ._instances import (
    LASSO,
    LinearSquare,
    enumerate_selections,
    printed_noise,
    problem,
    right_child_pair,
    root_pair,
    tree_case,
)
from .witnesses import lem_4_1_random

# Report noisy min -----------------------------------------------------------------------------------------------------


@check("l1_geometry/proc-report-noisy-max", kind="privacy")
def loss_of_a_selection(context: Context) -> Verdict:
    """Exact log-ratios of all winners over random scores and shifts, against D |v - v'|_inf/lambda."""
    rng, trials = context.rng(), context.scale(200, 4000)
    corners = LASSO.domain.vertices[[0, 1, 2, 8, 9, 10]][:, :3]
    v = rng.standard_normal((trials, 3)) * rng.exponential(1.0, (trials, 1))
    move = rng.uniform(-1, 1, (trials, 3)) * rng.exponential(0.5, (trials, 1))
    law = NoisyMin(0.5)
    log_p, log_q = (law.log_probabilities(x @ corners.T) for x in (v, v + move))
    left = np.abs(log_p - log_q).max(axis=1)
    right = 2 * np.abs(move).max(axis=1) / 0.5
    return accuracy.never_violated(
        left, right + 1e-9, statement="loss <= D |v - v'|_inf/lambda", failure_probability=context.failure_probability
    )


@check("l1_geometry/proc-report-noisy-max", kind="accuracy", expect="consistent")
def gap_of_a_selection(context: Context) -> Verdict:
    """The exact mean gap of the winner against lambda (1 + 1/2 + ... + 1/m)."""
    rng, trials, m = context.rng(), context.scale(200, 4000), 8
    scores = rng.standard_normal((trials, m)) * rng.exponential(2.0, (trials, 1))
    gap = (NoisyMin(1.0).probabilities(scores) * (scores - scores.min(axis=1, keepdims=True))).sum(axis=1)
    harmonic = sum(1 / i for i in range(1, m + 1))
    return accuracy.never_violated(
        gap, harmonic, statement="mean gap <= lambda H_m", failure_probability=context.failure_probability
    )


@check("l1_geometry/proc-report-noisy-max", kind="sensitivity", grid={"shape": ("l1 ball", "simplex", "shifted")})
def scores_move_by_the_diameter(context: Context, *, shape: str) -> Verdict:
    """max over i, j of <c_i - c_j, v - v'> is D at |v - v'|_inf = 1, by enumerating the vertices of the cube, on which
    that convex function is largest; wherever the polytope lies, the law charges D/lambda for it.
    """
    ball = np.concatenate([np.eye(4), -np.eye(4)])
    corners = {"l1 ball": ball, "simplex": np.eye(4), "shifted": 0.5 * ball + 7.0}[shape]
    scores = np.array(list(itertools.product((-1.0, 1.0), repeat=4))) @ corners.T
    apart = float((scores.max(axis=1) - scores.min(axis=1)).max())
    D = float(np.abs(corners[:, None] - corners[None]).sum(axis=-1).max())
    charged = NoisyMin(0.5).pure(apart / 2)  # a shift that all scores share does not move the selection
    return agree([apart, charged], [D, D / 0.5], "D, and the charge D/lambda")


@check("l1_geometry/fact-vertex", kind="accuracy")
def minimum_at_a_vertex(context: Context) -> Verdict:
    """Points of the cross-polytope as convex combinations: <v, x> is the same mean of vertex values, so not below
    all.
    """
    rng, size = context.rng(), context.scale(2000, 20_000)
    corners = LASSO.domain.vertices
    share, v = rng.dirichlet(np.ones(len(corners)) * 0.2, size), rng.standard_normal((size, corners.shape[1]))
    inside = ((share @ corners) * v).sum(axis=1)
    return accuracy.never_violated(
        (v @ corners.T).min(axis=1), inside + 1e-9, statement="least vertex value <= <v, x>",
        covers="a value inside is a mean of vertex values, with weights >= 0", evidence="certificate",
    )  # fmt: skip


# Lemma 4.1 -----------------------------------------------------------------------------------------------------------


@check("l1_geometry/lem-4-1", kind="privacy", expect="refuted")
def fixed_allocation_loses_more_than_epsilon(context: Context) -> Verdict:
    """The algorithm itself on the pair of S_{1,1}, over all 16 outcomes of its two selections: the largest exact loss
    is 1.510 at b = 40, and grows towards 2 epsilon with b.
    """
    numbers, points, sizes = {}, [], (40, 80, 400, 4000)
    for b in sizes:
        found = enumerate_selections(tree_case(b, "printed"), *right_child_pair(b)[:2])
        numbers |= {f"loss at b = {b}": found.loss, f"movement over claim at b = {b}": found.moved}
        points.append(Point(x=float(b), value=found.loss, bound=1.0, series="largest exact loss, fixed allocation"))
    return refuted_by(
        "l1_geometry/lem-4-1", "lem_4_1_fixed", measured=points[-1].value, agreement=1e-6, numbers=numbers,
        points=points, axes=("b", "privacy loss (claimed: 1)"), b=sizes[-1], epsilon=1, tilt="1/10",
    )  # fmt: skip


@check("l1_geometry/lem-4-1", kind="privacy", expect="refuted")
def random_allocation_loses_more_than_epsilon(context: Context) -> Verdict:
    """n = 1.5b records in a uniformly random order, one of them different: exact log-ratio 1.024 at b = 100, 1.075 at
    b = 400.
    """
    sizes = context.scale((100, 400), (80, 100, 200, 400))
    found = {b: float(lem_4_1_random(b, 1).found) for b in sizes}
    points = [Point(x=float(b), value=loss, bound=1.0, series="random allocation") for b, loss in found.items()]
    return refuted_by(
        "l1_geometry/lem-4-1", "lem_4_1_random", numbers={f"loss at b = {b}": loss for b, loss in found.items()},
        points=points, axes=("b", "privacy loss of one event (claimed: 1)"), b=sizes[-1], epsilon=1,
    )  # fmt: skip


@check("l1_geometry/lem-4-1@corrected", kind="sensitivity", grid={"b": (40, 400, 4000)})
def corrected_claim_covers_the_difference(context: Context, *, b: int) -> Verdict:
    """With the doubled claim the same record moves a score by its claim exactly; no record can do more. The largest
    exact loss, over all outcomes, stays below epsilon.
    """
    found = enumerate_selections(tree_case(b, "safe"), *right_child_pair(b)[:2])
    said = f"movement {found.moved:.9g} of the claim, largest loss {found.loss:.6g} of epsilon = 1 at b = {b}"
    numbers = {"movement over claim": found.moved, "largest loss": found.loss}
    sure = "a record enters v by two gradients of sup-norm <= L over 2^-j b, and |c_i|_1 <= D/2"
    broken = found.moved > 1 + 1e-9 or found.loss > 1
    point = Point(x=float(b), value=found.loss, bound=1.0, series="largest exact loss, twice the noise")
    return (refuted if broken else holds)(
        f"{said} ({sure})", "certificate", numbers=numbers, severity=found.loss, points=[point],
        axes=("b", "privacy loss (claimed: 1)"),
    )  # fmt: skip


@check("l1_geometry/lem-4-1@corrected", kind="privacy", grid={"T": (1, 2, 4), "epsilon": (0.1, 1.0)})
def corrected_noise_is_enough(context: Context, *, T: int, epsilon: float) -> Verdict:
    """The worst stretch of records costs exactly epsilon under certified sensitivities and twice the noise."""
    told, b = problem(LASSO, PureDP(epsilon)), 16 * 2**T
    algorithm, n = TreeFrankWolfe(T=T, batch=b, sensitivity="safe"), record_count(b, T)
    return judge_account(account(algorithm.schedule(told, n), n), PureDP(epsilon))


@check("l1_geometry/lem-4-1@derived", kind="accuracy", grid={"t": (1, 3)})
def utility_of_the_printed_noise(context: Context, *, t: int) -> Verdict:
    """lambda (1 + log m) is the explicit gap, and bounds lambda H_m."""
    b, m = 64, 16
    plan = TreeFrankWolfe(T=t, batch=b).schedule(problem(LASSO, PureDP(1.0)), record_count(b, t))
    scale = plan.phases[-1].scale
    stated = float(
        claim("l1_geometry/lem-4-1@derived").evaluate(L=LASSO.constants.lipschitz(1.0), D=2.0, t=t, b=b, epsilon=1, m=m)
    )
    harmonic = scale * sum(1 / i for i in range(1, m + 1))
    if not math.isclose(scale * (1 + math.log(m)), stated, rel_tol=1e-12):
        return differs(f"the schedule's lambda gives {scale * (1 + math.log(m)):.6g}, the claim says {stated:.6g}")
    return (holds if harmonic <= stated else refuted)(
        f"lambda H_m = {harmonic:.6g}, stated {stated:.6g}", "exact", severity=harmonic / stated
    )


# Theorem 6 ------------------------------------------------------------------------------------------------------------


@check("l1_geometry/thm-6@literal", kind="privacy", expect="refuted")
def its_own_parameters_under_a_fixed_allocation(context: Context) -> Verdict:
    """n = 65536: b = 256, T = 4, one record fixed in S_{1,1}: exact log-ratio 1.777 at epsilon = 1."""
    work = LinearSquare()
    row = TreeFrankWolfe().schedule(problem(work, PureDP(1.0)), 65536).phases
    numbers = {"T of the schedule": len(row), "b of the schedule": row[0].b}
    return refuted_by("l1_geometry/thm-6@literal", "thm_6_fixed", numbers=numbers, n=65536, tilt="1/10")


@check("l1_geometry/thm-6@corrected", kind="privacy", grid={"epsilon": (0.1, 1.0)})
def unused_records_hide_the_loss(context: Context, *, epsilon: float) -> Verdict:
    """With a uniform allocation, the theorem's own b and T, and beta over its window: 2 epsilon given the place of the
    record, by certified sensitivities, and few enough records are used that it is epsilon over all places.
    """
    numbers, points = {}, []
    for n in [2**k for k in range(12, context.scale(24, 28), 2)]:
        for share in (0.1, 0.5, 1.0):
            told = _in_the_window(n, epsilon, share)
            series = f"{share:g} of the largest beta, epsilon = {epsilon:g}"
            plan = printed_noise(TreeFrankWolfe(), told, n)
            used, spent = sum(row.records for row in plan.phases) / n, account(plan, n).epsilon(0.0)
            amplified = math.log1p(used * math.expm1(spent))
            stated = float(claim("l1_geometry/thm-6@corrected").evaluate(p_0=used, epsilon=epsilon))
            if not math.isclose(amplified, stated, rel_tol=1e-9):
                return differs(f"the account amplifies to {amplified}, the claim says {stated}", "certificate")
            points.append(Point(x=float(n), value=amplified / epsilon, bound=1.0, series=series))
    worst = max(point.value for point in points)
    numbers = {"largest epsilon over the promised one": worst, "certified given the place": spent}
    said = f"at most {worst:.6g} of epsilon = {epsilon:g} at every size and beta; {spent:.4g} given the place"
    make = holds if worst <= 1 else refuted
    axes = ("n", "epsilon over the promised one")
    return make(said, "certificate", numbers=numbers, points=points, axes=axes, dashed="promised", severity=worst)


def _in_the_window(n: int, epsilon: float, share: float) -> Problem:
    """The plane with L = 1, D = 2 and beta between the ends of Theorem 6's window, geometrically."""
    low, high = 2 * math.log2(n) ** 2 / (n * epsilon * 2), n * 2 / (epsilon * 2 * math.log2(n) ** 2)
    beta = low ** (1 - share) * high**share
    told = problem(LinearSquare(), PureDP(epsilon))
    return replace(told, constants=replace(told.constants, smoothness=lambda p: beta))


@check("l1_geometry/thm-6@derived", kind="privacy", grid={"beta": (0.05, 0.25, 0.5)})
def small_smoothness_needs_no_more_noise(context: Context, *, beta: float) -> Verdict:
    """Second branch, fixed allocation: a right child's record moves v by 2 beta D 2/b at most, which the printed noise
    covers while beta D <= L; the largest exact loss of both kinds of records, over all outcomes, is below that.
    """
    b, work = 40, LinearSquare()
    told = replace(problem(work, PureDP(1.0)), constants=replace(work.constants, smoothness=lambda p: beta))
    algorithm, n = TreeFrankWolfe(allocation="fixed"), b + b // 2
    (row,) = algorithm.schedule(told, n).phases
    if (row.t, row.b) != (1, b):
        return differs(f"T = {row.t}, b = {row.b} where the second branch has T = 1, b = 2n/3 = {b}")
    L, D = 1.0, 2.0
    root, right = 2 * D * (2 * L / b) / row.scale, D * (4 * beta * D / b) / row.scale
    stated = max(1.0, min(2.0, beta * D / L))
    start, losses = np.array([[-1.0, 0.0]]), []
    for data, neighbour in (right_child_pair(b, curvature=beta)[:2], root_pair(b, curvature=beta)):
        losses.append(enumerate_selections(Case(algorithm, work, told, start=start), data, neighbour).loss)
    said = (
        f"sure loss max({root:.4g}, {right:.4g}) of {stated:.4g} stated; exact losses {losses[0]:.4g}, {losses[1]:.4g}"
    )
    numbers = {"sure loss": max(root, right), "right child, exact": losses[0], "root, exact": losses[1]}
    fits = max(root, right) <= stated * (1 + 1e-9) and max(losses) <= max(root, right) * (1 + 1e-9)
    return (holds if fits else refuted)(said, "certificate", numbers=numbers, severity=max(root, right) / stated)


@check(
    "l1_geometry/proc-strongly-convex-reduction", kind="privacy", grid={"inner": ("tree", "descent")}
)  # fmt: skip
def restarts_on_disjoint_records_are_private(context: Context, *, inner: str) -> Verdict:
    """Every restart reads records of its own: the worst record costs what its run costs, with certified claims."""
    n = 4096 if inner == "tree" else 1024
    if inner == "tree":
        privacy: ApproxDP = PureDP(1.0)
        algorithm = StronglyConvexReduction(inner=TreeFrankWolfe(sensitivity="safe", T=1, budget="economical"))
    else:
        privacy, algorithm = ApproxDP(1.0, 1e-5), StronglyConvexReduction()
    plan = algorithm.schedule(problem(LASSO, privacy), n)
    found = judge_account(account(plan, n), privacy)
    return replace(found, numbers={**found.numbers, "runs": len(plan.phases), "releases": len(plan.releases)})


@check("l1_geometry/alg-3@corrected", kind="privacy", grid={"T": (1, 3)})
def account_of_the_tree(context: Context, *, T: int) -> Verdict:
    """With twice the noise and certified sensitivities the worst stretch costs epsilon; the printed noise, under the
    same sensitivities, twice that.
    """
    algorithm, promise, n = TreeFrankWolfe(T=T, batch=64, sensitivity="safe"), PureDP(0.5), record_count(64, T)
    told = problem(LASSO, promise)
    found = judge_account(account(algorithm.schedule(told, n), n), promise)
    printed = account(printed_noise(algorithm, told, n), n).epsilon(0.0)
    reason = f"{found.reason}; under the printed noise {printed:.6g} is"
    return replace(found, reason=reason, numbers={**found.numbers, "certified for the printed noise": printed})


@check(
    "l1_geometry/alg-3@corrected",
    kind="sensitivity",
    grid={"noise": ("pure", "approximate")},
    also=("l1_geometry/lem-4-4@derived",),
)
def every_selection_moves_within_its_claim(context: Context, *, noise: str) -> Verdict:
    """Replayed on drawn LASSO records, each place of the tree replaced in turn: no score moves more than the certified
    sensitivities, two gradients a right child, claim.
    """
    T, b = 2, 16
    n, times = record_count(b, T), context.scale(4, 40)
    algorithm = TreeFrankWolfe(T=T, batch=b, noise=noise, sensitivity="safe", allocation="fixed")  # type: ignore[arg-type]
    told = problem(LASSO, PureDP(1.0) if noise == "pure" else ApproxDP(1.0, 1e-6))
    data = LASSO.rows(context.rng("data"), n * times, n)
    other = data.copy()
    place = np.tile(np.arange(n), times)
    other[np.arange(len(data)), place] = LASSO.rows(context.rng("other"), len(data), 1)[:, 0]
    seen = Case(algorithm, LASSO, told).replay(data, other, len(data), context.seed)
    ratios = {name: float(found.max()) for name, found in seen.ratios().items()}
    worst = max(ratios.values())
    sure = "a record enters v by one gradient at the root and by two at right children, all of sup-norm <= L"
    said = f"at most {worst:.4g} of the claim over {len(data)} pairs and {len(ratios)} selections ({sure})"
    numbers = {"largest ratio": worst, "pairs": len(data)}
    return (holds if worst <= 1 + 1e-9 else refuted)(said, "certificate", numbers=numbers, severity=worst)
