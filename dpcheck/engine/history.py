"""Records outside of the store: their committed form, and which record of a check speaks for it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from dpcheck.checks import SIZES
from dpcheck.claims import Claim
from dpcheck.engine.records import SCHEMA_VERSION, Record
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
    ranked: dict[str, list[tuple[tuple[bool, bool, int, str, int], Record]]] = {}
    for place, record in enumerate(records):
        stale = fingerprints is not None and fingerprints.get(record.check) != record.sources
        answered = record.verdict.outcome is not Outcome.SKIPPED
        rank = (answered, not stale, SIZES.index(record.size), record.created, place)
        ranked.setdefault(record.check, []).append((rank, record))
    return {check: _strongest(ranked[check]) for check in sorted(ranked)}


def _strongest(ranked: list[tuple[tuple[bool, bool, int, str, int], Record]]) -> Chosen:
    (answered, fresh, size, *_), record = max(ranked, key=lambda pair: pair[0])
    larger = [pair for pair in ranked if answered and fresh and pair[0][0] and not pair[0][1] and pair[0][2] > size]
    earlier = max(larger, key=lambda pair: pair[0])[1] if larger else None
    return Chosen(record, not fresh, earlier)


def committed(record: Record) -> Record:
    """A record without what changes from run to run."""
    return replace(record, seconds=0.0, created="", commit="")


def grade_of(claim: Claim, results: Mapping[str, Chosen]) -> str:
    """What is wrong with a claim: "suspected" in place of "refuted" until a stored verdict has its verified witness."""
    if claim.grade != "refuted":
        return claim.grade
    verdicts = [c.record.verdict for c in results.values() if c.record.label.partition("@")[0] == claim.statement_label]
    proved = any(v.outcome is Outcome.REFUTED and v.witness is not None for v in verdicts)
    return "refuted" if proved else "suspected"


def write_jsonl(path: Path, records: Iterable[Record]) -> Path:
    """Writes records in their committed form: one JSON object a line, sorted, the same bytes for the same results."""
    lines = []
    for record in sorted((committed(r) for r in records), key=lambda r: (r.check, SIZES.index(r.size), r.seed)):
        values = {k: v for k, v in record.to_dict().items() if k not in ("seconds", "created", "commit")}
        lines.append(json.dumps(values, ensure_ascii=False) + "\n")
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".new")
    draft.write_text("".join(lines), encoding="utf-8")
    draft.replace(path)  # all or nothing
    return path


def read_jsonl(path: Path) -> list[Record]:
    """Reads committed records.

    Raises:
        StoreError: a line is not a record, or comes from a newer dpcheck; the message names the line.
    """
    records = []
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                values = json.loads(line)
                if values["schema_version"] > SCHEMA_VERSION:
                    raise StoreError(f"{path}:{number} was written by a newer dpcheck; upgrade dpcheck to read it")
                records.append(Record.from_dict(values))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise StoreError(f"{path}:{number} is not a record of dpcheck: {error!r}") from error
    return records


def read(path: Path) -> list[Record]:
    """The records of a store (SQLite) or of a committed file (.jsonl)."""
    return read_jsonl(path) if path.suffix == ".jsonl" else read_records(path)
