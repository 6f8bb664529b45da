"""Section 4: clipped descent and localisation, Algorithms 1 to 3 and Theorems 1 and 10."""

import sympy as sp

from dpcheck.symbols import (
    G_1,
    C,
    D,
    H,
    L,
    T,
    beta,
    d,
    epsilon,
    eta,
    index,
    k,
    lambda_,
    last,
    n,
    p,
    r_2,
    r_2k,
    sequences,
    sigma,
)

from ._paper import CONFIDENCE, CONVEX, CONVEX_LOG, LIPSCHITZ_CONDITION, LOG, ORDERS, PHASES_STEP, a, claim

ALL_STEPS = 1 - (1 - eta * lambda_) ** T
_n, _lambda, _C, _eta, _sigma, _D = sequences("n lambda C eta sigma D")


def _bias(level: sp.Expr) -> sp.Expr:
    """What clipping at a level does to a mean gradient, by the moment of order 2k."""
    return (2 * k - 1) ** (2 * k - 1) / (2 * k) ** (2 * k) * r_2k ** (2 * k) / level ** (2 * k - 1)


def _left(i: sp.Expr) -> sp.Expr:
    """s_i: squared distance of the output of phase i from the limit of its steps."""
    steps = (_eta[i] * _lambda[i] / 4) ** 2 * sp.Min(_D[i], D)
    return sp.Min(d * _sigma[i] ** 2 + steps**2, D**2)


def _phase(i: sp.Expr, squared: sp.Expr) -> sp.Expr:
    """Risk of the limit of phase i over a point at that squared distance from its start."""
    bias = sp.Min(G_1, _bias(_C[i])) * sp.Min(D, sp.sqrt(squared) + _C[i] / _lambda[i])
    return _lambda[i] / 2 * squared + bias + 2 * r_2**2 / (_n[i] * _lambda[i])


PRINTED_SIGMA = 8 * C * sp.sqrt(LOG) / (n * lambda_ * epsilon)

alg_1 = claim(
    "tsybakov/alg-1",
    "Algorithm 1 (ClippedMean)",
    "The average of the records, each projected onto the ball of radius C.",
    kind="algorithm",
    section="4",
    origin="cited",
    quantity="sensitivity",
    relation="<=",
    explicit=2 * C / n,
)

alg_2 = claim(
    "tsybakov/alg-2",
    "Algorithm 2 (clipped regularised gradient method)",
    "T projected steps along the clipped mean gradient plus λ(w − w_0), with step η: deterministic.",
    kind="algorithm",
    section="4",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    explicit=n * T,
    remark="w_1 is never set and the printed loop makes T − 1 steps; Theorem 8 counts T from w_0.",
)

alg_2_derived = claim(
    "tsybakov/alg-2@derived",
    "Reach of Algorithm 2",
    "For 0 <= ηλ <= 1 and w_0 in W, ‖w_T − w_0‖ <= (1 − (1 − ηλ)^T)C/λ; two runs from one w_0 are at most twice that "
    "apart, whatever their data.",
    kind="algorithm",
    section="4",
    origin="ours",
    quantity="distance from the start",
    relation="<=",
    explicit=ALL_STEPS * C / lambda_,
)

alg_3 = claim(
    "tsybakov/alg-3",
    "Algorithm 3 (LNC-GM)",
    "log_2 n phases of Algorithm 2 on halving disjoint batches, regularised towards the previous output, each "
    "followed by Gaussian noise of deviation 8C_i√log(1/δ)/(n_iλ_iε).",
    kind="algorithm",
    section="4",
    quantity="noise deviation of a phase",
    relation="=",
    explicit=PRINTED_SIGMA,
    grade="slip",
    remark="λ_1 = 1/(η_1n_1^{2p}) makes the first noise exceed the diameter and the second domain empty (S2).",
)

alg_3_literal = claim(
    "tsybakov/alg-3@literal",
    "Algorithm 3 with the exponent 2p in phase 1",
    "With λ_1 = 1/(η_1n_1^{2p}) the domain W_2 = {w in W: ‖w − w_1‖ <= D_2} of the second phase is not empty.",
    kind="algorithm",
    section="4",
    quantity="√d σ_1/D when the second cap of the step binds",
    relation="=",
    explicit=2 ** (2 - 1 / k - 2 * p) * n ** (p - sp.Rational(1, 2)) / sp.sqrt(sp.log(n)),
    grade="slip",
    remark="At p = 1, k = 2 the first noise is 4.8, 15.7, 54 diameters at n = 2^8, 2^12, 2^16.",
    assumptions=(*ORDERS,),
)

alg_3_corrected = claim(
    "tsybakov/alg-3@corrected",
    "Algorithm 3 with the exponent p in every phase",
    "λ_i = 1/(η_in_i^p) for all i, step (D/n^{p/2})·min{1/L_f, τ_p^{-1}/(R̃n^{p/2}), 1/(R̃n^{(p−1)/2})}, "
    "outputs projected onto W.",
    kind="algorithm",
    section="4",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=n ** (p + 1) * sp.log(n),
)

proc_lnc_gm_fixed = claim(
    "tsybakov/proc-lnc-gm-fixed",
    "Corrected Algorithm 3",
    "The same as `alg-3@corrected`; its noise per step is private for every loss, its printed noise where "
    "clipped steps contract.",
    kind="procedure",
    section="4",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=n ** (p + 1) * sp.log(n),
    about=("tsybakov/alg-3",),
)

proc_prox_exact = claim(
    "tsybakov/proc-prox-exact",
    "Exact regularised minimiser",
    "argmin over W_i of the batch mean of f plus (λ_i/2)‖w − w_{i−1}‖².",
    kind="procedure",
    section="4",
    about=("tsybakov/alg-2",),
)

proc_dykstra = claim(
    "tsybakov/proc-dykstra",
    "Projection on W ∩ B (Remark 3)",
    "Dykstra's alternating projections converge to the projection on the intersection of W with a ball.",
    kind="procedure",
    section="4",
    origin="cited",
)

thm_1 = claim(
    "tsybakov/thm-1",
    "Theorem 1",
    "For smooth L_f-Lipschitz losses, Algorithm 3 is (ε, δ)-DP for 0 < ε <= √log(1/δ), and its excess risk is "
    "Õ(R̃_{2k,n}D(1/√n + (√(d log(1/δ))/(εn))^{(k−1)/k}) + D√log(1/β)/(2^{p+1}√n)) with probability 1 − β.",
    kind="theorem",
    section="4",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=CONVEX,
    assumptions=(LIPSCHITZ_CONDITION, sp.Le(epsilon, sp.sqrt(LOG)), *ORDERS, CONFIDENCE, PHASES_STEP),
    about=("tsybakov/alg-3",),
    probability=1 - beta,
    grade="refuted",
    remark="Privacy fails for d >= 2: clipping by norm is not monotone, and two runs of clipped descent may end "
    "(1+a)/(2√a) times 2C/(nλ) apart, a the conditioning of the loss (S1); a fixed and a random order of the records "
    "have explicit violations of the whole algorithm. It holds for d = 1 and where clipped steps contract (`@glm`). "
    "The risk fails at the step size of its proof, the only one that is printed, also with projected outputs (S2b): on "
    "a linear loss in d = 1 the excess is nearly the largest there is with a probability near 1/2, while the order at "
    "k = 2 falls like n^{−1/2} up to logarithms. Theorem 1 leaves η free; at the step of `alg-3@corrected` its phases "
    "have the bound of `@phase` in d = 1.",
)

thm_1_glm = claim(
    "tsybakov/thm-1@glm",
    "Privacy of Algorithm 3 where clipped steps contract",
    "If d = 1, or the losses are linear, isotropic quadratics or generalised linear, and η_i(α + 2λ_i) <= 2, then each "
    "phase moves by at most 2C_i/(n_iλ_i) and Algorithm 3 is (ε, δ)-DP.",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="movement of a phase",
    relation="<=",
    explicit=ALL_STEPS * 2 * C / (n * lambda_),
    about=("tsybakov/alg-3", "tsybakov/alg-2"),
    assumptions=(sp.Le(eta * (H + 2 * lambda_), 2),),
)

thm_1_corrected = claim(
    "tsybakov/thm-1@corrected",
    "Noise that is private for every loss",
    "With noise of deviation 8C√(T log(1/δ))/(nε) on each of the T clipped means and none on the output, a phase is "
    "ε²/(32 log(1/δ))-zCDP for every loss, convex or not, in every dimension.",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="noise deviation of a step",
    relation="=",
    explicit=8 * C * sp.sqrt(T * LOG) / (n * epsilon),
    about=("tsybakov/alg-3",),
)

thm_1_derived = claim(
    "tsybakov/thm-1@derived",
    "What the private noise costs",
    "With T = ⌈(2/(λη)) log(4/(λη))⌉ noisy steps the noise adds ηds²/λ to the bound of Theorem 8 on E‖w_T − "
    "ŵ‖², which is 2 log(4/(λη)) times the dσ² of the printed noise, up to the rounding of T.",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="added squared distance",
    relation="<=",
    explicit=eta * d / lambda_ * sigma**2,
    assumptions=(sp.Le(eta * lambda_, 1),),
    about=("tsybakov/alg-3",),
)

thm_1_phase = claim(
    "tsybakov/thm-1@phase",
    "Risk of a phase with constants",
    "Where clipped gradients are gradients of convex functions, the limit ŵ of a phase from w_0 has E[F(ŵ) − F(u)] <= "
    "(λ/2)E‖u − w_0‖² + 2r̃_2²/(nλ) + DB for every u in W that its batch does not see, B = ((2k−1)^{2k−1}/(2k)^{2k}) "
    "r̃_{2k}^{2k}/C^{2k−1}.",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="excess risk of a phase over u",
    relation="<=",
    explicit=lambda_ * D**2 / 2 + 2 * r_2**2 / (n * lambda_) + D * _bias(C),
    about=("tsybakov/alg-3", "tsybakov/alg-2"),
    remark="Added up over the phases, with the noise of each in the place of u − w_0, it bounds the risk of the "
    "corrected Algorithm 3 with every constant.",
)

thm_1_summed = claim(
    "tsybakov/thm-1@summed",
    "Risk of the corrected Algorithm 3 with constants",
    "`thm-1@phase` added up over phases of n_i records from outputs projected onto W, each with the noise before it: "
    "E‖w_i − ŵ_i‖² <= s_i = min(dσ_i² + ((η_iλ_i/4)² min(D_i, D))⁴, D²), no step leads further than C_i/λ_i from the "
    "start, and a bias is never above r̃_1. One dimension.",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=_phase(1, D**2) + sp.Sum(_phase(index, _left(index - 1)), (index, 2, last)) + G_1 * sp.sqrt(_left(last)),
    about=("tsybakov/alg-3",),
    remark="Needs projected outputs, noise on outputs alone, and d = 1: elsewhere clipped gradients need not be those "
    "of convex functions.",
)

thm_1_trivial = claim(
    "tsybakov/thm-1@trivial",
    "Noise on the output that is private for every loss",
    "The outputs of one phase on any two batches are at most 2C/λ apart, so output noise of deviation "
    "8C√log(1/δ)/(λε), n_i times the printed one, is private for every loss.",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="movement of a phase",
    relation="<=",
    explicit=ALL_STEPS * 2 * C / lambda_,
    about=("tsybakov/alg-3",),
)

thm_1_phases = claim(
    "tsybakov/thm-1@phases",
    "The rate of Theorem 1 asked of the corrected Algorithm 3",
    "`alg-3@corrected` has the excess risk of Theorem 1.",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=CONVEX,
    about=("tsybakov/alg-3",),
    probability=1 - beta,
)

rem_2 = claim(
    "tsybakov/rem-2",
    "Remark 2",
    "The stability of clipped gradient descent depends on the clip level C alone, and not on the Lipschitz constant.",
    kind="proposition",
    section="4",
    quantity="movement of the last iterate",
    relation="<=",
    explicit=2 * C / (n * lambda_),
    assumptions=(sp.Le(eta * H, 1),),
    about=("tsybakov/alg-2",),
    grade="refuted",
    remark="For d >= 2 it also depends on the conditioning of the losses: 4.43, 9.15 and 14.7 times 2C/(nλ) on "
    "explicit instances with smoothness 1 (S1).",
)

rem_2_corrected = claim(
    "tsybakov/rem-2@corrected",
    "Remark 2 where clipped steps contract",
    "2C/(nλ) for d = 1, linear, isotropic quadratic and generalised linear losses, at steps η(α + 2λ) <= 2.",
    kind="proposition",
    section="4",
    origin="ours",
    quantity="movement of the last iterate",
    relation="<=",
    explicit=2 * C / (n * lambda_),
    about=("tsybakov/alg-2",),
    assumptions=(sp.Le(eta * (H + 2 * lambda_), 2),),
)

rem_2_derived = claim(
    "tsybakov/rem-2@derived",
    "How far clipping may stretch the movement",
    "For losses ½(w − c)ᵀ diag(1, a)(w − c) whose gradients are all clipped along ±u, the movement tends to "
    "(1+a)/(2√a) times 2C/(nλ) as λ → 0, for the worst u.",
    kind="proposition",
    section="4",
    origin="ours",
    quantity="movement over 2C/(nλ)",
    relation="<=",
    explicit=(1 + a) / (2 * sp.sqrt(a)),
    assumptions=(sp.Le(a, 1),),
    about=("tsybakov/alg-2",),
)

thm_10 = claim(
    "tsybakov/thm-10",
    "Theorem 10",
    "The risk part of Theorem 1 with the logarithm of n kept.",
    kind="theorem",
    section="B",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=CONVEX_LOG,
    assumptions=(LIPSCHITZ_CONDITION, *ORDERS, CONFIDENCE, PHASES_STEP),
    about=("tsybakov/alg-3",),
    probability=1 - beta,
    grade="refuted",
    remark="False at the step size that its proof takes, with λ_1 as printed and with the exponent p (S2b). Where the "
    "proof fails: the sum uses λ_1 with exponent 2p in the bias and p in the statistical terms (S3); its last term is"
    " D/(2^{p+3/2}√log n), which does not vanish (S4); a whp statement has only the mean of random "
    "moments (S4b).",
)

thm_10_phases = claim(
    "tsybakov/thm-10@phases",
    "The rate of Theorem 10 asked of the corrected Algorithm 3",
    "`alg-3@corrected` has the excess risk of Theorem 10.",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=CONVEX_LOG,
    about=("tsybakov/alg-3",),
    probability=1 - beta,
)

thm_10_derived = claim(
    "tsybakov/thm-10@derived",
    "The last term of the proof of Theorem 10",
    "At the printed third cap of the step, L_f²ηn^{p−1/2}√log(1/β)2^{−(p+3/2)} = 2^{−(p+3/2)}D/√log n.",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="last term",
    relation="=",
    explicit=2 ** (-p - sp.Rational(3, 2)) * D / sp.sqrt(sp.log(n)),
    about=("tsybakov/alg-3",),
)

thm_10_balance = claim(
    "tsybakov/thm-10@balance",
    "One λ_1 cannot remove L_f",
    "D²λ_1 + 2L_f²/(λ_1√n_1) >= 2√2·DL_fn_1^{−1/4} for every λ_1 > 0.",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="D²λ_1 + 2L_f²/(λ_1√n_1)",
    relation=">=",
    explicit=2 * sp.sqrt(2) * D * L / n ** sp.Rational(1, 4),
    about=("tsybakov/alg-3",),
)
