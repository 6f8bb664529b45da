"""Rows of a store, read without believing them: checksums, text that is no text, states that are none."""

from __future__ import annotations

import functools
import hashlib
import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcheck import foreign
from dpcheck.checks import Measurement
from dpcheck.engine import records
from dpcheck.engine.measurements import decode
from dpcheck.engine.records import Record, Refused, Unread
from dpcheck.errors import DpcheckError, StoreError


@dataclass(frozen=True)
class CellKey:
    """What makes a cell's result: change one of these and it is another cell."""

    check: str
    cell: str
    size: str
    seed: int
    sources: str


@dataclass(frozen=True)
class Cell:
    """A finished cell: its result, how long it took, and the versions of the packages that computed it."""

    measured: Measurement
    seconds: float
    versions: Mapping[str, str]


def records_of(
    db: sqlite3.Connection, path: Path, refused: list[Refused] | None, check: str | None = None
) -> list[Record]:
    """All records of a store, or of one check in it; see `dpcheck.engine.store.read_records`."""
    bad: list[Refused] = []
    parsed = records.read(_undamaged(db, path, bad, check), bad)
    if bad and refused is None:
        raise StoreError(f"{bad[0].where} is not a record of dpcheck: {bad[0].reason}")
    if refused is not None:
        refused += bad
    return parsed


def unread_of(db: sqlite3.Connection, path: Path, refused: list[Refused]) -> list[Record | Unread]:
    """All rows of a store that may be records, each to be read when it is to speak."""
    return records.glanced(_undamaged(db, path, refused), refused)


def _undamaged(
    db: sqlite3.Connection, path: Path, bad: list[Refused], check: str | None = None
) -> list[tuple[str, str]]:
    """(where it stands, its text) of each row whose checksum fits; the others go to `bad`."""
    signed = "checksum" if "checksum" in columns(db, "records") else "NULL"
    query, of = f"SELECT id, record, {signed} FROM records", () if check is None else (check,)
    rows = []
    for id, row, said in db.execute(f"{query}{' WHERE check_id = ?' if of else ''} ORDER BY id", of):
        if not isinstance(row, str):
            bad.append(Refused(f"{path}:{id}", "the file is damaged there"))
        elif said is not None and said != checksum(row):
            bad.append(Refused(f"{path}:{id}", "its checksum does not fit: it was changed after dpcheck wrote it"))
        else:
            rows.append((f"{path}:{id}", row))
    return rows


KEY = "check_id = ? AND cell = ? AND size = ? AND seed = ? AND sources = ?"


def sound(key: CellKey, measured: str, versions: str | None, signed: str | None, seconds: float = 0.0) -> Cell | None:
    """A cell as it was stored, or None where its checksum does not fit or its text is no measurement."""
    name = (key.check, key.cell, key.size, key.seed, key.sources)
    if versions is None or signed != checksum(*name, measured, versions):
        return None
    try:
        return Cell(decode(measured), seconds, json.loads(versions))
    except (DpcheckError, ValueError, TypeError, KeyError, AttributeError):
        return None


def checksum(*parts: str | int) -> str:
    """Of everything that makes a row what it is: notices damage, and stops no forger."""
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode()).hexdigest()


def document(text: str) -> Any:
    """JSON of a row; raises `InvalidInput`."""
    return foreign.parsed(text)


def state_of(text: str) -> dict[str, Any] | None:
    """The stored state of an audit, or None where the text is no JSON object."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def seen(text: str) -> tuple[int, int]:
    """(form, trials) of the stored state of an audit: a state in an older form cannot go on, so it counts for less."""
    state = state_of(text) or {}
    known = [state.get(name) for name in ("version", "tested")]
    form, tested = (n if isinstance(n, int) and not isinstance(n, bool) else -1 for n in known)
    return form, tested


def ordered(db: sqlite3.Connection, table: str) -> list[str]:
    """The names of a table's columns; none when there is no such table."""
    return [row[1] for row in db.execute(f"PRAGMA table_info({table})")]


def columns(db: sqlite3.Connection, table: str) -> set[str]:
    """The names of a table's columns, in no order."""
    return set(ordered(db, table))


text = functools.partial(str, encoding="utf-8", errors="backslashreplace")
"""Bytes of a damaged row must not keep SQLite from giving out the others."""
