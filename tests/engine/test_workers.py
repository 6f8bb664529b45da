"""A worker process: what it answers, what it says where it cannot, and that it ends with its parent and its input."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from dpcheck.engine import catalogue
from dpcheck.engine.cells import CellTask, Done, compute_cell, said
from dpcheck.engine.collection import cell_key
from dpcheck.engine.stored import CellKey
from dpcheck.engine.workers import Workers
from dpcheck.errors import DpcheckError, InvalidInput

Make = Callable[..., Path]
LOUD = """
import os
import time
from dpcheck.checks import check
from dpcheck.verdicts import holds

@check("toy/lem-2", kind="symbolic")
def loud(c):
    print("a word aside")
    return holds("so it is", "exact")

@check("toy/lem-2", kind="symbolic")
def interrupts(c):
    raise KeyboardInterrupt

@check("toy/lem-2", kind="symbolic")
def hangs(c):
    time.sleep(600)

@check("toy/lem-2", kind="symbolic")
def exits(c):
    os._exit(7)

@check("toy/lem-2", kind="symbolic")
def greedy(c):
    return holds(str(len(bytearray(2**33))), "exact")
"""


@pytest.fixture
def tasks(project: Make) -> dict[str, CellTask]:
    found = catalogue.load(project({"audits/toy.py": LOUD}))
    return {
        check.id.partition("::")[2]: CellTask(
            found.layout,
            found.paths,
            check.id,
            0,
            CellKey(check.id, cell_key(check.cells("smoke")[0]), "smoke", 0, found.fingerprint(check)),
        )
        for check in found.checks.values()
    }


def served(*tasks: CellTask, parent: int | None = None, memory: int = 0) -> tuple[list[Done], str, int]:
    """(answers, what stood on stderr, exit code) of a worker whose input ends after these tasks."""
    program = f"from dpcheck.engine.workers import serve; serve({parent or os.getpid()}, {memory})"
    done = subprocess.run(
        [sys.executable, "-c", program], input=b"".join(map(pickle.dumps, tasks)), capture_output=True, check=False
    )
    said, answers = io.BytesIO(done.stdout), []
    if said.readline() == b"ready\n":
        while said.readline() == b"begun\n":
            answers.append(pickle.load(said))
    return answers, done.stderr.decode(), done.returncode


def test_a_worker_answers_every_task_and_ends_with_its_input(tasks: dict[str, CellTask]) -> None:
    stale = replace(tasks["loud"], key=replace(tasks["loud"].key, sources="0" * 16))
    (told, interrupted, changed), aside, code = served(tasks["loud"], tasks["interrupts"], stale)
    assert "so it is" in str(told.measured)
    assert told.versions
    assert "a word aside" in aside
    assert interrupted.message.startswith("KeyboardInterrupt")
    assert f"the sources of {stale.check} changed while it ran; run the same command again" in changed.message
    assert (changed.measured, code) == (None, 0)


def test_too_much_memory_is_an_error_of_the_check(tasks: dict[str, CellTask]) -> None:
    (done,), _, code = served(tasks["greedy"], memory=2**32)
    assert done.message.startswith("MemoryError")
    assert code == 0


def test_memory_that_is_out_without_a_word_is_told_with_the_next_step() -> None:
    """Python raises a bare MemoryError."""
    assert (
        said(MemoryError()) == "MemoryError: there is no more memory; give more by --memory, or find out what fills it"
    )


def test_a_worker_whose_parent_is_gone_starts_nothing(tasks: dict[str, CellTask]) -> None:
    answers, said, code = served(tasks["loud"], parent=1)
    assert (answers, code) == ([], 1)
    assert "the run that started this process is over" in said


def test_the_keyboard_is_the_user_s_in_the_process_of_the_command(tasks: dict[str, CellTask]) -> None:
    with pytest.raises(KeyboardInterrupt):
        compute_cell(tasks["interrupts"])
    assert "so it is" in str(compute_cell(tasks["loud"]).measured)


@pytest.mark.parametrize(
    ("number", "options", "says"),
    [(0, {}, "workers must be >= 1, got 0"), (1, {"seconds": 0.0}, "the time of a cell must be positive, got 0 s")],
)
def test_workers_say_what_they_cannot_be(number: int, options: dict[str, float], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        Workers(number, **options)  # type: ignore[arg-type]


def test_a_cell_that_hangs_or_ends_its_process_is_an_error_of_it_alone(tasks: dict[str, CellTask]) -> None:
    (late,) = Workers(1, seconds=0.5).computed(iter([tasks["hangs"]]))
    assert late.message.startswith("took more than 0.5 s and was stopped; give more by --timeout")
    gone, told = Workers(1).computed(iter([tasks["exits"], tasks["loud"]]))
    assert gone.message.startswith("ended the process that computed it: exit code 7; the other cells go on")
    assert (gone.task, gone.measured) == (tasks["exits"], None)
    assert "so it is" in str(told.measured)


def test_a_process_that_does_not_start_names_the_way_without_one(
    tasks: dict[str, CellTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(DpcheckError, match=r"does not start: exit code 1; .* --workers 0 computes in the process"):
        list(Workers(1).computed(iter([tasks["loud"]])))
