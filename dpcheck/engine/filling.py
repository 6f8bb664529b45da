"""How a catalogue is filled: what counts as content, which table takes it, and where it stands."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from dpcheck.carried import PACKAGE
from dpcheck.certificates import path_of
from dpcheck.checks import Check, Unchecked
from dpcheck.claims import Claim, Paper
from dpcheck.derivations import Derivation, Finding, Underived
from dpcheck.engine import certified_checks, collect, derived_checks, homes
from dpcheck.engine.collect import ContentFile
from dpcheck.errors import CollectionError
from dpcheck.mutants import Mutant, Seeded
from dpcheck.panels import Contest, Panel, Size
from dpcheck.unmeasured import Unmeasured

if TYPE_CHECKING:
    from dpcheck.engine.collection import Catalogue


ENGINE = PACKAGE / "engine"
"""A function of a check that `settings` made stands here, which is not where the check stands."""


class ItemTable(NamedTuple):
    """Where items of one kind go: the catalogue's table, the attribute that is the key, what tells its places apart."""

    name: str
    key: str
    place: str = ""


TABLES: dict[type, ItemTable] = {
    Claim: ItemTable("claims", "label"),
    Check: ItemTable("checks", "id"),
    Unchecked: ItemTable("unchecked", "label", "unchecked "),
    Unmeasured: ItemTable("unmeasured", "id", "unmeasured "),
    Derivation: ItemTable("derivations", "label", "derivation "),
    Underived: ItemTable("underived", "label", "underived "),
    Finding: ItemTable("findings", "label", "finding "),
    Panel: ItemTable("panels", "key", "panel "),
    Contest: ItemTable("contests", "key", "contest "),
    Size: ItemTable("sizes", "key", "size "),
    Mutant: ItemTable("mutants", "name"),
    Seeded: ItemTable("seeded", "id"),
}
BUGS = (Mutant, Seeded)
"""What is picked from the folders of seeded bugs."""
CONTENT: tuple[type, ...] = (Paper, *(kind for kind in TABLES if kind not in BUGS))
"""What is picked from content files."""


def fill(catalogue: Catalogue, file: ContentFile, kinds: tuple[type, ...]) -> None:
    """Adds what one file holds; an error is kept, not raised."""
    try:
        items = collect.content_of(file, kinds)
    except CollectionError as error:
        catalogue.errors.append(error)
        return
    borrowed = collect.borrowed(file)
    for item in items:
        try:
            _add(catalogue, item, file, own=id(item) not in borrowed)
        except CollectionError as error:
            catalogue.errors.append(error)


def _add(catalogue: Catalogue, item: Any, file: ContentFile, *, own: bool) -> None:
    if isinstance(item, Paper):
        _paper(catalogue, item, file.path, 1)
        return
    table = next(table for kind, table in TABLES.items() if isinstance(item, kind))
    key = getattr(item, table.key)
    path, line = _place(item, item.label if table.key == "id" else key, file)
    if isinstance(item, Claim):
        _paper(catalogue, item.paper, path, line)
    if _once(catalogue, table, key, item, (path, line), own) and isinstance(item, Check):
        catalogue.files[key] = file
    if isinstance(item, Claim) and own:
        _certified(catalogue, item.label, file)
    if isinstance(item, Derivation) and f"{key}::{derived_checks.NAME}" not in catalogue.files:
        check = derived_checks.check_of(item, catalogue.executed)
        if _once(catalogue, TABLES[Check], check.id, check, (path, line), own):
            catalogue.files[check.id] = file


def _certified(catalogue: Catalogue, label: str, file: ContentFile) -> None:
    """Adds the check of a statement's certificates, where any are kept."""
    path = path_of(label, catalogue.layout.certificates)
    if f"{label}::{certified_checks.NAME}" in catalogue.files or not path.is_file():
        return
    check = certified_checks.check_of(label, path, catalogue.claim)
    if _once(catalogue, TABLES[Check], check.id, check, (path, 1), own=True):
        catalogue.files[check.id] = file


def _place(item: Any, name: str, file: ContentFile) -> tuple[Path, int]:
    """Where the function of a check, derivation or bug begins; of other things, the line of their name in the file."""
    function = inspect.unwrap(item.function) if isinstance(item, Check | Derivation | Seeded) else None
    if not isinstance(function, FunctionType) or Path(function.__code__.co_filename).is_relative_to(ENGINE):
        return file.path, collect.line_of(file.path, name)
    return Path(function.__code__.co_filename), function.__code__.co_firstlineno


def _once(catalogue: Catalogue, table: ItemTable, key: str, item: Any, place: tuple[Path, int], own: bool) -> bool:
    """Adds an item, or places it anew; another object of the same name is an error.

    The same object is seen from every file that imports it, of which some are collected before its own.

    Args:
        own: the file does not import the item from another.
    """
    known, name = getattr(catalogue, table.name), table.place + key
    if dict.setdefault(known, key, item) is not item:
        first, second = (
            homes.Home("bound", homes.shown(p, catalogue.root), n) for p, n in (catalogue._places[name], place)
        )
        raise CollectionError(f"{key} is defined twice: {first} and {second}; rename one")
    if name in catalogue._places and not (own and name in catalogue._borrowed):
        return False
    catalogue._places[name] = place
    (catalogue._borrowed.discard if own else catalogue._borrowed.add)(name)
    return True


def _paper(catalogue: Catalogue, paper: Paper, path: Path, line: int) -> None:
    if catalogue.papers.setdefault(paper.key, paper) != paper:
        shown = homes.shown(path, catalogue.root)
        raise CollectionError(f"{shown}:{line}: another paper has the key {paper.key!r} already")
