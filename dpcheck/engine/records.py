"""A verdict kept: what was checked, with which seed, size, versions and sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dpcheck.verdicts import Verdict

SCHEMA_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class Record:
    """One check's verdict at one size and seed.

    Attributes:
        check: `<label>::<function>`; `label` is its claim, `kind` the kind of check.
        expected: whether the outcome is among those that the check expects.
        sources: fingerprint of the check's file and of every dpcheck module that it imports, directly or not.
        versions: of Python and the numeric packages; `commit` of the root's git checkout, "+" when it was dirty.
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

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "verdict": self.verdict.to_dict(), "schema_version": SCHEMA_VERSION}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Record:
        known = {name: value for name, value in values.items() if name != "schema_version"}
        return cls(**{**known, "verdict": Verdict.from_dict(values["verdict"])})
