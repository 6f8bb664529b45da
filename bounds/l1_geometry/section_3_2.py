"""Section 3.2: localised noisy mirror descent, Algorithm 2 and Theorems 4 and 5."""

from __future__ import annotations

import sympy as sp

from dpcheck.algorithms.l1_geometry.regret import D_1, PHASES
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, L, T, b, d, epsilon, eta, index, kappa, lambda_, last, n, p, sequences, t

from ._paper import (
    GENERAL,
    GRADIENTS,
    HALF,
    LARGE,
    LOG,
    LOG2_D,
    NAMED,
    NONSMOOTH,
    A_k,
    T_at,
    b_1,
    b_at,
    claim,
    epsilon_at,
    eta_at,
    lambda_at,
    log_d,
    log_delta,
    n_1,
    n_at,
)
from .section_3_1 import alg_1, alg_1_sensitivity, alg_1_weighted_eta

alg_2 = claim(
    "l1_geometry/alg-2",
    "Algorithm 2 (localised noisy mirror descent)",
    "Phases i ≤ ⌈log n⌉ with ε_i = 2^{-i}ε, n_i = 2^{-i}n, η_i = 2^{-4i}η, b_i = max(√(n_i/log d), √(d/ε_i)), T_i = "
    "n_i²/b_i²: Algorithm 1 on F_i(x) = mean f + ‖x − x_{i−1}‖_p²/(η_in_i(p−1)) over {‖x − x_{i−1}‖_p ≤ "
    "2Lη_in_i(p−1)}, p = 1 + 1/log d, h_i = ‖x − x_{i−1}‖_p²/(p−1).",
    kind="algorithm",
    section="3.2",
    quantity="radius of phase i",
    relation="=",
    explicit=2 * L * eta_at[index] * n_at[index] * (p - 1),
    grade="slip",
    remark="Later phases have T_i < 1 step (S2), every sum runs over the records 1..n_i (S4), start and output branch "
    "are left open.",
)

j = sp.Symbol("j", integer=True, positive=True)


def running(batch: sp.Expr) -> sp.Expr:
    """How many of the first l + 1 phases make at least two steps: l, where the phase after the last one would not."""
    records = alg_2_records.explicit
    twice = sp.Ge(records**2, 2 * batch**2)
    return sp.Sum(sp.Piecewise((1, twice), (0, True)).subs(index, j), (j, 1, last + 1))


alg_2_epsilon = alg_2.as_read(
    "l1_geometry/alg-2@epsilon",
    "Algorithm 2, line 3: budget of a phase",
    "ε_i = 2^{-i}ε.",
    quantity="ε of phase i",
    explicit=epsilon / 2**index,
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)
alg_2_records = alg_2.as_read(
    "l1_geometry/alg-2@records",
    "Algorithm 2, line 3: records of a phase",
    "n_i = 2^{-i}n, in whole records.",
    quantity="records of phase i",
    explicit=sp.floor(n / 2**index),
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)
LOG_D = sp.Max(1, sp.log(d))


alg_2_eta = alg_2.as_read(
    "l1_geometry/alg-2@eta",
    "Algorithm 2, line 3, with the η of Theorem 4",
    "η_i = 2^{-4i}η with η = (D/L) min{√(log d/n), ε/√(d log d log(1/δ))}, log d at least 1: it is less in the plane.",
    quantity="η of phase i",
    explicit=D / L * sp.Min(sp.sqrt(LOG_D / n), epsilon / sp.sqrt(d * LOG_D * LOG)) / 2 ** (4 * index),
    about=("l1_geometry/alg-2",),
)
alg_2_batch = alg_2.as_read(
    "l1_geometry/alg-2@batch",
    "Algorithm 2, line 4: batch",
    "b_i = max(√(n_i/log d), √(d/ε_i)), rounded up. A phase that runs has more records.",
    quantity="batch of phase i",
    explicit=sp.ceiling(sp.sqrt(sp.Max(n / LOG2_D, 4**index * d / epsilon) / 2**index)),
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)
alg_2_corrected_batch = alg_2.as_read(
    "l1_geometry/alg-2@corrected-batch",
    "Algorithm 2, batch for the stated gradients",
    "b_i = max(√(n_i/log d), √d/ε_i), rounded up. A phase that runs has more records.",
    origin="ours",
    quantity="batch of phase i",
    explicit=sp.ceiling(sp.Max(sp.sqrt(n / LOG2_D / 2**index), 2**index * sp.sqrt(d) / epsilon)),
    about=("l1_geometry/alg-2",),
)
alg_2_phases = alg_2.as_read(
    "l1_geometry/alg-2@phases",
    "Algorithm 2, phases that run",
    "Every phase makes at least two steps, and the one after the last would not.",
    origin="ours",
    quantity="phases",
    explicit=running(alg_2_batch.explicit),
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)
alg_2_corrected_phases = alg_2_phases.as_read(
    "l1_geometry/alg-2@corrected-phases",
    "Algorithm 2, phases that run with the batch for the stated gradients",
    "Every phase makes at least two steps, and the one after the last would not.",
    explicit=running(alg_2_corrected_batch.explicit),
    about=("l1_geometry/alg-2",),
)
alg_2_steps = alg_2.as_read(
    "l1_geometry/alg-2@steps",
    "Algorithm 2, line 4: number of steps",
    "T_i = n_i²/b_i², in whole steps.",
    quantity="steps of phase i",
    explicit=sp.floor(n_at[index] ** 2 / b_at[index] ** 2),
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)
alg_2_sigma = alg_2.as_read(
    "l1_geometry/alg-2@sigma",
    "Algorithm 2, line 4: noise",
    "The σ of Algorithm 1 at (ε_i, δ) and b_i.",
    quantity="standard deviation of the noise of phase i",
    explicit=alg_1.explicit.subs({b: b_at[index], epsilon: epsilon_at[index]}),
    about=("l1_geometry/alg-2",),
)
alg_2_sensitivity = alg_2.as_read(
    "l1_geometry/alg-2@sensitivity",
    "Algorithm 2, sensitivity of a batch",
    "That of Algorithm 1 at b_i: the regulariser reads no record.",
    quantity="sensitivity of the mean gradient of phase i",
    explicit=alg_1_sensitivity.explicit.subs(b, b_at[index]),
    about=("l1_geometry/alg-2",),
)
alg_2_scale = alg_2.as_read(
    "l1_geometry/alg-2@scale",
    "Algorithm 2, line 4: mirror map",
    "h_i = ‖x − x_{i−1}‖_p²/(p−1).",
    quantity="h_i over ‖x − x_{i−1}‖_p²/2",
    explicit=2 / (p - 1),
    about=("l1_geometry/alg-2",),
)
alg_2_lambda = alg_2.as_read(
    "l1_geometry/alg-2@lambda",
    "Algorithm 2, line 4: regulariser",
    "F_i = mean f + λ_ih_i with λ_i = 1/(η_in_i).",
    quantity="λ of phase i",
    explicit=1 / (eta_at[index] * n_at[index]),
    about=("l1_geometry/alg-2",),
)
alg_2_step = alg_2.as_read(
    "l1_geometry/alg-2@step",
    "Algorithm 2, steps of Lemma 3.2",
    "The k-th step of phase i is 2/(λ_i(k + 1)).",
    quantity="step of phase i, times k + 1",
    explicit=alg_1_weighted_eta.explicit.subs(lambda_, lambda_at[index]),
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)
alg_2_gradients = alg_2.as_read(
    "l1_geometry/alg-2@gradients",
    "Algorithm 2, gradients of the phases that run",
    "Σ T_ib_i gradients.",
    quantity="gradients",
    explicit=sp.Sum(T_at[j] * b_at[j], (j, 1, last)),
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)


alg_2_literal = alg_2.as_read(
    "l1_geometry/alg-2@literal",
    "Algorithm 2, phases as printed",
    "Each of the ⌈log n⌉ phases makes T_i = n_i²/b_i² ≥ 1 steps.",
    quantity="steps of the last phase",
    relation=">=",
    explicit=sp.Integer(1),
    assumptions=(sp.Ge(n, 2), sp.Ge(d, 2), sp.Le(epsilon, 1)),
    grade="slip",
    remark="T_i ≤ 2^{-3i}n²ε/d is below 1 for i > log₂(n²ε/d)/3, which is below log n whenever ε < nd (S2).",
)


alg_2_corrected = alg_2.as_read(
    "l1_geometry/alg-2@corrected",
    "Algorithm 2, executable",
    "Disjoint blocks of ⌊n_i⌋ records, b_i rounded into [1, n_i], T_i = ⌊n_i²/b_i²⌋, stopping at the first phase that "
    "would make a single step (its average is its start). ‖x_k − x_0‖_p ≤ (2/31)Lηn(p−1) surely.",
    origin="ours",
    quantity="‖x_k − x_0‖_p",
    relation="<=",
    explicit=sp.Rational(2, 31) * L * eta * n * (p - 1),
)


alg_2_derived = alg_2.as_read(
    "l1_geometry/alg-2@derived",
    "Privacy of Algorithm 2",
    "On disjoint blocks a record enters one phase, and the first one spends the most: (ε/2, δ)-DP if Algorithm 1 is "
    "(ε,δ)-DP.",
    origin="ours",
    quantity="epsilon at δ",
    relation="<=",
    explicit=epsilon / 2,
)


@derivation("l1_geometry/alg-2@corrected")
def movement_of_all_phases(proof: Proof) -> None:
    """The radii add up, with η_in_i = ηn/32^i."""
    at = {eta_at[index]: eta / 16**index, n_at[index]: n / 2**index}
    radius = proof.uses("l1_geometry/alg-2", 2 * L * eta * n * (p - 1) / 32**index, at)
    total = proof.equal("Σ", lambda: sp.Sum(radius, (index, 1, sp.oo)), sp.Rational(2, 31) * L * eta * n * (p - 1))
    proof.concludes("l1_geometry/alg-2@corrected", total)


@derivation("l1_geometry/alg-2@derived")
def largest_budget(proof: Proof) -> None:
    """No record is in two blocks, and the first phase has the largest ε_i."""
    first = proof.uses("l1_geometry/alg-2@epsilon", epsilon / 2, {index: 1})
    more = sp.Symbol("more", nonnegative=True)
    proof.at_most("ε_i of the phase after `more` others", lambda: epsilon / 2 ** (1 + more), first)
    proof.concludes("l1_geometry/alg-2@derived", first)


thm_4 = claim(
    "l1_geometry/thm-4",
    "Theorem 4",
    "With η = (D/L) min{√(log d/n), ε/√(d log d log(1/δ))}, Algorithm 2 makes O(log n·min(n^{3/2}√log d, n²ε/√d)) "
    "gradients and E[F(x_k) − F*] = LD·O(√(log d/n) + √(d log³d log(1/δ))/(nε)).",
    kind="theorem",
    section="3.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=L * D * NONSMOOTH,
    explicit=32 * D**2 * LOG2_D / (eta * n)
    + L**2 * eta * (427 + sp.Rational(4, 15))
    + LOG2_D * L**2 * eta * d / (n * epsilon) * (2134 + 5120000 * sp.log(d) * LOG / epsilon)
    + 2 * L * sp.sqrt(A_k),
    assumptions=(sp.Ge(d, 3), sp.Le(epsilon, 1)),
    about=("l1_geometry/alg-2",),
    grade="slip",
    remark="The printed b_i = max(√(n_i/log d), √(d/ε_i)) costs n²√(ε/d), not n²ε/√d gradients (@literal); √d/ε_i "
    "gives the count and leaves the rate (S3). The risk bound stands, with 32 in its first term (S24).",
)


thm_4_literal = thm_4.as_read(
    "l1_geometry/thm-4@literal",
    "Gradients of Algorithm 2 with its printed batches",
    "With b_i = max(√(n_i/log d), √(d/ε_i)), as printed, Algorithm 2 makes O(log n·min(n^{3/2}√log d, n²ε/√d)) calls.",
    quantity="gradients",
    measures="gradients",
    order=GRADIENTS,
    assumptions=(sp.Ge(n, 2), sp.Ge(d, 2), sp.Le(epsilon, 1), sp.Ge(n_1, b_1)),
    grade="slip",
    remark="At d = √n, ε = 1/√n the first phase alone costs n^{1/4}/log n times as much, up to a constant; the rate is "
    "small there. √d/ε_i was meant, or the root lost a factor in print (S3).",
)


thm_4_derived = thm_4.as_read(
    "l1_geometry/thm-4@derived",
    "Gradients of Algorithm 2 as printed",
    "The phases cost Σ n_i²/b_i ≤ min{0.55 n^{3/2}√log₂ d, 0.22 n²√(ε/d)}: no factor log n.",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    explicit=sp.Min(
        sp.Rational(55, 100) * n ** sp.Rational(3, 2) * sp.sqrt(LOG2_D),
        sp.Rational(22, 100) * n**2 * sp.sqrt(epsilon / d),
    ),
    assumptions=(),
)


thm_4_corrected = thm_4.as_read(
    "l1_geometry/thm-4@corrected",
    "Gradients of Algorithm 2 with b_i = max(√(n_i/log d), √d/ε_i)",
    "Σ n_i²/b_i ≤ min{0.55 n^{3/2}√log₂ d, n²ε/(7√d)}.",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    explicit=sp.Min(sp.Rational(55, 100) * n ** sp.Rational(3, 2) * sp.sqrt(LOG2_D), n**2 * epsilon / (7 * sp.sqrt(d))),
    assumptions=(),
)


@derivation("l1_geometry/thm-4@derived", also=("l1_geometry/thm-4@corrected",))
def gradients_of_all_phases(proof: Proof) -> None:
    """T_ib_i ≤ n_i²/b_i, of which each part of the maximum in b_i gives one bound; geometric sums over the phases."""
    records, budget = n / 2**index, epsilon / 2**index

    def total(what: str, batch: sp.Expr, stated: sp.Expr) -> sp.Expr:
        term = sp.powsimp(sp.expand(records**2 / batch), force=True)
        closed = sp.summation(term, (index, 1, sp.oo))
        summed = proof.equal(f"Σ n_i²/b_i at b_i = {what}", lambda: sp.Sum(term, (index, 1, sp.oo)), closed)
        return summed if summed == stated else proof.at_most("rounded up", summed, stated)

    by_records = total("√(n_i/log d)", sp.sqrt(records / LOG2_D), sp.Rational(55, 100) * n * sp.sqrt(n * LOG2_D))
    by_budget = total("√(d/ε_i)", sp.sqrt(d / budget), sp.Rational(22, 100) * n**2 * sp.sqrt(epsilon / d))
    proof.concludes("l1_geometry/thm-4@derived", sp.Min(by_records, by_budget))
    by_budget = total("√d/ε_i", sp.sqrt(d) / budget, n**2 * epsilon / (7 * sp.sqrt(d)))
    proof.concludes("l1_geometry/thm-4@corrected", sp.Min(by_records, by_budget))


thm_4_summed = thm_4.as_read(
    "l1_geometry/thm-4@summed",
    "Risk of Algorithms 2 and 6, phase by phase",
    "Lemmas 3.3 and 3.4 added up over the phases that run, R_i the sure bound on the movement of phase i, κ the factor "
    "between the norms of L and of the mirror map; against any y within D_1 of the start.",
    origin="ours",
    explicit=PHASES,
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
    assumptions=(),
)


@derivation("l1_geometry/thm-4@summed")
def added_up(proof: Proof) -> None:
    """Lemma 3.2 at each phase, of modulus h_i(p − 1)/κ², and stability in ℓ_p, where losses are κL-Lipschitz."""
    noise_at, radius_at, scale_at = sequences("V R h")
    strong, lipschitz = 2 / (eta_at[index] * n_at[index]), kappa * L
    moment = proof.equal(
        "second moment, of 5L-Lipschitz objectives",
        lambda: 2 * (5 * L) ** 2 + 2 * noise_at[index],
        50 * L**2 + 2 * noise_at[index],
    )
    relative = scale_at[index] * (p - 1) / kappa**2 * lambda_at[index]
    at = {L: sp.sqrt(moment), lambda_: relative, T: T_at[index]}
    excess = proof.uses("l1_geometry/lem-3-2@corrected", 2 * moment / (relative * (T_at[index] + 1)), at)
    distance = proof.argues("F_i is strongly convex, and X_i bounded", "E‖x_i − x̂_i‖_p²", "<=", 2 * excess / strong)
    gap = sp.Min(distance, (2 * radius_at[index]) ** 2)
    moved = lipschitz * eta_at[index]
    proof.uses("l1_geometry/fact-sssss", moved, {L: lipschitz, lambda_: strong, n: n_at[index]})

    def regulariser(i: sp.Expr, squared: sp.Expr) -> sp.Expr:
        return squared / (eta_at[i] * n_at[i] * (p - 1))

    before = gap.subs(index, index - 1)
    terms = {
        "start": regulariser(sp.Integer(1), D_1**2),
        "distances": sp.Sum(regulariser(index, before), (index, 2, last)),
        "generalisation": sp.Sum(lipschitz * moved, (index, 1, last)),
        "last phase": lipschitz * sp.sqrt(gap.subs(index, last)),
    }
    proof.concludes("l1_geometry/thm-4@summed", proof.master("excess risk", terms))


@derivation("l1_geometry/thm-4", LARGE)
def localised_mirror_descent(proof: Proof) -> None:
    """The phases' errors add up to D²ℓ/(ηn) + L²η(1 + ℓd/(nε) + ℓd log d log(1/δ)/(nε²)); η balances them."""
    proof.assumes("l1_geometry/thm-4", 3, d)
    proof.assumes("l1_geometry/thm-4", epsilon, 1)
    j = sp.Symbol("j", integer=True, positive=True)
    batches = proof.equal(
        "Σ 200·2^{−j} 2^{5j−8j}·32, the share of n_i/ℓ in b_i²",
        sp.Sum(sp.Integer(6400) * sp.Rational(1, 16) ** j, (j, 1, sp.oo)),
        sp.Rational(6400, 15),
    )
    batches = proof.at_most("rounded up", batches, sp.Integer(427))
    stability = proof.equal(
        "with 4Ση_i = 4η/15, as η_i = η/16^i",
        batches + 4 * sp.Sum(sp.Rational(1, 16) ** j, (j, 1, sp.oo)),
        427 + sp.Rational(4, 15),
    )
    share = proof.equal(
        "Σ 32·200·2^j 2^{−3j}, the share of d/ε in b_i²",
        sp.Sum(6400 * sp.Rational(1, 4) ** j, (j, 1, sp.oo)),
        sp.Rational(6400, 3),
    )
    share = proof.at_most("rounded up", share, sp.Integer(2134))
    proof.equal("Σ 32·160000·4^j 2^{−3j}, the noise", sp.Sum(5120000 * HALF**j, (j, 1, sp.oo)), 5120000)
    phases = {
        "start": 32 * D**2 * LOG2_D / (eta * n),
        "stability and batches": L**2 * eta * stability,
        "batches and noise": LOG2_D * L**2 * eta * d / (n * epsilon) * (share + 5120000 * sp.log(d) * LOG / epsilon),
        "last phase": 2 * L * sp.sqrt(A_k),
    }
    bound = proof.master("excess risk", phases)
    proof.concludes("l1_geometry/thm-4", bound, where={sp.log(d): t, d: sp.exp(t)})
    terms = {
        "start": D**2 * log_d / (eta * n),
        "stability": L**2 * eta,
        "batches": L**2 * eta * log_d * d / (n * epsilon),
        "noise": L**2 * eta * log_d * d * log_d * log_delta / (n * epsilon**2),
    }
    order = proof.master("up to constants", terms, "the same")
    step = D / L * sp.Min(sp.sqrt(log_d / n), epsilon / sp.sqrt(d * log_d * log_delta))
    value = proof.chooses(order, {eta: step}, text="choose η = (D/L) min{√(log d/n), ε/√(d log d log(1/δ))}")
    proof.concludes("l1_geometry/thm-4", value, where=NAMED, as_order=True)


thm_5 = claim(
    "l1_geometry/thm-5",
    "Theorem 5",
    "For 1 < p ≤ 2, diam_p(X) ≤ D and f L-Lipschitz in ℓ_p, Algorithm 6 makes O(log n·min(n^{3/2}√log d, n²ε/√d)) "
    "gradients and has excess risk LD·O(1/√((p−1)n) + √(d log d log(1/δ))/((p−1)nε)), without log d at p = 2.",
    kind="theorem",
    section="3.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=L * D * GENERAL,
    about=("l1_geometry/alg-6",),
    remark="Proved as Theorem 13; for p − 1 < 1/log d run it with p' = 1 + 1/log₂ d (S22).",
)


thm_5_gradients = thm_5.as_read(
    "l1_geometry/thm-5@derived",
    "Gradients of Theorems 1, 4, 5 and 13 as stated",
    "log n·min(n^{3/2}√log d, n²ε/√d).",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    relation="is",
    order=GRADIENTS,
    about=("l1_geometry/alg-6", "l1_geometry/alg-2"),
)


@derivation("l1_geometry/thm-5", LARGE)
def lp_geometry(proof: Proof) -> None:
    """Theorem 13 without its parameters."""
    proof.concludes("l1_geometry/thm-5", proof.uses("l1_geometry/thm-13@corrected", L * D * GENERAL))
