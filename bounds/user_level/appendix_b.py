"""Appendix B: proofs for the linear-time algorithm."""

import sympy as sp

from dpcheck.symbols import B, C, D, H, L, T, d, delta, epsilon, eta, m, n, p, q, sigma, tau, zeta

from ._paper import ETA, GROUPS, LINEAR_TIME, LOG_RATIO, SHARE, claim, s
from .section_1_2 import DRIFT

LOGS = 1000 * sp.log(n * d * m) * LOG_RATIO
"""σ_i over η_iL√T_i."""
FIRST = D**2 * 2 ** (p + q) * GROUPS / (2 * ETA * SHARE * n * m)
LATER = ETA * L**2 / (2 * (2**p - 1)) * (1 + 2 ** (p + q) * d * LOGS**2)
LAST = ETA * L**2 * sp.sqrt(d) * LOGS * (2 / n) ** p * sp.sqrt(2**q * SHARE * n ** (1 - q) * m / GROUPS)
ENOUGH = sp.Ge(n ** (1 - q), 100 * sp.log(n / delta) / (epsilon * SHARE))
SMOOTH = sp.Le(H, L / D * sp.sqrt(d * m * n * epsilon))

thm_b1 = claim(
    "user_level/thm-b1",
    "Theorem B.1",
    "If n^{1−q} >= 100 log(n/δ)/(ε(1 − 2^{−q})), m <= n^J, p = J + 3/2 and η = R/(L√(dmnε)), then Algorithm 1 is "
    "(ε, δ)-user-level private with risk LR·Õ(1/√(nmε) + √(d log(1/δ))/(ε√(nm))) for β <= (L/R)√(dmnε).",
    kind="theorem",
    section="B",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=LINEAR_TIME,
    assumptions=(ENOUGH, SMOOTH),
    about=("user_level/alg-1",),
    grade="proof gap",
    remark="A line of the privacy proof is false for δ < 20e^ε/(nm)² (S1), and the conclusion survives with another "
    "event: `@corrected`. The hypothesis is too weak by a constant for the last phase (S2): `@literal`.",
)
thm_b1_literal = claim(
    "user_level/thm-b1@literal",
    "The hypothesis of Theorem B.1 and the last phase",
    "n^{1−q} >= 100 log(n/δ)/(ε(1 − 2^{−q})) leaves at least one user a group in the last phase: n_l >= C.",
    kind="theorem",
    section="B",
    quantity="C/n_l",
    relation="<=",
    explicit=sp.Integer(1),
    assumptions=(ENOUGH, SMOOTH),
    about=("user_level/alg-1",),
    grade="slip",
    remark="n = 10^6, m = 10^3, ε = 10, δ = 10^{−6}, q = 1/2: N_l = 0.85. Theorem 3.1 has the right form (S2).",
)
thm_b1_enough = claim(
    "user_level/thm-b1@enough-users",
    "A hypothesis that gives the last phase its users",
    "n^{1−q} >= 100 log(20nme^ε/δ)/(ε(1 − 2^{−q})) implies N_i >= 1 for every phase, before rounding.",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="n_l/C",
    relation=">=",
    explicit=n ** (1 - q) * SHARE / GROUPS,
    assumptions=(sp.Ge(n ** (1 - q), GROUPS / SHARE),),
    about=("user_level/alg-1",),
)
thm_b1_tail = claim(
    "user_level/thm-b1@tail",
    "The Laplace tail in the privacy proof of Theorem B.1",
    "P(E_i ∩ E_i') >= 1 − δ/(10e^ε) for E_i = {|Lap(20/ε)| < 2C/15}, C = 100 log(20nme^ε/δ)/ε.",
    kind="theorem",
    section="B",
    quantity="P(not both)",
    relation="<=",
    explicit=delta / (10 * sp.exp(epsilon)),
    assumptions=(ENOUGH, SMOOTH),
    about=("user_level/alg-1",),
    grade="proof gap",
    remark="A tail is (δ/(20nme^ε))^{2/3}: true where δ >= 20e^ε/(nm)² (up to the square of the tail), false below, "
    "and below δ itself at δ = 10^{−20} (S1).",
)
thm_b1_tail_exact = claim(
    "user_level/thm-b1@tail-exact",
    "Where the tail line is true",
    "P(not both) = 2t − t² with t = (δ/(20nme^ε))^{2/3}; 2t <= δ/(10e^ε) exactly where δ >= 20e^ε/(nm)².",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="smallest δ for which 2t <= δ/(10e^ε)",
    relation="=",
    explicit=20 * sp.exp(epsilon) / (n * m) ** 2,
    about=("user_level/alg-1",),
)
thm_b1_corrected = claim(
    "user_level/thm-b1@corrected",
    "Privacy of Algorithm 1 by another event",
    "With E_i = {|Lap(20/ε)| < C/5} the tail is δ/(20nme^ε), the score stays at 3C/5 or above, and the printed σ_i "
    "exceeds what Definition A.5 asks of the kept mean at (ε/4, δ/n): no change of the algorithm.",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="P(not both)",
    relation="<=",
    explicit=delta / (10 * n * m * sp.exp(epsilon)),
    about=("user_level/alg-1",),
)
thm_b1_derived = claim(
    "user_level/thm-b1@derived",
    "Risk of Algorithm 1 with constants",
    "R²/(2η_1T_1) + Σ_{i>=2} dσ_{i−1}²/(2η_iT_i) + Σ η_iL²/2 + L√dσ_l + 3LR/(nm), summed with the printed constants, "
    "before rounding N_i.",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=FIRST + LATER + LAST + 3 * L * D / (n * m),
    assumptions=(SMOOTH,),
    about=("user_level/alg-1",),
    remark="Below LR only from about n = 2.5·10^{27} on at m = d = 10, ε = 1; with projected iterates, where dσ² may "
    "be replaced by min(R², dσ²), from 1.2·10^{20} on (S15). A statement about this bound, not about the risk.",
)
thm_b1_travel = claim(
    "user_level/thm-b1@travel",
    "Algorithm 1 with the printed constants learns nothing below n = 2^36",
    "Projected, from the centre of a ball of diameter R, on f(x, z) = <z, x>, z = ±Lu: for one of the two signs the "
    "excess is at least LR/2 − Ls, s = Σ_i η_iL(T_i − 1)/2 what SGD can travel in all phases together.",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation=">=",
    explicit=sp.Max(0, L * D / 2 - L * s),
    about=("user_level/alg-1",),
    remark="m = d = 10, ε = 1, δ = 1/(nm): at least 0.497 LR at n = 2^{20}, 0.451 at 2^{30}, 0.211 at 2^{36}, which "
    "is 117, 2,886 and 10,016 times the stated order with constant 1. No refutation: the order hides "
    "logarithms and constants of 10^3, and the derived bound proves it from 10^{20} users on.",
)
lem_b2 = claim(
    "user_level/lem-b2",
    "Lemma B.2",
    "Given equal score bits and small Laplace noise on both sides, a coupling keeps the kept means of neighbours "
    "within τ_i log(1/ζ)/C of each other with probability 1 − ζ.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="distance of the kept means",
    relation="<=",
    order=tau * sp.log(1 / zeta) / C,
    about=("user_level/alg-1", "user_level/proc-outlier-removal"),
    probability=1 - zeta,
)
lem_b2_derived = claim(
    "user_level/lem-b2@derived",
    "Lemma B.2 with constants",
    "If s >= 2C/3 on both sides, the coupled kept means are within 12τ(1 + B)/C, B the number of other points on which "
    "the coupling differs, a sum of C − 1 independent Bernoulli(<= 6/C).",
    kind="lemma",
    section="B",
    origin="ours",
    quantity="distance of the kept means",
    relation="<=",
    explicit=12 * tau * (1 + B) / C,
    about=("user_level/alg-1", "user_level/proc-outlier-removal"),
)
lem_b2_sharper = claim(
    "user_level/lem-b2@sharper",
    "Lemma B.2, sharper",
    "The same with 6τ(2 + B)/C, by way of the points that both sides keep.",
    kind="lemma",
    section="B",
    origin="ours",
    quantity="distance of the kept means",
    relation="<=",
    explicit=6 * tau * (2 + B) / C,
    about=("user_level/alg-1", "user_level/proc-outlier-removal"),
)
lem_b2_tail = claim(
    "user_level/lem-b2@tail",
    "Number of differing inclusions",
    "B < 6(e − 1) + log(1/ζ) = 10.31 + log(1/ζ) with probability 1 − ζ, since E e^B <= exp(6(e − 1)).",
    kind="lemma",
    section="B",
    origin="ours",
    quantity="B",
    relation="<=",
    explicit=6 * (sp.E - 1) + sp.log(1 / zeta),
    about=("user_level/proc-outlier-removal",),
    probability=1 - zeta,
)
lem_b3 = claim(
    "user_level/lem-b3",
    "Lemma B.3",
    "E[F(x̃) − F(y)] <= E‖y − x_0‖²/(ηT) + ηL² for the average iterate of SGD, η <= 1/β.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="excess over y",
    relation="<=",
    explicit=D**2 / (eta * T) + eta * L**2,
    assumptions=(sp.Le(eta * H, 1),),
    about=("user_level/proc-sgd",),
)
lem_b3_derived = claim(
    "user_level/lem-b3@derived",
    "Lemma B.3, sharp",
    "Half of both terms, for the average of x_0, …, x_{T−1} and without smoothness.",
    kind="lemma",
    section="B",
    origin="ours",
    quantity="excess over y",
    relation="<=",
    explicit=D**2 / (2 * eta * T) + eta * L**2 / 2,
    about=("user_level/proc-sgd",),
)
lem_b4 = claim(
    "user_level/lem-b4",
    "Lemma B.4",
    "Lemma 2.3 with its proof, which bounds the squared difference of two gradient noises by 4L².",
    kind="lemma",
    section="B",
    quantity="distance of the averages",
    relation="<=",
    order=eta * L * sp.sqrt(T * sp.log(d * T / zeta)),
    assumptions=(sp.Le(eta * H, 1),),
    about=("user_level/proc-sgd",),
    probability=1 - zeta,
    grade="slip",
    remark="4L² holds in conditional expectation; pointwise it is 16L² (S21). Probabilities and indices are mixed up "
    "(S22). Both are constants.",
)
lem_b4_literal = claim(
    "user_level/lem-b4@literal",
    "Line (6), pointwise",
    "‖g − ∇F(x) − g' + ∇F(y)‖² <= 4L² for every pair of samples.",
    kind="lemma",
    section="B",
    quantity="squared difference of gradient noises, L = 1",
    relation="<=",
    explicit=sp.Integer(4),
    grade="slip",
    remark="With opposite rare slopes at two far points it is 16(1 − p)²: 15.97 at p = 10^{−3} (S21).",
)
lem_b4_corrected = claim(
    "user_level/lem-b4@corrected",
    "Line (6) with its constant",
    "‖g − ∇F(x) − g' + ∇F(y)‖² <= 16L²; in conditional expectation at most 2L².",
    kind="lemma",
    section="B",
    origin="ours",
    quantity="squared difference of gradient noises",
    relation="<=",
    explicit=16 * L**2,
)
lem_b4_derived = claim(
    "user_level/lem-b4@derived",
    "The induction of Lemma B.4 by stopping",
    "ηL√T(4 + 8√(2 log(1/ζ))), as Lemma 2.3 without dimension.",
    kind="lemma",
    section="B",
    origin="ours",
    quantity="largest distance of the iterates",
    relation="<=",
    explicit=eta * L * sp.sqrt(T) * DRIFT,
    assumptions=(sp.Le(eta * H, 2),),
    about=("user_level/proc-sgd",),
    probability=1 - zeta,
)
eq_7 = claim(
    "user_level/fact-eq-7",
    "Equation (7)",
    "A phase loses at most dσ_{i−1}²/(η_iT_i) + η_iL² against the noiseless output of the phase before.",
    kind="proposition",
    section="B",
    quantity="excess over the previous phase",
    relation="<=",
    explicit=d * sigma**2 / (eta * T) + eta * L**2,
    about=("user_level/alg-1",),
)
eq_7_derived = claim(
    "user_level/fact-eq-7@derived",
    "Equation (7), sharp and clipped",
    "Half of both terms; with projected iterates the first is at most R²/(2η_iT_i) as well.",
    kind="proposition",
    section="B",
    origin="ours",
    quantity="excess over the previous phase",
    relation="<=",
    explicit=sp.Min(D**2, d * sigma**2) / (2 * eta * T) + eta * L**2 / 2,
    about=("user_level/alg-1",),
)
