"""Section 6, corrected: every record of Algorithm 6 draws its own place, and Theorems 6 and 7 with every constant."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import C, D, H, T, beta, d, delta, epsilon, k, m, n, r_k, sigma, tau, theta

from ._paper import LOG, growth, x
from ._paper import tau as rate
from .section_6 import alg_6, alg_6_batch, alg_6_gradients, settled_on_balls, thm_6, thm_7

alg_6_placed = alg_6.as_read(
    "tsybakov/alg-6@placed",
    "Algorithm 6 on records that draw their places",
    "Let each of n records be in batch t <= T with chance 1/(2T) and in none with chance 1/2, independently, and let "
    "the sum of the clipped gradients of a batch, over n/(2T), be hidden by noise of variance 16C²T log(1/δ)/(n²ε²), "
    "which Algorithm 6 prints, at constant 16. It is (ε, δ)-DP for ε <= 1/4, Tε <= log(1/δ), Tε² <= 2, δ <= 1/e, "
    "for every loss and dimension.",
    section="6",
    origin="ours",
    explicit=16 * C**2 * T * LOG / (n**2 * epsilon**2),
    assumptions=(
        sp.Le(epsilon, sp.Rational(1, 4)),
        sp.Le(T * epsilon, LOG),
        sp.Le(T * epsilon**2, 2),
        sp.Le(delta, sp.exp(-1)),
    ),
    remark="Without the log(n/δ) of the proof of Theorem 6, and in a larger range: ε <= √(log(n/δ)/n) is inside for "
    "δ <= 1/n and T <= √(n log(1/δ)/2).",
)

alg_6_placed_batch = alg_6_batch.as_read(
    "tsybakov/alg-6@placed-batch",
    "Algorithm 6 on records that draw their places, batches",
    "A batch is of n/(2T) records in the mean.",
    origin="ours",
    explicit=n / (2 * T),
)

alg_6_placed_steps = alg_6_batch.as_read(
    "tsybakov/alg-6@placed-steps",
    "Algorithm 6 on records that draw their places, number of batches",
    "T = √(HD/r̃_k)·min{(εn/√(dℒ))^{(k−1)/(2k)}, n^{1/4}}, rounded up; it may be more than n.",
    origin="ours",
    quantity="batches",
    explicit=sp.ceiling(
        sp.sqrt(H * D / r_k) * sp.Min((epsilon * n / sp.sqrt(d * LOG)) ** ((k - 1) / (2 * k)), n ** sp.Rational(1, 4))
    ),
)

alg_6_placed_gradients = alg_6_gradients.as_read(
    "tsybakov/alg-6@placed-gradients",
    "Algorithm 6 on records that draw their places, gradients",
    "One of every record at most.",
    origin="ours",
    explicit=n,
)

SHARE = sp.sqrt(d * LOG) / (epsilon * n)

thm_6_placed = thm_6.as_read(
    "tsybakov/thm-6@placed",
    "Theorem 6 for records that draw their places, at any level",
    "With weights 2/(t+1), Σ² = dσ² + 2Tr̃_k²/n and γ = max{2H, (Σ/D)√(T(T+1)(2T+1)/12)}: excess <= 4HD²/(T(T+1)) + "
    "2DΣ√((2T+1)/(3T(T+1))) + Dr̃_k/√n + Dr̃_k^k/((k−1)C^{k−1}).",
    origin="ours",
    explicit=4 * H * D**2 / (T * (T + 1))
    + 2 * D * sp.sqrt(d * sigma**2 + 2 * T * r_k**2 / n) * sp.sqrt((2 * T + 1) / (3 * T * (T + 1)))
    + D * r_k / sp.sqrt(n)
    + D * r_k**k / ((k - 1) * C ** (k - 1)),
    assumptions=(sp.Ge(k, 2),),
    grade="",
    remark="",
)

CONSTANTS = r_k * (sp.Rational(22, 3) / sp.sqrt(n) + 12 * SHARE ** ((k - 1) / k))
"""What it costs per unit of the diameter."""
thm_6_corrected = thm_6.as_read(
    "tsybakov/thm-6@corrected",
    "Theorem 6 corrected",
    "`alg-6@placed` at the printed C and T = ⌈√(HD/r̃_k) min{(εn/√(d log(1/δ)))^{(k−1)/(2k)}, n^{1/4}}⌉ is (ε, δ)-DP "
    "for ε <= 1/4, Tε <= log(1/δ), Tε² <= 2, δ <= 1/e, and its expected excess is at most r̃_kD(22/(3√n) + "
    "12(√(d log(1/δ))/(εn))^{(k−1)/k}), whatever the losses' Lipschitz constant.",
    origin="ours",
    order=r_k * D * rate(),
    explicit=D * CONSTANTS,
    assumptions=(sp.Ge(k, 2), *alg_6_placed.assumptions),
    quantity="excess risk, as corrected",
    measures="",
    grade="",
    remark="The rate of Theorem 6 as printed, without the logarithm of `thm-6@shuffled`.",
)

thm_7_corrected = thm_7.as_read(
    "tsybakov/thm-7@corrected",
    "Theorem 7 corrected, with every constant",
    "m calls of `thm-6@corrected` on n fresh records each, call e on W ∩ B(w_{e−1}, 2^{1−e}D) from w_{e−1}, are "
    "(ε, δ)-DP, and for every θ > 1 the excess is at most 4(2am/β)^{θ/(θ−1)}λ^{−1/(θ−1)} with probability 1 − β, "
    "a = 2r̃_k(22/(3√n) + 12(√(d log(1/δ))/(εn))^{(k−1)/k}), for 2D^{1−θ}am/β <= λ <= 2^{(θ−1)m}·2D^{1−θ}am/β.",
    origin="ours",
    order=growth(r_k * rate()),
    explicit=4 * growth(2 * 2 * CONSTANTS * m / beta),
    assumptions=(sp.Ge(k, 2), sp.Gt(theta, 1)),
    probability=1 - beta,
    quantity="excess risk, as corrected",
    measures="",
    grade="",
    remark="",
)


ell, h, y, z = sp.symbols("ℓ h y z", positive=True)
"""log(1/δ), n^{−1/2} or what a record adds over the deviation of the noise, and numbers to substitute."""
BENT = sp.Rational(18, 25)
"""κ; e − 2 is less."""


@derivation("tsybakov/alg-6@placed")
def exponential_moment_of_places(proof: Proof) -> None:
    """Given the places of the others a density ratio is a martingale in the steps, with a Gaussian quadratic's moment.

    L = dP/dR = 1 + qΣX_t, X_t = e^{y_t} − 1, y_t = h<a_t, z_t> − h²|a_t|²/2, q = 1/(2T), R without the record, a_t
    known before step t and at most 1 long; L' of the other record has a'_t. δ(ε) = E(L − e^εL')_+.
    """
    least = (epsilon, sp.Rational(1, 4)), (T * epsilon, LOG), (T * epsilon**2, sp.Integer(2)), (delta, sp.exp(-1))
    for low, high in least:
        proof.assumes("tsybakov/alg-6@placed", low, high)
    batch = proof.uses("tsybakov/alg-6@placed-batch", n / (2 * T))
    deviation = 4 * C * sp.sqrt(T * ell) / (n * epsilon)
    shift = proof.equal(
        "h, what a record adds over the deviation", lambda: C / batch / deviation, sp.sqrt(T / ell) * epsilon / 2
    )
    square = proof.equal("its square", lambda: shift**2, T * epsilon**2 / (4 * ell))
    proof.at_most("h² <= ε/4 where Tε <= ℓ", lambda: square, epsilon / 4, {T: ell / epsilon / (1 + z)})
    proof.at_most("h² <= 1/(2ℓ) where Tε² <= 2", lambda: square, 1 / (2 * ell), {T: 2 / epsilon**2 / (1 + z)})
    proof.argues("(L − e^εL')_+ <= V_+ + qΣ(X_t − e + 1)_+, V = 1 − e^ε + qΣ(min{X_t, e − 1} − e^εX'_t)")
    proof.at_most("e − 2 is below κ = 18/25", sp.E - 2, BENT)
    proof.argues(
        "min{X, e − 1} <= y + κy² and −X' <= −y', so at the rate g the logarithm of E e^{gV} is at most −g(e^ε − 1) + "
        "Tsh²((e^ε − 1)/2 + κ/(1 − φ) + κh²/4 + s(1 + e^ε)²/(2(1 − φ))), s = gq, φ = 2κsh²"
    )
    rate = sp.Rational(12, 5) * ell / epsilon
    step = proof.equal("s at g = 12ℓ/(5ε)", lambda: rate / (2 * T), 6 * ell / (5 * T * epsilon))
    narrow = proof.at_most(
        "φ at ε <= 1/4", lambda: 2 * BENT * step * square, sp.Rational(27, 250), {epsilon: 1 / (4 * (1 + z))}
    )
    proof.at_most("e^{1/4} is below 9/7, and so e^ε − 1 below 2/7", sp.exp(sp.Rational(1, 4)), sp.Rational(9, 7))
    per_rate = proof.equal("Ts is g/2, and h² at most ε/4: of gε", lambda: T * step / rate / 4, sp.Rational(1, 8))
    drift = proof.at_most(
        "times what does not grow with s", lambda: per_rate * (sp.Rational(1, 7) + BENT / (1 - narrow) + BENT / 64),
        sp.Rational(13, 100),
    )  # fmt: skip
    squares = proof.equal("Ts²h², of gε", lambda: T * step**2 * square / (rate * epsilon), sp.Rational(3, 20))
    spread = proof.at_most(
        "times what else does", lambda: squares * sp.Rational(16, 7) ** 2 / (2 * (1 - narrow)), sp.Rational(11, 25)
    )
    proof.at_most("the logarithm is at most log δ", lambda: -rate * epsilon * (1 - drift - spread), -ell)
    proof.at_most("e is above 2", 2, sp.E)
    head = proof.at_most(
        "E V_+ <= E e^{gV}/(eg), of δ, where ℓ >= 1", lambda: 1 / (2 * rate), sp.Rational(1, 19),
        {ell: 1 + y, epsilon: 1 / (4 * (1 + z))},
    )  # fmt: skip
    tail = proof.argues(
        "qΣE(X_t − e + 1)_+ <= Q(1/h − h/2)/2 <= e^{−(1/h² − 1)/2}/4, and 1/(2h²) >= ℓ: of δ", "", "<=",
        sp.exp(sp.Rational(1, 2)) / 4,
    )  # fmt: skip
    proof.at_most("both together are less than δ", lambda: head + tail, 1)
    proof.concludes("tsybakov/alg-6@placed", (C / batch / shift).subs(ell, LOG) ** 2)


@derivation("tsybakov/thm-6@placed")
def batches_of_drawn_size(proof: Proof) -> None:
    """Given the sizes N_t of the batches these are fresh; E[N_t | past]/b − 1 makes a bias, the rest is centred noise.

    N_1 + … + N_{t−1} is binomial, of n records with chance (t − 1)q each, q = 1/(2T), and b = nq.
    """
    t, q = sp.symbols("t q", positive=True)
    proof.assumes("tsybakov/thm-6@placed", sp.Integer(2), k)
    before = proof.argues("the variance of N_1 + … + N_{t−1}", "", "=", n * (t - 1) * q * (1 - (t - 1) * q))
    proof.argues("given the past N_t has the mean (n − N_1 − … − N_{t−1})/(2T − t + 1), and records the mean ∇F_C")
    drift = proof.equal(
        "the second moment of E[N_t | past]/b − 1",
        lambda: (before / (n * q) ** 2 / (2 * T - t + 1) ** 2).subs(q, 1 / (2 * T)),
        (t - 1) / (n * (2 * T - t + 1)),
    )
    proof.at_most("is at most 1/n for t <= T", lambda: drift, 1 / n, {T: t + z})
    proof.argues("the centred part of a sum over N_t records has a second moment of E N_t r̃² at most")
    variance = proof.equal(
        "over b²", lambda: n / (2 * T) * r_k**2 / (n / (2 * T)) ** 2, 2 * T * r_k**2 / n
    )  # fmt: skip
    bound = proof.uses(
        "tsybakov/thm-6@derived",
        4 * H * D**2 / (T * (T + 1))
        + 2 * D * sp.sqrt(d * sigma**2 + variance) * sp.sqrt((2 * T + 1) / (3 * T * (T + 1)))
        + D * r_k**k / ((k - 1) * C ** (k - 1)),
        {n: n / 2},
    )  # fmt: skip
    drifted = proof.argues(
        "a bias of second moment B² costs DB, for the weights of the averages add up to one", "", "<=",
        D * r_k * sp.sqrt(1 / n),
    )  # fmt: skip
    proof.concludes("tsybakov/thm-6@placed", bound + drifted)


@derivation("tsybakov/thm-6@corrected")
def constants_of_the_placed_steps(proof: Proof) -> None:
    """The printed C and T in `thm-6@placed`: each term against r̃D/√n or r̃Dτ, τ = (√(dℓ)/(εn))^{(k−1)/k}."""
    proof.assumes("tsybakov/thm-6@corrected", sp.Integer(2), k)
    ratio, beyond = epsilon * n / sp.sqrt(d * LOG), {k: 2 + x}
    level = proof.uses("tsybakov/alg-6@level", r_k * ratio ** (1 / k), {m: n})
    bias = proof.at_most(
        "bias over Dr̃, as k >= 2", lambda: r_k ** (k - 1) / ((k - 1) * level ** (k - 1)), SHARE ** ((k - 1) / k), beyond
    )
    variance = proof.uses("tsybakov/alg-6@placed", 16 * C**2 * T * LOG / (n * epsilon) ** 2)
    proof.equal("dσ²", lambda: d * variance.subs(C, level), 16 * T * r_k**2 * SHARE ** (2 * (k - 1) / k), beyond)
    proof.at_most("2T + 1 <= 2(T + 1)", lambda: (2 * T + 1) / (3 * T * (T + 1)), 2 / (3 * T))
    root = sp.Rational(7, 3) * h + 7 * tau
    proof.at_most(
        "the square of the noise term over Dr̃, at n = 1/h²",
        lambda: 4 * (16 * T * tau**2 + 2 * T * h**2) * 2 / (3 * T),
        root**2,
    )
    scale = sp.sqrt(H * D / r_k)
    proof.uses(
        "tsybakov/alg-6@placed-steps",
        sp.ceiling(scale * sp.Min(ratio ** ((k - 1) / (2 * k)), n ** sp.Rational(1, 4))),
    )
    start = 4 * H * D**2 / (T * (T + 1))
    few = proof.at_most(
        "T >= √(HD/(r̃τ)), if it is that", lambda: start, 4 * r_k * D * tau, {T: scale / sp.sqrt(tau) + z}
    )
    fewer = proof.at_most("T >= √(HD/(r̃h)), else", lambda: start, 4 * r_k * D * h, {T: scale / sp.sqrt(h) + z})
    total = few + fewer + D * r_k * (root + h)
    proof.uses("tsybakov/thm-6@placed", thm_6_placed.explicit)
    proof.concludes(
        "tsybakov/thm-6@corrected", total.subs({h: 1 / sp.sqrt(n), tau: SHARE ** ((k - 1) / k)}) + D * r_k * bias,
        where=beyond,
    )  # fmt: skip


@derivation("tsybakov/thm-7@corrected")
def placed_calls_on_halving_balls(proof: Proof) -> None:
    """As `thm-7@halving`, with the constants of `thm-6@corrected`."""
    proof.assumes("tsybakov/thm-7@corrected", sp.S.One, theta)
    proof.assumes("tsybakov/thm-7@corrected", sp.Integer(2), k)
    radius, call = sp.symbols("R_{e} a", positive=True)
    on_ball = proof.uses("tsybakov/thm-6@corrected", 2 * radius * CONSTANTS, {D: 2 * radius})
    per_radius = proof.equal("per unit of radius", lambda: on_ball / radius, 2 * CONSTANTS)
    excess = settled_on_balls(proof, radius, call)
    proof.concludes("tsybakov/thm-7@corrected", excess.subs(call, per_radius), where={theta: 1 + x})
