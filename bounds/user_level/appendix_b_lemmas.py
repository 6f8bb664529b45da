"""Appendix B: the lemmas behind Theorem B.1."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import B, C, D, H, L, T, d, eta, sigma, tau, zeta

from ._paper import claim, s
from .section_2_steps import DRIFT

lem_b2 = claim(
    "user_level/lem-b2",
    "Lemma B.2",
    "Given equal score bits and small Laplace noise on both sides, a coupling keeps the kept means of neighbours "
    "within τ_i log(1/ζ)/C of each other with probability 1 − ζ.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="distance of the kept means",
    relation="<=",
    order=tau * sp.log(1 / zeta) / C,
    about=("user_level/alg-1", "user_level/proc-outlier-removal"),
    probability=1 - zeta,
)
lem_b2_derived = lem_b2.as_read(
    "user_level/lem-b2@derived",
    "Lemma B.2 with constants",
    "If s >= 2C/3 on both sides, the coupled kept means are within 12τ(1 + B)/C, B the number of other points on which "
    "the coupling differs, a sum of C − 1 independent Bernoulli(<= 6/C).",
    origin="ours",
    explicit=12 * tau * (1 + B) / C,
    probability=None,
)
lem_b2_sharper = lem_b2.as_read(
    "user_level/lem-b2@sharper",
    "Lemma B.2, sharper",
    "The same with 6τ(2 + B)/C, by way of the points that both sides keep.",
    origin="ours",
    explicit=6 * tau * (2 + B) / C,
    probability=None,
)
lem_b2_tail = lem_b2.as_read(
    "user_level/lem-b2@tail",
    "Number of differing inclusions",
    "B < 6(e − 1) + log(1/ζ) = 10.31 + log(1/ζ) with probability 1 − ζ, since E e^B <= exp(6(e − 1)).",
    origin="ours",
    quantity="B",
    explicit=6 * (sp.E - 1) + sp.log(1 / zeta),
    about=("user_level/proc-outlier-removal",),
)


@derivation("user_level/lem-b2@sharper", also=("user_level/lem-b2@derived", "user_level/lem-b2@tail"))
def coupled_means(proof: Proof) -> None:
    """Kept points lie pairwise within 4τ, and the core is kept for certain; a moment bounds how many others differ."""
    moved = proof.argues(
        "points that one side keeps alone move its mean by 4τ over |S| each: both ends of the change, and B others",
        "‖h − h'‖",
        "<=",
        4 * tau * (2 + B) / s,
    )
    core = proof.argues("2C/3 points are near to 2C/3 others", "|S|", ">=", 2 * C / 3)
    proof.concludes("user_level/lem-b2@sharper", moved.subs(s, core))
    proof.concludes("user_level/lem-b2@derived", moved.subs(s, core), looser=True)
    moment = proof.argues("(1 + 6(e − 1)/C)^C <= e^{6(e − 1)}", "E e^B", "<=", sp.exp(6 * (sp.E - 1)))
    proof.concludes("user_level/lem-b2@tail", sp.log(moment) - sp.log(zeta))


lem_b3 = claim(
    "user_level/lem-b3",
    "Lemma B.3",
    "E[F(x̃) − F(y)] <= E‖y − x_0‖²/(ηT) + ηL² for the average iterate of SGD, η <= 1/β.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="excess over y",
    relation="<=",
    explicit=D**2 / (eta * T) + eta * L**2,
    assumptions=(sp.Le(eta * H, 1),),
    about=("user_level/proc-sgd",),
)
lem_b3_derived = lem_b3.as_read(
    "user_level/lem-b3@derived",
    "Lemma B.3, sharp",
    "Half of both terms, for the average of x_0, …, x_{T−1} and without smoothness.",
    origin="ours",
    explicit=D**2 / (2 * eta * T) + eta * L**2 / 2,
    assumptions=(),
)

lem_b4 = claim(
    "user_level/lem-b4",
    "Lemma B.4",
    "Lemma 2.3 with its proof, which bounds the squared difference of two gradient noises by 4L².",
    kind="lemma",
    section="B",
    quantity="distance of the averages",
    relation="<=",
    order=eta * L * sp.sqrt(T * sp.log(d * T / zeta)),
    assumptions=(sp.Le(eta * H, 1),),
    about=("user_level/proc-sgd",),
    probability=1 - zeta,
    grade="slip",
    remark="4L² holds in conditional expectation; pointwise it is 16L² (S21). Probabilities and indices are mixed up "
    "(S22). Both are constants.",
)
lem_b4_literal = claim(
    "user_level/lem-b4@literal",
    "Line (6), pointwise",
    "‖g − ∇F(x) − g' + ∇F(y)‖² <= 4L² for every pair of samples.",
    kind="lemma",
    section="B",
    quantity="squared difference of gradient noises, L = 1",
    relation="<=",
    explicit=sp.Integer(4),
    grade="slip",
    remark="With opposite rare slopes at two far points it is 16(1 − p)²: 15.97 at p = 10^{−3} (S21).",
)
lem_b4_corrected = claim(
    "user_level/lem-b4@corrected",
    "Line (6) with its constant",
    "‖g − ∇F(x) − g' + ∇F(y)‖² <= 16L²; in conditional expectation at most 2L².",
    kind="lemma",
    section="B",
    origin="ours",
    quantity="squared difference of gradient noises",
    relation="<=",
    explicit=16 * L**2,
)
lem_b4_derived = lem_b4.as_read(
    "user_level/lem-b4@derived",
    "The induction of Lemma B.4 by stopping",
    "ηL√T(4 + 8√(2 log(1/ζ))), as Lemma 2.3 without dimension.",
    origin="ours",
    quantity="largest distance of the iterates",
    explicit=eta * L * sp.sqrt(T) * DRIFT,
    assumptions=(sp.Le(eta * H, 2),),
)

eq_7 = claim(
    "user_level/fact-eq-7",
    "Equation (7)",
    "A phase loses at most dσ_{i−1}²/(η_iT_i) + η_iL² against the noiseless output of the phase before.",
    kind="proposition",
    section="B",
    quantity="excess over the previous phase",
    relation="<=",
    explicit=d * sigma**2 / (eta * T) + eta * L**2,
    about=("user_level/alg-1",),
)
eq_7_derived = eq_7.as_read(
    "user_level/fact-eq-7@derived",
    "Equation (7), sharp and clipped",
    "Half of both terms; with projected iterates the first is at most R²/(2η_iT_i) as well.",
    origin="ours",
    explicit=sp.Min(D**2, d * sigma**2) / (2 * eta * T) + eta * L**2 / 2,
)
