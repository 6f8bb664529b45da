"""The front door: claims, derivations and algorithms by label, from the catalogue in force or that of the directory."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, get_args

from dpcheck.engine import collect, layout
from dpcheck.engine.algorithms import algorithm, algorithms
from dpcheck.engine.collection import Catalogue
from dpcheck.engine.fetching import lazily
from dpcheck.engine.loading import in_force, load, load_from, now_in_force
from dpcheck.errors import InvalidInput, UnknownLabel
from dpcheck.labels import named

if TYPE_CHECKING:
    from dpcheck.claims import Claim
    from dpcheck.derivations import ExecutedDerivation
    from dpcheck.mutants import Mutant

__all__ = [
    "Catalogue",
    "algorithm",
    "algorithms",
    "claim",
    "claims",
    "current",
    "derived",
    "in_force",
    "load",
    "load_from",
    "seeded_bugs",
]


@functools.lru_cache(maxsize=4)
def _loaded(laid_out: layout.Layout) -> Catalogue:
    return lazily(laid_out)


def current() -> Catalogue:
    """The catalogue in force, else that of the working directory, as far as it is asked for."""
    return now_in_force() or _loaded(layout.find())


def claim(label: str) -> Claim:
    """The claim of a label: `dp.claim("l1_geometry/thm-4").order`. Raises `UnknownLabel`, which names near misses."""
    return current().claim(named(label))


def derived(label: str) -> ExecutedDerivation:
    """The executed derivation of a statement. Raises `UnknownLabel`."""
    return current().executed(named(label))


def seeded_bugs() -> dict[str, Mutant]:
    """Name -> seeded bug or look-alike, of the mechanisms of no paper: for checks of the auditor itself."""
    from dpcheck.mutants import Mutant

    catalogue = now_in_force()
    files = collect.of_no_paper((catalogue.layout if catalogue else layout.find()).mutants)
    return {bug.name: bug for file in files for bug in collect.content_of(file, (Mutant,))}


def claims(
    paper: str | None = None, *, kind: str | None = None, about: str | None = None, reading: str | None = None
) -> list[Claim]:
    """Claims in the order in which they are written; every filter is optional.

    Args:
        paper: key of the paper; `kind`: "theorem", "lemma", …; `about`: label of an algorithm; `reading`: "derived", ….
    """
    from dpcheck.claims import Kind

    catalogue = current()
    if kind is not None and kind not in get_args(Kind):
        raise InvalidInput(f"no statement is a {kind!r}; kinds are {', '.join(get_args(Kind))}")
    if paper is not None and named(paper) not in catalogue.papers:
        raise UnknownLabel(paper, catalogue.papers)
    return [
        c
        for c in catalogue.claims.values()
        if (paper is None or c.label.startswith(f"{paper}/"))
        and (kind is None or c.kind == kind)
        and (about is None or about in c.about)
        and (reading is None or c.reading == reading)
    ]
