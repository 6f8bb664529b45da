"""Sections 1 to 3: setting, composition, noisy mirror descent and its localised form (non-smooth losses)."""

import sympy as sp

from dpcheck.symbols import D, L, T, b, d, epsilon, eta, k, lambda_, n, p, sigma

from ._paper import (
    GENERAL,
    GRADIENTS,
    LOG,
    LOG2_D,
    NONSMOOTH,
    A_k,
    D_h,
    b_i,
    claim,
    delta_0,
    epsilon_i,
    eta_i,
    g_2,
    n_i,
)

# Section 2 -----------------------------------------------------------------------------------------------------------

asm_geometry = claim(
    "l1_geometry/asm-geometry",
    "Standing assumptions",
    "X ⊂ ℝᵈ is convex with diam_1(X) ≤ D (or diam_p), f(·;z) is convex and L-Lipschitz in the same norm; neighbours "
    "differ in one of n records; expectations are over the sample and the algorithm's coins.",
    kind="assumption",
    section="2.1",
)

def_2_1 = claim(
    "l1_geometry/def-2-1",
    "Definition 2.1",
    "f is L-Lipschitz with respect to ‖·‖ when |f(x) − f(y)| ≤ L‖x − y‖; equivalently ‖g‖_* ≤ L for its subgradients.",
    kind="definition",
    section="2.1",
    origin="cited",
    remark="The equivalence needs a full-dimensional X: on the simplex a subgradient may be shifted by multiples of 1.",
)

def_2_2 = claim(
    "l1_geometry/def-2-2",
    "Definition 2.2",
    "f is β-smooth with respect to ‖·‖ when ‖∇f(x) − ∇f(y)‖_* ≤ β‖x − y‖.",
    kind="definition",
    section="2.1",
    origin="cited",
)

def_2_3 = claim(
    "l1_geometry/def-2-3",
    "Definition 2.3",
    "f is λ-strongly convex with respect to ‖·‖ when f(y) ≥ f(x) + ⟨∇f(x), y − x⟩ + (λ/2)‖x − y‖².",
    kind="definition",
    section="2.1",
    origin="cited",
)

def_2_4 = claim(
    "l1_geometry/def-2-4",
    "Definition 2.4",
    "f is λ-strongly convex relative to h when f(y) ≥ f(x) + ⟨∇f(x), y − x⟩ + λD_h(y,x); h is so relative to itself "
    "with λ = 1, and so is g + h for convex g.",
    kind="definition",
    section="2.1",
    origin="cited",
)

def_2_5 = claim(
    "l1_geometry/def-2-5",
    "Definition 2.5",
    "A is (ε,δ)-differentially private when Pr(A(S) ∈ O) ≤ e^ε Pr(A(S') ∈ O) + δ for all neighbours and events.",
    kind="definition",
    section="2.2",
    origin="cited",
)

lem_2_1 = claim(
    "l1_geometry/lem-2-1",
    "Lemma 2.1 (basic composition)",
    "k mechanisms that are ε-DP compose to a kε-DP one.",
    kind="lemma",
    section="2.2",
    origin="cited",
    quantity="epsilon of the composition",
    relation="<=",
    explicit=k * epsilon,
)

lem_2_2 = claim(
    "l1_geometry/lem-2-2",
    "Lemma 2.2 (advanced composition)",
    "k mechanisms that are (ε,δ)-DP compose to (√(2k log(1/δ'))ε + kε(e^ε − 1), δ' + kδ).",
    kind="lemma",
    section="2.2",
    origin="cited",
    quantity="epsilon of the composition at δ' + kδ",
    relation="<=",
    explicit=sp.sqrt(2 * k * sp.log(1 / delta_0)) * epsilon + k * epsilon * (sp.exp(epsilon) - 1),
)

# Section 1 -----------------------------------------------------------------------------------------------------------

thm_1 = claim(
    "l1_geometry/thm-1",
    "Theorem 1 (informal, non-smooth)",
    "If diam_1(X) < 1 and f is convex and Lipschitz in ℓ₁, some (ε,δ)-DP algorithm with O(log n·min(n^{3/2}√log d, "
    "n²ε/√d)) gradients has excess risk Õ(√(log d/n) + √d log^{3/2}d/(nε)).",
    kind="theorem",
    section="1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=sp.sqrt(sp.log(d) / n) + sp.sqrt(d) * sp.log(d) ** sp.Rational(3, 2) / (n * epsilon),
    about=("l1_geometry/alg-2",),
    remark="Theorem 4 with LD = 1 and log(1/δ) hidden. The privacy is claimed here only; blocks must be disjoint (S4).",
)

thm_2 = claim(
    "l1_geometry/thm-2",
    "Theorem 2 (informal, smooth)",
    "If X is the ℓ₁ ball of radius 1 and f is convex, Lipschitz and smooth in ℓ₁, some (ε,δ)-DP algorithm has, in "
    "linear time, excess risk Õ(√(log d/n) + (log d/(nε))^{2/3}).",
    kind="theorem",
    section="1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=sp.sqrt(sp.log(d) / n) + (sp.log(d) / (n * epsilon)) ** sp.Rational(2, 3),
    about=("l1_geometry/alg-3",),
    remark="Theorem 7 caps ε at about n^{-1/4}; true all the same, by running it at min(ε, cap) (S12).",
)

# Section 3.1 ---------------------------------------------------------------------------------------------------------

alg_1 = claim(
    "l1_geometry/alg-1",
    "Algorithm 1 (noisy mirror descent)",
    "T = n²/b² mirror steps on the mean gradient of b records drawn with replacement, plus N(0, σ²I), σ = "
    "100L√(d log(1/δ))/(bε); returns the plain average of the iterates, or the one weighted by k.",
    kind="algorithm",
    section="3.1",
    quantity="standard deviation of the noise",
    relation="=",
    explicit=100 * L * sp.sqrt(d * LOG) / (b * epsilon),
    remark="The noise is printed as ζ_i inside the display of an average over i; one draw a step is meant (S19). "
    "x_1 = x_0 is not printed.",
)

thm_3 = claim(
    "l1_geometry/thm-3",
    "Theorem 3",
    "If h is 1-strongly convex in ℓ₁ and D_h(x*,x_0) ≤ D², Algorithm 1 with η = D/√T/√(L² + 2σ² log d) is (ε,δ)-DP "
    "and E[F̂(x̄_T) − F̂*] ≤ LD·O(b/n + √(d log d log(1/δ))/(nε)); if f is λ-strongly convex relative to h, the steps "
    "2/(λ(k+1)) give O(L²b²/(λn²) + L²d log d log(1/δ)/(λn²ε²)).",
    kind="theorem",
    section="3.1",
    quantity="excess empirical loss of the plain average",
    measures="empirical suboptimality",
    relation="<=",
    order=L * D * (b / n + sp.sqrt(d * sp.log(d) * LOG) / (n * epsilon)),
    explicit=L * D * (2 * b / n + 200 * sp.sqrt(2) * sp.sqrt(d * sp.log(d) * LOG) / (n * epsilon)),
    assumptions=(sp.Ge(d, 3), sp.Ge(b, 1), sp.Ge(n, b), sp.Le(epsilon, 1)),
    about=("l1_geometry/alg-1",),
    remark="No range of ε is stated; the cited accountant has one, for Poisson samples (S23). With 100 there is room "
    "of a factor 60 in ε.",
)

thm_3_derived = claim(
    "l1_geometry/thm-3@derived",
    "Theorem 3, strongly convex branch, with constants",
    "By Lemma 3.2 with its right constant, E[F̂(x̂_T) − F̂*] ≤ 4L²b²/(λn²) + 8·10⁴L²d log d log(1/δ)/(λn²ε²).",
    kind="theorem",
    section="3.1",
    origin="ours",
    quantity="excess empirical loss of the weighted average",
    measures="empirical suboptimality",
    relation="<=",
    explicit=4 * L**2 * b**2 / (lambda_ * n**2) + 80000 * L**2 * d * sp.log(d) * LOG / (lambda_ * n**2 * epsilon**2),
    assumptions=(sp.Ge(d, 3), sp.Ge(b, 1), sp.Ge(n, b), sp.Le(epsilon, 1)),
    about=("l1_geometry/alg-1",),
)

lem_3_1 = claim(
    "l1_geometry/lem-3-1",
    "Lemma 3.1",
    "Mirror descent with a constant step and E‖g_k‖_∞² ≤ L²: E[f(x̄_T) − f*] ≤ D_h(x*,x_1)/(Tη) + ηL²/2.",
    kind="lemma",
    section="3.1",
    origin="cited",
    quantity="excess loss of the plain average",
    relation="<=",
    explicit=D_h / (T * eta) + eta * L**2 / 2,
)

lem_3_2 = claim(
    "l1_geometry/lem-3-2",
    "Lemma 3.2",
    "If f is λ-strongly convex relative to h and E‖g_k‖_∞² ≤ L², steps 2/(λ(k+1)) and x̂_T = 2/(T(T+1)) Σ k x_k give "
    "E[f(x̂_T) − f*] ≤ L²/(λ(T+1)).",
    kind="lemma",
    section="3.1",
    quantity="excess loss of the weighted average",
    relation="<=",
    explicit=L**2 / (lambda_ * (T + 1)),
    assumptions=(sp.Ge(T, 1), sp.Le(g_2, L**2)),
    grade="refuted",
    remark="The proof loses a factor 2 in kη_k/2 = k/(λ(k+1)) < 1/λ, and the statement is false: on a half-line the "
    "excess reaches 1.69 times the bound at T = 10⁴ (S1). Rates are not affected.",
)

lem_3_2_corrected = claim(
    "l1_geometry/lem-3-2@corrected",
    "Lemma 3.2 with its constant",
    "E[f(x̂_T) − f*] ≤ 2L²/(λ(T+1)).",
    kind="lemma",
    section="3.1",
    origin="ours",
    quantity="excess loss of the weighted average",
    relation="<=",
    explicit=2 * L**2 / (lambda_ * (T + 1)),
    assumptions=(sp.Ge(T, 1), sp.Le(g_2, L**2)),
)

fact_one_step = claim(
    "l1_geometry/fact-one-step",
    "Equation (2)",
    "f(x_k) − f* ≤ (η_k/2)‖g_k‖_∞² + ⟨∇f(x_k) − g_k, x_k − x*⟩ + (D_h(x*,x_k) − D_h(x*,x_{k+1}))/η_k − λD_h(x*,x_k), "
    "for every g_k.",
    kind="lemma",
    section="C.1",
    quantity="excess loss of one iterate",
)

fact_gauss_max = claim(
    "l1_geometry/fact-gauss-max",
    "Gaussian maximum in the proof of Theorem 3",
    "E‖ζ‖_∞² ≤ 2σ² log d for ζ ~ N(0, σ²I_d).",
    kind="lemma",
    section="3.1",
    quantity="E‖ζ‖_∞²",
    relation="<=",
    explicit=2 * sigma**2 * sp.log(d),
    assumptions=(sp.Ge(d, 3),),
    grade="slip",
    remark="False at d = 1, and at d = 2 with natural logarithms; no restriction is printed (S18).",
)

fact_gauss_max_literal = claim(
    "l1_geometry/fact-gauss-max@literal",
    "The Gaussian maximum for every d",
    "E‖ζ‖_∞² ≤ 2σ² log d for every d ≥ 1.",
    kind="lemma",
    section="3.1",
    quantity="E‖ζ‖_∞²",
    relation="<=",
    explicit=2 * sigma**2 * sp.log(d),
    assumptions=(sp.Ge(d, 1),),
    grade="slip",
    remark="At d = 1 the left side is σ², the right side 0.",
)

fact_gauss_max_corrected = claim(
    "l1_geometry/fact-gauss-max@corrected",
    "The Gaussian maximum with log(2d)",
    "E‖ζ‖_∞² ≤ 2σ²(1 + log d).",
    kind="lemma",
    section="3.1",
    origin="ours",
    quantity="E‖ζ‖_∞²",
    relation="<=",
    explicit=2 * sigma**2 * (1 + sp.log(d)),
    assumptions=(sp.Ge(d, 1),),
)

fact_moments = claim(
    "l1_geometry/fact-moments-accountant",
    "Theorem 1 of ACGMMTZ16",
    "For constants c_1, c_2, T Gaussian steps on samples of rate q are (ε,δ)-DP for ε < c_1q²T if the noise multiplier "
    "is at least c_2 q√(T log(1/δ))/ε.",
    kind="theorem",
    section="3.1",
    origin="cited",
    quantity="noise multiplier that suffices",
    relation="is",
    order=b * sp.sqrt(T * LOG) / (n * epsilon),
    about=("l1_geometry/alg-1",),
    remark="Stated for Poisson samples and add-or-remove neighbours; Algorithm 1 samples with replacement under "
    "replace-one (S23).",
)

# Section 3.2 ---------------------------------------------------------------------------------------------------------

alg_2 = claim(
    "l1_geometry/alg-2",
    "Algorithm 2 (localised noisy mirror descent)",
    "Phases i ≤ ⌈log n⌉ with ε_i = 2^{-i}ε, n_i = 2^{-i}n, η_i = 2^{-4i}η, b_i = max(√(n_i/log d), √(d/ε_i)), T_i = "
    "n_i²/b_i²: Algorithm 1 on F_i(x) = mean f + ‖x − x_{i−1}‖_p²/(η_in_i(p−1)) over {‖x − x_{i−1}‖_p ≤ "
    "2Lη_in_i(p−1)}, p = 1 + 1/log d, h_i = ‖x − x_{i−1}‖_p²/(p−1).",
    kind="algorithm",
    section="3.2",
    quantity="radius of the first phase",
    relation="=",
    explicit=L * eta * n * (p - 1) / 16,
    grade="slip",
    remark="Later phases have T_i < 1 step (S2), every sum runs over the records 1..n_i (S4), start and output branch "
    "are left open.",
)

alg_2_literal = claim(
    "l1_geometry/alg-2@literal",
    "Algorithm 2, phases as printed",
    "Each of the ⌈log n⌉ phases makes T_i = n_i²/b_i² ≥ 1 steps.",
    kind="algorithm",
    section="3.2",
    quantity="steps of the last phase",
    relation=">=",
    explicit=sp.Integer(1),
    assumptions=(sp.Ge(n, 2), sp.Ge(d, 2), sp.Le(epsilon, 1)),
    grade="slip",
    remark="T_i ≤ 2^{-3i}n²ε/d is below 1 for i > log₂(n²ε/d)/3, which is below log n whenever ε < nd (S2).",
)

alg_2_corrected = claim(
    "l1_geometry/alg-2@corrected",
    "Algorithm 2, executable",
    "Disjoint blocks of ⌊n_i⌋ records, b_i rounded into [1, n_i], T_i = ⌊n_i²/b_i²⌋, stopping at the first phase that "
    "would make a single step (its average is its start). ‖x_k − x_0‖_p ≤ (2/31)Lηn(p−1) surely.",
    kind="algorithm",
    section="3.2",
    origin="ours",
    quantity="‖x_k − x_0‖_p",
    relation="<=",
    explicit=sp.Rational(2, 31) * L * eta * n * (p - 1),
)

alg_2_derived = claim(
    "l1_geometry/alg-2@derived",
    "Privacy of Algorithm 2",
    "On disjoint blocks a record enters one phase, and the first one spends the most: (ε/2, δ)-DP if Algorithm 1 is "
    "(ε,δ)-DP.",
    kind="algorithm",
    section="3.2",
    origin="ours",
    quantity="epsilon at δ",
    relation="<=",
    explicit=epsilon / 2,
)

A_i = 200 * L**2 * eta_i**2 * b_i**2 + 160000 * L**2 * eta_i**2 * d * sp.log(d) * LOG / epsilon_i**2

thm_4 = claim(
    "l1_geometry/thm-4",
    "Theorem 4",
    "With η = (D/L) min{√(log d/n), ε/√(d log d log(1/δ))}, Algorithm 2 makes O(log n·min(n^{3/2}√log d, n²ε/√d)) "
    "gradients and E[F(x_k) − F*] = LD·O(√(log d/n) + √(d log³d log(1/δ))/(nε)).",
    kind="theorem",
    section="3.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=L * D * NONSMOOTH,
    explicit=32 * D**2 * LOG2_D / (eta * n)
    + L**2 * eta * (427 + sp.Rational(4, 15))
    + LOG2_D * L**2 * eta * d / (n * epsilon) * (2134 + 5120000 * sp.log(d) * LOG / epsilon)
    + 2 * L * sp.sqrt(A_k),
    assumptions=(sp.Ge(d, 3), sp.Le(epsilon, 1)),
    about=("l1_geometry/alg-2",),
    grade="slip",
    remark="The printed b_i = max(√(n_i/log d), √(d/ε_i)) costs n²√(ε/d), not n²ε/√d gradients (@literal); √d/ε_i "
    "gives the count and leaves the rate (S3). The risk bound stands, with 32 in its first term (S24).",
)

thm_4_derived = claim(
    "l1_geometry/thm-4@derived",
    "Gradients of Algorithm 2 as printed",
    "The phases cost Σ n_i²/b_i ≤ min{0.55 n^{3/2}√log₂ d, 0.22 n²√(ε/d)}: no factor log n.",
    kind="theorem",
    section="3.2",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    explicit=sp.Min(
        sp.Rational(55, 100) * n ** sp.Rational(3, 2) * sp.sqrt(LOG2_D),
        sp.Rational(22, 100) * n**2 * sp.sqrt(epsilon / d),
    ),
    about=("l1_geometry/alg-2",),
)

thm_4_corrected = claim(
    "l1_geometry/thm-4@corrected",
    "Gradients of Algorithm 2 with b_i = max(√(n_i/log d), √d/ε_i)",
    "Σ n_i²/b_i ≤ min{0.55 n^{3/2}√log₂ d, n²ε/(7√d)}.",
    kind="theorem",
    section="3.2",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    explicit=sp.Min(sp.Rational(55, 100) * n ** sp.Rational(3, 2) * sp.sqrt(LOG2_D), n**2 * epsilon / (7 * sp.sqrt(d))),
    about=("l1_geometry/alg-2",),
)

lem_3_3 = claim(
    "l1_geometry/lem-3-3",
    "Lemma 3.3",
    "x̂_i = argmin_X F_i lies in X_i, and E‖x_i − x̂_i‖_p² ≤ O(L²η_i²n_i/log d + L²η_i²d log d log(1/δ)/ε_i²).",
    kind="lemma",
    section="3.2",
    quantity="squared distance to the regularised empirical minimiser",
    relation="<=",
    order=L**2 * eta_i**2 * n_i / sp.log(d) + L**2 * eta_i**2 * d * sp.log(d) * LOG / epsilon_i**2,
    explicit=A_i,
    assumptions=(sp.Ge(d, 3),),
    about=("l1_geometry/alg-2",),
    grade="proof gap",
    remark="h_i has modulus between 1/2 and 1 in ℓ₁, not 1 as Theorem 3 asks (S17); the proof has log²(1/δ) (S20). "
    "Constants only.",
)

lem_3_4 = claim(
    "l1_geometry/lem-3-4",
    "Lemma 3.4",
    "For x̂_i = argmin_{X_i} F_i and y ∈ X, E[F(x̂_i) − F(y)] ≤ E‖y − x_{i−1}‖_p²/(η_in_i(p−1)) + O(L²η_i).",
    kind="lemma",
    section="3.2",
    quantity="excess risk of the regularised minimiser, less the regulariser at y",
    relation="<=",
    order=L**2 * eta_i,
    explicit=4 * L**2 * eta_i,
    about=("l1_geometry/alg-2",),
    remark="The records of block i must be independent of x_{i−1}: disjoint blocks (S4).",
)

lem_3_4_derived = claim(
    "l1_geometry/lem-3-4@derived",
    "Stability behind Lemma 3.4",
    "Replacing one record moves x̂_i by at most 2Lη_i in ℓ_p.",
    kind="lemma",
    section="3.2",
    origin="ours",
    quantity="‖x̂_i(S) − x̂_i(S')‖_p",
    relation="<=",
    explicit=2 * L * eta_i,
)

fact_norm_ratio = claim(
    "l1_geometry/fact-norm-ratio",
    "Norm comparison in the proof of Lemma 3.3",
    "‖z‖_1 ≤ d^{1−1/p}‖z‖_p ≤ 2‖z‖_p for p = 1 + 1/log d.",
    kind="lemma",
    section="3.2",
    quantity="‖z‖_1/‖z‖_p",
    relation="<=",
    explicit=sp.Integer(2),
    remark="True with base-2 logarithms. With natural ones the factor is 2.01 at d = 10 and tends to e (S17).",
)

fact_sssss = claim(
    "l1_geometry/fact-sssss",
    "SSSSS09, Theorems 6 and 7",
    "The minimiser of a λ-strongly convex empirical risk of L-Lipschitz losses moves by at most 2L/(λn) when one "
    "record is replaced, and generalises up to 2L²/(λn).",
    kind="theorem",
    section="3.2",
    origin="cited",
    quantity="‖x̂(S) − x̂(S')‖",
    relation="<=",
    explicit=2 * L / (lambda_ * n),
)

thm_5 = claim(
    "l1_geometry/thm-5",
    "Theorem 5",
    "For 1 < p ≤ 2, diam_p(X) ≤ D and f L-Lipschitz in ℓ_p, Algorithm 6 makes O(log n·min(n^{3/2}√log d, n²ε/√d)) "
    "gradients and has excess risk LD·O(1/√((p−1)n) + √(d log d log(1/δ))/((p−1)nε)), without log d at p = 2.",
    kind="theorem",
    section="3.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=L * D * GENERAL,
    about=("l1_geometry/alg-6",),
    remark="Proved as Theorem 13; for p − 1 < 1/log d run it with p' = 1 + 1/log₂ d (S22).",
)

thm_5_gradients = claim(
    "l1_geometry/thm-5@derived",
    "Gradients of Theorems 1, 4, 5 and 13 as stated",
    "log n·min(n^{3/2}√log d, n²ε/√d).",
    kind="theorem",
    section="3.2",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    relation="is",
    order=GRADIENTS,
    about=("l1_geometry/alg-6", "l1_geometry/alg-2"),
)
