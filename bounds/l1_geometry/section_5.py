"""Section 5: strong convexity by restarts."""

import sympy as sp

from dpcheck.symbols import D, H, L, d, delta, epsilon, lambda_, m, n

from ._paper import LN, LOG, LOG_ND, H_f, claim, g_inf, modulus, width

thm_8 = claim(
    "l1_geometry/thm-8",
    "Theorem 8",
    "For λ-strongly convex losses the reduction around Algorithm 2 has excess risk LD·O(log d/n + d log³d "
    "log(1/δ)/(n²ε²)).",
    kind="theorem",
    section="5",
    quantity="excess risk",
    relation="<=",
    order=L * D * (sp.log(d) / n + d * sp.log(d) ** 3 * LOG / (n * epsilon) ** 2),
    about=("l1_geometry/proc-strongly-convex-reduction", "l1_geometry/alg-2"),
    grade="slip",
    remark="LD must be L²/λ. Where λ ≥ cL/D with a constant c of the class, L²/λ ≤ LD/c and the printed form is right; "
    "for every λ > 0, as it is printed, it is false (@literal, S13).",
)

thm_8_literal = claim(
    "l1_geometry/thm-8@literal",
    "Theorem 8 for every λ > 0",
    "One constant serves all λ, L and D: the excess risk is LD·O(log d/n + d log³d log(1/δ)/(n²ε²)).",
    kind="theorem",
    section="5",
    quantity="excess risk",
    relation="<=",
    order=L * D * (sp.log(d) / n + d * sp.log(d) ** 3 * LOG / (n * epsilon) ** 2),
    assumptions=(
        sp.Ge(d, 2),
        sp.Le(epsilon, 1),
        sp.Lt(delta, 1),
        sp.Le(g_inf, L),
        sp.Le(width, D),
        sp.Ge(modulus, lambda_),
    ),
    about=("l1_geometry/proc-strongly-convex-reduction", "l1_geometry/alg-2"),
    grade="slip",
    remark="At λ = L/(4D√n), nearly, every algorithm, private or not, has excess of the order of LD/√n on one of two "
    "laws (S13).",
)

thm_8_derived = claim(
    "l1_geometry/thm-8@derived",
    "Gradients of Theorem 8, with batches √d/ε_i",
    "The runs cost at most min{0.31 n^{3/2}√log₂ d, n²ε/(21√d)} gradients: the printed count, O(log n loglog n "
    "min(n^{3/2}√log d, n²ε/√d)), without its logarithms of n.",
    kind="theorem",
    section="5",
    origin="ours",
    quantity="gradients",
    relation="<=",
    explicit=sp.Min(
        sp.Rational(31, 100) * n ** sp.Rational(3, 2) * sp.sqrt(sp.log(d, 2)), n**2 * epsilon / (21 * sp.sqrt(d))
    ),
    about=("l1_geometry/proc-strongly-convex-reduction", "l1_geometry/alg-2"),
)

thm_8_corrected = claim(
    "l1_geometry/thm-8@corrected",
    "Theorem 8 with L²/λ",
    "The reduction has excess risk (L²/λ)·O(log d/n + d log³d log(1/δ)/(n²ε²)).",
    kind="theorem",
    section="5",
    origin="ours",
    quantity="excess risk",
    relation="<=",
    order=L**2 / lambda_ * (sp.log(d) / n + d * sp.log(d) ** 3 * LOG / (n * epsilon) ** 2),
    about=("l1_geometry/proc-strongly-convex-reduction", "l1_geometry/alg-2"),
)

SMOOTH_SQUARED = sp.log(d) * LN**2 / n + (LOG * sp.log(m) * LN**2 / (n * epsilon)) ** sp.Rational(4, 3)

thm_9 = claim(
    "l1_geometry/thm-9",
    "Theorem 9",
    "In the setting of Theorem 7 with λ-strongly convex losses and β = O(L/D), the reduction around Algorithm 3 has "
    "excess risk LD·O(log d log²n/n) + LD·O(log(1/δ) log m log²n/(nε))^{4/3}.",
    kind="theorem",
    section="5",
    quantity="excess risk",
    relation="<=",
    order=L * D * SMOOTH_SQUARED,
    about=("l1_geometry/proc-strongly-convex-reduction", "l1_geometry/alg-3"),
    grade="slip",
    remark="LD must be L²/λ; right where λ ≥ cL/D, false for every λ > 0 (@literal, S13). The proof also needs an "
    "inner algorithm whose error shrinks with the distance of its start, but the first step of Algorithm 3 has η = 1 "
    "and erases it: X must shrink from run to run (S14).",
)

thm_9_literal = claim(
    "l1_geometry/thm-9@literal",
    "Theorem 9 for every λ > 0",
    "One constant serves all λ, L and D in the windows of Theorem 7 with β ≤ L/D.",
    kind="theorem",
    section="5",
    quantity="excess risk",
    relation="<=",
    order=L * D * SMOOTH_SQUARED,
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
    about=("l1_geometry/proc-strongly-convex-reduction", "l1_geometry/alg-3"),
    grade="slip",
    remark="The family of Theorem 8, with β = 2λ, lies in the windows of Theorem 7 at n = 10^16 (S13).",
)

thm_9_derived = claim(
    "l1_geometry/thm-9@derived",
    "Gradients of Theorem 9",
    "Run i evaluates at most 4n_i/3 gradients on its n_i records, and Σn_i < n: at most 4n/3 in all, the printed O(n).",
    kind="theorem",
    section="5",
    origin="ours",
    quantity="gradients",
    relation="<=",
    explicit=sp.Rational(4, 3) * n,
    about=("l1_geometry/proc-strongly-convex-reduction", "l1_geometry/alg-3"),
)

thm_9_corrected = claim(
    "l1_geometry/thm-9@corrected",
    "Theorem 9 with L²/λ",
    "If every run is confined to the ball of its current distance bound, the excess risk is (L²/λ) times the "
    "printed rate.",
    kind="theorem",
    section="5",
    origin="ours",
    quantity="excess risk",
    relation="<=",
    order=L**2 / lambda_ * SMOOTH_SQUARED,
    about=("l1_geometry/proc-strongly-convex-reduction", "l1_geometry/alg-3"),
)

proc_reduction = claim(
    "l1_geometry/proc-strongly-convex-reduction",
    "Reduction of Section 5 (FKT20)",
    "⌈log log n⌉ runs of an algorithm for convex losses, run i from the last output on n_i = 2^{i−2}n/log n "
    "fresh records.",
    kind="procedure",
    section="5",
    origin="cited",
    about=("l1_geometry/alg-2", "l1_geometry/alg-3"),
    remark="The current distance bound D_i, which sets η, is not printed: D_1 = D, D²_{i+1} = (2/λ)·bound(D_i).",
)

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
