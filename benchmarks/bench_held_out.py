"""How the auditor judges mechanisms that it was not made with: those of `tests/mutants/held_out`, as a table.

    python benchmarks/bench_held_out.py [--seeds 5] [--first-seed 1000] [--times 4 16] [--seconds 300] [--name PATTERN]

A broken one is judged rightly when more than half of the audits, each at 95 % with a seed of its own, refute its claim
from 4 (or 16) times the fewest runs of any test (level 5 %, power 95 %); a private one when at most half of as many
audits do, from as many runs as the median broken one gets, and at least 1,000. Goals: nine tenths of the broken ones at
4 times the fewest, all at 16 but those that are proved hard to learn, and no private one flagged. The cheapest come
first, until the CPU seconds are spent.

The fewest runs are those of a test that is told both laws. Hard to learn is what no test finds with power 95 % from
these runs that is not: `tests/mutants/held_out/_unnamed.py` has the proof, by the likelihood ratio.

Whoever changes the auditor by what this prints needs other mechanisms for the next judgement.
"""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import itertools
import math
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from dpcheck.engine import collect
from dpcheck.kills import POWER, AuditKill
from dpcheck.mutants import Mutant
from dpcheck.verdicts import Outcome

MUTANTS = Path(__file__).parents[1] / "tests" / "mutants"
LEVEL = 0.05
LEAST = 1000
"""Runs on each input, at least, of a private mechanism; of a broken one 50."""
GOALS = {4: 0.90, 16: 1.00}


class UntoldTest(Protocol):
    """The best test that must learn which values are of which input."""

    def power(self, runs: int, level: float, seed: int) -> tuple[float, float]: ...


@runtime_checkable
class Unnamed(Protocol):
    """A kill whose mechanism may have such a test."""

    @property
    def untold(self) -> UntoldTest | None: ...


@dataclass(frozen=True)
class Judged:
    """What the audits of one mechanism said at one number of runs.

    Attributes:
        untold: power, and its standard error, of the best test that must learn what was not found; None: not known.
    """

    mutant: Mutant
    runs: int
    refuted: int
    bound: float
    seeds: int
    untold: tuple[float, float] | None = None

    @property
    def rightly(self) -> bool:
        return (2 * self.refuted > self.seeds) != self.mutant.lookalike

    @property
    def hard(self) -> bool:
        """Whether nobody finds it with the power that is asked for, beyond three standard errors."""
        return self.untold is not None and self.untold[0] + 3 * self.untold[1] < POWER


def kill_of(mutant: Mutant) -> AuditKill:
    assert isinstance(mutant.kill, AuditKill)
    return mutant.kill


def fewest(mutant: Mutant) -> int:
    return kill_of(mutant).fewest(LEVEL) or 0


def judge(mutant: Mutant, runs: int, seeds: range) -> Judged:
    """The audits with these seeds, `runs` on each input."""
    found = [kill_of(mutant).audit(runs, LEVEL, seed) for seed in seeds]
    refuted = sum(result.outcome is Outcome.REFUTED for result in found)
    bound = statistics.median(result.epsilon_lower for result in found)
    judged = Judged(mutant, runs, refuted, bound, len(seeds))
    kill = kill_of(mutant)
    if judged.rightly or not isinstance(kill, Unnamed) or kill.untold is None:
        return judged
    return replace(judged, untold=kill.untold.power(runs, LEVEL, seeds.start))


def in_turn(mutants: list[Mutant]) -> Iterator[Mutant]:
    """The broken ones, the cheapest first, and the private ones spread evenly among them."""
    broken = sorted((m for m in mutants if not m.lookalike), key=fewest)
    private = [m for m in mutants if m.lookalike]
    places = [(i / max(1, len(group)), m) for group in (broken, private) for i, m in enumerate(group)]
    yield from (m for _, m in sorted(places, key=lambda place: place[0]))


def show(judged: Judged, times: int) -> None:
    kill = kill_of(judged.mutant)
    least = "private" if judged.mutant.lookalike else f"{fewest(judged.mutant):,}"
    exact = "inf" if kill.exact_epsilon == math.inf else f"{kill.exact_epsilon:.3f}"
    figures = f"{least:>8}{times:>4}{judged.runs:>9,}{judged.bound:>8.3f}{kill.claim.epsilon:>8.3f}{exact:>8}"
    said = "" if judged.rightly else "WRONGLY"
    if judged.untold is not None:
        share, error = judged.untold
        said += f"; a test that is not told the values finds it in {share:.0%} ± {error:.0%}"
    print(f"{judged.mutant.name:<58}{figures}{judged.refuted:>4} of {judged.seeds}  {said}".rstrip(), flush=True)


def summary(found: list[Judged], times: int, known: int) -> str:
    """The share of broken ones judged rightly with its standard error, and the goal."""
    goal = GOALS.get(times, 1.0)
    right, hard = sum(each.rightly for each in found), sum(each.hard for each in found)
    share = right / len(found)
    error = math.sqrt(share * (1 - share) / len(found))
    # Where all are to be found, those count that can be.
    asked = len(found) - hard if goal == 1 else goal * len(found)
    reached = "reached" if right >= asked else "NOT REACHED"
    said = (
        f"{right} of {len(found)} judged rightly ({share:.1%} ± {error:.1%}), {hard} of the others proved hard to learn"
    )
    left = f"{known - len(found)} of {known} not tried"
    return f"broken, {times:>2} times the fewest: {said}; goal {goal:.0%}  {reached}; {left}"


def main() -> None:
    parser = argparse.ArgumentParser(description="the auditor on mechanisms that are held out")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--times", type=int, nargs="+", default=[4, 16])
    parser.add_argument("--seconds", type=float, default=300.0, help="CPU time after which no mechanism is begun")
    parser.add_argument("--name", default="*", help="only mechanisms whose names match this pattern")
    chosen = parser.parse_args()
    files = collect.held_out([MUTANTS])
    known = [bug for file in files for bug in collect.content_of(file, (Mutant,))]
    known = [bug for bug in known if fnmatch.fnmatchcase(bug.name, chosen.name)]
    broken = [bug for bug in known if not bug.lookalike]
    typical = statistics.median(map(fewest, broken)) if broken else 0
    print(f"{'mechanism':<58}{'fewest':>8}{'×':>4}{'runs':>9}{'bound':>8}{'claim':>8}{'exact':>8}{'refuted':>9}")
    judged: dict[int, list[Judged]] = {times: [] for times in chosen.times}
    # Ctrl-C: what was judged so far is summed up.
    with contextlib.suppress(KeyboardInterrupt):
        for mutant, times in itertools.product(in_turn(known), chosen.times):
            if time.process_time() > chosen.seconds:
                break
            runs = max(LEAST, times * typical // 2) if mutant.lookalike else max(50, times * fewest(mutant) // 2)
            # Other seeds at every number of runs.
            first = chosen.first_seed + 1000 * times
            judged[times].append(judge(mutant, int(runs), range(first, first + chosen.seeds)))
            show(judged[times][-1], times)
    for times, found in judged.items():
        if some := [each for each in found if not each.mutant.lookalike]:
            print(summary(some, times, len(broken)))
        if quiet := [each for each in found if each.mutant.lookalike]:
            flagged, audits = sum(not each.rightly for each in quiet), sum(each.seeds for each in quiet)
            single = f"{sum(each.refuted for each in quiet)} of {audits} single audits at {LEVEL:.0%}"
            reached = "reached" if not flagged else "NOT REACHED"
            print(f"private, same multiple: {flagged} of {len(quiet)} flagged ({single}), goal 0  {reached}")
    print(f"{time.process_time():.0f} s of CPU, seeds from {chosen.first_seed} on")


if __name__ == "__main__":
    main()
