"""Section 5: minimax lower bounds under zCDP, Theorems 4 and 5."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import C, d, k, mu, n, p, r_k, rho, theta

from ._paper import LOWER_PRIVATE, LOWER_STATISTICAL, a, c, claim
from .appendix_b_lower_bounds import N

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

thm_4_literal = thm_4.as_read(
    "tsybakov/thm-4@literal",
    "The printed instance of Theorem 4",
    "On the ball of radius (p_a^{−1/k}r̃_k/2)^{1/(θ−1)} the instance satisfies E sup_W ‖∇f‖^k <= r̃_k^k.",
    section="B",
    quantity="E sup ‖∇f‖^k over r̃_k^k",
    relation="<=",
    explicit=sp.Integer(1),
    grade="slip",
    remark="It is 1 + (1/p_a − 1)2^{−k}: 25.75 at k = 2, p_a = 0.01, and unbounded.",
    assumptions=(
        sp.Ge(k, 2),
        sp.Le(p, 1),
    ),
    measures="",
)

thm_4_corrected = thm_4_literal.as_read(
    "tsybakov/thm-4@corrected",
    "Theorem 4 with constants, on the smaller ball",
    "On W = B(μ^{1/(θ−1)}) with p_a = c√d/(n√ρ) <= 1, every ρ-zCDP algorithm has average excess risk at least "
    "2^{1−θ}(μ^{1/(θ−1)}/(2√2))^θ times the Fano factor, μ = p_a^{(k−1)/k}r̃_k/2; the problems satisfy "
    "Assumption 1 and (θ, 2^{1−θ})-TNC.",
    origin="ours",
    quantity="average excess risk over the packing",
    relation=">=",
    order=LOWER_PRIVATE,
    explicit=SEPARATED.subs(mu, ATOM ** ((k - 1) / k) * r_k / 2) * FANO,
    assumptions=(sp.Ge(theta, 2), sp.Le(ATOM, 1)),
)

MEAN_PRIVATE = (c * sp.sqrt(d) / (n * sp.sqrt(rho))) ** ((k - 1) / k) * r_k / 2
MEAN_STATISTICAL = c * r_k / (2 * sp.sqrt(n))


def separated(mean: sp.Expr) -> sp.Expr:
    """Excess at half the distance of two minimisers μ^{1/(θ−1)}v, under the constant 2^{1−θ}."""
    return 2 ** (1 - theta) * (mean ** (1 / (theta - 1)) / (2 * sp.sqrt(2))) ** theta


CONSTANTS = Regime(base=None, others="free", constants=[c])


@derivation("tsybakov/thm-4", CONSTANTS)
def private_packing(proof: Proof) -> None:
    """Atoms of probability p_a = c√d/(n√ρ) make n records look alike; the means are p_a^{(k−1)/k}r̃_k/2 long."""
    proof.assumes("tsybakov/thm-4", sp.sqrt(d / rho), n)
    proof.argues("so p_a <= c, and Fano's factor is a positive constant at small c", "", ">=", sp.Rational(1, 4))
    proof.assumes("tsybakov/thm-4", sp.Integer(2), theta)
    proof.concludes("tsybakov/thm-4", separated(MEAN_PRIVATE))


@derivation("tsybakov/thm-4@corrected")
def private_packing_with_constants(proof: Proof) -> None:
    """Fano at half the distance of two minimisers μ^{1/(θ−1)}v, under the growth of the smaller ball."""
    proof.assumes("tsybakov/thm-4@corrected", ATOM, sp.S.One)
    apart = proof.uses("tsybakov/proc-gv-packing", d / 8)
    half = proof.equal("half of two unit vectors' distance", lambda: sp.sqrt(4 * apart / d) / 2, 1 / (2 * sp.sqrt(2)))
    mean = proof.uses("tsybakov/proc-lb4-data", ATOM ** ((k - 1) / k) * r_k / 2, {p: ATOM})
    proof.assumes("tsybakov/thm-4@corrected", sp.Integer(2), theta)
    growth = proof.uses("tsybakov/fact-power-tnc@corrected", 2 ** (1 - theta))
    excess = growth * (mean ** (1 / (theta - 1)) * half) ** theta
    proof.uses("tsybakov/fact-gv", 2 ** (d / 20))
    bound = excess * (1 - (rho * (n**2 * ATOM**2 + n * ATOM * (1 - ATOM)) + sp.log(2)) / (d / 20 * sp.log(2)))
    proof.concludes(
        "tsybakov/thm-4@corrected",
        proof.uses("tsybakov/lem-5@corrected", bound, {a: excess, N: 2 ** (d / 20), p: ATOM}),
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

thm_5_corrected = thm_5_literal.as_read(
    "tsybakov/thm-5@corrected",
    "Theorem 5 with bias c/√n",
    "If 2c²d/(1 − c²/n) + log 2 <= (d/40) log 2, then the average excess risk is at least "
    "2^{1−θ}(μ^{1/(θ−1)}/(2√2))^θ/2 with μ = cr̃_k/(2√n).",
    origin="ours",
    quantity="average excess risk over the packing",
    relation=">=",
    order=LOWER_STATISTICAL,
    explicit=SEPARATED.subs(mu, c * r_k / (2 * sp.sqrt(n))) / 2,
    assumptions=(sp.Ge(theta, 2), sp.Le(2 * c**2 * d / (1 - c**2 / n) + sp.log(2), d / 40 * sp.log(2))),
)


@derivation("tsybakov/thm-5", CONSTANTS)
def statistical_packing(proof: Proof) -> None:
    """Coordinates of bias c/√n: divergence 2c²d/(1 − c²/n) for n records, and means cr̃_k/(2√n) long."""
    y = sp.Symbol("y", positive=True)
    bias_ = y / (1 + y)
    proof.gap(
        "KL <= δ² for one coordinate",
        bias_ * sp.log((1 + bias_) / (1 - bias_)),
        bias_**2,
        {y: sp.Rational(1, 10)},
        stands="it is about 2δ², and the bias c/√n with a small c repairs it",
    )
    proof.argues("Fano's factor is a positive constant at small c", "Fano's factor", ">=", sp.Rational(1, 2))
    proof.assumes("tsybakov/thm-5", sp.Integer(2), theta)
    proof.concludes("tsybakov/thm-5", separated(MEAN_STATISTICAL))


@derivation("tsybakov/thm-5@corrected")
def statistical_packing_with_constants(proof: Proof) -> None:
    """Records of length r̃_k/2 and bias c/√n; by the hypothesis Fano's factor is 1/2 at least."""
    most = proof.assumes("tsybakov/thm-5@corrected", 2 * c**2 * d / (1 - c**2 / n) + sp.log(2), d / 40 * sp.log(2))
    factor = proof.equal(
        "Fano's factor there, log N = (d/20) log 2", lambda: 1 - most / (d / 20 * sp.log(2)), sp.Rational(1, 2)
    )
    mean = proof.uses("tsybakov/proc-lb5-data", r_k / 2) * c / sp.sqrt(n)
    proof.assumes("tsybakov/thm-5@corrected", sp.Integer(2), theta)
    growth = proof.uses("tsybakov/fact-power-tnc@corrected", 2 ** (1 - theta))
    proof.concludes(
        "tsybakov/thm-5@corrected", growth * (mean ** (1 / (theta - 1)) / (2 * sp.sqrt(2))) ** theta * factor
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

rem_5_derived = rem_5.as_read(
    "tsybakov/rem-5@derived",
    "Moments of the hard instance",
    "The atoms of Theorem 4 have (E‖x‖^{2k})^{1/(2k)}/(E‖x‖^k)^{1/k} = p_a^{−1/(2k)}.",
    origin="ours",
    quantity="ratio of moments",
    relation="=",
    explicit=p ** (-1 / (2 * k)),
    measures="",
)


@derivation("tsybakov/rem-5@derived", CONSTANTS)
def moments_of_the_hard_instance(proof: Proof) -> None:
    """r̃_{2k} is not of the order of r̃_k on the instance of Theorem 4: their ratio is p_a^{−1/(2k)}."""
    ratio = proof.equal(
        "atoms of size 1 and probability p", lambda: p ** (1 / (2 * k)) / p ** (1 / k), p ** (-1 / (2 * k))
    )
    proof.concludes("tsybakov/rem-5@derived", ratio)
    proof.gap(
        "r̃_{2k} <= 2r̃_k on that instance",
        ratio,
        2,
        {p: sp.Rational(1, 10000), k: 2},
        stands="so the two bounds match on other instances only",
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
