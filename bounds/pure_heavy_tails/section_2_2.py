"""Section 2.2 of arXiv 2604.06492: the Lipschitz extension and its bias."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import C, D, G_k, k

from ._paper import claim

proc_lip_ext = claim(
    "pure_heavy_tails/proc-lip-ext",
    "Lipschitz extension (5)",
    "f_C(w,z) = inf_{y∈W} [f(y,z) + C‖w − y‖]; the infimum is over the whole of W also when w is confined to W_0.",
    kind="procedure",
    section="1/2.2",
    origin="cited",
)

lem_2_2 = claim(
    "pure_heavy_tails/lem-2-2",
    "Lemma 2.2",
    "For convex f(·,z) the extension f_C(·,z) is convex and C-Lipschitz on W, and f_C ≤ f.",
    kind="lemma",
    section="2.2",
    origin="cited",
    quantity="Lipschitz constant of f_C(·,z)",
    relation="<=",
    explicit=C,
    about=("pure_heavy_tails/proc-lip-ext",),
)

fact_eq_7 = claim(
    "pure_heavy_tails/fact-eq-7",
    "Equation (7)",
    "F̂_λ(w) − F̂_λ(ŵ_λ) ≤ [F̂_Z(w) − F̂_{C,Z}(w)] + [F̂_{C,λ}(w) − F̂_{C,λ}(ŵ_C)] for every w ∈ W.",
    kind="lemma",
    section="2.2",
    about=("pure_heavy_tails/proc-lip-ext",),
)

lem_2_3 = claim(
    "pure_heavy_tails/lem-2-3",
    "Lemma 2.3",
    "E max_{w∈W} (F̂_Z(w) − F̂_{C,Z}(w)) ≤ D G_kᵏ/((k−1) C^{k−1}).",
    kind="lemma",
    section="2.2",
    quantity="expected bias of the extension over W",
    relation="<=",
    explicit=D * G_k**k / ((k - 1) * C ** (k - 1)),
    assumptions=(sp.Ge(k, 2),),
    about=("pure_heavy_tails/proc-lip-ext",),
    remark="True; the sharp constant (k−1)^{k−1}/kᵏ is four times smaller at k = 2 (lem-c-1@derived).",
)


@derivation("pure_heavy_tails/lem-2-3")
def bias_over_the_domain(proof: Proof) -> None:
    """It is Lemma C.1."""
    bound = proof.uses("pure_heavy_tails/lem-c-1", D * G_k**k / ((k - 1) * C ** (k - 1)))
    proof.concludes("pure_heavy_tails/lem-2-3", bound)
