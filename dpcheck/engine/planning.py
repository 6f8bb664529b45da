"""What an algorithm would do at a size, before any data is seen: its schedule, its privacy, its cost, its bounds."""

from __future__ import annotations

import ast
import dataclasses
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpcheck.engine import guarantees
from dpcheck.engine.algorithms import algorithm, algorithms, fields_of
from dpcheck.engine.guarantees import Privacy
from dpcheck.engine.setting import Setting, Sought, known
from dpcheck.errors import DpcheckError, Infeasible, InvalidInput
from dpcheck.interfaces import Algorithm, Release, Sampling, Schedule
from dpcheck.labels import LABEL
from dpcheck.privacy import Guarantee

if TYPE_CHECKING:
    from dpcheck.accounting import ReleaseCost
    from dpcheck.claims import Claim


@dataclass(frozen=True)
class ReleaseRow:
    """Releases that are alike but for numbers in their names.

    Attributes:
        number: how many; each has `count` adaptive uses.
        reads: how many records one of them reads.
        relative: noise over the diameter of the domain; None for selections.
        epsilon: of one of them with all its uses, at `delta`, from the claimed sensitivity; `rho` likewise.
        rests_on: claims, not proved here, that the sensitivity follows from.
    """

    name: str
    number: int
    count: int
    law: str
    reads: str
    sensitivity: float
    noise: float | None
    relative: float | None
    epsilon: float
    delta: float
    rho: float
    rests_on: tuple[str, ...] = ()


@dataclass(frozen=True)
class BoundRow:
    """An upper bound with its constants, or why it cannot be given here.

    Attributes:
        what: a value of `WHATS`: "risk" is the population excess risk, and nothing else is.
    """

    source: str
    value: float | None
    note: str
    what: str = "risk"


WHATS = {
    "excess risk": "risk",
    "empirical suboptimality": "suboptimality",
    "distance": "distance",
    "gradients": "gradients",
    "epsilon spent": "spent",
}
"""What a claim measures -> what a plan calls it."""
MOST_TERMS = 10**6
"""Of a bound that is a sum: a few seconds' worth."""


@dataclass(frozen=True, kw_only=True)
class AlgorithmPlan:
    """What `dpcheck plan` shows.

    Attributes:
        constants: names of those beyond the problem's sizes that the schedule or a bound reads.
    """

    label: str
    reading: str
    settings: Mapping[str, Any]
    phases: tuple[Mapping[str, Any], ...]
    releases: tuple[ReleaseRow, ...]
    gradients: int
    floats_per_trial: int
    privacy: Privacy
    bounds: tuple[BoundRow, ...]
    constants: tuple[str, ...] = ()


def build(label: str, settings: Mapping[str, Any], k: float | None = None) -> Algorithm[Any]:
    """An algorithm with its fields; `erm.lambda_` is a field of the algorithm inside its field `erm`.

    Args:
        label: with its reading, if any.
        settings: field -> value; an algorithm's label stands for that algorithm.
        k: order of the moment bound, for every algorithm in it that has such a field and was not given one.

    Raises:
        UnknownLabel, InvalidInput: no such algorithm, reading or field.
    """
    values = {name: algorithm(v) if _is_label(v) else v for name, v in settings.items()}
    try:
        chosen = algorithm(label, **{name: value for name, value in values.items() if "." not in name})
        if k is not None:
            chosen = _with_order(chosen, k, values)
        for name, value in values.items():
            if "." in name:
                chosen = _with_inner(chosen, name.split("."), value)
    except TypeError as error:
        given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        raise InvalidInput(f"{label} cannot be made with {given}: {error}") from error
    return chosen


def _is_label(value: Any) -> bool:
    return isinstance(value, str) and LABEL.fullmatch(value) is not None


def _with_order(chosen: Any, k: float, given: Mapping[str, Any]) -> Any:
    changes: dict[str, Any] = {}
    for name in fields_of(type(chosen)):
        value = getattr(chosen, name)
        if name == "k" and "k" not in given:
            changes[name] = k
        elif isinstance(value, Algorithm):
            changes[name] = _with_order(value, k, {})
    return dataclasses.replace(chosen, **changes) if changes else chosen


def _with_inner(chosen: Any, path: Sequence[str], value: Any) -> Any:
    name, *rest = path
    names = fields_of(type(chosen)) if isinstance(chosen, Algorithm) else []
    if name not in names:
        what = getattr(chosen, "label", type(chosen).__name__)
        raise InvalidInput(f"{what} has no field {name!r}; its fields are {', '.join(names) or 'none'}")
    inner = _with_inner(getattr(chosen, name), rest, value) if rest else value
    return dataclasses.replace(chosen, **{name: inner})


def plan(label: str, setting: Setting, settings: Mapping[str, Any], claims: Sequence[Claim] = ()) -> AlgorithmPlan:
    """The schedule of an algorithm and what follows from it.

    Args:
        label: of the algorithm, with its reading if any.
        settings: fields of the algorithm.
        claims: those that it may rest on, and that may bound its risk: only explicit upper bounds about it count.

    Raises:
        Infeasible: the algorithm cannot be run at this size.
        UnknownLabel, InvalidInput: no such algorithm, reading or field.
    """
    reading = label.partition("@")[2]
    chosen, asked = build(label, settings, setting.k), Sought(setting.extra)
    setting = dataclasses.replace(setting, extra=asked)
    schedule = chosen.schedule(setting.problem, setting.n)
    about = [claim for claim in claims if _bounds_something(claim) and _speaks_of(claim, chosen, reading)]
    bounds = _bounds(chosen, setting, about, reading)
    return AlgorithmPlan(
        label=chosen.label,
        reading=reading or "as-printed",
        settings=settings,
        phases=tuple(_phase(phase) for phase in schedule.phases),
        releases=tuple(_grouped(schedule, setting.D)),
        gradients=schedule.gradients,
        floats_per_trial=schedule.floats_per_trial,
        privacy=guarantees.judge(schedule, claims),
        bounds=tuple(bounds),
        constants=tuple(sorted(asked.names | _asked_by(about, chosen, setting))),
    )


def _asked_by(about: Sequence[Claim], chosen: Algorithm[Any], setting: Setting) -> Set[str]:
    """Names of the constants that an algorithm wants for its bounds, and of those in them that nothing else gives."""
    bounds = (claim.explicit for claim in about)
    symbols = {symbol.name for bound in bounds if bound is not None for symbol in bound.free_symbols}
    given = known(chosen, setting.problem, setting.n, setting.k).keys() - setting.extra.keys()
    return chosen.wants.keys() | (symbols - given)


def speaking_of(label: str, setting: Setting, settings: Mapping[str, Any]) -> list[str]:
    """The labels of which a claim must speak to bear on a plan: the algorithm's, and what its privacy rests on.

    Raises as `plan` does.
    """
    return _speaking(label, build(label, settings, setting.k).schedule(setting.problem, setting.n))


def _speaking(label: str, schedule: Schedule[Any]) -> list[str]:
    rests_on = (name for release in schedule.releases for name in release.rests_on)
    return list(dict.fromkeys([label.partition("@")[0], *schedule.claimed_by, *rests_on]))


def alternatives(
    label: str, setting: Setting, claims_on: Callable[[Sequence[str]], Sequence[Claim]] = lambda names: ()
) -> list[tuple[str, str]]:
    """The paper's other algorithms at this size: (label, "feasible" with the bound on its risk, or the smallest n).

    Algorithms that are a `subroutine` are no alternative; one of which no guarantee stands says so.

    Args:
        claims_on: the claims that speak of labels; asked for those of `speaking_of` where an algorithm is feasible.
    """
    pairs = []
    for other, kind in algorithms().items():
        if other == label or other.partition("/")[0] != label.partition("/")[0] or kind.subroutine:
            continue
        try:
            chosen = build(other, {}, setting.k)
            schedule = chosen.schedule(setting.problem, setting.n)
            claims = claims_on(_speaking(other, schedule))
            stands = guarantees.stands(schedule, claims)
            risks = [
                row.value for row in _bounds(chosen, setting, claims) if row.what == "risk" and row.value is not None
            ]
            said = f"feasible, risk ≤ {min(risks):.3g}" if risks else "feasible"
            pairs.append((other, said if stands else f"{said}, but no guarantee stands"))
        except Infeasible as error:
            if error.smallest_n is not None:
                pairs.append((other, f"feasible from n = {error.smallest_n:,}"))
        except (DpcheckError, ValueError, ArithmeticError):
            continue  # made for another budget, or in need of constants that were not given
    return pairs


def private_readings(label: str, setting: Setting, settings: Mapping[str, Any]) -> list[tuple[str, Guarantee]]:
    """The readings of an algorithm, under the same settings, of which the accountant certifies the budget.

    Returns:
        (label with reading, what is certified), the reading of `label` left out.
    """
    bare, _, own = label.partition("@")
    pairs = []
    for reading in algorithm(bare).readings:
        if reading == own:
            continue
        try:
            schedule = build(f"{bare}@{reading}", settings, setting.k).schedule(setting.problem, setting.n)
        except (DpcheckError, ValueError, ArithmeticError):
            continue  # this reading cannot be run here
        privacy = guarantees.judge(schedule)
        if privacy.keeps and privacy.certified is not None:
            pairs.append((f"{bare}@{reading}", privacy.certified))
    return pairs


def bounds(label: str, setting: Setting, claims: Sequence[Claim]) -> list[BoundRow]:
    """The upper bounds of `plan` without its schedule. Raises as `plan` does."""
    return _bounds(build(label, {}, setting.k), setting, claims, label.partition("@")[2])


def _phase(phase: Any) -> Mapping[str, Any]:
    """The fields of a phase, in order, without inner schedules; anything else under "phase"."""
    if dataclasses.is_dataclass(phase) and not isinstance(phase, type):
        fields = {f.name: getattr(phase, f.name) for f in dataclasses.fields(phase)}
        return {name: value for name, value in fields.items() if not isinstance(value, Schedule)}
    return dict(phase) if isinstance(phase, Mapping) else {"phase": phase}


_NUMBER = re.compile(r"(\d+)")


def _grouped(schedule: Schedule[Any], diameter: float) -> list[ReleaseRow]:
    """Rows of like releases: 48 blocks of one phase with one noise scale are one row."""
    from dpcheck.accounting import account

    groups: dict[tuple[Any, ...], list[Release]] = {}
    for release in schedule.releases:
        most = max((read.sensitivity for read in release.reads), default=0.0)
        name = _NUMBER.sub("*", release.name)
        shape = (name, repr(release.law), release.count, most, len(release.reads), release.rests_on)
        groups.setdefault(shape, []).append(release)
    firsts = dataclasses.replace(schedule, releases=tuple(alike[0] for alike in groups.values()))
    rows = account(firsts, assuming="all").per_release
    return [_row(alike, row, diameter) for alike, row in zip(groups.values(), rows, strict=True)]


def _row(alike: Sequence[Release], row: ReleaseCost, diameter: float) -> ReleaseRow:
    first = alike[0]
    spans = {read.stop - read.start for release in alike for read in release.reads}
    records = f"{min(spans):,}" if len(spans) == 1 else f"{min(spans, default=0):,}–{max(spans, default=0):,}"
    sampled = next((read.sampling for read in first.reads if read.sampling is not None), None)
    noise = row.noise if math.isfinite(row.noise) else None
    names = [_NUMBER.split(release.name) for release in alike]
    return ReleaseRow(
        name="".join(part[0] if len(set(part)) == 1 else "*" for part in zip(*names, strict=True)),
        number=len(alike),
        count=first.count,
        law=type(first.law).__name__,
        reads=records if sampled is None else _read(sampled, records),
        sensitivity=row.sensitivity,
        noise=noise,
        relative=noise / diameter if noise is not None and first.norm != "range" else None,
        epsilon=row.epsilon,
        delta=row.delta,
        rho=row.rho,
        rests_on=first.rests_on,
    )


def _read(sampled: Sampling, records: str) -> str:
    return f"{records} in {sampled.size:,} places" if sampled.kind == "places" else f"{sampled.size:,} of {records}"


def _bounds(chosen: Algorithm[Any], setting: Setting, claims: Sequence[Claim], reading: str = "") -> list[BoundRow]:
    """The explicit claims about the algorithm at its terms; reasons only where no number is found."""
    about = [claim for claim in claims if _bounds_something(claim) and _speaks_of(claim, chosen, reading)]
    values = known(chosen, setting.problem, setting.n, setting.k)
    by_place = [_claimed(claim, values) for claim in about]
    trivial = setting.trivial
    for place, row in enumerate(by_place):
        if row.what == "risk" and row.value is not None and row.value >= trivial:
            note = f"{row.note}; vacuous here: a constant output has at most D G_1 = {trivial:.4g}"
            by_place[place] = dataclasses.replace(row, note=note)
    numbers = [row for row in by_place if row.value is not None]
    # What a constant that he can give would tell him is worth saying beside numbers; symbols that he cannot are not.
    whats = {row.what for row in numbers}
    told = [row for row in _wanting(chosen, setting, about, by_place) if row.what not in whats]
    return numbers + told or by_place


def _bounds_something(claim: Claim) -> bool:
    return claim.explicit is not None and claim.relation == "<=" and claim.measures in WHATS


def _speaks_of(claim: Claim, chosen: Algorithm[Any], reading: str) -> bool:
    """Whether a claim is about this algorithm, and not about a reading of it that is not the one taken."""
    about = chosen.label in {label.partition("@")[0] for label in claim.about}
    return about and (claim.reading not in chosen.readings or claim.reading == reading)


def _wanting(
    chosen: Algorithm[Any], setting: Setting, claims: Sequence[Claim], rows: Sequence[BoundRow]
) -> Iterator[BoundRow]:
    """The claims that would have a value if the problem named the constants that the algorithm wants."""
    missing = {name: meaning for name, meaning in chosen.wants.items() if name not in setting.problem.constants.extra}
    if not missing:
        return
    values = known(chosen, setting.given(dict.fromkeys(missing, 1.0)).problem, setting.n, setting.k)
    said = " ".join(f"--constant {name}=…" for name in missing)
    for claim, row in zip(claims, rows, strict=True):
        if row.value is None and _claimed(claim, values).value is not None:
            yield dataclasses.replace(row, note=f"needs {said}: {', '.join(missing.values())}")


def _claimed(claim: Claim, values: Mapping[str, Any]) -> BoundRow:
    note, what = claim.quantity, WHATS[claim.measures]
    if claim.probability is not None:
        note = f"{note}, with probability {claim.probability}"
    if guarantees.is_false(claim):
        return BoundRow(claim.label, None, f"false ({claim.grade}); see dpcheck show {claim.label}", what)
    if (terms := _terms(claim, values)) > MOST_TERMS:
        return BoundRow(claim.label, None, f"is a sum of {terms:.3g} terms, too many to add up here", what)
    try:
        value = float(claim.at(values))
    except (InvalidInput, TypeError, ArithmeticError) as error:
        return BoundRow(claim.label, None, str(error).removeprefix(f"{claim.label} "), what)
    if not math.isfinite(value):
        return BoundRow(claim.label, None, "has no finite value here", what)
    return BoundRow(claim.label, value, f"{note}; its proof has a gap" if claim.grade == "proof gap" else note, what)


def _terms(claim: Claim, values: Mapping[str, Any]) -> float:
    """The most terms of a sum in its bound; 0 where there is none, or where that does not follow from the values."""
    import sympy as sp

    sums = sp.sympify(claim.explicit or 0).atoms(sp.Sum)
    counts = [upper - lower + 1 for total in sums for _, lower, upper in total.limits]
    numbers = [count.subs({s: values[s.name] for s in count.free_symbols if s.name in values}) for count in counts]
    return max((float(number) for number in numbers if number.is_number), default=0.0)


def parse(text: str) -> tuple[str, Any]:
    """`name=value` of `--set`: numbers, True, False, None and quoted strings as in Python, other words as strings."""
    name, equals, value = text.partition("=")
    if not equals or not all(part.isidentifier() for part in name.split(".")):
        raise InvalidInput(f"got {text!r}; write a field as name=value")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
