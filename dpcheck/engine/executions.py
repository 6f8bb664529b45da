"""Derivations executed: a check does so anew; what it found is kept, in print, for whoever shows the same sources."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from dpcheck.engine import memo
from dpcheck.engine.cards import DRAWING, TranscriptCard
from dpcheck.engine.derived_checks import NAME
from dpcheck.engine.places import carried_along
from dpcheck.engine.shelf import Asked
from dpcheck.engine.sources import Snapshot

if TYPE_CHECKING:
    from dpcheck.derivations import Derivation, ExecutedDerivation
    from dpcheck.engine.collection import Catalogue


@dataclass
class Executions:
    """The derivations of a catalogue that were executed, and those that were shown, by the id of their check."""

    _made: dict[str, ExecutedDerivation] = field(default_factory=dict)
    _cards: dict[str, TranscriptCard] = field(default_factory=dict)
    _sources: dict[str, str] = field(default_factory=dict)

    def of(self, derivation: Derivation, catalogue: Catalogue) -> ExecutedDerivation:
        id = _id(derivation)
        if id not in self._made:
            self._made[id] = derivation.run(Asked(catalogue.claims))
        return self._made[id]

    def card(self, derivation: Derivation, catalogue: Catalogue) -> TranscriptCard:
        """What is shown of it: kept under the same sources as the verdict beside it, or executed here, and kept."""
        id = _id(derivation)
        if id not in self._cards:
            self._cards[id] = self._shown(id, derivation, catalogue)
        return self._cards[id]

    def _shown(self, id: str, derivation: Derivation, catalogue: Catalogue) -> TranscriptCard:
        if id not in catalogue.checks:
            return TranscriptCard.of(self.of(derivation, catalogue))
        if id not in self._sources:  # of all derivations at once: the sources are read once
            made = {each for each in catalogue.checks if each.endswith(f"::{NAME}")}
            self._sources |= catalogue.fingerprints({id, *made})
        kept = TranscriptCard.read(memo.read("transcript", *_key(id, self._sources[id])))
        if kept is None:
            kept = TranscriptCard.of(self.of(derivation, catalogue))
            memo.write(asdict(kept), "transcript", *_key(id, self._sources[id]))
        return kept

    def keep(self, id: str, sources: str) -> None:
        """Keeps what the check of a derivation, just computed from these sources, found; of another check nothing."""
        if id in self._made:
            memo.write(asdict(TranscriptCard.of(self._made[id])), "transcript", *_key(id, sources))


def _id(derivation: Derivation) -> str:
    return f"{derivation.label}::{NAME}"


def _key(id: str, sources: str) -> tuple[str, ...]:
    return id, sources, _printed(), memo.versions(*memo.PRINTING)


@functools.cache
def _printed() -> str:
    """Fingerprint of what draws formulas, which is no part of what a check rests on."""
    here = Snapshot()
    return memo.digest(here.of_modules("dpcheck.printing").union(DRAWING), carried_along().name)
