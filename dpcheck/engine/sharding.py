"""Shards: the cells of one run dealt to k machines, the same way on each of them.

Cells are dealt longest first, always to the part with the least to do, by the seconds that a store knew when it was
first used for so many parts. These are kept with it: what a machine computes later does not change its part. Machines
that begin with copies of one store, or with empty ones, agree.
"""

from __future__ import annotations

import heapq
import json
import math
import sqlite3
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from dpcheck.engine import stored
from dpcheck.engine.stored import CellKey
from dpcheck.errors import DpcheckError

Seconds = Mapping[tuple[str, str], float]
"""(check, cell) -> how long it takes."""


class Weighted(NamedTuple):
    """A cell with what it weighs in a split."""

    seconds: float
    key: CellKey


def deal(keys: Iterable[CellKey], parts: int, seconds: Seconds) -> list[set[CellKey]]:
    """Disjoint parts that hold all cells, whatever the order of `keys`; a cell of unknown length counts as average."""
    known = [took for took in seconds.values() if 0 < took < math.inf]
    average = math.fsum(known) / len(known) if known else 1.0
    cells = [Weighted(seconds.get((key.check, key.cell), average), key) for key in keys]
    cells.sort(key=lambda cell: (-cell.seconds, cell.key.check, cell.key.cell))
    loads = [(0.0, 0, part) for part in range(parts)]
    dealt: list[set[CellKey]] = [set() for _ in range(parts)]
    for cell in cells:
        load, number, part = loads[0]
        dealt[part].add(cell.key)
        heapq.heapreplace(loads, (load + cell.seconds, number + 1, part))
    return dealt


_TABLE = """
CREATE TABLE IF NOT EXISTS splits (
    size TEXT NOT NULL, parts INTEGER NOT NULL, seconds TEXT NOT NULL, PRIMARY KEY (size, parts)
) STRICT
"""
"""What was known when a store was first used for a part; made on first use, and never merged."""


def settled(db: sqlite3.Connection, size: str, parts: int, known: Seconds) -> Seconds:
    """The seconds by which a store deals cells of a size into so many parts: those known when it was first asked."""
    db.execute(_TABLE)
    rows = [[check, cell, took] for (check, cell), took in sorted(known.items())]
    db.execute("INSERT OR IGNORE INTO splits VALUES (?, ?, ?)", (size, parts, json.dumps(rows)))
    return kept(db)[size, parts]


def kept(db: sqlite3.Connection) -> dict[tuple[str, int], Seconds]:
    """(size, number of parts) -> the seconds by which a store deals them; rows that make no sense know nothing."""
    if not stored.columns(db, "splits"):
        return {}
    return {(size, parts): _read(text) for size, parts, text in db.execute("SELECT size, parts, seconds FROM splits")}


def _read(text: str) -> Seconds:
    try:
        return {(str(check), str(cell)): float(took) for check, cell, took in stored.document(text)}
    except (DpcheckError, ValueError, TypeError):
        return {}
