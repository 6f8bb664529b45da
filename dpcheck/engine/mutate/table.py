"""What mutants taught, as a file beside the records: who notices what, by how much, and what each check reads."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from dpcheck import foreign
from dpcheck.engine.mutate.mutation import CORRECT, FAMILIES, FATES, NOTICED, Fate, Trial
from dpcheck.engine.mutate.resolution import Resolution
from dpcheck.engine.mutate.states import States
from dpcheck.errors import InvalidInput, StoreError

NAME = "mutants.jsonl"
"""Of the file, in the folder of the report."""
UNREAD = "no check reads this bound"
OF_TRIAL = ("operator", "said", "fate", "by", "blind", "reason")
_NO_TEXTS = ("blind", "tried", "seconds")
Counts = Mapping[tuple[str, str], Mapping[str, int]]


@dataclass(frozen=True)
class SampleOfMutants:
    """Of which mutants the table speaks: so many of a family of a paper, drawn with a seed; without one, all."""

    paper: str
    family: str
    drawn: int
    of: int
    seed: int | None
    size: str

    def __str__(self) -> str:
        if self.seed is None:
            return f"all {self.of:,} {self.family} mutants, at {self.size} size"
        return f"{self.drawn:,} of {self.of:,} {self.family} mutants, drawn with seed {self.seed}, at {self.size} size"


@dataclass(frozen=True)
class Watched:
    """What is known of a check: which claims it reads, as it was then, and about how many CPU seconds it took.

    Attributes:
        dear: it was stopped, as no mutant may cost so much; none was tried on it, and it may read more.
    """

    reads: tuple[str, ...]
    state: str = ""
    seconds: float = 0.0
    dear: bool = False

    def plain(self) -> dict[str, Any]:
        told = {"state": self.state, "seconds": self.seconds, "dear": self.dear}
        return {"reads": list(self.reads), **{name: value for name, value in told.items() if value}}


@dataclass
class Table:
    """One line a sample, a target, a bound and a check, sorted; the same results are the same bytes.

    Attributes:
        trials: target -> its mutants that were tried.
        resolutions: label -> by how much its bound may be wrong.
        watched: check -> what it reads; idle: claims among these whose change changes nothing.
        states: target -> its digest when it was mutated, or stood among those of which a sample was drawn.
        samples: (paper, family) -> what was drawn.
    """

    trials: dict[tuple[str, str], list[Trial]] = field(default_factory=dict)
    resolutions: dict[str, Resolution] = field(default_factory=dict)
    watched: dict[str, Watched] = field(default_factory=dict)
    idle: dict[str, tuple[str, ...]] = field(default_factory=dict)
    states: dict[tuple[str, str], str] = field(default_factory=dict)
    samples: dict[tuple[str, str], SampleOfMutants] = field(default_factory=dict)

    @property
    def reads(self) -> dict[str, tuple[str, ...]]:
        """Check -> labels of claims, of the checks that ran to their end."""
        return {id: watch.reads for id, watch in self.watched.items() if not watch.dear}

    # -- what is asked of it ------------------------------------------------------------------------------------

    def of(self, label: str) -> list[Trial]:
        """The mutants of a claim or an algorithm."""
        return [trial for family in FAMILIES for trial in self.trials.get((family, label), [])]

    def said(self, label: str) -> str:
        """What stands beside the verdicts of a label; "" where nothing is known."""
        known = self.resolutions.get(label)
        parts = [] if known is None else [str(known) if known.up_by or known.down_by or label in self.heard else UNREAD]
        parts += [sentence(self.of(label))]
        return "; ".join(part for part in parts if part)

    @functools.cached_property
    def heard(self) -> frozenset[str]:
        """Labels of the claims that some check reads."""
        return frozenset(label for watch in self.watched.values() for label in watch.reads)

    def all(self) -> Iterator[Trial]:
        for trials in self.trials.values():
            yield from trials

    def standing(self, states: States) -> Table:
        """Without what speaks of targets, or rests on checks, that were edited since."""
        edited = {id for id, watch in self.watched.items() if states.of_check(id) != watch.state}
        shaken = {label for id in edited for label in self.watched[id].reads}

        def stands(family: str, target: str, by: Iterable[str]) -> bool:
            now, then = states.of(family, target), self.states.get((family, target))
            same = now == then or (family == "seeded" and not now)  # bugs are loaded by `dpcheck mutate` alone
            return same and not edited & set(by) and not (family == "claim" and target in shaken)

        return replace(
            self,
            trials={
                key: trials
                for key, trials in self.trials.items()
                if stands(*key, {check for trial in trials for check in (trial.by, *trial.blind)})
            },
            resolutions={
                label: resolution
                for label, resolution in self.resolutions.items()
                if stands("claim", label, (resolution.up_by, resolution.down_by))
            },
        )

    # -- how it is filled and kept --------------------------------------------------------------------------------

    def add(self, trials: Iterable[Trial]) -> None:
        """Whole targets: what was known of their mutants before is forgotten."""
        fresh: dict[tuple[str, str], list[Trial]] = {}
        for trial in trials:
            fresh.setdefault((trial.family, trial.target), []).append(trial)
        self.trials |= fresh

    def forget(self, claims: Collection[str], checks: Collection[str]) -> None:
        """What speaks of claims and checks that are no more."""

        def known(key: tuple[str, str]) -> bool:
            return key[0] != "claim" or key[1] in claims

        self.trials = {key: trials for key, trials in self.trials.items() if known(key)}
        self.states = {key: state for key, state in self.states.items() if known(key)}
        self.resolutions = {label: resolution for label, resolution in self.resolutions.items() if label in claims}
        self.watched = {id: watch for id, watch in self.watched.items() if id in checks}
        self.idle = {id: labels for id, labels in self.idle.items() if id in checks}

    @classmethod
    def read(cls, path: Path) -> Table:
        """Of a file; empty where there is none. Raises `StoreError` for one that is no table."""
        table = cls()
        try:
            lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
        except FileNotFoundError:
            return table
        except OSError as error:
            raise StoreError(f"cannot read {foreign.shown(path)}: {error.strerror}") from error
        for number, line in enumerate(lines, 1):
            try:
                table._take(foreign.parsed(line))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                said = foreign.plain(str(error))
                raise StoreError(f"{path}:{number} is no line of `dpcheck mutate --save`: {said}") from error
        return table

    def _take(self, row: Mapping[str, Any]) -> None:
        if "sample" in row:
            mutants = SampleOfMutants(**row["sample"])
            _texts(mutants.paper, mutants.family, mutants.size)
            _numbers(mutants.drawn, mutants.of, 0 if mutants.seed is None else mutants.seed)
            self.samples[mutants.paper, mutants.family] = mutants
        elif "check" in row:
            (state,), (seconds,) = _texts(row.get("state", "")), _numbers(row.get("seconds", 0.0))
            seen = Watched(_texts(*row["reads"]), state, seconds, row.get("dear") is True)
            self.watched[row["check"]] = seen
            if row.get("idle"):
                self.idle[row["check"]] = _texts(*row["idle"])
        elif "bound" in row:
            self._take_bound(row)
        else:
            self._take_target(row)

    def _take_bound(self, row: Mapping[str, Any]) -> None:
        bound = {**row["bound"]}
        for name in ("up", "down"):
            bound[name] = math.inf if bound[name] is None else float(bound[name])
        resolution = Resolution(**bound)
        _texts(
            resolution.label,
            resolution.relation,
            resolution.up_by,
            resolution.down_by,
            resolution.up_how,
            resolution.down_how,
        )
        if not (resolution.up >= 1 and resolution.down >= 1):
            raise InvalidInput(f"factors of {resolution.up:g} and {resolution.down:g}, which are at least 1")
        self.resolutions[resolution.label] = resolution
        self._stood(("claim", resolution.label), row)

    def _take_target(self, row: Mapping[str, Any]) -> None:
        family, target = _texts(row["family"], row["target"])
        if family not in FAMILIES:
            raise InvalidInput(f"a family {foreign.shortened(family)}, which there is not")
        self._stood((family, target), row)
        if "mutants" not in row:
            return
        head = {"family": family, "target": target, "paper": row["paper"]}
        trials = [
            Trial.read({**head, "key": f"{family} {target} {m['operator']}: {m['said']}", **m}) for m in row["mutants"]
        ]
        for trial in trials:
            _texts(*(v for name, v in trial.plain().items() if name not in _NO_TEXTS), *trial.blind)
        if not all(trial.operator and trial.said and trial.fate in get_args(Fate) for trial in trials) or not trials:
            raise InvalidInput("no mutants, one without an operator or words, or a fate that there is not")
        self.trials[family, target] = trials

    def _stood(self, target: tuple[str, str], row: Mapping[str, Any]) -> None:
        (state,) = _texts(row.get("state", ""))
        self.states |= {target: state} if state else {}

    def text(self) -> str:
        rows: list[dict[str, Any]] = [{"sample": vars(sample)} for _, sample in sorted(self.samples.items())]
        for key in sorted(self.states.keys() | self.trials.keys()):
            row = {"family": key[0], "target": key[1], "state": self.states.get(key, "")}
            rows.append({**row, **_tried(self.trials[key])} if key in self.trials else row)
        for label, resolution in sorted(self.resolutions.items()):
            rows.append({"bound": resolution.plain(), "state": self.states.get(("claim", label), "")})
        for check, seen in sorted(self.watched.items()):
            idle = {"idle": list(self.idle[check])} if check in self.idle else {}
            rows.append({"check": check, **seen.plain(), **idle})
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _tried(trials: Sequence[Trial]) -> dict[str, Any]:
    """The paper of a target, and what became of its mutants."""
    mutants = [{name: v for name in OF_TRIAL if (v := trial.plain()[name]) and _told(name, trial)} for trial in trials]
    return {"paper": trials[0].paper, "mutants": sorted(mutants, key=lambda m: (m["operator"], m["said"]))}


def _texts(*values: Any) -> tuple[str, ...]:
    """The values, which are texts. Raises `InvalidInput` where one is none."""
    for value in values:
        if not isinstance(value, str):
            raise InvalidInput(f"{foreign.shortened(value)} where a text should be")
    return values


def _numbers(*values: Any) -> tuple[float, ...]:
    """The values, which are numbers from 0. Raises `InvalidInput` where one is none."""
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise InvalidInput(f"{foreign.shortened(value)} where a number from 0 should be")
    return values


def _told(name: str, trial: Trial) -> bool:
    """Why a mutant was noticed is for the eye of who tries it; why it need not be is for everybody."""
    return name != "reason" or trial.fate == "argued"


def counted(trials: Iterable[Trial]) -> Counts:
    """(paper, family) -> fate -> number of mutants."""
    table: dict[tuple[str, str], dict[str, int]] = {}
    for trial in trials:
        row = table.setdefault((trial.paper, trial.family), {})
        row[trial.fate] = row.get(trial.fate, 0) + 1
    return table


def share(counts: Mapping[str, int]) -> float:
    """Of all that are not correct, the share that some check noticed; 1 of none."""
    judged = sum(count for fate, count in counts.items() if fate not in CORRECT)
    return sum(counts.get(fate, 0) for fate in NOTICED) / judged if judged else 1.0


def sentence(trials: Sequence[Trial]) -> str:
    """ "14 of 17 wrong formulas are noticed (9 measured, 5 derived), 1 is argued", by family."""
    said = []
    for family, what in (("claim", "wrong formulas"), ("null", "null algorithms"), ("seeded", "seeded bugs")):
        fates = [trial.fate for trial in trials if trial.family == family]
        judged = [fate for fate in fates if fate not in CORRECT]
        kinds = [f"{fates.count(fate)} {fate}" for fate in NOTICED if fate in fates]
        if judged:
            by = f" ({', '.join(kinds)})" if kinds else ""
            said.append(f"{sum(fate in NOTICED for fate in judged)} of {len(judged)} {what} noticed{by}")
        said += [f"{fates.count('argued')} argued"] if "argued" in fates else []
    return "; ".join(said)


def rows(trials: Iterable[Trial]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the table of what became of mutants: paper, family, how many, and each fate that occurs."""
    counts = counted(trials)
    fates = [fate for fate in FATES if any(fate in row for row in counts.values())]
    lines = []
    for family in FAMILIES:
        for (paper, of), row in sorted(counts.items()):
            if of == family:
                noticed = f"{100 * share(row):.0f} %" if row.keys() - {*CORRECT} else "–"
                tried = [f"{sum(row.values()):,}", noticed, *(f"{row.get(f, 0):,}" for f in fates)]
                lines.append([paper or "shared", family, *tried])
    return ["paper", "family", "tried", "noticed", *fates], sorted(lines, key=lambda row: row[0])


RARE = 1e-3


def unlikely(counts: Mapping[str, int], rate: float) -> str:
    """Says so where so few would be noticed with a probability below `RARE` if each were at this rate; else ""."""
    from scipy.stats import binom

    judged = sum(count for fate, count in counts.items() if fate not in CORRECT)
    seen = sum(counts.get(fate, 0) for fate in NOTICED)
    rare = judged > 0 and binom.cdf(seen, judged, rate) < RARE
    return f"{seen} of {judged} are noticed, at a rate of {rate:.2f}" if rare else ""


Rates = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""paper -> family -> {"noticed": the share, "tried": …, "of": …, "seed": …}: what it is a share of."""


def rates(kept: Table) -> Rates:
    """The rates of a table that may not fall, each beside the sample that it was measured on."""
    known: dict[str, dict[str, Any]] = {}
    for (paper, family), row in sorted(counted(kept.all()).items()):
        drawn, tried = kept.samples.get((paper, family)), sum(row.values())
        of = {} if drawn is None else {"of": drawn.of, "seed": drawn.seed, "size": drawn.size}
        known.setdefault(paper, {})[family] = {"noticed": round(share(row), 3), "tried": tried, **of}
    return known


def below(trials: Iterable[Trial], known: Rates) -> list[str]:
    """Where less is noticed than is likely under known rates."""
    entries = [
        (paper, family, unlikely(row, known.get(paper, {}).get(family, {}).get("noticed", 0.0)))
        for (paper, family), row in counted(trials).items()
    ]
    return [f"{paper} {family}: {said}" for paper, family, said in entries if said]
