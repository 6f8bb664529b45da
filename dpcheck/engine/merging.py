"""Stores brought together: what two of them hold, whether they belong to one run, and the sum of both.

Merging is a union: it may be done in any grouping and again and again. Of two results of one cell the first stays; of
two states of one audit the one in the newer form, then the one that has seen more.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dpcheck import foreign
from dpcheck.engine import sharding, stored
from dpcheck.engine.stored import CellKey


@dataclass(frozen=True)
class Merged:
    """What a merge took over: cells that were new, audits that had seen more, and cells that differ in the two.

    Attributes:
        lost: rows of the other store that could not be read.
    """

    cells: int
    differing: list[CellKey]
    audits: int
    lost: int = 0


AUDITS = """
CREATE TABLE IF NOT EXISTS audits (
    mechanism TEXT NOT NULL, identity TEXT NOT NULL, state TEXT NOT NULL, created TEXT NOT NULL,
    PRIMARY KEY (mechanism, identity)
) STRICT
"""
"""Anytime audits under way; made on first use, so that stores without it stay readable by every version."""
HELD = f"SELECT measured, versions, checksum, seconds FROM cells WHERE {stored.KEY}"
KEEP = "INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def take(db: sqlite3.Connection, source: sqlite3.Connection) -> Merged:
    """Takes over everything of another store into the one at `db`, inside of a transaction of it."""
    lost: list[str] = []
    cells, differing = _cells(db, source, lost)
    signed = {"records": ("record",), "failures": ()}
    for table, texts in signed.items():
        names = [name for name in stored.ordered(db, table) if name != "id"]
        there = stored.columns(source, table)
        shared = [name for name in names if name in there]
        insert = f"INSERT OR IGNORE INTO {table} ({', '.join(shared)}) VALUES ({', '.join('?' * len(shared))})"
        for row in _rows(source, table, ", ".join(shared), lost):
            values = dict(zip(shared, row, strict=True))
            if values.get("checksum") in (None, stored.checksum(*(values[name] for name in texts))):
                db.execute(insert, row)
    return Merged(cells, differing, _audits(db, source, lost), len(lost))


def _cells(db: sqlite3.Connection, source: sqlite3.Connection, lost: list[str]) -> tuple[int, list[CellKey]]:
    """The number of cells that were new, and those that two machines computed differently."""
    signed = "versions, checksum" if "checksum" in stored.columns(source, "cells") else "NULL, NULL"
    names = f"check_id, cell, size, seed, sources, measured, seconds, created, {signed}"
    new, differing = 0, []
    for *name, measured, seconds, created, versions, checksum in _rows(source, "cells", names, lost):
        key = CellKey(*name)
        if stored.sound(key, measured, versions, checksum) is None:
            continue  # damaged there, or unsigned: it is computed again here
        held = db.execute(HELD, name).fetchone()
        if held is None or stored.sound(key, *held) is None:
            db.execute(KEEP, (*name, measured, seconds, created, versions, checksum))
            new += 1
        elif held[0] != measured:
            differing.append(key)
    return new, differing


def _audits(db: sqlite3.Connection, source: sqlite3.Connection, lost: list[str]) -> int:
    if not stored.columns(source, "audits"):
        return 0
    db.execute(AUDITS)
    taken = 0
    query = "SELECT state FROM audits WHERE mechanism = ? AND identity = ?"
    for mechanism, identity, state, created in _rows(source, "audits", "mechanism, identity, state, created", lost):
        held = db.execute(query, (mechanism, identity)).fetchone()
        if held is None or stored.seen(state) > stored.seen(held[0]):
            db.execute("INSERT OR REPLACE INTO audits VALUES (?, ?, ?, ?)", (mechanism, identity, state, created))
            taken += 1
    return taken


_GAP = 1_000
"""So many rows in a row that cannot be read are the end of a damaged table."""


def _rows(source: sqlite3.Connection, table: str, names: str, lost: list[str]) -> Iterator[tuple[Any, ...]]:
    """All rows of a table that can be read, one by one where the file is damaged; `lost` takes the others."""
    last = 0
    try:
        for rowid, *row in source.execute(f"SELECT rowid, {names} FROM {table} ORDER BY rowid"):
            yield tuple(row)
            last = rowid
        return
    except sqlite3.DatabaseError:
        pass
    failed: list[str] = []
    while len(failed) < _GAP:
        last += 1
        try:
            row = source.execute(f"SELECT {names} FROM {table} WHERE rowid = ?", (last,)).fetchone()
        except sqlite3.DatabaseError:
            row = None
        if row is None:
            failed.append(f"{table}:{last}")
            continue
        yield row
        lost += failed
        failed.clear()
    lost.append(f"{table}:{last}")


# -- whether two stores belong together --------------------------------------------------------------------------------


@dataclass
class Contents:
    """Of which runs a store holds cells.

    Attributes:
        runs: (size, seed).
        sources: (check, size, seed) -> fingerprints.
        versions: (check, size, seed, fingerprint) -> versions of the packages, as text.
        splits: how cells are dealt into parts.
    """

    runs: set[tuple[str, int]] = field(default_factory=set)
    sources: dict[tuple[str, str, int], set[str]] = field(default_factory=dict)
    versions: dict[tuple[str, str, int, str], set[str]] = field(default_factory=dict)
    splits: dict[tuple[str, int], sharding.Seconds] = field(default_factory=dict)

    @classmethod
    def of(cls, db: sqlite3.Connection) -> Contents:
        contents = cls(splits=sharding.kept(db))
        versions = "versions" if "versions" in stored.columns(db, "cells") else "NULL"
        for check, size, seed, sources, by in db.execute(
            f"SELECT DISTINCT check_id, size, seed, sources, {versions} FROM cells"
        ):
            contents.runs.add((size, seed))
            contents.sources.setdefault((check, size, seed), set()).add(sources)
            if by is not None:
                contents.versions.setdefault((check, size, seed, sources), set()).add(by)
        return contents


def apart(one: Contents, other: Contents) -> str:
    """Why two stores are no parts of one run; "" when they may be."""
    if not one.runs or not other.runs:
        return ""
    for place, what in ((0, "size"), (1, "seed")):
        first, second = (sorted({run[place] for run in each.runs}) for each in (one, other))
        if first != second:
            return f"{what} {_listed(first)} in the one, {_listed(second)} in the other"
    shared = {size_parts for size_parts in one.splits if size_parts in other.splits}
    if any(one.splits[each] != other.splits[each] for each in shared):
        return "their shards were dealt by other known seconds, so that cells are in two of them and others in none"
    differing = [key for key in one.sources if key in other.sources and not one.sources[key] & other.sources[key]]
    if differing:
        return f"{differing[0][0]} was computed from other sources"
    return otherwise_computed(one, other)


def otherwise_computed(one: Contents, other: Contents) -> str:
    """Where two stores hold cells of one check from the same sources, but from other versions of packages; "" else."""
    for key, versions in one.versions.items():
        if key in other.versions and not versions & other.versions[key]:
            first, second = (stored.state_of(min(each)) or {} for each in (versions, other.versions[key]))
            names = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
            said = ", ".join(f"{name} {first.get(name)} and {second.get(name)}" for name in names)
            return f"{key[0]} was computed by {foreign.plain(said)}"
    return ""


def _listed(values: list[Any]) -> str:
    return foreign.plain(" and ".join(map(str, values)))
