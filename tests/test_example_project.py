"""The project under `examples/my_mechanisms/`, walked by its README: installed, then every command in its order."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "my_mechanisms"


def transcript() -> list[tuple[str, str]]:
    """(command, what it is said to print) of all console blocks of the README."""
    blocks = re.findall(r"```console\n(.*?)```", (EXAMPLE / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    steps = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", "".join(blocks), re.MULTILINE)
    return [(command, said) for command, said in steps]


def as_said(said: str) -> re.Pattern[str]:
    """A pattern of the lines, in their order; "…" stands for anything."""
    parts = (re.escape(part.strip("\n")) for part in said.split("…"))
    return re.compile(".*?".join(parts), re.DOTALL)


def test_the_readme_does_what_it_says(tmp_path):
    if shutil.which("sed") is None:
        pytest.skip("the README edits a file by sed")
    there = tmp_path / "project"
    rubbish = shutil.ignore_patterns("__pycache__", ".dpcheck", ".hypothesis", ".pytest_cache")
    shutil.copytree(EXAMPLE, there, ignore=rubbish)
    site = tmp_path / "bin"
    site.mkdir()
    # `pip install -e` without the network: hatchling is here, and so are the packages that the project needs.
    (site / "pytest").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pytest "$@"\n')
    (site / "pytest").chmod(0o755)
    pip = f'"{sys.executable}" -m pip install -q --no-index --no-deps --no-build-isolation --target "{tmp_path}/site" .'
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "DPCHECK_"))}
    environment |= {
        "PATH": f"{site}{os.pathsep}{os.environ['PATH']}",
        # The copy stands before what was installed, as an editable installation would have it.
        "PYTHONPATH": os.pathsep.join([str(there), str(tmp_path / "site"), str(ROOT)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COLUMNS": "400",
    }
    for command, said in transcript():
        run = pip if command.startswith("pip install") else command
        done = subprocess.run(run, shell=True, cwd=there, env=environment, capture_output=True, text=True)
        assert done.returncode == (1 if "failed," in said else 0), f"{command}\n{done.stdout}{done.stderr}"
        assert as_said(said).search(done.stdout), f"{command}\n{done.stdout}\nis not as said:\n{said}"
    assert (tmp_path / "site" / "my_mechanisms" / "__init__.py").exists()
    assert not list((there / ".dpcheck" / "failures").iterdir())


def test_its_workflow_runs_what_the_readme_says():
    text = (EXAMPLE / ".github" / "workflows" / "privacy.yml").read_text(encoding="utf-8")
    commands = re.findall(r"^\s*(?:- )?run: (.*)$", text, re.MULTILINE)
    assert len(commands) == 3
    assert set(commands) <= {command for command, _ in transcript()}
