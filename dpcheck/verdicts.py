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
    """What can be concluded. There is no 'passed'."""

    HOLDS = "holds"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
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
    """

    outcome: Outcome
    reason: str
    evidence: Evidence
    failure_probability: float = 0.0
    numbers: Mapping[str, float | int | str | bool] = field(default_factory=dict)
    points: Sequence[Point] = ()
    axes: tuple[str, str] = ("", "")
    witness: Witness | None = None

    def __post_init__(self) -> None:
        if self.evidence == "sampled" and not 0 < self.failure_probability < 1:
            raise InvalidInput(
                f"a sampled verdict needs its failure probability in (0, 1), got {self.failure_probability!r}"
            )

    @property
    def vacuous(self) -> bool:
        """The bound lies where nothing could break it; so an inconclusive answer is no news."""
        return self.outcome is Outcome.INCONCLUSIVE and bool(self.numbers.get("vacuous"))

    def to_dict(self) -> dict[str, Any]:
        values = asdict(self)
        values["outcome"] = self.outcome.value
        values["numbers"] = {name: _plain(value) for name, value in self.numbers.items()}
        values["points"] = [{k: _plain(v) for k, v in asdict(p).items() if v is not None} for p in self.points]
        values["axes"] = list(self.axes)
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
        )


def holds(reason: str, evidence: Evidence, **fields: Any) -> Verdict:
    return Verdict(outcome=Outcome.HOLDS, reason=reason, evidence=evidence, **fields)


def refuted(reason: str, evidence: Evidence, **fields: Any) -> Verdict:
    return Verdict(outcome=Outcome.REFUTED, reason=reason, evidence=evidence, **fields)


def inconclusive(reason: str, evidence: Evidence, **fields: Any) -> Verdict:
    return Verdict(outcome=Outcome.INCONCLUSIVE, reason=reason, evidence=evidence, **fields)


_RANK = {Outcome.REFUTED: 0, Outcome.INCONCLUSIVE: 1, Outcome.HOLDS: 2, Outcome.SKIPPED: 3}
_WEAKNESS: tuple[Evidence, ...] = ("sampled", "counted", "certificate", "exact", "symbolic")


def combine(verdicts: Iterable[Verdict]) -> Verdict:
    """All cells of one check as one verdict: refuted if one is, holds if all do; failure probabilities add up.

    A cell whose bound is vacuous does not count, unless that is so in all of them.
    """
    found = list(verdicts)
    if not found:
        raise InvalidInput("no verdict to combine; the grid of the check is empty")
    counted = [v for v in found if not v.vacuous] or found
    worst = min(counted, key=lambda v: _RANK[v.outcome])
    if len(found) == 1:
        return worst
    alike = sum(v.outcome == worst.outcome for v in counted)
    rest = f"; vacuous in the other {len(found) - len(counted)}" if len(counted) < len(found) else ""
    spent = math.fsum(v.failure_probability for v in found)
    return replace(
        worst,
        reason=f"{worst.reason} (so {alike} of {len(counted)} cells{rest})",
        evidence=min((v.evidence for v in counted), key=_WEAKNESS.index) if alike == len(counted) else worst.evidence,
        failure_probability=spent if spent else worst.failure_probability,
        points=tuple(point for v in found for point in v.points),
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
