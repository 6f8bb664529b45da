"""Section 4 of arXiv 2604.06492: the lower bound, and the algorithm that reads no data.

The failure probability that the paper calls δ is β (`beta`) in the formulas.
"""

from __future__ import annotations

import sympy as sp

from dpcheck.asymptotics import Regime
from dpcheck.derivations import Proof, derivation
from dpcheck.symbols import G_1, G_2, D, G_k, beta, d, epsilon, k, n, zeta

from ._paper import claim

LOWER = D * sp.Min(
    G_1,
    G_2 * sp.sqrt(sp.log(1 / beta) / n) + G_k * ((d + sp.log(1 / beta)) / (n * epsilon)) ** (1 - 1 / k),
)

thm_4_1 = claim(
    "pure_heavy_tails/thm-4-1",
    "Theorem 4.1",
    "For δ ∈ (0,1/5) and ε ≤ 1 every ε-DP algorithm has an instance on which, with probability at least δ, its "
    "excess risk is at least cD min{G_1, G_2√(log(1/δ)/n) + G_k((d + log(1/δ))/(nε))^{1−1/k}}.",
    kind="theorem",
    section="4",
    quantity="excess risk",
    measures="excess risk",
    relation=">=",
    order=LOWER,
    assumptions=(sp.Lt(beta, sp.Rational(1, 5)), sp.Le(epsilon, 1), sp.Ge(k, 2)),
    probability=beta,
    grade="slip",
    remark="Printed with one instance for all algorithms (@literal); Theorem G.6, its precise version, has the "
    "quantifiers in the order given here (S8).",
)

thm_4_1_literal = thm_4_1.as_read(
    "pure_heavy_tails/thm-4-1@literal",
    "Theorem 4.1, quantifiers as printed",
    "There is an instance (P,f) on which every ε-DP algorithm has, with probability at least δ, an excess risk of "
    "at least cD min{G_1, …}.",
    grade="slip",
    remark="The constant algorithm that returns the instance's minimiser is 0-DP and has no excess risk.",
)


@derivation(
    "pure_heavy_tails/thm-4-1", Regime(base=None, others="free", where=[beta <= 1, epsilon <= 1, d >= 1, n >= 1])
)
def lower_bound_of_the_text(proof: Proof) -> None:
    """Theorem G.6 with the failure probability renamed; its quantifiers are those that hold (S8)."""
    proof.assumes("pure_heavy_tails/thm-4-1", beta, sp.Rational(1, 5))
    proof.assumes("pure_heavy_tails/thm-4-1", epsilon, 1)
    share = (d + sp.log(1 / beta)) / (n * epsilon)
    bound = D * sp.Min(G_1, G_2 * sp.sqrt(sp.log(1 / beta) / n) + G_k * share ** (1 - 1 / k))
    proof.concludes("pure_heavy_tails/thm-4-1", proof.uses("pure_heavy_tails/thm-g-6", bound, {zeta: beta}))


fact_trivial = claim(
    "pure_heavy_tails/fact-trivial",
    "Trivial algorithm (Section 4)",
    "A constant output is 0-DP and has excess risk at most G_1 D.",
    kind="lemma",
    section="4/G",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=G_1 * D,
    about=("pure_heavy_tails/fact-trivial",),
)
