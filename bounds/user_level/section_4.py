"""Section 4: losses that are not smooth."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, H, L, R, T, d, delta, epsilon, m, n

from ._paper import (
    AT_LOG,
    BALL_SMOOTHNESS,
    ENOUGH_USERS,
    GRADIENTS_TIGHT,
    LEGAL,
    OMITTED,
    OPTIMAL,
    PRIVATE,
    SIZES,
    SMOOTHED,
    SMOOTHED_DERIVED,
    N,
    bounded,
    claim,
    r,
    setting,
    steps,
    that_fit,
)
from .section_3 import regularised, users_left

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
    # the same (361130): without 1 in epsilon**(1/4)*m**(1/4)*n**(3/8) + 1: nε > 100 by ENOUGH_USERS, the rest exceeds 1
    order=SMOOTHED,
    assumptions=(ENOUGH_USERS, sp.Le(epsilon, 10), sp.Lt(delta * m * n, 1)),
    about=("user_level/proc-smoothed-alg-3",),
    grade="refuted",
    remark="Only the gradient count; for m <= max{n^{5/2}ε³, dn^{3/2}ε} the printed form is right. Beyond, the term "
    "min{n^{3/4}m^{3/2}ε^{−1/2}, nm^{3/2}d^{−1/4}} is missing, which Theorem 3.2 has (S6). The risk and the "
    "privacy are not touched.",
)
thm_4_1_risk = thm_4_1.as_read(
    "user_level/thm-4-1@risk",
    "Excess risk of Theorem 4.1",
    "LR·Õ(1/√(mn) + √(d log(1/δ))/(εn√m)) for convex, L-Lipschitz losses.",
    quantity="excess risk",
    measures="excess risk",
    order=OPTIMAL,
)
thm_4_1_corrected = thm_4_1.as_read(
    "user_level/thm-4-1@corrected",
    "Gradient count of Theorem 4.1 with all its terms",
    "mn + n^{11/8}m^{5/4}ε^{5/4} + min{n^{3/4}m^{3/2}ε^{−1/2}, nm^{3/2}d^{−1/4}}, up to logarithms.",
    origin="ours",
    order=SMOOTHED_DERIVED,
)


def smoothed(proof: Proof) -> None:
    """The count of Theorem 3.2 at the smoothness of f_r; it reaches the corrected count, not the printed one."""
    width = D * sp.sqrt(d) / (epsilon * n * sp.sqrt(m))
    smoothness = proof.uses("user_level/lem-d1", L * sp.sqrt(d) / width, {r: width})
    counted = proof.uses("user_level/thm-3-2@derived", GRADIENTS_TIGHT.subs(H, smoothness), {H: smoothness})
    proof.gap(
        "the count is at most mn(1 + n^{3/8}m^{1/4}ε^{1/4})",
        OMITTED,
        SMOOTHED,
        {n: 10**14, m: 10**20, d: 1, epsilon: sp.Rational(1, 10**7)},
        stands="min{n^{3/4}m^{3/2}ε^{−1/2}, nm^{3/2}d^{−1/4}} is missing, of T_iK_im with K_i ~ 1/ε",
    )
    larger = Regime(base=None, others="free", where=[*SIZES, epsilon <= 1])
    proof.order_at_most("with the omitted term", counted, SMOOTHED_DERIVED, larger)


@derivation("user_level/thm-4-1@corrected", LEGAL, also=("user_level/thm-4-1@risk",))
def without_smoothness(proof: Proof) -> None:
    """Theorem 3.2 on f_r with r = R√d/(εn√m); the risk stands, the printed count misses a term."""
    smoothed(proof)
    for label in ("user_level/thm-4-1@corrected", "user_level/thm-4-1@risk"):
        bounded(proof, label)
        users_left(proof, label)
        proof.assumes(label, delta * m * n, 1)
    proof.concludes("user_level/thm-4-1@corrected", SMOOTHED_DERIVED)
    proof.concludes("user_level/thm-4-1@risk", regularised(proof), where=AT_LOG)


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
claim_4_2_corrected = claim_4_2.as_read(
    "user_level/claim-4-2@corrected",
    "Remark 4.2 with all terms",
    "(nm)³ over the larger of n^{11/8}m^{5/4} and min{n^{3/4}m^{3/2}, nm^{3/2}d^{−1/4}}.",
    origin="ours",
    quantity="gradients of AL24 over those of the smoothed algorithm, d <= (nm)²",
    order=(n * m) ** 3 / (n ** sp.Rational(11, 8) * m ** sp.Rational(5, 4) + OMITTED.subs(epsilon, 1)),
    assumptions=(),
)


@derivation("user_level/claim-4-2@corrected")
def speed_up(proof: Proof) -> None:
    """(nm)³ gradients of AL24 over the corrected count; beyond m = n^{5/2} it is less than printed."""
    largest = n ** sp.Rational(11, 8) * m ** sp.Rational(5, 4) + OMITTED.subs(epsilon, 1)
    proof.gap(
        "the speed-up is at least n^{13/8}m^{7/4}",
        n ** sp.Rational(13, 8) * m ** sp.Rational(7, 4),
        (n * m) ** 3 / largest,
        {n: 10**12, m: 10**48, d: 1},
        stands="it is n^{9/4}m^{3/2} there",
    )
    proof.argues("AL24 take (nm)³ gradients", "gradients", "=", (n * m) ** 3)
    proof.concludes("user_level/claim-4-2@corrected", (n * m) ** 3 / largest)


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
smoothed_alg_3_radius = setting(
    smoothed_alg_3, "user_level/proc-smoothed-alg-3@radius", "r", "r = R√d/(εn√m).", R * PRIVATE
)
smoothed_alg_3_steps = setting(
    smoothed_alg_3,
    "user_level/proc-smoothed-alg-3@steps",
    "T_i",
    "T_i = (1 + √(β_r/λ_i)) log(ndm), rounded up, at β_r = L√d/r.",
    steps(BALL_SMOOTHNESS),
)
BATCH = N * epsilon / sp.sqrt(T) + sp.log(n * m * d * sp.exp(epsilon) / delta) / epsilon
smoothed_alg_3_minibatches = setting(
    smoothed_alg_3,
    "user_level/proc-smoothed-alg-3@minibatches",
    "K_i",
    "K_i = n_iε/√T_i + log(nmde^ε/δ)/ε as the proof of Theorem D.3 prints it, rounded up; n_i/T_i to n_i users.",
    that_fit(BATCH),
)
smoothed_alg_3_corrected_minibatches = setting(
    smoothed_alg_3,
    "user_level/proc-smoothed-alg-3@corrected-minibatches",
    "K_i",
    "500 times as many, as in Algorithm 3: with constant 1 the test halts too often (S36).",
    that_fit(500 * BATCH),
    origin="ours",
)
