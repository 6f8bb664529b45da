"""Section 2: definitions, and composition."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import epsilon, k

from ._paper import claim, delta_0

asm_geometry = claim(
    "l1_geometry/asm-geometry",
    "Standing assumptions",
    "X ⊂ ℝᵈ is convex with diam_1(X) ≤ D (or diam_p), f(·;z) is convex and L-Lipschitz in the same norm; neighbours "
    "differ in one of n records; expectations are over the sample and the algorithm's coins.",
    kind="assumption",
    section="2.1",
)


def_2_1 = claim(
    "l1_geometry/def-2-1",
    "Definition 2.1",
    "f is L-Lipschitz with respect to ‖·‖ when |f(x) − f(y)| ≤ L‖x − y‖; equivalently ‖g‖_* ≤ L for its subgradients.",
    kind="definition",
    section="2.1",
    origin="cited",
    remark="The equivalence needs a full-dimensional X: on the simplex a subgradient may be shifted by multiples of 1.",
)


def_2_2 = claim(
    "l1_geometry/def-2-2",
    "Definition 2.2",
    "f is β-smooth with respect to ‖·‖ when ‖∇f(x) − ∇f(y)‖_* ≤ β‖x − y‖.",
    kind="definition",
    section="2.1",
    origin="cited",
)


def_2_3 = claim(
    "l1_geometry/def-2-3",
    "Definition 2.3",
    "f is λ-strongly convex with respect to ‖·‖ when f(y) ≥ f(x) + ⟨∇f(x), y − x⟩ + (λ/2)‖x − y‖².",
    kind="definition",
    section="2.1",
    origin="cited",
)


def_2_4 = claim(
    "l1_geometry/def-2-4",
    "Definition 2.4",
    "f is λ-strongly convex relative to h when f(y) ≥ f(x) + ⟨∇f(x), y − x⟩ + λD_h(y,x); h is so relative to itself "
    "with λ = 1, and so is g + h for convex g.",
    kind="definition",
    section="2.1",
    origin="cited",
)


def_2_5 = claim(
    "l1_geometry/def-2-5",
    "Definition 2.5",
    "A is (ε,δ)-differentially private when Pr(A(S) ∈ O) ≤ e^ε Pr(A(S') ∈ O) + δ for all neighbours and events.",
    kind="definition",
    section="2.2",
    origin="cited",
)


lem_2_1 = claim(
    "l1_geometry/lem-2-1",
    "Lemma 2.1 (basic composition)",
    "k mechanisms that are ε-DP compose to a kε-DP one.",
    kind="lemma",
    section="2.2",
    origin="cited",
    quantity="epsilon of the composition",
    relation="<=",
    explicit=k * epsilon,
)


@derivation("l1_geometry/lem-2-1")
def basic_composition(proof: Proof) -> None:
    """Log-ratios of independent answers add up."""
    each, k = sp.symbols("each k", positive=True)
    proof.argues("the log-ratio of k answers is the sum of theirs, given the answers before", "each", "<=", each)
    total = proof.equal("Σ over k answers", sp.Sum(each, (sp.Symbol("j"), 1, k)), k * each)
    proof.concludes("l1_geometry/lem-2-1", total.subs(each, epsilon))


lem_2_2 = claim(
    "l1_geometry/lem-2-2",
    "Lemma 2.2 (advanced composition)",
    "k mechanisms that are (ε,δ)-DP compose to (√(2k log(1/δ'))ε + kε(e^ε − 1), δ' + kδ).",
    kind="lemma",
    section="2.2",
    origin="cited",
    quantity="epsilon of the composition at δ' + kδ",
    relation="<=",
    explicit=sp.sqrt(2 * k * sp.log(1 / delta_0)) * epsilon + k * epsilon * (sp.exp(epsilon) - 1),
)


advanced_composition = underived(
    "l1_geometry/lem-2-2", "cited (Dwork, Rothblum, Vadhan 2010); checked against the exact composition instead"
)
