"""Appendices F.1 and F.2 of arXiv 2604.06492: scores of the extension, and their evaluation."""

from __future__ import annotations

from dpcheck.symbols import C, D, R, alpha, d, epsilon, lambda_, m

from ._paper import claim

D_0 = 600 * C * d / (lambda_ * epsilon * m)

DELTA_0 = 2 * C * D_0 / m

lem_f_1 = claim(
    "pure_heavy_tails/lem-f-1",
    "Lemma F.1",
    "On a convex U ⊆ W of diameter D_U the centred score gives the law of the uncentred one, and its sensitivity is "
    "at most 2C D_U/m. (D stands for D_U in the formula.)",
    kind="lemma",
    section="F.1",
    quantity="sensitivity of the centred score",
    relation="<=",
    explicit=2 * C * D / m,
    about=("pure_heavy_tails/alg-7",),
)

lem_f_1_derived = lem_f_1.as_read(
    "pure_heavy_tails/lem-f-1@derived",
    "Lemma F.1, by range and by radius",
    "q_Z − q_{Z'} has range at most 2C D_U/m on U, so that the exponential mechanism with coefficient ε/(2Δ_U) is "
    "(ε/2)-DP; and if U lies in a ball of radius R about u_0, the score centred at u_0 has sensitivity at most "
    "2CR/m.",
    origin="ours",
    quantity="sensitivity of the score centred at the ball's centre",
    explicit=2 * C * R / m,
)

alg_6 = claim(
    "pure_heavy_tails/alg-6",
    "Algorithm 6 (Approx-Eval-LocPot)",
    "Evaluates the potential Ψ_Z(w) through inner minimisations of f(y,z_i) + C‖w − y‖ by Algorithm 3 to gap "
    "α_in/4, at w and at the anchor u_0.",
    kind="algorithm",
    section="F.2",
)

lem_f_2 = claim(
    "pure_heavy_tails/lem-f-2",
    "Lemma F.2",
    "|Ψ̃_Z(w) − Ψ_Z(w)| ≤ (ε_EM/(2Δ_0)) α_in; on E_Γ, Γ = G_k(m/δ)^{1/k}, which has probability at least 1 − δ, "
    "each call takes polynomial time. (In the formula ε_EM = ε/4, α = α_in.)",
    kind="lemma",
    section="F.2",
    quantity="error of the potential",
    relation="<=",
    explicit=epsilon / (8 * DELTA_0) * alpha,
    about=("pure_heavy_tails/alg-6",),
    remark="A quarter of it is true as well: both averages err upwards, by at most α_in/4.",
)
