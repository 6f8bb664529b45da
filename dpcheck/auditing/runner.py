"""Running a mechanism on two inputs: in what order, with which generator, and on inputs that no call can change."""

from __future__ import annotations

import inspect
import re
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dpcheck import seeds
from dpcheck.auditing.handing import CURE, Handed, writes
from dpcheck.auditing.identity import _libraries
from dpcheck.auditing.inputs import check_seed
from dpcheck.auditing.mechanisms import Encoder, Mechanism, Outputs, RunsOnce, gathered, join
from dpcheck.auditing.premise import Elsewhere
from dpcheck.auditing.workers import InWorkers
from dpcheck.errors import MechanismError
from dpcheck.excerpts import excerpt

BLOCKS = 32
"""Fewest blocks of calls that a fixed audit's counted trials, and the trials of an anytime audit so far, consist of."""
SMALLEST = 4
"""Trials of the smallest block."""
NAMES = ("data", "neighbour")


def block_size(trials: int, chunk: int) -> int:
    """Trials of a block: few enough that state kept from call to call cannot pass for a leak."""
    return max(1, min(chunk, max(SMALLEST, trials // BLOCKS)))


@dataclass(frozen=True)
class DrawnOutputs:
    """Outputs on one input, in the order in which they were drawn.

    Attributes:
        sizes: of the calls; second: whether each was the second of its block; blocks: numbers of their blocks.
    """

    outputs: Outputs
    sizes: list[int]
    second: list[bool]
    blocks: list[int]


class Runner:
    """Runs a mechanism on the two inputs, in chunks with streams of their own.

    What is audited may keep something between calls though it must not. So the input that is run first is drawn, block
    by block; and of a function of one run (`dp.vectorize`) the input is drawn run by run.

    Args:
        pair: (data, neighbour).
        encoder: shared by both inputs.
        chunk: most trials of one call.
    """

    def __init__(self, mechanism: Mechanism, pair: tuple[Any, Any], seed: int, encoder: Encoder, chunk: int) -> None:
        self.mechanism, self.pair, self._seed = mechanism, pair, check_seed(seed)
        self.encoder, self.chunk = encoder, chunk
        self.seconds = 0.0
        self._elsewhere = Elsewhere()
        self._inputs = [Handed(name, values) for name, values in zip(NAMES, pair, strict=True)]
        self._once = mechanism.runs_once if isinstance(mechanism, RunsOnce) else None

    def outputs(self, side: int, trials: int, *key: Any) -> Outputs:
        """One call: `trials` outputs on side 0 (data) or 1 (neighbour), from the stream of (seed, key, side)."""
        return self._call(side, trials, self._stream(side, *key))

    def first(self, *key: Any) -> int:
        """The side whose call comes first, a fair coin."""
        return int(seeds.stream(self._seed, "audit", "first", *key).random() < 0.5)

    def both(
        self, samples: int, *key: Any, block: int | None = None
    ) -> tuple[DrawnOutputs | None, DrawnOutputs | None]:
        """`samples` trials whose sides are fair coins: what was drawn on side 0 and on side 1 (None: no trial).

        Args:
            block: most trials of a block: one call on each input, in an order that is drawn. None: all of them.
        """
        sizes = [min(block or samples, samples - start) for start in range(0, samples, block or samples)]
        coins = seeds.stream(self._seed, "audit", "sides", *key)
        streams = [self._stream(side, *key) for side in (0, 1)]
        if self._once is not None:
            return self._singly(self._once, sizes, coins, streams)
        heads, first = coins.binomial(sizes, 0.5), coins.random(len(sizes)) < 0.5
        drawn: tuple[list[tuple[Outputs, bool, int]], ...] = ([], [])
        for number, (size, head, turned) in enumerate(zip(sizes, heads.tolist(), first, strict=True)):
            for place, side in enumerate((1, 0) if turned else (0, 1)):
                if trials := (head, size - head)[side]:
                    drawn[side].append((self._call(side, trials, streams[side]), place == 1, number))
        one, two = (
            DrawnOutputs(
                join([o for o, _, _ in calls]),
                [len(o) for o, _, _ in calls],
                [late for _, late, _ in calls],
                [number for _, _, number in calls],
            )
            if calls
            else None
            for calls in drawn
        )
        return one, two

    def _singly(
        self,
        function: Callable[..., Any],
        sizes: list[int],
        coins: np.random.Generator,
        streams: list[np.random.Generator],
    ) -> tuple[DrawnOutputs | None, DrawnOutputs | None]:
        """Single runs, the input of each of them drawn."""
        results: tuple[list[Any], list[Any]] = ([], [])
        counts: tuple[list[int], list[int]] = ([], [])
        for size in sizes:
            sides = (coins.random(size) < 0.5).astype(int).tolist()
            for side in sides:
                results[side].append(self._timed(side, 1, self._single(function, side, streams[side])))
            for side in (0, 1):
                counts[side].append(sides.count(side))
        one, two = (
            DrawnOutputs(
                self._encoded(gathered(outputs), len(outputs), side),
                counts[side],
                [False] * len(sizes),
                list(range(len(sizes))),
            )
            if outputs
            else None
            for side, outputs in enumerate(results)
        )
        return one, two

    def _single(self, function: Callable[..., Any], side: int, rng: np.random.Generator) -> Callable[[], Any]:
        return lambda: function(self._inputs[side].make(), rng)

    def elsewhere(self) -> str:
        """That calls draw from a global generator, in words; "" where they do not."""
        run: Mechanism = self.mechanism
        if isinstance(run, InWorkers):  # what its processes draw from is seen only in a call in this one
            run, self._elsewhere = run.mechanism, Elsewhere()
            self._asked(run, 1)
        return self._elsewhere.found(lambda runs: self._encoded(self._asked(run, runs), runs, 0).matrix)

    def _asked(self, run: Mechanism, runs: int) -> Any:
        """The same question each time: outputs on the first input, from the same stream."""
        return self._timed(0, runs, lambda: run(self._inputs[0].make(), self._stream(0, "elsewhere"), runs))

    def check_inputs(self) -> None:
        """Raises `MechanismError` when an input is no longer what it was."""
        for given in self._inputs:
            given.check(self.encoder.name)

    def _stream(self, side: int, *key: Any) -> np.random.Generator:
        return seeds.stream(self._seed, "audit", side, *key)

    def _call(self, side: int, trials: int, rng: np.random.Generator) -> Outputs:
        raw = self._timed(side, trials, lambda: self.mechanism(self._inputs[side].make(), rng, trials))
        return self._encoded(raw, trials, side)

    def _timed(self, side: int, trials: int, run: Callable[[], Any]) -> Any:
        start, before = time.perf_counter(), self._elsewhere.before()
        try:
            return run()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # SystemExit, too: a mechanism must not end the audit
            raise failed(self.mechanism, self.encoder.name, f"{NAMES[side]} with trials={trials}", error) from error
        finally:
            self._elsewhere.after(before)
            self.seconds += time.perf_counter() - start

    def _encoded(self, raw: Any, trials: int, side: int) -> Outputs:
        if raw is None:
            raise MechanismError(
                f"{self.encoder.name} returned None on {NAMES[side]}; it must return one output for each trial"
            )
        if isinstance(raw, Mapping):
            keys = sorted(raw, key=repr)
            if keys != self.encoder.keys.setdefault("keys", keys):
                raise MechanismError(
                    f"{self.encoder.name} returned the keys {keys} on {NAMES[side]}, and {self.encoder.keys['keys']} "
                    "before; if the keys are part of the output, return one dict a run (dp.vectorize)"
                )
            raw = tuple(raw[key] for key in keys)
        elif isinstance(raw, Iterator):
            raw = list(raw)
        return self.encoder.encode(raw, trials)


def failed(mechanism: Any, name: str, where: str, error: BaseException) -> MechanismError:
    """What to raise of an exception of a mechanism: what dpcheck itself raised inside of it is said as it is."""
    said = excerpt(f"{error}") or "it says no more"
    if isinstance(error, MechanismError):
        return MechanismError(f"{name} on {where}: {said}")
    at = f" ({place})" if (place := raised_at(error)) else ""
    return MechanismError(f"{name} raised {type(error).__name__} on {where}: {said}{at}; {_advice(mechanism, error)}")


def raised_at(error: BaseException) -> str:
    """Where a mechanism's own code raised it, or called what did: "mine.py:12"; "" where none of it is in a file."""
    at = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    # Of another process there is the text only.
    at += re.findall(r'File "(.+)", line (\d+)', str(error.__cause__ or ""))
    own = [(Path(file), line) for file, line in at if not any(Path(file).is_relative_to(lib) for lib in _libraries())]
    return f"{own[-1][0].name}:{own[-1][1]}" if own and own[-1][0].suffix == ".py" else ""


def _advice(mechanism: Any, error: BaseException) -> str:
    """What to do about an exception of a mechanism: it may have been called with the wrong number of arguments."""
    if writes(error):
        return CURE
    inner = getattr(mechanism, "__wrapped__", None)
    if isinstance(error, TypeError):
        if inner is None and not _takes(mechanism, 3) and _takes(mechanism, 2):
            return "a function of (data, rng), which runs once a call, goes through dp.vectorize (--per-call)"
        if inner is not None and not _takes(inner, 2) and _takes(inner, 3):
            return "a function of (data, rng, trials) is audited as it is, without dp.vectorize (--per-call)"
        if not _takes(inner or mechanism, 3) and _takes(inner or mechanism, 1):
            return "write it as f(data, rng), with all noise from that rng, and pass it to dp.vectorize (--per-call)"
    return "nothing was concluded"


def _takes(function: Any, count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True
