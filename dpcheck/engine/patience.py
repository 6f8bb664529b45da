"""An end to what would be listed for minutes: planning at a size at which an algorithm has billions of steps."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

from dpcheck.errors import InvalidInput

AGAIN = 0.5
"""CPU seconds after which it is said once more: Python passes over what is raised while it frees an object."""


class _Late(BaseException):
    """No `Exception`: what is interrupted shall not take it for one of its own."""


@contextlib.contextmanager
def within(seconds: float, what: str, n: int) -> Iterator[None]:
    """Ends a computation after so much CPU time, whatever else the machine does; only in the main thread.

    Args:
        what: is computed; n: the size at which.

    Raises:
        InvalidInput: it takes longer.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, AGAIN)
        raise _Late

    before = signal.signal(signal.SIGVTALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except _Late:
        raise InvalidInput(
            f"{what} has more steps at n = {n:.4g} than can be listed in {seconds:g} s of computing; take a smaller n"
        ) from None
    finally:
        signal.signal(signal.SIGVTALRM, before)
