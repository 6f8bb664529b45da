"""Appendix C: the lemmas and facts behind Theorem C.3."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, H, L, T, d, delta, epsilon, gamma, index, lambda_, m, n, sigma, tau

from ._paper import BALL_SMOOTHNESS, OWN_USER, K, N, U, V, claim, lambdas, setting

lem_c4 = claim(
    "user_level/lem-c4",
    "Lemma C.4",
    "T steps of multi-stage AC-SA on a λ-strongly convex, β-smooth function with gradient variance V²: excess ≲ "
    "Δ_0 exp(−T√(λ/β)) + V²/(λT).",
    kind="lemma",
    section="C",
    origin="cited",
    quantity="excess",
    relation="<=",
    order=L * D * sp.exp(-T * sp.sqrt(lambda_ / H)) + V**2 / (lambda_ * T),
    about=("user_level/proc-multistage-ac-sa",),
    remark="The printed schedule halves every ⌈4√(2β/λ)⌉ steps, an exponent of 0.12 and not 1; a logarithm in T_i "
    "covers it (S18).",
)

STAGES = 4 * sp.sqrt(2 * H / lambda_)
lem_c4_derived = lem_c4.as_read(
    "user_level/lem-c4@derived",
    "Multi-stage AC-SA with constants",
    "U stages end with excess at most Δ_02^{−U} after at most U(1 + 4√(2β/λ)) + 171V²2^U/(λΔ_0) steps.",
    origin="ours",
    quantity="steps, Δ_0 = LD",
    explicit=U * (1 + STAGES) + 171 * V**2 * 2**U / (lambda_ * L * D),
)

ac_sa = claim(
    "user_level/proc-ac-sa",
    "AC-SA, one stage (GL12)",
    "The accelerated stochastic approximation step with α_t = 2/(t + 1), γ_t = 4υ/(t(t + 1)).",
    kind="procedure",
    section="C",
    origin="cited",
    quantity="excess after T steps, from distance D",
    relation="<=",
    explicit=2 * H * D**2 / (T * (T + 1)),
    remark="Reconstructed from the cited paper; stated here for υ = β and exact gradients.",
)
ac_sa_derived = ac_sa.as_read(
    "user_level/proc-ac-sa@derived",
    "AC-SA with noise",
    "E excess <= 2υD²/(T(T + 1)) + V²(2T + 1)/(6υ) for υ >= 2β, without strong convexity.",
    origin="ours",
    quantity="excess after T steps, from distance D, at υ = 2β",
    explicit=4 * H * D**2 / (T * (T + 1)) + V**2 * (2 * T + 1) / (12 * H),
)


@derivation("user_level/proc-ac-sa@derived", also=("user_level/proc-ac-sa",))
def one_stage(proof: Proof) -> None:
    """The potential of Ghadimi and Lan after T steps: the distance counts 2υ/(T(T + 1)), the noise of step t t²/υ."""
    j, steps = sp.Symbol("j", integer=True, positive=True), sp.Symbol("T", integer=True, positive=True)
    distance = proof.argues("from distance D without noise", "excess", "<=", 2 * U * D**2 / (T * (T + 1)))
    proof.concludes("user_level/proc-ac-sa", distance.subs(U, H))
    each = proof.argues("step j of noise, for υ >= 2β", "excess", "<=", V**2 * j**2 / (U * steps * (steps + 1)))
    noise = proof.equal("all steps", sp.Sum(each, (j, 1, steps)), V**2 * (2 * steps + 1) / (6 * U)).subs(steps, T)
    proof.concludes("user_level/proc-ac-sa@derived", (distance + noise).subs(U, 2 * H))


multistage = claim(
    "user_level/proc-multistage-ac-sa",
    "Multi-stage AC-SA (GL13)",
    "Stage k: ⌈max{4√(2β/λ), 128V²/(3λΔ_02^{−(k+1)})}⌉ AC-SA steps from the last output; the excess halves.",
    kind="procedure",
    section="C",
    origin="cited",
    quantity="steps of a stage without noise",
    relation="<=",
    explicit=1 + STAGES,
    about=("user_level/proc-ac-sa",),
    remark="Reconstructed from the cited paper.",
)

multistage_gap = setting(
    multistage,
    "user_level/proc-multistage-ac-sa@gap",
    "Δ_0",
    "Δ_0 = min(LR, L²/(2λ_i)): a start is no worse, on the domain and by strong convexity.",
    sp.Min(L * D, L**2 / (2 * lambdas[index])),
)
multistage_variance = setting(
    multistage,
    "user_level/proc-multistage-ac-sa@variance",
    "V²",
    "V² = dσ² + min(τ²(N − K)/(N − 1), L²)/K for K distinct users of N, all within τ of their mean.",
    d * sigma**2 + sp.Min(tau**2 * (N - K) / (N - 1), L**2) / K,
)
multistage_replacement = setting(
    multistage,
    "user_level/proc-multistage-ac-sa@replacement-variance",
    "V²",
    "V² = dσ² + min(τ², L²)/K for K users drawn with replacement.",
    d * sigma**2 + sp.Min(tau**2, L**2) / K,
)
multistage_smoothness = setting(
    multistage,
    "user_level/proc-multistage-ac-sa@smoothness",
    "smoothness",
    "β + λ_i, of the regularised objective.",
    H + lambdas[index],
)
multistage_ball_smoothness = setting(
    multistage,
    "user_level/proc-multistage-ac-sa@smoothed-smoothness",
    "smoothness",
    "β_r + λ_i, of the smoothed and regularised objective.",
    BALL_SMOOTHNESS + lambdas[index],
)
claim_c5 = claim(
    "user_level/claim-c5",
    "Remark C.5",
    "Line 7 of Algorithm 3 really calls the multi-stage version of Algorithm 2.",
    kind="proposition",
    section="C",
    about=("user_level/alg-3", "user_level/proc-multistage-ac-sa"),
)

lem_c6 = claim(
    "user_level/lem-c6",
    "Lemma C.6",
    "Lemma 3.5 with its proof.",
    kind="lemma",
    section="C",
    quantity="variance of a minibatch gradient",
    relation="<=",
    order=L**2 * sp.log(n * d * m) / (K * m),
    about=("user_level/alg-2",),
    grade="slip",
    remark="The proof ends with log² where the lemma has log (S20), and uses (12) with its indicator reversed (S19).",
)

eq_12 = claim(
    "user_level/fact-eq-12",
    "Equation (12)",
    "The variance of a minibatch mean drawn without replacement is at most 1(K < n)/K times the mean square deviation.",
    kind="proposition",
    section="C",
    origin="cited",
    quantity="variance over the mean square deviation, K of N",
    relation="<=",
    order=1 / K,
    grade="slip",
    remark="Printed with 1(K = n), which would claim a zero variance for every proper minibatch (S19).",
)
eq_12_literal = eq_12.as_read(
    "user_level/fact-eq-12@literal",
    "Equation (12) with its printed indicator",
    "The variance is at most 1(K = n)/K times the mean square deviation.",
    quantity="variance over the mean square deviation, K < N",
    explicit=sp.Integer(0),
    grade="slip",
    remark="It is 1/3 at K = 2 of N = 4 (S19).",
    origin="own",
)
eq_12_derived = eq_12.as_read(
    "user_level/fact-eq-12@derived",
    "Finite-population variance",
    "Exactly (N − K)/((N − 1)K) times the mean square deviation.",
    origin="ours",
    relation="=",
    explicit=(N - K) / ((N - 1) * K),
    assumptions=(sp.Le(K, N), sp.Gt(N, 1)),
)

dp_stability = claim(
    "user_level/fact-dp-stability",
    "Stability of user-level privacy, equation (13)",
    "If a fixed point is bad for a fresh user with probability at most γ, then an (ε, δ)-private point is bad for one "
    "of its own users with probability at most e^{2ε}γ + δ, and for any of n with n times that.",
    kind="proposition",
    section="C",
    origin="cited",
    quantity="P(bad for one user)",
    relation="<=",
    explicit=sp.exp(2 * epsilon) * gamma + delta,
)
dp_stability_derived = dp_stability.as_read(
    "user_level/fact-dp-stability@derived",
    "The same with e^ε",
    "e^εγ + δ: replace the user by an independent copy inside the algorithm.",
    origin="ours",
    explicit=OWN_USER,
)

rerm = claim(
    "user_level/proc-rerm",
    "Regularised empirical minimiser x_i* (proof of Theorem C.3)",
    "argmin over the domain of the mean loss of N samples plus (λ_i/2)‖x − x_{i−1}‖².",
    kind="procedure",
    section="C",
    quantity="movement when one of N samples is replaced",
    relation="<=",
    explicit=2 * L / (lambda_ * N),
)

eq_15 = claim(
    "user_level/fact-eq-15",
    "Equation (15)",
    "E[F(x_i*) − F(y)] ≲ L²/(λ_in_im) + λ_iE‖x_{i−1} − y‖².",
    kind="proposition",
    section="C",
    origin="cited",
    quantity="excess over y at distance D",
    relation="<=",
    order=L**2 / (lambda_ * N * m) + lambda_ * D**2,
    about=("user_level/proc-rerm",),
)
eq_15_derived = eq_15.as_read(
    "user_level/fact-eq-15@derived",
    "Equation (15) with constants",
    "2L²/(λ_in_im) + (λ_i/2)E‖x_{i−1} − y‖².",
    origin="ours",
    quantity="excess over y at distance D, N users",
    explicit=2 * L**2 / (lambda_ * N * m) + lambda_ * D**2 / 2,
)

eq_17 = claim(
    "user_level/fact-eq-17",
    "Equations (14), (16) and (17)",
    "E‖x_i − x_i*‖² <= 2·excess/λ_i ≲ V_i²/(λ_i²T_i) = (dσ_i² + L² log(ndm)/(K_im))/(λ_i²T_i).",
    kind="proposition",
    section="C",
    quantity="squared distance to the regularised minimiser",
    relation="<=",
    order=(d * sigma**2 + L**2 * sp.log(n * d * m) / (K * m)) / (lambda_**2 * T),
    about=("user_level/alg-2", "user_level/proc-rerm"),
    grade="slip",
    remark="The middle of (17) has λ_i where λ_i² is meant, and the last display a spurious √T_l (S24); (18) has an "
    "L² too many (S23).",
)
eq_17_derived = eq_17.as_read(
    "user_level/fact-eq-17@derived",
    "Equation (17) with constants",
    "684V²/(λ²T), when half of the T steps pay for the noise and half for the stages.",
    origin="ours",
    explicit=684 * V**2 / (lambda_**2 * T),
)


@derivation("user_level/fact-eq-15@derived")
def stability_and_weight(proof: Proof) -> None:
    """A sample moves the minimiser by 2L/(λNm), which costs L times that; the regulariser costs λD²/2."""
    moved = proof.uses("user_level/proc-rerm", 2 * L / (lambda_ * N * m), {N: N * m})
    weight = proof.argues("the comparator pays the regulariser", "excess", "<=", lambda_ * D**2 / 2)
    proof.concludes("user_level/fact-eq-15@derived", L * moved + weight)


@derivation("user_level/fact-eq-17@derived")
def distance_left(proof: Proof) -> None:
    """Half of T steps pay for the noise of the stages of `lem-c4@derived`; strong convexity makes a gap a distance."""
    gap = 342 * V**2 / (lambda_ * T)
    halved = proof.uses("user_level/lem-c4@derived", U * (1 + STAGES) + 171 * V**2 * 2**U / (lambda_ * L * D))
    noise = halved - U * (1 + STAGES)
    proof.equal("Δ_02^{−U} = 342V²/(λT) takes T/2 steps", lambda: noise.subs(L, gap * 2**U / D), T / 2)
    proof.argues("λ/2 times the squared distance is at most the gap", "‖x − x*‖²", "<=", 2 * gap / lambda_)
    proof.concludes("user_level/fact-eq-17@derived", 2 * gap / lambda_)
