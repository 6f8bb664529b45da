"""Section 6 and Appendix D: lower bounds. D is the radius of the ℓ₁ ball here, as printed."""

import sympy as sp

from dpcheck.symbols import D, H, L, alpha, d, delta, epsilon, k, n

from ._paper import (
    LOWER,
    alpha_0,
    claim,
    epsilon_0,
    n_0,
)

TWO_THIRDS = sp.Rational(2, 3)

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

lem_6_1_literal = claim(
    "l1_geometry/lem-6-1@literal",
    "Lemma 6.1 for all n, d and ε",
    "For some c > 0 the worst error is at least cD√d/(nε log d) at every n, d and ε ≤ 1.",
    kind="lemma",
    section="6.1",
    quantity="error of the signs",
    relation=">=",
    order=D * LOWER,
    assumptions=(sp.Ge(d, 2), sp.Ge(n, 1), sp.Le(epsilon, 1)),
    grade="slip",
    remark="Uniformly random signs have error at most D/2; at n = ε = 1 the right side grows like √d/log d.",
)

lem_6_1_corrected = claim(
    "l1_geometry/lem-6-1@corrected",
    "Lemma 6.1 with its cap",
    "For ε ≤ 0.05 and δ = n^{-ω(1)} the worst error is at least Ω(D min{1, √d/(nε log d)}).",
    kind="lemma",
    section="6.1",
    origin="ours",
    quantity="error of the signs",
    relation=">=",
    order=D * sp.Min(1, LOWER),
)

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

thm_10_literal = claim(
    "l1_geometry/thm-10@literal",
    "Theorem 10 for all n, d and ε",
    "For some c > 0 the excess is at least cLD√d/(nε log d) at every n, d and ε ≤ 1.",
    kind="theorem",
    section="6.1",
    quantity="excess empirical loss",
    measures="empirical suboptimality",
    relation=">=",
    order=L * D * LOWER,
    assumptions=(sp.Ge(d, 2), sp.Ge(n, 1), sp.Le(epsilon, 1)),
    grade="slip",
    remark="The constant output 0 has excess at most LD on every data set.",
)

thm_10_corrected = claim(
    "l1_geometry/thm-10@corrected",
    "Theorem 10 with its cap",
    "For ε ≤ 0.05 and δ = n^{-ω(1)} the excess is at least Ω(LD min{1, √d/(nε log d)}).",
    kind="theorem",
    section="6.1",
    origin="ours",
    quantity="excess empirical loss",
    measures="empirical suboptimality",
    relation=">=",
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

thm_11_literal = claim(
    "l1_geometry/thm-11@literal",
    "Theorem 11 for all n and ε",
    "For some c > 0 the excess is at least cLD min((nε)^{-2/3}, √d/(nε)), also for nε < 1.",
    kind="theorem",
    section="6.2",
    quantity="excess empirical loss",
    measures="empirical suboptimality",
    relation=">=",
    order=L * D * sp.Min((n * epsilon) ** (-TWO_THIRDS), sp.sqrt(d) / (n * epsilon)),
    assumptions=(sp.Ge(n, 1), sp.Ge(d, 1), sp.Le(epsilon, 1), sp.Le(H, L / D)),
    grade="slip",
    remark="No excess of an L-Lipschitz loss on this ball exceeds 2LD.",
)

thm_11_corrected = claim(
    "l1_geometry/thm-11@corrected",
    "Theorem 11 with its cap",
    "The excess is at least LD·Ω̃(min(1, (nε)^{-2/3}, √d/(nε))).",
    kind="theorem",
    section="6.2",
    origin="ours",
    quantity="excess empirical loss",
    measures="empirical suboptimality",
    relation=">=",
    order=L * D * sp.Min(1, (n * epsilon) ** (-TWO_THIRDS), sp.sqrt(d) / (n * epsilon)),
)

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

prop_1_literal = claim(
    "l1_geometry/prop-1@literal",
    "Proposition 1 for all α ≤ 1",
    "For some c > 0, n*(α,ε) ≥ c√d/(αε log d) at every α ≤ 1 and ε ≤ 1.",
    kind="proposition",
    section="D.1",
    quantity="sample complexity",
    relation=">=",
    order=sp.sqrt(d) / (alpha * epsilon * sp.log(d)),
    assumptions=(sp.Ge(d, 2), sp.Le(alpha, 1), sp.Le(epsilon, 1)),
    grade="slip",
    remark="Uniformly random signs are 0-DP and have error ½Σ|z̄_j| ≤ 1/2, so that n* = 1 for α ≥ 1/2.",
)

prop_1_corrected = claim(
    "l1_geometry/prop-1@corrected",
    "Proposition 1 for small α",
    "The bound for α ≤ 1/8 and ε ≤ 0.05, which is what the proof covers.",
    kind="proposition",
    section="D.1",
    origin="ours",
    quantity="sample complexity",
    relation=">=",
    order=sp.sqrt(d) / (alpha * epsilon * sp.log(d)),
    assumptions=(sp.Le(alpha, sp.Rational(1, 8)), sp.Le(epsilon, sp.Rational(1, 20))),
)

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

TRANSFER = alpha_0 * epsilon_0 / (alpha * epsilon) * n_0

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
)

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

proc_bootstrap = claim(
    "l1_geometry/proc-bootstrap",
    "Bootstrap from ERM to SCO (BFTT19)",
    "Running an SCO algorithm on n i.i.d. draws from the empirical distribution of S solves ERM on S, so lower bounds "
    "for ERM carry over.",
    kind="procedure",
    section="6",
    origin="cited",
)
