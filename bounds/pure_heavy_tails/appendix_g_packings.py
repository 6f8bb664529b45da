"""Appendix G of arXiv 2604.06492: packed laws, private decoders, and the bound on means.

ζ is the failure probability, as printed.
"""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import G_2, G_k, d, delta, epsilon, k, n, p, zeta

from ._paper import claim
from .appendix_g_means import C0_SQUARED, LOG, QUARTER, SMALL, TWO_POINT

size = sp.Symbol("V", positive=True)

PRIVATE = (d + LOG) / (n * epsilon)

PACKING = sp.Min(sp.log((2**d - 1) / (4 * sp.E * zeta)) / (n * epsilon), 1)

proc_hard_pack = claim(
    "pure_heavy_tails/proc-hard-pack",
    "Class P^pack_k(G_k; V, p)",
    "P_ν = (1−p)δ_0 + pδ_{aν} with a = G_kp^{−1/k} and ν in a 1/2-packing V of the unit ball; mean G_kp^{1−1/k}ν, "
    "E‖z‖ᵏ = G_kᵏ‖ν‖ᵏ.",
    kind="procedure",
    section="G",
    quantity="norm of the mean for ‖ν‖ = 1",
    relation="=",
    explicit=G_k * p ** (1 - 1 / k),
    remark="For the SCO bound V must lie on the unit sphere (S15).",
)

fact_bd14 = claim(
    "pure_heavy_tails/fact-bd14",
    "[BD14, Theorem 3 and Proposition 4]",
    "Every ε-DP decoder of {P_ν} errs with average probability at least q/(2(1+q)), q = (|V|−1)e^{−ε⌈np⌉}.",
    kind="lemma",
    section="G",
    origin="cited",
    quantity="average decoding error",
    relation=">=",
    explicit=(size - 1)
    * sp.exp(-epsilon * sp.ceiling(n * p))
    / (2 * (1 + (size - 1) * sp.exp(-epsilon * sp.ceiling(n * p)))),
    # the same (184be0): without V >= 2: V counts points, and of one point the bound is 0
    # the same (184be0): without p <= 1: p is the chance of a spike, and no law has a larger one
    assumptions=(sp.Le(p, 1), sp.Ge(size, 2)),
    about=("pure_heavy_tails/proc-hard-pack",),
)

KAPPA = delta / (sp.exp(epsilon) - 1)

fact_bd14_approximate = fact_bd14.as_read(
    "pure_heavy_tails/fact-bd14@approximate",
    "The same of decoders that are (ε, δ)-DP",
    "Every (ε, δ)-DP decoder of {P_ν} errs with average probability at least (1 − 1/|V| + κ)(1 − p(1 − e^{−ε}))ⁿ − κ, "
    "κ = δ/(e^ε − 1).",
    origin="ours",
    # the same (09f554): without V >= 2: V counts points, and of one point the bound is 0 at most
    # the same (09f554): without p <= 1: p is the chance of a spike, and no law has a larger one
    explicit=(1 - 1 / size + KAPPA) * (1 - p * (1 - sp.exp(-epsilon))) ** n - KAPPA,
)


@derivation("pure_heavy_tails/fact-bd14@approximate")
def from_the_empty_data_set(proof: Proof) -> None:
    """What a decoder answers where no record names a law is right for one law in |V| at most; k records change that.

    For an event A and data that differ in k records P(A) >= e^{−kε}(P'(A) + κ) − κ, one record at a time.
    """
    j, likely = sp.symbols("j P", positive=True)
    after = (likely + KAPPA) * sp.exp(-j * epsilon) - KAPPA
    proof.equal(
        "one more record: e^{−ε}(x − δ) of x = (P + κ)e^{−jε} − κ",
        lambda: (after - delta) * sp.exp(-epsilon),
        after.subs(j, j + 1),
    )
    proof.argues("with no record that names a law, the mean over the laws of P(ψ ≠ ν)", "P", ">=", 1 - 1 / size)
    proof.argues("the records that name ν are binomial, and E e^{−jε} is their generating function at e^{−ε}")
    moments = (1 - p + p * sp.exp(-epsilon)) ** n
    error = proof.argues("so the mean error", "", ">=", (1 - 1 / size + KAPPA) * moments - KAPPA)
    proof.concludes("pure_heavy_tails/fact-bd14@approximate", error)


@derivation("pure_heavy_tails/fact-bd14", SMALL)
def decoding(proof: Proof) -> None:
    """Coupled samples of two laws differ in few records, so that what decodes one of them errs on the others."""
    error, q = sp.symbols("e q", positive=True)
    changed = sp.ceiling(n * p)
    each = proof.argues(
        "at most ⌈np⌉ records of coupled samples differ with probability ½ or more: P_ν(decoded as ν') is at least "
        "e^{−ε⌈np⌉}(P_ν'(decoded as ν') − ½), on the average",
        "P_ν(decoded as ν')",
        ">=",
        sp.exp(-epsilon * changed) * (1 - error - sp.Rational(1, 2)),
    )
    wrong = proof.equal(
        "summed over the |V| − 1 other points",
        (size - 1) * each,
        q * (sp.Rational(1, 2) - error),
        {q: (size - 1) * sp.exp(-epsilon * changed)},
    )
    (least,) = sp.solve(sp.Eq(error, wrong), error)
    proof.equal("the error that is no smaller than that", wrong.subs(error, least), least)
    proof.concludes("pure_heavy_tails/fact-bd14", least.subs(q, (size - 1) * sp.exp(-epsilon * changed)))


prop_g_4 = claim(
    "pure_heavy_tails/prop-g-4",
    "Proposition G.4",
    "R^mean over P^pack_k(G_k) is at least cG_k² min{((d + log(1/ζ))/(nε))^{2−2/k}, 1} for every ε-DP estimator, ε "
    "≤ 1, ζ ≤ 1/4.",
    kind="proposition",
    section="G",
    quantity="(1−ζ)-quantile of the squared error",
    relation=">=",
    order=G_k**2 * sp.Min(PRIVATE ** (2 - 2 / k), 1),
    assumptions=(QUARTER, sp.Le(epsilon, 1), sp.Ge(k, 2)),
    about=("pure_heavy_tails/proc-hard-pack",),
    probability=zeta,
    grade="proof gap",
    remark="log((|V|−1)/(4eζ)) ≥ c(d + log(1/ζ)) is false for |V| = 2, d = 1, ζ > 1/(4e) = 0.092, where p < 0; a "
    "packing of five points repairs it (S15). c_0 in the last lines should be c_0².",
)

prop_g_4_literal = claim(
    "pure_heavy_tails/prop-g-4@literal",
    "Proposition G.4, last inequality of the proof",
    "log((|V|−1)/(4eζ)) ≥ c(d + log(1/ζ)) with a universal c > 0 whenever |V| ≥ 2ᵈ and ζ ≤ 1/4.",
    kind="proposition",
    section="G",
    quantity="log((|V|−1)/(4eζ))",
    assumptions=(sp.Ge(size, 2**d), QUARTER),
    about=("pure_heavy_tails/proc-hard-pack",),
    grade="proof gap",
    remark="−1 at |V| = 2, d = 1, ζ = 1/4.",
)

prop_g_4_derived = prop_g_4.as_read(
    "pure_heavy_tails/prop-g-4@derived",
    "Proposition G.4 with constants",
    "For d ≥ 2 and |V| = 2ᵈ: R^mean ≥ G_k²p^{2−2/k}/16, p = min{log((2ᵈ−1)/(4eζ))/(nε), 1}. For d = 1 take V = "
    "{−1,−½,0,½,1} and log(1/(eζ)) in place of the logarithm.",
    origin="ours",
    explicit=G_k**2 * PACKING ** (2 - 2 / k) / 16,
    assumptions=(QUARTER, sp.Le(epsilon, 1), sp.Ge(k, 2), sp.Ge(d, 2)),
)


@derivation("pure_heavy_tails/prop-g-4", SMALL, also=("pure_heavy_tails/prop-g-4@derived",))
def packing_method(proof: Proof) -> None:
    """The spike probability p is as large as group privacy allows on a packing of 2ᵈ directions."""
    c, N = sp.symbols("c N", positive=True)
    proof.gap(
        "log((N−1)/(4eζ)) ≥ c(d + log(1/ζ)) for every packing of N ≥ 2ᵈ points",
        c * (d + sp.log(1 / zeta)),
        sp.log((N - 1) / (4 * sp.E * zeta)),
        {N: 2, d: 1, zeta: sp.Rational(1, 4), c: sp.Rational(1, 1000)},
        "true for d ≥ 2, and for d = 1 with five points (S15)",
    )
    derived = "pure_heavy_tails/prop-g-4@derived"
    for label in ("pure_heavy_tails/prop-g-4", derived):
        proof.assumes(label, zeta, sp.Rational(1, 4))
        proof.assumes(label, epsilon, 1)
    proof.assumes(derived, 2, d)
    within, less = sp.symbols("K q", positive=True)
    err = proof.uses(
        "pure_heavy_tails/fact-bd14", less / (2 * (1 + less)), {size: 1 + less * sp.exp(epsilon * sp.ceiling(n * p))}
    )
    logarithm = sp.log((2**d - 1) / (4 * sp.E * zeta))
    most = proof.argues("⌈np⌉ε is at most npε + ε, and ε at most 1", within, "<=", logarithm + 1)
    proof.equal("q is at least", lambda: (2**d - 1) * sp.exp(-most), 4 * zeta)
    s = sp.Symbol("s", nonnegative=True)
    proof.at_most("so that the decoder errs with probability ζ", zeta, err.subs(less, 4 * zeta), {zeta: 1 / (4 + s)})
    length = proof.uses("pure_heavy_tails/proc-hard-pack", G_k * p ** (1 - 1 / k))
    radius = proof.argues("an estimate within half of the separation, half of the norm, decodes", "", ">=", length / 4)
    squared = proof.equal(
        "its square, at p = min{log((2ᵈ−1)/(4eζ))/(nε), 1}",
        lambda: radius.subs(p, PACKING) ** 2,
        G_k**2 * PACKING ** (2 - 2 / k) / 16,
    )
    proof.concludes("pure_heavy_tails/prop-g-4@derived", squared)
    share = (d + sp.log(1 / zeta)) / (n * epsilon)
    named = proof.argues(
        "the logarithm is at least 0.029(d + log(1/ζ))",
        "error²",
        ">=",
        G_k**2 * sp.Min(share * sp.Rational(29, 1000), 1) ** (2 - 2 / k) / 16,
    )
    proof.concludes("pure_heavy_tails/prop-g-4", named)


thm_g_5 = claim(
    "pure_heavy_tails/thm-g-5",
    "Theorem G.5",
    "For a class that contains both hard classes and every ε-DP estimator there is P in it with, with probability "
    "at least ζ, ‖μ̂ − μ_P‖² at least c times the sum of the bounds of Propositions G.2 and G.4.",
    kind="theorem",
    section="G",
    quantity="squared error",
    relation=">=",
    order=G_2**2 * TWO_POINT + G_k**2 * sp.Min(PRIVATE ** (2 - 2 / k), 1),
    assumptions=(QUARTER, sp.Le(epsilon, 1), sp.Ge(k, 2)),
    about=("pure_heavy_tails/proc-hard-bdd", "pure_heavy_tails/proc-hard-pack"),
    probability=zeta,
)

thm_g_5_derived = thm_g_5.as_read(
    "pure_heavy_tails/thm-g-5@derived",
    "Theorem G.5 with constants",
    "For d ≥ 2 the larger of 0.0518 G_2² min{log(1/ζ)/n, 1} and G_k²p^{2−2/k}/16, p as in Proposition G.4.",
    origin="ours",
    explicit=sp.Max(C0_SQUARED * G_2**2 * TWO_POINT, G_k**2 * PACKING ** (2 - 2 / k) / 16),
    assumptions=(QUARTER, sp.Le(epsilon, 1), sp.Ge(k, 2), sp.Ge(d, 2)),
)


@derivation("pure_heavy_tails/thm-g-5", SMALL, also=("pure_heavy_tails/thm-g-5@derived",))
def both_methods(proof: Proof) -> None:
    """One of the two laws meets each bound; the larger is at least half of the sum."""
    derived = "pure_heavy_tails/thm-g-5@derived"
    for label in ("pure_heavy_tails/thm-g-5", derived):
        proof.assumes(label, zeta, sp.Rational(1, 4))
        proof.assumes(label, epsilon, 1)
    proof.assumes(derived, 2, d)
    tested = proof.uses("pure_heavy_tails/prop-g-2@derived", C0_SQUARED * G_2**2 * TWO_POINT)
    packed = proof.uses("pure_heavy_tails/prop-g-4@derived", G_k**2 * PACKING ** (2 - 2 / k) / 16)
    proof.concludes("pure_heavy_tails/thm-g-5@derived", sp.Max(tested, packed))
    orders = [
        proof.uses("pure_heavy_tails/prop-g-2", G_2**2 * TWO_POINT, as_order=True),
        proof.uses(
            "pure_heavy_tails/prop-g-4",
            G_k**2 * sp.Min(((d + sp.log(1 / zeta)) / (n * epsilon)) ** (2 - 2 / k), 1),
            as_order=True,
        ),
    ]
    proof.concludes("pure_heavy_tails/thm-g-5", sp.Max(*orders))
