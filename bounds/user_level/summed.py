"""Bounds phase by phase, for the numbers of a schedule as it runs: `@derived` are closed forms at printed numbers."""

import sympy as sp

from dpcheck.symbols import D, L, R, d, index, last, m, xi

from ._paper import Ts, claim, etas, gaps, lambdas, ns, r, sigmas


def _noise(i: sp.Expr) -> sp.Expr:
    """How far the output of phase i lies from its average: √d σ_i, at most R where outputs are projected."""
    return sp.Min(R, sp.sqrt(d) * sigmas[i])


def _leg(i: sp.Expr, start: sp.Expr) -> sp.Expr:
    """Regret of phase i of SGD, whose start is so far from the comparator."""
    return start**2 / (2 * etas[i] * Ts[i]) + etas[i] * L**2 / 2


def _left(i: sp.Expr) -> sp.Expr:
    """A_i: squared distance of the output of a regularised phase from its minimiser."""
    return sp.Min(D**2, 2 / lambdas[i] * gaps[i])


def _phase(i: sp.Expr, squared: sp.Expr) -> sp.Expr:
    """Stability and regulariser of phase i."""
    return 2 * L**2 / (lambdas[i] * ns[i] * m) + lambdas[i] / 2 * squared


LEGS = _leg(1, D) + sp.Sum(_leg(index, _noise(index - 1)), (index, 2, last)) + L * _noise(last)
ACCELERATED = (
    _phase(1, R**2) + sp.Sum(_phase(index, _left(index - 1)), (index, 2, last)) + L * sp.sqrt(_left(last)) + L * D * xi
)

thm_b1_summed = claim(
    "user_level/thm-b1@summed",
    "Risk of Algorithm 1, phase by phase",
    "D²/(2η_1T_1) + Σ_{i>=2} s_{i−1}²/(2η_iT_i) + Σ η_iL²/2 + Ls_l with s_i = min(R, √d σ_i), and LD times the chance "
    "ξ that some phase halts or removes an iterate; at most LR. R is D with projected iterates, ∞ without.",
    kind="theorem",
    section="B",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=sp.Min(L * R, LEGS + L * D * xi),
    about=("user_level/alg-1",),
)
group_privacy_summed = claim(
    "user_level/proc-group-privacy@summed",
    "Risk of the group-privacy baseline, phase by phase",
    "As `thm-b1@summed` with projected outputs; nothing can halt.",
    kind="procedure",
    section="1",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=sp.Min(L * R, LEGS),
    about=("user_level/proc-group-privacy",),
)
thm_c3_summed = claim(
    "user_level/thm-c3@summed",
    "Risk of Algorithm 3, phase by phase",
    "Σ [2L²/(λ_in_im) + λ_iA_{i−1}/2] + L√A_l with A_0 = R², A_i = min(D², 2Δ_i/λ_i), Δ_i the gap that the stages of "
    "phase i leave (∞ where it has none), and LD times the chance ξ that some step halts or removes a gradient; at "
    "most LD.",
    kind="theorem",
    section="C",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=sp.Min(L * D, ACCELERATED),
    about=("user_level/alg-3",),
)
thm_d3_summed = claim(
    "user_level/thm-d3@summed",
    "Risk of Algorithm 3 on smoothed losses, phase by phase",
    "As `thm-c3@summed` for the smoothed losses, which lie within Lr of the others: 2Lr more, at most LD.",
    kind="theorem",
    section="D",
    origin="ours",
    quantity="excess risk",
    measures="excess risk",
    relation="<=",
    explicit=sp.Min(L * D, ACCELERATED + 2 * L * r),
    about=("user_level/proc-smoothed-alg-3",),
)
