"""Calling what is audited: `mechanism(data, rng, trials)`, its outputs checked and turned into numbers.

Outputs may be numbers (trials,), arrays (trials, ...), categories (strings, booleans, any hashable), tuples of these,
or transcripts of different lengths, one a trial. Inside the auditor they are a float matrix; categories are codes.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck import seeds
from dpcheck.errors import InvalidInput, MechanismError

Array = NDArray[np.float64]
Mechanism = Callable[[Any, np.random.Generator, int], Any]
_SCALARS = (bool, int, float, np.bool_, np.number)


def mechanism_name(mechanism: Any) -> str:
    """What to call a mechanism in messages: its name, or for a lambda the first function that it calls."""
    inner = getattr(mechanism, "__wrapped__", mechanism)
    name = getattr(inner, "__name__", type(inner).__name__)
    if name == "<lambda>" and isinstance(inner, types.FunctionType):
        called = [n for n in inner.__code__.co_names if callable(inner.__globals__.get(n))]
        return called[0] if called else "the mechanism"
    return str(name)


def vectorize(function: Callable[[Any, np.random.Generator], Any]) -> Mechanism:
    """Makes `function(data, rng)`, which runs once a call, into `mechanism(data, rng, trials)`.

    >>> import numpy as np
    >>> noisy = vectorize(lambda data, rng: sum(data) + rng.laplace())
    >>> noisy([1.0, 2.0], np.random.default_rng(0), 3).shape
    (3,)
    """
    if not callable(function):
        raise InvalidInput(f"vectorize needs a function of (data, rng), got {function!r}")

    def mechanism(data: Any, rng: np.random.Generator, trials: int) -> Any:
        results = [function(data, rng) for _ in range(trials)]
        first = results[0]
        if isinstance(first, _SCALARS) and all(isinstance(r, _SCALARS) for r in results):
            return np.array(results, dtype=float)
        if isinstance(first, np.ndarray) and all(isinstance(r, np.ndarray) and r.shape == first.shape for r in results):
            return np.stack(results)
        stacked = np.empty(trials, dtype=object)
        stacked[:] = results
        return stacked

    mechanism.__wrapped__ = function  # type: ignore[attr-defined]
    mechanism.__name__ = mechanism_name(function)
    return mechanism


@dataclass(frozen=True)
class Outputs:
    """One batch of outputs: as returned, and as a finite matrix (NaN only for declared halts and ended transcripts)."""

    raw: Any
    matrix: Array

    def __len__(self) -> int:
        return len(self.matrix)


@dataclass
class Encoder:
    """Turns a mechanism's outputs into matrices of one width; both inputs must share it.

    Attributes:
        halts: NaN means "stopped without an output" and is legal.
        codes: category -> code, of each categorical column, in order of appearance.
        width: columns of every matrix, fixed by `freeze`; longer transcripts are then cut.
    """

    name: str
    halts: bool = False
    codes: list[dict[Any, int]] = field(default_factory=list)
    categorical: bool = False
    width: int | None = None
    limit: int = 2**16

    def encode(self, raw: Any, trials: int) -> Outputs:
        """Checks and encodes one batch. Raises `MechanismError`."""
        parts = list(raw) if isinstance(raw, tuple) else [raw]
        columns = [self._column(part, trials, place) for place, part in enumerate(parts)]
        matrix = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
        return Outputs(raw, matrix)

    def _column(self, part: Any, trials: int, place: int) -> Array:
        values = part if isinstance(part, np.ndarray) else _as_array(part)
        if values.ndim == 0 or len(values) != trials:
            raise MechanismError(
                f"{self.name} returned shape {values.shape} for trials={trials}; axis 0 must count trials "
                "(wrap a function that runs once a call in dp.vectorize)"
            )
        if values.dtype.kind in "biuf":
            return self._numbers(values)
        if values.dtype.kind == "c":
            return self._numbers(np.stack([values.real, values.imag], axis=-1))
        return self._objects(values, place)

    def _numbers(self, values: NDArray[Any]) -> Array:
        matrix = values.astype(float).reshape(len(values), -1)
        if matrix.shape[1] == 0:
            raise MechanismError(f"{self.name} returned empty outputs of shape {values.shape}")
        bad = np.isinf(matrix) if self.halts else ~np.isfinite(matrix)
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            hint = "" if self.halts or not np.isnan(matrix[row, column]) else "; pass halts=True if NaN means a halt"
            raise MechanismError(
                f"{self.name} returned {matrix[row, column]} in trial {row}; outputs must be finite{hint}"
            )
        return matrix

    def _objects(self, values: NDArray[Any], place: int) -> Array:
        rows = [
            tuple(v.tolist()) if isinstance(v, np.ndarray) else tuple(v) if isinstance(v, list) else v
            for v in values.tolist()
        ]
        transcripts = all(isinstance(r, tuple) and all(isinstance(x, _SCALARS) for x in r) for r in rows)
        if transcripts and any(isinstance(x, float) and x != int(x) for r in rows[:256] for x in r if np.isfinite(x)):
            return self._padded(rows)
        self.categorical = True
        while len(self.codes) <= place:
            self.codes.append({})
        known = self.codes[place]
        coded = np.empty((len(rows), 1))
        for i, row in enumerate(rows):
            try:
                code = known.get(row)
                if code is None:
                    # Beyond the limit every unseen category is "other": memory stays bounded.
                    code = known.setdefault(row, len(known)) if len(known) < self.limit else self.limit
            except TypeError as error:
                raise MechanismError(
                    f"{self.name} returned a {type(row).__name__}, which cannot be compared: {error}"
                ) from error
            coded[i, 0] = code
        return coded

    def _padded(self, rows: Sequence[tuple[Any, ...]]) -> Array:
        """Transcripts of numbers: their length, then their entries, NaN where they had ended."""
        if self.width is None:
            self.width = max(1, 2 * max(len(r) for r in rows))
        matrix = np.full((len(rows), self.width + 1), np.nan)
        for i, row in enumerate(rows):
            matrix[i, 0] = len(row)
            matrix[i, 1 : 1 + len(row)] = row[: self.width]
        if np.isinf(matrix).any():
            raise MechanismError(
                f"{self.name} returned an infinite value in trial {int(np.argwhere(np.isinf(matrix))[0][0])}"
            )
        return matrix

    def category(self, code: float, place: int = 0) -> str:
        """The output behind a code, for messages."""
        if place < len(self.codes):
            for value, number in self.codes[place].items():
                if number == code:
                    return repr(value)
        return f"{code:g}"


def _as_array(part: Any) -> NDArray[Any]:
    try:
        return np.asarray(part)
    except ValueError:  # ragged
        stacked = np.empty(len(part), dtype=object)
        stacked[:] = list(part)
        return stacked


class Runner:
    """Runs a mechanism on the two inputs, in chunks with streams of their own.

    Args:
        pair: (data, neighbour).
        encoder: shared by both inputs.
        chunk: most trials of one call.
    """

    def __init__(self, mechanism: Mechanism, pair: tuple[Any, Any], seed: int, encoder: Encoder, chunk: int) -> None:
        self.mechanism, self.pair, self._seed = mechanism, pair, seed
        self.encoder, self.chunk = encoder, chunk
        self.seconds = 0.0

    def outputs(self, side: int, trials: int, *key: Any) -> Outputs:
        """One call: `trials` outputs on side 0 (data) or 1 (neighbour), from the stream of (seed, key, side)."""
        import time

        rng = seeds.stream(self._seed, "audit", side, *key)
        which = ("data", "neighbour")[side]
        start = time.perf_counter()
        try:
            raw = self.mechanism(self.pair[side], rng, trials)
        except Exception as error:
            raise MechanismError(
                f"{self.encoder.name} raised {type(error).__name__} on {which} with trials={trials}: {error}; "
                "nothing was concluded"
            ) from error
        self.seconds += time.perf_counter() - start
        if raw is None:
            raise MechanismError(
                f"{self.encoder.name} returned None on {which}; it must return one output for each trial"
            )
        return self.encoder.encode(raw, trials)

    def both(self, samples: int, *key: Any) -> tuple[Outputs | None, Outputs | None]:
        """`samples` trials whose sides are fair coins: outputs of side 0 and of side 1 (None: no trial)."""
        heads = int(seeds.stream(self._seed, "audit", "sides", *key).binomial(samples, 0.5))
        drawn = [self.outputs(side, n, *key) if n else None for side, n in enumerate((heads, samples - heads))]
        return drawn[0], drawn[1]
