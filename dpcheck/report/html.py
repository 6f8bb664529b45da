"""The whole report as one HTML file: nothing is loaded from elsewhere, and it reads without scripts."""

from __future__ import annotations

import importlib.resources
import shlex

import markupsafe

import dpcheck
from dpcheck.report import figures, pages, prose, tables
from dpcheck.report.checked import CheckedReading, SourceLink
from dpcheck.report.comparisons import PanelView
from dpcheck.report.model import Reading, Report
from dpcheck.report.pages import create_environment, pictured, signed

_WORDS = {sign: outcome for outcome, sign in tables.SIGNS.items()}


def render(report: Report) -> str:
    """The text of `dpcheck.html`."""
    errata = {paper.key: paper.prose.told for paper in report.papers}
    environment = create_environment("html", lambda text: markupsafe.Markup(tables.hypertext(text)))
    environment.filters |= {
        "picture": _picture,
        "diagram": _diagram,
        "chip": _chip,
        "strong": _strong,
        "file_link": _file_link,
        "coded": lambda text, paper: prose.linked(str(text), paper, errata),
    }
    folder = importlib.resources.files("dpcheck.report") / "templates"
    text = environment.get_template("report.html.j2").render(
        report=report,
        version=dpcheck.__version__,
        style=(folder / "style.css").read_text(encoding="utf-8").strip(),
        script=(folder / "filter.js").read_text(encoding="utf-8").strip(),
    )
    return "\n".join(line.rstrip() for line in text.split("\n") if line.strip()) + "\n"


def _picture(result: CheckedReading) -> str:
    return _named(figures.inline(result.svg, f"{result.paper}-{result.stem}"), pictured(result))


def _diagram(view: PanelView) -> str:
    return _named(figures.inline(view.svg, f"comparison-{view.panel.key}"), pages.alternative(view))


def _named(svg: str, text: str) -> str:
    """With the words that stand for it where it cannot be seen."""
    return svg.replace("<svg ", str(markupsafe.Markup('<svg role="img" aria-label="{}" ').format(text)), 1)


def _chip(reading: Reading) -> str:
    """CSS class of the gravest verdict."""
    return _WORDS.get(signed(reading)[0], "").replace(" ", "-")


def _strong(line: str) -> markupsafe.Markup:
    """`**holds**: …` -> <strong>holds</strong>: …"""
    word, _, rest = line.removeprefix("**").partition("**")
    return markupsafe.Markup("<strong>{}</strong>{}").format(word, rest)


def _file_link(link: SourceLink) -> markupsafe.Markup:
    """In words: whoever was sent the page has no tree beside it."""
    if link.kind == "certificate":
        file, _, _ = link.text.rpartition(":")
        return markupsafe.Markup("<span>certificate <code>dpcheck verify {}</code></span>").format(shlex.quote(file))
    text = markupsafe.Markup("{} <code>{}</code>").format(link.kind, link.text)
    return markupsafe.Markup("<span>{}</span>").format(text)
