"""Appendix A: stability of entropic mirror descent, and Algorithm 4."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import L, R, eta, n

from ._paper import claim

proc_eg = claim(
    "l1_geometry/proc-eg-step",
    "Equation (1)",
    "The mirror step of the entropy on the simplex is x⁺ ∝ x·exp(−η∇f(x)).",
    kind="procedure",
    section="A",
    origin="cited",
)


lem_a1 = claim(
    "l1_geometry/lem-a1",
    "Lemma A.1",
    "Some linear f on the simplex of ℝ³ has, for every 0 < η ≤ 1, starts x_0, y_0 whose ℓ₁ distance and "
    "divergence grow "
    "by a factor of at least 1 + η/4 in one entropic mirror step.",
    kind="lemma",
    section="A",
    quantity="growth of the distance",
    relation=">=",
    explicit=1 + eta / 4,
    assumptions=(sp.Le(eta, 1),),
    about=("l1_geometry/proc-eg-step",),
)


@derivation("l1_geometry/lem-a1")
def growth_of_two_small_coordinates(proof: Proof) -> None:
    """A step multiplies two small coordinates of three by e^η, and divides all by their sum, which stays near 1."""
    N, size, rest = sp.symbols("N size rest", positive=True)
    grown = sp.exp(size) - 1
    large, *small = 1 - 3 / N, 1 / N, 2 / N  # and the same with the small ones in the other order
    total = proof.equal(
        "c, the sum of the coordinates after e^η", lambda: large + sp.exp(size) * sum(small), 1 + 3 * grown / N
    )
    after = [sp.exp(size) * each / total for each in small]
    near, far = (2 * (pair[1] - pair[0]) for pair in (small, after))
    ratio = proof.equal("the distances' ratio", lambda: far / near, sp.exp(size) / total)
    proof.argues("the divergences have the same: the small coordinates keep their ratio")
    at_n = proof.equal(
        "at N = 100(e^η − 1)/η", lambda: ratio.subs(N, 100 * grown / size), sp.exp(size) / (1 + 3 * size / 100)
    )
    proof.argues("e^η is convex", "e^η", ">=", 1 + size)
    proof.assumes("l1_geometry/lem-a1", eta, 1)
    stated, least = 1 + eta / 4, at_n.subs(sp.exp(size), 1 + size).subs(size, eta)
    proof.at_most("for η ≤ 1", stated, least, {eta: 1 / (1 + rest)})
    proof.concludes("l1_geometry/lem-a1", stated)


lem_a2 = claim(
    "l1_geometry/lem-a2",
    "Lemma A.2",
    "For linear losses with ‖z‖_∞ ≤ L, T = Rn steps of Algorithm 4 from the uniform point on neighbours have ‖x_T − "
    "y_T‖_1² ≤ KL(x_T,y_T) + KL(y_T,x_T) ≤ 4η²L²R².",
    kind="lemma",
    section="A",
    quantity="symmetrised divergence",
    relation="<=",
    explicit=4 * eta**2 * L**2 * R**2,
    about=("l1_geometry/alg-4",),
)


alg_4 = claim(
    "l1_geometry/alg-4",
    "Algorithm 4 (multi-pass stochastic mirror descent)",
    "R passes over the records, each in a fresh uniform order, with exponentiated-gradient steps from a "
    "positive start; "
    "returns the average of the iterates 1..Rn. Not private.",
    kind="algorithm",
    section="A",
    about=("l1_geometry/proc-eg-step",),
)

alg_4_steps = alg_4.as_read(
    "l1_geometry/alg-4@steps",
    "Algorithm 4, line 4: steps of a pass",
    "A pass makes a step with each of the n records.",
    quantity="steps of a pass",
    relation="=",
    explicit=n,
    about=("l1_geometry/alg-4",),
)
alg_4_gradients = alg_4_steps.as_read(
    "l1_geometry/alg-4@gradients",
    "Algorithm 4, gradients",
    "R passes of one gradient a record: Rn.",
    quantity="gradients",
    explicit=R * n,
)
