"""Appendix D: randomised smoothing, and the accelerated algorithm on it."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, L, T, d, delta, epsilon, lambda_, m, n, p, q, tau

from ._paper import (
    ACCELERATED,
    AT_LOG,
    BAD_STEPS,
    BALL_SMOOTHNESS,
    BUDGET,
    ENOUGH_USERS,
    LEGAL,
    OPTIMAL,
    PRIVATE,
    SHARE,
    SMOOTHED,
    SMOOTHED_DERIVED,
    N,
    V,
    bounded,
    capped,
    claim,
    least_sum,
    r,
    s,
)
from .appendix_c import LOG_SIGMA, NOISE, PHASES
from .section_3 import regularised, users_left
from .section_4 import smoothed

smoothing = claim(
    "user_level/proc-randomized-smoothing",
    "Convolution smoothing",
    "f_r(x) = E f(x + y), y uniform in the ball of radius r; ∇f(x + y) is an unbiased gradient.",
    kind="procedure",
    section="D",
    origin="cited",
    quantity="E‖y‖",
    relation="=",
    explicit=r * d / (d + 1),
)

lem_d1 = claim(
    "user_level/lem-d1",
    "Lemma D.1",
    "For convex, L-Lipschitz f: |f_r − f| <= Lr; f_r is convex, L-Lipschitz and (L√d/r)-smooth; its gradient is the "
    "mean of ∇f(x + y).",
    kind="lemma",
    section="D",
    origin="cited",
    quantity="smoothness",
    relation="<=",
    explicit=BALL_SMOOTHNESS,
    about=("user_level/proc-randomized-smoothing",),
    grade="slip",
    remark="The first bullet is printed as f_r <= f <= f_r + Lr; by Jensen it is f <= f_r <= f + Lr (S9). Only the "
    "distance is used.",
)
lem_d1_literal = lem_d1.as_read(
    "user_level/lem-d1@literal",
    "First bullet of Lemma D.1",
    "f_r <= f.",
    quantity="f_r(0) − f(0), f = |x|, r = 1",
    explicit=sp.Integer(0),
    grade="slip",
    remark="It is 1/2 (S9).",
    about=(),
)
lem_d1_corrected = lem_d1.as_read(
    "user_level/lem-d1@corrected",
    "First bullet of Lemma D.1, reversed",
    "f <= f_r <= f + Lr·d/(d + 1).",
    origin="ours",
    quantity="f_r − f",
    explicit=L * r * d / (d + 1),
)


@derivation("user_level/lem-d1@corrected")
def mean_of_the_ball(proof: Proof) -> None:
    """|f_r − f| is at most L times the mean length of a point of the ball of radius r."""
    mean = sp.Integral(s * d * s ** (d - 1) / r**d, (s, 0, r))
    length = proof.equal("the radius has density d s^{d−1}/r^d", mean, r * d / (d + 1))
    moved = proof.argues("f is L-Lipschitz, so f_r is within L times it", "f_r − f", "<=", L * length)
    proof.concludes("user_level/lem-d1@corrected", moved)


lem_d2 = claim(
    "user_level/lem-d2",
    "Lemma D.2",
    "Under the hypotheses of Theorem 3.1, Algorithm 3 is private for K_i ≳ n_iε/√T_i + log(nmde^ε/δ)/ε, and has the "
    "optimal risk when T_iK_i >= n_i and T_i ≳ (1 + √(β/λ_i)) log(ndm).",
    kind="lemma",
    section="D",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=OPTIMAL,
    assumptions=(ENOUGH_USERS, sp.Le(epsilon, 10)),
    about=("user_level/alg-3",),
    grade="proof gap",
    remark="As Theorems C.1 and C.3; it is silent on λ.",
)
lem_d2_literal = claim(
    "user_level/lem-d2@literal",
    "K_i of the proof of Theorem D.3, with constant 1",
    "With K_i = n_iε/√T_i + log(nmde^ε/δ)/ε one step halts with probability at most δ at full score.",
    kind="lemma",
    section="D",
    quantity="P(halt at one step), second term alone, log(nmde^ε/δ) = 40",
    relation="<=",
    explicit=delta,
    grade="slip",
    remark="It is 0.34: the 500 of Algorithm 3 is needed (S36).",
)


REGULARISER, DRIVEN = 2**p * D**2 / 2, PHASES * lambda_ * d * NOISE**2 / (n**2 * (2 ** (p - 2 * q) - 1))
lem_d2_balanced = lem_d2.as_read(
    "user_level/lem-d2@balanced",
    "The private part of the derived bound at the weight that is best for it",
    "The regulariser and the noise of `thm-c3@derived` are least together at the λ at which they are equal.",
    origin="ours",
    quantity="least value of the two terms",
    measures="",
    relation="=",
    order=OPTIMAL,
    explicit=2 * sp.sqrt(REGULARISER * DRIVEN),
    assumptions=(),
    remark="As `thm-b1@balanced`: the lemma is silent on λ, and localisation comes by the right one.",
)


@derivation("user_level/lem-d2@balanced")
def best_weight(proof: Proof) -> None:
    """The regulariser grows as λ, the noise falls as 1/λ."""
    proof.argues(
        "the terms of `thm-c3@derived` that hold D², and the noise",
        "risk",
        "=",
        REGULARISER * lambda_ + DRIVEN / lambda_,
    )
    proof.concludes("user_level/lem-d2@balanced", least_sum(proof, DRIVEN, REGULARISER))


@derivation("user_level/lem-d2", LEGAL)
def general_batches(proof: Proof) -> None:
    """The same balance for any K_i and T_i that cover the sample and converge."""
    bounded(proof, "user_level/lem-d2")
    users_left(proof, "user_level/lem-d2")
    proof.concludes("user_level/lem-d2", regularised(proof), where=AT_LOG)


thm_d3 = claim(
    "user_level/thm-d3",
    "Theorem D.3",
    "For ε <= 10, δ < 1/(mn), n^{1−q} > 100 log(20nmde^ε/δ)/(ε(1 − 2^{−q})) and f(·, z) convex and L-Lipschitz on X_r, "
    "Algorithm 3 on f_r, r = R√d/(εn√m), has the optimal risk from mn(1 + n^{3/8}m^{1/4}ε^{1/4}) gradients.",
    kind="theorem",
    section="D",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    # the same (361130): without 1 in epsilon**(1/4)*m**(1/4)*n**(3/8) + 1: nε > 100 by ENOUGH_USERS, the rest exceeds 1
    order=SMOOTHED,
    assumptions=(ENOUGH_USERS, *BUDGET),
    about=("user_level/proc-smoothed-alg-3",),
    grade="refuted",
    remark="The gradient count misses the term min{n^{3/4}m^{3/2}ε^{−1/2}, nm^{3/2}d^{−1/4}} of T_iK_im: along m = "
    "n^k with k > 5/2, d <= n, ε = 1 it is exceeded by a power of n (S6). The printed count is right for m <="
    " max{n^{5/2}ε³, dn^{3/2}ε}. The proof also prints λ without L/R and its private part (S7).",
)
thm_d3_risk = thm_d3.as_read(
    "user_level/thm-d3@risk",
    "Excess risk of Theorem D.3",
    "LR·Õ(1/√(mn) + √(d log(1/δ))/(εn√m)) for convex, L-Lipschitz losses.",
    quantity="excess risk",
    measures="excess risk",
    order=OPTIMAL,
)
PER_STEP = d * (NOISE * tau * 2**q / n) ** 2
"""dσ_1²/T_1."""
thm_d3_balanced = thm_d3_risk.as_read(
    "user_level/thm-d3@balanced",
    "What the first phase costs at the weight that is best for it",
    "Of phase 1 the regulariser λ_1D²/2 and the gap 342dσ_1²/(λ_1T_1) of (17) are least together at the λ_1 at which "
    "they are equal.",
    origin="ours",
    quantity="least value of the two terms",
    measures="",
    relation="=",
    order=OPTIMAL,
    explicit=2 * sp.sqrt(D**2 / 2 * 342 * PER_STEP),
    assumptions=(),
    remark="λ_1 = 2^pλ, and p is bounded from below alone (Theorem C.3): at one p it is that weight, and the first "
    "phase leaves no noise that reaches the boundary. The 2^p that the theorem hides is then large.",
)


@derivation("user_level/thm-d3@balanced")
def best_first_weight(proof: Proof) -> None:
    """The regulariser grows as λ_1, the gap that the noise of n_1 users leaves falls as 1/λ_1."""
    users = SHARE * n / 2**q
    deviation = proof.uses("user_level/alg-2", 1000 * tau * sp.sqrt(T) * LOG_SIGMA / (epsilon * users), {N: users})
    noise = proof.equal("dσ_1²/T_1", lambda: d * deviation**2 / T, PER_STEP)
    left = proof.uses("user_level/fact-eq-17@derived", 684 * V**2 / (lambda_**2 * T))
    gap = proof.equal("λ/2 of that distance, in units of V²/(λT)", lambda: left * lambda_**2 * T / V**2 / 2, 342)
    proof.concludes("user_level/thm-d3@balanced", least_sum(proof, gap * noise, D**2 / 2))


thm_d3_corrected = thm_d3.as_read(
    "user_level/thm-d3@corrected",
    "Gradient count of Theorem D.3 with all its terms",
    "mn + n^{11/8}m^{5/4}ε^{5/4} + min{n^{3/4}m^{3/2}ε^{−1/2}, nm^{3/2}d^{−1/4}}, up to logarithms.",
    origin="ours",
    order=SMOOTHED_DERIVED,
)
thm_d3_literal = thm_d3.as_read(
    "user_level/thm-d3@literal",
    "λ = (L/R)/√(mn) in the proof of Theorem D.3",
    "With the statistical part of λ alone, the private part of (18) stays below LR√d/(εn√m).",
    quantity="d/(ε²n²m) over λ = 1/√(nm), in units of √d/(εn√m)",
    explicit=sp.Integer(1),
    grade="slip",
    remark="The quotient is √d/(ε√n), above 1 for d > ε²n; with Theorem C.3's λ it is at most 1 (S7).",
    measures="",
)
thm_d3_derived = thm_d3.as_read(
    "user_level/thm-d3@derived",
    "Radius, smoothness and the bias of smoothing",
    "r = R√d/(εn√m) costs at most Lr·d/(d + 1) twice, of the order of the private risk, and gives β_r = (L/R)εn√m.",
    origin="ours",
    quantity="L r",
    relation="=",
    explicit=L * D * PRIVATE,
    measures="",
    assumptions=(),
)
thm_d3_summed = thm_d3.as_read(
    "user_level/thm-d3@summed",
    "Risk of Algorithm 3 on smoothed losses, phase by phase",
    "As `thm-c3@summed` for the smoothed losses, which lie within Lr of the others: 2Lr more, at most LD.",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    explicit=capped(L * D, ACCELERATED + L * D * BAD_STEPS + 2 * L * r),
    assumptions=(),
)


@derivation("user_level/thm-d3@derived", LEGAL, also=("user_level/thm-d3@corrected", "user_level/thm-d3@risk"))
def without_smoothness_in_full(proof: Proof) -> None:
    """As Theorem 4.1; and λ needs its private part, which the proof leaves out."""
    width = D * sp.sqrt(d) / (epsilon * n * sp.sqrt(m))
    proof.concludes("user_level/thm-d3@derived", L * width)
    proof.gap(
        "with λ = 1/√(nm) alone the noise costs at most √d/(εn√m)",
        d / (epsilon**2 * n**2 * m) * sp.sqrt(n * m),
        PRIVATE,
        {n: 10, m: 10, d: 1000, epsilon: 1},
        stands="with the λ of Theorem C.3 it does",
    )
    smoothed(proof)
    for label in ("user_level/thm-d3@corrected", "user_level/thm-d3@risk"):
        bounded(proof, label)
        users_left(proof, label)
        proof.assumes(label, delta * m * n, 1)
    proof.concludes("user_level/thm-d3@corrected", SMOOTHED_DERIVED)
    proof.concludes("user_level/thm-d3@risk", regularised(proof), where=AT_LOG)
