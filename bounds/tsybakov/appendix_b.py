"""Appendix B: facts and lemmas behind Theorems 1 to 3."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import C, D, L, beta, d, k, lambda_, n, positive, r_2, r_k, rho, sigma, t, theta

from ._paper import LOG, a, claim, x

fact_sens = claim(
    "tsybakov/fact-sens",
    "Equation (5)",
    "At one common w, replacing one record of n moves the clipped mean gradient by at most 2C/n.",
    kind="lemma",
    section="B",
    quantity="movement of the clipped mean",
    relation="<=",
    explicit=2 * C / n,
    remark="The step from one gradient to the whole descent is what fails: see thm-1.",
)

fact_zcdp_conversion = claim(
    "tsybakov/fact-zcdp-conversion",
    "Conversion and composition of zCDP",
    "ρ-zCDP is (ρ + 2√(ρ log(1/δ)), δ)-DP for every δ in (0, 1); ρ adds up under adaptive composition.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="epsilon at delta",
    relation="<=",
    explicit=rho + 2 * sp.sqrt(rho * LOG),
)


@derivation("tsybakov/fact-zcdp-conversion")
def conversion(proof: Proof) -> None:
    """ρα + log(1/δ)/(α − 1) for every Rényi order α; α − 1 = √(log(1/δ)/ρ) is the best one."""
    bound = proof.master("ε − ρ", {"order": rho * x, "tail": LOG / x}, text="Markov's inequality at order 1 + x")
    best = sp.sqrt(LOG / rho)
    slope = sp.diff(bound, x)
    proof.equal("the derivative vanishes at the choice", lambda: slope.xreplace({x: best}), 0)
    proof.concludes("tsybakov/fact-zcdp-conversion", rho + bound.subs(x, best))


fact_parallel = claim(
    "tsybakov/fact-parallel",
    "Parallel composition",
    "Mechanisms on disjoint parts of the data cost the largest of their guarantees.",
    kind="lemma",
    section="B",
    origin="cited",
)

fact_gauss_tail = claim(
    "tsybakov/fact-gauss-tail",
    "Tail of Gaussian noise",
    "P(‖ξ‖ >= t√d) <= 2 exp(−t²/(16σ²)) for ξ ~ N(0, σ²I), hence ‖ξ‖ <= 4√d σ log(4/β) with probability 1 − β.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="P(‖ξ‖ >= t√d)",
    relation="<=",
    explicit=2 * sp.exp(-(t**2) / (16 * sigma**2)),
)

e, R_0 = positive("e R_0")

lem_3 = claim(
    "tsybakov/lem-3",
    "Lemma 3",
    "For L-Lipschitz λ-strongly convex losses and β <= 1/n, the empirical minimiser has excess risk c L² log n "
    "log(1/β)/(λn) + cLD√(log(1/β)/n) at most, with probability 1 − β.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="excess risk of the empirical minimiser",
    relation="<=",
    order=L**2 * sp.log(n) * sp.log(1 / beta) / (lambda_ * n) + L * D * sp.sqrt(sp.log(1 / beta) / n),
    assumptions=(sp.Le(beta, 1 / n),),
    probability=1 - beta,
)

lem_3_underived = underived("tsybakov/lem-3", "cited; its constant c is not given, and its proof is not in the paper")

lem_4 = claim(
    "tsybakov/lem-4",
    "Lemma 4",
    "On the events of all calls, with λ between μ_{e*} and 2^{θ−1}μ_{e*}: ‖ŵ_{e−1} − w*‖ <= 2^{−(e−1)}R_0 and "
    "F(ŵ_e) − F* <= 2^{−e}·2R_0a for e <= e*, and F(ŵ_e) − F(ŵ_{e*}) <= 2^{−e*}·2R_0a after it.",
    kind="lemma",
    section="B",
    quantity="excess risk after e calls",
    relation="<=",
    explicit=2**-e * 2 * R_0 * a,
    about=("tsybakov/alg-4",),
)

lem_4_underived = underived(
    "tsybakov/lem-4", "an induction over the calls; the audits run it, and thm-2 uses its last line"
)

fact_thm3_recursion = claim(
    "tsybakov/fact-thm3-recursion",
    "Equations (10) to (14)",
    "Δ_i <= (Δ_{i−1}E_i)^{1/θ} with E_{i−1} <= 2^θE_i gives Δ_l <= C E_l^{1/(θ−1)}, C = "
    "2^{θ/(θ−1)²}·2^{θ³/(θ−1) + θ²|log_2 c_1|}.",
    kind="lemma",
    section="B",
    quantity="Δ_l/E_l^{1/(θ−1)}",
    relation="<=",
    explicit=2 ** (theta / (theta - 1) ** 2)
    * 2 ** (theta**3 / (theta - 1) + theta**2 * sp.Abs(theta / (theta - 1) * sp.log(a, 2) + theta / (theta - 1) ** 2)),
    about=("tsybakov/alg-5",),
    remark="a stands for the constant c of (11), c_1 = c^{θ/(θ−1)}2^{θ/(θ−1)²}. Printed with slips of exponents"
    " that do no harm (S18). The premise (11) is what does not follow: see thm-3.",
    assumptions=(sp.Gt(theta, 1),),
)

fact_thm3_recursion_underived = underived(
    "tsybakov/fact-thm3-recursion",
    "an induction whose constant holds |log_2 c_1|; the audits iterate it, and its premise (11) is what thm-3 lacks",
)

lem_7 = claim(
    "tsybakov/lem-7",
    "Lemma 7",
    "For the clipped mean of s records plus noise: ‖Eν̃ − ν‖ = ‖Eν̂ − ν‖ <= E‖ν̂ − ν‖ <= r^(k)/((k−1)C^{k−1}) "
    "and E‖ν̃ − Eν̃‖² <= dσ² + r^(2)/s.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="bias",
    relation="<=",
    explicit=r_k**k / ((k - 1) * C ** (k - 1)),
    grade="slip",
    remark="The middle expression does not vanish without clipping (S9); only the bias is used.",
    assumptions=(sp.Ge(k, 2),),
)

lem_7_literal = lem_7.as_read(
    "tsybakov/lem-7@literal",
    "The middle of Lemma 7",
    "E‖ν̂ − ν‖ <= r^(k)/((k−1)C^{k−1}).",
    quantity="E‖ν̂ − ν‖",
    grade="slip",
    remark="Ten fair signs of size 2, C = 100, k = 3: 0.492 against 0.0004.",
)

lem_7_corrected = lem_7.as_read(
    "tsybakov/lem-7@corrected",
    "Lemma 7 with the sharp bias",
    "‖Eν̂ − ν‖ <= ((k−1)^{k−1}/k^k) r^(k)/C^{k−1}.",
    origin="ours",
    explicit=(k - 1) ** (k - 1) / k**k * r_k**k / C ** (k - 1),
)

lem_7_variance = lem_7.as_read(
    "tsybakov/lem-7@variance",
    "Variance part of Lemma 7",
    "E‖ν̃ − Eν̃‖² <= dσ² + r^(2)/s.",
    quantity="variance",
    explicit=d * sigma**2 + r_2**2 / n,
    assumptions=(),
)


@derivation(
    "tsybakov/lem-7",
    also=("tsybakov/lem-7@corrected", "tsybakov/lem-7@variance", "tsybakov/fact-sens", "tsybakov/alg-1"),
)
def what_clipping_does(proof: Proof) -> None:
    """The bias is at most E(‖z‖ − C)_+, an integral of Markov's tail; clipped records are no longer than they were."""
    for label in ("tsybakov/lem-7", "tsybakov/lem-7@corrected"):
        proof.assumes(label, sp.Integer(2), k)
    tail = r_k**k / ((k - 1) * C ** (k - 1))
    slope = sp.diff(tail, C)
    proof.equal("it falls in C as fast as Markov's bound on P(‖z‖ > C), and to 0", -slope, (r_k / C) ** k, {k: 2 + a})
    proof.concludes("tsybakov/lem-7", tail)
    sharp = (k - 1) ** (k - 1) / k**k * r_k**k / C ** (k - 1)
    proof.concludes("tsybakov/lem-7@corrected", proof.uses("tsybakov/thm-8@derived", sharp))
    share = proof.equal(
        "n records of second moment r² at most, each with weight 1/n", lambda: n * (r_2 / n) ** 2, r_2**2 / n
    )
    proof.concludes("tsybakov/lem-7@variance", d * sigma**2 + share)
    moved = proof.equal("one record from one end of a ball to the other", lambda: (C - (-C)) / n, 2 * C / n)
    for label in ("tsybakov/fact-sens", "tsybakov/alg-1"):
        proof.concludes(label, moved)
