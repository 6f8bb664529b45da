"""Bounds for the numbers of a schedule as it runs: of a solver, and of Algorithm 1 phase by phase."""

import sympy as sp

from dpcheck.symbols import G_1, G_2, D, G_k, beta, d, epsilon, index, k, lambda_, last, m, sequences

from ._paper import claim
from .section_1_2 import c_erm

weight, precision = sequences("lambda Delta")

thm_2_1_summed = claim(
    "pure_heavy_tails/thm-2-1@summed",
    "Theorem 2.1, phase by phase",
    "λ_1D²/2 + 144 Σ_{t<T} Δ_t²/λ_t + 3G_1Δ_T/λ_T, Δ_t the precision that is proved of phase t's blocks: a solver that "
    "meets (6) with probability at least 0.7, as many blocks as `thm-2-1@derived` asks for, any weights λ_t.",
    kind="theorem",
    section="2.1",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=weight[1] * D**2 / 2
    + 144 * sp.Sum(precision[index] ** 2 / weight[index], (index, 1, last - 1))
    + 3 * G_1 * precision[last] / weight[last],
    assumptions=(sp.Lt(beta, sp.Rational(1, 2)),),
    about=("pure_heavy_tails/alg-1", "pure_heavy_tails/proc-localized-double-op"),
    probability=1 - beta,
)

thm_2_1_solver = claim(
    "pure_heavy_tails/thm-2-1@solver",
    "The accuracy (6) of a solver",
    "‖A_ERM(Z, ε, λ, w_0) − ŵ_λ‖ ≤ (c_erm/λ)(G_k(d/(mε))^{1−1/k} + G_2/√m) with probability at least 0.7, c_erm the "
    "constant that is proved of the solver.",
    kind="theorem",
    section="2.1",
    origin="ours",
    quantity="distance to the regularised empirical minimiser",
    measures="distance",
    relation="<=",
    explicit=c_erm / lambda_ * (G_k * (d / (m * epsilon)) ** (1 - 1 / k) + G_2 / sp.sqrt(m)),
    assumptions=(sp.Ge(k, 2), sp.Le(epsilon, d)),
    about=(
        "pure_heavy_tails/alg-2",
        "pure_heavy_tails/alg-4",
        "pure_heavy_tails/alg-5",
        "pure_heavy_tails/alg-7",
        "pure_heavy_tails/proc-single-op",
    ),
    probability=sp.Rational(7, 10),
)
