"""Reductions: strongly convex losses by restarts (Section 5), pad-and-copy (Lemma D.5), and the bootstrap."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from dpcheck.algorithms.l1_geometry.frank_wolfe import TreeFrankWolfe
from dpcheck.algorithms.l1_geometry.localized import LocalizedMirrorDescent
from dpcheck.errors import Infeasible, InvalidInput
from dpcheck.interfaces import Algorithm, Array, Constants, Data, Problem, Schedule, Workload, procedure
from dpcheck.numerics import next_feasible
from dpcheck.running import Fixed, Run


@dataclass(frozen=True, kw_only=True)
class Restart:
    """Run i of the reduction, from the last output on fresh records.

    Attributes:
        distance: D_i, the bound on the distance of its start from the minimiser in l1.
        inner: the plan of the run.
    """

    i: int
    first: int
    records: int
    distance: float
    inner: Schedule[Any]


@dataclass(frozen=True)
class StronglyConvexReduction(Algorithm[Restart]):
    """ceil(log2 log2 n) runs of an algorithm for convex losses, run i on n_i = 2^(i-2) n/log2(n) records.

    D_1 = D and D_{i+1}^2 = (2/lambda) bound_i(D_i), where that is less: the paper does not say what the runs are told.
    Around Algorithm 3 the run is confined to the l1 ball of radius D_i around its start, which may leave the domain; L
    grows to L + beta D_i there.

    Attributes:
        inner: Algorithm 2 or Algorithm 3.
        weight: lambda, of the risk in l1; None for the workload's own.
        bound_dial: multiplies the proved bounds; below 1 the distances are optimistic (private all the same).
    """

    inner: LocalizedMirrorDescent | TreeFrankWolfe = field(default_factory=LocalizedMirrorDescent)
    weight: float | None = None
    bound_dial: float = 1.0

    label = "l1_geometry/proc-strongly-convex-reduction"
    readings: ClassVar = {"smooth": {"inner": TreeFrankWolfe(noise="approximate")}}

    def modulus(self, problem: Problem) -> float:
        """lambda."""
        value = self.weight or problem.constants.extra.get("strong_convexity", 0.0)
        if not value > 0:
            raise InvalidInput(
                f"{self.label} needs the modulus lambda > 0 of the risk in l1, got {value!r}; set the field weight or "
                "extra['strong_convexity'] (dpcheck plan: --constant strong_convexity=...)"
            )
        return value

    def restarts(self, problem: Problem, n: int) -> Iterator[Restart]:
        """Every run; raises `Infeasible` at the first one that cannot be made."""
        modulus = self.modulus(problem)
        if n < 3:
            raise Infeasible(self.label, "log2(log2 n) > 0, n >= 3", f"n = {n}")
        distance, first = problem.constants.diameter(1.0), 0
        for i in range(1, math.ceil(math.log2(math.log2(n))) + 1):
            records = int(2.0 ** (i - 2) * n / math.log2(n))
            if records < 2:
                raise Infeasible(self.label, "at least two records in every run", f"n_{i} = {records} at n = {n}")
            inner, told = self._told(problem, distance, i)
            yield Restart(i=i, first=first, records=records, distance=distance, inner=inner.schedule(told, records))
            first += records
            bound = self.bound_dial * inner.proved(told, records)
            distance = min(distance, math.sqrt(2 * bound / modulus))

    def _told(
        self, problem: Problem, distance: float, i: int
    ) -> tuple[LocalizedMirrorDescent | TreeFrankWolfe, Problem]:
        """The inner algorithm and the problem that run i is told."""
        if isinstance(self.inner, LocalizedMirrorDescent):
            return replace(self.inner, distance=distance), problem
        return self.inner, problem if i == 1 else replace(problem, constants=_ball(problem.constants, distance))

    def schedule(self, problem: Problem, n: int) -> Schedule[Restart]:
        try:
            rows = tuple(self.restarts(problem, n))
        except Infeasible as error:
            needed = next_feasible(lambda size: self._fits(problem, size), n, scan=512)
            raise Infeasible(
                self.label,
                f"{error.needs} in every run",
                f"{error.got}, of n = {n}",
                needed,
                f"in one run: {error.advice}",
            ) from error
        promised = all(row.inner.claimed is not None for row in rows)
        return Schedule(
            phases=rows,
            releases=tuple(r for row in rows for r in row.inner.placed(f"run {row.i}/", row.first)),
            gradients=sum(row.inner.gradients for row in rows),
            floats_per_trial=sum(row.inner.floats_per_trial for row in rows),
            claimed=problem.privacy if promised else None,
            claimed_by=rows[0].inner.claimed_by,
        )

    def _fits(self, problem: Problem, n: int) -> bool:
        try:
            return bool(tuple(self.restarts(problem, n)))
        except Infeasible:
            return False

    def execute(self, run: Run[Restart], workload: Workload, data: Data, start: Array) -> Array:
        x = np.broadcast_to(start, (run.trials, start.shape[-1])).astype(float)
        for row in run.schedule.phases:
            block = data.part(row.first, row.first + row.records)
            inner: Run[Any] = run.inside(f"run {row.i}/", row.inner)
            if isinstance(self.inner, LocalizedMirrorDescent) or row.i == 1:
                x = self.inner.execute(inner, workload, block, x)
            else:
                d = x.shape[1]
                corners = x[:, None] + row.distance * np.concatenate([np.eye(d), -np.eye(d)])
                source = inner.shuffle(block) if self.inner.allocation == "random" else block
                x = workload.project(self.inner.walk(inner, workload, source, corners, x))
        return x

    def terms(self, problem: Problem, n: int) -> Mapping[str, Any]:
        """Those of the last run, whose distance earlier runs bound in expectation: what is proved, undialled."""
        *_, row = replace(self, bound_dial=1.0).restarts(problem, n)
        inner, told = self._told(problem, row.distance, row.i)
        return inner.terms(told, row.records)


def _ball(constants: Constants, radius: float) -> Constants:
    """Constants on an l1 ball of that radius around a point of the domain."""
    grown = constants.lipschitz(1.0) + constants.smoothness(1.0) * radius
    return replace(constants, diameter=lambda p: 2 * radius, lipschitz=lambda p: grown)


@dataclass(frozen=True)
class Padding:
    """How Lemma D.5 blows a small data set up.

    Attributes:
        copies: k; small: n', records of the small data set; padding: n - k n' records of zero loss.
    """

    copies: int
    small: int
    padding: int


def padding(n: int, alpha: float, epsilon: float, alpha_0: float, epsilon_0: float) -> Padding:
    """k = floor(log(1 + eps_0)/eps), at least 1, and n' = ceil(n alpha/(k alpha_0)), at most n/k.

    Raises:
        InvalidInput: not 0 < alpha <= alpha_0 or not 0 < eps <= eps_0.
    """
    if not (0 < alpha <= alpha_0 and 0 < epsilon <= epsilon_0 and n >= 1):
        raise InvalidInput(
            f"Lemma D.5 needs 0 < alpha <= alpha_0, 0 < eps <= eps_0, got {alpha}, {alpha_0}, {epsilon}, {epsilon_0}"
        )
    k = min(n, max(1, math.floor(math.log1p(epsilon_0) / epsilon)))
    small = min(n // k, math.ceil(n * alpha / (k * alpha_0)))
    return Padding(k, small, n - k * small)


@procedure("l1_geometry/proc-pad-and-copy")
def pad_and_copy(data: Array, plan: Padding, zero: Array) -> Array:
    """k copies of the data set, then records of zero loss: (trials, n', *record) -> (trials, n, *record).

    Args:
        zero: (padding or 1, *record) records whose losses cancel: zeros for LASSO, pairs z, -z for signs.
    """
    if data.shape[1] != plan.small:
        raise InvalidInput(f"the plan is for {plan.small} records, got {data.shape[1]}")
    parts = [data] * plan.copies
    if plan.padding:
        rows = np.resize(zero, (plan.padding, *data.shape[2:]))
        parts.append(np.broadcast_to(rows, (len(data), *rows.shape)))
    return np.concatenate(parts, axis=1)


@procedure("l1_geometry/proc-bootstrap")
def bootstrap(run: Run[Any], data: Data) -> Fixed:
    """n i.i.d. draws from the empirical distribution of n records: their risk is the empirical one."""
    values = data.read().values
    chosen = run.coins(lambda rng: rng.integers(data.n, size=(run.trials, data.n)))
    rows = np.broadcast_to(values, (run.trials, *values.shape[1:]))
    return Fixed(np.take_along_axis(rows, chosen.reshape(*chosen.shape, *[1] * (rows.ndim - 2)), axis=1))
