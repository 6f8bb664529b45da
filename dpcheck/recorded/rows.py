"""Samples as a caller hands them in: made into rows, or refused in one sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpcheck.auditing.mechanisms import as_array, leaves
from dpcheck.auditing.scores import row_keys
from dpcheck.errors import InvalidInput
from dpcheck.foreign import shortened

Rows = NDArray[Any]
NUMBERS, WORDS = "biufc", "US"


def both_rows(x: Any, y: Any, *, halts: bool) -> tuple[Rows, Rows]:
    """Both samples as arrays whose axis 0 counts outputs; of objects where rows are lists, or mix words and numbers.

    Raises:
        InvalidInput: no rows, values that are not finite, outputs of different kinds or shapes, one sample twice.
    """
    one, two = _rows("x", x, halts), _rows("y", y, halts)
    if "O" in (one.dtype.kind, two.dtype.kind):
        one, two = _objects(one), _objects(two)
    kinds = ["words" if rows.dtype.kind in WORDS else "numbers" for rows in (one, two)]
    if kinds[0] != kinds[1]:
        raise InvalidInput(f"x holds {kinds[0]} and y holds {kinds[1]}; both samples are outputs of one mechanism")
    if one.shape[1:] != two.shape[1:]:
        raise InvalidInput(
            f"x holds outputs of shape {one.shape[1:]} and y of shape {two.shape[1:]}; they need one shape"
        )
    _check_apart(x, y, one, two)
    return one, two


def _rows(name: str, values: Any, halts: bool) -> Rows:
    if isinstance(values, Sequence) and not isinstance(values, str | bytes):
        rows = as_array(list(values)) if len(values) else np.zeros(0)
    elif hasattr(values, "__array__"):
        rows = values if isinstance(values, np.ndarray) else np.asarray(values)
    else:
        raise InvalidInput(f"{name} must be an array or a list of outputs, one a run, got a {type(values).__name__}")
    if rows.dtype.kind == "V":  # records of several fields
        rows = as_array(rows.tolist())
    if rows.ndim == 0 or rows.size == 0:
        raise InvalidInput(f"{name} holds no outputs (shape {rows.shape}); axis 0 counts them")
    if rows.dtype.kind not in NUMBERS + WORDS + "O":
        raise InvalidInput(f"{name} holds values of type {rows.dtype}; outputs are numbers, words, or lists of these")
    if rows.dtype.kind == "O" and not halts:
        for place, row in enumerate(rows):
            if any(isinstance(leaf, float) and not math.isfinite(leaf) for leaf in leaves(row)):
                raise InvalidInput(
                    f"{name} holds {shortened(row)} in row {place}; numbers must be finite, None is a halt"
                )
    if rows.dtype.kind in "fc":
        finite = np.ma.filled(np.isfinite(rows) | (np.isnan(rows) if halts else False), True)
        if not finite.all():
            at = tuple(int(i) for i in np.argwhere(~finite)[0])
            hint = "" if halts or not np.isnan(rows[at]) else "; pass halts=True if NaN means a halt"
            raise InvalidInput(f"{name} holds {rows[at]} in row {at[0]}; outputs must be finite{hint}")
    return rows


def _objects(rows: Rows) -> Rows:
    """Each row as one object."""
    values = np.empty(len(rows), dtype=object)
    for place, row in enumerate(rows.tolist()):
        values[place] = row.tolist() if isinstance(row, np.ndarray) else row
    return values


def _check_apart(x: Any, y: Any, one: Rows, two: Rows) -> None:
    """Raises `InvalidInput` for one sample handed in twice, or runs of one that stand in the other as well."""
    if x is y:
        raise InvalidInput("x and y are the same sample; hand in outputs on the one input and outputs on the other")
    if one.shape == two.shape and (one == two).all() and any(np.any(row != one[0]) for row in one):
        raise InvalidInput("x and y hold the same outputs row for row; hand in runs on the one input and on the other")
    if one.dtype.kind != "f" or two.dtype.kind != "f":
        return
    # Real numbers do not come twice: those that stand in both samples are the same runs.
    unlike = [np.unique(row_keys(np.ma.filled(rows, 0).reshape(len(rows), -1).astype(float))) for rows in (one, two)]
    few = min(len(one), len(two))
    shared = len(np.intersect1d(unlike[0], unlike[1]))
    if shared > few / 2 and min(map(len, unlike)) > 0.9 * few:
        raise InvalidInput(
            f"{shared:,} outputs of x stand in y as well, though hardly one stands twice in either; "
            "every row must be a run of its own"
        )
