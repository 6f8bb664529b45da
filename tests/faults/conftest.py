"""A small suite of its own, commands on it, and what a run gives that nothing disturbs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from disturbed import CELLS, SUITE, Commands, Results, Server, results

Make = Callable[..., Path]


@pytest.fixture
def suite(project: Make) -> Path:
    return project({"audits/toy.py": SUITE})


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    if not Path("/proc/self/environ").exists():
        pytest.skip("which processes are left behind is read from /proc")
    found = Server()
    yield found
    found.close()


@pytest.fixture
def commands(server: Server, suite: Path) -> Commands:
    return Commands(server, suite)


@pytest.fixture
def undisturbed(commands: Commands) -> Results:
    """What a run gives that nothing disturbs."""
    code, said = commands.run("run", "--workers", "0", "--store", "undisturbed.db")
    assert code == 0, said
    found = results(commands.folder / "undisturbed.db")
    assert len(found[1]) == CELLS
    return found
