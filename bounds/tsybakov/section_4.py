"""Section 4: clipped descent, localisation, and private stochastic approximation."""

import sympy as sp

from dpcheck.symbols import C, D, L, T, beta, d, epsilon, eta, k, lambda_, n, p, positive, r_2, r_2k, sigma, theta

from ._paper import CONVEX, CONVEX_LOG, LIPSCHITZ_CONDITION, LOG, TAIL, R_2k, claim, growth, tau

a = positive("a")[0]
ALL_STEPS = 1 - (1 - eta * lambda_) ** T
PRINTED_SIGMA = 8 * C * sp.sqrt(LOG) / (n * lambda_ * epsilon)

alg_1 = claim(
    "tsybakov/alg-1",
    "Algorithm 1 (ClippedMean)",
    "The average of the records, each projected onto the ball of radius C.",
    kind="algorithm",
    section="4",
    origin="cited",
    quantity="sensitivity",
    relation="<=",
    explicit=2 * C / n,
)

alg_2 = claim(
    "tsybakov/alg-2",
    "Algorithm 2 (clipped regularised gradient method)",
    "T projected steps along the clipped mean gradient plus λ(w − w_0), with step η: deterministic.",
    kind="algorithm",
    section="4",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    explicit=n * T,
    remark="w_1 is never set and the printed loop makes T − 1 steps; Theorem 8 counts T from w_0.",
)

alg_2_derived = claim(
    "tsybakov/alg-2@derived",
    "Reach of Algorithm 2",
    "For 0 <= ηλ <= 1 and w_0 in W, ‖w_T − w_0‖ <= (1 − (1 − ηλ)^T)C/λ; two runs from one w_0 are at most twice that "
    "apart, whatever their data.",
    kind="algorithm",
    section="4",
    origin="ours",
    quantity="distance from the start",
    relation="<=",
    explicit=ALL_STEPS * C / lambda_,
)

alg_3 = claim(
    "tsybakov/alg-3",
    "Algorithm 3 (LNC-GM)",
    "log_2 n phases of Algorithm 2 on halving disjoint batches, regularised towards the previous output, each "
    "followed by Gaussian noise of deviation 8C_i√log(1/δ)/(n_iλ_iε).",
    kind="algorithm",
    section="4",
    quantity="noise deviation of a phase",
    relation="=",
    explicit=PRINTED_SIGMA,
    grade="slip",
    remark="λ_1 = 1/(η_1n_1^{2p}) makes the first noise exceed the diameter and the second domain empty (S2).",
)

alg_3_literal = claim(
    "tsybakov/alg-3@literal",
    "Algorithm 3 with the exponent 2p in phase 1",
    "With λ_1 = 1/(η_1n_1^{2p}) the domain W_2 = {w in W: ‖w − w_1‖ <= D_2} of the second phase is not empty.",
    kind="algorithm",
    section="4",
    quantity="√d σ_1/D when the second cap of the step binds",
    relation="=",
    explicit=2 ** (2 - 1 / k - 2 * p) * n ** (p - sp.Rational(1, 2)) / sp.sqrt(sp.log(n)),
    grade="slip",
    remark="At p = 1, k = 2 the first noise is 4.8, 15.7, 54 diameters at n = 2^8, 2^12, 2^16.",
)

alg_3_corrected = claim(
    "tsybakov/alg-3@corrected",
    "Algorithm 3 with the exponent p in every phase",
    "λ_i = 1/(η_in_i^p) for all i, step (D/n^{p/2})·min{1/L_f, τ_p^{-1}/(R̃n^{p/2}), 1/(R̃n^{(p−1)/2})}, "
    "outputs projected onto W.",
    kind="algorithm",
    section="4",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=n ** (p + 1) * sp.log(n),
)

proc_lnc_gm_fixed = claim(
    "tsybakov/proc-lnc-gm-fixed",
    "Corrected Algorithm 3",
    "The same as `alg-3@corrected`; its noise per step is private for every loss, its printed noise where "
    "clipped steps contract.",
    kind="procedure",
    section="4",
    origin="ours",
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=n ** (p + 1) * sp.log(n),
    about=("tsybakov/alg-3",),
)

proc_prox_exact = claim(
    "tsybakov/proc-prox-exact",
    "Exact regularised minimiser",
    "argmin over W_i of the batch mean of f plus (λ_i/2)‖w − w_{i−1}‖².",
    kind="procedure",
    section="4",
    about=("tsybakov/alg-2",),
)

proc_dykstra = claim(
    "tsybakov/proc-dykstra",
    "Projection on W ∩ B (Remark 3)",
    "Dykstra's alternating projections converge to the projection on the intersection of W with a ball.",
    kind="procedure",
    section="4",
    origin="cited",
)

thm_1 = claim(
    "tsybakov/thm-1",
    "Theorem 1",
    "For smooth L_f-Lipschitz losses, Algorithm 3 is (ε, δ)-DP for 0 < ε <= √log(1/δ), and its excess risk is "
    "Õ(R̃_{2k,n}D(1/√n + (√(d log(1/δ))/(εn))^{(k−1)/k}) + D√log(1/β)/(2^{p+1}√n)) with probability 1 − β.",
    kind="theorem",
    section="4",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=CONVEX,
    assumptions=(LIPSCHITZ_CONDITION, sp.Le(epsilon, sp.sqrt(LOG))),
    about=("tsybakov/alg-3",),
    probability=1 - beta,
    grade="refuted",
    remark="The privacy part fails for d >= 2: clipping by norm is not monotone, and two runs of clipped "
    "descent may end (1+a)/(2√a) times 2C/(nλ) apart, a the conditioning of the loss (S1). Both a fixed "
    "and a random order of the records have explicit violations of the whole algorithm.",
)

thm_1_glm = claim(
    "tsybakov/thm-1@glm",
    "Privacy of Algorithm 3 where clipped steps contract",
    "If d = 1, or the losses are linear, isotropic quadratics or generalised linear, and η_i(α + 2λ_i) <= 2, then each "
    "phase moves by at most 2C_i/(n_iλ_i) and Algorithm 3 is (ε, δ)-DP.",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="movement of a phase",
    relation="<=",
    explicit=ALL_STEPS * 2 * C / (n * lambda_),
    about=("tsybakov/alg-3", "tsybakov/alg-2"),
)

thm_1_corrected = claim(
    "tsybakov/thm-1@corrected",
    "Noise that is private for every loss",
    "With noise of deviation 8C√(T log(1/δ))/(nε) on each of the T clipped means and none on the output, a phase is "
    "ε²/(32 log(1/δ))-zCDP for every loss, convex or not, in every dimension.",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="noise deviation of a step",
    relation="=",
    explicit=8 * C * sp.sqrt(T * LOG) / (n * epsilon),
    about=("tsybakov/alg-3",),
)

thm_1_derived = claim(
    "tsybakov/thm-1@derived",
    "What the private noise costs",
    "With T = ⌈(2/(λη)) log(4/(λη))⌉ noisy steps the noise adds ηds²/λ to the bound of Theorem 8 on E‖w_T − "
    "ŵ‖², which is 2 log(4/(λη)) times the dσ² of the printed noise, up to the rounding of T.",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="added squared distance",
    relation="<=",
    explicit=eta * d / lambda_ * sigma**2,
    assumptions=(sp.Le(eta * lambda_, 1),),
    about=("tsybakov/alg-3",),
)

thm_1_phase = claim(
    "tsybakov/thm-1@phase",
    "Risk of a phase with constants",
    "Where clipped gradients are gradients of convex functions, the limit ŵ of a phase from w_0 has E[F(ŵ) − F(u)] <= "
    "(λ/2)E‖u − w_0‖² + 2r̃_2²/(nλ) + DB for every u in W that its batch does not see, B = ((2k−1)^{2k−1}/(2k)^{2k}) "
    "r̃_{2k}^{2k}/C^{2k−1}.",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="excess risk of a phase over u",
    relation="<=",
    explicit=lambda_ * D**2 / 2
    + 2 * r_2**2 / (n * lambda_)
    + D * (2 * k - 1) ** (2 * k - 1) / (2 * k) ** (2 * k) * r_2k ** (2 * k) / C ** (2 * k - 1),
    about=("tsybakov/alg-3", "tsybakov/alg-2"),
    remark="Added up over the phases, with the noise of each in the place of u − w_0, it bounds the risk of the "
    "corrected Algorithm 3 with every constant.",
)

thm_1_trivial = claim(
    "tsybakov/thm-1@trivial",
    "Noise on the output that is private for every loss",
    "The outputs of one phase on any two batches are at most 2C/λ apart, so output noise of deviation "
    "8C√log(1/δ)/(λε), n_i times the printed one, is private for every loss.",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="movement of a phase",
    relation="<=",
    explicit=ALL_STEPS * 2 * C / lambda_,
    about=("tsybakov/alg-3",),
)

rem_2 = claim(
    "tsybakov/rem-2",
    "Remark 2",
    "The stability of clipped gradient descent depends on the clip level C alone, and not on the Lipschitz constant.",
    kind="proposition",
    section="4",
    quantity="movement of the last iterate",
    relation="<=",
    explicit=2 * C / (n * lambda_),
    about=("tsybakov/alg-2",),
    grade="refuted",
    remark="For d >= 2 it also depends on the conditioning of the losses: 4.43, 9.15 and 14.7 times 2C/(nλ) on "
    "explicit instances with smoothness 1 (S1).",
)

rem_2_corrected = claim(
    "tsybakov/rem-2@corrected",
    "Remark 2 where clipped steps contract",
    "2C/(nλ) for d = 1, linear, isotropic quadratic and generalised linear losses, at steps η(α + 2λ) <= 2.",
    kind="proposition",
    section="4",
    origin="ours",
    quantity="movement of the last iterate",
    relation="<=",
    explicit=2 * C / (n * lambda_),
    about=("tsybakov/alg-2",),
)

rem_2_derived = claim(
    "tsybakov/rem-2@derived",
    "How far clipping may stretch the movement",
    "For losses ½(w − c)ᵀ diag(1, a)(w − c) whose gradients are all clipped along ±u, the movement tends to "
    "(1+a)/(2√a) times 2C/(nλ) as λ → 0, for the worst u.",
    kind="proposition",
    section="4",
    origin="ours",
    quantity="movement over 2C/(nλ)",
    relation="<=",
    explicit=(1 + a) / (2 * sp.sqrt(a)),
    assumptions=(sp.Le(a, 1),),
    about=("tsybakov/alg-2",),
)

alg_4 = claim(
    "tsybakov/alg-4",
    "Algorithm 4 (private stochastic approximation)",
    "m = ⌊½log_2(2n/log_2 n)⌋ − 1 calls of Algorithm 3 on disjoint parts, each on W ∩ B(ŵ_{e−1}, R_{e−1}) with R_e = "
    "R_{e−1}/2; for θ >= 2.",
    kind="algorithm",
    section="4",
    about=("tsybakov/alg-3",),
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=n ** (p + 1) * sp.log(n),
    grade="slip",
    remark="The second cap of the step lacks log(1/δ); the noisy outputs are not projected, so the centres may leave W "
    "(S13).",
)

alg_4_corrected = claim(
    "tsybakov/alg-4@corrected",
    "Algorithm 4 with projected outputs",
    "The same around `alg-3@corrected` with D = 2R_{e−1}, log(1/δ) in the second cap, and n_0 a power of two.",
    kind="algorithm",
    section="4",
    origin="ours",
    about=("tsybakov/alg-3",),
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=n ** (p + 1) * sp.log(n),
)

thm_2 = claim(
    "tsybakov/thm-2",
    "Theorem 2",
    "Under (θ, λ)-TNC with θ >= 2, Algorithm 4 is (ε, δ)-DP and has excess risk Õ(λ^{−1/(θ−1)}(R̃_{2k,n}(1/√n +"
    " (√(d log(1/δ))/(εn))^{(k−1)/k}) + √(log n log(1/β))/(2^{p+1}√n))^{θ/(θ−1)}) with probability 1 − β.",
    kind="theorem",
    section="4",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=growth(R_2k * tau() + sp.sqrt(sp.log(n)) * TAIL),
    assumptions=(sp.Ge(theta, 2),),
    about=("tsybakov/alg-4",),
    probability=1 - beta,
    grade="proof gap",
    remark="Rests on Theorem 1, whose privacy fails for d >= 2 (S1); no union bound over the calls, and the Lipschitz "
    "condition is stated at n but used at n_0 (S13).",
)

thm_2_derived = claim(
    "tsybakov/thm-2@derived",
    "The reduction of Theorem 2",
    "If a call on a domain of radius R has excess at most R·a against every point of it, and 2R_0^{1−θ}a <= λ <= "
    "2^{(θ−1)m}·2R_0^{1−θ}a, then Algorithm 4 ends with excess at most 4(2a)^{θ/(θ−1)}λ^{−1/(θ−1)}.",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=4 * growth(2 * a),
    about=("tsybakov/alg-4",),
)

thm_11 = claim(
    "tsybakov/thm-11",
    "Theorem 11",
    "Theorem 2 with its logarithms, √(log n/n) and √(d log(1/δ) log³ n), and with convexity assumed.",
    kind="theorem",
    section="B",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=growth(
        R_2k * (sp.sqrt(sp.log(n) / n) + (sp.sqrt(d * LOG * sp.log(n) ** 3) / (epsilon * n)) ** ((k - 1) / k))
        + sp.sqrt(sp.log(n)) * TAIL
    ),
    assumptions=(sp.Ge(theta, 2),),
    about=("tsybakov/alg-4",),
    probability=1 - beta,
    grade="proof gap",
    remark="As Theorem 2.",
)

rem_3 = claim(
    "tsybakov/rem-3",
    "Remark 3",
    "The bound of Theorem 2 depends on neither the diameter, nor the smoothness, nor L_f, and covers strongly "
    "convex risks.",
    kind="proposition",
    section="4",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=growth(R_2k * tau() + sp.sqrt(sp.log(n)) * TAIL),
    about=("tsybakov/alg-4",),
    remark="Needs R_0 <= (L_f/λ)^{1/(θ−1)}, which a diameter exceeds by a factor 2 at most when the minimiser "
    "is unique.",
)

rem_3_derived = claim(
    "tsybakov/rem-3@derived",
    "The diameter under the noise condition",
    "With a unique minimiser, (θ, λ)-TNC and L_f-Lipschitz risks bound the diameter of W by 2(L_f/λ)^{1/(θ−1)}.",
    kind="proposition",
    section="4",
    origin="ours",
    quantity="diameter",
    relation="<=",
    explicit=2 * (L / lambda_) ** (1 / (theta - 1)),
)

alg_5 = claim(
    "tsybakov/alg-5",
    "Algorithm 5 (iterated LNC-GM)",
    "⌊log_θ̄ 2 · log log n⌋ calls of Algorithm 3 on disjoint parts of doubling size 2^{i−1}n/(log n)^E.",
    kind="algorithm",
    section="4",
    about=("tsybakov/alg-3",),
    quantity="gradients",
    measures="gradients",
    relation="<=",
    order=n ** (p + 1) * sp.log(n),
    grade="slip",
    remark="The printed exponent E does not match the proof's log_θ̄ 2, and may ask for more than n records (S12).",
)

alg_5_literal = claim(
    "tsybakov/alg-5@literal",
    "Algorithm 5 with the printed exponent",
    "The parts of size 2^{i−1}n/(log_2 n)^{(log_θ̄ 2)²} have at most n records together.",
    kind="algorithm",
    section="4",
    about=("tsybakov/alg-3",),
    quantity="records",
    relation="<=",
    explicit=n,
    grade="slip",
    remark="With base-2 logarithms θ̄ = 4 and n = 2^16 take 1.5n.",
)

alg_5_corrected = claim(
    "tsybakov/alg-5@corrected",
    "Algorithm 5 with the exponent of its proof",
    "With E = log_θ̄ 2 the parts have at most n records together, and the last one at least n/4 − 1.",
    kind="algorithm",
    section="4",
    origin="ours",
    about=("tsybakov/alg-3",),
    quantity="records",
    relation="<=",
    explicit=n,
)

thm_3 = claim(
    "tsybakov/thm-3",
    "Theorem 3",
    "Under (θ, λ)-TNC with θ >= θ̄ > 1, Algorithm 5 is (ε, δ)-DP for ε <= 2 log(1/δ) and has the excess risk of"
    " Theorem 2, with probability 1 − β.",
    kind="theorem",
    section="4",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=growth(R_2k * tau() + TAIL),
    about=("tsybakov/alg-5",),
    probability=1 - beta,
    grade="proof gap",
    remark="(11) puts the distance of the start to the minimiser where Theorem 1 has the diameter; Algorithm 5 "
    "does not shrink its domain (S8). With corrected phases the measured exponents are behind the order's. Privacy "
    "rests on Theorem 1.",
)

thm_3_derived = claim(
    "tsybakov/thm-3@derived",
    "What Theorem 1 gives for Algorithm 5",
    "Iterating the guarantee (D²/R + R)E/2 of Theorem 1, with D the true distance and R the halving radius in "
    "the step, gives at least R_{l−1}E/2, R_{l−1} = R_0/polylog(n): exponent 1 in E and not θ/(θ−1).",
    kind="theorem",
    section="4",
    origin="ours",
    quantity="the guarantee",
    relation=">=",
    order=1 / sp.sqrt(n),
    about=("tsybakov/alg-5",),
)

rem_4 = claim(
    "tsybakov/rem-4",
    "Remark 4",
    "Algorithm 4 splits the data evenly, Algorithm 5 in parts of increasing size.",
    kind="proposition",
    section="4",
    about=("tsybakov/alg-4", "tsybakov/alg-5"),
    remark="Both halves of the printed sentence say Algorithm 5; the first means Algorithm 4 (S21).",
)

thm_10 = claim(
    "tsybakov/thm-10",
    "Theorem 10",
    "The risk part of Theorem 1 with the logarithm of n kept.",
    kind="theorem",
    section="B",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=CONVEX_LOG,
    assumptions=(LIPSCHITZ_CONDITION,),
    about=("tsybakov/alg-3",),
    probability=1 - beta,
    grade="proof gap",
    remark="The sum uses λ_1 with exponent 2p in the bias and p in the statistical terms (S3); its last term is"
    " D/(2^{p+3/2}√log n), which does not vanish (S4); a whp statement has only the mean of random "
    "moments (S4b).",
)

thm_10_derived = claim(
    "tsybakov/thm-10@derived",
    "The last term of the proof of Theorem 10",
    "At the printed third cap of the step, L_f²ηn^{p−1/2}√log(1/β)2^{−(p+3/2)} = 2^{−(p+3/2)}D/√log n.",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="last term",
    relation="=",
    explicit=2 ** (-p - sp.Rational(3, 2)) * D / sp.sqrt(sp.log(n)),
    about=("tsybakov/alg-3",),
)

thm_10_balance = claim(
    "tsybakov/thm-10@balance",
    "One λ_1 cannot remove L_f",
    "D²λ_1 + 2L_f²/(λ_1√n_1) >= 2√2·DL_fn_1^{−1/4} for every λ_1 > 0.",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="D²λ_1 + 2L_f²/(λ_1√n_1)",
    relation=">=",
    explicit=2 * sp.sqrt(2) * D * L / n ** sp.Rational(1, 4),
    about=("tsybakov/alg-3",),
)
