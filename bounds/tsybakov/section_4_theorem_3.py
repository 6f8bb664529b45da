"""Section 4: Algorithm 5 for every exponent of the noise condition, Theorem 3."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, R, beta, d, epsilon, k, lambda_, m, n, theta

from ._paper import (
    FREE,
    LOG,
    LOGS,
    TAIL,
    Delta,
    E,
    R_2k,
    claim,
    ell,
    growth,
    tau,
    theta_bar,
    x,
)
from .section_4_calls import LOG_2
from .section_4_theorem_2 import CALL, CALLS, NOT_FROM_ITS_FIRST_NOISE

thm_3 = claim(
    "tsybakov/thm-3",
    "Theorem 3",
    "Under (θ, λ)-TNC with θ >= θ̄ > 1, Algorithm 5 is (ε, δ)-DP for ε <= 2 log(1/δ) and has the excess risk of"
    " Theorem 2, with probability 1 − β.",
    kind="theorem",
    section="4",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=growth(R_2k * tau() + TAIL),
    assumptions=(
        sp.Ge(theta, theta_bar),
        sp.Gt(theta_bar, 1),
        sp.Ge(theta_bar, 2 ** (sp.log(LOG_2, 2) / (LOG_2 - 1))),
        sp.Le(epsilon, 2 * LOG),
        *CALLS,
    ),
    about=("tsybakov/alg-5",),
    probability=1 - beta,
    grade="refuted",
    remark=NOT_FROM_ITS_FIRST_NOISE
    + "Algorithm 5 prints its step. With corrected phases its proof still fails: (11) puts the distance of the start "
    "to the minimiser where Theorem 1 has the diameter, and Algorithm 5 does not shrink its domain (S8; `@phases`). "
    "Its privacy rests on that of Theorem 1, which fails for d >= 2 (S1).",
)

thm_3_derived = claim(
    "tsybakov/thm-3@derived",
    "What Theorem 1 gives for Algorithm 5",
    "Iterating the guarantee (D²/R + R)E/2 of Theorem 1, with D the true distance and R the halving radius in "
    "the step, gives at least R_{l−1}E/2, R_{l−1} = R_0/polylog(n): exponent 1 in E and not θ/(θ−1).",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="the guarantee",
    relation=">=",
    order=1 / sp.sqrt(n),
    about=("tsybakov/alg-5",),
)

thm_3_phases = thm_3.as_read(
    "tsybakov/thm-3@phases",
    "The rate of Theorem 3 asked of Algorithm 5 with corrected phases",
    "Algorithm 5 around `alg-3@corrected`, on the whole domain in every call, has the excess risk of Theorem 3.",
    section="B",
    origin="ours",
    grade="proof gap",
    remark="On a strongly convex risk its exponents tend to −5/6 and −9/8 in the private regime at k = 2, 4, where the "
    "order has −1 and −3/2.",
    assumptions=(),
    probability=None,
)


thm_3_convex = thm_3.as_read(
    "tsybakov/thm-3@convex",
    "What Algorithm 5 with corrected phases has without the noise condition",
    "Algorithm 5 around `alg-3@corrected` has the excess risk of Theorem 1, whatever θ and λ are.",
    section="B",
    origin="ours",
    order=R_2k * D * tau(),
    assumptions=(),
    probability=None,
)

thm_3_every_loss = thm_3.as_read(
    "tsybakov/thm-3@every-loss",
    "Theorem 3 corrected, for every θ > 1, convex loss and dimension",
    "The algorithm of `thm-2@every-loss`, which knows neither θ nor λ: for every θ > 1 its excess is at most "
    "4(2a')^{θ/(θ−1)}λ^{−1/(θ−1)} with probability 1 − β, a' = am/β and a the error of a call per unit of radius, for "
    "2D^{1−θ}a' <= λ <= 2^{(θ−1)m}·2D^{1−θ}a'.",
    origin="ours",
    order=growth(R_2k * tau(sp.log(n)) / beta),
    explicit=4 * growth(2 * CALL * m / beta),
    assumptions=(sp.Gt(theta, 1), sp.Ge(k, 2)),
    quantity="excess risk, as corrected",
    measures="",
)


@derivation("tsybakov/thm-3@every-loss")
def halving_radii_by_markov(proof: Proof) -> None:
    """Given a start within R_{e−1} of a minimiser, Markov's inequality for one call, at β/m; the rest adds up in mean.

    For θ < 2 a mean of ‖·‖^θ bounds no mean square, so the distances are kept surely, on an event; the batches are
    disjoint, and a call's guarantee holds given the start.
    """
    proof.assumes("tsybakov/thm-3@every-loss", sp.S.One, theta)
    radius, call = sp.symbols("R_{e} a", positive=True)
    in_mean = proof.uses("tsybakov/thm-2@every-loss", 4 * growth(2 * CALL))
    raised = call * m / beta
    missed = proof.equal(
        "m calls, each of which misses m/β times its mean with probability β/m at most", lambda: m * (beta / m), beta
    )
    proof.argues("so all balls hold with probability", "", ">=", 1 - missed)
    last = proof.argues("with a' for a, μ_{e*+1} > λ", "R_{e*}", "<=", 2 * (2 * raised / lambda_) ** (1 / (theta - 1)))
    mean = proof.argues("on that event call e* and all later ones have the mean", "", "<=", 4 * radius * call)
    excess = proof.equal(
        "m/β times that", lambda: mean * m / beta, 4 * radius * raised
    )  # fmt: skip
    proof.equal(
        "which is the bound in mean at a'", lambda: excess.subs(radius, last).subs(call, CALL),
        in_mean.subs(R_2k, R_2k * m / beta), {theta: 1 + x},
    )  # fmt: skip
    proof.concludes("tsybakov/thm-3@every-loss", excess.subs(radius, last).subs(call, CALL), where={theta: 1 + x})


@derivation("tsybakov/thm-3@convex", FREE)
def last_call_alone(proof: Proof) -> None:
    """The last call, from wherever: Theorem 1 on the whole domain with a step for the radius D/polylog(n)."""
    error = R_2k * (1 / sp.sqrt(n) + (sp.sqrt(d * ell) / (epsilon * n)) ** ((k - 1) / k))
    excess = proof.argues("a call at radius R costs (D²/R + R) times the error, R = D up to logarithms", "excess", "<=",
                          2 * D * error)  # fmt: skip
    proof.concludes("tsybakov/thm-3@convex", excess, where=LOGS)


@derivation("tsybakov/thm-3@derived")
def iterated_calls(proof: Proof) -> None:
    """If a call costs Δ_{i−1}E_i, then Δ = (ΔE)^{1/θ} settles at E^{1/(θ−1)}; but that premise does not follow."""
    settled = E ** (1 / (theta - 1))
    proof.equal("the fixed point of Δ^θ = ΔE (λ = 1)", lambda: settled**theta, settled * E, {theta: 1 + x})
    proof.gap(
        "(11): a call that starts at distance Δ costs ΔE",
        (Delta**2 / R + R) * E / 2,
        Delta * E,
        {Delta: 1, R: 4, E: 1},
        stands="Theorem 1 has the diameter R of the domain there, which never shrinks; the conclusion is false (S2b)",
    )
    least = proof.at_most("whatever the distance", R * E / 2, (Delta**2 / R + R) * E / 2)
    proof.argues("so the guarantee that is proved is at least R_0E/2, and E at least 1/√n", "guarantee", ">=", least)
    proof.concludes("tsybakov/thm-3@derived", least.subs({R: 1, E: 1 / sp.sqrt(n)}), looser=True)


rem_4 = claim(
    "tsybakov/rem-4",
    "Remark 4",
    "Algorithm 4 splits the data evenly, Algorithm 5 in parts of increasing size.",
    kind="proposition",
    section="4",
    about=("tsybakov/alg-4", "tsybakov/alg-5"),
    remark="Both halves of the printed sentence say Algorithm 5; the first means Algorithm 4 (S21).",
)
