"""Section 4: localisation, Algorithm 3 as printed and repaired."""

from __future__ import annotations

import sympy as sp

from dpcheck.symbols import k, n, p

from ._paper import ORDERS, claim
from .section_4 import PRINTED_SIGMA

alg_3 = claim(
    "tsybakov/alg-3",
    "Algorithm 3 (LNC-GM)",
    "log_2 n phases of Algorithm 2 on halving disjoint batches, regularised towards the previous output, each "
    "followed by Gaussian noise of deviation 8C_i√log(1/δ)/(n_iλ_iε).",
    kind="algorithm",
    section="4",
    quantity="noise deviation of a phase",
    relation="=",
    explicit=PRINTED_SIGMA,
    grade="slip",
    remark="λ_1 = 1/(η_1n_1^{2p}) makes the first noise exceed the diameter and the second domain empty (S2).",
)

alg_3_literal = claim(
    "tsybakov/alg-3@literal",
    "Algorithm 3 with the exponent 2p in phase 1",
    "With λ_1 = 1/(η_1n_1^{2p}) the domain W_2 = {w in W: ‖w − w_1‖ <= D_2} of the second phase is not empty.",
    kind="algorithm",
    section="4",
    quantity="√d σ_1/D when the second cap of the step binds",
    relation="=",
    explicit=2 ** (2 - 1 / k - 2 * p) * n ** (p - sp.Rational(1, 2)) / sp.sqrt(sp.log(n)),
    grade="slip",
    remark="At p = 1, k = 2 the first noise is 4.8, 15.7, 54 diameters at n = 2^8, 2^12, 2^16.",
    assumptions=(*ORDERS,),
)

alg_3_corrected = claim(
    "tsybakov/alg-3@corrected",
    "Algorithm 3 with the exponent p in every phase",
    "λ_i = 1/(η_in_i^p) for all i, step (D/n^{p/2})·min{1/L_f, τ_p^{-1}/(R̃n^{p/2}), 1/(R̃n^{(p−1)/2})}, "
    "outputs projected onto W.",
    kind="algorithm",
    section="4",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=n ** (p + 1) * sp.log(n),
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
