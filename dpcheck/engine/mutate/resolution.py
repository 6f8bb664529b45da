"""How wrong a bound may be before a check notices: the smallest factor up and down, by bisection.

What measures or derives is asked first, whatever a second typing sees; that is asked where nothing else notices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy as sp

from dpcheck.claims import Claim
from dpcheck.engine.mutate.claims import scaled
from dpcheck.engine.mutate.mutation import NOTICED, Trial
from dpcheck.engine.mutate.trials import NOTHING, Trials

LARGEST = 1000.0
"""A bound that may be wrong by so much is not checked at all, as far as its constant goes."""
LEAST = 1.02
"""Tried first: a derivation notices that, and whatever is larger."""
FINE = 1.1
"""The ratio of the factors between which a search ends."""


@dataclass(frozen=True)
class Resolution:
    """Of one explicit bound: the least factors that are known to be noticed, and which checks do; inf where none does.

    Attributes:
        up, down: × up and ÷ down are noticed; up_how, down_how: by what kind of evidence, as of `Trial.fate`.
    """

    label: str
    relation: str
    up: float
    down: float
    up_by: str = ""
    down_by: str = ""
    up_how: str = ""
    down_how: str = ""

    @property
    def strength(self) -> str:
        """The better of the two kinds of evidence; "" where no check notices any factor."""
        return next((kind for kind in NOTICED if kind in (self.up_how, self.down_how)), "")

    def __str__(self) -> str:
        both = (("×", self.up, self.up_how), ("÷", self.down, self.down_how))
        said = [f"{sign} {_rounded(f)}" + (f" ({how})" if how else "") for sign, f, how in both if math.isfinite(f)]
        return "notices " + ", ".join(said) if said else "notices no factor up to 1,000"

    def plain(self) -> dict[str, Any]:
        return {name: None if value == math.inf else value for name, value in vars(self).items()}


@dataclass
class _Search:
    """Of one bound in one direction: by the check that noticed last, and, where that sees no more, by all of them.

    Attributes:
        typed: whether second typings are asked, too: no other check notices any factor.
        passes, sure: largest factors that this check lets pass, that all of them do; noticed: least one that `by` sees.
    """

    claim: Claim
    up: bool
    typed: bool = False
    passes: float = 1.0
    sure: float = 1.0
    noticed: float = math.inf
    by: str = ""
    how: str = ""

    @property
    def following(self) -> tuple[float, str] | None:
        """The factor to try next, and the check that is asked, "" for all of them; None when the search is over."""
        if not math.isfinite(self.noticed):
            return (LEAST if self.sure < LEAST else LARGEST, "") if self.sure < LARGEST else None
        if self.noticed > FINE * self.passes:
            return math.sqrt(self.passes * self.noticed), self.by
        return (self.passes, "") if self.sure < self.passes else None

    def learn(self, factor: float, asked: str, trial: Trial) -> None:
        if trial.fate in NOTICED:
            self.noticed, self.by, self.how = factor, trial.by, trial.fate
            self.passes = min(self.passes, self.sure) if not asked else self.passes
        elif factor >= LARGEST and not self.typed:
            self.typed, self.passes, self.sure = True, 1.0, 1.0
        else:
            self.passes = factor
            self.sure = self.sure if asked else factor


def resolutions(
    trials: Trials,
    claims: Sequence[Claim],
    told: Callable[[str], None] = lambda key: None,
    *,
    earlier: Mapping[str, Resolution] = NOTHING,
) -> list[Resolution]:
    """Of every claim with an explicit bound, in the order given. What a check cannot carry out counts as unnoticed.

    Args:
        earlier: what was found before, by label: the checks that noticed then are asked first.
    """
    compared = [claim for claim in claims if claim.relation in ("<=", ">=", "=")]
    # Of nothing there is no factor; that it is something is one of the wrong formulas.
    explicit = [claim for claim in compared if claim.explicit is not None and sp.sympify(claim.explicit) != 0]
    searches = [_Search(claim, up) for claim in explicit for up in (True, False)]
    while batch := [(search, *following) for search in searches if (following := search.following) is not None]:
        mutants = [scaled(search.claim, factor if search.up else 1 / factor) for search, factor, _ in batch]
        of = {mutant.key: each for mutant, each in zip(mutants, batch, strict=True)}
        only = {key: asked for key, (_, _, asked) in of.items() if asked}
        before = {key: _before(search, earlier) for key, (search, _, _) in of.items()}
        untyped = {key for key, (search, _, _) in of.items() if not search.typed}
        for trial in trials.run(mutants, only=only, earlier=before, untyped=untyped):
            search, factor, asked = of[trial.key]
            search.learn(factor, asked, trial)
            told(trial.key)
    pairs = zip(searches[::2], searches[1::2], strict=True)
    return [
        Resolution(u.claim.label, u.claim.relation, u.noticed, d.noticed, u.by, d.by, u.how, d.how) for u, d in pairs
    ]


def _before(search: _Search, earlier: Mapping[str, Resolution]) -> str:
    """The check that noticed in this direction; "" where none did."""
    known = earlier.get(search.claim.label)
    return "" if known is None else known.up_by if search.up else known.down_by


def _rounded(factor: float) -> str:
    return f"{factor:.3g}" if factor < 100 else f"{factor:.0f}"
