"""How the bounds of arXiv 2604.06492 follow: master inequality, choice of parameters, constants; every line executed.

The arguments in words stand in `bounds/pure_heavy_tails.md` under the same labels. ℓ stands for log(1/β), β being the
failure probability that the paper calls δ.
"""

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation, underived
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


@derivation("pure_heavy_tails/lem-c-1", also=("pure_heavy_tails/lem-c-1@derived",))
def bias_of_the_extension(proof: Proof) -> None:
    """E(A − C)₊ is an integral of the tail, or Pr-weighted at its worst single size kC/(k−1)."""
    s, a = sp.symbols("s a", positive=True)
    extra = sp.Symbol("k0", positive=True)
    tail = sp.Integral(G_k**k / s**k, (s, C, sp.oo))
    proof.argues("Markov: Pr(A > s) ≤ G_kᵏ/sᵏ, and E(A − C)₊ is the integral of that tail", "Pr", "<=", G_k**k / s**k)
    bound = proof.equal("Markov's tail, integrated", tail, G_k**k / ((k - 1) * C ** (k - 1)), {k: 2 + extra})
    proof.concludes("pure_heavy_tails/lem-c-1", D * bound)
    worst = k * C / (k - 1)
    ratio = (a - C) / a**k
    slope = sp.diff(ratio, a)
    proof.equal("(a − C)/aᵏ is stationary at kC/(k−1)", lambda: slope.xreplace({a: worst}), 0, {k: 2 + extra})
    sharp = proof.equal(
        "its value there",
        lambda: ratio.xreplace({a: worst}),
        (k - 1) ** (k - 1) / (k**k * C ** (k - 1)),
        {k: 2 + extra},
    )
    proof.concludes("pure_heavy_tails/lem-c-1@derived", D * G_k**k * sharp)


@derivation("pure_heavy_tails/lem-2-3")
def bias_over_the_domain(proof: Proof) -> None:
    """It is Lemma C.1."""
    bound = proof.uses("pure_heavy_tails/lem-c-1", D * G_k**k / ((k - 1) * C ** (k - 1)))
    proof.concludes("pure_heavy_tails/lem-2-3", bound)


@derivation("pure_heavy_tails/prop-2-5", also=("pure_heavy_tails/prop-2-5@derived",))
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


@derivation(
    "pure_heavy_tails/prop-3-2",
    Regime(base=None, others="free", where=[epsilon <= d, d >= 1]),
    also=("pure_heavy_tails/prop-3-2@derived",),
)
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
    proof.concludes("pure_heavy_tails/prop-3-2", distance, looser=True)


@derivation("pure_heavy_tails/thm-2-1", LARGE_SAMPLE, also=("pure_heavy_tails/thm-2-1@derived",))
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


@derivation("pure_heavy_tails/thm-3-1", LARGE_SAMPLE, also=("pure_heavy_tails/thm-3-1@derived",))
def main_theorem(proof: Proof) -> None:
    """Theorem 2.1 with the precision of Algorithm 4, which needs no G_2 term of its own."""
    distance = proof.uses("pure_heavy_tails/prop-3-2@derived", 48 * G_k / lambda_ * (d / (m * epsilon)) ** (1 - 1 / k))
    block = proof.equal(
        "λ times it, plus the √20 G_2/√m of the empirical minimiser (thm-2-1), is Δ_t",
        lambda: lambda_ * distance + sp.sqrt(20) * G_2 / sp.sqrt(m),
        48 * G_k * (d / (m * epsilon)) ** (1 - 1 / k) + sp.sqrt(20) * G_2 / sp.sqrt(m),
    )
    risk = localised(proof, block.subs(m, m_1))
    proof.concludes("pure_heavy_tails/thm-3-1@derived", risk)
    proof.concludes("pure_heavy_tails/thm-3-1", risk, where=LOG)


@derivation("pure_heavy_tails/prop-c-3@corrected")
def any_clip_level(proof: Proof) -> None:
    """As Proposition 2.5 with C left free; the printed first display rests on a step that does not follow."""
    c_1 = sp.Symbol("c_1", positive=True)
    proof.gap(
        "over W_0 the bias is at most diam(W_0)(A − C)₊ (here f = w, A ≡ 1, W = [−D/2, D/2], at ŵ_C = −C/λ)",
        (1 - C) * (D / 2 - C / lambda_),
        1200 * C * d / (lambda_ * n * epsilon) * (1 - C),
        {C: sp.Rational(1, 2), D: 10, lambda_: 1, d: 1, n: 10**6, epsilon: 1},
        "D(A − C)₊ is right, because f_C takes its infimum over W (S1)",
    )
    bias = proof.uses("pure_heavy_tails/prop-2-5@corrected", 2 * G_k**k / (lambda_ * C ** (k - 1)))
    bound = proof.master(
        "‖w_DP − ŵ_λ‖", {"noise and solver": c_1 * C * d / (lambda_ * n * epsilon), "bias, by Markov": 10 * bias}
    )
    proof.concludes("pure_heavy_tails/prop-c-3@corrected", bound)


# Appendices D and F: the same theorem by other solvers ---------------------------------------------------------------


def localised_rate(proof: Proof, label: str, private: sp.Expr, where: dict[sp.Basic, sp.Basic] | None = None) -> None:
    """Theorem 2.1 with a solver whose private term, λ times its distance, is `private` on m records."""
    risk = localised(proof, (private + sp.sqrt(20) * G_2 / sp.sqrt(m)).subs(m, m_1))
    proof.concludes(label, risk, where={**LOG, **(where or {})})


@derivation("pure_heavy_tails/thm-d-2", LARGE_SAMPLE)
def restated_main_theorem(proof: Proof) -> None:
    """Theorem 3.1 again, the failure probability of the running time shared by the calls."""
    rate = G_k * D * (d * sp.log(1 / beta) / (n * epsilon)) ** (1 - 1 / k) + G_2 * D * sp.sqrt(sp.log(1 / beta) / n)
    risk = proof.uses("pure_heavy_tails/thm-3-1", rate)
    T, rho = sp.symbols("T rho", positive=True)
    proof.equal("TJ calls that fail with probability ρ/(2TJ) each", lambda: T * J * rho / (2 * T * J), rho / 2)
    proof.concludes("pure_heavy_tails/thm-d-2", risk, where=LOG)


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
    localised_rate(proof, "pure_heavy_tails/thm-d-4", private)


@derivation(
    "pure_heavy_tails/prop-f-5",
    Regime(base=None, others="free", where=[epsilon <= d, d >= 1]),
    also=("pure_heavy_tails/prop-f-5@derived",),
)
def exponential_second_stage(proof: Proof) -> None:
    """The gap of a Gibbs draw on the ball of Algorithm 2, by strong convexity a distance of 620 noise radii."""
    u = C * d / (lambda_ * m * epsilon)
    D_0, kappa = sp.symbols("D_0 kappa", positive=True)
    mean = proof.uses("pure_heavy_tails/fact-gibbs", d / kappa)
    gap = proof.equal(
        "κ = ε/(8Δ_0), Δ_0 = 2CD_0/m, and Markov with 1/20",
        lambda: (20 * mean).xreplace({kappa: epsilon / (8 * 2 * C * D_0 / m)}),
        320 * C * D_0 * d / (m * epsilon),
    )
    distance = proof.equal(
        "strong convexity: √(2 gap/λ), with D_0 = 600Cd/(λmε)",
        lambda: sp.sqrt(2 * gap / lambda_).xreplace({D_0: 600 * u}),
        sp.sqrt(384000) * u,
    )
    proof.at_most("round up", distance, 620 * u)
    private = proof.uses(
        "pure_heavy_tails/prop-2-5@derived",
        640 * G_k / lambda_ * (d / (m * epsilon)) ** (1 - 1 / k),
        {n: m, sp.Symbol("c_1", positive=True): 620},
    )
    proof.concludes("pure_heavy_tails/prop-f-5@derived", private)
    proof.concludes("pure_heavy_tails/prop-f-5", private, looser=True)


@derivation("pure_heavy_tails/thm-f-6", LARGE_SAMPLE)
def main_theorem_by_sampling(proof: Proof) -> None:
    """Theorem 2.1 with the precision of Algorithm 7."""
    distance = 640 * G_k / lambda_ * (d / (m * epsilon)) ** (1 - 1 / k)
    private = lambda_ * proof.uses("pure_heavy_tails/prop-f-5@derived", distance)
    localised_rate(proof, "pure_heavy_tails/thm-f-6", private)


# Solvers -------------------------------------------------------------------------------------------------------------


def step_bound(proof: Proof, label: str) -> None:
    """The stopping rule 3D√S_t ≤ αt is met as soon as S_t ≤ tL² makes it."""
    L, alpha = sp.symbols("L alpha", positive=True)
    t = (3 * D * L / alpha) ** 2
    proof.equal("3D√(tL²) = αt at t = (3DL/α)²", lambda: 3 * D * sp.sqrt(t * L**2), alpha * t)
    proof.concludes(label, sp.ceiling(t))


@derivation("pure_heavy_tails/prop-2-9")
def adaptive_steps(proof: Proof) -> None:
    """Subgradients of norm at most L meet the stopping rule by t = (3DL/α)²."""
    step_bound(proof, "pure_heavy_tails/prop-2-9")


@derivation("pure_heavy_tails/prop-c-5", also=("pure_heavy_tails/prop-c-5@derived",))
def adaptive_steps_in_full(proof: Proof) -> None:
    """As Proposition 2.9; at the stop half of α is left for the average, a quarter for the projections."""
    alpha = sp.Symbol("alpha", positive=True)
    step_bound(proof, "pure_heavy_tails/prop-c-5")
    regret = proof.argues("(3D/2)√S_t/t at the stop, where 3D√S_t ≤ αt", "regret", "<=", alpha / 2)
    projections = proof.argues("projections exact to αη_t/(6D)", "their cost", "<=", alpha / 4)
    proof.concludes("pure_heavy_tails/prop-c-5@derived", regret + projections)


@derivation("pure_heavy_tails/prop-d-1")
def sensitivity_of_the_second_stage(proof: Proof) -> None:
    """The exact minimiser moves by 2C/(λm), the solver and the projection by their precision at both data sets."""
    exact = proof.uses("pure_heavy_tails/fact-erm-sensitivity", 2 * C / (lambda_ * m), {n: m})
    solver = proof.equal(
        "√(2α/λ) at α = C²/(72λm²)", lambda: sp.sqrt(2 * C**2 / (72 * lambda_ * m**2) / lambda_), C / (6 * lambda_ * m)
    )
    proof.concludes("pure_heavy_tails/prop-d-1", exact + 2 * solver)


prop_d_6 = underived(
    "pure_heavy_tails/prop-d-6",
    "a property of dual multipliers, with nothing to choose: the cone constraint bounds them by C",
)

thm_b_1 = underived(
    "pure_heavy_tails/thm-b-1",
    "an impossibility by an adversary for the oracle: nothing is chosen, and no bound is computed; argued in the notes",
)
