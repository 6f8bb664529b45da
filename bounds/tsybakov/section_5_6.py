"""Sections 5 and 6: minimax lower bounds under zCDP, and the shuffled accelerated method."""

import sympy as sp

from dpcheck.symbols import C, D, H, T, b, d, delta, epsilon, k, mu, n, p, positive, r_k, rho, sigma, theta

from ._paper import LOG, LOWER_PRIVATE, LOWER_STATISTICAL, SHUFFLED_RANGE, a, c, claim, epsilon_0, growth, tau

N, Sigma = positive("N Sigma")
SEPARATED = 2 ** (1 - theta) * (mu ** (1 / (theta - 1)) / (2 * sp.sqrt(2))) ** theta
ATOM = c * sp.sqrt(d) / (n * sp.sqrt(rho))
PACKING = d / 20 * sp.log(2)
FANO = 1 - (rho * (n**2 * ATOM**2 + n * ATOM * (1 - ATOM)) + sp.log(2)) / PACKING

thm_4 = claim(
    "tsybakov/thm-4",
    "Theorem 4",
    "For θ, k >= 2 and n >= Ω(√d/√ρ), every ρ-zCDP algorithm has excess risk Ω((r̃_k(√d/(√ρ "
    "n))^{(k−1)/k})^{θ/(θ−1)}) on some problem of the class with (θ, 1)-TNC and Assumption 1.",
    kind="theorem",
    section="5, B",
    quantity="minimax excess risk",
    measures="excess risk",
    relation=">=",
    order=LOWER_PRIVATE,
    assumptions=(sp.Ge(theta, 2), sp.Ge(n, sp.sqrt(d / rho))),
    about=("tsybakov/proc-lb4-data",),
    grade="proof gap",
    remark="The instance violates Assumption 1 on its own ball (S5a), its TNC constant is 2^{1−θ} at best "
    "(S5b), and with p_a exactly √d/(n√ρ) Fano's inequality is vacuous (S5c). A smaller ball, rescaling "
    "and a constant repair it.",
)

thm_4_literal = claim(
    "tsybakov/thm-4@literal",
    "The printed instance of Theorem 4",
    "On the ball of radius (p_a^{−1/k}r̃_k/2)^{1/(θ−1)} the instance satisfies E sup_W ‖∇f‖^k <= r̃_k^k.",
    kind="theorem",
    section="B",
    quantity="E sup ‖∇f‖^k over r̃_k^k",
    relation="<=",
    explicit=sp.Integer(1),
    about=("tsybakov/proc-lb4-data",),
    grade="slip",
    remark="It is 1 + (1/p_a − 1)2^{−k}: 25.75 at k = 2, p_a = 0.01, and unbounded.",
    assumptions=(
        sp.Ge(k, 2),
        sp.Le(p, 1),
    ),
)

thm_4_corrected = claim(
    "tsybakov/thm-4@corrected",
    "Theorem 4 with constants, on the smaller ball",
    "On W = B(μ^{1/(θ−1)}) with p_a = c√d/(n√ρ) <= 1, every ρ-zCDP algorithm has average excess risk at least "
    "2^{1−θ}(μ^{1/(θ−1)}/(2√2))^θ times the Fano factor, μ = p_a^{(k−1)/k}r̃_k/2; the problems satisfy "
    "Assumption 1 and (θ, 2^{1−θ})-TNC.",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="average excess risk over the packing",
    relation=">=",
    order=LOWER_PRIVATE,
    explicit=SEPARATED.subs(mu, ATOM ** ((k - 1) / k) * r_k / 2) * FANO,
    assumptions=(sp.Ge(theta, 2), sp.Le(ATOM, 1)),
    about=("tsybakov/proc-lb4-data",),
)

thm_5 = claim(
    "tsybakov/thm-5",
    "Theorem 5",
    "For n >= Ω(√d), every algorithm has excess risk Ω((r̃_k/√n)^{θ/(θ−1)}) on some problem of the same class.",
    kind="theorem",
    section="5, B",
    quantity="minimax excess risk",
    measures="excess risk",
    relation=">=",
    order=LOWER_STATISTICAL,
    assumptions=(sp.Ge(theta, 2),),
    about=("tsybakov/proc-lb5-data",),
    grade="proof gap",
    remark="The divergence of the printed product laws is about 2d_H δ², not δ²; with δ = √(d/n) Fano is "
    "vacuous (S5d). δ = c/√n gives the stated rate.",
)

thm_5_literal = claim(
    "tsybakov/thm-5@literal",
    "The divergence in the proof of Theorem 5",
    "KL(Q_v, Q_v') <= δ² for the product laws of bias δ.",
    kind="theorem",
    section="B",
    quantity="KL over δ²",
    relation="<=",
    explicit=sp.Integer(1),
    about=("tsybakov/proc-lb5-data",),
    grade="slip",
    remark="Each differing coordinate contributes δ log((1+δ)/(1−δ)) >= 2δ².",
)

thm_5_corrected = claim(
    "tsybakov/thm-5@corrected",
    "Theorem 5 with bias c/√n",
    "If 2c²d/(1 − c²/n) + log 2 <= (d/40) log 2, then the average excess risk is at least "
    "2^{1−θ}(μ^{1/(θ−1)}/(2√2))^θ/2 with μ = cr̃_k/(2√n).",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="average excess risk over the packing",
    relation=">=",
    order=LOWER_STATISTICAL,
    explicit=SEPARATED.subs(mu, c * r_k / (2 * sp.sqrt(n))) / 2,
    assumptions=(sp.Ge(theta, 2), sp.Le(2 * c**2 * d / (1 - c**2 / n) + sp.log(2), d / 40 * sp.log(2))),
    about=("tsybakov/proc-lb5-data",),
)

rem_5 = claim(
    "tsybakov/rem-5",
    "Remark 5",
    "With √log(1/δ)/ε in place of 1/√ρ the upper bounds match the lower ones when r̃_{2k} is of the order of r̃_k.",
    kind="proposition",
    section="5",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=LOWER_PRIVATE,
    grade="proof gap",
    remark="On the hard instance r̃_{2k}/r̃_k grows as p_a^{−1/(2k)}, so it lies outside that class (S5e).",
)

rem_5_derived = claim(
    "tsybakov/rem-5@derived",
    "Moments of the hard instance",
    "The atoms of Theorem 4 have (E‖x‖^{2k})^{1/(2k)}/(E‖x‖^k)^{1/k} = p_a^{−1/(2k)}.",
    kind="proposition",
    section="5",
    origin="ours",
    quantity="ratio of moments",
    relation="=",
    explicit=p ** (-1 / (2 * k)),
)

alg_6 = claim(
    "tsybakov/alg-6",
    "Algorithm 6 (PNCA-SGD)",
    "Accelerated SGD over T batches of a uniformly permuted sample, each batch mean clipped at C and hidden by "
    "noise of variance O(C²T log(1/δ)/(n²ε²)).",
    kind="algorithm",
    section="5, 6",
    quantity="noise variance",
    relation="=",
    order=C**2 * T * LOG / (n**2 * epsilon**2),
    remark="The proof's local noise averages to a variance that is log(n/δ) times larger (S10).",
)

alg_6_literal = claim(
    "tsybakov/alg-6@literal",
    "Algorithm 6 with the printed noise at constant 64",
    "Noise of variance 64C²T log(1/δ)/(n²ε²) on shuffled batches is (ε, δ)-DP, also at the ε of the experiments.",
    kind="algorithm",
    section="6, 7",
    origin="ours",
    quantity="noise variance",
    relation="=",
    explicit=64 * C**2 * T * LOG / (n**2 * epsilon**2),
    remark="At ε = 8, δ = 1e-5 it is not for T >= 60; ε = 8 is outside the range of Theorem 6, and the hidden "
    "constant is not printed, so this refutes no statement of the paper.",
)

alg_6_plain = claim(
    "tsybakov/alg-6@plain",
    "Algorithm 6 with noise for disjoint batches",
    "Noise of deviation 8CT√log(1/δ)/(nε) a batch is (ε, δ)-DP by parallel composition, shuffled or not.",
    kind="algorithm",
    section="6",
    origin="ours",
    quantity="noise deviation",
    relation="=",
    explicit=8 * C * T * sp.sqrt(LOG) / (n * epsilon),
)

alg_7 = claim(
    "tsybakov/alg-7",
    "Algorithm 7 (iterated PNCA-SGD)",
    "Algorithm 6 on disjoint parts of doubling size, started from the previous output.",
    kind="algorithm",
    section="6",
    about=("tsybakov/alg-6",),
    quantity="gradients",
    measures="gradients",
    relation="<=",
    explicit=n,
    grade="slip",
    remark="α_t = 2/(t+2) contradicts α_1 = 1 of Algorithm 6 (S11); R_t is announced and never used; the sizes "
    "have the exponent of Algorithm 5 (S12).",
)

alg_7_literal = claim(
    "tsybakov/alg-7@literal",
    "The weights of Algorithm 7",
    "α_t = 2/(t+2) with α_1 = 1, so that the start has no weight in the output.",
    kind="algorithm",
    section="6",
    about=("tsybakov/alg-6",),
    quantity="α_1",
    relation="=",
    explicit=sp.Integer(1),
    grade="slip",
    remark="α_1 = 2/3; the start keeps the weight 2/((T+1)(T+2)).",
)

alg_7_corrected = claim(
    "tsybakov/alg-7@corrected",
    "Algorithm 7 with weights 2/(t+1)",
    "α_t = 2/(t+1), η_t = 4γ/(t(t+1)) inside, part sizes with E = log_θ̄ 2.",
    kind="algorithm",
    section="6",
    origin="ours",
    about=("tsybakov/alg-6",),
    quantity="gradients",
    measures="gradients",
    relation="<=",
    explicit=n,
)

thm_6 = claim(
    "tsybakov/thm-6",
    "Theorem 6",
    "For ε = O(√(log(n/δ)/n)) Algorithm 6 is (ε, δ)-DP, and for a smooth risk its expected excess is O(r̃_kD(1/√n + "
    "(√(d log(1/δ))/(εn))^{(k−1)/k})), without any Lipschitz condition.",
    kind="theorem",
    section="6",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=r_k * D * tau(),
    assumptions=(SHUFFLED_RANGE, sp.Ge(k, 2)),
    about=("tsybakov/alg-6",),
    grade="proof gap",
    remark="The proof's noise is log(n/δ) times larger in variance than the printed one, and its range of ε is "
    "O(√(log(1/δ)/n)) (S10). No violation is known inside the range.",
)

thm_6_derived = claim(
    "tsybakov/thm-6@derived",
    "Theorem 6 with noise Σ and bias of the clipped mean",
    "With a_t = 2/(t+1), η_t = 4γ/(t(t+1)), γ = max{2H, (Σ/D)√(T(T+1)(2T+1)/12)} and Σ² = dσ² + r̃_k²T/n: "
    "excess <= 4HD²/(T(T+1)) + 2DΣ√((2T+1)/(3T(T+1))) + Dr̃_k^k/((k−1)C^{k−1}).",
    kind="theorem",
    section="6",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=4 * H * D**2 / (T * (T + 1))
    + 2 * D * sp.sqrt(d * sigma**2 + r_k**2 * T / n) * sp.sqrt((2 * T + 1) / (3 * T * (T + 1)))
    + D * r_k**k / ((k - 1) * C ** (k - 1)),
    about=("tsybakov/alg-6",),
    assumptions=(sp.Ge(k, 2),),
)

thm_7 = claim(
    "tsybakov/thm-7",
    "Theorem 7",
    "In the range of Theorem 6, under (θ, λ)-TNC, Algorithm 7 has expected excess Õ(λ^{−1/(θ−1)}(r̃_kτ)^{θ/(θ−1)}).",
    kind="theorem",
    section="6",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=growth(r_k * tau()),
    assumptions=(SHUFFLED_RANGE, sp.Ge(k, 2), sp.Gt(theta, 1)),
    about=("tsybakov/alg-7",),
    grade="proof gap",
    remark="'As Theorem 3', and so with its gap (S8); the noise condition is missing among the hypotheses.",
)

thm_7_phases = claim(
    "tsybakov/thm-7@phases",
    "The rate of Theorem 7 asked of Algorithm 7",
    "Algorithm 7 with weights 2/(t+1) and parts of the proof's sizes, on the whole domain or on halving balls, has the "
    "expected excess of Theorem 7.",
    kind="theorem",
    section="6",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=growth(r_k * tau()),
    about=("tsybakov/alg-7",),
    grade="proof gap",
    remark="About log log n calls are too few for either: on power wells the measured exponents are behind the "
    "order's.",
)

fact_acsa = claim(
    "tsybakov/fact-acsa",
    "Accelerated SGD with bias and noise (Proposition 40 of Lowy and Razaviyayn)",
    "Expected excess O(HD²/T² + D(Σ + B)/√T + BD) for gradients of bias B and noise of second moment Σ².",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=H * D**2 / T**2 + D * (Sigma + b) / sp.sqrt(T) + b * D,
    about=("tsybakov/alg-6",),
)

fact_acsa_derived = claim(
    "tsybakov/fact-acsa@derived",
    "Accelerated SGD with constants, no bias",
    "At γ = max{2H, (Σ/D)√(T(T+1)(2T+1)/12)} the expected excess is at most 4HD²/(T(T+1)) + 2DΣ√((2T+1)/(3T(T+1))).",
    kind="lemma",
    section="B",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=4 * H * D**2 / (T * (T + 1)) + 2 * D * Sigma * sp.sqrt((2 * T + 1) / (3 * T * (T + 1))),
    about=("tsybakov/alg-6",),
)

claim_noise = claim(
    "tsybakov/claim-noise",
    "Claim in the proof of Theorem 6",
    "E‖N_t‖² <= dσ² + r²T/n for the noise of a clipped batch mean.",
    kind="proposition",
    section="B",
    quantity="second moment of the noise",
    relation="<=",
    explicit=d * sigma**2 + r_k**2 * T / n,
    about=("tsybakov/alg-6",),
)

lem_5 = claim(
    "tsybakov/lem-5",
    "Lemma 5 (private Fano)",
    "For N laws with pairwise Φ(dist) >= a, KL <= b and total variation <= p, the average risk is at least "
    "(a/2) max{1 − (nb + log 2)/log N, 1 − (ρ(n²p² + np(1 − p)) + log 2)/log N}, for every non-decreasing Φ.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="average risk",
    relation=">=",
    explicit=a / 2 * (1 - (rho * (n**2 * p**2 + n * p * (1 - p)) + sp.log(2)) / sp.log(N)),
    grade="refuted",
    remark="False for Φ(t) = t⁴, which the proofs of Theorems 4 and 5 allow: the centroid of a simplex of N = "
    "16 vertices has risk 0.22 against 0.375 (S6). The constants of the two theorems change, not their "
    "orders.",
)

lem_5_corrected = claim(
    "tsybakov/lem-5@corrected",
    "Private Fano at half the distance",
    "The same with Φ(half the least distance) in the place of a/2; with a/2 when Φ∘dist is itself a pseudometric.",
    kind="lemma",
    section="B",
    origin="ours",
    quantity="average risk",
    relation=">=",
    explicit=a * (1 - (rho * (n**2 * p**2 + n * p * (1 - p)) + sp.log(2)) / sp.log(N)),
)

lem_6 = claim(
    "tsybakov/lem-6",
    "Lemma 6 (amplification by shuffling)",
    "Shuffled sequences of n adaptive (ε_0, δ_0) local randomisers are (ε, δ + O(e^ε δ_0 n))-DP with ε = O((1 −"
    " e^{−ε_0})(√(e^{ε_0} log(1/δ)/n) + e^{ε_0}/n)), for ε_0 <= log(n/(16 log(2/δ))).",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="ε that is spent",
    relation="<=",
    order=(1 - sp.exp(-epsilon_0)) * (sp.sqrt(sp.exp(epsilon_0) * LOG / n) + sp.exp(epsilon_0) / n),
    assumptions=(sp.Le(epsilon_0, sp.log(n / (16 * sp.log(2 / delta)))),),
)

lem_6_derived = claim(
    "tsybakov/lem-6@derived",
    "Amplification by shuffling with constants",
    "ε <= log(1 + (e^{ε_0} − 1)/(e^{ε_0} + 1)·(8√(e^{ε_0} log(4/δ)/n) + 8e^{ε_0}/n)) when δ_0 = 0.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="ε that is spent",
    relation="<=",
    explicit=sp.log(
        1
        + (sp.exp(epsilon_0) - 1)
        / (sp.exp(epsilon_0) + 1)
        * (8 * sp.sqrt(sp.exp(epsilon_0) * sp.log(4 / delta) / n) + 8 * sp.exp(epsilon_0) / n)
    ),
    remark="The constants are those of the cited source as remembered in the field; the exact value for "
    "randomised response lies below them wherever it was computed.",
    assumptions=(sp.Le(epsilon_0, sp.log(n / (16 * sp.log(2 / delta)))),),
)

fact_gv = claim(
    "tsybakov/fact-gv",
    "Gilbert-Varshamov",
    "The sign cube has a packing of size 2^{d/20} with pairwise Hamming distance d/8.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="size of the packing",
    relation=">=",
    explicit=2 ** (d / 20),
    about=("tsybakov/proc-gv-packing",),
)

proc_gv_packing = claim(
    "tsybakov/proc-gv-packing",
    "Packing generator",
    "Random sign vectors kept when they are at least d/8 from all kept before.",
    kind="procedure",
    section="B",
    origin="cited",
    quantity="Hamming distance",
    relation=">=",
    explicit=d / 8,
)

proc_lb4_data = claim(
    "tsybakov/proc-lb4-data",
    "Hard instance of Theorem 4",
    "x = 0 with probability 1 − p_a, else p_a^{−1/k}(r̃_k/(2√d))v; f = −<w, x> + ‖w‖^θ/θ.",
    kind="procedure",
    section="B",
    quantity="length of the mean",
    relation="=",
    explicit=p ** ((k - 1) / k) * r_k / 2,
    about=("tsybakov/proc-gv-packing",),
)

proc_lb5_data = claim(
    "tsybakov/proc-lb5-data",
    "Hard instance of Theorem 5",
    "Independent coordinates v_jr̃_k/(2√d) with probability (1 + δ)/2, the opposite otherwise; the same loss.",
    kind="procedure",
    section="B",
    quantity="length of a record",
    relation="=",
    explicit=r_k / 2,
    about=("tsybakov/proc-gv-packing",),
)

proc_zcdp_plugin = claim(
    "tsybakov/proc-zcdp-plugin",
    "Plug-in estimator",
    "Clipped mean plus N(0, (2C/n)²/(2ρ)I), mapped to the minimiser m/‖m‖^{(θ−2)/(θ−1)} and projected: ρ-zCDP.",
    kind="procedure",
    origin="ours",
    quantity="noise variance",
    relation="=",
    explicit=2 * C**2 / (n**2 * rho),
    about=("tsybakov/proc-lb4-data",),
)

proc_ldp_gauss = claim(
    "tsybakov/proc-ldp-gauss",
    "Local randomiser of the proof of Theorem 6",
    "Clipping at C and noise of variance 8C² log(1/δ_0)/ε_0² is (ε_0, δ_0)-DP for one record.",
    kind="procedure",
    section="B",
    quantity="noise variance",
    relation="=",
    explicit=8 * C**2 * LOG / epsilon_0**2,
    about=("tsybakov/alg-6",),
    remark="True for ε_0 <= 1/2 and δ_0 <= 0.99.",
    assumptions=(
        sp.Le(epsilon_0, sp.Rational(1, 2)),
        sp.Le(delta, sp.Rational(99, 100)),
    ),
)

proc_dpsgd = claim(
    "tsybakov/proc-dpsgd",
    "DP-SGD baseline",
    "Minibatches by Poisson sampling, clipped at C, Gaussian noise, T steps: the baseline of Section 7.",
    kind="procedure",
    section="7",
    origin="cited",
)
