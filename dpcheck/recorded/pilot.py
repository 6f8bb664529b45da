"""A few runs before many: how long a run takes, what an output weighs, and whether as many as were asked for can be."""

from __future__ import annotations

import pickle
import time
from dataclasses import dataclass
from typing import Any

from dpcheck import processes, seeds
from dpcheck.auditing.mechanisms import Encoder, Mechanism, mechanism_name
from dpcheck.auditing.runner import Runner
from dpcheck.errors import InvalidInput
from dpcheck.recorded.planning import duration

LONGEST = 30 * 86400
"""Seconds that runs may be expected to take."""
SECONDS = 0.3
"""That the last call of a pilot takes at least, or it is as long as calls get."""
COUNTED = 1e-6
"""Seconds in which an output is counted, at the least (benchmarks/bench_audit.py)."""
SHARE = 100
"""A pilot is at most about such a part of the runs."""


@dataclass(frozen=True)
class Cost:
    """What a run takes, as a pilot saw it.

    Attributes:
        seconds: of a run, and of counting its output; bytes: of an output that is kept; runs: of the pilot.
    """

    name: str
    seconds: float
    bytes: float
    runs: int

    def check(self, runs: float, kept: float) -> None:
        """Raises `InvalidInput` where so many runs, of which so many outputs are kept, are out of reach."""
        if runs * self.seconds > LONGEST:
            raise InvalidInput(
                f"{runs:,.0f} runs of {self.name} would take {duration(runs * self.seconds)} at "
                f"{1 / self.seconds:,.3g} a second, and {duration(LONGEST)} are the most: take fewer than "
                f"{LONGEST / self.seconds:,.3g}, or more workers"
            )
        memory = processes.physical_memory()
        if memory and kept * self.bytes > memory:
            raise InvalidInput(
                f"{kept:,.0f} outputs of {self.name} are kept, {self.bytes:,.3g} bytes each, which is "
                f"{kept * self.bytes / 2**30:,.3g} GiB where this machine has {memory / 2**30:,.3g}: "
                "take fewer trials, or let the mechanism return less"
            )

    def __str__(self) -> str:
        return f"{1 / self.seconds:,.3g} runs a second, {self.bytes:,.3g} bytes an output"


def pilot(
    mechanism: Mechanism,
    data: Any,
    neighbour: Any,
    *,
    runs: float,
    workers: int = 1,
    seed: int = 0,
    halts: bool = False,
) -> Cost:
    """What a run costs, from runs that are counted nowhere: twice as many in every call, until it takes long enough.

    Args:
        mechanism, data, neighbour, seed, halts: as of the audit.
        runs: that it is to be told for, both inputs together.
        workers: that run it: the first call starts them all.
    """
    encoder = Encoder(mechanism_name(mechanism), halts=halts)
    runner = Runner(mechanism, (data, neighbour), seed, encoder, seeds.CHUNK)
    size, number, done = workers, 0, 0
    while True:
        begun = time.perf_counter()
        outputs = runner.outputs(number % 2, size, "pilot", number)
        seconds = time.perf_counter() - begun
        done += size
        # The first call of all imports, compiles, or starts workers.
        if number and (seconds >= SECONDS or size == seeds.CHUNK or done > runs / SHARE):
            weight = _weight(outputs.raw, outputs.matrix.nbytes)
            return Cost(encoder.name, seconds / size + COUNTED, weight / size, done)
        size, number = min(2 * size, seeds.CHUNK), number + 1


def _weight(raw: Any, encoded: int) -> int:
    try:
        return encoded + len(pickle.dumps(raw, pickle.HIGHEST_PROTOCOL))
    except Exception:  # whatever an object raises that cannot be packed
        return 2 * encoded
