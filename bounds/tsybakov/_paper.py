"""What the files of this folder share: the paper, and the expressions that recur.

Letters: L is the Lipschitz constant that the paper writes L_f, H the smoothness α, R_2k the weighted moment R̃_{2k,n},
r_k and r_2k the moments r̃_k and r̃_{2k}, ℒ = log(1/δ). β is a failure probability throughout.
"""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.claims import Paper
from dpcheck.symbols import D, H, L, T, beta, d, delta, epsilon, eta, k, lambda_, n, p, positive, r_k, rho, theta

PAPER = Paper(
    key="tsybakov",
    title="Beyond Ordinary Lipschitz Constraints: Differentially Private Stochastic Optimization with Tsybakov Noise "
    "Condition",
    authors="Difei Xu, Meng Ding, Zihang Xiang, Jinhui Xu, Di Wang",
    reference="preprint, as extracted from its HTML version",
)

claim = PAPER.claim
R_0, R_2k, a, bias, c, epsilon_0, theta_bar = positive("R_0 R_2k a bias c epsilon_0 theta_bar")
x, ell, E, Delta = positive("x ell E Delta")
"""Of the derivations: one more than θ or k is x, ℓ is log(1/δ), E what a call costs per unit of its distance Δ."""
LOG = sp.log(1 / delta)
TAIL = sp.sqrt(sp.log(1 / beta)) / (2 ** (p + 1) * sp.sqrt(n))
"""The term without a moment in the bounds of Section 4; it has no unit of a gradient."""


def tau(logs: sp.Expr = sp.S.One) -> sp.Expr:
    """n^(-1/2) + (√(dℒ·logs)/(εn))^((k-1)/k)."""
    return 1 / sp.sqrt(n) + (sp.sqrt(d * LOG * logs) / (epsilon * n)) ** ((k - 1) / k)


def growth(error: sp.Expr) -> sp.Expr:
    """λ^(-1/(θ-1)) error^(θ/(θ-1)): what an error per unit of diameter becomes under the noise condition."""
    return lambda_ ** (-1 / (theta - 1)) * error ** (theta / (theta - 1))


CONVEX = R_2k * D * tau() + D * TAIL
CONVEX_LOG = R_2k * D * tau(sp.log(n)) + D * TAIL
LOWER_PRIVATE = (r_k * (sp.sqrt(d) / (sp.sqrt(rho) * n)) ** ((k - 1) / k)) ** (theta / (theta - 1))
LOWER_STATISTICAL = (r_k / sp.sqrt(n)) ** (theta / (theta - 1))
LIPSCHITZ_CONDITION = sp.Le(L, n ** (p / 2) * R_2k * tau(sp.log(n)))
ORDERS = (sp.Ge(p, 1), sp.Ge(k, 2))
"""p >= 1, and the k >= 2 moments of Assumption 1."""
PHASES_STEP = sp.Le(eta * H, 4)
"""η_i <= 1/α in every phase of Algorithm 3, for the largest is η_1 = η/4."""
CALLS_STEP = sp.Le(eta * H, 1)
"""γ_e <= 1/α (η_t <= 1/α) in every call of Algorithms 4 and 5; η stands for the largest of them."""
CONFIDENCE = sp.Le(beta, 1 / n)
SHUFFLED_RANGE = sp.Le(epsilon, sp.sqrt(sp.log(n / delta) / n))
"""ε = O(√(log(n/δ)/n)) of Theorems 6 and 7, at constant 1."""
LOGS = {LOG: ell}
FREE = Regime(base=None, others="free", where=[d >= 1, n >= 1])


def settled(error: sp.Expr) -> sp.Expr:
    """ΔE at the distance Δ where λΔ^θ = ΔE: what an error E per unit of distance comes to."""
    return error * (error / lambda_) ** (1 / (theta - 1))


ALL_STEPS = 1 - (1 - eta * lambda_) ** T
