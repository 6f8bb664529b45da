"""What mutants taught, as a file beside the records: who notices what, by how much, and what each check reads."""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from dpcheck import foreign
from dpcheck.engine.mutate.mutation import CORRECT, FAMILIES, FATES, NOTICED, Fate, Trial
from dpcheck.engine.mutate.resolution import Resolution
from dpcheck.errors import InvalidInput, StoreError

NAME = "mutants.jsonl"
"""Of the file, in the folder of the report."""
UNREAD = "no check reads this bound"
OF_TRIAL = ("operator", "said", "fate", "by", "blind", "reason")
_NO_TEXTS = ("blind", "tried", "seconds")
Counts = Mapping[tuple[str, str], Mapping[str, int]]


@dataclass
class Table:
    """One line a target, a bound and a check, sorted; the same results are the same bytes.

    Attributes:
        trials: target -> its mutants.
        resolutions: label -> by how much its bound may be wrong.
        reads: check -> labels of the claims that it reads; idle: those of them whose change changes nothing.
        states: label -> digest of the claim that the results of it speak of.
    """

    trials: dict[tuple[str, str], list[Trial]] = field(default_factory=dict)
    resolutions: dict[str, Resolution] = field(default_factory=dict)
    reads: dict[str, tuple[str, ...]] = field(default_factory=dict)
    idle: dict[str, tuple[str, ...]] = field(default_factory=dict)
    states: dict[str, str] = field(default_factory=dict)

    # -- what is asked of it ------------------------------------------------------------------------------------

    def of(self, label: str) -> list[Trial]:
        """The mutants of a claim or an algorithm."""
        return [trial for family in FAMILIES for trial in self.trials.get((family, label), [])]

    def said(self, label: str) -> str:
        """What stands beside the verdicts of a label; "" where nothing is known."""
        found = self.resolutions.get(label)
        parts = [] if found is None else [str(found) if found.up_by or found.down_by or label in self.heard else UNREAD]
        parts += [sentence(self.of(label))]
        return "; ".join(part for part in parts if part)

    @functools.cached_property
    def heard(self) -> frozenset[str]:
        """Labels of the claims that some check reads."""
        return frozenset(label for labels in self.reads.values() for label in labels)

    def all(self) -> Iterator[Trial]:
        for trials in self.trials.values():
            yield from trials

    def standing(self, states: Mapping[str, str]) -> Table:
        """Without what speaks of claims as they were before an edit.

        Args:
            states: label -> digest of the claim as it is now.
        """
        gone = {label for label, state in self.states.items() if states.get(label) != state}
        return Table(
            {key: trials for key, trials in self.trials.items() if key[0] != "claim" or key[1] not in gone},
            {label: found for label, found in self.resolutions.items() if label not in gone},
            self.reads,
            self.idle,
            self.states,
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
        self.trials = {key: trials for key, trials in self.trials.items() if key[0] != "claim" or key[1] in claims}
        self.resolutions = {label: found for label, found in self.resolutions.items() if label in claims}
        self.states = {label: state for label, state in self.states.items() if label in claims}
        self.reads = {id: labels for id, labels in self.reads.items() if id in checks}
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
        if "mutants" in row:
            family, target, paper = row["family"], row["target"], row["paper"]
            head = {"family": family, "target": target, "paper": paper}
            trials = [
                Trial.read({**head, "key": f"{family} {target} {m['operator']}: {m['said']}", **m})
                for m in row["mutants"]
            ]
            for trial in trials:
                _texts(*(v for name, v in trial.plain().items() if name not in _NO_TEXTS), *trial.blind)
            if family not in FAMILIES or not trials or any(trial.fate not in get_args(Fate) for trial in trials):
                raise InvalidInput("no mutants, or a family or a fate that there is not")
            self.trials[family, target] = trials
        elif "check" in row:
            self.reads[row["check"]] = _texts(*row["reads"])
            if row.get("idle"):
                self.idle[row["check"]] = _texts(*row["idle"])
        else:
            bound = {**row["bound"]}
            for name in ("up", "down"):
                bound[name] = math.inf if bound[name] is None else float(bound[name])
            found = Resolution(**bound)
            _texts(found.label, found.relation, found.up_by, found.down_by)
            if not (found.up >= 1 and found.down >= 1):
                raise InvalidInput(f"factors of {found.up:g} and {found.down:g}, which are at least 1")
            self.resolutions[found.label] = found
        if "state" in row:
            self.states[row["target"] if "mutants" in row else row["bound"]["label"]] = _texts(row["state"])[0]

    def text(self) -> str:
        rows: list[dict[str, Any]] = []
        for family, target in sorted(self.trials):
            trials = self.trials[family, target]
            mutants = [
                {name: v for name in OF_TRIAL if (v := trial.plain()[name]) and _told(name, trial)} for trial in trials
            ]
            mutants.sort(key=lambda m: (m["operator"], m["said"]))
            rows.append(
                {
                    "family": family,
                    "target": target,
                    "paper": trials[0].paper,
                    **self._state(family, target),
                    "mutants": mutants,
                }
            )
        rows += [
            {"bound": found.plain(), **self._state("claim", label)} for label, found in sorted(self.resolutions.items())
        ]
        for check, reads in sorted(self.reads.items()):
            rows.append(
                {
                    "check": check,
                    "reads": list(reads),
                    **({"idle": list(self.idle[check])} if check in self.idle else {}),
                }
            )
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)

    def _state(self, family: str, label: str) -> dict[str, str]:
        return {"state": self.states[label]} if family == "claim" and label in self.states else {}


def _texts(*values: Any) -> tuple[str, ...]:
    """The values, which are texts. Raises `InvalidInput` where one is none."""
    for value in values:
        if not isinstance(value, str):
            raise InvalidInput(f"{foreign.shortened(value)} where a text should be")
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
    found = []
    for family in FAMILIES:
        for (paper, of), row in sorted(counts.items()):
            if of == family:
                tried = [f"{sum(row.values()):,}", f"{100 * share(row):.0f} %", *(f"{row.get(f, 0):,}" for f in fates)]
                found.append([paper or "shared", family, *tried])
    return ["paper", "family", "tried", "noticed", *fates], sorted(found, key=lambda row: row[0])


RARE = 1e-3


def unlikely(counts: Mapping[str, int], rate: float) -> str:
    """Says so where so few would be noticed with a probability below `RARE` if each were at this rate; else ""."""
    judged = sum(count for fate, count in counts.items() if fate not in CORRECT)
    seen = sum(counts.get(fate, 0) for fate in NOTICED)
    tail = math.fsum(math.comb(judged, k) * rate**k * (1 - rate) ** (judged - k) for k in range(seen + 1))
    return f"{seen} of {judged} are noticed, at a rate of {rate:.2f}" if judged and tail < RARE else ""
