"""One past, two cores: run D, then tell its whole past to a neighbour D' and see what moves.

Noise and coins of the second run are those of the first, so that all that differs comes from the changed record: the
cores of the releases that read it (by at most what their reads claim), nothing else, and never the returned point,
which is post-processing of the releases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck import seeds
from dpcheck.errors import InvalidInput, MechanismError, ReplayDiverged
from dpcheck.interfaces import Algorithm, Array, Norm, Problem, Release, Schedule, Workload
from dpcheck.running import Entry, Fixed, Run, Transcript

RETURNED = "(returned point)"
"""Name under which a returned point that depends on the data other than through the releases is reported."""
ROUNDING = 1e-12
"""Relative to the size of a core: what rounding alone may move one that does not read the changed record."""


def distance(core: Array, other: Array, norm: Norm) -> Array:
    """How far two cores lie apart, (trials, ..., k) -> (trials,).

    A finite or infinite p-norm is taken over all axes but the first. "range" is the sup over candidates of
    |score change|, the convention under which `Exponential(c)` costs 2 c times it and `NoisyMin(b)` 2/b times it.
    """
    moved = np.asarray(core - other).reshape(len(core), -1)
    return np.asarray(np.linalg.norm(moved, ord=np.inf if norm == "range" else norm, axis=1))


@dataclass(frozen=True)
class Movement:
    """How far one use of one release moved between the neighbours.

    Attributes:
        use: which use of the release this is, from 0 (a release with `count` T is used up to T times a trial).
        core, other: on D and on D', (trials, ..., k).
        distance: (trials,) in the release's norm; 0 where the trial had halted.
        claimed: (trials,) what the reads that hold the changed record allow; 0 where none does.
    """

    release: Release
    use: int
    core: Array
    other: Array
    output: Array
    distance: Array
    claimed: Array

    @property
    def ratio(self) -> Array:
        """distance / claimed, (trials,): inf where a release moved that does not read the changed record."""
        size = np.abs(np.nan_to_num(self.core)).reshape(len(self.core), -1).max(axis=1, initial=1.0)
        still = self.distance <= ROUNDING * size
        free = np.where(still, 0.0, np.inf)
        return np.where(self.claimed > 0, self.distance / np.where(self.claimed > 0, self.claimed, 1.0), free)


@dataclass(frozen=True, repr=False)
class Replay:
    """Two runs with one past.

    Attributes:
        changed: (trials,) index of the record that differs, -1 where none does.
        history, neighbour: the transcripts on D and on D'.
        returned, other: what `execute` gave on D and on D'; `other` is None when the runs parted as a whole.
        apart: (trials,) where control flow followed the data rather than the releases: a leak of its own.
        parted: how, in words; "" when it nowhere did.
    """

    schedule: Schedule[Any]
    changed: NDArray[np.intp]
    movements: tuple[Movement, ...]
    history: Transcript
    neighbour: Transcript
    returned: Array
    other: Array | None
    apart: NDArray[np.bool_]
    parted: str

    def __repr__(self) -> str:
        return f"Replay({self.trials} trials, {len(self.movements)} releases{', parted' if self.parted else ''})"

    @property
    def trials(self) -> int:
        return len(self.changed)

    @property
    def has_coins(self) -> bool:
        """Whether hidden randomness remains: what is exact then is so given the coins."""
        return bool(self.history.coins)

    @property
    def leak(self) -> Array:
        """How far the returned point itself moved, (trials,): 0 when it is a function of releases and coins alone."""
        if self.other is None:
            return np.full(self.trials, np.inf)
        first, second = (np.broadcast_to(v, (self.trials, *v.shape[1:])) for v in (self.returned, self.other))
        first, second = first.reshape(self.trials, -1), second.reshape(self.trials, -1)
        same = (first == second) | (np.isnan(first) & np.isnan(second))
        gap = np.abs(np.where(same, 0.0, first) - np.where(same, 0.0, second))
        size = np.abs(np.nan_to_num(first)).max(axis=1, initial=1.0)
        worst = np.where(np.isnan(gap), np.inf, gap).max(axis=1, initial=0.0)
        return np.where(self.apart, np.inf, np.where(worst <= ROUNDING * size, 0.0, worst))

    def returned_distance(self, norm: Norm = 2.0) -> Array:
        """|A(D) - A(D')| given noise and coins, (trials,): stability of what is returned; inf when the runs parted."""
        if self.other is None:
            return np.full(self.trials, np.inf)
        moved = np.broadcast_to(distance(self.returned, self.other, norm), (self.trials,))
        return np.where(self.apart, np.inf, moved)

    def ratios(self) -> dict[str, Array]:
        """Release name -> worst ratio of movement to claim over its uses, (trials,).

        With at least one release, `RETURNED` -> inf where the returned point or the control flow follows the data.
        """
        worst: dict[str, Array] = {}
        for movement in self.movements:
            name = movement.release.name
            worst[name] = np.maximum(worst.get(name, np.zeros(self.trials)), movement.ratio)
        if self.schedule.releases:
            worst[RETURNED] = np.where(self.leak > 0, np.inf, 0.0)
        return worst

    def distances(self) -> dict[str, list[float]]:
        """Release name -> largest distance over trials of each of its uses, in order."""
        by_name: dict[str, list[float]] = {}
        for movement in self.movements:
            by_name.setdefault(movement.release.name, []).append(float(movement.distance.max()))
        return by_name

    def loss(self) -> Array:
        """Exact privacy loss of each trial's transcript given the coins, log p(out | D) / p(out | D'): (trials,).

        Halted uses count 0. A returned point that leaks makes the loss inf: it is not in the transcript.
        """
        total = np.where(self.leak > 0, np.inf, 0.0) if self.schedule.releases else np.zeros(self.trials)
        for movement in self.movements:
            live = ~_halted(movement.output)
            if live.any():
                law = movement.release.law
                total[live] += law.log_ratio(movement.output[live], movement.core[live], movement.other[live])
        return total

    def history_free(self) -> bool:
        """Whether every core shift is the same in all trials: then shifts compose exactly. Needs two trials."""
        if self.trials < 2:
            raise InvalidInput("one trial cannot show whether cores depend on the history; use trials >= 2")
        for movement in self.movements:
            if _halted(movement.output).any():
                return False
            shift = movement.core - movement.other
            size = max(1.0, float(np.abs(movement.core).max()))
            if float(np.ptp(shift, axis=0).max(initial=0.0)) > 1e-9 * size:
                return False
        return not self.parted


def replay(
    algorithm: Algorithm[Any],
    workload: Workload,
    problem: Problem,
    data: Array,
    neighbour: Array,
    trials: int,
    seed: int,
    *,
    schedule: Schedule[Any] | None = None,
    start: Array | None = None,
    run: type[Run[Any]] = Run,
) -> Replay:
    """Runs D, then its neighbour D' under D's transcript and coins.

    Args:
        data, neighbour: (1 or trials, n, *record), as in `Fixed`: one pair for all trials, or one pair a trial. A
            user's whole set of samples is one record: (…, n, m, p).
        schedule: an edited one is a mutant; default: the algorithm's own at (problem, n).
        start: (1 or trials, d); default: the projection of the origin.
        run: a subclass of `Run` is a mutant (noise reused, last step bare).

    Raises:
        InvalidInput: the two differ in shape or in more than one record of a trial.
        MechanismError: a core of a trial that had not halted is not finite.
    """
    data, neighbour = np.asarray(data, dtype=float), np.asarray(neighbour, dtype=float)
    changed = changed_record(data, neighbour, trials)
    if schedule is None:
        schedule = algorithm.schedule(problem, data.shape[1])
    if start is None:
        start = workload.project(np.zeros((1, problem.constants.d)))
    first = run(schedule, trials, seeds.stream(seed, "replay"))
    returned = algorithm.execute(first, workload, Fixed(data), start)
    second = run(schedule, trials, None, history=first.transcript)
    other, parted = None, ""
    try:
        other = algorithm.execute(second, workload, Fixed(neighbour), start)
    except ReplayDiverged as error:
        parted = str(error)
    here, there = len(first.transcript.entries), len(second.transcript.entries)
    if not parted and (here != there or len(first.transcript.coins) != len(second.transcript.coins)):
        parted = f"the data decided when to stop: {here} releases on D, {there} on D'"
    if parted:
        other, apart = None, np.ones(trials, dtype=bool)
    else:
        apart = first.active != second.active
        if apart.any():
            parted = f"the data decided which trials halt, in {int(apart.sum())} of {trials}"
    return Replay(
        schedule=schedule,
        changed=changed,
        movements=tuple(_movements(schedule, first.transcript, second.transcript, changed)),
        history=first.transcript,
        neighbour=second.transcript,
        returned=returned,
        other=other,
        apart=apart,
        parted=parted,
    )


@dataclass(frozen=True)
class Case:
    """An algorithm on a workload and a problem, or a mutant of it: what the searches replay.

    Attributes:
        schedule, start, run: as in `replay`; an edited schedule or a subclass of `Run` is a mutant.
        seed: of noise and coins. Trial t of a batch of one size keeps its noise from call to call, so that a search
            climbs a fixed landscape even where cores depend on earlier outputs.
    """

    algorithm: Algorithm[Any]
    workload: Workload
    problem: Problem
    schedule: Schedule[Any] | None = None
    start: Array | None = None
    run: type[Run[Any]] = Run
    seed: int = 0

    def planned(self, n: int) -> Schedule[Any]:
        """The schedule in force at n records."""
        return self.algorithm.schedule(self.problem, n) if self.schedule is None else self.schedule

    def replay(self, data: Array, neighbour: Array, trials: int, seed: int | None = None) -> Replay:
        """`replay` of this case."""
        return replay(
            self.algorithm,
            self.workload,
            self.problem,
            data,
            neighbour,
            trials,
            self.seed if seed is None else seed,
            schedule=self.schedule,
            start=self.start,
            run=self.run,
        )


def changed_record(data: Array, neighbour: Array, trials: int) -> NDArray[np.intp]:
    """Index of the one record of each trial that differs, (trials,), -1 where none does."""
    if data.shape[1:] != neighbour.shape[1:] or data.ndim < 3:
        raise InvalidInput(f"neighbours need one shape (1 or trials, n, *record), got {data.shape}, {neighbour.shape}")
    if {len(data), len(neighbour)} - {1, trials}:
        raise InvalidInput(f"axis 0 must be 1 or trials = {trials}, got {len(data)} and {len(neighbour)}")
    differs = (data != neighbour).reshape(max(len(data), len(neighbour)), data.shape[1], -1).any(axis=2)
    several = differs.sum(axis=1)
    if several.max() > 1:
        raise InvalidInput(f"neighbours differ in one record of each trial, got {int(several.max())} changed records")
    place = np.where(differs.any(axis=1), differs.argmax(axis=1), -1)
    return np.broadcast_to(place, (trials,)).astype(np.intp)


def claimed_movement(release: Release, changed: NDArray[np.intp]) -> Array:
    """What the reads that hold the changed record allow together, (trials,): 0 for a record that is not read."""
    total = np.zeros(len(changed))
    for read in release.reads:
        total += np.where((read.start <= changed) & (changed < read.stop), read.sensitivity, 0.0)
    return total


def _movements(
    schedule: Schedule[Any], first: Transcript, second: Transcript, changed: NDArray[np.intp]
) -> Iterator[Movement]:
    releases = {release.name: release for release in schedule.releases}
    uses: Counter[str] = Counter()
    for mine, other in zip(first.entries, second.entries, strict=False):
        release = releases[mine.name]
        live = ~_halted(mine.output)
        _check_finite(mine, other, live)
        moved = np.zeros(len(live))
        if live.any():
            moved[live] = distance(mine.core[live], other.core[live], release.norm)
        yield Movement(
            release=release,
            use=uses[mine.name],
            core=mine.core,
            other=other.core,
            output=mine.output,
            distance=moved,
            claimed=claimed_movement(release, changed),
        )
        uses[mine.name] += 1


def _halted(output: Array) -> NDArray[np.bool_]:
    """Trials whose output is NaN throughout: `Run` marks those that halted earlier so."""
    return np.asarray(np.isnan(output).reshape(len(output), -1).all(axis=1))


def _check_finite(mine: Entry, other: Entry, live: NDArray[np.bool_]) -> None:
    for which, entry in (("data", mine), ("neighbour", other)):
        bad = ~np.isfinite(entry.core[live])
        if bad.any():
            raise MechanismError(
                f"the core of {entry.name!r} on the {which} holds {entry.core[live][bad][0]} in a trial that had not "
                "halted; a core must be finite for every data set"
            )
