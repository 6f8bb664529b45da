"""Theorems 4, 8 and 9 taken at their word, and the counts of gradients of Theorems 8 and 9."""

import sympy as sp

from dpcheck.symbols import D, H, L, d, delta, epsilon, lambda_, m, n

from ._paper import (
    GRADIENTS,
    LN,
    LOG,
    LOG_ND,
    H_f,
    b_1,
    claim,
    g_inf,
    modulus,
    n_1,
    width,
)
from .section_4_5 import SMOOTH_SQUARED

thm_4_literal = claim(
    "l1_geometry/thm-4@literal",
    "Gradients of Algorithm 2 with its printed batches",
    "With b_i = max(√(n_i/log d), √(d/ε_i)), as printed, Algorithm 2 makes O(log n·min(n^{3/2}√log d, n²ε/√d)) calls.",
    kind="theorem",
    section="3.2",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=GRADIENTS,
    assumptions=(sp.Ge(n, 2), sp.Ge(d, 2), sp.Le(epsilon, 1), sp.Ge(n_1, b_1)),
    about=("l1_geometry/alg-2",),
    grade="slip",
    remark="At d = √n, ε = 1/√n the first phase alone costs n^{1/4}/log n times as much, up to a constant; the rate is "
    "small there. √d/ε_i was meant, or the root lost a factor in print (S3).",
)

thm_8_literal = claim(
    "l1_geometry/thm-8@literal",
    "Theorem 8 for every λ > 0",
    "One constant serves all λ, L and D: the excess risk is LD·O(log d/n + d log³d log(1/δ)/(n²ε²)).",
    kind="theorem",
    section="5",
    quantity="excess risk",
    measures="excess risk",
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
    measures="gradients",
    relation="<=",
    explicit=sp.Min(
        sp.Rational(31, 100) * n ** sp.Rational(3, 2) * sp.sqrt(sp.log(d, 2)), n**2 * epsilon / (21 * sp.sqrt(d))
    ),
    about=("l1_geometry/proc-strongly-convex-reduction",),
)

thm_9_literal = claim(
    "l1_geometry/thm-9@literal",
    "Theorem 9 for every λ > 0",
    "One constant serves all λ, L and D in the windows of Theorem 7 with β ≤ L/D.",
    kind="theorem",
    section="5",
    quantity="excess risk",
    measures="excess risk",
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
    measures="gradients",
    relation="<=",
    explicit=sp.Rational(4, 3) * n,
    about=("l1_geometry/proc-strongly-convex-reduction",),
)
