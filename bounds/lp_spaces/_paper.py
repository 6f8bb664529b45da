"""What the files of this folder share: the paper, and the expressions that recur.

Letters: D is the diameter that the paper writes ‖C‖_2 or M, R = max over C of ‖θ‖_2, ω the Gaussian width G_C, H the
smoothness that it calls β, μ the strong convexity Δ with respect to ‖·‖_C, θ the norm of the minimiser, β the failure
probability δ'. r is the paper's rank constant, C_min the distance of 0 to the boundary of C.
"""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.claims import Paper
from dpcheck.symbols import C, D, H, L, R, alpha, d, delta, epsilon, kappa, lambda_, mu, n, omega, p, positive, sigma

PAPER = Paper(
    key="lp_spaces",
    title="Differentially Private Stochastic Convex Optimization in (Non)-Euclidean Space Revisited",
    authors="Jinyan Su, Changhong Zhao, Di Wang",
    reference="UAI 2023, PMLR 216:2026–2035, arXiv:2303.18047; main part, without the supplement that holds the proofs",
)
claim = PAPER.claim
r, C_min, A, c, x = positive("r C_min A c x")
"""A: the threshold λ of truncation; c: that of a step; x: √(d log(1/δ))/(nε), where an order is taken."""
L_ell, H_ell, mu_ell, sigma_ell = positive("L_ell H_ell mu_ell sigma_ell")
"""Of the losses at hand: the largest gradient norm and curvature, the modulus in ‖·‖_C, the root of the largest
E‖∇ℓ − ∇L‖_*²."""
LOG = sp.log(1 / delta)
LOG_25 = sp.log(sp.Rational(5, 2) / delta)
NOISE = sp.sqrt(d * LOG) / (n * epsilon)
"""√(d log(1/δ))/(nε), in which Section 5 counts."""
CONVEX = L * omega * sp.sqrt(LOG) / (n * epsilon) + L * D / sp.sqrt(n)
STRONG = L**2 * D**2 / (mu * n * epsilon) + omega**2 * L**2 * LOG / (mu * n**2 * epsilon**2)
STRONG_WITHOUT_EPSILON = L**2 * D**2 / (mu * n) + omega**2 * L**2 * LOG / (mu * n**2 * epsilon**2)
SMOOTH = kappa ** sp.Rational(4, 5) * NOISE ** sp.Rational(2, 5)
HEAVY = D * (kappa**2 * d * LOG) ** sp.Rational(1, 4) / sp.sqrt(n * epsilon)
HEAVY_ALL_EPSILON = kappa ** sp.Rational(2, 3) * (d * LOG) ** sp.Rational(1, 6) / (n * epsilon) ** sp.Rational(1, 3)
LARGE_P = d ** (1 - 2 / p) * (1 / sp.sqrt(n) + NOISE)
"""Of Theorem 8, without ‖θ*‖²."""
PRIVACY = (sp.Lt(epsilon, 1), sp.Lt(delta, 1))
"""0 < ε, δ < 1: what every theorem of the paper assumes."""
SMALL_LOSS = (sp.Le(L_ell, L), sp.Le(H_ell, H))
"""Assumption 1, of a reading that is refuted: its witness says how steep and how curved its losses are."""
ENOUGH = (sp.Ge(n, (r * H * D / (epsilon * L)) ** 2), sp.Ge(n, sp.sqrt(d * LOG) / epsilon))
"""n >= r²β²‖C‖_2²/(ε²L²) and n >= √(d log(1/δ))/ε, of Theorem 2; Theorem 4 has them too."""
CENTRED = (sp.Le(R, D),)
"""What 0 ∈ C implies."""
SIGMA_1 = sp.sqrt(128 * LOG_25) * L / epsilon


def sigma_2(alpha: sp.Expr, lam: sp.Expr = lambda_) -> sp.Expr:
    """Standard deviation of the second noise of Algorithm 1, by the optimiser's accuracy."""
    return 8 * sp.sqrt(alpha * LOG_25 / lam) / epsilon


size = sp.Symbol("size", positive=True)
"""‖θ*‖; the symbol θ is a parameter of exponents in other papers."""
QUARTER = (LOG_25 / LOG) ** sp.Rational(1, 4)
HALF = sp.Rational(1, 2)
GROWS = Regime(base=None, others="free", where=[n >= 1, d >= 1, kappa >= 1, epsilon <= 1, sp.sqrt(kappa) * x <= 1])
"""√κ x ≤ 1: outside of it every bound of Section 5 is vacuous."""
CONSTANT_DELTA = Regime(base=None, others="free", constants=[delta], where=[n >= 1, epsilon <= 1])
NOISE_IS_X = {sp.sqrt(d) * sp.sqrt(LOG): x * n * epsilon}
HEAVY_WHERE = {(d * LOG): (x * n * epsilon) ** 2}
SUBOPTIMAL = alpha / 2 * C / (A - 1) + d * sigma**2 / (alpha + H)
