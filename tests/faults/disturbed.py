"""Commands that are started cheaply, disturbed, and compared with an undisturbed run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from dpcheck.engine.history import jsonl
from dpcheck.engine.store import read_records

Results = tuple[str, dict[tuple[Any, ...], str]]

# A process that has imported everything and forks once a command, so that fifty of them cost no fifty imports.
SERVER = """
import json, os, signal, sys
import dpcheck.cli, dpcheck.engine.run, dpcheck.engine.catalogue, dpcheck.testing, sympy, numpy, threadpoolctl
from dpcheck.harness import budget

def start(arguments, folder, limit):
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        os.chdir(folder)
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(name, os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # as a shell starts what runs in its background
        if limit:
            import resource
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        dpcheck.cli.main(arguments, prog_name="dpcheck")
    except SystemExit as error:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(error.code)
    finally:
        os._exit(99)

def wait(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

print("ready", flush=True)
for line in sys.stdin:
    name, *arguments = json.loads(line)
    print({"start": start, "wait": wait}[name](*arguments), flush=True)
"""
MARK = "DPCHECK_TEST_OF_FAULTS"
CELLS = 40
SUITE = """
import os
import time
from dpcheck.checks import check
from dpcheck.verdicts import holds, undecided

@check("toy/lem-2", kind="risk", grid={"n": list(range(36))})
def slow(context, n):
    time.sleep(float(os.environ.get("PAUSE", "0.03")))
    value = float(context.rng().random())
    return holds(f"{value}", "exact", numbers={"value": value})

def judged(rows, failure_probability):
    total = sum(row["hits"] for _, row in rows)
    return undecided(f"{total} hits", "sampled", failure_probability=failure_probability, numbers={"hits": total})

@check("toy/lem-2", kind="privacy", grid={"n": list(range(4))}, conclude=judged, expect="undecided")
def sampled(context, n):
    return {"hits": int((context.rng().random(100) < 0.5).sum())}
"""


class Server:
    """The process that starts the commands."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self._server = subprocess.Popen(
            [sys.executable, "-c", SERVER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, MARK: self.mark, "NO_COLOR": "1"},
            text=True,
        )
        assert self._line() == "ready"

    def _line(self) -> str:
        assert self._server.stdout is not None
        return self._server.stdout.readline().strip()

    def ask(self, *request: Any) -> int:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(request) + "\n")
        self._server.stdin.flush()
        return int(self._line())

    def alive(self) -> list[int]:
        """Processes of commands, and those that they started."""
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and f"{MARK}={self.mark}".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
        return [pid for pid in found if pid != self._server.pid]

    def close(self) -> None:
        for pid in self.alive():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self._server.kill()
        self._server.communicate()


class Commands:
    """`dpcheck …` in a folder, with its own session and SIGINT ignored, as shells start background jobs."""

    def __init__(self, server: Server, folder: Path) -> None:
        self._server, self.folder = server, folder

    def start(self, *arguments: str, folder: Path | None = None, limit: int = 0) -> int:
        """The id of a process that runs the command; `limit`: of bytes in a file."""
        return self._server.ask("start", arguments, str(folder or self.folder), limit)

    def wait(self, pid: int, folder: Path | None = None) -> tuple[int, str]:
        """Its exit code, negative where a signal ended it, and what it said on stderr."""
        code = self._server.ask("wait", pid)
        return code, ((folder or self.folder) / "err").read_text()

    def run(self, *arguments: str, **options: Any) -> tuple[int, str]:
        return self.wait(self.start(*arguments, **options), options.get("folder"))

    def under_way(self) -> list[int]:
        """Processes of commands, and those that they started."""
        return self._server.alive()

    def left(self) -> list[int]:
        """Processes that commands have left behind, given some seconds to end."""
        until = time.monotonic() + 5
        while (found := self.under_way()) and time.monotonic() < until:
            time.sleep(0.02)
        return found


def cells(path: Path) -> dict[tuple[Any, ...], str]:
    """The finished cells of a store, as they stand in it."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        try:
            rows = db.execute("SELECT check_id, cell, size, seed, sources, measured FROM cells").fetchall()
        except sqlite3.OperationalError:  # killed before there were tables
            return {}
    return {tuple(row[:-1]): row[-1] for row in rows}


def results(path: Path) -> tuple[str, dict[tuple[Any, ...], str]]:
    """The bytes of a store's records, in their committed form, and its cells."""
    return jsonl(read_records(path)), cells(path)
