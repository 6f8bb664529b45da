"""Appendix C: Theorems C.1 and C.3, of the accelerated algorithm."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, L, T, d, delta, epsilon, lambda_, m, n, p, q, tau

from ._paper import (
    ACCELERATED,
    AT_LOG,
    BAD_STEPS,
    BUDGET,
    CONDITION_D,
    ENOUGH_USERS,
    HALT,
    LEGAL,
    OPTIMAL,
    SHARE,
    K,
    N,
    V,
    bounded,
    capped,
    claim,
)
from .section_3 import LOG_STEPS, SAMPLED_SIGMA, TWICE, regularised

thm_c1 = claim(
    "user_level/thm-c1",
    "Theorem C.1",
    "Theorem 3.1 with its proof: ε/2 for the comparisons and ε/2 for the noisy means.",
    kind="theorem",
    section="C",
    quantity="users of the last phase",
    relation=">=",
    explicit=100 * CONDITION_D / epsilon,
    assumptions=(ENOUGH_USERS, sp.Le(epsilon, 10)),
    about=("user_level/alg-3",),
    grade="proof gap",
    remark="As Theorem 3.1 (S28, S8). The final display adds up to more than δ as printed for ε < 0.2766, and to at "
    "most δ/2 when recomputed (S27); the comparison is printed with 4K_i/5 instead of the noisy threshold (S11).",
)
thm_c1_tail = thm_c1.as_read(
    "user_level/thm-c1@tail",
    "Laplace event of Theorem C.1",
    "With K_i >= 500 log(n_i²m²e^ε/δ)/ε a draw Lap(16/ε) exceeds K_i/20 with probability at most "
    "(δ/(n_i²m²e^ε))^{25/16}.",
    origin="ours",
    quantity="P(|Lap(16/ε)| > K/20)",
    relation="<=",
    explicit=(delta / (N**2 * m**2 * sp.exp(epsilon))) ** sp.Rational(25, 16),
    assumptions=(),
)
thm_c1_halt = thm_c1.as_read(
    "user_level/thm-c1@halt",
    "Probability of one false halt",
    "At full score s = K, P(Lap(8/ε) − Lap(16/ε) > K/5) = (4e^{−Kε/80} − e^{−Kε/40})/6.",
    origin="ours",
    quantity="P(halt at one step)",
    relation="=",
    explicit=HALT,
    assumptions=(),
)
thm_c1_literal = thm_c1.as_read(
    "user_level/thm-c1@literal",
    "Final display of Theorem C.1",
    "The additive terms 4Tζ(2e^{ε/2} + 1), ζ = δ/(10Te^ε), are at most δ.",
    quantity="additive part over δ",
    relation="<=",
    explicit=sp.Integer(1),
    assumptions=(sp.Le(epsilon, 10),),
    grade="slip",
    remark="1.19 at ε = 0.01 (S27).",
)
thm_c1_corrected = thm_c1.as_read(
    "user_level/thm-c1@corrected",
    "Final display of Theorem C.1, recomputed",
    "Tζ + (T + 1)ζ + (e^ε + e^{ε/2})Tζ = (δ/10)(2e^{−ε} + 1 + e^{−ε/2}) + ζ <= δ/2.",
    origin="ours",
    quantity="additive part over δ",
    relation="=",
    explicit=(2 * sp.exp(-epsilon) + 1 + sp.exp(-epsilon / 2)) / 10 + sp.exp(-epsilon) / (10 * T),
    assumptions=(),
)
thm_c1_dimension = thm_c1.as_read(
    "user_level/thm-c1@dimension",
    "Minibatches that the proof of Theorem C.1 uses",
    "The printed K_i is at least 500 log(nmde^ε/δ)/ε.",
    origin="ours",
    quantity="K_1",
    explicit=500 * sp.log(n * m * d * sp.exp(epsilon) / delta) / epsilon,
    grade="proof gap",
    remark="What the proof uses, in our words. The algorithm has log(n_i²m²e^ε/δ), which is smaller once d > n_i²m/n"
    " and T_i is large (S26); the tail bound itself needs no d.",
)
thm_c1_conditional = thm_c1.as_read(
    "user_level/thm-c1@conditional",
    "Amplification given the comparison bits",
    "Given the bits, every user is in the minibatch with probability K/N.",
    quantity="P(a given user is sampled | the test passed)",
    relation="=",
    explicit=K / N,
    grade="proof gap",
    remark="A user whose gradient lies apart lowers the score, so the test that passed makes it less likely to be in "
    "the sample (S28). The witness is of this step by itself, with ten users, fewer than the theorem asks for. Not "
    "shown to break privacy; full batches need no amplification.",
    assumptions=(),
)

thm_c3 = claim(
    "user_level/thm-c3",
    "Theorem C.3",
    "For ε <= 10, δ < 1/(mn), λ = (L/R)(1/√(nm) + √d/(εn√m)) and p >= 3q + 5/2 + log_n √m, Algorithm 3 has the optimal "
    "risk from the gradients of Theorem 3.2.",
    kind="theorem",
    section="C",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=OPTIMAL,
    assumptions=BUDGET,
    about=("user_level/alg-3",),
    grade="proof gap",
    remark="The union bound needs δ well below 1/(mn) once T_1 > √(nm) (S25); K_i <= n_i, as the proof says, is false "
    "with the printed constants (S5): `@literal`; no condition on n and q is stated; 2^p is a constant only for m <= "
    "poly(n) (S33).",
)
thm_c3_literal = thm_c3.as_read(
    "user_level/thm-c3@literal",
    "Minibatches of Theorem C.3",
    "K_i = 500 log(n_i²m²e^ε/δ)(1/ε + n_iε/√(T_i log(1/δ))) is at most n_i.",
    quantity="K_i/n_i",
    explicit=sp.Integer(1),
    assumptions=(ENOUGH_USERS, *BUDGET),
    grade="slip",
    remark="569 at n = 10^6, m = d = 100, ε = 1, δ = 10^{−9}, T = 100 (S5).",
    measures="",
)
thm_c3_passes = thm_c3.as_read(
    "user_level/thm-c3@passes",
    "Passes over the users",
    "K_iT_i >= n_i, which the proof uses, follows from the printed K_i.",
    quantity="K_1T_1/n_1",
    relation=">=",
    explicit=sp.Integer(1),
    assumptions=(ENOUGH_USERS, *BUDGET),
    grade="slip",
    remark="0.069 at n = 10^16, m = d = 1, ε = 10^{−7}, δ = 1/(2n), T = 40; Lemma D.2 has it as a hypothesis (S5).",
    measures="",
)
thm_c3_union = thm_c3.as_read(
    "user_level/thm-c3@union",
    "Union bound of Theorem C.3",
    "T_1δ is at most 1/(nm) for δ < 1/(mn).",
    quantity="T_1 δ",
    explicit=1 / (n * m),
    grade="proof gap",
    remark="At δ = 1/(2nm) it is T_1/2 times that; the additive risk LR·T_1δ then exceeds LR/√(nm) once T_1 > 2√(nm) "
    "(S25). A smaller δ mends it.",
    measures="",
)
thm_c3_weight = thm_c3.as_read(
    "user_level/thm-c3@weight",
    "2^p as a constant",
    "λ_1/λ = 2^p, p = 3q + 5/2 + log_n √m, is at most 64.",
    origin="ours",
    quantity="2^p",
    explicit=sp.Integer(64),
    assumptions=(ENOUGH_USERS, *BUDGET),
    grade="proof gap",
    remark="The paper names no constant: 64 is ours, and stands for any. It is m^{1/(2 log_2 n)} times a constant: "
    "bounded for m <= poly(n), which the theorem does not assume (S33).",
    measures="",
)
thm_c3_corrected = thm_c3.as_read(
    "user_level/thm-c3@corrected",
    "Minibatches that fit",
    "With K_i = min(n_i, max(printed, ⌈n_i/T_i⌉)) both K_i <= n_i and K_iT_i >= n_i hold, and a capped K_i = n_i is a "
    "full batch, which needs no amplification.",
    origin="ours",
    quantity="gradients of a phase over n_im",
    relation=">=",
    explicit=sp.Integer(1),
    measures="",
    assumptions=(),
)

PHASES = sp.Rational(342) * 2**p * tau**2 / lambda_
"""342 · 2^p τ²/λ: what the inexactness of one phase costs the next."""
LOG_SIGMA = sp.log(n * d * sp.exp(epsilon) / delta)
NOISE = 1000 * LOG_SIGMA / (epsilon * SHARE)
_U = sp.Symbol("u", positive=True)
"""2^i."""
thm_c3_derived = thm_c3.as_read(
    "user_level/thm-c3@derived",
    "Risk of Algorithm 3 with constants",
    "On the event that every gradient is within τ of ∇F and no step halts: 2L²/(λ_1n_1m) + λ_1R²/2 + Σ_{i>=2} "
    "[2L²/(λ_in_im) + λ_iA_{i−1}/2] + L√A_l with A_i = 684V_i²/(λ_i²T_i), V_i² <= dσ_i² + τ²/K_i, summed before "
    "rounding.",
    origin="ours",
    explicit=2 * L**2 / (lambda_ * SHARE * n * m * (2 ** (p - q) - 1))
    + lambda_ * 2**p * D**2 / 2
    + PHASES * (d * NOISE**2 / (n**2 * (2 ** (p - 2 * q) - 1)) + 1 / (SHARE * n * (2 ** (p - q) - 1)))
    + L
    * sp.sqrt(684)
    * tau
    / lambda_
    * (2 / n) ** p
    * (sp.sqrt(d) * NOISE * n ** (q - 1) + n ** ((q - 1) / 2) / sp.sqrt(SHARE)),
    assumptions=(sp.Gt(p, 2 * q),),
    remark="Half of the T_i steps must pay for the stages of the accelerated method: ⌈log_2⌉ of them, each of "
    "1 + 4√(2β/λ_i) steps or fewer.",
)
thm_c3_summed = thm_c3.as_read(
    "user_level/thm-c3@summed",
    "Risk of Algorithm 3, phase by phase",
    "Σ [2L²/(λ_in_im) + λ_iA_{i−1}/2] + L√A_l with A_0 = R², A_i = min(D², 2Δ_i/λ_i), Δ_i the gap that the stages of "
    "phase i leave (∞ where it has none), and LD times the chance ξ that some step halts or removes a gradient; at "
    "most LD.",
    origin="ours",
    explicit=capped(L * D, ACCELERATED + L * D * BAD_STEPS),
    assumptions=(),
)
SAMPLED_UNIT = 1280 * sp.sqrt(2) / 3 * sp.sqrt(TWICE * LOG_STEPS) / (epsilon * SHARE)
"""S, the same in units of τ√T_i(1 − 2^{−q})/n_i."""
thm_c3_sampled = thm_c3_derived.as_read(
    "user_level/thm-c3@sampled",
    "Risk of Algorithm 3 with sampled phases, with constants",
    "thm-c3@derived with S = (1280√2/3)√(log(2/δ) log(8T/δ))/(ε(1 − 2^{−q})), T = T_1, in the place of "
    "1000 log(nde^ε/δ)/(ε(1 − 2^{−q})).",
    order=OPTIMAL,
    explicit=thm_c3_derived.explicit.subs(LOG_SIGMA, 32 * sp.sqrt(2) / 75 * sp.sqrt(TWICE) * sp.sqrt(LOG_STEPS)),
)


@derivation("user_level/thm-c3@derived")
def geometric_phases(proof: Proof) -> None:
    """Stability and regulariser of every phase, the distance that the one before leaves, and the last distance.

    λ_i = λu^p and n_i = (1 − 2^{−q})n/u^q at u = 2^i; sums over i are geometric, with the ratios 2^{q−p} and 2^{2q−p}.
    """
    over_the_phases(
        proof,
        "user_level/thm-c3@derived",
        "user_level/alg-2",
        1000 * tau * sp.sqrt(T) * LOG_SIGMA / (epsilon * N),
        NOISE,
    )


def over_the_phases(proof: Proof, label: str, noise_of: str, sigma: sp.Expr, unit: sp.Expr) -> None:
    """The same for a noise σ_i = Sτ√T_i(1 − 2^{−q})/n_i, S the unit."""
    size, y, weight, users = (*sp.symbols("z y", positive=True), lambda_ * _U**p, SHARE * n / _U**q)
    proof.equal("S = y/(1 − y) solves S = y(1 + S)", lambda: y * (1 + y / (1 - y)), y / (1 - y))
    sums = {ratio: 1 / (2 ** (-ratio) - 1) for ratio in (q - p, 2 * q - p)}
    for ratio, total in sums.items():
        proof.equal("at its ratio", lambda ratio=ratio: 2**ratio / (1 - 2**ratio), total, {p: 2 * q + size})
    both = proof.uses("user_level/fact-eq-15@derived", 2 * L**2 / (weight * users * m) + weight * D**2 / 2,
                      {lambda_: weight, N: users})  # fmt: skip
    fresh = proof.equal(
        "its first part, in units of u^{q−p}",
        lambda: both.subs(D, 0) * _U ** (p - q),
        2 * L**2 / (lambda_ * SHARE * n * m),
    )
    first = proof.equal(
        "its second at i = 1, y = x_1*", lambda: weight.subs(_U, 2) * D**2 / 2, lambda_ * 2**p * D**2 / 2
    )
    deviation = proof.uses(noise_of, sigma.subs(N, users), {N: users})
    noise = proof.equal(
        "dσ_i²/T_i, in units of u^{2q}", lambda: d * deviation**2 / T / _U ** (2 * q), d * (unit * tau / n) ** 2
    )
    batch = proof.argues("K_iT_i >= n_i, and the mean of K_i gradients within τ", "τ²/(K_iT_i)", "<=", tau**2 / users)
    left = proof.uses("user_level/fact-eq-17@derived", 684 * V**2 / (weight**2 * T), {lambda_: weight})
    cost = proof.equal(
        "2^pλ_i/2 times A_i, per V_i²/T_i and in units of u^{−p}",
        lambda: 2**p * weight / 2 * left * T / V**2 * _U**p, 342 * 2**p / lambda_,
    )  # fmt: skip
    phases = fresh * sums[q - p] + first + cost * (noise * sums[2 * q - p] + batch / _U**q * sums[q - p])
    root = proof.argues(
        "L√A_l with the root of a sum at most the sum of roots, u^{−p} < (2/n)^p and u^q <= n^q", "L√A_l", "<=",
        L * sp.sqrt(684) / lambda_ * (2 / n) ** p * tau
        * (sp.sqrt(d) * unit / n * n**q + n ** (q / 2) / sp.sqrt(SHARE * n)),
    )  # fmt: skip
    proof.assumes(label, 2 * q, p)
    proof.concludes(label, phases + root)


@derivation("user_level/thm-c3@sampled")
def geometric_sampled_phases(proof: Proof) -> None:
    """As for full batches; the logarithm of the largest T_i stands for all."""
    over_the_phases(proof, "user_level/thm-c3@sampled", "user_level/alg-3@sampled-noise", SAMPLED_SIGMA, SAMPLED_UNIT)


@derivation("user_level/thm-c3", LEGAL)
def regularised_phases_in_full(proof: Proof) -> None:
    """The balance of Theorem 3.2; that K_i <= n_i does not follow from the printed constants."""
    proof.gap(
        "K_1 <= n_1, from 500 log(n²m²e^ε/δ)/ε alone",
        500 * sp.log(n**2 * m**2 * sp.exp(epsilon) / delta) / epsilon,
        n / 2,
        {n: 10**4, m: 100, epsilon: 1, delta: sp.Rational(1, 10**9)},
        stands="with K_i = min(n_i, …) a full batch needs no amplification",
    )
    bounded(proof, "user_level/thm-c3")
    proof.assumes("user_level/thm-c3", delta * m * n, 1)
    proof.concludes("user_level/thm-c3", regularised(proof), where=AT_LOG)
