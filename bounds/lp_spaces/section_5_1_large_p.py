"""Section 5.1, Theorem 8: unconstrained ℓ_p spaces, p >= 2."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import D, L, d, epsilon, eta, index, kappa, last, n, p, sequences, theta

from ._paper import HALF, LARGE_P, LOG, NOISE, PRIVACY, SMALL_LOSS, c, claim, size

thm_8 = claim(
    "lp_spaces/thm-8",
    "Theorem 8",
    "For 2 <= p <= ∞ there is an (ε, δ)-DP algorithm with excess risk O(d^{1−2/p}‖θ*‖²(1/√n + √(d log(1/δ))/(εn))).",
    kind="theorem",
    section="5.1",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=LARGE_P * theta**2,
    assumptions=(*PRIVACY, sp.Ge(p, 2)),
    about=("lp_spaces/proc-phased-sgd",),
    grade="slip",
    remark="An additive L² is missing: near θ* = 0 no algorithm, private or not, meets the printed bound (S14).",
)


thm_8_literal = thm_8.as_read(
    "lp_spaces/thm-8@literal",
    "Theorem 8 near the origin",
    "The bound with ‖θ*‖² as a factor of everything, also for θ* = 0.",
    assumptions=(*PRIVACY, sp.Ge(p, 2), *SMALL_LOSS),
    grade="slip",
    remark="θ* = 0 forces the output 0 on every data set; then θ* = 2m has excess 2^{-5/2}θ*² for every n.",
)


thm_8_corrected = thm_8.as_read(
    "lp_spaces/thm-8@corrected",
    "Theorem 8 with the additive term",
    "Phased SGD with step c·min{1/√n, ε/√(d log(1/δ))}: excess <= (8/c)‖θ*‖_2²(1/√n + x) + cL²(1/(6√n) + 128x) + "
    "16cL²/n², x = √(d log(1/δ))/(εn), and ‖θ*‖_2² <= d^{1−2/p}‖θ*‖_p².",
    origin="ours",
    order=LARGE_P * theta**2 + L**2 * (1 / sp.sqrt(n) + NOISE),
    explicit=8 / c * theta**2 * (1 / sp.sqrt(n) + NOISE)
    + c * L**2 * (1 / (6 * sp.sqrt(n)) + 128 * NOISE)
    + 16 * c * L**2 / n**2,
    assumptions=(),
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


after_thm_8 = claim(
    "lp_spaces/claim-after-thm-8",
    "Text after Theorem 8",
    "The optimal constrained rate for p >= 2 is M d^{1/2−1/p}(1/√n + √(d log(1/δ))/(εn)); Theorem 8 is d^{1/2−1/p} "
    "above.",
    kind="proposition",
    section="5.1",
    origin="cited",
    quantity="Theorem 8 over the constrained optimum, at constant norms",
    relation="=",
    explicit=d ** (sp.Rational(1, 2) - 1 / p),
)


@derivation("lp_spaces/claim-after-thm-8")
def gap_to_the_constrained_rate(proof: Proof) -> None:
    """The ratio of Theorem 8 to the optimal constrained rate."""
    upper = proof.uses("lp_spaces/thm-8", LARGE_P, {theta: 1})
    optimum = proof.argues("the constrained optimum", "rate", "=", d ** (HALF - 1 / p) * (1 / sp.sqrt(n) + NOISE))
    proof.concludes("lp_spaces/claim-after-thm-8", upper / optimum)


proc_phased_sgd = claim(
    "lp_spaces/proc-phased-sgd",
    "Phased private SGD without projection",
    "Phase i passes once over n_i = ⌊n/2^i⌋ fresh records with step η_i = η/4^i and adds Gaussian noise of deviation "
    "4Lη_i√log(1/δ)/ε to the average iterate.",
    kind="procedure",
    section="5.1",
    origin="cited",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    explicit=n,
)
eta_at, n_at = sequences("eta n")
j = sp.Symbol("j", integer=True, positive=True)
phased_phases = proc_phased_sgd.as_read(
    "lp_spaces/proc-phased-sgd@phases",
    "Phased private SGD, number of phases",
    "⌊log₂ n⌋ phases.",
    quantity="phases",
    measures="",
    relation="=",
    explicit=sp.floor(sp.log(n, 2)),
    about=("lp_spaces/proc-phased-sgd",),
)
phased_records = phased_phases.as_read(
    "lp_spaces/proc-phased-sgd@records",
    "Phased private SGD, records of a phase",
    "n_i = ⌊n/2^i⌋.",
    quantity="records of phase i",
    explicit=sp.floor(n / 2**index),
)
phased_eta = phased_phases.as_read(
    "lp_spaces/proc-phased-sgd@eta",
    "Phased private SGD, step of a phase",
    "η_i = η/4^i, η = (c/L) min{1/√n, ε/√(d log(1/δ))}, c in units of a distance.",
    quantity="step of phase i",
    explicit=sp.Symbol("scale", positive=True) / L * sp.Min(1 / sp.sqrt(n), epsilon / sp.sqrt(d * LOG)) / 4**index,
)
phased_sigma = phased_phases.as_read(
    "lp_spaces/proc-phased-sgd@sigma",
    "Phased private SGD, noise of a phase",
    "σ_i = 4Lη_i√log(1/δ)/ε.",
    quantity="deviation of the noise of phase i",
    explicit=4 * L * eta_at[index] * sp.sqrt(LOG) / epsilon,
)
phased_gradients = phased_phases.as_read(
    "lp_spaces/proc-phased-sgd@gradients",
    "Phased private SGD, gradients of its phases",
    "One gradient for each record of a phase: Σ n_i.",
    quantity="gradients",
    explicit=sp.Sum(n_at[j], (j, 1, last)),
)


proc_bassily21 = claim(
    "lp_spaces/proc-bassily21",
    "Constrained ℓ_p baseline",
    "Lipschitz losses on a set of diameter M: Õ((M + M²)(√κ/√n + κ√(d log(1/δ))/(nε))) for 1 < p < 2.",
    kind="procedure",
    section="5.1",
    origin="cited",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=(D + D**2) * (sp.sqrt(kappa / n) + kappa * NOISE),
)


constrained = underived("lp_spaces/proc-bassily21", "cited from Bassily et al. 2021 for comparison")
