"""Section 2: the linear-time algorithm."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Finding, Proof, derivation
from dpcheck.symbols import C, D, H, L, T, d, delta, epsilon, eta, index, last, m, n, q, tau

from ._paper import (
    AT_LOG,
    BS23_SMOOTHNESS,
    ETA,
    GROUPS,
    LAST_PHASE,
    LEGAL,
    LINEAR_TIME,
    LINEAR_TIME_PROVED,
    LOG_RATIO,
    USERS,
    Cs,
    N,
    Ts,
    bounded,
    claim,
    setting,
)

alg_1 = claim(
    "user_level/alg-1",
    "Algorithm 1 (user-level DP phased SGD)",
    "⌊log_2 n⌋ phases on fresh users, n_i = (1 − 2^{−q})n/2^{iq}, in C = 100 log(20nme^ε/δ)/ε groups: SGD on each, a "
    "noisy concentration score, outlier removal among the averages, and Gaussian noise on the kept mean.",
    kind="algorithm",
    section="2",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    explicit=n * m,
    about=("user_level/proc-sgd", "user_level/proc-concentration-score", "user_level/proc-outlier-removal"),
    grade="proof gap",
    remark="The noisy iterate is not projected, so it may leave the domain on which f is defined (S12); the score "
    "uses ε/10 of its budget ε/4 (S32). Rounding N_i = ⌊n_i/C⌋ leaves out more than half of the users near "
    "the smallest n: at n = 2·10^5, m = 10, ε = 1 a plan reads 87,264 of them (pooling what is left over "
    "would mend it).",
)
alg_1_derived = alg_1.as_read(
    "user_level/alg-1@derived",
    "Users consumed by Algorithm 1",
    "Σ n_i = n 2^{−q}(1 − 2^{−ql}) < n 2^{−q} users, and m times as many gradients, before rounding.",
    origin="ours",
    quantity="gradients over nm",
    explicit=2**-q,
    measures="",
    about=(),
)
alg_1_literal = alg_1.as_read(
    "user_level/alg-1@literal",
    "Algorithm 1 without projection",
    "The printed iterates x_i stay in the domain.",
    origin="ours",
    quantity="√d σ_1 over the diameter",
    explicit=sp.Integer(1),
    grade="slip",
    remark="A sentence of ours: the paper does not say it, it only evaluates f at x_i. At m = d = 10, ε = 1, n = "
    "10^6 the noise of the first phase alone is hundreds of diameters long (S12).",
    measures="",
    about=(),
)
alg_1_corrected = claim(
    "user_level/alg-1@corrected",
    "Algorithm 1 with projected iterates",
    "x_i is projected onto the domain, which is post-processing and moves no point of the domain away; a halt returns "
    "the start.",
    kind="algorithm",
    section="2",
    origin="ours",
    quantity="√d σ_i over τ_i",
    relation="=",
    explicit=sp.sqrt(d) * LOG_RATIO,
)

alg_1_phases = setting(alg_1, "user_level/alg-1@phases", "l", "l = ⌊log_2 n⌋ phases.", LAST_PHASE)
alg_1_groups = setting(
    alg_1,
    "user_level/alg-1@groups",
    "C",
    "C = 100 log(20nme^ε/δ)/ε groups in every phase, rounded up.",
    sp.ceiling(GROUPS),
)
alg_1_users = setting(
    alg_1,
    "user_level/alg-1@users",
    "N_i",
    "N_i = n_i/C users a group, rounded down; n_i = (1 − 2^{−q})n/2^{iq}, at q = log_2(1 + 1/log_2 n) of all q > 0.",
    sp.floor(USERS / C),
)
alg_1_steps = setting(alg_1, "user_level/alg-1@steps", "T_i", "T_i = N_im steps: one pass.", N * m)
alg_1_eta = setting(
    alg_1,
    "user_level/alg-1@eta",
    "η_i",
    "η_i = η/2^{pi} with Theorem B.1's η = R/(L√(dmnε)) and p = J + 3/2 at the least J with m <= n^J.",
    ETA / 2 ** (index * (sp.log(m) / sp.log(n) + sp.Rational(3, 2))),
)
alg_1_tau = setting(
    alg_1,
    "user_level/alg-1@tau",
    "τ_i",
    "τ_i = 1000η_iL√T_i log(ndm), the radius of the score; h counts within twice of it.",
    1000 * eta * L * sp.sqrt(T) * sp.log(n * d * m),
)
alg_1_test = setting(alg_1, "user_level/alg-1@test", "scale of the noise on the score", "Lap(20/ε).", 20 / epsilon)
alg_1_sigma = setting(
    alg_1,
    "user_level/alg-1@sigma",
    "σ_i",
    "σ_i = 100τ_i log²(n/δ)/(εC).",
    100 * tau * sp.log(n / delta) ** 2 / (epsilon * C),
)
alg_1_gradients = setting(
    alg_1,
    "user_level/alg-1@gradients",
    "gradients",
    "One a sample: Σ_i CT_i.",
    sp.Sum(Cs[index] * Ts[index], (index, 1, last)),
    measures="gradients",
)

thm_2_1 = claim(
    "user_level/thm-2-1",
    "Theorem 2.1",
    "For ε <= 10, n^{1−o(1)} ≳ log(n/δ)/ε, β <= (L/R)√(dmnε) and m <= poly(n), Algorithm 1 is (ε, δ)-user-level "
    "private with excess risk LR·Õ(1/√(nmε) + √(d log(1/δ))/(ε√(nm))), from nm gradients.",
    kind="theorem",
    section="2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=LINEAR_TIME,
    assumptions=(sp.Le(epsilon, 10), sp.Le(H, L / D * sp.sqrt(d * m * n * epsilon))),
    about=("user_level/alg-1",),
    remark="Formal version: Theorem B.1. What the proof gives is LR√d/√(nmε) times logarithms. It improves on group "
    "privacy only for m > εn (S13).",
)
thm_2_1_derived = thm_2_1.as_read(
    "user_level/thm-2-1@derived",
    "The rate that the proof gives",
    "LR√(d/(nmε)) times logarithms, at most √10 times the second printed term for ε <= 10, and √ε times it for ε <= 1.",
    origin="ours",
    order=LINEAR_TIME_PROVED,
    assumptions=(),
)


def phased(proof: Proof, label: str) -> sp.Expr:
    """Risk of Algorithm 1 up to logarithms: T_1 = nmε records a group, iterates that are private within ηL√T."""
    step = D / (L * sp.sqrt(d * m * n * epsilon))
    smoothest = proof.assumes(label, H, L * sp.sqrt(d * m * n * epsilon) / D)
    proof.equal("so steps are contractions, Hη ≤ 1", lambda: smoothest * step, 1)
    bound = proof.master(
        "excess risk, without logarithms",
        {"start": D**2 / (eta * n * m * epsilon), "steps": eta * L**2, "noise of the phases": d * eta * L**2},
    )
    return proof.chooses(bound, {eta: step})


@derivation("user_level/thm-2-1", LEGAL)
def one_pass(proof: Proof) -> None:
    """η balances the start against the noise of √d ηL√T a phase; ε/log of the records make up one group."""
    bounded(proof, "user_level/thm-2-1")
    proof.concludes("user_level/thm-2-1", phased(proof, "user_level/thm-2-1"), where=AT_LOG, looser=True)


claim_2_2 = claim(
    "user_level/claim-2-2",
    "Remark 2.2",
    "BS23 has a similar risk in linear time for β < (Lε³/R)√(n³/(md³)) and m <= d/ε² <= n only; Algorithm 1 needs "
    "β <= (L/R)√(dmnε), a huge smoothness where n ≈ d, and logarithmically many users.",
    kind="proposition",
    section="2",
    quantity="largest β of Algorithm 1 over that of BS23",
    relation="=",
    explicit=m * d**2 / (n * epsilon ** sp.Rational(5, 2)),
    about=("user_level/alg-1",),
    remark="md/ε^{5/2} at n = d, as the remark says; for d² < nε^{5/2}/m it is BS23 that allows the larger smoothness.",
)


@derivation("user_level/claim-2-2")
def smoothness_allowed(proof: Proof) -> None:
    """The quotient of the two largest smoothness parameters."""
    own = L / D * sp.sqrt(d * m * n * epsilon)
    theirs = proof.argues("BS23's linear time needs", "β", "<=", BS23_SMOOTHNESS)
    proof.concludes("user_level/claim-2-2", own / theirs)


linear_time = claim(
    "user_level/thm-2-1@dominated",
    "Theorem 2.1 against group privacy",
    "For m ≤ n and ε ≤ 1 the rate of Theorem 2.1 is nowhere below that of group privacy on a linear-time item-level "
    "algorithm (footnote 3): its private term is √(n/m) times as large. So is all that [BS23] cover, m ≤ d/ε² ≤ n. "
    "With the rate that its proof gives, √(d/(nmε)), the border is m = εn.",
    kind="theorem",
    section="1, 2",
    origin="ours",
    quantity="private term over that of group privacy",
    relation="=",
    explicit=sp.sqrt(n / m),
    about=("user_level/alg-1",),
)
linear_time_found = Finding(
    "user_level/thm-2-1@dominated",
    "The linear-time algorithm with 'state-of-the-art excess risk' is dominated by group privacy, which is as fast, "
    "whenever there are no more samples a user than users (m ≤ n; m ≤ εn by the rate that its proof gives).",
)


@derivation(
    "user_level/thm-2-1@dominated",
    Regime(base=None, others="free", where=[m <= n, epsilon <= 1, d >= 1, m >= 1, delta <= 1 / n]),
)
def group_privacy_is_ahead(proof: Proof) -> None:
    """Both terms of group privacy are below those of Theorem 2.1 once m ≤ n."""
    printed = proof.uses("user_level/thm-2-1", LINEAR_TIME)
    logarithm = sp.log(1 / delta)
    trivial = D * L * (1 / sp.sqrt(n * m) + sp.sqrt(d * logarithm) / (epsilon * n))
    proof.uses(
        "user_level/proc-group-privacy", trivial, {sp.exp(epsilon): 1, sp.log(m / delta): logarithm}, as_order=True
    )
    proof.order_at_most("for m ≤ n", trivial, printed)
    private = D * L * sp.sqrt(d * logarithm)
    ratio = proof.equal(
        "the private terms", lambda: private / (epsilon * sp.sqrt(n * m)) / (private / (epsilon * n)), sp.sqrt(n / m)
    )
    proved = proof.uses("user_level/thm-2-1@derived", D * L * sp.sqrt(d / (n * m * epsilon)), as_order=True)
    less = Regime(base=None, others="free", where=[m <= epsilon * n, epsilon <= 1, d >= 1, m >= 1, delta <= 1 / n])
    proof.order_at_most("what the proof gives, for m ≤ εn, without logs", trivial.subs(logarithm, 1), proved, less)
    proof.concludes("user_level/thm-2-1@dominated", ratio)
