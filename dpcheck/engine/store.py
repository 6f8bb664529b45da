"""The store: finished cells and records in one SQLite file, only ever added to, and anytime audits under way.

Every cell is committed by itself in write-ahead mode: a process killed at any moment loses no finished cell, and the
next run of the same command goes on where it stopped. What is read is not believed: a cell carries a checksum and is
computed again when it does not fit, and a row that is no record is named and left out.
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

from dpcheck import foreign
from dpcheck.checks import Measurement
from dpcheck.engine import stored
from dpcheck.engine.measurements import encode
from dpcheck.engine.records import Record, Refused
from dpcheck.engine.stored import Cell, CellKey
from dpcheck.errors import StoreError

SCHEMA_VERSION = 2

_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE cells (
    check_id TEXT NOT NULL, cell TEXT NOT NULL, size TEXT NOT NULL, seed INTEGER NOT NULL, sources TEXT NOT NULL,
    measured TEXT NOT NULL, seconds REAL NOT NULL, created TEXT NOT NULL, versions TEXT, checksum TEXT,
    PRIMARY KEY (check_id, cell, size, seed, sources)
) STRICT;
CREATE TABLE records (
    id INTEGER PRIMARY KEY, check_id TEXT NOT NULL, record TEXT NOT NULL, created TEXT NOT NULL, checksum TEXT,
    UNIQUE (record, created)
) STRICT;
CREATE TABLE failures (
    id INTEGER PRIMARY KEY, check_id TEXT NOT NULL, cell TEXT NOT NULL, size TEXT NOT NULL, seed INTEGER NOT NULL,
    sources TEXT NOT NULL, message TEXT NOT NULL, trace TEXT NOT NULL, created TEXT NOT NULL,
    UNIQUE (check_id, cell, size, seed, sources, created)
) STRICT;
"""

_OF_VERSION_1 = (
    "ALTER TABLE cells ADD COLUMN versions TEXT",
    "ALTER TABLE cells ADD COLUMN checksum TEXT",
    "ALTER TABLE records ADD COLUMN checksum TEXT",
)
"""What a store of schema 1 lacks; its cells, which carry no checksum, are computed again when they are asked for."""

_HELD = f"SELECT measured, versions, checksum FROM cells WHERE {stored.KEY}"

_AUDITS = """
CREATE TABLE IF NOT EXISTS audits (
    mechanism TEXT NOT NULL, identity TEXT NOT NULL, state TEXT NOT NULL, created TEXT NOT NULL,
    PRIMARY KEY (mechanism, identity)
) STRICT
"""
"""Anytime audits under way; made on first use, so that stores without it stay readable by every version."""


@dataclass(frozen=True)
class Failure:
    """A cell, or the conclusion of a check (cell ""), that raised."""

    key: CellKey
    message: str
    trace: str
    created: str = ""


@dataclass(frozen=True)
class Merged:
    """What a merge took over: cells that were new, audits that had seen more, and cells that differ in the two."""

    cells: int
    differing: list[CellKey]
    audits: int


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
            self._db.text_factory = stored.text
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
            elif version < SCHEMA_VERSION:
                self._renew()
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

    def _renew(self) -> None:
        """Brings a store of schema 1 up to date."""
        with self._transaction():
            if _version(self._db) == 1:  # no other process was faster
                for statement in _OF_VERSION_1:
                    self._db.execute(statement)
                self._db.execute("UPDATE meta SET value = ? WHERE name = 'schema_version'", (str(SCHEMA_VERSION),))

    # -- writing ------------------------------------------------------------------------------------------------

    def add_cell(
        self,
        key: CellKey,
        measured: Measurement | str,
        seconds: float = 0.0,
        versions: Mapping[str, str] | None = None,
    ) -> None:
        """Keeps a finished cell at once; one that is there already is left as it is, unless it is damaged.

        Args:
            versions: of the packages that computed it.
        """
        text = measured if isinstance(measured, str) else encode(measured)
        by = json.dumps(dict(versions or {}), sort_keys=True)
        name = (key.check, key.cell, key.size, key.seed, key.sources)
        with self._guarded("write"), self._transaction():
            held = self._db.execute(
                f"SELECT measured, versions, checksum FROM cells WHERE {stored.KEY}", name
            ).fetchone()
            if held is None or stored.sound(key, *held) is None:
                row = (*name, text, seconds, now(), by, stored.checksum(*name, text, by))
                self._db.execute("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def add_record(self, record: Record) -> None:
        """Keeps a record; older ones stay."""
        text = json.dumps(record.to_dict(), ensure_ascii=False)
        with self._guarded("write"), self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO records (check_id, record, created, checksum) VALUES (?, ?, ?, ?)",
                (record.check, text, record.created, stored.checksum(text)),
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

    def keep_audit(self, mechanism: str, state: Mapping[str, Any]) -> bool:
        """Keeps the state of an anytime audit in place of its earlier one, unless that one has seen more.

        Args:
            mechanism: what the user calls it; state: `AuditResult.state`, with its identity under "audit".

        Returns:
            Whether it was kept: a larger audit of the same identity is never replaced by a smaller one.
        """
        identity = json.dumps(state["audit"], sort_keys=True)
        with self._guarded("write"):
            self._db.execute(_AUDITS)
            with self._transaction():
                query = "SELECT state FROM audits WHERE mechanism = ? AND identity = ?"
                held = self._db.execute(query, (mechanism, identity)).fetchone()
                text = json.dumps(state)
                if held is not None and stored.stays(held[0], text):
                    return False
                row = (mechanism, identity, text, now())
                self._db.execute("INSERT OR REPLACE INTO audits VALUES (?, ?, ?, ?)", row)
        return True

    def merge(self, other: Path | str) -> Merged:
        """Takes over everything of another store, of audits under way the one that has seen more.

        Raises:
            StoreError: the other file is missing, or no store of this version.
        """
        with _reading(Path(other)) as source, self._guarded("write"), self._transaction():
            cells, differing = self._merge_cells(source)
            columns = {
                "records": ("check_id, record, created", "checksum"),
                "failures": ("check_id, cell, size, seed, sources, message, trace, created", ""),
            }
            for table, (names, further) in columns.items():
                if further and further in stored.columns(source, table):
                    names += f", {further}"
                marks = ", ".join("?" * len(names.split(",")))
                rows = source.execute(f"SELECT {names} FROM {table} ORDER BY id")
                self._db.executemany(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", rows)
            audits = self._merge_audits(source)
        return Merged(cells, differing, audits)

    def _merge_cells(self, source: sqlite3.Connection) -> tuple[int, list[CellKey]]:
        """The number of cells that were new, and those that two machines computed differently."""
        signed = "versions, checksum" if "checksum" in stored.columns(source, "cells") else "NULL, NULL"
        rows = source.execute(
            "SELECT check_id, cell, size, seed, sources, measured, seconds, created, "
            f"{signed} FROM cells ORDER BY rowid"
        )
        new, differing = 0, []
        for *name, measured, seconds, created, versions, checksum in rows:
            key = CellKey(*name)
            held = self._db.execute(
                f"SELECT measured, versions, checksum FROM cells WHERE {stored.KEY}", name
            ).fetchone()
            if stored.sound(key, measured, versions, checksum) is None:
                continue  # damaged there, or unsigned: it is computed again here
            if held is None or stored.sound(key, *held) is None:
                row = (*name, measured, seconds, created, versions, checksum)
                self._db.execute("INSERT OR REPLACE INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
                new += 1
            elif held[0] != measured:
                differing.append(key)
        return new, differing

    def _merge_audits(self, source: sqlite3.Connection) -> int:
        if not stored.columns(source, "audits"):
            return 0
        self._db.execute(_AUDITS)
        taken = 0
        query = "SELECT state FROM audits WHERE mechanism = ? AND identity = ?"
        for mechanism, identity, state, created in source.execute(
            "SELECT mechanism, identity, state, created FROM audits ORDER BY rowid"
        ):
            held = self._db.execute(query, (mechanism, identity)).fetchone()
            if held is None or stored.stays(state, held[0]):
                self._db.execute(
                    "INSERT OR REPLACE INTO audits VALUES (?, ?, ?, ?)", (mechanism, identity, state, created)
                )
                taken += 1
        return taken

    # -- reading ------------------------------------------------------------------------------------------------

    def cell(self, key: CellKey) -> Measurement | None:
        """The result of a cell, or None when it has not been finished, or is damaged."""
        found = self.cells(key.check, key.size, key.seed, key.sources).get(key.cell)
        return None if found is None else found.measured

    def cells(
        self, check: str, size: str, seed: int, sources: str, damaged: list[str] | None = None
    ) -> dict[str, Cell]:
        """Cell -> what was found there, of one check.

        Args:
            damaged: takes the cells whose checksum does not fit, or that cannot be read; they count as not finished.
        """
        query = (
            "SELECT cell, measured, versions, checksum, seconds FROM cells "
            "WHERE check_id=? AND size=? AND seed=? AND sources=?"
        )
        with self._guarded("read"):
            rows = self._db.execute(query, (check, size, seed, sources)).fetchall()
        found = {}
        for cell, *row in rows:
            whole = stored.sound(CellKey(check, cell, size, seed, sources), *row)
            if whole is not None:
                found[cell] = whole
            elif damaged is not None:
                damaged.append(f"{check} {cell}")
        return found

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

    def records(self, refused: list[Refused] | None = None) -> list[Record]:
        """All records, in the order in which they were written; `refused` as in `read_records`."""
        with self._guarded("read"):
            return stored.records_of(self._db, self.path, refused)

    def audits(self, mechanism: str) -> list[dict[str, Any]]:
        """States of the anytime audits of a mechanism, the latest first; what is no JSON object is left out."""
        with self._guarded("read"):
            self._db.execute(_AUDITS)
            rows = self._db.execute(
                "SELECT state FROM audits WHERE mechanism = ? ORDER BY created DESC, rowid DESC", (mechanism,)
            )
            states = [stored.state_of(text) for (text,) in rows]
        return [state for state in states if state is not None]

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
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            raise _unusable(self.path, what, error) from error


def read_records(path: Path, refused: list[Refused] | None = None) -> list[Record]:
    """All records of a store, without writing to it.

    Args:
        refused: takes the rows that are no records, which are then left out; without it the first one raises.

    Raises:
        StoreError: there is no such file, it is no store of this version, or a row of it is no record.
    """
    with _reading(path) as db:
        return stored.records_of(db, path, refused)


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
            db.text_factory = stored.text
            version = _version(db)
            if version is None or version > SCHEMA_VERSION:
                known = f"schema {version}, this dpcheck knows {SCHEMA_VERSION}" if version else "no store of dpcheck"
                raise StoreError(f"cannot read {path}: {known}")
            yield db
        finally:
            db.close()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise _unusable(path, "read", error) from error


def _failures(db: sqlite3.Connection) -> list[Failure]:
    rows = db.execute("SELECT check_id, cell, size, seed, sources, message, trace, created FROM failures ORDER BY id")
    return [Failure(CellKey(*row[:5]), *row[5:]) for row in rows]


def _version(db: sqlite3.Connection) -> int | None:
    """The schema of a store; None for an empty or foreign file."""
    if not db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'meta'").fetchone()[0]:
        return None
    row: Any = db.execute("SELECT value FROM meta WHERE name = 'schema_version'").fetchone()
    if row is None:
        return None
    if not str(row[0]).isdecimal() or not 1 <= int(row[0]) < 10**6:
        raise StoreError(f"a store has a schema version of at least 1, this one says {foreign.shortened(row[0])}")
    return int(row[0])


def _unusable(path: Path, what: str, error: Exception) -> StoreError:
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    damaged = isinstance(error, UnicodeDecodeError) or "malformed" in reason or "not a database" in reason
    cure = (
        "the file is damaged, or no store: move it away" if damaged else "give a file in a writable folder by --store"
    )
    return StoreError(f"cannot {what} the store {path}: {reason}; {cure}")
