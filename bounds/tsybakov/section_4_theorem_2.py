"""Section 4: Algorithm 4 under the noise condition, Theorems 2 and 11."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, L, beta, d, epsilon, k, lambda_, m, n, theta

from ._paper import (
    CALLS_STEP,
    CONFIDENCE,
    FREE,
    LIPSCHITZ_CONDITION,
    LOG,
    LOGS,
    ORDERS,
    R_0,
    TAIL,
    R_2k,
    a,
    claim,
    ell,
    growth,
    settled,
    tau,
    x,
)

LEAST_GROWTH = 2 * R_0 ** (1 - theta) * a
"""μ_0 of the reduction: at a smaller λ the first halved ball may lose every minimiser."""
CALLS = (LIPSCHITZ_CONDITION, *ORDERS, CONFIDENCE, CALLS_STEP)

NOT_FROM_ITS_FIRST_NOISE = (
    "False as printed for the risk, also with projected outputs: each call starts with a phase whose noise is many "
    "diameters long, and the later ones do not come back (S2b). "
)

thm_2 = claim(
    "tsybakov/thm-2",
    "Theorem 2",
    "Under (θ, λ)-TNC with θ >= 2, Algorithm 4 is (ε, δ)-DP and has excess risk Õ(λ^{−1/(θ−1)}(R̃_{2k,n}(1/√n +"
    " (√(d log(1/δ))/(εn))^{(k−1)/k}) + √(log n log(1/β))/(2^{p+1}√n))^{θ/(θ−1)}) with probability 1 − β.",
    kind="theorem",
    section="4",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=growth(R_2k * tau() + sp.sqrt(sp.log(n)) * TAIL),
    assumptions=(sp.Ge(theta, 2), sp.Le(epsilon, sp.sqrt(LOG)), *CALLS),
    about=("tsybakov/alg-4",),
    probability=1 - beta,
    grade="refuted",
    remark=NOT_FROM_ITS_FIRST_NOISE
    + "Algorithm 4 prints its step. Its privacy rests on that of Theorem 1, which fails for d >= 2 (S1). "
    "The reduction is right given calls that do what they promise: `@derived`, around "
    "`alg-4@corrected`. No union bound over the calls; the Lipschitz condition is stated at n and used at n_0 (S13).",
)

thm_2_derived = thm_2.as_read(
    "tsybakov/thm-2@derived",
    "The reduction of Theorem 2",
    "If a call on a domain of radius R has excess at most R·a against every point of it, and 2R_0^{1−θ}a <= λ <= "
    "2^{(θ−1)m}·2R_0^{1−θ}a, then Algorithm 4 ends with excess at most 4(2a)^{θ/(θ−1)}λ^{−1/(θ−1)}.",
    origin="ours",
    explicit=4 * growth(2 * a),
    assumptions=(
        sp.Ge(theta, 2),
        sp.Le(LEAST_GROWTH, lambda_),
        sp.Le(lambda_, 2 ** ((theta - 1) * m) * LEAST_GROWTH),
    ),
    probability=None,
)

thm_2_phases = thm_2.as_read(
    "tsybakov/thm-2@phases",
    "The rate of Theorem 2 asked of the corrected Algorithm 4",
    "`alg-4@corrected` has the excess risk of Theorem 2.",
    origin="ours",
    assumptions=(),
)

CALL = R_2k * (11 * sp.sqrt(m / n) + 77 * (m * sp.sqrt(d * LOG * sp.log(n)) / (epsilon * n)) ** ((k - 1) / k))
"""What a call of `thm-1@every-loss` on n/m records costs at most per unit of its radius."""
thm_2_every_loss = thm_2.as_read(
    "tsybakov/thm-2@every-loss",
    "Theorem 2 corrected, for every convex loss and dimension",
    "m calls of `thm-1@every-loss` on n/m fresh records each, from one output to the next, with R_{e−1} = 2^{1−e}D for "
    "its D and on all of W, no ball and no knowledge of θ and λ: it is (ε, δ)-DP, and with θ >= 2 and a the error of a "
    "call per unit of radius, the expected excess is at most 4(2a)^{θ/(θ−1)}λ^{−1/(θ−1)} for 2D^{1−θ}a <= λ <= "
    "2^{(θ−1)m}·2D^{1−θ}a.",
    origin="ours",
    order=growth(R_2k * tau(sp.log(n))),
    explicit=4 * growth(2 * CALL),
    assumptions=(sp.Ge(theta, 2), sp.Ge(k, 2)),
    quantity="excess risk, as corrected",
    measures="",
    probability=None,
)


@derivation("tsybakov/thm-2@every-loss")
def halving_radii_in_expectation(proof: Proof) -> None:
    """A start within R_{e−1} of the nearest minimiser in mean square, not surely, is all that a call needs; so no ball.

    The output of call e is that far from the nearest minimiser of the next by the noise condition and by Jensen's
    inequality for θ >= 2. From e* on, the last call with μ_e <= λ, a call is held against its own start.
    """
    for least in (theta, k):
        proof.assumes("tsybakov/thm-2@every-loss", sp.Integer(2), least)
    radius, call = sp.symbols("R_{e} a", positive=True)
    proof.uses("tsybakov/thm-1@every-loss", D * CALL.subs(sp.log(n), sp.log(n / m)), {n: n / m})
    proof.argues("log(n/m) <= log n, and moments of n/m records are R̃'s", "", "<=", CALL)
    least = proof.equal(
        "E‖w_e − w*‖^θ <= R_{e−1}a/λ = 2R_ea/λ is R_e^θ at λ = μ_e", lambda: 2 * radius * call / radius**theta,
        2 * call * radius ** (1 - theta), {theta: 1 + x},
    )  # fmt: skip
    proof.equal(
        "μ_{e+1} = 2^{θ−1}μ_e", lambda: least.subs(radius, radius / 2), 2 ** (theta - 1) * least, {theta: 1 + x}
    )
    last = proof.argues("μ_{e*+1} > λ", "R_{e*}", "<=", 2 * (2 * call / lambda_) ** (1 / (theta - 1)))
    proof.equal(
        "there μ_{e*} = 2^{1−θ}λ", lambda: 2 * call * last ** (1 - theta), 2 ** (1 - theta) * lambda_, {theta: 1 + x}
    )
    i = sp.Symbol("i", integer=True, positive=True)
    later = proof.equal(
        "calls after e*, each against its own start", lambda: sp.Sum(2 * radius * call / 2**i, (i, 1, sp.oo)),
        2 * radius * call,
    )  # fmt: skip
    excess = (2 * radius * call + later).subs(radius, last)
    proof.concludes("tsybakov/thm-2@every-loss", excess.subs(call, CALL), where={theta: 1 + x})


@derivation("tsybakov/thm-2@derived", FREE, also=("tsybakov/thm-2@phases",))
def halving_balls(proof: Proof) -> None:
    """Calls on halving balls: at the last one that holds the minimiser, R_{e*} <= 2(2a/λ)^{1/(θ−1)}."""
    proof.assumes("tsybakov/thm-2@derived", sp.Integer(2), theta)
    proof.assumes("tsybakov/thm-2@derived", LEAST_GROWTH, lambda_)
    proof.assumes("tsybakov/thm-2@derived", lambda_, 2 ** ((theta - 1) * m) * LEAST_GROWTH)
    radius = proof.argues(
        "λ >= 2^{1−θ}·2a R_{e*}^{1−θ}, for e* is the last call with μ_e <= λ",
        "R_{e*}",
        "<=",
        2 * (2 * a / lambda_) ** (1 / (theta - 1)),
    )
    proof.equal(
        "there the noise condition is tight within 2^{θ−1}",
        lambda: lambda_ * radius ** (theta - 1),
        2 ** (theta - 1) * 2 * a,
    )
    i = sp.Symbol("i", integer=True, positive=True)
    later = proof.equal(
        "calls after e* start within R_{e*} and halve it", lambda: sp.Sum(2 * radius * a / 2**i, (i, 1, sp.oo)),
        2 * radius * a,
    )  # fmt: skip
    excess = proof.equal(
        "call e* adds R_{e*-1}a = 2R_{e*}a (lem-4)",
        lambda: 2 * radius * a + later,
        8 * a * (2 * a / lambda_) ** (1 / (theta - 1)),
    )
    proof.concludes("tsybakov/thm-2@derived", excess, where={theta: 1 + x})
    error = R_2k * (1 / sp.sqrt(n) + (sp.sqrt(d * ell) / (epsilon * n)) ** ((k - 1) / k))
    proof.concludes("tsybakov/thm-2@phases", settled(error), where=LOGS, looser=True)


thm_11 = claim(
    "tsybakov/thm-11",
    "Theorem 11",
    "Theorem 2 with its logarithms, √(log n/n) and √(d log(1/δ) log³ n), and with convexity assumed.",
    kind="theorem",
    section="B",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=growth(
        R_2k * (sp.sqrt(sp.log(n) / n) + (sp.sqrt(d * LOG * sp.log(n) ** 3) / (epsilon * n)) ** ((k - 1) / k))
        + sp.sqrt(sp.log(n)) * TAIL
    ),
    assumptions=(sp.Ge(theta, 2), *CALLS),
    about=("tsybakov/alg-4",),
    probability=1 - beta,
    grade="refuted",
    remark="As Theorem 2.",
)

thm_11_phases = thm_11.as_read(
    "tsybakov/thm-11@phases",
    "The rate of Theorem 11 asked of the corrected Algorithm 4",
    "`alg-4@corrected` has the excess risk of Theorem 11.",
    origin="ours",
    assumptions=(),
)


@derivation("tsybakov/thm-11@phases", FREE)
def halving_balls_with_logarithms(proof: Proof) -> None:
    """Theorem 2 at n/log n records a call: 1/n becomes log n/n, and so does the privacy term."""
    nu = sp.Symbol("nu", positive=True)
    call = R_2k * (sp.sqrt(nu / n) + (nu * sp.sqrt(d * ell) / (epsilon * n)) ** ((k - 1) / k))
    with_logs = R_2k * (sp.sqrt(nu / n) + (sp.sqrt(d * ell * nu**3) / (epsilon * n)) ** ((k - 1) / k))
    larger = Regime(base=None, others="free", where=[d >= 1, n >= 1, nu >= 1])
    error = proof.order_at_most("a call with its own log n_0 in the noise", call, with_logs, larger)
    proof.argues("the calls settle where λΔ^θ = ΔE, as in Theorem 2", "excess", "<=", settled(error))
    proof.concludes(
        "tsybakov/thm-11@phases", settled(error), where={LOG: ell, sp.log(n): nu}, regime=larger, looser=True
    )


rem_3 = claim(
    "tsybakov/rem-3",
    "Remark 3",
    "The bound of Theorem 2 depends on neither the diameter, nor the smoothness, nor L_f, and covers strongly "
    "convex risks.",
    kind="proposition",
    section="4",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=growth(R_2k * tau() + sp.sqrt(sp.log(n)) * TAIL),
    about=("tsybakov/alg-4",),
    remark="Needs R_0 <= (L_f/λ)^{1/(θ−1)}, which a diameter exceeds by a factor 2 at most when the minimiser "
    "is unique.",
)

rem_3_derived = rem_3.as_read(
    "tsybakov/rem-3@derived",
    "The diameter under the noise condition",
    "With a unique minimiser, (θ, λ)-TNC and L_f-Lipschitz risks bound the diameter of W by 2(L_f/λ)^{1/(θ−1)}.",
    origin="ours",
    quantity="diameter",
    explicit=2 * (L / lambda_) ** (1 / (theta - 1)),
    assumptions=(sp.Gt(theta, 1),),
    measures="",
    about=(),
)


@derivation("tsybakov/rem-3@derived")
def two_points_and_the_minimiser(proof: Proof) -> None:
    """By Lemma 1 λr^θ <= (L_f^θ/λ)^{1/(θ−1)} at distance r from the minimiser; two points are at most 2r apart."""
    proof.assumes("tsybakov/rem-3@derived", sp.S.One, theta)
    reach, excess = (L / lambda_) ** (1 / (theta - 1)), (L**theta / lambda_) ** (1 / (theta - 1))
    excess = proof.uses("tsybakov/lem-1", excess)
    proof.equal("λr^θ is that excess at r = (L_f/λ)^{1/(θ−1)}", lambda: lambda_ * reach**theta, excess, {theta: 1 + x})
    proof.argues("the triangle inequality, where the minimiser is the nearest one of both", "diameter", "<=", 2 * reach)
    proof.concludes("tsybakov/rem-3@derived", 2 * reach)
