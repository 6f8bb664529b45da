"""Runs checks: plans their cells, skips those that the store holds, spreads the rest over workers, concludes."""

from __future__ import annotations

import contextlib
import functools
import math
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from dpcheck import foreign
from dpcheck.checks import RUN_FAILURE_PROBABILITY, SIZES, Check, Size
from dpcheck.engine import catalogue as catalogues
from dpcheck.engine import judge
from dpcheck.engine.catalogue import Catalogue, cell_key
from dpcheck.engine.fetching import lazily
from dpcheck.engine.history import committed
from dpcheck.engine.layout import Layout
from dpcheck.engine.measurements import decode, encode
from dpcheck.engine.records import Record, Refused
from dpcheck.engine.store import Failure, Store, now
from dpcheck.engine.stored import Cell, CellKey
from dpcheck.errors import DpcheckError, InvalidInput, MissingExtra
from dpcheck.verdicts import Outcome, Verdict


@dataclass(frozen=True)
class CellTask:
    """One cell, by names only: how a worker is told what to do."""

    layout: Layout
    paths: tuple[Path, ...]
    check: str
    index: int
    key: CellKey


@dataclass(frozen=True)
class Done:
    """What became of one cell: its measurement as text, or why there is none."""

    task: CellTask
    measured: str | None
    seconds: float
    message: str = ""
    trace: str = ""
    skipped: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


class Listener:
    """What a run tells while it is under way; the base class listens to nothing."""

    def started(self, cells: int, stored: int) -> None:
        """`cells` are to be computed, `stored` were found in the store."""

    def computed(self, check: str) -> None:
        """One more cell is finished and stored."""

    def concluded(self, record: Record) -> None:
        """A check has its verdict."""

    def failed(self, failure: Failure) -> None:
        """A check raised."""


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
        for what, found in (("are", self.failure_probability), ("may be", self.declared)):
            if found > RUN_FAILURE_PROBABILITY * (1 + 1e-9):
                return (
                    f"the verdicts of this run {what} wrong together with probability {found:.3g}, and a run promises "
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
    found: dict[str, Cell]
    open: int = 0
    failures: list[Failure] = field(default_factory=list)
    skipped: str = ""

    @property
    def complete(self) -> bool:
        return all(cell_key(cell) in self.found for cell in self.cells)


class CheckRunner:
    """One run of some checks at one size and seed.

    Args:
        catalogue: where the checks come from.
        checks: what to run.
        store: keeps every finished cell, and gives back those it holds.
        size: "smoke", "standard" or "full".
        seed: root of all randomness, at least 0.
        workers: processes; results do not depend on their number. 1 runs in this process.
        shard: (i, k): only every k-th cell, starting with the i-th of 1..k.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        checks: Sequence[Check],
        store: Store,
        *,
        size: Size = "smoke",
        seed: int = 0,
        workers: int = 1,
        shard: tuple[int, int] = (1, 1),
        listener: Listener | None = None,
    ) -> None:
        if size not in SIZES:
            raise InvalidInput(f"unknown size {size!r}; choose one of {', '.join(SIZES)}")
        if not 0 <= seed < 2**63:
            raise InvalidInput(f"the seed must lie in [0, 2^63), got {seed}")
        if workers < 1:
            raise InvalidInput(f"workers must be >= 1, got {workers}")
        if not 1 <= shard[0] <= shard[1]:
            raise InvalidInput(f"a shard i/k needs 1 <= i <= k, got {shard[0]}/{shard[1]}")
        self.catalogue, self.store, self.size, self.seed = catalogue, store, size, seed
        self.workers, self.shard = workers, shard
        self.listener = listener or Listener()
        self.result = RunResult()
        sources = catalogue.fingerprints(check.id for check in checks)
        self._checks = {check.id: self._begin(check, sources[check.id]) for check in checks}
        self.result.declared = math.fsum(check.may_spend for check in checks)

    def _begin(self, check: Check, sources: str) -> _Progress:
        held = self.store.cells(check.id, self.size, self.seed, sources, self.result.damaged)
        progress = _Progress(check, sources, check.cells(self.size), held)
        self.result.stored += len(held)
        lacks = judge.missing(check)
        if lacks:
            progress.skipped = f"needs {' and '.join(lacks)}, which is not installed"
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
        for done in self._done(tasks):
            self._take(done)
        order = {id: place for place, id in enumerate(self._checks)}
        self.result.records.sort(key=lambda record: order[record.check])
        self.result.seconds = time.perf_counter() - begun
        return self.result

    # -- cells --------------------------------------------------------------------------------------------------

    def _plan(self) -> list[CellTask]:
        """The cells of this shard that the store lacks, those that took longest before first."""
        tasks, place = [], 0
        for progress in self._checks.values():
            for index, cell in enumerate(progress.cells):
                mine = place % self.shard[1] == self.shard[0] - 1
                place += 1
                key = CellKey(progress.check.id, cell_key(cell), self.size, self.seed, progress.sources)
                if key.cell not in progress.found and mine and not progress.skipped:
                    tasks.append(CellTask(self.catalogue.layout, self.catalogue.paths, progress.check.id, index, key))
                    progress.open += 1
        took = self.store.durations(self.size)
        return sorted(tasks, key=lambda task: -took.get((task.check, task.key.cell), 0.0))

    def _done(self, tasks: list[CellTask]) -> Iterator[Done]:
        if self.workers == 1 or len(tasks) < 2:
            yield from (compute_cell(task, self.catalogue) for task in tasks)
            return
        import joblib
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        try:
            with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
                pool = joblib.Parallel(
                    n_jobs=min(self.workers, len(tasks)), batch_size=1, return_as="generator_unordered"
                )
                yield from pool(joblib.delayed(compute_cell)(task) for task in tasks)
        except TerminatedWorkerError as error:
            raise DpcheckError(
                "a worker process died, perhaps for want of memory; finished cells are kept: "
                "run the same command again, with fewer --workers"
            ) from error

    def _take(self, done: Done) -> None:
        """Stores a finished cell before anything else happens."""
        progress = self._checks[done.task.check]
        progress.open -= 1
        if done.measured is not None:
            self.store.add_cell(done.task.key, done.measured, done.seconds, done.versions)
            progress.found[done.task.key.cell] = Cell(decode(done.measured), done.seconds, done.versions)
            self.result.computed += 1
        elif done.skipped:
            progress.skipped = done.skipped
        else:
            self._fail(progress, Failure(done.task.key, done.message, done.trace))
        self.listener.computed(done.task.check)
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
            measured = [(cell, progress.found[cell_key(cell)].measured) for cell in progress.cells]
            try:
                with catalogues.in_force(self.catalogue), _quiet():
                    verdict = judge.conclude(check, measured, self.catalogue.claims.get(check.label))
                # It goes through the same text as a stored one, so that a fresh and a resumed run agree to the byte.
                plain = decode(encode(verdict))
                assert isinstance(plain, Verdict)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                key = CellKey(check.id, "", self.size, self.seed, progress.sources)
                self._fail(progress, Failure(key, _said(error), _trace()))
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
            versions=judge.of_cells([cell.versions for cell in progress.found.values()] or [judge.versions()]),
            commit=self._commit,
            created=now(),
            seconds=sum(cell.seconds for cell in progress.found.values()),
        )
        before = self._before.get(check.id)
        if before is None or committed(before) != committed(record):
            self.store.add_record(record)
        self.result.records.append(record)
        self.listener.concluded(record)

    @functools.cached_property
    def _before(self) -> dict[str, Record]:
        """Check -> the last record of this size and seed: an unchanged verdict is not written twice."""
        known = self.store.records(self.result.refused)
        return {r.check: r for r in known if (r.size, r.seed) == (self.size, self.seed)}

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


# -- what a worker does ------------------------------------------------------------------------------------------------


def compute_cell(task: CellTask, catalogue: Catalogue | None = None) -> Done:
    """Measures one cell; an exception becomes part of the answer. BLAS runs on one thread everywhere, so that the
    number of workers cannot change the last bit of a sum."""
    import threadpoolctl  # type: ignore[import-untyped]

    begun = time.perf_counter()
    try:
        here = catalogue or _of_worker(task)
        with catalogues.in_force(here), threadpoolctl.threadpool_limits(limits=1), _quiet():
            size, check = cast(Size, task.key.size), here.checks[task.check]
            measured = encode(check.measure(check.cells(size)[task.index], size, task.key.seed))
            decode(measured)  # what cannot be read again is an error of the check
    except MissingExtra as error:
        return Done(task, None, time.perf_counter() - begun, skipped=str(error))
    except KeyboardInterrupt:  # the user's
        raise
    except BaseException as error:
        return Done(task, None, time.perf_counter() - begun, _said(error), _trace())
    return Done(task, measured, time.perf_counter() - begun, versions=judge.versions())


def _quiet() -> contextlib.AbstractContextManager[Any]:
    """What a check prints goes to stderr: standard output is the command's own."""
    return contextlib.redirect_stdout(sys.stderr)


def _of_worker(task: CellTask) -> Catalogue:
    """This worker's catalogue, loaded once, and again when the task was planned from newer sources.

    Raises:
        DpcheckError: even so the sources are not those of the plan: they were edited while the run was under way.
    """
    for _ in range(2):
        found, verified = _loaded(task.layout, task.paths)
        check = found.checks.get(task.check)
        if check is not None and task.check not in verified and found.fingerprint(check) == task.key.sources:
            verified[task.check] = task.key.sources
        if verified.get(task.check) == task.key.sources:
            return found
        _loaded.cache_clear()
    raise DpcheckError(f"the sources of {task.check} changed while it ran; run the same command again")


@functools.lru_cache(maxsize=1)
def _loaded(found: Layout, paths: tuple[Path, ...]) -> tuple[Catalogue, dict[str, str]]:
    """A catalogue, and the fingerprints of its checks as far as they were compared with the plan's."""
    return lazily(found, paths), {}


def _said(error: BaseException) -> str:
    """An exception in one line, with the place where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    try:
        text = foreign.plain(" ".join(str(error).split()))
    except BaseException:
        text = "an exception that cannot be shown"
    return text + where if isinstance(error, judge.RuleBroken) else f"{type(error).__name__}: {text}{where}"


def _trace() -> str:
    """The traceback of the exception at hand, as text that can be stored."""
    try:
        return foreign.encodable(traceback.format_exc())
    except BaseException:
        return ""


def run(catalogue: Catalogue, checks: Iterable[Check], store: Store, **options: Any) -> RunResult:
    """Runs checks and returns their verdicts; the options are those of `CheckRunner`."""
    return CheckRunner(catalogue, list(checks), store, **options).run()
