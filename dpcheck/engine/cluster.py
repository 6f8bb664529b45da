"""Cells computed on a Dask cluster whose workers see the same files at the same places."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from itertools import islice
from typing import Any

from dpcheck.engine.cells import CellTask, Done, compute_cell
from dpcheck.engine.workers import Idle
from dpcheck.errors import DpcheckError, MissingExtra

AHEAD = 1_000
"""Cells that the scheduler is given before the first of them is back."""
_PATIENCE = 15
"""Seconds until the scheduler has to answer."""


class Cluster:
    """The workers of a Dask scheduler, which starts a cell anew when the worker that had it dies.

    Args:
        scheduler: its address, `tcp://host:8786`.

    Raises:
        MissingExtra: Dask is not installed.
        DpcheckError: nobody answers at the address.
    """

    def __init__(self, scheduler: str) -> None:
        try:
            import distributed
        except ImportError as error:
            raise MissingExtra("--backend dask", "cluster") from error
        try:
            self._client: Any = distributed.Client(scheduler, timeout=_PATIENCE, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise DpcheckError(
                f"no Dask scheduler answers at {scheduler} within {_PATIENCE} s; start one with `dask scheduler`, "
                "and give the address that it prints"
            ) from error

    def computed(self, tasks: Iterator[CellTask], idle: Idle) -> Generator[Done]:
        """See `dpcheck.engine.run.Backend`."""
        import distributed

        given: dict[Any, CellTask] = {}

        def submit(number: int) -> list[Any]:
            following = list(islice(tasks, number))
            futures: list[Any] = self._client.map(_alone, following, pure=False)
            given.update(zip(futures, following, strict=True))
            return futures

        try:
            arriving = distributed.as_completed(submit(AHEAD), loop=self._client.loop)
            for future in arriving:
                done = _done(future, given.pop(future))
                arriving.update(submit(1))
                yield done
        finally:
            self._client.cancel(list(given))
            self._client.close()


def _done(future: Any, task: CellTask) -> Done:
    """What became of a cell; a worker that died again and again over it is its failure."""
    try:
        done: Done = future.result()
    except Exception as error:
        text = " ".join(str(error).split())
        return Done(task, None, 0.0, f"the cluster gave it up: {type(error).__name__}: {text}")
    return done


_LOCK = threading.Lock()


def _alone(task: CellTask) -> Done:
    """One cell at a time, however many threads a worker has: what is in force here is so for the whole process."""
    with _LOCK:
        return compute_cell(task)
