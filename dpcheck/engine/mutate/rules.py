"""Rules that traces decide: a check of a bound reads it, and says something else where the bound is another one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from dpcheck.checks import Check
from dpcheck.claims import Claim
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.mutate.claims import scaled
from dpcheck.engine.mutate.trials import Trials

Reads = Mapping[str, Sequence[str]]
"""Check id -> labels of the claims of which it asks for a bound or the assumptions."""
OF_BOUNDS = frozenset({"risk", "rate", "accuracy", "stability", "lower-bound", "symbolic"})
"""Kinds of checks that speak of the bound of their statement; others may speak of another part of it."""
DECLARED = "# unbound:"
"""A comment in a check that says why it reads no bound of its own: `# unbound: the rate of its noise alone`."""
NUDGE = 1 + 2.0**-20
"""A bound that is so much larger moves some digit of every verdict that uses it."""


def unbound(catalogue: Catalogue, reads: Reads) -> list[str]:
    """Checks that were watched, are of a statement with a bound, read none of it, and do not say why."""
    return sorted(
        check.id
        for id, labels in reads.items()
        if (check := catalogue.checks.get(id)) is not None
        and check.kind in OF_BOUNDS
        and any(_bounded(catalogue, label) for label in check.labels)
        and not set(labels) & {reading.label for label in check.labels for reading in catalogue.readings(label)}
        and not declared(check)
    )


def unread(catalogue: Catalogue, reads: Reads, *, derivations: bool = True) -> list[str]:
    """Labels of explicit bounds that no check reads.

    Args:
        derivations: whether executed derivations count as checks.
    """
    counted = (labels for id, labels in reads.items() if derivations or not id.endswith("::derivation"))
    read = {label for labels in counted for label in labels}
    return sorted(
        claim.label for claim in catalogue.claims.values() if claim.explicit is not None and claim.label not in read
    )


def idle(
    trials: Trials, claims: Sequence[Claim], told: Callable[[str], None] = lambda key: None
) -> dict[str, tuple[str, ...]]:
    """Check -> bounds that it reads, and whose change by a millionth changes nothing of what it says."""
    by_check: dict[str, list[str]] = {}
    explicit = [claim for claim in claims if claim.explicit is not None]
    for mutation, checks in trials.unmoved([scaled(claim, NUDGE) for claim in explicit]):
        told(mutation.key)
        for check in checks:
            by_check.setdefault(check, []).append(mutation.target)
    return {check: tuple(sorted(labels)) for check, labels in sorted(by_check.items())}


def declared(check: Check) -> str:
    """Why a check reads no bound of its own, where its source says so."""
    code = inspect.unwrap(check.function).__code__
    return next((line.partition(DECLARED)[2].strip() for line in _source(code.co_filename, code.co_firstlineno)), "")


def _source(name: str, first: int) -> Iterator[str]:
    """The lines of a function that declare something."""
    lines = _lines(name)
    block = inspect.getblock([line + "\n" for line in lines[first - 1 :]])
    yield from (line for line in block if DECLARED in line)


@functools.lru_cache(maxsize=64)
def _lines(name: str) -> list[str]:
    return Path(name).read_text(encoding="utf-8").splitlines()


def _bounded(catalogue: Catalogue, label: str) -> bool:
    return label in catalogue.claims and catalogue.claims[label].bound is not None
