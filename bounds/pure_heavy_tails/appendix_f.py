"""Appendix F of arXiv 2604.06492: the exponential mechanism on approximate Lipschitz-extension scores.

The failure probability that the paper calls δ is β (`beta`) in the formulas.
"""

import sympy as sp

from dpcheck.symbols import C, D, G_k, R, alpha, beta, d, epsilon, k, kappa, lambda_, m, rho, xi, zeta

from ._paper import RATE, TARGET, claim

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

lem_f_1_derived = claim(
    "pure_heavy_tails/lem-f-1@derived",
    "Lemma F.1, by range and by radius",
    "q_Z − q_{Z'} has range at most 2C D_U/m on U, so that the exponential mechanism with coefficient ε/(2Δ_U) is "
    "(ε/2)-DP; and if U lies in a ball of radius R about u_0, the score centred at u_0 has sensitivity at most "
    "2CR/m.",
    kind="lemma",
    section="F.1",
    origin="ours",
    quantity="sensitivity of the score centred at the ball's centre",
    relation="<=",
    explicit=2 * C * R / m,
    about=("pure_heavy_tails/alg-7",),
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
    remark="Half of it is true as well: both averages err upwards, by at most α_in/4.",
)

lem_f_3 = claim(
    "pure_heavy_tails/lem-f-3",
    "Lemma F.3 ([LL25, Theorem 3.9])",
    "With an evaluator of a convex L-Lipschitz potential that errs by at most ζ the sampler's law has D_∞ at most "
    "2ζ + ξ from the Gibbs law, in time polynomial in e^{12ζ}, d, L, diam(K), 1/ξ.",
    kind="lemma",
    section="F.3",
    origin="cited",
    quantity="two-sided max-divergence",
    relation="<=",
    explicit=2 * zeta + xi,
    about=("pure_heavy_tails/proc-logconcave-sampler",),
)

lem_f_3_derived = claim(
    "pure_heavy_tails/lem-f-3@derived",
    "Lemma F.3, elementary half",
    "Potentials within ζ of each other have Gibbs laws at most 2ζ apart in two-sided max-divergence.",
    kind="lemma",
    section="F.3",
    origin="ours",
    quantity="two-sided max-divergence of the Gibbs laws",
    relation="<=",
    explicit=2 * zeta,
    about=("pure_heavy_tails/proc-logconcave-sampler",),
)

proc_logconcave_sampler = claim(
    "pure_heavy_tails/proc-logconcave-sampler",
    "Inexact log-concave sampler [LL25, Theorem 3.9]",
    "A black box that samples from exp(−Ψ) on a convex body through an approximate evaluator.",
    kind="procedure",
    section="F.3",
    origin="cited",
)

lem_f_4 = claim(
    "pure_heavy_tails/lem-f-4",
    "Lemma F.4",
    "If μ is ε_0-DP and D_∞(μ̃_Z, μ_Z) ≤ ρ for every Z, then μ̃ is (ε_0 + 2ρ)-DP. (In the formula ε stands for ε_0.)",
    kind="lemma",
    section="F.3",
    origin="cited",
    quantity="privacy of the approximate mechanism",
    relation="<=",
    explicit=epsilon + 2 * rho,
    remark="D_∞ must be the two-sided max-divergence, which the text does not say (S18).",
)

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

alg_7_literal = claim(
    "pure_heavy_tails/alg-7@literal",
    "Equation (30)",
    "diam(W_0) ≤ D_0 = 600Cd/(λεm), with probability at least 1 − e^{−3}.",
    kind="algorithm",
    section="F.1",
    quantity="diameter of W_0",
    relation="<=",
    explicit=D_0,
    about=("pure_heavy_tails/alg-7", "pure_heavy_tails/alg-2"),
    probability=1 - sp.exp(-3),
    grade="slip",
    remark="Algorithm 2 is run with ε/2 and ζ = 3: the radius is 600Cd/(λεm), the diameter up to 1200Cd/(λεm).",
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

prop_f_5_derived = claim(
    "pure_heavy_tails/prop-f-5@derived",
    "Proposition F.5 with constants",
    "For ε ≤ min(6d, 22) and C = G_k(mε/d)^{1/k}, Algorithm 7 is ε-DP and within 640 (G_k/λ)(d/(mε))^{1−1/k} of ŵ_λ "
    "with probability at least 0.8 − e^{−3}: 620 from the Gibbs law, 20 from the bias.",
    kind="proposition",
    section="F.4",
    origin="ours",
    quantity="distance to the regularised empirical minimiser",
    measures="distance",
    relation="<=",
    explicit=640 * G_k / lambda_ * (d / (m * epsilon)) ** (1 - 1 / k),
    assumptions=(sp.Ge(k, 2), sp.Le(epsilon, 6 * d), sp.Le(epsilon, 22)),
    about=("pure_heavy_tails/alg-7",),
    probability=sp.Rational(4, 5) - sp.exp(-3),
)

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
