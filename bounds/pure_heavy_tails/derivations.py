"""How the bounds of arXiv 2604.06492 follow: master inequality, choice of parameters, constants; every line executed.

The arguments in words stand in `bounds/pure_heavy_tails.md` under the same labels. ℓ stands for log(1/β), β being the
failure probability that the paper calls δ.
"""

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import G_1, G_2, C, D, G_k, J, beta, d, epsilon, k, lambda_, m, n

ell, c_erm = sp.symbols("ell c_erm", positive=True)
Delta, Delta_1 = sp.symbols("Delta Delta_1", positive=True)
LOG = {sp.log(1 / beta): ell, J: ell}
"""Orders are compared with J of the order of log(1/β), which J_t = Θ(log(t²/δ)) allows (S7)."""
LARGE_SAMPLE = Regime(base=None, others="free", where=[ell <= n, d >= 1, epsilon <= d, G_1 <= G_2])
m_1 = sp.floor(n / (2 * J))
PRIVATE = G_k * (d / (n * epsilon)) ** (1 - 1 / k)


def localised(proof: Proof, precision: sp.Expr) -> sp.Expr:
    """The lines of Theorem 2.1 from the precision Δ_1/λ_1 of a block of the first phase on; returns the risk bound."""
    growth = sp.Integer(32)
    proof.equal(
        "a later centre costs (λ_{t+1}/2)(3Δ_t/λ_t)², and λ_{t+1} = 32λ_t",
        growth * lambda_ / 2 * (3 * Delta / lambda_) ** 2,
        144 * Delta**2 / lambda_,
    )
    t = sp.Symbol("t", integer=True, nonnegative=True)
    proof.equal(
        "Δ_t grows by 3 at most, so the costs fall by 9/32: a geometric sum",
        sp.summation(144 * (sp.Rational(9, 32)) ** t, (t, 0, sp.oo)),
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


@derivation("pure_heavy_tails/prop-2-5")
def second_stage(proof: Proof) -> None:
    """Noise and solver cost c_1 Cd/(λnε), the bias of the minimiser 20 G_kᵏ/(λC^{k−1}); C balances the two."""
    c_1 = sp.Symbol("c_1", positive=True)
    bias = proof.uses("pure_heavy_tails/prop-2-5@corrected", 2 * G_k**k / (lambda_ * C ** (k - 1)))
    markov = proof.argues("Markov, with probability 0.9", "‖ŵ_C − ŵ_λ‖", "<=", 10 * bias)
    bound = proof.master("‖w_DP − ŵ_λ‖", {"noise and solver": c_1 * C * d / (lambda_ * n * epsilon), "bias": markov})
    distance = proof.chooses(
        bound, {C: G_k * (n * epsilon / d) ** (1 / k)}, regime=Regime(base=None, others="free", constants=[c_1])
    )
    proof.concludes("pure_heavy_tails/prop-2-5@derived", distance)
    proof.concludes("pure_heavy_tails/prop-2-5", distance, regime=Regime(base=None, others="free", constants=[c_1]))


@derivation("pure_heavy_tails/prop-3-2", Regime(base=None, others="free", where=[epsilon <= d, d >= 1]))
def double_output_perturbation(proof: Proof) -> None:
    """Solver, noise and bias of Algorithm 4 add up to 48 G_k/λ (d/(mε))^{1−1/k}."""
    u = C * d / (lambda_ * m * epsilon)
    t = sp.Symbol("t", positive=True)
    solver = proof.at_most(
        "ξ + √(2α/λ) = C/(3λm) is at most u/3, as ε ≤ d", C / (3 * lambda_ * m), u / 3, {d: epsilon * (1 + t)}
    )
    noise = proof.argues("‖b‖ ≤ 12 log(10) u with probability 0.9 (fact-gamma-tail)", "‖b‖", "<=", 12 * sp.log(10) * u)
    stage = proof.at_most("together c_1 = 28", solver + noise, 28 * u)
    bias = proof.uses("pure_heavy_tails/prop-2-5@corrected", 2 * G_k**k / (lambda_ * C ** (k - 1)))
    bound = proof.master("‖w_DP − ŵ_λ‖", {"solver and noise": stage, "bias, by Markov": 10 * bias})
    distance = proof.chooses(bound, {C: G_k * (m * epsilon / d) ** (1 / k)})
    proof.concludes("pure_heavy_tails/prop-3-2@derived", distance)
    proof.concludes("pure_heavy_tails/prop-3-2", distance)


@derivation("pure_heavy_tails/thm-2-1", LARGE_SAMPLE)
def localisation(proof: Proof) -> None:
    """Centres of a solver's precision Δ_t/λ_t cost 144Δ_t²/λ_t each; λ_1 balances their sum against λ_1D²/2."""
    solver = c_erm * (G_k * (d / (m * epsilon)) ** (1 - 1 / k) + G_2 / sp.sqrt(m))
    block = proof.argues(
        "more than half of the blocks are within Δ_t/λ_t of the regularised minimiser (Chebyshev, Hoeffding)",
        "Δ_t",
        "=",
        solver + sp.sqrt(20) * G_2 / sp.sqrt(m),
    )
    risk = localised(proof, block.subs(m, m_1))
    proof.concludes("pure_heavy_tails/thm-2-1@derived", risk)
    proof.concludes("pure_heavy_tails/thm-2-1", risk.subs(c_erm, 1), where=LOG)


@derivation("pure_heavy_tails/thm-3-1", LARGE_SAMPLE)
def main_theorem(proof: Proof) -> None:
    """Theorem 2.1 with the precision of Algorithm 4, which needs no G_2 term of its own."""
    distance = proof.uses("pure_heavy_tails/prop-3-2@derived", 48 * G_k / lambda_ * (d / (m * epsilon)) ** (1 - 1 / k))
    block = proof.equal(
        "λ times it, plus the √20 G_2/√m of the empirical minimiser (thm-2-1), is Δ_t",
        lambda_ * distance + sp.sqrt(20) * G_2 / sp.sqrt(m),
        48 * G_k * (d / (m * epsilon)) ** (1 - 1 / k) + sp.sqrt(20) * G_2 / sp.sqrt(m),
    )
    risk = localised(proof, block.subs(m, m_1))
    proof.concludes("pure_heavy_tails/thm-3-1@derived", risk)
    proof.concludes("pure_heavy_tails/thm-3-1", risk, where=LOG)
