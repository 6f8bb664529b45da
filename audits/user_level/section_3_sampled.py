"""Section 3, repaired where phases are sampled: the test and the mean of a step are amplified together."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np

from dpcheck.accounting import account
from dpcheck.algorithms.user_level import PhasedERM
from dpcheck.algorithms.user_level.concentration import neighbour_counts, weighted_mean
from dpcheck.algorithms.user_level.sizes import smallest_users
from dpcheck.checks import Context, by_size, check
from dpcheck.engine.statements import stated
from dpcheck.harness import accuracy
from dpcheck.harness.budget import calibrated, judge_account, with_budget
from dpcheck.harness.replay import Case
from dpcheck.harness.scaling import Instance, admitted, powers, scaling, unmeasured
from dpcheck.interfaces import Array
from dpcheck.verdicts import Verdict, consistent, differs

from .cases import BOWLS, WRONG, bowl, huber, plain, problem, quadratic, stated_each
from .lemmas import TAU, clouds
from .lines import MINIBATCHES, WEIGHTED, algorithm_3, replayed, three_kinds
from .scaling import BY_MOMENTS, SAMPLED, accelerated

READING = PhasedERM(**PhasedERM.readings["sampled"])
REDUCED = replace(
    READING, c_batch=5e3, c_users=1e-4, c_noise=0.3, c_score=2e-3, c_radius=0.06, c_steps=0.5, phases=2, q=0.8, p=0.5
)
"""Two phases on a few users, two thirds of them in each minibatch: hardly any noise."""
SIZES = {
    "n = 9e6, m = d = 10, epsilon = 1": (9 * 10**6, 10, 10, 1.0, 1e-7, 1.0),
    "n = 2e6, m = 100, d = 5, epsilon = 8": (2 * 10**6, 100, 5, 8.0, 1e-8, 1.0),
    "n = 4e8, m = 10, d = 100, epsilon = 0.1": (4 * 10**8, 10, 100, 0.1, 1e-9, 1.0),
    "n = 1e12, m = d = 10, H = 1e12": (10**12, 10, 10, 1.0, 1e-12, 1e12),
}


@check(
    "user_level/thm-3-1@sampled", kind="privacy",
    grid={"size": by_size(tuple(SIZES)[:2], tuple(SIZES))},
)  # fmt: skip
def account_of_sampled_phases(context: Context, *, size: str) -> Verdict:
    """Every phase is truly sampled, and the account keeps the promise; how much less noise on the means it would still
    certify, what the noise is of the printed one, and how many passes over the data the gradients are.
    """
    n, m, d, epsilon, delta, smooth = SIZES[size]
    told = plain(d, m, epsilon, delta, smooth=smooth)
    plan, printed = READING.schedule(told, n), PhasedERM().schedule(told, n)
    judged = judge_account(account(plan, n), told.privacy)
    sampled = sum(not row.whole for row in plan.phases)
    least = calibrated(READING, "c_noise", told, n, tolerance=0.01).c_noise / READING.c_noise
    numbers: dict[str, Any] = {
        **judged.numbers, "phases": len(plan.phases), "sampled phases": sampled,
        "least noise over the stated": least, "passes over the data": plan.gradients / (n * m),
        "the same of full batches": printed.gradients / (n * m),
        "noise over the printed": max(a.sigma / b.sigma for a, b in zip(plan.phases, printed.phases, strict=True)),
    }  # fmt: skip
    if sampled < len(plan.phases) or plan.claimed != told.privacy:
        return differs(
            f"{sampled} of {len(plan.phases)} phases are sampled, {plan.claimed} is promised", numbers=numbers
        )
    said = f"{judged.reason} ({sampled} of {sampled} phases are sampled, {numbers['passes over the data']:.3g} passes; "
    return replace(judged, reason=f"{said}least noise {least:.2g} of the stated)", numbers=numbers)


@check("user_level/thm-3-1@sampled", kind="privacy", grid={"epsilon": by_size((1.0,), (0.2, 1.0, 5.0))})
def sampled_phases_at_their_border(context: Context, *, epsilon: float) -> Verdict:
    """The smallest n at which every phase has the users that make its tests sure: the account keeps the promise."""
    told = plain(10, 20, epsilon, 1e-8)
    n = smallest_users(lambda size: READING.feasible(told, size))
    assert n is not None
    verdict = judge_account(account(READING.schedule(told, n), n), told.privacy)
    return replace(verdict, reason=f"n = {n:,}: {verdict.reason}", numbers={**verdict.numbers, "n": n})


@check("user_level/lem-c2@weighted", kind="sensitivity", grid={"K": (2, 4, 6), "reach": (1, 2)})
def weights_of_all_small_clouds(context: Context, *, K: int, reach: int) -> Verdict:
    """All clouds of K points on a grid of the line, `reach` times tau apart, and every new place of one of them."""
    places = np.arange(0.0, 4.6, reach / 2) * 2 * TAU
    clouds_of = np.array(list(itertools.combinations_with_replacement(places, K)))
    left, right = [], []
    for other in places:
        moved = clouds_of.copy()
        moved[:, 0] = other
        both = [_weighted(cloud[..., None]) for cloud in (clouds_of, moved)]
        score = np.maximum(both[0][1], both[1][1])
        some = 2 * score > K
        left.append(np.linalg.norm(both[0][0] - both[1][0], axis=1)[some])
        right.append(stated_each("user_level/lem-c2@weighted", tau=TAU, s=score[some], K=float(K)))
    return accuracy.never_violated(
        np.concatenate(left), np.concatenate(right), statement="|mean - mean'| <= 32 tau/(2s - K)",
        covers="these clouds and changes", evidence="exact", drawn=False,
    )  # fmt: skip


def _weighted(cloud: Array) -> tuple[Array, Array]:
    """The weighted mean, (trials, d), and the score, (trials,)."""
    (near,) = neighbour_counts(cloud, (2 * TAU,))
    return weighted_mean(cloud, near, np.zeros((1, cloud.shape[2]))), near.mean(axis=1)


@check("user_level/lem-c2@weighted", kind="sensitivity", grid={"d": (1, 2), "K": (60, 400)}, expect="consistent")
def weights_of_drawn_clouds(context: Context, *, d: int, K: int) -> Verdict:
    """A core, a side cloud and a point that moves anywhere."""
    points, moved = clouds(context.rng(), context.scale(1000, 10_000), K, d)
    here, there = _weighted(points), _weighted(moved)
    score = np.maximum(here[1], there[1])
    some = 2 * score > K
    return accuracy.never_violated(
        np.linalg.norm(here[0] - there[0], axis=1)[some],
        stated_each("user_level/lem-c2@weighted", tau=TAU, s=score[some], K=float(K)),
        statement="|mean - mean'| <= 32 tau/(2s - K)", failure_probability=context.failure_probability,
    )  # fmt: skip


@check("user_level/thm-3-1@sampled", kind="sensitivity", expect="consistent")
def a_user_moves_the_steps_of_his_phase(context: Context) -> Verdict:
    """Replayed (reduced noise): a user of phase 2 moves no other phase, and bit and mean together by what is claimed;
    the output follows from what was released.
    """
    work, n = huber(2, 4), 200
    algorithm = replace(REDUCED, c_radius=1.0, c_score=0.02)
    told = problem(work)
    place = algorithm.schedule(told, n).phases[1].start
    data = work.rows(context.rng("data"), 1, n)
    other = data.copy()
    other[0, place] = -other[0, place]
    seen = Case(algorithm, work, told).replay(data, other, context.scale(20, 100), context.seed)
    others = max(float(m.distance.max()) for m in seen.movements if not m.release.name.startswith("phase 2/"))
    steps = max(float(m.ratio.max()) for m in seen.movements if m.release.name == "phase 2/step")
    said = f"other phases move by {others:g}, steps by {steps:.3g} of their claims"
    numbers: dict[str, Any] = {"others": others, "steps": steps}
    if others > 1e-12 or steps > 1 + 1e-9 or float(seen.leak.max()) > 0:
        return differs(said, numbers=numbers, severity=max(others, steps))
    notices = "another phase that moves, a step beyond its claim, or an output that follows the data, at this pair"
    return with_budget(consistent(said, "exact", numbers=numbers, notices=notices, severity=steps), algorithm, told, n)


@check("user_level/thm-3-1@sampled", kind="accuracy", also=("user_level/alg-3",))
def lines_of_sampled_phases(context: Context) -> Verdict:
    """Two phases replayed from coins, a fresh minibatch and threshold in each step, and releases (reduced noise)."""
    work = quadratic(2, 3)
    users = three_kinds(context.rng("users"), 200, 160, 3, middle=0.5)
    devices = ("halts", "projections", "outliers removed for certain", WEIGHTED, MINIBATCHES)
    return replayed(context, REDUCED, work, problem(work), users, algorithm_3, devices)


@check("user_level/thm-3-2@sampled", kind="runtime", grid={"H": (1.0, 1e4, 1e8)})
def planned_gradients_of_sampled_phases(context: Context, *, H: float) -> Verdict:
    """What the plan counts is at most the stated sum, at sizes where privacy asks for the minibatches and where the
    passes over the users do.
    """
    left, right = [], []
    for n, m, epsilon, delta in ((2**36, 4, 0.3, 1e-9), (2**44, 1, 8.0, 1e-6), (2**40, 100, 1.0, 1e-20)):
        plan = READING.schedule(plain(4, m, epsilon, delta, smooth=H), n)
        rows = {"T[i]": [float(row.steps) for row in plan.phases], "N[i]": [float(row.users) for row in plan.phases]}
        left.append(float(plan.gradients))
        right.append(
            stated("user_level/thm-3-2@sampled", **rows, l=len(plan.phases), m=m, epsilon=epsilon, delta=delta)
        )
    return accuracy.never_violated(
        left, right, statement="gradients <= the stated sum", covers="the plan fixes them", evidence="counted"
    )


def of_sampled_phases(variable: str, sizes: Any) -> Any:
    """A row of it."""
    return scaling(
        "user_level/thm-c3@sampled", variable=variable, part="private", sizes=sizes, against="explicit", family=BOWLS,
        engine=BY_MOMENTS, mutants=WRONG, since="standard",
    )  # fmt: skip


def sampled(curvature: float, **at: Any) -> Instance:
    """What the closed form asks for, T_1 among it."""
    one = accelerated(SAMPLED, curvature, **{"n": 10**12} | at)
    (first, *_) = SAMPLED.schedule(one.problem, one.n).phases
    weight = SAMPLED.base_weight(one.problem, one.n)
    return replace(one, at={**one.at, "T": float(first.steps), "lambda": weight})


@of_sampled_phases("n", powers(10, range(12, 17)))
def slope_in_users(*, n: int, curvature: float) -> Instance:
    """Mean excess risk over n, the worst over bowls of every curvature: sampled phases, private as they stand."""
    return sampled(curvature, n=n)


@of_sampled_phases("d", powers(2, range(68, 85, 4)))
def slope_in_the_dimension(*, d: int, curvature: float) -> Instance:
    """The same over d."""
    return sampled(curvature, d=d)


@check("user_level/thm-c3@sampled", kind="accuracy", expect="consistent")
def sampled_phases_by_their_moments(context: Context) -> Verdict:
    """The moments that these rates rest on, minibatches among them, against runs on drawn users."""
    # unbound: the engine of these rates against drawn runs, whatever the rate is
    algorithm = replace(REDUCED, c_noise=1e-7, c_radius=4.0, c_score=1e-6, c_steps=4.0, q=1.0, p=1.0)
    instance = bowl(algorithm, 64, 4, 64, 0.5, epsilon=1.0, delta=1e-6, drawn=True)
    return admitted(BY_MOMENTS, instance, context.scale(100, 400), context)


elsewhere = unmeasured(
    "user_level/thm-c3@sampled", "epsilon delta L m",
    "The least n that makes the tests sure moves with epsilon and delta, which leaves no window beside that of full "
    "batches; L and m enter lambda and tau as in full batches, whose rows are those of Theorem C.3.",
)  # fmt: skip
