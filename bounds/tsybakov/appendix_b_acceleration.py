"""Appendix B: what Theorem 6 rests on, accelerated steps and amplification by shuffling."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import C, D, H, T, b, d, delta, gamma, index, k, n, r_2, r_k, sigma

from ._paper import LOG, claim, epsilon_0
from .appendix_b_lower_bounds import Sigma

fact_acsa = claim(
    "tsybakov/fact-acsa",
    "Accelerated SGD with bias and noise (Proposition 40 of Lowy and Razaviyayn)",
    "Expected excess O(HD²/T² + D(Σ + B)/√T + BD) for gradients of bias B and noise of second moment Σ².",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=H * D**2 / T**2 + D * (Sigma + b) / sp.sqrt(T) + b * D,
    about=("tsybakov/alg-6",),
)

fact_acsa_derived = fact_acsa.as_read(
    "tsybakov/fact-acsa@derived",
    "Accelerated SGD with constants, no bias",
    "At γ = max{2H, (Σ/D)√(T(T+1)(2T+1)/12)} the expected excess is at most 4HD²/(T(T+1)) + 2DΣ√((2T+1)/(3T(T+1))).",
    origin="ours",
    explicit=4 * H * D**2 / (T * (T + 1)) + 2 * D * Sigma * sp.sqrt((2 * T + 1) / (3 * T * (T + 1))),
)

claim_noise = claim(
    "tsybakov/claim-noise",
    "Claim in the proof of Theorem 6",
    "E‖N_t‖² <= dσ² + r²T/n for the noise of a clipped batch mean.",
    kind="proposition",
    section="B",
    quantity="second moment of the noise",
    relation="<=",
    explicit=d * sigma**2 + r_k**2 * T / n,
    about=("tsybakov/alg-6",),
)


@derivation("tsybakov/fact-acsa@derived", also=("tsybakov/fact-acsa", "tsybakov/claim-noise", "tsybakov/thm-6@derived"))
def accelerated_steps(proof: Proof) -> None:
    """Excess over Γ_t telescopes: Γ_T = 2/(T(T+1)) times γD² and the squared noises over 2(η_t − Hα_t²)."""
    i = index
    a, eta = (
        proof.uses("tsybakov/alg-6@weights", 2 / (i + 1)),
        proof.uses("tsybakov/alg-6@prox", 4 * gamma / (i * (i + 1))),
    )
    left = 2 / (i * (i + 1))
    proof.equal("Γ_t = (1 − α_t)Γ_{t−1}", lambda: (1 - a) * left.subs(i, i - 1), left)
    proof.equal("η_t/Γ_t is the same for all t", lambda: eta / left, 2 * gamma)
    proof.at_most("Hα_t² <= η_t/2 at γ >= 2H", H * a**2, eta / 2, {gamma: 2 * H + b})
    noises = proof.equal("Σ²α_t²/(η_tΓ_t)", lambda: Sigma**2 * a**2 / (eta * left), Sigma**2 * i**2 / (2 * gamma))
    start = left.subs(i, T) * gamma * D**2
    total = sp.summation(noises, (i, 1, T))
    noise = proof.equal(
        "Γ_T times the noises of all steps", left.subs(i, T) * total, Sigma**2 * (2 * T + 1) / (6 * gamma)
    )
    first, second = 2 * H, Sigma / D * sp.sqrt(T * (T + 1) * (2 * T + 1) / sp.Integer(12))
    proof.uses("tsybakov/alg-6@gamma", sp.Max(first, second), {d: 1, sigma: Sigma, r_k: 0})
    bound = proof.master(
        "excess at the larger of both γ",
        {"start": start.subs(gamma, first) + start.subs(gamma, second), "noise": noise.subs(gamma, second)},
    )
    proof.concludes("tsybakov/fact-acsa@derived", bound)
    proof.at_most("T(T+1) >= T²", 4 * H * D**2 / (T * (T + 1)), 4 * H * D**2 / T**2)
    proof.at_most("2T + 1 <= 3(T + 1)", (2 * T + 1) / (3 * T * (T + 1)), 1 / T)
    simpler = 4 * H * D**2 / T**2 + 2 * D * Sigma / sp.sqrt(T) + D * b
    proof.concludes("tsybakov/fact-acsa", simpler, regime=Regime(base=None, others="free", where=[T >= 1]))
    variance = proof.uses("tsybakov/lem-7@variance", d * sigma**2 + r_2**2 * T / n, {n: n / T}).subs(r_2, r_k)
    proof.concludes("tsybakov/claim-noise", variance)
    bias = proof.uses("tsybakov/lem-7", r_k**k / ((k - 1) * C ** (k - 1)))
    proof.assumes("tsybakov/thm-6@derived", sp.Integer(2), k)
    proof.argues("a bias B costs DB, for the weights of the averages add up to one")
    proof.concludes("tsybakov/thm-6@derived", bound.subs(Sigma, sp.sqrt(variance)) + D * bias)


lem_6 = claim(
    "tsybakov/lem-6",
    "Lemma 6 (amplification by shuffling)",
    "Shuffled sequences of n adaptive (ε_0, δ_0) local randomisers are (ε, δ + O(e^ε δ_0 n))-DP with ε = O((1 −"
    " e^{−ε_0})(√(e^{ε_0} log(1/δ)/n) + e^{ε_0}/n)), for ε_0 <= log(n/(16 log(2/δ))).",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="ε that is spent",
    relation="<=",
    order=(1 - sp.exp(-epsilon_0)) * (sp.sqrt(sp.exp(epsilon_0) * LOG / n) + sp.exp(epsilon_0) / n),
    assumptions=(sp.Le(epsilon_0, sp.log(n / (16 * sp.log(2 / delta)))),),
)

lem_6_derived = lem_6.as_read(
    "tsybakov/lem-6@derived",
    "Amplification by shuffling with constants",
    "ε <= log(1 + (e^{ε_0} − 1)/(e^{ε_0} + 1)·(8√(e^{ε_0} log(4/δ)/n) + 8e^{ε_0}/n)) when δ_0 = 0.",
    explicit=sp.log(
        1
        + (sp.exp(epsilon_0) - 1)
        / (sp.exp(epsilon_0) + 1)
        * (8 * sp.sqrt(sp.exp(epsilon_0) * sp.log(4 / delta) / n) + 8 * sp.exp(epsilon_0) / n)
    ),
    remark="The constants are those of the cited source as remembered in the field; the exact value for "
    "randomised response lies below them wherever it was computed.",
)

lem_6_underived = underived("tsybakov/lem-6", "cited; holds exponentials of ε_0, and its proof is not in the paper")

proc_ldp_gauss = claim(
    "tsybakov/proc-ldp-gauss",
    "Local randomiser of the proof of Theorem 6",
    "Clipping at C and noise of variance 8C² log(1/δ_0)/ε_0² is (ε_0, δ_0)-DP for one record.",
    kind="procedure",
    section="B",
    quantity="noise variance",
    relation="=",
    explicit=8 * C**2 * LOG / epsilon_0**2,
    about=("tsybakov/alg-6",),
    remark="True for ε_0 <= 1/2 and δ_0 <= 0.99.",
    assumptions=(
        sp.Le(epsilon_0, sp.Rational(1, 2)),
        sp.Le(delta, sp.Rational(99, 100)),
    ),
)
