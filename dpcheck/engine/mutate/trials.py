"""Tries mutants: each in a process of its own, on the checks that read what it changes, until one notices."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import CodeType, MappingProxyType
from typing import Any, NamedTuple, TypeVar

from dpcheck.carried import PACKAGE
from dpcheck.checks import Check, Size
from dpcheck.engine import memo
from dpcheck.engine.catalogue import Catalogue
from dpcheck.engine.judge import RuleBroken
from dpcheck.engine.mutate.forks import Ended, forked
from dpcheck.engine.mutate.mutation import NOTICED, Fate, Mutation, Notice, Trial
from dpcheck.engine.mutate.slices import Slices
from dpcheck.engine.mutate.states import States
from dpcheck.engine.mutate.traces import Trace, said, traced, verdict_of
from dpcheck.errors import DpcheckError
from dpcheck.verdicts import Outcome

T = TypeVar("T")
NOTHING: Mapping[str, Any] = MappingProxyType({})
LIMIT = 60.0
"""CPU seconds that the checks of one mutant may take by their traces; those that cost most are left out beyond it."""
SPARE = 10.0
"""And how many more than three times their traces they may take, before they count as endless."""
STUCK = 20
"""Checks of one strength that end in an exception before the others of it are left out: what refuses everything is told
by the few checks that ask whether anything is refused, and by the settings, which come last."""
PROTECTING = ("privacy", "sensitivity", "stability")
"""Kinds of checks that no correct look-alike may upset, whatever they say of it."""
JUDGING = ("risk", "rate", "accuracy")
"""Kinds of checks that judge an algorithm by its answer."""
VOUCHING = (Outcome.HOLDS, Outcome.CONSISTENT)
"""Verdicts that say something for an answer; one that is undecided, or refutes what is stated, passes nothing."""
ENGINE = PACKAGE / "engine"
TRACING = (
    "judge.py", "settings.py", "derived_checks.py", "certified_checks.py", "measurements.py", "statements.py",
    "mutate/traces.py", "../claims.py", "../harness/budget.py",
)  # fmt: skip
"""The modules on which every trace depends, besides those that a check names."""
TRYING = ("bugs.py", "claims.py", "code.py", "forks.py", "mutation.py", "nulls.py", "trials.py")
"""And those that say what a mutant is, and what became of it."""


class KeptLines:
    """Lines of JSON on disk, each under its key: what was found out once, and survives a kill."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._found: dict[str, Any] = {}
        with contextlib.suppress(OSError):
            for line in path.read_text(encoding="utf-8").splitlines() if path else ():
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    row = json.loads(line)
                    self._found[row["key"]] = row["value"]

    def get(self, *key: str) -> Any:
        return self._found.get(_hashed(key))

    def keep(self, value: Any, *key: str) -> None:
        self._found[_hashed(key)] = value
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": _hashed(key), "value": value}) + os.linesep)


def _hashed(key: Iterable[str]) -> str:
    return hashlib.sha256(json.dumps(list(key)).encode()).hexdigest()[:32]


class Trials:
    """Mutants against the checks of one catalogue, whose content must be imported and of which no check may have run.

    Args:
        checks: of which those are watched that may notice something.
        folders: of algorithms besides those of dpcheck.
        kept: file of what was found before; None keeps nothing.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        checks: Sequence[Check],
        *,
        size: Size = "smoke",
        seed: int = 0,
        workers: int = 1,
        folders: Sequence[Path] = (),
        kept: Path | None = None,
        limit: float = LIMIT,
    ) -> None:
        self.catalogue, self.size, self.seed, self.workers, self.limit = catalogue, size, seed, workers, limit
        self._all = tuple(checks)
        self.checks = {check.id: check for check in checks}
        self._folders = tuple(str(folder) + os.sep for folder in folders)
        self._kept = KeptLines(kept)
        self._slices = Slices(catalogue)
        self.states = States(catalogue, self._slices)
        self._code = memo.digest([ENGINE / name for name in TRACING])
        self._trying = memo.digest([ENGINE / "mutate" / name for name in TRYING])
        self.traces: dict[str, Trace] = {}
        self.watched = True

    # -- what the checks read ---------------------------------------------------------------------------------

    def narrow(self, mutations: Iterable[Mutation]) -> None:
        """Leaves the checks that may notice one of these, by all that they name, and watches lines if one needs it."""
        mutations = list(mutations)
        self.checks = {check.id: check for check in self._slices.concerned(self._all, mutations)}
        self.watched = any(mutation.lines for mutation in mutations)

    def trace(
        self,
        told: Callable[[str], None] = lambda check: None,
        *,
        until: float | None = None,
        costs: Mapping[str, float] = NOTHING,
        most: float = math.inf,
    ) -> None:
        """Runs every check once, undisturbed, or remembers what it did.

        A check that takes longer than all checks of a mutant may is stopped, and no mutant is tried on it.

        Args:
            until: none is begun after that, in monotonic time.
            costs: seconds that checks took earlier; the cheapest come first, those of which nothing is known last.
            most: seconds beyond which a check is left for later.
        """
        missing = []
        wanted = (id for id in self.checks if costs.get(id, 0.0) <= most)
        for id in sorted(wanted, key=lambda id: (costs.get(id, math.inf), self.checks[id].kind == "rate")):
            known = self._kept.get("trace", id, self.size, str(self.seed))
            trace = None if known is None else Trace.read(known["trace"])
            if trace is not None and known["state"] == self._state(trace) and self._serves(trace):
                self.traces[id] = trace
            else:
                self.traces.pop(id, None)  # what it says of reads alone is nothing about lines
                missing.append(id)
        jobs = _before(until, ((functools.partial(self._trace, id), self.limit) for id in missing))
        for ended in forked(jobs, self.workers):
            id = missing[ended.number]
            told(id)
            if ended.value is None and ended.failure != "timeout":
                self.traces[id] = Trace(id, "", ended.failure, False, 0.0, (), {})
                continue
            stopped = Trace(id, "", "", False, self.limit, (), {}, self.watched, dear=True)
            trace = stopped if ended.value is None else Trace.read(ended.value)
            # What was stopped a moment before its limit takes longer than that.
            self.traces[id] = trace = replace(trace, seconds=max(trace.seconds, self.limit)) if trace.dear else trace
            value = {"trace": trace.plain(), "state": self._state(trace)}
            self._kept.keep(value, "trace", id, self.size, str(self.seed))

    def _serves(self, trace: Trace) -> bool:
        """Whether it says what is asked now: of lines as well, and of a check that may take longer than it might."""
        return (trace.watched or not self.watched) and not (trace.dear and trace.seconds < self.limit)

    def _state(self, trace: Trace) -> str:
        """On what a trace, and all that follows from it, depends; with another one it is that of another check."""
        known = self.catalogue.claims
        parts = [self._code, self._slices.of(self.checks[trace.check]).digest]
        parts += [self.catalogue.digest(label) for label in trace.reads if label in known]
        parts += [_layout(name) for name in sorted(trace.lines)]
        return _hashed(parts)

    def _trace(self, id: str) -> Any:
        check = self.checks[id]
        return traced(self.catalogue, check, self.size, self.seed, self._folders, watched=self.watched).plain()

    def concerned(self, mutation: Mutation, before: str = "") -> list[Check]:
        """The checks that read what is changed, and end as expected without it: cheapest first, transcriptions last.

        Of a claim and of a seeded bug, all that bear on its label are among them, and the check that noticed the
        mutant before; of the others as many as `limit` allows.
        """
        traces = [
            trace
            for trace in self.traces.values()
            if trace.expected
            and trace.outcome != Outcome.SKIPPED.value
            and (set(mutation.reads) & set(trace.reads) or any(trace.runs(*each) for each in mutation.lines))
        ]
        traces.sort(key=lambda t: (strength(self.checks[t.check]) == "transcribed", t.seconds, t.check))
        total = 0.0
        chosen: list[str] = []
        for trace in sorted(traces, key=lambda t: t.seconds):
            own = mutation.family in ("claim", "seeded") and mutation.target in self.checks[trace.check].labels
            own = own or trace.check == before
            total += 0.0 if own else trace.seconds
            if own or total <= self.limit or not chosen:
                chosen.append(trace.check)
        return [self.checks[trace.check] for trace in traces if trace.check in chosen]

    def again(
        self, mutations: Sequence[Mutation], earlier: Mapping[str, Trial], *, until: float | None = None
    ) -> Iterator[Trial]:
        """Each on the one check that noticed it earlier, or one like it, by key; the trials of those that it notices.

        Only these checks are traced, for one that fails anyway notices everything. What is known and still stands is
        not tried again.
        """
        mutations = [m for m in mutations if not m.argued]
        by = {m.key: earlier[m.key].by for m in mutations if m.key in earlier and earlier[m.key].fate in NOTICED}
        self.checks = {check.id: check for check in self._all if check.id in set(by.values())}
        self.watched = False
        self.trace(until=until)
        able = [
            (mutation, [self.checks[by[mutation.key]]])
            for mutation in mutations
            if (trace := self.traces.get(by.get(mutation.key, ""))) is not None and trace.expected
        ]
        kept = {mutation.key: self._kept.get(*self._key(mutation, checks)) for mutation, checks in able}
        yield from (trial for known in kept.values() if known and (trial := Trial.read(known)).fate in NOTICED)
        waiting = [(mutation, checks) for mutation, checks in able if kept[mutation.key] is None]
        jobs = ((functools.partial(self._try, m, checks), self._patience(checks)) for m, checks in waiting)
        for ended in forked(_before(until, jobs), self.workers):
            trial = _trial(*waiting[ended.number], ended)
            self._kept.keep(trial.plain(), *self._key(*waiting[ended.number]))
            if trial.fate in NOTICED:
                yield trial

    # -- the mutants ------------------------------------------------------------------------------------------

    def run(
        self,
        mutations: Sequence[Mutation],
        *,
        until: float | None = None,
        only: Mapping[str, str] = NOTHING,
        earlier: Mapping[str, str] = NOTHING,
        untyped: Collection[str] = (),
    ) -> Iterator[Trial]:
        """What becomes of each, as they end; what is known and still stands is not tried again.

        Args:
            until: none is begun after that, in monotonic time: the others are not among the trials, nor are those that
                a check might have noticed which was not traced.
            only: the one check that is asked, of some, by their keys.
            earlier: the check that noticed some of them before, by their keys: it is asked first, whatever it costs,
                but for a second typing, which is asked last.
            untyped: mutants, by their keys, of which no second typing is asked.
        """
        untraced = [check for id, check in self.checks.items() if id not in self.traces]

        def told(mutation: Mutation, trial: Trial) -> bool:
            return trial.fate in NOTICED or not self._slices.concerned(untraced, [mutation])

        waiting: list[tuple[Mutation, list[Check]]] = []
        for mutation in mutations:
            asked = only.get(mutation.key)
            before = earlier.get(mutation.key, "")
            checks = [check for check in self.concerned(mutation, before) if asked in (None, check.id)]
            checks = [c for c in checks if mutation.key not in untyped or strength(c) != "transcribed"]
            checks.sort(key=lambda check: check.id != before or strength(check) == "transcribed")
            known = self._kept.get(*self._key(mutation, checks))
            if mutation.argued:
                yield Trial.of(mutation, "argued", reason=mutation.argued)
            elif known is not None or not checks:
                trial = Trial.of(mutation, "unread") if known is None else Trial.read(known)
                if told(mutation, trial):
                    yield trial
            else:
                waiting.append((mutation, checks))
        jobs = ((functools.partial(self._try, m, checks), self._patience(checks)) for m, checks in waiting)
        for ended in forked(_before(until, jobs), self.workers):
            mutation, checks = waiting[ended.number]
            trial = _trial(mutation, checks, ended)
            self._kept.keep(trial.plain(), *self._key(mutation, checks))
            if told(mutation, trial):
                yield trial

    def unmoved(self, mutations: Sequence[Mutation]) -> Iterator[tuple[Mutation, list[str]]]:
        """Of each, the checks that read what it changes, and say the same, to the last digit."""
        waiting: list[tuple[Mutation, list[Check]]] = []
        for mutation in mutations:
            checks = self.concerned(mutation)
            known = self._kept.get("unmoved", *self._key(mutation, checks))
            if known is not None:
                yield mutation, known
            elif checks:
                waiting.append((mutation, checks))
        jobs = ((functools.partial(self._unmoved, m, checks), self._patience(checks)) for m, checks in waiting)
        for ended in forked(jobs, self.workers):
            if ended.value is not None:
                mutation, checks = waiting[ended.number]
                self._kept.keep(ended.value, "unmoved", *self._key(mutation, checks))
                yield mutation, ended.value

    def _unmoved(self, mutation: Mutation, checks: Sequence[Check]) -> Any:
        mutation.apply()
        seen = [(check.id, noticed(self.catalogue, check, self.size, self.seed).text) for check in checks]
        return [id for id, text in seen if text == self.traces[id].text]

    def _key(self, mutation: Mutation, checks: Sequence[Check]) -> tuple[str, ...]:
        state = sorted(f"{check.id} {self._state(self.traces[check.id])}" for check in checks)
        return ("trial", mutation.key, mutation.state, self._trying, self.size, str(self.seed), *state)

    def _patience(self, checks: Sequence[Check]) -> float:
        return 3 * sum(self.traces[check.id].seconds for check in checks) + SPARE

    def _try(self, mutation: Mutation, checks: Sequence[Check]) -> Any:
        begun, stuck = time.process_time(), Counter[str]()
        mutation.apply()
        notices: list[Notice] = []
        unmoved: list[str] = []
        blind: list[str] = []
        for check in checks:
            if mutation.family == "null" and check.kind not in JUDGING and any(n.fate in NOTICED for n in notices):
                continue  # of an answer, those that judge it are all asked
            if stuck[strength(check)] >= STUCK and mutation.family != "null":
                continue
            seen = noticed(self.catalogue, check, self.size, self.seed)
            notice = seen.notice
            if notice is None:
                same = check.id in self.traces and seen.text == self.traces[check.id].text
                if not same and check.kind in JUDGING and seen.outcome in VOUCHING:
                    blind.append(check.id)
                unmoved += [check.id] if same else []
                continue
            notices.append(notice)
            stuck[strength(check)] += notice.fate not in NOTICED
            enough = notice.refutes if mutation.lookalike else notice.fate in NOTICED
            if enough and mutation.family != "null":
                break
        ended = {"notices": [vars(each) for each in notices], "unmoved": len(unmoved) == len(checks), "blind": blind}
        return {**ended, "seconds": time.process_time() - begun}


def _layout(name: str) -> str:
    """Which code stands on which line of a file, whatever its comments."""
    return _laid_out(Path(name).read_bytes())


@functools.lru_cache(maxsize=512)
def _laid_out(source: bytes) -> str:
    codes = [compile(source, "", "exec", dont_inherit=True)]
    lines = []
    while codes:
        code = codes.pop()
        lines.append(f"{code.co_qualname} {code.co_firstlineno} {code.co_linetable!r}")
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _before(until: float | None, jobs: Iterator[T]) -> Iterator[T]:
    """The jobs that are asked for before a moment."""
    return itertools.takewhile(lambda job: until is None or time.monotonic() < until, jobs)


def _trial(mutation: Mutation, checks: Sequence[Check], ended: Ended) -> Trial:
    if ended.value is None:
        fate: Fate = "timeout" if ended.failure == "timeout" else "crashed"
        return Trial.of(mutation, fate, reason=ended.failure[-300:], tried=len(checks))
    notices = [Notice(**each) for each in ended.value["notices"]]
    told = next((each for each in notices if each.fate in NOTICED), notices[0] if notices else None)
    fields: dict[str, Any] = {"tried": len(checks), "seconds": ended.value["seconds"]}
    if mutation.family == "null":
        fields["blind"] = tuple(ended.value["blind"])
        if ended.value["unmoved"]:
            return Trial.of(mutation, "unread", **fields)  # the verdict of no check depends on the answer
    if mutation.lookalike:
        alarm = next((each for each in notices if each.refutes), None)
        if alarm is None:
            return Trial.of(mutation, "unflagged", **fields)
        return Trial.of(mutation, "flagged", by=alarm.check, reason=alarm.reason, **fields)
    if told is None:
        return Trial.of(mutation, "survived", **fields)
    return Trial.of(mutation, told.fate, by=told.check, reason=told.reason, **fields)


class Reaction(NamedTuple):
    """What a check made of a mutant.

    Attributes:
        notice: what it says that it would not say of the truth; None where it says what is expected.
        outcome: of its verdict; text: a digest of all of it.
    """

    notice: Notice | None
    outcome: Outcome | None = None
    text: str = ""


def noticed(catalogue: Catalogue, check: Check, size: Size, seed: int) -> Reaction:
    """Runs a check on what has been applied."""
    try:
        verdict = verdict_of(catalogue, check, size, seed)
    except RuleBroken as error:
        return Reaction(Notice(check.id, strength(check), _short(error)))
    except DpcheckError as error:
        return Reaction(Notice(check.id, "refused", _short(error)))
    except Exception as error:
        return Reaction(Notice(check.id, "crashed", _short(error)))
    if verdict.outcome in check.expect:
        return Reaction(None, verdict.outcome, said(verdict))
    kind = strength(check)
    refutes = kind == "measured" and (verdict.outcome is Outcome.REFUTED or check.kind in PROTECTING)
    notice = Notice(check.id, kind, f"{verdict.outcome.value}: {verdict.reason}"[:300], refutes)
    return Reaction(notice, verdict.outcome, said(verdict))


def strength(check: Check) -> Fate:
    """What kind of noticing a check is capable of."""
    if check.kind == "transcription":
        return "transcribed"
    return "derived" if check.kind == "symbolic" else "measured"


def _short(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]
