"""A catalogue of all that a root holds, and the one that is in force."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path

from dpcheck.engine import collect, layout, own, papers
from dpcheck.engine.collect import ContentFile
from dpcheck.engine.collection import Catalogue
from dpcheck.engine.filling import BUGS, CONTENT
from dpcheck.engine.own import Own
from dpcheck.errors import CollectionError, InvalidInput

_IN_FORCE: ContextVar[Catalogue | None] = ContextVar("catalogue in force", default=None)


def load(
    root: Path | str | None = None,
    content: Sequence[Path | str] | None = None,
    *,
    paths: Sequence[Path | str] = (),
    with_mutants: bool = False,
) -> Catalogue:
    """Collects a root's content folders, then the user's own files and folders.

    Args:
        root: see `dpcheck.engine.layout.find`.
        content: folders instead of those that the root names.
        paths: further files or folders; those inside the content folders are collected anyway.
        with_mutants: collect the seeded bugs as well.

    Returns:
        The catalogue; what could not be collected is in its `errors`.

    Raises:
        CollectionError: there is no such root, or it names nothing to collect.
    """
    return load_from(layout.find(root, content), paths, with_mutants=with_mutants)


def load_from(laid_out: layout.Layout, paths: Sequence[Path | str] = (), *, with_mutants: bool = False) -> Catalogue:
    """`load` of a layout that was found before: how a worker gets the catalogue of the process that started it."""
    catalogue = Catalogue(laid_out, own=Own.of(laid_out))
    with in_force(catalogue):
        for folder in catalogue.layout.content:
            _folder(catalogue, folder)
        collect_own(catalogue, paths)
        catalogue.conform()
        if with_mutants:
            for folder in catalogue.layout.mutants:
                opened(catalogue, folder)
            for file in catalogue.bugs():
                catalogue.collect(file, BUGS)
    return catalogue


def collect_own(catalogue: Catalogue, paths: Sequence[Path | str]) -> None:
    """Collects what is the user's own: the paper that the root is, files and folders, and installed papers."""
    # `dpcheck run toy` means the paper, even where a folder of that name lies in the working directory.
    catalogue.paths = tuple(Path(path).resolve() for path in paths if not catalogue.knows(str(path)))
    for path in (*catalogue.layout.papers, *catalogue.paths):
        _extra(catalogue, path)
    for key, folder in catalogue.layout.installed:
        own.collect_guest(catalogue, key, folder, CONTENT)


def _folder(catalogue: Catalogue, folder: Path) -> None:
    if opened(catalogue, folder):
        for file in collect.files(folder):
            catalogue.collect(file, CONTENT)


def opened(catalogue: Catalogue, folder: Path) -> bool:
    """Whether there is such a folder; its modules will be those of this collection."""
    if not folder.is_dir():
        catalogue.errors.append(CollectionError(f"the content folder {folder} does not exist; see [tool.dpcheck]"))
        return False
    catalogue.folders.append(folder)
    collect.forget(folder)
    return True


def _extra(catalogue: Catalogue, path: Path) -> None:
    """A user's file or folder, unless it is, or holds, content that is collected already."""
    if any(path.is_relative_to(folder) or folder.is_relative_to(path) for folder in catalogue.folders):
        return
    if named := papers.at(path):
        for folder in named:
            own.collect_paper(catalogue, folder, CONTENT)
    elif path.is_dir():
        _folder(catalogue, path)
    elif path.is_file() and path.suffix != ".py":
        raise InvalidInput(f"{path} is no Python file; checks stand in .py files or in folders of them")
    elif path.is_file():
        catalogue.folders.append(path.parent)
        collect.forget(path.parent)
        catalogue.collect(ContentFile(path.parent, path), CONTENT)


@contextlib.contextmanager
def in_force(catalogue: Catalogue) -> Iterator[None]:
    """Makes `claim`, `claims` and `algorithm` answer from this catalogue, whatever the working directory."""
    token = _IN_FORCE.set(catalogue)
    try:
        with own.in_force(catalogue.own):
            yield
    finally:
        _IN_FORCE.reset(token)


def now_in_force() -> Catalogue | None:
    """The catalogue of the innermost `in_force`; None outside of any."""
    return _IN_FORCE.get()
