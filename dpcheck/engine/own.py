"""What papers of one's own bring besides claims and checks: their algorithms and the verifiers of their witnesses."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck import witnesses
from dpcheck.claims import Paper
from dpcheck.engine import collect, layout, papers, verifiers
from dpcheck.engine.shipped import ours
from dpcheck.errors import CollectionError
from dpcheck.interfaces import Algorithm
from dpcheck.labels import split_label

if TYPE_CHECKING:
    from dpcheck.engine.collection import Catalogue


@dataclass
class Own:
    """The papers of one's own that a catalogue has collected.

    Attributes:
        folders: where each stands -> the keys of the papers there.
        algorithms: label -> class; code: key of a paper -> the files of its algorithms.
        verifiers: key of a paper -> the files with the verifiers of its witnesses; those of the root's content too.
        errors: what is amiss with a paper as a whole.
    """

    folders: dict[Path, set[str]] = field(default_factory=dict)
    algorithms: dict[str, type[Algorithm[Any]]] = field(default_factory=dict)
    code: dict[str, list[Path]] = field(default_factory=dict)
    verifiers: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    errors: list[CollectionError] = field(default_factory=list)

    @classmethod
    def of(cls, laid_out: layout.Layout) -> Own:
        """What a catalogue of that root begins with: the verifiers of its content."""
        return cls(verifiers=verifiers.of_content(laid_out))

    @classmethod
    def verifying(cls, laid_out: layout.Layout | None, paths: Iterable[Path] = ()) -> Own:
        """As far as verifying goes: of a root's content, of the papers at these paths, and of the installed ones."""
        own = cls() if laid_out is None else cls.of(laid_out)
        for folder in verifiers.folders(laid_out, paths):
            own.add_verifiers(folder)
        return own

    def add(self, folder: Path) -> Iterator[CollectionError]:
        """Takes up a paper's algorithms and verifiers; yields what could not be."""
        for file in papers.files(folder, papers.CODE):
            try:
                for kind in _algorithms(collect.imported(file)):
                    self._algorithm(kind, file.path)
            except CollectionError as error:
                yield error
        yield from self.add_verifiers(folder)

    def add_verifiers(self, folder: Path) -> list[CollectionError]:
        """Takes up the files of a paper's verifiers; returns those whose names are taken."""
        self.folders.setdefault(folder, set())
        return verifiers.add(self.verifiers, folder)

    def _algorithm(self, kind: type[Algorithm[Any]], path: Path) -> None:
        line, label = inspect.getsourcelines(kind)[1], kind.label
        paper = split_label(label)[0]
        first = {**ours(paper), **self.algorithms}.get(label, kind)
        if first is not kind:
            raise CollectionError(f"{path}:{line}: {label} is an algorithm of {first.__module__} already; rename one")
        self.algorithms[label] = kind
        if path not in self.code.setdefault(paper, []):
            self.code[paper].append(path)


def _algorithms(module: Any) -> Iterator[type[Algorithm[Any]]]:
    """The algorithms that a module defines: concrete classes with a label, no helpers."""
    for name, value in vars(module).items():
        own = inspect.isclass(value) and value.__module__ == module.__name__ and not name.startswith("_")
        if own and issubclass(value, Algorithm) and not inspect.isabstract(value) and hasattr(value, "label"):
            yield value


_IN_FORCE: ContextVar[Own | None] = ContextVar("papers of one's own in force", default=None)


@contextlib.contextmanager
def in_force(own: Own) -> Iterator[None]:
    """Makes the algorithms and verifiers of these papers known."""
    token = _IN_FORCE.set(own)
    try:
        with witnesses.known(own.verifiers):
            yield
    finally:
        _IN_FORCE.reset(token)


def current() -> Own:
    """The papers in force; else, without their errors, those of the working directory and the installed ones."""
    known = _IN_FORCE.get()
    if known is None:
        here = layout.find()
        known = Own.of(here)
        for folder in dict.fromkeys([*here.papers, *(place for _, place in here.installed)]):
            list(known.add(folder))
    return known


# -- into a catalogue --------------------------------------------------------------------------------------------------


def collect_paper(catalogue: Catalogue, folder: Path, kinds: tuple[type, ...]) -> None:
    """Collects a paper, all of it or, where another paper has its key, nothing but that error."""
    if folder in catalogue.own.folders:
        return
    collect.forget(folder)
    content = [file for part in papers.CONTENT for file in papers.files(folder, part)]
    keys: set[str] = set()
    for file in content:
        with contextlib.suppress(CollectionError):  # said when its claims and checks are collected
            keys |= {paper.key for paper in collect.content_of(file, (Paper,))}
    if taken := sorted(key for key in keys if key in catalogue.papers):
        other = catalogue.papers[taken[0]].title
        said = f"{folder}: its paper has the key {taken[0]!r}, as {other!r} has already; give it another key"
        _amiss(catalogue, [CollectionError(said)])
        return
    catalogue.folders += [folder, *(folder / part for part in papers.CONTENT)]
    catalogue.own.folders[folder] = keys
    _amiss(catalogue, catalogue.own.add(folder))
    for file in content:
        catalogue.collect(file, kinds)


def collect_guest(catalogue: Catalogue, key: str, folder: Path, kinds: tuple[type, ...]) -> None:
    """Collects an installed paper, unless a folder that was named holds it."""
    if any(key in keys or place == folder for place, keys in catalogue.own.folders.items()):
        return
    said = len(catalogue.errors)
    collect_paper(catalogue, folder, kinds)
    kept = catalogue.own.folders.get(folder, set())  # keys that no other paper has
    catalogue.guests |= kept
    if key not in kept and len(catalogue.errors) == said:
        holds = f"it holds {', '.join(sorted(kept))}" if kept else "it holds none"
        _amiss(catalogue, [CollectionError(f"the installed paper {key!r} is not in {folder}; {holds}")])


def _amiss(catalogue: Catalogue, errors: Iterable[CollectionError]) -> None:
    said = list(errors)
    catalogue.errors.extend(said)
    catalogue.own.errors.extend(said)
