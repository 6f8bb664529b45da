"""Section 4: approximate objective perturbation over constrained Euclidean sets, by Gaussian width."""

import sympy as sp

from dpcheck.symbols import D, H, L, R, alpha, d, delta, epsilon, lambda_, mu, n, omega

from ._paper import (
    CENTRED,
    CONVEX,
    ENOUGH,
    LOG,
    LOG_25,
    PRIVACY,
    SIGMA_1,
    SMALL_LOSS,
    STRONG,
    STRONG_WITHOUT_EPSILON,
    C_min,
    claim,
    mu_ell,
    r,
    sigma_2,
)

modulus, weight = sp.Symbol("Delta", positive=True), sp.Symbol("lambda_2", nonnegative=True)
"""Δ, where λ is free (μ stands for it where λ = 0), and λ of Algorithm 2, which may be 0."""
ALPHA_1 = L * D / n ** sp.Rational(3, 2)
ALPHA_2 = epsilon**2 * L * D**3 / (omega**2 * LOG)
PROJECTION = 2 * sigma_2(alpha) * omega
THRESHOLD = r * H / (epsilon * n)
ALPHA_STRONG = sp.Min(L**2 * D**2 / (mu * n**2), L**4 * D**6 * epsilon**2 / (mu**3 * n**4 * omega**2 * LOG))

asm_1 = claim(
    "lp_spaces/asm-1",
    "Assumption 1",
    "The loss is convex, twice differentiable, L-Lipschitz and β-smooth in ‖·‖_2 over C.",
    kind="assumption",
    section="4.1",
)

alg_1 = claim(
    "lp_spaces/alg-1",
    "Algorithm 1 (approximate objective perturbation, convex)",
    "With G of variance 128L² log(2.5/δ)/ε² a coordinate and λ >= rβ/(εn), an α-minimiser over C of the empirical risk "
    "plus <G, θ>/n + λ‖θ‖², plus Gaussian noise of variance 64α log(2.5/δ)/(λε²), is projected onto C.",
    kind="algorithm",
    section="4.1",
    origin="cited",
    quantity="variance of the first noise",
    relation="=",
    explicit=SIGMA_1**2,
)

alg_1_derived = claim(
    "lp_spaces/alg-1@derived",
    "Movement of Algorithm 1",
    "One record moves the perturbed minimiser by at most L/(λn) for the same G, and the two α-minimisers around one "
    "exact minimiser differ by at most 2√(α/λ).",
    kind="algorithm",
    section="4.1",
    origin="ours",
    quantity="movement of the exact minimiser",
    relation="<=",
    explicit=L / (lambda_ * n),
    about=("lp_spaces/alg-1",),
)

proc_optimizer = claim(
    "lp_spaces/proc-optimizer",
    "Optimiser O(J, α)",
    "A point of C whose objective value is within α of the minimum.",
    kind="procedure",
    section="4.1",
    origin="cited",
    about=("lp_spaces/alg-1", "lp_spaces/alg-2"),
    remark="Privacy needs the accuracy surely; solvers such as SGD and SVRG, which are named as examples, reach it in "
    "expectation only (S12).",
)

proc_exact_objpert = claim(
    "lp_spaces/proc-exact-objpert",
    "Exact objective perturbation",
    "Algorithm 1 with α = 0: empirical excess risk Õ(L G_C/(nε)).",
    kind="procedure",
    section="4.1",
    origin="cited",
    quantity="empirical excess risk",
    measures="empirical suboptimality",
    relation="<=",
    order=L * omega / (n * epsilon),
)

thm_1 = claim(
    "lp_spaces/thm-1",
    "Theorem 1",
    "Under Assumption 1 and β <= εnλ/r, Algorithm 1 is (ε, δ)-DP for 0 < ε, δ < 1.",
    kind="theorem",
    section="4.1",
    assumptions=(*PRIVACY, sp.Le(THRESHOLD, lambda_)),
    about=("lp_spaces/alg-1",),
    remark="Not refuted. Basic composition of its three parts gives 0.85ε when r = 2 rank but 1.10ε when r = d = rank; "
    "taking the two Gaussians together leaves room. For losses that are not generalised linear the shift of the "
    "gradients depends on the output, and the tail step of the cited proof does not cover it (S8).",
)

thm_1_derived = claim(
    "lp_spaces/thm-1@derived",
    "Theorem 1 for a constant shift",
    "When replacing a record shifts the gradients by a constant vector, G and H are Gaussian mechanisms with μ_G = "
    "2L/σ_1 and μ_H = 2√(α/λ)/σ_2, μ_G² + μ_H² = 3ε²/(32 log(2.5/δ)), and the Jacobian costs ε/2 at most: (ε, δ)-DP.",
    kind="theorem",
    section="4.1",
    origin="ours",
    quantity="μ²",
    relation="<=",
    explicit=3 * epsilon**2 / (32 * LOG_25),
    about=("lp_spaces/alg-1",),
)

thm_2 = claim(
    "lp_spaces/thm-2",
    "Theorem 2",
    "With λ = L/(√n‖C‖_2), n >= r²β²‖C‖_2²/(ε²L²) and α small enough, the expected excess risk of Algorithm 1 is "
    "O(L G_C √log(1/δ)/(εn) + L‖C‖_2/√n).",
    kind="theorem",
    section="4.1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=CONVEX,
    assumptions=(*PRIVACY, *ENOUGH),
    about=("lp_spaces/alg-1",),
    grade="slip",
    remark="The second exponent in the condition on α is 3/2 where the algebra, and Remark 1, have 5/2 (S1); 0 ∈ C, "
    "or a regulariser centred in C, is needed (S9); the expectation is also over the data (S13).",
)

thm_2_literal = claim(
    "lp_spaces/thm-2@literal",
    "Theorem 2 with the printed α",
    "The same with α = min{L‖C‖_2/n^{3/2}, ε²L‖C‖_2³/(G_C² log(1/δ) n^{3/2})}.",
    kind="theorem",
    section="4.1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=CONVEX,
    assumptions=(*PRIVACY, *ENOUGH, *SMALL_LOSS, *CENTRED),
    about=("lp_spaces/alg-1",),
    grade="slip",
    remark="On an interval times a short second-order cone the excess falls as n^{-1/4}: more than 5 times the order "
    "at n = 5000, and 1500 times at n = 1e12.",
)

thm_2_corrected = claim(
    "lp_spaces/thm-2@corrected",
    "Theorem 2 with the exponent 5/2",
    "The same with α = min{L‖C‖_2/n^{3/2}, ε²L‖C‖_2³/(G_C² log(1/δ) n^{5/2})}, for C that contains 0.",
    kind="theorem",
    section="4.1",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=CONVEX,
    explicit=L * D / sp.sqrt(n) * (3 + 4 * (LOG_25 / LOG) ** sp.Rational(1, 4))
    + sp.sqrt(128 * LOG_25) * L * omega / (epsilon * n),
    assumptions=(*PRIVACY, *ENOUGH),
    about=("lp_spaces/alg-1",),
)

thm_2_derived = claim(
    "lp_spaces/thm-2@derived",
    "Theorem 2 for every α and λ",
    "For 0 ∈ C: excess <= L²/(λn) + λR² + σ_1 G_C/n + L√(α/λ) + L√(2σ_2 G_C).",
    kind="theorem",
    section="4.1",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=CONVEX,
    explicit=L**2 / (lambda_ * n)
    + lambda_ * R**2
    + SIGMA_1 * omega / n
    + L * sp.sqrt(alpha / lambda_)
    + L * sp.sqrt(PROJECTION),
    about=("lp_spaces/alg-1",),
)

thm_2_uncentred = claim(
    "lp_spaces/thm-2@uncentred",
    "Theorem 2 for C away from the origin",
    "The same bound for every bounded convex C, ‖C‖_2 being its diameter.",
    kind="theorem",
    section="4.1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=L * omega * sp.sqrt(LOG) / (n * epsilon) + L * D / sp.sqrt(n),
    assumptions=(*PRIVACY, *ENOUGH, *SMALL_LOSS),
    about=("lp_spaces/alg-1",),
    grade="slip",
    remark="λ‖θ‖² pulls towards 0: with ℓ = −Lθ on an interval further than √n/2 from 0 the minimiser is the wrong "
    "end.",
)

thm_2_fixed_sample = claim(
    "lp_spaces/thm-2@fixed-sample",
    "Theorem 2 in expectation over the algorithm alone",
    "The same bound for every data set, the expectation being over G and H only, as the statement says.",
    kind="theorem",
    section="4.1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=L * omega * sp.sqrt(LOG) / (n * epsilon) + L * D / sp.sqrt(n),
    assumptions=(*PRIVACY, *ENOUGH, *SMALL_LOSS, *CENTRED),
    about=("lp_spaces/alg-1",),
    grade="slip",
    remark="A data set of n equal records, which has positive probability, misleads every algorithm.",
)

rem_1 = claim(
    "lp_spaces/claim-rem-1",
    "Remark 1",
    "α = O(ε² n^{-5/2}) is enough, and E‖θ̂ − θ_2‖² = O(√(α log(1/δ)/λ) G_C/ε).",
    kind="proposition",
    section="4.1",
    quantity="squared movement by noise and projection",
    relation="<=",
    order=sp.sqrt(alpha * LOG / lambda_) * omega / epsilon,
    explicit=16 * omega * sp.sqrt(alpha * LOG_25 / lambda_) / epsilon,
    about=("lp_spaces/alg-1",),
)

asm_2 = claim(
    "lp_spaces/asm-2",
    "Assumption 2",
    "C is symmetric with interior; the loss also is Δ-strongly convex with respect to ‖·‖_C.",
    kind="assumption",
    section="4.2",
)

alg_2 = claim(
    "lp_spaces/alg-2",
    "Algorithm 2 (approximate objective perturbation, strongly convex)",
    "Algorithm 1 with λ = max{rβ/(εn) − Δ, 0} and a second noise of variance 64α log(2.5/δ)‖C‖_2²/(Δε²).",
    kind="algorithm",
    section="4.2",
    quantity="λ",
    relation="=",
    explicit=sp.Max(THRESHOLD - mu, 0),
    grade="slip",
    remark="Δ is a constant of ‖·‖_C and is used as one of ‖·‖_2; the second noise has it right, as Δ/‖C‖_2² (S4).",
)

alg_2_corrected = claim(
    "lp_spaces/alg-2@corrected",
    "Algorithm 2 with Δ/‖C‖_2²",
    "λ = max{rβ/(εn) − Δ/‖C‖_2², 0} (n >= 2).",
    kind="algorithm",
    section="4.2",
    origin="ours",
    quantity="λ",
    relation="=",
    explicit=sp.Max(THRESHOLD - mu / D**2, 0),
    about=("lp_spaces/alg-2",),
)

thm_3 = claim(
    "lp_spaces/thm-3",
    "Theorem 3",
    "Under Assumption 2, Algorithm 2 is (ε, δ)-DP for 0 < ε, δ < 1.",
    kind="theorem",
    section="4.2",
    quantity="δ that is spent at ε",
    relation="<=",
    explicit=delta,
    assumptions=(*PRIVACY, sp.Ge(n, 1), *SMALL_LOSS, sp.Ge(mu_ell, mu)),
    about=("lp_spaces/alg-2",),
    grade="slip",
    remark="The rule for λ lacks 1/‖C‖_2². Right where ‖C‖_2² <= 2(1 − 1/n), and so for ‖C‖_2 = 1, the normalisation "
    "of Theorem 5: there it takes off no more than the repaired rules do (`@normalised`). False from a diameter of "
    "1.97 on at δ = 1e-6, of 1.86 at 1e-12, of 1.77 at 1e-50 (S4); in between no pair is known.",
)

thm_3_normalised = claim(
    "lp_spaces/thm-3@normalised",
    "Theorem 3 for sets of small diameter",
    "With the printed λ = max{rβ/(εn) − Δ, 0} and ‖C‖_2² <= 2(1 − 1/n), in particular for ‖C‖_2 = 1, the Euclidean "
    "curvature is what Algorithm 1 demands: 2λ + ((n−1)/n)Δ/R² >= 2rβ/(εn).",
    kind="theorem",
    section="4.2",
    origin="ours",
    quantity="2λ + ((n−1)/n)Δ/R², R = ‖C‖_2/2",
    relation=">=",
    explicit=2 * THRESHOLD,
    assumptions=(*PRIVACY, sp.Ge(n, 2), sp.Le(D**2, 2 * (1 - 1 / n))),
    about=("lp_spaces/alg-2",),
)

thm_3_corrected = claim(
    "lp_spaces/thm-3@corrected",
    "Theorem 3 with Δ/‖C‖_2²",
    "With λ = max{rβ/(εn) − Δ/‖C‖_2², 0}, n >= 2, the Euclidean curvature is what Algorithm 1 demands, 2λ + "
    "((n−1)/n)Δ/R² >= 2rβ/(εn), and Algorithm 1's accounting applies.",
    kind="theorem",
    section="4.2",
    origin="ours",
    quantity="2λ + ((n−1)/n)Δ/R², R = ‖C‖_2/2",
    relation=">=",
    explicit=2 * THRESHOLD,
    assumptions=(sp.Ge(n, 2),),
    about=("lp_spaces/alg-2",),
)

thm_4 = claim(
    "lp_spaces/thm-4",
    "Theorem 4",
    "For n large enough and α = O(min{L²‖C‖_2²/(Δn²), L⁴‖C‖_2⁶ε²/(Δ³n⁴G_C² log(1/δ))}), the expected excess risk of "
    "Algorithm 2 is O(L²‖C‖_2²/(Δnε) + G_C²L² log(1/δ)/(Δn²ε²)).",
    kind="theorem",
    section="4.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=STRONG,
    assumptions=(*PRIVACY, *ENOUGH, sp.Ge(n, (L * D / mu) ** 2)),
    about=("lp_spaces/alg-2",),
    remark="Stands, and is weaker than need be: 1/n without 1/ε holds, as Contribution 1 and Table 1 have it (S5).",
)

thm_4_derived = claim(
    "lp_spaces/thm-4@derived",
    "Theorem 4 with constants and without 1/ε",
    "For λ = 0, symmetric C with R = ‖C‖_2/2 and the printed α: excess <= (L²‖C‖_2²/(Δn))(1/2 + √2 + 4(log(2.5/δ)/"
    "log(1/δ))^{1/4}) + 64L² log(2.5/δ)(G_C² + R²)/(Δε²n²).",
    kind="theorem",
    section="4.2",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=STRONG_WITHOUT_EPSILON,
    explicit=L**2 * D**2 / (mu * n) * (sp.Rational(1, 2) + sp.sqrt(2) + 4 * (LOG_25 / LOG) ** sp.Rational(1, 4))
    + 64 * L**2 * LOG_25 * (omega**2 + R**2) / (mu * epsilon**2 * n**2),
    about=("lp_spaces/alg-2",),
)

thm_4_any = claim(
    "lp_spaces/thm-4@any-accuracy",
    "Theorem 4 for every α and λ, with constants",
    "For symmetric C with R = ‖C‖_2/2, every accuracy α and every λ >= 0: excess <= 2L²R²/(Δn) + σ_1²(G_C² + R²)/(Δn²) "
    "+ 4λ²R⁴/Δ + LR√(2α/Δ) + L√(2σ_2G_C); the second term is halved at λ = 0.",
    kind="theorem",
    section="4.2",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=2 * L**2 * R**2 / (modulus * n)
    + SIGMA_1**2 * (omega**2 + R**2) / (2 * modulus * n**2) * sp.Piecewise((2, sp.Gt(weight, 0)), (1, True))
    + 4 * weight**2 * R**4 / modulus
    + L * R * sp.sqrt(2 * alpha / modulus)
    + L * sp.sqrt(2 * sigma_2(alpha, modulus / (4 * R**2)) * omega),
    about=("lp_spaces/alg-2",),
    remark="`thm-4@derived` is this at λ = 0 with the printed α.",
)

rem_2 = claim(
    "lp_spaces/claim-rem-2",
    "Remark 2",
    "For the unit ℓ_2 ball, where G_C is of order √d, the two rates are the optimal √d/(nε) + 1/√n and d/(nε)² + 1/n.",
    kind="proposition",
    section="4.2",
    quantity="excess risk on the ℓ_2 ball",
    measures="excess risk",
    relation="<=",
    order=L * sp.sqrt(d * LOG) / (n * epsilon) + L / sp.sqrt(n),
    remark="The second needs 1/n without 1/ε: `thm-4@derived`, not Theorem 4 as printed.",
)

rem_2_strong = claim(
    "lp_spaces/claim-rem-2@strongly-convex",
    "Remark 2, strongly convex losses",
    "Theorem 4 gives the second rate, d/(nε)² + 1/n, on the unit ℓ_2 ball.",
    kind="proposition",
    section="4.2",
    quantity="excess risk on the ℓ_2 ball, strongly convex",
    relation="<=",
    order=d * LOG / (n * epsilon) ** 2 + 1 / n,
    grade="slip",
    remark="Does not follow from Theorem 4 as printed, whose first term is 1/(nε), but from `thm-4@derived` (S5).",
)

LOWER = omega**2 * LOG / (sp.log(2 * d) ** 4 * epsilon**2 * n**2)

RANGE_5 = (sp.Le(n, sp.sqrt(d * LOG) / epsilon), sp.Le(epsilon, 1), sp.Ge(delta, 2**-n), sp.Lt(delta, 1 / n))

thm_5 = claim(
    "lp_spaces/thm-5",
    "Theorem 5",
    "For symmetric C in the unit ball with ‖C‖_2 = 1, n = O(√(d log(1/δ))/ε), ε = O(1) and 2^{-Ω(n)} <= δ <= "
    "n^{-1-Ω(1)}, some 1-Lipschitz, C_min²-strongly convex loss and some data set give every (ε, δ)-DP algorithm an "
    "excess risk Ω(max{G_C² log(1/δ)/((log 2d)⁴ε²n²), 1/n}).",
    kind="theorem",
    section="4.2",
    quantity="excess risk",
    measures="excess risk",
    relation=">=",
    order=sp.Max(LOWER, 1 / n),
    assumptions=RANGE_5,
    grade="slip",
    remark="Needs min{1, ·} or a lower limit on n, and the algorithm before the data set (S11). Its range of n and "
    "that of Theorem 4 meet only for d = O(1) with its natural loss.",
)

thm_5_literal = claim(
    "lp_spaces/thm-5@literal",
    "Theorem 5 over the whole printed range of n",
    "The lower bound holds for all n = O(√(d log(1/δ))/ε), however small.",
    kind="theorem",
    section="4.2",
    quantity="excess risk",
    measures="excess risk",
    relation=">=",
    order=LOWER,
    assumptions=RANGE_5,
    grade="slip",
    remark="A 1-Lipschitz loss on a set of diameter 1 has excess at most 1; the bound grows without limit in d.",
)

thm_5_quantifiers = claim(
    "lp_spaces/thm-5@quantifiers",
    "Theorem 5 in the printed order",
    "There are a loss and a data set such that every (ε, δ)-DP algorithm has the stated excess on it.",
    kind="theorem",
    section="4.2",
    quantity="excess risk",
    measures="excess risk",
    relation=">=",
    order=sp.Max(LOWER, 1 / n),
    assumptions=RANGE_5,
    grade="slip",
    remark="The algorithm that ignores its data and always returns that data set's minimiser is (0, 0)-DP.",
)

after_thm_5 = claim(
    "lp_spaces/claim-after-thm-5",
    "Text after Theorem 5",
    "Theorem 4 with Δ = C_min² and L = 1 is optimal up to C_min^{-2} and logarithms.",
    kind="proposition",
    section="4.2",
    quantity="upper over lower bound",
    relation="<=",
    explicit=sp.log(2 * d) ** 4 / C_min**2,
    remark="The abstract says 'up to poly(log d)'; C_min^{-2} = 4d for the cross-polytope of radius 1/2 (S11).",
)

proc_lower_instance = claim(
    "lp_spaces/proc-lower-instance",
    "Hard instance of Theorem 5",
    "ℓ = ½‖θ − x‖² over C, records at ±½/√d in every coordinate (ball, cube), at ±½e_j (cross-polytope), or on the "
    "long axes (ellipsoid): reconstructed to fit the stated constants.",
    kind="procedure",
    section="4.2",
    about=("lp_spaces/thm-5",),
)
