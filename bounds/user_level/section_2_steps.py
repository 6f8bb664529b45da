"""Section 2: what the linear-time algorithm is made of: SGD, concentration scores, removal of outliers."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import C, H, L, T, d, eta, zeta

from ._paper import K, claim, h, r

sgd = claim(
    "user_level/proc-sgd",
    "SGD(D, η, T, x_0) (Algorithm 1, line 8)",
    "One pass of projected SGD over the T = Nm samples in random order; returns the average iterate.",
    kind="procedure",
    section="2",
    quantity="gradients",
    measures="gradients",
    relation="=",
    explicit=T,
    remark="Which average is left open; that of x_0, …, x_{T−1} has the regret bound of Lemma B.3.",
)

score = claim(
    "user_level/proc-concentration-score",
    "Concentration score (Algorithms 1 and 2)",
    "s(ρ) = (1/C) Σ_{j,j'} 1(‖u_j − u_j'‖ <= ρ) lies in [1, C] and h_j counts the points within the radius of u_j; "
    "replacing one point changes s by at most 2.",
    kind="procedure",
    section="2-3",
    origin="cited",
    quantity="sensitivity",
    relation="<=",
    explicit=sp.Integer(2),
)
score_derived = score.as_read(
    "user_level/proc-concentration-score@derived",
    "Exact sensitivity of the score",
    "Replacing r of K points changes s by at most 2r(K − r)/K for r <= K/2, attained when r equal outliers join K − r "
    "equal points: 2(C − 1)/C for one point of C.",
    origin="ours",
    quantity="sensitivity to r of K points",
    explicit=2 * r * (K - r) / K,
    assumptions=(sp.Le(r, K / 2),),
    remark="The r changed points must stay equal among themselves, as copies of one user are.",
)

removal = claim(
    "user_level/proc-outlier-removal",
    "Outlier removal (Algorithms 1 and 2)",
    "Point j is kept with probability clip(6h_j/C − 3, 0, 1), independently; the mean of the kept points is returned.",
    kind="procedure",
    section="2-3",
    origin="cited",
    quantity="probability of keeping",
    relation="=",
    explicit=sp.Max(0, sp.Min(1, 6 * h / C - 3)),
    remark="An empty set is not provided for: a fixed point is returned here.",
)
removal_derived = removal.as_read(
    "user_level/proc-outlier-removal@derived",
    "Change of a keeping probability",
    "Replacing one point changes h_j of every other point by at most 1 and its probability by at most 6/C.",
    origin="ours",
    quantity="change of p_j",
    relation="<=",
    explicit=6 / C,
)

lem_2_3 = claim(
    "user_level/lem-2-3",
    "Lemma 2.3",
    "For convex, L-Lipschitz, β-smooth losses and η <= 1/β, SGD on two independent samples from one law and one start "
    "ends within ηL√(T log(dT/ζ)) with probability 1 − ζ.",
    kind="lemma",
    section="2",
    quantity="distance of the averages",
    relation="<=",
    order=eta * L * sp.sqrt(T * sp.log(d * T / zeta)),
    assumptions=(sp.Le(eta * H, 1),),
    about=("user_level/proc-sgd",),
    probability=1 - zeta,
    remark="Neither d nor T is needed inside the logarithm.",
)

DRIFT = 4 + 8 * sp.sqrt(2 * sp.log(1 / zeta))
lem_2_3_derived = lem_2_3.as_read(
    "user_level/lem-2-3@derived",
    "Lemma 2.3 without dimension",
    "With probability 1 − ζ all iterates of the two runs stay within ηL√T(4 + 8√(2 log(1/ζ))).",
    origin="ours",
    quantity="largest distance of the iterates",
    explicit=eta * L * sp.sqrt(T) * DRIFT,
    assumptions=(sp.Le(eta * H, 2),),
)
lem_2_3_linear = lem_2_3.as_read(
    "user_level/lem-2-3@linear",
    "Lemma 2.3 for linear losses, exactly",
    "Without projection, E‖x̃ − ỹ‖² = 2η²v(T − 1)(2T − 1)/(6T), v = E‖z − Ez‖² <= L²: the √T is necessary.",
    origin="ours",
    quantity="mean squared distance, at v = L²",
    relation="=",
    explicit=eta**2 * L**2 * (T - 1) * (2 * T - 1) / (3 * T),
    assumptions=(),
    probability=None,
)


@derivation("user_level/lem-2-3@linear")
def independent_runs(proof: Proof) -> None:
    """Linear losses without projection show that √T is needed; the upper bound is a martingale argument in words."""
    j, steps = sp.Symbol("j", integer=True, positive=True), sp.Symbol("T", integer=True, positive=True)
    series = sp.Sum((j / steps) ** 2, (j, 1, steps - 1))
    proof.equal("step j weighs j/T in the average", series, (steps - 1) * (2 * steps - 1) / (6 * steps))
    proof.argues("two independent runs: twice the variance of one, steps of ηL that add up", "", "=", 2 * eta**2 * L**2)
    proof.concludes("user_level/lem-2-3@linear", 2 * eta**2 * L**2 * (T - 1) * (2 * T - 1) / (6 * T))
