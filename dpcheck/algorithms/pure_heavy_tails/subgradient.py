"""Projected subgradient methods with certified gaps: Algorithm 3 (adaptive, inexact projections) and Lemma D.5.

Both take trials on axis 0; every trial stops by its own test, so its result does not depend on the others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, procedure

Subgradient = Callable[[Array], Array]
"""Points of K, (trials, q) -> a subgradient at each, (trials, q)."""
InexactProjection = Callable[[Array, Array], Array]
"""(points (trials, q), accuracies (trials,)) -> points of K within that accuracy of the projections."""
LIMIT = 20_000_000  # the same: of patience alone
"""Steps after which a run is refused rather than returned without its certificate."""
ROUNDING = 1e-9  # the same: a point is in a set to rounding, or out of it by far
"""Relative: what lies outside of a set, or above a bound, by no more than this lies in it."""
EXACT = 1e-12  # the same: so near a projection is exact to `ROUNDING`
"""In diameters: an accuracy of projections far below `ROUNDING`."""


@dataclass(frozen=True)
class Halted:
    """What a subgradient method returns.

    Attributes:
        point: (trials, q).
        steps: subgradients that each trial asked for, (trials,).
        gap: the guaranteed gap of every trial.
    """

    point: Array
    steps: NDArray[np.int64]
    gap: float


def iteration_bound(D: float, L: float, alpha: float) -> int:
    """ceil((3 D L / alpha)^2): when Algorithm 3 has halted if its oracle's subgradients have norm <= L."""
    return math.ceil((3 * D * L / alpha) ** 2)


@procedure("pure_heavy_tails/alg-3")
def adaptive_inexact_subgradient(
    subgradient: Subgradient, project: InexactProjection, start: Array, alpha: float, D: float, *, limit: int = LIMIT
) -> Halted:
    """Algorithm 3: an alpha-minimiser of a convex function on K without knowing its Lipschitz constant.

    Args:
        start: x_1 in K, (trials, q).
        alpha: target gap; 3 alpha/4 is in fact guaranteed.
        D: at least the diameter of K.
        limit: steps after which it raises; it never returns a point without its certificate.

    Raises:
        InvalidInput: alpha or D not positive, x_1 outside K, or the limit is reached.
    """
    if not (alpha > 0 and D > 0):
        raise InvalidInput(f"Algorithm 3 needs alpha > 0 and D > 0, got alpha = {alpha}, D = {D}")
    x = np.array(start, dtype=float)
    trials = len(x)
    tiny = np.full(trials, EXACT * D)
    if (np.linalg.norm(project(x, tiny) - x, axis=1) > ROUNDING * D).any():
        raise InvalidInput("the start x_1 of Algorithm 3 must lie in K")
    S, total, steps = np.zeros(trials), np.zeros_like(x), np.zeros(trials, dtype=np.int64)
    returned, going = x.copy(), np.ones(trials, dtype=bool)
    for t in range(1, limit + 1):
        g = subgradient(x)
        size = (g * g).sum(axis=1)
        steps[going] = t
        flat = going & (size == 0)
        returned[flat] = x[flat]
        going = going & ~flat
        S, total = S + size, total + x
        root = np.sqrt(np.where(S > 0, S, D))  # where S = 0 the trial has just ended: any number does
        eta = D / root
        xi = np.minimum(D, alpha * eta / (6 * D))
        enough = going & (3 * D * root <= alpha * t)
        returned[enough] = total[enough] / t
        going = going & ~enough
        if not going.any():
            return Halted(returned, steps, 0.75 * alpha)
        x = np.where(going[:, None], project(x - eta[:, None] * g, xi), x)
    raise InvalidInput(
        f"Algorithm 3 has not halted after {limit:,} steps at alpha = {alpha:.3g}, D = {D:.3g}; "
        "use a certified minimiser, or a smaller instance"
    )


def constant_step(D: float, L: float, alpha: float) -> tuple[int, float, float]:
    """Lemma D.5's T = ceil((4 D L/alpha)^2) steps, their size D/(L sqrt T) and the accuracy of projections."""
    T = math.ceil((4 * D * L / alpha) ** 2)
    eta = D / (L * math.sqrt(T))
    return T, eta, min(D, alpha * eta / (6 * D))


@procedure("pure_heavy_tails/proc-biased-psgd")
def biased_subgradient(
    subgradient: Subgradient,
    project: InexactProjection,
    start: Array,
    alpha: float,
    D: float,
    L: float,
    *,
    bias: float,
    limit: int = LIMIT,
) -> Halted:
    """Lemma D.5: a fixed number of constant steps with subgradients of norm <= L that are wrong by at most `bias`.

    Raises:
        InvalidInput: alpha, D or L not positive, bias above alpha/4, more steps than `limit`, or a longer subgradient.
    """
    if not (alpha > 0 and D > 0 and L > 0):
        raise InvalidInput(f"Lemma D.5 needs alpha, D, L > 0, got {alpha}, {D}, {L}")
    if not 0 <= bias <= alpha / 4:
        raise InvalidInput(f"the bias must lie in [0, alpha/4] = [0, {alpha / 4:.3g}], got {bias:.3g}")
    T, eta, xi = constant_step(D, L, alpha)
    if not limit >= T:
        raise InvalidInput(
            f"Lemma D.5 needs {T:,} steps here, more than the limit of {limit:,}; take a smaller instance"
        )
    x = np.array(start, dtype=float)
    total, accuracy = np.zeros_like(x), np.full(len(x), xi)
    for _ in range(T):
        g = subgradient(x)
        if (longest := float(np.linalg.norm(g, axis=1).max())) > L * (1 + ROUNDING):
            raise InvalidInput(f"the oracle returned a subgradient of norm {longest:.6g} > L = {L:.6g}")
        total += x
        x = project(x - eta * g, accuracy)
    gap = D**2 / (2 * eta * T) + eta * L**2 / 2 + bias + D * xi / eta + xi**2 / (2 * eta)
    return Halted(total / T, np.full(len(x), T, dtype=np.int64), gap)


def exact(project: Callable[[Array], Array]) -> InexactProjection:
    """An exact projection where an inexact one may be used."""

    def onto(w: Array, xi: Any) -> Array:
        return project(w)

    return onto
