"""Algorithms 4 and 5: Algorithm 3 on shrinking balls, and on parts of doubling size."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from dpcheck.algorithms.tsybakov.clipped import Restricted
from dpcheck.algorithms.tsybakov.localised import BUDGETS, LocalisedClipped, Phase, averaged_moment
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Algorithm, Array, Data, Problem, Schedule, Workload
from dpcheck.numerics import smallest_n
from dpcheck.running import Run


@dataclass(frozen=True, kw_only=True)
class Epoch:
    """One call: its records, the radius R_{e-1} that the step (and the domain, when restricted) uses, and its plan."""

    name: str
    start: int
    records: int
    radius: float
    inner: Schedule[Any]


@dataclass(frozen=True, kw_only=True)
class LocalisedCall(Epoch):
    """A call of Algorithm 3 with its step: γ_e of Algorithm 4, η_t of Algorithm 5."""

    step: float


ROUNDING = 1e-9  # the same: whole numbers are met to rounding, and others missed by far
"""Of a number of calls that may be whole."""


def doubling_parts(n: int, theta_bar: float, exponent: float) -> list[int]:
    """floor(2^(i-1) n/(log2 n)^exponent) for i <= log_theta_bar(2) log2 log2 n; empty when there is no part."""
    if n < 4:
        return []
    log_n = math.log2(n)
    parts = math.floor(math.log(2, theta_bar) * math.log2(log_n) + ROUNDING)
    return [math.floor(2 ** (i - 1) * n / log_n**exponent) for i in range(1, parts + 1)]


def equal_parts(label: str, n: int, calls: int | None = None) -> list[int]:
    """So many parts of as many records each, floor(log2(2n/log2 n)/2) - 1 by default. Raises `Infeasible`."""
    m = calls if calls is not None else math.floor(0.5 * math.log2(2 * n / math.log2(n))) - 1 if n >= 2 else 0
    if m < 1 or n < m:
        least = 44 if calls is None else calls
        raise Infeasible(label, "at least one part, of one record", f"{m} parts of n = {n}", least)
    return [n // m] * m


def part_exponent(theta_bar: float, rule: Literal["printed", "proof"]) -> float:
    """(log_theta_bar 2)^2 as printed, or log_theta_bar 2 as in the proof."""
    proof = math.log(2, theta_bar)
    return proof**2 if rule == "printed" else proof


@dataclass(frozen=True)
class Calls(Algorithm[LocalisedCall]):
    """What Algorithms 4 and 5 share: calls of Algorithm 3 on disjoint parts, radius halved after each.

    Attributes:
        p, k, first_exponent, project, noise, lipschitz, noise_dial: of Algorithm 3; the Lipschitz condition is that of
            Theorems 2 and 3, at all n records.
        step_caps: "printed" in line 3: R_{2k,n} and log n of all n records, no log(1/δ), and β as it is; "corrected",
            the step of the corrected Algorithm 3 at the records of the call, which has no β.
        weights: of Algorithm 3; with "geometric" ones a call is on the whole domain, its D the radius of the call
            (`tsybakov/thm-2@every-loss`).
        radius: R_0; None for the diameter of the domain.
    """

    p: float = LocalisedClipped.p
    k: float = LocalisedClipped.k
    first_exponent: Literal["printed", "corrected"] = "printed"
    step_caps: Literal["printed", "corrected"] = "printed"
    project: bool = LocalisedClipped.project
    noise: Literal["output", "steps", "trivial"] = "output"
    weights: Literal["printed", "geometric"] = "printed"
    lipschitz: Literal["checked", "ignored"] = "checked"
    radius: float | None = None
    noise_dial: float = LocalisedClipped.noise_dial
    solver: Literal["descent", "limit"] = "descent"
    largest_epsilon: Literal["printed", "proved"] = "printed"

    budgets = BUDGETS
    restricted: ClassVar[bool] = False
    claimed_by: ClassVar[tuple[str, ...]] = ()
    readings: ClassVar = {
        name: LocalisedClipped.readings[name]
        for name in ("literal", "corrected", "private", "smallest", "every-loss", "dialled")
    }

    @property
    def on_balls(self) -> bool:
        """Whether a call is restricted to the ball of its radius around its start."""
        return self.restricted and self.weights == "printed"

    @abc.abstractmethod
    def parts(self, n: int) -> list[int]:
        """Sizes of the parts, powers of two. Raises `Infeasible`."""

    def call(self, radius: float) -> LocalisedClipped:
        """Algorithm 3 at R_{e-1} = radius; the ball of a restricted call has diameter 2R."""
        return LocalisedClipped(
            p=self.p,
            k=self.k,
            first_exponent=self.first_exponent,
            step_caps=self.step_caps,
            project=self.project,
            noise=self.noise,
            weights=self.weights,
            lipschitz="ignored",
            diameter=2 * radius if self.on_balls else radius,
            noise_dial=self.noise_dial,
            solver=self.solver,
            largest_epsilon=self.largest_epsilon,
        )

    def printed_step(self, problem: Problem, n: int, records: int, radius: float) -> float:
        """γ_e of line 3 of Algorithm 4, which is η_t of line 3 of Algorithm 5 with n_t for the n_0 in front."""
        epsilon, _ = self.privacy_budget(problem)
        c, p, m = problem.constants, self.p, float(records)
        L, R = c.lipschitz(2.0), averaged_moment(c, 2 * self.k, 1 << (n.bit_length() - 1))
        private = (epsilon * m / math.sqrt(c.d * math.log(n))) ** ((self.k - 1) / self.k)
        tail = math.sqrt(math.log(m) * math.log(1 / problem.failure_probability))
        caps = (1 / L, private / (R * m ** ((p + 1) / 2)), 1 / (m ** ((p - 1) / 2) * L**2 * tail))
        return float(radius / m ** (p / 2) * min(caps))

    def schedule(self, problem: Problem, n: int) -> Schedule[LocalisedCall]:
        self.privacy_budget(problem)
        sizes = self.parts(n)
        width = 1.0  # the same: neither the condition nor the promise has a width
        if self.lipschitz == "checked":
            # Theorems 2 and 3 state the condition of Theorem 1 at n, and use it at the sizes of the parts.
            replace(self.call(width), lipschitz="checked").check_lipschitz(problem, n)
        radius = problem.constants.diameter(2.0) if self.radius is None else self.radius
        epochs, start = [], 0
        for e, size in enumerate(sizes, 1):
            call, printed = self.call(radius), self.step_caps == "printed"
            if self.weights == "geometric":
                inner = call.schedule(problem, size)
                step = inner.phases[0].eta
            else:
                step = self.printed_step(problem, n, size, radius) if printed else call.step(problem, size)
                inner = replace(call, eta=step).schedule(problem, size)
            epochs.append(
                LocalisedCall(name=f"epoch {e}", start=start, records=size, radius=radius, step=step, inner=inner)
            )
            start, radius = start + size, radius / 2
        return Schedule(
            phases=tuple(epochs),
            releases=tuple(r for e in epochs for r in e.inner.placed(f"{e.name}/", e.start)),
            gradients=sum(e.inner.gradients for e in epochs),
            floats_per_trial=max(e.inner.floats_per_trial for e in epochs),
            claimed=self.call(width).promised(problem),
            claimed_by=self.claimed_by,
        )

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """R_{2k,n} of all records, rounded down to a power of two, and R_{2k,n_e} of those of each call."""
        sizes = [1 << (n.bit_length() - 1), *self.parts(n)]
        whole, *calls = (averaged_moment(problem.constants, 2 * self.k, size) for size in sizes)
        return {"R_2k": whole, "R_2k[i]": calls}

    def execute(self, run: Run[LocalisedCall], workload: Workload, data: Data, start: Array) -> Array:
        w = np.broadcast_to(start, (run.trials, start.shape[-1]))
        for epoch in run.schedule.phases:
            block = data.part(epoch.start, epoch.start + epoch.records)
            inner: Run[Phase] = run.inside(f"{epoch.name}/", epoch.inner)
            domain = Restricted(workload, w, epoch.radius) if self.on_balls else workload
            w = self.call(epoch.radius).execute(inner, domain, block, w)
        return w


@dataclass(frozen=True)
class StochasticApproximation(Calls):
    """Algorithm 4, theta >= 2: m calls on equal parts, call e on W ∩ B(ŵ_{e-1}, R_{e-1}).

    The parts are rounded down to powers of two.
    """

    label = "tsybakov/alg-4"
    claimed_by: ClassVar = ("tsybakov/thm-2", "tsybakov/thm-1")
    restricted: ClassVar[bool] = True

    @staticmethod
    def epochs(n: int) -> int:
        """m = floor(log2(2n/log2 n)/2) - 1."""
        return math.floor(0.5 * math.log2(2 * n / math.log2(n))) - 1 if n >= 2 else 0

    def parts(self, n: int) -> list[int]:
        m = self.epochs(n)
        if m < 1:
            raise Infeasible(self.label, "m = floor(log2(2n/log2 n)/2) - 1 >= 1 calls", f"m = {m} at n = {n}", 44)
        return [1 << ((n // m).bit_length() - 1)] * m


@dataclass(frozen=True)
class IteratedLocalised(Calls):
    """Algorithm 5, theta >= theta_bar > 1: calls on parts of doubling size (powers of two), all on the whole domain.

    Attributes:
        theta_bar: the known lower bound on theta.
        sizes: exponent of log2 n in the part sizes: "printed" or as in the "proof".
    """

    theta_bar: float = 2.0  # the same: no statement names the one that is meant
    sizes: Literal["printed", "proof"] = "printed"

    label = "tsybakov/alg-5"
    claimed_by: ClassVar = ("tsybakov/thm-3", "tsybakov/thm-1")
    readings: ClassVar = {
        name: fields if name == "literal" else {**fields, "sizes": "proof"} for name, fields in Calls.readings.items()
    }

    def __post_init__(self) -> None:
        if not self.theta_bar > 1 or self.sizes not in ("printed", "proof"):
            raise InvalidInput(
                f"needs theta_bar > 1 and sizes 'printed' or 'proof', got {self.theta_bar}, {self.sizes!r}"
            )

    def parts(self, n: int) -> list[int]:
        return [1 << (size.bit_length() - 1) for size in whole_parts(self.label, n, self.theta_bar, self.sizes)]


def whole_parts(label: str, n: int, theta_bar: float, rule: Literal["printed", "proof"]) -> list[int]:
    """The doubling parts. Raises `Infeasible`: no part, or more than n records."""
    exponent = part_exponent(theta_bar, rule)

    def legal(size: int) -> bool:
        counts = doubling_parts(size, theta_bar, exponent)
        return bool(counts) and counts[0] >= 2

    raw = doubling_parts(n, theta_bar, exponent)
    if not legal(n):
        got = f"{len(raw)} parts, the first of {raw[0] if raw else 0} records, at n = {n}"
        raise Infeasible(label, "at least one part, and 2 records in the first", got, smallest_n(legal))
    if sum(raw) > n:
        raise Infeasible(label, "parts of at most n records together", f"{sum(raw):,} at n = {n:,}")
    return raw
