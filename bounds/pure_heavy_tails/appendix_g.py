"""Appendix G of arXiv 2604.06492: high-probability lower bounds. ζ is the failure probability, as printed."""

import sympy as sp

from dpcheck.symbols import G_1, G_2, D, G_k, beta, d, epsilon, k, n, p, rho, zeta

from ._paper import claim

mean_norm = sp.Symbol("mu", positive=True)
size = sp.Symbol("V", positive=True)
LOG = sp.log(1 / zeta)
QUARTER = sp.Le(zeta, sp.Rational(1, 4))
PRIVATE = (d + LOG) / (n * epsilon)
C0_SQUARED = sp.log(sp.Rational(4, 3)) / (4 * sp.log(4))
PACKING = sp.Min(sp.log((2**d - 1) / (4 * sp.E * zeta)) / (n * epsilon), 1)
TWO_POINT = sp.Min(LOG / n, 1)

def_g_risk = claim(
    "pure_heavy_tails/def-g-risk",
    "Quantile risks",
    "R^mean and R^sco are the suprema over the class of inf{r ≥ 0 : Pr(error > r) ≤ ζ}, of the squared error of a "
    "mean estimate and of the excess risk of ⟨z,w⟩ over the ball of radius D/2.",
    kind="definition",
    section="G",
)

proc_hard_bdd = claim(
    "pure_heavy_tails/proc-hard-bdd",
    "Class P^bdd(G_2)",
    "Laws on {±G_2 e_1}; P_± puts (1 ± ρ)/2 on +G_2e_1 and has mean ±ρG_2e_1.",
    kind="procedure",
    section="G",
    quantity="KL(P_+, P_−)",
    relation="=",
    explicit=rho * sp.log((1 + rho) / (1 - rho)),
    assumptions=(sp.Le(rho, sp.Rational(1, 2)),),
)

proc_hard_pack = claim(
    "pure_heavy_tails/proc-hard-pack",
    "Class P^pack_k(G_k; V, p)",
    "P_ν = (1−p)δ_0 + pδ_{aν} with a = G_kp^{−1/k} and ν in a 1/2-packing V of the unit ball; mean G_kp^{1−1/k}ν, "
    "E‖z‖ᵏ = G_kᵏ‖ν‖ᵏ.",
    kind="procedure",
    section="G",
    quantity="norm of the mean for ‖ν‖ = 1",
    relation="=",
    explicit=G_k * p ** (1 - 1 / k),
    remark="For the SCO bound V must lie on the unit sphere (S15).",
)

lem_g_1 = claim(
    "pure_heavy_tails/lem-g-1",
    "Lemma G.1",
    "If ‖μ_P‖ = m for the whole class, then ‖μ̂_A − μ_P‖² ≤ (8m/D)(F_P(A) − min F_P) surely, hence R^sco ≥ (D/(8m)) "
    "R^mean. (μ stands for m in the formula.)",
    kind="lemma",
    section="G",
    quantity="R^sco over R^mean",
    relation=">=",
    explicit=D / (8 * mean_norm),
    about=("pure_heavy_tails/proc-mean-reduction",),
    grade="proof gap",
    remark="True, and 8 is sharp; the display of the proof fails when ⟨u,A⟩ > 0 and ‖A‖ < D/2 (S17).",
)

lem_g_1_literal = claim(
    "pure_heavy_tails/lem-g-1@literal",
    "Lemma G.1, display of the proof",
    "F_P(A) − min F_P ≥ (Dm/2)(1 − ⟨u, −A/‖A‖⟩) for every A ≠ 0 in the ball.",
    kind="lemma",
    section="G",
    quantity="excess risk of the point A",
    about=("pure_heavy_tails/proc-mean-reduction",),
    grade="proof gap",
    remark="Equivalent to ⟨u,A⟩(D/(2‖A‖) − 1) ≤ 0.",
)

proc_mean_reduction = claim(
    "pure_heavy_tails/proc-mean-reduction",
    "Estimator μ̂_A (Lemma G.1)",
    "μ̂_A = −mA/‖A‖, or me_1 when A = 0.",
    kind="procedure",
    section="G",
)

prop_g_2 = claim(
    "pure_heavy_tails/prop-g-2",
    "Proposition G.2",
    "R^mean over P^bdd(G_2) is at least cG_2² min{log(1/ζ)/n, 1} for every estimator and every ζ ≤ 1/4.",
    kind="proposition",
    section="G",
    quantity="(1−ζ)-quantile of the squared error",
    relation=">=",
    order=G_2**2 * TWO_POINT,
    assumptions=(QUARTER,),
    about=("pure_heavy_tails/proc-hard-bdd",),
    probability=zeta,
)

prop_g_2_derived = claim(
    "pure_heavy_tails/prop-g-2@derived",
    "Proposition G.2 with constants",
    "c = c_0² = log(4/3)/(4 log 4) = 0.0518, for ρ = c_0 min{√(log(1/ζ)/n), 1}.",
    kind="proposition",
    section="G",
    origin="ours",
    quantity="(1−ζ)-quantile of the squared error",
    relation=">=",
    explicit=C0_SQUARED * G_2**2 * TWO_POINT,
    assumptions=(QUARTER,),
    about=("pure_heavy_tails/proc-hard-bdd",),
    probability=zeta,
)

fact_mvs24 = claim(
    "pure_heavy_tails/fact-mvs24",
    "[MVS24, Corollary 6]",
    "If KL(P_+ⁿ, P_−ⁿ) ≤ log(1/(4ζ(1−ζ))), every test between the two errs with probability at least ζ under one of "
    "them.",
    kind="lemma",
    section="G",
    origin="cited",
    quantity="larger error probability of a test",
    relation=">=",
    explicit=zeta,
    assumptions=(sp.Lt(zeta, sp.Rational(1, 2)),),
)

lem_g_3 = claim(
    "pure_heavy_tails/lem-g-3",
    "Lemma G.3",
    "If the θ_ν are more than 2r apart and θ̂ is within r of θ_ν with probability at least 1 − ζ under every P_ν, "
    "then nearest-neighbour decoding errs with average probability at most ζ.",
    kind="lemma",
    section="G",
    quantity="average decoding error",
    relation="<=",
    explicit=zeta,
    about=("pure_heavy_tails/proc-nn-decoder",),
    remark="Laws on (ℝᵈ)ⁿ and n-fold products are mixed up in the text; P_ν is a law on ℝᵈ.",
)

proc_nn_decoder = claim(
    "pure_heavy_tails/proc-nn-decoder",
    "Nearest-neighbour decoder",
    "ψ = argmin_ν ‖θ̂ − θ_ν‖, ties by index.",
    kind="procedure",
    section="G",
)

fact_bd14 = claim(
    "pure_heavy_tails/fact-bd14",
    "[BD14, Theorem 3 and Proposition 4]",
    "Every ε-DP decoder of {P_ν} errs with average probability at least q/(2(1+q)), q = (|V|−1)e^{−ε⌈np⌉}.",
    kind="lemma",
    section="G",
    origin="cited",
    quantity="average decoding error",
    relation=">=",
    explicit=(size - 1)
    * sp.exp(-epsilon * sp.ceiling(n * p))
    / (2 * (1 + (size - 1) * sp.exp(-epsilon * sp.ceiling(n * p)))),
    assumptions=(sp.Le(p, 1), sp.Ge(size, 2)),
    about=("pure_heavy_tails/proc-hard-pack",),
)

prop_g_4 = claim(
    "pure_heavy_tails/prop-g-4",
    "Proposition G.4",
    "R^mean over P^pack_k(G_k) is at least cG_k² min{((d + log(1/ζ))/(nε))^{2−2/k}, 1} for every ε-DP estimator, ε "
    "≤ 1, ζ ≤ 1/4.",
    kind="proposition",
    section="G",
    quantity="(1−ζ)-quantile of the squared error",
    relation=">=",
    order=G_k**2 * sp.Min(PRIVATE ** (2 - 2 / k), 1),
    assumptions=(QUARTER, sp.Le(epsilon, 1), sp.Ge(k, 2)),
    about=("pure_heavy_tails/proc-hard-pack",),
    probability=zeta,
    grade="proof gap",
    remark="log((|V|−1)/(4eζ)) ≥ c(d + log(1/ζ)) is false for |V| = 2, d = 1, ζ > 1/(4e) = 0.092, where p < 0; a "
    "packing of five points repairs it (S15). c_0 in the last lines should be c_0².",
)

prop_g_4_literal = claim(
    "pure_heavy_tails/prop-g-4@literal",
    "Proposition G.4, last inequality of the proof",
    "log((|V|−1)/(4eζ)) ≥ c(d + log(1/ζ)) with a universal c > 0 whenever |V| ≥ 2ᵈ and ζ ≤ 1/4.",
    kind="proposition",
    section="G",
    quantity="log((|V|−1)/(4eζ))",
    assumptions=(sp.Ge(size, 2**d), QUARTER),
    about=("pure_heavy_tails/proc-hard-pack",),
    grade="proof gap",
    remark="−1 at |V| = 2, d = 1, ζ = 1/4.",
)

prop_g_4_derived = claim(
    "pure_heavy_tails/prop-g-4@derived",
    "Proposition G.4 with constants",
    "For d ≥ 2 and |V| = 2ᵈ: R^mean ≥ G_k²p^{2−2/k}/16, p = min{log((2ᵈ−1)/(4eζ))/(nε), 1}. For d = 1 take V = "
    "{−1,−½,0,½,1} and log(1/(eζ)) in place of the logarithm.",
    kind="proposition",
    section="G",
    origin="ours",
    quantity="(1−ζ)-quantile of the squared error",
    relation=">=",
    explicit=G_k**2 * PACKING ** (2 - 2 / k) / 16,
    assumptions=(QUARTER, sp.Le(epsilon, 1), sp.Ge(k, 2), sp.Ge(d, 2)),
    about=("pure_heavy_tails/proc-hard-pack",),
    probability=zeta,
)

thm_g_5 = claim(
    "pure_heavy_tails/thm-g-5",
    "Theorem G.5",
    "For a class that contains both hard classes and every ε-DP estimator there is P in it with, with probability "
    "at least ζ, ‖μ̂ − μ_P‖² at least c times the sum of the bounds of Propositions G.2 and G.4.",
    kind="theorem",
    section="G",
    quantity="squared error",
    relation=">=",
    order=G_2**2 * TWO_POINT + G_k**2 * sp.Min(PRIVATE ** (2 - 2 / k), 1),
    assumptions=(QUARTER, sp.Le(epsilon, 1), sp.Ge(k, 2)),
    about=("pure_heavy_tails/proc-hard-bdd", "pure_heavy_tails/proc-hard-pack"),
    probability=zeta,
)

thm_g_5_derived = claim(
    "pure_heavy_tails/thm-g-5@derived",
    "Theorem G.5 with constants",
    "For d ≥ 2 the larger of 0.0518 G_2² min{log(1/ζ)/n, 1} and G_k²p^{2−2/k}/16, p as in Proposition G.4.",
    kind="theorem",
    section="G",
    origin="ours",
    quantity="squared error",
    relation=">=",
    explicit=sp.Max(C0_SQUARED * G_2**2 * TWO_POINT, G_k**2 * PACKING ** (2 - 2 / k) / 16),
    assumptions=(QUARTER, sp.Le(epsilon, 1), sp.Ge(k, 2), sp.Ge(d, 2)),
    about=("pure_heavy_tails/proc-hard-bdd", "pure_heavy_tails/proc-hard-pack"),
    probability=zeta,
)

thm_g_6 = claim(
    "pure_heavy_tails/thm-g-6",
    "Theorem G.6",
    "For a class that contains both hard classes and every ε-DP algorithm there is P in it with, with probability "
    "at least ζ, an excess risk of at least cD min{G_1, G_2√(log(1/ζ)/n) + G_k((d + log(1/ζ))/(nε))^{1−1/k}}; ε ≤ "
    "1, ζ ≤ 1/4.",
    kind="theorem",
    section="G",
    quantity="excess risk",
    measures="excess risk",
    relation=">=",
    order=D * sp.Min(G_1, G_2 * sp.sqrt(LOG / n) + G_k * PRIVATE ** (1 - 1 / k)),
    assumptions=(QUARTER, sp.Le(epsilon, 1), sp.Ge(k, 2)),
    about=("pure_heavy_tails/proc-hard-bdd", "pure_heavy_tails/proc-hard-pack"),
    probability=zeta,
    grade="proof gap",
    remark="True, with c = 1e-4. Lemma G.1 needs ‖ν‖ = 1 for all ν, so V must lie on the sphere, and d = 1, ζ > "
    "0.092 needs a two-point argument (S15). The class must hold laws with E‖z‖² = G_k², so that for G_2 < G_k it "
    "is not a bound for {E‖z‖² ≤ G_2², E‖z‖ᵏ ≤ G_kᵏ} (S19).",
)

thm_g_6_derived = claim(
    "pure_heavy_tails/thm-g-6@derived",
    "Theorem G.6 with constants",
    "For d ≥ 2 the excess risk is, for some P and with probability at least ζ, at least the larger of 0.0284 D G_2 "
    "min{√(log(1/ζ)/n), 1} and D G_kp^{1−1/k}/128, p as in Proposition G.4 with V on the sphere.",
    kind="theorem",
    section="G",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation=">=",
    explicit=D
    * sp.Max(
        sp.sqrt(C0_SQUARED) / 8 * G_2 * sp.Min(sp.sqrt(LOG / n), 1),
        G_k * PACKING ** (1 - 1 / k) / 128,
    ),
    assumptions=(QUARTER, sp.Le(epsilon, 1), sp.Ge(k, 2), sp.Ge(d, 2)),
    about=("pure_heavy_tails/proc-hard-bdd", "pure_heavy_tails/proc-hard-pack"),
    probability=zeta,
)

thm_g_6_corrected = claim(
    "pure_heavy_tails/thm-g-6@corrected",
    "Theorem G.6 for d = 1",
    "For d = 1 and V = {±1} the excess risk is, for some P and with probability at least ζ, at least D "
    "G_kp^{1−1/k}/2, p = min{log(1/(2ζ))/(nε), 1}.",
    kind="theorem",
    section="G",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation=">=",
    explicit=D * G_k * sp.Min(sp.log(1 / (2 * zeta)) / (n * epsilon), 1) ** (1 - 1 / k) / 2,
    assumptions=(QUARTER, sp.Ge(k, 2)),
    about=("pure_heavy_tails/proc-hard-pack",),
    probability=zeta,
)

fact_g_7 = claim(
    "pure_heavy_tails/fact-g-7",
    "Remark G.7",
    "A constant output is 0-DP with excess risk at most DG_1; Theorems 3.1 and G.6 differ only in d log(1/δ) "
    "against d + log(1/δ). (β stands for δ in the formula.)",
    kind="lemma",
    section="G",
    quantity="ratio of the private terms of the upper and the lower bound",
    relation="=",
    explicit=(d * sp.log(1 / beta) / (d + sp.log(1 / beta))) ** (1 - 1 / k),
    assumptions=(sp.Ge(k, 2),),
)
