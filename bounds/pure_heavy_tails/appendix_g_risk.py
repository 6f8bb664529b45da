"""Appendix G of arXiv 2604.06492: Theorem G.6 on the excess risk.

ζ is the failure probability, as printed.
"""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import G_1, G_2, D, G_k, beta, d, epsilon, k, n, p, zeta

from ._paper import claim
from .appendix_g_means import C0_SQUARED, LOG, QUARTER, SMALL, mean_norm
from .appendix_g_packings import KAPPA, PACKING, PRIVATE, size

thm_g_6 = claim(
    "pure_heavy_tails/thm-g-6",
    "Theorem G.6",
    "For a class that contains both hard classes and every ε-DP algorithm there is P in it with, with probability "
    "at least ζ, an excess risk of at least cD min{G_1, G_2√(log(1/ζ)/n) + G_k((d + log(1/ζ))/(nε))^{1−1/k}}; ε ≤ "
    "1, ζ ≤ 1/4.",
    kind="theorem",
    section="G",
    quantity="excess risk",
    measures="excess risk",
    relation=">=",
    order=D * sp.Min(G_1, G_2 * sp.sqrt(LOG / n) + G_k * PRIVATE ** (1 - 1 / k)),
    assumptions=(QUARTER, sp.Le(epsilon, 1), sp.Ge(k, 2)),
    about=("pure_heavy_tails/proc-hard-bdd", "pure_heavy_tails/proc-hard-pack"),
    probability=zeta,
    grade="proof gap",
    remark="True, with c = 1e-4. Lemma G.1 needs ‖ν‖ = 1 for all ν, so V must lie on the sphere, and d = 1, ζ > "
    "0.092 needs a two-point argument (S15). The class must hold laws with E‖z‖² = G_k², so that for G_2 < G_k it "
    "is not a bound for {E‖z‖² ≤ G_2², E‖z‖ᵏ ≤ G_kᵏ} (S19).",
)

thm_g_6_derived = thm_g_6.as_read(
    "pure_heavy_tails/thm-g-6@derived",
    "Theorem G.6 with constants",
    "For d ≥ 2 the excess risk is, for some P and with probability at least ζ, at least the larger of 0.0284 D G_2 "
    "min{√(log(1/ζ)/n), 1} and D G_kp^{1−1/k}/128, p as in Proposition G.4 with V on the sphere.",
    origin="ours",
    explicit=D
    * sp.Max(
        sp.sqrt(C0_SQUARED) / 8 * G_2 * sp.Min(sp.sqrt(LOG / n), 1),
        G_k * PACKING ** (1 - 1 / k) / 128,
    ),
    assumptions=(QUARTER, sp.Le(epsilon, 1), sp.Ge(k, 2), sp.Ge(d, 2)),
)

thm_g_6_corrected = thm_g_6.as_read(
    "pure_heavy_tails/thm-g-6@corrected",
    "Theorem G.6 for d = 1",
    "For d = 1 and V = {±1} the excess risk is, for some P and with probability at least ζ, at least D "
    "G_kp^{1−1/k}/2, p = min{log(1/(2ζ))/(nε), 1}.",
    origin="ours",
    explicit=D * G_k * sp.Min(sp.log(1 / (2 * zeta)) / (n * epsilon), 1) ** (1 - 1 / k) / 2,
    assumptions=(QUARTER, sp.Ge(k, 2)),
    about=("pure_heavy_tails/proc-hard-pack",),
)


thm_g_6_approximate = thm_g_6_corrected.as_read(
    "pure_heavy_tails/thm-g-6@approximate",
    "Theorem G.6 for d = 1 and (ε, δ)-DP",
    "For d = 1, V = {±1} and every (ε, δ)-DP algorithm the excess risk is, for some P and with probability at least ζ, "
    "at least D G_kp^{1−1/k}/2, p = min{log((½ + κ)/(ζ + κ))/(nε), 1}, κ = δ/(e^ε − 1).",
    explicit=D
    * G_k
    * sp.Min(sp.log((sp.Rational(1, 2) + KAPPA) / (zeta + KAPPA)) / (n * epsilon), 1) ** (1 - 1 / k)
    / 2,
)


@derivation("pure_heavy_tails/thm-g-6@approximate")
def wrong_signs(proof: Proof) -> None:
    """An answer on the wrong side of 0 costs D‖mean‖/2 and is as likely as a decoder of two laws errs."""
    proof.assumes("pure_heavy_tails/thm-g-6@approximate", zeta, sp.Rational(1, 4))
    half = sp.S.Half + KAPPA
    proof.uses(
        "pure_heavy_tails/fact-bd14@approximate",
        half * (1 - p * (1 - sp.exp(-epsilon))) ** n - KAPPA,
        {size: 2},
    )
    least = half * sp.exp(-n * p * epsilon) - KAPPA
    proof.argues("exp is convex, so that 1 − p(1 − e^{−ε}) >= e^{−pε}", "error", ">=", least)
    most = sp.log(half / (zeta + KAPPA)) / (n * epsilon)
    proof.equal(
        "at the p of the claim below 1 that is ζ",
        lambda: least.subs(p, most),
        zeta,
    )
    excess = proof.argues("excess of a wrong sign", "", ">=", D * G_k * p ** (1 - 1 / k) / 2)
    proof.concludes("pure_heavy_tails/thm-g-6@approximate", excess.subs(p, sp.Min(most, 1)))


@derivation(
    "pure_heavy_tails/thm-g-6",
    Regime(base=None, others="free", where=[*SMALL.where, G_1 <= G_2, G_k >= G_2]),
    also=("pure_heavy_tails/thm-g-6@derived",),
)
def from_means_to_optimisation(proof: Proof) -> None:
    """Lemma G.1 turns a squared error of a mean of length μ into an excess risk, D/(8μ) times as large."""
    derived = "pure_heavy_tails/thm-g-6@derived"
    for label in ("pure_heavy_tails/thm-g-6", derived):
        proof.assumes(label, zeta, sp.Rational(1, 4))
        proof.assumes(label, epsilon, 1)
    proof.assumes(derived, 2, d)
    factor = proof.uses("pure_heavy_tails/lem-g-1", D / (8 * mean_norm))
    p = sp.Symbol("p", positive=True)
    packed = proof.equal(
        "heavy tails: μ = G_kp^{1−1/k}, error² ≥ μ²/16",
        lambda: (factor * mean_norm**2 / 16).xreplace({mean_norm: G_k * p ** (1 - 1 / k)}),
        D * G_k * p ** (1 - 1 / k) / 128,
    )
    bounded = proof.equal(
        "bounded: μ = ρG_2, error² ≥ μ²",
        lambda: (factor * mean_norm**2).xreplace({mean_norm: sp.sqrt(C0_SQUARED) * p * G_2}),
        sp.sqrt(C0_SQUARED) / 8 * D * G_2 * p,
    )
    tested = sp.Min(sp.sqrt(sp.log(1 / zeta) / n), 1)
    proof.concludes(
        "pure_heavy_tails/thm-g-6@derived",
        D * sp.Max(*(part / D for part in (packed.subs(p, PACKING), bounded.subs(p, tested)))),
    )
    share = sp.Min((d + sp.log(1 / zeta)) / (n * epsilon), 1)
    proof.concludes("pure_heavy_tails/thm-g-6", sp.Max(packed.subs(p, share), bounded.subs(p, tested)), looser=True)


fact_g_7 = claim(
    "pure_heavy_tails/fact-g-7",
    "Remark G.7",
    "A constant output is 0-DP with excess risk at most DG_1; Theorems 3.1 and G.6 differ only in d log(1/δ) "
    "against d + log(1/δ). (β stands for δ in the formula.)",
    kind="lemma",
    section="G",
    quantity="ratio of the private terms of the upper and the lower bound",
    relation="=",
    explicit=(d * sp.log(1 / beta) / (d + sp.log(1 / beta))) ** (1 - 1 / k),
    assumptions=(sp.Ge(k, 2),),
)


@derivation("pure_heavy_tails/fact-g-7")
def ratio_of_the_bounds(proof: Proof) -> None:
    """d log(1/δ) against d + log(1/δ), to the power 1 − 1/k."""
    L = sp.log(1 / beta)
    ratio = (d * L / (n * epsilon)) ** (1 - 1 / k) / ((d + L) / (n * epsilon)) ** (1 - 1 / k)
    proof.concludes("pure_heavy_tails/fact-g-7", ratio, where={L: sp.Symbol("ell", positive=True)})
