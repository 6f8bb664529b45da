"""Section 5.1: unconstrained ℓ_p spaces, 1 < p < 2."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Finding, Proof, derivation, underived
from dpcheck.symbols import C, D, H, L, T, alpha, d, epsilon, kappa, m, n, p, sigma

from ._paper import GROWS, LOG, NOISE, PRIVACY, SMOOTH, SUBOPTIMAL, A, claim, x

asm_3 = claim(
    "lp_spaces/asm-3",
    "Assumption 3",
    "The loss is convex, β-smooth and L-Lipschitz with respect to ‖·‖_p on the whole of ℝ^d.",
    kind="assumption",
    section="5.1",
)


alg_3 = claim(
    "lp_spaces/alg-3",
    "Algorithm 3 (noisy regularised mirror descent)",
    "T steps of mirror descent on the regularised empirical risk, Φ = (κ/2)‖·‖_s², each gradient with generalised "
    "Gaussian noise of σ² = 64L²κT log(1/δ)/(n²ε²); the output averages the iterates with weights a^t, a = "
    "(2β+α)/(2β).",
    kind="algorithm",
    section="5.1",
    quantity="σ²",
    relation="=",
    explicit=64 * L**2 * kappa * T * LOG / (n**2 * epsilon**2),
    grade="slip",
    remark="The printed exponent of Φ, κ/(κ−1), is not the dual one, (κ+1)/κ (S2). The update has βD_Φ where the "
    "weights belong to 2βD_Φ; both satisfy a bound of the same order (S7).",
)


alg_3_corrected = alg_3.as_read(
    "lp_spaces/alg-3@corrected",
    "Algorithm 3 with the dual exponent",
    "The same with Φ = (κ/2)‖·‖_s², s = (κ_+ + 1)/κ_+, and κ of Definition 3 in Φ and in the noise.",
    origin="ours",
    about=("lp_spaces/alg-3",),
)
alg_3_steps = alg_3.as_read(
    "lp_spaces/alg-3@steps",
    "Algorithm 3, T of Theorem 7",
    "T = (nεκ/√(d log(1/δ)))^{2/5}, the whole number next to it.",
    quantity="steps",
    explicit=sp.floor((kappa / NOISE) ** sp.Rational(2, 5) + sp.Rational(1, 2)),
    about=("lp_spaces/alg-3",),
)
alg_3_alpha = alg_3.as_read(
    "lp_spaces/alg-3@alpha",
    "Algorithm 3, α of Theorem 7",
    "α = (4β/T) log₂(n/T).",
    quantity="weight of the regulariser",
    explicit=4 * H / T * sp.log(n / T, 2),
    about=("lp_spaces/alg-3",),
)
alg_3_distance = alg_3.as_read(
    "lp_spaces/alg-3@distance",
    "Algorithm 3, line 4: weight of D_Φ",
    "The update has βD_Φ.",
    quantity="weight of the Bregman term",
    explicit=H,
    about=("lp_spaces/alg-3",),
)
alg_3_two_beta_distance = alg_3.as_read(
    "lp_spaces/alg-3@two-beta-distance",
    "Algorithm 3, weight of D_Φ that the averaging belongs to",
    "The update has 2βD_Φ.",
    origin="ours",
    quantity="weight of the Bregman term",
    explicit=2 * H,
    about=("lp_spaces/alg-3",),
)
alg_3_growth = alg_3.as_read(
    "lp_spaces/alg-3@growth",
    "Algorithm 3, line 6: weights of the average",
    "w_{t+1} has the weight a^t, a = (2β + α)/(2β).",
    quantity="a",
    explicit=(2 * H + alpha) / (2 * H),
    about=("lp_spaces/alg-3",),
)
KAPPA_PLUS = sp.Min(1 / (p - 1), 2 * sp.log(d))
alg_3_corrected_kappa = alg_3.as_read(
    "lp_spaces/alg-3@corrected-kappa",
    "Algorithms 3 and 4, κ of Definition 3",
    "κ = κ_+ d^{2/r − 2/q} with κ_+ = min{1/(p−1), 2 log d}, r = κ_+ + 1 and q = p/(p−1).",
    origin="ours",
    quantity="κ",
    explicit=KAPPA_PLUS * d ** (2 / (KAPPA_PLUS + 1) - 2 * (p - 1) / p),
    about=("lp_spaces/alg-3", "lp_spaces/alg-4", "lp_spaces/proc-batched-md"),
)
alg_3_gradients = alg_3.as_read(
    "lp_spaces/alg-3@gradients",
    "Algorithm 3, gradients",
    "Every step has the gradients of all records: nT.",
    quantity="gradients",
    explicit=n * T,
    about=("lp_spaces/alg-3",),
)


proc_mirror_map = claim(
    "lp_spaces/proc-mirror-map",
    "Mirror map of Algorithms 3 and 4",
    "Φ = (κ/2)‖·‖_s² is 1-strongly convex with respect to ‖·‖_p.",
    kind="procedure",
    section="5.1",
    quantity="modulus of strong convexity",
    relation=">=",
    explicit=sp.Integer(1),
    about=("lp_spaces/alg-3", "lp_spaces/alg-4"),
    remark="True for s = (κ+1)/κ with the regularity constant of Definition 3.",
)


proc_mirror_map_literal = proc_mirror_map.as_read(
    "lp_spaces/proc-mirror-map@literal",
    "Mirror map with the printed exponent",
    "The same with the exponent κ/(κ−1), κ = min{1/(p−1), 2 log d}.",
    assumptions=(sp.Gt(p, 1), sp.Lt(p, 2), sp.Ge(d, 2)),
    grade="slip",
    remark="For p > 3/2 the exponent exceeds 2 and there is no modulus at all; for p <= 3/2 it falls with d.",
)


proc_mirror_map_corrected = proc_mirror_map.as_read(
    "lp_spaces/proc-mirror-map@corrected",
    "Mirror map with the dual exponent",
    "With s = (κ_+ + 1)/κ_+ and the factor κ of Definition 3, Φ is 1-strongly convex with respect to ‖·‖_p.",
    origin="ours",
)


thm_6 = claim(
    "lp_spaces/thm-6",
    "Theorem 6",
    "Algorithm 3 is (ε, δ)-DP for 0 < ε, δ < 1.",
    kind="theorem",
    section="5.1",
    assumptions=PRIVACY,
    about=("lp_spaces/alg-3",),
    remark="True, with an almost eightfold slack in the variance, though Lemmas 1 and 3 together would ask for another "
    "logarithm.",
)


thm_6_derived = thm_6.as_read(
    "lp_spaces/thm-6@derived",
    "Theorem 6 by concentrated privacy",
    "The T steps are ρ-zCDP with ρ = ε²/(32 log(1/δ)), which converts to (0.354ε + ρ, δ)-DP.",
    origin="ours",
    quantity="ρ",
    relation="<=",
    explicit=epsilon**2 / (32 * LOG),
    assumptions=(),
)


@derivation("lp_spaces/thm-6@derived")
def privacy_of_all_steps(proof: Proof) -> None:
    """T steps of sensitivity 2L/n, each κ(2L/n)²/(2σ²)-zCDP."""
    each = proof.uses("lp_spaces/lem-3@derived", kappa * (2 * L / n) ** 2 / (2 * sigma**2), {L: 2 * L / n})
    variance = proof.uses("lp_spaces/alg-3", 64 * L**2 * kappa * T * LOG / (n**2 * epsilon**2))
    proof.concludes("lp_spaces/thm-6@derived", T * each.subs(sigma, sp.sqrt(variance)))


thm_7 = claim(
    "lp_spaces/thm-7",
    "Theorem 7",
    "With α = (4β/T) log_2(n/T) and T = O((nεκ/√(d log(1/δ)))^{2/5}), the expected excess risk of Algorithm 3 is "
    "Õ(κ^{4/5}(√(d log(1/δ))/(nε))^{2/5}), hiding β, L and E‖w̃*‖², w̃* the empirical minimiser.",
    kind="theorem",
    section="5.1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=SMOOTH,
    assumptions=(*PRIVACY, sp.Ge(n, epsilon**4 / ((d * LOG) ** 2 * sp.sqrt(kappa)))),
    about=("lp_spaces/alg-3",),
    remark="Derived on paper, from a master inequality that is argued in words; the algebra after it is executed. T "
    "that balances the printed rate has √κ for κ, and T = κ^{1/4}(nε/√(d log(1/δ)))^{1/2} gives the better "
    "κ^{3/4}(√(d log(1/δ))/(nε))^{1/2} (S6). The stated condition on n is void (S18). E‖w̃*‖² is infinite when "
    "separable data have positive probability, and 0 when every record is minimised at 0: read 1 + E‖w̃*‖² (S19).",
)


thm_7_dual = thm_7.as_read(
    "lp_spaces/thm-7@dual-exponent",
    "Theorem 7 for the corrected mirror map",
    "The same for Algorithm 3 with the dual exponent.",
    origin="ours",
    assumptions=(),
)


thm_7_derived = thm_7.as_read(
    "lp_spaces/thm-7@derived",
    "Theorem 7, optimisation error",
    "For the literal step and every w: E F(ŵ) − F(w) <= (α/2)Φ(w)/(A−1) + dσ²/(α+β), where F = L̂ + αΦ and A = "
    "(1 + α/(2β))^T.",
    origin="ours",
    quantity="suboptimality of the regularised empirical risk",
    measures="empirical suboptimality",
    explicit=SUBOPTIMAL,
    assumptions=(sp.Gt(A, 1),),
)


thm_7_risk = thm_7.as_read(
    "lp_spaces/thm-7@risk",
    "Theorem 7 with constants, before parameters are chosen",
    "Where Φ is at most C at the population's and at the sample's minimiser: excess <= αC + S + L(2√(C/(A−1) + "
    "2dσ²/(α(α+β))) + 2L/(αn)), S the bound of `thm-7@derived`.",
    origin="ours",
    explicit=alpha * C
    + SUBOPTIMAL
    + L * (2 * sp.sqrt(C / (A - 1) + 2 * d * sigma**2 / (alpha * (alpha + H))) + 2 * L / (alpha * n)),
    assumptions=(sp.Gt(A, 1),),
    remark="That Φ is as small at the sample's minimiser is exact in the limit of large n only.",
)


@derivation("lp_spaces/thm-7@derived")
def optimisation_error(proof: Proof) -> None:
    """Three points and smoothness for one step, weights that telescope; noise against the step that it moves.

    A step has F(w_{t+1}) − F(w) ≤ βD_t − (α+β)D_{t+1} + <Z_t, w − w_{t+1}>, D_t = D_Φ(w, w_t) and D_0 = Φ(w).
    """
    a = proof.uses("lp_spaces/alg-3@growth", (2 * H + alpha) / (2 * H))
    proof.assumes("lp_spaces/thm-7@derived", 1, A)
    proof.at_most("weights a^t telescope if aβ ≤ α + β", a * H, alpha + H)
    weights = proof.argues("A = a^T", "Σ a^t", "=", a * (A - 1) / (a - 1))
    start = proof.equal("aβΦ(w)/Σ a^t", lambda: a * H * C / weights, alpha / 2 * C / (A - 1))
    noise = proof.uses("lp_spaces/lem-4", d * sigma**2, {m: 2})
    moved = proof.argues("the noise moves w_{t+1} by ‖Z‖_*/(α+β)", "E<Z_t, w − w_{t+1}>", "<=", noise / (alpha + H))
    proof.concludes("lp_spaces/thm-7@derived", start + moved)


@derivation("lp_spaces/thm-7@risk")
def population_risk(proof: Proof) -> None:
    """Coupled runs on neighbours: each output is near its own regularised minimiser, and these are near each other."""
    gap = proof.uses("lp_spaces/thm-7@derived", SUBOPTIMAL)
    proof.assumes("lp_spaces/thm-7@risk", 1, A)
    squared = proof.equal(
        "‖ŵ − w_α‖² ≤ 2S/α, F being α-strongly convex",
        lambda: 2 * gap / alpha,
        C / (A - 1) + 2 * d * sigma**2 / (alpha * (alpha + H)),
    )
    apart = proof.argues("one record moves w_α", "‖w_α − w_α'‖", "<=", 2 * L / (alpha * n))
    terms = {"regulariser": alpha * C, "optimisation": gap, "stability": L * (2 * sp.sqrt(squared) + apart)}
    proof.concludes("lp_spaces/thm-7@risk", proof.master("excess risk", terms))


@derivation("lp_spaces/thm-7", GROWS, also=("lp_spaces/thm-7@dual-exponent",))
def regularised_mirror_descent(proof: Proof) -> None:
    """T steps: the regulariser falls like κ/T, the noise of the last point grows like √κ T x; whatever κ is meant."""
    noise = proof.uses("lp_spaces/alg-3", 64 * L**2 * kappa * T * LOG / (n**2 * epsilon**2))
    last = proof.equal(
        "L√(2dσ²/(αβ)) at α = 4β/T, without logs",
        lambda: L * sp.sqrt(2 * d * noise / (4 * H / T * H)),
        4 * sp.sqrt(2) * L**2 * sp.sqrt(kappa) * T * sp.sqrt(d * LOG) / (n * epsilon * H),
    )
    units = {LOG: (x * n * epsilon) ** 2 / d, L: sp.S.One, H: sp.S.One}
    proof.equal("in units of L and β", lambda: last.xreplace(units), 4 * sp.sqrt(2) * sp.sqrt(kappa) * T * x)
    bound = proof.master("excess risk, without logs", {"regulariser": kappa / T, "noise": sp.sqrt(kappa) * T * x})
    value = proof.chooses(
        bound,
        {T: (kappa / x) ** sp.Rational(2, 5)},
        better={T: kappa ** sp.Rational(1, 4) / sp.sqrt(x)},
        limits=[1 / T],
    )
    printed = kappa ** sp.Rational(4, 5) * x ** sp.Rational(2, 5)
    reached = proof.order_at_most("at the printed T, for √κ x ≤ 1", value, printed)
    proof.same_order(
        "κ^{4/5}x^{2/5} is the balance with √κ for κ in T",
        bound.subs(T, (sp.sqrt(kappa) / x) ** sp.Rational(2, 5)),
        reached,
    )
    for label in ("lp_spaces/thm-7", "lp_spaces/thm-7@dual-exponent"):
        proof.concludes(label, reached.subs(x, NOISE))


rem_3 = claim(
    "lp_spaces/claim-rem-3",
    "Remark 3",
    "On a set of ‖·‖_p-diameter M the rate is Õ((M + M²)(√κ/√n + κ√(d log(1/δ))/(nε))).",
    kind="proposition",
    section="5.1",
    origin="cited",
    quantity="excess risk, constrained",
    measures="excess risk",
    relation="<=",
    order=(D + D**2) * (sp.sqrt(kappa / n) + kappa * NOISE),
)


remark_3 = underived(
    "lp_spaces/claim-rem-3", "cited from Bassily et al. 2021, with no parameter to choose; quoted for comparison"
)


horizon = claim(
    "lp_spaces/thm-7@horizon",
    "Theorem 7 with another number of steps",
    "T = κ^{1/4}(nε/√(d log(1/δ)))^{1/2} in place of (nεκ/√(d log(1/δ)))^{2/5} gives the excess risk "
    "Õ(κ^{3/4}(√(d log(1/δ))/(nε))^{1/2}), smaller by (√κ√(d log(1/δ))/(nε))^{1/10} up to a power 1/20 of κ.",
    kind="theorem",
    section="5.1",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=kappa ** sp.Rational(3, 4) * sp.sqrt(NOISE),
    about=("lp_spaces/alg-3",),
)
horizon_found = Finding(
    "lp_spaces/thm-7@horizon",
    "The unconstrained rate (√d/(nε))^{2/5} is a choice, not a limit: with T ∝ (nε/√d)^{1/2} steps the derivation "
    "at hand, not the authors', gives (√d/(nε))^{1/2}.",
)


@derivation("lp_spaces/thm-7@horizon", GROWS)
def better_horizon(proof: Proof) -> None:
    """κ/T against √κ T x: they balance at T = κ^{1/4}x^{−1/2}."""
    bound = proof.master("excess risk, without logs", {"regulariser": kappa / T, "noise": sp.sqrt(kappa) * T * x})
    value = proof.chooses(bound, {T: kappa ** sp.Rational(1, 4) / sp.sqrt(x)}, limits=[1 / T])
    printed = kappa ** sp.Rational(4, 5) * x ** sp.Rational(2, 5)
    proof.order_at_most("it is within the stated rate", value, printed)
    proof.uses("lp_spaces/thm-7", SMOOTH)
    proof.concludes("lp_spaces/thm-7@horizon", value.subs(x, NOISE))
