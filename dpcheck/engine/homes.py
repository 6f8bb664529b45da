"""Where a label stands: one scan of source files for quoted labels, one of derivations for headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dpcheck.carried import PACKAGE, Verifiers

HomeKind = Literal["algorithm", "bound", "derivation", "certificate", "audit", "mutant"]
Part = Literal["bounds", "algorithm", "audits", "cases", "witnesses"]
CODE = ("algorithms", "solvers", "workloads", "geometry", "laws", "accounting")
"""Parts of the package that implement statements; what audits them is found through the checks."""

_QUOTED = re.compile(r"""(["'`])([a-z0-9_]+/[a-z]+(?:-[a-z0-9]+)+)(?:@[a-z0-9-]+)?\1""")
_HEADED = re.compile(
    r"""\s*(?:label(?:\s*:[^=]+)?\s*=|@(?:\w+\.)?procedure\()\s*["']([a-z0-9_]+/[a-z]+(?:-[a-z0-9]+)+)["']"""
)
_ITEM = re.compile(r"""(["'])(?:[a-z0-9_]+/)?([a-z]+(?:-[a-z0-9]+)+)(?:@[a-z0-9-]+)?\1""")
_HEADING = re.compile(r"#{1,6}\s+(.+)")
_FENCE = re.compile(r"\s*(```|~~~)")


@dataclass(frozen=True)
class Home:
    """One place of a label: what stands there, the path as shown (relative to the root where possible), the line."""

    kind: HomeKind
    path: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class Needed:
    """A file that one has to know to understand a statement, or to change it; lines: where it speaks of that."""

    part: Part
    path: str
    lines: tuple[int, ...]


def shown(path: Path, root: Path) -> str:
    """A path as it is shown: relative to the root, or to the folder that holds the package; POSIX style."""
    for base in (root, PACKAGE.parent):
        if path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return path.as_posix()


def code_files() -> Iterator[Path]:
    """The package's own files that implement statements."""
    for part in CODE:
        place = PACKAGE / part
        yield from sorted(place.rglob("*.py")) if place.is_dir() else [place] if place.exists() else []


def quoted(paths: Iterable[Path]) -> dict[str, list[tuple[Path, int]]]:
    """Statement label -> where it stands in quotes; string literals before mentions in backticks."""
    literal: dict[str, list[tuple[Path, int]]] = {}
    mentioned: dict[str, list[tuple[Path, int]]] = {}
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for match in _QUOTED.finditer(line):
                where = mentioned if match[1] == "`" else literal
                where.setdefault(match[2], []).append((path, number))
    return {label: literal.get(label, []) + mentioned.get(label, []) for label in {**literal, **mentioned}}


def implementing(paths: Iterable[Path]) -> dict[str, list[tuple[Path, int]]]:
    """Label -> where the class or the function begins that is it: `label = "…"`, `@procedure("…")`."""
    by_name: dict[str, list[tuple[Path, int]]] = {}
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := _HEADED.match(line):
                by_name.setdefault(match[1], []).append((path, number))
    return by_name


def verifying(files: Verifiers) -> dict[str, list[tuple[Path, int]]]:
    """Statement label -> where verifiers name it, with its paper or without."""
    by_name: dict[str, list[tuple[Path, int]]] = {}
    for paper, paths in files.items():
        for path in paths:
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                for match in _ITEM.finditer(line):
                    by_name.setdefault(f"{paper}/{match[2]}", []).append((path, number))
    return by_name


def headings(path: Path) -> list[tuple[str, int]]:
    """The headings of a Markdown file with their lines, code blocks left out."""
    pairs, fenced = [], False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if _FENCE.match(line):
            fenced = not fenced
        heading = None if fenced else _HEADING.match(line)
        if heading:
            pairs.append((heading[1], number))
    return pairs


def section(headed: Iterable[tuple[str, int]], item: str) -> int | None:
    """The line of the first heading that contains the item ("thm-3-1"; not "thm-3-10")."""
    whole = re.compile(rf"(?<![\w-]){re.escape(item)}(?![\w-])")
    return next((line for text, line in headed if whole.search(text)), None)
