"""What a run of the suite and a report cost: wall time, processor time and peak memory. Run with `make bench`."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def measured(arguments: list[str]) -> os.struct_rusage:
    """Runs `dpcheck …` to its end and returns what this one process used.

    Peak memory is that of the largest single process, so the runs below use one worker.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", "dpcheck", *arguments], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    # 1 says that a verdict was not as expected: worth knowing, and no matter of speed.
    assert process.returncode in (0, 1), f"dpcheck {' '.join(arguments)} ended with exit code {process.returncode}"
    return usage


def peak(usage: os.struct_rusage) -> float:
    """Peak resident memory in MiB; macOS counts bytes, Linux kibibytes."""
    return usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def report_on(benchmark: Any, capsys: pytest.CaptureFixture[str], what: str, usage: os.struct_rusage) -> None:
    benchmark.extra_info |= {"peak MiB": round(peak(usage)), "user s": round(usage.ru_utime, 2)}
    with capsys.disabled():
        wall = benchmark.stats.stats.min
        print(f"\n{what}: {wall:.1f} s wall, {usage.ru_utime:.1f} s user, {peak(usage):.0f} MiB at its peak")


@pytest.mark.benchmark(group="command line")
def test_start(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """How long the command itself takes to come up: imports that every call pays for."""
    usage = benchmark.pedantic(measured, args=(["--help"],), rounds=5)
    report_on(benchmark, capsys, "dpcheck --help", usage)


@pytest.mark.benchmark(group="suite")
def test_smoke(benchmark: Any, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    """Every check at smoke size from an empty store, one worker."""
    store = str(tmp_path / "store.db")
    usage = benchmark.pedantic(
        measured, args=(["run", "--size", "smoke", "--workers", "1", "--store", store],), rounds=1
    )
    report_on(benchmark, capsys, "dpcheck run --size smoke", usage)
    assert pathlib.Path(store).exists()


@pytest.mark.benchmark(group="suite")
def test_report_of_the_stored_verdicts(
    benchmark: Any, capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path
) -> None:
    """The report of whatever verdicts are committed, written elsewhere."""
    usage = benchmark.pedantic(measured, args=(["report", "--out", str(tmp_path / "reports")],), rounds=1)
    report_on(benchmark, capsys, "dpcheck report", usage)
