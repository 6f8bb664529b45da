"""Pages that show code and shells, walked as a reader would, in order and in one folder; what they say is checked."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILE = re.compile(r"# (\w+\.py)\n")
STEP = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
CODE = re.compile(r"^\[(\d+)\]\n\Z", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """A command, what it is said to print ("…" stands for anything), and its exit code: a last line such as "[1]"."""

    command: str
    said: str
    code: int

    def check(self, done: subprocess.CompletedProcess[str]) -> None:
        shown = f"{self.command}\n{done.stdout}{done.stderr}"
        assert done.returncode == self.code, f"exit code {done.returncode}, said {self.code}: {shown}"
        parts = (re.escape(part.strip("\n")) for part in self.said.split("…"))
        pattern = re.compile(".*?".join(parts), re.DOTALL)
        assert pattern.search(done.stdout), f"{shown}\nis not as said:\n{self.said}"


def steps(block: str) -> list[Step]:
    """The commands of one console block."""
    found = []
    for command, said in STEP.findall(block):
        code = CODE.search(said)
        found.append(Step(command, CODE.sub("", said), int(code[1]) if code else 0))
    return found


def blocks(page: Path) -> Iterator[tuple[str, str, int]]:
    """(language, text, first line) of every block of Python or of a shell."""
    text = page.read_text(encoding="utf-8")
    for block in BLOCK.finditer(text):
        yield block[1], block[2], text.count("\n", 0, block.start(2)) + 1


def commands(folder: Path) -> None:
    """Puts `dpcheck` and `pytest` of this interpreter into a folder, for the PATH."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("dpcheck", "pytest"):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {name} "$@"\n')
        script.chmod(0o755)


def environment(bin: Path, *paths: Path) -> dict[str, str]:
    """Of a reader's shell: wide, without settings of this test run, and with these folders to import from."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "DPCHECK_"))}
    return kept | {
        "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NO_COLOR": "1",
        "COLUMNS": "400",
    }
