"""A verdict kept: what was checked, with which seed, size, versions and sources."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, get_args

from dpcheck import foreign
from dpcheck.checks import SIZES, CheckKind
from dpcheck.errors import DpcheckError, InvalidInput, Outdated, Unreadable
from dpcheck.verdicts import Outcome, Verdict

SCHEMA_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Record:
    """One check's verdict at one size and seed.

    Attributes:
        check: `<label>::<function>`; `label` is its claim, `kind` the kind of check.
        expected: whether the outcome is among those that the check expects.
        sources: fingerprint of the check's file and of every dpcheck module that it imports, directly or not.
        versions: of Python and the numeric packages that computed the cells; "1.2 and 1.3" where cells differ.
        commit: of the root's git checkout when the check was concluded, "+" when it was dirty.
        seconds: wall time of all cells; left out of the committed form, which must not change from run to run.
    """

    check: str
    label: str
    kind: str
    size: str
    seed: int
    verdict: Verdict
    expected: bool
    cells: int
    sources: str
    versions: Mapping[str, str] = field(default_factory=dict)
    commit: str = ""
    created: str = ""
    seconds: float = 0.0

    @property
    def answered(self) -> bool:
        """Whether anything was measured."""
        return self.verdict.outcome is not Outcome.SKIPPED

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict.to_dict(), "schema_version": SCHEMA_VERSION}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Record:
        """Raises `Unreadable` for what is no record, `Outdated` for one in words that dpcheck no longer uses, and
        `WitnessRejected` where a witness was changed."""
        try:
            return cls._read(values)
        except DpcheckError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise Unreadable(f"not a record: {type(error).__name__}: {foreign.plain(str(error))}") from error

    @classmethod
    def _read(cls, values: Mapping[str, Any]) -> Record:
        if not isinstance(values, Mapping):
            raise Unreadable(f"not a record: a {type(values).__name__} where an object should be")
        version = values.get("schema_version")
        if version != SCHEMA_VERSION or isinstance(version, bool):
            newer = isinstance(version, int) and version > SCHEMA_VERSION
            raise Unreadable(
                "written by a newer dpcheck; upgrade dpcheck to read it"
                if newer
                else f"not a record: schema {foreign.shortened(version)}, this dpcheck knows {SCHEMA_VERSION}"
            )
        known = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        record = cls(**{**known, "verdict": Verdict.from_dict(values["verdict"])})
        record._check()
        return record

    def _check(self) -> None:
        """Raises `InvalidInput`: a field of a type or outside of a range that no record has."""
        for name in ("check", "label", "kind", "size", "sources", "commit", "created"):
            value = getattr(self, name)
            if not isinstance(value, str) or foreign.plain(value) != value:
                raise InvalidInput(f"{name} is {foreign.shortened(value)}, not one line of text")
        if not self.check.startswith(f"{self.label}::"):
            raise InvalidInput(f"the check {foreign.shortened(self.check)} is not one of {self.label}")
        for name, known in (("size", SIZES), ("kind", get_args(CheckKind))):
            if getattr(self, name) not in known:
                raise InvalidInput(f"unknown {name} {getattr(self, name)!r}")
        for name in ("seed", "cells"):
            if not 0 <= foreign.integer(getattr(self, name)) < 2**63:
                raise InvalidInput(f"{name} is {getattr(self, name)}, out of range")
        if not isinstance(self.expected, bool):
            raise InvalidInput(f"expected is {foreign.shortened(self.expected)}, neither true nor false")
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, int | float) or not self.seconds >= 0:
            raise InvalidInput(f"seconds is {foreign.shortened(self.seconds)}, no duration")
        if not math.isfinite(self.seconds):
            raise InvalidInput("seconds is infinite")
        if not isinstance(self.versions, Mapping) or not all(isinstance(v, str) for v in self.versions.values()):
            raise InvalidInput(f"versions are {foreign.shortened(self.versions)}, not text by package")


def committed(record: Record) -> Record:
    """A record without what changes from run to run."""
    return replace(record, seconds=0.0, created="", commit="")


@dataclass(frozen=True)
class Refused:
    """A row that was not taken for a result: where it stands, and why."""

    where: str
    reason: str
    outdated: bool = False


def read(rows: Iterable[tuple[str, str | bytes]], refused: list[Refused]) -> list[Record]:
    """The records among some rows of JSON; what is none goes to `refused` and stops nobody.

    Args:
        rows: (where it stands, its text) of each.
    """
    records = []
    for where, text in rows:
        try:
            records.append(Record.from_dict(foreign.parsed(text)))
        except DpcheckError as error:
            refused.append(Refused(where, str(error), isinstance(error, Outdated)))
    return records


@dataclass(frozen=True, eq=False)
class Unread:
    """A row of which only what ranks it among those of its check was looked at; see `Record` for the fields.

    Nothing of it counts before `read` took it for a record.
    """

    where: str
    text: str
    check: str
    size: str
    sources: str
    created: str
    answered: bool


_OUTCOMES = frozenset(outcome.value for outcome in Outcome)


def glanced(rows: Iterable[tuple[str, str]], refused: list[Refused]) -> list[Record | Unread]:
    """As `read`, but what may be a record is left unread: of many rows of a check, one or two will speak for it."""
    records: list[Record | Unread] = []
    for where, text in rows:
        try:
            values = json.loads(text)
            known = [values[name] for name in ("check", "size", "sources", "created")]
            outcome, version = values["verdict"]["outcome"], values["schema_version"]
            fit = all(isinstance(each, str) for each in (*known, outcome)) and values["size"] in SIZES
        except (ValueError, TypeError, KeyError, RecursionError):
            fit = False
        if fit and outcome in _OUTCOMES and version == SCHEMA_VERSION:
            check, size, sources, created = known
            records.append(Unread(where, text, check, size, sources, created, outcome != Outcome.SKIPPED.value))
        else:
            records += read([(where, text)], refused)
    return records


def told(refused: Sequence[Refused], most: int = 5) -> list[str]:
    """Sentences that name what was refused: each of the first few rows, and how many more there are."""
    bad = list(dict.fromkeys(f"{row.where} is refused: {row.reason}" for row in refused if not row.outdated))
    lines = bad[:most]
    if len(bad) > most:
        lines.append(f"{len(bad) - most:,} more rows are refused; the others count")
    for file, number in Counter(row.where.rpartition(":")[0] for row in refused if row.outdated).items():
        lines.append(
            f"{file}: {number:,} of its results are of an older dpcheck, which said 'inconclusive' where it is now "
            "consistent, undecided or differs; they count as not run, and `dpcheck run` computes them again"
        )
    return lines
