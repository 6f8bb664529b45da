"""CPU seconds of the commands that should answer at once: of a fresh clone (first), and after that (second).

`python benchmarks/bench_commands.py` prints a table; it is no part of `make bench`, whose clock is that of the wall.
The first call of a command finds an empty folder of kept work, and what comes with the package; the second what the
first has left there. `--cold` adds a column of calls that find neither, as the first one after an edit. Words that
are given besides choose commands: `… --cold list "show tsybakov"`.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIZES = ("--n", "1e6", "--d", "10", "--epsilon", "0.5", "--delta", "1e-6")
# The run ends where its first check would begin: its catalogue is there, its checks are chosen, their sources hashed.
RUN = """
import sys
from dpcheck.cli import main
from dpcheck.engine.run import CheckRunner
CheckRunner.run = lambda self: sys.exit(0)
main()
"""
DPCHECK = (sys.executable, "-m", "dpcheck")
COMMANDS: dict[str, Sequence[str]] = {
    "import dpcheck": (sys.executable, "-c", "import dpcheck"),
    "dpcheck show lp_spaces/thm-7": (*DPCHECK, "show", "lp_spaces/thm-7"),
    "dpcheck show tsybakov/thm-1": (*DPCHECK, "show", "tsybakov/thm-1"),
    "dpcheck show tsybakov/alg-3": (*DPCHECK, "show", "tsybakov/alg-3"),
    "dpcheck show nosuch/label": (*DPCHECK, "show", "nosuch/label"),
    "dpcheck list": (*DPCHECK, "list"),
    "dpcheck list --paper lp_spaces": (*DPCHECK, "list", "--paper", "lp_spaces"),
    "dpcheck plan lp_spaces/alg-3": (*DPCHECK, "plan", "lp_spaces/alg-3", *SIZES),
    "dpcheck plan l1_geometry/alg-3": (*DPCHECK, "plan", "l1_geometry/alg-3", *SIZES),
    "dpcheck run lp_spaces/thm-7, to its first check": (sys.executable, "-c", RUN, "run", "lp_spaces/thm-7"),
    "pytest --collect-only": (sys.executable, "-m", "pytest", "--collect-only", "-p", "no:cacheprovider"),
}


def seconds(command: Sequence[str], cache: str, store: str) -> float:
    """CPU seconds of a command and its children, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    given = [*command, "--store", store] if "run" in command else command
    environment = {**os.environ, "DPCHECK_CACHE_DIR": cache, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = ""  # an installed copy is compiled
    done = subprocess.run(given, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if "Traceback" in done.stderr:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(given: Sequence[str]) -> None:
    cold, wanted = "--cold" in given, [word for word in given if word != "--cold"]
    print(f"{'CPU seconds':50} {'first':>7} {'second':>7}" + f" {'cold':>7}" * cold)
    for name, command in COMMANDS.items():
        if wanted and not any(word in name for word in wanted):
            continue
        with tempfile.TemporaryDirectory() as folder:
            store = str(Path(folder, "store.db"))
            first, *later = (seconds(command, str(Path(folder, "cache")), store) for _ in range(4))
            nothing = f" {seconds(command, '', store):7.2f}" if cold else ""
            print(f"{name:50} {first:7.2f} {min(later):7.2f}{nothing}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
