"""Section 3, repaired where phases are sampled: the test and the mean of a step are amplified together."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import T, delta, epsilon, index, last, m, tau

from ._paper import GAUSSIAN_VARIANCE, OPTIMAL, SHARE, Delta, K, N, Ns, Ts, claim, s, setting
from .appendix_c import LOG_SIGMA, over_the_phases, thm_c3_derived
from .section_3 import alg_3, thm_3_1, thm_3_2_derived

TWICE = sp.log(2 / delta)
LOG_STEPS = sp.log(8 * T / delta)
BUDGET_OF_A_STEP = 3 * epsilon * N / (8 * K * sp.sqrt(T * TWICE))
"""ε of a step on its minibatch, half of it for the test."""
SIGMA = 1280 * sp.sqrt(2) / 3 * tau * sp.sqrt(T * TWICE * LOG_STEPS) / (epsilon * N)
UNIT = 1280 * sp.sqrt(2) / 3 * sp.sqrt(TWICE * LOG_STEPS) / (epsilon * SHARE)
"""S, the same in units of τ√T_i(1 − 2^{−q})/n_i."""

alg_3_sampled_minibatches = setting(
    alg_3,
    "user_level/alg-3@sampled-minibatches",
    "K_i",
    "The least even number that is at least 3n_iε/(4√(T_i log(2/δ))) and n_i/T_i; at most n_i.",
    2 * sp.Min(sp.floor(N / 2), sp.ceiling(sp.Max(3 * N * epsilon / (4 * sp.sqrt(T * TWICE)), N / T) / 2)),
    origin="ours",
)
alg_3_sampled_noise = setting(
    alg_3,
    "user_level/alg-3@sampled-noise",
    "σ_i",
    "σ_i = (1280√2/3)τ√(T_i log(2/δ) log(8T_i/δ))/(εn_i).",
    SIGMA,
    origin="ours",
)
alg_3_sampled_test = setting(
    alg_3,
    "user_level/alg-3@sampled-test",
    "scale of the noise on each step's threshold",
    "16K_i√(T_i log(2/δ))/(3εn_i), drawn afresh in each step; a score has twice as much.",
    2 / BUDGET_OF_A_STEP,
    origin="ours",
)
lem_c2_weighted = claim(
    "user_level/lem-c2@weighted",
    "Lemma C.2 with weights in place of coins",
    "With w_j = clip(6h_j/K − 3, 0, 1) as the weight of gradient j, K even, replacing one gradient moves the weighted "
    "mean by at most 32τ/(2s − K), s the larger of the two scores at radius 2τ: 80τ/K at s = 7K/10, for certain.",
    kind="lemma",
    section="C",
    origin="ours",
    quantity="distance of the weighted means",
    relation="<=",
    explicit=32 * tau / (2 * s - K),
    about=("user_level/alg-2", "user_level/proc-outlier-removal"),
)
thm_3_1_sampled = thm_3_1.as_read(
    "user_level/thm-3-1@sampled",
    "Theorem 3.1 for phases that are truly sampled",
    "With weights in place of coins, a threshold for each step, and those K_i, tests and σ_i, Algorithm 3 is "
    "(ε, δ)-user-level private for ε <= (2/3) log(2/δ), where every n_i >= (320/3)√(T_i log(2/δ)) log(8T_i/δ)/ε.",
    origin="ours",
    quantity="ε that a user spends",
    relation="<=",
    explicit=epsilon,
    assumptions=(sp.Le(epsilon, 2 * TWICE / 3),),
    remark="σ_i is below the printed one once 16T_i <= (nde^ε)²: the printed noise is enough for a mean that moves by "
    "O(τ/K_i) for certain and a test that is amplified with it. The price is √T_i in the number of users.",
)
thm_3_2_sampled = thm_3_2_derived.as_read(
    "user_level/thm-3-2@sampled",
    "Gradients of Algorithm 3 with sampled phases",
    "At most mΣ_i[n_i + (3/4)n_iε√(T_i/log(2/δ)) + 2T_i].",
    quantity="gradients",
    relation="<=",
    explicit=m
    * sp.Sum(
        Ns[index] + sp.Rational(3, 4) * Ns[index] * epsilon * sp.sqrt(Ts[index] / TWICE) + 2 * Ts[index],
        (index, 1, last),
    ),
    assumptions=(),
)
thm_c3_sampled = thm_c3_derived.as_read(
    "user_level/thm-c3@sampled",
    "Risk of Algorithm 3 with sampled phases, with constants",
    "thm-c3@derived with S = (1280√2/3)√(log(2/δ) log(8T/δ))/(ε(1 − 2^{−q})), T = T_1, in the place of "
    "1000 log(nde^ε/δ)/(ε(1 − 2^{−q})).",
    order=OPTIMAL,
    explicit=thm_c3_derived.explicit.subs(LOG_SIGMA, 32 * sp.sqrt(2) / 75 * sp.sqrt(TWICE) * sp.sqrt(LOG_STEPS)),
)


@derivation("user_level/lem-c2@weighted")
def weights_move_little(proof: Proof) -> None:
    """W(u − u') is a sum over the gradients whose weight changed, from a point near to all of them."""
    weight = sp.Symbol("W", positive=True)
    change = proof.uses("user_level/proc-outlier-removal@derived", 6 / K, {sp.Symbol("C", positive=True): K})
    all_changes = proof.at_most("K − 1 common weights, and both ends", lambda: (K - 1) * change + 2, sp.Integer(8))
    moved = proof.argues(
        "K even: two gradients with a weight, on either side, see one common gradient, hence lie within 4τ",
        "‖u − u'‖", "<=", 4 * tau * 8 / weight,
    )  # fmt: skip
    del all_changes
    kept = proof.uses("user_level/lem-c2@derived", 2 * s / K - 1)
    proof.concludes("user_level/lem-c2@weighted", moved.subs(weight, proof.equal("W", lambda: kept * K, 2 * s - K)))


@derivation("user_level/thm-3-1@sampled")
def steps_amplified_together(proof: Proof) -> None:
    """One step on its minibatch, test and mean; then its sampling, Lemma A.8; then T of them, Lemma A.7."""
    label, at_seven = "user_level/thm-3-1@sampled", sp.Rational(7, 10) * K
    e, share = sp.symbols("e share", positive=True)
    proof.assumes(label, epsilon, 2 * TWICE / 3)
    least = 3 * N * epsilon / (4 * sp.sqrt(T * TWICE))
    budget = BUDGET_OF_A_STEP
    proof.equal("the budget at the least K", lambda: budget.subs(K, least), sp.Rational(1, 2))
    scale = proof.uses("user_level/alg-3@sampled-test", 2 / budget)
    proof.equal("the bit, whose score moves by 2 under noise of 2b", lambda: 2 / (2 * scale), budget / 2)
    moved = proof.uses("user_level/lem-c2@weighted", 32 * tau / (2 * at_seven - K), {s: at_seven})
    asked = proof.uses(
        "user_level/def-a5",
        GAUSSIAN_VARIANCE.subs(sp.log(2 / delta), LOG_STEPS).subs({Delta: moved, epsilon: budget / 2}),
        {Delta: moved, epsilon: budget / 2, delta: delta / (4 * T)},
    )  # fmt: skip
    noise = proof.uses("user_level/alg-3@sampled-noise", SIGMA)
    proof.equal("σ² for δ/(4T) <= δn_i/(4K_iT_i)", lambda: noise**2, asked)
    few = sp.Rational(320, 3) * sp.sqrt(T * TWICE) * LOG_STEPS / epsilon
    sure = proof.equal(
        "(K/10)/(2b) where the phase has as many users as it needs",
        lambda: (K / 10 / (2 * scale)).subs(N, few),
        LOG_STEPS,
    )
    del sure
    proof.argues(
        "a score below 7K/10 passes with Lap(2b) − Lap(b) > K/10", "P", "<=", sp.Rational(2, 3) * delta / (8 * T)
    )
    one = proof.uses("user_level/lem-a8", (sp.exp(budget) - 1) * K / N, {epsilon: budget})
    proof.at_most(
        "(e^e − 1)/e at e = 1/2, where it is largest", lambda: 2 * (sp.exp(sp.Rational(1, 2)) - 1), sp.Rational(13, 10)
    )
    amplified = proof.argues("convexity of e^x", "ε of a sampled step", "<=", sp.Rational(13, 10) * budget * K / N)
    del one
    small = proof.equal("free of K and N", lambda: amplified, sp.Rational(39, 80) * epsilon / sp.sqrt(T * TWICE))
    proof.uses(
        "user_level/lem-a7", sp.sqrt(2 * T * TWICE) * e + T * e * (sp.exp(e) - 1),
        {epsilon: e, sp.Symbol("delta_prime", positive=True): delta / 2},
    )  # fmt: skip
    rise = proof.argues("e^e − 1 <= 1.41e for e <= 13/20", "", "<=", sp.Rational(141, 100) * e)
    proof.at_most("at its end", lambda: sp.exp(sp.Rational(13, 20)) - 1, rise.subs(e, sp.Rational(13, 20)))
    total = proof.equal(
        "over ε, ε = share log(2/δ)",
        lambda: ((sp.sqrt(2 * T * TWICE) * e + T * e * rise).subs(e, small) / epsilon).subs(epsilon, share * TWICE),
        sp.Rational(39, 80) * sp.sqrt(2) + sp.Rational(141, 100) * sp.Rational(39, 80) ** 2 * share,
    )
    proof.at_most("for ε <= (2/3) log(2/δ)", lambda: total.subs(share, sp.Rational(2, 3)), sp.Integer(1))
    proof.equal(
        "δ: T samples of both misses, and the composition's",
        lambda: T * K / N * 2 * delta * N / (4 * K * T) + delta / 2,
        delta,
    )
    proof.concludes(label, proof.argues("a user is in one phase", "ε", "<=", epsilon))


@derivation("user_level/thm-3-2@sampled")
def gradients_of_sampled_phases(proof: Proof) -> None:
    """T_iK_im a phase; a maximum is at most a sum, and the least even number above it at most 2 more."""
    proof.uses("user_level/alg-3@sampled-minibatches", alg_3_sampled_minibatches.explicit)
    batch = proof.argues(
        "K_i",
        "K_i",
        "<=",
        sp.Rational(3, 4) * Ns[index] * epsilon / sp.sqrt(Ts[index] * TWICE) + Ns[index] / Ts[index] + 2,
    )
    phase = proof.equal(
        "T_iK_i", lambda: Ts[index] * batch,
        Ns[index] + sp.Rational(3, 4) * Ns[index] * epsilon * sp.sqrt(Ts[index] / TWICE) + 2 * Ts[index],
    )  # fmt: skip
    proof.concludes("user_level/thm-3-2@sampled", m * sp.Sum(phase, (index, 1, last)))


@derivation("user_level/thm-c3@sampled")
def geometric_sampled_phases(proof: Proof) -> None:
    """As for full batches; the logarithm of the largest T_i stands for all."""
    over_the_phases(proof, "user_level/thm-c3@sampled", "user_level/alg-3@sampled-noise", SIGMA, UNIT)
