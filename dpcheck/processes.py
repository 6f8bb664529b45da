"""Child processes that take one task after the other on a pipe, and die with their parent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO

_BLAS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_PR_SET_PDEATHSIG = 1


def start(program: str) -> subprocess.Popen[bytes]:
    """A process that runs a line of Python with this process's paths, and one thread for linear algebra."""
    paths = [str(Path(__file__).parents[1]), *sys.path]  # the same dpcheck, wherever it came from
    return subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path[:] = {paths!r}; {program}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **dict.fromkeys(_BLAS, "1")},
        start_new_session=True,  # Ctrl-C is for the parent, which then ends its processes
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and those that it started, which share its session."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)


def end(process: subprocess.Popen[bytes], patience: float = 0.0) -> int:
    """The exit code of a process, which is over after this; negative where a signal ended it.

    Args:
        patience: seconds for it to end by itself: it may be at its end already, and its own code tells more.
    """
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(patience)
    kill(process)
    code = process.wait()
    for pipe in filter(None, (process.stdin, process.stdout)):
        with contextlib.suppress(OSError):
            pipe.close()
    return code


def how(code: int) -> str:
    """How a process ended, in words."""
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        name = signal.Signals(-code).name
        return f"{name}, perhaps for want of memory" if name in ("SIGKILL", "SIGABRT") else name
    return f"signal {-code}"


def physical_memory() -> int:
    """Bytes of memory of this machine; 0 where it does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


# -- in the child ----------------------------------------------------------------------------------------------------


def die_with(parent: int) -> None:
    """On Linux the system kills this process when its parent dies, whatever it is at; elsewhere after its task."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the run that started this process is over")


def pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Where tasks come from and answers go to; what the task prints, by whatever means, goes to stderr from now on."""
    tasks, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return tasks, answers
