"""Algorithm 3: localised noisy clipped gradient method, as printed and repaired."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dpcheck.algorithms.tsybakov.clipped import Answer, Project, Restricted, clipped_descent, limit_point
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import (
    Algorithm,
    Array,
    BudgetRange,
    Constants,
    Data,
    Problem,
    Read,
    Release,
    Sample,
    Schedule,
    Workload,
    procedure,
)
from dpcheck.laws import Gaussian
from dpcheck.privacy import ApproxDP
from dpcheck.running import Run

BUDGETS = BudgetRange(delta_below=1.0)  # the same: no guarantee has a delta of 1 or more
MOST_STEPS = 100_000_000  # the same: a run of half as many takes hours
NEAR_LIMITS = 1e-3  # the same: doubled, it is what is promised
"""Of the claimed movement, halved: how far from where its steps lead a phase may be taken."""
ROUNDED = 1.000000001
"""Of what is compared with a condition that it may fulfil with equality."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """Phase i: `steps` clipped steps on `records` fresh records, regularised by `weight`, then noise.

    Attributes:
        sigma: deviation of the noise on the output, or on each clipped mean when `per_step`.
        sensitivity: claimed, of what that noise hides.
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
    sensitivity: float
    radius: float
    per_step: bool

    def release(self, rests_on: tuple[str, ...]) -> Release:
        """What leaves the phase, with its claimed sensitivity."""
        read = Read(start=self.start, stop=self.start + self.records, sensitivity=self.sensitivity)
        count = self.steps if self.per_step else 1
        return Release(name=self.name, law=Gaussian(self.sigma), reads=(read,), count=count, rests_on=rests_on)


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
        project: outputs onto the domain, which is free; with noise on each step they are in it.
        noise: "output" as printed, private where clipped steps contract; "steps" on each clipped mean, private for
            every loss; "trivial" on the output at 2C/λ, private for every loss; "smallest" on the output at
            (1 + 1/n_i)C/(λ(1 − ηλ/2)), private for every convex loss.
        weights: "printed" λ_i = 1/(η_i n_i^p); or "geometric", λ_i = 8^i (R/D)(n^(-1/2) + 10 τ_p), with n log2 n
            steps of size 1/(n λ_i) (`tsybakov/thm-1@every-loss`).
        eta: η itself in place of the formula.
        lipschitz: "checked": L_f <= n^(p/2) R τ(n), which Theorem 1 assumes; or "ignored".
        diameter: D; None for the diameter of the domain.
        noise_dial: multiplies the noise; less than 1 is not private.
        solver: "descent" takes the printed steps; "limit" goes where they lead, which is closer than a thousandth of
            the claimed movement. Only for losses with monotone clipped gradients, and not with noise on each step.
        largest_epsilon: "printed" √log(1/δ), or "proved" 20.69 log(1/δ), up to which this noise does.
    """

    p: float = 1.0
    k: float = 2.0
    first_exponent: Literal["printed", "corrected"] = "printed"
    step_caps: Literal["printed", "corrected"] = "printed"
    project: bool = False
    noise: Literal["output", "steps", "trivial", "smallest"] = "output"
    weights: Literal["printed", "geometric"] = "printed"
    eta: float | None = None
    lipschitz: Literal["checked", "ignored"] = "checked"
    diameter: float | None = None
    noise_dial: float = 1.0
    solver: Literal["descent", "limit"] = "descent"
    largest_epsilon: Literal["printed", "proved"] = "printed"

    label = "tsybakov/alg-3"
    budgets = BUDGETS
    readings: ClassVar = {
        "literal": {},
        "corrected": {"first_exponent": "corrected", "step_caps": "corrected", "project": True},
        "private": {"first_exponent": "corrected", "step_caps": "corrected", "noise": "steps"},
        "trivial": {"first_exponent": "corrected", "step_caps": "corrected", "project": True, "noise": "trivial"},
        "smallest": {"first_exponent": "corrected", "step_caps": "corrected", "project": True, "noise": "smallest"},
        "every-loss": {"noise": "steps", "weights": "geometric", "lipschitz": "ignored"},
        "dialled": {"first_exponent": "corrected", "step_caps": "corrected", "project": True, "noise_dial": 0.05},
    }

    def __post_init__(self) -> None:
        if not (self.p >= 1 and self.k >= 2 and self.noise_dial > 0):
            raise InvalidInput(f"needs p >= 1, k >= 2 and noise_dial > 0, got {self.p}, {self.k}, {self.noise_dial}")
        for name, allowed in (
            ("first_exponent", ("printed", "corrected")),
            ("step_caps", ("printed", "corrected")),
            ("noise", ("output", "steps", "trivial", "smallest")),
            ("weights", ("printed", "geometric")),
            ("lipschitz", ("checked", "ignored")),
            ("solver", ("descent", "limit")),
            ("largest_epsilon", ("printed", "proved")),
        ):
            if getattr(self, name) not in allowed:
                raise InvalidInput(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")
        if self.solver == "limit" and self.noise == "steps":
            raise InvalidInput("noise on each step needs the steps; take solver='descent'")

    # Plan

    def rests_on(self, constants: Constants) -> tuple[str, ...]:
        """What the sensitivity of the output needs beyond `tsybakov/thm-1@glm`: that clipped steps contract."""
        proved = self.noise != "output" or constants.clips_monotonically
        return () if proved else ("tsybakov/rem-2",)

    def promised(self, problem: Problem) -> ApproxDP | None:
        """The budget; None where noise is dialled down, or where a repaired reading is not private after all."""
        as_printed = (self.first_exponent, self.step_caps, self.project) == ("printed", "printed", False)
        if self.noise_dial < 1 or (self.rests_on(problem.constants) and not as_printed):
            return None
        return ApproxDP(*self.privacy_budget(problem))

    def private_term(self, problem: Problem, n: int) -> float:
        """τ_p = (√(d log(1/δ) log n)/(εn))^((k-1)/k)."""
        epsilon, delta = self.privacy_budget(problem)
        per_record = math.sqrt(problem.constants.d * math.log(1 / delta) * math.log(n)) / (epsilon * n)
        return float(per_record ** ((self.k - 1) / self.k))

    def largest_lipschitz(self, problem: Problem, n: int) -> float:
        """n^(p/2) R_{2k,n} (n^(-1/2) + τ_p): Theorem 1 assumes that L_f is not larger."""
        moment = averaged_moment(problem.constants, 2 * self.k, n)
        return float(n ** (self.p / 2) * moment * (n**-0.5 + self.private_term(problem, n)))

    def check_lipschitz(self, problem: Problem, n: int) -> None:
        """Raises `Infeasible`, with the exponent p that would do, when L_f is too large for Theorem 1."""
        L, most = problem.constants.lipschitz(2.0), self.largest_lipschitz(problem, n)
        allowed = most * ROUNDED  # the same: but for a billionth
        if self.lipschitz == "ignored" or allowed >= L:
            return
        advice = "no p is enough" if math.isinf(L) else f"p >= {self.p + 2 * math.log(L / most, n):.3g} is enough"
        needed = f"L_f <= n^(p/2) R (n^(-1/2) + tau_p) = {most:.4g} at n = {n:,}, p = {self.p:g}"
        raise Infeasible(self.label, needed, f"L_f = {L:.4g}", advice=advice)

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

    def first_weight(self, problem: Problem, n: int) -> float:
        """λ of the geometric weights 8^i λ."""
        error = n**-0.5 + 10 * self.private_term(problem, n)
        return float(averaged_moment(problem.constants, 2 * self.k, n) / self.width(problem) * error)

    def phases(self, problem: Problem, n: int) -> tuple[Phase, ...]:
        """All log2 n phases, legal or not."""
        epsilon, delta = self.privacy_budget(problem)
        c, start = problem.constants, 0
        eta = 1.0  # the same: geometric weights bring their own step
        if self.weights == "printed":
            eta = self.step(problem, n)
        logs, phases = math.log(1 / delta), list[Phase]()
        for i in range(1, round(math.log2(n)) + 1):
            records, step = n >> i, eta / 4**i
            double = i == 1 and self.first_exponent == "printed"
            inverse = records ** (2 * self.p if double else self.p)
            weight, steps = 1 / (step * inverse), math.ceil(2 * inverse * math.log(4 * inverse))
            if self.weights == "geometric":
                weight = 8 * (phases[-1].weight if phases else self.first_weight(problem, n))
                step, steps = 1 / (n * weight), n * round(math.log2(n))
            share = epsilon * records / math.sqrt(c.d * logs * math.log(n))
            level = c.moment(2 * self.k, records) * share ** (1 / self.k)
            # Of one step, of the output where steps contract, and of the output whatever the batch.
            moved = (
                level
                * {
                    "steps": 2 / records,
                    "output": 2 / (records * weight),
                    "trivial": 2 / weight,
                    "smallest": (1 + 1 / records) / (weight * (1 - step * weight / 2)),
                }[self.noise]
            )
            sigma = 4 * moved * math.sqrt(logs) / epsilon * (math.sqrt(steps) if self.noise == "steps" else 1)
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
                    sensitivity=moved,
                    radius=2 * c.lipschitz(2.0) / weight,
                    per_step=self.noise == "steps",
                )
            )
            start += records
        return tuple(phases)

    def schedule(self, problem: Problem, n: int) -> Schedule[Phase]:
        epsilon, delta = self.privacy_budget(problem)
        if n < 2 or n & (n - 1):
            more = 1 << max(1, n.bit_length())
            raise Infeasible(self.label, "a power of two, at least 2, as number of records", f"n = {n}", more)
        printed, logs = self.largest_epsilon == "printed", math.log(1 / delta)
        most = math.sqrt(logs) if printed else (32 - 2 * math.sqrt(32)) * logs
        if epsilon > most:
            what = "sqrt(log(1/delta))" if printed else "20.69 log(1/delta)"
            got = f"epsilon = {epsilon:g} at delta = {delta:g}"
            raise Infeasible(self.label, f"epsilon <= {what} = {most:.4g}", got)
        self.check_lipschitz(problem, n)
        phases = self.phases(problem, n)
        self._check_domain(problem, n, phases)
        smooth = problem.constants.smoothness(2.0)
        if self.weights == "printed" and smooth * phases[0].eta > ROUNDED:
            raise Infeasible(self.label, f"steps of at most 1/alpha = {1 / smooth:.4g}", f"eta_1 = {phases[0].eta:.4g}")
        rows = problem.constants.rows(phases[0].records)
        return Schedule(
            phases=phases,
            releases=tuple(phase.release(self.rests_on(problem.constants)) for phase in phases),
            gradients=sum(phase.records * phase.steps for phase in phases),
            floats_per_trial=(2 * rows + 6) * problem.constants.d,
            claimed=self.promised(problem),
            claimed_by=("tsybakov/thm-1",),
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

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of the settings, and of `tsybakov/thm-1@summed` where it holds, which see for what it needs."""
        c, halvings = problem.constants, n.bit_length() - 1
        by_name: dict[str, Any] = {
            "R_2k": averaged_moment(c, 2 * self.k, max(n, 2)),
            "r_2k[i]": [c.moment(2 * self.k, n >> i) for i in range(1, halvings + 1)],
            "l": halvings,
        }
        if c.d > 1 or not self.project or self.noise == "steps":
            return by_name
        rows = self.phases(problem, n)
        return by_name | {
            "D": self.width(problem),
            "k": self.k,
            "r_2k": c.moment(2 * self.k, 1),
            "n[i]": [row.records for row in rows],
            "lambda[i]": [row.weight for row in rows],
            "C[i]": [row.level for row in rows],
            "eta[i]": [row.eta for row in rows],
            "sigma[i]": [row.sigma for row in rows],
            "D[i]": [row.radius for row in rows],
        }

    # Run

    def descend(
        self, phase: Phase, workload: Workload, sample: Sample, start: Array, project: Project, answer: Answer | None
    ) -> Array:
        """Algorithm 2 with the numbers of a phase, or its limit: (trials, d)."""
        if self.solver == "limit":
            # The printed steps end within (η_iλ_i/4)² D_i of it.
            gap = NEAR_LIMITS * phase.level / (phase.records * phase.weight)
            return limit_point(
                workload, sample, start, level=phase.level, weight=phase.weight, gap=gap, project=project
            )
        return clipped_descent(
            workload,
            sample,
            start,
            steps=phase.steps,
            eta=phase.eta,
            level=phase.level,
            weight=phase.weight,
            project=project,
            answer=answer,
        )

    def execute(self, run: Run[Phase], workload: Workload, data: Data, start: Array) -> Array:
        w = np.broadcast_to(start, (run.trials, start.shape[-1]))
        for phase in run.schedule.phases:
            if phase.steps > MOST_STEPS and self.solver == "descent":
                raise InvalidInput(f"{phase.name} takes {phase.steps:,} steps; the most that is run is {MOST_STEPS:,}")
            sample = data.part(phase.start, phase.start + phase.records).read()
            answer = functools.partial(run.release, phase.name) if phase.per_step else None
            # From a start in W the ball of radius D_i is never left: steps reach min(C_i, L)/λ_i at most.
            inside = workload if self.project or phase.per_step else Restricted(workload, w, phase.radius)
            w = self.descend(phase, workload, sample, w, inside.project, answer)
            if not phase.per_step:
                w = run.release(phase.name, w)
                w = workload.project(w) if self.project else w
        return w


@procedure("tsybakov/proc-lnc-gm-fixed")
def corrected(**fields: Any) -> LocalisedClipped:
    """Algorithm 3 with exponent p in every phase, corrected step and projected outputs."""
    return LocalisedClipped(**{**LocalisedClipped.readings["corrected"], **fields})
