"""Calling what is audited: `mechanism(data, rng, trials)`, its outputs checked and turned into numbers.

Outputs may be numbers (trials,), arrays (trials, ...), categories (strings, booleans, any hashable), tuples or dicts
of these, or transcripts of different lengths, one a trial. Inside the auditor they are a float matrix; categories are
codes.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.handing import maker
from dpcheck.auditing.inputs import check_flag
from dpcheck.errors import InvalidInput, MechanismError

Array = NDArray[np.float64]
Mechanism = Callable[[Any, np.random.Generator, int], Any]
_SCALARS = (bool, int, float, np.bool_, np.number)
_COMPLEX = (complex, np.complexfloating)
WORDS = 3.7796447300922725e-4
"""Added to the code of a word among numbers, so that no word is taken for a number (√7/7000, no decimal)."""


def mechanism_name(mechanism: Any) -> str:
    """What to call a mechanism in messages: its name, or for a lambda the first function that it calls."""
    inner = getattr(mechanism, "__wrapped__", mechanism)
    name = getattr(inner, "__name__", type(inner).__name__)
    if name == "<lambda>" and isinstance(inner, types.FunctionType):
        called = [n for n in inner.__code__.co_names if callable(inner.__globals__.get(n))]
        return called[0] if called else "the mechanism"
    return str(name)


@runtime_checkable
class RunsOnce(Protocol):
    """A mechanism that knows the function of (data, rng) it was made from."""

    runs_once: Callable[[Any, np.random.Generator], Any]


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
        make = maker(data)
        return gathered([function(make(), rng) for _ in range(trials)])

    mechanism.__wrapped__ = function  # type: ignore[attr-defined]
    mechanism.runs_once = function  # type: ignore[attr-defined]
    mechanism.__name__ = mechanism_name(function)
    return mechanism


def gathered(results: list[Any]) -> Any:
    """Outputs of single runs as those of one call."""
    first = results[0]
    scalars = (*_SCALARS, complex)
    if any(isinstance(r, _COMPLEX) for r in results) and all(isinstance(r, scalars) for r in results):
        return np.array(results, dtype=complex)
    if isinstance(first, _SCALARS) and all(isinstance(r, _SCALARS) for r in results):
        return numbers(results)
    if isinstance(first, np.ndarray) and all(isinstance(r, np.ndarray) and r.shape == first.shape for r in results):
        return np.stack(results)
    return _stacked(results)


def numbers(values: list[Any]) -> NDArray[Any]:
    """Numbers as an array of floats; integers of which some exceed 2^53 stay what they are."""
    if not all(isinstance(v, int | np.integer) for v in values) or max(abs(int(v)) for v in values) <= 2**53:
        return np.array(values, dtype=float)
    whole = [int(v) for v in values]
    try:
        return np.array(whole, dtype=np.int64)
    except OverflowError:
        return np.array(whole, dtype=object)


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
    keys: dict[str, list[Any]] = field(default_factory=dict)
    """The keys of the dicts of all trials, if it returns such: those of the first call."""
    _layouts: dict[int, int] = field(default_factory=dict)
    """Part -> entries of its rows, as the first batch had them: 0 for categories, 1 for one value a row (None: a halt),
    else room for transcripts. Parts that have only been arrays of numbers with several entries have none."""
    _shapes: dict[tuple[int, int], dict[Any, int]] = field(default_factory=dict)
    """Part, entries -> the structures of outputs with so many entries, in order of appearance."""
    _offsets: dict[int, Any] = field(default_factory=dict)
    _widths: dict[int, int] = field(default_factory=dict)
    """Part -> entries of its rows, of parts that began as arrays of numbers with several entries."""
    _split: dict[int, bool] = field(default_factory=dict)
    """Parts of large integers -> whether a float64 would lose digits, so that the rest is a column of its own."""

    def __post_init__(self) -> None:
        check_flag("halts", self.halts)

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
        # A small batch may look simpler than the first one did: transcripts all of one length, no halt.
        layout = self._layouts.get(place)
        if values.dtype.kind in "biuf" and layout in (None, 1):
            return self._numbers(values, place)
        if values.dtype.kind == "c" and layout is None:
            return self._numbers(np.stack([values.real, values.imag], axis=-1), place)
        return self._objects(values, place)

    def _numbers(self, values: NDArray[Any], place: int) -> Array:
        rows = values.reshape(len(values), -1)
        if rows.shape[1] == 0:
            raise MechanismError(f"{self.name} returned empty outputs of shape {values.shape}")
        if rows.shape[1] == 1:
            self._layouts[place] = 1
        elif place not in self._layouts:
            self._widths.setdefault(place, rows.shape[1])
        values = self._floats(np.ma.getdata(rows), place)
        if np.ma.getmask(rows) is np.ma.nomask:
            self._check(values)
            return np.array(values)  # the mechanism may write into its own again
        masked = np.ma.getmaskarray(rows)
        masked = np.tile(masked, values.shape[1] // masked.shape[1])
        matrix = np.where(masked, 0.0, values)
        self._check(matrix)
        return np.where(masked, np.nan, matrix)

    def _floats(self, rows: NDArray[Any], place: int) -> Array:
        """Numbers as floats; integers beyond 2^53, of which a float64 would merge neighbours, are kept apart.

        They are counted from the first one, and where that is not enough the rest of every entry is a column more.
        """
        if place not in self._offsets:
            huge = rows.dtype.kind in "iuO" and max(abs(int(v)) for v in (rows.min(), rows.max())) > 2**53
            self._offsets[place] = rows[0].astype(object) if huge else None
        offset = self._offsets[place]
        if offset is None:
            return np.asarray(rows, dtype=float)
        counted = rows.astype(object) - offset
        near = np.asarray(counted, dtype=float)
        rest = np.asarray(counted - np.vectorize(int, otypes=[object])(near), dtype=float)
        split = self._split.setdefault(place, bool(rest.any()))
        return np.concatenate([near, rest], axis=1) if split else near

    def _check(self, matrix: Array) -> None:
        bad = np.isinf(matrix) if self.halts else ~np.isfinite(matrix)
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            hint = "" if self.halts or not np.isnan(matrix[row, column]) else "; pass halts=True if NaN means a halt"
            raise MechanismError(
                f"{self.name} returned {matrix[row, column]} in trial {row}; outputs must be finite{hint}"
            )

    def _objects(self, values: NDArray[Any], place: int) -> Array:
        outputs = values.tolist()
        rows, shapes = [leaves(value) for value in outputs], [structure(value) for value in outputs]
        if place in self._widths:
            return self._vectors(rows, shapes, place)
        if place not in self._layouts:
            width = max(len(row) for row in rows)
            single = width == 1 and all(shape is None for shape in shapes)
            # Room for transcripts that are longer later on; what exceeds it is cut.
            self._layouts[place] = (1 if single else 2 * width) if any(map(_holds_real, rows)) else 0
        width = self._layouts[place]
        if width == 0:
            categories = [_category(row, shape) for row, shape in zip(rows, shapes, strict=True)]
            return np.array([[self._code(category, place)] for category in categories], dtype=float)
        return self._single(outputs, place) if width == 1 else self._entries(rows, shapes, place)

    def _single(self, outputs: list[Any], place: int) -> Array:
        """One value a row: numbers are themselves, words their codes, None is a halt."""
        if any(isinstance(value, list | tuple | Mapping) or len(leaves(value)) != 1 for value in outputs):
            raise MechanismError(f"{self.name} returned single values first, then lists; return one kind")
        values = [leaves(value)[0] for value in outputs]
        halted = [value is None for value in values]
        filled = [0 if value is None else self._number(value, (place, 0)) for value in values]
        return self._numbers(np.ma.masked_array(numbers(filled), halted), place)

    def _vectors(self, rows: list[tuple[Any, ...]], shapes: list[Any], place: int) -> Array:
        """Rows of a part that began as vectors of numbers: of the same length again, or None, a halt."""
        width = self._widths[place]
        for row, shape in zip(rows, shapes, strict=True):
            if len(row) != width and not (shape is None and row == (None,)):
                raise MechanismError(
                    f"{self.name} returned vectors of {width} numbers first, then one of {len(row)}; return one kind"
                )
        filled = [row if len(row) == width else (None,) * width for row in rows]
        flat = numbers([0 if v is None else self._number(v, (place, k)) for row in filled for k, v in enumerate(row)])
        halted = np.array([[v is None for v in row] for row in filled])
        return self._numbers(np.ma.masked_array(flat.reshape(halted.shape), halted), place)

    def _entries(self, rows: list[tuple[Any, ...]], shapes: list[Any], place: int) -> Array:
        """Transcripts: their sizes, then entry by entry, NaN where one had ended."""
        width = self._layouts[place]
        matrix = np.full((len(rows), width + 1), np.nan)
        stopped = np.zeros(matrix.shape, dtype=bool)
        for i, row in enumerate(rows):
            matrix[i, 0] = self._size(row, shapes[i], place)
            for k, leaf in enumerate(row[:width]):
                stopped[i, k + 1] = leaf is None
                matrix[i, k + 1] = self._number(leaf, (place, k))
            stopped[i, 1 + len(row) :] = True
        self._check(np.where(stopped, 0.0, matrix))
        matrix[stopped] = np.nan
        return matrix

    def _number(self, leaf: Any, place: Any) -> Any:
        """An entry as a number: itself, or a number that stands for a word."""
        return leaf if isinstance(leaf, _SCALARS) else self._code(leaf, place) + WORDS

    def _size(self, row: tuple[Any, ...], shape: Any, place: int) -> float:
        """Entries of an output, and a fraction that tells apart outputs of as many entries but of other keys."""
        known = self._shapes.setdefault((place, len(row)), {})
        k = known.setdefault(shape, len(known)) if len(known) < self.limit else known.get(shape, self.limit)
        return len(row) + k / (k + 1)

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

    def shifted(self, name: str) -> str:
        """The name of a score in words; large integers are counted from the first one: "output - 11529215046068"."""
        offset = self._offsets.get(0)
        if offset is None or not name.startswith("output"):
            return name
        return f"{name} - {offset[0]}" if len(offset) == 1 else f"{name} - the first output"

    def category(self, code: float, place: Any = 0) -> str:
        """The output behind a code, for messages."""
        for value, number in self.codes.get(place, {}).items():
            if number == code:
                return repr(value)
        return f"{code:g}"


def leaves(value: Any) -> tuple[Any, ...]:
    """The entries of one output, nested ones in order; a dict by its keys; of a complex number its two parts."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, _COMPLEX):
        return float(value.real), float(value.imag)
    if isinstance(value, Mapping):
        value = [value[key] for key in sorted(value, key=repr)]
    if not isinstance(value, list | tuple):
        return (value,)
    return tuple(leaf for item in value for leaf in leaves(item))


def structure(value: Any) -> Any:
    """How the entries of one output hang together: None of a single one, keys of a dict, nesting of a list."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, _COMPLEX):
        return "complex"
    if isinstance(value, Mapping):
        return ("keys", *((key, structure(value[key])) for key in sorted(value, key=repr)))
    if not isinstance(value, list | tuple):
        return None
    inner = tuple(structure(item) for item in value)
    return inner if any(shape is not None for shape in inner) else len(inner)


def _category(row: tuple[Any, ...], shape: Any) -> Any:
    """What an output of words is compared as: itself, its entries, or entries and structure; one None is a halt."""
    if shape is None or row == (None,):
        return row[0]
    return row if isinstance(shape, int) else (row, shape)


def _holds_real(row: tuple[Any, ...]) -> bool:
    """Whether an entry is a number that is no integer (NaN and infinities count)."""
    return any(isinstance(x, float | np.floating) and not float(x).is_integer() for x in row)


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


def join(parts: Sequence[Outputs]) -> Outputs:
    """Several batches as one."""
    if len(parts) == 1:
        return parts[0]
    width = {p.matrix.shape[1] for p in parts}
    if len(width) > 1:
        raise InvalidInput(f"outputs change their width from call to call: {sorted(width)} columns")
    raws = [p.raw for p in parts]
    if isinstance(raws[0], tuple):
        raw: Any = tuple(_end_to_end([r[i] for r in raws]) for i in range(len(raws[0])))
    else:
        raw = _end_to_end(raws)
    return Outputs(raw, np.concatenate([p.matrix for p in parts]))


def _end_to_end(batches: Sequence[Any]) -> Any:
    """One part of several batches as one: an array of arrays that fit, else a list of outputs."""
    if all(isinstance(batch, np.ndarray) and batch.shape[1:] == batches[0].shape[1:] for batch in batches):
        return np.concatenate(batches)
    return [output for batch in batches for output in batch]
