"""The store: finished cells and records in one SQLite file, only ever added to, and anytime audits under way.

Every cell is committed by itself in write-ahead mode: a process killed at any moment loses no finished cell, and the
next run of the same command goes on where it stopped.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from dpcheck.checks import Measurement
from dpcheck.engine.measurements import decode, encode
from dpcheck.engine.records import Record
from dpcheck.errors import StoreError

SCHEMA_VERSION = 1

_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE cells (
    check_id TEXT NOT NULL, cell TEXT NOT NULL, size TEXT NOT NULL, seed INTEGER NOT NULL, sources TEXT NOT NULL,
    measured TEXT NOT NULL, seconds REAL NOT NULL, created TEXT NOT NULL,
    PRIMARY KEY (check_id, cell, size, seed, sources)
) STRICT;
CREATE TABLE records (
    id INTEGER PRIMARY KEY, check_id TEXT NOT NULL, record TEXT NOT NULL, created TEXT NOT NULL,
    UNIQUE (record, created)
) STRICT;
CREATE TABLE failures (
    id INTEGER PRIMARY KEY, check_id TEXT NOT NULL, cell TEXT NOT NULL, size TEXT NOT NULL, seed INTEGER NOT NULL,
    sources TEXT NOT NULL, message TEXT NOT NULL, trace TEXT NOT NULL, created TEXT NOT NULL,
    UNIQUE (check_id, cell, size, seed, sources, created)
) STRICT;
"""

_AUDITS = """
CREATE TABLE IF NOT EXISTS audits (
    mechanism TEXT NOT NULL, identity TEXT NOT NULL, state TEXT NOT NULL, created TEXT NOT NULL,
    PRIMARY KEY (mechanism, identity)
) STRICT
"""
"""Anytime audits under way; made on first use, so that stores without it stay readable by every version."""


@dataclass(frozen=True)
class CellKey:
    """What makes a cell's result: change one of these and it is another cell."""

    check: str
    cell: str
    size: str
    seed: int
    sources: str


@dataclass(frozen=True)
class Failure:
    """A cell, or the conclusion of a check (cell ""), that raised."""

    key: CellKey
    message: str
    trace: str
    created: str = ""


def now() -> str:
    """The time in UTC, as records keep it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


class Store:
    """One SQLite file of cells, records and failures.

    Args:
        path: made, with its folder, when it does not exist.

    Raises:
        StoreError: not writable, not a store, or written by a newer dpcheck; the file is left as it is.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        with self._guarded("open"):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        try:
            self._prepare()
        except StoreError:
            self._db.close()
            raise

    def _prepare(self) -> None:
        with self._guarded("open"):
            version = _version(self._db)
            if version is not None and version > SCHEMA_VERSION:
                raise StoreError(
                    f"the store {self.path} has schema {version}, this dpcheck knows {SCHEMA_VERSION}; "
                    "upgrade dpcheck, or give another --store"
                )
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            if version is None:
                self._create()
            # A read-only file opens without complaint: find out now, not after the first cell was computed.
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("UPDATE meta SET value = value WHERE name = 'schema_version'")
            self._db.execute("ROLLBACK")

    def _create(self) -> None:
        with self._transaction():
            if _version(self._db) is not None:  # another process was faster
                return
            tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if tables:
                raise StoreError(f"{self.path} is a SQLite file but not a store of dpcheck; give another --store")
            for statement in _SCHEMA.split(";"):
                if statement.strip():
                    self._db.execute(statement)
            self._db.execute("INSERT INTO meta VALUES ('schema_version', ?)", (str(SCHEMA_VERSION),))

    # -- writing ------------------------------------------------------------------------------------------------

    def add_cell(self, key: CellKey, measured: Measurement | str, seconds: float = 0.0) -> None:
        """Keeps a finished cell at once; a cell that is there already is left as it is."""
        text = measured if isinstance(measured, str) else encode(measured)
        row = (key.check, key.cell, key.size, key.seed, key.sources, text, seconds, now())
        with self._guarded("write"), self._transaction():
            self._db.execute("INSERT OR IGNORE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def add_record(self, record: Record) -> None:
        """Keeps a record; older ones stay."""
        text = json.dumps(record.to_dict(), ensure_ascii=False)
        with self._guarded("write"), self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO records (check_id, record, created) VALUES (?, ?, ?)",
                (record.check, text, record.created),
            )

    def add_failure(self, failure: Failure) -> None:
        """Keeps what a check raised; the cell itself stays open and is tried again by the next run."""
        key = failure.key
        row = (key.check, key.cell, key.size, key.seed, key.sources, failure.message, failure.trace, now())
        with self._guarded("write"), self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO failures (check_id, cell, size, seed, sources, message, trace, created) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )

    def keep_audit(self, mechanism: str, state: Mapping[str, Any]) -> None:
        """Keeps the state of an anytime audit in place of its earlier one.

        Args:
            mechanism: what the user calls it; state: `AuditResult.state`, with its identity under "audit".
        """
        row = (mechanism, json.dumps(state["audit"], sort_keys=True), json.dumps(state), now())
        with self._guarded("write"):
            self._db.execute(_AUDITS)
            with self._transaction():
                self._db.execute("INSERT OR REPLACE INTO audits VALUES (?, ?, ?, ?)", row)

    def merge(self, other: Path | str) -> int:
        """Takes over everything of another store; returns the number of cells that were new.

        Raises:
            StoreError: the other file is missing, or no store of this version.
        """
        with _reading(Path(other)) as source:
            columns = {
                "cells": "check_id, cell, size, seed, sources, measured, seconds, created",
                "records": "check_id, record, created",
                "failures": "check_id, cell, size, seed, sources, message, trace, created",
            }
            new = 0
            with self._guarded("write"), self._transaction():
                for table, names in columns.items():
                    marks = ", ".join("?" * len(names.split(",")))
                    order = "rowid" if table == "cells" else "id"
                    rows = source.execute(f"SELECT {names} FROM {table} ORDER BY {order}")
                    count = self._db.executemany(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", rows)
                    new += count.rowcount if table == "cells" else 0
        return new

    # -- reading ------------------------------------------------------------------------------------------------

    def cell(self, key: CellKey) -> Measurement | None:
        """The result of a cell, or None when it has not been finished."""
        found = self.cells(key.check, key.size, key.seed, key.sources).get(key.cell)
        return None if found is None else found[0]

    def cells(self, check: str, size: str, seed: int, sources: str) -> dict[str, tuple[Measurement, float]]:
        """Cell -> (result, seconds) of one check."""
        query = "SELECT cell, measured, seconds FROM cells WHERE check_id=? AND size=? AND seed=? AND sources=?"
        with self._guarded("read"):
            rows = self._db.execute(query, (check, size, seed, sources)).fetchall()
            return {cell: (decode(measured), seconds) for cell, measured, seconds in rows}

    def runs(self) -> list[tuple[str, int, set[str]]]:
        """(size, seed, ids of the checks that have cells) of every run."""
        found: dict[tuple[str, int], set[str]] = {}
        with self._guarded("read"):
            for check, size, seed in self._db.execute("SELECT DISTINCT check_id, size, seed FROM cells"):
                found.setdefault((size, seed), set()).add(check)
        return [(size, seed, found[size, seed]) for size, seed in sorted(found)]

    def durations(self, size: str) -> dict[tuple[str, str], float]:
        """(check, cell) -> longest time that it ever took at a size, in seconds, whatever its sources were."""
        with self._guarded("read"):
            rows = self._db.execute(
                "SELECT check_id, cell, max(seconds) FROM cells WHERE size = ? GROUP BY check_id, cell", (size,)
            )
            return {(check, cell): seconds for check, cell, seconds in rows}

    def records(self) -> list[Record]:
        """All records, in the order in which they were written."""
        with self._guarded("read"):
            return _records(self._db)

    def audits(self, mechanism: str) -> list[dict[str, Any]]:
        """States of the anytime audits of a mechanism, the latest first."""
        with self._guarded("read"):
            self._db.execute(_AUDITS)
            rows = self._db.execute(
                "SELECT state FROM audits WHERE mechanism = ? ORDER BY created DESC, rowid DESC", (mechanism,)
            )
            return [json.loads(text) for (text,) in rows]

    def failures(self) -> list[Failure]:
        """Everything that ever raised, in order."""
        with self._guarded("read"):
            return _failures(self._db)

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    # -- guards -------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    @contextlib.contextmanager
    def _guarded(self, what: str) -> Iterator[None]:
        """SQLite's and the system's complaints as one clear sentence."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise _unusable(self.path, what, error) from error


def read_records(path: Path) -> list[Record]:
    """All records of a store, without writing to it.

    Raises:
        StoreError: there is no such file, or it is no store of this version.
    """
    with _reading(path) as db:
        return _records(db)


def read_failures(path: Path) -> list[Failure]:
    """Everything that raised, without writing to the store; raises as `read_records` does."""
    with _reading(path) as db:
        return _failures(db)


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise StoreError(f"there is no store at {path}; `dpcheck run` makes one")
    try:
        db = sqlite3.connect(path, timeout=30)
        try:
            version = _version(db)
            if version is None or version > SCHEMA_VERSION:
                known = f"schema {version}, this dpcheck knows {SCHEMA_VERSION}" if version else "no store of dpcheck"
                raise StoreError(f"cannot read {path}: {known}")
            yield db
        finally:
            db.close()
    except sqlite3.Error as error:
        raise _unusable(path, "read", error) from error


def _records(db: sqlite3.Connection) -> list[Record]:
    return [Record.from_dict(json.loads(text)) for (text,) in db.execute("SELECT record FROM records ORDER BY id")]


def _failures(db: sqlite3.Connection) -> list[Failure]:
    rows = db.execute("SELECT check_id, cell, size, seed, sources, message, trace, created FROM failures ORDER BY id")
    return [Failure(CellKey(*row[:5]), *row[5:]) for row in rows]


def _version(db: sqlite3.Connection) -> int | None:
    """The schema of a store; None for an empty or foreign file."""
    if not db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'meta'").fetchone()[0]:
        return None
    row: Any = db.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
    return int(row[0]) if row else None


def _unusable(path: Path, what: str, error: Exception) -> StoreError:
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return StoreError(f"cannot {what} the store {path}: {reason}; give a file in a writable folder by --store")
