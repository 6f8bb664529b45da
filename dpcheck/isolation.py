"""Verification of witnesses that others wrote: in a process of its own, within bounds of time and memory.

That process gets one request a line from its parent, which it trusts, and answers with a line of JSON, which is all
that the parent takes from it.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pickle
import selectors
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

import mpmath
import sympy as sp

from dpcheck import foreign
from dpcheck.errors import Unreadable, WitnessRejected
from dpcheck.verdicts import Witness
from dpcheck.witnesses import Violation, known, known_files
from dpcheck.witnesses import verify as verify_here

SECONDS = 20
"""CPU time of one verification."""
PATIENCE = 6
"""Wall-clock time, in multiples of it: the machine may be busy."""
MEMORY = 2**30
"""Bytes of address space for one verification, over what the process has when it begins."""
_START = 120.0
"""Seconds until the process has to be there."""


def verify(
    witness: Witness | Mapping[str, Any] | str | Path,
    *,
    assumptions: Sequence[sp.Basic] = (),
    private: bool = True,
    tolerance: float = 1e-6,
) -> Violation:
    """Recomputes a witness from its parameters alone.

    Args:
        witness: one that this process made is recomputed here. A file's path, or what a file held, is foreign: it is
            recomputed in a process of its own, within bounds of time and memory.
        assumptions, private, tolerance: see `dpcheck.witnesses.verify`.

    Raises:
        Unreadable: what is given is no witness.
        WitnessRejected: it does not show what it says (`dpcheck.witnesses.verify`), or takes more time or memory than
            there is for it.
    """
    if isinstance(witness, Witness):
        return verify_here(witness, assumptions=assumptions, private=private, tolerance=tolerance)
    if not isinstance(witness, Mapping | str | os.PathLike):
        raise Unreadable(
            f"no witness can be read from {foreign.shortened(witness)}; give one, a file of one, or what it holds"
        )
    read = Witness.from_dict(witness) if isinstance(witness, Mapping) else Witness.load(witness)
    with Isolated() as child:
        return child.verify(read, assumptions=assumptions, private=private, tolerance=tolerance)


class Isolated:
    """A process that verifies one witness after the other; a new one takes its place when it dies.

    >>> from dpcheck.isolation import Isolated
    >>> with Isolated() as child:  # doctest: +SKIP
    ...     child.verify(Witness.load("witness.json"))
    """

    def __init__(self, *, seconds: float = SECONDS, memory: int = MEMORY) -> None:
        self._seconds, self._memory = seconds, memory
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Isolated:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def verify(
        self,
        witness: Witness,
        *,
        assumptions: Sequence[sp.Basic] = (),
        private: bool = True,
        tolerance: float = 1e-6,
    ) -> Violation:
        """As `dpcheck.witnesses.verify`; `Violation.at` stays behind. Time or memory out of bounds is a rejection."""
        bounds = self._seconds, self._memory
        asked = pickle.dumps((asdict(witness), tuple(assumptions), private, tolerance, dict(known_files()), bounds))
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(base64.b64encode(asked) + b"\n")
            process.stdin.flush()
            answer = self._line(process, PATIENCE * self._seconds)
        except OSError:
            answer = b""
        except BaseException:
            self.close()
            raise
        if not answer.endswith(b"\n"):
            self.close()
            raise WitnessRejected(
                f"verifying this {witness.kind} witness takes more than {self._seconds:g} s of CPU time or "
                f"{self._memory / 2**30:.3g} GiB of memory; if you trust it, give more by Isolated(seconds=…, memory=…)"
            )
        said = json.loads(answer)
        if "rejected" in said:
            raise WitnessRejected(said["rejected"])
        with mpmath.workdps(50):
            numbers = {name: mpmath.mpf(said[name]) for name in ("claimed", "found")}
        return Violation(
            **numbers, statement=said["statement"], violated=True, label=said["label"], testimony=said["testimony"]
        )

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(OSError):
                self._process.communicate()
            self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            paths = repr([str(Path(__file__).parents[1]), *sys.path])  # the same dpcheck, wherever it came from
            program = f"import sys; sys.path[:] = {paths}; from dpcheck.isolation import answer; answer()"
            self._process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            self._line(self._process, _START)
        return self._process

    @staticmethod
    def _line(process: subprocess.Popen[bytes], seconds: float) -> bytes:
        """What the process says, up to the end of a line, its own end, or that of our patience."""
        assert process.stdout is not None
        until, line = time.monotonic() + seconds, b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n") and (left := until - time.monotonic()) > 0:
                if selector.select(left):
                    piece = process.stdout.read1(1 << 16)  # type: ignore[attr-defined]
                    if not piece:
                        break
                    line += piece
        return line


# -- what the process does ---------------------------------------------------------------------------------------------


def answer() -> None:
    """Answers requests on standard input until it ends."""
    output = sys.stdout.buffer
    sys.stdout = sys.stderr
    output.write(b"ready\n")
    output.flush()
    for line in sys.stdin.buffer:
        output.write(json.dumps(_answer(pickle.loads(base64.b64decode(line)))).encode() + b"\n")
        output.flush()


def _answer(request: tuple[Any, ...]) -> dict[str, str]:
    values, assumptions, private, tolerance, verifiers, (seconds, memory) = request
    _limit(seconds, memory)
    try:
        with known(verifiers):
            violation = verify_here(Witness(**values), assumptions=assumptions, private=private, tolerance=tolerance)
        with mpmath.workdps(50):
            claimed, measured = (mpmath.nstr(mpmath.mpmathify(v), 40) for v in (violation.claimed, violation.found))
    except MemoryError:
        return {"rejected": f"verifying this witness takes more than {memory / 2**30:.3g} GiB of memory"}
    except Exception as error:
        return {"rejected": foreign.plain(str(error))}
    return {
        "claimed": claimed,
        "found": measured,
        "statement": foreign.plain(violation.statement),
        "label": foreign.plain(violation.label),
        "testimony": foreign.plain(violation.testimony),
    }


def _limit(seconds: float, memory: int) -> None:
    """Bounds for the next verification: the system ends the process at the first, and refuses memory at the second."""
    try:
        import resource
    except ImportError:  # Windows has none; the parent's patience is bounded all the same
        return
    spent = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(spent.ru_utime + spent.ru_stime + seconds) + 1, hard))
    pages = Path("/proc/self/statm")
    used = int(pages.read_text().split()[0]) * resource.getpagesize() if pages.exists() else 0
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (used + memory if hard < 0 else min(used + memory, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
