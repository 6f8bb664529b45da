"""How long checks take, as it was measured once and kept beside the records: a run may leave out the dear ones."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dpcheck import foreign
from dpcheck.errors import InvalidInput

NAME = "seconds.json"
"""Size -> check -> CPU seconds of one process on the machine that measured them."""


def read(records: Path, size: str) -> Mapping[str, float]:
    """Check id -> seconds at a size; those that it does not name were quicker than all that it names.

    Args:
        records: the committed records; the file lies beside them.

    Raises:
        InvalidInput: there is no such file, or it does not say this of that size.
    """
    path = records.with_name(NAME)
    if not path.is_file():
        raise InvalidInput(f"{foreign.shown(path)} does not exist, so no cost is known; run without --limit")
    sizes = foreign.document(path)
    costs = sizes.get(size) if isinstance(sizes, dict) else None
    if costs is None:
        raise InvalidInput(f"{foreign.shown(path)} says nothing of size {size}; run without --limit")
    if not isinstance(costs, dict) or not all(isinstance(each, int | float) for each in costs.values()):
        raise InvalidInput(f"{foreign.shown(path)} names no seconds for size {size}; `make seconds` measures them")
    return costs
