"""Sections 1 and 2: the setting on the workloads that are used here, composition, and the informal theorems."""

from __future__ import annotations

import itertools
import math

import numpy as np
import sympy as sp

from dpcheck.accounting import Composition, advanced_composition, optimal_delta
from dpcheck.checks import Context, check
from dpcheck.engine.catalogue import claim
from dpcheck.geometry import Entropy, PowerMap
from dpcheck.harness import accuracy
from dpcheck.harness.symbolic import advanced_composition_proved, agree, proved
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Verdict, differs
from dpcheck.workloads.crosspolytope import SignLasso

from .cases import linear, location

SMALL = SignLasso(x_star=(0.5, -0.25, 0.0))


def _all_records(work: SignLasso) -> np.ndarray:
    """Every record that the law can draw, once."""
    rows = []
    for signs in itertools.product((-1.0, 1.0), repeat=len(work.x_star)):
        for noise in (-work.s, work.s):
            rows.append([*signs, float(np.dot(signs, work.x_star)) + noise])
    return np.array(rows)


@check("l1_geometry/asm-geometry", kind="sensitivity")
def gradients_are_bounded_at_every_vertex(context: Context) -> Verdict:
    """All records of the LASSO law at all vertices: ||g||_inf <= L, attained, so a batch mean moves by 2L/b at most."""
    records, corners = _all_records(SMALL), SMALL.domain.vertices
    size = np.abs(SMALL.gradient(corners[:, None], records[None])).max(axis=-1).ravel()
    L = SMALL.constants.lipschitz(1.0)
    verdict = accuracy.never_violated(
        size, L, statement="||g||_inf <= L", covers="gradients are affine in x, and these are all records and vertices"
    )
    return verdict if math.isclose(size.max(), L) else differs(f"L = {L} is not attained: {size.max()}")


@check("l1_geometry/def-2-1", kind="accuracy", grid={"loss": ("linear", "location", "lasso")}, expect="consistent")
def losses_are_lipschitz_in_l1(context: Context, *, loss: str) -> Verdict:
    """|f(x) - f(y)| <= L |x - y|_1 on random pairs of points and records."""
    work = {"linear": linear(5), "location": location(5), "lasso": SMALL}[loss]
    rng, pairs = context.rng(), context.scale(5000, 100_000)
    z = work.rows(rng, 1, pairs)[0]
    x, y = (work.project(rng.standard_normal((pairs, work.constants.d)) * rng.random((pairs, 1)) * 2) for _ in range(2))
    left = np.abs(work.loss(x, z) - work.loss(y, z))
    right = work.constants.lipschitz(1.0) * np.abs(x - y).sum(axis=1)
    return accuracy.never_violated(
        left, right + 1e-12, statement="|f(x) - f(y)| <= L |x - y|_1", failure_probability=context.failure_probability
    )


@check("l1_geometry/def-2-2", kind="accuracy")
def squares_are_smooth_in_l1(context: Context) -> Verdict:
    """The Hessian a a^T of a LASSO loss maps l1 to l_inf with norm max |a_i a_j| = 1, for every record."""
    a = _all_records(SMALL)[:, :-1]
    entries = np.abs(a[:, :, None] * a[:, None, :]).max(axis=(1, 2))
    return agree(entries, np.full(len(a), SMALL.constants.smoothness(1.0)), "largest entry of the Hessian against beta")


@check("l1_geometry/def-2-3", kind="accuracy")
def weak_family_is_strongly_convex(context: Context) -> Verdict:
    """lambda |x|_2^2 in the plane has modulus exactly lambda in l1."""
    u, v, lam = sp.symbols("u v lambda", positive=True)
    gap = lam * (u**2 + v**2) - lam / 2 * (u + v) ** 2
    square = lam / 2 * (u - v) ** 2
    return proved({"lambda |v|_2^2 - lambda/2 |v|_1^2 is a square, 0 at u = v": gap - square})


@check("l1_geometry/def-2-4", kind="accuracy", grid={"h": ("entropy", "power")}, expect="consistent")
def sums_keep_relative_strong_convexity(context: Context, *, h: str) -> Verdict:
    """LASSO losses plus lambda h: the value at y is at least the first-order expansion at x plus lambda D_h(y,x), with
    the library's gradients and divergences, on random points; and D_h itself is h's own gap.
    """
    rng, pairs, lam = context.rng(), context.scale(2000, 50_000), 0.7
    x, y = (rng.dirichlet(np.ones(3), pairs) for _ in range(2))
    mirror = Entropy() if h == "entropy" else PowerMap(1.5, 3.0)
    z = SMALL.rows(rng, 1, pairs)[0]
    slope = SMALL.gradient(x, z) + lam * mirror.gradient(x)
    gap = (
        SMALL.loss(y, z) - SMALL.loss(x, z) + lam * (mirror.value(y) - mirror.value(x)) - (slope * (y - x)).sum(axis=1)
    )
    own = mirror.value(y) - mirror.value(x) - (mirror.gradient(x) * (y - x)).sum(axis=1)
    divergence = mirror.bregman(y, x)
    if not np.allclose(own, divergence, rtol=1e-8, atol=1e-10):
        return differs(f"D_h of the library is off by {np.abs(own - divergence).max():.3g}")
    return accuracy.never_violated(
        lam * divergence, gap + 1e-9, statement="lambda D_h(y,x) <= gap of f + lambda h",
        failure_probability=context.failure_probability,
    )  # fmt: skip


@check("l1_geometry/def-2-5", kind="privacy")
def hockey_stick_is_the_worst_event(context: Context) -> Verdict:
    """sup over all events of P(O) - e^eps Q(O) is the sum of positive parts, by enumerating every event."""
    rng, rows, sums = context.rng(), [], []
    for _ in range(20):
        P, Q = rng.dirichlet(np.ones(8)), rng.dirichlet(np.ones(8))
        gaps = P - math.exp(0.3) * Q
        rows.append(max(gaps[list(event)].sum() for k in range(9) for event in itertools.combinations(range(8), k)))
        sums.append(np.maximum(gaps, 0).sum())
    return agree(rows, sums, "worst of 256 events against the sum of positive parts")


@check("l1_geometry/lem-2-1", kind="privacy")
def randomised_response_attains_basic_composition(context: Context) -> Verdict:
    """k-fold randomised response loses exactly k eps, and no more."""
    grid = [(e, k) for e in (0.01, 0.1, 1.0) for k in (1, 2, 5, 20)]
    epsilons = [Composition([(e, k)]).epsilon(0.0) for e, k in grid]
    return agree(epsilons, [claim("l1_geometry/lem-2-1").evaluate(k=k, epsilon=e) for e, k in grid], "epsilon")


@check("l1_geometry/lem-2-1", kind="symbolic")
def one_more_mechanism_adds_epsilon(context: Context) -> Verdict:
    """By induction on k: given the past, one more log-ratio is eps - s with s >= 0, added to k eps - r with r >= 0."""
    k, e = BY_NAME["k"], BY_NAME["epsilon"]
    stated, (r, s) = claim("l1_geometry/lem-2-1").explicit, sp.symbols("r s", nonnegative=True)
    ratio = (stated - r) + (e - s)
    return proved({"no mechanism": stated.subs(k, 0)}, {"k + 1 mechanisms": stated.subs(k, k + 1) - ratio})


@check("l1_geometry/lem-2-2", kind="privacy")
def advanced_composition_is_above_the_optimal_one(context: Context) -> Verdict:
    """The exact delta of k-fold randomised response at the stated epsilon is at most delta'."""
    left, right = [], []
    for e, k, slack in itertools.product(
        (0.01, 0.1, 0.5, 1.0), (1, 10, 100, context.scale(1000, 10_000)), (1e-2, 1e-5)
    ):
        total, _ = advanced_composition(e, 0.0, k, slack)
        stated = float(claim("l1_geometry/lem-2-2").at({"k": k, "epsilon": e, "delta_0": slack}))
        if not math.isclose(total, stated, rel_tol=1e-12):
            return differs(f"the library's formula gives {total}, the claim {stated}")
        left.append(optimal_delta(e, 0.0, k, total))
        right.append(slack)
    dominated = "randomised response dominates every eps-DP mechanism; for each eps, k and delta' of the grid"
    return accuracy.never_violated(left, right, statement="exact delta <= delta'", covers=dominated)


@check("l1_geometry/lem-2-2", kind="symbolic")
def azuma_on_the_privacy_losses(context: Context) -> Verdict:
    """Losses of k mechanisms exceed k eps(e^eps - 1) by more than the root with probability delta' at most."""
    stated = claim("l1_geometry/lem-2-2").explicit
    slack = sp.Symbol("delta_0", positive=True)
    return advanced_composition_proved(stated, BY_NAME["k"], BY_NAME["epsilon"], slack)


a, c = sp.symbols("a c", nonnegative=True)
