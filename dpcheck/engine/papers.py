"""Papers of one's own: folders, and installed packages, that hold what the papers of this package hold.

A paper is a folder with any of `algorithms/`, `bounds/` and `audits/`; seeded bugs and the verifiers of its witnesses
stand beside its checks, as in the papers of dpcheck. It is known where a command names it (`--also`, a path to `dpcheck
run`), where it is the root, and everywhere once it is installed as a package that names itself in the entry-point group
`dpcheck.papers`, by its key. It is imported as one package of a private name, so that its audits reach its algorithms
by relative imports
(`from ..algorithms.descent import Descent`).
"""

from __future__ import annotations

import contextlib
import functools
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from dpcheck.engine import collect
from dpcheck.engine.collect import ContentFile

GROUP = "dpcheck.papers"
CONTENT = ("bounds", "audits")
"""Parts with claims and checks, in the order in which they are collected."""
CODE = "algorithms"


def is_paper(folder: Path) -> bool:
    """Whether a folder is laid out as a paper."""
    return any((folder / part).is_dir() for part in (CODE, *CONTENT))


def at(path: Path) -> list[Path]:
    """The papers that a path names: itself, the one that it is a part of, or those one or two levels below it."""
    if is_paper(path):
        return [path]
    for parent in path.parents:
        if path.relative_to(parent).parts[0] in (CODE, *CONTENT) and is_paper(parent):
            return [parent]
    return sorted(each for depth in ("*", "*/*") for each in path.glob(depth) if each.is_dir() and is_paper(each))


def files(folder: Path, part: str) -> Iterator[ContentFile]:
    """The files of one part of a paper, as members of the paper's package."""
    if (folder / part).is_dir():
        yield from (ContentFile(folder, file.path) for file in collect.files(folder / part))


def bugs(folder: Path) -> Iterator[ContentFile]:
    """The files of a paper's seeded bugs."""
    yield from (ContentFile(folder, file.path) for file in collect.bugs(folder / "audits"))


def installed() -> Iterator[tuple[str, Path]]:
    """(key, folder) of every installed package in the entry-point group, by key; none of them is imported.

    A package that is gone although its entry point is there is left out: it cannot be told from one half removed.
    """
    for entry in _entries(tuple(map(_state, sys.path))):
        try:
            spec = importlib.util.find_spec(entry.module)
        except (ImportError, ValueError):
            continue
        for place in (spec.submodule_search_locations or ()) if spec else ():
            yield entry.name, Path(place).resolve()
            break


@functools.lru_cache(maxsize=4)
def _entries(path: tuple[tuple[int, ...], ...]) -> list[importlib.metadata.EntryPoint]:
    """The entry points of the group, by name, while the path is in this state: a run asks for thousands of claims."""
    return sorted(importlib.metadata.entry_points(group=GROUP), key=lambda entry: entry.name)


def _state(folder: str) -> tuple[int, ...]:
    """What is another once something was put into a folder of the path, or taken out of it; Python asks the same."""
    with contextlib.suppress(OSError):
        there = os.stat(folder or ".")
        return there.st_dev, there.st_ino, there.st_mtime_ns
    return ()
