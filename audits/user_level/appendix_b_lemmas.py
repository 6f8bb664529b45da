"""Appendix B: the lemmas behind Theorem B.1."""

from __future__ import annotations

import itertools
import math

import numpy as np
import scipy
import sympy as sp

from dpcheck.algorithms.user_level.concentration import certified_movement
from dpcheck.checks import Context, check
from dpcheck.engine.catalogue import claim
from dpcheck.engine.statements import explicit_of, order_of, stated
from dpcheck.harness import accuracy, domain, risk
from dpcheck.harness.outside import must_exclude
from dpcheck.harness.refutation import witnessed
from dpcheck.harness.symbolic import agree, proved
from dpcheck.symbols import D, L, T, d, eta, sigma, zeta
from dpcheck.verdicts import Verdict, combine

from .cases import covered, linear, stated_each
from .lemmas import TAU, Moves, below, clouds, coupled, of_the_order, regret


@check("user_level/lem-b2", kind="sensitivity")
def derived_bound_is_of_the_stated_order(context: Context) -> Verdict:
    """12 tau (1 + B)/C at the tail 6(e - 1) + log(1/zeta) of B is at most 148 times the stated order, zeta <= 1/e."""
    return of_the_order(explicit_of("user_level/lem-b2@derived"), order_of("user_level/lem-b2"), "C", 148)


@check("user_level/lem-b2", kind="privacy")
def printed_noise_covers_the_derived_sensitivity(context: Context) -> Verdict:
    """Noise of Definition A.5 for 12 tau (1 + B)/C at (epsilon/4, delta/n) over the printed one, on the whole range."""
    return covered(explicit_of("user_level/lem-b2@derived"))


@check("user_level/lem-b2", kind="accuracy")
def share_of_the_core(context: Context) -> Verdict:
    """Every cloud of 12 points on the lattice {0, 1, 2, 3, 4} tau with s >= 2C/3 keeps at least 2C/3 for certain."""
    # unbound: points that are kept, a step of the proof
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


def moves_of_lemma_b2(context: Context, d: int, count: int = 60) -> Moves:
    rng, trials = context.rng(), context.scale(2000, 20_000)
    points, moved = clouds(rng, trials, count, d)
    uniforms = rng.random(points.shape[:2])
    return coupled(points, moved, uniforms, score=TAU, reach=2 * TAU, least=2 / 3)


@check("user_level/lem-b2@derived", kind="sensitivity", grid={"d": (1, 2)}, expect="consistent")
def kept_mean_against_twelve_tau(context: Context, *, d: int) -> Verdict:
    """Brute force over clouds of 60 points with s >= 2C/3 on both sides: |difference| against 12 tau (1 + B)/C."""
    moves = moves_of_lemma_b2(context, d)
    bound = stated_each("user_level/lem-b2@derived", tau=TAU, B=moves.others.astype(float), C=60.0)
    return accuracy.never_violated(
        moves.distance,
        bound,
        statement="|kept mean - kept mean'| <= 12 tau (1 + B)/C",
        failure_probability=context.failure_probability,
    )


@check("user_level/lem-b2@sharper", kind="sensitivity", grid={"d": (1, 2)}, expect="consistent")
def kept_mean_against_six_tau(context: Context, *, d: int) -> Verdict:
    """The same against 6 tau (2 + B)/C, and against the step before it, by the realised sets."""
    moves = moves_of_lemma_b2(context, d)
    bound = stated_each("user_level/lem-b2@sharper", tau=TAU, B=moves.others.astype(float), C=60.0)
    realised = 4 * TAU * (moves.sides[0] / moves.kept[0] + moves.sides[1] / moves.kept[1])
    if not (moves.kept[0].min() >= 40 and moves.kept[1].min() >= 40):
        return accuracy.never_violated(40.0, float(min(k.min() for k in moves.kept)), statement="2C/3 <= |S|")
    return accuracy.never_violated(
        np.concatenate([moves.distance, moves.distance]),
        np.concatenate([bound, realised]),
        statement="|kept mean - kept mean'| <= 6 tau (2 + B)/C and <= its realised form",
        failure_probability=context.failure_probability,
    )


@check("user_level/lem-b2@tail", kind="sensitivity")
def number_of_other_inclusions(context: Context) -> Verdict:
    """Binomial(C - 1, 6/C) tails beyond 6(e - 1) + log(1/zeta), exactly, against zeta."""
    left, right = [], []
    for count, digits in itertools.product((6, 12, 60, 1000, 10**6), range(1, context.scale(13, 60))):
        zeta = 10.0**-digits
        beyond = math.ceil(stated("user_level/lem-b2@tail", zeta=zeta)) - 1
        left.append(float(scipy.stats.binom.sf(beyond, count - 1, 6 / count)))
        right.append(zeta)
    covers = "sums of Bernoulli(<= 6/C) are dominated by the binomial; for each C and zeta of the grid"
    return accuracy.never_violated(left, right, statement="P(B >= 6(e - 1) + log(1/zeta)) <= zeta", covers=covers)


@check("user_level/lem-b2@sharper", kind="sensitivity", grid={"C": (120, 400), "g": (0.1, 0.25)})
def certified_movement_of_algorithm_1(context: Context, *, C: int, g: float) -> Verdict:
    """The lemma at the least B and the largest |S| that fail with a chance of 1/1000 each, by exact binomial sums.

    Scores are (4/5 - g)C at least. The core but one, if the changed point is in it, counts as many neighbours less one.
    """
    chance, core = 1e-3, (0.8 - g) * C
    movement = certified_movement(C, diameter=4 * TAU, reach=1e9, shortfall=g, passing=0.0, chance=chance, doubled=True)
    keep = stated("user_level/proc-outlier-removal", h=core - 1, C=C)
    differs_with = stated("user_level/proc-outlier-removal@derived", C=C)
    members = math.ceil(core - 1e-9) - 1
    least = next(b for b in range(C) if 1 - below(C - 1, differs_with, b + 1) <= chance)
    kept = max(k for k in range(members + 1) if below(members, keep, k) <= chance)
    wanted = stated("user_level/lem-b2@sharper", tau=TAU, B=least, C=C) * (2 * C / 3) / kept
    return agree([movement.sensitivity, movement.failure], [wanted, 2 * chance], "certified movement and its chance")


@check("user_level/lem-b3", kind="risk", grid={"loss": ("linear", "huber"), "eta": (0.1,)})
def regret_of_the_average_as_printed(context: Context, *, loss: str, eta: float) -> Verdict:
    """The printed bound, twice as large."""
    return regret(context, loss, eta, "user_level/lem-b3")


@check(
    "user_level/lem-b3@derived",
    kind="risk",
    grid={"loss": ("linear", "quadratic", "huber", "absolute"), "eta": (0.02, 0.1)},
)
def regret_of_the_average(context: Context, *, loss: str, eta: float) -> Verdict:
    """Mean excess risk of x~ after T = 100 steps from the origin, against D^2/(2 eta T) + eta L^2/2 at D = |x*|."""
    return regret(context, loss, eta, "user_level/lem-b3@derived")


CONTRACT = (
    "user_level/lem-b4",
    "user_level/lem-b4@derived",
    "user_level/lem-b3",
    "user_level/lem-2-3",
    "user_level/lem-2-3@derived",
)


@check("user_level/lem-b4", kind="stability", also=CONTRACT[1:])
def gradient_steps_contract_up_to_two_over_beta(context: Context) -> Verdict:
    """1 - eta h of a quadratic of curvature h <= beta has modulus at most 1 up to eta = 2/beta, and more beyond, where
    runs part geometrically: every lemma on such steps assumes less."""
    x, more = sp.symbols("x more", positive=True)  # eta h, and eta h - 2
    inside = domain.never_positive((1 - x) ** 2 - 1, {"x": (0, 2)}, statement="|1 - eta h| <= 1 for eta beta <= 2")
    beyond = proved({}, {"|1 - eta h|^2 - 1 beyond 2/beta": sp.expand((1 - (2 + more)) ** 2 - 1)})
    outside = must_exclude(
        map(claim, CONTRACT), {"H": 1, "eta": sp.Rational(5, 2)}, "steps part two runs by 3/2 each time"
    )
    return combine([inside, beyond, outside])


@check("user_level/lem-b4@literal", kind="stability", expect="refuted")
def difference_of_two_gradient_noises(context: Context) -> Verdict:
    """Huber |x| with probability 1 - 2p, +-x with p each, p = 1/1000; x = -10 and y = 10, samples +x and -x."""
    p = 1e-3
    slope = 1 - 2 * p  # of the population loss at 10, minus that at -10
    noise_here, noise_there = 1 - (-slope), -1 - slope
    value, claimed = (noise_here - noise_there) ** 2, stated("user_level/lem-b4@literal")
    return accuracy.never_violated(
        value,
        claimed,
        statement="|g - grad F(x) - g' + grad F(y)|^2 <= 4 L^2",
        witness=lambda _: witnessed("user_level/lem-b4@literal", "lem_b4", claimed, value, p="1/1000"),
    )


@check("user_level/lem-b4@corrected", kind="stability")
def four_vectors_of_length_L(context: Context) -> Verdict:
    """The largest |a - b - c + e|^2 over vectors of length 3, at the ends of one direction: 144; of length 1 two
    variances add up to 2.
    """
    length = 3.0
    ends = np.array(np.meshgrid(*[[-length, length]] * 4)).reshape(4, -1)
    largest = float(((ends[0] - ends[1] - ends[2] + ends[3]) ** 2).max())
    # E|xi|^2 = Var(g) + Var(g'), each at most E|g|^2 <= 1, attained by fair signs.
    signs = np.array([-1.0, 1.0])
    second = float(((signs[:, None] - signs[None]) ** 2).mean())
    return agree([largest, second], [stated("user_level/lem-b4@corrected", L=length), 2.0], "pointwise and mean square")


@check("user_level/lem-b4@derived", kind="stability")
def stopping_radius_solves_its_inequality(context: Context) -> Verdict:
    """With s = sqrt(2 log(1/zeta)), the bound b in units of eta L sqrt T satisfies b^2 >= 16 + 8 b s, not by a half."""
    s = sp.Symbol("s", positive=True)
    said = explicit_of("user_level/lem-b4@derived")
    b = sp.simplify((said / (eta * L * sp.sqrt(T))).subs(zeta, sp.exp(-(s**2) / 2)))
    same = {"the two lemmas agree": said - explicit_of("user_level/lem-2-3@derived")}
    half = b / 2
    return proved(
        same,
        {
            "b^2 - 16 - 8 b s": sp.expand(b**2 - 16 - 8 * b * s),
            "half of it does not": sp.expand(16 + 8 * half * s - half**2),
        },
    )


@check("user_level/fact-eq-7", kind="risk")
def equation_7_as_printed(context: Context) -> Verdict:
    """The printed bound is at least the sharp one, at all sizes of a grid."""
    grid = [
        {"D": 1.0, "d": d, "sigma": s, "eta": e, "T": T, "L": 1.0}
        for d in (1, 10) for s in (0.01, 1.0, 100.0) for e in (1e-3, 0.1) for T in (10, 1000)
    ]  # fmt: skip
    return accuracy.never_violated(
        [stated("user_level/fact-eq-7@derived", **at) for at in grid],
        [stated("user_level/fact-eq-7", **at) for at in grid],
        statement="sharp form <= printed form",
        covers="half of both terms, clipped",
        evidence="certificate",
    )


@check("user_level/fact-eq-7", kind="risk")
def equation_7_from_lemma_b3(context: Context) -> Verdict:
    """Lemma B.3 with |y - x_0|^2 = d sigma^2; its sharp form is half, and at most the printed one when clipped."""
    printed = explicit_of("user_level/lem-b3").subs(D, sp.sqrt(d) * sigma)
    sharp = explicit_of("user_level/lem-b3@derived").subs(D, sp.sqrt(d) * sigma)
    return proved(
        {
            "(7)": printed - explicit_of("user_level/fact-eq-7"),
            "twice the sharp form": 2 * sharp - explicit_of("user_level/fact-eq-7"),
        }
    )


@check("user_level/fact-eq-7@derived", kind="risk", grid={"sigma": (0.05, 0.5, 5.0)})
def one_phase_after_a_noisy_start(context: Context, *, sigma: float) -> Verdict:
    """F at the average of SGD from a noisy, projected start, against F at the noiseless one: equation (7)."""
    from dpcheck.algorithms.user_level.descent import sgd

    d, T, eta, trials = 3, 60, 0.05, context.scale(2500, 8000)
    work = linear(d, 1).each
    rng = context.rng()
    before = np.full((trials, d), 0.2 / math.sqrt(d))
    start = work.project(before + sigma * rng.standard_normal((trials, d)))
    end = sgd(work, work.rows(rng, trials, T)[:, None], eta, start)[:, 0]
    bound = stated("user_level/fact-eq-7@derived", D=1.0, d=d, sigma=sigma, eta=eta, T=T, L=1.0)
    # F(end) - F(before) + LR is nonnegative and at most 2LR.
    values = work.excess_risk(end) - work.excess_risk(before) + 1.0
    return risk.expectation(
        values, bound + 1.0, context.failure_probability, limit=2.0, quantity="excess over the last phase, plus LR"
    )


@check("user_level/fact-eq-7@derived", kind="risk")
def clipped_equation_7(context: Context) -> Verdict:
    """min(R^2, d sigma^2) through both branches: each is the sharp Lemma B.3 at that distance."""
    clipped = explicit_of("user_level/fact-eq-7@derived")
    near = sp.Min(D**2, d * sigma**2)
    rest = clipped - near / (2 * eta * T) - explicit_of("user_level/lem-b3@derived") + D**2 / (2 * eta * T)
    return proved({"all but the distance": rest})
