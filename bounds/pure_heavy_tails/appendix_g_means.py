"""Appendix G of arXiv 2604.06492: from estimation to optimisation, and the two-point bound.

ζ is the failure probability, as printed.
"""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import G_2, D, d, epsilon, n, rho, zeta

from ._paper import claim

mean_norm = sp.Symbol("mu", positive=True)

LOG = sp.log(1 / zeta)

QUARTER = sp.Le(zeta, sp.Rational(1, 4))

C0_SQUARED = sp.log(sp.Rational(4, 3)) / (4 * sp.log(4))

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

lem_g_1_literal = lem_g_1.as_read(
    "pure_heavy_tails/lem-g-1@literal",
    "Lemma G.1, display of the proof",
    "F_P(A) − min F_P ≥ (Dm/2)(1 − ⟨u, −A/‖A‖⟩) for every A ≠ 0 in the ball.",
    quantity="excess risk of the point A",
    grade="proof gap",
    remark="Equivalent to ⟨u,A⟩(D/(2‖A‖) − 1) ≤ 0.",
    relation="is",
    order=None,
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

prop_g_2_derived = prop_g_2.as_read(
    "pure_heavy_tails/prop-g-2@derived",
    "Proposition G.2 with constants",
    "c = c_0² = log(4/3)/(4 log 4) = 0.0518, for ρ = c_0 min{√(log(1/ζ)/n), 1}.",
    origin="ours",
    explicit=C0_SQUARED * G_2**2 * TWO_POINT,
)

SMALL = Regime(base=None, others="free", where=[zeta <= 1, epsilon <= 1, d >= 1, n >= 1])


@derivation("pure_heavy_tails/prop-g-2", SMALL, also=("pure_heavy_tails/prop-g-2@derived",))
def two_point_method(proof: Proof) -> None:
    """The bias ρ is as large as KL ≤ log(1/(4ζ(1−ζ))) allows; the means are 2ρG_2 apart."""
    kl = proof.argues("KL of n records with bias ρ", "KL", "<=", 4 * n * rho**2)
    at = {rho: sp.sqrt(C0_SQUARED * sp.log(1 / zeta) / n)}
    spent = proof.equal("at ρ² = c_0² log(1/ζ)/n", lambda: kl.xreplace(at), 4 * C0_SQUARED * sp.log(1 / zeta))
    for label in ("pure_heavy_tails/prop-g-2", "pure_heavy_tails/prop-g-2@derived"):
        proof.assumes(label, zeta, sp.Rational(1, 4))
    proof.equal(
        "c_0² = log(4/3)/(4 log 4) exhausts it at ζ = 1/4, where the ratio is least",
        lambda: spent.xreplace({zeta: sp.Rational(1, 4)}),
        sp.log(sp.Rational(4, 3)),
    )
    proof.uses("pure_heavy_tails/fact-mvs24", zeta)
    squared = proof.argues(
        "an error below ρG_2 decides between the two", "error²", ">=", C0_SQUARED * G_2**2 * TWO_POINT
    )
    proof.concludes("pure_heavy_tails/prop-g-2@derived", squared)
    proof.concludes("pure_heavy_tails/prop-g-2", squared)


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
