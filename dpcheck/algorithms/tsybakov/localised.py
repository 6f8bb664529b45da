"""Algorithm 3: localised noisy clipped gradient method, as printed and repaired."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpcheck.algorithms.tsybakov.clipped import Restricted, clipped_descent
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Algorithm, Array, Constants, Data, Problem, Read, Release, Schedule, Workload, procedure
from dpcheck.laws import Gaussian
from dpcheck.privacy import ApproxDP
from dpcheck.running import Run

MOST_STEPS = 10**8


@dataclass(frozen=True, kw_only=True)
class Phase:
    """Phase i: `steps` clipped steps on `records` fresh records, regularised by `weight`, then noise.

    Attributes:
        sigma: deviation of the noise on the output, or on each clipped mean when `per_step`.
        radius: D_i, of the ball around the start.
    """

    name: str
    start: int
    records: int
    eta: float
    weight: float
    steps: int
    level: float
    sigma: float
    radius: float
    per_step: bool

    def release(self) -> Release:
        """What leaves the phase, with its claimed sensitivity."""
        far = 2 * self.level / self.records
        moved, count = (far, self.steps) if self.per_step else (far / self.weight, 1)
        read = Read(start=self.start, stop=self.start + self.records, sensitivity=moved)
        return Release(name=self.name, law=Gaussian(self.sigma), reads=(read,), count=count)


def budget(problem: Problem, label: str) -> tuple[float, float]:
    """(epsilon, delta) with delta > 0. Raises `InvalidInput` for another promise."""
    promise = problem.privacy
    if not (isinstance(promise, ApproxDP) and promise.delta > 0):
        raise InvalidInput(f"{label} needs (epsilon, delta)-DP with delta > 0, got {promise}")
    return promise.epsilon, promise.delta


def averaged_moment(constants: Constants, order: float, n: int) -> float:
    """R_{order,n}: root of sum over i <= log2 n of 2^-i r_{order, n/2^i}^2."""
    halvings = round(math.log2(n))
    return math.sqrt(sum(2.0**-i * constants.moment(order, n // 2**i) ** 2 for i in range(1, halvings + 1)))


@dataclass(frozen=True)
class LocalisedClipped(Algorithm[Phase]):
    """Algorithm 3 on n = 2^l records.

    Attributes:
        p: exponent of n_i in the weights, at least 1.
        k: the moment of order 2k sets the clip levels.
        first_exponent: of the first weight: "printed" 2p, which empties the domain of phase 2, or "corrected" p.
        step_caps: "printed" or "corrected" step size.
        project: outputs onto the domain, which is free.
        noise: "output" as printed, private where clipped steps contract; "steps" on each clipped mean, private for
            every loss; "trivial" on the output at 2C/λ, private for every loss.
        eta: η itself in place of the formula.
        diameter: D; None for the diameter of the domain.
        noise_dial: multiplies the noise; less than 1 is not private.
    """

    p: float = 1.0
    k: float = 2.0
    first_exponent: Literal["printed", "corrected"] = "printed"
    step_caps: Literal["printed", "corrected"] = "printed"
    project: bool = False
    noise: Literal["output", "steps", "trivial"] = "output"
    eta: float | None = None
    diameter: float | None = None
    noise_dial: float = 1.0

    label = "tsybakov/alg-3"
    readings: ClassVar = {
        "literal": {},
        "corrected": {"first_exponent": "corrected", "step_caps": "corrected", "project": True},
        "private": {"first_exponent": "corrected", "step_caps": "corrected", "project": True, "noise": "steps"},
        "trivial": {"first_exponent": "corrected", "step_caps": "corrected", "project": True, "noise": "trivial"},
        "dialled": {"first_exponent": "corrected", "step_caps": "corrected", "project": True, "noise_dial": 0.05},
    }

    def __post_init__(self) -> None:
        if not (self.p >= 1 and self.k >= 2 and self.noise_dial > 0):
            raise InvalidInput(f"needs p >= 1, k >= 2 and noise_dial > 0, got {self.p}, {self.k}, {self.noise_dial}")
        for name, allowed in (
            ("first_exponent", ("printed", "corrected")),
            ("step_caps", ("printed", "corrected")),
            ("noise", ("output", "steps", "trivial")),
        ):
            if getattr(self, name) not in allowed:
                raise InvalidInput(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")

    # Plan

    def private_term(self, problem: Problem, n: int) -> float:
        """τ_p = (√(d log(1/δ) log n)/(εn))^((k-1)/k)."""
        epsilon, delta = budget(problem, self.label)
        per_record = math.sqrt(problem.constants.d * math.log(1 / delta) * math.log(n)) / (epsilon * n)
        return float(per_record ** ((self.k - 1) / self.k))

    def width(self, problem: Problem) -> float:
        """D."""
        return problem.constants.diameter(2.0) if self.diameter is None else self.diameter

    def step(self, problem: Problem, n: int) -> float:
        """η; the corrected one is also at most 4/α, so that every phase has η_i <= 1/α."""
        if self.eta is not None:
            return self.eta
        c, p, private = problem.constants, self.p, self.private_term(problem, n)
        L, R = c.lipschitz(2.0), averaged_moment(c, 2 * self.k, n)
        if self.step_caps == "printed":
            tail = math.sqrt(math.log(n) * math.log(1 / problem.failure_probability))
            caps = (1 / L, 1 / (R * n ** ((p + 1) / 2) * private), 1 / (n ** ((p - 1) / 2) * L**2 * tail))
        else:
            caps = (1 / L, 1 / (R * n ** (p / 2) * private), 1 / (R * n ** ((p - 1) / 2)))
        eta = self.width(problem) * n ** (-p / 2) * min(caps)
        smooth = c.smoothness(2.0)
        return float(min(eta, 4 / smooth)) if self.step_caps == "corrected" and smooth > 0 else float(eta)

    def phases(self, problem: Problem, n: int) -> tuple[Phase, ...]:
        """All log2 n phases, legal or not."""
        epsilon, delta = budget(problem, self.label)
        c, eta, start = problem.constants, self.step(problem, n), 0
        logs, phases = math.log(1 / delta), []
        for i in range(1, round(math.log2(n)) + 1):
            records, step = n >> i, eta / 4**i
            double = i == 1 and self.first_exponent == "printed"
            inverse = records ** (2 * self.p if double else self.p)
            weight, steps = 1 / (step * inverse), math.ceil(2 * inverse * math.log(4 * inverse))
            share = epsilon * records / math.sqrt(c.d * logs * math.log(n))
            level = c.moment(2 * self.k, records) * share ** (1 / self.k)
            sigma = 8 * level * math.sqrt(logs) / epsilon
            if self.noise == "steps":
                sigma *= math.sqrt(steps) / records
            else:
                sigma /= weight * (records if self.noise == "output" else 1)
            phases.append(
                Phase(
                    name=f"phase {i}",
                    start=start,
                    records=records,
                    eta=step,
                    weight=weight,
                    steps=steps,
                    level=level,
                    sigma=self.noise_dial * sigma,
                    radius=2 * c.lipschitz(2.0) / weight,
                    per_step=self.noise == "steps",
                )
            )
            start += records
        return tuple(phases)

    def schedule(self, problem: Problem, n: int) -> Schedule[Phase]:
        epsilon, delta = budget(problem, self.label)
        if n < 2 or n & (n - 1):
            more = 1 << max(1, n.bit_length())
            raise Infeasible(self.label, "a power of two, at least 2, as number of records", f"n = {n}", more)
        if epsilon > math.sqrt(math.log(1 / delta)):
            got = f"epsilon = {epsilon:g} at delta = {delta:g}"
            raise Infeasible(self.label, f"epsilon <= sqrt(log(1/delta)) = {math.sqrt(math.log(1 / delta)):.4g}", got)
        phases = self.phases(problem, n)
        self._check_domain(problem, n, phases)
        smooth = problem.constants.smoothness(2.0)
        if smooth * phases[0].eta > 1 + 1e-9:
            raise Infeasible(self.label, f"steps of at most 1/alpha = {1 / smooth:.4g}", f"eta_1 = {phases[0].eta:.4g}")
        rows = problem.constants.rows(phases[0].records)
        return Schedule(
            phases=phases,
            releases=tuple(phase.release() for phase in phases),
            gradients=sum(phase.records * phase.steps for phase in phases),
            floats_per_trial=(2 * rows + 6) * problem.constants.d,
            claimed=ApproxDP(epsilon, delta) if self.noise_dial >= 1 else None,
        )

    def _check_domain(self, problem: Problem, n: int, phases: tuple[Phase, ...]) -> None:
        """As printed, the first noise leaves no point of W within D_2 of the output."""
        if self.project or self.noise == "steps" or len(phases) < 2:
            return
        D = self.width(problem)
        noise, near = math.sqrt(problem.constants.d) * phases[0].sigma / D, phases[1].radius / D
        if noise > 1 + near:
            raise Infeasible(
                self.label,
                "a first noise below the diameter D, else W_2 = {w in W: |w - w_1| <= D_2} is empty in most runs",
                f"sqrt(d) sigma_1/D = {noise:.3g} with D_2/D = {near:.3g} at n = {n:,}",
            )

    # Run

    def execute(self, run: Run[Phase], workload: Workload, data: Data, start: Array) -> Array:
        w = np.broadcast_to(start, (run.trials, start.shape[-1]))
        for phase in run.schedule.phases:
            if phase.steps > MOST_STEPS:
                raise InvalidInput(f"{phase.name} takes {phase.steps:,} steps; the most that is run is {MOST_STEPS:,}")
            sample = data.part(phase.start, phase.start + phase.records).read()
            answer = functools.partial(run.release, phase.name) if phase.per_step else None
            # From a start in W the ball of radius D_i is never left: steps reach min(C_i, L)/λ_i at most.
            inside = workload if self.project or phase.per_step else Restricted(workload, w, phase.radius)
            w = clipped_descent(
                workload,
                sample,
                w,
                steps=phase.steps,
                eta=phase.eta,
                level=phase.level,
                weight=phase.weight,
                project=inside.project,
                answer=answer,
            )
            if not phase.per_step:
                w = run.release(phase.name, w)
                w = workload.project(w) if self.project else w
        return w


@procedure("tsybakov/proc-lnc-gm-fixed")
def corrected(
    p: float = 1.0, k: float = 2.0, noise: Literal["output", "steps", "trivial"] = "output"
) -> LocalisedClipped:
    """Algorithm 3 with exponent p in every phase, corrected step and projected outputs."""
    return LocalisedClipped(p=p, k=k, first_exponent="corrected", step_caps="corrected", project=True, noise=noise)
