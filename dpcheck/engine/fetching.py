"""A catalogue that imports a file when something is asked that the file may hold."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dpcheck.checks import Check, Unchecked
from dpcheck.claims import Claim
from dpcheck.derivations import Derivation, Underived
from dpcheck.engine import collect
from dpcheck.engine.collect import ContentFile
from dpcheck.engine.collection import Catalogue
from dpcheck.engine.filling import CONTENT
from dpcheck.engine.kept import Kept
from dpcheck.engine.layout import Layout, packaged
from dpcheck.engine.loading import collect_own, in_force, opened
from dpcheck.engine.own import Own
from dpcheck.engine.shelf import ABOUT, Shelf, imported, near
from dpcheck.engine.sources import Snapshot
from dpcheck.errors import UnknownLabel
from dpcheck.labels import LABEL

Row = Claim | Check | Derivation | Unchecked | Underived
"""What has a label."""


def lazily(layout: Layout, paths: Sequence[Path | str] = (), kept: Kept | None = None) -> Catalogue:
    """The catalogue of `load_from`, of which a file is imported when something is asked that it may hold.

    Whoever looks at all of a table gets all of it, validated as by `load`. Until then `errors` speaks of the files
    that were needed, and of nothing else. What is the user's own is imported at once.

    Args:
        kept: knows from earlier which files hold what, and fingerprints; gets what is found out now.
    """
    catalogue = Catalogue(layout, own=Own.of(layout), kept=kept)
    fetch = Fetch(catalogue)
    for table, kind in (("claims", "states"), ("derivations", "states"), ("underived", "states"), ("checks", "checks")):
        setattr(catalogue, table, Shelf(functools.partial(fetch, kind)))
    catalogue.unchecked = Shelf(functools.partial(fetch, "checks"))
    catalogue.papers = Shelf(functools.partial(fetch, "papers"))
    for table in ("unmeasured", "findings", "panels", "contests", "sizes"):
        setattr(catalogue, table, Shelf(functools.partial(fetch, "all")))
    if paths or layout.papers or layout.installed:
        with in_force(catalogue):
            collect_own(catalogue, paths)
    return catalogue


def beside(layout: Layout, paths: Sequence[Path | str], kept: Kept | None = None) -> Catalogue:
    """`lazily`, with everything at once where the user's own files speak of a paper of which the content may hold
    statements too: whatever is defined twice is said then."""
    catalogue = lazily(layout, paths, kept)
    for row in [*imported(catalogue.claims), *imported(catalogue.checks)] if paths else ():
        catalogue.papers.reach(row.label.partition("/")[0])  # type: ignore[attr-defined]
    return catalogue


class _Heads(NamedTuple):
    """The statements whose labels head something in a file or its helpers: checks, and anything else."""

    states: set[str]
    checks: set[str]
    makes_claims: bool
    papers: set[str]
    """Of which it may hold anything; "": of any."""
    named: set[str]
    """Papers, and statements of them, that it names."""


class Fetch:
    """Fills a lazy catalogue: which file may hold a label is told by the labels in it, without importing it."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._whole = False
        self._begin()

    def _begin(self) -> None:
        here = self._catalogue
        if here.kept is not None:
            here.kept = here.kept.anew()
        own = [folder for folder in here.folders if folder not in here.layout.content]
        here.folders.clear()
        self._clear()
        self._imported: set[Path] = set()
        self._asked: set[tuple[str, str]] = set()
        self.files: list[ContentFile] = []
        for folder in here.layout.content:
            if opened(here, folder):
                self.files += collect.files(folder)
        here.folders += own
        here._order.update((file.path, place) for place, file in enumerate(self.files))
        self._generation = collect.generation(self._catalogue.layout.content)

    def _clear(self) -> None:
        here = self._catalogue
        here.errors[:] = here.own.errors
        here._places.clear()
        here._borrowed.clear()
        for table in self._tables():
            dict.clear(table)

    def _tables(self) -> list[dict[str, Any]]:
        here = self._catalogue
        tables: list[Any] = [here.papers, here.claims, here.checks, here.unchecked, here.derivations, here.underived]
        return [*tables, here.unmeasured, here.findings, here.panels, here.contests, here.sizes, here.files]

    def __call__(self, kind: str, name: str) -> None:
        """Imports what may hold a row of this name; `kind` is "states", "checks", as in `sources.Facts`, or "all".

        A name may also be `ABOUT` a label, or "<paper>/": what may speak of it, or of a statement of that paper.
        """
        if self._whole:
            return
        if collect.generation(self._catalogue.layout.content) != self._generation:  # another load dropped its modules
            had = self._imported
            self._begin()
            self._import([file for file in self.files if file.path in had])
            self._collect(self._own())
        if kind == "papers" and name and not self.has_paper(name):
            return
        if kind in ("all", "papers") or not name:
            self._all()
            return
        statement = name.partition("::")[0].partition("@")[0]
        known = name.endswith("/") or LABEL.fullmatch(statement.removeprefix(ABOUT))
        if known and (kind, statement) not in self._asked:
            self._asked.add((kind, statement))
            self._import_those_with(kind, statement)

    def _import_those_with(self, kind: str, name: str) -> None:
        """Imports the files that hold a row of a statement, or one that speaks of it."""
        asked, kept = f"files with {kind} of {name}", self._catalogue.kept
        known = None if kept is None else kept.get(asked)
        if kept is not None and known is not None:
            paths = set(map(kept.places.path, known))
            self._import([file for file in self.files if str(file.path) in paths])
            return
        files = [file for file in self.files if self.may_hold(file, kind, name)]
        self._import(files)
        if kept is not None and not self._catalogue.errors:
            kept.put(asked, [kept.places.name(file.path) for file in files if _holds(file, name)])

    def _import(self, files: Iterable[ContentFile]) -> None:
        new = [file for file in files if file.path not in self._imported]
        self._imported.update(file.path for file in new)
        self._collect(new)

    def _collect(self, files: Iterable[ContentFile]) -> None:
        with in_force(self._catalogue):
            for file in files:
                self._catalogue.collect(file, CONTENT)

    def _own(self) -> list[ContentFile]:
        """The user's own files, of which the labels were collected at once."""
        content = {file.path for file in self.files}
        return [file for path, file in self._catalogue._collected.items() if path not in content]

    def has_paper(self, key: str) -> bool:
        """Whether a content file may hold a statement of that paper; where one does not parse, any may."""
        heads = [self._found.get(file.path) for file in self.files]
        return any(one is None or any(label.startswith(f"{key}/") for label in one.states) for one in heads)

    def _all(self) -> None:
        """Everything in its order; what was imported before is the same object."""
        self._whole = True
        self._clear()
        self._collect([*self.files, *self._own()])
        with in_force(self._catalogue):
            self._catalogue.conform()

    def may_hold(self, file: ContentFile, kind: str, statement: str) -> bool:
        known = self._found.get(file.path)
        if statement.endswith("/"):
            return known is None or statement[:-1] in known.named
        if statement.startswith(ABOUT):
            label = statement.removeprefix(ABOUT)
            computed = known is not None and known.makes_claims and known.papers & {"", label.partition("/")[0]}
            return known is None or label in known.named or bool(computed)
        if known is not None and kind == "states" and not known.makes_claims:
            return False
        if known is None or "" in known.papers or statement.partition("/")[0] in known.papers:
            return True
        return statement in (known.states if kind == "states" else known.checks | known.states)

    @functools.cached_property
    def _found(self) -> dict[Path, _Heads]:
        """What every file may hold; of one that does not parse nobody knows."""
        snapshot, by_path = Snapshot(), {}
        for file in self.files:
            with contextlib.suppress(SyntaxError, ValueError, OSError):
                near = [snapshot.facts(helper) for helper in snapshot.helpers(file.path.resolve())]
                states = {label.partition("@")[0] for facts in near for label in facts.states}
                checks = {label.partition("@")[0] for facts in near for label in facts.checks}
                if snapshot.facts(file.path.resolve()).compares:
                    checks |= {label.partition("@")[0] for facts in near for label in facts.labels}
                papers = {paper for facts in near for paper in facts.computes}
                makes = any(facts.makes_claims for facts in near)
                quoted = {label.partition("@")[0] for facts in near for label in facts.labels}
                named = papers | quoted | {label.partition("/")[0] for label in quoted}
                by_path[file.path] = _Heads(states, checks, makes, papers, named if makes else set())
        snapshot.keep()
        return by_path


def refuse_unknown(catalogue: Catalogue, label: str) -> None:
    """Raises `UnknownLabel` of a label that nothing has, its near misses as they stand in the texts: nothing else of a
    lazy catalogue is imported for that."""
    if not isinstance(catalogue.claims, Shelf):
        return
    if not LABEL.fullmatch(label):
        raise UnknownLabel(label, _stated(catalogue))
    if label in catalogue.claims:
        return
    readings = [claim.label for claim in near(catalogue.claims, label) if claim.label.partition("@")[0] == label]
    if readings or any(label in check.labels for check in near(catalogue.checks, label)):
        return
    if not catalogue.errors:  # what could not be read may hold it
        raise UnknownLabel(label, _stated(catalogue))


def refuse_unnamed(catalogue: Catalogue, name: str, others: Iterable[str] = ()) -> None:
    """Raises `UnknownLabel`, as `refuse_unknown`, of what names no paper, no statement and no check.

    Left to whoever imports what it takes are paths, ids of checks, keys of papers, and what stands anywhere in the
    texts: it may be the name of a check.

    Args:
        others: labels that are known besides.
    """
    if not isinstance(catalogue.claims, Shelf) or Path(name).exists() or name.count("/") > 1 or "::" in name:
        return
    if name.endswith(("/", ".py")) or name in others:
        return
    if "/" in name:
        refuse_unknown(catalogue, name)
        return
    here = Fetch(Catalogue(catalogue.layout, own=Own.of(catalogue.layout)))
    own = {key for keys in catalogue.own.folders.values() for key in keys}
    papers = own.union(
        row.label.partition("/")[0] for row in [*imported(catalogue.claims), *imported(catalogue.checks)]
    )
    if name in papers or here.has_paper(name) or catalogue.errors:
        return
    files = {*(file.path for file in here.files), *catalogue._collected}
    if not any(name in path.read_text(encoding="utf-8") for path in files):
        stated = _stated(catalogue)
        keys = dict.fromkeys(label.partition("/")[0] for label in stated)
        raise UnknownLabel(name, [*stated, *keys, *sorted(papers), *others])


def _stated(catalogue: Catalogue) -> list[str]:
    """The statements that stand in the texts of the content."""
    here = Catalogue(catalogue.layout, own=Own.of(catalogue.layout))
    return sorted({label for heads in Fetch(here)._found.values() for label in heads.states})


def _holds(file: ContentFile, name: str) -> bool:
    """Whether an imported file has a row of a statement, or of one of "<paper>/", or that speaks of it."""
    name = name.removeprefix(ABOUT)
    items: list[Row] = collect.content_of(file, (Claim, Derivation, Underived, Check, Unchecked))
    labels = (label for item in items for label in _labels(item))
    return any(label.startswith(name) if name.endswith("/") else label.partition("@")[0] == name for label in labels)


def _labels(row: Row) -> tuple[str, ...]:
    """The label that a row has, and those of which it speaks."""
    match row:
        case Claim():
            return (row.label, *row.about)
        case Check() | Derivation():
            return row.labels
        case Underived() | Unchecked():
            return (row.label,)


def with_packaged(own: Iterable[Claim], names: Iterable[str]) -> list[Claim]:
    """These claims, and those that dpcheck brings along of the papers of which there are none; names as in `naming`."""
    entries = list(own)
    here = {claim.paper.key for claim in entries}
    missing = [name for name in names if name.partition("/")[0] not in here]
    more = lazily(packaged(Path.cwd())).naming(missing) if missing else ()
    return entries + [claim for claim in more if claim.paper.key not in here]
