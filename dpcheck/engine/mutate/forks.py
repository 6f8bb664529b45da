"""Jobs in forked processes: whatever they change, or break, is gone with them."""

from __future__ import annotations

import gc
import json
import os
import resource
import select
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

Job = Callable[[], Any]


class Ended(NamedTuple):
    """What a job gave back, or why it did not: "timeout", "died" or the text of its exception."""

    number: int
    value: Any
    failure: str = ""


def forked(jobs: Iterable[tuple[Job, float]], workers: int = 1) -> Iterator[Ended]:
    """Runs each job with its limit of CPU seconds in a process of its own, `workers` at a time, as they end.

    A job gives back what JSON can say. Its number is its place among the jobs.
    """
    gc.freeze()  # what is shared stays shared
    waiting = enumerate(jobs)
    running: dict[int, tuple[int, int, list[bytes]]] = {}  # end of the pipe -> number, process, what was read
    try:
        while True:
            while len(running) < workers and (following := next(waiting, None)) is not None:
                number, (job, limit) = following
                end, process = _start(job, limit)
                running[end] = (number, process, [])
            if not running:
                return
            for end in select.select(list(running), [], [])[0]:
                number, process, read = running[end]
                chunk = os.read(end, 1 << 16)
                if chunk:
                    read.append(chunk)
                    continue
                del running[end]
                os.close(end)
                yield _ended(number, os.waitpid(process, 0)[1], b"".join(read))
    finally:
        for end, (_, process, _) in running.items():
            os.close(end)
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        gc.unfreeze()


def _start(job: Job, limit: float) -> tuple[int, int]:
    end, other = os.pipe()
    process = os.fork()
    if process:
        os.close(other)
        return end, process
    try:  # the child: nothing of the parent's may run when it ends
        os.close(end)
        silent = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(silent, stream)
        seconds = max(1, round(limit + sum(os.times()[:2])))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        try:
            said = {"value": job()}
        except BaseException:
            said = {"failure": traceback.format_exc()}
        with os.fdopen(other, "wb") as pipe:
            pipe.write(json.dumps(said).encode("utf-8", "replace"))
    finally:
        os._exit(0)


def _ended(number: int, status: int, text: bytes) -> Ended:
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return Ended(number, None, "timeout")
    try:
        said = json.loads(text)
    except ValueError:
        return Ended(number, None, "died")
    return Ended(number, said.get("value"), said.get("failure", ""))
