"""Section 3: definitions, and the generalised Gaussian mechanism."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import L, T, b, d, delta, epsilon, kappa, m, p, q, sigma

from ._paper import LOG, PRIVACY, claim

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


@derivation("lp_spaces/lem-1", Regime(base=None, others="free"))
def advanced_composition(proof: Proof) -> None:
    """The first term of advanced composition is ε/2 at most, the second below ε/2 for ε ≤ 1; the δ add up to 2δ."""
    log_2 = sp.Symbol("log_2", positive=True)
    each = epsilon / (2 * sp.sqrt(2 * T * log_2))
    proof.argues(
        "advanced composition of T mechanisms, ε' each, at log(1/δ) ≤ log(2/δ) and e^{ε'} − 1 ≤ 2ε'",
        "ε",
        "<=",
        sp.sqrt(2 * T * log_2) * each + 2 * T * each**2,
    )
    proof.at_most("its first term", lambda: sp.sqrt(2 * T * log_2) * each, epsilon / 2)
    proof.equal("Tε'²", lambda: T * each**2, epsilon**2 / (8 * log_2))
    total = proof.equal("δ + Tδ' at δ' = δ/T", lambda: delta + T * delta / T, 2 * delta)
    proof.concludes("lp_spaces/lem-1", total)


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


def_3_literal = def_3.as_read(
    "lp_spaces/def-3@literal",
    "κ as it is used for the dual of ℓ_p",
    "The dual ℓ_q^d of ℓ_p^d, 1 < p < 2, is κ-regular with κ = min{1/(p−1), 2 log d} and the norm ‖·‖_r.",
    explicit=sp.Min(1 / (p - 1), 2 * sp.log(d)),
    assumptions=(sp.Gt(p, 1), sp.Lt(p, 2), sp.Ge(d, 2)),
    grade="slip",
    remark="At x = (1, …, 1) the ratio ‖x‖_r²/‖x‖_q² is d^{2/r−2/q} > 1 = κ/κ_+ once q > 2 log d + 1.",
    origin="own",
)


def_3_corrected = def_3.as_read(
    "lp_spaces/def-3@corrected",
    "κ that Definition 3 allows",
    "With r = min{q, 2 log d + 1}, κ = (r − 1) d^{2/r−2/q} is the smallest constant for the norm ‖·‖_r, and it is at "
    "most e (r − 1).",
    origin="ours",
    relation="<=",
    explicit=sp.E * sp.Min(q - 1, 2 * sp.log(d)),
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


lem_2_literal = lem_2.as_read(
    "lp_spaces/lem-2@literal",
    "Lemma 2 for every ε",
    "The same, with no limit on ε, as printed.",
    grade="slip",
    remark="At ε = 10 and δ = 1e-5 the exact δ of this noise is above 1e-5.",
)


lem_2_corrected = lem_2.as_read(
    "lp_spaces/lem-2@corrected",
    "Lemma 2 for ε <= 1 and δ <= 1/2",
    "The same for ε <= 1 and δ <= 1/2.",
    origin="ours",
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


def_4_literal = def_4.as_read(
    "lp_spaces/def-4@literal",
    "Definition 4 with the surface measure",
    "The (d−1)-dimensional surface measure of the unit sphere of ‖·‖_q, q >= 2, equals d times the volume of its ball.",
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


lem_3_literal = lem_3.as_read(
    "lp_spaces/lem-3@literal",
    "Lemma 3 with κ = 2 log d",
    "The same with κ = min{1/(p−1), 2 log d} for the dual of ℓ_p^d.",
    quantity="δ at ε = 0.5 and noise for 1e-9, d = 1000, p → 1",
    relation="<=",
    explicit=delta,
    assumptions=PRIVACY,
    grade="slip",
    remark="The true δ there is about 4.5e-9.",
    origin="own",
)


lem_3_large_epsilon = lem_3.as_read(
    "lp_spaces/lem-3@large-epsilon",
    "Lemma 3 for every ε",
    "The same with no limit on ε, as printed.",
    assumptions=(sp.Lt(delta, 1), sp.Ge(kappa, 1)),
    grade="slip",
    remark="For κ = 1 the noise is Gaussian, and at ε = 10, δ = 1e-5 its exact δ is 2.9e-5.",
)


lem_3_corrected = lem_3.as_read(
    "lp_spaces/lem-3@corrected",
    "Lemma 3 for ε < 1 and a true κ",
    "The same for ε < 1 and δ <= 1/2 in a space that is κ-regular by Definition 3.",
    origin="ours",
    assumptions=(sp.Lt(epsilon, 1), sp.Le(delta, sp.Rational(1, 2))),
)


lem_3_derived = lem_3.as_read(
    "lp_spaces/lem-3@derived",
    "Lemma 3 as concentrated privacy",
    "In a κ-regular space the generalised Gaussian mechanism is ρ-zCDP with ρ = κ s²/(2σ²): it composes like a "
    "Gaussian.",
    origin="ours",
    quantity="ρ",
    relation="<=",
    explicit=kappa * L**2 / (2 * sigma**2),
    assumptions=(),
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


def_12_derived = def_12.as_read(
    "lp_spaces/def-12@derived",
    "Gaussian width of sparse unit vectors",
    "The s-sparse vectors of the unit ball have width at most √(2s log(ed/s)) + √s.",
    origin="ours",
    quantity="Gaussian width of s-sparse unit vectors",
    explicit=sp.sqrt(2 * b * sp.log(sp.E * d / b)) + sp.sqrt(b),
    assumptions=(sp.Le(b, d),),
)


@derivation("lp_spaces/def-12@derived")
def width_of_sparse_vectors(proof: Proof) -> None:
    """A maximum of N norms of b normals, each of mean √b at most and with Gaussian tails, over all supports."""
    count = sp.Symbol("N", positive=True)
    proof.assumes("lp_spaces/def-12@derived", b, d)
    most = proof.argues("the maximum of N norms", "width", "<=", sp.sqrt(b) + sp.sqrt(2 * sp.log(count)))
    supports = proof.argues("binomial(d, b) ≤ (ed/b)^b", "log N", "=", b * sp.log(sp.E * d / b))
    proof.concludes("lp_spaces/def-12@derived", most.subs(sp.log(count), supports))


widths = underived("lp_spaces/def-12", "a definition with two examples: maxima of normals, with nothing to choose")


proc_gg = claim(
    "lp_spaces/proc-gg",
    "Sampler of the generalised Gaussian law",
    "Independent |y_j|^r ~ Gamma(1/r) with random signs give the cone measure y/‖y‖_r; times σχ_d it is exact.",
    kind="procedure",
    section="3",
    origin="cited",
)
