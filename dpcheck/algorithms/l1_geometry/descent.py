"""Noisy mirror descent: Algorithms 1 (l1) and 5 (l_p), and the loop that their localised forms share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dpcheck.algorithms.l1_geometry.entropic import eg_step
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.geometry import Domain, L1Ball, LpBall, PowerMap, Simplex
from dpcheck.geometry.mirror_lp import minimiser_in_lp
from dpcheck.geometry.norms import dual_exponent
from dpcheck.interfaces import Algorithm, Array, BudgetRange, Data, Problem, Read, Release, Sampling, Schedule, Workload
from dpcheck.laws import Gaussian
from dpcheck.running import Run
from dpcheck.workloads import Placed

BUDGETS = BudgetRange(largest_epsilon=1.0, delta_below=0.5)
GRADIENT = "gradient"
"""Name of the one release of a descent: T noisy mean gradients."""


@dataclass(frozen=True, kw_only=True)
class Descent:
    """One noisy mirror descent.

    Attributes:
        T, b: steps, and records drawn with replacement in each.
        sigma: standard deviation of the noise; sensitivity: how far one drawn record moves the mean gradient in l2.
        eta: the step; with a weight the k-th step is eta/(k + 1).
        weight: lambda: descends on mean f + weight h and returns the average weighted by k.
        p, scale: the mirror map scale/2 |.|_p^2; p = 1 stands for the entropy on the simplex.
        first, records: the block that is read.
        radius: of the ball |x - centre|_p <= radius, inf without one; the centre is the start of a ball.
    """

    T: int
    b: int
    sigma: float
    sensitivity: float
    eta: float
    weight: float
    p: float
    scale: float
    first: int
    records: int
    epsilon: float
    radius: float = math.inf

    def release(self, prefix: str = "") -> Release:
        """All T steps as one entry; a record drawn k times moves a step by k times the sensitivity."""
        sampling = Sampling("with-replacement", self.b)
        read = Read(start=self.first, stop=self.first + self.records, sensitivity=self.sensitivity, sampling=sampling)
        return Release(name=prefix + GRADIENT, law=Gaussian(self.sigma), reads=(read,), norm=2.0, count=self.T)

    def step(self, k: int) -> float:
        """eta_k."""
        return self.eta / (k + 1) if self.weight > 0 else self.eta


def domain_of(workload: Workload) -> Domain:
    """The set that a workload lives on."""
    if not isinstance(workload, Placed):
        raise InvalidInput(f"mirror descent needs a workload with a `domain`, {type(workload).__name__} has none")
    return workload.domain


def minimiser(mirror: PowerMap, domain: Domain, centre: Array, radius: float) -> Callable[[Array], Array]:
    """theta -> argmin h(u) - <theta, u> over centre + u in the domain and |u|_p <= radius, exactly."""
    if isinstance(domain, L1Ball) and not domain.centre.any():
        return lambda theta: mirror.minimiser_in_l1(theta, domain.radius, centre, radius)
    if isinstance(domain, LpBall) and domain.p == mirror.p:
        if (away := centre - domain.centre).any():
            return lambda theta: minimiser_in_lp(mirror, theta, domain.radius, away, radius)
        return lambda theta: mirror.minimiser(theta, min(radius, domain.radius))
    raise InvalidInput(
        f"no exact mirror step of exponent {mirror.p:g} on {domain!r}; use an L1Ball around 0, or an LpBall of "
        "the same exponent"
    )


def descend(run: Run[Any], row: Descent, workload: Workload, block: Data, start: Array) -> Array:
    """T noisy mirror steps from `start` (trials or 1, d); the average of the iterates 1..T, (trials, d)."""
    sample, domain = block.read(), domain_of(workload)
    x = np.broadcast_to(start, (run.trials, start.shape[-1])).astype(float)
    total, weights = np.zeros_like(x), 0.0
    centre = x.copy() if math.isfinite(row.radius) else np.zeros_like(x)
    mirror = None if row.p == 1 else PowerMap(row.p, row.scale)
    best = None if mirror is None else minimiser(mirror, domain, centre, row.radius)
    for k in range(1, row.T + 1):
        batch = run.subsample(GRADIENT, sample)
        noisy = run.release(GRADIENT, batch.mean(workload.gradient(x[:, None], batch.values)))
        share = float(k) if row.weight > 0 else 1.0
        total, weights = total + share * x, weights + share
        eta = row.step(k)
        if mirror is None or best is None:
            x = eg_step(x, noisy, eta)
        else:
            x = centre + best((1 - eta * row.weight) * mirror.gradient(x - centre) - eta * noisy)
    return np.asarray(total / weights)


def gaussian_max(d: int) -> float:
    """A proved bound on E max N_j^2 of d standard normals: 2 log d for d >= 3, else 2 (1 + log d)."""
    return 2 * math.log(d) if d >= 3 else 2 * (1 + math.log(d))


def check_noise(c_sigma: float) -> None:
    """Raises `InvalidInput` unless the noise constant is finite and > 0."""
    if not (math.isfinite(c_sigma) and c_sigma > 0):
        raise InvalidInput(f"c_sigma must be a finite number > 0, got {c_sigma!r}")


def base_two(d: int) -> float:
    """log_2 d, at least 1: p = 1 + 1/log_2 d never exceeds 2."""
    return max(1.0, math.log2(d))


@dataclass(frozen=True)
class NoisyMirrorDescent(Algorithm[Descent]):
    """Algorithm 1, in l1: minibatches with replacement, one Gaussian a step, plain or weighted average.

    On an l1 ball h = 2 |x|_p^2/(p - 1), p = 1 + 1/log_2 d, which is 1-strongly convex in l1; on a simplex the entropy.

    Attributes:
        batch: b; None for ceil(sqrt(n)).
        c_sigma: constant of the noise, 100 in print; any smaller one makes no promise (`Schedule.claimed` is None).
        weight: lambda; positive: descends on mean f + lambda h with steps 2/(lambda (k + 1)), weighted average.
        distance: D with D^2 >= D_h(x*, x_0); None for the bound from the origin, or the uniform point.
        mirror: "power" for the map above, "entropy" on a simplex.
    """

    batch: int | None = None
    c_sigma: float = 100.0
    weight: float = 0.0
    distance: float | None = None
    mirror: Literal["power", "entropy"] = "power"

    label = "l1_geometry/alg-1"
    budgets = BUDGETS
    claimed_by: ClassVar[tuple[str, ...]] = ("l1_geometry/thm-3",)
    readings: ClassVar = {
        "dialled": {"c_sigma": 4.0},
        "strongly-convex": {"weight": 1.0},  # the same: lambda is given, no statement names one
    }

    def __post_init__(self) -> None:
        check_noise(self.c_sigma)
        if not self.weight >= 0:
            raise InvalidInput(f"weight must be >= 0, got {self.weight!r}")
        if self.mirror not in ("power", "entropy") or (self.mirror == "entropy" and self.weight > 0):
            raise InvalidInput(f"mirror must be 'power', or 'entropy' with weight 0, got {self.mirror!r}")

    # Geometry: overridden by Algorithm 5.

    def exponent(self, problem: Problem) -> float:
        """p of the mirror map; 1 stands for the entropy."""
        return 1.0 if self.mirror == "entropy" else 1 + 1 / base_two(problem.constants.d)

    def scale(self, problem: Problem) -> float:
        """h = scale/2 |.|_p^2."""
        p = self.exponent(problem)
        return 1.0 if p == 1 else 4 / (p - 1)

    def norm(self) -> float:
        """Exponent of the norm of D and L."""
        return 1.0

    def size(self, problem: Problem) -> float:
        """Bound on ||g||_2 over gradients: L d^(1/2 - 1/q)."""
        q = dual_exponent(self.norm())
        return problem.constants.lipschitz(self.norm()) * math.pow(problem.constants.d, 0.5 - 1 / q)

    def squared_noise(self, problem: Problem, sigma: float) -> float:
        """What the step uses for E||zeta||_*^2: 2 sigma^2 log d as printed, where that is proved."""
        return gaussian_max(problem.constants.d) * sigma**2

    def reach(self, problem: Problem) -> float:
        """D."""
        if self.distance is not None:
            return self.distance
        if self.exponent(problem) == 1:
            return math.sqrt(math.log(problem.constants.d))
        radius = problem.constants.diameter(self.norm()) / 2
        return radius * math.sqrt(self.scale(problem) / 2)

    def schedule(self, problem: Problem, n: int) -> Schedule[Descent]:
        epsilon, delta = self.privacy_budget(problem)
        c = problem.constants
        if c.d < 2:
            raise Infeasible(self.label, "d >= 2", f"d = {c.d}")
        b = math.ceil(math.sqrt(n)) if self.batch is None else self.batch
        if not 1 <= b <= n:
            raise Infeasible(self.label, f"a batch of 1 <= b <= n records, here b = {b}", f"n = {n}", max(1, b))
        T = max(1, n * n // (b * b))
        size = self.size(problem)
        sigma = self.c_sigma * size * math.sqrt(math.log(1 / delta)) / (b * epsilon)
        L = problem.constants.lipschitz(self.norm())
        eta = self.reach(problem) / math.sqrt(T * (L**2 + self.squared_noise(problem, sigma)))
        row = Descent(
            T=T,
            b=b,
            sigma=sigma,
            sensitivity=2 * size / b,
            eta=2 / self.weight if self.weight > 0 else eta,
            weight=self.weight,
            p=self.exponent(problem),
            scale=self.scale(problem),
            first=0,
            records=n,
            epsilon=epsilon,
        )
        return Schedule(
            phases=(row,),
            releases=(row.release(),),
            gradients=T * b,
            floats_per_trial=T * (c.rows(b) + 3 * c.d) + c.rows(n) * c.d,
            claimed=problem.privacy if self.c_sigma >= 100 else None,
            claimed_by=self.claimed_by,
        )

    def execute(self, run: Run[Descent], workload: Workload, data: Data, start: Array) -> Array:
        row = run.schedule.phases[0]
        domain = domain_of(workload)
        if row.p == 1 and not (isinstance(domain, Simplex) and domain.scale == 1):
            raise InvalidInput(f"the entropy needs a Simplex of sum 1, got {domain!r}; use mirror='power'")
        return descend(run, row, workload, data, start)

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of `l1_geometry/thm-3@summed`, or of `@weighted`, which needs L to bound the gradients of f + λh."""
        row, c, norm = self.schedule(problem, n).phases[0], problem.constants, self.norm()
        geometry = {"L": c.lipschitz(norm), "D": c.diameter(norm), "p": row.p, "q": dual_exponent(norm)}
        known = geometry | {"V": self.squared_noise(problem, row.sigma), "T": row.T}
        return known | ({"lambda": self.weight} if self.weight > 0 else {"D_1": self.reach(problem)})


@dataclass(frozen=True)
class GeneralNoisyMirrorDescent(NoisyMirrorDescent):
    """Algorithm 5: the same in l_p, 1 < p <= 2, with h = |x|_p^2/(2 (p - 1)).

    Attributes:
        p: of the norm.
        step: "printed" has 4 d^(2/q) sigma^2 log d in the step at every p; "corrected" has d sigma^2 at p = 2.
    """

    p: float = 2.0
    step: Literal["printed", "corrected"] = "printed"

    label = "l1_geometry/alg-5"
    claimed_by: ClassVar[tuple[str, ...]] = ("l1_geometry/thm-12",)
    readings: ClassVar = {"corrected": {"step": "corrected"}, "dialled": {"c_sigma": 4.0}}

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 < self.p <= 2:
            raise InvalidInput(f"Algorithm 5 needs 1 < p <= 2, got p = {self.p!r}")
        if self.step not in ("printed", "corrected"):
            raise InvalidInput(f"step must be 'printed' or 'corrected', got {self.step!r}")

    def exponent(self, problem: Problem) -> float:
        return self.p

    def scale(self, problem: Problem) -> float:
        return 1 / (self.p - 1)

    def norm(self) -> float:
        return self.p

    def squared_noise(self, problem: Problem, sigma: float) -> float:
        """4 d^(2/q) sigma^2 log d as printed (d >= 2); d sigma^2 at p = 2."""
        d, q = problem.constants.d, dual_exponent(self.p)
        if self.p == 2 and self.step == "corrected":
            return d * sigma**2
        return 4 * math.pow(d, 2 / q) * sigma**2 * math.log(d)
