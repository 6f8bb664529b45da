"""Lines and branches covered of each part that [tool.coverage.run] includes: `make coverage` ends with this table.

Takes the JSON of coverage; fails where a part has fewer than `fail_under` per cent of either, or was not measured.
"""

from __future__ import annotations

import fnmatch
import json
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def percents(files: dict[str, Any], part: str) -> tuple[float, float]:
    """Of lines and of branches, of a file or of all files below a folder (`folder/*`); 0 where none was measured."""
    found = [said["summary"] for name, said in files.items() if fnmatch.fnmatchcase(name, part)]

    def share(covered: str, of: str) -> float:
        return 100 * sum(each[covered] for each in found) / max(1, sum(each[of] for each in found))

    return share("covered_lines", "num_statements"), share("covered_branches", "num_branches")


def main(path: str) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["coverage"]
    files, least = json.loads(Path(path).read_text(encoding="utf-8"))["files"], settings["report"]["fail_under"]
    found = {part: percents(files, part) for part in settings["run"]["include"]}
    print(f"{'part':<24} {'lines':>8} {'branches':>9}")
    for part, (lines, branches) in found.items():
        print(f"{part:<24} {lines:>6.1f} % {branches:>7.1f} %")
    low = [part for part, both in found.items() if min(both) < least]
    sys.exit(f"fewer than {least} % of {', '.join(low)}; see {path}" if low else 0)


if __name__ == "__main__":
    main(sys.argv[1])
