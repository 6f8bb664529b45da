"""Section 2.1 of arXiv 2604.06492: population localisation reduces SCO to private regularised ERM.

The failure probability that the paper calls δ is β (`beta`) in the formulas.
"""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import G_1, G_2, D, G_k, J, R, beta, d, epsilon, index, k, lambda_, last, m, n, sequences

from ._paper import RATE, c_erm, claim, m_1

weight, precision, phases, begins, blocks, records = sequences("lambda Delta t first J m")
phase = sp.Symbol("t", positive=True)


def precision_of(constant: sp.Expr) -> sp.Expr:
    """Δ_t of a block of m records around a solver with that constant of (6)."""
    solver = constant * (G_k * (d / (m * epsilon)) ** (1 - 1 / k) + G_2 / sp.sqrt(m))
    return solver + sp.sqrt(20) * G_2 / sp.sqrt(m)


def weight_of(constant: sp.Expr) -> sp.Expr:
    """λ_t = 32^{t−1}·20Δ_1/D."""
    return 32 ** (phase - 1) * 20 * precision_of(constant).subs(m, records[1]) / D


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

alg_1_literal = alg_1.as_read(
    "pure_heavy_tails/alg-1@literal",
    "Algorithm 1, line 1",
    "With T = ⌈log₂ n⌉ phases every block of every phase holds a record: ⌊⌊n/2ᵀ⌋/J⌋ ≥ 1.",
    quantity="records in the smallest block",
    relation=">=",
    explicit=sp.Integer(1),
    assumptions=(sp.Ge(n, 2 * J),),
    about=("pure_heavy_tails/alg-1",),
    grade="slip",
    remark="False unless n is a power of two and J = 1.",
)

alg_1_corrected = alg_1.as_read(
    "pure_heavy_tails/alg-1@corrected",
    "Algorithm 1 with T = ⌊log₂(n/J)⌋",
    "With T = ⌊log₂(n/J)⌋ ≥ 1 phases every block holds a record and is at most halved, up to one record: m_{t+1} ≥ "
    "m_t/3. The residual 3G_1Δ_T/λ_T of the last phase is at most 77 G_1 D (J/n)⁴ for λ_1 = 20Δ_1/D.",
    origin="ours",
    quantity="residual of the last phase, 3 G_1 Δ_T/λ_T",
    relation="<=",
    explicit=77 * G_1 * D * (J / n) ** 4,
    assumptions=(sp.Ge(n, 2 * J),),
    about=("pure_heavy_tails/alg-1",),
)

alg_1_records = alg_1.as_read(
    "pure_heavy_tails/alg-1@records",
    "Algorithm 1, lines 7 and 11",
    "A block of phase t holds m_t = ⌊⌊n/2ᵗ⌋/J⌋ records.",
    quantity="records of a block",
    relation="=",
    explicit=sp.floor(n / (2**phase * J)),
    about=("pure_heavy_tails/alg-1",),
)

alg_1_first = alg_1.as_read(
    "pure_heavy_tails/alg-1@first",
    "Algorithm 1, line 7",
    "The batches of the phases are disjoint: that of phase t begins where the ⌊n/2ᵗ⁻¹⌋ records of the one before end.",
    quantity="index of a phase's first record",
    relation="=",
    explicit=sp.Piecewise(
        (0, sp.Eq(phase, 1)),
        (begins[index - 1] + (phase - phases[index - 1]) * sp.floor(n / 2 ** phases[index - 1]), True),
    ),
    about=("pure_heavy_tails/alg-1",),
)

alg_1_phases = alg_1.as_read(
    "pure_heavy_tails/alg-1@corrected-phases",
    "Algorithm 1 with T = ⌊log₂(n/J)⌋",
    "T = ⌊log₂(n/J)⌋ phases: all in which every block holds a record.",
    origin="ours",
    quantity="phases",
    relation="=",
    explicit=sp.floor(sp.log(n / blocks[1], 2)),
    about=("pure_heavy_tails/alg-1",),
)

alg_1_blocks = alg_1.as_read(
    "pure_heavy_tails/alg-1@derived-blocks",
    "Algorithm 1, line 3, with its constant",
    "J = ⌈8 log(⌈log₂ n⌉/δ)⌉ for a solver that meets (6) with probability 0.8: 8 = 1/(2·0.25²), and J = Θ(log(T/δ)).",
    origin="ours",
    quantity="blocks of a phase",
    relation="=",
    explicit=sp.ceiling(8 * sp.log(sp.ceiling(sp.log(n, 2)) / beta)),
    about=("pure_heavy_tails/alg-1", "pure_heavy_tails/proc-single-op"),
)

alg_1_weights = alg_1.as_read(
    "pure_heavy_tails/alg-1@derived-lambda",
    "Algorithm 1, lines 5 and 10, with λ_1",
    "λ_t = 32^{t−1}λ_1, as printed, with λ_1 = 20Δ_1/D, which the text leaves open.",
    origin="ours",
    quantity="weight of the regulariser",
    relation="=",
    explicit=weight_of(c_erm),
    about=("pure_heavy_tails/alg-1",),
)

alg_1_reach = alg_1.as_read(
    "pure_heavy_tails/alg-1@derived-reach",
    "Algorithm 1, distance of a good block",
    "A good block's point lies within Δ_t/λ_t of the regularised population minimiser, Δ_t = "
    "c_erm(G_k(d/(m_tε))^{1−1/k} + G_2/√m_t) + √20 G_2/√m_t.",
    origin="ours",
    quantity="distance that is allowed to a good block",
    relation="=",
    explicit=precision_of(c_erm) / lambda_,
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

proc_geom_agg_derived = proc_geom_agg.as_read(
    "pure_heavy_tails/proc-geom-agg@derived",
    "Minimum-median-radius point",
    "Return the candidate whose smallest ball around it with ⌊J/2⌋+1 candidates has the smallest radius. If more "
    "than J/2 candidates lie within R of a point v, the output lies within 3R of v.",
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

thm_2_1_derived = thm_2_1.as_read(
    "pure_heavy_tails/thm-2-1@derived",
    "Theorem 2.1 with constants",
    "A solver that meets (6) with probability at least 0.7, T = ⌊log₂(n/J)⌋, J ≥ (200/9) log(log₂(n)/δ), "
    "minimum-median-radius aggregation and λ_1 = 20Δ_1/D give F(ŵ) − F* ≤ 20.1 D Δ_1 + 77 G_1 D (J/n)⁴, where Δ_1 = "
    "c_erm(G_k(d/(m_1ε))^{1−1/k} + G_2/√m_1) + √20 G_2/√m_1 and m_1 = ⌊n/(2J)⌋. (At 0.6 in place of 0.7: J ≥ 200 "
    "log(log₂(n)/δ).)",
    origin="ours",
    order=RATE,
    explicit=sp.Rational(201, 10)
    * D
    * (c_erm * (G_k * (d / (m_1 * epsilon)) ** (1 - 1 / k) + G_2 / sp.sqrt(m_1)) + sp.sqrt(20) * G_2 / sp.sqrt(m_1))
    + 77 * G_1 * D * (J / n) ** 4,
    assumptions=(
        sp.Ge(n, 2 * J),
        sp.Ge(J, sp.Rational(200, 9) * sp.log(sp.log(n, 2) / beta)),
        sp.Ge(k, 2),
        sp.Lt(beta, sp.Rational(1, 2)),
    ),
)

thm_2_1_summed = thm_2_1.as_read(
    "pure_heavy_tails/thm-2-1@summed",
    "Theorem 2.1, phase by phase",
    "λ_1D²/2 + 144 Σ_{t<T} Δ_t²/λ_t + 3G_1Δ_T/λ_T, Δ_t the precision that is proved of phase t's blocks: a solver that "
    "meets (6) with probability at least 0.7, as many blocks as `thm-2-1@derived` asks for, any weights λ_t.",
    origin="ours",
    explicit=weight[1] * D**2 / 2
    + 144 * sp.Sum(precision[index] ** 2 / weight[index], (index, 1, last - 1))
    + 3 * G_1 * precision[last] / weight[last],
    # the same (5d8d6d): without beta < 1/2: each of log₂ n phases fails with β/log₂ n by Hoeffding, whatever β is
    assumptions=(sp.Lt(beta, sp.Rational(1, 2)),),
    about=("pure_heavy_tails/alg-1", "pure_heavy_tails/proc-localized-double-op"),
)

thm_2_1_solver = thm_2_1.as_read(
    "pure_heavy_tails/thm-2-1@solver",
    "The accuracy (6) of a solver",
    "‖A_ERM(Z, ε, λ, w_0) − ŵ_λ‖ ≤ (c_erm/λ)(G_k(d/(mε))^{1−1/k} + G_2/√m) with probability at least 0.7, c_erm the "
    "constant that is proved of the solver.",
    origin="ours",
    quantity="distance to the regularised empirical minimiser",
    measures="distance",
    explicit=c_erm / lambda_ * (G_k * (d / (m * epsilon)) ** (1 - 1 / k) + G_2 / sp.sqrt(m)),
    assumptions=(sp.Ge(k, 2), sp.Le(epsilon, d)),
    about=(
        "pure_heavy_tails/alg-2",
        "pure_heavy_tails/alg-4",
        "pure_heavy_tails/alg-5",
        "pure_heavy_tails/alg-7",
        "pure_heavy_tails/proc-single-op",
    ),
    probability=sp.Rational(7, 10),
)

ell = sp.Symbol("ell", positive=True)

Delta, Delta_1 = sp.symbols("Delta Delta_1", positive=True)

LOG = {sp.log(1 / beta): ell, J: ell}
"""Orders are compared with J of the order of log(1/β), which J_t = Θ(log(t²/δ)) allows (S7)."""

LARGE_SAMPLE = Regime(base=None, others="free", where=[ell <= n, d >= 1, epsilon <= d, G_1 <= G_2])


def localised(proof: Proof, precision: sp.Expr) -> sp.Expr:
    """The lines of Theorem 2.1 from the precision Δ_1/λ_1 of a block of the first phase on; returns the risk bound."""
    growth = sp.Integer(32)
    proof.equal(
        "a later centre costs (λ_{t+1}/2)(3Δ_t/λ_t)², and λ_{t+1} = 32λ_t",
        lambda: growth * lambda_ / 2 * (3 * Delta / lambda_) ** 2,
        144 * Delta**2 / lambda_,
    )
    t = sp.Symbol("t", integer=True, nonnegative=True)
    proof.equal(
        "Δ_t grows by 3 at most, so the costs fall by 9/32: a geometric sum",
        sp.Sum(144 * (sp.Rational(9, 32)) ** t, (t, 0, sp.oo)),
        sp.Rational(4608, 23),
    )
    total = proof.master(
        "F(ŵ) − F*, less the residual of the last phase",
        {"bias of the first phase": lambda_ * D**2 / 2, "later centres": sp.Rational(4608, 23) * Delta_1**2 / lambda_},
    )
    risk = proof.chooses(total, {lambda_: 20 * Delta_1 / D}, text="choose λ_1 = 20Δ_1/D")
    proof.at_most("round up", risk, sp.Rational(201, 10) * D * Delta_1)
    residual = 3 * G_1 * D / 20 * (n / (2 * J)) * (4 * J / n) ** 5
    proof.at_most(
        "the residual 3G_1Δ_T/λ_T, with Δ_T ≤ (n/(2J))Δ_1 and 32^{T−1} ≥ (n/(4J))⁵",
        residual,
        77 * G_1 * D * (J / n) ** 4,
    )
    return sp.Rational(201, 10) * D * precision + 77 * G_1 * D * (J / n) ** 4


@derivation("pure_heavy_tails/thm-2-1", LARGE_SAMPLE, also=("pure_heavy_tails/thm-2-1@derived",))
def localisation(proof: Proof) -> None:
    """Centres of a solver's precision Δ_t/λ_t cost 144Δ_t²/λ_t each; λ_1 balances their sum against λ_1D²/2."""
    derived = "pure_heavy_tails/thm-2-1@derived"
    proof.assumes("pure_heavy_tails/thm-2-1@solver", epsilon, d)
    solver = proof.uses(
        "pure_heavy_tails/thm-2-1@solver",
        c_erm / lambda_ * (G_k * (d / (m * epsilon)) ** (1 - 1 / k) + G_2 / sp.sqrt(m)),
    )
    proof.assumes(derived, 2 * J, n)
    proof.assumes(derived, sp.Rational(200, 9) * sp.log(sp.log(n, 2) / beta), J)
    for label in ("pure_heavy_tails/thm-2-1", derived):
        proof.assumes(label, beta, sp.Rational(1, 2))
    distance = proof.argues(
        "more than half of the blocks are as near to the regularised minimiser (Hoeffding), and √20 G_2/(λ√m) more "
        "from that of the population (Chebyshev)",
        "Δ_t/λ_t",
        "<=",
        solver + sp.sqrt(20) * G_2 / (lambda_ * sp.sqrt(m)),
    )
    reach = proof.uses("pure_heavy_tails/alg-1@derived-reach", distance)
    block = proof.equal("λ_t times it", lambda_ * reach, precision_of(c_erm))
    for t in (1, 2):
        weight = 32 ** (t - 1) * 20 * block / D
        proof.uses("pure_heavy_tails/alg-1@derived-lambda", weight, {phase: t, records[1]: m})
    risk = localised(proof, block.subs(m, m_1))
    proof.concludes(derived, risk)
    proof.concludes("pure_heavy_tails/thm-2-1", risk.subs(c_erm, 1), where=LOG)
