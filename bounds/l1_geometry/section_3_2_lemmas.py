"""Section 3.2: the lemmas on one phase of Algorithm 2, and the facts that they rest on."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import L, T, b, d, epsilon, lambda_, n, sigma

from ._paper import (
    LARGE,
    LOG,
    Delta,
    b_i,
    claim,
    epsilon_i,
    eta_i,
    log_d,
    log_delta,
    n_i,
)

A_i = 200 * L**2 * eta_i**2 * b_i**2 + 160000 * L**2 * eta_i**2 * d * sp.log(d) * LOG / epsilon_i**2

lem_3_3 = claim(
    "l1_geometry/lem-3-3",
    "Lemma 3.3",
    "x̂_i = argmin_X F_i lies in X_i, and E‖x_i − x̂_i‖_p² ≤ O(L²η_i²n_i/log d + L²η_i²d log d log(1/δ)/ε_i²).",
    kind="lemma",
    section="3.2",
    quantity="squared distance to the regularised empirical minimiser",
    relation="<=",
    order=L**2 * eta_i**2 * n_i / sp.log(d) + L**2 * eta_i**2 * d * sp.log(d) * LOG / epsilon_i**2,
    explicit=A_i,
    assumptions=(sp.Ge(d, 3),),
    about=("l1_geometry/alg-2",),
    grade="proof gap",
    remark="h_i has modulus between 1/2 and 1 in ℓ₁, not 1 as Theorem 3 asks (S17); the proof has log²(1/δ) (S20). "
    "Constants only.",
)


@derivation("l1_geometry/lem-3-3", LARGE)
def distance_of_a_phase(proof: Proof) -> None:
    """The weighted average of T_i = n_i²/b_i² steps, with modulus 1/2, over the strong convexity λ_i = 1/(η_in_i)."""
    strong = 1 / (eta_i * n_i)
    deviation = proof.uses(
        "l1_geometry/alg-1",
        100 * L * sp.sqrt(d * LOG) / (b_i * epsilon_i),
        {b: b_i, epsilon: epsilon_i},
    )
    proof.assumes("l1_geometry/lem-3-3", 3, d)
    proof.assumes("l1_geometry/fact-gauss-max", 3, d)
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


lem_3_4 = claim(
    "l1_geometry/lem-3-4",
    "Lemma 3.4",
    "For x̂_i = argmin_{X_i} F_i and y ∈ X, E[F(x̂_i) − F(y)] ≤ E‖y − x_{i−1}‖_p²/(η_in_i(p−1)) + O(L²η_i).",
    kind="lemma",
    section="3.2",
    quantity="excess risk of the regularised minimiser, less the regulariser at y",
    relation="<=",
    order=L**2 * eta_i,
    explicit=4 * L**2 * eta_i,
    about=("l1_geometry/alg-2",),
    remark="The records of block i must be independent of x_{i−1}: disjoint blocks (S4).",
)


lem_3_4_derived = lem_3_4.as_read(
    "l1_geometry/lem-3-4@derived",
    "Stability behind Lemma 3.4",
    "Replacing one record moves x̂_i by at most 2Lη_i in ℓ_p.",
    origin="ours",
    quantity="‖x̂_i(S) − x̂_i(S')‖_p",
    explicit=2 * L * eta_i,
    about=(),
)


@derivation("l1_geometry/lem-3-4@derived", also=("l1_geometry/lem-3-4",))
def stability_of_a_phase(proof: Proof) -> None:
    """Losses that are L-Lipschitz in ℓ₁ are 2L-Lipschitz in ℓ_p, where F_i is 2/(η_in_i)-strongly convex."""
    ratio = proof.uses("l1_geometry/fact-norm-ratio", 2)
    at = {L: ratio * L, lambda_: 2 / (eta_i * n_i), n: n_i}
    moved = proof.uses("l1_geometry/fact-sssss", 2 * L * eta_i, at)
    proof.concludes("l1_geometry/lem-3-4@derived", moved)
    gap = proof.argues("on average over the sample, stability is generalisation", "gap", "<=", ratio * L * moved)
    proof.concludes("l1_geometry/lem-3-4", gap)


fact_norm_ratio = claim(
    "l1_geometry/fact-norm-ratio",
    "Norm comparison in the proof of Lemma 3.3",
    "‖z‖_1 ≤ d^{1−1/p}‖z‖_p ≤ 2‖z‖_p for p = 1 + 1/log d.",
    kind="lemma",
    section="3.2",
    quantity="‖z‖_1/‖z‖_p",
    relation="<=",
    explicit=sp.Integer(2),
    remark="True with base-2 logarithms. With natural ones the factor is 2.01 at d = 10 and tends to e (S17).",
)


fact_sssss = claim(
    "l1_geometry/fact-sssss",
    "SSSSS09, Theorems 6 and 7",
    "The minimiser of a λ-strongly convex empirical risk of L-Lipschitz losses moves by at most 2L/(λn) when one "
    "record is replaced, and generalises up to 2L²/(λn).",
    kind="theorem",
    section="3.2",
    origin="cited",
    quantity="‖x̂(S) − x̂(S')‖",
    relation="<=",
    explicit=2 * L / (lambda_ * n),
)


@derivation("l1_geometry/fact-sssss")
def stability_of_the_minimiser(proof: Proof) -> None:
    """Strong convexity at both minimisers against two Lipschitz losses of weight 1/n."""
    proof.argues("λΔ² ≤ 2LΔ/n", lambda_ * Delta**2, "<=", 2 * L * Delta / n)
    moved = proof.equal("divide by λΔ", lambda: 2 * L * Delta / n / (lambda_ * Delta), 2 * L / (lambda_ * n))
    proof.concludes("l1_geometry/fact-sssss", moved)
