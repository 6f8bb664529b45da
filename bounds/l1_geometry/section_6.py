"""Section 6: lower bounds. D is the radius of the ℓ₁ ball here, as printed."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, H, L, alpha, d, epsilon, n

from ._paper import FEW, LOWER, TWO_THIRDS, claim

lem_6_1 = claim(
    "l1_geometry/lem-6-1",
    "Lemma 6.1",
    "For every (ε,δ)-DP A with values in {±1}^d, the worst data set in {±D/d}^{n×d} has E Σ|z̄_j|1{A_j ≠ sgn z̄_j} ≥ "
    "Ω(D√d/(nε log d)).",
    kind="lemma",
    section="6.1",
    quantity="error of the signs",
    relation=">=",
    order=D * LOWER,
    grade="slip",
    remark="No regime is printed: the error never exceeds D, and no condition on δ is stated (S15).",
)


lem_6_1_literal = lem_6_1.as_read(
    "l1_geometry/lem-6-1@literal",
    "Lemma 6.1 for all n, d and ε",
    "For some c > 0 the worst error is at least cD√d/(nε log d) at every n, d and ε ≤ 1.",
    assumptions=(sp.Ge(d, 2), sp.Ge(n, 1), sp.Le(epsilon, 1)),
    grade="slip",
    remark="Uniformly random signs have error at most D/2; at n = ε = 1 the right side grows like √d/log d.",
)


lem_6_1_corrected = lem_6_1.as_read(
    "l1_geometry/lem-6-1@corrected",
    "Lemma 6.1 with its cap",
    "For ε ≤ 0.05 and δ = n^{-ω(1)} the worst error is at least Ω(D min{1, √d/(nε log d)}).",
    origin="ours",
    order=D * sp.Min(1, LOWER),
)


@derivation("l1_geometry/lem-6-1@corrected", FEW)
def signs_from_samples(proof: Proof) -> None:
    """A sample complexity read backwards: the error at which n records are just not enough."""
    error = sp.Symbol("error", positive=True)
    needed = proof.uses("l1_geometry/prop-1@corrected", sp.sqrt(d) / (alpha * epsilon * sp.log(d)))
    reached = sp.sqrt(d) / (n * epsilon * sp.log(d))
    proof.equal(
        "n = √d/(αε log d) at α = √d/(nε log d)", lambda: needed.xreplace({alpha: error}).xreplace({error: reached}), n
    )
    proof.concludes("l1_geometry/lem-6-1@corrected", D * sp.Min(1, reached))


thm_10 = claim(
    "l1_geometry/thm-10",
    "Theorem 10",
    "For f(x;z) = L‖x − z‖_1 on {‖x‖_1 ≤ D}, every (ε,δ)-DP algorithm has a data set with excess empirical loss "
    "Ω(LD√d/(nε log d)).",
    kind="theorem",
    section="6.1",
    quantity="excess empirical loss",
    measures="empirical suboptimality",
    relation=">=",
    order=L * D * LOWER,
    grade="slip",
    remark="The cap LD and the condition on δ are missing (S15); F̂ is printed without its L.",
)


thm_10_literal = thm_10.as_read(
    "l1_geometry/thm-10@literal",
    "Theorem 10 for all n, d and ε",
    "For some c > 0 the excess is at least cLD√d/(nε log d) at every n, d and ε ≤ 1.",
    assumptions=(sp.Ge(d, 2), sp.Ge(n, 1), sp.Le(epsilon, 1)),
    grade="slip",
    remark="The constant output 0 has excess at most LD on every data set.",
)


thm_10_corrected = thm_10.as_read(
    "l1_geometry/thm-10@corrected",
    "Theorem 10 with its cap",
    "For ε ≤ 0.05 and δ = n^{-ω(1)} the excess is at least Ω(LD min{1, √d/(nε log d)}).",
    origin="ours",
    order=L * D * sp.Min(1, LOWER),
)


thm_10_derived = claim(
    "l1_geometry/thm-10@derived",
    "Excess of the ℓ₁ location loss",
    "On [−D/d, D/d]^d the excess is exactly L Σ|z̄_j|(1 − x_j sgn(z̄_j)d/D), and clipping into that box never raises it.",
    kind="theorem",
    section="6.1",
    origin="ours",
)


@derivation("l1_geometry/thm-10@corrected", FEW)
def location_loss(proof: Proof) -> None:
    """The excess of the location loss is L times the error of the signs, coordinate by coordinate."""
    printed = sp.sqrt(d) / (n * epsilon * sp.log(d))
    proof.gap(
        "the bound is never above LD",
        L * D * printed,
        L * D,
        {L: 1, D: 1, d: 16, n: 1, epsilon: sp.Rational(1, 100)},
        "with min{1, ·} (S15)",
    )
    signs = proof.uses("l1_geometry/lem-6-1@corrected", D * sp.Min(1, printed))
    excess = proof.argues("a wrong sign costs L times its mean, a right one nothing", "excess", ">=", L * signs)
    proof.concludes("l1_geometry/thm-10@corrected", excess)


thm_11 = claim(
    "l1_geometry/thm-11",
    "Theorem 11",
    "On {‖x‖_1 ≤ D} some family of L-Lipschitz losses with β ≤ L/D forces excess empirical loss LD·Ω̃(min((nε)^{-2/3}, "
    "√d/(nε))) on (ε,δ)-DP algorithms, δ = n^{-ω(1)}.",
    kind="theorem",
    section="6.2",
    quantity="excess empirical loss",
    measures="empirical suboptimality",
    relation=">=",
    order=L * D * sp.Min((n * epsilon) ** (-TWO_THIRDS), sp.sqrt(d) / (n * epsilon)),
    grade="slip",
    remark="Read with a further min{1, ·}: for nε < 1 the bound exceeds the range of the loss (S15).",
)


thm_11_literal = thm_11.as_read(
    "l1_geometry/thm-11@literal",
    "Theorem 11 for all n and ε",
    "For some c > 0 the excess is at least cLD min((nε)^{-2/3}, √d/(nε)), also for nε < 1.",
    assumptions=(sp.Ge(n, 1), sp.Ge(d, 1), sp.Le(epsilon, 1), sp.Le(H, L / D)),
    grade="slip",
    remark="No excess of an L-Lipschitz loss on this ball exceeds 2LD.",
)


thm_11_corrected = thm_11.as_read(
    "l1_geometry/thm-11@corrected",
    "Theorem 11 with its cap",
    "The excess is at least LD·Ω̃(min(1, (nε)^{-2/3}, √d/(nε))).",
    origin="ours",
    order=L * D * sp.Min(1, (n * epsilon) ** (-TWO_THIRDS), sp.sqrt(d) / (n * epsilon)),
)


@derivation("l1_geometry/thm-11@corrected", FEW)
def smooth_lower_bound(proof: Proof) -> None:
    """The hard dimension is (nε)^{2/3}; a larger one holds a copy of it."""
    small = proof.argues("from Lemma D.4, for d ≤ (nε)^{2/3}", "excess", ">=", sp.sqrt(d) / (n * epsilon))
    hard = proof.equal(
        "at d = (nε)^{2/3}",
        lambda: small.xreplace({d: (n * epsilon) ** sp.Rational(2, 3)}),
        (n * epsilon) ** -sp.Rational(2, 3),
    )
    proof.concludes("l1_geometry/thm-11@corrected", L * D * sp.Min(1, small, hard))


proc_bootstrap = claim(
    "l1_geometry/proc-bootstrap",
    "Bootstrap from ERM to SCO (BFTT19)",
    "Running an SCO algorithm on n i.i.d. draws from the empirical distribution of S solves ERM on S, so lower bounds "
    "for ERM carry over.",
    kind="procedure",
    section="6",
    origin="cited",
)
