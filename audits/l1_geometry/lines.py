"""The printed lines once more, in plain NumPy, told the coins and the answers of a run: what they ask for, and return,
must be what the algorithm asks for and returns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpcheck.checks import Context
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Algorithm, Array, Problem
from dpcheck.privacy import ApproxDP
from dpcheck.running import Entry, Fixed, Run
from dpcheck.verdicts import Verdict, differs
from dpcheck.workloads.crosspolytope import SignLasso

LASSO = SignLasso(x_star=(0.4, -0.2, 0.1), s=0.3)
OFFSET = 10.0
"""Added to what is compared relatively and may be 0."""


def slope(u: Array, p: float, scale: float) -> Array:
    """The gradient of scale/2 |u|_p^2; that of exponent q and scale 1/scale is its inverse."""
    size = np.linalg.norm(u, p, axis=-1, keepdims=True)
    safe = np.where(size > 0, size, 1.0)
    return np.asarray(scale * safe ** (2 - p) * np.abs(u) ** (p - 1) * np.sign(u))


@dataclass
class Lines:
    """Lines of a run, in order.

    Attributes:
        work: its gradients, and the projection.
        entries, coins: of the run, those that no line has read yet.
        asked: what was released, and what the lines would release.
        at_edge: of each mirror step, where it ends at the edge of its ball.
    """

    work: Any
    entries: Iterator[Entry]
    coins: Iterator[Array]
    asked: list[tuple[Array, Array]] = field(default_factory=list)
    at_edge: list[Array] = field(default_factory=list)

    def answer(self, core: Array) -> Array:
        entry = next(self.entries)
        self.asked.append((entry.core, core))
        return entry.output

    def mean(self, x: Array, records: Array) -> Array:
        """The mean gradient at x, (trials, d), of records (trials, size, …)."""
        return np.asarray(self.work.gradient(x[:, None], records).mean(axis=1))

    def drawn(self, records: Array) -> Array:
        """The records that the next coins name, in their order."""
        chosen = next(self.coins)
        return np.stack([each[places] for each, places in zip(records, chosen, strict=True)])

    def descent(self, row: Any, records: Array, x: Array) -> Array:
        """Algorithms 1 and 5 on mean f + λh around x, in a ball around x, far from the edge of the domain."""
        centre, q, total = x, row.p / (row.p - 1), np.zeros_like(x)
        for k in range(1, row.T + 1):
            total = total + k * x
            noisy = self.answer(self.mean(x, self.drawn(records)))
            if k < row.T:
                h = slope(x - centre, row.p, row.scale)
                u = slope(h - 2 / (row.weight * (k + 1)) * (noisy + row.weight * h), q, 1 / row.scale)
                length = np.linalg.norm(u, row.p, axis=-1, keepdims=True)
                self.at_edge.append(length > row.radius)
                x = centre + u * np.minimum(1.0, row.radius / length)
        return np.asarray(2 * total / (row.T * (row.T + 1)))

    def phases(self, rows: Sequence[Any], records: Array, x: Array) -> Array:
        """Algorithms 2 and 6: phase i on records that no phase before it read, from the output of phase i − 1."""
        first = 0
        for row in rows:
            x = self.descent(row, records[:, first : first + row.records], x)
            first += row.records
        return x

    def tree(self, rows: Sequence[Any], records: Array, corners: Array, x: Array) -> Array:
        """Algorithm 3 over the polytope of these corners, (trials, K, d), records in the order of the sets."""
        fresh = iter(np.moveaxis(records, 1, 0))

        def take(size: int) -> Array:
            return np.stack([next(fresh) for _ in range(size)], axis=1)

        def below(depth: int, point: Array, v: Array) -> None:
            nonlocal x, leaf
            if depth == row.t:
                chosen = self.answer((corners * v[:, None]).sum(axis=-1))[:, 0].astype(int)
                eta = 2 / (row.offset + leaf + 1)
                x = (1 - eta) * point + eta * corners[np.arange(len(x)), chosen]
                leaf += 1
                return
            below(depth + 1, point, v)
            own, here = take(row.b >> (depth + 1)), x
            below(depth + 1, here, v + self.mean(here, own) - self.mean(point, own))

        for row in rows:
            leaf = 0
            below(0, x, self.mean(x, take(row.b)))
        return x

    def passes(self, rows: Sequence[Any], records: Array, x: Array) -> Array:
        """Algorithm 4: the average of the Rn iterates."""
        seen = []
        for row in rows:
            for record in np.moveaxis(self.drawn(records), 1, 0):
                x = x * np.exp(-row.eta * self.work.gradient(x, record))
                x = x / x.sum(axis=1, keepdims=True)
                seen.append(x)
        return np.asarray(np.mean(seen, axis=0))


@dataclass
class Told:
    """A run, its plan and data, and the lines that are told of it."""

    plan: Any
    records: Array
    start: Array
    returned: Array
    lines: Lines

    @classmethod
    def of(
        cls, context: Context, algorithm: Algorithm[Any], work: Any, told: Problem, n: int, start: Array | None = None
    ) -> Told:
        """A run of several trials on data of their own, from the origin unless a start is given."""
        trials = context.scale(6, 60)
        records, plan = work.rows(context.rng("data"), trials, n), algorithm.schedule(told, n)
        start = np.zeros((1, work.constants.d)) if start is None else start
        run: Run[Any] = Run(plan, trials, context.rng("run"))
        returned = algorithm.execute(run, work, Fixed(records), start)
        lines = Lines(work, iter(run.transcript.entries), iter(run.transcript.coins))
        return cls(plan, records, np.tile(start, (trials, 1)), returned, lines)

    def judged(self, wanted: Array) -> Verdict:
        """Whether everything that was released, and the output, is what the lines ask for and return."""
        if [*self.lines.entries, *self.lines.coins]:
            return differs("the run releases more, or tosses more coins, than the printed lines")
        pairs = [*self.lines.asked, (self.returned, wanted)]
        found, stated = (np.concatenate([pair[i].ravel() for pair in pairs]) + OFFSET for i in (0, 1))
        return agree(found, stated, f"{OFFSET:g} + what is released and returned", 1e-8)


def of_the_phases(context: Context, algorithm: Algorithm[Any]) -> Verdict:
    """Algorithm 2 or 6 on least squares: several phases, of whose steps some end at the edge of their ball."""
    told = Told.of(context, algorithm, LASSO, Problem.of(LASSO, ApproxDP(1.0, 1e-5)), 128)
    found = told.judged(told.lines.phases(told.plan.phases, told.records, told.start))
    share = float(np.mean(np.concatenate(told.lines.at_edge)))
    if len(told.plan.phases) < 2 or not 0 < share < 1:
        return differs(f"{len(told.plan.phases)} phases with a share of {share:.3g} at the edge: more, and both kinds")
    return replace(found, numbers={**found.numbers, "phases": len(told.plan.phases), "share at the edge": share})
