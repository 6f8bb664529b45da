"""How the bounds of arXiv 2103.01516 follow: master inequality, choice of parameters, constants; every line executed.

The arguments in words stand in `bounds/l1_geometry.md` under the same labels. H is the smoothness β; `log_d`, `log_n`,
`log_m`, `log_delta` stand for log d, log n, log m and log(1/δ) where a parameter is chosen; X for 2^T.
"""

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import D, H, L, T, alpha, b, d, delta, epsilon, eta, lambda_, m, n, p, sigma, t

from ._paper import (
    GENERAL,
    H_M,
    LOG,
    LOG2_D,
    NONSMOOTH,
    A_k,
    D_h,
    Delta,
    V,
    X,
    alpha_0,
    b_i,
    epsilon_0,
    epsilon_i,
    eta_i,
    log_d,
    log_delta,
    log_m,
    log_n,
    n_0,
    n_i,
)

NAMED = {sp.log(d): log_d, sp.log(n): log_n, sp.log(m): log_m, LOG: log_delta}
SIZES = [n >= 1, d >= 1, epsilon <= 1, log_d >= 1, log_n >= 1, log_m >= 1, log_delta >= 1]
LARGE = Regime(base=None, others="free", where=SIZES)
CONSTANT_DELTA = Regime(base=None, others="free", constants=[delta], where=[n >= 1, d >= 1, epsilon <= 1])
HALF = sp.Rational(1, 2)

# Mirror descent ------------------------------------------------------------------------------------------------------


def averaged(proof: Proof, moment: sp.Expr, pieces: tuple[sp.Expr, ...]) -> sp.Expr:
    """Mirror descent with gradients of that second moment, half of it, and its best step: the bound, piece by piece."""
    bound = proof.uses("l1_geometry/lem-3-1", D**2 / (T * eta) + eta * V, {D_h: D**2, L: sp.sqrt(2 * V)})
    value = proof.chooses(bound, {eta: D / sp.sqrt(T * V)}, text="choose η = D/√(TV)")
    total = sp.S.Zero
    for term, piece in zip(sp.Add.make_args(moment), pieces, strict=True):
        at = {V: term, T: n**2 / b**2}
        total += proof.equal("a part of it at T = n²/b², by √(a+b) ≤ √a + √b", lambda at=at: value.xreplace(at), piece)
    return total


@derivation("l1_geometry/thm-3", LARGE, also=("l1_geometry/thm-3@derived",))
def noisy_mirror_descent(proof: Proof) -> None:
    """Lemma 3.1 with half the second moment L² + 2σ² log d, at its best step; squared over λ with Lemma 3.2."""
    deviation = proof.uses("l1_geometry/alg-1", 100 * L * sp.sqrt(d * LOG) / (b * epsilon))
    noise = proof.uses("l1_geometry/fact-gauss-max", 2 * sigma**2 * sp.log(d))
    half = noise.subs(sigma, deviation)
    pieces = (2 * L * D * b / n, 200 * sp.sqrt(2) * L * D * sp.sqrt(d * sp.log(d) * LOG) / (n * epsilon))
    ordered = sp.Add(L**2, half, evaluate=False)
    proof.equal("V, half of the second moment 2L² + 2E‖ζ‖_∞²", lambda: (2 * L**2 + 2 * half) / 2, ordered)
    value = averaged(proof, ordered, pieces)
    proof.concludes("l1_geometry/thm-3", value)
    weighted = proof.uses("l1_geometry/lem-3-2@corrected", 2 * L**2 / (lambda_ * (T + 1)))
    squared = (weighted / L**2 * (2 * L**2 + 2 * half)).subs(T, n**2 / b**2 - 1)
    reached = proof.equal(
        "with T in place of T + 1",
        squared,
        4 * L**2 * b**2 / (lambda_ * n**2) + 80000 * L**2 * d * sp.log(d) * LOG / (lambda_ * n**2 * epsilon**2),
    )
    proof.concludes("l1_geometry/thm-3@derived", reached)


@derivation("l1_geometry/thm-12", LARGE, also=("l1_geometry/thm-12@corrected",))
def other_norms(proof: Proof) -> None:
    """Theorem 3 in ℓ_p: d^{2/q} of the noise and d^{1−2/q} of its calibration make d; at p = 2 the logarithm goes."""
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


@derivation("l1_geometry/thm-4", LARGE)
def localised_mirror_descent(proof: Proof) -> None:
    """The phases' errors add up to D²ℓ/(ηn) + L²η(1 + ℓd/(nε) + ℓd log d log(1/δ)/(nε²)); η balances them."""
    j = sp.Symbol("j", integer=True, positive=True)
    batches = proof.equal(
        "Σ 200·2^{−j} 2^{5j−8j}·32, the share of n_i/ℓ in b_i²",
        sp.Sum(sp.Integer(6400) * sp.Rational(1, 16) ** j, (j, 1, sp.oo)),
        sp.Rational(6400, 15),
    )
    proof.equal(
        "with 4Ση_i = 4η/15, as η_i = η/16^i",
        batches + 4 * sp.Sum(sp.Rational(1, 16) ** j, (j, 1, sp.oo)),
        sp.Rational(6404, 15),
    )
    proof.equal(
        "Σ 32·200·2^j 2^{−3j}, the share of d/ε in b_i²",
        sp.Sum(6400 * sp.Rational(1, 4) ** j, (j, 1, sp.oo)),
        sp.Rational(6400, 3),
    )
    proof.equal("Σ 32·160000·4^j 2^{−3j}, the noise", sp.Sum(5120000 * HALF**j, (j, 1, sp.oo)), 5120000)
    phases = {
        "start": 32 * D**2 * LOG2_D / (eta * n),
        "stability and batches": L**2 * eta * sp.Rational(6404, 15),
        "batches and noise": LOG2_D
        * L**2
        * eta
        * d
        / (n * epsilon)
        * (sp.Rational(6400, 3) + 5120000 * sp.log(d) * LOG / epsilon),
        "last phase": 2 * L * sp.sqrt(A_k),
    }
    bound = proof.master("excess risk", phases)
    proof.concludes("l1_geometry/thm-4", bound, where={sp.log(d): t, d: sp.exp(t)}, looser=True)
    terms = {
        "start": D**2 * log_d / (eta * n),
        "stability": L**2 * eta,
        "batches": L**2 * eta * log_d * d / (n * epsilon),
        "noise": L**2 * eta * log_d * d * log_d * log_delta / (n * epsilon**2),
    }
    order = proof.master("up to constants", terms, "the same")
    step = D / L * sp.Min(sp.sqrt(log_d / n), epsilon / sp.sqrt(d * log_d * log_delta))
    value = proof.chooses(order, {eta: step}, text="choose η = (D/L) min{√(log d/n), ε/√(d log d log(1/δ))}")
    proof.concludes("l1_geometry/thm-4", value, where=NAMED, as_order=True)


@derivation("l1_geometry/thm-1", CONSTANT_DELTA)
def informal_nonsmooth(proof: Proof) -> None:
    """Theorem 4 with LD = 1 and constant δ."""
    bound = proof.uses("l1_geometry/thm-4", L * D * NONSMOOTH, as_order=True)
    proof.concludes("l1_geometry/thm-1", bound.subs({L: 1, D: 1}))


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


@derivation("l1_geometry/thm-5", LARGE)
def lp_geometry(proof: Proof) -> None:
    """Theorem 13 without its parameters."""
    proof.concludes("l1_geometry/thm-5", proof.uses("l1_geometry/thm-13@corrected", L * D * GENERAL))


# Frank–Wolfe ---------------------------------------------------------------------------------------------------------

VARIANCE = sp.sqrt(2) * D * sp.sqrt(16 * D**2 * H**2 + L**2) * sp.sqrt(sp.log(2 * d)) / sp.sqrt(b)


def tree(
    proof: Proof, label: str, gap: sp.Expr, gap_in_order: sp.Expr, choice: sp.Expr, said: str, *, looser: bool = False
) -> None:
    """Curvature 1.2βD²/2^T against the selection's gap, which grows with 2^T; then b = n/log²n."""
    variance = proof.uses("l1_geometry/lem-4-2", VARIANCE / D)
    curvature = proof.argues(
        "the squared steps add up to less than 1.2/2^T", "curvature", "<=", sp.Rational(6, 5) * H * D**2 / 2**T
    )
    bound = proof.master("excess risk", {"variance": D * variance, "curvature": curvature, "selection": gap})
    proof.concludes(label, bound)
    order = proof.master(
        "up to constants, X = 2^T", {"curvature": H * D**2 / X, "selection": gap_in_order}, "the two that T moves"
    )
    value = proof.chooses(order, {X: choice}, text=said)
    rest = D * (L + H * D) * sp.sqrt(log_d) / sp.sqrt(b)
    proof.concludes(label, (value + rest).subs(b, n / log_n**2), where=NAMED, as_order=True, looser=looser)


@derivation("l1_geometry/thm-6", Regime(base=None, others="free", where=[*SIZES, log_m <= log_d]))
def pure_frank_wolfe(proof: Proof) -> None:
    """Curvature against the gap of report-noisy-min, 2LD2^T(1 + log m)/(bε)."""
    gap = proof.uses(
        "l1_geometry/lem-4-1@derived", 2 * L * D * 2**T / (b * epsilon) * H_M, {sp.Symbol("t", positive=True): T}
    )
    choice = sp.sqrt(b * epsilon * H * D / (L * log_m))
    order, said = L * D * X * log_m / (b * epsilon), "choose 2^T = √(bεβD/(L log m))"
    tree(proof, "l1_geometry/thm-6", gap, order, choice, said, looser=True)  # log d is printed for log m


@derivation("l1_geometry/thm-7", LARGE)
def approximate_frank_wolfe(proof: Proof) -> None:
    """The same with amplification: the gap grows with 2^{T/2} only."""
    scale = L * D * 2 ** (T / 2) * sp.log(n / delta) / (b * epsilon)
    gap = proof.argues("the gap λ(1 + log m) of report-noisy-min", "gap", "<=", scale * H_M)
    choice = (b * epsilon * H * D / (L * log_delta * log_m)) ** sp.Rational(2, 3)
    order = L * D * sp.sqrt(X) * log_delta * log_m / (b * epsilon)
    said = "choose 2^T = (bεβD/(L log(n/δ) log m))^{2/3}; log(n/δ) ≤ 2 log(1/δ)"
    tree(proof, "l1_geometry/thm-7", gap, order, choice, said)


@derivation("l1_geometry/thm-2", CONSTANT_DELTA)
def informal_smooth(proof: Proof) -> None:
    """Theorem 7 with LD = 1, β ≤ L/D, m = 2d and constant δ; its logarithms of n are not in the informal form."""
    rate = sp.sqrt(sp.log(d)) / sp.sqrt(n) + (sp.log(d) / (n * epsilon)) ** sp.Rational(2, 3)
    full = D * (L + H * D) * sp.sqrt(log_d) * log_n / sp.sqrt(n)
    full += (sp.sqrt(H) * L * D**2 * log_delta * log_m * log_n**2 / (n * epsilon)) ** sp.Rational(2, 3)
    unit = {D: 1, L: 1, H: 1, log_m: log_d, log_delta: 1, log_n: 1}
    proof.uses("l1_geometry/thm-7", full, NAMED, as_order=True)
    reduced = proof.argues(
        "without log n, which 'Õ' hides; budgets above its window are used up to there",
        "excess risk",
        "<=",
        full.subs(unit),
    )
    proof.same_order("its two terms", reduced, rate.subs(sp.log(d), log_d))
    proof.concludes("l1_geometry/thm-2", reduced.subs(log_d, sp.log(d)))


# Strong convexity ----------------------------------------------------------------------------------------------------


def reduction(proof: Proof, label: str, rate: sp.Expr, where: dict[sp.Basic, sp.Basic]) -> None:
    """D²_{i+1} ≤ (2/λ)LD_iρ, ρ the rate for LD = 1: the limit, and its excess."""
    rho, limit = sp.symbols("rho limit", positive=True)
    limit = 2 * L * rho / lambda_
    proof.equal("D_∞² = (2/λ)LD_∞ρ", lambda: limit**2, 2 / lambda_ * L * limit * rho)
    excess = proof.equal("LD_∞ρ", lambda: L * limit * rho, 2 * L**2 * rho**2 / lambda_)
    proof.gap(
        "L²/λ is at most LD",
        L**2 / lambda_,
        L * D,
        {L: 1, lambda_: sp.Rational(1, 10), D: 1},
        "strong convexity gives the opposite, L²/λ ≥ LD/2 (S13)",
    )
    proof.concludes(label, excess.subs(rho, rate), where=where)


@derivation("l1_geometry/thm-8@corrected", LARGE)
def strongly_convex_nonsmooth(proof: Proof) -> None:
    """Restarted Theorem 4: the rate squares, and LD becomes L²/λ."""
    rate = proof.uses("l1_geometry/thm-4", L * D * NONSMOOTH, as_order=True) / (L * D)
    reduction(proof, "l1_geometry/thm-8@corrected", rate.subs(NAMED), NAMED)


@derivation("l1_geometry/thm-9@corrected", LARGE)
def strongly_convex_smooth(proof: Proof) -> None:
    """Restarted Theorem 7 at β ≤ L/D: the rate squares, and LD becomes L²/λ."""
    smooth = sp.sqrt(log_d) * log_n / sp.sqrt(n) + (log_delta * log_m * log_n**2 / (n * epsilon)) ** sp.Rational(2, 3)
    proof.uses("l1_geometry/thm-7", L * D * smooth, {**NAMED, H: L / D}, as_order=True)
    reduction(proof, "l1_geometry/thm-9@corrected", smooth, NAMED)


# Lower bounds --------------------------------------------------------------------------------------------------------

FEW = Regime(base=None, others="free", where=[n >= 1, d >= 1, epsilon <= 1, alpha <= 1])


@derivation("l1_geometry/thm-10@corrected", FEW)
def location_loss(proof: Proof) -> None:
    """The excess of the location loss is L times the error of the signs, coordinate by coordinate."""
    printed = sp.sqrt(d) / (n * epsilon * sp.log(d))
    proof.gap(
        "the bound is never above LD",
        L * D * printed,
        L * D,
        {L: 1, D: 1, d: 16, n: 1, epsilon: sp.Rational(1, 100)},
        "with min{1, ·} (S15)",
    )
    signs = proof.uses("l1_geometry/lem-6-1@corrected", D * sp.Min(1, printed))
    excess = proof.argues("a wrong sign costs L times its mean, a right one nothing", "excess", ">=", L * signs)
    proof.concludes("l1_geometry/thm-10@corrected", excess)


@derivation("l1_geometry/thm-11@corrected", FEW)
def smooth_lower_bound(proof: Proof) -> None:
    """The hard dimension is (nε)^{2/3}; a larger one holds a copy of it."""
    small = proof.argues("from Lemma D.4, for d ≤ (nε)^{2/3}", "excess", ">=", sp.sqrt(d) / (n * epsilon))
    hard = proof.equal(
        "at d = (nε)^{2/3}",
        lambda: small.xreplace({d: (n * epsilon) ** sp.Rational(2, 3)}),
        (n * epsilon) ** -sp.Rational(2, 3),
    )
    proof.concludes("l1_geometry/thm-11@corrected", L * D * sp.Min(1, small, hard))


@derivation("l1_geometry/prop-1@corrected", FEW)
def sample_complexity(proof: Proof) -> None:
    """Lemma D.1 at constant accuracy, scaled by the copies of Lemma D.2."""
    bound = sp.sqrt(d) / (alpha * epsilon * sp.log(d))
    proof.gap(
        "random signs, one record, are not enough at α = 1/2",
        bound,
        1,
        {d: 100, alpha: HALF, epsilon: HALF},
        "for α ≤ 1/8 they are not (S15)",
    )
    constant = proof.uses("l1_geometry/lem-d1", sp.sqrt(d) / sp.log(d))
    scaled = proof.uses("l1_geometry/lem-d2", n_0 * alpha_0 * epsilon_0 / (alpha * epsilon))
    reached = scaled.subs({n_0: constant, alpha_0: sp.Rational(1, 4), epsilon_0: sp.Rational(1, 10)})
    proof.concludes("l1_geometry/prop-1@corrected", reached)


# Cited ---------------------------------------------------------------------------------------------------------------

moments_accountant = underived(
    "l1_geometry/fact-moments-accountant",
    "cited; a theorem for Poisson samples and add-or-remove neighbours, whose constants are not carried over (S23)",
)


@derivation("l1_geometry/fact-sssss")
def stability_of_the_minimiser(proof: Proof) -> None:
    """Strong convexity at both minimisers against two Lipschitz losses of weight 1/n."""
    proof.argues("λΔ² ≤ 2LΔ/n", lambda_ * Delta**2, "<=", 2 * L * Delta / n)
    moved = proof.equal("divide by λΔ", lambda: 2 * L * Delta / n / (lambda_ * Delta), 2 * L / (lambda_ * n))
    proof.concludes("l1_geometry/fact-sssss", moved)


advanced_composition = underived(
    "l1_geometry/lem-2-2", "cited (Dwork, Rothblum, Vadhan 2010); checked against the exact composition instead"
)
shuffling = underived(
    "l1_geometry/lem-4-5", "cited, with an unnamed constant and a range of ε_0; its exact form is in the accountant"
)
hard_dimension = underived(
    "l1_geometry/lem-d6", "a reduction from one-way marginals with nothing to choose; argued in the paper's Section D.2"
)
window_6 = underived(
    "l1_geometry/asm-thm6", "a range of β, not a bound; that its ends are T ≥ 0 and 2^T ≤ b is checked"
)
window_7 = underived(
    "l1_geometry/asm-thm7", "ranges of β and ε, not a bound; that their ends are those of T is checked"
)


# Lemmas that the theorems rest on ------------------------------------------------------------------------------------


@derivation("l1_geometry/lem-2-1")
def basic_composition(proof: Proof) -> None:
    """Log-ratios of independent answers add up."""
    each, k = sp.symbols("each k", positive=True)
    proof.argues("the log-ratio of k answers is the sum of theirs, given the answers before", "each", "<=", each)
    total = proof.equal("Σ over k answers", sp.Sum(each, (sp.Symbol("j"), 1, k)), k * each)
    proof.concludes("l1_geometry/lem-2-1", total.subs(each, epsilon))


@derivation("l1_geometry/lem-3-3", LARGE)
def distance_of_a_phase(proof: Proof) -> None:
    """The weighted average of T_i = n_i²/b_i² steps, with modulus 1/2, over the strong convexity λ_i = 1/(η_in_i)."""
    strong = 1 / (eta_i * n_i)
    deviation = proof.uses(
        "l1_geometry/alg-1",
        100 * L * sp.sqrt(d * LOG) / (b_i * epsilon_i),
        {b: b_i, epsilon: epsilon_i},
    )
    noise = proof.uses("l1_geometry/fact-gauss-max", 2 * sigma**2 * sp.log(d))
    moment = proof.equal(
        "the second moment, of 5L-Lipschitz losses",
        lambda: 2 * (5 * L) ** 2 + 2 * noise,
        50 * L**2 + 4 * sigma**2 * sp.log(d),
    )
    gap = proof.uses(
        "l1_geometry/lem-3-2@corrected",
        4 * moment / (strong * T),
        {lambda_: strong / 2, L: sp.sqrt(moment), T: T - 1},
    )
    squared = (gap / strong).subs({sigma: deviation, T: n_i**2 / b_i**2})
    stated = 200 * L**2 * eta_i**2 * b_i**2 + 160000 * L**2 * eta_i**2 * d * sp.log(d) * LOG / epsilon_i**2
    proof.concludes("l1_geometry/lem-3-3", proof.equal("divide by λ_i", squared, stated))
    share = stated.subs(b_i, sp.sqrt(n_i / sp.log(d)) + sp.sqrt(d / epsilon_i))
    named = {sp.log(d): log_d, LOG: log_delta}
    where = Regime(base=None, others="free", where=[d >= 1, epsilon_i <= 1, log_d >= 1, log_delta >= 1])
    proof.concludes("l1_geometry/lem-3-3", share, where=named, regime=where, as_order=True)


@derivation("l1_geometry/lem-6-1@corrected", FEW)
def signs_from_samples(proof: Proof) -> None:
    """A sample complexity read backwards: the error at which n records are just not enough."""
    error = sp.Symbol("error", positive=True)
    needed = proof.uses("l1_geometry/prop-1@corrected", sp.sqrt(d) / (alpha * epsilon * sp.log(d)))
    reached = sp.sqrt(d) / (n * epsilon * sp.log(d))
    proof.equal(
        "n = √d/(αε log d) at α = √d/(nε log d)", lambda: needed.xreplace({alpha: error}).xreplace({error: reached}), n
    )
    proof.concludes("l1_geometry/lem-6-1@corrected", D * sp.Min(1, reached))


@derivation("l1_geometry/lem-d4", FEW)
def accuracy_below_the_dimension(proof: Proof) -> None:
    """Lemma D.6 at α_0 = 1/d and constant ε_0, scaled by the copies of Lemma D.5."""
    hard = proof.uses("l1_geometry/lem-d6", d ** sp.Rational(3, 2))
    scaled = proof.uses("l1_geometry/lem-d5", n_0 * alpha_0 * epsilon_0 / (alpha * epsilon))
    reached = scaled.subs({n_0: hard, alpha_0: 1 / d, epsilon_0: sp.Rational(1, 10)})
    proof.equal(
        "at α = 1/d it is α^{−3/2}/(10ε)",
        lambda: reached.xreplace({d: 1 / alpha}),
        alpha ** -sp.Rational(3, 2) / (10 * epsilon),
    )
    proof.concludes("l1_geometry/lem-d4", reached)
