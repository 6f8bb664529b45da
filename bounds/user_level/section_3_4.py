"""Sections 3 and 4: the accelerated algorithm, and its smoothed version for non-smooth losses."""

import sympy as sp

from dpcheck.symbols import D, H, L, T, d, delta, epsilon, m, mu, n, rho

from ._paper import (
    CONDITION_D,
    ENOUGH_USERS,
    GRADIENTS,
    GRADIENTS_TIGHT,
    LOG,
    OMITTED,
    OPTIMAL,
    SMOOTHED,
    SMOOTHED_DERIVED,
    K,
    N,
    claim,
)

SIGMA_OVER_TAU = 1000 * sp.sqrt(T) * sp.log(n * d * sp.exp(epsilon) / delta) / (epsilon * N)

alg_2 = claim(
    "user_level/alg-2",
    "Algorithm 2 (user-level DP accelerated minibatch SGD)",
    "T_i steps on minibatches of K_i users: AboveThreshold on the concentration score of their gradients, outlier "
    "removal, Gaussian noise of deviation 1000τ√T_i log(nde^ε/δ)/(εn_i), and an accelerated step.",
    kind="algorithm",
    section="3",
    quantity="noise deviation over τ, N users in the phase",
    relation="=",
    explicit=SIGMA_OVER_TAU,
    about=("user_level/proc-ac-sa", "user_level/proc-concentration-score", "user_level/proc-outlier-removal"),
    grade="slip",
    remark="The noisy threshold is printed inside the loop, but drawn once by its index and its proof (S3); 'with "
    "replacement' contradicts the proof (S4); the last iterate is dropped (S30).",
)
alg_2_literal = claim(
    "user_level/alg-2@literal",
    "Algorithm 2 with a fresh threshold in every round",
    "With the noisy threshold drawn anew in each of the T rounds, the comparison bits together are (ε/2, 0)-private.",
    kind="algorithm",
    section="3",
    quantity="log-ratio of 'never halts'",
    relation="<=",
    explicit=epsilon / 2,
    grade="slip",
    remark="At ε = 1, T = 10, for scores at the threshold and 2 above it, the log-ratio is 0.80; it grows with T (S3).",
)
alg_2_replacement = claim(
    "user_level/alg-2@replacement",
    "Algorithm 2 with users drawn with replacement",
    "Replacing one user changes the score of a minibatch that is drawn with replacement by at most 2.",
    kind="algorithm",
    section="3",
    quantity="sensitivity of the score",
    relation="<=",
    explicit=sp.Integer(2),
    grade="slip",
    remark="A user drawn twice among 30 changes it by 56/15 (S4).",
)
alg_2_corrected = claim(
    "user_level/alg-2@corrected",
    "Algorithm 2 as its proof reads",
    "One threshold draw a phase and K_i distinct users a round: the bits of all rounds together are (ε/2, 0)-private.",
    kind="algorithm",
    section="3",
    origin="ours",
    quantity="ε of the bits",
    relation="<=",
    explicit=epsilon / 2,
)
alg_3 = claim(
    "user_level/alg-3",
    "Algorithm 3 (accelerated phased ERM with outlier-gradient removal)",
    "⌊log_2 n⌋ phases of Algorithm 2 on fresh users, the loss regularised towards the previous output with weight "
    "λ_i = λ2^{pi}.",
    kind="algorithm",
    section="3",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=GRADIENTS,
    about=("user_level/alg-2",),
    remark="K_i exceeds n_i with the printed constants at every practical size (569 times at n = 10^6); it is capped"
    " at n_i here (S5), so that every phase takes T_i passes over its users. T_i, with constant 1, is too "
    "short for one stage of the accelerated method (5.66√(β/λ) steps and those of its noise) below n = 2^30 "
    "or so: nothing but LR is proved of the risk there.",
)

thm_3_1 = claim(
    "user_level/thm-3-1",
    "Theorem 3.1",
    "For ε <= 10 and n^{1−q} > 100 log(20nmde^ε/δ)/(ε(1 − 2^{−q})), Algorithm 3 is (ε, δ)-user-level private.",
    kind="theorem",
    section="3",
    quantity="users of the last phase",
    relation=">=",
    explicit=100 * CONDITION_D / epsilon,
    assumptions=(ENOUGH_USERS, sp.Le(epsilon, 10)),
    about=("user_level/alg-3",),
    grade="proof gap",
    remark="Certified here for full batches only (K_i = n_i, S5). Where phases are sampled, as the gradient count of"
    " Theorem 3.2 wants it, nothing is: amplification is applied given the score bits, which depend on the "
    "sample (S28), and the account says ε = 3.6·10^8 at n = 10^8, β = 10^{12}. The noise has one logarithm "
    "where the argument needs two as δ → 0 (S8). No violation is known.",
)
thm_3_2 = claim(
    "user_level/thm-3-2",
    "Theorem 3.2",
    "For ε <= 10 and δ < 1/(mn), Algorithm 3 has the optimal risk LR·Õ(1/√(nm) + √(d log(1/δ))/(εn√m)), from "
    "mn(1 + ε(βR/L)^{1/4}((mn)^{1/8} ∧ (ε²n²m/d)^{1/8})) + √(βR/L)(n^{1/4}m^{5/4}/ε + n^{1/2}m^{5/4}/(d^{1/4}√ε)) "
    "gradients.",
    kind="theorem",
    section="3",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=OPTIMAL,
    assumptions=(sp.Le(epsilon, 10), sp.Lt(delta * m * n, 1)),
    about=("user_level/alg-3",),
    remark="Formal version: Theorem C.3.",
)
thm_3_2_gradients = claim(
    "user_level/thm-3-2@gradients",
    "Gradient complexity of Theorem 3.2",
    "mn(1 + ε(βR/L)^{1/4}((mn)^{1/8} ∧ (ε²n²m/d)^{1/8})) + √(βR/L)(n^{1/4}m^{5/4}/ε + n^{1/2}m^{5/4}/(d^{1/4}√ε)) "
    "gradients, up to logarithms.",
    kind="theorem",
    section="3",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=GRADIENTS,
    about=("user_level/alg-3",),
)
thm_3_2_derived = claim(
    "user_level/thm-3-2@derived",
    "Gradient complexity, both parts of λ",
    "The last bracket may be a minimum instead of a sum: λ is at least each of its two parts.",
    kind="theorem",
    section="3",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=GRADIENTS_TIGHT,
    about=("user_level/alg-3",),
)
claim_3_3 = claim(
    "user_level/claim-3-3",
    "Remark 3.3",
    "The gradient complexity of Theorem 3.2 is below those of all near-optimal algorithms before it, on the ranges "
    "where these are legal: BS23 needs m < n and β < √(n/m).",
    kind="proposition",
    section="3",
    quantity="gradients, n = d, ε = 1, L = R = 1",
    relation="<=",
    order=sp.Min(m * n ** sp.Rational(3, 2), H * (n * m) ** sp.Rational(3, 2)),
    about=("user_level/alg-3",),
    remark="Up to the floor nm: for β below 1/√(nm) AL24's formula β(nm)^{3/2} is below nm, which no algorithm "
    "that reads its data is.",
)
claim_3_4 = claim(
    "user_level/claim-3-4",
    "Remark 3.4",
    "Theorems 3.1 and 3.2 bound neither β nor, but for logarithms, the number of users from below.",
    kind="proposition",
    section="3",
    quantity="users needed for a last phase, at q = log_2(1 + 1/log_2 n)",
    relation="<=",
    order=sp.log(n) * CONDITION_D / epsilon,
    about=("user_level/alg-3",),
)
claim_3_4_derived = claim(
    "user_level/claim-3-4@derived",
    "How many users suffice",
    "q = log_2(1 + 1/log_2 n) is the best exponent, and (1 − 2^{−q})n^{−q} >= 1/(e(1 + log_2 n)) there: "
    "n > 100e(1 + log_2 n) log(20nmde^ε/δ)/ε suffices.",
    kind="proposition",
    section="3",
    origin="ours",
    quantity="n^{1−q}(1 − 2^{−q})",
    relation=">=",
    explicit=n / (sp.E * (1 + sp.log(n, 2))),
)
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
lem_3_5_derived = claim(
    "user_level/lem-3-5@derived",
    "Lemma 3.5 at a point that does not depend on the data",
    "Exactly (1 − K/n_i)v/(Km) for K distinct users of n_i, and (1 − 1/n_i)v/(Km) with replacement, v = "
    "E‖∇f(x, z) − ∇F(x)‖² <= L².",
    kind="lemma",
    section="3",
    origin="ours",
    quantity="variance of a minibatch gradient, without replacement, v = L²",
    relation="=",
    explicit=(1 - K / N) * L**2 / (K * m),
    assumptions=(sp.Le(K, N),),
)
claim_3_6 = claim(
    "user_level/claim-3-6",
    "Remark 3.6",
    "For μ-strongly convex losses a restart scheme around Algorithm 3 has risk Õ((L²/μ)(1/(nm) + d log(1/δ)/(ε²n²m))).",
    kind="proposition",
    section="3",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=L**2 / mu * (1 / (n * m) + d * LOG / (epsilon**2 * n**2 * m)),
    about=("user_level/proc-strongly-convex-meta",),
)
strongly_convex_meta = claim(
    "user_level/proc-strongly-convex-meta",
    "Restart scheme (Remark 3.6)",
    "⌈log_2 log_2 n⌉ rounds on fresh users, doubling in number, each from the last output: squared distances obey "
    "D_i² <= (2L/μ)ρ_iD_{i−1}.",
    kind="procedure",
    section="3",
    origin="cited",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=L**2 / mu * (1 / (n * m) + d * LOG / (epsilon**2 * n**2 * m)),
    about=("user_level/alg-3",),
    remark="Reconstructed: the paper only cites it.",
)
strongly_convex_meta_derived = claim(
    "user_level/proc-strongly-convex-meta@derived",
    "The recursion of the restart scheme",
    "If a round has risk LρD_{i−1} from distance D_{i−1}, then D_i² <= (2L/μ)ρD_{i−1}; its fixed point is 2Lρ/μ, and "
    "the risk there 2L²ρ²/μ.",
    kind="procedure",
    section="3",
    origin="ours",
    quantity="excess risk at the fixed point",
    relation="=",
    explicit=2 * L**2 * rho**2 / mu,
)

thm_4_1 = claim(
    "user_level/thm-4-1",
    "Theorem 4.1",
    "For ε <= 10, δ < 1/(mn) and n^{1−q} > 100 log(20nmde^ε/δ)/(ε(1 − 2^{−q})), Algorithm 3 on the smoothed losses has "
    "the optimal risk for convex, L-Lipschitz losses, from mn(1 + n^{3/8}m^{1/4}ε^{1/4}) gradients.",
    kind="theorem",
    section="4",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=SMOOTHED,
    assumptions=(ENOUGH_USERS, sp.Le(epsilon, 10), sp.Lt(delta * m * n, 1)),
    about=("user_level/proc-smoothed-alg-3",),
    grade="refuted",
    remark="Only the gradient count; for m <= max{n^{5/2}ε³, dn^{3/2}ε} the printed form is right. Beyond, the term "
    "min{n^{3/4}m^{3/2}ε^{−1/2}, nm^{3/2}d^{−1/4}} is missing, which Theorem 3.2 has (S6). The risk and the "
    "privacy are not touched.",
)
thm_4_1_risk = claim(
    "user_level/thm-4-1@risk",
    "Excess risk of Theorem 4.1",
    "LR·Õ(1/√(mn) + √(d log(1/δ))/(εn√m)) for convex, L-Lipschitz losses.",
    kind="theorem",
    section="4",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=OPTIMAL,
    assumptions=(ENOUGH_USERS, sp.Le(epsilon, 10), sp.Lt(delta * m * n, 1)),
    about=("user_level/proc-smoothed-alg-3",),
)
thm_4_1_corrected = claim(
    "user_level/thm-4-1@corrected",
    "Gradient count of Theorem 4.1 with all its terms",
    "mn + n^{11/8}m^{5/4}ε^{5/4} + min{n^{3/4}m^{3/2}ε^{−1/2}, nm^{3/2}d^{−1/4}}, up to logarithms.",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=SMOOTHED_DERIVED,
    assumptions=(ENOUGH_USERS, sp.Le(epsilon, 10), sp.Lt(delta * m * n, 1)),
    about=("user_level/proc-smoothed-alg-3",),
)
claim_4_2 = claim(
    "user_level/claim-4-2",
    "Remark 4.2",
    "At ε = 1 the smoothed Algorithm 3 needs at least n^{13/8}m^{7/4} times fewer gradients than AL24's "
    "(nm)³ + (mn)²√d.",
    kind="proposition",
    section="4",
    quantity="gradients of AL24 over those of the smoothed algorithm",
    relation=">=",
    order=n ** sp.Rational(13, 8) * m ** sp.Rational(7, 4),
    about=("user_level/proc-smoothed-alg-3",),
    grade="refuted",
    assumptions=(ENOUGH_USERS.subs(epsilon, 1), sp.Lt(delta * m * n, 1)),
    remark="The same conclusion as Theorem 4.1's: for m > max{n^{5/2}, dn^{3/2}} the speed-up is n^{9/4}m^{3/2} (d "
    "<= n), which is less (S6).",
)
claim_4_2_corrected = claim(
    "user_level/claim-4-2@corrected",
    "Remark 4.2 with all terms",
    "(nm)³ over the larger of n^{11/8}m^{5/4} and min{n^{3/4}m^{3/2}, nm^{3/2}d^{−1/4}}.",
    kind="proposition",
    section="4",
    origin="ours",
    quantity="gradients of AL24 over those of the smoothed algorithm, d <= (nm)²",
    relation=">=",
    order=(n * m) ** 3 / (n ** sp.Rational(11, 8) * m ** sp.Rational(5, 4) + OMITTED.subs(epsilon, 1)),
    about=("user_level/proc-smoothed-alg-3",),
)
smoothed_alg_3 = claim(
    "user_level/proc-smoothed-alg-3",
    "Smoothed Algorithm 3",
    "Algorithm 3 on f_r(x, z) = E f(x + y, z), y uniform in the ball of radius r = R√d/(εn√m), which is "
    "(L/R)εn√m-smooth.",
    kind="procedure",
    section="4, D",
    quantity="smoothness",
    relation="<=",
    explicit=L / D * epsilon * n * sp.sqrt(m),
    about=("user_level/alg-3", "user_level/proc-randomized-smoothing"),
    grade="proof gap",
    remark="How the gradient of f_r is drawn is not said; one draw per user, shared by its samples, would lose the "
    "1/√m of the concentration, so an independent draw is made for every sample and step (S16). λ = 1/√(mn) in the "
    "proof lacks L/R and the private part (S7).",
)
