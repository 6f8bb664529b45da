"""A catalogue of some papers only: what `dpcheck report --only` shows."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TypeVar

from dpcheck.engine.catalogue import Catalogue

T = TypeVar("T")


def narrowed(catalogue: Catalogue, papers: Collection[str]) -> Catalogue:
    """The same catalogue with the claims and checks of these papers; itself, where these are all.

    Derivations were executed among all claims, of which they may use any. Comparisons of bounds are about all papers,
    and go where one is missing.
    """
    if catalogue.papers.keys() <= set(papers):
        return catalogue

    def of(items: dict[str, T]) -> dict[str, T]:
        return {name: item for name, item in items.items() if name.partition("/")[0] in papers}

    few = replace(
        catalogue,
        papers=of(catalogue.papers),
        claims=of(catalogue.claims),
        checks=of(catalogue.checks),
        unchecked=of(catalogue.unchecked),
        unmeasured=of(catalogue.unmeasured),
        derivations=of(catalogue.derivations),
        underived=of(catalogue.underived),
        findings=of(catalogue.findings),
        panels={},
        contests={},
        sizes={},
        _deriving={},
    )
    for label in few.derivations:
        catalogue.card(label)  # kept in a table that both share
    few.__dict__["algorithms"] = of(catalogue.algorithms)
    return few
