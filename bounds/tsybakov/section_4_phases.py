"""Section 4: localisation, Algorithm 3 as printed and repaired."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import (
    C,
    D,
    H,
    L,
    T,
    beta,
    d,
    epsilon,
    index,
    k,
    lambda_,
    last,
    n,
    p,
    sequences,
)

from ._paper import LOG, ORDERS, R_2k, claim

_n, _T, _lambda, _eta, _r_2k = sequences("n T lambda eta r_2k")
_inverse = 1 / (_eta[index] * _lambda[index])
PER_RECORD = sp.sqrt(d * LOG * sp.log(n)) / (epsilon * n)
"""τ_p to the power k/(k − 1)."""

alg_3 = claim(
    "tsybakov/alg-3",
    "Algorithm 3 (LNC-GM)",
    "log_2 n phases of Algorithm 2 on halving disjoint batches, regularised towards the previous output, each "
    "followed by Gaussian noise of deviation 8C_i√log(1/δ)/(n_iλ_iε).",
    kind="algorithm",
    section="4",
    quantity="noise deviation of a phase",
    relation="=",
    explicit=8 * C * sp.sqrt(LOG) / (n * lambda_ * epsilon),
    grade="slip",
    remark="λ_1 = 1/(η_1n_1^{2p}) makes the first noise exceed the diameter and the second domain empty (S2).",
)

alg_3_literal = alg_3.as_read(
    "tsybakov/alg-3@literal",
    "Algorithm 3 with the exponent 2p in phase 1",
    "With λ_1 = 1/(η_1n_1^{2p}) the domain W_2 = {w in W: ‖w − w_1‖ <= D_2} of the second phase is not empty.",
    quantity="√d σ_1/D when the second cap of the step binds",
    explicit=2 ** (2 - 1 / k - 2 * p) * n ** (p - sp.Rational(1, 2)) / sp.sqrt(sp.log(n)),
    grade="slip",
    remark="At p = 1, k = 2 the first noise is 4.8, 15.7, 54 diameters at n = 2^8, 2^12, 2^16.",
    assumptions=(*ORDERS,),
)

alg_3_corrected = alg_3.as_read(
    "tsybakov/alg-3@corrected",
    "Algorithm 3 with the exponent p in every phase",
    "λ_i = 1/(η_in_i^p) for all i, step (D/n^{p/2})·min{1/L_f, τ_p^{-1}/(R̃n^{p/2}), 1/(R̃n^{(p−1)/2})}, "
    "outputs projected onto W.",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=n ** (p + 1) * sp.log(n),
)

alg_3_records = alg_3.as_read(
    "tsybakov/alg-3@records",
    "Algorithm 3, batches",
    "Phase i reads n_i = 2^{−i}n records, n = 2^l.",
    quantity="records of phase i",
    explicit=n / 2**index,
    about=("tsybakov/alg-3",),
)

alg_3_eta = alg_3_records.as_read(
    "tsybakov/alg-3@eta",
    "Algorithm 3, step sizes",
    "η_i = 4^{−i}η, and η is that of the proof of Theorem 10, the only one that is printed: (D/n^{p/2})·min{1/L_f, "
    "(1/(R̃n^{(p+1)/2}))(εn/√(dℒ log n))^{(k−1)/k}, 1/(n^{(p−1)/2}L_f²√(log n log(1/β)))}.",
    quantity="step size of phase i",
    explicit=4**-index
    * D
    / n ** (p / 2)
    * sp.Min(
        1 / L,
        1 / (R_2k * n ** ((p + 1) / 2)) * (1 / PER_RECORD) ** ((k - 1) / k),
        1 / (n ** ((p - 1) / 2) * L**2 * sp.sqrt(sp.log(n) * sp.log(1 / beta))),
    ),
)

alg_3_corrected_eta = alg_3_eta.as_read(
    "tsybakov/alg-3@corrected-eta",
    "Corrected Algorithm 3, step sizes",
    "η_i = 4^{−i}η with η the step of `alg-3@corrected`, and at most 4/α, so that η_1 <= 1/α.",
    origin="ours",
    explicit=4**-index
    * sp.Min(
        D
        / n ** (p / 2)
        * sp.Min(
            1 / L,
            1 / (R_2k * n ** (p / 2)) * (1 / PER_RECORD) ** ((k - 1) / k),
            1 / (R_2k * n ** ((p - 1) / 2)),
        ),
        4 / H,
    ),
)

alg_3_lambda = alg_3_records.as_read(
    "tsybakov/alg-3@lambda",
    "Algorithm 3, weights",
    "λ_i = 1/(η_in_i^p), but λ_1 = 1/(η_1n_1^{2p}).",
    quantity="weight of the regulariser of phase i",
    explicit=1 / (_eta[index] * _n[index] ** sp.Piecewise((2 * p, sp.Eq(index, 1)), (p, True))),
)

alg_3_corrected_lambda = alg_3_lambda.as_read(
    "tsybakov/alg-3@corrected-lambda",
    "Corrected Algorithm 3, weights",
    "λ_i = 1/(η_in_i^p) in every phase.",
    origin="ours",
    explicit=1 / (_eta[index] * _n[index] ** p),
)

alg_3_steps = alg_3_records.as_read(
    "tsybakov/alg-3@steps",
    "Algorithm 3, numbers of steps",
    "T_i = ⌈(2/(λ_iη_i)) log(4/(λ_iη_i))⌉, our reading of the printed Θ̃(1/(λ_iη_i)).",
    origin="ours",
    quantity="steps of phase i",
    explicit=sp.ceiling(2 * _inverse * sp.log(4 * _inverse)),
)

alg_3_radius = alg_3_records.as_read(
    "tsybakov/alg-3@radius",
    "Algorithm 3, domains",
    "D_i = 2L_f/λ_i: phase i stays within D_i of its start.",
    quantity="radius of the domain of phase i",
    explicit=2 * L / _lambda[index],
)

alg_3_level = alg_3_records.as_read(
    "tsybakov/alg-3@level",
    "Algorithm 3, clip levels",
    "C_i = r̃_{2k,n_i}(εn_i/√(dℒ log n))^{1/k}.",
    quantity="clip level of phase i",
    explicit=_r_2k[index] * (epsilon * _n[index] / sp.sqrt(d * LOG * sp.log(n))) ** (1 / k),
)

alg_3_gradients = alg_3_records.as_read(
    "tsybakov/alg-3@gradients",
    "Algorithm 3, gradients",
    "T_i readings of n_i records in phase i.",
    measures="gradients",
    quantity="gradients",
    explicit=sp.Sum(_n[index] * _T[index], (index, 1, last)),
)

alg_3_every_loss_weight = alg_3_corrected_lambda.as_read(
    "tsybakov/alg-3@every-loss-weight",
    "Algorithm 3 for every loss, weights",
    "λ_i = 8^i (R̃/D)(1/√n + 10τ_p) of `thm-1@every-loss`.",
    origin="ours",
    explicit=8**index * R_2k / D * (1 / sp.sqrt(n) + 10 * PER_RECORD ** ((k - 1) / k)),
)

alg_3_every_loss_eta = alg_3_corrected_eta.as_read(
    "tsybakov/alg-3@every-loss-eta",
    "Algorithm 3 for every loss, step sizes",
    "1/(nλ_i) of `thm-1@every-loss`.",
    origin="ours",
    explicit=1 / (n * _lambda[index]),
)

alg_3_every_loss_steps = alg_3_steps.as_read(
    "tsybakov/alg-3@every-loss-steps",
    "Algorithm 3 for every loss, numbers of steps",
    "(1/(λ_iη_i)) log_2(1/(λ_iη_i)), which is n log_2 n at the steps of `thm-1@every-loss`.",
    origin="ours",
    explicit=_inverse * sp.log(_inverse, 2),
)

alg_3_trivial_movement = alg_3_records.as_read(
    "tsybakov/alg-3@trivial-movement",
    "Algorithm 3 with noise for its reach, sensitivity",
    "2C_i/λ_i, which the outputs of `thm-1@trivial` stay below whatever the batches.",
    origin="ours",
    quantity="claimed movement of a phase",
    explicit=2 * C / lambda_,
)

alg_3_trivial_sigma = alg_3_trivial_movement.as_read(
    "tsybakov/alg-3@trivial-sigma",
    "Algorithm 3 with noise for its reach, noise",
    "σ_i = 8C_i√log(1/δ)/(λ_iε), that of Definition 3 at the movement 2C_i/λ_i.",
    quantity="noise deviation of a phase",
    explicit=8 * C * sp.sqrt(LOG) / (lambda_ * epsilon),
)

proc_lnc_gm_fixed = claim(
    "tsybakov/proc-lnc-gm-fixed",
    "Corrected Algorithm 3",
    "The same as `alg-3@corrected`; its noise per step is private for every loss, its printed noise where "
    "clipped steps contract.",
    kind="procedure",
    section="4",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=n ** (p + 1) * sp.log(n),
    about=("tsybakov/alg-3",),
)


@derivation("tsybakov/alg-3", also=("tsybakov/alg-3@trivial-sigma", "tsybakov/alg-6@plain", "tsybakov/def-3@corrected"))
def noise_of_definition_3(proof: Proof) -> None:
    """Definition 3 has noise of deviation Δ/μ, which is μ²/2-zCDP; Δ is what a phase, or a batch mean, moves."""
    mu = proof.uses("tsybakov/def-3", epsilon / (4 * sp.sqrt(LOG)))
    proof.concludes("tsybakov/def-3@corrected", mu**2 / 2)
    moved = proof.uses("tsybakov/rem-2@corrected", 2 * C / (n * lambda_))
    proof.concludes("tsybakov/alg-3", moved / mu)
    reach = proof.uses("tsybakov/alg-3@trivial-movement", 2 * C / lambda_)
    proof.concludes("tsybakov/alg-3@trivial-sigma", reach / mu)
    batch = proof.uses("tsybakov/fact-sens", 2 * C * T / n, {n: n / T})
    proof.concludes("tsybakov/alg-6@plain", batch / mu)
