"""Appendix B: mirror descent in the ℓ_p norm, Algorithms 5 and 6, Theorems 12 and 13."""

from __future__ import annotations

import sympy as sp

from dpcheck.algorithms.l1_geometry.regret import D_1
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, L, T, b, d, delta, epsilon, eta, index, n, p, q, sigma

from ._paper import GENERAL, HALF, LARGE, LOG, NAMED, D_h, b_at, claim, epsilon_at, eta_at, g_q, log_d, log_delta, n_at
from .section_3_1 import averaged
from .section_3_2 import alg_2, running

alg_5 = claim(
    "l1_geometry/alg-5",
    "Algorithm 5 (noisy mirror descent, ℓ_p)",
    "Algorithm 1 for ‖∇f‖_q ≤ L with σ = 100L√(d^{1−2/q} log(1/δ))/(bε) and η = D/√T/√(L² + 4d^{2/q}σ² log d).",
    kind="algorithm",
    section="B.1",
    quantity="standard deviation of the noise",
    relation="=",
    explicit=100 * L * sp.sqrt(d ** (1 - 2 / q) * LOG) / (b * epsilon),
    remark="X is printed as the unit ℓ_p ball.",
)

alg_5_eta = alg_5.as_read(
    "l1_geometry/alg-5@eta",
    "Algorithm 5, step of Theorem 12",
    "η = D/√T/√(L² + 4d^{2/q}σ² log d), with D² ≥ D_h(x*, x_0).",
    quantity="step",
    explicit=D_1 / sp.sqrt(T) / sp.sqrt(L**2 + 4 * d ** (2 / q) * sigma**2 * sp.log(d)),
    about=("l1_geometry/alg-5",),
)
alg_5_corrected_eta = alg_5.as_read(
    "l1_geometry/alg-5@corrected-eta",
    "Algorithm 5, step at p = 2",
    "At p = 2, η = D/√T/√(L² + dσ²); else as printed.",
    origin="ours",
    quantity="step",
    explicit=sp.Piecewise((D_1 / sp.sqrt(T) / sp.sqrt(L**2 + d * sigma**2), sp.Eq(p, 2)), (alg_5_eta.explicit, True)),
    about=("l1_geometry/alg-5",),
)
alg_5_distance = alg_5.as_read(
    "l1_geometry/alg-5@distance",
    "Algorithm 5, distance to the minimiser",
    "From the centre of a ball of diameter D, √D_h(x*, x_0) ≤ (D/2)/√(2(p−1)) for h = ‖x‖_p²/(2(p−1)).",
    origin="ours",
    quantity="bound on √D_h(x*, x_0)",
    explicit=D / 2 / sp.sqrt(2 * (p - 1)),
    about=("l1_geometry/alg-5",),
)
alg_5_scale = alg_5.as_read(
    "l1_geometry/alg-5@scale",
    "Algorithms 5 and 6, mirror map",
    "h = ‖x‖_p²/(2(p−1)), 1-strongly convex in ℓ_p.",
    quantity="h over ‖x‖_p²/2",
    explicit=1 / (p - 1),
    about=("l1_geometry/alg-5", "l1_geometry/alg-6"),
)
alg_5_sensitivity = alg_5.as_read(
    "l1_geometry/alg-5@sensitivity",
    "Algorithm 5, sensitivity of a batch",
    "A record that is drawn once moves the mean gradient by at most 2Ld^{1/2−1/q}/b in ℓ₂.",
    quantity="sensitivity of the mean gradient",
    explicit=2 * L * d ** (HALF - 1 / q) / b,
    about=("l1_geometry/alg-5",),
)


thm_12 = claim(
    "l1_geometry/thm-12",
    "Theorem 12",
    "For 1 < p ≤ 2 and h 1-strongly convex in ℓ_p, Algorithm 5 is (ε,δ)-DP and E[F̂(x̄_T) − F̂*] ≤ LD·O(b/n + √(d "
    "log(1/δ)(1 + log d·1{p<2}))/(nε)); relatively strongly convex: O(L²b²/(λn²) + L²d log(1/δ)(1 + log d·1{p<2})"
    "/(λn²ε²)).",
    kind="theorem",
    section="B.1",
    quantity="excess empirical loss of the plain average",
    measures="empirical suboptimality",
    relation="<=",
    order=L * D * (b / n + sp.sqrt(d * sp.log(d) * LOG) / (n * epsilon)),
    explicit=L * D * (2 * b / n + 400 * sp.sqrt(d * sp.log(d) * LOG) / (n * epsilon)),
    assumptions=(sp.Ge(d, 2), sp.Ge(b, 1), sp.Ge(n, b), sp.Gt(p, 1), sp.Lt(p, 2), sp.Le(epsilon, 1)),
    about=("l1_geometry/alg-5",),
    grade="slip",
    remark="True for p < 2. At p = 2 the printed step keeps log d, which makes it too short: the excess exceeds the "
    "stated rate by √log d (@literal); L² + dσ² in the step gives the claim (@corrected, S21).",
)


thm_12_literal = thm_12.as_read(
    "l1_geometry/thm-12@literal",
    "Theorem 12 at p = 2 with the printed step",
    "At p = 2, with η = D/√T/√(L² + 4dσ² log d), E[F̂(x̄_T) − F̂*] ≤ LD·O(b/n + √(d log(1/δ))/(nε)).",
    order=L * D * (b / n + sp.sqrt(d * LOG) / (n * epsilon)),
    assumptions=(
        sp.Ge(d, 2),
        sp.Ge(b, 1),
        sp.Ge(n, b),
        sp.Le(epsilon, 1),
        sp.Lt(delta, 1),
        sp.Le(D_h, D**2),
        sp.Le(g_q, L),
    ),
    grade="slip",
    remark="On one linear loss the step is too short by √log d for the noise that there is: excess at least "
    "100√log d times the private term, and so above any constant for d large (S21).",
)


thm_12_corrected = thm_12.as_read(
    "l1_geometry/thm-12@corrected",
    "Theorem 12 at p = 2",
    "With η = D/√T/√(L² + dσ²), E[F̂(x̄_T) − F̂*] ≤ LD(2b/n + 200√(d log(1/δ))/(nε)).",
    origin="ours",
    explicit=L * D * (2 * b / n + 200 * sp.sqrt(d * LOG) / (n * epsilon)),
    assumptions=(sp.Ge(b, 1), sp.Ge(n, b), sp.Le(epsilon, 1)),
)


@derivation("l1_geometry/thm-12", LARGE, also=("l1_geometry/thm-12@corrected",))
def other_norms(proof: Proof) -> None:
    """Theorem 3 in ℓ_p: d^{2/q} of the noise and d^{1−2/q} of its calibration make d; at p = 2 the logarithm goes."""
    both = ("l1_geometry/thm-12", "l1_geometry/thm-12@corrected")
    for label in both:
        proof.assumes(label, b, n)
        proof.assumes(label, epsilon, 1)
    proof.assumes(both[0], 2, d)
    proof.assumes(both[0], 1, p)
    proof.assumes(both[0], p, 2)
    q = sp.Symbol("q", positive=True)
    deviation = proof.uses("l1_geometry/alg-5", 100 * L * d ** (HALF - 1 / q) * sp.sqrt(LOG) / (b * epsilon))
    largest = proof.uses("l1_geometry/fact-gauss-max", 2 * sigma**2 * sp.log(d))
    noise = 4 * d ** (2 / q) * sigma**2 * sp.log(d)
    proof.at_most(
        "E‖ζ‖_q² ≤ d^{2/q}E‖ζ‖_∞²", lambda: d ** (2 / q) * largest, noise, {sp.log(d): log_d, d: sp.exp(log_d)}
    )
    pieces = (2 * L * D * b / n, 400 * L * D * sp.sqrt(d * sp.log(d) * LOG) / (n * epsilon))
    value = averaged(proof, sp.Add(L**2, noise.subs(sigma, deviation), evaluate=False), pieces)
    proof.concludes("l1_geometry/thm-12", value)
    euclidean = 2 * D * sp.sqrt(d * sigma**2 / T)
    at = {sigma: deviation.subs(q, 2), T: n**2 / b**2}
    reached = (
        proof.equal("p = 2", lambda: euclidean.xreplace(at), 200 * L * D * sp.sqrt(d * LOG) / (n * epsilon)) + pieces[0]
    )
    proof.concludes("l1_geometry/thm-12@corrected", reached)


alg_6 = claim(
    "l1_geometry/alg-6",
    "Algorithm 6 (localised noisy mirror descent, ℓ_p)",
    "Algorithm 2 for the given p, with h_i = ‖x − x_{i−1}‖_p²/(2(p−1)), Algorithm 5 inside and η = (D/L) "
    "min{1/√((p−1)n), ε/√(d log(1/δ)(1 + log d·1{p<2}))}.",
    kind="algorithm",
    section="B.2",
    quantity="radius of phase i",
    relation="=",
    explicit=alg_2.explicit,
    remark="Rounding and blocks as in Algorithm 2 (S2, S4). p = 1, which the input line allows, is illegal.",
)

alg_6_eta = alg_6.as_read(
    "l1_geometry/alg-6@eta",
    "Algorithm 6, line 3, with the η of Theorem 13",
    "η_i = 2^{-4i}η with η = (D/L) min{1/√((p−1)n), ε/√(d log(1/δ)(1 + log d·1{p<2}))}.",
    quantity="η of phase i",
    explicit=D
    / L
    * sp.Min(
        1 / sp.sqrt((p - 1) * n),
        epsilon / sp.sqrt(d * LOG * (1 + sp.Piecewise((sp.log(d), p < 2), (0, True)))),
    )
    / 2 ** (4 * index),
    about=("l1_geometry/alg-6",),
)
alg_6_corrected_batch = alg_6.as_read(
    "l1_geometry/alg-6@corrected-batch",
    "Algorithm 6, batch for the stated rate",
    "b_i = max(√((p−1)n_i), √(d/ε_i)), rounded up. A phase that runs has more records.",
    origin="ours",
    quantity="batch of phase i",
    explicit=sp.ceiling(sp.sqrt(sp.Max((p - 1) * n, 4**index * d / epsilon) / 2**index)),
    about=("l1_geometry/alg-6",),
)
alg_6_corrected_phases = alg_6.as_read(
    "l1_geometry/alg-6@corrected-phases",
    "Algorithm 6, phases that run with the batch for the stated rate",
    "Every phase makes at least two steps, and the one after the last would not.",
    origin="ours",
    quantity="phases",
    explicit=running(alg_6_corrected_batch.explicit),
    about=("l1_geometry/alg-6",),
)
alg_6_sigma = alg_6.as_read(
    "l1_geometry/alg-6@sigma",
    "Algorithm 6, line 4: noise",
    "The σ of Algorithm 5 at (ε_i, δ) and b_i.",
    quantity="standard deviation of the noise of phase i",
    explicit=alg_5.explicit.subs({b: b_at[index], epsilon: epsilon_at[index]}),
    about=("l1_geometry/alg-6",),
)
alg_6_sensitivity = alg_6.as_read(
    "l1_geometry/alg-6@sensitivity",
    "Algorithm 6, sensitivity of a batch",
    "That of Algorithm 5 at b_i: the regulariser reads no record.",
    quantity="sensitivity of the mean gradient of phase i",
    explicit=alg_5_sensitivity.explicit.subs(b, b_at[index]),
    about=("l1_geometry/alg-6",),
)
alg_6_lambda = alg_6.as_read(
    "l1_geometry/alg-6@lambda",
    "Algorithm 6, line 4: regulariser",
    "‖x − x_{i−1}‖_p²/(η_in_i(p−1)) = λ_ih_i with λ_i = 2/(η_in_i).",
    quantity="λ of phase i",
    explicit=2 / (eta_at[index] * n_at[index]),
    about=("l1_geometry/alg-6",),
)


thm_13 = claim(
    "l1_geometry/thm-13",
    "Theorem 13",
    "Theorem 5 with η stated and the factor 1 + log d·1{p<2}.",
    kind="theorem",
    section="B.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=L * D * GENERAL,
    about=("l1_geometry/alg-6",),
    grade="proof gap",
    remark="For p − 1 far below 1/log d the batch √(n_i/log d) contributes L²η/((p−1) log d), more than the "
    "stated rate; "
    "√((p−1)n_i), or p' = 1 + 1/log₂ d, repairs it (S22).",
)


thm_13_corrected = thm_13.as_read(
    "l1_geometry/thm-13@corrected",
    "Theorem 13 with batches √((p−1)n_i)",
    "The stated rate, for every 1 < p ≤ 2.",
    origin="ours",
)


@derivation("l1_geometry/thm-13@corrected", LARGE)
def localised_in_lp(proof: Proof) -> None:
    """As Theorem 4 with 1/(p−1) for log d in front, and batches √((p−1)n_i)."""
    share = sp.Symbol("share", positive=True)
    proof.gap(
        "with the printed batches √(n_i/log d) their share L²η/((p−1) log d) is at most L²η (share = p − 1)",
        L**2 * eta / (share * log_d),
        L**2 * eta,
        {share: sp.Rational(1, 100), log_d: 5, L: 1, eta: 1},
        "with √((p−1)n_i) it is (S22)",
    )
    terms = {
        "start": D**2 / (share * eta * n),
        "stability and batches": L**2 * eta,
        "noise": L**2 * eta * d * log_d * log_delta / (share * n * epsilon**2),
    }
    order = proof.master("excess risk, up to constants", terms)
    step = D / L * sp.Min(1 / sp.sqrt(share * n), epsilon / sp.sqrt(d * log_d * log_delta))
    value = proof.chooses(order, {eta: step}, text="choose η = (D/L) min{1/√((p−1)n), ε/√(d log d log(1/δ))}")
    proof.concludes("l1_geometry/thm-13@corrected", value, where={**NAMED, p - 1: share, p: 1 + share})


fact_l2_lq = claim(
    "l1_geometry/fact-l2-lq",
    "Norm comparison in Section B.1",
    "‖g‖_2 ≤ d^{1/2−1/q}‖g‖_q for q ≥ 2.",
    kind="lemma",
    section="B.1",
    quantity="‖g‖_2/‖g‖_q",
    relation="<=",
    explicit=d ** (sp.Rational(1, 2) - 1 / q),
    assumptions=(sp.Ge(q, 2),),
)
