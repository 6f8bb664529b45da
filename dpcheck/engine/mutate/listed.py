"""Which wrong forms each claim has, kept for later commands: to find them, thousands of formulas are worked out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dpcheck.claims import Claim
from dpcheck.engine import memo, sources
from dpcheck.engine.mutate import claims
from dpcheck.engine.mutate.claims import Wrong
from dpcheck.engine.mutate.mutation import Mutation

KIND = "wrong forms"
MOST = 40_000
"""Claims that are kept, the latest."""


class WrongForms:
    """The wrong forms of claims by the fingerprints of these, as earlier commands found them."""

    def __init__(self) -> None:
        self._key = memo.digest([Path(claims.__file__)], lambda path: path.name), memo.versions(*memo.PRINTING)
        self._known: dict[str, list[Wrong]] = memo.read(KIND, *self._key) or {}
        self._news: dict[str, list[Wrong]] = {}

    def of_claim(self, claim: Claim) -> Iterator[Mutation]:
        """As `claims.of_claim`."""
        state = sources.digest(claim)
        known = self._known.get(state, self._news.get(state))
        if known is None:
            known = self._news[state] = claims.listed(claim)
        return claims.of_claim(claim, known)

    def keep(self) -> None:
        """For later commands."""
        if self._news:
            self._known |= self._news
            memo.write(dict(list(self._known.items())[-MOST:]), KIND, *self._key)
            self._news = {}
