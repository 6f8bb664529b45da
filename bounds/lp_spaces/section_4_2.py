"""Section 4.2: its strongly convex form, and the lower bound."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import D, H, L, R, alpha, d, delta, epsilon, lambda_, mu, n, omega

from ._paper import (
    CONVEX,
    ENOUGH,
    HALF,
    LOG,
    LOG_25,
    PRIVACY,
    QUARTER,
    SIGMA_1,
    SMALL_LOSS,
    STRONG,
    STRONG_WITHOUT_EPSILON,
    C_min,
    claim,
    mu_ell,
    r,
    sigma_2,
)
from .section_4_1 import THRESHOLD

modulus, weight = sp.Symbol("Delta", positive=True), sp.Symbol("lambda_2", nonnegative=True)
"""Δ, where λ is free (μ stands for it where λ = 0), and λ of Algorithm 2, which may be 0."""


ALPHA_STRONG = sp.Min(L**2 * D**2 / (mu * n**2), L**4 * D**6 * epsilon**2 / (mu**3 * n**4 * omega**2 * LOG))


asm_2 = claim(
    "lp_spaces/asm-2",
    "Assumption 2",
    "C is symmetric with interior; the loss also is Δ-strongly convex with respect to ‖·‖_C.",
    kind="assumption",
    section="4.2",
)


alg_2 = claim(
    "lp_spaces/alg-2",
    "Algorithm 2 (approximate objective perturbation, strongly convex)",
    "Algorithm 1 with λ = max{rβ/(εn) − Δ, 0} and a second noise of variance 64α log(2.5/δ)‖C‖_2²/(Δε²).",
    kind="algorithm",
    section="4.2",
    quantity="λ",
    relation="=",
    explicit=sp.Max(THRESHOLD - mu, 0),
    grade="slip",
    remark="Δ is a constant of ‖·‖_C and is used as one of ‖·‖_2; the second noise has it right, as Δ/‖C‖_2² (S4).",
)
alg_2_second_noise = alg_2.as_read(
    "lp_spaces/alg-2@second-noise",
    "Algorithm 2, line 4: second noise",
    "σ_2² = 64α log(2.5/δ)‖C‖_2²/(Δε²).",
    quantity="deviation of the second noise",
    explicit=sigma_2(alpha, mu / D**2),
    about=("lp_spaces/alg-2",),
)
alg_2_accuracy = alg_2.as_read(
    "lp_spaces/alg-2@accuracy",
    "Algorithm 2, α of Theorem 4",
    "α = min{1, L²‖C‖_2²/(Δn²), L⁴‖C‖_2⁶ε²/(Δ³n⁴G_C² log(1/δ))}.",
    quantity="accuracy of the optimiser",
    explicit=sp.Min(1, ALPHA_STRONG),
    about=("lp_spaces/alg-2",),
)
alg_2_rank = alg_2.as_read(
    "lp_spaces/alg-2@rank",
    "Algorithm 2, line 2: rank constant",
    "r = min{d, 2 rank} = d: Hessians of strongly convex losses have full rank.",
    quantity="r",
    explicit=d,
    about=("lp_spaces/alg-2",),
)
alg_2_curvature = alg_2.as_read(
    "lp_spaces/alg-2@curvature",
    "Algorithm 2, strong convexity of J",
    "Losses that are Δ-strongly convex in ‖·‖_C are Δ/R²-strongly convex in ‖·‖_2, R = ‖C‖_2/2: 2λ + 4Δ/‖C‖_2².",
    origin="ours",
    quantity="strong convexity",
    explicit=2 * lambda_ + 4 * mu / D**2,
    about=("lp_spaces/alg-2",),
)


alg_2_corrected = alg_2.as_read(
    "lp_spaces/alg-2@corrected",
    "Algorithm 2 with Δ/‖C‖_2²",
    "λ = max{rβ/(εn) − Δ/‖C‖_2², 0} (n >= 2).",
    origin="ours",
    explicit=sp.Max(THRESHOLD - mu / D**2, 0),
    about=("lp_spaces/alg-2",),
)


thm_3 = claim(
    "lp_spaces/thm-3",
    "Theorem 3",
    "Under Assumption 2, Algorithm 2 is (ε, δ)-DP for 0 < ε, δ < 1.",
    kind="theorem",
    section="4.2",
    quantity="δ that is spent at ε",
    relation="<=",
    explicit=delta,
    assumptions=(*PRIVACY, sp.Ge(n, 1), *SMALL_LOSS, sp.Ge(mu_ell, mu)),
    about=("lp_spaces/alg-2",),
    grade="slip",
    remark="The rule for λ lacks 1/‖C‖_2². Right where ‖C‖_2² <= 2(1 − 1/n), and so for ‖C‖_2 = 1, the normalisation "
    "of Theorem 5: there it takes off no more than the repaired rules do (`@normalised`). False from a diameter of "
    "1.97 on at δ = 1e-6, of 1.86 at 1e-12, of 1.77 at 1e-50 (S4); in between no pair is known.",
)


thm_3_normalised = thm_3.as_read(
    "lp_spaces/thm-3@normalised",
    "Theorem 3 for sets of small diameter",
    "With the printed λ = max{rβ/(εn) − Δ, 0} and ‖C‖_2² <= 2(1 − 1/n), in particular for ‖C‖_2 = 1, the Euclidean "
    "curvature is what Algorithm 1 demands: 2λ + ((n−1)/n)Δ/R² >= 2rβ/(εn).",
    origin="ours",
    quantity="2λ + ((n−1)/n)Δ/R², R = ‖C‖_2/2",
    relation=">=",
    explicit=2 * THRESHOLD,
    assumptions=(*PRIVACY, sp.Ge(n, 2), sp.Le(D**2, 2 * (1 - 1 / n))),
)


thm_3_corrected = thm_3.as_read(
    "lp_spaces/thm-3@corrected",
    "Theorem 3 with Δ/‖C‖_2²",
    "With λ = max{rβ/(εn) − Δ/‖C‖_2², 0}, n >= 2, the Euclidean curvature is what Algorithm 1 demands, 2λ + "
    "((n−1)/n)Δ/R² >= 2rβ/(εn), and Algorithm 1's accounting applies.",
    origin="ours",
    quantity="2λ + ((n−1)/n)Δ/R², R = ‖C‖_2/2",
    relation=">=",
    explicit=2 * THRESHOLD,
    assumptions=(sp.Ge(n, 2),),
)


@derivation("lp_spaces/thm-3@corrected")
def curvature_of_the_objective(proof: Proof) -> None:
    """Algorithm 2 must reach the Euclidean curvature 2rβ/(εn) that Algorithm 1 demands; Δ is one in ‖·‖_C."""
    a, t, r = sp.symbols("a t r", positive=True)
    radius = D / 2
    proof.gap(
        "λ = a − Δ, a = rβ/(εn), and a curvature of Δ/R² give 2λ + (1−1/n)Δ/R² ≥ 2a",
        2 * a,
        2 * (a - mu) + (1 - 1 / n) * mu / R**2,
        {a: 2, mu: 1, R: 10, n: 100},
        "with Δ/‖C‖_2² in place of Δ (S4)",
    )
    total = 2 * (a - mu / D**2) + (1 - 1 / n) * mu / radius**2
    reached = proof.at_most("with λ = a − Δ/D² and R = D/2, for n ≥ 2", 2 * a, total, {n: 2 + t})
    alone = (1 - 1 / n) * mu / radius**2
    proof.at_most("and with λ = 0, where a ≤ Δ/D²", 2 * a, alone, {n: 2 + t, mu: (a + r) * D**2})
    proof.assumes("lp_spaces/thm-3@corrected", 2, n)
    proof.concludes("lp_spaces/thm-3@corrected", reached, where={H: a * epsilon * 2 / r, n: 2})


@derivation("lp_spaces/thm-3@normalised")
def curvature_at_the_normalisation(proof: Proof) -> None:
    """The printed λ = max{a − Δ, 0}, a = rβ/(εn), takes off at most what (1−1/n)Δ/R² gives; equally much at the largest
    diameter.
    """
    a, t, s, u = sp.symbols("a t s u", positive=True)
    widest = proof.assumes("lp_spaces/thm-3@normalised", D**2, 2 * (1 - 1 / n))
    proof.assumes("lp_spaces/thm-3@normalised", 2, n)
    alone = (1 - 1 / n) * mu / (D / 2) ** 2
    total = 2 * (a - mu) + alone
    size = {D: sp.sqrt(widest.subs(n, 2 + t) / (1 + s)), n: 2 + t}
    reached = proof.at_most("with λ = a − Δ", 2 * a, total, size)
    proof.at_most("and with λ = 0, where a ≤ Δ", 2 * a, alone, size | {mu: a + u})
    at_most = {D: sp.sqrt(widest), H: a * epsilon * n / r}
    proof.concludes("lp_spaces/thm-3@normalised", reached, where=at_most)


thm_4 = claim(
    "lp_spaces/thm-4",
    "Theorem 4",
    "For n large enough and α = O(min{L²‖C‖_2²/(Δn²), L⁴‖C‖_2⁶ε²/(Δ³n⁴G_C² log(1/δ))}), the expected excess risk of "
    "Algorithm 2 is O(L²‖C‖_2²/(Δnε) + G_C²L² log(1/δ)/(Δn²ε²)).",
    kind="theorem",
    section="4.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=STRONG,
    # the same (2cb32b): without n >= sqrt(d)*sqrt(log(1/delta))/epsilon: thm-4@derived, due to the others, is for any n
    assumptions=(*PRIVACY, *ENOUGH, sp.Ge(n, (L * D / mu) ** 2)),
    about=("lp_spaces/alg-2",),
    remark="Stands, and is weaker than need be: 1/n without 1/ε holds, as Contribution 1 and Table 1 have it (S5).",
)


thm_4_derived = thm_4.as_read(
    "lp_spaces/thm-4@derived",
    "Theorem 4 with constants and without 1/ε",
    "For λ = 0, symmetric C with R = ‖C‖_2/2 and the printed α: excess <= (L²‖C‖_2²/(Δn))(1/2 + √2 + 4(log(2.5/δ)/"
    "log(1/δ))^{1/4}) + 64L² log(2.5/δ)(G_C² + R²)/(Δε²n²).",
    origin="ours",
    order=STRONG_WITHOUT_EPSILON,
    explicit=L**2 * D**2 / (mu * n) * (sp.Rational(1, 2) + sp.sqrt(2) + 4 * (LOG_25 / LOG) ** sp.Rational(1, 4))
    + 64 * L**2 * LOG_25 * (omega**2 + R**2) / (mu * epsilon**2 * n**2),
    assumptions=(),
)


thm_4_any = thm_4.as_read(
    "lp_spaces/thm-4@any-accuracy",
    "Theorem 4 for every α and λ, with constants",
    "For symmetric C with R = ‖C‖_2/2, every accuracy α and every λ >= 0: excess <= 2L²R²/(Δn) + σ_1²(G_C² + R²)/(Δn²) "
    "+ 4λ²R⁴/Δ + LR√(2α/Δ) + L√(2σ_2G_C); the second term is halved at λ = 0.",
    origin="ours",
    explicit=2 * L**2 * R**2 / (modulus * n)
    + SIGMA_1**2 * (omega**2 + R**2) / (2 * modulus * n**2) * sp.Piecewise((2, sp.Gt(weight, 0)), (1, True))
    + 4 * weight**2 * R**4 / modulus
    + L * R * sp.sqrt(2 * alpha / modulus)
    + L * sp.sqrt(2 * sigma_2(alpha, modulus / (4 * R**2)) * omega),
    remark="`thm-4@derived` is this at λ = 0 with the printed α.",
    assumptions=(),
)


@derivation("lp_spaces/thm-4", also=("lp_spaces/thm-4@derived",))
def strongly_convex(proof: Proof) -> None:
    """Strong convexity regularises by itself, λ = 0: stability and noise are squared over Δ; no 1/ε beside 1/n."""
    first, second, t = r * H * D / (epsilon * L), L * D / mu, sp.Symbol("t", positive=True)
    proof.assumes("lp_spaces/thm-4", first**2, n)
    proof.assumes("lp_spaces/thm-4", second**2, n)
    proof.at_most("n ≥ √(product of both): λ = 0", THRESHOLD, mu / D**2, {n: first * second * (1 + t)})
    stability = proof.equal(
        "LR·2LR/(nΔ) with R = D/2",
        lambda: (L * R * 2 * L * R / (n * mu)).xreplace({R: D / 2}),
        L**2 * D**2 / (2 * n * mu),
    )
    noise = proof.equal(
        "E‖G‖²/(2Δn²), E‖G‖² ≤ σ_1²(ω² + R²)",
        lambda: SIGMA_1**2 * (omega**2 + R**2) / (2 * mu * n**2),
        64 * L**2 * LOG_25 * (omega**2 + R**2) / (mu * n**2 * epsilon**2),
    )
    optimiser = proof.equal(
        "L√(2αD²/Δ) at α = L²D²/(n²Δ)",
        lambda: L * sp.sqrt(2 * L**2 * D**2 / (n**2 * mu) * D**2 / mu),
        sp.sqrt(2) * L**2 * D**2 / (n * mu),
    )
    accuracy = epsilon**2 * L**4 * D**6 / (omega**2 * LOG * n**4 * mu**3)
    projection = proof.equal(
        "L√(2·σ_2ω) with Δ/D² for λ, at the printed α = ε²L⁴D⁶/(ω²ℒn⁴Δ³)",
        lambda: L * sp.sqrt(2 * (8 * sp.sqrt(accuracy * LOG_25 * D**2 / mu) / epsilon) * omega),
        4 * QUARTER * L**2 * D**2 / (n * mu),
    )
    terms = {"stability": stability, "noise": noise, "optimiser": optimiser, "projection": projection}
    bound = proof.master("excess risk", terms)
    proof.concludes("lp_spaces/thm-4@derived", bound)
    proof.assumes("lp_spaces/thm-4", epsilon, 1)
    order = Regime(base=None, others="free", where=[delta <= HALF, epsilon <= 1, omega >= R, n >= 1])
    proof.concludes("lp_spaces/thm-4", bound, regime=order, looser=True)


@derivation("lp_spaces/thm-4@any-accuracy")
def every_accuracy(proof: Proof) -> None:
    """As for Theorem 4; a regulariser adds 2λθ to the gradient, of dual norm 2λR² at most, and (a + b)² ≤ 2a² + 2b²."""
    a, b = sp.symbols("a b", positive=True)
    stability = proof.equal("LR·2LR/(nΔ)", lambda: L * R * 2 * L * R / (n * modulus), 2 * L**2 * R**2 / (modulus * n))
    squared = proof.argues("E‖G‖²/n²", "E‖G‖²/n²", "<=", SIGMA_1**2 * (omega**2 + R**2) / n**2)
    proof.at_most("both together", lambda: (a + b) ** 2, 2 * a**2 + 2 * b**2)
    both = proof.equal(
        "(2E‖G‖²/n² + 2(2λR²)²)/(2Δ)",
        lambda: (2 * squared + 2 * (2 * lambda_ * R**2) ** 2) / (2 * modulus),
        squared / modulus + 4 * lambda_**2 * R**4 / modulus,
    )
    optimiser = proof.argues("α-minimisers", "LR‖θ_2 − θ_1‖_C", "<=", L * R * sp.sqrt(2 * alpha / modulus))
    projection = L * sp.sqrt(2 * sigma_2(alpha, modulus / (4 * R**2)) * omega)
    terms = {"stability": stability, "optimiser": optimiser, "projection": projection}
    rest = proof.master("excess risk, but for noise and regulariser", terms)
    proof.concludes("lp_spaces/thm-4@any-accuracy", rest + both, where={weight: lambda_})
    proof.concludes("lp_spaces/thm-4@any-accuracy", rest + squared / (2 * modulus), where={weight: 0})


rem_2 = claim(
    "lp_spaces/claim-rem-2",
    "Remark 2",
    "For the unit ℓ_2 ball, where G_C is of order √d, the two rates are the optimal √d/(nε) + 1/√n and d/(nε)² + 1/n.",
    kind="proposition",
    section="4.2",
    quantity="excess risk on the ℓ_2 ball",
    measures="excess risk",
    relation="<=",
    order=L * sp.sqrt(d * LOG) / (n * epsilon) + L / sp.sqrt(n),
    remark="The second needs 1/n without 1/ε: `thm-4@derived`, not Theorem 4 as printed.",
)


rem_2_strong = rem_2.as_read(
    "lp_spaces/claim-rem-2@strongly-convex",
    "Remark 2, strongly convex losses",
    "Theorem 4 gives the second rate, d/(nε)² + 1/n, on the unit ℓ_2 ball.",
    quantity="excess risk on the ℓ_2 ball, strongly convex",
    order=d * LOG / (n * epsilon) ** 2 + 1 / n,
    grade="slip",
    remark="Does not follow from Theorem 4 as printed, whose first term is 1/(nε), but from `thm-4@derived` (S5).",
    measures="",
)


@derivation("lp_spaces/claim-rem-2")
def euclidean_ball(proof: Proof) -> None:
    """Theorem 2 on the unit ball of ℓ_2, whose Gaussian width is √d."""
    bound = proof.uses("lp_spaces/thm-2", CONVEX.subs({omega: sp.sqrt(d), D: 1}), {omega: sp.sqrt(d), D: 1})
    proof.concludes("lp_spaces/claim-rem-2", bound)


LOWER = omega**2 * LOG / (sp.log(2 * d) ** 4 * epsilon**2 * n**2)


RANGE_5 = (sp.Le(n, sp.sqrt(d * LOG) / epsilon), sp.Le(epsilon, 1), sp.Ge(delta, 2**-n), sp.Lt(delta, 1 / n))


thm_5 = claim(
    "lp_spaces/thm-5",
    "Theorem 5",
    "For symmetric C in the unit ball with ‖C‖_2 = 1, n = O(√(d log(1/δ))/ε), ε = O(1) and 2^{-Ω(n)} <= δ <= "
    "n^{-1-Ω(1)}, some 1-Lipschitz, C_min²-strongly convex loss and some data set give every (ε, δ)-DP algorithm an "
    "excess risk Ω(max{G_C² log(1/δ)/((log 2d)⁴ε²n²), 1/n}).",
    kind="theorem",
    section="4.2",
    quantity="excess risk",
    measures="excess risk",
    relation=">=",
    order=sp.Max(LOWER, 1 / n),
    assumptions=RANGE_5,
    grade="slip",
    remark="Needs min{1, ·} or a lower limit on n, and the algorithm before the data set (S11). Its range of n and "
    "that of Theorem 4 meet only for d = O(1) with its natural loss.",
)


thm_5_literal = thm_5.as_read(
    "lp_spaces/thm-5@literal",
    "Theorem 5 over the whole printed range of n",
    "The lower bound holds for all n = O(√(d log(1/δ))/ε), however small.",
    order=LOWER,
    grade="slip",
    remark="A 1-Lipschitz loss on a set of diameter 1 has excess at most 1; the bound grows without limit in d.",
)


thm_5_quantifiers = thm_5.as_read(
    "lp_spaces/thm-5@quantifiers",
    "Theorem 5 in the printed order",
    "There are a loss and a data set such that every (ε, δ)-DP algorithm has the stated excess on it.",
    grade="slip",
    remark="The algorithm that ignores its data and always returns that data set's minimiser is (0, 0)-DP.",
)


packing = underived(
    "lp_spaces/thm-5",
    "a lower bound whose proof is in the supplement, which was not at hand; nothing is chosen in it, its ranges and "
    "the order of its quantifiers are tested as separate readings",
)


after_thm_5 = claim(
    "lp_spaces/claim-after-thm-5",
    "Text after Theorem 5",
    "Theorem 4 with Δ = C_min² and L = 1 is optimal up to C_min^{-2} and logarithms.",
    kind="proposition",
    section="4.2",
    quantity="upper over lower bound",
    relation="<=",
    explicit=sp.log(2 * d) ** 4 / C_min**2,
    remark="The abstract says 'up to poly(log d)'; C_min^{-2} = 4d for the cross-polytope of radius 1/2 (S11).",
)


@derivation("lp_spaces/claim-after-thm-5")
def gap_between_the_bounds(proof: Proof) -> None:
    """The second term of Theorem 4 at L = 1, Δ = C_min², over the first of Theorem 5."""
    upper = proof.argues("of Theorem 4", "second term", "=", omega**2 * LOG / (C_min**2 * n**2 * epsilon**2))
    lower = omega**2 * LOG / (sp.log(2 * d) ** 4 * n**2 * epsilon**2)
    proof.concludes("lp_spaces/claim-after-thm-5", upper / lower)


proc_lower_instance = claim(
    "lp_spaces/proc-lower-instance",
    "Hard instance of Theorem 5",
    "ℓ = ½‖θ − x‖² over C, records at ±½/√d in every coordinate (ball, cube), at ±½e_j (cross-polytope), or on the "
    "long ones of the half-axes 1/(2√j) (ellipsoid): reconstructed to fit the stated constants.",
    kind="procedure",
    section="4.2",
    about=("lp_spaces/thm-5",),
)
