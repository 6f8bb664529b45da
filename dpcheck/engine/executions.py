"""Derivations executed: for a check anew, for the report by what their checks decided, kept under the same sources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dpcheck.decided import Answer, noted, readable
from dpcheck.engine import memo
from dpcheck.engine.derived_checks import NAME
from dpcheck.engine.shelf import Asked

if TYPE_CHECKING:
    from dpcheck.derivations import Derivation, ExecutedDerivation
    from dpcheck.engine.catalogue import Catalogue


@dataclass
class Executions:
    """What the derivations of a catalogue decided.

    Attributes:
        recalled: whether a decision that was kept is believed: to show a proof beside the verdict of its check, which
            rests on the same sources. A check never does.
    """

    recalled: bool = False
    _decisions: dict[str, list[Answer]] = field(default_factory=dict)
    _sources: dict[str, str] = field(default_factory=dict)

    def of(self, derivation: Derivation, catalogue: Catalogue) -> ExecutedDerivation:
        known: list[Answer] = []
        id = f"{derivation.label}::{NAME}"
        if self.recalled and id in catalogue.checks:
            if id not in self._sources:  # of all derivations at once: the sources are read once
                ids = {id, *(each for each in catalogue.checks if each.endswith(f"::{NAME}"))}
                self._sources |= catalogue.fingerprints(ids)
            known = readable(memo.read("decisions", *_key(id, self._sources[id])))
        with noted(known) as decisions:
            found = derivation.run(Asked(catalogue.claims))
        self._decisions[id] = decisions
        return found

    def keep(self, id: str, sources: str) -> None:
        """Keeps what the check of a derivation, just computed from these sources, decided; of another check nothing."""
        if id in self._decisions:
            memo.write(self._decisions[id], "decisions", *_key(id, sources))


def _key(id: str, sources: str) -> tuple[str, str, str]:
    return id, sources, memo.versions()
