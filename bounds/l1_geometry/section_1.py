"""Section 1: Theorems 1 and 2, the rates in short."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, H, L, d, epsilon, n

from ._paper import CONSTANT_DELTA, NAMED, NONSMOOTH, claim, log_d, log_delta, log_m, log_n

thm_1 = claim(
    "l1_geometry/thm-1",
    "Theorem 1 (informal, non-smooth)",
    "If diam_1(X) < 1 and f is convex and Lipschitz in ℓ₁, some (ε,δ)-DP algorithm with O(log n·min(n^{3/2}√log d, "
    "n²ε/√d)) gradients has excess risk Õ(√(log d/n) + √d log^{3/2}d/(nε)).",
    kind="theorem",
    section="1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=sp.sqrt(sp.log(d) / n) + sp.sqrt(d) * sp.log(d) ** sp.Rational(3, 2) / (n * epsilon),
    about=("l1_geometry/alg-2",),
    remark="Theorem 4 with LD = 1 and log(1/δ) hidden. The privacy is claimed here only; blocks must be disjoint (S4).",
)


@derivation("l1_geometry/thm-1", CONSTANT_DELTA)
def informal_nonsmooth(proof: Proof) -> None:
    """Theorem 4 with LD = 1 and constant δ."""
    bound = proof.uses("l1_geometry/thm-4", L * D * NONSMOOTH, as_order=True)
    proof.concludes("l1_geometry/thm-1", bound.subs({L: 1, D: 1}))


thm_2 = claim(
    "l1_geometry/thm-2",
    "Theorem 2 (informal, smooth)",
    "If X is the ℓ₁ ball of radius 1 and f is convex, Lipschitz and smooth in ℓ₁, some (ε,δ)-DP algorithm has, in "
    "linear time, excess risk Õ(√(log d/n) + (log d/(nε))^{2/3}).",
    kind="theorem",
    section="1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=sp.sqrt(sp.log(d) / n) + (sp.log(d) / (n * epsilon)) ** sp.Rational(2, 3),
    about=("l1_geometry/alg-3",),
    remark="Theorem 7 caps ε at about n^{-1/4}; true all the same, by running it at min(ε, cap) (S12).",
)


@derivation("l1_geometry/thm-2", CONSTANT_DELTA)
def informal_smooth(proof: Proof) -> None:
    """Theorem 7 with LD = 1, β ≤ L/D, m = 2d and constant δ; its logarithms of n are not in the informal form."""
    rate = sp.sqrt(sp.log(d)) / sp.sqrt(n) + (sp.log(d) / (n * epsilon)) ** sp.Rational(2, 3)
    full = D * (L + H * D) * sp.sqrt(log_d) * log_n / sp.sqrt(n)
    full += (sp.sqrt(H) * L * D**2 * log_delta * log_m * log_n**2 / (n * epsilon)) ** sp.Rational(2, 3)
    unit = {D: 1, L: 1, H: 1, log_m: log_d, log_delta: 1, log_n: 1}
    proof.uses("l1_geometry/thm-7", full, NAMED, as_order=True)
    reduced = proof.argues(
        "without log n, which 'Õ' hides; budgets above its window are used up to there",
        "excess risk",
        "<=",
        full.subs(unit),
    )
    proof.same_order("its two terms", reduced, rate.subs(sp.log(d), log_d))
    proof.concludes("l1_geometry/thm-2", reduced.subs(log_d, sp.log(d)))
