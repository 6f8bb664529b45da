"""Appendix E: the exponential mechanism scored by projected gradient mappings (Algorithm 5), and smoothing."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from dpcheck.algorithms.pure_heavy_tails.erm import PrivateErm, SolverStage
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.geometry.norms import clip_norm
from dpcheck.interfaces import Array, Constants, Data, Problem, Read, Release, Sample, Schedule, Workload, procedure
from dpcheck.laws import Exponential
from dpcheck.numerics import smallest_n
from dpcheck.running import Run
from dpcheck.solvers.extension import ends
from dpcheck.workloads.base import Bounded

LARGEST_NET = 1_000_000  # the same: of memory alone
BLOCK = 4_000_000  # the same: of memory alone
"""Gradients that are held at once while a net is scored."""
FAR = 1e6  # the same: half as far is beyond the domain as well
"""In diameters: a point so far from the middle of the domain is beyond it."""
BELOW, ABOVE = 0.999999999999, 1.000000001
"""Keep the points of a net on a line from being one too many by rounding, those of a grid from more than planned."""


@procedure("pure_heavy_tails/proc-pgm")
def gradient_mapping(w: Array, slope: Array, step: float | Array, workload: Workload) -> Array:
    """(w - Π_W(w - γ slope))/γ, elementwise over points (..., d): zero exactly at constrained minimisers."""
    return np.asarray((w - workload.project(w - step * slope)) / step)


def net(workload: Workload, eta: float) -> Array:
    """An η-net of the domain, points in the domain: (K, d). Depends on nothing but the domain and η.

    Raises:
        InvalidInput: η is not positive or the grid has more than `LARGEST_NET` points.
    """
    if not eta > 0:
        raise InvalidInput(f"the radius eta of a net must be > 0, got {eta}")
    d = workload.constants.d
    if d == 1:
        low, high = ends(workload)
        # The ends belong to it: constrained minimisers are often there.
        return np.linspace(low, high, net_size(high - low, eta, 1))[:, None]
    # A cubic grid of side 2η/sqrt d: every point of the domain is within η of a grid point, so no grid point further
    # than η away is needed, and projecting the others onto the domain only brings them closer.
    side = 2 * eta / math.sqrt(d)
    D = workload.constants.diameter(2.0)  # the same: in every norm a million diameters are beyond the domain
    axes = []
    for e in np.eye(d):
        low, high = workload.project(FAR * D * np.stack([-e, e])) @ e
        count = math.floor((high - low) / side) + 1
        axes.append((low + high) / 2 + side * (np.arange(count) - (count - 1) / 2))
    if math.prod(len(axis) for axis in axes) > LARGEST_NET:
        raise InvalidInput(f"a net of radius {eta:.3g} has more than {LARGEST_NET:,} points; raise eta")
    grid = np.array(list(itertools.product(*axes)))
    inside = workload.project(grid)
    near = np.linalg.norm(inside - grid, axis=1) <= eta
    return np.unique(np.round(inside[near], 15), axis=0)  # the same: points that are one are it to the last digit


def net_size(D: float, eta: float, d: int) -> int:
    """A public bound on the size of `net`."""
    cells = D * math.sqrt(d) / (2 * eta)
    if d == 1:
        return 1 + max(1, math.ceil(cells * BELOW))
    return int((math.floor(cells * ABOVE) + 1) ** d)


@dataclass(frozen=True)
class EMPGM(PrivateErm):
    """Algorithm 5, EM-PGM: samples a net with probability ∝ exp(-ε s_Z(w)/(2Δ)), Δ = 2C/n, on H-smooth losses.

    s_Z is the norm of the clipped projected gradient mapping. Not efficient: the net is exponential in d.

    Attributes:
        gamma: step γ; None for 1/(λ + H).
        eta: radius of the net; None for Cd/(εn(λ + H)).
        largest_net: a plan with more points is refused, for they are held at once.
    """

    gamma: float | None = None
    eta: float | None = None
    largest_net: float = LARGEST_NET

    label = "pure_heavy_tails/alg-5"
    readings: ClassVar = {"dialled": {"noise_dial": 0.01}}

    def smoothness(self, problem: Problem, n: int) -> float:
        """H, public. Raises `Infeasible` for losses without one."""
        H = problem.constants.smoothness(2.0)
        if not math.isfinite(H):
            raise Infeasible(
                self.label, "smooth losses; for others use pure_heavy_tails/proc-smoothed-em-pgm", f"smoothness {H}"
            )
        return H

    def schedule(self, problem: Problem, n: int) -> Schedule[SolverStage]:
        (epsilon, _), constants = self.privacy_budget(problem), problem.constants
        d, D = constants.d, constants.diameter(2.0)
        if epsilon * n < d:
            raise Infeasible(self.label, "epsilon n >= d", f"{epsilon * n:.3g} < {d}", self._smallest_n(problem))
        self.check(problem, n)
        H, C = self.smoothness(problem, n), self.cap(problem, n)
        gamma = 1 / (self.lambda_ + H) if self.gamma is None else self.gamma
        eta = self.radius(problem, n)
        if not gamma > 0:
            raise InvalidInput(f"{self.label} needs gamma > 0, got {gamma}")
        if not 0 < eta <= D:
            needed = self._smallest_n(problem) if self.eta is None else None
            raise Infeasible(self.label, f"a net of radius in (0, D = {D:.3g}]", f"{eta:.3g}", needed)
        if (size := net_size(D, eta, d)) > self.largest_net:
            raise Infeasible(self.label, f"a net of at most {self.largest_net:,} points", f"{size:,}")
        sensitivity = 2 * C / n
        coefficient = epsilon / (2 * sensitivity) / self.noise_dial
        stage = SolverStage(
            stage="point",
            records=n,
            lambda_=self.lambda_,
            C=C,
            epsilon=epsilon,
            noise=1 / coefficient,
            radius=eta,
            step=gamma,
        )
        release = Release(
            name="point",
            law=Exponential(coefficient),
            reads=(Read(start=0, stop=n, sensitivity=sensitivity),),
            norm="range",
        )
        return Schedule(
            phases=(stage,),
            releases=(release,),
            gradients=size * n,
            floats_per_trial=size + 2 * n * d,
            claimed=self.claimed(epsilon),
        )

    def radius(self, problem: Problem, n: int) -> float:
        """η."""
        if self.eta is not None:
            return self.eta
        H, C = self.smoothness(problem, n), self.cap(problem, n)
        return C * problem.constants.d / (self.check(problem, n) * n * (self.lambda_ + H))

    def _smallest_n(self, problem: Problem) -> int | None:
        """From which on epsilon n >= d, and the net's radius, unless it is given, is at most the diameter."""
        (epsilon, _), d, D = self.privacy_budget(problem), problem.constants.d, problem.constants.diameter(2.0)
        return smallest_n(lambda n: epsilon * n >= d and (self.eta is not None or self.radius(problem, n) <= D))

    def execute(self, run: Run[SolverStage], workload: Workload, data: Data, start: Array) -> Array:
        (stage,) = run.schedule.phases
        points = net(workload, stage.radius)
        Z = data.read()
        gamma = self.step(workload, Z, stage)
        s = np.linalg.norm(self.mapping(points, workload, Z, start, stage, gamma), axis=2)
        index = run.release("point", s)[:, 0]
        chosen = points[np.where(np.isnan(index), 0, index).astype(int)]
        return np.where(np.isnan(index)[:, None], np.nan, chosen)

    def step(self, workload: Workload, sample: Sample, stage: SolverStage) -> Array:
        """γ of each trial, (1, 1, 1): public."""
        return np.asarray(stage.step).reshape(1, 1, 1)

    def mapping(
        self, points: Array, workload: Workload, sample: Sample, centre: Array, stage: SolverStage, gamma: Array
    ) -> Array:
        """The clipped mapping G̃ at every point of the net: (trials, K, d)."""
        g_C = np.concatenate(
            [
                sample.mean(
                    clip_norm(self.slopes(part[None, None], sample.values[:, :, None], workload, stage), stage.C)
                )
                for part in _parts(points, sample)
            ],
            axis=1,
        )
        slope = g_C + stage.lambda_ * (points - np.asarray(centre)[:, None])
        return gradient_mapping(points, slope, gamma, workload)

    def slopes(self, w: Array, z: Array, workload: Workload, stage: SolverStage) -> Array:
        """Gradients of single records, elementwise."""
        return workload.gradient(w, z)

    def c_erm(self, problem: Problem, m: int) -> float:
        """2 + 4 log(3D/η) + 4 log(10)/d + 10/(k - 1): grows with log(mε), so (6) holds up to that factor."""
        d, eta = problem.constants.d, self.radius(problem, m)
        log_net = math.log(max(math.e, 3 * problem.constants.diameter(2.0) / eta))
        return 2 + 4 * log_net + 4 * math.log(10) / d + 10 / (self.k - 1)

    def certified(self, problem: Problem) -> bool:
        return super().certified(problem) and self.gamma is None and self.eta is None


@dataclass(frozen=True)
class SmoothedEMPGM(EMPGM):
    """Appendix E.2: Algorithm 5 on the ball-smoothed losses f^τ(w) = E f(w + τU), for nonsmooth f, in d <= 2.

    Attributes:
        gamma_rule: "data" for the printed 1/(λ + (d/τ) max_i L_i), which depends on the records and is not private;
            "public" for 1/(λ + d G_2 sqrt(n/ρ)/τ).
        tau: None for D/sqrt n. Losses must exist within τ of the domain.
        rho: failure probability ρ of the public smoothness bound.
        nodes: directions of the quadrature over the circle in d = 2; in d = 1 the smoothing is exact.
    """

    gamma_rule: Literal["data", "public"] = "data"
    tau: float | None = None
    rho: float = 0.05
    nodes: int = 64

    label = "pure_heavy_tails/proc-smoothed-em-pgm"
    readings: ClassVar = {"corrected": {"gamma_rule": "public"}, "dialled": {"noise_dial": 0.01}}

    @property
    def success(self) -> float:  # type: ignore[override]
        """0.7 - ρ."""
        return 0.7 - self.rho

    def smoothing(self, constants: Constants, n: int) -> float:
        """τ."""
        return constants.diameter(2.0) / math.sqrt(n) if self.tau is None else self.tau

    def smoothness(self, problem: Problem, n: int) -> float:
        """d G_2 sqrt(n/ρ)/τ: above the smoothness of the smoothed empirical risk with probability 1 - ρ."""
        d, tau = problem.constants.d, self.smoothing(problem.constants, n)
        if not (tau > 0 and 0 < self.rho < 0.2):
            raise InvalidInput(f"{self.label} needs tau > 0 and rho in (0, 0.2), got {tau}, {self.rho}")
        if d > 2:
            raise Infeasible(self.label, "d <= 2 for its quadrature over directions", f"d = {d}")
        if self.gamma_rule not in ("data", "public"):
            raise InvalidInput(f"gamma_rule must be 'data' or 'public', got {self.gamma_rule!r}")
        return d * problem.constants.moment(2.0, 1) * math.sqrt(n / self.rho) / tau

    def schedule(self, problem: Problem, n: int) -> Schedule[SolverStage]:
        plan = super().schedule(problem, n)
        if self.gamma_rule == "data" and self.gamma is None:
            # One record may shrink the step, and with it the score at every point of the net.
            plan = plan.edit("point", rests_on=("pure_heavy_tails/prop-e-4@literal",))
        return replace(plan, gradients=plan.gradients * (2 if problem.constants.d == 1 else self.nodes))

    def step(self, workload: Workload, sample: Sample, stage: SolverStage) -> Array:
        if self.gamma_rule == "public" or self.gamma is not None:
            return super().step(workload, sample, stage)
        if not isinstance(workload, Bounded):
            raise InvalidInput(f"{type(workload).__name__} does not know its gradient norms; give it `amplitude`")
        # max L_i over the records present: what the paper prints, and what breaks the privacy of the score.
        steepest = np.where(sample.weights > 0, workload.amplitude(sample.values), 0.0).max(axis=1)
        H = workload.constants.d / self.smoothing(workload.constants, stage.records) * steepest
        return np.asarray(1 / (stage.lambda_ + H))[:, None, None]

    def slopes(self, w: Array, z: Array, workload: Workload, stage: SolverStage) -> Array:
        return smoothed_gradient(workload, w, z, self.smoothing(workload.constants, stage.records), self.nodes)

    def certified(self, problem: Problem) -> bool:
        """Never for f itself: the distance is to the minimiser of the smoothed risk."""
        return False


def smoothed_gradient(workload: Workload, w: Array, z: Array, tau: float, nodes: int = SmoothedEMPGM.nodes) -> Array:
    """∇f^τ(w) = (d/τ) E f(w + τV) V, V uniform on the sphere: exact in d = 1, by quadrature on the circle in d = 2."""
    d = workload.constants.d
    if d == 1:
        change = workload.loss(w + tau, z) - workload.loss(w - tau, z)
        return np.asarray(change / (2 * tau))[..., None]
    if d != 2:
        raise InvalidInput(f"smoothed gradients are implemented for d <= 2, got d = {d}")
    turns = np.arange(nodes) + 0.5  # the same: where the first direction points is of no matter
    angles = 2 * np.pi * turns / nodes
    total: Array = np.zeros(d)
    for v in np.stack([np.cos(angles), np.sin(angles)], axis=1):
        total = total + workload.loss(w + tau * v, z)[..., None] * v
    return np.asarray(d / tau * total / nodes)


def _parts(points: Array, sample: Sample) -> list[Array]:
    """The net in parts whose gradients fit in memory."""
    trials = max(len(sample.values), len(sample.weights))  # the same: of memory alone
    size = max(1, BLOCK // (trials * sample.values.shape[1] * points.shape[1]))  # the same: of memory alone
    return [points[i : i + size] for i in range(0, len(points), size)]
