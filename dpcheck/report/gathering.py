"""Gathers the report's model from catalogue and records."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpcheck.checks import Check
from dpcheck.engine.mutate.states import States
from dpcheck.engine.mutate.table import Table
from dpcheck.engine.records import Record
from dpcheck.errors import UnknownLabel
from dpcheck.labels import split_label
from dpcheck.report import comparisons, scaling, tables
from dpcheck.report.checked import CheckedReading, SourceLink
from dpcheck.report.model import HOMES, READINGS, PaperView, Reading, Report, StatementPage
from dpcheck.report.mutants import Mutants
from dpcheck.report.prose import Prose

if TYPE_CHECKING:
    from dpcheck.engine.catalogue import Catalogue
    from dpcheck.engine.homes import Home


def build(
    catalogue: Catalogue,
    records: Sequence[Record],
    out: pathlib.Path,
    stale: Collection[str],
    earlier: Mapping[str, Record] | None = None,
    mutants: Table | None = None,
) -> Report:
    """Gathers the report. A label without a claim (an algorithm, a procedure) stands under its paper all the same."""
    table = mutants or Table()
    standing = table.standing(States(catalogue)) if table.states else table
    by_id = {record.check: record for record in records}
    bearing: dict[str, list[Check]] = {}
    for check in catalogue.checks.values():
        for label in dict.fromkeys(check.labels):
            bearing.setdefault(label, []).append(check)
    shown = _Shown(
        catalogue, by_id, out, stale, earlier or {}, standing, table, bearing,
        _by_statement(bearing), _by_statement(catalogue.derivations), _by_statement(catalogue.underived),
    )  # fmt: skip
    by_statement = _by_statement({*catalogue.claims, *catalogue.unchecked, *catalogue.algorithms, *bearing})
    statements = [
        _statement(shown, label, labels)
        for label, labels in sorted(by_statement.items(), key=lambda pair: tables.natural(pair[0]))
    ]
    panels, broken = comparisons.panels(catalogue)
    contests, untold = comparisons.contests(catalogue, by_id)
    keys = sorted({*catalogue.papers, *(statement.paper for statement in statements)})
    return Report(
        papers=tuple(_paper(shown, key, [s for s in statements if s.paper == key]) for key in keys),
        errors=tuple(sorted(_nameless(str(error), catalogue.root) for error in (*catalogue.errors, *broken, *untold))),
        orphans=sum(check not in catalogue.checks for check in by_id),
        folder=_within(out, catalogue.layout.home) or out.name,
        panels=panels,
        contests=contests,
        sizes=comparisons.sizes(catalogue),
        findings=comparisons.findings(catalogue, by_id),
        pairs=tuple(scaling.pairs_of(catalogue)),
    )


def _by_statement(labels: Iterable[str]) -> dict[str, list[str]]:
    """Statement -> those of the labels that are readings of it."""
    readings: dict[str, list[str]] = {}
    for label in labels:
        readings.setdefault(label.partition("@")[0], []).append(label)
    return readings


def _paper(shown: _Shown, key: str, statements: list[StatementPage]) -> PaperView:
    paper, prose = shown.catalogue.papers.get(key), _prose(shown.catalogue.root, statements)
    mutants = Mutants.of(key, shown.measured, shown.table, shown.catalogue.claims)
    if paper is None:
        return PaperView(key, key, "", "", tuple(statements), mutants, prose)
    return PaperView(key, paper.title, paper.authors, paper.reference, tuple(statements), mutants, prose)


def _prose(root: pathlib.Path, statements: Sequence[StatementPage]) -> Prose:
    """What the paper's file of derivations says at its head, where a statement has a section in one."""
    named = (link.text.rpartition(":")[0] for page in statements for link in page.links if link.kind == "derivation")
    file = next((root / name for name in named if name.endswith(".md")), None)
    return Prose() if file is None or not file.is_file() else Prose.read(file.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class _Shown:
    """What every statement is laid out from."""

    catalogue: Catalogue
    by_id: Mapping[str, Record]
    out: pathlib.Path
    stale: Collection[str]
    earlier: Mapping[str, Record]
    table: Table
    """What of the mutants still stands."""
    measured: Table
    """All of it, as it was measured."""
    bearing: Mapping[str, list[Check]]
    """Label -> the checks that bear on it."""
    checked: Mapping[str, list[str]]
    """Of each statement, the readings on which a check bears; so for those that are derived, and those that are not."""
    derived: Mapping[str, list[str]]
    underived: Mapping[str, list[str]]
    results: dict[str, CheckedReading] = field(default_factory=dict)
    """By check: one that bears on several labels is drawn once."""

    def link(self, home: Home) -> SourceLink:
        return _link(home, self.catalogue.root, self.out)

    def result(self, check: Check) -> CheckedReading:
        if check.id not in self.results:
            self.results[check.id] = self._result(check)
        return self.results[check.id]

    def _result(self, check: Check) -> CheckedReading:
        claim, link = self.catalogue.claims.get(check.label), self.link(self.catalogue.home(check.id))
        record = self.by_id.get(check.id)
        reached = self.catalogue.reached(check.label, self.catalogue.layout.home)
        return CheckedReading(check, record, check.id in self.stale, link, claim, self.earlier.get(check.id), reached)


def _statement(shown: _Shown, label: str, labels: Collection[str]) -> StatementPage:
    def order(name: str) -> tuple[int, str]:
        reading = split_label(name)[2] or "as-printed"
        return (READINGS.index(reading) if reading in READINGS else len(READINGS), reading)

    catalogue = shown.catalogue
    readings = tuple(_reading(shown, name) for name in sorted(labels, key=order))
    claims = [reading.claim for reading in readings if reading.claim is not None]
    title = claims[0].title if claims else _title(label)
    links = _links([home for name in sorted(labels) for home in _homes(catalogue, name)], catalogue.root, shown.out)
    reason = next((catalogue.underived[name].reason for name in shown.underived.get(label, ())), "")
    derived = (catalogue.card(name) for name in sorted(shown.derived.get(label, ())))
    return StatementPage(label, title, readings, links, tuple(t for t in derived if t is not None), reason)


def _reading(shown: _Shown, label: str) -> Reading:
    catalogue = shown.catalogue
    checks = sorted(shown.bearing.get(label, ()), key=lambda c: tables.natural(c.id))
    unchecked = catalogue.unchecked.get(label)
    siblings = any(other != label for other in shown.checked.get(label.partition("@")[0], ()))
    results = tuple(sorted((shown.result(check) for check in checks), key=_gravity))
    why = unchecked.reason if unchecked else ""
    return Reading(label, catalogue.claims.get(label), results, why, siblings, shown.table.said(label))


def _gravity(result: CheckedReading) -> tuple[bool, int]:
    """What is refuted comes first, what compares typing with print last."""
    return result.is_transcription, tables.GRAVEST.index(result.outcome)


def _title(label: str) -> str:
    """`alg-3` -> "Algorithm 3", for a label that has no claim to name it."""
    kind, _, rest = label.partition("/")[2].partition("-")
    words = {"alg": "Algorithm", "proc": "Procedure", "lem": "Lemma", "thm": "Theorem", "def": "Definition"}
    return f"{words.get(kind, kind)} {rest if kind == 'proc' else rest.replace('-', '.')}"


def _homes(catalogue: Catalogue, label: str) -> list[Home]:
    try:
        return catalogue.homes(label)
    except UnknownLabel:  # a check of no known claim, which is among the catalogue's errors already
        return []


def _links(homes: list[Home], root: pathlib.Path, out: pathlib.Path) -> tuple[SourceLink, ...]:
    """One link a kind and file, to the first line that names the label; code first, mutants last."""
    first: dict[tuple[int, str], Home] = {}
    for home in homes:
        first.setdefault((HOMES.index(home.kind), home.path), home)
    return tuple(_link(first[key], root, out) for key in sorted(first))


def _link(home: Home, root: pathlib.Path, out: pathlib.Path) -> SourceLink:
    """Relative to the report when file and report are both under the root; else its folder and name, as text."""
    full = root / home.path
    if not (full.is_file() and _within(full, root) and _within(out, root)):
        path = pathlib.PurePath(home.path)
        name = "/".join(path.parts[-2:]) if path.is_absolute() else home.path
        return SourceLink(home.kind, f"{name}:{home.line}", "")
    href = pathlib.PurePath(os.path.relpath(full.resolve(), out.resolve())).as_posix()
    place = _heading(full, home.line) if full.suffix == ".md" else f"#L{home.line}"
    return SourceLink(home.kind, f"{home.path}:{home.line}", href + place)


def _within(path: pathlib.Path, root: pathlib.Path) -> str:
    """`path` as seen from the root, or "" outside of it."""
    full, base = path.resolve(), root.resolve()
    return full.relative_to(base).as_posix() if full.is_relative_to(base) else ""


def _heading(path: pathlib.Path, line: int) -> str:
    """The anchor that code hosts give to the heading on this line; "" when it is none."""
    lines = path.read_text(encoding="utf-8").splitlines()
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    if not text.startswith("#"):
        return ""
    words = re.sub(r"[^\w\- ]", "", text.lstrip("#").strip().lower())
    return f"#{words.replace(' ', '-')}"


def _nameless(message: str, root: pathlib.Path) -> str:
    """An error's text without the absolute path of this checkout."""
    return re.sub(re.escape(str(root.resolve())) + r"/?", "", message)
