"""Sections 1 and 2 of arXiv 2604.06492, and Remark A.1: setting, reduction to regularised ERM, building blocks.

The failure probability that the paper calls δ is β (`beta`) in the formulas; n is the size of the sample in hand.
"""

import sympy as sp

from dpcheck.symbols import G_1, G_2, C, D, G_k, J, L, R, alpha, beta, d, epsilon, k, lambda_, m, n, xi, zeta

from ._paper import RATE, claim

c_1, c_erm, r = sp.symbols("c_1 c_erm r", positive=True)
m_1 = sp.floor(n / (2 * J))

# Section 1 and Appendix A -----------------------------------------------------------------------------------------

asm_1_1 = claim(
    "pure_heavy_tails/asm-1-1",
    "Assumption 1.1",
    "W ⊂ ℝᵈ is closed and convex with ℓ₂-diameter D and an exact Euclidean projection; f(·,z) is convex, and "
    "E[sup_{w∈W} ‖∇f(w,z)‖ᵏ] ≤ G_kᵏ for a known k ≥ 2 and a public G_k.",
    kind="assumption",
    section="1.2",
    remark="Differential privacy speaks of every data set, so A(z) < ∞ is needed for every z, not almost surely.",
)

def_1_2 = claim(
    "pure_heavy_tails/def-1-2",
    "Definition 1.2",
    "(ε,δ)-differential privacy for data sets of equal size that differ in one entry; pure ε-DP is δ = 0.",
    kind="definition",
    section="1.2",
    origin="cited",
)

fact_a_1 = claim(
    "pure_heavy_tails/fact-a-1",
    "Remark A.1",
    "G_k is known, and C is set from it.",
    kind="assumption",
    section="A",
)

# Section 2.1: from SCO to regularised ERM --------------------------------------------------------------------------

alg_1 = claim(
    "pure_heavy_tails/alg-1",
    "Algorithm 1 (Pop-Localize)",
    "Phases t = 1,…,T with λ_t = 32^{t−1} λ_1 on disjoint batches of ⌊n/2ᵗ⌋ records, each cut into J blocks; the J "
    "private minimisers around the current centre are aggregated into the next centre.",
    kind="algorithm",
    section="2.1",
    origin="cited",
    grade="slip",
    remark="T = ⌈log₂ n⌉ leaves empty blocks in the last phases (S5); J = Θ(log(T/δ)) and λ_1 are left open.",
)

alg_1_literal = claim(
    "pure_heavy_tails/alg-1@literal",
    "Algorithm 1, line 1",
    "With T = ⌈log₂ n⌉ phases every block of every phase holds a record: ⌊⌊n/2ᵀ⌋/J⌋ ≥ 1.",
    kind="algorithm",
    section="2.1",
    origin="cited",
    quantity="records in the smallest block",
    relation=">=",
    explicit=sp.Integer(1),
    assumptions=(sp.Ge(n, 2 * J),),
    about=("pure_heavy_tails/alg-1",),
    grade="slip",
    remark="False unless n is a power of two and J = 1.",
)

alg_1_corrected = claim(
    "pure_heavy_tails/alg-1@corrected",
    "Algorithm 1 with T = ⌊log₂(n/J)⌋",
    "With T = ⌊log₂(n/J)⌋ ≥ 1 phases every block holds a record and is at most halved, up to one record: m_{t+1} ≥ "
    "m_t/3. The residual 3G_1Δ_T/λ_T of the last phase is at most 77 G_1 D (J/n)⁴ for λ_1 = 20Δ_1/D.",
    kind="algorithm",
    section="2.1",
    origin="ours",
    quantity="residual of the last phase, 3 G_1 Δ_T/λ_T",
    relation="<=",
    explicit=77 * G_1 * D * (J / n) ** 4,
    assumptions=(sp.Ge(n, 2 * J),),
    about=("pure_heavy_tails/alg-1",),
)

proc_geom_agg = claim(
    "pure_heavy_tails/proc-geom-agg",
    "Geometric aggregation (Algorithm 1)",
    "The J candidates of a phase are aggregated into one point; the procedure is not defined in the text.",
    kind="procedure",
    section="2.1",
    origin="cited",
    about=("pure_heavy_tails/alg-1",),
)

proc_geom_agg_derived = claim(
    "pure_heavy_tails/proc-geom-agg@derived",
    "Minimum-median-radius point",
    "Return the candidate whose smallest ball around it with ⌊J/2⌋+1 candidates has the smallest radius. If more "
    "than J/2 candidates lie within R of a point v, the output lies within 3R of v.",
    kind="procedure",
    section="2.1",
    origin="ours",
    quantity="distance of the output to v",
    relation="<=",
    explicit=3 * R,
    about=("pure_heavy_tails/proc-geom-agg",),
)

thm_2_1 = claim(
    "pure_heavy_tails/thm-2-1",
    "Theorem 2.1",
    "If A_ERM is ε-DP and meets (6) with probability at least 0.6 for every centre and every λ > 0, then Algorithm "
    "1 is ε-DP and, for some choice of its parameters, F(ŵ) − F* ≲ G_k D (d log(1/δ)/(nε))^{1−1/k} + G_2 D "
    "√(log(1/δ)/n) with probability at least 1 − δ; it runs in time Õ(Time(A_ERM, n, d, ε, λ_1)).",
    kind="theorem",
    section="2.1",
    origin="cited",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=RATE,
    assumptions=(sp.Lt(beta, sp.Rational(1, 2)), sp.Ge(k, 2)),
    about=("pure_heavy_tails/alg-1",),
    probability=1 - beta,
    grade="slip",
    remark="The runtime clause needs a Time that does not grow with λ (S10). With J = Θ(log(T/δ)) the proof gives "
    "log(log n/δ) in place of log(1/δ) (S7); J_t = Θ(log(t²/δ)) recovers the printed form.",
)

thm_2_1_literal = claim(
    "pure_heavy_tails/thm-2-1@literal",
    "Theorem 2.1, runtime clause",
    "For every solver, with any dependence of its time on λ, Algorithm 1 runs in time Õ(Time(A_ERM, n, d, ε, λ_1)).",
    kind="theorem",
    section="2.1",
    origin="cited",
    quantity="running time over Time(A_ERM, n, d, ε, λ_1)",
    assumptions=(sp.Ge(n, 2 * J),),
    about=("pure_heavy_tails/alg-1",),
    grade="slip",
    remark="λ_t grows by 32 a phase; a solver whose time grows like λ²m⁵ (the step bound of Algorithm 4) takes 32 "
    "times longer in every later phase.",
)

thm_2_1_derived = claim(
    "pure_heavy_tails/thm-2-1@derived",
    "Theorem 2.1 with constants",
    "A solver that meets (6) with probability at least 0.7, T = ⌊log₂(n/J)⌋, J ≥ 22.3 log(log₂(n)/δ), "
    "minimum-median-radius aggregation and λ_1 = 20Δ_1/D give F(ŵ) − F* ≤ 20.1 D Δ_1 + 77 G_1 D (J/n)⁴, where Δ_1 = "
    "c_erm(G_k(d/(m_1ε))^{1−1/k} + G_2/√m_1) + √20 G_2/√m_1 and m_1 = ⌊n/(2J)⌋. (At 0.6 in place of 0.7: J ≥ 200 "
    "log(log₂(n)/δ).)",
    kind="theorem",
    section="2.1",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=RATE,
    explicit=sp.Rational(201, 10)
    * D
    * (c_erm * (G_k * (d / (m_1 * epsilon)) ** (1 - 1 / k) + G_2 / sp.sqrt(m_1)) + sp.sqrt(20) * G_2 / sp.sqrt(m_1))
    + 77 * G_1 * D * (J / n) ** 4,
    assumptions=(
        sp.Ge(n, 2 * J),
        sp.Ge(J, sp.Rational(223, 10) * sp.log(sp.log(n, 2) / beta)),
        sp.Ge(k, 2),
        sp.Lt(beta, sp.Rational(1, 2)),
    ),
    about=("pure_heavy_tails/alg-1",),
    probability=1 - beta,
)

# Section 2.2: the Lipschitz extension ------------------------------------------------------------------------------

proc_lip_ext = claim(
    "pure_heavy_tails/proc-lip-ext",
    "Lipschitz extension (5)",
    "f_C(w,z) = inf_{y∈W} [f(y,z) + C‖w − y‖]; the infimum is over the whole of W also when w is confined to W_0.",
    kind="procedure",
    section="1/2.2",
    origin="cited",
)

lem_2_2 = claim(
    "pure_heavy_tails/lem-2-2",
    "Lemma 2.2",
    "For convex f(·,z) the extension f_C(·,z) is convex and C-Lipschitz on W, and f_C ≤ f.",
    kind="lemma",
    section="2.2",
    origin="cited",
    quantity="Lipschitz constant of f_C(·,z)",
    relation="<=",
    explicit=C,
    about=("pure_heavy_tails/proc-lip-ext",),
)

fact_eq_7 = claim(
    "pure_heavy_tails/fact-eq-7",
    "Equation (7)",
    "F̂_λ(w) − F̂_λ(ŵ_λ) ≤ [F̂_Z(w) − F̂_{C,Z}(w)] + [F̂_{C,λ}(w) − F̂_{C,λ}(ŵ_C)] for every w ∈ W.",
    kind="lemma",
    section="2.2",
    about=("pure_heavy_tails/proc-lip-ext",),
)

lem_2_3 = claim(
    "pure_heavy_tails/lem-2-3",
    "Lemma 2.3",
    "E max_{w∈W} (F̂_Z(w) − F̂_{C,Z}(w)) ≤ D G_kᵏ/((k−1) C^{k−1}).",
    kind="lemma",
    section="2.2",
    quantity="expected bias of the extension over W",
    relation="<=",
    explicit=D * G_k**k / ((k - 1) * C ** (k - 1)),
    assumptions=(sp.Ge(k, 2),),
    about=("pure_heavy_tails/proc-lip-ext",),
    remark="True; the sharp constant (k−1)^{k−1}/kᵏ is four times smaller at k = 2 (lem-c-1@derived).",
)

# Section 2.3: localisation -----------------------------------------------------------------------------------------

alg_2 = claim(
    "pure_heavy_tails/alg-2",
    "Algorithm 2 (OutputPert-Localize)",
    "A point within C²/(2λn²) of the minimum of F̂_{C,λ}, plus isotropic Laplace noise of scale 6C/(λnε), projected "
    "onto W; returns W ∩ B(w_loc, 100ζCd/(λnε)).",
    kind="algorithm",
    section="2.3",
    quantity="scale of the noise",
    relation="=",
    explicit=6 * C / (lambda_ * n * epsilon),
    remark="The noise allows for a sensitivity of 6C/(λn).",
)

alg_2_derived = claim(
    "pure_heavy_tails/alg-2@derived",
    "Sensitivity of Algorithm 2",
    "Every point that line 1 allows lies within C/(λn) of ŵ_C, so that Z ↦ w̃ has ℓ₂-sensitivity at most 4C/(λn); "
    "with an exact solver 2C/(λn), attained.",
    kind="algorithm",
    section="2.3, C.2",
    quantity="sensitivity of the approximate minimiser",
    relation="<=",
    explicit=4 * C / (lambda_ * n),
    about=("pure_heavy_tails/alg-2",),
)

proc_iso_laplace = claim(
    "pure_heavy_tails/proc-iso-laplace",
    "Isotropic Laplace noise",
    "Density ∝ exp(−‖b‖/β) on ℝᵈ: a uniform direction times a Gamma(d, β) radius; with β = Δ/ε it makes a release "
    "of ℓ₂-sensitivity Δ ε-DP.",
    kind="procedure",
    section="2.3",
    origin="cited",
)

lem_2_4 = claim(
    "pure_heavy_tails/lem-2-4",
    "Lemma 2.4",
    "Algorithm 2 is ε-DP, diam(W_0) ≤ 200ζCd/(λnε), and W_0 contains argmin_W F̂_{C,λ} with probability at least 1 "
    "− e^{−ζ}.",
    kind="lemma",
    section="2.3",
    quantity="diameter of W_0",
    relation="<=",
    explicit=200 * zeta * C * d / (lambda_ * n * epsilon),
    about=("pure_heavy_tails/alg-2",),
    grade="proof gap",
    remark="Its proof is that of Lemma C.2: the tail bound used is false for d ≥ 2 (S4) and ε ≤ ζd is needed but "
    "not stated (S6); the lemma holds under that condition.",
)

prop_2_5 = claim(
    "pure_heavy_tails/prop-2-5",
    "Proposition 2.5",
    "Let W_0 come from Algorithm 2 with budget ε/2 and ζ = 3, and let the second stage output w_DP ∈ W_0 within "
    "c_1Cd/(λεn) of argmin_{W_0} F̂_{C,λ} with probability 0.9 given (Z, W_0). Then C = G_k(nε/d)^{1/k} gives ‖w_DP "
    "− ŵ_λ‖ ≤ c_2 (G_k/λ)(d/(nε))^{1−1/k} with probability at least 0.7.",
    kind="proposition",
    section="2.3",
    quantity="distance to the regularised empirical minimiser",
    measures="distance",
    relation="<=",
    order=G_k / lambda_ * (d / (n * epsilon)) ** (1 - 1 / k),
    assumptions=(sp.Ge(k, 2),),
    about=("pure_heavy_tails/alg-2", "pure_heavy_tails/proc-two-step"),
    probability=sp.Rational(7, 10),
    grade="proof gap",
    remark="True, with c_2 = c_1 + 20; the bias step of the proof fails, because f_C takes its infimum over W (S1).",
)

prop_2_5_corrected = claim(
    "pure_heavy_tails/prop-2-5@corrected",
    "Bias of the minimiser, in place of the bias of the value",
    "For every data set ‖ŵ_C − ŵ_λ‖ ≤ (1/(λn)) Σ_i (A(z_i) + C) 1{A(z_i) > C}, with (A(z_i) − C)₊ in its place for "
    "d = 1; hence E‖ŵ_C − ŵ_λ‖ ≤ 2G_kᵏ/(λC^{k−1}).",
    kind="proposition",
    section="2.3",
    origin="ours",
    quantity="expected distance of the two minimisers",
    relation="<=",
    explicit=2 * G_k**k / (lambda_ * C ** (k - 1)),
    assumptions=(sp.Ge(k, 2),),
    about=("pure_heavy_tails/proc-lip-ext",),
)

prop_2_5_derived = claim(
    "pure_heavy_tails/prop-2-5@derived",
    "Proposition 2.5 with constants",
    "Under the hypotheses of Proposition 2.5, ‖w_DP − ŵ_λ‖ ≤ (c_1 + 20)(G_k/λ)(d/(nε))^{1−1/k} with probability at "
    "least 0.8 − e^{−3} = 0.750.",
    kind="proposition",
    section="2.3",
    origin="ours",
    quantity="distance to the regularised empirical minimiser",
    measures="distance",
    relation="<=",
    explicit=(c_1 + 20) * G_k / lambda_ * (d / (n * epsilon)) ** (1 - 1 / k),
    assumptions=(sp.Ge(k, 2), sp.Le(epsilon, 6 * d)),
    about=("pure_heavy_tails/alg-2", "pure_heavy_tails/proc-two-step"),
    probability=sp.Rational(4, 5) - sp.exp(-3),
)

proc_two_step = claim(
    "pure_heavy_tails/proc-two-step",
    "Remark 2.6",
    "Each phase localises with Algorithm 2 and then releases a private approximate minimiser over W_0.",
    kind="procedure",
    section="2.3",
)

proc_single_op = claim(
    "pure_heavy_tails/proc-single-op",
    "Output perturbation [CMS11, BST14]",
    "The minimiser of F̂_{C,λ} over W plus isotropic Laplace noise, projected; the paper says of it that optimising "
    "over the whole of W does not suffice for Theorem 2.1.",
    kind="procedure",
    section="2.3",
    origin="cited",
    remark="It does suffice (S1): see the @derived reading. The sentence holds of the function-value bound (7) alone.",
)

proc_single_op_derived = claim(
    "pure_heavy_tails/proc-single-op@derived",
    "Single output perturbation",
    "A C²/(72λm²)-minimiser of F̂_{C,λ} over W plus isotropic Laplace noise of scale 3C/(λmε), projected onto W, is "
    "ε-DP; with C = G_k(mε/d)^{1/k} and ε ≤ d it is within 27.1 (G_k/λ)(d/(mε))^{1−1/k} of ŵ_λ with probability at "
    "least 0.8.",
    kind="procedure",
    section="2.3",
    origin="ours",
    quantity="distance to the regularised empirical minimiser",
    measures="distance",
    relation="<=",
    explicit=sp.Rational(271, 10) * G_k / lambda_ * (d / (m * epsilon)) ** (1 - 1 / k),
    assumptions=(sp.Le(epsilon, d), sp.Ge(k, 2)),
    about=("pure_heavy_tails/proc-single-op",),
    probability=sp.Rational(4, 5),
)

proc_noisy_subgradient = claim(
    "pure_heavy_tails/proc-noisy-subgradient",
    "Noisy clipped subgradient descent (baseline)",
    "T full-batch steps on gradients clipped at C, each released with isotropic Laplace noise of scale 2CT/(nε), are "
    "ε-DP by basic composition. With T = nε/d and C = G_k(nε/d)^{1/(2k)} the optimisation error and the bias of "
    "clipping are of order D G_k (d/(nε))^{(1−1/k)/2}: half the exponent of Theorem 3.1's private term.",
    kind="procedure",
    section="1",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=D * G_k * (d / (n * epsilon)) ** ((1 - 1 / k) / 2),
    assumptions=(sp.Ge(k, 2),),
    about=("pure_heavy_tails/proc-noisy-subgradient",),
    remark="The paper remarks that clipping is suboptimal under pure DP; this is what that costs.",
)

# Section 2.4: optimising the extension -----------------------------------------------------------------------------

proc_joint_reform = claim(
    "pure_heavy_tails/proc-joint-reform",
    "Joint convex reformulation (10)",
    "Φ_Z(w,y_1,…,y_n) = (1/n) Σ [f(y_i,z_i) + C‖w − y_i‖] + (λ/2)‖w − w_0‖² on Wⁿ⁺¹.",
    kind="procedure",
    section="2.4",
)

lem_2_7 = claim(
    "pure_heavy_tails/lem-2-7",
    "Lemma 2.7",
    "Φ_Z is convex and has the minimum of F̂_{C,λ}; the first block of an α-minimiser of Φ_Z is an α-minimiser of "
    "F̂_{C,λ}.",
    kind="lemma",
    section="2.4",
    quantity="gap of the first block",
    relation="<=",
    explicit=alpha,
    about=("pure_heavy_tails/proc-joint-reform",),
)

lem_2_8 = claim(
    "pure_heavy_tails/lem-2-8",
    "Lemma 2.8",
    "For w_0 ∈ W and r > 0 a point of W_0 = W ∩ B(w_0,r) within ξ of the projection of y onto W_0 is computable in "
    "polynomial time.",
    kind="lemma",
    section="2.4",
    quantity="distance to the exact projection",
    relation="<=",
    explicit=xi,
    about=("pure_heavy_tails/proc-inexact-proj",),
)

proc_inexact_proj = claim(
    "pure_heavy_tails/proc-inexact-proj",
    "Bisection projection (Lemma C.6)",
    "N = ⌈log₂(1 + ‖y − w_0‖²/(rξ))⌉ bisection steps on the multiplier of the ball; N + 2 projections onto W at "
    "most. (R stands for ‖y − w_0‖.)",
    kind="procedure",
    section="2.4",
    quantity="projections onto W",
    relation="<=",
    explicit=sp.ceiling(sp.log(1 + R**2 / (r * xi), 2)) + 2,
)

alg_3 = claim(
    "pure_heavy_tails/alg-3",
    "Algorithm 3 (Adaptive-Inexact-ProjSubgrad)",
    "Projected subgradient steps η_t = D/√S_t, S_t = Σ_{s≤t} ‖g_s‖², with projections exact to min{D, αη_t/(6D)}; "
    "stops when 3D√S_t ≤ αt and returns the average.",
    kind="algorithm",
    section="2.4",
)

prop_2_9 = claim(
    "pure_heavy_tails/prop-2-9",
    "Proposition 2.9",
    "For Φ convex and L-Lipschitz on K, diam(K) ≤ D, Algorithm 3 halts within ⌈(3DL/α)²⌉ steps and returns an "
    "α-minimiser.",
    kind="proposition",
    section="2.4",
    quantity="steps",
    relation="<=",
    explicit=sp.ceiling((3 * D * L / alpha) ** 2),
    about=("pure_heavy_tails/alg-3",),
    grade="slip",
    remark="The subgradients that the oracle returns must have norm at most L; Lipschitz on K does not give that "
    "(S12).",
)
