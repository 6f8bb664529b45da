"""Appendix C of arXiv 2604.06492: the proofs of Section 2."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import C, D, G_k, L, R, alpha, d, epsilon, k, lambda_, n, t, xi, zeta

from ._paper import c_1, claim
from .section_2_4 import step_bound

r = sp.Symbol("r", positive=True)

BIAS = D * G_k**k / ((k - 1) * C ** (k - 1))

lem_c_1 = claim(
    "pure_heavy_tails/lem-c-1",
    "Lemma C.1",
    "For every data set and every w ∈ W, F̂_Z(w) − F̂_{C,Z}(w) ≤ (D/n) Σ_i (A(z_i) − C)₊; hence E max_{w∈W} of the "
    "left side is at most D G_kᵏ/((k−1)C^{k−1}).",
    kind="lemma",
    section="C.1",
    quantity="expected bias of the extension over W",
    relation="<=",
    explicit=BIAS,
    assumptions=(sp.Ge(k, 2),),
    about=("pure_heavy_tails/proc-lip-ext",),
)

lem_c_1_derived = lem_c_1.as_read(
    "pure_heavy_tails/lem-c-1@derived",
    "Lemma C.1 with the sharp constant",
    "E(A − C)₊ ≤ ((k−1)^{k−1}/kᵏ) G_kᵏ/C^{k−1}, with equality for A = kC/(k−1) with probability p = "
    "((k−1)G_k/(kC))ᵏ ≤ 1 and 0 otherwise.",
    origin="ours",
    explicit=(k - 1) ** (k - 1) / k**k * D * G_k**k / C ** (k - 1),
)


@derivation("pure_heavy_tails/lem-c-1", also=("pure_heavy_tails/lem-c-1@derived",))
def bias_of_the_extension(proof: Proof) -> None:
    """E(A − C)₊ is an integral of the tail, or Pr-weighted at its worst single size kC/(k−1)."""
    s, a = sp.symbols("s a", positive=True)
    extra = sp.Symbol("k0", positive=True)
    tail = sp.Integral(G_k**k / s**k, (s, C, sp.oo))
    proof.argues("Markov: Pr(A > s) ≤ G_kᵏ/sᵏ, and E(A − C)₊ is the integral of that tail", "Pr", "<=", G_k**k / s**k)
    bound = proof.equal("Markov's tail, integrated", tail, G_k**k / ((k - 1) * C ** (k - 1)), {k: 2 + extra})
    proof.concludes("pure_heavy_tails/lem-c-1", D * bound)
    worst = k * C / (k - 1)
    ratio = (a - C) / a**k
    slope = sp.diff(ratio, a)
    proof.equal("(a − C)/aᵏ is stationary at kC/(k−1)", lambda: slope.xreplace({a: worst}), 0, {k: 2 + extra})
    sharp = proof.equal(
        "its value there",
        lambda: ratio.xreplace({a: worst}),
        (k - 1) ** (k - 1) / (k**k * C ** (k - 1)),
        {k: 2 + extra},
    )
    proof.concludes("pure_heavy_tails/lem-c-1@derived", D * G_k**k * sharp)


lem_c_2 = claim(
    "pure_heavy_tails/lem-c-2",
    "Lemma C.2",
    "Algorithm 2 is ε-DP; for every ζ ≥ 1, Pr(ŵ_C ∈ W_0) ≥ 1 − e^{−ζ}, and diam(W_0) ≤ 200ζCd/(λnε). In its proof: "
    "‖w̃ − ŵ_C‖ ≤ C/(λn), and Z ↦ w̃ has ℓ₂-sensitivity at most 4C/(λn).",
    kind="lemma",
    section="C.2",
    quantity="Pr(ŵ_C ∈ W_0)",
    relation=">=",
    explicit=1 - sp.exp(-zeta),
    assumptions=(sp.Ge(zeta, 1), sp.Le(epsilon, zeta * d)),
    about=("pure_heavy_tails/alg-2",),
    grade="proof gap",
    remark="The tail bound of the proof is false for d ≥ 2 (S4); what is needed of it holds. The containment needs "
    "ε ≤ ζd (S6), which is not stated and holds in the paper's use; the assumption is added here.",
)

lem_c_2_literal = lem_c_2.as_read(
    "pure_heavy_tails/lem-c-2@literal",
    "Lemma C.2 for every ε",
    "Pr(ŵ_C ∈ W_0) ≥ 1 − e^{−ζ} for every ε > 0 and ζ ≥ 1.",
    assumptions=(sp.Ge(zeta, 1),),
    grade="slip",
    remark="For d = 1 false from ε > 98.2 (ζ = 1), 286.2 (ζ = 3); the condition ε ≤ ζd is missing (S6).",
)

lem_c_2_derived = lem_c_2.as_read(
    "pure_heavy_tails/lem-c-2@derived",
    "Privacy that Algorithm 2 really has",
    "With noise of scale 6C/(λnε) the exact minimiser (sensitivity 2C/(λn), attained) makes Algorithm 2 exactly "
    "(ε/3)-DP; over all approximate minimisers that it allows it is (2ε/3)-DP, attained.",
    origin="ours",
    quantity="worst-case ε of Algorithm 2",
    measures="epsilon spent",
    relation="<=",
    explicit=2 * epsilon / 3,
    assumptions=(),
)

fact_erm_sensitivity = claim(
    "pure_heavy_tails/fact-erm-sensitivity",
    "Sensitivity of exact minimisers (C.2, D.1)",
    "Minimisers of λ-strongly convex objectives whose data part is a mean of n C-Lipschitz functions move by at "
    "most 2C/(λn) when one record is replaced; over any convex domain.",
    kind="lemma",
    section="C.2",
    origin="cited",
    quantity="distance of the two minimisers",
    relation="<=",
    explicit=2 * C / (lambda_ * n),
    about=("pure_heavy_tails/alg-2", "pure_heavy_tails/alg-4"),
)

fact_gamma_tail = claim(
    "pure_heavy_tails/fact-gamma-tail",
    "Isotropic Laplace tail (C.2, D.1)",
    "The radius of isotropic Laplace noise of scale β has Gamma(d, β) tails, from which the proofs draw ‖b‖ ≤ "
    "16.5ζdβ with probability 1 − e^{−ζ} (C.2) and ‖b‖ ≤ (1 + log 10)dβ with probability 0.9 (D.1).",
    kind="lemma",
    section="C.2",
    origin="cited",
    quantity="Pr(‖b‖ > 16.5 ζ d β)",
    relation="<=",
    explicit=sp.exp(-zeta),
    assumptions=(sp.Ge(zeta, 1),),
    about=("pure_heavy_tails/proc-iso-laplace",),
    grade="proof gap",
    remark="Both conclusions hold; the display in between does not (@literal, S4).",
)

fact_gamma_tail_literal = fact_gamma_tail.as_read(
    "pure_heavy_tails/fact-gamma-tail@literal",
    "Isotropic Laplace tail, as displayed",
    "Pr(‖b‖ > β(d + t)) ≤ e^{−t} for every t ≥ 0.",
    quantity="Pr(‖b‖ > β(d + t))",
    explicit=sp.exp(-t),
    grade="proof gap",
    remark="True for d = 1 only; for d = 2 false from t = 4.39, for d = 3 at t = log 10 and t = 3 (0.062 > 0.050) "
    "(S4).",
    assumptions=(),
)

fact_gamma_tail_corrected = fact_gamma_tail.as_read(
    "pure_heavy_tails/fact-gamma-tail@corrected",
    "Isotropic Laplace tail",
    "Pr(‖b‖ > β(d + √(2dt) + t)) ≤ e^{−t} for every t ≥ 0.",
    origin="ours",
    quantity="Pr(‖b‖ > β(d + √(2dt) + t))",
    explicit=sp.exp(-t),
    assumptions=(),
)


@derivation("pure_heavy_tails/fact-gamma-tail")
def radius_of_the_proofs(proof: Proof) -> None:
    """Chernoff's bound at 16.5ζ times the mean d leaves an exponent of ζ and more."""
    over, beyond = sp.symbols("u v", nonnegative=True)
    times = sp.Rational(33, 2)
    proof.assumes("pure_heavy_tails/fact-gamma-tail", 1, zeta)
    share = proof.at_most("a logarithm", sp.log(times), sp.Integer(3))
    grown = proof.argues("log ζ ≤ ζ − 1", "log(16.5ζ)", "<=", share + zeta - 1)
    exponent = d * (times * zeta - 1 - grown)
    proof.argues("Chernoff: Pr(‖b‖ > xdβ) ≤ e^{−d(x − 1 − log x)}", "Pr(‖b‖ > 16.5ζdβ)", "<=", sp.exp(-exponent))
    proof.at_most("where d and ζ are at least 1", zeta, exponent, {zeta: 1 + over, d: 1 + beyond})
    proof.concludes("pure_heavy_tails/fact-gamma-tail", sp.exp(-zeta))


@derivation("pure_heavy_tails/lem-c-2")
def minimiser_in_the_ball(proof: Proof) -> None:
    """Of the 100 parts of the radius the noise takes 99 and the solver one, as ε ≤ ζd."""
    beyond = sp.Symbol("u", nonnegative=True)
    proof.assumes("pure_heavy_tails/lem-c-2", 1, zeta)
    proof.assumes("pure_heavy_tails/lem-c-2", epsilon, zeta * d)
    gap = proof.uses("pure_heavy_tails/alg-2@gap", C**2 / (2 * lambda_ * n**2))
    reach = proof.equal("strong convexity, √(2α/λ)", lambda: sp.sqrt(2 * gap / lambda_), C / (lambda_ * n))
    radius = proof.uses("pure_heavy_tails/alg-2@radius", 100 * zeta * C * d / (lambda_ * n * epsilon))
    scale = proof.uses("pure_heavy_tails/alg-2", 6 * C / (lambda_ * n * epsilon))
    length = sp.Rational(33, 2) * zeta * d * scale
    missed = proof.uses("pure_heavy_tails/fact-gamma-tail", sp.exp(-zeta))
    proof.at_most("solver and noise, at ε = ζd/(1 + u)", reach + length, radius, {epsilon: zeta * d / (1 + beyond)})
    proof.concludes("pure_heavy_tails/lem-c-2", 1 - missed)


@derivation("pure_heavy_tails/fact-gamma-tail@corrected")
def radius_of_gamma_noise(proof: Proof) -> None:
    """Chernoff's bound at s = r/(1 + r), r = √(2t/d), has the exponent t itself."""
    s, root = sp.symbols("s r", positive=True)
    power, room = s**2 / (2 * (1 - s)), s**2 / (2 * (1 - s) ** 2)
    proof.argues("log E e^{s(‖b‖/β − d)} = −d(s + log(1 − s)) ≤ ds²/(2(1 − s)): equal at s = 0, and by slopes:")
    proof.equal("the slope of what it leaves", sp.diff(power + s + sp.log(1 - s), s), room)
    best, excess = root / (1 + root), d * root + d * root**2 / 2
    exponent = proof.equal(
        "at s = r/(1 + r), where √(2dt) + t = dr + dr²/2", best * excess - d * power.subs(s, best), d * root**2 / 2
    )
    proof.concludes("pure_heavy_tails/fact-gamma-tail@corrected", sp.exp(-exponent.subs(root, sp.sqrt(2 * t / d))))


prop_c_3 = claim(
    "pure_heavy_tails/prop-c-3",
    "Proposition C.3",
    "Under the hypotheses of Proposition 2.5 and for any C > 0, ‖w_DP − ŵ_λ‖ ≤ c_1Cd/(λεn) + √(60000 G_kᵏ "
    "d/((k−1)λ²nεC^{k−2})) with probability at least 0.8 − e^{−3}; in particular, C = G_k(nε/d)^{1/k} gives "
    "c_2(G_k/λ)(d/(nε))^{1−1/k} with probability 0.7.",
    kind="proposition",
    section="C.2",
    quantity="distance to the regularised empirical minimiser",
    measures="distance",
    relation="<=",
    explicit=c_1 * C * d / (lambda_ * epsilon * n)
    + sp.sqrt(60000 * G_k**k * d / ((k - 1) * lambda_**2 * n * epsilon * C ** (k - 2))),
    assumptions=(sp.Ge(k, 2),),
    about=("pure_heavy_tails/alg-2", "pure_heavy_tails/proc-two-step"),
    probability=sp.Rational(4, 5) - sp.exp(-3),
    grade="refuted",
    remark="The first display is false for C well below G_k(nε/d)^{1/k}, whatever the second stage does: its right "
    "side vanishes as nε grows, ‖ŵ_C − ŵ_λ‖ does not (S1). The second display is true.",
)

prop_c_3_corrected = prop_c_3.as_read(
    "pure_heavy_tails/prop-c-3@corrected",
    "Proposition C.3 with the bias of the minimiser",
    "Under the hypotheses of Proposition 2.5 and for any C > 0, ‖w_DP − ŵ_λ‖ ≤ c_1Cd/(λεn) + 20G_kᵏ/(λC^{k−1}) with "
    "probability at least 0.8 − e^{−3}.",
    origin="ours",
    explicit=c_1 * C * d / (lambda_ * epsilon * n) + 20 * G_k**k / (lambda_ * C ** (k - 1)),
    assumptions=(sp.Ge(k, 2), sp.Le(epsilon, 6 * d)),
)


@derivation("pure_heavy_tails/prop-c-3@corrected")
def any_clip_level(proof: Proof) -> None:
    """As Proposition 2.5 with C left free; the printed first display rests on a step that does not follow."""
    proof.gap(
        "over W_0 the bias is at most diam(W_0)(A − C)₊ (here f = w, A ≡ 1, W = [−D/2, D/2], at ŵ_C = −C/λ)",
        (1 - C) * (D / 2 - C / lambda_),
        1200 * C * d / (lambda_ * n * epsilon) * (1 - C),
        {C: sp.Rational(1, 2), D: 10, lambda_: 1, d: 1, n: 10**6, epsilon: 1},
        "D(A − C)₊ is right, because f_C takes its infimum over W (S1)",
    )
    bias = proof.uses("pure_heavy_tails/prop-2-5@corrected", 2 * G_k**k / (lambda_ * C ** (k - 1)))
    bound = proof.master(
        "‖w_DP − ŵ_λ‖", {"noise and solver": c_1 * C * d / (lambda_ * n * epsilon), "bias, by Markov": 10 * bias}
    )
    proof.concludes("pure_heavy_tails/prop-c-3@corrected", bound)


lem_c_4 = claim(
    "pure_heavy_tails/lem-c-4",
    "Lemma C.4",
    "Lemma 2.7 again: Φ_Z is convex on Wⁿ⁺¹, has the minimum of F̂_{C,λ}, and α-minimisers transfer. (Used over W_0 "
    "× Wⁿ as well, where the same proof holds.)",
    kind="lemma",
    section="C.3",
    quantity="gap of the first block",
    relation="<=",
    explicit=alpha,
    about=("pure_heavy_tails/proc-joint-reform",),
)

prop_c_5 = claim(
    "pure_heavy_tails/prop-c-5",
    "Proposition C.5",
    "For K compact and convex, Φ convex and L-Lipschitz on K, and an exact subgradient oracle, Algorithm 3 makes at "
    "most ⌈(3DL/α)²⌉ oracle calls and as many inexact projections, and returns an α-minimiser.",
    kind="proposition",
    section="C.3",
    quantity="steps",
    relation="<=",
    explicit=sp.ceiling((3 * D * L / alpha) ** 2),
    about=("pure_heavy_tails/alg-3",),
    grade="slip",
    remark="‖g_t‖ ≤ L is used of the oracle's answers; a Lipschitz Φ on K may have longer subgradients relative to "
    "K at its boundary (S12).",
)

prop_c_5_literal = prop_c_5.as_read(
    "pure_heavy_tails/prop-c-5@literal",
    "Proposition C.5 for any subgradient relative to K",
    "The bound on the number of steps holds for every oracle with Φ(y) ≥ Φ(x) + ⟨g(x), y − x⟩ on K, however long g(x).",
    grade="slip",
    remark="Φ(x) = x on [0,1]: −M is a subgradient at 0 for every M ≥ 0, and then at least 3M/α steps are made.",
)

prop_c_5_derived = prop_c_5.as_read(
    "pure_heavy_tails/prop-c-5@derived",
    "Proposition C.5, the gap",
    "If the oracle's answers have norm at most L, the returned point is a (3α/4)-minimiser.",
    origin="ours",
    quantity="gap of the returned point",
    explicit=3 * alpha / 4,
)


@derivation("pure_heavy_tails/prop-c-5", also=("pure_heavy_tails/prop-c-5@derived",))
def adaptive_steps_in_full(proof: Proof) -> None:
    """As Proposition 2.9; at the stop half of α is left for the average, a quarter for the projections."""
    alpha = sp.Symbol("alpha", positive=True)
    step_bound(proof, "pure_heavy_tails/prop-c-5")
    regret = proof.argues("(3D/2)√S_t/t at the stop, where 3D√S_t ≤ αt", "regret", "<=", alpha / 2)
    projections = proof.argues("projections exact to αη_t/(6D)", "their cost", "<=", alpha / 4)
    proof.concludes("pure_heavy_tails/prop-c-5@derived", regret + projections)


lem_c_6 = claim(
    "pure_heavy_tails/lem-c-6",
    "Lemma C.6",
    "A point of W_0 = W ∩ B(w_0,r) within ξ of Π_{W_0}(y) takes O(log(1 + ‖y − w_0‖²/(rξ))) projections onto W. (R "
    "stands for ‖y − w_0‖.)",
    kind="lemma",
    section="C.3",
    quantity="projections onto W",
    relation="<=",
    order=sp.log(1 + R**2 / (r * xi)),
    explicit=sp.ceiling(sp.log(1 + R**2 / (r * xi), 2)) + 2,
    about=("pure_heavy_tails/proc-inexact-proj",),
)
