"""Worker processes: cells computed apart from the run, so that no check can end it, hold it up or outlive it.

A process gets one task after the other from its parent, which it trusts, and answers each. It dies with its parent.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from dpcheck import processes
from dpcheck.engine.cells import CellTask, Done, catalogue_for, compute_cell, said, trace
from dpcheck.errors import DpcheckError, InvalidInput

Idle = Callable[[list[tuple[str, float]]], None]
"""Told now and then which checks are being computed, and for how many seconds."""
HEARTBEAT = 1.0


class Workers:
    """Processes that compute one cell at a time each.

    A process that dies, or that takes too long, is the failure of its cell; another one takes its place.

    Args:
        number: of processes, at least 1.
        seconds: most wall time of a cell; None sets no limit.
        memory: most bytes of address space of a process; None is as much as the machine has.
    """

    def __init__(self, number: int, *, seconds: float | None = None, memory: int | None = None) -> None:
        if number < 1:
            raise InvalidInput(f"workers must be >= 1, got {number}")
        if seconds is not None and not seconds > 0:
            raise InvalidInput(f"the time of a cell must be positive, got {seconds:g} s")
        self._workers = [_Worker(seconds, memory or processes.physical_memory()) for _ in range(number)]

    def computed(self, tasks: Iterator[CellTask], idle: Idle = lambda busy: None) -> Generator[Done]:
        """What became of each task, as they finish; no task is taken before a process is free for it.

        Raises:
            DpcheckError: a process does not even start.
        """
        answers: queue.SimpleQueue[Done | BaseException] = queue.SimpleQueue()
        free: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in self._workers:
            free.put(worker)

        def compute(task: CellTask) -> None:
            worker = free.get()
            try:
                answers.put(worker.compute(task))
            except BaseException as error:
                answers.put(error)
            finally:
                free.put(worker)

        pool, waiting = ThreadPoolExecutor(len(self._workers)), 0
        try:
            for _, task in zip(self._workers, tasks, strict=False):
                pool.submit(compute, task)
                waiting += 1
            while waiting:
                try:
                    answer = answers.get(timeout=HEARTBEAT)
                except queue.Empty:
                    idle([busy for worker in self._workers if (busy := worker.busy)])
                    continue
                if isinstance(answer, BaseException):
                    raise answer
                if (following := next(tasks, None)) is not None:
                    pool.submit(compute, following)
                else:
                    waiting -= 1
                yield answer
        finally:
            for worker in self._workers:
                worker.close()
            pool.shutdown(cancel_futures=True)


class _Worker:
    """One process, started when there is a cell for it, and again after it died."""

    def __init__(self, seconds: float | None, memory: int) -> None:
        self._seconds, self._memory = seconds, memory
        self._process: subprocess.Popen[bytes] | None = None
        self._changing = threading.Lock()
        self._closed = False
        self._begun: tuple[str, float] | None = None

    @property
    def busy(self) -> tuple[str, float] | None:
        """The check of the cell at hand, and the seconds since it began."""
        begun = self._begun
        return None if begun is None else (begun[0], time.monotonic() - begun[1])

    def compute(self, task: CellTask) -> Done:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Event()
        begun = time.monotonic()
        self._begun = (task.check, begun)

        def stop() -> None:
            late.set()
            processes.kill(process)

        try:
            pickle.dump(task, process.stdin)
            process.stdin.flush()
            process.stdout.readline()  # its sources are loaded, which is no time of the cell
            with _alarm(self._seconds, stop):
                done: Done = pickle.load(process.stdout)
        except (OSError, EOFError, ValueError, pickle.UnpicklingError):
            why = _ended(self._end(), self._seconds if late.is_set() else None)
            done = Done(task, None, time.monotonic() - begun, why)
        finally:
            self._begun = None
        return done

    def close(self) -> None:
        """Ends the process, and starts no other."""
        with self._changing:
            self._closed = True
        self._end()

    def _end(self) -> int:
        """The exit code of the process, which is over after this; negative where a signal ended it."""
        with self._changing:
            process, self._process = self._process, None
        return 0 if process is None else processes.end(process, 0.0 if self._closed else 5.0)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None:
            return self._process
        program = f"from dpcheck.engine.workers import serve; serve({os.getpid()}, {self._memory})"
        with self._changing:
            if self._closed:
                raise DpcheckError("the run was stopped")
            self._process = process = processes.start(program)
        assert process.stdout is not None
        if process.stdout.readline() != b"ready\n":
            code = self._end()
            raise DpcheckError(
                f"a worker process does not start: {processes.how(code)}; what it said stands above, "
                "and --workers 0 computes in the process of the command"
            )
        return process


def _ended(code: int, seconds: float | None) -> str:
    if seconds is not None:
        return f"took more than {seconds:g} s and was stopped; give more by --timeout, or find out where it hangs"
    return f"ended the process that computed it: {processes.how(code)}; the other cells go on in another one"


@contextlib.contextmanager
def _alarm(seconds: float | None, ring: Callable[[], Any]) -> Iterator[None]:
    if seconds is None:
        yield
        return
    timer = threading.Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


# -- what the process does ---------------------------------------------------------------------------------------------


def serve(parent: int, memory: int) -> None:
    """Computes tasks from standard input until it ends; what a check prints, by whatever means, goes to stderr."""
    processes.die_with(parent)
    _limit(memory)
    tasks, answers = processes.pipes()
    answers.write(b"ready\n")
    answers.flush()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            task = pickle.load(tasks)
            with contextlib.suppress(Exception):  # said when the cell is computed
                catalogue_for(task)
            answers.write(b"begun\n")
            answers.flush()
            pickle.dump(_computed(task), answers)
            answers.flush()


def _computed(task: CellTask) -> Done:
    begun = time.perf_counter()
    try:
        return compute_cell(task)
    except KeyboardInterrupt as error:  # the check's own: the keyboard is the parent's
        return Done(task, None, time.perf_counter() - begun, said(error), trace())


def _limit(memory: int) -> None:
    """More memory than that is an error of the check that asks for it, and no matter of the machine."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        if memory and (hard < 0 or memory < hard):
            resource.setrlimit(resource.RLIMIT_AS, (memory, hard))
