"""Ctrl-C and SIGTERM end a command alike: a sentence, its processes with it, everything finished kept."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType

AT_ONCE = b"\ndpcheck: stopped at once; what was finished is kept\n"


@contextlib.contextmanager
def stoppable() -> Iterator[list[int]]:
    """SIGINT and SIGTERM raise KeyboardInterrupt, and a second one ends the process on the spot.

    A shell starts what runs in its background with SIGINT ignored; here it counts all the same.

    Yields:
        The signals that came.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return

    def stop(number: int, frame: FrameType | None) -> None:
        came.append(number)
        if len(came) > 1:
            os.write(2, AT_ONCE)
            os._exit(128 + number)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
