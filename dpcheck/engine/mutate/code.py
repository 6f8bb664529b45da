"""Wrong algorithms: every number, operator, comparison, root, guard and statement of their modules, changed once."""

from __future__ import annotations

import ast
import copy
import functools
import importlib
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcheck.engine.mutate.mutation import Mutation

ARGUED = "# the same:"
"""A comment on a line that says why no change of it can be noticed: `… or 1e-9)  # the same: guards a division`."""
SWAPPED: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
OPPOSITE: dict[type, type] = {
    ast.Lt: ast.GtE, ast.GtE: ast.Lt, ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
INSTEAD = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "floor": "ceil", "ceil": "floor"}
REMOVED = frozenset({"sqrt", "log", "log2", "project", "clip_to_norm"})
"""Functions of one argument, or of what they map, in whose place the argument is put."""
OF_NO_MATTER = frozenset({"name", "floats_per_trial", "axis", "dtype", "ndmin", "out", "keepdims", "shape", "order"})
"""Keywords whose values are shapes, names and sizes of chunks."""
UNTOUCHED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Subscript, ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class Site:
    """One change of one module.

    Attributes:
        function: qualified name of the function or method of the module in which it lies.
        place: number of the node in the order of `ast.walk`.
        change: takes the node, gives what stands in its place.
        first, last, column: its lines, and where it begins; begins: the line on which its function does.
    """

    function: str
    place: int
    operator: str
    said: str
    change: Callable[[Any], ast.AST]
    first: int
    last: int
    column: int
    begins: int


def of_module(name: str, owner: str = "") -> Iterator[Mutation]:
    """Every mutant of a module, from its first line to its last; `owner` is the paper of one that is not dpcheck's."""
    path = Path(inspect.getfile(importlib.import_module(name)))
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines()
    for site in sites(ast.parse(source)):
        yield Mutation(
            "code",
            f"{name}:{site.function}",
            site.operator,
            f"+{site.first - site.begins}:{site.column} {site.said}",
            functools.partial(apply, name, path, site),
            lines=((str(path), site.first, site.last),),
            argued=argued(lines[site.first - 1 : site.last]),
            where=f"{path.name}:{site.first}",
            owner=owner,
        )


def argued(lines: Sequence[str]) -> str:
    """Why no change of them can be noticed, where one of them says so."""
    return next((line.partition(ARGUED)[2].strip() for line in lines if ARGUED in line), "")


def sites(tree: ast.Module) -> Iterator[Site]:
    """The places of a module that are changed, each with its changes."""
    numbers = {id(node): place for place, node in enumerate(ast.walk(tree))}
    for function, node in functions(tree.body, ""):
        for part in touched(node.body):
            first = getattr(part, "lineno", node.lineno)
            for operator, said, change in changes(part):
                place, last = numbers[id(part)], part.end_lineno or first
                yield Site(function, place, operator, said, change, first, last, part.col_offset, node.lineno)


def functions(body: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions and methods; those inside of functions belong to the outer one."""
    for node in body:
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node.body, f"{prefix}{node.name}.")


def touched(parts: Sequence[ast.AST]) -> Iterator[ast.stmt | ast.expr]:
    """The statements and expressions of these parts, a function's body say, whose change is one of behaviour."""
    queue: list[ast.AST] = list(reversed(parts))
    while queue:
        part = queue.pop()
        if isinstance(part, UNTOUCHED) or (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)):
            continue
        if isinstance(part, ast.stmt | ast.expr):
            yield part
        children = list(ast.iter_child_nodes(part))
        if isinstance(part, ast.Call):
            kept = [keyword.value for keyword in part.keywords if keyword.arg not in OF_NO_MATTER]
            children = [part.func, *part.args, *kept]
            if getattr(part.func, "id", getattr(part.func, "attr", "")) in ("isinstance", "einsum", "reshape", "range"):
                children = children if getattr(part.func, "id", "") == "range" else []
        if isinstance(part, ast.AnnAssign):
            children = [part.value] if part.value else []
        queue.extend(reversed(children))


def changes(node: ast.AST) -> Iterator[tuple[str, str, Callable[[Any], ast.AST]]]:
    """What is done to one node: the operator, the change in words, and what stands in its place."""
    text = _short(node)
    match node:
        case ast.Constant(value=bool()):
            yield "truth", f"not {text}", lambda old: ast.Constant(not old.value)
        case ast.Constant(value=int() | float() as value):
            for new in (2 * value or 1, value / 2):
                number = new if isinstance(value, float) else int(new)
                if number == new != value:
                    yield "number", f"{value} → {number}", functools.partial(_constant, number)
        case ast.BinOp(op=op) if type(op) in SWAPPED:
            other = SWAPPED[type(op)]()
            yield "operator", f"{text}: {_sign(op)} → {_sign(other)}", functools.partial(_replaced, op=other)
        case ast.BinOp(op=ast.Pow()):
            half = ast.Constant(0.5)
            yield (
                "exponent",
                f"{text}: exponent + 1/2",
                lambda old: _replaced(old, right=ast.BinOp(old.right, ast.Add(), half)),
            )
        case ast.UnaryOp(op=ast.USub()) if not isinstance(node.operand, ast.Constant):
            yield "operator", f"{text}: without the sign", lambda old: old.operand
        case ast.Compare(ops=[op]) if type(op) in OPPOSITE:
            yield "comparison", f"not ({text})", lambda old: _replaced(old, ops=[OPPOSITE[type(old.ops[0])]()])
        case ast.Call():
            yield from _of_call(node, text)
        case ast.AugAssign() | ast.Expr():
            yield "statement", f"without {text}", lambda old: ast.copy_location(ast.Pass(), old)
        case ast.If(body=body) if not any(isinstance(each, ast.Raise) for each in body):
            yield "statement", f"never {_short(node.test)}", lambda old: _replaced(old, test=ast.Constant(False))
        case ast.IfExp():
            yield (
                "comparison",
                f"{text}: the other branch",
                lambda old: _replaced(old, body=old.orelse, orelse=old.body),
            )
        case ast.For(iter=iterated):
            yield (
                "statement",
                f"one turn of `for … in {_short(iterated)}`",
                lambda old: _replaced(old, iter=_once(old.iter)),
            )
        case _:
            return


def _constant(number: float, old: ast.Constant) -> ast.Constant:
    return ast.Constant(number)


def _of_call(node: ast.Call, text: str) -> Iterator[tuple[str, str, Callable[[Any], ast.AST]]]:
    name = getattr(node.func, "id", getattr(node.func, "attr", ""))
    if name in INSTEAD:
        other = INSTEAD[name]
        yield "minimum", f"{text}: {name} → {other}", lambda old: _replaced(old, func=_renamed(old.func, other))
    if name in REMOVED and len(node.args) >= 1:
        yield "function", f"without {name} in {text}", lambda old: old.args[-1]


def _once(iterated: ast.expr) -> ast.expr:
    first = ast.Slice(upper=ast.Constant(1))
    return ast.Subscript(ast.Call(ast.Name("list", ast.Load()), [iterated], []), first, ast.Load())


def _renamed(function: ast.expr, name: str) -> Any:
    return _replaced(function, **{"id" if isinstance(function, ast.Name) else "attr": name})


def _replaced(node: Any, **fields: Any) -> Any:
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


def _sign(op: ast.operator) -> str:
    return {ast.Add: "+", ast.Sub: "−", ast.Mult: "×", ast.Div: "÷"}[type(op)]


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:59] + "…"


# -- in the process of the mutant --------------------------------------------------------------------------------------


def apply(name: str, path: Path, site: Site) -> None:
    """Gives the living function the changed code: identity of functions and classes stays."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    old = next(node for place, node in enumerate(ast.walk(tree)) if place == site.place)
    function = living(importlib.import_module(name), site.function)
    node = next(node for named, node in functions(tree.body, "") if named == site.function)
    exchanged(tree, old, ast.copy_location(site.change(old), old))
    # A method that calls `super` no more keeps its cell: a function has as many as its code names.
    node.body += [ast.Expr(ast.Name(cell, ast.Load())) for cell in function.__code__.co_freevars]
    compiled = compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)
    function.__code__ = next(each for each in _codes(compiled) if each.co_qualname == site.function)


def exchanged(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    """Puts a node in the place of another one."""
    _Exchange(old, new).visit(tree)


class _Exchange(ast.NodeTransformer):
    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self._old, self._new = old, new

    def visit(self, node: ast.AST) -> Any:
        return self._new if node is self._old else self.generic_visit(node)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield each
            yield from _codes(each)


def living(module: types.ModuleType, qualified: str) -> types.FunctionType:
    """The living function of that name, below its decorators."""
    *outer, last = qualified.split(".")
    first: Any = vars(functools.reduce(getattr, outer, module))[last]
    while not isinstance(first, types.FunctionType) or hasattr(first, "__wrapped__"):
        first = next(
            getattr(first, name) for name in ("__wrapped__", "__func__", "fget", "func") if hasattr(first, name)
        )
    return first
