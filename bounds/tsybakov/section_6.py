"""Section 6: the shuffled accelerated method, Algorithms 6 and 7, also where every record draws its own place."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import (
    C,
    D,
    H,
    R,
    T,
    b,
    d,
    delta,
    epsilon,
    gamma,
    index,
    k,
    m,
    n,
    r_k,
    sigma,
)  # fmt: skip

from ._paper import LOG, claim, epsilon_0, theta_bar

alg_6 = claim(
    "tsybakov/alg-6",
    "Algorithm 6 (PNCA-SGD)",
    "Accelerated SGD over T batches of a uniformly permuted sample, each batch mean clipped at C and hidden by "
    "noise of variance O(C²T log(1/δ)/(n²ε²)).",
    kind="algorithm",
    section="5, 6",
    quantity="noise variance",
    relation="=",
    order=C**2 * T * LOG / (n**2 * epsilon**2),
    remark="The proof's local noise averages to a variance that is log(n/δ) times larger (S10).",
)

alg_6_literal = alg_6.as_read(
    "tsybakov/alg-6@literal",
    "Algorithm 6 with the printed noise at constant 64",
    "Noise of variance 64C²T log(1/δ)/(n²ε²) on shuffled batches is (ε, δ)-DP, also at the ε of the experiments.",
    section="6, 7",
    origin="ours",
    explicit=64 * C**2 * T * LOG / (n**2 * epsilon**2),
    remark="At ε = 8, δ = 1e-5 it is not for T >= 60; ε = 8 is outside the range of Theorem 6, and the hidden "
    "constant is not printed, so this refutes no statement of the paper.",
)

alg_6_plain = alg_6_literal.as_read(
    "tsybakov/alg-6@plain",
    "Algorithm 6 with noise for disjoint batches",
    "Noise of deviation 8CT√log(1/δ)/(nε) a batch is (ε, δ)-DP by parallel composition, shuffled or not.",
    section="6",
    quantity="noise deviation",
    explicit=8 * C * T * sp.sqrt(LOG) / (n * epsilon),
)

_ratio = epsilon * m / sp.sqrt(d * LOG)

alg_6_steps = alg_6.as_read(
    "tsybakov/alg-6@steps",
    "Algorithm 6, number of batches",
    "T = √(HD/r̃_k)·min{(εm/√(dℒ))^{(k−1)/(2k)}, m^{1/4}} on m records, rounded up, at most m.",
    quantity="batches",
    explicit=sp.Min(
        m, sp.ceiling(sp.sqrt(H * D / r_k) * sp.Min(_ratio ** ((k - 1) / (2 * k)), m ** sp.Rational(1, 4)))
    ),
    about=("tsybakov/alg-6",),
)

alg_6_batch = alg_6_steps.as_read(
    "tsybakov/alg-6@batch",
    "Algorithm 6, batches",
    "A batch is of ⌊m/T⌋ of m records; what is left over is not read, so that n = T⌊m/T⌋.",
    quantity="records of a batch",
    explicit=sp.floor(m / T),
)

alg_6_level = alg_6_steps.as_read(
    "tsybakov/alg-6@level",
    "Algorithm 6, clip level",
    "C = r̃_k(εm/√(dℒ))^{1/k} on m records.",
    quantity="clip level",
    explicit=r_k * _ratio ** (1 / k),
)

alg_6_gamma = alg_6_steps.as_read(
    "tsybakov/alg-6@gamma",
    "Algorithm 6, weight of the prox term",
    "γ = max{2H, (Σ/D)√(T(T+1)(2T+1)/12)} with Σ² = dσ² + r̃_k²/b, of `thm-6@derived`; the paper leaves it open.",
    origin="ours",
    quantity="scale of the prox weights",
    explicit=sp.Max(
        2 * H, sp.sqrt(d * sigma**2 + r_k**2 / b) / D * sp.sqrt(T * (T + 1) * (2 * T + 1) / sp.Integer(12))
    ),
)

alg_6_prox = alg_6_steps.as_read(
    "tsybakov/alg-6@prox",
    "Algorithm 6, prox weights",
    "η_t = 4γ/(t(t+1)) of `thm-6@derived`, as line 3 of Algorithm 7 has it.",
    quantity="weight of the prox term of step t",
    explicit=4 * gamma / (index * (index + 1)),
)

alg_6_weights = alg_6_steps.as_read(
    "tsybakov/alg-6@weights",
    "Algorithm 6, weights of the averages",
    "α_t = 2/(t+1) of `thm-6@derived`, so that α_1 = 1 as Algorithm 6 asks.",
    origin="ours",
    quantity="α_t",
    explicit=2 / (index + 1),
)

alg_6_gradients = alg_6_steps.as_read(
    "tsybakov/alg-6@gradients",
    "Algorithm 6, gradients",
    "One of every record of the T batches.",
    measures="gradients",
    quantity="gradients",
    explicit=T * b,
)


def _spent(mu: sp.Expr, at: sp.Expr) -> sp.Expr:
    """Φ(μ/2 − ε/μ) − e^εΦ(−μ/2 − ε/μ): δ at ε of Gaussian noise of which the sensitivity is μ deviations."""
    first, second = (sp.erfc((at / mu + half) / sp.sqrt(2)) / 2 for half in (-mu / 2, mu / 2))
    return first - sp.exp(at) * second


alg_6_plain_delta = alg_6_plain.as_read(
    "tsybakov/alg-6@plain-delta",
    "Algorithm 6 with noise for disjoint batches, what it spends",
    "Noise of deviation σ on a batch mean of sensitivity 2C/b spends exactly δ at ε: Φ(μ/2 − ε/μ) − e^εΦ(−μ/2 − ε/μ) "
    "with μ = 2C/(bσ).",
    quantity="δ that a batch spends at ε",
    explicit=_spent(2 * C / (b * sigma), epsilon),
    about=("tsybakov/alg-6",),
)

alg_6_shuffle_delta = alg_6_plain_delta.as_read(
    "tsybakov/alg-6@shuffle-delta",
    "Algorithm 6 with noise for its shuffle, what it spends",
    "Noise of deviation σ√b on a record of sensitivity 2C spends δ_0 at ε_0, and n shuffled records of it "
    "2(e^ε + 1)(1 + e^{−ε_0}/2)nδ_0 = δ at ε.",
    quantity="δ that the shuffle spends at ε",
    explicit=2
    * (sp.exp(epsilon) + 1)
    * (1 + sp.exp(-epsilon_0) / 2)
    * n
    * _spent(2 * C / (sigma * sp.sqrt(b)), epsilon_0),
)

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

alg_7 = claim(
    "tsybakov/alg-7",
    "Algorithm 7 (iterated PNCA-SGD)",
    "Algorithm 6 on disjoint parts of doubling size, started from the previous output.",
    kind="algorithm",
    section="6",
    about=("tsybakov/alg-6",),
    quantity="gradients",
    measures="gradients",
    relation="<=",
    explicit=n,
    grade="slip",
    remark="α_t = 2/(t+2) contradicts α_1 = 1 of Algorithm 6 (S11); R_t is announced and never used; the sizes "
    "have the exponent of Algorithm 5 (S12).",
)

alg_7_literal = alg_7.as_read(
    "tsybakov/alg-7@literal",
    "The weights of Algorithm 7",
    "α_t = 2/(t+2) with α_1 = 1, so that the start has no weight in the output.",
    quantity="α_1",
    relation="=",
    explicit=sp.Integer(1),
    grade="slip",
    remark="α_1 = 2/3; the start keeps the weight 2/((T+1)(T+2)).",
    measures="",
)

alg_7_corrected = alg_7.as_read(
    "tsybakov/alg-7@corrected",
    "Algorithm 7 with weights 2/(t+1)",
    "α_t = 2/(t+1), η_t = 4γ/(t(t+1)) inside, part sizes with E = log_θ̄ 2.",
    origin="ours",
)


def _part(exponent: sp.Expr) -> sp.Expr:
    """⌊2^{i−1}n/(log_2 n)^E⌋."""
    return sp.floor(2 ** (index - 1) * n / sp.log(n, 2) ** exponent)


alg_7_weights = alg_7.as_read(
    "tsybakov/alg-7@weights",
    "Algorithm 7, weights of the averages",
    "α_t = 2/(t+2).",
    measures="",
    quantity="α_t",
    relation="=",
    explicit=2 / (index + 2),
    about=("tsybakov/alg-7",),
)

alg_7_records = alg_7.as_read(
    "tsybakov/alg-7@records",
    "Algorithm 7, parts",
    "n_i = ⌊2^{i−1}n/(log_2 n)^E⌋ with the printed E = (log_θ̄ 2)².",
    measures="",
    quantity="records of call i",
    relation="=",
    explicit=_part((sp.log(2) / sp.log(theta_bar)) ** 2),
    about=("tsybakov/alg-7",),
)

alg_7_corrected_records = alg_7_records.as_read(
    "tsybakov/alg-7@corrected-records",
    "Corrected Algorithm 7, parts",
    "The same with E = log_θ̄ 2 of the proof.",
    origin="ours",
    explicit=_part(sp.log(2) / sp.log(theta_bar)),
)

alg_7_shrinking_diameter = alg_7_records.as_read(
    "tsybakov/alg-7@shrinking-diameter",
    "Algorithm 7 on halving balls, diameters",
    "A call on the ball of radius R_{t−1} takes D = 2R_{t−1}.",
    origin="ours",
    quantity="diameter that a call takes",
    explicit=2 * R,
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
