"""Bounds for the numbers of a schedule as it runs: of a descent, phase by phase, and leaf by leaf."""

import sympy as sp

from dpcheck.algorithms.l1_geometry.regret import D_1, LEAVES, PHASES
from dpcheck.symbols import L, T, lambda_

from ._paper import (
    V,
    claim,
)

thm_3_summed = claim(
    "l1_geometry/thm-3@summed",
    "Theorem 3, plain average, at the step that is taken",
    "E[F̂(x̄) − F̂*] ≤ 2D_1√((L² + V)/T), V a bound on E‖ζ‖_*² of the noise and D_1² ≥ D_h(x*, x_0).",
    kind="theorem",
    section="3.1",
    origin="ours",
    quantity="excess empirical loss of the plain average",
    measures="empirical suboptimality",
    relation="<=",
    explicit=2 * D_1 * sp.sqrt((L**2 + V) / T),
    about=("l1_geometry/alg-1", "l1_geometry/alg-5"),
)
thm_3_weighted = claim(
    "l1_geometry/thm-3@weighted",
    "Theorem 3, weighted average, at the step that is taken",
    "E[F̂(x̄) − F̂*] ≤ 4(L² + V)/(λ(T + 1)) for mean f + λh, V a bound on E‖ζ‖_*² of the noise and L one on the gradients "
    "of mean f + λh.",
    kind="theorem",
    section="3.1",
    origin="ours",
    quantity="excess empirical loss of the weighted average",
    measures="empirical suboptimality",
    relation="<=",
    explicit=4 * (L**2 + V) / (lambda_ * (T + 1)),
    about=("l1_geometry/alg-1", "l1_geometry/alg-5"),
)
thm_4_summed = claim(
    "l1_geometry/thm-4@summed",
    "Risk of Algorithms 2 and 6, phase by phase",
    "Lemmas 3.3 and 3.4 added up over the phases that run, R_i the sure bound on the movement of phase i, κ the factor "
    "between the norms of L and of the mirror map; against any y within D_1 of the start.",
    kind="theorem",
    section="3.2",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=PHASES,
    about=("l1_geometry/alg-2", "l1_geometry/alg-6"),
)
thm_6_summed = claim(
    "l1_geometry/thm-6@summed",
    "Risk of Algorithm 3, leaf by leaf",
    "D times the error of Lemma 4.2, βD²Σw_is_i/2 and Σw_iλ_i(1 + 1/2 + … + 1/m), w_i the exact weight of leaf i in "
    "the output, s_i its step and λ_i its noise, whatever that is.",
    kind="theorem",
    section="4.1",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=LEAVES,
    about=("l1_geometry/alg-3",),
)
thm_8_summed = claim(
    "l1_geometry/thm-8@summed",
    "Risk of the restarts, last run",
    "The bound `thm-4@summed` of the last run, at the distance that the earlier ones prove in expectation: D_{i+1}² = "
    "(2/λ) times the bound of run i at D_i.",
    kind="theorem",
    section="5",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=PHASES,
    about=("l1_geometry/proc-strongly-convex-reduction",),
)
thm_9_summed = claim(
    "l1_geometry/thm-9@summed",
    "Risk of the restarts, last run",
    "The bound `thm-6@summed` of the last run, at the distance that the earlier ones prove in expectation: D_{i+1}² = "
    "(2/λ) times the bound of run i at D_i.",
    kind="theorem",
    section="5",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=LEAVES,
    about=("l1_geometry/proc-strongly-convex-reduction",),
)
