"""Section 3: one phase of the accelerated algorithm, on minibatches of users."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import L, T, d, delta, epsilon, m, n, tau

from ._paper import K, N, claim, setting

alg_2 = claim(
    "user_level/alg-2",
    "Algorithm 2 (user-level DP accelerated minibatch SGD)",
    "T_i steps on minibatches of K_i users: AboveThreshold on the concentration score of their gradients, outlier "
    "removal, Gaussian noise of deviation 1000τ√T_i log(nde^ε/δ)/(εn_i), and an accelerated step.",
    kind="algorithm",
    section="3",
    quantity="noise deviation, N users in the phase",
    relation="=",
    explicit=1000 * tau * sp.sqrt(T) * sp.log(n * d * sp.exp(epsilon) / delta) / (epsilon * N),
    about=("user_level/proc-ac-sa", "user_level/proc-concentration-score", "user_level/proc-outlier-removal"),
    grade="slip",
    remark="The noisy threshold is printed inside the loop, but drawn once by its index and its proof (S3); 'with "
    "replacement' contradicts the proof (S4); the last iterate is dropped (S30).",
)
alg_2_literal = alg_2.as_read(
    "user_level/alg-2@literal",
    "Algorithm 2 with a fresh threshold in every round",
    "With the noisy threshold drawn anew in each of the T rounds, the comparison bits together are (ε/2, 0)-private.",
    quantity="log-ratio of 'never halts'",
    relation="<=",
    explicit=epsilon / 2,
    grade="slip",
    remark="At ε = 1, T = 10, for scores at the threshold and 2 above it, the log-ratio is 0.80; it grows with T (S3).",
    about=(),
)
alg_2_replacement = alg_2.as_read(
    "user_level/alg-2@replacement",
    "Algorithm 2 with users drawn with replacement",
    "Replacing one user changes the score of a minibatch that is drawn with replacement by at most 2.",
    quantity="sensitivity of the score",
    relation="<=",
    explicit=sp.Integer(2),
    grade="slip",
    remark="A user drawn twice among 30 changes it by 56/15 (S4).",
    about=(),
)
alg_2_corrected = alg_2.as_read(
    "user_level/alg-2@corrected",
    "Algorithm 2 as its proof reads",
    "One threshold draw a phase and K_i distinct users a round: the bits of all rounds together are (ε/2, 0)-private.",
    origin="ours",
    quantity="ε of the bits",
    relation="<=",
    explicit=epsilon / 2,
    about=(),
)

alg_2_test = setting(
    alg_2,
    "user_level/alg-2@test",
    "scale of the noise on the threshold",
    "Lap(8/ε); a score has twice as much.",
    8 / epsilon,
)
alg_2_gradients = setting(alg_2, "user_level/alg-2@gradients", "gradients", "TKm.", T * K * m, measures="gradients")
lem_3_5 = claim(
    "user_level/lem-3-5",
    "Lemma 3.5",
    "For δ <= 1/(nm) and ε ≲ 1, given that no user is removed, E‖g_i^t − ∇F̃_i(x^t)‖² ≲ L² log(ndm)/(Km) along the "
    "private trajectory.",
    kind="lemma",
    section="3",
    quantity="variance of a minibatch gradient",
    relation="<=",
    order=L**2 * sp.log(n * d * m) / (K * m),
    about=("user_level/alg-2",),
)
lem_3_5_derived = lem_3_5.as_read(
    "user_level/lem-3-5@derived",
    "Lemma 3.5 at a point that does not depend on the data",
    "Exactly (1 − K/n_i)v/(Km) for K distinct users of n_i, and (1 − 1/n_i)v/(Km) with replacement, v = "
    "E‖∇f(x, z) − ∇F(x)‖² <= L².",
    origin="ours",
    quantity="variance of a minibatch gradient, without replacement, v = L²",
    relation="=",
    explicit=(1 - K / N) * L**2 / (K * m),
    assumptions=(sp.Le(K, N),),
    about=(),
)


@derivation("user_level/lem-3-5", also=("user_level/lem-3-5@derived",))
def minibatch_variance(proof: Proof) -> None:
    """K distinct users of N against all N: the covariance is that of the N, so the variances subtract."""
    proof.argues("the mean of K users has covariance v/(Nm) with that of all N", "covariance", "=", L**2 / (N * m))
    rest = proof.equal("v/(Km) − v/(Nm)", lambda: L**2 / (K * m) - L**2 / (N * m), L**2 * (1 - K / N) / (K * m))
    proof.assumes("user_level/lem-3-5@derived", K, N)
    proof.concludes("user_level/lem-3-5@derived", rest)
    logarithm = sp.Symbol("nu", positive=True)
    proof.concludes(
        "user_level/lem-3-5",
        L**2 / (K * m),
        where={sp.log(d * m * n): logarithm},
        regime=Regime(base=None, others="free", where=[logarithm >= 1]),
        looser=True,
    )
