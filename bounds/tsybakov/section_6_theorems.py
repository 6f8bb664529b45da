"""Section 6: Theorems 6 and 7, of the shuffled accelerated method and of its calls."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Finding, Proof, derivation
from dpcheck.symbols import (
    C,
    D,
    H,
    R,
    T,
    beta,
    d,
    delta,
    epsilon,
    k,
    lambda_,
    m,
    n,
    r_k,
    sigma,
    tau,
    theta,
)  # fmt: skip

from ._paper import FREE, LOG, LOGS, SHUFFLED_RANGE, Delta, E, claim, ell, growth, settled, x
from ._paper import tau as rate
from .section_6 import alg_6_placed

thm_6 = claim(
    "tsybakov/thm-6",
    "Theorem 6",
    "For ε = O(√(log(n/δ)/n)) Algorithm 6 is (ε, δ)-DP, and for a smooth risk its expected excess is O(r̃_kD(1/√n + "
    "(√(d log(1/δ))/(εn))^{(k−1)/k})), without any Lipschitz condition.",
    kind="theorem",
    section="6",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=r_k * D * rate(),
    assumptions=(SHUFFLED_RANGE, sp.Ge(k, 2)),
    about=("tsybakov/alg-6",),
    grade="proof gap",
    remark="The proof's noise is log(n/δ) times larger in variance than the printed one, and its range of ε is "
    "O(√(log(1/δ)/n)) (S10). No violation is known inside the range.",
)

thm_6_derived = thm_6.as_read(
    "tsybakov/thm-6@derived",
    "Theorem 6 with noise Σ and bias of the clipped mean",
    "With a_t = 2/(t+1), η_t = 4γ/(t(t+1)), γ = max{2H, (Σ/D)√(T(T+1)(2T+1)/12)} and Σ² = dσ² + r̃_k²T/n: "
    "excess <= 4HD²/(T(T+1)) + 2DΣ√((2T+1)/(3T(T+1))) + Dr̃_k^k/((k−1)C^{k−1}).",
    origin="ours",
    explicit=4 * H * D**2 / (T * (T + 1))
    + 2 * D * sp.sqrt(d * sigma**2 + r_k**2 * T / n) * sp.sqrt((2 * T + 1) / (3 * T * (T + 1)))
    + D * r_k**k / ((k - 1) * C ** (k - 1)),
    assumptions=(sp.Ge(k, 2),),
)


@derivation("tsybakov/thm-6", FREE)
def accelerated_balance(proof: Proof) -> None:
    """C balances noise against clipping; T is the lesser of two numbers, so HD²/T² is at most the sum of both terms."""
    for least in (SHUFFLED_RANGE, sp.Ge(k, 2)):
        proof.assumes("tsybakov/thm-6", least.lts, least.gts)
    variance = C**2 * T * ell / (n**2 * epsilon**2)
    noise = proof.equal(
        "the noise over √T steps", lambda: sp.sqrt(d * variance / T), C * sp.sqrt(d * ell) / (n * epsilon)
    )
    ratio, scale = epsilon * n / sp.sqrt(d * ell), sp.sqrt(H * D / r_k)
    few, fewer = scale * ratio ** ((k - 1) / (2 * k)), scale * n ** sp.Rational(1, 4)
    bound = proof.master(
        "excess risk",
        {
            "acceleration at the first number": proof.equal(
                "HD²/T² at T = √(HD/r̃_k) (εn/√(dℓ))^{(k−1)/(2k)}",
                lambda: H * D**2 / few**2,
                r_k * D * ratio ** (-(k - 1) / k),
                {k: 1 + x},
            ),
            "acceleration at the second": proof.equal(
                "HD²/T² at T = √(HD/r̃_k) n^{1/4}", lambda: H * D**2 / fewer**2, r_k * D / sp.sqrt(n)
            ),
            "noise": D * noise,
            "sampling": D * r_k / sp.sqrt(n),
            "clipping": D * r_k**k / C ** (k - 1),
        },
    )
    excess = proof.chooses(bound, {C: r_k * ratio ** (1 / k)})
    proof.concludes("tsybakov/thm-6", excess, where=LOGS)


nu = sp.Symbol("nu", positive=True)
"""log(n/δ)."""
WITH_LOG = r_k * D * (1 / sp.sqrt(n) + sp.sqrt(sp.log(n / delta)) * (sp.sqrt(d * LOG) / (epsilon * n)) ** ((k - 1) / k))
"""The order of Theorem 6 with what the noise of its proof adds."""

thm_6_shuffled = thm_6.as_read(
    "tsybakov/thm-6@shuffled",
    "Theorem 6 with the noise of its proof",
    "Algorithm 6 with noise that is private once shuffled, log(n/δ) times the printed one in variance, has the "
    "expected excess of Theorem 6 with √log(n/δ) on its private term.",
    origin="ours",
    order=WITH_LOG,
)


@derivation("tsybakov/thm-6@shuffled", Regime(base=None, others="free", where=[d >= 1, n >= 1, nu >= 1]))
def noise_of_the_proof(proof: Proof) -> None:
    """The balance of Theorem 6, whose level C stays as it is, with a longer noise."""
    ratio = epsilon * n / sp.sqrt(d * ell)
    noise = proof.equal(
        "the noise over √T steps at the printed level",
        lambda: r_k * ratio ** (1 / k) * sp.sqrt(nu) / ratio,
        r_k * sp.sqrt(nu) * ratio ** (-(k - 1) / k),
        {k: 1 + x},
    )
    excess = proof.argues("beside it the terms of Theorem 6", "excess", "<=", D * (r_k / sp.sqrt(n) + 2 * noise))
    proof.concludes("tsybakov/thm-6@shuffled", excess, where={**LOGS, sp.log(n / delta): nu})


h, z = sp.symbols("h z", positive=True)
"""n^{−1/2}, and a number to substitute."""

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


thm_7 = claim(
    "tsybakov/thm-7",
    "Theorem 7",
    "In the range of Theorem 6, under (θ, λ)-TNC, Algorithm 7 has expected excess Õ(λ^{−1/(θ−1)}(r̃_kτ)^{θ/(θ−1)}).",
    kind="theorem",
    section="6",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=growth(r_k * rate()),
    assumptions=(SHUFFLED_RANGE, sp.Ge(k, 2), sp.Gt(theta, 1)),
    about=("tsybakov/alg-7",),
    grade="proof gap",
    remark="'As Theorem 3', and so with its gap (S8): about log log n calls shrink the radius by a power of log n, and "
    "leave the exponent 1 of τ (`@phases`, measured). The noise condition is missing among the hypotheses.",
)

thm_7_phases = thm_7.as_read(
    "tsybakov/thm-7@phases",
    "The rate of Theorem 7 asked of Algorithm 7",
    "Algorithm 7 with weights 2/(t+1) and parts of the proof's sizes, on the whole domain or on halving balls, has the "
    "expected excess of Theorem 7.",
    origin="ours",
    grade="proof gap",
    remark="About log log n calls are too few for either: on power wells the measured exponents are behind the "
    "order's.",
    assumptions=(),
)


thm_7_convex = thm_7.as_read(
    "tsybakov/thm-7@convex",
    "What Algorithm 7 has without the noise condition",
    "Algorithm 7 with weights 2/(t+1), parts of the proof's sizes and the noise of the proof of Theorem 6 has the "
    "expected excess of `thm-6@shuffled`, whatever θ and λ are.",
    origin="ours",
    order=WITH_LOG,
    assumptions=(),
)

PER_RADIUS = sp.sympify(thm_6_derived.explicit).subs(D, 2 * D) / D
"""What a call on a ball of radius D costs at most per unit of its radius."""
thm_7_halving = thm_7.as_read(
    "tsybakov/thm-7@halving",
    "Theorem 7 corrected",
    "m calls of Algorithm 6 on n fresh records each, call e on W ∩ B(w_{e−1}, R_{e−1}) from w_{e−1}, R_{e−1} = "
    "2^{1−e}D, with weights 2/(t+1), γ of `thm-6@derived` at the diameter 2R_{e−1}, and noise of `alg-6@plain`, or "
    "shuffled as in `alg-6@shuffle-delta`, is (ε, δ)-DP. For every θ > 1 its excess is at most "
    "4(2a')^{θ/(θ−1)}λ^{−1/(θ−1)} with probability 1 − β, a' = am/β and a the bound of `thm-6@derived` at 2D over D, "
    "for 2D^{1−θ}a' <= λ <= 2^{(θ−1)m}·2D^{1−θ}a'.",
    origin="ours",
    explicit=4 * growth(2 * PER_RADIUS * m / beta),
    assumptions=(sp.Ge(k, 2), sp.Gt(theta, 1)),
    probability=1 - beta,
    quantity="excess risk, as corrected",
    measures="",
)


def settled_on_balls(proof: Proof, radius: sp.Symbol, call: sp.Symbol) -> sp.Expr:
    """What m calls come to with probability 1 − β, each costing `call` a unit of the `radius` of its ball, halved."""
    raised = call * m / beta
    least = proof.equal(
        "2R_ea'/λ, Markov's bound on ‖w_e − w*‖^θ, is R_e^θ at λ = μ_e", lambda: 2 * radius * raised / radius**theta,
        2 * raised * radius ** (1 - theta), {theta: 1 + x},
    )  # fmt: skip
    last = proof.argues("μ_{e*+1} > λ", "R_{e*}", "<=", 2 * (2 * raised / lambda_) ** (1 / (theta - 1)))
    proof.equal("there μ_{e*} = 2^{1−θ}λ", lambda: least.subs(radius, last), 2 ** (1 - theta) * lambda_, {theta: 1 + x})
    mean = proof.argues("on that event call e* and all later ones, each against its own start, have the mean", "", "<=",
                        4 * radius * call)  # fmt: skip
    excess = proof.equal("m/β times that, with probability 1 − β in all", lambda: mean * m / beta, 4 * radius * raised)
    return excess.subs(radius, last)


@derivation("tsybakov/thm-7@halving")
def calls_on_halving_balls(proof: Proof) -> None:
    """As `thm-3@every-loss`; the bias of clipping costs Algorithm 6 the diameter of its domain, so balls halve."""
    proof.assumes("tsybakov/thm-7@halving", sp.S.One, theta)
    proof.assumes("tsybakov/thm-7@halving", sp.Integer(2), k)
    radius, call, zeta = sp.symbols("R_{e} a z", positive=True)
    on_ball = proof.uses("tsybakov/thm-6@derived", thm_6_derived.explicit.subs(D, 2 * radius), {D: 2 * radius})
    proof.at_most(
        "per unit of radius it is largest on the first ball", sp.expand(on_ball / radius), sp.expand(PER_RADIUS),
        {radius: D / (1 + zeta)},
    )  # fmt: skip
    excess = settled_on_balls(proof, radius, call)
    proof.concludes("tsybakov/thm-7@halving", excess.subs(call, PER_RADIUS), where={theta: 1 + x})


@derivation("tsybakov/thm-7@convex", Regime(base=None, others="free", where=[d >= 1, n >= 1, nu >= 1]))
def last_part_alone(proof: Proof) -> None:
    """The last call, from wherever, reads a quarter of the records at least."""
    error = r_k * (1 / sp.sqrt(n) + sp.sqrt(nu) * (sp.sqrt(d * ell) / (epsilon * n)) ** ((k - 1) / k))
    excess = proof.argues("Theorem 6 with the noise of its proof, at n/4", "excess", "<=", 4 * D * error)
    proof.concludes("tsybakov/thm-7@convex", excess, where={**LOGS, sp.log(n / delta): nu})


@derivation("tsybakov/thm-7", FREE, also=("tsybakov/thm-7@phases",), expect="undecided")
def iterated_acceleration(proof: Proof) -> None:
    """The recursion of Theorem 3 with the error of Theorem 6, and so with the same gap."""
    proof.gap(
        "a call that starts at distance Δ costs ΔE",
        (Delta**2 / R + R) * E / 2,
        Delta * E,
        {Delta: 1, R: 4, E: 1},
        stands="as in Theorem 3: the conclusion is open",
    )
    proof.assumes("tsybakov/thm-7", SHUFFLED_RANGE.lts, SHUFFLED_RANGE.gts)
    error = r_k * (1 / sp.sqrt(n) + (sp.sqrt(d * ell) / (epsilon * n)) ** ((k - 1) / k))
    proof.grants("that premise; the calls would settle where λΔ^θ = ΔE", "excess", "<=", settled(error))
    for label in ("tsybakov/thm-7", "tsybakov/thm-7@phases"):
        proof.concludes(label, settled(error), where=LOGS)


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


POWER = (k - 1) / k
shuffled = claim(
    "tsybakov/thm-6@range",
    "Theorem 6 in its own range of ε",
    "Theorem 6 is private for ε ≤ √(ln(n/δ)/n). There, for δ ≤ 1/n, its private term is at least (d/2)^{(k−1)/(2k)} "
    "n^{1/(2k)} times its statistical term 1/√n: for no finite k does it, or Theorem 7, reach the non-private rate.",
    kind="theorem",
    section="6",
    origin="ours",
    quantity="private over statistical term",
    relation=">=",
    explicit=(d / 2) ** (POWER / 2) * n ** (1 / (2 * k)),
    assumptions=(sp.Le(delta, 1 / n), sp.Le(epsilon, sp.sqrt(sp.log(n / delta) / n)), sp.Ge(k, 2)),
    about=("tsybakov/alg-6",),
)
shuffled_found = Finding(
    "tsybakov/thm-6@range",
    "Shuffling is proved private for ε ≤ √(ln(n/δ)/n) only, and there the private term exceeds the statistical one by "
    "n^{1/(2k)}: 'without a Lipschitz condition' never means at the non-private rate.",
)


@derivation("tsybakov/thm-6@range")
def statistical_term_is_never_seen(proof: Proof) -> None:
    """The private term at the largest ε, over 1/√n."""
    log, t, x = sp.symbols("log t x", positive=True)
    private = (sp.sqrt(d * LOG) / (epsilon * n)) ** POWER
    largest = sp.sqrt(log / n)
    proof.assumes("tsybakov/thm-6@range", epsilon, largest.subs(log, sp.log(n / delta)))
    proof.at_most(
        "the private term falls in ε, so it is least at the largest one",
        private.subs(epsilon, largest),
        private,
        {epsilon: largest / (1 + t), k: 1 + x},
    )
    least = proof.equal(
        "at ε = √(log/n), log = ln(n/δ), times √n",
        lambda: sp.sqrt(n) * private.xreplace({epsilon: largest}),
        (d * LOG / log) ** (POWER / 2) * n ** (1 / (2 * k)),
    )
    proof.assumes("tsybakov/thm-6@range", delta, 1 / n)
    proof.at_most("ln(n/δ) ≤ 2 ln(1/δ) for δ ≤ 1/n", sp.log(n / delta), 2 * LOG, {delta: 1 / (n * (1 + t))})
    worst = least.subs(log, 2 * LOG)
    proof.at_most("so the ratio is least where log is largest", worst, least, {log: 2 * LOG / (1 + t), k: 1 + x})
    proof.concludes("tsybakov/thm-6@range", worst)
