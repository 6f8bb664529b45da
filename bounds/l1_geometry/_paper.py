"""What the files of this folder share: the paper, its conventions, and the expressions that recur.

The arguments in words stand in `bounds/l1_geometry.md` under the labels. The smoothness that the paper calls β is H; D
is a diameter of the domain in the norm of the section (in Section 6 the radius of an ℓ₁ ball). Logarithms are natural
unless base 2 is written: the paper names no base.
"""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.claims import Paper
from dpcheck.symbols import D, H, L, T, alpha, b, d, delta, epsilon, m, n, p, sequences

PAPER = Paper(
    key="l1_geometry",
    title="Private Stochastic Convex Optimization: Optimal Rates in ℓ₁ Geometry",
    authors="Hilal Asi, Vitaly Feldman, Tomer Koren, Kunal Talwar",
    reference="ICML 2021, arXiv:2103.01516",
)
claim = PAPER.claim


LOG = sp.log(1 / delta)
"""log(1/δ)."""
LN, LOG_ND = sp.log(n), sp.log(n / delta)
LOG2_D, LOG2_N, LOG2_M = sp.log(d, 2), sp.log(n, 2), sp.log(m, 2)

g_inf, H_f, width, modulus = sp.symbols("g_inf H_f width modulus", positive=True)
"""Of an instance: the largest ‖∇f‖_∞, smoothness and ℓ₁ modulus of its losses, and diam_1 of its domain."""
g_2, g_q, D_h = sp.symbols("g_2 g_q D_h", positive=True)
"""The largest ‖∇f‖_2 and ‖∇f‖_q of a loss, and D_h(x*, x_0)."""
V, A_k, Delta, lam, x, p_0, delta_0 = sp.symbols("V A_k Delta lambda_ts x p_0 delta_0", positive=True)
n_i, eta_i, b_i, epsilon_i, n_1, b_1 = sp.symbols("n_i eta_i b_i epsilon_i n_1 b_1", positive=True)
"""Of phase i, and of the first one."""
n_0, alpha_0, epsilon_0 = sp.symbols("n_0 alpha_0 epsilon_0", positive=True)
"""Where a sample complexity is transferred from."""
X, log_d, log_n, log_m, log_delta = sp.symbols("X log_d log_n log_m log_delta", positive=True)
"""2^T, and log d, log n, log m and log(1/δ), where a parameter is chosen."""

eta_at, n_at, b_at, T_at, epsilon_at, lambda_at = sequences("eta n b T epsilon lambda")
"""The same by the number of the phase: `eta_at[index]`."""

NONSMOOTH = sp.sqrt(sp.log(d) / n) + sp.sqrt(d * sp.log(d) ** 3 * LOG) / (n * epsilon)
"""The rate of Theorem 4 in units of LD."""
GENERAL = 1 / sp.sqrt((p - 1) * n) + sp.sqrt(d * sp.log(d) * LOG) / ((p - 1) * n * epsilon)
"""The rate of Theorem 5 for p < 2 in units of LD."""
GRADIENTS = sp.log(n) * sp.Min(n ** sp.Rational(3, 2) * sp.sqrt(sp.log(d)), n**2 * epsilon / sp.sqrt(d))
"""The stated number of gradients of Theorems 1, 4, 5 and 13."""
LOWER = sp.sqrt(d) / (n * epsilon * sp.log(d))
"""The lower bound of Lemma 6.1 and Theorem 10 in units of D, LD."""
LAMBDA_7 = L * D * 2 ** (T / 2) * LOG_ND / (b * epsilon)
"""The noise of Theorem 7."""
kappa = sp.Max(sp.Rational(1, 4), H * D / L)
"""By how much bent losses let right children move more than the root."""
LAMBDA_KAPPA = 8 * L * D * sp.sqrt(kappa * 2**T * LOG) / (b * epsilon)
"""The noise of `alg-3@concentrated-noise`."""
H_M = 1 + sp.log(m)
"""Bounds the harmonic number 1 + 1/2 + … + 1/m, the mean of the largest of m unit exponentials."""
UNIT = D * L
NAMED = {sp.log(d): log_d, sp.log(n): log_n, sp.log(m): log_m, LOG: log_delta}

SIZES = [n >= 1, d >= 1, epsilon <= 1, log_d >= 1, log_n >= 1, log_m >= 1, log_delta >= 1]
LARGE = Regime(base=None, others="free", where=SIZES)
CONSTANT_DELTA = Regime(base=None, others="free", constants=[delta], where=[n >= 1, d >= 1, epsilon <= 1])
HALF, TWO_THIRDS = sp.Rational(1, 2), sp.Rational(2, 3)
FEW = Regime(base=None, others="free", where=[n >= 1, d >= 1, epsilon <= 1, alpha <= 1])
