"""One claim of a root without loading the others: what `dpcheck verify` holds a witness against."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dpcheck.claims import Claim, Paper
from dpcheck.engine import catalogue, collect, papers
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.collect import ContentFile
from dpcheck.engine.layout import Layout
from dpcheck.engine.own import Own


@dataclass(frozen=True)
class Hypotheses:
    """A claim, and whether some check holds it against a privacy guarantee."""

    claim: Claim
    private: bool


def of_label(layout: Layout, label: str, folders: Sequence[Path] = (), paths: Sequence[Path] = ()) -> Hypotheses | None:
    """What a root, one of these papers of one's own, or what else lies at these paths, says of a label; None when there
    is no such claim.

    Of the root, the files of the label's paper alone are read.
    """
    paper = label.partition("/")[0]
    here = Catalogue(layout, own=Own.of(layout))
    with catalogue.in_force(here):
        for folder in layout.content:
            if label not in here.claims and folder.is_dir():
                collect.forget(folder)
                for file in _files_of(folder, paper):
                    here.collect(file, (Paper, Claim))
        for folder in folders:
            collect.forget(folder)
            for part in papers.CONTENT:
                for file in papers.files(folder, part) if label not in here.claims else ():
                    here.collect(file, (Paper, Claim))
        others = [file for path in paths if not papers.at(path) for file in _plain(path)]
        for file in others if label not in here.claims else ():
            collect.forget(file.folder)
            here.collect(file, (Paper, Claim))
    if label not in here.claims:
        return None
    places = [*layout.content, *(folder / "audits" for folder in folders)]
    files = [*(file for place in places if place.is_dir() for file in collect.files(place)), *others]
    return Hypotheses(here.claims[label], _has_privacy_check(files, label))


def _plain(path: Path) -> Iterator[ContentFile]:
    """A file, or those of a folder that is no paper."""
    yield from collect.files(path) if path.is_dir() else [ContentFile(path.parent, path)]


def _files_of(folder: Path, paper: str) -> Iterator[ContentFile]:
    """The files of a paper: those in its folder or of its name, and any other that names a label of it."""
    for file in collect.files(folder):
        first = file.path.relative_to(folder).parts[0].removesuffix(".py")
        if first == paper or f'"{paper}/' in file.path.read_text(encoding="utf-8", errors="replace"):
            yield file


def _has_privacy_check(files: Sequence[ContentFile], label: str) -> bool:
    """Whether a content file heads a check of kind "privacy" with this label, or with one put together at run time."""
    for file in files:
        text = file.path.read_text(encoding="utf-8", errors="replace")
        if label in text and any(label in labels or not labels for labels in _privacy_checks(text)):
            return True
    return False


def _privacy_checks(text: str) -> Iterator[set[str]]:
    """The labels of every privacy check of a file; none where the first one is no literal."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args or _name(node.func) != "check":
            continue
        kind = next((each.value for each in node.keywords if each.arg == "kind"), (*node.args, None)[1])
        if isinstance(kind, ast.Constant) and kind.value == "privacy":
            also = (each.value for each in node.keywords if each.arg == "also")
            own = set(_texts(node.args[0]))
            yield own.union(*map(_texts, also)) if own else own


def _name(function: ast.expr) -> str:
    return str(getattr(function, "id", getattr(function, "attr", "")))


def _texts(node: ast.AST) -> list[str]:
    return [each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
