"""CPU seconds of the commands that read everything, as checks and stored records grow, a tenth as many checks.

`python benchmarks/bench_growth.py [RECORDS…] [--only COMMAND]…` prints a table and, from size to size, the power of the
number with which the seconds grow: 1 is linear. Nothing is kept from one command to the next but the store;
"list again" is the second `list` of two that keep what they found out.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from dpcheck.engine import catalogue
from dpcheck.engine.records import Record
from dpcheck.engine.store import Store
from dpcheck.verdicts import holds

SIZES = (1_000, 10_000, 100_000)
A_FILE = 100
BOUNDS = """
from dpcheck.claims import Paper
PAPER = Paper(key="grown", title="A paper", authors="A. Author", reference="2026")
"""
CLAIM = 'c{n} = PAPER.claim("grown/lem-{n}", "Lemma {n}", "So it is.", kind="lemma")\n'
AUDITS = """
from dpcheck.checks import check
from dpcheck.verdicts import holds
"""
CHECK = """
@check("grown/lem-{claim}", "risk")
def check_{number}(context):
    return holds("so it is", "exact", numbers={{"value": float(context.rng().random())}})
"""
COMMANDS: dict[str, Sequence[str]] = {
    "collection": (sys.executable, "-c", "from dpcheck.engine import catalogue; catalogue.load()"),
    "list": (sys.executable, "-m", "dpcheck", "list"),
    "show": (sys.executable, "-m", "dpcheck", "show", "grown/lem-0"),
    "run of one": (sys.executable, "-m", "dpcheck", "run", "grown/lem-0::check_0", "--seed", "7", "--workers", "0"),
    "report": (sys.executable, "-m", "dpcheck", "report"),
    "merge": (sys.executable, "-m", "dpcheck", "merge", ".dpcheck/store.db", "--store", "merged.db"),
}

AGAIN = "list again"


def grown(root: Path, records: int) -> None:
    """A project of its own with a tenth as many checks as records, ten checks a statement."""
    checks = max(records // 10, 10)
    (root / "pyproject.toml").write_text('[tool.dpcheck]\ncontent = ["bounds", "audits"]\n')
    (root / "bounds").mkdir()
    (root / "bounds" / "grown.py").write_text(
        BOUNDS + "".join(CLAIM.format(n=n) for n in range(math.ceil(checks / 10)))
    )
    (root / "audits").mkdir()
    for first in range(0, checks, A_FILE):
        each = (CHECK.format(claim=n // 10, number=n) for n in range(first, min(first + A_FILE, checks)))
        (root / "audits" / f"part_{first}.py").write_text(AUDITS + "".join(each))
    found = catalogue.load(root)
    prints = found.fingerprints(found.checks)
    with Store(root / ".dpcheck" / "store.db") as store, store._transaction():
        for number in range(records):
            check = found.checks[f"grown/lem-{number % checks // 10}::check_{number % checks}"]
            record = Record(
                check=check.id, label=check.label, kind=check.kind, size="smoke", seed=number // checks,
                verdict=holds(f"value {number}", "exact", numbers={"value": number / 7}), expected=True, cells=1,
                sources=prints[check.id], created="2026-01-01T00:00:00.000+00:00",
            )  # fmt: skip
            store._add_record(record)


def seconds(command: Sequence[str], root: Path, cache: str = "") -> float:
    """CPU seconds of a command and its children, user and system; `cache`: the folder of what is kept, "" for none."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "DPCHECK_CACHE_DIR": cache, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 6):
        raise RuntimeError(f"{' '.join(command)}: {done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(sizes: Sequence[int], only: Sequence[str]) -> None:
    took: dict[str, list[float]] = {name: [] for name in (*COMMANDS, AGAIN) if not only or name in only}
    for records in sizes:
        with tempfile.TemporaryDirectory() as folder:
            begun = time.process_time()
            grown(Path(folder), records)
            spent = time.process_time() - begun
            print(f"{records:,} records of {max(records // 10, 10):,} checks, written in {spent:.0f} s")
            for name in took:
                cache = str(Path(folder, "cache")) if name == AGAIN else ""
                if name == AGAIN:
                    seconds(COMMANDS["list"], Path(folder), cache)
                took[name].append(seconds(COMMANDS.get(name, COMMANDS["list"]), Path(folder), cache))
                print(f"  {name:12} {took[name][-1]:8.2f}", flush=True)
    for name, values in took.items():
        powers = [
            f"{math.log(max(b, 1e-9) / a) / math.log(m / n):.2f}"
            for a, b, n, m in zip(values, values[1:], sizes, sizes[1:], strict=False)
        ]
        print(f"{name:12} grows with the power {' then '.join(powers)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="CPU seconds of commands as checks and records grow.")
    parser.add_argument("records", nargs="*", type=float, default=SIZES)
    parser.add_argument("--only", action="append", default=[], choices=[*COMMANDS, AGAIN])
    asked = parser.parse_args()
    main([int(size) for size in asked.records], asked.only)
