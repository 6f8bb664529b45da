"""A run may be killed, starved and lied to: no finished cell is lost, no process stays, and the rerun ends the same."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from disturbed import CELLS, SUITE, Commands, Results, cells, results

from dpcheck.engine import catalogue, run
from dpcheck.engine.history import choose, read
from dpcheck.engine.store import Store

WHOLE = ("run", "--store", "s.db", "--workers")


def until(commands: Commands, number: int, *, store: str = "s.db") -> None:
    """Waits until so many cells are stored."""
    deadline = time.monotonic() + 60
    while len(finished(commands.folder / store)) < number:
        assert time.monotonic() < deadline, (commands.folder / "err").read_text()
        time.sleep(0.005)


def finished(path: Path) -> dict[tuple[Any, ...], str]:
    return cells(path) if path.exists() else {}


def killed(commands: Commands, undisturbed: Results, moments: int, seed: int) -> None:
    """Kills a chain of runs, each at a moment drawn from the time that one takes, and lets a last one finish."""
    draw = random.Random(seed)
    begun = time.monotonic()
    commands.run("run", "--store", "timed.db", "--workers", "0")
    whole = time.monotonic() - begun
    path, before = commands.folder / "s.db", {}
    for _ in range(moments):
        pid = commands.start(*WHOLE, "0")
        time.sleep(draw.uniform(0, whole))
        os.kill(pid, signal.SIGKILL)
        commands.wait(pid)
        after = finished(path)
        assert {key: after.get(key) for key in before} == before
        before = after if len(after) < CELLS else {}
        if len(after) == CELLS:  # the chain is at its end: begin another one
            assert results(path) == undisturbed or commands.run(*WHOLE, "0")[0] == 0
            assert results(path) == undisturbed
            for file in commands.folder.glob("s.db*"):
                file.unlink()
    assert commands.run(*WHOLE, "0")[0] == 0
    assert results(path) == undisturbed
    assert commands.left() == []


def test_killed_at_a_few_moments(commands: Commands, undisturbed: Results) -> None:
    killed(commands, undisturbed, 12, seed=1)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(5))
def test_killed_at_many_moments(commands: Commands, undisturbed: Results, seed: int) -> None:
    killed(commands, undisturbed, 50, seed=100 + seed)


@pytest.mark.parametrize(
    ("signals", "code", "says"),
    [
        ((signal.SIGKILL,), -signal.SIGKILL, ""),
        ((signal.SIGTERM,), 143, "stopped; finished cells are kept, and the same command goes on from here"),
        ((signal.SIGINT,), 130, "stopped; finished cells are kept, and the same command goes on from here"),
        ((signal.SIGINT, signal.SIGINT), 130, "stopped"),
    ],
    ids=["SIGKILL", "SIGTERM", "Ctrl-C", "Ctrl-C twice"],
)
def test_a_signal_takes_the_workers_along(
    commands: Commands, undisturbed: Results, signals: tuple[int, ...], code: int, says: str
) -> None:
    pid = commands.start(*WHOLE, "2")
    until(commands, 6)
    assert len(commands.under_way()) == 3
    for number in signals:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
    ended, said = commands.wait(pid)
    assert ended == code
    assert says in said
    assert "Traceback" not in said
    assert commands.left() == []
    held = cells(commands.folder / "s.db")
    assert 6 <= len(held) < CELLS
    assert commands.run(*WHOLE, "0")[0] == 0
    assert results(commands.folder / "s.db") == undisturbed


def test_a_worker_that_dies(commands: Commands, undisturbed: Results) -> None:
    """Killed from outside: its cell is named, the others go on, and the next run finishes."""
    pid = commands.start(*WHOLE, "1")
    until(commands, 4)
    (worker,) = set(commands.under_way()) - {pid}
    os.kill(worker, signal.SIGKILL)
    code, said = commands.wait(pid)
    assert code == 3
    assert "toy/lem-2::slow  ended the process that computed it: SIGKILL, perhaps for want of memory" in said
    assert len(cells(commands.folder / "s.db")) == CELLS - 1
    assert commands.run(*WHOLE, "0")[0] == 0
    assert results(commands.folder / "s.db") == undisturbed


ROGUES = """
import ctypes
import os
import sys
import time
from dpcheck.checks import check
from dpcheck.verdicts import holds

@check("toy/lem-2", kind="symbolic")
def exits(context):
    os._exit(0)

@check("toy/lem-2", kind="symbolic")
def crashes(context):
    os.kill(os.getpid(), 11)

@check("toy/lem-2", kind="symbolic")
def hangs(context):
    time.sleep(1000)

@check("toy/lem-2", kind="symbolic")
def allocates(context):
    return holds(str(len(bytearray(2**34))), "exact")

@check("toy/lem-2", kind="symbolic")
def interrupts(context):
    raise KeyboardInterrupt

@check("toy/lem-2", kind="symbolic")
def reads(context):
    return holds(repr(sys.stdin.readline()), "exact")

@check("toy/lem-2", kind="symbolic")
def prints(context):
    print("to Python's stdout")
    os.write(1, b"to the system's stdout\\n")
    return holds("printed", "exact")
"""


def test_whatever_a_check_does(commands: Commands, undisturbed: Results) -> None:
    """Each of them is named with what it did; the others have their verdicts; standard output is the command's own."""
    (commands.folder / "rogues.py").write_text(ROGUES)
    limits = ("--timeout", "2", "--memory", "4", "--json")
    code, said = commands.run("run", "rogues.py", "--store", "s.db", "--workers", "1", *limits)
    assert code == 3
    for name, what in {
        "exits": "ended the process that computed it: exit code 0",
        "crashes": "ended the process that computed it: SIGSEGV",
        "hangs": "took more than 2 s and was stopped; give more by --timeout",
        "allocates": "MemoryError",
        "interrupts": "KeyboardInterrupt",
    }.items():
        assert f"error         toy/lem-2::{name}  {what}" in said
    assert "to Python's stdout" in said
    assert "to the system's stdout" in said
    out = (commands.folder / "out").read_text()
    assert out.startswith("{\n")
    assert "stdout" not in out
    found = {record.check.partition("::")[2]: record.verdict.reason for record in read(commands.folder / "s.db")}
    assert found == {"reads": "''", "prints": "printed"}
    assert commands.left() == []
    assert commands.run(*WHOLE, "0")[0] == 0
    whole, held = results(commands.folder / "s.db")
    assert set(undisturbed[0].splitlines()) < set(whole.splitlines())
    assert undisturbed[1].items() < held.items()


@pytest.mark.parametrize("room", [60_000, 90_000, 150_000])
def test_a_full_disk(commands: Commands, undisturbed: Results, room: int) -> None:
    """No file may grow further: what was committed is there, and with room again the run ends as if nothing was."""
    code, said = commands.run(*WHOLE, "0", limit=room)
    last = said.splitlines()[-1]
    assert code == 2
    assert last.startswith("dpcheck: cannot write the store s.db")
    assert "finished cells are kept: make room and run the same command again" in last
    held = cells(commands.folder / "s.db")
    assert 0 < len(held) < CELLS
    assert commands.run(*WHOLE, "0")[0] == 0
    assert results(commands.folder / "s.db") == undisturbed


def test_no_room_for_a_report(commands: Commands, undisturbed: Results) -> None:
    """The report of before stays as it is."""
    assert commands.run("report", "--store", "undisturbed.db")[0] == 0
    folder = commands.folder / "reports"
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    code, said = commands.run("report", "--store", "undisturbed.db", limit=4_000)
    assert code == 2, said
    assert "File too large" in said
    assert "internal error" not in said
    assert {path: path.read_bytes() for path in before} == before
    assert commands.run("report", "--store", "undisturbed.db")[0] == 0


@pytest.fixture
def unwritable(commands: Commands, tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system that is mounted read-only, with the store of a run."""
    place = tmp_path / "mounted"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", str(place)], capture_output=True).returncode:
        pytest.skip("only root may mount a file system, and this is not allowed here")
    try:
        commands.run("run", "--workers", "0", "--store", str(place / "s.db"))
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_read_only_store(commands: Commands, undisturbed: Results, unwritable: Path) -> None:
    """It is read as any other; only a run says at once that it cannot be written."""
    store = str(unwritable / "s.db")
    for command in (("list",), ("show", "toy/lem-2"), ("report", "--out", "elsewhere")):
        code, said = commands.run(*command, "--store", store)
        complaints = [line for line in said.splitlines() if not line.endswith("Ctrl-C stops it")]  # on a slow machine
        assert (code, complaints) == (0, [])
    assert "undecided" in commands_out(commands, "list", "--store", store)
    code, said = commands.run("merge", store, "--store", "new.db")
    assert (code, said.splitlines()[0]) == (0, f"{store}: {CELLS} new cells")
    assert results(commands.folder / "new.db") == undisturbed
    code, said = commands.run("run", "--store", store)
    assert code == 2
    assert said.startswith(f"dpcheck: cannot open the store {store}")
    assert said.endswith("give a file in a writable folder by --store\n")


def commands_out(commands: Commands, *arguments: str) -> str:
    commands.run(*arguments)
    return (commands.folder / "out").read_text()


def test_two_runs_on_one_store(commands: Commands, undisturbed: Results, tmp_path: Path) -> None:
    """They meet in the middle: hardly a cell is computed twice, and no record."""
    other = tmp_path / "other"
    other.mkdir()
    begin = (
        "run",
        "--root",
        str(commands.folder),
        "--store",
        str(commands.folder / "s.db"),
        "--workers",
        "0",
        "--json",
    )
    first = commands.start(*begin)
    until(commands, 1)
    second = commands.start(*begin, folder=other)
    code, said = commands.wait(first)
    assert code == 0, said
    code, said = commands.wait(second, other)
    assert code == 0
    assert "another run is at work on this store" in said
    assert results(commands.folder / "s.db") == undisturbed
    computed = [json.loads((folder / "out").read_text())["computed"] for folder in (commands.folder, other)]
    assert CELLS <= sum(computed) <= CELLS + 4
    with contextlib.closing(sqlite3.connect(commands.folder / "s.db")) as db:
        assert db.execute("SELECT count(*) FROM records").fetchone() == (2,)


def test_a_flipped_page(commands: Commands, undisturbed: Results) -> None:
    """The run says what is wrong and what to do; what can be read is saved, and the rest computed again."""
    path = commands.folder / "s.db"
    shutil.copy(commands.folder / "undisturbed.db", path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        size, pages = (db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_size", "page_count"))
    content = path.read_bytes()
    saved = []
    for page in range(1, pages):
        noise = bytes(byte ^ 0x5A for byte in content[page * size : (page + 1) * size])
        path.write_bytes(content[: page * size] + noise + content[(page + 1) * size :])
        (commands.folder / "new.db").unlink(missing_ok=True)
        with Store(commands.folder / "new.db") as store, contextlib.suppress(Exception):
            store.merge(path)
        saved.append(len(cells(commands.folder / "new.db")))
        assert cells(commands.folder / "new.db").items() <= undisturbed[1].items()
    assert max(saved) == CELLS  # an index
    assert sorted(saved)[len(saved) // 4] >= CELLS - 8, saved  # the cells of one page, which are its neighbours
    code, said = commands.run(*WHOLE, "0")
    if code:
        assert "is damaged: move it away; `dpcheck merge s.db --store new.db` saves what can be" in said
    commands.run("merge", "s.db", "--store", "new.db")
    assert commands.run("run", "--store", "new.db", "--workers", "0")[0] == 0
    assert results(commands.folder / "new.db") == undisturbed


def test_truncated_records(commands: Commands, undisturbed: Results) -> None:
    """A committed file that ends in the middle of a line: the line is named, the others count."""
    commands.run("report", "--store", "undisturbed.db")
    path = commands.folder / "reports" / "records.jsonl"
    content = path.read_bytes()
    for length in (len(content) - 40, len(content) // 2, 3):
        path.write_bytes(content[:length])
        code, said = commands.run("list")
        assert code == 0
        assert "records.jsonl:" in said
        assert "is refused: not JSON" in said
    assert commands.run("report", "--store", "undisturbed.db")[0] == 0
    assert path.read_bytes() == content


def test_a_clock_that_jumps(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Backwards by decades: the later result still speaks, and so does a later error."""
    path = suite / "s.db"

    def found(year: int, text: str) -> None:
        (suite / "audits" / "toy.py").write_text(text)
        for module in ("store", "run"):
            monkeypatch.setattr(f"dpcheck.engine.{module}.now", lambda: f"{year}-01-01T00:00:00.000+00:00")
        here = catalogue.load(suite)
        with Store(path) as store:
            run.run(here, here.select(()), store)

    found(2090, SUITE)
    found(2001, SUITE.replace("{total} hits", "in all {total} hits"))
    assert choose(read(path))["toy/lem-2::sampled"].record.verdict.reason.startswith("in all")
    found(1999, SUITE.replace('return {"hits"', 'raise ValueError; return {"hits"'))
    with Store(path) as store:
        assert store.failures()[-1].created >= max(record.created for record in store.records())
