"""Noisy regularised mirror descent on the whole of l_p, 1 < p < 2: Algorithm 3."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from dpcheck.algorithms.lp_spaces.regular import (
    BUDGETS,
    ExponentRule,
    KappaRule,
    check_p,
    generalised_gaussian,
    kappa,
    mirror_map,
    steepness,
)
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.geometry.norms import dual_exponent
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Read, Release, Schedule, Workload
from dpcheck.numerics import smallest_n
from dpcheck.privacy import ApproxDP
from dpcheck.running import Run


@dataclass(frozen=True, kw_only=True)
class FullDescent:
    """The one row of the plan.

    Attributes:
        steps: T.
        alpha: weight of the regulariser Phi.
        distance: weight of the Bregman term, beta or 2 beta.
        growth: a, whose powers weigh the iterates.
        sigma: scale of the generalised Gaussian noise.
        kappa: regularity constant that calibrates it.
    """

    records: int
    steps: int
    alpha: float
    distance: float
    growth: float
    sigma: float
    kappa: float


@dataclass(frozen=True)
class FullBatchMirrorDescent(Algorithm[FullDescent]):
    """Algorithm 3: full gradients with generalised Gaussian noise, a closed-form step, geometric weights.

    Attributes:
        p: exponent of the norm, 1 < p < 2.
        steps: T; None for the horizon rule.
        horizon: "paper" is (n eps kappa/sqrt(d log(1/delta)))^(2/5); "balanced" has sqrt kappa, "best" the T that the
            derived bound suggests, kappa^(1/4) (n eps/sqrt(d log(1/delta)))^(1/2).
        exponent: of the mirror map; the printed one exceeds 2 for p > 3/2, where Phi is not strongly convex.
        kappa_rule: which constant calibrates the noise.
        step: weight of the Bregman term: beta as printed, or 2 beta, which the printed weights belong to.
        noise_dial: multiplies the noise; anything but 1 is not private.
    """

    p: float = 1.5
    steps: int | None = None
    horizon: Literal["paper", "balanced", "best"] = "paper"
    exponent: ExponentRule = "paper"
    kappa_rule: KappaRule = "paper"
    step: Literal["beta", "two-beta"] = "beta"
    noise_dial: float = 1.0

    label = "lp_spaces/alg-3"
    budgets = BUDGETS
    readings: ClassVar = {
        "corrected": {"exponent": "corrected", "kappa_rule": "safe"},
        "two-beta": {"exponent": "corrected", "kappa_rule": "safe", "step": "two-beta"},
        "dialled": {"noise_dial": 0.01},
    }

    def length(self, problem: Problem, n: int) -> float:
        """T before rounding."""
        if self.steps is not None:
            return self.steps
        epsilon, delta = self.privacy_budget(problem)
        d = problem.constants.d
        regular = kappa(self.p, d, self.kappa_rule)
        scale = n * epsilon / math.sqrt(d * math.log(1 / delta))
        rules = {
            "paper": (scale * regular) ** 0.4,
            "balanced": (scale * math.sqrt(regular)) ** 0.4,
            "best": regular**0.25 * math.sqrt(scale),
        }
        if self.horizon not in rules:
            raise InvalidInput(f"horizon must be one of {', '.join(rules)}, got {self.horizon!r}")
        return float(rules[self.horizon])

    def schedule(self, problem: Problem, n: int) -> Schedule[FullDescent]:
        check_p(self.p, self.label)
        epsilon, delta = self.privacy_budget(problem)
        constants = problem.constants
        L, H = steepness(constants, self.p, self.label), constants.smoothness(self.p)
        if not (math.isfinite(H) and H > 0):
            raise InvalidInput(f"{self.label} needs smooth losses with a constant > 0, got {H!r}")
        mirror_map(self.p, constants.d, self.exponent)
        T = round(self.length(problem, n))
        if not 1 <= T <= n / 2:
            enough = smallest_n(lambda m: 1 <= round(self.length(problem, m)) <= m / 2)
            raise Infeasible(self.label, "1 <= T <= n/2 steps", f"T = {T} at n = {n}", enough)
        alpha = 4 * H / T * math.log2(n / T)
        regular = kappa(self.p, constants.d, self.kappa_rule)
        sigma = self.noise_dial * 8 * L * math.sqrt(regular * T * math.log(1 / delta)) / (n * epsilon)
        row = FullDescent(
            records=n,
            steps=T,
            alpha=alpha,
            distance=H if self.step == "beta" else 2 * H,
            growth=1 + alpha / (2 * H),
            sigma=sigma,
            kappa=regular,
        )
        release = Release(
            name="gradients",
            law=generalised_gaussian(sigma, self.p, constants.d),
            reads=(Read(start=0, stop=n, sensitivity=2 * L / n),),
            norm=dual_exponent(self.p),
            count=T,
        )
        return Schedule(
            phases=(row,),
            releases=(release,),
            gradients=n * T,
            floats_per_trial=(constants.rows(n) + 4) * constants.d,
            claimed=ApproxDP(epsilon, delta) if self.noise_dial == 1 else None,
            claimed_by=("lp_spaces/thm-6",),
        )

    def execute(self, run: Run[FullDescent], workload: Workload, data: Data, start: Array) -> Array:
        (row,) = run.schedule.phases
        mirror = mirror_map(self.p, workload.constants.d, self.exponent)
        sample = data.read()
        w = np.broadcast_to(start, (run.trials, workload.constants.d))
        average, weight = np.zeros_like(w), 0.0
        for _ in range(row.steps):
            gradient = sample.mean(workload.gradient(w[:, None, :], sample.values))
            noisy = run.release("gradients", gradient)
            w = mirror.inverse((row.distance * mirror.gradient(w) - noisy) / (row.distance + row.alpha))
            # In units of the newest weight: a^t itself would be as large as (n/T)^2.
            weight = 1 + weight / row.growth
            average = average + (w - average) / weight
        return average

    wants: ClassVar = {"minimiser_norm": "norm |θ*|_s of the minimiser, in the norm of the mirror map"}

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of `lp_spaces/thm-7@derived`, which speaks of the literal step with the corrected map."""
        c = problem.constants
        known = {"H": c.smoothness(self.p), "L": c.lipschitz(self.p)}
        if self.exponent != "corrected" or self.step != "beta":
            return known
        (row,) = self.schedule(problem, n).phases
        size = problem.constants.extra.get("minimiser_norm", math.nan)
        phi = mirror_map(self.p, problem.constants.d, self.exponent).scale / 2 * size**2
        return known | {"A": row.growth**row.steps, "alpha": row.alpha, "sigma": row.sigma, "C": phi}
