"""Runs checks: plans their cells, skips those that the store holds, spreads the rest over workers, concludes."""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dpcheck.checks import RUN_FAILURE_PROBABILITY, SIZES, Check, Size
from dpcheck.engine import catalogue as catalogues
from dpcheck.engine import judge
from dpcheck.engine.cells import CellTask, Done, compute_cell, quiet, said, trace
from dpcheck.engine.collection import Catalogue, cell_key
from dpcheck.engine.measurements import decode, encode
from dpcheck.engine.records import Record, Refused
from dpcheck.engine.sharding import deal
from dpcheck.engine.store import Failure, Store, now
from dpcheck.engine.stored import Cell, CellKey
from dpcheck.engine.workers import Idle, Workers
from dpcheck.errors import InvalidInput
from dpcheck.verdicts import Outcome, Verdict


class Listener:
    """What a run tells while it is under way; the base class listens to nothing."""

    def started(self, cells: int, stored: int) -> None:
        """`cells` are to be computed, `stored` were found in the store."""

    def shared(self) -> None:
        """Another run is at work on the same store."""

    def waiting(self, busy: list[tuple[str, float]]) -> None:
        """Nothing was finished for a while; `busy` are the checks under way, with the seconds since each began."""

    def computed(self, check: str) -> None:
        """One more cell is finished and stored."""

    def concluded(self, record: Record) -> None:
        """A check has its verdict."""

    def failed(self, failure: Failure) -> None:
        """A check raised."""


class Backend(Protocol):
    """What computes cells."""

    def computed(self, tasks: Iterator[CellTask], idle: Idle) -> Generator[Done]:
        """What became of each task, as they finish; the next task is taken when something is free for it."""
        ...


@dataclass
class RunResult:
    """What one run found.

    Attributes:
        records: verdicts, in the order of the catalogue.
        failures: checks that raised or broke a rule, each with its first error.
        waiting: checks of which other shards hold cells.
        computed, stored: cells of this run, and cells that the store held already.
        declared: the most that the failure probabilities of the checks of this run may add up to.
        damaged: cells of the store that were computed again, for their checksum did not fit.
        refused: rows of the store that are no records.
    """

    records: list[Record] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    computed: int = 0
    stored: int = 0
    seconds: float = 0.0
    declared: float = 0.0
    damaged: list[str] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    @property
    def failure_probability(self) -> float:
        """Of all verdicts together: the sum of theirs."""
        return math.fsum(record.verdict.failure_probability for record in self.records)

    @property
    def unkept(self) -> str:
        """Why the promise of a run is not kept, in a sentence; "" when it is."""
        for what, value in (("are", self.failure_probability), ("may be", self.declared)):
            if value > RUN_FAILURE_PROBABILITY * (1 + 1e-9):
                return (
                    f"the verdicts of this run {what} wrong together with probability {value:.3g}, and a run promises "
                    f"{RUN_FAILURE_PROBABILITY:g}; run fewer checks at a time, or give each a smaller "
                    "failure_probability"
                )
        return ""

    @property
    def unexpected(self) -> list[Record]:
        return [record for record in self.records if not record.expected]


@dataclass
class _Progress:
    """One check under way."""

    check: Check
    sources: str
    cells: list[dict[str, Any]]
    finished: dict[str, Cell]
    open: int = 0
    failures: list[Failure] = field(default_factory=list)
    skipped: str = ""

    @property
    def complete(self) -> bool:
        return all(cell_key(cell) in self.finished for cell in self.cells)


class CheckRunner:
    """One run of some checks at one size and seed.

    Args:
        catalogue: where the checks come from.
        checks: what to run.
        store: keeps every finished cell, and gives back those it holds.
        size: "smoke", "standard" or "full".
        seed: root of all randomness, at least 0.
        workers: processes; results do not depend on their number. 0 computes in this process, which no check can then
            be kept from ending.
        backend: computes the cells in place of `workers`.
        shard: (i, k): only the i-th of k parts of the cells; see `dpcheck.engine.sharding`.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        checks: Sequence[Check],
        store: Store,
        *,
        size: Size = "smoke",
        seed: int = 0,
        workers: int = 0,
        backend: Backend | None = None,
        shard: tuple[int, int] = (1, 1),
        listener: Listener | None = None,
    ) -> None:
        if size not in SIZES:
            raise InvalidInput(f"unknown size {size!r}; choose one of {', '.join(SIZES)}")
        if not 0 <= seed < 2**63:
            raise InvalidInput(f"the seed must lie in [0, 2^63), got {seed}")
        if workers < 0:
            raise InvalidInput(f"workers must be >= 0, got {workers}")
        if not 1 <= shard[0] <= shard[1]:
            raise InvalidInput(f"a shard i/k needs 1 <= i <= k, got {shard[0]}/{shard[1]}")
        self.catalogue, self.store, self.size, self.seed = catalogue, store, size, seed
        self.shard = shard
        self.backend: Backend = backend or (Workers(workers) if workers else InProcess(catalogue))
        self.listener = listener or Listener()
        self.result = RunResult()
        sources = catalogue.fingerprints(check.id for check in checks)
        self._checks = {check.id: self._begin(check, sources[check.id]) for check in checks}
        self.result.declared = math.fsum(check.may_spend for check in checks)

    def _begin(self, check: Check, sources: str) -> _Progress:
        held = self.store.cells(check.id, self.size, self.seed, sources, self.result.damaged)
        progress = _Progress(check, sources, check.cells(self.size), held)
        self.result.stored += len(held)
        progress.skipped = judge.hindered(check, self.size)
        return progress

    def run(self, *, compute: bool = True) -> RunResult:
        """Computes what is missing and concludes every check whose cells are all there.

        Args:
            compute: False concludes only from what the store holds.

        Raises:
            StoreError: a result cannot be written. What was written before stays.
        """
        begun = time.perf_counter()
        tasks = self._plan() if compute else []
        self.listener.started(len(tasks), self.result.stored)
        for progress in self._checks.values():
            if not progress.open:
                self._conclude(progress)
        with self.store.at_work() as alone:
            if tasks and not alone:  # the two meet in the middle
                self.listener.shared()
                tasks.reverse()
            with contextlib.closing(self.backend.computed(self._open(tasks), self.listener.waiting)) as computed:
                for done in computed:
                    self._take(done)
        order = {id: place for place, id in enumerate(self._checks)}
        self.result.records.sort(key=lambda record: order[record.check])
        self.result.seconds = time.perf_counter() - begun
        return self.result

    # -- cells --------------------------------------------------------------------------------------------------

    def _plan(self) -> list[CellTask]:
        """The cells of this shard that the store lacks, those that took longest before first."""
        took = self.store.durations(self.size)
        tasks = []
        for progress in self._checks.values():
            for index, cell in enumerate(progress.cells):
                key = CellKey(progress.check.id, cell_key(cell), self.size, self.seed, progress.sources)
                tasks.append(CellTask(self.catalogue.layout, self.catalogue.paths, progress.check.id, index, key))
        if self.shard[1] > 1:
            seconds = self.store.seconds_of_split(self.size, self.shard[1], took)
            mine = deal([task.key for task in tasks], self.shard[1], seconds)[self.shard[0] - 1]
            tasks = [task for task in tasks if task.key in mine]
        lacking = [task for task in tasks if self._lacks(task)]
        for task in lacking:
            self._checks[task.check].open += 1
        return sorted(lacking, key=lambda task: -took.get((task.check, task.key.cell), 0.0))

    def _lacks(self, task: CellTask) -> bool:
        progress = self._checks[task.check]
        return not progress.skipped and task.key.cell not in progress.finished

    def _open(self, tasks: Iterable[CellTask]) -> Iterator[CellTask]:
        """The tasks that nobody else has finished when their turn comes."""
        for task in tasks:
            held = self.store.found(task.key)
            if held is None:
                yield task
            else:
                self._found(task, held)
                self.result.stored += 1

    def _take(self, done: Done) -> None:
        """Stores a finished cell before anything else happens."""
        progress = self._checks[done.task.check]
        held = None
        if done.measured is not None:
            self.store.add_cell(done.task.key, done.measured, done.seconds, done.versions)
            held = Cell(decode(done.measured), done.seconds, done.versions)
            self.result.computed += 1
        elif done.skipped:
            progress.skipped = done.skipped
        else:
            self._fail(progress, Failure(done.task.key, done.message, done.trace))
        self._found(done.task, held)

    def _found(self, task: CellTask, held: Cell | None) -> None:
        """One cell less to wait for."""
        progress = self._checks[task.check]
        progress.open -= 1
        if held is not None:
            progress.finished[task.key.cell] = held
        self.listener.computed(task.check)
        if not progress.open:
            self._conclude(progress)

    # -- verdicts -----------------------------------------------------------------------------------------------

    def _conclude(self, progress: _Progress) -> None:
        check = progress.check
        if progress.failures:
            return
        if progress.skipped:
            self._keep(progress, judge.skipped(progress.skipped))
        elif not progress.complete:
            self.result.waiting.append(check.id)
        else:
            measured = [(cell, progress.finished[cell_key(cell)].measured) for cell in progress.cells]
            try:
                with catalogues.in_force(self.catalogue), quiet():
                    verdict = judge.conclude(check, measured, self.catalogue.claims.get(check.label))
                # It goes through the same text as a stored one, so that a fresh and a resumed run agree to the byte.
                plain = decode(encode(verdict))
                assert isinstance(plain, Verdict)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                key = CellKey(check.id, "", self.size, self.seed, progress.sources)
                self._fail(progress, Failure(key, said(error), trace()))
                return
            self._keep(progress, plain)

    def _keep(self, progress: _Progress, verdict: Verdict) -> None:
        check = progress.check
        record = Record(
            check=check.id,
            label=check.label,
            kind=check.kind,
            size=self.size,
            seed=self.seed,
            verdict=verdict,
            expected=verdict.outcome is Outcome.SKIPPED or verdict.outcome in check.expect,
            cells=len(progress.cells),
            sources=progress.sources,
            versions=judge.of_cells([cell.versions for cell in progress.finished.values()] or [judge.versions()]),
            commit=self._commit,
            created=now(),
            seconds=sum(cell.seconds for cell in progress.finished.values()),
        )
        self.store.conclude(record, self.result.refused)
        self.result.records.append(record)
        self.listener.concluded(record)

    def _fail(self, progress: _Progress, failure: Failure) -> None:
        progress.failures.append(failure)
        self.store.add_failure(failure)
        # One error a check is news; the store keeps those of all its cells.
        if len(progress.failures) == 1:
            self.result.failures.append(failure)
            self.listener.failed(failure)

    @functools.cached_property
    def _commit(self) -> str:
        return judge.commit(self.catalogue.root)


class InProcess:
    """Computes cells in this process, one after the other."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    def computed(self, tasks: Iterator[CellTask], idle: Idle) -> Generator[Done]:
        yield from (compute_cell(task, self._catalogue) for task in tasks)


def run(catalogue: Catalogue, checks: Iterable[Check], store: Store, **options: Any) -> RunResult:
    """Runs checks and returns their verdicts; the options are those of `CheckRunner`."""
    return CheckRunner(catalogue, list(checks), store, **options).run()
