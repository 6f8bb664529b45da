"""Section 3.1: noisy mirror descent, Algorithm 1 and Theorem 3."""

from __future__ import annotations

import sympy as sp

from dpcheck.algorithms.l1_geometry.regret import D_1
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import D, L, T, b, d, epsilon, eta, lambda_, n, p, sigma

from ._paper import LARGE, LOG, LOG2_D, D_h, V, claim, g_2

alg_1 = claim(
    "l1_geometry/alg-1",
    "Algorithm 1 (noisy mirror descent)",
    "T = n²/b² mirror steps on the mean gradient of b records drawn with replacement, plus N(0, σ²I), σ = "
    "100L√(d log(1/δ))/(bε); returns the plain average of the iterates, or the one weighted by k.",
    kind="algorithm",
    section="3.1",
    quantity="standard deviation of the noise",
    relation="=",
    explicit=100 * L * sp.sqrt(d * LOG) / (b * epsilon),
    remark="The noise is printed as ζ_i inside the display of an average over i; one draw a step is meant (S19). "
    "x_1 = x_0 is not printed.",
)

alg_1_batch = alg_1.as_read(
    "l1_geometry/alg-1@batch",
    "Algorithm 1, a batch that is not given",
    "b = ⌈√n⌉, where the input leaves it open.",
    origin="ours",
    quantity="size of a batch",
    explicit=sp.ceiling(sp.sqrt(n)),
    about=("l1_geometry/alg-1",),
)
alg_1_steps = alg_1.as_read(
    "l1_geometry/alg-1@steps",
    "Algorithm 1, number of steps",
    "T = n²/b², in whole steps.",
    quantity="steps",
    explicit=sp.floor(n**2 / b**2),
    about=("l1_geometry/alg-1", "l1_geometry/alg-5"),
)
alg_1_eta = alg_1.as_read(
    "l1_geometry/alg-1@eta",
    "Algorithm 1, step of Theorem 3",
    "η = D/√T/√(L² + 2σ² log d), with D² ≥ D_h(x*, x_0).",
    quantity="step",
    explicit=D_1 / sp.sqrt(T) / sp.sqrt(L**2 + 2 * sigma**2 * sp.log(d)),
    assumptions=(sp.Ge(d, 3),),
    about=("l1_geometry/alg-1",),
)
alg_1_weighted_eta = alg_1.as_read(
    "l1_geometry/alg-1@weighted-eta",
    "Algorithm 1, steps of Lemma 3.2",
    "For mean f + λh, η_k = η/(k + 1) with η = 2/λ.",
    quantity="step, times k + 1",
    explicit=2 / lambda_,
    about=("l1_geometry/alg-1", "l1_geometry/alg-5"),
)
alg_1_distance = alg_1.as_read(
    "l1_geometry/alg-1@distance",
    "Algorithm 1, distance to the minimiser",
    "From the centre of a ball of diameter D, √D_h(x*, x_0) ≤ (D/2)√(2/(p−1)) for h = 2‖x‖_p²/(p−1).",
    origin="ours",
    quantity="bound on √D_h(x*, x_0)",
    explicit=D / sp.sqrt(2 * (p - 1)),
    about=("l1_geometry/alg-1",),
)
alg_1_exponent = alg_1.as_read(
    "l1_geometry/alg-1@exponent",
    "Algorithm 1, exponent of the mirror map",
    "h = 2‖x‖_p²/(p−1) with p = 1 + 1/log₂ d, 1-strongly convex in ℓ₁.",
    origin="ours",
    quantity="exponent of the mirror map",
    explicit=1 + 1 / LOG2_D,
    about=("l1_geometry/alg-1", "l1_geometry/alg-2"),
)
alg_1_scale = alg_1.as_read(
    "l1_geometry/alg-1@scale",
    "Algorithm 1, scale of the mirror map",
    "h = 2‖x‖_p²/(p−1) with p = 1 + 1/log₂ d, 1-strongly convex in ℓ₁.",
    origin="ours",
    quantity="h over ‖x‖_p²/2",
    explicit=4 / (p - 1),
    about=("l1_geometry/alg-1",),
)
alg_1_sensitivity = alg_1.as_read(
    "l1_geometry/alg-1@sensitivity",
    "Algorithm 1, sensitivity of a batch",
    "A record that is drawn once moves the mean gradient by at most 2L√d/b in ℓ₂, as ‖g‖_2 ≤ L√d.",
    quantity="sensitivity of the mean gradient",
    explicit=2 * L * sp.sqrt(d) / b,
    about=("l1_geometry/alg-1",),
)
alg_1_gradients = alg_1.as_read(
    "l1_geometry/alg-1@gradients",
    "Algorithm 1, gradients",
    "T steps on batches of b: Tb gradients.",
    quantity="gradients",
    explicit=T * b,
    about=("l1_geometry/alg-1", "l1_geometry/alg-5"),
)


thm_3 = claim(
    "l1_geometry/thm-3",
    "Theorem 3",
    "If h is 1-strongly convex in ℓ₁ and D_h(x*,x_0) ≤ D², Algorithm 1 with η = D/√T/√(L² + 2σ² log d) is (ε,δ)-DP "
    "and E[F̂(x̄_T) − F̂*] ≤ LD·O(b/n + √(d log d log(1/δ))/(nε)); if f is λ-strongly convex relative to h, the steps "
    "2/(λ(k+1)) give O(L²b²/(λn²) + L²d log d log(1/δ)/(λn²ε²)).",
    kind="theorem",
    section="3.1",
    quantity="excess empirical loss of the plain average",
    measures="empirical suboptimality",
    relation="<=",
    order=L * D * (b / n + sp.sqrt(d * sp.log(d) * LOG) / (n * epsilon)),
    explicit=L * D * (2 * b / n + 200 * sp.sqrt(2) * sp.sqrt(d * sp.log(d) * LOG) / (n * epsilon)),
    assumptions=(sp.Ge(d, 3), sp.Ge(b, 1), sp.Ge(n, b), sp.Le(epsilon, 1)),
    about=("l1_geometry/alg-1",),
    remark="No range of ε is stated; the cited accountant has one, for Poisson samples (S23). With 100 there is room "
    "of a factor 60 in ε.",
)


thm_3_derived = thm_3.as_read(
    "l1_geometry/thm-3@derived",
    "Theorem 3, strongly convex branch, with constants",
    "By Lemma 3.2 with its right constant, E[F̂(x̂_T) − F̂*] ≤ 4L²b²/(λn²) + 8·10⁴L²d log d log(1/δ)/(λn²ε²).",
    origin="ours",
    quantity="excess empirical loss of the weighted average",
    explicit=4 * L**2 * b**2 / (lambda_ * n**2) + 80000 * L**2 * d * sp.log(d) * LOG / (lambda_ * n**2 * epsilon**2),
)


thm_3_summed = thm_3.as_read(
    "l1_geometry/thm-3@summed",
    "Theorem 3, plain average, at the step that is taken",
    "E[F̂(x̄) − F̂*] ≤ 2D_1√((L² + V)/T), V a bound on E‖ζ‖_*² of the noise and D_1² ≥ D_h(x*, x_0).",
    origin="ours",
    explicit=2 * D_1 * sp.sqrt((L**2 + V) / T),
    about=("l1_geometry/alg-1", "l1_geometry/alg-5"),
    assumptions=(),
)


thm_3_weighted = thm_3.as_read(
    "l1_geometry/thm-3@weighted",
    "Theorem 3, weighted average, at the step that is taken",
    "E[F̂(x̄) − F̂*] ≤ 4(L² + V)/(λ(T + 1)) for mean f + λh, V a bound on E‖ζ‖_*² of the noise and L one on the gradients "
    "of mean f + λh.",
    origin="ours",
    quantity="excess empirical loss of the weighted average",
    explicit=4 * (L**2 + V) / (lambda_ * (T + 1)),
    about=("l1_geometry/alg-1", "l1_geometry/alg-5"),
    assumptions=(),
)


@derivation("l1_geometry/thm-3@summed", also=("l1_geometry/thm-3@weighted",))
def at_the_steps_that_are_taken(proof: Proof) -> None:
    """The second moment of a noisy gradient, in Lemma 3.1 at its best step and in Lemma 3.2."""
    moment = proof.argues("‖∇f + ζ‖² ≤ 2‖∇f‖² + 2‖ζ‖²", "second moment", "<=", 2 * L**2 + 2 * V)
    at = {D_h: D_1**2, L: sp.sqrt(moment)}
    bound = proof.uses("l1_geometry/lem-3-1", D_1**2 / (T * eta) + eta * moment / 2, at)
    value = bound.subs(eta, D_1 / sp.sqrt(T) / sp.sqrt(L**2 + V))
    stated = 2 * D_1 * sp.sqrt(L**2 + V) / sp.sqrt(T)
    proof.concludes("l1_geometry/thm-3@summed", proof.equal("at η = D/√T/√(L² + V)", value, stated))
    weighted = proof.uses("l1_geometry/lem-3-2@corrected", 2 * moment / (lambda_ * (T + 1)), {L: sp.sqrt(moment)})
    proof.concludes("l1_geometry/thm-3@weighted", weighted)


def averaged(proof: Proof, moment: sp.Expr, pieces: tuple[sp.Expr, ...]) -> sp.Expr:
    """Mirror descent with gradients of that second moment, half of it, and its best step: the bound, piece by piece."""
    bound = proof.uses("l1_geometry/lem-3-1", D**2 / (T * eta) + eta * V, {D_h: D**2, L: sp.sqrt(2 * V)})
    value = proof.chooses(bound, {eta: D / sp.sqrt(T * V)}, text="choose η = D/√(TV)")
    total = sp.S.Zero
    for term, piece in zip(sp.Add.make_args(moment), pieces, strict=True):
        at = {V: term, T: n**2 / b**2}
        total += proof.equal("a part of it at T = n²/b², by √(a+b) ≤ √a + √b", lambda at=at: value.xreplace(at), piece)
    return total


@derivation("l1_geometry/thm-3", LARGE, also=("l1_geometry/thm-3@derived",))
def noisy_mirror_descent(proof: Proof) -> None:
    """Lemma 3.1 with half the second moment L² + 2σ² log d, at its best step; squared over λ with Lemma 3.2."""
    for label in ("l1_geometry/thm-3", "l1_geometry/thm-3@derived"):
        proof.assumes(label, 3, d)
        proof.assumes(label, b, n)
        proof.assumes(label, epsilon, 1)
    deviation = proof.uses("l1_geometry/alg-1", 100 * L * sp.sqrt(d * LOG) / (b * epsilon))
    noise = proof.uses("l1_geometry/fact-gauss-max", 2 * sigma**2 * sp.log(d))
    half = noise.subs(sigma, deviation)
    pieces = (2 * L * D * b / n, 200 * sp.sqrt(2) * L * D * sp.sqrt(d * sp.log(d) * LOG) / (n * epsilon))
    ordered = sp.Add(L**2, half, evaluate=False)
    proof.equal("V, half of the second moment 2L² + 2E‖ζ‖_∞²", lambda: (2 * L**2 + 2 * half) / 2, ordered)
    value = averaged(proof, ordered, pieces)
    proof.concludes("l1_geometry/thm-3", value)
    proof.assumes("l1_geometry/lem-3-2@corrected", g_2, L**2)
    weighted = proof.uses("l1_geometry/lem-3-2@corrected", 2 * L**2 / (lambda_ * (T + 1)))
    squared = (weighted / L**2 * (2 * L**2 + 2 * half)).subs(T, n**2 / b**2 - 1)
    reached = proof.equal(
        "with T in place of T + 1",
        squared,
        4 * L**2 * b**2 / (lambda_ * n**2) + 80000 * L**2 * d * sp.log(d) * LOG / (lambda_ * n**2 * epsilon**2),
    )
    proof.concludes("l1_geometry/thm-3@derived", reached)
