"""Derivations of Appendix E (exponential mechanism) and Appendix G (lower bounds) of arXiv 2604.06492."""

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import G_1, G_2, C, D, G_k, H, beta, d, epsilon, eta, k, lambda_, m, n, rho, tau, zeta

from .derivations import LARGE_SAMPLE, LOG, localised, m_1

logarithm = sp.Symbol("logarithm", positive=True)
lambda_max, mu, c, N = sp.symbols("lambda_max mu c N", positive=True)
u = G_k * (d / (n * epsilon)) ** (1 - 1 / k)
LONG = Regime(base=None, others="free", where=[logarithm >= 1, d >= 1, n >= 1, epsilon <= d])

# Appendix E: the exponential mechanism -------------------------------------------------------------------------------


@derivation("pure_heavy_tails/thm-e-1", LONG, also=("pure_heavy_tails/thm-e-1@derived",))
def score_of_a_net_point(proof: Proof) -> None:
    """Clipping bias against the score's noise; the printed C leaves a power of the logarithm on the table."""
    bias = proof.uses("pure_heavy_tails/fact-clip-bias@derived", 5 * G_k**k / ((k - 1) * C ** (k - 1)))
    noise = proof.uses(
        "pure_heavy_tails/fact-em-utility",
        4 * C / (epsilon * n) * (d * sp.log(3 * D / eta) + sp.log(10)),
        {beta: sp.Rational(1, 10)},
    )
    net = proof.argues("the score is 2(H+λ)-Lipschitz and the net η-fine", "s", "<=", 2 * (H + lambda_) * eta)
    proof.equal(
        "at η = Cd/(εn(λ+H)) the net costs",
        lambda: net.xreplace({eta: C * d / (epsilon * n * (lambda_ + H))}),
        2 * C * d / (epsilon * n),
    )
    longer = sp.log(3 * D / eta) + sp.log(10) / d
    proof.equal("write the score's noise as (4Cd/(εn)) log", noise, 4 * C * d / (epsilon * n) * longer)
    bound = proof.master(
        "λ‖ŵ − ŵ_λ‖",
        {"bias, twice": 2 * bias, "net": 2 * C * d / (epsilon * n), "noise": 4 * C * d / (epsilon * n) * logarithm},
    )
    value = proof.chooses(
        bound,
        {C: G_k * (epsilon * n / d) ** (1 / k)},
        better={C: G_k * (epsilon * n / (d * logarithm)) ** (1 / k)},
    )
    reached = value.subs(logarithm, sp.log(3 * D * (lambda_ + H) / u) + sp.log(10) / d) / lambda_
    proof.concludes("pure_heavy_tails/thm-e-1@derived", reached)
    proof.concludes(
        "pure_heavy_tails/thm-e-1",
        value / lambda_,
        where={sp.log(D * epsilon * n * (H + lambda_) / (G_k * d)): logarithm},
    )


def risk_with_logarithm(proof: Proof, label: str, smoothness: sp.Expr, extra: sp.Expr = sp.S.Zero) -> None:
    """Theorem 2.1 with a solver whose private term carries a logarithm."""
    block = proof.argues(
        "a block is as precise as its solver and the empirical minimiser",
        "Δ_t",
        "<=",
        logarithm * G_k * (d / (m * epsilon)) ** (1 - 1 / k) + sp.sqrt(20) * G_2 / sp.sqrt(m),
    )
    risk = localised(proof, block.subs(m, m_1)) + extra
    printed = sp.log(D * epsilon * n * (smoothness + lambda_max) / (G_k * d))
    proof.concludes(label, risk, where={printed: logarithm, **LOG})


@derivation("pure_heavy_tails/thm-e-2", Regime(base=None, others="free", where=[*LARGE_SAMPLE.where, logarithm >= 1]))
def smooth_risk(proof: Proof) -> None:
    """Theorem 2.1 with Theorem E.1 as its solver; λ_max bounds the regularisation of all phases."""
    risk_with_logarithm(proof, "pure_heavy_tails/thm-e-2", H)


@derivation("pure_heavy_tails/prop-e-4@corrected", LONG)
def smoothed_loss(proof: Proof) -> None:
    """Theorem E.1 for the smoothed loss, with a public smoothness in place of that of the data."""
    x = sp.Symbol("x", positive=True)
    proof.gap(
        "with γ computed from the data the score has sensitivity 2C/n (at distance x from the end of an interval)",
        1 - lambda_ / 2 - x * sp.sqrt(n),
        2 * C / n,
        {lambda_: sp.Rational(1, 10), x: sp.Rational(1, 400), n: 400, C: 1},
        "with a public γ = 1/(λ+H) it has (S3)",
    )
    smoothness = d * G_2 * sp.sqrt(n / rho) / tau
    bound = u / lambda_ * (10 / (k - 1) + 2 + 4 * sp.log(3 * D * (lambda_ + smoothness) / u) + 4 * sp.log(10) / d)
    reached = proof.uses("pure_heavy_tails/thm-e-1@derived", bound, {H: smoothness})
    proof.concludes("pure_heavy_tails/prop-e-4@corrected", reached)


@derivation("pure_heavy_tails/thm-e-5", Regime(base=None, others="free", where=[*LARGE_SAMPLE.where, logarithm >= 1]))
def nonsmooth_risk(proof: Proof) -> None:
    """Theorem 2.1 with Proposition E.4 as its solver; smoothing moves the risk by τG_2 at two points."""
    moved = proof.argues("|F^τ − F| ≤ τG_2, at the output and at the minimiser", "F − F^τ", "<=", 2 * tau * G_2)
    risk_with_logarithm(proof, "pure_heavy_tails/thm-e-5", G_2 * d * sp.sqrt(n) / tau, moved)


# Section 4 and Appendix G: lower bounds ------------------------------------------------------------------------------

C0_SQUARED = sp.log(sp.Rational(4, 3)) / (4 * sp.log(4))
SMALL = Regime(base=None, others="free", where=[zeta <= 1, epsilon <= 1, d >= 1, n >= 1])
PACKING = sp.Min(sp.log((2**d - 1) / (4 * sp.E * zeta)) / (n * epsilon), 1)
TESTED = sp.Min(sp.log(1 / zeta) / n, 1)


@derivation("pure_heavy_tails/prop-g-2", SMALL, also=("pure_heavy_tails/prop-g-2@derived",))
def two_point_method(proof: Proof) -> None:
    """The bias ρ is as large as KL ≤ log(1/(4ζ(1−ζ))) allows; the means are 2ρG_2 apart."""
    kl = proof.argues("KL of n records with bias ρ", "KL", "<=", 4 * n * rho**2)
    at = {rho: sp.sqrt(C0_SQUARED * sp.log(1 / zeta) / n)}
    spent = proof.equal("at ρ² = c_0² log(1/ζ)/n", lambda: kl.xreplace(at), 4 * C0_SQUARED * sp.log(1 / zeta))
    proof.equal(
        "c_0² = log(4/3)/(4 log 4) exhausts it at ζ = 1/4, where the ratio is least",
        lambda: spent.xreplace({zeta: sp.Rational(1, 4)}),
        sp.log(sp.Rational(4, 3)),
    )
    proof.uses("pure_heavy_tails/fact-mvs24", zeta)
    squared = proof.argues("an error below ρG_2 decides between the two", "error²", ">=", C0_SQUARED * G_2**2 * TESTED)
    proof.concludes("pure_heavy_tails/prop-g-2@derived", squared)
    proof.concludes("pure_heavy_tails/prop-g-2", squared)


@derivation("pure_heavy_tails/prop-g-4", SMALL, also=("pure_heavy_tails/prop-g-4@derived",))
def packing_method(proof: Proof) -> None:
    """The spike probability p is as large as group privacy allows on a packing of 2ᵈ directions."""
    proof.gap(
        "log((N−1)/(4eζ)) ≥ c(d + log(1/ζ)) for every packing of N ≥ 2ᵈ points",
        c * (d + sp.log(1 / zeta)),
        sp.log((N - 1) / (4 * sp.E * zeta)),
        {N: 2, d: 1, zeta: sp.Rational(1, 4), c: sp.Rational(1, 1000)},
        "true for d ≥ 2, and for d = 1 with five points (S15)",
    )
    squared = proof.argues(
        "q ≥ 4ζ at p = min{log((2ᵈ−1)/(4eζ))/(nε), 1}; decoding below a quarter of the separation ½G_kp^{1−1/k}",
        "error²",
        ">=",
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


@derivation("pure_heavy_tails/thm-g-5", SMALL, also=("pure_heavy_tails/thm-g-5@derived",))
def both_methods(proof: Proof) -> None:
    """One of the two laws meets each bound; the larger is at least half of the sum."""
    tested = proof.uses("pure_heavy_tails/prop-g-2@derived", C0_SQUARED * G_2**2 * TESTED)
    packed = proof.uses("pure_heavy_tails/prop-g-4@derived", G_k**2 * PACKING ** (2 - 2 / k) / 16)
    proof.concludes("pure_heavy_tails/thm-g-5@derived", sp.Max(tested, packed))
    orders = [
        proof.uses("pure_heavy_tails/prop-g-2", G_2**2 * TESTED, as_order=True),
        proof.uses(
            "pure_heavy_tails/prop-g-4",
            G_k**2 * sp.Min(((d + sp.log(1 / zeta)) / (n * epsilon)) ** (2 - 2 / k), 1),
            as_order=True,
        ),
    ]
    proof.concludes("pure_heavy_tails/thm-g-5", sp.Max(*orders))


@derivation(
    "pure_heavy_tails/thm-g-6",
    Regime(base=None, others="free", where=[*SMALL.where, G_1 <= G_2, G_k >= G_2]),
    also=("pure_heavy_tails/thm-g-6@derived",),
)
def from_means_to_optimisation(proof: Proof) -> None:
    """Lemma G.1 turns a squared error of a mean of length μ into an excess risk, D/(8μ) times as large."""
    factor = proof.uses("pure_heavy_tails/lem-g-1", D / (8 * mu), {sp.Symbol("mu", positive=True): mu})
    p = sp.Symbol("p", positive=True)
    packed = proof.equal(
        "heavy tails: μ = G_kp^{1−1/k}, error² ≥ μ²/16",
        lambda: (factor * mu**2 / 16).xreplace({mu: G_k * p ** (1 - 1 / k)}),
        D * G_k * p ** (1 - 1 / k) / 128,
    )
    bounded = proof.equal(
        "bounded: μ = ρG_2, error² ≥ μ²",
        lambda: (factor * mu**2).xreplace({mu: sp.sqrt(C0_SQUARED) * p * G_2}),
        sp.sqrt(C0_SQUARED) / 8 * D * G_2 * p,
    )
    tested = sp.Min(sp.sqrt(sp.log(1 / zeta) / n), 1)
    proof.concludes(
        "pure_heavy_tails/thm-g-6@derived",
        D * sp.Max(*(part / D for part in (packed.subs(p, PACKING), bounded.subs(p, tested)))),
    )
    share = sp.Min((d + sp.log(1 / zeta)) / (n * epsilon), 1)
    proof.concludes("pure_heavy_tails/thm-g-6", sp.Max(packed.subs(p, share), bounded.subs(p, tested)), looser=True)


@derivation(
    "pure_heavy_tails/thm-4-1", Regime(base=None, others="free", where=[beta <= 1, epsilon <= 1, d >= 1, n >= 1])
)
def lower_bound_of_the_text(proof: Proof) -> None:
    """Theorem G.6 with the failure probability renamed; its quantifiers are those that hold (S8)."""
    share = (d + sp.log(1 / beta)) / (n * epsilon)
    bound = D * sp.Min(G_1, G_2 * sp.sqrt(sp.log(1 / beta) / n) + G_k * share ** (1 - 1 / k))
    proof.concludes("pure_heavy_tails/thm-4-1", proof.uses("pure_heavy_tails/thm-g-6", bound, {zeta: beta}))


@derivation("pure_heavy_tails/fact-g-7")
def ratio_of_the_bounds(proof: Proof) -> None:
    """d log(1/δ) against d + log(1/δ), to the power 1 − 1/k."""
    L = sp.log(1 / beta)
    ratio = (d * L / (n * epsilon)) ** (1 - 1 / k) / ((d + L) / (n * epsilon)) ** (1 - 1 / k)
    proof.concludes("pure_heavy_tails/fact-g-7", ratio, where={L: sp.Symbol("ell", positive=True)})
