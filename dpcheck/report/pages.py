"""The Markdown pages, and the words that they share with the HTML page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jinja2
import sympy as sp

from dpcheck.claims import Claim
from dpcheck.engine.cards import StepCard
from dpcheck.report import mathematics, scaling, tables
from dpcheck.report.checked import CheckedReading, SourceLink
from dpcheck.report.comparisons import PanelView
from dpcheck.report.model import PaperView, Reading, Report

MEANING = (
    "**holds**: an exact computation, a certificate, a count or algebra establishes the statement in every cell "
    "checked; or, for a mean or a quantile, the upper confidence bound of the measurement lies below it. It says "
    "nothing of sizes and inputs outside of the cells, unless the evidence is symbolic. Where it is *certified*, a "
    "stored proof in exact rationals, checked anew, covers every function and vector that the run names, in any "
    "dimension, at the numbers in the sentence, and all numbers where it says so.",
    "**refuted**: the statement, in the reading named, is violated beyond the failure probability; where a witness is "
    "linked, anyone can recompute the violation from it without the search that found it. Refutations of printed "
    "statements, of readings of them (taken at their word, or repaired by us) and of statements that only we made are "
    "counted apart.",
    "**consistent**: nothing was found, though a violation as large as the sentence says would have been. A sampled "
    "privacy audit and a measured rate never prove their statement: at best they end here.",
    "**undecided**: too little was measured to tell, or the bound is so large that no measurement could break it.",
    "**differs**: what dpcheck runs or wrote down is not the printed line; a defect of dpcheck, and no word about the "
    "paper.",
    "**skipped**: an optional package is missing, or the check takes too long for this size; the reason is given.",
    "**not run**: there is a check, and no verdict of it is stored.",
)
GRADES = {
    "refuted": (
        "Refuted",
        "The conclusion of a numbered statement is false as printed, under every charitable reading.",
    ),
    "suspected": (
        "Suspected",
        "The algebra says that these are false, and no verified witness is stored: no accusation until then.",
    ),
    "slip": (
        "Slips",
        "False only when taken at its word (a misplaced line, a garbled exponent); the intended reading stands.",
    ),
    "proof gap": ("Proof gaps", "A step of the proof fails; the conclusion stands, or is open."),
}


def render(report: Report) -> dict[str, str]:
    """File name -> text of `index.md` and of one page a paper."""
    environment = create_environment("md", tables.markdown)
    index, paper_page = environment.get_template("index.md.j2"), environment.get_template("paper.md.j2")
    pages = {"index.md": index.render(report=report)}
    pages |= {f"{paper.key}.md": paper_page.render(report=report, paper=paper) for paper in report.papers}
    if report.panels or report.contests or report.sizes:
        pages["comparisons.md"] = environment.get_template("comparisons.md.j2").render(report=report)
    return {name: _tidy(text) for name, text in pages.items()}


def create_environment(kind: str, escape: Callable[[str], Any]) -> jinja2.Environment:
    """Templates with the report's vocabulary; `md` or `html` is the filter that escapes plain text."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dpcheck.report"),
        autoescape=kind == "html",
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.globals |= {
        "marker": tables.MARKER,
        "outcomes": tables.OUTCOMES,
        "gravest": tables.GRAVEST,
        "signs": tables.SIGNS,
        "meaning": MEANING,
        "grades": list(GRADES.items()),
        "scaling_head": scaling.HEAD,
    }
    environment.filters |= {
        kind: escape,
        "counted": counted,
        "number": tables.number,
        "plural": lambda things: "" if (things if isinstance(things, int) else len(things)) == 1 else "s",
        "words": lambda name: name.replace("-", " "),
        "formulas": mathematics.formulas,
        "assumptions": mathematics.assumptions,
        "standing": standing,
        "about": about,
        "shortened": shortened,
        "capitalize_first": lambda text: text[:1].upper() + text[1:],
        "why_unchecked": why_unchecked,
        "signed": signed,
        "verdict_mark": lambda result: f"{tables.SIGNS[result.outcome]} **{result.outcome}**",
        "pictured": pictured,
        "alternative": alternative,
        "escaped": tables.escaped,
        "result_link": _result_link,
        "file_link": _file_link,
    }
    return environment


def tally(counts: Mapping[str, int]) -> str:
    """`{"holds": 3, "refuted": 0}` -> "holds 3 · refuted 0", never hiding a zero of the three that matter."""
    return " · ".join(
        f"{outcome} {count}"
        for outcome, count in counts.items()
        if count or outcome in ("refuted", "holds", "consistent", "undecided")
    )


def counted(view: Report | PaperView) -> str:
    """Checks by outcome, refutations by what they refute, transcriptions apart."""
    said = tally(view.counts)
    if view.refutations:
        said += f" (refuted: {view.refutations})"
    if view.transcriptions:
        said += f"; and {view.transcriptions} that compare our transcription with the printed line"
    return said


def about(claim: Claim) -> str:
    """One line: what kind of statement, where, whose, on which quantity, for which algorithms, how probable."""
    whose = {"own": "own result", "cited": "cited", "ours": "not in the paper: worked out here"}[claim.origin]
    parts = [claim.kind.capitalize(), f"Section {claim.section}" if claim.section else "", whose]
    parts.append(f"quantity: {claim.quantity}" if claim.quantity else "")
    parts.append(f"about {', '.join(f'`{label}`' for label in claim.about)}" if claim.about else "")
    if claim.probability is not None:
        parts.append(f"with probability {_line(claim.probability)}")
    return " · ".join(part for part in parts if part)


def _line(value: sp.Expr | float) -> str:
    """An expression on one line, in Unicode where that fits."""
    pretty = str(sp.pretty(value, use_unicode=True))
    return str(value).replace("**", "^") if "\n" in pretty else pretty


def shortened(value: str) -> str:
    """An exact rational can have hundreds of digits; the file holds them all."""
    return value if len(value) <= 40 else f"{value[:36]}… ({len(value)} characters)"


def why_unchecked(reading: Reading) -> str:
    """The honest sentence under a reading that has no check."""
    if reading.unchecked:
        return f"No check: {reading.unchecked.strip().rstrip('.')}."
    if reading.claim is not None and reading.claim.kind in ("assumption", "definition"):
        return f"No check: {reading.claim.kind}s have nothing to refute."
    if reading.siblings:
        return "No check of this reading; the others have theirs."
    return "No check, and no reason is given for having none."


def standing(step: StepCard) -> str:
    """How a step of a derivation stands, in words."""
    return {
        "follows": "executed",
        "argued": "in words",
        "granted": "granted, and not shown",
        "gap": "does not follow",
        "fails": "FAILS",
        "open": "not decided",
    }[step.standing]


def pictured(result: CheckedReading) -> str:
    """What a figure shows, for whoever does not see it: set as the caption beside it, on one line."""
    name = f"{result.check.name.replace('_', ' ')} ({result.check.label})"
    return tables.spoken(f"{name}. {result.headline}. {result.caption}")


def alternative(view: PanelView) -> str:
    """What a phase diagram shows, for whoever does not see it."""
    return tables.spoken(f"{view.panel.title}. {view.summary}")


def signed(reading: Reading) -> str:
    """The verdicts of one reading, led by the sign of the gravest."""
    outcomes = {result.outcome for result in reading.results}
    gravest = next((outcome for outcome in tables.GRAVEST if outcome in outcomes), "")
    return f"{tables.SIGNS[gravest]} {reading.status}" if gravest else reading.status


def _result_link(result: CheckedReading) -> str:
    label = result.check.label
    paper, _, item = label.partition("/")
    return f"[`{label}`]({paper}.md#{item.replace('@', '-')})"


def _file_link(link: SourceLink) -> str:
    text = f"{link.kind} `{link.text}`"
    return f"[{text}]({link.href})" if link.href else text


def _tidy(text: str) -> str:
    """No trailing blanks, no runs of blank lines, one newline at the end."""
    lines: list[str] = []
    for line in (line.rstrip() for line in text.split("\n")):
        if line or (lines and lines[-1]):
            lines.append(line)
    return "\n".join(lines).strip() + "\n"
