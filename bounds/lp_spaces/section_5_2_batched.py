"""Section 5.2, Appendix 10: heavy tails in batches, and p >= 2."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation, underived
from dpcheck.symbols import D, H, T, b, d, epsilon, kappa, n, p

from ._paper import HALF, HEAVY_ALL_EPSILON, LOG, NOISE, A, claim, x

proc_batched_md = claim(
    "lp_spaces/proc-batched-md",
    "Batched truncated mirror descent",
    "Algorithm 4 without shuffling: disjoint batches and one generalised Gaussian vector of variance 2κ log(1/δ)"
    "(2(βM+λ)/b)²/ε² for each; T = (κ²n²ε²/(4d log(1/δ)))^{1/3}, λ = √T/κ.",
    kind="procedure",
    section="5.2",
    quantity="σ²",
    relation="=",
    explicit=2 * kappa * LOG * (2 * (H * D + A) / b) ** 2 / epsilon**2,
)
LENGTH = (kappa / NOISE) ** sp.Rational(2, 3) / 4 ** sp.Rational(1, 3)
batched_steps = proc_batched_md.as_read(
    "lp_spaces/proc-batched-md@steps",
    "Batched truncated mirror descent, number of batches",
    "T = (κ²n²ε²/(4d log(1/δ)))^{1/3}, the whole number next to it.",
    quantity="steps",
    explicit=sp.floor(LENGTH + HALF),
    about=("lp_spaces/proc-batched-md", "lp_spaces/proc-heavy-euclid"),
)
batched_threshold = batched_steps.as_read(
    "lp_spaces/proc-batched-md@threshold",
    "Batched truncated mirror descent, threshold",
    "βM + λ with λ = √T/κ, T before rounding.",
    quantity="threshold of the truncation",
    explicit=H * D + sp.sqrt(LENGTH) / kappa,
)


app10_general = claim(
    "lp_spaces/claim-app10-general-eps",
    "Appendix 10 (not at hand), all 0 < ε < 1",
    "For heavy tails and 1 < p < 2 some (ε, δ)-DP algorithm has excess Õ(κ^{2/3}(d log(1/δ))^{1/6}/(nε)^{1/3}).",
    kind="proposition",
    section="5.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=HEAVY_ALL_EPSILON,
    about=("lp_spaces/proc-batched-md",),
)


@derivation("lp_spaces/claim-app10-general-eps", Regime(base=None, others="free", where=[n >= 1, kappa >= 1, x <= 1]))
def batched_mirror_descent(proof: Proof) -> None:
    """One noise vector a batch: its square grows like T², which costs a power of n and no condition on ε."""
    b = sp.Symbol("b", positive=True)
    variance = proof.uses("lp_spaces/proc-batched-md", 2 * kappa * LOG * (2 * (H * D + A) / b) ** 2 / epsilon**2)
    squared = proof.equal(
        "dσ² in batches of n/T, for βM = 0",
        lambda: d * variance.xreplace({H: 0, b: n / T}),
        8 * kappa * A**2 * T**2 * d * LOG / (n**2 * epsilon**2),
    )
    terms = {
        "distance": kappa / sp.sqrt(T),
        "truncation": 1 / A,
        "noise": squared.subs(LOG, (x * n * epsilon) ** 2 / d) / sp.sqrt(T),
    }
    bound = proof.master("excess risk at M = σ = 1, without logs", terms)
    steps = (kappa / (2 * x)) ** sp.Rational(2, 3)
    value = proof.chooses(bound, {T: steps, A: sp.sqrt(steps) / kappa}, text="choose T = (κ/(2x))^{2/3}, λ = √T/κ")
    proof.concludes("lp_spaces/claim-app10-general-eps", value.subs(x, NOISE), regime=Regime(base=None, others="free"))


proc_heavy_euclid = claim(
    "lp_spaces/proc-heavy-euclid",
    "Heavy tails for p >= 2",
    "Embed into ℓ_2, which keeps σ and β and makes the diameter d^{1/2−1/p}M, and run the Euclidean algorithm.",
    kind="procedure",
    section="5.2",
    quantity="Euclidean diameter",
    relation="<=",
    explicit=d ** (sp.Rational(1, 2) - 1 / p) * D,
)


embedding = underived(
    "lp_spaces/proc-heavy-euclid", "an inequality of norms; what follows is derived at claim-app10-p-ge-2"
)


app10_large_p = claim(
    "lp_spaces/claim-app10-p-ge-2",
    "Appendix 10 (not at hand), p >= 2",
    "For heavy tails and p >= 2 some (ε, δ)-DP algorithm has excess Õ(d^{3/2−1/p}/√n + d^{3/2−1/(2p)}/√(nε)).",
    kind="proposition",
    section="5.2",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=d ** (sp.Rational(3, 2) - 1 / p) / sp.sqrt(n) + d ** (sp.Rational(3, 2) - 1 / (2 * p)) / sp.sqrt(n * epsilon),
    about=("lp_spaces/proc-heavy-euclid",),
)


@derivation("lp_spaces/claim-app10-p-ge-2", Regime(base=None, others="free", parameters={p: sp.Interval(2, sp.oo)}))
def euclidean_reduction(proof: Proof) -> None:
    """The Euclidean rate for heavy coordinates, with the diameter that the embedding costs."""
    M = sp.Symbol("M", positive=True)
    rate = proof.argues(
        "Euclidean, in the diameter M",
        "excess risk",
        "<=",
        M * d / sp.sqrt(n) + sp.sqrt(M) * d ** sp.Rational(5, 4) / sp.sqrt(n * epsilon),
    )
    diameter = proof.uses("lp_spaces/proc-heavy-euclid", d ** (HALF - 1 / p), {D: 1})
    proof.concludes("lp_spaces/claim-app10-p-ge-2", rate.subs(M, diameter))
