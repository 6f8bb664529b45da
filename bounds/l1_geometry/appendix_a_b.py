"""Appendices A and B: stability of entropic mirror descent, and ℓ_p geometry for 1 < p ≤ 2."""

import sympy as sp

from dpcheck.symbols import D, L, R, b, d, delta, epsilon, eta, n, p, q

from ._paper import (
    GENERAL,
    LOG,
    D_h,
    claim,
    g_q,
)

lem_a1 = claim(
    "l1_geometry/lem-a1",
    "Lemma A.1",
    "Some linear f on the simplex of ℝ³ has, for every 0 < η ≤ 1, starts x_0, y_0 whose ℓ₁ distance and "
    "divergence grow "
    "by a factor of at least 1 + η/4 in one entropic mirror step.",
    kind="lemma",
    section="A",
    quantity="growth of the distance",
    relation=">=",
    explicit=1 + eta / 4,
    assumptions=(sp.Le(eta, 1),),
    about=("l1_geometry/proc-eg-step",),
)

lem_a2 = claim(
    "l1_geometry/lem-a2",
    "Lemma A.2",
    "For linear losses with ‖z‖_∞ ≤ L, T = Rn steps of Algorithm 4 from the uniform point on neighbours have ‖x_T − "
    "y_T‖_1² ≤ KL(x_T,y_T) + KL(y_T,x_T) ≤ 4η²L²R².",
    kind="lemma",
    section="A",
    quantity="symmetrised divergence",
    relation="<=",
    explicit=4 * eta**2 * L**2 * R**2,
    about=("l1_geometry/alg-4",),
)

alg_4 = claim(
    "l1_geometry/alg-4",
    "Algorithm 4 (multi-pass stochastic mirror descent)",
    "R passes over the records, each in a fresh uniform order, with exponentiated-gradient steps from a "
    "positive start; "
    "returns the average of the iterates 1..Rn. Not private.",
    kind="algorithm",
    section="A",
    about=("l1_geometry/proc-eg-step",),
)

proc_eg = claim(
    "l1_geometry/proc-eg-step",
    "Equation (1)",
    "The mirror step of the entropy on the simplex is x⁺ ∝ x·exp(−η∇f(x)).",
    kind="procedure",
    section="A",
    origin="cited",
)

alg_5 = claim(
    "l1_geometry/alg-5",
    "Algorithm 5 (noisy mirror descent, ℓ_p)",
    "Algorithm 1 for ‖∇f‖_q ≤ L with σ = 100L√(d^{1−2/q} log(1/δ))/(bε) and η = D/√T/√(L² + 4d^{2/q}σ² log d).",
    kind="algorithm",
    section="B.1",
    quantity="standard deviation of the noise",
    relation="=",
    explicit=100 * L * sp.sqrt(d ** (1 - 2 / q) * LOG) / (b * epsilon),
    remark="X is printed as the unit ℓ_p ball.",
)

thm_12 = claim(
    "l1_geometry/thm-12",
    "Theorem 12",
    "For 1 < p ≤ 2 and h 1-strongly convex in ℓ_p, Algorithm 5 is (ε,δ)-DP and E[F̂(x̄_T) − F̂*] ≤ LD·O(b/n + √(d "
    "log(1/δ)(1 + log d·1{p<2}))/(nε)); relatively strongly convex: O(L²b²/(λn²) + L²d log(1/δ)(1 + log d·1{p<2})"
    "/(λn²ε²)).",
    kind="theorem",
    section="B.1",
    quantity="excess empirical loss of the plain average",
    measures="empirical suboptimality",
    relation="<=",
    order=L * D * (b / n + sp.sqrt(d * sp.log(d) * LOG) / (n * epsilon)),
    explicit=L * D * (2 * b / n + 400 * sp.sqrt(d * sp.log(d) * LOG) / (n * epsilon)),
    assumptions=(sp.Ge(d, 2), sp.Ge(b, 1), sp.Ge(n, b), sp.Gt(p, 1), sp.Lt(p, 2), sp.Le(epsilon, 1)),
    about=("l1_geometry/alg-5",),
    grade="slip",
    remark="True for p < 2. At p = 2 the printed step keeps log d, which makes it too short: the excess exceeds the "
    "stated rate by √log d (@literal); L² + dσ² in the step gives the claim (@corrected, S21).",
)

thm_12_literal = claim(
    "l1_geometry/thm-12@literal",
    "Theorem 12 at p = 2 with the printed step",
    "At p = 2, with η = D/√T/√(L² + 4dσ² log d), E[F̂(x̄_T) − F̂*] ≤ LD·O(b/n + √(d log(1/δ))/(nε)).",
    kind="theorem",
    section="B.1",
    quantity="excess empirical loss of the plain average",
    measures="empirical suboptimality",
    relation="<=",
    order=L * D * (b / n + sp.sqrt(d * LOG) / (n * epsilon)),
    assumptions=(
        sp.Ge(d, 2),
        sp.Ge(b, 1),
        sp.Ge(n, b),
        sp.Le(epsilon, 1),
        sp.Lt(delta, 1),
        sp.Le(D_h, D**2),
        sp.Le(g_q, L),
    ),
    about=("l1_geometry/alg-5",),
    grade="slip",
    remark="On one linear loss the step is too short by √log d for the noise that there is: excess at least "
    "100√log d times the private term, and so above any constant for d large (S21).",
)

thm_12_corrected = claim(
    "l1_geometry/thm-12@corrected",
    "Theorem 12 at p = 2",
    "With η = D/√T/√(L² + dσ²), E[F̂(x̄_T) − F̂*] ≤ LD(2b/n + 200√(d log(1/δ))/(nε)).",
    kind="theorem",
    section="B.1",
    origin="ours",
    quantity="excess empirical loss of the plain average",
    measures="empirical suboptimality",
    relation="<=",
    explicit=L * D * (2 * b / n + 200 * sp.sqrt(d * LOG) / (n * epsilon)),
    assumptions=(sp.Ge(b, 1), sp.Ge(n, b), sp.Le(epsilon, 1)),
    about=("l1_geometry/alg-5",),
)

alg_6 = claim(
    "l1_geometry/alg-6",
    "Algorithm 6 (localised noisy mirror descent, ℓ_p)",
    "Algorithm 2 for the given p, with h_i = ‖x − x_{i−1}‖_p²/(2(p−1)), Algorithm 5 inside and η = (D/L) "
    "min{1/√((p−1)n), ε/√(d log(1/δ)(1 + log d·1{p<2}))}.",
    kind="algorithm",
    section="B.2",
    quantity="radius of the first phase",
    relation="=",
    explicit=L * eta * n * (p - 1) / 16,
    remark="Rounding and blocks as in Algorithm 2 (S2, S4). p = 1, which the input line allows, is illegal.",
)

thm_13 = claim(
    "l1_geometry/thm-13",
    "Theorem 13",
    "Theorem 5 with η stated and the factor 1 + log d·1{p<2}.",
    kind="theorem",
    section="B.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=L * D * GENERAL,
    about=("l1_geometry/alg-6",),
    grade="proof gap",
    remark="For p − 1 far below 1/log d the batch √(n_i/log d) contributes L²η/((p−1) log d), more than the "
    "stated rate; "
    "√((p−1)n_i), or p' = 1 + 1/log₂ d, repairs it (S22).",
)

thm_13_corrected = claim(
    "l1_geometry/thm-13@corrected",
    "Theorem 13 with batches √((p−1)n_i)",
    "The stated rate, for every 1 < p ≤ 2.",
    kind="theorem",
    section="B.2",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=L * D * GENERAL,
    about=("l1_geometry/alg-6",),
)

fact_l2_lq = claim(
    "l1_geometry/fact-l2-lq",
    "Norm comparison in Section B.1",
    "‖g‖_2 ≤ d^{1/2−1/q}‖g‖_q for q ≥ 2.",
    kind="lemma",
    section="B.1",
    quantity="‖g‖_2/‖g‖_q",
    relation="<=",
    explicit=d ** (sp.Rational(1, 2) - 1 / q),
    assumptions=(sp.Ge(q, 2),),
)
