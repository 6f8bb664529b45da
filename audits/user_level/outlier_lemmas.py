"""Lemmas B.2 and C.2: how far one changed point moves the mean of the points that are kept, by brute force."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import sympy as sp
from scipy import optimize, stats

from dpcheck.algorithms.user_level.concentration import inclusion, neighbour_counts
from dpcheck.checks import Context, check
from dpcheck.engine.statements import explicit_of, order_of, stated
from dpcheck.harness import accuracy, domain
from dpcheck.harness.refutation import witnessed
from dpcheck.interfaces import Array, Rng
from dpcheck.symbols import B
from dpcheck.verdicts import Verdict, combine, differs

from ._statements import log_ratio, stated_each

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


def moves_of_lemma_b2(context: Context, d: int, count: int = 60) -> Moves:
    rng, trials = context.rng(), context.scale(2000, 20_000)
    points, moved = clouds(rng, trials, count, d)
    uniforms = rng.random(points.shape[:2])
    return coupled(points, moved, uniforms, score=TAU, reach=2 * TAU, least=2 / 3)


# Lemma B.2 ------------------------------------------------------------------------------------------------------------


@check("user_level/lem-b2@derived", kind="sensitivity", grid={"d": (1, 2)}, expect="consistent")
def kept_mean_against_twelve_tau(context: Context, *, d: int) -> Verdict:
    """Brute force over clouds of 60 points with s >= 2C/3 on both sides: |difference| against 12 tau (1 + B)/C."""
    found = moves_of_lemma_b2(context, d)
    bound = stated_each("user_level/lem-b2@derived", tau=TAU, B=found.others.astype(float), C=60.0)
    return accuracy.never_violated(
        found.distance,
        bound,
        statement="|kept mean - kept mean'| <= 12 tau (1 + B)/C",
        failure_probability=context.failure_probability,
    )


@check("user_level/lem-b2@sharper", kind="sensitivity", grid={"d": (1, 2)}, expect="consistent")
def kept_mean_against_six_tau(context: Context, *, d: int) -> Verdict:
    """The same against 6 tau (2 + B)/C, and against the step before it, by the realised sets."""
    found = moves_of_lemma_b2(context, d)
    bound = stated_each("user_level/lem-b2@sharper", tau=TAU, B=found.others.astype(float), C=60.0)
    realised = 4 * TAU * (found.sides[0] / found.kept[0] + found.sides[1] / found.kept[1])
    if not (found.kept[0].min() >= 40 and found.kept[1].min() >= 40):
        return accuracy.never_violated(40.0, float(min(k.min() for k in found.kept)), statement="2C/3 <= |S|")
    return accuracy.never_violated(
        np.concatenate([found.distance, found.distance]),
        np.concatenate([bound, realised]),
        statement="|kept mean - kept mean'| <= 6 tau (2 + B)/C and <= its realised form",
        failure_probability=context.failure_probability,
    )


@check("user_level/lem-b2", kind="sensitivity")
def derived_bound_is_of_the_stated_order(context: Context) -> Verdict:
    """12 tau (1 + B)/C at the tail 6(e - 1) + log(1/zeta) of B is at most 148 times the stated order, zeta <= 1/e."""
    return of_the_order(explicit_of("user_level/lem-b2@derived"), order_of("user_level/lem-b2"), "C", 148)


@check("user_level/lem-c2", kind="sensitivity")
def derived_bound_at_equal_radii_is_of_the_stated_order(context: Context) -> Verdict:
    """8 tau (1 + B)/|S| at |S| = 0.4 K and the same tail is at most 250 times the stated order, zeta <= 1/e."""
    order = order_of("user_level/lem-c2")
    K, tau = (next(s for s in order.free_symbols if s.name == name) for name in ("K", "tau"))
    return of_the_order(8 * tau * (1 + B) / (sp.Rational(2, 5) * K), order, "K", 250)


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


@check("user_level/lem-b2@tail", kind="sensitivity")
def number_of_other_inclusions(context: Context) -> Verdict:
    """Binomial(C - 1, 6/C) tails beyond 6(e - 1) + log(1/zeta), exactly, against zeta."""
    left, right = [], []
    for count, digits in itertools.product((6, 12, 60, 1000, 10**6), range(1, context.scale(13, 60))):
        zeta = 10.0**-digits
        beyond = math.ceil(stated("user_level/lem-b2@tail", zeta=zeta)) - 1
        left.append(float(stats.binom.sf(beyond, count - 1, 6 / count)))
        right.append(zeta)
    covers = "sums of Bernoulli(<= 6/C) are dominated by the binomial; for each C and zeta of the grid"
    return accuracy.never_violated(left, right, statement="P(B >= 6(e - 1) + log(1/zeta)) <= zeta", covers=covers)


@check("user_level/lem-b2", kind="privacy", expect="consistent")
def printed_noise_covers_the_derived_sensitivity(context: Context) -> Verdict:
    """Noise of Definition A.5 for 12 tau (1 + B)/C at (epsilon/4, delta/n) over the printed one."""
    shares = []
    for users, eps, dlt in itertools.product((10**3, 10**5, 10**8), (0.1, 1.0, 10.0), (1e-4, 1e-8, 1e-20)):
        B = stated("user_level/lem-b2@tail", zeta=dlt / (10 * math.exp(eps)))
        groups = 100 * log_ratio(20 * users, eps, dlt) / eps
        moved = stated("user_level/lem-b2@derived", tau=1.0, B=B, C=groups)
        needed = moved * math.sqrt(2 * math.log(2 * users / dlt)) / (eps / 4)
        shares.append(needed / (100 * math.log(users / dlt) ** 2 / (eps * groups)))
    return accuracy.never_violated(shares, 1.0, statement="noise asked for over the printed one <= 1", drawn=False)


# Lemma C.2 ------------------------------------------------------------------------------------------------------------


@check("user_level/lem-c2@literal", kind="sensitivity", grid={"K": (60, 600)}, expect="refuted")
def high_score_without_a_core(context: Context, *, K: int) -> Verdict:
    """A third of the gradients at 0, a sixth at each of +-2 tau e_1, +-2 tau e_2, equal radii: the mean share kept."""
    spots = np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 0.0], [-2.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    (near,) = neighbour_counts(np.repeat(spots, K // 6, axis=0)[None], (2.0 + 1e-9,))
    if not math.isclose(float(near.mean()), 2 * K / 3):
        return accuracy.never_violated(2 * K / 3, float(near.mean()), statement="2K/3 <= s")
    found = float(inclusion(near).mean())
    return accuracy.never_violated(
        stated("user_level/lem-c2@literal"),
        found,
        statement="2/3 <= mean share of kept points",
        witness=lambda _: witnessed(
            "user_level/lem-c2@literal", "lem_c2", stated("user_level/lem-c2@literal"), found, K=K
        ),
    )


@check("user_level/lem-c2@derived", kind="sensitivity")
def convex_envelope_of_the_inclusion(context: Context) -> Verdict:
    """2u - 1 <= clip(6u - 3, 0, 1) on [1/2, 1]: below 2/3 the middle branch, above it 1."""
    u = sp.Symbol("u", positive=True)
    middle = domain.never_positive(2 * u - 1 - (6 * u - 3), {"u": ("1/2", "2/3")}, statement="2u - 1 <= 6u - 3")
    top = domain.never_positive(2 * u - 1 - sp.Integer(1), {"u": ("2/3", 1)}, statement="2u - 1 <= 1")
    return combine([middle, top])


@check("user_level/lem-c2@derived", kind="sensitivity", grid={"d": (1, 2)})
def share_of_kept_gradients(context: Context, *, d: int) -> Verdict:
    """Mean inclusion at equal radii against 2s/K - 1, over drawn clouds."""
    rng, K = context.rng(), 60
    points, _ = clouds(rng, context.scale(2000, 20_000), K, d)
    (near,) = neighbour_counts(points, (2 * TAU,))
    bound = stated_each("user_level/lem-c2@derived", s=near.mean(axis=1), K=float(K))
    return accuracy.never_violated(
        np.maximum(bound, 0.0),
        inclusion(near).mean(axis=1),
        statement="2s/K - 1 <= mean share of kept points",
        covers="clip(6u - 3, 0, 1) >= 2u - 1 at the share u that each point sees, and the mean of u is s/K",
        evidence="certificate",
    )


@check("user_level/lem-c2", kind="sensitivity", grid={"d": (1, 2)}, expect="consistent")
def kept_gradients_at_equal_radii(context: Context, *, d: int) -> Verdict:
    """Equal radii 2 tau and s >= 7K/10 on both sides: |difference| against 8 tau (1 + B)/max(|S|, |S'|)."""
    rng, K = context.rng(), 60
    points, moved = clouds(rng, context.scale(2000, 20_000), K, d)
    uniforms = rng.random(points.shape[:2])
    found = coupled(points, moved, uniforms, score=2 * TAU, reach=2 * TAU, least=0.7)
    return accuracy.never_violated(
        found.distance,
        8 * TAU * (1 + found.others) / np.maximum(*found.kept),
        statement="|kept mean - kept mean'| <= 8 tau (1 + B)/max(|S|, |S'|)",
        failure_probability=context.failure_probability,
    )


def asked_over_printed(users: int, T: int, eps: float, dlt: float) -> float:
    """Noise for the sensitivity 4 tau (2 + B)/(0.4 K) at a full batch K = n_i, over the printed one.

    T releases at Definition A.5 with the epsilon_0 that Lemma A.7 composes to epsilon/2, B at the quantile of
    zeta = delta/(10 T e^epsilon).
    """
    zeta = dlt / (10 * T * math.exp(eps))
    other = int(np.argmax(stats.poisson.sf(np.arange(2000), 6) <= zeta))

    def composed(each: float) -> float:
        return math.sqrt(2 * T * math.log(4 / dlt)) * each + T * each * math.expm1(each) - eps / 2

    each = float(optimize.brentq(composed, 0.0, eps))
    needed = 4 * (2 + other) / (0.4 * users) * math.sqrt(2 * math.log(8 * T / dlt)) / each
    return needed / (1000 * math.sqrt(T) * log_ratio(users, eps, dlt) / (eps * users))


@check("user_level/lem-c2", kind="privacy", expect="consistent")
def noise_of_algorithm_2_at_usable_delta(context: Context) -> Verdict:
    """Noise that the argument asks for over the printed one, n_i = 10^6, T = 100, epsilon = 1, delta >= 10^-8.

    It has two logarithms of 1/delta where the printed noise has one, so that it runs out for smaller delta; the numbers
    say where. That shows the reach of the argument, not a violation of privacy.
    """
    shares = [asked_over_printed(10**6, 100, 1.0, 10.0**-k) for k in range(2, 9)]
    said = "noise asked for over the printed one <= 1, delta >= 1e-8"
    found = accuracy.never_violated(shares, 1.0, statement=said, drawn=False)
    runs_out = next(k for k in range(9, 300) if asked_over_printed(10**6, 100, 1.0, 10.0**-k) > 1)
    numbers = {**found.numbers, "first 10^-k at which the argument runs out": runs_out}
    return replace(found, numbers=numbers)


@check("user_level/lem-b2", kind="accuracy")
def share_of_the_core(context: Context) -> Verdict:
    """Every cloud of 12 points on the lattice {0, 1, 2, 3, 4} tau with s >= 2C/3 keeps at least 2C/3 for certain."""
    count, spots = 12, np.arange(5.0)
    sizes = np.array([c for c in itertools.product(range(count + 1), repeat=5) if sum(c) == count])
    near = np.abs(spots[:, None] - spots[None]) <= 1
    wide = np.abs(spots[:, None] - spots[None]) <= 2
    score = np.einsum("ci,ij,cj->c", sizes, near, sizes) / count
    certain = (sizes * (sizes @ wide >= 2 * count / 3)).sum(axis=1)
    legal = score >= 2 * count / 3
    covers = "all clouds of the lattice"
    return accuracy.never_violated(
        2 * count / 3, certain[legal], statement="2C/3 <= points kept for certain", covers=covers
    )
