"""What every change must survive: mutants of what was edited, and some of those that were noticed before."""

from __future__ import annotations

import functools
import itertools
import random
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dpcheck.engine.mutate.mutation import NOTICED, Mutation, Trial
from dpcheck.engine.mutate.states import States
from dpcheck.engine.mutate.table import Rates, Table, below
from dpcheck.engine.mutate.trials import Trials

FOR_TRACES = 0.5
"""Share of the time left that may go into finding out what checks read; the rest is for the mutants."""
ENOUGH = 0.9
"""Part of the drawn ones that has to come to an end; a slow machine may leave the others."""
SPARE = 2
"""Of how many times as many as are to be drawn there are mutants: some are no more."""
NAMED = 5
"""Most mutants that one complaint names."""


@dataclass(frozen=True)
class Passed:
    """What became of them.

    Attributes:
        drawn: mutants that were noticed once, of targets that stand as they did then.
        changed: mutants of targets that are new, or were edited since the table was made.
        trials: of those for which the time sufficed.
    """

    drawn: Sequence[Mutation]
    changed: Sequence[Mutation]
    trials: Mapping[str, Trial]

    def said(self) -> str:
        done = [sum(each.key in self.trials for each in group) for group in (self.drawn, self.changed)]
        return (
            f"{done[0]:,} of {len(self.drawn):,} tried that were noticed before, "
            f"{done[1]:,} of {len(self.changed):,} of what is new or was edited"
        )

    def faults(self, rates: Rates) -> list[str]:
        """Why the change may not pass; [] where it may."""
        fates = {each.key: self.trials[each.key].fate for each in self.drawn if each.key in self.trials}
        lost = [key for key, fate in fates.items() if fate not in NOTICED and fate != "timeout"]
        untried = [each.key for each in self.drawn if fates.get(each.key, "timeout") == "timeout"]
        faults = (
            [] if self.drawn else ["none was drawn of those that were noticed before; the table is empty, or edited"]
        )
        if lost:
            faults.append(f"{len(lost)} of {len(self.drawn)} drawn were noticed before and are not now: {_some(lost)}")
        if len(self.drawn) - len(untried) < ENOUGH * len(self.drawn):
            faults.append(
                f"{len(untried)} of {len(self.drawn)} drawn did not come to an end, give it more time: {_some(untried)}"
            )
        changed = [self.trials[each.key] for each in self.changed if each.key in self.trials]
        if self.changed and not changed:
            faults.append(f"none of {len(self.changed)} mutants of what was edited was tried, give it more time")
        faults += [f"of what is new or was edited, {said}" for said in below(changed, rates)]
        return faults


def noticed(table: Table, states: States, seed: int) -> list[Trial]:
    """What was noticed once, of targets that stand as they did then, in the order in which it is drawn."""
    by_key = {trial.key: trial for trial in table.all() if trial.fate in NOTICED}
    stands = functools.cache(lambda *target: states.of(*target) == table.states.get(target))
    able = sorted(key for key, trial in by_key.items() if stands(trial.family, trial.target))
    return [by_key[key] for key in random.Random(seed).sample(able, len(able))]


def noticing(table: Table) -> dict[str, str]:
    """Mutant, by its key -> the check that noticed it."""
    return {trial.key: trial.by for trial in table.all() if trial.fate in NOTICED}


def likely(table: Table, mutations: Sequence[Mutation]) -> dict[str, Trial]:
    """Mutant, by its key -> a trial that names the check which noticed it, or else most others of its target."""
    seen = [trial for trial in table.all() if trial.fate in NOTICED]
    own = {trial.key: trial for trial in seen}
    often = Counter((trial.family, trial.target, trial.by) for trial in seen)
    of_target: dict[tuple[str, str], Trial] = {}
    for trial in sorted(seen, key=lambda each: often[each.family, each.target, each.by]):
        of_target[trial.family, trial.target] = trial
    found = {m.key: own.get(m.key, of_target.get((m.family, m.target))) for m in mutations if not m.lookalike}
    return {key: trial for key, trial in found.items() if trial is not None}


def claims(table: Table, states: States, labels: Iterable[str], *, size: int, seed: int) -> set[str]:
    """Of these claims those of which a gate needs the wrong formulas: that were edited, and of which some are drawn."""
    edited = {label for label in labels if states.of("claim", label) != table.states.get(("claim", label))}
    first = noticed(table, states, seed)[: SPARE * size]
    return edited | {trial.target for trial in first if trial.family == "claim"}


def passed(
    trials: Trials, table: Table, mutations: Sequence[Mutation], *, size: int, seed: int, until: float | None
) -> Passed:
    """Tries the drawn ones first, on the check that noticed them; what it does not notice any more, on all."""
    targets = {(each.family, each.target) for each in mutations}
    edited = {target for target in targets if trials.states.of(*target) != table.states.get(target)}
    alike = Counter(each.key for each in mutations)
    # Two of one key, of which one may be noticed, are told apart by nothing.
    by_key = {each.key: each for each in mutations if alike[each.key] == 1}
    order = (by_key[trial.key] for trial in noticed(table, trials.states, seed) if trial.key in by_key)
    drawn = list(itertools.islice(order, size))
    changed = [each for each in mutations if (each.family, each.target) in edited]
    random.Random(seed).shuffle(changed)
    changed.sort(key=lambda each: each.family != "null")  # and so the nulls first
    every = [*drawn, *changed]
    known = {trial.key: trial for trial in table.all()}
    tried = {trial.key: trial for trial in trials.again(every, known, until=until)}
    rest = [each for each in every if each.key not in tried]
    if rest:
        trials.narrow(rest)
        costs = {id: seen.seconds for id, seen in table.watched.items()}
        trials.trace(until=None if until is None else _part(until), costs=costs)
        tried |= {trial.key: trial for trial in trials.run(rest, until=until)}
    return Passed(drawn, changed, tried)


def _part(until: float) -> float:
    now = time.monotonic()
    return now + FOR_TRACES * max(0.0, until - now)


def _some(keys: Sequence[str]) -> str:
    return "; ".join(keys[:NAMED]) + ("; …" if len(keys) > NAMED else "")
