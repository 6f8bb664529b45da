"""The failure database: what was refuted last, a file for each audit, so that the next session tries it first.

On the same sources it is the same audit again, with its seed, its runs and its failure probability: nothing new is
claimed, and nothing is spent. On changed ones it is a new audit of as many runs, with a seed of its own and its share
of the session: a seed that was seen to fail proves nothing about other sources.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpcheck import foreign
from dpcheck.errors import InvalidInput

Key = tuple[str, int]
MOST_RUNS = 10**9


class Failures:
    """A folder of rows, as `--dpcheck-json` has them; only the controller writes into it.

    Attributes:
        remarks: on files that are no such row, which are left alone, and on what cannot be written; a sentence each.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._rows: dict[Key, dict[str, Any]] = {}
        self.remarks: list[str] = []

    def read(self) -> None:
        for path in sorted(self._folder.glob("*.json")):
            try:
                row = _checked(foreign.document(path))
            except InvalidInput as error:
                self.remarks.append(f"{foreign.shown(path)} is no failure that can be tried again: {error}")
            else:
                self._rows[row["test"], row["number"]] = row

    @property
    def sent(self) -> str:
        """For workers: all of them know what the controller knew when it began, whenever they begin."""
        return json.dumps(list(self._rows.values()))

    def receive(self, sent: str) -> None:
        self._rows = {(row["test"], row["number"]): row for row in json.loads(sent)}

    @property
    def tests(self) -> set[str]:
        return {test for test, _ in self._rows}

    def get(self, test: str, number: int) -> Mapping[str, Any] | None:
        return self._rows.get((test, number))

    def take(self, row: dict[str, Any]) -> None:
        """Keeps a refutation that failed its test, and forgets one that is not found any more."""
        named = f"{row['test']} #{row['number']}"
        path = self._folder / f"{hashlib.sha256(named.encode()).hexdigest()[:16]}.json"
        try:
            if row["outcome"] == "refuted" and not row["passed"]:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(json.dumps(row, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            elif row["passed"] and row["outcome"] not in ("undecided", "skipped"):
                path.unlink(missing_ok=True)
        except OSError as error:
            self.remarks.append(f"this failure cannot be kept for the next session: {error}")


def _checked(row: Any) -> dict[str, Any]:
    """What is used of a file that may come from elsewhere. Raises `InvalidInput`."""
    if not isinstance(row, dict):
        raise InvalidInput(f"a {type(row).__name__} where an object should be")
    wanted = {"test": str, "number": int, "kind": str, "seed": int, "runs": int, "mode": str, "identity": dict}
    for name, kind in wanted.items():
        if not isinstance(row.get(name), kind) or isinstance(row[name], bool):
            raise InvalidInput(f"the field {name!r} is {foreign.shortened(row.get(name))}")
    if not (0 <= row["seed"] < 2**63 and 0 <= row["runs"] <= MOST_RUNS and row["number"] >= 1):
        raise InvalidInput(f"seed {row['seed']}, runs {row['runs']} or number {row['number']} is out of range")
    row["failure_probability"] = float(foreign.probability(row.get("failure_probability")))
    if row["kind"] == "check" and row.get("size") not in ("smoke", "standard", "full"):
        raise InvalidInput(f"the field 'size' is {foreign.shortened(row.get('size'))}")
    return row
