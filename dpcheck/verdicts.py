"""What a check says: an outcome, the numbers behind it, how sure it is, and the witness when it refutes."""

from __future__ import annotations

import enum
import hashlib
import json
import math
import pathlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Protocol, get_args, runtime_checkable

from dpcheck import foreign
from dpcheck.displayed import Displayed
from dpcheck.errors import DpcheckError, InvalidInput, Outdated, Unreadable, WitnessRejected

Evidence = Literal["exact", "certificate", "certified", "symbolic", "counted", "sampled"]
"""exact: closed form, quadrature, enumeration; certificate: an upper bound that needs no sampling; certified: a stored
proof in rationals, for every function of a class, checked anew; counted: oracle calls; symbolic: algebra; sampled:
Monte Carlo, at a stated failure probability."""


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

    def __post_init__(self) -> None:
        for name in ("label", "kind", "claimed", "found", "note"):
            value = getattr(self, name)
            if not isinstance(value, str):
                raise InvalidInput(f"a witness's {name} is text, got {foreign.shortened(value)}")
            if name != "note" and (not value or len(value) > _LONGEST[name] or foreign.plain(value) != value):
                raise InvalidInput(f"a witness's {name} is one short line of text, got {foreign.shortened(value)}")
        if not isinstance(self.parameters, Mapping) or not all(isinstance(key, str) for key in self.parameters):
            raise InvalidInput(f"a witness's parameters are values by name, got {foreign.shortened(self.parameters)}")

    @property
    def digest(self) -> str:
        """Fingerprint of everything that the witness says."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "digest": self.digest, "schema_version": SCHEMA}

    def save(self, path: pathlib.Path | str) -> pathlib.Path:
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.to_dict(), indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        return path

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Witness:
        """Raises `Unreadable` for what is no witness, `WitnessRejected` when the fingerprint does not fit."""
        names = ("label", "kind", "parameters", "claimed", "found", "note")
        if not isinstance(values, Mapping):
            raise Unreadable(f"not a witness: a {type(values).__name__} where an object should be")
        missing = [name for name in (*names, "schema_version") if name not in values]
        if missing:
            raise Unreadable(f"not a witness: the field {missing[0]!r} is missing")
        if type(schema := values["schema_version"]) is not int or schema != SCHEMA:
            raise Unreadable(f"schema_version is {foreign.shortened(schema)}; this dpcheck reads witnesses of {SCHEMA}")
        try:
            foreign.check(values)
            witness = cls(**{name: values[name] for name in names})
            digest = witness.digest
        except (ValueError, TypeError) as error:
            raise Unreadable(f"not a witness: {error}") from error
        if values.get("digest") != digest:
            raise WitnessRejected(
                f"the fingerprint {foreign.shortened(values.get('digest'))} does not fit the contents ({digest}): "
                "the file was changed after dpcheck wrote it"
            )
        return witness

    @classmethod
    def load(cls, path: pathlib.Path | str) -> Witness:
        """Raises `Unreadable` and `WitnessRejected` as `from_dict` does; at most 4 MiB are read."""
        try:
            values = foreign.document(path)
        except InvalidInput as error:
            raise Unreadable(f"no witness can be read: {error}") from error
        return cls.from_dict(values)


SCHEMA = 1
"""Of a witness file: which fields there are, and what they mean."""
_LONGEST = {"label": 300, "kind": 100, "claimed": foreign.DIGITS, "found": foreign.DIGITS}


@dataclass(frozen=True, kw_only=True)
class Point:
    """One mark of a figure, bound against empirical: at `x`, the measured value, its bar, and the bound there."""

    x: float
    value: float
    series: str = ""
    lower: float | None = None
    upper: float | None = None
    bound: float | None = None

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Point:
        """Raises `InvalidInput`."""
        fields = {name: foreign.number(value) for name, value in values.items()}
        wrong = [k for k, v in fields.items() if isinstance(v, str) is not (k == "series") or isinstance(v, bool)]
        if wrong:
            raise InvalidInput(f"{foreign.shortened(fields[wrong[0]])} is not the {foreign.plain(wrong[0])} of a point")
        return cls(**fields)


@dataclass(frozen=True, kw_only=True)
class Verdict(Displayed):
    """One check's answer.

    Attributes:
        reason: one sentence that carries the number.
        failure_probability: probability that sampling alone produced this outcome; 0 unless evidence is "sampled".
        numbers: named results (floats, integers, strings), in the order in which to show them.
        points: the figure; `axes` names its (x, y); `dashed` says what the points' bounds are, where they are no plain
            bounds ("order, its constant set to 1"), and `bars` what their bars are ("of two standard errors").
        notices: the smallest violation that would have been noticed, in words with its number ("a slope of R/bound
            above 0.05"); a CONSISTENT verdict has to say it.
        severity: how far the measured value goes against the statement, comparable among the cells of a check: value
            over bound where it says "at most", bound over value where it says "at least". The largest is shown.
        rows: of a refutation over several cells, one table row a cell; `Check.verdict` fills them. Of runs with a
            certified budget too (`harness.budget.tabulated`).
        vacuous: the bound lies where nothing could break it, so that this undecided answer is no news.
    """

    outcome: Outcome
    reason: str
    evidence: Evidence
    failure_probability: float = 0.0
    numbers: Mapping[str, float | int | str | bool] = field(default_factory=dict)
    points: Sequence[Point] = ()
    axes: tuple[str, str] = ("", "")
    dashed: str = ""
    bars: str = ""
    witness: Witness | None = None
    notices: str = ""
    severity: float | None = None
    rows: Sequence[Mapping[str, float | int | str | bool]] = ()
    vacuous: bool = False

    def __post_init__(self) -> None:
        """Raises `InvalidInput`: a word, a type or a probability that no verdict has. Text becomes one plain line."""
        if not isinstance(self.outcome, Outcome):
            raise InvalidInput(f"a verdict's outcome is an Outcome, got {foreign.shortened(self.outcome)}")
        if self.evidence not in get_args(Evidence):
            raise InvalidInput(f"unknown evidence {foreign.shortened(self.evidence)}; it is one of {_EVIDENCES}")
        for name in ("reason", "notices", "dashed", "bars"):
            if not isinstance(text := getattr(self, name), str):
                raise InvalidInput(f"a verdict's {name} is a sentence, got {foreign.shortened(text)}")
            object.__setattr__(self, name, foreign.plain(text))
        if self.witness is not None and not isinstance(self.witness, Witness):
            raise InvalidInput(f"a verdict's witness is a Witness, got {foreign.shortened(self.witness)}")
        if self.outcome is Outcome.CONSISTENT and not self.notices.strip():
            raise InvalidInput(
                f"a consistent verdict needs `notices`, the violation that it would have seen; without one it is "
                f"undecided: {self.reason!r}"
            )
        if self.vacuous is not False and (self.vacuous is not True or self.outcome is not Outcome.UNDECIDED):
            raise InvalidInput(
                f"only an undecided verdict is vacuous, True or False, got {foreign.shortened(self.vacuous)}"
            )
        probability = _plain(self.failure_probability)
        if isinstance(probability, bool) or not isinstance(probability, int | float) or not 0 <= probability < 1:
            raise InvalidInput(f"a failure probability lies in [0, 1), got {foreign.shortened(probability)}")
        if self.evidence == "sampled" and not probability:
            raise InvalidInput(
                f"a sampled verdict needs its failure probability in (0, 1), got {self.failure_probability!r}"
            )

    def to_dict(self) -> dict[str, Any]:
        values = asdict(self)
        values["outcome"] = self.outcome.value
        values["numbers"] = {_plain(name): _plain(value) for name, value in self.numbers.items()}
        values["points"] = [{k: _plain(v) for k, v in asdict(p).items() if v is not None} for p in self.points]
        values["axes"] = [_plain(axis) for axis in self.axes]
        values["severity"] = _plain(self.severity)
        values["rows"] = [{_plain(name): _plain(value) for name, value in row.items()} for row in self.rows]
        for name in ("dashed", "bars", "notices", "severity", "rows"):  # said only where there is something to say
            if not values[name] and values[name] != 0:
                del values[name]
        if not self.vacuous:
            del values["vacuous"]
        values["witness"] = None if self.witness is None else self.witness.to_dict()
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Verdict:
        """Raises `Unreadable` for what is no verdict, `Outdated` for one in the words of an older dpcheck, and
        `WitnessRejected` as `Witness.from_dict` does."""
        try:
            return cls._read(values)
        except DpcheckError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
            raise Unreadable(f"not a verdict: {type(error).__name__}: {foreign.plain(str(error))}") from error

    @classmethod
    def _read(cls, values: Mapping[str, Any]) -> Verdict:
        outcome = values["outcome"]
        if outcome == "inconclusive":
            raise Outdated("an older dpcheck said 'inconclusive' where it is now consistent, undecided or differs")
        if outcome not in {each.value for each in Outcome}:
            raise Unreadable(f"not a verdict: unknown outcome {foreign.shortened(outcome)}")
        x, y = values["axes"]
        severity = values.get("severity")
        return cls(
            outcome=Outcome(outcome),
            reason=values["reason"],
            evidence=values["evidence"],
            failure_probability=values["failure_probability"],
            numbers=_numbers(values["numbers"]),
            points=tuple(Point.from_dict(point) for point in values["points"]),
            axes=(_line(x), _line(y)),
            dashed=values.get("dashed", ""),
            bars=values.get("bars", ""),
            witness=None if values["witness"] is None else Witness.from_dict(values["witness"]),
            notices=values.get("notices", ""),
            severity=None if severity is None else _measure(severity),
            rows=tuple(_numbers(row) for row in values.get("rows", ())),
            vacuous=values.get("vacuous", False),
        )


_EVIDENCES = ", ".join(get_args(Evidence))


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


def differs(reason: str, evidence: Evidence = "exact", **fields: Any) -> Verdict:
    """Our code, or our transcription of a claim, is not the printed line: a defect of ours, no word about the paper."""
    return Verdict(outcome=Outcome.DIFFERS, reason=reason, evidence=evidence, **fields)


_GRAVITY = ("refuted", "differs", "undecided", "consistent", "holds", "skipped")
_RANK = {Outcome(outcome): rank for rank, outcome in enumerate(_GRAVITY)}
_WEAKNESS: tuple[Evidence, ...] = ("sampled", "counted", "certificate", "exact", "certified", "symbolic")


def combine(verdicts: Iterable[Verdict], cells: Sequence[Mapping[str, Any]] = ()) -> Verdict:
    """All cells of one check as one verdict: refuted if one is, holds if all do; failure probabilities add up.

    The sentence and the numbers are those of the worst cell: of those with the gravest outcome, the one of the largest
    severity. A cell whose bound is vacuous does not count, unless that is so in all of them.

    Args:
        cells: the cell of each verdict; names the worst one, and heads the rows of a refutation.
    """
    entries = list(verdicts)
    if not entries:
        raise InvalidInput("no verdict to combine; the grid of the check is empty")
    counted = [v for v in entries if not v.vacuous] or entries
    worst = min(counted, key=lambda v: (_RANK[v.outcome], -_severity(v)))
    if len(entries) == 1:
        return worst
    alike = sum(v.outcome == worst.outcome for v in counted)
    said = re.sub(r" \(so (\d+) of \1 cells?\)$", "", worst.reason)  # of cells within this one, all alike
    rest = f"; vacuous in the other {len(entries) - len(counted)}" if len(counted) < len(entries) else ""
    where = _named(cells[next(i for i, v in enumerate(entries) if v is worst)]) if cells else ""
    most = "the worst of them at" if worst.severity is not None else "told here:"
    place = f", {most} {where}" if where and alike > 1 else f": {where}" if where else ""
    spent = math.fsum(v.failure_probability for v in entries)
    return replace(
        worst,
        reason=f"{said} (so {alike} of {len(counted)} cell{'' if len(counted) == 1 else 's'}{place}{rest})",
        evidence=min((v.evidence for v in counted), key=_WEAKNESS.index) if alike == len(counted) else worst.evidence,
        failure_probability=spent if spent else worst.failure_probability,
        points=tuple(dict.fromkeys(point for v in entries for point in v.points)),  # cells may share a curve
        rows=_rows(entries, cells) if worst.outcome is Outcome.REFUTED else (),
    )


def _severity(verdict: Verdict) -> float:
    value = verdict.severity
    return -math.inf if value is None or math.isnan(value) else value


def _named(cell: Mapping[str, Any]) -> str:
    """ "T = 2, n = 10, k = 3": a text that names its values itself stands alone."""
    return ", ".join(
        value if isinstance(value, str) and " = " in value else f"{name} = {plain(value)}"
        for name, value in unfolded(cell).items()
    )


@runtime_checkable
class NamedValues(Protocol):
    """What a named tuple can do: values of a cell that go together (`checks.together`)."""

    def _asdict(self) -> dict[str, Any]: ...


def unfolded(cell: Mapping[str, Any]) -> dict[str, Any]:
    """A named tuple stands for the values that it names."""
    flat: dict[str, Any] = {}
    for name, value in cell.items():
        flat |= value._asdict() if isinstance(value, NamedValues) else {name: value}
    return flat


def plain(value: object) -> str:
    """A cell's value as a reader writes it: 2 for 2.0, and no digit lost."""
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)


def _rows(verdicts: Sequence[Verdict], cells: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """One row a cell: where it is, what was found there, and the numbers of that cell."""
    named = cells or [{"cell": i + 1} for i in range(len(verdicts))]
    return tuple(
        {
            **{k: v if isinstance(v, bool | int | float | str) else str(v) for k, v in unfolded(cell).items()},
            "outcome": verdict.outcome.value,
            **verdict.numbers,
        }
        for cell, verdict in zip(named, verdicts, strict=True)
    )


def _plain(value: Any) -> Any:
    """JSON has no infinity or NaN, and NumPy scalars are not JSON: both become plain values; text stays in its line."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    return foreign.plain(value) if isinstance(value, str) else value


def _numbers(values: Mapping[str, Any]) -> dict[str, Any]:
    return {foreign.plain(name): foreign.number(value) for name, value in values.items()}


def _measure(value: Any) -> Any:
    number = foreign.number(value)
    if isinstance(number, str | bool):
        raise InvalidInput(f"{foreign.shortened(value)} is not a number")
    return number


def _line(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{foreign.shortened(value)} is no text")
    return foreign.plain(value)
