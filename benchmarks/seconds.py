"""Writes reports/seconds.json: CPU seconds of every check at smoke size that takes more than half a second.

`make seconds` runs the suite into a store of its own, one process at a time, and this on it.
"""

from __future__ import annotations

import json
import pathlib
import sys
from collections import Counter

from dpcheck.engine import costs
from dpcheck.engine.store import Store

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEAST = 0.5
SIZE = "smoke"


def main(path: str) -> None:
    taken: Counter[str] = Counter()
    with Store(pathlib.Path(path)) as store:
        for (check, _), seconds in store.durations(SIZE).items():
            taken[check] += seconds
    kept = {check: round(seconds, 1) for check, seconds in sorted(taken.items()) if seconds >= LEAST}
    text = json.dumps({SIZE: kept}, indent=1) + "\n"
    (ROOT / "reports" / costs.NAME).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
