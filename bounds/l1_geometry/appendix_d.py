"""Appendix D: sample complexity. D is the radius of the ℓ₁ ball here, as printed."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import D, L, alpha, d, delta, epsilon, k, n

from ._paper import FEW, HALF, TWO_THIRDS, alpha_0, claim, epsilon_0, n_0

prop_1 = claim(
    "l1_geometry/prop-1",
    "Proposition 1",
    "For α ≤ 1 and ε ≤ 1 the least n at which an (ε, n^{-ω(1)})-DP algorithm has worst sign error α (with D = 1) is at "
    "least Ω(1)·√d/(αε log d).",
    kind="proposition",
    section="D.1",
    quantity="sample complexity",
    relation=">=",
    order=sp.sqrt(d) / (alpha * epsilon * sp.log(d)),
    assumptions=(sp.Le(alpha, 1), sp.Le(epsilon, 1)),
    grade="slip",
    remark="Right for α ≤ 1/8 and ε ≤ 1/20 (@corrected); for α ≥ 1/2 one record is enough (@literal, S15).",
)


prop_1_literal = prop_1.as_read(
    "l1_geometry/prop-1@literal",
    "Proposition 1 for all α ≤ 1",
    "For some c > 0, n*(α,ε) ≥ c√d/(αε log d) at every α ≤ 1 and ε ≤ 1.",
    assumptions=(sp.Ge(d, 2), sp.Le(alpha, 1), sp.Le(epsilon, 1)),
    grade="slip",
    remark="Uniformly random signs are 0-DP and have error ½Σ|z̄_j| ≤ 1/2, so that n* = 1 for α ≥ 1/2.",
)


prop_1_corrected = prop_1.as_read(
    "l1_geometry/prop-1@corrected",
    "Proposition 1 for small α",
    "The bound for α ≤ 1/8 and ε ≤ 0.05, which is what the proof covers.",
    origin="ours",
    assumptions=(sp.Le(alpha, sp.Rational(1, 8)), sp.Le(epsilon, sp.Rational(1, 20))),
)


@derivation("l1_geometry/prop-1@corrected", FEW)
def sample_complexity(proof: Proof) -> None:
    """Lemma D.1 at constant accuracy, scaled by the copies of Lemma D.2."""
    bound = sp.sqrt(d) / (alpha * epsilon * sp.log(d))
    proof.gap(
        "random signs, one record, are not enough at α = 1/2",
        bound,
        1,
        {d: 100, alpha: HALF, epsilon: HALF},
        "for α ≤ 1/8 they are not (S15)",
    )
    constant = proof.uses("l1_geometry/lem-d1", sp.sqrt(d) / sp.log(d))
    at = {alpha_0: sp.Rational(1, 4), epsilon_0: sp.Rational(1, 10)}
    proof.assumes("l1_geometry/lem-d2", epsilon_0, at[epsilon_0])
    for mine, its in ((alpha, alpha_0), (epsilon, epsilon_0)):
        most = proof.assumes("l1_geometry/lem-d2", mine, its / 2)
        proof.assumes("l1_geometry/prop-1@corrected", mine, most.subs(at))
    scaled = proof.uses("l1_geometry/lem-d2", n_0 * alpha_0 * epsilon_0 / (alpha * epsilon))
    reached = scaled.subs({n_0: constant, **at})
    proof.concludes("l1_geometry/prop-1@corrected", reached)


TRANSFER = alpha_0 * epsilon_0 / (alpha * epsilon) * n_0


lem_d1 = claim(
    "l1_geometry/lem-d1",
    "Lemma D.1 (TTZ15, Theorem 3.2)",
    "n*(1/4, 0.1) ≥ Ω(√d/log d) for the sign problem.",
    kind="lemma",
    section="D.1",
    origin="cited",
    quantity="sample complexity",
    relation=">=",
    order=sp.sqrt(d) / sp.log(d),
)


lem_d2 = claim(
    "l1_geometry/lem-d2",
    "Lemma D.2",
    "For ε_0 ≤ 0.1, α ≤ α_0/2 and ε ≤ ε_0/2 the sign problem has n*(α,ε) ≥ (α_0ε_0/(αε)) n*(α_0,ε_0).",
    kind="lemma",
    section="D.1",
    quantity="sample complexity",
    relation=">=",
    order=TRANSFER,
    assumptions=(
        sp.Le(epsilon_0, sp.Rational(1, 10)),
        sp.Le(alpha, alpha_0 / 2),
        sp.Le(epsilon, epsilon_0 / 2),
    ),
    about=("l1_geometry/proc-pad-and-copy",),
    grade="proof gap",
    remark="The construction gives a constant below 1: it makes k = ⌊log(1+ε_0)/ε⌋ < ε_0/ε copies. {±1/d}^d "
    "has no zero "
    "record: pad with pairs z, −z (S16).",
)


lem_d3 = claim(
    "l1_geometry/lem-d3",
    "Lemma D.3 (TTZ15, Theorem 3.1)",
    "For d ≥ Ω̃(n^{2/3}) and (0.1, o(n^{-2}))-DP the family f = (⟨a,x⟩ − y)², ‖a‖_∞ ≤ C, |y| ≤ CD, forces excess "
    "Ω̃(LDn^{-2/3}).",
    kind="lemma",
    section="D.2",
    origin="cited",
    quantity="excess empirical loss",
    measures="empirical suboptimality",
    relation=">=",
    order=L * D * n ** (-TWO_THIRDS),
    remark="L = 4C²D and β = 2C² exactly, so β = L/(2D); the text has LD = C²D² up to constants (S24).",
)


lem_d4 = claim(
    "l1_geometry/lem-d4",
    "Lemma D.4",
    "n*(α,ε) ≥ Ω̃(1/(α^{3/2}ε)) at α = 1/d and Ω̃(√d/(αε)) for α ≤ 1/d.",
    kind="lemma",
    section="D.2",
    quantity="sample complexity",
    relation=">=",
    order=sp.sqrt(d) / (alpha * epsilon),
    assumptions=(sp.Le(alpha, 1 / d),),
    remark="No bound on ε is printed, and the proof covers ε ≤ 1/10, as Lemma D.5 does (@corrected).",
)


lem_d4_corrected = lem_d4.as_read(
    "l1_geometry/lem-d4@corrected",
    "Lemma D.4 for small ε",
    "The bound for α ≤ 1/d and ε ≤ 1/10, which is what the proof covers.",
    origin="ours",
    assumptions=(sp.Le(alpha, 1 / d), sp.Le(epsilon, sp.Rational(1, 10))),
    remark="",
)


@derivation("l1_geometry/lem-d4@corrected", FEW)
def accuracy_below_the_dimension(proof: Proof) -> None:
    """Lemma D.6 at α_0 = 1/d and constant ε_0, scaled by the copies of Lemma D.5."""
    hard = proof.uses("l1_geometry/lem-d6", d ** sp.Rational(3, 2))
    at = {alpha_0: 1 / d, epsilon_0: sp.Rational(1, 10)}
    proof.assumes("l1_geometry/lem-d5", epsilon_0, at[epsilon_0])
    for mine, its in ((alpha, alpha_0), (epsilon, epsilon_0)):
        most = proof.assumes("l1_geometry/lem-d5", mine, its)
        proof.assumes("l1_geometry/lem-d4@corrected", mine, most.subs(at))
    scaled = proof.uses("l1_geometry/lem-d5", n_0 * alpha_0 * epsilon_0 / (alpha * epsilon))
    reached = scaled.subs({n_0: hard, **at})
    proof.equal(
        "at α = 1/d it is α^{−3/2}/(10ε)",
        lambda: reached.xreplace({d: 1 / alpha}),
        alpha ** -sp.Rational(3, 2) / (10 * epsilon),
    )
    proof.concludes("l1_geometry/lem-d4@corrected", reached)


lem_d5 = claim(
    "l1_geometry/lem-d5",
    "Lemma D.5",
    "For 0 < α ≤ α_0 and 0 < ε ≤ ε_0 ≤ 0.1, n*(α,ε) ≥ Ω(α_0ε_0/(αε)·n*(α_0,ε_0)).",
    kind="lemma",
    section="D.2",
    quantity="sample complexity",
    relation=">=",
    order=TRANSFER,
    assumptions=(sp.Le(epsilon_0, sp.Rational(1, 10)), sp.Le(alpha, alpha_0), sp.Le(epsilon, epsilon_0)),
    about=("l1_geometry/proc-pad-and-copy",),
    grade="proof gap",
    remark="k = ⌊log(1+ε_0)/ε⌋ is 0 for ε between log(1+ε_0) and ε_0; k = 1 serves there (S16).",
)


lem_d6 = claim(
    "l1_geometry/lem-d6",
    "Lemma D.6",
    "n*(1/d, 0.1) ≥ Ω̃(d^{3/2}).",
    kind="lemma",
    section="D.2",
    quantity="sample complexity",
    relation=">=",
    order=d ** sp.Rational(3, 2),
)


hard_dimension = underived(
    "l1_geometry/lem-d6", "a reduction from one-way marginals with nothing to choose; argued in the paper's Section D.2"
)


proc_pad = claim(
    "l1_geometry/proc-pad-and-copy",
    "Construction in the proof of Lemma D.5",
    "k copies of a small data set S' and records of zero loss: F̂(x;S) = (kn'/n)F̂(x;S'), and A' = A(S) is "
    "(kε, (e^{kε}−1)/(e^ε−1)δ)-DP.",
    kind="procedure",
    section="D.2",
)


fact_group = claim(
    "l1_geometry/fact-group-privacy",
    "SU17, Fact 2.2",
    "An (ε,δ)-DP algorithm is (kε, (e^{kε}−1)/(e^ε−1)δ)-DP for groups of k records.",
    kind="lemma",
    section="D.2",
    origin="cited",
    quantity="delta at kε for groups of k",
    relation="<=",
    explicit=(sp.exp(k * epsilon) - 1) / (sp.exp(epsilon) - 1) * delta,
)
