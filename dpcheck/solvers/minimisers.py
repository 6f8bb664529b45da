"""Minimisers of regularised empirical risks that return a sure bound on their own gap.

Output perturbation is private only if the gap is: no solver here stops because it grew tired.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpcheck.errors import InvalidInput
from dpcheck.interfaces import Array, Objective, Solution, Solver
from dpcheck.solvers.extension import ends, extension_gradient, lipschitz_extension
from dpcheck.workloads.base import Minimised

Mask = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Task(Objective):
    """An objective, and the gap in its value that the privacy proof allows."""

    gap: float = math.inf


def value(objective: Objective, w: Array) -> Array:
    """The objective at w, one point a trial: (trials, d) -> (trials,)."""
    work, z, point = objective.workload, objective.sample.values, w[:, None, :]
    losses = work.loss(point, z) if objective.cap is None else lipschitz_extension(work, point, z, objective.cap)
    empirical = objective.sample.mean(losses[..., None])[:, 0]
    linear = (np.broadcast_to(objective.linear, w.shape) * w).sum(axis=-1)
    return np.asarray(empirical + linear + objective.weight / 2 * ((w - objective.centre) ** 2).sum(axis=-1))


def subgradient(objective: Objective, w: Array) -> Array:
    """A subgradient of the objective at points of the domain: (trials, d)."""
    work, z, point = objective.workload, objective.sample.values, w[:, None, :]
    slopes = work.gradient(point, z) if objective.cap is None else extension_gradient(work, point, z, objective.cap)
    return np.asarray(objective.sample.mean(slopes) + objective.linear + objective.weight * (w - objective.centre))


def solve(solver: Solver, task: Task, label: str) -> Array:
    """The solver's points, (trials, d), once it has certified the gap that `label` needs.

    Raises:
        InvalidInput: the certified gap is larger, or not a number.
    """
    solution = solver(task)
    if not solution.gap <= task.gap * (1 + 1e-9):
        raise InvalidInput(
            f"{label} needs a minimiser with gap <= {task.gap:.3g}, this solver certifies {solution.gap:.3g}; "
            "use a more accurate solver: the privacy proof rests on the gap"
        )
    return np.broadcast_to(solution.point, (trials_of(task), task.workload.constants.d))


def closed_form(objective: Objective) -> Solution | None:
    """The workload's own formula; a ball constraint enters through its multiplier, which only moves the quadratic."""
    work, weight = objective.workload, objective.weight
    if not isinstance(work, Minimised):
        return None
    trials, d = trials_of(objective), work.constants.d
    centre = np.broadcast_to(objective.centre - np.asarray(objective.linear) / weight, (trials, d))

    def at(multiplier: Array) -> Array | None:
        total = weight + multiplier[:, None]
        merged = centre if objective.within is None else (weight * centre + multiplier[:, None] * ball) / total
        minimum = work.minimiser(objective.sample, objective.cap, total, merged)
        return None if minimum is None else np.broadcast_to(minimum, (trials, d))

    if objective.within is None:
        point = at(np.zeros(trials))
        return None if point is None else Solution(point, 0.0)
    ball, radius = _ball(objective)
    free = at(np.zeros(trials))
    if free is None:
        return None
    if d == 1:
        # On a line the constrained minimiser is the nearest point of the interval.
        return Solution(np.clip(free, ball - radius[:, None], ball + radius[:, None]), 0.0)
    point, multiplier = multiplier_search(at, free, ball, radius, weight)  # type: ignore[arg-type]
    slack = radius**2 - ((point - ball) ** 2).sum(axis=1)
    # Weak duality: the Lagrangian at its own minimiser is below the constrained minimum.
    return Solution(point, float((multiplier / 2 * np.maximum(slack, 0.0)).max()))


def multiplier_search(
    at: Callable[[Array], Array], free: Array, ball: Array, radius: Array, unit: float
) -> tuple[Array, Array]:
    """The feasible end of a bisection on the multiplier mu >= 0 of |w - ball| <= radius.

    Args:
        at: mu (trials,) -> the minimiser with mu/2 |w - ball|^2 added; its distance to `ball` falls with mu.
        free: the minimiser at mu = 0.

    Returns:
        Points within the ball, (trials, d), and their multipliers (trials,).
    """

    def outside(w: Array) -> Mask:
        return np.asarray(np.linalg.norm(w - ball, axis=1) > radius)

    binding = outside(free)
    low, high = np.zeros(len(free)), np.where(binding, unit, 0.0)
    point = np.where(binding[:, None], at(high), free)
    while (far := outside(point) & binding).any():
        if high.max() > 1e300:
            raise InvalidInput("the ball's centre lies outside the domain: the constraint cannot be met")
        low, high = np.where(far, high, low), np.where(far, 4 * high, high)
        point = np.where(far[:, None], at(high), point)
    for _ in range(90):
        middle = (low + high) / 2
        if ((middle == low) | (middle == high)).all():  # where nothing binds, from the beginning
            break
        moved = at(middle)
        far = outside(moved)
        low, high = np.where(far & binding, middle, low), np.where(far | ~binding, high, middle)
        point = np.where((far | ~binding)[:, None], point, moved)
    return point, high


HALVINGS = 64
"""Passes over the sample that `bisected` makes, after two at the ends."""


def bisected(objective: Objective) -> Solution:
    """One dimension: bisection of the monotone derivative down to neighbouring floats."""
    low, high = (np.full((trials_of(objective), 1), end) for end in ends(objective.workload))
    if objective.within is not None:
        ball, radius = _ball(objective)
        low, high = np.maximum(low, ball - radius[:, None]), np.minimum(high, ball + radius[:, None])
    slope_low, slope_high = subgradient(objective, low), subgradient(objective, high)
    high = np.where(slope_low >= 0, low, high)
    low = np.where(slope_high <= 0, high, low)
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2
        slope = subgradient(objective, middle)
        rising = slope > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
        slope_high = np.where(rising, slope, slope_high)
    # Convexity: the gap at the upper end is at most its slope times the bracket, or one rounding of it.
    width = np.maximum(high - low, np.spacing(np.abs(high)))
    gap = np.where(high > low, np.abs(slope_high) * width, 0.0)
    return Solution(high, float(gap.max()))


def strong_gap(weight: float, slope: Array, w: Array, project: Callable[[Array], Array]) -> Array:
    """A sure gap (trials,) at w from any subgradient there: max over the domain of <slope, w - y> - weight/2 |w - y|^2.

    Tight for a smooth objective near its minimum; `weight` is its strong convexity.
    """
    y = project(w - slope / weight)
    return np.asarray(np.maximum(0.0, ((w - y) * slope).sum(axis=1) - weight / 2 * ((w - y) ** 2).sum(axis=1)))


def acceleration_limit(smoothness: float, weight: float) -> int:
    """Steps after which `accelerated` gives up: two orders above sqrt(condition number)."""
    return 1000 + math.ceil(100 * math.sqrt(1 + smoothness / weight))


def accelerated(objective: Objective) -> Solution:
    """Nesterov's method for a smooth, strongly convex objective, stopped by `strong_gap` in each trial.

    Raises:
        InvalidInput: the gap is not reached within `acceleration_limit` steps.
    """
    own = objective.workload.constants.smoothness(2.0)
    smoothness, weight, limit = own + objective.weight, objective.weight, acceleration_limit(own, objective.weight)
    target = objective.gap / 2 if isinstance(objective, Task) and math.isfinite(objective.gap) else 0.0
    project = projection(objective)
    trials = trials_of(objective)
    w = project(np.broadcast_to(objective.centre, (trials, objective.workload.constants.d)).copy())
    ahead, best, gap = w, w.copy(), np.full(trials, math.inf)
    momentum = (1 - math.sqrt(weight / smoothness)) / (1 + math.sqrt(weight / smoothness))
    stale = np.zeros(trials, dtype=int)
    for _ in range(limit):
        here = strong_gap(weight, subgradient(objective, w), w, project)
        better = here < gap
        stale = np.where(better, 0, stale + 1)
        best, gap = np.where(better[:, None], w, best), np.minimum(here, gap)
        # Without a target: until rounding is all that moves.
        done = (gap <= target) | ((stale > 300) if target == 0 else np.zeros(trials, dtype=bool))
        if done.all():
            return Solution(best, float(gap.max()))
        moved = np.where(done[:, None], w, project(ahead - subgradient(objective, ahead) / smoothness))
        # Projected, because a loss need not exist outside its domain; `strong_gap` certifies whatever comes of it.
        ahead, w = project(moved + momentum * (moved - w)), moved
    raise InvalidInput(
        f"accelerated gradients certify a gap of {float(gap.max()):.3g} after {limit:,} steps where {target:.3g} is "
        "needed; use more regularisation, or the conic solver"
    )


def projection(objective: Objective) -> Callable[[Array], Array]:
    """Projection onto the domain of an objective, or its part in the ball: one point a trial."""
    project = objective.workload.project
    if objective.within is None:
        return project
    ball, radius = _ball(objective)

    def onto_part(w: Array) -> Array:
        def at(multiplier: Array) -> Array:
            return project((w + multiplier[:, None] * ball) / (1 + multiplier[:, None]))

        return multiplier_search(at, project(w), ball, radius, 1.0)[0]

    return onto_part


def _ball(objective: Objective) -> tuple[Array, Array]:
    assert objective.within is not None
    ball, radius = objective.within
    trials = max(trials_of(replace(objective, within=None)), len(ball))
    return np.broadcast_to(ball, (trials, ball.shape[1])), np.broadcast_to(np.asarray(radius, dtype=float), (trials,))


def trials_of(objective: Objective) -> int:
    """How many trials an objective holds: the size of axis 0 of its minimisers."""
    sample = objective.sample
    sizes = [len(sample.values), len(sample.weights), len(objective.centre)]
    if isinstance(objective.linear, np.ndarray) and objective.linear.ndim == 2:
        sizes.append(len(objective.linear))
    if objective.within is not None:
        sizes.append(len(objective.within[0]))
    return max(sizes)
