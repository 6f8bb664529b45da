"""Appendix E.1 of arXiv 2604.06492: the exponential mechanism with a projected-gradient score, smooth losses.

The failure probability that the paper calls δ is β (`beta`) in the formulas; λ_max is `lambda_max`.
"""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Finding, Proof, derivation
from dpcheck.symbols import G_2, C, D, G_k, H, beta, d, epsilon, eta, gamma, k, lambda_, m, n

from ._paper import claim, m_1
from .section_2_1 import LARGE_SAMPLE, LOG, localised

lambda_max = sp.Symbol("lambda_max", positive=True)
GRID = sp.Piecewise((1 + sp.ceiling(D / (2 * eta)), sp.Eq(d, 1)), (sp.ceiling(D * sp.sqrt(d) / (2 * eta)) ** d, True))
"""Points of a grid of the domain that every point of it is within eta of."""

TAIL = G_k * (d / (epsilon * n)) ** (1 - 1 / k)


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

alg_5_noise = alg_5.as_read(
    "pure_heavy_tails/alg-5@noise",
    "Algorithm 5, law",
    "Probability ∝ exp(−ε s_Z/(2Δ)), Δ = 2C/n: one over the coefficient is 4C/(nε).",
    quantity="one over the coefficient of the scores",
    relation="=",
    explicit=4 * C / (n * epsilon),
    about=("pure_heavy_tails/alg-5",),
)

alg_5_eta = alg_5_noise.as_read(
    "pure_heavy_tails/alg-5@eta",
    "Theorem E.1, net",
    "η = Cd/(εn(λ + H)).",
    quantity="radius of the net",
    explicit=C * d / (epsilon * n * (lambda_ + H)),
)

alg_5_gamma = alg_5_noise.as_read(
    "pure_heavy_tails/alg-5@gamma",
    "Theorem E.1, step size",
    "γ = 1/(λ + H).",
    quantity="step size of the mapping",
    explicit=1 / (lambda_ + H),
)

alg_5_gradients = alg_5_noise.as_read(
    "pure_heavy_tails/alg-5@derived-gradients",
    "Algorithm 5, gradients",
    "n gradients at every point of the grid: 1 + ⌈D/(2η)⌉ points on a line, ⌈D√d/(2η)⌉ᵈ in d ≥ 2.",
    origin="ours",
    quantity="gradients",
    explicit=n * GRID,
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

fact_clip_bias_derived = fact_clip_bias.as_read(
    "pure_heavy_tails/fact-clip-bias@derived",
    "Equation (21) with constants",
    "b_Z ≤ (1/n) Σ (A(z_i) − C)₊, hence b_Z ≤ 5G_kᵏ/((k−1)C^{k−1}) with probability at least 4/5.",
    origin="ours",
    explicit=5 * G_k**k / ((k - 1) * C ** (k - 1)),
    assumptions=(sp.Ge(k, 2),),
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

thm_e_1_derived = thm_e_1.as_read(
    "pure_heavy_tails/thm-e-1@derived",
    "Theorem E.1 with constants",
    "With u = G_k(d/(εn))^{1−1/k} ≤ D(λ+H): ‖ŵ − ŵ_λ‖ ≤ (u/λ)(10/(k−1) + 2 + 4 log(3D(λ+H)/u) + 4 log(10)/d) with "
    "probability at least 0.7.",
    origin="ours",
    order=printed_distance(H),
    explicit=explicit_distance(H),
    assumptions=(sp.Ge(k, 2), sp.Le(TAIL, D * (lambda_ + H))),
)

logarithm = sp.Symbol("logarithm", positive=True)

u = G_k * (d / (n * epsilon)) ** (1 - 1 / k)

LONG = Regime(base=None, others="free", where=[logarithm >= 1, d >= 1, n >= 1, epsilon <= d])


@derivation("pure_heavy_tails/thm-e-1", LONG, also=("pure_heavy_tails/thm-e-1@derived",))
def score_of_a_net_point(proof: Proof) -> None:
    """Clipping bias against the score's noise; the printed C leaves a power of the logarithm on the table."""
    bias = proof.uses("pure_heavy_tails/fact-clip-bias@derived", 5 * G_k**k / ((k - 1) * C ** (k - 1)))
    noise = proof.uses(
        "pure_heavy_tails/fact-em-utility",
        4 * C / (epsilon * n) * (d * sp.log(3 * D / eta) + sp.log(10)),
        {beta: sp.Rational(1, 10)},
    )
    net = proof.argues("the score is 2(H+λ)-Lipschitz and the net η-fine", "s", "<=", 2 * (H + lambda_) * eta)
    proof.equal(
        "at η = Cd/(εn(λ+H)) the net costs",
        lambda: net.xreplace({eta: C * d / (epsilon * n * (lambda_ + H))}),
        2 * C * d / (epsilon * n),
    )
    longer = sp.log(3 * D / eta) + sp.log(10) / d
    proof.equal("write the score's noise as (4Cd/(εn)) log", noise, 4 * C * d / (epsilon * n) * longer)
    bound = proof.master(
        "λ‖ŵ − ŵ_λ‖",
        {"bias, twice": 2 * bias, "net": 2 * C * d / (epsilon * n), "noise": 4 * C * d / (epsilon * n) * logarithm},
    )
    value = proof.chooses(
        bound,
        {C: G_k * (epsilon * n / d) ** (1 / k)},
        better={C: G_k * (epsilon * n / (d * logarithm)) ** (1 / k)},
    )
    reached = value.subs(logarithm, sp.log(3 * D * (lambda_ + H) / u) + sp.log(10) / d) / lambda_
    proof.concludes("pure_heavy_tails/thm-e-1@derived", reached)
    proof.concludes(
        "pure_heavy_tails/thm-e-1",
        value / lambda_,
        where={sp.log(D * epsilon * n * (H + lambda_) / (G_k * d)): logarithm},
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


def risk_with_logarithm(proof: Proof, label: str, smoothness: sp.Expr, extra: sp.Expr = sp.S.Zero) -> None:
    """Theorem 2.1 with a solver whose private term carries a logarithm."""
    block = proof.argues(
        "a block is as precise as its solver and the empirical minimiser",
        "Δ_t",
        "<=",
        logarithm * G_k * (d / (m * epsilon)) ** (1 - 1 / k) + sp.sqrt(20) * G_2 / sp.sqrt(m),
    )
    risk = localised(proof, block.subs(m, m_1)) + extra
    printed = sp.log(D * epsilon * n * (smoothness + lambda_max) / (G_k * d))
    proof.concludes(label, risk, where={printed: logarithm, **LOG})


@derivation("pure_heavy_tails/thm-e-2", Regime(base=None, others="free", where=[*LARGE_SAMPLE.where, logarithm >= 1]))
def smooth_risk(proof: Proof) -> None:
    """Theorem 2.1 with Theorem E.1 as its solver; λ_max bounds the regularisation of all phases."""
    risk_with_logarithm(proof, "pure_heavy_tails/thm-e-2", H)


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


clip = claim(
    "pure_heavy_tails/thm-e-1@clip",
    "Theorem E.1 with another clip level",
    "With ℓ the logarithm of the bound, C = G_k(εn/(dℓ))^{1/k} in place of G_k(εn/d)^{1/k} leaves ℓ^{1−1/k}: "
    "‖ŵ − ŵ_λ‖ ≲ (G_k/λ)(dℓ/(εn))^{1−1/k}. Privacy does not depend on C. Theorems E.2 and E.5 gain the same.",
    kind="theorem",
    section="E.1",
    origin="ours",
    quantity="distance to the regularised empirical minimiser",
    measures="distance",
    relation="<=",
    order=G_k / lambda_ * (d * sp.log(D * epsilon * n * (H + lambda_) / (G_k * d)) / (epsilon * n)) ** (1 - 1 / k),
    about=("pure_heavy_tails/alg-5",),
)
clip_found = Finding(
    "pure_heavy_tails/thm-e-1@clip",
    "The logarithm that separates the polynomial-time sampler of Appendix E from the optimal rate comes from a clip "
    "level that ignores it: C smaller by ℓ^{1/k} leaves ℓ^{1−1/k}, half a logarithm at k = 2.",
)


log = sp.Symbol("log", positive=True)
"""The logarithm of the bound, where orders are compared."""


@derivation(
    "pure_heavy_tails/thm-e-1@clip", Regime(base=None, others="free", where=[log >= 1, d >= 1, n >= 1, epsilon <= d])
)
def better_clip(proof: Proof) -> None:
    """The score's noise carries the logarithm, the clipping bias does not: C should know of it."""
    bias = proof.uses("pure_heavy_tails/fact-clip-bias@derived", 5 * G_k**k / ((k - 1) * C ** (k - 1)))
    terms = {"bias, twice": 2 * bias, "net": 2 * C * d / (epsilon * n), "noise": 4 * C * d / (epsilon * n) * log}
    bound = proof.master("λ‖ŵ − ŵ_λ‖ (thm-e-1)", terms)
    value = proof.chooses(bound, {C: G_k * (epsilon * n / (d * log)) ** (1 / k)})
    stated = sp.log(D * epsilon * n * (H + lambda_) / (G_k * d))
    proof.concludes("pure_heavy_tails/thm-e-1@clip", value / lambda_, where={stated: log})
