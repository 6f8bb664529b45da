"""What every change must survive: mutants of what was edited, and some of those that were noticed before."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dpcheck.engine.mutate.mutation import NOTICED, Mutation, Trial
from dpcheck.engine.mutate.table import Rates, Table, below
from dpcheck.engine.mutate.trials import Trials

FOR_TRACES = 0.5
"""Share of the time left that may go into finding out what checks read; the rest is for the mutants."""
ENOUGH = 0.9
"""Part of the drawn ones that has to come to an end; a slow machine may leave the others."""
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


def passed(
    trials: Trials, table: Table, mutations: Sequence[Mutation], *, size: int, seed: int, until: float | None
) -> Passed:
    """Tries the drawn ones first, on the check that noticed them; what it does not notice any more, on all."""
    targets = {(each.family, each.target) for each in mutations}
    edited = {target for target in targets if trials.states.of(*target) != table.states.get(target)}
    known = {trial.key: trial for trial in table.all()}
    alike = Counter(
        each.key for each in mutations
    )  # two of one key, of which one may be noticed, are told apart by nothing
    able = [
        each
        for each in mutations
        if (each.family, each.target) not in edited and alike[each.key] == 1 and _was_noticed(known.get(each.key))
    ]
    drawn = random.Random(seed).sample(sorted(able, key=lambda each: each.key), min(size, len(able)))
    changed = [each for each in mutations if (each.family, each.target) in edited]
    random.Random(seed).shuffle(changed)
    changed.sort(key=lambda each: each.family != "null")  # and so the nulls first
    every = [*drawn, *changed]
    tried = {trial.key: trial for trial in trials.again(every, known, until=until)}
    rest = [each for each in every if each.key not in tried]
    if rest:
        trials.narrow(rest)
        costs = {id: seen.seconds for id, seen in table.watched.items()}
        trials.trace(until=None if until is None else _part(until), costs=costs)
        tried |= {trial.key: trial for trial in trials.run(rest, until=until)}
    return Passed(drawn, changed, tried)


def _was_noticed(trial: Trial | None) -> bool:
    return trial is not None and trial.fate in NOTICED


def _part(until: float) -> float:
    now = time.monotonic()
    return now + FOR_TRACES * max(0.0, until - now)


def _some(keys: Sequence[str]) -> str:
    return "; ".join(keys[:NAMED]) + ("; …" if len(keys) > NAMED else "")
