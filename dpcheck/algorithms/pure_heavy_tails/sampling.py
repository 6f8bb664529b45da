"""Appendix F: a Gibbs law over the localised domain instead of a second perturbation (Algorithms 6 and 7)."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import scipy  # `scipy.stats` takes a second: loaded on first use

from dpcheck.algorithms.pure_heavy_tails.erm import PrivateErm, SolverStage, oracle_calls, steepest_gradient
from dpcheck.algorithms.pure_heavy_tails.output_perturbation import Ball, OutputPertLocalize, two_step
from dpcheck.algorithms.pure_heavy_tails.subgradient import adaptive_inexact_subgradient, exact, iteration_bound
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Array, Data, Problem, Read, Release, Sample, Schedule, Solver, Workload, procedure
from dpcheck.laws import Exponential
from dpcheck.numerics import edges
from dpcheck.privacy import PureDP
from dpcheck.running import Run
from dpcheck.solvers import Mask, certified
from dpcheck.solvers.extension import LINE_CALLS, ends, lipschitz_extension

BLOCK = 4_000_000  # the same: of memory alone
"""Values of f_C that are held at once."""
C_100 = 512.0
"""The paper's "sufficiently large absolute constant"."""
ROUNDING = 1e-12  # the same: a chord ends as little sooner or later
"""In diameters: what projecting moves by no more than this lies in the domain."""
SMALLEST = 1e-18  # the same: no run tells so small a share from half of it
"""Size of a cell of a ray that leaves W_0 at once, whatever rounding makes of it: in squares of the radius."""
NODES = 129  # the same: with more points or with fewer, nothing is promised of hit-and-run
"""Points of a chord that hit-and-run chooses from."""


@dataclass(frozen=True)
class LocalPotential:
    """F̂_{C,λ}(w) - F̂_{C,λ}(u_0) at many points w of each trial; times the coefficient it is Ψ_Z of (32)."""

    workload: Workload
    sample: Sample
    centre: Array
    anchor: Array
    cap: float
    weight: float

    def __call__(self, w: Array) -> Array:
        """(trials, K, d) -> (trials, K)."""
        ridge = self.weight / 2 * (_square(w - self.centre[:, None]) - _square(self.anchor - self.centre)[:, None])
        return np.asarray(self.empirical(w) - self.at_anchor + ridge)

    @functools.cached_property
    def at_anchor(self) -> Array:
        """mean f_C at u_0: (trials, 1)."""
        return self.empirical(self.anchor[:, None])

    def empirical(self, w: Array) -> Array:
        """mean f_C: (trials, K, d) -> (trials, K)."""
        z = self.sample.values[:, :, None]
        trials = max(len(w), len(z), len(self.sample.weights))  # the same: of memory alone
        size = max(1, BLOCK // (trials * z.shape[1]))  # the same: of memory alone
        parts = [w[:, i : i + size] for i in range(0, w.shape[1], size)]
        return np.concatenate([self.sample.mean(self.extension(part[:, None], z)) for part in parts], axis=1)

    def extension(self, w: Array, z: Array) -> Array:
        """f_C, elementwise."""
        return lipschitz_extension(self.workload, w, z, self.cap)


@dataclass(frozen=True)
class ApproxLocalPotential(LocalPotential):
    """Algorithm 6, Approx-Eval-LocPot: every f_C by Algorithm 3 to a gap of α_in/4, from above.

    Its error is at most α_in/4 either way, half of what Lemma F.2 allows.
    """

    alpha_in: float = math.nan

    label = "pure_heavy_tails/alg-6"

    def __post_init__(self) -> None:
        if not self.alpha_in > 0:
            raise InvalidInput(f"{self.label} needs alpha_in > 0, got {self.alpha_in}")

    def extension(self, w: Array, z: Array) -> Array:
        """min over y in W of f(y, z) + C |w - y| for every pair, all of them one batch of Algorithm 3."""
        work, d = self.workload, self.workload.constants.d
        shape = np.broadcast_shapes(w.shape[:-1], z.shape[:3])
        points = np.broadcast_to(w, (*shape, d)).reshape(-1, d)
        records = np.broadcast_to(z, (*shape, *z.shape[3:])).reshape(len(points), *z.shape[3:])

        def subgradient(y: Array) -> Array:
            away = y - points
            length = np.linalg.norm(away, axis=1, keepdims=True)
            pull = away / np.where(length > 0, length, math.inf)
            return np.asarray(work.gradient(y, records) + self.cap * pull)

        D = work.constants.diameter(2.0)
        halted = adaptive_inexact_subgradient(subgradient, exact(work.project), points, self.alpha_in / 4, D)
        y = halted.point
        return np.asarray(work.loss(y, records) + self.cap * np.linalg.norm(points - y, axis=1)).reshape(shape)


# Gibbs laws on a line, exactly


def gibbs_linear(slope: float, weight: float, centre: float, coefficient: float, low: float, high: float) -> Any:
    """The law of density ∝ exp(-coefficient (slope w + weight/2 (w - centre)²)) on [low, high]: a truncated Gaussian.

    Returns:
        A frozen `scipy.stats.truncnorm`: exact densities, quantiles and samples.
    """
    if not (weight > 0 and coefficient > 0 and low < high):
        raise InvalidInput(f"a Gibbs law needs weight, coefficient > 0 and low < high, got {weight}, {coefficient}")
    mean, deviation = centre - slope / weight, 1 / math.sqrt(coefficient * weight)
    return scipy.stats.truncnorm((low - mean) / deviation, (high - mean) / deviation, loc=mean, scale=deviation)


@procedure("pure_heavy_tails/proc-logconcave-sampler")
def cells(workload: Workload, W_0: Ball, count: int) -> tuple[Array, Array]:
    """Midpoints and log sizes of cells that cover W ∩ B(centre, radius), from public quantities alone, d <= 2.

    An exponential mechanism over them, with the log sizes added to its scores, samples the Gibbs law with its density
    held constant on each cell. Intervals on a line; sectors of rings around the centre in the plane.

    Returns:
        Points (trials, count, d) of W_0 and log sizes (trials, count), the largest of them 0.
    """
    centre, radius = W_0
    trials, d = centre.shape
    if d == 1:
        start, stop = ends(workload)
        low, high = np.maximum(start, centre - radius), np.minimum(stop, centre + radius)
        middles = (np.arange(count) + 0.5) / count
        return (low + (high - low) * middles)[:, :, None], np.zeros((trials, count))
    if d != 2:
        raise InvalidInput(f"cells cover W_0 in d <= 2, got d = {d}; use the hit-and-run sampler")
    rays = max(8, round(math.sqrt(2 * count)))
    rings = max(1, count // rays)
    turns = np.arange(rays) + 0.5  # the same: where the first ray points is of no matter
    angles = 2 * np.pi * turns / rays
    directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    reach = chord(workload, np.repeat(centre[:, None], rays, axis=1), directions[None], W_0)
    share = (np.arange(rings) + 0.5) / rings
    points = centre[:, None, None] + (reach[..., None] * share)[..., None] * directions[:, None]
    sizes = np.log(np.maximum((reach[..., None] ** 2 * share).reshape(trials, -1), SMALLEST * radius**2))
    return points.reshape(trials, -1, 2), sizes - sizes.max(axis=1, keepdims=True)


def chord(workload: Workload, points: Array, directions: Array, W_0: Ball) -> Array:
    """How far one can go from each point of W_0 along a unit direction within W_0: (trials, K)."""
    centre, radius = W_0[0][:, None], W_0[1]
    low = np.zeros(np.broadcast_shapes(points.shape, directions.shape)[:-1])
    high = low + radius + np.linalg.norm(points - centre, axis=-1)
    tolerance = ROUNDING * workload.constants.diameter(2.0)

    def outside(length: Array) -> Mask:
        ahead = points + length[..., None] * directions
        inside = np.linalg.norm(workload.project(ahead) - ahead, axis=-1) <= tolerance
        return np.asarray(~(inside & (np.linalg.norm(ahead - centre, axis=-1) <= radius)))

    return edges(outside, low, high, halvings=50)[0]


def hit_and_run(
    run: Run[Any], potential: Callable[[Array], Array], workload: Workload, W_0: Ball, steps: int, nodes: int = NODES
) -> Array:
    """Approximate samples of the density ∝ exp(-potential) on W_0 in any dimension, one a trial: (trials, d).

    Each step samples a random chord through the current point, on `nodes` points. It converges to the Gibbs law, but
    no bound on its max-divergence at a finite number of steps is known to us: nothing is promised of its privacy.
    """
    shape = (run.trials, W_0[0].shape[1])
    w = np.broadcast_to(W_0[0], shape).copy()
    for _ in range(steps):
        direction = run.coins(lambda rng: rng.normal(size=shape))
        direction = direction / np.linalg.norm(direction, axis=1, keepdims=True)
        ways = np.stack([direction, -direction], axis=1)
        ahead = chord(workload, w[:, None], ways, W_0)
        at = -ahead[:, 1:] + (ahead[:, :1] + ahead[:, 1:]) * (np.arange(nodes) + 0.5) / nodes
        points = w[:, None] + at[..., None] * direction[:, None]
        level = potential(points)
        mass = np.exp(level.min(axis=1, keepdims=True) - level).cumsum(axis=1)
        pick = (run.coins(lambda rng: rng.random((run.trials, 1))) * mass[:, -1:] > mass).sum(axis=1)
        w = points[np.arange(run.trials), pick]
    return w


@dataclass(frozen=True)
class LocalizedApproxEM(PrivateErm):
    """Algorithm 7: localise with ε/2, then sample W_0 with density ∝ exp(-ε_EM/(2Δ_0) F̂_{C,λ}), ε_EM = ε/4.

    Attributes:
        delta: δ in (0, 1/10); it enters the run time of the printed evaluator alone.
        minimiser: for the localisation.
        evaluator: "exact" extensions, or "alg-6" for the printed evaluator (toy instances).
        sampler: "cells" samples a grid of W_0 exactly (d <= 2), so that its privacy is exact too; "hit-and-run" works
            in any dimension and promises nothing.
        count: number of cells, or steps of hit-and-run.
    """

    delta: float = 0.05
    minimiser: Solver = certified
    evaluator: Literal["exact", "alg-6"] = "exact"
    sampler: Literal["cells", "hit-and-run"] = "cells"
    count: int = 2048  # the same: no statement names a default

    label = "pure_heavy_tails/alg-7"
    readings: ClassVar = {
        "any-dimension": {"sampler": "hit-and-run", "count": 200},  # the same: no statement names a number of steps
        "printed-evaluator": {"evaluator": "alg-6"},
        "dialled": {"noise_dial": 0.01},
    }

    @property
    def success(self) -> float:  # type: ignore[override]
        """0.7 - δ."""
        return 0.7 - self.delta

    def localiser(self, C: float) -> OutputPertLocalize:
        """Algorithm 2 as it is called in stage 1."""
        return OutputPertLocalize(
            k=self.k, lambda_=self.lambda_, C=C, zeta=3.0, minimiser=self.minimiser, noise_dial=self.noise_dial
        )

    def schedule(self, problem: Problem, n: int) -> Schedule[SolverStage]:
        epsilon, constants, m = self.check(problem, n), problem.constants, n
        if not 0 < self.delta < 0.1:
            raise InvalidInput(f"{self.label} needs delta in (0, 1/10), got {self.delta}")
        if self.evaluator not in ("exact", "alg-6") or self.sampler not in ("cells", "hit-and-run") or self.count < 1:
            raise InvalidInput(
                f"{self.label} needs evaluator 'exact' or 'alg-6', sampler 'cells' or 'hit-and-run' and count >= 1, "
                f"got {self.evaluator!r}, {self.sampler!r}, {self.count}"
            )
        if self.sampler == "cells" and constants.d > 2:
            raise Infeasible(
                self.label,
                "d <= 2 for sampling with a guarantee (sampler='hit-and-run' works, without one)",
                f"d = {constants.d}",
            )
        C, lambda_ = self.cap(problem, m), self.lambda_
        first = self.localiser(C).schedule(replace(problem, privacy=PureDP(epsilon / 2)), m)
        Delta_0, alpha_in = self.scale(C, m, epsilon, constants.d)
        coefficient = epsilon / 4 / (2 * Delta_0) / self.noise_dial
        slack = alpha_in / 2 if self.evaluator == "alg-6" else 0.0
        stage = SolverStage(
            stage="point", records=m, lambda_=lambda_, C=C, epsilon=epsilon / 4, noise=1 / coefficient, gap=slack
        )
        release = Release(
            name="point",
            law=Exponential(coefficient),
            reads=(Read(start=0, stop=m, sensitivity=Delta_0 + slack),),
            norm="range",
            # After finitely many steps hit-and-run is near the Gibbs law, at a distance that nobody has bounded.
            rests_on=() if self.sampler == "cells" else ("pure_heavy_tails/prop-f-5",),
        )
        guaranteed = self.sampler == "cells"
        (localised,) = first.phases
        D, steepest = constants.diameter(2.0), steepest_gradient(problem, self.k, m)
        calls = oracle_calls(self.minimiser, constants, localised, steepest, D)
        if self.evaluator == "alg-6":
            calls += 2 * m * self.count * iteration_bound(D, steepest + C, alpha_in / 4)
        elif constants.d == 1:
            # At every cell, or node of a chord, and at the anchor; more only than a closed form, which asks for none.
            points = self.count if self.sampler == "cells" else self.count * NODES
            calls += LINE_CALLS * m * (points + 1)
        return Schedule(
            phases=(replace(localised, stage="stage 1/point"), stage),
            releases=(*first.placed("stage 1/", 0), release),
            gradients=calls,
            floats_per_trial=4 * m * constants.d + 4 * self.count * constants.d,
            claimed=self.claimed(epsilon) if guaranteed else None,
        )

    def scale(self, C: float, m: int, epsilon: float, d: int) -> tuple[float, float]:
        """Δ_0 = 2 C D_0/m with D_0 = 600Cd/(λεm), the radius of W_0, and α_in."""
        D_0 = 600 * C * d / (self.lambda_ * epsilon * m)
        Delta_0 = 2 * C * D_0 / m
        return Delta_0, min(Delta_0 / 512, C * D_0 * d / (C_100 * m * epsilon))

    def execute(self, run: Run[SolverStage], workload: Workload, data: Data, start: Array) -> Array:
        first, stage = run.schedule.phases

        def second(W_0: Ball) -> Array:
            # The anchor u_0 = w_loc is in the middle of W_0, which makes Δ_0 the right bound on the score.
            given = (workload, data.read(), np.asarray(start), W_0[0], stage.C, stage.lambda_)
            score = ApproxLocalPotential(*given, alpha_in=2 * stage.gap) if stage.gap else LocalPotential(*given)
            if self.sampler == "hit-and-run":
                return hit_and_run(run, lambda w: score(w) / stage.noise, workload, W_0, self.count)
            points, log_sizes = cells(workload, W_0, self.count)
            index = run.release("point", score(points) - stage.noise * log_sizes)[:, 0]
            chosen = points[np.arange(len(points)), np.where(np.isnan(index), 0, index).astype(int)]
            return np.where(np.isnan(index)[:, None], np.nan, chosen)

        return two_step(run, self.localiser(first.C), second, workload, data, start)

    def c_erm(self, problem: Problem, m: int) -> float:
        """sqrt(19200 q/d) + 20. On a line q = log(20 K) + εm/(8K) + 38/K² for K cells; else the Gibbs law's 20 d."""
        d, (epsilon, _) = problem.constants.d, self.privacy_budget(problem)
        q = 20.0 * d
        if d == 1:
            K = self.count
            q = math.log(K) + math.log(20) + epsilon * m / (8 * K) + 38 / K**2 + epsilon / 8192
        return math.sqrt(19200 * q / d) + 20

    def certified(self, problem: Problem) -> bool:
        return super().certified(problem) and problem.constants.d == 1 and self.sampler == "cells"


def _square(w: Array) -> Array:
    return np.asarray((w * w).sum(axis=-1))
