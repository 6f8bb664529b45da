"""Section 3: definitions, the noise condition, moments, and what they imply."""

import sympy as sp

from dpcheck.symbols import C, L, delta, epsilon, lambda_, n, r_k, rho, sigma, t, theta

from ._paper import LOG, claim

def_1 = claim(
    "tsybakov/def-1",
    "Definition 1",
    "(ε, δ)-differential privacy; neighbours have the same size and differ in one record.",
    kind="definition",
    section="3",
    origin="cited",
)

def_2 = claim(
    "tsybakov/def-2",
    "Definition 2",
    "ρ-zCDP: the Rényi divergence of order a between the outputs on neighbours is at most ρa for every a > 1.",
    kind="definition",
    section="3",
    origin="cited",
)

def_3 = claim(
    "tsybakov/def-3",
    "Definition 3 (Gaussian mechanism)",
    "Gaussian noise of variance 16Δ² log(1/δ)/ε² a coordinate is (ε, δ)-DP for 0 < ε, δ <= 1.",
    kind="definition",
    section="3",
    origin="cited",
    quantity="μ of the mechanism",
    relation="=",
    explicit=epsilon / (4 * sp.sqrt(LOG)),
    grade="slip",
    remark="False for δ near 1 (S16); at δ = 1e-5 the noise of a nominal ε = 1 is really 0.244-DP.",
    assumptions=(
        sp.Le(epsilon, 1),
        sp.Lt(delta, 1),
    ),
)

def_3_literal = claim(
    "tsybakov/def-3@literal",
    "Definition 3 for every δ <= 1",
    "The same for every 0 < δ < 1.",
    kind="definition",
    section="3",
    origin="cited",
    grade="slip",
    remark="At ε = 1, δ = 0.999 the exact δ is 0.99987.",
    assumptions=(
        sp.Le(epsilon, 1),
        sp.Lt(delta, 1),
    ),
)

def_3_corrected = claim(
    "tsybakov/def-3@corrected",
    "Definition 3 for δ <= 0.99",
    "Gaussian noise of variance 16Δ² log(1/δ)/ε² is (ε, δ)-DP for 0 < ε <= 1 and 0 < δ <= 0.99.",
    kind="definition",
    section="3",
    origin="ours",
    quantity="zCDP ρ",
    relation="=",
    explicit=epsilon**2 / (32 * LOG),
    assumptions=(
        sp.Le(epsilon, 1),
        sp.Le(delta, sp.Rational(99, 100)),
    ),
)

def_4 = claim(
    "tsybakov/def-4",
    "Definition 4",
    "DP-SCO: a private w from n i.i.d. records with a small population excess risk F(w) − min F over W, for convex "
    "losses.",
    kind="definition",
    section="3",
    origin="cited",
)

def_5 = claim(
    "tsybakov/def-5",
    "Definition 5",
    "f is L-Lipschitz on W: |f(w) − f(w')| <= L‖w − w'‖.",
    kind="definition",
    section="3",
    origin="cited",
)

def_6 = claim(
    "tsybakov/def-6",
    "Definition 6",
    "f is β-smooth on W: f(w) <= f(w') + <∇f(w'), w − w'> + (β/2)‖w − w'‖².",
    kind="definition",
    section="3",
    origin="cited",
)

def_7 = claim(
    "tsybakov/def-7",
    "Definition 7",
    "F is λ-strongly convex on W: F(w) >= F(w') + <∇F(w'), w − w'> + (λ/2)‖w − w'‖².",
    kind="definition",
    section="3",
    origin="cited",
)

def_8 = claim(
    "tsybakov/def-8",
    "Definition 8 (Tsybakov noise condition)",
    "F satisfies (θ, λ)-TNC, θ > 1: F(w) − F* >= λ‖w − w*‖^θ on W, w* the nearest minimiser.",
    kind="definition",
    section="3",
    origin="cited",
)

fact_sc_tnc = claim(
    "tsybakov/fact-sc-tnc",
    "After Definition 8",
    "A λ-strongly convex F satisfies (2, λ/2)-TNC.",
    kind="lemma",
    section="3",
    quantity="TNC constant at θ = 2",
    relation=">=",
    explicit=lambda_ / 2,
    grade="slip",
    remark="Section 7 speaks of (2, λ)-TNC, which λ‖w‖²/2 does not satisfy (S14).",
)

fact_sc_tnc_literal = claim(
    "tsybakov/fact-sc-tnc@literal",
    "Strong convexity in Section 7",
    "A λ-strongly convex F satisfies (2, λ)-TNC.",
    kind="lemma",
    section="7",
    quantity="TNC constant at θ = 2",
    relation=">=",
    explicit=lambda_,
    grade="slip",
    remark="λ‖w‖²/2 has the constant λ/2 exactly.",
)

fact_tnc_monotone = claim(
    "tsybakov/fact-tnc-monotone",
    "After Definition 8",
    "(θ, λ)-TNC implies (θ', λ)-TNC for every θ' >= θ.",
    kind="lemma",
    section="3",
    grade="slip",
    remark="Only where ‖w − w*‖ <= 1 (S14).",
)

fact_tnc_monotone_literal = claim(
    "tsybakov/fact-tnc-monotone@literal",
    "Monotonicity of TNC on every domain",
    "(θ, λ)-TNC implies (θ', λ)-TNC for every θ' >= θ, whatever the diameter of W.",
    kind="lemma",
    section="3",
    grade="slip",
    remark="F = w² on [−2, 2], θ' = 3, w = 2: 4 < 8.",
)

fact_tnc_monotone_corrected = claim(
    "tsybakov/fact-tnc-monotone@corrected",
    "Monotonicity of TNC with the diameter",
    "(θ, λ)-TNC implies (θ + s, λD^{−s})-TNC for every s >= 0; without the factor when D <= 1.",
    kind="lemma",
    section="3",
    origin="ours",
)

lem_1 = claim(
    "tsybakov/lem-1",
    "Lemma 1",
    "(θ, λ)-TNC and L_f-Lipschitz: F(w) − F* <= (L_f^θ/λ)^{1/(θ−1)} and ‖w − w*‖ <= (L_f/λ)^{1/(θ−1)} on W.",
    kind="lemma",
    section="3",
    origin="cited",
    quantity="excess risk of any point",
    relation="<=",
    explicit=(L**theta / lambda_) ** (1 / (theta - 1)),
    assumptions=(sp.Gt(theta, 1),),
)

asm_1 = claim(
    "tsybakov/asm-1",
    "Assumption 1",
    "E sup_{w in W} ‖∇f(w, x)‖^k <= r^(k) for some k >= 2, W of diameter D.",
    kind="assumption",
    section="3",
)

def_moments = claim(
    "tsybakov/def-moments",
    "Empirical moments",
    "r̂_m^(k) = sup_w mean over m records of ‖∇f‖^k, e_m^(k) its expectation, r̃_{k,m} = (e_m^(k))^{1/k}, R̃_{k,n}² = "
    "Σ_{i <= log_2 n} 2^{−i} r̃²_{k,n_i} with n_i = 2^{−i}n.",
    kind="definition",
    section="3",
    origin="cited",
)

fact_moment_lipschitz = claim(
    "tsybakov/fact-moment-lipschitz",
    "After Assumption 1",
    "r̃_k <= L_f.",
    kind="lemma",
    section="3",
    quantity="r̃_k",
    relation="<=",
    explicit=L,
)

lem_2 = claim(
    "tsybakov/lem-2",
    "Lemma 2",
    "e_m^(k) does not increase along doublings of m, so R̃_{k,n} <= r̃_k.",
    kind="lemma",
    section="3, B",
    origin="cited",
    quantity="R̃_{k,n}",
    relation="<=",
    explicit=r_k,
    remark="The end of the printed chain, r^(k), is nowhere defined; it is sup_w E‖∇f(w, x)‖^k.",
)

lem_2_derived = claim(
    "tsybakov/lem-2@derived",
    "Lemma 2 for every sample size",
    "e_m^(k) does not increase in m at all, and R̃_{k,n} <= √(1 − 1/n) r̃_k.",
    kind="lemma",
    section="3, B",
    origin="ours",
    quantity="e_{m+1}^(k) − e_m^(k)",
    relation="<=",
    explicit=sp.Integer(0),
)

rem_1 = claim(
    "tsybakov/rem-1",
    "Remark 1",
    "Algorithms 1 to 5 use disjoint batches, one pass over the data, so that zCDP is immediate; Algorithm 6 needs the "
    "shuffling.",
    kind="proposition",
    section="3",
    remark="One pass over the phases, not over the records: Algorithm 2 reads its batch T times.",
)

proc_gaussian = claim(
    "tsybakov/proc-gaussian",
    "Mechanism of Definition 3",
    "q(S) + N(0, 16Δ² log(1/δ)/ε² I).",
    kind="procedure",
    section="3",
    origin="cited",
    quantity="δ that is spent at ε",
    relation="<=",
    explicit=delta,
)

fact_sens = claim(
    "tsybakov/fact-sens",
    "Equation (5)",
    "At one common w, replacing one record of n moves the clipped mean gradient by at most 2C/n.",
    kind="lemma",
    section="B",
    quantity="movement of the clipped mean",
    relation="<=",
    explicit=2 * C / n,
    remark="The step from one gradient to the whole descent is what fails: see thm-1.",
)

fact_zcdp_conversion = claim(
    "tsybakov/fact-zcdp-conversion",
    "Conversion and composition of zCDP",
    "ρ-zCDP is (ρ + 2√(ρ log(1/δ)), δ)-DP for every δ in (0, 1); ρ adds up under adaptive composition.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="epsilon at delta",
    relation="<=",
    explicit=rho + 2 * sp.sqrt(rho * LOG),
)

fact_parallel = claim(
    "tsybakov/fact-parallel",
    "Parallel composition",
    "Mechanisms on disjoint parts of the data cost the largest of their guarantees.",
    kind="lemma",
    section="B",
    origin="cited",
)

fact_gauss_tail = claim(
    "tsybakov/fact-gauss-tail",
    "Tail of Gaussian noise",
    "P(‖ξ‖ >= t√d) <= 2 exp(−t²/(16σ²)) for ξ ~ N(0, σ²I), hence ‖ξ‖ <= 4√d σ log(4/β) with probability 1 − β.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="P(‖ξ‖ >= t√d)",
    relation="<=",
    explicit=2 * sp.exp(-(t**2) / (16 * sigma**2)),
)

ex_l4 = claim(
    "tsybakov/ex-l4",
    "Example, equation (2)",
    "l1-constrained l4 regression satisfies TNC with θ = 4; with truncated Gaussian features L_f is polynomial "
    "in n while the moments are bounded.",
    kind="proposition",
    section="4",
    remark="With label noise of variance s² the excess also contains 6s²‖Δ‖_2², so that (2, 6s²)-TNC holds as well.",
)

ex_l4_derived = claim(
    "tsybakov/ex-l4@derived",
    "The l4 example with sign features",
    "With x uniform on signs and labels <w°, x> ± s, F − F* = 3‖Δ‖_2⁴ − 2‖Δ‖_4⁴ + 6s²‖Δ‖_2², Δ = w − w°; so F − F* >= "
    "‖Δ‖_2⁴.",
    kind="proposition",
    section="4",
    origin="ours",
    quantity="TNC constant at θ = 4",
    relation=">=",
    explicit=sp.Integer(1),
)

ex_logistic = claim(
    "tsybakov/ex-logistic",
    "Example, equation (3)",
    "l2-regularised logistic regression on the unit ball satisfies TNC with θ = 2.",
    kind="proposition",
    section="4",
    quantity="TNC constant at θ = 2",
    relation=">=",
    explicit=lambda_ / 2,
)

exp_l4 = claim(
    "tsybakov/exp-l4",
    "Section 7, l4 regression",
    "In the figures of l4 regression LNC-GM is at least as good as DP-SGD on a8a, a9a and w7a.",
    kind="proposition",
    section="7",
    remark="Neither k, p, T, steps, clip levels nor error bars are given, and the tables come with no package.",
)

exp_logistic = claim(
    "tsybakov/exp-logistic",
    "Section 7, logistic regression",
    "In the figures of ridge logistic regression DP-SGD is better on a8a and a9a, LNC-GM and PNCA-SGD on w7a.",
    kind="proposition",
    section="7",
    remark="As `exp-l4`. The ridge is outside the family for which the printed noise of LNC-GM is proved to be enough.",
)

fact_power_tnc = claim(
    "tsybakov/fact-power-tnc",
    "In the proofs of Theorems 4 and 5",
    "‖w‖^θ/θ − <w, μ> satisfies (θ, 1)-TNC for θ >= 2.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="TNC constant",
    relation=">=",
    explicit=sp.Integer(1),
    grade="slip",
    remark="The constant is at most 1/θ (S5b); the order of the lower bounds is unaffected.",
    assumptions=(sp.Ge(theta, 2),),
)

fact_power_tnc_literal = claim(
    "tsybakov/fact-power-tnc@literal",
    "The constant 1 of the tilted power",
    "F(w) − F* >= ‖w − w*‖^θ for F = ‖w‖^θ/θ − <w, μ>.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="TNC constant",
    relation=">=",
    explicit=sp.Integer(1),
    grade="slip",
    remark="At θ = 2 it is 1/2 everywhere; at θ = 4 it is 1/12, at w = −2w*.",
    assumptions=(sp.Ge(theta, 2),),
)

fact_power_tnc_corrected = claim(
    "tsybakov/fact-power-tnc@corrected",
    "Tilted power on the ball of its minimiser",
    "On ‖w‖ <= ‖w*‖ the constant of ‖w‖^θ/θ − <w, μ> is 2^{1−θ}, attained at w = −w*.",
    kind="lemma",
    section="B",
    origin="ours",
    quantity="TNC constant",
    relation=">=",
    explicit=2 ** (1 - theta),
    assumptions=(sp.Ge(theta, 2),),
)
