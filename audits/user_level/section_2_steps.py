"""Section 2: what the linear-time algorithm is made of: SGD, concentration scores, removal of outliers."""

from __future__ import annotations

import itertools
import math
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.algorithms.user_level.concentration import (
    concentration_score,
    inclusion,
    neighbour_counts,
    outlier_removal,
    weighted_mean,
)
from dpcheck.algorithms.user_level.descent import movement, sgd
from dpcheck.checks import Context, by_size, check
from dpcheck.claims import evaluate
from dpcheck.engine.statements import explicit_of, order_of, stated
from dpcheck.geometry import Ball
from dpcheck.harness import accuracy, domain, plans, stability
from dpcheck.harness.runtime import CountingWorkload
from dpcheck.harness.search import BallRecords
from dpcheck.harness.sensitivity import Certificate
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Array
from dpcheck.verdicts import Verdict, combine, consistent, differs, holds
from dpcheck.workloads import LinearMean

from .cases import WORKLOADS, linear, stated_each
from .lemmas import TWO_RUNS, distances, fair, regret

PRINTED_TWICE = ("user_level/lem-b4",)
"""Lemma B.4 is Lemma 2.3 with its proof."""


@check("user_level/proc-sgd", kind="runtime", grid={"T": (1, 7, 64)})
def one_gradient_a_sample(context: Context, *, T: int) -> Verdict:
    """T gradients for each of three groups, counted."""
    work = linear(3, 1)
    each: Any = CountingWorkload(work.each)
    sgd(each, work.each.rows(context.rng(), 1, 3 * T).reshape(1, 3, T, 3), 0.1, np.zeros((1, 3)))
    return agree([each.gradients], [3 * stated("user_level/proc-sgd", T=T)], "gradients of three groups")


@check("user_level/proc-sgd", kind="stability", grid={"loss": ("linear", "quadratic", "huber")})
def a_replaced_sample_moves_the_average(context: Context, *, loss: str) -> Verdict:
    """One of T samples replaced: steps of at most 2/beta do not expand, the mean moves by 2 L eta (T-1)/T at most."""
    # unbound: how far the average moves, where the claim counts gradients
    d, T, eta = 2, 8, 0.2
    work = WORKLOADS[loss](d, 1)
    L = work.constants.lipschitz(2.0)
    radius = {"linear": 1.0, "quadratic": 0.5, "huber": math.sqrt(d)}[loss]

    def average(data: Array) -> Array:
        return sgd(work.each, data[:, None], eta, np.zeros((1, d)))[:, 0]

    measure = stability.of_map(average, 2 * L * eta * (T - 1) / T)
    search = stability.search(
        measure, BallRecords(radius, d), T, chains=32, steps=context.scale(15, 60), seed=context.seed
    )
    return stability.verdict(
        search, certificate=Certificate(1.0, "non-expansive steps, the first sample weighs (T-1)/T")
    )


@check("user_level/proc-sgd", kind="stability", grid={"T": (1, 2, 9)})
def opposite_samples_part_two_averages(context: Context, *, T: int) -> Verdict:
    """Samples that pull one way and the other, of length 3, take two averages as far apart as a phase reckons with."""
    # unbound: how far two averages come apart, which no formula of the paper says
    eta, L = 0.2, 3.0
    rows = np.zeros((1, 2, T, 2))
    rows[0, :, :, 0] = L * np.array([[1.0], [-1.0]])
    (one, other) = sgd(linear(2, 1, D=1e3).each, rows, eta, np.zeros((1, 2)))[0]
    return agree([float(np.linalg.norm(one - other))], [movement(eta, L, T)], "distance of two averages")


@check("user_level/proc-sgd", kind="risk", grid={"eta": (0.02, 0.1)})
def risk_of_the_average(context: Context, *, eta: float) -> Verdict:
    """The average of x_0, ..., x_{T-1} keeps the regret bound on the absolute loss, which is not smooth."""
    # unbound: held against lem-b3@derived, where the claim counts gradients
    return regret(context, "absolute", eta, "user_level/lem-b3@derived")


def _clouds(C: int) -> Array:
    """Every placement of C points on the sites 0, 0.9, 1.8 and 9: near is not transitive. (4^C, C, 1)."""
    return np.array([0.0, 0.9, 1.8, 9.0])[np.array(list(itertools.product(range(4), repeat=C)))][..., None]


@check("user_level/proc-concentration-score", kind="sensitivity", grid={"C": by_size([4, 5], [4, 5, 6])})
def score_moves_by_less_than_two(context: Context, *, C: int) -> Verdict:
    """One point of C replaced, on four sites: the score changes by 2/C for each pair that it wins or loses."""
    points, worst = _clouds(C), 0.0
    before = concentration_score(points, 1.0)
    for site in (0.0, 0.9, 1.8, 9.0):
        moved = points.copy()
        moved[:, 0] = site
        worst = max(worst, float(np.abs(concentration_score(moved, 1.0) - before).max()))
    claimed = stated("user_level/proc-concentration-score")
    many = stated("user_level/proc-concentration-score@derived", r=1, K=1e12)  # the least that holds for every C
    verdict = accuracy.never_violated(
        [worst], [claimed], statement="|s - s'| <= 2", evidence="certificate",
        covers="a point has at most C - 1 pairs with the others, each counted twice",
    )  # fmt: skip
    return combine([verdict, agree([many], [claimed], "exact sensitivity for many points")])


@check("user_level/proc-concentration-score", kind="accuracy")
def score_lies_between_one_and_all(context: Context) -> Verdict:
    """1 <= s <= C, and s is what a double loop over pairs counts, on all placements of five points on four sites."""
    # unbound: the value of the score, where the claim bounds its sensitivity
    points = _clouds(5)
    looped = sum((np.abs(points[:, i] - points[:, j]) <= 1.0)[:, 0] for i in range(5) for j in range(5)) / 5
    values = concentration_score(points, 1.0)
    if not (values.min() >= 1 and values.max() <= 5):
        return differs(f"scores from {values.min():g} to {values.max():g}")
    return agree(values, looped, "scores against a double loop")


@check("user_level/proc-concentration-score", kind="accuracy")
def neighbours_at_several_radii(context: Context) -> Verdict:
    """Clouds that are wider than one of three radii, than two, than all and than none, each beside a double loop; of
    points alone, and of a radius below zero, nothing is counted.
    """
    # unbound: the neighbours of which scores are made, at which radius ever
    points = context.rng().standard_normal((5, 30, 3)) * np.array([1e-3, 0.1, 0.3, 1.0, 30.0])[:, None, None]
    radii = (1.5, 0.0, 0.4)
    asked = [
        (f"{cloud.shape} at {levels}", partial(neighbour_counts, cloud, levels), cloud.ndim == 3 and min(levels) >= 0)
        for cloud in (points, points[0])
        for levels in (radii, (0.5, -0.1), (-0.1,))
    ]
    if wrong := plans.wrongly_answered(asked):
        return plans.answered(wrong, "")
    apart = np.array([[[math.dist(one, other) for other in cloud] for one in cloud] for cloud in points])
    looped = [(apart <= radius).sum(axis=2) for radius in radii]
    return agree(np.ravel(neighbour_counts(points, radii)), np.ravel(looped), "neighbours against a double loop")


@check("user_level/proc-concentration-score@derived", kind="sensitivity", grid={"C": by_size([4, 5], [4, 5, 6])})
def score_of_replaced_points(context: Context, *, C: int) -> Verdict:
    """r points of C moved together, all placements on four sites: at most 2 r (C - r)/C, and attained."""
    points = _clouds(C)
    before, changes, wanted = concentration_score(points, 1.0), [], []
    for r in range(1, C // 2 + 1):
        alike = (points[:, :r] == points[:, :1]).all(axis=(1, 2))
        worst = 0.0
        for site in (0.0, 0.9, 1.8, 9.0):
            moved = points.copy()
            moved[:, :r] = site
            worst = max(worst, float(np.abs(concentration_score(moved, 1.0) - before)[alike].max()))
        changes.append(worst)
        wanted.append(stated("user_level/proc-concentration-score@derived", r=r, K=C))
    return agree(changes, wanted, f"largest change of the score, r = 1..{C // 2} equal points of {C}")


@check("user_level/proc-outlier-removal", kind="accuracy")
def inclusion_probabilities(context: Context) -> Verdict:
    """A point is kept exactly where its uniform lies below p(h), for all h of 12 points."""
    h = np.arange(1, 13, dtype=float)[None]
    wanted = [stated("user_level/proc-outlier-removal", h=x, C=12) for x in h[0]]
    points, chances = np.eye(12)[None], []
    for j in range(12):
        p, kept = wanted[j], []
        for shift in (-1e-9, 1e-9):
            u = np.full((1, 12), 2.0)
            u[0, j] = p + shift
            kept.append(outlier_removal(points, h, u, np.full((1, 12), -1.0))[0, j] == 1.0)
        chances.append(p if kept == [True, False] else math.inf)
    return agree(np.minimum(chances, 9.0), wanted, "keeping probabilities")


@check("user_level/proc-outlier-removal", kind="accuracy", grid={"C": (4, 5, 12)})
def a_single_weight_is_all(context: Context, *, C: int) -> Verdict:
    """Where one point alone may be kept, however seldom, the mean with weights is that point, else what is given."""
    h = np.arange(C + 1, dtype=float)
    counts = np.zeros((C + 1, C))
    counts[:, 0] = h
    means = weighted_mean(np.full((C + 1, C, 1), 2.0), counts, np.full((1, 1), 3.0))
    kept = stated_each("user_level/proc-outlier-removal", h=h, C=C) > 0
    return agree(means[:, 0], np.where(kept, 2.0, 3.0), "mean of what has a weight")


@check("user_level/proc-outlier-removal", kind="sensitivity")
def an_empty_set_returns_the_fallback(context: Context) -> Verdict:
    """Two far halves: every p is 0, nothing is kept, and the mean is the given point, on both neighbours."""
    points = np.repeat([0.0, 9.0], 6)[None, :, None]
    moved = points.copy()
    moved[0, 0] = 4.5
    values = []
    for cloud in (points, moved):
        (counts,) = neighbour_counts(cloud, (1.0,))
        # Moving one point out leaves 5 of 12: still below C/2.
        values.append(float(outlier_removal(cloud, counts, np.zeros((1, 12)), np.full((1, 1), 0.25))[0, 0]))
    said = f"means {values} of nothing"
    return (differs if values[0] != 0.25 else holds)(said, "exact", numbers={"mean": values[0], "other": values[1]})


@check("user_level/proc-outlier-removal@derived", kind="sensitivity", grid={"C": by_size([5], [5, 6])})
def inclusions_of_the_others(context: Context, *, C: int) -> Verdict:
    """One point replaced: the probabilities of all others change by at most 6/C, which is attained."""
    points, worst = _clouds(C), 0.0
    (before,) = neighbour_counts(points, (1.0,))
    for site in (0.0, 0.9, 1.8, 9.0):
        moved = points.copy()
        moved[:, 0] = site
        (after,) = neighbour_counts(moved, (1.0,))
        worst = max(worst, float(np.abs(inclusion(after) - inclusion(before))[:, 1:].max()))
    verdict = accuracy.never_violated(
        [worst], [min(1.0, stated("user_level/proc-outlier-removal@derived", C=C))], statement="|p_j - p_j'| <= 6/C",
        evidence="certificate", covers="h_j changes by at most 1, and p_j has slope 6/C in it",
    )  # fmt: skip
    sizes = (12, 24, 60)
    slopes = [float(np.diff(inclusion(np.arange(1.0, many + 1))).max()) for many in sizes]
    wanted = [stated("user_level/proc-outlier-removal@derived", C=many) for many in sizes]
    return combine([verdict, agree(slopes, wanted, "largest change of a probability")])


@check("user_level/lem-2-3", kind="symbolic", also=PRINTED_TWICE)
def exact_distance_grows_like_the_order(context: Context) -> Verdict:
    """Of linear losses: its root mean square over each stated order without its logarithm is level in eta, L and T."""
    verdicts = []
    for label in ("user_level/lem-2-3", *PRINTED_TWICE):
        order = order_of(label)
        order, level = order.subs(dict.fromkeys(order.atoms(sp.log), 1)), []
        for eta, L, T in ((1.0, 1.0, 1e4), (1e-3, 1.0, 1e8), (0.1, 50.0, 1e12)):
            at = {"eta": eta, "L": L, "T": T}
            level.append(math.sqrt(stated("user_level/lem-2-3@linear", **at)) / evaluate(order, at))
        said = "R over the order without its logarithm, at three eta, L and T"
        verdicts.append(agree(level, [level[-1]] * 3, said, tolerance=1e-3))
    return combine(verdicts)


@check("user_level/lem-2-3", kind="symbolic", also=PRINTED_TWICE)
def derived_bound_is_of_the_stated_order(context: Context) -> Verdict:
    """At dT = 3 at most 20 times each stated order for every zeta, and in the end a multiple of it."""
    root = sp.Symbol("root", positive=True)  # of log(1/zeta)
    verdicts = []
    for label in ("user_level/lem-2-3", *PRINTED_TWICE):
        order, derived = order_of(label), explicit_of("user_level/lem-2-3@derived")
        logs = order.atoms(sp.log)
        within = {s.name: s for log in logs for s in log.free_symbols}
        order = order.subs({log: sp.log(3) + root**2 for log in logs})
        ratio = sp.simplify(derived.subs(within["zeta"], sp.exp(-(root**2))) / order) if "zeta" in within else order
        if ratio.free_symbols != {root}:
            return differs(f"the derived bound over {label} is {ratio}, no function of zeta alone", "symbolic")
        ends = [float(ratio.subs(root, at)) for at in (1e8, 1e9)]
        said = f"derived bound <= 20 times {label} at dT = 3"
        verdicts.append(domain.never_positive(sp.expand(ratio**2) - 400, {"root": (0, 100)}, statement=said))
        verdicts.append(agree(ends[:1], ends[1:], "the ratio, as zeta falls", tolerance=1e-6))
    return combine(verdicts)


@check("user_level/lem-2-3", kind="stability", also=PRINTED_TWICE, expect="consistent")
def drawn_distances_grow_like_the_order(context: Context) -> Verdict:
    """Root mean square of 1,000 pairs of the library's runs over each stated order without its logarithm: level.

    A standard error is below 3 %, so all are within a factor 1.5; a power of 1/2 of eta, L or T parts them by 2.8.
    """
    drawn = []
    for eta, L, T in ((0.1, 1.0, 20), (0.005, 1.0, 100), (0.1, 8.0, 320)):
        work = LinearMean(np.array([L]), np.zeros(1), Ball(1, 1e6), 1e6)
        apart = distances(work, context, 1000, T, eta, T) * eta * L * math.sqrt(T)
        drawn.append(({"eta": eta, "L": L, "T": float(T)}, math.sqrt(float(np.mean(apart**2)))))
    labels, verdicts = ("user_level/lem-2-3", *PRINTED_TWICE), []
    for label in labels:
        order = order_of(label)
        order = order.subs(dict.fromkeys(order.atoms(sp.log), 1))
        ratios = [apart / evaluate(order, at) for at, apart in drawn]
        off = max(ratios) / min(ratios)
        said = f"the mean distance over {label} without its logarithm varies by a factor of {off:.3f} over eta, L and T"
        fields: dict[str, Any] = {"failure_probability": context.failure_probability / len(labels)}
        if off > 1.5:
            verdicts.append(differs(said, "sampled", **fields))
        else:
            seen = "a power of eta, L or T off by a half"
            verdicts.append(consistent(said, "sampled", notices=seen, severity=off / 1.5, **fields))
    return combine(verdicts)


@check(
    "user_level/lem-2-3@derived",
    kind="stability",
    grid={"loss": tuple(TWO_RUNS), "d": (1, 10, 100), "T": by_size((100,), (100, 400, 1600))},
)
def two_runs_without_the_dimension(context: Context, *, loss: str, d: int, T: int) -> Verdict:
    """P(|difference| <= eta L sqrt T (4 + 8 sqrt(2 log 20))) >= 0.95: the event of zeta = 1/20 for this loss."""
    work, step_size = TWO_RUNS[loss](d)
    apart = distances(work, context, context.scale(400, 800), T, step_size)
    bound = stated("user_level/lem-2-3@derived", eta=1.0, L=1.0, T=1.0, H=1.0, zeta=0.05)
    return accuracy.probability(
        int((apart <= bound).sum()),
        len(apart),
        0.95,
        context.failure_probability,
        event=f"distance within {bound:.3g} eta L sqrt T (largest {apart.max():.3g})",
    )


@check("user_level/lem-2-3@linear", kind="stability", grid={"d": (1, 10, 100)}, expect="consistent")
def second_moment_of_linear_runs(context: Context, *, d: int) -> Verdict:
    """The measured second moment of the library's SGD over the exact one, T = 100: within 6 standard errors of 1."""
    steps, step_size = 100, 0.1
    squares = distances(fair(d, 50.0), context, context.scale(2000, 20_000), steps, step_size) ** 2
    exact = stated("user_level/lem-2-3@linear", eta=step_size, L=1.0, T=steps) / (step_size**2 * steps)
    off = abs(float(squares.mean()) / exact - 1)
    allowed = 6 * float(squares.std()) / math.sqrt(len(squares)) / exact
    said = (
        f"the second moment measured is {squares.mean():.4f} eta^2 L^2 T, {off:.2g} off the exact one; {allowed:.2g} "
        "is 6 standard errors"
    )
    numbers = {"off": off, "6 standard errors": allowed, "trials": len(squares)}
    fields: dict[str, Any] = {"numbers": numbers, "failure_probability": context.failure_probability}
    if off > allowed:
        return differs(said, "sampled", **fields)
    seen = f"a second moment off by {2 * allowed:.2g} or more, relatively"
    return consistent(said, "sampled", notices=seen, severity=off / allowed, **fields)
