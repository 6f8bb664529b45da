"""Fingerprint of a check: everything on which its result may depend, and nothing else.

Hashed are the check's own file, the helpers that it imports, every dpcheck module that these import directly or not,
the algorithms and derivations that they ask for by label, the seeded bugs where they ask for any, and the bounds of the
claims that they name. Comments, docstrings and blank lines are left out, as are the prose of claims and the engine
itself: editing those keeps stored results.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import io
import os
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

import sympy as sp

import dpcheck
from dpcheck.claims import LABEL, Claim
from dpcheck.engine.layout import PACKAGE

_OUTSIDE = ("dpcheck.engine", "dpcheck.cli", "dpcheck.report", "dpcheck.pytest_plugin")
"""What runs checks and shows results; a check that calls `dp.claim` depends on the claim, not on these."""


@dataclass(frozen=True)
class _Facts:
    """What one file says: its text without comments, the files it imports, whom it names."""

    digest: str
    imports: tuple[Path, ...]
    labels: frozenset[str]
    asks_algorithms: bool
    asks_derivations: bool
    asks_bugs: bool


def fingerprint(
    path: Path,
    claims: Mapping[str, Claim],
    *labels: str,
    derivations: Mapping[str, Path] | None = None,
    bugs: Sequence[Path] = (),
) -> str:
    """sha256 of all sources of the checks in a content file.

    Args:
        path: the content file.
        claims: label -> claim; those named in quotes by the file or its helpers go in, as do `labels` themselves.
        derivations: label -> the file of its derivation, hashed with what it names where the check asks for any.
        bugs: files of seeded bugs, hashed where the check asks for any.
    """
    seen: dict[Path, _Facts] = {}
    _reach(seen, [path.resolve()])
    content = [facts for file, facts in seen.items() if not _is_code(file)]
    named = set(labels).union(*(facts.labels for facts in content))
    if any(facts.asks_algorithms for facts in content):
        papers = {label.partition("/")[0] for label in named}
        _reach(seen, [file for paper in papers for file in _modules(f"dpcheck.algorithms.{paper}")])
    if any(facts.asks_derivations for facts in content):
        statements = named | {label.partition("@")[0] for label in named}
        _reach(seen, [file for label, file in (derivations or {}).items() if label in statements])
        named = named.union(*(facts.labels for file, facts in seen.items() if not _is_code(file)))
    if any(facts.asks_bugs for facts in content):
        _reach(seen, list(bugs))
    parts = sorted((_name(file, path), facts.digest) for file, facts in seen.items())
    parts += sorted((label, digest(claims[label])) for label in named if label in claims)
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _reach(seen: dict[Path, _Facts], queue: list[Path]) -> None:
    """Adds files and everything that they import."""
    while queue:
        file = queue.pop()
        if file not in seen:
            facts = seen[file] = _facts(file, file.stat().st_mtime_ns)
            queue.extend(facts.imports)


def digest(claim: Claim) -> str:
    """Fingerprint of what a claim asserts: its bounds, assumptions and relation, not its prose."""
    said = (claim.relation, claim.order, claim.explicit, *claim.assumptions, claim.probability)
    text = "|".join(sp.srepr(part) if isinstance(part, sp.Basic) else repr(part) for part in said)
    return hashlib.sha256(text.encode()).hexdigest()


def _is_code(file: Path) -> bool:
    """Whether a file is the package's own code; the content that a wheel carries is not."""
    return file.is_relative_to(PACKAGE) and not file.is_relative_to(PACKAGE / "_content")


def _name(file: Path, content: Path) -> str:
    """A name of the file that does not depend on where the root is."""
    if _is_code(file):
        return file.relative_to(PACKAGE.parent).as_posix()
    return Path(os.path.relpath(file, content.resolve().parent)).as_posix()


@functools.lru_cache(maxsize=1024)
def _facts(path: Path, modified: int) -> _Facts:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    executed = list(_executed(tree))
    headed = {id(node.args[0]) for node in executed if _heads_check(node)}
    constants = (node.value for node in executed if isinstance(node, ast.Constant) and id(node) not in headed)
    labels = frozenset(value for value in constants if isinstance(value, str) and LABEL.fullmatch(value))
    asked = {node.attr for node in executed if isinstance(node, ast.Attribute)}
    asked |= {node.name for node in executed if isinstance(node, ast.alias)}
    code = hashlib.sha256(_bare(text, tree).encode()).hexdigest()
    imports = tuple(sorted(set(_imports(path, executed))))
    asks = bool(asked & {"algorithm", "algorithms"}), "derived" in asked, "seeded_bugs" in asked
    return _Facts(code, imports, labels, *asks)


def _heads_check(node: ast.AST) -> TypeGuard[ast.Call]:
    """`check("label", …)`: the label is that check's own, and the other checks of the file do not depend on it."""
    if not (isinstance(node, ast.Call) and node.args):
        return False
    return (getattr(node.func, "id", None) or getattr(node.func, "attr", None)) in ("check", "unchecked")


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING:`, which never run."""
    queue: list[ast.AST] = [tree]
    while queue:
        node = queue.pop()
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            queue.extend(node.orelse)
        else:
            queue.extend(ast.iter_child_nodes(node))


def _imports(path: Path, nodes: list[ast.AST]) -> Iterator[Path]:
    front = set()  # the names under which the front door itself is known
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _modules(alias.name)
                if alias.name == "dpcheck" or (alias.asname is None and alias.name.startswith("dpcheck.")):
                    front.add(alias.asname or "dpcheck")
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield from _relative(path, node)
        elif isinstance(node, ast.ImportFrom) and node.module == "dpcheck":
            for alias in node.names:
                yield from _front(alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from _modules(node.module)
            for alias in node.names:
                yield from _modules(f"{node.module}.{alias.name}")
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in front:
            yield from _front(node.attr)


def _front(name: str) -> Iterator[Path]:
    """The module behind a name of the front door (`dp.audit`), or the submodule of that name."""
    yield from _modules(dpcheck._HOME_OF.get(name) or dpcheck._MODULES.get(name) or f"dpcheck.{name}")


def _modules(name: str) -> Iterator[Path]:
    """The file of a dpcheck module and of the packages around it; nothing for other modules."""
    parts = name.split(".")
    if parts[0] != "dpcheck" or name.startswith(_OUTSIDE):
        return
    for depth in range(2, len(parts) + 1):
        base = PACKAGE.joinpath(*parts[1:depth])
        for file in (base.with_suffix(".py"), base / "__init__.py"):
            if file.is_file():
                yield file


def _relative(path: Path, node: ast.ImportFrom) -> Iterator[Path]:
    """Files behind `from ._shared import x` and `from . import _shared`."""
    base = path.parent
    for _ in range(node.level - 1):
        base = base.parent
    inside = base.joinpath(*node.module.split(".")) if node.module else base
    for target in (inside, *(inside / alias.name for alias in node.names)):
        for file in (target.with_suffix(".py"), target / "__init__.py"):
            if file.is_file() and file != path:
                yield file.resolve()


def _bare(text: str, tree: ast.AST) -> str:
    """The source without comments, docstrings, blank lines and trailing blanks; the same under every Python."""
    lines = text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column]
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) else []:
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                _cut(lines, statement)
    return "\n".join(line.rstrip() for line in lines if line.strip())


def _cut(lines: list[str], statement: ast.Expr) -> None:
    """Blanks a statement; `ast` counts columns in UTF-8 bytes."""
    first, last = statement.lineno - 1, (statement.end_lineno or statement.lineno) - 1
    head, tail = lines[first].encode()[: statement.col_offset], lines[last].encode()[statement.end_col_offset :]
    lines[first : last + 1] = [(head + tail).decode(), *[""] * (last - first)]
