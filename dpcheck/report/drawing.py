"""Figures drawn by processes of their own, while the pages are written: their bytes depend on their points alone."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

FEW = 40
"""Figures up to which a process of their own does not pay."""
AT_ONCE = 4


class WithFigure(Protocol):
    """What has a figure; it is drawn when it is first asked for, and kept."""

    @property
    def svg(self) -> str: ...


_views: Sequence[WithFigure] = ()
"""What the processes draw: they are forked, and find it where it stood."""


def _alone() -> None:
    """The parent decides when it is over."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _drawn(place: int) -> tuple[int, str]:
    return place, _views[place].svg


@contextlib.contextmanager
def beside(views: Sequence[WithFigure], workers: int | None = None) -> Iterator[Callable[[], None]]:
    """Starts to draw; what it yields waits until every view has its figure.

    Where processes cannot be forked, or there are few figures, nothing is started and each is drawn when it is asked
    for.
    """
    global _views
    workers = workers or min(4, os.cpu_count() or 1)
    if len(views) < FEW or workers < 2 or "fork" not in multiprocessing.get_all_start_methods():
        yield lambda: None
        return
    _views = views
    with multiprocessing.get_context("fork").Pool(workers, _alone) as pool:
        _views = ()
        drawn = pool.imap_unordered(_drawn, range(len(views)), chunksize=AT_ONCE)

        def wait() -> None:
            for place, text in drawn:
                vars(views[place])["svg"] = text

        yield wait
