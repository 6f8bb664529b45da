"""Why a wrong formula is none: what follows by logic, what a symbol means, and what a line beside the claim argues."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import sympy as sp

from dpcheck.engine import collect, homes, sources
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.mutate import claims
from dpcheck.engine.mutate.claims import DROPPED
from dpcheck.engine.mutate.listed import WrongForms
from dpcheck.engine.mutate.mutation import Mutation
from dpcheck.symbols import BY_NAME
from dpcheck.verdicts import Outcome

MARK = "# the same"
WRITTEN = re.compile(rf"{MARK} \((?P<state>[0-9a-f]*)\): (?P<said>.+?): (?P<reason>\S.*)")
"""`# the same (3f9a21): without b >= 1: a batch holds a record`, in the call that makes the claim."""
DIGITS = 6
COUNTED = {BY_NAME[name]: (sp.Interval(1, sp.oo), "a count, from 1 on") for name in ("n", "m", "d", "J", "T", "B", "b")}
MEANT: dict[sp.Symbol, tuple[sp.Set, str]] = {
    **COUNTED,
    BY_NAME["delta"]: (sp.Interval.open(0, 1), "a probability"),
    BY_NAME["beta"]: (sp.Interval.open(0, 1), "a probability"),
    BY_NAME["k"]: (sp.Interval(2, sp.oo), "an order of moments, from 2 on"),
    BY_NAME["theta"]: (sp.Interval.open(1, sp.oo), "an exponent of growth, above 1"),
}
"""What a letter stands for wherever it is used: a hypothesis that says no more excludes nothing."""


@dataclass(frozen=True)
class Written:
    """One argument in a source.

    Attributes:
        place: file and line; state: digits of the formula that it speaks of.
    """

    place: str
    label: str
    state: str
    said: str
    reason: str


@dataclass
class Arguments:
    """Those of a catalogue."""

    catalogue: Catalogue
    written: dict[tuple[str, str], Written] = field(init=False)
    broken: list[str] = field(init=False)
    """Comments that begin as an argument does and are none."""

    def __post_init__(self) -> None:
        self.written, self.broken, self._listed = {}, [], WrongForms()
        root = self.catalogue.layout.root
        for folder in self.catalogue.folders:
            for file in collect.files(folder) if folder.is_dir() else ():
                for each in _written(file.path, homes.shown(file.path, root), self.broken):
                    self.written[each.label, each.said] = each
        self._refuted = {
            check.label: check.id
            for check in self.catalogue.checks.values()
            if check.expect == frozenset({Outcome.REFUTED})
        }

    def of_claim(self, label: str) -> Iterator[Mutation]:
        """Every wrong form of a claim, with why it need not be noticed where something says so."""
        for mutation in self._listed.of_claim(self.catalogue.claims[label]):
            yield replace(mutation, argued=self._argued(mutation))

    def keep(self) -> None:
        """What wrong forms there are, for later commands."""
        self._listed.keep()

    def stale(self) -> list[str]:
        """Arguments of another formula than stands there, of no mutant, or of what none can be equivalent."""
        entries = list(self.broken)
        for (label, said), each in self.written.items():
            claim = self.catalogue.claims.get(label)
            mutants = {} if claim is None else {m.said: m for m in self._listed.of_claim(claim)}
            if said not in mutants:
                entries.append(f"{each.place} argues of {label}, {said}, which is no wrong form of it")
            elif mutants[said].operator in (claims.UP, claims.DOWN):
                entries.append(f"{each.place} argues that {label} {said} is {label}, which no bound but 0 is")
            elif each.state != (state := self._state(label)):
                entries.append(f"{each.place} argues of {label} as it was; if it still is so, write ({state})")
        return entries

    def _argued(self, mutation: Mutation) -> str:
        claim = self.catalogue.claims[mutation.target]
        each = self.written.get((mutation.target, mutation.said))
        if each is not None and each.state == self._state(each.label):
            return each.reason
        if mutation.operator != DROPPED:
            return ""
        if claim.label in self._refuted:
            return f"refuted with every hypothesis, so without one too ({self._refuted[claim.label]})"
        (dropped,) = (a for a in claim.assumptions if mutation.said == claims.without(a))
        return meant(dropped)

    def _state(self, label: str) -> str:
        return sources.digest(self.catalogue.claims[label])[:DIGITS]


@functools.lru_cache(maxsize=4096)
def meant(assumption: sp.Basic) -> str:
    """Why a hypothesis excludes nothing, where it says what the letter means; else ""."""
    symbols = assumption.free_symbols
    if len(symbols) != 1 or not isinstance(assumption, sp.core.relational.Relational):
        return ""
    (symbol,) = symbols
    other = assumption.rhs if assumption.lhs == symbol else assumption.lhs
    if symbol not in MEANT or symbol not in (assumption.lhs, assumption.rhs) or not other.is_number:
        return ""
    values, words = MEANT[symbol]
    plain = sp.Symbol(symbol.name, real=True)
    return f"{symbol} is {words}" if values.is_subset(assumption.subs(symbol, plain).as_set()) else ""


def _written(path: Path, shown: str, broken: list[str]) -> Iterator[Written]:
    """The arguments of a file, each within the call that makes its claim."""
    text = path.read_text(encoding="utf-8")
    if MARK not in text:
        return
    lines = text.splitlines()
    calls = [
        (node.args[0].value, node.lineno, node.end_lineno or node.lineno)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)
    ]
    for number, line in enumerate(lines, 1):
        _, mark, rest = line.partition(MARK)
        if not mark:
            continue
        label = next((label for label, first, last in calls if first <= number <= last), "")
        match = WRITTEN.fullmatch(mark + rest.rstrip())
        if match is None or not isinstance(label, str) or not label:
            broken.append(f"{shown}:{number}: `{MARK} (): without …: why` stands in the call that makes a claim")
        else:
            yield Written(f"{shown}:{number}", label, match["state"], match["said"], match["reason"])
