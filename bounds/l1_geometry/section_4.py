"""Section 4: Frank-Wolfe on trees, Algorithm 3. T is the number of phases, b the batch of a root."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, H, L, T, b, delta, epsilon, index, n, t

from ._paper import H_M, LAMBDA_7, LAMBDA_KAPPA, LOG, LOG2_M, LOG2_N, LOG_ND, Delta, claim, kappa, lam

alg_3 = claim(
    "l1_geometry/alg-3",
    "Algorithm 3 (private variance-reduced Frank–Wolfe)",
    "Phase t walks a binary tree of depth t: the root averages b fresh gradients, a right child at depth j adds the "
    "mean of 2^{-j}b fresh gradient differences, a leaf moves by η = 2/(2^{t−1} + ℓ(s) + 1) towards the vertex with "
    "the least ⟨c_i, v⟩ + Lap(λ_{t,s}).",
    kind="algorithm",
    section="4",
    quantity="records read",
    relation="=",
    explicit=b * (T + T * (T + 1) / 4),
    remark="Steps of consecutive phases overlap in index (S6): consecutive ones have η = 2/(2^t + ℓ(s)). 'T = "
    "1, b = n' "
    "reads 1.5n records (S8).",
)


alg_3_corrected = alg_3.as_read(
    "l1_geometry/alg-3@corrected",
    "Algorithm 3 with noise for differences of gradients",
    "With λ_{t,s} = 4LD2^t/(bε), twice that of Theorem 6, Algorithm 3 is ε-DP for every allocation of its records.",
    origin="ours",
    quantity="ε that is spent",
    relation="<=",
    explicit=epsilon,
    assumptions=(sp.Le(2**T, b),),
)


alg_3_derived = alg_3.as_read(
    "l1_geometry/alg-3@derived",
    "Gradients of Algorithm 3",
    "A right child evaluates two gradients a record: bT(T+3)/2 in all.",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    explicit=b * T * (T + 3) / 2,
)

ARGUMENT = n / LOG2_N**2 * epsilon * H * D / (L * LOG2_M)
"""bεβD/(L log m) of Theorem 6, at its b = n/log²n."""
CAPPED = sp.Min(
    epsilon, (L * LOG_ND * LOG2_M) ** sp.Rational(1, 4) * sp.sqrt(LOG2_N) / (n * H * D) ** sp.Rational(1, 4)
)
"""The ε in force under Theorem 7."""
SHUFFLED = ARGUMENT.subs(epsilon, CAPPED) / LOG_ND
"""The same of Theorem 7."""


def whole(records: sp.Expr) -> sp.Expr:
    """A batch that 2^T divides."""
    return 2**T * sp.floor(records / 2**T)


def printed_batch(argument: sp.Expr) -> sp.Expr:
    """n/log²n, or what T = 1 and one reading of every record leave, where the logarithm would not be positive."""
    return whole(sp.Piecewise((n / LOG2_N**2, argument > 1), (2 * n / 3, True)))


alg_3_depth = alg_3.as_read(
    "l1_geometry/alg-3@depth",
    "Algorithm 3, T of Theorem 6",
    "T = ½ log₂(bεβD/(L log m)) at b = n/log²n, in whole phases and at least 1.",
    quantity="phases",
    explicit=sp.Max(1, sp.floor(sp.log(ARGUMENT, 2) / 2)),
    about=("l1_geometry/alg-3",),
)
alg_3_approximate_depth = alg_3.as_read(
    "l1_geometry/alg-3@approximate-depth",
    "Algorithm 3, T of Theorem 7",
    "T = ⅔ log₂(bεβD/(L log(n/δ) log m)) at b = n/log²n and ε capped, in whole phases and at least 1.",
    quantity="phases",
    explicit=sp.Max(1, sp.floor(2 * sp.log(SHUFFLED, 2) / 3)),
    about=("l1_geometry/alg-3",),
)
alg_3_batch = alg_3.as_read(
    "l1_geometry/alg-3@batch",
    "Algorithm 3, b of Theorem 6",
    "b = n/log²n, and where β is too small for that, T = 1 with b = 2n/3, which reads n records; a multiple of 2^T.",
    quantity="batch of a root",
    explicit=printed_batch(ARGUMENT),
    about=("l1_geometry/alg-3",),
)
alg_3_approximate_batch = alg_3.as_read(
    "l1_geometry/alg-3@approximate-batch",
    "Algorithm 3, b of Theorem 7",
    "b = n/log²n, a multiple of 2^T. Of a β below its window Theorem 7 says nothing; there T = 1 with b = 2n/3, as "
    "Theorem 6 has it, and no privacy is promised.",
    quantity="batch of a root",
    explicit=printed_batch(SHUFFLED),
    about=("l1_geometry/alg-3",),
)
alg_3_corrected_batch = alg_3.as_read(
    "l1_geometry/alg-3@corrected-batch",
    "Algorithm 3, batch that uses every record",
    "b = n/(T + T(T+1)/4), a multiple of 2^T.",
    origin="ours",
    quantity="batch of a root",
    explicit=whole(n / (alg_3.explicit / b)),
    about=("l1_geometry/alg-3",),
)
alg_3_records = alg_3.as_read(
    "l1_geometry/alg-3@records",
    "Algorithm 3, records of a phase",
    "Phase t reads b(1 + t/2) records.",
    quantity="records of phase t",
    explicit=b * (1 + index / 2),
    about=("l1_geometry/alg-3",),
)
alg_3_noise = alg_3.as_read(
    "l1_geometry/alg-3@noise",
    "Algorithm 3, λ of Theorem 6",
    "λ_{t,s} = 2LD2^t/(bε).",
    quantity="scale of the noise in phase t",
    explicit=2 * L * D * 2**index / (b * epsilon),
    about=("l1_geometry/alg-3",),
)
alg_3_corrected_noise = alg_3.as_read(
    "l1_geometry/alg-3@corrected-noise",
    "Algorithm 3, λ for differences of gradients",
    "λ_{t,s} = 4LD2^t/(bε).",
    origin="ours",
    quantity="scale of the noise in phase t",
    explicit=2 * alg_3_noise.explicit,
    about=("l1_geometry/alg-3",),
)
alg_3_approximate_noise = alg_3.as_read(
    "l1_geometry/alg-3@approximate-noise",
    "Algorithm 3, λ of Theorem 7",
    "λ_{t,s} = LD2^{T/2} log(n/δ)/(bε), ε capped.",
    quantity="scale of the noise in phase t",
    explicit=LAMBDA_7.subs(epsilon, CAPPED),
    about=("l1_geometry/alg-3",),
)
BEST_DEPTH = 3 * n / LOG2_N**2 * epsilon * H * D / (10 * L * sp.sqrt(kappa * LOG) * H_M)
"""2^{3T/2} at which curvature costs twice what the selections cost."""
alg_3_concentrated_depth = alg_3.as_read(
    "l1_geometry/alg-3@concentrated-depth",
    "Algorithm 3, T without shuffling",
    "2^T is the power of two next to (3bεβD/(10L√(κ log(1/δ))(1 + log m)))^{2/3} at b = n/log₂²n, T at least 1.",
    origin="ours",
    quantity="phases",
    explicit=sp.Max(1, sp.floor(2 * sp.log(BEST_DEPTH, 2) / 3 + sp.Rational(1, 2))),
    about=("l1_geometry/alg-3",),
)
alg_3_concentrated_batch = alg_3.as_read(
    "l1_geometry/alg-3@concentrated-batch",
    "Algorithm 3, b without shuffling",
    "b = n/log₂²n, and where β is too small for that, T = 1 with b = 2n/3; a multiple of 2^T.",
    origin="ours",
    quantity="batch of a root",
    explicit=printed_batch(BEST_DEPTH),
    about=("l1_geometry/alg-3",),
)
alg_3_concentrated_noise = alg_3.as_read(
    "l1_geometry/alg-3@concentrated-noise",
    "Algorithm 3, λ without shuffling",
    "λ_{t,s} = 8LD√(κ2^T log(1/δ))/(bε), κ = max(1/4, βD/L).",
    origin="ours",
    quantity="scale of the noise in phase t",
    explicit=LAMBDA_KAPPA,
    about=("l1_geometry/alg-3",),
)
alg_3_offset = alg_3.as_read(
    "l1_geometry/alg-3@offset",
    "Algorithm 3, line 15: step",
    "η_{t,s} = 2/(2^{t−1} + ℓ(s) + 1).",
    quantity="2/η of the first leaf of phase t, less 1",
    explicit=2 ** (index - 1),
    about=("l1_geometry/alg-3",),
)
alg_3_corrected_offset = alg_3.as_read(
    "l1_geometry/alg-3@corrected-offset",
    "Algorithm 3, steps numbered on from phase to phase",
    "η_{t,s} = 2/(2^t + ℓ(s)).",
    origin="ours",
    quantity="2/η of the first leaf of phase t, less 1",
    explicit=2**index - 1,
    about=("l1_geometry/alg-3",),
)


j = sp.Symbol("j", integer=True, positive=True)


@derivation("l1_geometry/alg-3", also=("l1_geometry/alg-3@records", "l1_geometry/alg-3@derived"))
def records_and_gradients(proof: Proof) -> None:
    """At depth j there are 2^{j−1} right children with 2^{−j}b records each, and two gradients a record."""
    right = proof.equal("a depth", lambda: 2 ** (j - 1) * (b / 2**j), b / 2)
    phase = proof.equal("a phase", lambda: b + sp.Sum(right, (j, 1, index)), b * (1 + index / 2))
    proof.concludes("l1_geometry/alg-3@records", phase)
    proof.concludes(
        "l1_geometry/alg-3",
        proof.equal("all phases", lambda: sp.Sum(phase, (index, 1, T)), b * (T + T * (T + 1) / 4)),
    )
    spent = sp.Sum(b + 2 * (phase - b), (index, 1, T))
    proof.concludes("l1_geometry/alg-3@derived", proof.equal("gradients", lambda: spent, b * T * (T + 3) / 2))


@derivation("l1_geometry/alg-3@corrected", also=("l1_geometry/lem-4-1@corrected", "l1_geometry/lem-4-4@derived"))
def loss_of_a_record(proof: Proof) -> None:
    """A right child's record at depth j moves v by two gradients over 2^{−j}b records, at 2^{t−j} leaves."""
    depth = sp.Symbol("depth", positive=True)
    moved = proof.argues("two gradients of sup-norm ≤ L change", "‖v − v'‖_∞", "<=", 4 * L * 2**depth / b)
    leaf = proof.uses("l1_geometry/proc-report-noisy-max", D * moved / lam, {Delta: moved})
    proof.assumes("l1_geometry/alg-3@corrected", 2**T, b)
    below = proof.uses(
        "l1_geometry/lem-2-1", 2 ** (t - depth) * leaf, {sp.Symbol("k", positive=True): 2 ** (t - depth), epsilon: leaf}
    )
    loss = proof.equal("at every depth", below, 4 * L * D * 2**t / (b * lam))
    proof.at_most("the root's records move v by one gradient", lambda: 2**t * D * (2 * L / b) / lam, loss)
    noise = proof.uses("l1_geometry/alg-3@corrected-noise", 4 * L * D * 2**t / (b * epsilon), {index: t})
    spent = proof.equal("at the noise of phase t", lambda: loss.subs(lam, noise), epsilon)
    proof.concludes("l1_geometry/alg-3@corrected", spent)
    proof.concludes("l1_geometry/lem-4-1@corrected", spent)
    proof.concludes(
        "l1_geometry/lem-4-4@derived",
        proof.equal(
            "at that of Theorem 7, t = T",
            lambda: loss.subs({lam: LAMBDA_7, t: T}),
            4 * 2 ** (T / 2) * epsilon / sp.log(n / delta),
        ),
    )
