"""Appendix D of arXiv 2604.06492: the proofs of Section 3, and polynomial time with probability one."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import G_2, C, D, G_k, J, beta, d, epsilon, index, k, lambda_, m, n, sequences

from ._paper import RATE, claim, m_1
from .section_2_1 import LARGE_SAMPLE, LOG, localised

A_Z = sp.Symbol("A_Z", positive=True)
cap, gap, weight, records = sequences("C gap lambda m")

prop_d_1 = claim(
    "pure_heavy_tails/prop-d-1",
    "Proposition D.1",
    "Proposition 3.2 again. In its proof: ‖w_α − ŵ_C^{W_0}‖ ≤ C/(6λm); w_α has sensitivity at most 7C/(3λm) < "
    "3C/(λm) for fixed W_0; the steps of the two solvers are at most ⌈(3D√(m+1) L_Z 2λm²/C²)²⌉ and ⌈(3 diam(K_0) "
    "L_Z 72λm²/C²)²⌉ with diam(K_0) ≤ D√m + 600Cd/(λmε).",
    kind="proposition",
    section="D.1",
    quantity="sensitivity of the second-stage minimiser",
    relation="<=",
    explicit=7 * C / (3 * lambda_ * m),
    about=("pure_heavy_tails/alg-4",),
    grade="proof gap",
    remark="Pr(‖b‖ ≤ β(d + log 10)) ≥ 0.9 is false for d ≥ 3 (S4); diam(W_0) is up to 1200Cd/(λmε), not 600 (S2); "
    "the bias step is that of C.3 (S1); 1/G_k is missing from the running time (S11). All conclusions but the last "
    "stand.",
)


@derivation("pure_heavy_tails/prop-d-1")
def sensitivity_of_the_second_stage(proof: Proof) -> None:
    """The exact minimiser moves by 2C/(λm), the solver and the projection by their precision at both data sets."""
    exact = proof.uses("pure_heavy_tails/fact-erm-sensitivity", 2 * C / (lambda_ * m), {n: m})
    gap = proof.uses("pure_heavy_tails/alg-4@gap", C**2 / (72 * lambda_ * m**2), {index: 2})
    solver = proof.equal("√(2α/λ)", lambda: sp.sqrt(2 * gap / lambda_), C / (6 * lambda_ * m))
    proof.concludes("pure_heavy_tails/prop-d-1", exact + 2 * solver)


fact_eq_14 = claim(
    "pure_heavy_tails/fact-eq-14",
    "Equation (14)",
    "Every subgradient of the joint objective that the oracle forms has norm at most L_Z = A_Z + 2C + λD, A_Z = "
    "max_i A(z_i); and A_Z ≤ G_k(m/ρ)^{1/k} with probability at least 1 − ρ.",
    kind="lemma",
    section="D.1",
    quantity="norm of the joint subgradient",
    relation="<=",
    explicit=A_Z + 2 * C + lambda_ * D,
    about=("pure_heavy_tails/proc-joint-reform",),
    remark="Holds with these constants; the text adds 'up to an absolute constant', which is not needed.",
)

thm_d_2 = claim(
    "pure_heavy_tails/thm-d-2",
    "Theorem D.2",
    "Theorem 3.1 again; the proof gives each of the TJ calls the failure probability ρ/(2TJ) for its running time.",
    kind="theorem",
    section="D.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=RATE,
    assumptions=(sp.Lt(beta, sp.Rational(1, 5)), sp.Ge(k, 2)),
    about=("pure_heavy_tails/proc-localized-double-op",),
    probability=1 - beta,
    remark="'The dependence on 1/λ_t' of the proof should read λ_t, which is what the step bounds grow with (S10).",
)


@derivation("pure_heavy_tails/thm-d-2", LARGE_SAMPLE)
def restated_main_theorem(proof: Proof) -> None:
    """Theorem 3.1 again, the failure probability of the running time shared by the calls."""
    rate = G_k * D * (d * sp.log(1 / beta) / (n * epsilon)) ** (1 - 1 / k) + G_2 * D * sp.sqrt(sp.log(1 / beta) / n)
    risk = proof.uses("pure_heavy_tails/thm-3-1", rate)
    proof.assumes("pure_heavy_tails/thm-d-2", beta, sp.Rational(1, 5))
    T, rho = sp.symbols("T rho", positive=True)
    proof.equal("TJ calls that fail with probability ρ/(2TJ) each", lambda: T * J * rho / (2 * T * J), rho / 2)
    proof.concludes("pure_heavy_tails/thm-d-2", risk, where=LOG)


thm_d_4 = claim(
    "pure_heavy_tails/thm-d-4",
    "Theorem D.4",
    "With an oracle as in Definition D.3 for every C there is an ε-DP algorithm with the risk of Theorem 3.1 that "
    "runs in polynomial time with probability 1.",
    kind="theorem",
    section="D.3",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=RATE,
    assumptions=(sp.Lt(beta, sp.Rational(1, 5)), sp.Ge(k, 2)),
    about=("pure_heavy_tails/proc-structured-double-op",),
    probability=1 - beta,
)


def localised_rate(proof: Proof, label: str, private: sp.Expr, where: dict[sp.Basic, sp.Basic] | None = None) -> None:
    """Theorem 2.1 with a solver whose private term, λ times its distance, is `private` on m records."""
    risk = localised(proof, (private + sp.sqrt(20) * G_2 / sp.sqrt(m)).subs(m, m_1))
    proof.concludes(label, risk, where={**LOG, **(where or {})})


@derivation("pure_heavy_tails/thm-d-4", LARGE_SAMPLE)
def bounded_subgradients(proof: Proof) -> None:
    """Projected steps with inexact subgradients of norm C reach the precision that Proposition 3.2 asks for."""
    L, alpha, T = sp.symbols("L alpha T", positive=True)
    steps = (4 * D * L / alpha) ** 2
    proof.uses("pure_heavy_tails/prop-d-6", C)
    average = proof.equal("DL/√T at T = (4DL/α)²", lambda: (D * L / sp.sqrt(T)).xreplace({T: steps}), alpha / 4)
    proof.at_most("with α/4 from the oracle and α/4 from the projections", average + alpha / 2, alpha)
    distance = 48 * G_k / lambda_ * (d / (m * epsilon)) ** (1 - 1 / k)
    private = lambda_ * proof.uses("pure_heavy_tails/prop-3-2@derived", distance)
    proof.assumes("pure_heavy_tails/thm-d-4", beta, sp.Rational(1, 5))
    localised_rate(proof, "pure_heavy_tails/thm-d-4", private)


proc_structured_double_op = claim(
    "pure_heavy_tails/proc-structured-double-op",
    "Modified Algorithm 4 (proof of Theorem D.4)",
    "Algorithm 4 with both solvers replaced by biased projected subgradient steps on F̂_{C,λ} itself, L = 2C + λD.",
    kind="procedure",
    section="D.3",
    about=("pure_heavy_tails/alg-4",),
)

proc_structured_double_op_gradients = proc_structured_double_op.as_read(
    "pure_heavy_tails/proc-structured-double-op@gradients",
    "Modified Algorithm 4, gradients",
    "⌈(4DL/α)²⌉ full-batch steps in each stage, L = 2C + λD and α the gap of the stage.",
    quantity="gradients",
    relation="=",
    explicit=records[1] * sum(sp.ceiling((4 * D * (2 * cap[i] + weight[i] * D) / gap[i]) ** 2) for i in (1, 2)),
    about=("pure_heavy_tails/proc-structured-double-op",),
)
