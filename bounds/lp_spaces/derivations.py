"""How the bounds of Su, Zhao and Wang follow: master inequality, choice of parameters, constants; every line executed.

The arguments in words stand in `bounds/lp_spaces.md` under the same labels, which also has the notation: ℒ = log(1/δ),
x = √(dℒ)/(nε), H the smoothness β, `A` the threshold λ of truncation.
"""

import sympy as sp

from dpcheck.algebra import tidy
from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import (
    D,
    H,
    L,
    R,
    T,
    alpha,
    beta,
    d,
    delta,
    epsilon,
    eta,
    kappa,
    lambda_,
    mu,
    n,
    omega,
    p,
    sigma,
    theta,
)

from ._paper import (
    CONVEX,
    HEAVY,
    LARGE_P,
    LOG,
    LOG_25,
    NOISE,
    SIGMA_1,
    SMOOTH,
    STRONG_WITHOUT_EPSILON,
    A,
    C_min,
    c,
    sigma_2,
    x,
)

size = sp.Symbol("size", positive=True)
"""‖θ*‖; the symbol θ is a parameter of exponents in other papers."""
QUARTER = (LOG_25 / LOG) ** sp.Rational(1, 4)
HALF = sp.Rational(1, 2)
GROWS = Regime(base=None, others="free", where=[n >= 1, d >= 1, kappa >= 1, epsilon <= 1, sp.sqrt(kappa) * x <= 1])
"""√κ x ≤ 1: outside of it every bound of Section 5 is vacuous."""
CONSTANT_DELTA = Regime(base=None, others="free", constants=[delta], where=[n >= 1, epsilon <= 1])
NOISE_IS_X = {sp.sqrt(d) * sp.sqrt(LOG): x * n * epsilon}

# Section 4: Gaussian width -------------------------------------------------------------------------------------------


@derivation(
    "lp_spaces/thm-2",
    Regime(base=None, others="free", where=[delta <= HALF]),
    also=("lp_spaces/thm-2@derived", "lp_spaces/thm-2@corrected"),
)
def gaussian_width(proof: Proof) -> None:
    """Four terms: stability, regulariser and noise, optimiser, projection; λ balances the first two."""
    noise = proof.equal(
        "σ_1 ω/n", lambda: SIGMA_1 * omega / n, 8 * sp.sqrt(2) * L * omega * sp.sqrt(LOG_25) / (n * epsilon)
    )
    projection = proof.equal(
        "L√(2·σ_2ω), the squared distance that the second noise costs",
        lambda: L * sp.sqrt(2 * sigma_2(alpha) * omega),
        4 * L * (alpha / lambda_) ** sp.Rational(1, 4) * sp.sqrt(omega / epsilon) * LOG_25 ** sp.Rational(1, 4),
    )
    moved = proof.uses("lp_spaces/alg-1@derived", L / (lambda_ * n))
    terms = {
        "stability": L * moved,
        "regulariser": lambda_ * R**2,
        "noise": noise,
        "optimiser": L * sp.sqrt(alpha / lambda_),
        "projection": projection,
    }
    bound = proof.master("excess risk", terms)
    proof.concludes("lp_spaces/thm-2@derived", bound)
    accuracy = sp.Symbol("accuracy", positive=True)
    wide = proof.at_most("R ≤ D", bound, bound.subs(R, D), {D: R + c})
    first = proof.equal(
        "α in units of λ",
        lambda: wide.xreplace({alpha: accuracy * lambda_}),
        tidy(wide.subs(alpha, accuracy * lambda_)),
    )
    value = proof.chooses(first, {lambda_: L / (sp.sqrt(n) * D)}, text="choose λ = L/(√n D)")
    proof.gap(
        "with the printed α/λ = ε²D⁴/(ω²ℒn) the projection costs O(LD/√n)",
        (4 * L * D * QUARTER / n ** sp.Rational(1, 4)) / (L * D / sp.sqrt(n)),
        10,
        {n: 10**6, delta: sp.Rational(1, 10**6)},
        "with n² in place of n, which Remark 1 has (S1)",
    )
    second = proof.equal(
        "α/λ = ε²D⁴/(ω²ℒn²): the projection",
        lambda: projection.xreplace({alpha: lambda_ * epsilon**2 * D**4 / (omega**2 * LOG * n**2)}),
        4 * L * D * QUARTER / sp.sqrt(n),
    )
    third = proof.equal("α/λ ≤ D²/n: the optimiser", lambda: L * sp.sqrt(D**2 / n), L * D / sp.sqrt(n))
    kept = [term for term in sp.Add.make_args(value) if not term.has(accuracy)]
    reached = sp.Add(*kept) + second + third
    proof.concludes("lp_spaces/thm-2@corrected", reached)
    proof.concludes("lp_spaces/thm-2", reached)


@derivation("lp_spaces/thm-1@derived")
def two_gaussians(proof: Proof) -> None:
    """Both noises against the constant shifts of a linear difference of losses."""
    proof.argues("μ² of two Gaussians adds up: the squared shifts over the variances, 2L and 2√(α/λ) at most")
    first = proof.equal("4L²/σ_1²", lambda: 4 * L**2 / SIGMA_1**2, epsilon**2 / (32 * LOG_25))
    second = proof.equal("4(α/λ)/σ_2²", lambda: 4 * alpha / lambda_ / sigma_2(alpha) ** 2, epsilon**2 / (16 * LOG_25))
    proof.concludes("lp_spaces/thm-1@derived", first + second)


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
    proof.concludes("lp_spaces/thm-3@corrected", reached, where={H: a * epsilon * (2 + t) / r, n: 2 + t}, looser=True)


@derivation("lp_spaces/claim-rem-1")
def accuracy_of_the_optimiser(proof: Proof) -> None:
    """The printed projection lemma, with Algorithm 1's second noise in it."""
    spread = proof.argues(
        "E‖P − θ_2‖² ≤ 2σ_2ω for the projection P of the noisy point", "E‖P − θ_2‖²", "<=", 2 * sigma_2(alpha) * omega
    )
    proof.concludes("lp_spaces/claim-rem-1", spread)


@derivation("lp_spaces/thm-4", also=("lp_spaces/thm-4@derived",))
def strongly_convex(proof: Proof) -> None:
    """Strong convexity regularises by itself, λ = 0: stability and noise are squared over Δ; no 1/ε beside 1/n."""
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
    order = Regime(base=None, others="free", where=[delta <= HALF, epsilon <= 1, omega >= R, n >= 1])
    proof.concludes("lp_spaces/thm-4", bound, regime=order, looser=True)


@derivation("lp_spaces/claim-rem-2")
def euclidean_ball(proof: Proof) -> None:
    """Theorem 2 on the unit ball of ℓ_2, whose Gaussian width is √d."""
    bound = proof.uses("lp_spaces/thm-2", CONVEX.subs({omega: sp.sqrt(d), D: 1}), {omega: sp.sqrt(d), D: 1})
    proof.concludes("lp_spaces/claim-rem-2", bound)


packing = underived(
    "lp_spaces/thm-5",
    "a lower bound whose proof is in the supplement, which was not at hand; nothing is chosen in it, its ranges and "
    "the order of its quantifiers are tested as separate readings",
)


@derivation("lp_spaces/claim-after-thm-5")
def gap_between_the_bounds(proof: Proof) -> None:
    """The second term of Theorem 4 at L = 1, Δ = C_min², over the first of Theorem 5."""
    upper = proof.argues("of Theorem 4", "second term", "=", omega**2 * LOG / (C_min**2 * n**2 * epsilon**2))
    lower = omega**2 * LOG / (sp.log(2 * d) ** 4 * n**2 * epsilon**2)
    proof.concludes("lp_spaces/claim-after-thm-5", upper / lower)


# Section 5.1: unconstrained spaces -----------------------------------------------------------------------------------


@derivation("lp_spaces/thm-6@derived")
def privacy_of_all_steps(proof: Proof) -> None:
    """T steps of sensitivity 2L/n, each κ(2L/n)²/(2σ²)-zCDP."""
    each = proof.uses("lp_spaces/lem-3@derived", kappa * (2 * L / n) ** 2 / (2 * sigma**2), {L: 2 * L / n})
    variance = proof.uses("lp_spaces/alg-3", 64 * L**2 * kappa * T * LOG / (n**2 * epsilon**2))
    proof.concludes("lp_spaces/thm-6@derived", T * each.subs(sigma, sp.sqrt(variance)))


@derivation("lp_spaces/thm-7", GROWS)
def regularised_mirror_descent(proof: Proof) -> None:
    """T steps: the regulariser falls like κ/T, the noise of the last point grows like √κ T x."""
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
    proof.concludes("lp_spaces/thm-7", reached.subs(x, NOISE))


remark_3 = underived(
    "lp_spaces/claim-rem-3", "cited from Bassily et al. 2021, with no parameter to choose; quoted for comparison"
)


@derivation(
    "lp_spaces/thm-8",
    Regime(base=None, others="free", where=[n >= 1, d >= 1, epsilon <= 1, size >= L]),
    also=("lp_spaces/thm-8@corrected",),
)
def phases_without_projection(proof: Proof) -> None:
    """Localisation: the distance shrinks to the noise of the phase before, steps by 4, batches by 2."""
    i = sp.Symbol("i", integer=True, positive=True)
    step, count = eta / 4**i, n / 2 ** (i + 1)
    start = proof.equal(
        "‖θ*‖²/(2η_1n_1), n_i ≥ n/2^{i+1}",
        lambda: size**2 / (2 * (step * count).xreplace({i: 1})),
        8 * size**2 / (eta * n),
    )
    deviation = 4 * L * eta / 4 ** (i - 1) * sp.sqrt(LOG) / epsilon
    each = sp.simplify(d * deviation**2 / (2 * step * count))
    total = 128 * d * L**2 * eta * LOG / (n * epsilon**2)
    later = proof.equal("Σ_{i≥2} dσ_{i−1}²/(2η_in_i)", sp.Sum(each, (i, 2, sp.oo)), total)
    variance = proof.equal("Σ η_iL²/2", sp.Sum(eta / 4**i * L**2 / 2, (i, 1, sp.oo)), eta * L**2 / 6)
    bound = proof.master("excess risk, but for the last noise", {"start": start, "noise": later, "variance": variance})
    slow, private = 1 / sp.sqrt(n), epsilon / sp.sqrt(d * LOG)
    proof.chooses(
        bound, {eta: size / L * sp.Min(slow, private)}, text="choose η = c min{1/√n, ε/√(dℒ)}, c in units of ‖θ*‖/L"
    )
    last = proof.equal(
        "the last noise, L√d σ_k at 4ᵏ = n²/4 (and 4ᵏ is more), as η ≤ cε/√(dℒ)",
        lambda: L * sp.sqrt(d) * (4 * L * (c * private) / (n**2 / 4) * sp.sqrt(LOG) / epsilon),
        16 * c * L**2 / n**2,
    )
    reached = (
        proof.equal("start, if η = c/√n", lambda: start.xreplace({eta: c * slow}), 8 * size**2 / (c * sp.sqrt(n)))
        + proof.equal("start, if η = cε/√(dℒ)", lambda: start.xreplace({eta: c * private}), 8 * size**2 / c * NOISE)
        + proof.equal("noise, as η ≤ cε/√(dℒ)", lambda: later.xreplace({eta: c * private}), 128 * c * L**2 * NOISE)
        + proof.equal("variance, as η ≤ c/√n", lambda: variance.xreplace({eta: c * slow}), c * L**2 / (6 * sp.sqrt(n)))
        + last
    )
    proof.concludes("lp_spaces/thm-8@corrected", reached, where={theta: size})
    euclidean = proof.argues(
        "for ‖θ*‖_2 ≥ L, in units of L², with ‖θ*‖_2² ≤ d^{1−2/p}‖θ*‖_p²",
        "excess risk",
        "<=",
        d ** (1 - 2 / p) * size**2 * (1 / sp.sqrt(n) + NOISE),
    )
    proof.concludes("lp_spaces/thm-8", euclidean, where={theta: size})


@derivation("lp_spaces/claim-after-thm-8")
def gap_to_the_constrained_rate(proof: Proof) -> None:
    """The ratio of Theorem 8 to the optimal constrained rate."""
    upper = proof.uses("lp_spaces/thm-8", LARGE_P, {theta: 1})
    optimum = proof.argues("the constrained optimum", "rate", "=", d ** (HALF - 1 / p) * (1 / sp.sqrt(n) + NOISE))
    proof.concludes("lp_spaces/claim-after-thm-8", upper / optimum)


# Section 5.2: heavy tails --------------------------------------------------------------------------------------------

HEAVY_WHERE = {(d * LOG): (x * n * epsilon) ** 2}


@derivation("lp_spaces/claim-rem-4")
def noise_of_one_gradient(proof: Proof) -> None:
    """Shuffling n records makes a local budget ε_0 count as ε_0/√n."""
    local = sp.Symbol("epsilon_0", positive=True)
    noise = proof.argues("a gradient of norm at most βM + λ, up to logs", "deviation", "<=", (H * D + A) / local)
    proof.concludes("lp_spaces/claim-rem-4", noise.subs(local, epsilon * sp.sqrt(n)))


privacy_by_shuffling = underived(
    "lp_spaces/thm-9", "the range of the cited theorem on shuffling at a local budget of 1; nothing is chosen in it"
)


@derivation("lp_spaces/thm-10", Regime(base=None, others="free", where=[n >= 1, kappa >= 1, x <= 1 / kappa]))
def shuffled_mirror_descent(proof: Proof) -> None:
    """Distance over √T, bias 1/λ of the truncation, noise √T times κλ²x²; T and λ balance all three."""
    bound = proof.master(
        "excess risk at M = σ = 1, without logs",
        {
            "distance": kappa / sp.sqrt(T),
            "truncation": 1 / A,
            "noise, with the type-2 factor κ": kappa * sp.sqrt(T) * A**2 * x**2,
        },
    )
    level = 1 / sp.sqrt(kappa * x)
    value = proof.chooses(bound, {T: 1 / (level**2 * x**2), A: level}, text="choose T = 1/(λx)², λ = (κx)^{−1/2}")
    printed = proof.same_order("at M = 1", value.subs(x, NOISE), HEAVY.subs(D, 1), Regime(base=None, others="free"))
    rare = proof.argues("the deviation over the data, not derived here", "factor", "=", sp.log(1 / beta))
    proof.concludes("lp_spaces/thm-10", D * printed * rare, regime=Regime(base=None, others="free"))


@derivation("lp_spaces/claim-app10-general-eps", Regime(base=None, others="free", where=[n >= 1, kappa >= 1, x <= 1]))
def batched_mirror_descent(proof: Proof) -> None:
    """One noise vector a batch: its square grows like T², which costs a power of n and no condition on ε."""
    b = sp.Symbol("b", positive=True)
    variance = proof.uses("lp_spaces/proc-batched-md", 2 * kappa * LOG * (2 * (H * D + A) / b) ** 2 / epsilon**2)
    squared = proof.equal(
        "dσ² in batches of n/T, for βM = 0",
        lambda: d * variance.xreplace({H: 0, b: n / T}),
        8 * kappa * A**2 * T**2 * d * LOG / (n**2 * epsilon**2),
    )
    terms = {
        "distance": kappa / sp.sqrt(T),
        "truncation": 1 / A,
        "noise": squared.subs(LOG, (x * n * epsilon) ** 2 / d) / sp.sqrt(T),
    }
    bound = proof.master("excess risk at M = σ = 1, without logs", terms)
    steps = (kappa / (2 * x)) ** sp.Rational(2, 3)
    value = proof.chooses(bound, {T: steps, A: sp.sqrt(steps) / kappa}, text="choose T = (κ/(2x))^{2/3}, λ = √T/κ")
    proof.concludes("lp_spaces/claim-app10-general-eps", value.subs(x, NOISE), regime=Regime(base=None, others="free"))


@derivation("lp_spaces/claim-app10-p-ge-2", Regime(base=None, others="free", parameters={p: sp.Interval(2, sp.oo)}))
def euclidean_reduction(proof: Proof) -> None:
    """The Euclidean rate for heavy coordinates, with the diameter that the embedding costs."""
    M = sp.Symbol("M", positive=True)
    rate = proof.argues(
        "Euclidean, in the diameter M",
        "excess risk",
        "<=",
        M * d / sp.sqrt(n) + sp.sqrt(M) * d ** sp.Rational(5, 4) / sp.sqrt(n * epsilon),
    )
    diameter = proof.uses("lp_spaces/proc-heavy-euclid", d ** (HALF - 1 / p), {D: 1})
    proof.concludes("lp_spaces/claim-app10-p-ge-2", rate.subs(M, diameter))


# Introduction and tables ---------------------------------------------------------------------------------------------


@derivation("lp_spaces/claim-contrib-1")
def first_contribution(proof: Proof) -> None:
    """Theorem 4 at L = D = Δ = 1, in the form without 1/ε that its proof gives."""
    proof.uses("lp_spaces/thm-4@derived", STRONG_WITHOUT_EPSILON, as_order=True)
    proof.concludes("lp_spaces/claim-contrib-1", STRONG_WITHOUT_EPSILON.subs({L: 1, D: 1, mu: 1}))


@derivation("lp_spaces/claim-contrib-2")
def second_contribution(proof: Proof) -> None:
    """It restates Theorem 7."""
    proof.concludes("lp_spaces/claim-contrib-2", proof.uses("lp_spaces/thm-7", SMOOTH))


@derivation("lp_spaces/claim-contrib-3", Regime(base=None, others="free", where=[d >= 1, kappa >= 1]))
def third_contribution(proof: Proof) -> None:
    """Theorem 10 at M = 1 is its square root in κ²d, so that the printed form is weaker than the theorem."""
    proof.concludes(
        "lp_spaces/claim-contrib-3",
        proof.uses("lp_spaces/thm-10", HEAVY.subs(D, 1), {D: 1, beta: sp.exp(-1)}),
        looser=True,
    )


@derivation("lp_spaces/claim-table-1", CONSTANT_DELTA)
def first_table(proof: Proof) -> None:
    """Theorem 2 at L = D = 1 and constant δ."""
    proof.concludes("lp_spaces/claim-table-1", proof.uses("lp_spaces/thm-2", CONVEX.subs({L: 1, D: 1}), {L: 1, D: 1}))


@derivation("lp_spaces/claim-table-2", CONSTANT_DELTA)
def second_table(proof: Proof) -> None:
    """Theorem 10 at M = 1 and constant δ."""
    proof.concludes(
        "lp_spaces/claim-table-2", proof.uses("lp_spaces/thm-10", HEAVY.subs(D, 1), {D: 1, beta: sp.exp(-1)})
    )


# Lemmas --------------------------------------------------------------------------------------------------------------

widths = underived("lp_spaces/def-12", "a definition with two examples: maxima of normals, with nothing to choose")
embedding = underived(
    "lp_spaces/proc-heavy-euclid", "an inequality of norms; what follows is derived at claim-app10-p-ge-2"
)
constrained = underived("lp_spaces/proc-bassily21", "cited from Bassily et al. 2021 for comparison")


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
