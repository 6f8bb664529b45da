"""Section 4: the examples, the clipped mean and clipped descent, Algorithms 1 and 2."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import C, H, T, d, eta, lambda_, n, sigma

from ._paper import ALL_STEPS, claim

ex_l4 = claim(
    "tsybakov/ex-l4",
    "Example, equation (2)",
    "l1-constrained l4 regression satisfies TNC with θ = 4; with truncated Gaussian features L_f is polynomial "
    "in n while the moments are bounded.",
    kind="proposition",
    section="4",
    remark="With label noise of variance s² the excess also contains 6s²‖Δ‖_2², so that (2, 6s²)-TNC holds as well.",
)

ex_l4_derived = ex_l4.as_read(
    "tsybakov/ex-l4@derived",
    "The l4 example with sign features",
    "With x uniform on signs and labels <w°, x> ± s, F − F* = 3‖Δ‖_2⁴ − 2‖Δ‖_4⁴ + 6s²‖Δ‖_2², Δ = w − w°; so F − F* >= "
    "‖Δ‖_2⁴.",
    origin="ours",
    quantity="TNC constant at θ = 4",
    relation=">=",
    explicit=sp.Integer(1),
)

ex_logistic = claim(
    "tsybakov/ex-logistic",
    "Example, equation (3)",
    "l2-regularised logistic regression on the unit ball satisfies TNC with θ = 2.",
    kind="proposition",
    section="4",
    quantity="TNC constant at θ = 2",
    relation=">=",
    explicit=lambda_ / 2,
)

alg_1 = claim(
    "tsybakov/alg-1",
    "Algorithm 1 (ClippedMean)",
    "The average of the records, each projected onto the ball of radius C.",
    kind="algorithm",
    section="4",
    origin="cited",
    quantity="sensitivity",
    relation="<=",
    explicit=2 * C / n,
)

alg_2 = claim(
    "tsybakov/alg-2",
    "Algorithm 2 (clipped regularised gradient method)",
    "T projected steps along the clipped mean gradient plus λ(w − w_0), with step η: deterministic.",
    kind="algorithm",
    section="4",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    explicit=n * T,
    remark="w_1 is never set and the printed loop makes T − 1 steps; Theorem 8 counts T from w_0.",
)

alg_2_derived = alg_2.as_read(
    "tsybakov/alg-2@derived",
    "Reach of Algorithm 2",
    "For 0 <= ηλ <= 1 and w_0 in W, ‖w_T − w_0‖ <= (1 − (1 − ηλ)^T)C/λ; two runs from one w_0 are at most twice that "
    "apart, whatever their data.",
    origin="ours",
    quantity="distance from the start",
    explicit=ALL_STEPS * C / lambda_,
    measures="",
)

proc_prox_exact = claim(
    "tsybakov/proc-prox-exact",
    "Exact regularised minimiser",
    "argmin over W_i of the batch mean of f plus (λ_i/2)‖w − w_{i−1}‖².",
    kind="procedure",
    section="4",
    about=("tsybakov/alg-2",),
)

proc_dykstra = claim(
    "tsybakov/proc-dykstra",
    "Projection on W ∩ B (Remark 3)",
    "Dykstra's alternating projections converge to the projection on the intersection of W with a ball.",
    kind="procedure",
    section="4",
    origin="cited",
)


@derivation(
    "tsybakov/alg-2@derived",
    also=(
        "tsybakov/rem-2@corrected", "tsybakov/thm-1@glm", "tsybakov/thm-1@trivial", "tsybakov/thm-1@derived",
        "tsybakov/alg-3@trivial-movement",
    ),
)  # fmt: skip
def sums_of_contracting_steps(proof: Proof) -> None:
    """A step keeps 1 − ηλ of a distance and adds η times a clipped mean, or what two of them differ by."""
    steps = ALL_STEPS / (eta * lambda_)
    proof.equal("S_0 = 0, where S_T is the geometric sum", lambda: steps.subs(T, 0), 0)
    proof.equal("S_{T+1} = (1 − ηλ)S_T + 1", lambda: (1 - eta * lambda_) * steps + 1, steps.subs(T, T + 1))
    reach = proof.argues("a clipped mean is no longer than C", "distance from the start", "<=", eta * C * steps)
    proof.concludes("tsybakov/alg-2@derived", reach)
    proof.argues("two runs from one start are at most twice as far apart, whatever their records")
    proof.concludes("tsybakov/thm-1@trivial", 2 * reach)
    proof.concludes("tsybakov/alg-3@trivial-movement", 2 * C / lambda_)
    moved = proof.uses("tsybakov/fact-sens", 2 * C / n)
    for label in ("tsybakov/thm-1@glm", "tsybakov/rem-2@corrected"):
        proof.assumes(label, eta * (H + 2 * lambda_), sp.Integer(2))
    proof.argues("such steps contract where clipped gradients are those of convex functions of curvature H at most")
    proof.concludes("tsybakov/thm-1@glm", eta * moved * steps)
    proof.concludes("tsybakov/rem-2@corrected", moved / lambda_)
    proof.assumes("tsybakov/thm-1@derived", eta * lambda_, sp.S.One)
    noise = proof.argues("(1 − ηλ)² <= 1 − ηλ, so a step adds η²dσ²", "E‖w_T − w‖²", "<=", eta**2 * d * sigma**2)
    proof.concludes("tsybakov/thm-1@derived", noise / (eta * lambda_))
