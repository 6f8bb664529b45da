"""Section 2.4 of arXiv 2604.06492: optimising the extension through its joint reformulation."""

from __future__ import annotations

import sympy as sp

from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, L, R, alpha, xi

from ._paper import claim

r = sp.Symbol("r", positive=True)

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
