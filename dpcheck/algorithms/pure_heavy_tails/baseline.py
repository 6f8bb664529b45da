"""Noisy clipped subgradient descent under pure DP: the baseline that pays for its steps by basic composition."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpcheck.algorithms.pure_heavy_tails.erm import PrivateErm, isotropic_laplace, moment
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.geometry.norms import clip_norm
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Read, Release, Schedule, Workload
from dpcheck.privacy import PureDP
from dpcheck.running import Run


@dataclass(frozen=True, kw_only=True)
class FullBatchSteps:
    """T full-batch steps of size eta on gradients clipped at C, each with isotropic Laplace noise of scale `noise`."""

    T: int
    C: float
    eta: float
    noise: float


@dataclass(frozen=True)
class NoisyClippedSubgradient(Algorithm[FullBatchSteps]):
    """Projected subgradient descent on clipped gradients; every step spends epsilon/T. Returns the mean iterate.

    Attributes:
        k: order of the moment bound that sets the clip level.
        T: steps; None for n epsilon/d, which balances the length of the path against the noise.
        C: clip level; None for G_k (n epsilon/d)^(1/(2k)), which balances the bias of clipping against both.
        noise_dial: multiplies all noise; anything but 1 is not private.
    """

    k: float = PrivateErm.k
    T: int | None = None
    C: float | None = None
    noise_dial: float = PrivateErm.noise_dial

    label = "pure_heavy_tails/proc-noisy-subgradient"
    readings: ClassVar = {"dialled": {"noise_dial": 0.01}}

    def __post_init__(self) -> None:
        for name in ("T", "C", "noise_dial"):
            given = getattr(self, name)
            if given is not None and not (given > 0 and math.isfinite(given)):
                raise InvalidInput(f"{name} must be a finite number > 0, got {given}")
        if not self.k >= 2:
            raise InvalidInput(f"the order k of the moment bound must be >= 2, got {self.k}")

    def schedule(self, problem: Problem, n: int) -> Schedule[FullBatchSteps]:
        (epsilon, _), constants = self.privacy_budget(problem), problem.constants
        if n < 1:
            raise Infeasible(self.label, "at least one record", f"{n}", 1)
        d, share = constants.d, n * epsilon / constants.d
        T = max(1, round(share)) if self.T is None else int(self.T)
        C = self.C or moment(constants, self.k, self.label) * share ** (1 / (2 * self.k))
        sensitivity = 2 * C / n
        noise = self.noise_dial * sensitivity * T / epsilon
        # E |b|^2 of the isotropic noise is d (d + 1) scale^2.
        length = math.sqrt(C**2 + d * (d + 1) * noise**2)
        steps = FullBatchSteps(T=T, C=C, eta=constants.diameter(2.0) / (length * math.sqrt(T)), noise=noise)
        reads = (Read(start=0, stop=n, sensitivity=sensitivity),)
        return Schedule(
            phases=(steps,),
            releases=(Release(name="gradient", law=isotropic_laplace(noise), reads=reads, count=T),),
            gradients=T * n,
            floats_per_trial=3 * constants.rows(n) * d,
            claimed=PureDP(epsilon) if self.noise_dial == 1 else None,
        )

    def execute(self, run: Run[FullBatchSteps], workload: Workload, data: Data, start: Array) -> Array:
        (steps,) = run.schedule.phases
        sample = data.read()
        w = np.broadcast_to(start, (run.trials, start.shape[-1]))
        total = np.zeros_like(w)
        for _ in range(steps.T):
            clipped = clip_norm(workload.gradient(w[:, None], sample.values), steps.C)
            w = workload.project(w - steps.eta * run.release("gradient", sample.mean(clipped)))
            total = total + w
        return np.asarray(total / steps.T)
