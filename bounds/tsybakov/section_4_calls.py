"""Section 4: calls of Algorithm 3 under the noise condition, Algorithms 4 and 5."""

from __future__ import annotations

import sympy as sp

from dpcheck.symbols import D, H, L, beta, d, epsilon, gamma, index, k, last, n, p, sequences

from ._paper import (
    LOG,
    R_2k,
    claim,
    theta_bar,
)

LOG_2 = sp.log(n, 2)

alg_4 = claim(
    "tsybakov/alg-4",
    "Algorithm 4 (private stochastic approximation)",
    "m = ⌊½log_2(2n/log_2 n)⌋ − 1 calls of Algorithm 3 on disjoint parts, each on W ∩ B(ŵ_{e−1}, R_{e−1}) with R_e = "
    "R_{e−1}/2; for θ >= 2.",
    kind="algorithm",
    section="4",
    about=("tsybakov/alg-3",),
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=n ** (p + 1) * sp.log(n),
    grade="slip",
    remark="The second cap of the step lacks log(1/δ); the noisy outputs are not projected, so the centres may leave W "
    "(S13).",
)

_n, _R, _R_2k, _gradients = sequences("n R R_2k gradients")
CALLS_OF_4 = sp.floor(sp.log(2 * n / LOG_2, 2) / 2) - 1
_per_record = epsilon * _n[index] / sp.sqrt(d * LOG * sp.log(_n[index]))


def corrected_step(diameter: sp.Expr) -> sp.Expr:
    """The step of `alg-3@corrected` on the records of a call, on a domain of that diameter."""
    caps = (
        1 / L,
        _per_record ** ((k - 1) / k) / (_R_2k[index] * _n[index] ** (p / 2)),
        1 / (_R_2k[index] * _n[index] ** ((p - 1) / 2)),
    )
    return sp.Min(diameter / _n[index] ** (p / 2) * sp.Min(*caps), 4 / H)


alg_4_calls = alg_4.as_read(
    "tsybakov/alg-4@calls",
    "Algorithm 4, number of calls",
    "m = ⌊½log_2(2n/log_2 n)⌋ − 1.",
    measures="",
    quantity="number of calls",
    relation="=",
    explicit=CALLS_OF_4,
    about=("tsybakov/alg-4",),
)

alg_4_records = alg_4_calls.as_read(
    "tsybakov/alg-4@records",
    "Algorithm 4, parts",
    "n_0 = ⌊n/m⌋, rounded down to a power of two, which Algorithm 3 asks for.",
    quantity="records of a call",
    explicit=2 ** sp.floor(sp.log(n / CALLS_OF_4, 2)),
)

alg_4_radius = alg_4_calls.as_read(
    "tsybakov/alg-4@radius",
    "Algorithms 4, 5 and 7, radii",
    "R_e = R_{e−1}/2; call e takes R_{e−1} = 2^{1−e}R_0, R_0 the diameter of W where nothing better is known.",
    quantity="radius that call e takes",
    explicit=2 ** (1 - index) * D,
    about=("tsybakov/alg-4", "tsybakov/alg-5", "tsybakov/alg-7"),
)

alg_4_gamma = alg_4_calls.as_read(
    "tsybakov/alg-4@gamma",
    "Algorithms 4 and 5, steps of the calls",
    "γ_e = (R_{e−1}/n_0^{p/2})·min{1/L_f, (1/(R̃_{2k,n}n_0^{(p+1)/2}))(εn_0/√(d log n))^{(k−1)/k}, "
    "1/(n_0^{(p−1)/2}L_f²√(log n_0 log(1/β)))}, without log(1/δ); in Algorithm 5 with n_t for n_0.",
    quantity="step η that call e takes",
    explicit=_R[index]
    / _n[index] ** (p / 2)
    * sp.Min(
        1 / L,
        1 / (R_2k * _n[index] ** ((p + 1) / 2)) * (epsilon * _n[index] / sp.sqrt(d * sp.log(n))) ** ((k - 1) / k),
        1 / (_n[index] ** ((p - 1) / 2) * L**2 * sp.sqrt(sp.log(_n[index]) * sp.log(1 / beta))),
    ),
    about=("tsybakov/alg-4", "tsybakov/alg-5"),
)

alg_4_corrected_gamma = alg_4_gamma.as_read(
    "tsybakov/alg-4@corrected-gamma",
    "Corrected Algorithm 4, steps of the calls",
    "The step of `alg-3@corrected` at n_0 records and the diameter 2R_{e−1} of the ball.",
    origin="ours",
    explicit=corrected_step(2 * _R[index]),
    about=("tsybakov/alg-4",),
)

alg_4_eta = alg_4_gamma.as_read(
    "tsybakov/alg-4@eta",
    "Algorithms 4 and 5, step sizes inside a call",
    "η_i = 4^{−i}γ in phase i of a call whose step is γ.",
    quantity="step size of phase i of a call",
    explicit=4**-index * gamma,
)

alg_4_gradients = alg_4_radius.as_read(
    "tsybakov/alg-4@gradients",
    "Algorithms 4, 5 and 7, gradients",
    "Those of the calls together.",
    measures="gradients",
    quantity="gradients",
    explicit=sp.Sum(_gradients[index], (index, 1, last)),
)

alg_4_corrected = alg_4.as_read(
    "tsybakov/alg-4@corrected",
    "Algorithm 4 with projected outputs",
    "The same around `alg-3@corrected` with D = 2R_{e−1}, log(1/δ) in the second cap, and n_0 a power of two.",
    origin="ours",
)


def _part(exponent: sp.Expr) -> sp.Expr:
    """n_i = 2^{i−1}n/(log_2 n)^E before it is rounded."""
    return 2 ** (index - 1) * n / LOG_2**exponent


alg_5 = claim(
    "tsybakov/alg-5",
    "Algorithm 5 (iterated LNC-GM)",
    "⌊log_θ̄ 2 · log log n⌋ calls of Algorithm 3 on disjoint parts of doubling size 2^{i−1}n/(log n)^E.",
    kind="algorithm",
    section="4",
    about=("tsybakov/alg-3",),
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=n ** (p + 1) * sp.log(n),
    grade="slip",
    remark="The printed exponent E does not match the proof's log_θ̄ 2, and may ask for more than n records (S12).",
)

alg_5_literal = alg_5.as_read(
    "tsybakov/alg-5@literal",
    "Algorithm 5 with the printed exponent",
    "The parts of size 2^{i−1}n/(log_2 n)^{(log_θ̄ 2)²} have at most n records together.",
    quantity="records",
    explicit=n,
    grade="slip",
    remark="With base-2 logarithms θ̄ = 4 and n = 2^16 take 1.5n.",
    assumptions=(sp.Gt(theta_bar, 1),),
    measures="",
)

alg_5_corrected = alg_5_literal.as_read(
    "tsybakov/alg-5@corrected",
    "Algorithm 5 with the exponent of its proof",
    "With E = log_θ̄ 2 the parts have at most n records together, and the last one at least n/4 − 1.",
    origin="ours",
    assumptions=(),
)

alg_5_calls = alg_5.as_read(
    "tsybakov/alg-5@calls",
    "Algorithms 5 and 7, number of calls",
    "⌊log_θ̄ 2 · log_2 log_2 n⌋, our reading of the logarithms of log log n.",
    measures="",
    quantity="number of calls",
    relation="=",
    explicit=sp.floor(sp.log(2) / sp.log(theta_bar) * sp.log(LOG_2, 2)),
    about=("tsybakov/alg-5", "tsybakov/alg-7"),
)

alg_5_records = alg_5_calls.as_read(
    "tsybakov/alg-5@records",
    "Algorithm 5, parts",
    "n_i = ⌊2^{i−1}n/(log_2 n)^E⌋ with the printed E = (log_θ̄ 2)², rounded down to a power of two.",
    quantity="records of call i",
    explicit=2 ** sp.floor(sp.log(_part((sp.log(2) / sp.log(theta_bar)) ** 2), 2)),
    about=("tsybakov/alg-5",),
)

alg_5_corrected_records = alg_5_records.as_read(
    "tsybakov/alg-5@corrected-records",
    "Corrected Algorithm 5, parts",
    "The same with E = log_θ̄ 2 of the proof.",
    origin="ours",
    explicit=2 ** sp.floor(sp.log(_part(sp.log(2) / sp.log(theta_bar)), 2)),
)

alg_5_corrected_gamma = alg_5_records.as_read(
    "tsybakov/alg-5@corrected-gamma",
    "Corrected Algorithm 5, steps of the calls",
    "The step of `alg-3@corrected` at the records of the call and the diameter R_{t−1}.",
    origin="ours",
    quantity="step η that call t takes",
    explicit=corrected_step(_R[index]),
)
