"""Section 4.2: Theorem 7, approximate differential privacy, and shuffling."""

from __future__ import annotations

import sympy as sp

from dpcheck.algorithms.l1_geometry.regret import ESTIMATE
from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import D, H, L, T, b, d, delta, epsilon, m, n

from ._paper import H_M, LAMBDA_7, LARGE, LN, LOG, LOG2_M, LOG_ND, X, claim, epsilon_0, log_delta, log_m
from .section_4_1 import tree

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
    "Where T = ⅔ log₂(bεβD/(L log(n/δ) log₂ m)) is whole, the excess risk is at most the bound with 2^T put in: of "
    "log(n/δ), which the order has as log(1/δ).",
    origin="ours",
    measures="",
    explicit=ESTIMATE + H * D**2 * SPENT_7 ** sp.Rational(2, 3) * (sp.Rational(6, 5) + H_M / LOG2_M),
)


@derivation("l1_geometry/thm-7@whole")
def depth_put_in(proof: Proof) -> None:
    """The bound of every T, at the printed one."""
    bound = ESTIMATE + sp.Rational(6, 5) * H * D**2 / 2**T + LAMBDA_7 * H_M
    reached = proof.uses("l1_geometry/thm-7", bound)
    proof.concludes("l1_geometry/thm-7@whole", reached.subs(T, -2 * sp.log(SPENT_7, 2) / 3))


@derivation("l1_geometry/thm-7", LARGE)
def approximate_frank_wolfe(proof: Proof) -> None:
    """The same with amplification: the gap grows with 2^{T/2} only."""
    scale = L * D * 2 ** (T / 2) * sp.log(n / delta) / (b * epsilon)
    gap = proof.argues("the gap λ(1 + log m) of report-noisy-min", "gap", "<=", scale * H_M)
    choice = (b * epsilon * H * D / (L * log_delta * log_m)) ** sp.Rational(2, 3)
    order = L * D * sp.sqrt(X) * log_delta * log_m / (b * epsilon)
    said = "choose 2^T = (bεβD/(L log(n/δ) log m))^{2/3}; log(n/δ) ≤ 2 log(1/δ)"
    tree(proof, "l1_geometry/thm-7", gap, order, choice, said)


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
