"""What phases and leaves are worth, as formulas: restarts plan with them, and the claims `@summed` are made of them."""

from __future__ import annotations

import sympy as sp

from dpcheck.symbols import D, H, L, b, d, index, kappa, last, m, p, sequences

# A line that runs when this is imported says the same whatever a mutant makes of it later; the claims are mutated.
eta, n, steps, weight, noise, radius, scale, share, step = sequences("eta n T lambda V R h w s")
D_1 = sp.Symbol("D_1", positive=True)


def _gap(i: sp.Expr) -> sp.Expr:
    """A_i of Lemma 3.3: E‖x_i − x̂_i‖_p², by Lemma 3.2 and the modulus h_i(p − 1)/κ² of the mirror map."""
    modulus = scale[i] * (p - 1) / kappa**2  # the same: run at import
    excess = 2 * (50 * L**2 + 2 * noise[i]) / (modulus * weight[i] * (steps[i] + 1))  # the same: run at import
    # SymPy is not asked which is less: it takes a fortieth of a second to find that it cannot tell.
    return sp.Min(excess * eta[i] * n[i], (2 * radius[i]) ** 2, evaluate=False)  # the same: run at import


def _regulariser(i: sp.Expr, squared: sp.Expr) -> sp.Expr:
    """Lemma 3.4: what the regulariser of phase i costs at a point at that squared distance from its start."""
    return squared / (eta[i] * n[i] * (p - 1))  # the same: run at import


PHASES = (
    _regulariser(1, D_1**2)
    + sp.Sum(_regulariser(index, _gap(index - 1)), (index, 2, last))
    + sp.Sum((kappa * L) ** 2 * eta[index], (index, 1, last))
    + kappa * L * sp.sqrt(_gap(last))
)
"""Lemmas 3.3 and 3.4 added up over the phases."""

ESTIMATE = D * sp.sqrt(2 * sp.log(2 * d) * (L**2 + 16 * H**2 * D**2) / b)
"""D times Lemma 4.2: the error of all gradients of a walk over trees whose roots have b records."""
LEAVES = (
    ESTIMATE
    + H * D**2 / 2 * sp.Sum(share[index] * step[index], (index, 1, last))
    + sp.Sum(1 / index, (index, 1, m)) * sp.Sum(share[index] * weight[index], (index, 1, last))
)
"""The error of all gradients, the curvature of all steps, and the gaps of all selections among m vertices."""
