"""Printed lines once more: a second transcription in plain NumPy, told the coins and the answers of a run.

What the lines ask for, and what they return, must be what the algorithm asks for and returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpcheck.checks import Context
from dpcheck.harness.symbolic import agree
from dpcheck.interfaces import Algorithm, Array, Problem
from dpcheck.running import Entry, Fixed, Run
from dpcheck.verdicts import Verdict, differs

OFFSET = 10.0
"""Added to what is compared relatively and may be 0."""


@dataclass
class Seen:
    """A workload that remembers every point where gradients were asked for: the iterates, (trials, d) each."""

    work: Any
    points: list[Array] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.work, name)

    def __dir__(self) -> list[str]:
        return dir(self.work)

    @property
    def domain(self) -> Any:  # by itself: protocols do not look through __getattr__
        return self.work.domain

    def gradient(self, w: Array, z: Array) -> Array:
        self.points.append(w[:, 0])
        return np.asarray(self.work.gradient(w, z))


@dataclass
class Lines:
    """Lines of a run, in order.

    Attributes:
        work: its gradients, and the projection.
        entries, coins: of the run, those that no line has read yet.
        asked: what was released, and what the lines would release.
        missing: whether the lines ask for more than the run has.
    """

    work: Any
    entries: Iterator[Entry]
    coins: Iterator[Array]
    asked: list[tuple[Array, Array]] = field(default_factory=list)
    missing: bool = False

    def answer(self, core: Array) -> Array:
        entry = next(self.entries, None)
        if entry is None:
            self.missing = True
            return core
        self.asked.append((entry.core, core))
        return entry.output

    def mean(self, x: Array, records: Array) -> Array:
        """The mean gradient at x, (trials, d), of records (trials, size, …)."""
        return np.asarray(self.work.gradient(x[:, None], records).mean(axis=1))

    def drawn(self, records: Array) -> Array:
        """The records that the next coins name, in their order."""
        chosen = next(self.coins, None)
        if chosen is None:
            self.missing = True
            return records
        return np.stack([each[places] for each, places in zip(records, chosen, strict=True)])


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
        if self.lines.missing:
            return differs("the run releases less, or tosses fewer coins, than the printed lines")
        if [*self.lines.entries, *self.lines.coins]:
            return differs("the run releases more, or tosses more coins, than the printed lines")
        pairs = [*self.lines.asked, (self.returned, wanted)]
        released, stated = (np.concatenate([pair[i].ravel() for pair in pairs]) + OFFSET for i in (0, 1))
        return agree(released, stated, f"{OFFSET:g} + what is released and returned", 1e-8)
