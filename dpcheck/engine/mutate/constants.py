"""Wrong constants: every number that stands outside of all function bodies, as values of names, fields and defaults."""

from __future__ import annotations

import ast
import copy
import dataclasses
import functools
import importlib
import inspect
import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sympy as sp

from dpcheck.engine.mutate import code
from dpcheck.engine.mutate.mutation import Lines, Mutation

Named = ast.Assign | ast.AnnAssign
FREE = "dialled"
"""A reading whose numbers no statement names: by how much noise is dialled down to see the rest."""


@dataclass(frozen=True)
class GivenValue:
    """A value that a module, a class or a signature gives to a name.

    Attributes:
        owner: qualified name of the class or function, or "".
        value: the expression.
    """

    owner: str
    name: str
    value: ast.expr


@dataclass(frozen=True)
class Source:
    """A file that was read.

    Attributes:
        imported: names that it has from elsewhere; given: names of the module, with those that their values read.
        parts: functions and classes, with the names that they read.
    """

    tree: ast.Module
    imported: frozenset[str]
    given: tuple[tuple[str, frozenset[str]], ...]
    parts: tuple[tuple[ast.FunctionDef | ast.ClassDef, frozenset[str]], ...]


@functools.lru_cache(maxsize=256)
def _source(text: str) -> Source:
    tree = ast.parse(text)
    parts = (each for each in tree.body if isinstance(each, ast.FunctionDef | ast.ClassDef))
    return Source(
        tree,
        frozenset(each.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names),
        tuple((name, _names(value)) for name, value in _named(tree.body)),
        tuple((each, _names(each)) for each in parts),
    )


def of_module(name: str, owner: str = "") -> Iterator[Mutation]:
    """Every mutant of a module's constants; `owner` is the paper of one that is not dpcheck's."""
    module = importlib.import_module(name)
    path = Path(inspect.getfile(module))
    lines = path.read_text(encoding="utf-8").splitlines()
    package = {file: _source(file.read_text(encoding="utf-8")) for file in sorted(path.parent.glob("*.py"))}
    for each in constants(package[path].tree):
        if not each.owner and isinstance(vars(module).get(each.name), sp.Basic | None):
            continue  # a formula: claims were made of it when it was read, and are mutated; or a name that was deleted
        read = tuple(_reading(each, path, package))
        for part, operator, said, text in _changed(each.value):
            first, last = _span(part)
            yield Mutation(
                "code",
                f"{name}:{each.owner or each.name}",
                operator,
                f"+{first - each.value.lineno}:{part.col_offset} {each.name}: {said}",
                functools.partial(apply, name, each.owner, each.name, text),
                lines=read,
                argued=code.argued(lines[first - 1 : last]),
                where=f"{path.name}:{first}",
                owner=owner,
            )


def _changed(value: ast.expr) -> Iterator[tuple[Any, str, str, str]]:
    """The part that is changed, the operator, the change in words, and the changed expression."""
    places = {id(node): place for place, node in enumerate(ast.walk(value))}
    free = {id(each) for node in ast.walk(value) if isinstance(node, ast.Dict) for each in _free(node)}
    for part in code.touched([value]):
        if id(part) in free:
            continue
        for operator, said, change in code.changes(part):
            whole = ast.Expression(copy.deepcopy(value))
            old = list(ast.walk(whole.body))[places[id(part)]]
            code.exchanged(whole, old, change(old))
            yield part, operator, said, ast.unparse(whole)


def _free(readings: ast.Dict) -> Iterator[ast.AST]:
    for key, value in zip(readings.keys, readings.values, strict=True):
        if isinstance(key, ast.Constant) and key.value == FREE:
            yield from ast.walk(value)


def constants(tree: ast.Module) -> Iterator[GivenValue]:
    """Of a module, in the order in which they stand."""
    for name, value in _named(tree.body):
        yield GivenValue("", name, value)
    for owner in (each for each in tree.body if isinstance(each, ast.ClassDef)):
        yield from (GivenValue(owner.name, name, value) for name, value in _named(owner.body))
    for function, node in code.functions(tree.body, ""):
        for argument, value in _defaults(node.args):
            yield GivenValue(function, argument.arg, value)


def _named(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    for statement in body:
        if isinstance(statement, Named) and statement.value is not None:
            for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
                yield from _paired(target, statement.value)


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, its in zip(target.elts, value.elts, strict=True):
            yield from _paired(one, its)


def _reading(constant: GivenValue, path: Path, package: Mapping[Path, Source]) -> Iterator[Lines]:
    """Places of which a check must run a line to notice a change: of the owner, else of whatever reads the name."""
    if constant.owner:
        yield from _run_by(constant.owner.partition(".")[0], {path: package[path]}, package)
        return
    names = _derived(package[path], constant.name)
    for file, source in package.items():
        known = names & source.imported
        here = names if file == path else set[str]().union(*(_derived(source, name) for name in known))
        yield from ((str(file), *_span(part)) for part, read in source.parts if here & read)


def _run_by(owner: str, where: Mapping[Path, Source], package: Mapping[Path, Source]) -> Iterator[Lines]:
    """The class or function of that name; and, of a class without functions, what it inherits them from."""
    for file, part in ((file, part) for file, source in where.items() for part, _ in source.parts):
        if part.name == owner:
            yield str(file), *_span(part)
            if isinstance(part, ast.ClassDef) and not any(isinstance(each, ast.FunctionDef) for each in part.body):
                for base in (name.id for name in part.bases if isinstance(name, ast.Name)):
                    yield from _run_by(base, package, package)


def _derived(source: Source, name: str) -> set[str]:
    """The name and those that are made from it."""
    made = (other for other, read in source.given if other != name and name in read)
    return {name}.union(*(_derived(source, other) for other in made))


def _defaults(arguments: ast.arguments) -> Iterator[tuple[ast.arg, ast.expr]]:
    placed = [*arguments.posonlyargs, *arguments.args]
    yield from zip(placed[len(placed) - len(arguments.defaults) :], arguments.defaults, strict=True)
    yield from ((a, value) for a, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value)


def _names(node: ast.AST) -> frozenset[str]:
    return frozenset(each.id for each in ast.walk(node) if isinstance(each, ast.Name))


def _span(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.lineno, node.end_lineno or node.lineno


# -- in the process of the mutant --------------------------------------------------------------------------------------


def apply(name: str, owner: str, constant: str, value: str) -> None:
    """Gives a constant another value, wherever it is: in the module, in those that import it, in signatures."""
    module = importlib.import_module(name)
    within = functools.reduce(getattr, owner.split("."), module) if owner else module
    if not owner:
        for holder in _given(module, constant, _value(value, module, {})):
            _renew(holder, constant)
    elif isinstance(within, type):
        _of_class(within, constant, _value(value, module, vars(within)))
    else:
        _of_signature(code.living(module, owner), constant, _value(value, module, {}))


def _value(text: str, module: types.ModuleType, within: Mapping[str, Any]) -> Any:
    return eval(text, vars(module), dict(within))  # the text is a changed expression of the module itself


def _given(module: types.ModuleType, name: str, value: Any) -> list[types.ModuleType]:
    """The module and all that imported the name from it; each has the value now."""
    old = vars(module)[name]
    holders = [each for each in list(sys.modules.values()) if vars(each).get(name) is old]
    for each in holders:
        setattr(each, name, value)
    return holders


def _renew(module: types.ModuleType, name: str) -> None:
    """What was worked out from it when the module was read."""
    tree = ast.parse(Path(inspect.getfile(module)).read_text(encoding="utf-8"))
    for each in constants(tree):
        if each.name != name and name in _names(each.value):
            apply(module.__name__, each.owner, each.name, ast.unparse(each.value))


def _of_class(kind: type, name: str, value: Any) -> None:
    if isinstance(value, dataclasses.Field):
        value = value.default if value.default_factory is dataclasses.MISSING else value.default_factory()
    setattr(kind, name, value)
    for heir in _heirs(kind):
        inherits = next(each for each in heir.__mro__ if name in vars(each)) is kind
        made = vars(heir).get("__init__")
        if inherits and made is not None and name in inspect.signature(made).parameters:
            _of_signature(made, name, value)


def _heirs(kind: type[Any]) -> Iterator[type]:
    yield kind
    for heir in kind.__subclasses__():
        yield from _heirs(heir)


def _of_signature(function: Any, name: str, value: Any) -> None:
    if name in (function.__kwdefaults__ or {}):
        function.__kwdefaults__[name] = value
        return
    placed = function.__code__.co_varnames[: function.__code__.co_argcount]
    defaults = list(function.__defaults__)
    defaults[placed.index(name) - len(placed)] = value
    function.__defaults__ = tuple(defaults)
