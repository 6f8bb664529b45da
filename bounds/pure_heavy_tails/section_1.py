"""Section 1 and Remark A.1 of arXiv 2604.06492: the setting, and what clipping costs."""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import C, D, G_k, T, d, epsilon, k, n

from ._paper import claim

asm_1_1 = claim(
    "pure_heavy_tails/asm-1-1",
    "Assumption 1.1",
    "W ⊂ ℝᵈ is closed and convex with ℓ₂-diameter D and an exact Euclidean projection; f(·,z) is convex, and "
    "E[sup_{w∈W} ‖∇f(w,z)‖ᵏ] ≤ G_kᵏ for a known k ≥ 2 and a public G_k.",
    kind="assumption",
    section="1.2",
    remark="Differential privacy speaks of every data set, so A(z) < ∞ is needed for every z, not almost surely.",
)

def_1_2 = claim(
    "pure_heavy_tails/def-1-2",
    "Definition 1.2",
    "(ε,δ)-differential privacy for data sets of equal size that differ in one entry; pure ε-DP is δ = 0.",
    kind="definition",
    section="1.2",
    origin="cited",
)

fact_a_1 = claim(
    "pure_heavy_tails/fact-a-1",
    "Remark A.1",
    "G_k is known, and C is set from it.",
    kind="assumption",
    section="A",
)

proc_noisy_subgradient = claim(
    "pure_heavy_tails/proc-noisy-subgradient",
    "Noisy clipped subgradient descent (baseline)",
    "T full-batch steps on gradients clipped at C, each released with isotropic Laplace noise of scale 2CT/(nε), are "
    "ε-DP by basic composition. With T = nε/d and C = G_k(nε/d)^{1/(2k)} the optimisation error and the bias of "
    "clipping are of order D G_k (d/(nε))^{(1−1/k)/2}: half the exponent of Theorem 3.1's private term.",
    kind="procedure",
    section="1",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    order=D * G_k * (d / (n * epsilon)) ** ((1 - 1 / k) / 2),
    assumptions=(sp.Ge(k, 2),),
    about=("pure_heavy_tails/proc-noisy-subgradient",),
    remark="The paper remarks that clipping is suboptimal under pure DP; this is what that costs.",
)

proc_noisy_subgradient_steps = proc_noisy_subgradient.as_read(
    "pure_heavy_tails/proc-noisy-subgradient@steps",
    "Noisy clipped subgradient descent, steps",
    "T = nε/d, to the nearest whole number, one at least.",
    quantity="steps",
    measures="",
    relation="=",
    explicit=sp.Max(1, sp.floor(n * epsilon / d + sp.Rational(1, 2))),
    remark="",
)

proc_noisy_subgradient_cap = proc_noisy_subgradient_steps.as_read(
    "pure_heavy_tails/proc-noisy-subgradient@cap",
    "Noisy clipped subgradient descent, clip level",
    "C = G_k(nε/d)^{1/(2k)}.",
    quantity="clip level",
    explicit=G_k * (n * epsilon / d) ** (1 / (2 * k)),
)

proc_noisy_subgradient_noise = proc_noisy_subgradient_steps.as_read(
    "pure_heavy_tails/proc-noisy-subgradient@noise",
    "Noisy clipped subgradient descent, noise",
    "Isotropic Laplace noise of scale 2CT/(nε) at every step.",
    quantity="scale of the noise",
    explicit=2 * C * T / (n * epsilon),
)

proc_noisy_subgradient_eta = proc_noisy_subgradient_steps.as_read(
    "pure_heavy_tails/proc-noisy-subgradient@eta",
    "Noisy clipped subgradient descent, step size",
    "η = D/(√T √(C² + d(d + 1)β²)), β the scale of the noise: D over the root of the summed squares of the steps.",
    quantity="step size",
    explicit=D / sp.sqrt(T * (C**2 + d * (d + 1) * proc_noisy_subgradient_noise.explicit**2)),
)

proc_noisy_subgradient_gradients = proc_noisy_subgradient_steps.as_read(
    "pure_heavy_tails/proc-noisy-subgradient@gradients",
    "Noisy clipped subgradient descent, gradients",
    "T full-batch steps take Tn gradients.",
    quantity="gradients",
    explicit=T * n,
)


@derivation("pure_heavy_tails/proc-noisy-subgradient", Regime(base=None, others="free", where=[d <= n * epsilon]))
def clipping_without_localisation(proof: Proof) -> None:
    """Steps that share the budget pay for the path and the noise, clipping for its bias; both choices are optimal."""
    scale = proof.uses("pure_heavy_tails/proc-noisy-subgradient@noise", 2 * C * T / (n * epsilon))
    squared = proof.argues("E‖g + b‖² of a step, up to a constant", "E‖g + b‖²", "<=", C**2 + d**2 * scale**2)
    bias = proof.argues("the mean of clipped gradients is off by", "bias", "<=", G_k**k / C ** (k - 1))
    bound = proof.master("excess", {"steps": D * sp.sqrt(squared / T), "bias": D * bias})
    share = n * epsilon / d
    reached = proof.chooses(bound, {T: share, C: G_k * share ** (1 / (2 * k))})
    proof.concludes("pure_heavy_tails/proc-noisy-subgradient", reached)
