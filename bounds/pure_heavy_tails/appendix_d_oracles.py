"""Appendix D of arXiv 2604.06492: subgradient oracles of the extension, and descent with biased subgradients."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import underived
from dpcheck.symbols import B, C, D, L, T, alpha, eta, xi

from ._paper import claim

def_d_3 = claim(
    "pure_heavy_tails/def-d-3",
    "Definition D.3",
    "A deterministic oracle that, for every z, w ∈ W and B > 0, returns in time polynomial in 1/B a vector g̃ with "
    "f_C(u,z) ≥ f_C(w,z) + ⟨g̃, u − w⟩ − B on W and ‖g̃‖ ≤ 2C.",
    kind="definition",
    section="D.3",
    quantity="norm of the approximate subgradient",
    relation="<=",
    explicit=2 * C,
    about=("pure_heavy_tails/proc-lip-ext",),
)


lem_d_5 = claim(
    "pure_heavy_tails/lem-d-5",
    "Lemma D.5",
    "T projected subgradient steps with answers of norm at most L, bias B and projections exact to ξ: the average "
    "has gap at most D²/(2ηT) + ηL²/2 + B + Dξ/η + ξ²/(2η); at most α if T ≥ (4DL/α)², η = D/(L√T), B ≤ α/4, ξ ≤ "
    "min{D, αη/(6D)}.",
    kind="lemma",
    section="D.3",
    quantity="gap of the average",
    relation="<=",
    explicit=D**2 / (2 * eta * T) + eta * L**2 / 2 + B + D * xi / eta + xi**2 / (2 * eta),
    about=("pure_heavy_tails/proc-biased-psgd",),
)

lem_d_5_derived = lem_d_5.as_read(
    "pure_heavy_tails/lem-d-5@derived",
    "Lemma D.5, last display",
    "Under the last conditions of Lemma D.5 the gap is at most 3α/4.",
    origin="ours",
    explicit=3 * alpha / 4,
)

proc_biased_psgd = claim(
    "pure_heavy_tails/proc-biased-psgd",
    "Biased projected subgradient method (Lemma D.5)",
    "x_{t+1} within ξ of Π_K(x_t − η g̃_t); the average of x_1,…,x_T is returned.",
    kind="procedure",
    section="D.3",
    quantity="steps for a gap of α",
    relation="=",
    explicit=sp.ceiling((4 * D * L / alpha) ** 2),
)

prop_d_6 = claim(
    "pure_heavy_tails/prop-d-6",
    "Proposition D.6",
    "For maxima of finitely many affine functions on compact W with an explicit second-order-cone representation "
    "and a strict interior point, the multiplier of x + y = w in (16) is a B-approximate subgradient of f_C of norm "
    "at most C.",
    kind="proposition",
    section="D.3",
    quantity="norm of the approximate subgradient",
    relation="<=",
    explicit=C,
    about=("pure_heavy_tails/proc-socp-subgrad",),
)

prop_d_6_underived = underived(
    "pure_heavy_tails/prop-d-6",
    "a property of dual multipliers, with nothing to choose: the cone constraint bounds them by C",
)

proc_socp_subgrad = claim(
    "pure_heavy_tails/proc-socp-subgrad",
    "Subgradient oracle (16)",
    "min s + Ct subject to x + y = w, ‖x‖ ≤ t, s ≥ a_jᵀy + b_j, y ∈ W; the multiplier of x + y = w at a "
    "dual-feasible point of value at least f_C(w) − B.",
    kind="procedure",
    section="D.3",
)

cor_d_7 = claim(
    "pure_heavy_tails/cor-d-7",
    "Corollary D.7",
    "Affine, hinge or ReLU, and absolute-value losses on balls, ellipsoids and polytopes meet Definition D.3, so "
    "that Theorem D.4 applies to them.",
    kind="corollary",
    section="D.3",
    about=("pure_heavy_tails/proc-socp-subgrad",),
)
