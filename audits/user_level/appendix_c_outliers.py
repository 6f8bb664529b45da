"""Appendix C: Lemma C.2, of the gradients that are kept."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import partial

import numpy as np
import scipy
import sympy as sp

from dpcheck.algorithms.user_level.concentration import (
    certified_movement,
    inclusion,
    neighbour_counts,
    weighted_mean,
    weighted_movement,
)
from dpcheck.checks import Context, check
from dpcheck.engine.statements import order_of, stated
from dpcheck.harness import accuracy, domain, plans
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Array
from dpcheck.symbols import B
from dpcheck.verdicts import Verdict, combine

from .cases import (
    stated_each,
)
from .lemmas import TAU, below, clouds, coupled, of_the_order


@check("user_level/lem-c2", kind="sensitivity")
def derived_bound_at_equal_radii_is_of_the_stated_order(context: Context) -> Verdict:
    """8 tau (1 + B)/|S| at |S| = 0.4 K and the same tail is at most 250 times the stated order, zeta <= 1/e."""
    order = order_of("user_level/lem-c2")
    K, tau = (next(s for s in order.free_symbols if s.name == name) for name in ("K", "tau"))
    return of_the_order(8 * tau * (1 + B) / (sp.Rational(2, 5) * K), order, "K", 250)


@check("user_level/lem-c2", kind="sensitivity", grid={"d": (1, 2)}, expect="consistent")
def kept_gradients_at_equal_radii(context: Context, *, d: int) -> Verdict:
    """Equal radii 2 tau and s >= 7K/10 on both sides: |difference| against 8 tau (1 + B)/max(|S|, |S'|)."""
    rng, K = context.rng(), 60
    points, moved = clouds(rng, context.scale(2000, 20_000), K, d)
    uniforms = rng.random(points.shape[:2])
    moves = coupled(points, moved, uniforms, score=2 * TAU, reach=2 * TAU, least=0.7)
    return accuracy.never_violated(
        moves.distance,
        8 * TAU * (1 + moves.others) / np.maximum(*moves.kept),
        statement="|kept mean - kept mean'| <= 8 tau (1 + B)/max(|S|, |S'|)",
        failure_probability=context.failure_probability,
    )


def asked_over_printed(users: int, T: int, eps: float, dlt: float, most: float | None = None) -> float:
    """Noise for the sensitivity 4 tau (2 + B)/(0.4 K) at a full batch K = n_i, over the printed one at delta = most.

    T releases at Definition A.5 with the epsilon_0 that Lemma A.7 composes to epsilon/2, B at the quantile of
    zeta = delta/(10 T e^epsilon).
    """
    zeta = dlt / (10 * T * math.exp(eps))
    other = int(np.argmax(scipy.stats.poisson.sf(np.arange(2000), 6) <= zeta))

    def composed(each: float) -> float:
        return stated("user_level/lem-a7", T=T, epsilon=each, delta_prime=dlt / 4) - eps / 2

    each = float(scipy.optimize.brentq(composed, 0.0, eps))
    moved = 4 * (2 + other) / (0.4 * users)
    needed = math.sqrt(stated("user_level/def-a5", Delta=moved, epsilon=each, delta=dlt / (4 * T)))
    at = {"n": float(users), "N": users, "d": 1.0, "epsilon": eps, "delta": dlt if most is None else most}
    return needed / stated("user_level/alg-2", **at, tau=1.0, T=T)


@check("user_level/lem-c2", kind="privacy")
def noise_of_algorithm_2_at_usable_delta(context: Context) -> Verdict:
    """Noise that the argument asks for over the printed one, n_i = 10^6, T = 100, epsilon = 1, for all delta from 10^-8
    to 10^-2: both fall as delta grows, so that what is asked at one end of a cell and printed at the other decide it.

    It has two logarithms of 1/delta where the printed noise has one, so that it runs out for smaller delta; the numbers
    say where. That shows the reach of the argument, not a violation of privacy.
    """
    edges = np.geomspace(1e-8, 1e-2, 49)
    cells = [asked_over_printed(10**6, 100, 1.0, *cell) for cell in itertools.pairwise(edges)]
    ends = "cells of delta, by their ends: B, log(8T/delta) and 1/epsilon_0 fall in delta, and so does sigma"
    verdict = accuracy.never_violated(
        [asked_over_printed(10**6, 100, 1.0, edge) for edge in edges], 1.0,
        statement="noise asked for over the printed one <= 1, 1e-8 <= delta <= 1e-2",
        covers=ends if max(cells) <= 1 else "", evidence="certificate", drawn=False,
    )  # fmt: skip
    runs_out = next(k for k in range(9, 300) if asked_over_printed(10**6, 100, 1.0, 10.0**-k) > 1)
    numbers = {**verdict.numbers, "first 10^-k at which the argument runs out": runs_out}
    return replace(verdict, numbers=numbers)


@check("user_level/lem-c2@literal", kind="sensitivity", grid={"K": (60, 600)}, expect="refuted")
def high_score_without_a_core(context: Context, *, K: int) -> Verdict:
    """A third of the gradients at 0, a sixth at each of +-2 tau e_1, +-2 tau e_2, equal radii: the mean share kept."""
    spots = np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 0.0], [-2.0, 0.0], [0.0, 2.0], [0.0, -2.0]])
    (near,) = neighbour_counts(np.repeat(spots, K // 6, axis=0)[None], (2.0 + 1e-9,))
    if not math.isclose(float(near.mean()), 2 * K / 3):
        return accuracy.never_violated(2 * K / 3, float(near.mean()), statement="2K/3 <= s")
    value = float(inclusion(near).mean())
    return accuracy.never_violated(
        stated("user_level/lem-c2@literal"),
        value,
        statement="2/3 <= mean share of kept points",
        witness=lambda _: witnessed(
            "user_level/lem-c2@literal", "lem_c2", stated("user_level/lem-c2@literal"), value, K=K
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


@check("user_level/lem-c2@weighted", kind="sensitivity", grid={"K": (2, 60, 400), "g": (0.02, 0.1)})
def certified_movement_of_weighted_means(context: Context, *, K: int, g: float) -> Verdict:
    """What Algorithm 2 certifies where a step releases bit and mean together is the lemma at scores of (4/5 - g)K, and
    all that means can move where it says nothing; of an odd number of points it certifies nothing.
    """
    ask = partial(weighted_movement, diameter=4 * TAU, reach=1e9, shortfall=g)
    if wrong := plans.wrongly_answered([(f"{odd} points", partial(ask, odd), odd == K) for odd in (K - 1, K, K + 1)]):
        return plans.answered(wrong, "")
    movement = [ask(K), ask(K, reach=0.01), ask(K, shortfall=0.31)]
    wanted = [stated("user_level/lem-c2@weighted", tau=TAU, s=(0.8 - g) * K, K=K), 0.01, 1e9]
    return agree(movement, wanted, "certified movement")


@check("user_level/lem-c2@derived", kind="sensitivity", grid={"K": (200, 400), "g": (0.02, 0.1)})
def certified_movement_at_equal_radii(context: Context, *, K: int, g: float) -> Verdict:
    """4 tau (2 + B)/|S| at the least B and at an |S| that fail with a chance of 1/1000 each, by exact binomial sums.

    A sum of inclusions of a given mean falls short most easily where all of them are alike, and by no less than a half.
    """
    chance = 1e-3
    movement = certified_movement(
        K, diameter=4 * TAU, reach=1e9, shortfall=g, passing=0.0, chance=chance, doubled=False
    )
    change = stated("user_level/proc-outlier-removal@derived", C=K)
    least = next(b for b in range(K) if 1 - below(K - 1, change, b + 1) <= chance)
    kept = round(4 * TAU * (2 + least) / movement.sensitivity)
    share = stated("user_level/lem-c2@derived", s=(0.8 - g) * K, K=K) - (1 + change * (K - 1)) / K
    sure = max(k for k in range(K + 1) if below(K, share, k) <= chance)
    covers = "the changed point, and 6/K of each other, are taken off the mean"
    return accuracy.never_violated(
        [float(kept), float(sure)], [float(sure), 2.0 * kept], statement="certified <= surely kept <= twice that",
        covers=covers, evidence="certificate",
    )  # fmt: skip
