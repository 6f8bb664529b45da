"""Answers about a layout that hold as long as none of its sources changes: read at once, written at the end."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from dpcheck.carried import PACKAGE
from dpcheck.engine import memo
from dpcheck.engine.layout import Layout
from dpcheck.engine.places import FileNames


class Kept:
    """What earlier commands found out about the sources of a layout, and of the user's own files, as they are now.

    >>> from dpcheck.engine import layout
    >>> kept = Kept(layout.find())
    >>> kept.put("files of toy/thm-1", ["bounds/toy.py"])
    >>> kept.get("files of toy/thm-1")
    ['bounds/toy.py']
    """

    def __init__(self, layout: Layout, paths: Sequence[str] = ()) -> None:
        self._layout, self._paths = layout, paths
        self._news = False
        self.places = FileNames.within(layout)

    @functools.cached_property
    def _state(self) -> tuple[str, ...]:
        return state(self._layout, self._paths)

    @functools.cached_property
    def _answers(self) -> dict[str, Any]:
        return memo.read("kept", *self._state) or {}

    def anew(self) -> Kept:
        """The same, of the sources as they are by now."""
        return Kept(self._layout, self._paths)

    def get(self, name: str) -> Any:
        """An answer that JSON can say, or None."""
        return self._answers.get(name)

    def put(self, name: str, answer: Any) -> None:
        self._answers[name] = answer
        self._news = True

    def write(self) -> None:
        """Keeps the answers for later commands, unless a source was edited meanwhile."""
        if self._news and state(self._layout, self._paths) == self._state:
            memo.write(self._answers, "kept", *self._state)
            self._news = False


def state(layout: Layout, paths: Sequence[str] = ()) -> tuple[str, ...]:
    """Everything on which answers about a layout, and the user's own files, depend; not where it lies.

    What shows answers, and tests of seeded bugs, are no part of it.
    """
    here, named = FileNames.within(layout), content(layout, paths)
    laid = [[here.name(folder) for folder in each] for each in (layout.content, layout.mutants, layout.papers)]
    laid += [[key, here.name(folder)] for key, folder in layout.installed]
    typed = repr(list(paths))
    return memo.digest(named, here.name), repr(laid), os.getcwd() if paths else "", typed, memo.versions(*memo.PRINTING)


def content(layout: Layout, paths: Sequence[str] = ()) -> list[Path]:
    """The files on which such answers depend."""
    folders = dict.fromkeys([*layout.content, *layout.mutants, *(Path(p).resolve() for p in paths)])
    folders |= dict.fromkeys([*layout.papers, *(place for _, place in layout.installed)])
    named = [file for folder in folders for file in files(folder)]
    named = [file for file in named if not (file.parent in layout.mutants and file.name.startswith("test_"))]
    return [*named, *code(), *layout.certificates.glob("certificates/*/*.json")]


def code() -> list[Path]:
    """The files of the package that do more than show answers, without the content that a wheel carries."""
    apart = tuple(str(PACKAGE / name) + os.sep for name in ("cli", "report", "_content"))
    return [file for file in files(PACKAGE) if not str(file).startswith(apart)]


def files(folder: Path) -> Iterator[Path]:
    """A file itself; of a folder, all Python and Markdown files."""
    if folder.is_file():
        yield folder
        return
    for base, inside, names in os.walk(folder):
        inside[:] = sorted(name for name in inside if name != "__pycache__" and not name.startswith("."))
        yield from (Path(base, name) for name in sorted(names) if name.endswith((".py", ".md")))
