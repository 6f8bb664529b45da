"""Section 5: unconstrained ℓ_p spaces, and heavy tails."""

import sympy as sp

from dpcheck.symbols import C, D, H, L, T, alpha, b, beta, d, delta, epsilon, kappa, n, p, sigma, theta

from ._paper import (
    HEAVY,
    HEAVY_ALL_EPSILON,
    LARGE_P,
    LOG,
    NOISE,
    PRIVACY,
    SMALL_LOSS,
    SMOOTH,
    A,
    H_ell,
    c,
    claim,
    sigma_ell,
)

SUBOPTIMAL = alpha / 2 * C / (A - 1) + d * sigma**2 / (alpha + H)

asm_3 = claim(
    "lp_spaces/asm-3",
    "Assumption 3",
    "The loss is convex, β-smooth and L-Lipschitz with respect to ‖·‖_p on the whole of ℝ^d.",
    kind="assumption",
    section="5.1",
)

alg_3 = claim(
    "lp_spaces/alg-3",
    "Algorithm 3 (noisy regularised mirror descent)",
    "T steps of mirror descent on the regularised empirical risk, Φ = (κ/2)‖·‖_s², each gradient with generalised "
    "Gaussian noise of σ² = 64L²κT log(1/δ)/(n²ε²); the output averages the iterates with weights a^t, a = "
    "(2β+α)/(2β).",
    kind="algorithm",
    section="5.1",
    quantity="σ²",
    relation="=",
    explicit=64 * L**2 * kappa * T * LOG / (n**2 * epsilon**2),
    grade="slip",
    remark="The printed exponent of Φ, κ/(κ−1), is not the dual one, (κ+1)/κ (S2). The update has βD_Φ where the "
    "weights belong to 2βD_Φ; both satisfy a bound of the same order (S7).",
)

alg_3_corrected = claim(
    "lp_spaces/alg-3@corrected",
    "Algorithm 3 with the dual exponent",
    "The same with Φ = (κ/2)‖·‖_s², s = (κ_+ + 1)/κ_+, and κ of Definition 3 in Φ and in the noise.",
    kind="algorithm",
    section="5.1",
    origin="ours",
    quantity="σ²",
    relation="=",
    explicit=64 * L**2 * kappa * T * LOG / (n**2 * epsilon**2),
    about=("lp_spaces/alg-3",),
)

proc_mirror_map = claim(
    "lp_spaces/proc-mirror-map",
    "Mirror map of Algorithms 3 and 4",
    "Φ = (κ/2)‖·‖_s² is 1-strongly convex with respect to ‖·‖_p.",
    kind="procedure",
    section="5.1",
    quantity="modulus of strong convexity",
    relation=">=",
    explicit=sp.Integer(1),
    about=("lp_spaces/alg-3", "lp_spaces/alg-4"),
    remark="True for s = (κ+1)/κ with the regularity constant of Definition 3.",
)

proc_mirror_map_literal = claim(
    "lp_spaces/proc-mirror-map@literal",
    "Mirror map with the printed exponent",
    "The same with the exponent κ/(κ−1), κ = min{1/(p−1), 2 log d}.",
    kind="procedure",
    section="5.1",
    quantity="modulus of strong convexity",
    relation=">=",
    explicit=sp.Integer(1),
    assumptions=(sp.Gt(p, 1), sp.Lt(p, 2), sp.Ge(d, 2)),
    about=("lp_spaces/alg-3", "lp_spaces/alg-4"),
    grade="slip",
    remark="For p > 3/2 the exponent exceeds 2 and there is no modulus at all; for p <= 3/2 it falls with d.",
)

proc_mirror_map_corrected = claim(
    "lp_spaces/proc-mirror-map@corrected",
    "Mirror map with the dual exponent",
    "With s = (κ_+ + 1)/κ_+ and the factor κ of Definition 3, Φ is 1-strongly convex with respect to ‖·‖_p.",
    kind="procedure",
    section="5.1",
    origin="ours",
    quantity="modulus of strong convexity",
    relation=">=",
    explicit=sp.Integer(1),
    about=("lp_spaces/alg-3", "lp_spaces/alg-4"),
)

thm_6 = claim(
    "lp_spaces/thm-6",
    "Theorem 6",
    "Algorithm 3 is (ε, δ)-DP for 0 < ε, δ < 1.",
    kind="theorem",
    section="5.1",
    assumptions=PRIVACY,
    about=("lp_spaces/alg-3",),
    remark="True, with an almost eightfold slack in the variance, though Lemmas 1 and 3 together would ask for another "
    "logarithm.",
)

thm_6_derived = claim(
    "lp_spaces/thm-6@derived",
    "Theorem 6 by concentrated privacy",
    "The T steps are ρ-zCDP with ρ = ε²/(32 log(1/δ)), which converts to (0.354ε + ρ, δ)-DP.",
    kind="theorem",
    section="5.1",
    origin="ours",
    quantity="ρ",
    relation="<=",
    explicit=epsilon**2 / (32 * LOG),
    about=("lp_spaces/alg-3",),
)

thm_7 = claim(
    "lp_spaces/thm-7",
    "Theorem 7",
    "With α = (4β/T) log_2(n/T) and T = O((nεκ/√(d log(1/δ)))^{2/5}), the expected excess risk of Algorithm 3 is "
    "Õ(κ^{4/5}(√(d log(1/δ))/(nε))^{2/5}), hiding β, L and E‖w̃*‖², w̃* the empirical minimiser.",
    kind="theorem",
    section="5.1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=SMOOTH,
    assumptions=(*PRIVACY, sp.Ge(n, epsilon**4 / ((d * LOG) ** 2 * sp.sqrt(kappa)))),
    about=("lp_spaces/alg-3",),
    remark="Derived on paper, from a master inequality that is argued in words; the algebra after it is executed. T "
    "that balances the printed rate has √κ for κ, and T = κ^{1/4}(nε/√(d log(1/δ)))^{1/2} gives the better "
    "κ^{3/4}(√(d log(1/δ))/(nε))^{1/2} (S6). The stated condition on n is void (S18). E‖w̃*‖² is infinite when "
    "separable data have positive probability, and 0 when every record is minimised at 0: read 1 + E‖w̃*‖² (S19).",
)

thm_7_dual = claim(
    "lp_spaces/thm-7@dual-exponent",
    "Theorem 7 for the corrected mirror map",
    "The same for Algorithm 3 with the dual exponent.",
    kind="theorem",
    section="5.1",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=SMOOTH,
    about=("lp_spaces/alg-3",),
)

thm_7_derived = claim(
    "lp_spaces/thm-7@derived",
    "Theorem 7, optimisation error",
    "For the literal step and every w: E F(ŵ) − F(w) <= (α/2)Φ(w)/(A−1) + dσ²/(α+β), where F = L̂ + αΦ and A = "
    "(1 + α/(2β))^T.",
    kind="theorem",
    section="5.1",
    origin="ours",
    quantity="suboptimality of the regularised empirical risk",
    measures="empirical suboptimality",
    relation="<=",
    explicit=SUBOPTIMAL,
    assumptions=(sp.Gt(A, 1),),
    about=("lp_spaces/alg-3",),
)

thm_7_risk = claim(
    "lp_spaces/thm-7@risk",
    "Theorem 7 with constants, before parameters are chosen",
    "Where Φ is at most C at the population's and at the sample's minimiser: excess <= αC + S + L(2√(C/(A−1) + "
    "2dσ²/(α(α+β))) + 2L/(αn)), S the bound of `thm-7@derived`.",
    kind="theorem",
    section="5.1",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=alpha * C
    + SUBOPTIMAL
    + L * (2 * sp.sqrt(C / (A - 1) + 2 * d * sigma**2 / (alpha * (alpha + H))) + 2 * L / (alpha * n)),
    assumptions=(sp.Gt(A, 1),),
    about=("lp_spaces/alg-3",),
    remark="That Φ is as small at the sample's minimiser is exact in the limit of large n only.",
)

rem_3 = claim(
    "lp_spaces/claim-rem-3",
    "Remark 3",
    "On a set of ‖·‖_p-diameter M the rate is Õ((M + M²)(√κ/√n + κ√(d log(1/δ))/(nε))).",
    kind="proposition",
    section="5.1",
    origin="cited",
    quantity="excess risk, constrained",
    measures="excess risk",
    relation="<=",
    order=(D + D**2) * (sp.sqrt(kappa / n) + kappa * NOISE),
)

thm_8 = claim(
    "lp_spaces/thm-8",
    "Theorem 8",
    "For 2 <= p <= ∞ there is an (ε, δ)-DP algorithm with excess risk O(d^{1−2/p}‖θ*‖²(1/√n + √(d log(1/δ))/(εn))).",
    kind="theorem",
    section="5.1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=LARGE_P * theta**2,
    assumptions=(*PRIVACY, sp.Ge(p, 2)),
    about=("lp_spaces/proc-phased-sgd",),
    grade="slip",
    remark="An additive L² is missing: near θ* = 0 no algorithm, private or not, meets the printed bound (S14).",
)

thm_8_literal = claim(
    "lp_spaces/thm-8@literal",
    "Theorem 8 near the origin",
    "The bound with ‖θ*‖² as a factor of everything, also for θ* = 0.",
    kind="theorem",
    section="5.1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=LARGE_P * theta**2,
    assumptions=(*PRIVACY, sp.Ge(p, 2), *SMALL_LOSS),
    about=("lp_spaces/proc-phased-sgd",),
    grade="slip",
    remark="θ* = 0 forces the output 0 on every data set; then θ* = 2m has excess 2^{-5/2}θ*² for every n.",
)

thm_8_corrected = claim(
    "lp_spaces/thm-8@corrected",
    "Theorem 8 with the additive term",
    "Phased SGD with step c·min{1/√n, ε/√(d log(1/δ))}: excess <= (8/c)‖θ*‖_2²(1/√n + x) + cL²(1/(6√n) + 128x) + "
    "16cL²/n², x = √(d log(1/δ))/(εn), and ‖θ*‖_2² <= d^{1−2/p}‖θ*‖_p².",
    kind="theorem",
    section="5.1",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=LARGE_P * theta**2 + L**2 * (1 / sp.sqrt(n) + NOISE),
    explicit=8 / c * theta**2 * (1 / sp.sqrt(n) + NOISE)
    + c * L**2 * (1 / (6 * sp.sqrt(n)) + 128 * NOISE)
    + 16 * c * L**2 / n**2,
    about=("lp_spaces/proc-phased-sgd",),
)

after_thm_8 = claim(
    "lp_spaces/claim-after-thm-8",
    "Text after Theorem 8",
    "The optimal constrained rate for p >= 2 is M d^{1/2−1/p}(1/√n + √(d log(1/δ))/(εn)); Theorem 8 is d^{1/2−1/p} "
    "above.",
    kind="proposition",
    section="5.1",
    origin="cited",
    quantity="Theorem 8 over the constrained optimum, at constant norms",
    relation="=",
    explicit=d ** (sp.Rational(1, 2) - 1 / p),
)

proc_phased_sgd = claim(
    "lp_spaces/proc-phased-sgd",
    "Phased private SGD without projection",
    "Phase i passes once over n_i = ⌊n/2^i⌋ fresh records with step η_i = η/4^i and adds Gaussian noise of deviation "
    "4Lη_i√log(1/δ)/ε to the average iterate.",
    kind="procedure",
    section="5.1",
    origin="cited",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    explicit=n,
)

asm_4 = claim(
    "lp_spaces/asm-4",
    "Assumption 4",
    "The loss is convex and β-smooth on C, and E‖∇ℓ(w, x) − ∇L(w)‖_*² <= σ² for all w in C.",
    kind="assumption",
    section="5.2",
)

alg_4 = claim(
    "lp_spaces/alg-4",
    "Algorithm 4 (shuffled truncated mirror descent)",
    "After shuffling, each of T batches of n/T records takes one step of mirror descent; gradients whose dual norm "
    "exceeds βM + λ are set to zero and each gets its own generalised Gaussian noise.",
    kind="algorithm",
    section="5.2",
    quantity="σ_1²",
    relation="<=",
    order=sp.log(n / delta) * kappa * (H * D + A) ** 2 * LOG / (n * epsilon**2),
)

alg_4_corrected = claim(
    "lp_spaces/alg-4@corrected",
    "Algorithm 4 with the dual exponent",
    "The same with Φ = (κ/2)‖·‖_s², s = (κ_+ + 1)/κ_+, and κ of Definition 3 in Φ and in the noise.",
    kind="algorithm",
    section="5.2",
    origin="ours",
    quantity="σ_1²",
    relation="<=",
    order=sp.log(n / delta) * kappa * (H * D + A) ** 2 * LOG / (n * epsilon**2),
    about=("lp_spaces/alg-4",),
)

thm_9 = claim(
    "lp_spaces/thm-9",
    "Theorem 9",
    "Algorithm 4 is (ε, δ)-DP for ε = O(√(log(n/δ)/n)).",
    kind="theorem",
    section="5.2",
    quantity="largest ε of Algorithm 4",
    relation="<=",
    order=sp.sqrt(sp.log(n / delta) / n),
    assumptions=(sp.Lt(delta, 1),),
    about=("lp_spaces/alg-4",),
)

RANGE_10 = (
    *PRIVACY,
    sp.Lt(beta, 1),
    sp.Ge(n, sp.Max(H**2, 1) * D**2 * sp.sqrt(d * kappa**2 * LOG) / epsilon),
)

thm_10 = claim(
    "lp_spaces/thm-10",
    "Theorem 10",
    "With T = M²n²ε²/(λ²d log(1/δ)), γ = √T and λ = √(nε)/(κ²d log(1/δ))^{1/4}, with probability 1 − δ' the excess "
    "risk is Õ(M(κ²d log(1/δ))^{1/4} log(1/δ')/√(nε)).",
    kind="theorem",
    section="5.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=HEAVY * sp.log(1 / beta),
    assumptions=RANGE_10,
    about=("lp_spaces/alg-4",),
    grade="slip",
    remark="Needs a point of C where ∇L vanishes, or a bound on ‖∇L‖_* (S15). The type-2 factor of the averaged "
    "noise, at most κ <= 2 log d, is absorbed by Õ (S16).",
)

thm_10_literal = claim(
    "lp_spaces/thm-10@literal",
    "Theorem 10 without a stationary point",
    "The same for every loss of Assumption 4, uniformly.",
    kind="theorem",
    section="5.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=HEAVY * sp.log(1 / beta),
    assumptions=(*RANGE_10, sp.Le(epsilon, sp.sqrt(sp.log(n / delta) / n)), sp.Le(H_ell, H), sp.Le(sigma_ell, sigma)),
    about=("lp_spaces/alg-4",),
    grade="slip",
    remark="A linear loss steeper than the threshold is never seen: the excess is ‖v‖_q M/2.",
)

thm_10_quiet = claim(
    "lp_spaces/thm-10@quiet",
    "Theorem 10 with a thousandth of the noise",
    "At the printed T and λ the excess of Algorithm 4 falls at the printed rate when its noise is a thousandth of what "
    "privacy asks for.",
    kind="theorem",
    section="5.2",
    origin="ours",
    quantity="excess risk without privacy",
    relation="<=",
    order=HEAVY * sp.log(1 / beta),
    about=("lp_spaces/alg-4",),
)

alg_4_own_noise = claim(
    "lp_spaces/alg-4@own-noise",
    "Algorithm 4 with its own noise does not leave its start",
    "d = 3, p = 3/2, δ = 1e-6, the largest ε of each n: the mean excess is at least half of that at the start at n = "
    "2,048 and 16,384, and the derived bound falls below the excess at the start between n = 1e24 and 1e25.",
    kind="algorithm",
    section="5.2",
    origin="ours",
    quantity="excess risk over that at the start, n <= 16,384",
    relation=">=",
    explicit=sp.Rational(1, 2),
    about=("lp_spaces/alg-4",),
    remark="Theorem 10 is not refuted by it, its constant is hidden: with this calibration, σ_1² about 250 times the "
    "printed order, the derived bound is 3e4 to 9e4 times the printed rate.",
)

TRUNCATION = sigma**2 / A + H * D * sigma**2 / A**2

thm_10_derived = claim(
    "lp_spaces/thm-10@derived",
    "Theorem 10 in expectation",
    "If sup over C of ‖∇L‖_* <= βM and γ = √T >= 2β: excess <= κ‖w*‖_s²/(2√T) + M t + (2/√T)(2t² + 16κ(σ² + β²M²)/b + "
    "noise), with the truncation bias t = σ²/λ + βMσ²/λ² and noise = E‖Z̄‖_*² (κ is that of Definition 3).",
    kind="theorem",
    section="5.2",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=HEAVY,
    explicit=kappa * theta**2 / (2 * sp.sqrt(T))
    + D * TRUNCATION
    + 2 / sp.sqrt(T) * (2 * TRUNCATION**2 + 16 * kappa / b * (sigma**2 + H**2 * D**2) + C),
    about=("lp_spaces/alg-4", "lp_spaces/proc-batched-md"),
)

rem_4 = claim(
    "lp_spaces/claim-rem-4",
    "Remark 4",
    "Shuffling lets the noise of each gradient be Õ((βM + λ)/(√n ε)) instead of Õ((βM + λ)/ε); the non-private "
    "heavy-tail rate is O(√(κ/n)).",
    kind="proposition",
    section="5.2",
    quantity="deviation of the noise of one gradient",
    relation="<=",
    order=(H * D + A) / (sp.sqrt(n) * epsilon),
    remark="The text at hand puts ε under the root, which Algorithm 4's own σ_1 contradicts (S17).",
)

app10_general = claim(
    "lp_spaces/claim-app10-general-eps",
    "Appendix 10 (not at hand), all 0 < ε < 1",
    "For heavy tails and 1 < p < 2 some (ε, δ)-DP algorithm has excess Õ(κ^{2/3}(d log(1/δ))^{1/6}/(nε)^{1/3}).",
    kind="proposition",
    section="5.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=HEAVY_ALL_EPSILON,
    about=("lp_spaces/proc-batched-md",),
)

app10_large_p = claim(
    "lp_spaces/claim-app10-p-ge-2",
    "Appendix 10 (not at hand), p >= 2",
    "For heavy tails and p >= 2 some (ε, δ)-DP algorithm has excess Õ(d^{3/2−1/p}/√n + d^{3/2−1/(2p)}/√(nε)).",
    kind="proposition",
    section="5.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=d ** (sp.Rational(3, 2) - 1 / p) / sp.sqrt(n) + d ** (sp.Rational(3, 2) - 1 / (2 * p)) / sp.sqrt(n * epsilon),
    about=("lp_spaces/proc-heavy-euclid",),
)

proc_batched_md = claim(
    "lp_spaces/proc-batched-md",
    "Batched truncated mirror descent",
    "Algorithm 4 without shuffling: disjoint batches and one generalised Gaussian vector of variance 2κ log(1/δ)"
    "(2(βM+λ)/b)²/ε² for each; T = (κ²n²ε²/(4d log(1/δ)))^{1/3}, λ = √T/κ.",
    kind="procedure",
    section="5.2",
    quantity="σ²",
    relation="=",
    explicit=2 * kappa * LOG * (2 * (H * D + A) / b) ** 2 / epsilon**2,
)

proc_heavy_euclid = claim(
    "lp_spaces/proc-heavy-euclid",
    "Heavy tails for p >= 2",
    "Embed into ℓ_2, which keeps σ and β and makes the diameter d^{1/2−1/p}M, and run the Euclidean algorithm.",
    kind="procedure",
    section="5.2",
    quantity="Euclidean diameter",
    relation="<=",
    explicit=d ** (sp.Rational(1, 2) - 1 / p) * D,
)
