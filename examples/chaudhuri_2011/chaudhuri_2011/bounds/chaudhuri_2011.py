"""Chaudhuri, Monteleoni and Sarwate (2011): L for their Lipschitz constant 1, H for their c, lambda for Λ + Δ."""

import sympy as sp

from dpcheck.claims import Paper
from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import H, L, R, d, epsilon, lambda_, n, positive

epsilon_1, r = positive("epsilon_1 r")
step, moved, scale = sp.log(1 + H / (n * lambda_)), 2 * L / (n * lambda_), 2 * L / (n * lambda_ * epsilon)
rate = L * R * sp.sqrt((1 + d / epsilon) / n)
PAPER = Paper(
    key="chaudhuri_2011", title="Differentially Private Empirical Risk Minimization",
    authors="K. Chaudhuri, C. Monteleoni, A. D. Sarwate", reference="Journal of Machine Learning Research 12 (2011)",
)  # fmt: skip
ALG_1, ALG_2 = {"about": ("chaudhuri_2011/alg-1",)}, {"about": ("chaudhuri_2011/alg-2",)}
LOSS = {"kind": "theorem", "relation": "<=", "quantity": "privacy loss", "measures": "epsilon spent"}
RISK = {"kind": "proposition", "relation": "<=", "quantity": "excess risk", "measures": "excess risk", "origin": "ours"}

CLAIMS = [
    PAPER.claim("chaudhuri_2011/cor-8", "Corollary 8", "One record moves the minimiser of J by at most 2L/(nΛ).",
                kind="corollary", relation="<=", quantity="movement of the minimiser", explicit=moved, **ALG_1),
    PAPER.claim("chaudhuri_2011/thm-6", "Theorem 6", "Algorithm 1 is ε-differentially private.",
                explicit=epsilon, **LOSS, **ALG_1),
    PAPER.claim("chaudhuri_2011/thm-9", "Theorem 9", "Algorithm 2 is ε-DP for losses of a margin, |φ''| ≤ H.",
                explicit=epsilon, assumptions=(sp.Le(r, 1),), **LOSS, **ALG_2),
    PAPER.claim("chaudhuri_2011/thm-9@derived", "Theorem 9",
                "It spends ε' + log(1 + H/(nλ)), which leaves one logarithm of ε; Huber's hinge spends that much.",
                explicit=epsilon_1 + step, assumptions=(sp.Le(r, 1),), **LOSS, **ALG_2),
    PAPER.claim("chaudhuri_2011/thm-9@corrected", "Theorem 9",
                "With ε' = ε - r log(1 + H/(nΛ)) it is ε-DP for all losses with Hessians ≤ H of rank ≤ r.",
                explicit=epsilon, remark="The printed proof needs Hessians of rank one; r takes the place of 2.",
                **LOSS, **ALG_2),
    PAPER.claim("chaudhuri_2011/rem-any-rank", "Theorem 9 beyond margins", "With the printed ε' it is so at any rank.",
                explicit=epsilon, origin="ours", grade="refuted", remark="False for d > 3: a factor a dimension.",
                **LOSS, **ALG_2),
    PAPER.claim("chaudhuri_2011/prop-output-risk", "Excess risk of Algorithm 1", "Over any f_0, |f_0| ≤ R, on average.",
                explicit=lambda_ * R**2 / 2 + L * moved * (1 + d / epsilon), **RISK, **ALG_1),
    PAPER.claim("chaudhuri_2011/prop-output-risk@balanced", "Excess risk of Algorithm 1", "The same at the best Λ.",
                order=rate, explicit=2 * rate, **RISK, **ALG_1),
    PAPER.claim("chaudhuri_2011/prop-objective-risk", "Excess risk of Algorithm 2", "Over any f_0, |f_0| ≤ R.",
                explicit=lambda_ * R**2 / 2 + L * moved * (1 + d * (d + 1) / (n * epsilon_1**2)), **RISK, **ALG_2),
]  # fmt: skip


@derivation("chaudhuri_2011/thm-6")
def minimisers_move_little(proof: Proof) -> None:
    """Strong convexity turns gradients into minimisers; noise of density exp(-|b|/s) loses the distance over s."""
    gradients = proof.equal("one record less, one record more, in a mean of n", L / n + L / n, 2 * L / n)
    apart = proof.argues("λ|f - f'|² ≤ <∇J(f') - ∇J'(f'), f' - f>", "|f - f'|", "<=", gradients / lambda_)
    proof.concludes("chaudhuri_2011/cor-8", apart)
    proof.concludes("chaudhuri_2011/thm-6", apart / scale)


@derivation("chaudhuri_2011/thm-9")
def change_of_variables(proof: Proof) -> None:
    """The noise is a function of the minimiser, b = -n∇J(f): its density and one determinant make up the loss."""
    noise = proof.equal("gradients 2L apart, density exp(-ε'|b|/(2L))", 2 * L * (epsilon_1 / (2 * L)), epsilon_1)
    most = proof.argues("two eigenvalues, each at most H/(nλ)", "det ∂B'/det ∂B", "<=", (1 + H / (n * lambda_)) ** 2)
    printed = proof.equal("its logarithm", noise + sp.log(most), epsilon_1 + 2 * step)
    proof.concludes("chaudhuri_2011/thm-9", printed, where={epsilon_1: epsilon - 2 * step})
    half = {epsilon_1: epsilon / 2, H: n * lambda_ * (sp.exp(epsilon / 4) - 1)}
    proof.equal("and where Δ > 0: ε' = ε/2, H/(nλ) = e^(ε/4) - 1", printed, epsilon, half)
    proof.argues("det(A_0 + E')/det(A_0 + E'') ≤ det(I + A_0⁻¹E'), A_0 ≥ nλ of the n - 1 other records")
    proof.concludes("chaudhuri_2011/thm-9@derived", noise + step)
    proof.concludes("chaudhuri_2011/thm-9@corrected", noise + r * step, where={epsilon_1: epsilon - r * step})


@derivation("chaudhuri_2011/prop-output-risk")
def three_costs(proof: Proof) -> None:
    """Regulariser, stability, and the mean length of the noise times L; Algorithm 2: its second moment."""
    parts = {"regulariser": lambda_ * R**2 / 2, "stability": L * moved, "noise": L * d * scale}
    bound = proof.master("excess risk", parts)
    proof.concludes("chaudhuri_2011/prop-output-risk", bound)
    best = 2 * L / R * sp.sqrt((1 + d / epsilon) / n)
    proof.concludes("chaudhuri_2011/prop-output-risk@balanced", proof.chooses(bound, {lambda_: best}))
    square = proof.argues("|b| is Gamma(d) in units of 2L/ε'", "E|b|²", "=", d * (d + 1) * (2 * L / epsilon_1) ** 2)
    bound = proof.master("excess risk of Algorithm 2", {**parts, "noise": square / (2 * n**2 * lambda_)})
    proof.concludes("chaudhuri_2011/prop-objective-risk", bound)


no_proof = underived("chaudhuri_2011/rem-any-rank", "false; its witness is computed by itself")
