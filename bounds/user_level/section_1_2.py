"""Sections 1 and 2: setting, prior rates, and the linear-time algorithm."""

import sympy as sp

from dpcheck.symbols import C, D, H, L, T, d, delta, epsilon, eta, m, n, q, zeta

from ._paper import (
    LINEAR_TIME,
    LINEAR_TIME_PROVED,
    LOG_RATIO,
    LOWER,
    STATISTICAL,
    TRIVIAL,
    K,
    claim,
    h,
    r,
)

DRIFT = 4 + 8 * sp.sqrt(2 * sp.log(1 / zeta))

asm_1_1 = claim(
    "user_level/asm-1-1",
    "Assumption 1.1",
    "The domain is convex and compact, of diameter R; f(·, z) is convex and L-Lipschitz on it for every z.",
    kind="assumption",
    section="1.2",
)
asm_1_2 = claim(
    "user_level/asm-1-2",
    "Assumption 1.2",
    "f(·, z) is β-smooth for every z (in all sections but 4).",
    kind="assumption",
    section="1.2",
)
def_1_3 = claim(
    "user_level/def-1-3",
    "Definition 1.3",
    "(ε, δ)-user-level differential privacy: neighbours differ in one user's whole set of m samples, which may change "
    "to any values.",
    kind="definition",
    section="1.2",
)

lower_bound = claim(
    "user_level/fact-lower-bound",
    "Lower bound of LSA+21",
    "The excess risk of every (ε, δ)-user-level private algorithm is Ω(LR(1/√(nm) + √d/(εn√m))).",
    kind="proposition",
    section="1",
    origin="cited",
    quantity="excess risk",
    measures="excess risk",
    relation=">=",
    order=LOWER,
    remark="Quoted without proof. Checked here: an exact Bayes risk for its statistical half; for the private half "
    "only an indicative instance.",
)
lower_bound_derived = claim(
    "user_level/fact-lower-bound@derived",
    "Statistical half, by an exact Bayes risk",
    "On linear losses with z_j = ±L/√d, P(+) = (1 + v_j/√(nm))/2 and v uniform over signs, on the cube of diameter R, "
    "every algorithm has an average excess of at least (R L/(2√(nm)))(1 − TV(Bin(nm, +), Bin(nm, −))).",
    kind="proposition",
    section="1",
    origin="ours",
    quantity="average excess risk, as nm → ∞",
    relation=">=",
    explicit=D * L * STATISTICAL / 2 * (1 - sp.erf(1 / sp.sqrt(2))),
    remark="The total variation tends to 2Φ(1) − 1 = 0.683, so the constant tends to 0.1587.",
)
prior_rates = claim(
    "user_level/fact-prior-rates",
    "Prior rates and runtimes (Section 1, footnotes 2 and 3)",
    "BS23: rate 1/√(nmε) + √d/(√(nm)ε) in linear time for β < (Lε³/R)√(n³/(md³)); optimal risk in mn^{3/2} gradients "
    "for m <= max(√d, nε²/√d). AL24: optimal risk in β(nm)^{3/2} gradients, or (nm)³ + (mn)²√d without smoothness. "
    "Group privacy: 1/√(nm) + √d/(εn). At ε = 1, n = d the new algorithms are (nm)^{3/8}β^{3/4} times faster than AL24 "
    "where n^7 >= m, and n^{13/8}m^{7/4} times without smoothness.",
    kind="proposition",
    section="1",
    origin="cited",
    quantity="excess risk of group privacy",
    measures="excess risk",
    relation="<=",
    order=TRIVIAL,
    remark="The speed-up n^{13/8}m^{7/4} rests on the gradient count of Theorem 4.1 and fails for m > n^{5/2} (S6).",
)
group_privacy = claim(
    "user_level/proc-group-privacy",
    "Group-privacy baseline (footnote 3)",
    "An optimal item-level algorithm at (ε/m, δ/(me^ε)) is (ε, δ)-user-level private, with risk "
    "Õ(LR(1/√(nm) + √d/(εn))) in linear time.",
    kind="procedure",
    section="1",
    origin="cited",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=D * L * (STATISTICAL + sp.sqrt(d * sp.log(m * sp.exp(epsilon) / delta)) / (epsilon * n)),
)
group_privacy_derived = claim(
    "user_level/proc-group-privacy@derived",
    "Group privacy of size m",
    "m replacements at (ε/m, δ_0) each are (ε, δ_0 (e^ε − 1)/(e^{ε/m} − 1))-close, at most (ε, m e^ε δ_0).",
    kind="procedure",
    section="1",
    origin="ours",
    quantity="δ over δ_0",
    relation="<=",
    explicit=(sp.exp(epsilon) - 1) / (sp.exp(epsilon / m) - 1),
)

sgd = claim(
    "user_level/proc-sgd",
    "SGD(D, η, T, x_0) (Algorithm 1, line 8)",
    "One pass of projected SGD over the T = Nm samples in random order; returns the average iterate.",
    kind="procedure",
    section="2",
    quantity="gradients",
    measures="gradients",
    relation="=",
    explicit=T,
    remark="Which average is left open; that of x_0, …, x_{T−1} has the regret bound of Lemma B.3.",
)
score = claim(
    "user_level/proc-concentration-score",
    "Concentration score (Algorithms 1 and 2)",
    "s(ρ) = (1/C) Σ_{j,j'} 1(‖u_j − u_j'‖ <= ρ) lies in [1, C] and h_j counts the points within the radius of u_j; "
    "replacing one point changes s by at most 2.",
    kind="procedure",
    section="2-3",
    origin="cited",
    quantity="sensitivity",
    relation="<=",
    explicit=sp.Integer(2),
)
score_derived = claim(
    "user_level/proc-concentration-score@derived",
    "Exact sensitivity of the score",
    "Replacing r of K points changes s by at most 2r(K − r)/K for r <= K/2, attained when r equal outliers join K − r "
    "equal points: 2(C − 1)/C for one point of C.",
    kind="procedure",
    section="2-3",
    origin="ours",
    quantity="sensitivity to r of K points",
    relation="<=",
    explicit=2 * r * (K - r) / K,
    assumptions=(sp.Le(r, K / 2),),
    remark="The r changed points must stay equal among themselves, as copies of one user are.",
)
removal = claim(
    "user_level/proc-outlier-removal",
    "Outlier removal (Algorithms 1 and 2)",
    "Point j is kept with probability clip(6h_j/C − 3, 0, 1), independently; the mean of the kept points is returned.",
    kind="procedure",
    section="2-3",
    origin="cited",
    quantity="probability of keeping",
    relation="=",
    explicit=sp.Max(0, sp.Min(1, 6 * h / C - 3)),
    remark="An empty set is not provided for: a fixed point is returned here.",
)
removal_derived = claim(
    "user_level/proc-outlier-removal@derived",
    "Change of a keeping probability",
    "Replacing one point changes h_j of every other point by at most 1 and its probability by at most 6/C.",
    kind="procedure",
    section="2-3",
    origin="ours",
    quantity="change of p_j",
    relation="<=",
    explicit=6 / C,
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
alg_1_derived = claim(
    "user_level/alg-1@derived",
    "Users consumed by Algorithm 1",
    "Σ n_i = n 2^{−q}(1 − 2^{−ql}) < n 2^{−q} users, and m times as many gradients, before rounding.",
    kind="algorithm",
    section="2",
    origin="ours",
    quantity="gradients over nm",
    relation="<=",
    explicit=2**-q,
)
alg_1_literal = claim(
    "user_level/alg-1@literal",
    "Algorithm 1 without projection",
    "The printed iterates x_i stay in the domain.",
    kind="algorithm",
    section="2",
    origin="ours",
    quantity="√d σ_1 over the diameter",
    relation="<=",
    explicit=sp.Integer(1),
    grade="slip",
    remark="A sentence of ours: the paper does not say it, it only evaluates f at x_i. At m = d = 10, ε = 1, n = "
    "10^6 the noise of the first phase alone is hundreds of diameters long (S12).",
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
thm_2_1_derived = claim(
    "user_level/thm-2-1@derived",
    "The rate that the proof gives",
    "LR√(d/(nmε)) times logarithms, at most √10 times the second printed term for ε <= 10, and √ε times it for ε <= 1.",
    kind="theorem",
    section="2",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=LINEAR_TIME_PROVED,
    about=("user_level/alg-1",),
)
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

lem_2_3 = claim(
    "user_level/lem-2-3",
    "Lemma 2.3",
    "For convex, L-Lipschitz, β-smooth losses and η <= 1/β, SGD on two independent samples from one law and one start "
    "ends within ηL√(T log(dT/ζ)) with probability 1 − ζ.",
    kind="lemma",
    section="2",
    quantity="distance of the averages",
    relation="<=",
    order=eta * L * sp.sqrt(T * sp.log(d * T / zeta)),
    assumptions=(sp.Le(eta * H, 1),),
    about=("user_level/proc-sgd",),
    probability=1 - zeta,
    remark="Neither d nor T is needed inside the logarithm.",
)
lem_2_3_derived = claim(
    "user_level/lem-2-3@derived",
    "Lemma 2.3 without dimension",
    "With probability 1 − ζ all iterates of the two runs stay within ηL√T(4 + 8√(2 log(1/ζ))).",
    kind="lemma",
    section="2",
    origin="ours",
    quantity="largest distance of the iterates",
    relation="<=",
    explicit=eta * L * sp.sqrt(T) * DRIFT,
    assumptions=(sp.Le(eta * H, 2),),
    about=("user_level/proc-sgd",),
    probability=1 - zeta,
)
lem_2_3_linear = claim(
    "user_level/lem-2-3@linear",
    "Lemma 2.3 for linear losses, exactly",
    "Without projection, E‖x̃ − ỹ‖² = 2η²v(T − 1)(2T − 1)/(6T), v = E‖z − Ez‖² <= L²: the √T is necessary.",
    kind="lemma",
    section="2",
    origin="ours",
    quantity="mean squared distance, at v = L²",
    relation="=",
    explicit=eta**2 * L**2 * (T - 1) * (2 * T - 1) / (3 * T),
    about=("user_level/proc-sgd",),
)
