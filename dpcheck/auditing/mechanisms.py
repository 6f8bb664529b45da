"""Calling what is audited: `mechanism(data, rng, trials)`, its outputs checked and turned into numbers.

Outputs may be numbers (trials,), arrays (trials, ...), categories (strings, booleans, any hashable), tuples or dicts
of these, or transcripts of different lengths, one a trial. Inside the auditor they are a float matrix; categories are
codes.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator, Mapping
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
        return _stacked(results)

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

    What an output is made of decides: numbers are themselves; words and discrete transcripts are categories, coded in
    order of appearance; anything that holds a real number is laid out entry by entry, NaN where a transcript had ended.

    Attributes:
        halts: NaN means "stopped without an output" and is legal (None and masked values always mean that).
        codes: category -> code, of each categorical column.
        categorical: whether some column holds codes.
    """

    name: str
    halts: bool = False
    codes: dict[Any, dict[Any, int]] = field(default_factory=dict)
    categorical: bool = False
    limit: int = 2**16
    _layouts: dict[int, int] = field(default_factory=dict)
    """Part -> entries of its rows: 0 for categories, 1 for plain numbers; fixed by the first batch."""
    _offsets: dict[int, Any] = field(default_factory=dict)

    def encode(self, raw: Any, trials: int) -> Outputs:
        """Checks and encodes one batch. Raises `MechanismError`."""
        parts = list(raw) if isinstance(raw, tuple) else [raw]
        columns = [self._column(part, trials, place) for place, part in enumerate(parts)]
        matrix = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
        return Outputs(raw, matrix)

    def _column(self, part: Any, trials: int, place: int) -> Array:
        values = part if isinstance(part, np.ndarray) else as_array(part)
        if values.ndim == 0 or len(values) != trials:
            what = type(part).__name__ if values.ndim == 0 else f"shape {values.shape}"
            raise MechanismError(
                f"{self.name} returned {what} for trials={trials}; axis 0 must count trials "
                "(wrap a function that runs once a call in dp.vectorize)"
            )
        if values.dtype.kind in "biuf":
            return self._numbers(values, place)
        if values.dtype.kind == "c":
            return self._numbers(np.stack([values.real, values.imag], axis=-1), place)
        return self._objects(values, place)

    def _numbers(self, values: NDArray[Any], place: int) -> Array:
        rows = values.reshape(len(values), -1)
        if rows.shape[1] == 0:
            raise MechanismError(f"{self.name} returned empty outputs of shape {values.shape}")
        if rows.dtype.kind in "iu":
            return self._integers(rows, place)
        masked = np.ma.getmaskarray(rows) if isinstance(rows, np.ma.MaskedArray) else None
        matrix = np.asarray(rows, dtype=float)
        if masked is not None:
            matrix = np.where(masked, 0.0, matrix)
        self._check(matrix)
        return matrix if masked is None else np.where(masked, np.nan, matrix)

    def _integers(self, rows: NDArray[Any], place: int) -> Array:
        """Integers beyond 2^53 are counted from the first one: a float64 would merge neighbours."""
        if place not in self._offsets:
            huge = int(np.abs(rows[0].astype(object)).max()) > 2**53
            self._offsets[place] = rows[0].astype(object) if huge else None
        offset = self._offsets[place]
        return np.asarray(rows if offset is None else rows.astype(object) - offset, dtype=float)

    def _check(self, matrix: Array) -> None:
        bad = np.isinf(matrix) if self.halts else ~np.isfinite(matrix)
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            hint = "" if self.halts or not np.isnan(matrix[row, column]) else "; pass halts=True if NaN means a halt"
            raise MechanismError(
                f"{self.name} returned {matrix[row, column]} in trial {row}; outputs must be finite{hint}"
            )

    def _objects(self, values: NDArray[Any], place: int) -> Array:
        rows = [leaves(value) for value in values.tolist()]
        if place not in self._layouts:
            width = max(len(row) for row in rows)
            # Room for transcripts that are longer later on; what exceeds it is cut.
            self._layouts[place] = (width if width == 1 else 2 * width) if any(map(_holds_real, rows)) else 0
        width = self._layouts[place]
        if width == 0:
            return np.array([[self._code(row[0] if len(row) == 1 else row, place)] for row in rows], dtype=float)
        matrix = np.full((len(rows), width + 1), np.nan)
        stopped = np.zeros(matrix.shape, dtype=bool)
        for i, row in enumerate(rows):
            matrix[i, 0] = len(row)
            for k, leaf in enumerate(row[:width]):
                stopped[i, k + 1] = leaf is None
                matrix[i, k + 1] = leaf if isinstance(leaf, _SCALARS) else self._code(leaf, (place, k))
            stopped[i, 1 + len(row) :] = True
        self._check(np.where(stopped, 0.0, matrix))
        matrix[stopped] = np.nan
        return matrix[:, 1:] if width == 1 else matrix

    def _code(self, value: Any, place: Any) -> float:
        """The code of a category; NaN for None."""
        if value is None:
            return np.nan
        self.categorical = True
        known = self.codes.setdefault(place, {})
        try:
            code = known.get(value)
        except TypeError as error:
            raise MechanismError(
                f"{self.name} returned a {type(value).__name__}, which cannot be compared: {error}"
            ) from error
        if code is None:
            kind: Any = type(value)
            if kind.__eq__ is object.__eq__:
                raise MechanismError(
                    f"{self.name} returned objects of type {kind.__name__}, no two of which are ever equal; "
                    "return numbers, strings, or tuples of these"
                )
            # Beyond the limit every unseen category is "other": memory stays bounded.
            code = known.setdefault(value, len(known)) if len(known) < self.limit else self.limit
        return float(code)

    def category(self, code: float, place: Any = 0) -> str:
        """The output behind a code, for messages."""
        for value, number in self.codes.get(place, {}).items():
            if number == code:
                return repr(value)
        return f"{code:g}"


def leaves(value: Any) -> tuple[Any, ...]:
    """The entries of one output, nested ones in order; a dict by its keys."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        value = [value[key] for key in sorted(value, key=repr)]
    if not isinstance(value, list | tuple):
        return (value,)
    return tuple(leaf for item in value for leaf in leaves(item))


def _holds_real(row: tuple[Any, ...]) -> bool:
    """Whether an entry is a number that is no integer (NaN and infinities count)."""
    return any(isinstance(x, float | np.floating) and not float(x).is_integer() for x in row)


def _advice(mechanism: Any, error: Exception) -> str:
    """What to do about an exception of a mechanism: it may have been called with the wrong number of arguments."""
    inner = getattr(mechanism, "__wrapped__", None)
    if isinstance(error, TypeError):
        if inner is None and not _takes(mechanism, 3) and _takes(mechanism, 2):
            return "a function of (data, rng), which runs once a call, goes through dp.vectorize (--per-call)"
        if inner is not None and not _takes(inner, 2) and _takes(inner, 3):
            return "a function of (data, rng, trials) is audited as it is, without dp.vectorize (--per-call)"
    return "nothing was concluded"


def _takes(function: Any, count: int) -> bool:
    try:
        inspect.signature(function).bind(*range(count))
    except (TypeError, ValueError):
        return False
    return True


def as_array(part: Any) -> NDArray[Any]:
    """One part of some outputs as an array; of objects where rows have several lengths or mix words and numbers."""
    try:
        values = np.asarray(part)
    except ValueError:  # ragged
        return _stacked(list(part))
    mixed = isinstance(part, list | tuple) and values.dtype.kind in "US"
    if mixed and not all(isinstance(leaf, str | bytes) for row in part for leaf in leaves(row)):
        return _stacked(list(part))
    return values


def _stacked(outputs: list[Any]) -> NDArray[Any]:
    """An array of objects, one an output, whatever these are."""
    stacked = np.empty(len(outputs), dtype=object)
    for i, output in enumerate(outputs):
        stacked[i] = output
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
                f"{_advice(self.mechanism, error)}"
            ) from error
        self.seconds += time.perf_counter() - start
        if raw is None:
            raise MechanismError(
                f"{self.encoder.name} returned None on {which}; it must return one output for each trial"
            )
        if isinstance(raw, Mapping):
            raw = tuple(raw[key] for key in sorted(raw, key=repr))
        elif isinstance(raw, Iterator):
            raw = list(raw)
        return self.encoder.encode(raw, trials)

    def both(self, samples: int, *key: Any) -> tuple[Outputs | None, Outputs | None]:
        """`samples` trials whose sides are fair coins: outputs of side 0 and of side 1 (None: no trial)."""
        heads = int(seeds.stream(self._seed, "audit", "sides", *key).binomial(samples, 0.5))
        drawn = [self.outputs(side, n, *key) if n else None for side, n in enumerate((heads, samples - heads))]
        return drawn[0], drawn[1]
