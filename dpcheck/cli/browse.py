"""`dpcheck list` and `dpcheck show`: what is claimed, what became of it, and where it stands."""

from __future__ import annotations

import shlex
import textwrap
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dpcheck.cli import completion
from dpcheck.cli.common import (
    Exit,
    also_option,
    coloured,
    count,
    echo_json,
    errors_of,
    finish,
    index_of,
    json_option,
    kinds_of_refutation,
    lazily,
    no_such_paper,
    results_of,
    root_option,
    shown,
    store_option,
    table,
    width,
    witness_path,
)
from dpcheck.engine.history import grade_of
from dpcheck.errors import InvalidInput, UnknownLabel
from dpcheck.report.tables import natural

if TYPE_CHECKING:
    from dpcheck.engine.cards import CheckCard, ClaimCard
    from dpcheck.engine.history import Chosen
    from dpcheck.engine.homes import Needed
    from dpcheck.engine.index import Index
    from dpcheck.engine.store import Failure
    from dpcheck.verdicts import Witness

OUTCOMES = ("refuted", "differs", "undecided", "consistent", "holds", "skipped", "not run", "unchecked")
"""Of a claim, the most telling first."""


def outcomes_of(catalogue: Index, claim: ClaimCard, results: Mapping[str, Chosen]) -> list[str]:
    """The outcome of every check of a claim; `unchecked` when it has none and says why, nothing when it has none."""
    checks = catalogue.checks_of(claim.label)
    if not checks:
        return ["unchecked"] if claim.label in catalogue.unchecked else []
    values = [results[c.id].record.verdict.outcome.value if c.id in results else "not run" for c in checks]
    return sorted(values, key=OUTCOMES.index)


def in_words(outcomes: list[str]) -> str:
    """`refuted`, or `refuted 1 · holds 2` where checks differ."""
    counts = Counter(outcomes)
    if len(counts) < 2:
        return outcomes[0] if outcomes else "no check"
    return " · ".join(f"{name} {number}" for name, number in counts.items())


def check_row(catalogue: Index, check: CheckCard, chosen: Chosen | None) -> dict[str, Any]:
    """One check and its verdict, for JSON."""
    row: dict[str, Any] = {
        "id": check.id,
        "kind": check.kind,
        "doc": check.doc,
        "expect": sorted(outcome.value for outcome in check.expect),
        "standing": catalogue.standing(check.label),
        "home": str(catalogue.home(check.id)),
        "outcome": "not run",
    }
    if chosen is not None:
        record = chosen.record
        row |= {
            "outcome": record.verdict.outcome.value,
            "expected": record.expected,
            "stale": chosen.stale,
            "size": record.size,
            "seed": record.seed,
            "verdict": record.verdict.to_dict(),
        }
    return row


# -- list ------------------------------------------------------------------------------------------------------------


@click.command("list")
@click.option("--paper", shell_complete=completion.papers, help="Only claims of this paper.")
@click.option("--kind", help="Only claims of this kind (theorem, …), or with a check of this kind (privacy, …).")
@click.option("--outcome", type=click.Choice(OUTCOMES), help="Only claims of which some check has this outcome.")
@root_option
@also_option
@store_option
@json_option
def list_command(
    paper: str | None,
    kind: str | None,
    outcome: str | None,
    root: str | None,
    also: tuple[str, ...],
    store: str | None,
    as_json: bool,
) -> None:
    """Every claim, with what became of it."""
    catalogue = index_of(root, also)
    if paper is not None and paper not in catalogue.papers:
        raise no_such_paper(paper, catalogue.papers)
    kinds_here = {claim.kind for claim in catalogue.claims.values()} | {
        check.kind for check in catalogue.checks.values()
    }
    if kind is not None and kind not in kinds_here:
        raise click.BadParameter(f"got {kind!r}; there are {', '.join(sorted(kinds_here))}", param_hint="--kind")
    wanted_checks = [check for check in catalogue.checks.values() if paper in (None, check.label.partition("/")[0])]
    results = results_of(catalogue, store, only={check.id for check in wanted_checks})
    rows = []
    for claim in sorted(catalogue.claims.values(), key=lambda c: (c.paper.key, natural(c.section))):
        words = outcomes_of(catalogue, claim, results)
        checks = catalogue.checks_of(claim.label)
        kinds = {claim.kind, *(check.kind for check in checks)}
        wanted = paper in (None, claim.label.partition("/")[0]) and (kind is None or kind in kinds)
        if wanted and (outcome is None or outcome in words):
            rows.append((claim, words, checks))
    if as_json:
        echo_json([_list_row(catalogue, claim, outcomes, checks, results) for claim, outcomes, checks in rows])
    else:
        stale = {check for check, chosen in results.items() if chosen.stale}
        shown = [
            (
                c.label,
                c.kind,
                in_words(outcomes) + "*" * bool(stale & {check.id for check in checks}),
                grade_of(c, results),
                c.title,
            )
            for c, outcomes, checks in rows
        ]
        table(shown, ("label", "kind", "outcome", "grade", "title"))
        listed = {check.id for _, _, checks in rows for check in checks}  # once, though several labels may share it
        made = {id: chosen.record.verdict.outcome.value for id, chosen in results.items() if id in listed}
        total = Counter([*made.values(), *["not run"] * len(listed - made.keys())])
        said = " · ".join(f"{name} {total[name]}" for name in OUTCOMES if total[name])
        refuted = (id.partition("::")[0] for id, outcome in made.items() if outcome == "refuted")
        said += kinds_of_refutation(catalogue, refuted)
        click.echo(count(len(rows), "claim") + (f" · checks: {said}" if said else ""))
        if any(row[2].endswith("*") for row in shown):
            click.echo("* some result is stale: its sources have changed since; `dpcheck run` renews it")
    finish(catalogue, Exit.EXPECTED if catalogue.claims else Exit.NOTHING)


def _list_row(
    catalogue: Index, claim: ClaimCard, words: list[str], checks: list[CheckCard], results: Mapping[str, Chosen]
) -> dict[str, Any]:
    return {
        "label": claim.label,
        "kind": claim.kind,
        "title": claim.title,
        "paper": claim.paper.key,
        "reading": claim.reading,
        "grade": grade_of(claim, results),
        "outcome": words[0] if words else "no check",
        "unchecked": catalogue.unchecked.get(claim.label),
        "checks": [check_row(catalogue, check, results.get(check.id)) for check in checks],
    }


# -- show ------------------------------------------------------------------------------------------------------------


@click.command("show")
@click.argument("label", shell_complete=completion.labels)
@root_option
@also_option
@store_option
@json_option
def show_command(label: str, root: str | None, also: tuple[str, ...], store: str | None, as_json: bool) -> None:
    """One statement: what it says, what became of it, and where everything about it stands."""
    label, _, name = label.partition("::")
    if not label.strip():
        raise click.BadParameter("got an empty label; `dpcheck list` shows every label", param_hint="LABEL")
    try:
        catalogue = index_of(root, also, label=label)
    except UnknownLabel:
        _of_no_statement(label, root, also)
        raise
    claim = catalogue.claims.get(label)
    if claim is None:
        readings = catalogue.readings(label)
        if "@" in label or not readings:
            from dpcheck.engine.index import algorithms

            _of_no_statement(label, root, also)
            raise UnknownLabel(label, dict.fromkeys([*catalogue.claims, *algorithms()]))
        claim = readings[0]
    checks = {check.id for each in catalogue.readings(claim.label) for check in catalogue.checks_of(each.label)}
    if name and f"{label}::{name}" not in checks:
        names = sorted(id.partition("::")[2] for id in checks if id.startswith(f"{label}::"))
        raise InvalidInput(f"{label} has no check {name!r}; it has {', '.join(names) or 'none'}")
    results = results_of(catalogue, store, only=checks)
    if as_json:
        echo_json(_as_dict(catalogue, claim, results))
    else:
        for line in _screen(catalogue, claim, results, errors_of(catalogue, store, results)):
            click.echo(line)
    finish(catalogue)


def _of_no_statement(label: str, root: str | None, also: tuple[str, ...]) -> None:
    """Raises `InvalidInput` that names the command for what has a name and no statement: a paper, or an algorithm."""
    typed = "".join(f" --also {shlex.quote(path)}" for path in also)
    from dpcheck.engine import layout
    from dpcheck.engine.fetching import beside, refuse_unnamed

    if "/" not in label:
        refuse_unnamed(beside(layout.find(root), also), label)
    if "/" not in label and label in index_of(root, also).papers:
        raise InvalidInput(f"{label} is a paper: `dpcheck list --paper {label}{typed}` shows its statements")
    if label in _algorithms(root, also):
        raise InvalidInput(
            f"{label} is an algorithm, of which nothing is stated: `dpcheck plan {label} --n 1000 --epsilon 1{typed}` "
            "shows its schedule"
        )


def _algorithms(root: str | None, also: tuple[str, ...]) -> Collection[str]:
    """The labels of all algorithms; where there may be some of one's own, all are imported for that."""
    from dpcheck.engine import index, layout

    here = layout.find(root)
    if not (also or here.papers or here.installed):
        return index.algorithms()
    from dpcheck.engine import algorithms

    lazily(root, also)
    return algorithms.algorithms()


def _rerun(catalogue: Index, claim: ClaimCard) -> str:
    """The command that runs the checks of a claim again, as typed in the working directory."""
    return f"dpcheck run {claim.label}{catalogue.reached(claim.label)} --size standard"


SIGNS = {"<=": ("≲", "≤"), ">=": ("≳", "≥"), "=": ("=", "="), "is": (":", ":")}
ORIGINS = {"own": "own result", "cited": "cited", "ours": "added here"}


def _screen(
    catalogue: Index, claim: ClaimCard, results: Mapping[str, Chosen], errors: Mapping[str, Failure]
) -> list[str]:
    """The screen of `dpcheck show`, line by line."""
    edge = min(width() or 120, 120)
    lines = _title(claim, str(catalogue.home(claim.label)), edge)
    failed = count(sum(check.id in errors for check in catalogue.checks_of(claim.label)), "error")
    words = in_words(outcomes_of(catalogue, claim, results))
    lines.append("  " + _tinted((words if failed.startswith("0") else f"{failed} · {words}").upper()))
    lines += textwrap.wrap(claim.statement, edge, initial_indent="  ", subsequent_indent="  ")
    for sign, expression in zip(SIGNS[claim.relation], (claim.order, claim.explicit), strict=True):
        if expression is not None:
            hidden = " (up to a constant)" if sign in "≲≳" else ""
            lines.append(f"  {claim.quantity or 'bound'} {sign}{hidden}")
            lines += [f"      {line}".rstrip() for line in expression.lines]
    said = _facts(claim, results)
    said += _errata(catalogue, claim)
    said += _verdicts(catalogue, claim, results)
    for check in catalogue.checks_of(claim.label):
        if check.id in errors:
            key = errors[check.id].key
            said.append((check.kind, f"ERROR  {errors[check.id].message} (size {key.size}, seed {key.seed})"))
    said += _places(catalogue, claim)
    for other in catalogue.readings(claim.label):
        if other is not claim:
            words = in_words(outcomes_of(catalogue, other, results))
            said.append((other.reading, f"{words:<14} {other.label}"))
    if catalogue.checks_of(claim.label):
        said.append(("rerun", _rerun(catalogue, claim)))
    pad = max(len(name) for name, _ in said)
    for name, text in said:
        lead = f"  {name:<{pad}}  "
        wrapped = textwrap.wrap(text, edge - len(lead), break_long_words=False, break_on_hyphens=False) or [""]
        lines.append(lead + _tinted(wrapped[0]))
        lines += [" " * len(lead) + line for line in wrapped[1:]]
    return lines + _derivation(catalogue, claim, edge)


MARKS = {"follows": "✓", "argued": "·", "granted": "∘", "gap": "≠", "fails": "✗", "open": "?"}
"""How a step of a derivation stands."""


def _derivation(catalogue: Index, claim: ClaimCard, edge: int) -> list[str]:
    """The executed derivation, step by step, or why there is none."""
    statement = claim.statement_label
    steps = catalogue.transcript(claim.label)
    if steps is None:
        reason = next((catalogue.underived[x] for x in (claim.label, statement) if x in catalogue.underived), "")
        return textwrap.wrap(f"no derivation: {reason}", edge, initial_indent="  ", subsequent_indent="    ") * bool(
            reason
        )
    lines = ["", *textwrap.wrap(f"Derivation. {steps.about}", edge, initial_indent="  ", subsequent_indent="  ")]
    for number, step in enumerate(steps.steps, 1):
        lead = f"  {MARKS[step.standing]} {number:>2}  "
        text = step.text + (f" [{step.detail}]" if step.detail else "")
        lines += textwrap.wrap(text, edge, initial_indent=lead, subsequent_indent=" " * len(lead))
        for formula in step.formulas:
            lines += textwrap.wrap(formula.inline, edge, initial_indent=" " * 10, subsequent_indent=" " * 12)
    used = [standing for standing in MARKS if any(step.standing == standing for step in steps.steps)]
    words = {
        "follows": "executed",
        "argued": "in words",
        "granted": "granted, and not shown",
        "gap": "does not follow",
        "fails": "fails",
        "open": "open",
    }
    lines.append(f"  {steps.counted}: " + ", ".join(f"{MARKS[standing]} {words[standing]}" for standing in used))
    return lines


def _title(claim: ClaimCard, home: str, edge: int) -> list[str]:
    """`Theorem 1 · the paper's title, Section 4 · own result        bounds/…:112`, the title cut to fit."""
    item = claim.title if claim.reading == "as-printed" else f"{claim.title}, {claim.reading}"
    rest = (f", Section {claim.section}" if claim.section else "") + f" · {ORIGINS[claim.origin]}"
    room = edge - len(item) - len(rest) - len(home) - 5
    paper = claim.paper.title if len(claim.paper.title) <= room else claim.paper.title[: room - 1].rstrip() + "…"
    if room < 12:
        return [f"{item} · {claim.paper.title}{rest}", f"  {home}"]
    line = f"{item} · {paper}{rest}"
    return [line + home.rjust(edge - len(line))]


def _tinted(text: str) -> str:
    """A line whose first word is an outcome, that word in its colour."""
    word, blank, rest = text.partition(" ")
    return coloured(word) + blank + rest


def _facts(claim: ClaimCard, results: Mapping[str, Chosen]) -> list[tuple[str, str]]:
    """Assumptions, constants, probability, and what is wrong with the printed form."""
    pairs = []
    if claim.assumptions:
        pairs.append(("assumes", ", ".join(each.inline for each in claim.assumptions)))
    if claim.symbols:
        pairs.append(("constants", ", ".join(claim.symbols)))
    if claim.probability is not None:
        pairs.append(("with prob.", claim.probability.inline))
    if claim.about:
        pairs.append(("about", ", ".join(claim.about)))
    if claim.grade or claim.remark:
        grade = grade_of(claim, results)
        pairs.append(("grade" if grade else "remark", ": ".join(filter(None, (grade, claim.remark)))))
    return pairs


def _errata(catalogue: Index, claim: ClaimCard) -> list[tuple[str, str]]:
    """What the codes in the remark, such as S1, stand for: rows of the errata in `bounds/<paper>.md`."""
    from dpcheck.report.prose import CODES, Prose

    told: dict[str, str] = {}
    files = [folder / f"{claim.paper.key}.md" for folder in catalogue.folders]
    codes = dict.fromkeys(CODES.findall(claim.remark or ""))
    for file in files if codes else ():
        if file.is_file():
            told |= Prose.read(file.read_text(encoding="utf-8")).told
    return [(f"({code})", f"erratum of {claim.paper.key}: {told[code]}") for code in codes if code in told]


def _verdicts(catalogue: Index, claim: ClaimCard, results: Mapping[str, Chosen]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []

    def rank(check: CheckCard) -> int:
        return OUTCOMES.index(results[check.id].record.verdict.outcome.value if check.id in results else "not run")

    for check in sorted(catalogue.checks_of(claim.label), key=rank):
        chosen = results.get(check.id)
        if chosen is None:
            pairs.append((check.kind, f"not run   {check.doc or check.name}"))
            continue
        record, verdict = chosen.record, chosen.record.verdict
        sure: str = verdict.evidence
        if verdict.failure_probability:
            sure += f", failure probability {verdict.failure_probability:.2g}"
        stale = "; stale: its sources have changed since" if chosen.stale else ""
        unexpected = "" if record.expected else "; unexpected"
        pairs.append(
            (
                check.kind,
                f"{verdict.outcome.value.upper()}  {verdict.reason} "
                f"({sure}; size {record.size}, seed {record.seed}{stale}{unexpected})",
            )
        )
        if verdict.witness is not None:
            witness, path = verdict.witness, _witness_file(catalogue, check, verdict.witness)
            pairs.append(("witness", f"claimed {witness.claimed}, found {witness.found} ({witness.kind})"))
            if path is not None:
                pairs.append(("verify", f"dpcheck verify {shown(path)}{catalogue.reached(claim.label)}"))
    if claim.label in catalogue.unchecked:
        pairs.append(("unchecked", catalogue.unchecked[claim.label]))
    return pairs or [("checked", "by nothing here")]


def _witness_file(catalogue: Index, check: CheckCard, witness: Witness) -> Path | None:
    """Where the witness of a verdict is kept: beside the store that has the run, or committed with the report."""
    ran = witness_path(catalogue.layout.store, witness)
    paper, name = check.label.partition("/")[0], check.id.partition("::")[2]
    written = [path for path in catalogue.layout.witnesses if path.match(f"{paper}/*-{name}.json")]
    for path in (ran, *written):
        if path.is_file() and f'"{witness.digest}"' in path.read_text(encoding="utf-8"):
            return path
    return None


LINES = 8
"""Most lines of one file, and most places of one kind, that are named."""


def _places(catalogue: Index, claim: ClaimCard) -> list[tuple[str, str]]:
    """The files that one needs to understand the statement and to change it, then where else its label stands."""
    needed = catalogue.needed(claim.label)
    pairs = [("files" if place == 0 else "", _place(each)) for place, each in enumerate(needed)]
    files = {each.path for each in needed}
    places: dict[str, list[str]] = {}
    for home in catalogue.homes(claim.label):
        if home.path not in files:
            kind = {"algorithm": "code", "derivation": "prose"}.get(home.kind, home.kind)
            places.setdefault(kind, []).append(str(home))
    pairs += [(kind, _cut(where)) for kind, where in places.items()]
    return pairs


def _place(file: Needed) -> str:
    """`bounds/toy.py:8, 20`."""
    return file.path + ":" * bool(file.lines) + _cut(list(map(str, file.lines)))


def _cut(places: list[str]) -> str:
    return ", ".join(places[:LINES]) + (f" and {len(places) - LINES} more" if len(places) > LINES else "")


def _as_dict(catalogue: Index, claim: ClaimCard, results: Mapping[str, Chosen]) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "label": claim.label,
        "kind": claim.kind,
        "title": claim.title,
        "paper": {"key": claim.paper.key, "title": claim.paper.title, "reference": claim.paper.reference},
        "section": claim.section,
        "origin": claim.origin,
        "statement": claim.statement,
        "reading": claim.reading,
        "quantity": claim.quantity,
        "relation": claim.relation,
        "order": None if claim.order is None else claim.order.text,
        "explicit": None if claim.explicit is None else claim.explicit.text,
        "latex": claim.latex,
        "assumptions": [a.text for a in claim.assumptions],
        "probability": None if claim.probability is None else claim.probability.text,
        "about": list(claim.about),
        "grade": grade_of(claim, results),
        "remark": claim.remark,
        "outcome": (outcomes_of(catalogue, claim, results) or ["no check"])[0],
        "checks": [check_row(catalogue, c, results.get(c.id)) for c in catalogue.checks_of(claim.label)],
        "unchecked": catalogue.unchecked.get(claim.label),
        "derivation": _steps(catalogue, claim),
        "homes": [{"kind": h.kind, "path": h.path, "line": h.line} for h in catalogue.homes(claim.label)],
        "files": [{"part": f.part, "path": f.path, "lines": list(f.lines)} for f in catalogue.needed(claim.label)],
        "readings": [other.label for other in catalogue.readings(claim.label) if other is not claim],
        "rerun": _rerun(catalogue, claim),
    }


def _steps(catalogue: Index, claim: ClaimCard) -> list[dict[str, Any]] | None:
    steps = catalogue.transcript(claim.label)
    if steps is None:
        return None
    return [
        {
            "text": s.text,
            "standing": s.standing,
            "formulas": [formula.text for formula in s.formulas],
            "detail": s.detail,
        }
        for s in steps.steps
    ]


COMMANDS = (list_command, show_command)
