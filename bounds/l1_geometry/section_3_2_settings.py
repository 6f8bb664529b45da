"""Section 3.2: Algorithm 2, and what its lines set in every phase."""

from __future__ import annotations

import sympy as sp

from dpcheck.symbols import D, L, b, d, epsilon, index, lambda_, last, n, p

from ._paper import (
    LOG,
    LOG2_D,
    T_at,
    b_at,
    claim,
    epsilon_at,
    eta_at,
    lambda_at,
    n_at,
)
from .section_3_1 import alg_1, alg_1_sensitivity, alg_1_weighted_eta

alg_2 = claim(
    "l1_geometry/alg-2",
    "Algorithm 2 (localised noisy mirror descent)",
    "Phases i ≤ ⌈log n⌉ with ε_i = 2^{-i}ε, n_i = 2^{-i}n, η_i = 2^{-4i}η, b_i = max(√(n_i/log d), √(d/ε_i)), T_i = "
    "n_i²/b_i²: Algorithm 1 on F_i(x) = mean f + ‖x − x_{i−1}‖_p²/(η_in_i(p−1)) over {‖x − x_{i−1}‖_p ≤ "
    "2Lη_in_i(p−1)}, p = 1 + 1/log d, h_i = ‖x − x_{i−1}‖_p²/(p−1).",
    kind="algorithm",
    section="3.2",
    quantity="radius of phase i",
    relation="=",
    explicit=2 * L * eta_at[index] * n_at[index] * (p - 1),
    grade="slip",
    remark="Later phases have T_i < 1 step (S2), every sum runs over the records 1..n_i (S4), start and output branch "
    "are left open.",
)

j = sp.Symbol("j", integer=True, positive=True)


def running(batch: sp.Expr) -> sp.Expr:
    """How many of the first l + 1 phases make at least two steps: l, where the phase after the last one would not."""
    records = alg_2_records.explicit
    twice = sp.Ge(records**2, 2 * batch.subs(n_at[index], records) ** 2)
    return sp.Sum(sp.Piecewise((1, twice), (0, True)).subs(index, j), (j, 1, last + 1))


alg_2_epsilon = alg_2.as_read(
    "l1_geometry/alg-2@epsilon",
    "Algorithm 2, line 3: budget of a phase",
    "ε_i = 2^{-i}ε.",
    quantity="ε of phase i",
    explicit=epsilon / 2**index,
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)
alg_2_records = alg_2.as_read(
    "l1_geometry/alg-2@records",
    "Algorithm 2, line 3: records of a phase",
    "n_i = 2^{-i}n, in whole records.",
    quantity="records of phase i",
    explicit=sp.floor(n / 2**index),
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)
alg_2_eta = alg_2.as_read(
    "l1_geometry/alg-2@eta",
    "Algorithm 2, line 3, with the η of Theorem 4",
    "η_i = 2^{-4i}η with η = (D/L) min{√(log d/n), ε/√(d log d log(1/δ))}.",
    quantity="η of phase i",
    explicit=D / L * sp.Min(sp.sqrt(sp.log(d) / n), epsilon / sp.sqrt(d * sp.log(d) * LOG)) / 2 ** (4 * index),
    assumptions=(sp.Ge(d, 3),),
    about=("l1_geometry/alg-2",),
)
alg_2_batch = alg_2.as_read(
    "l1_geometry/alg-2@batch",
    "Algorithm 2, line 4: batch",
    "b_i = max(√(n_i/log d), √(d/ε_i)), rounded up, and no more than the records of the phase.",
    quantity="batch of phase i",
    explicit=sp.Min(n_at[index], sp.ceiling(sp.sqrt(sp.Max(n / LOG2_D, 4**index * d / epsilon) / 2**index))),
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)
alg_2_corrected_batch = alg_2.as_read(
    "l1_geometry/alg-2@corrected-batch",
    "Algorithm 2, batch for the stated gradients",
    "b_i = max(√(n_i/log d), √d/ε_i), rounded up, and no more than the records of the phase.",
    origin="ours",
    quantity="batch of phase i",
    explicit=sp.Min(n_at[index], sp.ceiling(sp.Max(sp.sqrt(n / LOG2_D / 2**index), 2**index * sp.sqrt(d) / epsilon))),
    about=("l1_geometry/alg-2",),
)
alg_2_phases = alg_2.as_read(
    "l1_geometry/alg-2@phases",
    "Algorithm 2, phases that run",
    "Every phase makes at least two steps, and the one after the last would not.",
    origin="ours",
    quantity="phases",
    explicit=running(alg_2_batch.explicit),
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)
alg_2_corrected_phases = alg_2_phases.as_read(
    "l1_geometry/alg-2@corrected-phases",
    "Algorithm 2, phases that run with the batch for the stated gradients",
    "Every phase makes at least two steps, and the one after the last would not.",
    explicit=running(alg_2_corrected_batch.explicit),
    about=("l1_geometry/alg-2",),
)
alg_2_steps = alg_2.as_read(
    "l1_geometry/alg-2@steps",
    "Algorithm 2, line 4: number of steps",
    "T_i = n_i²/b_i², in whole steps.",
    quantity="steps of phase i",
    explicit=sp.floor(n_at[index] ** 2 / b_at[index] ** 2),
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)
alg_2_sigma = alg_2.as_read(
    "l1_geometry/alg-2@sigma",
    "Algorithm 2, line 4: noise",
    "The σ of Algorithm 1 at (ε_i, δ) and b_i.",
    quantity="standard deviation of the noise of phase i",
    explicit=alg_1.explicit.subs({b: b_at[index], epsilon: epsilon_at[index]}),
    about=("l1_geometry/alg-2",),
)
alg_2_sensitivity = alg_2.as_read(
    "l1_geometry/alg-2@sensitivity",
    "Algorithm 2, sensitivity of a batch",
    "That of Algorithm 1 at b_i: the regulariser reads no record.",
    quantity="sensitivity of the mean gradient of phase i",
    explicit=alg_1_sensitivity.explicit.subs(b, b_at[index]),
    about=("l1_geometry/alg-2",),
)
alg_2_scale = alg_2.as_read(
    "l1_geometry/alg-2@scale",
    "Algorithm 2, line 4: mirror map",
    "h_i = ‖x − x_{i−1}‖_p²/(p−1).",
    quantity="h_i over ‖x − x_{i−1}‖_p²/2",
    explicit=2 / (p - 1),
    about=("l1_geometry/alg-2",),
)
alg_2_lambda = alg_2.as_read(
    "l1_geometry/alg-2@lambda",
    "Algorithm 2, line 4: regulariser",
    "F_i = mean f + λ_ih_i with λ_i = 1/(η_in_i).",
    quantity="λ of phase i",
    explicit=1 / (eta_at[index] * n_at[index]),
    about=("l1_geometry/alg-2",),
)
alg_2_step = alg_2.as_read(
    "l1_geometry/alg-2@step",
    "Algorithm 2, steps of Lemma 3.2",
    "The k-th step of phase i is 2/(λ_i(k + 1)).",
    quantity="step of phase i, times k + 1",
    explicit=alg_1_weighted_eta.explicit.subs(lambda_, lambda_at[index]),
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)
alg_2_gradients = alg_2.as_read(
    "l1_geometry/alg-2@gradients",
    "Algorithm 2, gradients of the phases that run",
    "Σ T_ib_i gradients.",
    quantity="gradients",
    explicit=sp.Sum(T_at[j] * b_at[j], (j, 1, last)),
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)
