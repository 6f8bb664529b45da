"""What a piece of source says, whoever formatted it and whatever its functions call their local variables."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)
_NAMING: Mapping[type[ast.AST], str] = {
    ast.Name: "id", ast.ExceptHandler: "name", ast.MatchAs: "name", ast.MatchStar: "name", ast.alias: "asname",
    ast.MatchMapping: "rest",
}  # fmt: skip
"""Where a node says the variable that it names."""
_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_Comprehension: TypeAlias = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_LOOKS_AT_LOCALS = frozenset({"locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe"})
"""Whoever calls one of these (the second and third without arguments) may see the names of local variables."""


def meaning(tree: ast.Module) -> str:
    """A module without comments, docstrings and formatting, its local variables numbered; the same under every Python.

    Parameters, attributes, what a module or a class defines, functions and classes within functions, and variables that
    another function declares nonlocal keep their names.
    """
    return plain(tree, _Numbering().of(tree))


def plain(node: ast.AST, names: Mapping[int, int] | None = None) -> str:
    """As `ast.dump`, which differs from one Python to the next in what it says of empty fields; without docstrings.

    Args:
        node: what is put in words.
        names: id of a node that names a local variable -> the number of the variable.
    """
    words: list[str] = []
    _say(node, names or {}, words)
    return " ".join(words)


def _say(node: Any, names: Mapping[int, int], words: list[str]) -> None:
    if isinstance(node, ast.AST):
        number = names.get(id(node))
        of_name = ("asname",) if isinstance(node, ast.alias) else ("id", "name", "rest")
        words.append(type(node).__name__ + "(")
        for key in node._fields:
            value = getattr(node, key, None)
            if number is not None and key in of_name:
                words.append(f"{key}={number}")
            elif value is not None and value != []:
                words.append(key + "=")
                _say(value, names, words)
        words.append(")")
    elif isinstance(node, list):
        words.append("[")
        for each in node:
            if not _is_docstring(each):
                _say(each, names, words)
        words.append("]")
    else:
        words.append(repr(node))


def _is_docstring(node: Any) -> bool:
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _looks_at_locals(call: ast.Call) -> bool:
    name = getattr(call.func, "id", None) or getattr(call.func, "attr", None)
    return name in _LOOKS_AT_LOCALS and not (name in ("vars", "dir") and call.args)


@dataclass
class _Scope:
    """Name -> the number of the variable in a function or comprehension, or None where it keeps its name."""

    names: dict[str, int | None] = field(default_factory=dict)
    is_class: bool = False


class _Numbering:
    """Numbers the local variables of a tree in the order in which they are bound."""

    def __init__(self) -> None:
        self._next = itertools.count()
        self._numbers: dict[int, int] = {}
        self._seen = False
        self._kept: set[str] = set()

    def of(self, tree: ast.AST) -> dict[int, int]:
        """Id of a node -> the number of its variable; nothing where the code may see the names itself."""
        self._kept = {name for node in walk(tree) if isinstance(node, ast.Nonlocal) for name in node.names}
        self._visit(tree, [])
        return {} if self._seen else self._numbers

    def _visit(self, node: ast.AST, scopes: list[_Scope]) -> None:
        self._seen |= isinstance(node, ast.Call) and _looks_at_locals(node)
        if isinstance(node, _FUNCTIONS):
            self._function(node, scopes)
        elif isinstance(node, ast.ClassDef):
            inside = [*scopes, _Scope({name: None for _, name in _bound(node.body)}, is_class=True)]
            for part, where in ((node.decorator_list + node.bases + node.keywords, scopes), (node.body, inside)):
                self._all(part, where)
        elif isinstance(node, _COMPREHENSIONS):
            self._comprehension(node, scopes)
        else:
            name = _named(node)
            if name is not None and (number := _resolved(name, scopes)) is not None:
                self._numbers[id(node)] = number
            self._all(children(node), scopes)

    def _all(self, nodes: Any, scopes: list[_Scope]) -> None:
        for node in nodes:
            self._visit(node, scopes)

    def _function(self, node: _Function, scopes: list[_Scope]) -> None:
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        shared = {name for each in _within(body) if isinstance(each, ast.Global) for name in each.names}
        own = _Scope({each.arg: None for each in ast.walk(node.args) if isinstance(each, ast.arg)})
        for each, name in _bound(body):
            if (
                isinstance(each, ast.stmt)
                or name in self._kept
                or (isinstance(each, ast.alias) and each.asname is None)
            ):
                own.names[name] = None
            elif name not in own.names and name not in shared:
                own.names[name] = next(self._next)
        outside = [each for each in children(node) if each not in body]
        self._all(outside, scopes)
        # Whatever a function declares global is looked up past every function around it.
        self._all(body, [*scopes, _Scope({**dict.fromkeys(shared), **own.names})])

    def _comprehension(self, node: _Comprehension, scopes: list[_Scope]) -> None:
        targets = [each for part in node.generators for each in ast.walk(part.target) if isinstance(each, ast.Name)]
        own = _Scope()
        for each in targets:
            own.names.setdefault(each.id, next(self._next))
        first = node.generators[0].iter  # evaluated outside
        self._visit(first, scopes)
        inside = [*scopes, own]
        for part in node.generators:
            self._all([each for each in children(part) if each is not first], inside)
        self._all([each for each in children(node) if not isinstance(each, ast.comprehension)], inside)


def _resolved(name: str, scopes: Sequence[_Scope]) -> int | None:
    """The number of the variable that a name stands for; classes are seen from directly inside only."""
    for depth, scope in enumerate(reversed(scopes)):
        if name in scope.names and not (scope.is_class and depth):
            return scope.names[name]
    return None


def _named(node: ast.AST) -> str | None:
    """The variable that a node reads, binds or deletes."""
    key = _NAMING.get(type(node))
    return None if key is None else getattr(node, key)


def _bound(body: Sequence[ast.AST]) -> Iterator[tuple[ast.AST, str]]:
    """What binds a name in a scope, in the order of the text: variables, and definitions and imports."""
    for node in _within(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node, node.name
        elif isinstance(node, ast.alias) and node.asname is None:
            yield node, node.name.partition(".")[0]
        elif isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                yield node, node.id
        elif (name := _named(node)) is not None:
            yield node, name


def walk(tree: ast.AST) -> Iterator[ast.AST]:
    """As `ast.walk`, in another order; without marks and operators."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(children(node))


def children(node: ast.AST) -> list[ast.AST]:
    """As `ast.iter_child_nodes`, once a node; without marks and operators."""
    known: list[ast.AST] | None = node.__dict__.get("_children")
    if known is None:
        known = node.__dict__["_children"] = []
        for key in node._fields:
            value = getattr(node, key, None)
            if isinstance(value, list):
                known.extend([each for each in value if isinstance(each, ast.AST)])
            elif isinstance(value, ast.AST) and key not in ("ctx", "op"):
                known.append(value)
    return known


def _within(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of a scope, in the order of the text, without those of functions, classes and comprehensions inside."""
    waiting = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, _COMPREHENSIONS):
            yield from _walrus(node)
        elif not isinstance(node, _SCOPES):
            waiting.extend(reversed(children(node)))


def _walrus(node: ast.AST) -> Iterator[ast.Name]:
    """`:=` within a comprehension binds around it."""
    for each in children(node):
        if isinstance(each, ast.NamedExpr):
            yield each.target
        if not isinstance(each, _FUNCTIONS):
            yield from _walrus(each)
