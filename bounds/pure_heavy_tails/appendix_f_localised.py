"""Appendices F.3 and F.4 of arXiv 2604.06492: Algorithm 7, the exponential mechanism on a localised domain.

The failure probability that the paper calls δ is β (`beta`) in the formulas.
"""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import C, G_k, beta, d, epsilon, index, k, kappa, lambda_, m, n

from ._paper import FIRST_STAGE, RATE, TARGET, c_1, claim
from .appendix_d import localised_rate
from .appendix_f_scores import D_0, DELTA_0
from .section_2_1 import LARGE_SAMPLE
from .section_3_solver import alg_4, alg_4_gap

alg_7 = claim(
    "pure_heavy_tails/alg-7",
    "Algorithm 7 (Localized-ApproxEM)",
    "Algorithm 2 with budget ε/2, then the inexact sampler for the exponential mechanism on W_0 with ε_EM = ε/4, "
    "Δ_0 = 2CD_0/m, D_0 = 600Cd/(λεm), slack ε/64.",
    kind="algorithm",
    section="F.3",
    quantity="sensitivity of the potential's score, centred at w_loc",
    relation="<=",
    explicit=DELTA_0,
    grade="slip",
    remark="(30) calls D_0 a bound on the diameter of W_0; it is the radius (S2). Privacy survives: Δ_0 is right "
    "for the anchor w_loc, and the law does not depend on the anchor.",
)

alg_7_literal = alg_7.as_read(
    "pure_heavy_tails/alg-7@literal",
    "Equation (30)",
    "diam(W_0) ≤ D_0 = 600Cd/(λεm), with probability at least 1 − e^{−3}.",
    section="F.1",
    quantity="diameter of W_0",
    explicit=D_0,
    about=("pure_heavy_tails/alg-7", "pure_heavy_tails/alg-2"),
    probability=1 - sp.exp(-3),
    grade="slip",
    remark="Algorithm 2 is run with ε/2 and ζ = 3: the radius is 600Cd/(λεm), the diameter up to 1200Cd/(λεm).",
)

alg_7_budget = alg_7.as_read(
    "pure_heavy_tails/alg-7@epsilon",
    "Algorithm 7, budgets",
    "Algorithm 2 may spend ε/2, the exponential mechanism ε_EM = ε/4; the rest is slack.",
    quantity="epsilon of a stage",
    relation="=",
    explicit=sp.Piecewise((epsilon / 2, FIRST_STAGE), (epsilon / 4, True)),
    about=("pure_heavy_tails/alg-7",),
)

alg_7_noise = alg_7_budget.as_read(
    "pure_heavy_tails/alg-7@noise",
    "Algorithm 7, noise and law",
    "Algorithm 2 adds noise of scale 12C/(λmε); the density of the second stage is ∝ exp(−ε_EM F̂_{C,λ}/(2Δ_0)): one "
    "over the coefficient is 8Δ_0/ε.",
    quantity="scale of the noise, or one over the coefficient of the potential",
    explicit=sp.Piecewise((alg_4.explicit, FIRST_STAGE), (8 * DELTA_0 / epsilon, True)),
)

alg_7_gap = alg_7_budget.as_read(
    "pure_heavy_tails/alg-7@gap",
    "Algorithm 7, exact evaluation",
    "Line 1 of Algorithm 2 has the gap C²/(2λm²); an exact evaluator has none.",
    quantity="gap of the minimiser, or error of a score",
    explicit=sp.Piecewise((alg_4_gap.explicit, FIRST_STAGE), (0, True)),
)

alg_7_accuracy = alg_7_budget.as_read(
    "pure_heavy_tails/alg-7@inner-gap",
    "Algorithm 7, α_in",
    "Scores err by α_in/2 at most, α_in = min{Δ_0/512, CD_0d/(c_100mε)}; the text leaves c_100 open, here it is 512.",
    quantity="gap of the minimiser, or error of a score",
    explicit=sp.Piecewise(
        (alg_4_gap.explicit, FIRST_STAGE),
        (sp.Min(DELTA_0 / 512, C * D_0 * d / (512 * m * epsilon)) / 2, True),
    ),
)

fact_gibbs = claim(
    "pure_heavy_tails/fact-gibbs",
    "[DKL18, Corollary 1]",
    "Under the law ∝ exp(−κF) on a convex body of dimension d, E F − min F ≤ d/κ for convex F.",
    kind="lemma",
    section="F.4",
    origin="cited",
    quantity="expected gap",
    relation="<=",
    explicit=d / kappa,
)

prop_f_5 = claim(
    "pure_heavy_tails/prop-f-5",
    "Proposition F.5",
    "Algorithm 7 is ε-DP; its output is within (c_em/λ)(G_k(d/(mε))^{1−1/k} + G_2/√m) of ŵ_λ with probability at "
    "least 0.7 − δ, in polynomial time with probability at least 1 − ρ.",
    kind="proposition",
    section="F.4",
    quantity="distance to the regularised empirical minimiser",
    measures="distance",
    relation="<=",
    order=TARGET,
    assumptions=(sp.Ge(k, 2),),
    about=("pure_heavy_tails/alg-7",),
    probability=sp.Rational(7, 10) - beta,
    grade="proof gap",
    remark="The privacy proof uses diam(W_0) ≤ D_0, which is false (S2), the utility proof the bias step of C.3 "
    "(S1); both conclusions stand, with c_em = 640.",
)

prop_f_5_derived = prop_f_5.as_read(
    "pure_heavy_tails/prop-f-5@derived",
    "Proposition F.5 with constants",
    "For ε ≤ min(6d, 22) and C = G_k(mε/d)^{1/k}, Algorithm 7 is ε-DP and within 640 (G_k/λ)(d/(mε))^{1−1/k} of ŵ_λ "
    "with probability at least 0.8 − e^{−3}: 620 from the Gibbs law, 20 from the bias.",
    origin="ours",
    explicit=640 * G_k / lambda_ * (d / (m * epsilon)) ** (1 - 1 / k),
    assumptions=(sp.Ge(k, 2), sp.Le(epsilon, 6 * d), sp.Le(epsilon, 22)),
    probability=sp.Rational(4, 5) - sp.exp(-3),
)


@derivation(
    "pure_heavy_tails/prop-f-5",
    Regime(base=None, others="free", where=[epsilon <= d, d >= 1]),
    also=("pure_heavy_tails/prop-f-5@derived",),
)
def exponential_second_stage(proof: Proof) -> None:
    """The gap of a Gibbs draw on the ball of Algorithm 2, by strong convexity a distance of 620 noise radii."""
    u = C * d / (lambda_ * m * epsilon)
    D_0 = proof.uses("pure_heavy_tails/alg-4@radius", 600 * u, {index: 1})
    scale = proof.uses("pure_heavy_tails/alg-7@noise", 16 * C * D_0 / (m * epsilon), {index: 2})
    mean = proof.uses("pure_heavy_tails/fact-gibbs", d * scale, {kappa: 1 / scale})
    gap = proof.equal("Markov with 1/20", lambda: 20 * mean, 320 * C * D_0 * d / (m * epsilon))
    distance = proof.equal("strong convexity: √(2 gap/λ)", lambda: sp.sqrt(2 * gap / lambda_), sp.sqrt(384000) * u)
    proof.at_most("round up", distance, 620 * u)
    private = proof.uses(
        "pure_heavy_tails/prop-2-5@derived",
        640 * G_k / lambda_ * (d / (m * epsilon)) ** (1 - 1 / k),
        {n: m, c_1: 620},
    )
    proof.concludes("pure_heavy_tails/prop-f-5@derived", private)
    proof.concludes("pure_heavy_tails/prop-f-5", private, looser=True)


thm_f_6 = claim(
    "pure_heavy_tails/thm-f-6",
    "Theorem F.6",
    "There is an ε-DP algorithm (Algorithm 7 inside Algorithm 1) with the risk of Theorem 3.1, in polynomial time "
    "with probability at least 1 − ρ.",
    kind="theorem",
    section="F.4",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=RATE,
    assumptions=(sp.Lt(beta, sp.Rational(1, 5)), sp.Ge(k, 2)),
    about=("pure_heavy_tails/alg-1", "pure_heavy_tails/alg-7"),
    probability=1 - beta,
    remark="Γ grows like δ^{−1/k}, so that log(n/δ) in the running time needs ρ in place of δ inside Γ (S18).",
)


@derivation("pure_heavy_tails/thm-f-6", LARGE_SAMPLE)
def main_theorem_by_sampling(proof: Proof) -> None:
    """Theorem 2.1 with the precision of Algorithm 7."""
    distance = 640 * G_k / lambda_ * (d / (m * epsilon)) ** (1 - 1 / k)
    private = lambda_ * proof.uses("pure_heavy_tails/prop-f-5@derived", distance)
    proof.assumes("pure_heavy_tails/thm-f-6", beta, sp.Rational(1, 5))
    localised_rate(proof, "pure_heavy_tails/thm-f-6", private)
