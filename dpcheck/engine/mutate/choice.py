"""Which mutants there are of what was named, and which checks may notice them."""

from __future__ import annotations

import pkgutil
import random
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from dpcheck.checks import Check
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.collect import ContentFile
from dpcheck.engine.mutate import bugs, code, constants, nulls
from dpcheck.engine.mutate.arguments import Arguments
from dpcheck.engine.mutate.mutation import FAMILIES, Family, Mutation, Trial
from dpcheck.engine.mutate.table import SampleOfMutants
from dpcheck.engine.papers import CODE
from dpcheck.errors import InvalidInput, UnknownLabel
from dpcheck.interfaces import Algorithm

ALWAYS: tuple[Family, ...] = ("null", "seeded")
"""Families of which no sample is drawn."""


def mutations(
    catalogue: Catalogue,
    wanted: Sequence[str],
    families: Sequence[Family] = FAMILIES,
    *,
    claims: Collection[str] | None = None,
    made: Callable[[int], None] = lambda _: None,
) -> list[Mutation]:
    """Of papers, or of statements with all their readings and the modules of their algorithms; of all, for ().

    Args:
        claims: labels, of no other claim wrong formulas are made, which takes long; None: of all.
        made: is told, again and again, how many there are so far.

    Raises:
        UnknownLabel: no paper, statement, reading, algorithm or seeded bug is named so.
    """
    others = [*catalogue.algorithms, *(bug.label for bug in catalogue.seeded.values())] if wanted else []
    for name in wanted:
        labels = [*(claim.label for claim in catalogue.claims_of(name.partition("@")[0])), *others]
        if name not in catalogue.papers and not any(named(label, [name]) for label in labels):
            raise UnknownLabel(name, [*catalogue.papers, *catalogue.claims, *others])
    every: list[Mutation] = []
    if "claim" in families:
        arguments = Arguments(catalogue)
        asked = [label for label in catalogue.claims if named(label, wanted) and (claims is None or label in claims)]
        for label in asked:
            every += arguments.of_claim(label)
            made(len(every))
        arguments.keep()
    kinds = {label: kind for label, kind in catalogue.algorithms.items() if _concerned(catalogue, label, wanted)}
    if "code" in families:
        owners = {module: paper for paper in catalogue.own.code for module in _of_own(catalogue, paper)}
        names = _modules(kinds.values(), wanted, catalogue)
        for name in names:
            every += [m for kind in (code, constants) for m in kind.of_module(name, owners.get(name, ""))]
            made(len(every))
    if "null" in families:
        every += nulls.of_algorithms(kinds.values())
    if "seeded" in families:
        every += bugs.of_bugs(
            bug for bug in catalogue.seeded.values() if bug.label in kinds or named(bug.label, wanted)
        )
    return every


def sample(every: Sequence[Mutation], size: int | None, seed: int) -> list[Mutation]:
    """All null algorithms and seeded bugs, and so many others, drawn whatever the order in which they stand."""
    others = [m for m in every if m.family not in ALWAYS]
    if size is None or size >= len(others):
        return list(every)
    drawn = {m.key for m in random.Random(seed).sample(sorted(others, key=lambda m: m.key), size)}
    return [m for m in every if m.family in ALWAYS or m.key in drawn]


def shuffled(every: Sequence[Mutation], seed: int) -> list[Mutation]:
    """In an order in which a budget cuts all papers alike."""
    return random.Random(seed).sample(every, len(every))


def samples(
    every: Sequence[Mutation], tried: Sequence[Trial], papers: Sequence[str], seed: int | None, size: str
) -> list[SampleOfMutants]:
    """What was tried of all mutants of these papers, by paper and family."""
    of = Counter((each.paper, each.family) for each in every if each.paper in papers)
    done = Counter((each.paper, each.family) for each in tried)
    return [
        SampleOfMutants(paper, family, done[paper, family], number, None if family in ALWAYS else seed, size)
        for (paper, family), number in sorted(of.items())
        if done[paper, family]
    ]


def checks_for(catalogue: Catalogue, wanted: Sequence[str]) -> list[Check]:
    """The checks of the papers that were named: nobody else reads their claims; but for the labels of `also`."""
    papers = {name.partition("/")[0] for name in wanted}
    return [
        check
        for check in catalogue.checks.values()
        if not papers or any(label.partition("/")[0] in papers for label in check.labels)
    ]


def folders(catalogue: Catalogue) -> list[Path]:
    """Where algorithms of one's own lie."""
    return [Path(folder) for folder in catalogue.own.folders]


def named(label: str, wanted: Sequence[str]) -> bool:
    """Whether a label is of what was named, a paper, a statement or a reading; () names everything."""
    return not wanted or any(name in (label, label.partition("@")[0], label.partition("/")[0]) for name in wanted)


def _concerned(catalogue: Catalogue, label: str, wanted: Sequence[str]) -> bool:
    """Whether an algorithm was named, or is what a named statement speaks of."""
    if named(label, wanted):
        return True
    return any(label in claim.about for claim in catalogue.claims.values() if named(claim.label, wanted))


def _modules(kinds: Any, wanted: Sequence[str], catalogue: Catalogue) -> Iterator[str]:
    """The modules of these algorithms; of a whole paper, all of its package."""
    names = dict.fromkeys(kind.__module__ for kind in kinds if isinstance(kind, type) and issubclass(kind, Algorithm))
    for name in wanted or catalogue.papers:
        if name in catalogue.papers and f"dpcheck.algorithms.{name}" in sys.modules:
            package = import_module(f"dpcheck.algorithms.{name}")
            names |= dict.fromkeys(f"{package.__name__}.{m.name}" for m in pkgutil.iter_modules(package.__path__))
        names |= dict.fromkeys(_of_own(catalogue, name))
    for name in names:
        import_module(name)
    yield from names


def _of_own(catalogue: Catalogue, paper: str) -> Iterator[str]:
    """The modules of a paper of one's own: those of its algorithms, and what no other paper of their folder claims."""
    code = catalogue.own.code
    others = {path for key, paths in code.items() if key != paper for path in paths}
    for folder in catalogue.own.folders:
        paths = [path for path in sorted((folder / CODE).rglob("*.py")) if not path.name.startswith(("__", "test_"))]
        if set(paths) & set(code.get(paper, ())):
            yield from (ContentFile(folder, path).module for path in paths if path not in others)


def checked_families(names: Sequence[str]) -> tuple[Family, ...]:
    """Raises `InvalidInput` for a family that there is not."""
    unknown = [name for name in names if name not in FAMILIES]
    if unknown:
        raise InvalidInput(f"unknown family {unknown[0]!r}; there are {', '.join(FAMILIES)}")
    return tuple(family for family in FAMILIES if not names or family in names)
