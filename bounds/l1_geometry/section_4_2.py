"""Section 4.2: Theorem 7, approximate differential privacy, and shuffling."""

from __future__ import annotations

import sympy as sp

from dpcheck.algorithms.l1_geometry.regret import ESTIMATE
from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import D, H, L, T, b, d, delta, epsilon, m, n, t

from ._paper import (
    H_M,
    LAMBDA_7,
    LAMBDA_KAPPA,
    LARGE,
    LN,
    LOG,
    LOG2_M,
    LOG_ND,
    Delta,
    X,
    claim,
    epsilon_0,
    kappa,
    lam,
    log_delta,
    log_m,
)
from .section_4_1 import VARIANCE, tree

thm_7 = claim(
    "l1_geometry/thm-7",
    "Theorem 7",
    "For δ ≤ 1/n, β and ε in their windows, b = n/log²n, λ_{t,s} = LD2^{T/2} log(n/δ)/(bε) and T = ⅔ log(bεβD/(L "
    "log(n/δ) log m)), Algorithm 3 is (ε,δ)-DP, queries n gradients and has excess risk O(D(L+βD)√log d log n/√n) + "
    "O(√β L D² log(1/δ) log m log²n/(nε))^{2/3}.",
    kind="theorem",
    section="4.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=D * (L + H * D) * sp.sqrt(sp.log(d)) * LN / sp.sqrt(n)
    + (sp.sqrt(H) * L * D**2 * LOG * sp.log(m) * LN**2 / (n * epsilon)) ** sp.Rational(2, 3),
    explicit=ESTIMATE + sp.Rational(6, 5) * H * D**2 / 2**T + LAMBDA_7 * H_M,
    assumptions=(sp.Ge(T, 1), sp.Le(2**T, b), sp.Le(delta, 1 / n)),
    about=("l1_geometry/alg-3",),
    grade="proof gap",
    remark="Lemma 4.4 proves (O(ε), 21δ), so ε and δ must be rescaled (S10). The conclusion stands where 4·2^{T/2} ≤ "
    "log(n/δ): there the mechanism is even ε-DP.",
)


SPENT_7 = L * LOG_ND * LOG2_M / (b * epsilon * H * D)
"""(2^T)^(-3/2) of Theorem 7 where its T is whole, with base-2 logarithms of vertices."""


thm_7_whole = thm_7.as_read(
    "l1_geometry/thm-7@whole",
    "Theorem 7 at its own depth",
    "Where T = ⅔ log₂(bεβD/(L log(n/δ) log₂ m)) is whole and m ≥ 5, the excess risk is at most D√(2 log(2d)(L² + "
    "16β²D²)/b) + 2.4 βD²/2^T: of log(n/δ), for which the order has log(1/δ).",
    origin="ours",
    quantity="excess risk, at its own depth",
    measures="",
    explicit=ESTIMATE + sp.Rational(12, 5) * H * D**2 * SPENT_7 ** sp.Rational(2, 3),
    assumptions=(*thm_7.assumptions, sp.Ge(m, 5)),
)


@derivation("l1_geometry/thm-7@whole")
def depth_put_in(proof: Proof) -> None:
    """The bound of every T, at the printed one, where it speaks of it."""
    proof.assumes("l1_geometry/thm-7@whole", 2**T, b)
    proof.assumes("l1_geometry/thm-7@whole", delta, 1 / n)
    proof.assumes("l1_geometry/thm-7@whole", 5, m)
    bound = ESTIMATE + sp.Rational(6, 5) * H * D**2 / 2**T + LAMBDA_7 * H_M
    reached = proof.uses("l1_geometry/thm-7", bound).subs(T, -2 * sp.log(SPENT_7, 2) / 3)
    curvature = H * D**2 * SPENT_7 ** sp.Rational(2, 3)
    both = proof.equal(
        "both terms have β D²/2^T", lambda: reached - ESTIMATE, curvature * (sp.Rational(6, 5) + H_M / LOG2_M)
    )
    more = sp.Symbol("more", positive=True)
    proof.at_most("log 2 is below 0.7", sp.log(2), sp.Rational(7, 10))
    most = sp.Rational(6, 5) * sp.log(m)
    proof.at_most("from m = 5 on", sp.Rational(7, 10) * H_M, most, {sp.log(m): sp.Rational(3, 2) + more})
    proof.concludes("l1_geometry/thm-7@whole", ESTIMATE + both.subs(H_M / LOG2_M, sp.Rational(6, 5)))


@derivation("l1_geometry/thm-7", LARGE)
def approximate_frank_wolfe(proof: Proof) -> None:
    """The same with amplification: the gap grows with 2^{T/2} only."""
    proof.assumes("l1_geometry/thm-7", 2**T, b)
    proof.assumes("l1_geometry/thm-7", delta, 1 / n)
    scale = L * D * 2 ** (T / 2) * sp.log(n / delta) / (b * epsilon)
    gap = proof.argues("the gap λ(1 + log m) of report-noisy-min", "gap", "<=", scale * H_M)
    choice = (b * epsilon * H * D / (L * log_delta * log_m)) ** sp.Rational(2, 3)
    order = L * D * sp.sqrt(X) * log_delta * log_m / (b * epsilon)
    said = "choose 2^T = (bεβD/(L log(n/δ) log m))^{2/3}; log(n/δ) ≤ 2 log(1/δ)"
    tree(proof, "l1_geometry/thm-7", gap, order, choice, said)


thm_7_concentrated = thm_7.as_read(
    "l1_geometry/thm-7@concentrated",
    "Privacy of Algorithm 3 without shuffling",
    "For β-smooth losses, steps 2/(2^t + ℓ(s)), every allocation of the records and every noise λ, Algorithm 3 is "
    "8κ2^T(LD/(bλ))²-zCDP, κ = max(1/4, βD/L).",
    origin="ours",
    quantity="ρ of zCDP",
    measures="",
    order=None,
    explicit=8 * kappa * 2**T * (L * D / (b * lam)) ** 2,
    assumptions=(sp.Le(2**T, b),),
)
thm_7_private = thm_7.as_read(
    "l1_geometry/thm-7@private",
    "Theorem 7 corrected, for every allocation",
    "With λ_{t,s} = 8LD√(κ2^T log(1/δ))/(bε), κ = max(1/4, βD/L), and steps 2/(2^t + ℓ(s)), for every allocation of "
    "the records, every δ and ε <= 2 log(1/δ), Algorithm 3 is (ε, δ)-DP, and with 2^T within a factor √2 of "
    "(3bεβD/(10L√(κ log(1/δ))(1 + log m)))^{2/3}, in [2, b], its excess risk is at most D√(2 log(2d)(L² + "
    "16β²D²)/b) + (√2 + 2^{3/4})(96β/5)^{1/3}(LD²√(κ log(1/δ))(1 + log m)/(bε))^{2/3}, from b(T + T(T+1)/4) records.",
    origin="ours",
    order=D * (L + H * D) * sp.sqrt(sp.log(d)) * LN / sp.sqrt(n)
    + (sp.sqrt(H) * L * D**2 * sp.sqrt(sp.Max(1, H * D / L) * LOG) * sp.log(m) * LN**2 / (n * epsilon))
    ** sp.Rational(2, 3),
    explicit=ESTIMATE
    + (sp.sqrt(2) + 2 ** sp.Rational(3, 4))
    * (sp.Rational(96, 5) * H) ** sp.Rational(1, 3)
    * (L * D**2 * sp.sqrt(kappa * LOG) * H_M / (b * epsilon)) ** sp.Rational(2, 3),
    assumptions=(sp.Ge(T, 1), sp.Le(2**T, b), sp.Le(epsilon, 2 * LOG)),
    quantity="excess risk, as corrected",
    measures="",
    remark="No shuffling, no cap on ε and no δ <= 1/n; at most the printed rate while βD <= L log(1/δ), and √(βD/(L "
    "log(1/δ)))^{2/3} times it beyond.",
)


@derivation("l1_geometry/thm-7@concentrated")
def selections_of_bent_losses(proof: Proof) -> None:
    """A right child's two gradients are taken at points that are close: smoothness makes up for its small batch."""
    depth = sp.Symbol("j", positive=True)
    bend = sp.Symbol("bend", positive=True)  # βD/L
    leaves = 2 ** (t - depth)
    proof.assumes("l1_geometry/thm-7@concentrated", 2**T, b)  # each set holds a record
    way = proof.argues(
        "the 2^{t−j} leaves of the left sibling have steps of at most 2/2^t, each towards a vertex at most D away",
        "‖x_s − x_parent‖_1", "<=", D * leaves * 2 / 2**t,
    )  # fmt: skip
    bent = proof.equal("β times that, in units of L", lambda: (H * way / L).subs(H, bend * L / D), 2 * bend / 2**depth)
    moved = proof.argues(
        "two differences, of at most 2L and of at most β times the way, over 2^{−j}b records; min(x, y) <= √(xy)",
        "‖v − v'‖_∞", "<=", 2 * L * sp.sqrt(2 * bent) * 2**depth / b,
    )  # fmt: skip
    leaf = proof.uses("l1_geometry/proc-report-noisy-max", D * moved / lam, {Delta: moved})
    squared = proof.argues("ε-DP is ε²/2-zCDP, and ρ adds up over the leaves below", "ρ", "<=", leaves * leaf**2 / 2)
    below = proof.equal("at every depth", lambda: squared, 8 * bend * 2**t * (L * D / (b * lam)) ** 2)
    proof.equal(
        "the root's records, which enter by one gradient, at βD/L = 1/4",
        lambda: 2**t * (D * (2 * L / b) / lam) ** 2 / 2, below.subs(bend, sp.Rational(1, 4)),
    )  # fmt: skip
    proof.argues("a record is in one set of one phase, t <= T, and ρ grows in t and βD/L")
    proof.concludes("l1_geometry/thm-7@concentrated", below.subs({bend: kappa, t: T}))


@derivation("l1_geometry/thm-7@private")
def depth_without_shuffling(proof: Proof) -> None:
    """ρ = ε²/(8 log(1/δ)) at that noise; curvature against the gap of the selections, at the power of two beside it."""
    proof.assumes("l1_geometry/thm-7@private", 2**T, b)
    noise = proof.uses("l1_geometry/alg-3@concentrated-noise", LAMBDA_KAPPA)
    rho = proof.uses("l1_geometry/thm-7@concentrated", 8 * kappa * 2**T * (L * D / (b * lam)) ** 2)
    spent = proof.equal("at that noise", lambda: rho.subs(lam, noise), epsilon**2 / (8 * LOG))
    share = sp.Symbol("share", positive=True)  # ε/log(1/δ), at most 2
    total = proof.argues("ρ-zCDP is (ρ + 2√(ρ log(1/δ)), δ)-DP", "ε", "<=", spent + 2 * sp.sqrt(spent * LOG))
    over = proof.equal(
        "over ε, in units of log(1/δ)",
        lambda: total.subs(epsilon, share * LOG) / (share * LOG),
        share / 8 + sp.sqrt(2) / 2,
    )
    proof.at_most("for ε <= 2 log(1/δ)", lambda: over.subs(share, 2), sp.Integer(1))
    gap = proof.argues("the winner's gap is at most λ(1 + log m)", "gap", "<=", noise * H_M)
    curvature = proof.argues(
        "the squared steps add up to less than 1.2/2^T", "curvature", "<=", sp.Rational(6, 5) * H * D**2 / 2**T
    )
    variance = proof.uses("l1_geometry/lem-4-2", VARIANCE / D)
    unit = sp.Symbol("unit", positive=True)  # LD²√(κ log(1/δ))(1 + log m)/(bε)
    rising = proof.equal(
        "in units of D over X = 2^T",
        lambda: gap.subs(2**T, X),
        8 * L * D * sp.sqrt(kappa * X * LOG) * H_M / (b * epsilon),
    )
    deep = 8 * unit / D * sp.sqrt(X) + curvature.subs(2**T, X)
    proof.equal(
        "the same",
        lambda: (8 * unit / D * sp.sqrt(X)).subs(unit, L * D**2 * sp.sqrt(kappa * LOG) * H_M / (b * epsilon)),
        rising,
    )
    best = (sp.Rational(3, 10) * H * D**3 / unit) ** sp.Rational(2, 3)
    proof.equal("stationary there", lambda: sp.diff(deep, X).subs(X, best), 0)
    value = (sp.Rational(96, 5) * H) ** sp.Rational(1, 3) * unit ** sp.Rational(2, 3)
    for off, cost in (
        (1 / sp.sqrt(2), sp.sqrt(2) + 2 ** sp.Rational(3, 4)),
        (sp.sqrt(2), 1 / sp.sqrt(2) + 2 ** sp.Rational(5, 4)),
    ):
        proof.equal("a factor √2 away", lambda off=off: deep.subs(X, off * best), cost * value)
    proof.at_most(
        "the shallower one costs more", 1 / sp.sqrt(2) + 2 ** sp.Rational(5, 4), sp.sqrt(2) + 2 ** sp.Rational(3, 4)
    )
    proof.argues("the sum is convex in √X, so it is no larger in between")
    most = (sp.sqrt(2) + 2 ** sp.Rational(3, 4)) * value
    proof.concludes(
        "l1_geometry/thm-7@private",
        D * variance + most.subs(unit, L * D**2 * sp.sqrt(kappa * LOG) * H_M / (b * epsilon)),
    )


asm_thm7 = claim(
    "l1_geometry/asm-thm7",
    "Windows of Theorem 7",
    "L log(n/δ) log m log²n/(nεD) ≤ β ≤ √n L log(n/δ) log m/(εD log n), ε ≤ (L log(n/δ) log m)^{1/4}√log "
    "n/(nβD)^{1/4}.",
    kind="assumption",
    section="4.2",
    remark="The ends say that the logarithm's argument is at least 1 and 2^T ≤ b; the last says ε ≤ 2^{-T/2}. The "
    "regime is empty below n of about 10⁵.",
)


window_7 = underived(
    "l1_geometry/asm-thm7", "ranges of β and ε, not a bound; that their ends are those of T is checked"
)


lem_4_4 = claim(
    "l1_geometry/lem-4-4",
    "Lemma 4.4",
    "If 2^T ≤ b, δ ≤ 1/n, ε ≤ √(2^{-T} log(1/δ)) and λ_{t,s} = LD2^{T/2} log(n/δ)/(bε), Algorithm 3 is (O(ε), 21δ)-DP.",
    kind="lemma",
    section="4.2",
    quantity="epsilon at 21δ",
    relation="<=",
    order=epsilon,
    assumptions=(sp.Le(2**T, b), sp.Le(delta, 1 / n), sp.Le(epsilon, sp.sqrt(2 ** (-T) * LOG))),
    about=("l1_geometry/alg-3", "l1_geometry/proc-shuffled-allocation"),
    grade="proof gap",
    remark="The losses of a leaf are 2 (root) and 4 (right child) times the printed one, and 2^{j−1}, not 2^j nodes of "
    "depth j are shuffled (S10, S11): the O(ε) absorbs both.",
)


lem_4_4_derived = lem_4_4.as_read(
    "l1_geometry/lem-4-4@derived",
    "Pure privacy under Lemma 4.4",
    "With that λ and any allocation Algorithm 3 is 4·2^{T/2}ε/log(n/δ)-DP.",
    origin="ours",
    quantity="ε that is spent",
    explicit=4 * 2 ** (T / 2) * epsilon / LOG_ND,
    about=("l1_geometry/alg-3",),
    assumptions=(),
)


lem_4_5 = claim(
    "l1_geometry/lem-4-5",
    "Lemma 4.5 (FMT20, Theorem 3.8)",
    "n adaptive (ε_0,δ_0)-DP local randomisers on shuffled records are (ε, δ + 20nδ_0)-DP with ε = "
    "O(ε_0√(log(1/δ)/n)), "
    "for ε_0 = O(1) with ε_0 ≤ log(n/(16 log(2/δ))).",
    kind="lemma",
    section="4.2",
    origin="cited",
    quantity="epsilon at δ + 20nδ_0",
    relation="<=",
    order=epsilon_0 * sp.sqrt(LOG / n),
    about=("l1_geometry/proc-shuffled-allocation",),
)


shuffling = underived(
    "l1_geometry/lem-4-5", "cited, with an unnamed constant and a range of ε_0; its exact form is in the accountant"
)


proc_shuffled = claim(
    "l1_geometry/proc-shuffled-allocation",
    "Sampling procedure in the proof of Lemma 4.4",
    "Given phase and depth, all but one place of each of the p sets are filled without the last record, then p records "
    "go to the p free places by a uniform permutation: the uniform allocation again.",
    kind="procedure",
    section="4.2",
    about=("l1_geometry/alg-3",),
    remark="'p(r−1)' should be r − p; only right children hold samples, so p = 2^{j−1} (S11).",
)
