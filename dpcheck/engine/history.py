"""Records outside of the store: their committed form, and which record of a check speaks for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from dpcheck.checks import SIZES
from dpcheck.engine import records
from dpcheck.engine.records import Record, Refused, committed
from dpcheck.engine.store import read_records
from dpcheck.errors import StoreError
from dpcheck.verdicts import Outcome


@dataclass(frozen=True)
class Chosen:
    """The record that speaks for a check; stale when its sources are not those of today.

    `earlier` is a stale record of a larger size that a fresh one stands in for: shown beside it, never lost.
    """

    record: Record
    stale: bool
    earlier: Record | None = None


def choose(records: Iterable[Record], fingerprints: Mapping[str, str] | None = None) -> dict[str, Chosen]:
    """Check id -> the record that speaks for it: the strongest fresh one.

    Any answer beats a skip, current sources beat stale ones, then the larger size, then the newer record counts. A
    stale record of a larger size is kept beside a fresh one.

    Args:
        fingerprints: check id -> its sources as of now (`Catalogue.fingerprints`); records of other checks are stale.
            None takes every record for current.
    """
    chosen = {}
    for check, rows in sorted(by_check(records).items()):
        sources = None if fingerprints is None else fingerprints.get(check, "")
        if (speaks := strongest(rows, sources, lambda each: each)) is not None:
            chosen[check] = speaks
    return chosen


class Ranked(Protocol):
    """What decides which record of a check speaks for it."""

    @property
    def check(self) -> str: ...
    @property
    def size(self) -> str: ...
    @property
    def sources(self) -> str: ...
    @property
    def created(self) -> str: ...
    @property
    def answered(self) -> bool: ...


R = TypeVar("R", bound=Ranked)


def by_check(records: Iterable[R]) -> dict[str, list[R]]:
    """Check id -> its records, in their order."""
    grouped: dict[str, list[R]] = {}
    for record in records:
        grouped.setdefault(record.check, []).append(record)
    return grouped


def strongest(records: Sequence[R], sources: str | None, read: Callable[[R], Record | None]) -> Chosen | None:
    """The record that speaks among those of one check, or None where none counts.

    Args:
        sources: fingerprint of the check as of now; None takes every record for current.
        read: the record of a row, asked of those that would speak alone; None where it does not count, and the next
            one does.
    """
    ranked = sorted(
        (
            ((each.answered, sources in (None, each.sources), SIZES.index(each.size), each.created, place), each)
            for place, each in enumerate(records)
        ),
        key=lambda pair: pair[0],
        reverse=True,
    )
    counted = ((rank, record) for rank, each in ranked if (record := read(each)) is not None)
    for (answered, fresh, size, *_), record in counted:
        larger = (row for rank, row in ranked if answered and fresh and rank[0] and not rank[1] and rank[2] > size)
        return Chosen(record, not fresh, next(filter(None, map(read, larger)), None))
    return None


class Graded(Protocol):
    """What `grade_of` asks of a claim."""

    @property
    def grade(self) -> str: ...
    @property
    def statement_label(self) -> str: ...


def grade_of(claim: Graded, results: Mapping[str, Chosen]) -> str:
    """What is wrong with a claim: "suspected" in place of "refuted" until a result has a witness that was verified.

    Args:
        results: as `dpcheck.engine.admission.admitted` leaves them: no refutation among them is unverified.
    """
    if claim.grade != "refuted":
        return claim.grade
    verdicts = [c.record.verdict for c in results.values() if c.record.label.partition("@")[0] == claim.statement_label]
    proved = any(v.outcome is Outcome.REFUTED and v.witness is not None for v in verdicts)
    return "refuted" if proved else "suspected"


def jsonl(records: Iterable[Record]) -> str:
    """Records in their committed form: one JSON object a line, sorted, the same bytes for the same results."""
    lines = []
    for record in sorted((committed(r) for r in records), key=lambda r: (r.check, SIZES.index(r.size), r.seed)):
        values = {k: v for k, v in record.to_dict().items() if k not in ("seconds", "created", "commit")}
        lines.append(json.dumps(values, ensure_ascii=False) + "\n")
    return "".join(lines)


def write_jsonl(path: Path, records: Iterable[Record]) -> Path:
    """Writes records in their committed form, all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".new")
    draft.write_text(jsonl(records), encoding="utf-8")
    draft.replace(path)
    return path


def read_jsonl(path: Path, refused: list[Refused] | None = None) -> list[Record]:
    """Reads committed records.

    Args:
        refused: takes the lines that are no records, which are then left out; without it the first one raises.

    Raises:
        StoreError: the file cannot be read, or a line of it is not a record; the message names the line.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    bad: list[Refused] = []
    parsed = records.read(((f"{path}:{n}", line) for n, line in enumerate(lines, 1) if line.strip()), bad)
    if bad and refused is None:
        raise StoreError(f"{bad[0].where} is not a record of dpcheck: {bad[0].reason}")
    if refused is not None:
        refused += bad
    return [committed(record) for record in parsed]  # what only a store's checksum vouches for is not taken from it


def read(path: Path, refused: list[Refused] | None = None) -> list[Record]:
    """The records of a store (SQLite) or of a committed file (.jsonl)."""
    return read_jsonl(path, refused) if path.suffix == ".jsonl" else read_records(path, refused)
