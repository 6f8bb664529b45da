"""How wrong a bound may be before a check notices: the smallest factor up and down, by bisection."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from dpcheck.claims import Claim
from dpcheck.engine.mutate.claims import scaled
from dpcheck.engine.mutate.mutation import NOTICED, Trial
from dpcheck.engine.mutate.trials import Trials

LARGEST = 1000.0
"""A bound that may be wrong by so much is not checked at all, as far as its constant goes."""
FINE = 1.1
"""The ratio of the factors between which a search ends."""


@dataclass(frozen=True)
class Resolution:
    """Of one explicit bound: the least factors that are known to be noticed, and which checks do; inf where none does.

    Attributes:
        up, down: × up and ÷ down are noticed.
    """

    label: str
    relation: str
    up: float
    down: float
    up_by: str = ""
    down_by: str = ""

    def __str__(self) -> str:
        said = [f"{sign} {_rounded(f)}" for sign, f in (("×", self.up), ("÷", self.down)) if math.isfinite(f)]
        return "notices " + ", ".join(said) if said else "notices no factor up to 1,000"

    def plain(self) -> dict[str, Any]:
        return {name: None if value == math.inf else value for name, value in vars(self).items()}


@dataclass
class _Search:
    """Of one bound in one direction: a factor that passes, and one that is noticed."""

    claim: Claim
    up: bool
    passes: float = 1.0
    noticed: float = math.inf
    by: str = ""

    @property
    def following(self) -> float | None:
        """The factor to try next; None when the search is over."""
        if not math.isfinite(self.noticed):
            return LARGEST if self.passes < LARGEST else None
        return math.sqrt(self.passes * self.noticed) if self.noticed > FINE * self.passes else None

    def learn(self, factor: float, trial: Trial) -> None:
        if trial.fate in NOTICED:
            self.noticed, self.by = factor, trial.by
        else:
            self.passes = factor


def resolutions(
    trials: Trials, claims: Sequence[Claim], told: Callable[[str], None] = lambda key: None
) -> list[Resolution]:
    """Of every claim with an explicit bound, in the order given. What a check cannot carry out counts as unnoticed."""
    explicit = [claim for claim in claims if claim.explicit is not None and claim.relation in ("<=", ">=", "=")]
    searches = [_Search(claim, up) for claim in explicit for up in (True, False)]
    while True:
        batch = []
        for search in searches:
            factor = search.following
            if factor is not None:
                batch.append((search, factor, scaled(search.claim, factor if search.up else 1 / factor)))
        if not batch:
            break
        of = {mutant.key: (search, factor) for search, factor, mutant in batch}
        for trial in trials.run([mutant for _, _, mutant in batch]):
            search, factor = of[trial.key]
            search.learn(factor, trial)
            told(trial.key)
    pairs = zip(searches[::2], searches[1::2], strict=True)
    return [Resolution(u.claim.label, u.claim.relation, u.noticed, d.noticed, u.by, d.by) for u, d in pairs]


def _rounded(factor: float) -> str:
    return f"{factor:.3g}" if factor < 100 else f"{factor:.0f}"
