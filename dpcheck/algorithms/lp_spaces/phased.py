"""Phased private SGD without projection: the algorithm behind Theorem 8, p >= 2."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms.lp_spaces.regular import BUDGETS, steepness
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Read, Release, Sample, Schedule, Workload
from dpcheck.laws import Gaussian
from dpcheck.privacy import ApproxDP
from dpcheck.running import Run


@dataclass(frozen=True, kw_only=True)
class Pass:
    """One phase: a pass over [start, start + records) with step eta, then Gaussian noise of deviation sigma."""

    name: str
    start: int
    records: int
    eta: float
    sigma: float


@dataclass(frozen=True)
class HalvingPhasedSGD(Algorithm[Pass]):
    """Phase i averages the iterates of one pass over n/2^i fresh records with step eta/4^i and adds noise.

    Attributes:
        scale: c, in units of distance over L; its best value is about |theta*|/8 when the noise matters.
        noise_dial: multiplies the noise; anything but 1 is not private.
    """

    scale: float = 1.0  # the same: c is given, no statement names one
    noise_dial: float = 1.0

    label = "lp_spaces/proc-phased-sgd"
    budgets = BUDGETS
    readings: ClassVar = {"dialled": {"noise_dial": 0.01}}

    def schedule(self, problem: Problem, n: int) -> Schedule[Pass]:
        epsilon, delta = self.privacy_budget(problem)
        if n < 4:
            raise Infeasible(self.label, "at least 4 records", f"{n}", 4)
        if not (self.scale > 0 and math.isfinite(self.scale)):
            raise InvalidInput(f"scale must be a finite number > 0, got {self.scale!r}")
        constants = problem.constants
        L, H = steepness(constants, 2.0, self.label), constants.smoothness(2.0)
        private = epsilon / math.sqrt(constants.d * math.log(1 / delta))
        eta = self.scale / L * min(1 / math.sqrt(n), private)
        if H * eta / 4 > 2:
            raise InvalidInput(
                f"{self.label} needs steps of at most 2/H = {2 / H:g} (else a pass is no contraction), got "
                f"{eta / 4:g}; lower `scale`"
            )
        phases, releases, start = [], [], 0
        for i in range(1, math.floor(math.log2(n)) + 1):
            records, step = n // 2**i, eta / 4**i
            sigma = self.noise_dial * 4 * L * step * math.sqrt(math.log(1 / delta)) / epsilon
            phases.append(Pass(name=f"phase {i}", start=start, records=records, eta=step, sigma=sigma))
            read = Read(start=start, stop=start + records, sensitivity=2 * L * step)
            releases.append(Release(name=f"phase {i}", law=Gaussian(sigma), reads=(read,)))
            start += records
        return Schedule(
            phases=tuple(phases),
            releases=tuple(releases),
            gradients=start,
            floats_per_trial=(phases[0].records + 4) * constants.d,
            claimed=ApproxDP(epsilon, delta) if self.noise_dial == 1 else None,
        )

    def execute(self, run: Run[Pass], workload: Workload, data: Data, start: Array) -> Array:
        w = np.broadcast_to(start, (run.trials, workload.constants.d))
        for phase in run.schedule.phases:
            sample = data.part(phase.start, phase.start + phase.records).read()
            values = rows_in_order(run, sample)
            average = np.zeros_like(w)
            for t in range(phase.records):
                average = average + (w - average) / (t + 1)
                w = w - phase.eta * workload.gradient(w, values[:, t])
            w = run.release(phase.name, average)
        return w

    wants: ClassVar = {"minimiser_norm": "Euclidean norm |θ*|_2 of the minimiser"}

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Symbols of `lp_spaces/thm-8@corrected`, and the number of phases."""
        size = problem.constants.extra.get("minimiser_norm", math.nan)
        return {"c": self.scale / problem.constants.lipschitz(2.0), "theta": size, "l": math.floor(math.log2(n))}


def rows_in_order(run: Run[Any], sample: Sample) -> Array:
    """Raw rows of a sample, (trials or 1, n, *record); counts of atoms are written out in a uniform order, a coin."""
    values, weights = sample.values, sample.weights
    if np.all(weights == 1):
        return values
    trials = run.trials
    counts = np.broadcast_to(weights, (trials, weights.shape[1])).astype(int)
    atoms = np.broadcast_to(values, (trials, *values.shape[1:]))
    rows = np.stack([np.repeat(one, count, axis=0) for one, count in zip(atoms, counts, strict=True)])
    order = run.coins(lambda rng: np.argsort(rng.random(rows.shape[:2]), axis=1))
    return np.take_along_axis(rows, order.reshape(*order.shape, *[1] * (rows.ndim - 2)), axis=1)
