"""The content of this checkout for the tests of it: one catalogue a process, which imports what is asked for."""

from __future__ import annotations

import functools
from pathlib import Path

from dpcheck.claims import Claim
from dpcheck.engine import fetching, layout
from dpcheck.engine.catalogue import Catalogue

ROOT = Path(__file__).resolve().parents[1]


@functools.cache
def collected() -> Catalogue:
    """The catalogue; to look at all of a table, or at `errors` after that, is to load and validate everything."""
    return fetching.lazily(layout.find(ROOT))


def claims_of(paper: str) -> dict[str, Claim]:
    """The claims of a paper, from its own files."""
    return {c.label: c for c in collected().naming([paper]) if c.label.startswith(f"{paper}/")}


def errors() -> list[str]:
    """What is amiss in the whole content."""
    found = collected()
    len(found.claims)  # everything
    return [str(error) for error in found.errors]
