"""Slow mechanisms in worker processes: `dp.in_workers(mechanism, 4)` is a mechanism that runs in four of them.

A call is cut into pieces, whose sizes and streams depend on the call alone: outputs are the same for any number of
workers, though not those of the mechanism itself, which draws a whole call from one stream.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import inspect
import math
import os
import pickle
import selectors
import subprocess
import sys
import time
import traceback
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

import cloudpickle
import numpy as np

from dpcheck import processes, seeds
from dpcheck.auditing.handing import Handed
from dpcheck.auditing.identity import _libraries
from dpcheck.auditing.inputs import check_mechanism
from dpcheck.auditing.mechanisms import Mechanism, RunsOnce, as_array, gathered, mechanism_name
from dpcheck.errors import InvalidInput, MechanismError

PIECES = 32
"""Most pieces of a call: enough for its end to be shared, few enough for the pipes to cost nothing."""
ATTEMPTS = 2
"""Processes that may die of a piece before it is called the mechanism's fault: the first may have been another's."""
MOST = 1024
INPUTS = 4
"""Inputs that a worker keeps."""

Told = Callable[[int, float], None]
"""Is told of runs so far, and of the seconds that they took."""


@dataclass(frozen=True)
class _Piece:
    """Runs of one piece: on which input, from which stream."""

    input: int
    seed: int
    number: int
    trials: int


class InWorkers:
    """A mechanism that runs in worker processes, which are closed with it, and die with this one.

    >>> import numpy as np
    >>> def slow(data, rng):
    ...     return data.sum() + rng.laplace()
    >>> import dpcheck as dp
    >>> with dp.in_workers(dp.vectorize(slow), 2) as spread:
    ...     outputs = spread(np.ones(3), np.random.default_rng(0), 100)
    >>> outputs.shape
    (100,)
    """

    # What is in __dict__ makes the identity of an audit: the mechanism, and no word of how many run it.
    __slots__ = ("__dict__", "__name__", "__signature__", "__weakref__", "__wrapped__", "_packed", "_pool", "_told")

    def __init__(self, mechanism: Mechanism, workers: int, *, told: Told | None = None) -> None:
        if isinstance(workers, bool) or not isinstance(workers, int) or not 1 <= workers <= MOST:
            raise InvalidInput(f"workers must be a number of processes, 1 to {MOST}, got {workers!r}")
        check_mechanism(mechanism)
        self.mechanism = mechanism
        self.__name__ = mechanism_name(mechanism)
        if (inner := getattr(mechanism, "__wrapped__", None)) is not None:
            self.__wrapped__ = inner
        with contextlib.suppress(TypeError, ValueError):
            self.__signature__ = inspect.signature(mechanism)
        self._pool = _Pool(_packed(mechanism, self.__name__), self.__name__, workers, told)
        weakref.finalize(self, self._pool.close)

    def __call__(self, data: Any, rng: np.random.Generator, trials: int) -> Any:
        high, low = (int(word) for word in rng.integers(2**63, size=2))
        size = math.ceil(trials / PIECES)
        sizes = [min(size, trials - start) for start in range(0, trials, size)]
        place = self._pool.place_of(data)
        pieces = [_Piece(place, high << 63 | low, number, few) for number, few in enumerate(sizes)]
        batches = self._pool.run(pieces)
        if isinstance(self.mechanism, RunsOnce):
            return gathered([output for outputs in batches for output in outputs])
        return _end_to_end(batches, sizes)

    def close(self) -> None:
        """Ends the processes; a further call starts others."""
        self._pool.close()

    def __enter__(self) -> InWorkers:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def in_workers(mechanism: Mechanism, workers: int, *, told: Told | None = None) -> InWorkers:
    """A slow mechanism, to be run in worker processes wherever a mechanism is taken.

    Outputs are the same for any number of workers. Close it, or use it in a `with` statement.

    Args:
        mechanism: `mechanism(data, rng, trials)`, or a function under `dp.vectorize`; it may be local or a lambda.
        workers: processes.
        told: called with runs so far and their seconds, after every piece of a call.

    Raises:
        InvalidInput: it holds what cannot be sent to another process: an open file, a lock, a generator.
    """
    return InWorkers(mechanism, workers, told=told)


@contextlib.contextmanager
def spread(mechanism: Mechanism, workers: int | None, told: Told | None = None) -> Iterator[Mechanism]:
    """The mechanism in workers; as it is for None."""
    if workers is None:
        yield mechanism
        return
    with InWorkers(mechanism, workers, told=told) as inside:
        yield inside


def _end_to_end(outputs: Sequence[Any], sizes: Sequence[int]) -> Any:
    """Outputs of pieces as those of one call; the first that is no answer of its size, for whoever called to refuse."""
    parts = [list(part) if isinstance(part, Iterator) else part for part in outputs]
    for part, size in zip(parts, sizes, strict=True):
        if not _of_size(part, size):
            return part
    first = parts[0]
    if isinstance(first, Mapping):
        keys = list(first)
        for part in parts:
            if not isinstance(part, Mapping) or sorted(part, key=repr) != sorted(keys, key=repr):
                raise MechanismError(
                    "it returned a dict of other keys from call to call; if the keys are part of the output, return "
                    "one dict a run (dp.vectorize)"
                )
        return {key: _joined([part[key] for part in parts]) for key in keys}
    if isinstance(first, tuple):
        if any(not isinstance(part, tuple) or len(part) != len(first) for part in parts):
            raise MechanismError(f"it returned {len(first)} parts first, and another number later; return one kind")
        return tuple(_joined(list(column)) for column in zip(*parts, strict=True))
    return _joined(parts)


def _of_size(part: Any, size: int) -> bool:
    columns = part.values() if isinstance(part, Mapping) else part if isinstance(part, tuple) else [part]
    return bool(columns) and all(hasattr(column, "__len__") and len(column) == size for column in columns)


def _joined(parts: Sequence[Any]) -> Any:
    arrays = [part if isinstance(part, np.ndarray) else as_array(part) for part in parts]
    if any(array.shape[1:] != arrays[0].shape[1:] for array in arrays):
        return [output for part in parts for output in part]
    return (np.ma if any(isinstance(a, np.ma.MaskedArray) for a in arrays) else np).concatenate(arrays)


# -- sending ---------------------------------------------------------------------------------------------------------


def _packed(value: Any, name: str) -> bytes:
    """A value for another process. Raises `InvalidInput`."""
    strangers = [module for module in list(sys.modules.values()) if _is_stranger(module)]
    known = set(cloudpickle.list_registry_pickle_by_value())
    for module in strangers:
        cloudpickle.register_pickle_by_value(module)
    try:
        packed: bytes = cloudpickle.dumps(value)
        return packed
    except Exception as error:  # whatever an object raises that cannot be packed
        raise InvalidInput(
            f"{name} cannot be sent to worker processes ({error}): open what it needs inside the function, or run it "
            "without workers"
        ) from error
    finally:
        for module in strangers:
            if module.__name__ not in known:
                cloudpickle.unregister_pickle_by_value(module)


def _is_stranger(module: ModuleType) -> bool:
    """Whether it is a user's module that another process would not find by its name."""
    file, name = getattr(module, "__file__", None), getattr(module, "__name__", "")
    if not file or not name or name == "__main__" or sys.modules.get(name) is not module:
        return False
    parent = name.rpartition(".")[0]
    path = getattr(sys.modules.get(parent), "__path__", ()) if parent else sys.path
    return not _stands_in(name, file, tuple(map(str, path)))


@functools.cache
def _stands_in(name: str, file: str, path: tuple[str, ...]) -> bool:
    """Whether an import by this name, along this path, leads to this file; looked up once a process."""
    if any(Path(file).is_relative_to(library) for library in _libraries()):
        return True
    try:
        spec = importlib.machinery.PathFinder.find_spec(name, path)
    except (ImportError, ValueError, AttributeError):
        spec = None
    return spec is not None and spec.origin == file


class _Pool:
    """The processes of one mechanism, started by its first call."""

    def __init__(self, mechanism: bytes, name: str, workers: int, told: Told | None) -> None:
        self._mechanism, self._name, self._workers = mechanism, name, [_Worker() for _ in range(workers)]
        self._told = told
        self._inputs: dict[int, tuple[Any, bytes]] = {}
        self._next = 0
        self._runs, self._seconds = 0, 0.0

    def place_of(self, values: Any) -> int:
        """The number of an input, which is packed when it has none."""
        for place, (kept, _) in self._inputs.items():
            if kept is values and isinstance(values, np.ndarray) and not values.flags.writeable:
                return place
        packed = _packed(values, "the input")
        for place, (_, known) in self._inputs.items():
            if known == packed:
                return place
        if len(self._inputs) == INPUTS:
            del self._inputs[min(self._inputs)]
        self._next += 1
        self._inputs[self._next] = (values, packed)
        return self._next

    def run(self, pieces: Sequence[_Piece]) -> list[Any]:
        """What the mechanism returned, piece by piece.

        Raises:
            MechanismError: a process that runs it dies, or does not start; or what the mechanism raised first.
        """
        begun = time.perf_counter()
        try:
            return self._run(pieces, begun)
        except BaseException:  # Ctrl-C among them: a worker that is not done is of no use to the next call
            self.close()
            raise
        finally:
            self._seconds += time.perf_counter() - begun

    def _run(self, pieces: Sequence[_Piece], begun: float) -> list[Any]:
        waiting, answered = deque(pieces), dict[int, Any]()
        died: Counter[int] = Counter()
        failed: dict[int, BaseException] = {}
        with selectors.DefaultSelector() as ready:
            for each in self._workers:
                self._next_pieces(each, waiting, died, ready)
            while ready.get_map():
                for key, _ in ready.select():
                    worker: _Worker = key.data
                    ready.unregister(key.fileobj)
                    batch = worker.batch
                    try:
                        answers = worker.answers()
                    except (OSError, EOFError, pickle.UnpicklingError):
                        code = worker.end(5.0)
                        died.update(piece.number for piece in batch)
                        # Which of several it was is found out one by one.
                        waiting.extendleft(piece for piece in reversed(batch) if died[piece.number] < ATTEMPTS)
                        gone = [piece.number for piece in batch if died[piece.number] >= ATTEMPTS]
                        failed |= {number: WorkerDied(processes.how(code)) for number in gone}
                    else:
                        for piece, answer in zip(batch, answers, strict=False):
                            if isinstance(answer, _Raised):
                                failed[piece.number] = answer.error()
                            else:
                                answered[piece.number] = answer
                                self._runs += piece.trials
                        if self._told is not None:
                            self._told(self._runs, self._seconds + time.perf_counter() - begun)
                    if failed:
                        # Pieces before it may yet tell what a single worker would have told first.
                        waiting = deque(piece for piece in waiting if piece.number < min(failed))
                    self._next_pieces(worker, waiting, died, ready)
        if failed:
            first = failed[min(failed)]
            raise first from first.__cause__
        return [answered[piece.number] for piece in pieces]

    def _next_pieces(
        self, worker: _Worker, waiting: deque[_Piece], died: Counter[int], ready: selectors.BaseSelector
    ) -> None:
        """Gives a worker half of its share of what is left: few answers to wait for, and all of them end together."""
        if not waiting:
            return
        size = 1 if died else math.ceil(len(waiting) / (2 * len(self._workers)))
        batch = [waiting.popleft() for _ in range(size)]
        worker.begin(batch, self._mechanism, self._inputs[batch[0].input][1], self._name)
        ready.register(worker.out, selectors.EVENT_READ, worker)

    def close(self) -> None:
        for worker in self._workers:
            worker.end()


class WorkerDied(Exception):
    """What is told of a process that ended twice while it ran the same piece."""

    def __init__(self, how: str) -> None:
        super().__init__(f"the worker process that ran it ended, twice: {how}")


class _Worker:
    """One process, started when there is a piece for it, and again after it died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._has: set[int] = set()
        self.batch: list[_Piece] = []

    @property
    def out(self) -> int:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def begin(self, batch: list[_Piece], mechanism: bytes, values: bytes, name: str) -> None:
        """Sends pieces of one input."""
        process = self._process
        fresh = process is None
        if process is None:
            program = f"from dpcheck.auditing.workers import serve; serve({os.getpid()})"
            self._process = process = processes.start(program)
            self._has = set()
        assert process.stdin is not None
        sent = None if batch[0].input in self._has else values
        self.batch = batch
        # A process that is gone is seen where its answer is read.
        with contextlib.suppress(OSError):
            if fresh:
                pickle.dump((name, mechanism), process.stdin)
            pickle.dump((batch, sent), process.stdin)
            process.stdin.flush()
        self._has.add(batch[0].input)

    def answers(self) -> list[Any]:
        """Of the pieces in their order, up to the first that raised."""
        assert self._process is not None
        assert self._process.stdout is not None
        outputs: list[Any] = pickle.load(self._process.stdout)
        return outputs

    def end(self, patience: float = 0.0) -> int:
        process, self._process = self._process, None
        return 0 if process is None else processes.end(process, patience)


# -- what a process does ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Raised:
    """An exception of a worker: told, not sent, for not every one can be."""

    name: str
    said: str
    base: str
    trace: str

    @classmethod
    def of(cls, error: BaseException) -> _Raised:
        base = next(kind for kind in (TypeError, ValueError, BaseException) if isinstance(error, kind))
        return cls(type(error).__name__, str(error), base.__name__, traceback.format_exc())

    def error(self) -> BaseException:
        base = {"TypeError": TypeError, "ValueError": ValueError}.get(self.base, Exception)
        kind = type(self.name, (base,), {"__str__": lambda _: self.said})
        error: BaseException = kind()
        error.__cause__ = MechanismError(f"in a worker process\n{self.trace}")
        return error


def serve(parent: int) -> None:
    """Runs pieces from standard input until it ends."""
    processes.die_with(parent)
    tasks, answers = processes.pipes()
    inputs: dict[int, Handed] = {}
    with contextlib.suppress(EOFError, BrokenPipeError):
        name, packed = pickle.load(tasks)
        mechanism: Any = None
        while True:
            batch, values = pickle.load(tasks)
            runs: list[Any] = []
            try:
                if mechanism is None:
                    mechanism = pickle.loads(packed)
                if values is not None:
                    while len(inputs) >= INPUTS:
                        del inputs[min(inputs)]  # the parent has forgotten it
                    inputs[batch[0].input] = Handed("the input", pickle.loads(values))
                for piece in batch:
                    runs.append(_run(mechanism, inputs[piece.input], piece, name))
                answer = pickle.dumps(runs, pickle.HIGHEST_PROTOCOL)
            except BaseException as error:  # SystemExit, too
                answer = pickle.dumps([*_sendable(runs), _Raised.of(error)])
            answers.write(answer)
            answers.flush()


def _sendable(outputs: list[Any]) -> list[Any]:
    """Outputs of the pieces before one that failed; none where it is them that cannot be sent."""
    try:
        pickle.dumps(outputs)
    except Exception:  # whatever an object raises that cannot be packed
        return []
    return outputs


def _run(mechanism: Any, given: Handed, piece: _Piece, name: str) -> Any:
    rng = seeds.stream(piece.seed, "piece", piece.number)
    onces = (
        [mechanism.runs_once(given.make(), rng) for _ in range(piece.trials)]
        if isinstance(mechanism, RunsOnce)
        else mechanism(given.make(), rng, piece.trials)
    )
    given.check(name)
    return list(onces) if isinstance(onces, Iterator) else onces
