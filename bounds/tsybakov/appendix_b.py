"""Appendix B: the lemmas behind Theorems 1 to 3."""

import sympy as sp

from dpcheck.symbols import C, D, L, T, beta, d, epsilon, eta, k, lambda_, n, p, positive, r_2, r_2k, r_k, sigma, theta

from ._paper import LOG, TAIL, R_2k, a, bias, claim, growth, tau

e, R_0 = positive("e R_0")

lem_3 = claim(
    "tsybakov/lem-3",
    "Lemma 3",
    "For L-Lipschitz λ-strongly convex losses and β <= 1/n, the empirical minimiser has excess risk c L² log n "
    "log(1/β)/(λn) + cLD√(log(1/β)/n) at most, with probability 1 − β.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="excess risk of the empirical minimiser",
    relation="<=",
    order=L**2 * sp.log(n) * sp.log(1 / beta) / (lambda_ * n) + L * D * sp.sqrt(sp.log(1 / beta) / n),
    assumptions=(sp.Le(beta, 1 / n),),
    probability=1 - beta,
)

thm_8 = claim(
    "tsybakov/thm-8",
    "Theorem 8",
    "After T steps of Algorithm 2 with η <= 2/λ, ‖w_T − ŵ‖² <= e^{−ληT/2}‖w_0 − ŵ‖² + 8ηr̂^(2)/λ + 8ηλD² + "
    "20B̂²/λ², ŵ the exact minimiser and B̂ the largest bias of the clipped mean.",
    kind="theorem",
    section="B",
    quantity="squared distance to the exact minimiser",
    relation="<=",
    explicit=sp.exp(-lambda_ * eta * T / 2) * D**2
    + 8 * eta * r_2**2 / lambda_
    + 8 * eta * lambda_ * D**2
    + 20 * bias**2 / lambda_**2,
    assumptions=(sp.Le(eta * lambda_, 2),),
    about=("tsybakov/alg-2",),
    remark="r̂² in print means r̂^(2). Before simplification the last term is 8ηB̂²/λ + 4B̂²/λ².",
)

thm_8_derived = claim(
    "tsybakov/thm-8@derived",
    "Sharp bias of the clipped mean",
    "B̂ <= ((k−1)^{k−1}/k^k) r̂^(k)/C^{k−1}, attained at ‖z‖ = kC/(k−1).",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="bias",
    relation="<=",
    explicit=(k - 1) ** (k - 1) / k**k * r_k**k / C ** (k - 1),
    about=("tsybakov/alg-2",),
    assumptions=(sp.Ge(k, 2),),
)

thm_8_sharp = claim(
    "tsybakov/thm-8@sharp",
    "Theorem 8 with smaller constants",
    "For ηλ <= 1: ‖w_T − ŵ‖² <= e^{−ληT}‖w_0 − ŵ‖² + 2ηr̂^(2)/λ + 2ηλD² + B̂²/λ².",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="squared distance to the exact minimiser",
    relation="<=",
    explicit=sp.exp(-lambda_ * eta * T) * D**2
    + 2 * eta * r_2**2 / lambda_
    + 2 * eta * lambda_ * D**2
    + bias**2 / lambda_**2,
    assumptions=(sp.Le(eta * lambda_, 1),),
    about=("tsybakov/alg-2",),
)

thm_9 = claim(
    "tsybakov/thm-9",
    "Theorem 9",
    "The noise of the last phase costs F(w_l) − F(ŵ_l) <= Õ((r̃_{2k,n_l}/R̃_{2k,n})DL_f/√n) with probability 1 − β.",
    kind="theorem",
    section="B",
    quantity="cost of the last noise",
    relation="<=",
    order=r_2k / R_2k * D * L / sp.sqrt(n),
    about=("tsybakov/alg-3",),
    probability=1 - beta,
    grade="proof gap",
    remark="The display ends with log^{p+5/2} n in the denominator, which would need 2^l ≈ log n; the proof's "
    "own term is far smaller than stated (S7).",
    assumptions=(
        sp.Ge(p, 1),
        sp.Ge(k, 2),
    ),
)

thm_9_derived = claim(
    "tsybakov/thm-9@derived",
    "The cost of the last noise",
    "At n_l = 1, η_l = η/n² and η <= Dn^{−p/2}/L_f: 4L_f√d σ_l log(4/β) <= 32Dr̃_{2k} log(4/β)n^{−p/2−2}(√(d "
    "log(1/δ))/ε)^{(k−1)/k}(log n)^{−1/(2k)}.",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="cost of the last noise",
    relation="<=",
    explicit=32
    * D
    * r_2k
    * sp.log(4 / beta)
    * n ** (-p / 2 - 2)
    * (sp.sqrt(d * LOG) / epsilon) ** ((k - 1) / k)
    * sp.log(n) ** (-1 / (2 * k)),
    about=("tsybakov/alg-3",),
    probability=1 - beta,
    assumptions=(
        sp.Ge(p, 1),
        sp.Ge(k, 2),
    ),
)

lem_4 = claim(
    "tsybakov/lem-4",
    "Lemma 4",
    "On the events of all calls, with λ between μ_{e*} and 2^{θ−1}μ_{e*}: ‖ŵ_{e−1} − w*‖ <= 2^{−(e−1)}R_0 and "
    "F(ŵ_e) − F* <= 2^{−e}·2R_0a for e <= e*, and F(ŵ_e) − F(ŵ_{e*}) <= 2^{−e*}·2R_0a after it.",
    kind="lemma",
    section="B",
    quantity="excess risk after e calls",
    relation="<=",
    explicit=2**-e * 2 * R_0 * a,
    about=("tsybakov/alg-4",),
)

fact_thm3_recursion = claim(
    "tsybakov/fact-thm3-recursion",
    "Equations (10) to (14)",
    "Δ_i <= (Δ_{i−1}E_i)^{1/θ} with E_{i−1} <= 2^θE_i gives Δ_l <= C E_l^{1/(θ−1)}, C = "
    "2^{θ/(θ−1)²}·2^{θ³/(θ−1) + θ²|log_2 c_1|}.",
    kind="lemma",
    section="B",
    quantity="Δ_l/E_l^{1/(θ−1)}",
    relation="<=",
    explicit=2 ** (theta / (theta - 1) ** 2)
    * 2 ** (theta**3 / (theta - 1) + theta**2 * sp.Abs(theta / (theta - 1) * sp.log(a, 2) + theta / (theta - 1) ** 2)),
    about=("tsybakov/alg-5",),
    remark="a stands for the constant c of (11), c_1 = c^{θ/(θ−1)}2^{θ/(θ−1)²}. Printed with slips of exponents"
    " that do no harm (S18). The premise (11) is what does not follow: see thm-3.",
    assumptions=(sp.Gt(theta, 1),),
)

thm_3_phases = claim(
    "tsybakov/thm-3@phases",
    "The rate of Theorem 3 asked of Algorithm 5 with corrected phases",
    "Algorithm 5 around `alg-3@corrected`, on the whole domain in every call, has the excess risk of Theorem 3.",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=growth(R_2k * tau() + TAIL),
    about=("tsybakov/alg-5",),
    grade="proof gap",
    remark="On a strongly convex risk its exponents tend to −5/6 and −9/8 in the private regime at k = 2, 4, where the "
    "order has −1 and −3/2.",
)

lem_7 = claim(
    "tsybakov/lem-7",
    "Lemma 7",
    "For the clipped mean of s records plus noise: ‖Eν̃ − ν‖ = ‖Eν̂ − ν‖ <= E‖ν̂ − ν‖ <= r^(k)/((k−1)C^{k−1}) "
    "and E‖ν̃ − Eν̃‖² <= dσ² + r^(2)/s.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="bias",
    relation="<=",
    explicit=r_k**k / ((k - 1) * C ** (k - 1)),
    grade="slip",
    remark="The middle expression does not vanish without clipping (S9); only the bias is used.",
    assumptions=(sp.Ge(k, 2),),
)

lem_7_literal = claim(
    "tsybakov/lem-7@literal",
    "The middle of Lemma 7",
    "E‖ν̂ − ν‖ <= r^(k)/((k−1)C^{k−1}).",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="E‖ν̂ − ν‖",
    relation="<=",
    explicit=r_k**k / ((k - 1) * C ** (k - 1)),
    grade="slip",
    remark="Ten fair signs, C = 100, k = 2: 0.246 against 0.01.",
    assumptions=(sp.Ge(k, 2),),
)

lem_7_corrected = claim(
    "tsybakov/lem-7@corrected",
    "Lemma 7 with the sharp bias",
    "‖Eν̂ − ν‖ <= ((k−1)^{k−1}/k^k) r^(k)/C^{k−1}.",
    kind="lemma",
    section="B",
    origin="ours",
    quantity="bias",
    relation="<=",
    explicit=(k - 1) ** (k - 1) / k**k * r_k**k / C ** (k - 1),
    assumptions=(sp.Ge(k, 2),),
)

lem_7_variance = claim(
    "tsybakov/lem-7@variance",
    "Variance part of Lemma 7",
    "E‖ν̃ − Eν̃‖² <= dσ² + r^(2)/s.",
    kind="lemma",
    section="B",
    origin="cited",
    quantity="variance",
    relation="<=",
    explicit=d * sigma**2 + r_2**2 / n,
)
