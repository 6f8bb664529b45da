"""What is known of labels, as objects or as cards of an index: how they belong together and where they stand."""

from __future__ import annotations

import abc
import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar

from dpcheck.engine import collect, homes, papers, verifiers
from dpcheck.engine.collect import ContentFile
from dpcheck.engine.homes import Home, HomeKind, Needed, Part
from dpcheck.engine.layout import Layout, typed
from dpcheck.errors import CollectionError, UnknownLabel
from dpcheck.labels import Standing, split_label, standing

Quotes = dict[str, list[tuple[Path, int]]]
"""Label -> the files and lines where it stands in quotes."""


class Labelled(Protocol):
    """What is asked of a claim here."""

    @property
    def label(self) -> str: ...
    @property
    def statement_label(self) -> str: ...
    @property
    def about(self) -> tuple[str, ...]: ...
    @property
    def origin(self) -> str: ...


class Examined(Protocol):
    """What is asked of a check here."""

    @property
    def id(self) -> str: ...
    @property
    def labels(self) -> tuple[str, ...]: ...


C = TypeVar("C", bound=Labelled)
K = TypeVar("K", bound=Examined)


@dataclass
class Shelves(abc.ABC, Generic[C, K]):
    """Claims by label and checks by id, from the content of one layout.

    Attributes:
        layout, paths: what it was loaded from: the root's folders, and the user's own files and folders.
        folders: content folders, in the order in which they were collected.
        errors: what could not be collected, each with file and line; the rest is usable.
    """

    layout: Layout
    paths: tuple[Path, ...] = ()
    claims: dict[str, C] = field(default_factory=dict)
    checks: dict[str, K] = field(default_factory=dict)
    errors: list[CollectionError] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    _places: dict[str, tuple[Path, int]] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        return self.layout.root

    def readings(self, label: str) -> list[C]:
        """All readings of the statement of a label, the printed one first."""
        statement = label.partition("@")[0]
        return sorted(
            (c for c in self.claims_of(statement) if c.statement_label == statement),
            key=lambda c: (c.label != statement, c.label),
        )

    def claims_of(self, statement: str) -> list[C]:
        """Claims among which are all readings of a statement."""
        return list(self.claims.values())

    def checks_of(self, label: str) -> list[K]:
        """The checks that bear on a reading, its own and those of other labels that name it."""
        return [check for check in self.checks.values() if label in check.labels]

    @abc.abstractmethod
    def fingerprints(self, ids: Iterable[str] | None = None) -> dict[str, str]:
        """Check id -> `Record.sources` as of now, of these checks, or of every one."""

    @abc.abstractmethod
    def assumptions(self, label: str) -> tuple[Any, ...]:
        """Those of a claim, as SymPy relations; none where there is no such claim."""

    @abc.abstractmethod
    def derived(self, label: str) -> list[str]:
        """Names of the derivations of a reading, the nearest first."""

    @abc.abstractmethod
    def digest(self, label: str) -> str:
        """Fingerprint of what a claim asserts. Raises `KeyError` where there is none."""

    def bugs(self) -> Iterator[ContentFile]:
        """The files of seeded bugs: of no paper, then of papers, which stand beside their checks."""
        yield from (file for folder in self.layout.mutants for file in collect.files(folder))
        yield from (file for folder in self.layout.content for file in collect.bugs(folder))

    # -- where it stands ----------------------------------------------------------------------------------------

    def homes(self, label: str) -> list[Home]:
        """Every place of a label: code (its own, then of what it is about), bound, derivation, audits, mutants.

        Raises:
            UnknownLabel: neither a claim nor code has the label.
        """
        statement = label.partition("@")[0]
        claim = self.claims.get(label) or self.claims.get(statement)
        if claim is None and statement not in self._code:
            raise UnknownLabel(label, [*self.claims, *self._code])
        about = [other.partition("@")[0] for other in (claim.about if claim else ())]
        places = [self._home("algorithm", *place) for name in (statement, *about) for place in self._code.get(name, [])]
        if claim is not None:
            places.append(self._home("bound", *self._places[claim.label]))
        derivation = self.derivation(statement)
        if derivation is not None:
            places.append(self._home("derivation", *derivation))
        places += [self._home("derivation", *self._places[f"derivation {name}"]) for name in self.derived(label)]
        places += [self.home(check.id) for check in self.checks_of(label)]
        places += [self._home("mutant", *place) for place in self._bugs.get(statement, [])]
        return list(dict.fromkeys(places))

    def needed(self, label: str) -> list[Needed]:
        """The files that one has to know to understand a statement with its readings, and to change it.

        A check, or a derivation, of another statement that bears on this one counts where this one has none of its own.
        Readings in a folder of their own, say comparisons of two papers, are for themselves; so is the algorithm of a
        reading that is about none of what its statement is about, say the accuracy of any solver that it may call.
        """
        statement, table = label.partition("@")[0], _Table(self.root)
        folder = self._places[label if label in self.claims else statement][0].parent
        claims = [claim for claim in self.readings(statement) if self._places[claim.label][0].parent == folder]
        table.add("bounds", [self._places[claim.label] for claim in claims])
        derivations = [name for claim in claims for name in self.derived(claim.label)]
        table.add("bounds", [self._places[f"derivation {name}"] for name in _own(derivations, statement)])
        names = dict.fromkeys([statement, *_about(claims, label)])
        table.add("algorithm", [place for name in names for place in self._implementing.get(name, [])])
        checks = _own([check.id for claim in claims for check in self.checks_of(claim.label)], statement)
        audits = [self._places[id] for id in checks if made(id) is None]
        audits += [place for claim in claims if (place := self._places.get(f"unchecked {claim.label}"))]
        table.add("audits", audits)
        table.add("cases", [(file, 0) for place in audits for file in self.helpers(*place)])
        table.add("witnesses", self._verifying.get(statement, []))
        return table.rows()

    @abc.abstractmethod
    def helpers(self, path: Path, line: int) -> list[Path]:
        """The files in the folder of a check, and below, with anything that its function names, directly or not."""

    def home(self, id: str) -> Home:
        """Where one claim (by label) or one check (by id) is defined."""
        check = id in self.checks
        kind: HomeKind = "bound" if not check else made(id) or "audit"
        return self._home(kind, *self._places[id])

    def reached(self, label: str, base: Path | None = None) -> str:
        """What `dpcheck run <label>` needs besides: "", or " --also <folder>" and such.

        Args:
            base: where it is typed, say the folder of this root; None: the working directory, with --root if need be.
        """
        here = self.layout.reached if base is None else ""
        return here + "".join(f" --also {typed(path, base)}" for path in self._named_for(label))

    def standing(self, label: str) -> Standing | Literal["yours"]:
        """What a verdict under a label is about; what a folder of the user's own states is counted apart."""
        return "yours" if self._named_for(label) else standing(label, self.claims.get(label))

    def _named_for(self, label: str) -> list[Path]:
        """The user's own files and folders from which a label comes."""
        places = [self._places[label][0]] if label in self._places else []
        places += [self._places[check.id][0] for check in self.checks_of(label)] if self.besides else []
        return [
            path
            for path in self.besides
            if any(place.is_relative_to(base) for base in (path, *papers.at(path)) for place in places)
        ]

    @property
    def besides(self) -> list[Path]:
        """The user's own files and folders, as far as they are not in the root's content."""
        inside = (*self.layout.content, *self.layout.papers)
        return [path for path in self.paths if not any(path.is_relative_to(folder) for folder in inside)]

    def derivation(self, label: str) -> tuple[Path, int] | None:
        """The file and line of a statement's section in `<paper>.md` of some content folder."""
        paper, item, _ = split_label(label)
        for folder in self.folders:
            line = homes.section(self._headings(folder / f"{paper}.md"), item)
            if line is not None:
                return folder / f"{paper}.md", line
        return None

    def _home(self, kind: HomeKind, path: Path, line: int) -> Home:
        return Home(kind, homes.shown(path, self.root), line)

    @functools.cached_property
    def _code(self) -> Quotes:
        return homes.quoted(homes.code_files())

    @functools.cached_property
    def _implementing(self) -> Quotes:
        return homes.implementing(homes.code_files())

    @functools.cached_property
    def _verifying(self) -> Quotes:
        return homes.verifying(verifiers.of(self.layout, self.paths))

    @functools.cached_property
    def _bugs(self) -> Quotes:
        return homes.quoted(f.path for f in self.bugs())

    @functools.cached_property
    def _sections(self) -> dict[Path, list[tuple[str, int]]]:
        return {}

    def _headings(self, path: Path) -> list[tuple[str, int]]:
        if path not in self._sections:
            self._sections[path] = homes.headings(path) if path.is_file() else []
        return self._sections[path]


class _Table:
    """Files with their lines, a part after the other."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lines: dict[tuple[Part, str], set[int]] = {}

    def add(self, part: Part, places: Iterable[tuple[Path, int]]) -> None:
        """Files that stand there already stay where they are; a line 0 is none."""
        for path, line in places:
            self._lines.setdefault((part, homes.shown(path, self._root)), set()).update({line} - {0})

    def rows(self) -> list[Needed]:
        return [Needed(part, path, tuple(sorted(lines))) for (part, path), lines in self._lines.items()]


def _about(claims: Sequence[Labelled], label: str) -> Iterator[str]:
    """What readings are about; one that shares nothing with the first counts where it is asked for."""
    first = set(claims[0].about) if claims else set()
    for claim in claims:
        if claim.label == label or not first or first.intersection(claim.about):
            yield from (other.partition("@")[0] for other in claim.about)


def made(id: str) -> HomeKind | None:
    """What the engine made a check of; None where somebody wrote it."""
    made: tuple[HomeKind, ...] = ("derivation", "certificate")
    return next((kind for kind in made if id.endswith(f"::{kind}")), None)


def _own(names: Sequence[str], statement: str) -> list[str]:
    """Those of checks or derivations that are of a statement or its readings; all of them where there are none."""
    return [name for name in names if re.split("@|::", name)[0] == statement] or list(names)
