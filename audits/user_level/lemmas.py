"""What the audits of lemmas share: privacy of subsamples, and coupled runs of outlier removal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
import sympy as sp

from dpcheck.algorithms.user_level.concentration import inclusion, neighbour_counts
from dpcheck.algorithms.user_level.descent import sgd
from dpcheck.checks import Context
from dpcheck.engine.statements import explicit_of, stated
from dpcheck.geometry import Ball
from dpcheck.harness import domain, risk
from dpcheck.harness.symbolic import proved
from dpcheck.interfaces import Array, Rng
from dpcheck.privacy import gaussian_delta
from dpcheck.symbols import positive
from dpcheck.verdicts import Verdict, combine, differs
from dpcheck.workloads import LinearMean, SignHuber

from .cases import WORKLOADS

TAU = 1.0


@dataclass(frozen=True)
class Moves:
    """Coupled runs of outlier removal on neighbouring clouds whose scores are high enough.

    Attributes:
        distance: between the two kept means; others: B, the other points on which the coupling differs.
        sides: |S minus S'| and |S' minus S|; kept: |S| and |S'|.
    """

    distance: Array
    others: Array
    sides: tuple[Array, Array]
    kept: tuple[Array, Array]


def clouds(rng: Rng, trials: int, count: int, d: int) -> tuple[Array, Array]:
    """A core on [0, tau], a side cloud near 2 or 3 tau, and one point that moves anywhere: (trials, C, d) twice."""
    core = rng.uniform(0.6, 0.97, size=(trials, 1))
    inside = np.arange(count) < np.round(core * count)
    ends = np.where(rng.random((trials, count)) < 0.5, rng.random((trials, count)), rng.integers(0, 2, (trials, count)))
    place = rng.choice([1.5, 2.0, 2.3, 2.7, 3.0], size=(trials, 1)) * TAU + 0.05 * rng.standard_normal((trials, count))
    points = np.zeros((trials, count, d))
    points[..., 0] = np.where(inside, ends * TAU, place)
    points[..., 1:] = 0.1 * TAU * rng.standard_normal((trials, count, d - 1)) * rng.integers(0, 2, (trials, 1, 1))
    moved = points.copy()
    at = np.where(rng.random(trials) < 0.5, 0, rng.integers(0, count, trials))
    targets = rng.choice([-2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 50.0], size=(trials, 1)) + 0.2 * rng.standard_normal(
        (trials, d)
    )
    moved[np.arange(trials), at] = targets * TAU
    return points, moved


def coupled(points: Array, moved: Array, uniforms: Array, *, score: float, reach: float, least: float) -> Moves:
    """Both sides with the same uniforms; trials whose scores (at radius `score`) stay below `least` C are left out."""
    kept, scores = [], []
    for cloud in (points, moved):
        near, counts = neighbour_counts(cloud, (score, reach))
        scores.append(near.mean(axis=1))
        kept.append(uniforms < inclusion(counts))
    count = points.shape[1]
    some = (np.minimum(*scores) >= least * count) & (kept[0].sum(axis=1) > 0) & (kept[1].sum(axis=1) > 0)
    one, two = kept[0][some], kept[1][some]
    means = [(side[..., None] * cloud[some]).sum(axis=1) / side.sum(axis=1)[:, None] for side, cloud in
             ((one, points), (two, moved))]  # fmt: skip
    changed = (points[some] != moved[some]).any(axis=-1)
    return Moves(
        distance=np.linalg.norm(means[0] - means[1], axis=-1),
        others=((one != two) & ~changed).sum(axis=1),
        sides=((one & ~(two & ~changed)).sum(axis=1), (two & ~(one & ~changed)).sum(axis=1)),
        kept=(one.sum(axis=1), two.sum(axis=1)),
    )


def below(count: int, p: float, k: int) -> float:
    """P(Binomial(count, p) < k), as a sum."""
    return math.fsum(math.comb(count, j) * p**j * (1 - p) ** (count - j) for j in range(k))


def joint_convexity() -> Verdict:
    """Whether (ε', δq) is spent where a share q of the runs differs, each by an (ε, δ)-private step.

    a, b and c are the densities of the runs without the changed record and of those with it, before and after. By the
    identity P − e^{ε'}Q is q times b − e^ε((1 − β)a + βc), and b is (ε, δ)-close to a and to c: of no event it is more
    than q((1 − β)δ + βδ).
    """
    without, before, after, y, z = positive("a b c y z")
    sharp, printed = (explicit_of(f"user_level/lem-a8{reading}") for reading in ("@derived", ""))
    places = {s.name: s for s in sharp.free_symbols}
    at = {places["epsilon"]: sp.log(1 + y), places["K"]: 1, places["N"]: 1 + z}
    q, spent = 1 / (1 + z), sp.exp(sharp.subs(at))
    beta = spent / (1 + y)
    apart = (1 - q) * without + q * before - spent * ((1 - q) * without + q * after)
    return proved(
        {
            "P - e^eps' Q": sp.expand(apart - q * (before - (1 + y) * ((1 - beta) * without + beta * after))),
            "the printed form is the argument of the sharp one": sp.exp(sharp) - 1 - printed,
        },
        {"beta <= 1": sp.factor(1 - beta), "log(1 + z) <= z, an equality at 0": sp.factor(sp.diff(z - sp.log(1 + z)))},
    )


def place_by_place() -> Verdict:
    """Whether changes of M drawn places, one by one, each (log(1 + (e^ε − 1)/N), δ/N), spend what is stated.

    The δ of M of them is a sum of M terms, none above e^{Mε_1}δ/N.
    """
    said, sharp = (explicit_of(f"user_level/lem-a8{reading}") for reading in ("@corrected", "@derived"))
    at, t = {s.name: s for s in said.free_symbols | sharp.free_symbols}, positive("t")[0]
    most = at["K"] * sp.exp(at["K"] * sharp.subs(at["K"], 1)) * at["delta"] / at["N"]
    slack = sp.expand_log(sp.log(said / most), force=True).subs(at["epsilon"], sp.log(1 + at["N"] * t))
    steps = proved({"slack at ε = 0": slack.subs(t, 0)}, {"which grows": sp.factor(sp.diff(slack, t))})
    return combine([steps, joint_convexity()])


def regret(context: Context, loss: str, eta: float, label: str) -> Verdict:
    d, T, trials = 3, 100, context.scale(8_000, 20_000)
    work = (WORKLOADS["huber"](d, 1, 0.0) if loss == "absolute" else WORKLOADS[loss](d, 1)).each
    x = {"linear": np.full(d, 0.5 / math.sqrt(d)), "quadratic": 0.25 * 0.5 / math.sqrt(d)}.get(loss)
    best = np.broadcast_to(work.best_coordinate if isinstance(work, SignHuber) else x, (d,))
    samples = work.rows(context.rng(), trials, T)[:, None]
    values = work.excess_risk(sgd(work, samples, eta, np.zeros((1, d)))[:, 0])
    L, beta = work.constants.lipschitz(2.0), work.constants.smoothness(2.0)
    if beta * eta > 1 and label == "user_level/lem-b3":
        raise ValueError("the printed lemma assumes eta <= 1/beta")
    extra = {"H": beta} if label == "user_level/lem-b3" else {}
    bound = stated(label, D=float(np.linalg.norm(best)), eta=eta, T=T, L=L, **extra)
    limit = L * work.constants.diameter(2.0)
    return risk.expectation(values, bound, context.failure_probability, limit=limit, x=eta, variable="eta", series=loss)


def of_the_order(derived: sp.Expr, order: sp.Expr, points: str, factor: int) -> Verdict:
    """A bound in B at the tail of B against `factor` times an order in log(1/zeta)."""
    x = sp.Symbol("x", positive=True)  # log(1/zeta)
    tail = explicit_of("user_level/lem-b2@tail")
    named = {s.name: s for s in derived.free_symbols | order.free_symbols | tail.free_symbols}
    sides = [side.subs(named["zeta"], sp.exp(-x)) for side in (derived.subs(named["B"], tail), order)]
    left = sp.simplify(sp.expand_log((sides[0] - factor * sides[1]) * named[points] / named["tau"], force=True))
    if left.free_symbols != {x}:
        return differs(f"of another order than the printed one: {left} still holds {points} or tau", "symbolic")
    said = f"derived bound <= {factor} times the stated order"
    return domain.never_positive(left, {"x": (1, 10_000)}, statement=said)


def fair(dimension: int, reach: float) -> LinearMean:
    """Linear losses of fair signs, |z| = 1, on a ball that no run leaves."""
    size = np.full(dimension, 1 / math.sqrt(dimension))
    return LinearMean(size, np.zeros(dimension), Ball(dimension, reach), reach)


def distances(work: Any, context: Context, trials: int, steps: int, step_size: float, *key: Any) -> Array:
    """Distances of the two averages, in units of eta L sqrt T: (trials,)."""
    dimension, L = work.constants.d, work.constants.lipschitz(2.0)
    values = []
    for rng, many in context.chunks(trials, 2 * steps * dimension, *key):
        samples = work.rows(rng, many, 2 * steps).reshape(many, 2, steps, dimension)
        ends = sgd(work, samples, step_size, np.zeros((1, dimension)))
        values.append(np.linalg.norm(ends[:, 0] - ends[:, 1], axis=-1) / (step_size * L * math.sqrt(steps)))
    return np.concatenate(values)


TWO_RUNS = {
    "linear": lambda d: (fair(d, 50.0), 0.1),
    "huber": lambda d: (SignHuber(a=0.5, kappa=0.5, dimension=d), 0.5 * math.sqrt(d)),
}
"""Losses and steps: eta = 1/beta for the Huber loss, whose domain is a cube."""


def sampled_delta(weights: Array, deviation: float, budget: float) -> float:
    """Hockey-stick divergence of the mixture over k of N(k, deviation^2) against N(0, deviation^2)."""
    k = np.arange(len(weights))

    def log_ratio(x: float) -> float:
        return float(np.log(weights @ np.exp((2 * x * k - k**2) / (2 * deviation**2)))) - budget

    # The mixture includes k = 0, so the ratio stays above its weight; it grows with x.
    low, high = -40 * deviation, 40 * deviation
    if log_ratio(low) > 0:
        return -math.expm1(budget)
    place = float(scipy.optimize.brentq(log_ratio, low, high, xtol=1e-12))
    return float(weights @ scipy.stats.norm.sf((place - k) / deviation)) - math.exp(budget) * float(
        scipy.stats.norm.sf(place / deviation)
    )


def tight_deviation(epsilon: float, delta: float) -> float:
    """Gaussian noise that is exactly (epsilon, delta)-private at sensitivity 1."""
    return float(
        scipy.optimize.brentq(lambda s: gaussian_delta(1 / s, epsilon) - delta, 0.05, 200 / epsilon, xtol=1e-13)
    )


def spread(ratios: Array | list[float]) -> float:
    """The largest of these over the smallest; inf where one is no positive number."""
    values = np.asarray(ratios, dtype=float)
    if not (np.isfinite(values).all() and (values > 0).all()):
        return math.inf
    return float(values.max() / values.min())
