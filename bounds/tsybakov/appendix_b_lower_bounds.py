"""Appendix B: what the lower bounds of Section 5 rest on, Fano's inequality and the hard instances."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import d, k, n, p, positive, r_k, rho, theta

from ._paper import a, claim

N, Sigma = positive("N Sigma")

lem_5 = claim(
    "tsybakov/lem-5",
    "Lemma 5 (private Fano)",
    "For N laws with pairwise Φ(dist) >= a, KL <= b and total variation <= p, the average risk is at least "
    "(a/2) max{1 − (nb + log 2)/log N, 1 − (ρ(n²p² + np(1 − p)) + log 2)/log N}, for every non-decreasing Φ.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="average risk",
    relation=">=",
    explicit=a / 2 * (1 - (rho * (n**2 * p**2 + n * p * (1 - p)) + sp.log(2)) / sp.log(N)),
    grade="refuted",
    remark="False for Φ(t) = t⁴, which the proofs of Theorems 4 and 5 allow: the centroid of a simplex of N = "
    "16 vertices has risk 0.22 against 0.375 (S6). The constants of the two theorems change, not their "
    "orders.",
)

lem_5_corrected = lem_5.as_read(
    "tsybakov/lem-5@corrected",
    "Private Fano at half the distance",
    "The same with Φ(half the least distance) in the place of a/2; with a/2 when Φ∘dist is itself a pseudometric.",
    origin="ours",
    explicit=a * (1 - (rho * (n**2 * p**2 + n * p * (1 - p)) + sp.log(2)) / sp.log(N)),
)

lem_5_underived = underived(
    "tsybakov/lem-5", "cited, and refuted as printed; the corrected reading is Fano's at half the distance"
)


@derivation("tsybakov/lem-5@corrected")
def test_of_the_laws(proof: Proof) -> None:
    """An estimate nearer than half the least distance names its law; what a test of N laws errs is Fano's.

    Every decoder that is ρ-zCDP, every Φ that does not fall, all laws of pairwise total variation p at most.
    """
    z = sp.Symbol("z", positive=True)
    moments = (1 - p + p * z) ** n
    squared = (sp.diff(moments, z, 2) + sp.diff(moments, z)).subs(z, 1)
    proof.argues("two product laws have a coupling that differs in k records, k binomial of n and at most p")
    mean = proof.equal("E k², by the generating function", squared, n**2 * p**2 + n * p * (1 - p))
    divergence = proof.argues(
        "k changed records cost k²ρ in zCDP, which bounds KL; KL is jointly convex", "KL", "<=", rho * mean
    )
    proof.argues("the mutual information of law and output is at most the mean of all pairs' KL")
    error = proof.argues("Fano's inequality: the error of a test of N equally likely laws", "", ">=",
                         1 - (divergence + sp.log(2)) / sp.log(N))  # fmt: skip
    risk = proof.argues(
        "where the nearest point errs Φ is at least a = Φ(half the least distance)", "", ">=", a * error
    )
    proof.concludes("tsybakov/lem-5@corrected", risk)


fact_power_tnc = claim(
    "tsybakov/fact-power-tnc",
    "In the proofs of Theorems 4 and 5",
    "‖w‖^θ/θ − <w, μ> satisfies (θ, 1)-TNC for θ >= 2.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="TNC constant",
    relation=">=",
    explicit=sp.Integer(1),
    grade="slip",
    remark="The constant is at most 1/θ (S5b); the order of the lower bounds is unaffected.",
    assumptions=(sp.Ge(theta, 2),),
)

fact_power_tnc_literal = fact_power_tnc.as_read(
    "tsybakov/fact-power-tnc@literal",
    "The constant 1 of the tilted power",
    "F(w) − F* >= ‖w − w*‖^θ for F = ‖w‖^θ/θ − <w, μ>.",
    grade="slip",
    remark="At θ = 2 it is 1/2 everywhere; at θ = 4 it is 1/12, at w = −2w*.",
)

fact_power_tnc_corrected = fact_power_tnc.as_read(
    "tsybakov/fact-power-tnc@corrected",
    "Tilted power on the ball of its minimiser",
    "On ‖w‖ <= ‖w*‖ the constant of ‖w‖^θ/θ − <w, μ> is 2^{1−θ}, attained at w = −w*.",
    origin="ours",
    explicit=2 ** (1 - theta),
)

fact_gv = claim(
    "tsybakov/fact-gv",
    "Gilbert-Varshamov",
    "The sign cube has a packing of size 2^{d/20} with pairwise Hamming distance d/8.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="size of the packing",
    relation=">=",
    explicit=2 ** (d / 20),
    about=("tsybakov/proc-gv-packing",),
)

proc_gv_packing = claim(
    "tsybakov/proc-gv-packing",
    "Packing generator",
    "Random sign vectors kept when they are at least d/8 from all kept before.",
    kind="procedure",
    section="B",
    origin="cited",
    quantity="Hamming distance",
    relation=">=",
    explicit=d / 8,
)

proc_lb4_data = claim(
    "tsybakov/proc-lb4-data",
    "Hard instance of Theorem 4",
    "x = 0 with probability 1 − p_a, else p_a^{−1/k}(r̃_k/(2√d))v; f = −<w, x> + ‖w‖^θ/θ.",
    kind="procedure",
    section="B",
    quantity="length of the mean",
    relation="=",
    explicit=p ** ((k - 1) / k) * r_k / 2,
    about=("tsybakov/proc-gv-packing",),
)

proc_lb5_data = claim(
    "tsybakov/proc-lb5-data",
    "Hard instance of Theorem 5",
    "Independent coordinates v_jr̃_k/(2√d) with probability (1 + δ)/2, the opposite otherwise; the same loss.",
    kind="procedure",
    section="B",
    quantity="length of a record",
    relation="=",
    explicit=r_k / 2,
    about=("tsybakov/proc-gv-packing",),
)
