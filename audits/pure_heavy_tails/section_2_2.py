"""Section 2.2: the Lipschitz extension, its bias, and the decomposition (7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp

from dpcheck.checks import Context, check
from dpcheck.engine.statements import explicit_of, stated
from dpcheck.harness import accuracy
from dpcheck.harness.symbolic import proved
from dpcheck.interfaces import Array, Objective, Sample
from dpcheck.solvers import certified, value
from dpcheck.solvers.extension import extension_gradient, lipschitz_extension, searched_extension
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Point, Verdict, undecided
from dpcheck.workloads.amplitudes import Pareto, Spike
from dpcheck.workloads.linear import RareSpikes, SparseDirection
from dpcheck.workloads.mean import HeavyMean
from dpcheck.workloads.median import WeightedMedian
from dpcheck.workloads.radial import RadialHeavyTail


def pointwise_excess() -> Verdict:
    """(a - C)_+ against a^k: the largest ratio over a, which bounds E(A - C)_+ for every law of A."""
    a, s = sp.symbols("a s", positive=True)
    C, k = BY_NAME["C"], 1 + s
    at, ratio = k * C / (k - 1), (a - C) / a**k
    sharp = (k - 1) ** (k - 1) / (k**k * C ** (k - 1))
    slope = sp.diff(ratio, a) * a ** (k + 1)
    one = {BY_NAME[name]: 1 for name in ("D", "G_k")}
    printed = explicit_of("pure_heavy_tails/lem-2-3").subs(one).subs(BY_NAME["k"], k)
    return proved(
        {
            "the ratio is stationary at a = k C/(k-1) alone": slope - (k - 1) * (at - a),
            "its value there": ratio.subs(a, at) - sharp,
            "that is (1 - 1/k)^k of the printed constant": sharp / printed - (1 - 1 / k) ** k,
        },
        {"(1 - 1/k)^k is below 1: its base is": 1 - s / (1 + s)},
    )


LINE: dict[str, Any] = {
    "spikes": RareSpikes(D=2.0, p=0.3),
    "median": WeightedMedian(D=2.0),
    "mean": HeavyMean(D=4.0, tail=2.5),
}

PLANE: dict[str, Any] = {
    "radial": RadialHeavyTail(b=(0.3, -0.2), D=2.0, weights=Pareto(tail=2.2)),
    "linear": SparseDirection(nu=(0.6, 0.8), D=2.0, p=0.2),
}

SINGULAR = 1e-6
"""What the polar search of the infimum may be above it, relative to the values in play."""


def _numeric(work: Any, w: Array, z: Array, cap: float) -> Array:
    """inf over y of f(y) + C |w - y| on a fine grid of an interval, or by the polar search of the plane; from above."""
    if work.constants.d == 2:
        return searched_extension(work, w, z, cap)
    y = np.linspace(-work.D / 2, work.D / 2, 20_001)[:, None]
    rows = [float((work.loss(y, one) + cap * np.abs(y[:, 0] - v[0])).min()) for v, one in zip(w, z, strict=True)]
    return np.array(rows)


@check(
    "pure_heavy_tails/proc-lip-ext", kind="accuracy", grid={"loss": (*LINE, *PLANE)}, expect=("consistent", "undecided")
)
def extension_is_the_infimum(context: Context, *, loss: str) -> Verdict:
    """The closed form equals the numeric infimum, is f where no record is steep, and its slope is clipped."""
    work, rng, cap = {**LINE, **PLANE}[loss], context.rng(), 0.8
    size = context.scale(40, 300) if loss in LINE else context.scale(4, 30)
    z = work.rows(rng, 1, size)[0]
    w = work.project(work.D * (rng.random((size, work.constants.d)) - 0.5))
    closed = lipschitz_extension(work, w, z, cap)
    gap = np.abs(closed - _numeric(work, w, z, cap)) / (1 + np.abs(closed))
    allowed = np.full(size, SINGULAR if loss in PLANE else 4e-4)
    plain = np.abs(lipschitz_extension(work, w, z, 1e9) - work.loss(w, z)) / (1 + np.abs(work.loss(w, z)))
    sides = [(gap, allowed), (plain, np.full(size, 1e-12))]
    if loss in LINE:
        clipped = np.clip(work.gradient(w, z), -cap, cap)
        sides.append((np.abs(extension_gradient(work, w, z, cap) - clipped)[:, 0], np.full(size, 1e-12)))
    left, right = (np.concatenate([side[i] for side in sides]) for i in (0, 1))
    return accuracy.never_violated(
        left,
        right,
        statement="|closed form - infimum| <= the error of the search",
        tolerance=0.0,
        failure_probability=context.failure_probability,
    )


@check("pure_heavy_tails/lem-2-2", kind="accuracy", grid={"loss": (*LINE, *PLANE)})
def extension_is_convex_lipschitz_and_below(context: Context, *, loss: str) -> Verdict:
    """On random chords the extension lies below its chord and below f, and is C-Lipschitz."""
    work, rng, cap = {**LINE, **PLANE}[loss], context.rng(), 0.8
    size = context.scale(3000, 50_000)
    z = work.rows(rng, 1, size)[0]
    u, v = (work.project(work.D * (rng.random((size, work.constants.d)) - 0.5)) for _ in range(2))
    share = rng.random((size, 1))
    at_u, at_v = (lipschitz_extension(work, x, z, cap) for x in (u, v))
    middle = lipschitz_extension(work, share * u + (1 - share) * v, z, cap)
    scale = 1 + np.abs(at_u) + np.abs(at_v) + np.abs(work.loss(u, z))
    left = np.concatenate([middle, np.abs(at_u - at_v), at_u]) / np.tile(scale, 3)
    chord = share[:, 0] * at_u + (1 - share[:, 0]) * at_v
    steep = stated("pure_heavy_tails/lem-2-2", C=cap) * np.linalg.norm(u - v, axis=1)
    right = np.concatenate([chord, steep, work.loss(u, z)]) / np.tile(scale, 3) + 1e-9
    verdict = accuracy.never_violated(
        left,
        right,
        statement="f_C convex, C-Lipschitz, below f",
        covers="an infimum of C-Lipschitz functions that is jointly convex, lem-2-2",
        evidence="certificate",
    )
    attained = float((np.abs(at_u - at_v) / steep).max())
    if attained < 0.98:
        return undecided(f"{verdict.reason}; but no chord is steeper than {attained:.4g} of the constant", "exact")
    return verdict


@check("pure_heavy_tails/fact-eq-7", kind="accuracy")
def decomposition_by_algebra(context: Context) -> Verdict:
    """The two sides of (7) differ by two terms that are non-negative by definition."""
    names = "f_w f_hat e_w e_hat e_hatC q_w q_hat q_hatC"
    f_w, f_hat, e_w, e_hat, e_hatC, q_w, q_hat, q_hatC = sp.symbols(names, real=True)
    left = (f_w + q_w) - (f_hat + q_hat)
    right = (f_w - e_w) + ((e_w + q_w) - (e_hatC + q_hatC))
    below, optimal = f_hat - e_hat, (e_hat + q_hat) - (e_hatC + q_hatC)
    return proved(
        {"right - left = (f - f_C)(w_lambda) + (gap of w_lambda in the extension)": right - left - below - optimal}
    )


@check("pure_heavy_tails/fact-eq-7", kind="accuracy", grid={"loss": tuple(LINE)})
def decomposition_on_a_grid(context: Context, *, loss: str) -> Verdict:
    """(7) at every point of a grid, for random data sets."""
    work, rng, cap, weight = LINE[loss], context.rng(), 0.8, 0.5
    trials = context.scale(200, 2000)
    sample = Sample(work.rows(rng, trials, 12), np.ones((1, 12)))
    plain = Objective(workload=work, sample=sample, weight=weight, centre=np.full((1, 1), 0.3))
    capped = replace(plain, cap=cap)
    best, best_C = (certified(objective).point for objective in (plain, capped))
    sides = []
    for point in np.linspace(-work.D / 2, work.D / 2, 21):
        w = np.full((trials, 1), point)
        left = value(plain, w) - value(plain, best)
        right = (value(plain, w) - value(capped, w)) + (value(capped, w) - value(capped, best_C))
        sides.append((left, right + 1e-9 * (1 + np.abs(right))))
    left, right = (np.concatenate([side[i] for side in sides]) for i in (0, 1))
    return accuracy.never_violated(
        left,
        right,
        statement="(7)",
        covers="its two sides differ by two gaps that are never negative, by algebra",
        evidence="certificate",
    )


@check("pure_heavy_tails/lem-2-3", kind="symbolic", also=("pure_heavy_tails/lem-c-1",))
def bias_of_every_law(context: Context) -> Verdict:
    """(a - C)_+ <= G^k/((k-1) C^(k-1)) pointwise in units of a^k, hence in expectation, for every law."""
    return pointwise_excess()


@check("pure_heavy_tails/lem-2-3", kind="accuracy", grid={"k": (2.0, 3.0, 4.0)})
def expected_bias_within_its_bound(context: Context, *, k: float) -> Verdict:
    """E max bias of two-point and Pareto losses, exactly, against D G_k^k/((k-1) C^(k-1))."""
    caps = np.geomspace(0.3, 300, context.scale(25, 100))
    laws: dict[str, Any] = {f"Pareto {k + more:g}": Pareto(k + more) for more in (0.1, 1.0)}
    laws |= {f"spike p = {p:g}": Spike.of_moment(1.0, k, p) for p in (0.5, 0.01, 1e-4)}
    left, right, points = [], [], []
    for name, law in laws.items():
        G = law.moment(k) ** (1 / k)
        for cap in caps:
            left.append(2.0 * law.excess_mean(float(cap)))
            right.append(stated("pure_heavy_tails/lem-2-3", D=2.0, G_k=G, k=k, C=float(cap)))
            points.append(Point(x=float(cap), value=left[-1], bound=right[-1], series=f"{name}, k = {k:g}"))
    covers = "every law is a mixture of constants, and the pointwise inequality is proved"
    verdict = accuracy.never_violated(
        left, right, statement="expected bias <= bound", covers=covers, evidence="certificate"
    )
    return replace(verdict, points=[p for p in points if p.value > 0], axes=("C", "expected bias of the extension"))
