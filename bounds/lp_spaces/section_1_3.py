"""Sections 1 to 3: contributions and tables, definitions, and the tools that the paper takes over."""

import sympy as sp

from dpcheck.symbols import D, L, b, d, delta, epsilon, kappa, m, n, omega, p, q, sigma

from ._paper import LOG, NOISE, PRIVACY, claim

contrib_1 = claim(
    "lp_spaces/claim-contrib-1",
    "Introduction, contribution 1",
    "Excess risk Õ(G_C/(nε) + 1/√n) for convex losses and Õ(G_C²/(n²ε²) + 1/n) for losses that are strongly convex "
    "with respect to ‖·‖_C, with a lower bound of the second form that is close up to logarithms.",
    kind="proposition",
    section="1",
    quantity="excess risk, strongly convex",
    measures="excess risk",
    relation="<=",
    order=omega**2 * LOG / (n * epsilon) ** 2 + 1 / n,
    about=("lp_spaces/alg-1", "lp_spaces/alg-2"),
    grade="slip",
    remark="Theorem 4 prints 1/(nε) where this, Table 1 and Theorem 5 have 1/n. The derivation gives 1/n: the weaker "
    "statement is Theorem 4's (S5). 'Optimal up to poly(log d)' in the abstract is a factor C_min^(-2) in the text, "
    "which is 4d for the cross-polytope (S11).",
)

contrib_1_convex = claim(
    "lp_spaces/claim-contrib-1@convex",
    "Introduction, contribution 1, convex losses",
    "The first of the two rates, with the logarithm of Theorem 2.",
    kind="proposition",
    section="1",
    quantity="excess risk, convex",
    relation="<=",
    order=omega * sp.sqrt(LOG) / (n * epsilon) + 1 / sp.sqrt(n),
    about=("lp_spaces/alg-1",),
)

contrib_2 = claim(
    "lp_spaces/claim-contrib-2",
    "Introduction, contribution 2",
    "For 1 < p < 2 on the whole space, excess risk Õ(κ^{4/5} (√(d log(1/δ))/(nε))^{2/5}).",
    kind="proposition",
    section="1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=kappa ** sp.Rational(4, 5) * (sp.sqrt(d * LOG) / (n * epsilon)) ** sp.Rational(2, 5),
    about=("lp_spaces/alg-3",),
)

contrib_3 = claim(
    "lp_spaces/claim-contrib-3",
    "Introduction, contribution 3",
    "For heavy tails and 1 < p < 2: Õ(√(κ² d log(1/δ))/√(nε)) for small ε, and Õ(κ^{2/3}(d log(1/δ))^{1/6}/(nε)^{1/3}) "
    "for all ε < 1.",
    kind="proposition",
    section="1",
    quantity="excess risk, small ε",
    measures="excess risk",
    relation="<=",
    order=sp.sqrt(kappa**2 * d * LOG) / sp.sqrt(n * epsilon),
    about=("lp_spaces/alg-4", "lp_spaces/proc-batched-md"),
    remark="Theorem 10 and Table 2 have the fourth root of κ² d log(1/δ); the index may have been lost in the text at "
    "hand, so nothing is said against the page as printed (S17).",
)

contrib_3_all = claim(
    "lp_spaces/claim-contrib-3@all-epsilon",
    "Introduction, contribution 3, all ε < 1",
    "The second of the two rates.",
    kind="proposition",
    section="1",
    quantity="excess risk, all ε",
    relation="<=",
    order=kappa ** sp.Rational(2, 3) * (d * LOG) ** sp.Rational(1, 6) / (n * epsilon) ** sp.Rational(1, 3),
    about=("lp_spaces/proc-batched-md",),
)

table_1 = claim(
    "lp_spaces/claim-table-1",
    "Table 1",
    "Rates with the Gaussian width: G_C/(nε) and G_C²/(n²ε²) for empirical risk, √G_C/√(nε) for generalised linear "
    "models, and this paper's population rates.",
    kind="proposition",
    section="3",
    origin="cited",
    quantity="excess risk, convex",
    measures="excess risk",
    relation="<=",
    order=omega / (n * epsilon) + 1 / sp.sqrt(n),
    remark="The row of Amid et al. is ambiguous in the text at hand and is left out (S17).",
)

table_2 = claim(
    "lp_spaces/claim-table-2",
    "Table 2",
    "Rates in ℓ_p^d: for 1 < p < 2 those of Theorems 7 and 10 next to the constrained rate; for p >= 2 that of "
    "Theorem 8 and a heavy-tail rate.",
    kind="proposition",
    section="3",
    quantity="excess risk, heavy tails, M = 1",
    measures="excess risk",
    relation="<=",
    order=(kappa**2 * d) ** sp.Rational(1, 4) / sp.sqrt(n * epsilon),
    remark="The first summands of the p >= 2 column lack 1/√n, which the text after Theorem 8 has (S17).",
)

table_1_strong = claim(
    "lp_spaces/claim-table-1@strongly-convex",
    "Table 1, strongly convex losses, this paper",
    "The second entry of its last row: without 1/ε beside 1/n.",
    kind="proposition",
    section="3",
    quantity="excess risk, strongly convex",
    relation="<=",
    order=omega**2 / (n * epsilon) ** 2 + 1 / n,
)

table_2_unconstrained = claim(
    "lp_spaces/claim-table-2@unconstrained",
    "Table 2, unconstrained, 1 < p < 2",
    "The entry of Theorem 7.",
    kind="proposition",
    section="3",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=kappa ** sp.Rational(4, 5) * (sp.sqrt(d) / (n * epsilon)) ** sp.Rational(2, 5),
)

table_2_all = claim(
    "lp_spaces/claim-table-2@all-epsilon",
    "Table 2, heavy tails, all ε < 1",
    "The entry of Appendix 10.",
    kind="proposition",
    section="3",
    quantity="excess risk, all ε",
    relation="<=",
    order=kappa ** sp.Rational(2, 3) * d ** sp.Rational(1, 6) / (n * epsilon) ** sp.Rational(1, 3),
)

table_2_large_p = claim(
    "lp_spaces/claim-table-2@large-p",
    "Table 2, unconstrained, p >= 2",
    "The entry of Theorem 8, at ‖θ*‖ = 1.",
    kind="proposition",
    section="3",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=d ** (1 - 2 / p) * (1 / sp.sqrt(n) + sp.sqrt(d) / (epsilon * n)),
)

def_1 = claim(
    "lp_spaces/def-1",
    "Definition 1",
    "(ε, δ)-differential privacy: P(A(D) ∈ E) <= e^ε P(A(D') ∈ E) + δ for data sets that differ in one record.",
    kind="definition",
    section="3",
    origin="cited",
)

lem_1 = claim(
    "lp_spaces/lem-1",
    "Lemma 1",
    "T-fold adaptive composition of (ε/(2√(2T log(2/δ))), δ/T)-DP mechanisms is (ε, 2δ)-DP.",
    kind="lemma",
    section="3",
    origin="cited",
    assumptions=PRIVACY,
    quantity="δ that is spent at ε",
    relation="<=",
    explicit=2 * delta,
    remark="The conclusion is (ε, 2δ), so a use that claims (ε, δ) must enter with δ/2; Theorem 6 does not depend on "
    "it (S20).",
)

def_2 = claim(
    "lp_spaces/def-2",
    "Definition 2",
    "Private stochastic convex optimisation in a normed space: population risk, excess risk, empirical risk; the "
    "output lies in the domain.",
    kind="definition",
    section="3",
    origin="cited",
)

def_3 = claim(
    "lp_spaces/def-3",
    "Definition 3",
    "(E, ‖·‖) is κ-regular when some norm ‖·‖_+ is κ_+-smooth in its square, κ_+ <= κ, and ‖x‖² <= ‖x‖_+² <= "
    "(κ/κ_+)‖x‖². For ℓ_a^d, a >= 2: ‖·‖_+ = ‖·‖_r with r = min{a, 2 log d + 1}, and κ = min{a − 1, 2e log d}.",
    kind="definition",
    section="3",
    origin="cited",
    quantity="κ",
    relation="=",
    explicit=sp.Min(q - 1, 2 * sp.E * sp.log(d)),
    assumptions=(sp.Ge(q, 2), sp.Ge(d, 2)),
    grade="slip",
    remark="Right as stated; its use for the dual space drops the factor e: κ = min{1/(p−1), 2 log d} (S3).",
)

def_3_literal = claim(
    "lp_spaces/def-3@literal",
    "κ as it is used for the dual of ℓ_p",
    "The dual ℓ_q^d of ℓ_p^d, 1 < p < 2, is κ-regular with κ = min{1/(p−1), 2 log d} and the norm ‖·‖_r.",
    kind="definition",
    section="3",
    quantity="κ",
    relation="=",
    explicit=sp.Min(1 / (p - 1), 2 * sp.log(d)),
    assumptions=(sp.Gt(p, 1), sp.Lt(p, 2), sp.Ge(d, 2)),
    grade="slip",
    remark="At x = (1, …, 1) the ratio ‖x‖_r²/‖x‖_q² is d^{2/r−2/q} > 1 = κ/κ_+ once q > 2 log d + 1.",
)

def_3_corrected = claim(
    "lp_spaces/def-3@corrected",
    "κ that Definition 3 allows",
    "With r = min{q, 2 log d + 1}, κ = (r − 1) d^{2/r−2/q} is the smallest constant for the norm ‖·‖_r, and it is at "
    "most e (r − 1).",
    kind="definition",
    section="3",
    origin="ours",
    quantity="κ",
    relation="<=",
    explicit=sp.E * sp.Min(q - 1, 2 * sp.log(d)),
    assumptions=(sp.Ge(q, 2), sp.Ge(d, 2)),
)

GAUSSIAN = 2 * L**2 * sp.log(sp.Rational(5, 4) / delta) / epsilon**2

lem_2 = claim(
    "lp_spaces/lem-2",
    "Lemma 2",
    "Gaussian noise of variance 2 Δ_2² log(1.25/δ)/ε² is (ε, δ)-DP.",
    kind="lemma",
    section="3",
    origin="cited",
    quantity="variance",
    relation="=",
    explicit=GAUSSIAN,
    assumptions=(sp.Lt(delta, 1),),
    grade="slip",
    remark="Stated for every ε; right for ε <= 1, false at ε = 10. The theorems of the paper have ε < 1.",
)

lem_2_literal = claim(
    "lp_spaces/lem-2@literal",
    "Lemma 2 for every ε",
    "The same, with no limit on ε, as printed.",
    kind="lemma",
    section="3",
    origin="cited",
    quantity="variance",
    relation="=",
    explicit=GAUSSIAN,
    assumptions=(sp.Lt(delta, 1),),
    grade="slip",
    remark="At ε = 10 and δ = 1e-5 the exact δ of this noise is above 1e-5.",
)

lem_2_corrected = claim(
    "lp_spaces/lem-2@corrected",
    "Lemma 2 for ε <= 1 and δ <= 1/2",
    "The same for ε <= 1 and δ <= 1/2.",
    kind="lemma",
    section="3",
    origin="ours",
    quantity="variance",
    relation="=",
    explicit=GAUSSIAN,
    assumptions=(sp.Le(epsilon, 1), sp.Le(delta, sp.Rational(1, 2))),
)

def_4 = claim(
    "lp_spaces/def-4",
    "Definition 4",
    "The generalised Gaussian law has density proportional to exp(−‖z − μ‖_+²/(2σ²)); its normalising constant is "
    "given through the surface measure of the unit sphere of ‖·‖_+.",
    kind="definition",
    section="3",
    origin="cited",
    grade="slip",
    remark="The surface measure is right for ‖·‖_2 and ‖·‖_∞ only; d times the volume is right for every norm (S10). "
    "No algorithm uses the constant.",
)

def_4_literal = claim(
    "lp_spaces/def-4@literal",
    "Definition 4 with the surface measure",
    "The (d−1)-dimensional surface measure of the unit sphere of ‖·‖_q, q >= 2, equals d times the volume of its ball.",
    kind="definition",
    section="3",
    origin="cited",
    assumptions=(sp.Ge(q, 2), sp.Ge(d, 2)),
    grade="slip",
    remark="In the plane, q = 3: perimeter 6.745 against 2·area = 7.067.",
)

lem_3 = claim(
    "lp_spaces/lem-3",
    "Lemma 3",
    "In the dual of a κ-regular space, generalised Gaussian noise with σ² = 2κ log(1/δ) s²/ε² on a query of "
    "sensitivity s is (ε, δ)-DP.",
    kind="lemma",
    section="3",
    origin="cited",
    quantity="σ²",
    relation="=",
    explicit=2 * kappa * LOG * L**2 / epsilon**2,
    assumptions=(sp.Lt(delta, 1),),
    grade="slip",
    remark="Stands for ε < 1 in a space that is κ-regular in truth; false for κ = 2 log d in the logarithmic regime "
    "(S3), and for large ε, on which the lemma sets no limit (`@large-epsilon`).",
)

lem_3_literal = claim(
    "lp_spaces/lem-3@literal",
    "Lemma 3 with κ = 2 log d",
    "The same with κ = min{1/(p−1), 2 log d} for the dual of ℓ_p^d.",
    kind="lemma",
    section="3",
    quantity="δ at ε = 0.5 and noise for 1e-9, d = 1000, p → 1",
    relation="<=",
    explicit=delta,
    assumptions=PRIVACY,
    grade="slip",
    remark="The true δ there is about 4.5e-9.",
)

lem_3_large_epsilon = claim(
    "lp_spaces/lem-3@large-epsilon",
    "Lemma 3 for every ε",
    "The same with no limit on ε, as printed.",
    kind="lemma",
    section="3",
    origin="cited",
    quantity="σ²",
    relation="=",
    explicit=2 * kappa * LOG * L**2 / epsilon**2,
    assumptions=(sp.Lt(delta, 1), sp.Ge(kappa, 1)),
    grade="slip",
    remark="For κ = 1 the noise is Gaussian, and at ε = 10, δ = 1e-5 its exact δ is 2.9e-5.",
)

lem_3_corrected = claim(
    "lp_spaces/lem-3@corrected",
    "Lemma 3 for ε < 1 and a true κ",
    "The same for ε < 1 and δ <= 1/2 in a space that is κ-regular by Definition 3.",
    kind="lemma",
    section="3",
    origin="ours",
    quantity="σ²",
    relation="=",
    explicit=2 * kappa * LOG * L**2 / epsilon**2,
    assumptions=(sp.Lt(epsilon, 1), sp.Le(delta, sp.Rational(1, 2))),
)

lem_3_derived = claim(
    "lp_spaces/lem-3@derived",
    "Lemma 3 as concentrated privacy",
    "In a κ-regular space the generalised Gaussian mechanism is ρ-zCDP with ρ = κ s²/(2σ²): it composes like a "
    "Gaussian.",
    kind="lemma",
    section="3",
    origin="ours",
    quantity="ρ",
    relation="<=",
    explicit=kappa * L**2 / (2 * sigma**2),
)

lem_4 = claim(
    "lp_spaces/lem-4",
    "Lemma 4",
    "A generalised Gaussian vector has E‖z‖_+^m = (2σ²)^{m/2} Γ((m+d)/2)/Γ(d/2); in particular E‖z‖_*² <= E‖z‖_+² = "
    "dσ².",
    kind="lemma",
    section="3",
    origin="cited",
    quantity="E‖z‖_+^m",
    relation="=",
    explicit=(2 * sigma**2) ** (m / 2) * sp.gamma((m + d) / 2) / sp.gamma(d / 2),
)

def_5 = claim(
    "lp_spaces/def-5",
    "Definition 5",
    "A loss is L-Lipschitz with respect to ‖·‖ when |ℓ(w) − ℓ(v)| <= L‖w − v‖; equivalently its gradients have dual "
    "norm at most L.",
    kind="definition",
    section="3",
)
def_6 = claim(
    "lp_spaces/def-6",
    "Definition 6",
    "A loss is β-smooth with respect to ‖·‖ when ‖∇ℓ(w) − ∇ℓ(v)‖_* <= β‖w − v‖.",
    kind="definition",
    section="3",
)
def_7 = claim(
    "lp_spaces/def-7",
    "Definition 7",
    "A loss is α-strongly convex with respect to ‖·‖ when <∇ℓ(w) − ∇ℓ(v), w − v> >= α‖w − v‖².",
    kind="definition",
    section="3",
)
def_8 = claim(
    "lp_spaces/def-8",
    "Definition 8",
    "The Bregman divergence of Φ is D_Φ(y, x) = Φ(y) − Φ(x) − <∇Φ(x), y − x>.",
    kind="definition",
    section="3",
)
def_9 = claim(
    "lp_spaces/def-9",
    "Definition 9",
    "f is α-strongly convex relative to Φ when f(y) >= f(x) + <∇f(x), y − x> + αD_Φ(y, x).",
    kind="definition",
    section="3",
    origin="cited",
)
def_10 = claim(
    "lp_spaces/def-10",
    "Definition 10",
    "f is β-smooth relative to Φ when f(y) <= f(x) + <∇f(x), y − x> + βD_Φ(y, x).",
    kind="definition",
    section="3",
    origin="cited",
)
def_11 = claim(
    "lp_spaces/def-11",
    "Definition 11",
    "The Minkowski norm of a symmetric convex body C is ‖x‖_C = inf{t > 0: x ∈ tC}, its dual ‖y‖_{C*} = max over C of "
    "<y, w>, and |<x, y>| <= ‖x‖_C ‖y‖_{C*}.",
    kind="definition",
    section="3",
)
def_12 = claim(
    "lp_spaces/def-12",
    "Definition 12",
    "The Gaussian width is G_C = E sup over C of <ξ, w>: O(√log d) for the ℓ_1 ball, O(√(s log(d/s))) for s-sparse "
    "unit vectors.",
    kind="definition",
    section="3",
    quantity="Gaussian width of the unit ℓ_1 ball",
    relation="<=",
    explicit=sp.sqrt(2 * sp.log(2 * d)),
)
def_12_derived = claim(
    "lp_spaces/def-12@derived",
    "Gaussian width of sparse unit vectors",
    "The s-sparse vectors of the unit ball have width at most √(2s log(ed/s)) + √s.",
    kind="definition",
    section="3",
    origin="ours",
    quantity="Gaussian width of s-sparse unit vectors",
    relation="<=",
    explicit=sp.sqrt(2 * b * sp.log(sp.E * d / b)) + sp.sqrt(b),
    assumptions=(sp.Le(b, d),),
)

proc_gg = claim(
    "lp_spaces/proc-gg",
    "Sampler of the generalised Gaussian law",
    "Independent |y_j|^r ~ Gamma(1/r) with random signs give the cone measure y/‖y‖_r; times σχ_d it is exact.",
    kind="procedure",
    section="3",
    origin="cited",
)
proc_shuffle = claim(
    "lp_spaces/proc-shuffle",
    "Amplification by shuffling",
    "n adaptive (ε_0, δ_0)-DP local randomisers on shuffled records are (ε, δ)-DP with ε = log(1 + "
    "((e^{ε_0}−1)/(e^{ε_0}+1))(8√(e^{ε_0} log(4/δ)/n) + 8e^{ε_0}/n)) and n(e^ε+1)(1+e^{−ε_0}/2)δ_0 added to δ.",
    kind="procedure",
    section="5.2",
    origin="cited",
    about=("lp_spaces/alg-4",),
)
proc_bassily21 = claim(
    "lp_spaces/proc-bassily21",
    "Constrained ℓ_p baseline",
    "Lipschitz losses on a set of diameter M: Õ((M + M²)(√κ/√n + κ√(d log(1/δ))/(nε))) for 1 < p < 2.",
    kind="procedure",
    section="5.1",
    origin="cited",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=(D + D**2) * (sp.sqrt(kappa / n) + kappa * NOISE),
)
