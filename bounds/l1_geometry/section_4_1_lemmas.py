"""Section 4.1: report noisy min, and Lemmas 4.1 to 4.3."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, H, L, T, b, d, epsilon, index, t

from ._paper import H_M, Delta, H_f, claim, g_inf, lam, width, x

lem_4_1 = claim(
    "l1_geometry/lem-4-1",
    "Lemma 4.1",
    "If 2^T ≤ b, λ_{t,s} = 2LD2^t/(bε) and ε ≤ 1, Algorithm 3 is ε-DP, and E⟨v,w⟩ ≤ E min_X⟨v,·⟩ + O(LD2^t log "
    "m/(bε)).",
    kind="lemma",
    section="4.1",
    quantity="ε that is spent",
    relation="<=",
    explicit=epsilon,
    assumptions=(sp.Le(epsilon, 1), sp.Le(2**T, b), sp.Le(g_inf, L), sp.Le(H_f, H), sp.Le(width, D)),
    about=("l1_geometry/alg-3", "l1_geometry/proc-report-noisy-max"),
    grade="refuted",
    remark="At a right child a record enters by a difference of two gradients, and its sensitivity is twice "
    "the printed "
    "one. The loss is 1.510 at ε = 1 with a fixed allocation, tends to 2ε, and is 1.024 with a uniformly random one of "
    "all n = 1.5b records (S5).",
)


lem_4_1_corrected = lem_4_1.as_read(
    "l1_geometry/lem-4-1@corrected",
    "Lemma 4.1 with twice the noise",
    "With λ_{t,s} = 4LD2^t/(bε), Algorithm 3 is ε-DP for every allocation and every ε > 0.",
    origin="ours",
    about=("l1_geometry/alg-3",),
    assumptions=(),
)


lem_4_1_derived = lem_4_1.as_read(
    "l1_geometry/lem-4-1@derived",
    "Utility of report noisy min",
    "E⟨v,w⟩ ≤ E min_X⟨v,·⟩ + λ(1 + log m), with λ = 2LD2^t/(bε).",
    origin="ours",
    quantity="gap of the selected vertex",
    explicit=2 * L * D * 2**t / (b * epsilon) * H_M,
    about=("l1_geometry/proc-report-noisy-max",),
    assumptions=(),
)


@derivation("l1_geometry/lem-4-1@derived")
def gap_of_a_selection(proof: Proof) -> None:
    """The winner's gap is at most the largest of m Laplace draws, whose mean is λ(1 + 1/2 + … + 1/m)."""
    noise = proof.uses("l1_geometry/alg-3@noise", 2 * L * D * 2**t / (b * epsilon), {index: t})
    proof.concludes("l1_geometry/lem-4-1@derived", proof.argues("λH_m ≤ λ(1 + log m)", "gap", "<=", noise * H_M))


lem_4_2 = claim(
    "l1_geometry/lem-4-2",
    "Lemma 4.2",
    "E‖v_{t,s} − ∇F(x_{t,s})‖_∞ ≤ (L + βD)·O(√(log d/b)) at every node.",
    kind="lemma",
    section="4.1",
    quantity="error of the gradient estimate",
    relation="<=",
    order=(L + H * D) * sp.sqrt(sp.log(d) / b),
    explicit=sp.sqrt(2 * sp.log(2 * d) * (L**2 + 16 * H**2 * D**2) / b),
    about=("l1_geometry/alg-3",),
    remark="log d must be read as log(2d): at d = 1 the printed bound is 0 (S18).",
)


@derivation("l1_geometry/lem-4-2")
def largest_coordinate(proof: Proof) -> None:
    """Of 2d variables with the moment generating function of Lemma 4.3, at the best x."""
    proxy = L**2 + 16 * H**2 * D**2
    proof.uses("l1_geometry/lem-4-3", sp.exp(x**2 * proxy / (2 * b)))
    choices, v = sp.symbols("choices v", positive=True)
    bound = proof.argues("E max ≤ log(Σ E e^{xX})/x", "E‖v − ∇F‖_∞", "<=", sp.log(choices) / x + x * v / (2 * b))
    best = sp.sqrt(2 * b * sp.log(choices) / v)
    spread = proof.equal("at the best x", lambda: bound.subs(x, best), sp.sqrt(2 * sp.log(choices) * v / b))
    proof.concludes("l1_geometry/lem-4-2", spread.subs({choices: 2 * d, v: proxy}))


lem_4_3 = claim(
    "l1_geometry/lem-4-3",
    "Lemma 4.3",
    "Each coordinate of v_{t,s} − ∇F(x_{t,s}) has moment generating function at most exp(O(1)x²(L² + β²D²)/b).",
    kind="lemma",
    section="4.1",
    quantity="E exp(x(v − ∇F)_i)",
    relation="<=",
    order=sp.exp(x**2 * (L**2 + H**2 * D**2) / b),
    explicit=sp.exp(x**2 * (L**2 + 16 * H**2 * D**2) / (2 * b)),
    about=("l1_geometry/alg-3",),
)


proc_rnm = claim(
    "l1_geometry/proc-report-noisy-max",
    "Report noisy max (DR14, Claim 3.9)",
    "The index of the least s_i + Lap(λ). For scores ⟨c_i, v⟩ its loss is at most D‖v − v'‖_∞/λ, D = diam_1; "
    "the gap of "
    "the winner is at most λ(1 + 1/2 + … + 1/m) in expectation.",
    kind="procedure",
    section="4.1",
    origin="cited",
    quantity="ε that is spent",
    relation="<=",
    explicit=D * Delta / lam,
)


fact_vertex = claim(
    "l1_geometry/fact-vertex",
    "TTZ15, Fact 2.3",
    "A linear function on a polytope attains its minimum at a vertex.",
    kind="lemma",
    section="4.1",
    origin="cited",
)


fact_hoeffding = claim(
    "l1_geometry/fact-hoeffding-mgf",
    "Hoeffding's lemma",
    "A centred variable with values in an interval of length 2L has E e^{xX} ≤ e^{x²L²/2}.",
    kind="lemma",
    section="4.1",
    origin="cited",
    quantity="E exp(xX)",
    relation="<=",
    explicit=sp.exp(x**2 * L**2 / 2),
)
