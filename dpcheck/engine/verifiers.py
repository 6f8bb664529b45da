"""Which files hold the verifiers of a root's witnesses: those of its content, and of papers of one's own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from dpcheck import carried
from dpcheck.carried import PACKAGE
from dpcheck.engine import papers
from dpcheck.engine.layout import Layout
from dpcheck.errors import CollectionError


def of_content(layout: Layout) -> dict[str, tuple[Path, ...]]:
    """Those in the content folders of a root."""
    return {paper: files for folder in layout.content for paper, files in carried.verifiers_in(folder).items()}


def of(layout: Layout | None, paths: Iterable[Path] = ()) -> dict[str, tuple[Path, ...]]:
    """Those of a root's content, of the papers at these paths, and of the installed ones."""
    known = {} if layout is None else of_content(layout)
    for folder in folders(layout, paths):
        add(known, folder)
    return known


def folders(layout: Layout | None, paths: Iterable[Path]) -> Iterator[Path]:
    """The papers of one's own at these paths, then that of the root and the installed ones."""
    yield from (each for path in paths for each in papers.at(path))
    if layout is not None:
        yield from (*layout.papers, *(place for _, place in layout.installed))


def add(known: dict[str, tuple[Path, ...]], folder: Path) -> list[CollectionError]:
    """Takes up a paper's verifiers; returns an error for those of a paper that has verifiers already."""
    errors = []
    for paper, files in carried.verifiers_in(folder / "audits").items():
        first = known.get(paper) or carried.verifiers().get(paper, files)
        if first != files or is_ours(paper):
            said = f"{files[0]}: verifiers of {paper} stand elsewhere already; name their folder by the paper's key"
            errors.append(CollectionError(said))
        else:
            known[paper] = files
    return errors


def is_ours(paper: str) -> bool:
    """Whether the kernel verifies witnesses of that name itself, as it does those of audits."""
    return (PACKAGE / "witnesses" / f"{paper}.py").is_file()
