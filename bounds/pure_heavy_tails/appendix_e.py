"""Appendix E of arXiv 2604.06492: the exponential mechanism with a projected-gradient score.

The failure probability that the paper calls δ is β (`beta`) in the formulas; λ_max is `lambda_max`.
"""

import sympy as sp

from dpcheck.symbols import G_2, C, D, G_k, H, beta, d, epsilon, eta, gamma, k, lambda_, n, rho, tau

from ._paper import claim

lambda_max = sp.Symbol("lambda_max", positive=True)
TAIL = G_k * (d / (epsilon * n)) ** (1 - 1 / k)
H_TAU = d * G_2 * sp.sqrt(n / rho) / tau


def printed_distance(smoothness: sp.Expr) -> sp.Expr:
    """The order (20) for a loss of that smoothness."""
    return TAIL / lambda_ * sp.log(D * (lambda_ + smoothness) / G_k * epsilon * n / d)


def explicit_distance(smoothness: sp.Expr) -> sp.Expr:
    """(20) with constants: see the derivation at thm-e-1."""
    net = 4 * sp.log(3 * D * (lambda_ + smoothness) / TAIL) + 4 * sp.log(10) / d
    return TAIL / lambda_ * (10 / (k - 1) + 2 + net)


def printed_risk(smoothness: sp.Expr) -> sp.Expr:
    """The order (26) for a loss of that smoothness."""
    private = G_k * D * (d * sp.log(1 / beta) / (epsilon * n)) ** (1 - 1 / k)
    logarithm = sp.log(D * (lambda_max + smoothness) / G_k * epsilon * n / d)
    return G_2 * D * sp.sqrt(sp.log(1 / beta) / n) + private * logarithm


# Appendix E.1: smooth losses ---------------------------------------------------------------------------------------

alg_5 = claim(
    "pure_heavy_tails/alg-5",
    "Algorithm 5 (EM-PGM)",
    "The exponential mechanism on an η-net of W with score s_Z(w), the norm of the clipped projected gradient "
    "mapping, and sensitivity 2C/n.",
    kind="algorithm",
    section="E.1",
    quantity="sensitivity of the score",
    relation="<=",
    explicit=2 * C / n,
    remark="Net and step size γ must be public.",
)

proc_pgm = claim(
    "pure_heavy_tails/proc-pgm",
    "Projected gradient mappings (17)-(19)",
    "G(w) = (w − Π_W(w − γ∇F̂_λ(w)))/γ, and its clipped version with clip_C of every gradient; the score is the "
    "norm of the latter.",
    kind="procedure",
    section="E.1",
)

fact_clip_bias = claim(
    "pure_heavy_tails/fact-clip-bias",
    "[ALT24, Lemma 3], Equation (21)",
    "b_Z = sup_w ‖g_{C,Z}(w) − ∇F̂_Z(w)‖ ≤ O(G_kᵏ/C^{k−1}) with probability at least 4/5.",
    kind="lemma",
    section="E.1",
    origin="cited",
    quantity="bias of the clipped mean gradient",
    relation="<=",
    order=G_k**k / C ** (k - 1),
    probability=sp.Rational(4, 5),
)

fact_clip_bias_derived = claim(
    "pure_heavy_tails/fact-clip-bias@derived",
    "Equation (21) with constants",
    "b_Z ≤ (1/n) Σ (A(z_i) − C)₊, hence b_Z ≤ 5G_kᵏ/((k−1)C^{k−1}) with probability at least 4/5.",
    kind="lemma",
    section="E.1",
    origin="ours",
    quantity="bias of the clipped mean gradient",
    relation="<=",
    explicit=5 * G_k**k / ((k - 1) * C ** (k - 1)),
    assumptions=(sp.Ge(k, 2),),
    probability=sp.Rational(4, 5),
)

fact_em_utility = claim(
    "pure_heavy_tails/fact-em-utility",
    "Utility of the exponential mechanism (E.1)",
    "With sensitivity 2C/n on a finite net, s(ŵ) ≤ min s + (4C/(εn))(log|net| + log(1/β)) with probability at least "
    "1 − β. (The formula takes |net| = (3D/η)ᵈ.)",
    kind="lemma",
    section="E.1",
    origin="cited",
    quantity="score above its minimum",
    relation="<=",
    explicit=4 * C / (epsilon * n) * (d * sp.log(3 * D / eta) + sp.log(1 / beta)),
    assumptions=(sp.Le(eta, D),),
    about=("pure_heavy_tails/alg-5",),
    probability=1 - beta,
)

fact_pgm_error_bound = claim(
    "pure_heavy_tails/fact-pgm-error-bound",
    "Equations (24), (25)",
    "The true and the clipped mapping differ by at most b_Z, and for γ = 1/(H+λ) the map w ↦ Π_W(w − γ∇F̂_λ(w)) "
    "contracts by 1 − γλ, so that ‖w − ŵ_λ‖ ≤ ‖G(w)‖/λ.",
    kind="lemma",
    section="E.1",
    origin="cited",
    quantity="contraction factor",
    relation="<=",
    explicit=H / (H + lambda_),
    about=("pure_heavy_tails/proc-pgm",),
)

thm_e_1 = claim(
    "pure_heavy_tails/thm-e-1",
    "Theorem E.1",
    "For H-smooth losses, γ = 1/(λ+H), C = G_k(εn/d)^{1/k} and η = Cd/(εn(λ+H)), Algorithm 5 is ε-DP and within "
    "(1/λ)·O(G_k(d/(εn))^{1−1/k} log(D(λ+H)εn/(G_kd))) of ŵ_λ with probability at least 0.7.",
    kind="theorem",
    section="E.1",
    quantity="distance to the regularised empirical minimiser",
    measures="distance",
    relation="<=",
    order=printed_distance(H),
    assumptions=(sp.Ge(k, 2),),
    about=("pure_heavy_tails/alg-5",),
    probability=sp.Rational(7, 10),
    grade="proof gap",
    remark="Step 2 writes the mapping as (1/γ)(I − Π_W)(T_Z(w)), which it is not; its Lipschitz constant 2(H+λ) is "
    "right all the same (S13). The logarithm is meant where its argument is large (S14).",
)

thm_e_1_literal = claim(
    "pure_heavy_tails/thm-e-1@literal",
    "Theorem E.1, identity in step 2",
    "The clipped projected gradient mapping equals (1/γ)(I − Π_W)(T_Z(w)), T_Z(w) = w − γ(g_{C,Z}(w) + λ(w − w_0)).",
    kind="theorem",
    section="E.1",
    quantity="projected gradient mapping",
    assumptions=(sp.Eq(gamma, 1 / (lambda_ + H)),),
    about=("pure_heavy_tails/proc-pgm",),
    grade="proof gap",
    remark="The two differ by g_{C,Z}(w) + λ(w − w_0).",
)

thm_e_1_derived = claim(
    "pure_heavy_tails/thm-e-1@derived",
    "Theorem E.1 with constants",
    "With u = G_k(d/(εn))^{1−1/k} ≤ D(λ+H): ‖ŵ − ŵ_λ‖ ≤ (u/λ)(10/(k−1) + 2 + 4 log(3D(λ+H)/u) + 4 log(10)/d) with "
    "probability at least 0.7.",
    kind="theorem",
    section="E.1",
    origin="ours",
    quantity="distance to the regularised empirical minimiser",
    measures="distance",
    relation="<=",
    order=printed_distance(H),
    explicit=explicit_distance(H),
    assumptions=(sp.Ge(k, 2), sp.Le(TAIL, D * (lambda_ + H))),
    about=("pure_heavy_tails/alg-5",),
    probability=sp.Rational(7, 10),
)

thm_e_2 = claim(
    "pure_heavy_tails/thm-e-2",
    "Theorem E.2",
    "Algorithm 5 inside Algorithm 1 is ε-DP and has the rate of Theorem 3.1 with the further factor "
    "log(D(λ_max+H)εn/(G_kd)) on its private term.",
    kind="theorem",
    section="E.1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=printed_risk(H),
    assumptions=(sp.Ge(k, 2),),
    about=("pure_heavy_tails/alg-1", "pure_heavy_tails/alg-5"),
    probability=1 - beta,
)

fact_e_3 = claim(
    "pure_heavy_tails/fact-e-3",
    "Remark E.3",
    "Algorithm 5 is inefficient: the net has up to (3D/η)ᵈ points, and its density is not known to be log-concave.",
    kind="lemma",
    section="E.1",
    quantity="points of the net",
    relation="<=",
    explicit=(3 * D / eta) ** d,
    assumptions=(sp.Le(eta, D),),
    about=("pure_heavy_tails/alg-5",),
)

# Appendix E.2: nonsmooth losses ------------------------------------------------------------------------------------

proc_smoothed_em_pgm = claim(
    "pure_heavy_tails/proc-smoothed-em-pgm",
    "Ball-smoothed EM-PGM",
    "Algorithm 5 on the gradients of f^τ(w,z) = E f(w + τU, z), U uniform in the unit ball, τ = D/√n.",
    kind="procedure",
    section="E.2",
    about=("pure_heavy_tails/alg-5",),
    remark="As printed γ, and through it the net, depend on the data (S3).",
)

fact_smoothing = claim(
    "pure_heavy_tails/fact-smoothing",
    "Equations (27)-(29)",
    "|F^τ − F| ≤ τG_2; f^τ(·,z) is dL_z^τ/τ-smooth; max_i L_{z_i}^τ ≤ G_2√(n/ρ) with probability at least 1 − ρ.",
    kind="lemma",
    section="E.2",
    origin="cited",
    quantity="smoothness of the smoothed empirical loss",
    relation="<=",
    explicit=H_TAU,
    about=("pure_heavy_tails/proc-smoothed-em-pgm",),
    probability=1 - rho,
)

prop_e_4 = claim(
    "pure_heavy_tails/prop-e-4",
    "Proposition E.4",
    "EM-PGM on smoothed gradients with C = G_k(εn/d)^{1/k} and γ = 1/(λ + H_Z^τ) is, with probability at least 0.7 "
    "− ρ, within the distance of Theorem E.1 with H replaced by dG_2√n/(τ√ρ) of the minimiser of the smoothed "
    "objective.",
    kind="proposition",
    section="E.2",
    quantity="distance to the smoothed regularised empirical minimiser",
    measures="distance",
    relation="<=",
    order=printed_distance(H_TAU),
    assumptions=(sp.Ge(k, 2),),
    about=("pure_heavy_tails/proc-smoothed-em-pgm",),
    probability=sp.Rational(7, 10) - rho,
    grade="proof gap",
    remark="The utility, which is what it states, stands. Its proof also claims privacy, which fails for the "
    "printed γ because H_Z^τ is computed from the data (@literal, S3); a public γ repairs it (@corrected).",
)

prop_e_4_literal = claim(
    "pure_heavy_tails/prop-e-4@literal",
    "Proposition E.4, first paragraph of the proof",
    "EM-PGM on smoothed gradients with γ = 1/(λ + H_Z^τ) is ε-DP, its net being public.",
    kind="proposition",
    section="E.2",
    quantity="privacy loss",
    relation="<=",
    explicit=epsilon,
    assumptions=(sp.Ge(k, 2), sp.Eq(C, G_k * (epsilon * n / d) ** (1 / k))),
    about=("pure_heavy_tails/proc-smoothed-em-pgm",),
    grade="proof gap",
    remark="One record changes γ by any factor: realised ε 2.84, 21.5, 93.5 at ε = 1 and n = 20, 100, 400.",
)

prop_e_4_corrected = claim(
    "pure_heavy_tails/prop-e-4@corrected",
    "Proposition E.4 with a public step size",
    "With γ = 1/(λ + dG_2√(n/ρ)/τ) and η = Cdγ/(εn) EM-PGM on smoothed gradients is ε-DP, and meets the distance of "
    "Theorem E.1 (constants included) with H = dG_2√(n/ρ)/τ with probability at least 0.7 − ρ.",
    kind="proposition",
    section="E.2",
    origin="ours",
    quantity="distance to the smoothed regularised empirical minimiser",
    measures="distance",
    relation="<=",
    order=printed_distance(H_TAU),
    explicit=explicit_distance(H_TAU),
    assumptions=(sp.Ge(k, 2), sp.Le(TAIL, D * (lambda_ + H_TAU))),
    about=("pure_heavy_tails/proc-smoothed-em-pgm",),
    probability=sp.Rational(7, 10) - rho,
)

thm_e_5 = claim(
    "pure_heavy_tails/thm-e-5",
    "Theorem E.5",
    "Smoothed EM-PGM inside Algorithm 1 is ε-DP and, for suitable parameters, has the risk of Theorem E.2 with H "
    "replaced by dG_2√n/τ, plus τG_2; τ = D/√n.",
    kind="theorem",
    section="E.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=printed_risk(d * G_2 * sp.sqrt(n) / tau) + tau * G_2,
    assumptions=(sp.Ge(k, 2),),
    about=("pure_heavy_tails/alg-1", "pure_heavy_tails/proc-smoothed-em-pgm"),
    probability=1 - beta,
    grade="proof gap",
    remark="Privacy rests on the data-dependent γ of Proposition E.4 (S3); with the public γ the theorem stands.",
)
