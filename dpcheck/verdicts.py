"""What a check says: an outcome, the numbers behind it, how sure it is, and the witness when it refutes."""

from __future__ import annotations

import enum
import hashlib
import json
import math
import pathlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from dpcheck.errors import InvalidInput, WitnessRejected

Evidence = Literal["exact", "certificate", "symbolic", "counted", "sampled"]
"""exact: closed form, quadrature, enumeration; certificate: an upper bound that needs no sampling; counted: oracle
calls; symbolic: algebra; sampled: Monte Carlo, at a stated failure probability."""


class Outcome(enum.StrEnum):
    """What can be concluded. There is no 'passed'.

    CONSISTENT: nothing was found, though a violation of the size that the verdict names would have been. UNDECIDED: too
    little was measured to tell. DIFFERS: what dpcheck runs, or a claim as dpcheck wrote it down, is not what is
    printed, and there is no witness against the paper.
    """

    HOLDS = "holds"
    REFUTED = "refuted"
    CONSISTENT = "consistent"
    UNDECIDED = "undecided"
    DIFFERS = "differs"
    SKIPPED = "skipped"


@dataclass(frozen=True, kw_only=True)
class Witness:
    """What refutes a statement: the smallest description from which anyone can recompute the violation.

    Attributes:
        label: the statement, with its reading.
        kind: which verifier of `dpcheck.witnesses` recomputes it.
        parameters: JSON-able and exact: integers, strings of rationals ("1/3"), lists of these.
        claimed: what the statement allows, as a decimal or rational string.
        found: what the parameters give instead.
    """

    label: str
    kind: str
    parameters: Mapping[str, Any]
    claimed: str
    found: str
    note: str = ""

    @property
    def digest(self) -> str:
        """Fingerprint of everything that the witness says."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "digest": self.digest, "schema_version": 1}

    def save(self, path: pathlib.Path | str) -> pathlib.Path:
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.to_dict(), indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        return path

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Witness:
        """Raises `WitnessRejected` when a field is missing or the fingerprint does not fit."""
        names = ("label", "kind", "parameters", "claimed", "found", "note")
        missing = [name for name in names if name not in values]
        if missing:
            raise WitnessRejected(f"not a witness: the field {missing[0]!r} is missing")
        witness = cls(**{name: values[name] for name in names})
        if values.get("digest") != witness.digest:
            raise WitnessRejected(
                f"the fingerprint {values.get('digest')!r} does not fit the contents ({witness.digest}): "
                "the file was changed after dpcheck wrote it"
            )
        return witness

    @classmethod
    def load(cls, path: pathlib.Path | str) -> Witness:
        try:
            values = json.loads(pathlib.Path(path).read_text())
        except OSError as error:
            raise InvalidInput(f"cannot read the witness {path}: {error.strerror}") from error
        except ValueError as error:
            raise WitnessRejected(f"{path} is not JSON: {error}") from error
        if not isinstance(values, dict):
            raise WitnessRejected(f"{path} holds a {type(values).__name__}, not a witness")
        return cls.from_dict(values)


@dataclass(frozen=True, kw_only=True)
class Point:
    """One mark of a figure, bound against empirical: at `x`, the measured value, its bar, and the bound there."""

    x: float
    value: float
    series: str = ""
    lower: float | None = None
    upper: float | None = None
    bound: float | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One check's answer.

    Attributes:
        reason: one sentence that carries the number.
        failure_probability: probability that sampling alone produced this outcome; 0 unless evidence is "sampled".
        numbers: named results (floats, integers, strings), in the order in which to show them.
        points: the figure; `axes` names its (x, y).
        notices: the smallest violation that would have been noticed, in words with its number ("a slope of R/bound
            above 0.05"); a CONSISTENT verdict has to say it.
        severity: how far the measured value goes against the statement, comparable among the cells of a check: value
            over bound where it says "at most", bound over value where it says "at least". The largest is shown.
        rows: of a refutation over several cells, one table row a cell; `Check.verdict` fills them.
    """

    outcome: Outcome
    reason: str
    evidence: Evidence
    failure_probability: float = 0.0
    numbers: Mapping[str, float | int | str | bool] = field(default_factory=dict)
    points: Sequence[Point] = ()
    axes: tuple[str, str] = ("", "")
    witness: Witness | None = None
    notices: str = ""
    severity: float | None = None
    rows: Sequence[Mapping[str, float | int | str | bool]] = ()

    def __post_init__(self) -> None:
        if self.outcome is Outcome.CONSISTENT and not self.notices.strip():
            raise InvalidInput(
                f"a consistent verdict needs `notices`, the violation that it would have seen; without one it is "
                f"undecided: {self.reason!r}"
            )
        if self.evidence == "sampled" and not 0 < self.failure_probability < 1:
            raise InvalidInput(
                f"a sampled verdict needs its failure probability in (0, 1), got {self.failure_probability!r}"
            )

    @property
    def vacuous(self) -> bool:
        """The bound lies where nothing could break it; so an undecided answer is no news."""
        return self.outcome is Outcome.UNDECIDED and bool(self.numbers.get("vacuous"))

    def to_dict(self) -> dict[str, Any]:
        values = asdict(self)
        values["outcome"] = self.outcome.value
        values["numbers"] = {name: _plain(value) for name, value in self.numbers.items()}
        values["points"] = [{k: _plain(v) for k, v in asdict(p).items() if v is not None} for p in self.points]
        values["axes"] = list(self.axes)
        values["severity"] = _plain(self.severity)
        values["rows"] = [{name: _plain(value) for name, value in row.items()} for row in self.rows]
        for name in ("notices", "severity", "rows"):  # said only where there is something to say
            if not values[name] and values[name] != 0:
                del values[name]
        values["witness"] = None if self.witness is None else self.witness.to_dict()
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Verdict:
        return cls(
            outcome=Outcome(values["outcome"]),
            reason=values["reason"],
            evidence=values["evidence"],
            failure_probability=values["failure_probability"],
            numbers={name: _number(value) for name, value in values["numbers"].items()},
            points=tuple(Point(**{k: _number(v) for k, v in p.items()}) for p in values["points"]),
            axes=(values["axes"][0], values["axes"][1]),
            witness=None if values["witness"] is None else Witness.from_dict(values["witness"]),
            notices=values.get("notices", ""),
            severity=_number(values.get("severity")),
            rows=tuple({name: _number(value) for name, value in row.items()} for row in values.get("rows", ())),
        )


def holds(reason: str, evidence: Evidence, **fields: Any) -> Verdict:
    return Verdict(outcome=Outcome.HOLDS, reason=reason, evidence=evidence, **fields)


def refuted(reason: str, evidence: Evidence, **fields: Any) -> Verdict:
    return Verdict(outcome=Outcome.REFUTED, reason=reason, evidence=evidence, **fields)


def consistent(reason: str, evidence: Evidence, *, notices: str, **fields: Any) -> Verdict:
    """Nothing found, though a violation as large as `notices` says would have been."""
    return Verdict(outcome=Outcome.CONSISTENT, reason=reason, evidence=evidence, notices=notices, **fields)


def undecided(reason: str, evidence: Evidence, **fields: Any) -> Verdict:
    """Too little was measured to tell."""
    return Verdict(outcome=Outcome.UNDECIDED, reason=reason, evidence=evidence, **fields)


inconclusive = undecided  # until every check says which of the two it means


def differs(reason: str, evidence: Evidence = "exact", **fields: Any) -> Verdict:
    """Our code, or our transcription of a claim, is not the printed line: a defect of ours, no word about the paper."""
    return Verdict(outcome=Outcome.DIFFERS, reason=reason, evidence=evidence, **fields)


_GRAVITY = ("refuted", "differs", "undecided", "consistent", "holds", "skipped")
_RANK = {Outcome(outcome): rank for rank, outcome in enumerate(_GRAVITY)}
_WEAKNESS: tuple[Evidence, ...] = ("sampled", "counted", "certificate", "exact", "symbolic")


def combine(verdicts: Iterable[Verdict], cells: Sequence[Mapping[str, Any]] = ()) -> Verdict:
    """All cells of one check as one verdict: refuted if one is, holds if all do; failure probabilities add up.

    The sentence and the numbers are those of the worst cell: of those with the gravest outcome, the one of the largest
    severity. A cell whose bound is vacuous does not count, unless that is so in all of them.

    Args:
        cells: the cell of each verdict; names the worst one, and heads the rows of a refutation.
    """
    found = list(verdicts)
    if not found:
        raise InvalidInput("no verdict to combine; the grid of the check is empty")
    counted = [v for v in found if not v.vacuous] or found
    worst = min(counted, key=lambda v: (_RANK[v.outcome], -_severity(v)))
    if len(found) == 1:
        return worst
    alike = sum(v.outcome == worst.outcome for v in counted)
    rest = f"; vacuous in the other {len(found) - len(counted)}" if len(counted) < len(found) else ""
    where = _named(cells[next(i for i, v in enumerate(found) if v is worst)]) if cells else ""
    most = "the worst of them at" if worst.severity is not None else "told here:"
    place = f", {most} {where}" if where and alike > 1 else f": {where}" if where else ""
    spent = math.fsum(v.failure_probability for v in found)
    return replace(
        worst,
        reason=f"{worst.reason} (so {alike} of {len(counted)} cells{place}{rest})",
        evidence=min((v.evidence for v in counted), key=_WEAKNESS.index) if alike == len(counted) else worst.evidence,
        failure_probability=spent if spent else worst.failure_probability,
        points=tuple(point for v in found for point in v.points),
        rows=_rows(found, cells) if worst.outcome is Outcome.REFUTED else (),
    )


def _severity(verdict: Verdict) -> float:
    value = verdict.severity
    return -math.inf if value is None or math.isnan(value) else value


def _named(cell: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in cell.items())


def _rows(verdicts: Sequence[Verdict], cells: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """One row a cell: where it is, what was found there, and the numbers of that cell."""
    named = cells or [{"cell": i + 1} for i in range(len(verdicts))]
    return tuple(
        {
            **{k: v if isinstance(v, bool | int | float | str) else str(v) for k, v in cell.items()},
            "outcome": verdict.outcome.value,
            **verdict.numbers,
        }
        for cell, verdict in zip(named, verdicts, strict=True)
    )


def _plain(value: Any) -> Any:
    """JSON has no infinity or NaN, and NumPy scalars are not JSON: both become plain values."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return value


def _number(value: Any) -> Any:
    return float(value["float"]) if isinstance(value, dict) and "float" in value else value
