"""What the names of a file mean: the statements that bind them, and where its imports lead."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from dpcheck.carried import PACKAGE


class Definition(NamedTuple):
    """A name at the level of a module; "" for the statements of it that define nothing."""

    file: Path
    name: str


@dataclass
class Module:
    """A file: name -> the statements that bind it, and name -> what an import means by it."""

    bound: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imported: dict[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, file: Path) -> Module:
        module = cls()
        for node in _statements(ast.parse(file.read_text(encoding="utf-8")).body):
            if isinstance(node, ast.ImportFrom):
                origin = "." * node.level + (node.module or "")
                module.imported |= {each.asname or each.name: (origin, each.name) for each in node.names}
            elif isinstance(node, ast.Import):
                for each in node.names:
                    name = each.asname or each.name.partition(".")[0]
                    module.imported[name] = (each.name, "")
            else:
                for name in _binds(node):
                    module.bound.setdefault(name, []).append(node)
        return module

    def at(self, line: int) -> str:
        """The name whose statement holds a line; "" where there is none."""
        return self._lines.get(line, "")

    @functools.cached_property
    def _lines(self) -> dict[int, str]:
        """Line -> the first name whose statement holds it."""
        by_line: dict[int, str] = {}
        for name, nodes in self.bound.items():
            for node in nodes:
                for line in range(first_line(node), (node.end_lineno or node.lineno) + 1):
                    by_line.setdefault(line, name)
        return by_line


class Reader:
    """Follows names from file to file; every file is read once."""

    def __init__(self) -> None:
        self._modules: dict[Path, Module] = {}
        self._names: dict[tuple[Definition, Path], list[Definition]] = {}

    def module(self, file: Path) -> Module:
        if file not in self._modules:
            self._modules[file] = Module.of(file)
        return self._modules[file]

    def reached(self, path: Path, line: int) -> set[Path]:
        """The files of definitions that the one on a line names, directly or not, among those of its folder and below.

        Args:
            line: one that no definition holds stands for all of the file.
        """
        name = self.module(path).at(line)
        seen, queue = set[Definition](), [Definition(path, name)] if name else self._all_of(path)
        while queue:
            each = queue.pop()
            if each not in seen:
                seen.add(each)
                queue += self._named(each, path.parent)
        return {each.file for each in seen if each.name in self.module(each.file).bound}

    def _named(self, definition: Definition, folder: Path) -> list[Definition]:
        """The definitions that one names; of a name that is imported, what it means."""
        asked = definition, folder
        if asked not in self._names:
            self._names[asked] = self._read(definition, folder)
        return self._names[asked]

    def _read(self, definition: Definition, folder: Path) -> list[Definition]:
        file, module = definition.file, self.module(definition.file)
        if definition.name not in module.imported or definition.name in module.bound:
            nodes = (part for node in module.bound.get(definition.name, []) for part in ast.walk(node))
            return [Definition(file, part.id) for part in nodes if isinstance(part, ast.Name)]
        for path, rest in places(file, *module.imported[definition.name]):
            if path.is_relative_to(folder) and path.is_file():
                return [Definition(path, rest)] if rest else self._all_of(path)
        return []

    def _all_of(self, file: Path) -> list[Definition]:
        return [Definition(file, name) for name in self.module(file).bound]


def first_line(node: ast.stmt) -> int:
    """The line on which a statement begins, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def places(file: Path, origin: str, what: str) -> Iterator[tuple[Path, str]]:
    """Where `from origin import what` may lead: a file, and the name in it; "" for all of it."""
    level = len(origin) - len(origin.lstrip("."))
    if level:
        base = file.parents[level - 1]
    elif origin.partition(".")[0] == "dpcheck":
        base = PACKAGE.parent
    else:
        return
    inside = base.joinpath(*(part for part in origin.lstrip(".").split(".") if part))
    if what:
        yield (inside / what).with_suffix(".py"), ""
        yield inside / what / "__init__.py", ""
    yield inside.with_suffix(".py"), what
    yield inside / "__init__.py", what


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Those of a module, with those inside of `if` and `try`; not what only type checkers see."""
    for node in body:
        if isinstance(node, ast.If):
            if "TYPE_CHECKING" not in ast.unparse(node.test):
                yield from _statements([*node.body, *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _statements([*node.body, *node.orelse, *node.finalbody])
        else:
            yield node


def _binds(node: ast.stmt) -> list[str]:
    """The names that a statement defines; "" for one that does more, or nothing."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [part.id for each in targets for part in ast.walk(each) if isinstance(part, ast.Name)]
        plain = all(isinstance(each, ast.Name | ast.Tuple) for each in targets)
        return names if plain else [*names, ""]
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return []
    return [""]
