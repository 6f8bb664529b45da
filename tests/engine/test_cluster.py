"""Cells on a Dask cluster: the same bytes as here, also where a worker dies over them."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dpcheck.engine import catalogue
from dpcheck.engine.history import jsonl
from dpcheck.engine.run import CheckRunner
from dpcheck.engine.store import Store
from dpcheck.errors import DpcheckError, MissingExtra

pytest.importorskip("distributed", reason="needs the extra 'cluster': pip install 'dpcheck[cluster]'")
from dpcheck.engine.cluster import Cluster, _done

Make = Callable[..., Path]
SUITE = """
import os
import time
from pathlib import Path
from dpcheck.checks import check
from dpcheck.verdicts import holds

@check("toy/lem-2", kind="risk", grid={"n": list(range(16))})
def slow(context, n):
    (Path(__file__).parent / f"{n}.{os.getpid()}").write_text("")
    time.sleep(0.1)
    value = float(context.rng().random())
    return holds(f"{value}", "exact", numbers={"value": value})

@check("toy/lem-2", kind="symbolic")
def raises(context):
    raise ValueError("on the cluster")
"""


@contextlib.contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "distributed.cli.dask_" + arguments[0], *arguments[1:]]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[str]]]]:
    """The address of a scheduler here, and its two workers."""
    written = tmp_path / "scheduler.json"
    quiet = ("--no-dashboard", "--scheduler-file", str(written))
    with contextlib.ExitStack() as stack:
        stack.enter_context(started("scheduler", "--port", "0", "--host", "127.0.0.1", *quiet))
        deadline = time.monotonic() + 60
        while not written.exists() or not written.read_text().rstrip().endswith("}"):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        import json

        address = json.loads(written.read_text())["address"]
        # Without a nanny, so that a worker that is killed stays dead.
        one = ("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", "--local-directory", str(tmp_path))
        yield address, [stack.enter_context(started(*one)) for _ in range(2)]


def test_a_worker_dies_in_the_middle(
    project: Make, tmp_path: Path, scheduler: tuple[str, list[subprocess.Popen[str]]]
) -> None:
    root = project({"audits/toy.py": SUITE})
    found = catalogue.load(root)
    address, workers = scheduler
    cluster = Cluster(address)
    cluster._client.wait_for_workers(2, timeout=60)

    def stored(path: Path, **options: Cluster) -> tuple[str, set[str]]:
        with Store(path) as store:
            result = CheckRunner(found, found.select(()), store, **options).run()  # type: ignore[arg-type]
            return jsonl(result.records), {failure.message for failure in result.failures}

    def computing() -> set[int]:
        return {int(file.suffix[1:]) for file in (root / "audits").glob("*.*") if file.suffix[1:].isdigit()}

    class Killed:
        """Kills a worker that has computed once five cells are there: the other one must compute, too."""

        def computed(self, tasks, idle):
            for number, done in enumerate(cluster.computed(tasks, idle)):
                if number == 5:
                    os.kill(min(computing()), 9)
                yield done

    there = stored(tmp_path / "there.db", backend=Killed())
    assert computing() == {worker.pid for worker in workers}
    assert there == stored(tmp_path / "here.db")
    assert len(there[1]) == 1


def test_nobody_at_the_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpcheck.engine.cluster._PATIENCE", 1)
    with pytest.raises(DpcheckError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        Cluster("tcp://127.0.0.1:9")
    with pytest.raises(DpcheckError, match="no Dask scheduler answers at nonsense://x"):
        Cluster("nonsense://x")


def test_a_cell_that_the_cluster_gives_up_has_failed_with_what_was_said() -> None:
    class Lost:
        def result(self) -> object:
            raise RuntimeError("four workers\n  died over it")

    done = _done(Lost(), "a task")  # type: ignore[arg-type]
    assert (done.task, done.measured) == ("a task", None)
    assert done.message == "the cluster gave it up: RuntimeError: four workers died over it"


def test_without_dask_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"dpcheck\[cluster\]"):
        Cluster("tcp://127.0.0.1:9")
