"""Section 6: the shuffled accelerated method, Algorithms 6 and 7, Theorems 6 and 7."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import (
    C,
    D,
    H,
    R,
    T,
    b,
    beta,
    d,
    delta,
    epsilon,
    gamma,
    index,
    k,
    lambda_,
    m,
    n,
    r_k,
    sigma,
    theta,
)  # fmt: skip

from ._paper import FREE, LOG, LOGS, SHUFFLED_RANGE, Delta, E, claim, ell, epsilon_0, growth, settled, tau, theta_bar, x

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
    order=r_k * D * tau(),
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


thm_7 = claim(
    "tsybakov/thm-7",
    "Theorem 7",
    "In the range of Theorem 6, under (θ, λ)-TNC, Algorithm 7 has expected excess Õ(λ^{−1/(θ−1)}(r̃_kτ)^{θ/(θ−1)}).",
    kind="theorem",
    section="6",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=growth(r_k * tau()),
    assumptions=(SHUFFLED_RANGE, sp.Ge(k, 2), sp.Gt(theta, 1)),
    about=("tsybakov/alg-7",),
    grade="proof gap",
    remark="'As Theorem 3', and so with its gap (S8); the noise condition is missing among the hypotheses.",
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


@derivation("tsybakov/thm-7", FREE, expect="undecided")
def iterated_acceleration(proof: Proof) -> None:
    """The recursion of Theorem 3 with the error of Theorem 6, and so with the same gap."""
    proof.gap(
        "a call that starts at distance Δ costs ΔE",
        (Delta**2 / R + R) * E / 2,
        Delta * E,
        {Delta: 1, R: 4, E: 1},
        stands="as in Theorem 3: the conclusion is open",
    )
    error = r_k * (1 / sp.sqrt(n) + (sp.sqrt(d * ell) / (epsilon * n)) ** ((k - 1) / k))
    proof.grants("that premise; the calls would settle where λΔ^θ = ΔE", "excess", "<=", settled(error))
    proof.concludes("tsybakov/thm-7", settled(error), where=LOGS)
