"""What `dpcheck list` and `dpcheck show` know of a layout, kept on disk: cards of its claims and checks.

An index is kept under the hash of every file that it was made from, content and package alike, so one that is found is
that of the sources as they are. Where there is none, the whole is loaded and validated, or the files of one label are.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcheck.engine import memo
from dpcheck.engine.cards import DRAWING, CheckCard, ClaimCard, TranscriptCard
from dpcheck.engine.kept import code, state
from dpcheck.engine.layout import Layout
from dpcheck.engine.places import FileNames, carried_along
from dpcheck.engine.shelves import Quotes, Shelves, made
from dpcheck.engine.sources import Snapshot
from dpcheck.errors import CollectionError

if TYPE_CHECKING:
    from dpcheck.engine.catalogue import Catalogue


@dataclass
class Index(Shelves[ClaimCard, CheckCard]):
    """Cards of a whole collection, or of what bears on one statement.

    Attributes:
        unchecked, underived: label -> the reason.
        papers: keys.
    """

    unchecked: dict[str, str] = field(default_factory=dict)
    underived: dict[str, str] = field(default_factory=dict)
    papers: list[str] = field(default_factory=list)
    _derived: dict[str, list[str]] = field(default_factory=dict)
    _fingerprints: dict[str, str] = field(default_factory=dict)
    _quotes: tuple[Quotes, ...] = ({}, {}, {})
    _helpers: dict[str, list[str]] = field(default_factory=dict)

    def fingerprints(self, ids: Iterable[str] | None = None) -> dict[str, str]:
        """Check id -> `Record.sources` as of now."""
        return self._fingerprints if ids is None else {id: self._fingerprints[id] for id in ids}

    def checks_of(self, label: str) -> list[CheckCard]:
        return list(self._bearing.get(label, []))

    @functools.cached_property
    def _bearing(self) -> dict[str, list[CheckCard]]:
        """Label -> the checks that bear on it."""
        by_label: dict[str, list[CheckCard]] = {}
        for check in self.checks.values():
            for label in dict.fromkeys(check.labels):
                by_label.setdefault(label, []).append(check)
        return by_label

    def derived(self, label: str) -> list[str]:
        return self._derived.get(label, [])

    def digest(self, label: str) -> str:
        return self.claims[label].digest

    def assumptions(self, label: str) -> tuple[Any, ...]:
        """Those of a claim, as SymPy relations: its file is imported for them."""
        claim = self._lazily.claims.get(label)
        return () if claim is None else tuple(claim.assumptions)

    def transcript(self, label: str) -> TranscriptCard | None:
        """The executed derivation of a statement, or of a reading that has its own."""
        name = next(iter(self.derived(label)), None)
        if name is None:
            return None
        key = self._of_derivation(name)
        kept = TranscriptCard.read(memo.read("transcript", name, *key))
        if kept is None:
            from dpcheck.engine import catalogue

            with catalogue.in_force(self._lazily):
                steps = self._lazily.transcript(name)
            if steps is None:
                return None
            kept = TranscriptCard.of(steps)
            memo.write(asdict(kept), "transcript", name, *key)
        return kept

    def _of_derivation(self, name: str) -> tuple[str, str]:
        """On what a transcript depends: what its file imports, and the files of the claims that these name."""
        here = Snapshot()
        files = here.closure(self._places[f"derivation {name}"][0].resolve()) | here.of_modules("dpcheck.derivations")
        stated = {self._places[label][0].resolve() for label in here.labels(files) if label in self._places}
        files = files.union(*map(here.closure, stated), here.of_modules("dpcheck.printing"), DRAWING)
        return memo.digest(files, FileNames.within(self.layout).name), memo.versions(*memo.PRINTING)

    @functools.cached_property
    def _lazily(self) -> Catalogue:
        from dpcheck.engine.fetching import lazily

        return lazily(self.layout, self.paths)

    @functools.cached_property
    def _code(self) -> Quotes:
        return self._quotes[0]

    @functools.cached_property
    def _bugs(self) -> Quotes:
        return self._quotes[1]

    @functools.cached_property
    def _implementing(self) -> Quotes:
        return self._quotes[2]

    def helpers(self, path: Path, line: int) -> list[Path]:
        return list(map(Path, self._helpers.get(f"{path}:{line}", [])))

    # -- made, kept and found -----------------------------------------------------------------------------------

    @classmethod
    def of(cls, catalogue: Catalogue, label: str = "") -> Index:
        """The index of a catalogue, or of what it says of the statement of a label."""
        claims = catalogue.readings(label) if label else list(catalogue.claims.values())
        bearing = {c.id: c for each in claims for c in catalogue.checks_of(each.label)} if label else catalogue.checks
        checks = list(bearing.values())
        own = {claim.label for claim in claims}
        names = dict.fromkeys(n for c in claims for n in (c.label, c.statement_label))
        # A check may bear on this statement and be of another.
        others = dict.fromkeys(check.label for check in checks if check.label not in own)
        claims += [catalogue.claims[other] for other in others if other in catalogue.claims]
        reasons = (
            {name: table[name].reason for name in (names if label else table) if name in table}
            for table in (catalogue.unchecked, catalogue.underived)
        )
        unchecked, underived = reasons
        derived = {claim.label: catalogue.derived(claim.label) for claim in claims}
        steps = (f"derivation {name}" for derivations in derived.values() for name in derivations)
        placed = {*(c.label for c in claims), *(c.id for c in checks), *steps}
        placed |= {f"unchecked {label}" for label in unchecked}
        audits = {catalogue._places[check.id] for check in checks if made(check.id) is None}
        audits |= {catalogue._places[f"unchecked {label}"] for label in unchecked}
        return cls(
            layout=catalogue.layout,
            paths=catalogue.paths,
            claims={claim.label: ClaimCard.of(claim) for claim in claims},
            checks={check.id: CheckCard.of(check) for check in checks},
            errors=list(catalogue.errors),
            folders=list(catalogue.folders),
            _places={name: place for name, place in catalogue._places.items() if name in placed},
            unchecked=unchecked,
            underived=underived,
            papers=[] if label else list(catalogue.papers),
            _derived=derived,
            _fingerprints=catalogue.fingerprints([check.id for check in checks]),
            _quotes=(catalogue._code, catalogue._bugs, catalogue._implementing),
            _helpers={f"{path}:{line}": list(map(str, catalogue.helpers(path, line))) for path, line in audits},
        )

    def plain(self) -> dict[str, Any]:
        """As JSON keeps it, wherever its root lies; `read` is the way back."""
        named = FileNames.within(self.layout).name
        return {
            "claims": [asdict(claim) for claim in self.claims.values()],
            "checks": [check.plain() for check in self.checks.values()],
            "root": str(self.root) if self.errors else "",  # its errors name files by their paths
            "errors": list(map(str, self.errors)),
            "folders": list(map(named, self.folders)),
            "paths": list(map(named, self.paths)),
            "places": {name: (named(path), line) for name, (path, line) in self._places.items()},
            "unchecked": self.unchecked,
            "underived": self.underived,
            "papers": self.papers,
            "derived": self._derived,
            "fingerprints": self._fingerprints,
            "quotes": [{k: [(named(p), n) for p, n in v] for k, v in quotes.items()} for quotes in self._quotes],
            "helpers": {named(place): list(map(named, files)) for place, files in self._helpers.items()},
        }

    @classmethod
    def read(cls, layout: Layout, plain: Mapping[str, Any]) -> Index:
        path = FileNames.within(layout).path
        claims, checks = map(ClaimCard.read, plain["claims"]), map(CheckCard.read, plain["checks"])
        quotes = ({k: [(Path(path(p)), n) for p, n in v] for k, v in each.items()} for each in plain["quotes"])
        return cls(
            layout=layout,
            paths=tuple(Path(path(each)) for each in plain["paths"]),
            claims={claim.label: claim for claim in claims},
            checks={check.id: check for check in checks},
            errors=[CollectionError(text) for text in plain["errors"]],
            folders=[Path(path(each)) for each in plain["folders"]],
            _places={name: (Path(path(place)), line) for name, (place, line) in plain["places"].items()},
            unchecked=plain["unchecked"],
            underived=plain["underived"],
            papers=plain["papers"],
            _derived=plain["derived"],
            _fingerprints=plain["fingerprints"],
            _quotes=tuple(quotes),
            _helpers={path(place): list(map(path, files)) for place, files in plain["helpers"].items()},
        )


def whole(layout: Layout, paths: Sequence[str] = ()) -> Index:
    """The index of everything: as it was kept, or of a full load, which validates everything."""
    key = state(layout, paths)
    kept = _read(layout, "index", *key)
    if kept is None:
        from dpcheck.engine import catalogue

        index = Index.of(catalogue.load_from(layout, paths))
        if state(layout, paths) == key:  # nobody edited meanwhile
            memo.write(index.plain(), "index", *key)
        return index
    return kept


def _read(layout: Layout, *question: str) -> Index | None:
    """What was kept; the errors of another root of the same content name files that are not these."""
    kept = memo.read(*question)
    return None if kept is None or kept["root"] not in ("", str(layout.root)) else Index.read(layout, kept)


def of_label(layout: Layout, label: str, paths: Sequence[str] = ()) -> Index:
    """The index of everything if it was kept, else of one statement alone, from the files that it needs.

    Its `errors` then speak of these files only.

    Raises:
        UnknownLabel: nobody states it. Where a file that may do so cannot be read, there is the index of everything.
    """
    key, statement = state(layout, paths), label.partition("@")[0]
    for name in ("index", "page"):
        kept = _read(layout, name, *key, *([statement] if name == "page" else []))
        if kept is not None:
            return kept
    from dpcheck.engine.fetching import beside, refuse_unknown

    index = Index.of(beside(layout, paths), label)
    if index.claims:
        if state(layout, paths) == key:
            memo.write(index.plain(), "page", *key, statement)
        return index
    refuse_unknown(beside(layout, paths), label)
    return whole(layout, paths)


def algorithms() -> list[str]:
    """The labels of all algorithms; what does not import has none."""
    key = memo.digest(code(), carried_along().name)
    kept = memo.read("algorithms", key)
    if kept is None:
        from dpcheck.engine import shipped

        kept = []
        for name in shipped.modules():
            with contextlib.suppress(CollectionError):
                kept += shipped.classes(name)
        memo.write(kept, "algorithms", key)
    return list(kept)
