"""The command line in a tiny project."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pairs import save_pair

from dpcheck.cli import main, silence

Make = Callable[..., Path]


@pytest.fixture
def cli(project: Make, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """`cli("run", "toy")` in a project's root: the command's result, with its stdout and stderr apart.

    A run that does not name its --workers takes place in this process.
    """
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(silence, "FIRST", 60.0)  # what a slow machine would make it say is no word of the command

    def call(*arguments: str, code: int = 0) -> Result:
        if arguments[0] == "run" and "--workers" not in arguments:
            arguments += ("--workers", "0")
        result = CliRunner().invoke(main, list(arguments), prog_name="dpcheck")
        assert result.exit_code == code, result.output
        return result

    return call


@pytest.fixture
def beside_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the pair of `pairs`, in which the test runs; what it imports from there is not kept."""
    save_pair(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    return tmp_path


@pytest.fixture
def root(project: Make, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A standard project, in which the test runs."""
    found = project()
    monkeypatch.chdir(found)
    return found
