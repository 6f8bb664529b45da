"""Section 3.1: the lemmas on mirror descent, and the facts that they rest on."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import L, T, b, d, epsilon, eta, lambda_, n, sigma

from ._paper import LOG, D_h, claim, g_2

lem_3_1 = claim(
    "l1_geometry/lem-3-1",
    "Lemma 3.1",
    "Mirror descent with a constant step and E‖g_k‖_∞² ≤ L²: E[f(x̄_T) − f*] ≤ D_h(x*,x_1)/(Tη) + ηL²/2.",
    kind="lemma",
    section="3.1",
    origin="cited",
    quantity="excess loss of the plain average",
    relation="<=",
    explicit=D_h / (T * eta) + eta * L**2 / 2,
)


@derivation("l1_geometry/lem-3-1")
def plain_average(proof: Proof) -> None:
    """The divergences of T steps telescope, and what is left of each step is at most η‖g_k‖²/2."""
    size, moved = sp.symbols("size moved", positive=True)
    proof.argues("a step: η⟨g_k, x_k − x*⟩ ≤ D_h(x*,x_k) − D_h(x*,x_{k+1}) + η⟨g_k, x_k − x_{k+1}⟩ − D_h(x_{k+1},x_k)")
    left = proof.at_most(
        "h is 1-strongly convex", lambda: eta * size * moved - moved**2 / 2, lambda: (eta * size) ** 2 / 2
    )
    regret = proof.argues("regret of T steps", "η Σ⟨g_k, x_k − x*⟩", "<=", D_h + T * left.subs(size, L))
    proof.concludes("l1_geometry/lem-3-1", sp.expand(regret / (T * eta)))


lem_3_2 = claim(
    "l1_geometry/lem-3-2",
    "Lemma 3.2",
    "If f is λ-strongly convex relative to h and E‖g_k‖_∞² ≤ L², steps 2/(λ(k+1)) and x̂_T = 2/(T(T+1)) Σ k x_k give "
    "E[f(x̂_T) − f*] ≤ L²/(λ(T+1)).",
    kind="lemma",
    section="3.1",
    quantity="excess loss of the weighted average",
    relation="<=",
    explicit=L**2 / (lambda_ * (T + 1)),
    assumptions=(sp.Ge(T, 1), sp.Le(g_2, L**2)),
    grade="refuted",
    remark="The proof loses a factor 2 in kη_k/2 = k/(λ(k+1)) < 1/λ, and the statement is false: on a half-line the "
    "excess reaches 1.69 times the bound at T = 10⁴ (S1). Rates are not affected.",
)


lem_3_2_corrected = lem_3_2.as_read(
    "l1_geometry/lem-3-2@corrected",
    "Lemma 3.2 with its constant",
    "E[f(x̂_T) − f*] ≤ 2L²/(λ(T+1)).",
    origin="ours",
    explicit=2 * L**2 / (lambda_ * (T + 1)),
)


fact_gauss_max = claim(
    "l1_geometry/fact-gauss-max",
    "Gaussian maximum in the proof of Theorem 3",
    "E‖ζ‖_∞² ≤ 2σ² log d for ζ ~ N(0, σ²I_d).",
    kind="lemma",
    section="3.1",
    quantity="E‖ζ‖_∞²",
    relation="<=",
    explicit=2 * sigma**2 * sp.log(d),
    assumptions=(sp.Ge(d, 3),),
    grade="slip",
    remark="False at d = 1, and at d = 2 with natural logarithms; no restriction is printed (S18).",
)


fact_gauss_max_literal = fact_gauss_max.as_read(
    "l1_geometry/fact-gauss-max@literal",
    "The Gaussian maximum for every d",
    "E‖ζ‖_∞² ≤ 2σ² log d for every d ≥ 1.",
    assumptions=(sp.Ge(d, 1),),
    grade="slip",
    remark="At d = 1 the left side is σ², the right side 0.",
)


fact_gauss_max_corrected = fact_gauss_max.as_read(
    "l1_geometry/fact-gauss-max@corrected",
    "The Gaussian maximum with log(2d)",
    "E‖ζ‖_∞² ≤ 2σ²(1 + log d).",
    origin="ours",
    explicit=2 * sigma**2 * (1 + sp.log(d)),
    assumptions=(sp.Ge(d, 1),),
)


fact_moments = claim(
    "l1_geometry/fact-moments-accountant",
    "Theorem 1 of ACGMMTZ16",
    "For constants c_1, c_2, T Gaussian steps on samples of rate q are (ε,δ)-DP for ε < c_1q²T if the noise multiplier "
    "is at least c_2 q√(T log(1/δ))/ε.",
    kind="theorem",
    section="3.1",
    origin="cited",
    quantity="noise multiplier that suffices",
    relation="is",
    order=b * sp.sqrt(T * LOG) / (n * epsilon),
    about=("l1_geometry/alg-1",),
    remark="Stated for Poisson samples and add-or-remove neighbours; Algorithm 1 samples with replacement under "
    "replace-one (S23).",
)


moments_accountant = underived(
    "l1_geometry/fact-moments-accountant",
    "cited; a theorem for Poisson samples and add-or-remove neighbours, whose constants are not carried over (S23)",
)
