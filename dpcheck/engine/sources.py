"""Fingerprint of a check: everything on which its result may depend, and nothing else.

Hashed are the check's own file, the helpers that it imports, every dpcheck module that these import directly or not,
the algorithms and derivations that they ask for by label, the seeded bugs where they ask for any, and the bounds of the
claims that they name. Comments, docstrings, formatting and the names of local variables are left out (`meaning`), and
so are the prose of claims and the engine itself: editing those keeps stored results.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import dpcheck
from dpcheck.carried import PACKAGE
from dpcheck.engine import memo
from dpcheck.engine.meaning import children, meaning, walk
from dpcheck.labels import LABEL

if TYPE_CHECKING:
    from dpcheck.claims import Claim

_OUTSIDE = ("dpcheck.engine", "dpcheck.cli", "dpcheck.report", "dpcheck.pytest_plugin")
"""What runs checks and shows results; a check that calls `dp.claim` depends on the claim, not on these."""
_MAKERS = frozenset({"claim", "as_read", "Claim", "derivation", "Derivation", "underived", "Underived", "Finding"})
_CHECKS = frozenset({"check", "Check", "scaling", "settings", "unchecked", "Unchecked", "unmeasured"})
_HEADS = ("check", "scaling", "unchecked", "unmeasured")
_BUGS = PACKAGE / "_content" / "mutants"
_BEGUN = re.compile(r"[a-z0-9_]*[a-z][a-z0-9_]*/([a-z]+(-[a-z0-9]+)*)?-?")
"""A text that may grow into a label."""


@dataclass(frozen=True)
class Facts:
    """What one file says: its meaning, the files it imports, whom it names.

    Attributes:
        digest: of its `meaning`.
        imports: files that it imports where they exist, as `_reached` reads them: wherever the file itself lies.
        labels: every label in quotes, but those that head a check.
        asks_algorithms, asks_derivations, asks_bugs, asks_audit: whether it looks such up by label.
        compares: whether its checks may bear on any label that it, or a helper, names (`engine.settings`).
        makes_claims: whether it knows the names by which claims, derivations and the like are made.
        states, checks: labels that head a call: of anything but checks; of checks.
        computes: papers of which labels may be put together at run time, so that these two are not all; "": of any.
    """

    digest: str
    imports: tuple[str, ...]
    labels: frozenset[str]
    asks_algorithms: bool
    asks_derivations: bool
    asks_bugs: bool
    asks_audit: bool
    compares: bool
    makes_claims: bool
    states: frozenset[str]
    checks: frozenset[str]
    computes: frozenset[str]

    def plain(self) -> list[Any]:
        """As JSON has it; `Facts.of` reads it back."""
        return [sorted(v) if isinstance(v, frozenset) else v for v in vars(self).values()]

    @classmethod
    def of(cls, plain: Sequence[Any]) -> Facts:
        digest, imports, labels, *asks, states, checks, computes = plain
        heads = map(frozenset, (states, checks, computes))
        return cls(digest, tuple(imports), frozenset(labels), *asks, *heads)


class Snapshot:
    """The sources at one moment: every file is read once, and parsed only when nobody has parsed it before."""

    def __init__(self) -> None:
        self._facts: dict[Path, Facts] = {}
        self._imports: dict[Path, list[Path]] = {}
        self._closures: dict[Path, frozenset[Path]] = {}
        self._folders: dict[str, frozenset[str]] = {}
        self._resolved: dict[str, Path | None] = {}
        self._digests: dict[str, str] = {}
        self._modules: dict[str, frozenset[Path]] = {}
        self._content: dict[frozenset[Path], list[Facts]] = {}
        self._labels: dict[frozenset[Path], frozenset[str]] = {}
        self._parts: dict[tuple[frozenset[Path], Path], list[tuple[str, str]]] = {}
        self._kept: dict[str, Any] = memo.read("facts", _of_parsing()) or {}
        self._news = False

    def facts(self, path: Path) -> Facts:
        """Raises `SyntaxError`, `OSError`, `ValueError` for a file that is no Python."""
        if path not in self._facts:
            content = path.read_bytes()
            hashed = hashlib.sha256(content).hexdigest()
            kept = self._kept.get(hashed)
            if kept is None:
                self._kept[hashed] = kept = _parsed(hashed, content.decode("utf-8")).plain()
                self._news = True
            self._facts[path] = Facts.of(kept)
        return self._facts[path]

    def closure(self, path: Path) -> frozenset[Path]:
        """A file and everything that it imports, directly or not. Raises as `facts` does."""
        if path not in self._closures:
            seen, queue = set(), [path]
            while queue:
                file = queue.pop()
                if file not in seen:
                    seen.add(file)
                    queue.extend(self.imports(file))
            self._closures[path] = frozenset(seen)
        return self._closures[path]

    def imports(self, path: Path) -> list[Path]:
        """The files that one imports. Raises as `facts` does."""
        if path not in self._imports:
            names = (_reached(path, name) for name in self.facts(path).imports)
            self._imports[path] = [file for name in names if (file := self._file(name)) is not None]
        return self._imports[path]

    def helpers(self, path: Path) -> set[Path]:
        """A content file and the content that it imports, directly or not. Raises as `facts` does."""
        seen, queue = set(), [path]
        while queue:
            file = queue.pop()
            if file not in seen:
                seen.add(file)
                queue.extend(each for each in self.imports(file) if not is_code(each))
        return seen

    def of_modules(self, name: str) -> frozenset[Path]:
        """A dpcheck module and everything that it imports; nothing where there is no such module."""
        if name not in self._modules:
            here = (_reached(PACKAGE, each) for each in _modules(name))
            files = [file for each in here if (file := self._file(each)) is not None]
            self._modules[name] = frozenset().union(*map(self.closure, files))
        return self._modules[name]

    def content(self, files: frozenset[Path]) -> list[Facts]:
        """What those files say that are not the package's own code."""
        if files not in self._content:
            self._content[files] = [self.facts(file) for file in files if not is_code(file)]
        return self._content[files]

    def labels(self, files: frozenset[Path]) -> frozenset[str]:
        """The labels that stand in content files."""
        if files not in self._labels:
            self._labels[files] = frozenset().union(*(facts.labels for facts in self.content(files)))
        return self._labels[files]

    def parts(self, files: frozenset[Path], folder: Path) -> list[tuple[str, str]]:
        """Name and digest of files, as seen from a folder; a list of its own at every call."""
        if (files, folder) not in self._parts:
            self._parts[files, folder] = sorted((_name(file, folder), self.facts(file).digest) for file in files)
        return list(self._parts[files, folder])

    def digest(self, claim: Claim) -> str:
        if claim.label not in self._digests:
            self._digests[claim.label] = digest(claim)
        return self._digests[claim.label]

    def keep(self) -> None:
        """What was parsed needs no parsing in the next process."""
        if self._news:
            memo.write(dict(list(self._kept.items())[-4096:]), "facts", _of_parsing())
            self._news = False

    def _file(self, name: str) -> Path | None:
        """The file of that name, if there is one."""
        if name not in self._resolved:
            folder, _, last = name.rpartition(os.sep)
            if folder not in self._folders:
                try:
                    self._folders[folder] = frozenset(entry.name for entry in os.scandir(folder) if entry.is_file())
                except OSError:
                    self._folders[folder] = frozenset()
            path = Path(name)
            there = last in self._folders[folder]
            self._resolved[name] = None if not there else path if is_code(path) else path.resolve()
        return self._resolved[name]


@functools.cache
def _of_parsing() -> str:
    """On what `_parsed` depends, besides the text; asked once, while the sources are those that this process runs."""
    here = Path(__file__)
    return memo.digest([here, here.with_name("meaning.py"), Path(dpcheck.__file__)], lambda path: path.name)


def fingerprint(
    path: Path,
    claims: Mapping[str, Claim],
    *labels: str,
    derivations: Callable[[Iterable[str]], Iterable[Path]] | None = None,
    bugs: Sequence[Path] = (),
    own: Mapping[str, Sequence[Path]] | None = None,
    kept: Sequence[Path] = (),
    snapshot: Snapshot | None = None,
) -> str:
    """sha256 of all sources of the checks in a content file.

    Args:
        path: the content file.
        claims: label -> claim; those named in quotes by the file or its helpers go in, as do `labels` themselves.
        derivations: labels -> the files of their derivations, hashed with what they name where the check asks for any.
        bugs: files of seeded bugs, hashed where the check asks for any.
        own: paper of one's own -> the files of its algorithms.
        kept: files of no code that the checks read.
        snapshot: one for many fingerprints.
    """
    here = snapshot or Snapshot()
    file = path.resolve()
    seen = here.closure(file)
    content = here.content(seen)
    named = here.labels(seen).union(labels)
    if any(facts.asks_algorithms for facts in content):
        papers = {label.partition("/")[0] for label in named}
        seen = seen.union(*(here.of_modules(f"dpcheck.algorithms.{paper}") for paper in papers))
        seen = seen.union(*(here.closure(file.resolve()) for paper in papers for file in (own or {}).get(paper, ())))
    if any(facts.asks_audit for facts in content):
        seen |= here.of_modules("dpcheck.auditing.audit")
    if any(facts.asks_derivations for facts in content) and derivations is not None:
        files = -1
        while files < len(seen):  # a derivation goes out from claims that have derivations
            files = len(seen)
            seen = seen.union(*map(here.closure, derivations({label.partition("@")[0] for label in named})))
            named |= here.labels(seen)
    if any(facts.asks_bugs for facts in content):
        seen = seen.union(*map(here.closure, bugs))
    parts = here.parts(seen, file.parent)
    parts += sorted((label, here.digest(claims[label])) for label in named if label in claims)
    parts += [(each.name, hashlib.sha256(each.read_bytes()).hexdigest()) for each in kept]
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def digest(claim: Claim) -> str:
    """Fingerprint of what a claim asserts: its bounds, assumptions and relation, not its prose."""
    import sympy as sp

    said = (claim.relation, claim.order, claim.explicit, *claim.assumptions, claim.probability)
    text = "|".join(sp.srepr(part) if isinstance(part, sp.Basic) else repr(part) for part in said)
    return hashlib.sha256(text.encode()).hexdigest()


def is_code(file: Path) -> bool:
    """Whether a file is the package's own code; the content that a wheel carries is not."""
    return _is_inside(file, PACKAGE)


@functools.lru_cache(maxsize=8192)
def _is_inside(file: Path, package: Path) -> bool:
    return file.is_relative_to(package) and not file.is_relative_to(package / "_content")


@functools.lru_cache(maxsize=4096)
def _name(file: Path, folder: Path) -> str:
    """A name of the file that does not depend on where the root is."""
    if is_code(file):
        return file.relative_to(PACKAGE.parent).as_posix()
    if file.is_relative_to(_BUGS):  # a wheel carries seeded bugs elsewhere than the checkout, whose names they keep
        file = _BUGS.parent / "tests" / "mutants" / file.relative_to(_BUGS)
    return Path(os.path.relpath(file, folder)).as_posix()


@functools.lru_cache(maxsize=1024)
def _parsed(hashed: str, text: str) -> Facts:
    tree = ast.parse(text)
    executed = list(_executed(tree))
    headed = {id(node.args[0]) for node in executed if _heads_check(node)}
    constants = (node.value for node in executed if isinstance(node, ast.Constant) and id(node) not in headed)
    labels = frozenset(value for value in constants if isinstance(value, str) and LABEL.fullmatch(value))
    asked = {node.attr for node in executed if isinstance(node, ast.Attribute)}
    asked |= {node.name for node in executed if isinstance(node, ast.alias)}
    code = hashlib.sha256(meaning(tree).encode("utf-8", "surrogatepass")).hexdigest()
    imports = tuple(sorted(set(_imports(executed))))
    derived = bool(asked & {"derived", "derivation"})
    asks = bool(asked & {"algorithm", "algorithms", "settings"}), derived, "seeded_bugs" in asked, "audit" in asked
    compares = "settings" in asked
    makes = bool(asked & (_MAKERS - {"claim"} | {"Paper", "*"}))
    return Facts(code, imports, labels, *asks, compares, makes, *_heads(tree, executed))


def _heads(tree: ast.Module, nodes: list[ast.AST]) -> tuple[frozenset[str], ...]:
    """`Facts.states`, `Facts.checks`, `Facts.computes`."""
    walked = list(walk(tree))
    constants, own = _assigned(tree, walked), _own_paper(walked)
    looked_up = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom | ast.Import) and not getattr(node, "level", 0)
        for alias in node.names
    }
    states: set[str] = set()
    checks: set[str] = set()
    computes: set[str] = set()
    for node in nodes:
        if not isinstance(node, ast.Call):
            continue
        names = {each.id for each in node.args if isinstance(each, ast.Name)} & (_CHECKS | _MAKERS)
        if any((each in looked_up) != (each == "claim") for each in names):
            computes.add("")  # handed on, say to `partial`
        name = getattr(node.func, "id", None) or getattr(node.func, "attr", "")
        of = node.func.value if isinstance(node.func, ast.Attribute) else node.func
        if isinstance(of, ast.Name) and of.id in looked_up and name not in (_CHECKS | _MAKERS) - {"claim"}:
            continue  # `dp.claim`, `stated` and the like ask for what another file states
        given = [*node.args[:1], *(each.value for each in node.keywords if each.arg in ("label", "also"))]
        for part in given:
            for each in part.elts if isinstance(part, ast.Tuple | ast.List) else [part]:
                texts = _texts(each, constants)
                (checks if name in _CHECKS else states).update(text for text in texts or () if LABEL.fullmatch(text))
                if texts is None and ((paper := _grows(each)) or name in _CHECKS | _MAKERS):
                    computes.add(paper or (own if name in ("claim", "as_read") else ""))
    return frozenset(states), frozenset(checks), frozenset(computes)


def _assigned(tree: ast.Module, nodes: Sequence[ast.AST]) -> dict[str, ast.expr]:
    """Name -> what the one line that sets it says, of a module's own names."""
    by_name: dict[str, ast.expr] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                by_name |= {name.id: value for name, value in pairs if isinstance(name, ast.Name)}
    bound = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    bound.update(node.arg for node in nodes if isinstance(node, ast.arg))
    return {name: value for name, value in by_name.items() if bound[name] == 1}


def _own_paper(nodes: Sequence[ast.AST]) -> str:
    """The key of the one paper that a file makes and knows, of which its `claim` and readings of its claims are."""
    if any(isinstance(node, ast.ImportFrom) and node.level for node in nodes):
        return ""
    made = [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Paper"]
    keys = [each.value for node in made for each in node.keywords if each.arg == "key"]
    return str(keys[0].value) if len(made) == len(keys) == 1 and isinstance(keys[0], ast.Constant) else ""


def _texts(node: ast.AST, constants: Mapping[str, ast.expr]) -> list[str] | None:
    """All texts that a literal, a tuple of such or a name of either can be, or hold; None: nobody knows."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.Name) and node.id in constants:
        return _texts(constants[node.id], {name: value for name, value in constants.items() if name != node.id})
    if isinstance(node, ast.Starred) or (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
        return _texts(node.value, constants)
    if isinstance(node, ast.Tuple):
        parts = [_texts(each, constants) for each in node.elts]
        known = [part for part in parts if part is not None]
        return [text for part in known for text in part] if len(known) == len(parts) else None
    return None


def _grows(node: ast.AST) -> str:
    """The paper of a text that begins like a label and is put together with others; "" where there is none."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
        return _grows(node.args[0].elt)
    parts = node.values if isinstance(node, ast.JoinedStr) else [node.left] if isinstance(node, ast.BinOp) else []
    texts = (part.value for part in parts[:1] if isinstance(part, ast.Constant))
    begun = (text for text in texts if isinstance(text, str) and _BEGUN.fullmatch(text))
    return next(begun, "").partition("/")[0]


def _heads_check(node: ast.AST) -> TypeGuard[ast.Call]:
    """`check("label", …)`: the label is that check's own, and the other checks of the file do not depend on it."""
    if not (isinstance(node, ast.Call) and node.args):
        return False
    return (getattr(node.func, "id", None) or getattr(node.func, "attr", None)) in _HEADS


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING:`, which never run."""
    queue: list[ast.AST] = [tree]
    while queue:
        node = queue.pop()
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            queue.extend(node.orelse)
        else:
            queue.extend(children(node))


def _imports(nodes: list[ast.AST]) -> Iterator[str]:
    front = set()  # the names under which the front door itself is known
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _modules(alias.name)
                if alias.name == "dpcheck" or (alias.asname is None and alias.name.startswith("dpcheck.")):
                    front.add(alias.asname or "dpcheck")
        elif isinstance(node, ast.ImportFrom) and node.level:
            yield from _relative(node)
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


def _front(name: str) -> Iterator[str]:
    """Where the module behind a name of the front door (`dp.audit`) may stand, or the submodule of that name."""
    yield from _modules(dpcheck._HOME_OF.get(name) or dpcheck._MODULES.get(name) or f"dpcheck.{name}")


def _modules(name: str) -> Iterator[str]:
    """Where a dpcheck module and the packages around it may stand; nothing for other modules."""
    parts = name.split(".")
    if parts[0] != "dpcheck" or name.startswith(_OUTSIDE):
        return
    for depth in range(2, len(parts) + 1):
        yield from _either("/".join(["", *parts[1:depth]]))


def _relative(node: ast.ImportFrom) -> Iterator[str]:
    """Where `from ._shared import x` and `from . import _shared` may lead."""
    inside = "/".join(["." * node.level, *(node.module.split(".") if node.module else [])])
    for target in (inside, *(f"{inside}/{alias.name}" for alias in node.names)):
        yield from _either(target)


def _either(module: str) -> tuple[str, str]:
    """The file of a module, or of the package of that name."""
    return f"{module}.py", f"{module}/__init__.py"


def _reached(path: Path, name: str) -> str:
    """Where one of the `Facts.imports` of a file leads: "/solvers/erm.py" of dpcheck, "../_shared.py" one folder up."""
    dots, _, rest = name.partition("/")
    base = path.parents[min(len(dots), len(path.parents)) - 1] if dots else PACKAGE
    return os.path.join(base, *rest.split("/"))
