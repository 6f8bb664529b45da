"""What a check may ever touch, by the text of it: which definitions, which labels, which modules of the package.

A fingerprint goes by files, so that nothing escapes it; whoever edits one check of a file would wait for all of them. A
slice follows the names from a check's function through content and algorithms, one definition at a time, and takes
every other module of the package whole. What it cannot follow, it takes along: statements at module level that are no
definitions, functions behind decorators of one's own, all of a module that is named itself.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dpcheck.carried import PACKAGE
from dpcheck.checks import Check
from dpcheck.engine import collect, sources
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.meaning import plain
from dpcheck.engine.mutate.mutation import Mutation
from dpcheck.engine.names import Definition, Module, places
from dpcheck.engine.sources import Snapshot
from dpcheck.labels import LABEL

FOLLOWED = PACKAGE / "algorithms"
"""The part of the package that is followed by definitions, as content is."""
BEGUN = re.compile(r"[a-z0-9_]*[a-z][a-z0-9_]*/[a-z0-9-]*@?[a-z0-9-]*")
"""A text from which labels may be put together."""
LOOKS_UP = {"audit": "dpcheck.auditing.audit", "problem": "dpcheck.interfaces"}
"""Attributes of a context through which a check reaches a module that it does not import."""
DERIVING = frozenset({"derived", "derivation", "derivations"})


@dataclass(frozen=True)
class Slice:
    """Of one check.

    Attributes:
        definitions: of content and algorithms, all that may run.
        files: other modules of the package, which are taken whole.
        labels: all that are named; begun: texts from which others may be put together.
        digest: changes with any of it, and with the formulas of those labels.
    """

    definitions: frozenset[Definition]
    files: frozenset[Path]
    labels: frozenset[str]
    begun: frozenset[str]
    digest: str

    def reads(self, label: str) -> bool:
        """Whether a label, or another reading of its statement, is named, or may be put together."""
        return label.partition("@")[0] in self.statements or any(label.startswith(text) for text in self.begun)

    @functools.cached_property
    def statements(self) -> frozenset[str]:
        return frozenset(label.partition("@")[0] for label in self.labels)


class Slices:
    """Slices of the checks of a catalogue, as its files are now."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue, self._snapshot = catalogue, Snapshot()
        self._modules: dict[Path, Module] = {}
        self._named: dict[Definition, _Said] = {}
        self._targets: dict[Definition, tuple[list[Definition], list[str]]] = {}
        self._found: dict[str, Slice] = {}

    def concerned(self, checks: Iterable[Check], mutations: Iterable[Mutation]) -> list[Check]:
        """The checks that may notice one of these."""
        labels, places = set[str](), set[Definition]()
        for mutation in mutations:
            labels |= set(mutation.reads)
            places |= {self._definition(Path(name).resolve(), line) for name, *ends in mutation.lines for line in ends}
        files = {place.file for place in places}
        return [
            check
            for check in checks
            if (known := self.of(check)).definitions & places or known.files & files or any(map(known.reads, labels))
        ]

    def of(self, check: Check) -> Slice:
        if check.id not in self._found:
            self._found[check.id] = self._follow(check)
        return self._found[check.id]

    def _follow(self, check: Check) -> Slice:
        claims = self._catalogue.claims
        about = {label for each in check.labels if each in claims for label in claims[each].about}
        walk = _Walk(self, {*check.labels, *about})
        walk.reach(self._beginning(check))
        derives = check.id.endswith("::derivation")
        while walk.go():
            walk.reach(self._algorithms(walk.labels))
            if derives or walk.attributes & DERIVING:
                walk.reach(self._derivations(walk.labels))
        return self._slice(check, walk)

    def _beginning(self, check: Check) -> list[Definition]:
        """The function of a check; of one that is made by another function, all that stands beside its label."""
        code = inspect.unwrap(check.function).__code__
        file = Path(code.co_filename).resolve()
        if self._is_followed(file) and "<locals>" not in code.co_qualname:
            return [Definition(file, code.co_name)]
        here = self._catalogue.files[check.id].path.resolve()
        beside = self.all_of(here)
        return beside if self._is_followed(file) else [each for each in beside if check.label in self.said(each).labels]

    def _slice(self, check: Check, walk: _Walk) -> Slice:
        snapshot, claims = self._snapshot, self._catalogue.claims
        files = frozenset[Path]().union(*map(snapshot.of_modules, walk.modules))
        if "seeded_bugs" in walk.attributes:
            bugs = collect.of_no_paper(self._catalogue.layout.mutants)
            files = files.union(*(snapshot.closure(bug.path.resolve()) for bug in bugs))
        files = frozenset(file for file in files if not file.is_relative_to(FOLLOWED))
        parts = [repr((check.id, check.kind, sorted(check.expect), check.grid, check.failure_probability))]
        parts += sorted(f"{each.name} {self.said(each).digest}" for each in walk.seen)
        parts += sorted(snapshot.facts(file).digest for file in files)
        parts += sorted(f"{label} {snapshot.digest(claims[label])}" for label in walk.labels if label in claims)
        digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        return Slice(frozenset(walk.seen), files, frozenset(walk.labels), frozenset(walk.begun), digest)

    def _algorithms(self, labels: Iterable[str]) -> Iterator[Definition]:
        """The classes that may be looked up by these labels."""
        for label in labels:
            kind = self._catalogue.algorithms.get(label.partition("@")[0])
            code = getattr(getattr(kind, "execute", None), "__code__", None)
            if kind is not None and code is not None:
                yield Definition(Path(code.co_filename).resolve(), kind.__qualname__)

    def _derivations(self, labels: Iterable[str]) -> Iterator[Definition]:
        """All derivations of any reading of their statements."""
        statements = {label.partition("@")[0] for label in labels}
        for derivation in self._catalogue.derivations.values():
            if {each.partition("@")[0] for each in derivation.labels} & statements:
                code = derivation.function.__code__
                yield Definition(Path(code.co_filename).resolve(), code.co_name)

    # -- one file --------------------------------------------------------------------------------------------

    def module(self, file: Path) -> Module:
        if file not in self._modules:
            self._modules[file] = Module.of(file)
        return self._modules[file]

    def said(self, definition: Definition) -> _Said:
        if definition not in self._named:
            nodes = self.module(definition.file).bound.get(definition.name, [])
            self._named[definition] = _Said.of(nodes)
        return self._named[definition]

    def _definition(self, file: Path, line: int) -> Definition:
        """The one that a line belongs to."""
        return Definition(file, self.module(file).at(line) if self._is_followed(file) else "")

    def _is_followed(self, file: Path) -> bool:
        return file.is_relative_to(FOLLOWED) or not sources.is_code(file)

    def target(self, named: Definition) -> tuple[list[Definition], list[str]]:
        """What a name of a file means: definitions that are followed, and names of modules that are taken whole."""
        if named not in self._targets:
            self._targets[named] = self._target(*named)
        return self._targets[named]

    def _target(self, file: Path, name: str) -> tuple[list[Definition], list[str]]:
        module = self.module(file)
        if name in module.bound:
            return [Definition(file, name)], []
        if name not in module.imported:
            return [], []
        origin, what = module.imported[name]
        for path, rest in places(file, origin, what):
            if path.is_file() and self._is_followed(path):
                return ([Definition(path, rest)] if rest else self.all_of(path)), []
        if origin.partition(".")[0] == "dpcheck":
            return [], [origin, f"{origin}.{what}"] if what else [origin]
        return [], []

    def digests(self, file: Path, names: Iterable[str] | None = None) -> list[str]:
        """Of these definitions of a file, or of all of them: another text has another one."""
        bound = self.module(file).bound
        wanted = bound if names is None else [name for name in names if name in bound]
        return [self.said(Definition(file, name)).digest for name in wanted]

    def all_of(self, file: Path) -> list[Definition]:
        module = self.module(file)
        return [Definition(file, name) for name in (*module.bound, *module.imported)]


class _Walk:
    """From one function to all that it may reach."""

    def __init__(self, slices: Slices, labels: set[str]) -> None:
        self._slices, self._queue = slices, list[Definition]()
        self.seen: set[Definition] = set()
        self.labels, self.begun = labels, set[str]()
        self.modules, self.attributes = set[str](), set[str]()

    def reach(self, definitions: Iterable[Definition]) -> None:
        self._queue += [each for each in definitions if each not in self.seen]

    def go(self) -> bool:
        """Follows what is waiting; whether there was anything."""
        moved = bool(self._queue)
        while self._queue:
            each = self._queue.pop()
            if each in self.seen:
                continue
            self.seen.add(each)
            self.reach([Definition(each.file, "")])  # what a module does when it is loaded
            if each.name and each.name not in self._slices.module(each.file).bound:
                self._to(each.file, each.name)  # handed on by a package
                continue
            said = self._slices.said(each)
            self.labels |= said.labels
            self.begun |= said.begun
            self.attributes |= said.attributes
            self.modules |= {LOOKS_UP[name] for name in said.attributes & LOOKS_UP.keys()}
            for name in said.names:
                self._to(each.file, name)
            imported = self._slices.module(each.file).imported
            for name, attribute in said.asked:
                if imported.get(name, ("",))[0] == "dpcheck":
                    self.modules |= {f"dpcheck.{attribute}", _home(attribute)}
        return moved

    def _to(self, file: Path, name: str) -> None:
        definitions, modules = self._slices.target(Definition(file, name))
        self.reach(definitions)
        self.modules |= set(modules)


@dataclass(frozen=True)
class _Said:
    """What the statements behind one name say."""

    digest: str
    names: frozenset[str]
    attributes: frozenset[str]
    asked: frozenset[tuple[str, str]]
    labels: frozenset[str]
    begun: frozenset[str]

    @classmethod
    def of(cls, nodes: Iterable[ast.AST]) -> _Said:
        nodes = list(nodes)
        every = [part for node in nodes for part in ast.walk(node)]
        texts = {part.value for part in every if isinstance(part, ast.Constant) and isinstance(part.value, str)}
        labels = {text for text in texts if LABEL.fullmatch(text)}
        joined = [part for part in every if isinstance(part, ast.JoinedStr | ast.BinOp)]
        begun = {value for each in joined for part in ast.iter_child_nodes(each) if (value := _text(part))}
        attributes = [part for part in every if isinstance(part, ast.Attribute)]
        return cls(
            hashlib.sha256("\n".join(map(plain, nodes)).encode()).hexdigest(),
            frozenset(part.id for part in every if isinstance(part, ast.Name)),
            frozenset({part.attr for part in attributes} | {part.id for part in every if isinstance(part, ast.Name)}),
            frozenset((part.value.id, part.attr) for part in attributes if isinstance(part.value, ast.Name)),
            frozenset(labels),
            frozenset(text for text in begun if BEGUN.fullmatch(text)),
        )


def _text(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _home(name: str) -> str:
    """The module behind a name of the front door, `dp.audit`."""
    import dpcheck

    return dpcheck._HOME_OF.get(name) or dpcheck._MODULES.get(name) or f"dpcheck.{name}"
