"""Replayed randomness: what an algorithm releases passes a `Run`, which can tell the same past to a neighbour."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dpcheck import seeds
from dpcheck.errors import InvalidInput, ReplayDiverged
from dpcheck.problems import Array, Data, Rng, Sample, Workload
from dpcheck.schedules import Release, Schedule

P = TypeVar("P")
Q = TypeVar("Q")


@dataclass(frozen=True)
class Entry:
    """One line of a transcript: the release's name, its core (trials, ..., k), and what came out."""

    name: str
    core: Array
    output: Array


class Unkept(list[Any]):
    """Lines that nobody will read: those of hundreds of thousands of noisy steps would fill the memory."""

    def append(self, line: Any) -> None:
        """Forgets it."""


@dataclass
class Transcript:
    """Everything one run released, in order, and the coins that it tossed."""

    entries: list[Entry] = field(default_factory=list)
    coins: list[NDArray[Any]] = field(default_factory=list)

    def outputs(self) -> Array:
        """All outputs side by side, (trials, total width): what an observer of every release sees."""
        return np.concatenate([e.output.reshape(len(e.output), -1) for e in self.entries], axis=1)


class Run(Generic[P]):
    """All randomness of one batch of trials.

    Args:
        schedule: names every release and its law; an edited schedule is a mutant.
        trials: size of axis 0 of every core and output.
        rng: the source of noise and coins; unused under a history.
        history: a transcript to replay, typically on a neighbour: one past, two cores.
    """

    def __init__(self, schedule: Schedule[P], trials: int, rng: Rng | None, history: Transcript | None = None) -> None:
        if trials < 1:
            raise InvalidInput(f"trials must be >= 1, got {trials}")
        self.schedule, self.trials = schedule, trials
        self.active: NDArray[np.bool_] = np.ones(trials, dtype=bool)
        self.transcript = Transcript()
        self._rng, self._history = rng, history
        self._releases = {release.name: release for release in schedule.releases}
        self._outer: Run[Any] = self
        self._prefix = ""

    def find(self, name: str) -> Release:
        """The release in force (the outer schedule's, when nested)."""
        full = self._prefix + name
        release = self._outer._releases.get(full)
        if release is None:
            raise InvalidInput(f"the schedule has no release {full!r}; it names {', '.join(self._outer._releases)}")
        return release

    def release(self, name: str, core: Array) -> Array:
        """The output at this core, (trials, ..., k); under a history, the recorded one. Halted trials read NaN."""
        here = self.find(name)
        core = np.asarray(core, dtype=float)
        if core.ndim < 2 or len(core) not in (1, self.trials):
            raise InvalidInput(f"the core of {here.name!r} needs shape ({self.trials}, ..., k), got {core.shape}")
        if len(core) < self.trials:
            core = np.broadcast_to(core, (self.trials, *core.shape[1:]))
        outer = self._outer
        if outer._history is None:
            output = self._draw(here, core)
            if not outer.active.all():
                output = np.where(outer.active.reshape(-1, *[1] * (output.ndim - 1)), output, np.nan)
        else:
            output = self._recorded(here.name)
        outer.transcript.entries.append(Entry(here.name, core, output))
        return output

    def _draw(self, release: Release, core: Array) -> Array:
        """Fresh noise; a broken mechanism overrides this."""
        return release.law.sample(core, self._outer._source())

    def _source(self) -> Rng:
        if self._rng is None:
            raise InvalidInput("this run has neither a generator nor a history; pass one of them")
        return self._rng

    def _recorded(self, name: str) -> Array:
        history, place = cast(Transcript, self._outer._history), len(self._outer.transcript.entries)
        if place >= len(history.entries) or history.entries[place].name != name:
            then = history.entries[place].name if place < len(history.entries) else "nothing more"
            raise ReplayDiverged(f"replay went another way: it releases {name!r} where the history has {then!r}")
        return history.entries[place].output

    def coins(self, draw: Callable[[Rng], NDArray[Any]]) -> NDArray[Any]:
        """Hidden randomness that looks at no data; replayed under a history."""
        outer = self._outer
        history, place = outer._history, len(outer.transcript.coins)
        if history is not None and place >= len(history.coins):
            raise ReplayDiverged(f"replay went another way: it tosses coins {place + 1} times, the history {place}")
        values = draw(outer._source()) if history is None else history.coins[place]
        outer.transcript.coins.append(values)
        return values

    def subsample(self, name: str, block: Sample) -> Sample:
        """Rows of `block` by that release's `sampling`, anew at each call: (trials, size, *record) of weight 1.

        With replacement, atoms with counts stay atoms, with the multinomial counts that so many draws give them.
        """
        sampling = self.find(name).reads[0].sampling
        rows = block.values.shape[1]
        if sampling is None:
            raise InvalidInput(f"release {name!r} must declare `sampling`")
        if not np.all(block.weights == 1):
            if sampling.kind != "with-replacement":
                raise InvalidInput(f"release {name!r} draws {sampling.kind}, which needs raw rows of weight 1")
            return Sample(block.values, self._redrawn(block.weights, sampling.size))
        if sampling.kind == "places":
            raise InvalidInput(f"release {name!r} reads places, which are drawn once for all of its uses")
        shape = (self.trials, sampling.size)
        if sampling.kind == "with-replacement":
            chosen = self.coins(lambda rng: rng.integers(rows, size=shape))
        elif sampling.kind in ("without-replacement", "shuffled"):
            # The `size` smallest of `rows` uniforms: a uniform subset, in uniform order.
            chosen = self.coins(
                lambda rng: np.argsort(rng.random((self.trials, rows)), axis=1)[:, : sampling.size].astype(np.intp)
            )
        else:
            keep = self.coins(lambda rng: rng.random((self.trials, rows)) < sampling.size / rows)
            return Sample(np.broadcast_to(block.values, (self.trials, *block.values.shape[1:])), keep.astype(float))
        values = np.broadcast_to(block.values, (self.trials, *block.values.shape[1:]))
        taken = np.take_along_axis(values, chosen.reshape(*shape, *[1] * (values.ndim - 2)), axis=1)
        return Sample(taken, np.ones(shape))

    def _redrawn(self, weights: Array, size: int) -> Array:
        """Counts of `size` draws with replacement from atoms of these counts: (trials or 1, r) -> (trials, r)."""
        shares = np.broadcast_to(weights / weights.sum(axis=1, keepdims=True), (self.trials, weights.shape[1]))
        return np.asarray(self.coins(lambda rng: rng.multinomial(size, shares)), dtype=float)

    def shuffle(self, data: Data) -> Data:
        """The same records in a uniform order, one a trial; fresh i.i.d. records stay as they are."""
        if isinstance(data, Fresh):
            return data
        values = data.read().values
        order = self.coins(lambda rng: np.argsort(rng.random((self.trials, values.shape[1])), axis=1))
        values = np.broadcast_to(values, (self.trials, *values.shape[1:]))
        return Fixed(np.take_along_axis(values, order.reshape(*order.shape, *[1] * (values.ndim - 2)), axis=1))

    def halt(self, where: NDArray[np.bool_]) -> None:
        """Trials that stop here; their later transcript is NaN."""
        self._outer.active &= ~np.asarray(where, dtype=bool)
        self.active = self._outer.active

    def inside(self, prefix: str, schedule: Schedule[Q]) -> Run[Q]:
        """This run as an inner algorithm sees it; the outer schedule's releases stay in force."""
        inner = cast("Run[Q]", copy.copy(self))
        inner.schedule = schedule
        inner._outer, inner._prefix = self._outer, self._prefix + prefix
        return inner


class Fixed:
    """Given records: one data set for all trials, (1, n, *record), or one a trial, (trials, n, *record)."""

    def __init__(self, values: Array) -> None:
        values = np.asarray(values, dtype=float)
        if values.ndim < 3 or values.shape[1] == 0:
            raise InvalidInput(f"data needs shape (trials or 1, n >= 1, *record), got {values.shape}")
        if not np.isfinite(values).all():
            place = tuple(int(i) for i in np.argwhere(~np.isfinite(values))[0])
            raise InvalidInput(f"data holds {values[place]} at index {place}; records must be finite")
        self.values = values

    @property
    def n(self) -> int:
        return int(self.values.shape[1])

    def part(self, start: int, stop: int) -> Fixed:
        _check_block(start, stop, self.n)
        return Fixed(self.values[:, start:stop])

    def read(self, *, means_only: bool = False) -> Sample:
        return Sample(self.values, np.ones((1, self.n)))


class Fresh:
    """Records drawn from a workload, each block when it is read; the same block reads the same again.

    Blocks that overlap without being equal are refused: their records would not be shared.
    """

    def __init__(self, workload: Workload, trials: int, n: int, seed: int, *key: Any) -> None:
        if n < 1:
            raise InvalidInput(f"an empty data set: n = {n}; n must be >= 1")
        self._workload, self._trials = workload, trials
        self._seed, self._words = seed, seeds.words(*key)
        self._start, self._stop = 0, n
        self._read: set[tuple[int, int]] = set()

    @property
    def n(self) -> int:
        return self._stop - self._start

    def part(self, start: int, stop: int) -> Fresh:
        _check_block(start, stop, self.n)
        block = copy.copy(self)
        block._start, block._stop = self._start + start, self._start + stop
        return block

    def read(self, *, means_only: bool = False) -> Sample:
        span = (self._start, self._stop)
        for start, stop in self._read:
            if start < span[1] and span[0] < stop and (start, stop) != span:
                spans = f"[{start}, {stop}) and [{span[0]}, {span[1]})"
                raise InvalidInput(f"the blocks {spans} overlap without being equal; read them from Fixed data")
        self._read.add(span)
        rng = seeds.stream(self._seed, "block", list(span), after=self._words)
        return self._workload.draw(rng, self._trials, self.n, means_only=means_only)


def _check_block(start: int, stop: int, n: int) -> None:
    if not 0 <= start < stop <= n:
        raise InvalidInput(f"the block [{start}, {stop}) is empty or outside the {n} records")
