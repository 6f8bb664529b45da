"""Section 3: definitions, the noise condition, moments, and what they imply."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import L, R, delta, epsilon, lambda_, r_k, theta

from ._paper import LOG, claim, x

def_1 = claim(
    "tsybakov/def-1",
    "Definition 1",
    "(ε, δ)-differential privacy; neighbours have the same size and differ in one record.",
    kind="definition",
    section="3",
    origin="cited",
)

def_2 = claim(
    "tsybakov/def-2",
    "Definition 2",
    "ρ-zCDP: the Rényi divergence of order a between the outputs on neighbours is at most ρa for every a > 1.",
    kind="definition",
    section="3",
    origin="cited",
)

def_3 = claim(
    "tsybakov/def-3",
    "Definition 3 (Gaussian mechanism)",
    "Gaussian noise of variance 16Δ² log(1/δ)/ε² a coordinate is (ε, δ)-DP for 0 < ε, δ <= 1.",
    kind="definition",
    section="3",
    origin="cited",
    quantity="μ of the mechanism",
    relation="=",
    explicit=epsilon / (4 * sp.sqrt(LOG)),
    grade="slip",
    remark="False for δ near 1 (S16); at δ = 1e-5 the noise of a nominal ε = 1 is really 0.244-DP.",
    assumptions=(
        sp.Le(epsilon, 1),
        sp.Lt(delta, 1),
    ),
)

def_3_literal = def_3.as_read(
    "tsybakov/def-3@literal",
    "Definition 3 for every δ <= 1",
    "The same for every 0 < δ < 1.",
    grade="slip",
    remark="At ε = 1, δ = 0.999 the exact δ is 0.99987.",
    quantity="",
    relation="is",
    explicit=None,
)

def_3_corrected = def_3.as_read(
    "tsybakov/def-3@corrected",
    "Definition 3 for δ <= 0.99",
    "Gaussian noise of variance 16Δ² log(1/δ)/ε² is (ε, δ)-DP for 0 < ε <= 1 and 0 < δ <= 0.99.",
    origin="ours",
    quantity="zCDP ρ",
    explicit=epsilon**2 / (32 * LOG),
    assumptions=(
        sp.Le(epsilon, 1),
        sp.Le(delta, sp.Rational(99, 100)),
    ),
)

proc_gaussian = claim(
    "tsybakov/proc-gaussian",
    "Mechanism of Definition 3",
    "q(S) + N(0, 16Δ² log(1/δ)/ε² I).",
    kind="procedure",
    section="3",
    origin="cited",
    quantity="δ that is spent at ε",
    relation="<=",
    explicit=delta,
)

def_4 = claim(
    "tsybakov/def-4",
    "Definition 4",
    "DP-SCO: a private w from n i.i.d. records with a small population excess risk F(w) − min F over W, for convex "
    "losses.",
    kind="definition",
    section="3",
    origin="cited",
)

def_5 = claim(
    "tsybakov/def-5",
    "Definition 5",
    "f is L-Lipschitz on W: |f(w) − f(w')| <= L‖w − w'‖.",
    kind="definition",
    section="3",
    origin="cited",
)

def_6 = claim(
    "tsybakov/def-6",
    "Definition 6",
    "f is β-smooth on W: f(w) <= f(w') + <∇f(w'), w − w'> + (β/2)‖w − w'‖².",
    kind="definition",
    section="3",
    origin="cited",
)

def_7 = claim(
    "tsybakov/def-7",
    "Definition 7",
    "F is λ-strongly convex on W: F(w) >= F(w') + <∇F(w'), w − w'> + (λ/2)‖w − w'‖².",
    kind="definition",
    section="3",
    origin="cited",
)

def_8 = claim(
    "tsybakov/def-8",
    "Definition 8 (Tsybakov noise condition)",
    "F satisfies (θ, λ)-TNC, θ > 1: F(w) − F* >= λ‖w − w*‖^θ on W, w* the nearest minimiser.",
    kind="definition",
    section="3",
    origin="cited",
)

fact_sc_tnc = claim(
    "tsybakov/fact-sc-tnc",
    "After Definition 8",
    "A λ-strongly convex F satisfies (2, λ/2)-TNC.",
    kind="lemma",
    section="3",
    quantity="TNC constant at θ = 2",
    relation=">=",
    explicit=lambda_ / 2,
    grade="slip",
    remark="Section 7 speaks of (2, λ)-TNC, which λ‖w‖²/2 does not satisfy (S14).",
)

fact_sc_tnc_literal = fact_sc_tnc.as_read(
    "tsybakov/fact-sc-tnc@literal",
    "Strong convexity in Section 7",
    "A λ-strongly convex F satisfies (2, λ)-TNC.",
    section="7",
    explicit=lambda_,
    grade="slip",
    remark="λ‖w‖²/2 has the constant λ/2 exactly.",
)

fact_tnc_monotone = claim(
    "tsybakov/fact-tnc-monotone",
    "After Definition 8",
    "(θ, λ)-TNC implies (θ', λ)-TNC for every θ' >= θ.",
    kind="lemma",
    section="3",
    grade="slip",
    remark="Only where ‖w − w*‖ <= 1 (S14).",
)

fact_tnc_monotone_literal = fact_tnc_monotone.as_read(
    "tsybakov/fact-tnc-monotone@literal",
    "Monotonicity of TNC on every domain",
    "(θ, λ)-TNC implies (θ', λ)-TNC for every θ' >= θ, whatever the diameter of W.",
    grade="slip",
    remark="F = w² on [−2, 2], θ' = 3, w = 2: 4 < 8.",
)

fact_tnc_monotone_corrected = fact_tnc_monotone.as_read(
    "tsybakov/fact-tnc-monotone@corrected",
    "Monotonicity of TNC with the diameter",
    "(θ, λ)-TNC implies (θ + s, λD^{−s})-TNC for every s >= 0; without the factor when D <= 1.",
    origin="ours",
)

lem_1 = claim(
    "tsybakov/lem-1",
    "Lemma 1",
    "(θ, λ)-TNC and L_f-Lipschitz: F(w) − F* <= (L_f^θ/λ)^{1/(θ−1)} and ‖w − w*‖ <= (L_f/λ)^{1/(θ−1)} on W.",
    kind="lemma",
    section="3",
    origin="cited",
    quantity="excess risk of any point",
    relation="<=",
    explicit=(L**theta / lambda_) ** (1 / (theta - 1)),
    assumptions=(sp.Gt(theta, 1),),
)


@derivation("tsybakov/lem-1")
def distance_under_the_noise_condition(proof: Proof) -> None:
    """λr^θ <= F(w) − F* <= L_f r at distance r from the nearest minimiser; they meet at r = (L_f/λ)^{1/(θ−1)}."""
    proof.assumes("tsybakov/lem-1", sp.S.One, theta)
    reach = (L / lambda_) ** (1 / (theta - 1))
    proof.argues("F is at most L_f r and at least λr^θ above F* at distance r", "λr^θ", "<=", L * R)
    proof.equal("where λr^θ = L_f r", lambda: lambda_ * reach**theta, L * reach, {theta: 1 + x})
    proof.concludes("tsybakov/lem-1", L * reach, where={theta: 1 + x})


asm_1 = claim(
    "tsybakov/asm-1",
    "Assumption 1",
    "E sup_{w in W} ‖∇f(w, x)‖^k <= r^(k) for some k >= 2, W of diameter D.",
    kind="assumption",
    section="3",
)

def_moments = claim(
    "tsybakov/def-moments",
    "Empirical moments",
    "r̂_m^(k) = sup_w mean over m records of ‖∇f‖^k, e_m^(k) its expectation, r̃_{k,m} = (e_m^(k))^{1/k}, R̃_{k,n}² = "
    "Σ_{i <= log_2 n} 2^{−i} r̃²_{k,n_i} with n_i = 2^{−i}n.",
    kind="definition",
    section="3",
    origin="cited",
)

def_moments_underived = underived("tsybakov/def-moments", "a definition; lem-2 is what follows from it")

fact_moment_lipschitz = claim(
    "tsybakov/fact-moment-lipschitz",
    "After Assumption 1",
    "r̃_k <= L_f.",
    kind="lemma",
    section="3",
    quantity="r̃_k",
    relation="<=",
    explicit=L,
)

lem_2 = claim(
    "tsybakov/lem-2",
    "Lemma 2",
    "e_m^(k) does not increase along doublings of m, so R̃_{k,n} <= r̃_k.",
    kind="lemma",
    section="3, B",
    origin="cited",
    quantity="R̃_{k,n}",
    relation="<=",
    explicit=r_k,
    remark="The end of the printed chain, r^(k), is nowhere defined; it is sup_w E‖∇f(w, x)‖^k.",
)

lem_2_derived = lem_2.as_read(
    "tsybakov/lem-2@derived",
    "Lemma 2 for every sample size",
    "e_m^(k) does not increase in m at all, and R̃_{k,n} <= √(1 − 1/n) r̃_k.",
    origin="ours",
    quantity="e_{m+1}^(k) − e_m^(k)",
    explicit=sp.Integer(0),
)


@derivation("tsybakov/lem-2")
def moments_along_doublings(proof: Proof) -> None:
    """The sup of a mean over 2m records is at most the mean of two sups over m; weights 2^{−i} add up to 1 at most."""
    i = sp.Symbol("i", integer=True, positive=True)
    proof.uses("tsybakov/lem-2@derived", sp.S.Zero)
    proof.equal("the weights", sp.Sum(2**-i, (i, 1, sp.oo)), 1)
    proof.concludes("tsybakov/lem-2", sp.sqrt(r_k**2))


rem_1 = claim(
    "tsybakov/rem-1",
    "Remark 1",
    "Algorithms 1 to 5 use disjoint batches, one pass over the data, so that zCDP is immediate; Algorithm 6 needs the "
    "shuffling.",
    kind="proposition",
    section="3",
    remark="One pass over the phases, not over the records: Algorithm 2 reads its batch T times.",
)
