"""Section 5: strongly convex losses by restarts, Theorems 8 and 9."""

from __future__ import annotations

import sympy as sp

from dpcheck.algorithms.l1_geometry.regret import LEAVES, PHASES
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, H, L, T, b, d, delta, epsilon, lambda_, m, n

from ._paper import (
    LARGE,
    LN,
    LOG,
    LOG_ND,
    NAMED,
    NONSMOOTH,
    H_f,
    claim,
    g_inf,
    log_d,
    log_delta,
    log_m,
    log_n,
    modulus,
    width,
)

thm_8 = claim(
    "l1_geometry/thm-8",
    "Theorem 8",
    "For λ-strongly convex losses the reduction around Algorithm 2 has excess risk LD·O(log d/n + d log³d "
    "log(1/δ)/(n²ε²)).",
    kind="theorem",
    section="5",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=L * D * (sp.log(d) / n + d * sp.log(d) ** 3 * LOG / (n * epsilon) ** 2),
    about=("l1_geometry/proc-strongly-convex-reduction",),
    grade="slip",
    remark="LD must be L²/λ. Where λ ≥ cL/D with a constant c of the class, L²/λ ≤ LD/c and the printed form is right; "
    "for every λ > 0, as it is printed, it is false (@literal, S13).",
)


thm_8_literal = thm_8.as_read(
    "l1_geometry/thm-8@literal",
    "Theorem 8 for every λ > 0",
    "One constant serves all λ, L and D: the excess risk is LD·O(log d/n + d log³d log(1/δ)/(n²ε²)).",
    assumptions=(
        sp.Ge(d, 2),
        sp.Le(epsilon, 1),
        sp.Lt(delta, 1),
        sp.Le(g_inf, L),
        sp.Le(width, D),
        sp.Ge(modulus, lambda_),
    ),
    grade="slip",
    remark="At λ = L/(4D√n), nearly, every algorithm, private or not, has excess of the order of LD/√n on one of two "
    "laws (S13).",
)


thm_8_corrected = thm_8.as_read(
    "l1_geometry/thm-8@corrected",
    "Theorem 8 with L²/λ",
    "The reduction has excess risk (L²/λ)·O(log d/n + d log³d log(1/δ)/(n²ε²)).",
    origin="ours",
    order=L**2 / lambda_ * (sp.log(d) / n + d * sp.log(d) ** 3 * LOG / (n * epsilon) ** 2),
)


thm_8_derived = thm_8.as_read(
    "l1_geometry/thm-8@derived",
    "Gradients of Theorem 8, with batches √d/ε_i",
    "The runs cost at most min{0.31 n^{3/2}√log₂ d, n²ε/(21√d)} gradients: the printed count, O(log n loglog n "
    "min(n^{3/2}√log d, n²ε/√d)), without its logarithms of n.",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    explicit=sp.Min(
        sp.Rational(31, 100) * n ** sp.Rational(3, 2) * sp.sqrt(sp.log(d, 2)), n**2 * epsilon / (21 * sp.sqrt(d))
    ),
    about=("l1_geometry/proc-strongly-convex-reduction",),
)


thm_8_summed = thm_8.as_read(
    "l1_geometry/thm-8@summed",
    "Risk of the restarts, last run",
    "The bound `thm-4@summed` of the last run, at the distance that the earlier ones prove in expectation: D_{i+1}² = "
    "(2/λ) times the bound of run i at D_i.",
    origin="ours",
    explicit=PHASES,
    about=("l1_geometry/proc-strongly-convex-reduction",),
)


@derivation("l1_geometry/thm-8@summed")
def last_run_of_descent(proof: Proof) -> None:
    """The last run's bound, at the distance that its start has in expectation."""
    proof.concludes("l1_geometry/thm-8@summed", proof.uses("l1_geometry/thm-4@summed", PHASES))


@derivation("l1_geometry/thm-8@derived")
def gradients_of_all_runs(proof: Proof) -> None:
    """Run i has at most half of the records, the run before it half as many: geometric sums of Theorem 4's counts."""
    runs = sp.Symbol("runs", integer=True, positive=True)
    counts = (sp.Rational(55, 100) * n ** sp.Rational(3, 2) * sp.sqrt(sp.log(d, 2)), n**2 * epsilon / (7 * sp.sqrt(d)))
    proof.uses("l1_geometry/thm-4@corrected", sp.Min(*counts))
    by_records, by_budget = (
        proof.equal(
            "Σ over runs of n/2, n/4, … records",
            lambda count=count: sp.Sum(count.subs(n, n / 2**runs), (runs, 1, sp.oo)),
            sp.summation(sp.powsimp(sp.expand(count.subs(n, n / 2**runs)), force=True), (runs, 1, sp.oo)),
        )
        for count in counts
    )
    rounded = sp.Rational(31, 100) * n ** sp.Rational(3, 2) * sp.sqrt(sp.log(d, 2))
    by_records = proof.at_most("rounded up", by_records, rounded, {d: 2 ** sp.Symbol("log2_d", positive=True)})
    proof.concludes("l1_geometry/thm-8@derived", sp.Min(by_records, by_budget))


def reduction(proof: Proof, label: str, rate: sp.Expr, where: dict[sp.Basic, sp.Basic]) -> None:
    """D²_{i+1} ≤ (2/λ)LD_iρ, ρ the rate for LD = 1: the limit, and its excess."""
    rho, limit = sp.symbols("rho limit", positive=True)
    limit = 2 * L * rho / lambda_
    proof.equal("D_∞² = (2/λ)LD_∞ρ", lambda: limit**2, 2 / lambda_ * L * limit * rho)
    excess = proof.equal("LD_∞ρ", lambda: L * limit * rho, 2 * L**2 * rho**2 / lambda_)
    proof.gap(
        "L²/λ is at most LD",
        L**2 / lambda_,
        L * D,
        {L: 1, lambda_: sp.Rational(1, 10), D: 1},
        "strong convexity gives the opposite, L²/λ ≥ LD/2 (S13)",
    )
    proof.concludes(label, excess.subs(rho, rate), where=where)


@derivation("l1_geometry/thm-8@corrected", LARGE)
def strongly_convex_nonsmooth(proof: Proof) -> None:
    """Restarted Theorem 4: the rate squares, and LD becomes L²/λ."""
    rate = proof.uses("l1_geometry/thm-4", L * D * NONSMOOTH, as_order=True) / (L * D)
    reduction(proof, "l1_geometry/thm-8@corrected", rate.subs(NAMED), NAMED)


SMOOTH_SQUARED = sp.log(d) * LN**2 / n + (LOG * sp.log(m) * LN**2 / (n * epsilon)) ** sp.Rational(4, 3)


thm_9 = claim(
    "l1_geometry/thm-9",
    "Theorem 9",
    "In the setting of Theorem 7 with λ-strongly convex losses and β = O(L/D), the reduction around Algorithm 3 has "
    "excess risk LD·O(log d log²n/n) + LD·O(log(1/δ) log m log²n/(nε))^{4/3}.",
    kind="theorem",
    section="5",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=L * D * SMOOTH_SQUARED,
    about=("l1_geometry/proc-strongly-convex-reduction",),
    grade="slip",
    remark="LD must be L²/λ; right where λ ≥ cL/D, false for every λ > 0 (@literal, S13). The proof also needs an "
    "inner algorithm whose error shrinks with the distance of its start, but the first step of Algorithm 3 has η = 1 "
    "and erases it: X must shrink from run to run (S14).",
)


thm_9_literal = thm_9.as_read(
    "l1_geometry/thm-9@literal",
    "Theorem 9 for every λ > 0",
    "One constant serves all λ, L and D in the windows of Theorem 7 with β ≤ L/D.",
    assumptions=(
        sp.Le(m, 2 * d),
        sp.Le(epsilon, 1),
        sp.Le(delta, 1 / n),
        sp.Le(g_inf, L),
        sp.Le(width, D),
        sp.Ge(modulus, lambda_),
        sp.Le(H_f, H),
        sp.Le(H, L / D),
        sp.Le(L * LOG_ND * sp.log(m) * LN**2 / (n * epsilon * D), H),
        sp.Le(H, sp.sqrt(n) * L * LOG_ND * sp.log(m) / (epsilon * D * LN)),
        sp.Le(
            epsilon,
            (L * LOG_ND * sp.log(m)) ** sp.Rational(1, 4) * sp.sqrt(LN) / (n * H * D) ** sp.Rational(1, 4),
        ),
    ),
    grade="slip",
    remark="The family of Theorem 8, with β = 2λ, lies in the windows of Theorem 7 at n = 10^16 (S13).",
)


thm_9_corrected = thm_9.as_read(
    "l1_geometry/thm-9@corrected",
    "Theorem 9 with L²/λ",
    "If every run is confined to the ball of its current distance bound, the excess risk is (L²/λ) times the "
    "printed rate.",
    origin="ours",
    order=L**2 / lambda_ * SMOOTH_SQUARED,
)


thm_9_noise = thm_9.as_read(
    "l1_geometry/thm-9@noise",
    "Theorem 9 with L²/λ and the logarithm of its noise",
    "The rate of `@corrected` with log(n/δ), which is in the noise of every selection, in place of log(1/δ).",
    origin="ours",
    quantity="excess risk, with the logarithm of the noise",
    measures="",
    order=L**2 / lambda_ * (sp.log(d) * LN**2 / n + (LOG_ND * sp.log(m) * LN**2 / (n * epsilon)) ** sp.Rational(4, 3)),
)


thm_9_derived = thm_9.as_read(
    "l1_geometry/thm-9@derived",
    "Gradients of Theorem 9",
    "Run i evaluates at most 4n_i/3 gradients on its n_i records, and Σn_i < n: at most 4n/3 in all, the printed O(n).",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    explicit=sp.Rational(4, 3) * n,
    about=("l1_geometry/proc-strongly-convex-reduction",),
)


thm_9_summed = thm_9.as_read(
    "l1_geometry/thm-9@summed",
    "Risk of the restarts, last run",
    "The bound `thm-6@summed` of the last run, at the distance that the earlier ones prove in expectation: D_{i+1}² = "
    "(2/λ) times the bound of run i at D_i.",
    origin="ours",
    explicit=LEAVES,
    about=("l1_geometry/proc-strongly-convex-reduction",),
)


@derivation("l1_geometry/thm-9@summed")
def last_run_of_the_tree(proof: Proof) -> None:
    """The last run's bound, at the distance that its start has in expectation."""
    proof.concludes("l1_geometry/thm-9@summed", proof.uses("l1_geometry/thm-6@summed", LEAVES))


@derivation("l1_geometry/thm-9@derived")
def gradients_of_all_trees(proof: Proof) -> None:
    """With one phase, the most that is asked for: two thirds of the records at the root, each third of them twice."""
    records = proof.uses("l1_geometry/alg-3", sp.Rational(3, 2) * b, {T: 1})
    spent = proof.uses("l1_geometry/alg-3@derived", 2 * b, {T: 1})
    most = proof.argues("a longer walk has batches of n/log²n, and fewer gradients", "gradients", "<=", spent)
    largest = sp.solve(records - n, b)[0]
    reached = proof.equal("b = 2n/3", lambda: most.subs(b, largest), sp.Rational(4, 3) * n)
    proof.concludes("l1_geometry/thm-9@derived", reached)


@derivation("l1_geometry/thm-9@corrected", LARGE)
def strongly_convex_smooth(proof: Proof) -> None:
    """Restarted Theorem 7 at β ≤ L/D: the rate squares, and LD becomes L²/λ."""
    smooth = sp.sqrt(log_d) * log_n / sp.sqrt(n) + (log_delta * log_m * log_n**2 / (n * epsilon)) ** sp.Rational(2, 3)
    proof.uses("l1_geometry/thm-7", L * D * smooth, {**NAMED, H: L / D}, as_order=True)
    reduction(proof, "l1_geometry/thm-9@corrected", smooth, NAMED)


@derivation("l1_geometry/thm-9@noise", LARGE)
def with_the_logarithm_of_the_noise(proof: Proof) -> None:
    """log(n/δ) = log n + log(1/δ) is not less than log(1/δ)."""
    excess = (
        L**2 / lambda_ * (log_d * log_n**2 / n + (log_delta * log_m * log_n**2 / (n * epsilon)) ** sp.Rational(4, 3))
    )
    proof.uses("l1_geometry/thm-9@corrected", excess, NAMED, as_order=True)
    larger = proof.order_at_most("log(1/δ) ≤ log(n/δ)", excess, excess.subs(log_delta, log_n + log_delta))
    proof.concludes("l1_geometry/thm-9@noise", larger, where={**NAMED, LOG_ND: log_n + log_delta}, as_order=True)


fact_fkt = claim(
    "l1_geometry/fact-fkt-5-1",
    "FKT20, Theorem 5.1",
    "A convex-case algorithm with excess risk D_0ρ(n), D_0 the distance of its start, gives one for λ-strongly convex "
    "losses with excess risk O(ρ(n)²/λ) up to logarithms.",
    kind="theorem",
    section="5",
    origin="cited",
    about=("l1_geometry/proc-strongly-convex-reduction",),
)
