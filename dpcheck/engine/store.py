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
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeGuard

from dpcheck import foreign
from dpcheck.checks import Measurement
from dpcheck.engine import merging, sharding, stored
from dpcheck.engine.measurements import encode
from dpcheck.engine.merging import Contents, Merged
from dpcheck.engine.records import Record, Refused, Unread, committed
from dpcheck.engine.sharding import Seconds
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

_PATIENCE = 30
"""Seconds that one run waits for another that writes."""

_INDEX = "CREATE INDEX IF NOT EXISTS records_of_check ON records (check_id, created)"


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
            self._db = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None)
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
            self._write_ahead()
            self._db.execute("PRAGMA synchronous = NORMAL")
            if version is None:
                self._create()
            elif version < SCHEMA_VERSION:
                self._renew()
            self._db.execute(_INDEX)
            # A read-only file opens without complaint: find out now, not after the first cell was computed.
            self._db.execute("BEGIN IMMEDIATE")
            self._db.execute("UPDATE meta SET value = value WHERE name = 'schema_version'")
            self._db.execute("ROLLBACK")

    def _write_ahead(self) -> None:
        """Switches to write-ahead mode; of two runs that begin on a new file at once one is refused, and waits."""
        until = time.monotonic() + _PATIENCE
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
            time.sleep(0.01)

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
            held = self._db.execute(merging.HELD, name).fetchone()
            if held is None or stored.sound(key, *held) is None:
                row = (*name, text, seconds, now(), by, stored.checksum(*name, text, by))
                self._db.execute(merging.KEEP, row)

    def conclude(self, record: Record, refused: list[Refused] | None = None) -> None:
        """Keeps a record, unless the last one of its check, size and seed says the same.

        Args:
            refused: takes the rows of this check that are no records.
        """
        with self._guarded("write"), self._transaction():
            known = stored.records_of(self._db, self.path, [] if refused is None else refused, record.check)
            last = next((r for r in reversed(known) if (r.size, r.seed) == (record.size, record.seed)), None)
            if last is None or committed(last) != committed(record):
                self._add_record(replace(record, created=self._stamp(record.check, record.created)))

    def add_record(self, record: Record) -> None:
        """Keeps a record; older ones stay."""
        with self._guarded("write"), self._transaction():
            self._add_record(record)

    def _add_record(self, record: Record) -> None:
        text = json.dumps(record.to_dict(), ensure_ascii=False)
        self._db.execute(
            "INSERT OR IGNORE INTO records (check_id, record, created, checksum) VALUES (?, ?, ?, ?)",
            (record.check, text, record.created, stored.checksum(text)),
        )

    def _stamp(self, check: str, created: str) -> str:
        """A time that is not before those of a check's rows: the later of two rows is the newer, though clocks jump."""
        queries = (f"SELECT max(created) FROM {table} WHERE check_id = ?" for table in ("records", "failures"))
        known = (self._db.execute(query, (check,)).fetchone()[0] for query in queries)
        return max([created, *filter(_is_time, known)])

    def add_failure(self, failure: Failure) -> None:
        """Keeps what a check raised; the cell itself stays open and is tried again by the next run."""
        key = failure.key
        row = (key.check, key.cell, key.size, key.seed, key.sources, failure.message, failure.trace)
        with self._guarded("write"), self._transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO failures (check_id, cell, size, seed, sources, message, trace, created) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, self._stamp(key.check, now())),
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
            self._db.execute(merging.AUDITS)
            with self._transaction():
                query = "SELECT state FROM audits WHERE mechanism = ? AND identity = ?"
                held = self._db.execute(query, (mechanism, identity)).fetchone()
                text = json.dumps(state)
                if held is not None and stored.seen(held[0]) > stored.seen(text):
                    return False
                row = (mechanism, identity, text, now())
                self._db.execute("INSERT OR REPLACE INTO audits VALUES (?, ?, ?, ?)", row)
        return True

    def merge(self, other: Path | str) -> Merged:
        """Takes over everything of another store that can be read; see `dpcheck.engine.merging`.

        Raises:
            StoreError: the other file is missing, or no store of this version.
        """
        with reading(Path(other)) as source, self._guarded("write"), self._transaction():
            return merging.take(self._db, source)

    def seconds_of_split(self, size: str, parts: int, known: Seconds) -> Seconds:
        """By what the cells of a size are dealt into parts; see `dpcheck.engine.sharding`."""
        with self._guarded("write"), self._transaction():
            return sharding.settled(self._db, size, parts, known)

    @contextlib.contextmanager
    def at_work(self) -> Iterator[bool]:
        """Says that a run is under way, until it ends or dies; gives whether it is the only one on this store."""
        try:
            import fcntl
        except ImportError:  # Windows: two runs then compute the same cells
            yield True
            return
        with self._guarded("lock"), self.path.with_name(self.path.name + "-running").open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                alone = True
            except OSError:
                alone = False
            yield alone

    # -- reading ------------------------------------------------------------------------------------------------

    def cell(self, key: CellKey) -> Measurement | None:
        """The result of a cell, or None when it has not been finished, or is damaged."""
        cell = self.found(key)
        return None if cell is None else cell.measured

    def found(self, key: CellKey) -> Cell | None:
        """A finished cell, or None when it has not been finished, or is damaged."""
        with self._guarded("read"):
            row = self._db.execute(merging.HELD, (key.check, key.cell, key.size, key.seed, key.sources)).fetchone()
        return None if row is None else stored.sound(key, *row)

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
        by_cell = {}
        for cell, *row in rows:
            whole = stored.sound(CellKey(check, cell, size, seed, sources), *row)
            if whole is not None:
                by_cell[cell] = whole
            elif damaged is not None:
                damaged.append(f"{check} {cell}")
        return by_cell

    def runs(self) -> list[tuple[str, int, set[str]]]:
        """(size, seed, ids of the checks that have cells) of every run."""
        by_pair: dict[tuple[str, int], set[str]] = {}
        with self._guarded("read"):
            for check, size, seed in self._db.execute("SELECT DISTINCT check_id, size, seed FROM cells"):
                by_pair.setdefault((size, seed), set()).add(check)
        return [(size, seed, by_pair[size, seed]) for size, seed in sorted(by_pair)]

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
            self._db.execute(merging.AUDITS)
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
        """Leaves one file, which can be read where nothing can be written, unless others are using it."""
        with contextlib.suppress(sqlite3.Error):
            self._db.execute("PRAGMA busy_timeout = 0")
            self._db.execute("PRAGMA journal_mode = DELETE")
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
    with reading(path) as db:
        return stored.records_of(db, path, refused)


def glance(path: Path, refused: list[Refused]) -> list[Record | Unread]:
    """As `read_records`, but rows that may be records are left unread: see `dpcheck.engine.records.Unread`."""
    with reading(path) as db:
        return stored.unread_of(db, path, refused)


def read_failures(path: Path) -> list[Failure]:
    """Everything that raised, without writing to the store; raises as `read_records` does."""
    with reading(path) as db:
        return _failures(db)


def belong_together(others: Sequence[Path], into: Path) -> None:
    """Raises `StoreError` where stores that are to be merged are no parts of one run."""
    contents = []
    for path in others:
        with reading(path) as db, contextlib.suppress(sqlite3.DatabaseError):  # of a damaged one, what can be read
            contents.append((path, Contents.of(db)))
    pairs = [(*contents[0], *each, merging.apart) for each in contents[1:]]
    if into.is_file():
        with reading(into) as db:
            here = Contents.of(db)
        pairs += [(into, here, *each, merging.otherwise_computed) for each in contents]
    for one, first, other, second, asked in pairs:
        if why := asked(first, second):
            names = f"{foreign.shown(one)} and {foreign.shown(other)}"
            raise StoreError(f"{names} are no parts of one run: {why}; --mixed joins them all the same")


@contextlib.contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    if not path.is_file():
        raise StoreError(f"there is no store at {path}; `dpcheck run` makes one")
    try:
        db = _connected(path)
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


def _connected(path: Path) -> sqlite3.Connection:
    """Also of a file on a medium that cannot be written, where write-ahead mode would need a file beside it."""
    db = sqlite3.connect(path, timeout=_PATIENCE)
    try:
        db.execute("SELECT count(*) FROM sqlite_master")
    except sqlite3.OperationalError:
        db.close()
        beside = path.with_name(path.name + "-wal")
        if beside.exists() and beside.stat().st_size:
            raise
        db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    except sqlite3.Error:
        db.close()
        raise
    return db


def _is_time(text: object) -> TypeGuard[str]:
    try:
        return isinstance(text, str) and bool(datetime.datetime.fromisoformat(text))
    except ValueError:
        return False


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
    damaged = isinstance(error, UnicodeDecodeError) or "malformed" in reason
    cure = "give a file in a writable folder by --store" if what != "read" else "name one that `dpcheck run` made"
    if "no such table" in reason or "no such column" in reason or "not a database" in reason:
        cure = "it is none of dpcheck, or has lost a part: name one that `dpcheck run` made"
    if damaged:
        saves = f"`dpcheck merge {foreign.shown(path)} --store new.db` saves what can be read of it"
        cure = f"the file is damaged: move it away; {saves}"
    elif what == "write":
        cure = f"finished cells are kept: make room and run the same command again, or {cure}"
    return StoreError(f"cannot {what} the store {path}: {reason}; {cure}")
