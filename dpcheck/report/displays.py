"""Results, claims, plans and verdicts as a notebook shows them: the verdict first, then what carries it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import markupsafe

from dpcheck.auditing.result import AuditResult
from dpcheck.claims import Claim
from dpcheck.report import mathematics, tables
from dpcheck.schedules import Schedule
from dpcheck.verdicts import Verdict

Cell = str | markupsafe.Markup


def shown(thing: AuditResult | Verdict | Claim | Schedule[Any]) -> str:
    """What a notebook shows of it."""
    if isinstance(thing, AuditResult):
        return audit(thing)
    if isinstance(thing, Verdict):
        return verdict(thing)
    return claim(thing) if isinstance(thing, Claim) else plan(thing)


def audit(result: AuditResult) -> str:
    """An audit: its sentence, the event and the counts, the premise; the trade-off curve stays with `result.plot()`."""
    rows: list[tuple[str, Cell]] = [*result.rows(), ("premise", result.premise), ("seed", str(result.seed))]
    return _block(_headed(result.outcome.value, result.reason()), _named(rows, "What the audit rests on"))


def verdict(judged: Verdict) -> str:
    """A verdict: its sentence, and its numbers."""
    rows = [(tables.named(name, judged.numbers), tables.number(value)) for name, value in judged.numbers.items()]
    return _block(_headed(judged.outcome.value, judged.reason), _named(rows, "Numbers of the verdict") if rows else "")


def claim(stated: Claim) -> str:
    """A statement: its words, its bounds as formulas, what it assumes, and what is wrong with it."""
    parts: list[Cell] = [markupsafe.Markup("<strong>{}</strong> <code>{}</code>").format(stated.title, stated.label)]
    parts.append(_words(stated.statement))
    for formula in mathematics.formulas(stated):
        parts.append(markupsafe.Markup("<em>{}</em> {}").format(formula.caption, markupsafe.Markup(formula.mathml)))
    if stated.assumptions:
        assumed = markupsafe.Markup(", ").join(markupsafe.Markup(a.mathml) for a in mathematics.assumptions(stated))
        parts.append(markupsafe.Markup("Assumes {}.").format(assumed))
    if stated.grade or stated.remark:
        parts.append(
            markupsafe.Markup("<strong>{}</strong> {}").format(stated.grade.capitalize(), _words(stated.remark))
        )
    return _block(*(markupsafe.Markup("<p>{}</p>").format(part) for part in parts))


def plan(schedule: Schedule[Any]) -> str:
    """A plan: who promises what, a row a phase, a row a release."""
    by = f", by {', '.join(schedule.claimed_by)}" if schedule.claimed_by else ""
    promised = f"claimed {schedule.claimed}{by}" if schedule.claimed else "nothing is claimed of it"
    head = markupsafe.Markup("<p>{}; {} gradients</p>").format(promised, f"{schedule.gradients:,}")
    names = [field.name for field in dataclasses.fields(schedule.phases[0])] if schedule.phases else []
    names = [name for name in names if all(_short(getattr(phase, name)) for phase in schedule.phases)]
    phases = [[tables.number(getattr(phase, name)) for name in names] for phase in schedule.phases]
    releases = [
        [
            release.name,
            type(release.law).__name__,
            tables.number(max(r.sensitivity for r in release.reads)),
            release.count,
        ]
        for release in schedule.releases
        if release.reads
    ]
    tabled = _table(["release", "law", "sensitivity", "uses"], releases, "Releases")
    return _block(head, _table(names, phases, "Phases") if names else "", tabled)


def _short(value: object) -> bool:
    return isinstance(value, int | float | str)


def _words(text: str) -> markupsafe.Markup:
    return markupsafe.Markup(tables.hypertext(text))


def _headed(outcome: str, reason: str) -> markupsafe.Markup:
    sign = tables.SIGNS[outcome]
    return markupsafe.Markup("<p><strong>{} {}</strong> {}</p>").format(sign, outcome, _words(reason))


_NAMED = '<tr><th scope="row" style="text-align: left">{}</th><td style="text-align: left">{}</td></tr>'


def _named(rows: Iterable[tuple[str, Cell]], caption: str) -> markupsafe.Markup:
    body = markupsafe.Markup("").join(markupsafe.Markup(_NAMED).format(name, value) for name, value in rows)
    return markupsafe.Markup("<table><caption>{}</caption><tbody>{}</tbody></table>").format(caption, body)


def _table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str) -> markupsafe.Markup:
    top = markupsafe.Markup("").join(markupsafe.Markup('<th scope="col">{}</th>').format(name) for name in head)
    body = markupsafe.Markup("").join(
        markupsafe.Markup("<tr>{}</tr>").format(
            markupsafe.Markup("").join(markupsafe.Markup("<td>{}</td>").format(cell) for cell in row)
        )
        for row in rows
    )
    whole = "<table><caption>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table>"
    return markupsafe.Markup(whole).format(caption, top, body)


def _block(*parts: Cell) -> str:
    """Scrolls by itself where it is wider than the page."""
    whole = markupsafe.Markup("").join(parts)
    return str(markupsafe.Markup('<div style="overflow-x: auto">{}</div>').format(whole))
